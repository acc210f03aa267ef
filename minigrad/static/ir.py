"""The intermediate representation: a program, as a list of instructions (a Wengert list).

    Program       the list. It can be run, differentiated, planned, printed and shown
    Instruction   an op, the numbers of its operands, settings, the number of its result
    Value         what a number stands for: an input, a constant, a tensor that the function
                  used during recording, or the result of an instruction
    Ref           a value inside a setting: an index that is itself computed or given

An instruction's op is an op of the table; or a NumPy function that has no row there (Foreign),
for example a random draw (Draw); or an op's rule, as a single instruction (RuleOp).

    %0  x                                 (8, 4) float32
    %1  w                                 (4, 2) float32
    %2  = matmul(%0, %1)                  (8, 2) float32
    %3  = relu(%2)                        (8, 2) float32

Each instruction applies one op to earlier values and makes one new value. So the list is
in topological order: to run it, we go through it once; to differentiate it, we go through
it once more, backward. It is a graph stored as a list: operands are small numbers, not pointers
to nodes. The tape of an eager run (node.py) stores the same graph as linked nodes.

Source: Wengert, A Simple Automatic Derivative Evaluation Program (1964).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import getsizeof
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.core.memory import make
from minigrad.core.modes import unobserved
from minigrad.core.op import Op, Rule
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor
from minigrad.methods.base import Base
from minigrad.random.generator import Generator, default_generator

Settings = dict[str, Any]
# With respect to what: numbers or names of inputs, or captured tensors; None: all inputs of floats
Wrt = int | str | Iterable[int | str | Tensor] | None
Function = Callable[..., Any]
Args = Iterable[Any]
Kwargs = Mapping[str, Any]


class ProgramError(RuntimeError):
    """A program cannot do what was requested; what it does was fixed when it was recorded."""


class Ref(NamedTuple):
    """Stands for a value of the program in a setting, by its number."""

    number: int


class Value(NamedTuple):
    """What one number in the listing stands for.

    kind     "input"; "constant", a plain array or number; "captured", the memory of a tensor
             that the recorded function used but did not get as an argument; or "result"
    """

    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"


# ------------------------------------------------------------------ what is no op of the table


class SpecialOp:
    """An operation of a program that is no op of the table: it has an op's attributes."""

    name: str
    formula: str
    takes_out = inplace = view = variadic = False
    kind = "constant"
    effect = False  # does it have side effects? Then it is not dropped or merged
    rules: dict[str, Rule] = {}
    settings: Settings = {}
    operands: tuple[str, ...] = ()
    numpy = None

    def forward(self, *operands: Any, **settings: Any) -> Any:
        """The result."""
        raise NotImplementedError


AnyOp = Op | SpecialOp


@dataclass(unsafe_hash=True)
class Foreign(SpecialOp):
    """A NumPy function without a row in the table of ops: it has no derivative."""

    name: str
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        self.formula = f"z = {self.name}(...)"

    def forward(self, *operands: Any, args: Args, kwargs: Kwargs) -> Any:
        """Call the NumPy function. `args` and `kwargs` are its own, with Refs already resolved."""
        return self.function(*args, **kwargs)

    def dry_run(self, *, args: Args, kwargs: Kwargs) -> Any:
        """A result of the same shape and dtype, without side effects."""
        return self.function(*args, **kwargs)


class Draw(Foreign):
    """Random numbers, drawn again in each run, from the same generator as in an eager run.

    Draws are never merged and never dropped, so the stream continues as in an eager run.
    """

    effect = True

    def dry_run(self, *, args: Args, kwargs: Kwargs) -> Any:
        """Draw, and then set the generator back."""
        given = [*args, *kwargs.values()]
        used = next((g for g in given if isinstance(g, Generator)), default_generator)
        state = used.get_state()
        try:
            with unobserved():
                return self.function(*args, **kwargs)
        finally:
            used.set_state(state)


@dataclass(unsafe_hash=True)
class RuleOp(SpecialOp):
    """An op's rule as one instruction, called on arrays.

    A rule called on Slots is normally expanded into instructions. A few rules are faster on arrays;
    a program that is only run can call those directly. If the program is differentiated
    again, the rule is expanded after all.
    """

    op: Op
    input: str

    def __post_init__(self) -> None:
        op, self.rule = self.op, self.op.rules[self.input]
        self.name = f"{op.name}_d{self.input}"
        self.formula = f"the gradient of {op.name} by {self.input}    ({op.formula})"
        self.operands = ("g", *(r for r in self.rule.reads if r in op.operands or r == "z"))
        self.settings = {r: None for r in self.rule.reads if r not in self.operands}

    def forward(self, *operands: Any, **settings: Any) -> Any:
        """The gradient of the input. The first operand is that of the result."""
        given = dict(zip(self.operands, operands, strict=True)) | settings
        return self.rule.formula(operands[0], *(given[r] for r in self.rule.reads))


