"""From data to arrays: numbers, nested lists, arrays and tensors."""

from typing import Any

import numpy as np

from minigrad import dtypes
from minigrad.memory import make


def as_array(data: Any, dtype: Any = None) -> Any:
    """The data as an array of a type that tensors know; Python floats take the default type.

    Raises TypeError for what is no number, ValueError for rows of unequal length.
    """
    array: Any
    if isinstance(data, make.Tensor):
        array = np.array(data.array)
    elif isinstance(data, (np.ndarray, np.generic)):
        # An array that a program is being recorded with stays one: see static/traced.py.
        array = data if hasattr(data, "slot") else np.asarray(data)
    else:
        array = _array_of_python(data)
    if dtype is not None:
        array = array.astype(dtypes.as_dtype(dtype))
    elif array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic, make.Tensor)):
        if not _holds_arrays(data):
            array = array.astype(dtypes.get_default_dtype())
    dtypes.category(array.dtype)
    # Without axes a NumPy number serves as well as an array, and NumPy is ten times quicker with it.
    return array[()] if array.ndim == 0 and not isinstance(data, np.ndarray) else array


def _holds_arrays(data: Any) -> bool:
    """Does this (nested) list hold arrays or tensors, which keep their own type?"""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic, make.Tensor)) and data.dtype == np.float64


def _array_of_python(data: Any) -> Any:
    """Nested lists (whose entries may be tensors) as an array."""

    def plain(value: Any) -> Any:
        if isinstance(value, make.Tensor):
            return value.array
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value

    try:
        array = np.array(plain(data))
    except ValueError as error:
        raise ValueError(f"the rows of the data are not all of the same length: {error}") from None
    if array.dtype == object or array.dtype.kind in "USMmV":
        raise TypeError(
            f"tensors hold numbers or truth values; new(): invalid data type {type(data).__name__!r}."
        )
    return (
        array
        if array.size or array.dtype != np.float64
        else array.astype(dtypes.get_default_dtype())
    )
