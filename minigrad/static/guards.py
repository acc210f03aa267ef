"""What a step reads outside of itself, and the guard that notices when it has changed.

    x * beta            a global variable, or one of an enclosing function
    x * settings.beta   an attribute, also of a class or a module; an entry of a dict or a list
    net(x)              a model: its layers, their settings, parameters, buffers and hooks

An OutsideVariable says where something is found, and what it was. Surroundings finds those that the code of
a function can reach. A Guard keeps those that the code names, and compares them before each run of the program:
they must be the same objects, or equal numbers and texts. Lists, dicts and objects must have as many entries
as before: cfg.get("gain", 1.0), getattr(s, "gain", 1.0).

Left out: the values of lists and arrays with more than 1000 entries, which are taken for data; names that are
computed, as in getattr(s, key) or vars(s); the order of keys; methods of a class that are replaced; what library
code reads, such as os.environ; and the variables of modules that are libraries.
"""

import dis
import functools
import inspect
import random
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import eq, getitem, is_, length_hint
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

    name    the source that reads it, or what it is
    read    getitem for a global or an entry, getattr for an attribute or the cell of a closure; or what is
            compared of it: length_hint, contents_of, sort_of
    entry   is it a part of a list, tuple or dict, or the number of parts?
    """

    name: str
    value: Any
    place: Any = None
    key: Any = None
    read: Callable[[Any, Any], Any] = getitem
    entry: bool = False

    @property
    def where(self) -> object:
        """A key for its place; several variables of one name have different ones."""
        return self.name if self.place is None else (id(self.place), self.key, self.read)

    def write(self, value: object) -> None:
        """Give it another value."""
        if self.read is getitem:
            self.place[self.key] = value
        else:
            setattr(self.place, self.key, value)

    def remove(self) -> None:
        """Delete it."""
        if self.read is getitem:
            del self.place[self.key]
        else:
            delattr(self.place, self.key)

    def is_same(self) -> bool:
        """Is it still the same object, or an equal number or text?"""
        try:
            now = self.read(self.place, self.key)
        except GONE:
            return False
        return is_alike(now, self.value) or (self.read not in OBJECTS and bool(now == self.value))

    def is_read(self, names: Container[str], read: Container[int]) -> bool:
        """May the function read it? Of objects, these are the parts that its code names; of what it reads, the entries.

        Layers of ours read their settings, such as the p of Dropout, in code of ours.

        read   the ids of the variables that it may read, of those that come before this one
        """
        if self.place is None or isinstance(self.value, (Slot, ModuleType)):
            return False
        if self.entry:
            return id(self.place) in read
        if self.key in names or self.key in UNNAMED_PARTS or isinstance(self.value, Module):
            return True
        return isinstance(self.place, Module) and _is_ours(type(self.place))


class Guard:
    """What a recorded function has read outside of itself: its program holds as long as this is the same.

    changed   the name of the first variable that is not the same
    """

    def __init__(self, variables: Sequence[OutsideVariable]) -> None:
        self.changed: str | None = None
        by_read: dict[Any, list[OutsideVariable]] = {}
        for v in variables:
            by_read.setdefault(v.read, []).append(v)
        self.groups: list[Any] = []
        for read, found in by_read.items():
            columns = zip(*[(v.place, v.key, v.value) for v in found], strict=True)
            self.groups.append((found, is_ if read in OBJECTS else eq, read, *columns))

    def holds(self) -> bool:
        """Are they the same objects as during recording, or equal numbers or texts? (It takes 50 ns for each.)"""
        for found, compare, read, places, keys, values in self.groups:
            with_each = map(compare, map(read, places, keys), values)
            try:
                if all(with_each):
                    continue
            except GONE:
                pass
            self.changed = next((v.name for v in found if not v.is_same()), None)
            if self.changed is not None:
                return False
        return True


OBJECTS = (getitem, getattr)  # what reads an object
GONE = (LookupError, AttributeError, ValueError)  # raised by these for what is no longer there
CONTENT = "cell_contents"
UNNAMED_PARTS = (CONTENT, "__defaults__", "__kwdefaults__")  # of functions
MANY = 1000  # numbers in longer lists are data
PLAIN = (int, float, complex, str, bytes, frozenset, np.generic, type(None))
CONTAINERS = (Mapping, list, tuple, deque)


def contents_of(x: Any, _: object = None) -> bytes | frozenset[object]:
    """The entries of a tensor, an array or a set, to compare them.

    >>> contents_of({1, 2})
    frozenset({1, 2})
    """
    if isinstance(x, (np.ndarray, Tensor)):
        return np.asarray(getattr(x, "array", x)).tobytes()
    return frozenset(x)


def sort_of(x: Any, name: str) -> object:
    """The shape and dtype of a tensor in an attribute, or the type of something else.

    >>> sort_of(minigrad.nn.Linear(3, 2), "bias")
    (minigrad.Size([2]), minigrad.float32)
    """
    value = getattr(x, name, None)
    return (value.shape, value.dtype) if isinstance(value, Tensor) else type(value)


def is_alike(x: object, y: object) -> bool:
    """Are they the same object, or equal numbers or texts?"""
    return x is y or (type(x) is type(y) and isinstance(x, PLAIN) and x == y)


class Surroundings:
    """What a function can read outside of itself at this moment, also in objects and in arguments that are modules.

    variables   what it can read
    lines       all code that it can call
    names       the names and texts in it
    """

    def __init__(self, f: Callable[..., object], arguments: Iterable[object] = ()) -> None:
        self.variables: list[OutsideVariable] = []
        self.lines: list[dis.Instruction] = []
        self.names: set[str] = set()
        known: set[int] = set()
        methods: list[FunctionType] = []
        todo = [OutsideVariable(getattr(f, "__name__", type(f).__name__), f)]
        todo += [OutsideVariable(type(x).__name__, x) for x in arguments]
        while todo:
            self.variables.append(todo.pop())
            name, x = self.variables[-1][:2]
            if callable(x) and not isinstance(x, type):
                x = inspect.unwrap(x)  # of what no_grad() or compile() has made of a function
            if not is_value(x) and id(x) not in known and len(known) < 100 * MANY:
                known.add(id(x))
                if isinstance(x, FunctionType) and not is_ours[x.__code__.co_filename]:
                    self.lines += _lines_of(x.__code__)
                    self.names |= _names_in(_lines_of(x.__code__))
                todo += _parts_of(name, x)
                methods += _methods_of(x)
            elif isinstance(x, Tensor):
                todo += _called_hooks(name, x)
            if not todo:
                called = self.names | UNNAMED
                new = [m for m in methods if id(m) not in known and m.__name__ in called]
                todo = [OutsideVariable(m.__qualname__, m) for m in new]

    def only_counts(self, v: OutsideVariable) -> bool:
        """Is this number only updated, as in  calls += 1,  and not read anywhere else?

        An update loads and stores its name once; that of an entry, n["calls"] += 1, loads the key.
        """
        if v.place is None or v.read is contents_of:
            return False
        key = v.name if v.key == CONTENT else v.key
        loads, stores = self._how_often(key, v.read is getattr and v.key != CONTENT)
        return loads <= (1 if v.entry else stores) and _adds(self.lines, key)

    def only_appends(self, name: str) -> bool:
        """Is the list of this name only appended to, as in  losses.append(x)  and  log["loss"].append(x)?

        What it appends can change, too:  totals[-1] += x. The name may be one of a local variable, or of an argument.
        """
        lines, root = self.lines, name.partition("[")[0].rpartition(".")[2]
        loads = [k + 1 for k, i in enumerate(lines) if i.opname[:4] == "LOAD"]
        uses = [k for k in loads if lines[k - 1].argval == root and not _is_local(lines[k - 1])]
        named = [k for k in uses if not lines[k].opname.startswith("STORE_FAST")]
        if uses == named != []:
            return all(_appends(lines, k) for k in uses)
        others = [k for k in loads if _is_local(lines[k - 1])]
        lists = {lines[k - 1].argval for k in others if lines[k].argval in APPENDS}
        lists |= {lines[k].argval for k in uses if k not in named}
        others = [k for k in others if lines[k - 1].argval in lists]
        return bool(others) and all(_appends(lines, k) for k in named + others)

    def loads(self, name: str) -> bool:
        """Does the code read an attribute of this name, or does it at most store it?"""
        return self._how_often(name, is_attribute=True)[0] > 0

    def _how_often(self, key: object, is_attribute: bool) -> tuple[int, int]:
        """How often the code loads and stores what has this name or key, but for methods, as in  optimizer.step()."""
        lines = [i for i in self.lines if type(i.argval) is type(key) and i.argval == key]
        lines = [i for i in lines if not _is_method(i)]
        lines = [i for i in lines if i.opname.endswith("_ATTR") or not is_attribute]
        loads, stores = (sum(i.opname.startswith(x) for i in lines) for x in ("LOAD", "STORE"))
        return loads, stores

    def unchanged(
        self, assigned: Container[tuple[int, str]], growing: Container[int]
    ) -> list[OutsideVariable]:
        """What the function reads and is still the same; of modules and optimizers, also what their code reads.

        assigned   ids of modules, and names of attributes that the function has assigned
        growing    ids of lists to which it has appended
        """
        read: set[int] = set()
        same = []
        for v in self.variables:
            if v.place is None or v.is_read(self.names, read):
                read |= {id(v.value), id(_sized(v.value))}
                if v.place is not None and id(v.place) not in growing and v.is_same():
                    same.append(v)
        for v in {id(v.value): v for v in self.variables}.values():
            if isinstance(v.value, Module):
                same += _state_of_module(v.name, v.value, assigned)
            elif isinstance(v.value, Optimizer):
                same += _state_of_optimizer(v.name, v.value, "param_groups" in self.names)
        for v in [v for v in same if isinstance(v.value, Tensor)]:
            node, hook = v.value.node, f"a hook of {v.name}"
            if node is not None:
                same.append(OutsideVariable(hook, node.plan, node, "plan", getattr))
                same += [_length(hook, hooks) for hooks in _hooks_of(v.value)]
            elif v.value._kept_grad is not None:  # of a parameter that was frozen later
                kept = v.value._kept_grad
                same.append(OutsideVariable(f"{v.name}.grad", kept, v.value, "_kept_grad", getattr))
        return same


# ------------------------------------------------------------------ code


@functools.lru_cache(MANY)
def _lines_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a function, and of the functions in it."""
    inner = [_lines_of(x) for x in code.co_consts if isinstance(x, CodeType)]
    return sum(inner, [*dis.get_instructions(code)])


