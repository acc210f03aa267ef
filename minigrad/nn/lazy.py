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
from minigrad.methods.creation import empty
from minigrad.nn.convolution import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from minigrad.nn.functional.arguments import check_batched
from minigrad.nn.linear import Linear
from minigrad.nn.normalization import BatchNorm1d, BatchNorm2d
from minigrad.nn.parameter import UninitializedBuffer, UninitializedParameter


class _Lazy:
    """The base class of lazy layers, which change their class in the first call.

    Before it, the layer has 0 input features, and its parameters have no shape.
    """

    cls_to_become: type
    weight: Any
    bias: Any

    def _remove_shapes(self) -> None:
        """Replace the parameters by uninitialized ones, which have no shape."""
        for name in ("weight", "bias"):
            p = getattr(self, name)
            if p is not None:
                setattr(self, name, UninitializedParameter(empty(0, dtype=p.dtype)))

    def _materialize(self, *shapes: tuple[int, ...]) -> None:
        """Give weight and bias their shapes, and initialize all parameters."""
        if self.weight is not None and not self.has_uninitialized_params():
            return  # their values were loaded
        for p, shape in zip((self.weight, self.bias), shapes, strict=True):
            if p is not None:
                p.materialize(shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters, if they have a shape."""
        if self.weight is None or self.weight.array.size:
            super().reset_parameters()  # type: ignore[misc]  # the layer's

    def has_uninitialized_params(self) -> bool:
        """True before the first input."""
        return isinstance(self.weight, UninitializedParameter)

    def initialize_parameters(self, input: Tensor) -> None:
        """Infer the number of input features from the input, and initialize the parameters."""
        raise NotImplementedError

    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Initialize the parameters for this input, become the ordinary layer, and call it."""
        self.initialize_parameters(input)
        self.__class__ = self.cls_to_become
        return self.forward(input, *args, **kwargs)


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
        super().__init__(0, 0, kernel_size, *args, **kwargs)  # type: ignore[call-arg]
        self.out_channels = out_channels
        self._remove_shapes()

    def initialize_parameters(self: Any, input: Tensor) -> None:
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


class _LazyBatchNorm(_Lazy):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)  # type: ignore[call-arg]
        self._remove_shapes()
        layer: Any = self
        if layer.track_running_stats:
            layer.running_mean = UninitializedBuffer(layer.running_mean)
            layer.running_var = UninitializedBuffer(layer.running_var)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Set num_features to the number of channels."""
        n = self.num_features = input.shape[1]
        for name, start in (("running_mean", 0.0), ("running_var", 1.0)):
            buffer = getattr(self, name)
            if buffer is not None and not buffer.array.size:
                setattr(self, name, buffer.new_full((n,), start))
        self._materialize((n,), (n,))


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """A BatchNorm1d that infers num_features in its first call."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """A BatchNorm2d that infers num_features in its first call."""

    cls_to_become = BatchNorm2d
