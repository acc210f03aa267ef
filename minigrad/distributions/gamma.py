"""The Gamma distribution, and the distributions built from it: Beta, Dirichlet, Chi2, StudentT.

Gamma samples are drawn by rejection sampling, which has no derivative. To differentiate a
sample x with respect to the shape parameter a, we let x move with a so that it stays the same
quantile: the cdf P(x; a) is constant. Differentiating this with respect to a gives

    dx/da = -(dP/da) / p(x; a)

where p is the density. Source: Figurnov, Mohamed and Mnih, Implicit Reparameterization
Gradients (2018).
"""

import math
from typing import Self

import numpy as np

from minigrad.core import modes
from minigrad.core.function import Function, FunctionCtx
from minigrad.core.limits import finfo
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor, wrap
from minigrad.distributions import constraints as c
from minigrad.distributions.distribution import (
    Distribution,
    Shape,
    broadcast_all,
    standard_normal,
    tiny,
)
from minigrad.methods.creation import as_tensor
from minigrad.methods.functions import stack, where
from minigrad.methods.methods_as_functions import digamma, lgamma
from minigrad.nn.functional import one_hot
from minigrad.ops.gamma import digamma as psi
from minigrad.random import kernels
from minigrad.random.generator import Generator

__all__ = ["Beta", "Chi2", "Dirichlet", "Gamma", "StudentT"]


class _StandardGamma(Function):
    """Samples from the Gamma distribution with rate 1, differentiable in the shape parameter."""

    @staticmethod
    def forward(ctx: FunctionCtx, shape: Tensor, generator: Generator | None) -> Tensor:
        x = wrap(kernels.gamma(shape.array, generator))
        ctx.save_for_backward(x, shape.detach())
        return x

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> tuple[Tensor, None]:
        x, shape = ctx.saved_tensors
        slope = gamma_sample_gradient(
            np.asarray(x.array, np.float64), np.asarray(shape.array, np.float64)
        )
        return g * wrap(slope.astype(x.dtype)), None


def _standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples with rate 1 for tensors of shape parameters. The name is PyTorch's, which programs call."""
    if self.requires_grad and modes.is_grad_enabled():
        return _StandardGamma.apply(self, generator)
    return wrap(kernels.gamma(self.array, generator))


def gamma_sample_gradient(x: Array, a: Array) -> Array:
    """dx/da for a sample x of the Gamma distribution with shape parameter a and rate 1.

    The cdf is P(x; a) = x**a exp(-x) * sum of x**k / gamma(a + k + 1) over k = 0, 1, ...
    Differentiating it term by term gives

        dx/da = -x * sum of x**k / (a (a + 1) ... (a + k)) * (log(x) - psi(a + k + 1))
    """
    term, total, k = 1 / a, np.zeros_like(x * a), 0
    log_x, psi_k = np.log(np.maximum(x, np.finfo(np.float64).tiny)), psi.forward(a + 1)
    while True:
        total += term * (log_x - psi_k)
        k += 1
        psi_k = psi_k + 1 / (a + k)
        term = term * x / (a + k)
        if k > 10000 or np.all(
            term * (1 + np.abs(log_x - psi_k)) <= 1e-17 * (np.abs(total) + term)
        ):
            return -x * total