def _names_in(lines: Iterable[dis.Instruction]) -> set[str]:
    """The names and texts in code, but for those of local variables."""
    return {i.argval for i in lines if isinstance(i.argval, str) and "FAST" not in i.opname}


def _is_method(i: dis.Instruction) -> bool:
    """Does this instruction load a method to call it? (From Python 3.12 on, it is a LOAD_ATTR.)"""
    return i.opname == "LOAD_METHOD" or (i.opname == "LOAD_ATTR" and "NULL|self" in i.argrepr)


APPENDS = ("append", "extend", "appendleft")


def _is_local(i: dis.Instruction) -> bool:
    return i.opname.startswith("LOAD_FAST")


def _appends(lines: Sequence[dis.Instruction], k: int) -> bool:
    """Does the code append to a list that has been loaded, or to an entry of it, or read its last entry?"""
    while True:
        first = k
        while lines[k].opname.startswith(
            ("LOAD_CONST", "LOAD_FAST", "COPY", "DUP", "EXTENDED_ARG")
        ):
            k += 1
        if not ("SUBSCR" in lines[k].opname or lines[k].argrepr == "[]"):
            return k == first and lines[k].argval in APPENDS
        if lines[first].argval == -1:
            return True
        k += 1


def _adds(lines: Iterable[dis.Instruction], name: object) -> bool:
    """Is each number that the code stores under this name a sum or a difference, as in  calls += 1?"""
    last = ""
    for i in lines:
        is_store = i.opname in ("STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL") and i.argval == name
        if is_store and last not in ("+", "-", "+=", "-="):
            return False
        if not i.opname.startswith(("LOAD", "SWAP", "COPY", "EXTENDED_ARG")):
            last = i.argrepr if i.opname == "BINARY_OP" else ""
    return True


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


