"""kl_divergence(p, q): the Kullback-Leibler divergence.

    KL(p || q) = the expected value of log p(x) - log q(x), for x drawn from p

It measures the extra nats needed to encode samples of p with a code that is optimal for q. It is
never negative, and 0 only if p and q are equal. This file holds closed forms for many pairs of
distribution types; `register_kl` adds others.

Source: Kullback and Leibler, On Information and Sufficiency (1951).
"""

import math
from collections.abc import Callable
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.distributions.continuous import (
    Cauchy,
    Exponential,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from minigrad.distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.gamma import Beta, Dirichlet, Gamma
from minigrad.distributions.multivariate import Independent, MultivariateNormal
from minigrad.distributions.transformed import TransformedDistribution
from minigrad.distributions.utils import _sum_rightmost
from minigrad.linalg import solve_triangular
from minigrad.methods.functions import where
from minigrad.methods.methods_as_functions import digamma, lgamma
from minigrad.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_formulas: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator that registers a function of (p, q) as the formula for a pair of types."""

    def register(formula: Formula) -> Formula:
        _formulas[type_p, type_q] = formula
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), with the batch shape of p and q.

    Raises NotImplementedError if no formula is registered for the types of p and q.

    >>> from minigrad.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for a in type(p).__mro__:  # the most specific formula comes first
        for b in type(q).__mro__:
            if (a, b) in _formulas:
                return _formulas[a, b](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. "
        "To fix it, take the mean of p.log_prob(x) - q.log_prob(x) over x = p.rsample((n,))."
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(Normal(0.0, p.scale), Normal(0.0, q.scale))


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Source: Chyzak and Nielsen, A closed-form formula for the KL divergence between Cauchy distributions (2019)."""
    numerator = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return (numerator / (4 * p.scale * q.scale)).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The KL divergence of the base distributions: an invertible transform does not change it."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for different transforms: {p.transforms} and {q.transforms}."
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    """p log(p / q) + (1 - p) log((1 - p) / (1 - q)), computed from the logits, with 0 log 0 = 0"""
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = where(q.probs == 0, where(p.probs == 0, 0.0, one * 0 + math.inf), one)
    other = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    other = where(q.probs == 1, where(p.probs == 1, 0.0, other * 0 + math.inf), other)
    return where(p.probs == 0, 0.0, one) + where(p.probs == 1, 0.0, other)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where((q.probs == 0).expand_as(terms), math.inf, terms)
    return where((p.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    z = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, z)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    z = b * (p.rate / q.rate).log() + lgamma(b) - lgamma(a)
    return z + (a - b) * digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    z = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return z + ((a - b) * (digamma(a) - digamma(a.sum(-1)).unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    relative = solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    squares = relative.square().sum((-2, -1)) + q._mahalanobis(q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
