"""Table of derivatives, chapter 2: many entries become one.

`axis` is None (all axes), a number, or a tuple; `keepdims` leaves the reduced axes in
place with size 1. What was one entry and fed many gets back one gradient, which is
handed to each of the many: a sum forward is a copy backward.
"""

import math

import numpy as np

from minigrad.op import constant, general, linear
from minigrad.shapes import normalize, repeat_to, restore_axes


@linear(np.sum, result="sum")
def sum(x, *, axis=None, keepdims=False, out=None):
    """z = sum of x over axis        dL/dx = g, repeated along axis"""
    return np.add.reduce(x, axis=axis, keepdims=keepdims, out=out)


sum.vjp(x=lambda g, x_shape, axis, keepdims:
            repeat_to(restore_axes(g, x_shape, axis, keepdims), x_shape))


def count(x_shape, axis):
    """How many entries are reduced to one."""
    if axis is None:
        return math.prod(x_shape)
    return math.prod(x_shape[i] for i in normalize(axis, len(x_shape))) if x_shape else 1


@linear(np.mean)
def mean(x, *, axis=None, keepdims=False, out=None):
    """z = sum of x over axis / n        dL/dx = g / n, repeated along axis"""
    total = np.add.reduce(x, axis=axis, keepdims=keepdims, out=out)
    return np.divide(total, total.dtype.type(count(x.shape, axis)), out=out)


mean.vjp(x=lambda g, x_shape, axis, keepdims:
             repeat_to(restore_axes(g / count(x_shape, axis), x_shape, axis, keepdims), x_shape))


@general()
def amax(x, *, axis=None, keepdims=False, out=None):
    """z = greatest of x over axis        dL/dx = g where x is the greatest, else 0

    Where several entries are the greatest, they share g equally.
    """
    return np.max(x, axis=axis, keepdims=keepdims, out=out)


@general()
def amin(x, *, axis=None, keepdims=False, out=None):
    """z = least of x over axis        dL/dx = g where x is the least, else 0

    Where several entries are the least, they share g equally.
    """
    return np.min(x, axis=axis, keepdims=keepdims, out=out)


def _shared_by_ties(g, x, z, x_shape, axis, keepdims):
    chosen = x == restore_axes(z, x_shape, axis, keepdims)
    ties = np.sum(chosen, axis=axis, keepdims=True, dtype=g.dtype)
    return (restore_axes(g, x_shape, axis, keepdims) * chosen) / ties


def _average_over_ties(x_dot, x, z, x_shape, axis, keepdims):
    chosen = x == restore_axes(z, x_shape, axis, keepdims)
    ties = np.sum(chosen, axis=axis, keepdims=keepdims, dtype=x_dot.dtype)
    return np.sum(x_dot * chosen, axis=axis, keepdims=keepdims) / ties


for _op in (amax, amin):
    _op.vjp(x=_shared_by_ties).jvp(_average_over_ties)


@linear()
def max(x, *, at, axis, keepdims=False):
    """z = x at the place `at` along axis, its greatest        dL/dx = g there, else 0

    The place is looked for beforehand (argmax), and the first one is taken in a tie.
    """
    z = np.take_along_axis(x, at, axis)
    return z if keepdims else np.squeeze(z, axis)


@linear()
def min(x, *, at, axis, keepdims=False):
    """z = x at the place `at` along axis, its least        dL/dx = g there, else 0"""
    return max.forward(x, at=at, axis=axis, keepdims=keepdims)


@linear()
def put_along(x, *, at, axis, shape, keepdims=False):
    """z = zeros(shape), with x at the place `at` along axis        dL/dx = g there"""
    z = np.zeros(shape, x.dtype)
    np.put_along_axis(z, at, x if keepdims else np.expand_dims(x, axis), axis)
    return z


for _op in (max, min):
    _op.vjp(x=lambda g, x_shape, at, axis, keepdims:
                put_along(g, at=at, axis=axis, shape=x_shape, keepdims=keepdims))
put_along.vjp(x=lambda g, at, axis, keepdims: max(g, at=at, axis=axis, keepdims=keepdims))


@constant(np.argmax, result="int")
def argmax(x, *, axis=None, keepdims=False):
    """z = where along axis x is greatest, the first one in a tie"""
    return np.argmax(x, axis=axis, keepdims=keepdims)


@constant(np.argmin, result="int")
def argmin(x, *, axis=None, keepdims=False):
    """z = where along axis x is least, the first one in a tie"""
    return np.argmin(x, axis=axis, keepdims=keepdims)


@constant(np.all, result="bool")
def all(x, *, axis=None, keepdims=False, out=None):
    """z = are all entries true?"""
    return np.all(x, axis=axis, keepdims=keepdims, out=out)


@constant(np.any, result="bool")
def any(x, *, axis=None, keepdims=False, out=None):
    """z = is any entry true?"""
    return np.any(x, axis=axis, keepdims=keepdims, out=out)
