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
from typing import Any

import numpy as np

from minigrad.core.modes import no_grad
from minigrad.core.tensor import Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.continuous import Normal
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.multivariate import Independent
from minigrad.distributions.utils import _sum_rightmost
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

    cache_size   1 to remember the latest pair: t.inv(t(x)) is then x itself, where the inverse
                 would lose it, as that of tanh at 1.0

    A transform of your own has `_call(x)`, `_inverse(y)` and `log_abs_det_jacobian(x, y)`; its `domain`
    and `codomain` are constraints.

    >>> import minigrad
    >>> class Cube(Transform):
    ...     def _call(self, x):
    ...         return x**3
    ...
    ...     def _inverse(self, y):
    ...         return y ** (1 / 3)
    ...
    ...     def log_abs_det_jacobian(self, x, y):
    ...         return (3 * x**2).log()
    >>> Cube().inv(minigrad.tensor([8.0]))
    tensor([2.])
    """

    bijective = True
    sign: int | Tensor = 0  # 1 if it increases, -1 if it decreases, 0 if nobody knows
    _fixed = False  # are all of this class the same function?
    domain: Any = c.real
    codomain: Any = c.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._latest: tuple[Any, Any] = (None, None)

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._latest[0]:
            return self._latest[1]
        return self._remembered(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        """The x that is taken to y."""
        if self._cache_size and y is self._latest[1]:
            return self._latest[0]
        return self._remembered(self._inverse(y), y)[0]

    def _remembered(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._cache_size:
            self._latest = x, y
        return x, y

    @property
    def inv(self) -> "Transform":
        """The inverse, as a transform: `t.inv(y)` is the x that t takes to y."""
        return _InverseTransform(self)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (self._fixed and type(self) is type(other))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """A transform from the codomain to the domain of another."""

    def __init__(self, of: Transform) -> None:
        super().__init__()
        self._of, self.sign = of, of.sign
        self.domain, self.codomain = of.codomain, of.domain

    @property
    def inv(self) -> Transform:
        """The transform of which this is the inverse."""
        return self._of

    def _call(self, x: Tensor) -> Tensor:
        return self._of._inv_call(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return -self._of.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._of!r})"


class AffineTransform(Transform):
    """y = loc + scale * x"""

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        self.domain = self.codomain = c.independent(c.real, event_dim) if event_dim else c.real
        self.sign = scale.sign() if isinstance(scale, Tensor) else 1 if scale > 0 else -1

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(np.array_equal(getattr(a, "array", a), getattr(b, "array", b)) for a, b in pairs)

    __hash__ = object.__hash__

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        scale = self.scale
        stretch = math.log(abs(scale)) if isinstance(scale, (int, float)) else scale.abs().log()
        return _sum_rightmost(x * 0 + stretch, self.event_dim)


class ExpTransform(Transform):
    """y = exp(x)"""

    codomain = c.positive
    sign = 1
    _fixed = True

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return x


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))"""

    codomain = c.unit_interval
    sign = 1
    _fixed = True

    def _call(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """y = tanh(x)"""

    codomain = c.interval(-1.0, 1.0)
    sign = 1
    _fixed = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
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
        self.transforms: list[Transform] = (
            [transforms] if isinstance(transforms, Transform) else list(transforms)
        )
        base, axes = base_distribution, len(base_distribution.event_shape)
        wanted = max((t.domain.event_dim for t in self.transforms), default=0)
        self.base_dist = base if wanted <= axes else Independent(base, wanted - axes)
        super().__init__(self.base_dist.batch_shape, self.base_dist.event_shape, validate_args)

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
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws as a function of the parameters, so that gradients pass through."""
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, value: Tensor) -> Tensor:
        y: Tensor = value
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            stretch = transform.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(
                stretch, len(self._event_shape) - transform.domain.event_dim
            )
            y = x
        return total + self.base_dist.log_prob(y)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most value, if each function increases or decreases."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The number that is not exceeded with this probability."""
        return self._through(self.base_dist.icdf(self._turned(value)))

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability of at most; where the functions decrease, that of more."""
        sign = math.prod(transform.sign for transform in self.transforms)
        if isinstance(sign, int) and not sign:
            raise NotImplementedError(
                f"{self.transforms} do not say whether they increase (sign = 1) or decrease (sign = -1)."
            )
        return sign * (probability - 0.5) + 0.5

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LogNormal(TransformedDistribution):
    """exp(x), for x from the normal distribution."""

    arg_constraints = {"loc": c.real, "scale": c.positive}
    _shows_parameters = False
    base_dist: Normal

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, ExpTransform(), validate_args)

    def _entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        return (self.loc - self.scale.square()).exp()

    def _moments(self) -> tuple[Tensor, Tensor]:
        square = self.scale**2
        return (self.loc + square / 2).exp(), square.expm1() * (2 * self.loc + square).exp()

    __repr__ = Distribution.__repr__
