"""The arrows of a picture: data flows down, and gradients flow up next to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minigrad.tape.document import DrawnRoute, TapeEdge
from minigrad.tape.draw_boxes import Canvas
from minigrad.tape.names import clean
from minigrad.tape.palette import BACKWARD, BACKWARD_INK, FAINT, FORWARD
from minigrad.tape.shapes import Anchor, Group, Item, Line, Point, Shape, Words

APART = 6.0  # half the distance between an arrow and the gradient's arrow next to it


class Arrows:
    """Draws the routes of a view, and what has flowed along them at the canvas's moment."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.flow: dict[tuple[str, int | None], tuple[int, int]] = {
            (a.sender, a.sent.edge): (a.sent.arrived, a.sent.expected)
            for arrivals in canvas.moment.arrived.values()
            for a in arrivals
        }
        self.leaving = Counter(r.from_ for r in canvas.view.routes)

    def route(self, number: int, route: DrawnRoute) -> Group:
        """One route: the arrow of the data, beside it the gradient's if one flows, and their title.

        number    the route's position in the view, for the id of the group
        route     its points, the ids of its edges, and the chip where it starts, or None
        """
        edges = [self.canvas.edges[e] for e in route.edges]
        edge = edges[0]
        points = [(x + self.canvas.dx, y + self.canvas.dy) for x, y in route.points]
        both = any(e.gradient for e in edges)
        items: list[Item] = []
        down = [(x - APART, y) for x, y in points] if both else points
        double = len(edges) == 1 and (edge.inplace or edge.view)
        for shift in (-2.2, 2.2) if double else (0.0,):
            line = [(x + shift, y) for x, y in down]
            items.append(leaning(line, FORWARD, 1.6, end=-8, side=-both))
        items.append(arrow_head(down[-1], FORWARD))
        title = (
            f"{self._called(route.from_, edge.from_)} goes into {self._called(route.to, edge.to)}"
        )
        if both:
            items += self._gradient(edges, points, down)
            title += ", its gradient comes back"
        if double:
            x, y = down[-1]
            what = "in place" if edge.inplace else "view"
            items.append(Words(x - 9, y - 8, what, 10.5, FAINT, anchor="end"))
        return Group(f"{self.canvas.prefix}-r{number}", clean(title), tuple(items))

    def _gradient(
        self, edges: list[TapeEdge], points: list[Point], down: list[Point]
    ) -> list[Item]:
        up = [(x + APART, y) for x, y in points]
        edge = edges[0]
        flow = self.flow.get((edge.to, edge.backward_edge))
        ink = BACKWARD_INK if flow else BACKWARD
        items: list[Item] = [leaning(up, ink, 1.8, "5 4", start=8, side=1)]
        items.append(arrow_head(up[0], ink, -9.0))
        words = []
        if len(edges) > 1:
            words.append(f"{len(edges)} arrows")
        elif flow and flow[1] > 1:
            many, wide = self.leaving[edge.from_], self.canvas.view.boxes[edge.from_].width
            crowded = many > 1 and wide * 0.7 / many < 84
            words.append(f"{flow[0]}/{flow[1]}" if crowded else f"{flow[0]} of {flow[1]}")
        words += [edge.summed] if edge.summed and len(edges) == 1 else []
        # Next to the arrow's head, on the side away from which the two lines lean.
        (x, y), right = up[0], up[1][0] <= up[0][0]
        at = x + 8 if right else down[0][0] - 5
        anchor: Anchor = "start" if right else "end"
        for k, said in enumerate(words):
            items.append(Words(at, y + 13 + 14 * k, said, 10.5, BACKWARD_INK, True, False, anchor))
        return items

    def _called(self, box: str, node: str) -> str:
        group = self.canvas.groups.get(box)
        return self.canvas.found.node(node).name if group is None else group.title


def leaning(
    points: Sequence[Point],
    stroke: str,
    thick: float,
    dash: str = "",
    start: float = 0,
    end: float = 0,
    side: int = 0,
) -> Line:
    """A line along a route: slanted between two layers, and straight within one.

    start, end   how much to leave out at its ends, for an arrowhead
    side         -1, 1: it is the left or the right one of two parallel lines. Slanted
                 lines would meet, so one of them stays above the other there
    """
    points = [
        (points[0][0], points[0][1] + start),
        *points[1:-1],
        (points[-1][0], points[-1][1] + end),
    ]
    pieces: list[tuple[Point, ...]] = []
    for k in range(1, len(points)):
        (x0, y0), (x1, y1) = points[k - 1], points[k]
        if k % 2 == 0 or x0 == x1:
            pieces.append(((x1, y1),))
        else:
            middle = (y0 + y1) / 2 + (-side if x1 > x0 else side) * APART
            pieces.append(((x0, middle), (x1, middle), (x1, y1)))
    return Line(points[0], tuple(pieces), stroke, thick, dash)


def arrow_head(tip: Point, fill: str, back: float = 9.0, half: float = 4.5) -> Shape:
    """The head of an arrow that points down; up, if `back` is negative."""
    x, y = tip
    return Shape((tip, (x - half, y - back), (x + half, y - back)), fill)
