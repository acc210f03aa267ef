"""Optimizers with adaptive learning rates: every parameter value has its own step size.

Most of them divide each gradient entry by the typical magnitude of its past values: the root of
the sum of their squares (Adagrad), or of a moving average of their squares (RMSprop, Adam). So
values with small gradients move as far as values with large gradients.

    Adagrad       the sum of all squares, so the steps become shorter and shorter
    RMSprop       a moving average, which forgets old gradients
    Adam          RMSprop with momentum and bias correction
    AdamW         Adam with decoupled weight decay
    SparseAdam    Adam for embedding tables, where few rows have a gradient
    Adadelta      RMSprop without a learning rate to choose
    Adamax        Adam, dividing by the largest of the recent gradients
    NAdam         Adam with Nesterov momentum
    RAdam         Adam that starts to divide once its divisor is reliable
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
from minigrad.optim.elementwise import Elementwise, check_in_range, check_one_entry
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


class _LikeAdam(Elementwise, also=""):
    """The settings of Adam and its variants, which keep moving averages of the gradients and of their sizes."""

    slots = AVERAGES

    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0


class Adam(
    _LikeAdam,
    also="*, foreach, maximize, capturable, differentiable, fused, decoupled_weight_decay",
):
    """Adam: momentum, and an adaptive step size for each value.

        g = gradient + weight_decay * p              (negated if maximize)
        m = b1 * m + (1 - b1) * g                    moving average of the gradients
        v = b2 * v + (1 - b2) * g**2                 moving average of their squares
        m_hat = m / (1 - b1**t)                      bias correction: m and v start at zero, so
        v_hat = v / (1 - b2**t)                      after t steps they are biased toward zero
        p = p - lr * m_hat / (sqrt(v_hat) + eps)

    params         what to optimize: tensors, (name, tensor) pairs, or groups
    lr             learning rate: roughly the step size of each value, however large its gradient
    betas          (b1, b2): the decay rates of the moving averages
    eps            prevents division by 0
    weight_decay   is added to the gradient and divided with it, unlike in AdamW
    amsgrad        divide by the largest v so far, so that step sizes never grow
    maximize       maximize instead of minimizing

    `eps` is added outside the root and after the bias correction, as in algorithm 1 of the paper.
    (The paper's faster form, with lr * sqrt(1 - b2**t) / (1 - b1**t), adds it before the
    correction, so its eps has a different effect in the first steps.) With amsgrad, the maximum
    is over v before the correction, as in PyTorch.

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

    _order = "lr betas eps weight_decay amsgrad maximize"

    amsgrad: bool = False

    def _adjust(self, settings: dict[str, Any]) -> None:
        betas = settings["betas"]
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for name, value in (("lr", settings["lr"]), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            if isinstance(value, Tensor) and settings["foreach"] and not settings["capturable"]:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and foreach=True"
                )
        if not settings["differentiable"]:
            settings["betas"] = (float(betas[0]), float(betas[1]))

    def _slots(self, group: Group) -> dict[str, float]:
        return WITH_MAXIMUM if group["amsgrad"] else AVERAGES

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        length = self._lr(group) / (1 - b1**t)
        return 1 - b1, b2, 1 - b2, (1 - b2**t) ** 0.5, group["eps"], length

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


class AdamW(Adam, also="*, maximize, foreach, capturable, differentiable, fused"):
    """Adam with decoupled weight decay: p = p - lr * weight_decay * p, then Adam's step.

    In Adam, weight decay is added to the gradient, so it is divided by sqrt(v_hat), and values
    with large gradients decay less. Here all values decay at the same rate. See Adam for the rest.

    The decay is multiplied by lr, as in PyTorch. In the paper, a schedule multiplies both instead.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019).
    """

    weight_decay: float = 1e-2

    def _adjust(self, settings: dict[str, Any]) -> None:
        super()._adjust(settings)
        settings["decoupled_weight_decay"] = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also after loading the state of an Adam
            group["decoupled_weight_decay"] = True


