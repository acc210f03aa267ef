"""Snapshots: the content of an array at the time of an event.

In-place code could change the array later, so we copy it at once. A small array is
copied whole, which is fast, and described when needed. A large one is described
at once, and only its first entries are kept.

    shape, dtype, size       as of the array
    min, max, mean, norm     over the finite entries (None for types without an order)
    nan, inf                 how many entries are nan or infinite
    first                    its first entries in row-major order
    rows                     only for a sparse gradient: its rows; `first` are their entries
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.core.sparse import RowSparse

FIRST = 64  # entries kept of a large array
WHOLE = 1024  # arrays with at most this many entries are copied whole
Plain = dict[str, Any]


class Snapshot:
    """A copy of the main facts about an array or a sparse gradient.

    >>> Snapshot(np.array([1.0, 2.0, 6.0])).plain()["mean"]
    3.0
    """

    __slots__ = ("_array", "_plain", "rows", "shape")

    def __init__(self, value: Any) -> None:
        value = getattr(value, "array", value)
        self.rows: list[int] | None = None
        if isinstance(value, RowSparse):
            self.shape: tuple[int, ...] = value.shape
            self.rows = [int(i) for i in value.indices[:FIRST]]
            value = value.values
            array = np.asarray(value)
        else:
            array = np.asarray(value)
            self.shape = array.shape
        self._array: Any = array.copy() if array.size <= WHOLE else None
        self._plain: Plain | None = None if array.size <= WHOLE else self._described(array)

    @property
    def array(self) -> Any:
        """The whole array, if it was small enough to keep; else None."""
        return None if self.rows is not None else self._array

    def plain(self) -> Plain:
        """The snapshot as plain data, ready for JSON."""
        if self._plain is None:
            self._plain = self._described(self._array)
        return self._plain

    def _described(self, a: Any) -> Plain:
        size = 1
        for n in self.shape:
            size *= n
        found: Plain = {"shape": list(self.shape), "dtype": str(a.dtype), "size": size}
        if size == 1 and a.dtype.kind == "f" and math.isfinite(x := a.item()):
            x = _json(x)
            found |= {
                "min": x,
                "max": x,
                "mean": x,
                "norm": abs(x),
                "nan": 0,
                "inf": 0,
                "first": [x],
            }
            return found if self.rows is None else found | {"rows": self.rows}
        real = a.size > 0 and a.dtype.kind in "fiub"
        floating = a.dtype.kind in "fc"
        nan = int(np.isnan(a).sum()) if floating else 0
        inf = int(np.isinf(a).sum()) if floating else 0
        numbers = a[np.isfinite(a)] if nan or inf else a
        ordered = real and numbers.size > 0
        found["min"] = _json(numbers.min().item()) if ordered else None
        found["max"] = _json(numbers.max().item()) if ordered else None
        found["mean"] = _json(float(numbers.mean(dtype=np.float64))) if ordered else None
        found["norm"] = _norm(numbers) if ordered else None
        found["nan"], found["inf"] = nan, inf
        first = a.reshape(-1)
        if a.size > WHOLE:
            first = first[:FIRST]
        found["first"] = [_json(v) for v in first.tolist()]
        if self.rows is not None:
            found["rows"] = self.rows
        return found


def maybe(value: Any) -> Snapshot | None:
    """A snapshot of a gradient: an array, a Tensor under create_graph, or None."""
    return None if value is None else Snapshot(value)


def _norm(numbers: Any) -> Any:
    flat = numbers.reshape(-1).astype(np.float64)
    return _json(float(np.sqrt(flat @ flat)))


def _json(value: Any) -> Any:
    """A number for JSON, with seven digits; "nan", "inf" and complex numbers as text."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, complex) else value
