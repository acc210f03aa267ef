"""The document: a tape or a static program as plain data, from which all pictures are drawn.

`Document` is the root; from_recording.py makes it from a recording, static/view.py from a program.
Where a module needs many of these records, it imports this module as `doc`.
Everything else refers to nodes by their ids ("n3"), and to snapshots of arrays by their index in
`Document.values`. The document contains names in full. Drawing code shortens and escapes them.

    plain      the document for json.dumps; schema.json describes it
    packed     a smaller form for the inspector's script, without default values
"""

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

SCHEMA = "minigrad.tape/5"  # the number increases with each incompatible change

NodeId = Annotated[str, ("pattern", "^n[0-9]+$")]
EdgeId = Annotated[str, ("pattern", "^e[0-9]+$")]
BoxId = Annotated[str, ("pattern", "^[ng][0-9]+$")]
ValueIndex = Annotated[int, ("minimum", 0)]
Count = Annotated[int, ("minimum", 0)]
Number = float | int | bool | str | None  # "nan", "inf" and complex numbers are text
Kind = Literal["leaf", "op", "before", "failed"]
GroupKind = Literal["call", "copy", "repeat", "stretch", "iteration"]
NotFinite = Literal["NaN", "inf"]
Phase = Literal["forward", "backward", "update"]
UpdateKind = Literal["zero_grad", "step", "schedule"]
Engine = Literal["graph", "tape", "recursive", "torch"]  # torch: PyTorch's own
# When a hook runs: before or after its node; finally: after the leaf's .grad was updated.
When = Literal["before", "after", "finally"]


def _optional() -> Any:
    """A field that is left out of the JSON if it is None."""
    return field(default=None, metadata={"optional": True})