class Adagrad(Elementwise, also="foreach, *, maximize, differentiable, fused"):
    """Adagrad: divide by the root of the sum of all squared gradients so far.

        g = gradient + weight_decay * p                 (negated if maximize)
        s = s + g**2                                    (starts at initial_accumulator_value)
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    params                       what to optimize: tensors, (name, tensor) pairs, or groups
    lr                           learning rate: the length of the first step
    lr_decay                     shortens step t by the factor 1 / (1 + (t - 1) * lr_decay)
    initial_accumulator_value    the initial value of s
    eps                          prevents division by 0; added outside the root

    A row-sparse gradient only changes its own rows of p and of s.

    Raises ValueError for settings out of range.

    Source: Duchi, Hazan, Singer, Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization (2011).
    """

    _order = "lr lr_decay eps"

    lr: float | Tensor = 1e-2
    lr_decay: float = 0
    weight_decay: float = 0
    initial_accumulator_value: float = 0
    eps: float = 1e-10

    def _set_up(self, params: Params, settings: dict[str, Any]) -> None:
        super()._set_up(params, settings)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p, group)

    def _begin(self, p: Tensor, group: Group) -> None:
        """Create the state of a parameter. As in PyTorch, this happens before the first step."""
        if "sum" not in self.state[p]:
            Partition([p], self.state, self._slots(group), self.counters)

    def _slots(self, group: Group) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return self._lr(group) / (1 + (t - 1) * group["lr_decay"]), group["eps"]

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        (s,), (lr, eps) = b.state, numbers
        s += np.multiply(b.g, b.g, b.out)
        divisor = np.sqrt(s, b.out)
        divisor += eps
        step = np.divide(b.g, divisor, b.out)
        step *= lr
        return step

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        """Apply the update to the rows that have a gradient; see adagrad_rows."""
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

    If most rows have a gradient, we update all rows: a zero gradient does not change a row.
    """
    n = sum([at.size for at in parts[::2]])
    few = 64 * n < len(table)  # then a dense gradient of the table's size would cost too much
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
    """table[rows] = values, but 2 to 3 times faster, because a whole row is one element.

    >>> t = np.zeros((3, 2))
    >>> _put_rows(t, np.array([2]), np.ones((1, 2)))
    >>> t.tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not (table.flags.c_contiguous and values.flags.c_contiguous and values.size):
        table[rows] = values
        return
    row = _row_type(values.nbytes // len(values))
    table.reshape(-1).view(row).put(rows.astype(np.intp, copy=False), values.reshape(-1).view(row))


@lru_cache(maxsize=16)
def _row_type(nbytes: int) -> np.dtype[Any]:
    """A dtype for a row of nbytes bytes."""
    return np.dtype((np.void, nbytes))


class RMSprop(Elementwise, also="capturable, foreach, maximize, differentiable"):
    """RMSprop: divide by the root mean square of the recent gradients.

        g = gradient + weight_decay * p                 (negated if maximize)
        v = alpha * v + (1 - alpha) * g**2
        a = alpha * a + (1 - alpha) * g                 (centered: v - a**2 instead of v)
        u = momentum * u + g / (sqrt(v) + eps)
        p = p - lr * u

    params      what to optimize: tensors, (name, tensor) pairs, or groups
    lr          learning rate
    alpha       the decay rate of the moving averages
    eps         prevents division by 0; added outside the root
    momentum    the decay rate of the velocity u
    centered    divide by the standard deviation of the gradients

    TensorFlow adds eps inside the root and multiplies by lr inside u; PyTorch and minigrad do not.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Sources: Hinton, Neural Networks for Machine Learning, lecture 6e (2012); Graves,
    Generating Sequences With Recurrent Neural Networks (2013), for the centered form.
    """

    _order = "lr momentum alpha eps centered weight_decay"

    lr: float | Tensor = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0
    momentum: float = 0
    centered: bool = False

    def _adjust(self, settings: dict[str, Any]) -> None:
        check_in_range("alpha value", settings["alpha"], settings["alpha"] >= 0.0)

    def _slots(self, group: Group) -> dict[str, float]:
        slots = {"square_avg": 0.0}
        if group["momentum"] > 0:
            slots["momentum_buffer"] = 0.0
        if group["centered"]:
            slots["grad_avg"] = 0.0
        return slots

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        alpha = group["alpha"]
        return alpha, 1 - alpha, group["eps"], group["momentum"], self._lr(group)

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


class SparseAdam(Elementwise, also="maximize"):
    """Adam for sparse gradients: only the rows of a table that have a gradient are updated.

    See Adam for the formulas. The averages of the other rows stay as they are. In Adam they would
    decay, and the rows would continue to move. The bias correction counts all steps, including the
    steps in which a row had no gradient.

    Raises ValueError for settings out of range, RuntimeError for a gradient that is not sparse.

    Source: Kingma and Ba (2015), in the lazy form of TensorFlow and PyTorch.
    """

    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def _adjust(self, settings: dict[str, Any]) -> None:
        check_one_entry(settings["lr"])
        check_in_range("learning rate", settings["lr"], bool(0.0 < settings["lr"]))
        check_in_range("epsilon value", settings["eps"], 0.0 < settings["eps"])

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


class Adadelta(Elementwise, also="foreach, *, capturable, maximize, differentiable"):
    """Adadelta: scales the gradient by the ratio of recent steps to recent gradients.

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
    _order = "lr rho eps weight_decay maximize capturable"

    lr: float | Tensor = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0

    def _adjust(self, settings: dict[str, Any]) -> None:
        check_in_range("rho value", settings["rho"], 0.0 <= settings["rho"] <= 1.0)

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return group["rho"], 1 - group["rho"], group["eps"], self._lr(group)

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


class Adamax(_LikeAdam, also="foreach, *, maximize, differentiable, capturable"):
    """Adamax: Adam with a decaying maximum of abs(g) instead of the root mean square.

        g = gradient + weight_decay * p              (negated if maximize)
        m = b1 * m + (1 - b1) * g
        u = max(b2 * u, abs(g) + eps)
        p = p - lr / (1 - b1**t) * m / u

    In the paper u = max(b2 * u, abs(g)). As in PyTorch, eps is added to prevent u = 0.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Kingma and Ba, Adam (2015), section 7.1.
    """

    slots = {"exp_avg": 0.0, "exp_inf": 0.0}

    lr: float | Tensor = 2e-3

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        return 1 - b1, b2, group["eps"], self._lr(group) / (1 - b1**t)

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


class NAdam(
    _LikeAdam, also="decoupled_weight_decay, *, foreach, maximize, capturable, differentiable"
):
    """NAdam: Adam with Nesterov momentum, which applies the next step's momentum in advance.

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

    counters = {"step": 0.0, "mu_product": 1.0}
    _order = "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize"

    lr: float | Tensor = 2e-3
    momentum_decay: float = 4e-3

    def _mu(self, t: float, group: Group) -> float:
        return group["betas"][0] * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"]))

    def _advance(self, plan: Partition, group: Group) -> None:
        super()._advance(plan, group)
        steps, products = plan.counts
        products *= np.array([self._mu(t, group) for t in steps.tolist()], products.dtype)

    def _numbers(self, group: Group, t: float, product: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        lr, mu, mu_next = self._lr(group), self._mu(t, group), self._mu(t + 1, group)
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


class RAdam(
    _LikeAdam, also="decoupled_weight_decay, *, foreach, maximize, capturable, differentiable"
):
    """RAdam: Adam that does not divide until v averages enough gradients to be reliable.

        m, v, m_hat, v_hat    as in Adam
        r_inf = 2 / (1 - b2) - 1
        r     = r_inf - 2 * t * b2**t / (1 - b2**t)      the effective length of the average v
        r > 5:     p = p - lr * m_hat * R / (sqrt(v) + eps) * sqrt(1 - b2**t),
                   R = sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r))
        otherwise: p = p - lr * m_hat

    eps is added to sqrt(v) before the correction, as in PyTorch.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Liu, Jiang, He, Chen, Liu, Gao, Han, On the Variance of the Adaptive Learning
    Rate and Beyond (2020).
    """

    _order = "lr betas eps weight_decay maximize foreach capturable"

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        b1, b2 = group["betas"]
        r_inf = 2 / (1 - b2) - 1
        r = r_inf - 2 * t * b2**t / (1 - b2**t)
        length = self._lr(group) / (1 - b1**t)
        if r <= 5:
            return 1 - b1, b2, 1 - b2, length
        length *= sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r))
        return 1 - b1, b2, 1 - b2, length * sqrt(1 - b2**t), group["eps"]

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        rest1, keep, rest2, length, *divide_eps = numbers
        m, v = _moments(b, rest1, keep, rest2)
        step = np.multiply(m, length, b.out)
        for eps in divide_eps:  # empty while r <= 5
            divisor = np.sqrt(v, b.more)
            divisor += eps
            step /= divisor
        return step


