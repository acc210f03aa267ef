"""View: shows a program in the inspector, like a tape, with its gradient program next to it.

    program                     as the last line of a cell
    program.show(x, w)          after a run with these inputs
    program.save("p.svg")       a picture; .png .html .txt .json .dot

The program is in the left column, its gradient program in the right one. Instructions there say
what they were written for: "rule of %3".

All pictures are made from one document, of the same form as a tape's (tape/trace.py), so the same
views can show it. A node is a value: one that exists before the first instruction, or the result of
an instruction. In addition to the usual entries, a node has

    column    0 the program, 1 its gradient program
    number    of the value in the listing of its column: "%3"
    role      input, constant, captured; run (an instruction); in the gradient program also
              copy, rule, sum: see differentiate.py
    of        the node of the program that it was written for, or None
    comes     the same in words: "rule of %3"
    memory    where it is stored when a plan runs: "buffer b0"
    ends      which instruction reads it last
    frees     the nodes that this instruction is the last to read

The steps are the instructions in order, first those of the program, then those of its
gradient program. If the program has been run, the document contains values.
"""

import re
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.static.buffers import may_show, run_of
from minigrad.static.differentiate import chosen, differentiated
from minigrad.static.ir import Array, Instruction, Program, ProgramError
from minigrad.static.tracing import Origin
from minigrad.tape import fold
from minigrad.tape.columns import fold_columns
from minigrad.tape.faces import Faces
from minigrad.tape.names import in_words, number
from minigrad.tape.snapshot import Snapshot
from minigrad.tape.text import dot
from minigrad.tape.trace import SCHEMA, Ops, Values

Document = dict[str, Any]

# What a node of a tape has and a value of a program has not.
NONE = ("tensor", "line", "backward", "priority", "made_by", "module", "storage", "overwritten_by")
EMPTY: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("tangents", "results", "saved", "shapes"), list),
    **dict.fromkeys(("settings", "local"), dict),
    **dict.fromkeys(("inplace", "replayed"), bool),
    **dict.fromkeys(("version", "hooks"), int),
}
MEMORY = {"input": "given at each run", "constant": "frozen", "captured": "read at each run"}
COMES = {"copy": "as %{}", "rule": "rule of %{}", "sum": "sum for %{}"}
STEP_TEXTS = {
    "rule": "The rule of {} wrote it.",
    "sum": "It adds up the gradients of {}.",
    "copy": "It is {} of the program.",
}


class Column:
    """A program to show: its values, where they are stored, and its nodes in the document.

    place     0 for the program, 1 for its gradient program
    wrt       numbers of the values to differentiate by
    origins   why the values of a gradient program are there
    """

    def __init__(
        self,
        place: int,
        program: Program,
        title: str,
        wrt: Sequence[int] = (),
        origins: dict[int, Origin] | None = None,
    ) -> None:
        self.place, self.program, self.title = place, program, title
        self.wrt, self.origins = wrt, origins
        self.node: dict[int, str] = {}
        self.buffers, self.buffer_bytes = _buffers_of(program)
        self.views = _views_in(program)
        ends = program.last_uses()
        self.reader = {i: k for k, own in ends.items() for i in own}
        self.frees = {program.instructions[k].result: own for k, own in ends.items()}
        self.values: dict[int, Any] = {}

    def run(self, inputs: Sequence[Array]) -> None:
        """Compute every value of the program."""
        self.values = self.program.known_at_first(inputs)
        with np.errstate(all="ignore"):
            for line in self.program.instructions:
                line.run(self.values)

    def name_of(self, i: int) -> str:
        """The name of a value."""
        v = self.program.values[i]
        if v.kind == "constant":
            a = self.program.examples[i]
            return number(a.item()) if np.size(a) == 1 else f"%{i}"
        return f"%{i}" if v.kind == "result" or not v.name else v.name

    def comes_from(self, i: int, line: Instruction | None) -> tuple[str, int | None]:
        """The role of a value; and of the differentiated program, the value for which it is there."""
        kind = "run" if line is not None else self.program.values[i].kind
        if self.origins is None:
            return kind, None
        return kind if line is None else self.origins[i].role, self.origins[i].of

    def memory(self, i: int, line: Instruction | None) -> str:
        """Where a value is stored when a plan runs, in words."""
        if line is None:
            return MEMORY[self.program.values[i].kind]
        if line.over is not None:
            return f"over {self.name_of(line.over)}"
        if i in self.views:
            return f"a view of %{line.operands[0]}"
        return f"buffer {self.buffers[i]}" if i in self.buffers else ""

    def ends(self, i: int, line: Instruction | None) -> str:
        """Which instruction reads a value last, in words."""
        if i in self.program.outputs:
            return "returned"
        if line is None or i not in self.reader:
            return ""
        last = self.program.instructions[self.reader[i]].result
        return "never read" if last == i else f"last read by %{last}"

    def size(self) -> str:
        """The bytes of buffers, if a plan has any, in words."""
        return f", {self.buffer_bytes:,} bytes of buffers in a plan" if self.buffers else ""


