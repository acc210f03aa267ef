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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.static.buffers import may_show, run_of
from minigrad.static.codegen import Writer
from minigrad.static.differentiate import chosen, differentiated
from minigrad.static.ir import Instruction, Program, ProgramError
from minigrad.static.tracing import Origin
from minigrad.tape import fold
from minigrad.tape.columns import fold_columns
from minigrad.tape.faces import Faces
from minigrad.tape.names import in_words, number
from minigrad.tape.snapshot import Snapshot
from minigrad.tape.text import dot
from minigrad.tape.trace import SCHEMA, Ops, Values

Document = dict[str, Any]


class Column:
    """A program to show: its values, where they are stored, and its nodes in the document."""

    def __init__(
        self,
        place: int,
        program: Program,
        title: str,
        wrt: Sequence[int] = (),
        origins: dict[int, Origin] | None = None,
    ) -> None:
        self.place, self.program, self.title = place, program, title
        self.wrt, self.origins = wrt, origins  # wrt: numbers of the values to differentiate by
        self.node: dict[int, str] = {}
        self.buffers, self.buffer_bytes = lying(program)
        self.views = views_in(program)
        ends = program.last_uses()
        self.reader = {i: k for k, own in ends.items() for i in own}
        self.frees = {program.instructions[k].result: own for k, own in ends.items()}
        self.values: dict[int, Any] = {}

    def run(self, inputs: Sequence[Any]) -> None:
        """Compute every value of the program."""
        self.values = self.program.known_at_first(inputs)
        with np.errstate(all="ignore"):
            for line in self.program.instructions:
                line.run(self.values)

    def words_for(self, i: int) -> str:
        """The name of a value."""
        v = self.program.values[i]
        if v.kind == "result":
            return f"%{i}"
        if v.kind == "constant":
            a = self.program.examples[i]
            return number(a.item()) if np.size(a) == 1 else f"%{i}"
        return v.name or f"%{i}"


def document(name: str, serial: int, columns: Sequence[Column], why: str) -> Document:
    """The document of a program, and of its gradient program next to it.

    why    the reason if there is no gradient program; or ""
    """
    values, ops = Values(), Ops()
    found: Document = {
        "schema": SCHEMA,
        "name": name,
        "number": serial,
        "code": [],
        "nodes": [],
        "edges": [],
        "steps": [],
        "backward": [],
        "error": None,
        "program": {
            "headline": _headline(columns[0]),
            "note": _about_gradient(columns, why),
            "columns": [c.title for c in columns],
            "notes": columns[0].program.notes,
        },
    }
    for c in columns:
        lines = str(c.program).split("\n")
        first = len(found["code"])
        found["code"] += [
            {"where": c.title, "source": c.place, "line": k, "text": text}
            for k, text in enumerate(lines, 1)
        ]
        line_of = {t.split()[0]: first + k for k, t in enumerate(lines) if t.startswith("%")}
        for i in c.program.at_first():
            _add(found, c, i, None, columns[0], values, ops, line_of)
        for line in c.program.instructions:
            _add(found, c, line.result, line, columns[0], values, ops, line_of)
            found["steps"].append(_step(found, c, line))
    found["values"], found["ops"] = values.all, ops.all
    members = [(c.title, [int(n[1:]) for n in c.node.values()]) for c in columns]
    if len(columns) > 1:
        found["groups"], found["views"] = fold_columns(found, members)
    else:
        found["groups"], found["views"] = fold.fold(found, [()] * len(found["nodes"]))
    return found


def _headline(c: Column) -> str:
    """The counts of instructions and inputs, and the bytes of buffers if a plan has any."""
    p = c.program
    return f"{_many(len(p), 'instruction')}, {_many(len(p.inputs), 'input')}{_bytes(c)}"


def _about_gradient(columns: Sequence[Column], why: str) -> str:
    """What stands beside the first column; `why` says why there is no gradient program."""
    if len(columns) < 2:
        return f"no gradient program beside it: {why}" if why else "not differentiated"
    g = columns[1]
    assert g.origins is not None
    same = sum(g.origins[line.result].role == "copy" for line in g.program.instructions)
    said = f"beside it its gradient program: {_many(len(g.program), 'instruction')}"
    return said + (f", {same} as in the program" if same else "") + _bytes(g)


def _bytes(c: Column) -> str:
    return f", {c.buffer_bytes:,} bytes of buffers in a plan" if c.buffers else ""


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def lying(program: Program) -> tuple[dict[int, str], int]:
    """Number -> the buffer in which a plan stores the value; and the total size of the buffers in bytes."""
    try:
        writer = Writer(program.plan().program)
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


def views_in(program: Program) -> set[int]:
    """The results that are views of their operand."""
    known = run_of(program)
    return {
        line.result
        for line in program.instructions
        if line.op.view and may_show(known[line.result], known[line.operands[0]])
    }


# ---------------------------------------------------------------------- one value