# ------------------------------------------------------------------ parts of objects


def is_value(x: object) -> bool:
    """Is it a number, a text, a flag, None or a tensor, or does it give something else in each call?"""
    return isinstance(x, (*PLAIN, *VALUES)) or advances(x)


def advances(x: object) -> bool:
    """Does it give something else in each call? It is an iterator, or a random generator."""
    return isinstance(x, (Iterator, random.Random)) or _is_of(type(x), "numpy.random")


def _parts_of(name: str, x: Any) -> Iterable[OutsideVariable]:
    """What a Python object refers to; nothing for tensors, and what is minigrad's or in a library."""
    if isinstance(x, (*CONTAINERS, np.ndarray, set)):
        return _entries_of(name, x)
    if isinstance(x, MethodType):
        owner = name.rpartition(".")[0] or "self"
        return [OutsideVariable(owner, x.__self__), OutsideVariable(name, x.__func__)]
    if isinstance(getattr(x, "__self__", None), (*CONTAINERS, set)):  # losses.append
        return [OutsideVariable(f"{name}.__self__", x.__self__)]
    if isinstance(x, functools.partial):
        return [OutsideVariable(name, part) for part in (x.func, x.args, x.keywords)]
    if isinstance(x, FunctionType):
        return () if is_ours[x.__code__.co_filename] else _parts_of_function(name, x)
    if isinstance(x, ModuleType):
        file = getattr(x, "__file__", None) or "<frozen"
        is_users = x.__spec__ is None or not (is_ours[file] or "-packages" in file)
        return _attributes(name, x, vars(x)) if is_users else ()
    if isinstance(x, Optimizer):  # without a place: the program reads its settings in each run
        return [v._replace(place=None) for v in _settings_of(name, x)]
    slots = [k for c in _classes_of(x) for k in vars(c).get("__slots__", ()) if hasattr(x, k)]
    if not hasattr(x, "__dict__"):
        return _attributes(name, x, {k: getattr(x, k) for k in slots})
    ours = _is_ours(x if isinstance(x, type) else type(x))
    if ours and not isinstance(x, Module):
        return ()
    own = {} if isinstance(x, type) else vars(x)
    parts = _attributes(name, x, own)
    if isinstance(x, Module):
        parts = [v for v in parts if _is_setting(v)]
        parts += [OutsideVariable(f"{name}.{k}", m, own, k) for k, m in x._modules.items()]
        parts += _called_hooks(name, x)
    of_classes: dict[str, object] = {}
    for c in reversed(_classes_of(x)):  # a class overrides its bases
        of_classes |= {} if _is_ours(c) else _data_in(c)
    parts += _attributes(name, x, {k: of_classes[k] for k in of_classes if k not in own})
    return parts if isinstance(x, type) else [*parts, _count(x, name)]


