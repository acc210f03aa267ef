"""Layered layout: where each box of a tape's picture goes.

A tape is a graph without cycles, so it can be drawn in layers with every arrow
pointing down. Finding the prettiest such picture is hard; the classical recipe cuts
it into five questions with good answers:

    layers        how far down is each box? The longest path to it; a leaf is then
                  pulled down beside its first use
    chips         a leaf that is used far below itself is named again there, in a
                  small chip, rather than joined by a long line
    dummies       an arrow that passes through a layer takes a place there, as a box
                  without ink would, so that it does not run over other boxes
    order         who stands left of whom in a layer? Put each box at the mean place of
                  its neighbors, layer by layer, down and up, and swap two that
                  stand side by side while that removes crossings
    coordinates   as near to the neighbors as the boxes to the left and right allow

The same graph always gives the same picture: nothing here depends on a hash, a
clock, or a font that is installed. There is no recursion: a tape may be thousands of
layers deep.

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical
system structures (1981); the crossing count is Barth, Jünger, Mutzel, Simple and
efficient bilayer cross counting (2002).

Left out: folding of repeats and scopes, and boxes that contain boxes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

LAYER_GAP = 54.0  # between the bottom of a layer and the top of the next
BOX_GAP = 26.0  # between two boxes of a layer
DUMMY_GAP = 20.0  # between a passing arrow and its neighbors
CHIP_SPAN = 3  # a leaf used more layers below itself than this is named again there
DUMMY_SPAN = 40  # a longer arrow is drawn as one curve, or dummies would outnumber boxes
CHIP_HEIGHT = 22.0
SWEEPS = 12
PATIENCE = 4  # sweeps without gain before the search for a better order stops
SMALL = 300  # with more boxes than this, only two of the four starts are tried
STARTS = (("ups", False), ("downs", False), ("ups", True), ("downs", True))
CAREFUL = 1_200  # with more boxes than this, neighbors are not swapped
EFFORT = 150_000  # how many pairs of neighbors are looked at, at most, for swapping

# How much an arrow wants to be straight. What stands on the longest path to a box, its
# spine, pulls; an arrow from elsewhere (a shortcut around some layers, a short side
# branch) follows, and a leaf hardly counts. With weights of one size each repeat of
# a network would be shifted a little by what stands beside it, and the picture of
# a deep one would drift sideways by its own length.
SPINE, PASSING, SIDE, LEAF_PASSING, LEAF = 2.0, 1e-2, 1e-3, 1e-4, 1e-7

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A box to be placed. A leaf may be repeated as a chip of width ``chip``."""

    id: str
    width: float
    height: float
    leaf: bool = False
    chip: float = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box or a chip stands: its top left corner, its size, its layer."""

    x: float
    y: float
    width: float
    height: float
    layer: int


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one edge: points from the bottom of its source to the top of its target.

    Between points 0 and 1, 2 and 3, ... the arrow crosses the gap between two layers
    (and may lean); in between it passes straight down through a layer. ``chip`` is
    the number of the chip it starts from, or None.
    """

    points: tuple[Point, ...]
    chip: int | None


@dataclass(frozen=True, slots=True)
class Chip:
    """A leaf named again beside a far use."""

    of: str
    place: Place


