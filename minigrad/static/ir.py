"""The intermediate representation: a program, as a list of instructions (a Wengert list).

    Program       the list. It can be run, differentiated, planned, printed and shown
    Instruction   an op, the numbers of its operands, settings, the number of its result
    Value         what a number stands for: an input, a constant, a tensor that the function
                  used during recording, or the result of an instruction
    Ref           a value inside a setting: an index that is itself computed or given

An instruction's op is an op of the table; or a NumPy function that has no row there (Foreign),
for example a random draw (Draw); or an op's rule, as a single instruction (Kernel).

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

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.core.memory import make
from minigrad.core.modes import unobserved
from minigrad.random.generator import Generator, default_generator


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
    dtype: Any
    name: str | None = None


class Foreign:
    """A NumPy function without a row in the table of ops: it has no derivative."""

    takes_out = inplace = view = False
    kind = "constant"
    effect = False  # does it have side effects?
    rules: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    operands: tuple[str, ...] = ()
    variadic = False
    numpy = None

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self.formula = f"z = {name}(...)"

    def forward(self, *, args: Any, kwargs: Any) -> Any:
        """Call the NumPy function. `args` and `kwargs` are its own, with Refs already resolved."""
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.name)


class Draw(Foreign):
    """Random numbers, drawn again in each run, from the same generator as in an eager run.

    Draws are never merged and never dropped, so the stream continues as in an eager run.
    """

    effect = True
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def computed(op: Any, operands: Any, settings: dict[str, Any]) -> Any:
    """The result of an instruction.

    Whether a view is possible was decided during recording. In a simplified program, the operand
    may have another memory layout; then the result is a copy.
    """
    return (ops.reshape if op is ops.view else op).forward(*operands, **settings)


def rehearsed(op: Any, operands: Any, settings: dict[str, Any]) -> Any:
    """The result of an instruction, computed for its shape and dtype, without side effects."""
    if not getattr(op, "effect", False):
        return computed(op, operands, settings)
    if not isinstance(op, Draw):
        return op.rehearse(*operands, **settings)
    given = [*settings["args"], *settings["kwargs"].values()]
    used = next((g for g in given if isinstance(g, Generator)), default_generator)
    state = used.get_state()
    try:
        with unobserved():
            return op.forward(*operands, **settings)
    finally:
        used.set_state(state)


class Kernel:
    """An op's rule as one instruction, called on arrays.

    A rule called on Slots is normally expanded into instructions. A few rules are faster on arrays;
    a program that is only run can call those directly. If the program is differentiated
    again, the rule is expanded after all.
    """

    takes_out = inplace = view = variadic = False
    kind = "constant"
    rules: dict[str, Any] = {}
    numpy = None

    def __init__(self, op: Any, input: str) -> None:
        self.op, self.input, self.rule = op, input, op.rules[input]
        self.name = f"{op.name}_d{input}"
        self.formula = f"the gradient of {op.name} by {input}    ({op.formula})"
        self.operands = ("g", *(r for r in self.rule.reads if r in op.operands or r == "z"))
        self.settings = {r: None for r in self.rule.reads if r not in self.operands}

    def forward(self, *operands: Any, **settings: Any) -> Any:
        """The gradient of the input, as an array. The first operand is that of the result."""
        given = dict(zip(self.operands, operands, strict=True)) | settings
        return self.rule.formula(operands[0], *(given[r] for r in self.rule.reads))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and (self.op, self.input) == (other.op, other.input)

    def __hash__(self) -> int:
        return hash(self.name)


class Instruction:
    """One line of a program: result = op(*operands, **settings).

    op         an Op of the table; or a Foreign function, which has no derivative
    operands   the numbers of the values that it reads
    settings   as given to the op; a Ref in them stands for a value
    refs       the numbers of these values
    result     the number of the value that it makes
    stopped    no gradient passes (it was recorded under no_grad)
    history    for a value written in place under no_grad: the number of the value before the write,
               to which its gradient passes unchanged; else None
    over       the number of a captured value whose memory the result is written to, or None
    """

    __slots__ = ("history", "op", "operands", "over", "refs", "result", "settings", "stopped")

    def __init__(
        self,
        op: Any,
        operands: tuple[int, ...],
        settings: dict[str, Any],
        result: int,
        stopped: bool = False,
        over: int | None = None,
        history: int | None = None,
    ) -> None:
        self.op, self.operands, self.settings = op, operands, settings
        self.result, self.stopped, self.over, self.history = result, stopped, over, history
        self.refs = tuple(refs_in(settings)) if settings else ()

    def reads(self) -> list[int]:
        """The numbers of all values that it reads, including those in its settings."""
        return [*self.operands, *self.refs]

    def __repr__(self) -> str:
        return f"%{self.result} = {self.op.name}({described(self)})"


def refs_in(thing: Any) -> Iterator[int]:
    """The values that a setting refers to."""
    if isinstance(thing, Ref):
        yield thing.number
    elif isinstance(thing, dict):
        for part in thing.values():
            yield from refs_in(part)
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            yield from refs_in(part)


def resolved(thing: Any, value_of: Callable[[int], Any]) -> Any:
    """A setting with its Refs replaced by values."""
    if isinstance(thing, Ref):
        return value_of(thing.number)
    if isinstance(thing, dict):
        return {key: resolved(part, value_of) for key, part in thing.items()}
    if isinstance(thing, (tuple, list)):
        return type(thing)([resolved(part, value_of) for part in thing])
    return thing


# ---------------------------------------------------------------- the listing: %3 = matmul(%0, %1)


def described(line: Instruction) -> str:
    """The text between the parentheses of an instruction."""
    if isinstance(line.op, Foreign):
        parts = [told(a) for a in line.settings["args"]]
        return ", ".join(parts + [f"{k}={told(v)}" for k, v in line.settings["kwargs"].items()])
    parts = [f"%{i}" for i in line.operands]
    defaults = line.op.settings
    for name, value in line.settings.items():
        default = defaults.get(name)
        if value is not default and not (isinstance(value, (int, float, str)) and value == default):
            parts.append(f"{name}={told(value)}")
    return ", ".join(parts)


def told(setting: Any) -> str:
    """A setting as text."""
    if isinstance(setting, Ref):
        return f"%{setting.number}"
    if isinstance(setting, slice):
        return (
            ":".join(
                "" if p is None else str(p) for p in (setting.start, setting.stop, setting.step)
            ).removesuffix(":")
            or ":"
        )
    if isinstance(setting, np.ndarray):
        return f"array{setting.shape}" if setting.size > 6 else str(setting.tolist())
    if isinstance(setting, (tuple, list)):
        inner = ", ".join(map(told, setting))
        return (
            f"[{inner}]" if isinstance(setting, list) else f"({inner}{',' * (len(setting) == 1)})"
        )
    return "..." if setting is Ellipsis else str(setting)


def shape_and_type(value: Value) -> str:
    """The right column of a listing: (2, 3) float64"""
    return f"{value.shape} {value.dtype}"


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
