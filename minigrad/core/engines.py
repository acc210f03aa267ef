"""Two other backward engines, for comparison with the one in engine.py.

    graph        the default: run a node when all its contributions have arrived
    tape         go through the recorded list (a Wengert list) from last to first. Everything
                 computed from a node comes later in the list, so when we reach the node, all
                 its contributions have arrived
    recursive    pass each contribution on by recursion, as soon as it arrives

All three give the same gradients. The first two apply each rule once. The third applies
the rules of a node once per *path* that leads to it: for n diamonds in a row, the first two
need n applications and the third needs 2**n. That is why engines wait and add up.

    z.backward(engine="recursive")      runs a pass with this engine
    %%autograd --engine recursive       runs the passes of a cell with it, and records them
    applications(z)                     how many rules each engine applies

Source: Wengert, "A simple automatic derivative evaluation program", CACM 7 (1964).
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minigrad.core.engine import AnyNode, GraphTask, Step
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import Tensor
from minigrad.core.node import reachable
from minigrad.core.saved import Freed
from minigrad.core.shapes import Array


def by_tape(task: GraphTask) -> Iterator[Step]:
    """Go through the list of nodes from the last to the first.

    A tape would contain the nodes in the order they were made. We find them by following the
    edges, and sort them.
    """
    listed: dict[AnyNode, Any] = dict.fromkeys(reachable(task.roots))
    for node, g in zip(task.roots, task.gradients, strict=True):
        listed[node] = g if listed[node] is None else listed[node] + g
    freed = None if task.retain_graph else Freed()
    for node in sorted(listed, key=lambda n: n.queue_key):
        g = listed[node]
        if g is None:
            continue
        grads = task.run_node(node, g, freed)
        for parent, d in zip(node.edges, grads, strict=True):
            if d is not None:
                listed[parent] = d if listed[parent] is None else listed[parent] + d
        yield Step(node, g, grads)


def by_recursion(task: GraphTask) -> Iterator[Step]:
    """Pass each contribution on separately, as soon as it arrives."""
    visited: set[AnyNode] = set()

    def visit(node: AnyNode, g: Array) -> Iterator[Step]:
        visited.add(node)
        grads = task.run_node(node, g, None)
        yield Step(node, g, grads)
        for parent, d in zip(node.edges, grads, strict=True):
            if d is not None:
                yield from visit(parent, d)

    try:
        for node, g in zip(task.roots, task.gradients, strict=True):
            yield from visit(node, g)
    except RecursionError:
        task.running = None  # it is not the last node that failed
        raise RecursionError(
            "the recursive engine goes one call deeper for each node, and this graph is deeper than Python's "
            'limit. The other engines loop: use engine="graph" or engine="tape".'
        ) from None
    if not task.retain_graph:
        freed = Freed()
        for node in visited:
            if node.plan.frees:
                node.saved = freed


Engine = Callable[[GraphTask], Iterator[Step]]
ENGINES: dict[str, Engine] = {"graph": GraphTask.steps, "tape": by_tape, "recursive": by_recursion}


def engine_named(name: str) -> Engine:
    """The engine with that name. Raises ValueError for an unknown name."""
    if name not in ENGINES:
        raise ValueError(
            f"engine must be one of {', '.join(map(repr, ENGINES))}, but got {name!r}."
        )
    return ENGINES[name]


def applications(z: Any, gradient: Tensor | None = None) -> dict[str, int]:
    """How many rules each engine applies in a backward pass from z.

    Does not change any `.grad`, and keeps the graph.

    >>> import minigrad
    >>> z = x = minigrad.tensor(1.0, requires_grad=True)
    >>> for _ in range(10):
    ...     z = z + z
    >>> applications(z)
    {'graph': 20, 'tape': 20, 'recursive': 2046}
    """
    g = np.ones(z.array.shape, z.array.dtype) if gradient is None else np.asarray(gradient)
    leaves = [node for node in reachable([z.node]) if isinstance(node, AccumulateGrad)]
    counts = {}
    for name, engine in ENGINES.items():
        task = GraphTask([z.node], [g], retain_graph=True, inputs=leaves, accumulate=False)
        for _ in engine(task):
            pass
        counts[name] = task.applications
    return counts
