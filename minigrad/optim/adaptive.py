"""Optimizers with a separate step length for each value.

Most of them divide by the typical size of this value's gradients: by the root of the
sum of their squares (Adagrad), or of a running average of them (RMSprop, Adam). So values with
small gradients move as far as those with large gradients.

    Adagrad       the sum of all squares: steps become shorter and shorter
    RMSprop       a running average: old gradients are forgotten
    Adam          RMSprop with momentum, and a correction for starting from zero
    AdamW         Adam with weight decay that is not divided by anything
    SparseAdam    Adam for tables of which few rows are used
    Adadelta      RMSprop without a learning rate to choose
    Adamax        Adam, dividing by the largest of the recent gradients
    NAdam         Adam with Nesterov momentum
    RAdam         Adam that only divides once its divisor is reliable
    Rprop         uses only the signs of the gradients, for full batches
"""

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse, add_rows
from minigrad.core.tensor import Tensor
from minigrad.optim.blocks import Block, Numbers, Partition, tensor_of
from minigrad.optim.elementwise import Elementwise, check_in_range, settings_of
from minigrad.optim.optimizer import Group, Params

AVERAGES = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
WITH_MAXIMUM = {**AVERAGES, "max_exp_avg_sq": 0.0}


def _change_of(g: Array, m: Array, rest: Array, out: Array) -> Array:
    """rest * (g - m): the change from the average m to (1 - rest) * m + rest * g."""
    change = np.subtract(g, m, out)
    change *= rest
    return change


def _square_of(g: Array, rest: Array, out: Array) -> Array:
    """rest * g**2"""
    square = np.multiply(g, g, out)
    square *= rest
    return square


def _moments(b: Block, rest1: Array, keep: Array, rest2: Array) -> Sequence[Array]:
    """Update the averages m of the gradients and v of their squares, and return them."""
    m, v = b.state[:2]
    m += _change_of(b.g, m, rest1, b.out)
    v *= keep
    v += _square_of(b.g, rest2, b.out)
    return m, v


class Adam(Elementwise):
    """Adam: momentum, and a step length for each value.

        g = gradient + weight_decay * p              (negated if maximize)
        m = b1 * m + (1 - b1) * g                    average of the gradients
        v = b2 * v + (1 - b2) * g**2                 average of their squares
        m_hat = m / (1 - b1**t)                      m and v start at zero, so after
        v_hat = v / (1 - b2**t)                      t steps they are too small by this factor
        p = p - lr * m_hat / (sqrt(v_hat) + eps)

    params         what to optimize: tensors, (name, tensor) pairs, or groups
    lr             learning rate: roughly the length of a step, whatever the size of the gradient
    betas          (b1, b2): how much of the averages is kept at each step
    eps            prevents division by 0
    weight_decay   is added to the gradient and divided with it, unlike in AdamW
    amsgrad        divide by the largest v so far, so that step lengths never grow
    maximize       maximize instead of minimizing

    `eps` is added outside the root and after the correction, as in algorithm 1 of the paper.
    (The paper's faster form, with lr * sqrt(1 - b2**t) / (1 - b1**t), adds it before the
    correction, so its eps means something else in the first steps.) With amsgrad, the largest v
    is taken before the correction, as in PyTorch.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    >>> import minigrad
    >>> x = minigrad.tensor([3.0, -0.001], requires_grad=True)
    >>> adam = Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> adam.step()
    >>> x
    tensor([2.9000, 0.0990], requires_grad=True)

    Sources: Kingma and Ba, Adam: A Method for Stochastic Optimization (2015); Reddi, Kale,
    Kumar, On the Convergence of Adam and Beyond (2018), for amsgrad.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        betas = (float(betas[0]), float(betas[1]))
        super().__init__(
            params, settings_of(locals(), first="lr betas eps weight_decay amsgrad maximize")
        )

    def _slots(self, group: Group) -> dict[str, float]:
        return WITH_MAXIMUM if group["amsgrad"] else AVERAGES

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        length = float(group["lr"]) / (1 - b1**t)
        return 1 - b1, b2, 1 - b2, sqrt(1 - b2**t), group["eps"], length

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        rest1, keep, rest2, root, eps, length = numbers
        m, v = _moments(b, rest1, keep, rest2)
        if group["amsgrad"]:
            greatest = b.state[2]
            v = np.maximum(greatest, v, out=greatest)
        divisor = np.sqrt(v, b.out)
        divisor /= root
        divisor += eps
        step = np.divide(m, divisor, b.out)
        step *= length
        return step

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead"
        )


class AdamW(Adam):
    """Adam with separate weight decay: p = p - lr * weight_decay * p, then Adam's step.

    In Adam, weight decay is added to the gradient and so divided by sqrt(v_hat):
    values with large gradients decay less. Here all values decay equally. See Adam for the rest.

    The decay is multiplied by lr, as in PyTorch; in the paper, both are multiplied by a schedule.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019).
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, **settings_of(locals()), decoupled_weight_decay=True)


