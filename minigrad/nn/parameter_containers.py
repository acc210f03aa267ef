"""Containers that register the parameters in them: ParameterList and ParameterDict."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from minigrad.core.tensor import Tensor
from minigrad.nn.containers import _Dict, _List, checked_index, pairs_of
from minigrad.nn.parameter import Parameter
from minigrad.nn.registry import type_name


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
        return "\n".join(_line(k, p, lambda x: f"minigrad.{x.dtype}") for k, p in enumerate(self))

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

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

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
