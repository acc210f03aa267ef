"""What users see as the name of a class or function.

TopLevel        <class 'minigrad.Tensor'>, for the classes that PyTorch has at the top of its package
named_copy      a copy of a function under another name, which Python's errors then show
one_for_users   the methods of a class that is written in several parts, named after the class
"""

import sys
from types import CodeType, FunctionType
from typing import Any


class TopLevel(type):
    """The metaclass of these classes. Classes that users derive from them are shown as usual.

    >>> type(minigrad.zeros(2)), type(minigrad.float32)
    (<class 'minigrad.Tensor'>, <class 'minigrad.dtype'>)
    """

    def __repr__(cls) -> str:
        ours = cls.__module__.startswith("minigrad.core.")
        return f"<class 'minigrad.{cls.__name__}'>" if ours else super().__repr__()


def named_copy(f: FunctionType, qualname: str, code: CodeType | None = None) -> FunctionType:
    """A copy of the function with another name, and optionally with other code.

    Python's errors about arguments then have the name that the user called.

    >>> named_copy(minigrad.relu, "rectify")()
    Traceback (most recent call last):
    TypeError: rectify() missing 1 required positional argument: 'input'
    """
    name = qualname.rpartition(".")[2]
    g = FunctionType(code or f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
    g.__dict__.update(f.__dict__)
    g.__kwdefaults__, g.__annotations__ = f.__kwdefaults__, f.__annotations__
    g.__qualname__, g.__module__, g.__doc__ = qualname, f.__module__, f.__doc__
    return g


def own_init(cls: Any) -> None:
    """Name `__init__` after the class if its private base class has it: Conv2d.__init__(), not _ConvNd.__init__()."""
    if cls.__init__.__qualname__.startswith("_") and not cls.__name__.startswith("_"):
        cls.__init__ = named_copy(cls.__init__, f"{cls.__name__}.__init__")


def one_for_users(cls: type) -> None:
    """Name the methods that a class has from our base classes after the class, which users know.

    Python's errors and pickle then say Tensor.softmax, as in PyTorch; its base class is `Reductions`.
    """
    for part in cls.__mro__:
        for method in vars(part).values():
            while isinstance(method, FunctionType) and method.__module__.startswith("minigrad."):
                if method.__name__.isidentifier():
                    method.__qualname__ = f"{cls.__name__}.{method.__name__}"
                    vars(sys.modules[method.__module__]).setdefault(cls.__name__, cls)  # for pickle
                method = getattr(method, "__wrapped__", None)
