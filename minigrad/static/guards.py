"""What a step reads outside of itself, and the guard that notices when it has changed.

    x * beta            a global variable, or one of an enclosing function
    x * settings.beta   an attribute, also of a class or a module; an entry of a dict or a list
    net(x)              a model: its layers, their settings, parameters, buffers and hooks

`surroundings` finds what the code of a function can reach. A Guard keeps those that the code names, and
compares them before each run of the program: they must be the same objects, or equal numbers and texts.
Lists, dicts and objects must have as many entries as before: cfg.get("gain", 1.0), getattr(s, "gain", 1.0).

Left out: the values of lists and arrays with more than 1000 entries, which are taken for data; names that are
computed, as in getattr(s, key); methods of a class that are replaced; and what library code reads, such as os.environ.
"""

import dis
import functools
import inspect
import random
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from itertools import chain, repeat
from operator import getitem, is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.errors import is_ours
from minigrad.core.hooks import Hooked
from minigrad.core.tensor import Tensor
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

    def write(self, value: object) -> None:
        """Give it another value."""
        if self.read is getitem:
            self.place[self.key] = value
        else:
            setattr(self.place, self.key, value)

    def is_read(self, names: set[str], read: set[int]) -> bool:
        """May the function read it? Of objects, these are the parts that its code names; of what it reads, the entries.

        Layers of ours read their settings, such as the p of Dropout, in code of ours.

        read   the ids of the variables that it may read, of those that come before this one
        """
        if self.place is None or isinstance(self.value, (Slot, ModuleType)):
            return False
        if self.entry or self.read in (contents_of, length_of):
            return id(self.place) in read
        if self.key in names or self.key in UNNAMED_PARTS or isinstance(self.value, Module):
            return True
        return isinstance(self.place, Module) and _is_ours(type(self.place))


class Guard:
    """What a recorded function has read outside of itself: its program holds as long as this is the same.

    changed   the name of the first variable that is not the same
    """

    def __init__(self, variables: Sequence[OutsideVariable]) -> None:
        self.variables = variables
        counted = [v for v in variables if v.read is length_of]
        self.sized, self.lengths = [_sized(v.place) for v in counted], [v.value for v in counted]
        found, had = ([v for v in variables if v.read is read] for read in (getitem, getattr))
        self.copied = [v for v in variables if v.read is contents_of]
        self.places, self.objects = [v.place for v in found], [v.place for v in had]
        self.keys, self.names = [v.key for v in found], [v.key for v in had]
        self.values, self.contents = [v.value for v in found], [v.value for v in had]
        self.changed: str | None = None

    def holds(self) -> bool:
        """Are they the same objects as during recording, or equal numbers or texts? (It takes 50 ns for each.)"""
        try:
            if (
                list(map(len, self.sized)) == self.lengths
                and all(map(is_, map(getitem, self.places, self.keys), self.values))
                and all(map(is_, map(getattr, self.objects, self.names), self.contents))
                and all(contents_of(v.place) == v.value for v in self.copied)
            ):
                return True
            changed = (v for v in self.variables if not is_alike(v.read(v.place, v.key), v.value))
            self.changed = next((v.name for v in changed), None)
        except (LookupError, AttributeError, ValueError):  # one of them is gone
            return False
        return self.changed is None


CONTENT = "cell_contents"
UNNAMED_PARTS = (CONTENT, "__defaults__", "__kwdefaults__")  # of functions
MANY = 1000  # numbers in longer lists are data
PLAIN = (int, float, complex, str, bytes, frozenset, np.generic, type(None))
CONTAINERS = (Mapping, list, tuple, deque)


def contents_of(x: Any, _: object = None) -> bytes | frozenset[object]:
    """The entries of an array or a set, to compare them.

    >>> contents_of({1, 2})
    frozenset({1, 2})
    """
    return x.tobytes() if isinstance(x, np.ndarray) else frozenset(x)


def length_of(x: object, _: object = None) -> int:
    """How many entries or attributes has a container or an object?

    >>> length_of({"beta": 0.5})
    1
    """
    return len(_sized(x))


def _sized(x: object) -> Sized:
    return x if isinstance(x, CONTAINERS) else vars(x)


