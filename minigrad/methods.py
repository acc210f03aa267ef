"""What tensors can do: every operator and method, one line each.

`ArrayMethods` is the common base of Tensor and of the Slots of a recorded program; both
interpret the same ops. Nothing is attached from elsewhere, so a search for `def exp` or a
step of the debugger leads from `x.exp()` to the row of the table in two frames.

PyTorch's names and arguments come first (`dim`, `keepdim`); NumPy's (`axis`, `keepdims`)
are accepted as well. Through NumPy's two protocols, `np.exp(x)` and `np.sum(x, axis=0)`
mean `x.exp()` and `x.sum(axis=0)`.
"""

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from minigrad import ops
from minigrad.devices import CPU, check_device, is_device
from minigrad.op import BY_NUMPY, Op
from minigrad.ops import composites
from minigrad.shapes import normalize, normalize_one

Operand = Any  # a tensor, an array, or a number
Dim = int | Sequence[int] | None


def axes_of(dim: Dim, axis: Dim, ndim: int) -> Any:
    """What `dim` or `axis` means for an op: None for all axes, or a tuple of numbers >= 0."""
    dim = axis if dim is None else dim
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return None
    return normalize(dim, ndim) if ndim else (normalize(dim, ndim) and None)


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """view(2, 3) and view((2, 3)) mean the same."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = tuple(size[0])
    return tuple([int(n) for n in size])


class ArrayMethods:
    """The operators and methods that tensors and slots share."""

    __slots__ = ()

    array: Any

    def _write(self, op: Op, *others: Operand, **settings: Any) -> Self:
        """Apply an op with its result written over this tensor."""
        raise TypeError(f"{type(self).__name__} cannot be written to in place.")

    def _constant(self, array: Any) -> Any:
        """These values, without a history, as a tensor to go with this one."""
        return array

    def _rearrange(self, op: Op, **settings: Any) -> Self:
        """Let this tensor show its own memory in another arrangement."""
        raise TypeError(f"{type(self).__name__} cannot be rearranged in place.")

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Operand) -> Self: return ops.add.apply(self, other)
    def __radd__(self, other: Operand) -> Self: return ops.add.apply(other, self)
    def __iadd__(self, other: Operand) -> Self: return self._write(ops.add, other)
    def __sub__(self, other: Operand) -> Self: return ops.sub.apply(self, other)
    def __rsub__(self, other: Operand) -> Self: return ops.sub.apply(other, self)
    def __isub__(self, other: Operand) -> Self: return self._write(ops.sub, other)
    def __mul__(self, other: Operand) -> Self: return ops.mul.apply(self, other)
    def __rmul__(self, other: Operand) -> Self: return ops.mul.apply(other, self)
    def __imul__(self, other: Operand) -> Self: return self._write(ops.mul, other)
    def __truediv__(self, other: Operand) -> Self: return ops.div.apply(self, other)
    def __rtruediv__(self, other: Operand) -> Self: return ops.div.apply(other, self)
    def __itruediv__(self, other: Operand) -> Self: return self._write(ops.div, other)
    def __pow__(self, other: Operand) -> Self: return ops.pow.apply(self, other)
    def __rpow__(self, other: Operand) -> Self: return ops.pow.apply(other, self)
    def __ipow__(self, other: Operand) -> Self: return self._write(ops.pow, other)
    def __matmul__(self, other: Operand) -> Self: return ops.matmul.apply(self, other)
    def __rmatmul__(self, other: Operand) -> Self: return ops.matmul.apply(other, self)
    def __neg__(self) -> Self: return ops.neg.apply(self)
    def __pos__(self) -> Self: return self
    def __abs__(self) -> Self: return ops.abs.apply(self)
    def add(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.add.apply(self, scaled(other, alpha))
    def add_(self, other: Operand, *, alpha: Any = 1) -> Self: return self._write(ops.add, scaled(other, alpha))
    def sub(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.sub.apply(self, scaled(other, alpha))
    def sub_(self, other: Operand, *, alpha: Any = 1) -> Self: return self._write(ops.sub, scaled(other, alpha))
    def mul(self, other: Operand) -> Self: return ops.mul.apply(self, other)
    def mul_(self, other: Operand) -> Self: return self._write(ops.mul, other)
    def div(self, other: Operand, *, rounding_mode: Any = None) -> Self:
        return ops.div.apply(self, other) if rounding_mode is None else divided(self, other, rounding_mode)

    def div_(self, other: Operand, *, rounding_mode: Any = None) -> Self:
        return self._write(ops.div, other) if rounding_mode is None else self.copy_(divided(self, other, rounding_mode))

    def __floordiv__(self, other: Operand) -> Self: return ops.floor_divide.apply(self, other)
    def __rfloordiv__(self, other: Operand) -> Self: return ops.floor_divide.apply(other, self)
    def __ifloordiv__(self, other: Operand) -> Self: return self._write(ops.floor_divide, other)
    def __mod__(self, other: Operand) -> Self: return ops.remainder.apply(self, other)
    def __rmod__(self, other: Operand) -> Self: return ops.remainder.apply(other, self)
    def __imod__(self, other: Operand) -> Self: return self._write(ops.remainder, other)
    def __divmod__(self, other: Operand) -> Any: return self // other, self % other
    def __round__(self, ndigits: int = 0) -> Self: return self.round(decimals=ndigits or 0)
    def __floor__(self) -> Self: return self.floor()
    def __ceil__(self) -> Self: return self.ceil()
    def __trunc__(self) -> Self: return self.trunc()
    def rsub(self, other: Operand, *, alpha: Any = 1) -> Self: return ops.sub.apply(other, scaled(self, alpha))
    def floor_divide(self, other: Operand) -> Self: return ops.floor_divide.apply(self, other)
    def floor_divide_(self, other: Operand) -> Self: return self._write(ops.floor_divide, other)
    def remainder(self, other: Operand) -> Self: return ops.remainder.apply(self, other)
    def remainder_(self, other: Operand) -> Self: return self._write(ops.remainder, other)
    def fmod(self, other: Operand) -> Self: return ops.fmod.apply(self, other)
    def fmod_(self, other: Operand) -> Self: return self._write(ops.fmod, other)
    def float_power(self, exponent: Operand) -> Self: return ops.pow.apply(self.double(), doubled(exponent))
    def float_power_(self, exponent: Operand) -> Self: return self._write(ops.pow, doubled(exponent))
    def atan2(self, other: Operand) -> Self: return ops.atan2.apply(self, other)
    def atan2_(self, other: Operand) -> Self: return self._write(ops.atan2, other)
    def arctan2(self, other: Operand) -> Self: return ops.atan2.apply(self, other)
    def hypot(self, other: Operand) -> Self: return ops.hypot.apply(self, other)
    def hypot_(self, other: Operand) -> Self: return self._write(ops.hypot, other)
    def xlogy(self, other: Operand) -> Self: return ops.xlogy.apply(self, other)
    def xlogy_(self, other: Operand) -> Self: return self._write(ops.xlogy, other)
    def logaddexp(self, other: Operand) -> Self: return ops.logaddexp.apply(self, other)
    def fmax(self, other: Operand) -> Self: return ops.fmax.apply(self, other)
    def fmin(self, other: Operand) -> Self: return ops.fmin.apply(self, other)

    def clamp(self, min: Operand = None, max: Operand = None) -> Self:
        op, bounds = clamping(min, max)
        return op.apply(self, *bounds)

    def clamp_(self, min: Operand = None, max: Operand = None) -> Self:
        op, bounds = clamping(min, max)
        return self._write(op, *bounds)

    def clip(self, min: Operand = None, max: Operand = None) -> Self: return self.clamp(min, max)
    def clip_(self, min: Operand = None, max: Operand = None) -> Self: return self.clamp_(min, max)
    def clamp_min(self, min: Operand) -> Self: return ops.clamp_min.apply(self, min)
    def clamp_min_(self, min: Operand) -> Self: return self._write(ops.clamp_min, min)
    def clamp_max(self, max: Operand) -> Self: return ops.clamp_max.apply(self, max)
    def clamp_max_(self, max: Operand) -> Self: return self._write(ops.clamp_max, max)
    def lerp(self, end: Operand, weight: Operand) -> Self: return ops.lerp.apply(self, end, weight)
    def lerp_(self, end: Operand, weight: Operand) -> Self: return self._write(ops.lerp, end, weight)
    def addcmul(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcmul.apply(self, tensor1, tensor2, value=value)
    def addcmul_(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return self._write(ops.addcmul, tensor1, tensor2, value=value)
    def addcdiv(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return ops.addcdiv.apply(self, *real("addcdiv", tensor1, tensor2), value=value)
    def addcdiv_(self, tensor1: Operand, tensor2: Operand, *, value: Any = 1) -> Self: return self._write(ops.addcdiv, *real("addcdiv", tensor1, tensor2), value=value)

    def pow(self, exponent: Operand) -> Self: return ops.pow.apply(self, exponent)
    def pow_(self, exponent: Operand) -> Self: return self._write(ops.pow, exponent)
    def matmul(self, other: Operand) -> Self: return ops.matmul.apply(self, other)
    def maximum(self, other: Operand) -> Self: return ops.maximum.apply(self, other)
    def minimum(self, other: Operand) -> Self: return ops.minimum.apply(self, other)

    # ------------------------------------------------------------------ functions of an entry

    def neg(self) -> Self: return ops.neg.apply(self)
    def neg_(self) -> Self: return self._write(ops.neg)
    def positive(self) -> Self: return self
    def abs(self) -> Self: return ops.abs.apply(self)
    def abs_(self) -> Self: return self._write(ops.abs)
    def sign(self) -> Self: return ops.sign.apply(self)
    def sign_(self) -> Self: return self._write(ops.sign)
    def square(self) -> Self: return ops.square.apply(self)
    def square_(self) -> Self: return self._write(ops.square)
    def sqrt(self) -> Self: return ops.sqrt.apply(self)
    def sqrt_(self) -> Self: return self._write(ops.sqrt)
    def exp(self) -> Self: return ops.exp.apply(self)
    def exp_(self) -> Self: return self._write(ops.exp)
    def log(self) -> Self: return ops.log.apply(self)
    def log_(self) -> Self: return self._write(ops.log)
    def sin(self) -> Self: return ops.sin.apply(self)
    def sin_(self) -> Self: return self._write(ops.sin)
    def cos(self) -> Self: return ops.cos.apply(self)
    def cos_(self) -> Self: return self._write(ops.cos)
    def tanh(self) -> Self: return ops.tanh.apply(self)
    def tanh_(self) -> Self: return self._write(ops.tanh)
    def sigmoid(self) -> Self: return ops.sigmoid.apply(self)
    def sigmoid_(self) -> Self: return self._write(ops.sigmoid)
    def relu(self) -> Self: return ops.relu.apply(self)
    def relu_(self) -> Self: return self._write(ops.relu)
    def reciprocal(self) -> Self: return ops.reciprocal.apply(self)
    def reciprocal_(self) -> Self: return self._write(ops.reciprocal)
    def rsqrt(self) -> Self: return ops.rsqrt.apply(self)
    def rsqrt_(self) -> Self: return self._write(ops.rsqrt)
    def exp2(self) -> Self: return ops.exp2.apply(self)
    def exp2_(self) -> Self: return self._write(ops.exp2)
    def expm1(self) -> Self: return ops.expm1.apply(self)
    def expm1_(self) -> Self: return self._write(ops.expm1)
    def log2(self) -> Self: return ops.log2.apply(self)
    def log2_(self) -> Self: return self._write(ops.log2)
    def log10(self) -> Self: return ops.log10.apply(self)
    def log10_(self) -> Self: return self._write(ops.log10)
    def log1p(self) -> Self: return ops.log1p.apply(self)
    def log1p_(self) -> Self: return self._write(ops.log1p)
    def tan(self) -> Self: return ops.tan.apply(self)
    def tan_(self) -> Self: return self._write(ops.tan)
    def asin(self) -> Self: return ops.asin.apply(self)
    def asin_(self) -> Self: return self._write(ops.asin)
    def acos(self) -> Self: return ops.acos.apply(self)
    def acos_(self) -> Self: return self._write(ops.acos)
    def atan(self) -> Self: return ops.atan.apply(self)
    def atan_(self) -> Self: return self._write(ops.atan)
    def sinh(self) -> Self: return ops.sinh.apply(self)
    def sinh_(self) -> Self: return self._write(ops.sinh)
    def cosh(self) -> Self: return ops.cosh.apply(self)
    def cosh_(self) -> Self: return self._write(ops.cosh)
    def asinh(self) -> Self: return ops.asinh.apply(self)
    def asinh_(self) -> Self: return self._write(ops.asinh)
    def acosh(self) -> Self: return ops.acosh.apply(self)
    def acosh_(self) -> Self: return self._write(ops.acosh)
    def atanh(self) -> Self: return ops.atanh.apply(self)
    def atanh_(self) -> Self: return self._write(ops.atanh)
    def erf(self) -> Self: return ops.erf.apply(self)
    def erf_(self) -> Self: return self._write(ops.erf)
    def erfc(self) -> Self: return ops.erfc.apply(self)
    def erfc_(self) -> Self: return self._write(ops.erfc)
    def ceil(self) -> Self: return ops.ceil.apply(self)
    def ceil_(self) -> Self: return self._write(ops.ceil)
    def floor(self) -> Self: return ops.floor.apply(self)
    def floor_(self) -> Self: return self._write(ops.floor)
    def trunc(self) -> Self: return ops.trunc.apply(self)
    def trunc_(self) -> Self: return self._write(ops.trunc)
    def arcsin(self) -> Self: return ops.asin.apply(self)
    def arccos(self) -> Self: return ops.acos.apply(self)
    def arctan(self) -> Self: return ops.atan.apply(self)
    def arcsinh(self) -> Self: return ops.asinh.apply(self)
    def arccosh(self) -> Self: return ops.acosh.apply(self)
    def arctanh(self) -> Self: return ops.atanh.apply(self)
    def round(self, *, decimals: int = 0) -> Self: return ops.round.apply(self, decimals=decimals)
    def round_(self, *, decimals: int = 0) -> Self: return self._write(ops.round, decimals=decimals)
    def fix(self) -> Self: return ops.trunc.apply(self)
    def frac(self) -> Self: return self - self.trunc()
    def absolute(self) -> Self: return ops.abs.apply(self)
    def negative(self) -> Self: return ops.neg.apply(self)
    def sgn(self) -> Self: return ops.sign.apply(self)
    def logit(self, eps: Any = None) -> Self:
        x = self if eps is None else self.clamp(eps, 1 - eps)
        return (x / (1 - x)).log()

    def nan_to_num(self, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Self: return numbers_only(self, nan, posinf, neginf)
    def deg2rad(self) -> Self: return self * (np.pi / 180)
    def rad2deg(self) -> Self: return self * (180 / np.pi)

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.eq.apply(self, other)

    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.ne.apply(self, other)

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
    def __iand__(self, other: Operand) -> Self: return self._write(ops.bitwise_and, other)
    def __or__(self, other: Operand) -> Self: return ops.bitwise_or.apply(self, other)
    def __ror__(self, other: Operand) -> Self: return ops.bitwise_or.apply(other, self)
    def __ior__(self, other: Operand) -> Self: return self._write(ops.bitwise_or, other)
    def __xor__(self, other: Operand) -> Self: return ops.bitwise_xor.apply(self, other)
    def __rxor__(self, other: Operand) -> Self: return ops.bitwise_xor.apply(other, self)
    def __ixor__(self, other: Operand) -> Self: return self._write(ops.bitwise_xor, other)
    def __lshift__(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply(self, other)
    def __rlshift__(self, other: Operand) -> Self: return ops.bitwise_left_shift.apply(other, self)
    def __ilshift__(self, other: Operand) -> Self: return self._write(ops.bitwise_left_shift, other)
    def __rshift__(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply(self, other)
    def __rrshift__(self, other: Operand) -> Self: return ops.bitwise_right_shift.apply(other, self)
    def __irshift__(self, other: Operand) -> Self: return self._write(ops.bitwise_right_shift, other)
    def bitwise_and(self, other: Operand) -> Self: return ops.bitwise_and.apply(self, other)
    def bitwise_and_(self, other: Operand) -> Self: return self._write(ops.bitwise_and, other)
    def bitwise_or(self, other: Operand) -> Self: return ops.bitwise_or.apply(self, other)
    def bitwise_or_(self, other: Operand) -> Self: return self._write(ops.bitwise_or, other)
    def bitwise_xor(self, other: Operand) -> Self: return ops.bitwise_xor.apply(self, other)
    def bitwise_xor_(self, other: Operand) -> Self: return self._write(ops.bitwise_xor, other)
    def bitwise_not(self) -> Self: return ops.bitwise_not.apply(self)
    def bitwise_not_(self) -> Self: return self._write(ops.bitwise_not)
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
    def isclose(self, other: Operand, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Self: return close(self, other, rtol, atol, equal_nan)
    def allclose(self, other: Operand, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any: return bool(close(self, other, rtol, atol, equal_nan).array.all())
    def equal(self, other: Operand) -> Any: return self.shape == other.shape and bool((self.array == other.array).all())

    # ------------------------------------------------------------------ reductions

    def sum(
        self,
        dim: Dim = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Dim = None,
        keepdims: bool = False,
    ) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.sum.apply(x, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def mean(
        self,
        dim: Dim = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Dim = None,
        keepdims: bool = False,
    ) -> Self:
        x = self if dtype is None else self.to(dtype)
        if x.dtype.kind not in "fc":
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point or "
                f"complex dtype. Got: {x.dtype}. To mend it, use x.float().mean()."
            )
        return ops.mean.apply(x, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def amax(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.amax.apply(
            self, axis=filled("amax", self, axes_of(dim, axis, self.ndim)), keepdims=keepdim or keepdims
        )

    def amin(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.amin.apply(
            self, axis=filled("amin", self, axes_of(dim, axis, self.ndim)), keepdims=keepdim or keepdims
        )

    def max(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The greatest entry; with dim (values, indices) along it; with a tensor, as maximum."""
        if isinstance(dim, ArrayMethods):
            return self.maximum(dim)
        return extreme(self, ops.max, ops.amax, np.argmax, dim, axis, keepdim or keepdims)

    def min(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The least entry; with dim (values, indices) along it; with a tensor, as minimum."""
        if isinstance(dim, ArrayMethods):
            return self.minimum(dim)
        return extreme(self, ops.min, ops.amin, np.argmin, dim, axis, keepdim or keepdims)

    def argmax(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmax.apply(self, axis=place_axis("argmax", self, dim, axis), keepdims=keepdim)

    def argmin(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmin.apply(self, axis=place_axis("argmin", self, dim, axis), keepdims=keepdim)

    def all(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.all.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def any(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.any.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def prod(self, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, axis: int | None = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.prod.apply(x, axis=one_axis(dim, axis, self.ndim), keepdims=keepdim)

    def var(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, axis: Dim = None) -> Self:
        return ops.var.apply(self, **spread(self, dim, unbiased, keepdim, correction, axis))

    def std(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, axis: Dim = None) -> Self:
        return ops.std.apply(self, **spread(self, dim, unbiased, keepdim, correction, axis))

    def var_mean(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
        return self.var(dim, unbiased, keepdim, correction=correction), self.mean(None if dim is True or dim is False else dim, keepdim)

    def std_mean(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
        return self.std(dim, unbiased, keepdim, correction=correction), self.mean(None if dim is True or dim is False else dim, keepdim)

    def logsumexp(self, dim: Dim, keepdim: bool = False) -> Self: return ops.logsumexp.apply(self, axis=axes_of(dim, None, self.ndim), keepdims=keepdim)
    def norm(self, p: Any = "fro", dim: Dim = None, keepdim: bool = False, dtype: Any = None) -> Self: return norm(self if dtype is None else self.to(dtype), p, dim, keepdim)
    def cumsum(self, dim: int, *, dtype: Any = None) -> Self: return along(lambda x, axis: ops.cumsum.apply(x, axis=axis), self if dtype is None else self.to(dtype), dim)
    def cumprod(self, dim: int, *, dtype: Any = None) -> Self: return along(lambda x, axis: ops.cumprod.apply(x, axis=axis), self if dtype is None else self.to(dtype), dim)
    def cumsum_(self, dim: int) -> Self: return self.copy_(self.cumsum(dim))
    def cumprod_(self, dim: int) -> Self: return self.copy_(self.cumprod(dim))
    def logcumsumexp(self, dim: int) -> Self: return along(lambda x, axis: ops.logcumsumexp.apply(x, axis=axis), self, dim)
    def cummax(self, dim: int) -> Any: return along(composites.running_extreme, self, dim, np.maximum)
    def cummin(self, dim: int) -> Any: return along(composites.running_extreme, self, dim, np.minimum)
    def sort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Any: return along(composites.sort, self, dim, descending)
    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Self: return along(composites.argsort, self, dim, descending)
    def msort(self) -> Self: return self.sort(0).values
    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any: return along(composites.topk, self, dim, k, largest)
    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> Any: return along(composites.kthvalue, self, dim, k, keepdim)
    def median(self, dim: int | None = None, keepdim: bool = False) -> Any: return ops.median.apply(self) if dim is None else along(composites.median_along, self, dim, keepdim)
    def mode(self, dim: int = -1, keepdim: bool = False) -> Any: return along(composites.mode, self, dim, keepdim)
    def quantile(self, q: Any, dim: int | None = None, keepdim: bool = False) -> Self: return along(composites.quantile, self.reshape(-1), 0, q, False) if dim is None else along(composites.quantile, self, dim, q, keepdim)
    def aminmax(self, *, dim: int | None = None, keepdim: bool = False) -> Any: return Bounds(self.amin(dim, keepdim), self.amax(dim, keepdim))
    def count_nonzero(self, dim: Dim = None) -> Self: return self.ne(0).sum(dim)
    def nansum(self, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Self: return self.masked_fill(self.isnan(), 0).sum(dim, keepdim, dtype=dtype)
    def nanmean(self, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Self: return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)
    def diff(self, n: int = 1, dim: int = -1) -> Self:
        x, axis = self, normalize_one(dim, self.ndim)
        for _ in range(n):
            x = x[part(x.shape, axis, slice(1, None))] - x[part(x.shape, axis, slice(0, -1))]
        return x

    # ------------------------------------------------------------------ arrangement

    @property
    def T(self) -> Self: return ops.permute.apply(self, axes=tuple(range(self.ndim))[::-1])
    @property
    def mT(self) -> Self: return self.transpose(-2, -1)
    @property
    def ndim(self) -> int: return int(self.array.ndim)
    def dim(self) -> int: return int(self.array.ndim)
    def numel(self) -> int: return int(self.array.size)
    def size(self, dim: int | None = None) -> Any: return self.shape if dim is None else self.shape[normalize_one(dim, self.ndim)]
    def reshape(self, *shape: Any) -> Self: return ops.reshape.apply(self, shape=sizes(shape))
    def view(self, *shape: Any) -> Self: return viewed(self, shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self: return self.reshape(flat_shape(self.shape, start_dim, end_dim))
    def ravel(self) -> Self: return self.reshape(-1)
    def permute(self, *dims: Any) -> Self: return ops.permute.apply(self, axes=permutation(sizes(dims), self.ndim))
    def t(self) -> Self: return ops.t.apply(self) if self.ndim == 2 else at_most_2d(self)

    def expand(self, *size: Any) -> Self: return ops.expand.apply(self, shape=expanded(self.shape, sizes(size)))
    def expand_as(self, other: Self) -> Self: return self.expand(other.shape)
    def unsqueeze(self, dim: int) -> Self: return ops.unsqueeze.apply(self, axis=normalize_one(dim, self.ndim + 1))
    def squeeze(self, dim: Dim = None) -> Self: return ops.squeeze.apply(self, axis=squeezable(self.shape, dim))
    def clone(self) -> Self: return ops.clone.apply(self)
    def contiguous(self, memory_format: Any = None) -> Self: return self if not self.ndim or self.array.flags.c_contiguous else ops.clone.apply(self, order="C")
    def is_contiguous(self, memory_format: Any = None) -> Any: return not self.ndim or self.array.flags.c_contiguous

    def t_(self) -> Self: return self._rearrange(ops.t) if self.ndim == 2 else at_most_2d(self) and self
    def transpose_(self, dim0: int, dim1: int) -> Self: return self._rearrange(ops.transpose, axis0=normalize_one(dim0, self.ndim), axis1=normalize_one(dim1, self.ndim))
    def swapaxes_(self, axis0: int, axis1: int) -> Self: return self.transpose_(axis0, axis1)
    def unsqueeze_(self, dim: int) -> Self: return self._rearrange(ops.unsqueeze, axis=normalize_one(dim, self.ndim + 1))
    def squeeze_(self, dim: Dim = None) -> Self: return self._rearrange(ops.squeeze, axis=squeezable(self.shape, dim))
    def view_as(self, other: Self) -> Self: return self.view(other.shape)
    def reshape_as(self, other: Self) -> Self: return self.reshape(other.shape)
    def unflatten(self, dim: int, sizes: Any) -> Self: return self.view(unflattened(self.shape, dim, tuple(sizes)))
    def swapaxes(self, axis0: int, axis1: int) -> Self: return self.transpose(axis0, axis1)
    def swapdims(self, dim0: int, dim1: int) -> Self: return self.transpose(dim0, dim1)
    def movedim(self, source: Any, destination: Any) -> Self: return ops.permute.apply(self, axes=moved(self.ndim, source, destination))
    def moveaxis(self, source: Any, destination: Any) -> Self: return self.movedim(source, destination)
    def adjoint(self) -> Self: return self.transpose(-2, -1)
    def broadcast_to(self, size: Any) -> Self: return self.expand(size)
    def flip(self, *dims: Any) -> Self: return ops.flip.apply(self, axes=flipped(sizes(dims), self.ndim))
    def fliplr(self) -> Self: return self.flip(axis_of("fliplr", self, 1))
    def flipud(self) -> Self: return self.flip(axis_of("flipud", self, 0))
    def roll(self, shifts: Any, dims: Any = None) -> Self: return rolled(self, shifts, dims)
    def rot90(self, k: int = 1, dims: Any = (0, 1)) -> Self: return rotated(self, k % 4, dims)
    def repeat(self, *repeats: Any) -> Self: return ops.tile.apply(self, repeats=tiles("repeat", sizes(repeats), self.ndim))
    def tile(self, *dims: Any) -> Self: return ops.tile.apply(self, repeats=tiles("tile", (1,) * (self.ndim - len(sizes(dims))) + sizes(dims), self.ndim))
    def repeat_interleave(self, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Self: return repeated(self, repeats, dim)
    def narrow(self, dim: int, start: Any, length: int) -> Self: return self[narrowed(self.shape, dim, int(start), length)]
    def select(self, dim: int, index: int) -> Self: return self[selected(self.shape, dim, index)]
    def unbind(self, dim: int = 0) -> Any: return one_of_many("Unbind", [self.select(dim, i) for i in range(self.size(dim))])
    def split(self, split_size: Any, dim: int = 0) -> Any: return cut("split", self, dim, pieces(self.size(dim), split_size))
    def split_with_sizes(self, split_sizes: Any, dim: int = 0) -> Any: return cut("split_with_sizes", self, dim, list(split_sizes))
    def chunk(self, chunks: int, dim: int = 0) -> Any: return cut("chunk", self, dim, chunked(self.size(dim), chunks))
    def tensor_split(self, indices_or_sections: Any, dim: int = 0) -> Any: return split_at(self, indices_or_sections, dim)
    def unfold(self, dimension: int, size: int, step: int) -> Self:
        axis = windows(self.shape, dimension, size, step)
        return ops.unfold.apply(self, axis=axis, size=size, step=step) if self.ndim else self.reshape(size)

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self: return ops.diagonal.apply(self, offset=offset, **two_axes(self.ndim, dim1, dim2))
    def diag(self, diagonal: int = 0) -> Self: return diag(self, diagonal)
    def diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Self: return diag_embed(self, offset, dim1, dim2)
    def diagonal_scatter(self, src: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        z = self.clone()
        z.diagonal(offset, dim1, dim2).copy_(src)
        return z

    def tril(self, diagonal: int = 0) -> Self: return ops.tril.apply(at_least_2d("tril", self), diagonal=diagonal)
    def tril_(self, diagonal: int = 0) -> Self: return self._write(ops.tril, diagonal=diagonal)
    def triu(self, diagonal: int = 0) -> Self: return ops.triu.apply(at_least_2d("triu", self), diagonal=diagonal)
    def triu_(self, diagonal: int = 0) -> Self: return self._write(ops.triu, diagonal=diagonal)

    def transpose(self, dim0: int, dim1: int) -> Self:
        return ops.transpose.apply(
            self, axis0=normalize_one(dim0, self.ndim), axis1=normalize_one(dim1, self.ndim)
        )

    @property
    def shape(self) -> Any: return self.array.shape
    @property
    def dtype(self) -> Any: return self.array.dtype

    # ------------------------------------------------------------------ indexing

    def __getitem__(self, index: Any) -> Self: return ops.getitem.apply(self, index=plain_index(index))
    def __setitem__(self, index: Any, value: Operand) -> None:
        index = plain_index(index)
        if ops.is_basic(index):  # type: ignore[no-untyped-call]
            self[index]._write(ops.copy, value)
        else:
            self._write(ops.index_put, value, index=index)

    def copy_(self, src: Operand) -> Self: return self._write(ops.copy, src)
    def fill_(self, value: Operand) -> Self: return self._write(ops.copy, value)
    def zero_(self) -> Self: return self._write(ops.copy, 0)
    def where(self, condition: Operand, other: Operand) -> Self: return ops.where.apply(condition, self, other)
    def gather(self, dim: int, index: Any, *, sparse_grad: bool = False) -> Self:
        dim, index = normalize_one(dim, self.ndim), index_along("gather", self, dim, index)
        return ops.gather.apply(self, index=index, axis=dim)

    def scatter(self, dim: int, index: Any, src: Operand = None, *, value: Any = None, reduce: str | None = None) -> Self:
        op, others, settings = scattering("scatter", self, dim, index, src if value is None else value, reduce)
        return op.apply(self, *others, **settings)

    def scatter_(self, dim: int, index: Any, src: Operand = None, *, value: Any = None, reduce: str | None = None) -> Self:
        op, others, settings = scattering("scatter", self, dim, index, src if value is None else value, reduce)
        return self._write(op, *others, **settings)

    def scatter_add(self, dim: int, index: Any, src: Operand) -> Self:
        _, others, settings = scattering("scatter_add", self, dim, index, src, "add")
        return ops.scatter_add.apply(self, *others, **settings)

    def scatter_add_(self, dim: int, index: Any, src: Operand) -> Self:
        _, others, settings = scattering("scatter_add", self, dim, index, src, "add")
        return self._write(ops.scatter_add, *others, **settings)

    def index_select(self, dim: int, index: Any) -> Self:
        dim, index = normalize_one(dim, self.ndim), indices_of("index_select", index)
        if not self.ndim:
            return self.clone()
        if index.ndim > 1:
            raise IndexError("index_select(): Index is supposed to be a vector")
        return ops.index_select.apply(self, index=in_range(index, self.shape[dim]).reshape(-1), axis=dim)

    def index_put(self, indices: Any, values: Operand, accumulate: bool = False) -> Self: return ops.index_put.apply(self, like(values, self), index=plain_index(tuple(indices)), accumulate=accumulate)
    def index_put_(self, indices: Any, values: Operand, accumulate: bool = False) -> Self: return self._write(ops.index_put, like(values, self), index=plain_index(tuple(indices)), accumulate=accumulate)
    def index_add(self, dim: int, index: Any, source: Operand, *, alpha: Any = 1) -> Self: return ops.index_put.apply(self, scaled(source, alpha), index=rows_of("index_add", self, dim, index, source), accumulate=True)
    def index_add_(self, dim: int, index: Any, source: Operand, *, alpha: Any = 1) -> Self: return self._write(ops.index_put, scaled(source, alpha), index=rows_of("index_add", self, dim, index, source), accumulate=True)
    def index_copy(self, dim: int, index: Any, source: Operand) -> Self: return ops.index_put.apply(self, source, index=rows_of("index_copy", self, dim, index, source))
    def index_copy_(self, dim: int, index: Any, source: Operand) -> Self: return self._write(ops.index_put, source, index=rows_of("index_copy", self, dim, index, source))
    def index_fill(self, dim: int, index: Any, value: Operand) -> Self: return ops.index_put.apply(self, like(value, self), index=rows_of("index_fill", self, dim, index))
    def index_fill_(self, dim: int, index: Any, value: Operand) -> Self: return self._write(ops.index_put, like(value, self), index=rows_of("index_fill", self, dim, index))
    def masked_fill(self, mask: Any, value: Operand) -> Self: return ops.masked_fill.apply(self, like(value, self), mask=mask_of("masked_fill", mask))
    def masked_fill_(self, mask: Any, value: Operand) -> Self: return self._write(ops.masked_fill, like(value, self), mask=mask_of("masked_fill", mask))
    def masked_select(self, mask: Any) -> Self: return masked(self, mask_of("masked_select", mask))
    def masked_scatter(self, mask: Any, source: Operand) -> Self:
        source, index = masked_source(self, mask, source)
        return ops.index_put.apply(self, source, index=index)

    def masked_scatter_(self, mask: Any, source: Operand) -> Self:
        source, index = masked_source(self, mask, source)
        return self._write(ops.index_put, source, index=index)

    def select_scatter(self, src: Operand, dim: int, index: int) -> Self: return ops.index_put.apply(self, src, index=part(self.shape, dim, index))
    def slice_scatter(self, src: Operand, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Self: return ops.index_put.apply(self, src, index=part(self.shape, dim, slice(start, end, step)))
    def take(self, index: Any) -> Self: return self.reshape(-1)[in_range(indices_of("take", index), self.numel())]
    def take_along_dim(self, indices: Any, dim: int | None = None) -> Self: return taken_along(self, indices, dim)
    def put(self, index: Any, source: Operand, accumulate: bool = False) -> Self: return self.reshape(-1).index_put((in_range(indices_of("put", index), self.numel()),), source, accumulate).reshape(self.shape)
    def put_(self, index: Any, source: Operand, accumulate: bool = False) -> Self:
        self.view(-1).index_put_((in_range(indices_of("put_", index), self.numel()),), source, accumulate)
        return self

    # ------------------------------------------------------------------ neural networks

    def softmax(self, dim: int, dtype: Any = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.softmax.apply(x, axis=axis_for_softmax(x, dim))

    def log_softmax(self, dim: int, dtype: Any = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.log_softmax.apply(x, axis=axis_for_softmax(x, dim))

    # ------------------------------------------------------------------ products

    def mm(self, mat2: Operand) -> Self: return ops.mm.apply(*matrices("mm", self, mat2, 2, 2))
    def bmm(self, mat2: Operand) -> Self: return ops.bmm.apply(*matrices("bmm", self, mat2, 3, 3))
    def mv(self, vec: Operand) -> Self: return ops.mv.apply(*matrices("mv", self, vec, 2, 1))
    def dot(self, tensor: Operand) -> Self: return ops.dot.apply(*matrices("dot", self, tensor, 1, 1))
    def outer(self, vec2: Operand) -> Self: return outer(self, vec2)
    def inner(self, other: Operand) -> Self: return self * other if not self.ndim or not other.ndim else tensordot(self, other, ([-1], [-1]))
    def tensordot(self, other: Operand, dims: Any = 2) -> Self: return tensordot(self, other, dims)
    def trace(self) -> Self: return ops.trace.apply(matrix(self, "trace"))

    def addmm(self, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.addmm.apply(self, *matrices("addmm", mat1, mat2, 2, 2), beta=beta, alpha=alpha)
    def addmm_(self, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addmm(mat1, mat2, beta=beta, alpha=alpha))
    def addmv(self, mat: Operand, vec: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.addmv.apply(self, *matrices("addmv", mat, vec, 2, 1), beta=beta, alpha=alpha)
    def addmv_(self, mat: Operand, vec: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addmv(mat, vec, beta=beta, alpha=alpha))
    def baddbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.baddbmm.apply(self, *matrices("baddbmm", batch1, batch2, 3, 3), beta=beta, alpha=alpha)
    def baddbmm_(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.baddbmm(batch1, batch2, beta=beta, alpha=alpha))
    def addbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return scaled(self, beta) + scaled(ops.bmm.apply(*matrices("addbmm", batch1, batch2, 3, 3)).sum(0), alpha)
    def addbmm_(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addbmm(batch1, batch2, beta=beta, alpha=alpha))
    def addr(self, vec1: Operand, vec2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return scaled(self, beta) + scaled(outer(vec1, vec2), alpha)

    # ------------------------------------------------------------------ types of number

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, copy: Any = False) -> Self:
        for a in args:
            if isinstance(a, ArrayMethods):
                dtype = a.dtype
            elif is_device(a):
                device = a
            elif not isinstance(a, bool):  # non_blocking
                dtype = a
        check_device(device)
        if dtype is None or as_dtype(dtype) == self.dtype:
            return self.clone() if copy else self
        return ops.to.apply(self, dtype=as_dtype(dtype))

    def astype(self, dtype: Any) -> Self: return self.to(dtype)
    def double(self) -> Self: return self.to(np.float64)
    def float(self) -> Self: return self.to(np.float32)
    def half(self) -> Self: return self.to(np.float16)
    def long(self) -> Self: return self.to(np.int64)
    def int(self) -> Self: return self.to(np.int32)
    def bool(self) -> Self: return self.to(np.bool_)
    def short(self) -> Self: return self.to(np.int16)
    def char(self) -> Self: return self.to(np.int8)
    def byte(self) -> Self: return self.to(np.uint8)
    def type_as(self, other: Self) -> Self: return self.to(other.dtype)
    def type(self, dtype: Any = None) -> Any: return type_name(self) if dtype is None else self.to(type_named(dtype))
    def is_floating_point(self) -> Any: return self.dtype.kind == "f"
    def is_complex(self) -> Any: return self.dtype.kind == "c"
    def is_signed(self) -> Any: return self.dtype.kind in "ifc"

    # ------------------------------------------------------------------ memory, and where it is

    def nelement(self) -> Any: return self.numel()
    def ndimension(self) -> Any: return self.ndim
    def element_size(self) -> Any: return self.dtype.itemsize
    @property
    def itemsize(self) -> Any: return self.dtype.itemsize
    @property
    def nbytes(self) -> Any: return self.dtype.itemsize * self.numel()
    def stride(self, dim: Any = None) -> Any: return strides(self) if dim is None else strides(self)[normalize_one(dim, self.ndim)]
    def data_ptr(self) -> Any: return address(self)
    def storage_offset(self) -> Any: return offset(self)
    @property
    def device(self) -> Any: return CPU
    @property
    def is_cuda(self) -> Any: return False
    def get_device(self) -> Any: return -1
    def cpu(self) -> Self: return self
    def cuda(self, device: Any = None) -> Self: return self.to("cuda")

    # ------------------------------------------------------------------ new ones like it

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.array(getattr(data, "array", data)), dtype, device, requires_grad)
    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.zeros(sizes(size)), dtype, device, requires_grad)
    def new_ones(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.ones(sizes(size)), dtype, device, requires_grad)
    def new_empty(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self.new_zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.full(tuple(size), fill_value), dtype, device, requires_grad)
    def _new(self, array: Any, dtype: Any, device: Any, requires_grad: Any) -> Self:
        check_device(device)
        z = self._constant(array.astype(self.dtype if dtype is None else as_dtype(dtype)))
        return z.requires_grad_() if requires_grad else z

    # ------------------------------------------------------------------ counting and finding

    def nonzero(self, *, as_tuple: Any = False) -> Any: return composites.nonzero(self, as_tuple)
    def argwhere(self) -> Self: return composites.nonzero(self, False)
    def unique(self, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Any: return composites.unique(self, return_inverse, return_counts, dim)
    def bincount(self, weights: Any = None, minlength: Any = 0) -> Self: return composites.bincount(self, weights, minlength)
    def histc(self, bins: Any = 100, min: Any = 0, max: Any = 0) -> Self: return composites.histc(self, bins, min, max)
    def histogram(self, bins: Any, *, range: Any = None, weight: Any = None, density: Any = False) -> Any: return composites.histogram(self, bins, range, weight, density)
    def bucketize(self, boundaries: Any, *, right: Any = False) -> Self: return composites.searchsorted(boundaries, self, right)
    def isin(self, test_elements: Any) -> Self: return self._constant(np.isin(self.array, getattr(test_elements, "array", test_elements)))

    # ------------------------------------------------------------------ NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """np.exp(x), array * x: the op that stands for this function, or a helpful error."""
        op = BY_NUMPY.get(ufunc)
        if method == "reduce" and ufunc is np.add:
            return inputs[0].sum(axis=kwargs.get("axis", 0), keepdims=kwargs.get("keepdims", False))
        if op is None or method != "__call__" or kwargs:
            raise TypeError(
                unknown_function(
                    ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}", kwargs
                )
            )
        return op(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """np.sum(x, axis=0): the method that stands for this function, or a helpful error."""
        if function in NUMPY_QUESTIONS:
            return function(*values_only(args), **values_only(kwargs))
        stand_in = NUMPY_FUNCTIONS.get(function)
        if stand_in is None:
            raise TypeError(unknown_function(function.__name__, {}))
        return stand_in(*args, **kwargs)


class Extremes(NamedTuple):
    """What x.max(dim) and x.min(dim) return."""

    values: Any
    indices: Any


def extreme(x: Any, along: Op, over: Op, place: Any, dim: Any, axis: Any, keepdims: bool) -> Any:
    """x.max() and x.min(): of all entries, or along one axis with the place of each."""
    if dim is None and axis is None:
        return over.apply(x, axis=filled(along.name, x, None), keepdims=keepdims)
    if not x.ndim:
        normalize_one(axis if dim is None else dim, 0)
        return Extremes(x.clone(), ops.zeros_like(x).long())
    a = normalize_one(axis if dim is None else dim, x.ndim)
    if not x.shape[a]:
        raise IndexError(f"{along.name}(): Expected reduction dim {a} to have non-zero size.")
    at = np.expand_dims(place(x.array, axis=a), a)
    indices = x._constant(at if keepdims else at.squeeze(a))
    return Extremes(along.apply(x, at=at, axis=a, keepdims=keepdims), indices)


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
    return x.double() if isinstance(x, ArrayMethods) else x


def real(name: str, *tensors: Any) -> Any:
    if all(x.dtype.kind in "iub" for x in tensors):
        raise RuntimeError(f"Integer division with {name} is no longer supported. To mend it, use {name} of x.float().")
    return tensors


def clamping(low: Any, high: Any) -> tuple[Op, tuple[Any, ...]]:
    """The op and the bounds of a clamp with one bound, or with two."""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if high is None:
        return ops.clamp_min, (low,)
    return (ops.clamp_max, (high,)) if low is None else (ops.clamp, (low, high))


def numbers_only(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """x with its NaNs replaced, and its infinities (by the largest numbers of x's type)."""
    if x.dtype.kind not in "fc":
        return x.clone()
    most = np.finfo(x.dtype).max
    for where, value in (
        (x.array != x.array, nan),
        (x.array == np.inf, most if posinf is None else posinf),
        (x.array == -np.inf, -most if neginf is None else neginf),
    ):
        x = x.masked_fill(x._constant(np.asarray(where)), value)
    return x


def close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """Where x and y differ by at most atol + rtol * abs(y)."""
    if x.dtype != y.dtype:
        from minigrad.dtypes import torch_name

        raise RuntimeError(f"{torch_name(x.dtype)} did not match {torch_name(y.dtype)}: compare tensors of one type.")
    return x._constant(np.isclose(x.array, y.array, rtol, atol, equal_nan))


class Bounds(NamedTuple):
    """What x.aminmax() returns."""

    min: Any
    max: Any


def along(f: Any, x: Any, dim: int, *settings: Any) -> Any:
    """f along one axis; a number without axes is taken as a vector of one entry."""
    axis = normalize_one(dim, x.ndim)
    if x.ndim:
        return f(x, axis, *settings)
    z = f(x.reshape(1), 0, *settings)
    return type(z)(*[t.reshape(()) for t in z]) if isinstance(z, tuple) else z.reshape(())


def filled(name: str, x: Any, axes: Any) -> Any:
    """The axes, none of which is empty: nothing has no greatest entry."""
    if x.array.size:
        return axes
    if axes is None:
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
    for i in axes:
        if not x.shape[i]:
            raise IndexError(f"{name}(): Expected reduction dim {i} to have non-zero size.")
    return axes


def place_axis(name: str, x: Any, dim: Any, axis: Any) -> Any:
    """The axis of argmax and argmin, or None."""
    if x.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input. To mend it, use x.int().{name}().")
    a = one_axis(dim, axis, x.ndim)
    if a is None and not x.array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return a if a is None else filled(name, x, (a,))[0]


def spread(x: Any, dim: Any, unbiased: Any, keepdims: bool, correction: Any, axis: Dim) -> dict[str, Any]:
    """The settings of var and std, from the several ways to ask for them."""
    if x.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if isinstance(dim, bool):  # x.var(False)
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    return {"axis": axes_of(dim, axis, x.ndim), "correction": correction, "keepdims": keepdims}


def norm(x: Any, p: Any, dim: Dim, keepdims: bool) -> Any:
    if x.dtype.kind not in "fc":
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if p == "fro" or p is None:
        p = 2
    if isinstance(p, str):
        raise NotImplementedError(f"norm with p={p!r} is not there; numbers and 'fro' are.")
    axes = axes_of(dim, None, x.ndim)
    if p in (np.inf, -np.inf) and not all(x.shape[i] for i in (range(x.ndim) if axes is None else axes)):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity")
    return ops.norm.apply(x, p=p, axis=axes, keepdims=keepdims)


def scaled(other: Operand, alpha: Any) -> Operand:
    return other if alpha == 1 else other * alpha


def one_axis(dim: Any, axis: Any, ndim: int) -> Any:
    dim = axis if dim is None else dim
    return None if dim is None or not ndim else normalize_one(dim, ndim)


def strides(x: Any) -> tuple[int, ...]:
    """How many entries apart in memory the neighbors along each axis are."""
    return tuple([n // x.dtype.itemsize for n in x.memory().strides])


def address(x: Any) -> Any:
    return x.memory().__array_interface__["data"][0]


def offset(x: Any) -> Any:
    """How many entries after its base's first one a view begins."""
    return 0 if x._base is None else (address(x) - address(x._base)) // x.dtype.itemsize


def type_name(x: Any) -> str:
    """What x.type() answers: "minigrad.FloatTensor" (PyTorch: "torch.FloatTensor")."""
    from minigrad import dtypes

    return f"minigrad.{dtypes.torch_name(x.dtype)}Tensor"


def type_named(dtype: Any) -> Any:
    """The type that x.type("torch.FloatTensor") asks for."""
    from minigrad import dtypes

    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        name = dtype.rpartition(".")[2].removesuffix("Tensor")
        return next(d for d in dtypes.ALL if dtypes.torch_name(d) == name)
    return dtypes.as_dtype(dtype)


def as_dtype(dtype: Any) -> Any:
    from minigrad import dtypes

    return dtypes.as_dtype(dtype)


def permutation(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The axes of a permute, each of them once."""
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            f"the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    return normalize(dims, ndim) if ndim else ()


def flat_shape(shape: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    """The shape with the axes from start to end made one."""
    start, end = normalize_one(start, len(shape)), normalize_one(end, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    n = 1
    for size in shape[start : end + 1]:
        n *= size
    return (*shape[:start], n, *shape[end + 1 :])


def expanded(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """The target shape of an expand, where -1 keeps a size."""
    extra = len(size) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(shape)})"
        )
    whole = (1,) * extra + tuple(shape)
    for i, (n, wanted) in enumerate(zip(whole, size, strict=True)):
        if wanted != -1 and n != 1 and n != wanted:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({n}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(n if wanted == -1 else wanted for n, wanted in zip(whole, size, strict=True))


def squeezable(shape: tuple[int, ...], dim: Dim) -> tuple[int, ...]:
    """Which of the named axes (or of all) have size 1."""
    return tuple(i for i in (normalize(dim, len(shape)) if shape else ()) if shape[i] == 1)


def plain_index(index: Any) -> Any:
    """An index without tensors in it: they become arrays of integers or truth values."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = []
    for part in parts:
        if isinstance(part, ArrayMethods):
            part = part.array
        if isinstance(part, (list, range)):
            part = np.asarray([p.array if isinstance(p, ArrayMethods) else p for p in part])
            if not part.size:
                part = part.astype(np.int64)
        if (
            isinstance(part, (np.integer, np.ndarray))
            and part.ndim == 0
            and part.dtype.kind in "iu"
        ):
            part = part.item()
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, not floats."
            )
        if isinstance(part, float):
            raise TypeError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices (got float)"
            )
        plain.append(part)
    return tuple(plain)


def axis_for_softmax(x: Any, dim: int) -> int | None:
    if x.dtype.kind != "f":
        raise NotImplementedError(f'"softmax" not implemented for \'{x.dtype}\'. To mend it, use x.float().')
    axis = normalize_one(dim, x.ndim)
    return axis if x.ndim else None


def like(value: Operand, x: Any) -> Operand:
    """A number as a constant of x's type; a tensor as it is."""
    if isinstance(value, (int, float)):
        return x.dtype.type(value)
    return value


def indices_of(name: str, index: Any) -> Any:
    """An index as an array of integers."""
    index = np.asarray(getattr(index, "array", index))
    if index.dtype.kind not in "iu" and index.size:
        raise (IndexError if name == "index_select" else RuntimeError)(
            f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}."
        )
    return index.astype(np.int64, copy=False)


def mask_of(name: str, mask: Any) -> Any:
    """A mask as an array of truth values."""
    mask = np.asarray(getattr(mask, "array", mask))
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}. To mend it, use mask.bool().")
    return mask


def in_range(index: Any, n: int, kind: type[Exception] = IndexError) -> Any:
    """The index itself, if it names none of more than n entries (-n counts as 0)."""
    if index.size and (index.max() >= n or index.min() < -n):
        bad = index[(index >= n) | (index < -n)].flat[0]
        raise kind(f"index out of range in self: index {bad} is out of bounds for dimension with size {n}.")
    return index


def index_along(name: str, x: Any, dim: int, index: Any, src: Any = None) -> Any:
    """The index of gather and scatter, which has as many axes as x and is nowhere larger."""
    index = indices_of(name, index)
    if max(index.ndim, 1) != max(x.ndim, 1) and index.size:
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor: it has {index.ndim}, not {x.ndim}.")
    for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=False)):
        if i != dim and n > m and index.size:
            raise RuntimeError(f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim}")
    n = x.shape[dim] if x.ndim else 1
    if index.size and (index.max() >= n or index.min() < 0):
        raise RuntimeError(f"index {index[(index >= n) | (index < 0)].flat[0]} is out of bounds for dimension {dim} with size {n}")
    return index if index.ndim or not x.ndim else index.reshape(1)


