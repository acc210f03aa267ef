"""Table of derivatives, chapter 6, concluded: convolution, pooling and resampling.

A convolution becomes a matrix product if the windows of x are copied into a matrix, one window
per column or per row (im2col). This matrix is much larger than x, so a large batch is computed
in parts. `_Windows` chooses rows or columns so that longer pieces of x are contiguous, which
makes copying fast. Results are always contiguous.

convolution, its gradient with respect to x and its gradient with respect to w all come from
one trilinear form in x, w and g. The rules of each one use the other two.
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.op import general, linear
from minigrad.ops.indexing import gather, scatter_add, strided_view

NO_PADDING = (0, 0, 0, 0)  # top, bottom, left, right


@general(result="strict")
def convolution(x, w, b, *, stride=(1, 1), padding=NO_PADDING, dilation=(1, 1), groups=1):
    """z[n, o, p] = sum of x[n, c, p + k] * w[o, c, k], + b[o]        dL/dx, dL/dw: below        dL/db = sum of g

    x (n, c, h, w), w (o, c / groups, kh, kw), b (o) or empty for none;
    stride and dilation (rows, columns), padding (top, bottom, left, right).
    """
    windows = _Windows(_padded_shape(x.shape, padding), w.shape, stride, dilation, groups)
    z = np.empty((len(x), len(w), windows.count), np.result_type(x, w))
    w = windows.kernels(w)
    for part in windows.parts():
        matrix, zs = windows.matrix(_pad(x[part], padding)), windows.by_group(z[part])
        if windows.in_rows:
            rows = matrix @ w.transpose(0, 2, 1)
            zs[...] = rows.reshape(groups, len(zs), windows.count, w.shape[1]).transpose(1, 0, 3, 2)
        else:
            np.matmul(w, matrix, out=zs)
    if b.size:
        z += b[:, None]
    return z.reshape(len(x), z.shape[1], *windows.shape)


@linear(result="strict")
def convolution_dx(y, w, *, shape, stride, padding, dilation, groups=1):
    """z = the gradient of a convolution with respect to x        dL/dy = convolution of g with w        dL/dw = convolution_dw(y, g)"""
    windows = _Windows(_padded_shape(shape, padding), w.shape, stride, dilation, groups)
    around = _padding_back(padding, dilation, windows.size)
    copied, added = len(w) * math.prod(shape[2:]), shape[1] * windows.count
    if stride == (1, 1) and min(around) >= 0 and copied <= 2 * added and np.isfinite(np.add.reduce(w, axis=None)):
        # Copying the windows of y takes less time than adding to those of x. (0 * inf in the padding would be NaN.)
        return convolution(y, _turned(w, groups), np.zeros(0, w.dtype), padding=around, dilation=dilation, groups=groups)
    y, w = windows.by_group(y.reshape(len(y), len(w), windows.count)), windows.kernels(w)
    z = windows.zeros(np.result_type(y, w))
    for part in windows.parts():
        windows.add(z[part], y[part].transpose(0, 1, 3, 2) @ w if windows.in_rows else w.transpose(0, 2, 1) @ y[part])
    z = np.transpose(z, (0, 3, 1, 2)) if windows.in_rows else z
    return np.ascontiguousarray(_crop(z, padding))


def _padding_back(padding, dilation, kernel_size):
    """The padding of y in the convolution (with stride 1) that leads from y back to x; negative if y would be cropped."""
    top, bottom, left, right = padding
    down, across = (d * (k - 1) for d, k in zip(dilation, kernel_size, strict=True))
    return down - top, down - bottom, across - left, across - right


def _turned(w, groups):
    """The kernels of that convolution: reversed, and with input and output channels exchanged in each group."""
    o, c, kh, kw = w.shape
    w = w.reshape(groups, o // groups, c, kh, kw).swapaxes(1, 2)
    return w[..., ::-1, ::-1].reshape(groups * c, o // groups, kh, kw)


@linear(result="strict")
def convolution_dw(y, x, *, shape, stride, padding, dilation, groups=1):
    """z = the gradient of a convolution with respect to w        dL/dy = convolution of x with g        dL/dx = convolution_dx(y, g)"""
    windows = _Windows(_padded_shape(x.shape, padding), shape, stride, dilation, groups)
    y = windows.by_group(y.reshape(len(x), shape[0], windows.count))
    z = None
    for part in windows.parts():
        matrix, ys = windows.matrix(_pad(x[part], padding)), y[part]
        if windows.in_rows:
            z_part = ys.transpose(1, 2, 0, 3).reshape(groups, ys.shape[2], len(ys) * windows.count) @ matrix
        else:
            z_part = np.add.reduce(ys @ matrix.transpose(0, 1, 3, 2), axis=0)
        z = z_part if z is None else z + z_part
    return np.ascontiguousarray(windows.as_kernels(z))


class _Windows:
    """The windows of a padded image (n, groups * c, h, w), as one matrix for each example and each group of channels.

    in_rows   False: each window is a column. x keeps its layout (channels first), and a contiguous
              run is as long as a row of windows. True: each window is a row. x is copied to
              channels-last, and a run is as long as one row of a window with all its channels
    """

    def __init__(self, x_shape, w_shape, stride, dilation, groups, in_rows=None):
        self.x_shape, self.stride, self.dilation, self.groups = x_shape, stride, dilation, groups
        _, self.c, *self.size = w_shape
        self.shape = tuple((n - d * (k - 1) - 1) // s + 1
                           for n, k, s, d in zip(x_shape[2:], self.size, stride, dilation, strict=True))
        self.count = self.shape[0] * self.shape[1]
        self.in_rows = self.size[1] * self.c > 2 * self.shape[1] if in_rows is None else in_rows

    def parts(self):
        """Slices of the examples. The matrix of a part fits into the processor's cache, if it is not a single example's."""
        n, c = self.x_shape[:2]
        step = max(1, 2**19 // max(1, c * self.size[0] * self.size[1] * self.count))
        return [slice(k, k + step) for k in range(0, n, step)] or [slice(0)]  # one part also of an empty batch

    def matrix(self, x):
        """The windows: (n, groups, entries, windows), or (groups, n * windows, entries) if in_rows."""
        (sh, sw), (dh, dw), (kh, kw), (rows, columns) = self.stride, self.dilation, self.size, self.shape
        x = np.ascontiguousarray(np.transpose(x, (0, 2, 3, 1)) if self.in_rows else x)
        entries = self.c * kh * kw
        if self.in_rows:
            n, h, w, c = x.strides
            shape = (self.groups, len(x), rows, columns, kh, kw, self.c)
            view = strided_view(x, shape, (self.c * c, n, h * sh, w * sw, h * dh, w * dw, c))
            return view.reshape(self.groups, len(x) * self.count, entries)
        n, c, h, w = x.strides
        shape = (len(x), self.groups, self.c, kh, kw, rows, columns)
        view = strided_view(x, shape, (n, self.c * c, c, h * dh, w * dw, h * sh, w * sw))
        return view.reshape(len(x), self.groups, entries, self.count)

    def by_group(self, y):
        """A result (n, o, windows) as (n, groups, o / groups, windows)."""
        return y.reshape(len(y), self.groups, y.shape[1] // self.groups, self.count)

    def kernels(self, w):
        """w (o, c, kh, kw) as (groups, o / groups, entries), in the order of a window's entries."""
        entries = self.c * self.size[0] * self.size[1]
        return (w.transpose(0, 2, 3, 1) if self.in_rows else w).reshape(self.groups, len(w) // self.groups, entries)

    def as_kernels(self, z):
        """The inverse of `kernels`."""
        o = z.shape[0] * z.shape[1]
        if not self.in_rows:
            return z.reshape(o, self.c, *self.size)
        return z.reshape(o, *self.size, self.c).transpose(0, 3, 1, 2)

    def zeros(self, dtype):
        n, c, height, width = self.x_shape
        return np.zeros((n, height, width, c) if self.in_rows else self.x_shape, dtype)

    def add(self, z, matrix):
        """The adjoint of `matrix`: add each entry of the matrix to the entry of z that it was copied from.

        The matrix is (n, groups, entries, windows), or (n, groups, windows, entries) if in_rows.
        """
        (kh, kw), (rows, columns), sw = self.size, self.shape, self.stride[1]
        if not self.in_rows:
            matrix = matrix.reshape(*z.shape[:2], kh, kw, rows, columns)
            for (i, j), window in _window_slices((kh, kw), self.stride, self.dilation, self.shape):
                part = z[window]
                part += matrix[:, :, i, j]
            return
        down, across = (_slices(axis, self.size, self.stride, self.dilation, self.shape) for axis in (0, 1))
        matrix = matrix.reshape(len(z), self.groups, rows, columns, kh, kw, self.c)
        z = z.reshape(*z.shape[:3], self.groups, self.c).transpose(0, 3, 1, 2, 4)
        for i in range(kh):
            if self.dilation[1] == 1 and columns <= 4 * kw:  # contiguous runs of kw * c numbers
                for j in range(columns):
                    z[:, :, down[i], j * sw : j * sw + kw] += matrix[:, :, :, j, i]
            else:
                for j in range(kw):
                    z[:, :, down[i], across[j]] += matrix[:, :, :, :, i, j]


def _padded_shape(shape, padding):
    """The shape with padding on its last two axes."""
    top, bottom, left, right = padding
    return (*shape[:-2], shape[-2] + top + bottom, shape[-1] + left + right)


def _crop(z, padding):
    """z without the padding on its last two axes."""
    top, bottom, left, right = padding
    return z[..., top : z.shape[-2] - bottom, left : z.shape[-1] - right]


def _pad(x, padding, value=0):
    """x with padding on its last two axes."""
    if not any(padding):
        return x
    if x.__class__ is not np.ndarray:  # a program is recorded
        top, bottom, left, right = padding
        widths = (*((0, 0),) * (x.ndim - 2), (top, bottom), (left, right))
        return np.pad(x, widths, constant_values=value)
    z = np.full(_padded_shape(x.shape, padding), value, x.dtype)
    _crop(z, padding)[...] = x
    return z


def flat_images(x):
    """x with its last two axes merged. The size is explicit because NumPy cannot infer -1 for an empty array."""
    return np.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def _convolution_db(g, b_shape):
    if b_shape == (0,):
        return np.zeros(0, g.dtype)
    if isinstance(g, np.ndarray):
        g = flat_images(g)
        return np.add.reduce(g @ np.ones(g.shape[2], g.dtype), axis=0)  # the sum of each row, but faster
    return np.sum(g, axis=(0, 2, 3))


def _convolution_dot(x_dot, w_dot, b_dot, x, w, b, z, stride, padding, dilation, groups):
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    none = np.zeros(0, z.dtype)
    z_dot = np.zeros_like(z)
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


@linear(node="Im2ColBackward0")
def im2col(x, *, kernel_size, stride=(1, 1), padding=NO_PADDING, dilation=(1, 1)):
    """z[n, k, p] = x[n, p + k]: each column is a window        dL/dx = col2im(g)"""
    windows = _Windows(_padded_shape(x.shape, padding), (1, x.shape[1], *kernel_size), stride, dilation, 1, in_rows=False)
    z = windows.matrix(_pad(x, padding))[:, 0]
    return z.copy() if np.may_share_memory(x, z) else z


@linear(node="Col2ImBackward0")
def col2im(x, *, shape, kernel_size, stride, padding, dilation):
    """z = zeros(shape), with each column added to its window        dL/dx = im2col(g)"""
    shape = _padded_shape((len(x), x.shape[1] // (kernel_size[0] * kernel_size[1]), *shape), padding)
    windows = _Windows(shape, (1, shape[1], *kernel_size), stride, dilation, 1, in_rows=False)
    z = windows.zeros(x.dtype)
    windows.add(z, x)
    return np.ascontiguousarray(_crop(z, padding))


im2col.vjp(x=lambda g, x_shape, kernel_size, stride, padding, dilation:
               col2im(g, shape=x_shape[2:], kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation))
col2im.vjp(x=lambda g, kernel_size, stride, padding, dilation:
               im2col(g, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation))


# --------------------------------------------------------------------------- pooling


@general(node="MaxPool2DWithIndicesBackward0", derived=("shape",))
def max_pool2d(x, *, kernel_size, stride, padding=NO_PADDING, dilation=(1, 1), shape):
    """z = the largest entry of each window of the last two axes        dL/dx = g there, 0 elsewhere

    If several entries are equal, the first one gets the gradient. shape is (rows, columns) of the result.
    """
    x = _pad(x, padding, _lowest_value(x.dtype))
    return _reduce_windows(np.maximum, x, kernel_size, stride, dilation, shape)


def _reduce_windows(function, x, kernel_size, stride, dilation, shape):
    """Reduce each window to one number with a ufunc: first along axis 0 of the window, then along axis 1."""
    if kernel_size == (1, 1):
        x = np.array(x)
    for offsets in _slices_by_axis(kernel_size, stride, dilation, shape):
        z, *others = [x[place] for place in offsets]
        x = function(z, others[0]) if others else z
        for other in others[1:]:
            function(x, other, out=x)
    return x


@lru_cache(maxsize=256)
def _slices_by_axis(kernel_size, stride, dilation, shape):
    """For each axis of the windows, and each offset along it: the index of x at this offset in all windows."""
    rows, columns = (_slices(axis, kernel_size, stride, dilation, shape) for axis in (0, 1))
    return [(..., s, slice(None)) for s in rows], [(..., s) for s in columns]


def _lowest_value(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _slices(axis, kernel_size, stride, dilation, shape):
    """For each offset in a window along an axis (0 rows, 1 columns): the slice of x at this offset in all windows."""
    s, d, n = stride[axis], dilation[axis], shape[axis]
    return [slice(k * d, k * d + s * (n - 1) + 1, s) for k in range(kernel_size[axis])]


@lru_cache(maxsize=256)
def _window_slices(kernel_size, stride, dilation, shape):
    """For each offset (i, j) in a window: the offset, and the index of x at this offset in all windows."""
    down, across = (_slices(axis, kernel_size, stride, dilation, shape) for axis in (0, 1))
    return [((i, j), (..., down[i], across[j])) for i in range(kernel_size[0]) for j in range(kernel_size[1])]


def places(x, kernel_size, stride, padding, dilation, shape):
    """The index of the largest entry of each window, in the flattened last two axes of x."""
    top, _, left, _ = padding
    width = x.shape[-1]
    x = _pad(x, padding, _lowest_value(x.dtype))
    first = np.arange(shape[0])[:, None] * (stride[0] * width) + np.arange(shape[1]) * stride[1]
    largest = np.full((*x.shape[:-2], *shape), _lowest_value(x.dtype), x.dtype)
    at = np.zeros(largest.shape, np.int64)
    for (i, j), window in _window_slices(kernel_size, stride, dilation, shape):
        here = first + ((i * dilation[0] - top) * width + j * dilation[1] - left)
        better = (x[window] > largest) | np.isnan(x[window])
        at = np.where(better, here, at)
        largest = np.where(better, x[window], largest)
    return at


def _max_pool_dx(g, x, x_shape, kernel_size, stride, padding, dilation, shape):
    if isinstance(g, np.ndarray):
        x_padded = _pad(x, padding, _lowest_value(x.dtype))
        # Recomputed, because ReLU(inplace=True) may have overwritten the result.
        z = _reduce_windows(np.maximum, x_padded, kernel_size, stride, dilation, shape)
        # Find the maxima by comparing values. This fails for NaN, which is not equal to itself, and
        # for infinity, where 0 * g is not 0.
        if math.isfinite(np.add.reduce(z, axis=None) + np.add.reduce(g, axis=None)):
            return _crop(_scatter_to_maxima(g, x_padded, z, kernel_size, stride, dilation, shape), padding)
    at = places(getattr(x, "array", x), kernel_size, stride, padding, dilation, shape)
    flat = (*x_shape[:-2], x_shape[-2] * x_shape[-1])
    g, at = flat_images(g), flat_images(at)
    return np.reshape(scatter_add(np.zeros(flat, g.dtype), g, index=at, axis=len(flat) - 1), x_shape)


def _scatter_to_maxima(g, x, z, kernel_size, stride, dilation, shape):
    """Zeros like x, with each g added at the first entry of its window that equals z."""
    d = np.zeros(x.shape, x.dtype)
    apart = stride[0] >= kernel_size[0] and stride[1] >= kernel_size[1] and dilation == (1, 1)  # windows do not overlap
    waiting = np.ones(z.shape, bool)  # the windows whose largest entry has not been found yet
    for _, window in _window_slices(kernel_size, stride, dilation, shape):
        here = (x[window] == z) & waiting
        waiting ^= here
        if apart:
            np.multiply(g, here, out=d[window])
        else:
            d[window] += g * here
    return d


def _max_pool_dot(x_dot, x, z, kernel_size, stride, padding, dilation, shape):
    at = places(getattr(x, "array", x), kernel_size, stride, padding, dilation, shape)
    flat = flat_images(x_dot)
    return np.reshape(gather(flat, index=flat_images(at), axis=flat.ndim - 1), z.shape)


max_pool2d.vjp(x=_max_pool_dx).jvp(_max_pool_dot)
max_pool2d.piecewise = {"x": "MaxPool2DWithIndicesBackwardBackward0"}


@linear(derived=("shape", "count"))
def window_sum(x, *, kernel_size, stride, padding=NO_PADDING, shape, count=1):
    """z = the sum of each window of the last two axes, divided by count        dL/dx = g / count, added to its whole window"""
    half = x.dtype == np.float16  # summed in float32, as in PyTorch
    z = _reduce_windows(np.add, _pad(x.astype(np.float32) if half else x, padding), kernel_size, stride, (1, 1), shape)
    z = z if count == 1 else z / count
    return z.astype(np.float16) if half else z


window_sum.vjp(x=lambda g, x_shape, kernel_size, stride, padding, count:
                   window_spread(g, kernel_size=kernel_size, stride=stride, padding=padding, shape=x_shape[-2:], count=count))
window_sum.piecewise = {"x": "AvgPool2DBackwardBackward0"}


@linear()
def window_spread(x, *, kernel_size, stride, padding, shape, count=1):
    """z = zeros(shape), with each x / count added to its whole window        dL/dx = the sums of the windows of g, divided by count"""
    x = x if count == 1 else x / count
    z = np.zeros(_padded_shape((*x.shape[:-2], *shape), padding), x.dtype)
    if stride[0] >= kernel_size[0] and stride[1] >= kernel_size[1]:  # windows do not overlap: write all at once
        (*lead, h, w), (rows, columns) = z.strides, x.shape[-2:]
        windows = (*x.shape[:-2], rows, kernel_size[0], columns, kernel_size[1])
        strided_view(z, windows, (*lead, h * stride[0], h, w * stride[1], w))[...] = x[..., None, :, None]
    else:
        for _, window in _window_slices(kernel_size, stride, (1, 1), x.shape[-2:]):
            z[window] += x
    return _crop(z, padding)


window_spread.vjp(x=lambda g, x_shape, kernel_size, stride, padding, count:
                      window_sum(g, kernel_size=kernel_size, stride=stride, padding=padding, shape=x_shape[-2:], count=count))


# ------------------------------------------------------------------------- resampling


@linear()
def resample(x, *, matrices):
    """z[j, l] = the sum of x[i, k] * matrices[0][i, j] * matrices[1][k, l]        dL/dx = the same for g and the transposed matrices

    There is a matrix for each of the last axes of x; None leaves an axis as it is.

    Each entry of z depends on only a few entries of x, because most of a matrix is 0. So an infinity or
    NaN must not spread to all of z, although 0 * inf is NaN in a matrix product.
    """
    z = _resampled(x, matrices, _weighted)
    return z if math.isfinite(np.add.reduce(z, axis=None)) else _resampled(x, matrices, _weighted_by_entry)


def _resampled(z, matrices, weighted):
    for axis in range(-len(matrices), 0):
        if matrices[axis] is not None:
            z = weighted(z, matrices[axis].astype(z.dtype), z.ndim + axis)
    return z


def _weighted(x, matrix, axis):
    """x times the matrix, along axis."""
    if axis == x.ndim - 1:
        return (x.reshape(math.prod(x.shape[:-1]), len(matrix)) @ matrix).reshape(*x.shape[:-1], matrix.shape[1])
    shape = (*x.shape[:axis], matrix.shape[1], *x.shape[axis + 1 :])
    return (matrix.T @ x.reshape(*x.shape[: axis + 1], math.prod(shape[axis + 1 :]))).reshape(shape)


def _weighted_by_entry(x, matrix, axis):
    """The same, without the products with 0."""
    columns = [(column.nonzero()[0], column) for column in matrix.T]
    return np.stack([np.tensordot(x.take(used, axis), column[used], (axis, 0)) for used, column in columns], axis)


resample.vjp(x=lambda g, matrices: resample(g, matrices=tuple(None if m is None else m.T for m in matrices)))
