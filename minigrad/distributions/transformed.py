"""Transformed distributions: the distribution of y = f(x), where f is invertible.

The change of variables formula gives the density: log p(y) = log p(x) - log abs(f'(x)), where
x is the inverse image of y.

For example, a policy whose actions must lie between -1 and 1 can sample from a normal
distribution and apply tanh:

>>> import minigrad
>>> from minigrad.distributions import Normal
>>> policy = TransformedDistribution(Normal(0.0, 1.0), TanhTransform())
>>> policy.log_prob(minigrad.tensor(0.0))
tensor(-0.9189)
"""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minigrad.core.tensor import Size, Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.continuous import Normal
from minigrad.distributions.distribution import Distribution, _missing, kl_divergence
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
    """An invertible function: `t(x)`, its inverse `t.inv(y)`, and log abs(dy/dx).

    cache_size   1 to cache the last pair (x, y). Then t.inv(t(x)) returns x itself, even where
                 the inverse is inaccurate, such as for tanh near 1.0.

    To define your own transform, write `_call(x)`, `_inverse(y)` and `log_abs_det_jacobian(x, y)`,
    and set `domain` and `codomain` to constraints.

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
    sign: int | Tensor = 0  # 1 if increasing, -1 if decreasing, 0 if unknown
    _parameter_free = False  # are all instances of this class equal?
    domain: Any = c.real
    codomain: Any = c.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached[0]:
            return self._cached[1]
        return self._cache(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        """The x with t(x) == y, from the cache if possible."""
        if self._cache_size and y is self._cached[1]:
            return self._cached[0]
        return self._cache(self._inverse(y), y)[0]

    def _cache(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._cache_size:
            self._cached = x, y
        return x, y

    @property
    def event_dim(self) -> int:
        """How many of the last axes form one value. Raises ValueError if t changes that."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> "Transform":
        """The inverse as a transform: x = t.inv(y) satisfies t(x) == y."""
        return _InverseTransform(self)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of t(x), for an x of this shape. A transform that changes shapes defines both."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of t.inv(y), for a y of this shape."""
        return Size(shape)

    _call = _inverse = _missing("")  # the formulas for y and for x, which a subclass defines

    def __eq__(self, other: object) -> bool:
        return self is other or (self._parameter_free and type(self) is type(other))

    def __hash__(self) -> int:
        return hash(type(self))  # equal transforms have the same class

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of another transform."""

    def __init__(self, forward: Transform) -> None:
        super().__init__()
        self._forward, self.sign = forward, forward.sign
        self.domain, self.codomain = forward.codomain, forward.domain

    @property
    def inv(self) -> Transform:
        """The original transform."""
        return self._forward

    _call = lambda self, x: self._forward._inv_call(x)
    _inverse = lambda self, y: self._forward(y)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the other's inverse."""
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the other's result."""
        return self._forward.forward_shape(shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return -self._forward.log_abs_det_jacobian(y, x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"


class AffineTransform(Transform):
    """y = loc + scale * x"""

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = c.independent(c.real, event_dim) if event_dim else c.real
        self.sign = scale.sign() if isinstance(scale, Tensor) else 1 if scale > 0 else -1

    _call = lambda self, x: self.loc + self.scale * x
    _inverse = lambda self, y: (y - self.loc) / self.scale

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of loc + scale * x: all three are broadcast."""
        return Size(np.broadcast_shapes(tuple(shape), np.shape(self.loc), np.shape(self.scale)))

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(np.array_equal(getattr(a, "array", a), getattr(b, "array", b)) for a, b in pairs)

    __hash__ = Transform.__hash__

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        scale = self.scale
        log_scale = math.log(abs(scale)) if isinstance(scale, (int, float)) else scale.abs().log()
        return _sum_rightmost(x * 0 + log_scale, self.event_dim)


class _Elementary(Transform):
    """An increasing function without parameters."""

    sign = 1
    _parameter_free = True


class ExpTransform(_Elementary):
    """y = exp(x)"""

    codomain = c.positive

    _call = lambda self, x: x.exp()
    _inverse = lambda self, y: y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return x


class SigmoidTransform(_Elementary):
    """y = 1 / (1 + exp(-x))"""

    codomain = c.unit_interval

    _call = lambda self, x: x.sigmoid()
    _inverse = lambda self, y: y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        return -softplus(-x) - softplus(x)


class TanhTransform(_Elementary):
    """y = tanh(x)"""

    codomain = c.interval(-1.0, 1.0)

    _call = lambda self, x: x.tanh()
    _inverse = lambda self, y: y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log abs(dy/dx)"""
        # log(1 - tanh(x)**2), in a form that stays accurate when tanh(x) is close to 1
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class TransformedDistribution(Distribution):
    """The distribution of f(x), where x is a sample of another distribution.

    base_distribution    the distribution of x
    transforms           f, or a list of transforms to apply in order
    """

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(transforms, (Transform, list, tuple)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms: list[Transform] = (
            [transforms] if isinstance(transforms, Transform) else list(transforms)
        )
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        base, start = base_distribution, base_distribution._extended_shape()
        # An x of this shape, axes of an event of x that the transforms need, and of an event of y that they make
        shape, needed, made = start, 0, 0
        for t in self.transforms:
            shape = t.forward_shape(shape)
            made = max(made - t.domain.event_dim, 0) + t.codomain.event_dim
        end = shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
            needed = max(needed - t.codomain.event_dim, 0) + t.domain.event_dim
        if tuple(shape) != tuple(start):  # each number gets an x of its own
            base = base.expand(shape[: len(shape) - len(base.event_shape)])
        more = needed - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        self.has_rsample = base.has_rsample
        cut = len(end) - len(self.base_dist.event_shape) - made + needed
        super().__init__(end[:cut], end[cut:], validate_args)

    @property
    def support(self) -> c.Constraint | None:
        """The codomain of the last transform, for each number of an event."""
        if not self.transforms:
            return self.base_dist.support
        each: c.Constraint = self.transforms[-1].codomain
        axes = len(self._event_shape) - each.event_dim
        return c.independent(each, axes) if axes > 0 else each

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        return self._apply_transforms(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples as a function of the parameters, so that gradients flow through them."""
        return self._apply_transforms(self.base_dist.rsample(sample_shape))

    def _apply_transforms(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, value: Tensor) -> Tensor:
        y: Tensor = value
        total: Any = 0.0
        axes = len(self._event_shape)  # of an event of y, then of x
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            log_det = transform.log_abs_det_jacobian(x, y)
            axes -= transform.codomain.event_dim
            total = total - _sum_rightmost(log_det, axes)
            axes += transform.domain.event_dim
            y = x
        return total + self.base_dist.log_prob(y)

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function, if every transform is monotonic."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._flip_if_decreasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile function, the inverse of cdf."""
        return self._apply_transforms(self.base_dist.icdf(self._flip_if_decreasing(value)))

    def _flip_if_decreasing(self, probability: Tensor) -> Tensor:
        """p where the transforms together are increasing, 1 - p where they are decreasing."""
        sign = math.prod(transform.sign for transform in self.transforms)
        if isinstance(sign, int) and not sign:
            raise NotImplementedError(
                f"The sign of {self.transforms} is unknown. To fix it, set sign = 1 in the class of an "
                "increasing transform, and sign = -1 in that of a decreasing one."
            )
        # p - 0.5 + 0.5 would round small probabilities to 0.
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def _kl(self, q: Self) -> Tensor:
        """The KL divergence of the base distributions: an invertible transform does not change it."""
        if self.transforms != q.transforms or self.event_shape != q.event_shape:
            raise NotImplementedError(
                f"No KL(p || q) is implemented for different transforms: {self.transforms} and {q.transforms}."
            )
        return kl_divergence(self.base_dist, q.base_dist)


class LogNormal(TransformedDistribution):
    """The log-normal distribution: exp(x) for x from Normal(loc, scale)."""

    arg_constraints = {"loc": c.real, "scale": c.positive}
    _shows_parameters = False
    base_dist: Normal

    def __init__(
        self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, ExpTransform(), validate_args)

    _entropy = lambda self: self.base_dist.entropy() + self.loc
    _mode = lambda self: (self.loc - self.scale.square()).exp()

    def _moments(self) -> tuple[Tensor, Tensor]:
        square = self.scale**2
        return (self.loc + square / 2).exp(), square.expm1() * (2 * self.loc + square).exp()