class Gamma(Distribution):
    """The gamma distribution: density rate**a * x**(a - 1) * exp(-rate * x) / gamma(a), for x > 0

    concentration    the shape parameter a
    rate             the inverse of the scale

    If a is an integer, this is the waiting time until the a-th event of a Poisson process.
    """

    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.nonnegative
    has_rsample = True

    def __init__(
        self, concentration: float | Tensor, rate: float | Tensor, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    def _draw(self, shape: Shape) -> Tensor:
        x = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        x.detach().clamp_(min=tiny(x))
        return x

    def log_prob(self, value: float | Tensor) -> Tensor:
        """The log-density at value, a number or a tensor, which is converted to the dtype of the rate."""
        return super().log_prob(as_tensor(value, dtype=self.rate.dtype))

    def _log_prob(self, value: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        return a.xlogy(rate) + (a - 1).xlogy(value) - rate * value - lgamma(a)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1.0 - a) * digamma(a)

    _moments = lambda self: (self.concentration / self.rate, self.concentration / self.rate**2)
    _mode = lambda self: ((self.concentration - 1) / self.rate).clamp(min=0)

    def _kl(self, q: Self) -> Tensor:
        a, b = self.concentration, q.concentration
        z = b * (self.rate / q.rate).log() + lgamma(b) - lgamma(a)
        return z + (a - b) * digamma(a) + (q.rate - self.rate) * (a / self.rate)


class Chi2(Gamma):
    """The chi-squared distribution: the sum of squares of df independent standard normals."""

    arg_constraints = {"df": c.positive}
    _shows_parameters = False

    def __init__(self, df: float | Tensor, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class StudentT(Distribution):
    """Student's t: the distribution of loc + scale * x / sqrt(s / df) for a standard normal x and s from Chi2(df)

    df       the degrees of freedom: the smaller, the heavier the tails
    loc      the center
    scale    above 0; only for large df is it the standard deviation

    >>> import minigrad
    >>> StudentT(1.0).log_prob(minigrad.tensor(0.0)).exp() * minigrad.pi
    tensor(1.0000)
    """

    arg_constraints = {"df": c.positive, "loc": c.real, "scale": c.positive}
    support = c.real
    has_rsample = True

    def __init__(
        self,
        df: float | Tensor,
        loc: float | Tensor = 0.0,
        scale: float | Tensor = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    def _draw(self, shape: Shape) -> Tensor:
        x = standard_normal(shape, self.df)
        return self.loc + self.scale * x * (Chi2(self.df, False)._draw(shape) / self.df).rsqrt()

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        tails = -0.5 * (self.df + 1) * (z**2 / self.df).log1p()
        return tails - self.scale.log() - 0.5 * self.df.log() - self._log_beta()

    def _log_beta(self) -> Tensor:
        """log B(df / 2, 1 / 2)"""
        half = 0.5 * self.df
        return lgamma(half) + 0.5 * math.log(math.pi) - lgamma(half + 0.5)

    def _entropy(self) -> Tensor:
        half = 0.5 * self.df
        tails = (half + 0.5) * (digamma(half + 0.5) - digamma(half))
        return self.scale.log() + tails + 0.5 * self.df.log() + self._log_beta()

    _mode = lambda self: self.loc

    def _moments(self) -> tuple[Tensor, Tensor]:
        """There is no mean for df <= 1; for df <= 2 the variance is infinite."""
        df, undefined = self.df, self.df <= 1
        variance = where(df > 2, self.scale**2 * df / (df - 2), math.inf)
        return self.loc.masked_fill(undefined, math.nan), variance.masked_fill(undefined, math.nan)


class Dirichlet(Distribution):
    """A distribution over probability vectors: density proportional to the product of x_k**(a_k - 1)

    concentration    (..., k)   a_k, above 0

    A sample is a vector of Gamma samples divided by its sum, and the gradient flows through
    the Gamma samples. (PyTorch uses a different gradient estimator with the same mean.)
    """

    arg_constraints = {"concentration": c.positive_vector}
    support = c.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def _draw(self, shape: Shape) -> Tensor:
        a = self.concentration.expand(shape)
        x = _standard_gamma(a.double())
        z = (x / x.sum(-1, keepdim=True)).to(a.dtype)
        # log_prob is infinite at 0 and 1.
        z.detach().clamp_(min=tiny(z), max=1 - finfo(z.dtype).eps / 2)
        return z

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    def _entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        z = lgamma(a).sum(-1) - lgamma(total) - (k - total) * digamma(total)
        return z - ((a - 1.0) * digamma(a)).sum(-1)

    def _mode(self) -> Tensor:
        """The most likely vector; where all a_k are below 1, a one-hot vector."""
        above = (self.concentration - 1).clamp(min=0.0)
        shares = above / above.sum(-1, keepdim=True)
        first = one_hot(shares.argmax(-1), shares.shape[-1]).to(shares.dtype)
        return where((self.concentration < 1).all(-1, keepdim=True), first, shares)

    def _moments(self) -> tuple[Tensor, Tensor]:
        a = self.concentration
        total = a.sum(-1, keepdim=True)
        return a / total, a * (total - a) / (total**2 * (total + 1))

    def _kl(self, q: Self) -> Tensor:
        a, b = self.concentration, q.concentration
        z = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
        return z + ((a - b) * (digamma(a) - digamma(a.sum(-1)).unsqueeze(-1))).sum(-1)


class Beta(Distribution):
    """The beta distribution on (0, 1): density proportional to x**(a - 1) * (1 - x)**(b - 1)

    concentration1    a, above 0
    concentration0    b, above 0
    """

    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    _shows_parameters = False
    support = c.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: float | Tensor,
        concentration0: float | Tensor,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    @property
    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(stack([self.concentration1, self.concentration0], -1), False)

    _draw = lambda self, shape: self._dirichlet._draw((*shape, 2)).select(-1, 0)
    _log_prob = lambda self, x: self._dirichlet.log_prob(stack([x, 1.0 - x], -1))
    _entropy = lambda self: self._dirichlet.entropy()
    _mode = lambda self: self._dirichlet.mode.select(-1, 0)

    def _moments(self) -> tuple[Tensor, Tensor]:
        a, b = self.concentration1, self.concentration0
        total = a + b
        return a / total, a * b / (total**2 * (total + 1))

    _kl = lambda self, q: self._dirichlet._kl(q._dirichlet)
