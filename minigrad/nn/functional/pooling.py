"""Pooling: each window of the input is reduced to one number, its maximum or its mean.

The ops work on images. A 1-d signal is treated as an image with one row. The formulas for one axis
(the number of windows, the number of entries in a window without padding) are used for each axis.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.modes import seen
from minigrad.core.shapes import Array, Several, as_int
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.base import zeros_of
from minigrad.nn.functional.arguments import (
    as_image,
    check_steps,
    floats_only,
    for_axes,
    from_image,
    several,
)
from minigrad.ops.composites import named

Sizes = tuple[int, ...]
Fitted = tuple[dict[str, Any], Sizes, Sizes]  # the settings of the op, the dilation, the padding
OutputSize = int | Sequence[int | None] | None  # None keeps the size of an axis


def _max_pool(
    axes: int,
    input: Tensor,
    kernel_size: Several,
    stride: Several | None = None,
    padding: Several = 0,
    dilation: Several = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest entry of each window. stride is kernel_size by default.

    max_pool2d is for images (n, c, h, w), and max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> import minigrad
    >>> max_pool2d(minigrad.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    >>> max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])
    """
    if axes == 1 and not return_indices:
        floats_only("max_pool1d", input)
    args = (kernel_size, stride, padding, dilation, ceil_mode)
    windows, steps, _ = _windows(f"max_pool{axes}d", axes, input, *args)
    x = as_image(input, axes)
    z = from_image(ops.max_pool2d.apply(x, **windows, dilation=steps), axes)
    if not return_indices:
        return z
    at = ops.places(seen(x), **windows, dilation=steps)  # type: ignore[no-untyped-call]
    return z, from_image(wrap(at), axes)


max_pool1d, max_pool2d = for_axes(_max_pool)


def avg_pool2d(
    input: Tensor,
    kernel_size: Several,
    stride: Several | None = None,
    padding: Several = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window. It includes the zeros of the padding, unless count_include_pad is False."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    args = (kernel_size, stride, padding, 1, ceil_mode)
    z = _avg_pool("avg_pool", 2, input, count_include_pad, divisor_override, *args)
    return named(z, "AvgPool2DBackward0")


def avg_pool1d(
    input: Tensor,
    kernel_size: Several,
    stride: Several | None = None,
    padding: Several = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Like avg_pool2d, along one axis.

    >>> avg_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[2., 7.]]])
    """
    args = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool", 1, input, count_include_pad, None, *args)


def _avg_pool(
    name: str, axes: int, input: Tensor, count_padding: bool, divisor: int | None, *args: Any
) -> Tensor:
    if input.array.dtype != np.int64:
        floats_only(name, input)
    else:
        found = _avg_pool(name, axes, input.double(), count_padding, divisor, *args)
        return found.trunc().to(input.dtype)
    windows, _, pads = _windows(f"{name}{axes}d", axes, input, *args)
    x = as_image(input, axes)
    count: int | Array | None = divisor
    if count is None and any(windows["padding"]):
        count = _counts(x.array.shape[-2:], windows, pads, count_padding)
    elif count is None:
        count = math.prod(windows["kernel_size"])
    if isinstance(count, np.ndarray):
        return from_image(ops.window_sum.apply(x, **windows) / wrap(count).to(x.dtype), axes)
    return from_image(ops.window_sum.apply(x, **windows, count=count), axes)


def _counts(shape: Sizes, windows: dict[str, Any], pads: Sizes, count_padding: bool) -> int | Array:
    """The divisor of the mean of each window: a single number if it is the same for all windows."""
    counts = []
    each = zip(windows["kernel_size"], windows["stride"], windows["shape"], strict=True)
    for n, p, (k, s, m) in zip(shape, pads, each, strict=True):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        counts.append(end - start if count_padding else np.minimum(end, n) - np.maximum(start, 0))
    counted: Array = np.multiply.outer(*counts)
    return int(counted.flat[0]) if counted.min() == counted.max() else counted


def _windows(
    name: str, axes: int, x: Tensor, size: Several, stride: Several | None, padding: Several, dilation: Several,
    ceil_mode: bool,
) -> Fitted:  # fmt: skip
    """The settings of the op for an image, the dilation, and the requested padding."""
    size = several(size, axes, "kernel_size")
    stride = size if stride is None or stride in ([], ()) else several(stride, axes, "stride")
    padding, dilation = several(padding, axes, "padding"), several(dilation, axes, "dilation")
    return _pooling_settings(name, axes, x.array.shape, size, stride, padding, dilation, ceil_mode)


def _check_window(name: str, size: Sizes, stride: Sizes, dilation: Sizes) -> None:
    """Raise an error unless all are positive, in PyTorch's words, which are others for max_pool1d."""
    if name == "max_pool1d":
        for what, (n,) in (("kernel_size", size), ("stride", stride), ("dilation", dilation)):
            if n <= 0:
                raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {n}")
    if 0 in stride:
        raise RuntimeError(f"stride should not be zero, but got stride={list(stride)}")
    check_steps(kernel_size=size, stride=stride, dilation=dilation)


