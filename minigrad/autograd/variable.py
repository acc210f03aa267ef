"""Variable: the old name for tensors with gradients."""

from typing import Any

from minigrad.core.data import as_array
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods import ArrayMethods


class _EveryTensor(type):
    """The metaclass that makes every tensor an instance of Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_EveryTensor):
    """Variable(x, requires_grad=False): a leaf that shares memory with x. New programs use tensors directly.

    >>> import minigrad
    >>> Variable(minigrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool | None = None
    ) -> Any:
        if volatile is not None:
            warn_user(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
            )
        if data is None:
            return wrap(as_array(()))
        if not isinstance(data, ArrayMethods):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