class ArrayFacts(TypedDict):
    """A snapshot: the main facts about an array, and its first entries. See snapshot.py."""

    shape: list[Count]
    dtype: str
    size: int
    min: Number
    max: Number
    mean: Number
    std: Number
    norm: Number
    nan: int
    inf: int
    first: list[Number]
    rows: NotRequired[list[int]]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line that ran, or one near it: its source ("In [4]"), the source's number, the line and its text.

    indent    the number of spaces before the text
    """

    where: str
    source: int
    line: int
    text: str
    indent: Count = 0


@dataclass(frozen=True, slots=True)
class OpFormula:
    """The formula of an op, and the derivatives in it."""

    formula: str
    rules: list[str]


@dataclass(frozen=True, slots=True)
class NodeOperand:
    """An input of an op that is a result of another node; `operand` is its name in the rule.

    jacobian    if it is small, the derivative of the result with respect to it. See jacobian.py
    """

    node: NodeId
    operand: str | None = None
    output: int = 0
    version: int = 0
    jacobian: ValueIndex | None = None

    def of(self, nodes: "list[TapeNode]") -> str:
        """The name of the tensor."""
        return nodes[index_of(self.node)].result(self.output)


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """An input of an op that is a number or an array, as text."""

    constant: str
    operand: str | None = None

    def of(self, nodes: "list[TapeNode]") -> str:
        """The number, as text."""
        return self.constant


@dataclass(frozen=True, slots=True)
class SavedValue:
    """A value saved for backward, by its name in the rule; `constant` is the text of a number."""

    name: str
    node: NodeId | None = None
    version: int | None = None
    constant: str = ""
    output: int = 0

    def of(self, nodes: "list[TapeNode]") -> str:
        """The user's name of the saved tensor, or the number; the rule's, if the tensor is not on the tape."""
        if self.node is None:
            return self.constant or self.name
        node = nodes[index_of(self.node)]
        return node.named[self.output] if node.named else node.name


@dataclass(frozen=True, slots=True)
class FurtherResult:
    """A result of an op besides the first."""

    tensor: int
    shape: list[Count]
    dtype: str
    value: ValueIndex | None


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """Further facts about a value of a static program. See static/view.py."""

    column: Count
    number: Annotated[str, ("pattern", "^%[0-9]+$")]
    role: str
    of: NodeId | None
    comes: str
    memory: str
    ends: str
    frees: list[NodeId]


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """How a box shows its value: text, and a heat map or a histogram. See thumbnail.py.

    lines    one or two
    cells    the rows of the heat map; each character is a cell
    bars     the histogram; each character is a bar
    """

    lines: list[str]
    cells: list[str] = field(default_factory=list)
    bars: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeNode:
    """One box: a leaf, or one application of an op, whose result is one version of a tensor.

    label           the name, with the version if there are several: "z v1"
    versions        how many versions that tensor has had
    results         the further results of an op with several
    named           if there are several: the name of each result; `name` lists them all
    code            the index of the source line in `Document.code`
    calls           the lines that called the modules in whose forward it ran, outermost first
    order           its position among the forward steps
    backward        the name of its backward node, "MulBackward0"; "AccumulateGrad" for a leaf
    priority        its position in the engine's queue: 0 runs first
    local           elementwise ops: dz/dx by the name of the input
    made_by         the backward pass that computed it, under create_graph
    shapes          of the operands, if the op failed
    hooks           the number of hooks that ran at this node in the last pass
    module          the module in whose forward it ran: "Net.hidden"
    storage         the number of the memory, if it is shared with another tensor
    updated         for a parameter that an optimizer wrote to: "opt.step()"
    """

    id: NodeId
    kind: Kind
    name: str
    label: str
    tensor: int | None = None
    version: int = 0
    versions: int = 1
    shape: list[Count] | None = None
    dtype: str | None = None
    requires_grad: bool = False
    value: ValueIndex | None = None
    thumbnail: Thumbnail | None = None
    tangents: list[ValueIndex] = field(default_factory=list)
    results: list[FurtherResult] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    op: str | None = None
    expression: str | None = None
    inputs: list[NodeOperand | ConstantOperand] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    inplace: bool = False
    view: bool = False
    replayed: bool = False
    stop: str | None = None
    code: int | None = None
    calls: list[int] = field(default_factory=list)
    line: int | None = None
    order: int | None = None
    backward: str | None = None
    priority: int | None = None
    local: dict[str, ValueIndex] = field(default_factory=dict)
    saved: list[SavedValue] = field(default_factory=list)
    made_by: int | None = None
    shapes: list[str] = field(default_factory=list)
    hooks: int = 0
    module: str | None = None
    storage: int | None = None
    overwritten_by: NodeId | None = None
    updated: str | None = None
    program: ProgramFacts | None = None

    @property
    def title(self) -> str:
        """ "MulBackward0 of z": the backward node, and the tensor it belongs to."""
        return f"{self.backward} of {self.label}"

    def result(self, output: int) -> str:
        """The name of one of its results, with the version if there are several."""
        return self.named[output] if output < len(self.named) else self.label


@dataclass(frozen=True, slots=True)
class TapeEdge:
    """One node is an input of another.

    gradient        does backward use the edge?
    backward_edge   its index among the edges of the backward node
    summed          the axes over which its gradient is summed after a broadcast, as text
    """

    id: EdgeId
    from_: NodeId
    to: NodeId
    operand: int
    output: int = 0
    version: int = 0
    gradient: bool = False
    backward_edge: int | None = None
    inplace: bool = False
    view: bool = False
    summed: str | None = None

    @property
    def mark(self) -> str:
        """The text at its head, if both ends share memory."""
        return "in place" if self.inplace else "view" if self.view else ""


@dataclass(frozen=True, slots=True)
class FoldedGroup:
    """Nodes that can be drawn as one box; its members are nodes and groups. See fold.py."""

    id: str
    kind: GroupKind
    title: str
    path: str
    parent: str | None
    count: int
    members: list[BoxId]


class Bounds(NamedTuple):
    """The position of a box or a chip: its top left corner and its size."""

    x: float
    y: float
    width: float
    height: float


class LabelPlace(NamedTuple):
    """The position of a text beside an arrow: the start of its baseline, and the free width there."""

    x: float
    y: float
    room: float


@dataclass(frozen=True, slots=True)
class Chip:
    """A copy of a leaf next to a distant use."""

    of: str
    place: Bounds


@dataclass(frozen=True, slots=True)
class DrawnRoute:
    """The arrow that is drawn for one or more edges, from box to box.

    Between points 0 and 1, 2 and 3, ... it crosses the gap between two layers and may go sideways,
    at the height given by `knees` (layout.py). Between points 1 and 2, 3 and 4, ... it goes straight
    down through a layer.

    chip     the number of the chip that it starts from, or None
    label    the position of the text beside its gradient; see labels.py
    mark     the position of the text "in place" or "view", if any
    """

    from_: BoxId
    to: BoxId
    edges: list[EdgeId]
    points: list[tuple[float, float]]
    knees: list[float]
    chip: int | None
    label: LabelPlace | None = None
    mark: LabelPlace | None = None


@dataclass(frozen=True, slots=True)
class TitledColumn:
    """The title and the position of a column of a program."""

    title: str
    x: float
    gap: float


@dataclass(frozen=True, slots=True)
class PictureView:
    """A picture of the whole document or of a group: the positions of its boxes, chips and routes."""

    id: str
    group: str | None
    folded: bool
    width: float
    height: float
    crossings: int
    boxes: dict[BoxId, Bounds]
    ports: list[NodeId]
    chips: list[Chip]
    routes: list[DrawnRoute]
    columns: list[TitledColumn] | None = _optional()


@dataclass(frozen=True, slots=True)
class Detail:
    """One event within a step, described by a sentence. See steps.py.

    node    the op that was applied, or that failed
    """

    event: Literal["op", "failed", "pop", "check", "apply", "free"]
    text: str
    node: NodeId | None = _optional()


@dataclass(frozen=True, slots=True)
class SeedGradient:
    """A gradient with which a backward pass begins."""

    node: NodeId
    g: ValueIndex | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedDetail:
    """A backward pass begins, with the number of contributions that each node expects."""

    event: Literal["seed"] = "seed"
    seeds: list[SeedGradient] = field(default_factory=list)
    expected: dict[NodeId, Count] = field(default_factory=dict)
    pruned: list[NodeId] = field(default_factory=list)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDetail:
    """Hooks saw gradients, and perhaps replaced them."""

    event: Literal["hook"] = "hook"
    when: When
    before: list[ValueIndex | None] = field(default_factory=list)
    after: list[ValueIndex | None] = field(default_factory=list)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositDetail:
    """A gradient was sent to a node, as contribution `arrived` of `expected`.

    edge    the index in the sending node's `node.edges`
    """

    event: Literal["deposit"] = "deposit"
    to: NodeId
    edge: int
    g: ValueIndex | None = None
    arrived: Annotated[int, ("minimum", 1)]
    expected: int
    ready: bool = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulateDetail:
    """A gradient was added to a leaf's .grad."""

    event: Literal["accumulate"] = "accumulate"
    before: ValueIndex | None = None
    term: ValueIndex | None = None
    after: ValueIndex | None = None
    text: str


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """A parameter before and after an update, and its gradient before; None if not on the tape."""

    was: NodeId | None
    now: NodeId | None
    g: ValueIndex | None


