"""Module: a part of a neural network, with what it learns and what it computes.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(2, 8)
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            return self.out(self.hidden(x).tanh())

A module is four things, each in a file of its own: it knows what it is made of
(registry.py), can be called (calling.py), can be saved and loaded (state.py), and, here,
can be changed and shown as a whole.
"""

from collections.abc import Callable
from typing import Any, Self

from minigrad.core import dtypes
from minigrad.core.devices import check_device, is_device
from minigrad.core.tensor import Tensor
from minigrad.nn.calling import Called
from minigrad.nn.registry import BUFFER, MODULE, PARAMETER, Registry
from minigrad.nn.state import Stateful


class Module(Stateful, Called):
    """The base of all modules. A class of your own gives `__init__` and `forward`.

    In `__init__`, first call `super().__init__()`; then assign the parameters and modules
    that it is made of. `forward` says what is computed; to use the module, call it:
    `module(x)`.

    training   is it being trained (dropout drops, batch norm uses the batch)?

    >>> from minigrad import nn, ones
    >>> class Scale(nn.Module):
    ...     def __init__(self, n):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(ones(n))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale(2)(ones(3, 2)).sum()
    tensor(6., grad_fn=<SumBackward0>)
    """

    training: bool = True
    call_super_init: bool = False
    dump_patches: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            name = next(iter(kwargs))
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        super().__init__()
        self.training = True
        if self.call_super_init:
            super(Registry, self).__init__(*args, **kwargs)  # of what stands behind Module

    # ------------------------------------------------------------------ training or not

    def train(self, mode: bool = True) -> Self:
        """Say of this module and all inside it that they are being trained, or not."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Say that they are being used, and not trained."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say of all parameters whether their gradients are wanted."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; or, without set_to_none, let them be zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif parameter.grad.grad_fn is not None:
                parameter.grad = parameter.grad.detach() * 0
            else:
                parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    # ------------------------------------------------------------------ changing all of it

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn on every module inside this one, and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put fn(x) in the place of every parameter, gradient and buffer x.

        A parameter stays the object that it is, so an optimizer that knows it need not be
        told.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for _, parameter in self._own_named(PARAMETER):
            if parameter is not None:
                grad = parameter.grad
                parameter.data = fn(parameter.data)
                if grad is not None:
                    grad.data = fn(grad.data)
        for name, buffer in self._own_named(BUFFER):
            if buffer is not None:
                self._register_as(name, BUFFER, fn(buffer))
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Change the type of all numbers: module.to(dtype), .to(device), .to(other_tensor).

        Whole numbers, like a count of batches, keep their type. There is one device.

        Raises TypeError if dtype is no type of real or complex numbers.
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None), kwargs.pop("memory_format", None)
        tensor = kwargs.pop("tensor", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
        for a in args if tensor is None else (*args, tensor):
            if isinstance(a, Tensor):
                dtype = a.dtype
            elif is_device(a):
                device = a
            elif a is not None and not isinstance(a, bool):  # a bool is non_blocking
                dtype = a
        check_device(device)
        if dtype is None:
            return self
        dtype = dtypes.as_dtype(dtype)
        if not dtypes.is_floating(dtype):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._apply(lambda x: x.to(dtype) if dtypes.is_floating(x.dtype) else x)

    def type(self, dst_type: Any) -> Self:
        """Change the type of all numbers, whole ones included."""
        return self._apply(lambda x: x.type(dst_type))

    def float(self) -> Self:
        """All numbers in single precision."""
        return self.to(dtypes.float32)

    def double(self) -> Self:
        """All numbers in double precision."""
        return self.to(dtypes.float64)

    def half(self) -> Self:
        """All numbers in half precision."""
        return self.to(dtypes.float16)

    def cpu(self) -> Self:
        """The module itself: it is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Raises RuntimeError: there is no GPU."""
        return self.to("cuda")

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that other processes can see."""
        return self._apply(lambda x: x.share_memory_())

    # ------------------------------------------------------------------ how it is shown

    def extra_repr(self) -> str:
        """What stands between the parentheses: the settings. A class may give its own."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        settings = extra.split("\n") if extra else []
        inside = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._own_named(MODULE)
        ]
        if not inside and len(settings) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(settings + inside) + "\n)"

    def __dir__(self) -> list[str]:
        # A name that Python could not write, like "0" in a Sequential, is not offered.
        return sorted(k for k in {*dir(type(self)), *self.__dict__} if not k[0].isdigit())