@lru_cache(maxsize=256)
def _pooling_settings(
    name: str, axes: int, x_shape: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    ceil_mode: bool,
) -> Fitted:  # fmt: skip
    """Implements `_windows` for tuples of ints, with a cache. Do not change the result."""
    if len(x_shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{name}: non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input, but got input of "
            f"size: {list(x_shape)}"
        )
    if 0 in x_shape[-axes - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(x_shape)}. Only the batch may be empty."
        )
    _check_window(name, size, stride, dilation)
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    if any(p > k // 2 for p, k in zip(padding, size, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={max(size)}"
        )
    one = (1,) * (2 - axes)
    shape, margins = one, (0, 0) * (2 - axes)
    for n, k, s, p, d in zip(x_shape[-axes:], size, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        m = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (m - 1) * s >= n + p:  # the last window must start inside the input
            m -= 1
        shape += (m,)
        margins += (p, max(p, (m - 1) * s + d * (k - 1) + 1 - n - p))
    if min(shape) < 1:
        before, after = (
            "x".join(map(str, (x_shape[-axes - 1], *s))) for s in ((*one, *x_shape[-axes:]), shape)
        )
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small"
        )
    windows = {
        "kernel_size": one + size,
        "stride": one + stride,
        "padding": margins,
        "shape": shape,
    }
    return windows, one + dilation, (0,) * (2 - axes) + padding


