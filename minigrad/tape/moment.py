"""A moment: the state after a step, found by replaying the details so far.

    tape.at(9).ready       the nodes in the ready queue, in the order in which they will run
    tape.at(9).waiting     the other nodes -> how many contributions they still expect
    tape.at(9).just_now    what has just happened, in one sentence
    tape.at(9).grads       the leaves' .grad, as the sum of its terms
    tape.at(9).current     the node whose turn it was

The inspector's script does the same in the browser. The picture is drawn from a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minigrad.tape.names import in_words

Document = dict[str, Any]


@dataclass
class Arrival:
    """One contribution to a node's gradient."""

    sender: str
    edge: int
    g: int | None
    arrived: int
    expected: int


@dataclass
class Term:
    """What one backward pass added to a leaf's .grad."""

    number: int
    g: int | None
    before: int | None
    after: int | None


@dataclass(repr=False)
class Moment:
    """The state at a moment. The public attributes name nodes like the text of a step."""

    found: Document
    step: int
    last: int
    number: int = 0  # of the backward pass, 0 before the first
    computed: set[str] = field(default_factory=set)
    node: str | None = None  # the node whose turn it was
    event: str | None = None  # the kind of step: op, seed, node, error
    expected: dict[str, int] = field(default_factory=dict)
    pruned: set[str] = field(default_factory=set)
    seeds: dict[str, int | None] = field(default_factory=dict)
    arrived: dict[str, list[Arrival]] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)  # node -> its latest turn
    freed: dict[str, int] = field(default_factory=dict)  # node -> the pass that freed it
    terms: dict[str, list[Term]] = field(default_factory=dict)
    captured: dict[str, int | None] = field(default_factory=dict)
    failed: str | None = None
    conflict: dict[str, Any] | None = None
    just_now: str = "Nothing has run yet."

    @staticmethod
    def of(found: Document, step: int | None = None, detail: int | None = None) -> Moment:
        """The moment after a step (by default the last), or after a detail of it."""
        steps = found["steps"]
        step = len(steps) if step is None else step
        if not 0 <= step <= len(steps):
            raise IndexError(f"tape.at: a step from 0 to {len(steps)}, not {step}.")
        moment = Moment(found, step, len(steps))
        for k, now in enumerate(steps[:step], 1):
            moment._take(now, detail if k == step else None)
        return moment

    def _take(self, step: dict[str, Any], detail: int | None) -> None:
        details = step["details"] if detail is None else step["details"][:detail]
        self.node, self.just_now, self.event = step.get("node"), step["text"], step["event"]
        for d in details:
            self._happen(step, d)
        if detail is not None and details:
            self.just_now = details[-1]["text"]

    def _happen(self, step: dict[str, Any], d: dict[str, Any]) -> None:
        event, node = d["event"], step.get("node") or ""
        if event == "op":
            self.computed.add(node)
        elif event == "seed":
            self._begin(step["pass"], d)
        elif event == "pop":
            if node in self.queue:
                self.queue.remove(node)
            if "order" in step:
                self.order[node] = step["order"]
        elif event == "deposit":
            to = d["to"]
            self.arrived.setdefault(to, []).append(
                Arrival(node, d["edge"], d["g"], d["arrived"], d["expected"])
            )
            if d["ready"]:
                self._ready(to)
        elif event == "accumulate":
            term = Term(step["pass"], d["term"], d["before"], d["after"])
            self.terms.setdefault(node, []).append(term)
        elif event in ("capture", "keep"):
            self.captured[node] = d["g"]
        elif event == "free":
            self.freed[node] = step["pass"]
        elif event == "error":
            self.failed, self.conflict = node or None, d["conflict"]

    def _begin(self, number: int, d: dict[str, Any]) -> None:
        self.number, self.expected = number, d["expected"]
        self.pruned = set(d["pruned"])
        self.seeds = {s["node"]: s["g"] for s in d["seeds"]}
        self.arrived, self.order, self.queue, self.captured = {}, {}, [], {}
        self.failed, self.conflict = None, None
        for key in self.seeds:
            if not self.expected.get(key, 0):
                self._ready(key)

    def _ready(self, key: str) -> None:
        if key not in self.queue:
            self.queue.append(key)
        if self.engine != "recursive":
            self.queue.sort(key=lambda k: self._nodes[k]["priority"] or 0)

    @property
    def engine(self) -> str:
        """The engine of the pass: "graph", "tape" or "recursive"."""
        return str(self.found["backward"][self.number - 1]["engine"]) if self.number else "graph"

    @property
    def _nodes(self) -> dict[str, dict[str, Any]]:
        index: dict[str, dict[str, Any]] | None = self.__dict__.get("_index")
        if index is None:
            index = self.__dict__["_index"] = {n["id"]: n for n in self.found["nodes"]}
        return index

    def left(self, key: str) -> int:
        """How many contributions a node still expects."""
        return self.expected.get(key, 0) - len(self.arrived.get(key, ()))

    # ---- the public attributes ------------------------------------------------------

    def _title(self, key: str) -> str:
        node = self._nodes[key]
        return f"{node['backward']} of {node['label']}"

    @property
    def current(self) -> str | None:
        """The node whose turn it was."""
        if self.node is None:
            return None
        if self.event in ("node", "error"):
            return self._title(self.node)
        return str(self._nodes[self.node]["label"])

    @property
    def ready(self) -> tuple[str, ...]:
        """The ready queue, in the order in which the nodes will run."""
        return tuple(self._title(k) for k in self.queue)

    @property
    def waiting(self) -> dict[str, int]:
        """The nodes that still wait, and for how many contributions."""
        ready = set(self.queue)
        return {
            self._title(k): self.left(k)
            for k in sorted(self.expected, key=lambda k: self._nodes[k]["priority"] or 0)
            if self.left(k) > 0 and k not in ready
        }

    @property
    def grads(self) -> dict[str, str]:
        """The .grad of each leaf that has one, as text: the sum of its terms."""
        return {self._nodes[k]["name"]: self.sum(k) for k in self.terms}

    def sum(self, key: str) -> str:
        """ "1 (backward 1) + 3 (backward 2) = 4": the terms of a leaf's .grad."""
        values, terms = self.found["values"], self.terms[key]
        if len(terms) > 64:
            terms = terms[-64:]
        first = terms[0]
        for k in range(len(terms) - 1, 0, -1):  # .grad was set to None or to zero in between
            if terms[k].before != terms[k - 1].after:
                first = terms[k]
                terms = terms[k:]
                break
        parts = [f"{in_words(values[t.g])} (backward {t.number})" for t in terms if t.g is not None]
        if first.before is not None:
            parts.insert(0, f"{in_words(values[first.before])} (before)")
        last = terms[-1].after
        total = "none" if last is None else in_words(values[last])
        return total if len(parts) < 2 else f"{' + '.join(parts)} = {total}"

    def __repr__(self) -> str:
        head = f"step {self.step} of {self.last}    "
        head += f"backward {self.number}" if self.number else "forward"
        rows = [head, f"    just now  {self.just_now}"]
        if self.number:
            rows.append(f"    ready     {', '.join(self.ready) or 'nobody'}")
            waiting = ", ".join(f"{who} ({n} more)" for who, n in self.waiting.items())
            rows.append(f"    waiting   {waiting or 'nobody'}")
        return "\n".join(rows)
