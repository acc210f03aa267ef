"""Probability distributions, by PyTorch's names: draw, weigh, and differentiate.

    d.sample((5,))       five draws; no gradient passes through
    d.rsample((5,))      the same, as a function of the parameters: the gradient passes through
    d.log_prob(x)        the logarithm of the density, or of the probability
    d.entropy(), d.mean, d.variance, kl_divergence(p, q)

Two ways lead from the loss to the parameters of what was drawn. The score function works for
all: (-d.log_prob(action) * reward).backward(). Where the draw can be written as a function of
the parameters and of noise, as x = loc + scale * noise, `rsample` does so, and the gradient is
far less noisy.

distribution.py     what all have in common, and how parameters are checked
continuous.py       Normal, Uniform, Exponential, Laplace, ...
gamma.py            Gamma, Beta, Dirichlet
discrete.py         Bernoulli, Categorical, Poisson, Geometric
multivariate.py     MultivariateNormal, Independent
transformed.py      what becomes of a draw under a function, as tanh
kl.py               the divergence of Kullback and Leibler

>>> import minigrad
>>> generator = minigrad.manual_seed(0)
>>> policy = Categorical(logits=minigrad.tensor([0.0, 1.0], requires_grad=True))
>>> action = policy.sample()
>>> policy.log_prob(action)
tensor(-0.3133, grad_fn=<SqueezeBackward1>)

Source: Mohamed and others, Monte Carlo Gradient Estimation in Machine Learning (2020).
"""

from minigrad.distributions import constraints
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
from minigrad.distributions.gamma import Beta, Chi2, Dirichlet, Gamma
from minigrad.distributions.kl import kl_divergence, register_kl
from minigrad.distributions.multivariate import Independent, MultivariateNormal
from minigrad.distributions.transformed import (
    AffineTransform,
    ExpTransform,
    LogNormal,
    SigmoidTransform,
    TanhTransform,
    Transform,
    TransformedDistribution,
)

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Geometric",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "SigmoidTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
]
