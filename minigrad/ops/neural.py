"""Table of derivatives, chapter 6: functions for neural networks.

Activations, normalization, embedding and padding. A function in this chapter (or in losses,
convolution and recurrent) is an op of its own if this makes its rule shorter or its result more
accurate than building it from the ops of earlier chapters.
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.op import elementwise, general, linear
from minigrad.core.shapes import add_up
from minigrad.core.sparse import RowSparse
from minigrad.ops.elementwise import (
    HALF,
    ZERO,
    in_single,
    into,
    keep,
    sigmoid,
    single_for_halves,
    summed,
)
from minigrad.ops.indexing import put_zeros
from minigrad.ops.special import erf

# --------------------------------------------------------------------------- activations


@elementwise(result="float", refuses="biuc")
def leaky_relu(x, *, negative_slope=0.01, out=None):
    """z = x where x > 0, else negative_slope * x        dz/dx = where(x > 0, 1, negative_slope)"""
    below = x * np.array(negative_slope, x.dtype)
    return np.maximum(x, below, out=out) if 0 < negative_slope < 1 else into(out, np.where(x > 0, x, below))


leaky_relu.vjp(x=lambda g, x, negative_slope: np.where(x > 0, g, g * negative_slope))


@elementwise(result="float", refuses="biuc")
def elu(x, *, alpha=1.0, scale=1.0, out=None):
    """z = scale * x where x > 0, else scale * alpha * (exp(x) - 1)        dz/dx = scale * where(x > 0, 1, alpha * exp(x))

    scale is 1; selu is elu with another scale and alpha.

    Source: Clevert et al., Exponential Linear Units (2016).
    """
    if x.dtype.char == "e":
        return in_single(elu, out, x, alpha=alpha, scale=scale)
    below = np.expm1(np.minimum(x, ZERO[x.dtype]))  # 0 where x > 0
    z = np.maximum(x, ZERO[x.dtype]) + (below if alpha == 1 else below * np.array(alpha, x.dtype))
    return into(out, z if scale == 1 else z * np.array(scale, x.dtype))


elu.vjp(x=lambda g, x, alpha, scale: np.where(x <= 0, g * (scale * alpha * np.exp(np.minimum(x, 0))), g * scale))


@elementwise(result="float", refuses="biu")
def silu(x, *, out=None):
    """z = x / (1 + exp(-x))        dz/dx = (1 + x * exp(-x) / (1 + exp(-x))) / (1 + exp(-x))

    z is x * sigmoid(x), also known as swish.
    """
    if x.dtype.char == "e":
        return in_single(silu, out, x)
    return into(out, x * sigmoid.forward(x))


def _silu_dx(g, x):
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


silu.vjp(x=_silu_dx)


@elementwise(result="float", refuses="biuc")
def gelu(x, *, approximate="none"):
    """z = x * (1 + erf(x / sqrt(2))) / 2        dz/dx = z / x + x * exp(-x * x / 2) / sqrt(2 * 3.141592653589793)

    z is x times the CDF of the normal distribution. With approximate="tanh", erf(x / sqrt(2)) is replaced with
    tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)).

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    if x.dtype.char == "e":
        return in_single(gelu, None, x, approximate=approximate)
    if approximate == "tanh":
        return x * x.dtype.type(0.5) * (np.tanh(_inside_tanh(x)) + 1)
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return x * (x.dtype.type(0.5) * (1 + erf.forward(x * x.dtype.type(math.sqrt(0.5)))))


def _inside_tanh(x):
    return (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)


def _gelu_dx(g, x, approximate):
    if approximate == "tanh":
        t = np.tanh(_inside_tanh(x))
        slope = (x * x * (3 * 0.044715) + 1) * math.sqrt(2 / math.pi)
        return g * ((t + 1) * 0.5 + x * (1 - t * t) * slope * 0.5)
    below = (erf(x * math.sqrt(0.5)) + 1) * 0.5  # the normal CDF; the next line uses the density
    return g * (below + x * np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))


gelu.vjp(x=_gelu_dx)


@elementwise(result="float", refuses="biuc")
def mish(x, *, out=None):
    """z = x * tanh(log(1 + exp(x)))        dz/dx = z / x + x * (1 - (z / x)**2) / (1 + exp(-x))

    z is x * tanh(softplus(x)).
    """
    return into(out, x * np.tanh(softplus.forward(x)))


def _mish_dx(g, x):
    t = np.tanh(softplus(x))
    return g * (t + x * (1 - t * t) * sigmoid(x))


mish.vjp(x=_mish_dx)


