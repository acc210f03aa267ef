"""Updates: the steps of optimizers, written down as instructions of a training step.

No formula of an optimizer stands here. Its own rule (optim/sgd.py, optim/adaptive.py) is run
once, on stand-ins for arrays, and what it does with NumPy becomes instructions: so a program
takes the very step that the optimizer takes, to the last bit.

    Symbol       an array in a rule: `v *= mu` and np.sqrt(v, out) on it are written down
    Part         a block of values, as blocks.py makes them, of Symbols. Small parameters are one
                 block: their gradients lie one behind the other, and are updated together
    Ahead        what is done before each run: count the step, and ask the rule for its numbers
                 (learning rate, 1 - beta**t), which are cells of memory that the program reads

The numbers are asked for by running the rule again, on stand-ins that only take note of them.
If the rule then takes another way than when it was recorded (momentum's first step, RAdam's
first steps), the program is recorded anew.

Read optim/blocks.py and step.py first.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.op import Op
from minigrad.optim.blocks import Block, Packed
from minigrad.optim.blocks import Plan as Blocks
from minigrad.optim.elementwise import Elementwise
from minigrad.sparse import add_rows
from minigrad.static.instruction import Foreign, ProgramError
from minigrad.static.slot import Slot


class NotWritten(Exception):
    """A rule does what has no instruction: the optimizer does its step itself, after each run."""


def update(recorder: Any, optimizer: Any) -> bool:
    """Write an optimizer's step down; False if that cannot be done."""
    if not isinstance(optimizer, Elementwise) or type(optimizer).__module__[:9] != "minigrad.":
        return False
    if optimizer._step_pre_hooks or optimizer._step_post_hooks:
        return False
    begin = len(recorder.instructions)
    try:
        for k, group in enumerate(optimizer.param_groups):
            write_group(recorder, optimizer, k, group)
    except NotWritten:
        if any(line.over is not None for line in recorder.instructions[begin:]):
            raise ProgramError(
                f"{type(optimizer).__name__} could only be written down in part. To mend it, step it outside of the "
                "compiled function."
            ) from None
        return False
    return True


def write_group(recorder: Any, optimizer: Any, k: int, group: Any) -> None:
    """As Elementwise._step_group does, but what the rule does is written down."""
    params, grads = [], []
    for p in group["params"]:
        g = p.node.grad if p.node is not None else None
        if isinstance(g, Rows):
            write_rows(recorder, optimizer, group, p, g)
        elif isinstance(g, Slot):
            params.append(p)
            grads.append(g)
        elif g is not None:
            raise NotWritten
    if params:
        if len({id(p) for p in params}) < len(params):
            raise NotWritten
        slots = optimizer._slots(group)
        blocks = optimizer._plans.get(k)
        arrays = [p.array for p in params]
        if blocks is None or not blocks.fits(arrays, optimizer.state, slots):
            blocks = Blocks(params, optimizer.state, slots, optimizer.counters)
            optimizer._plans[k] = blocks
        ahead = Ahead(recorder, optimizer, k, group, blocks)
        ahead.write(params, grads)
        recorder.before.append(ahead)
    for p in group["params"]:
        if p.node is not None:
            p.node.grad = None  # it has done its work, and its buffer is free


# ------------------------------------------------------------------ a rule, on stand-ins


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in a rule, in the hands of a scribe: who writes down, or only takes note.

    slot   its value at the moment
    home   the tensor in whose memory it lies, if it outlives the step
    """

    def __init__(self, scribe: Any, slot: Any = None, home: Any = None) -> None:
        self.scribe, self.slot, self.home = scribe, slot, home

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            raise NotWritten
        return self.scribe.apply(ufunc, inputs, None if out is None else out[0])

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis:
            raise NotWritten
        if value is not self:
            self.scribe.apply(np.positive, (value,), self)

    def __getitem__(self, index: Any) -> Any:
        raise NotWritten

    def __array_function__(self, *told: Any) -> Any:
        raise NotWritten


class Scribe:
    """Takes note of what a rule does, and of the numbers that it uses."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.numbers: list[float] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        self.log.append(ufunc)
        for x in inputs:
            if x.__class__ is float:
                self.numbers.append(x)
            elif x.__class__ is not Symbol:
                self.numbers.append(float(x))
        return inputs[0] if out is None else out


