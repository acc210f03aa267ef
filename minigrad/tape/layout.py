"""Layered layout: where each box of a tape's picture goes.

A tape is an acyclic graph, so it can be drawn in layers with all arrows
pointing down. Finding the best such picture is hard; the standard method splits
the problem into five steps that have good solutions:

    layers        the layer of each box: the longest path to it; leaves are then moved
                  down, next to their first use
    chips         a leaf that is used far below is repeated there, in a small chip,
                  instead of being connected by a long line
    dummies       an arrow that passes through a layer gets a place there, like an
                  invisible box, so that it does not cross other boxes
    order         the order of the boxes in a layer: put each box at the mean position of
                  its neighbors, layer by layer, down and up, and swap adjacent
                  boxes as long as this removes crossings
    coordinates   as close to the neighbors as the boxes to the left and right allow

The first three are in layers.py, the others in ordering.py and coordinates.py.

The same graph always gives the same picture: nothing here depends on hashes, the
time, or installed fonts. There is no recursion: a tape may have thousands of
layers.

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical
system structures (1981).

Not included: folding of repeats and scopes, and nested boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minigrad.tape.coordinates import centers
from minigrad.tape.layers import Box as Box
from minigrad.tape.layers import Layers
from minigrad.tape.measure import text_width as text_width
from minigrad.tape.ordering import in_order

LAYER_GAP = 54.0  # between the bottom of a layer and the top of the next

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a box or a chip: its top left corner, its size, its layer."""

    x: float
    y: float
    width: float
    height: float
    layer: int


@dataclass(frozen=True, slots=True)
class Route:
    """The route of one edge: points from the bottom of its source to the top of its target.

    Between points 0 and 1, 2 and 3, ... the arrow crosses the gap between two layers
    (and may be slanted); in between it goes straight down through a layer. ``chip`` is
    the number of the chip it starts from, or None.
    """

    points: tuple[Point, ...]
    chip: int | None


@dataclass(frozen=True, slots=True)
class Chip:
    """A copy of a leaf next to a distant use."""

    of: str
    place: Place


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a graph; ``routes`` is aligned with the given edges."""

    width: float
    height: float
    boxes: dict[str, Place]
    chips: tuple[Chip, ...]
    routes: tuple[Route, ...]
    crossings: int


def lay_out(boxes: Sequence[Box], edges: Sequence[tuple[str, str]]) -> Layout:
    """Place the boxes in layers so that every edge points down.

    boxes    ids must differ
    edges    (source id, target id); the same pair may occur twice, as in x * x

    Raises ValueError if two boxes have the same id, or if the edges form a cycle.

    >>> a, b = Box("a", 40, 20, leaf=True), Box("b", 40, 20)
    >>> lay_out([a, b], [("a", "b")]).boxes["b"].layer
    1
    """
    layers = Layers(boxes, edges)
    rows, crossings = in_order(layers)
    return _Answer(layers, rows, crossings, centers(layers, rows)).layout()


class _Answer:
    """Places and routes, from the layers, the order and the coordinates."""

    def __init__(
        self, layers: Layers, rows: list[list[int]], crossings: int, x: list[float]
    ) -> None:
        self.layers, self.rows, self.crossings, self.x = layers, rows, crossings, x

    def layout(self) -> Layout:
        rows, crossings = self.rows, self.crossings
        real = range(self.layers.first_dummy)
        left = min((self.x[v] - self.layers.width[v] / 2 for v in range(len(self.x))), default=0.0)
        right = max((self.x[v] + self.layers.width[v] / 2 for v in range(len(self.x))), default=0.0)
        center = [round(x - left) for x in self.x]
        tops: list[float] = []
        y = 0.0
        heights = [max(self.layers.height[v] for v in row) for row in rows]
        for height in heights:
            tops.append(y)
            y += height + LAYER_GAP
        places = []
        for v in real:
            # Boxes are aligned with the bottom of their layer, so that a chip is near its use.
            i = self.layers.layer[v]
            bottom = tops[i] + heights[i]
            places.append(
                Place(
                    round(center[v] - self.layers.width[v] / 2, 1),
                    bottom - self.layers.height[v],
                    self.layers.width[v],
                    self.layers.height[v],
                    i,
                )
            )
        n = len(self.layers.boxes)
        return Layout(
            width=round(right - left),
            height=max(y - LAYER_GAP, 0.0),
            boxes={box.id: places[v] for v, box in enumerate(self.layers.boxes)},
            chips=tuple(
                Chip(self.layers.boxes[u].id, places[n + c])
                for c, u in enumerate(self.layers.chip_of)
            ),
            routes=self._routes(rows, center, tops, heights, places),
            crossings=crossings,
        )

    def _routes(
        self,
        rows: list[list[int]],
        center: list[int],
        tops: list[float],
        heights: list[float],
        places: list[Place],
    ) -> tuple[Route, ...]:
        """The points of each edge, with its ends spread over the width of its boxes."""
        leaving: dict[int, list[int]] = {}
        entering: dict[int, list[int]] = {}
        for e, path in enumerate(self.layers.paths):
            leaving.setdefault(path[0], []).append(e)
            entering.setdefault(path[-1], []).append(e)
        start: dict[int, float] = {}
        end: dict[int, float] = {}
        for ports, edges_at, step in ((start, leaving, 1), (end, entering, -2)):
            for v, edges in edges_at.items():
                edges.sort(key=lambda e, step=step: (center[self.layers.paths[e][step]], e))  # type: ignore[misc]
                pitch = min(self.layers.width[v] * 0.7 / len(edges), 84.0)
                for k, e in enumerate(edges):
                    ports[e] = round(center[v] + (k - (len(edges) - 1) / 2) * pitch, 1)
        routes = []
        for e, path in enumerate(self.layers.paths):
            source, target = places[path[0]], places[path[-1]]
            points: list[Point] = [(start[e], source.y + source.height)]
            for v in path[1:-1]:
                i = self.layers.layer[v]
                points.append((center[v], tops[i]))
                points.append((center[v], tops[i] + heights[i]))
            i = self.layers.layer[path[-1]]
            points.append((end[e], target.y))
            routes.append(Route(tuple(points), self.layers.edge_chip[e]))
        return tuple(routes)
