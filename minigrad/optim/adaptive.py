"""Optimizers with a separate step length for each value.

All of them divide by the typical size of this value's gradients: by the root of the
sum of their squares (Adagrad), or of a running average of them (RMSprop, Adam). So values with
small gradients move as far as those with large gradients.

    Adagrad       the sum of all squares: steps become shorter and shorter
    RMSprop       a running average: old gradients are forgotten
    Adam          RMSprop with momentum, and a correction for starting from zero
    AdamW         Adam with weight decay that is not divided by anything
    SparseAdam    Adam for tables of which few rows are used
"""

from math import sqrt
from typing import Any

import numpy as np

from minigrad.core.sparse import RowSparse
from minigrad.core.tensor import Tensor
from minigrad.optim.blocks import Block, tensor_of
from minigrad.optim.elementwise import Elementwise, check, settings_of
from minigrad.optim.optimizer import Group, Params


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
        lr: Any = 1e-3,
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
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        return WITH_MAXIMUM if group["amsgrad"] else AVERAGES

    def _rule(self, b: Block, group: Group) -> Any:
        b1, b2 = group["betas"]
        m, v, *greatest = b.state
        keep, rest1, rest2, root, eps, length = b.numbers(
            b2,
            1 - b1,
            1 - b2,
            sqrt(1 - b2**b.t),
            group["eps"],
            float(group["lr"]) / (1 - b1**b.t),
        )
        m += average_of(b.g, m, rest1, b.out)
        v *= keep
        v += square_of(b.g, rest2, b.out)
        if greatest:
            v = np.maximum(greatest[0], v, out=greatest[0])
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


AVERAGES = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
WITH_MAXIMUM = {**AVERAGES, "max_exp_avg_sq": 0.0}


def average_of(g: Any, m: Any, rest: Any, out: Any) -> Any:
    """rest * (g - m): the change from the average m to (1 - rest) * m + rest * g."""
    change = np.subtract(g, m, out)
    change *= rest
    return change


def square_of(g: Any, rest: Any, out: Any) -> Any:
    """rest * g**2"""
    square = np.multiply(g, g, out)
    square *= rest
    return square


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
        lr: Any = 1e-3,
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
        lr: Any = 1e-2,
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
        super().__init__(params, settings_of(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p.memory(), self.state[p], group)

    def _begin(self, p: Any, state: dict[str, Any], group: Group) -> None:
        if "sum" not in state:
            state["step"] = tensor_of(np.array(0.0, np.float32))
            state["sum"] = tensor_of(
                np.full(p.shape, group["initial_accumulator_value"], dtype=p.dtype)
            )

    def _slots(self, group: Group) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def _rule(self, b: Block, group: Group) -> Any:
        (s,) = b.state
        lr, eps = b.numbers(float(group["lr"]) / (1 + (b.t - 1) * group["lr_decay"]), group["eps"])
        s += np.multiply(b.g, b.g, b.out)
        divisor = np.sqrt(s, b.out)
        divisor += eps
        step = np.divide(b.g, divisor, b.out)
        step *= lr
        return step

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        """The same formulas on the rows that have a gradient.

        If these are most of the rows, we update all: a row with a zero gradient does not change.
        """
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[p]
        self._begin(p.memory(), state, group)
        state["step"].array += 1
        t, table, sums = state["step"].array.item(), p.memory(), state["sum"].array
        lr, eps = float(group["lr"]) / (1 + (t - 1) * group["lr_decay"]), group["eps"]
        rows = -rows if group["maximize"] else rows
        if len(rows.indices) > len(table) and eps > 0:
            g = rows.to_dense()
            sums += g * g
            table -= lr * g / (np.sqrt(sums) + eps)
            return
        rows = rows.coalesce()
        k, g = rows.indices, rows.values
        s = sums.take(k, 0)
        s += g * g
        sums[k] = s
        table[k] -= lr * g / (np.sqrt(s) + eps)


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
        lr: Any = 1e-2,
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
        check("alpha value", alpha, alpha >= 0.0)
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        slots = {"square_avg": 0.0}
        if group["momentum"] > 0:
            slots["momentum_buffer"] = 0.0
        if group["centered"]:
            slots["grad_avg"] = 0.0
        return slots

    def _rule(self, b: Block, group: Group) -> Any:
        v, *others = b.state
        alpha, rest, eps, momentum, lr = b.numbers(
            group["alpha"], 1 - group["alpha"], group["eps"], group["momentum"], group["lr"]
        )
        v *= alpha
        v += square_of(b.g, rest, b.out)
        if group["centered"]:
            a = others[-1]
            a += average_of(b.g, a, rest, b.out)
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
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check("learning rate", lr, 0.0 < lr)
        check("epsilon value", eps, 0.0 < eps)
        super().__init__(params, settings_of(locals()))

    def _step_group(self, k: int, group: Group, written: list[Any]) -> None:
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