@dataclass(frozen=True, slots=True)
class RateChange:
    """A learning rate before and after a scheduler's step, or the rate of an optimizer's step."""

    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateDetail:
    """Gradients were cleared, parameters were written to, or learning rates were set.

    call     as the user wrote it: "opt.step()"
    owner    the class of the object: "SGD"
    """

    event: Literal["update"] = "update"
    kind: UpdateKind
    call: str
    owner: str
    code: int | None = None
    changes: list[ParameterChange] = field(default_factory=list)
    rates: list[RateChange] = field(default_factory=list)
    text: str


@dataclass(frozen=True, slots=True)
class CaptureDetail:
    """The gradient goes to the caller of grad(), or retain_grad also stores it."""

    event: Literal["capture", "keep"]
    g: ValueIndex | None
    text: str


@dataclass(frozen=True, slots=True)
class SavedConflict:
    """A saved value that has changed, from version `saved` to `now`, and the node that wrote to it."""

    name: str
    saved: int
    now: int
    by: NodeId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetail:
    """The pass stopped here."""

    event: Literal["error"] = "error"
    text: str
    message: str
    conflict: SavedConflict | None = None


AnyDetail = (
    Detail | SeedDetail | HookDetail | DepositDetail | AccumulateDetail | CaptureDetail
    | ErrorDetail | UpdateDetail
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TapeStep:
    """The run of one node, as deltas. See steps.py.

    first    "NaN" or "inf" if the first one of this pass was made here, from finite inputs
    """

    phase: Phase
    event: Literal["op", "failed", "seed", "node", "error", "update"]
    text: str
    details: list[AnyDetail]
    node: NodeId | None = None
    pass_: int | None = _optional()
    order: int | None = _optional()
    g: ValueIndex | None = _optional()
    first: NotFinite | None = _optional()


@dataclass(frozen=True, slots=True)
class GradChange:
    """A leaf's .grad before and after a pass."""

    before: ValueIndex | None
    after: ValueIndex | None


@dataclass(frozen=True, slots=True)
class TapePass:
    """One backward pass.

    ran_as  its number among all passes; `number` only counts the passes that are shown
    note    for PyTorch's engine: what could not be recorded
    """

    number: int
    code: int | None
    line: int | None
    engine: Engine
    retain_graph: bool
    create_graph: bool
    steps: int
    finished: bool
    error: str | None
    grads: dict[NodeId, GradChange]
    ran_as: int = 1
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TrainingIteration:
    """One iteration of a training loop: up to a step of its optimizer.

    number    its number, `of` all iterations. Some may be left out: see iterations.py
    step      the step of the tape with which it begins; `until`, the step with which it ends
    group     the group of the nodes computed in it
    loss      the value from which its backward pass started
    """

    number: int
    of: int
    step: int
    until: int
    group: str | None
    loss: ValueIndex | None


@dataclass(frozen=True, slots=True)
class TapeError:
    """The error that the recorded code raised, and the op that failed."""

    text: str
    code: int | None
    node: NodeId | None


@dataclass(frozen=True, slots=True)
class ShownProgram:
    """A static program: the two title lines of its picture, its columns, and what is frozen in it."""

    headline: str
    note: str
    columns: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """All data that is shown for a tape or a program.

    name, number
    code       the user's lines that ran, then the lines around them
    values     snapshots of arrays, which the other records refer to by index
    ops        for each op, its formula and the derivatives in it
    nodes      one for each entry of the recording; node "n3" is the fourth
    edges      which node is an input of which
    groups     nodes that can be folded into one box: calls of modules, repeats (fold.py)
    views      pictures (boxes and routes) of the whole document and of groups
    steps      what happened, in order, forward and backward (steps.py)
    backward   one entry for each backward pass
    error      the error that the recorded code raised, if any
    iterations the iterations of a training loop (iterations.py)
    program    None for a tape
    """

    schema: Annotated[str, ("const", SCHEMA)] = SCHEMA
    name: str
    number: Annotated[int, ("minimum", 1)]
    code: list[CodeLine]
    values: list[ArrayFacts]
    ops: dict[str, OpFormula]
    nodes: list[TapeNode]
    edges: list[TapeEdge]
    groups: list[FoldedGroup] = field(default_factory=list)
    views: list[PictureView] = field(default_factory=list)
    steps: list[TapeStep]
    backward: list[TapePass]
    error: TapeError | None = None
    iterations: list[TrainingIteration] = field(default_factory=list)
    program: ShownProgram | None = None

    def node(self, key: NodeId) -> TapeNode:
        """The node with this id."""
        return self.nodes[index_of(key)]

    def steps_of(self, number: int) -> list[TapeStep]:
        """The steps of a backward pass in which a node ran."""
        return [s for s in self.steps if s.event == "node" and s.pass_ == number]

    def value(self, number: ValueIndex | None) -> ArrayFacts | None:
        """A snapshot, by its number."""
        return None if number is None else self.values[number]

    def where(self, code: int | None) -> str:
        """A line number; for a line outside the recorded cell, with the name of its source.

        Cells are not named by their number, because it changes with each run.
        """
        if code is None:
            return ""
        line = self.code[code]
        if line.source == 0:
            return str(line.line)
        name = "another cell" if line.where.startswith("In [") else line.where
        return f"{line.line} of {name}"


def index_of(key: NodeId) -> int:
    """The index of a node, from its id: 3 for "n3"."""
    return int(key[1:])


def id_of(entry: int | None) -> NodeId | None:
    """The id of the node for an entry of a recording: "n3" for 3."""
    return None if entry is None else f"n{entry}"


# ---------------------------------------------------------------------- as JSON

MANY_STEPS = 400  # in a longer tape, only steps have sentences, not their details
SAID_ANYWAY = ("hook", "accumulate", "error", "seed", "failed", "update")


def plain(item: Any, brief: bool = False) -> Any:
    """Parts of a document as dictionaries, lists, numbers and text, ready for json.dumps.

    brief    leave out what equals its default
    """
    kind: Any = type(item)
    if kind in (str, int, float, bool, type(None)):
        return item
    if isinstance(item, list | tuple):
        return [plain(part, brief) for part in item]
    if isinstance(item, dict):
        return {key: plain(part, brief) for key, part in item.items()}
    found = {}
    for name, key, default, optional in _keys(kind):
        value = getattr(item, name)
        if not (brief and value == default or optional and value is None):
            found[key] = plain(value, brief)
    return found


@cache
def _keys(kind: Any) -> list[tuple[str, str, Any, bool]]:
    """The name, JSON key and default of each field, and whether it is optional."""
    found = []
    for f in fields(kind):
        default = f.default if f.default_factory is MISSING else f.default_factory()
        default = MISSING if f.name == "event" else default  # it is always written
        found.append((f.name, f.name.rstrip("_"), default, "optional" in f.metadata))
    return found


def packed(document: Document) -> dict[str, Any]:
    """The document for the inspector's script, without default values.

    For long tapes it also leaves out the sentences of details.
    """
    few, brief = len(document.steps) <= MANY_STEPS, ("nodes", "edges", "steps")
    slim = {f.name: plain(getattr(document, f.name), f.name in brief) for f in fields(document)}
    usual = {"nan": 0, "inf": 0, "first": [], "rows": []}
    slim["values"] = [
        {k: v for k, v in value.items() if v is not None and v != usual.get(k)}
        for value in document.values
    ]
    for step in slim["steps"]:
        for d in step["details"]:
            if d["event"] == "op" or not (few or d["event"] in SAID_ANYWAY):
                del d["text"]
            if "node" in d and d["node"] == step["node"]:
                del d["node"]
    return slim
