"""Table of derivatives, chapter 1, concluded: rounding, remainders, bits and booleans.

A step function is constant between its jumps, so its derivative is 0. At the jumps, where
the derivative is undefined, it is 0 as well. As in PyTorch, the result still requires a
gradient, and the gradient it passes back is zeros.
"""

import numpy as np

from minigrad.core.op import constant, elementwise
from minigrad.ops.elementwise import in_single

# ------------------------------------------------------------------------------- rounding


# Integers are returned unchanged; before version 2.1, NumPy would convert them to floats.


@elementwise(np.ceil, refuses="b")
def ceil(x, *, out=None):
    """z = the smallest integer >= x        dz/dx = 0

    >>> minigrad.tensor([-1.5, 1.5]).ceil()
    tensor([-1.,  2.])
    """
    return np.positive(x, out=out) if x.dtype.kind in "iu" else np.ceil(x, out=out)


@elementwise(np.floor, refuses="b")
def floor(x, *, out=None):
    """z = the largest integer <= x        dz/dx = 0

    >>> minigrad.tensor([-1.5, 1.5]).floor()
    tensor([-2.,  1.])
    """
    return np.positive(x, out=out) if x.dtype.kind in "iu" else np.floor(x, out=out)


@elementwise(np.trunc, refuses="b")
def trunc(x, *, out=None):
    """z = x rounded toward 0        dz/dx = 0

    >>> minigrad.tensor([-1.5, 1.5]).trunc()
    tensor([-1.,  1.])
    """
    return np.positive(x, out=out) if x.dtype.kind in "iu" else np.trunc(x, out=out)


@elementwise(refuses="bc")
def round(x, *, decimals=0, out=None):
    """z = x rounded to this many decimals, with halves rounded to even        dz/dx = 0"""
    if x.dtype.kind in "iu":
        return np.positive(x, out=out)
    if decimals and x.dtype.char == "e":
        return in_single(round, out, x, decimals=decimals)
    return np.round(x, decimals, out=out) if decimals else np.rint(x, out=out)


for _op in (ceil, floor, trunc, round):
    _op.vjp(x=lambda g: np.zeros_like(g))


# -------------------------------------------------------------- division with a remainder


def _check_divisor(x, y):
    if y.dtype.kind == "b":
        raise TypeError("ufunc not defined for booleans")
    if y.dtype.kind in "iu" and x.size and not np.all(y):
        raise RuntimeError("ZeroDivisionError: integer division or modulo by zero.")


@elementwise(np.floor_divide)
def floor_divide(x, y, *, out=None):
    """z = floor(x / y)        dz/dx = 0        dz/dy = 0

    >>> minigrad.tensor([7.0, -7.0]).floor_divide(minigrad.tensor([2.0, 2.0]))
    tensor([ 3., -4.])
    """
    _check_divisor(x, y)
    return np.floor_divide(x, y, out=out)


@elementwise(node="DivBackward2")
def rounded_div(x, y, *, rounding_mode, out=None):
    """z = x / y, rounded down ("floor") or toward 0 ("trunc")        dz/dx = 0        dz/dy = 0"""
    if rounding_mode == "floor":
        return floor_divide.forward(x, y, out=out)
    if rounding_mode != "trunc":
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")
    if x.dtype.kind == "f":
        return np.trunc(x / y, out=out)
    _check_divisor(x, y)
    return np.floor_divide(x - np.fmod(x, y), y, out=out)


for _op in (floor_divide, rounded_div):
    _op.vjp(x=lambda g: np.zeros_like(g),
            y=lambda g: np.zeros_like(g))


@elementwise(np.remainder, node=lambda needs: "RemainderBackward1" if needs[1] else "RemainderBackward0")
def remainder(x, y, *, out=None):
    """z = x - y * floor(x / y)        dz/dx = 1        dz/dy = -floor(x / y)

    The remainder of Python's %: it has the sign of y.

    >>> minigrad.tensor([7.0, -7.0]).remainder(minigrad.tensor([3.0, 3.0]))
    tensor([1., 2.])
    """
    _check_divisor(x, y)
    return np.remainder(x, y, out=out)