def _buffers_of(program: Program) -> tuple[dict[int, str], int]:
    """Number -> the buffer in which a plan stores the value; and the total size of the buffers in bytes."""
    try:
        writer = program.plan().writer
    except ProgramError:
        return {}, 0
    # Simplifying keeps the Value object of each remaining value.
    place = {id(v): j for j, v in enumerate(writer.program.values)}
    found = {}
    for i, v in enumerate(program.values):
        name = re.match(r"b\d+", writer.fixed.get(place.get(id(v), -1), ""))
        if name and v.kind == "result":
            found[i] = name[0]
    return found, writer.buffer_bytes


def _views_in(program: Program) -> set[int]:
    """The results that are views of their operand."""
    known = run_of(program)
    views = [line for line in program.instructions if line.op.view]
    return {v.result for v in views if may_show(known[v.result], known[v.operands[0]])}


# ------------------------------------------------------------------ the document


def document(name: str, serial: int, columns: Sequence[Column], why: str) -> Document:
    """The document of a program, and of its gradient program next to it.

    why    the reason if there is no gradient program; or ""
    """
    first, p = columns[0], columns[0].program
    headline = f"{_many(len(p), 'instruction')}, {_many(len(p.inputs), 'input')}{first.size()}"
    found: Document = {
        "schema": SCHEMA,
        "name": name,
        "number": serial,
        "error": None,
        **{part: [] for part in ("code", "nodes", "edges", "steps", "backward")},
        "program": {
            "headline": headline,
            "note": _about_gradient(columns, why),
            "columns": [c.title for c in columns],
            "notes": p.notes,
        },
    }
    values, ops = Values(), Ops()
    for c in columns:
        lines = str(c.program).split("\n")
        line_of = {t.split()[0]: k for k, t in enumerate(lines, len(found["code"])) if t[0] == "%"}
        found["code"] += [
            {"where": c.title, "source": c.place, "line": k, "text": text}
            for k, text in enumerate(lines, 1)
        ]
        at_first = [(i, None) for i in c.program.at_first()]
        for i, line in [*at_first, *((line.result, line) for line in c.program.instructions)]:
            c.node[i] = f"n{len(found['nodes'])}"
            node = _node(c, i, line, first)
            node["code"] = line_of.get(f"%{i}")
            node["value"] = values.number(Snapshot(c.values[i])) if i in c.values else None
            found["nodes"].append(node)
            if line is not None:
                ops.put(line.op.name, line.op.formula)
                for k, source in enumerate(line.reads()):
                    view = i in c.views and k == 0
                    edge = _edge(len(found["edges"]), c.node[source], c.node[i], k, view)
                    found["edges"].append(edge)
                node["order"] = len(found["steps"]) + 1
                found["steps"].append(_step(found, c, line))
    found["values"], found["ops"] = values.all, ops.all
    if len(columns) > 1:
        members = [(c.title, [int(n[1:]) for n in c.node.values()]) for c in columns]
        found["groups"], found["views"] = fold_columns(found, members)
    else:
        found["groups"], found["views"] = fold.fold(found, [()] * len(found["nodes"]))
    return found