class Rprop(Elementwise, also="*, capturable, foreach, maximize, differentiable"):
    """Rprop: resilient backpropagation, which uses only the signs of the gradients.

        g has the same sign:    s = min(s * etas[1], step_sizes[1])
        g changed its sign:     s = max(s * etas[0], step_sizes[0]), and g = 0 in this step
        p = p - s * sign(g)                          (s starts at lr)

    For full batches only: with mini-batches, the noise flips signs at random, and s shrinks.

    Raises ValueError for settings out of range, RuntimeError for a sparse gradient.

    Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation
    Learning: The RPROP Algorithm (1993).
    """

    _order = "lr etas step_sizes foreach maximize differentiable"

    lr: float | Tensor = 1e-2
    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50)

    def _adjust(self, settings: dict[str, Any]) -> None:
        low, high = settings["etas"]
        if not 0.0 < low < 1.0 < high:
            raise ValueError(f"Invalid eta values: {low}, {high}")

    def _slots(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def _numbers(self, group: Group, t: float) -> tuple[float, ...]:
        return ()

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        previous, s = b.state
        decrease, increase = group["etas"]
        agreement = np.multiply(b.g, previous, b.out)
        s[agreement > 0] *= increase
        s[agreement < 0] *= decrease
        np.clip(s, *group["step_sizes"], out=s)
        previous[...] = b.g
        previous[agreement < 0] = 0
        return np.multiply(np.sign(previous), s, b.out)
