"""Table of derivatives, chapter 6: what neural networks are made of.

Activations, softmax and what is computed with it, convolutions, pooling. A row is here if
its rule is shorter, or its numbers better, than what the other chapters make of it: the
gradient of cross_entropy is p - onehot, which no chain of exp and log gives as exactly.
"""

import math

import numpy as np

from minigrad.op import elementwise, general, linear
from minigrad.ops.elementwise import sigmoid
from minigrad.ops.indexing import gather, put_zeros, scatter_add
from minigrad.ops.special import erf
from minigrad.sparse import RowSparse

# --------------------------------------------------------------------------- activations


def into(out, z):
    """z itself; or out, overwritten by it."""
    if out is None:
        return z
    out[...] = z
    return out


@elementwise(result="float")
def leaky_relu(x, *, negative_slope=0.01, out=None):
    """z = x where x > 0, else negative_slope * x        dz/dx = where(x > 0, 1, negative_slope)"""
    return into(out, np.where(x > 0, x, x * x.dtype.type(negative_slope)))


leaky_relu.vjp(x=lambda g, x, negative_slope: np.where(x > 0, g, g * negative_slope))


@elementwise(result="float")
def elu(x, *, alpha=1.0, out=None):
    """z = x where x > 0, else alpha * (exp(x) - 1)        dz/dx = where(x > 0, 1, alpha * exp(x))"""
    return into(out, np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0))))


elu.vjp(x=lambda g, x, alpha: np.where(x > 0, g, g * (alpha * np.exp(np.minimum(x, 0)))))


@elementwise(result="float")
def silu(x, *, out=None):
    """z = x / (1 + exp(-x))        dz/dx = (1 + x * exp(-x) / (1 + exp(-x))) / (1 + exp(-x))"""
    return into(out, x * sigmoid.forward(x))


def _silu_dx(g, x):
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


silu.vjp(x=_silu_dx)


@elementwise(result="float")
def gelu(x):
    """z = x * (1 + erf(x / sqrt(2))) / 2        dz/dx = z / x + x * exp(-x * x / 2) / sqrt(2 * 3.141592653589793)"""
    return x * (x.dtype.type(0.5) * (1 + erf.forward(x * x.dtype.type(math.sqrt(0.5)))))


def _gelu_dx(g, x):
    below = (erf(x * math.sqrt(0.5)) + 1) * 0.5  # the normal distribution, and its density
    return g * (below + x * np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))


gelu.vjp(x=_gelu_dx)


@elementwise(result="float")
def softplus(x, *, beta=1.0, threshold=20.0, out=None):
    """z = log(1 + exp(beta * x)) / beta        dz/dx = where(beta * x > threshold, 1, 1 / (1 + exp(-beta * x)))

    Where beta * x > threshold, z is taken as x.
    """
    y = x * x.dtype.type(beta)
    return into(out, np.where(y > threshold, x, np.log1p(np.exp(np.minimum(y, threshold))) / x.dtype.type(beta)))


softplus.vjp(x=lambda g, x, beta, threshold: np.where(x * beta > threshold, g, g * sigmoid(x * beta)))


@elementwise(result="float")
def logsigmoid(x, *, out=None):
    """z = -log(1 + exp(-x))        dz/dx = 1 / (1 + exp(x))"""
    return into(out, np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))


logsigmoid.vjp(x=lambda g, x: g * sigmoid(-x))


@elementwise()
def hardtanh(x, *, min_val=-1.0, max_val=1.0, out=None):
    """z = x, but not below min_val nor above max_val        dz/dx = (x > min_val) * (x < max_val)"""
    return into(out, np.clip(x, x.dtype.type(min_val), x.dtype.type(max_val)))


hardtanh.vjp(x=lambda g, x, min_val, max_val: g * ((x > min_val) * (x < max_val)))


@elementwise(result="float")
def hardsigmoid(x, *, out=None):
    """z = x / 6 + 1 / 2, but not below 0 nor above 1        dz/dx = (x > -3) * (x < 3) / 6"""
    return into(out, np.clip(x / 6 + x.dtype.type(0.5), x.dtype.type(0), x.dtype.type(1)))


hardsigmoid.vjp(x=lambda g, x: g * ((x > -3) * (x < 3)) / 6)


