"""Numbers with only a few correct digits: finite differences, and rounded numbers.

A difference quotient has two kinds of error, which look different:

    the step is too wide     (f(x + h) - f(x)) / h  errs by h/2 times the second derivative
    the step is too narrow   f changes in steps of its last digit, so the quotient does too

Read answer.py first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.autograd import grad
from minigrad.core.modes import enable_grad
from minigrad.core.tensor import wrap
from minigrad.teach.answer import Answer, Diagnosis, general_diagnosis
from minigrad.teach.difference import decimal_text


def noise(a: Answer) -> Iterator[Diagnosis]:
    """Recognizes numbers with only a few correct digits."""
    if a.mine.shape != a.right.shape or not a.right.size or not np.all(np.isfinite(a.mine)):
        return
    error = a.mine - a.right
    size, worst = float(np.max(np.abs(a.right))), float(np.max(np.abs(error)))
    if size == 0 or worst == 0:
        return
    if a.coarser and worst <= a.atol:
        yield general_diagnosis(
            "finite_difference_noise",
            "The numbers only have the digits of single precision; finite differences have no more.",
            "Compute in double precision: leave out  .astype(np.float32),  and write  dtype=np.float64.",
        )
        return
    for times, words in ((2, "2 times"), (0.5, "half of")):
        if np.max(np.abs(error - (times - 1) * a.right)) <= 1e-3 * size and not a.few:
            yield general_diagnosis(
                "scale",
                f"The numbers are about {words} what they should be, as finite differences with a wrong divisor are.",
                "For  f(x + h) - f(x - h)  divide by 2 * h, and for  f(x + h) - f(x)  by h.",
            )
    whole = (np.trunc(a.right), np.round(a.right), np.floor(a.right))
    if worst < 1 and not a.few and any(np.array_equal(a.mine, w) for w in whole):
        yield general_diagnosis(
            "finite_difference_noise",
            "The numbers are right up to the decimal point, and the digits after it are missing.",
            "Is your array of an integer type, or is there a division with // ? Use floating-point numbers.",
        )
        return
    # A mistake in a term with a small weight changes few digits.
    near = 1e-3 * size * min((c for c in a.graph.factors if c < 0.1), default=1.0)
    few_wrong = np.mean(np.abs(error) > 0.01 * worst) < 0.5  # noise is in all entries
    if few_wrong and np.any(np.abs(error) > 0.1 * np.abs(a.right)):
        return
    if worst <= near or _rounded(a, worst, size) or _one_sided(a, error, worst, size):
        digits = max(int(-np.log10(worst / size)), 0)
        right_to = f"{digits} digit{'s' * (digits != 1)}" if digits else "less than one digit"
        yield general_diagnosis(
            "finite_difference_noise",
            f"The numbers are right to about {right_to}, as finite differences or rounded numbers are.",
            f"The largest difference is {decimal_text(worst, 2)}. Derive the formula, or compare with a tolerance.",
        )


STEPS = [10.0**-k for k in range(2, 9)]


def _one_sided(a: Answer, error: Any, worst: float, size: float) -> bool:
    """(f(x + h) - f(x)) / h errs by h/2 times the second derivative; is there such an h?"""
    if worst > 0.2 * size or not 3 <= a.right.size <= 64:
        return False
    try:
        with enable_grad():
            seed = wrap(np.broadcast_to(a.graph.seed, a.z.shape).astype(a.z.dtype))
            (g,) = grad(a.z, a.x, seed, retain_graph=True, create_graph=True)
            if g is None or not g.requires_grad:
                return False
            second = np.zeros(a.right.size)
            for k, one in enumerate(np.eye(a.right.size, dtype=a.right.dtype)):
                one_hot = wrap(one.reshape(a.right.shape))
                (row,) = grad(g, a.x, one_hot, retain_graph=True, allow_unused=True)
                second[k] = 0 if row is None else row.array.reshape(-1)[k]
    except RuntimeError:
        return False
    errors = (h / 2 * second for step in STEPS for h in (step, -step))
    return any(np.max(np.abs(error.reshape(-1) - one)) < 0.1 * worst for one in errors)


def _rounded(a: Answer, worst: float, size: float) -> bool:
    """In single precision, the loss changes in steps of its last digit, and so do its differences."""
    error = a.mine - a.right
    if a.z.dtype != np.float32 or a.z.array.size != 1 or a.right.size < 4 or worst > 0.5 * size:
        return False
    if np.std(error) < 0.2 * worst or len(np.unique(a.right)) < 4:
        return False  # noise has no pattern
    last_digit = float(np.spacing(np.abs(a.z.array.reshape(()))))
    for h in STEPS:
        for width in (h, 2 * h):
            counts = a.mine * width / (last_digit / 2)
            whole = np.round(counts)
            few = 3 <= float(np.median(np.abs(whole))) < 1e4 and worst * width < 20 * last_digit
            if few and np.max(np.abs(counts - whole)) < 0.02:
                return True
    return False
