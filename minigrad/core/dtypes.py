"""Dtypes: their names, the default dtype, and type promotion.

The names are PyTorch's; the objects are NumPy's, so that `x.dtype == np.float32` holds.
Promotion follows PyTorch. It first looks at the category (bool < int < float < complex).
Within a category, tensors with axes take precedence over 0-d tensors, and any tensor takes
precedence over a plain number. So float32 tensor * 2.5 stays float32, and int64 tensor *
float32 tensor is float32, where NumPy would make both float64.

Source: PyTorch, "Tensor Attributes: torch.dtype", and the ATen file TypeProperties.cpp.
"""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

Dtype = np.dtype[Any]
DTypeLike = Dtype | type | str | None  # ways to name a dtype; None: the default dtype

float16 = half = np.dtype(np.float16)
float32 = float_ = np.dtype(np.float32)
float64 = double = np.dtype(np.float64)
complex64 = cfloat = np.dtype(np.complex64)
complex128 = cdouble = np.dtype(np.complex128)
uint8 = np.dtype(np.uint8)
int8 = np.dtype(np.int8)
int16 = short = np.dtype(np.int16)
int32 = int_ = np.dtype(np.int32)
int64 = long = np.dtype(np.int64)
uint16, uint32, uint64 = np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64)
bool_ = np.dtype(np.bool_)

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_default: Dtype = float32


def get_default_dtype() -> Dtype:
    """The dtype of tensors made from Python floats.

    >>> get_default_dtype()
    dtype('float32')
    """
    return _default


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the dtype of tensors made from Python floats: float16, float32 or float64.

    Raises TypeError for any other dtype.

    >>> set_default_dtype(minigrad.float64)
    >>> minigrad.tensor(1.0).dtype
    dtype('float64')
    >>> set_default_dtype(minigrad.float32)
    """
    global _default
    d = as_dtype(dtype)
    if d.kind != "f":
        raise TypeError(
            f"only floating-point types are supported as the default type, but got {d}."
        )
    _default = d


class NotInNumPy:
    """A dtype that NumPy does not have. Code may refer to it, but using it is an error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"minigrad.{self.name}"


bfloat16 = NotInNumPy("bfloat16")


def as_dtype(dtype: DTypeLike) -> Dtype:
    """Convert a name, a NumPy type or a Python type to a dtype.

    Python's float, int and bool are float64, int64 and bool.

    >>> as_dtype("float32"), as_dtype(float), as_dtype(int)
    (dtype('float32'), dtype('float64'), dtype('int64'))
    """
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return dtype
    if dtype is int:
        return int64
    if isinstance(dtype, NotInNumPy):
        raise NotImplementedError(
            f"minigrad leaves out {dtype!r}: NumPy has no {dtype.name}. To fix it, use float32."
        )
    found = np.dtype(dtype) if isinstance(dtype, (np.dtype, type, str)) else None
    if found is None or found.kind == "O":  # NumPy accepts any class as an object dtype
        wrong = dtype if isinstance(dtype, type) else type(dtype)
        raise TypeError(
            f"argument 'dtype' must be a dtype like minigrad.float32, not {wrong.__name__}."
        )
    return found


def category(dtype: Dtype) -> int:
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    try:
        return _CATEGORY[dtype.kind]
    except KeyError:
        raise TypeError(f"tensors hold numbers or booleans, not {dtype}.") from None


def is_floating(dtype: Dtype) -> bool:
    """Is the dtype floating point or complex, so that derivatives make sense?"""
    return dtype.kind in "fc"


def check_not_complex(what: str, dtype: Dtype) -> None:
    """Raise DtypeError for complex numbers: minigrad computes with them, but has no gradients.

    The rules in ops/ are for real numbers; complex gradients would also need conjugates.
    """
    if dtype.kind == "c":
        raise NotImplementedError(
            f"minigrad has no gradients of complex numbers, and {what} is {dtype}. To fix it, keep the real and "
            "imaginary parts in separate tensors, or compute it inside no_grad()."
        )


def of_number(value: Any) -> Dtype:
    """The dtype of a plain number in an operation with tensors."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    return complex128 if _default == float64 else complex64


def number(value: Any, dtype: Dtype) -> Any:
    """Convert a plain number to this dtype. Integers wrap around, as they do in a tensor: -1 is 255 in uint8."""
    try:
        return dtype.type(value)
    except OverflowError:
        return np.asarray(value).astype(dtype)[()]


def exact_number(value: Any, dtype: Dtype) -> Any:
    """Like `number`, but raises RuntimeError if the value is too large, or complex when the dtype is not."""
    if dtype.kind == "f" and value.__class__ in (int, float) and -65000 < value < 65000:
        return dtype.type(value)  # the usual case: it fits even in float16
    if isinstance(value, str):
        raise TypeError(f"argument 'value' must be Number, not str: {value!r}.")
    if isinstance(value, complex) and dtype.kind not in "cb":
        raise RuntimeError(
            f"value cannot be converted to type {dtype} without overflow: {value} is complex."
        )
    check_range(value, dtype)
    z = number(value, dtype)
    if dtype.kind == "f" and math.isinf(z) and math.isfinite(value):
        raise RuntimeError(
            f"value cannot be converted to type {dtype} without overflow: the largest is {np.finfo(dtype).max}."
        )
    return z


def check_range(values: Any, dtype: Dtype) -> None:
    """Raise RuntimeError if a number is too large for this dtype. (In uint8, -1 is 255.)"""
    if dtype.kind not in "iu":
        return
    a = np.asarray(values)
    if a.dtype.kind not in "iuf" or not a.size:
        return
    limits = np.iinfo(dtype)
    low = limits.min if dtype.kind == "i" else -limits.max if a.dtype.kind == "i" else 0
    if not (a.min() >= low and a.max() <= limits.max):
        raise RuntimeError(
            f"value cannot be converted to type {dtype} without overflow: {dtype} holds the numbers from "
            f"{limits.min} to {limits.max}."
        )


INTEGERS = (uint8, int8, int16, int32, int64, uint16, uint32, uint64)
ALL = (float16, float32, float64, *INTEGERS, bool_, complex64, complex128)

_NAMES = {
    "float16": "Half", "float32": "Float", "float64": "Double", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def torch_name(dtype: Dtype) -> str:
    """The name of a dtype in PyTorch's error messages: float32 is Float, int64 is Long."""
    return _NAMES.get(str(dtype), str(dtype))


def promote_types(a: DTypeLike, b: DTypeLike) -> Dtype:
    """The dtype that two dtypes are promoted to. As in PyTorch, floats take precedence over integers.

    >>> promote_types(int64, float32)
    dtype('float32')
    """
    first, second = as_dtype(a), as_dtype(b)
    low, high = sorted((first, second), key=category)
    if category(high) >= 2 and category(low) < 2:
        return high
    return np.promote_types(first, second)


def can_cast(from_: DTypeLike, to: DTypeLike) -> bool:
    """Can numbers of one dtype be written into a tensor of another, by PyTorch's rules?

    Floats can't be written into integers, nor numbers into booleans.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    return category(as_dtype(from_)) <= category(as_dtype(to))


def common_dtype(
    with_axes: Sequence[Dtype], without: Sequence[Dtype], numbers: Sequence[Dtype]
) -> Dtype:
    """The common dtype of tensors with axes, 0-d tensors, and plain numbers.

    A later group counts only if its category is higher than that of the groups before it.
    """
    result, *later = [reduce(promote_types, g) for g in (with_axes, without, numbers) if g]
    for joined in later:
        if category(joined) > category(result):
            result = promote_types(result, joined) if category(result) >= 2 else joined
    return result
