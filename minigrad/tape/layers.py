"""The first steps of a layout: assigns boxes to layers, repeats distant leaves, and adds
dummies where arrows pass through a layer.

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical
system structures (1981).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

CHIP_SPAN = 3  # a leaf that is used further below is repeated there
DUMMY_SPAN = 40  # a longer arrow is drawn as one curve; otherwise dummies would outnumber boxes
CHIP_HEIGHT = 22.0
PORT = 26.0  # the distance of edges along a box: each is a data arrow with a gradient arrow
MOST_PORTS = 12  # a box is not widened for more edges than this


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
        if len(number) != len(boxes):
            raise ValueError("lay_out: two boxes have the same id.")
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
        arrows than it lengthens. Leaves are always moved.
        """
        sources: dict[int, list[int]] = {v: [] for v in range(len(self.boxes))}
        consumers: dict[int, list[int]] = {v: [] for v in sources}
        for u, v in self.ends:
            sources[v].append(u)
            consumers[u].append(v)
        try:
            order = list(TopologicalSorter(sources).static_order())
        except CycleError:
            why = "lay_out: the edges form a cycle, so they cannot all point down."
            raise ValueError(why) from None
        layer = [0] * len(order)
        for v in order:
            layer[v] = max((layer[u] + 1 for u in sources[v]), default=0)
        self.depth = layer[:]  # the longest path to a box, before boxes are moved down
        for u in reversed(order):
            computed_inputs = sum(not self.boxes[source].leaf for source in sources[u])
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
            for v, many in Counter(ends[end] for ends in self.ends).items():
                if v < len(self.boxes):
                    least = 2 * round(PORT * min(many, MOST_PORTS) / 0.9 / 2)
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
