"""Special functions with the names of torch.special. Most are also tensor methods."""

import math
from typing import Any

from minigrad import ops
from minigrad.core import dtypes
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import takes_out
from minigrad.methods.functions import where
from minigrad.methods.methods_as_functions import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    lgamma,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    mvlgamma,
    polygamma,
    round,  # noqa: A004  # PyTorch's name
    sigmoid,
    sinc,
    softmax,
    xlogy,
)
from minigrad.ops.composites import named

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip

expit, gammaln, psi, multigammaln = sigmoid, lgamma, digamma, mvlgamma


@takes_out
def entr(input: Tensor) -> Tensor:
    """-x * log(x), 0 at 0, and -infinity below 0: the contribution of each probability to the entropy.

    >>> import minigrad
    >>> entr(minigrad.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.3466,   -inf])
    """
    return ops.special_entr.apply(input)


@takes_out
def ndtr(input: Tensor) -> Tensor:
    """The CDF of the normal distribution: the probability that a sample is below x.

    >>> ndtr(minigrad.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """
    return named(erfc(input * -math.sqrt(0.5)) / 2, "MulBackward1")


@takes_out
def log_ndtr(input: Tensor) -> Tensor:
    """log(ndtr(x)), also where ndtr(x) is too small or too close to 1 for its logarithm to be exact.

    >>> log_ndtr(minigrad.tensor([-30.0, 0.0, 6.0]))
    tensor([-4.5432e+02, -6.9315e-01, -9.8659e-10])
    """
    x = input * 1.0  # whole numbers become floats
    far, t, series = _tail(x)
    right = x > -1.0
    tail = series.log() - t.square() / 2 - (-t).log() - math.log(2 * math.pi) / 2
    near = ndtr(x.masked_fill(far | right, 0.0)).log()
    high = (erfc(x.masked_fill(~right, 0.0) * math.sqrt(0.5)) / -2).log1p()
    return named(tail.where(far, high.where(right, near)), "SpecialLogNdtrBackward0")


@takes_out
def erfcx(input: Tensor) -> Tensor:
    """exp(x^2) * erfc(x), also where erfc(x) is too small.

    >>> erfcx(minigrad.tensor([0.0, 1.0, 100.0]))
    tensor([1.0000, 0.4276, 0.0056])
    """
    far, t, series = _tail(input * -math.sqrt(2.0))
    x = (input * 1.0).masked_fill(far, 0.0)
    near = x.square().exp() * erfc(x)
    return named((series / -t * math.sqrt(2 / math.pi)).where(far, near), "SpecialErfcxBackward0")


def _tail(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Whether x is far to the left, x or else the limit of that, and ndtr(x) * -x / (normal density at x)."""
    limit = -10.0 if x.dtype == dtypes.float64 else -8.0
    far = x < limit
    t = x.masked_fill(~far, limit)
    power = factor = t.reciprocal().square()
    series = 1.0 - factor  # asymptotic: 1 - 1 / t^2 + 1 * 3 / t^4 - 1 * 3 * 5 / t^6 ...
    for k in range(2, 14):
        power = power * factor * -(2 * k - 1)
        series = series - power
    return far, t, series


@takes_out
def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr: the x for which ndtr(x) is the input.

    >>> ndtri(minigrad.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    return named(erfinv(input * 2.0 - 1) * math.sqrt(2), "SpecialNdtriBackward0")


@takes_out
def xlog1py(input: Any, other: Any) -> Tensor:
    """x * log(1 + y), but 0 where x is 0.

    >>> xlog1py(minigrad.tensor([0.0, 2.0]), minigrad.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    infinite = (input == 0) & ((other <= -1) | (other == math.inf))
    return named(input * where(infinite, 0, other).log1p(), "SpecialXlog1PyBackward0")