class Writer(Scribe):
    """Writes down what a rule does."""

    def __init__(self, recorder: Any, dtype: Any) -> None:
        super().__init__()
        self.recorder, self.dtype = recorder, dtype
        self.cells: list[Any] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        super().apply(ufunc, inputs, out)
        op = OP_OF.get(ufunc)
        if op is None:
            raise NotWritten
        args = [x.slot if isinstance(x, Symbol) else self.cell(x) for x in inputs]
        if out is None:
            return Symbol(self, self.recorder.apply(op, args, {}))
        if out.home is not None:
            out.slot = self.recorder.over(out.home, op, *args)
        else:
            out.slot = self.recorder.apply(op, args, {})
        return out

    def cell(self, number: float) -> Slot:
        """A number of the rule: a cell of memory, which Ahead fills before each run."""
        array = np.array(number, self.dtype)
        self.cells.append(array)
        return Slot(self.recorder, self.recorder.held(array, "a number of the step"))


OP_OF: dict[Any, Op] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.negative: ops.neg,
    np.sqrt: ops.sqrt, np.maximum: ops.maximum, np.absolute: ops.abs, np.positive: ops.clone,
}  # fmt: skip


class Part(Block):
    """A block of Symbols: some small parameters, one behind the other; or one parameter.

    members   the positions of its parameters among those that have a gradient
    """

    __slots__ = ("members", "scribe", "sources")

    def __init__(self, plan: Any, block: Any, members: Any, scribe: Any) -> None:
        super().__init__(plan, block.index, False)
        self.members, self.scribe = members, scribe
        self.sources: Any = None
        self.out, self.own, self.more = Symbol(scribe), Symbol(scribe), Symbol(scribe)
        self.p = self.g = Symbol(scribe)
        self.state = tuple([Symbol(scribe) for _ in block.state])

    def numbers(self, *values: float) -> tuple[Any, ...]:
        return values

    def fetch(self, grads: Any) -> None:
        if grads is not None:
            self.g = Symbol(self.scribe, in_a_row([grads[k] for k in self.members]))

    def fetch_values(self) -> Any:
        if self.sources is not None:
            recorder = self.scribe.recorder
            now = [Slot(recorder, recorder.number(p)) for p in self.sources]
            self.p = Symbol(self.scribe, in_a_row(now))
        return self.p

    def subtract(self, step: Any) -> None:
        if self.sources is None:
            return
        recorder, start = self.scribe.recorder, 0
        for p in self.sources:
            size, shape = p.array.size, tuple(p.array.shape)
            d = step.slot
            if len(self.sources) > 1:
                d = d[start : start + size].reshape(shape)
            start += size
            recorder.over(p, ops.sub, Slot(recorder, recorder.number(p)), d)


def in_a_row(slots: Any) -> Any:
    """Several values one behind the other; a single one as it is."""
    if len(slots) == 1:
        return slots[0]
    return ops.cat(*[s.reshape(-1) for s in slots], axis=0)


NO_NUMBERS = {"params", "param_names", "foreach", "differentiable", "fused", "capturable"}


class Counts:
    """What an optimizer's _run is given in the place of its plan: the counts of the next step."""

    def __init__(self, counts: Any) -> None:
        self.counts = [c.copy() for c in counts]
        self.blocks: list[Any] = []


