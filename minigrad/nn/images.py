"""Modules for padding, resizing and windows of images. They have no parameters."""

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.convolution import each_axis
from minigrad.nn.module import Module

# ------------------------------------------------------------------------ padding


class _Pad(Module):
    """Padding on the last axes.

    padding   (left, right), or (left, right, top, bottom), or one number for all sides
    """

    axes: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = each_axis(padding, 2 * self.axes)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad a sequence with a constant value."""

    axes = 1


class ConstantPad2d(_ConstantPad):
    """Pad an image with a constant value."""

    axes = 2


class ZeroPad1d(_Pad):
    """Pad a sequence with zeros."""

    axes, mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Pad an image with zeros.

    >>> from minigrad import ones
    >>> ZeroPad2d((1, 1, 0, 0))(ones(1, 1, 1, 2))
    tensor([[[[0., 1., 1., 0.]]]])
    """

    axes, mode = 2, "constant"


class ReflectionPad1d(_Pad):
    """Pad a sequence with its entries mirrored at the ends."""

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad an image with its entries mirrored at the edges."""

    axes, mode = 2, "reflect"


class ReplicationPad1d(_Pad):
    """Pad a sequence by repeating its end entries."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad an image by repeating its edge entries."""

    axes, mode = 2, "replicate"


class CircularPad1d(_Pad):
    """Pad a sequence with the entries from its other end."""

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pad an image with the entries from its other side."""

    axes, mode = 2, "circular"


# ------------------------------------------------------------------------ resizing


class Upsample(Module):
    """Resize a sequence or an image.

    input          (n, c, l) or (n, c, h, w)
    size           the new size; or
    scale_factor   the factor by which to enlarge it
    mode           "nearest", "linear" (for sequences), "bilinear", ...: see F.interpolate
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode = size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)  # fmt: skip

    def extra_repr(self) -> str:
        how = f"size={self.size!r}"
        if self.scale_factor is not None:
            how = f"scale_factor={self.scale_factor!r}"
        return f"{how}, mode={self.mode!r}"


class PixelShuffle(Module):
    """(n, c * r * r, h, w) to (n, c, h * r, w * r): channels become rows and columns.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution (2016).
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of PixelShuffle."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels in a new order: one from each of `groups` groups in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


# ------------------------------------------------------------------------ windows


class Unfold(Module):
    """The windows of an image as columns, which turns a convolution into a matrix product.

    input     (n, c, h, w)
    returns   (n, c * kh * kw, number of windows)
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Unfold):
    """Columns as windows of an image, added where windows overlap.

    input     (n, c * kh * kw, number of windows)
    returns   (n, c, *output_size)
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding,
                      self.stride)  # fmt: skip

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