def _add(
    found: Document,
    c: Column,
    i: int,
    line: Instruction | None,
    first: Column,
    values: Values,
    ops: Ops,
    line_of: dict[str, int],
) -> None:
    key = c.node[i] = f"n{len(found['nodes'])}"
    v, name = c.program.values[i], c.words_for(i)
    if line is not None:
        ops.put(line.op.name, line.op.formula)
        for k, source in enumerate(line.reads()):
            found["edges"].append(_edge(len(found["edges"]), c.node[source], key, k, i in c.views))
    seen = values.number(Snapshot(c.values[i])) if i in c.values else None
    found["nodes"].append(
        {
            "id": key,
            "kind": "leaf" if line is None else "op",
            "name": name,
            "label": name if not c.place else f"{name} (gradient)",
            "tensor": None,
            "version": 0,
            "versions": 1,
            "shape": list(v.shape),
            "dtype": str(v.dtype),
            "requires_grad": line is None and i in c.wrt,
            "value": seen,
            "tangents": [],
            "results": [],
            "op": None if line is None else line.op.name,
            "expression": None if line is None else line.expression,
            "inputs": [] if line is None else _inputs(c, line),
            "settings": {},
            "inplace": False,
            "view": i in c.views,
            "replayed": False,
            "stop": "no gradient" if line is not None and line.stopped and not c.place else None,
            "code": line_of.get(f"%{i}"),
            "line": None,
            "order": None if line is None else len(found["steps"]) + 1,
            "backward": None,
            "priority": None,
            "local": {},
            "saved": [],
            "made_by": None,
            "shapes": [],
            "hooks": 0,
            "module": None,
            "storage": None,
            "overwritten_by": None,
            "program": _of_program(c, i, line, first),
        }
    )


def _inputs(c: Column, line: Instruction) -> list[dict[str, Any]]:
    names = () if line.op.variadic else line.op.operands
    return [
        {
            "node": c.node[i],
            "output": 0,
            "version": 0,
            "operand": names[k] if k < len(names) else None,
        }
        for k, i in enumerate(line.reads())
    ]


def _edge(number: int, source: str, target: str, operand: int, view: bool) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "from": source,
        "to": target,
        "operand": operand,
        "output": 0,
        "version": 0,
        "gradient": False,
        "backward_edge": None,
        "inplace": False,
        "view": view and operand == 0,
        "summed": None,
    }


def _of_program(c: Column, i: int, line: Instruction | None, first: Column) -> dict[str, Any]:
    v = c.program.values[i]
    role, of = "run" if line is not None else v.kind, None
    if c.origins is not None:
        origin = c.origins[i]
        role, of = (origin.role if line is not None else v.kind), origin.of
    comes = {"copy": f"as %{of}", "rule": f"rule of %{of}", "sum": f"sum for %{of}"}
    return {
        "column": c.place,
        "number": f"%{i}",
        "role": role,
        "of": None if of is None else first.node.get(of),
        "comes": comes.get(role, "") if of is not None else "",
        "memory": _memory(c, i, line),
        "ends": _ends(c, i, line),
        "frees": [c.node[j] for j in c.frees.get(i, ()) if j in c.node],
    }


def _memory(c: Column, i: int, line: Instruction | None) -> str:
    if line is None:
        kinds = {"input": "given at each run", "constant": "frozen", "captured": "read at each run"}
        return kinds[c.program.values[i].kind]
    if line.over is not None:
        return f"over {c.words_for(line.over)}"
    if i in c.views:
        return f"a view of %{line.operands[0]}"
    return f"buffer {c.buffers[i]}" if i in c.buffers else ""


def _ends(c: Column, i: int, line: Instruction | None) -> str:
    p = c.program
    if i in p.outputs:
        return "returned"
    if line is None or i not in c.reader:
        return ""
    last = p.instructions[c.reader[i]].result
    return "never read" if last == i else f"last read by %{last}"


def _step(found: Document, c: Column, line: Instruction) -> dict[str, Any]:
    node = found["nodes"][-1]
    of = node["program"]
    known = ""
    if line.result in c.values:
        known = f": {in_words(Snapshot(c.values[line.result]).plain())}"
    text = f"{node['name']} = {node['expression']}{known}"
    if not known:
        text += f", {tuple(node['shape'])} {node['dtype']}"
    text += "."
    told = {
        "rule": "The rule of {} wrote it.",
        "sum": "It adds up the gradients of {}.",
        "copy": "It is {} of the program.",
    }
    if of["role"] in told and of["of"] is not None:
        text += " " + told[of["role"]].format(of["comes"].split()[-1])
    gone = [found["nodes"][int(n[1:])]["name"] for n in of["frees"] if n != node["id"]]
    if gone:
        text += f" Nobody reads {' or '.join(gone)} again."
    return {
        "phase": "backward" if c.place else "forward",
        "event": "op",
        "node": node["id"],
        "text": text,
        "details": [{"event": "op", "node": node["id"], "text": text}],
    }


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
    return shown(program).save(path)


def shown(program: Program) -> Shown:
    """The program's own picture: the same object each time, so that all its views agree."""
    if program._shown is None:
        program._shown = show(program)
    return program._shown
