"""Walking through a backward pass: what the engine does, one node at a time.

    for step in tape.steps(z):
        print(step)

Each step shows the node that ran, its incoming gradient, the gradients that it sent and to
which nodes, the nodes that are ready (in the order in which they will run), and the number of
contributions that the other nodes still expect.

There is no second engine for this. `live` uses the engine's own generator,
`GraphTask.steps()`, so you see what really runs; `replayed` goes through a recorded pass
again (state.py) without computing anything.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from minigrad.core import modes
from minigrad.core.backward import root_gradient, root_of, watched_steps
from minigrad.core.engine import AnyNode, GraphTask
from minigrad.core.tensor import Tensor
from minigrad.tape.adapters import tensor_kinds
from minigrad.tape.document import Document, NotFinite, TapeNode, index_of
from minigrad.tape.events import Backward, NodeRun
from minigrad.tape.from_recording import nodes_of
from minigrad.tape.names import printable, shape_text, short
from minigrad.tape.recorder import Recorder
from minigrad.tape.state import TapeState, queue_lines
from minigrad.tape.steps import made_by_run

NONE = "no gradient"


@dataclass(frozen=True)
class Sending:
    """A gradient that was sent to a node, as contribution `arrived` of `expected`."""

    to: str
    gradient: Any
    arrived: int
    expected: int
    words: str = field(repr=False, default="")


@dataclass(frozen=True, repr=False)
class WalkStep:
    """One node's run in a backward pass.

    number, of    the number of the step, as in tape.at(number), and of the last step
    node          the engine's node (None when a recorded pass is replayed)
    name          "MulBackward0"
    label         the tensor that the node belongs to: "z v1"
    expression    the forward expression: "z += x2"
    line          its line, or None
    g             the incoming gradient: an array (a snapshot for a recorded pass)
    sends         the outgoing gradients
    ready         the nodes that are ready now, in the order in which they will run
    waiting       the other nodes -> how many contributions they still expect
    makes         "NaN" or "inf", if an outgoing gradient contains it but the incoming one does not
    """

    number: int
    of: int
    node: AnyNode | None
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
    makes: NotFinite | None

    def __repr__(self) -> str:
        what = f"    {self.expression}" if self.expression else ""
        line = f"    line {self.line}" if self.line is not None else ""
        rows = [
            f"step {self.number} of {self.of}    {self.name} of {self.label}{what}{line}",
            f"    receives  {self.words}    {shape_text(self.shape)}",
        ]
        for k, s in enumerate(self.sends):
            count = f"    {s.arrived} of {s.expected} arrived" if s.expected > 1 else ""
            rows.append(f"    {'' if k else 'sends':<8}  to {s.to}: {s.words}{count}")
        if not self.sends:
            rows.append(f"    adds it to {self.label}.grad")
        if self.makes:
            rows.append(f"    makes     {self.makes}, though none came in")
        return printable("\n".join([*rows, *queue_lines(self.ready, self.waiting)]))


def live(
    recorder: Recorder, z: Any, gradient: Any, retain_graph: bool, create_graph: bool
) -> Iterator[WalkStep]:
    """A backward pass of z, step by step; `Tape.steps` has the user's documentation."""
    if not isinstance(z, Tensor) and isinstance(z, tensor_kinds()):
        raise TypeError(
            "tape.steps: PyTorch's engine runs a pass as a whole. To walk through it, record "
            "z.backward(), and then call tape.steps() without z."
        )
    roots, gradients = [root_of(z)], [root_gradient(z, gradient, create_graph)]
    task = GraphTask(roots, gradients, retain_graph=retain_graph, create_graph=create_graph)
    return _run(recorder, task)


def _run(recorder: Recorder, task: GraphTask) -> Iterator[WalkStep]:
    nodes: list[TapeNode] = []
    number = begun = 0
    with closing(watched_steps(task)) as steps:
        while True:
            # The modes are only set while the engine runs, not while the user's loop body runs.
            with modes.set_grad_enabled(task.create_graph), modes.within("observer", recorder):
                step = next(steps, None)
            if step is None:
                break
            now, nodes = recorder.passes[-1], nodes or nodes_of(recorder)
            number += sum(map(recorder.is_step, recorder.events[begun:]))
            begun = len(recorder.events)
            place = (number, number + len(now.expected) - len(now.runs))
            ready = [recorder.entry_of(n) for n in task.ready]
            later = sorted((n for n, k in task.waiting.items() if k), key=lambda n: n.queue_key)
            waiting = {recorder.entry_of(n): task.waiting[n] for n in later}
            gradients = step.g, [step.grads[s.edge] for s in now.runs[-1].sent]
            yield _shown(nodes, now.runs[-1], place, step.node, gradients, ready, waiting)


def replayed(recorder: Recorder, shown: Callable[[], Document]) -> Iterator[WalkStep]:
    """Replay the last backward pass on the tape, whose document is `shown()`."""
    if not recorder.passes:
        raise ValueError(
            "tape.steps(): no backward pass was recorded. To walk through a new one, pass the "
            "tensor it starts from: tape.steps(z)."
        )
    return _again(recorder.passes[-1], shown)


def _again(now: Backward, shown: Callable[[], Document]) -> Iterator[WalkStep]:
    document = shown()
    for run, state in zip(now.runs, TapeState.after_each_node(document, now.number), strict=True):
        ready = [index_of(k) for k in state.backward.queue]
        waiting = {index_of(k): state.left(k) for k in state.expecting()}
        gradients, place = (run.g, [s.value for s in run.sent]), (state.step, state.last)
        yield _shown(document.nodes, run, place, None, gradients, ready, waiting)


def _shown(
    nodes: list[TapeNode],
    run: NodeRun,
    place: tuple[int, int],
    node: AnyNode | None,
    gradients: tuple[Any, list[Any]],
    ready: list[int],
    waiting: dict[int, int],
) -> WalkStep:
    """The WalkStep for a run, with the state after it.

    place             the numbers of the step and of the last step
    gradients         the incoming and the sent gradients, from the engine or the recording
    ready, waiting    numbers of entries
    """

    def title(entry: int) -> str:
        return f"{nodes[entry].backward} of {short(nodes[entry].label)}"

    own = nodes[run.entry]
    g, values = gradients
    return WalkStep(
        number=place[0],
        of=place[1],
        node=node,
        name=own.backward or "",
        label=short(own.label),
        expression=short(own.expression or ""),
        line=own.line,
        g=g,
        sends=tuple(
            Sending(title(s.to), value, s.arrived, s.expected, str(s.value or NONE))
            for s, value in zip(run.sent, values, strict=True)
        ),
        ready=tuple(map(title, ready)),
        waiting={title(entry): count for entry, count in waiting.items()},
        words=" and ".join(map(str, run.parts.values())) or str(run.g or NONE),
        shape=() if run.g is None else run.g.shape,
        makes=made_by_run(run),
    )
