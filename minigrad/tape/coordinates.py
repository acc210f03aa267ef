"""Coordinates: the horizontal position of each box, for a given order.

Each box goes as close to its neighbors as the boxes to its left and right allow. Arrows have
weights: an arrow on the longest path to a box, its spine, has a large weight, an arrow from
elsewhere (a shortcut around some layers, a short side branch) a small one, and an arrow from a
leaf almost none. With equal weights, each repeated part of a network would be shifted a little by
the boxes next to it, and the picture of a deep network would drift far sideways.
"""

from __future__ import annotations

from minigrad.tape.layers import Layers

BOX_GAP = 26.0  # between two boxes in a layer
DUMMY_GAP = 20.0  # between a passing arrow and its neighbors
SPINE, PASSING, SIDE, LEAF_PASSING, LEAF = 2.0, 1e-2, 1e-3, 1e-4, 1e-7


def centers(layers: Layers, rows: list[list[int]]) -> list[float]:
    """The center of each vertex; `rows` is the order within each layer."""
    return _Settling(layers).centers(rows)


class _Settling:
    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.x: list[float] = []

    def centers(self, rows: list[list[int]]) -> list[float]:
        """The center of each vertex: near its neighbors, in order, without overlap.

        Sweeps down (using the neighbors above), up (using the neighbors below), and finally uses
        both. Each layer is solved exactly; see `_settle`.
        """
        self.x = [0.0] * len(self.layers.layer)
        offsets = []
        for row in rows:
            at, offset = 0.0, []
            for p, v in enumerate(row):
                if p:
                    u = row[p - 1]
                    passing = u >= self.layers.first_dummy or v >= self.layers.first_dummy
                    gap = DUMMY_GAP if passing else BOX_GAP
                    at += (self.layers.width[u] + self.layers.width[v]) / 2 + gap
                offset.append(at)
            for p, v in enumerate(row):
                self.x[v] = offset[p] - at / 2
            offsets.append(offset)
        pull: list[list[tuple[int, float]]] = [[] for _ in self.layers.layer]
        push: list[list[tuple[int, float]]] = [[] for _ in self.layers.layer]
        for v, above in enumerate(self.layers.ups):
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
        return self.x

    def _weight(self, u: int, v: int) -> float:
        passing = u >= self.layers.first_dummy and v >= self.layers.first_dummy
        if self.layers.light[u]:
            return LEAF_PASSING if passing else LEAF
        if passing:
            return PASSING
        on_spine = v < len(self.layers.depth) and u < len(self.layers.depth)
        return SPINE if on_spine and self.layers.depth[v] == self.layers.depth[u] + 1 else SIDE

    def _settle(
        self,
        row: list[int],
        offset: list[float],
        sides: tuple[list[list[tuple[int, float]]], ...],
    ) -> None:
        """Move one layer as close to its ideal positions as order and gaps allow.

        After subtracting the minimum distances (`offset`), the centers only need to be
        non-decreasing. The weighted sum of squares is smallest if neighbors that want to pass
        each other are pooled at their common mean.
        """
        # Pools: (weighted mean, weight, number of vertices); the means never decrease.
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
