"""The records that a recording consists of: plain data about the events that the core reports.

    Entry           one application of an op, or a leaf that an op was applied to
    TensorVersion   one version of one tensor, made by an entry; x += 1 makes a new version
                    of the same tensor
    Call            one call of a module whose forward made entries
    Update          one zero_grad(), or one step of an optimizer or a scheduler
    Backward        one backward pass: its seed, the nodes that ran, and how it ended
    NodeRun         one node's run in a backward pass

Entries are numbered in the order in which they were made, so the inputs of an entry always
have smaller numbers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minigrad.core.errors import Place
from minigrad.core.function import FunctionOp
from minigrad.core.op import Op
from minigrad.tape.document import Engine, Kind, SavedConflict, UpdateKind, When
from minigrad.tape.snapshot import Array, Snapshot


@dataclass(slots=True)
class TensorVersion:
    """One version of one tensor, as it was when it was made."""

    tensor: int
    version: int
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    value: Snapshot | None
    tangents: list[Snapshot] = field(default_factory=list)  # in forward mode, outermost first

    @property
    def array(self) -> Array | None:
        """Its value; None if it was not recorded in full."""
        return None if self.value is None else self.value.array


@dataclass(slots=True)
class Input:
    """An operand of an op: result `output` of `entry`, or a constant."""

    entry: int | None
    output: int = 0
    version: int = 0
    constant: str = ""
    gradient: bool = False  # does backward send a gradient along this edge?


@dataclass(slots=True)
class OpCall:
    """What we need to apply an op again: the op, its settings, and its constant operands by position."""

    op: Op | FunctionOp
    settings: dict[str, Any]
    constants: dict[int, Any]


class CannotRepeat(Exception):
    """What was recorded cannot be run again; the message says why."""


@dataclass(slots=True)
class TorchCall:
    """A call of a PyTorch operation, without its tensors, which are inputs of the entry."""

    name: str
    settings: dict[str, Any]
    operands: dict[str, int | list[int | None]]  # positions among the inputs
    defaults: Mapping[str, Any]


@dataclass(slots=True)
class Saved:
    """A value saved for backward, by its name in the rule."""

    name: str
    entry: int | None
    version: int | None
    tensor: int | None
    constant: str = ""  # for a plain number, its text
    output: int = 0  # which result of the entry it is


@dataclass(slots=True)
class Entry:
    """One application of an op; or a leaf; or a node made before the recording."""

    kind: Kind
    op: str = ""
    formula: str = ""
    inputs: list[Input] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    results: list[TensorVersion] = field(default_factory=list)
    read: list[Input] = field(default_factory=list)  # tensors in the settings: an index, a mask
    inplace: bool = False
    through: int | None = None  # an in-place write through a view: the view's tensor
    written: tuple[int, ...] | None = None  # the shape of that view
    view: bool = False  # does the result share its first input's memory?
    replayed: bool = False  # a view's history, replayed after a write to its base
    stop: str | None = None  # why no gradient passes beyond here: "no_grad", "detach", ...
    place: Place | None = None
    backward: str | None = None  # "MulBackward0", "AccumulateGrad"; None without a gradient
    queue_key: int | None = None  # the node's; the engine takes the lowest first
    saved: list[Saved] = field(default_factory=list)
    local: dict[str, Snapshot] = field(default_factory=dict)  # elementwise: dz/dx by input name
    made_by: int | None = None  # the backward pass that computed it, under create_graph
    call: int | None = None  # the call of the module in whose forward it ran
    update: str | None = None  # for a parameter, the update that wrote to it: "opt.step()"
    shapes: list[str] = field(default_factory=list)  # the shapes of the operands, if it failed
    op_call: OpCall | None = None  # what is needed to apply the op again
    called: TorchCall | None = None  # the same for a PyTorch operation


@dataclass(slots=True)
class WrittenTensor:
    """A parameter whose gradient was cleared, or that was written to.

    was, now    its entry before and after; None if it was not on the tape, or did not change
    g           its gradient before the update
    """

    was: int | None
    now: int | None
    g: Snapshot | None


@dataclass(slots=True)
class Update:
    """A call of zero_grad, or of the step of an optimizer or a scheduler.

    name, owner    the user's name of the object, and its class
    rates          the learning rates of its groups, before and after
    reached        the number of entries after the update
    """

    kind: UpdateKind
    name: str
    owner: str
    place: Place | None
    written: list[WrittenTensor] = field(default_factory=list)
    rates: list[tuple[float, float]] = field(default_factory=list)
    reached: int = 0

    @property
    def call(self) -> str:
        """As the user wrote it: "opt.step()"."""
        return f"{self.name}.{'zero_grad' if self.kind == 'zero_grad' else 'step'}()"


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a training loop, number `number` of `of`: the ranges of its events and entries."""

    number: int
    of: int
    events: range
    entries: range


