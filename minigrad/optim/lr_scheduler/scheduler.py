"""LRScheduler: changes the learning rate during training.

    for epoch in range(100):
        train(...)              optimizer.step() many times
        scheduler.step()        the next epoch's learning rate

A scheduler writes to `group["lr"]` in each of the optimizer's groups. It computes the new
rate from the current one (for example, times 0.1), not from the initial one. So several
schedulers can work on one optimizer: each changes the rate that the others have set.

    last_epoch    the current epoch: how many times `step` was called
    base_lrs      the initial rate of each group, stored in group["initial_lr"]

To write your own scheduler, subclass LRScheduler and define `get_lr`. ReduceLROnPlateau lowers the rate
when the loss stops improving.
"""

import dataclasses
import math
from collections.abc import Callable
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any, ClassVar

from minigrad.core.errors import warn_user
from minigrad.core.modes import no_grad, reports
from minigrad.core.tensor import Tensor
from minigrad.nn.fields import WithFields
from minigrad.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler."
)


LrLambda = Callable[[int], float]


class LRScheduler:
    """The base class of all schedulers.

    optimizer     the optimizer whose learning rates to change
    last_epoch    -1 to start. To resume from a checkpoint, its last epoch; the optimizer's
                  groups must then contain "initial_lr", which an earlier scheduler stored there

    The constructor sets the rates of epoch 0.
    """

    _parts: tuple[str, ...] = ()  # attributes that hold functions, schedulers, or lists of these
    _is_initial = False
    _get_lr_called_within_step = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming scheduler with "
                    "last_epoch >= 0. To go on from a checkpoint, load the optimizer's state first; to begin, "
                    "leave last_epoch out."
                )
        self.base_lrs = settings(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if not vars(optimizer).get("_is_scheduled"):
            optimizer._is_scheduled, optimizer._opt_called = True, False
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, one for each group, computed from the current rates.

        For `step`. It warns if you call it yourself: the factor would be applied once more.
        """
        if not self._get_lr_called_within_step:
            warn_user(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
            )
        return self._rates()

    def _rates(self) -> list[Any]:
        """The formula of a scheduler, which `get_lr` returns."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rates that this scheduler set last, one for each group."""
        return self._last_lr

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "step" in vars(cls):
            cls.step = reports("schedule")(vars(cls)["step"])  # type: ignore[method-assign]

    @reports("schedule")
    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch. Call it after the optimizer's step."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of the given one."""
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(closed or self.get_lr)

    def _set(self, rates_of: Callable[[], list[Any]]) -> None:
        """Set the rates that `rates_of` returns, without the warning of `get_lr`."""
        self._get_lr_called_within_step = True
        try:
            rates = rates_of()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = settings(self.optimizer, "lr")

    def _warn_about_order(self) -> None:
        """Warn if the scheduler steps before the optimizer: the first epoch's rate would never be used."""
        if "step" in vars(self.optimizer):
            warn_user(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
                "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
            )
        elif not self.optimizer._opt_called:
            warn_user(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
                "order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
                "learning rate schedule is skipped. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
            )

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler, without the optimizer.

        Functions are not saved: None takes their place. A callable object is saved as its
        `__dict__`, and a nested scheduler as its own state_dict.
        """
        parts = {name: _state_of(getattr(self, name)) for name in self._parts}
        left = {"optimizer", *parts}
        return {name: value for name, value in vars(self).items() if name not in left} | parts

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a dict returned by `state_dict`. The rates are part of the optimizer's state.

        Functions stay as they are; callable objects and nested schedulers load their own state.
        """
        own = {name: getattr(self, name) for name in self._parts}
        vars(self).update(state_dict | own)
        for name, value in own.items():
            _load_state(value, state_dict[name])


class _Declared(WithFields, LRScheduler):
    """A scheduler with annotated settings, from which `__init__` is made (see nn/fields.py)."""

    _first = "optimizer"

    if TYPE_CHECKING:
        optimizer: Optimizer
        last_epoch: int = dataclasses.field(default=-1, kw_only=True)

    def _set_up(self, optimizer: Optimizer, settings: dict[str, Any]) -> None:
        vars(self).update(settings)  # among them last_epoch
        self._check()
        LRScheduler.__init__(self, optimizer, vars(self).pop("last_epoch"))

    def _check(self) -> None:
        """Raise ValueError for a setting out of range."""


class _Factors(_Declared):
    """A scheduler that multiplies every group's rate by a factor at each step.

    _factor(t)               lr of epoch t / lr of the previous epoch
    _cumulative_factor(t)    lr of epoch t / initial lr: the product of the factors, in closed form
    """

    _factor: ClassVar[Callable[..., float]]
    _cumulative_factor: ClassVar[Callable[..., float]]

    def _rates(self) -> list[Any]:
        """The current rates times `_factor(last_epoch)`, one for each group."""
        factor = self._factor(self.last_epoch)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._cumulative_factor(self.last_epoch)
        return [lr * factor for lr in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies lr by factor when the loss has not improved for more than `patience` epochs.

    mode              "min": lower is better. "max": higher is better
    patience          how many epochs without improvement to wait
    threshold         the minimum improvement that counts: relative to the best value so far
                      (threshold_mode "rel"), or absolute ("abs")
    cooldown          how many epochs to ignore after a reduction
    min_lr            the lowest rate: a number, or a list with one per group
    eps               changes of the rate below this are skipped

    `step` takes the loss: scheduler.step(validation_loss).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = check_optimizer(optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = for_each_group("min_lrs", optimizer, min_lr)
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = settings(optimizer, "lr")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Is this still the cooldown, in which epochs without improvement are not counted?"""
        return self.cooldown_counter > 0

    def step(self, metrics: float | Tensor, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record the loss of an epoch, a number or a one-element tensor, and adjust the rate."""
        current = float(metrics)
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = settings(self.optimizer, "lr")

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1.0 + sign * self.threshold)

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param "
                    "group being added to the optimizer. Please modify the `min_lrs` field to match the "
                    "length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, low in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_value(group, "lr", new)


def check_optimizer(optimizer: object) -> Optimizer:
    """Return the optimizer. Raises TypeError if it is not an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _copy_of(value: object) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def settings(optimizer: Optimizer, name: str) -> list[Any]:
    """The values of a setting, one for each group. Tensors are copied, as they change in place."""
    return [_copy_of(group[name]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], name: str, value: float) -> None:
    """Set a setting of a group. If it is a tensor, change it in place."""
    if isinstance(group[name], Tensor):
        with no_grad():
            group[name].fill_(float(value))
    else:
        group[name] = value


def for_each_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """Expand one value to a list with one entry per group, and check the length of a list."""
    n = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n
    if len(values) != n:
        raise ValueError(WRONG_LENGTH.get(name, USUAL).format(name=name, n=n, given=len(values)))
    return [_copy_of(v) for v in values]


# PyTorch's messages about a list that does not have one entry per group.
WRONG_LENGTH = {
    "lr_lambdas": "Expected {n} lr_lambdas, but got {given}",
    "min_lrs": "expected {n} min_lrs, got {given}",
}
USUAL = (
    "{name} must have the same length as optimizer.param_groups. {name} has {given} values, "
    "param_groups has {n}."
)


def _state_of(value: Any) -> Any:
    """The saved form of a function, a callable object, a scheduler, or a list of these."""
    if isinstance(value, (list, tuple)):
        return [_state_of(part) for part in value]
    if hasattr(value, "optimizer"):
        return value.state_dict()
    return None if isinstance(value, (FunctionType, NoneType)) else vars(value).copy()


def _load_state(value: Any, saved: Any) -> None:
    """Load the saved form that `_state_of` returned."""
    if isinstance(value, (list, tuple)):
        for part, state in zip(value, saved, strict=True):
            _load_state(part, state)
    elif hasattr(value, "optimizer"):
        value.load_state_dict(saved)
    elif saved is not None:
        vars(value).update(saved)
