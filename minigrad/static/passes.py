"""Passes: turn a program into an equivalent program with less work.

`simplified` gives the same results, bit for bit:

    repetitions     an instruction that equals an earlier one is not run again
    constants       values that depend on no input are computed now
    times one       x * 1 is x, and x reshaped to its own shape is x
    dead code       instructions that no output needs are dropped

`thinned` goes further, for plans. It removes work that NumPy does anyway, or that was already done:

    expanded      sigmoid and similar ops become the operations they consist of: so the backward
                  pass can reuse what the forward pass has computed (a tanh, a difference)
    repeated x    an elementwise op reads x without expanding it, if its other operand has the full shape
    one number    a constant array in which all entries are equal becomes that number
    signs         (-x) * c is x * -c;  x * -1 is -x;  -(-x) is x;  table[rows] += -y subtracts
    zeros         (a, 0) + (0, b), two rows of parts, is (a, b)

All of these give the same numbers to the last bit (a zero may have the other sign). The result
cannot be differentiated again, so this is done last.

Read ir.py first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.ir import Foreign, Instruction, Kernel, Program, Ref, Value, resolved

FOLDED = 1 << 16  # larger constants, in bytes, are not precomputed, but computed in each run


def simplified(program: Program) -> Program:
    """The program without dead code and repetitions, with constants precomputed."""
    examples = dict(program.examples)
    values = list(program.values)
    same: dict[int, int] = {}  # number -> the number of an earlier, equal value
    seen: dict[Any, int] = {}
    alive: list[Instruction] = []
    made: dict[int, Instruction] = {}
    for i, a in examples.items():
        if values[i].kind == "constant":
            same[i] = seen.setdefault(told_apart(a), i)
    for line in program.instructions:
        operands = tuple([same.get(i, i) for i in line.operands])
        settings = line.settings
        if line.refs:
            settings = resolved(settings, lambda i: Ref(same.get(i, i)))
        history = None if line.history is None else same.get(line.history, line.history)
        line = Instruction(
            line.op, operands, settings, line.result, line.stopped, line.over, history
        )
        if line.over is not None or has_effect(line):
            alive.append(line)
            continue
        key = (line.op, operands, frozen(settings), line.stopped, history)
        if key in seen:
            same[line.result] = same.get(seen[key], seen[key])
            continue
        seen[key] = line.result
        x = None if line.stopped else unchanged(line, values, examples, made)
        if x is not None:
            same[line.result] = x
            continue
        if not line.stopped:
            made[line.result] = line
        if (
            history is None
            and all(values[i].kind == "constant" for i in line.reads())
            and not isinstance(line.op, (Foreign, Kernel))
        ):
            known = resolved(settings, examples.__getitem__)
            with np.errstate(all="ignore"):
                z = np.asarray(line.op.forward(*[examples[i] for i in operands], **known))
            if z.nbytes <= FOLDED:
                examples[line.result] = np.array(z, order="K")
                values[line.result] = Value("constant", z.shape, z.dtype)
                same[line.result] = seen.setdefault(told_apart(examples[line.result]), line.result)
                continue
        alive.append(line)
    outputs = [same.get(i, i) for i in program.outputs]
    needed = set(outputs)
    used = []
    for line in reversed(alive):
        if line.over is not None or has_effect(line) or line.result in needed:
            used.append(line)
            needed.update(line.reads())
            needed.update(i for i in (line.over, line.history) if i is not None)
    return renumbered(program, values, used[::-1], outputs, examples, needed)


def has_effect(line: Instruction) -> bool:
    """Does it have side effects, such as drawing random numbers? Then it is not dropped or merged."""
    return bool(getattr(line.op, "effect", False))


def told_apart(a: Any) -> Any:
    """A key that identifies a constant: its numbers if there are few, else the array itself."""
    return "constant", a.shape, str(a.dtype), a.tobytes() if a.nbytes <= 64 else id(a)


TURNS = {ops.t, ops.permute, ops.transpose}


def turned_axes(line: Instruction, n: int) -> list[int]:
    """For each axis of the result, the axis of the operand that it comes from."""
    axes = list(range(n))
    if line.op is ops.permute:
        return [a % n for a in line.settings["axes"]]
    if line.op is ops.t or not n:
        return axes[::-1]
    i, j = line.settings["axis0"], line.settings["axis1"]
    axes[i], axes[j] = axes[j], axes[i]
    return axes


def _inverse(axes: list[int]) -> list[int]:
    """The order of axes that undoes this one: [2, 0, 1] for [1, 2, 0]."""
    return [axes.index(k) for k in range(len(axes))]


def unchanged(
    line: Instruction,
    values: list[Value],
    examples: dict[int, Any],
    made: dict[int, Instruction] | None = None,
) -> int | None:
    """The value that the result equals in every entry, shape and dtype; or None."""
    z = values[line.result]
    if line.op is ops.mul:
        for x, y in (line.operands, line.operands[::-1]):
            if (
                values[y].kind == "constant"
                and values[x][1:3] == z[1:3]
                and (examples[y] == 1).all()
            ):
                return x
    elif line.op in TURNS and made is not None:
        (x,) = line.operands
        before = made.get(x)
        if before is not None and before.op in TURNS:
            (source,) = before.operands
            if turned_axes(before, len(z.shape)) == _inverse(turned_axes(line, len(z.shape))):
                return source
    elif line.op in (ops.reshape, ops.view, ops.unsafe_view, ops.expand, ops.to):
        (x,) = line.operands
        if values[x][1:3] == z[1:3]:
            return x
    return None


def renumbered(
    program: Program,
    values: list[Value],
    lines: list[Instruction],
    outputs: list[int],
    examples: dict[int, Any],
    needed: set[int],
) -> Program:
    """The program renumbered without gaps: inputs, needed constants, instructions."""
    at_first = [*program.inputs, *(i for i in examples if i in needed and i not in program.inputs)]
    order = [*at_first, *(line.result for line in lines)]
    new = {old: k for k, old in enumerate(order)}
    renamed = [
        Instruction(
            line.op,
            tuple([new[i] for i in line.operands]),
            resolved(line.settings, lambda i: Ref(new[i])) if line.refs else line.settings,
            new[line.result],
            line.stopped,
            None if line.over is None else new[line.over],
            None if line.history is None else new[line.history],
        )
        for line in lines
    ]
    return Program(
        [values[i] for i in order],
        renamed,
        [new[i] for i in program.inputs],
        [new[i] for i in outputs],
        program.single,
        {new[i]: examples[i] for i in at_first},
        {new[i]: t for i, t in program.captured.items() if i in new},
        program.frozen,
    )


def frozen(setting: Any) -> Any:
    """A setting in hashable form; an array by its identity."""
    if isinstance(setting, dict):
        return tuple([(key, frozen(part)) for key, part in setting.items()])
    if isinstance(setting, (tuple, list)):
        return type(setting).__name__, tuple([frozen(part) for part in setting])
    if isinstance(setting, slice):
        return "slice", setting.start, setting.stop, setting.step
    if isinstance(setting, np.ndarray):
        return "array", id(setting)
    return type(setting).__name__, repr(setting) if isinstance(setting, float) else setting


def thinned(program: Program) -> Program:
    """The program with less work, for a plan."""
    text = Text(program)
    for line in program.instructions:
        text.add(line)
    first = simplified(text.program())
    text = Text(first)
    for line in first.instructions:
        text.tidy(line)
    return simplified(text.program())


class Text:
    """A program that is being rewritten, line by line.

    made   number -> the line that makes it
    """

    def __init__(self, program: Program) -> None:
        self.before = program
        self.values, self.examples = list(program.values), dict(program.examples)
        self.lines: list[Instruction] = []
        self.made: dict[int, Instruction] = {}

    def program(self) -> Program:
        """The lines so far as a Program, with the inputs and outputs of the one before."""
        p = self.before
        return Program(
            self.values, self.lines, p.inputs, p.outputs, p.single, self.examples, p.captured, p.frozen
        )  # fmt: skip

    def put(self, line: Instruction, op: Any = None, operands: Any = None, settings: Any = None) -> None:  # fmt: skip
        """Add this line with another op, other operands or settings."""
        new = Instruction(
            op or line.op, operands or line.operands, line.settings if settings is None else settings,
            line.result, line.stopped, line.over,
        )  # fmt: skip
        self.lines.append(new)
        self.made[new.result] = new

    def new(self, op: Any, *operands: int, shape: Any = None, **settings: Any) -> int:
        """Add a new line; returns the number of its result, by default shaped like the first operand."""
        x = self.values[operands[0]]
        self.values.append(Value("result", x.shape if shape is None else shape, x.dtype))
        i = len(self.values) - 1
        self.put(Instruction(op, operands, settings, i))
        return i

    def number(self, number: float, dtype: Any) -> int:
        """Add a 0-d constant; returns the number of the value."""
        self.values.append(Value("constant", (), dtype))
        self.examples[len(self.values) - 1] = np.array(number, dtype)
        return len(self.values) - 1

    # ------------------------------------------------------------------ expanding ops

    def add(self, line: Instruction) -> None:
        """Add a line in the first pass: expanded into simpler ops, or with thinner operands."""
        write = WRITTEN_OUT.get(line.op)
        z = self.values[line.result]
        wide = z.shape or line.op is ops.mse_loss
        if write is not None and wide and z.dtype.kind == "f" and line.over is None:
            last = write(self, line)
            if last is not None:
                op, operands = last
                self.put(line, op, operands, {})
                return
        operands = line.operands
        if line.op.kind == "elementwise" and isinstance(line.op.numpy, np.ufunc):
            operands = self.thin_operands(line)
        self.put(line, operands=operands)

    def thin_operands(self, line: Instruction) -> tuple[int, ...]:
        """The operands of an elementwise op, as small as NumPy's broadcasting allows."""
        shape = self.values[line.result].shape
        operands = list(line.operands)
        for k in range(len(operands)):
            while (source := self.made.get(operands[k])) is not None and source.op is ops.expand:
                if not self.suffices(operands, k, source.operands[0], shape):
                    break
                operands[k] = source.operands[0]
            a = self.examples.get(operands[k])
            if a is None or self.values[operands[k]].kind != "constant" or a.ndim == 0 or a.size > 1 << 16:  # fmt: skip
                continue
            if a.size and (a == a.flat[0]).all() and a.flat[0] != 0:
                n = self.number(a.flat[0], a.dtype)
                if self.suffices(operands, k, n, shape):
                    operands[k] = n
        return tuple(operands)

    def suffices(self, operands: list[int], k: int, x: int, shape: Any) -> bool:
        """Does the result keep its shape, with x as the k-th operand?"""
        trial = [*operands[:k], x, *operands[k + 1 :]]
        return bool(np.broadcast_shapes(*[self.values[i].shape for i in trial]) == shape)

    # ------------------------------------------------------------------ signs and zeros

    def tidy(self, line: Instruction) -> None:
        """Add a line in the second pass, without needless signs and zeros: see the module's top."""
        if line.over is not None or not self.values[line.result].shape:
            self.tidy_over(line)
            return
        if line.op is ops.mul and line.settings == {}:
            for x, c in (line.operands, line.operands[::-1]):
                a, source = self.known(c), self.made.get(x)
                if a is not None and a == -1 and self.values[x].shape == self.values[line.result].shape:  # fmt: skip
                    self.put(line, ops.neg, (x,))
                    return
                if source is not None and source.op is ops.neg and source.over is None:
                    (y,) = source.operands
                    if a is not None:
                        self.put(line, ops.mul, (y, self.number(-a, self.values[c].dtype)))
                        return
                    product = self.new(ops.mul, y, c, shape=self.values[line.result].shape)
                    self.put(line, ops.neg, (product,))
                    return
        if line.op is ops.neg:
            source = self.made.get(line.operands[0])
            if source is not None and source.op is ops.neg and source.over is None:
                self.put(line, ops.clone, source.operands)
                return
        if line.op is ops.add:
            parts = self.joined(*[self.made.get(i) for i in line.operands])
            if parts is not None:
                first = self.made[line.operands[0]]
                self.put(line, ops.cat, parts, first.settings)
                return
        self.put(line)

    def tidy_over(self, line: Instruction) -> None:
        """table[rows] += -y subtracts y."""
        if line.op is ops.index_put and adds_rows(line, self.values):
            source = self.made.get(line.operands[1])
            if source is not None and source.op is ops.neg and source.over is None:
                self.put(line, LESS, (line.operands[0], source.operands[0]))
                return
        self.put(line)

    def known(self, i: int) -> Any:
        """The value of a 0-d constant; else None."""
        a = self.examples.get(i)
        if a is None or self.values[i].kind != "constant" or a.ndim or a.dtype.kind != "f":
            return None
        return a[()]

    def joined(self, x: Any, y: Any) -> Any:
        """For two rows with the same parts, where one of each pair of parts is zero: the nonzero parts."""
        if x is None or y is None or x.op is not ops.cat or y.op is not ops.cat:
            return None
        if x.settings != y.settings or len(x.operands) != len(y.operands) or x.over or y.over:
            return None
        parts = []
        for a, b in zip(x.operands, y.operands, strict=True):
            if self.values[a].shape != self.values[b].shape:
                return None
            if not (self.is_zero(a) or self.is_zero(b)):
                return None
            parts.append(b if self.is_zero(a) else a)
        return tuple(parts)

    def is_zero(self, i: int) -> bool:
        """Is it a product with the constant 0? Such zeros fill the other parts of a row."""
        line = self.made.get(i)
        if line is None or line.op is not ops.mul or line.over is not None:
            return False
        return any(self.known(k) == 0 for k in line.operands if self.known(k) is not None)


