"""Which misconception gives exactly this answer? For exercises that have no tape to search.

diagnose.py searches the tape of a computation. For other exercises, on tangents, predictions,
or an engine that students write, the author declares common mistakes. Each is another way to
compute the answer:

    Misconception("forgot_inner", lambda x, x_dot: np.cos(x * x) * x_dot, "...", "...")

It is reported only if it gives the student's answer in every case, and differs from the right
answer in at least one.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.teach.answer import Diagnosis, general_diagnosis
from minigrad.teach.difference import Array, difference
from minigrad.teach.running import TooSlow, quiet, time_limit

SECONDS = 1.0  # a misconception may be slow, and that may be the mistake


class Misconception(NamedTuple):
    """A common mistake.

    kind      its name
    gives     a function that returns the answer it leads to, from the same inputs
    message   what the mistake was
    hint      what to do about it
    """

    kind: str
    gives: Callable[..., Any]
    message: str
    hint: str = ""

    def diagnosis(self) -> Diagnosis:
        """Its message and hint, at no particular operation."""
        return general_diagnosis(self.kind, self.message, self.hint)


class Seen(NamedTuple):
    """One part of a student's answer in one case, and the right one."""

    inputs: Mapping[str, Any]
    mine: object
    right: object


def recognize(
    cases: Sequence[Seen], known: Sequence[Misconception], pick: Callable[[Any], Any]
) -> Diagnosis | None:
    """The first misconception that gives the student's answer in all cases; None if none does.

    pick    extracts the part in question from the answer of a misconception
    """
    for misconception in known:
        results = []
        for case in cases:
            try:
                with quiet(io.StringIO()), time_limit(SECONDS):
                    results.append((case, pick(misconception.gives(*case.inputs.values()))))
            except (Exception, TooSlow):  # it cannot be computed from these inputs
                continue
        same = bool(results) and all(alike(case.mine, theirs) for case, theirs in results)
        if same and not all(alike(case.right, theirs) for case, theirs in results):
            return misconception.diagnosis()
    return None


# Mistakes that can happen anywhere, computed from the right answer.
GENERAL = [
    Misconception("sign", lambda r: -r, "The sign is wrong: this is the negative of the right answer."),
    Misconception("scale", lambda r: 2 * r, "Everything is doubled.", "Look for an extra factor of 2."),
    Misconception("scale", lambda r: r / 2, "Everything is halved.", "Look for a missing factor of 2."),
    Misconception("transposed", lambda r: r.T, "This is the transpose of the right answer."),
]  # fmt: skip


def generally(cases: Sequence[Seen]) -> Diagnosis | None:
    """A sign, a factor 2, a transpose, or the right number with a few wrong digits."""
    arrays = []
    for case in cases:
        try:
            mine, right = np.asarray(case.mine, float), np.asarray(case.right, float)
        except (TypeError, ValueError):
            return None
        arrays.append((mine, right))
    telling = [(m, r) for m, r in arrays if r.size and np.any(r)]
    for misconception in GENERAL:
        # not the transpose of a vector, which is the vector
        tells = any(not alike(misconception.gives(r), r) for _, r in telling)
        if tells and all(alike(m, misconception.gives(r)) for m, r in telling):
            return misconception.diagnosis()
    if telling and all(m.shape == r.shape and _nearly(m, r) for m, r in telling):
        return general_diagnosis(
            "finite_difference_noise",
            "The numbers are nearly right, as finite differences or rounded numbers are.",
            "Derive the formula: a derived gradient is right to about fifteen digits.",
        )
    return None


def _nearly(mine: Array, right: Array) -> bool:
    size, error = float(np.max(np.abs(right))), float(np.max(np.abs(mine - right)))
    return error <= 1e-4 * size


def alike(mine: object, theirs: object) -> bool:
    """Are these the same answer? Numbers may differ by 1e-9; everything else must be equal."""
    if isinstance(theirs, str | bool | dict | set) or theirs is None:
        return bool(type(mine) is type(theirs) and mine == theirs)
    try:
        return bool(difference(mine, theirs, rtol=1e-9, atol=1e-12).ok)
    except (TypeError, ValueError):
        try:
            return bool(mine == theirs)
        except Exception:
            return False
