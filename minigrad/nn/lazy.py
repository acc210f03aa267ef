"""Lazy layers, which infer the number of input features from their first input.

The parameters of a lazy layer have no shape at first. The first call gives them a shape,
initializes them, and turns the layer into an ordinary one:

>>> from minigrad import nn, ones
>>> layer = nn.LazyLinear(3)
>>> layer.weight
<UninitializedParameter>
>>> layer(ones(2, 5)).shape, layer
(minigrad.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
"""

from typing import Any

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.nn.convolution import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from minigrad.nn.functional.arguments import check_batched
from minigrad.nn.linear import Linear
from minigrad.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    InstanceNorm1d,
    InstanceNorm2d,
    _InstanceNorm,
)
from minigrad.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from minigrad.nn.registry import BUFFER, PARAMETER


class LazyModuleMixin:
    """The base class of lazy layers, written before the layer's: `class LazyMLP(LazyModuleMixin, nn.Module)`.

    Before its first call, some parameters or buffers of such a layer have no shape. A hook gives them one:
    it calls `initialize_parameters` with the arguments of the call, and turns the layer into `cls_to_become`.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        layer: Any = self
        self._initialize_hook = layer.register_forward_pre_hook(_initialize, with_kwargs=True)

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer of this layer has no shape yet."""
        own = self._own_named(PARAMETER) + self._own_named(BUFFER)
        return any(is_lazy(tensor) for _, tensor in own)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )


def _initialize(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The hook of the first call."""
    layer.initialize_parameters(*args, **kwargs)
    if layer.has_uninitialized_params():
        raise RuntimeError(f"module {type(layer).__name__} has not been fully initialized")
    layer._initialize_hook.remove()
    del layer._initialize_hook
    if layer.cls_to_become is not None:
        layer.__class__ = layer.cls_to_become


class _Lazy(LazyModuleMixin):
    """The base class of minigrad's lazy layers, which have a weight and a bias, or None instead."""

    weight: Any
    bias: Any

    def _remove_shapes(self) -> None:
        """Replace the parameters by uninitialized ones, which have no shape."""
        for name in ("weight", "bias"):
            p = getattr(self, name)
            if p is not None:
                setattr(self, name, UninitializedParameter(dtype=p.dtype))

    def _materialize(self, *shapes: tuple[int, ...]) -> None:
        """Give weight and bias their shapes, and initialize all parameters."""
        if self.weight is not None and not is_lazy(self.weight):
            return  # their values were loaded
        for p, shape in zip((self.weight, self.bias), shapes, strict=True):
            if p is not None:
                p.materialize(shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters, if they have a shape."""
        if self.weight is None or not is_lazy(self.weight) and self.weight.array.size:
            super().reset_parameters()  # type: ignore[misc]  # the layer's


class LazyLinear(_Lazy, Linear):
    """A Linear layer that infers in_features in its first call."""

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._remove_shapes()

    def initialize_parameters(self, input: Tensor) -> None:
        """Set in_features to the size of the last axis."""
        self.in_features = input.shape[-1]
        self._materialize((self.out_features, self.in_features), (self.out_features,))


class _LazyConv(_Lazy):
    def __init__(self, out_channels: int, kernel_size: Several, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        self.out_channels = out_channels
        self._remove_shapes()

    def initialize_parameters(self: Any, input: Tensor, *sizes: Any, **named_sizes: Any) -> None:
        """Set in_channels to the size of the channel axis."""
        if input.ndim != self.axes + 1:
            check_batched(type(self).__name__, self.axes, input)
        self.in_channels = input.shape[-self.axes - 1]
        self._check()
        self._materialize(self._weight_shape(), (self.out_channels,))


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that infers in_channels in its first call."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that infers in_channels in its first call."""

    cls_to_become = Conv2d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A ConvTranspose1d that infers in_channels in its first call."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A ConvTranspose2d that infers in_channels in its first call."""

    cls_to_become = ConvTranspose2d


class _LazyNorm(_Lazy):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, *args, **kwargs)
        self._remove_shapes()
        layer: Any = self
        if track_running_stats:
            layer.running_mean = UninitializedBuffer(dtype=layer.running_mean.dtype)
            layer.running_var = UninitializedBuffer(dtype=layer.running_var.dtype)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Set num_features to the number of channels."""
        without_batch = (
            issubclass(self.cls_to_become, _InstanceNorm) and input.ndim == self.ndims[0]
        )
        n = self.num_features = input.shape[0 if without_batch else 1]
        for name, start in (("running_mean", 0.0), ("running_var", 1.0)):
            buffer = getattr(self, name)
            if is_lazy(buffer):
                buffer.materialize((n,))
                buffer.fill_(start)
        self._materialize((n,), (n,))


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d that infers num_features in its first call."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d that infers num_features in its first call."""

    cls_to_become = BatchNorm2d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d that infers num_features in its first call. By default, it has weights and statistics."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d that infers num_features in its first call. By default, it has weights and statistics."""

    cls_to_become = InstanceNorm2d
