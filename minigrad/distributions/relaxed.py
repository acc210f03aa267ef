"""Relaxed distributions: continuous approximations of Bernoulli and categorical ones, with gradients through samples.

logits + Gumbel noise has its largest entry at k with probability softmax(logits)[k]. Its softmax at a
temperature is a relaxed one-hot vector; the lower the temperature, the closer it is to a true one.

Sources: Maddison, Mnih and Teh, The Concrete Distribution (2017); Jang, Gu and Poole, Categorical
Reparameterization with Gumbel-Softmax (2017).
"""

import math
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.distributions import constraints as c
from minigrad.distributions.discrete import Bernoulli, OneHotCategorical
from minigrad.distributions.distribution import Distribution, Shape
from minigrad.distributions.transformed import (
    ExpTransform,
    SigmoidTransform,
    Transform,
    TransformedDistribution,
)
from minigrad.distributions.utils import clamp_probs
from minigrad.random.tensors import rand

__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical"]


class _WithNoise(Distribution):
    """The base class of relaxed distributions before the transform to values between 0 and 1."""

    has_rsample = True

    def __init__(self, temperature: Any, choice: Bernoulli | OneHotCategorical) -> None:
        self.temperature, self.choice = temperature, choice
        super().__init__(choice.batch_shape, choice.event_shape, False)


class _LogitOfRelaxed(_WithNoise):
    """The logit of a RelaxedBernoulli: (logits + logistic noise) / temperature."""

    support = c.real

    def _draw(self, shape: Shape) -> Tensor:
        p = clamp_probs(self.choice.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=p.dtype))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self.choice.logits - value * self.temperature
        return self.temperature.log() + z - 2 * z.exp().log1p()


class _LogOfRelaxed(_WithNoise):
    """The logarithm of a RelaxedOneHotCategorical: log_softmax((logits + Gumbel noise) / temperature)."""

    support = c.real_vector

    def _draw(self, shape: Shape) -> Tensor:
        logits = self.choice.logits
        u = clamp_probs(rand(shape, dtype=logits.dtype))
        return ((logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self._event_shape[0]
        scores = (self.choice.logits - value * self.temperature).log_softmax(-1)
        return scores.sum(-1) + math.lgamma(k) + (k - 1) * self.temperature.log()


class _Relaxed(TransformedDistribution):
    """The base class of relaxed distributions, each of which approximates a discrete one."""

    # the discrete distribution, the one with noise, and the transform
    _parts: tuple[Any, type[_WithNoise], type[Transform]]
    base_dist: _WithNoise

    def __init__(
        self,
        temperature: Any,
        probs: float | Tensor | None = None,
        logits: float | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        choice, noisy, transform = self._parts
        base = noisy(temperature, choice(probs, logits, validate_args))
        super().__init__(base, transform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature: near 0, samples are nearly 0 or 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits of the discrete distribution."""
        return self.base_dist.choice.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the discrete distribution."""
        return self.base_dist.choice.probs


class RelaxedBernoulli(_Relaxed):
    """A number between 0 and 1, usually close to either: sigmoid((logits + logistic noise) / temperature)

    temperature      above 0
    probs, logits    as in Bernoulli; pass one of them
    """

    _parts = (Bernoulli, _LogitOfRelaxed, SigmoidTransform)


class RelaxedOneHotCategorical(_Relaxed):
    """A probability vector, usually close to a one-hot vector: softmax((logits + Gumbel noise) / temperature)

    temperature      above 0
    probs, logits    (..., k)   as in OneHotCategorical; pass one of them
    """

    support = c.simplex
    _parts = (OneHotCategorical, _LogOfRelaxed, ExpTransform)