def is_alike(x: object, y: object) -> bool:
    """Are they the same object, or equal numbers or texts?"""
    return x is y or (type(x) is type(y) and isinstance(x, PLAIN) and x == y)


def _is_method(i: dis.Instruction) -> bool:
    """Does this instruction load a method to call it? (From Python 3.12 on, it is a LOAD_ATTR.)"""
    return i.opname == "LOAD_METHOD" or (i.opname == "LOAD_ATTR" and "NULL|self" in i.argrepr)


def _adds(code: CodeType, name: object) -> bool:
    """Is each number that the code stores under this name a sum or a difference, as in  calls += 1?"""
    last = ""
    for i in dis.get_instructions(code):
        is_store = i.opname in ("STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL") and i.argval == name
        if is_store and last not in ("+", "-", "+=", "-="):
            return False
        if not i.opname.startswith(("LOAD", "SWAP", "COPY", "EXTENDED_ARG")):
            last = i.argrepr if i.opname == "BINARY_OP" else ""
    return True


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


def _outside_variables(f_name: str, f: FunctionType) -> Iterator[OutsideVariable]:
    """The variables outside of a function that its code names, its defaults and its attributes."""
    for name in _globals_in(f.__code__) & f.__globals__.keys():
        yield OutsideVariable(name, f.__globals__[name], f.__globals__, name)
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has no value yet
            yield OutsideVariable(name, cell.cell_contents, cell, CONTENT, getattr)
    for key in UNNAMED_PARTS[1:]:
        if getattr(f, key):
            yield OutsideVariable(f"{f_name}.{key}", getattr(f, key), f, key, getattr)
    yield from _attributes(f_name, f, vars(f))


class Surroundings(NamedTuple):
    """What a function can read outside of itself, also in objects; all code that it can call, and the names in it."""

    variables: list[OutsideVariable]
    names: set[str]
    codes: list[CodeType]

    def only_counts(self, v: OutsideVariable) -> bool:
        """Is this number only updated, as in  calls += 1,  and not read anywhere else?

        An update loads and stores its name once; that of an entry, n["calls"] += 1, loads the key.
        """
        if v.place is None or v.read is contents_of:
            return False
        key = v.name if v.key == CONTENT else v.key
        is_attribute = v.read is getattr and v.key != CONTENT
        loads, stores = self._how_often(key, is_attribute)
        return loads <= (1 if v.entry else stores) and all(map(_adds, self.codes, repeat(key)))

    def loads(self, name: str) -> bool:
        """Does the code read an attribute of this name, or does it at most store it?"""
        return self._how_often(name, is_attribute=True)[0] > 0

    def _how_often(self, key: object, is_attribute: bool) -> tuple[int, int]:
        """How often the code loads and stores what has this name or key, but for methods, as in  optimizer.step()."""
        lines = [i for code in self.codes for i in dis.get_instructions(code) if i.argval == key]
        lines = [i for i in lines if type(i.argval) is type(key) and not _is_method(i)]
        lines = [i for i in lines if i.opname.endswith("_ATTR") or not is_attribute]
        loads, stores = (sum(i.opname.startswith(x) for i in lines) for x in ("LOAD", "STORE"))
        return loads, stores

    def guard(
        self, now: "Surroundings", assigned: Container[tuple[int, str]], growing: Container[int]
    ) -> Guard:
        """A guard for what the function reads, if it is the same now, for modules, and for optimizers.

        assigned   ids of modules, and names of attributes that the function has assigned
        growing    ids of lists to which it has appended
        """
        values = {v.name: v.value for v in now.variables}
        read: set[int] = set()
        same = []
        for v in self.variables:
            if v.place is None or v.is_read(self.names, read):
                read.add(id(v.value))
                is_fixed = v.place is not None and id(v.place) not in growing
                if is_fixed and is_alike(v.value, values.get(v.name)):
                    same.append(v)
        for v in {id(v.value): v for v in self.variables}.values():
            if isinstance(v.value, Module):
                tensors = _tensors_of(v.name, v.value)
                same += [t for t in tensors if (id(v.value), t.key) not in assigned]
                same += _attributes(v.name, v.value, {"_call_hooks": v.value._call_hooks})
                same += map(_count, [v.value._registered_kinds, *_hooks_of(v.value)])
            elif isinstance(v.value, Optimizer):
                own = {"state": v.value.state, "param_groups": v.value.param_groups}
                same += _attributes(v.name, v.value, own)
                if "param_groups" in self.names:
                    same += _settings_of(v.name, v.value)
                params = [group["params"] for group in v.value.param_groups]
                same += map(_count, [*own.values(), *params])
        for name, t in [(v.name, v.value) for v in same if isinstance(v.value, Tensor)]:
            if t.node is not None:
                same += _attributes(f"hooks of {name}", t.node, {"plan": t.node.plan})
            elif t._kept_grad is not None:  # of a parameter that was frozen later
                same += _attributes(name, t, {"_kept_grad": t._kept_grad})
        return Guard(same)


