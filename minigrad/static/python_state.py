"""What a step does in Python while it is recorded, and a program would not do again.

    k = int(place); queue[k] = x; place += 1     a number that is read and then changed
    h = cell(x, h)                               a variable from outside that is read and assigned
    agent.h = cell(x, agent.h)                   what an earlier call has stored outside of modules
    x + numpy.random.rand()                      a random number that is not minigrad's
    adam.t += 1; m / (1 - 0.9**adam.t)           a Python number that each call changes

Each run would use the same numbers, and nothing would tell. So these are refused. Whether a number
that changes matters, we learn from the programs of the next calls: they differ, or they do not. (A
flag changes only once:  if not self.is_set: self.is_set = True.) What a step decides without
changing it (a shape, a setting) is fixed in its program.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodType, ModuleType

import numpy as np

from minigrad.core.errors import is_ours
from minigrad.core.shapes import Array
from minigrad.nn.module import Module
from minigrad.static.ir import Program, ProgramError, parts_in
from minigrad.static.slots import VALUES, Slot
from minigrad.static.step_recorder import StepRecorder


class PythonState:
    """Variables from outside and random generators, as they are before a function is recorded."""

    def __init__(self, f: Callable[..., object]) -> None:
        self.f = f
        self.variables, self.generators = _outside_variables(f), _generators()
        self.numbers = _numbers_around(f)

    def changed(self) -> str | None:
        """A number outside of the function that is new or has changed, or an iterator that it may advance."""
        for name, number in _numbers_around(self.f).items():
            before = self.numbers.get(name)
            if number is ADVANCES or type(before) is not type(number) or before != number:
                return name
        return None

    def check(self, recorder: StepRecorder) -> None:
        """Raise ProgramError if the function has changed something that a program would not change again."""
        recorder.check_numbers()
        self._check_variables(recorder)
        if _generators() != self.generators:
            raise ProgramError(
                "the step draws random numbers of NumPy or Python, which would be the same in each run. To fix it, "
                "draw them with minigrad, or outside of the compiled function, and pass them as an argument."
            )

    def _check_variables(self, recorder: StepRecorder) -> None:
        for name, value in _outside_variables(self.f).items():
            before, kept = self.variables.get(name), [*parts_in(value)]
            assigned = value is not before and any(isinstance(x, Slot) for x in kept)
            replaced = [x for x in parts_in(before) if not any(x is y for y in kept)]
            if assigned and any(map(recorder.has_read, replaced)):
                raise ProgramError(
                    f"the step reads the variable {name} from outside, and assigns it. The next run would read the "
                    "same values again. To fix it, make it an argument and a result of the step, an attribute of a "
                    f"module, or write  {name}.copy_(...)  inside a no_grad block."
                )

    def check_stored(self, recorder: StepRecorder, kept: Sequence[object]) -> None:
        """Raise ProgramError if the function reads what an earlier call has stored, and stores something again."""
        if recorder.reread and any(isinstance(x, Slot) for x in kept):
            raise ProgramError(
                "the step reads what the call before has computed and stored in a plain Python object (an attribute, a "
                "list, a dict), and stores a new value there. Each run of the program would read the same one. To fix "
                "it, make it an argument and a result of the step, an attribute of a module, or a tensor that the step "
                "writes to:  state.copy_(...)  inside a no_grad block."
            )


def _outside_variables(f: Callable[..., object]) -> dict[str, object]:
    """The values of the variables outside of a function that its code names."""
    try:
        found = inspect.getclosurevars(inspect.unwrap(f))
    except (TypeError, ValueError):  # not a Python function; or one of them has no value yet
        return {}
    return {**found.globals, **found.nonlocals}


def _generators() -> list[object]:
    """The states of the global generators of NumPy and Python, if they are loaded."""
    states: list[object] = []
    if "numpy.random" in sys.modules:
        _, keys, *rest = np.random.get_state()
        states += [keys.tolist(), rest]  # type: ignore[attr-defined]  # legacy=True gives a tuple
    if "random" in sys.modules:
        states.append(sys.modules["random"].getstate())
    return states


ADVANCES = object()  # in place of an iterator, which has another element in each call
MANY = 1000  # numbers in longer lists are data


def _numbers_around(f: Callable[..., object]) -> dict[str, object]:
    """The numbers, texts and flags that a function can read outside of itself, by the source that reads them."""
    found: dict[str, object] = {}
    known: set[int] = set()
    todo: list[tuple[str, object]] = [(getattr(f, "__name__", type(f).__name__), f)]
    while todo:
        name, x = todo.pop()
        if isinstance(x, (int, float, str, np.generic)):
            found[name] = x
        elif isinstance(x, Iterator):
            found[name] = ADVANCES
        elif id(x) not in known and len(known) < 100 * MANY:
            known.add(id(x))
            todo += _parts_of(name, x)
    return found


def _parts_of(name: str, x: object) -> Iterable[tuple[str, object]]:
    """What a Python object refers to, with the source that reads it; nothing for tensors, classes and libraries."""
    if isinstance(x, (dict, list, tuple)):
        items = x.items() if isinstance(x, dict) else enumerate(x)
        return [(f"{name}[{k!r}]", part) for k, part in items] if len(x) <= MANY else ()
    if isinstance(x, MethodType):
        return [(name.rpartition(".")[0] or name, x.__self__)]
    if isinstance(x, FunctionType):
        return () if is_ours[x.__code__.co_filename] else _outside_variables(x).items()
    if isinstance(x, (*VALUES, np.ndarray, type, ModuleType)) or not hasattr(x, "__dict__"):
        return ()
    ours = type(x).__module__.partition(".")[0] == "minigrad"
    if isinstance(x, Module):
        own = [(k, part) for k, part in vars(x).items() if k[0] != "_" and k != "training"]
        parts = [*x._modules.items()] if ours else own + [*x._modules.items()]
        return [(f"{name}.{k}", part) for k, part in parts]
    return () if ours else [(f"{name}.{k}", part) for k, part in vars(x).items()]


def is_same(program: Program, other: Program) -> bool:
    """Do two programs compute the same from the same constants and captured values?"""
    (text, arrays), (other_text, others) = _contents(program), _contents(other)
    return (
        text == other_text
        and len(arrays) == len(others)
        and all(x is y or _are_equal(x, y) for x, y in zip(arrays, others, strict=True))
    )


def _contents(program: Program) -> tuple[list[str], list[Array]]:
    """What a program does, as text, and the arrays in it: constants, captured values and settings."""
    text = [str(x) for x in (*program.instructions, *program.values, program.outputs)]
    known = program.examples | {i: t.array for i, t in program.captured.items()}
    settings = [part for line in program.instructions for part in parts_in(line.settings)]
    arrays = [a for i, a in known.items() if i not in program.inputs]
    return text, arrays + [part for part in settings if isinstance(part, np.ndarray)]


def _are_equal(x: Array, y: Array) -> bool:
    return np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind in "fc")
