"""The inputs that an exercise is tested with, and the tolerance of an answer.

    draw(seed, shape)         numbers that depend only on the seed: the same on every machine, away from kinks
    layouts(...)              the same program on zero-size, strided and extreme inputs
    tolerance(reference, inputs)   the effect of rounding on the right answer, times a margin

Tolerances are measured: we change the inputs by their last bit and see how much the answer changes.
Adding the same terms in another order may change it as much. Finite differences are off by a
thousand times more, so they do not pass as a derivation. Where a last bit makes the answer jump
(two entries share a maximum), this says nothing about rounding, and is not counted. An answer in single
precision has no more digits than finite differences have: it does not pass, and is told why.

Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.6.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.running import strided

Shape = tuple[int, ...]
MARGIN = 64  # times the effect of one bit; the answers that we measured stay below 8
EPS = float(np.finfo(np.float64).eps)
JUMP = 1e-5  # of the largest number: one bit has no such effect where a function is smooth


@dataclass(frozen=True)
class Case:
    """One set of inputs, dL/dz if there is one, and the right results."""

    number: int
    inputs: dict[str, Any]
    g: Any
    expected: tuple[Any, ...]
    atol: tuple[float, ...] = ()
    label: str = ""
    program: Any = field(default=None, compare=False, repr=False)  # z and its tensors, if any

    @property
    def shapes(self) -> str:
        """A description of the inputs: the shapes of arrays, other short values, and the label."""
        shapes = ", ".join(
            f"{name} {np.shape(value)}" if isinstance(value, np.ndarray) else _short(name, value)
            for name, value in self.inputs.items()
        )
        return f"{shapes}; {self.label}" if self.label else shapes


def _short(name: str, value: object) -> str:
    text = repr(value)
    return f"{name} {text}" if len(text) <= 24 and "\n" not in text else name


def in_full(given: Mapping[str, Any]) -> str:
    """The values of the inputs, so that a reader can recompute a case by hand; empty if they are long."""
    arrays = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in given.items()}
    text = ", ".join(f"{name} = {value!r}" for name, value in arrays.items())
    return text if len(text) <= 100 and "<" not in text else ""


def draw(seed: str, shape: Shape, others: Sequence[Array] = ()) -> Array:
    """Normal numbers with two decimals: short to print, and the same on every machine.

    Zeros get six decimals, and so do numbers whose size occurs again, here or in the other arrays of
    a case: relu, abs, max and sort have several gradients there, and a right answer may give another
    one than the engine.

    >>> draw("a seed", (3,))
    array([-0.16,  0.98, -0.86])
    """
    digest = hashlib.sha256(seed.encode()).digest()
    exact = np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=shape)
    numbers = np.round(exact, 2)
    sizes = np.abs(np.concatenate([[0.0], *map(np.ravel, others), np.ravel(numbers)]))
    is_new = np.zeros(sizes.shape, bool)
    is_new[np.unique(sizes, return_index=True)[1]] = True  # where each size occurs first
    own = is_new[sizes.size - numbers.size :].reshape(shape)
    return np.where(own, numbers, np.round(exact, 6))


def layouts(
    shapes: Sequence[Sequence[Shape]], more: Sequence[str]
) -> Iterator[tuple[Sequence[Shape], str]]:
    """Each case's shapes and its label; `more` adds "empty", "strided", "extreme" and "zero" ones.

    They have the shapes of the last case. In "empty", every axis that is as long as the longest one
    has length 0.
    """
    for case in shapes:
        yield case, ""
    for label in more:
        last = shapes[-1]
        if label == "empty":
            n = max((n for shape in last for n in shape), default=0)
            last = [tuple(0 if k == n else k for k in shape) for shape in last]
        yield last, label


def in_layout(value: Array, label: str) -> Array:
    """The numbers of a case in the layout, or with the values, that its label names."""
    if label == "strided" and value.ndim:
        return strided(value)
    if label == "extreme":  # of both signs, and all of them beyond the range of exp
        signs = np.where(np.arange(value.size).reshape(value.shape) % 2, -1.0, 1.0)
        return signs * (1000.0 + 1000.0 * np.abs(value))
    if label == "zero":
        return value * 0.0
    return value


def tolerance(
    reference: Callable[[Mapping[str, Any]], Sequence[Array]], inputs: Mapping[str, Any]
) -> tuple[float, ...]:
    """For each result, the absolute error that rounding can cause.

    reference   the right results for inputs
    inputs      arrays; only floating-point arrays are changed

    >>> tolerance(lambda given: [given["x"] - 1.0], {"x": np.array([1.0 + 1e-9])})[0] < 1e-13
    True
    """
    right = reference(inputs)
    worst = [0.0] * len(right)
    numbers = [v for v in inputs.values() if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    largest = max(map(_greatest, [*numbers, *right]), default=0.0)
    for sign in (1, -1):
        nudged = {name: _nudge(value, sign) for name, value in inputs.items()}
        for k, (a, b) in enumerate(zip(right, reference(nudged), strict=True)):
            change = np.abs(np.asarray(a) - np.asarray(b))
            worst[k] = max(worst[k], _greatest(change[change <= JUMP * largest]))
    # Terms as large as the inputs may cancel where they do not change: 1 - p at p = 1.
    least = EPS * min(largest or 1.0, 1.0)
    return tuple(
        MARGIN * max(w, EPS * _greatest(r), least) for w, r in zip(worst, right, strict=True)
    )


def _nudge(value: object, sign: int) -> Any:
    """Change each number by its last bit, alternately up and down."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    signs = np.where(np.arange(value.size).reshape(value.shape) % 2, -sign, sign)
    return value * (1 + EPS * signs)


def _greatest(a: object) -> float:
    a = np.abs(np.asarray(a, dtype=np.float64))
    a = a[np.isfinite(a)]
    return float(a.max()) if a.size else 0.0
