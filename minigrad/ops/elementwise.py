"""Table of derivatives, chapter 1: elementwise functions.

Each row is a function, followed by one rule per input: the incoming gradient `g` times
the derivative. The parameters of a rule are exactly the values saved for it. If there is a
choice, a rule uses what is cheaper to save: tanh saves `z`, which exists anyway, and not `x`.

If a function has only a docstring, the NumPy function in its decorator computes the result.

You can find the formulas in any table of derivatives. Where the derivative is undefined
(|x| at 0, a tie of two maxima), the row says which value is used; it is PyTorch's.
"""

import numpy as np

from minigrad.core.op import constant, elementwise, general
from minigrad.core.shapes import add_up, order_of

# ------------------------------------------------------------------------- arithmetic


@elementwise(np.add)
def add(x, y, *, out=None):
    """z = x + y        dz/dx = 1        dz/dy = 1

    >>> minigrad.tensor([1.0, 2.0]).add(minigrad.tensor([10.0, 20.0]))
    tensor([11., 22.])
    """


add.vjp(x=lambda g: g,
        y=lambda g: g)


@elementwise(np.subtract, refuses="b")
def sub(x, y, *, out=None):
    """z = x - y        dz/dx = 1        dz/dy = -1

    >>> minigrad.tensor([10.0, 20.0]).sub(minigrad.tensor([1.0, 2.0]))
    tensor([ 9., 18.])
    """


sub.vjp(x=lambda g: g,
        y=lambda g: -g)


@elementwise(np.multiply)
def mul(x, y, *, out=None):
    """z = x * y        dz/dx = y        dz/dy = x

    >>> minigrad.tensor([1.0, 2.0]).mul(minigrad.tensor([3.0, 4.0]))
    tensor([3., 8.])
    """


mul.vjp(x=lambda g, y: g * y,
        y=lambda g, x: g * x)


@elementwise(np.true_divide, result="float")
def div(x, y, *, out=None):
    """z = x / y        dz/dx = 1 / y        dz/dy = -x / y**2

    >>> minigrad.tensor([1.0, 2.0]).div(minigrad.tensor([4.0, 4.0]))
    tensor([0.2500, 0.5000])
    """


div.vjp(x=lambda g, y: g / y,
        y=lambda g, x, y: -g * (x / y / y))


@elementwise(np.negative)
def neg(x, *, out=None):
    """z = -x        dz/dx = -1

    >>> minigrad.tensor([1.0, -2.0]).neg()
    tensor([-1.,  2.])
    """


neg.vjp(x=lambda g: -g)


@elementwise(np.positive)
def positive(x, *, out=None):
    """z = x        dz/dx = 1

    >>> minigrad.tensor([1.0, -2.0]).positive()
    tensor([ 1., -2.])
    """


positive.vjp(x=lambda g: g)


@elementwise(np.abs, refuses="b")
def abs(x, *, out=None):
    """z = abs(x)        dz/dx = sign(x)

    At 0, where the derivative is undefined, it is 0.

    >>> minigrad.tensor([-1.5, 2.0]).abs()
    tensor([1.5000, 2.0000])
    """


abs.vjp(x=lambda g, x: g * sign(x))


def into(out, z):
    """Write z to out and return out; without out, return z. z must not be larger than out."""
    if out is None:
        return z
    if z.ndim > out.ndim:  # NumPy would drop leading axes of size 1
        raise ValueError(f"a result of shape {z.shape} does not fit into {out.shape}")
    out[...] = z
    return out


def in_single(op, out, *xs, **settings):
    """The result of an op in half precision, computed in single precision, where what is in between overflows later."""
    return into(out, op.forward(*[x.astype(np.float32) for x in xs], **settings).astype(xs[0].dtype))


def single_for_halves(*ops):
    """Let these ops compute in single precision if their operands are in half precision."""

    def wider(op, forward):
        def computed(x, *others, **settings):
            if x.dtype.char != "e":
                return forward(x, *others, **settings)
            return in_single(op, settings.pop("out", None), x, *others, **settings)

        return computed

    for op in ops:
        op.forward = wider(op, op.forward)


def copied(x, out):
    """A copy of x that can be written to, in `out` if given. `out` may be x itself."""
    if out is None:
        return np.array(x)
    if out is not x:
        out[...] = x
    return out


def summed(x, axis):
    """The sum over axis, which is kept with size 1. Twice as fast as np.sum for a small array."""
    return add_up(x, axis, True) if isinstance(x, np.ndarray) else np.add.reduce(x, axis=axis, keepdims=True)


