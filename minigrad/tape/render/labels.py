"""Labels: places the text beside each arrow so that it covers nothing else.

Texts are placed one after the other, each at the first position near its arrow that is free of boxes,
arrows and other texts. If there is none, we take the position that costs least: a text that an arrow
crosses can still be read, a text under another one cannot.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from minigrad.tape.document import Bounds, DrawnRoute, LabelPlace
from minigrad.tape.render.layout import Point, sideways

APART = 6.0  # half the distance between an arrow and the gradient's arrow next to it
LINE = 14.0  # the height of a line of text
VALUE = 64.0  # room for a number, which the inspector may write there
LONGEST = 240.0
FAR = 60.0  # a wider text may be further away from its arrow
CELL = 32.0
COVERED = 100  # the cost of a box or a text below a text; that of a small piece of an arrow is 1


class Taken:
    """The occupied places, in a grid, so that only nearby ones are checked."""

    def __init__(self) -> None:
        # Each place: left, top, right, bottom, and the cost of covering it.
        self._drawn: list[tuple[float, float, float, float, int]] = []
        self._cells: dict[tuple[int, int], list[int]] = {}  # grid cell -> indices in _drawn

    def add(self, place: Bounds, cost: int = COVERED) -> None:
        """Mark a place as occupied."""
        for cell in _cells(place):
            self._cells.setdefault(cell, []).append(len(self._drawn))
        self._drawn.append((place.x, place.y, place.x + place.width, place.y + place.height, cost))

    def over(self, place: Bounds) -> int:
        """The cost of a text here: 0 if it overlaps nothing."""
        x, y, right, bottom = place.x, place.y, place.x + place.width, place.y + place.height
        near = {k for cell in _cells(place) for k in self._cells.get(cell, ())}
        drawn = map(self._drawn.__getitem__, near)
        return sum(
            cost * (x < r and left < right and y < b and top < bottom)
            for left, top, r, b, cost in drawn
        )

    def freest(self, places: Iterable[Bounds]) -> Bounds:
        """The first free place; if there is none, the first one that costs least."""
        drawn: dict[Bounds, int] = {}
        for place in places:
            drawn[place] = self.over(place)
            if not drawn[place]:
                return place
        return min(drawn, key=drawn.__getitem__)


def labelled(
    routes: Sequence[DrawnRoute],
    texts: Sequence[tuple[Sequence[float], float]],
    boxes: Iterable[Bounds],
) -> list[DrawnRoute]:
    """The routes, with positions for their texts.

    texts    for each route: the widths of the lines beside its gradient (empty without a gradient),
             and the width of "in place" or "view" (0 without either)
    boxes    the boxes and the chips
    """
    taken = Taken()
    for b in boxes:
        taken.add(Bounds(b.x - 2, b.y - 2, b.width + 4, b.height + 4))
        taken.add(Bounds(b.x + b.width, b.y, 24, 18))  # for the position in the queue
    for route, (lines, _) in zip(routes, texts, strict=True):
        for place in _along(route, APART if lines else 0.0):
            taken.add(place, 1)
    places: list[Bounds | None] = []
    marks: list[LabelPlace | None] = []
    for route, (lines, wide) in zip(routes, texts, strict=True):
        places.append(_place(taken, route, lines) if lines else None)
        marks.append(_mark(taken, route, wide) if wide else None)
    return [
        replace(route, label=place and _label(place, _room(taken, place, LONGEST)), mark=mark)
        for route, place, mark in zip(routes, places, marks, strict=True)
    ]


def _label(place: Bounds, room: float) -> LabelPlace:
    return LabelPlace(round(place.x, 1), place.y + 11, round(room))


def _place(taken: Taken, route: DrawnRoute, lines: Sequence[float]) -> Bounds:
    """A position near the head of the gradient arrow, or further down along it."""
    wide, height = max(*lines, 30.0), LINE * len(lines)
    ends = [route.points[0], *route.points[1:-1:2]]
    right = route.points[1][0] <= route.points[0][0]
    places = []
    # Beside the arrow, and, if a text is long, also further away
    for (x, y), out in product(ends, (0.0, 20.0, 40.0) if wide > FAR else (0.0,)):
        for down in (2.0, 16.0, 30.0, 44.0):
            sides = [x + APART + 6 + out, x - APART - 6 - out - wide]
            places += [Bounds(at, y + down, wide, height) for at in sides[:: 1 if right else -1]]
    best = taken.freest(places)
    best = best._replace(width=_room(taken, best, VALUE))
    taken.add(best)
    return best


def _mark(taken: Taken, route: DrawnRoute, wide: float) -> LabelPlace | None:
    """A free position beside the head of the arrow, or none: that its line is double says it, too."""
    x, y = route.points[-1]
    sides = x - APART - 9 - wide, x + APART + 9
    best = taken.freest(Bounds(at, y - up, wide, LINE) for up in (19.0, 33.0) for at in sides)
    if taken.over(best) >= COVERED:
        return None
    taken.add(best)
    return _label(best, wide)


def _room(taken: Taken, place: Bounds, longest: float) -> float:
    """The free width at this place, up to the longest; at least the width of the place itself."""
    wide, height = place.width, min(place.height, LINE)
    while wide < longest and not taken.over(Bounds(place.x + wide, place.y, 8.0, height)):
        wide += 8
    return wide


def _along(route: DrawnRoute, apart: float) -> Iterator[Bounds]:
    """Small places that cover an arrow and the gradient arrow beside it."""
    half = apart + 2
    knees = iter(route.knees)
    for k, ((x0, y0), (x1, y1)) in enumerate(zip(route.points, route.points[1:], strict=False)):
        if k % 2:
            yield Bounds(x0 - half, y0, 2 * half, y1 - y0)
            continue
        here = x0, y0
        for piece in sideways(here, (x1, y1), next(knees)):
            for x, y in _points(here, piece):
                yield Bounds(x - half, y - half, 2 * half, 2 * half)
            here = piece[-1]


def _points(start: Point, piece: Sequence[Point]) -> Iterator[Point]:
    """Points along one piece of a line, straight or curved."""
    (x0, y0), (x3, y3) = start, piece[-1]
    (x1, y1), (x2, y2) = piece[:2] if len(piece) == 3 else (start, piece[-1])
    pieces = max(6, int(abs(x3 - x0) / 14))
    for t in (i / pieces for i in range(pieces + 1)):
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        yield a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3


def _cells(place: Bounds) -> list[tuple[int, int]]:
    columns = range(int(place.x // CELL), int((place.x + place.width) // CELL) + 1)
    rows = range(int(place.y // CELL), int((place.y + place.height) // CELL) + 1)
    return [*product(columns, rows)]
