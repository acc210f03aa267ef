"""The limits of number types: `finfo` for floating-point types, `iinfo` for integer types.

>>> finfo().eps, iinfo("int8").max
(1.1920928955078125e-07, 127)
"""

import numpy as np

from minigrad.core import dtypes
from minigrad.core.dtypes import DTypeLike
from minigrad.core.naming import TopLevel

LIMITS = {  # eps, tiny, max, resolution
    dtypes.bfloat16: (2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127, 0.01),
    dtypes.float8_e4m3fn: (2.0**-3, 2.0**-6, 448.0, 1.0),
    dtypes.float8_e5m2: (2.0**-2, 2.0**-14, 57344.0, 1.0),
}


class _Limits(metaclass=TopLevel):
    """Two limits are equal if they are of the same type."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class finfo(_Limits):
    """The limits of a floating-point type: eps, max, min, tiny, bits, resolution.

    eps    the distance from 1 to the next larger number
    tiny   the smallest positive normal number

    >>> finfo(minigrad.float32).max, finfo(minigrad.float64).bits
    (3.4028234663852886e+38, 64)
    """

    def __init__(self, type: DTypeLike = None) -> None:  # noqa: A002  # PyTorch's name
        if isinstance(type, dtypes.NotInNumPy):  # programs ask for its limits, and use another type
            self.bits, self.dtype = 8 * type.itemsize, type.name
            self.eps, self.tiny, self.max, self.resolution = LIMITS[type]
            self.min, self.smallest_normal = -self.max, self.tiny
            return
        dtype = dtypes.or_default(type)
        if dtype.kind not in "fc":
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype}'"
            )
        info = np.finfo(dtype)
        self.bits, self.dtype = info.bits, str(info.dtype)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(f"1e-{info.precision}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """The limits of an integer type: min, max, bits.

    >>> iinfo(minigrad.uint8).min, iinfo(minigrad.uint8).max
    (0, 255)
    """

    def __init__(self, type: DTypeLike) -> None:  # noqa: A002  # PyTorch's name
        dtype = dtypes.as_dtype(type)
        if dtype.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if dtype.kind not in "iu":
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{dtype}'"
            )
        info = np.iinfo(dtype)
        self.bits, self.min, self.max, self.dtype = info.bits, info.min, info.max, str(dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
