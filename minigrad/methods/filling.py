"""Filled at random: x.normal_() writes new numbers over x, as all methods with an underscore do.

What is drawn, and from which words of the generator, is told in chance.py. Here it is put
into a tensor's memory.
"""

from typing import TYPE_CHECKING, Any, Self

from minigrad.core.memory import make
from minigrad.methods import ArrayMethods
from minigrad.random import kernels as chance

if TYPE_CHECKING:
    from minigrad.core.tensor import Tensor


class Filling(ArrayMethods):
    """The methods of a tensor that draw at random."""

    __slots__ = ()

    def uniform_(self, a: float = 0, b: float = 1, *, generator: Any = None) -> Self:
        """Fill with numbers from a up to b, all equally likely. (PyTorch: from, to.)"""
        return self._fill(lambda shape, dtype: chance.uniform(shape, dtype, a, b, generator))

    def normal_(self, mean: float = 0, std: float = 1, *, generator: Any = None) -> Self:
        """Fill from the bell curve."""
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        dense = self.array.flags.c_contiguous
        return self._fill(
            lambda shape, dtype: chance.normal(shape, dtype, mean, std, generator, dense)
        )

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Self:
        """Fill with ones, each with probability p, and zeros."""
        if isinstance(p, make.Tensor):
            p = p.array
            return self.copy_(chance.coins(p, self.array.shape, self.array.dtype, generator))
        return self._fill(lambda shape, dtype: chance.coins(p, shape, dtype, generator))

    def bernoulli(self, p: Any = None, *, generator: Any = None) -> "Tensor":
        """1 with the probability that stands in each entry (or is p), else 0."""
        from minigrad.random.tensors import bernoulli

        x: Any = self
        return bernoulli(x, p, generator=generator)

    def multinomial(
        self, num_samples: int, replacement: bool = False, *, generator: Any = None
    ) -> "Tensor":
        """Category numbers, drawn with these weights."""
        from minigrad.random.tensors import multinomial

        x: Any = self
        return multinomial(x, num_samples, replacement, generator=generator)

    def random_(self, low: int = 0, to: int | None = None, *, generator: Any = None) -> Self:
        """random_(to), random_(from, to): fill with whole numbers below `to`.

        random_() fills with all that the type can tell apart, from 0 on.
        """
        if to is None and not low:
            return self._fill(lambda shape, dtype: chance.anything(shape, dtype, generator))
        low, to = (0, low) if to is None else (low, to)
        return self._fill(lambda shape, dtype: chance.integers(shape, dtype, low, to, generator))

    def exponential_(self, lambd: float = 1, *, generator: Any = None) -> Self:
        """Fill with waiting times for what happens `lambd` times in a unit of time."""
        return self._fill(lambda shape, dtype: chance.exponential(shape, dtype, lambd, generator))

    def log_normal_(self, mean: float = 1, std: float = 2, *, generator: Any = None) -> Self:
        """Fill with exp(x), for x from the bell curve of this mean and standard deviation."""
        return self._fill(
            lambda shape, dtype: chance.log_normal(shape, dtype, mean, std, generator)
        )

    def geometric_(self, p: float, *, generator: Any = None) -> Self:
        """Fill with how many tries it takes until something of probability p has happened."""
        return self._fill(lambda shape, dtype: chance.geometric(shape, dtype, p, generator))

    def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Self:
        """Fill from Cauchy's distribution: the tangent of an angle that is uniform."""
        return self._fill(
            lambda shape, dtype: chance.cauchy(shape, dtype, median, sigma, generator)
        )

    def _fill(self, draw: Any) -> Self:
        """Write random numbers, in the order in which the entries lie in memory."""
        dtype = self.array.dtype
        return self.copy_(chance.in_memory_order(self.array, lambda shape: draw(shape, dtype)))
