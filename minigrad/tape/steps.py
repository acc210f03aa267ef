"""The steps of a document: a recording, one node at a time, in detail.

A step is the run of one node. Its details are deltas, so that a drawing can stop between
any two of them:

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
    update       between passes: gradients cleared, parameters written to, learning rates set

Each step and each detail is described by a sentence (`text`).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from minigrad.core.op import REGISTRY
from minigrad.tape import document as doc
from minigrad.tape.events import Backward, HookRan, NodeRun, Sent, Update, WrittenTensor, result_of
from minigrad.tape.names import count_not_finite, count_of, number_text, shape_text
from minigrad.tape.naming import in_users_names
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Snapshot

if TYPE_CHECKING:
    from minigrad.tape.from_recording import Code, Values


def words(value: Snapshot | None) -> str:
    """A gradient as a short text: all entries if there are few, otherwise its shape and norm."""
    if value is None:
        return "no gradient"
    facts = value.facts()
    text = str(value)
    if not text.startswith("from ") or facts["norm"] is None:
        return text
    not_finite = count_not_finite(facts)
    also = f", but for {not_finite}" if not_finite else ""
    return f"a {shape_text(facts['shape'])} array of norm {number_text(facts['norm'])}{also}"


def error_text(b: Backward, nodes: list[doc.TapeNode]) -> str:
    """The error of a pass, with the user's name for a tensor that changed, not the rule's letter."""
    message, conflict = b.error or "", b.conflict
    if conflict is None or b.failed is None:
        return message
    node = nodes[b.failed]
    name = next(s.of(nodes) for s in node.saved if s.name == conflict.name)
    if node.op in REGISTRY:
        formula = REGISTRY[node.op].formula.split("   ")[0].strip()
        quoted = re.compile(rf"\({re.escape(formula)}(, where \S+ is [^)]*)?\)")
        message = quoted.sub(lambda _: f"({node.name} = {node.expression})", message)
    message = message.replace("when z was computed", f"when {node.name} was computed")
    letter = re.sub(r"saved_tensors\[(\d+)\]", r"saved tensor \1", conflict.name)
    named = re.compile(rf"\b{letter}(?= as it was| has changed| at version)")
    return named.sub(lambda _: name, message)


Snapshots = Iterable[Snapshot | None]


def made_not_finite(given: Snapshots, made: Snapshots) -> doc.NotFinite | None:
    """Which of NaN and infinity appears in the results but not in the inputs, if any."""
    before = [None if value is None else value.facts() for value in given]
    after = [value.facts() for value in made if value is not None]
    if None in before:
        return None  # it was not recorded
    nan, inf = any(f["nan"] for f in before if f), any(f["inf"] for f in before if f)
    if not nan and any(f["nan"] for f in after):
        return "NaN"
    return "inf" if not (nan or inf) and any(f["inf"] for f in after) else None


def made_by_run(run: NodeRun) -> doc.NotFinite | None:
    """Like `made_not_finite`, for the gradients that a node received and sent."""
    return made_not_finite(run.parts.values() or [run.g], [s.value for s in run.sent])


class Steps:
    """Makes the steps of a tape, with their sentences."""

    def __init__(
        self, recorder: Recorder, nodes: list[doc.TapeNode], values: "Values", code: "Code"
    ) -> None:
        self.recorder, self.nodes, self.values, self.code = recorder, nodes, values, code
        self.seen: set[tuple[int, doc.NotFinite]] = set()  # by pass; pass 0 is forward

    def all(self) -> list[doc.TapeStep]:
        """The steps, in chronological order."""
        recorder, wanted_by = self.recorder, self._wanted_by()
        step_of: dict[str, Callable[[int, int], doc.TapeStep]] = {
            "failed": lambda entry, _: self._failed(self.nodes[entry]),
            "op": lambda entry, _: self._op(entry, wanted_by.get(entry, "")),
            "update": lambda update, _: self._update(recorder.updates[update]),
            "seed": lambda ran, _: self._seed(recorder.passes[ran]),
            "run": lambda ran, k: self._node_run(recorder.passes[ran], k),
            "end": lambda ran, _: self._error(recorder.passes[ran]),
        }
        events = filter(recorder.is_step, recorder.events)
        return [step_of[kind](which, k) for kind, which, k in events]

    def _wanted_by(self) -> dict[int, str]:
        """For each op computed during one of our backward passes: the node whose rules computed it.

        In the events, this run comes after the ops that its rules have computed.
        """
        found: dict[int, str] = {}
        run_of: dict[int, str] = {}  # the next run of each pass, as we go backward
        for kind, which, k in reversed(self.recorder.events):
            if kind == "run" and self.recorder.passes[which].engine != "torch":
                b = self.recorder.passes[which]
                run_of[b.number] = self.nodes[b.runs[k].entry].title
            elif kind == "op" and (made_by := self.nodes[which].made_by) in run_of:
                found[which] = run_of[made_by]
        return found

    def _op(self, which: int, wanted_by: str) -> doc.TapeStep:
        node, entry = self.nodes[which], self.recorder.entries[which]
        value = " and ".join(words(r.value) for r in entry.results)
        purpose = f", for {wanted_by}" if wanted_by else ""
        text = f"{node.label} = {node.expression} was computed: {value}{purpose}."
        if node.replayed:
            text = f"{node.label} is a view of memory that was written to: its history is replayed."
        elif node.inplace:
            text = f"{node.expression} wrote over {node.name}: version {node.version}, {value}."
        text += f" The tape stops here ({node.stop})." if node.stop else ""
        entries = self.recorder.entries
        given = [result_of(entries, i) for i in entry.inputs if i.entry is not None]
        before = [None if r is None else r.value for r in given]
        made = made_not_finite(before, [r.value for r in entry.results])
        first = self._first(node.made_by or 0, made)
        step = op_step(node, text + _first_note(first), backward=node.made_by is not None)
        return replace(step, first=first)

    def _update(self, update: Update) -> doc.TapeStep:
        text = self._of_update(update)
        detail = doc.UpdateDetail(
            kind=update.kind,
            call=update.call,
            owner=update.owner,
            code=self.code.number(update.place),
            changes=[
                doc.ParameterChange(doc.id_of(w.was), doc.id_of(w.now), self.values.number(w.g))
                for w in update.written
            ],
            # Seven digits, so that 0.1 * 0.1 is shown as 0.01.
            rates=[doc.RateChange(*(float(f"{x:.7g}") for x in pair)) for pair in update.rates],
            text=text,
        )
        return doc.TapeStep("update", "update", text, [detail])

    def _of_update(self, update: Update) -> str:
        """A sentence about what an update changed."""
        call, n = update.call, len(update.written)
        params = count_of(n, "parameter")
        if update.kind == "schedule":
            if all(a == b for a, b in update.rates):
                rates = ", ".join(number_text(a) for a, _ in update.rates)
                return f"{call} ({update.owner}) left the learning rate as it was: {rates}."
            rates = ", ".join(f"{number_text(a)} → {number_text(b)}" for a, b in update.rates)
            return f"{call} ({update.owner}) set the learning rate: {rates}."
        if update.kind == "zero_grad":
            cleared = f"cleared the gradients of {params}" if n else "found no gradient to clear"
            return f"{call} {cleared}."
        if not n:
            return f"{call} ({update.owner}) wrote to no parameter: none has a gradient."
        names = [self._versions(w) for w in update.written[:3]]
        more = f" and {n - 3} more" if n > 3 else ""
        with_rate = f", lr {number_text(update.rates[0][0])}" if update.rates else ""
        return f"{call} ({update.owner}{with_rate}) wrote to {params}: {', '.join(names)}{more}."

    def _versions(self, w: WrittenTensor) -> str:
        if w.was is None or w.now is None or w.was == w.now:
            return "a parameter" if w.now is None else self.nodes[w.now].label
        was, now = self.nodes[w.was], self.nodes[w.now]
        return f"{now.name} v{was.version} → v{now.version}"

    def _first(self, number: int, made: doc.NotFinite | None) -> doc.NotFinite | None:
        """`made`, if it is the first NaN or infinity of this pass (0: forward); otherwise None."""
        if made is None or (number, made) in self.seen:
            return None
        self.seen |= {(number, made), (number, "inf")}  # after a NaN, infinities are not reported
        return made

    def _failed(self, node: doc.TapeNode) -> doc.TapeStep:
        text = f"{node.expression} failed, with operands of shapes {' and '.join(node.shapes)}."
        detail = doc.Detail("failed", text, node.id)
        return doc.TapeStep("forward", "failed", text, [detail], node.id)

    def _seed(self, b: Backward) -> doc.TapeStep:
        seeds = ", ".join(f"{self.nodes[e].title} gets {words(g)}" for e, g in b.seeds)
        text = f"Backward pass {b.ran_as} begins: {seeds}."
        if b.engine != "graph":
            text += f" The engine is {'PyTorch’s' if b.engine == 'torch' else repr(b.engine)}."
        detail = doc.SeedDetail(
            seeds=[doc.SeedGradient(f"n{e}", self.values.number(g)) for e, g in b.seeds],
            expected={f"n{e}": count for e, count in sorted(b.expected.items())},
            pruned=[f"n{e}" for e in b.pruned],
            text=text,
        )
        return doc.TapeStep("backward", "seed", text, [detail], None, b.number)

    def _node_run(self, b: Backward, k: int) -> doc.TapeStep:
        run = b.runs[k]
        g, first = self.values.number(run.g), self._first(b.number, made_by_run(run))
        details = [
            *self._taken(b, run),
            *self._hooks(run, "before"),
            *self._applied(run, _first_note(first)),
            *self._hooks(run, "after"),
            *[self._deposit(b, run, s) for s in run.sent],
            *self._accumulated(run),
            *self._hooks(run, "finally"),
        ]
        name, used = self.nodes[run.entry].name, self.values.number(run.used)
        if run.captured:
            text = f"The gradient of {name} was requested: {words(run.used)} goes to the caller."
            details.append(doc.CaptureDetail("capture", used, text))
        if run.kept:
            text = f"{name} retains its gradient: {words(run.used)} goes to {name}.grad."
            details.append(doc.CaptureDetail("keep", used, text))
        if run.freed:
            details.append(doc.Detail("free", "Its saved values are freed."))
        text = self._summary(run) + self._turn_of_another(run) + _first_note(first)
        node = f"n{run.entry}"
        return doc.TapeStep("backward", "node", text, details, node, b.number, k + 1, g, first)

    def _taken(self, b: Backward, run: NodeRun) -> list[doc.AnyDetail]:
        """The node is taken from the queue, and its saved values are checked."""
        entry = self.recorder.entries[run.entry]
        title, g = self.nodes[run.entry].title, self._took(run)
        if b.engine == "tape":
            text = f"{title} is next in the list, from last to first, with the gradient {g}."
        elif b.engine == "recursive":
            text = f"{title} is called with one contribution, {g}, and does not wait."
        else:
            place = "first" if b.engine == "torch" else "last"
            leaf = entry.backward == "AccumulateGrad"
            why = f"leaves come {place}" if leaf else "it was made last"
            text = f"{title} is taken from the queue ({why}), with the gradient {g}."
            if run.instead is not None:
                text = f"{title} ran, with the gradient {g}.{self._turn_of_another(run)}"
        details: list[doc.AnyDetail] = [doc.Detail("pop", text)]
        if entry.saved and run.g is not None:
            kept = ", ".join(self._saved(s) for s in self.nodes[run.entry].saved)
            details.append(doc.Detail("check", f"Its saved values are as they were: {kept}."))
        return details

    def _turn_of_another(self, run: NodeRun) -> str:
        if run.instead is None:
            return ""
        return f" By our counts, it was the turn of {self.nodes[run.instead].title}."

    def _applied(self, run: NodeRun, first: str) -> list[doc.AnyDetail]:
        """The detail that says which rules were applied."""
        if not run.sent:
            return []
        node, entry = self.nodes[run.entry], self.recorder.entries[run.entry]
        if entry.op not in REGISTRY:
            return [doc.Detail("apply", f"{entry.op}.backward is called.{first}")]
        letters = {node.inputs[self._operand(run, s)].operand for s in run.sent}
        given = [i for i in node.inputs if i.operand is not None]
        names = {"z": node.label} | {str(i.operand): i.of(self.nodes) for i in given}
        every = filter(None, map(str.strip, entry.formula.split("  ")[1:]))
        used = (rule for rule in every if any(x is None or f"/d{x}" in rule for x in letters))
        rules = [in_users_names(rule, names) for rule in used]
        text = "rule is applied" if len(rules) == 1 else "rules are applied"
        text += f": {', '.join(rules)}" if rules else ""
        return [doc.Detail("apply", f"Its {text}.{first}")]

    def _operand(self, run: NodeRun, s: Sent) -> int:
        """The position of the operand that a gradient was sent to; the first, if it is not known."""
        inputs = self.recorder.entries[run.entry].inputs
        passed = [k for k, given in enumerate(inputs) if given.gradient]
        return passed[s.edge] if s.edge < len(passed) else 0

    def _took(self, run: NodeRun) -> str:
        """The incoming gradient, as text; one for each result, if there are several."""
        named = self.nodes[run.entry].named
        if not named or not run.parts:
            return words(run.g)
        return ", ".join(f"{words(g)} for {named[k]}" for k, g in run.parts.items())

    def _deposit(self, b: Backward, run: NodeRun, s: Sent) -> doc.DepositDetail:
        if b.engine == "recursive":
            count = f"contribution {s.arrived} of {s.expected}, passed on alone"
        elif s.expected == 1:
            count = "it expected no more: ready"
        elif s.ready:
            count = f"{s.arrived} of {s.expected} arrived: ready"
        else:
            count = f"{s.arrived} of {s.expected} arrived, {s.expected - s.arrived} to come"
        return doc.DepositDetail(
            to=f"n{s.to}",
            edge=s.edge,
            g=self.values.number(s.value),
            arrived=s.arrived,
            expected=s.expected,
            ready=s.ready,
            text=f"{words(s.value)} goes to {self._target(run, s, title=True)}; {count}.",
        )

    def _accumulated(self, run: NodeRun) -> list[doc.AnyDetail]:
        if run.accumulated is None:
            return []
        before, after = run.accumulated
        name = self.nodes[run.entry].name
        if before is None:
            text = f"{name}.grad was none; now it is {words(after)}."
        else:
            text = f"{name}.grad was {words(before)}; {words(run.used)} is added: {words(after)}."
        was, term, now = map(self.values.number, (before, run.used, after))
        return [doc.AccumulateDetail(before=was, term=term, after=now, text=text)]

    def _hooks(self, run: NodeRun, when: doc.When) -> list[doc.AnyDetail]:
        return [self._hook(ran) for ran in run.hooks if ran.when == when]

    def _hook(self, ran: HookRan) -> doc.HookDetail:
        hooks = "A hook" if ran.hooks == 1 else f"{ran.hooks} hooks"
        before, after = (words(v[0] if v else None) for v in (ran.before, ran.after))
        if ran.when == "finally":
            text = f"{hooks} ran after .grad had been added to."
        elif before == after:
            text = f"{hooks} saw the gradient {before}, and did not change it."
        else:
            text = f"{hooks} saw the gradient {before}, and replaced it with {after}."
        return doc.HookDetail(
            when=ran.when,
            before=[self.values.number(v) for v in ran.before],
            after=[self.values.number(v) for v in ran.after],
            text=text,
        )

    def _error(self, b: Backward) -> doc.TapeStep:
        message = error_text(b, self.nodes)
        text = f"Backward pass {b.ran_as} stopped: {message.splitlines()[0]}"
        details: list[doc.AnyDetail] = []
        if b.failed is not None and b.failed not in [run.entry for run in b.runs]:
            popped = f"{self.nodes[b.failed].title} is taken from the queue."
            details.append(doc.Detail("pop", popped))
        details.append(doc.ErrorDetail(text=text, message=message, conflict=b.conflict))
        return doc.TapeStep("backward", "error", text, details, doc.id_of(b.failed), b.number)

    def _summary(self, run: NodeRun) -> str:
        """A whole run in one sentence."""
        title, name = self.nodes[run.entry].title, self.nodes[run.entry].name
        if run.accumulated is not None:
            before, after = run.accumulated
            if before is None:
                return f"{name}.grad is now {words(after)}."
            return f"{name}.grad was {words(before)} and is now {words(after)}."
        if run.captured:
            return f"{title} received {words(run.used)}, the requested gradient."
        sent = ", ".join(f"{words(s.value)} to {self._target(run, s)}" for s in run.sent)
        ready = ", ".join(self.nodes[s.to].label for s in run.sent if s.ready)
        text = f"{title} received {self._took(run)}; sent {sent or 'nothing'}."
        return text + (f" Ready now: {ready}." if ready else "")

    def _target(self, run: NodeRun, s: Sent, title: bool = False) -> str:
        """The name of the tensor, or of its node, to which a gradient was sent."""
        to = self.nodes[s.to]
        given = self.nodes[run.entry].inputs[self._operand(run, s)] if to.named else None
        name = given.of(self.nodes) if isinstance(given, doc.NodeOperand) else to.label
        return f"{to.backward} of {name}" if title else name

    def _saved(self, saved: doc.SavedValue) -> str:
        name = saved.of(self.nodes)
        return name if saved.version is None or saved.constant else f"{name} v{saved.version}"


def _first_note(first: doc.NotFinite | None) -> str:
    return "" if first is None else f" The first {first} is made here."


def op_step(node: doc.TapeNode, text: str, backward: bool) -> doc.TapeStep:
    """The step of an op; in the backward phase if a backward pass computed it."""
    details: list[doc.AnyDetail] = [doc.Detail("op", text, node.id)]
    phase: doc.Phase = "backward" if backward else "forward"
    return doc.TapeStep(phase, "op", text, details, node.id, node.made_by)
