"""The first steps of a layout: the layers of the boxes, and the order of the boxes in each.

    Layers      assigns boxes to layers, repeats distant leaves, and adds dummies where arrows pass
                through a layer
    in_order    puts each box at the mean position of its neighbors, layer by layer, down and up. Then
                adjacent boxes are swapped as long as this removes crossings. The best order is kept

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical
system structures (1981); the crossing count follows Barth, Jünger, Mutzel, Simple and efficient
bilayer cross counting (2002).
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

CHIP_SPAN = 3  # a leaf that is used further below is repeated there
DUMMY_SPAN = 40  # a longer arrow is drawn as one curve; otherwise dummies would outnumber boxes
CHIP_HEIGHT = 22.0
PORT = 26.0  # the distance of edges along a box: each is a data arrow with a gradient arrow
MOST_PORTS = 12  # a box is not widened for more edges than this

SWEEPS = 12
PATIENCE = 4  # the number of sweeps without improvement after which the search stops
SMALL = 300  # with more boxes than this, only two of the four starts are tried
STARTS = ((False, False), (True, False), (False, True), (True, True))  # downward?, mirrored?
CAREFUL = 1_200  # with more boxes than this, neighbors are not swapped
EFFORT = 150_000  # the maximum number of pairs of neighbors that are considered for swapping


@dataclass(frozen=True, slots=True)
class Box:
    """A box to place. A leaf can be repeated as a chip of width ``chip``."""

    id: str
    width: float
    height: float
    leaf: bool = False
    chip: float = 60.0


class Layers:
    """The graph during layout, divided into layers.

    Vertices are numbered: first the boxes, in the given order, then the chips, then
    the dummies. A segment joins two vertices in adjacent layers.
    """

    def __init__(self, boxes: Sequence[Box], edges: Sequence[tuple[str, str]]) -> None:
        number = {box.id: v for v, box in enumerate(boxes)}
        self.boxes = boxes
        self.ends = [(number[u], number[v]) for u, v in edges]
        self.width = [box.width for box in boxes]
        self.height = [box.height for box in boxes]
        self.light = [box.leaf for box in boxes]  # leaves, chips, and arrows from them
        self.chip_of: list[int] = []
        self.edge_chip: list[int | None] = [None] * len(edges)
        self.paths: list[list[int]] = []
        self._assign_layers()
        self._add_chips()
        self._widen()
        self._add_dummies()

    def _assign_layers(self) -> None:
        """Longest path from the top; then move boxes down toward their first use.

        A box is moved if it has fewer computed inputs than outputs, because this shortens more
        arrows than it lengthens. Leaves are always moved, and so are branches that start from leaves.
        """
        sources: dict[int, list[int]] = {v: [] for v in range(len(self.boxes))}
        consumers: dict[int, list[int]] = {v: [] for v in sources}
        for u, v in self.ends:
            sources[v].append(u)
            consumers[u].append(v)
        order = list(TopologicalSorter(sources).static_order())
        layer = [0] * len(order)
        for v in order:
            layer[v] = max((layer[u] + 1 for u in sources[v]), default=0)
        self.depth = layer[:]  # the longest path to a box, before boxes are moved down
        # A branch from leaves to one use, like  xs[t] @ U , moves down as a whole.
        follows = [box.leaf for box in self.boxes]
        for v in order:
            follows[v] |= len(consumers[v]) == 1 and all(follows[u] for u in sources[v])
        for u in reversed(order):
            computed_inputs = sum(not follows[source] for source in sources[u])
            if computed_inputs < len(consumers[u]):
                layer[u] = min(layer[v] for v in consumers[u]) - 1
        self.layer = layer

    def _add_chips(self) -> None:
        """Add one chip for each layer in which a distant leaf is used."""
        chips: dict[tuple[int, int], int] = {}
        for e, (u, v) in enumerate(self.ends):
            above = self.layer[v] - 1
            if not self.boxes[u].leaf or above + 1 - self.layer[u] <= CHIP_SPAN:
                continue
            if (u, above) not in chips:
                chips[u, above] = self._add(above, self.boxes[u].chip, CHIP_HEIGHT, True)
                self.chip_of.append(u)
            self.edge_chip[e] = chips[u, above] - len(self.boxes)
            self.ends[e] = (chips[u, above], v)

    def _widen(self) -> None:
        """Widen each box so that all edges that leave or enter it have room."""
        for end in (0, 1):
            for v, count in Counter(ends[end] for ends in self.ends).items():
                if v < len(self.boxes):
                    least = 2 * round(PORT * min(count, MOST_PORTS) / 0.9 / 2)
                    self.width[v] = max(self.width[v], least)

    def _add_dummies(self) -> None:
        """Cut every edge into segments from layer to layer."""
        for u, v in self.ends:
            path = [u]
            if self.layer[v] - self.layer[u] <= DUMMY_SPAN:
                for layer in range(self.layer[u] + 1, self.layer[v]):
                    path.append(self._add(layer, 0.0, 0.0, self.light[u]))
            self.paths.append([*path, v])
        self.first_dummy = len(self.boxes) + len(self.chip_of)
        self.ups: list[list[int]] = [[] for _ in self.layer]
        self.downs: list[list[int]] = [[] for _ in self.layer]
        for path in self.paths:
            for u, v in pairwise(path):
                if self.layer[v] - self.layer[u] == 1:
                    self.downs[u].append(v)
                    self.ups[v].append(u)

    def _add(self, layer: int, width: float, height: float, light: bool) -> int:
        """Add a chip or a dummy; returns its number."""
        self.layer.append(layer)
        self.width.append(width)
        self.height.append(height)
        self.light.append(light)
        return len(self.layer) - 1


# ---------------------------------------------------------------------- the order


Rows = list[list[int]]  # the vertices of each layer from left to right


def in_order(layers: Layers) -> tuple[Rows, int]:
    """The order within each layer with the fewest crossings found, and their number."""
    best: Rows = []
    fewest, effort = -1, EFFORT
    for downward, mirrored in STARTS if len(layers.boxes) <= SMALL else STARTS[:2]:
        rows = _depth_first(layers, downward, mirrored)
        crossings = _crossings(layers, rows)
        if fewest < 0 or crossings < fewest:
            best, fewest = [row[:] for row in rows], crossings
        idle = 0
        for sweep in range(SWEEPS):
            if fewest == 0 or idle == PATIENCE:
                break
            _barycentre(layers, rows, down=sweep % 2 == 0, flip=sweep % 4 > 1)
            if len(layers.boxes) <= CAREFUL:
                effort = _transpose(layers, rows, effort)
            crossings = _crossings(layers, rows)
            idle += 1
            if crossings < fewest:
                best, fewest, idle = [row[:] for row in rows], crossings, 0
    return _as_written(layers, best), max(fewest, 0)


def _as_written(layers: Layers, rows: Rows) -> Rows:
    """The picture or its mirror image: the one with more boxes in the given order."""
    last = layers.first_dummy
    pairs = [(u, v) for row in rows for u, v in pairwise(w for w in row if w < last)]
    if 2 * sum(u > v for u, v in pairs) <= len(pairs):
        return rows
    return [row[::-1] for row in rows]


def _places(layers: Layers, rows: Rows) -> list[int]:
    """The position of each vertex in its row."""
    place = [0] * len(layers.layer)
    for row in rows:
        for p, v in enumerate(row):
            place[v] = p
    return place


def _depth_first(layers: Layers, downward: bool, mirrored: bool) -> Rows:
    """Rows in the order in which a depth-first walk reaches the vertices."""
    rows: Rows = [[] for _ in range(max(layers.layer, default=-1) + 1)]
    onward, back = (layers.downs, layers.ups) if downward else (layers.ups, layers.downs)
    seen: set[int] = set()
    stack = [v for v in range(len(layers.layer)) if not back[v]][::-1]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            rows[layers.layer[v]].append(v)
            stack += onward[v] if mirrored else onward[v][::-1]
    return rows


def _barycentre(layers: Layers, rows: Rows, down: bool, flip: bool) -> None:
    """One sweep: each vertex moves to the mean position of its neighbors.

    A vertex without neighbors on that side stays; with `flip`, two vertices
    with the same target position are swapped.
    """
    near = layers.ups if down else layers.downs
    place = [0] * len(layers.layer)
    for row in rows if down else reversed(rows):
        if len(row) > 1:
            mean = {v: sum([place[w] for w in near[v]]) / len(near[v]) for v in row if near[v]}
            moving = list(mean)[::-1] if flip else list(mean)
            moved = iter(sorted(moving, key=mean.__getitem__))  # a stable sort
            row[:] = [next(moved) if near[v] else v for v in row]
        for p, v in enumerate(row):
            place[v] = p


def _transpose(layers: Layers, rows: Rows, effort: int) -> int:
    """Swap adjacent vertices as long as this removes crossings."""
    place = _places(layers, rows)
    changed = set(range(len(rows)))
    while changed and effort > 0:
        again: set[int] = set()
        for i in sorted(changed):
            effort -= len(rows[i])
            if _swap_neighbors(layers, rows[i], place):
                again.update(j for j in (i - 1, i, i + 1) if 0 <= j < len(rows))
        changed = again
    return effort


def _swap_neighbors(layers: Layers, row: list[int], place: list[int]) -> bool:
    """Swap adjacent vertices of one row where this removes crossings; returns whether any were swapped."""
    ups = [sorted([place[w] for w in layers.ups[v]]) for v in row]
    downs = [sorted([place[w] for w in layers.downs[v]]) for v in row]
    swapped = False
    for p in range(len(row) - 1):
        q = p + 1
        now = _inversions(ups[p], ups[q]) + _inversions(downs[p], downs[q])
        if now and _inversions(ups[q], ups[p]) + _inversions(downs[q], downs[p]) < now:
            row[p], row[q] = row[q], row[p]
            ups[p], ups[q] = ups[q], ups[p]
            downs[p], downs[q] = downs[q], downs[p]
            place[row[p]], place[row[q]] = p, q
            swapped = True
    return swapped


def _crossings(layers: Layers, rows: Rows) -> int:
    """Count the crossing pairs of segments between each layer and the next."""
    place = _places(layers, rows)
    total = 0
    for upper in rows:
        ended: list[int] = []  # the ends of the segments that start further left, sorted
        for u in upper:
            below = [place[w] for w in layers.downs[u]]
            # Segments that end to the right of p cross the one that ends at p.
            total += sum(len(ended) - bisect_right(ended, p) for p in below)
            for p in below:
                insort(ended, p)
    return total


def _inversions(left: list[int], right: list[int]) -> int:
    """The number of pairs (a in left, b in right) with a > b; both are sorted."""
    total = k = 0
    for a in left:
        while k < len(right) and right[k] < a:
            k += 1
        total += k
    return total
