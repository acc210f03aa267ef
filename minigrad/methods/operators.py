"""Elementwise operators and comparisons of two tensors.

x + y, x.add(y) and x += y run the same op. An operand can be a tensor, an array or a number.
"""

from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import check_real, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.shapes import Array
from minigrad.methods.base import (
    Base,
    Operand,
    broadcast,
    numbers_of_tensor,
    or_not_implemented,
    scaled,
)
from minigrad.methods.from_rows import FromRows
from minigrad.ops.composites import named


def are_close(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """Where abs(a - b) <= atol + rtol * abs(b), entry by entry."""
    if not (rtol or atol) and a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return a == b  # np.isclose rounds large integers
    return np.isclose(a, b, rtol, atol, equal_nan)


class Operators(FromRows):
    """Arithmetic, logic and comparisons."""

    __slots__ = ()

    # ------------------------------------------------------------------ arithmetic

    def __pos__(self) -> Self: return self.positive()

    def add(self, other: Operand, *older: Any, alpha: float = 1) -> Self:
        """x + alpha * other, entry by entry. `other` is a number or a tensor, broadcast with x.

        >>> minigrad.tensor([1.0, 2.0]).add(minigrad.tensor([10.0, 20.0]), alpha=2)
        tensor([21., 42.])
        """
        if older:
            other, alpha = number_last("add", "alpha", other, *older)
        return ops.add.apply(self, scaled(other, alpha, self))

    def sub(self, other: Operand, *older: Any, alpha: float = 1) -> Self:
        """x - alpha * other, entry by entry. `other` is a number or a tensor, broadcast with x.

        >>> minigrad.tensor([1.0, 2.0]).sub(1)
        tensor([0., 1.])
        """
        if older:
            other, alpha = number_last("sub", "alpha", other, *older)
        return ops.sub.apply(self, scaled(other, alpha, self, ops.sub))

    def div(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """x / other, entry by entry. `other` is a number or a tensor, broadcast with x.

        rounding_mode   None: true division, always a float; "trunc": rounded toward 0; "floor": rounded down

        >>> minigrad.tensor([7, -7]).div(2)
        tensor([ 3.5000, -3.5000])
        >>> minigrad.tensor([7, -7]).div(2, rounding_mode="floor")
        tensor([ 3, -4])
        """
        return ops.div.apply(self, other) if rounding_mode is None else ops.rounded_div.apply(self, other, rounding_mode=rounding_mode)

    def div_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """x /= other. `other` is a number or a tensor that broadcasts to the shape of x.

        rounding_mode   None, "trunc" or "floor", as in x.div()

        Writes the result into the tensor itself and returns it; x.div() returns a new tensor.
        Raises DtypeError for an integer tensor without a rounding_mode, and an error for a leaf
        that requires a gradient, unless recording is off.

        >>> minigrad.tensor([7, -7]).div_(2, rounding_mode="floor")
        tensor([ 3, -4])
        """
        return ops.div.apply_(self, other) if rounding_mode is None else ops.rounded_div.apply_(self, other, rounding_mode=rounding_mode)
    def __divmod__(self, other: Operand) -> tuple[Self, Self]: return self // other, self % other

    def rsub(self, other: Operand, *, alpha: float = 1) -> Self:
        """other - alpha * x: sub with the operands swapped.

        >>> minigrad.tensor([1.0, 2.0]).rsub(10)
        tensor([9., 8.])
        """
        z = ops.sub.apply(other, scaled(self, alpha, other))
        return named(z, f"RsubBackward{int(not isinstance(other, Base))}")

    def float_power(self, exponent: Operand) -> Self:
        """x ** exponent, computed in float64, so integers can have negative exponents.

        The result is always float64. The exponent is a number or a tensor, broadcast with x.

        >>> minigrad.tensor([1, 2, 4]).float_power(-1)
        tensor([1.0000, 0.5000, 0.2500], dtype=minigrad.float64)
        """
        z = ops.pow.apply(doubled(self), doubled(exponent))
        return named(z, "PowBackward1", ops.pow) if isinstance(exponent, Base) else z

    def float_power_(self, exponent: Operand) -> Self:
        """x **= exponent, computed in float64. Raises RuntimeError unless x is float64 (or complex128).

        Writes the result into the tensor itself and returns it; x.float_power() returns a
        new tensor. Raises an error for a leaf that requires a gradient, unless recording is off.

        >>> minigrad.tensor([1.0, 2.0], dtype=minigrad.float64).float_power_(3)
        tensor([1., 8.], dtype=minigrad.float64)
        """
        power = doubled(exponent)
        kinds = {self.dtype.kind, getattr(power, "dtype", np.dtype(type(power))).kind}
        if self.dtype != (wanted := np.dtype(np.complex128 if "c" in kinds else np.float64)):
            raise RuntimeError(f"the base given to float_power_ has dtype {torch_name(self.dtype)} but the operation's result requires dtype {torch_name(wanted)}")
        z = ops.pow.apply_(self, power)
        return named(z, "PowBackward1", ops.pow) if isinstance(exponent, Base) else z

    def lerp(self, end: Operand, weight: Operand) -> Self:
        """x + weight * (end - x): linear interpolation between x and end. `end` and `weight` are broadcast with x.

        >>> minigrad.tensor([0.0, 10.0]).lerp(minigrad.tensor([10.0, 20.0]), 0.25)
        tensor([ 2.5000, 12.5000])
        """
        z = ops.lerp.apply(self, end, weight)
        return named(z, "LerpBackward1", ops.lerp) if isinstance(weight, Base) else z

    def addcmul(self, tensor1: Self, tensor2: Self, *older: Any, value: float = 1) -> Self:
        """x + value * tensor1 * tensor2, broadcast.

        >>> minigrad.ones(2).addcmul(minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0]))
        tensor([4., 9.])
        """
        if older:
            tensor1, tensor2, value = number_last("addcmul", "value", tensor1, tensor2, *older)
        if isinstance(value, float) and all(x.dtype.kind in "iub" for x in (self, tensor1, tensor2)):
            value = int(value)  # PyTorch cuts off the fraction
        return ops.addcmul.apply(self, tensor1, tensor2, value=value)

    def addcdiv(self, tensor1: Self, tensor2: Self, *older: Any, value: float = 1) -> Self:
        """x + value * tensor1 / tensor2, broadcast.

        >>> minigrad.ones(2).addcdiv(minigrad.tensor([1.0, 2.0]), minigrad.tensor([2.0, 4.0]))
        tensor([1.5000, 1.5000])
        """
        if older:
            tensor1, tensor2, value = number_last("addcdiv", "value", tensor1, tensor2, *older)
        if tensor1.dtype.kind in "iub" and tensor2.dtype.kind in "iub":
            raise RuntimeError("Integer division with addcdiv is no longer supported. To fix it, use x.float().addcdiv(...).")
        return ops.addcdiv.apply(self, tensor1, tensor2, value=value)

    def matmul(self, other: Operand) -> Self:
        """x @ other: the product of two matrices (n, k) @ (k, m), of a matrix and a vector, or of two vectors.

        With more than two axes, the last two hold the matrices, and the others are broadcast.
        Raises ShapeError, a RuntimeError, if the inner sizes differ.

        >>> x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.matmul(minigrad.tensor([1.0, 10.0]))
        tensor([21., 43.])
        """
        return ops.matmul.apply(self, other)

    def pow(self, exponent: Any) -> Self:
        """x ** exponent, entry by entry. The exponent is a number or a tensor, broadcast with x.

        Raises RuntimeError for integers with a negative exponent.

        >>> minigrad.tensor([2.0, 3.0]).pow(2)
        tensor([4., 9.])
        """
        if exponent.__class__ is int and exponent < 0 and self.dtype.kind in "iub":
            raise RuntimeError("Integers to negative integer powers are not allowed. To fix it, use x.float() ** n.")
        z = ops.pow.apply(self, exponent)
        return named(z, "PowBackward1", ops.pow) if isinstance(exponent, Base) else z

    __pow__ = or_not_implemented(pow)  # noqa: A003  # the method above, not the builtin

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.eq.apply(self, other) if isinstance(other, COMPARED) else NotImplemented
    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]
        return ops.ne.apply(self, other) if isinstance(other, COMPARED) else NotImplemented

    def __invert__(self) -> Self:
        if self.dtype.kind not in "biu":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return ops.bitwise_not.apply(self)

    def isposinf(self) -> Self:
        """True where an entry is inf.

        >>> minigrad.tensor([1.0, float("inf"), float("-inf")]).isposinf()
        tensor([False,  True, False])
        """
        check_real(self.dtype, "isposinf does not support complex inputs.")
        return self._constant(np.isposinf(seen(self)))

    def isneginf(self) -> Self:
        """True where an entry is -inf.

        >>> minigrad.tensor([1.0, float("inf"), float("-inf")]).isneginf()
        tensor([False, False,  True])
        """
        check_real(self.dtype, "isneginf does not support complex inputs.")
        return self._constant(np.isneginf(seen(self)))

    def isreal(self) -> Self:
        """True where an entry has no imaginary part: everywhere for real numbers.

        >>> minigrad.tensor([1.0, 2.0]).isreal()
        tensor([True, True])
        """
        return self._constant(np.isreal(self.array))

    def is_nonzero(self) -> bool:
        """True if the single entry of this tensor is not 0: bool(x), as in `if x:`.

        Raises RuntimeError for a tensor with no entries or with several: use x.any() or x.all().

        >>> minigrad.tensor([0.5]).is_nonzero()
        True
        """
        return bool(self)

    def is_same_size(self, other: Self) -> bool:
        """True if `other` has the same shape.

        >>> minigrad.zeros(2, 3).is_same_size(minigrad.zeros(3, 2))
        False
        """
        return self.shape == other.shape

    def heaviside(self, values: Self) -> Self:
        """The step function: 0 where x < 0, 1 where x > 0, and the entry of `values` where x is 0.

        values   a tensor with the dtype of x, broadcast with x
        No gradient flows through.

        >>> minigrad.tensor([-2.0, 0.0, 3.0]).heaviside(minigrad.tensor(0.5))
        tensor([0.0000, 0.5000, 1.0000])
        """
        if self.dtype != values.dtype:
            raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
        check_real(self.dtype, "heaviside is not yet implemented for complex tensors.")
        broadcast("heaviside", self.shape, values.shape)
        x = seen(self)
        x = np.where(np.isnan(x), -1, x)  # in PyTorch, heaviside(NaN) is 0
        return self._constant(np.heaviside(x, numbers_of_tensor(values)).astype(self.dtype))

    def isclose(self, other: Self, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Self:
        """True where x and other differ by at most atol + rtol * abs(other).

        Raises RuntimeError if the dtypes differ. NaN equals NaN only with equal_nan=True.

        >>> minigrad.tensor([1.0, 2.0]).isclose(minigrad.tensor([1.0, 2.1]))
        tensor([ True, False])
        """
        if self.dtype != other.dtype:
            raise RuntimeError(f"{torch_name(self.dtype)} did not match {torch_name(other.dtype)}: compare tensors of the same dtype.")
        for name, bound in (("rtol", rtol), ("atol", atol)):
            if getattr(bound, "requires_grad", False):
                raise TypeError(f"isclose(): argument {name!r} must be float, not Tensor")
            if bound < 0:
                raise RuntimeError(f"{name} must be greater than or equal to zero, but got {bound}")
        broadcast("isclose", self.shape, other.shape)
        return self._constant(are_close(seen(self), numbers_of_tensor(other), rtol, atol, equal_nan))

    def allclose(self, other: Self, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
        """True (a Python bool) if all entries of x and other differ by at most atol + rtol * abs(other).

        Raises RuntimeError if the dtypes differ. NaN equals NaN only with equal_nan=True.

        >>> x = minigrad.tensor([0.1, 0.2])
        >>> (x * 3).allclose(minigrad.tensor([0.3, 0.6]))
        True
        """
        return bool(self.isclose(other, rtol, atol, equal_nan).array.all())

    def equal(self, other: Self) -> bool:
        """True (a Python bool) if both have the same shape and the same entries. x == other compares entry by entry.

        >>> x = minigrad.tensor([1.0, 2.0])
        >>> x.equal(minigrad.tensor([1.0, 2.0]))
        True
        >>> x == minigrad.tensor([1.0, 5.0])
        tensor([ True, False])
        """
        return self.shape == other.shape and bool(np.equal(seen(self), numbers_of_tensor(other)).all())


# The types that == and != compare entry by entry; x == None is False.
COMPARED = (Base, int, float, complex, np.ndarray, np.generic)


def number_last(name: str, word: str, number: Any, *tensors: Any) -> tuple[Any, ...]:
    """Reorder the operands of a deprecated call, x.add_(-0.1, g), for the current form, x.add_(g, alpha=-0.1)."""
    wanted = 2 if name.startswith("addc") else 1
    if len(tensors) != wanted or getattr(number, "ndim", False) or not all(isinstance(x, Base) for x in tensors):
        raise TypeError(f"{name}() takes {wanted} positional arguments but {1 + len(tensors)} were given: pass {word} by name.")
    of_tensors = ", ".join([f"Tensor {'other' if wanted == 1 else f'tensor{k}'}" for k in range(1, wanted + 1)])
    warn_user(
        f"This overload of {name} is deprecated: {name}(Number {word}, {of_tensors}). "
        f"Consider using instead: {name}({of_tensors}, *, Number {word})",
    )
    return *tensors, getattr(number, "array", number)


def doubled(x: Any) -> Any:
    """A tensor converted to float64 or complex128; a number unchanged."""
    return x.to(np.result_type(x.dtype, np.float64)) if isinstance(x, Base) else x
