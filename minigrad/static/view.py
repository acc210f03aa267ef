"""View: shows a program in the inspector, like a tape, with its gradient program next to it.

    program                     as the last line of a cell
    program.show(x, w)          after a run with these inputs
    program.save("p.svg")       a picture; .png .html .txt .json .dot

The program is in the left column, its gradient program in the right one. Each instruction there
shows where it came from: "rule of %3".

All pictures are made from one document. It has the same form as a tape's document (tape/document.py),
so the same code draws it. A node is a value: an input, a constant, a captured tensor, or the result
of an instruction. In addition to the usual fields, a node has

    column    0 the program, 1 its gradient program
    number    the value's number in the listing of its column: "%3"
    role      input, constant, captured; run (an instruction); in the gradient program also
              copy, rule, sum: see differentiate.py
    of        in the gradient program: the node of the program that it belongs to, or None
    comes     role and node as text: "rule of %3"
    memory    where a plan stores it: "buffer b0"
    ends      the last instruction that reads it, as text
    frees     the nodes that this instruction is the last to read

The steps are the instructions in order, first those of the program, then those of its
gradient program. If the program has been run, the document contains values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from minigrad.static.buffers import may_show, run_of
from minigrad.static.differentiate import chosen, differentiated
from minigrad.static.ir import Instruction, Program, ProgramError, Wrt
from minigrad.static.tracing import Origin
from minigrad.tape import document as doc
from minigrad.tape.from_recording import Values, op_formulas
from minigrad.tape.inspectable import Inspectable
from minigrad.tape.names import count_of, number_text
from minigrad.tape.render import fold
from minigrad.tape.render.text import dot_text
from minigrad.tape.render.thumbnail import thumbnail
from minigrad.tape.snapshot import Snapshot
from minigrad.tape.steps import op_step

MEMORY = {"input": "given at each run", "constant": "frozen", "captured": "read at each run"}
COMES = {"copy": "as %{}", "rule": "rule of %{}", "sum": "sum for %{}"}
STEP_TEXTS = {
    "rule": "The rule of {} wrote it.",
    "sum": "It adds up the gradients of {}.",
    "copy": "It is {} of the program.",
}


@dataclass
class Column:
    """One column: a program with its values, where they are stored, and its nodes in the document.

    place     0 for the program, 1 for its gradient program
    wrt       the numbers of the values to differentiate with respect to
    origins   the Origin of each value of a gradient program
    """

    place: int
    program: Program
    title: str
    wrt: Sequence[int] = ()
    origins: dict[int, Origin] | None = None

    def __post_init__(self) -> None:
        program = self.program
        self.node: dict[int, str] = {}
        self.buffers, self.buffer_bytes = _buffers_of(program)
        known, views = run_of(program), [line for line in program.instructions if line.op.view]
        self.views = {v.result for v in views if may_show(known[v.result], known[v.operands[0]])}
        ends = program.last_uses()
        self.reader = {i: k for k, own in ends.items() for i in own}
        self.frees = {program.instructions[k].result: own for k, own in ends.items()}
        self.values: dict[int, Any] = {}

    def name_of(self, i: int) -> str:
        """The name of a value."""
        v = self.program.values[i]
        if v.kind == "constant":
            a = self.program.examples[i]
            return number_text(a.item()) if np.size(a) == 1 else f"%{i}"
        return f"%{i}" if v.kind == "result" or not v.name else v.name

    def comes_from(self, i: int, line: Instruction | None) -> tuple[str, int | None]:
        """The role of a value, and the node of the original program that it belongs to."""
        kind = "run" if line is not None else self.program.values[i].kind
        if self.origins is None:
            return kind, None
        return kind if line is None else self.origins[i].role, self.origins[i].of

    def memory(self, i: int, line: Instruction | None) -> str:
        """Where a plan stores a value, as text."""
        if line is None:
            return MEMORY[self.program.values[i].kind]
        if line.over is not None:
            return f"over {self.name_of(line.over)}"
        if i in self.views:
            return f"a view of %{line.operands[0]}"
        return f"buffer {self.buffers[i]}" if i in self.buffers else ""

    def ends(self, i: int, line: Instruction | None) -> str:
        """The last instruction that reads a value, as text."""
        if i in self.program.outputs:
            return "returned"
        if line is None or i not in self.reader:
            return ""
        last = self.program.instructions[self.reader[i]].result
        return "never read" if last == i else f"last read by %{last}"

    def size(self) -> str:
        """The total size of a plan's buffers, as text; empty if there are none."""
        return f", {self.buffer_bytes:,} bytes of buffers in a plan" if self.buffers else ""


