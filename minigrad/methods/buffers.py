"""Tensors on existing memory: arrays, byte buffers and other tensors."""

import warnings
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.data import as_array
from minigrad.core.devices import DeviceLike, check_device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.creation import finish


def asarray(obj: object, *, dtype: DTypeLike = None, device: DeviceLike = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """A tensor with this data, in the same memory where possible.

    copy            True: always copy; False: never copy, and raise ValueError if a copy is needed
    requires_grad   of a tensor, None keeps its history, and False drops it

    >>> asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    check_device(device)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)
    array = obj.detach().memory() if isinstance(obj, Tensor) else obj
    x = wrap(as_array(array, dtype))
    shares = isinstance(array, np.ndarray) and np.may_share_memory(x.memory(), array)
    if copy is False and not shares:
        raise ValueError("can't alias arbitrary sequence or another type of number into a tensor.")
    if isinstance(obj, Tensor) and obj.requires_grad and requires_grad is not False:
        return obj if shares and not copy else obj.to(x.dtype, copy=True)
    if isinstance(obj, Tensor) and shares and not copy:
        x = obj.detach() if requires_grad is not obj.requires_grad else obj
    elif copy and shares:
        x = wrap(x.array.copy())
    return x.requires_grad_() if requires_grad else x


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor on the memory of a byte buffer, without a copy.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype="int16")
    tensor([1, 2], dtype=minigrad.int16)
    """
    if memoryview(buffer).readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "To fix it, copy it: bytearray(buffer).",
            stacklevel=2,
        )
    return finish(np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset), requires_grad)
