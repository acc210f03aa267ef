"""Normalization of each example: subtract the mean, divide by the standard deviation, scale and shift.

    LayerNorm           over the last axes
    GroupNorm           over each group of channels
    RMSNorm             like LayerNorm, but without subtracting the mean
        LocalResponseNorm   over neighboring channels

This gives mean 0 and standard deviation 1, whatever the layers before do. With `weight` and
`bias`, the layer can learn another mean and deviation. The result does not depend on other
examples, so it is the same in training and evaluation, unlike in batchnorm.py.
"""

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.batchnorm import _Affine, as_shape
from minigrad.nn.function_layer import FunctionLayer

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LayerNorm(_Affine):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, over the last axes of each example

    input    (..., *normalized_shape)
    weight   normalized_shape    initially ones
    bias     normalized_shape    initially zeros

    elementwise_affine   whether there are weight and bias

    Source: Ba, Kiros and Hinton, Layer Normalization (2016).
    """

    def __init__(
        self,
        normalized_shape: Several,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._scale_and_shift(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings, as they are shown in the text of a model."""
        return self._settings_text("normalized_shape", "eps=", "elementwise_affine=", "bias=")


class GroupNorm(_Affine):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, over groups of channels of each example

    input    (n, num_channels, ...)
    weight   (num_channels,)    initially ones
    bias     (num_channels,)    initially zeros

    Source: Wu and He, Group Normalization (2018).
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._scale_and_shift(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(n, num_channels, ...) to the same shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings, as they are shown in the text of a model."""
        return self._settings_text("num_groups", "num_channels", "eps=", "affine=", "bias=")


class RMSNorm(_Affine):
    """z = x / sqrt(mean of x**2 + eps) * weight, over the last axes of each example

    input    (..., *normalized_shape)
    weight   normalized_shape    initially ones

    eps      None: the machine epsilon of the input's dtype

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019).
    """

    def __init__(
        self,
        normalized_shape: Several,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._scale_and_shift(self.normalized_shape, elementwise_affine, False, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings, as they are shown in the text of a model."""
        return self._settings_text("normalized_shape", "eps=", "elementwise_affine=")


class LocalResponseNorm(FunctionLayer, of=F.local_response_norm):
    """z = x / (k + alpha * mean of x**2 over `size` channels around)**beta

    input    (n, c, ...)

    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep
    Convolutional Neural Networks (2012).
    """

    _shown = ("size", "alpha=", "beta=", "k=")
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
