"""Storage: the memory behind a tensor, as a 1-d sequence of numbers.

A tensor interprets a piece of memory by a shape, strides and an offset. Views have their own
shape, strides and offset, but share the memory:

>>> import minigrad
>>> x = minigrad.arange(6.0).view(2, 3)
>>> x.T.storage().data_ptr() == x.storage().data_ptr()
True
>>> x.T.stride(), x[1].storage_offset()
((1, 3), 3)
>>> x[0, :2].storage()
 0.0
 1.0
 2.0
 3.0
 4.0
 5.0
[minigrad.storage.TypedStorage(dtype=minigrad.float32, device=cpu) of size 6]
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.devices import CPU
from minigrad.core.devices import device as Device
from minigrad.core.memory import INFERENCE
from minigrad.methods.base import zeros_of


class Storage:
    """The memory of a tensor, typed or as bytes (untyped_storage), without a copy.

    >>> minigrad.ones(6)[2:].untyped_storage().nbytes()
    24
    """

    def __init__(self, tensor: Any, typed: bool = True) -> None:
        base = tensor._base
        array = (tensor if base is None else base).memory()
        low, high = np.lib.array_utils.byte_bounds(array)  # including gaps between the entries
        n = (high - low) // array.itemsize if array.size else 0
        self._row = np.lib.stride_tricks.as_strided(array, (n,), (array.itemsize,))
        if not typed:
            self._row = self._row.view(np.uint8)
        self._typed = typed

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the numbers."""
        return dtypes.of_array(self._row.dtype)

    @property
    def device(self) -> Device:
        """The device of the memory: always the CPU."""
        return CPU

    def data_ptr(self) -> int:
        """The address of the first number."""
        return int(self._row.__array_interface__["data"][0])

    def size(self) -> int:
        """The number of elements (for untyped storage: bytes)."""
        return len(self._row)

    def nbytes(self) -> int:
        """The size in bytes."""
        return int(self._row.nbytes)

    def __sizeof__(self) -> int:
        # sys.getsizeof counts the numbers, as in PyTorch.
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """The size of one element in bytes."""
        return int(self._row.itemsize)

    def tolist(self) -> list[Any]:
        """The numbers as a list."""
        return self._row.tolist()

    def __len__(self) -> int:
        return len(self._row)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        z = self._row[index]
        return z.item() if z.ndim == 0 else z.tolist()

    def __setitem__(self, index: int | slice, value: float) -> None:
        self._row[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and self.data_ptr() == other.data_ptr()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        numbers = "".join(f" {value}\n" for value in self.tolist())
        if self._typed:
            name = f"TypedStorage(dtype={self.dtype}, device=cpu)"
        else:
            name = "UntypedStorage(device=cpu)"
        return f"{numbers}[minigrad.storage.{name} of size {len(self)}]"


def resize(x: Any, shape: tuple[int, ...]) -> None:
    """Change the shape of x, in the same memory if it is large enough."""
    if x.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if shape == x.shape:
        return
    if min(shape, default=0) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    n, old = math.prod(shape), x.memory()
    if math.prod(filter(None, shape)) * x.dtype.itemsize >= 2**63:
        raise RuntimeError(f"Stride calculation overflowed: the sizes {list(shape)} are too large.")
    if n <= old.size and old.flags.c_contiguous:
        array = old.reshape(-1)[:n].reshape(shape)
    elif x._base is not None:
        raise RuntimeError(
            "Trying to resize storage that is not resizable: this tensor is a view of part of another's memory. "
            "To fix it, use x.clone().resize_(...)."
        )
    else:
        array = zeros_of(shape, old.dtype)
        array.reshape(-1)[: old.size] = old.reshape(-1)[:n]
    x._replace_array(array)
    if (counter := x._shared_counter()) is not INFERENCE:
        counter.count += 1
