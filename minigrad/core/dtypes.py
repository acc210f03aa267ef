"""Dtypes: their names, the default dtype, and type promotion.

A dtype prints as in PyTorch and equals NumPy's: `x.dtype == np.float32` holds, and NumPy
accepts it wherever it accepts its own. The arrays inside tensors have NumPy's dtypes.

Promotion follows PyTorch. It first looks at the category (bool < int < float < complex).
Within a category, tensors with axes take precedence over 0-d tensors, and any tensor takes
precedence over a plain number. So float32 tensor * 2.5 stays float32, and int64 tensor *
float32 tensor is float32, where NumPy would make both float64.

Source: PyTorch, "Tensor Attributes: torch.dtype", and the ATen file TypeProperties.cpp.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import numpy as np

from minigrad.core.naming import TopLevel

NumPyDtype = np.dtype[Any]


class dtype(metaclass=TopLevel):  # PyTorch's name
    """The kind of numbers that a tensor holds, like minigrad.float32. There is one object for each.

    itemsize   the size of a number in bytes
    is_floating_point, is_complex, is_signed   True or False; complex numbers are not floating-point ones

    Whatever PyTorch's dtypes do not have is looked up in NumPy's, like `x.dtype.kind`.

    >>> import numpy as np
    >>> minigrad.float32, minigrad.float32.is_floating_point, minigrad.float32.itemsize
    (minigrad.float32, True, 4)
    >>> minigrad.float32 == np.float32, np.zeros(2, minigrad.float32).dtype
    (True, dtype('float32'))
    """

    __slots__ = (
        "__numpy_dtype__",
        "dtype",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "kind",
        "type",
    )

    def __init__(self, of: NumPyDtype) -> None:
        if not isinstance(of, np.dtype):
            raise TypeError(
                "cannot create 'minigrad.dtype' instances. To fix it, use minigrad.float32, or numpy.dtype(...)."
            )
        self.dtype = self.__numpy_dtype__ = of  # where NumPy before and since 2.4 looks
        self.kind, self.itemsize, self.type = of.kind, of.itemsize, of.type  # often asked for
        self.is_floating_point, self.is_complex = of.kind == "f", of.kind == "c"
        self.is_signed = of.kind in "ifc"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return self is other or (other is not None and self.dtype == other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"minigrad.{self.dtype}"

    def __reduce__(self) -> str:  # pickle and copy look the object up in this module
        return "bool_" if self.name == "bool" else self.name

    def to_real(self) -> "dtype":
        """The dtype of the real and the imaginary part.

        >>> minigrad.complex64.to_real()
        minigrad.float32
        """
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> "dtype":
        """The dtype of complex numbers with parts of this dtype (of float16: complex64, the smallest in NumPy).

        >>> minigrad.float32.to_complex()
        minigrad.complex64
        """
        if self.kind not in "fc":
            raise RuntimeError(f"Unknown Complex ScalarType for {torch_name(self)}.")
        return of_array(np.promote_types(self.dtype, np.complex64))


class NotInNumPy(dtype):
    """A dtype that NumPy does not have. Code may refer to it, but using it is an error."""

    __slots__ = ("name",)

    def __init__(self, name: str, itemsize: int) -> None:
        super().__init__(np.dtype(np.float16))
        self.name, self.itemsize = name, itemsize

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"minigrad.{self.name}"


float16 = half = dtype(np.dtype(np.float16))
float32 = float_ = dtype(np.dtype(np.float32))
float64 = double = dtype(np.dtype(np.float64))
complex64 = cfloat = dtype(np.dtype(np.complex64))
complex128 = cdouble = dtype(np.dtype(np.complex128))
uint8 = dtype(np.dtype(np.uint8))
int8 = dtype(np.dtype(np.int8))
int16 = short = dtype(np.dtype(np.int16))
int32 = int_ = dtype(np.dtype(np.int32))
int64 = long = dtype(np.dtype(np.int64))
uint16, uint32, uint64 = (dtype(np.dtype(t)) for t in (np.uint16, np.uint32, np.uint64))
bool_ = dtype(np.dtype(np.bool_))
bfloat16 = NotInNumPy("bfloat16", 2)
float8_e4m3fn, float8_e5m2 = NotInNumPy("float8_e4m3fn", 1), NotInNumPy("float8_e5m2", 1)

Dtype = dtype | NumPyDtype  # of a tensor, or of an array
DTypeLike = Dtype | type | str | None  # ways to name a dtype; None: the default dtype

INTEGERS = (uint8, int8, int16, int32, int64, uint16, uint32, uint64)
ALL = (float16, float32, float64, *INTEGERS, bool_, complex64, complex128)
_NEVER_PROMOTED = {d.dtype for d in (uint16, uint32, uint64)}  # with other integers
_OF_ARRAYS = {d.dtype: d for d in ALL}
of_array = _OF_ARRAYS.__getitem__  # the dtype of a tensor with an array of this dtype

# PyTorch's names that mean something else in NumPy (long: on Windows).
_ALIASES = {"float": "float32", "int": "int32", "long": "int64", "cfloat": "complex64"}
_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_default: NumPyDtype = float32.dtype


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats.

    >>> get_default_dtype()
    minigrad.float32
    """
    return of_array(_default)


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the dtype of tensors made from Python floats: float16, float32 or float64.

    Raises TypeError for any other dtype.

    >>> set_default_dtype(minigrad.float64)
    >>> minigrad.tensor(1.0).dtype
    minigrad.float64
    >>> set_default_dtype(minigrad.float32)
    """
    global _default
    d = as_dtype(dtype)
    if d.kind != "f":
        raise TypeError(
            f"only floating-point types are supported as the default type, but got {d}."
        )
    _default = d


def as_dtype(of: DTypeLike) -> NumPyDtype:
    """The dtype of arrays that a dtype, its name, a NumPy type or a Python type stands for.

    Python's float, int and bool are float64, int64 and bool; the names "float" and "int" are
    PyTorch's: float32 and int32.

    >>> as_dtype("float64"), as_dtype("float"), as_dtype(float)
    (dtype('float64'), dtype('float32'), dtype('float64'))
    """
    if of.__class__ is dtype:
        return of.dtype
    if isinstance(of, np.dtype) and of in _OF_ARRAYS:
        return of
    if of is int:
        return int64.dtype
    if isinstance(of, NotInNumPy):
        raise NotImplementedError(
            f"minigrad leaves out {of!r}: NumPy has no {of.name}. To fix it, use float32."
        )
    # NumPy would ask FloatTensor, whose class is not `type`, for its attribute `dtype`.
    if isinstance(of, str) or of.__class__ is type:
        with suppress(TypeError):  # no dtype of this name
            found = np.dtype(_ALIASES.get(of, of) if isinstance(of, str) else of)
            if found in _OF_ARRAYS:  # NumPy accepts any class as an object dtype
                return found
    wrong = of if isinstance(of, type) else type(of)
    name = of if isinstance(of, str | np.dtype) else wrong.__name__
    raise TypeError(f"argument 'dtype' must be a dtype like minigrad.float32, not {name}.")


def or_default(of: DTypeLike) -> NumPyDtype:
    """The dtype of arrays that this stands for; None stands for the default dtype."""
    return _default if of is None else as_dtype(of)


def category(dtype: Dtype) -> int:
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    return _CATEGORY[dtype.kind]


def check_supported(dtype: NumPyDtype) -> None:
    """Raise TypeError if tensors can't hold an array of this dtype."""
    if dtype not in _OF_ARRAYS:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{dtype.type.__name__}. The only supported types are: "
            f"{', '.join(map(str, _OF_ARRAYS))}."
        )


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