def scattering(name: str, x: Any, dim: int, index: Any, src: Any, reduce: str | None) -> Any:
    """The op, the other operands and the settings of scatter and scatter_add."""
    dim = normalize_one(dim, x.ndim)
    index = index_along(name, x, dim, index)
    if reduce not in (None, "add"):
        raise NotImplementedError(f"{name} with reduce={reduce!r} is not there; reduce='add' is.")
    if isinstance(src, ArrayMethods) and src.ndim:
        if src.dtype != x.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype: {x.dtype} and {src.dtype}.")
        if any(n > m for n, m in zip(index.shape, src.shape, strict=False)) and index.size:
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")
        if src.shape != index.shape:
            src = src[tuple(slice(0, n) for n in index.shape)]
    return ops.scatter if reduce is None else ops.scatter_add, (like(src, x),), {"index": index, "axis": dim}


def rows_of(name: str, x: Any, dim: int, index: Any, source: Any = None) -> Any:
    """The index (:, :, index) with `index` at axis dim."""
    dim, index = normalize_one(dim, x.ndim), indices_of(name, index)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not x.ndim:
        return (...,)
    index = in_range(index.reshape(-1), x.shape[dim], RuntimeError if name == "index_add" else IndexError)
    if name == "index_fill":
        index = np.unique(index)  # the value is written once, however often a place is named
    if source is not None:
        expected = (*x.shape[:dim], len(index), *x.shape[dim + 1 :])
        if tuple(source.shape) != expected and not (source.ndim == 0 and x.ndim == 1 and len(index) == 1):
            raise (IndexError if name == "index_copy" else RuntimeError)(f"{name}(): Number of indices ({len(index)}) should be equal to source.size(dim), and the other sizes to those of self: self {list(x.shape)}, dim {dim}, source {list(source.shape)}")
    return (*(slice(None),) * dim, index)


