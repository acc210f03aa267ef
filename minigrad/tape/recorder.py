"""The recorder: stores the events that the core reports while code runs.

It is an observer (see modes.py). The core calls

    forward     an op was applied, out of place or in place
    module      a module of nn is being called
    backward    a backward pass begins
    hooked      hooks have seen a gradient
    step        a node has run
    finished    the pass has ended, perhaps with an error
    updating    gradients are cleared, parameters written to, or learning rates set

The first two are in forward_half.py, the others here.

An update (zero_grad, or the step of an optimizer or a scheduler) changes state outside the graph. A
parameter that was written to gets a new entry: the same tensor and AccumulateGrad, one version later.
Later computations start from that entry, so that the graphs of two training steps do not share
their leaves.

Read events.py first, then tensors.py, identity.py and forward_half.py.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.core.engine import AnyNode, GraphTask, Step, contributions
from minigrad.core.errors import user_line
from minigrad.core.hooks import Hooked
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.node import Node, reachable
from minigrad.core.results import Result as Edge
from minigrad.core.tensor import Tensor
from minigrad.tape.document import Engine, SavedConflict, UpdateKind, When
from minigrad.tape.events import Backward, Entry, HookRan, NodeRun, Update, WrittenTensor
from minigrad.tape.forward_half import ForwardHalf, counters
from minigrad.tape.snapshot import Snapshot, maybe
from minigrad.tape.tensors import Tensors


class Recorder(ForwardHalf):
    """The recorder. This class handles backward passes and updates."""

    def __init__(self, namespace: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__(namespace)
        self.updates: list[Update] = []
        self._updating: list[str] = []  # the kinds of the updates that are running
        # The hooks that ran since the last step: of each running pass, innermost last.
        self._hooks: list[list[HookRan]] = [[]]
        # For each pass with a leaf whose last hooks run: the events before them, and its .grad
        self._added: dict[int, tuple[int, Snapshot | None]] = {}

    def backward(self, task: GraphTask, engine: Engine = "graph") -> None:
        """A backward pass begins."""
        self.look_up_names()
        self._grads |= self._adopt(task.roots)
        seeds = [(self.entry_of(n), maybe(g)) for n, g in zip(task.roots, task.gradients)]
        keeps = task.retain_graph, task.create_graph
        now = Backward(len(self.passes) + 1, user_line(), engine, *keeps, seeds)
        self.events.append(("seed", len(self.passes), 0))
        self.passes.append(now)
        self._open.append((task, now))  # passes can be nested, if hooks start them
        self._hooks.append([])

    def hooked(self, when: When, hooks: int, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Hooks have seen, and perhaps replaced, gradients; or hooks follow on the sum in `.grad`."""
        if when == "finally":  # these may step, and clear .grad, after the leaf's node ran
            self._added[self._open[-1][1].number] = len(self.events), maybe(before[0])
            before = ()
        self._hooks[-1].append(HookRan(when, hooks, [*map(maybe, before)], [*map(maybe, after)]))

    def step(self, task: GraphTask, step: Step) -> None:
        """A node ran."""
        now = self._open[-1][1]
        if not now.runs:
            self._count(task, now)
        entry = self.entry_of(step.node)
        parts = {k: Snapshot(g) for k, g in sorted(getattr(step.g, "parts", {}).items())}
        run = NodeRun(entry, _opened(step.g), parts, freed=step.node.freed, hooks=self._hooks[-1])
        self._hooks[-1] = []
        at, added = self._added.pop(now.number, (len(self.events), None))
        self._take(task, step, run, now, added)
        for edge, (parent, g) in enumerate(zip(step.node.edges, step.grads, strict=False)):
            if task._leads_to_an_input(parent) and (to := self.entry_of(parent)) in now.expected:
                run.sent.append(now.send(to, edge, _opened(g)))
        self.events.insert(at, ("run", now.number - 1, len(now.runs)))
        now.runs.append(run)

    def _take(
        self, task: GraphTask, step: Step, run: NodeRun, now: Backward, added: Snapshot | None
    ) -> None:
        """Record where the gradient is stored or returned, if it ends at this node.

        added    a leaf's .grad before hooks could change it, if there are such hooks
        """
        node, entry = step.node, run.entry
        requested = task.inputs is not None and node in task.inputs
        run.captured = requested and not (task.accumulate and isinstance(node, AccumulateGrad))
        if isinstance(node, AccumulateGrad) and not run.captured:
            before, after = self._grads.get(entry), maybe(node.grad)
            if node.grad is not None:
                self.note_gradient(node.grad, entry)
            now.accumulate(run, before, after if added is None else added)
            self._grads[entry] = after
        run.kept = isinstance(node.plan, Hooked) and node.plan.keep is not None

    def _count(self, task: GraphTask, now: Backward) -> None:
        """Count the contributions that each node will receive, and find the pruned nodes."""
        nodes = [n for n in reachable(task.roots) if not isinstance(n, Edge)]
        taking_part = [n for n in nodes if task._leads_to_an_input(n)]
        now.pruned = sorted(self.entry_of(n) for n in nodes if not task._leads_to_an_input(n))
        taking_part.sort(key=lambda n: n.queue_key)
        now.expected = {self.entry_of(node): 0 for node in taking_part}
        if now.engine == "recursive":  # it expects one contribution for each path
            paths = contributions(task.roots, by_path=True).items()
            now.expected |= {self.entry_of(n): k for n, k in paths if not isinstance(n, Edge)}
            return
        for parent in (parent for node in taking_part for parent in node.edges):
            if task._leads_to_an_input(parent):
                now.expected[self.entry_of(parent)] += 1

    def finished(self, task: GraphTask, error: BaseException | None) -> None:
        """A backward pass has ended, perhaps with an error."""
        _, now = self._open.pop()
        self._hooks.pop()
        if not self._open:
            self._entry_of |= self._moved
            self._moved.clear()
        now.finished = error is None
        if error is not None:
            if not now.runs:
                self._count(task, now)
            now.error = f"{type(error).__name__}: {error}"
            node = task.running
            if node is not None and node in self._entry_of:
                now.failed = self.entry_of(node)
                now.conflict = self._conflict(node, now.failed)
        self.events.append(("end", now.number - 1, 0))

    def _conflict(self, node: AnyNode, number: int) -> SavedConflict | None:
        """The saved value of this node that was written to, and the entry that wrote to it."""
        if isinstance(node, AccumulateGrad) or node.freed:
            return None
        counts = {name: counter.count for name, counter in counters(node).items()}
        for saved in self.entries[number].saved:
            now = counts.get(saved.name)
            if saved.version is not None and now is not None and now != saved.version:
                by = self.writer(saved.tensor, saved.version)
                return SavedConflict(saved.name, saved.version, now, by)
        return None

    def writer(self, tensor: int | None, version: int) -> str | None:
        """The id of the node that first wrote to a tensor after this version, or to its memory, if any."""
        storage = None if tensor is None else self.storages.get(tensor)
        alike = {t for t, s in self.storages.items() if s == storage} | {tensor}
        for k, e in enumerate(self.entries):
            later = e.inplace and e.results and e.results[0].version > version
            if later and any(r.tensor in alike for r in e.results):
                return f"n{k}"
        return None

    # ---- updates -------------------------------------------------------------------

    @contextmanager
    def updating(self, what: UpdateKind, owner: Any, own: Tensors | None = None) -> Iterator[None]:
        """Within this block, `owner` clears gradients, writes to parameters, or sets rates.

        own    the tensors of its engine; by default minigrad's
        """
        own = own or self
        if what in self._updating or getattr(owner, "_is_initial", False):
            yield  # part of an update that is recorded as a whole
            return
        self._updating.append(what)
        name = self.name_of_owner(owner)
        update = Update(what, name, type(owner).__name__, user_line())
        tensors = _tensors_of(owner) if what != "schedule" else []
        before = [(t, own.version_of(t), own.gradient(t)) for t in tensors]
        for tensor, _, g in before if what == "step" else ():
            if g is not None and (key := own.number(tensor)) not in own._latest:
                own._add_leaf(tensor, key)
        rates = _rates(owner)
        try:
            yield
        finally:
            self._updating.remove(what)
        update.rates = [*zip(rates, _rates(owner), strict=False)]
        for tensor, version, g in before:
            if what == "step" and own.version_of(tensor) != version:
                update.written.append(own.written(tensor, version, g, update))
            elif what == "zero_grad" and g is not None:
                known = own.known(tensor)
                entry = None if known is None else own._latest.get(known, (None, 0))[0]
                update.written.append(WrittenTensor(entry, None, g))
                if entry is not None:
                    self._grads[entry] = own.gradient(tensor)
        update.reached = len(self.entries)
        self.events.append(("update", len(self.updates), 0))
        self.updates.append(update)

    def written(
        self, tensor: Tensor, before: int, g: Snapshot | None, update: Update
    ) -> WrittenTensor:
        """Add an entry for a parameter that was written to; its node now belongs to this entry."""
        found = super().written(tensor, before, g, update)
        if tensor.node is not None and found.now is not None and found.now != found.was:
            self._moves(tensor.node, found.now)
            self._grads[found.now] = g
        return found

    # ---- nodes and their entries ---------------------------------------------------

    def entry_of(self, node: AnyNode) -> int:
        """The entry of a node in the graph; added if it is new.

        For the edge of one of several results, the entry of the owner.
        """
        if isinstance(node, Edge):
            node = node.owner
        if node not in self._entry_of:
            self._adopt([node])
        return self._entry_of[node]

    def _adopt(self, roots: Sequence[AnyNode]) -> dict[int, Snapshot | None]:
        """Add entries for the part of the graph that was made before the recording.

        Returns the current `.grad` of all leaves of the graph.
        """
        nodes = [n for n in reachable(roots) if not isinstance(n, Edge)]
        # Oldest first, so that inputs have smaller numbers than the nodes that use them.
        for node in sorted(nodes, key=lambda n: (isinstance(n, Node), -n.queue_key)):
            if node not in self._entry_of:
                self._adopt_one(node)
            entry = self.entries[self._entry_of[node]]
            if entry.kind == "before" and not entry.inputs:
                entry.inputs = self._inputs_of(node)
        return {self.entry_of(n): maybe(n.grad) for n in nodes if isinstance(n, AccumulateGrad)}

    def _adopt_one(self, node: AnyNode) -> None:
        if not isinstance(node, AccumulateGrad):
            made = Entry("before", node.op.name, node.op.formula, place=node.place)
            self._belongs(made, len(self.entries), node)
            self.entries.append(made)
            return
        tensor = node.variable
        key = self.number(tensor)
        if key in self._latest:
            self._entry_of[node] = self._latest[key][0]
        else:
            self._entry_of[node] = len(self.entries)
            self._add_leaf(tensor, key)


def _opened(g: Any) -> Snapshot | None:
    """A snapshot of a gradient that was passed on; for one of several results, it is unpacked."""
    return maybe(next(iter(g.parts.values()), None) if hasattr(g, "parts") else g)


def _tensors_of(owner: Any) -> list[Tensor]:
    if not hasattr(owner, "param_groups"):
        return list(owner.parameters())
    return [p for group in owner.param_groups for p in group["params"]]


def _rates(owner: Any) -> list[float]:
    """The learning rates of an optimizer's groups, or of the optimizer that a scheduler sets."""
    groups = getattr(getattr(owner, "optimizer", owner), "param_groups", [])
    return [float(group["lr"]) for group in groups if "lr" in group]
