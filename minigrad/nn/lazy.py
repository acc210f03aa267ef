"""Lazy layers, which take the number of inputs from their first input.

A lazy layer has parameters without a shape. The first call gives them a shape, initializes
them, and turns the layer into an ordinary one:

>>> from minigrad import nn, ones
>>> layer = nn.LazyLinear(3)
>>> layer.weight
<UninitializedParameter>
>>> layer(ones(2, 5)).shape, layer
(minigrad.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
"""

from typing import Any

from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.creation import empty, ones, zeros
from minigrad.nn.batchnorm import BatchNorm1d, BatchNorm2d
from minigrad.nn.convolution import Conv1d, Conv2d
from minigrad.nn.linear import Linear
from minigrad.nn.parameter import Parameter

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyLinear",
    "UninitializedParameter",
]


class UninitializedParameter(Parameter):
    """A parameter that has no shape yet."""

    __slots__ = ()

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, which makes it an ordinary Parameter."""
        self._replace_array(empty(shape, dtype=dtype or self.array.dtype).array)
        self.__class__ = Parameter  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "the model once, with an input, to initialize its parameters."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        z = type(self)(wrap(self.array.copy()), self.requires_grad)
        memo[id(self)] = z
        return z


class _Lazy:
    """The base class of lazy layers, which change their class in the first call."""

    becomes: type
    weight: Any
    bias: Any

    def _wait(self, bias: bool, dtype: Any) -> None:
        """Replace the layer's parameters by parameters without a shape."""
        self.weight = UninitializedParameter(empty(0, dtype=dtype))
        if bias:
            self.bias = UninitializedParameter(empty(0, dtype=dtype))

    def has_uninitialized_params(self) -> bool:
        """True before the first input."""
        return isinstance(self.weight, UninitializedParameter)

    def initialize_parameters(self, input: Tensor) -> None:
        """Set the number of inputs from the input, and initialize the parameters."""
        raise NotImplementedError

    def forward(self, input: Tensor) -> Any:
        self.initialize_parameters(input)
        self.__class__ = self.becomes
        return self.forward(input)


class LazyLinear(_Lazy, Linear):
    """A Linear layer that finds in_features in its first call."""

    becomes = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, bias=False, device=device, dtype=dtype)
        self.out_features = out_features
        self._wait(bias, dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        self.in_features = input.shape[-1]
        self.weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            self.bias.materialize((self.out_features,))
        self.reset_parameters()


class _LazyConv(_Lazy):
    in_channels: int

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        names = (
            "stride",
            "padding",
            "dilation",
            "groups",
            "bias",
            "padding_mode",
            "device",
            "dtype",
        )
        settings = dict(zip(names, args, strict=False)) | kwargs
        bias = settings.pop("bias", True)
        super().__init__(0, 0, kernel_size, bias=False, **settings)  # type: ignore[call-arg]
        self.out_channels = out_channels
        self._wait(bias, settings.get("dtype"))

    def reset_parameters(self) -> None:
        if self.in_channels:
            super().reset_parameters()  # type: ignore[misc]  # the convolution's

    def initialize_parameters(self, input: Tensor) -> None:
        layer: Any = self
        if input.ndim not in (layer.axes + 1, layer.axes + 2):
            raise RuntimeError(
                f"Expected {layer.axes + 1}D (unbatched) or {layer.axes + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        layer.in_channels = input.shape[-layer.axes - 1]
        layer._check()
        self.weight.materialize(layer._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        layer.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that finds in_channels in its first call."""

    becomes = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that finds in_channels in its first call."""

    becomes = Conv2d


class _LazyBatchNorm(_Lazy):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)  # type: ignore[call-arg]
        layer: Any = self
        if layer.affine:
            self._wait(True, kwargs.get("dtype"))

    def initialize_parameters(self, input: Tensor) -> None:
        layer: Any = self
        n = layer.num_features = input.shape[1]
        for p in (self.weight, self.bias) if layer.affine else ():
            p.materialize((n,))
        if layer.track_running_stats:
            layer.running_mean, layer.running_var = zeros(n), ones(n)
        layer.reset_parameters()


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """A BatchNorm1d that finds num_features in its first call."""

    becomes = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """A BatchNorm2d that finds num_features in its first call."""

    becomes = BatchNorm2d