class Adagrad(Elementwise):
    """Adagrad: divide by the root of the sum of all squares so far.

        g = gradient + weight_decay * p                 (negated if maximize)
        s = s + g**2                                    (begins at initial_accumulator_value)
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    params                       what to optimize: tensors, (name, tensor) pairs, or groups
    lr                           learning rate: the length of the first step
    lr_decay                     shortens the steps further, with their number t
    initial_accumulator_value    the initial value of s
    eps                          prevents division by 0; added outside the root

    A row-sparse gradient only changes its own rows of p and of s.

    Raises ValueError for settings out of range.

    Source: Duchi, Hazan, Singer, Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization (2011).
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, settings_of(locals(), first="lr lr_decay eps"))
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p, group)

    def _begin(self, p: Tensor, group: Group) -> None:
        """Give a parameter its state: as in PyTorch, it is there before the first step."""
        if "sum" not in self.state[p]:
            Partition([p], self.state, self._slots(group), self.counters)

    def _slots(self, group: Group) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return float(group["lr"]) / (1 + (t - 1) * group["lr_decay"]), group["eps"]

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        (s,), (lr, eps) = b.state, numbers
        s += np.multiply(b.g, b.g, b.out)
        divisor = np.sqrt(s, b.out)
        divisor += eps
        step = np.divide(b.g, divisor, b.out)
        step *= lr
        return step

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        """The same formulas on the rows that have a gradient: see adagrad_rows."""
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[p]
        self._begin(p, group)
        state["step"].array += 1
        (lr, eps), g = self._numbers(group, state["step"].item()), rows.values
        g = -g if group["maximize"] else g
        adagrad_rows(p.memory(), state["sum"].array, lr, eps, rows.indices, g)


def adagrad_rows(table: Array, sums: Array, lr: float | Array, eps: float, *parts: Array) -> Array:
    """s = s + g**2; p = p - lr * g / (sqrt(s) + eps), on the rows that have a gradient.

    parts   rows, values, rows, values, ...: a row may appear several times

    If these are most of the rows, we update all: a row with a zero gradient does not change.
    """
    n = sum([at.size for at in parts[::2]])
    few = 64 * n < len(table)  # then an array of zeros, as large as the table, would cost too much
    if few:
        k, place = np.unique(np.concatenate(parts[::2]), return_inverse=True)
        parts = (place, np.concatenate(parts[1::2]))
    g = np.zeros((len(k) if few else len(table), *table.shape[1:]), table.dtype)
    for at, values in zip(parts[::2], parts[1::2], strict=True):
        add_rows(g, at, values)
    if n > len(table) and eps > 0:
        step = g * lr
        sums += np.multiply(g, g, g)
        divisor = np.sqrt(sums, g)
        divisor += eps
        step /= divisor
        table -= step
        return table
    if not few:
        seen = np.zeros(len(table), np.bool_)
        for at in parts[::2]:
            seen[at] = True
        (k,) = seen.nonzero()
        g = g.take(k, 0)
    s = sums.take(k, 0)
    s += g * g
    _put_rows(sums, k, s)
    divisor = np.sqrt(s, s)
    divisor += eps
    g *= lr
    g /= divisor
    _put_rows(table, k, np.subtract(table.take(k, 0), g, g))
    return table


def _put_rows(table: Array, rows: Array, values: Array) -> None:
    """table[rows] = values. Treats a whole row as one element: 2 to 3 times faster.

    >>> t = np.zeros((3, 2))
    >>> _put_rows(t, np.array([2]), np.ones((1, 2)))
    >>> t.tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not (table.flags.c_contiguous and values.flags.c_contiguous and values.size):
        table[rows] = values
        return
    row = _row_type(values.nbytes // len(values))
    table.reshape(-1).view(row).put(rows, values.reshape(-1).view(row))


@lru_cache(maxsize=16)
def _row_type(nbytes: int) -> np.dtype[Any]:
    """A dtype for a row of nbytes bytes."""
    return np.dtype((np.void, nbytes))


class RMSprop(Elementwise):
    """RMSprop: divide by the root of the mean of the recent squares.

        g = gradient + weight_decay * p                 (negated if maximize)
        v = alpha * v + (1 - alpha) * g**2
        a = alpha * a + (1 - alpha) * g                 (centered: v - a**2 instead of v)
        u = momentum * u + g / (sqrt(v) + eps)
        p = p - lr * u

    params      what to optimize: tensors, (name, tensor) pairs, or groups
    lr          learning rate
    alpha       how much of the averages is kept at each step
    eps         prevents division by 0; added outside the root
    momentum    how much of the last step is kept
    centered    divide by the standard deviation of the gradients

    TensorFlow puts eps inside the root, and lr into u; PyTorch and minigrad do not.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Sources: Hinton, Neural Networks for Machine Learning, lecture 6e (2012); Graves,
    Generating Sequences With Recurrent Neural Networks (2013), for the centered form.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_in_range("alpha value", alpha, alpha >= 0.0)
        super().__init__(
            params, settings_of(locals(), first="lr momentum alpha eps centered weight_decay")
        )

    def _slots(self, group: Group) -> dict[str, float]:
        slots = {"square_avg": 0.0}
        if group["momentum"] > 0:
            slots["momentum_buffer"] = 0.0
        if group["centered"]:
            slots["grad_avg"] = 0.0
        return slots

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        alpha = group["alpha"]
        return alpha, 1 - alpha, group["eps"], group["momentum"], float(group["lr"])

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        (v, *others), (alpha, rest, eps, momentum, lr) = b.state, numbers
        v *= alpha
        v += _square_of(b.g, rest, b.out)
        if group["centered"]:
            a = others[-1]
            a += _change_of(b.g, a, rest, b.out)
            v = np.subtract(v, np.multiply(a, a, b.out), b.out)
        divisor = np.sqrt(v, b.out)
        divisor += eps
        step = np.divide(b.g, divisor, b.out)
        if group["momentum"] > 0:
            u = others[0]
            u *= momentum
            u += step
            step = u
        return np.multiply(step, lr, b.out)


class SparseAdam(Elementwise):
    """Adam for tables of which few rows have a gradient: only those rows are updated.

    See Adam for the formulas. A row without a gradient keeps its averages, whereas in Adam they
    would decay and the row would continue to move. The correction counts all steps, including
    those in which a row had no gradient.

    Raises ValueError for settings out of range, RuntimeError for a gradient that is not sparse.

    Source: Kingma and Ba (2015), in the lazy form of TensorFlow and PyTorch.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_in_range("learning rate", lr, bool(0.0 < lr))
        check_in_range("epsilon value", eps, 0.0 < eps)
        super().__init__(params, settings_of(locals()))

    def _step_group(self, k: int, group: Group, written: list[Tensor]) -> None:
        for p in group["params"]:
            if p.grad is not None and not p.grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        super()._step_group(k, group, written)

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"] = tensor_of(np.zeros_like(p.array))
            state["exp_avg_sq"] = tensor_of(np.zeros_like(p.array))
        state["step"] += 1
        g = (-rows if group["maximize"] else rows).coalesce()
        b1, b2 = group["betas"]
        m, v, i = state["exp_avg"].array, state["exp_avg_sq"].array, g.indices
        m[i] += (1 - b1) * (g.values - m[i])
        v[i] += (1 - b2) * (g.values * g.values - v[i])
        length = float(group["lr"]) * sqrt(1 - b2 ** state["step"]) / (1 - b1 ** state["step"])
        p.memory()[i] -= length * (m[i] / (np.sqrt(v[i]) + group["eps"]))


class Adadelta(Elementwise):
    """Adadelta: the step is proportional to the recent steps.

        g = gradient + weight_decay * p              (negated if maximize)
        v = rho * v + (1 - rho) * g**2
        d = sqrt(a + eps) / sqrt(v + eps) * g
        a = rho * a + (1 - rho) * d**2
        p = p - lr * d                               (the paper has no lr: it is 1)

    Here eps is inside the roots, as in the paper: without it, the first step would be zero.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Zeiler, ADADELTA: An Adaptive Learning Rate Method (2012).
    """

    slots = {"square_avg": 0.0, "acc_delta": 0.0}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_in_range("rho value", rho, 0.0 <= rho <= 1.0)
        super().__init__(
            params, settings_of(locals(), first="lr rho eps weight_decay maximize capturable")
        )

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return group["rho"], 1 - group["rho"], group["eps"], float(group["lr"])

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        (v, a), (rho, rest, eps, lr) = b.state, numbers
        v *= rho
        v += _square_of(b.g, rest, b.out)
        d, divisor = np.add(a, eps, b.out), np.add(v, eps, b.more)
        np.sqrt(d, d)
        d /= np.sqrt(divisor, divisor)
        d *= b.g
        a *= rho
        a += _square_of(d, rest, b.more)
        d *= lr
        return d


class Adamax(Elementwise):
    """Adamax: Adam with the largest recent gradient instead of the root of the mean square.

        g = gradient + weight_decay * p              (negated if maximize)
        m = b1 * m + (1 - b1) * g
        u = max(b2 * u, abs(g) + eps)
        p = p - lr / (1 - b1**t) * m / u

    In the paper u = max(b2 * u, abs(g)); eps, as in PyTorch, prevents u = 0.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Kingma and Ba, Adam (2015), section 7.1.
    """

    slots = {"exp_avg": 0.0, "exp_inf": 0.0}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        return 1 - b1, b2, group["eps"], float(group["lr"]) / (1 - b1**t)

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        (m, u), (rest, keep, eps, lr) = b.state, numbers
        m += _change_of(b.g, m, rest, b.out)
        u *= keep
        size = np.abs(b.g, b.out)
        size += eps
        np.maximum(u, size, out=u)
        step = np.divide(m, u, b.out)
        step *= lr
        return step


class NAdam(Elementwise):
    """NAdam: Adam whose step already includes the next step's momentum.

        g  = gradient + weight_decay * p             (negated if maximize)
        mu = b1 * (1 - 0.96**(t * momentum_decay) / 2),   mu' the same for t + 1
        M  = M * mu                                  the product of all mu so far
        m  = b1 * m + (1 - b1) * g
        v  = b2 * v + (1 - b2) * g**2
        m_hat = mu' * m / (1 - M * mu') + (1 - mu) * g / (1 - M)
        p  = p - lr * m_hat / (sqrt(v / (1 - b2**t)) + eps)

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Dozat, Incorporating Nesterov Momentum into Adam (2016).
    """

    slots = AVERAGES
    counters = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            settings_of(
                locals(),
                first="lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize",
            ),
        )

    def _mu(self, t: float, group: Group) -> float:
        return group["betas"][0] * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"]))

    def _advance(self, plan: Partition, group: Group) -> None:
        super()._advance(plan, group)
        steps, products = plan.counts
        products *= np.array([self._mu(t, group) for t in steps.tolist()], products.dtype)

    def _numbers(self, group: Group, t: float, product: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        lr, mu, mu_next = float(group["lr"]), self._mu(t, group), self._mu(t + 1, group)
        of_g, of_m = lr * (1 - mu) / (1 - product), lr * mu_next / (1 - product * mu_next)
        return 1 - b1, b2, 1 - b2, 1 - b2**t, group["eps"], of_g, of_m

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        rest1, keep, rest2, correction, eps, of_g, of_m = numbers
        m, v = _moments(b, rest1, keep, rest2)
        step = np.multiply(m, of_m, b.out)
        step += np.multiply(b.g, of_g, b.more)
        divisor = np.divide(v, correction, b.more)
        np.sqrt(divisor, divisor)
        divisor += eps
        step /= divisor
        return step


class RAdam(Elementwise):
    """RAdam: Adam that only divides after it has seen enough gradients to estimate the divisor.

        m, v, m_hat, v_hat    as in Adam
        r_inf = 2 / (1 - b2) - 1
        r     = r_inf - 2 * t * b2**t / (1 - b2**t)      how many gradients v averages
        r > 5:     p = p - lr * m_hat * R / (sqrt(v) + eps) * sqrt(1 - b2**t),
                   R = sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r))
        otherwise: p = p - lr * m_hat

    eps is added to sqrt(v) before the correction, as in PyTorch.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Liu, Jiang, He, Chen, Liu, Gao, Han, On the Variance of the Adaptive Learning
    Rate and Beyond (2020).
    """

    slots = AVERAGES

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            settings_of(locals(), first="lr betas eps weight_decay maximize foreach capturable"),
        )

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        r_inf = 2 / (1 - b2) - 1
        r = r_inf - 2 * t * b2**t / (1 - b2**t)
        length = float(group["lr"]) / (1 - b1**t)
        if r <= 5:
            return 1 - b1, b2, 1 - b2, length
        length *= sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r))
        return 1 - b1, b2, 1 - b2, length * sqrt(1 - b2**t), group["eps"]

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        rest1, keep, rest2, length, *trusted = numbers
        m, v = _moments(b, rest1, keep, rest2)
        step = np.multiply(m, length, b.out)
        for eps in trusted:
            divisor = np.sqrt(v, b.more)
            divisor += eps
            step /= divisor
        return step


class Rprop(Elementwise):
    """Rprop: uses only the sign of the gradient, and whether it has changed.

        same sign as before:        s = min(s * etas[1], step_sizes[1])
        the other sign:             s = max(s * etas[0], step_sizes[0]), and g = 0 this time
        p = p - s * sign(g)                          (s begins at lr)

    For full batches only: with mini-batches, signs change randomly, and s shrinks for no reason.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation
    Learning: The RPROP Algorithm (1993).
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            settings_of(locals(), first="lr etas step_sizes foreach maximize differentiable"),
        )

    def _slots(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return ()

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        before, s = b.state
        slower, faster = group["etas"]
        same = np.multiply(b.g, before, b.out)
        s[same > 0] *= faster
        s[same < 0] *= slower
        np.clip(s, *group["step_sizes"], out=s)
        before[...] = b.g
        before[same < 0] = 0
        return np.multiply(np.sign(before), s, b.out)
