"""Table of derivatives, chapter 2: reductions.

`axis` is None (all axes), a number, or a tuple; `keepdims` keeps the reduced axes with
size 1. The gradient of the result is copied to each entry that was reduced: a sum in the
forward pass is a copy in the backward pass.
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.dtypes import float16
from minigrad.core.op import constant, general, linear, reduction
from minigrad.core.shapes import add_up, normalize_axes, repeat_to, restore_axes
from minigrad.ops.elementwise import in_single, into, keep, sign, single_for_halves, summed
from minigrad.ops.indexing import along, flat_along, gather, or_zero, scatter_add


@linear(np.sum, result="sum", node=lambda axis: "SumBackward0" if axis is None else "SumBackward1")
def sum(x, *, axis=None, keepdims=False, out=None):
    """z = sum of x over axis        dL/dx = g, repeated along axis"""
    return add_up(x, axis, keepdims, out)


sum.vjp(x=lambda g, x_shape, axis, keepdims:
            repeat_to(restore_axes(g, x_shape, axis, keepdims), x_shape))


@lru_cache(maxsize=256)
def number_reduced(x_shape, axis):
    """The number of entries that are reduced to one."""
    return math.prod(x_shape[i] for i in normalize_axes(axis, len(x_shape))) if x_shape else 1


@linear(np.mean, node=lambda axis: "MeanBackward0" if axis is None else "MeanBackward1")
def mean(x, *, axis=None, keepdims=False, out=None):
    """z = sum of x over axis / n        dL/dx = g / n, repeated along axis"""
    if x.dtype == float16:  # the sum may overflow
        return np.mean(x, axis=axis, keepdims=keepdims, out=out)
    total = add_up(x, axis, keepdims, out)
    return np.divide(total, total.dtype.type(number_reduced(x.shape, axis)), out=out)


mean.vjp(x=lambda g, x_shape, axis, keepdims:
             repeat_to(restore_axes(g / number_reduced(x_shape, axis), x_shape, axis, keepdims), x_shape))


@general(refuses="c")
def amax(x, *, axis=None, keepdims=False, out=None):
    """z = max of x over axis        dL/dx = g where x is the max, else 0

    If several entries are the largest, they share g equally.
    """
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims, out=out)


@general(refuses="c")
def amin(x, *, axis=None, keepdims=False, out=None):
    """z = min of x over axis        dL/dx = g where x is the min, else 0

    If several entries are the smallest, they share g equally.
    """
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims, out=out)


def is_extreme(x, z):
    """True where x equals the extreme entry z. If z is NaN, True where x is NaN."""
    return (x == z) | ((x != x) & (z != z))


def _shared_by_ties(g, x, z, x_shape, axis, keepdims):
    chosen = is_extreme(x, restore_axes(z, x_shape, axis, keepdims))
    if isinstance(chosen, np.ndarray):  # twice as fast as np.sum for a small array
        ties = np.add.reduce(chosen, axis, g.dtype, None, True)
    else:
        ties = np.sum(chosen, axis=axis, keepdims=True, dtype=g.dtype)
    return keep(repeat_to(restore_axes(g, x_shape, axis, keepdims), x_shape), chosen) / ties


def _average_over_ties(x_dot, x, z, x_shape, axis, keepdims):
    chosen = is_extreme(x, restore_axes(z, x_shape, axis, keepdims))
    ties = np.sum(chosen, axis=axis, keepdims=keepdims, dtype=x_dot.dtype)
    return np.sum(keep(x_dot, chosen), axis=axis, keepdims=keepdims) / ties


for _op in (amax, amin):
    _op.vjp(x=_shared_by_ties).jvp(_average_over_ties)


@general(refuses="c", node="ScatterReduceBackward0")
def scatter_extreme(x, y, *, index, axis, largest):
    """z = the max (min) of x and of all y[i, j] whose index[i, j] is this position        dL/dx, dL/dy = g where it equals z

    As in `amax`, equal entries share g equally.
    """
    z = np.array(x, order="C")
    at = flat_along(index, axis, x.shape) if x.ndim else index.reshape(-1)
    y = y if y.shape == index.shape else np.broadcast_to(y, index.shape)
    (np.maximum if largest else np.minimum).at(z.reshape(-1), at, y.reshape(-1))
    return z


def _chosen(x, y, z, index, axis):
    """Masks of the entries of x and of y that are extreme, and the number of ties at each position."""
    of_x, of_y = is_extreme(x, z), is_extreme(y, gather(z, index=index, axis=axis))
    ones = (getattr(chosen, "array", chosen).astype(x.dtype) for chosen in (of_x, of_y))
    return of_x, of_y, np.maximum(scatter_add(*ones, index=index, axis=axis), 1)


def _scatter_extreme_dx(g, x, y, z, index, axis):
    of_x, _, ties = _chosen(x, y, z, index, axis)
    return keep(g / ties, of_x)


def _scatter_extreme_dy(g, x, y, z, index, axis):
    _, of_y, ties = _chosen(x, y, z, index, axis)
    return keep(gather(g / ties, index=index, axis=axis), of_y)


def _scatter_extreme_dot(x_dot, y_dot, x, y, z, index, axis):
    of_x, of_y, ties = _chosen(x, y, z, index, axis)
    return scatter_add(keep(or_zero(x_dot, x), of_x), keep(or_zero(y_dot, y), of_y), index=index, axis=axis) / ties


scatter_extreme.vjp(x=_scatter_extreme_dx, y=_scatter_extreme_dy).jvp(_scatter_extreme_dot)


@linear(refuses="c", derived=("at",))
def max(x, *, at, axis, keepdims=False):
    """z = the max of x along axis, at the index `at`        dL/dx = g there, else 0

    The caller finds the index `at` with argmax, which takes the first one in a tie.
    """
    z = x[along(at, axis)]
    return z if keepdims else z.squeeze(axis)


@linear(refuses="c", derived=("at",))
def min(x, *, at, axis, keepdims=False):
    """z = the min of x along axis, at the index `at`        dL/dx = g there, else 0"""
    return max.forward(x, at=at, axis=axis, keepdims=keepdims)


@linear()
def put_along(x, *, at, axis, shape, keepdims=False):
    """z = zeros(shape), with x at the index `at` along axis        dL/dx = g there"""
    z = np.zeros(shape, x.dtype)
    z[along(at, axis)] = x if keepdims else x.reshape(at.shape)
    return z


for _op in (max, min):
    _op.vjp(x=lambda g, x_shape, at, axis, keepdims:
                put_along(g, at=at, axis=axis, shape=x_shape, keepdims=keepdims))
put_along.vjp(x=lambda g, at, axis, keepdims: max(g, at=at, axis=axis, keepdims=keepdims))


# ------------------------------------------------------- products, variances, norms
#
# Each rule below is g times a slope, the derivative of z with respect to each entry of x. In
# forward mode, the tangent of z is the sum of x_dot times the slope. To get the slope, run
# the rule with g = 1.


@reduction(np.prod, result="sum", node=lambda axis: "ProdBackward0" if axis is None else "ProdBackward1")
def prod(x, *, axis=None, keepdims=False, out=None):
    """z = product of x over axis        dL/dx = g * (product of the other entries)

    axis is None or a single axis.
    """
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims, out=out)


def product_of_others(x, axis):
    """For each entry of x, the product of all others along axis. This also works with zeros.

    Computed as the product of the entries before it times the product of the entries after it.
    """
    if axis is None:
        return np.reshape(product_of_others(np.reshape(x, -1), 0), x.shape)
    x = np.moveaxis(x, axis, 0)
    before = running_product(_shifted_by_one(x))
    after = np.flip(running_product(_shifted_by_one(np.flip(x, 0))), 0)
    return np.moveaxis(before * after, 0, axis)


def running_product(x):
    """The cumulative product of the rows, from products of pairs, then of fours, and so on.

    Unlike cumprod, it uses only products, so it can be differentiated any number of times
    without dividing by x.

    Source: W. D. Hillis and G. L. Steele, Data Parallel Algorithms (1986).
    """
    step = 1
    while step < x.shape[0]:
        x = np.concatenate([x[:step], x[step:] * x[:-step]])
        step *= 2
    return x


def _prod_slope(x, z, axis):
    """The product of the other entries: z / x, or without a division if some entry is 0, infinite or NaN."""
    divided = none_is_zero(x) and np.all(np.isfinite(getattr(z, "array", z)))
    return z / x if divided else product_of_others(x, axis)


def none_is_zero(x):
    """True if it is known that no entry is 0. (While a program is being recorded, values are not known.)"""
    values = getattr(x, "array", x)
    return getattr(values, "slot", None) is None and bool(np.all(values))


prod.vjp(x=lambda g, x, z, x_shape, axis, keepdims:
             restore_axes(g, x_shape, axis, keepdims)
             * _prod_slope(x, restore_axes(z, x_shape, axis, keepdims), axis))


@reduction()
def var(x, *, axis=None, correction=1, keepdims=False):
    """z = sum of (x - mean(x))**2 / (n - correction)        dL/dx = g * 2 * (x - mean(x)) / (n - correction)

    Computed in two passes, first the mean and then the squares. The formula with the mean of
    the squares loses all its digits if the mean is large.
    """
    apart = x - add_up(x, axis, True) / x.dtype.type(number_reduced(x.shape, axis))
    squares = (apart * apart.conj()).real if x.dtype.kind == "c" else np.square(apart)
    total = add_up(squares, axis, keepdims)
    return total / total.dtype.type(_degrees_of_freedom(x.shape, axis, correction))


def _degrees_of_freedom(x_shape, axis, correction):
    """The divisor of the variance: the number of entries minus the correction, and at least 0."""
    n = number_reduced(x_shape, axis) - correction
    return n if n > 0 else 0


def _deviation(x, x_shape, axis, correction):
    """(x - mean(x)) / (n - correction)"""
    return (x - summed(x, axis) / number_reduced(x_shape, axis)) / (_degrees_of_freedom(x_shape, axis, correction) or math.nan)


var.vjp(x=lambda g, x, x_shape, axis, correction, keepdims:
            restore_axes(g, x_shape, axis, keepdims) * (2 * _deviation(x, x_shape, axis, correction)))


@reduction()
def std(x, *, axis=None, correction=1, keepdims=False):
    """z = sqrt(var(x))        dL/dx = g * (x - mean(x)) / (n - correction) / z

    If all entries are equal, the derivative is undefined, and it is 0 here.
    """
    return np.sqrt(var.forward(x, axis=axis, correction=correction, keepdims=keepdims))


def without_zeros(z, value=np.inf):
    """z with 0 replaced by another value. Dividing by infinity gives 0, and so do all derivatives."""
    return np.where(z == 0, value, z)


std.vjp(x=lambda g, x, z, x_shape, axis, correction, keepdims:
            restore_axes(g / without_zeros(z), x_shape, axis, keepdims) * _deviation(x, x_shape, axis, correction))


@reduction(result="float")
def logsumexp(x, *, axis=None, keepdims=False):
    """z = log(sum of exp(x) over axis)        dL/dx = g * exp(x - z)

    The largest entry is subtracted first and added at the end. This does not change the result, and exp cannot overflow.
    """
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    z = np.log(add_up(np.exp(x - top), axis, True)) + top
    return z if keepdims or not x.ndim else z.squeeze(axis)


logsumexp.vjp(x=lambda g, x, z, x_shape, axis, keepdims:
                  restore_axes(g, x_shape, axis, keepdims) * np.exp(x - restore_axes(z, x_shape, axis, keepdims)))


@reduction()
def linalg_vector_norm(x, *, p=2, axis=None, keepdims=False):
    """z = (sum of abs(x)**p over axis) ** (1 / p)        dL/dx = g * sign(x) * (abs(x) / z)**(p - 1)

    For p = inf, the largest of abs(x); for -inf, the smallest; for 0, the number of nonzero
    entries. Where the derivative is undefined, it is 0. Ties share the gradient equally.
    """
    if x.dtype.kind == "c":
        x = np.abs(x)
    if x.dtype.char == "e":
        return in_single(linalg_vector_norm, None, x, p=p, axis=axis, keepdims=keepdims)
    if p == 2:  # the usual norm, three times as fast
        return np.sqrt(add_up(np.square(x), axis, keepdims))
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=p)


def _norm_slope(x, z, x_shape, p, axis, keepdims):
    z = restore_axes(z, x_shape, axis, keepdims)
    if p == 2:
        return x / without_zeros(z)
    if p == 1:
        return sign(x)
    if p in (math.inf, -math.inf):
        chosen = is_extreme(np.abs(x), z)
        return sign(x) * chosen / np.sum(chosen, axis=axis, keepdims=True, dtype=x.dtype)
    if p > 2:
        return x * np.abs(x) ** (p - 2) / without_zeros(z) ** (p - 1)
    return sign(x) * (without_zeros(np.abs(x), 1) / without_zeros(z, 1)) ** (p - 1)


def _norm_dx(g, x, z, x_shape, p, axis, keepdims):
    if p == 0:
        return np.zeros_like(x)
    return restore_axes(g, x_shape, axis, keepdims) * _norm_slope(x, z, x_shape, p, axis, keepdims)


linalg_vector_norm.vjp(x=_norm_dx)


@general(refuses="bc")
def median(x, *, ignore_nan=False, axis=None, keepdims=False):
    """z = the median of x over axis        dL/dx = g where x is the median, else 0

    For an even number of entries, it is the lower of the two middle ones. Equal entries share g equally.
    If an entry is NaN, so is z; with ignore_nan, only the other entries count.
    """
    numbers = x.size - int(np.isnan(x).sum())
    if not x.size or (numbers < x.size and not ignore_nan):
        return x.dtype.type(math.nan)
    return np.sort(x, axis=None)[(numbers - 1) // 2 if numbers else 0]


median.vjp(x=_shared_by_ties).jvp(_average_over_ties)


# --------------------------------------------------------------- cumulative sums and products


@linear(result="sum")
def cumsum(x, *, axis, out=None):
    """z[k] = x[0] + ... + x[k] along axis        dL/dx[k] = g[k] + ... + g[n - 1]"""
    return _accumulated(np.add, x, axis, out)


def _accumulated(ufunc, x, axis, out=None):
    """The running results of the ufunc along axis, computed in a wider dtype: in float16, 256 + 0.1 is 256."""
    wide = np.float32 if x.dtype == float16 else np.float64
    if x.dtype.kind != "f" or x.dtype == wide:
        return ufunc.accumulate(x, axis=axis, out=out)
    z = x.astype(wide)  # faster than accumulate(dtype=)
    return into(out, ufunc.accumulate(z, axis=axis, out=z).astype(x.dtype))


cumsum.vjp(x=lambda g, axis: np.flip(cumsum(np.flip(g, axis), axis=axis), axis))


@general(result="sum")
def cumprod(x, *, axis, out=None):
    """z[k] = x[0] * ... * x[k] along axis        dL/dx[k] = sum of g[i] * z[i] / x[k] over i >= k"""
    return _accumulated(np.multiply, x, axis, out)


def recurrence(a, b):
    """z with z[0] = b[0] and z[k] = a[k - 1] * z[k - 1] + b[k], along the first axis.

    Two consecutive steps z -> a * z + b can be written as one such step. So steps are combined
    in pairs, then in fours, and so on, as in `running_product`.
    """
    step = 1
    while step < b.shape[0]:
        b = np.concatenate([b[:step], a * b[:-step] + b[step:]])
        a = a[step:] * a[:-step]
        step *= 2
    return b


def _shifted_by_one(x):
    """1, x[0], x[1], ... without the last entry."""
    return np.concatenate([np.ones_like(x[:1]), x[:-1]])


def _cumprod_dx(g, x, z, axis):
    if none_is_zero(x):
        return np.flip(cumsum(np.flip(g * z, axis), axis=axis), axis) / x
    # With zeros: dx[k] = z[k - 1] * r[k], where r[k] = g[k] + x[k + 1] * r[k + 1].
    g, x, z = (np.moveaxis(a, axis, 0) for a in (g, x, z))
    r = np.flip(recurrence(np.flip(x[1:], 0), np.flip(g, 0)), 0)
    return np.moveaxis(_shifted_by_one(z) * r, 0, axis)


def _cumprod_dot(x_dot, x, z, axis):
    """The product rule, step by step: z_dot[k] = x[k] * z_dot[k - 1] + z[k - 1] * x_dot[k]."""
    x_dot, x, z = (np.moveaxis(a, axis, 0) for a in (x_dot, x, z))
    return np.moveaxis(recurrence(x[1:], _shifted_by_one(z) * x_dot), 0, axis)


cumprod.vjp(x=_cumprod_dx).jvp(_cumprod_dot)


@general(result="float", refuses="biu")
def logcumsumexp(x, *, axis):
    """z[k] = log(exp(x[0]) + ... + exp(x[k]))        dL/dx[k] = sum of g[i] * exp(x[k] - z[i]) over i >= k"""
    return _accumulated(np.logaddexp, x, axis)


def _decay_factors(z):
    """exp(z[k] - z[k + 1]): the share of the previous sum in each sum."""
    return np.exp(z[:-1] - z[1:])


def _logcumsumexp_dx(g, x, z, axis):
    # All exponents are <= 0: dx[k] = exp(x[k] - z[k]) * r[k], where
    # r[k] = g[k] + exp(z[k] - z[k + 1]) * r[k + 1].
    g, x, z = (np.moveaxis(a, axis, 0) for a in (g, x, z))
    r = np.flip(recurrence(np.flip(_decay_factors(z), 0), np.flip(g, 0)), 0)
    return np.moveaxis(np.exp(x - z) * r, 0, axis)


def _logcumsumexp_dot(x_dot, x, z, axis):
    x_dot, x, z = (np.moveaxis(a, axis, 0) for a in (x_dot, x, z))
    return np.moveaxis(recurrence(_decay_factors(z), np.exp(x - z) * x_dot), 0, axis)


logcumsumexp.vjp(x=_logcumsumexp_dx).jvp(_logcumsumexp_dot)


# ------------------------------------------------------------------------- argmax, all, any


@constant(np.argmax, result="int", refuses="c")
def argmax(x, *, axis=None, keepdims=False):
    """z = the index of the max of x along axis, the first one in a tie"""


@constant(np.argmin, result="int", refuses="c")
def argmin(x, *, axis=None, keepdims=False):
    """z = the index of the min of x along axis, the first one in a tie"""


@constant(np.all, result="bool")
def all(x, *, axis=None, keepdims=False, out=None):
    """z = are all entries true?"""
    return _uint8_if_x_is(x, np.logical_and.reduce(x, axis=axis, keepdims=keepdims, out=out))


@constant(np.any, result="bool")
def any(x, *, axis=None, keepdims=False, out=None):
    """z = is any entry true?"""
    return _uint8_if_x_is(x, np.logical_or.reduce(x, axis=axis, keepdims=keepdims, out=out))


def _uint8_if_x_is(x, z):
    """The result of all and any for uint8 input is uint8, because old programs use uint8 for booleans."""
    return z.astype(x.dtype) if x.dtype == np.uint8 else z


single_for_halves(var, std)  # sums and squares may overflow
