"""More optimizers with a separate step length for each value. Read adaptive.py first.

Adadelta    RMSprop without a learning rate to choose
Adamax      Adam, dividing by the largest of the recent gradients
NAdam       Adam with Nesterov momentum
RAdam       Adam that only divides once its divisor is reliable
Rprop       uses only the signs of the gradients, for full batches
"""

from math import sqrt
from typing import Any

import numpy as np

from minigrad.optim.adaptive import AVERAGES, average_of, square_of
from minigrad.optim.blocks import Block, Plan
from minigrad.optim.elementwise import Elementwise, check, settings_of
from minigrad.optim.optimizer import Group, Params


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

    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check("rho value", rho, 0.0 <= rho <= 1.0)
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def _rule(self, b: Block, group: Group) -> Any:
        v, a = b.state
        rho, rest, eps, lr = b.numbers(group["rho"], 1 - group["rho"], group["eps"], group["lr"])
        v *= rho
        v += square_of(b.g, rest, b.out)
        d, divisor = np.add(a, eps, b.out), np.add(v, eps, b.more)
        np.sqrt(d, d)
        d /= np.sqrt(divisor, divisor)
        d *= b.g
        a *= rho
        a += square_of(d, rest, b.more)
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

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
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

    def _slots(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def _rule(self, b: Block, group: Group) -> Any:
        m, u = b.state
        b1, b2 = group["betas"]
        rest, keep, eps, lr = b.numbers(
            1 - b1, b2, group["eps"], float(group["lr"]) / (1 - b1**b.t)
        )
        m += average_of(b.g, m, rest, b.out)
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

    counters = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
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
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        return AVERAGES

    def _mu(self, t: Any, group: Group) -> Any:
        return group["betas"][0] * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"]))

    def _advance(self, plan: Plan, group: Group) -> None:
        super()._advance(plan, group)
        steps, products = plan.counts
        products *= np.array([self._mu(t, group) for t in steps.tolist()], products.dtype)

    def _rule(self, b: Block, group: Group) -> Any:
        m, v = b.state
        b1, b2 = group["betas"]
        lr, t = float(group["lr"]), b.t
        mu, mu_next, product = self._mu(t, group), self._mu(t + 1, group), b.count(1)
        rest1, keep, rest2, correction, eps, of_g, of_m = b.numbers(
            1 - b1,
            b2,
            1 - b2,
            1 - b2**t,
            group["eps"],
            lr * (1 - mu) / (1 - product),
            lr * mu_next / (1 - product * mu_next),
        )
        m += average_of(b.g, m, rest1, b.out)
        v *= keep
        v += square_of(b.g, rest2, b.out)
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

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
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
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        return AVERAGES

    def _rule(self, b: Block, group: Group) -> Any:
        m, v = b.state
        b1, b2 = group["betas"]
        t = b.t
        r_inf = 2 / (1 - b2) - 1
        r = r_inf - 2 * t * b2**t / (1 - b2**t)
        trusted = r > 5
        length = float(group["lr"]) / (1 - b1**t)
        if trusted:
            length *= sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r))
            length *= sqrt(1 - b2**t)
        rest1, keep, rest2, eps, scale = b.numbers(1 - b1, b2, 1 - b2, group["eps"], length)
        m += average_of(b.g, m, rest1, b.out)
        v *= keep
        v += square_of(b.g, rest2, b.out)
        step = np.multiply(m, scale, b.out)
        if trusted:
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
        lr: Any = 1e-2,
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
        super().__init__(params, settings_of(locals()))

    def _slots(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def _rule(self, b: Block, group: Group) -> Any:
        before, s = b.state
        slower, faster = group["etas"]
        same = np.multiply(b.g, before, b.out)
        s[same > 0] *= faster
        s[same < 0] *= slower
        np.clip(s, *group["step_sizes"], out=s)
        before[...] = b.g
        before[same < 0] = 0
        return np.multiply(np.sign(before), s, b.out)
