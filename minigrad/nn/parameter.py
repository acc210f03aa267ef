"""Parameter: a tensor that a module learns. Buffer: one that it keeps, but does not learn.

Both are tensors in every respect. What is special is only that a module, when one is
assigned to it, takes notice; see registry.py.
"""

from typing import Any, Self

from minigrad.core.data import as_array
from minigrad.core.memory import FRESH, new
from minigrad.core.tensor import Tensor, wrap


class Parameter(Tensor):
    """A tensor to be learned: a leaf whose gradient is wanted, unless said otherwise.

    data            a tensor, whose memory is used and not copied
    requires_grad   is its gradient wanted?

    What is computed from a Parameter is a plain Tensor.

    Raises RuntimeError if a gradient is wanted of whole numbers.

    >>> import minigrad
    >>> w = Parameter(minigrad.tensor([1.0, 2.0]))
    >>> w
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    >>> w * 2
    tensor([2., 4.], grad_fn=<MulBackward0>)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        z: Self = sharing(cls, data)
        return z

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if requires_grad:
            self.requires_grad_()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # mypy takes names in dunders for positional
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter with memory of its own; the gradient is not copied."""
        if id(self) in memo:
            return memo[id(self)]
        z = type(self)(wrap(self.array.copy()), self.requires_grad)
        memo[id(self)] = z
        return z

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle: the values, and whether a gradient is wanted. The gradient stays behind."""
        return _parameter, (type(self), self.array, self.requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a module's state without being learned.

    data         a tensor, whose memory is used and not copied
    persistent   does it belong to the state_dict?

    Running averages are the usual example.
    """

    __slots__ = ("persistent",)

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        z: Self = sharing(cls, data)
        z.persistent = persistent
        return z

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        if isinstance(data, Tensor) and data.requires_grad:
            self.requires_grad_()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _buffer, (self.array, self.persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        z: Any = super().__deepcopy__(memo)
        z.persistent = self.persistent
        return z


def sharing(cls: Any, data: Any) -> Any:
    """A new tensor of this class in the memory of another; empty if there is no other."""
    z = new(cls)
    z.node = None
    if data is None:
        z.array, z.counter = as_array([]), FRESH
    elif isinstance(data, Tensor):
        z.array, z.counter = data.memory(), data._shared_counter()
    else:
        raise AttributeError(
            f"a {cls.__name__} is made of a tensor, but {type(data).__name__!r} object has no "
            f"attribute 'detach'. To fix it, write  {cls.__name__}(minigrad.tensor(...))."
        )
    return z


def _parameter(cls: Any, array: Any, requires_grad: bool) -> Any:
    return cls(wrap(array), requires_grad)


def _buffer(array: Any, persistent: bool) -> Buffer:
    return Buffer(wrap(array), persistent=persistent)