def _buffers_of(program: Program) -> tuple[dict[int, str], int]:
    """Number -> the buffer where a plan stores the value; and the size of all buffers in bytes."""
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


# ------------------------------------------------------------------ the document


def program_document(name: str, serial: int, columns: Sequence[Column], why: str) -> doc.Document:
    """The document of a program, with its gradient program next to it.

    why    the reason if there is no gradient program, else ""
    """
    made = _DocumentBuilder(columns[0])
    for c in columns:
        made.column(c)
    p = columns[0].program
    headline = f"{count_of(len(p), 'instruction')}, {count_of(len(p.inputs), 'input')}"
    result = doc.Document(
        name=name,
        number=serial,
        code=made.code,
        values=made.values.all,
        ops=op_formulas(
            (line.op.name, line.op.formula) for c in columns for line in c.program.instructions
        ),
        nodes=made.nodes,
        edges=made.edges,
        steps=made.steps,
        backward=[],
        program=doc.ShownProgram(
            headline=headline + columns[0].size(),
            note=_about_gradient(columns, why),
            columns=[c.title for c in columns],
            notes=p.notes,
        ),
    )
    if len(columns) > 1:
        members = [(c.title, [doc.index_of(n) for n in c.node.values()]) for c in columns]
        groups, views = fold.fold_columns(result, members)
    else:
        groups, views = fold.fold_document(result, [()] * len(result.nodes))
    return replace(result, groups=groups, views=views)


def _about_gradient(columns: Sequence[Column], why: str) -> str:
    """The subtitle: the size of the gradient program; or, from `why`, why there is none."""
    if len(columns) < 2:
        return f"no gradient program: {why}" if why else "not differentiated"
    g = columns[1]
    same = sum(g.comes_from(line.result, line)[0] == "copy" for line in g.program.instructions)
    text = f"gradient program: {count_of(len(g.program), 'instruction')}"
    return text + (f", {same} as in the program" if same else "") + g.size()


