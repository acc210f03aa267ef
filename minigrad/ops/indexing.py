"""Table of derivatives, chapter 5: indexing, gather and scatter.

The rule of `getitem` is `put_zeros`, and the rule of `put_zeros` is `getitem`: they are
adjoint. The gradient of reading an entry is added at the position it was read from, so an
entry that was read twice gets two contributions. `gather` and `scatter_add` are the same
kind of pair along one axis.

Indices are settings, not inputs, because they have no gradient.
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.op import general, linear
from minigrad.core.shapes import arranged_as
from minigrad.core.sparse import add_rows, element_numbers
from minigrad.ops.elementwise import copied, keep

WHOLE_AXIS = slice(None)


def kind_of_index(index):
    """The node's name for x[index]. As in PyTorch, it depends on the last part of the index that has an effect."""
    name = "SliceBackward0" if len(index) == 1 and index[0].__class__ is slice else "AliasBackward0"
    for part in index:
        if part.__class__ is int:
            name = "SelectBackward0"
        elif part.__class__ is slice:
            name = "SliceBackward0" if part != WHOLE_AXIS else name
        elif part is None:
            name = "UnsqueezeBackward0"
        elif part is not ...:
            return "IndexBackward0"
    return name


@linear(view=True, node=kind_of_index)
def getitem(x, *, index):
    """z = x[index]        dL/dx = zeros like x, with g added at index"""
    z = x[index]
    if z.__class__ is np.ndarray and (z.base is x or z.base is x.base is not None):
        return z  # a view
    if not is_basic(index):
        # NumPy reorders the memory if indices are mixed with slices.
        return np.ascontiguousarray(z) if z.ndim and z.__class__ is np.ndarray else z
    return z if isinstance(z, np.ndarray) else x[(*index, ...)]  # a view, also for a single entry


getitem.vjp(x=lambda g, x_shape, index: put_zeros(g, index=index, shape=x_shape))


def add_to_part(g, node, pending, sums):
    """total[index] += g, if the engine already has a sum of gradients for x. This avoids an array of zeros as large as x. Returns whether it did."""
    (x,), (_, index) = node.edges, node.saved
    if added := x in sums and is_basic(index):  # no position occurs twice
        pending[x][index] += g
    return added


getitem.into = add_to_part


@linear()
def put_zeros(x, *, index, shape, out=None):
    """z = zeros(shape); z[index] += x        dL/dx = g[index]"""
    z = np.zeros(shape, x.dtype) if out is None else out
    if out is not None:
        z[...] = 0
    if is_basic(index):
        z[index] = x  # no position occurs twice
    else:
        add_at(z, index, x)
    return z


put_zeros.vjp(x=lambda g, index: getitem(g, index=index))


def is_basic(index):
    """True if the index has only ints, slices, ... and None, so that x[index] is a view."""
    for part in index if index.__class__ is tuple else (index,):
        if part.__class__ not in BASIC and isinstance(part, (np.ndarray, list, bool, np.bool_)):
            return False
    return True


BASIC = frozenset([int, slice, type(...), type(None)])


def add_at(z, index, x):
    """z[index] += x, where a position can occur more than once."""
    rows = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(rows, np.ndarray):
        if not z.flags.c_contiguous or z.size > 1 << 24:
            np.add.at(z, index, x)
            return
        positions = _entries_at(element_numbers(z.shape), index)  # np.add.at is fast only for vectors
        x = x if x.shape == positions.shape else np.broadcast_to(x, positions.shape)
        np.add.at(z.reshape(-1), positions.reshape(-1), x.reshape(-1))
    elif rows.dtype.kind == "b":
        z[rows] += x  # in a mask, no position occurs twice
    else:
        shape = (*rows.shape, *z.shape[1:])
        add_rows(z, rows, x if x.shape == shape else np.broadcast_to(x, shape))


def _entries_at(x, index):
    """x[index] in C order. For integers along one axis, this is `take`, which is three times as fast."""
    *before, last = index if isinstance(index, tuple) else (index,)
    whole = all(part.__class__ is slice and part == WHOLE_AXIS for part in before)
    return x.take(last, len(before)) if whole and isinstance(last, np.ndarray) and last.dtype.kind != "b" else x[index]


# ------------------------------------------------------------------------- as_strided


@linear(view=True)
def as_strided(x, *, size, stride, storage_offset):
    """z[i, j] = x[storage_offset + i * stride[0] + j * stride[1]]        dL/dx = zeros like x, with g added there

    x is the memory as a vector. The same entry of x can occur several times in z, as in overlapping windows.
    """
    steps = tuple(n * x.strides[0] for n in stride)  # a tangent can have another memory layout
    return strided_view(x[storage_offset:], size, steps)


