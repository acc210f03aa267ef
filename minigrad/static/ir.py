"""The intermediate representation: a program, as a list of instructions (a Wengert list).

    Program       the list. It can be run, differentiated, planned, printed and shown
    Instruction   an op, the numbers of its operands, settings, the number of its result
    Value         one numbered value: an input, a constant, a captured tensor, or the result
                  of an instruction
    Ref           a value inside a setting, such as an index that is computed or an input

An instruction applies an op of the table, a NumPy function that has no row there (NumpyFunction), a
random draw (Draw), or the rule of an op (RuleOp).

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
from minigrad.core.op import Op, Rule, as_in_pytorch
from minigrad.core.plan import listed, slice_text
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor
from minigrad.methods.base import Base
from minigrad.random.generator import Generator, default_generator

Settings = dict[str, Any]
# Inputs, by position or name, or captured tensors; None: all floating-point inputs
Wrt = int | str | Iterable[int | str | Tensor] | None
Function = Callable[..., Any]
Args = Iterable[Any]
Kwargs = Mapping[str, Any]


class ProgramError(RuntimeError):
    """The code cannot be recorded, or the request does not match what was recorded."""


class Ref(NamedTuple):
    """A reference, inside a setting, to a value of the program."""

    number: int


class Value(NamedTuple):
    """One numbered value of a program.

    kind     "input"; "constant", a plain array or number; "captured", a tensor that the function
             used without getting it as an argument, read from memory in each run; or "result"
    """

    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"


# ------------------------------------------------------------------ special ops


class SpecialOp:
    """An operation that is not in the table of ops, with the attributes of an op."""

    name: str
    formula: str
    takes_out = inplace = view = variadic = False
    kind = "constant"
    effect = False  # does it have side effects? If so, it is never dropped or merged
    rules: dict[str, Rule] = {}
    settings: Settings = {}
    operands: tuple[str, ...] = ()
    numpy = None

    def forward(self, *operands: Any, **settings: Any) -> Any:
        """The result."""
        raise NotImplementedError


AnyOp = Op | SpecialOp


@dataclass(unsafe_hash=True)
class NumpyFunction(SpecialOp):
    """A NumPy function without a row in the table of ops: it has no derivative."""

    name: str
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        self.formula = f"z = {self.name}(...)"

    def forward(self, *operands: Any, args: Args, kwargs: Kwargs) -> Any:
        """Call the NumPy function. In `args` and `kwargs`, Refs are already resolved."""
        return self.function(*args, **kwargs)

    def dry_run(self, *, args: Args, kwargs: Kwargs) -> Any:
        """Compute a result of the right shape and dtype, without side effects."""
        return self.function(*args, **kwargs)


class Draw(NumpyFunction):
    """Random numbers, drawn again in each run from the same generator that an eager run uses.

    Draws are never merged or dropped, so the generator advances as in an eager run.
    """

    effect = True

    def dry_run(self, *, args: Args, kwargs: Kwargs) -> Any:
        """Draw, then restore the state of the generator."""
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

    A rule called on Slots normally writes several instructions. A few rules are faster on arrays,
    and a program that is only run can call those directly. If the program is differentiated
    again, the rule is expanded after all.
    """

    op: Op
    input: str

    def __post_init__(self) -> None:
        op, self.rule = self.op, self.op.rules[self.input]
        self.name = f"{op.name}_d{self.input}"
        self.formula = f"the gradient of {op.name} with respect to {self.input}    ({op.formula})"
        self.operands = ("g", *(r for r in self.rule.reads if r in op.operands or r == "z"))
        self.settings = {r: None for r in self.rule.reads if r not in self.operands}

    def forward(self, *operands: Any, **settings: Any) -> Any:
        """The gradient of the input. The first operand is the gradient of the result."""
        given = dict(zip(self.operands, operands, strict=True)) | settings
        return self.rule.formula(operands[0], *(given[r] for r in self.rule.reads))


def forward_of(op: AnyOp, operands: Sequence[Any], settings: Settings) -> Any:
    """The result of an instruction.

    In a simplified program, an operand may have a different memory layout than during recording.
    If a view is not possible then, the result is a copy.
    """
    return (ops.reshape if op is ops.view else op).forward(*operands, **settings)


def dry_run(op: AnyOp, operands: Sequence[Any], settings: Settings) -> Any:
    """Compute the result of an instruction without side effects, to get its shape and dtype."""
    if isinstance(op, NumpyFunction):
        return op.dry_run(**settings)
    return forward_of(op, operands, settings)


# ------------------------------------------------------------------ instructions


