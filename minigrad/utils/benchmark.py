"""Timing, with PyTorch's names: `Timer(stmt, setup, globals).timeit(100)`.

>>> import minigrad
>>> timer = Timer("x * x", globals={"x": minigrad.ones(3)})
>>> timer.timeit(10).number_per_run
10
"""

import timeit
from collections.abc import Callable
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

__all__ = ["Measurement", "Timer"]


class Measurement(NamedTuple):
    """The measured run times of a statement.

    number_per_run    how many times the statement was executed in each run
    raw_times         the duration of each run, in seconds
    """

    number_per_run: int
    raw_times: list[float]
    title: str = ""

    @property
    def times(self) -> list[float]:
        """Seconds for one execution, one entry for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return mean(self.times)

    @property
    def median(self) -> float:
        """The median of `times`."""
        return median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of `times`; 0 for a single run."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        unit, factor = next((u, f) for u, f in UNITS if self.median >= f or f == UNITS[-1][1])
        runs = f"{len(self.times)} runs" if len(self.times) > 1 else "1 run"
        return f"{self.title}\n  {self.median / factor:.2f} {unit}\n  {runs} of {self.number_per_run} times each"


UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class Timer:
    """Times a statement.

    stmt         the statement, as text
    setup        code to run once before the statement
    globals      the global names for stmt and setup
    num_threads  accepted, but ignored

    Exceptions from the statement are passed on.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,  # noqa: A002  # PyTorch's name
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
    ) -> None:
        self.title = ": ".join(part for part in (label or stmt, sub_label, description) if part)
        self._timer = timeit.Timer(stmt, f"{global_setup}\n{setup}", timer, globals)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement `number` times, after a few runs to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self.title)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Time runs that are long enough to be measured, until `min_run_time` seconds have passed."""
        number = 1
        while (taken := self._timer.timeit(number)) < min_run_time / 1000:
            number *= 10
        times: list[float] = []
        while sum(times) < min_run_time:
            taken = self._timer.timeit(number)
            times.append(taken)
            if callback is not None:
                callback(number, taken)
        return Measurement(number, times, self.title)

    adaptive_autorange = blocked_autorange
