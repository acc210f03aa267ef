"""Independent truth: derivatives by differences, and how close two arrays are.

Nothing here uses a rule of the table.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def central_difference(f: Callable[[Any], Any], x: Any, direction: Any, step: float = 1e-6) -> Any:
    """(f(x + h*v) - f(x - h*v)) / 2h: the derivative of f along v, up to about h**2."""
    return (f(x + step * direction) - f(x - step * direction)) / (2 * step)


def numeric_vjp(f: Callable[[Any], Any], x: Any, g: Any, step: float = 1e-6) -> Any:
    """The gradient of sum(g * f(x)) by x, one entry of x at a time."""
    grad = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        e = np.zeros(x.shape)
        e[i] = 1
        grad[i] = np.sum(g * central_difference(f, x, e, step))
    return grad


def direction_like(x: Any, seed: int = 0) -> Any:
    """A fixed direction with the shape of x."""
    shape = np.shape(x)
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape)


def dot(u: Any, v: Any) -> float:
    return float(np.sum(np.asarray(u) * np.asarray(v)))


def assert_close(actual: Any, expected: Any, rtol: float = 1e-7, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=atol)
