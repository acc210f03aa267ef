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

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.distributions import constraints
from minigrad.distributions.continuous import *
from minigrad.distributions.discrete import *
from minigrad.distributions.distribution import *
from minigrad.distributions.gamma import *
from minigrad.distributions.kl import *
from minigrad.distributions.multivariate import *
from minigrad.distributions.transformed import *

__getattr__ = _partial(_attribute, __name__)  # what PyTorch has and minigrad leaves out

# What `from minigrad.distributions import *` brings: not the names of the files.
__all__ = [n for n, v in vars().items() if callable(v) and not n.startswith("_")] + ["constraints"]