def forward_of(op: AnyOp, operands: Sequence[Any], settings: Settings) -> Any:
    """The result of an instruction.

    Whether a view is possible was decided during recording. In a simplified program, the operand
    may have another memory layout; then the result is a copy.
    """
    return (ops.reshape if op is ops.view else op).forward(*operands, **settings)


def dry_run(op: AnyOp, operands: Sequence[Any], settings: Settings) -> Any:
    """The result of an instruction, computed for its shape and dtype, without side effects."""
    if isinstance(op, Foreign):
        return op.dry_run(**settings)
    return forward_of(op, operands, settings)


# ------------------------------------------------------------------ instructions


@dataclass(slots=True, eq=False, repr=False)
class Instruction:
    """One line of a program: result = op(*operands, **settings).

    op         an Op of the table; or a Foreign function, which has no derivative
    operands   the numbers of the values that it reads
    settings   as given to the op; a Ref in them stands for a value
    result     the number of the value that it makes
    stopped    no gradient passes (it was recorded under no_grad)
    over       the number of a captured value whose memory the result is written to, or None
    history    for a value written in place under no_grad: the number of the value before the write,
               to which its gradient passes unchanged; else None
    refs       the numbers of the values in its settings
    """

    op: AnyOp
    operands: tuple[int, ...]
    settings: Settings
    result: int
    stopped: bool = False
    over: int | None = None
    history: int | None = None
    refs: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.refs = tuple(refs_in(self.settings))

    def reads(self) -> list[int]:
        """The numbers of all values that it reads, including those in its settings."""
        return [*self.operands, *self.refs]

    @property
    def kept(self) -> bool:
        """Does it more than make its result? Then it is not dropped or merged."""
        return self.over is not None or (isinstance(self.op, SpecialOp) and self.op.effect)

    def run(self, known: dict[int, Any], compute: Function = forward_of) -> None:
        """Compute its result from the known values, and add it to them."""
        settings = resolved(self.settings, known.__getitem__) if self.refs else self.settings
        known[self.result] = compute(self.op, [known[i] for i in self.operands], settings)

    def renumbered(self, new: Callable[[int], int]) -> "Instruction":
        """The same instruction on values with other numbers."""
        return Instruction(
            self.op,
            tuple(map(new, self.operands)),
            resolved(self.settings, lambda i: Ref(new(i))) if self.refs else self.settings,
            new(self.result),
            self.stopped,
            None if self.over is None else new(self.over),
            None if self.history is None else new(self.history),
        )

    @property
    def expression(self) -> str:
        """The right side of its line in a listing: matmul(%0, %1)"""
        if isinstance(self.op, Foreign):
            parts = [_text_of(a) for a in self.settings["args"]]
            named = self.settings["kwargs"]
        else:
            parts = [f"%{i}" for i in self.operands]
            defaults = self.op.settings
            named = {k: v for k, v in self.settings.items() if not _same(v, defaults.get(k))}
        parts += [f"{name}={_text_of(value)}" for name, value in named.items()]
        return f"{self.op.name}({', '.join(parts)})"

    def __repr__(self) -> str:
        return f"%{self.result} = {self.expression}"


def mapped(setting: Any, f: Callable[[Any], Any]) -> Any:
    """A setting with f applied to each part; tuples, lists and dicts are kept."""
    if isinstance(setting, dict):
        return {key: mapped(part, f) for key, part in setting.items()}
    if type(setting) in (tuple, list):
        return type(setting)([mapped(part, f) for part in setting])
    return f(setting)


def refs_in(setting: object) -> Iterator[int]:
    """The values that a setting refers to."""
    if isinstance(setting, Ref):
        yield setting.number
    elif isinstance(setting, (dict, tuple, list)):
        for part in setting.values() if isinstance(setting, dict) else setting:
            yield from refs_in(part)


def resolved(setting: object, value_of: Callable[[int], Any]) -> Any:
    """A setting with its Refs replaced by values."""
    return mapped(setting, lambda part: value_of(part.number) if isinstance(part, Ref) else part)


def _same(setting: object, default: object) -> bool:
    return setting is default or (isinstance(setting, (int, float, str)) and setting == default)


