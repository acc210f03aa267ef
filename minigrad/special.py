"""Special functions with the names of torch.special. Most are also tensor methods."""

import math
from typing import Any

from minigrad import ops
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import takes_out
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
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p",
    "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
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
    return erfc(input * -math.sqrt(0.5)) / 2


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
    # 1.0, because a small integer, plus 1, could overflow
    return named(xlogy(input, other + 1.0), "SpecialXlog1PyBackward0")
