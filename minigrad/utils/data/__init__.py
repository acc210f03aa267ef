"""From examples to batches.

    dataset      gives access to the examples
    sampler      chooses the order of the examples, and which of them form a batch
    collate      stacks examples into a batch
    dataloader   iterates over batches, using the other three

The names, the arguments and, for the same seed, the order are the same as in PyTorch.

>>> from minigrad import arange
>>> examples = TensorDataset(arange(5), arange(5) ** 2)
>>> for x, y in DataLoader(examples, batch_size=2):
...     print(x, y)
tensor([0, 1]) tensor([0, 1])
tensor([2, 3]) tensor([4, 9])
tensor([4]) tensor([16])
"""

from minigrad.utils.data.collate import default_collate, default_convert
from minigrad.utils.data.dataloader import DataLoader, get_worker_info
from minigrad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from minigrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
