"""Lanes: at what height the arrows between two layers go sideways.

Between two layers an arrow leaves a box downward, goes sideways, and arrives downward. Two arrows that
went sideways at the same height would lie on each other. So the space is divided into lanes: arrows
that overlap there get lanes of their own, and the space grows with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Point = tuple[float, float]

SLANTED = 40.0  # an arrow that goes less far sideways needs no lane
SHARED = 24.0  # two arrows that overlap by less may share a lane
MOST_LANES = 5
BEND = 40.0  # how wide a bend is
LANE = 24.0  # the height of a lane: an arrow, and the gradient's beside it


def lanes_of(segments: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each arrow of a gap, from the top; 0 for those that go almost straight.

    segments    where each begins and ends, from left to right

    Of two arrows to the right, the one that begins further right is higher: then they do not cross.

    >>> lanes_of([(0, 200), (50, 300), (0, 10), (400, 600)])
    [2, 1, 0, 1]
    """
    lanes = [0] * len(segments)
    slanted = [k for k, (a, b) in enumerate(segments) if abs(b - a) >= SLANTED]
    slanted.sort(key=lambda k: (segments[k][1] < segments[k][0], _turn(segments[k]), k))
    placed: list[tuple[float, float, int]] = []
    for k in slanted:
        left, right = sorted(segments[k])
        over = (
            lane for a, b, lane in placed if min(b, right) - max(a, left) > SHARED
        )  # those above it
        lanes[k] = min(max(over, default=0) + 1, MOST_LANES)
        placed.append((left, right, lanes[k]))
    return lanes


def sideways(start: Point, end: Point, middle: float) -> list[tuple[Point, ...]]:
    """The pieces of a line from one layer to the next, which goes sideways at the height `middle`.

    Over a short way that is one curve; over a long one a straight line between two bends, so that
    an arrow and the gradient's beside it keep their distance.
    """
    (x0, _), (x1, y1) = start, end
    if abs(x1 - x0) <= 2 * BEND:
        return [((x0, middle), (x1, middle), (x1, y1))]
    by = BEND if x1 > x0 else -BEND
    return [
        ((x0, middle), (x0, middle), (x0 + by, middle)),
        ((x1 - by, middle),),
        ((x1, middle), (x1, middle), (x1, y1)),
    ]


def _turn(segment: tuple[float, float]) -> float:
    """Its place among those of its direction, the highest first."""
    start, end = segment
    return -start if end > start else start


def height_of(lanes: Iterable[int], least: float) -> float:
    """The height of a gap with these lanes: `least`, or more if there are several."""
    return max(least, 30.0 + LANE * max(lanes, default=0))


def knee(lane: int, most: int, top: float, bottom: float) -> float:
    """The height at which an arrow in this lane, of so many, goes sideways.

    >>> knee(1, 2, 0, 90), knee(2, 2, 0, 90), knee(0, 2, 0, 54)
    (30.0, 60.0, 27.0)
    """
    if not lane:
        return (top + bottom) / 2
    return round(top + (bottom - top) * lane / (most + 1), 1)