def _about_gradient(columns: Sequence[Column], why: str) -> str:
    """What stands beside the first column; `why` says why there is no gradient program."""
    if len(columns) < 2:
        return f"no gradient program beside it: {why}" if why else "not differentiated"
    g = columns[1]
    same = sum(g.comes_from(line.result, line)[0] == "copy" for line in g.program.instructions)
    said = f"beside it its gradient program: {_many(len(g.program), 'instruction')}"
    return said + (f", {same} as in the program" if same else "") + g.size()


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _node(c: Column, i: int, line: Instruction | None, first: Column) -> dict[str, Any]:
    """The node of a value."""
    v, name = c.program.values[i], c.name_of(i)
    role, of = c.comes_from(i, line)
    of_line: dict[str, Any] = {"kind": "leaf", "op": None, "expression": None, "inputs": []}
    if line is not None:
        names = () if line.op.variadic else line.op.operands
        inputs = [
            {"node": c.node[j], "output": 0, "version": 0, "operand": operand}
            for j, operand in zip(line.reads(), chain(names, repeat(None)), strict=False)
        ]
        of_line = {
            "kind": "op",
            "op": line.op.name,
            "expression": line.expression,
            "inputs": inputs,
        }
    return {
        **dict.fromkeys(NONE),
        **{name: empty() for name, empty in EMPTY.items()},
        **of_line,
        "id": c.node[i],
        "name": name,
        "label": f"{name} (gradient)" if c.place else name,
        "versions": 1,
        "shape": list(v.shape),
        "dtype": str(v.dtype),
        "requires_grad": line is None and i in c.wrt,
        "view": i in c.views,
        "stop": "no gradient" if line is not None and line.stopped and not c.place else None,
        "order": None,
        "program": {
            "column": c.place,
            "number": f"%{i}",
            "role": role,
            "of": None if of is None else first.node.get(of),
            "comes": COMES.get(role, "").format(of) if of is not None else "",
            "memory": c.memory(i, line),
            "ends": c.ends(i, line),
            "frees": [c.node[j] for j in c.frees.get(i, ()) if j in c.node],
        },
    }


def _edge(number: int, source: str, target: str, operand: int, view: bool) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "from": source,
        "to": target,
        "operand": operand,
        "view": view,
        "output": 0,
        "version": 0,
        "gradient": False,
        "inplace": False,
        "backward_edge": None,
        "summed": None,
    }


def _step(found: Document, c: Column, line: Instruction) -> dict[str, Any]:
    """The step of an instruction, whose node is the last one so far."""
    node = found["nodes"][-1]
    of = node["program"]
    if line.result in c.values:
        known = f": {in_words(Snapshot(c.values[line.result]).plain())}"
    else:
        known = f", {tuple(node['shape'])} {node['dtype']}"
    text = f"{node['name']} = {node['expression']}{known}."
    if of["role"] in STEP_TEXTS and of["of"] is not None:
        text += " " + STEP_TEXTS[of["role"]].format(of["comes"].split()[-1])
    gone = [found["nodes"][int(n[1:])]["name"] for n in of["frees"] if n != node["id"]]
    if gone:
        text += f" Nobody reads {' or '.join(gone)} again."
    event = {"event": "op", "node": node["id"], "text": text}
    return {"phase": "backward" if c.place else "forward", **event, "details": [event]}


# ------------------------------------------------------------------ what a user sees


