"""Program: a run recorded as a list of instructions (a Wengert list).

Each instruction applies one op to earlier values and makes one new value. So the list is
in topological order: to run it, we go through it once; to differentiate it, we go through
it once more, backward.

    %0  x                                 (8, 4) float32
    %1  w                                 (4, 2) float32
    %2  = matmul(%0, %1)                  (8, 2) float32
    %3  = relu(%2)                        (8, 2) float32

This is a graph stored as a list: operands are small numbers, not pointers to nodes. The tape
of an eager run (node.py) stores the same graph as linked nodes.

Read instruction.py first.

Source: Wengert, A Simple Automatic Derivative Evaluation Program (1964).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core.memory import make
from minigrad.static.instruction import (
    Instruction,
    ProgramError,
    Value,
    computed,
    described,
    resolved,
    shape_and_type,
)


class Forms:
    """Functions of higher modules that work on a program. They are set from there, so that imports only point down.

    gradient      differentiate.gradient         insert    differentiate.insert
    simplified    simplify.simplified            plan      plan.Plan
    drawing       a function that returns the module draw, which imports everything that draws tapes
    """

    gradient: Callable[..., Any]
    insert: Callable[..., Any]
    simplified: Callable[..., Any]
    plan: Callable[..., Any]
    drawing: Callable[[], Any]


forms = Forms()


class Program:
    """A recorded run. Call it with new inputs; differentiate it; replay it without allocating.

    values        what each number stands for
    instructions  in the order in which they run
    inputs        the numbers of the inputs, in order
    outputs       the numbers of the results
    single        did the recorded function return one tensor instead of several?
    examples      number -> the array of an input, constant or captured tensor. For an input: the
                  one that the program was recorded with
    captured      number -> the tensor that owns the memory
    notes         what is frozen, in words

    Made by `record`, `placeholder` and `gradient`.

    >>> import minigrad
    >>> from minigrad import static
    >>> cube = static.record(lambda x: x * x * x)(minigrad.tensor(2.0))
    >>> print(cube)
    %0  x                       () float32
    %1  = mul(%0, %0)           () float32
    %2  = mul(%1, %0)           () float32
    return %2
    >>> cube(minigrad.tensor(3.0))
    tensor(27.)
    >>> cube.gradient(wrt=[0])(minigrad.tensor(3.0))
    tensor(27.)
    """

    def __init__(
        self,
        values: list[Value],
        instructions: list[Instruction],
        inputs: Sequence[int],
        outputs: Sequence[int],
        single: bool,
        examples: dict[int, Any],
        captured: dict[int, Any],
        frozen: Sequence[str] = (),
    ) -> None:
        self.values, self.instructions = values, instructions
        self.inputs, self.outputs, self.single = list(inputs), list(outputs), single
        self.examples, self.captured = examples, captured
        self.frozen = list(frozen)
        self._plan: Any = None
        self._last: dict[int, list[int]] | None = None
        self._ran: list[Any] | None = None  # the inputs of the latest run
        self._runs = 0
        self._shown: Any = None

    # ------------------------------------------------------------------ running

    def __call__(self, *inputs: Any) -> Any:
        """The outputs for these inputs, as tensors. Runs the instructions one by one.

        If called inside a function that is being recorded, its instructions become part of that program.
        """
        recorder = next((x.recorder for x in inputs if hasattr(x, "recorder")), None)
        if recorder is not None:
            results = recorder.inlined(self, inputs)
            return results[0] if self.single else tuple(results)
        arrays = self._ran = self.checked(inputs)
        self._runs += 1
        known: dict[int, Any] = dict(self.constants())
        known.update(zip(self.inputs, arrays, strict=True))
        if self._last is None:
            self._last = self.last_uses()
        last = self._last
        for k, line in enumerate(self.instructions):
            operands = [known[i] for i in line.operands]
            settings = line.settings
            if line.refs:
                settings = resolved(settings, known.__getitem__)
            known[line.result] = computed(line.op, operands, settings)
            if line.over is not None:
                known[line.over][...] = known[line.result]
            for i in last.get(k, ()):
                del known[i]  # it is not read again
        constant = [self.values[i].kind == "constant" for i in self.outputs]
        return self.packed(
            [
                np.array(known[i]) if c else known[i]
                for i, c in zip(self.outputs, constant, strict=True)
            ]
        )

    def run(self, **named: Any) -> Any:
        """The outputs, for inputs given by name: program.run(x=..., y=...)."""
        return self(*self.in_order(named))

    def in_order(self, named: dict[str, Any]) -> list[Any]:
        """The inputs in order, from inputs given by name."""
        names = self.names
        unknown = sorted(set(named) - set(names))
        missing = [name for name in names if name not in named]
        if unknown or missing:
            what = (
                f"has no input {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
            )
            raise TypeError(f"the program {what}; its inputs are {', '.join(names)}.")
        return [named[name] for name in names]

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [self.values[i].name or f"input{k}" for k, i in enumerate(self.inputs)]

    def checked(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs as arrays. Raises an error unless they have the recorded shapes and dtypes."""
        if len(inputs) != len(self.inputs):
            raise TypeError(
                f"the program takes {len(self.inputs)} inputs ({', '.join(self.names)}), "
                f"but was given {len(inputs)}."
            )
        arrays = [
            as_array(x, self.values[i].dtype) for x, i in zip(inputs, self.inputs, strict=True)
        ]
        for a, i, name in zip(arrays, self.inputs, self.names, strict=True):
            want = self.values[i]
            if a.shape != want.shape or a.dtype != want.dtype:
                raise mismatch(name, a, want)
        return arrays

    def constants(self) -> dict[int, Any]:
        """The arrays of all values that are neither inputs nor results."""
        return {
            i: self.captured[i].array if i in self.captured else a
            for i, a in self.examples.items()
            if self.values[i].kind != "input"
        }

    def last_uses(self) -> dict[int, list[int]]:
        """Position of an instruction -> the results that this instruction is the last to read."""
        last: dict[int, int] = {}
        for k, line in enumerate(self.instructions):
            last[line.result] = k
            for i in line.reads():
                if self.values[i].kind == "result":
                    last[i] = k
        kept = set(self.outputs)
        ends: dict[int, list[int]] = {}
        for i, k in last.items():
            if i not in kept:
                ends.setdefault(k, []).append(i)
        return ends

    def packed(self, arrays: Sequence[Any]) -> Any:
        """The outputs as the recorded function returned them: one tensor, or a tuple."""
        tensors = tuple([make.wrap(a) for a in arrays])
        return tensors[0] if self.single else tensors

    # ------------------------------------------------------------------ other forms

    def gradient(self, wrt: Any = None, *, seeded: bool = False) -> "Program":
        """The program of the gradients: see `differentiate.gradient`."""
        return forms.gradient(self, wrt, seeded=seeded)

    def simplified(self) -> "Program":
        """The same program without dead code and repetitions, with constants precomputed."""
        return forms.simplified(self)

    def plan(self, *, reuse: bool = True, copy: bool = True) -> Any:
        """The same program in preallocated memory: see `plan.Plan`."""
        return forms.plan(self, reuse=reuse, copy=copy)

    def source(self) -> str:
        """The program as plain NumPy source. The plan runs this source."""
        if self._plan is None:
            self._plan = self.plan()
        return self._plan.source

    def to_dot(self) -> str:
        """The program in the Graphviz language."""
        return forms.drawing().to_dot(self)

    def show(
        self, *inputs: Any, gradient: bool = True, wrt: Any = None, seeded: bool = False
    ) -> Any:
        """The program in the inspector, with its gradient program next to it: see `draw.show`."""
        return forms.drawing().show(self, *inputs, gradient=gradient, wrt=wrt, seeded=seeded)

    def save(self, path: Any) -> Any:
        """Write it to a file; the extension sets the format: .html .svg .png .txt .json .dot."""
        return forms.drawing().save(self, path)

    def _ipython_display_(self) -> None:
        forms.drawing().shown(self)._ipython_display_()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return forms.drawing().shown(self)._repr_mimebundle_(include, exclude)

    # ------------------------------------------------------------------ display

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        """The listing: the values that exist before the first instruction, the instructions, the outputs."""
        at_first = [i for i, v in enumerate(self.values) if v.kind != "result" and self._is_used(i)]
        left = [f"%{i}  {self._first_words(i)}" for i in at_first]
        left += [
            f"%{line.result}  = {line.op.name}({described(line)})"
            + (f"  over %{line.over}" if line.over is not None else "")
            for line in self.instructions
        ]
        right = [shape_and_type(self.values[i]) for i in at_first]
        right += [shape_and_type(self.values[line.result]) for line in self.instructions]
        width = min(max([len(text) for text in left], default=0) + 4, 72)
        width = max(width, 28)
        rows = [f"{a:<{width}}{b}" for a, b in zip(left, right, strict=True)]
        return "\n".join([*rows, "return " + ", ".join(f"%{i}" for i in self.outputs)])

    def __repr__(self) -> str:
        return (
            f"<Program of {', '.join(self.names)}: {len(self.instructions)} instructions, "
            f"{len(self.outputs)} output{'s' * (len(self.outputs) != 1)}>"
        )

    def _is_used(self, i: int) -> bool:
        if self.values[i].kind == "input":
            return True
        return i in self.outputs or any(
            i in line.reads() or i == line.over for line in self.instructions
        )

    def _first_words(self, i: int) -> str:
        value = self.values[i]
        if value.kind == "input":
            return value.name or "input"
        if value.kind == "captured":
            return f"captured {value.name or 'tensor'}"
        a = self.examples[i]
        return f"constant {a.item():g}" if a.size == 1 else "constant"

    @property
    def notes(self) -> list[str]:
        """What is frozen in this program, in words."""
        shapes = ", ".join(
            f"{n} {v.shape} {v.dtype}"
            for n, v in zip(self.names, (self.values[i] for i in self.inputs), strict=True)
        )
        notes = [
            f"shapes and types: {shapes}. With others, record again.",
            "control flow: each `if` went the way, and each loop ran as often, as when it was recorded.",
        ]
        used = [i for i in self.examples if self.values[i].kind != "input" and self._is_used(i)]
        constants = [i for i in used if self.values[i].kind == "constant" and self.values[i].shape]
        if constants:
            notes.append(
                "constants: " + ", ".join(f"%{i} {self.values[i].shape}" for i in constants) + "."
            )
        captured = [i for i in used if self.values[i].kind == "captured"]
        if captured:
            notes.append(
                "captured tensors, whose memory is read at each run: "
                + ", ".join(
                    f"%{i} {self.values[i].name or ''}{self.values[i].shape}" for i in captured
                )
                + "."
            )
        return notes + self.frozen

    def nbytes(self) -> int:
        """The size of the list itself in bytes: instructions, operands and settings, without the values."""
        from sys import getsizeof

        total = getsizeof(self.instructions) + getsizeof(self.values)
        for line in self.instructions:
            total += getsizeof(line) + getsizeof(line.operands)
            total += getsizeof(line.settings) if line.settings else 0
        return total + sum(getsizeof(v) for v in self.values)


def as_array(x: Any, dtype: Any) -> Any:
    """A tensor, an array, or a plain number as an array."""
    a = getattr(x, "array", x)
    if isinstance(a, (np.ndarray, np.generic)):
        return a
    return np.asarray(a, dtype)


def mismatch(name: str, a: Any, want: Value) -> ProgramError:
    """The error for an input that differs from what the program was recorded with."""
    return ProgramError(
        f"the program was recorded for {name} of shape {want.shape} and type {want.dtype}, but was "
        f"given {a.shape} and {a.dtype}. Shapes and types are frozen in a program. To fix it, record again: "
        f"static.record(f)(...) with inputs of these shapes, or let static.compile(f) keep one program for each."
    )
