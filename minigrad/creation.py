"""Making tensors from data, or from nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad import dtypes
from minigrad.data import as_array
from minigrad.tensor import Tensor


def _finish(array: Any, requires_grad: bool) -> Tensor:
    z = Tensor(array)
    return z.requires_grad_() if requires_grad else z


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf that holds a copy of the data.

    data             a number, (nested) lists of numbers, an array, or a tensor
    dtype            the type of its entries; Python floats take the default type (float32)
    requires_grad    is its gradient wanted?

    Raises TypeError for data that are no numbers, and ValueError for rows of unequal length.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    check_device(device)
    array = as_array(data, dtype)
    if array.ndim == 0:
        array = array[()]  # without axes: a NumPy number, with which NumPy is ten times quicker
    elif isinstance(data, (np.ndarray, Tensor)) and np.may_share_memory(
        array, np.asarray(getattr(data, "array", data))
    ):
        array = array.copy()
    return _finish(array, requires_grad)


def check_device(device: Any) -> None:
    """There is one device. Code that names it, as PyTorch's does, is welcome to."""
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise RuntimeError(f"minigrad computes on the CPU only, not on {str(device)!r}.")


def shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """zeros(2, 3) and zeros((2, 3)) mean the same."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = tuple(size[0])
    return tuple(int(n) for n in size)


def _filled(
    value: float, size: tuple[Any, ...], dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    check_device(device)
    d = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    return _finish(np.full(shape_of(size), value, d), requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros.

    >>> zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return _filled(0, size, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones.

    >>> ones(2)
    tensor([1., 1.])
    """
    return _filled(1, size, dtype, device, requires_grad)


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with one value everywhere; its type is the value's, unless given.

    >>> full((2,), 7)
    tensor([7, 7])
    """
    check_device(device)
    d = dtypes.of_number(fill_value) if dtype is None else dtypes.as_dtype(dtype)
    return _finish(np.full(shape_of((size,)), fill_value, d), requires_grad)


def _like(x: Tensor, value: Any, dtype: Any, requires_grad: bool) -> Tensor:
    d = x.array.dtype if dtype is None else dtypes.as_dtype(dtype)
    return _finish(np.full(x.array.shape, value, d), requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape and type of `input`."""
    return _like(input, 0, dtype, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape and type of `input`: what an output's gradient starts from."""
    return _like(input, 1, dtype, requires_grad)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere, with the shape and type of `input`."""
    return _like(input, fill_value, dtype, requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to, but without, end.

    >>> arange(4), arange(1, 2, 0.5)
    (tensor([0, 1, 2, 3]), tensor([1.0000, 1.5000]))
    """
    check_device(device)
    if end is None:
        start, end = 0, start
    numbers = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    if dtype is None:
        whole = all(isinstance(v, (int, np.integer)) for v in numbers)
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    return _finish(np.arange(*numbers).astype(dtypes.as_dtype(dtype)), requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the array's memory: a write to one shows in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return Tensor(ndarray)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, without a copy where none is needed."""
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtypes.as_dtype(dtype))
    return Tensor(data, dtype=dtype)
