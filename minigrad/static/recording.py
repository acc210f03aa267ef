"""Recording: how a user records a program.

    record(f)(*examples)           runs f once, on Slots that stand for the examples
    placeholder(shape, name=...)   a Slot without a value, to write a program by hand
    program(outputs)               the program that was written with placeholders

A placeholder has no example value; stand-in values are used instead.

Read recorder.py first.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.data import as_array
from minigrad.core.memory import make
from minigrad.static.instruction import ProgramError
from minigrad.static.program import Program
from minigrad.static.recorder import Recorder
from minigrad.static.slot import Slot
from minigrad.static.traced import Traced


def record(f: Callable[..., Any]) -> Callable[..., Program]:
    """A function that runs f once on its arguments and returns what it did, as a Program.

    f          takes tensors, returns a tensor or several (a tuple or list)
    examples   tensors, arrays or numbers; their shapes and dtypes are frozen in the program

    Tensors that f uses without getting them as arguments (parameters of a model) are captured: their
    memory is read again in each run.

    Raises ProgramError if f asks for a value: `if x > 0`, x.item(), x.numpy().

    >>> import minigrad
    >>> program = record(lambda x, w: (x @ w).relu())(minigrad.ones(8, 4), minigrad.ones(4, 2))
    >>> print(program)
    %0  x                       (8, 4) float32
    %1  w                       (4, 2) float32
    %2  = matmul(%0, %1)        (8, 2) float32
    %3  = relu(%2)              (8, 2) float32
    return %3
    """

    def recording(*examples: Any) -> Program:
        recorder = Recorder()
        slots = [
            recorder.input(as_example(x), name)
            for x, name in zip(examples, input_names(f, len(examples)), strict=True)
        ]
        with recorder.watching():
            result = f(*slots)
        return finished(recorder, result)

    return recording


def as_example(x: Any) -> Any:
    """The array of a tensor, an array, or a number (as a tensor would hold it)."""
    if not isinstance(x, (np.ndarray, np.generic, make.Tensor)):
        return as_array(x)
    return x.array if isinstance(x, make.Tensor) else x


def input_names(f: Any, n: int) -> list[str | None]:
    """The names of a function's first n parameters, as names of inputs."""
    try:
        names = [
            p.name
            for p in inspect.signature(f).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
    except (TypeError, ValueError):
        names = []
    names = names[:n]
    return [*names, *(f"input{k}" for k in range(len(names), n))]


def finished(recorder: Recorder, result: Any) -> Program:
    """The program whose outputs are these Slots (or constants)."""
    single = not isinstance(result, (tuple, list))
    results = [result] if single else list(result)
    for r in results:
        if not isinstance(r, (Slot, Traced, make.Tensor, np.ndarray, np.generic, int, float)):
            raise ProgramError(
                f"a recorded function returns tensors, but this one returned {type(r).__name__}. To fix it, "
                "return a tensor, or a tuple of tensors."
            )
    return recorder.program([recorder.number(r) for r in results], single)


_writing: list[Recorder] = []  # the program that placeholders belong to


def placeholder(
    shape: int | Sequence[int] = (), dtype: Any = None, name: str | None = None
) -> Slot:
    """A value without data: compute with it, then make a program(...) from the results.

    shape   the shape of the tensor that it stands for
    dtype   the dtype of that tensor; by default the default dtype
    name    its name as an argument of program.run(...)

    Asking for its value raises an error: nothing is computed before the program runs.

    >>> import minigrad
    >>> from minigrad import static
    >>> x, y = static.placeholder((2,), name="x"), static.placeholder((2,), name="y")
    >>> p = static.program((x * y).sum())
    >>> p.run(x=minigrad.tensor([1.0, 2.0]), y=minigrad.tensor([3.0, 4.0]))
    tensor(11.)
    >>> g = p.gradient(wrt=["x"])
    >>> g.run(x=minigrad.tensor([1.0, 2.0]), y=minigrad.tensor([3.0, 4.0]))
    tensor([3., 4.])
    """
    taken = [_writing[-1].values[i].name for i in _writing[-1].inputs] if _writing else []
    if not _writing or (name is not None and name in taken):  # name used twice: start over
        _writing[:] = [Recorder()]
    recorder = _writing[-1]
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    return recorder.input(stand_in(shape, dtype), name or f"input{len(recorder.inputs)}")


def stand_in(shape: tuple[int, ...], dtype: Any) -> Any:
    """Values for finding shapes: a matrix that has an inverse, and indices in range."""
    if dtype.kind != "f":
        return np.zeros(shape, dtype)
    a = np.full(shape, 0.5, dtype)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        a[...] = np.eye(shape[-1], dtype=dtype) + dtype.type(0.125)
    return a


def program(outputs: Any) -> Program:
    """The program that computes these results of placeholders.

    The next placeholder starts another program.

    Raises ProgramError if the results were not computed from placeholders.
    """
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    if not isinstance(first, Slot):
        raise ProgramError(
            "static.program(...) takes what was computed from placeholders, and this was not. To fix it, "
            "begin with  x = static.placeholder(shape, name='x')."
        )
    if _writing and _writing[-1] is first.recorder:
        _writing.pop()
    return finished(first.recorder, outputs)
