"""Draw: shows a program in the inspector, like a tape, with its gradient program next to it.

    program                     as the last line of a cell
    program.show(x, w)          after a run with these inputs
    program.save("p.svg")       a picture; .png .html .txt .json .dot

The program is in the left column, its gradient program in the right one. Instructions there say
what they were written for: "rule of %3". All pictures are made from one document (document.py).
"""

from pathlib import Path
from typing import Any

import numpy as np

from minigrad.static.differentiate import chosen
from minigrad.static.document import Column, document
from minigrad.static.instruction import ProgramError
from minigrad.static.origins import Origin, differentiated
from minigrad.static.program import Program
from minigrad.tape.faces import Faces
from minigrad.tape.text import dot


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
