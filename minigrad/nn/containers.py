"""Containers: Sequential, ModuleList and ModuleDict for modules, ParameterList and ParameterDict for parameters.

Modules and parameters in a plain list or dict are not registered, so they would be missing from
`parameters()`. These containers are modules themselves and register their entries.
"""

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, Self, SupportsIndex

from minigrad.core.tensor import Tensor
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.nn.registry import MODULE, type_name


def checked_index(n: int, index: SupportsIndex) -> int:
    """An index into n items as a non-negative number. Raises IndexError if it is out of range."""
    k = operator.index(index)
    if not -n <= k < n:
        raise IndexError(f"index {k} is out of range")
    return k % n


class _List(Module):
    """The base class of the list-like containers, which have `append`."""

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several entries at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"{self._get_name()}.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in list(values):
            self._add(value)
        return self

    def _add(self: Any, value: Any) -> None:
        """Add an entry in `extend`."""
        self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)


class _IndexedModules(_List):
    """The base class of Sequential and ModuleList: modules in order, named "0", "1", ..."""

    def _all(self) -> list[Any]:
        return [module for _, module in self._own_named(MODULE)]

    def _renumber(self, modules: list[Any]) -> None:
        """Replace all modules by these, with the names "0", "1", ..."""
        for name in list(self._modules):
            delattr(self, name)
        for k, module in enumerate(modules):
            self.add_module(str(k), module)

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        modules = self._all()
        del modules[index if isinstance(index, slice) else checked_index(len(modules), index)]
        self._renumber(modules)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        named = self._own_named(MODULE)
        if isinstance(index, slice):
            return self._subset(named[index])
        return named[checked_index(len(named), index)][1]

    def _subset(self, named: list[tuple[str, Any]]) -> Self:
        """A container of the same kind with some of the modules."""
        return type(self)(module for _, module in named)

    def __setitem__(self, index: int, module: Module) -> None:
        names = list(self._modules)
        setattr(self, names[checked_index(len(names), index)], module)

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at `index`."""
        modules = self._all()
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_IndexedModules):
    """Modules that are applied one after another: each gets the result of the previous one.

    Pass the modules, or an OrderedDict of modules with names.

    >>> from minigrad import nn, ones
    >>> net = Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    >>> net(ones(5, 2)).shape
    minigrad.Size([5, 1])
    >>> net[:2]
    Sequential(
      (0): Linear(in_features=2, out_features=8, bias=True)
      (1): Tanh()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name) if isinstance(name, int) else name, module)

    def forward(self, input: Any) -> Any:
        """The input of the first module to the result of the last."""
        for _, module in self._own_named(MODULE):
            input = module(input)
        return input

    def _subset(self, named: list[tuple[str, Any]]) -> Self:
        return type(self)(OrderedDict(named))  # the modules keep their names

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def __add__(self, other: object) -> "Sequential":
        return Sequential(*self, *_sequential(other))

    def __iadd__(self, other: object) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, times: int) -> "Sequential":
        """The same modules repeated. They share their parameters."""
        return Sequential(*self._all() * self._checked(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(self._all() * (self._checked(times) - 1))

    def _checked(self, times: object) -> int:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return times


def _sequential(other: object) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return other


class ModuleList(_IndexedModules):
    """A list of modules. It has no forward: the module that contains it decides how to use them.

    >>> from minigrad import nn
    >>> layers = ModuleList(nn.Linear(n, n + 1) for n in (1, 2))
    >>> [name for name, _ in layers.named_parameters()]
    ['0.weight', '0.bias', '1.weight', '1.bias']
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _add(self, value: Any) -> None:
        ModuleList.append(self, value)  # not the append that a program's own class may have

    def __add__(self, other: Iterable[Any]) -> "ModuleList":
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Like other modules, but a run of equal modules is shown as one line: "(0-2): 3 x ReLU()"."""
        if not len(self):
            return self._get_name() + "()"
        lines, first = [], 0
        for text, equal in groupby(map(repr, self)):
            last = first + len(list(equal)) - 1
            which = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(which + text.replace("\n", "\n  "))
            first = last + 1
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class _Dict(Module):
    """The base class of the dict-like containers, which define what an index does.

    A program's own class may override keys() and [], to have other keys than names. So these methods do not use keys().
    """

    def _names(self) -> dict[str, Any]:
        return self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __contains__(self, key: str) -> bool:
        return key in self._names()

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._names().keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and entries."""
        return self._names().items()

    def values(self) -> Iterable[Any]:
        """The entries."""
        return self._names().values()

    def pop(self: Any, key: str) -> Any:
        """Remove an entry and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self: Any) -> None:
        """Remove all entries."""
        for key in list(self._names()):
            del self[key]


class ModuleDict(_Dict):
    """A dict of modules, in the order in which they were added.

    >>> from minigrad import nn
    >>> ModuleDict({"relu": nn.ReLU(), "out": nn.Linear(2, 1)})["relu"]
    ReLU()
    """

    def __init__(
        self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None) -> None:
        """Add modules from a dict, or from pairs of names and modules."""
        for name, module in pairs_of(modules, "ModuleDict.update", "ModuleDict"):
            self[name] = module


def pairs_of(given: object, method: str, cls: str) -> list[tuple[str, Any]]:
    """Names and values, from a dict or from pairs. Raises TypeError or ValueError for a bad pair."""
    if not isinstance(given, (Iterable, Mapping)):
        raise TypeError(
            f"{method} should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, Mapping) or hasattr(given, "items"):
        return list(given.items())
    pairs = []
    for k, pair in enumerate(given):
        element = f"{cls} update sequence element #{k}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{element} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{element} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


# ------------------------------------------------------------------------ parameters


def _as_parameter(value: Any) -> Any:
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def _line(name: object, value: object, dtype: Callable[[Any], str]) -> str:
    """One line of the repr: "(0): Parameter containing: [minigrad.float32 of size 2x3]"."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return (
        f"  ({name}): {kind} containing: [{dtype(value)} of size {'x'.join(map(str, value.shape))}]"
    )


class ParameterList(_List):
    """A list of parameters. Tensors become Parameters when added; other objects can be added too.

    >>> from minigrad import ones
    >>> ParameterList([ones(2, 3), ones(1)])
    ParameterList(
        (0): Parameter containing: [minigrad.float32 of size 2x3]
        (1): Parameter containing: [minigrad.float32 of size 1]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[k] for k in range(*index.indices(len(self))))
        return getattr(self, str(checked_index(len(self), index)))

    def __setitem__(self, index: int, value: object) -> None:
        setattr(self, str(checked_index(len(self), index)), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def append(self, value: object) -> Self:
        """Add one entry at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(_line(k, p, lambda x: str(x.dtype)) for k, p in enumerate(self))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_Dict):
    """A dict of parameters. Tensors become Parameters when added."""

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _key(key))

    def __setitem__(self, key: str, value: object) -> None:
        setattr(self, _key(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def _names(self) -> dict[str, Any]:
        return self._keys

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and parameters."""
        return {key: self[key] for key in self._keys}.items()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return {key: self[key] for key in self._keys}.values()

    def get(self, key: str, default: object = None) -> Any:
        """The parameter with this name, or the default."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: object = None) -> Any:
        """The parameter with this name, after adding the default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last parameter and return its name and value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def copy(self) -> "ParameterDict":
        """A new dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: object = None) -> "ParameterDict":
        """A new dict with these names, all with the same value."""
        return ParameterDict(OrderedDict((key, default) for key in keys))

    def update(self, parameters: object) -> None:
        """Add entries from a dict (a plain dict in the order of its sorted names, as in PyTorch), or from pairs."""
        pairs = pairs_of(parameters, "ParametersDict.update", "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: object) -> "ParameterDict":
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: Any) -> "ParameterDict":
        return ParameterDict(OrderedDict(other.items())) | self

    def __ior__(self, other: object) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(_line(key, p, type_name) for key, p in self.items())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}')."
        )
    return key


# ------------------------------------------------------------------------ one module


class DataParallel(Module):
    """A module replicated on several GPUs. Without GPUs, it just calls the module, as in PyTorch.

    The names of parameters begin with "module.", as in PyTorch.
    """

    def __init__(
        self, module: Module, device_ids: object = None, output_device: object = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
