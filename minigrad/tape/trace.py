"""The document: a tape as one JSON-able dictionary, from which everything is drawn.

    schema     "minigrad.tape/3"; the number increases when readers must change
    name, number
    code       the user's lines that ran: where ("In [4]"), the number of that source
               on the tape, line, text
    values     snapshots of arrays; everything else refers to them by index
    ops        for each op, its formula and the derivatives in it
    nodes      one for each entry of the recording: a leaf, or one application of an op
    edges      which node is an input of which; `gradient` says whether backward uses the edge
    groups     nodes that can be folded into one box: calls of modules, repeats (fold.py)
    views      pictures: places and routes, of the whole tape or of a group
    steps      what happened, in order, forward and backward, as deltas (steps.py)
    backward   one entry for each backward pass
    error      the error that the recorded code raised, if any; with the op that failed
    program    None; for a static program, its columns and headline (static/view.py)

A node has an id ("n3"), the tensor's name and version ("z", 1), a label ("z v1"), how many
versions that tensor has had, its shape, dtype and value, the op with its expression
and settings, the source line (an index in `code`), the name of its backward node and its
priority in the engine's queue (0 runs first), what was saved for it, and the module in
whose forward it ran ("Net.hidden"), if any. `order` is its place among the forward steps.

schema.json describes all of it. The document contains names in full. Drawing code shortens and
escapes them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from minigrad.core.errors import Place
from minigrad.core.op import REGISTRY
from minigrad.tape import fold, steps
from minigrad.tape.events import Backward, Entry, Input
from minigrad.tape.naming import expression, label, name_of_tensor, node_names, versions_of
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import FIRST, Snapshot

if TYPE_CHECKING:
    from minigrad.tape.record import Tape

SCHEMA = "minigrad.tape/3"
BUDGET = 1 << 17  # array entries that are kept whole, about 1 MiB as text

Document = dict[str, Any]


def document(tape: Tape) -> Document:
    """The tape as plain data; see the top of this module."""
    recorder = tape._recorder
    code, values, ops = Code(tape.home), Values(), Ops()
    names = node_names(recorder)
    versions = versions_of(recorder)
    queue = sorted(
        (k for k, e in enumerate(recorder.entries) if e.queue_key is not None),
        key=lambda k: recorder.entries[k].queue_key or 0,
    )
    priority = {k: place for place, k in enumerate(queue)}
    shared = _shared(recorder)
    nodes = []
    for number, entry in enumerate(recorder.entries):
        through = None
        if entry.through is not None:
            through = name_of_tensor(recorder, entry.through, names)
        node = _node(number, entry, names, versions, code, values, ops, through)
        node["priority"] = priority.get(number)
        call = None if entry.call is None else recorder.calls[entry.call]
        node["module"] = None if call is None else call.path
        node["storage"] = None if node["tensor"] is None else shared.get(node["tensor"])
        nodes.append(node)
    edges = _edges(recorder.entries)
    overwritten = {e["from"]: e["to"] for e in edges if e["inplace"]}
    for node in nodes:
        node["overwritten_by"] = overwritten.get(node["id"])
    found: Document = {
        "schema": SCHEMA,
        "name": tape.name,
        "number": tape.number,
        "code": code.lines,
        "values": values.all,
        "ops": ops.all,
        "nodes": nodes,
        "edges": edges,
        "steps": steps.steps(recorder, nodes, values),
        "backward": [_pass(b, code, values) for b in recorder.passes],
        "error": _error(tape, code),
        "program": None,
    }
    found["groups"], found["views"] = fold.fold(found, fold.calls_of(recorder))
    return found


class Code:
    """The lines that ran, each once, in the order of their first use.

    home    the file or cell that was recorded: source 0, even if the first operation ran in
            a function from another one, such as the forward of a model
    """

    def __init__(self, home: str | None) -> None:
        self.lines: list[dict[str, Any]] = []
        self._known: dict[tuple[str, int], int] = {}
        self._sources: dict[str, int] = {} if home is None else {home: 0}

    def number(self, place: Place | None) -> int | None:
        """The index of a user's line, which is added if it is new; None without a place."""
        if place is None:
            return None
        key = (place.file, place.line)
        if key not in self._known:
            self._known[key] = len(self.lines)
            where = place.label.rsplit(", line ", 1)[0]
            source = self._sources.setdefault(place.file, len(self._sources))
            self.lines.append(
                {"where": where, "source": source, "line": place.line, "text": place.text}
            )
        return self._known[key]


