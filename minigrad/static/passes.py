"""Passes: turn a program into an equivalent program with less work.

`simplified` gives the same results, bit for bit:

    repetitions     an instruction that repeats an earlier one is dropped
    constants       values that depend on no input are computed now
    times one       x * 1 is x, and x reshaped to its own shape is x
    dead code       instructions that no output needs are dropped

`lowered` goes further, for plans. It expands ops into simpler ones, and removes work that NumPy
does anyway or that was already done:

    expanded      sigmoid and similar ops are split into their parts, so that the backward pass can
                  reuse what the forward pass has computed (a tanh, a difference)
    broadcast     an elementwise op reads x before its expand, if another operand has the full shape
    one number    a constant array in which all entries are equal becomes that number
    signs         (-x) * c is x * -c;  x * -1 is -x;  -(-x) is x;  table[rows] += -y subtracts

All of these give the same numbers to the last bit (a zero may have the other sign). The result
cannot be differentiated again, so this is done last.

Read ir.py first.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.shapes import Array, Shape
from minigrad.static.ir import AnyOp, Instruction, Program, Ref, SpecialOp, Value, refs_in

FOLDED = 1 << 16  # larger constants, in bytes, are not precomputed, but computed in each run


class Rewriter:
    """A program that is being rewritten, line by line.

    made      number -> the line that makes it
    written   values in memory that the program overwrites
    """

    def __init__(self, program: Program) -> None:
        self.before = program
        self.values, self.examples = list(program.values), dict(program.examples)
        self.lines: list[Instruction] = []
        self.made: dict[int, Instruction] = {}
        self.written: set[int] = set()
        for line in program.instructions:
            if line.kept:
                self.written |= {line.result, *refs_in(line.settings)}
                self.written |= set() if line.over is None else {line.over}
        for line in program.instructions:
            if line.op.view and line.operands[0] in self.written:
                self.written.add(line.result)

    def program(self) -> Program:
        """The lines so far as a Program, with the inputs and outputs of the original."""
        return replace(
            self.before, values=self.values, instructions=self.lines, examples=self.examples
        )

    def constant(self, i: int) -> Array | None:
        """The array of a constant; None for any other value."""
        return self.examples[i] if self.values[i].kind == "constant" else None

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of a value."""
        return self.values[i].shape


# ------------------------------------------------------------------ the same results, bit for bit


def simplified(program: Program) -> Program:
    """The program without dead code and repetitions, with constants precomputed."""
    text = Rewriter(program)
    same: dict[int, int] = {}  # number -> the number of an earlier, equal value
    seen: dict[Any, int] = {}
    for i in text.examples:
        a = text.constant(i)
        if a is not None:
            same[i] = seen.setdefault(_key_of(a), i)
    for line in program.instructions:
        line = line.renumbered(lambda i: same.get(i, i))
        if line.kept:
            text.lines.append(line)
            continue
        key = (line.op, line.operands, frozen(line.settings), line.stopped, line.history)
        equal = seen.get(key)
        if equal is None:
            seen[key] = line.result
            equal = _unchanged(text, line)
        if equal is None and not line.stopped:
            text.made[line.result] = line
        if equal is None and _fold(text, line):
            equal = seen.setdefault(_key_of(text.examples[line.result]), line.result)
        if equal is None:
            text.lines.append(line)
        else:
            same[line.result] = same.get(equal, equal)
    return _without_dead_code(text, [same.get(i, i) for i in program.outputs])


def _key_of(a: Array) -> tuple[Any, ...]:
    """A key that identifies a constant: its content if it is small, otherwise its identity."""
    return "constant", a.shape, str(a.dtype), a.tobytes() if a.nbytes <= 64 else id(a)


