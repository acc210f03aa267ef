"""Learning rates that decrease (or increase) along a curve.

The docstring of each class gives the rate of epoch t in terms of lr_0, the initial rate. The code
computes it from the rate of the previous epoch; see scheduler.py for the reason.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from minigrad.optim.lr_scheduler.scheduler import (
    Factors,
    LRScheduler,
    checked,
    functions_for,
    settings,
    without_functions,
)
from minigrad.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """lr_t = lr_0 * lr_lambda(t): any curve, given as a function or a list of one per group.

    >>> import minigrad
    >>> sgd = minigrad.optim.SGD([minigrad.tensor([1.0], requires_grad=True)], lr=0.8)
    >>> scheduler = LambdaLR(sgd, lambda t: 0.5**t)
    >>> for _ in range(2):
    ...     sgd.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.2]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = functions_for(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """lr_0 * lr_lambda(last_epoch) for each group: the current rates are not read."""
        self._warn_unless_stepping()
        return [
            lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything except the optimizer and the functions; a callable object is saved as its __dict__."""
        state = super().state_dict()
        state["lr_lambdas"] = without_functions(self.lr_lambdas)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned. Functions stay; objects get their saved attributes."""
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        for f, saved in zip(functions, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                vars(f).update(saved)
        self.lr_lambdas = functions


class MultiplicativeLR(LambdaLR):
    """lr_t = lr_{t-1} * lr_lambda(t)"""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for f in functions_for(optimizer, lr_lambda):
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        """The current rates times lr_lambda(last_epoch); in the constructor, as they are."""
        self._warn_unless_stepping()
        if self._is_initial:
            return settings(self.optimizer, "lr")
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(Factors):
    """lr_t = lr_0 * gamma**(t // step_size): constant for step_size epochs at a time."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        t = self.last_epoch
        return 1.0 if t == 0 or t % self.step_size else self.gamma

    def _share(self, t: int) -> float:
        return self.gamma ** (t // self.step_size)


class MultiStepLR(Factors):
    """lr_t = lr_0 * gamma**(number of milestones up to t): changes at the given milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch]

    def _share(self, t: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), t)


class ConstantLR(Factors):
    """lr_t = lr_0 * factor while t < total_iters, then lr_0."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _share(self, t: int) -> float:
        return self.factor if t < self.total_iters else 1.0


class LinearLR(Factors):
    """lr_t = lr_0 * (start_factor + (end_factor - start_factor) * min(t, T) / T), with T = total_iters.

    Use it as a warm-up before another scheduler; see SequentialLR.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        t = self.last_epoch
        if t == 0:
            return self.start_factor
        if self._is_initial or t > self.total_iters:
            return 1.0
        change = self.end_factor - self.start_factor
        return 1.0 + change / (self.total_iters * self.start_factor + (t - 1) * change)

    def _share(self, t: int) -> float:
        change = self.end_factor - self.start_factor
        return self.start_factor + change * min(t, self.total_iters) / self.total_iters


class ExponentialLR(Factors):
    """lr_t = lr_0 * gamma**t"""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _share(self, t: int) -> float:
        return self.gamma**t


class PolynomialLR(Factors):
    """lr_t = lr_0 * (1 - min(t, T) / T)**power, with T = total_iters"""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        t = self.last_epoch
        if self._is_initial or t > self.total_iters:
            return 1.0
        left, before = 1.0 - t / self.total_iters, 1.0 - (t - 1) / self.total_iters
        return (left / before) ** self.power

    def _share(self, t: int) -> float:
        return (1.0 - min(t, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """lr_t = eta_min + (lr_0 - eta_min) * (1 + cos(pi * t / T_max)) / 2

    Half a cosine wave: decreases for T_max epochs, and then increases again.

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts
    (2017), without the restarts.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(checked(optimizer), last_epoch)

    def get_lr(self) -> list[Any]:
        """lr_t = eta_min + (lr_{t-1} - eta_min) * c(t) / c(t-1); c(t) = 1 + cos(pi * t / T_max)

        There are two exceptions. Right after a minimum, c(t-1) is 0, and the rate rises from
        eta_min. Before the first step of a scheduler that resumes at a later epoch, it is the
        closed form.
        """
        self._warn_unless_stepping()
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
