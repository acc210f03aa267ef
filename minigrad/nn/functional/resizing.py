"""Resizing images: `interpolate`.

A new entry is an old one (the "nearest" modes) or a weighted sum of old ones. The weights along an
axis are a matrix, and an image is multiplied by one along each axis (`ops.resample`).

    linear, bilinear, trilinear   the two nearest entries; the weight falls linearly with the distance
    bicubic                       the four nearest; the weight is a cubic of the distance
    lanczos                       the six nearest; the weight is a sinc, windowed by a wider one; with antialias only
    antialias                     an image that becomes smaller: the same weights, stretched over all entries
                                  that a new one covers, so that none is skipped
    area                          the mean of the entries that a new one covers
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor
from minigrad.nn.functional.arguments import floats_only, several
from minigrad.nn.functional.pooling import _means, adaptive_avg_pool1d, adaptive_avg_pool2d
from minigrad.ops.composites import named

ANY = ("nearest", "nearest-exact", "area")
# The number of axes that a mode resizes.
AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the input (n, c, ...) along the spatial axes.

    size            the new sizes, or one for all axes
    scale_factor    instead of size: the new size divided by the old one
    mode            "nearest", "nearest-exact": the nearest entry;
                    "linear", "bilinear", "trilinear": linear interpolation; "bicubic": cubic interpolation;
                    "lanczos": a windowed sinc;
                    "area": the mean of the entries that a new entry covers
    align_corners   whether the first and last entries keep their positions
    antialias       for "bilinear", "bicubic" and "lanczos": take all entries that a new one covers into account

    >>> interpolate(minigrad.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    axes, align = input.ndim - 2, bool(align_corners)
    _check(input, size, scale_factor, mode, align_corners, antialias)
    if size is not None and recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    recompute = bool(recompute_scale_factor) or mode == "area"
    sizes, factors = _new_sizes(input, size, scale_factor, recompute)
    if mode == "area" and axes < 3:
        return adaptive_avg_pool2d(input, sizes) if axes == 2 else adaptive_avg_pool1d(input, sizes)
    # The sums of float16, and of the bytes of an image, are formed in float32.
    dtype = input.array.dtype
    wide = dtype == np.float16 or dtype == np.uint8 and mode in AXES
    z = input.float() if wide else input
    old = input.array.shape[2:]
    each = zip(old, sizes, factors, strict=True)
    steps = tuple([_step(n, m, factor, mode, axes, align, antialias) for n, m, factor in each])
    if mode.startswith("nearest"):
        middle = 0.5 if mode == "nearest-exact" else 0.0
        z = ops.index_select.apply(z, index=_nearest(old, sizes, steps, middle), axis=2)
    elif wide and dtype == np.uint8:
        z = _resampled_bytes(z, _matrices(old, sizes, steps, mode, align, antialias))
    else:
        matrices = _matrices(old, sizes, steps, mode, align, antialias)
        z = ops.resample.apply(z, matrices=matrices)
    # PyTorch's names of the nodes, such as UpsampleNearestExact2DBackward0.
    kind = "AdaptiveAvgPool" if mode == "area" else f"Upsample{mode.title().replace('-', '')}"
    node = f"{kind}{axes}D{'Aa' if antialias else ''}Backward0"
    return named(z.to(input.dtype) if wide else z, node)


def _resampled_bytes(z: Tensor, matrices: tuple[Array, ...]) -> Tensor:
    """z times these matrices along its last axes, rounded to bytes after each axis, from the last one on."""
    for k, matrix in reversed([*enumerate(matrices)]):
        alone = (matrix, *(None,) * (len(matrices) - 1 - k))
        z = ops.resample.apply(z, matrices=alone).round().clamp(0, 255)
    return z


def _new_sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool
) -> tuple[tuple[int, ...], list[float | None]]:
    """The new size of each axis, and the factor that was given for it, if the steps depend on it."""
    old, axes = input.shape[2:], input.ndim - 2
    factors: list[Any] = [None] * axes
    if size is not None:
        given = size if isinstance(size, (list, tuple)) else [size]
        if any(
            isinstance(m, float) or (isinstance(m, Tensor) and m.dtype.kind == "f") for m in given
        ):
            raise TypeError(
                "expected size to be one of int or Tuple[int, ...], but got size with types "
                f"{[type(m) for m in given]}. To fix it, write n // 2 in place of n / 2, or int(n)."
            )
        sizes = several(size, axes, "size")
    else:
        one = isinstance(scale_factor, (int, float, np.number))
        given = [scale_factor] * axes if one else [*scale_factor]
        sizes = tuple([math.floor(n * f) for n, f in zip(old, given, strict=True)])
        factors = factors if recompute else given
    if not input.shape[1]:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    if min(*old, *sizes) <= 0 or max(sizes) >= 2**31:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, and less than 2**31, but got input "
            f"{tuple(old)} output {sizes}"
        )
    return sizes, factors


def _step(
    n: int, m: int, factor: float | None, mode: str, axes: int, align_corners: bool, antialias: bool
) -> float:
    """The distance of neighboring new entries, in units of the old distance."""
    if align_corners:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    # As in PyTorch, if a size stays the same (for images, also if it doubles), the exact ratio replaces the factor.
    exact: tuple[int, ...] = (1,) if antialias or mode not in ("nearest-exact", "bicubic") else ()
    if mode == "nearest":
        exact = (1, 2) if axes == 2 else ()
    return n / m if factor is None or m / n in exact else 1 / factor


def _check(
    input: Tensor, size: Any, factor: Any, mode: str, align_corners: bool | None, antialias: bool
) -> None:
    """Raise an error if the arguments of interpolate contradict each other."""
    axes = input.ndim - 2
    if align_corners is not None and mode in ANY:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if (size is None) == (factor is None):
        raise ValueError(
            "only one of size or scale_factor should be defined"
            if size is not None
            else "either size or scale_factor should be defined"
        )
    for name, given in (("size", size), ("scale_factor", factor)):
        if isinstance(given, (tuple, list)) and len(given) != axes:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and {name} {list(given)}."
            )
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or axes != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and axes == 2 and (align_corners or not antialias):
        wrong = (
            "does not support align_corners=True" if align_corners else "requires antialias=True"
        )
        raise ValueError(f"Lanczos mode {wrong}")
    if mode in AXES and axes in (1, 2, 3) and AXES[mode] != axes:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {AXES[mode] + 2}D input"
        )
    if axes not in (1, 2, 3) or mode not in (*ANY, *AXES):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if mode == "linear" or input.array.dtype != np.uint8:
        floats_only(f"upsample_{mode}{axes}d", input)


@lru_cache(maxsize=16)
def _nearest(
    old: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[float, ...], middle: float
) -> Array:
    """The index of the old entry nearest to each new one, in the flattened image. It is cached: do not write to it."""
    places = []
    for n, m, step in zip(old, sizes, steps, strict=True):
        at = np.floor((np.arange(m, dtype=np.float32) + middle) * np.float32(step))
        places.append(np.minimum(at.astype(np.int64), n - 1))
    return np.asarray(np.ravel_multi_index(np.ix_(*places), old))


def _matrices(
    old: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[float, ...], mode: str, align_corners: bool,
    antialias: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """For each axis, the matrix that maps old entries to new ones."""
    if mode == "area":
        return tuple([_means(n, m) for n, m in zip(old, sizes, strict=True)])
    return tuple(
        [
            _weights(mode, n, m, step, align_corners, antialias)
            for n, m, step in zip(old, sizes, steps, strict=True)
        ]
    )


@lru_cache(maxsize=256)
def _weights(mode: str, n: int, m: int, step: float, align_corners: bool, antialias: bool) -> Array:
    """The (n, m) matrix of interpolation from n to m entries, `step` apart. It is cached: do not write to it."""
    if antialias:
        return _stretched_weights(mode, n, m, step)
    cubic = mode == "bicubic"
    place = np.arange(m) * step if align_corners else (np.arange(m) + 0.5) * step - 0.5
    place = place if cubic else np.maximum(place, 0)
    low = np.floor(place)
    matrix = np.zeros((n, m))
    for k in range(-1, 3) if cubic else range(2):
        distance = np.abs(place - low - k)
        # Beyond the ends, the first or last entry is repeated.
        at = np.clip(low + k, 0, n - 1).astype(np.int64)
        np.add.at(matrix, (at, np.arange(m)), _cubic(distance, -0.75) if cubic else 1 - distance)
    return matrix


def _stretched_weights(mode: str, n: int, m: int, step: float) -> Array:
    """The weights for antialias: those of a new entry cover the old entries that it covers, and sum to 1."""
    i, place = np.arange(n)[:, None], (np.arange(m) + 0.5) * step  # entry i covers i to i + 1
    wide = max(step, 1.0)
    distance = np.abs(i + 0.5 - place) / wide
    if mode == "lanczos":
        reach, weights = 3, np.sinc(distance) * np.sinc(distance / 3) * (distance < 3)
    elif mode == "bicubic":
        reach, weights = 2, _cubic(distance, -0.5)
    else:
        reach, weights = 1, np.maximum(1 - distance, 0)
    first, end = (np.trunc(place + side * reach * wide + 0.5) for side in (-1, 1))
    matrix: Array = weights * ((first <= i) & (i < end))
    return matrix / matrix.sum(0)


def _cubic(d: Array, a: float) -> Array:
    """The weight of an entry at distance d."""
    return np.where(d <= 1, _cubic_near(d, a), np.where(d < 2, _cubic_far(d, a), 0))


def _cubic_near(d: Any, a: float = -0.75) -> Any:
    """The weight of an entry at distance d <= 1. Source: Keys, Cubic Convolution Interpolation (1981)."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def _cubic_far(d: Any, a: float = -0.75) -> Any:
    """The weight of an entry at distance 1 < d < 2."""
    return a * (((d - 5) * d + 8) * d - 4)
