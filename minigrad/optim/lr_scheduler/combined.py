"""Schedulers that combine other schedulers, in sequence or all at once."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from minigrad.optim.lr_scheduler.scheduler import (
    LRScheduler,
    ReduceLROnPlateau,
    set_value,
    settings,
)
from minigrad.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """The base class of SequentialLR and ChainedScheduler: a list of schedulers."""

    _schedulers: Sequence[LRScheduler]
    _parts = ("_schedulers",)

    def _check(self, optimizer: object, schedulers: Sequence[Any]) -> None:
        own = type(self).__name__
        for k, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{own} at index {k} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{own} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs "
                    f"to be specified when calling `step`, but got one at index {k} in the given schedulers "
                    "sequence."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{own} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {k} has {scheduler.optimizer}, which is different "
                    f"from {type(optimizer).__name__}."
                )


class SequentialLR(_Combined):
    """Runs schedulers in sequence; `milestones` are the epochs at which the next one takes over.

    >>> import minigrad
    >>> from minigrad.optim.lr_scheduler import ExponentialLR, LinearLR
    >>> sgd = minigrad.optim.SGD([minigrad.tensor([1.0], requires_grad=True)], lr=1.0)
    >>> warm_up = LinearLR(sgd, start_factor=0.5, total_iters=2)
    >>> scheduler = SequentialLR(sgd, [warm_up, ExponentialLR(sgd, 0.1)], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(sgd.param_groups[0]["lr"])
    ...     sgd.step()
    ...     scheduler.step()
    >>> [round(lr, 4) for lr in rates]
    [0.5, 0.75, 1.0, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler."
            )
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                f"milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # The constructor of each scheduler has set the rate of its own epoch 0. Undo this, and
        # restart the scheduler that is responsible for epoch 0.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        scheduler = schedulers[bisect_right(milestones, 0)]
        scheduler._initial_step()
        self._last_lr = scheduler.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Move every scheduler one epoch back."""
        inner = getattr(self if sched is None else sched, "_schedulers", None)
        if inner is not None:
            for scheduler in inner:
                self.recursive_undo(scheduler)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Runs several schedulers at once: each changes the rate that the previous one has set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = settings(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = settings(self.optimizer, "lr")