as_strided.vjp(x=lambda g, x_shape, size, stride, storage_offset:
                   put_zeros(g, index=(_memory_positions(size, stride, storage_offset),), shape=x_shape))


def strided_view(x, shape, strides):
    """A view of x with this shape and these strides (in bytes), which must stay inside x's memory."""
    if x.flags.c_contiguous:  # ten times faster than NumPy's as_strided
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def _memory_positions(size, stride, offset):
    """The position in memory of each entry."""
    steps = [positions * step for positions, step in zip(own_places(size), stride, strict=True)]
    return np.asarray(offset + sum(steps))


# ------------------------------------------------------------------------- along one axis


def along(index, axis):
    """The index for x[..., index[i, j, k], ...]: `index` on the given axis, its own position on every other axis."""
    mesh = own_places(index.shape)
    return (*mesh[:axis], index, *mesh[axis + 1 :])


@lru_cache(maxsize=256)
def own_places(shape):
    """For each axis, the numbers 0, 1, 2, ... along it. The arrays are cached: do not write to them."""
    return np.ix_(*(np.arange(n) for n in shape))


def flat_along(index, axis, shape):
    """`along` as an index into the flattened array. NumPy's ufunc.at is fast only for vectors."""
    return np.ravel_multi_index(along(index, axis), shape).reshape(-1)


@linear()
def gather(x, *, index, axis):
    """z[i, j] = x[i, index[i, j]], for axis 1        dL/dx = zeros like x, with g added at index"""
    return x[along(index, axis)] if x.ndim else np.broadcast_to(x, index.shape).copy()


gather.vjp(x=lambda g, x_shape, index, axis:
               scatter_add(np.zeros(x_shape, g.dtype), g, index=index, axis=axis))


@general(inplace=True)
def scatter_add(x, y, *, index, axis, out=None):
    """z = x; z[i, index[i, j]] += y[i, j], for axis 1        dL/dx = g        dL/dy = g at index"""
    if x.dtype == np.float16:  # a sum in half precision would stop growing at 2048
        return copied(scatter_add.forward(x.astype(np.float32), y.astype(np.float32), index=index, axis=axis).astype(x.dtype), out)
    z = copied(x, out)
    if not z.ndim:
        z += y.sum(dtype=z.dtype)
        return z
    if z.flags.c_contiguous and index.size:
        y = y if y.shape == index.shape else np.broadcast_to(y, index.shape)
        np.add.at(z.reshape(-1), flat_along(index, axis, z.shape), y.reshape(-1))
    else:
        np.add.at(z, along(index, axis), y)
    return z


scatter_add.vjp(x=lambda g: g,
                y=lambda g, index, axis: gather(g, index=index, axis=axis))
scatter_add.jvp(lambda x_dot, y_dot, x, y, index, axis:
                    scatter_add(or_zero(x_dot, x), or_zero(y_dot, y), index=index, axis=axis))


def or_zero(tangent, like):
    """The tangent of an input, or zeros if it has none."""
    return np.zeros_like(like) if tangent is None else tangent


@general(inplace=True)
def scatter_mul(x, y, *, index, axis, out=None):
    """z = x; z[i, index[i, j]] *= y[i, j], for axis 1        dL/dx, dL/dy = g * product of the other factors"""
    z = copied(x, out)
    if z.ndim:
        np.multiply.at(z, along(index, axis), y)
    else:
        z *= np.prod(np.broadcast_to(y, index.shape), dtype=z.dtype)
    return z


def _other_factors(x, y, index, axis):
    """For each entry of x and of y, the product of all other factors at its position.

    Without zeros, this is the total product divided by the entry. So zeros are left out of the
    total product. If exactly one other factor is zero, it is multiplied in again: the result is 0
    anyway, but second derivatives need to see this factor. With more zeros, the result is just 0.
    """
    x_zero, y_zero = x == 0, y == 0
    product = scatter_mul(np.where(x_zero, 1, x), np.where(y_zero, 1, y), index=index, axis=axis)
    zeros = scatter_add(np.where(x_zero, x, 0), np.where(y_zero, y, 0), index=index, axis=axis)
    count = scatter_add(_number(x_zero), np.broadcast_to(_number(y_zero), index.shape), index=index, axis=axis)
    at_y = [gather(whole, index=index, axis=axis) for whole in (product, zeros, count)]
    return _without(x, x_zero, product, zeros, count), _without(y, y_zero, *at_y)


