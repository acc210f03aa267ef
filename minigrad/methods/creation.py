"""Functions that create tensors: filled ones, sequences, and tensors on existing memory."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.data import as_array, usable, warn_of_tensor
from minigrad.core.devices import DeviceLike, Layout, MemoryFormat, check_device, strided
from minigrad.core.dtypes import Dtype, DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.promotion import CONSTANTS
from minigrad.core.shapes import Array, Several, as_int, shape_of
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.arguments import made_into_out, named_type, takes_tensors
from minigrad.methods.base import evenly_spaced, strided_zeros, zeros_of
from minigrad.random.kernels import in_memory_order, in_rows


def type_to_make(dtype: DTypeLike, device: DeviceLike = None, default: DTypeLike = None) -> Dtype:
    """The dtype of a new tensor: the given one, or the default. Raises an error for any device but the CPU."""
    check_device(device)
    return dtypes.or_default(default if dtype is None else dtype)


def finish(array: Array, requires_grad: bool) -> Tensor:
    """A leaf tensor on this array, without a copy."""
    z = wrap(array)
    return z._made(requires_grad) if requires_grad else z


def tensor(data: object, *, dtype: DTypeLike = None, device: DeviceLike = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new leaf tensor with a copy of the data.

    data             a number, (nested) lists of numbers, an array, or a tensor
    dtype            the type of its entries; Python floats get the default dtype (float32)
    requires_grad    whether to record operations on it, so that it gets a gradient

    Raises TypeError for data that is not numeric, and ValueError for rows of unequal length.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    check_device(device)
    warn_of_tensor(data, "torch.tensor")
    array = as_array(data, dtype)
    if array.ndim == 0:
        array = array[()]  # a NumPy scalar: NumPy is ten times faster with scalars than with 0-d arrays
    elif isinstance(data, (np.ndarray, Tensor)) and np.may_share_memory(array, getattr(data, "array", data)):
        array = array.copy()
    return finish(array, requires_grad)


def _filled(value: Any, shape: tuple[int, ...], dtype: DTypeLike, device: DeviceLike, requires_grad: bool) -> Tensor:
    """A new tensor with this value in every entry. It can be a tensor with one entry that requires no gradient."""
    d = type_to_make(dtype, device)
    if not isinstance(value, CONSTANTS) and (getattr(value, "shape", True) or getattr(value, "node", None) is not None):
        raise TypeError(f"argument 'fill_value' must be Number, not {named_type(value)}")
    if hasattr(value, "__apply_op__"):
        z: Tensor = value.detach().to(d).expand(shape).clone()
        return z._made(requires_grad) if requires_grad else z
    array = zeros_of(shape, d)
    if value.__class__ is not int or value:
        array.fill(value if value.__class__ is int and value == 1 else dtypes.exact_number(value, d))
    return finish(array, requires_grad)


@made_into_out
def zeros(*shape: Several, size: Sequence[int] | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros.

    >>> zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return _filled(0, shape_of(shape, size), dtype, device, requires_grad)


@made_into_out
def ones(*shape: Several, size: Sequence[int] | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor of ones.

    >>> ones(2)
    tensor([1., 1.])
    """
    return _filled(1, shape_of(shape, size), dtype, device, requires_grad)


