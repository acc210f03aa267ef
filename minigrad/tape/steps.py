"""The steps of a document: what happened, one node at a time, and its details.

A step is one node's turn. Its details are deltas, so that a drawing can stop
between any two of them:

    op           forward: a result was computed
    seed         a backward pass begins; how many contributions each node expects
    pop          a node was taken from the ready queue, with its gradient
    check        its saved values were compared with their versions
    hook         hooks saw a gradient, before or after the node ran
    apply        its rules were applied
    deposit      a gradient was passed on: contribution `arrived` of `expected`
    accumulate   a gradient was added to a leaf's .grad: before, term, after
    capture      grad() requested the gradient, and it goes to the caller
    keep         retain_grad: the gradient was also stored in .grad
    free         the saved values were freed
    error        the pass stopped here

Each step and each detail has one sentence that says what happened (`text`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad.tape.events import Backward, HookRan, Turn
from minigrad.tape.names import count_not_finite, in_words, number, shape_text
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Snapshot

if TYPE_CHECKING:
    from minigrad.tape.trace import Values

Detail = dict[str, Any]


def steps(recorder: Recorder, nodes: list[dict[str, Any]], values: Values) -> list[dict[str, Any]]:
    """The steps of a tape, in chronological order."""
    return _Steps(recorder, nodes, values).all()


def words(value: Snapshot | None) -> str:
    """A gradient as a short text: all of it if it is small, else its shape and norm."""
    if value is None:
        return "no gradient"
    plain = value.plain()
    said = in_words(plain)
    if not said.startswith("from ") or plain["norm"] is None:
        return said
    not_finite = count_not_finite(plain)
    also = f", but for {not_finite}" if not_finite else ""
    return f"a {shape_text(plain['shape'])} of norm {number(plain['norm'])}{also}"


class _Steps:
    def __init__(self, recorder: Recorder, nodes: list[dict[str, Any]], values: Values) -> None:
        self.recorder, self.nodes, self.values = recorder, nodes, values

    def all(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        order = 0
        for kind, which, k in self.recorder.events:
            if kind == "failed":
                found.append(self._failed(which))
                continue
            if kind == "op":
                order += 1
                self.nodes[which]["order"] = order
                found.append(self._op(which))
                continue
            b = self.recorder.passes[which]
            if kind == "seed":
                found.append(self._seed(b))
            elif kind == "turn":
                found.append(self._turn(b, b.turns[k], k + 1))
            elif b.error is not None:
                found.append(self._error(b))
        return found

    def _op(self, which: int) -> dict[str, Any]:
        node, made_by = self.nodes[which], self.nodes[which]["made_by"]
        entry = self.recorder.entries[which]
        value = entry.results[0].value if entry.results else None
        if node["replayed"]:
            text = f"{node['label']} is a view of memory that was written to: its history is walked again."
        elif node["inplace"]:
            text = f"{node['expression']} wrote over {node['name']}: version {node['version']}, {words(value)}."
        else:
            text = f"{node['label']} = {node['expression']} was computed: {words(value)}."
        if node["stop"]:
            text += f" The tape stops here ({node['stop']})."
        step: dict[str, Any] = {
            "phase": "forward" if made_by is None else "backward",
            "event": "op",
            "node": f"n{which}",
            "text": text,
            "details": [{"event": "op", "node": f"n{which}", "text": text}],
        }
        if made_by is not None:
            step["pass"] = made_by
        return step

    def _failed(self, which: int) -> dict[str, Any]:
        node = self.nodes[which]
        text = (
            f"{node['expression']} failed, with operands of shapes {' and '.join(node['shapes'])}."
        )
        detail = {"event": "failed", "node": node["id"], "text": text}
        step = {"phase": "forward", "event": "failed", "node": node["id"], "text": text}
        return step | {"details": [detail]}

    def _seed(self, b: Backward) -> dict[str, Any]:
        seeds = [{"node": f"n{e}", "g": self.values.number(g)} for e, g in b.seeds]
        said = ", ".join(f"{self.title(e)} gets {words(g)}" for e, g in b.seeds)
        text = f"Backward pass {b.number} begins: {said}."
        if b.engine != "graph":
            text += f" The engine is {b.engine!r}."
        expected = {f"n{e}": count for e, count in sorted(b.expected.items())}
        detail = {
            "event": "seed",
            "seeds": seeds,
            "expected": expected,
            "pruned": [f"n{e}" for e in b.pruned],
            "text": text,
        }
        return self._step(b, "seed", None, text, [detail])

    def _turn(self, b: Backward, turn: Turn, order: int) -> dict[str, Any]:
        entry = self.recorder.entries[turn.entry]
        self.nodes[turn.entry]["hooks"] = sum(h.hooks for h in turn.hooks)
        title, name = self.title(turn.entry), self.nodes[turn.entry]["name"]
        why = "leaves come last" if entry.backward == "AccumulateGrad" else "it was made last"
        said = f"{title} is taken from the queue ({why}), with the gradient {words(turn.g)}."
        if b.engine == "tape":
            said = f"{title} is next on the list, going back, with the gradient {words(turn.g)}."
        elif b.engine == "recursive":
            said = f"{title} is called with one contribution, {words(turn.g)}, and does not wait."
        details: list[Detail] = [{"event": "pop", "text": said}]
        if entry.saved and turn.g is not None:
            kept = ", ".join(self._saved(s) for s in self.nodes[turn.entry]["saved"])
            details.append(
                {"event": "check", "text": f"Its saved values are as they were: {kept}."}
            )
        details += [self._hook(h) for h in turn.hooks if h.when == "before"]
        if turn.sent:
            rules = ", ".join(self._rules(turn.entry))
            details.append(
                {"event": "apply", "text": f"Its rules are applied{': ' + rules if rules else ''}."}
            )
        details += [self._hook(h) for h in turn.hooks if h.when == "after"]
        details += self._deposits(b, turn)
        if turn.accumulated is not None:
            before, after = turn.accumulated
            details.append(
                {
                    "event": "accumulate",
                    "before": self.values.number(before),
                    "term": self.values.number(turn.g),
                    "after": self.values.number(after),
                    "text": f"{name}.grad was none; now it is {words(after)}."
                    if before is None
                    else f"{name}.grad was {words(before)}; {words(turn.g)} is added: {words(after)}.",
                }
            )
        details += [self._hook(h) for h in turn.hooks if h.when == "finally"]
        if turn.captured:
            text = f"The gradient of {name} was asked for: {words(turn.g)} goes to the caller."
            details.append({"event": "capture", "g": self.values.number(turn.g), "text": text})
        if turn.kept:
            text = f"{name} retains its gradient: {name}.grad is {words(turn.g)}."
            details.append({"event": "keep", "g": self.values.number(turn.g), "text": text})
        if turn.freed:
            details.append({"event": "free", "text": "Its saved values are freed."})
        step = self._step(b, "node", turn.entry, self._summary(turn), details)
        step["order"], step["g"] = order, self.values.number(turn.g)
        return step

    def _deposits(self, b: Backward, turn: Turn) -> list[Detail]:
        found = []
        for s in turn.sent:
            if b.engine == "recursive":
                told = f"contribution {s.arrived} of {s.expected}, passed on alone"
            elif s.expected == 1:
                told = "it expected no more: ready"
            elif s.ready:
                told = f"{s.arrived} of {s.expected} arrived: ready"
            else:
                told = f"{s.arrived} of {s.expected} arrived, {s.expected - s.arrived} to come"
            found.append(
                {
                    "event": "deposit",
                    "to": f"n{s.to}",
                    "edge": s.edge,
                    "g": self.values.number(s.value),
                    "arrived": s.arrived,
                    "expected": s.expected,
                    "ready": s.ready,
                    "text": f"{words(s.value)} goes to {self.title(s.to)}; {told}.",
                }
            )
        return found

    def _hook(self, ran: HookRan) -> Detail:
        many = "A hook" if ran.hooks == 1 else f"{ran.hooks} hooks"
        before, after = map(words, (_first(ran.before), _first(ran.after)))
        if ran.when == "finally":
            text = f"{many} ran after .grad had been added to."
        elif before == after:
            text = f"{many} saw the gradient {before}, and left it."
        else:
            text = f"{many} saw the gradient {before}, and made it {after}."
        return {
            "event": "hook",
            "when": ran.when,
            "before": [self.values.number(v) for v in ran.before],
            "after": [self.values.number(v) for v in ran.after],
            "text": text,
        }

    def _error(self, b: Backward) -> dict[str, Any]:
        assert b.error is not None
        text = f"Backward pass {b.number} stopped: {b.error.splitlines()[0]}"
        details: list[Detail] = []
        if b.failed is not None:
            details.append(
                {"event": "pop", "text": f"{self.title(b.failed)} is taken from the queue."}
            )
        error: Detail = {"event": "error", "text": text, "message": b.error, "conflict": None}
        if b.conflict is not None:
            c = b.conflict
            error["conflict"] = {
                "name": c.name,
                "saved": c.saved,
                "now": c.now,
                "by": None if c.by is None else f"n{c.by}",
            }
        details.append(error)
        return self._step(b, "error", b.failed, text, details)

    def _step(
        self, b: Backward, event: str, entry: int | None, text: str, details: list[Detail]
    ) -> dict[str, Any]:
        return {
            "phase": "backward",
            "event": event,
            "pass": b.number,
            "node": None if entry is None else f"n{entry}",
            "text": text,
            "details": details,
        }

    def _summary(self, turn: Turn) -> str:
        """A whole turn in one sentence."""
        title, name = self.title(turn.entry), self.nodes[turn.entry]["name"]
        if turn.accumulated is not None:
            before, after = turn.accumulated
            if before is None:
                return f"{name}.grad is now {words(after)}."
            return f"{name}.grad was {words(before)} and is now {words(after)}."
        if turn.captured:
            return f"{title} took {words(turn.g)}: that is the gradient asked for."
        sent = ", ".join(f"{words(s.value)} to {self.nodes[s.to]['label']}" for s in turn.sent)
        ready = ", ".join(self.nodes[e]["label"] for e in turn.became_ready)
        text = f"{title} took {words(turn.g)}; sent {sent or 'nothing'}."
        return text + (f" Ready now: {ready}." if ready else "")

    def title(self, entry: int) -> str:
        return title(self.nodes[entry])

    def _saved(self, saved: dict[str, Any]) -> str:
        if saved["constant"]:
            return f"{saved['name']} = {saved['constant']}"
        node = None if saved["node"] is None else self.nodes[int(saved["node"][1:])]
        name = saved["name"] if node is None else node["name"]
        return name if saved["version"] is None else f"{name} v{saved['version']}"

    def _rules(self, entry: int) -> list[str]:
        """The derivatives of the op for the inputs that need one."""
        made = self.recorder.entries[entry]
        parts = made.formula.split("  ")
        return [p.strip() for p in parts[1:] if p.strip().startswith("d")][:4]


def title(node: dict[str, Any]) -> str:
    """ "MulBackward0 of z": a backward node, and the tensor it belongs to."""
    return f"{node['backward']} of {node['label']}"


def _first(values: list[Snapshot | None]) -> Snapshot | None:
    return values[0] if values else None
