"""ASGD: stochastic gradient descent that also averages the parameters over time."""

from collections.abc import Callable
from typing import Any

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.optim.elementwise import check_settings, settings_of
from minigrad.optim.optimizer import Optimizer, Params


class ASGD(Optimizer):
    """Averaged stochastic gradient descent.

        g = gradient + weight_decay * p
        p = p * (1 - lambd * eta) - eta * g           eta = lr / (1 + lambd * lr * step)**alpha
        a = a + mu * (p - a)                          mu = 1 / max(1, step - t0)

    p fluctuates around the minimum, because the loss differs between batches; the average a
    fluctuates less. It is stored in the state, as "ax".

    Source: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (1992).
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = settings_of(locals())
        check_settings("ASGD", settings)
        super().__init__(params, settings)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update each parameter that has a gradient, and its average in the state.

        closure    computes the loss again, calls backward, and returns the loss
        returns    the closure's loss; None without a closure

        Raises RuntimeError for a row-sparse gradient.
        """
        loss = None
        if closure is not None:
            with modes.enable_grad():
                loss = closure()
        with modes.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._one(p, group)
        return loss

    def _one(self, p: Tensor, group: dict[str, Any]) -> None:
        assert p.grad is not None
        if p.grad.is_sparse:
            raise RuntimeError("ASGD does not support sparse gradients")
        state = self.state[p]
        if not state:
            state["step"] = tensor(0.0)
            state["eta"], state["mu"] = tensor(float(group["lr"])), tensor(1.0)
            state["ax"] = p.detach().clone().zero_()
        g = -p.grad if group["maximize"] else p.grad
        if group["weight_decay"]:
            g = g + p * group["weight_decay"]
        state["step"] = state["step"] + 1
        step, eta, mu = (float(state[name]) for name in ("step", "eta", "mu"))
        p.mul_(1 - group["lambd"] * eta).sub_(g, alpha=eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].add_((p - state["ax"]) * mu)
        lr = float(group["lr"])
        state["eta"] = tensor(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        state["mu"] = tensor(1 / max(1, step - group["t0"]))
