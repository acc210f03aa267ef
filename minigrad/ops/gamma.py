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

import numpy as np

from minigrad.core.op import elementwise
from minigrad.ops.elementwise import into
from minigrad.ops.special import erf, erfc, horner

LARGEST = 2.5599833278516383e305  # lgamma of more is too large for a float
SQRT_PI_OVER_2 = math.sqrt(math.pi) / 2


@elementwise(result="float")
def lgamma(x, *, out=None):
    """z = log(abs(gamma(x)))        dz/dx = digamma(x)

    >>> minigrad.tensor([2.0, 5.0]).lgamma()
    tensor([0.0000, 3.1781])
    """
    x = np.asarray(x)
    values = x.ravel().tolist()
    try:
        z = list(map(math.lgamma, values))
    except (ValueError, OverflowError):
        z = [math.inf if v <= 0 and v.is_integer() or v > LARGEST else math.lgamma(v) for v in values]
    return into(out, np.array(z, x.dtype).reshape(x.shape))


lgamma.vjp(x=lambda g, x: g * digamma(x))


@elementwise(result="float", refuses="c")
def digamma(x, *, out=None):
    """z = gamma'(x) / gamma(x)        dz/dx = polygamma(x, order=1)

    The recurrence psi(x) = psi(x + 1) - 1 / x moves x up by 8, where seven terms of a series
    in 1 / x**2 give full precision. Negative x use the reflection psi(1 - x) - pi / tan(pi x).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 6.3.

    >>> minigrad.tensor([1.0, 2.0]).digamma()
    tensor([-0.5772,  0.4228])
    """
    y = np.asarray(x, np.float64)
    if (y > 0).all():
        z = _digamma_above(y)
    else:
        below = y < 0
        z = _digamma_above(np.where(below, 1 - y, np.where(y == 0, 1, y)))
        z = np.where(below, z - np.pi / np.tan(np.pi * (y - np.round(y))), z)
        z = np.where(below & (y == np.floor(y)), np.nan, z)
        z = np.where(y == 0, np.copysign(np.inf, -y), z)
    return into(out, z.astype(np.asarray(x).dtype))


def _digamma_above(y):
    rest = np.zeros_like(y)
    for k in range(8):
        rest += 1 / (y + k)
    y = y + 8
    s = 1 / (y * y)
    return np.log(y) - 0.5 / y - rest - s * horner(DIGAMMA_SERIES, s)


digamma.vjp(x=lambda g, x: g * polygamma(x, order=1))


@elementwise(result="float")
def polygamma(x, *, order, out=None):
    """z = the derivative of digamma at x, of this order        dz/dx = polygamma(x, order=order+1)

    For n = order, this is (-1)**(n+1) * n! * (the sum of (x + k)**-(n+1) over k = 0, 1, ...). The first 16 terms
    are added one by one (more if x is negative), and the Euler-Maclaurin formula gives the rest.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 6.4 and 23.1.
    """
    if order == 0:
        return digamma.forward(x, out=out)
    y = np.asarray(x, np.float64)
    sign = (-1) ** (order + 1) * math.factorial(order)
    z = sign * _zeta(order + 1, y)
    z = np.where((y <= 0) & (y == np.floor(y)), np.copysign(np.inf, sign), z)
    return into(out, z.astype(np.asarray(x).dtype))


def _zeta(s, y):
    """The sum of (y + k)**-s over k = 0, 1, ..., for an integer s > 1."""
    total = np.zeros_like(y)
    terms = 16 + int(min(1000, -min(y.min(initial=0), 0)))
    for k in range(terms):
        total += (1 / (y + k)) ** s
    a = y + terms
    total += a ** (1.0 - s) / (s - 1) + 0.5 * a ** -float(s)
    s, power = float(s), a ** (-s - 1.0)
    factor = s
    for k, b in enumerate(BERNOULLI, 1):
        total += b / math.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power = power / (a * a)
    return np.where(np.isposinf(y), 0, total)


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B2, B4, ..., B14
DIGAMMA_SERIES = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)][::-1]  # highest power first

polygamma.vjp(x=lambda g, x, order: g * polygamma(x, order=order + 1))


@elementwise(result="float", refuses="c")
def erfinv(x, *, out=None):
    """z = the number for which erf(z) is x        dz/dx = sqrt(pi) / 2 * exp(z**2)

    A polynomial gives seven digits. One step of Newton's method gives full float32 precision,
    and a second one full float64 precision.

    Source: Giles, Approximating the erfinv function (2012), for the polynomial.

    >>> minigrad.tensor([0.0, 0.5]).erfinv()
    tensor([0.0000, 0.4769])
    """
    y = np.asarray(x, np.float64)
    size = np.abs(y)
    inside = size < 1
    a = size if inside.all() else np.where(inside, size, 0)
    z = _erfinv_roughly(a)
    for _ in range(2 if x.dtype == np.float64 else 1):
        # Near 1, erf(z) - a would lose digits that erfc keeps.
        wrong = np.where(a < 0.5, erf.forward(z) - a, (1 - a) - erfc.forward(z))
        z = z - wrong * SQRT_PI_OVER_2 * np.exp(z * z)
    if a is not size:
        z = np.where(inside, z, np.where(size == 1, np.inf, np.nan))
    return into(out, np.copysign(z, y).astype(x.dtype))


def _erfinv_roughly(a):
    w = -np.log((1 - a) * (1 + a))
    z = horner(GILES_NEAR, w - 2.5)
    if (w >= 5).any():
        z = np.where(w < 5, z, horner(GILES_FAR, np.sqrt(w) - 3))
    return a * z


GILES_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
GILES_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip

erfinv.vjp(x=lambda g, z: g * (np.exp(z * z) * SQRT_PI_OVER_2))


@elementwise(np.logaddexp2, result="float")
def logaddexp2(x, y, *, out=None):
    """z = log2(2**x + 2**y)        dz/dx = 2**(x - z)        dz/dy = 2**(y - z)

    >>> minigrad.tensor([0.0, 1.0]).logaddexp2(minigrad.tensor([0.0, 1.0]))
    tensor([1., 2.])
    """


logaddexp2.vjp(x=lambda g, x, y: g / (1 + np.exp2(y - x)),
               y=lambda g, x, y: g / (1 + np.exp2(x - y)))
