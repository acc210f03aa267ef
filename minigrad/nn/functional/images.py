"""Functions for images: pad, unfold, fold, pixel_shuffle.

`unfold` reads windows, and `fold` adds them up. They are adjoint: each one is the other's derivative rule.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.shapes import Array, Several, as_ints
from minigrad.core.tensor import Tensor
from minigrad.nn.functional.arguments import check_not_negative, check_steps, floats_only, several
from minigrad.ops.composites import named

# NumPy's names for the modes, for np.pad.
NUMPY_MODES: Any = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """The input with padding on the last axes: `pad` is (before, after) for the last axis, then for
    the one before it, and so on.

    mode   "constant": `value`, or 0;  "reflect": mirrored at the last entry;
           "replicate": the last entry;  "circular": the entries from the other end

    >>> import minigrad
    >>> pad(minigrad.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    pad, shape = as_ints(pad, "pad"), input.array.shape
    widths = _widths(shape, pad, mode)
    if mode == "constant":
        return ops.constant_pad_nd.apply(input, widths=widths, value=value or 0)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in NUMPY_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    axes = len(pad) // 2
    if any(pad):
        index = _padded_indices(mode, shape, widths, axes)
        z: Tensor = ops.index_select.apply(input, index=index, axis=len(shape) - axes)
    else:
        z = input.clone()  # programs write to what they have padded
    if mode == "circular":
        return z
    name = "Reflection" if mode == "reflect" else "Replication"
    return named(z, f"{name}Pad{axes}DBackward0")


Widths = tuple[tuple[int, int], ...]  # (before, after) for each axis


@lru_cache(maxsize=256)
def _widths(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> Widths:
    """The padding of each axis of an input of this shape, in the order of the axes."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(shape)}"
        )
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    widths = tuple([(0, 0)] * (len(shape) - len(pairs)) + pairs[::-1])
    if mode in NUMPY_MODES and len(pairs) not in (len(shape) - 1, len(shape) - 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor. To fix it, with "
            f'mode="{mode}" give a padding for all axes but the batch and the channels.'
        )
    sizes = [n + a + b for n, (a, b) in zip(shape, widths, strict=True)]
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"The input size {list(shape)}, plus negative padding {list(pad)}, resulted in a negative output size."
        )
    return widths


@lru_cache(maxsize=16)
def _padded_indices(mode: str, shape: tuple[int, ...], widths: Widths, axes: int) -> Array:
    """For each entry of a padded input, the index of an entry of the input, with its last axes flattened.

    Negative padding crops the input. The array is cached: do not write to it.
    """
    places, first = [], len(shape) - axes
    for axis, (n, (a, b)) in enumerate(zip(shape, widths, strict=True)):
        if mode == "reflect" and (a or b) and max(a, b) >= n:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({a}, {b}) at dimension {axis} of input {list(shape)}"
            )
        if mode != "circular" and 0 in shape[first - 1 :]:
            raise RuntimeError(
                "Expected a tensor with possibly 0 batch size and other non-zero dimensions for input, "
                f"but got: {list(shape)}"
            )
        if mode != "circular" and (a or b) and n + a + b < 1:
            raise RuntimeError(
                f"input {list(shape)} is too small. Calculated output size at dimension {axis}: {n + a + b}"
            )
        if mode == "circular" and max(a, b) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        margins, kept = (max(a, 0), max(b, 0)), slice(max(-a, 0), n - max(-b, 0))
        if mode == "circular":  # crop first, then wrap around the remaining entries
            places.append(np.pad(np.arange(n)[kept], margins, NUMPY_MODES[mode]))
        else:
            padded = np.pad(np.arange(n), margins, NUMPY_MODES[mode])
            places.append(padded[kept.start : len(padded) - max(-b, 0)])
    return np.ravel_multi_index(np.ix_(*places[first:]), shape[first:])


# ------------------------------------------------------------------------ windows as columns


def unfold(
    input: Tensor,
    kernel_size: Several,
    dilation: Several = 1,
    padding: Several = 0,
    stride: Several = 1,
) -> Tensor:
    """Extract the windows of an image as columns (im2col). A convolution is a matrix product with them.

    input     (n, c, h, w)  or (c, h, w)
    returns   (n, c * kh * kw, number of windows)
    """
    if input.ndim == 3:
        z = unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
        return named(z, "Im2ColBackward0")
    if input.ndim != 4:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor for input, but got: {list(input.shape)}"
        )
    if 0 in input.shape[1:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    if input.array.dtype != np.bool_:
        floats_only("im2col", input)
    kwargs, _ = _windows(input.array.shape[2:], kernel_size, dilation, padding, stride)
    return ops.im2col.apply(input, **kwargs)


def fold(
    input: Tensor,
    output_size: Several,
    kernel_size: Several,
    dilation: Several = 1,
    padding: Several = 0,
    stride: Several = 1,
) -> Tensor:
    """Add each column to its window of an image (col2im): the adjoint of unfold.

    input     (n, c * kh * kw, number of windows)  or without n
    returns   (n, c, *output_size)
    """
    if input.ndim == 2:
        args = (kernel_size, dilation, padding, stride)
        return named(fold(input.unsqueeze(0), output_size, *args).squeeze(0), "Col2ImBackward0")
    if input.ndim != 3:
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input, but got: {list(input.shape)}"
        )
    if input.array.dtype != np.bool_:
        floats_only("col2im", input)
    height, width = several(output_size, 2, "output_size")
    settings, counts = _windows((height, width), kernel_size, dilation, padding, stride)
    (kh, kw), (rows, columns) = settings["kernel_size"], counts
    _, entries, windows = input.shape
    if entries % (kh * kw):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={entries} and kernel_size=({kh}, {kw})."
        )
    if windows != rows * columns:
        raise RuntimeError(
            f"Given output_size=({height}, {width}), kernel_size=({kh}, {kw}), expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {rows} * {columns} = "
            f"{rows * columns}, but got input.size(2)={windows}."
        )
    return ops.col2im.apply(input, shape=(height, width), **settings)


def _windows(size: Sequence[int], *values: Several) -> tuple[dict[str, Any], list[int]]:
    """The settings of im2col, and the number of windows along each axis."""
    kernel, dilation, padding, stride = (
        several(v, 2, name)
        for v, name in zip(values, ("kernel_size", "dilation", "padding", "stride"), strict=True)
    )
    check_steps(kernel_size=kernel, dilation=dilation, stride=stride)
    check_not_negative(padding=padding)
    counts = []
    for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True):
        counts.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(size)}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {tuple(counts)}, but its "
            "components must be at least one."
        )
    top, left = padding
    margins = (top, top, left, left)
    settings = {"kernel_size": kernel, "stride": stride, "dilation": dilation, "padding": margins}
    return settings, counts


# ------------------------------------------------------------------------ channels and pixels


def _check_image(name: str, input: Tensor) -> None:
    """Raise an error unless the input has channels, rows and columns."""
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )


def _positive(message: str, factor: int) -> None:
    """Raise an error with this message unless the factor is positive."""
    if factor <= 0:
        raise RuntimeError(f"{message}{factor}")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., c * r * r, h, w) to (..., c, h * r, w * r): channels become pixels.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution (2016).

    >>> pixel_shuffle(minigrad.arange(4).reshape(1, 4, 1, 1), 2)
    tensor([[[[0, 1],
              [2, 3]]]])
    """
    r = upscale_factor
    _check_image("pixel_shuffle", input)
    *rest, c, h, w = input.shape
    _positive("pixel_shuffle expects a positive upscale_factor, but got ", r)
    if r * r >= 2**63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}"
        )
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    k = len(rest)
    z = input.reshape(*rest, c // (r * r), r, r, h, w)
    z = z.permute(*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return named(z.reshape(*rest, c // (r * r), h * r, w * r), "PixelShuffleBackward0")


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., c, h * r, w * r) to (..., c * r * r, h, w): the inverse of pixel_shuffle.

    >>> pixel_unshuffle(minigrad.arange(4).reshape(1, 1, 2, 2), 2).shape
    minigrad.Size([1, 4, 1, 1])
    """
    r = downscale_factor
    _check_image("pixel_unshuffle", input)
    *rest, c, h, w = input.shape
    _positive("pixel_unshuffle expects a positive downscale_factor, but got ", r)
    for name, n in (("height", h), ("width", w)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({-2 if name == 'height' else -1})={n} is not divisible by {r}"
            )
    k = len(rest)
    z = input.reshape(*rest, c, h // r, r, w // r, r)
    z = z.permute(*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return named(z.reshape(*rest, c * r * r, h // r, w // r), "PixelUnshuffleBackward0")


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels: take one from each of `groups` groups in turn.

    >>> channel_shuffle(minigrad.arange(4.0).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    _check_image("channel_shuffle", input)
    n, c, *rest = input.shape
    _positive("Number of groups to divide channels in must be positive. Value of groups:", groups)
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    z = input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(input.shape)
    return named(z, "ChannelShuffleBackward0")