@elementwise(result="float")
def hardswish(x, *, out=None):
    """z = x * hardsigmoid(x)        dz/dx = where(x >= 3, 1, (x > -3) * (x / 3 + 1 / 2))"""
    return into(out, x * hardsigmoid.forward(x))


hardswish.vjp(x=lambda g, x: np.where(x >= 3, g, g * ((x / 3 + 0.5) * (x > -3))))


@elementwise()
def threshold(x, *, threshold, value, out=None):
    """z = x where x > threshold, else value        dz/dx = x > threshold"""
    return into(out, np.where(x > threshold, x, x.dtype.type(value)))


threshold.vjp(x=lambda g, x, threshold: g * (x > threshold))


# ------------------------------------------------------------------ softmax and its losses


@general(result="float")
def softmax(x, *, axis):
    """z = exp(x) / sum of exp(x) along axis        dL/dx = z * (g - sum of g * z)

    The greatest entry is subtracted first: that changes nothing, and exp cannot overflow.
    """
    if not x.size:
        return np.copy(x)
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def _softmax_dx(g, z, axis):
    y = g * z
    return y - z * np.sum(y, axis=axis, keepdims=True)


softmax.vjp(x=_softmax_dx).jvp(lambda x_dot, z, axis: _softmax_dx(x_dot, z, axis))


@general(result="float")
def log_softmax(x, *, axis):
    """z = x - log of the sum of exp(x) along axis        dL/dx = g - softmax(x) * sum of g"""
    if not x.size:
        return np.copy(x)
    z = x - x.max(axis, keepdims=True)
    return z - np.log(np.exp(z).sum(axis, keepdims=True))


log_softmax.vjp(x=lambda g, z, axis: g - np.exp(z) * np.sum(g, axis=axis, keepdims=True))
log_softmax.jvp(lambda x_dot, z, axis: x_dot - np.sum(np.exp(z) * x_dot, axis=axis, keepdims=True))


@general(result="float")
def cross_entropy(x, *, target, weights, axis, reduced):
    """z = sum of weights * (logsumexp(x) - x[target])        dL/dx = weights * g * (softmax(x) - onehot)

    The sum is taken if reduced.
    """
    greatest = x.max(axis, keepdims=True) if x.size else np.zeros(_kept(x.shape, axis), x.dtype)
    z = np.log(np.add.reduce(np.exp(x - greatest), axis=axis)) + greatest.reshape(target.shape)
    z = (z - x[at_class(target, axis)]) * weights
    return np.add.reduce(z, axis=None) if reduced else z


def at_class(target, axis):
    """The index of the entries x[n, target[n, ...], ...]."""
    if target.ndim == axis == 1:
        return np.arange(len(target)), target
    mesh = list(np.ix_(*(np.arange(n) for n in target.shape)))
    mesh.insert(axis, target)
    return tuple(mesh)


def _kept(shape, axis):
    return tuple(1 if i == axis else n for i, n in enumerate(shape))


def _cross_entropy_dx(g, x, x_shape, target, weights, axis):
    g = np.broadcast_to(g * weights, target.shape)
    column = _kept(x_shape, axis)
    if not isinstance(x, np.ndarray):
        g = np.reshape(g, column)
        at = target.reshape(column)
        return softmax(x, axis=axis) * g - scatter_add(np.zeros(x_shape, g.dtype), g, index=at, axis=axis)
    d = np.exp(x - x.max(axis, keepdims=True)) if x.size else np.zeros_like(x)
    d *= g.reshape(column) / np.add.reduce(d, axis=axis, keepdims=True)
    d[at_class(target, axis)] -= g
    return d


def _cross_entropy_dot(x_dot, x, target, weights, axis, reduced):
    z_dot = np.sum(softmax(x, axis=axis) * x_dot, axis=axis)
    z_dot = (z_dot - np.squeeze(gather(x_dot, index=np.expand_dims(target, axis), axis=axis), axis)) * weights
    return np.sum(z_dot) if reduced else z_dot


cross_entropy.vjp(x=_cross_entropy_dx).jvp(_cross_entropy_dot)


@linear(result="float")
def nll_loss(x, *, target, weights, axis, reduced):
    """z = -weights * x[target], summed if reduced        dL/dx = -weights * g, put at target"""
    z = x[at_class(target, axis)] * -weights
    return np.add.reduce(z, axis=None) if reduced else z


