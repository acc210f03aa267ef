"""Static programs: record a run once, differentiate it as a program, replay it without allocating.

    record(f)(*examples)    runs f once and records what it does, as a Program
    placeholder(shape)      a value without data: compute with it, then call program(outputs)
    compile(step)           replays a whole training step: forward, backward, optimizer

The modules are those of a small compiler:

    ir              the program itself: a list of instructions, with numbered operands
    slots           the stand-ins for values while a program is being recorded
    tracing         records a program: record and placeholder
    differentiate   turns a program into the program of its gradient
    passes          turn a program into an equivalent one with less work
    buffers         assigns values to preallocated memory
    codegen         turns a program into plain NumPy source, which a plan runs
    step_recorder   records backward() and writes to memory outside of the program, too
    optimizer_steps the steps of optimizers as instructions
    python_state    refuses what a step does in Python and a program would not do again
    guards          notice that something which a step reads in Python has changed
    training_step   compile: a whole training step as one program
    view            shows a program in the inspector

An eager tape is rebuilt at each step, and may differ each time. A program is built once and
runs many times. Decisions made during recording are not checked again. This makes programs
fast, but also rigid: see `program.notes`.
"""

from minigrad.static import view
from minigrad.static.codegen import BufferPlan
from minigrad.static.differentiate import differentiated, insert
from minigrad.static.ir import Instruction, Program, ProgramError, forms
from minigrad.static.passes import simplified
from minigrad.static.slots import Slot
from minigrad.static.tracing import placeholder, program, record
from minigrad.static.training_step import compile  # noqa: A004

__all__ = [
    "Instruction",
    "BufferPlan",
    "Program",
    "ProgramError",
    "Slot",
    "compile",
    "placeholder",
    "program",
    "record",
]


forms.differentiated, forms.insert, forms.simplified = differentiated, insert, simplified
forms.plan, forms.view = BufferPlan, view