def _fold(text: Rewriter, line: Instruction) -> bool:
    """Replace a line by its result, a constant, if possible; returns whether it was."""
    if line.history is not None or isinstance(line.op, SpecialOp):
        return False
    if any(text.values[i].kind != "constant" for i in line.reads()):
        return False
    known = dict(text.examples)
    with np.errstate(all="ignore"):
        line.run(known, lambda op, operands, settings: op.forward(*operands, **settings))
    z = np.asarray(known[line.result])
    if z.nbytes > FOLDED:
        return False
    text.examples[line.result] = np.array(z, order="K")
    text.values[line.result] = Value("constant", z.shape, z.dtype)
    return True


def _unchanged(text: Rewriter, line: Instruction) -> int | None:
    """An earlier value that is identical to the result, including shape and dtype; or None."""
    if line.stopped:
        return None
    z = text.values[line.result]
    if line.op is ops.mul:
        for x, y in (line.operands, line.operands[::-1]):
            a = text.constant(y)
            alike = text.values[x][1:3] == z[1:3] and x not in text.written
            if a is not None and alike and (a == 1).all():
                return x
    elif line.op in TRANSPOSES:
        before = text.made.get(line.operands[0])
        if before is not None and before.op in TRANSPOSES:
            axes = _permuted_axes(line, len(z.shape))
            if _permuted_axes(before, len(z.shape)) == [axes.index(k) for k in range(len(axes))]:
                return before.operands[0]
    elif line.op in (ops.reshape, ops.view, ops.unsafe_view, ops.expand, ops.to):
        (x,) = line.operands
        if text.values[x][1:3] == z[1:3]:
            return x
    return None


TRANSPOSES = {ops.t, ops.permute, ops.transpose}


def _permuted_axes(line: Instruction, n: int) -> list[int]:
    """For each axis of the result, the axis of the operand that it comes from."""
    axes = list(range(n))
    if line.op is ops.permute:
        return [a % n for a in line.settings["dims"]]
    if line.op is ops.t or not n:
        return axes[::-1]
    i, j = line.settings["dim0"], line.settings["dim1"]
    axes[i], axes[j] = axes[j], axes[i]
    return axes


def _without_dead_code(text: Rewriter, outputs: list[int]) -> Program:
    """The program without unneeded constants and instructions, renumbered without gaps."""
    needed = set(outputs)
    lines = []
    for line in reversed(text.lines):
        if line.kept or line.result in needed:
            lines.append(line)
            needed.update(line.reads())
            needed.update(i for i in (line.over, line.history) if i is not None)
    before, examples = text.before, text.examples
    at_first = [*before.inputs, *(i for i in examples if i in needed and i not in before.inputs)]
    order = [*at_first, *(line.result for line in reversed(lines))]
    new = {old: k for k, old in enumerate(order)}
    return replace(
        before,
        values=[text.values[i] for i in order],
        instructions=[line.renumbered(new.__getitem__) for line in reversed(lines)],
        inputs=[new[i] for i in before.inputs],
        outputs=[new[i] for i in outputs],
        examples={new[i]: examples[i] for i in at_first},
        captured={new[i]: t for i, t in before.captured.items() if i in new},
    )


def frozen(setting: object) -> Any:
    """A setting in hashable form; arrays are compared by identity."""
    if isinstance(setting, dict):
        return tuple([(key, frozen(part)) for key, part in setting.items()])
    if isinstance(setting, (tuple, list)):
        return type(setting).__name__, tuple([frozen(part) for part in setting])
    if isinstance(setting, slice):
        return "slice", setting.start, setting.stop, setting.step
    if isinstance(setting, np.ndarray):
        return "array", id(setting)
    return type(setting).__name__, repr(setting) if isinstance(setting, float) else setting


# ------------------------------------------------------------------ lowering, for a plan


def lowered(program: Program) -> Program:
    """The program, rewritten to do less work in a plan; see the top of this module."""
    for write in (Lowering.expand, Lowering.tidy):
        text = Lowering(program)
        for line in program.instructions:
            write(text, line)
        program = simplified(text.program())
    return program