def _nll_loss_dx(g, x_shape, target, weights, axis):
    g = np.broadcast_to(g * -weights, target.shape)
    if not isinstance(g, np.ndarray):
        return put_zeros(g, index=at_class(target, axis), shape=x_shape)
    d = np.zeros(x_shape, g.dtype)
    d[at_class(target, axis)] = g  # no entry is named twice
    return d


nll_loss.vjp(x=_nll_loss_dx)


@general(result="float")
def mse_loss(x, y, *, mean=True):
    """z = mean (or sum) of (x - y)**2        dL/dx = 2 * g * (x - y) / n        dL/dy = 2 * g * (y - x) / n"""
    d = (x - y).reshape(-1)
    z = np.dot(d, d)
    return z / z.dtype.type(d.size) if mean else z


def _mse_factor(g, x_shape, y_shape, mean):
    if x_shape != y_shape:
        x_shape = np.broadcast_shapes(x_shape, y_shape)
    return g * (2 / max(1, math.prod(x_shape)) if mean else 2)


mse_loss.vjp(x=lambda g, x, y, x_shape, y_shape, mean: _mse_factor(g, x_shape, y_shape, mean) * (x - y),
             y=lambda g, x, y, x_shape, y_shape, mean: _mse_factor(g, x_shape, y_shape, mean) * (y - x))


def _mse_dot(x_dot, y_dot, x, y, x_shape, y_shape, mean):
    d_dot = -y_dot if x_dot is None else x_dot if y_dot is None else x_dot - y_dot
    return np.sum(_mse_factor(d_dot, x_shape, y_shape, mean) * (x - y))


mse_loss.jvp(_mse_dot)


@elementwise(result="float")
def binary_cross_entropy(x, y):
    """z = -y * log(x) - (1 - y) * log(1 - x)        dz/dx = (x - y) / (x * (1 - x))        dz/dy = log(1 - x) - log(x)

    Each logarithm is at least -100, so that x = 0 does not make the loss infinite.
    """
    low = x.dtype.type(-100)
    return (y - 1) * np.maximum(np.log1p(-x), low) - y * np.maximum(np.log(x), low)


binary_cross_entropy.vjp(
    x=lambda g, x, y: g * (x - y) / np.maximum(x * (1 - x), 1e-12),
    y=lambda g, x: g * (np.maximum(np.log(1 - x), -100) - np.maximum(np.log(x), -100)),
)


# ---------------------------------------------------------------- normalizing, and rows


@general(result="float")
def standardize(x, *, axis, eps):
    """z = (x - mean) / sqrt(var + eps) over axis        dL/dx = (g - mean of g - z * mean of g * z) / sqrt(var + eps)

    The core of batch, layer and group normalization, which differ in the axes.
    """
    n = x.dtype.type(max(1, math.prod([x.shape[i] for i in axis])))
    d = x - np.add.reduce(x, axis=axis, keepdims=True) / n
    return d / np.sqrt(np.add.reduce(d * d, axis=axis, keepdims=True) / n + x.dtype.type(eps))


def _standardize_dx(g, x, z, x_shape, axis, eps):
    n = max(1, math.prod([x_shape[i] for i in axis]))
    d = x - np.sum(x, axis=axis, keepdims=True) / n
    deviation = np.sqrt(np.sum(d * d, axis=axis, keepdims=True) / n + eps)
    g_mean, gz_mean = (np.sum(y, axis=axis, keepdims=True) / n for y in (g, g * z))
    return (g - g_mean - z * gz_mean) / deviation


standardize.vjp(x=_standardize_dx)
standardize.jvp(lambda x_dot, x, z, x_shape, axis, eps: _standardize_dx(x_dot, x, z, x_shape, axis, eps))


@linear()
def embedding(x, *, index, padding_idx=None, sparse=False, counts=None):
    """z = x[index], rows of a table        dL/dx = zeros like x, with g added at index

    The row padding_idx, if there is one, gets no gradient. With sparse, only the rows that
    were read are in the gradient. With counts, how often each was read, the gradient of a row
    is a mean and not a sum: no derivative, but asked for to tame frequent words.
    """
    return x.take(index, 0)


def _embedding_dx(g, x_shape, index, padding_idx, sparse, counts):
    if counts is not None:
        g = g / counts[..., None]
    if sparse and isinstance(g, np.ndarray):
        rows, values = index.reshape(-1), g.reshape(-1, *x_shape[1:])
        kept = slice(None) if padding_idx is None else rows != padding_idx
        return RowSparse(rows[kept], values[kept], x_shape)
    if padding_idx is not None:
        g = g * (index != padding_idx)[..., None]
    return put_zeros(g, index=(index,), shape=x_shape)