class Number(dict):
    """A number as a 0-d array, cached for each dtype. Converting it on each call would take as long as a small op."""

    def __init__(self, value):
        self.value = value

    def __missing__(self, dtype):
        constant = self[dtype] = np.array(self.value, dtype)
        constant.flags.writeable = False
        return constant


ZERO, HALF, ONE = Number(0), Number(0.5), Number(1)
FEW = 500  # entries: below this size, np.where is faster than multiplying, and Python's math module is faster than NumPy


@elementwise(masks=("c",), inplace=False)
def keep(x, c, *, out=None):
    """z = where(c, x, 0)        dz/dx = where(c, 1, 0)

    Used by rules that pass the gradient to only some entries. Unlike x * c, it gives 0 where c is
    False even if x is infinite or NaN: the gradient of relu(x).sqrt() at x = -1 is 0, not 0 * inf.
    """
    if not x.ndim and not c.ndim:
        return x if c else x.dtype.type(0)
    if out is None and x.size < FEW:
        return np.where(c, x, ZERO[x.dtype])
    # For a large array, the product takes a fifth of the time and is nearly always correct.
    z = np.multiply(x, c, out=out)
    total = np.add.reduce(z, axis=None)
    if total - total != 0:  # infinite or NaN
        np.copyto(z, 0, where=np.logical_not(c))
    return z


keep.vjp(x=lambda g, c: keep(g, c))


@elementwise(np.maximum, refuses="c")
def maximum(x, y, *, out=None):
    """z = maximum(x, y)        dz/dx = 1 - (x < y) - (x == y) / 2        dz/dy = 1 - (x > y) - (x == y) / 2

    In a tie, each input gets half of the gradient. If an input is NaN, each gets all of it.

    >>> minigrad.tensor([1.0, 5.0]).maximum(minigrad.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """


def _shared(g, lost, tied):
    """g, but 0 where this input lost, and g / 2 where it tied."""
    d = keep(g, np.logical_not(lost))
    if isinstance(tied, np.ndarray) and not np.count_nonzero(tied):
        return d
    return d + keep(g / 2, tied)


maximum.vjp(x=lambda g, x, y: _shared(g, x <= y, x == y),
            y=lambda g, x, y: _shared(g, x >= y, x == y))


@elementwise(np.minimum, refuses="c")
def minimum(x, y, *, out=None):
    """z = minimum(x, y)        dz/dx = 1 - (x > y) - (x == y) / 2        dz/dy = 1 - (x < y) - (x == y) / 2

    In a tie, each input gets half of the gradient. If an input is NaN, each gets all of it.

    >>> minigrad.tensor([1.0, 5.0]).minimum(minigrad.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """


minimum.vjp(x=lambda g, x, y: _shared(g, x >= y, x == y),
            y=lambda g, x, y: _shared(g, x <= y, x == y))


# ------------------------------------------------------- powers, exponentials, logarithms


@elementwise(np.power, refuses="b", node=lambda needs: "PowBackward1" if all(needs) else "PowBackward0" if needs[0] else "PowBackward2")
def pow(x, y, *, out=None):
    """z = x ** y        dz/dx = y * x**(y - 1)        dz/dy = z * log(x)

    x ** 0 is constant, so its derivative is 0 even at x = 0. At x = 0 and y > 0, the derivative
    with respect to y is 0, the limit from the right.

    >>> minigrad.tensor([2.0, 3.0]).pow(minigrad.tensor([3.0, 2.0]))
    tensor([8., 9.])
    """
    if x.dtype.kind in "iu" and np.any(y < 0):  # 1 / x**n as an integer is 1, -1 or 0
        return into(out, np.where(y < 0, (x == 1) + (x == -1) * (1 - 2 * (y & 1)), x ** np.maximum(y, 0)).astype(x.dtype))
    if getattr(y, "ndim", 0) == 0:  # much faster with y as a number (x ** 2) than as an array
        n = y.item() if hasattr(y, "item") else y
        if out is None:
            return np.asarray(x) ** n
        if n == 2:
            return np.multiply(x, x, out=out)
    return np.power(x, y, out=out)


def _pow_dx(g, x, y):
    n = as_number(y)
    if n == 1 and not getattr(x, "node", None):
        return g
    if n is not None:
        return g * 0 if n == 0 else g * (2 * first_power(x)) if n == 2 else g * (x ** (n - 1) * n)
    zero = y == 0
    return g * np.where(zero, y * 0, y) * x ** (np.where(zero, y * 0, y - 1))