class Lowering(Rewriter):
    """A program that is being rewritten for a plan."""

    def put(self, line: Instruction, **changes: Any) -> None:
        """Add this line, with the given changes to its op, operands or settings."""
        new = replace(line, history=None, **changes)
        self.lines.append(new)
        self.made[new.result] = new

    def new(self, op: AnyOp, *operands: int, shape: Shape | None = None, **settings: Any) -> int:
        """Add a new line and return the number of its result, by default shaped like the first operand."""
        x = self.values[operands[0]]
        self.values.append(Value("result", x.shape if shape is None else shape, x.dtype))
        i = len(self.values) - 1
        self.put(Instruction(op, operands, settings, i))
        return i

    def number(self, number: float, like: int) -> int:
        """Add a 0-d constant of the dtype of another value; returns its number."""
        a = np.array(number, self.values[like].dtype)
        self.values.append(Value("constant", (), a.dtype))
        self.examples[len(self.values) - 1] = a
        return len(self.values) - 1

    # ------------------------------------------------------------------ expanding ops

    def expand(self, line: Instruction) -> None:
        """First pass: add a line, expanded into simpler ops or with smaller operands."""
        write = EXPANSIONS.get(line.op)
        z = self.values[line.result]
        wide = z.shape or line.op is ops.mse_loss
        if write is not None and wide and z.dtype.kind == "f" and line.over is None:
            last = write(self, line)
            if last is not None:
                op, operands = last
                self.put(line, op=op, operands=operands, settings={})
                return
        if line.op.kind == "elementwise" and isinstance(line.op.numpy, np.ufunc):
            self.put(line, operands=self.smaller_operands(line))
        else:
            self.put(line)

    def smaller_operands(self, line: Instruction) -> tuple[int, ...]:
        """The operands of an elementwise op, without expand where NumPy broadcasts anyway."""
        operands = list(line.operands)

        def suffices(k: int, x: int) -> bool:
            """Does the result keep its shape, with x as the k-th operand?"""
            shapes = [self.shape(i) for i in (*operands[:k], x, *operands[k + 1 :])]
            return np.broadcast_shapes(*shapes) == self.shape(line.result)

        for k in range(len(operands)):
            while (source := self.made.get(operands[k])) is not None and source.op is ops.expand:
                if not suffices(k, source.operands[0]):
                    break
                operands[k] = source.operands[0]
            a = self.constant(operands[k])
            if a is None or a.ndim == 0 or not 0 < a.size <= 1 << 16:
                continue
            if (a == a.flat[0]).all() and a.flat[0] != 0:
                number = self.number(a.flat[0], operands[k])
                if suffices(k, number):
                    operands[k] = number
        return tuple(operands)

    # ------------------------------------------------------------------ signs

    def tidy(self, line: Instruction) -> None:
        """Second pass: add a line, without needless sign changes; see the top of this module."""
        if line.over is not None or not self.shape(line.result):
            y = self.negated(line.operands[1]) if line.op is ops.index_put else None
            if y is not None and adds_rows(line, self.values):  # table[rows] += -y subtracts y
                self.put(line, op=LESS, operands=(line.operands[0], y))
                return
        elif line.op is ops.mul and line.settings == {}:
            op, operands = self.tidy_product(line)
            self.put(line, op=op, operands=operands)
            return
        elif line.op is ops.neg:
            y = self.negated(line.operands[0])
            if y is not None:
                self.put(line, op=ops.clone, operands=(y,))
                return
        self.put(line)

    def tidy_product(self, line: Instruction) -> tuple[AnyOp, tuple[int, ...]]:
        """x * -1 is -x;  (-y) * c is y * -c for a constant c, and otherwise -(y * c)."""
        for x, c in (line.operands, line.operands[::-1]):
            number, y = self.known(c), self.negated(x)
            if number == -1 and self.shape(x) == self.shape(line.result):
                return ops.neg, (x,)
            if y is not None and number is not None:
                return ops.mul, (y, self.number(-number, c))
            if y is not None:
                return ops.neg, (self.new(ops.mul, y, c, shape=self.shape(line.result)),)
        return line.op, line.operands

    def negated(self, i: int) -> int | None:
        """y if the value is -y; else None."""
        line = self.made.get(i)
        if line is None or line.op is not ops.neg or line.over is not None:
            return None
        return line.operands[0]

    def known(self, i: int) -> float | None:
        """The number in a 0-d constant; None for any other value."""
        a = self.constant(i)
        return None if a is None or a.ndim or a.dtype.kind != "f" else float(a[()])