def _parts_of_function(f_name: str, f: FunctionType) -> Iterator[OutsideVariable]:
    """The variables outside of a function that its code names, its defaults and its attributes."""
    globals_named = {i.argval for i in _lines_of(f.__code__) if i.opname == "LOAD_GLOBAL"}
    for name in globals_named & f.__globals__.keys():
        yield OutsideVariable(name, f.__globals__[name], f.__globals__, name)
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has no value yet
            yield OutsideVariable(name, cell.cell_contents, cell, CONTENT, getattr)
    own = {key: getattr(f, key) for key in UNNAMED_PARTS[1:] if getattr(f, key)}
    yield from _attributes(f_name, f, own | vars(f))


def _entries_of(name: str, x: Any) -> list[OutsideVariable]:
    """The entries of a list, tuple, dict, set or array, unless it is a large one, and their number."""
    if isinstance(x, (np.ndarray, set)):
        few = (len(x) if isinstance(x, set) else x.size) <= MANY
        contents = OutsideVariable(f"what is in {name}", contents_of(x), x, None, contents_of, True)
        return [contents] * few
    items = x.items() if isinstance(x, Mapping) else enumerate(x)
    entries = [
        OutsideVariable(f"{name}[{_as_key(k, n)}]", part, x, k, entry=True)
        for n, (k, part) in enumerate(items if len(x) <= MANY else ())
    ]
    return [*entries, *_attributes(name, x, getattr(x, "__dict__", {})), _count(x, name)]


def _count(x: object, name: str) -> OutsideVariable:
    """The number of entries of a container, or of attributes of an object: one that is added may be read then."""
    named = f"len({name})" if isinstance(x, CONTAINERS) else f"the number of attributes of {name}"
    return _length(named, _sized(x))


def _length(name: str, x: Any) -> OutsideVariable:
    return OutsideVariable(name, len(x), x, 0, length_hint, True)


