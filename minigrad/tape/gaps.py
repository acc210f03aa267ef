"""How far apart two snapshots are, one of each of two tapes of one program.

    gap           a number; 1 is the most that rounding in one operation explains
    told_apart    both snapshots in words, which differ

Read matching.py first, which uses them.
"""

import math
from typing import Any

import numpy as np

from minigrad.tape.document import ArrayFacts
from minigrad.tape.names import in_words
from minigrad.tape.snapshot import Array


def largest_in(facts: ArrayFacts | None) -> float:
    """The largest absolute value; 0 if it is not known."""
    ends = [] if facts is None else [facts["min"], facts["max"]]
    return max([abs(x) for x in ends if isinstance(x, int | float) and math.isfinite(x)], default=0)


def gap(
    a: ArrayFacts | None, b: ArrayFacts | None, summed: float = 0.0, relative: bool = False
) -> float:
    """How far apart two snapshots are; 1 is the most that rounding in one operation explains.

    0 for values that were not recorded.

    summed      the size of the terms that they are sums of: terms may cancel, and leave rounding errors
    relative    compare each entry with its own size, however small it is
    """
    if a is None or b is None:
        return 0.0
    if a["size"] != b["size"]:
        return math.inf
    pair = _numbers(a, b)
    if pair is None:
        return 0.0 if a["first"] == b["first"] else math.inf
    x, y = pair
    largest = float(np.nanmax(np.abs(x), initial=summed, where=np.isfinite(x)))
    with np.errstate(invalid="ignore", divide="ignore"):
        least = 0.0 if relative else max(1e-6, 1e-5 * largest)
        apart = np.abs(x - y) / (least + 1e-4 * np.abs(y))
    special = ~np.isfinite(x)
    if not np.array_equal(x[special], y[special], equal_nan=True):
        return math.inf
    return float(np.max(apart, initial=0.0, where=np.isfinite(apart)))


def _numbers(a: ArrayFacts, b: ArrayFacts) -> tuple[Array, Array] | None:
    """The numbers of two snapshots that can be compared; None for complex numbers, which are text."""
    known = min(len(f["first"]) for f in (a, b))  # a long tape keeps fewer entries
    numbers = [[f["min"], f["max"], f["mean"], *f["first"][:known]] for f in (a, b)]
    if "rows" in a or "rows" in b:
        numbers = _of_rows(a, b)
    try:
        x, y = (np.array(n, dtype=float) for n in numbers)
    except ValueError:
        return None
    return x, y


def _of_rows(a: ArrayFacts, b: ArrayFacts) -> list[list[Any]]:
    """The entries of two sparse gradients. One engine may list a row twice, and the other has added it up."""
    tables = []
    for facts in (a, b):
        rows, width = facts.get("rows", []), math.prod(facts["shape"][1:])
        if len(rows) * width != len(facts["first"]):
            return [[], []]  # too many rows were left out
        table: dict[int, Array] = {}
        entries = np.array(facts["first"], dtype=float).reshape(len(rows), width)
        for row, values in zip(rows, entries):
            table[row] = table.get(row, 0.0) + values
        tables.append(table)
    rows = sorted(tables[0].keys() | tables[1].keys())
    zero = np.zeros(math.prod(a["shape"][1:]))
    return [[x for row in rows for x in table.get(row, zero)] for table in tables]


def told_apart(a: ArrayFacts | None, b: ArrayFacts | None) -> list[str]:
    """Two snapshots in words; if the words are the same, with the entries that are furthest apart."""
    words = [in_words(f) for f in (a, b)]
    if words[0] != words[1] or a is None or b is None or (pair := _numbers(a, b)) is None:
        return words
    if a["shape"] != b["shape"]:
        return [f"{text}, shape {tuple(f['shape'])}" for text, f in zip(words, (a, b))]
    x, y = pair[0][3:], pair[1][3:]
    if not x.size:
        return words
    k = int(np.nanargmax(np.abs(x - y) / (np.abs(x) + np.abs(y) + 1e-30)))
    return [f"{text}; entry {k} is {z[k]:.9g}" for text, z in zip(words, (x, y))]