@made_into_out
def full(size: Sequence[int], fill_value: Any, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor with the same value everywhere. By default, it has the dtype of the value.

    >>> full((2,), 7)
    tensor([7, 7])
    """
    if hasattr(size, "__index__"):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not int. To fix it, write ({size},).")
    if dtype is None:
        number = fill_value.dtype.type(0).item() if isinstance(fill_value, Tensor) else fill_value
        dtype = dtypes.of_number(number)
    return _filled(fill_value, shape_of((size,)), dtype, device, requires_grad)


@made_into_out
def empty(*shape: Several, size: Sequence[int] | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor for you to fill. (Its entries are 0 here; in PyTorch they are undefined.)

    >>> minigrad.empty(2, 3).shape
    minigrad.Size([2, 3])
    """
    return _filled(0, shape_of(shape, size), dtype, device, requires_grad)


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor for you to fill, whose neighbors along axis k are stride[k] entries apart in memory.

    >>> empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return finish(strided_zeros(shape_of((size,)), tuple(stride), type_to_make(dtype, device)), requires_grad)


@made_into_out
def eye(n: int, m: int | None = None, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    >>> eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, count in (("n", n), ("m", m)):
        if count is not None and count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count}")
    shape = shape_of((n, n if m is None else m))
    return finish(np.eye(*shape, dtype=type_to_make(dtype, device)), requires_grad)


@made_into_out
@takes_tensors
def linspace(start: complex | Tensor, end: complex | Tensor, steps: int, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """Evenly spaced numbers from start to end, inclusive.

    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    d = _type_between("linspace", start, end, dtype, device)
    return finish(_evenly_spaced("linspace", start, end, steps, d).astype(d), requires_grad)


def _type_between(name: str, start: complex | Tensor, end: complex | Tensor, dtype: DTypeLike, device: DeviceLike) -> Dtype:
    """The dtype of numbers from start to end. If one of them is complex, it is complex."""
    d = type_to_make(dtype, device)
    if d.kind == "c" or not (isinstance(_plain(start), complex) or isinstance(_plain(end), complex)):
        return d
    if dtype is not None:
        raise RuntimeError(f"torch.{name}(): inferred dtype ComplexFloat can't be safely cast to passed dtype {dtypes.torch_name(d)}. To fix it, leave out dtype.")
    return dtypes.of_number(1j)


def _plain(x: Any) -> Any:
    """The number in a tensor of one number; anything else as it is."""
    return x.item() if isinstance(x, Tensor) and x.numel() == 1 else x


def _evenly_spaced(name: str, start: complex | Tensor, end: complex | Tensor, steps: int, dtype: dtypes.Dtype) -> Array:
    """Evenly spaced numbers from start to end. For an integer result, start and end are truncated."""
    steps = as_int(steps, "steps")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    axes = [getattr(x, "ndim", 0) for x in (start, end)]
    if any(axes):
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got start with {axes[0]} dimension(s) and end with {axes[1]} dimension(s).")
    first: Any
    last: Any
    first, last = (x if isinstance(x, complex) else float(x) for x in (_plain(start), _plain(end)))
    if dtypes.category(dtype) == 1:
        first, last = int(first), int(last)
    return evenly_spaced(first, last, steps, dtype)


@made_into_out
@takes_tensors
def logspace(start: complex | Tensor, end: complex | Tensor, steps: int, base: float = 10.0, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """Logarithmically spaced numbers from base ** start to base ** end, inclusive.

    >>> logspace(0, 3, 4)
    tensor([   1.,   10.,  100., 1000.])
    """
    d = _type_between("logspace", start, end, dtype, device)
    powers = _evenly_spaced("logspace", start, end, steps, d).astype(np.complex128 if d.kind == "c" else np.float64)
    return finish((float(base) ** powers).astype(d), requires_grad)


@takes_tensors
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False) -> Tensor:
    """The indices of the lower triangle of a matrix: a row of row indices and a row of column indices.

    >>> tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    row, col = shape_of((row, col))
    return wrap(np.stack(np.tril_indices(row, offset, col)).astype(type_to_make(dtype, device, dtypes.int64)))


@takes_tensors
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False) -> Tensor:
    """The indices of the upper triangle of a matrix: a row of row indices and a row of column indices.

    >>> triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    row, col = shape_of((row, col))
    return wrap(np.stack(np.triu_indices(row, offset, col)).astype(type_to_make(dtype, device, dtypes.int64)))


def _like(x: Tensor, value: complex | Tensor, dtype: DTypeLike, requires_grad: bool, device: DeviceLike = None) -> Tensor:
    """A tensor with this value in every entry, and the shape and memory order of x."""
    dtype = x.dtype if dtype is None else dtype
    if in_rows(x.array):
        return _filled(value, x.shape, dtype, device, requires_grad)
    z = _filled(value, x.shape, dtype, device, False)
    return finish(in_memory_order(x.array, z.array.reshape), requires_grad)


@takes_tensors
def empty_like(input: Tensor, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor for you to fill, with the shape and dtype of `input`.

    >>> empty_like(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 3])
    """
    return _like(input, 0, dtype, requires_grad, device)


@takes_tensors
def zeros_like(input: Tensor, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor of zeros with the shape and dtype of `input`.

    >>> zeros_like(minigrad.tensor([1.5, 2.5]))
    tensor([0., 0.])
    """
    return _like(input, 0, dtype, requires_grad, device)


@takes_tensors
def ones_like(input: Tensor, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor of ones with the shape and dtype of `input`.

    >>> ones_like(minigrad.tensor([1.5, 2.5]))
    tensor([1., 1.])
    """
    return _like(input, 1, dtype, requires_grad, device)


@takes_tensors
def full_like(input: Tensor, fill_value: complex | Tensor, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor with the same value everywhere, and the shape and dtype of `input`.

    >>> full_like(minigrad.zeros(2), 7.0)
    tensor([7., 7.])
    """
    return _like(input, fill_value, dtype, requires_grad, device)


def scalar_tensor(s: complex | Tensor, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without axes, with the default dtype.

    >>> scalar_tensor(2)
    tensor(2.)
    """
    return full((), s, dtype=type_to_make(dtype, device), requires_grad=requires_grad)


@made_into_out
def arange(start: float | Tensor | None = None, end: float | Tensor | None = None, step: float | Tensor = 1, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A vector of start, start + step, ... up to but not including end.

    >>> arange(4), arange(1, 2, 0.5)
    (tensor([0, 1, 2, 3]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = None, start
    if end is None:
        raise TypeError("arange() takes (end), (start, end) or (start, end, step), but got ().")
    start = 0 if start is None else start
    numbers = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    if not (math.isfinite(numbers[0]) and math.isfinite(numbers[1])):
        raise RuntimeError(f"unsupported range: {numbers[0]} -> {numbers[1]}")
    if numbers[2] == 0:
        raise RuntimeError("step must be nonzero")
    if (numbers[1] - numbers[0]) * numbers[2] < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = type_to_make(dtype, device, dtypes.int64 if all(isinstance(v, (int, np.integer)) for v in numbers) else None)
    # For integer dtypes the step is truncated to an integer; for int64, so are start and end.
    if dtypes.category(d) == 1:
        first, stride = int(numbers[0]), int(numbers[2])
        if d == dtypes.int64:
            numbers = [int(v) for v in numbers]
        if numbers[2] == 0:
            raise ValueError("step must be nonzero: it was truncated to an integer.")
        n = math.ceil((numbers[1] - numbers[0]) / numbers[2])
        whole = np.arange(first, first + stride * n, stride) if stride else np.full(n, first)
        return finish(whole.astype(d, copy=False), requires_grad)
    steps = np.arange(*numbers)
    return finish(_stepped(numbers[0], numbers[2], len(steps), d) if d.kind == "f" else steps.astype(d), requires_grad)


def _stepped(first: float, step: float, n: int, dtype: dtypes.Dtype) -> Array:
    """first + step * k for k < n, rounded as PyTorch does.

    It computes 32 bytes at once: the first number of them, which is rounded, plus 0, 1, 2, ... steps. The numbers
    that do not fill 64 bytes at the end are computed one by one.
    """
    wide = {2: np.float32, 8: np.longdouble}.get(dtype.itemsize, np.float64)
    k = np.arange(n)
    after = k % (32 // dtype.itemsize)
    after[n - n % (64 // dtype.itemsize) :] = 0
    begin = (wide(first) + wide(step) * (k - after).astype(wide)).astype(dtype)
    return (begin.astype(wide) + wide(step) * after.astype(wide)).astype(dtype)


def from_numpy(ndarray: Array) -> Tensor:
    """A tensor that shares the array's memory: writing to one changes the other.

    >>> import numpy as np
    >>> a = np.array([1.0, 2.0], np.float32)
    >>> x = from_numpy(a)
    >>> a[0] = 5.0
    >>> x
    tensor([5., 2.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {named_type(ndarray)})")
    usable(ndarray)
    if not ndarray.flags.writeable:
        warn_user("The given NumPy array is not writable, and minigrad does not support non-writable tensors. To fix it, use array.copy().")
    return wrap(ndarray)


def as_tensor(data: Any, dtype: DTypeLike = None, device: DeviceLike = None) -> Tensor:
    """The data as a tensor, copied only if necessary.

    >>> x = minigrad.ones(2)
    >>> as_tensor(x) is x, as_tensor([1, 2])
    (True, tensor([1, 2]))
    """
    check_device(device)
    if hasattr(data, "__apply_op__"):  # a tensor, or a value of a program that is being recorded
        z: Tensor = data if dtype is None else data.to(dtype=dtype)
        return z
    return wrap(as_array(data, dtype))


# ------------------------------------------------------------------------ on existing memory


def asarray(obj: object, *, dtype: DTypeLike = None, device: DeviceLike = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """A tensor with this data, in the same memory where possible.

    copy            True: always copy; False: never copy, and raise ValueError if a copy is needed
    requires_grad   if obj is a tensor: None keeps its graph, False drops it

    >>> asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    check_device(device)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtypes.or_default(dtype))
    array = obj.detach().numpy() if isinstance(obj, Tensor) else obj
    x = wrap(as_array(array, dtype))
    shares = isinstance(array, np.ndarray) and np.may_share_memory(x.memory(), array)
    if copy is False and not shares:
        if isinstance(array, np.ndarray) and array.dtype != x.dtype:
            raise ValueError(f"can't alias tensor with dtype {dtypes.torch_name(array.dtype)!r} into dtype {dtypes.torch_name(x.dtype)!r}.")
        if isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. To fix it, remove copy=False.")
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if isinstance(obj, Tensor) and obj.requires_grad and requires_grad is not False:
        return obj if shares and not copy else obj.to(x.dtype, copy=True)
    if isinstance(obj, Tensor) and shares and not copy:
        x = obj.detach() if obj.requires_grad else obj
    elif copy and shares:
        x = wrap(x.array.copy())
    return x._made(requires_grad) if requires_grad else x


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor on the memory of a byte buffer, without a copy.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype="int16")
    tensor([1, 2], dtype=minigrad.int16)
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(f"object does not implement Python buffer protocol. It is a {named_type(buffer)}.") from None
    n, width = view.nbytes, (kind := dtypes.as_dtype(dtype)).itemsize
    if not (n and count):
        raise ValueError(f"both buffer length ({n}) and count ({count}) must not be 0")
    if not 0 <= offset < n:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({n} bytes) minus 1")
    if count < 0 and (n - offset) % width:
        raise ValueError(f"buffer length ({n - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({width})")
    if count * width > n - offset:
        raise ValueError(f"requested buffer length ({count} * {width} bytes) after offset ({offset} bytes) must not be greater than actual buffer length ({n} bytes)")
    if view.readonly:
        warn_user("The given buffer is not writable, and PyTorch does not support non-writable tensors. To fix it, copy it: bytearray(buffer).")
    return finish(np.frombuffer(buffer, kind, max(count, -1), offset), requires_grad)


__all__ = [n for n, v in vars().items() if n[0] != "_" and getattr(v, "__module__", "") == __name__]
__all__ = [n for n in __all__ if n not in ("finish", "type_to_make")]
