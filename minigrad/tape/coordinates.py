"""The coordinates: how far to the right each box stands, in a given order.

As near to its neighbors as the boxes to the left and right allow. How much an arrow wants to
be straight decides: what stands on the longest path to a box, its spine, pulls; an arrow from
elsewhere (a shortcut around some layers, a short side branch) follows, and a leaf hardly
counts. With weights of one size each repeat of a network would be shifted a little by what
stands beside it, and the picture of a deep one would drift sideways by its own length.
"""

from __future__ import annotations

from minigrad.tape.layers import Layers

BOX_GAP = 26.0  # between two boxes of a layer
DUMMY_GAP = 20.0  # between a passing arrow and its neighbors
SPINE, PASSING, SIDE, LEAF_PASSING, LEAF = 2.0, 1e-2, 1e-3, 1e-4, 1e-7


def centers(layers: Layers, rows: list[list[int]]) -> list[float]:
    """The middle of each vertex; `rows` is the order within each layer."""
    return _Settling(layers).centers(rows)


class _Settling:
    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.x: list[float] = []

    def centers(self, rows: list[list[int]]) -> list[float]:
        """Center of each vertex: near its neighbors, in order, without overlap.

        Sweeps down (neighbors above), up (neighbors below), and at last with
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
