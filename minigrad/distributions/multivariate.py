"""Distributions of vectors: MultivariateNormal, and Independent for vectors of independent entries."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from minigrad.core.tensor import Size, Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.distribution import Distribution, Shape, kl_divergence, standard_normal
from minigrad.distributions.utils import _sum_rightmost, lazy_property
from minigrad.linalg import cholesky, inv, solve_triangular
from minigrad.methods.creation import eye

__all__ = ["Independent", "MultivariateNormal"]


def _from_factor(matrix: Callable[[Tensor], Tensor]) -> lazy_property:
    """A property of MultivariateNormal, computed from the factor L and expanded to its batches."""

    def compute(self: Any) -> Tensor:
        lower = matrix(self._unbroadcasted_scale_tril)
        return lower.expand((*self._batch_shape, *self._event_shape * 2))

    return lazy_property(compute)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """The squared norm of L^-1 x: the squared Mahalanobis distance of x, whose covariance is L L^T, from 0."""
    n, batch = bx.shape[-1], np.broadcast_shapes(bx.shape[:-1], bL.shape[:-2])
    columns = bx.unsqueeze(-1).expand(*batch, n, 1)
    z = solve_triangular(bL.expand(*batch, n, n), columns, upper=False)
    return z.square().sum((-2, -1))


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower triangular L with L L^T = P^-1, without an inverse: of a factor of P from its last row up."""
    upper = cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return solve_triangular(upper, eye(P.shape[-1], dtype=P.dtype), upper=False)


class MultivariateNormal(Distribution):
    """The multivariate normal distribution.

    loc                  (..., k)      the mean
    covariance_matrix    (..., k, k)   the covariance of the entries
    precision_matrix     (..., k, k)   the inverse of the covariance
    scale_tril           (..., k, k)   L, lower triangular, where the covariance is L @ L.T

    Pass exactly one of the three matrices. A sample is loc + L @ noise.
    """

    arg_constraints = {
        "loc": c.real_vector,
        "covariance_matrix": c.positive_definite,
        "precision_matrix": c.positive_definite,
        "scale_tril": c.lower_cholesky,
    }
    support = c.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        named = [(name, m) for name, m in given.items() if m is not None]
        if len(named) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        name, matrix = named[0]
        if matrix.ndim < 2:
            raise ValueError(
                f"{name} matrix must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        batch = np.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(*batch, loc.shape[-1])
        self.__dict__[name] = matrix.expand(*batch, *matrix.shape[-2:])
        super().__init__(batch, loc.shape[-1:], validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        else:
            factor = cholesky if name == "covariance_matrix" else _precision_to_scale_tril
            self._unbroadcasted_scale_tril = factor(matrix)

    # Those of the three matrices that were not passed are computed on first access.
    scale_tril: Any = _from_factor(lambda lower: lower)
    covariance_matrix: Any = _from_factor(lambda lower: lower @ lower.mT)
    precision_matrix: Any = _from_factor(lambda lower: inv(lower @ lower.mT))

    @property
    def mean(self) -> Tensor:
        """The mean, also in a subclass that keeps its covariance in another way."""
        return self.loc

    def _draw(self, shape: Shape) -> Tensor:
        noise = standard_normal(shape, self.loc)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def _log_prob(self, value: Tensor) -> Tensor:
        squares = self._event_shape[0] * math.log(2 * math.pi) + _batch_mahalanobis(
            self._unbroadcasted_scale_tril, value - self.loc
        )
        return -0.5 * squares - self._half_log_det()

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def _entropy(self) -> Tensor:
        z = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return z.expand(tuple(self._batch_shape)) if self._batch_shape else z

    def _moments(self) -> tuple[Tensor, Tensor]:
        variance = self._unbroadcasted_scale_tril.square().sum(-1)
        return self.loc, variance.expand(self._extended_shape())

    _mode = lambda self: self.loc

    def _kl(self, q: Self) -> Tensor:
        if self.event_shape != q.event_shape:
            raise ValueError(
                "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
            )
        relative = solve_triangular(
            q._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril, upper=False
        )
        squares = relative.square().sum((-2, -1)) + _batch_mahalanobis(
            q._unbroadcasted_scale_tril, q.loc - self.loc
        )
        return q._half_log_det() - self._half_log_det() + 0.5 * (squares - self.event_shape[0])


class Independent(Distribution):
    """Treat the last axes of a batch as the entries of one event, and sum their log_probs.

    base_distribution             the distribution of the entries
    reinterpreted_batch_ndims     how many of the last batch axes become event axes

    >>> import minigrad
    >>> from minigrad.distributions import Normal
    >>> Independent(Normal(minigrad.zeros(5, 3), 1.0), 1).log_prob(minigrad.zeros(5, 3)).shape
    minigrad.Size([5])
    """

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{n} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        event = (*batch[len(batch) - n :], *base_distribution.event_shape)
        self.has_rsample = base_distribution.has_rsample
        super().__init__(batch[: len(batch) - n], event, validate_args)

    @property
    def support(self) -> c.Constraint | None:
        """The support of the base distribution, for every entry."""
        base = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return base if base is None or n == 0 else c.independent(base, n)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> "Independent":
        """This distribution with its parameters expanded to a new batch shape."""
        shape = (*batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims])
        new: Independent = self._get_checked_instance(Independent, _instance)
        Independent.__init__(
            new, self.base_dist.expand(Size(shape)), self.reinterpreted_batch_ndims
        )
        return new

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples as a function of the parameters, so that gradients flow through them."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the log_prob of the entries."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    _entropy = lambda self: _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of the support, if no batch axes are reinterpreted; else NotImplementedError."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    _mode = lambda self: self.base_dist.mode

    @property
    def mean(self) -> Tensor:
        """The mean of each entry."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance of each entry."""
        return self.base_dist.variance

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"

    def _kl(self, q: Self) -> Tensor:
        if self.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError
        return _sum_rightmost(
            kl_divergence(self.base_dist, q.base_dist), self.reinterpreted_batch_ndims
        )
