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

from functools import partial as _partial
from types import FunctionType as _FunctionType

from minigrad.compat.modules import attribute as _attribute
from minigrad.compat.modules import own_names as _own_names
from minigrad.utils.data.collate import *
from minigrad.utils.data.dataloader import *
from minigrad.utils.data.dataset import *
from minigrad.utils.data.sampler import *

__all__ = _own_names(
    vars(),
    lambda v: isinstance(v, (type, _FunctionType)) and v.__module__.startswith(f"{__name__}."),
)

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's module names, such as _utils