def surroundings(f: Callable[..., object], arguments: Iterable[object] = ()) -> Surroundings:
    """What a function can read outside of itself, at this moment, and in arguments that are modules and the like."""
    found: list[OutsideVariable] = []
    names: set[str] = set()
    codes: list[CodeType] = []
    known: set[int] = set()
    todo = [OutsideVariable(getattr(f, "__name__", type(f).__name__), f)]
    todo += [OutsideVariable(type(x).__name__, x) for x in arguments]
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


def _methods_of(x: object) -> list[FunctionType]:
    """The methods and properties of an object, or of a class, whose code is not a library's."""
    if isinstance(x, (FunctionType, ModuleType)) or not hasattr(x, "__dict__"):
        return []
    members = [m for c in _classes_of(x) for m in vars(c).values()]
    kept = [getattr(m, k) for m in members for k in ("__func__", "fget", "func") if hasattr(m, k)]
    found = [m for m in members + kept if isinstance(m, FunctionType)]
    return [m for m in found if not is_ours[m.__code__.co_filename]]


# Methods that are called without their names. (Those that dataclasses get, such as __eq__, name all fields.)
UNNAMED = frozenset(
    "forward __call__ __getitem__ __getattr__ __iter__ __len__ __enter__ __exit__ __contains__ __float__ __int__ "
    "__bool__ __neg__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__".split()
)


def _classes_of(x: object) -> tuple[type, ...]:
    return (x if isinstance(x, type) else type(x)).__mro__


def is_value(x: object) -> bool:
    """Is it a number, a text, a flag or a tensor, or does it give something else in each call?"""
    return isinstance(x, (int, float, str, bytes, frozenset, np.generic, *VALUES)) or advances(x)


def advances(x: object) -> bool:
    """Does it give something else in each call? It is an iterator, or a random generator."""
    return isinstance(x, (Iterator, random.Random)) or type(x).__module__.startswith("numpy.random")


def _parts_of(name: str, x: Any) -> Iterable[OutsideVariable]:
    """What a Python object refers to; nothing for tensors, and what is minigrad's or in a library."""
    if isinstance(x, (*CONTAINERS, np.ndarray, set)):
        return _entries_of(name, x)
    if isinstance(x, MethodType):
        return [
            OutsideVariable(name.rpartition(".")[0] or name, x.__self__),
            OutsideVariable(name, x.__func__),
        ]
    if isinstance(x, functools.partial):
        return [OutsideVariable(name, part) for part in (x.func, x.args, x.keywords)]
    if isinstance(x, FunctionType):
        return () if is_ours[x.__code__.co_filename] else _outside_variables(name, x)
    if isinstance(x, ModuleType):
        is_users = x.__spec__ is None or not is_ours[x.__spec__.origin or "<frozen"]
        return _attributes(name, x, vars(x)) if is_users else ()
    slots = [k for c in _classes_of(x) for k in vars(c).get("__slots__", ()) if hasattr(x, k)]
    if not hasattr(x, "__dict__"):
        return _attributes(name, x, {k: getattr(x, k) for k in slots})
    ours = _is_ours(x if isinstance(x, type) else type(x))
    own = [] if isinstance(x, type) else _attributes(name, x, vars(x))
    if isinstance(x, Module):
        children = [OutsideVariable(f"{name}.{k}", m, vars(x), k) for k, m in x._modules.items()]
        hooks = [
            OutsideVariable(f"hooks of {name}", hook) for d in _hooks_of(x) for hook in d.values()
        ]
        own = [v for v in own if _is_setting(v)] + children + hooks
    elif isinstance(x, Optimizer):  # without a place: the program reads its settings in each run
        return [v._replace(place=None) for v in _settings_of(name, x)]
    elif ours:
        return ()
    of_classes: dict[str, object] = {}
    for c in reversed(_classes_of(x)):  # a class overrides its bases
        of_classes |= {} if _is_ours(c) else _data_in(c)
    inherited = {
        k: value for k, value in of_classes.items() if isinstance(x, type) or k not in vars(x)
    }
    counts = [] if ours or isinstance(x, type) else [_count(x, name)]
    return own + _attributes(name, x, inherited) + counts


