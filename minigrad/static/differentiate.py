"""Differentiate: turns a program into the program of its gradient.

We go through the instructions once, from last to first, and call the rules of each op. These are
the same formulas that an eager backward pass uses, but here they are called on Slots. So they do
not compute: they write more instructions. These form the gradient program (or dual graph), a
program like any other: it can be printed, run many times, and differentiated again.

    reach   find the values that depend on the requested ones: only these are visited
    seed    the gradient of each output: 1, or an input of the new program
    pull    for each instruction, last to first: call its rules, add up the contributions

Every instruction that reads a result comes later in the list than the instruction that makes
it. So when we reach an instruction, its gradient is complete: it is added up before it is passed
on, and each instruction is visited once, however many paths lead to it.

An Origin records why an instruction of a gradient program exists:

    copy    a copy of an instruction of the original program, whose value the gradient needs
    rule    written by the rule of an instruction
    sum     adds up the gradients that several instructions send to one value

The recorder stores them. Simplifying removes and renumbers instructions, but keeps the Value object
of each remaining one, so `differentiated` can look up origins by these objects.

Read ir.py and tracing.py first.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.modes import enable_grad
from minigrad.core.op import Op
from minigrad.core.plan import value_of
from minigrad.core.shapes import sum_to
from minigrad.static.ir import (
    Instruction,
    Program,
    ProgramError,
    Ref,
    RuleOp,
    Wrt,
    resolved,
)
from minigrad.static.slots import Slot
from minigrad.static.tracing import Origin, ProgramRecorder


def differentiated(
    program: Program, wrt: Wrt = None, *, seeded: bool = False
) -> tuple[Program, dict[int, Origin]]:
    """program.gradient(wrt, seeded=seeded), and number -> Origin of its values.

    >>> import minigrad
    >>> from minigrad import static
    >>> p = static.record(lambda x: x.sin() * x)(minigrad.tensor(1.0))
    >>> g, origins = differentiated(p)
    >>> for line in g.instructions:
    ...     print(line, *origins[line.result])
    %1 = sin(%0) copy 1
    %2 = cos(%0) rule 1
    %3 = mul(%0, %2) rule 1
    %4 = add(%1, %3) sum 0
    """
    wanted, single = chosen(program, wrt)
    recorder = ProgramRecorder()
    recorder.frozen = list(program.frozen)
    with enable_grad():
        named = [(program.examples[i], program.values[i].name) for i in program.inputs]
        numbers = insert(recorder, program, [recorder.input(a, name) for a, name in named])
        seeds = _seeds_of(recorder, [numbers[i] for i in program.outputs], seeded)
        grads = pull(recorder, seeds, [numbers[i] for i in wanted])
    results = []
    for i in wanted:  # zeros for a gradient that did not arrive
        g, v = grads.get(numbers[i]), program.values[i]
        results.append(recorder.constant(np.zeros(v.shape, v.dtype)) if g is None else g.index)
    whole = recorder.program(results, single)
    result, seed, added = whole.simplified(), Origin("seed", None), Origin("constant", None)
    known = {id(v): recorder.origins.get(i, seed) for i, v in enumerate(whole.values)}
    return result, {i: known.get(id(v), added) for i, v in enumerate(result.values)}


def chosen(program: Program, wrt: Wrt) -> tuple[list[int], bool]:
    """The numbers of the requested values, and whether a single one was requested."""
    if wrt is None:
        wrt = [k for k, i in enumerate(program.inputs) if program.values[i].dtype.kind in "fc"]
    wanted: Sequence[Any] = [wrt] if isinstance(wrt, (int, str)) else list(wrt)
    found = []
    for k in wanted:
        if isinstance(k, str):
            if k not in program.names:
                raise ProgramError(
                    f"the program has no input {k!r}; its inputs are {', '.join(program.names)}."
                )
            k = program.names.index(k)
        elif hasattr(k, "array"):  # a captured tensor itself
            match = [i for i, t in program.captured.items() if t is k]
            if not match:
                raise ProgramError("the program does not use this tensor.")
            found.append(match[0])
            continue
        if not -len(program.inputs) <= k < len(program.inputs):
            raise ProgramError(
                f"the program has no input {k}; it has {len(program.inputs)}, counted from 0."
            )
        found.append(program.inputs[k])
    for i in found:
        if program.values[i].dtype.kind not in "fc":
            raise ProgramError(
                f"{program.values[i].name} is of {program.values[i].dtype}; only floating point values have a gradient."
            )
    return found, len(found) == 1


def insert(recorder: ProgramRecorder, program: Program, inputs: Sequence[Any]) -> dict[int, int]:
    """Write a program into another one, for these inputs; returns old number -> new number.

    RuleOps are expanded into their instructions, so that they can be differentiated.
    """
    numbers = {i: x.index for i, x in zip(program.inputs, inputs, strict=True)}
    for i, a in program.examples.items():
        if i in program.captured:
            numbers[i] = recorder.capture(program.captured[i], program.values[i].name)
        elif i not in numbers:
            numbers[i] = recorder.constant(a)
    for line in program.instructions:
        recorder.origin = Origin("copy", line.result)
        operands = tuple([numbers[i] for i in line.operands])
        settings = line.settings
        if line.refs:
            settings = resolved(settings, lambda i: Ref(numbers[i]))
        if isinstance(line.op, RuleOp):
            slots = [Slot(recorder, i) for i in operands]
            with enable_grad():
                d = line.op.forward(*slots, **recorder.slots_in(settings))
            numbers[line.result] = recorder.number(d)
            continue
        numbers[line.result] = recorder.emit(line.op, operands, settings)
        written = recorder.instructions[-1]
        if line.stopped and not written.stopped:
            history = None if line.history is None else numbers[line.history]
            recorder.settle(written.result, history=history)
        written.over = None if line.over is None else numbers[line.over]
    recorder.origins |= {new: Origin("copy", old) for old, new in numbers.items()}
    recorder.origin = Origin("seed", None)
    return numbers


def pull(recorder: ProgramRecorder, seeds: dict[int, Any], wanted: Iterable[int]) -> dict[int, Any]:
    """Go through the instructions backward; number -> gradient, for the wanted values.

    seeds   number of an output -> its gradient, a Slot
    """
    kept = set(wanted)
    reach = _dependents(recorder, kept)
    grads: dict[int, Any] = dict(seeds)

    def set_origin(role: str, i: int) -> None:
        origin = recorder.origins.get(i)
        recorder.origin = Origin(role, None if origin is None else origin.of)

    def add(i: int, g: Slot | SlotRows) -> None:
        set_origin("sum", i)
        grads[i] = add_gradients(grads[i], g) if i in grads else g

    for line in recorder.instructions[::-1]:  # a copy, because the rules add more
        if line.result not in reach or line.result not in grads:
            continue
        g = grads[line.result] if line.result in kept else grads.pop(line.result)
        if line.stopped:
            if line.history is not None and line.history in reach:
                add(line.history, g)
            continue
        for k, i in enumerate(line.operands):
            if i in reach:
                set_origin("rule", line.result)
                add(i, _from_rule(recorder, line, k, g))
    return grads


def _seeds_of(recorder: ProgramRecorder, outputs: list[int], seeded: bool) -> dict[int, Any]:
    """The gradient of each output: 1, or an input of the new program."""
    if not seeded:
        z = recorder.values[outputs[0]]
        if z.shape != () and int(np.prod(z.shape)) != 1:
            raise ProgramError(
                "grad can be implicitly created only for scalar outputs: the program's output, of shape "
                f"{z.shape}, is not a scalar. To fix it, reduce it to a scalar in the recorded function (sum, "
                "mean), or ask for program.gradient(wrt, seeded=True), which "
                "takes the gradient of the output as an additional input."
            )
        return {outputs[0]: Slot(recorder, recorder.constant(np.ones(z.shape, z.dtype)))}
    seeds: dict[int, Any] = {}
    for k, i in enumerate(outputs):
        v = recorder.values[i]
        seed = recorder.input(np.ones(v.shape, v.dtype), f"g{k}" if len(outputs) > 1 else "g")
        seeds[i] = seed if i not in seeds else seeds[i] + seed
    return seeds


def _dependents(recorder: ProgramRecorder, wanted: Iterable[int]) -> set[int]:
    """The wanted values, and all values through which a gradient can flow to them."""
    reach = set(wanted)
    for line in recorder.instructions:
        if line.stopped:
            if line.history in reach:
                reach.add(line.result)
        elif line.op.rules and recorder.values[line.result].dtype.kind in "fc":
            if any(i in reach for i in line.operands):
                reach.add(line.result)
    return reach


def _from_rule(recorder: ProgramRecorder, line: Instruction, k: int, g: Any) -> Any:
    """The gradient that an instruction passes to its k-th operand: the op's rule, called on Slots."""
    op = line.op
    name = "xs" if op.variadic else op.operands[k]
    rule = op.rules.get(name)
    if rule is None:
        raise ProgramError(
            f"the derivative of {op.name} with respect to its input {name} is not implemented    ({op.formula})."
        )
    if op is ops.embedding and recorder.keeps_rows and line.settings.get("sparse"):
        return _rows_of(recorder, line, g)
    d: Any
    if isinstance(op, Op) and (op, name) in QUICKER:
        d = _as_rule_op(recorder, line, k, g, RuleOp(op, name))
    else:
        d = rule.formula(g, *(_read(recorder, line, k, r) for r in rule.reads))
    if not isinstance(d, Slot):
        d = Slot(recorder, recorder.number(d))
    value = recorder.values[line.operands[k]]
    if d.shape != value.shape:
        d = sum_to(d, value.shape)
    return d if d.dtype == value.dtype else ops.to(d, dtype=value.dtype)


