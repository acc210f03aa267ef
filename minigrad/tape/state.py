"""The state of a tape after a step, found by replaying the details so far.

    tape.at(9).ready       the nodes in the ready queue, in the order in which they will run
    tape.at(9).waiting     the other nodes -> how many contributions they still expect
    tape.at(9).just_now    the latest event, as a sentence
    tape.at(9).grads       the leaves' .grad, as sums of their terms
    tape.at(9).current     the node that ran last

The inspector's script does the same in the browser. Pictures are drawn from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from minigrad.tape import document as doc
from minigrad.tape.names import in_words, printable


class Arrival(NamedTuple):
    """A contribution to a node's gradient, and the node that sent it."""

    sender: str
    sent: doc.DepositDetail


class Term(NamedTuple):
    """The term that a backward pass, given by its number, added to a leaf's .grad."""

    number: int
    added: doc.AccumulateDetail


@dataclass
class PassState:
    """The state of one backward pass."""

    expected: dict[str, int] = field(default_factory=dict)
    pruned: set[str] = field(default_factory=set)
    arrived: dict[str, list[Arrival]] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)  # node -> the number of its latest run
    captured: set[str] = field(default_factory=set)
    failed: str | None = None
    conflict: doc.SavedConflict | None = None


@dataclass(repr=False)
class TapeState:
    """The state after a step. In the public attributes, nodes are named as in the text of a step."""

    document: doc.Document
    step: int
    last: int
    number: int = 0  # the number of the backward pass, 0 before the first
    backward: PassState = field(default_factory=PassState)  # its state
    node: str | None = None  # the node that ran last
    event: str | None = None  # the kind of step: op, seed, node, error
    made: set[str | None] = field(default_factory=set)  # the nodes that have run forward
    freed: dict[str, int] = field(default_factory=dict)  # node -> the pass that freed it
    terms: dict[str, list[Term]] = field(default_factory=dict)
    firsts: dict[str, list[str]] = field(default_factory=dict)  # node -> "first NaN made here"
    just_now: str = "Before the first step."
    passes: dict[int | None, PassState] = field(default_factory=dict)  # of all passes, by number

    @staticmethod
    def of(
        document: doc.Document, step: int | None = None, detail: int | None = None
    ) -> "TapeState":
        """The state after a step (by default the last), or after a detail of it."""
        steps = document.steps
        step = len(steps) if step is None else step
        if step not in range(len(steps) + 1):
            raise IndexError(f"tape.at: the step must be from 0 to {len(steps)}, not {step!r}.")
        state = TapeState(document, step, len(steps))
        for k, now in enumerate(steps[:step], 1):
            state._take(now, detail if k == step else None)
        return state

    @staticmethod
    def after_each_node(document: doc.Document, number: int) -> Iterator["TapeState"]:
        """The state after each node that ran in a backward pass."""
        state = TapeState(document, 0, len(document.steps))
        for state.step, step in enumerate(document.steps, 1):
            state._take(step)
            if step.event == "node" and step.pass_ == number:
                yield state

    def _take(self, step: doc.TapeStep, detail: int | None = None) -> None:
        if step.pass_ in self.passes:  # the outer pass again, if a nested pass has just ended
            self.number, self.backward = step.pass_ or 0, self.passes[step.pass_]
        details, node = step.details[:detail], step.node or ""
        self.node, self.just_now, self.event = step.node, step.text, step.event
        for d in details:
            self._happen(step, node, d)
        if step.first and any(d.event in ("op", "apply") for d in details):
            also = f" of backward {self._ran_as(step)}" if step.pass_ else ""
            self.firsts.setdefault(node, []).append(f"first {step.first}{also} made here")
        if detail is not None and details:
            self.just_now = details[-1].text

    def _ran_as(self, step: doc.TapeStep) -> int:
        """The number of the step's pass among all passes, including those that were left out."""
        return self.document.backward[step.pass_ - 1].ran_as if step.pass_ else 0

    def _happen(self, step: doc.TapeStep, node: str, d: doc.AnyDetail) -> None:
        now = self.backward
        match d:
            case doc.SeedDetail():
                self._begin(step.pass_ or 0, d)
            case doc.Detail("op" | "failed"):
                self.made.add(node)
            case doc.Detail("pop"):
                if node in now.queue:
                    now.queue.remove(node)
                if step.order is not None:
                    now.order[node] = step.order
            case doc.DepositDetail():
                now.arrived.setdefault(d.to, []).append(Arrival(node, d))
                if d.ready:
                    self._ready([d.to])
            case doc.AccumulateDetail():
                self.terms.setdefault(node, []).append(Term(self._ran_as(step), d))
            case doc.CaptureDetail():
                now.captured.add(node)
            case doc.Detail("free"):
                self.freed[node] = self._ran_as(step)
            case doc.UpdateDetail():
                for change in d.changes:
                    self._change(d.kind, change)
            case doc.ErrorDetail():
                now.failed, now.conflict = node or None, d.conflict

    def _change(self, kind: doc.UpdateKind, change: doc.ParameterChange) -> None:
        """Update .grad: it was cleared, or now belongs to the next version of the parameter."""
        self.made.add(change.now)
        if kind == "zero_grad":
            self.terms.pop(change.was or "", None)
        elif change.was in self.terms and change.now not in (None, change.was):
            self.terms[str(change.now)] = self.terms.pop(str(change.was))

    def _begin(self, number: int, d: doc.SeedDetail) -> None:
        self.number = number
        self.backward = self.passes[number] = PassState(d.expected, set(d.pruned))
        self._ready(s.node for s in d.seeds if not d.expected.get(s.node, 0))

    def _ready(self, keys: Iterable[str]) -> None:
        queue = self.backward.queue
        queue += [key for key in dict.fromkeys(keys) if key not in queue]
        if self.engine != "recursive":
            queue.sort(key=self._priority)

    def _priority(self, key: str) -> int:
        return self.document.node(key).priority or 0

    @property
    def engine(self) -> str:
        """The engine of the pass: "graph", "tape" or "recursive"; "torch" for PyTorch's own."""
        return self.document.backward[self.number - 1].engine if self.number else "graph"

    def left(self, key: str) -> int:
        """How many contributions a node still expects."""
        return self.backward.expected.get(key, 0) - len(self.backward.arrived.get(key, ()))

    def expecting(self) -> list[str]:
        """The nodes that still expect contributions, in the order in which they will run."""
        return [k for k in sorted(self.backward.expected, key=self._priority) if self.left(k) > 0]

    # ---- the public attributes ------------------------------------------------------

    @property
    def current(self) -> str | None:
        """The node that ran last."""
        if self.node is None:
            return None
        node = self.document.node(self.node)
        return node.title if self.event in ("node", "error") else node.label

    @property
    def ready(self) -> tuple[str, ...]:
        """The ready queue, in the order in which the nodes will run."""
        return tuple(self.document.node(k).title for k in self.backward.queue)

    @property
    def waiting(self) -> dict[str, int]:
        """The nodes that still expect contributions -> how many."""
        keys = [k for k in self.expecting() if k not in self.backward.queue]
        return {self.document.node(k).title: self.left(k) for k in keys}

    @property
    def grads(self) -> dict[str, str]:
        """The .grad of each leaf that has one, as a sum of its terms."""
        return {self.document.node(k).name: self.sum(k) for k in self.terms}

    def sum(self, key: str) -> str:
        """ "1 (backward 1) + 3 (backward 2) = 4": the terms of a leaf's .grad."""

        def words(value: int | None) -> str:
            return in_words(self.document.value(value))

        terms = self.terms[key][-64:]
        added = [term.added for term in terms]
        # Where .grad was set to None or to zero in between, the sum begins.
        begins = [k for k in range(1, len(terms)) if added[k].before != added[k - 1].after]
        terms = terms[max(begins, default=0) :]
        parts = [f"{words(d.term)} (backward {n})" for n, d in terms if d.term is not None]
        before, after = terms[0].added.before, terms[-1].added.after
        if before is not None:
            parts.insert(0, f"{words(before)} (before)")
        total = "none" if after is None else words(after)
        return total if len(parts) < 2 else f"{' + '.join(parts)} = {total}"

    def __repr__(self) -> str:
        head = f"step {self.step} of {self.last}    "
        head += f"backward {self.number}" if self.number else "forward"
        rows = [head, f"    just now  {self.just_now}"]
        if self.number:
            rows += queue_lines(self.ready, self.waiting)
        return printable("\n".join(rows))


def queue_lines(ready: Iterable[str], waiting: Mapping[str, int]) -> list[str]:
    """Two lines: the nodes that are ready; and the waiting nodes, with the contributions they expect."""
    more = ", ".join(f"{who} ({n} more)" for who, n in waiting.items())
    return [f"    ready     {', '.join(ready) or 'none'}", f"    waiting   {more or 'none'}"]