class _DocumentBuilder:
    """Builds the document: its lines, nodes, edges and steps so far.

    first    the column of the program, in which the origins of gradient values are looked up
    """

    def __init__(self, first: Column) -> None:
        self.first = first
        self.values = Values()
        self.code: list[doc.CodeLine] = []
        self.nodes: list[doc.TapeNode] = []
        self.edges: list[doc.TapeEdge] = []
        self.steps: list[doc.TapeStep] = []

    def column(self, c: Column) -> None:
        """Add a program: its listing, its values, and a step for each instruction."""
        lines = str(c.program).split("\n")
        line_of = {t.split()[0]: k for k, t in enumerate(lines, len(self.code)) if t[:1] == "%"}
        self.code += [doc.CodeLine(c.title, c.place, k, text) for k, text in enumerate(lines, 1)]
        for i in c.program.at_first():
            self._value(c, i, None, line_of)
        for line in c.program.instructions:
            self._value(c, line.result, line, line_of)
            self.steps.append(self._step(c, line))

    def _value(self, c: Column, i: int, line: Instruction | None, line_of: dict[str, int]) -> None:
        key = c.node[i] = f"n{len(self.nodes)}"
        v, name = c.program.values[i], c.name_of(i)
        role, of = c.comes_from(i, line)
        seen = Snapshot(c.values[i]) if i in c.values else None
        node = doc.TapeNode(
            id=key,
            kind="leaf",
            name=name,
            label=f"{name} (gradient)" if c.place else name,
            shape=list(v.shape),
            dtype=str(v.dtype),
            requires_grad=line is None and i in c.wrt,
            value=self.values.number(seen),
            thumbnail=thumbnail(seen),
            view=i in c.views,
            code=line_of.get(f"%{i}"),
            program=doc.ProgramFacts(
                column=c.place,
                number=f"%{i}",
                role=role,
                of=None if of is None else self.first.node.get(of),
                comes=COMES.get(role, "").format(of) if of is not None else "",
                memory=c.memory(i, line),
                ends=c.ends(i, line),
                frees=[c.node[j] for j in c.frees.get(i, ()) if j in c.node],
            ),
        )
        self.nodes.append(node if line is None else self._computed(c, node, line))

    def _computed(self, c: Column, node: doc.TapeNode, line: Instruction) -> doc.TapeNode:
        """Complete the node of an instruction's result, and add the edges from its operands."""
        sources = [c.node[i] for i in line.reads()]
        for k, source in enumerate(sources):
            view = node.view and k == 0
            self.edges.append(doc.TapeEdge(f"e{len(self.edges)}", source, node.id, k, view=view))
        names = () if line.op.variadic else line.op.operands[: len(sources)]
        return replace(
            node,
            kind="op",
            op=line.op.name,
            expression=line.expression,
            inputs=[doc.NodeOperand(source, name) for source, name in zip_longest(sources, names)],
            stop="no gradient" if line.stopped and not c.place else None,
            order=len(self.steps) + 1,
        )

    def _step(self, c: Column, line: Instruction) -> doc.TapeStep:
        """The step of an instruction, whose node was added last."""
        node = self.nodes[-1]
        of = node.program
        assert of is not None
        if line.result in c.values:
            known = f": {Snapshot(c.values[line.result])}"
        else:
            known = f", {tuple(node.shape or ())} {node.dtype}"
        text = f"{node.name} = {node.expression}{known}."
        if of.role in STEP_TEXTS and of.of is not None:
            text += " " + STEP_TEXTS[of.role].format(of.comes.split()[-1])
        freed = [self.nodes[doc.index_of(n)].name for n in of.frees if n != node.id]
        if freed:
            text += f" {' and '.join(freed)} {'is' if len(freed) == 1 else 'are'} not read again."
        return op_step(node, text, backward=c.place > 0)


# ------------------------------------------------------------------ user interface


class Shown(Inspectable):
    """A program as shown to the user: the inspector in a notebook, a table in a terminal.

    program    the program
    gradient   its gradient program, or None
    why        the reason if there is none

    The methods text, svg, png, html, save, step, select and at work as for a tape.
    """

    what = "program"

    def __init__(self, program: Program, gradient: bool, wrt: Wrt, seeded: bool) -> None:
        super().__init__("program")
        self.program = program
        self.gradient: Program | None = None
        self.why, self._wrt = "", list[int]()
        self._origins: dict[int, Origin] | None = None
        if gradient:
            try:
                if wrt is None:
                    wrt = _default_wrt(program)
                self._wrt = chosen(program, wrt)[0]
                self.gradient, self._origins = differentiated(program, wrt, seeded=seeded)
            except ProgramError as error:
                self.why = str(error).split(". ")[0].rstrip(".")

    def _edition(self) -> int:
        return self.program._runs

    def _made(self) -> doc.Document:
        columns = [Column(0, self.program, "program", self._wrt)]
        g = self.gradient
        if g is not None and self._origins is not None:
            by = ", ".join(self.program.values[i].name or f"%{i}" for i in self._wrt)
            own = [i for i, o in self._origins.items() if o.role == "copy" and o.of in self._wrt]
            columns.append(Column(1, g, f"its gradient with respect to {by}", own, self._origins))
        ran = self.program._ran
        if ran is not None:
            columns[0].values = self.program.all_values(ran)
            for c in columns[1:]:
                seeds = [np.ones(c.program.values[i].shape) for i in c.program.inputs[len(ran) :]]
                c.values = c.program.all_values([*ran, *seeds])
        return program_document(self.name, self.number, columns, self.why)


def _default_wrt(program: Program) -> Any:
    """The default for `wrt`: the inputs, or else the captured parameters."""
    if any(program.values[i].dtype.kind in "fc" for i in program.inputs):
        return None
    found = [t for t in program.captured.values() if t.requires_grad]
    if not found:
        raise ProgramError("it has no input that could have a gradient")
    return found


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
    return dot_text(Shown(program, False, None, False).shown()).rstrip("\n")
