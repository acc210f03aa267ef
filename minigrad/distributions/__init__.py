"""Probability distributions with PyTorch's names: sampling, log-probabilities, gradients.

    d.sample((5,))       five samples; gradients do not flow through them
    d.rsample((5,))      five reparameterized samples; gradients flow through them
    d.log_prob(x)        the log-density, or the log-probability of a discrete value
    d.entropy(), d.mean, d.variance, kl_divergence(p, q)

There are two ways to differentiate an expected loss with respect to the parameters of a
distribution. The score function estimator works for every distribution:
(-d.log_prob(action) * reward).backward(). The other is reparameterization, which writes the
sample as a function of the parameters and of noise, for example x = loc + scale * noise. Its
gradients are usually far less noisy. Distributions that allow it have `rsample`.

distribution.py     the base class, the checks of parameters and values, the Kullback-Leibler divergence
continuous.py       Normal, Uniform, Exponential, Laplace, ...
gamma.py            Gamma, Beta, Dirichlet, StudentT
discrete.py         Bernoulli, Binomial, Categorical, Poisson, Geometric
multivariate.py     MultivariateNormal, Independent
transformed.py      TransformedDistribution, for a function such as tanh of a sample
mixture.py          MixtureSameFamily
relaxed.py          RelaxedBernoulli, RelaxedOneHotCategorical

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
from minigrad.core.naming import own_init as _own_init
from minigrad.distributions import constraints
from minigrad.distributions.continuous import *
from minigrad.distributions.discrete import *
from minigrad.distributions.distribution import *
from minigrad.distributions.gamma import *
from minigrad.distributions.mixture import *
from minigrad.distributions.multivariate import *
from minigrad.distributions.relaxed import *
from minigrad.distributions.transformed import *

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's names that minigrad leaves out

# `from minigrad.distributions import *` imports the classes and functions, not the modules.
__all__ = [n for n, v in vars().items() if callable(v) and not n.startswith("_")] + ["constraints"]
for _name in __all__:
    if isinstance(vars()[_name], type):
        _own_init(vars()[_name])
