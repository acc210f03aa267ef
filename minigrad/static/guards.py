"""What a step reads outside of itself, and the guard that notices when it has changed.

    x * beta            a global variable, or one of an enclosing function
    x * settings.beta   an attribute, also of a class or a module; an entry of a dict or a list
    net(x)              a model: its layers and their parameters

`surroundings` finds what the code of a function can reach. A Guard keeps those that the code names, and
compares them before each run of the program: they must be the same objects, or equal numbers and texts.
"""

import dis
import functools
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from operator import getitem, is_
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.errors import is_ours
from minigrad.nn.module import Module
from minigrad.optim.optimizer import Optimizer
from minigrad.static.slots import VALUES, Slot


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
        """May the function read it? Of objects and large containers, these are the parts that its code names.

        Layers of ours read their settings, such as the p of Dropout, in code of ours.
        """
        fixed = (Slot, ModuleType, type, BuiltinFunctionType)
        if self.place is None or isinstance(self.value, fixed):
            return False
        if self.key in names or self.key == CONTENT or isinstance(self.value, Module):
            return True
        if isinstance(self.place, Module) and _is_ours(type(self.place)):
            return True
        return self.entry and len(self.place) <= FEW and isinstance(self.value, PLAIN)


class Guard:
    """What a recorded function has read outside of itself: its program holds as long as this is the same.

    containers   dicts, which must have as many entries as during recording
    changed      the name of the first variable that is not the same
    """

    def __init__(
        self, variables: Sequence[OutsideVariable], containers: Sequence[Sized] = ()
    ) -> None:
        self.variables = variables
        self.containers, self.lengths = containers, list(map(len, containers))
        found, had = ([v for v in variables if v.read is read] for read in (getitem, getattr))
        self.places, self.objects = [v.place for v in found], [v.place for v in had]
        self.keys, self.names = [v.key for v in found], [v.key for v in had]
        self.values, self.contents = [v.value for v in found], [v.value for v in had]
        self.changed: str | None = None

    def holds(self) -> bool:
        """Are they the same objects as during recording, or equal numbers or texts? (It takes 50 ns for each.)"""
        if list(map(len, self.containers)) != self.lengths:
            return False
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
MANY = 1000  # numbers in longer lists are data
PLAIN = (int, float, complex, str, np.generic, type(None))
FEW = 16  # the entries of larger containers are data, unless the code names them


def _alike(x: object, y: object) -> bool:
    return x is y or (type(x) is type(y) and isinstance(x, PLAIN) and x == y)


