"""Converts data to arrays: numbers, nested lists, arrays and tensors."""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import DtypeError, warn_user
from minigrad.core.memory import make
from minigrad.core.shapes import Array


def as_array(data: object, dtype: DTypeLike = None) -> Any:
    """Convert data to an array of a dtype that tensors support; Python floats get the default dtype.

    Raises TypeError for a string, DtypeError for anything else that is not a number, ValueError
    for rows of unequal length, RuntimeError for a number that is too large for the dtype.
    """
    array: Any
    if isinstance(data, make.Tensor):
        array = np.array(modes.read_values(data))
    elif isinstance(data, (np.ndarray, np.generic)):
        # While a program is being recorded, keep traced arrays: see static/slots.py.
        array = data if hasattr(data, "slot") else usable(np.asarray(data))
    else:
        array = _array_of_python(data, None if dtype is None else dtypes.as_dtype(dtype))
    if dtype is not None:
        array = array.astype(dtypes.as_dtype(dtype), copy=False)
    # For 0-d data a NumPy scalar works as well as an array, and is ten times faster.
    return array[()] if array.ndim == 0 and not isinstance(data, np.ndarray) else array


def usable(array: Array) -> Array:
    """The array, after checking that a tensor can have its memory.

    Raises PyTorch's ValueError for its strides and byte order, and TypeError for its dtype.
    """
    if not array.flags.c_contiguous and array.size and min(array.strides) < 0:
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. To fix it, use array.copy()."
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported. To fix it, use array.astype(array.dtype.newbyteorder('='))."
        )
    dtypes.check_supported(array.dtype)
    return array


def sized_or_filled(what: Sequence[Any], dtype: dtypes.Dtype) -> Array:
    """The array for Tensor(2, 3), zeros of this shape, or for Tensor([2, 3]), which has these values.

    An array that already has the right dtype is not copied.
    """
    data = what[0] if len(what) == 1 else None
    if isinstance(data, np.ndarray) and (data.ndim or data.dtype.kind not in "iu"):
        return usable(data).astype(dtype, copy=False)
    if isinstance(data, Sequence):  # for a str, as_array raises the error
        return as_array(data, dtype)
    if len(what) == 1 and (isinstance(data, (bool, np.bool_)) or not hasattr(data, "__index__")):
        raise TypeError(
            f"new(): data must be a sequence (got {type(data).__name__}). To fix it, write "
            "minigrad.tensor(...) for a tensor of one number."
        )
    shape = tuple([operator.index(n) for n in what]) if what else (0,)
    if min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return np.zeros(shape, dtype)


def warn_of_gradient(x: Any) -> None:
    """Warn if x requires a gradient: the Python number that it becomes has none."""
    if x.requires_grad and modes.state.recording:
        warn_user(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. "
            "Consider using tensor.detach() first."
        )


def warn_of_tensor(data: object, call: str) -> None:
    """Warn if the data of a new tensor are a tensor: only its values are used."""
    if isinstance(data, make.Tensor):
        warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            f"sourceTensor.detach().clone().requires_grad_(True), rather than {call}(sourceTensor)."
        )


PLAIN = frozenset([bool, int, float, complex])


def _array_of_python(data: object, dtype: dtypes.Dtype | None) -> Array:
    """Convert nested lists of numbers to an array. The lists may contain tensors with one entry."""
    kinds: set[Any] = set()  # the classes and dtypes of the numbers found
    try:
        numbers = _plain_numbers(data, kinds)
    except RecursionError:
        raise TypeError("new(): self-referential lists are incompatible") from None
    try:
        array = np.array(numbers)
    except ValueError:
        raise _ragged(numbers) from None
    if array.dtype == object or (array.dtype == np.uint64 and array.dtype != dtype):
        if (_common_dtype(kinds) if dtype is None else dtype).kind not in "fc":
            raise ValueError(
                "Overflow when unpacking long long: a number is too large for 64 bits."
            )
        array = array.astype(np.float64)
    if dtype is None:
        return array.astype(_common_dtype(kinds), copy=False)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(f"must be real number, not complex: the dtype is {dtype}.")
    dtypes.check_range(array, dtype)
    return array


def _plain_numbers(value: object, kinds: set[Any]) -> Any:
    """The value with numbers in place of tensors, and lists in place of other sequences.

    kinds   collects the classes and dtypes of the numbers
    """
    if isinstance(value, (list, tuple, range)):
        classes = set(map(type, value))
        if classes <= PLAIN:
            kinds.update(classes)
            return value
        if value and isinstance(value[0], str) and value[0]:
            raise ValueError(
                "too many dimensions 'str': tensors hold numbers. To fix it, replace each string by a number."
            )
        if np.ndarray in classes:
            warn_user(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
                "the list to a single numpy.ndarray with numpy.array() before converting to a tensor."
            )
        return [_plain_numbers(v, kinds) for v in value]
    if isinstance(value, make.Tensor):
        if value.array.size != 1:
            raise _several_entries(value.array)
        kinds.add(value.array.dtype)
        warn_of_gradient(value)
        return value.array.reshape(()).item()
    if hasattr(value, "__array__"):  # a Slot raises an error here, because it has no value
        array = np.asarray(value)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        dtypes.check_supported(array.dtype)
        kinds.add(array.dtype)
        return array
    if isinstance(value, (str, bytes)):
        raise TypeError(
            f"tensors hold numbers or booleans; new(): invalid data type {type(value).__name__!r}."
        )
    if isinstance(value, Sequence):  # a deque
        return _plain_numbers(list(value), kinds)
    if not isinstance(value, (int, float, complex)):
        raise DtypeError(
            f"Could not infer dtype of {type(value).__name__}: tensors hold numbers or booleans."
        )
    kinds.add(type(value))
    return value


def _several_entries(array: Array) -> Exception:
    """PyTorch's error for a tensor with several entries in a list of numbers."""
    kind: type[Exception] = ValueError
    message = "only one element tensors can be converted to Python scalars"
    if array.dtype.kind in "iu":
        kind = TypeError
        message = "only integer tensors of a single element can be converted to an index"
    return kind(
        f"{message}, but one in the list has shape {list(array.shape)}. To fix it, use minigrad.stack(...) or "
        "minigrad.cat(...)."
    )


def _common_dtype(kinds: set[Any]) -> dtypes.Dtype:
    """The dtype that holds numbers of all these classes and dtypes; the default dtype if there are none."""
    types = [k if isinstance(k, np.dtype) else dtypes.of_number(k()) for k in kinds]
    return reduce(dtypes.promoted, types) if types else dtypes.get_default_dtype()


def _ragged(rows: Any, dim: int = 1) -> TypeError | ValueError:
    """PyTorch's error for the first row whose length differs from that of the first row."""
    sizes = [
        len(r) if isinstance(r, (list, tuple)) or isinstance(r, np.ndarray) and r.ndim else None
        for r in rows
    ]
    for n in sizes:
        if n == sizes[0]:
            continue
        if n is None or sizes[0] is None:
            return TypeError("not a sequence: the data mixes numbers and lists.")
        return ValueError(
            f"expected sequence of length {sizes[0]} at dim {dim} (got {n}): the rows of the data are "
            "not all of the same length."
        )
    return _ragged([entry for row in rows for entry in row], dim + 1)
