"""Functions of an entry: x.exp() is the exponential of each entry, x.exp_() writes it over x."""

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import exact_number
from minigrad.core.op import Op
from minigrad.methods.base import Base, Operand
from minigrad.methods.operators import Operators
from minigrad.ops import composites


class Entries(Operators):
    """What is done to each entry by itself."""

    __slots__ = ()

    def __round__(self, ndigits: int = 0) -> Self: return self.round(decimals=ndigits or 0)
    def __floor__(self) -> Self: return self.floor()
    def __ceil__(self) -> Self: return self.ceil()
    def __trunc__(self) -> Self: return self.trunc()

    def clamp(self, min: Operand = None, max: Operand = None) -> Self:
        op, bounds = clamping(min, max)
        return op.apply(self, *bounds)

    def clamp_(self, min: Operand = None, max: Operand = None) -> Self:
        op, bounds = clamping(min, max)
        return op.apply_(self, *bounds)

    def clip(self, min: Operand = None, max: Operand = None) -> Self: return self.clamp(min, max)
    def clip_(self, min: Operand = None, max: Operand = None) -> Self: return self.clamp_(min, max)
    def clamp_min(self, min: Operand) -> Self: return ops.clamp_min.apply(self, min)
    def clamp_min_(self, min: Operand) -> Self: return ops.clamp_min.apply_(self, min)
    def clamp_max(self, max: Operand) -> Self: return ops.clamp_max.apply(self, max)
    def clamp_max_(self, max: Operand) -> Self: return ops.clamp_max.apply_(self, max)
    def neg(self) -> Self: return ops.neg.apply(self)
    def neg_(self) -> Self: return ops.neg.apply_(self)
    def positive(self) -> Self:
        if self.dtype.kind == "b":
            raise RuntimeError("The `+` operator, on a bool tensor is not supported. To fix it, convert it: x.int().")
        return self
    def abs(self) -> Self: return ops.abs.apply(self)
    def abs_(self) -> Self: return ops.abs.apply_(self)
    def sign(self) -> Self: return ops.sign.apply(self)
    def sign_(self) -> Self: return ops.sign.apply_(self)
    def square(self) -> Self: return ops.square.apply(self)
    def square_(self) -> Self: return ops.square.apply_(self)
    def sqrt(self) -> Self: return ops.sqrt.apply(self)
    def sqrt_(self) -> Self: return ops.sqrt.apply_(self)
    def exp(self) -> Self: return ops.exp.apply(self)
    def exp_(self) -> Self: return ops.exp.apply_(self)
    def log(self) -> Self: return ops.log.apply(self)
    def log_(self) -> Self: return ops.log.apply_(self)
    def sin(self) -> Self: return ops.sin.apply(self)
    def sin_(self) -> Self: return ops.sin.apply_(self)
    def cos(self) -> Self: return ops.cos.apply(self)
    def cos_(self) -> Self: return ops.cos.apply_(self)
    def tanh(self) -> Self: return ops.tanh.apply(self)
    def tanh_(self) -> Self: return ops.tanh.apply_(self)
    def sigmoid(self) -> Self: return ops.sigmoid.apply(self)
    def sigmoid_(self) -> Self: return ops.sigmoid.apply_(self)
    def relu(self) -> Self: return ops.relu.apply(self)
    def relu_(self) -> Self: return ops.relu.apply_(self)
    def reciprocal(self) -> Self: return ops.reciprocal.apply(self)
    def reciprocal_(self) -> Self: return ops.reciprocal.apply_(self)
    def rsqrt(self) -> Self: return ops.rsqrt.apply(self)
    def rsqrt_(self) -> Self: return ops.rsqrt.apply_(self)
    def exp2(self) -> Self: return ops.exp2.apply(self)
    def exp2_(self) -> Self: return ops.exp2.apply_(self)
    def expm1(self) -> Self: return ops.expm1.apply(self)
    def expm1_(self) -> Self: return ops.expm1.apply_(self)
    def log2(self) -> Self: return ops.log2.apply(self)
    def log2_(self) -> Self: return ops.log2.apply_(self)
    def log10(self) -> Self: return ops.log10.apply(self)
    def log10_(self) -> Self: return ops.log10.apply_(self)
    def log1p(self) -> Self: return ops.log1p.apply(self)
    def log1p_(self) -> Self: return ops.log1p.apply_(self)
    def tan(self) -> Self: return ops.tan.apply(self)
    def tan_(self) -> Self: return ops.tan.apply_(self)
    def asin(self) -> Self: return ops.asin.apply(self)
    def asin_(self) -> Self: return ops.asin.apply_(self)
    def acos(self) -> Self: return ops.acos.apply(self)
    def acos_(self) -> Self: return ops.acos.apply_(self)
    def atan(self) -> Self: return ops.atan.apply(self)
    def atan_(self) -> Self: return ops.atan.apply_(self)
    def sinh(self) -> Self: return ops.sinh.apply(self)
    def sinh_(self) -> Self: return ops.sinh.apply_(self)
    def cosh(self) -> Self: return ops.cosh.apply(self)
    def cosh_(self) -> Self: return ops.cosh.apply_(self)
    def asinh(self) -> Self: return ops.asinh.apply(self)
    def asinh_(self) -> Self: return ops.asinh.apply_(self)
    def acosh(self) -> Self: return ops.acosh.apply(self)
    def acosh_(self) -> Self: return ops.acosh.apply_(self)
    def atanh(self) -> Self: return ops.atanh.apply(self)
    def atanh_(self) -> Self: return ops.atanh.apply_(self)
    def erf(self) -> Self: return ops.erf.apply(self)
    def erf_(self) -> Self: return ops.erf.apply_(self)
    def erfc(self) -> Self: return ops.erfc.apply(self)
    def erfc_(self) -> Self: return ops.erfc.apply_(self)
    def ceil(self) -> Self: return ops.ceil.apply(self)
    def ceil_(self) -> Self: return ops.ceil.apply_(self)
    def floor(self) -> Self: return ops.floor.apply(self)
    def floor_(self) -> Self: return ops.floor.apply_(self)
    def trunc(self) -> Self: return ops.trunc.apply(self)
    def trunc_(self) -> Self: return ops.trunc.apply_(self)
    def arcsin(self) -> Self: return ops.asin.apply(self)
    def arccos(self) -> Self: return ops.acos.apply(self)
    def arctan(self) -> Self: return ops.atan.apply(self)
    def arcsinh(self) -> Self: return ops.asinh.apply(self)
    def arccosh(self) -> Self: return ops.acosh.apply(self)
    def arctanh(self) -> Self: return ops.atanh.apply(self)
    def round(self, *, decimals: int = 0) -> Self: return ops.round.apply(self, decimals=decimals)
    def round_(self, *, decimals: int = 0) -> Self: return ops.round.apply_(self, decimals=decimals)
    def fix(self) -> Self: return ops.trunc.apply(self)
    def frac(self) -> Self: return self - self.trunc()
    def absolute(self) -> Self: return ops.abs.apply(self)
    def negative(self) -> Self: return ops.neg.apply(self)
    def sgn(self) -> Self: return ops.sign.apply(self)

    def logit(self, eps: Any = None) -> Self:
        x = self / 1 if self.dtype.kind in "biu" else self
        x = x if eps is None else x.clamp(eps, 1 - eps)
        return (x / (1 - x)).log()

    def nan_to_num(self, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Self: return numbers_only(self, nan, posinf, neginf)
    def deg2rad(self) -> Self: return self * (np.pi / 180)
    def rad2deg(self) -> Self: return self * (180 / np.pi)
    def sinc(self) -> Self: return sinc(self)
    def copysign(self, other: Operand) -> Self: return with_sign(self, other)

    # the other names, in place

    def absolute_(self) -> Self: return self.abs_()
    def negative_(self) -> Self: return self.neg_()
    def arcsin_(self) -> Self: return self.asin_()
    def arccos_(self) -> Self: return self.acos_()
    def arctan_(self) -> Self: return self.atan_()
    def arcsinh_(self) -> Self: return self.asinh_()
    def arccosh_(self) -> Self: return self.acosh_()
    def arctanh_(self) -> Self: return self.atanh_()
    def fix_(self) -> Self: return self.trunc_()
    def sgn_(self) -> Self: return self.sign_()
    def frac_(self) -> Self: return self.copy_(self.frac())
    def logit_(self, eps: Any = None) -> Self: return self.copy_(self.clone().logit(eps))
    def nan_to_num_(self, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Self: return self.copy_(self.nan_to_num(nan, posinf, neginf))
    def deg2rad_(self) -> Self: return self.mul_(np.pi / 180)
    def rad2deg_(self) -> Self: return self.mul_(180 / np.pi)
    def heaviside_(self, values: Operand) -> Self: return self.copy_(self.heaviside(values))
    def copysign_(self, other: Operand) -> Self: return self.copy_(self.clone().copysign(other))
    def sinc_(self) -> Self: return self.copy_(self.clone().sinc())

    # ------------------------------------------------------------------ gamma and its kin

    def lgamma(self) -> Self: return ops.lgamma.apply(self)
    def lgamma_(self) -> Self: return ops.lgamma.apply_(self)
    def digamma(self) -> Self: return ops.digamma.apply(self)
    def digamma_(self) -> Self: return ops.digamma.apply_(self)
    def polygamma(self, n: int) -> Self: return ops.polygamma.apply(self, order=order(n))
    def polygamma_(self, n: int) -> Self: return ops.polygamma.apply_(self, order=order(n))
    def erfinv(self) -> Self: return ops.erfinv.apply(self)
    def erfinv_(self) -> Self: return ops.erfinv.apply_(self)
    def mvlgamma(self, p: int) -> Self: return mvlgamma(self, p)
    def mvlgamma_(self, p: int) -> Self: return self.copy_(self.clone().mvlgamma(p))

    # ------------------------------------------------------------------ powers of two, common divisors

    def logaddexp2(self, other: Operand) -> Self: return ops.logaddexp2.apply(self, other)
    def ldexp(self, other: Operand) -> Self: return self * 2.0**other
    def ldexp_(self, other: Operand) -> Self: return self.copy_(self.clone().ldexp(other))
    def frexp(self) -> Any: return frexp(self)
    def gcd(self, other: Self) -> Self: return whole(self, np.gcd, other)
    def gcd_(self, other: Self) -> Self: return self.copy_(self.gcd(other))
    def lcm(self, other: Self) -> Self: return whole(self, np.lcm, other)
    def lcm_(self, other: Self) -> Self: return self.copy_(self.lcm(other))

    # ------------------------------------------------------------------ bent lines

    def hardshrink(self, lambd: Any = 0.5) -> Self: return without_small(self, lambd)
    def prelu(self, weight: Self) -> Self: return composites.prelu(self, weight)

    # ------------------------------------------------------------------ functions of the caller's

    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Put callable(entry) in the place of each entry: slow, and not recorded."""
        constant("apply_", self)
        entries = [callable(v) for v in self.array.ravel().tolist()]
        return self.copy_(self._constant(np.array(entries, self.dtype).reshape(self.shape)))

    def map_(self, other: Self, callable: Callable[[Any, Any], Any]) -> Self:
        """Put callable(entry, entry of other) in the place of each entry: slow, and not recorded."""
        constant("map_", self, other)
        pairs = zip(self.array.ravel().tolist(), np.broadcast_to(other.array, self.shape).ravel().tolist())
        entries = [callable(a, b) for a, b in pairs]
        return self.copy_(self._constant(np.array(entries, self.dtype).reshape(self.shape)))


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
    most, array = np.finfo(x.dtype).max, x.array
    high = most if posinf is None else exact_number(posinf, x.dtype)
    low = -most if neginf is None else exact_number(neginf, x.dtype)
    for_nan = exact_number(0.0 if nan is None else nan, x.dtype)
    instead = np.where(np.isnan(array), for_nan, np.where(array > 0, high, low))
    return ops.where.apply(x._constant(np.isfinite(array)), x, x._constant(instead))


def sinc(x: Any) -> Any:
    """sin(pi * x) / (pi * x), and 1 at 0, where it is flat."""
    there = x._constant(x.array != 0)
    y = ops.where.apply(there, x, x._constant(x.dtype.type(1))) * np.pi
    return ops.where.apply(there, y.sin() / y, x._constant(y.dtype.type(1)))


def with_sign(x: Any, y: Any) -> Any:
    """abs(x) with the sign of y (a zero has one, too); at x = 0 the slope is taken as 0."""
    negative = np.signbit(getattr(y, "array", y))
    size = (x if x.dtype.kind == "f" else x.float()).abs()
    return ops.where.apply(negative, -size, size)


def without_small(x: Any, bound: Any) -> Any:
    """x with zeros in the place of what is no larger than the bound."""
    return x.masked_fill(x._constant(np.abs(np.asanyarray(x.array)) <= bound), 0)


def order(n: Any) -> int:
    """Which derivative of digamma is meant."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return int(n)


def mvlgamma(x: Any, p: int) -> Any:
    """The logarithm of the gamma function of p variables.

    Source: Ingham (1933); in densities of matrices, as Wishart's.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    shifts = x._constant(np.arange(p) / -2).to(x.dtype if x.dtype.kind == "f" else np.float32)
    return ops.lgamma.apply(x.unsqueeze(-1) + shifts).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def whole(x: Any, function: Any, other: Any) -> Any:
    """A function of whole numbers."""
    if x.dtype.kind not in "iu" or other.dtype.kind not in "iu":
        raise NotImplementedError(f'"{function.__name__}_cpu" not implemented for {str(x.dtype)!r}: it takes whole numbers.')
    return x._constant(function(x.array, other.array))


def frexp(x: Any) -> Any:
    """x as mantissa * 2**exponent, with a mantissa between 1/2 and 1."""
    from minigrad.return_types import frexp as pair

    if x.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = np.frexp(x.array)[1]
    return pair(x * x._constant(np.ldexp(np.ones((), x.dtype), -exponent)), x._constant(exponent))


def constant(name: str, *tensors: Any) -> None:
    if any(isinstance(x, Base) and x.requires_grad for x in tensors):  # type: ignore[attr-defined]
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
