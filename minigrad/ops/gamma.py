"""Table of derivatives, chapter 1, continued: the gamma function and the inverse of erf.

Probability distributions use them. The gamma function extends (n - 1)! to real numbers and is
part of the densities of the Gamma, Beta, Dirichlet and Poisson distributions. erfinv turns
uniform random numbers into samples from the normal distribution.

    lgamma        log of abs(gamma(x))
    digamma       its derivative                        psi(x)
    polygamma     the n-th derivative of digamma        psi_n(x)

The derivative of each is the next one. gamma has poles at 0, -1, -2, ...
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.op import elementwise
from minigrad.ops.elementwise import into
from minigrad.ops.special import Polynomial, erf, erfc, in_pieces

LARGEST = 2.5599833278516383e305  # above this, lgamma overflows
SQRT_PI_OVER_2 = math.sqrt(math.pi) / 2


@elementwise(result="float", refuses="c")
def lgamma(x, *, out=None):
    """z = log(abs(gamma(x)))        dz/dx = digamma(x)

    >>> minigrad.tensor([2.0, 5.0]).lgamma()
    tensor([0.0000, 3.1781])
    """
    x = np.asarray(x)
    values = x.ravel().tolist()
    try:
        z = np.fromiter(map(math.lgamma, values), x.dtype, x.size)
    except (ValueError, OverflowError):
        z = np.array([math.inf if v <= 0 and v.is_integer() or v > LARGEST else math.lgamma(v) for v in values], x.dtype)
    return into(out, z.reshape(x.shape))


lgamma.vjp(x=lambda g, x: g * digamma(x))


@elementwise(result="float", refuses="c")
def digamma(x, *, out=None):
    """z = gamma'(x) / gamma(x)        dz/dx = polygamma(x, order=1)

    The recurrence psi(x) = psi(x + 1) - 1 / x moves x up by 8, where seven terms of a series
    in 1 / x**2 give full precision. For negative x, the reflection formula is used:
    psi(x) = psi(1 - x) - pi / tan(pi x).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 6.3.

    >>> minigrad.tensor([1.0, 2.0]).digamma()
    tensor([-0.5772,  0.4228])
    """
    y = np.asarray(x, np.float64)
    if np.minimum.reduce(y, axis=None, initial=1) > 0:
        z = in_pieces(_digamma_above, y, 8192)
    else:
        below = y < 0
        z = in_pieces(_digamma_above, np.where(below, 1 - y, np.where(y == 0, 1, y)), 8192)
        z = np.where(below, z - np.pi / np.tan(np.pi * (y - np.round(y))), z)
        z = np.where(below & (y == np.floor(y)), np.nan, z)
        z = np.where(y == 0, np.copysign(np.inf, -y), z)
    return into(out, z.astype(np.asarray(x).dtype))


def _digamma_above(y):
    rest = np.add.reduce(1 / np.add.outer(STEPS, y))
    y = y + 8
    s = 1 / (y * y)
    return np.log(y) - 0.5 / y - rest - s * DIGAMMA_SERIES(s)


digamma.vjp(x=lambda g, x: g * polygamma(x, order=1))


@elementwise(result="float")
def polygamma(x, *, order, out=None):
    """z = the derivative of digamma of this order, at x        dz/dx = polygamma(x, order=order+1)

    For n = order, this is (-1)**(n+1) * n! * (the sum of (x + k)**-(n+1) over k = 0, 1, ...). The first 16 terms
    are added one by one (more if x is negative), and the Euler-Maclaurin formula gives the rest.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 6.4 and 23.1.
    """
    if order == 0:
        return digamma.forward(x, out=out)
    y = np.asarray(x, np.float64)
    sign = (-1) ** (order + 1) * math.factorial(order)
    z = sign * in_pieces(lambda y: _zeta(order + 1, y), y, 1024)
    if not np.minimum.reduce(y, axis=None, initial=1) > 0:
        z = np.where((y <= 0) & (y == np.floor(y)), np.copysign(np.inf, sign), z)
    return into(out, z.astype(np.asarray(x).dtype))


def _zeta(s, y):
    """The sum of (y + k)**-s over k = 0, 1, ..., for an integer s > 1."""
    terms = 16 + int(min(1000, -min(y.min(initial=0), 0)))
    first = np.add.reduce((1 / np.add.outer(np.arange(float(terms)), y)) ** s)
    r = 1 / (y + terms)
    return first + r ** (s - 1) * (1 / (s - 1) + r * (0.5 + r * _series_of_zeta(s)(r * r)))


@lru_cache(maxsize=64)
def _series_of_zeta(s):
    """The polynomial of the Euler-Maclaurin series."""
    each = enumerate(BERNOULLI, 1)
    return Polynomial([b * math.prod(range(s, s + 2 * k - 1)) / math.factorial(2 * k) for k, b in each][::-1])


STEPS = np.arange(8.0)
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B2, B4, ..., B14
DIGAMMA_SERIES = Polynomial([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)][::-1])

polygamma.vjp(x=lambda g, x, order: g * polygamma(x, order=order + 1))


@elementwise(result="float", refuses="c")
def erfinv(x, *, out=None):
    """z = the number for which erf(z) is x        dz/dx = sqrt(pi) / 2 * exp(z**2)

    A polynomial gives eight digits, enough for float32. One step of Halley's method, which triples
    the number of digits, gives full float64 precision.

    Source: Giles, Approximating the erfinv function (2012), for the form of the polynomials. The
    coefficients are fitted to have the smallest relative error.

    >>> minigrad.tensor([0.0, 0.5]).erfinv()
    tensor([0.0000, 0.4769])
    """
    y = np.asarray(x, np.float64)
    a = size = np.abs(y)
    largest = np.maximum.reduce(a, axis=None, initial=0)
    if not largest < 1:
        a = np.where(size < 1, size, 0)
    w = -np.log((1 - a) * (1 + a))
    z = a * ERFINV_NEAR(w - 2.5)
    if not largest < 0.996:
        z = np.where(w < 5, z, a * ERFINV_FAR(np.sqrt(w) - 3))
    if x.dtype == np.float64:
        # Near 1, erf(z) - a would lose digits that erfc keeps.
        wrong = np.where(a < 0.5, erf.forward(z) - a, (1 - a) - erfc.forward(z))
        step = wrong * SQRT_PI_OVER_2 * np.exp(z * z)
        z = z - step / (1 + z * step)
    if a is not size:
        z = np.where(size < 1, z, np.where(size == 1, np.inf, np.nan))
    return into(out, np.copysign(z, y).astype(x.dtype))


ERFINV_NEAR = Polynomial([
    3.355461493e-10, -8.772804769e-09, 1.803712684e-08, 4.658918512e-07, -3.434611431e-06,
    -4.961910793e-06, 0.000218282631, -0.001252744662, -0.004177339405, 0.2466402876, 1.501409354,
])  # fmt: skip
ERFINV_FAR = Polynomial([
    6.598831876e-08, -1.383960047e-06, 1.237108865e-05, -6.084701542e-05, 0.0001725614202,
    -0.0002352106144, -0.0001551009974, 0.001456520173, -0.003546337645, 0.005691005915,
    -0.007647150532, 0.009445024533, 1.001675487, 2.832976809,
])  # fmt: skip

erfinv.vjp(x=lambda g, z: g * (np.exp(z * z) * SQRT_PI_OVER_2))


@elementwise(np.logaddexp2, result="float")
def logaddexp2(x, y, *, out=None):
    """z = log2(2**x + 2**y)        dz/dx = 2**(x - z)        dz/dy = 2**(y - z)

    >>> minigrad.tensor([0.0, 1.0]).logaddexp2(minigrad.tensor([0.0, 1.0]))
    tensor([1., 2.])
    """


logaddexp2.vjp(x=lambda g, x, y: g / (1 + np.exp2(y - x)),
               y=lambda g, x, y: g / (1 + np.exp2(x - y)))
