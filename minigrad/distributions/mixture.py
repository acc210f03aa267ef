"""MixtureSameFamily: one of several distributions of a batch, chosen at random for each sample."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minigrad.core.errors import broadcastable
from minigrad.core.tensor import Tensor, wrap
from minigrad.distributions.constraints import Constraint, _Tested
from minigrad.distributions.discrete import Categorical
from minigrad.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions of a batch: density sum over k of w_k * p_k(x)

    mixture_distribution      Categorical, with the weights w (..., k)
    component_distribution    the p_k: a distribution with the batch shape (..., k)

    Raises ValueError if the shapes do not fit.

    >>> import minigrad
    >>> from minigrad.distributions import Normal
    >>> weights = Categorical(minigrad.tensor([0.5, 0.5]))
    >>> two_bumps = MixtureSameFamily(weights, Normal(minigrad.tensor([-2.0, 2.0]), 1.0))
    >>> two_bumps.mean, two_bumps.variance
    (tensor(0.), tensor(5.))
    """

    arg_constraints = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        *batch, k = component_distribution.batch_shape or (None,)
        of_weights = mixture_distribution.batch_shape
        if not broadcastable(of_weights, tuple(batch)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({tuple(of_weights)}) is not compatible with "
                f"`component_distribution.batch_shape`({tuple(batch)})"
            )
        weights = mixture_distribution.logits.shape[-1]
        if k != weights:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({k})"
            )
        super().__init__(batch, component_distribution.event_shape, validate_args)

    @property
    def support(self) -> Constraint | None:
        """The values that lie in the support of every component."""
        each = self.component_distribution.support
        if each is None:
            return None
        axis = -1 - each.event_dim  # of the components
        test = lambda x: each.check(wrap(np.expand_dims(x, axis))).array.all(-1)
        return _Tested(
            f"MixtureSameFamilyConstraint({each})", test, each.event_dim, each.is_discrete
        )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """This mixture with its weights and components expanded to a new batch shape."""
        shape = tuple(batch_shape)
        weights = self.mixture_distribution.expand(shape)
        k = self.component_distribution.batch_shape[-1]
        components = self.component_distribution.expand((*shape, k))
        new = type(self)(weights, components, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        chosen = self.mixture_distribution.sample(sample_shape)
        of_each = self.component_distribution.sample(sample_shape)
        axis, event = len(sample_shape) + len(self._batch_shape), len(self._event_shape)
        index = chosen.reshape((*chosen.shape, *(1,) * (event + 1)))
        index = index.expand((*of_each.shape[:axis], 1, *self._event_shape))
        return of_each.gather(axis, index).squeeze(axis)

    def _beside_components(self, x: Tensor) -> Tensor:
        """x with a new axis where the batch of the components has its k."""
        return x.unsqueeze(-1 - len(self._event_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        log_p = self.component_distribution.log_prob(self._beside_components(value))
        return (log_p + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def _cdf(self, value: Tensor) -> Tensor:
        p = self.component_distribution.cdf(self._beside_components(value))
        return (p * self.mixture_distribution.probs).sum(-1)

    def _moments(self) -> tuple[Tensor, Tensor]:
        """The variance is the mean of the components' variances and the variance of their means."""
        axis, w = -1 - len(self._event_shape), self.mixture_distribution.probs
        w = w.reshape((*w.shape, *(1,) * len(self._event_shape)))
        means = self.component_distribution.mean
        mean = (w * means).sum(axis)
        spread = (w * (means - mean.unsqueeze(axis)) ** 2).sum(axis)
        return mean, (w * self.component_distribution.variance).sum(axis) + spread

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
