"""Traced: the array that NumPy code gets for a Slot.

Minigrad computes some things with NumPy, outside of any op: an argmax, the order of
a sort, whether an index is in range. While a program is recorded, this code gets a Traced: an
array that records what NumPy functions do with it. So a computed index is computed again in each
run. If NumPy's answer would affect the path of the recorded function, we raise an error.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.op import Op
from minigrad.static.instruction import ProgramError


class Traced(np.ndarray[Any, Any]):
    """The example value of a slot. It records what NumPy functions do with it.

    NumPy code that only looks at it as a plain array (is each index in range?) sees the values
    that the program is recorded with; results of NumPy functions are recorded.
    """

    slot: Any = None

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        return slot_of(self).recorder.apply(op, args, settings)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        if method not in ("__call__", "reduce", "accumulate"):
            raise ProgramError(f"{name} writes where values say, which a program cannot follow.")
        out = kwargs.pop("out", None)
        if out is not None:
            (out,) = out
            if not isinstance(out, Traced) and isinstance(out, np.ndarray):
                recorder = recorder_among([*inputs, *kwargs.values()])
                return recorder.write_array(name, function, inputs, kwargs, out)
            raise ProgramError(
                f"{name} would write over a value of the program. To fix it, make a new array: z = x + y."
            )
        return recorder_among(inputs).foreign(name, function, inputs, kwargs).array

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in SHAPES_ONLY:
            return function(*plain(args), **plain(kwargs))
        recorder = recorder_among([args, list(kwargs.values())])
        module = "np.linalg." if function.__module__ == "numpy.linalg" else "np."
        return recorder.foreign(module + function.__name__, function, args, kwargs).array

    def _through(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Record the NumPy function of the same name as a method."""
        return (
            slot_of(self)
            .recorder.foreign(f"np.{name}", getattr(np, name), (self, *args), kwargs)
            .array
        )

    # Rearrangements are views of the slot, so we know that what is read from them is its value.
    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """A view of the slot; one tuple or several integers, as in NumPy."""
        return slot_of(self).reshape(*shape).array

    def ravel(self, order: Any = "C") -> Any:
        """One axis with all entries, in C order whatever `order` says."""
        return slot_of(self).reshape(-1).array

    def transpose(self, *axes: Any) -> Any:
        """A view with these axes; without axes, in reverse order."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
        return slot_of(self).permute(*(axes or range(self.ndim)[::-1])).array

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        """A view with two axes exchanged, recorded as transpose."""
        return slot_of(self).transpose(axis1, axis2).array

    def __getitem__(self, index: Any) -> Any:
        return slot_of(self)[index].array

    def squeeze(self, axis: Any = None) -> Any:
        """Recorded as np.squeeze. Unlike reshape it is no view of the slot."""
        return self._through("squeeze", axis)

    def take(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.take, so the indices may be values of the program."""
        return self._through("take", *args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.argsort: each run sorts its own values."""
        return self._through("argsort", *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.argmax: each run finds its own place."""
        return self._through("argmax", *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.argmin: each run finds its own place."""
        return self._through("argmin", *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.mean, not as ops.mean: no gradient passes."""
        return self._through("mean", *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.var: no gradient passes."""
        return self._through("var", *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.std: no gradient passes."""
        return self._through("std", *args, **kwargs)

    def nonzero(self) -> Any:
        """Refuse with ProgramError: the shape of the result depends on the values."""
        raise ProgramError(
            "nonzero() finds as many places as the values happen to have, and shapes are frozen in a program. To fix "
            "it, keep the shape: a mask (x != 0), or where(x != 0, a, b); or stay with eager tensors."
        )

    def cumsum(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded as np.cumsum: no gradient passes."""
        return self._through("cumsum", *args, **kwargs)

    def copy(self, order: Any = "C") -> Any:
        """The same array: nothing can write to a Traced, so no copy is needed."""
        return self

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Recorded as a conversion, which passes gradients; itself if the dtype is the same."""
        return self if np.dtype(dtype) == self.dtype else slot_of(self).to(dtype).array

    # Answers that would affect the path of the recorded function, or leave the program.
    def __bool__(self) -> bool:
        raise branch(slot_of(self))

    def item(self, *args: Any) -> Any:
        """Refuse with ProgramError: the number is not known yet."""
        raise refused("item()", slot_of(self))

    def tolist(self) -> Any:
        """Refuse with ProgramError: the numbers are not known yet."""
        raise refused("tolist()", slot_of(self))

    def __float__(self) -> float:
        raise refused("float()", slot_of(self))

    def __int__(self) -> int:
        raise refused("int()", slot_of(self))

    def __index__(self) -> int:
        raise refused("use as an index", slot_of(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ProgramError(
            "a value of a program cannot be written to as an array; write  x[...] = y  on the tensor."
        )


SHAPES_ONLY = {
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.can_cast,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
    np.full_like,
    np.may_share_memory,
    np.shares_memory,
}


def traced(value: Any, slot: Any) -> Any:
    """A Traced on the memory of this value, which belongs to the slot."""
    a = np.asarray(value).view(Traced)
    a.slot = slot
    return a


def slot_of(a: Any) -> Any:
    """The slot of a Traced. Raises an error if NumPy made the array without recording it."""
    if a.slot is not None:
        return a.slot
    raise ProgramError(
        "NumPy made an array of values that are only computed when the program runs. To fix it, use an "
        "operation of tensors in the place of the NumPy method."
    )


def recorder_among(things: Sequence[Any]) -> Any:
    """The recorder of the first Traced or Slot among the arguments of a NumPy function."""
    for thing in things:
        if hasattr(thing, "recorder"):  # a Slot
            return thing.recorder
        if isinstance(thing, Traced):
            return slot_of(thing).recorder
        if isinstance(thing, (tuple, list)):
            try:
                return recorder_among(thing)
            except LookupError:
                continue
    raise LookupError


def plain(thing: Any) -> Any:
    """The arguments of a NumPy function, with every Traced turned into an ordinary array."""
    if isinstance(thing, Traced):
        return np.asarray(thing.view(np.ndarray))
    if isinstance(thing, (tuple, list)):
        return type(thing)([plain(part) for part in thing])
    if isinstance(thing, dict):
        return {key: plain(part) for key, part in thing.items()}
    return thing


def refused(what: str, slot: Any) -> ProgramError:
    """The error for code that asks a slot for its value; `what` is the call, as "item()"."""
    name = slot.recorder.values[slot.index].name
    return ProgramError(
        f"{what} asks for a value, but nothing was computed: {'%' + str(slot.index) if name is None else name} "
        f"stands for a tensor of shape {slot.shape} in a program that is being recorded. To fix it, let "
        "the program return it, and call program(...) or program.run(...) to compute it. If the value decides what "
        "is recorded, compute it outside, and record again when it changes."
    )


def branch(slot: Any) -> ProgramError:
    """The error for an `if` or `while` on a slot whose value differs from run to run."""
    return ProgramError(
        "data-dependent branch: `if`, `while` or `and` on a tensor whose value differs from run to run. A "
        "program has one path, the one taken when it was recorded. To fix it, write the choice as a "
        "value, where(condition, a, b); or record one program for each branch, and again when the "
        "condition changes; or stay with eager tensors, which decide at each step."
    )
