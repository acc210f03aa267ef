"""Table of derivatives, chapter 4: shapes and the order of axes and entries.

These ops only rearrange entries, so they save nothing but shapes. The rule rearranges the
gradient back. A view shares memory with its input where NumPy allows it.
"""

from functools import lru_cache

import numpy as np

from minigrad.core.op import elementwise, general, linear
from minigrad.core.shapes import add_up, order_of, sum_to
from minigrad.ops.elementwise import ZERO, copied, into
from minigrad.ops.indexing import or_zero, strided_view


@linear(view=True, node="ViewBackward0")
def reshape(x, *, shape):
    """z = x with another shape        dL/dx = g with the shape of x"""
    return x.reshape(shape)


reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@linear(view=True)
def permute(x, *, dims):
    """z[i, j, ...] = x with its axes in the order `dims`        dL/dx = g, put back in order"""
    return x.transpose(dims)


@lru_cache(maxsize=256)
def _inverse_permutation(dims):
    """The inverse permutation of `dims`."""
    return tuple(dims.index(i) for i in range(len(dims)))


permute.vjp(x=lambda g, dims: permute(g, dims=_inverse_permutation(dims)))


@linear(view=True)
def transpose(x, *, dim0, dim1):
    """z = x with two axes swapped        dL/dx = g with the same axes swapped"""
    return x.swapaxes(dim0, dim1) if x.ndim else x[...]


transpose.vjp(x=lambda g, dim0, dim1: transpose(g, dim0=dim0, dim1=dim1))


@linear(view=True)
def expand(x, *, shape):
    """z = x repeated along new axes and those of size 1        dL/dx = g, summed over them"""
    if x.shape == tuple(shape):
        return x[...]
    if isinstance(x, np.ndarray) and x.flags.c_contiguous and 0 not in shape:  # faster than np.broadcast_to
        strides = [0 if n == 1 else step for n, step in zip(x.shape, x.strides, strict=True)]
        return np.ndarray(shape, x.dtype, x, 0, [0] * (len(shape) - x.ndim) + strides)
    z = np.broadcast_to(x, shape)
    # A writable view of x. Do not write to entries that share memory.
    return strided_view(x, z.shape, z.strides) if type(z) is np.ndarray else z


expand.vjp(x=lambda g, x_shape: sum_to(g, x_shape))


@linear(view=True)
def unsqueeze(x, *, axis):
    """z = x with a new axis of size 1        dL/dx = g without it"""
    return x[(slice(None),) * axis + (None,)]


unsqueeze.vjp(x=lambda g, axis: squeeze(g, axis=(axis,)))


@linear(view=True, node=lambda axis: "SqueezeBackward1" if axis and len(axis) == 1 else "SqueezeBackward0")
def squeeze(x, *, axis):
    """z = x without some axes of size 1        dL/dx = g with them"""
    z = x.squeeze(axis)
    return x[...] if z is x else z  # NumPy returns the array itself if there is no axis to remove


@linear(view=True)
def view(x, *, shape):
    """z = x with another shape, sharing its memory        dL/dx = g with the shape of x"""
    z = x.reshape(shape)
    if z.base is not x and x.ndim and x.size and not np.may_share_memory(x, z):  # NumPy had to copy
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return z


@linear(as_computed=True)
def unsafe_view(x, *, shape):
    """z = x with another shape        dL/dx = g with the shape of x

    The result uses the memory of x but does not count as a view, because nothing else uses x. As in PyTorch,
    functions that compute with fewer axes than they return end with this op.
    """
    return x.reshape(shape)


for _op in (squeeze, view, unsafe_view):
    _op.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@linear(view=True)
def t(x):
    """z[j, i] = x[i, j]        dL/dx[i, j] = g[j, i]"""
    return x.T


t.vjp(x=lambda g: t(g))


@linear(view=True)
def diagonal(x, *, offset=0, dim1=0, dim2=1):
    """z[..., i] = x[i, ..., i]        dL/dx = g on the diagonal, 0 elsewhere"""
    z = x.diagonal(offset, dim1, dim2)
    if x.flags.writeable:
        z.flags.writeable = True
    return z


diagonal.vjp(x=lambda g, x_shape, offset, dim1, dim2:
                 put_diagonal(g, shape=x_shape, offset=offset, dim1=dim1, dim2=dim2))


@linear(node="DiagEmbedBackward0")
def put_diagonal(x, *, shape, offset=0, dim1=0, dim2=1):
    """z = zeros(shape), with x on the diagonal        dL/dx = the diagonal of g"""
    z = np.zeros(shape, x.dtype)
    diagonal.forward(z, offset=offset, dim1=dim1, dim2=dim2)[...] = x
    return z


put_diagonal.vjp(x=lambda g, offset, dim1, dim2: diagonal(g, offset=offset, dim1=dim1, dim2=dim2))


