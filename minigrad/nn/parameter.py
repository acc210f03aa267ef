"""Parameter: a tensor that a module learns. Buffer: a tensor that is part of its state but not learned.

Both are ordinary tensors. The only difference is that a module registers them when they are
assigned to it; see registry.py.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Self, SupportsIndex, TypeVar

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.data import as_array
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike, as_dtype
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.modes import read_values
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.creation import empty
from minigrad.methods.saving import REMADE

T = TypeVar("T", bound=Tensor)
R = TypeVar("R")


class Parameter(Tensor):
    """A tensor to be learned: a leaf that by default requires a gradient.

    data            a tensor; its memory is used, not copied
    requires_grad   whether it requires a gradient

    Results computed from a Parameter are plain Tensors.

    Raises RuntimeError for an integer tensor, unless requires_grad is False.

    >>> import minigrad
    >>> w = Parameter(minigrad.tensor([1.0, 2.0]))
    >>> w
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    >>> w * 2
    tensor([2., 4.], grad_fn=<MulBackward0>)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        z: Self = sharing(cls, data)  # all is done here, for classes with other arguments
        return z._made(requires_grad) if requires_grad else z

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]  # mypy treats names with two underscores as positional
        text, derived = super().__repr__(), not type(self).__module__.startswith("minigrad")
        return "Parameter containing:\n" + (f"Parameter({text})" if derived else text)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A parameter with its own memory. The gradient is not copied."""
        if id(self) in memo:
            return memo[id(self)]
        z = type(self)(wrap(read_values(self).copy()), self.requires_grad)
        memo[id(self)] = z
        return z

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """For pickle: the values, requires_grad, and attributes. The gradient is not included."""
        return _parameter, (type(self), self.array, self.requires_grad), self.__dict__ or None


REMADE["Parameter"] = Parameter  # for load


NO_VALUES = (
    "Attempted to use an uninitialized parameter: a lazy layer has no values before its first call. To fix it, call "
    "the model once, with an input, before you use its parameters."
)


class _Uninitialized(Tensor):
    """The base class of parameters and buffers that have no shape yet, and so no values."""

    __slots__ = ()

    cls_to_become: type

    @property
    def array(self) -> NoReturn:
        """Raises ValueError: there are no values yet."""
        raise ValueError(NO_VALUES)

    @array.setter
    def array(self, values: Array) -> None:
        Tensor.array.__set__(self, values)

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype that the entries will have."""
        return with_no_entries(self, lambda x: x.dtype)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether it will require a gradient."""
        return with_no_entries(self, lambda x: x.requires_grad_(requires_grad))

    def materialize(
        self, shape: int | Sequence[int], device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        """Give it a shape. It becomes an ordinary parameter or buffer."""
        array = np.zeros(shape, as_dtype(dtype or self.dtype))
        self.__class__ = self.cls_to_become
        self._replace_array(array)

    def detach(self) -> Self:
        """The same object, so that a state_dict contains it without a shape."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        z = type(self)(self.requires_grad, dtype=self.dtype)
        memo[id(self)] = z
        return z

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, None, self.dtype)

    def share_memory_(self) -> NoReturn:
        """Raises RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    @property
    def shape(self) -> Any:
        """Raises RuntimeError: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "the model once, with an input, to initialize its parameters."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]  # __repr__
    """A parameter that has no shape yet."""

    __slots__ = ()

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> Self:
        return super().__new__(cls, empty(0, dtype=dtype, device=device), requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a module's state but not learned, such as a running mean.

    data         a tensor; its memory is used, not copied
    persistent   whether it is part of the state_dict
    """

    __slots__ = ("persistent",)

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        z: Self = sharing(cls, data)
        z.persistent = persistent
        return z.requires_grad_() if data is not None and data.requires_grad else z

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return _buffer, (self.array, self.persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        z: Any = super().__deepcopy__(memo)
        z.persistent = self.persistent
        return z


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer that has no shape yet."""

    __slots__ = ()

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        persistent: bool = True,
    ) -> Self:
        data = empty(0, dtype=dtype, device=device, requires_grad=requires_grad)
        return super().__new__(cls, data, persistent=persistent)


def is_lazy(param: object) -> bool:
    """Whether this is a parameter or buffer that has no shape yet."""
    return isinstance(param, _Uninitialized)


def with_no_entries(x: T, f: Callable[[T], R]) -> R:
    """f(x), for which a parameter that has no shape yet is an ordinary one with no entries."""
    cls = x.__class__
    x.__class__ = getattr(cls, "cls_to_become", cls)
    try:
        return f(x)
    finally:
        x.__class__ = cls


def sharing(cls: type[Tensor], data: object) -> Any:
    """A new tensor of this class that shares memory with `data`, or an empty one if data is None."""
    if data is None:
        data = wrap(as_array([]))
    if not isinstance(data, Tensor):
        raise AttributeError(
            f"a {cls.__name__} is made of a tensor, but {type(data).__name__!r} object has no "
            f"attribute 'detach'. To fix it, write  {cls.__name__}(minigrad.tensor(...))."
        )
    return Tensor._make_subclass(cls, data)


def clear_gradients(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Set the gradients to None or, without set_to_none, to zeros."""
    for p in parameters:
        if type(p.node) is AccumulateGrad:
            if modes.unusual:
                modes.tell("sets_grad", p.node)
            if set_to_none:
                p.node.grad = None
                continue
        grad = p.grad
        if grad is None:
            continue
        if set_to_none:
            p.grad = None
        elif grad.is_sparse:
            p.grad = wrap(grad.array.to_dense() * 0)
        else:
            grad.node = None
            grad.zero_()


def _parameter(cls: type[Tensor], array: Array, requires_grad: bool) -> Tensor:
    return cls(wrap(array), requires_grad)


def _buffer(array: Array, persistent: bool) -> Buffer:
    return Buffer(wrap(array), persistent=persistent)
