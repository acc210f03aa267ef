"""Samplers: the order of the examples, and which of them form a batch.

A sampler yields indices of examples; a batch sampler yields lists of indices. For the same seed,
random indices are the same as PyTorch's.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic

from minigrad.core import dtypes
from minigrad.methods.base import Values
from minigrad.methods.creation import as_tensor, empty
from minigrad.random.generator import Generator
from minigrad.random.tensors import randint, randperm
from minigrad.utils.data.dataset import T_co


class Sampler(Generic[T_co]):
    """Yields indices of examples. A subclass defines `__iter__`, and `__len__` if the length is known."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ... in order.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices of examples in random order.

    replacement   whether to sample with replacement
    num_samples   how many indices to yield; by default, each example once
    generator     by default, each pass uses a new one, with a seed from the default generator

    Raises ValueError if there are no examples.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        _check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices per pass; by default, the current length of the dataset."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            seed = empty((), dtype=dtypes.int64).random_().item()
            generator = Generator().manual_seed(int(seed))
        if self.replacement:
            for done in range(0, self.num_samples, 32):
                count = min(32, self.num_samples - done)
                yield from randint(n, (count,), generator=generator).tolist()
            return
        # PyTorch draws one more permutation at the end, of which it uses no index. So do we, because
        # the caller may go on using the generator.
        for done in range(0, self.num_samples + 1, n):
            yield from randperm(n, generator=generator).tolist()[: self.num_samples - done]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Yields the given indices in random order, without replacement."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples indices with probabilities proportional to the weights. Useful for rare classes.

    weights   one per example, nonnegative; they do not need to sum to 1

    >>> len(list(WeightedRandomSampler([0.1, 0.9], num_samples=5)))
    5
    """

    def __init__(
        self,
        weights: Values,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=dtypes.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        n, generator = self.num_samples, self.generator
        yield from self.weights.multinomial(n, self.replacement, generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists of batch_size.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n: int = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