@linear(view=True)
def unfold(x, *, axis, size, step):
    """z[..., i, ..., j] = x[..., i * step + j, ...], j < size        dL/dx = the overlapping windows of g, added"""
    n, width = x.shape[axis], x.strides[axis]
    shape = (*x.shape[:axis], (n - size) // step + 1, *x.shape[axis + 1 :], size)
    return strided_view(x, shape, (*x.strides[:axis], width * step, *x.strides[axis + 1 :], width))


unfold.vjp(x=lambda g, x_shape, axis, size, step: unfold_backward(g, shape=x_shape, axis=axis, size=size, step=step))


@linear()
def unfold_backward(x, *, shape, axis, size, step):
    """z = zeros(shape), with the windows of x added at their positions        dL/dx = the windows of g"""
    z = np.zeros(shape, x.dtype)
    for j in range(size):
        places = slice(j, j + step * (x.shape[axis] - 1) + 1, step) if x.shape[axis] else slice(0, 0)
        z[(slice(None),) * axis + (places,)] += x[..., j]
    return z


unfold_backward.vjp(x=lambda g, axis, size, step: unfold(g, axis=axis, size=size, step=step))


# ------------------------------------------------------------------------- copies


@linear(as_computed=True)
def flip(x, *, dims):
    """z = x in reverse order along some axes        dL/dx = g in reverse order along them"""
    steps = [slice(None, None, -1 if i in dims else 1) for i in range(x.ndim)]
    return x[tuple(steps)].copy(order_of(x))


flip.vjp(x=lambda g, dims: flip(g, dims=dims))


@linear()
def roll(x, *, shifts, dims=None):
    """z[i + shifts] = x[i], wrapping around        dL/dx[i] = g[i + shifts]"""
    if dims is None:
        return roll.forward(x.reshape(-1), shifts=(shifts,), dims=(0,)).reshape(x.shape)
    for n, k in zip(shifts, dims, strict=True):
        before, first = (slice(None),) * k, -n % max(1, x.shape[k])
        x = np.concatenate((x[(*before, slice(first, None))], x[(*before, slice(first))]), k)
    return x


roll.vjp(x=lambda g, shifts, dims:
             roll(g, shifts=-shifts if dims is None else tuple(-n for n in shifts), dims=dims))


@linear(node="RepeatBackward0")
def tile(x, *, repeats):
    """z = x repeated `repeats` times along each axis        dL/dx = the sum of the tiles of g"""
    return np.tile(x, repeats)


def _tile_dx(g, x_shape, repeats):
    sizes = (1,) * (len(repeats) - len(x_shape)) + x_shape
    apart = g.reshape(tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair))
    axes = tuple(range(0, 2 * len(sizes), 2))
    d = add_up(apart, axes) if isinstance(g, np.ndarray) else apart.sum(axis=axes)
    return d.reshape(x_shape) if sizes else g


tile.vjp(x=_tile_dx)


@linear(inplace=True)
def tril(x, *, diagonal=0, out=None):
    """z = x on and below the diagonal, 0 above        dL/dx = g there"""
    return _without(x, _mask_above(*x.shape[-2:], diagonal), out)


@lru_cache(maxsize=16)
def _mask_above(n, m, diagonal):
    """True above the diagonal of an (n, m) matrix. The array is cached: do not write to it."""
    return np.arange(m) > np.arange(diagonal, n + diagonal)[:, None]


def _without(x, outside, out):
    """x with zeros outside a triangle. Three times as fast as np.tril."""
    z = copied(x, out)
    np.copyto(z, ZERO[z.dtype], where=outside)
    return z


tril.vjp(x=lambda g, diagonal: tril(g, diagonal=diagonal))


@linear(inplace=True)
def triu(x, *, diagonal=0, out=None):
    """z = x on and above the diagonal, 0 below        dL/dx = g there"""
    return _without(x, np.logical_not(_mask_above(*x.shape[-2:], diagonal - 1)), out)


triu.vjp(x=lambda g, diagonal: triu(g, diagonal=diagonal))


@linear(as_computed=True)
def clone(x, *, order="K", out=None):
    """z = a copy of x        dL/dx = g

    The copy has the memory order of x ("K"), or is in row-major order ("C").
    """
    if out is None:
        return np.array(x, order=order_of(x) if order == "K" else order)
    out[...] = x
    return out


clone.vjp(x=lambda g: g)


@general(np.concatenate)
def cat(*xs, axis=0, out=None):
    """z = the xs joined along axis        dL/dx[k] = the k-th part of g"""
    return np.concatenate(xs, axis=axis, out=out)


def _cat_dx(g, k, xs_shapes, axis):
    start = sum([shape[axis] for shape in xs_shapes[:k]])
    return g[(slice(None),) * (axis % g.ndim) + (slice(start, start + xs_shapes[k][axis]),)]


cat.vjp(xs=_cat_dx)
cat.jvp(lambda xs_dot, xs, axis: cat(*map(or_zero, xs_dot, xs), axis=axis))


@general(np.stack)
def stack(*xs, axis=0, out=None):
    """z = the xs joined along a new axis        dL/dx[k] = g at index k of this axis"""
    if len({x.shape for x in xs}) > 1:
        raise ValueError("all input arrays must have the same shape")
    if axis < 0:
        axis += xs[0].ndim + 1
    if axis == 0 and out is None:
        return np.array(xs)  # twice as fast as what follows
    new = (slice(None),) * axis + (None,)
    return np.concatenate([x[new] for x in xs], axis, out)  # three times as fast as np.stack


stack.vjp(xs=lambda g, k, axis: g[(slice(None),) * (axis % g.ndim) + (k,)])
stack.jvp(lambda xs_dot, xs, axis: stack(*map(or_zero, xs_dot, xs), axis=axis))


@elementwise(inplace=True, casts=True, node="CopyBackwards")
def copy(x, y, *, out=None):
    """z = y        dz/dx = 0        dz/dy = 1

    It overwrites x with y. Only the shape and dtype of x matter.
    """
    return into(np.empty_like(x) if out is None else out, y)


# np.zeros_like takes four times as long for an array; it works for a Tensor as well
copy.vjp(x=lambda g: np.zeros(g.shape, g.dtype) if g.__class__ is np.ndarray else np.zeros_like(g),
         y=lambda g: g)
