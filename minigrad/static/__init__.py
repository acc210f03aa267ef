"""Static programs: record a run once, differentiate it as a program, replay it without allocating.

    record(f)(*examples)    runs f once and records what it does, as a Program
    placeholder(shape)      a value without data: compute with it, then call program(outputs)
    compile(step)           replays a whole training step: forward, backward, optimizer

    instruction, program    the program itself: a list of instructions, with numbered operands
    slot, traced            stand for a value while a program is being recorded
    recorder, watch         record the program
    recording               record and placeholder
    differentiate           turns a program into the program of its gradient
    simplify, thin          turn a program into an equivalent one with less work
    plan, memory            run a program in preallocated memory
    source, templates       turn a program into plain NumPy source
    step                    training steps: implements compile
    updates, scribe, rows   what optimizers do in a training step

An eager tape is rebuilt at each step, and may differ each time. A program is built once and
runs many times. Whatever was decided during recording is not checked again. This makes
programs fast, but also rigid: see `program.notes`.
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