class Ahead:
    """Before each run: is the program still that of the optimizer's next step? Then its numbers.

    look     take note of what the rule would do; False if it is not what was recorded
    commit   count the step
    """

    def __init__(self, recorder: Any, optimizer: Any, k: int, group: Any, blocks: Any) -> None:
        self.recorder, self.optimizer, self.k, self.group = recorder, optimizer, k, group
        self.blocks = blocks
        self.scribe = Scribe()
        self.cells: list[Any] = []
        self.log: list[Any] = []
        self.latest: Any = None
        self.settings = itemgetter(*[key for key in group if key not in NO_NUMBERS])
        self.fresh = True
        self.steady = not blocks.counts and not hasattr(group["lr"], "array")
        members: list[list[int]] = []
        chosen = []
        for b in blocks.blocks:
            mine = list(b.choose(range(len(blocks.arrays)))) if isinstance(b, Packed) else [b.index]
            if mine not in members:  # a large parameter is one block here, and no pieces
                members.append(mine)
                chosen.append(b)
        self.chosen = list(zip(chosen, members, strict=True))
        self.plan = Counts(blocks.counts)
        self.plan.blocks = [Part(self.plan, b, m, self.scribe) for b, m in self.chosen]
        # Which of the optimizer's steps in one run this is, counted from 0.
        self.nth = len([1 for a in recorder.before if getattr(a, "blocks", None) is blocks])

    def write(self, params: Any, grads: Any) -> None:
        """Run the rule once, and let it be written down."""
        recorder, state = self.recorder, self.optimizer.state
        plan = Counts(self.blocks.counts)
        self.catch_up(plan)
        writers = []
        for b, members in self.chosen:
            scribe = Writer(recorder, params[members[0]].array.dtype)
            part = Part(plan, b, members, scribe)
            part.first = self.is_first(b)
            part.sources = [params[k] for k in members]
            if isinstance(b, Packed):
                named = zip(b.state, self.blocks.names, strict=True)
                homes = [recorder.memory(row, name) for row, name in named]
            else:
                homes = [state[part.sources[0]][name] for name in self.blocks.names]
                for tensor, name in zip(homes, self.blocks.names, strict=True):
                    recorder.capture(tensor, name, as_memory=True)
            part.state = tuple(
                [Symbol(scribe, Slot(recorder, recorder.latest_of(h)), h) for h in homes]
            )
            plan.blocks.append(part)
            writers.append(scribe)
        with recorder.stopping():
            self.optimizer._run(plan, grads, self.group)
        self.log = [ufunc for w in writers for ufunc in w.log]
        self.cells = [cell for w in writers for cell in w.cells]

    def is_first(self, block: Any) -> bool:
        """Is it a step like no other? Without dampening it is not, as momentum begins at zero."""
        return bool(block.first and not self.nth and self.group.get("dampening"))

    def catch_up(self, plan: Counts) -> None:
        """The counts before this step: those of the optimizer, and of its earlier steps in a run."""
        for fake, real in zip(plan.counts, self.blocks.counts, strict=True):
            fake[...] = real
        for _ in range(self.nth):
            self.optimizer._advance(plan, self.group)

    def look(self) -> bool:
        if self.optimizer._plans.get(self.k) is not self.blocks:
            return False  # the optimizer's memory is elsewhere now
        group = self.group
        if self.steady:
            now = self.settings(group)
            if now == self.latest:
                return True
        scribe = self.scribe
        scribe.log.clear()
        scribe.numbers.clear()
        self.catch_up(self.plan)
        for part, (block, _) in zip(self.plan.blocks, self.chosen, strict=True):
            part.first = self.is_first(block)
        self.optimizer._run(self.plan, None, group)
        if scribe.log != self.log:
            return False
        for cell, number in zip(self.cells, scribe.numbers, strict=True):
            cell[()] = number
        if self.steady:
            self.latest = now
        return True

    def commit(self) -> None:
        for fake, real in zip(self.plan.counts, self.blocks.counts, strict=True):
            real[...] = fake
        if self.fresh:
            for block in self.blocks.blocks:
                block.first = False
            self.fresh, self.latest = False, None


# ------------------------------------------------------------------ few rows of a table


class Rows:
    """A gradient of few rows of a table: parts of (rows, values), as sparse.RowSparse has."""

    def __init__(self, parts: list[tuple[Any, Any]], shape: tuple[int, ...]) -> None:
        self.parts, self.shape = parts, shape

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Rows):
            return Rows(self.parts + other.parts, self.shape)
        return self.dense(other.recorder) + other

    __radd__ = __add__

    def dense(self, recorder: Any) -> Any:
        """The whole table: zeros, with all values added at their rows."""
        at = [row for row, _ in self.parts]
        rows, values = at[0], self.parts[0][1]
        if len(at) > 1:
            rows = np.concatenate([np.reshape(r, -1) for r in at])
            flat = [v.reshape((int(np.prod(v.shape[:-1])), self.shape[1])) for _, v in self.parts]
            values = ops.cat(*flat, axis=0)
        return ops.put_zeros(values, index=(rows,), shape=self.shape)


class Cell:
    """A number in memory that is looked at before each run: a learning rate."""

    def __init__(self, ask: Callable[[], float], dtype: Any, of: Any) -> None:
        self.ask, self.latest, self.of = ask, ask(), of
        self.array = np.array(self.latest, dtype)

    def look(self) -> bool:
        now = self.ask()
        if now != self.latest:
            self.array[...] = self.latest = now
        return True