def _text_of(setting: object) -> str:
    """A setting as text."""
    if isinstance(setting, Ref):
        return f"%{setting.number}"
    if isinstance(setting, slice):
        return slice_text(setting)
    if isinstance(setting, np.ndarray):
        return f"array{setting.shape}" if setting.size > 6 else str(setting.tolist())
    if isinstance(setting, list):
        return f"[{', '.join(map(_text_of, setting))}]"
    if isinstance(setting, tuple):
        return f"({', '.join(map(_text_of, setting))}{',' * (len(setting) == 1)})"
    return "..." if setting is Ellipsis else str(setting)


def slice_text(part: slice) -> str:
    """A slice as it is written in an index: 1:3"""
    ends = (part.start, part.stop, part.step)
    return ":".join("" if n is None else str(n) for n in ends).removesuffix(":")


# ------------------------------------------------------------------ programs


class Forms:
    """Functions of higher modules that work on a program. They are set from there, so that imports only point down.

    gradient      differentiate.gradient_program    insert    differentiate.insert
    simplified    passes.simplified                 plan      codegen.BufferPlan
    view          the module view, which imports everything that draws tapes
    """

    gradient: Callable[..., Any]
    insert: Callable[..., Any]
    simplified: Callable[..., Any]
    plan: Callable[..., Any]
    view: ModuleType


forms = Forms()


