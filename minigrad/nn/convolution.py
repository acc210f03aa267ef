"""Convolutions: the same small linear layer applied at every position.

Each output is a weighted sum over a window of the input. The weights, called the *kernel*, are
the same for every window. So a pattern that is learned at one position is recognized at all
positions, and there are few parameters.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.linear import _Weighted, add_parameters

PADDINGS = ("same", "valid")
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def each_axis(value: Any, axes: int) -> tuple[int, ...]:
    """3 -> (3, 3): one number for each axis."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes


class _ConvNd(_Weighted):
    """The base class of convolutions, with PyTorch's arguments, for programs that derive from it."""

    axes: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: Several,
        padding: Several | str,
        dilation: Several,
        transposed: bool,
        output_padding: Several,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = kernel_size
        self.axes = axes = getattr(type(self), "axes", len(kernel_size))
        self.stride = each_axis(stride, axes)
        self.padding: Any = padding if isinstance(padding, str) else each_axis(padding, axes)
        self.dilation = each_axis(dilation, axes)
        self.transposed, self.output_padding = transposed, each_axis(output_padding, axes)
        self.padding_mode = padding_mode
        self._check()
        of_bias = (out_channels,) if bias else None
        add_parameters(self, device, dtype, weight=self._weight_shape(), bias=of_bias)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = self.out_channels, self.in_channels
        first, second = reversed(channels) if self.transposed else channels
        return (first, second // self.groups, *self.kernel_size)

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str) and self.padding not in PADDINGS:
            raise ValueError(
                f"Invalid padding string {self.padding!r}, should be one of {PADDINGS}"
            )
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{self.padding_mode}'"
            )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight, for subclasses that compute theirs from `self.weight`."""
        padding = self.padding
        if self.padding_mode != "zeros":
            widths = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, widths, mode=self.padding_mode), 0
        convolve = F.conv1d if self.axes == 1 else F.conv2d
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """(before, after) for each axis, the last axis first, as F.pad takes them."""
        margins = []
        for k in reversed(range(self.axes)):
            if self.padding == "same":
                total = self.dilation[k] * (self.kernel_size[k] - 1)
                margins += [total // 2, total - total // 2]
            else:
                margins += [0, 0] if self.padding == "valid" else [self.padding[k]] * 2
        return margins

    def extra_repr(self) -> str:
        """The channels and kernel size, and the settings that differ from the defaults."""
        zeros, ones = each_axis(0, self.axes), each_axis(1, self.axes)
        return self._settings_text(
            "in_channels", "out_channels", "kernel_size=", "stride=", padding=zeros, dilation=ones,
            output_padding=zeros, groups=1, bias=True, padding_mode="zeros",
        )  # fmt: skip


class _Conv(_ConvNd):
    """The base class of Conv1d and Conv2d."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Several,
        stride: Several = 1,
        padding: Several | str = 0,
        dilation: Several = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, self.axes), stride, padding, dilation, False,
                         0, groups, bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """(n, in_channels, ...) to (n, out_channels, ...)."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """The convolution of a sequence; see Conv2d.

    input     (n, in_channels, l)            or without n
    returns   (n, out_channels, l')          l' is computed like h' in Conv2d
    weight    (out_channels, in_channels / groups, k)
    """

    axes = 1


class Conv2d(_Conv):
    """z[o, i, j] = bias[o] + sum over c, a, b of weight[o, c, a, b] * x[c, i + a, j + b]

    input     (n, in_channels, h, w)         or without n
    returns   (n, out_channels, h', w')
              h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    weight    (out_channels, in_channels / groups, kh, kw)
    bias      (out_channels,)                None with bias=False

    stride         the distance between windows
    padding        the width of the padding around the input; "same": as wide as needed to keep
                   the size; "valid": none
    dilation       the distance between the entries of a window
    groups         split the channels into this number of independent groups
    padding_mode   how to fill the padding: "zeros", "reflect", "replicate", "circular"

    Initialized uniformly between -1/sqrt(n) and 1/sqrt(n), where n is the number of entries
    in a window.

    >>> from minigrad import ones
    >>> Conv2d(3, 8, kernel_size=5, padding=2)(ones(1, 3, 32, 32)).shape
    minigrad.Size([1, 8, 32, 32])

    Source: LeCun et al., Gradient-based learning applied to document recognition (1998).
    """

    axes = 2


class _ConvTransposeNd(_ConvNd):
    """The base class of transposed convolutions, with PyTorch's arguments, for programs that derive from it."""

    def _check(self) -> None:
        if self.padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super()._check()

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> list[int]:
        """The difference between the requested and the smallest possible output size, for each axis."""
        axes = num_spatial_dims
        if output_size is None:
            return list(self.output_padding)
        sizes = list(output_size)[-axes:]
        if len(output_size) not in (axes, input.ndim):
            raise ValueError(
                f"ConvTranspose{axes}D: for {input.ndim}D input, output_size must have {axes} or "
                f"{input.ndim} elements (got {len(output_size)})"
            )
        of_axes = (input.shape[-axes:], stride, padding, dilation or [1] * axes, kernel_size)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(*of_axes)]
        most = [n + s - 1 for n, s in zip(least, stride)]
        if any(not low <= n <= high for low, n, high in zip(least, sizes, most)):
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.shape[2:]})"
            )
        return [n - low for n, low in zip(sizes, least)]


class _ConvTranspose(_ConvTransposeNd):
    """The base class of ConvTranspose1d and ConvTranspose2d."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Several,
        stride: Several = 1,
        padding: Several = 0,
        output_padding: Several = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Several = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, self.axes), stride, padding, dilation, True,
                         output_padding, groups, bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """(n, in_channels, ...) to (n, out_channels, ...)."""
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size,
                                     self.axes, self.dilation)  # fmt: skip
        transposed = F.conv_transpose1d if self.axes == 1 else F.conv_transpose2d
        return transposed(input, self.weight, self.bias, self.stride, self.padding, extra,
                          self.groups, self.dilation)  # fmt: skip


class ConvTranspose1d(_ConvTranspose):
    """ConvTranspose2d for sequences: (n, in_channels, l), or without n."""

    axes = 1


class ConvTranspose2d(_ConvTranspose):
    """The adjoint of Conv2d: each entry, times the kernel, is added to a window of the result.

    input     (n, in_channels, h, w)         or without n
    returns   (n, out_channels, h', w')
              h' = (h - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1
    weight    (in_channels, out_channels / groups, kh, kw)

    output_padding   additional size of the result on one side. With stride > 1, Conv2d maps
                     several input sizes to the same output size, and this selects one of
                     them. You can also pass output_size in the call

    Source: Zeiler et al., Deconvolutional Networks (2010).
    """

    axes = 2