def first_power(x):
    """x, in derivatives of derivatives as x ** 1, so that its derivative 1 depends on x, as in PyTorch."""
    return x**1 if getattr(x, "node", None) else x


def _pow_dy(g, x, y, z):
    at_zero = (x == 0) & (y >= 0)
    return g * z * np.log(np.where(at_zero, x * 0 + 1, x))


def as_number(y):
    """y as a plain number, if it has no axes and needs no gradient; else None."""
    if getattr(y, "ndim", 0) or getattr(y, "requires_grad", False) or getattr(y, "_tangents", None):
        return None
    return y.item() if hasattr(y, "item") else None


pow.vjp(x=_pow_dx, y=_pow_dy)


@elementwise(np.square, node="PowBackward0")
def square(x, *, out=None):
    """z = x ** 2        dz/dx = 2 * x

    >>> minigrad.tensor([3.0, -4.0]).square()
    tensor([ 9., 16.])
    """
    return np.square(x if x.dtype.kind != "b" else x.astype(np.int64), out=out)


square.vjp(x=lambda g, x: g * (2 * first_power(x)))


@elementwise(np.sqrt, result="float")
def sqrt(x, *, out=None):
    """z = sqrt(x)        dz/dx = 1 / (2 * z)

    >>> minigrad.tensor([4.0, 9.0]).sqrt()
    tensor([2., 3.])
    """


sqrt.vjp(x=lambda g, z: g / (2 * z))


@elementwise(np.exp, result="float")
def exp(x, *, out=None):
    """z = exp(x)        dz/dx = z

    >>> minigrad.tensor([0.0, 1.0]).exp()
    tensor([1.0000, 2.7183])
    """


exp.vjp(x=lambda g, z: g * z)


@elementwise(np.log, result="float")
def log(x, *, out=None):
    """z = log(x)        dz/dx = 1 / x

    >>> minigrad.tensor([1.0, 10.0]).log()
    tensor([0.0000, 2.3026])
    """


log.vjp(x=lambda g, x: g / x)


# ------------------------------------------------------------------------ trigonometry


@elementwise(np.sin, result="float")
def sin(x, *, out=None):
    """z = sin(x)        dz/dx = cos(x)

    >>> minigrad.tensor([0.0, 1.0]).sin()
    tensor([0.0000, 0.8415])
    """


sin.vjp(x=lambda g, x: g * np.cos(x))


@elementwise(np.cos, result="float")
def cos(x, *, out=None):
    """z = cos(x)        dz/dx = -sin(x)

    >>> minigrad.tensor([0.0, 1.0]).cos()
    tensor([1.0000, 0.5403])
    """


cos.vjp(x=lambda g, x: -g * np.sin(x))


# ------------------------------------------------------------- tanh, sigmoid and relu


@elementwise(np.tanh, result="float")
def tanh(x, *, out=None):
    """z = tanh(x)        dz/dx = 1 - z**2

    >>> minigrad.tensor([0.0, 1.0]).tanh()
    tensor([0.0000, 0.7616])
    """


tanh.vjp(x=lambda g, z: g * (1 - z * z))


@elementwise(result="float")
def sigmoid(x, *, out=None):
    """z = 1 / (1 + exp(-x))        dz/dx = z * (1 - z)

    A z close to 0 has all its digits, so log(z) is finite until exp(-x) overflows, and then z is 0.

    >>> minigrad.tensor([0.0, 2.0]).sigmoid()
    tensor([0.5000, 0.8808])
    """
    if x.dtype.char == "e":
        return in_single(sigmoid, out, x)
    z = np.negative(x, out=out)
    z = np.exp(z, out=z if z.ndim else out)
    z += ONE[x.dtype]
    return np.reciprocal(z, out=z if z.ndim else out)


sigmoid.vjp(x=lambda g, z: g * (z * (1 - z)))


@elementwise(result="float")
def logit(x, *, eps=None, out=None):
    """z = log(x / (1 - x))        dz/dx = 1 / (x * (1 - x))

    The inverse of sigmoid, for x between 0 and 1; elsewhere z and dz/dx are NaN. With eps, x is first clamped to
    [eps, 1 - eps], and dz/dx is 0 where that changes x.
    """
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x), out=out)


def _logit_dx(g, x, eps):
    low, elsewhere = (0, np.nan) if eps is None else (eps, 0)
    return np.where((x < low) | (x > 1 - low), g * elsewhere, g / (x * (1 - x)))


