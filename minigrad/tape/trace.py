"""The document: a tape as one JSON-able dictionary, from which everything is drawn.

    schema     "minigrad.tape/1"; the number rises when a reader must change
    name, number
    code       the learner's lines that ran: where ("In [4]"), the number of that source
               among those of the tape, line, text
    nodes      one for each entry of the recording: a leaf, or one application of an op
    edges      which node feeds which; `gradient` says whether backward goes that way
    layout     a place for each node, a route for each edge (layout.py)
    steps      what happened, in time, forward and backward, as deltas
    backward   one line on each backward pass
    error      what the recorded code raised, if it did

A node has an id ("n3"), the tensor's name and version ("z", 1), how many versions that
tensor came to have, its shape, dtype and value (a snapshot), the op with its formula,
expression and settings, the source line (a place in `code`), the name of its backward
node, what was saved for it, and the module in whose forward it ran ("Net.hidden"), if
any. `order` is its place among the forward steps.

A backward step names the node, the gradient that came in, and to whom it sent what.
Who is ready and who still waits is not written into each step: `expected` in the seed
step and `became_ready` in each step give it, at a small part of the size.

The document holds whole names. Whoever draws cuts and escapes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad.errors import Place
from minigrad.tape import draw
from minigrad.tape.layout import Box, lay_out
from minigrad.tape.record import Backward, Entry, Input, Recorder

if TYPE_CHECKING:
    from minigrad.tape.record import Tape

SCHEMA = "minigrad.tape/1"
MOST_DRAWN = 400  # boxes in a picture; of a longer tape, the latest are drawn

Document = dict[str, Any]

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "pow": "**",
    "matmul": "@",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


def document(tape: Tape) -> Document:
    """The tape as plain data, see the head of this module."""
    recorder = tape._recorder
    code = _Code()
    names = node_names(recorder)
    versions: dict[int, int] = {}
    for entry in recorder.entries:
        for result in entry.results:
            versions[result.tensor] = max(versions.get(result.tensor, 0), result.version + 1)
    nodes = [
        _node(number, entry, names, versions, code) for number, entry in enumerate(recorder.entries)
    ]
    edges = _edges(recorder.entries)
    overwritten = {e["from"]: e["to"] for e in edges if e["inplace"]}
    for node in nodes:
        node["overwritten_by"] = overwritten.get(node["id"])
    error = None
    if tape.error is not None:
        error = {"text": tape.error, "code": code.number(tape.error_place)}
    found: Document = {
        "schema": SCHEMA,
        "name": tape.name,
        "number": tape.number,
        "code": code.lines,
        "nodes": nodes,
        "edges": edges,
        "steps": _steps(recorder, nodes),
        "backward": [_pass(b, code) for b in recorder.passes],
        "error": error,
    }
    found["layout"] = _layout(found)
    return found


class _Code:
    """The lines that ran, each once, in the order in which they were first met."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._known: dict[tuple[str, int], int] = {}
        self._sources: dict[str, int] = {}

    def number(self, place: Place | None) -> int | None:
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


def node_names(recorder: Recorder) -> list[str]:
    """A name for each entry: the learner's, or one made from the op, like mul#2.

    When one variable was bound to several tensors, as in a loop, the later ones are
    numbered: h, h#2, h#3.
    """
    taken: dict[str, int] = {}
    of_tensor: dict[int, str] = {}

    def unique(name: str, always: bool) -> str:
        taken[name] = count = taken.get(name, 0) + 1
        return f"{name}#{count}" if always or count > 1 else name

    names = []
    for entry in recorder.entries:
        own = []
        for result in entry.results:
            if result.tensor not in of_tensor:
                given = recorder.names.get(result.tensor)
                made = entry.op or ("input" if not result.requires_grad else "leaf")
                of_tensor[result.tensor] = unique(given or made, always=given is None)
            own.append(of_tensor[result.tensor])
        names.append(", ".join(own) if own else unique(entry.op or "input", always=True))
    return names


def expression(entry: Entry, names: list[str]) -> str:
    """What was computed, as the learner might have written it."""
    terms = [_term(given, names) for given in entry.inputs]
    settings = [f"{key}={value}" for key, value in entry.settings.items()]
    infix = INFIX.get(entry.op)
    if entry.inplace:
        if infix and len(terms) == 2:
            return f"{terms[0]} {infix}= {terms[1]}"
        return f"{terms[0]}.{entry.op}_({', '.join(terms[1:] + settings)})"
    if infix and len(terms) == 2:
        return f"{terms[0]} {infix} {terms[1]}"
    if entry.op == "neg":
        return f"-{terms[0]}"
    if entry.op == "getitem" and len(terms) == 1 and "index" in entry.settings:
        return f"{terms[0]}[{entry.settings['index'].removeprefix('(').removesuffix(')')}]"
    return f"{entry.op}({', '.join(terms + settings)})"


def _term(given: Input, names: list[str]) -> str:
    return given.constant if given.entry is None else names[given.entry]