def _sized(x: object) -> Any:
    """What holds the entries or attributes of an object."""
    return x if isinstance(x, (*CONTAINERS, type)) else getattr(x, "__dict__", x)


def _as_key(k: object, n: int) -> str:
    """The text of the n-th key of a dict; a tensor, as in velocity[p], would be printed with all its numbers."""
    return f"<{type(k).__name__} {n}>" if isinstance(k, VALUES) else repr(k)


def _attributes(name: str, x: object, values: Mapping[str, object]) -> list[OutsideVariable]:
    return [OutsideVariable(f"{name}.{k}", value, x, k, getattr) for k, value in values.items()]


def _classes_of(x: object) -> tuple[type, ...]:
    return (x if isinstance(x, type) else type(x)).__mro__


def _data_in(cls: type) -> dict[str, object]:
    """What a class holds but methods, and what its objects have as well, until they get their own."""
    return {
        k: value
        for k, value in vars(cls).items()
        if k[:2] != "__" and not hasattr(value, "__get__")
    }


def _is_ours(cls: type) -> bool:
    return _is_of(cls, "minigrad")


def _is_of(cls: type, package: str) -> bool:
    name = cls.__module__  # no text, but a descriptor, in some classes that are written in C
    return isinstance(name, str) and f"{name}.".startswith(f"{package}.")


# ------------------------------------------------------------------ modules and optimizers


def _is_setting(attribute: OutsideVariable) -> bool:
    """May this attribute of a module change? (For tensors, see _state_of_module.) Of ours, p and the like may."""
    name, value = attribute.key, attribute.value
    is_fixed = name == "training" or name.startswith(("_", "in_", "out_", "num_features"))
    return not is_fixed and not isinstance(value, (*VALUES, Module))


def _state_of_module(
    name: str, x: Module, assigned: Container[tuple[int, str]]
) -> Iterator[OutsideVariable]:
    """The parameters, buffers, other tensors and hooks of a module, without those of its submodules."""
    own, kinds = vars(x), x._registered_kinds
    for k, t in own.items():
        kept = (k in kinds or isinstance(t, Tensor)) and not isinstance(t, (Slot, Module))
        if kept and (id(x), k) not in assigned:
            yield OutsideVariable(f"{name}.{k}", t, own, k)
    hooks = f"the number of hooks of {name}"
    yield OutsideVariable(hooks, x._call_hooks, x, "_call_hooks", getattr)
    for hooks_of_a_kind in _hooks_of(x):
        yield _length(hooks, hooks_of_a_kind)
    yield _length(f"the number of parameters, buffers and layers of {name}", kinds)


def _called_hooks(name: str, x: Module | Tensor) -> list[OutsideVariable]:
    hooks = [hook for d in _hooks_of(x) for hook in d.values()]
    return [OutsideVariable(f"a hook of {name}", hook) for hook in hooks]


def _hooks_of(x: Module | Tensor) -> list[dict[int, Any]]:
    """The hooks of a tensor, or of a module and of its parameters, by kind."""
    if isinstance(x, Module):
        parameters = [p for p in x._parameters.values() if p is not None]
        return [*(x._call_hooks or {}).values(), *(d for p in parameters for d in _hooks_of(p))]
    h = getattr(getattr(x, "node", None), "plan", None)
    return [h.on_result, h.before, h.after, h.finally_] if isinstance(h, Hooked) else []


def _state_of_optimizer(name: str, x: Optimizer, with_settings: bool) -> Iterator[OutsideVariable]:
    """What holds the state and the groups of an optimizer, and how many; and the settings."""
    own = {"state": x.state, "param_groups": x.param_groups}
    yield from _attributes(name, x, own)
    yield from _settings_of(name, x) if with_settings else ()
    for k, held in own.items():
        yield _length(f"len({name}.{k})", held)
    for group in x.param_groups:
        yield _length(f"the number of parameters of {name}", group["params"])


def _settings_of(name: str, x: Optimizer) -> list[OutsideVariable]:
    """The settings of an optimizer that are numbers or flags: learning rates, and so on."""
    return [
        OutsideVariable(f"{name}.param_groups[{k}][{key!r}]", value, group, key)
        for k, group in enumerate(x.param_groups)
        for key, value in group.items()
        if isinstance(value, PLAIN)
    ]
