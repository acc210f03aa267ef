"""Special functions under the names of torch.special: most are methods of tensors too."""

import math
from typing import Any

from minigrad.core.tensor import Tensor
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

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p",
    "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip

expit, gammaln, psi, multigammaln = sigmoid, lgamma, digamma, mvlgamma


def entr(input: Tensor) -> Tensor:
    """-x * log(x), and 0 at 0: what each probability adds to an entropy.

    >>> import minigrad
    >>> entr(minigrad.tensor([0.0, 0.5, 1.0]))
    tensor([-0.0000, 0.3466, -0.0000])
    """
    return -xlogy(input, input)  # type: ignore[no-any-return]


def ndtr(input: Tensor) -> Tensor:
    """The chance that a number of the normal distribution is below x.

    >>> ndtr(minigrad.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """
    z: Tensor = erfc(-input * math.sqrt(0.5)) / 2
    return z


def ndtri(input: Tensor) -> Tensor:
    """The x for which ndtr(x) is the input.

    >>> ndtri(minigrad.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    z: Tensor = erfinv(2 * input - 1) * math.sqrt(2)
    return z


def xlog1py(input: Any, other: Any) -> Tensor:
    """x * log(1 + y), and 0 where x is 0.

    >>> xlog1py(minigrad.tensor([0.0, 2.0]), minigrad.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    z: Tensor = xlogy(input, other + 1)
    return z
