"""Containers of parameters that a module finds: ParameterList and ParameterDict."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from minigrad.core.tensor import Tensor
from minigrad.nn.containers import pairs_of, position
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.nn.registry import type_name

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def _line(name: Any, value: Any, dtype: Any) -> str:
    """The text for an entry: "(0): Parameter containing: [minigrad.float32 of size 2x3]"."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return (
        f"  ({name}): {kind} containing: [{dtype(value)} of size {'x'.join(map(str, value.shape))}]"
    )


class ParameterList(Module):
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

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[k] for k in range(*index.indices(len(self))))
        return getattr(self, str(position(len(self), index)))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(position(len(self), index)), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def append(self, value: Any) -> Self:
        """Add one entry at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several entries at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(_line(k, p, lambda x: f"minigrad.{x.dtype}") for k, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters. Tensors become Parameters when added."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _key(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and parameters."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter with this name, or the default."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter with this name. If there is none, the default is added first."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove a parameter and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last parameter and return its name and value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all parameters."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> "ParameterDict":
        """A new dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A dict with these names and the same value for each."""
        return ParameterDict(OrderedDict((key, default) for key in keys))

    def update(self, parameters: Any) -> None:
        """Add entries from a dict (a plain dict in the order of its sorted names, as in PyTorch), or from pairs."""
        pairs = pairs_of(parameters, "ParametersDict.update", "ParameterDict", len(self))
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: Any) -> "ParameterDict":
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: Any) -> "ParameterDict":
        both = ParameterDict(OrderedDict(other.items()))
        both.update(self)
        return both

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(key, p, type_name) for key, p in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}')."
        )
    return key