class Values:
    """The snapshots of the document, without duplicates; small arrays in full, up to a budget."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self._left = BUDGET

    def number(self, snapshot: Snapshot | None) -> int | None:
        """The index of a snapshot, which is added if no equal one is there; None without one."""
        if snapshot is None:
            return None
        plain = snapshot.plain()
        if len(plain["first"]) > FIRST:
            if len(plain["first"]) > self._left:
                plain = plain | {"first": plain["first"][:FIRST]}
        rows = plain.get("rows")
        key = (
            *plain["shape"],
            plain["dtype"],
            plain["mean"],
            plain["norm"],
            plain["nan"],
            plain["inf"],
            tuple(plain["first"]),
            None if rows is None else tuple(rows),
        )
        if key not in self._known:
            self._left -= len(plain["first"])
            self._known[key] = len(self.all)
            self.all.append(plain)
        return self._known[key]


class Ops:
    """The formulas of the ops on the tape, each once."""

    def __init__(self) -> None:
        self.all: dict[str, dict[str, Any]] = {}

    def put(self, name: str, formula: str) -> None:
        """Add a new op. `formula` is its formula and its rules, two or more spaces apart."""
        if name and name not in self.all:
            first, *rules = re.split(r"\s{2,}", formula.strip()) or [""]
            self.all[name] = {"formula": first, "rules": rules}


def _shared(recorder: Recorder) -> dict[int, int]:
    """The memory of each tensor, if it is shared with another tensor on the tape."""
    many = Counter(recorder.storages.values())
    shared = [storage for storage, n in many.items() if n > 1]
    place = {storage: k for k, storage in enumerate(shared)}
    return {t: place[s] for t, s in recorder.storages.items() if s in place}


def _node(
    number: int,
    entry: Entry,
    names: list[str],
    versions: dict[int, int],
    code: Code,
    values: Values,
    ops: Ops,
    through: str | None,
) -> dict[str, Any]:
    result = entry.results[0] if entry.results else None
    ops.put(entry.op, entry.formula)
    op = REGISTRY.get(entry.op)
    operands = () if op is None or op.variadic else op.operands
    inputs: list[dict[str, Any]] = []
    for k, i in enumerate(entry.inputs):
        given: dict[str, Any] = (
            {"constant": i.constant}
            if i.entry is None
            else {"node": f"n{i.entry}", "output": i.output, "version": i.version}
        )
        given["operand"] = operands[k] if k < len(operands) else None
        inputs.append(given)
    return {
        "id": f"n{number}",
        "kind": entry.kind,
        "name": names[number],
        "label": label(entry, names[number], versions),
        "tensor": None if result is None else result.tensor,
        "version": 0 if result is None else result.version,
        "versions": 1 if result is None else versions[result.tensor],
        "shape": None if result is None else list(result.shape),
        "dtype": None if result is None else result.dtype,
        "requires_grad": entry.backward is not None,
        "value": None if result is None else values.number(result.value),
        "tangents": [] if result is None else [values.number(t) for t in result.tangents],
        "results": [
            {
                "tensor": r.tensor,
                "shape": list(r.shape),
                "dtype": r.dtype,
                "value": values.number(r.value),
            }
            for r in entry.results[1:]
        ],
        "op": entry.op or None,
        "expression": expression(entry, names, through) if entry.op and entry.inputs else None,
        "inputs": inputs,
        "settings": entry.settings,
        "inplace": entry.inplace,
        "view": entry.view,
        "replayed": entry.replayed,
        "stop": entry.stop,
        "code": code.number(entry.place),
        "line": None if entry.place is None else entry.place.line,
        "order": None,
        "backward": entry.backward,
        "local": {name: values.number(d) for name, d in entry.local.items()},
        "saved": [
            {
                "name": s.name,
                "node": None if s.entry is None else f"n{s.entry}",
                "version": s.version,
                "constant": s.constant,
            }
            for s in entry.saved
        ],
        "made_by": entry.made_by,
        "shapes": entry.shapes,
        "hooks": 0,
        "program": None,
    }


def _edges(entries: list[Entry]) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        passed = 0
        for operand, given in enumerate(entry.inputs):
            if given.entry is None:
                continue
            edges.append(
                {
                    "id": f"e{len(edges)}",
                    "from": f"n{given.entry}",
                    "to": f"n{number}",
                    "operand": operand,
                    "output": given.output,
                    "version": given.version,
                    "gradient": given.gradient,
                    "backward_edge": passed if given.gradient else None,
                    "inplace": entry.inplace and operand == 0,
                    "view": entry.view and operand == 0,
                    "summed": _summed(entries[given.entry], given, entry),
                }
            )
            passed += given.gradient
    return _without_circles(edges)


def _without_circles(edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The edges, except those that would close a cycle.

    An edge leads from a lower number to a higher one, except to a node that we did not see being
    made. If a transform of minigrad.func uses one tensor in several graphs, such a node can
    seem to come before its inputs.
    """
    ends = [(int(e["from"][1:]), int(e["to"][1:])) for e in edges]
    doubtful = {k for k, (u, v) in enumerate(ends) if u >= v}
    if not doubtful:
        return edges
    onward: dict[int, list[int]] = {}
    for k, (u, v) in enumerate(ends):
        if k not in doubtful:
            onward.setdefault(u, []).append(v)
    dropped = set()
    for k in sorted(doubtful):
        start, end = ends[k]
        seen, stack = {end}, [end]
        while stack:
            for v in onward.get(stack.pop(), ()):
                if v not in seen:
                    seen.add(v)
                    stack.append(v)
        if start in seen:
            dropped.add(k)
        else:
            onward.setdefault(start, []).append(end)
    return [e for k, e in enumerate(edges) if k not in dropped]


