"""Table of derivatives, chapter 4: the same entries in another arrangement.

Nothing is computed here, so nothing is saved but shapes: the gradient is put back by the
opposite arrangement. A view shares memory with its input where NumPy can arrange that.
"""

import numpy as np

from minigrad.op import constant, elementwise, general, linear
from minigrad.shapes import sum_to


@linear(view=True)
def reshape(x, *, shape):
    """z = x with another shape        dL/dx = g with the shape of x"""
    return x.reshape(shape)


reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@linear(view=True)
def permute(x, *, axes):
    """z[i, j, ...] = x with its axes in the order `axes`        dL/dx = g, put back in order"""
    return np.transpose(x, axes)


permute.vjp(x=lambda g, axes: permute(g, axes=tuple(axes.index(i) for i in range(len(axes)))))


@linear(view=True)
def transpose(x, *, axis0, axis1):
    """z = x with two axes exchanged        dL/dx = g with the same two exchanged"""
    return np.swapaxes(x, axis0, axis1)


transpose.vjp(x=lambda g, axis0, axis1: transpose(g, axis0=axis0, axis1=axis1))


@linear(view=True)
def expand(x, *, shape):
    """z = x repeated along new axes and those of size 1        dL/dx = g, summed over them"""
    return np.broadcast_to(x, shape)


expand.vjp(x=lambda g, x_shape: sum_to(g, x_shape))


@linear(view=True)
def unsqueeze(x, *, axis):
    """z = x with a new axis of size 1        dL/dx = g without it"""
    return np.expand_dims(x, axis)


unsqueeze.vjp(x=lambda g, axis: squeeze(g, axis=(axis,)))


@linear(view=True)
def squeeze(x, *, axis):
    """z = x without some axes of size 1        dL/dx = g with them"""
    return np.squeeze(x, axis)


squeeze.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@linear()
def clone(x, *, out=None):
    """z = a copy of x        dL/dx = g"""
    return np.positive(x, out=out) if x.dtype.kind != "b" else np.logical_or(x, x, out=out)


clone.vjp(x=lambda g: g)


@general(np.concatenate)
def cat(*xs, axis=0, out=None):
    """z = the xs one after another along axis        dL/dx[k] = the k-th part of g"""
    return np.concatenate(xs, axis=axis, out=out)


def _cat_dx(g, k, xs_shapes, axis):
    start = 0
    for shape in xs_shapes[:k]:
        start += shape[axis]
    return g[(slice(None),) * axis + (slice(start, start + xs_shapes[k][axis]),)]


cat.vjp(xs=_cat_dx)
cat.jvp(lambda xs_dot, xs, axis: cat(*_or_zeros(xs_dot, xs), axis=axis))


def _or_zeros(xs_dot, xs):
    """The tangents, with zeros for the inputs that have none."""
    return [np.zeros_like(x) if x_dot is None else x_dot for x_dot, x in zip(xs_dot, xs)]


@general(np.stack)
def stack(*xs, axis=0, out=None):
    """z = the xs side by side along a new axis        dL/dx[k] = g at k along it"""
    return np.stack(xs, axis=axis, out=out)


stack.vjp(xs=lambda g, k, axis: g[(slice(None),) * axis + (k,)])
stack.jvp(lambda xs_dot, xs, axis: stack(*_or_zeros(xs_dot, xs), axis=axis))


@elementwise(inplace=True)
def copy(x, y, *, out=None):
    """z = y        dz/dx = 0        dz/dy = 1

    What remains of x when y is written over it: its place.
    """
    z = np.empty_like(x) if out is None else out
    z[...] = y
    return z


copy.vjp(x=lambda g: np.zeros_like(g),
         y=lambda g: g)


@constant(np.zeros_like)
def zeros_like(x, *, out=None):
    """z = 0, shaped like x"""
    z = np.empty_like(x) if out is None else out
    z[...] = 0
    return z