class SlotRows:
    """A row-sparse gradient, stored as a list of (rows, values), like sparse.RowSparse."""

    def __init__(self, parts: list[tuple[Any, Any]], shape: tuple[int, ...]) -> None:
        self.parts, self.shape = parts, shape

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SlotRows):
            return SlotRows(self.parts + other.parts, self.shape)
        return self.dense(other.recorder) + other

    def dense(self, recorder: ProgramRecorder) -> Slot:
        """The whole table: zeros, with all values added to their rows."""
        at = [row for row, _ in self.parts]
        rows, values = at[0], self.parts[0][1]
        if len(at) > 1:
            rows = np.concatenate([np.reshape(r, -1) for r in at])
            flat = [v.reshape((int(np.prod(v.shape[:-1])), self.shape[1])) for _, v in self.parts]
            values = ops.cat(*flat, axis=0)
        return ops.put_zeros(values, index=(rows,), shape=self.shape)


def add_gradients(a: Any, b: Any) -> Any:
    """The sum of two gradients; a Slot cannot add rows."""
    return a + b.dense(a.recorder) if isinstance(b, SlotRows) and isinstance(a, Slot) else a + b


def _rows_of(recorder: ProgramRecorder, line: Instruction, g: Slot) -> Any:
    """The gradient of a table when only some of its rows were read."""
    settings = recorder.slots_in({**line.op.settings, **line.settings})
    index, padding, counts = settings["index"], settings["padding_idx"], settings["counts"]
    if counts is not None:
        g = g / counts[..., None]
    if padding is not None:
        g = g * (index != padding)[..., None]
    return SlotRows([(index, g)], recorder.values[line.operands[0]].shape)


