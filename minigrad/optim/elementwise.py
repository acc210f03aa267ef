"""Elementwise: the base class of optimizers that update each value independently of the others.

Nearly all optimizers do. A subclass defines the update rule, a method that reads like its formula:

    slots = {"velocity": 0.0}

    def _numbers(self, group, t):               t is the number of the step, from 1
        return group["lr"], group["momentum"]

    def _rule(self, b, group, numbers):
        (v,), (lr, mu) = b.state, numbers
        v *= mu
        v += b.g                                v = mu*v + g
        return multiply(v, lr, b.out)           lr*v, which is then subtracted from p

Here b is a block of values: several parameters, or a piece of one; see blocks.py. Rules work on
arrays, in place, and nothing is recorded on the tape. The numbers are computed outside the rule
because a compiled training step records the rule once, and only recomputes the numbers on each run.

The step increments the version counter of each parameter that it writes to. So a backward pass
through a graph from before the step raises an error.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad.core import modes
from minigrad.core.errors import user_instruction
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import FRESH
from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse
from minigrad.core.tensor import Tensor
from minigrad.optim.blocks import Partition
from minigrad.optim.differentiable import recorded_step
from minigrad.optim.optimizer import Closure, DeclaredOptimizer, Group, Params


class Elementwise(DeclaredOptimizer):
    """An optimizer whose update rule works elementwise.

    A subclass defines

        counters                  scalar state with initial values: by default, the number of the step
        slots                     array state of each parameter, with initial values;
                                  or _slots(group), if it depends on the settings
        _numbers(group, *counts)  the coefficients of this step, from the settings and counters.
                                  A rule with two cases tells them apart by how many there are
        _rule(b, group, numbers)  returns the step of a block, to subtract from its values
        _sparse(...)              the update for a row-sparse gradient, if supported
        _adjust(settings)         raises errors for invalid settings, and may convert others

    Among the settings, `lr` is required. `maximize`, `weight_decay` and `decoupled_weight_decay`, if
    there are any, are applied here, so that rules need not mention them.
    """

    counters: ClassVar[dict[str, float]] = {"step": 0.0}
    slots: ClassVar[dict[str, float]] = {}
    _order = ""  # the settings to list first, as in PyTorch's groups
    _numbers: ClassVar[Callable[..., tuple[float, ...]]]
    _rule: ClassVar[Callable[..., Array]]
    _tracks_writes = True

    def _set_up(self, params: Params, settings: dict[str, Any]) -> None:
        self._adjust(settings)
        check_settings(settings)
        first = {name: settings[name] for name in self._order.split()}
        super()._set_up(params, first | settings)

    def _adjust(self, settings: dict[str, Any]) -> None:
        """Raise ValueError for a setting out of range that `check_settings` does not know."""

    def _slots(self, group: Group) -> dict[str, float]:
        return self.slots

    def _sparse(self, p: Tensor, rows: RowSparse, group: Group) -> None:
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _advance(self, plan: Partition, group: Group) -> None:
        """Increment the step counts of all parameters of the plan."""
        if plan.counts:
            plan.counts[0] += 1

    def step(self, closure: Closure | None = None) -> Any:
        """Update each parameter that has a gradient, in place.

        closure    computes the loss, calls backward, and returns the loss
        returns    the closure's loss; None without a closure
        """
        loss = self._loss_of(closure)
        written: list[Tensor] = []
        try:
            for k, group in enumerate(self.param_groups):
                self._step_group(k, group, written)
        finally:
            self._count(written)  # even after an error: some parameters have already changed
        return loss

    def _step_group(self, k: int, group: Group, written: list[Tensor]) -> None:
        if group.get("differentiable"):
            with modes.enable_grad():
                for p in group["params"]:
                    if p.grad is not None:
                        recorded_step(self, p, group)
            return
        params, grads, arrays = [], [], []
        for p in group["params"]:
            node = p.node
            grad = node.grad if type(node) is AccumulateGrad else p.grad
            if grad is None:
                continue
            g = grad.array
            if type(g) is RowSparse:
                self._sparse(p, g, group)
                written.append(p)
            else:
                written.append(p)
                params.append(p)
                grads.append(g)
                arrays.append(p.array)
        if not params:
            return
        plan = self._partition(k, params, arrays, group)
        if plan is not None:
            self._run(plan, grads, group)
            return
        for p, g in zip(params, grads, strict=True):  # a duplicate is updated twice, as in PyTorch
            self._run(Partition([p], self.state, self._slots(group), self.counters), [g], group)

    def _partition(
        self, k: int, params: list[Tensor], arrays: list[Array], group: Group
    ) -> Partition | None:
        """The blocks of the k-th group; None if a parameter is in it twice."""
        plan, slots = self._plans.get(k), self._slots(group)
        if plan is None or not plan.fits(arrays, self.state, slots):
            if len({id(p) for p in params}) < len(params):
                return None
            plan = self._plans[k] = Partition(params, self.state, slots, self.counters)
        return plan

    def _lr(self, group: Group) -> Any:
        """The learning rate as a float; in a recorded step as it is, a tensor that may require a gradient."""
        return group["lr"] if group.get("differentiable") else float(group["lr"])

    def _all_numbers(self, group: Group, counts: list[float]) -> tuple[float, ...]:
        """The numbers of the rule, preceded by the weight decay if it is not zero."""
        decay = group.get("weight_decay", 0)
        if not decay:
            return self._numbers(group, *counts)
        if group.get("decoupled_weight_decay"):
            decay = decay * self._lr(group)
        return decay, *self._numbers(group, *counts)

    def _run(self, plan: Partition, grads: list[Array], group: Group) -> None:
        decays, decoupled = group.get("weight_decay"), group.get("decoupled_weight_decay")
        self._advance(plan, group)
        rule = self._rule
        for b in plan.blocks:
            numbers, decay = b.numbers(self._all_numbers(group, b.counts())), None
            if decays:
                decay, *numbers = numbers
            b.take(grads, group.get("maximize", False), None if decoupled else decay)
            step = rule(b, group, numbers)
            if decoupled and decay is not None:  # p - lr * decay * p, instead of g + decay * p
                step += np.multiply(b.fetch_values(), decay, b.more)
            b.subtract(step)
            b.first = False

    def _count(self, written: list[Tensor]) -> None:
        """Increment the version counter of each parameter that was written to."""
        where = user_instruction()
        log = []
        for p in written:
            counter = p.counter if p.counter is not FRESH else p._shared_counter()
            counter.count += 1
            counter.where = where
            log.append((p, counter.count))
        self._written = log


NOT_NEGATIVE = "lr_decay eps momentum weight_decay initial_accumulator_value momentum_decay".split()


def check_one_entry(lr: Any) -> None:
    """Raise ValueError for a learning rate that is a tensor of several entries."""
    if isinstance(lr, Tensor) and lr.array.size != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_settings(settings: dict[str, Any]) -> None:
    """Raise ValueError for a setting out of range.

    `foreach`, `fused` and `capturable` select PyTorch implementations; minigrad has only one.
    """
    lr, betas = settings["lr"], settings.get("betas", ())
    check_one_entry(lr)
    check_in_range("learning rate", lr, bool(lr >= 0.0))
    for setting in NOT_NEGATIVE:
        what, value = "epsilon" if setting == "eps" else setting, settings.get(setting, 0.0)
        check_in_range(f"{what} value", value, value >= 0.0)
    for k, beta in enumerate(betas):
        check_in_range(f"beta parameter at index {k}", beta, 0.0 <= beta < 1.0)
    if settings.get("fused") and settings.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if settings.get("fused") and settings.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_in_range(what: str, value: object, ok: bool) -> None:
    """Raise ValueError, with PyTorch's message, if a setting is out of range."""
    if not ok:
        raise ValueError(f"Invalid {what}: {value}")
