"""Recording: what happened between `with record()` and its end, as plain data.

    with minigrad.record() as tape:
        y = x * w
        z = y.sum()
    tape                        # in a notebook: the picture; tape.text(): the table

While the block runs, the core reports each operation, and each step of a backward
pass, to the `Recorder`. It writes them down as

    entry       one application of an op, or a leaf that an op was applied to
    result      one version of one tensor, made by an entry; x += 1 makes a new version
                of the same tensor
    backward    one backward pass: its seed, its steps, and what they left in `.grad`

Values are snapshots, copied when the event happened, because an in-place operation
later would falsify a reference. Tensors and nodes themselves are only held weakly: a
recording does not keep a graph alive.

Recording costs some 75 microseconds an operation, most of it for the snapshot; nothing
when it is off.

Left out: the gradient's way through hooks, and memory shared by views.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from minigrad import modes
from minigrad.engine import GraphTask, Step
from minigrad.errors import Place, learner_line
from minigrad.leaf import AccumulateGrad
from minigrad.node import Node
from minigrad.tape.names import namespace_of, number, tensors_in
from minigrad.tensor import Tensor

FIRST = 64  # elements of an array that a snapshot keeps
AnyNode = Node | AccumulateGrad
Snapshot = dict[str, Any]

_serial = count(1)


def reset_counter() -> None:
    """Number tapes from 1 again, as a fresh kernel would; `%load_ext minigrad` does this."""
    global _serial
    _serial = count(1)


def snapshot(array: Any) -> Snapshot:
    """A copy of what is worth knowing about an array.

    shape, dtype, size; min, max, mean (None where there is no order, or a NaN);
    nan, how many there are; first, its first 64 elements in row-major order.
    """
    a = np.asarray(array)
    found: Snapshot = {"shape": list(a.shape), "dtype": str(a.dtype), "size": int(a.size)}
    real = a.size > 0 and a.dtype.kind in "fiub"
    nan = int(np.isnan(a).sum()) if a.dtype.kind in "fc" else 0
    ordered = real and not nan
    found["min"] = _plain(a.min().item()) if ordered else None
    found["max"] = _plain(a.max().item()) if ordered else None
    found["mean"] = _plain(float(a.mean(dtype=np.float64))) if ordered else None
    found["nan"] = nan
    found["first"] = [_plain(v) for v in a.reshape(-1)[:FIRST].tolist()]
    return found


def _plain(value: Any) -> Any:
    """A number as JSON knows it; "nan", "inf" and complex numbers as their text."""
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


@dataclass(slots=True)
class Result:
    """One version of one tensor, as it was when it was made."""

    tensor: int
    version: int
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    value: Snapshot | None


@dataclass(slots=True)
class Input:
    """What an op was applied to: result `output` of `entry`, or a constant."""

    entry: int | None
    output: int = 0
    version: int = 0
    constant: str = ""
    gradient: bool = False  # does backward send a gradient this way?


@dataclass(slots=True)
class Saved:
    """A value kept for backward, by the name that the rule reads."""

    name: str
    entry: int | None
    version: int | None


@dataclass(slots=True)
class Entry:
    """One application of an op; or a leaf; or a node made before the recording."""

    kind: str  # "op", "leaf", "before"
    op: str = ""
    formula: str = ""
    inputs: list[Input] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    inplace: bool = False
    place: Place | None = None
    backward: str | None = None  # "MulBackward", "AccumulateGrad", or no gradient
    saved: list[Saved] = field(default_factory=list)
    made_by: int | None = None  # the backward pass that computed it, under create_graph
    module: str | None = None  # the module in whose forward it ran: "Net.hidden"


@dataclass(slots=True)
class Sent:
    """A gradient handed on: to an entry, as contribution `arrived` of `expected`.

    edge counts the edges of the sending node, as its `node.edges` does.
    """

    to: int
    edge: int
    value: Snapshot | None
    arrived: int
    expected: int


@dataclass(slots=True)
class BackwardStep:
    """One node's turn."""

    entry: int
    g: Snapshot | None
    sent: list[Sent]
    became_ready: list[int]
    freed: bool


