"""Distributions of vectors: MultivariateNormal, and independent numbers taken together."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.tensor import Size, Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.distribution import Distribution, Shape, standard_normal
from minigrad.distributions.utils import _sum_rightmost
from minigrad.linalg import inv, solve_triangular
from minigrad.methods.methods_as_functions import cholesky

__all__ = ["Independent", "MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, with any correlations between the entries.

    loc                  (..., k)      the mean
    covariance_matrix    (..., k, k)   or, instead,
    precision_matrix     (..., k, k)   its inverse, or
    scale_tril           (..., k, k)   L with covariance L @ L.T, zeros above the diagonal

    A draw is loc + L @ noise.
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
            self._lower = matrix
        else:
            self._lower = cholesky(matrix if name == "covariance_matrix" else inv(matrix))

    def __getattr__(self, name: str) -> Any:
        """The matrices that were not given."""
        shape = (*self.__dict__["_batch_shape"], *self.__dict__["_event_shape"] * 2)
        lower = self.__dict__.get("_lower")
        if lower is not None and name == "scale_tril":
            return lower.expand(shape)
        if lower is not None and name == "covariance_matrix":
            return (lower @ lower.mT).expand(shape)
        if lower is not None and name == "precision_matrix":
            return inv(lower @ lower.mT).expand(shape)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _draw(self, shape: Shape) -> Tensor:
        noise = standard_normal(shape, self.loc)
        return self.loc + (self._lower @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        squares = self._event_shape[0] * math.log(2 * math.pi) + self._distance(value - self.loc)
        return -0.5 * squares - self._half_log_det()

    def _distance(self, away: Tensor) -> Tensor:
        """The squared length of L^-1 (x - loc): how many deviations away x is."""
        n = max(away.ndim - 1, self._lower.ndim - 2)
        rows = away.expand(*(1,) * (n + 1 - away.ndim), *away.shape).unsqueeze(-1)
        batch = np.broadcast_shapes(rows.shape[:-2], self._lower.shape[:-2])
        low = self._lower.expand(*batch, *self._lower.shape[-2:])
        z = solve_triangular(low, rows.expand(*batch, *rows.shape[-2:]), upper=False)
        return z.square().sum((-2, -1))

    def _half_log_det(self) -> Tensor:
        return self._lower.diagonal(0, -2, -1).log().sum(-1)

    def _entropy(self) -> Tensor:
        z = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return z.expand(tuple(self._batch_shape)) if self._batch_shape else z

    def _moments(self) -> tuple[Tensor, Tensor]:
        return self.loc, self._lower.square().sum(-1).expand(self._extended_shape())

    @property
    def mode(self) -> Tensor:
        """The value of greatest density: the mean."""
        return self.loc


class Independent(Distribution):
    """Some axes of a batch, taken as the entries of one draw: their log_probs are added.

    base_distribution             what the entries come from
    reinterpreted_batch_ndims     how many axes, from the end

    >>> import minigrad
    >>> from minigrad.distributions import Normal
    >>> Independent(Normal(minigrad.zeros(5, 3), 1.0), 1).log_prob(minigrad.zeros(5, 3)).shape
    minigrad.Size([5])
    """

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
        super().__init__(batch[: len(batch) - n], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Does the gradient pass through the draws of the base distribution?"""
        return self.base_dist.has_rsample

    @property
    def support(self) -> c.Constraint | None:
        """What can come out: the condition on each entry, for all of them."""
        base = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return base if base is None or n == 0 else c.independent(base, n)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> "Independent":
        """The same distribution, as if its parameters had been expanded to this shape."""
        shape = (*batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims])
        new: Independent = self._get_checked_instance(Independent, _instance)
        Independent.__init__(
            new, self.base_dist.expand(Size(shape)), self.reinterpreted_batch_ndims
        )
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws, through which no gradient passes."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws as a function of the parameters, so that gradients pass through."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the entries' log_prob."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def _entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All that can come out, along a new first axis. Raises NotImplementedError for draws of several entries."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        return self.base_dist.mode

    @property
    def mean(self) -> Tensor:
        """The mean of the draws."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance of each entry."""
        return self.base_dist.variance

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