@dataclass(eq=False, repr=False)
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

    values: list[Value]
    instructions: list[Instruction]
    inputs: list[int]
    outputs: list[int]
    single: bool
    examples: dict[int, Any]
    captured: dict[int, Any]
    frozen: list[str]

    def __post_init__(self) -> None:
        self._plan: Any = None
        self._last: dict[int, list[int]] | None = None
        self._ran: list[Array] | None = None  # the inputs of the latest run
        self._runs = 0
        self._shown: Any = None

    # ------------------------------------------------------------------ running

    def __call__(self, *inputs: object) -> Any:
        """The outputs for these inputs, as tensors. Runs the instructions one by one.

        If called inside a function that is being recorded, its instructions become part of that program.
        """
        recorder = next((x.recorder for x in inputs if hasattr(x, "recorder")), None)
        if recorder is not None:
            results = recorder.inlined(self, inputs)
            return results[0] if self.single else tuple(results)
        self._ran = self.checked(inputs)
        self._runs += 1
        known = self.known_at_first(self._ran)
        if self._last is None:
            self._last = self.last_uses()
        for k, line in enumerate(self.instructions):
            line.run(known)
            if line.over is not None:
                known[line.over][...] = known[line.result]
            for i in self._last.get(k, ()):
                del known[i]  # it is not read again
        return self.packed(
            [
                np.array(known[i]) if self.values[i].kind == "constant" else known[i]
                for i in self.outputs
            ]
        )

    def run(self, **named: object) -> Any:
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

    def checked(self, inputs: Sequence[Any]) -> list[Array]:
        """The inputs as arrays. Raises an error unless they have the recorded shapes and dtypes."""
        if len(inputs) != len(self.inputs):
            raise TypeError(
                f"the program takes {len(self.inputs)} inputs ({', '.join(self.names)}), "
                f"but was given {len(inputs)}."
            )
        arrays = []
        for k, (x, i) in enumerate(zip(inputs, self.inputs, strict=True)):
            want = self.values[i]
            a = getattr(x, "array", x)
            if not isinstance(a, (np.ndarray, np.generic)):
                a = np.asarray(a, want.dtype)
            if a.shape != want.shape or a.dtype != want.dtype:
                raise mismatch(self.names[k], a, want)
            arrays.append(a)
        return arrays

    def known_at_first(self, inputs: Sequence[Array]) -> dict[int, Any]:
        """The arrays of all values that are no results, for these inputs."""
        known = self.examples | {i: t.array for i, t in self.captured.items()}
        return known | dict(zip(self.inputs, inputs, strict=True))

    def last_uses(self) -> dict[int, list[int]]:
        """Position of an instruction -> the results that this instruction is the last to read."""
        last: dict[int, int] = {}
        for k, line in enumerate(self.instructions):
            last[line.result] = k
            for i in line.reads():
                if self.values[i].kind == "result":
                    last[i] = k
        ends: dict[int, list[int]] = {}
        for i, k in last.items():
            if i not in self.outputs:
                ends.setdefault(k, []).append(i)
        return ends

    def packed(self, arrays: Sequence[Any]) -> Any:
        """The outputs as the recorded function returned them: one tensor, or a tuple."""
        tensors = tuple([make.wrap(a) for a in arrays])
        return tensors[0] if self.single else tensors

    # ------------------------------------------------------------------ other forms

    def gradient(self, wrt: Wrt = None, *, seeded: bool = False) -> "Program":
        """The program of the gradients: see `differentiate.gradient_program`."""
        return forms.gradient(self, wrt, seeded=seeded)

    def simplified(self) -> "Program":
        """The same program without dead code and repetitions, with constants precomputed."""
        return forms.simplified(self)

    def plan(self, *, reuse: bool = True, copy: bool = True) -> Any:
        """The same program in preallocated memory: see `codegen.BufferPlan`."""
        return forms.plan(self, reuse=reuse, copy=copy)

    def source(self) -> str:
        """The program as plain NumPy source. The plan runs this source."""
        if self._plan is None:
            self._plan = self.plan()
        return self._plan.source

    def to_dot(self) -> str:
        """The program in the Graphviz language."""
        return forms.view.to_dot(self)

    def show(
        self, *inputs: object, gradient: bool = True, wrt: Wrt = None, seeded: bool = False
    ) -> Any:
        """The program in the inspector, with its gradient program next to it: see `view.show_program`."""
        return forms.view.show_program(self, *inputs, gradient=gradient, wrt=wrt, seeded=seeded)

    def save(self, path: str | Path) -> Path:
        """Write it to a file; the extension sets the format: .html .svg .png .txt .json .dot."""
        return forms.view.picture_of(self).save(path)

    def _ipython_display_(self) -> None:
        forms.view.picture_of(self)._ipython_display_()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        return forms.view.picture_of(self)._repr_mimebundle_(include, exclude)

    # ------------------------------------------------------------------ display

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        """The listing: the values that exist before the first instruction, the instructions, the outputs."""
        rows = [(f"%{i}  {self._first_words(i)}", self.values[i]) for i in self.at_first()]
        for line in self.instructions:
            over = "" if line.over is None else f"  over %{line.over}"
            rows.append((f"%{line.result}  = {line.expression}{over}", self.values[line.result]))
        width = max(28, min(72, 4 + max([len(left) for left, _ in rows], default=0)))
        text = [f"{left:<{width}}{value}" for left, value in rows]
        return "\n".join([*text, "return " + ", ".join(f"%{i}" for i in self.outputs)])

    def __repr__(self) -> str:
        return (
            f"<Program of {', '.join(self.names)}: {len(self.instructions)} instructions, "
            f"{len(self.outputs)} output{'s' * (len(self.outputs) != 1)}>"
        )

    def at_first(self) -> list[int]:
        """The values that exist before the first instruction: the inputs, and others that are used."""
        used = {i for line in self.instructions for i in (*line.reads(), line.over)}
        used |= {*self.outputs, *self.inputs}
        return [i for i, v in enumerate(self.values) if v.kind != "result" and i in used]

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
        values = self.values
        inputs = zip(self.names, self.inputs, strict=True)
        notes = [
            f"shapes and types: {', '.join(f'{name} {values[i]}' for name, i in inputs)}. "
            "With others, record again.",
            "control flow: each `if` went the way, and each loop ran as often, as when it was recorded.",
        ]
        used = [(i, values[i]) for i in self.at_first()]
        constants = [f"%{i} {v.shape}" for i, v in used if v.kind == "constant" and v.shape]
        if constants:
            notes.append(f"constants: {', '.join(constants)}.")
        captured = [f"%{i} {v.name or ''}{v.shape}" for i, v in used if v.kind == "captured"]
        if captured:
            notes.append(
                f"captured tensors, whose memory is read at each run: {', '.join(captured)}."
            )
        return notes + self.frozen

    def nbytes(self) -> int:
        """The size of the list itself in bytes: instructions, operands and settings, without the values."""
        total = getsizeof(self.instructions) + getsizeof(self.values)
        for line in self.instructions:
            total += getsizeof(line) + getsizeof(line.operands)
            total += getsizeof(line.settings) if line.settings else 0
        return total + sum(getsizeof(v) for v in self.values)


def mismatch(name: str, a: Array | Base, want: Value) -> ProgramError:
    """The error for an input that differs from what the program was recorded with."""
    return ProgramError(
        f"the program was recorded for {name} of shape {want.shape} and type {want.dtype}, but was "
        f"given {a.shape} and {a.dtype}. Shapes and types are frozen in a program. To fix it, record again: "
        f"static.record(f)(...) with inputs of these shapes, or let static.compile(f) keep one program for each."
    )