@dataclass(slots=True)
class Backward:
    """One backward pass."""

    number: int
    place: Place | None
    retain_graph: bool
    create_graph: bool
    seeds: list[tuple[int, Snapshot | None]]
    expected: dict[int, int] = field(default_factory=dict)
    steps: list[BackwardStep] = field(default_factory=list)
    grads: dict[int, tuple[Snapshot | None, Snapshot | None]] = field(default_factory=dict)
    error: str | None = None
    failed: int | None = None
    finished: bool = False


class Recorder:
    """Writes down what the core reports. An observer, see modes.py."""

    def __init__(self, namespace: Callable[[], Mapping[str, Any]]) -> None:
        self.namespace = namespace
        self.entries: list[Entry] = []
        self.passes: list[Backward] = []
        self.events: list[tuple[str, int]] = []  # ("op", entry) and ("backward", pass), in time
        self.names: dict[int, str] = {}  # of tensors, by number
        self._numbers: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._count = 0
        self._latest: dict[int, tuple[int, int]] = {}  # tensor -> (entry, output) that made it
        self._entry_of: weakref.WeakKeyDictionary[AnyNode, int] = weakref.WeakKeyDictionary()
        self._waiting: dict[AnyNode, int] = {}
        self._grads: dict[int, Snapshot | None] = {}  # of leaves, before the running pass
        self._inside = 0
        self._modules: list[tuple[Any, str]] = []  # those being called, with their paths

    # ---- forward -----------------------------------------------------------------

    def forward(
        self, op: Any, operands: tuple[Any, ...], result: Any, params: dict[str, Any], inplace: bool
    ) -> None:
        """An operation was applied; with `inplace`, its result is its first operand."""
        results = result if isinstance(result, tuple) else (result,)
        inputs = [
            self._input(operand, overwritten=inplace and operand is result) for operand in operands
        ]
        entry = Entry(
            "op",
            op.name,
            op.formula,
            inputs,
            {k: _setting(v) for k, v in params.items() if not _same(v, op.settings.get(k))},
            inplace=inplace,
            place=learner_line(),
            made_by=self.passes[-1].number if self._inside else None,
            module=self._modules[-1][1] if self._modules else None,
        )
        number = len(self.entries)
        self.entries.append(entry)
        self.events.append(("op", number))
        for output, tensor in enumerate(results):
            key = self._number(tensor)
            entry.results.append(_result(tensor, key))
            self._latest[key] = (number, output)
        node = results[0].grad_fn
        if isinstance(node, Node):
            entry.backward = node.name()
            self._entry_of[node] = number
            self._link(entry, node)

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """Within this block a module of nn is being called."""
        path = type(module).__name__
        if self._modules:
            caller, before = self._modules[-1]
            names = [name for name, inner in caller.named_modules() if inner is module and name]
            path = f"{before}.{names[0] if names else path}"
        self._modules.append((module, path))
        try:
            yield
        finally:
            self._modules.pop()

    def _input(self, operand: Any, overwritten: bool) -> Input:
        if not isinstance(operand, Tensor):
            return Input(None, constant=_constant(operand))
        if self._known(operand) is None and _is_number(operand):
            return Input(None, constant=_constant(operand.array))
        key = self._number(operand)
        if key not in self._latest:
            self._add_leaf(operand, key, overwritten)
        if key not in self.names:
            self.look_up_names()  # by now the learner has given it one, or never will
        entry, output = self._latest[key]
        return Input(entry, output, operand._version - overwritten)

    def _add_leaf(self, tensor: Tensor, key: int, overwritten: bool) -> None:
        """A tensor that was there before; its old value is lost if it was overwritten."""
        result = _result(tensor, key)
        if overwritten:
            result.value = None
            result.version -= 1
            result.requires_grad = False
        node = None if overwritten else tensor.grad_fn
        kind = "leaf" if node is None else "before"
        entry = Entry(kind, results=[result])
        self._latest[key] = (len(self.entries), 0)
        if result.requires_grad:
            entry.backward = "AccumulateGrad" if node is None else node.name()
        if node is not None:
            entry.op = node.op.name
            self._entry_of[node] = len(self.entries)
        self.entries.append(entry)

    def _link(self, entry: Entry, node: Node) -> None:
        """Which inputs get a gradient, and what is saved: as the new node says."""
        for given, (parent, _) in zip(entry.inputs, node.next_functions, strict=False):
            given.gradient = parent is not None
            if parent is not None and given.entry is not None:
                self._entry_of.setdefault(parent, given.entry)
                source = self.entries[given.entry]
                if source.backward is None:  # a leaf overwritten in place, seen too late
                    source.backward = parent.name()
        for name, (value, version) in node.saved_values().items():
            if not hasattr(value, "shape"):
                continue
            source_entry = None
            if name == "z":
                source_entry = self._entry_of[node]
            elif isinstance(value, Tensor):
                known = self._known(value)
                source_entry = self._latest[known][0] if known in self._latest else None
            entry.saved.append(Saved(name, source_entry, version))

    # ---- backward ----------------------------------------------------------------

    def backward(self, task: GraphTask) -> None:
        """A backward pass begins."""
        self.look_up_names()
        self._grads = self._adopt(task.roots)
        seeds = [
            (self._entry_of[node], _maybe(g))
            for node, g in zip(task.roots, task.gradients, strict=True)
        ]
        self.events.append(("backward", len(self.passes)))
        self.passes.append(
            Backward(
                len(self.passes) + 1, learner_line(), task.retain_graph, task.create_graph, seeds
            )
        )
        self._waiting = {}
        self._inside += 1

    def step(self, task: GraphTask, step: Step) -> None:
        """A node ran."""
        now = self.passes[-1]
        node, entry = step.node, self._entry_of[step.node]
        parents = [p for p in node.edges if task._leads_to_an_input(p)]
        if not now.steps:
            # The first step has already counted down what it handed on: undo that, to
            # see the counts the pass began with.
            self._waiting = dict(task.waiting)
            for parent in parents:
                self._waiting[parent] += 1
            in_order = sorted(self._waiting.items(), key=lambda item: item[0].rank)
            now.expected = {self._entry_of[n]: c for n, c in in_order}
        if isinstance(node, AccumulateGrad):
            now.grads[entry] = (self._grads.get(entry), _maybe(node.grad))
        done = BackwardStep(entry, _maybe(step.g), [], [], node.freed)
        for edge, (parent, g) in enumerate(zip(node.edges, step.grads, strict=False)):
            if parent not in self._waiting or not task._leads_to_an_input(parent):
                continue
            self._waiting[parent] -= 1
            to = self._entry_of[parent]
            expected = now.expected[to]
            done.sent.append(Sent(to, edge, _maybe(g), expected - self._waiting[parent], expected))
            if not self._waiting[parent]:
                done.became_ready.append(to)
        now.steps.append(done)

    def finished(self, task: GraphTask, error: BaseException | None) -> None:
        """A backward pass has ended, perhaps with an error."""
        self._inside -= 1
        now = self.passes[-1]
        now.finished = error is None
        if error is not None:
            now.error = f"{type(error).__name__}: {error}"
            now.failed = self._next_to_run(now)
        self._waiting = {}

    def _next_to_run(self, now: Backward) -> int | None:
        """The node whose turn it was when the pass failed."""
        ran = {step.entry for step in now.steps}
        ready = [s for s, _ in now.seeds] + [e for step in now.steps for e in step.became_ready]
        left = [e for e in ready if e not in ran and self.entries[e].kind != "leaf"]
        return max(left, default=None)

    def _adopt(self, roots: Sequence[AnyNode]) -> dict[int, Snapshot | None]:
        """Entries for the part of the graph that was made before the recording.

        Returns what the leaves of the graph have in `.grad` by now.
        """
        nodes: dict[AnyNode, None] = {}
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in nodes:
                nodes[node] = None
                stack.extend(node.edges)
        # From the oldest on, so that the inputs of a node have their entries before it.
        for node in sorted(nodes, key=lambda n: (isinstance(n, Node), -n.rank)):
            if node not in self._entry_of:
                self._adopt_one(node)
            entry = self.entries[self._entry_of[node]]
            if entry.kind == "before" and not entry.inputs:
                entry.inputs = [
                    Input(None, constant="…")
                    if parent is None
                    else Input(self._entry_of[parent], gradient=True)
                    for parent, _ in node.next_functions
                ]
        return {self._entry_of[n]: _maybe(n.grad) for n in nodes if isinstance(n, AccumulateGrad)}

    def _adopt_one(self, node: AnyNode) -> None:
        number = len(self.entries)
        if isinstance(node, AccumulateGrad):
            tensor = node.variable
            key = self._number(tensor)
            if key in self._latest:
                self._entry_of[node] = self._latest[key][0]
                return
            self._add_leaf(tensor, key, overwritten=False)
        else:
            self.entries.append(
                Entry(
                    "before", node.op.name, node.op.formula, place=node.place, backward=node.name()
                )
            )
        self._entry_of[node] = number

    # ---- who is who --------------------------------------------------------------

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
            known = self._count
            self._count += 1
            self._numbers[id(tensor)] = (weakref.ref(tensor), known)
        return known

    def entry_of(self, node: AnyNode) -> int:
        """The entry of a node of the graph, which is added if it is new here."""
        if node not in self._entry_of:
            self._adopt([node])
        return self._entry_of[node]

    def look_up_names(self) -> None:
        """Give names to the tensors that have one in the learner's namespace by now."""
        for name, tensor in tensors_in(self.namespace()):
            known = self._known(tensor)
            if known is not None and known not in self.names:
                self.names[known] = name