def _lp_pool(
    axes: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Several,
    stride: Several | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum of x**p)**(1/p) over each window: its p-norm, but without absolute values. p is norm_type.

    lp_pool2d is for images (n, c, h, w), and lp_pool1d is for signals (n, c, l).
    As in PyTorch, if ceil_mode cuts off a window at the border, the sum is scaled up to a full window.
    """
    args = (kernel_size, stride, 0, 1, ceil_mode)
    means = _avg_pool("lp_pool", axes, input**norm_type, True, None, *args)
    entries = math.prod(several(kernel_size, axes, "kernel_size"))
    return (means.sign() * means.abs().relu() * entries) ** (1 / norm_type)


lp_pool1d, lp_pool2d = for_axes(_lp_pool)


# ------------------------------------------------------------------------ adaptive pooling


def _adaptive_avg_pool(axes: int, input: Tensor, output_size: OutputSize) -> Tensor:
    """Split each axis into output_size parts, and return the means. None keeps the size of an axis.

    adaptive_avg_pool2d is for images (n, c, h, w), and adaptive_avg_pool1d is for signals (n, c, l).
    output_size is one number, or one for each axis; the result is (n, c, *output_size).
    On an axis with n entries, part j of m goes from j * n // m to (j + 1) * n / m, rounded up.

    >>> adaptive_avg_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[2., 7.]]])
    """
    # Multiply by the matrix `_means` along each axis, or use `mean` for a single part.
    sizes = _output_size(f"adaptive_avg_pool{axes}d", axes, input, output_size)
    if input.array.dtype == np.float16:  # its sums are formed in float32
        return _adaptive_avg_pool(axes, input.float(), sizes).half()
    if sizes == (1,) * axes:
        z, name = input.mean(tuple(range(-axes, 0)), keepdim=True), "MeanBackward1"
    else:
        matrices = [_means(n, m) for n, m in zip(input.array.shape[-axes:], sizes, strict=True)]
        z = ops.resample.apply(input, matrices=tuple(matrices))
        name = "AdaptiveAvgPool2DBackward0"
    return named(z, name if axes == 2 else "SqueezeBackward1")


adaptive_avg_pool1d, adaptive_avg_pool2d = for_axes(_adaptive_avg_pool)


def _adaptive_max_pool(
    axes: int, input: Tensor, output_size: OutputSize, return_indices: bool = False
) -> Any:
    """Split each axis into output_size parts, and return the largest entries.

    adaptive_max_pool2d is for images (n, c, h, w), and adaptive_max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> adaptive_max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])
    """
    # Find the index of the largest entry of each part, then gather these entries.
    sizes = _output_size(f"adaptive_max_pool{axes}d", axes, input, output_size)
    x = as_image(input, axes)
    height, width = x.shape[-2:]
    rows, columns = (1, *sizes) if axes == 1 else sizes
    places = []
    zeros_of((*x.shape[:-2], rows, columns), np.int64)  # an error if they do not fit into memory
    for top, bottom in _parts(height, rows):
        for left, right in _parts(width, columns):
            part = seen(x)[..., top:bottom, left:right]
            best = ops.flat_images(part).argmax(-1)  # type: ignore[no-untyped-call]
            places.append((top + best // (right - left)) * width + left + best % (right - left))
    at = np.stack(places, -1).reshape((*x.shape[:-2], rows, columns)).astype(np.int64, copy=False)
    z = x.flatten(-2).gather(-1, ops.flat_images(at))  # type: ignore[no-untyped-call]
    z = ops.unsafe_view.apply(z, shape=tuple(at.shape))
    z = from_image(z, axes) if axes == 1 else named(z, "AdaptiveMaxPool2DBackward0")
    return (z, from_image(wrap(at), axes)) if return_indices else z


adaptive_max_pool1d, adaptive_max_pool2d = for_axes(_adaptive_max_pool)


def _output_size(name: str, axes: int, x: Tensor, output_size: Any) -> tuple[int, ...]:
    shape = x.array.shape
    if axes == 2 and isinstance(output_size, (tuple, list)) and len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{name}: Expected {axes + 1}D or {axes + 2}D tensor, but got input of size: {list(shape)}"
        )
    floats_only(f"{name[:-2]}2d", x)
    single = output_size is None or isinstance(output_size, int)
    wanted = (output_size,) * axes if single else tuple(output_size)
    if len(wanted) != axes:
        raise RuntimeError(f"{name}: output_size must be {axes}, but it has {len(wanted)} sizes")
    each = zip(shape[-axes:], wanted, strict=True)
    sizes = tuple([n if m is None else as_int(m, "output_size") for n, m in each])
    largest = "max" in name
    filled = shape[-axes - 1 :] if largest else shape[-axes:]
    if 0 in filled and (largest or max(sizes) > 1):  # the mean of no entries is NaN
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has "
            f"sizes {list(shape)}"
        )
    if min(sizes) < 0:
        raise RuntimeError(
            f"{name}: Trying to create tensor with negative dimension {min(sizes)}: elements of output_size must be "
            f"greater than or equal to 0, but got {list(sizes)}"
        )
    return sizes


def _parts(n: int, m: int) -> list[tuple[int, int]]:
    """The start and end of each of m parts of nearly equal size, among n entries."""
    return [(j * n // m, -(-(j + 1) * n // m)) for j in range(m)]


@lru_cache(maxsize=256)
def _means(n: int, m: int) -> Array:
    """The (n, m) matrix that maps n numbers to the means of m parts, of nearly equal size. Cached: do not write."""
    a = np.zeros((n, m))
    for j, (start, end) in enumerate(_parts(n, m)):
        a[start:end, j] = 1 / (end - start)
    return a
