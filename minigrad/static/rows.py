"""Rows: the steps of optimizers for row-sparse gradients.

    Rows       such a gradient in a program: (rows, values) and (rows, values) and ...
    sgd        table[rows] += -lr * values: one instruction for each pair
    adagrad    one instruction, since the values decide which rows are written
    Cell       a number in memory that is checked before each run: a learning rate

Read sparse.py and step.py first.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.sparse import add_rows
from minigrad.static.instruction import Foreign, ProgramError
from minigrad.static.slot import Slot


class Rows:
    """A row-sparse gradient: parts of (rows, values), as in sparse.RowSparse."""

    def __init__(self, parts: list[tuple[Any, Any]], shape: tuple[int, ...]) -> None:
        self.parts, self.shape = parts, shape

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Rows):
            return Rows(self.parts + other.parts, self.shape)
        return self.dense(other.recorder) + other

    __radd__ = __add__

    def dense(self, recorder: Any) -> Any:
        """The whole table: zeros, with all values added to their rows."""
        at = [row for row, _ in self.parts]
        rows, values = at[0], self.parts[0][1]
        if len(at) > 1:
            rows = np.concatenate([np.reshape(r, -1) for r in at])
            flat = [v.reshape((int(np.prod(v.shape[:-1])), self.shape[1])) for _, v in self.parts]
            values = ops.cat(*flat, axis=0)
        return ops.put_zeros(values, index=(rows,), shape=self.shape)


class Cell:
    """A number in memory that is checked before each run: a learning rate."""

    def __init__(self, ask: Callable[[], float], dtype: Any, of: Any) -> None:
        self.ask, self.latest, self.of = ask, ask(), of
        self.array = np.array(self.latest, dtype)

    def look(self) -> bool:
        """Ask for the number again and store it. Always True: any number fits the same program."""
        now = self.ask()
        if now != self.latest:
            self.array[...] = self.latest = now
        return True


def number(recorder: Any, ask: Callable[[], float], dtype: Any, of: Any) -> Slot:
    """A number that is read again before each run.

    of   the owner of the number; it is read once for all users with the same owner
    """
    for cell in recorder.before:
        if isinstance(cell, Cell) and cell.of is of and cell.array.dtype == dtype:
            return Slot(recorder, recorder.held(cell.array))
    cell = Cell(ask, dtype, of)
    recorder.before.append(cell)
    return Slot(recorder, recorder.held(cell.array, "a number of the step"))


def write_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """The step for a row-sparse gradient: only its rows are written."""
    name = type(optimizer).__name__
    write = ROWS.get(name)
    if write is None or group.get("weight_decay") or group.get("momentum"):
        raise ProgramError(
            f"{name} with these settings has no formula for row-sparse gradients in a program. To fix it, use "
            "SGD without momentum, Adagrad without weight decay, or an Embedding with sparse=False; or stay with "
            "eager tensors."
        )
    write(recorder, optimizer, group, p, rows)


def sgd_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """p[rows] -= lr * values, where a row may appear several times"""
    # One cell for all tables of a group, so that a product with it is only computed once.
    down = number(recorder, lambda: -float(group["lr"]), p.array.dtype, group)
    x = Slot(recorder, recorder.number(p))
    for at, values in rows.parts:
        g = -values if group["maximize"] else values
        x = recorder.over(p, ops.index_put, x, g * down, index=(at,), accumulate=True)


def adagrad_rows(table: Any, sums: Any, lr: Any, eps: float, *parts: Any) -> Any:
    """s = s + g**2; p = p - lr * g / (sqrt(s) + eps), on the rows that have a gradient.

    parts   rows, values, rows, values, ...: a row may appear several times

    If these are most of the rows, we update all: a row with a zero gradient does not change.
    """
    g = np.zeros(table.shape, table.dtype)
    for at, values in zip(parts[::2], parts[1::2], strict=True):
        add_rows(g, at, values)
    if sum([at.size for at in parts[::2]]) > len(table) and eps > 0:
        step = g * lr
        sums += np.multiply(g, g, g)
        divisor = np.sqrt(sums, g)
        divisor += eps
        step /= divisor
        table -= step
        return table
    seen = np.zeros(len(table), np.bool_)
    for at in parts[::2]:
        seen[at] = True
    (k,) = seen.nonzero()
    g = g.take(k, 0)
    s = sums.take(k, 0)
    s += g * g
    put_rows(sums, k, s)
    divisor = np.sqrt(s, s)
    divisor += eps
    g *= lr
    g /= divisor
    put_rows(table, k, np.subtract(table.take(k, 0), g, g))
    return table


def put_rows(table: Any, rows: Any, values: Any) -> None:
    """table[rows] = values. Treats a whole row as one element: 2 to 3 times faster.

    >>> t = np.zeros((3, 2))
    >>> put_rows(t, np.array([2]), np.ones((1, 2)))
    >>> t.tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not (table.flags.c_contiguous and values.flags.c_contiguous and values.size):
        table[rows] = values
        return
    row = row_type(values.nbytes // len(values))
    table.reshape(-1).view(row).put(rows, values.reshape(-1).view(row))


@lru_cache(maxsize=16)
def row_type(nbytes: int) -> Any:
    """A dtype for a row of nbytes bytes."""
    return np.dtype((np.void, nbytes))


class InPlace(Foreign):
    """A function that writes to its first argument and returns it."""

    effect = True
    __hash__ = object.__hash__

    def rehearse(self, *, args: Any, kwargs: Any) -> Any:
        """The first argument, unchanged: its shape and dtype are those of the result."""
        return args[0]

    def __eq__(self, other: object) -> bool:
        return self is other


def write_adagrad_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """One instruction, since the values decide which rows are written: see adagrad_rows."""
    state = optimizer.state[p]
    optimizer._begin(p.memory(), state, group)
    count = state["step"]

    def rate() -> float:
        return float(group["lr"]) / (1 + float(count.array) * float(group["lr_decay"]))

    def counted() -> None:
        count.array = count.array + count.array.dtype.type(1)

    lr = number(recorder, rate, p.array.dtype, p)
    recorder.after.append(counted)
    sums = Slot(recorder, recorder.capture(state["sum"], "sum", as_memory=True))
    x = Slot(recorder, recorder.number(p))
    parts = [a for at, g in rows.parts for a in (at, (-g if group["maximize"] else g).array)]
    args = recorder.referred((x, sums, lr, float(group["eps"]), *parts))
    settings = {"args": args, "kwargs": {}}
    z = recorder.emit(InPlace("adagrad_rows", adagrad_rows), (), settings)
    recorder.became(p, z)


ROWS = {"SGD": sgd_rows, "Adagrad": write_adagrad_rows}