class record:
    """Record what runs in this block, forward and backward.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> with minigrad.record() as tape:
    ...     z = (x * x).sum()
    >>> print(tape.text())
    tape: 2 operations, 1 leaf
    <BLANKLINE>
    leaf  shape  dtype    requires_grad
    x     (2,)   float32  yes
    <BLANKLINE>
    step  line  op   inputs  output  shape  version  grad_fn
       1     2  mul  x, x    mul#1   (2,)         0  MulBackward
       2     2  sum  mul#1   z       ()           0  SumBackward

    name         the name of the tape, in its title
    namespace    where the names of tensors are looked up; without it, the variables
                 around the `with`

    If the block raises, the tape up to the error is kept, and the error goes on.
    """

    def __init__(self, name: str = "tape", *, namespace: Mapping[str, Any] | None = None) -> None:
        self._name, self._namespace = name, namespace

    def __enter__(self) -> Tape:
        given = self._namespace
        if given is not None:
            look: Callable[[], Mapping[str, Any]] = lambda: given
        else:
            frame = sys._getframe(1)
            look = lambda: namespace_of(frame)
        self._tape = Tape(self._name, Recorder(look))
        self._stack = ExitStack()
        self._stack.enter_context(modes.observing(self._tape._recorder))
        return self._tape

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        self._tape._close(error)


