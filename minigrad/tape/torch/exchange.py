"""Copies variables, with minigrad instead of PyTorch, to run a cell on both.

    exchange(code, namespace)    a copy of the namespace, in which `torch` is minigrad

PyTorch's modules and functions are replaced by ours of the same name. Tensors are copied, and so are
the user's functions, which then use the copied namespace. In it, `import torch` imports minigrad.
PyTorch objects that cannot be copied, like a model, are left out: the cell can create them itself.
"""

import ast
import builtins
import sys
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from minigrad.core.modes import unobserved
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.nn.parameter import Parameter
from minigrad.tape.torch.values import array_of

OURS = "minigrad"


def exchange(code: ast.AST, namespace: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A copy of the variables that some code uses, with minigrad instead of PyTorch.

    Also returns, for each variable that is left out, the message to show if it is needed.
    """
    made = _Exchange(namespace)
    with unobserved():
        made.copy_for(code)
    return made.copy, made.left_out


def import_ours(name: str, *args: Any, **kwargs: Any) -> Any:
    """A replacement for `__import__` that imports minigrad instead of PyTorch."""
    return builtins.__import__(_name(name), *args, **kwargs)


def _name(name: str) -> str:
    """ "minigrad.nn", for "torch.nn"."""
    top, dot, rest = name.partition(".")
    return f"{OURS}{dot}{rest}" if top == "torch" else name


class _LeftOut(Exception):
    """Raised for a value that cannot be copied; the message says what it is."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"is {what}, and was made before this cell, so minigrad has none. To fix it, make it in "
            "the cell itself, which runs once with each engine."
        )


class _Exchange:
    """Copies variables, each once."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.given = namespace
        self.copy: dict[str, Any] = {
            "__builtins__": {**vars(builtins), "__import__": import_ours},
            "__name__": namespace.get("__name__", "__main__"),
        }
        self.made: dict[int, Any] = {}
        self.waiting: list[str] = []
        self.left_out: dict[str, str] = {}

    def copy_for(self, code: ast.AST) -> None:
        """Copy the variables that some code, and the functions that it calls, may use."""
        self.waiting = [n.id for n in ast.walk(code) if isinstance(n, ast.Name)]
        while self.waiting:
            name = self.waiting.pop()
            if name in self.given and name not in self.copy:
                self.copy[name] = None  # a function may mention itself
                try:
                    self.copy[name] = self._once(self.given[name])
                except _LeftOut as error:
                    del self.copy[name]
                    self.left_out[name] = f"{name} {error}"

    def _once(self, value: Any) -> Any:
        if id(value) not in self.made:
            self.made[id(value)] = self._other(value)
        return self.made[id(value)]

    def _other(self, value: Any) -> Any:
        """The counterpart of a value in the copy."""
        if isinstance(value, torch.Tensor):
            return _tensor(value)
        if isinstance(value, np.ndarray):
            return value.copy()
        if type(value) in (list, tuple, set):
            return type(value)(self._once(part) for part in value)
        if type(value) is dict:
            return {key: self._once(part) for key, part in value.items()}
        if isinstance(value, FunctionType) and value.__globals__ is self.given:
            return self._function(value)
        if isinstance(value, ModuleType) and _is_theirs(value.__name__):
            return import_module(_name(value.__name__))
        if isinstance(value, torch.dtype):
            return getattr(sys.modules[OURS], str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return sys.modules[OURS].device(str(value))
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            return _named(value)
        if _of_theirs(type(value)):
            raise _LeftOut(f"a {type(value).__name__}")
        return value

    def _function(self, f: FunctionType) -> FunctionType:
        """A copy of a user's function: the same code, with the copied namespace."""
        self.waiting += _names_of(f.__code__)
        made = FunctionType(f.__code__, self.copy, f.__name__, None, f.__closure__)
        made.__defaults__ = self._once(f.__defaults__) if f.__defaults__ else None
        made.__kwdefaults__ = self._once(f.__kwdefaults__) if f.__kwdefaults__ else None
        return made


def _names_of(code: Any) -> list[str]:
    inner = [c for c in code.co_consts if hasattr(c, "co_names")]
    return [*code.co_names, *(name for c in inner for name in _names_of(c))]


def _tensor(x: torch.Tensor) -> Tensor:
    """A minigrad leaf with the same values."""
    if x.grad_fn is not None:
        raise _LeftOut(f"a result of PyTorch ({type(x.grad_fn).__name__})")
    array = array_of(x).copy()
    made = tensor(array)
    if isinstance(x, torch.nn.Parameter):
        made = Parameter(made)
    made.requires_grad_(x.requires_grad)
    if x.grad is not None:
        made.grad = tensor(array_of(x.grad).copy())
    return made


def _named(value: Any) -> Any:
    """A function or class; for one of PyTorch's, minigrad's with the same name."""
    if isinstance(value, type) and not _is_theirs(value.__module__):
        if _of_theirs(value):
            raise _LeftOut(f"derived from {value.__mro__[1].__name__} of PyTorch")
        return value
    own, place = getattr(value, "__name__", ""), getattr(value, "__module__", None) or ""
    if not _is_theirs(place) and getattr(torch, own, None) is not value:
        return value
    for there in (place, "torch", "torch.nn.functional"):
        try:
            return getattr(import_module(_name(there)), own)
        except (ImportError, AttributeError, ValueError):
            continue
    raise _LeftOut(f"PyTorch's {own}, which minigrad does not have")


def _is_theirs(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def _of_theirs(kind: type) -> bool:
    return any(_is_theirs(base.__module__) for base in kind.__mro__)
