"""Simplify: turns a program into the same program with less work.

    repetitions     an instruction that equals an earlier one is not run again
    constants       values that depend on no input are computed now
    times one       x * 1 is x, and x reshaped to its own shape is x
    dead code       instructions that no output needs are dropped

The results are the same, bit for bit. thin.py goes further, for plans.
"""

from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.instruction import Foreign, Instruction, Kernel, Ref, Value, resolved
from minigrad.static.program import Program

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
