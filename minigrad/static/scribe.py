"""Scribe: runs an optimizer's rule on stand-ins for arrays, and records what it does.

    Symbol       an array in a rule: it passes `v *= mu` and np.sqrt(v, out) to a scribe
    Scribe       only notes what is done, and which numbers are used
    Writer       writes it as instructions; the numbers become cells of memory

Read optim/blocks.py first; updates.py uses this module.
"""

from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.op import Op
from minigrad.static.slot import Slot


class NotWritten(Exception):
    """A rule does something without an instruction: the optimizer makes its step itself, after each run."""


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array in a rule. Passes each operation to its scribe.

    slot   its current value
    home   the tensor in whose memory it is stored, if it outlives the step
    """

    def __init__(self, scribe: Any, slot: Any = None, home: Any = None) -> None:
        self.scribe, self.slot, self.home = scribe, slot, home

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            raise NotWritten
        return self.scribe.apply(ufunc, inputs, None if out is None else out[0])

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis:
            raise NotWritten
        if value is not self:
            self.scribe.apply(np.positive, (value,), self)

    def __getitem__(self, index: Any) -> Any:
        raise NotWritten

    def __array_function__(self, *told: Any) -> Any:
        raise NotWritten


class Scribe:
    """Notes what a rule does, and which numbers it uses."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.numbers: list[float] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        """Note the ufunc and its numbers, compute nothing. Returns `out`, or the first input."""
        self.log.append(ufunc)
        for x in inputs:
            if x.__class__ is float:
                self.numbers.append(x)
            elif x.__class__ is not Symbol:
                self.numbers.append(float(x))
        return inputs[0] if out is None else out


class Writer(Scribe):
    """Writes what a rule does as instructions."""

    def __init__(self, recorder: Any, dtype: Any) -> None:
        super().__init__()
        self.recorder, self.dtype = recorder, dtype
        self.cells: list[Any] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        """Record the ufunc's op, written to the memory of `out` if it has a home.

        Raises NotWritten for a ufunc that is not in OP_OF.
        """
        super().apply(ufunc, inputs, out)
        op = OP_OF.get(ufunc)
        if op is None:
            raise NotWritten
        args = [x.slot if isinstance(x, Symbol) else self.cell(x) for x in inputs]
        if out is None:
            return Symbol(self, self.recorder.apply(op, args, {}))
        if out.home is not None:
            out.slot = self.recorder.over(out.home, op, *args)
        else:
            out.slot = self.recorder.apply(op, args, {})
        return out

    def cell(self, number: float) -> Slot:
        """A number in the rule: a cell of memory, which Ahead fills before each run."""
        array = np.array(number, self.dtype)
        self.cells.append(array)
        return Slot(self.recorder, self.recorder.held(array, "a number of the step"))


OP_OF: dict[Any, Op] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.negative: ops.neg,
    np.sqrt: ops.sqrt, np.maximum: ops.maximum, np.absolute: ops.abs, np.positive: ops.clone,
}  # fmt: skip
