"""The recorder: writes down what the core reports while code runs.

It is an observer (see modes.py). The core calls

    forward     an op was applied, or an op wrote over its first operand
    module      a module of nn is being called
    backward    a backward pass begins
    hooked      hooks have seen a gradient
    step        a node had its turn
    finished    the pass has ended, perhaps with an error

Tensors and nodes are only held weakly: a recording does not keep a graph alive. What is
not reported is found out by looking: a tensor that shows another's memory without a view
op between them was detached; a view whose version is not what it was has a new history.

Read events.py first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.engine import GraphTask, Step
from minigrad.engines import contributions
from minigrad.errors import Place, learner_line
from minigrad.hooks import Hooked
from minigrad.leaf import AccumulateGrad
from minigrad.memory import FRESH
from minigrad.node import Node, reachable
from minigrad.results import Result as Edge
from minigrad.tape import looks
from minigrad.tape.events import (
    Backward,
    Call,
    Conflict,
    Entry,
    HookRan,
    Input,
    Saved,
    Sent,
    Turn,
)
from minigrad.tape.names import tensors_in
from minigrad.tape.snapshot import Snapshot, maybe
from minigrad.tensor import Tensor
from minigrad.views import CopySlices

AnyNode = Node | AccumulateGrad


class Recorder:
    """Writes down what the core reports."""

    def __init__(self, namespace: Callable[[], Mapping[str, Any]]) -> None:
        self.namespace = namespace
        self.entries: list[Entry] = []
        self.calls: list[Call] = []
        self.passes: list[Backward] = []
        # In time: ("op", entry, 0), ("seed", pass, 0), ("turn", pass, turn), ("end", pass, 0).
        self.events: list[tuple[str, int, int]] = []
        self.names: dict[int, str] = {}  # of tensors, by number
        self.storages: dict[int, int] = {}  # tensor -> the memory it shows, where shared or written
        self.bases: dict[int, int] = {}  # a view's tensor -> its base's
        self._numbers: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._many = 0
        self._sought: set[int] = set()  # whose names were looked up
        self._counters: dict[int, tuple[Any, int]] = {}  # id of a counter -> it, its storage
        self._latest: dict[int, tuple[int, int]] = {}  # tensor -> (entry, output) that made it
        self._entry_of: weakref.WeakKeyDictionary[AnyNode, int] = weakref.WeakKeyDictionary()
        self._arrived: dict[int, int] = {}
        self._grads: dict[int, Snapshot | None] = {}  # of leaves, as last seen
        self._hooks: list[HookRan] = []
        self._open: list[tuple[GraphTask, int]] = []  # passes that are running
        self._modules: list[tuple[Any, int]] = []  # those being called, with their calls

    # ---- forward -----------------------------------------------------------------

    def forward(
        self, op: Any, operands: tuple[Any, ...], result: Any, params: dict[str, Any], inplace: bool
    ) -> None:
        """An operation was applied; with `inplace`, its result is its first operand."""
        if self._open and not self._open[-1][0].create_graph:
            return  # a hook computes something: no part of the graph
        results = result if isinstance(result, tuple) else (result,)
        through = None
        if inplace and isinstance(result, Tensor) and result._base is not None:
            # A write to a view is a write to its base, whose history now goes on from here.
            through, base = result, result._base
            operands, results = (base, *operands[1:]), (base,)
        inputs = [self._input(x, inplace and k == 0) for k, x in enumerate(operands)]
        number = len(self.entries)  # only now: an input may have been a new entry itself
        entry = Entry(
            "op",
            op.name,
            op.formula,
            inputs,
            {
                k: looks.setting(v)
                for k, v in params.items()
                if not looks.same(v, op.settings.get(k))
            },
            inplace=inplace,
            place=learner_line(),
            made_by=self.passes[self._open[-1][1]].number if self._open else None,
            call=self._modules[-1][1] if self._modules else None,
        )
        self.entries.append(entry)
        self.events.append(("op", number, 0))
        for output, tensor in enumerate(results):
            if not isinstance(tensor, Tensor):
                continue
            key = self._number(tensor)
            entry.results.append(looks.result(tensor, key))
            self._latest[key] = (number, output)
        if through is not None:
            entry.through = self._number(through)
            self._look_up_one(through, entry.through)
        elif isinstance(result, Tensor) and not inplace:
            entry.view = bool(getattr(op, "view", False)) and result._base is not None
        node = results[0].grad_fn if isinstance(results[0], Tensor) else None
        if isinstance(node, Node):
            self._link(entry, number, node)
            if not inplace and not self._open:
                entry.local = looks.local_derivatives(op, operands, result, params)
        elif any(isinstance(x, Tensor) and x.node is not None for x in operands):
            entry.stop = looks.why_no_gradient(op, results[0])

    def failed(self, op: Any, operands: Sequence[Any], place: Place | None) -> int:
        """An op raised, and the recorded code stopped there."""
        inputs = [self._input(x, overwritten=False) for x in operands]
        shapes = [str(tuple(getattr(x, "shape", ()))) for x in operands]
        number = len(self.entries)
        self.entries.append(
            Entry("failed", op.name, op.formula, inputs, place=place, shapes=shapes)
        )
        self.events.append(("failed", number, 0))
        return number

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """Within this block a module of nn is being called."""
        path, parent = type(module).__name__, None
        if self._modules:
            caller, parent = self._modules[-1]
            names = [name for name, inner in caller.named_modules() if inner is module and name]
            path = f"{self.calls[parent].path}.{names[0] if names else path}"
        self._modules.append((module, len(self.calls)))
        self.calls.append(Call(path, parent))
        try:
            yield
        finally:
            self._modules.pop()

    def _input(self, operand: Any, overwritten: bool) -> Input:
        if not isinstance(operand, Tensor):
            return Input(None, constant=looks.constant(operand))
        if self._known(operand) is None and looks.is_number(operand):
            return Input(None, constant=looks.constant(operand.array))
        key = self._number(operand)
        if key not in self._latest:
            self._add_leaf(operand, key, overwritten)
        elif not overwritten:
            self._follow_base(operand, key)
        self._look_up_one(operand, key)
        entry, output = self._latest[key]
        return Input(entry, output, operand._version - overwritten)

    def _look_up_one(self, tensor: Tensor, key: int) -> None:
        """By now the learner has given this tensor a name, or never will.

        The variables themselves are looked at; what is in lists and modules, later.
        """
        if key in self.names or key in self._sought:
            return
        self._sought.add(key)
        for name, value in self.namespace().items():
            if value is tensor and not name.startswith("_"):
                self.names[key] = name
                return

    def _follow_base(self, view: Tensor, key: int) -> None:
        """A view whose base was written to since has a new history: the same hops again."""
        entry, output = self._latest[key]
        base = view._base
        if base is None or self.entries[entry].results[output].version == view._version:
            return
        before = self._input(base, overwritten=False)
        made = self.entries[entry]
        again = Entry(
            "op",
            made.op or "view",
            made.formula,
            [before],
            made.settings,
            [looks.result(view, key)],
            view=True,
            replayed=True,
            place=made.place,
            call=made.call,
        )
        number = len(self.entries)
        self.entries.append(again)
        self.events.append(("op", number, 0))
        self._latest[key] = (number, 0)
        node = view.grad_fn
        if isinstance(node, Node):
            self._link(again, number, node)

    def _add_leaf(self, tensor: Tensor, key: int, overwritten: bool) -> None:
        """A tensor that was there before; its old value is lost if it was overwritten."""
        result = looks.result(tensor, key)
        if overwritten:
            result.value = None
            result.version -= 1
            result.requires_grad = False
        node = None if overwritten else tensor.grad_fn
        kind = "leaf" if node is None else "before"
        entry = Entry(kind, results=[result])
        source = None if node is not None else self._same_memory(tensor, key)
        if source is not None:
            entry.kind, entry.op, entry.stop = "op", "detach", "detach"
            entry.formula, entry.place, entry.view = "z = x, without its history", None, True
            from_entry, output = self._latest[source]
            entry.inputs = [Input(from_entry, output, tensor._version)]
            self.events.append(("op", len(self.entries), 0))
        if result.requires_grad:
            entry.backward = "AccumulateGrad" if node is None else node.name()
            entry.kind = kind
            entry.rank = None if tensor.node is None else tensor.node.rank
        self._latest[key] = (len(self.entries), 0)
        if node is not None:
            entry.op = looks.op_of(node).name
            entry.rank = node.rank
            self._entry_of[node] = len(self.entries)
        self.entries.append(entry)

    def _same_memory(self, tensor: Tensor, key: int) -> int | None:
        """A tensor that was recorded before and shows the same memory, whole."""
        if tensor.counter is FRESH:
            return None
        for ref, number in self._numbers.values():
            other = ref()
            if number == key or number not in self._latest or other is None:
                continue
            if other.counter is tensor.counter and other.shape == tensor.shape:
                return number
        return None

    def _link(self, entry: Entry, number: int, node: Node) -> None:
        """Which inputs get a gradient, and what is saved: as the new node says."""
        entry.backward, entry.rank = node.name(), node.rank
        self._entry_of[node] = number
        parents = node.next_functions
        if isinstance(node, CopySlices) or not entry.replayed:
            for given, (parent, _) in zip(entry.inputs, parents, strict=False):
                given.gradient = parent is not None
                if parent is not None and given.entry is not None:
                    self._entry_of.setdefault(parent, given.entry)
                    source = self.entries[given.entry]
                    if source.backward is None:  # a leaf overwritten in place, seen too late
                        source.backward, source.rank = parent.name(), parent.rank
        else:
            entry.inputs[0].gradient = True
        for name, (value, version) in looks.saved_values(node).items():
            if version is None or not hasattr(value, "shape"):
                continue
            source_entry, key, constant = None, None, ""
            if name == "z":
                source_entry, key = number, entry.results[0].tensor
            elif isinstance(value, Tensor):
                key = self._known(value)
                source_entry = self._latest[key][0] if key in self._latest else None
                if key is None and looks.is_number(value):
                    constant = looks.constant(value.array)
            entry.saved.append(Saved(name, source_entry, version, key, constant))

    # ---- backward ----------------------------------------------------------------

    def backward(self, task: GraphTask, engine: str = "graph") -> None:
        """A backward pass begins."""
        self.look_up_names()
        self._grads |= self._adopt(task.roots)
        seeds = [(self._entry(n), maybe(g)) for n, g in zip(task.roots, task.gradients)]
        number = len(self.passes)
        self.events.append(("seed", number, 0))
        self.passes.append(
            Backward(
                number + 1, learner_line(), engine, task.retain_graph, task.create_graph, seeds
            )
        )
        self._arrived = {}
        self._hooks = []
        self._open.append((task, number))

    def hooked(self, when: str, hooks: int, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Hooks have seen, and perhaps replaced, what is on its way."""
        self._hooks.append(HookRan(when, hooks, [*map(maybe, before)], [*map(maybe, after)]))

    def step(self, task: GraphTask, step: Step) -> None:
        """A node ran."""
        if isinstance(step.node, Edge):
            return
        number = self._open[-1][1]
        now = self.passes[number]
        if not now.turns:
            self._count(task, now)
        entry = self._entry(step.node)
        turn = Turn(entry, _opened(step.g), freed=step.node.freed, hooks=self._hooks)
        self._hooks = []
        self._take(task, step, turn, now)
        for edge, (parent, g) in enumerate(zip(step.node.edges, step.grads, strict=False)):
            if not task._leads_to_an_input(parent) or self._entry(parent) not in now.expected:
                continue
            to = self._entry(parent)
            expected = now.expected[to]
            arrived = self._arrived[to] = self._arrived.get(to, 0) + 1
            # Alone, the recursive engine passes each contribution on at once.
            ready = arrived == expected or now.engine == "recursive"
            turn.sent.append(Sent(to, edge, _opened(g), arrived, expected, ready))
            if ready:
                turn.became_ready.append(to)
        self.events.append(("turn", number, len(now.turns)))
        now.turns.append(turn)

    def _take(self, task: GraphTask, step: Step, turn: Turn, now: Backward) -> None:
        """Where the gradient ends up, if this node is where somebody waits for it."""
        node, entry = step.node, turn.entry
        asked = task.inputs is not None and node in task.inputs
        if isinstance(node, AccumulateGrad):
            if asked and not task.accumulate:
                turn.captured = True
            else:
                after = maybe(node.grad)
                turn.accumulated = (self._grads.get(entry), after)
                first = now.grads[entry][0] if entry in now.grads else self._grads.get(entry)
                now.grads[entry] = (first, after)
                self._grads[entry] = after
        elif asked:
            turn.captured = True
        turn.kept = isinstance(node.case, Hooked) and node.case.keep is not None

    def _count(self, task: GraphTask, now: Backward) -> None:
        """How many contributions will each node receive? And which nodes are left out?"""
        pruned = set()
        taking_part = []
        for node in sorted(reachable(task.roots), key=lambda n: n.rank):
            if isinstance(node, Edge):
                continue
            if task._leads_to_an_input(node):
                taking_part.append(node)
            else:
                pruned.add(self._entry(node))
        in_order = {self._entry(node): 0 for node in taking_part}
        for node in taking_part:
            for parent in node.edges:
                if task._leads_to_an_input(parent):
                    in_order[self._entry(parent)] += 1
        if now.engine == "recursive":  # it does not wait: one contribution for each path
            for node, paths in contributions("recursive", task).items():
                if not isinstance(node, Edge):
                    in_order[self._entry(node)] = paths
        now.expected = in_order
        now.pruned = sorted(pruned)

    def finished(self, task: GraphTask, error: BaseException | None) -> None:
        """A backward pass has ended, perhaps with an error."""
        number = self._open.pop()[1]
        now = self.passes[number]
        now.finished = error is None
        if error is not None:
            if not now.turns:
                self._count(task, now)
            now.error = f"{type(error).__name__}: {error}"
            node = looks.node_that_failed(error)
            if node is not None and node in self._entry_of:
                now.failed = self._entry(node)
                now.conflict = self._conflict(node, now.failed)
        self.events.append(("end", number, 0))
        self._arrived, self._hooks = {}, []

    def _conflict(self, node: AnyNode, number: int) -> Conflict | None:
        """The saved value of this node that was written to, and the entry that did it."""
        if isinstance(node, AccumulateGrad) or node.freed:
            return None
        counts = {name: counter.count for name, counter in looks.counters(node).items()}
        for saved in self.entries[number].saved:
            now = counts.get(saved.name)
            if saved.version is None or now is None or now == saved.version:
                continue
            storage = None if saved.tensor is None else self.storages.get(saved.tensor)
            writers = [
                k
                for k, e in enumerate(self.entries)
                if e.inplace
                and any(
                    r.tensor == saved.tensor
                    or (storage is not None and self.storages.get(r.tensor) == storage)
                    for r in e.results
                )
                and e.results[0].version > saved.version
            ]
            return Conflict(saved.name, saved.version, now, writers[0] if writers else None)
        return None

    def _adopt(self, roots: Sequence[AnyNode]) -> dict[int, Snapshot | None]:
        """Entries for the part of the graph that was made before the recording.

        Returns what the leaves of the graph have in `.grad` by now.
        """
        nodes = [n for n in reachable(roots) if not isinstance(n, Edge)]
        # From the oldest on, so that the inputs of a node have their entries before it.
        for node in sorted(nodes, key=lambda n: (isinstance(n, Node), -n.rank)):
            if node not in self._entry_of:
                self._adopt_one(node)
            entry = self.entries[self._entry_of[node]]
            if entry.kind == "before" and not entry.inputs:
                entry.inputs = [
                    Input(None, constant="…")
                    if parent is None
                    else Input(self._entry(parent), gradient=True)
                    for parent, _ in node.next_functions
                ]
        return {self._entry(n): maybe(n.grad) for n in nodes if isinstance(n, AccumulateGrad)}

    def _adopt_one(self, node: AnyNode) -> None:
        if isinstance(node, AccumulateGrad):
            tensor = node.variable
            key = self._number(tensor)
            if key in self._latest:
                self._entry_of[node] = self._latest[key][0]
                return
            self._entry_of[node] = len(self.entries)
            self._add_leaf(tensor, key, overwritten=False)
            return
        op = looks.op_of(node)
        self._entry_of[node] = len(self.entries)
        self.entries.append(
            Entry(
                "before",
                op.name,
                op.formula,
                place=node.place,
                backward=node.name(),
                rank=node.rank,
            )
        )

    # ---- who is who --------------------------------------------------------------

    def _entry(self, node: AnyNode) -> int:
        """The entry of a node; of an edge that stands for one of several results, its owner's."""
        return self._entry_of[node.owner if isinstance(node, Edge) else node]

    def entry_of(self, node: AnyNode) -> int:
        """The entry of a node of the graph, which is added if it is new here."""
        if isinstance(node, Edge):
            node = node.owner
        if node not in self._entry_of:
            self._adopt([node])
        return self._entry_of[node]

    def tensor(self, number: int) -> Tensor | None:
        """The tensor of this number, if it is still alive."""
        for ref, n in self._numbers.values():
            if n == number:
                return ref()
        return None

    def _known(self, tensor: Tensor) -> int | None:
        found = self._numbers.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _number(self, tensor: Tensor) -> int:
        """The tensor's number in this recording; given when first seen.

        An id may be used again once its tensor is gone, so it counts only together
        with a weak reference that is still alive.
        """
        known = self._known(tensor)
        if known is None:
            known = self._many
            self._many += 1
            self._numbers[id(tensor)] = (weakref.ref(tensor), known)
        counter = tensor.counter
        if counter is not FRESH:
            kept = self._counters.setdefault(id(counter), (counter, len(self._counters)))
            self.storages[known] = kept[1]
            base = tensor._base
            if base is not None and known not in self.bases:
                self.bases[known] = self._number(base)
        return known

    def look_up_names(self) -> None:
        """Give names to the tensors that have one in the learner's namespace by now."""
        for name, tensor in tensors_in(self.namespace()):
            known = self._known(tensor)
            if known is not None and known not in self.names:
                self.names[known] = name
            if isinstance(tensor.node, AccumulateGrad) and tensor.node.grad is not None:
                known = self._known(tensor.node.grad)
                if known is not None and known not in self.names:
                    self.names[known] = f"{name}.grad"


def _opened(g: Any) -> Snapshot | None:
    """A gradient that was handed on; one of several results' may come packed."""
    parts = getattr(g, "parts", None)
    if parts is not None:
        g = next(iter(parts.values()), None)
    return maybe(g)
