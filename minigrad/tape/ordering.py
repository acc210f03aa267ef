"""The order of the boxes within each layer, chosen to have few crossings.

Put each box at the mean position of its neighbors, layer by layer, down and up, and swap
adjacent boxes as long as this removes crossings; keep the best order found.

Source: Sugiyama, Tagawa, Toda (1981); the crossing count is Barth, Jünger, Mutzel, Simple and
efficient bilayer cross counting (2002).
"""

from __future__ import annotations

from itertools import pairwise

from minigrad.tape.layers import Layers

SWEEPS = 12
PATIENCE = 4  # how many sweeps without improvement before the search stops
SMALL = 300  # with more boxes than this, only two of the four starts are tried
STARTS = (("ups", False), ("downs", False), ("ups", True), ("downs", True))
CAREFUL = 1_200  # with more boxes than this, neighbors are not swapped
EFFORT = 150_000  # how many pairs of neighbors are considered for swapping, at most


def in_order(layers: Layers) -> tuple[list[list[int]], int]:
    """The vertices of each layer from left to right, and the number of crossings."""
    return _Ordering(layers).best()


class _Ordering:
    def __init__(self, layers: Layers) -> None:
        self.layers, self.ups, self.downs = layers, layers.ups, layers.downs

    def best(self) -> tuple[list[list[int]], int]:
        """The order within each layer with the fewest crossings found."""
        best: list[list[int]] = []
        fewest = -1
        effort = EFFORT
        for neighbors, mirrored in STARTS if len(self.layers.boxes) <= SMALL else STARTS[:2]:
            rows = self._depth_first(self.ups if neighbors == "ups" else self.downs, mirrored)
            crossings = self._crossings(rows)
            if fewest < 0 or crossings < fewest:
                best, fewest = [row[:] for row in rows], crossings
            idle = 0
            for sweep in range(SWEEPS):
                if fewest == 0 or idle == PATIENCE:
                    break
                self._barycentre(rows, down=sweep % 2 == 0, flip=sweep % 4 > 1)
                if len(self.layers.boxes) <= CAREFUL:
                    effort = self._transpose(rows, effort)
                crossings = self._crossings(rows)
                idle += 1
                if crossings < fewest:
                    best, fewest, idle = [row[:] for row in rows], crossings, 0
        return self._as_written(best), max(fewest, 0)

    def _as_written(self, rows: list[list[int]]) -> list[list[int]]:
        """The picture or its mirror image: the one with more boxes in the given order."""
        last = self.layers.first_dummy
        pairs = [(u, v) for row in rows for u, v in pairwise(w for w in row if w < last)]
        if 2 * sum(u > v for u, v in pairs) <= len(pairs):
            return rows
        return [row[::-1] for row in rows]

    def _depth_first(self, neighbors: list[list[int]], mirrored: bool) -> list[list[int]]:
        """Rows in the order in which a depth-first walk reaches the vertices."""
        rows: list[list[int]] = [[] for _ in range(max(self.layers.layer, default=-1) + 1)]
        back = self.ups if neighbors is self.downs else self.downs
        starts = [v for v in range(len(self.layers.layer)) if not back[v]]
        seen = [False] * len(self.layers.layer)
        stack = starts[::-1]
        while stack:
            v = stack.pop()
            if seen[v]:
                continue
            seen[v] = True
            rows[self.layers.layer[v]].append(v)
            onward = neighbors[v] if mirrored else reversed(neighbors[v])
            stack.extend(w for w in onward if not seen[w])
        return rows

    def _barycentre(self, rows: list[list[int]], down: bool, flip: bool) -> None:
        """One sweep: each vertex moves to the mean position of its neighbors.

        A vertex without neighbors on that side stays; with `flip`, two vertices
        with the same target position are swapped.
        """
        near = self.ups if down else self.downs
        place = [0] * len(self.layers.layer)
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
        """Swap adjacent vertices as long as this removes crossings."""
        place = [0] * len(self.layers.layer)
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
        """Count the crossing pairs of segments, with a Fenwick tree over each lower row."""
        place = [0] * len(self.layers.layer)
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


def _inversions(left: list[int], right: list[int]) -> int:
    """The number of pairs (a in left, b in right) with a > b; both are sorted."""
    total = 0
    k = 0
    for a in left:
        while k < len(right) and right[k] < a:
            k += 1
        total += k
    return total
