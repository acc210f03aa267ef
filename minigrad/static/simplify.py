"""Simplify: the same program, with less to do.

    repetitions     an instruction that another one before it equals is not run again
    constants       what depends on no input is computed now
    times one       x * 1 is x, and x in the shape that it has is x
    dead code       what no output needs is left out

The numbers that come out are the same, bit for bit. `thinned` goes one step further, for plans:
what NumPy repeats along an axis by itself is not spelled out.
"""

from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.instruction import Foreign, Instruction, Kernel, Ref, Value, resolved
from minigrad.static.program import Program

FOLDED = 1 << 16  # a constant of more bytes is not computed beforehand, but in each run


def simplified(program: Program) -> Program:
    """The program without dead code, repetitions, and what can be known beforehand."""
    examples = dict(program.examples)
    values = list(program.values)
    same: dict[int, int] = {}  # number -> the number of an earlier, equal value
    seen: dict[Any, int] = {}
    alive: list[Instruction] = []
    for i, a in examples.items():
        if values[i].kind == "constant":
            same[i] = seen.setdefault(told_apart(a), i)
    for line in program.instructions:
        operands = tuple([same.get(i, i) for i in line.operands])
        settings = resolved(line.settings, lambda i: Ref(same.get(i, i)))
        line = Instruction(line.op, operands, settings, line.result, line.stopped, line.over)
        if line.over is not None:
            alive.append(line)
            continue
        key = (line.op, operands, frozen(settings), line.stopped)
        if key in seen:
            same[line.result] = same.get(seen[key], seen[key])
            continue
        seen[key] = line.result
        x = unchanged(line, values, examples)
        if x is not None:
            same[line.result] = x
            continue
        if all(values[i].kind == "constant" for i in line.reads()) and not isinstance(
            line.op, (Foreign, Kernel)
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
        if line.over is not None or line.result in needed:
            used.append(line)
            needed.update(line.reads())
            if line.over is not None:
                needed.add(line.over)
    return renumbered(program, values, used[::-1], outputs, examples, needed)


def told_apart(a: Any) -> Any:
    """What tells a constant from others: its numbers if they are few, else the array itself."""
    return "constant", a.shape, str(a.dtype), a.tobytes() if a.nbytes <= 64 else id(a)


def unchanged(line: Instruction, values: list[Value], examples: dict[int, Any]) -> int | None:
    """The operand that the result equals in every entry, shape and type; or None."""
    z = values[line.result]
    if line.op is ops.mul:
        for x, y in (line.operands, line.operands[::-1]):
            if (
                values[y].kind == "constant"
                and values[x][1:3] == z[1:3]
                and (examples[y] == 1).all()
            ):
                return x
    elif line.op in (ops.reshape, ops.view, ops.expand, ops.to):
        (x,) = line.operands
        if values[x][1:3] == z[1:3]:
            return x
    return None


def thinned(program: Program) -> Program:
    """The program, with what NumPy does by itself left out.

    A repeated x is read as it is by an elementwise op whose other operand has the whole shape.
    """
    made = {line.result: line for line in program.instructions}
    lines: list[Instruction] = []
    values, examples = list(program.values), dict(program.examples)
    for line in program.instructions:
        operands = line.operands
        if line.op is ops.mse_loss and values[operands[0]].shape == values[operands[1]].shape:
            lines += written_out(line, values, examples)
            continue
        if line.op.kind == "elementwise" and isinstance(line.op.numpy, np.ufunc):
            operands = thin_operands(program, line, made)
        lines.append(
            Instruction(line.op, operands, line.settings, line.result, line.stopped, line.over)
        )
    p = program
    return simplified(
        Program(values, lines, p.inputs, p.outputs, p.single, examples, p.captured, p.frozen)
    )


def written_out(
    line: Instruction, values: list[Value], examples: dict[int, Any]
) -> list[Instruction]:
    """mse_loss as the operations it is made of: the gradient shares the first of them."""

    def value(kind: str, shape: tuple[int, ...]) -> int:
        values.append(Value(kind, shape, values[line.result].dtype))
        return len(values) - 1

    shape, dtype = values[line.operands[0]].shape, values[line.result].dtype
    size = int(np.prod(shape))
    apart, row, n = value("result", shape), value("result", (size,)), value("constant", ())
    examples[n] = np.array(size, dtype)
    mean = line.settings.get("mean", True)
    total = value("result", ()) if mean else line.result
    lines = [
        Instruction(ops.sub, line.operands, {}, apart),
        Instruction(ops.reshape, (apart,), {"shape": (size,)}, row),
        Instruction(ops.dot, (row, row), {}, total),
    ]
    return [*lines, Instruction(ops.div, (total, n), {}, line.result)] if mean else lines


def thin_operands(
    program: Program, line: Instruction, made: dict[int, Instruction]
) -> tuple[int, ...]:
    values, z = program.values, program.values[line.result]
    operands = list(line.operands)
    for k in range(len(operands)):
        while (source := made.get(operands[k])) is not None:
            if source.op is not ops.expand:
                break
            (x,) = source.operands
            trial = [*operands[:k], x, *operands[k + 1 :]]
            if np.broadcast_shapes(*[values[i].shape for i in trial]) != z.shape:
                break
            operands = trial
    return tuple(operands)


def renumbered(
    program: Program,
    values: list[Value],
    lines: list[Instruction],
    outputs: list[int],
    examples: dict[int, Any],
    needed: set[int],
) -> Program:
    """The program with its numbers in a row again: inputs, what is needed, instructions."""
    at_first = [*program.inputs, *(i for i in examples if i in needed and i not in program.inputs)]
    order = [*at_first, *(line.result for line in lines)]
    new = {old: k for k, old in enumerate(order)}
    renamed = [
        Instruction(
            line.op,
            tuple([new[i] for i in line.operands]),
            resolved(line.settings, lambda i: Ref(new[i])),
            new[line.result],
            line.stopped,
            None if line.over is None else new[line.over],
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
    """A setting as something that can be looked up; an array by its identity."""
    if isinstance(setting, dict):
        return tuple([(key, frozen(part)) for key, part in setting.items()])
    if isinstance(setting, (tuple, list)):
        return type(setting).__name__, tuple([frozen(part) for part in setting])
    if isinstance(setting, slice):
        return "slice", setting.start, setting.stop, setting.step
    if isinstance(setting, np.ndarray):
        return "array", id(setting)
    return type(setting).__name__, repr(setting) if isinstance(setting, float) else setting