def check_real(dtype: Dtype, otherwise: str) -> None:
    """Raise RuntimeError with this text for a dtype of complex numbers."""
    if dtype.kind == "c":
        raise RuntimeError(otherwise)


def of_number(value: Any) -> NumPyDtype:
    """The dtype of a plain number in an operation with tensors."""
    if isinstance(value, (bool, np.bool_)):
        return bool_.dtype
    if isinstance(value, (int, np.integer)):
        return int64.dtype
    if isinstance(value, (float, np.floating)):
        return _default
    return (complex128 if _default == np.float64 else complex64).dtype


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
    if isinstance(value, str) or getattr(value, "requires_grad", False):
        raise TypeError(f"argument 'value' must be Number, not {type(value).__name__}: {value!r}.")
    if isinstance(value, complex) and dtype.kind not in "cb":
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name} without overflow: {value} is complex."
        )
    check_range(value, dtype)
    z = number(value, dtype)
    if dtype.kind == "f" and math.isinf(z) and math.isfinite(value):
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name} without overflow: the largest is {np.finfo(dtype).max}."
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
            f"value cannot be converted to type {dtype.name} without overflow: {dtype.name} holds the numbers from "
            f"{limits.min} to {limits.max}."
        )


_NAMES: dict[Dtype, str] = {
    float16: "Half", float32: "Float", float64: "Double", uint8: "Byte", int8: "Char",
    int16: "Short", int32: "Int", int64: "Long", bool_: "Bool", complex64: "ComplexFloat",
    complex128: "ComplexDouble", uint16: "UInt16", uint32: "UInt32", uint64: "UInt64",
}  # fmt: skip


def torch_name(dtype: Dtype) -> str:
    """The name of a dtype in PyTorch's error messages: float32 is Float, int64 is Long."""
    return _NAMES.get(dtype, str(dtype))


def promoted(a: NumPyDtype, b: NumPyDtype) -> NumPyDtype:
    """The dtype that two dtypes of arrays are promoted to. Raises RuntimeError for uint16 and another integer dtype."""
    low, high = sorted((a, b), key=category)
    if a != b and high.kind != "f" and not {a, b}.isdisjoint(_NEVER_PROMOTED):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{torch_name(a)} and {torch_name(b)}. To fix it, convert one, like  x.long()."
        )
    if category(high) >= 2 and category(low) < 2:
        return high
    return np.promote_types(a, b)


def promote_types(a: DTypeLike, b: DTypeLike) -> dtype:
    """The dtype that two dtypes are promoted to. As in PyTorch, floats take precedence over integers.

    >>> promote_types(minigrad.int64, minigrad.float32)
    minigrad.float32
    """
    return of_array(promoted(as_dtype(a), as_dtype(b)))


def can_cast(from_: DTypeLike, to: DTypeLike) -> bool:
    """Can numbers of one dtype be written into a tensor of another, by PyTorch's rules?

    Floats can't be written into integers, nor numbers into booleans.

    >>> can_cast(minigrad.float64, minigrad.float32), can_cast(minigrad.float32, minigrad.int64)
    (True, False)
    """
    return category(as_dtype(from_)) <= category(as_dtype(to))


def common_dtype(
    with_axes: Sequence[NumPyDtype], without: Sequence[NumPyDtype], numbers: Sequence[NumPyDtype]
) -> NumPyDtype:
    """The common dtype of tensors with axes, 0-d tensors, and plain numbers.

    A later group counts only if its category is higher than that of the groups before it. Floats keep
    their size beside a complex number: float32 becomes complex64.
    """
    result, *later = [reduce(promoted, g) for g in (with_axes, without, numbers) if g]
    for joined in later:
        if category(joined) > category(result):
            result = promoted(result, complex64.dtype) if result.kind == "f" else joined
    return result