class Tape:
    """What was recorded. Shown as a picture in a notebook, and as a table in a terminal.

    tape.document      everything, as one JSON-able dictionary (see trace.py)
    tape.steps(z)      walk a backward pass, node by node
    tape.save(path)    .svg, .png, .html, .txt or .json
    """

    def __init__(self, name: str, recorder: Recorder) -> None:
        self.name = name
        self.number = next(_serial)
        self.error: str | None = None
        self.error_place: Place | None = None
        self._recorder = recorder
        self._document: dict[str, Any] | None = None
        self._drawn_at = (-1, -1)

    def _close(self, error: BaseException | None) -> None:
        self._recorder.look_up_names()
        self._recorder.namespace = dict  # let go of the learner's frame
        if error is not None:
            self.error = f"{type(error).__name__}: {error}"
            self.error_place = _place_in(error)

    @property
    def document(self) -> dict[str, Any]:
        """The tape as plain data, ready for json.dumps; trace.py says what is in it."""
        from minigrad.tape import trace

        recorder = self._recorder
        state = (len(recorder.events), sum(len(p.steps) for p in recorder.passes))
        if self._document is None or self._drawn_at != state:
            self._document = trace.document(self)
            self._drawn_at = state
        return self._document

    def steps(
        self,
        z: Tensor | None = None,
        gradient: Any = None,
        retain_graph: bool = True,
        create_graph: bool = False,
    ) -> Iterator[Any]:
        """Walk a backward pass: each step shows what ran and what still waits.

        z               the tensor to start from. Without it, the pass that was recorded is
                        gone through again, and nothing is computed
        gradient        as in z.backward(gradient): may be left out only for a scalar
        retain_graph    True here, so that one can go on with z; False frees as it goes

        With z this *is* a backward pass, run by the engine one node at a time: at the
        end, the leaves' `.grad` hold what z.backward() would have added. Call it instead
        of z.backward(), or set the `.grad` to None in between; after both, `.grad` is
        the sum of two passes, as in PyTorch.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x
        >>> for step in tape.steps(z):
        ...     print(step)
        step 1 of 2    MulBackward of z    x * x    line 2
            receives  1    ()
            sends     to AccumulateGrad of x: 3    1 of 2 arrived
                      to AccumulateGrad of x: 3    2 of 2 arrived
            ready     AccumulateGrad of x
            waiting   nobody
        step 2 of 2    AccumulateGrad of x
            receives  6    ()
            adds it to x.grad
            ready     nobody
            waiting   nobody
        """
        from minigrad.tape import walk

        if z is None:
            return walk.recorded(self)
        return walk.live(self, z, gradient, retain_graph, create_graph)

    # ---- faces -------------------------------------------------------------------

    def text(self) -> str:
        """The tape as a table."""
        from minigrad.tape import draw

        return draw.text(self.document)

    def svg(self) -> str:
        """The picture."""
        from minigrad.tape import draw

        return draw.svg(self.document)

    def png(self) -> bytes:
        """The picture as a bitmap, drawn by matplotlib."""
        from minigrad.tape import draw

        return draw.png(self.document)

    def html(self) -> str:
        """One page that holds the picture and the tables, and needs no network."""
        from minigrad.tape import page

        return page.html(self.document)

    def save(self, path: str | Path) -> Path:
        """Write the tape to a file; its ending says as what.

        .svg .png     the picture
        .html         picture and tables, one self-contained page
        .txt          the table
        .json         the document

        Raises ValueError for another ending.
        """
        import json

        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".png":
            path.write_bytes(self.png())
            return path
        if ending == ".svg":
            text = self.svg()
        elif ending in (".html", ".htm"):
            text = self.html()
        elif ending == ".txt":
            text = self.text() + "\n"
        elif ending == ".json":
            text = json.dumps(self.document, indent=1, ensure_ascii=False) + "\n"
        else:
            raise ValueError(
                f"tape.save: a name ends in .svg, .png, .html, .txt or .json, not in {ending!r}."
            )
        path.write_text(text, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "image/svg+xml": self.svg()}


