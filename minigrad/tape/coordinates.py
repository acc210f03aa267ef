"""Coordinates: the horizontal position of each box, for a given order.

Each box goes as close to its neighbors as the boxes to its left and right allow. Arrows have
weights: large for an arrow on the longest path to a box, small for other arrows (a skip
connection, a short side branch), and almost zero for an arrow from a leaf. With equal weights,
each repeated part of a network would be shifted a little by the boxes next to it, and the
picture of a deep network would drift far sideways.
"""

from itertools import pairwise

from minigrad.tape.layers import Layers

BOX_GAP = 26.0  # between two boxes in a layer
DUMMY_GAP = 20.0  # between a passing arrow and its neighbors
SPINE, PASSING, SIDE, LEAF_PASSING, LEAF = 2.0, 1e-2, 1e-3, 1e-4, 1e-7


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
