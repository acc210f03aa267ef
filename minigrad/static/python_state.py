"""What a step does in Python while it is recorded, and a program would not do again.

    k = int(place); queue[k] = x; place += 1     a number that is read and then changed
    agent.h = cell(x, agent.h)                   a tensor outside of modules that is read and replaced
    x + numpy.random.rand()                      a random number that is not minigrad's
    adam.t += 1; m / (1 - 0.9**adam.t)           a Python number that each call changes

Each run would use the same numbers, and nothing would tell. So these are refused. Whether a number
that changes matters, we learn from the programs of the next calls: they differ, or they do not. (A
flag changes only once:  if not self.is_set: self.is_set = True.)

What changes between the calls, such as `beta` when it is annealed from epoch to epoch, is another
matter: the Guard of a program notices it, and the step is recorded again.
"""

import dis
import functools
import inspect
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import getitem, is_
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.errors import is_ours
from minigrad.core.shapes import Array
from minigrad.nn.module import Module
from minigrad.static.ir import Program, ProgramError, parts_in
from minigrad.static.slots import VALUES, Slot, as_stored
from minigrad.static.step_recorder import StepRecorder


class PythonState:
    """What a function can read outside of itself, and random generators, as they are before it is recorded.

    guard     after check(): what the function reads and has not changed
    changed   after check(): a number outside of the function that is new or has changed, or an iterator or
              random generator that it may advance; None if there is none
    """

    def __init__(self, f: Callable[..., object]) -> None:
        self.f = f
        self.variables, self.names = _variables_around(f)
        self.before, self.generators = _values_of(self.variables), _generators()
        self.changed: str | None = None

    def check(self, recorder: StepRecorder) -> None:
        """Raise ProgramError if the function has changed something that a program would not change again."""
        recorder.check_numbers()
        # Not kept: they would keep alive what the function has stored.
        variables, _ = _variables_around(self.f)
        after = _values_of(variables)
        self._check_tensors(after, recorder)
        read = [v for v in self.variables if v.is_read(self.names)]
        values = {v.name: v.value for v in variables}
        same = [v for v in read if _alike(v.value, values.get(v.name))]
        self.guard = Guard([*same, *_parameters_of(self.variables)])
        self.changed = next((name for name, x in after.items() if self._differs(name, x)), None)
        # The step may have been the first to load numpy.random, whose state comes first.
        now = _generators()[-len(self.generators) :]
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


class OutsideVariable(NamedTuple):
    """Something outside of a function that it can read, and where it is found: read(place, key).

    name    the source that reads it
    read    getitem for a global or an entry, getattr for an attribute or the cell of a closure
    entry   is it an entry of a list, tuple or dict?
    """

    name: str
    value: Any
    place: Any = None
    key: Any = None
    read: Callable[[Any, Any], Any] = getitem
    entry: bool = False

    def is_read(self, names: set[str]) -> bool:
        """May the function read it? Of objects and large containers, these are the parts that its code names."""
        fixed = (Slot, ModuleType, type, BuiltinFunctionType)
        if self.place is None or isinstance(self.value, fixed):
            return False
        if self.key in names or self.key == CONTENT or isinstance(self.value, Module):
            return True
        return self.entry and len(self.place) <= FEW and isinstance(self.value, PLAIN)


class Guard:
    """What a recorded function has read outside of itself: its program holds as long as this is the same.

    changed   the name of the first variable that is not
    """

    def __init__(self, variables: Sequence[OutsideVariable]) -> None:
        self.variables = variables
        found, had = ([v for v in variables if v.read is read] for read in (getitem, getattr))
        self.places, self.objects = [v.place for v in found], [v.place for v in had]
        self.keys, self.names = [v.key for v in found], [v.key for v in had]
        self.values, self.contents = [v.value for v in found], [v.value for v in had]
        self.changed: str | None = None

    def holds(self) -> bool:
        """Are they the same objects as during recording, or equal numbers or texts? (It takes 50 ns for each.)"""
        try:
            if all(map(is_, map(getitem, self.places, self.keys), self.values)) and (
                not self.objects
                or all(map(is_, map(getattr, self.objects, self.names), self.contents))
            ):
                return True
            changed = (v for v in self.variables if not _alike(v.read(v.place, v.key), v.value))
            self.changed = next((v.name for v in changed), None)
        except (LookupError, AttributeError, ValueError):  # one of them is gone
            return False
        return self.changed is None


CONTENT = "cell_contents"
PLAIN = (int, float, complex, str, np.generic, type(None))
FEW = 16  # the entries of larger containers are data, unless the code names them


def _alike(x: object, y: object) -> bool:
    return x is y or (type(x) is type(y) and isinstance(x, PLAIN) and x == y)


