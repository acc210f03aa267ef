"""Table of derivatives, chapter 6, concluded: what is computed from each window of an image.

Every window of x, laid out as a row of a matrix, turns a convolution into one product
of matrices. Memory is kept with the channels last, where such rows are long runs; what
the user sees, (batch, channel, row, column), is a view of that.

convolution, its gradient by x and its gradient by w are one trilinear form in x, w and g
read in three ways: each one's rules are the other two.
"""

import numpy as np

from minigrad.op import general, linear
from minigrad.ops.indexing import gather, scatter_add


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