# Rules that are faster on arrays than on tensors, or that depend on the values.
QUICKER = {
    (ops.convolution, "b"), (ops.cross_entropy, "x"), (ops.nll_loss, "x"), (ops.max_pool2d, "x"),
    (ops.lstm_gates, "x"), (ops.prod, "x"), (ops.cumprod, "x"), (ops.det, "x"),
}  # fmt: skip


def _as_rule_op(
    recorder: ProgramRecorder, line: Instruction, k: int, g: Slot, rule_op: RuleOp
) -> Slot:
    """Record the rule as one instruction, which calls it on arrays in each run."""
    saved = [recorder.as_saved(i) for i in line.operands]
    numbers = {**dict(zip(line.op.operands, saved, strict=False)), "z": line.result}
    operands = (g.index, *(numbers[r] for r in rule_op.operands[1:]))
    given = {**line.op.settings, **line.settings}
    settings = {
        r: given[r] if r in given else _read(recorder, line, k, r) for r in rule_op.settings
    }
    return Slot(recorder, recorder.emit(rule_op, operands, settings))


def _read(recorder: ProgramRecorder, line: Instruction, k: int, name: str) -> Any:
    """The value of a name that the rule for the k-th operand reads."""
    if name == "z":
        return Slot(recorder, line.result)
    if name == "k":
        return k
    op: Any = line.op
    slots = [Slot(recorder, recorder.as_saved(i)) for i in line.operands]
    return recorder.slots_in(value_of(op, name, slots, line.settings))
