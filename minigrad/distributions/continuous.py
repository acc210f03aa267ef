"""Univariate continuous distributions: the location-scale families, Uniform, Exponential."""

import math
from collections.abc import Sequence
from typing import Self

from minigrad.core.limits import finfo
from minigrad.core.modes import with_name
from minigrad.core.tensor import Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.distribution import (
    Distribution,
    Shape,
    all_hold,
    broadcast_all,
    standard_normal,
    tiny,
)
from minigrad.methods.functions import where
from minigrad.methods.methods_as_functions import erf, lgamma
from minigrad.random.tensors import normal, rand

__all__ = ["Cauchy", "Exponential", "Gumbel", "HalfNormal", "Laplace", "Normal", "Uniform"]

LOG_2PI = math.log(2 * math.pi)
EULER = 0.57721566490153286060  # the Euler-Mascheroni constant


class _LocationScale(Distribution):
    """The base class of location-scale distributions: a sample is loc + scale * noise."""

    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.real
    has_rsample = True

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    _mode = lambda self: self.loc


class Normal(_LocationScale):
    """The normal distribution: density exp(-(x - loc)**2 / (2 scale**2)) / (scale * sqrt(2 pi))

    loc      the mean
    scale    the standard deviation, above 0

    >>> import minigrad
    >>> d = Normal(0.0, 1.0)
    >>> d.log_prob(minigrad.tensor(0.0))
    tensor(-0.9189)
    """

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return normal(self.loc.expand(shape), self.scale.expand(shape))

    _draw = lambda self, shape: self.loc + standard_normal(shape, self.loc) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - LOG_2PI / 2

    _cdf = lambda self, x: 0.5 * (1 + erf((x - self.loc) / self.scale / math.sqrt(2)))
    _icdf = lambda self, p: self.loc + self.scale * (2 * p - 1).erfinv() * math.sqrt(2)
    _entropy = lambda self: 0.5 + 0.5 * LOG_2PI + self.scale.log()
    _moments = lambda self: (self.loc, self.scale**2)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, which is `scale`."""
        return self.scale

    def _kl(self, q: Self) -> Tensor:
        ratio = (self.scale / q.scale) ** 2
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


class HalfNormal(Distribution):
    """The distribution of abs(x) for x from Normal(0, scale)."""

    arg_constraints = {"scale": c.positive}
    _shows_parameters = False
    support = c.nonnegative
    has_rsample = True

    def __init__(self, scale: float | Tensor, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, (), validate_args)

    _draw = lambda self, shape: (standard_normal(shape, self.scale) * self.scale).abs()

    def _log_prob(self, value: Tensor) -> Tensor:
        scale = self.scale
        z = math.log(2) - value**2 / (2 * scale**2) - scale.log() - LOG_2PI / 2
        return z.masked_fill(~(value >= 0), -math.inf)

    _cdf = lambda self, x: erf(x / self.scale / math.sqrt(2))
    _icdf = lambda self, p: self.scale * p.erfinv() * math.sqrt(2)
    _entropy = lambda self: 0.5 + 0.5 * LOG_2PI + self.scale.log() - math.log(2)
    _mode = lambda self: self.scale.new_zeros(self.scale.shape)
    _moments = lambda self: (self.scale * math.sqrt(2 / math.pi), self.scale**2 * (1 - 2 / math.pi))
    _kl = lambda self, q: Normal(0.0, self.scale)._kl(Normal(0.0, q.scale))


class Uniform(Distribution):
    """The uniform distribution on [low, high): density 1 / (high - low)"""

    arg_constraints = {"low": c.real, "high": c.real}
    has_rsample = True

    def __init__(
        self, low: float | Tensor, high: float | Tensor, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not all_hold(self.low < self.high):
            raise ValueError(
                f"Expected parameter low (Tensor of shape {tuple(self.low.shape)}) of distribution {self!r} to "
                f"satisfy the constraint LessThan(upper_bound={self.high}), but found invalid values:\n{self.low}"
            )

    @property
    def support(self) -> c.Constraint:
        """The interval from low to high."""
        return c.interval(self.low.detach(), self.high.detach())

    def _draw(self, shape: Shape) -> Tensor:
        noise = with_name("noise", rand(shape, dtype=self.low.dtype))
        return self.low + noise * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    _cdf = lambda self, x: ((x - self.low) / (self.high - self.low)).clamp(0, 1)
    _icdf = lambda self, p: p * (self.high - self.low) + self.low
    _entropy = lambda self: (self.high - self.low).log()
    _mode = lambda self: self.high * math.nan  # all values are equally likely
    _moments = lambda self: ((self.high + self.low) / 2, (self.high - self.low) ** 2 / 12)

    def _kl(self, q: Self) -> Tensor:
        z = ((q.high - q.low) / (self.high - self.low)).log()
        return where((q.low > self.low) | (q.high < self.high), math.inf, z)


class Exponential(Distribution):
    """The waiting time between events of a Poisson process: density rate * exp(-rate * x)"""

    arg_constraints = {"rate": c.positive}
    support = c.nonnegative
    has_rsample = True

    def __init__(self, rate: float | Tensor, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    _draw = lambda self, shape: self.rate.new_empty(shape).exponential_() / self.rate
    _log_prob = lambda self, x: self.rate.log() - self.rate * x
    _cdf = lambda self, x: 1 - (-self.rate * x).exp()
    _icdf = lambda self, p: -(-p).log1p() / self.rate
    _entropy = lambda self: 1.0 - self.rate.log()
    _mode = lambda self: self.rate.new_zeros(self.rate.shape)

    def _moments(self) -> tuple[Tensor, Tensor]:
        mean = self.rate.reciprocal()
        return mean, mean**2

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, which equals the mean."""
        return self.mean

    def _kl(self, q: Self) -> Tensor:
        ratio = q.rate / self.rate
        return ratio - 1 - ratio.log()


