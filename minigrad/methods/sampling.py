"""Random sampling in place: x.normal_() fills x with new samples.

The sampling itself is in random/kernels.py. The methods here write the samples into a tensor's memory.
"""

from collections.abc import Callable
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minigrad.core.dtypes import torch_name
from minigrad.core.memory import make
from minigrad.core.modes import seen
from minigrad.core.shapes import Array, as_bool
from minigrad.methods import ArrayMethods
from minigrad.methods.arguments import check_methods
from minigrad.methods.base import overwritten
from minigrad.ops.composites import sampled, searched
from minigrad.random import kernels
from minigrad.random.generator import Generator

if TYPE_CHECKING:
    from minigrad.core.tensor import Tensor


class Sampling(ArrayMethods):
    """The random sampling methods of a tensor."""

    __slots__ = ()

    def uniform_(self, a: float = 0, b: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the uniform distribution between a and b. (PyTorch: from, to.)

        >>> minigrad.zeros(2, 3).uniform_().shape
        minigrad.Size([2, 3])
        """
        return self._fill("UniformBackward0", kernels.uniform, a, b, generator)

    def normal_(self, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the normal distribution.

        >>> minigrad.zeros(2, 3).normal_().shape
        minigrad.Size([2, 3])
        """
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        dense = self.array.flags.c_contiguous
        return self._fill("NormalBackward0", kernels.normals, mean, std, generator, dense)

    def bernoulli_(self, p: float | ArrayMethods = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the Bernoulli distribution: 1 with probability p, else 0.

        >>> minigrad.zeros(3).bernoulli_(1.0)
        tensor([1., 1., 1.])
        """
        if isinstance(p, ArrayMethods):
            return overwritten(self, kernels.bernoulli(p.expand(self.shape).array, self.array.shape, self.array.dtype, generator), "BernoulliBackward1")
        return self._fill("BernoulliBackward2", lambda shape, dtype: kernels.bernoulli(p, shape, dtype, generator))

    def bernoulli(self, p: float | None = None, *, generator: Generator | None = None) -> "Tensor":
        """Samples from the Bernoulli distribution: 1 with probability p, else 0. Without p, each entry of x is its probability.

        >>> minigrad.tensor([0.0, 1.0]).bernoulli()
        tensor([0., 1.])
        """
        x: Any = self
        if x.dtype.kind != "f" and p is None:
            raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {torch_name(x.dtype)!r}')
        probabilities = x.array if p is None else p
        drawn = make.wrap(kernels.bernoulli(probabilities, x.shape, x.dtype, generator))
        return sampled(x, drawn, "BernoulliBackward0")

    def multinomial(self, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> "Tensor":
        """Samples of category indices, with probabilities proportional to the weights.

        self         (k,) or (n, k)   non-negative weights; they don't have to sum to 1
        returns      (num_samples,) or (n, num_samples), of int64

        Without replacement, no category is sampled twice. Each category gets a sample from the
        exponential distribution whose rate is its weight, and the categories with the smallest samples
        are chosen. With replacement, each sample looks up a uniform random number in the cumulative
        weights. (A single sample always uses the first method.)

        Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir (2006).

        >>> minigrad.tensor([0.0, 1.0]).multinomial(1)
        tensor([1])
        """
        weights = seen(self)  # a program samples from the weights of each run
        w = np.asarray(weights)
        if w.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if self.dtype.kind != "f":
            raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {torch_name(self.dtype)}")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not as_bool(replacement, "replacement") and num_samples > w.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if not np.isfinite(w).all() or (w < 0).any():
            if not replacement or num_samples == 1:
                raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
            bad = "= infinity or NaN" if (w >= 0).all() else "< 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {bad})")
        if (w.sum(-1) <= 0).any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if not replacement or num_samples == 1:
            priority = weights / kernels.exponential(w.shape, w.dtype, 1, generator)  # 1 / sample with rate w
            order = np.argsort(-priority, axis=-1, kind="stable")
            return make.wrap(order[..., :num_samples].astype(np.int64))
        cumulative = np.cumsum(weights, -1, dtype=w.dtype)
        cumulative = (cumulative / cumulative[..., -1:]).reshape(-1, w.shape[-1])
        at = kernels.uniform((len(cumulative), num_samples), np.dtype(np.float64), 0, 1, generator)
        return self._index_tensor(searched(cumulative, at).reshape((*w.shape[:-1], num_samples)))

    def random_(self, low: int | None = None, to: int | EllipsisType | None = ..., *, generator: Generator | None = None) -> Self:
        """random_(to), random_(from, to): fill with random integers from `from` (default 0) up to but not including `to`.

        random_(from, None) goes up to the largest integer up to which the dtype can represent all integers
        exactly, and so does random_(), from 0 on.

        >>> minigrad.zeros(2).random_(5, 6)
        tensor([5., 5.])
        """
        if low is None and to in (None, ...):
            return self._fill("RandomBackward2", kernels.any_integers, generator)
        name, bounds = ("RandomBackward1", (0, low)) if to is ... else ("RandomBackward0", (low or 0, to))
        return self._fill(name, kernels.integers, *bounds, generator)

    def exponential_(self, lambd: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the exponential distribution with rate `lambd`.

        >>> minigrad.zeros(2).exponential_().shape
        minigrad.Size([2])
        """
        return self._fill("ExponentialBackward0", kernels.exponential, lambd, generator)

    def log_normal_(self, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Self:
        """Fill with exp(x), where x is sampled from the normal distribution with this mean and standard deviation.

        >>> minigrad.zeros(2).log_normal_().shape
        minigrad.Size([2])
        """
        return self._fill("LogNormalBackward0", kernels.log_normal, mean, std, generator)

    def geometric_(self, p: float, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the geometric distribution: the number of trials up to the first success.

        p   the probability of success, between 0 and 1

        >>> minigrad.zeros(2, 3).geometric_(0.5).shape
        minigrad.Size([2, 3])
        """
        return self._fill("GeometricBackward0", kernels.geometric, p, generator)

    def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with samples from the Cauchy distribution with this median and scale.

        >>> minigrad.zeros(2).cauchy_().shape
        minigrad.Size([2])
        """
        return self._fill("CauchyBackward0", kernels.cauchy, median, sigma, generator)

    def _fill(self, name: str, kernel: Callable[..., Array], *settings: object) -> Self:
        """Write random numbers into x, in the order of its memory. `name` is the name of the node, if this is recorded."""
        dtype = self.array.dtype
        settings = tuple([s.item() if isinstance(s, make.Tensor) else s for s in settings])
        numbers = kernels.in_memory_order(self.array, lambda shape: kernel(shape, dtype, *settings))
        return overwritten(self, numbers, name)


check_methods(Sampling, numbers=True)
