"""Operators and comparisons: what stands between two tensors, entry by entry.

x + y, x.add(y) and x += y are three spellings of one op. An operand may be a tensor, an
array or a number.
"""

from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.methods.base import Base, Operand, scaled


class Operators(Base):
    """Arithmetic, logic and comparisons."""

    __slots__ = ()

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Operand) -> Self: return ops.add.apply(self, other)
    def __radd__(self, other: Operand) -> Self: return ops.add.apply(other, self)
    def __iadd__(self, other: Operand) -> Self: return ops.add.apply_(self, other)
    def __sub__(self, other: Operand) -> Self: return ops.sub.apply(self, other)
    def __rsub__(self, other: Operand) -> Self: return ops.sub.apply(other, self)
    def __isub__(self, other: Operand) -> Self: return ops.sub.apply_(self, other)
    def __mul__(self, other: Operand) -> Self: return ops.mul.apply(self, other)
    def __rmul__(self, other: Operand) -> Self: return ops.mul.apply(other, self)
    def __imul__(self, other: Operand) -> Self: return ops.mul.apply_(self, other)
    def __truediv__(self, other: Operand) -> Self: return ops.div.apply(self, other)
    def __rtruediv__(self, other: Operand) -> Self: return ops.div.apply(other, self)
    def __itruediv__(self, other: Operand) -> Self: return ops.div.apply_(self, other)
    def __pow__(self, other: Operand) -> Self: return ops.pow.apply(self, whole_power(self, other))
    def __rpow__(self, other: Operand) -> Self: return ops.pow.apply(other, self)
    def __ipow__(self, other: Operand) -> Self: return ops.pow.apply_(self, other)
    def __matmul__(self, other: Operand) -> Self: return ops.matmul.apply(self, other)
    def __rmatmul__(self, other: Operand) -> Self: return ops.matmul.apply(other, self)
    def __neg__(self) -> Self: return ops.neg.apply(self)
    def __pos__(self) -> Self: return self.positive()  # type: ignore[attr-defined]
    def __abs__(self) -> Self: return ops.abs.apply(self)
    def add(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.add.apply(self, scaled(other, alpha, self))
    def add_(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.add.apply_(self, scaled(other, alpha, self))
    def sub(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.sub.apply(self, scaled(other, alpha, self, ops.sub))
    def sub_(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.sub.apply_(self, scaled(other, alpha, self, ops.sub))
    def mul(self, other: Operand) -> Self: return ops.mul.apply(self, other)
    def mul_(self, other: Operand) -> Self: return ops.mul.apply_(self, other)
    def div(self, other: Operand, *, rounding_mode: Any = None) -> Self:
        return ops.div.apply(self, other) if rounding_mode is None else divided(self, other, rounding_mode)
    def div_(self, other: Operand, *, rounding_mode: Any = None) -> Self:
        return ops.div.apply_(self, other) if rounding_mode is None else self.copy_(divided(self, other, rounding_mode))
    def __floordiv__(self, other: Operand) -> Self: return ops.floor_divide.apply(self, other)
    def __rfloordiv__(self, other: Operand) -> Self: return ops.floor_divide.apply(other, self)
    def __ifloordiv__(self, other: Operand) -> Self: return ops.floor_divide.apply_(self, other)
    def __mod__(self, other: Operand) -> Self: return ops.remainder.apply(self, other)
    def __rmod__(self, other: Operand) -> Self: return ops.remainder.apply(other, self)
    def __imod__(self, other: Operand) -> Self: return ops.remainder.apply_(self, other)
    def __divmod__(self, other: Operand) -> Any: return self // other, self % other
    def rsub(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.sub.apply(other, scaled(self, alpha, other))
    def floor_divide(self, other: Operand) -> Self: return ops.floor_divide.apply(self, other)
    def floor_divide_(self, other: Operand) -> Self: return ops.floor_divide.apply_(self, other)
    def remainder(self, other: Operand) -> Self: return ops.remainder.apply(self, other)
    def remainder_(self, other: Operand) -> Self: return ops.remainder.apply_(self, other)
    def fmod(self, other: Operand) -> Self: return ops.fmod.apply(self, other)
    def fmod_(self, other: Operand) -> Self: return ops.fmod.apply_(self, other)
    def float_power(self, exponent: Operand) -> Self: return ops.pow.apply(self.double(), doubled(exponent))
    def float_power_(self, exponent: Operand) -> Self: return ops.pow.apply_(self, doubled(exponent))
    def atan2(self, other: Operand) -> Self: return ops.atan2.apply(self, other)
    def atan2_(self, other: Operand) -> Self: return ops.atan2.apply_(self, other)
    def arctan2(self, other: Operand) -> Self: return ops.atan2.apply(self, other)
    def hypot(self, other: Operand) -> Self: return ops.hypot.apply(self, other)
    def hypot_(self, other: Operand) -> Self: return ops.hypot.apply_(self, other)
    def xlogy(self, other: Operand) -> Self: return ops.xlogy.apply(self, other)
    def xlogy_(self, other: Operand) -> Self: return ops.xlogy.apply_(self, other)
    def logaddexp(self, other: Operand) -> Self: return ops.logaddexp.apply(self, other)
    def fmax(self, other: Operand) -> Self: return ops.fmax.apply(self, other)
    def fmin(self, other: Operand) -> Self: return ops.fmin.apply(self, other)
    def subtract(self, other: Operand, *, alpha: Any = 1) -> Self: return self.sub(other, alpha=alpha)
    def subtract_(self, other: Operand, *, alpha: Any = 1) -> Self: return self.sub_(other, alpha=alpha)
    def multiply(self, other: Operand) -> Self: return self.mul(other)
    def multiply_(self, other: Operand) -> Self: return self.mul_(other)
    def divide(self, other: Operand, *, rounding_mode: Any = None) -> Self: return self.div(other, rounding_mode=rounding_mode)
    def divide_(self, other: Operand, *, rounding_mode: Any = None) -> Self: return self.div_(other, rounding_mode=rounding_mode)
    def true_divide(self, other: Operand) -> Self: return self.div(other)
    def true_divide_(self, other: Operand) -> Self: return self.div_(other)
    def arctan2_(self, other: Operand) -> Self: return self.atan2_(other)
    def lerp(self, end: Operand, weight: Operand) -> Self: return ops.lerp.apply(self, end, weight)
    def lerp_(self, end: Operand, weight: Operand) -> Self: return ops.lerp.apply_(self, end, weight)
    def addcmul(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcmul.apply(self, tensor1, tensor2, value=value)
    def addcmul_(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcmul.apply_(self, tensor1, tensor2, value=value)
    def addcdiv(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcdiv.apply(self, *real("addcdiv", tensor1, tensor2), value=value)
    def addcdiv_(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcdiv.apply_(self, *real("addcdiv", tensor1, tensor2), value=value)
    def pow(self, exponent: Operand) -> Self: return ops.pow.apply(self, whole_power(self, exponent))
    def pow_(self, exponent: Operand) -> Self: return ops.pow.apply_(self, exponent)
    def matmul(self, other: Operand) -> Self: return ops.matmul.apply(self, other)
    def maximum(self, other: Operand) -> Self: return ops.maximum.apply(self, other)
    def minimum(self, other: Operand) -> Self: return ops.minimum.apply(self, other)

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.eq.apply(self, other) if isinstance(other, COMPARED) else NotImplemented
    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.ne.apply(self, other) if isinstance(other, COMPARED) else NotImplemented
    def __lt__(self, other: Operand) -> Self: return ops.lt.apply(self, other)
    def __le__(self, other: Operand) -> Self: return ops.le.apply(self, other)
    def __gt__(self, other: Operand) -> Self: return ops.gt.apply(self, other)
    def __ge__(self, other: Operand) -> Self: return ops.ge.apply(self, other)

    def __invert__(self) -> Self:
        if self.dtype.kind not in "biu":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return ops.bitwise_not.apply(self)

    def __and__(self, other: Operand) -> Self: return ops.bitwise_and.apply(self, other)
    def __rand__(self, other: Operand) -> Self: return ops.bitwise_and.apply(other, self)
    def __iand__(self, other: Operand) -> Self: return ops.bitwise_and.apply_(self, other)
    def __or__(self, other: Operand) -> Self: return ops.bitwise_or.apply(self, other)
    def __ror__(self, other: Operand) -> Self: return ops.bitwise_or.apply(other, self)
    def __ior__(self, other: Operand) -> Self: return ops.bitwise_or.apply_(self, other)
    def __xor__(self, other: Operand) -> Self: return ops.bitwise_xor.apply(self, other)
    def __rxor__(self, other: Operand) -> Self: return ops.bitwise_xor.apply(other, self)
    def __ixor__(self, other: Operand) -> Self: return ops.bitwise_xor.apply_(self, other)
    def __lshift__(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply(self, other)
    def __rlshift__(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply(other, self)
    def __ilshift__(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply_(self, other)
    def __rshift__(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply(self, other)
    def __rrshift__(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply(other, self)
    def __irshift__(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply_(self, other)
    def bitwise_and(self, other: Operand) -> Self: return ops.bitwise_and.apply(self, other)
    def bitwise_and_(self, other: Operand) -> Self: return ops.bitwise_and.apply_(self, other)
    def bitwise_or(self, other: Operand) -> Self: return ops.bitwise_or.apply(self, other)
    def bitwise_or_(self, other: Operand) -> Self: return ops.bitwise_or.apply_(self, other)
    def bitwise_xor(self, other: Operand) -> Self: return ops.bitwise_xor.apply(self, other)
    def bitwise_xor_(self, other: Operand) -> Self: return ops.bitwise_xor.apply_(self, other)
    def bitwise_not(self) -> Self: return ops.bitwise_not.apply(self)
    def bitwise_not_(self) -> Self: return ops.bitwise_not.apply_(self)
    def bitwise_left_shift(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply(self, other)
    def bitwise_right_shift(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply(self, other)
    def eq(self, other: Operand) -> Self: return ops.eq.apply(self, other)
    def ne(self, other: Operand) -> Self: return ops.ne.apply(self, other)
    def lt(self, other: Operand) -> Self: return ops.lt.apply(self, other)
    def le(self, other: Operand) -> Self: return ops.le.apply(self, other)
    def gt(self, other: Operand) -> Self: return ops.gt.apply(self, other)
    def ge(self, other: Operand) -> Self: return ops.ge.apply(self, other)
    def logical_and(self, other: Operand) -> Self: return ops.logical_and.apply(self, other)
    def logical_or(self, other: Operand) -> Self: return ops.logical_or.apply(self, other)
    def logical_not(self) -> Self: return ops.logical_not.apply(self)
    def logical_xor(self, other: Operand) -> Self: return ops.logical_xor.apply(self, other)
    def isnan(self) -> Self: return ops.isnan.apply(self)
    def isinf(self) -> Self: return ops.isinf.apply(self)
    def isfinite(self) -> Self: return ops.isfinite.apply(self)
    def signbit(self) -> Self: return ops.signbit.apply(self)
    def eq_(self, other: Operand) -> Self: return self.copy_(self.eq(other))
    def ne_(self, other: Operand) -> Self: return self.copy_(self.ne(other))
    def lt_(self, other: Operand) -> Self: return self.copy_(self.lt(other))
    def le_(self, other: Operand) -> Self: return self.copy_(self.le(other))
    def gt_(self, other: Operand) -> Self: return self.copy_(self.gt(other))
    def ge_(self, other: Operand) -> Self: return self.copy_(self.ge(other))
    def logical_and_(self, other: Operand) -> Self: return self.copy_(self.logical_and(other))
    def logical_or_(self, other: Operand) -> Self: return self.copy_(self.logical_or(other))
    def logical_xor_(self, other: Operand) -> Self: return self.copy_(self.logical_xor(other))
    def logical_not_(self) -> Self: return self.copy_(self.logical_not())
    def greater(self, other: Operand) -> Self: return self.gt(other)
    def greater_(self, other: Operand) -> Self: return self.gt_(other)
    def greater_equal(self, other: Operand) -> Self: return self.ge(other)
    def greater_equal_(self, other: Operand) -> Self: return self.ge_(other)
    def less(self, other: Operand) -> Self: return self.lt(other)
    def less_(self, other: Operand) -> Self: return self.lt_(other)
    def less_equal(self, other: Operand) -> Self: return self.le(other)
    def less_equal_(self, other: Operand) -> Self: return self.le_(other)
    def not_equal(self, other: Operand) -> Self: return self.ne(other)
    def not_equal_(self, other: Operand) -> Self: return self.ne_(other)
    def bitwise_left_shift_(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply_(self, other)
    def bitwise_right_shift_(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply_(self, other)
    def isposinf(self) -> Self: return self._constant(np.isposinf(self.array))
    def isneginf(self) -> Self: return self._constant(np.isneginf(self.array))
    def isreal(self) -> Self: return self._constant(np.isreal(self.array))
    def is_nonzero(self) -> Any: return truth(self)
    def is_same_size(self, other: Self) -> Any: return self.shape == other.shape
    def heaviside(self, values: Operand) -> Self: return steps(self, values)
    def isclose(self, other: Operand, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Self: return close(self, other, rtol, atol, equal_nan)
    def allclose(self, other: Operand, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any: return bool(close(self, other, rtol, atol, equal_nan).array.all())
    def equal(self, other: Operand) -> Any: return self.shape == other.shape and bool((self.array == other.array).all())


# What == and != compare with entry by entry; x == None is False.
COMPARED = (Base, int, float, complex, np.ndarray, np.generic)


def whole_power(x: Any, n: Operand) -> Operand:
    """The exponent n, if it is none that makes fractions of whole numbers."""
    if n.__class__ is int and n < 0 and x.dtype.kind in "iub":
        raise RuntimeError("Integers to negative integer powers are not allowed. To fix it, use x.float() ** n.")
    return n


def divided(x: Any, y: Any, rounding_mode: str) -> Any:
    """x / y, rounded to a whole number of x's type."""
    if rounding_mode == "floor":
        return ops.floor_divide.apply(x, y)
    if rounding_mode != "trunc":
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")
    remainder = ops.fmod(x, y)
    if remainder.dtype.kind == "f":
        return ops.div.apply(x, y).trunc()
    return (x - remainder) // y


def doubled(x: Any) -> Any:
    return x.double() if isinstance(x, Base) else x


def real(name: str, *tensors: Any) -> Any:
    if all(x.dtype.kind in "iub" for x in tensors):
        raise RuntimeError(f"Integer division with {name} is no longer supported. To fix it, use {name} of x.float().")
    return tensors


def close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """Where x and y differ by at most atol + rtol * abs(y)."""
    if x.dtype != y.dtype:
        from minigrad.core.dtypes import torch_name

        raise RuntimeError(f"{torch_name(x.dtype)} did not match {torch_name(y.dtype)}: compare tensors of one type.")
    return x._constant(np.isclose(x.array, y.array, rtol, atol, equal_nan))


def truth(x: Any) -> bool:
    """Is the one entry of x not 0?"""
    if x.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'more than one value' if x.numel() else 'no values'} is ambiguous")
    return bool(x.array)


def steps(x: Any, values: Any) -> Any:
    """0 for x < 0, 1 for x > 0, and `values` where x is 0."""
    if x.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return x._constant(np.heaviside(x.array, values.array).astype(x.dtype))
