"""SGD: gradient descent, with or without momentum. ASGD also averages the parameters over time."""

from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.optim.blocks import Block, Numbers, tensor_of
from minigrad.optim.elementwise import Elementwise, check_settings
from minigrad.optim.optimizer import Closure, DeclaredOptimizer, Group, Params


class SGD(Elementwise, also="*, maximize, foreach, differentiable, fused"):
    """Stochastic gradient descent.

        g = gradient + weight_decay * p            (negated if maximize)
        v = momentum * v + (1 - dampening) * g     (the first time: v = g)
        p = p - lr * v                             (nesterov: p - lr * (g + momentum * v))

    params         what to optimize: tensors, (name, tensor) pairs, or groups
    lr             learning rate: the length of a step
    momentum       how much of the last velocity v is kept; 0: no momentum, v = g
    dampening      reduces the gradient's share in the velocity
    weight_decay   pulls every value toward 0
    nesterov       adds the next step's momentum in advance
    maximize       maximize instead of minimizing

    How this differs from the literature: Sutskever et al. put the learning rate into
    the velocity: v = momentum * v + lr * g;  p = p - v. Here, as in PyTorch, the velocity is
    multiplied by the learning rate in the step. Both give the same result while lr is constant. If
    lr is lowered, Sutskever's velocity still contains the old, larger steps, and this one does not.
    Also, the first velocity is the full gradient, even with dampening.

    A row-sparse gradient only changes its own rows. With momentum, the velocity is also sparse,
    and contains all rows seen so far.

    Raises ValueError for settings out of range.

    >>> import minigrad
    >>> x = minigrad.tensor([3.0], requires_grad=True)
    >>> sgd = SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     sgd.zero_grad()
    ...     (x * x).sum().backward()
    ...     sgd.step()
    >>> x
    tensor([1.3800], requires_grad=True)

    Sources: Polyak (1964); Sutskever, Martens, Dahl, Hinton, On the importance of
    initialization and momentum in deep learning (2013), for both kinds of momentum.
    """

    counters = {}

    lr: float | Tensor = 1e-3
    momentum: float = 0
    dampening: float = 0
    weight_decay: float = 0
    nesterov: bool = False

    def _adjust(self, settings: dict[str, Any]) -> None:
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _slots(self, group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _numbers(self, group: Group) -> tuple[float, ...]:
        lr, mu = self._lr(group), group["momentum"]
        return (lr, mu, 1 - group["dampening"]) if mu else (lr,)

    def _rule(self, b: Block, group: Group, numbers: Numbers) -> Array:
        if not b.state:
            return np.multiply(b.g, numbers[0], b.out)
        (v,), (lr, momentum, rest) = b.state, numbers
        if b.first:
            v[...] = b.g
        else:
            v *= momentum
            v += np.multiply(b.g, rest, b.out) if group["dampening"] else b.g
        if not group["nesterov"]:
            return np.multiply(v, lr, b.out)
        step = np.multiply(v, momentum, b.out)
        step += b.g
        step *= lr
        return step

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        """Apply the update to the rows that have a gradient; v contains the rows seen so far."""
        if group["weight_decay"]:
            raise RuntimeError(
                "add(sparse, dense) is not supported: SGD with weight_decay would change every row of a "
                "parameter whose gradient is sparse. To fix it, give this parameter a group with "
                "weight_decay=0, or use sparse=False."
            )
        mu = group["momentum"]
        g: Any = -rows if group["maximize"] else rows
        if mu:
            state = self.state[p]
            v = state.get("momentum_buffer")
            if v is None:
                v = state["momentum_buffer"] = tensor_of(g.copy())
            elif isinstance(v.array, RowSparse):
                v.array = (v.array * mu + g * (1 - group["dampening"])).coalesce()
            else:
                v.array *= mu
                (g * (1 - group["dampening"])).add_to(v.array)
            g = g + v.array * mu if group["nesterov"] else v.array
        g = g * -float(group["lr"])
        if isinstance(g, RowSparse):
            g.add_to(p.memory())
        else:
            p.memory()[...] += g


class ASGD(DeclaredOptimizer, also="foreach, maximize, differentiable, capturable"):
    """Averaged stochastic gradient descent.

        g = gradient + weight_decay * p
        p = p * (1 - lambd * eta) - eta * g           eta = lr / (1 + lambd * lr * step)**alpha
        a = a + mu * (p - a)                          mu = 1 / max(1, step - t0)

    p fluctuates around the minimum, because the loss differs between batches; the average a
    fluctuates less. It is stored in the state, as "ax".

    Source: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (1992).
    """

    lr: float | Tensor = 1e-2
    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6
    weight_decay: float = 0

    def _set_up(self, params: Params, settings: dict[str, Any]) -> None:
        check_settings(settings)
        super()._set_up(params, settings)

    def step(self, closure: Closure | None = None) -> Any:
        """Update each parameter that has a gradient, and its average in the state.

        closure    computes the loss, calls backward, and returns the loss
        returns    the closure's loss; None without a closure

        Raises RuntimeError for a row-sparse gradient.
        """
        loss = self._loss_of(closure)
        for group in self.param_groups:
            with modes.set_grad_enabled(group["differentiable"]):
                for p in group["params"]:
                    if p.grad is not None:
                        self._one(p, group)
        return loss

    def _one(self, p: Tensor, group: Group) -> None:
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
        state["step"] += 1
        step, eta, mu = (float(state[name]) for name in ("step", "eta", "mu"))
        p.mul_(1 - group["lambd"] * eta).sub_(g, alpha=eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].add_((p - state["ax"]) * mu)
        lr = float(group["lr"])
        state["eta"].fill_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
