"""Static programs: a run written down once, differentiated as a program, replayed without allocating.

    record(f)(*examples)    runs f once and writes down what it does, a Program
    placeholder(shape)      a value that is not there yet: compute with it, then program(outputs)
    compile(step)           replays a whole training step: forward, backward, optimizer

    instruction, program    the listing itself: instructions in a row, operands by number
    slot, traced            what stands for a value while a program is being recorded
    recorder, watch         who writes it down
    recording               record and placeholder
    differentiate           program in, program of its gradient out
    simplify, thin          the same program with less to do
    plan, memory            the same run in fixed memory
    source, templates       a program as plain NumPy that can be read and run
    step                    training steps: what compile does
    updates, scribe, rows   what optimizers do, in a training step

An eager tape is built anew at each step, and may be another one each time. A program is built
once and runs many times: nothing is asked that was settled when it was recorded. That makes
it fast, and it makes it rigid: see `program.notes`.
"""

from typing import Any

from minigrad.static import draw
from minigrad.static.differentiate import gradient, insert
from minigrad.static.instruction import Instruction, ProgramError
from minigrad.static.plan import Plan
from minigrad.static.program import Program, forms
from minigrad.static.recording import placeholder, program, record
from minigrad.static.simplify import simplified
from minigrad.static.slot import Slot
from minigrad.static.step import compile  # noqa: A004

__all__ = [
    "Instruction",
    "Plan",
    "Program",
    "ProgramError",
    "Slot",
    "compile",
    "gradient",
    "placeholder",
    "program",
    "record",
]


def _drawing() -> Any:
    return draw


forms.gradient, forms.insert, forms.simplified = gradient, insert, simplified
forms.plan, forms.drawing = Plan, _drawing