embedding.vjp(x=_embedding_dx)


@general()
def pad(x, *, widths, value=0):
    """z = x with a margin of `value`, widths (before, after) for each axis        dL/dx = g without the margin"""
    inner = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths, strict=True))
    return np.pad(x[inner], [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)


pad.vjp(x=lambda g, widths: pad(g, widths=tuple((-a, -b) for a, b in widths)))
pad.jvp(lambda x_dot, widths: pad(x_dot, widths=widths))


# --------------------------------------------------------------------------- convolution
#
# Every window of x, laid out as a row of a matrix, turns a convolution into one product
# of matrices. Memory is kept with the channels last, where such rows are long runs; what
# the user sees, (batch, channel, row, column), is a view of that.
#
# convolution, its gradient by x and its gradient by w are one trilinear form in x, w and g
# read in three ways: each one's rules are the other two.


@general(result="strict")
def convolution(x, w, b, *, stride, padding, dilation, groups=1):
    """z[n, o, p] = sum of x[n, c, p + k] * w[o, c, k], + b[o]        dL/dx, dL/dw: below        dL/db = sum of g

    x (n, c, h, w), w (o, c / groups, kh, kw), b (o) or empty for none;
    stride and dilation (rows, columns), padding (top, bottom, left, right).
    """
    x = np.transpose(_margin(x, padding), (0, 2, 3, 1))
    out, size = len(w), w.shape[2:]
    parts = []
    for k in range(groups):
        xk, wk = _group(x, k, groups, -1), _group(w, k, groups, 0)
        columns, shape = _windows(xk, size, stride, dilation)
        parts.append(columns @ wk.transpose(2, 3, 1, 0).reshape(columns.shape[1], out // groups))
    z = parts[0] if groups == 1 else np.concatenate(parts, axis=1)
    if b.size:
        z += b
    return np.transpose(z.reshape(*shape, out), (0, 3, 1, 2))


@linear(result="strict")
def convolution_dx(y, w, *, shape, stride, padding, dilation, groups=1):
    """z = a convolution's gradient by x        dL/dy = convolution of g with w        dL/dw = convolution_dw(y, g)"""
    top, bottom, left, right = padding
    n, c, height, width = shape
    y = np.transpose(y, (0, 2, 3, 1))
    _, rows, columns, out = y.shape
    kh, kw = w.shape[2:]
    z = np.zeros((n, height + top + bottom, width + left + right, c), y.dtype)
    for k in range(groups):
        yk = _group(y, k, groups, -1).reshape(-1, out // groups)
        wk = _group(w, k, groups, 0).transpose(0, 2, 3, 1).reshape(out // groups, -1)
        spread = (yk @ wk).reshape(n, rows, columns, kh, kw, c // groups)
        zk = _group(z, k, groups, -1)
        for i in range(kh):
            down = slice(i * dilation[0], i * dilation[0] + (rows - 1) * stride[0] + 1, stride[0])
            if dilation[1] == 1 and columns <= 4 * kw:  # whole runs of kw * c numbers
                for j in range(columns):
                    zk[:, down, j * stride[1] : j * stride[1] + kw] += spread[:, :, j, i]
            else:
                for j in range(kw):
                    start = j * dilation[1]
                    zk[:, down, start : start + (columns - 1) * stride[1] + 1 : stride[1]] += spread[:, :, :, i, j]
    return np.transpose(z[:, top : top + height, left : left + width], (0, 3, 1, 2))


@linear(result="strict")
def convolution_dw(y, x, *, shape, stride, padding, dilation, groups=1):
    """z = a convolution's gradient by w        dL/dy = convolution of x with g        dL/dx = convolution_dx(y, g)"""
    x = np.transpose(_margin(x, padding), (0, 2, 3, 1))
    y = np.transpose(y, (0, 2, 3, 1))
    out, c, kh, kw = shape
    parts = []
    for k in range(groups):
        columns, _ = _windows(_group(x, k, groups, -1), (kh, kw), stride, dilation)
        yk = _group(y, k, groups, -1).reshape(-1, out // groups)
        parts.append((columns.T @ yk).reshape(kh, kw, c, out // groups).transpose(3, 2, 0, 1))
    return parts[0] if groups == 1 else np.concatenate(parts)


def _group(x, k, groups, axis):
    """The k-th of so many equal parts of x along its first axis (0) or its last (-1)."""
    if groups == 1:
        return x
    n = x.shape[axis] // groups
    return x[k * n : (k + 1) * n] if axis == 0 else x[..., k * n : (k + 1) * n]


def _margin(x, padding, value=0):
    """x with a margin around its last two axes, its memory in the same order."""
    top, bottom, left, right = padding
    if not (top or bottom or left or right):
        return x
    height, width = x.shape[-2:]
    z = np.full_like(x, value, shape=(*x.shape[:-2], height + top + bottom, width + left + right))
    z[..., top : top + height, left : left + width] = x
    return z


def _windows(x, size, stride, dilation):
    """Each window of x, (n, h, w, c), as a row; and (n, rows, columns) of the windows."""
    n, height, width, c = x.shape
    (kh, kw), (sh, sw), (dh, dw) = size, stride, dilation
    rows, columns = (height - dh * (kh - 1) - 1) // sh + 1, (width - dw * (kw - 1) - 1) // sw + 1
    a, b, d, e = x.strides
    shape, strides = (n, rows, columns, kh, kw, c), (a, b * sh, d * sw, b * dh, d * dw, e)
    order = (0, 1, 2, 3, 4, 5)
    if kw * c < 16:  # runs are short within a window, and long across them
        order = (3, 4, 5, 0, 1, 2)
    shape, strides = [shape[i] for i in order], [strides[i] for i in order]
    view = np.lib.stride_tricks.as_strided(x, shape, strides)
    if order[0] == 0:
        return view.reshape(n * rows * columns, kh * kw * c), (n, rows, columns)
    return view.reshape(kh * kw * c, n * rows * columns).T, (n, rows, columns)


def _convolution_db(g, b_shape):
    if b_shape == (0,):
        return np.zeros(0, g.dtype)
    if isinstance(g, np.ndarray):
        g = np.transpose(g, (0, 2, 3, 1)).reshape(-1, g.shape[1])
        return np.dot(np.ones(len(g), g.dtype), g)  # the sum of the rows, but quicker
    return np.sum(g, axis=(0, 2, 3))


def _convolution_dot(x_dot, w_dot, b_dot, x, w, b, z, stride, padding, dilation, groups):
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    none = np.zeros(0, z.dtype)
    z_dot = 0 * z
    if x_dot is not None:
        z_dot = z_dot + convolution(x_dot, w, none, **how)
    if w_dot is not None:
        z_dot = z_dot + convolution(x, w_dot, none, **how)
    if b_dot is not None and b.shape != (0,):
        z_dot = z_dot + np.reshape(b_dot, (-1, 1, 1))
    return z_dot


convolution.vjp(
    x=lambda g, w, x_shape, stride, padding, dilation, groups:
        convolution_dx(g, w, shape=x_shape, stride=stride, padding=padding, dilation=dilation, groups=groups),
    w=lambda g, x, w_shape, stride, padding, dilation, groups:
        convolution_dw(g, x, shape=w_shape, stride=stride, padding=padding, dilation=dilation, groups=groups),
    b=_convolution_db,
).jvp(_convolution_dot)

convolution_dx.vjp(
    y=lambda g, w, stride, padding, dilation, groups:
        convolution(g, w, np.zeros(0, g.dtype), stride=stride, padding=padding, dilation=dilation, groups=groups),
    w=lambda g, y, w_shape, stride, padding, dilation, groups:
        convolution_dw(y, g, shape=w_shape, stride=stride, padding=padding, dilation=dilation, groups=groups),
)

convolution_dw.vjp(
    y=lambda g, x, stride, padding, dilation, groups:
        convolution(x, g, np.zeros(0, g.dtype), stride=stride, padding=padding, dilation=dilation, groups=groups),
    x=lambda g, y, x_shape, stride, padding, dilation, groups:
        convolution_dx(y, g, shape=x_shape, stride=stride, padding=padding, dilation=dilation, groups=groups),
)


# --------------------------------------------------------------------------- pooling


@general()
def max_pool2d(x, *, size, stride, padding, dilation, shape):
    """z = the greatest of each window of the last two axes        dL/dx = g there, 0 elsewhere

    The first of several equal ones is taken. shape is (rows, columns) of the result.
    """
    x = _margin(x, padding, _lowest(x.dtype))
    z = None
    for _, window in _each_place(size, stride, dilation, shape):
        z = np.copy(x[window], order="K") if z is None else np.maximum(z, x[window], out=z)
    return z


def _lowest(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _each_place(size, stride, dilation, shape):
    """For each place (i, j) in a window: what stands there, in all windows."""
    for i in range(size[0]):
        for j in range(size[1]):
            yield (i, j), (..., *(
                slice(k * d, k * d + s * (n - 1) + 1, s)
                for k, s, d, n in zip((i, j), stride, dilation, shape, strict=True)
            ))


def places(x, size, stride, padding, dilation, shape):
    """Where in x, counted row by row, the greatest entry of each window is."""
    top, _, left, _ = padding
    width = x.shape[-1]
    x = _margin(x, padding, _lowest(x.dtype))
    first = np.arange(shape[0])[:, None] * (stride[0] * width) + np.arange(shape[1]) * stride[1]
    at = greatest = None
    for (i, j), window in _each_place(size, stride, dilation, shape):
        here = first + ((i * dilation[0] - top) * width + j * dilation[1] - left)
        if at is None:
            at, greatest = np.broadcast_to(here, x[window].shape).copy(), x[window]
            outside = np.broadcast_to(greatest == _lowest(x.dtype), at.shape)
            at[outside] = -1
        else:
            better = (x[window] > greatest) | (at < 0) & (x[window] != _lowest(x.dtype)) | np.isnan(x[window])
            at = np.where(better, here, at)
            greatest = np.where(better, x[window], greatest)
    return np.where(at < 0, 0, at)


def _max_pool_dx(g, x, z, x_shape, size, stride, padding, dilation, shape):
    if not isinstance(g, np.ndarray):
        at = places(x.array, size, stride, padding, dilation, shape)
        flat = (*x_shape[:-2], x_shape[-2] * x_shape[-1])
        g, at = (a.reshape((*at.shape[:-2], -1)) for a in (g, at))
        return np.reshape(scatter_add(np.zeros(flat, g.dtype), g, index=at, axis=len(flat) - 1), x_shape)
    x = _margin(x, padding, _lowest(x.dtype))
    d = np.zeros_like(x)
    waiting = None  # the windows whose greatest entry has not been met
    for _, window in _each_place(size, stride, dilation, shape):
        here = x[window] == z
        if waiting is None:
            waiting = ~here
        else:
            here &= waiting
            waiting ^= here
        d[window] += g * here
    top, _, left, _ = padding
    return d[..., top : top + x_shape[-2], left : left + x_shape[-1]]


def _max_pool_dot(x_dot, x, z, size, stride, padding, dilation, shape):
    at = places(getattr(x, "array", x), size, stride, padding, dilation, shape)
    flat = np.reshape(x_dot, (*x_dot.shape[:-2], -1))
    return np.reshape(gather(flat, index=at.reshape((*at.shape[:-2], -1)), axis=flat.ndim - 1), z.shape)


max_pool2d.vjp(x=_max_pool_dx).jvp(_max_pool_dot)


@linear()
def window_sum(x, *, size, stride, padding, shape):
    """z = the sum of each window of the last two axes        dL/dx = g, added to all of its window"""
    x = _margin(x, padding)
    z = None
    for _, window in _each_place(size, stride, (1, 1), shape):
        z = np.copy(x[window], order="K") if z is None else np.add(z, x[window], out=z)
    return z


window_sum.vjp(x=lambda g, x_shape, size, stride, padding:
                   window_spread(g, size=size, stride=stride, padding=padding, shape=x_shape[-2:]))


@linear()
def window_spread(x, *, size, stride, padding, shape):
    """z = zeros of that shape, with each x added to all of its window        dL/dx = the sums of the windows of g"""
    top, bottom, left, right = padding
    z = np.zeros_like(x, shape=(*x.shape[:-2], shape[0] + top + bottom, shape[1] + left + right))
    for _, window in _each_place(size, stride, (1, 1), x.shape[-2:]):
        z[window] += x
    return z[..., top : top + shape[0], left : left + shape[1]]


window_spread.vjp(x=lambda g, x_shape, size, stride, padding:
                      window_sum(g, size=size, stride=stride, padding=padding, shape=x_shape[-2:]))
