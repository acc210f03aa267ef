"""Thumbnails: how a box shows its value.

A scalar, a small array, or an array of equal entries is printed. For any other array, a box shows
`mean ± std` and `[min, max]` beside a small picture: a heat map of a matrix or of a few entries, or
a histogram. For a large array, the picture shows every k-th row and column, or every k-th entry
(which snapshot.py keeps).

A picture is text, one character for each cell or bar, so that a page with hundreds of them stays small:

    0 to 9    the entry, as a share of the largest absolute value; the height of a bar
    A to I    the same below zero: C is -3
    n         no finite number
"""

import math

import numpy as np

from minigrad.tape.document import ArrayFacts, Thumbnail
from minigrad.tape.names import count_not_finite, in_words, nested_text, number_text, short
from minigrad.tape.snapshot import SIDE, Array, Snapshot, thinned

PRINTED = 30  # maximum number of characters of a printed array
MOST_PRINTED = 12  # maximum number of its entries
BARS = 12
LEVELS = 9  # above zero, and as many below zero
CHARACTERS = np.array([*"IHGFEDCBA0123456789"])  # of the levels from -9 to 9
DIGITS = 4  # rounding, so that entries between two levels or bars go the same way on every CPU


def thumbnail(snapshot: Snapshot | None, name: str = "") -> Thumbnail | None:
    """The thumbnail of a value; None if it was not recorded.

    name    the name of the result, if the op has several

    >>> thumbnail(Snapshot(np.array([[1.0, -2.0], [np.nan, 4.0]])))
    Thumbnail(lines=['= [[1, -2], [nan, 4]]', '1 NaN of 4'], cells=[], bars='')
    >>> thumbnail(Snapshot(np.array([[1.001, -2.002], [np.nan, 4.004], [1.003, -2.006]])))
    Thumbnail(lines=['0.4 ± 2.248', '[-2.006, 4.004], 1 NaN of 6'], cells=['2D', 'n9', '2E'], bars='')
    """
    if snapshot is None:
        return None
    facts = snapshot.facts()
    if lines := _printed(facts):
        return Thumbnail([f"{name} {lines[0]}".lstrip(), *lines[1:]])
    mean, std, least, most = (facts[k] for k in ("mean", "std", "min", "max"))
    if isinstance(mean, float) and isinstance(std, float) and abs(mean) < 1e-6 * std:
        mean = 0.0  # it is only a rounding error of numbers that cancel
    mean, std, least, most = map(number_text, (mean, std, least, most))
    not_finite = count_not_finite(facts)
    first = f"{name}: {mean} ± {std}" if name else f"{mean} ± {std}"
    lines = [first, f"[{least}, {most}]" + (not_finite and f", {not_finite}")]
    a = snapshot.sample()
    if a.ndim == 2 or a.size <= SIDE:
        return Thumbnail(lines, heat_cells(a if a.ndim == 2 else a.reshape(1, -1)))
    return Thumbnail(lines, bars=bars_of(a))


def _printed(facts: ArrayFacts) -> list[str]:
    """The value as text if it is short, and the number of entries that are not finite; otherwise empty."""
    not_finite, text, size = count_not_finite(facts), in_words(facts), facts["size"]
    if "rows" in facts or (size and facts["shape"] and facts["min"] is None):
        return [short(text, PRINTED)]
    if not text.startswith("all ") and 0 < size <= MOST_PRINTED:
        text = nested_text(np.array(facts["first"], object).reshape(facts["shape"]).tolist())
    elif text.startswith("from "):
        return []
    if len(text) > PRINTED:
        return []
    return [f"= {text}"] + ([not_finite] if not_finite and facts["shape"] else [])


def heat_cells(a: Array) -> list[str]:
    """A heat map of a matrix, by rows; for a large matrix, of every k-th row and column.

    >>> heat_cells(np.array([[1.0, -2.0], [np.inf, 4.0]]))
    ['2D', 'n9']
    """
    a = np.asarray(thinned(a), dtype=np.float64)
    finite = np.isfinite(a)
    most = np.abs(a[finite]).max(initial=0.0) or 1.0
    levels = np.rint((np.where(finite, a, 0.0) / most * LEVELS).round(DIGITS)).astype(int)
    return ["".join(row) for row in np.where(finite, CHARACTERS[levels + LEVELS], "n")]


def bars_of(a: Array) -> str:
    """A histogram of the finite entries, from the smallest to the largest.

    >>> bars_of(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0]))
    '900000300006'
    """
    numbers = np.asarray(a, dtype=np.float64).reshape(-1)
    numbers = numbers[np.isfinite(numbers)]
    least, most = (numbers.min(), numbers.max()) if numbers.size else (0.0, 0.0)
    if not 0 < most - least < math.inf:
        return ""
    places = np.floor(((numbers - least) / (most - least) * BARS).round(DIGITS)).astype(int)
    counts = np.bincount(np.minimum(places, BARS - 1), minlength=BARS)
    heights = -(-counts * LEVELS // counts.max())  # rounded up: every non-empty bar is visible
    return "".join(CHARACTERS[heights + LEVELS])


def picture_size(found: Thumbnail) -> tuple[float, float]:
    """The width and the height of the picture in pixels; (0, 0) if there is none."""
    if found.cells:
        rows, columns = len(found.cells), len(found.cells[0])
        return float(round(min(48.0, max(12.0, TALL * columns / rows)))), TALL
    return (36.0, TALL) if found.bars else (0.0, 0.0)


TALL = 24.0  # pixels: the height of a picture