# ------------------------------------------------------------------ expansions of ops

Last = tuple[AnyOp, tuple[int, ...]]


def _mse(text: Lowering, line: Instruction) -> Last | None:
    """Sum of the squares of d = x - y. The gradient reuses d."""
    x, y = line.operands
    shape = text.shape(x)
    if shape != text.shape(y) or not shape:
        return None
    if line.settings.get("reduction") == "none":
        return ops.square, (text.new(ops.sub, x, y),)
    size = int(np.prod(shape))
    row = text.new(ops.reshape, text.new(ops.sub, x, y), shape=(size,))
    text.lines[-1].settings["shape"] = (size,)
    if line.settings.get("reduction") == "sum":
        return ops.dot, (row, row)
    total = text.new(ops.dot, row, row, shape=())
    return ops.div, (total, text.number(size, x))


def _sigmoid(text: Lowering, line: Instruction) -> Last | None:
    """1 / (1 + exp(-x)), but for half precision, which is computed in single"""
    (x,) = line.operands
    if text.values[x].dtype.itemsize == 2:
        return None
    one = text.number(1, x)
    return ops.div, (one, text.new(ops.add, text.new(ops.exp, text.new(ops.neg, x)), one))


def _logsigmoid(text: Lowering, line: Instruction) -> Last:
    """min(x, 0) - log(1 + exp(-abs(x)))"""
    (x,) = line.operands
    small = text.new(ops.exp, text.new(ops.neg, text.new(ops.abs, x)))
    least = text.new(ops.minimum, x, text.number(0, x))
    return ops.sub, (least, text.new(ops.log1p, small))


def _quarter(text: Lowering, x: int, k: int) -> int:
    """One of an LSTM's four gates: i, f, g or o."""
    shape = text.shape(x)
    n = shape[-1] // 4
    index = (Ellipsis, slice(k * n, (k + 1) * n, None))
    return text.new(ops.getitem, x, index=index, shape=(*shape[:-1], n))


def _lstm_cell(text: Lowering, line: Instruction) -> Last:
    """f * c + i * g"""
    x, y = line.operands
    kept = text.new(ops.mul, _quarter(text, x, 1), y)
    return ops.add, (kept, text.new(ops.mul, _quarter(text, x, 0), _quarter(text, x, 2)))


def _lstm_hidden(text: Lowering, line: Instruction) -> Last:
    """o * tanh(c)"""
    x, y = line.operands
    return ops.mul, (_quarter(text, x, 3), text.new(ops.tanh, y))


EXPANSIONS: dict[Any, Callable[[Lowering, Instruction], Last | None]] = {
    ops.mse_loss: _mse, ops.sigmoid: _sigmoid, ops.logsigmoid: _logsigmoid,
    ops.lstm_cell: _lstm_cell, ops.lstm_hidden: _lstm_hidden,
}  # fmt: skip


def adds_rows(line: Instruction, values: list[Value]) -> bool:
    """Is this table[rows] += values, where rows is a value of the program?"""
    index = line.settings["index"]
    if not line.settings.get("accumulate") or len(index) != 1 or not isinstance(index[0], Ref):
        return False
    x, y = (values[i].shape for i in line.operands)
    at = values[index[0].number]
    return at.dtype.kind in "iu" and (*at.shape, *x[1:]) == y


class Less(SpecialOp):
    """index_put with accumulate, but subtracting."""

    kind = "general"
    settings = ops.index_put.settings
    operands = ops.index_put.operands
    name = "index_put_less"
    formula = "z = x, with y subtracted at the index"

    def forward(self, x: Array, y: Array, **settings: Any) -> Array:
        """A copy of x with y subtracted at the index. Takes the settings of index_put."""
        return ops.index_put.forward(x, -y, **settings)


LESS = Less()
