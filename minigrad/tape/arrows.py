"""The arrows of a picture: data flows down, and gradients flow up next to it."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.tape import palette
from minigrad.tape.boxes import LABEL, edge_mark
from minigrad.tape.document import DrawnRoute, LabelPlace, TapeEdge
from minigrad.tape.draw_boxes import Canvas
from minigrad.tape.labels import APART, LINE
from minigrad.tape.lanes import sideways
from minigrad.tape.names import clean
from minigrad.tape.shapes import Group, Item, Line, Point, Shape, Words

LEAN = 8.0  # half the distance between their knees, where they go sideways


class Arrows:
    """Draws the routes of a view, and what has flowed along them at the canvas's moment."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.flow: dict[tuple[str, int | None], tuple[int, int]] = {
            (a.sender, a.sent.edge): (a.sent.arrived, a.sent.expected)
            for arrivals in canvas.moment.arrived.values()
            for a in arrivals
        }

    def route(self, number: int, route: DrawnRoute) -> Group:
        """One route: the arrow of the data, beside it the gradient's if one flows, and their title.

        number    the route's position in the view, for the id of the group
        route     its points, the ids of its edges, and the chip where it starts, or None
        """
        edges = [self.canvas.edges[e] for e in route.edges]
        edge = edges[0]
        points = [(x + self.canvas.dx, y + self.canvas.dy) for x, y in route.points]
        knees = [y + self.canvas.dy for y in route.knees]
        both = any(e.gradient for e in edges)
        items: list[Item] = []
        down = [(x - APART, y) for x, y in points] if both else points
        double = len(edges) == 1 and (edge.inplace or edge.view)
        for shift in (-2.2, 2.2) if double else (0.0,):
            line = [(x + shift, y) for x, y in down]
            items.append(leaning(line, palette.FORWARD, 1.6, knees=knees, end=-8, side=-both))
        items.append(arrow_head(down[-1], palette.FORWARD))
        title = (
            f"{self._called(route.from_, edge.from_)} goes into {self._called(route.to, edge.to)}"
        )
        if both:
            items += self._gradient(edges, points, knees, route.label)
            title += ", its gradient comes back"
        if route.mark:
            items.append(self._words(route.mark, edge_mark(edge), palette.FAINT))
        return Group(f"{self.canvas.prefix}-r{number}", clean(title), tuple(items))

    def _gradient(
        self,
        edges: list[TapeEdge],
        points: list[Point],
        knees: list[float],
        label: LabelPlace | None,
    ) -> list[Item]:
        up = [(x + APART, y) for x, y in points]
        edge = edges[0]
        flow = self.flow.get((edge.to, edge.backward_edge))
        ink = palette.BACKWARD_INK if flow else palette.BACKWARD
        items: list[Item] = [leaning(up, ink, 1.8, "5 4", knees=knees, start=8, side=1)]
        items.append(arrow_head(up[0], ink, -9.0))
        words = []
        if len(edges) > 1:
            words.append(f"{len(edges)} arrows")
        elif flow and flow[1] > 1:
            words.append(f"{flow[0]} of {flow[1]}")
        words += [edge.summed] if edge.summed and len(edges) == 1 else []
        if label is not None:
            items += [
                self._words(label, said, palette.BACKWARD_INK, k) for k, said in enumerate(words)
            ]
        return items

    def _words(self, place: LabelPlace, said: str, ink: str, line: int = 0) -> Words:
        x, y = place.x + self.canvas.dx, place.y + self.canvas.dy + LINE * line
        return Words(x, y, said, LABEL, ink, bold=ink == palette.BACKWARD_INK)

    def _called(self, box: str, node: str) -> str:
        group = self.canvas.groups.get(box)
        return self.canvas.found.node(node).name if group is None else group.title


def leaning(
    points: Sequence[Point],
    stroke: str,
    thick: float,
    dash: str = "",
    *,
    knees: Sequence[float],
    start: float = 0,
    end: float = 0,
    side: int = 0,
) -> Line:
    """A line along a route: it goes sideways between two layers, and straight down within one.

    knees        at what height, in each gap between two layers
    start, end   how much to leave out at its ends, for an arrowhead
    side         -1, 1: it is the left or the right one of two parallel lines. Slanted
                 lines would meet, so one of them has its knee above the other's
    """
    points = [
        (points[0][0], points[0][1] + start),
        *points[1:-1],
        (points[-1][0], points[-1][1] + end),
    ]
    pieces: list[tuple[Point, ...]] = []
    for k in range(1, len(points)):
        (x0, _), (x1, y1) = points[k - 1], points[k]
        if k % 2 == 0 or x0 == x1:
            pieces.append(((x1, y1),))
        else:
            middle = knees[k // 2] + (-side if x1 > x0 else side) * LEAN
            pieces += sideways(points[k - 1], points[k], middle)
    return Line(points[0], tuple(pieces), stroke, thick, dash)


def arrow_head(tip: Point, fill: str, back: float = 9.0, half: float = 4.5) -> Shape:
    """The head of an arrow that points down; up, if `back` is negative."""
    x, y = tip
    return Shape((tip, (x - half, y - back), (x + half, y - back)), fill)
