"""DataLoader: iterates over a dataset in batches.

    for x, y in DataLoader(examples, batch_size=32, shuffle=True):
        ...

Each pass gets indices from a sampler, reads the examples with these indices from the dataset, and
collates them into batches. Read dataset.py, sampler.py and collate.py first.

Left out: worker processes. `num_workers` and related arguments are accepted, but batches are loaded
in the main process. They are the same, in the same order.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic

from minigrad.core import dtypes
from minigrad.core.errors import warn_user
from minigrad.core.modes import unobserved
from minigrad.methods.creation import empty
from minigrad.random.generator import Generator
from minigrad.utils.data.collate import default_collate, default_convert
from minigrad.utils.data.dataset import IterableDataset, T_co, _examples_at
from minigrad.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

_collate_fn_t = Callable[[list[Any]], Any]  # PyTorch's name, which programs use in annotations
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches; each `for` loop is one pass over the examples.

    dataset         anything with `__getitem__` and `__len__`, or an IterableDataset
    batch_size      the number of examples per batch; None for single examples, without collating
    shuffle         use a new random order for each pass?
    sampler         an iterable of indices, in the desired order
    batch_sampler   an iterable of lists of indices, one for each batch
    collate_fn      turns a list of examples into a batch
    drop_last       drop the last batch if it is smaller?
    generator       the generator for the random order
    num_workers     accepted but ignored, like all arguments about workers and pinned memory

    Each pass draws a random number, which PyTorch uses to seed its workers. If it shuffles without
    a generator, it draws a second one to seed the order. So the order is PyTorch's for the same seed.

    >>> list(DataLoader(range(5), batch_size=2, drop_last=True))
    [tensor([0, 1]), tensor([2, 3])]

    Raises ValueError for settings that contradict each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(
            num_workers, timeout, multiprocessing_context, prefetch_factor, persistent_workers
        )
        self.dataset, self.generator = dataset, generator
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.persistent_workers = persistent_workers

        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_no_order(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (
            default_convert if batch_sampler is None else default_collate
        )
        self._ready = True

    def _default_sampler(self, shuffle: bool | None) -> Iterable[Any]:
        """The sampler to use if none is given."""
        if self._is_iterable:
            return itertools.repeat(None)  # an endless iterable, because there are no indices
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        return _SingleProcessDataLoaderIter(self)

    def __len__(self) -> int:
        """The number of batches in a pass."""
        if not self._is_iterable:
            return len(self._index_sampler)  # type: ignore[arg-type]
        if self.batch_size is None:
            return len(self.dataset)
        return len(BatchSampler(self.dataset, self.batch_size, self.drop_last))

    # Two decisions, under PyTorch's names, because published subclasses override them.
    @property
    def _auto_collation(self) -> bool:
        """Are examples read one by one, and collated into batches?"""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Iterable[Any]:
        """The sampler that yields what to read: lists of indices, or single indices."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __setattr__(self, name: str, value: object) -> None:
        if name in FIXED and getattr(self, "_ready", False):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized: "
                "create a new one."
            )
        super().__setattr__(name, value)


class _BaseDataLoaderIter(Iterator[Any]):
    """One pass over the examples. Its name and those of its subclasses are PyTorch's, for programs that import them."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader = loader
        if loader.pin_memory:
            warn_user(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used."
            )
        # PyTorch draws a seed for its workers here. Draw it too, so that later numbers agree.
        with unobserved():
            empty((), dtype=dtypes.int64).random_(generator=loader.generator)
        dataset = loader.dataset
        examples: Iterable[Any]  # not a generator: after an error, the pass can go on
        if loader._is_iterable:
            examples = iter(dataset)
            if loader.batch_size is not None:
                examples = BatchSampler(examples, loader.batch_size, loader.drop_last)
        else:
            read = partial(_examples_at, dataset) if loader._auto_collation else dataset.__getitem__
            examples = map(read, loader._index_sampler)
        self.batches = map(loader.collate_fn, examples)

    def __next__(self) -> Any:
        with unobserved():  # on a tape, a batch is a leaf, without the reading of each example
            return next(self.batches)

    def __len__(self) -> int:
        return len(self.loader)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in the main process, which all are."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass with worker processes: none is."""


def get_worker_info() -> None:
    """None: minigrad has no worker processes."""
    return None


def _check_workers(
    num_workers: int, timeout: float, context: object, prefetch_factor: int | None, persistent: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. "
            "Let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if num_workers == 0 and persistent:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers == 0 and context is not None:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )


def _check_batches(
    batch_size: int | None,
    shuffle: bool | None,
    sampler: object,
    batch_sampler: object,
    drop_last: bool,
) -> None:
    """Raise ValueError for settings that contradict each other."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _check_no_order(shuffle: bool | None, sampler: object, batch_sampler: object) -> None:
    """Raise ValueError for arguments that set the order, which an IterableDataset determines itself."""
    wrong = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in wrong.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, "
                f"but got {name}={value}"
            )
