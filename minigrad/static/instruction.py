"""The parts of a program: values, and the instructions that make them.

    Value         what a number in the listing stands for: an input, a constant, a tensor that
                  the function used during recording, or the result of an instruction
    Instruction   an op, the numbers of its operands, settings, the number of its result
    Ref           a value inside a setting: an index that is itself computed or given

An instruction's op is an op of the table; or a NumPy function that has no row there (Foreign),
for example a random draw (Draw); or an op's rule, as a single instruction (Kernel).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
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
