"""Layered layout: places the boxes of a tape's picture.

A tape is an acyclic graph, so it can be drawn in layers with all arrows
pointing down. Finding the best such picture is hard; the standard method splits
the problem into steps that have good solutions:

    layers        the layer of each box: the longest path to it; leaves are then moved
                  down, next to their first use
    chips         a leaf that is used far below is repeated there as a small chip,
                  instead of being connected by a long line
    dummies       an arrow that passes through a layer gets an invisible box there, so that
                  it does not cross other boxes
    order         the order of the boxes in a layer: put each box at the mean position of
                  its neighbors, layer by layer, down and up, and swap adjacent
                  boxes as long as this removes crossings
    coordinates   as close to the neighbors as the boxes to the left and right allow
    lanes         between two layers, an arrow goes down, sideways, and down again. Arrows
                  whose sideways parts overlap get separate lanes, and the gap between the
                  layers grows with the number of lanes

The first four are in layers.py.

The same graph always gives the same picture: nothing here depends on hashes, the
time, or installed fonts. There is no recursion, so a tape can have thousands of
layers.

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical
system structures (1981).

Not included: folding of repeats and scopes, and nested boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minigrad.tape.document import Bounds, Chip, DrawnRoute
from minigrad.tape.render.layers import PORT, Box, Layers, in_order

LAYER_GAP = 54.0  # between the bottom of a layer and the top of the next
BOX_GAP = 26.0  # between two boxes in a layer
DUMMY_GAP = 20.0  # between a passing arrow and its neighbors
SPINE, PASSING, SIDE, LEAF_PASSING, LEAF = 2.0, 1e-2, 1e-3, 1e-4, 1e-7

SLANTED = 40.0  # an arrow with a shorter sideways part needs no lane
SHARED = 24.0  # two arrows with a smaller overlap can share a lane
MOST_LANES = 5
BEND = 40.0  # the width of a bend
LANE = 24.0  # the height of a lane, for a data arrow and a gradient arrow

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BoxLayout:
    """The layout of a graph; ``routes`` is aligned with the given edges."""

    width: float
    height: float
    boxes: dict[str, Bounds]
    chips: list[Chip]
    routes: list[DrawnRoute]
    crossings: int


def lay_out(boxes: Sequence[Box], edges: Sequence[tuple[str, str]]) -> BoxLayout:
    """Place the boxes in layers so that every edge points down.

    boxes    ids must differ
    edges    (source id, target id); the same pair may occur twice, as in x * x

    Raises CycleError, a ValueError, if the edges form a cycle.

    >>> a, b = Box("a", 40, 20, leaf=True), Box("b", 40, 20)
    >>> lay_out([a, b], [("a", "b")]).boxes["b"].y
    74.0
    """
    layers = Layers(boxes, edges)
    rows, crossings = in_order(layers)
    x, width, height = centers(layers, rows), layers.width, layers.height
    left = min((at - wide / 2 for at, wide in zip(x, width)), default=0.0)
    right = max((at + wide / 2 for at, wide in zip(x, width)), default=0.0)
    center = [round(at - left) for at in x]
    spans = _spans(layers, center)
    lanes = _lanes(layers, spans, len(rows))
    bands: list[tuple[float, float]] = []  # the top and the bottom of each layer
    y = 0.0
    for row, gap in zip(rows, lanes, strict=True):
        bands.append((y, y + max(height[v] for v in row)))
        y = bands[-1][1] + max(LAYER_GAP, 30.0 + LANE * max(gap.values(), default=0))
    places = []
    for v in range(layers.first_dummy):
        # Boxes are aligned with the bottom of their layer, so that a chip is near its use.
        top = bands[layers.layer[v]][1] - height[v]
        places.append(Bounds(round(center[v] - width[v] / 2, 1), top, width[v], height[v]))
    chips = places[len(boxes) :]
    return BoxLayout(
        width=round(right - left),
        height=bands[-1][1] if bands else 0.0,
        boxes={box.id: place for box, place in zip(boxes, places)},
        chips=[Chip(boxes[u].id, place) for u, place in zip(layers.chip_of, chips)],
        routes=_routes(layers, edges, spans, lanes, bands, places),
        crossings=crossings,
    )


# For each edge, its x positions at the top and the bottom of each gap that it crosses.
Spans = list[list[tuple[float, float]]]


def _spans(layers: Layers, center: list[int]) -> Spans:
    starts, ends = _ports(layers, center, 0), _ports(layers, center, -1)
    found = []
    for e, (first, *inner, _) in enumerate(layers.paths):
        # A chip is small, so all its edges start at its center.
        start = starts[e] if layers.edge_chip[e] is None else center[first]
        xs = [float(start), *(float(center[v]) for v in inner), ends[e]]
        found.append([*pairwise(xs)])
    return found


def _lanes(layers: Layers, spans: Spans, count: int) -> list[dict[int, int]]:
    """For the gap below each layer, the lane of each edge that crosses it."""
    crossing: list[list[int]] = [[] for _ in range(count)]
    for e, path in enumerate(layers.paths):
        if layers.layer[path[-1]] - layers.layer[path[0]] == len(path) - 1:  # not one long curve
            for v in path[:-1]:
                crossing[layers.layer[v]].append(e)
    found = []
    for layer, edges in enumerate(crossing):
        segments = [spans[e][layer - layers.layer[layers.paths[e][0]]] for e in edges]
        found.append(dict(zip(edges, lanes_of(segments))))
    return found


def _routes(
    layers: Layers,
    edges: Sequence[tuple[str, str]],
    spans: Spans,
    lanes: list[dict[int, int]],
    bands: list[tuple[float, float]],
    places: list[Bounds],
) -> list[DrawnRoute]:
    """The points of each edge, and its knees."""
    routes = []
    most = [max(gap.values(), default=0) for gap in lanes]
    for e, path in enumerate(layers.paths):
        source, target = places[path[0]], places[path[-1]]
        points: list[Point] = []
        knees: list[float] = []
        for v, (x0, x1) in zip(path, spans[e]):
            top, layer = bands[layers.layer[v]][1], layers.layer[v]
            whole = e not in lanes[layer]
            bottom = target.y if whole else bands[layer + 1][0]
            knees.append(knee(lanes[layer].get(e, 0), most[layer], top, bottom))
            points += [(x0, top), (x1, bottom)]
        points[0] = (points[0][0], source.y + source.height)
        points[-1] = (points[-1][0], target.y)
        routes.append(DrawnRoute(*edges[e], [], points, knees, layers.edge_chip[e]))
    return routes


def _ports(layers: Layers, center: list[int], end: int) -> dict[int, float]:
    """The x position at which each edge touches its box, spread over 70% of its width, or 90% for many edges.

    end    0 for the boxes that the edges leave, -1 for the boxes that they enter
    """
    # Edges are sorted by the next vertex of their path, so that they do not cross at the box.
    following = 1 if end == 0 else -2
    edges_at: dict[int, list[int]] = {}
    for e in sorted(range(len(layers.paths)), key=lambda e: center[layers.paths[e][following]]):
        edges_at.setdefault(layers.paths[e][end], []).append(e)
    ports: dict[int, float] = {}
    for v, edges in edges_at.items():
        width = layers.width[v]
        share = 0.7 if end or len(edges) < 3 else 0.9  # where gradients arrive, they have a text
        pitch = min(max(width * share / len(edges), PORT), width * 0.9 / len(edges), 84.0)
        for k, e in enumerate(edges):
            ports[e] = round(center[v] + (k - (len(edges) - 1) / 2) * pitch, 1)
    return ports


# ---------------------------------------------------------------------- coordinates

# Each box goes as close to its neighbors as the boxes to its left and right allow. Arrows have
# weights: large for an arrow on the longest path to a box, small for other arrows (a skip
# connection, a short side branch), and almost zero for an arrow from a leaf. With equal weights,
# each repeated part of a network would be shifted a little by the boxes next to it, and the
# picture of a deep network would drift far sideways.

Neighbors = list[list[tuple[int, float]]]  # for each vertex: its neighbors, with weights


def centers(layers: Layers, rows: list[list[int]]) -> list[float]:
    """The center of each vertex: near its neighbors, in order, without overlap.

    rows    the order within each layer

    Sweeps down (using the neighbors above), then up (using the neighbors below), and finally
    uses both. Each layer is solved exactly; see `_settle`.
    """
    offsets = [_offsets(layers, row) for row in rows]
    x = [0.0] * len(layers.layer)
    for row, offset in zip(rows, offsets):
        for v, at in zip(row, offset):
            x[v] = at - offset[-1] / 2
    pull: Neighbors = [[] for _ in x]
    push: Neighbors = [[] for _ in x]
    for v, above in enumerate(layers.ups):
        for u in above:
            weight = _weight(layers, u, v)
            pull[v].append((u, weight))
            push[u].append((v, weight))
    down, both = list(zip(rows, offsets)), [pull, push]
    sweeps = [(down, [pull]), (down[::-1], [push])] * 4 + [(down, both), (down[::-1], both)] * 2
    for order, sides in sweeps:
        for row, offset in order:
            _settle(x, row, offset, sides)
    return x


def _offsets(layers: Layers, row: list[int]) -> list[float]:
    """The distance of each center from the first one in the row, if all are as close as allowed."""
    offsets = [0.0] * len(row[:1])
    for u, v in pairwise(row):
        passing = u >= layers.first_dummy or v >= layers.first_dummy
        gap = DUMMY_GAP if passing else BOX_GAP
        offsets.append(offsets[-1] + (layers.width[u] + layers.width[v]) / 2 + gap)
    return offsets


def _weight(layers: Layers, u: int, v: int) -> float:
    passing = u >= layers.first_dummy and v >= layers.first_dummy
    if layers.light[u]:
        return LEAF_PASSING if passing else LEAF
    if passing:
        return PASSING
    on_spine = v < len(layers.depth) and u < len(layers.depth)
    return SPINE if on_spine and layers.depth[v] == layers.depth[u] + 1 else SIDE


def _settle(x: list[float], row: list[int], offset: list[float], sides: list[Neighbors]) -> None:
    """Move one layer as close to its ideal positions as order and gaps allow.

    After subtracting the minimum distances (`offset`), the centers only need to be
    non-decreasing. The weighted sum of squares is smallest if neighbors whose ideal
    positions are in the wrong order are pooled at their common mean (isotonic regression).
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, count; the means are non-decreasing
    for v, at in zip(row, offset):
        total = weight = 0.0
        for side in sides:
            for w, pull in side[v]:
                total += pull * x[w]
                weight += pull
        mean = total / weight - at if weight else x[v] - at
        weight, count = weight or 1e-9, 1
        while pools and pools[-1][0] > mean:
            other, own, many = pools.pop()
            mean = (other * own + mean * weight) / (own + weight)
            weight, count = weight + own, count + many
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    for v, at, mean in zip(row, offset, means):
        x[v] = mean + at


