"""What a recording is made of: plain records of what the core reported.

    Entry       one application of an op, or a leaf that an op was applied to
    Result      one version of one tensor, made by an entry; x += 1 makes a new version
                of the same tensor
    Call        one call of a module, in whose forward entries were made
    Backward    one backward pass: its seed, its turns, and how it ended
    Turn        one node's turn in a backward pass

Entries are numbered in the order in which they were made, so an entry's inputs always
have smaller numbers than it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minigrad.core.errors import Place
from minigrad.tape.snapshot import Snapshot


@dataclass(slots=True)
class Result:
    """One version of one tensor, as it was when it was made."""

    tensor: int
    version: int
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    value: Snapshot | None
    tangents: list[Snapshot] = field(default_factory=list)  # of forward mode, outermost first


@dataclass(slots=True)
class Input:
    """What an op was applied to: result `output` of `entry`, or a constant."""

    entry: int | None
    output: int = 0
    version: int = 0
    constant: str = ""
    gradient: bool = False  # does backward send a gradient this way?


@dataclass(slots=True)
class Again:
    """An op with its settings, and those of its operands that are no entries, by their place."""

    op: Any
    settings: dict[str, Any]
    constants: dict[int, Any]


@dataclass(slots=True)
class Saved:
    """A value kept for backward, by the name that the rule reads."""

    name: str
    entry: int | None
    version: int | None
    tensor: int | None
    constant: str = ""  # of a plain number: how it is written


@dataclass(slots=True)
class Entry:
    """One application of an op; or a leaf; or a node made before the recording."""

    kind: str  # "op", "leaf", "before", "failed"
    op: str = ""
    formula: str = ""
    inputs: list[Input] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    inplace: bool = False
    through: int | None = None  # an in-place write through a view: the view's tensor
    view: bool = False  # does the result show its first input's memory?
    replayed: bool = False  # a view's history, walked again after a write to its base
    stop: str | None = None  # why no gradient goes on from here: "no_grad", "detach", ...
    place: Place | None = None
    backward: str | None = None  # "MulBackward0", "AccumulateGrad", or no gradient
    queue_key: int | None = None  # of its node: the engine takes the lowest first
    saved: list[Saved] = field(default_factory=list)
    local: dict[str, Snapshot] = field(default_factory=dict)  # elementwise: dz/dx by input name
    made_by: int | None = None  # the backward pass that computed it, under create_graph
    call: int | None = None  # the call of a module in whose forward it ran
    shapes: list[str] = field(default_factory=list)  # of the operands, if it failed
    again: Again | None = None  # how to apply the op once more


@dataclass(slots=True)
class Call:
    """One call of a module."""

    path: str  # "Net.hidden"
    parent: int | None


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
    ready: bool = False


@dataclass(slots=True)
class HookRan:
    """Hooks were called: before the node ran or after it, with what they made of a gradient."""

    when: str
    hooks: int
    before: list[Snapshot | None]
    after: list[Snapshot | None]


@dataclass(slots=True)
class Turn:
    """One node's turn."""

    entry: int
    g: Snapshot | None
    sent: list[Sent] = field(default_factory=list)
    became_ready: list[int] = field(default_factory=list)
    freed: bool = False
    hooks: list[HookRan] = field(default_factory=list)
    accumulated: tuple[Snapshot | None, Snapshot | None] | None = None  # .grad before and after
    captured: bool = False  # the gradient was asked for: it goes to the caller of grad()
    kept: bool = False  # retain_grad: it is put into the tensor's .grad as well


@dataclass(slots=True)
class Conflict:
    """A saved value that is not what it was."""

    name: str
    saved: int
    now: int
    by: int | None  # the entry that wrote to it


@dataclass(slots=True)
class Backward:
    """One backward pass."""

    number: int
    place: Place | None
    engine: str
    retain_graph: bool
    create_graph: bool
    seeds: list[tuple[int, Snapshot | None]]
    expected: dict[int, int] = field(default_factory=dict)
    pruned: list[int] = field(default_factory=list)  # reachable, but they lead to no input
    turns: list[Turn] = field(default_factory=list)
    grads: dict[int, tuple[Snapshot | None, Snapshot | None]] = field(default_factory=dict)
    error: str | None = None
    failed: int | None = None
    conflict: Conflict | None = None
    finished: bool = False