def _result(tensor: Tensor, key: int) -> Result:
    return Result(
        key,
        tensor._version,
        tuple(tensor.shape),
        str(tensor.dtype),
        tensor.requires_grad,
        snapshot(tensor.array),
    )


def _maybe(g: Any) -> Snapshot | None:
    """A snapshot of a gradient: an array, a Tensor under create_graph, or None."""
    return None if g is None else snapshot(getattr(g, "array", g))


def _is_number(operand: Tensor) -> bool:
    """Was this operand a plain number? The core wraps it in a tensor that nobody else has."""
    return operand.node is None and not operand.array.ndim


def _constant(value: Any) -> str:
    """How a number or an array is written inside an expression."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"array{tuple(value.shape)}"
    try:
        return number(value)
    except (TypeError, ValueError):
        return repr(value)


def _setting(value: Any) -> str:
    """How a setting is written; a tensor or an array by its shape."""
    if isinstance(value, Tensor | np.ndarray) and value.ndim:
        return f"array{tuple(value.shape)}"
    if isinstance(value, tuple):
        inside = ", ".join(_setting(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, slice):
        parts = [value.start, value.stop] + ([] if value.step is None else [value.step])
        return ":".join("" if p is None else str(p) for p in parts)
    if value is Ellipsis:
        return "..."
    return repr(value)


def _same(value: Any, default: Any) -> bool:
    """Is a setting at its default? (An array never is.)"""
    return type(value) is type(default) and not hasattr(value, "shape") and bool(value == default)


def _place_in(error: BaseException) -> Place | None:
    """The learner's line that raised: the innermost one of the traceback outside minigrad."""
    from minigrad.errors import _is_ours

    found = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not _is_ours(file):
            found = Place(file, trace.tb_lineno)
        trace = trace.tb_next
    return found