def _node(
    number: int, entry: Entry, names: list[str], versions: dict[int, int], code: _Code
) -> dict[str, Any]:
    result = entry.results[0] if entry.results else None
    return {
        "id": f"n{number}",
        "kind": entry.kind,
        "name": names[number],
        "tensor": None if result is None else result.tensor,
        "version": 0 if result is None else result.version,
        "versions": 1 if result is None else versions[result.tensor],
        "shape": None if result is None else list(result.shape),
        "dtype": None if result is None else result.dtype,
        "requires_grad": entry.backward is not None,
        "value": None if result is None else result.value,
        "results": [
            {"tensor": r.tensor, "shape": list(r.shape), "dtype": r.dtype, "value": r.value}
            for r in entry.results
        ],
        "op": entry.op or None,
        "formula": entry.formula or None,
        "expression": expression(entry, names) if entry.op and entry.inputs else None,
        "inputs": [
            {"constant": i.constant}
            if i.entry is None
            else {"node": f"n{i.entry}", "output": i.output, "version": i.version}
            for i in entry.inputs
        ],
        "settings": entry.settings,
        "inplace": entry.inplace,
        "code": code.number(entry.place),
        "line": None if entry.place is None else entry.place.line,
        "backward": entry.backward,
        "saved": [
            {
                "name": s.name,
                "node": None if s.entry is None else f"n{s.entry}",
                "version": s.version,
            }
            for s in entry.saved
        ],
        "made_by": entry.made_by,
        "module": entry.module,
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
                    "summed": _summed(entries[given.entry], given, entry),
                }
            )
            passed += given.gradient
    return edges


def _summed(source: Entry, given: Input, entry: Entry) -> str | None:
    """In words, over which axes a gradient is summed on its way back, if broadcast."""
    if not given.gradient or not source.results or not entry.results or entry.op not in INFIX:
        return None
    if entry.op == "matmul":
        return None
    small, large = source.results[given.output].shape, entry.results[0].shape
    lead = len(large) - len(small)
    axes = [*range(lead)]
    axes += [lead + k for k, n in enumerate(small) if n == 1 and large[lead + k] != 1]
    if not axes:
        return None
    return f"summed over {'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}"


def _steps(recorder: Recorder, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    order = 0
    for kind, number in recorder.events:
        if kind == "op":
            order += 1
            nodes[number]["order"] = order
            steps.append({"phase": "forward", "event": "op", "node": f"n{number}"})
            continue
        b = recorder.passes[number]
        steps.append(
            {
                "phase": "backward",
                "event": "seed",
                "pass": b.number,
                "seeds": [{"node": f"n{e}", "g": g} for e, g in b.seeds],
                "expected": {f"n{e}": count for e, count in sorted(b.expected.items())},
            }
        )
        for k, step in enumerate(b.steps, 1):
            steps.append(
                {
                    "phase": "backward",
                    "event": "node",
                    "pass": b.number,
                    "order": k,
                    "node": f"n{step.entry}",
                    "g": step.g,
                    "sent": [
                        {
                            "to": f"n{s.to}",
                            "edge": s.edge,
                            "g": s.value,
                            "arrived": s.arrived,
                            "expected": s.expected,
                        }
                        for s in step.sent
                    ],
                    "became_ready": [f"n{e}" for e in step.became_ready],
                    "freed": step.freed,
                }
            )
        if b.error is not None:
            failed = None if b.failed is None else f"n{b.failed}"
            steps.append(
                {
                    "phase": "backward",
                    "event": "error",
                    "pass": b.number,
                    "node": failed,
                    "text": b.error,
                }
            )
    return steps


def _pass(b: Backward, code: _Code) -> dict[str, Any]:
    return {
        "number": b.number,
        "code": code.number(b.place),
        "line": None if b.place is None else b.place.line,
        "retain_graph": b.retain_graph,
        "create_graph": b.create_graph,
        "steps": len(b.steps),
        "finished": b.finished,
        "error": b.error,
        "grads": {
            f"n{e}": {"before": before, "after": after}
            for e, (before, after) in sorted(b.grads.items())
        },
    }


def _layout(found: Document) -> dict[str, Any]:
    """Places and routes of what is drawn: all of it, or the latest of a long tape."""
    nodes, edges = found["nodes"], found["edges"]
    shown = {node["id"] for node in nodes[-MOST_DRAWN:]}
    if len(nodes) > MOST_DRAWN:
        # Leaves stand before the op that first needs them: keep those, too, that are
        # used by what is drawn, and drop those that are not.
        used = {e["from"] for e in edges if e["to"] in shown}
        kept = [n["id"] for n in nodes if n["id"] in shown or n["id"] in used]
        shown = set(kept)
    sizes = draw.Sizes(found)
    boxes = [
        Box(n["id"], *sizes.box(n), leaf=n["kind"] == "leaf", chip=sizes.chip(n))
        for n in nodes
        if n["id"] in shown
    ]
    drawn = [e for e in edges if e["from"] in shown and e["to"] in shown]
    layout = lay_out(boxes, [(e["from"], e["to"]) for e in drawn])
    return {
        "width": layout.width,
        "height": layout.height,
        "left_out": len(nodes) - len(boxes),
        "crossings": layout.crossings,
        "nodes": {
            key: [place.x, place.y, place.width, place.height, place.layer]
            for key, place in layout.boxes.items()
        },
        "chips": [
            {"of": c.of, "place": [c.place.x, c.place.y, c.place.width, c.place.height]}
            for c in layout.chips
        ],
        "routes": {
            e["id"]: {"points": [list(point) for point in route.points], "chip": route.chip}
            for e, route in zip(drawn, layout.routes, strict=True)
        },
    }


def where(found: Document, code: int | None) -> str:
    """The number of a line; of one outside the tape's first source, with the source's name.

    A cell is not named by its number, which is another one after each run.
    """
    if code is None:
        return ""
    line = found["code"][code]
    if line["source"] == 0:
        return str(line["line"])
    name = "another cell" if line["where"].startswith("In [") else line["where"]
    return f"{line['line']} of {name}"
