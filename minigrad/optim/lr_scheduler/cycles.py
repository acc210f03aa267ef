"""Learning rates that rise and fall: warm restarts, cycles, and one cycle.

    CosineAnnealingWarmRestarts    down along a cosine, then directly back to the top
    CyclicLR                       up and down between two rates
    OneCycleLR                     up, then far down, once; call step after every batch

The last two also change the momentum, in the opposite direction: high when the rate is low.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minigrad.optim.lr_scheduler.scheduler import (
    LRScheduler,
    checked,
    for_each_group,
    set_value,
)
from minigrad.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """lr = eta_min + (lr_0 - eta_min) * (1 + cos(pi * T_cur / T_i)) / 2

    T_cur    epochs since the last restart; when it reaches T_i, it restarts at 0
    T_i      T_0 at first, and T_mult times as long after each restart

    `step(t)` sets the epoch, which may be fractional: step(epoch + batch / batches).

    Source: Loshchilov and Hutter, SGDR (2017).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at T_cur, computed from the initial rates and not from the current ones."""
        self._warn_unless_stepping()
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to the given one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            # The first n cycles have T_0 * (1 + m + ... + m**(n - 1)) epochs.
            m = self.T_mult
            n = int(math.log(epoch / self.T_0 * (m - 1) + 1, m))
            self.T_i, self.T_cur = self.T_0 * m**n, epoch - self.T_0 * (m**n - 1) / (m - 1)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._set(self.get_lr())
        finally:
            self._get_lr_called_within_step = False


class MovesMomentum(LRScheduler):
    """A scheduler that also changes the groups' momentum (or Adam's first beta)."""

    cycle_momentum: bool
    use_beta1: bool

    def _find_momentum(self, cycle_momentum: bool) -> None:
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            defaults = self.optimizer.defaults
            if "momentum" not in defaults and "betas" not in defaults:
                raise ValueError(
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled. To fix "
                    "it, pass cycle_momentum=False."
                )
            self.use_beta1 = "betas" in defaults

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def _begin_momentum(self, lows: list[float], highs: list[float]) -> None:
        for group, low, high in zip(self.optimizer.param_groups, lows, highs, strict=True):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low


class CyclicLR(MovesMomentum):
    """Up from base_lr to max_lr in step_size_up steps, down in step_size_down, and again.

    mode         "triangular"     all cycles are the same
                 "triangular2"    each is half as high as the previous one
                 "exp_range"      the height is multiplied by gamma at each step
    scale_fn     the height as a function of the cycle number, or of the step number if
                 scale_mode is "iterations"; then mode is ignored

    Call step after every batch.

    Source: Smith, Cyclical Learning Rates for Training Neural Networks (2017).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = (
            scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        )
        self._find_momentum(cycle_momentum)
        if cycle_momentum:
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                self._begin_momentum(self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the cycle, for cycle number x or for step x."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else float(self.gamma**x)

    def get_lr(self) -> list[Any]:
        """The rates of this step; also sets the momentum."""
        self._warn_unless_stepping()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rising = x <= self.step_ratio
        height = x / self.step_ratio if rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """All except the optimizer and scale_fn; a callable object is saved as its __dict__."""
        state = super().state_dict()
        f = state["_scale_fn_custom"]
        if f is not None:
            state["_scale_fn_custom"] = None if isinstance(f, FunctionType) else vars(f).copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned. scale_fn stays; an object gets its saved attributes."""
        f = self._scale_fn_custom
        super().load_state_dict(state_dict)
        saved, self._scale_fn_custom = state_dict["_scale_fn_custom"], f
        if saved is not None:
            vars(f).update(saved)


class OneCycleLR(MovesMomentum):
    """One cycle: from max_lr / div_factor up to max_lr, then down to almost zero.

    total_steps         the number of steps in the whole training; or give epochs and steps_per_epoch
    pct_start           the fraction of the steps in which the rate rises
    anneal_strategy     "cos" or "linear"
    final_div_factor    the last rate is the first one divided by this
    three_phase         first fall back to the first rate, as slowly as it rose, and then to the last

    Call step after every batch. Raises ValueError if it is called more than total_steps times.

    Source: Smith and Topin, Super-Convergence (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive(
                "steps_per_epoch", steps_per_epoch
            )
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._find_momentum(cycle_momentum)
        if cycle_momentum and last_epoch == -1:
            self._begin_momentum(
                for_each_group("base_momentum", optimizer, base_momentum),
                for_each_group("max_momentum", optimizer, max_momentum),
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step; also sets the momentum."""
        self._warn_unless_stepping()
        t = self.last_epoch
        if t > self.total_steps:
            raise ValueError(
                f"Tried to step {t} times. The specified number of total steps is {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if t <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        done = (t - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(low, high, done))
        return rates

    def _between(self, start: Any, end: Any, done: float) -> Any:
        """The value between start and end, after the fraction `done` of the way."""
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)


def _positive(name: str, n: Any) -> int:
    if not isinstance(n, int) or n <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {n}")
    return n


def phases(steps: int, share: float, three: bool) -> list[dict[str, Any]]:
    """For each phase, its last step, and the group entries that it starts from and leads to."""

    def phase(end: float, lrs: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": lrs[0],
            "end_lr": lrs[1],
            "start_momentum": momenta[0],
            "end_momentum": momenta[1],
        }

    high, low = "max_momentum", "base_momentum"
    first = phase(float(share * steps) - 1, ("initial_lr", "max_lr"), (high, low))
    if not three:
        return [first, phase(steps - 1, ("max_lr", "min_lr"), (low, high))]
    return [
        first,
        phase(float(2 * share * steps) - 2, ("max_lr", "initial_lr"), (low, high)),
        phase(steps - 1, ("initial_lr", "min_lr"), (high, high)),
    ]
