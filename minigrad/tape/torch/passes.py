"""The backward half: PyTorch's engine, observed by hooks.

Before a pass, we add two hooks to each node that it can reach: one is called before the node runs,
the other after. They record the order of the nodes, and the gradients. The engine does not report
how many contributions a node expects, or which other nodes are ready. We count these on the graph,
and check each run against the counts. If a run does not match them, the recording says so.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd.graph import get_gradient_edge

from minigrad.core.errors import aligned, user_line
from minigrad.tape.document import SavedConflict
from minigrad.tape.events import Backward, HookRan, NodeRun
from minigrad.tape.snapshot import Array, Snapshot
from minigrad.tape.torch.operations import Operations, in_compiler
from minigrad.tape.torch.tensors import key_of, nodes_below, saved_of
from minigrad.tape.torch.values import memory_of, snapshot

Run = Callable[..., Any]
Gradients = Sequence[torch.Tensor | None]
Node = Any  # PyTorch has no common type for the nodes of a graph


class Passes:
    """Records backward passes."""

    def __init__(self, operations: Operations) -> None:
        self.operations, self.seen = operations, operations.seen
        self.recorder = self.seen.recorder
        self.open: list[OnePass] = []

    def run(self, engine: Run, outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Run PyTorch's engine, and record what it does."""
        if in_compiler() or any(map(is_functorch_wrapped_tensor, outputs)):
            return engine(outputs, *args, **kwargs)  # torch.func: only operations are recorded
        self.operations.flush()
        gradients, retain_graph, create_graph, inputs = args[:4]
        accumulate = kwargs.get("accumulate_grad", True)
        try:
            with self.operations.unseen():  # PyTorch makes a view of a leaf to find its node
                roots = [edge_of(x) for x in outputs]
                wanted = [edge_of(x) for x in inputs]
        except (RuntimeError, AttributeError):  # something requires no gradient, or is no tensor
            roots = None
        if roots is None:
            return self._refused(engine, outputs, *args, **kwargs)
        tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
        now = OnePass(self, roots, gradients, retain_graph, create_graph, wanted, accumulate)
        self.open.append(now)
        with self.operations.unseen():
            handles = now.watch(tensors)
        error: BaseException | None = None
        self.seen.computing.append(now.record.number)
        seen = not create_graph and self.operations.leave()
        try:
            return engine(outputs, *args, **kwargs)
        except BaseException as e:
            error = e
            raise
        finally:
            if seen:
                self.operations.come_back()
            self.operations.flush()
            self.seen.computing.pop()
            for handle in handles:
                handle.remove()
            self.open.pop()
            now.end(error)

    def _refused(self, engine: Run, outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Let the engine raise its error, and add the lines that explain it."""
        try:
            return engine(outputs, *args, **kwargs)
        except RuntimeError as error:
            lines = "".join(map(self.seen.where_it_stopped, outputs))
            if lines and "does not require grad" in str(error):
                error.add_note(lines.removeprefix("\n"))
            raise


class OnePass:
    """One backward pass: the counts on its graph, and the runs that the hooks have recorded."""

    def __init__(
        self, passes: Passes, roots: list[Node], gradients: Sequence[torch.Tensor],
        retain_graph: bool, create_graph: bool, inputs: list[Node], accumulate: bool,
    ) -> None:  # fmt: skip
        self.passes, self.seen, self.recorder = passes, passes.seen, passes.recorder
        self.nodes = nodes_below(roots)
        self.entry = {node: self.seen.entry_of(node) for node in reversed(self.nodes)}
        self.recorder.look_up_names()
        self.inputs, self.accumulate = set(inputs), accumulate
        self.needed = set(inputs or self.nodes)
        for node in reversed(self.nodes):  # parents come after their children in `nodes`
            if any(parent in self.needed for parent, _ in node.next_functions):
                self.needed.add(node)
        self.threads: set[int] = set()
        number = len(self.recorder.passes)
        seeds = [(self.entry[n], snapshot(g)) for n, g in zip(roots, gradients)]
        keeps = bool(retain_graph), create_graph
        self.record = Backward(number + 1, user_line(), "torch", *keeps, seeds)
        self.record.pruned = sorted(self.entry[n] for n in self.nodes if n not in self.needed)
        self.record.expected = {self.entry[n]: 0 for n in self.nodes if n in self.needed}
        for parent in (p for n in self.nodes for p in self._parents(n)):
            self.record.expected[self.entry[parent]] += 1
        self.parts: dict[int, list[Snapshot | None]] = {}
        for entry, g in seeds:
            self.parts.setdefault(entry, []).append(g)
        self.ready = {e for e, _ in seeds if not self.record.expected.get(e)}
        self.running: list[NodeRun] = []
        self.begun: list[int] = []  # how many events there were when they began
        # (entry, result) -> the memory and the snapshot of a gradient sent there. None: several were sent.
        self.sent: dict[tuple[int, int], tuple[Any, Snapshot] | None] = {}
        self.recorder.passes.append(self.record)
        self.recorder.events.append(("seed", number, 0))

    def _parents(self, node: Node) -> list[Node]:
        """The nodes to which a node sends gradients in this pass."""
        if node not in self.needed:
            return []
        return [p for p, _ in node.next_functions if p is not None and p in self.needed]

    # ---- hooks ---------------------------------------------------------------------

    def watch(self, inputs: list[torch.Tensor]) -> list[Any]:
        """Add the hooks; returns their handles."""
        handles = []
        for node in self.nodes:
            if node in self.needed:
                hooked = key_of(node) in self.seen.packed or any(
                    getattr(raw, "unpack_hook", None) for _, raw in saved_of(node)
                )
                runs_code = hooked or hasattr(node, "_forward_cls")
                handles.append(node.register_prehook(partial(self._before, node, runs_code)))
                handles.append(node.register_hook(partial(self._after, node)))
        if not self.accumulate:
            handles += [x.register_hook(partial(self._capture, edge_of(x))) for x in inputs]
        return handles

    def _before(self, node: Node, runs_code: bool, grads: Gradients) -> None:
        if self is self.passes.open[-1]:
            self.begin(node, grads)
            if runs_code and not self.record.create_graph:
                self.passes.operations.come_back()

    def _after(self, node: Node, grads: Gradients, came: Gradients) -> None:
        if self is self.passes.open[-1]:
            if not self.record.create_graph:
                self.passes.operations.leave()
            self.finish(node, grads)

    def _capture(self, node: Node, g: torch.Tensor) -> None:
        if self is self.passes.open[-1] and not self._goes_on(node):
            self.begin(node, (g,))
            self.running[-1].captured = True
            self.finish(node, ())

    def _goes_on(self, node: Node) -> bool:
        """Does the engine run this node, rather than just return its gradient to the caller?"""
        return bool(self._parents(node)) or self.accumulate and hasattr(node, "variable")

    def begin(self, node: Node, grads: Gradients) -> None:
        """A node is about to run."""
        self.passes.operations.flush()
        entry = self.entry[node]
        self.threads.add(threading.get_ident())
        with self.passes.operations.unseen():
            came = [self._arriving(entry, k, g) for k, g in enumerate(grads)]
        parts = {k: g for k, g in enumerate(came) if g is not None}
        run = NodeRun(entry, next(iter(parts.values()), None), parts if len(grads) > 1 else {})
        run.freed = not self.record.retain_graph and keeps_tensors(node)
        run.captured = not self.accumulate and node in self.inputs
        run.instead = self._turn_of_another(entry)
        self._hooks(run, node)
        if hasattr(node, "variable"):
            run.accumulated = self._unseen(node.variable.grad), self._sum(node, grads[0])
        self.begun.append(len(self.recorder.events))
        self.running.append(run)

    def _arriving(self, entry: int, which: int, g: torch.Tensor | None) -> Snapshot | None:
        """A snapshot of an arriving gradient: the sender's, if the gradient cannot have changed since."""
        memory, value = self.sent.pop((entry, which), None) or (None, None)
        tensor = self._result(entry)
        hooked = tensor is not None and tensor._backward_hooks
        return snapshot(g) if memory is None or memory != memory_of(g) or hooked else value

    def _result(self, entry: int) -> torch.Tensor | None:
        """The tensor whose gradient an entry receives, if it still exists."""
        results = self.recorder.entries[entry].results
        return self.seen.alive(results[0].tensor) if len(results) == 1 else None

    def _turn_of_another(self, entry: int) -> int | None:
        """The node that should run according to our counts, if it is not this one."""
        keys = {e: self.recorder.entries[e].queue_key or 0 for e in self.ready}
        self.ready.discard(entry)
        best = min(keys, key=keys.__getitem__, default=None)
        return None if best is None or keys.get(entry) == keys[best] else best

    def finish(self, node: Node, grads: Gradients) -> None:
        """A node has run."""
        self.passes.operations.flush()
        run, at = self.running.pop(), self.begun.pop()
        edge = 0
        for (parent, which), g in zip(node.next_functions, grads, strict=False):
            if parent is None:
                continue
            if parent in self.needed:
                to, value = self.entry[parent], self._unseen(g)
                self.parts.setdefault(to, []).append(value)
                run.sent.append(self.record.send(to, edge, value))
                self.ready.update([to] if run.sent[-1].ready else [])
                first = (to, which) not in self.sent
                self.sent[to, which] = (memory_of(g), value) if first and value else None
            edge += 1
        last = last_hooks(node)
        if run.accumulated is not None:
            before, added = run.accumulated
            gradient = node.variable.grad
            after = added if last else self._unseen(gradient)
            if gradient is not None:
                self.seen.note_gradient(gradient, run.entry)
            self.record.accumulate(run, before, after)
        if last:
            run.hooks.append(HookRan("finally", len(last), [], []))
        # What such hooks did, such as an optimizer's step, comes after the node.
        reached = at if last else len(self.recorder.events)
        self.recorder.events.insert(reached, ("run", self.record.number - 1, len(self.record.runs)))
        self.record.runs.append(run)

    def _sum(self, node: Node, g: torch.Tensor | None) -> Snapshot | None:
        """What a leaf's .grad is about to become, if hooks run before we can see it."""
        if g is None or not last_hooks(node):
            return None
        before = node.variable.grad
        with self.passes.operations.unseen(), torch.no_grad():
            return snapshot(g if before is None else before + g)

    def _unseen(self, g: torch.Tensor | None) -> Snapshot | None:
        with self.passes.operations.unseen():
            return snapshot(g)

    def _hooks(self, run: NodeRun, node: Node) -> None:
        """Record user hooks, which ran before ours. They are found on tensors, or by their effect."""
        parts, came = self.parts.get(run.entry, []), run.g
        tensor, hooks = self._result(run.entry), 0
        if tensor is not None:
            hooks = len(tensor._backward_hooks or ()) - (tensor.is_leaf and run.captured)
            run.kept = not tensor.is_leaf and tensor.retains_grad
        if came is None or came.array is None or len(run.parts) > 1:
            return
        total = total_of(parts)
        if total is None:
            return
        as_sent = len(parts) == 1 and parts[0] is came
        changed = not (as_sent or np.array_equal(total, came.array, equal_nan=True))
        if hooks or changed:
            run.g = Snapshot(total)
            run.hooks.append(HookRan("before", max(hooks, 1), [run.g], [came]))

    # ---- the end -------------------------------------------------------------------

    def end(self, error: BaseException | None) -> None:
        """The pass has ended, perhaps with an error."""
        now = self.record
        now.finished, now.threads = error is None, max(1, len(self.threads))
        if error is not None:
            now.error = f"{type(error).__name__}: {error}"
            if self.running:
                now.failed = self.running[-1].entry
                if "modified by an inplace operation" in str(error):
                    now.conflict = self._conflict(now.failed)
                rows = self._lines(now.failed, str(error))
                if rows:
                    now.error += "\n" + aligned(rows)
                    error.add_note(aligned(rows))
        self.recorder.events.append(("end", now.number - 1, 0))

    def _conflict(self, failed: int) -> SavedConflict | None:
        """The saved value of this node that was written to, and the operation that wrote to it."""
        for saved in self.recorder.entries[failed].saved:
            by = self.recorder.writer(saved.tensor, saved.version or 0)
            if by is not None and saved.version is not None:
                results = self.recorder.entries[int(by[1:])].results
                return SavedConflict(saved.name, saved.version, results[0].version, by)
        return None

    def _lines(self, failed: int, message: str) -> list[tuple[Any, ...]]:
        """The lines of the user's program that explain an error."""
        entry, conflict = self.recorder.entries[failed], self.record.conflict
        rows: list[tuple[Any, ...]] = []
        if conflict is not None and conflict.by is not None:
            writer = self.recorder.entries[int(conflict.by[1:])]
            versions = f"at version {conflict.saved}", f"at version {conflict.now}"
            rows = [("saved", entry.place, versions[0]), ("changed", writer.place, versions[1])]
        elif "second time" in message:
            ran = [b for b in self.recorder.passes[:-1] if any(t.entry == failed for t in b.runs)]
            if ran:
                rows = [("first pass", ran[-1].place), ("this pass", self.record.place)]
        return [(e, p.label, p.text, *more) for e, p, *more in rows if p is not None]


def last_hooks(node: Node) -> dict[int, Any]:
    """The hooks that run once a leaf's .grad is up to date."""
    return getattr(getattr(node, "variable", None), "_post_accumulate_grad_hooks", None) or {}


def keeps_tensors(node: Node) -> bool:
    """Has a node saved tensors, which the pass will free?"""
    raw = (kept for _, kept in saved_of(node))
    return any(getattr(x, "unpack_hook", None) or getattr(x, "data", x) is not None for x in raw)


def edge_of(x: Any) -> Node:
    """The node of a tensor, or of a GradientEdge."""
    return get_gradient_edge(x).node if isinstance(x, torch.Tensor) else x.node


def total_of(parts: Sequence[Snapshot | None]) -> Array | None:
    """The sum of contributions, in the order of their arrival; None if one was not recorded in full."""
    arrays = [g.array for g in parts if g is not None and g.array is not None]
    return reduce(np.add, arrays) if arrays and len(arrays) == len(parts) else None