remainder.vjp(x=lambda g: g,
              y=lambda g, x, y: -g * np.floor_divide(x, y))


@elementwise(np.fmod, node=lambda needs: "FmodBackward1" if needs[1] else "FmodBackward0")
def fmod(x, y, *, out=None):
    """z = x - y * trunc(x / y)        dz/dx = 1        dz/dy = -trunc(x / y)

    The remainder of C's %: it has the sign of x.

    >>> minigrad.tensor([7.0, -7.0]).fmod(minigrad.tensor([3.0, 3.0]))
    tensor([ 1., -1.])
    """
    _check_divisor(x, y)
    return np.fmod(x, y, out=out)


fmod.vjp(x=lambda g: g,
         y=lambda g, x, y: -g * np.trunc(x / y))


# --------------------------------------------------------------------- tests, and bits


@constant(np.isnan, result="bool")
def isnan(x, *, out=None):
    """z = is x not a number?

    >>> minigrad.tensor([1.0, minigrad.nan]).isnan()
    tensor([False,  True])
    """


@constant(np.isinf, result="bool")
def isinf(x, *, out=None):
    """z = is x infinite?

    >>> minigrad.tensor([1.0, -minigrad.inf]).isinf()
    tensor([False,  True])
    """


@constant(np.isfinite, result="bool")
def isfinite(x, *, out=None):
    """z = is x finite (neither infinite nor NaN)?

    >>> minigrad.tensor([1.0, minigrad.inf]).isfinite()
    tensor([ True, False])
    """


@constant(np.signbit, result="bool")
def signbit(x, *, out=None):
    """z = is the sign bit of x set? (It is set for -0 too.)

    >>> minigrad.tensor([-1.0, 1.0]).signbit()
    tensor([ True, False])
    """


@constant(np.logical_xor, result="bool")
def logical_xor(x, y, *, out=None):
    """z = exactly one of x and y is true

    >>> minigrad.tensor([True, True]).logical_xor(minigrad.tensor([True, False]))
    tensor([False,  True])
    """


@constant(np.bitwise_and, inplace=True)
def bitwise_and(x, y, *, out=None):
    """z = x & y, bit by bit; for booleans: x and y

    >>> minigrad.tensor([5, 6]).bitwise_and(minigrad.tensor([3, 3]))
    tensor([1, 2])
    """


@constant(np.bitwise_or, inplace=True)
def bitwise_or(x, y, *, out=None):
    """z = x | y, bit by bit; for booleans: x or y

    >>> minigrad.tensor([5, 6]).bitwise_or(minigrad.tensor([3, 3]))
    tensor([7, 7])
    """


@constant(np.bitwise_xor, inplace=True)
def bitwise_xor(x, y, *, out=None):
    """z = x ^ y, bit by bit; for booleans: exactly one of them

    >>> minigrad.tensor([5, 6]).bitwise_xor(minigrad.tensor([3, 3]))
    tensor([6, 5])
    """


@constant(np.invert, inplace=True)
def bitwise_not(x, *, out=None):
    """z = ~x, bit by bit; for booleans: not x

    >>> minigrad.tensor([0, 5]).bitwise_not()
    tensor([-1, -6])
    """


@constant(np.left_shift, inplace=True, refuses="b")
def bitwise_left_shift(x, y, *, out=None):
    """z = x << y = x * 2 ** y

    >>> minigrad.tensor([1, 3]).bitwise_left_shift(minigrad.tensor([2, 2]))
    tensor([ 4, 12])
    """


@constant(np.right_shift, inplace=True, refuses="b")
def bitwise_right_shift(x, y, *, out=None):
    """z = x >> y = floor(x / 2 ** y)

    >>> minigrad.tensor([8, 9]).bitwise_right_shift(minigrad.tensor([2, 2]))
    tensor([2, 2])
    """
