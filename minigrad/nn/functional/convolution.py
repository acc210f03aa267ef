"""Convolutions: a small kernel that slides over the input.

There is one op, for images. A 1-d signal is treated as an image with one row. The forward pass of
a transposed convolution is the backward pass of a convolution.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor, wrap
from minigrad.nn.functional.arguments import (
    check_batched,
    check_not_negative,
    check_steps,
    for_axes,
    several,
)
from minigrad.ops.composites import named

Sizes = tuple[int, ...]


def _conv(
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Several = 1,
    padding: Several | str = 0,
    dilation: Several = 1,
    groups: int = 1,
) -> Tensor:
    """For each window and each kernel, the sum of their products (a cross-correlation).

    conv2d is for images, and conv1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (o, c / groups, kh, kw)  or (o, c / groups, k)
    bias      (o,)          or None
    padding   the number of zeros around the input: one number, or one for each axis;
              "valid": none; "same": as many as needed to keep the size
    returns   (n, o, h', w')   where h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016).

    >>> conv2d(minigrad.ones(1, 1, 3, 3), minigrad.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    >>> conv1d(minigrad.tensor([[[1.0, 2.0, 3.0, 4.0]]]), minigrad.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 1., 1.]]])
    """
    if input.ndim == axes + 1:  # one example, without the batch axis
        args = (weight, bias, stride, padding, dilation, groups)
        return _conv(axes, input.unsqueeze(0), *args).squeeze(0)
    x, w, b = input, weight, bias
    check_batched(f"conv{axes}d", axes, x)
    stride, dilation = several(stride, axes, "stride"), several(dilation, axes, "dilation")
    check_steps(stride=stride, dilation=dilation)
    _check_kernels(axes, x, w, b, groups)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.array.shape[2:], strict=True)]
    widths = _pad_widths(padding, stride, reach, x.array.shape[2:])
    if axes == 1:
        x, w = x.unsqueeze(2), w.unsqueeze(2)
        stride, dilation, widths = (1, *stride), (1, *dilation), [(0, 0), *widths]
    if b is None:
        b = wrap(np.zeros(0, x.array.dtype))
    z: Tensor = ops.convolution.apply(
        x, w, b, stride=stride, padding=(*widths[0], *widths[1]), dilation=dilation, groups=groups
    )
    return _drop_row_axis(z) if axes == 1 else z


conv1d, conv2d = for_axes(_conv)


def _drop_row_axis(z: Tensor) -> Tensor:
    """The result of conv1d (n, o, l), from the result of the op for images (n, o, 1, l)."""
    n, o, _, width = z.array.shape
    return named(ops.unsafe_view.apply(z, shape=(n, o, width)), "ConvolutionBackward0")


def _check_kernels(axes: int, x: Tensor, w: Tensor, b: Tensor | None, groups: int) -> None:
    """Raise an error unless the shapes of weight and bias match the input of a convolution."""
    _check_weight_axes(axes, w)
    if 0 in w.array.shape[2:]:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got {list(w.array.shape[2:])}"
        )
    if groups <= 0:
        raise RuntimeError(f"non-positive groups is not supported, but got groups={groups}")
    if w.array.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and "
            f"divisible by it, but got weight of size {list(w.array.shape)} instead"
        )
    if x.array.shape[1] != w.array.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{w.shape[1] * groups} channels, but got {x.shape[1]} channels instead. To fix it, make the layer "
            f"with in_channels={x.shape[1]}, or give it images of shape (batch, channels, height, width)."
        )
    _check_bias(w, b, w.array.shape[0])


def _check_weight_axes(axes: int, w: Tensor) -> None:
    if w.ndim != axes + 2:
        raise RuntimeError(
            f"weight should have {axes + 2} dimensions, but it has {w.ndim}: {list(w.array.shape)}"
        )


def _check_bias(w: Tensor, b: Tensor | None, channels: int) -> None:
    if b is not None and b.array.shape != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(w.array.shape)}, expected bias to be 1-dimensional with "
            f"{channels} elements, but got bias of size {list(b.array.shape)} instead"
        )


def _pad_widths(
    padding: Any, stride: tuple[int, ...], reach: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, int]]:
    """The padding (before, after) of each axis. `reach` is the extent of a window, including dilation."""
    if padding == "same":
        if max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        return [((n - 1) // 2, n // 2) for n in reach]
    if isinstance(padding, str) and padding != "valid":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    amounts = several(0 if padding == "valid" else padding, len(reach), "padding")
    check_not_negative(padding=amounts)
    padded = [n + 2 * p for n, p in zip(sizes, amounts, strict=True)]
    if any(n < r for n, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    return [(n, n) for n in amounts]


def _conv_transpose(
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Several = 1,
    padding: Several = 0,
    output_padding: Several = 0,
    groups: int = 1,
    dilation: Several = 1,
) -> Tensor:
    """The adjoint of the convolution: each entry, times each kernel, is added to a window of the result.

    conv_transpose2d is for images, and conv_transpose1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (c, o / groups, kh, kw)  or (c, o / groups, k)
    bias      (o,)          or None
    padding   the padding of the corresponding convolution, which is cut off here
    returns   (n, o, h', w')   where
              h' = (h - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016), chapter 4.

    >>> conv_transpose2d(minigrad.ones(1, 1, 2, 2), minigrad.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    >>> conv_transpose1d(minigrad.tensor([[[1.0, 2.0]]]), minigrad.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    if input.ndim == axes + 1:
        args = (weight, bias, stride, padding, output_padding, groups, dilation)
        return _conv_transpose(axes, input.unsqueeze(0), *args).squeeze(0)
    x, w = input, weight
    check_batched(f"conv_transpose{axes}d", axes, x)
    stride, dilation = several(stride, axes, "stride"), several(dilation, axes, "dilation")
    amounts = several(padding, axes, "padding"), several(output_padding, axes, "output_padding")
    widths, rest, sizes = _transposed_sizes(x, w, bias, stride, *amounts, groups, dilation)
    if axes == 1:
        x, w, sizes, rest = x.unsqueeze(2), w.unsqueeze(2), [1, *sizes], [0, *rest]
        stride, dilation, widths = (1, *stride), (1, *dilation), [(0, 0), *widths]
    shape, cut = (x.array.shape[0], w.array.shape[1] * groups, *sizes), (*widths[0], *widths[1])
    z: Tensor = ops.convolution_dx.apply(
        x, w, shape=shape, stride=stride, padding=cut, dilation=dilation, groups=groups
    )
    if any(rest):
        z = ops.constant_pad_nd.apply(z, widths=((0, 0), (0, 0), (0, rest[0]), (0, rest[1])))
    z = z if bias is None else z + bias.view(-1, 1, 1)
    return _drop_row_axis(z) if axes == 1 else named(z, "ConvolutionBackward0")


conv_transpose1d, conv_transpose2d = for_axes(_conv_transpose)


def _transposed_sizes(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    more: Sizes,
    groups: int,
    dilation: Sizes,
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """For each axis: what padding cuts off (before, after), the zeros to add at the end, and the size before.

    `more` is output_padding.
    """
    check_steps(stride=stride, dilation=dilation)
    check_not_negative(padding=padding, output_padding=more)
    _check_weight_axes(x.ndim - 2, w)
    if x.array.shape[1] != w.array.shape[0] or groups <= 0 or w.array.shape[0] % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.array.shape)}, expected input{list(x.array.shape)} to have "
            f"{w.array.shape[0]} channels, but got {x.array.shape[1]} channels instead"
        )
    _check_bias(w, b, w.array.shape[1] * groups)
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: "
            f"{list(more)}, stride: {list(stride)}, dilation: {list(dilation)}"
        )
    # output_padding reduces what padding cuts off at the end. If it is larger, zeros are added.
    widths = [(p, max(p - m, 0)) for p, m in zip(padding, more, strict=True)]
    rest = [max(m - p, 0) for p, m in zip(padding, more, strict=True)]
    each = zip(x.array.shape[2:], w.array.shape[2:], stride, dilation, widths, strict=True)
    sizes = [(n - 1) * s + d * (k - 1) + 1 - sum(m) for n, k, s, d, m in each]
    whole = [n + m for n, m in zip(sizes, rest, strict=True)]
    if min(whole) < 1:
        raise RuntimeError(
            f"Given input size per channel: {list(x.array.shape[2:])}. Calculated output size per channel: "
            f"{whole}. Output size is too small"
        )
    return widths, rest, sizes