def _names_in(code: CodeType) -> set[str]:
    """The names and texts in the code of a function, and of the functions in it."""
    texts = {x for x in code.co_consts if isinstance(x, str)}
    inner = (_names_in(x) for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(code.co_freevars, texts, *inner)


def _globals_in(code: CodeType) -> set[str]:
    """The names of global variables in the code of a function, and of the functions in it."""
    inner = (_globals_in(x) for x in code.co_consts if isinstance(x, CodeType))
    return {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}.union(*inner)


def _outside_variables(f: FunctionType) -> Iterator[OutsideVariable]:
    """The variables outside of a function that its code names."""
    for name in _globals_in(f.__code__) & f.__globals__.keys():
        yield OutsideVariable(name, f.__globals__[name], f.__globals__, name)
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has no value yet
            yield OutsideVariable(name, cell.cell_contents, cell, CONTENT, getattr)


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


def _variables_around(f: Callable[..., object]) -> tuple[list[OutsideVariable], set[str]]:
    """What a function can read outside of itself, also in objects; and the names in all code that it can call."""
    found: list[OutsideVariable] = []
    names: set[str] = set()
    known: set[int] = set()
    todo = [OutsideVariable(getattr(f, "__name__", type(f).__name__), f)]
    methods: list[FunctionType] = []
    while todo:
        found.append(todo.pop())
        name, x = found[-1].name, found[-1].value
        if callable(x) and not isinstance(x, type):
            x = inspect.unwrap(x)  # of what no_grad() or compile() has made of a function
        if not _is_value(x) and id(x) not in known and len(known) < 100 * MANY:
            known.add(id(x))
            if isinstance(x, FunctionType) and not is_ours[x.__code__.co_filename]:
                names |= _names_in(x.__code__)
            todo += _parts_of(name, x)
            methods += _methods_of(x)
        if not todo:
            called = [
                m
                for m in methods
                if id(m) not in known and (m.__name__ in names or m.__name__ in UNNAMED)
            ]
            todo = [OutsideVariable(m.__qualname__, m) for m in called]
    return found, names


# Methods that are called without their names.
UNNAMED = frozenset(
    "forward __call__ __getitem__ __getattr__ __iter__ __len__ __enter__ __exit__".split()
)


def _methods_of(x: object) -> list[FunctionType]:
    """The methods of an object whose class is not a library's."""
    if isinstance(x, (FunctionType, ModuleType, type)) or not hasattr(x, "__dict__"):
        return []
    found = [m for c in type(x).__mro__ for m in vars(c).values() if isinstance(m, FunctionType)]
    return [m for m in found if not is_ours[m.__code__.co_filename]]


def _is_value(x: object) -> bool:
    """Is it a number, a text, a flag or a tensor, or does it give something else in each call?"""
    return isinstance(x, (int, float, str, np.generic, *VALUES)) or _advances(x)


def _values_of(variables: Iterable[OutsideVariable]) -> dict[str, object]:
    """The numbers, texts, flags and tensors among the variables, by the source that reads them."""
    return {
        v.name: ADVANCES if _advances(v.value) else v.value for v in variables if _is_value(v.value)
    }


def _advances(x: object) -> bool:
    return isinstance(x, (Iterator, random.Random)) or type(x).__module__.startswith("numpy.random")


def _parts_of(name: str, x: Any) -> Iterable[OutsideVariable]:
    """What a Python object refers to; nothing for tensors, classes and libraries."""
    if isinstance(x, (dict, list, tuple)):
        items = x.items() if isinstance(x, dict) else enumerate(x)
        some = items if len(x) <= MANY else ()
        return [OutsideVariable(f"{name}[{k!r}]", part, x, k, entry=True) for k, part in some]
    if isinstance(x, MethodType):
        return [
            OutsideVariable(name.rpartition(".")[0] or name, x.__self__),
            OutsideVariable(name, x.__func__),
        ]
    if isinstance(x, functools.partial):
        return [OutsideVariable(name, part) for part in (x.func, x.args, x.keywords)]
    if isinstance(x, FunctionType):
        return () if is_ours[x.__code__.co_filename] else _outside_variables(x)
    if isinstance(x, (np.ndarray, ModuleType)) or not hasattr(x, "__dict__"):
        return ()
    ours = _is_ours(x if isinstance(x, type) else type(x))
    if isinstance(x, type):
        return () if ours else _attributes(name, x, _plain_ones(x))
    own = _attributes(name, x, vars(x))
    if isinstance(x, Module):
        children = [OutsideVariable(f"{name}.{k}", m, vars(x), k) for k, m in x._modules.items()]
        own = [v for v in own if _is_setting(v, ours)] + children
    elif ours:
        return ()
    classes = [c for c in type(x).__mro__ if not _is_ours(c)]
    return own + _attributes(
        name, x, {k: v for c in classes for k, v in _plain_ones(c).items() if k not in vars(x)}
    )


def _parameters_of(variables: Iterable[OutsideVariable]) -> Iterator[OutsideVariable]:
    """The parameters of the modules among the variables. A layer may get a new one, which the program must read."""
    modules = {id(v.value): v for v in variables if isinstance(v.value, Module)}
    for v in modules.values():
        for k, parameter in v.value._parameters.items():
            yield OutsideVariable(f"{v.name}.{k}", parameter, vars(v.value), k)


def _attributes(name: str, x: object, values: Mapping[str, object]) -> list[OutsideVariable]:
    return [OutsideVariable(f"{name}.{k}", value, x, k, getattr) for k, value in values.items()]


def _plain_ones(cls: type) -> dict[str, object]:
    """The numbers and texts in a class, which its objects have as well, until they get their own."""
    return {
        k: value for k, value in vars(cls).items() if k[:2] != "__" and isinstance(value, PLAIN)
    }


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "minigrad"


def _is_setting(attribute: OutsideVariable, ours: bool) -> bool:
    """May this attribute of a module change? (The recorder knows tensors.) Of our modules, p, eps and the like may."""
    name, value = attribute.key, attribute.value
    if ours:
        return isinstance(value, float)
    return name[0] != "_" and name != "training" and not isinstance(value, VALUES)


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