def _names_in(code: CodeType) -> set[str]:
    """The names and texts in the code of a function, and of the functions in it."""
    texts = {x for x in code.co_consts if isinstance(x, str)}
    inner = (_names_in(x) for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(code.co_freevars, texts, *inner)


def _codes_in(code: CodeType) -> list[CodeType]:
    """The code of a function, and of the functions in it."""
    inner = [_codes_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return sum(inner, [code])


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


class Surroundings(NamedTuple):
    """What a function can read outside of itself, also in objects; all code that it can call, and the names in it."""

    variables: list[OutsideVariable]
    names: set[str]
    codes: list[CodeType]

    def only_counts(self, v: OutsideVariable) -> bool:
        """Is this number only updated, as in  calls += 1,  and not read anywhere else?

        An update loads and stores its name once; that of an entry, n["calls"] += 1, loads the key.
        """
        if v.place is None:
            return False
        key = v.name if v.key == CONTENT else v.key
        lines = [i for code in self.codes for i in dis.get_instructions(code) if i.argval == key]
        lines = [i for i in lines if type(i.argval) is type(key)]
        loads, stores = (sum(i.opname.startswith(x) for i in lines) for x in ("LOAD", "STORE"))
        return loads <= (1 if v.entry else stores)

    def guard(self, now: "Surroundings") -> Guard:
        """A guard for what the function reads, if it is the same now, for modules, and for the state of optimizers."""
        values = {v.name: v.value for v in now.variables}
        read = [v for v in self.variables if v.is_read(self.names)]
        modules = {id(v.value): v for v in self.variables if isinstance(v.value, Module)}
        parameters = [
            OutsideVariable(f"{v.name}.{k}", p, vars(v.value), k)
            for v in modules.values()
            for k, p in v.value._parameters.items()
        ]
        hooked = [(v.name, v.value, "_call_hooks") for v in modules.values()]
        hooked += [(v.name, v.value.node, "plan") for v in parameters if v.value is not None]
        hooks = [
            OutsideVariable(f"hooks of {name}", getattr(x, key), x, key, getattr)
            for name, x, key in hooked
            if x is not None
        ]
        containers: list[Sized] = [v.value._registered_kinds for v in modules.values()]
        containers += [d for v in modules.values() for d in (v.value._call_hooks or {}).values()]
        containers += [v.value.state for v in self.variables if isinstance(v.value, Optimizer)]
        same = [v for v in read if _alike(v.value, values.get(v.name))]
        return Guard(same + parameters + hooks, containers)


def surroundings(f: Callable[..., object]) -> Surroundings:
    """What a function can read outside of itself, at this moment."""
    found: list[OutsideVariable] = []
    names: set[str] = set()
    codes: list[CodeType] = []
    known: set[int] = set()
    todo = [OutsideVariable(getattr(f, "__name__", type(f).__name__), f)]
    methods: list[FunctionType] = []
    while todo:
        found.append(todo.pop())
        name, x = found[-1].name, found[-1].value
        if callable(x) and not isinstance(x, type):
            x = inspect.unwrap(x)  # of what no_grad() or compile() has made of a function
        if not is_value(x) and id(x) not in known and len(known) < 100 * MANY:
            known.add(id(x))
            if isinstance(x, FunctionType) and not is_ours[x.__code__.co_filename]:
                names |= _names_in(x.__code__)
                codes += _codes_in(x.__code__)
            todo += _parts_of(name, x)
            methods += _methods_of(x)
        if not todo:
            called = [
                m
                for m in methods
                if id(m) not in known and (m.__name__ in names or m.__name__ in UNNAMED)
            ]
            todo = [OutsideVariable(m.__qualname__, m) for m in called]
    return Surroundings(found, names, codes)


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


def is_value(x: object) -> bool:
    """Is it a number, a text, a flag or a tensor, or does it give something else in each call?"""
    return isinstance(x, (int, float, str, np.generic, *VALUES)) or advances(x)


def advances(x: object) -> bool:
    """Does it give something else in each call? It is an iterator, or a random generator."""
    return isinstance(x, (Iterator, random.Random)) or type(x).__module__.startswith("numpy.random")


def _parts_of(name: str, x: Any) -> Iterable[OutsideVariable]:
    """What a Python object refers to; nothing for tensors, and what is minigrad's or in a library."""
    if isinstance(x, (dict, list, tuple)):
        items = x.items() if isinstance(x, dict) else enumerate(x)
        some = items if len(x) <= MANY else ()
        return [
            OutsideVariable(f"{name}[{_as_key(k, n)}]", part, x, k, entry=True)
            for n, (k, part) in enumerate(some)
        ]
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
    elif isinstance(x, Optimizer):  # without a place: the program reads its settings in each run
        groups = enumerate(x.param_groups)
        settings = [
            (f"{name}.param_groups[{k}][{s!r}]", v) for k, g in groups for s, v in g.items()
        ]
        return [OutsideVariable(setting, v) for setting, v in settings if isinstance(v, PLAIN)]
    elif ours:
        return ()
    of_classes: dict[str, object] = {}
    for c in reversed(type(x).__mro__):  # a class overrides its bases
        of_classes |= {} if _is_ours(c) else _plain_ones(c)
    inherited = {k: value for k, value in of_classes.items() if k not in vars(x)}
    return own + _attributes(name, x, inherited)


def _as_key(k: object, n: int) -> str:
    """The text of the n-th key of a dict; a tensor, as in velocity[p], would be printed with all its numbers."""
    return f"<{type(k).__name__} {n}>" if isinstance(k, VALUES) else repr(k)


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
