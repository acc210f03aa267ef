"""Schedulers whose rate follows a formula: decay schedules, cosine annealing, cyclic rates.

The docstring of each class gives the rate of epoch t in terms of lr_0, the initial rate. Most
classes compute it from the rate of the previous epoch; scheduler.py explains why.

    CosineAnnealingWarmRestarts    decays along a cosine, then restarts at the initial rate
    CyclicLR                       rises and falls between two rates
    OneCycleLR                     rises once, then falls almost to 0; call step after every batch

The last two also change the momentum, in the opposite direction: high when the rate is low.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

from minigrad.optim.lr_scheduler.scheduler import (
    LrLambda,
    LRScheduler,
    _Declared,
    _Factors,
    check_optimizer,
    for_each_group,
    set_value,
    settings,
)
from minigrad.optim.optimizer import Group, Optimizer


class LambdaLR(LRScheduler):
    """lr_t = lr_0 * lr_lambda(t), where lr_lambda is a function, or a list with one per group.

    >>> import minigrad
    >>> sgd = minigrad.optim.SGD([minigrad.tensor([1.0], requires_grad=True)], lr=0.8)
    >>> scheduler = LambdaLR(sgd, lambda t: 0.5**t)
    >>> for _ in range(2):
    ...     sgd.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.2]
    """

    _parts = ("lr_lambdas",)

    def __init__(
        self, optimizer: Optimizer, lr_lambda: LrLambda | list[LrLambda], last_epoch: int = -1
    ) -> None:
        self.lr_lambdas: list[LrLambda] = for_each_group("lr_lambdas", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        """lr_0 * lr_lambda(last_epoch) for each group. The current rates are ignored."""
        return [
            lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(LambdaLR):
    """lr_t = lr_{t-1} * lr_lambda(t)"""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: LrLambda | list[LrLambda], last_epoch: int = -1
    ) -> None:
        for f in for_each_group("lr_lambdas", optimizer, lr_lambda):
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def _rates(self) -> list[Any]:
        """The current rates times lr_lambda(last_epoch). In the constructor, they do not change."""
        if self._is_initial:
            return settings(self.optimizer, "lr")
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * gamma**(t // step_size): multiplied by gamma every step_size epochs."""

    step_size: int
    gamma: float = 0.1

    _factor = lambda self, t: 1.0 if t == 0 or t % self.step_size else self.gamma
    _cumulative_factor = lambda self, t: self.gamma ** (t // self.step_size)


class MultiStepLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * gamma**(number of milestones up to t): multiplied by gamma at each milestone."""

    milestones: Any  # an iterable of epochs, kept as a Counter
    gamma: float = 0.1

    def _check(self) -> None:
        self.milestones = Counter(self.milestones)

    _factor = lambda self, t: self.gamma ** self.milestones[t]

    def _cumulative_factor(self, t: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), t)


class ConstantLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * factor while t < total_iters, then lr_0."""

    factor: float = 1.0 / 3
    total_iters: int = 5

    def _check(self) -> None:
        if not 0 <= self.factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")

    def _factor(self, t: int) -> float:
        if t == 0:
            return self.factor
        return 1.0 / self.factor if t == self.total_iters else 1.0

    _cumulative_factor = lambda self, t: self.factor if t < self.total_iters else 1.0


class LinearLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * (start_factor + (end_factor - start_factor) * min(t, T) / T), with T = total_iters.

    Use it as a warm-up before another scheduler; see SequentialLR.
    """

    start_factor: float = 1.0 / 3
    end_factor: float = 1.0
    total_iters: int = 5

    def _check(self) -> None:
        if not 0 < self.start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if not 0 <= self.end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")

    def _factor(self, t: int) -> float:
        if t == 0:
            return self.start_factor
        if self._is_initial or t > self.total_iters:
            return 1.0
        change = self.end_factor - self.start_factor
        return 1.0 + change / (self.total_iters * self.start_factor + (t - 1) * change)

    def _cumulative_factor(self, t: int) -> float:
        change = self.end_factor - self.start_factor
        return self.start_factor + change * min(t, self.total_iters) / self.total_iters


class ExponentialLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * gamma**t"""

    gamma: float

    _factor = lambda self, t: 1.0 if self._is_initial else self.gamma
    _cumulative_factor = lambda self, t: self.gamma**t


class PolynomialLR(_Factors, also="last_epoch=-1"):
    """lr_t = lr_0 * (1 - min(t, T) / T)**power, with T = total_iters"""

    total_iters: int = 5
    power: float = 1.0

    def _factor(self, t: int) -> float:
        if self._is_initial or t > self.total_iters:
            return 1.0
        left, before = 1.0 - t / self.total_iters, 1.0 - (t - 1) / self.total_iters
        return (left / before) ** self.power

    def _cumulative_factor(self, t: int) -> float:
        return (1.0 - min(t, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(_Declared, also="last_epoch=-1"):
    """lr_t = eta_min + (lr_0 - eta_min) * (1 + cos(pi * t / T_max)) / 2

    The rate decreases along half a cosine wave for T_max epochs, and then increases again.

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts
    (2017), without the restarts.
    """

    T_max: int
    eta_min: float = 0.0

    def _rates(self) -> list[Any]:
        """lr_t = eta_min + (lr_{t-1} - eta_min) * c(t) / c(t-1); c(t) = 1 + cos(pi * t / T_max)

        There are two exceptions. Right after a minimum, c(t-1) is 0, so the rise from eta_min is
        computed from lr_0. A scheduler that resumes at a later epoch starts with the closed form.
        """
        t, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return settings(self.optimizer, "lr")
        if self._step_count == 1 and t > 0:
            return self._get_closed_form_lr()
        rates = settings(self.optimizer, "lr")
        before = 1 + math.cos(math.pi * (t - 1) / self.T_max)
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the minimum the rate is eta_min, and no factor can increase it from there.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for lr, base in zip(rates, self.base_lrs, strict=True)]
        now = 1 + math.cos(math.pi * t / self.T_max)
        return [now / before * (lr - low) + low for lr in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(_Declared, also="last_epoch=-1"):
    """lr = eta_min + (lr_0 - eta_min) * (1 + cos(pi * T_cur / T_i)) / 2

    T_cur    epochs since the last restart; the next restart is when it reaches T_i
    T_i      the length of the current cycle: first T_0, then T_mult times longer each time

    `step(t)` sets the epoch, which may be fractional: step(epoch + batch / batches).

    Source: Loshchilov and Hutter, SGDR (2017).
    """

    T_0: int
    T_mult: int = 1
    eta_min: float = 0.0

    def _check(self) -> None:
        if not isinstance(self.T_0, int) or self.T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {self.T_0}")
        if not isinstance(self.T_mult, int) or self.T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {self.T_mult}")
        if not isinstance(self.eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {self.eta_min} of type {type(self.eta_min)}"
            )
        self.T_i = self.T_0
        self.T_cur: float = self.last_epoch

    def _rates(self) -> list[Any]:
        """The rates at T_cur, computed from the initial rates and not from the current ones."""
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
        elif self.T_mult == 1 or epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            # The first n cycles have T_0 * (1 + m + ... + m**(n - 1)) epochs.
            m = self.T_mult
            n = int(math.log(epoch / self.T_0 * (m - 1) + 1, m))
            self.T_i, self.T_cur = self.T_0 * m**n, epoch - self.T_0 * (m**n - 1) / (m - 1)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)


class _MovesMomentum(LRScheduler):
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

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def _begin_momentum(self, lows: list[float], highs: list[float]) -> None:
        for group, low, high in zip(self.optimizer.param_groups, lows, highs, strict=True):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low


class CyclicLR(_MovesMomentum):
    """Cycles from base_lr up to max_lr in step_size_up steps, and down in step_size_down steps.

    mode         "triangular"     all cycles have the same amplitude
                 "triangular2"    the amplitude is halved after each cycle
                 "exp_range"      the amplitude is multiplied by gamma at each step
    scale_fn     a function that replaces mode: it returns the amplitude for a cycle number, or
                 for a step number if scale_mode is "iterations"

    Call step after every batch.

    Source: Smith, Cyclical Learning Rates for Training Neural Networks (2017).
    """

    _parts = ("_scale_fn_custom",)

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
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
        """The relative amplitude, for cycle number x or step number x."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else float(self.gamma**x)

    def _rates(self) -> list[Any]:
        """The rates of this step; also sets the momentum."""
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


class OneCycleLR(_MovesMomentum):
    """The 1cycle policy: from max_lr / div_factor up to max_lr, then down to almost zero.

    total_steps         the number of steps of the whole training; or pass epochs and steps_per_epoch
    pct_start           the fraction of the steps in which the rate rises
    anneal_strategy     "cos" or "linear"
    final_div_factor    the final rate is the initial rate divided by this
    three_phase         fall back to the initial rate as slowly as it rose, then to the final rate

    Call step after every batch. Raises ValueError if it is called more than total_steps times.

    Source: Smith and Topin, Super-Convergence (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
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
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
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

    def _rates(self) -> list[Any]:
        """The rates of this step; also sets the momentum."""
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

    def _between(self, start: float, end: float, done: float) -> float:
        """Interpolate between start and end; `done` is between 0 and 1."""
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)


def _positive(name: str, n: object) -> int:
    if not isinstance(n, int) or n <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {n}")
    return n


def _phases(steps: int, share: float, three: bool) -> list[dict[str, Any]]:
    """The last step of each phase, and the names of its initial and final settings."""
    high, low = "max_momentum", "base_momentum"
    end = float(share * steps) - 1
    rows: list[tuple[Any, ...]] = [(end, "initial_lr", "max_lr", high, low)]
    if three:
        rows.append((float(2 * share * steps) - 2, "max_lr", "initial_lr", low, high))
        rows.append((steps - 1, "initial_lr", "min_lr", high, high))
    else:
        rows.append((steps - 1, "max_lr", "min_lr", low, high))
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, row, strict=True)) for row in rows]
