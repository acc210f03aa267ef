"""Resample images: sampling grids, unpooling, and the older names of `interpolate`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import torch_name
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Array, Several
from minigrad.core.tensor import Tensor, wrap
from minigrad.nn.functional.arguments import as_image, for_axes, from_image, several
from minigrad.nn.functional.resizing import _cubic_far, _cubic_near, interpolate
from minigrad.ops.composites import named


def _upsampled(name: str, *args: Any) -> Tensor:
    warn_user(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(*args)


def upsample(
    input: Tensor,
    size: Several | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The deprecated name of `interpolate`."""
    return _upsampled("upsample", input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate(mode="nearest"), with a warning."""
    return _upsampled("upsample_nearest", input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True), with a warning."""
    args = (size, scale_factor, "bilinear", True)
    return _upsampled("upsample_bilinear", input, *args)


# ------------------------------------------------------------------------ grids


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The sampling grid of an affine map: for each pixel of the result, its position in the input.

    theta           (n, 2, 3)       a linear map and a translation
    size            (n, c, h, w)    the size of the result
    align_corners   True: -1 and 1 are the centers of the corner pixels; False: the image borders
    returns         (n, h, w, 2)    x and y, from -1 to 1

    Source: Jaderberg et al., Spatial Transformer Networks (2015).
    """
    if len(size) != 4:
        raise NotImplementedError(
            f"affine_grid only supports 4D sizes, for 2D affine transforms. Got size {tuple(size)}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (2, 3):
        raise ValueError(
            f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {tuple(size)}. Got {theta.shape!r}."
        )
    if theta.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    n, _, h, w = size
    if len(theta) != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, 3] but got: [{len(theta)}, 3]."
        )
    if align_corners and 1 in (h, w):
        warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True: the "
            "one point is 0. See the documentation of affine_grid for details."
        )
    align = _align(align_corners)
    x, y = np.meshgrid(_pixel_centers(w, align), _pixel_centers(h, align))
    points = np.stack([x, y, np.ones_like(x)], -1).reshape(1, h * w, 3).astype(theta.dtype)
    z = (wrap(np.broadcast_to(points, (n, h * w, 3))) @ theta.mT).reshape(n, h, w, 2)
    return named(z, "AffineGridGeneratorBackward0")


def _align(align_corners: bool | None) -> bool:
    if align_corners is None:
        warn_user(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired. See the documentation of "
            "grid_sample for details."
        )
    return bool(align_corners)


def _pixel_centers(n: int, align: bool) -> Array:
    """The coordinates of the centers of n pixels, in the range from -1 to 1."""
    if align:
        return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    return (2 * np.arange(n) + 1) / n - 1


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample an image at the positions in a grid.

    input           (n, c, h, w)
    grid            (n, h', w', 2)    x and y, from -1 (left, top) to 1 (right, bottom)
    mode            "bilinear": interpolate four pixels; "bicubic": sixteen; "nearest": the nearest pixel
    padding_mode    outside the image: "zeros", the nearest pixel of the "border", or a "reflection" of the image
    returns         (n, c, h', w')

    The gradient flows to the image and, but for "nearest", to the grid. With "nearest", the grid gets a gradient of 0.

    Source: Jaderberg et al., Spatial Transformer Networks (2015).
    """
    _check_grid(input, grid, mode, padding_mode)
    align = _align(align_corners)
    pixels, taps = input.permute(0, 2, 3, 1), []
    for axis, n in enumerate((input.shape[3], input.shape[2])):
        at = grid[..., axis]
        at = (at + 1) * ((n - 1) / 2) if align else ((at + 1) * n - 1) / 2
        if mode == "bicubic":
            each = _taps(mode, at)
            taps.append([(_padded(wrap(i), n, padding_mode, align).array, w) for i, w in each])
        else:
            taps.append(_taps(mode, _padded(at, n, padding_mode, align)))
    total: Any = 0
    for column, weight_x in taps[0]:
        for row, weight_y in taps[1]:
            total = total + _read(pixels, column, row) * (weight_x * weight_y).unsqueeze(-1)
    return named(total.permute(0, 3, 1, 2).contiguous(), "GridSampler2DBackward0")


def _taps(mode: str, at: Tensor) -> list[tuple[Array, Tensor]]:
    """The integer positions that a position along an axis is interpolated from, and their weights."""
    if mode == "nearest":
        # A weight of 1, with a gradient of 0, also at an infinite position.
        one = at.masked_fill(wrap(np.True_), 1)
        return [(np.rint(at.detach().array), one)]
    low = np.floor(at.detach().array)
    d = at - wrap(low)
    if mode == "bilinear":
        return [(low, 1 - d), (low + 1, d)]
    near, far = _cubic_near, _cubic_far
    return [(low - 1, far(d + 1)), (low, near(d)), (low + 1, near(1 - d)), (low + 2, far(2 - d))]


def _padded(at: Tensor, n: int, padding_mode: str, align: bool) -> Tensor:
    """The positions, those outside of 0..n-1 moved inside unless the padding is zeros."""
    if padding_mode == "reflection":
        start, length = (0.0, n - 1) if align else (-0.5, n)  # of the image, from border to border
        at = (at - start).abs()
        times = np.floor(at.detach().array / (length or 1))
        rest = at - wrap(times * length)
        at = rest.where(wrap(times % 2 == 0), length - rest) + start
    if padding_mode == "zeros":
        return at
    # At the outermost pixels, the slope is taken as 0.
    inside = wrap((at.array > 0) & (at.array < n - 1))
    return at.where(inside, at.detach().clamp(0, n - 1))


def _check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    """Raise an error if the arguments of grid_sample contradict each other."""
    what = None
    if grid.shape[:1] != input.shape[:1]:
        what = "expected grid and input to have same batch size"
    elif grid.shape[-1:] != (input.ndim - 2,):
        what = f"expected grid to have size {input.ndim - 2} in last dimension"
    elif input.ndim != 4 or grid.ndim != 4:
        what = (
            "bicubic interpolation only supports 4D input"
            if mode == "bicubic"
            else "expected 4D input and grid"
        )
    if what is not None:
        raise RuntimeError(
            f"grid_sampler(): {what}: an input (n, c, h, w) and a grid (n, h', w', 2), but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    for name, given, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if given not in known:
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be one of {known}, but got: {given!r}"
            )
    if grid.dtype != input.dtype:
        raise RuntimeError(
            f"expected scalar type {torch_name(input.dtype)} but found {torch_name(grid.dtype)}: input and grid must "
            "have the same type"
        )
    if 0 in input.shape[1:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty"
        )


def _read(pixels: Tensor, x: Array, y: Array) -> Tensor:
    """The pixels (n, h, w, c) at integer positions, and zeros outside."""
    n, h, w, _ = pixels.shape
    inside = (x >= 0) & (x < w) & (y >= 0) & (y < h)
    columns = np.where(inside, x, 0).astype(np.int64)
    rows = np.where(inside, y, 0).astype(np.int64)
    z: Tensor = pixels[np.arange(n)[:, None, None], rows, columns]
    return z.masked_fill(wrap(~inside[..., None]), 0)


# ------------------------------------------------------------------------ unpooling


def _max_unpool(
    axes: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Several,
    stride: Several | None = None,
    padding: Several = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The inverse of max_pool with return_indices=True: the maxima at their old positions, and zeros elsewhere.

    max_unpool2d is for images (n, c, h, w), and max_unpool1d is for signals (n, c, l).
    """
    size = several(kernel_size, axes, "kernel_size")
    stride = size if stride is None else several(stride, axes, "stride")
    padding = several(padding, axes, "padding")
    parts = zip(input.shape[-axes:], size, stride, padding, strict=True)
    usual = [(n - 1) * s + k - 2 * p for n, k, s, p in parts]
    wanted = usual if output_size is None else list(output_size)
    if len(wanted) not in (axes, axes + 2):
        raise ValueError(
            f"output_size should be a sequence containing {axes} or {axes + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    shape = tuple(wanted[-axes:])
    for k, (n, m, s) in enumerate(zip(shape, usual, stride, strict=True)):
        if not m - s < n < m + s:
            raise ValueError(
                f'invalid output_size "{shape}" (dim {k} must be between {m - s} and {m + s})'
            )
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    x, at = as_image(input, axes), as_image(indices, axes).array
    rows, area = x.shape[-2] * x.shape[-1], int(np.prod(shape))
    known = np.asarray(at)  # of a program, those of the examples
    if at.size and (known.min() < 0 or known.max() >= area):
        raise RuntimeError(
            f"Found an invalid max index: {known.max()} (output volumes are of size {shape})"
        )
    lead = x.shape[:-2]
    zeros = x.new_zeros(*lead, area)
    flat, index = x.reshape(*lead, rows), at.reshape(*lead, rows)
    z = ops.scatter.apply(zeros, flat, index=index, axis=len(lead))
    z = z.reshape(*lead, *(1,) * (2 - axes), *shape)
    return from_image(z, axes) if axes == 1 else named(z, "MaxUnpool2DBackward0")


max_unpool1d, max_unpool2d = for_axes(_max_unpool)