def _settings_of(name: str, x: Optimizer) -> list[OutsideVariable]:
    """The settings of an optimizer that are numbers or flags: learning rates, and so on."""
    return [
        OutsideVariable(f"{name}.param_groups[{k}][{key!r}]", value, group, key)
        for k, group in enumerate(x.param_groups)
        for key, value in group.items()
        if isinstance(value, PLAIN)
    ]


def _entries_of(name: str, x: Any) -> list[OutsideVariable]:
    """The entries of a list, tuple, dict, set or array, unless it is a large one, and their number."""
    if isinstance(x, (np.ndarray, set)):
        few = (len(x) if isinstance(x, set) else x.size) <= MANY
        return [OutsideVariable(f"what is in {name}", contents_of(x), x, None, contents_of)] * few
    items = x.items() if isinstance(x, Mapping) else enumerate(x)
    entries = [
        OutsideVariable(f"{name}[{_as_key(k, n)}]", part, x, k, entry=True)
        for n, (k, part) in enumerate(items if len(x) <= MANY else ())
    ]
    return [*entries, *_attributes(name, x, getattr(x, "__dict__", {})), _count(x, name)]


def _count(x: object, name: str = "") -> OutsideVariable:
    """The number of entries of a container, or of attributes of an object: one that is added may be read then."""
    return OutsideVariable(f"len({name})", length_of(x), x, None, length_of)


def _as_key(k: object, n: int) -> str:
    """The text of the n-th key of a dict; a tensor, as in velocity[p], would be printed with all its numbers."""
    return f"<{type(k).__name__} {n}>" if isinstance(k, VALUES) else repr(k)


def _attributes(name: str, x: object, values: Mapping[str, object]) -> list[OutsideVariable]:
    return [OutsideVariable(f"{name}.{k}", value, x, k, getattr) for k, value in values.items()]


def _data_in(cls: type) -> dict[str, object]:
    """What a class holds but methods, and what its objects have as well, until they get their own."""
    return {
        k: value
        for k, value in vars(cls).items()
        if k[:2] != "__" and not hasattr(value, "__get__")
    }


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "minigrad"


def _is_setting(attribute: OutsideVariable) -> bool:
    """May this attribute of a module change? (For tensors, see _tensors_of.) Of ours, p and the like may."""
    name, value = attribute.key, attribute.value
    is_fixed = name == "training" or name.startswith(("_", "in_", "out_", "num_features"))
    return not is_fixed and not isinstance(value, (*VALUES, Module))


def _tensors_of(name: str, x: Module) -> list[OutsideVariable]:
    """The parameters, buffers and other tensors of a module, without those of its submodules."""
    own, kinds = vars(x), x._registered_kinds
    tensors = {k: t for k, t in own.items() if k in kinds or isinstance(t, Tensor)}
    some = {k: t for k, t in tensors.items() if not isinstance(t, (Slot, Module))}
    return [OutsideVariable(f"{name}.{k}", t, own, k) for k, t in some.items()]


def _hooks_of(x: Module) -> list[dict[int, Any]]:
    """The hooks of a module and of its parameters, by kind."""
    plans = [p.node.plan for p in x._parameters.values() if p is not None and p.node is not None]
    of_parameters = [
        (h.on_result, h.before, h.after, h.finally_) for h in plans if isinstance(h, Hooked)
    ]
    return [*(x._call_hooks or {}).values(), *chain.from_iterable(of_parameters)]