def masked(x: Any, mask: Any) -> Any:
    """The entries of x where the mask, broadcast with it, is true."""
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise RuntimeError(f"masked_select: the mask, {tuple(mask.shape)}, and the tensor, {tuple(x.shape)}, cannot be broadcast to one shape (the size of tensor a must match the size of tensor b).") from None
    return (x if x.shape == shape else x.expand(shape))[np.broadcast_to(mask, shape)]


def masked_source(x: Any, mask: Any, source: Any) -> Any:
    """What masked_scatter writes, and where."""
    mask = np.broadcast_to(mask_of("masked_scatter", mask), x.shape)
    n = int(mask.sum())
    if source.numel() < n:
        raise RuntimeError(f"masked_scatter: expected source to have at least {n} elements, one for each true entry of the mask, but it has {source.numel()}")
    return source.reshape(-1)[:n], (mask,)


def part(shape: tuple[int, ...], dim: int, which: Any) -> Any:
    """The index that takes `which` along one axis and everything along the others."""
    return (*(slice(None),) * normalize_one(dim, len(shape)), which)


def taken_along(x: Any, indices: Any, dim: int | None) -> Any:
    """take_along_dim: a gather whose index is broadcast with x."""
    indices = indices_of("take_along_dim", indices)
    if dim is None:
        return taken_along(x.reshape(-1), indices.reshape(-1), 0)
    dim = normalize_one(dim, x.ndim)
    if indices.ndim != x.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {x.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    rest = np.broadcast_shapes(*(tuple(1 if i == dim else n for i, n in enumerate(s)) for s in (x.shape, indices.shape)))
    wide = [tuple(s[dim] if i == dim else n for i, n in enumerate(rest)) for s in (x.shape, indices.shape)]
    return x.expand(wide[0]).gather(dim, np.broadcast_to(indices, wide[1]))


def matrices(name: str, x: Any, y: Any, x_ndim: int, y_ndim: int) -> tuple[Any, Any]:
    """The two factors, if they have the number of axes that this product asks for."""
    if x.ndim != x_ndim or y.ndim != y_ndim:
        words = {1: "vector", 2: "matrix", 3: "3D tensor"}
        which = ("self", x_ndim, x) if x.ndim != x_ndim else ("mat2", y_ndim, y)
        raise RuntimeError(
            f"{name}: {which[0]} must be a {words[which[1]]}, {which[1]}D tensor expected, but got a {which[2].ndim}D tensor of shape {tuple(which[2].shape)}."
        )
    if name == "dot" and x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.numel()}] and src [{y.numel()}] to have the same number of elements, but got {x.numel()} and {y.numel()} elements respectively")
    if x_ndim == 3 and x.shape[0] != y.shape[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: [{y.shape[0]}, {y.shape[1]}].")
    return x, y


def matrix(x: Any, name: str) -> Any:
    if x.ndim != 2:
        raise RuntimeError(f"{name}: expected a matrix, but got tensor with dim {x.ndim}")
    return x


def outer(x: Any, y: Any) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {x.ndim}-D and {y.ndim}-D")
    return x.unsqueeze(1) * y


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over pairs of axes of a and b: one matrix product of rearranged arrays."""
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and not more than the axes of a or b, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    of_a, of_b = ([normalize_one(i, x.ndim) for i in (d.tolist() if hasattr(d, "tolist") else [d] if isinstance(d, int) else d)] for x, d in zip((a, b), dims, strict=True))
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(of_a, of_b, strict=True):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    left = [i for i in range(a.ndim) if i not in of_a]
    right = [j for j in range(b.ndim) if j not in of_b]
    shape = tuple(a.shape[i] for i in left) + tuple(b.shape[j] for j in right)
    n = 1
    for i in of_a:
        n *= a.shape[i]
    rows, columns = (max(x.numel() // n, 0) if n else int(np.prod([x.shape[i] for i in d])) for x, d in ((a, left), (b, right)))
    return ops.mm.apply(a.permute(*left, *of_a).reshape(rows, n), b.permute(*of_b, *right).reshape(n, columns)).reshape(shape)


def viewed(x: Any, shape: tuple[Any, ...]) -> Any:
    """x.view(2, 3), x.view((2, 3)); and x.view(dtype), which reads the same bytes as other numbers."""
    if len(shape) == 1 and isinstance(shape[0], (np.dtype, type)):
        return type(x)(x.memory().view(shape[0]))
    return ops.view.apply(x, shape=sizes(shape))


def at_most_2d(x: Any) -> Any:
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D. To mend it, use x.mT, or x.permute(...).")
    return ops.permute.apply(x, axes=tuple(range(x.ndim)))


def at_least_2d(name: str, x: Any) -> Any:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return x


def axis_of(name: str, x: Any, axis: int) -> int:
    if x.ndim <= axis:
        raise RuntimeError(f"Input must be >= {axis + 1}-d.")
    return axis


def unflattened(shape: tuple[int, ...], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with one axis made several."""
    dim = normalize_one(dim, len(shape))
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    if -1 in sizes and known:
        sizes = tuple(shape[dim] // known if n == -1 else n for n in sizes)
        known *= shape[dim] // known
    if known != shape[dim]:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor")
    return (*shape[:dim], *sizes, *shape[dim + 1 :])


def moved(ndim: int, source: Any, destination: Any) -> tuple[int, ...]:
    """The permutation that brings some axes to other places, the rest keeping their order."""
    source, destination = ((normalize(s, ndim) if isinstance(s, Sequence) else (normalize_one(s, ndim),)) for s in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)")
    axes = [i for i in range(ndim) if i not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        axes.insert(to, axis)
    return tuple(axes)


def flipped(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return normalize(dims, ndim) if dims and ndim else ()


def rolled(x: Any, shifts: Any, dims: Any) -> Any:
    """As np.roll; shifts and dims are numbers or equally many of them."""
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return ops.roll.apply(x, shift=shifts if isinstance(shifts, int) else int(shifts[0]))
    shifts, dims = ((s,) if isinstance(s, int) else tuple(s) for s in (shifts, dims))
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return ops.roll.apply(x, shift=shifts, axis=tuple(normalize_one(d, x.ndim) for d in dims))


def rotated(x: Any, k: int, dims: Any) -> Any:
    """Quarter turns from the first of two axes to the second."""
    a, b = (normalize_one(d, x.ndim) for d in dims)
    if k == 0:
        return x.clone()
    if k == 2:
        return x.flip(a, b)
    return x.flip(b).transpose(a, b) if k == 1 else x.flip(a).transpose(a, b)


def tiles(name: str, repeats: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    if len(repeats) < ndim:
        raise RuntimeError(f"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: {len(repeats)} and {ndim}")
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"{name}: Trying to create tensor with negative dimension: repeats {list(repeats)}")
    return repeats


def repeated(x: Any, repeats: Any, dim: int | None) -> Any:
    """Each entry along dim repeated, next to itself."""
    if dim is None:
        return repeated(x.reshape(-1), repeats, 0)
    dim = normalize_one(dim, x.ndim)
    n = x.shape[dim] if x.ndim else 1
    counts = np.asarray(getattr(repeats, "array", repeats))
    if counts.dtype.kind not in "iu":
        raise RuntimeError("repeats must be int32 or int64")
    if counts.size not in (1, n) or counts.ndim > 1:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({dim}) = {n}")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return (x if x.ndim else x.reshape(1)).index_select(dim, np.repeat(np.arange(n), counts))


def narrowed(shape: tuple[int, ...], dim: int, start: int, length: int) -> Any:
    """The index of `length` entries along dim, from `start` on."""
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = normalize_one(dim, len(shape))
    n = shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n if start < 0 else 0
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return part(shape, dim, slice(start, start + length))


def selected(shape: tuple[int, ...], dim: int, index: Any) -> Any:
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = normalize_one(dim, len(shape)), int(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return part(shape, dim, index)


def pieces(n: int, size: Any) -> list[int]:
    """The sizes of the pieces of split: given, or all equal but for the last."""
    if not isinstance(size, (int, np.integer)):
        return list(size)
    if size < 0 or (size == 0 and n):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    return [int(min(size, n - i)) for i in range(0, n, size)] if n else [0]


def chunked(n: int, chunks: int) -> list[int]:
    """The sizes of at most so many chunks, all equal but for the last."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return pieces(n, -(-n // chunks)) if n else [0] * chunks


def cut(name: str, x: Any, dim: int, lengths: list[int]) -> Any:
    """x in pieces of these lengths along dim; each is a view."""
    if not x.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    dim = normalize_one(dim, x.ndim)
    if sum(lengths) != x.shape[dim] or any(n < 0 for n in lengths):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {x.shape[dim]} (input tensor's size at dimension {dim}), but got split_sizes={lengths}")
    starts = np.cumsum([0, *lengths]).tolist()
    words = {"split": "Split", "chunk": "Split", "split_with_sizes": "SplitWithSizes"}
    return one_of_many(words[name], [x[part(x.shape, dim, slice(a, a + n))] for a, n in zip(starts, lengths, strict=False)])


def one_of_many(name: str, views: list[Any]) -> Any:
    """The views that one call returned: PyTorch lets nobody write to them, and nor does minigrad."""
    for k, z in enumerate(views):
        if getattr(z, "origin", "no view") is None:
            z.origin = ("many", name, k)
    return tuple(views)


def split_at(x: Any, where: Any, dim: int) -> Any:
    """tensor_split: at given places, or in so many parts of nearly equal size."""
    if not x.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = normalize_one(dim, x.ndim)
    where = where.tolist() if hasattr(where, "tolist") else where
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        least, more = divmod(x.shape[dim], where)
        where = np.cumsum([least + (i < more) for i in range(where)]).tolist()[:-1]
    return tuple([x[part(x.shape, dim, slice(a, b))] for a, b in zip((0, *where), (*where, None), strict=True)])


def windows(shape: tuple[int, ...], dim: int, size: int, step: int) -> int:
    dim = normalize_one(dim, len(shape))
    n = shape[dim] if shape else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return dim


def two_axes(ndim: int, dim1: int, dim2: int) -> dict[str, int]:
    a, b = normalize_one(dim1, ndim), normalize_one(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return {"axis0": a, "axis1": b}


def diag(x: Any, offset: int) -> Any:
    """The diagonal of a matrix; or the matrix with this diagonal."""
    if x.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
    return diag_embed(x, offset, 0, 1) if x.ndim == 1 else x.diagonal(offset).clone()


def diag_embed(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """The matrices with the last axis of x on their diagonal."""
    axes = two_axes(x.ndim + 1, dim1, dim2)
    shape = list(x.shape[:-1])
    for axis in sorted(axes.values()):
        shape.insert(axis, x.shape[-1] + abs(offset))
    return ops.put_diagonal.apply(x, shape=tuple(shape), offset=offset, **axes)


def unknown_function(name: str, kwargs: dict[str, Any]) -> str:
    """The error for a NumPy function that has no op, with the nearest that does."""
    known = sorted({f.__name__ for f in (*BY_NUMPY, *NUMPY_FUNCTIONS)})
    if name in known:
        return (
            f"np.{name} of a tensor does not take {', '.join(kwargs)}. Use the tensor's own method."
        )
    near = difflib.get_close_matches(name, known, 3)
    hint = (
        f" Did you mean np.{' or np.'.join(near)}?" if near else f" Known are: {', '.join(known)}."
    )
    return f"np.{name} is not an operation of tensors.{hint} For its value alone, use x.detach().numpy()."


def values_only(arguments: Any) -> Any:
    """The arguments with arrays in place of tensors."""
    if isinstance(arguments, ArrayMethods):
        return np.asarray(arguments.array)
    if isinstance(arguments, (list, tuple)):
        return type(arguments)([values_only(a) for a in arguments])
    if isinstance(arguments, dict):
        return {name: values_only(a) for name, a in arguments.items()}
    return arguments


# Questions about values, whose answers nobody differentiates: asked of the arrays.
NUMPY_QUESTIONS = {
    np.allclose, np.array2string, np.array_equal, np.array_equiv, np.array_repr, np.array_str,
    np.bincount, np.can_cast, np.histogram, np.isclose, np.isin, np.may_share_memory, np.nonzero,
    np.result_type, np.save, np.savetxt, np.savez, np.shares_memory, np.unique,
}  # fmt: skip

NUMPY_FUNCTIONS: dict[Any, Any] = {
    np.sum: lambda a, axis=None, keepdims=False, dtype=None: a.sum(
        axis=axis, keepdims=keepdims, dtype=dtype
    ),
    np.mean: lambda a, axis=None, keepdims=False: a.mean(axis=axis, keepdims=keepdims),
    np.max: lambda a, axis=None, keepdims=False: a.amax(axis=axis, keepdims=keepdims),
    np.min: lambda a, axis=None, keepdims=False: a.amin(axis=axis, keepdims=keepdims),
    np.argmax: lambda a, axis=None: a.argmax(axis=axis),
    np.argmin: lambda a, axis=None: a.argmin(axis=axis),
    np.all: lambda a, axis=None, keepdims=False: a.all(axis=axis, keepdims=keepdims),
    np.any: lambda a, axis=None, keepdims=False: a.any(axis=axis, keepdims=keepdims),
    np.prod: lambda a, axis=None, keepdims=False: a.prod(axis, keepdims),
    np.var: lambda a, axis=None, ddof=0, keepdims=False: a.var(axis, correction=ddof, keepdim=keepdims),
    np.std: lambda a, axis=None, ddof=0, keepdims=False: a.std(axis, correction=ddof, keepdim=keepdims),
    np.cumsum: lambda a, axis=None: a.reshape(-1).cumsum(0) if axis is None else a.cumsum(axis),
    np.cumprod: lambda a, axis=None: a.reshape(-1).cumprod(0) if axis is None else a.cumprod(axis),
    np.sort: lambda a, axis=-1: a.reshape(-1).sort().values if axis is None else a.sort(axis).values,
    np.argsort: lambda a, axis=-1: a.reshape(-1).argsort() if axis is None else a.argsort(axis),
    np.diff: lambda a, n=1, axis=-1: a.diff(n, axis),
    np.linalg.norm: lambda x, ord=None, axis=None, keepdims=False: x.norm(ord, axis, keepdims),
    np.round: lambda a, decimals=0: a.round(decimals=decimals),
    np.clip: lambda a, a_min=None, a_max=None: a.clamp(a_min, a_max),
    np.nan_to_num: lambda x, nan=0.0, posinf=None, neginf=None: x.nan_to_num(nan, posinf, neginf),
    np.ones_like: lambda a: ops.zeros_like(a) + 1,
    np.reshape: lambda a, shape: a.reshape(shape),
    np.ravel: lambda a: a.reshape(-1),
    np.transpose: lambda a, axes=None: a.T if axes is None else a.permute(axes),
    np.swapaxes: lambda a, axis1, axis2: a.transpose(axis1, axis2),
    np.expand_dims: lambda a, axis: a.unsqueeze(axis),
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.broadcast_to: lambda a, shape: a.expand(shape),
    np.concatenate: lambda arrays, axis=0: ops.cat(*arrays, axis=axis),
    np.stack: lambda arrays, axis=0: ops.stack(*arrays, axis=axis),
    np.where: lambda condition, x, y: ops.where(condition, x, y),
    np.zeros_like: lambda a: ops.zeros_like(a),
    np.einsum: lambda equation, *xs: ops.einsum(*xs, equation=ops.explicit(equation, tuple(x.ndim for x in xs))),
    np.tensordot: tensordot,
    np.outer: outer,
    np.inner: lambda a, b: a.inner(b),
    np.trace: lambda a: a.trace(),
    np.take: lambda a, indices, axis=None: a.take(indices) if axis is None else a.index_select(axis, indices),
    np.take_along_axis: lambda arr, indices, axis=-1: arr.take_along_dim(indices, axis),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    np.diag: lambda v, k=0: v.diag(k),
    np.tril: lambda m, k=0: m.tril(k),
    np.triu: lambda m, k=0: m.triu(k),
    np.flip: lambda m, axis=None: m.flip(tuple(range(m.ndim)) if axis is None else axis),
    np.roll: lambda a, shift, axis=None: a.roll(shift, axis),
    np.rot90: lambda m, k=1, axes=(0, 1): m.rot90(k, axes),
    np.tile: lambda A, reps: A.tile(reps),
    np.repeat: lambda a, repeats, axis=None: a.repeat_interleave(repeats, axis),
    np.moveaxis: lambda a, source, destination: a.movedim(source, destination),
    np.vstack: lambda tup: ops.cat(*[a if a.ndim > 1 else a.reshape(1, -1) for a in tup], axis=0),
    np.hstack: lambda tup: ops.cat(*tup, axis=0 if tup[0].ndim == 1 else 1),
    np.split: lambda ary, indices_or_sections, axis=0: ary.tensor_split(indices_or_sections, axis),
    np.copy: lambda a: a.clone(),
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.numel(),
}