@dataclass(slots=True, eq=False, repr=False)
class Instruction:
    """One line of a program: result = op(*operands, **settings).

    op         an Op of the table; or a NumpyFunction, which has no derivative
    operands   the numbers of the values that it reads
    settings   the op's settings; a Ref in them stands for a value
    result     the number of the value that it computes
    stopped    no gradient flows through it (it was recorded under no_grad)
    over       the number of a captured value whose memory the result is written to, or None
    history    for an in-place write under no_grad: the number of the value before the write, which
               receives the gradient unchanged; else None
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
        self.refs = tuple(refs_in(self.settings)) if self.settings else ()

    def reads(self) -> list[int]:
        """The numbers of all values that it reads, including those in its settings."""
        return [*self.operands, *self.refs]

    @property
    def kept(self) -> bool:
        """Must it be kept, because it has side effects? If so, it is never dropped or merged."""
        return self.over is not None or (isinstance(self.op, SpecialOp) and self.op.effect)

    def run(self, known: dict[int, Any], compute: Function = forward_of) -> None:
        """Compute its result from the known values, and add it to them."""
        settings = resolved(self.settings, known.__getitem__) if self.refs else self.settings
        known[self.result] = compute(self.op, [known[i] for i in self.operands], settings)

    def renumbered(self, new: Callable[[int], int]) -> "Instruction":
        """The same instruction with its values renumbered."""
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
        if isinstance(self.op, NumpyFunction):
            parts = [_setting_text(a) for a in self.settings["args"]]
            named = self.settings["kwargs"]
        else:
            parts = [f"%{i}" for i in self.operands]
            defaults = self.op.settings
            given = ((k, v) for k, v in self.settings.items() if not _is_equal(v, defaults.get(k)))
            named = dict(as_in_pytorch(*setting) for setting in given)
        parts += [f"{name}={_setting_text(value)}" for name, value in named.items()]
        return f"{self.op.name}({', '.join(parts)})"

    def __repr__(self) -> str:
        return f"%{self.result} = {self.expression}"


def mapped(setting: Any, f: Callable[[Any], Any]) -> Any:
    """A setting with f applied to each part; tuples (also named ones), lists and dicts are kept."""
    if isinstance(setting, dict):
        return {key: mapped(part, f) for key, part in setting.items()}
    if isinstance(setting, tuple) and hasattr(setting, "_fields") and type(setting) is not Ref:
        return type(setting)(*[mapped(part, f) for part in setting])
    if type(setting) in (tuple, list):
        return type(setting)([mapped(part, f) for part in setting])
    return f(setting)


def parts_in(setting: Any) -> Iterator[Any]:
    """The parts of a setting, at any depth of tuples, lists and dicts."""
    if isinstance(setting, (dict, tuple, list)) and not isinstance(setting, Ref):
        for part in setting.values() if isinstance(setting, dict) else setting:
            yield from parts_in(part)
    else:
        yield setting


def refs_in(setting: object) -> list[int]:
    """The numbers of the values that a setting refers to."""
    return [part.number for part in parts_in(setting) if isinstance(part, Ref)]


def resolved(setting: object, value_of: Callable[[int], Any]) -> Any:
    """A setting with its Refs replaced by values."""
    return mapped(setting, lambda part: value_of(part.number) if isinstance(part, Ref) else part)


def _is_equal(setting: object, default: object) -> bool:
    return setting is default or (isinstance(setting, (int, float, str)) and setting == default)


def _setting_text(setting: object) -> str:
    """A setting as text."""
    if isinstance(setting, Ref):
        return f"%{setting.number}"
    if isinstance(setting, slice):
        return slice_text(setting)
    if isinstance(setting, np.ndarray):
        return f"array{setting.shape}" if setting.size > 6 else str(setting.tolist())
    if isinstance(setting, list):
        return f"[{', '.join(map(_setting_text, setting))}]"
    if isinstance(setting, tuple):
        return f"({listed([*map(_setting_text, setting)])})"
    return "..." if setting is Ellipsis else str(setting)


# ------------------------------------------------------------------ programs


class Forms:
    """Functions of higher modules that work on a program. Those modules set them when imported.

    differentiated    differentiate.differentiated    insert    differentiate.insert
    simplified        passes.simplified               plan      codegen.BufferPlan
    view              the module view, which imports everything that draws tapes
    """

    differentiated: Callable[..., Any]
    insert: Callable[..., Any]
    simplified: Callable[..., Any]
    plan: Callable[..., Any]
    view: ModuleType


forms = Forms()


@dataclass(eq=False, repr=False)
class Program:
    """A recorded run. Call it with new inputs; differentiate it; replay it without allocating.

    values        what each number stands for
    instructions  in the order they run
    inputs        the numbers of the inputs, in order
    outputs       the numbers of the results
    single        did the recorded function return one tensor instead of several?
    examples      number -> the array of a constant or captured tensor; for an input, the array
                  that was used for recording
    captured      number -> the tensor that owns the memory
    notes         a description of what is frozen

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
        known |= {i: known[i].copy() for i in self.outputs if self.values[i].kind == "constant"}
        return self.packed([known[i] for i in self.outputs])

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
        """The arrays of all values that exist before the first instruction."""
        known = self.examples | {i: t.array for i, t in self.captured.items()}
        return known | dict(zip(self.inputs, inputs, strict=True))

    def all_values(
        self, inputs: Sequence[Array], compute: Function = forward_of
    ) -> dict[int, Array]:
        """Every value of the program for these inputs; `compute` gives the result of an instruction."""
        known = self.known_at_first(inputs)
        with np.errstate(all="ignore"):
            for line in self.instructions:
                line.run(known, compute)
        return known

    def last_uses(self) -> dict[int, list[int]]:
        """Position of an instruction -> the results that it is the last to read."""
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
        """The program that computes the gradients of this program's output.

        wrt       positions or names of inputs, one or several; None: all inputs that can have a gradient
        seeded    if True, the new program also takes the gradient of each output, after the inputs.
                  It then computes vector-Jacobian products. If False, the first output is
                  differentiated, which must be a scalar
        returns   a Program with the same inputs, whose outputs are the gradients, in the order of wrt

        The result is simplified: no dead code, nothing computed twice.

        >>> import minigrad
        >>> from minigrad import static
        >>> p = static.record(lambda x: (x * x).sum())(minigrad.ones(3))
        >>> g = p.gradient(wrt=[0])
        >>> g(minigrad.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 6.])
        """
        return forms.differentiated(self, wrt, seeded=seeded)[0]

    def simplified(self) -> "Program":
        """An equivalent program without dead code and repetitions, with constants precomputed."""
        return forms.simplified(self)

    def plan(self, *, reuse: bool = True, copy: bool = True) -> Any:
        """A plan that runs the program in preallocated memory: see `codegen.BufferPlan`."""
        return forms.plan(self, reuse=reuse, copy=copy)

    def source(self) -> str:
        """The plain NumPy source that the program's plan runs."""
        if self._plan is None:
            self._plan = self.plan()
        return self._plan.source

    def to_dot(self) -> str:
        """The program in the Graphviz language."""
        return forms.view.to_dot(self)

    def show(
        self, *inputs: object, gradient: bool = True, wrt: Wrt = None, seeded: bool = False
    ) -> Any:
        """The program in the inspector, with its gradient program next to it.

        inputs     run the program with these first; by default, show the values of its latest run, if any
        gradient   also show its gradient program?
        wrt        what to differentiate with respect to, as in program.gradient(wrt)
        seeded     as in program.gradient: for outputs that are not scalar

        >>> import minigrad
        >>> from minigrad import static
        >>> p = static.record(lambda x, w: (x * w).sum())(minigrad.ones(2), minigrad.ones(2))
        >>> print(p.show(minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0]), wrt="w").text())
        program: 2 instructions, 2 inputs, 8 bytes of buffers in a plan
        <BLANKLINE>
        gradient program: 0 instructions
        <BLANKLINE>
        program
            instruction  shape  value   stored in          then
        %0  input x      (2,)   [1, 2]  given at each run
        %1  input w      (2,)   [3, 4]  given at each run
        %2  mul(%0, %1)  (2,)   [3, 8]  buffer b0          last read by %3
        %3  sum(%2)      ()     11                         returned
        <BLANKLINE>
        its gradient with respect to w
            instruction  shape  value   stored in          then
        %0  input x      (2,)   [1, 2]  given at each run  returned
        %1  input w      (2,)   [3, 4]  given at each run
        """
        if inputs:
            self(*inputs)
        return forms.view.Shown(self, gradient, wrt, seeded)

    def _picture(self) -> Any:
        """What show() returns: the same object each time, so that all views stay in sync."""
        if self._shown is None:
            self._shown = self.show()
        return self._shown

    def save(self, path: str | Path) -> Path:
        """Write it to a file; the extension sets the format: .html .svg .png .txt .json .dot."""
        return self._picture().save(path)

    def _ipython_display_(self) -> None:
        self._picture()._ipython_display_()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        return self._picture()._repr_mimebundle_(include, exclude)

    # ------------------------------------------------------------------ display

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        """The listing: the values that exist before the first instruction, the instructions, the outputs."""
        rows = [(f"%{i}  {self._description(i)}", self.values[i]) for i in self.at_first()]
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
        """The values before the first instruction: inputs, used constants, captured tensors."""
        used = {i for line in self.instructions for i in (*line.reads(), line.over)}
        used |= {*self.outputs, *self.inputs}
        return [i for i, v in enumerate(self.values) if v.kind != "result" and i in used]

    def _description(self, i: int) -> str:
        value = self.values[i]
        if value.kind == "input":
            return value.name or "input"
        if value.kind == "captured":
            return f"captured {value.name or 'tensor'}"
        a = self.examples[i]
        return f"constant {a.item():g}" if a.size == 1 else "constant"

    @property
    def notes(self) -> list[str]:
        """A description of what is frozen in this program."""
        values = self.values
        inputs = zip(self.names, self.inputs, strict=True)
        notes = [
            f"shapes and types: {', '.join(f'{name} {values[i]}' for name, i in inputs)}. "
            "With others, record again.",
            "control flow: each `if` takes the recorded branch, and each loop runs the recorded number of times.",
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
        """The size in bytes of the instructions, operands and settings, without the values."""
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
