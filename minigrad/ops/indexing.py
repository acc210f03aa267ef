"""Table of derivatives, chapter 5: taking entries out, and putting them back.

`getitem` and `put_zeros` are each other's rule. That is what adjoint means: the
gradient of reading an entry is added where it was read, so an entry that was read twice
receives twice.
"""

import numpy as np

from minigrad.op import general, linear


@linear(view=True)
def getitem(x, *, index):
    """z = x[index]        dL/dx = zeros like x, with g added at index"""
    z = x[index]
    return z if isinstance(z, np.ndarray) else x[(*index, ...)]  # a view also of one entry


getitem.vjp(x=lambda g, x_shape, index: put_zeros(g, index=index, shape=x_shape))


@linear()
def put_zeros(x, *, index, shape, out=None):
    """z = zeros(shape); z[index] += x        dL/dx = g[index]"""
    z = np.empty(shape, x.dtype) if out is None else out
    z[...] = 0
    if is_basic(index):
        z[index] = x  # no entry is named twice
    else:
        add_at(z, index, x)
    return z


put_zeros.vjp(x=lambda g, index: getitem(g, index=index))


def is_basic(index):
    """Is this index made of ints, slices, ... and None only, so that x[index] is a view?"""
    parts = index if isinstance(index, tuple) else (index,)
    return not [p for p in parts if isinstance(p, (np.ndarray, list, bool, np.bool_))]


@general(np.where, masks=("c",))
def where(c, x, y):
    """z = x where c, else y        dL/dx = g where c        dL/dy = g where not c"""
    return np.where(c, x, y)


where.vjp(x=lambda g, c: np.where(c, g, 0),
          y=lambda g, c: np.where(c, 0, g))
where.jvp(lambda c, x_dot, y_dot: _where_dot(c, x_dot, y_dot))


def _where_dot(c, x_dot, y_dot):
    if x_dot is None:
        return np.where(c, 0, y_dot)
    if y_dot is None:
        return np.where(c, x_dot, 0)
    return np.where(c, x_dot, y_dot)


@general(inplace=True)
def index_put(x, y, *, index, accumulate=False, out=None):
    """z = x; z[index] = y        dL/dx = g, but 0 at index        dL/dy = g[index]

    With accumulate, z[index] += y, and dL/dx = g.
    """
    z = np.empty_like(x) if out is None else out
    if z is not x:
        z[...] = x
    if accumulate:
        np.add.at(z, index, y)
    else:
        z[index] = y
    return z


index_put.vjp(x=lambda g, index, accumulate: g if accumulate else index_put(g, 0, index=index),
              y=lambda g, index: getitem(g, index=index))


def _index_put_dot(x_dot, y_dot, x, index, accumulate):
    x_dot = np.zeros_like(x) if x_dot is None else x_dot
    return index_put(x_dot, 0 if y_dot is None else y_dot, index=index, accumulate=accumulate)


index_put.jvp(_index_put_dot)