@elementwise(result="float", refuses="biuc")
def softplus(x, *, beta=1.0, threshold=20.0, out=None):
    """z = log(1 + exp(beta * x)) / beta        dz/dx = where(beta * x > threshold, 1, 1 / (1 + exp(-beta * x)))

    Where beta * x > threshold, z is x.
    """
    if x.dtype.char == "e":
        return in_single(softplus, out, x, beta=beta, threshold=threshold)
    y = x if beta == 1 else x * x.dtype.type(beta)
    bound = np.array(threshold, x.dtype)
    z = np.log1p(np.exp(np.minimum(y, bound)))
    return into(out, np.where(y > bound, x, z if beta == 1 else z / x.dtype.type(beta)))


softplus.vjp(x=lambda g, x, beta, threshold: np.where(x * beta > threshold, g, g * sigmoid(x * beta)))


@elementwise(result="float", refuses="biu", node="LogSigmoidBackward0")
def logsigmoid(x, *, out=None):
    """z = -log(1 + exp(-x))        dz/dx = 1 / (1 + exp(x))

    z is log(sigmoid(x)), computed without overflow.
    """
    return into(out, np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))


logsigmoid.vjp(x=lambda g, x: g * sigmoid(-x))


@elementwise(refuses="bc")
def hardtanh(x, *, min_val=-1.0, max_val=1.0, out=None):
    """z = x clamped to the range from min_val to max_val        dz/dx = 1 - (x <= min_val) - (x >= max_val)

    A NaN stays NaN and gets the gradient.
    """
    return into(out, between(x, min_val, max_val))


def between(x, low, high):
    """x clamped to the range from low to high. A NaN stays NaN."""
    return np.minimum(np.maximum(x, np.array(low, x.dtype)), np.array(high, x.dtype))


hardtanh.vjp(x=lambda g, x, min_val, max_val: keep(g, np.logical_not((x <= min_val) | (x >= max_val))))


@elementwise(result="float", refuses="biu")
def hardsigmoid(x, *, out=None):
    """z = x / 6 + 1 / 2, clamped to the range from 0 to 1        dz/dx = (x > -3) * (x < 3) / 6"""
    return into(out, between(x / np.array(6, x.dtype) + HALF[x.dtype], 0, 1))


hardsigmoid.vjp(x=lambda g, x: keep(g / 6, (x > -3) & (x < 3)))


@elementwise(result="float", refuses="biu")
def hardswish(x, *, out=None):
    """z = x * hardsigmoid(x)        dz/dx = where(x >= 3, 1, (x > -3) * (x / 3 + 1 / 2))"""
    return into(out, x * hardsigmoid.forward(x))


hardswish.vjp(x=lambda g, x: np.where(x < 3, keep(g * (x / 3 + 0.5), x > -3), g))


@general(result="float", refuses="biuc")
def glu(x, *, axis=-1):
    """z = a * sigmoid(b), for the halves a and b of x along axis        dL/da = g * sigmoid(b)        dL/db = g * z * (1 - sigmoid(b))"""
    if not x.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if x.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {x.shape[axis]}")
    a, b = _halves(x, axis)
    return a * sigmoid.forward(b)


def _halves(x, axis):
    before, n = (slice(None),) * (axis % x.ndim), x.shape[axis] // 2
    return x[(*before, slice(n))], x[(*before, slice(n, None))]


def _glu_dx(g, x, axis):
    a, b = _halves(x, axis)
    s = sigmoid(b)
    return np.concatenate([g * s, g * (a * s * (1 - s))], axis=axis)


def _glu_dot(x_dot, x, axis):
    (a, b), (a_dot, b_dot) = _halves(x, axis), _halves(x_dot, axis)
    s = sigmoid(b)
    return a_dot * s + b_dot * (a * s * (1 - s))


glu.vjp(x=_glu_dx).jvp(_glu_dot)


@elementwise(refuses="b")
def threshold(x, *, threshold, value, out=None):
    """z = value where x <= threshold, else x        dz/dx = 1 - (x <= threshold)

    A NaN stays NaN and gets the gradient.

    >>> minigrad.threshold(minigrad.tensor([0.5, 3.0]), threshold=1.0, value=20.0)
    tensor([20.,  3.])
    """
    return into(out, np.where(x <= threshold, x.dtype.type(value), x))


threshold.vjp(x=lambda g, x, threshold: keep(g, np.logical_not(x <= threshold)))
leaky_relu.piecewise = {"x": "LeakyReluBackwardBackward0"}
hardtanh.piecewise = {"x": "HardtanhBackwardBackward0"}
threshold.piecewise = {"x": "ThresholdBackwardBackward0"}


@elementwise(result="float", refuses="biuc")
def hardshrink(x, *, lambd=0.5, out=None):
    """z = x where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
    return into(out, np.where(np.abs(x) <= lambd, x.dtype.type(0), x))


@elementwise(result="float", refuses="biuc")
def softshrink(x, *, lambd=0.5, out=None):
    """z = x, shifted by lambd toward 0, where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
    return into(out, x - between(x, -lambd, lambd))


