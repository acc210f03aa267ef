"""Constraints: the valid parameters of a distribution, and the values in its support."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor


class Constraint:
    """A condition on each number of a tensor, or on each vector or matrix in its last axes.

    event_dim   how many of the last axes form one value: 0 for numbers, 1 for vectors

    To define your own constraint, write `check(value)`.
    """

    event_dim = 0
    is_discrete = False

    def check(self, value: Tensor) -> Tensor:
        """A boolean tensor: True where the condition holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Tested(Constraint):
    """A constraint with a name, and a test of arrays."""

    def __init__(
        self, name: str, test: Callable[[Any], Any], event_dim: int = 0, discrete: bool = False
    ) -> None:
        self.name, self._test = name, test
        self.event_dim, self.is_discrete = event_dim, discrete

    def check(self, value: Tensor) -> Tensor:
        """A boolean tensor: True where the condition holds."""
        return value._constant(np.asarray(self._test(np.asarray(value.array))))

    def __repr__(self) -> str:
        return self.name


class _Independent(Constraint):
    """A constraint that holds if `base` does for every entry along the last axes."""

    def __init__(self, base: Constraint, axes: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base, axes
        self.event_dim, self.is_discrete = axes + base.event_dim, base.is_discrete

    def check(self, value: Tensor) -> Tensor:
        """A boolean tensor: True where the condition holds."""
        ok = self.base_constraint.check(value)
        return ok.reshape(*ok.shape[: ok.ndim - self.reinterpreted_batch_ndims], -1).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


def _bounded(name: str, test: Any, discrete: bool = False, **bounds: float | Tensor) -> Constraint:
    """A constraint whose name shows its bounds. `test` gets x and the bounds as arrays."""
    shown = ", ".join(f"{key}={bound}" for key, bound in bounds.items())
    arrays = [np.asarray(getattr(bound, "array", bound)) for bound in bounds.values()]
    constraint = _Tested(f"{name}({shown})", lambda x: test(x, *arrays), discrete=discrete)
    vars(constraint).update(bounds)
    return constraint


def greater_than(lower_bound: float | Tensor) -> Constraint:
    """x > lower_bound"""
    return _bounded("GreaterThan", operator.gt, lower_bound=lower_bound)


def greater_than_eq(lower_bound: float | Tensor) -> Constraint:
    """x >= lower_bound"""
    return _bounded("GreaterThanEq", operator.ge, lower_bound=lower_bound)


def less_than(upper_bound: float | Tensor) -> Constraint:
    """x < upper_bound"""
    return _bounded("LessThan", operator.lt, upper_bound=upper_bound)


def half_open_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """lower_bound <= x < upper_bound"""
    test = lambda x, low, high: (x >= low) & (x < high)
    return _bounded("HalfOpenInterval", test, lower_bound=lower_bound, upper_bound=upper_bound)


def interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """lower_bound <= x <= upper_bound"""
    test = lambda x, low, high: (x >= low) & (x <= high)
    return _bounded("Interval", test, lower_bound=lower_bound, upper_bound=upper_bound)


def integer_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """Integers with lower_bound <= x <= upper_bound."""
    test = lambda x, low, high: (x >= low) & (x <= high) & (x == np.floor(x))
    return _bounded("IntegerInterval", test, True, lower_bound=lower_bound, upper_bound=upper_bound)


def _integers_from(lower_bound: int) -> Constraint:
    test = lambda x, low: (x >= low) & (x % 1 == 0)
    return _bounded("IntegerGreaterThan", test, True, lower_bound=lower_bound)


def multinomial(upper_bound: int) -> Constraint:
    """Vectors of nonnegative numbers that sum to at most upper_bound."""
    return _Tested(
        "Multinomial()",
        lambda x: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
        event_dim=1,
        discrete=True,
    )


def independent(base: Constraint, event_dim: int) -> Constraint:
    """A value is valid if every entry along the last event_dim axes satisfies `base`."""
    return _Independent(base, event_dim)


def dependent_property(
    f: Any = None, *, is_discrete: bool = False, event_dim: int = 0
) -> Callable[[Any], property] | property:
    """A property, for a `support` that depends on the parameters. The flags are ignored."""
    return property if f is None else property(f)


def _symmetric(x: Array) -> Any:
    return np.isclose(x, np.swapaxes(x, -1, -2), atol=1e-6).all((-2, -1))


def _positive_definite(x: Array) -> Array:
    ok = _symmetric(x)
    if ok.all():
        ok = np.linalg.eigvalsh(x.astype(np.float64)).min(-1) > 0
    return ok


def _lower_cholesky(x: Array) -> Array:
    positive = (np.diagonal(x, axis1=-2, axis2=-1) > 0).all(-1)
    return (np.tril(x) == x).all((-2, -1)) & positive


real = _Tested("Real()", lambda x: x == x)  # not NaN
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = _Tested("Boolean()", lambda x: (x == 0) | (x == 1), discrete=True)
nonnegative_integer, positive_integer = _integers_from(0), _integers_from(1)
simplex = _Tested(
    "Simplex()", lambda x: (x >= 0).all(-1) & (np.abs(x.sum(-1) - 1) < 1e-6), event_dim=1
)
one_hot = _Tested(
    "OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, discrete=True
)
positive_vector = independent(positive, 1)
positive_definite = _Tested("PositiveDefinite()", _positive_definite, 2)
lower_cholesky = _Tested("LowerCholesky()", _lower_cholesky, 2)