@dataclass(slots=True)
class Call:
    """One call of a module."""

    path: str  # "Net.hidden"
    parent: int | None
    kind: str  # its class: "Linear"
    place: Place | None = None  # the user's line that called it
    sequence: bool = False  # does its forward loop over a sequence?

    @property
    def title(self) -> str:
        """Its name in the module that it is a part of, and its class: "hidden: Linear"."""
        name = self.path.rpartition(".")[2]
        return name if name == self.kind else f"{name}: {self.kind}"


@dataclass(slots=True)
class Sent:
    """A gradient sent to an entry, as contribution `arrived` of `expected`.

    edge is the index in the sending node's `node.edges`.
    """

    to: int
    edge: int
    value: Snapshot | None
    arrived: int
    expected: int
    ready: bool = False


@dataclass(slots=True)
class HookRan:
    """Hooks were called before or after the node ran: the gradients before and after the call."""

    when: When
    hooks: int
    before: list[Snapshot | None]
    after: list[Snapshot | None]


@dataclass(slots=True)
class NodeRun:
    """One node's run in a backward pass."""

    entry: int
    g: Snapshot | None
    parts: dict[int, Snapshot] = field(default_factory=dict)  # by result, if there are several
    sent: list[Sent] = field(default_factory=list)
    freed: bool = False
    hooks: list[HookRan] = field(default_factory=list)
    accumulated: tuple[Snapshot | None, Snapshot | None] | None = None  # .grad before and after
    captured: bool = False  # it was requested, and goes to the caller of grad()
    instead: int | None = None  # the node that our counts predicted, if PyTorch ran another one
    kept: bool = False  # it was also stored in the tensor's .grad by retain_grad

    @property
    def used(self) -> Snapshot | None:
        """The gradient that the node worked with: hooks may have replaced the one that arrived."""
        seen = [ran.after[0] for ran in self.hooks if ran.when == "before" and ran.after]
        return seen[-1] if seen else self.g


@dataclass(slots=True)
class Backward:
    """One backward pass."""

    number: int
    place: Place | None
    engine: Engine
    retain_graph: bool
    create_graph: bool
    seeds: list[tuple[int, Snapshot | None]]
    expected: dict[int, int] = field(default_factory=dict)
    pruned: list[int] = field(default_factory=list)  # reachable, but leading to none of the inputs
    runs: list[NodeRun] = field(default_factory=list)
    grads: dict[int, tuple[Snapshot | None, Snapshot | None]] = field(default_factory=dict)
    error: str | None = None
    failed: int | None = None
    conflict: SavedConflict | None = None
    ran_as: int = 0  # its number before some passes were left out
    threads: int = 1  # the number of threads in which PyTorch's engine ran it
    finished: bool = False
    arrived: Counter[int] = field(default_factory=Counter)  # the number of contributions so far

    def __post_init__(self) -> None:
        self.ran_as = self.ran_as or self.number

    def send(self, to: int, edge: int, value: Snapshot | None) -> Sent:
        """Record and count a gradient that is sent to an entry."""
        self.arrived[to] += 1
        arrived, expected = self.arrived[to], self.expected[to]
        # Only the recursive engine passes on each contribution at once.
        ready = arrived == expected or self.engine == "recursive"
        return Sent(to, edge, value, arrived, expected, ready)

    def accumulate(self, run: NodeRun, before: Snapshot | None, after: Snapshot | None) -> None:
        """Record that a run has added to a leaf's .grad."""
        run.accumulated = before, after
        first, _ = self.grads.get(run.entry, (before, None))
        self.grads[run.entry] = first, after


def result_of(entries: Sequence[Entry], given: Input) -> TensorVersion | None:
    """The result that is used as this operand; None for a constant, or if it is not on the tape."""
    results = [] if given.entry is None else entries[given.entry].results
    return results[given.output] if given.output < len(results) else None


def computed_from(entries: Sequence[Entry], roots: Iterable[int]) -> set[int]:
    """These entries, and all entries to which a backward pass from them sends gradients."""
    found = set(roots)
    stack = list(found)
    while stack:
        above = {i.entry for i in entries[stack.pop()].inputs if i.gradient and i.entry is not None}
        stack += above - found
        found |= above
    return found