# ---------------------------------------------------------------------- lanes


def lanes_of(segments: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each arrow in a gap, counted from the top; 0 for arrows that are almost straight.

    segments    the x positions of the start and the end of each arrow

    If two arrows go right, the one that starts further right is above, so that they do not cross.

    >>> lanes_of([(0, 200), (50, 300), (0, 10), (400, 600)])
    [2, 1, 0, 1]
    """
    lanes = [0] * len(segments)
    slanted = [k for k, (a, b) in enumerate(segments) if abs(b - a) >= SLANTED]

    def turn(k: int) -> tuple[bool, float, int]:
        """To the right first, then to the left; of each direction, the highest first."""
        start, end = segments[k]
        return end < start, -start if end > start else start, k

    placed: list[tuple[float, float, int]] = []
    for k in sorted(slanted, key=turn):
        left, right = sorted(segments[k])
        above = (lane for a, b, lane in placed if min(b, right) - max(a, left) > SHARED)
        lanes[k] = min(max(above, default=0) + 1, MOST_LANES)
        placed.append((left, right, lanes[k]))
    return lanes


def sideways(start: Point, end: Point, middle: float) -> list[tuple[Point, ...]]:
    """The pieces of a line from one layer to the next that goes sideways at the height `middle`.

    A short line is one curve. A long one is a straight line between two bends, so that the data
    arrow and the gradient arrow keep their distance.
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


def knee(lane: int, most: int, top: float, bottom: float) -> float:
    """The y position at which an arrow in lane `lane` of `most` goes sideways.

    >>> knee(1, 2, 0, 90), knee(2, 2, 0, 90), knee(0, 2, 0, 54)
    (30.0, 60.0, 27.0)
    """
    if not lane:
        return (top + bottom) / 2
    return round(top + (bottom - top) * lane / (most + 1), 1)