@dataclass(frozen=True, slots=True)
class Layout:
    """A placed graph; ``routes`` is aligned with the edges that were given."""

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

    Raises ValueError if two boxes have one id, or if the edges form a cycle.

    >>> a, b = Box("a", 40, 20, leaf=True), Box("b", 40, 20)
    >>> lay_out([a, b], [("a", "b")]).boxes["b"].layer
    1
    """
    return _Layered(boxes, edges).layout()


class _Layered:
    """The graph while it is being laid out.

    Vertices are numbered: first the boxes, in the order given, then the chips, then
    the dummies. A segment joins two vertices of layers that follow each other.
    """

    def __init__(self, boxes: Sequence[Box], edges: Sequence[tuple[str, str]]) -> None:
        number = {box.id: v for v, box in enumerate(boxes)}
        if len(number) != len(boxes):
            raise ValueError("lay_out: two boxes have the same id.")
        self.boxes = boxes
        self.ends = [(number[u], number[v]) for u, v in edges]
        self.layer: list[int] = []
        self.depth: list[int] = []  # the longest path to a box, before any is pulled
        self.width = [box.width for box in boxes]
        self.height = [box.height for box in boxes]
        self.light = [box.leaf for box in boxes]  # leaves, chips, and arrows from them
        self.chip_of: list[int] = []
        self.edge_chip: list[int | None] = [None] * len(edges)
        self.paths: list[list[int]] = []
        self.ups: list[list[int]] = []
        self.downs: list[list[int]] = []
        self.x: list[float] = []

    def layout(self) -> Layout:
        self._assign_layers()
        self._add_chips()
        self._add_dummies()
        rows, crossings = self._order()
        self._coordinates(rows)
        return self._result(rows, crossings)

    # ---- layers ------------------------------------------------------------------

    def _assign_layers(self) -> None:
        """Longest path from the top; then pull a box down to its first use.

        A box is pulled when fewer computed values come into it than it hands on:
        that shortens more arrows than it lengthens. Leaves always are.
        """
        n = len(self.boxes)
        consumers: list[list[int]] = [[] for _ in range(n)]
        computed_inputs = [0] * n
        missing = [0] * n
        for u, v in self.ends:
            consumers[u].append(v)
            missing[v] += 1
            computed_inputs[v] += not self.boxes[u].leaf
        layer = [0] * n
        order = [v for v in range(n) if not missing[v]]
        for u in order:  # grows while it is walked: Kahn's algorithm
            for v in consumers[u]:
                layer[v] = max(layer[v], layer[u] + 1)
                missing[v] -= 1
                if not missing[v]:
                    order.append(v)
        if len(order) != n:
            raise ValueError("lay_out: the edges form a cycle, so they cannot all point down.")
        self.depth = layer[:]
        for u in reversed(order):
            if consumers[u] and computed_inputs[u] < len(consumers[u]):
                layer[u] = min(layer[v] for v in consumers[u]) - 1
        self.layer = layer

    def _add_chips(self) -> None:
        """One chip for each layer in which a far leaf is used."""
        chips: dict[tuple[int, int], int] = {}
        for e, (u, v) in enumerate(self.ends):
            above = self.layer[v] - 1
            if not self.boxes[u].leaf or above + 1 - self.layer[u] <= CHIP_SPAN:
                continue
            if (u, above) not in chips:
                chips[u, above] = len(self.layer)
                self.chip_of.append(u)
                self.layer.append(above)
                self.width.append(self.boxes[u].chip)
                self.height.append(CHIP_HEIGHT)
                self.light.append(True)
            self.edge_chip[e] = chips[u, above] - len(self.boxes)
            self.ends[e] = (chips[u, above], v)

    def _add_dummies(self) -> None:
        """Cut every edge into segments from layer to layer."""
        for u, v in self.ends:
            path = [u]
            if self.layer[v] - self.layer[u] <= DUMMY_SPAN:
                for layer in range(self.layer[u] + 1, self.layer[v]):
                    path.append(len(self.layer))
                    self.layer.append(layer)
                    self.width.append(0.0)
                    self.height.append(0.0)
                    self.light.append(self.light[u])
            path.append(v)
            self.paths.append(path)
        self.first_dummy = len(self.boxes) + len(self.chip_of)
        self.ups = [[] for _ in self.layer]
        self.downs = [[] for _ in self.layer]
        for path in self.paths:
            for u, v in pairwise(path):
                if self.layer[v] - self.layer[u] == 1:
                    self.downs[u].append(v)
                    self.ups[v].append(u)

    # ---- order -------------------------------------------------------------------

    def _order(self) -> tuple[list[list[int]], int]:
        """The order within each layer with the fewest crossings that was met."""
        best: list[list[int]] = []
        fewest = -1
        effort = EFFORT
        for neighbors, mirrored in STARTS if len(self.boxes) <= SMALL else STARTS[:2]:
            rows = self._depth_first(self.ups if neighbors == "ups" else self.downs, mirrored)
            crossings = self._crossings(rows)
            if fewest < 0 or crossings < fewest:
                best, fewest = [row[:] for row in rows], crossings
            idle = 0
            for sweep in range(SWEEPS):
                if fewest == 0 or idle == PATIENCE:
                    break
                self._barycentre(rows, down=sweep % 2 == 0, flip=sweep % 4 > 1)
                if len(self.boxes) <= CAREFUL:
                    effort = self._transpose(rows, effort)
                crossings = self._crossings(rows)
                idle += 1
                if crossings < fewest:
                    best, fewest, idle = [row[:] for row in rows], crossings, 0
        return self._as_written(best), max(fewest, 0)

    def _as_written(self, rows: list[list[int]]) -> list[list[int]]:
        """The picture or its mirror image: the one that has more boxes in the order given."""
        last = self.first_dummy
        pairs = [(u, v) for row in rows for u, v in pairwise(w for w in row if w < last)]
        if 2 * sum(u > v for u, v in pairs) <= len(pairs):
            return rows
        return [row[::-1] for row in rows]

    def _depth_first(self, neighbors: list[list[int]], mirrored: bool) -> list[list[int]]:
        """Rows in the order in which a depth-first walk meets the vertices."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        back = self.ups if neighbors is self.downs else self.downs
        starts = [v for v in range(len(self.layer)) if not back[v]]
        seen = [False] * len(self.layer)
        stack = starts[::-1]
        while stack:
            v = stack.pop()
            if seen[v]:
                continue
            seen[v] = True
            rows[self.layer[v]].append(v)
            onward = neighbors[v] if mirrored else reversed(neighbors[v])
            stack.extend(w for w in onward if not seen[w])
        return rows

    def _barycentre(self, rows: list[list[int]], down: bool, flip: bool) -> None:
        """One sweep: each vertex goes to the mean place of its neighbors.

        A vertex without neighbors on that side keeps its place; with `flip`, two
        that want the same place are exchanged.
        """
        near = self.ups if down else self.downs
        place = [0] * len(self.layer)
        layers = range(len(rows)) if down else range(len(rows) - 1, -1, -1)
        for i in layers:
            row = rows[i]
            if len(row) > 1:
                mean = {v: sum([place[w] for w in near[v]]) / len(near[v]) for v in row if near[v]}
                moving = list(mean)[::-1] if flip else list(mean)
                moved = iter(sorted(moving, key=mean.__getitem__))  # a stable sort
                row[:] = [next(moved) if near[v] else v for v in row]
            for p, v in enumerate(row):
                place[v] = p

    def _transpose(self, rows: list[list[int]], effort: int) -> int:
        """Swap vertices that stand side by side while that removes crossings."""
        place = [0] * len(self.layer)
        for row in rows:
            for p, v in enumerate(row):
                place[v] = p
        changed = set(range(len(rows)))
        while changed and effort > 0:
            again: set[int] = set()
            for i in sorted(changed):
                row = rows[i]
                ups = [sorted([place[w] for w in self.ups[v]]) for v in row]
                downs = [sorted([place[w] for w in self.downs[v]]) for v in row]
                effort -= len(row)
                swapped = False
                for p in range(len(row) - 1):
                    now = _inversions(ups[p], ups[p + 1]) + _inversions(downs[p], downs[p + 1])
                    if not now:
                        continue
                    then = _inversions(ups[p + 1], ups[p]) + _inversions(downs[p + 1], downs[p])
                    if then < now:
                        row[p], row[p + 1] = row[p + 1], row[p]
                        ups[p], ups[p + 1] = ups[p + 1], ups[p]
                        downs[p], downs[p + 1] = downs[p + 1], downs[p]
                        place[row[p]], place[row[p + 1]] = p, p + 1
                        swapped = True
                if swapped:
                    again.update(j for j in (i - 1, i, i + 1) if 0 <= j < len(rows))
            changed = again
        return effort

    def _crossings(self, rows: list[list[int]]) -> int:
        """How many pairs of segments cross, by a Fenwick tree over each lower row."""
        place = [0] * len(self.layer)
        for row in rows:
            for p, v in enumerate(row):
                place[v] = p
        total = 0
        for upper, lower in pairwise(rows):
            if len(upper) < 2 or len(lower) < 2:
                continue
            size = len(lower)
            tree = [0] * (size + 1)
            passed = 0
            for u in upper:
                below = sorted([place[w] for w in self.downs[u]])
                for p in below:  # earlier segments that end to the right of p cross this one
                    k, left = p + 1, 0
                    while k:
                        left += tree[k]
                        k &= k - 1
                    total += passed - left
                for p in below:
                    k = p + 1
                    while k <= size:
                        tree[k] += 1
                        k += k & -k
                passed += len(below)
        return total

    # ---- coordinates -------------------------------------------------------------

    def _coordinates(self, rows: list[list[int]]) -> None:
        """Center of each vertex: near its neighbors, in order, without overlap.

        Sweeps down (neighbors above), up (neighbors below), and at last with
        both. Each layer is solved exactly; see `_settle`.
        """
        self.x = [0.0] * len(self.layer)
        offsets = []
        for row in rows:
            at, offset = 0.0, []
            for p, v in enumerate(row):
                if p:
                    u = row[p - 1]
                    passing = u >= self.first_dummy or v >= self.first_dummy
                    gap = DUMMY_GAP if passing else BOX_GAP
                    at += (self.width[u] + self.width[v]) / 2 + gap
                offset.append(at)
            for p, v in enumerate(row):
                self.x[v] = offset[p] - at / 2
            offsets.append(offset)
        pull: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        push: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        for v, above in enumerate(self.ups):
            for u in above:
                weight = self._weight(u, v)
                pull[v].append((u, weight))
                push[u].append((v, weight))
        down, up = range(len(rows)), range(len(rows) - 1, -1, -1)
        for _ in range(4):
            for layers, sides in ((down, (pull,)), (up, (push,))):
                for i in layers:
                    self._settle(rows[i], offsets[i], sides)
        for layers in (down, up, down, up):
            for i in layers:
                self._settle(rows[i], offsets[i], (pull, push))

    def _weight(self, u: int, v: int) -> float:
        passing = u >= self.first_dummy and v >= self.first_dummy
        if self.light[u]:
            return LEAF_PASSING if passing else LEAF
        if passing:
            return PASSING
        on_spine = v < len(self.depth) and u < len(self.depth)
        return SPINE if on_spine and self.depth[v] == self.depth[u] + 1 else SIDE

    def _settle(
        self,
        row: list[int],
        offset: list[float],
        sides: tuple[list[list[tuple[int, float]]], ...],
    ) -> None:
        """Move one layer as near to its wishes as order and gaps allow.

        With the minimum distances subtracted (`offset`), the centers must only not
        decrease, and the weighted sum of squares is least when neighbors that
        want to pass each other are pooled at their common mean.
        """
        # Pools: (weighted mean, weight, how many vertices), means never decreasing.
        x = self.x
        means: list[float] = []
        weights: list[float] = []
        counts: list[int] = []
        for p, v in enumerate(row):
            total, weight = 0.0, 0.0
            for side in sides:
                for w, pull in side[v]:
                    total += pull * x[w]
                    weight += pull
            if weight:
                mean = total / weight - offset[p]
            else:
                mean, weight = x[v] - offset[p], 1e-9
            count = 1
            while means and means[-1] > mean:
                other = weights.pop()
                mean = (means.pop() * other + mean * weight) / (other + weight)
                weight += other
                count += counts.pop()
            means.append(mean)
            weights.append(weight)
            counts.append(count)
        p = 0
        for mean, count in zip(means, counts, strict=True):
            for _ in range(count):
                x[row[p]] = mean + offset[p]
                p += 1

    # ---- the answer --------------------------------------------------------------

    def _result(self, rows: list[list[int]], crossings: int) -> Layout:
        real = range(self.first_dummy)
        left = min((self.x[v] - self.width[v] / 2 for v in range(len(self.x))), default=0.0)
        right = max((self.x[v] + self.width[v] / 2 for v in range(len(self.x))), default=0.0)
        center = [round(x - left) for x in self.x]
        tops: list[float] = []
        y = 0.0
        heights = [max(self.height[v] for v in row) for row in rows]
        for height in heights:
            tops.append(y)
            y += height + LAYER_GAP
        places = []
        for v in real:
            # A box stands on the floor of its layer, so that a chip is near its use.
            i = self.layer[v]
            bottom = tops[i] + heights[i]
            places.append(
                Place(
                    round(center[v] - self.width[v] / 2, 1),
                    bottom - self.height[v],
                    self.width[v],
                    self.height[v],
                    i,
                )
            )
        n = len(self.boxes)
        return Layout(
            width=round(right - left),
            height=max(y - LAYER_GAP, 0.0),
            boxes={box.id: places[v] for v, box in enumerate(self.boxes)},
            chips=tuple(Chip(self.boxes[u].id, places[n + c]) for c, u in enumerate(self.chip_of)),
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
        """The points of each edge, its ends spread over the width of its boxes."""
        leaving: dict[int, list[int]] = {}
        entering: dict[int, list[int]] = {}
        for e, path in enumerate(self.paths):
            leaving.setdefault(path[0], []).append(e)
            entering.setdefault(path[-1], []).append(e)
        start: dict[int, float] = {}
        end: dict[int, float] = {}
        for ports, edges_at, step in ((start, leaving, 1), (end, entering, -2)):
            for v, edges in edges_at.items():
                edges.sort(key=lambda e, step=step: (center[self.paths[e][step]], e))  # type: ignore[misc]
                pitch = min(self.width[v] * 0.7 / len(edges), 84.0)
                for k, e in enumerate(edges):
                    ports[e] = round(center[v] + (k - (len(edges) - 1) / 2) * pitch, 1)
        routes = []
        for e, path in enumerate(self.paths):
            source, target = places[path[0]], places[path[-1]]
            points: list[Point] = [(start[e], source.y + source.height)]
            for v in path[1:-1]:
                i = self.layer[v]
                points.append((center[v], tops[i]))
                points.append((center[v], tops[i] + heights[i]))
            i = self.layer[path[-1]]
            points.append((end[e], target.y))
            routes.append(Route(tuple(points), self.edge_chip[e]))
        return tuple(routes)


def _inversions(left: list[int], right: list[int]) -> int:
    """How many pairs (a in left, b in right) have a > b; both are sorted."""
    total = 0
    k = 0
    for a in left:
        while k < len(right) and right[k] < a:
            k += 1
        total += k
    return total


# Widths of DejaVu Sans, in thousandths of the font size. It is the widest of the
# usual sans-serif fonts, so a text set in another one does not leave its box.
_WIDTHS = {
    278: "ijl",
    295: "IJ",
    318: " ,.",
    337: ":;/\\|",
    352: "f",
    361: "-",
    392: "t()[]",
    411: "r",
    500: "_*'\"!",
    521: "s",
    525: "z",
    550: "c",
    580: "kL",
    592: "vxyF",
    615: "aeoT",
    636: "bdghnpqu0123456789$#?E{}",
    690: "PVXYZSRBKA",
    770: "CDHGNU",
    800: "OQ",
    838: "w+<>=~^&",
    870: "M",
    980: "mW@%",
}
_WIDTH_OF = {c: width for width, characters in _WIDTHS.items() for c in characters}
MONOSPACE = 602


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """The width of a text in pixels, the same on every machine.

    size     the font size in pixels
    mono     for a fixed-pitch font

    >>> text_width("mm", 10)
    19.6
    """
    total = 0
    for c in text:
        if unicodedata.combining(c):
            continue
        if unicodedata.east_asian_width(c) in "WF":
            total += 1000
        else:
            total += MONOSPACE if mono else _WIDTH_OF.get(c, 690)
    if bold and not mono:
        total = total * 11 // 10
    return round(total * size / 1000, 1)
