"""Datasets: access to examples by index, or as a stream.

A dataset is anything with `__getitem__` and `__len__`, such as a list. `Dataset` is the base class
for your own; the other classes build datasets from existing ones. An `IterableDataset` has no
indices: it is a stream of examples, for example from a file that is too large for memory.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor
from minigrad.methods.indexing import Index
from minigrad.random.generator import Generator
from minigrad.random.tensors import randperm

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """The base class of datasets. A subclass defines `__getitem__` and usually `__len__`.

    >>> class Squares(Dataset):
    ...     def __getitem__(self, index):
    ...         return index, index**2
    ...
    ...     def __len__(self):
    ...         return 100
    >>> Squares()[7]
    (7, 49)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[Any]") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of examples. A subclass defines `__iter__`, which also determines their order.

    >>> class Countdown(IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(Countdown() + Countdown())
    [3, 2, 1, 3, 2, 1]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The i-th example is the i-th row of each tensor.

    tensors   (n, ...) each, with the same n
    """

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [len(t) for t in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(
                f"Size mismatch between tensors: they have {sizes} rows, but the i-th example is the "
                "i-th row of each."
            )
        self.tensors = tensors

    def __getitem__(self, index: Index) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset[T_co]):
    """The examples of a dataset with these indices, in this order."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__, which a DataLoader calls. To fix it, add  "
                "def __getitems__(self, indices): return [self.__getitem__(i) for i in indices]"
            )

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            example: T_co = self.dataset[[self.indices[i] for i in idx]]
        else:
            example = self.dataset[self.indices[idx]]
        return example

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """Several examples at once: a loader uses this for a batch."""
        examples: list[T_co] = _examples_at(self.dataset, [self.indices[i] for i in indices])
        return examples

    def __len__(self) -> int:
        return len(self.indices)


def _examples_at(dataset: Any, indices: Any) -> Any:
    """The examples at these indices, with one call of `__getitems__` if the dataset has it."""
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if several else [dataset[i] for i in indices]


class ConcatDataset(Dataset[Any]):
    """The concatenation of several datasets.

    >>> both = ConcatDataset(["ab", "cde"])
    >>> len(both), both[3], both[-1], both.cumulative_sizes
    (5, 'd', 'e', [2, 5])
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError(
                "ConcatDataset does not support IterableDataset, which has no i-th example: "
                "use ChainDataset."
            )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, idx: int) -> Any:
        if idx < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        if idx >= len(self):
            raise IndexError(
                f"list index out of range: example {idx} was asked for, but there are only {len(self)}."
            )
        idx %= len(self)
        k = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[k][idx - (self.cumulative_sizes[k - 1] if k else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class StackDataset(Dataset[Any]):
    """The i-th examples of several datasets, side by side: a tuple, or a dict if they have names.

    >>> StackDataset("abc", range(3))[1], StackDataset(letter="abc", number=range(3))[1]
    (('b', 1), {'letter': 'b', 'number': 1})
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        self.datasets = args or kwargs
        parts = args or [*kwargs.values()]
        if not parts:
            raise ValueError("At least one dataset should be passed")
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError(
                f"Size mismatch between datasets: they have {[len(part) for part in parts]} examples."
            )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The examples at these indices. Datasets with their own `__getitems__` get one call."""
        named = isinstance(self.datasets, dict)
        parts = self.datasets.values() if isinstance(self.datasets, dict) else self.datasets
        columns = [_examples_at(part, indices) for part in parts]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        return [dict(zip(self.datasets, row)) if named else row for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ChainDataset(IterableDataset[Any]):
    """The concatenation of several iterable datasets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Split a dataset randomly into disjoint parts.

    lengths   the number of examples in each part, or fractions that sum to 1

    For fractions, sizes are rounded down, and the first parts get one more example each until none is left.

    Raises ValueError if the lengths do not add up to the number of examples.

    >>> [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25])]
    [6, 2, 2]
    """
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(n * share) for share in lengths]
        for i in range(n - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warn_user(
                    f"Length of split at index {i} is 0. This might result in an empty dataset."
                )
    else:
        counts = list(lengths)  # type: ignore[arg-type]
    if sum(counts) != n:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"The lengths {list(lengths)} add up to {sum(counts)}, but there are {n} examples."
        )
    order = randperm(n, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [
        Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)
    ]
