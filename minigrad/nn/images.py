"""Layers that pad, resize and reshape images, or extract their windows. They have no parameters."""

from collections.abc import Sequence
from typing import Any

from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.convolution import each_axis
from minigrad.nn.function_layer import FunctionLayer

# ------------------------------------------------------------------------ padding


class _Pad(FunctionLayer, of=F.pad):
    """Padding on the last axes.

    padding   (left, right), or (left, right, top, bottom), or one number for all sides
    """

    _shown = ("padding",)
    _renamed = {"pad": "padding"}
    axes = 1
    mode = "constant"
    padding: Any

    def _keep(self, *, padding: Any = None, **arguments: Any) -> None:
        super()._keep(padding=each_axis(padding, 2 * self.axes), **arguments)


class _ConstantPad(_Pad, of=F.pad):
    _shown = ("padding=", "value=")  # type: ignore[assignment]  # two instead of one
    value: float


class ConstantPad1d(_ConstantPad):
    """Pad a sequence with a constant value."""


class ConstantPad2d(_ConstantPad):
    """Pad an image with a constant value."""

    axes = 2


class ZeroPad1d(_Pad):
    """Pad a sequence with zeros."""


class ZeroPad2d(_Pad):
    """Pad an image with zeros.

    >>> from minigrad import ones
    >>> ZeroPad2d((1, 1, 0, 0))(ones(1, 1, 1, 2))
    tensor([[[[0., 1., 1., 0.]]]])
    """

    axes = 2


class ReflectionPad1d(_Pad):
    """Pad a sequence with its entries mirrored at the ends."""

    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pad an image with its entries mirrored at the edges."""

    axes = 2
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pad a sequence by repeating its end entries."""

    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pad an image by repeating its edge entries."""

    axes = 2
    mode = "replicate"


class CircularPad1d(_Pad):
    """Pad a sequence with the entries from its other end."""

    mode = "circular"


class CircularPad2d(_Pad):
    """Pad an image with the entries from its other side."""

    axes = 2
    mode = "circular"


# ------------------------------------------------------------------------ resizing


class Upsample(FunctionLayer, of=F.interpolate):
    """Resize a sequence or an image.

    input          (n, c, l) or (n, c, h, w)
    size           the new size; or
    scale_factor   the factor by which to enlarge it
    mode           "nearest", "linear" (for sequences), "bilinear", ...: see F.interpolate
    """

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def _keep(self, *, scale_factor: Any = None, **arguments: Any) -> None:
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor) or None
        super()._keep(scale_factor=scale_factor, **arguments)

    def extra_repr(self) -> str:
        """The size, or the factor, and the mode."""
        size = "size=" if self.scale_factor is None else "scale_factor="
        return self._settings_text(size, "mode=")


class UpsamplingNearest2d(Upsample):
    """Upsample(mode="nearest")"""

    def __init__(
        self, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample(mode="bilinear", align_corners=True)"""

    def __init__(
        self, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(FunctionLayer, of=F.pixel_shuffle):
    """(n, c * r * r, h, w) to (n, c, h * r, w * r): channels become rows and columns.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution (2016).
    """

    upscale_factor: int


class PixelUnshuffle(FunctionLayer, of=F.pixel_unshuffle):
    """The inverse of PixelShuffle."""

    downscale_factor: int


class ChannelShuffle(FunctionLayer, of=F.channel_shuffle):
    """Reorder the channels: take one from each of `groups` groups in turn."""

    groups: int


# ------------------------------------------------------------------------ windows


class Unfold(FunctionLayer, of=F.unfold):
    """The windows of an image as columns, which turns a convolution into a matrix product.

    input     (n, c, h, w)
    returns   (n, c * kh * kw, number of windows)
    """

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Fold(FunctionLayer, of=F.fold):
    """The adjoint of Unfold: write columns to the windows of an image, and add them where windows overlap.

    input     (n, c * kh * kw, number of windows)
    returns   (n, c, *output_size)
    """

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


# ------------------------------------------------------------------------ shapes


class Flatten(FunctionLayer, of=None):
    """Merge the axes from start_dim to end_dim into one.

    input     (n, c, h, w)
    returns   (n, c * h * w)
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        """(..., a, ..., b, ...) to (..., a * ... * b, ...)."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(FunctionLayer, of=None):
    """Split one axis into several.

    >>> from minigrad import ones
    >>> Unflatten(1, (2, 3))(ones(4, 6)).shape
    minigrad.Size([4, 2, 3])
    """

    dim: int
    unflattened_size: Any

    def forward(self, input: Tensor) -> Tensor:
        """(..., n, ...) to (..., *unflattened_size, ...)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def _check(self) -> None:
        unflattened_size = self.unflattened_size
        if not isinstance(self.dim, int):
            raise TypeError(f"dim must be int, but found type {type(self.dim).__name__}")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for k, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {k}"
                )