class Shown(Faces):
    """A program to show: the inspector in a notebook, a table in a terminal.

    program    the program
    gradient   its gradient program, or None
    why        the reason if there is none

    text, svg, png, html, save; step, select and at work as for a tape.
    """

    what = "program"

    def __init__(self, program: Program, gradient: bool, wrt: Any, seeded: bool) -> None:
        super().__init__("program")
        self.program, self.seeded = program, seeded
        self.gradient: Program | None = None
        self.why, self._wrt = "", list[int]()
        self._origins: dict[int, Origin] | None = None
        if gradient:
            try:
                if wrt is None:
                    wrt = _all_of(program)
                self._wrt = chosen(program, wrt)[0]
                self.gradient, self._origins = differentiated(program, wrt, seeded=seeded)
            except ProgramError as error:
                self.why = str(error).split(". ")[0].rstrip(".")

    def _edition(self) -> int:
        return self.program._runs

    def _made(self) -> dict[str, Any]:
        columns = [Column(0, self.program, "program", self._wrt)]
        g = self.gradient
        if g is not None and self._origins is not None:
            by = ", ".join(self.program.values[i].name or f"%{i}" for i in self._wrt)
            own = [i for i, o in self._origins.items() if o.role == "copy" and o.of in self._wrt]
            columns.append(Column(1, g, f"its gradient by {by}", own, self._origins))
        ran = self.program._ran
        if ran is not None:
            columns[0].run(ran)
            for c in columns[1:]:
                seeds = [np.ones(c.program.values[i].shape) for i in c.program.inputs[len(ran) :]]
                c.run([*ran, *seeds])
        return document(self.name, self.number, columns, self.why)


def _all_of(program: Program) -> Any:
    """The default for `wrt`: the inputs, or else the captured parameters."""
    if any(program.values[i].dtype.kind in "fc" for i in program.inputs):
        return None
    found = [t for t in program.captured.values() if t.requires_grad]
    if not found:
        raise ProgramError("it has no input that could have a gradient")
    return found


def show(
    program: Program, *inputs: Any, gradient: bool = True, wrt: Any = None, seeded: bool = False
) -> Shown:
    """Show the program in the inspector.

    inputs     run the program with these first; without, shows the values of its latest run, if any
    gradient   also show its gradient program?
    wrt        what to differentiate with respect to, as in program.gradient(wrt)
    seeded     as in program.gradient: for outputs that are not scalar

    >>> import minigrad
    >>> from minigrad import static
    >>> p = static.record(lambda x, w: (x * w).sum())(minigrad.ones(2), minigrad.ones(2))
    >>> print(show(p, minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0]), wrt="w").text())
    program: 2 instructions, 2 inputs, 8 bytes of buffers in a plan
    <BLANKLINE>
    beside it its gradient program: 0 instructions
    <BLANKLINE>
    program
        instruction  shape  value   lies in            then
    %0  input x      (2,)   [1, 2]  given at each run
    %1  input w      (2,)   [3, 4]  given at each run
    %2  mul(%0, %1)  (2,)   [3, 8]  buffer b0          last read by %3
    %3  sum(%2)      ()     11                         returned
    <BLANKLINE>
    its gradient by w
        instruction  shape  value   lies in            then
    %0  input x      (2,)   [1, 2]  given at each run  returned
    %1  input w      (2,)   [3, 4]  given at each run
    """
    if inputs:
        program(*inputs)
    return Shown(program, gradient, wrt, seeded)


def to_dot(program: Program) -> str:
    """The program in the Graphviz language (dot -Tsvg).

    >>> import minigrad
    >>> from minigrad import static
    >>> print(to_dot(static.record(lambda x: x * x)(minigrad.ones(2))))
    digraph program {
        node [shape=box fontname=monospace];
        subgraph cluster0 {
            label="program";
            n0 [label="x\\n(2,)" style=rounded];
            n1 [label="%1\\n(2,)\\nmul(%0, %0)" style=solid];
        }
        n0 -> n1;
        n0 -> n1;
    }
    """
    return dot(Shown(program, False, None, False).document).rstrip("\n")


def save(program: Program, path: str | Path) -> Path:
    """Write the program to a file; the extension sets the format: .html .svg .png .txt .json .dot."""
    return picture_of(program).save(path)


def picture_of(program: Program) -> Shown:
    """The program's own picture: the same object each time, so that all its views agree."""
    if program._shown is None:
        program._shown = show(program)
    return program._shown