def number(recorder: Any, ask: Callable[[], float], dtype: Any, of: Any) -> Slot:
    """A number that is asked for before each run.

    of   whose number it is: asked once for all that share it
    """
    for cell in recorder.before:
        if isinstance(cell, Cell) and cell.of is of and cell.array.dtype == dtype:
            return Slot(recorder, recorder.held(cell.array))
    cell = Cell(ask, dtype, of)
    recorder.before.append(cell)
    return Slot(recorder, recorder.held(cell.array, "a number of the step"))


def write_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """The step for a gradient of few rows: only these are written."""
    name = type(optimizer).__name__
    write = ROWS.get(name)
    if write is None or group.get("weight_decay") or group.get("momentum"):
        raise ProgramError(
            f"{name} with these settings has no formula for row-sparse gradients in a program. To mend it, use "
            "SGD without momentum, Adagrad without weight decay, or an Embedding with sparse=False; or stay with "
            "eager tensors."
        )
    write(recorder, optimizer, group, p, rows)


def sgd_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """p[rows] -= lr * values, where a row may occur several times"""
    # One cell for all tables of a group: what is multiplied by it is multiplied once.
    down = number(recorder, lambda: -float(group["lr"]), p.array.dtype, group)
    x = Slot(recorder, recorder.number(p))
    for at, values in rows.parts:
        g = -values if group["maximize"] else values
        x = recorder.over(p, ops.index_put, x, g * down, index=(at,), accumulate=True)


def adagrad_rows(table: Any, sums: Any, lr: Any, eps: float, *parts: Any) -> Any:
    """s = s + g**2; p = p - lr * g / (sqrt(s) + eps), on the rows that have a gradient.

    parts   rows, values, rows, values, ...: a row may occur several times

    If these are most of the rows, on all: a row whose gradient is zero does not move.
    """
    g = np.zeros(table.shape, table.dtype)
    for at, values in zip(parts[::2], parts[1::2], strict=True):
        add_rows(g, at, values)
    if sum([at.size for at in parts[::2]]) > len(table) and eps > 0:
        step = g * lr
        sums += np.multiply(g, g, g)
        divisor = np.sqrt(sums, g)
        divisor += eps
        step /= divisor
        table -= step
        return table
    counts = np.bincount(parts[0].reshape(-1), minlength=len(table))
    for at in parts[2::2]:
        counts += np.bincount(at.reshape(-1), minlength=len(table))
    k = np.flatnonzero(counts)
    g = g.take(k, 0)
    s = sums.take(k, 0)
    s += g * g
    sums[k] = s
    divisor = np.sqrt(s, s)
    divisor += eps
    g *= lr
    g /= divisor
    table[k] = np.subtract(table.take(k, 0), g, g)
    return table


class InPlace(Foreign):
    """A function that writes over its first argument, and returns it."""

    effect = True
    __hash__ = object.__hash__

    def rehearse(self, *, args: Any, kwargs: Any) -> Any:
        return args[0]

    def __eq__(self, other: object) -> bool:
        return self is other


def write_adagrad_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """One instruction, as which rows are written depends on the values: see adagrad_rows."""
    state = optimizer.state[p]
    optimizer._begin(p.memory(), state, group)
    count = state["step"]

    def rate() -> float:
        return float(group["lr"]) / (1 + float(count.array) * float(group["lr_decay"]))

    def counted() -> None:
        count.array = count.array + count.array.dtype.type(1)

    lr = number(recorder, rate, p.array.dtype, p)
    recorder.after.append(counted)
    sums = Slot(recorder, recorder.capture(state["sum"], "sum", as_memory=True))
    x = Slot(recorder, recorder.number(p))
    parts = [a for at, g in rows.parts for a in (at, (-g if group["maximize"] else g).array)]
    args = recorder.referred((x, sums, lr, float(group["eps"]), *parts))
    settings = {"args": args, "kwargs": {}}
    z = recorder.emit(InPlace("adagrad_rows", adagrad_rows), (), settings)
    recorder.became(p, z)


ROWS = {"SGD": sgd_rows, "Adagrad": write_adagrad_rows}
