"""Walking through a backward pass: what the engine does, one node at a time.

    for step in tape.steps(z):
        print(step)

Each step shows which node ran, the gradient that came in, the gradients that went out and
where, which nodes are ready (in the order in which they will run), and how many
contributions each of the others still expects.

There is no second engine for this. `live` uses the engine's own generator,
`GraphTask.steps()`, so you see what really runs; `recorded` replays
a recorded pass, and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minigrad.core import modes
from minigrad.core.backward import root_of, seed
from minigrad.core.engine import GraphTask
from minigrad.core.tensor import Tensor
from minigrad.tape.events import Backward, Turn
from minigrad.tape.names import in_words, shape_text, short
from minigrad.tape.naming import expression, name_of_tensor, node_names
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Snapshot

if TYPE_CHECKING:
    from minigrad.tape.record import Tape


@dataclass(frozen=True)
class Sending:
    """A gradient that was passed on: to which node, and as which of how many contributions."""

    to: str
    gradient: Any
    arrived: int
    expected: int
    words: str = field(repr=False, default="")


@dataclass(frozen=True, repr=False)
class WalkStep:
    """One node's turn in a backward pass.

    number, of    the turn, and the total number of nodes that will run
    node          the engine's node (None when a recorded pass is replayed)
    name          "MulBackward0"
    label         the tensor that the node belongs to: "z v1"
    expression    what was computed there: "z += x2"
    line          on which line, or None
    g             the gradient that came in: an array (a snapshot for a recorded pass)
    sends         the gradients that went out
    ready         the nodes that are ready now, in the order in which they will run
    waiting       the other nodes -> how many contributions they still expect
    """

    number: int
    of: int
    node: Any
    name: str
    label: str
    expression: str
    line: int | None
    g: Any
    sends: tuple[Sending, ...]
    ready: tuple[str, ...]
    waiting: dict[str, int]
    words: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        what = f"    {self.expression}" if self.expression else ""
        line = f"    line {self.line}" if self.line is not None else ""
        rows = [
            f"step {self.number} of {self.of}    {self.name} of {self.label}{what}{line}",
            f"    receives  {self.words}    {shape_text(self.shape)}",
        ]
        head = "sends"
        for s in self.sends:
            count = f"    {s.arrived} of {s.expected} arrived" if s.expected > 1 else ""
            rows.append(f"    {head:<8}  to {s.to}: {s.words}{count}")
            head = ""
        if not self.sends:
            rows.append(f"    adds it to {self.label}.grad")
        rows.append(f"    ready     {', '.join(self.ready) or 'nobody'}")
        waiting = ", ".join(f"{who} ({n} more)" for who, n in self.waiting.items())
        rows.append(f"    waiting   {waiting or 'nobody'}")
        return "\n".join(rows)


class _Labels:
    """The label of each entry of the recording in the text of a step."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.entries = recorder.entries
        self.names = node_names(recorder)
        self.versions: dict[int, int] = {}
        for entry in self.entries:
            for r in entry.results:
                self.versions[r.tensor] = max(self.versions.get(r.tensor, 0), r.version)

    def tensor(self, number: int) -> str:
        entry, name = self.entries[number], short(self.names[number])
        if entry.results and self.versions[entry.results[0].tensor]:
            return f"{name} v{entry.results[0].version}"
        return name

    def node(self, number: int) -> str:
        return f"{self.entries[number].backward} of {self.tensor(number)}"


def live(
    tape: Tape, z: Tensor, gradient: Any, retain_graph: bool, create_graph: bool
) -> Iterator[WalkStep]:
    """A backward pass of z, step by step; `Tape.steps` has the user's documentation."""
    recorder = tape._recorder
    task = GraphTask(
        [root_of(z)],
        [seed(z, gradient, create_graph)],
        retain_graph=retain_graph,
        create_graph=create_graph,
    )
    return _run(recorder, task)


def _run(recorder: Recorder, task: GraphTask) -> Iterator[WalkStep]:
    recorder.backward(task)
    labels = _Labels(recorder)
    now = recorder.passes[-1]
    steps = task.steps()
    error: BaseException | None = None
    try:
        while True:
            # The modes only hold while the engine runs, not while the user looks.
            with modes.set_grad_enabled(task.create_graph), modes.within("observer", recorder):
                step = next(steps, None)
            if step is None:
                break
            recorder.step(task, step)
            done = now.turns[-1]
            ready = tuple(labels.node(recorder.entry_of(n)) for n in task.ready)
            waiting = {
                labels.node(recorder.entry_of(n)): count
                for n, count in sorted(task.waiting.items(), key=lambda item: item[0].queue_key)
                if count
            }
            outgoing = [g for n, g in zip(step.node.edges, step.grads)]
            values = [outgoing[s.edge] for s in done.sent]
            yield _shown(labels, now, done, step.node, step.g, values, ready, waiting)
    except GeneratorExit:
        raise
    except BaseException as e:
        error = e
        raise
    finally:
        steps.close()  # type: ignore[attr-defined]
        recorder.finished(task, error)


def recorded(tape: Tape) -> Iterator[WalkStep]:
    """Replay the last backward pass on the tape."""
    recorder = tape._recorder
    if not recorder.passes:
        raise ValueError(
            "tape.steps(): no backward pass was recorded. To walk one, name the tensor it "
            "starts from: tape.steps(z)."
        )
    return _again(recorder, recorder.passes[-1])


def _again(recorder: Recorder, now: Backward) -> Iterator[WalkStep]:
    labels = _Labels(recorder)
    turn = {step.entry: k for k, step in enumerate(now.turns)}
    waiting = dict(now.expected)
    ready = {entry for entry, _ in now.seeds}
    for step in now.turns:
        ready.discard(step.entry)
        for sent in step.sent:
            waiting[sent.to] -= 1
        ready.update(step.became_ready)
        in_order = sorted(ready, key=lambda e: turn.get(e, len(turn)))
        yield _shown(
            labels,
            now,
            step,
            None,
            step.g,
            [s.value for s in step.sent],
            tuple(labels.node(e) for e in in_order),
            {labels.node(e): n for e, n in waiting.items() if n},
        )


def _shown(
    labels: _Labels,
    now: Backward,
    done: Turn,
    node: Any,
    g: Any,
    values: list[Any],
    ready: tuple[str, ...],
    waiting: dict[str, int],
) -> WalkStep:
    entry = labels.entries[done.entry]
    through = None
    if entry.through is not None:
        through = name_of_tensor(labels.recorder, entry.through, labels.names)
    written = expression(entry, labels.names, through) if entry.op and entry.inputs else ""
    return WalkStep(
        number=next(k for k, s in enumerate(now.turns, 1) if s is done)
        if now.turns[-1] is not done
        else len(now.turns),
        of=len(now.expected),
        node=node,
        name=entry.backward or "",
        label=labels.tensor(done.entry),
        expression=short(written),
        line=None if entry.place is None else entry.place.line,
        g=g,
        sends=tuple(
            Sending(labels.node(s.to), value, s.arrived, s.expected, _words(s.value))
            for s, value in zip(done.sent, values, strict=True)
        ),
        ready=ready,
        waiting=waiting,
        words=_words(done.g),
        shape=() if done.g is None else done.g.shape,
    )


def _words(value: Snapshot | None) -> str:
    return "no gradient" if value is None else in_words(value.plain())
