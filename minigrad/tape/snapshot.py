"""Snapshots: the content of an array at the time of an event.

The array could be changed in place later, so we need a copy. A small array is copied whole,
which is fast, and summarized when needed. A large one is summarized at once, and only its
first entries are kept.

    shape, dtype, size       of the array
    min, max, mean, std, norm    over the finite entries (None for types without an order)
    nan, inf                 the number of entries that are nan or infinite
    first                    its first entries in row-major order
    rows                     only for a sparse gradient: its rows; `first` are their entries

For the picture in a box, we also keep every k-th entry of a large array (`sample`).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from minigrad.core.sparse import RowSparse
from minigrad.tape.document import ArrayFacts, Number
from minigrad.tape.names import in_words

FIRST = 64  # entries kept of a large array
WHOLE = 1024  # arrays with at most this many entries are copied whole
SIDE = 12  # rows and columns kept of a large matrix, for its picture
SAMPLE = 256  # entries kept of any other large array


Array = np.ndarray[Any, Any]
# min, max, mean, norm, std
Ends = tuple[float | None, float | None, float | None, float | None, float | None]


@cache
def name_of(dtype: Any) -> str:
    """The name of a dtype of minigrad, NumPy or PyTorch, such as "float32". Cached, because str() is slow."""
    return str(dtype).rpartition(".")[2]


class Snapshot:
    """The main facts about an array or a sparse gradient at one time.

    >>> Snapshot(np.array([1.0, 2.0, 6.0])).facts()["mean"]
    3.0
    """

    __slots__ = ("_array", "_facts", "_later", "_sample", "rows", "shape")
    _later: Callable[[], ArrayFacts]

    def __init__(self, value: Any) -> None:
        value = getattr(value, "array", value)
        self.rows: list[int] | None = None
        array = np.asarray(value.values if isinstance(value, RowSparse) else value)
        self.shape: tuple[int, ...] = array.shape
        if isinstance(value, RowSparse):
            self.shape, self.rows = value.shape, [int(i) for i in value.indices[:FIRST]]
        self._facts: ArrayFacts | None = None
        self._array: Array | None = array.copy() if array.size <= WHOLE else None
        self._sample: Any = None
        if self._array is None:
            self._later, self._sample = self._summary(array), thinned(array).copy()

    @classmethod
    def described(
        cls, shape: tuple[int, ...], facts: Callable[[], ArrayFacts], sample: Array
    ) -> "Snapshot":
        """A snapshot from given facts; `facts` is called when they are needed."""
        found = cls.__new__(cls)
        found.rows, found.shape, found._sample = None, shape, sample
        found._array, found._facts, found._later = None, None, facts
        return found

    @property
    def array(self) -> Array | None:
        """The whole array; None if it was too large to keep."""
        return None if self.rows is not None else self._array

    def sample(self) -> Array:
        """The array, or some entries of a large one: every k-th row and column of a matrix."""
        return self._sample if self._array is None else self._array

    def facts(self) -> ArrayFacts:
        """The snapshot as plain data, ready for JSON."""
        if self._facts is None:
            later = self._later if self._array is None else self._summary(self._array)
            self._facts = later()
            if self.rows is not None:
                self._facts["rows"] = self.rows
        return self._facts

    def __str__(self) -> str:
        return in_words(self.facts())

    def _summary(self, a: Array) -> Callable[[], ArrayFacts]:
        """Summarize an array now, because it may change; returns a function that gives the facts later."""
        if a.size == 1 and self.rows is None and a.dtype.kind == "f" and math.isfinite(a.item()):
            x = a.item()  # fast
            ends = (x, x, x, abs(x), 0.0)
            return partial(facts_of, self.shape, name_of(a.dtype), ends, (1, 0, 0), [x])
        flat = a.reshape(-1)
        first = (flat[:FIRST] if a.size > WHOLE else flat).tolist()
        lengths = flat if a.dtype.kind in "fiub" else np.abs(flat)
        large = a.size > WHOLE and a.dtype.kind == "f" and a.itemsize >= 4
        return summary(self.shape, a.dtype, lengths if large else _double(lengths), _double, first)


def _double(a: Array) -> Array:
    return a.astype(np.float64)


def summary(
    shape: Sequence[int], dtype: Any, flat: Any, double: Callable[[Any], Any], first: list[Any]
) -> Callable[[], ArrayFacts]:
    """Measure these entries now (see `measured`); returns a function that gives the facts later."""
    ends, counts = measured(flat, double)
    return partial(facts_of, shape, name_of(dtype), ends, counts, first)


def measured(flat: Any, double: Callable[[Any], Any]) -> tuple[Ends, tuple[int, int, int]]:
    """min, max, mean, norm and std of the finite entries; and the counts of finite, nan, infinite entries.

    flat      the entries, as a 1-d array or PyTorch tensor; computes on the tensor's device
    double    a function that converts to float64, used if float32 could overflow or underflow

    For the std, the mean is subtracted before squaring, so that close values lose no digits.
    """
    n, nan = len(flat), 0
    if not n:
        return (None,) * 5, (0, 0, 0)
    least, most = flat.min().item(), flat.max().item()
    if not (math.isfinite(least) and math.isfinite(most)):
        nan = int((flat != flat).sum())
        finite = double(flat)[(flat == flat) & (abs(flat) != math.inf)]
        ends, _ = measured(finite, double)
        return ends, (len(finite), nan, n - len(finite) - nan)
    mean, square = least, 0.0
    if least != most:
        moderate = 1e-15 < max(-least, most) < 1e15
        mean, square = _moments(flat if moderate else double(flat))
    norm = math.hypot(mean, math.sqrt(square / n)) * math.sqrt(n)
    return (least, most, mean, norm, math.sqrt(square / n)), (n, 0, 0)


def _moments(flat: Any) -> tuple[float, float]:
    """The mean, and the sum of squared deviations from it."""
    mean = flat.sum().item() / len(flat)
    deviations = flat - mean
    return mean, (deviations @ deviations).item()


def thinned(a: Any) -> Any:
    """Every k-th row and column of a matrix, or every k-th entry of another array; a view if possible."""
    if a.ndim == 2:
        return a[:: -(-a.shape[0] // SIDE), :: -(-a.shape[1] // SIDE)]
    return a.reshape(-1)[:: -(-math.prod(a.shape) // SAMPLE)]


def facts_of(
    shape: Sequence[int], dtype: str, ends: Ends, counts: tuple[int, int, int], first: list[Any]
) -> ArrayFacts:
    """The facts about an array as a record, with rounded numbers, from the results of `measured`."""
    kind = type(first[0]) if first else float
    if kind is complex:
        ends = (None,) * 5  # complex numbers have no order
    least, most = (None if e is None else kind(e) for e in ends[:2])
    numbers = [*map(json_number, (least, most, *ends[2:]))]
    return {
        "shape": list(shape),
        "dtype": dtype,
        "size": math.prod(shape),
        "min": numbers[0],
        "max": numbers[1],
        "mean": numbers[2],
        "std": numbers[4],
        "norm": numbers[3],
        "nan": counts[1],
        "inf": counts[2],
        "first": json_numbers(first),
    }


def repeats(again: Array, before: Array, tolerance: float = 1e-4) -> bool:
    """Did an op that was applied again give the recorded value, up to rounding?"""
    if before.shape != again.shape:
        return False
    return bool(np.allclose(again, before, 1e-3, tolerance, equal_nan=True))


def maybe(value: Any) -> Snapshot | None:
    """A snapshot of a gradient: an array, a Tensor under create_graph, or None."""
    return None if value is None else Snapshot(value)


def json_numbers(values: list[Any]) -> list[Number]:
    """A list of numbers for JSON; faster if all are finite."""
    if values and isinstance(values[0], float) and all(map(math.isfinite, values)):
        return [*map(float, ("%.7g " * len(values) % tuple(values)).split())]
    return [json_number(v) for v in values]


def json_number(value: float | complex | None) -> Number:
    """A number for JSON, with seven digits; "nan", "inf" and complex numbers, with four, as text."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else str(value)
    return f"{value:.4g}" if isinstance(value, complex) else value
