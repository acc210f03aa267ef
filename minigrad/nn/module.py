"""Module: a part of a neural network, with its parameters and its computation.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(2, 8)
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            return self.out(self.hidden(x).tanh())

A module has four parts, each in its own file: it lists its parameters and submodules
(registry.py), it can be called (calling.py), it can be saved and loaded (state.py), and, in
this file, it can be changed and printed as a whole.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from minigrad.core import dtypes
from minigrad.core.devices import DeviceLike, check_device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.modes import no_grad, reports
from minigrad.core.naming import one_for_users
from minigrad.core.tensor import Tensor
from minigrad.methods.base import destination
from minigrad.nn.calling import Called
from minigrad.nn.parameter import clear_gradients, is_lazy, with_no_entries
from minigrad.nn.registry import BUFFER, MODULE, PARAMETER, Registry
from minigrad.nn.state import Stateful


class Module(Stateful, Called):
    """The base class of all modules. Your own class defines `__init__` and `forward`.

    In `__init__`, first call `super().__init__()`, and then assign the parameters and
    submodules. `forward` does the computation. To use the module, call it: `module(x)`.

    training   whether it is in training mode (dropout is active, batch norm uses the batch)

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

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if cls.__module__.startswith("minigrad."):
            return
        # activation = minigrad.tanh  in a class: called as self.activation(x), it gets no self, like a built-in one.
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and str(value.__module__).startswith("minigrad."):
                if "<locals>" not in value.__qualname__:  # vmap(f) is a method
                    setattr(cls, name, staticmethod(value))

    def __init__(self, *args: object, **kwargs: object) -> None:
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
        object.__setattr__(self, "training", True)  # not by a __setattr__ of the class
        if self.call_super_init:
            super(Registry, self).__init__(*args, **kwargs)  # the next class in the MRO

    # ------------------------------------------------------------------ training and evaluation

    def train(self, mode: bool = True) -> Self:
        """Set this module and all modules inside it to training mode, or to evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all modules inside it to evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @reports("zero_grad")
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None or, without set_to_none, to zeros."""
        clear_gradients(self.parameters(), set_to_none)

    def compile(self, *args: object, **kwargs: object) -> None:
        """Accepted but has no effect, like `minigrad.compile`."""

    # ------------------------------------------------------------------ changing all parameters

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn on every module inside this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer x by fn(x).

        Parameters remain the same objects, so an optimizer that holds them keeps working.
        """

        def replace(x: Tensor) -> None:
            x.data = fn(x)

        if recurse:
            for module in self.children():
                module._apply(fn)
        for _, parameter in self._own_named(PARAMETER):
            if parameter is not None:
                with no_grad():  # fn may write in place
                    grad = parameter.grad
                    with_no_entries(parameter, replace)
                    if grad is not None:
                        replace(grad)
        for name, buffer in self._own_named(BUFFER):
            if is_lazy(buffer):
                with_no_entries(buffer, replace)
            elif buffer is not None:
                self._register_as(name, BUFFER, fn(buffer))
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert all parameters and buffers: module.to(dtype), .to(device), .to(other_tensor).

        Integer tensors, such as num_batches_tracked, keep their dtype. There is only one device.

        Raises TypeError unless dtype is floating point or complex.
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None), kwargs.pop("memory_format", None)
        copy, tensor = kwargs.pop("copy", False), kwargs.pop("tensor", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
        device, dtype, copy = destination(
            args if tensor is None else (*args, tensor), device, dtype, copy
        )
        check_device(device)
        if copy:
            raise RuntimeError(
                ".to() does not accept copy argument. To fix it, use copy.deepcopy(module)."
            )
        if dtype is None:
            return self
        dtype = dtypes.as_dtype(dtype)
        if not dtypes.is_floating(dtype):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._apply(lambda x: x.to(dtype) if dtypes.is_floating(x.dtype) else x)

    def type(self, dst_type: DTypeLike) -> Self:
        """Convert all parameters and buffers to this dtype, including integers."""
        return self._apply(lambda x: x.type(dst_type))

    def float(self) -> Self:
        """Convert all float parameters and buffers to single precision."""
        return Module.to(self, dtypes.float32)

    def double(self) -> Self:
        """Convert all float parameters and buffers to double precision."""
        return Module.to(self, dtypes.float64)

    def half(self) -> Self:
        """Convert all float parameters and buffers to half precision."""
        return Module.to(self, dtypes.float16)

    def cpu(self) -> Self:
        """The module itself, since it is already on the CPU."""
        return self

    def cuda(self, device: DeviceLike = None) -> Self:
        """Raises RuntimeError: there is no GPU."""
        return Module.to(self, "cuda")

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """The module itself. In PyTorch, this allocates memory for a module on the device "meta"."""
        check_device(device)
        return self

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory shared with other processes."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    # ------------------------------------------------------------------ printing

    # For the repr: attributes that are always shown, and those that are shown if they differ from this default.
    _shown: tuple[str, ...] | None = ()
    _shown_if_not: dict[str, Any] = {}

    def extra_repr(self) -> str:
        """The settings, as shown in the repr of a model. A class can define its own."""
        return self._settings_text(*self._shown or (), **self._shown_if_not)

    def _settings_text(self, *always: str, **usual: object) -> str:
        """The text of settings, for extra_repr: "3, 8, kernel_size=(5, 5), bias=False".

        always   the attributes to show; with a "=" at the end, the name is shown too
        usual    attribute=default: show the attribute only if it differs from the default

        A bias is shown as True or False.
        """
        values = {name: getattr(self, name.rstrip("=")) for name in (*always, *usual)}
        for name in ("bias", "bias="):
            if name in values and not isinstance(values[name], bool):
                values[name] = values[name] is not None
        parts = []
        for name, value in values.items():
            if name not in usual:
                shown = repr(value) if isinstance(value, str) else f"{value}"
                parts.append(name + shown if name.endswith("=") else shown)
            elif value != usual[name]:
                parts.append(f"{name}={value}")
        return ", ".join(parts)

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
        # Names that are not Python identifiers, like "0" in a Sequential, are left out.
        return sorted(k for k in {*dir(type(self)), *self.__dict__} if k.isidentifier())


class ScriptModule(Module):
    """`jit.ScriptModule`. It is an ordinary Module; programs ask whether a module is one of these."""


one_for_users(Module)  # who sees <generator object Module.parameters>, as in PyTorch
