"""How users see our classes and methods: <class 'minigrad.Tensor'>, and Tensor.softmax() in Python's errors."""

from types import FunctionType
from typing import Any

TENSOR = "minigrad.core.tensor"  # the module of Tensor


class TopLevel(type):
    """The class of such classes. The classes that users derive from them are shown as usual.

    >>> type(minigrad.zeros(2)), type(minigrad.float32)
    (<class 'minigrad.Tensor'>, <class 'minigrad.dtype'>)
    """

    def __repr__(cls) -> str:
        ours = cls.__module__.startswith("minigrad.core.")
        return f"<class 'minigrad.{cls.__name__}'>" if ours else super().__repr__()


def name_methods_of_tensor(cls: type) -> None:
    """Name the methods of a base class of Tensor as Tensor's, for Python's errors about arguments, and for pickle.

    >>> minigrad.Tensor.softmax.__qualname__  # written in a class Reductions
    'Tensor.softmax'
    """
    for name, method in vars(cls).items():
        bare: Any = method if isinstance(method, FunctionType) else None
        while bare is not None:  # the method, and then those that it wraps
            bare.__qualname__, bare.__module__ = f"Tensor.{name}", TENSOR
            bare = getattr(bare, "__wrapped__", None)
