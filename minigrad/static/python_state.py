"""What a step does in Python while it is recorded, and a program would not do again.

    k = int(place); queue[k] = x; place += 1     a number that is read and then changed
    agent.h = cell(x, agent.h)                   a tensor outside of modules that is read and replaced
    x + numpy.random.rand()                      a random number that is not minigrad's
    adam.t += 1; m / (1 - 0.9**adam.t)           a Python number that each call changes

Each run would use the same numbers, and nothing would tell. So these are refused. Whether a number
that changes matters, we learn from the programs of the next calls: they differ, or they do not. (A
flag changes only once:  if not self.is_set: self.is_set = True.) What a step decides without
changing it (a shape, a setting) is fixed in its program.
"""

import inspect
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodType, ModuleType

import numpy as np

from minigrad.core.errors import is_ours
from minigrad.core.shapes import Array
from minigrad.nn.module import Module
from minigrad.static.ir import Program, ProgramError, parts_in
from minigrad.static.slots import VALUES, Slot, as_stored
from minigrad.static.step_recorder import StepRecorder


class PythonState:
    """What a function can read outside of itself, and random generators, as they are before it is recorded.

    changed   after check(): a number outside of the function that is new or has changed, or an iterator or
              random generator that it may advance; None if there is none
    """

    def __init__(self, f: Callable[..., object]) -> None:
        self.f = f
        self.before, self.generators = _values_around(f), _generators()
        self.changed: str | None = None

    def check(self, recorder: StepRecorder) -> None:
        """Raise ProgramError if the function has changed something that a program would not change again."""
        recorder.check_numbers()
        after = _values_around(self.f)  # not kept: it would keep alive what the function has stored
        self._check_tensors(after, recorder)
        self.changed = next((name for name, x in after.items() if self._differs(name, x)), None)
        now = _generators()[
            -len(self.generators) :
        ]  # the step may have been the first to load numpy.random
        if now != self.generators:
            raise ProgramError(
                "the step draws random numbers of NumPy or Python, which would be the same in each run. To fix it, "
                "draw them with minigrad, or outside of the compiled function, and pass them as an argument."
            )

    def _differs(self, name: str, value: object) -> bool:
        """Is this value another number, text or flag than before? An iterator counts as one that is."""
        if value is ADVANCES or isinstance(value, VALUES):
            return value is ADVANCES
        before = self.before.get(name)
        return type(before) is not type(value) or before != value

    def _check_tensors(self, after: dict[str, object], recorder: StepRecorder) -> None:
        kept = {id(as_stored(value)) for value in after.values()}
        for name, value in self.before.items():
            tensor = as_stored(value)
            if isinstance(value, VALUES) and id(tensor) not in kept and recorder.has_read(tensor):
                raise ProgramError(
                    f"the step reads {name} from outside, and replaces it. The next run would read the same values "
                    "again. To fix it, make it an argument and a result of the step, an attribute of a module, or "
                    f"write  {name}.copy_(...)  inside a no_grad block."
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
    """The states of the global generators of NumPy, if it is loaded, and Python."""
    states: list[object] = []
    if "numpy.random" in sys.modules:
        _, keys, *rest = np.random.get_state()
        states += [keys.tolist(), rest]  # type: ignore[attr-defined]  # legacy=True gives a tuple
    return [*states, random.getstate()]


# In place of an iterator or a random generator, which gives something else in each call.
ADVANCES = object()
MANY = 1000  # numbers in longer lists are data


def _values_around(f: Callable[..., object]) -> dict[str, object]:
    """The numbers, texts, flags and tensors outside of a function that it can read, by the source that reads them."""
    found: dict[str, object] = {}
    known: set[int] = set()
    todo: list[tuple[str, object]] = [(getattr(f, "__name__", type(f).__name__), f)]
    while todo:
        name, x = todo.pop()
        if isinstance(x, (int, float, str, np.generic, *VALUES)):
            found[name] = x
        elif _advances(x):
            found[name] = ADVANCES
        elif id(x) not in known and len(known) < 100 * MANY:
            known.add(id(x))
            todo += _parts_of(name, x)
    return found


def _advances(x: object) -> bool:
    return isinstance(x, (Iterator, random.Random)) or type(x).__module__.startswith("numpy.random")


def _parts_of(name: str, x: object) -> Iterable[tuple[str, object]]:
    """What a Python object refers to, with the source that reads it; nothing for tensors, classes and libraries."""
    if isinstance(x, (dict, list, tuple)):
        items = x.items() if isinstance(x, dict) else enumerate(x)
        return [(f"{name}[{k!r}]", part) for k, part in items] if len(x) <= MANY else ()
    if isinstance(x, MethodType):
        return [(name.rpartition(".")[0] or name, x.__self__)]
    if isinstance(x, FunctionType):
        return () if is_ours[x.__code__.co_filename] else _outside_variables(x).items()
    if isinstance(x, (np.ndarray, type, ModuleType)) or not hasattr(x, "__dict__"):
        return ()
    ours = type(x).__module__.partition(".")[0] == "minigrad"
    if isinstance(x, Module):
        # The recorder knows the tensors that a module's attributes get.
        fields = ((k, part) for k, part in vars(x).items() if k[0] != "_" and k != "training")
        own = [(k, part) for k, part in fields if not isinstance(part, VALUES)]
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
