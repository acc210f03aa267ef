"""Elementwise functions: x.exp() returns the exponential of each entry; x.exp_() writes it into x."""

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import (
    check_real,
    common_dtype,
    exact_number,
    get_default_dtype,
    torch_name,
)
from minigrad.core.errors import wrong_kind
from minigrad.core.modes import seen
from minigrad.core.shapes import Array
from minigrad.methods.base import Base, Operand, T, broadcast, numbers_of_tensor
from minigrad.methods.operators import Operators
from minigrad.methods.writing import Writing
from minigrad.ops.composites import level, named
from minigrad.return_types import frexp as pair


class Entries(Operators, Writing):
    """Elementwise methods."""

    __slots__ = ()

    def __round__(self, ndigits: int = 0) -> Self: return self.round(decimals=ndigits or 0)

    def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Self:
        """The entries limited to the range from min to max, which are numbers or broadcast tensors.

        You can leave one of them out. The gradient of a clamped entry is 0.

        >>> minigrad.tensor([-2.0, 0.5, 2.0]).clamp(-1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
        """
        if min is None and max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        if max is None:
            z = ops.clamp_min.apply(self, min)
            return named(z, "ClampBackward0", ops.clamp_min) if isinstance(min, Base) else z
        if min is None:
            z = ops.clamp_max.apply(self, max)
            return named(z, "ClampBackward0", ops.clamp_max) if isinstance(max, Base) else z
        z = ops.clamp.apply(self, min, max)
        return named(z, "ClampBackward0", ops.clamp) if isinstance(min, Base) or isinstance(max, Base) else z

    def clamp_min(self, min: Operand) -> Self:
        """The larger of each entry and min. The gradient of a clamped entry is 0.

        >>> minigrad.tensor([-2.0, 0.5]).clamp_min(0)
        tensor([0.0000, 0.5000])
        """
        return named(ops.clamp_min.apply(self, min), f"ClampMinBackward{int(isinstance(min, Base))}", ops.clamp_min)

    def clamp_max(self, max: Operand) -> Self:
        """The smaller of each entry and max. The gradient of a clamped entry is 0.

        >>> minigrad.tensor([-2.0, 0.5]).clamp_max(0)
        tensor([-2.,  0.])
        """
        return named(ops.clamp_max.apply(self, max), f"ClampMaxBackward{int(isinstance(max, Base))}", ops.clamp_max)

    def positive(self) -> Self:
        """+x: the tensor itself. Raises RuntimeError for booleans.

        >>> minigrad.tensor([1.0, -2.0]).positive()
        tensor([ 1., -2.])
        """
        if self.dtype.kind == "b":
            raise RuntimeError("The `+` operator, on a bool tensor is not supported. To fix it, convert it: x.int().")
        return self

    def round(self, *, decimals: int = 0) -> Self:
        """Each entry rounded to the nearest integer, with halves rounded to even. The gradient is 0.

        decimals   the number of decimal places to keep; negative: round to tens, hundreds, ...

        >>> minigrad.tensor([0.5, 1.5, 2.26]).round()
        tensor([0., 2., 2.])
        >>> minigrad.tensor([2.26]).round(decimals=1)
        tensor([2.3000])
        """
        return ops.round.apply(self, decimals=decimals)

    def frac(self) -> Self:
        """The fractional part: x - x.trunc(). It has the sign of x.

        >>> minigrad.tensor([1.5, -2.25]).frac()
        tensor([ 0.5000, -0.2500])
        """
        return named(self - self.trunc(), "FracBackward0")

    def logit(self, eps: float | None = None) -> Self:
        """log(x / (1 - x)), the inverse of sigmoid, for x between 0 and 1.

        eps   clamp x to [eps, 1 - eps] first, so that the result is finite

        >>> minigrad.tensor([0.0, 0.5, 1.0]).logit()
        tensor([-inf, 0., inf])
        """
        return ops.logit.apply(self, eps=eps)

    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Self:
        """x with `nan` in place of NaN, `posinf` in place of inf, `neginf` in place of -inf.

        By default, posinf and neginf are the largest and smallest numbers of the dtype.
        The gradient of a replaced entry is 0.

        >>> x = minigrad.tensor([1.0, float("nan"), float("inf")])
        >>> x.nan_to_num(posinf=9)
        tensor([1., 0., 9.])
        """
        if self.dtype.kind not in "fc":
            return self.clone()
        dtype = self.array.dtype
        most = np.finfo(dtype).max
        high = most if posinf is None else exact_number(posinf, dtype)
        low = -most if neginf is None else exact_number(neginf, dtype)
        return ops.nan_to_num.apply(self, nan=exact_number(0.0 if nan is None else nan, dtype), posinf=high, neginf=low)

    def deg2rad(self) -> Self:
        """x converted from degrees to radians: x * pi / 180.

        >>> minigrad.tensor([0.0, 90.0, 180.0]).deg2rad()
        tensor([0.0000, 1.5708, 3.1416])
        """
        check_real(self.dtype, "deg2rad is not supported for complex tensors.")
        return named(ops.mul.apply(self, np.pi / 180), "Deg2RadBackward0")

    def rad2deg(self) -> Self:
        """x converted from radians to degrees: x * 180 / pi.

        >>> minigrad.tensor([0.0, minigrad.pi]).rad2deg().round()
        tensor([  0., 180.])
        """
        check_real(self.dtype, "rad2deg is not supported for complex tensors.")
        return named(ops.mul.apply(self, 180 / np.pi), "Rad2DegBackward0")

    def copysign(self, other: Operand) -> Self:
        """abs(x) with the sign of other, a number or a tensor broadcast with x. -0.0 counts as negative.

        At x = 0 the gradient is 0.

        >>> minigrad.tensor([1.0, -2.0]).copysign(-1)
        tensor([-1., -2.])
        """
        for x in (self, other):
            if isinstance(x, Base) and x.dtype.kind == "c":
                raise wrong_kind("copysign", [torch_name(x.dtype)])
        floats = self.dtype.kind == "f" or (isinstance(other, Base) and other.dtype.kind == "f")
        size = self if floats else self.to(get_default_dtype())
        size = size if size.dtype.kind == "b" else size.abs()
        if not isinstance(other, Base):
            number: Any = other
            return named(-size if np.signbit(float(number)) else size, "CopysignBackward1")
        sign = other._constant(np.where(np.signbit(seen(other)), -1, 1).astype(other.dtype))
        z: Any = size * sign
        if other.requires_grad:  # type: ignore[attr-defined]  # its gradient is 0
            z = level(other, z)
        return named(z, "CopysignBackward0")


    # ------------------------------------------------------------------ gamma functions

    def polygamma(self, n: int) -> Self:
        """The n-th derivative of digamma, for each entry. n is a non-negative integer.

        >>> minigrad.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449])
        """
        if n < 0:
            raise RuntimeError("polygamma(n, x) does not support negative n.")
        return ops.polygamma.apply(self, order=int(n))

    def mvlgamma(self, p: int) -> Self:
        """The logarithm of the multivariate gamma function of dimension p, for entries greater than (p - 1) / 2.

        With p=1 it is lgamma. The densities of matrix distributions such as Wishart's use it.

        Source: Ingham (1933).

        >>> minigrad.tensor([1.0, 2.0]).mvlgamma(1)
        tensor([0., 0.])
        """
        if self.dtype.kind == "b":
            raise RuntimeError("The input tensor may not be a boolean tensor.")
        if p < 1:
            raise RuntimeError("p has to be greater than or equal to 1")
        shifts = self._constant(np.arange(p) / -2).to(self.dtype if self.dtype.kind == "f" else np.float32)
        z = ops.lgamma.apply(self.unsqueeze(-1) + shifts).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
        return named(z, "MvlgammaBackward0")

    # ------------------------------------------------------------------ powers of two, divisors

    def ldexp(self, other: Any) -> Self:
        """x * 2 ** other.

        >>> minigrad.tensor([1.0, 3.0]).ldexp(minigrad.tensor([2, -1]))
        tensor([4.0000, 1.5000])
        """
        if not isinstance(other, Base) or other.dtype.kind not in "iu":
            return named(self * 2.0**other, "LdexpBackward0")
        x = self if self.dtype.kind in "fc" else self.to(get_default_dtype())
        exponent: Any = other
        half = exponent // 2  # in two steps, because 2 ** other alone may overflow
        return named(x * 2.0 ** half.to(x.dtype) * 2.0 ** (exponent - half).to(x.dtype), "LdexpBackward0")

    def frexp(self) -> Any:
        """A tuple (mantissa, exponent) with x = mantissa * 2 ** exponent and abs(mantissa) from 1/2 to 1.

        The exponents are int32. Raises RuntimeError for integer tensors.

        >>> mantissa, exponent = minigrad.tensor([3.0, 8.0]).frexp()
        >>> mantissa
        tensor([0.7500, 0.5000])
        >>> exponent
        tensor([2, 4], dtype=minigrad.int32)
        """
        if self.dtype.kind != "f":
            raise RuntimeError("torch.frexp() only supports floating-point dtypes")
        exponent = np.frexp(seen(self))[1]
        half, one = exponent // 2, np.ones((), self.dtype)  # in two steps, as in ldexp
        mantissa = self * self._constant(np.ldexp(one, -half)) * self._constant(np.ldexp(one, half - exponent))
        return pair(named(mantissa, "FrexpBackward0"), self._constant(exponent))

    def gcd(self, other: Self) -> Self:
        """The greatest common divisor of the entries of x and other, two integer tensors that are broadcast.

        >>> minigrad.tensor([12, 7]).gcd(minigrad.tensor([18, 21]))
        tensor([6, 7])
        """
        return whole(self, np.gcd, other)

    def lcm(self, other: Self) -> Self:
        """The least common multiple of the entries of x and other, two integer tensors that are broadcast.

        >>> minigrad.tensor([4, 6]).lcm(minigrad.tensor([6, 6]))
        tensor([12,  6])
        """
        return whole(self, np.lcm, other)

    # ------------------------------------------------------------------ piecewise linear functions

    def hardshrink(self, lambd: float = 0.5) -> Self:
        """x, with entries from -lambd to lambd replaced by 0.

        >>> minigrad.tensor([-1.0, 0.25, 2.0]).hardshrink()
        tensor([-1.,  0.,  2.])
        """
        return ops.hardshrink.apply(self, lambd=lambd)

    def prelu(self, weight: Self) -> Self:
        """x where x > 0, else weight * x: a relu with a learned slope for negative entries.

        weight   one number, or one for each channel (axis 1)

        >>> minigrad.tensor([-2.0, 3.0]).prelu(minigrad.tensor([0.25]))
        tensor([-0.5000,  3.0000])
        """
        if weight.ndim > 1:
            raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
        if self.dtype != weight.dtype:
            raise RuntimeError(f"prelu: Type promoting not supported. Got {torch_name(self.dtype)} and {torch_name(weight.dtype)}. To fix it, write  x.to(weight.dtype).")
        channels = self.shape[1] if self.ndim > 1 else 1
        if weight.numel() not in (1, channels):
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and channel size = {channels}.")
        slope = weight.reshape((1, -1, *(1,) * (self.ndim - 2)) if self.ndim > 1 else ())
        return ops.prelu_kernel.apply(self, slope)

    # ------------------------------------------------------------------ your own functions

    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each entry by callable(entry). Slow, and not recorded. Returns the tensor itself.

        >>> minigrad.tensor([1.0, 2.0]).apply_(lambda v: v + 10)
        tensor([11., 12.])
        """
        return self.copy_(of_each_entry("apply_", callable, self))

    def map_(self, other: Self, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each entry by callable(entry, entry of other). Slow, and not recorded. Returns the tensor itself.

        >>> minigrad.tensor([1.0, 2.0]).map_(minigrad.tensor([3.0, 4.0]), lambda a, b: a * b)
        tensor([3., 8.])
        """
        return self.copy_(of_each_entry("map_", callable, self, other))

    def map2_(self, x: Self, y: Self, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Like map_, with two other tensors: each entry becomes callable(entry, entry of x, entry of y).

        >>> minigrad.zeros(2).map2_(minigrad.tensor([1.0, 2.0]), minigrad.tensor([5.0, 6.0]), lambda z, a, b: z + a * b)
        tensor([ 5., 12.])
        """
        return self.copy_(of_each_entry("map2_", callable, self, x, y))


def whole(x: T, function: Callable[..., Array], other: Base) -> T:
    """The result of a function that is defined for integers only, such as gcd."""
    with_axes, without = ([y.array.dtype for y in (x, other) if (y.ndim > 0) is axes] for axes in (True, False))
    dtype = common_dtype(with_axes, without, ())
    if dtype.kind not in "iu":
        raise NotImplementedError(f'"{function.__name__}_cpu" not implemented for {torch_name(dtype)!r}: it takes integers.')
    broadcast(function.__name__, x.shape, other.shape)
    return x._constant(function(seen(x).astype(dtype), numbers_of_tensor(other).astype(dtype)))


def of_each_entry(name: str, function: Callable[..., float], x: T, *others: Any) -> T:
    """function(entry, ...) for each entry of x and the matching entries of the others, broadcast to x. The result has x's dtype."""
    if any(isinstance(y, Base) and y.requires_grad for y in (x, *others)):  # type: ignore[attr-defined]
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    lists = [y.expand(x.shape).array.ravel().tolist() for y in (x, *others)]
    results = [function(*entries) for entries in zip(*lists)]
    for z in results:
        if not isinstance(z, (int, float, complex, np.generic)):
            raise TypeError(f"{name}(): the function must return a number for each entry, but returned {type(z).__name__}.")
    return x._constant(np.array(results, x.dtype).reshape(x.shape))