class Laplace(_LocationScale):
    """The double exponential distribution: density exp(-abs(x - loc) / scale) / (2 scale)"""

    def _draw(self, shape: Shape) -> Tensor:
        least = finfo(self.loc.dtype).eps - 1
        u = self.loc.new_empty(shape).uniform_(least, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    _log_prob = lambda self, x: -(2 * self.scale).log() - (x - self.loc).abs() / self.scale

    def _cdf(self, value: Tensor) -> Tensor:
        x = value - self.loc
        return 0.5 - 0.5 * x.sign() * (-x.abs() / self.scale).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        p = value - 0.5
        return self.loc - self.scale * p.sign() * (-2 * p.abs()).log1p()

    _entropy = lambda self: 1 + (2 * self.scale).log()
    _moments = lambda self: (self.loc, 2 * self.scale**2)

    def _kl(self, q: Self) -> Tensor:
        ratio, distance = self.scale / q.scale, (self.loc - q.loc).abs()
        return -ratio.log() + distance / q.scale + ratio * (-distance / self.scale).exp() - 1


class Cauchy(_LocationScale):
    """The Cauchy distribution: density 1 / (pi scale (1 + z**2)), where z = (x - loc) / scale

    Its tails are so heavy that it has no mean.
    """

    _draw = lambda self, shape: self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    _cdf = lambda self, x: ((x - self.loc) / self.scale).atan() / math.pi + 0.5
    _icdf = lambda self, p: (math.pi * (p - 0.5)).tan() * self.scale + self.loc
    _entropy = lambda self: math.log(4 * math.pi) + self.scale.log()

    def _moments(self) -> tuple[Tensor, Tensor]:
        shape = self._extended_shape()
        return self.loc.new_full(shape, math.nan), self.loc.new_full(shape, math.inf)

    def _kl(self, q: Self) -> Tensor:
        # Source: Chyzak and Nielsen, A closed-form formula for the KL divergence between Cauchy distributions (2019).
        numerator = (self.scale + q.scale) ** 2 + (self.loc - q.loc) ** 2
        return (numerator / (4 * self.scale * q.scale)).log()


class Gumbel(_LocationScale):
    """The distribution of the largest of many samples: density exp(-z - exp(-z)) / scale, where z = (x - loc) / scale

    The category with the largest logit + Gumbel noise is a sample from softmax(logits).

    >>> import minigrad
    >>> Gumbel(0.0, 1.0).cdf(minigrad.tensor(0.0))
    tensor(0.3679)
    """

    def _draw(self, shape: Shape) -> Tensor:
        low, high = tiny(self.loc), 1 - finfo(self.loc.dtype).eps
        u = Uniform(self.loc.new_full(self.loc.shape, low), high, validate_args=False)._draw(shape)
        return self.loc - self.scale * (-u.log()).log()

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    _cdf = lambda self, x: (-((self.loc - x) / self.scale).exp()).exp()
    _icdf = lambda self, p: self.loc - self.scale * (-p.log()).log()
    _entropy = lambda self: self.scale.log() + (1 + EULER)

    def _moments(self) -> tuple[Tensor, Tensor]:
        return self.loc + self.scale * EULER, (math.pi / math.sqrt(6) * self.scale) ** 2

    def _kl(self, q: Self) -> Tensor:
        ratio, shift = self.scale / q.scale, (q.loc - self.loc) / q.scale
        moment = (shift + lgamma(1 + ratio)).exp()
        return ratio * EULER + moment - ratio.log() - shift - (1 + EULER)
