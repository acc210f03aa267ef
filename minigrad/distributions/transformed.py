"""What becomes of a draw under a function: y = f(x).

The density changes by how much f stretches: log p(y) = log p(x) - log abs(f'(x)), with x the
number that f takes to y. So f must have an inverse.

A policy that must keep its actions between -1 and 1 draws from the normal distribution and takes tanh:

>>> import minigrad
>>> from minigrad.distributions import Normal
>>> policy = TransformedDistribution(Normal(0.0, 1.0), TanhTransform())
>>> policy.log_prob(minigrad.tensor(0.0))
tensor(-0.9189)
"""

import math
from collections.abc import Sequence

from minigrad.core.tensor import Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.continuous import Normal
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.multivariate import sum_last
from minigrad.nn.functional import softplus

__all__ = [
    "AffineTransform",
    "ExpTransform",
    "LogNormal",
    "SigmoidTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
]


class Transform:
    """A function with an inverse: `t(x)`, `t.inv(y)`, and log abs(dy/dx).

    cache_size   accepted and ignored
    """

    codomain: c.Constraint = c.real

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def inv(self, y: Tensor) -> Tensor:
        """The x that is taken to y."""
        return self._inverse(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return self._log_slope(x)

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def _log_slope(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class AffineTransform(Transform):
    """y = loc + scale * x"""

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def _log_slope(self, x: Tensor) -> Tensor:
        scale = self.scale
        stretch = math.log(abs(scale)) if isinstance(scale, (int, float)) else scale.abs().log()
        return sum_last(x * 0 + stretch, self.event_dim)


class ExpTransform(Transform):
    """y = exp(x)"""

    codomain = c.positive

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def _log_slope(self, x: Tensor) -> Tensor:
        return x


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))"""

    codomain = c.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log() - (-y).log1p()

    def _log_slope(self, x: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """y = tanh(x)"""

    codomain = c.interval(-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def _log_slope(self, x: Tensor) -> Tensor:
        # log(1 - tanh(x)**2), without losing digits where tanh(x) is nearly 1
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class TransformedDistribution(Distribution):
    """The distribution of f(x), for x drawn from another.

    base_distribution    where x comes from
    transforms           f, or a list of functions, the first to be applied first
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist = base_distribution
        self.transforms: list[Transform] = (
            [transforms] if isinstance(transforms, Transform) else list(transforms)
        )
        super().__init__(
            base_distribution.batch_shape, base_distribution.event_shape, validate_args
        )

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Does the gradient pass through the draws of the base distribution?"""
        return self.base_dist.has_rsample

    @property
    def support(self) -> c.Constraint | None:
        """What the last function can return."""
        n = len(self._event_shape)
        if not self.transforms or n:
            return self.base_dist.support if not self.transforms else None
        return self.transforms[-1].codomain

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws, through which no gradient passes."""
        return self._through(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws as a function of the parameters, so that gradients pass through."""
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, value: Tensor) -> Tensor:
        y, total = value, None
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            stretch = transform.log_abs_det_jacobian(x, y)
            own = getattr(transform, "event_dim", 0)
            stretch = sum_last(stretch, len(self._event_shape) - own)
            total = stretch if total is None else total + stretch
            y = x
        base = self.base_dist.log_prob(y)
        return base if total is None else base - total

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LogNormal(TransformedDistribution):
    """exp(x), for x from the normal distribution."""

    arg_constraints = {"loc": c.real, "scale": c.positive}
    base_dist: Normal

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, ExpTransform(), validate_args)

    def _entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc

    def _moments(self) -> tuple[Tensor, Tensor]:
        square = self.scale**2
        return (self.loc + square / 2).exp(), square.expm1() * (2 * self.loc + square).exp()

    __repr__ = Distribution.__repr__