@elementwise(refuses="b")
def prelu_kernel(x, w, *, out=None):
    """z = x where x > 0, else w * x        dz/dx = where(x > 0, 1, w)        dz/dw = where(x > 0, 0, x)

    A leaky_relu with a learned slope w.

    Source: He et al., Delving Deep into Rectifiers (2015).
    """
    return into(out, np.where(x > 0, x, x * w))


hardshrink.vjp(x=lambda g, x, lambd: keep(g, np.abs(x) > lambd))
softshrink.vjp(x=lambda g, x, lambd: keep(g, np.abs(x) > lambd))
prelu_kernel.vjp(x=lambda g, x, w: np.where(x > 0, g, g * w),
                 w=lambda g, x: np.where(x > 0, ZERO[x.dtype], g * x))
hardshrink.piecewise = {"x": "HardshrinkBackwardBackward0"}
softshrink.piecewise = {"x": "SoftshrinkBackwardBackward0"}
prelu_kernel.piecewise = {"x": "PreluKernelBackwardBackward0"}


single_for_halves(glu, hardsigmoid, hardswish, logsigmoid, mish)


# ---------------------------------------------------------------- normalization, embedding, padding


@general(result="float", refuses="biuc")
def standardize(x, *, axis, eps):
    """z = (x - mean) / sqrt(var + eps) over axis        dL/dx = (g - mean of g - z * mean of g * z) / sqrt(var + eps)

    Batch, layer and group normalization use it, with different axes. Small differences from the
    mean are divided by small numbers, so float16 is not accurate enough (single_for_halves, below).
    """
    n = np.array(max(1, math.prod([x.shape[i] for i in axis])), x.dtype)
    d = x - add_up(x, axis, True) / n
    d /= np.sqrt(add_up(d * d, axis, True) / n + np.array(eps, x.dtype))
    return d


def _standardize_dx(g, x, x_shape, axis, eps):
    n = max(1, math.prod([x_shape[i] for i in axis]))
    d = x - summed(x, axis) / n  # recomputed, because ReLU(inplace=True) may have overwritten the result
    variance = summed(d * d, axis) / n + eps
    slope = summed(g * d, axis) / (n * variance)
    return (g - summed(g, axis) / n - d * slope) / np.sqrt(variance)


single_for_halves(standardize)
standardize.vjp(x=_standardize_dx)
standardize.jvp(lambda x_dot, x, x_shape, axis, eps: _standardize_dx(x_dot, x, x_shape, axis, eps))


@elementwise()
def scale_and_shift(x, w, b, *, out=None):
    """z = x * w + b        dz/dx = w        dz/dw = x        dz/db = 1"""
    return np.add(x * w, b, out=out)


scale_and_shift.vjp(x=lambda g, w: g * w,
                    w=lambda g, x: g * x,
                    b=lambda g: g)


@linear()
def embedding(x, *, index, padding_idx=None, sparse=False, counts=None):
    """z = x[index], rows of a table        dL/dx = zeros like x, with g added at index

    The row padding_idx, if given, gets no gradient. With sparse, the gradient holds only the rows
    that were read. With counts (of each index in the input), the gradient of a row is a mean, not
    a sum. This is not the true derivative; it is used to limit the effect of frequent words.
    """
    return x.take(index, 0)


def _embedding_dx(g, x_shape, index, padding_idx, sparse, counts):
    if counts is not None:
        g = g / counts[..., None]
    if sparse and isinstance(g, np.ndarray):
        rows, values = index.reshape(-1), g.reshape(index.size, *x_shape[1:])
        if padding_idx is not None:
            kept = rows != padding_idx
            rows, values = rows[kept], values[kept]
        return RowSparse(rows, values, x_shape)
    if padding_idx is not None:
        g = keep(g, (index != padding_idx)[..., None])
    return put_zeros(g, index=(index,), shape=x_shape)


embedding.vjp(x=_embedding_dx)


@general()
def constant_pad_nd(x, *, widths, value=0):
    """z = x padded with `value`, with widths (before, after) for each axis        dL/dx = g without the padding"""
    inner, outer, shape = _pad_slices(x.shape, widths)
    z = np.empty(shape, x.dtype)
    z.fill(value)
    z[outer] = x[inner]
    return z


@lru_cache(maxsize=256)
def _pad_slices(x_shape, widths):
    """The index of the kept entries in x, their index in the result, and its shape. A negative width crops."""
    inner = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x_shape, widths, strict=True))
    sizes = [len(range(*kept.indices(n))) for n, kept in zip(x_shape, inner, strict=True)]
    outer = tuple(slice(max(a, 0), max(a, 0) + n) for n, (a, _) in zip(sizes, widths, strict=True))
    return inner, outer, tuple(part.stop + max(b, 0) for part, (_, b) in zip(outer, widths, strict=True))


constant_pad_nd.vjp(x=lambda g, widths: constant_pad_nd(g, widths=tuple((-a, -b) for a, b in widths)))
constant_pad_nd.jvp(lambda x_dot, widths: constant_pad_nd(x_dot, widths=widths))