# ------------------------------------------------------------------ the parts of ops

Last = tuple[Any, tuple[int, ...]]


def mse(text: Text, line: Instruction) -> Last | None:
    """The sum of the squares of x - y; the gradient shares the difference."""
    x, y = line.operands
    shape = text.values[x].shape
    if shape != text.values[y].shape or not shape:
        return None
    size = int(np.prod(shape))
    row = text.new(ops.reshape, text.new(ops.sub, x, y), shape=(size,))
    text.lines[-1].settings["shape"] = (size,)
    if not line.settings.get("mean", True):
        return ops.dot, (row, row)
    total = text.new(ops.dot, row, row, shape=())
    return ops.div, (total, text.number(size, text.values[x].dtype))


def sigmoid(text: Text, line: Instruction) -> Last:
    """(1 + tanh(x / 2)) / 2"""
    (x,) = line.operands
    half = text.number(0.5, text.values[x].dtype)
    t = text.new(ops.tanh, text.new(ops.mul, x, half))
    return ops.add, (text.new(ops.mul, t, half), half)


def logsigmoid(text: Text, line: Instruction) -> Last:
    """min(x, 0) - log(1 + exp(-abs(x)))"""
    (x,) = line.operands
    small = text.new(ops.exp, text.new(ops.neg, text.new(ops.abs, x)))
    least = text.new(ops.minimum, x, text.number(0, text.values[x].dtype))
    return ops.sub, (least, text.new(ops.log1p, small))


