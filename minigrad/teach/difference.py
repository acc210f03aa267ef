"""How two arrays differ. All comparisons in minigrad.teach use this.

    difference(mine, theirs)   exact, close, different, wrong shape, not an array, or not answered

NaN equals NaN here, and an infinity equals itself, because we ask whether two computations
agree. What "close" means depends on the less precise of the two types:

    float64    |mine - theirs| <= 1e-7 + 1e-7 * |theirs|
    float32    |mine - theirs| <= 1e-5 + 1.3e-6 * |theirs|
    float16    |mine - theirs| <= 1e-5 + 1e-3 * |theirs|

Source of the tolerances: torch.testing.assert_close.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Verdict = Literal["exact", "close", "different", "wrong shape", "not an array", "not answered"]

_TOLERANCES = {2: (1e-3, 1e-5), 4: (1.3e-6, 1e-5), 8: (1e-7, 1e-7)}  # bytes -> rtol, atol


@dataclass(frozen=True)
class Difference:
    """How an array differs from the right one.

    verdict    exact, close, different, wrong shape, not an array, not answered
    absolute   the largest |yours - theirs|; None if the two cannot be subtracted
    relative   the largest |yours - theirs| / |theirs|; inf where theirs is 0
    index      the index of the largest absolute difference, the first one in a tie
    yours      the value there
    theirs     the right value there
    reason     for a wrong shape or no array: a message
    """

    verdict: Verdict
    absolute: float | None = None
    relative: float | None = None
    index: tuple[int, ...] | None = None
    yours: float | None = None
    theirs: float | None = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        """True for "exact" and "close"."""
        return self.verdict in ("exact", "close")


def difference(
    mine: object, theirs: object, rtol: float | None = None, atol: float | None = None
) -> Difference:
    """Compare a student's array with the right one. Never raises because of `mine`.

    `...` means that there is no answer yet.

    >>> difference([1.0, 2.0], [1.0, 2.5]).index
    (1,)
    >>> difference([1.0, 2.0], [[1.0, 2.0]]).reason
    'shape (2,) instead of (1, 2)'
    """
    if mine is ...:
        return Difference("not answered")
    theirs = real_array(theirs)
    try:
        mine = real_array(mine)
    except TypeError as error:
        return Difference("not an array", reason=str(error))
    if mine.shape != theirs.shape:
        return Difference("wrong shape", reason=f"shape {mine.shape} instead of {theirs.shape}")
    return _difference(mine, theirs, *tolerances(mine, theirs, rtol, atol))


def tolerances(
    mine: Array, theirs: Array, rtol: float | None, atol: float | None
) -> tuple[float, float]:
    """rtol and atol; by default those of the less precise floating-point type."""
    for given in (rtol, atol):
        if not isinstance(given, int | float | np.number | None):
            raise TypeError(f"rtol and atol must be numbers, not {type(given).__name__}.")
    sizes = [a.dtype.itemsize for a in (mine, theirs) if a.dtype.kind == "f"]
    narrow, wide = _TOLERANCES[min([*sizes, 8])]
    return narrow if rtol is None else rtol, wide if atol is None else atol


def _difference(mine: Array, theirs: Array, rtol: float, atol: float) -> Difference:
    if mine.size == 0:
        return Difference("exact", 0.0, 0.0)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    # Integers that differ do so by at least 1, even if float64 cannot tell them apart.
    least = 1.0 if mine.dtype.kind in "iu" and theirs.dtype.kind in "iu" else 0.0
    rtol = 0.0 if least else rtol
    mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        absolute = np.where(same, 0.0, np.maximum(np.abs(mine - theirs), least))
        relative = np.where(same, 0.0, absolute / np.abs(theirs))
    # A difference with NaN counts as the largest. If several are equal up to rounding, the first
    # one is shown.
    badness = np.where(np.isnan(absolute), np.inf, absolute)
    worst = np.unravel_index(np.argmax(badness >= badness.max() * (1 - 1e-6)), mine.shape)
    within = same | (absolute <= atol + rtol * np.where(np.isfinite(theirs), np.abs(theirs), 0.0))
    verdict: Verdict = "exact" if same.all() else "close" if within.all() else "different"
    return Difference(
        verdict,
        absolute=float(absolute[worst]),
        relative=float(np.max(relative)),  # NaN if there is one
        index=tuple(int(i) for i in worst),
        yours=float(mine[worst]),
        theirs=float(theirs[worst]),
    )


def real_array(value: object) -> Array:
    """A Tensor, an array or nested lists of numbers as an array of real numbers.

    Raises TypeError, which says what it is instead.
    """
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if value is None:
        raise TypeError("None instead of an array")
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError("lists of unequal lengths instead of an array") from None
    except Exception as error:  # an object's own __array__ may raise anything
        raise TypeError(f"{type(value).__name__} cannot be read as an array: {error}") from None
    if array.dtype.kind not in "fiub":
        kind = type(value).__name__ if array.ndim == 0 else f"an array of {array.dtype}"
        call = ". Is a () missing?" if callable(value) else ""
        raise TypeError(f"{kind} instead of real numbers{call}")
    return array


def last_digit(a: Array) -> float:
    """The relative size of the last digit of an array's numbers; 0 for integers."""
    return float(np.finfo(a.dtype).eps) if a.dtype.kind == "f" else 0.0


def decimal_text(value: float | None, digits: int = 6) -> str:
    """A number as tables show it, the same on every machine."""
    if value is None:
        return ""
    return f"{value + 0.0:.{digits}g}"  # + 0.0 turns -0 into 0


def magnitude(value: float | None, verdict: Verdict) -> str:
    """The size of a difference. For rounding errors, only the power of ten is shown: the digits
    differ between machines, and the stored output of a notebook should not."""
    if verdict == "close" and value and math.isfinite(value):
        return f"< {10.0 ** (math.floor(math.log10(value)) + 1):.0e}"
    return decimal_text(value, 3)


def position(index: tuple[int, ...] | None) -> str:
    """An index as in Python: [0, 2]; empty for a scalar."""
    return f"[{', '.join(map(str, index))}]" if index else ""