logit.vjp(x=_logit_dx)


@elementwise(refuses="bc")
def relu(x, *, out=None):
    """z = maximum(x, 0)        dz/dx = z != 0

    At 0, where the derivative is undefined, it is 0. A NaN gets the gradient.

    >>> minigrad.tensor([-1.0, 2.0]).relu()
    tensor([0., 2.])
    """
    return np.maximum(x, ZERO[x.dtype], out=out)


relu.vjp(x=lambda g, z: keep(g, z != (ZERO[z.dtype] if isinstance(z, np.ndarray) else 0)))
relu.piecewise = {"x": "ThresholdBackwardBackward0"}


@general(exact=True, as_computed=True, derived=("node_name",), node=lambda node_name: node_name)
def constant_in(d, x, *, node_name):
    """z = d        dz/dd = 1        dz/dx = 0

    Here d is the gradient of a piecewise linear op with the input x. It depends on x, but its derivative is zero. See
    `as_constant` in core/plan.py.
    """
    return d


constant_in.vjp(d=lambda g: g, x=lambda g: np.zeros_like(g)).jvp(lambda d_dot: d_dot)
constant_in.piecewise = {"x": "ConstantInBackward0"}


# ----------------------------------------------- sign and comparisons: derivative 0 or none


@elementwise(np.sign)
def sign(x, *, out=None):
    """z = sign(x)        dz/dx = 0

    The sign of NaN is 0.

    >>> minigrad.tensor([-2.0, 0.0, 3.0]).sign()
    tensor([-1.,  0.,  1.])
    """
    if x.dtype.kind == "b":
        return np.array(x)
    if x.dtype.kind == "f" and np.count_nonzero(nan := x != x):
        x = np.where(nan, ZERO[x.dtype], x)
    return np.sign(x, out=out)


sign.vjp(x=lambda g: np.zeros_like(g))


@constant(np.equal, result="bool")
def eq(x, y, *, out=None):
    """z = x == y

    >>> minigrad.tensor([1, 2]).eq(minigrad.tensor([1, 5]))
    tensor([ True, False])
    """


@constant(np.not_equal, result="bool")
def ne(x, y, *, out=None):
    """z = x != y

    >>> minigrad.tensor([1, 2]).ne(minigrad.tensor([1, 5]))
    tensor([False,  True])
    """


@constant(np.less, result="bool", refuses="c")
def lt(x, y, *, out=None):
    """z = x < y

    >>> minigrad.tensor([1, 2]).lt(minigrad.tensor([1, 5]))
    tensor([False,  True])
    """


@constant(np.less_equal, result="bool", refuses="c")
def le(x, y, *, out=None):
    """z = x <= y

    >>> minigrad.tensor([1, 2]).le(minigrad.tensor([1, 5]))
    tensor([True, True])
    """


@constant(np.greater, result="bool", refuses="c")
def gt(x, y, *, out=None):
    """z = x > y

    >>> minigrad.tensor([1, 2]).gt(minigrad.tensor([1, 0]))
    tensor([False,  True])
    """


@constant(np.greater_equal, result="bool", refuses="c")
def ge(x, y, *, out=None):
    """z = x >= y

    >>> minigrad.tensor([1, 2]).ge(minigrad.tensor([1, 5]))
    tensor([ True, False])
    """


@constant(np.logical_and, result="bool")
def logical_and(x, y, *, out=None):
    """z = x and y, as booleans

    >>> minigrad.tensor([True, True]).logical_and(minigrad.tensor([True, False]))
    tensor([ True, False])
    """


@constant(np.logical_or, result="bool")
def logical_or(x, y, *, out=None):
    """z = x or y, as booleans

    >>> minigrad.tensor([True, False]).logical_or(minigrad.tensor([False, False]))
    tensor([ True, False])
    """


@constant(np.logical_not, result="bool")
def logical_not(x, *, out=None):
    """z = not x, as a boolean

    >>> minigrad.tensor([True, False]).logical_not()
    tensor([False,  True])
    """


# --------------------------------------------------------- conversion to another dtype


@general(as_computed=True, node="ToCopyBackward0")
def to(x, *, dtype):
    """z = x converted to another dtype        dL/dx = g, converted to the dtype of x"""
    return np.array(x, dtype=dtype, order=order_of(x))


to.vjp(x=lambda g: g)
to.jvp(lambda x_dot, dtype: to(x_dot, dtype=dtype))