def quarter(text: Text, x: int, k: int) -> int:
    """i, f, g or o of the gates of an LSTM."""
    shape = text.values[x].shape
    n = shape[-1] // 4
    index = (Ellipsis, slice(k * n, (k + 1) * n, None))
    return text.new(ops.getitem, x, index=index, shape=(*shape[:-1], n))


def lstm_cell(text: Text, line: Instruction) -> Last:
    """f * c + i * g"""
    x, y = line.operands
    kept = text.new(ops.mul, quarter(text, x, 1), y)
    return ops.add, (kept, text.new(ops.mul, quarter(text, x, 0), quarter(text, x, 2)))


def lstm_hidden(text: Text, line: Instruction) -> Last:
    """o * tanh(c)"""
    x, y = line.operands
    return ops.mul, (quarter(text, x, 3), text.new(ops.tanh, y))


WRITTEN_OUT: dict[Any, Callable[[Text, Instruction], Last | None]] = {
    ops.mse_loss: mse, ops.sigmoid: sigmoid, ops.logsigmoid: logsigmoid,
    ops.lstm_cell: lstm_cell, ops.lstm_hidden: lstm_hidden,
}  # fmt: skip


def adds_rows(line: Instruction, values: Any) -> bool:
    """Is it table[rows] += values, where rows is a value of the program?"""
    index = line.settings["index"]
    if not line.settings.get("accumulate") or len(index) != 1 or not isinstance(index[0], Ref):
        return False
    x, y = (values[i].shape for i in line.operands)
    at = values[index[0].number]
    return bool(at.dtype.kind in "iu" and (*at.shape, *x[1:]) == y)


class Less:
    """index_put with accumulate, but subtracting."""

    takes_out = inplace = view = variadic = False
    kind = "general"
    rules: dict[str, Any] = {}
    settings = ops.index_put.settings
    operands = ops.index_put.operands
    numpy = None
    name = "index_put_less"
    formula = "z = x, less y at the index"

    def forward(self, x: Any, y: Any, **settings: Any) -> Any:
        """A copy of x with y subtracted at the index; the settings are those of index_put."""
        return ops.index_put.forward(x, -y, **settings)


LESS = Less()
