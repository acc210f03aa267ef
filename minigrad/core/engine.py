"""The engine: one backward pass over the tape.

A node may pass its gradient on only when all contributions to it have arrived. There are
two ways to know this. This file implements both:

    count     count in advance how many contributions each node will receive, and run it
              when all have arrived (Kahn's topological sort, 1962): `steps()`, which the
              inspector uses
    by age    always run the latest node that has a gradient. A node is older than everything
              computed from it, so nothing can arrive after it has run: `run()`, which
              `backward()` uses because it needs no count

Both visit the same nodes in the same order, and skip ("prune") the nodes that lead to none
of the requested inputs; of the other nodes, they run only the rules that are needed. They
loop instead of recursing, so a tape can have a million nodes.

    waiting   node -> how many contributions it still expects
    pending   node -> the sum of the contributions that have arrived
    ready     the nodes that have received everything, latest first; leaves come last

Gradients are arrays. Under `create_graph` they are Tensors, and the rules are recorded
like any other computation.

Read node.py first. Not supported: devices, and several threads in one pass over a graph.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush, heappushpop
from operator import attrgetter
from typing import Any, NamedTuple

from numpy import ndarray

from minigrad.core.hooks import Hooked
from minigrad.core.leaf import ACCUMULATE, AccumulateGrad
from minigrad.core.node import Node, reachable
from minigrad.core.results import Result
from minigrad.core.saved import Freed

AnyNode = Node | AccumulateGrad
SMALL = 1024  # up to this many entries, a NumPy call costs more than the arithmetic


class Step(NamedTuple):
    """One step: a node received the gradient g and passed on `grads`.

    grads is aligned with node.edges: one gradient for each input that needs one.
    """

    node: AnyNode
    g: Any
    grads: Sequence[Any]


class GraphTask:
    """One backward pass from some roots.

    roots           the nodes (`grad_fn`) of the outputs, or the AccumulateGrad of a leaf
    gradients       one gradient for each root
    retain_graph    keep the saved values, so that another pass can follow
    create_graph    compute with Tensors and record it, so that the gradients have gradients
    tensors         compute with Tensors, for example when they carry forward-mode tangents
    inputs          the nodes whose gradients are requested; None: every leaf's `.grad`
    accumulate      with inputs: add to the leaves' `.grad` instead of capturing the gradient

    After a pass with inputs, `captured` maps each of these nodes to its gradient.
    """

    def __init__(
        self,
        roots: Sequence[AnyNode],
        gradients: Sequence[Any],
        *,
        retain_graph: bool = False,
        create_graph: bool = False,
        tensors: bool = False,
        inputs: Sequence[AnyNode] | None = None,
        accumulate: bool = True,
    ) -> None:
        self.roots, self.gradients = roots, gradients
        self.retain_graph, self.create_graph = retain_graph, create_graph
        self.tensors = tensors or create_graph
        self.inputs = None if inputs is None else frozenset(inputs)
        self.accumulate = accumulate
        self.pending: dict[AnyNode, Any] = {}
        self.waiting: dict[AnyNode, int] = {}
        self.needed: set[AnyNode] | None = None
        self.captured: dict[AnyNode, Any] = {}
        self._heap: list[tuple[int, AnyNode]] = []
        self.running: AnyNode | None = None  # the latest node of a pass that runs step by step
        self.applications = 0  # how many rules were applied, to compare engines

    @property
    def ready(self) -> list[AnyNode]:
        """The nodes that have received all contributions, in the order they will run."""
        return [node for _, node in sorted(self._heap, key=lambda entry: entry[0])]

    def run(self) -> None:
        """Run the whole pass, by age: take the latest node that has a gradient, until none is left."""
        pending, heap, inputs, tensors = self.pending, self._heap, self.inputs, self.tensors
        freed = None if self.retain_graph else Freed()
        needed = self.prune()
        sums: set[AnyNode] = set()  # nodes whose pending gradient is a sum that we made
        heap += sorted([(n.queue_key, n) for n in self._start() if needed is None or n in needed])
        try:
            while heap:
                node: Any = heappop(heap)[1]
                while node is not None:
                    g = pending.pop(node)
                    if inputs is None or node not in inputs:
                        plan = node.plan if needed is None else node.plan.toward(node.edges, needed)
                        if plan.into and not tensors and plan.into(g, node, pending, sums):
                            break
                        grads = plan.run_tensors(g, node) if tensors else plan.run(g, node)
                        if freed is not None and plan.frees:
                            node.saved = freed
                    elif not self.accumulate and node.plan is ACCUMULATE:
                        self.captured[node] = g  # a leaf whose .grad is not updated
                        break
                    else:
                        grads = self.run_node(node, g, freed)
                    following: AnyNode | None = None
                    for parent, d in zip(node.edges, grads):
                        if d is None or (needed is not None and parent not in needed):
                            continue
                        arrived = pending.get(parent)
                        if arrived is not None:
                            if parent in sums and arrived.size > SMALL:  # else a new one is faster
                                arrived += d
                            else:
                                pending[parent] = total = arrived + d
                                if total.__class__ is ndarray:
                                    sums.add(parent)
                            continue
                        pending[parent] = d
                        if following is None:  # in a chain, the next node skips the heap
                            following = parent
                        else:
                            heappush(heap, (parent.queue_key, parent))
                    grads = d = None  # so that a leaf can keep the gradient without a copy
                    if following is not None and heap and heap[0][0] < following.queue_key:
                        following = heappushpop(heap, (following.queue_key, following))[1]
                    node = following
        finally:
            pending.clear()
            heap.clear()

    def _start(self) -> Iterable[AnyNode]:
        """Give the roots their gradients; return the roots, each once."""
        pending = self.pending
        for node, g in zip(self.roots, self.gradients):  # equal lengths; strict=True is slow
            pending[node] = pending[node] + g if node in pending else g
        return pending

    def steps(self) -> Iterator[Step]:
        """Run the pass one node at a time, by counting, and pruned to `inputs`.

        Between two steps, `ready`, `waiting` and `pending` show the state of the pass. If the
        pass is abandoned, the nodes that have run stay freed and the rest of its state is dropped.
        """
        self.waiting = waiting = contributions(self.roots)
        self.prune()
        freed = None if self.retain_graph else Freed()
        pending, heap = self.pending, self._heap
        try:
            for node in self._start():
                if not waiting[node] and self._leads_to_an_input(node):
                    heappush(heap, (node.queue_key, node))
            while heap:
                node = heappop(heap)[1]
                g = pending.pop(node, None)
                grads = self.run_node(node, g, freed)
                for parent, d in zip(node.edges, grads, strict=True):
                    if not self._leads_to_an_input(parent):
                        continue
                    if d is not None:
                        pending[parent] = pending[parent] + d if parent in pending else d
                    waiting[parent] -= 1
                    if not waiting[parent]:
                        heappush(heap, (parent.queue_key, parent))
                if not isinstance(node, Result):  # belongs to an edge; not a step of its own
                    yield Step(node, g, grads)
        finally:
            pending.clear()
            waiting.clear()
            heap.clear()

    def prune(self) -> set[AnyNode] | None:
        """The inputs and all nodes that lead to them; None if that is every node."""
        if self.inputs is None or self.needed is not None:  # a task may run again
            return self.needed
        found = reachable(self.roots)
        if self.inputs.issuperset([node for node in found if not node.edges]):
            return None  # every path ends at an input, as in grad(loss, model.parameters())
        self.needed = needed = set(self.inputs)
        for node in sorted(found, key=attrgetter("queue_key"), reverse=True):  # oldest first
            if not needed.isdisjoint(node.edges):
                needed.add(node)
        return needed

    def _leads_to_an_input(self, node: AnyNode) -> bool:
        return self.needed is None or node in self.needed

    def run_node(self, node: AnyNode, g: object, freed: Freed | None) -> Sequence[Any]:
        """Run one node's rules: the body of a step."""
        self.running = node
        if g is None:  # all contributions were None: pass None on
            return (None,) * len(node.edges)
        plan: Any = node.plan
        tensors = self.tensors
        hooked = isinstance(plan, Hooked)
        if hooked:
            g = plan.arrive(g, tensors)
            plan, hooks = plan.plan, plan
        if self.inputs is not None and node in self.inputs:
            self.captured[node] = g
            if isinstance(node, AccumulateGrad) and not self.accumulate:
                return ()
            if node.edges and not any(self._leads_to_an_input(parent) for parent in node.edges):
                # A pass that adds to this tensor's .grad visits its node, and frees its saved values.
                if self.accumulate and hooked:
                    hooks.enter(g, tensors)
                if self.accumulate and freed is not None and plan.frees:
                    node.saved = freed
                return (None,) * len(node.edges)
        if hooked:
            g = hooks.enter(g, tensors)
        if self.needed is not None and node.edges:
            plan = plan.toward(node.edges, self.needed)
        grads: Sequence[Any] = (plan.run_tensors if tensors else plan.run)(g, node)
        self.applications += len(grads)
        if hooked:
            grads = hooks.depart(grads, g, node, tensors)
        if freed is not None and plan.frees:
            node.saved = freed
        return grads


def contributions(roots: Sequence[AnyNode], by_path: bool = False) -> dict[AnyNode, int]:
    """The number of contributions that each node will receive: one per incoming edge.

    With `by_path`, one per path, as in the recursive engine.
    """
    found = dict.fromkeys(reachable(roots), 0)
    turns = {node: roots.count(node) if by_path else 1 for node in found}
    for node in sorted(found, key=attrgetter("queue_key")):
        for parent in node.edges:
            found[parent] += turns[node]
            turns[parent] += turns[node] * by_path
    return found