def _without(x, is_zero, product, zeros, count):
    """The product of the other factors, from the product of the nonzero ones and the sum and count of the zeros."""
    product, zeros = product / np.where(is_zero, 1, x), zeros - np.where(is_zero, x, 0)
    count = count - _number(is_zero)
    return np.where(count == 0, product, np.where(count == 1, product * zeros, 0))


def _number(truth):
    return getattr(truth, "array", truth).astype(np.int64)


scatter_mul.vjp(x=lambda g, x, y, index, axis: g * _other_factors(x, y, index, axis)[0],
                y=lambda g, x, y, index, axis: gather(g, index=index, axis=axis) * _other_factors(x, y, index, axis)[1])


def _scatter_mul_dot(x_dot, y_dot, x, y, index, axis):
    of_x, of_y = _other_factors(x, y, index, axis)
    z_dot = np.zeros_like(x) if x_dot is None else x_dot * of_x
    return z_dot if y_dot is None else scatter_add(z_dot, y_dot * of_y, index=index, axis=axis)


scatter_mul.jvp(_scatter_mul_dot)


@general(inplace=True)
def scatter(x, y, *, index, axis, out=None):
    """z = x; z[i, index[i, j]] = y[i, j], for axis 1        dL/dx = g, but 0 at index        dL/dy = g at index"""
    z = copied(x, out)
    z[along(index, axis) if z.ndim else ...] = y if z.ndim else np.broadcast_to(y, index.shape).reshape(-1)[-1]
    return z


scatter.vjp(x=lambda g, index, axis: scatter(g, np.zeros((), g.dtype), index=index, axis=axis),
            y=lambda g, index, axis: gather(g, index=index, axis=axis))
scatter.jvp(lambda x_dot, y_dot, x, y, index, axis:
                scatter(or_zero(x_dot, x), or_zero(y_dot, y), index=index, axis=axis))


@linear()
def index_select(x, *, index, axis):
    """z = the entries x[index] along axis        dL/dx = zeros like x, with g added at index

    An index with n axes counts the entries of n axes of x, from `axis` on, as if they were one.
    """
    return (x if index.ndim == 1 else x.reshape(_merged(x.shape, axis, index.ndim))).take(index, axis)


def _merged(shape, axis, n):
    """The shape with n axes, from `axis` on, merged into one."""
    return (*shape[:axis], math.prod(shape[axis : axis + n]), *shape[axis + n :])


def _index_select_dx(g, x_shape, index, axis):
    d = put_zeros(g, index=(WHOLE_AXIS,) * axis + (index,), shape=_merged(x_shape, axis, index.ndim))
    return d if index.ndim == 1 else np.reshape(d, x_shape)


index_select.vjp(x=_index_select_dx)


# ---------------------------------------------------------------------- masks, and writing


@general(np.where, masks=("c",), as_computed=True)
def where(c, x, y):
    """z = x where c, else y        dL/dx = g where c        dL/dy = g where not c"""
    return arranged_as(c, np.where(c, x, y))


where.vjp(x=lambda g, c: np.where(c, g, 0),
          y=lambda g, c: np.where(c, 0, g))
where.jvp(lambda c, x_dot, y_dot: np.where(c, 0 if x_dot is None else x_dot, 0 if y_dot is None else y_dot))


@general(inplace=True)
def masked_fill(x, y, *, mask, out=None):
    """z = x; z[mask] = y, one number        dL/dx = g, but 0 at mask        dL/dy = sum of g at mask"""
    if out is None:
        return np.where(mask, y, x)
    np.copyto(copied(x, out), y, where=mask)
    return out


masked_fill.vjp(x=lambda g, mask: masked_fill(g, np.zeros((), g.dtype), mask=mask),
                y=lambda g, mask: keep(g, mask))
masked_fill.jvp(lambda x_dot, y_dot, x, y, mask:
                    masked_fill(or_zero(x_dot, x), or_zero(y_dot, y), mask=mask))


@general(inplace=True)
def index_put(x, y, *, index, accumulate=False, out=None):
    """z = x; z[index] = y        dL/dx = g, but 0 at index        dL/dy = g[index]

    With accumulate, z[index] += y, and dL/dx = g.
    """
    z = copied(x, out)
    if accumulate:
        add_at(z, index, y)
    else:
        z[index] = y
    return z


index_put.vjp(x=lambda g, index, accumulate: g if accumulate else index_put(g, 0, index=index),
              y=lambda g, index: getitem(g, index=index))
index_put.jvp(lambda x_dot, y_dot, x, index, accumulate:
                  index_put(or_zero(x_dot, x), 0 if y_dot is None else y_dot, index=index, accumulate=accumulate))
