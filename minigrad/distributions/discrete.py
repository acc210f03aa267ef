"""Discrete distributions: over 0 and 1, over the nonnegative integers, over k categories.

Most of them take either `probs` or `logits`. Probabilities must lie between 0 and 1; logits may
be any real numbers. In the binary case a logit is log(p / (1 - p)). For k categories, the
probabilities are softmax(logits). The attribute that was not passed is computed from the other.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from minigrad.core.limits import finfo
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.distributions import constraints as c
from minigrad.distributions.distribution import Distribution, Shape, all_hold, broadcast_all, tiny
from minigrad.distributions.utils import clamp_probs, lazy_property, probs_to_logits
from minigrad.methods.creation import eye
from minigrad.methods.functions import broadcast_tensors, where
from minigrad.methods.methods_as_functions import lgamma
from minigrad.nn.functional import binary_cross_entropy_with_logits, one_hot, softplus
from minigrad.random.tensors import binomial, poisson

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]


_cross_entropy = partial(binary_cross_entropy_with_logits, reduction="none")  # of each entry


class _ProbsOrLogits(Distribution):
    """The base class of distributions that take either probabilities or logits."""

    def __init__(
        self,
        probs: float | Tensor | None = None,
        logits: float | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        shapes = self._take("logits", logits) if probs is None else self._take("probs", probs)
        super().__init__(*shapes, validate_args)

    def _take(self, name: str, given: Any) -> tuple[Shape, Shape]:
        """Store the argument of this name. Returns batch_shape and event_shape."""
        raise NotImplementedError


class _Trials(_ProbsOrLogits):
    """The base class of distributions that count the outcomes of `total_count` independent trials."""

    _counts_may_differ = False  # may total_count be a tensor?

    def __init__(
        self,
        total_count: int | Tensor = 1,
        probs: float | Tensor | None = None,
        logits: float | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not (self._counts_may_differ or isinstance(total_count, int)):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count: Any = total_count
        super().__init__(probs, logits, validate_args)

    def _moments(self: Any) -> tuple[Tensor, Tensor]:
        mean = self.total_count * self.probs
        return mean, mean * (1 - self.probs)


class _Discrete(Distribution):
    """The base class of discrete distributions, which have `sample` but no `rsample`."""

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        return self._draw(self._extended_shape(sample_shape))


class _Binary(_ProbsOrLogits, _Discrete):
    """The base class of distributions with one parameter: the probability of success."""

    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    probs: Any = lazy_property(lambda self: self.logits.sigmoid())
    logits: Any = lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True))

    def _take(self, name: str, given: float | Tensor) -> tuple[Shape, Shape]:
        (value,) = broadcast_all(given)
        setattr(self, name, value)
        return value.shape, ()


class Bernoulli(_Binary):
    """1 with probability p, and 0 with probability 1 - p.

    >>> import minigrad
    >>> Bernoulli(probs=0.25).log_prob(minigrad.tensor(1.0)).exp()
    tensor(0.2500)
    """

    support = c.boolean
    has_enumerate_support = True

    @property
    def param_shape(self) -> Shape:
        """The shape of probs: batch_shape."""
        return self.probs.shape

    _draw = lambda self, shape: self.probs.expand(shape).bernoulli()

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, x = broadcast_tensors(self.logits, value)
        return -_cross_entropy(logits, x)

    _entropy = lambda self: _cross_entropy(self.logits, self.probs)

    _values = lambda self: self.probs.new_tensor([0.0, 1.0])
    _moments = lambda self: (self.probs, self.probs * (1 - self.probs))

    def _mode(self) -> Tensor:
        """The more likely value; NaN where 0 and 1 are equally likely."""
        p = self.probs
        return (p >= 0.5).to(p.dtype).masked_fill(p == 0.5, float("nan"))

    def _kl(self, q: Self) -> Tensor:
        """p log(p / q) + (1 - p) log((1 - p) / (1 - q)), computed from the logits, with 0 log 0 = 0"""
        one = self.probs * (softplus(-q.logits) - softplus(-self.logits))
        one = where(q.probs == 0, where(self.probs == 0, 0.0, one * 0 + math.inf), one)
        other = (1 - self.probs) * (softplus(q.logits) - softplus(self.logits))
        other = where(q.probs == 1, where(self.probs == 1, 0.0, other * 0 + math.inf), other)
        return where(self.probs == 0, 0.0, one) + where(self.probs == 1, 0.0, other)


class Binomial(_Trials, _Binary):
    """The number of successes in `total_count` independent trials: P(k) = n! / (k! (n - k)!) * p**k * (1 - p)**(n - k)

    total_count   n, the number of trials, or a tensor of them
    probs         p, the probability of success; or pass logits

    >>> import minigrad
    >>> Binomial(2, probs=0.5).log_prob(minigrad.tensor([0.0, 1.0, 2.0])).exp()
    tensor([0.2500, 0.5000, 0.2500])
    """

    arg_constraints = {"total_count": c.nonnegative_integer, **_Binary.arg_constraints}
    param_shape = Bernoulli.param_shape
    has_enumerate_support = True
    _counts_may_differ = True

    def _take(self, name: str, given: float | Tensor) -> tuple[Shape, Shape]:
        n, value = broadcast_all(self.total_count, given)
        self.total_count = n.type_as(value)
        setattr(self, name, value)
        return value.shape, ()

    @property
    def support(self) -> c.Constraint:
        """The integers from 0 to total_count."""
        return c.integer_interval(0, self.total_count)

    _draw = lambda self, shape: binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        log_coefficient = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return log_coefficient + value * logits - n * softplus(logits)

    def _entropy(self) -> Tensor:
        log_p = self.log_prob(self.enumerate_support(False))
        return -(log_p.exp() * log_p).sum(0)

    def _values(self) -> Tensor:
        """0, ..., total_count. Raises NotImplementedError if the counts differ."""
        n = self.total_count.detach().numpy()
        if not (n == n.max()).all():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        return self.probs.new_tensor(np.arange(n.max() + 1))

    _mode = lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    def _kl(self, q: Self) -> Tensor:
        if (self.total_count < q.total_count).array.any():
            raise NotImplementedError(
                "KL between Binomials where q.total_count > p.total_count is not implemented: it has no closed form."
            )
        terms = self.probs * (self.logits - q.logits) + (-self.probs).log1p() - (-q.probs).log1p()
        return where(self.total_count > q.total_count, math.inf, self.total_count * terms)


class Geometric(_Binary):
    """The number of failures before the first success: P(k) = (1 - p)**k * p"""

    support = c.nonnegative_integer

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if "probs" in self.__dict__ and not all_hold(self.probs > 0):  # logits give no zeros
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive but found invalid "
                f"values:\n{self.probs}"
            )

    def _draw(self, shape: Shape) -> Tensor:
        p = self.probs
        u = p.new_empty(shape).uniform_(tiny(p), 1)
        return (u.log() / (-p).log1p()).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        x, p = broadcast_tensors(value, self.probs)
        p = p.masked_fill((p == 1) & (x == 0), 0)
        return x * (-p).log1p() + self.probs.log()

    _entropy = lambda self: _cross_entropy(self.logits, self.probs) / self.probs
    _mode = lambda self: self.probs.new_zeros(self.probs.shape)

    def _moments(self) -> tuple[Tensor, Tensor]:
        mean = 1.0 / self.probs - 1.0
        return mean, mean / self.probs

    _kl = lambda self, q: -self.entropy() - (-q.probs).log1p() / self.probs - q.logits


class Poisson(_Discrete):
    """The number of events when `rate` are expected: P(k) = rate**k * exp(-rate) / k!"""

    arg_constraints = {"rate": c.nonnegative}
    support = c.nonnegative_integer

    def __init__(self, rate: float | Tensor, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    _draw = lambda self, shape: poisson(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, x = broadcast_tensors(self.rate, value)
        return x.xlogy(rate) - rate - lgamma(x + 1)

    _mode = lambda self: self.rate.floor()
    _moments = lambda self: (self.rate, self.rate)
    _kl = lambda self, q: self.rate * (self.rate.log() - q.rate.log()) - (self.rate - q.rate)


class Categorical(_ProbsOrLogits):
    """One of the categories 0, ..., k - 1, each with its own probability.

    probs     (..., k)   nonnegative weights; they are normalized to sum to 1
    logits    (..., k)   any real numbers; the probabilities are softmax(logits)

    >>> import minigrad
    >>> Categorical(minigrad.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    probs: Any = lazy_property(lambda self: self.logits.softmax(-1))
    logits: Any = lazy_property(lambda self: clamp_probs(self.probs).log())
    has_enumerate_support = True

    def _take(self, name: str, given: Tensor) -> tuple[Shape, Shape]:
        if given.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        return given.shape[:-1], ()

    @property
    def support(self) -> c.Constraint:
        """The integers from 0 to k - 1."""
        return c.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Shape:
        """The shape of probs: batch_shape + (k,)."""
        return Size((*self._batch_shape, self._num_events))

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        n = int(np.prod(sample_shape, dtype=np.int64))
        rows = self.probs.detach().reshape(-1, self._num_events)
        return rows.multinomial(n, True).T.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        index = value.long().unsqueeze(-1)
        index, logits = broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def _entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    _values = lambda self: wrap(np.arange(self._num_events, dtype=np.int64))
    _mode = lambda self: self.probs.argmax(-1)

    def _moments(self) -> tuple[Tensor, Tensor]:
        nan = self.probs.new_full(self._batch_shape, float("nan"))  # categories have no mean
        return nan, nan

    def _kl(self, q: Self) -> Tensor:
        terms = self.probs * (self.logits - q.logits)
        terms = where((q.probs == 0).expand_as(terms), math.inf, terms)
        return where((self.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


class _Counts(_ProbsOrLogits):
    """The base class of distributions over vectors that count categories."""

    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}

    def _take(self, name: str, given: Tensor) -> tuple[Shape, Shape]:
        self._categorical = Categorical(given) if name == "probs" else Categorical(logits=given)
        shape = self._categorical.param_shape
        return shape[:-1], shape[-1:]

    @property
    def probs(self) -> Tensor:
        """The probability of each category."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log-probability of each category."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Shape:
        """The shape of probs: batch_shape + (k,)."""
        return self._categorical.param_shape


class Multinomial(_Trials, _Counts):
    """How often each of the categories 0, ..., k - 1 occurs in `total_count` draws.

    total_count   the number of draws
    probs         (..., k)   nonnegative weights; they are normalized to sum to 1
    logits        (..., k)   any real numbers; the probabilities are softmax(logits)

    A sample has the shape (..., k). Raises NotImplementedError if total_count is not an int.

    >>> import minigrad
    >>> fair = Multinomial(2, minigrad.tensor([0.5, 0.5]))
    >>> fair.log_prob(minigrad.tensor([1.0, 1.0])).exp()
    tensor(0.5000)
    """

    @property
    def support(self) -> c.Constraint:
        """Nonnegative numbers that sum to at most total_count."""
        return c.multinomial(self.total_count)

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return one_hot(drawn, self._event_shape[-1]).sum(0).to(self.probs.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, x = broadcast_tensors(self.logits, value)
        logits = logits.masked_fill((x == 0) & (logits == -math.inf), 0)
        return lgamma(x.sum(-1) + 1) - lgamma(x + 1).sum(-1) + (logits * x).sum(-1)

    def _entropy(self) -> Tensor:
        """n * (entropy of one draw) - log n! + the expected log k! of each count k, which is binomial"""
        n, p = self.total_count, self.probs
        k = p.new_tensor(np.arange(1, n + 1)).reshape((n,) + (1,) * p.ndim)
        log_factorial = lgamma(k + 1)
        whole = math.lgamma(n + 1)
        log_binomial = whole - log_factorial - lgamma(n - k + 1) + k.xlogy(p) + (n - k).xlogy(1 - p)
        expected = (log_binomial.exp() * log_factorial).sum((0, -1))
        return n * self._categorical.entropy() - whole + expected


class OneHotCategorical(_Counts):
    """Like Categorical, but a sample is the one-hot vector of the category."""

    support = c.one_hot
    has_enumerate_support = True

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        z = one_hot(self._categorical.sample(sample_shape), self._event_shape[-1])
        return z.to(self.probs.dtype)

    _values = lambda self: eye(self._event_shape[-1], dtype=self.probs.dtype)

    def _mode(self) -> Tensor:
        """The one-hot vector of the most likely category."""
        return one_hot(self._categorical.mode, self._event_shape[-1]).to(self.probs.dtype)

    _log_prob = lambda self, x: self._categorical.log_prob(x.argmax(-1))
    _entropy = lambda self: self._categorical.entropy()
    _moments = lambda self: (self.probs, self.probs * (1 - self.probs))
    _kl = lambda self, q: self._categorical._kl(q._categorical)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Like OneHotCategorical; rsample() passes the gradient straight through to the probabilities.

    >>> logits = minigrad.zeros(3, requires_grad=True)
    >>> OneHotCategoricalStraightThrough(logits=logits).rsample()[0].backward()
    >>> logits.grad
    tensor([ 0.2222, -0.1111, -0.1111])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """A sample, whose gradient is that of the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