def _summed(source: Entry, given: Input, entry: Entry) -> str | None:
    """As text, the axes over which a gradient is summed on its way back after a broadcast."""
    if not given.gradient or not source.results or not entry.results or entry.view:
        return None
    op = REGISTRY.get(entry.op)
    if op is None or op.kind != "elementwise":
        return None
    small, large = source.results[given.output].shape, entry.results[0].shape
    lead = len(large) - len(small)
    if lead < 0 or small == large:
        return None
    axes = [(k, f"{large[k]}") for k in range(lead)]
    axes += [
        (lead + k, f"{large[lead + k]} → 1")
        for k, n in enumerate(small)
        if n == 1 and large[lead + k] != 1
    ]
    if not axes:
        return None
    word = "axis" if len(axes) == 1 else "axes"
    return f"summed over {word} " + ", ".join(f"{k} ({sizes})" for k, sizes in axes)


def _pass(b: Backward, code: Code, values: Values) -> dict[str, Any]:
    return {
        "number": b.number,
        "code": code.number(b.place),
        "line": None if b.place is None else b.place.line,
        "engine": b.engine,
        "retain_graph": b.retain_graph,
        "create_graph": b.create_graph,
        "steps": len(b.turns),
        "finished": b.finished,
        "error": b.error,
        "grads": {
            f"n{e}": {"before": values.number(before), "after": values.number(after)}
            for e, (before, after) in sorted(b.grads.items())
        },
    }


def _error(tape: Tape, code: Code) -> dict[str, Any] | None:
    if tape.error is None:
        return None
    return {
        "text": tape.error,
        "code": code.number(tape.error_place),
        "node": None if tape.failed is None else f"n{tape.failed}",
    }


def where(found: Document, code: int | None) -> str:
    """The number of a line; for a line outside the recorded cell, also the name of its source.

    A cell is not named by its number, because that changes with each run.
    """
    if code is None:
        return ""
    line = found["code"][code]
    if line["source"] == 0:
        return str(line["line"])
    name = "another cell" if line["where"].startswith("In [") else line["where"]
    return f"{line['line']} of {name}"


def value(found: Document, number: int | None) -> dict[str, Any] | None:
    """A snapshot of the document, by its number."""
    if number is None:
        return None
    return found["values"][number]
