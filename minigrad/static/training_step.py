"""Training steps: a whole step as one program, recorded at the first call.

@static.compile
def step(x, y):
    optimizer.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

    for x, y in batches:
        step(x, y)              the first call records; later calls only replay

The function is ordinary eager code. While it is recorded, x and y are Slots; the parameters
that the model uses are captured; `loss.backward()` writes the backward pass (differentiate.py),
and `optimizer.step()` writes the optimizer's formulas, which overwrite the parameters.
The result is one plan: forward, gradient and update in preallocated memory.

There is one program for each combination of shapes and dtypes, and separate ones for
model.train() and model.eval(). Everything else that the function decided during recording is
fixed for all later calls of that kind.

This file contains no optimizer formulas. We run the optimizer's own rule (optim/sgd.py,
optim/adaptive.py) once, on stand-ins for arrays, and what it does with NumPy becomes instructions.
So a program makes exactly the optimizer's step, to the last bit.

    Symbol       an array in a rule: it passes `v *= mu` and np.sqrt(v, out) to a scribe
    Scribe       only notes what is done, and which numbers are used
    Writer       writes it as instructions; the numbers become cells of memory
    Part         a block of Symbols, like the blocks in blocks.py. Small parameters form one
                 block: their gradients are contiguous, and are updated together
    Ahead        runs before each run: counts the step, and asks the rule for its numbers
                 (learning rate, 1 - beta**t), which are cells of memory that the program reads

To get the numbers, we run the rule again, on stand-ins that only note them.
If the rule then takes another path than during recording (momentum's first step, RAdam's
first steps), the program is recorded again.

Read optim/blocks.py, tracing.py, differentiate.py and codegen.py first.
"""

import functools
import threading
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import make
from minigrad.core.modes import enable_grad
from minigrad.core.op import Op
from minigrad.core.sparse import add_rows
from minigrad.optim.blocks import Block, Packed
from minigrad.optim.blocks import Plan as Blocks
from minigrad.optim.elementwise import Elementwise
from minigrad.optim.optimizer import instead
from minigrad.static.codegen import Plan
from minigrad.static.differentiate import Rows, pull
from minigrad.static.ir import Foreign, Program, ProgramError, refs_in
from minigrad.static.slots import Slot
from minigrad.static.tracing import Recorder, as_example, input_names


class Cell:
    """A number in memory that is checked before each run: a learning rate."""

    def __init__(self, ask: Callable[[], float], dtype: Any, of: Any) -> None:
        self.ask, self.latest, self.of = ask, ask(), of
        self.array = np.array(self.latest, dtype)

    def look(self) -> bool:
        """Ask for the number again and store it. Always True: any number fits the same program."""
        now = self.ask()
        if now != self.latest:
            self.array[...] = self.latest = now
        return True


def number(recorder: Any, ask: Callable[[], float], dtype: Any, of: Any) -> Slot:
    """A number that is read again before each run.

    of   the owner of the number; it is read once for all users with the same owner
    """
    for cell in recorder.before:
        if isinstance(cell, Cell) and cell.of is of and cell.array.dtype == dtype:
            return Slot(recorder, recorder.held(cell.array))
    cell = Cell(ask, dtype, of)
    recorder.before.append(cell)
    return Slot(recorder, recorder.held(cell.array, "a number of the step"))


def write_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """The step for a row-sparse gradient: only its rows are written."""
    name = type(optimizer).__name__
    write = ROWS.get(name)
    if write is None or group.get("weight_decay") or group.get("momentum"):
        raise ProgramError(
            f"{name} with these settings has no formula for row-sparse gradients in a program. To fix it, use "
            "SGD without momentum, Adagrad without weight decay, or an Embedding with sparse=False; or stay with "
            "eager tensors."
        )
    write(recorder, optimizer, group, p, rows)


def sgd_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """p[rows] -= lr * values, where a row may appear several times"""
    # One cell for all tables of a group, so that a product with it is only computed once.
    down = number(recorder, lambda: -float(group["lr"]), p.array.dtype, group)
    x = Slot(recorder, recorder.number(p))
    for at, values in rows.parts:
        g = -values if group["maximize"] else values
        x = recorder.over(p, ops.index_put, x, g * down, index=(at,), accumulate=True)


def adagrad_rows(table: Any, sums: Any, lr: Any, eps: float, *parts: Any) -> Any:
    """s = s + g**2; p = p - lr * g / (sqrt(s) + eps), on the rows that have a gradient.

    parts   rows, values, rows, values, ...: a row may appear several times

    If these are most of the rows, we update all: a row with a zero gradient does not change.
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
    seen = np.zeros(len(table), np.bool_)
    for at in parts[::2]:
        seen[at] = True
    (k,) = seen.nonzero()
    g = g.take(k, 0)
    s = sums.take(k, 0)
    s += g * g
    put_rows(sums, k, s)
    divisor = np.sqrt(s, s)
    divisor += eps
    g *= lr
    g /= divisor
    put_rows(table, k, np.subtract(table.take(k, 0), g, g))
    return table


def put_rows(table: Any, rows: Any, values: Any) -> None:
    """table[rows] = values. Treats a whole row as one element: 2 to 3 times faster.

    >>> t = np.zeros((3, 2))
    >>> put_rows(t, np.array([2]), np.ones((1, 2)))
    >>> t.tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not (table.flags.c_contiguous and values.flags.c_contiguous and values.size):
        table[rows] = values
        return
    row = row_type(values.nbytes // len(values))
    table.reshape(-1).view(row).put(rows, values.reshape(-1).view(row))


@lru_cache(maxsize=16)
def row_type(nbytes: int) -> Any:
    """A dtype for a row of nbytes bytes."""
    return np.dtype((np.void, nbytes))


class InPlace(Foreign):
    """A function that writes to its first argument and returns it."""

    effect = True
    __hash__ = object.__hash__

    def rehearse(self, *, args: Any, kwargs: Any) -> Any:
        """The first argument, unchanged: its shape and dtype are those of the result."""
        return args[0]

    def __eq__(self, other: object) -> bool:
        return self is other


def write_adagrad_rows(recorder: Any, optimizer: Any, group: Any, p: Any, rows: Rows) -> None:
    """One instruction, since the values decide which rows are written: see adagrad_rows."""
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


class NotWritten(Exception):
    """A rule does something without an instruction: the optimizer makes its step itself, after each run."""


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array in a rule. Passes each operation to its scribe.

    slot   its current value
    home   the tensor in whose memory it is stored, if it outlives the step
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
    """Notes what a rule does, and which numbers it uses."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.numbers: list[float] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        """Note the ufunc and its numbers, compute nothing. Returns `out`, or the first input."""
        self.log.append(ufunc)
        for x in inputs:
            if x.__class__ is float:
                self.numbers.append(x)
            elif x.__class__ is not Symbol:
                self.numbers.append(float(x))
        return inputs[0] if out is None else out


class Writer(Scribe):
    """Writes what a rule does as instructions."""

    def __init__(self, recorder: Any, dtype: Any) -> None:
        super().__init__()
        self.recorder, self.dtype = recorder, dtype
        self.cells: list[Any] = []

    def apply(self, ufunc: Any, inputs: Any, out: Any) -> Any:
        """Record the ufunc's op, written to the memory of `out` if it has a home.

        Raises NotWritten for a ufunc that is not in OP_OF.
        """
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
        """A number in the rule: a cell of memory, which Ahead fills before each run."""
        array = np.array(number, self.dtype)
        self.cells.append(array)
        return Slot(self.recorder, self.recorder.held(array, "a number of the step"))


OP_OF: dict[Any, Op] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.negative: ops.neg,
    np.sqrt: ops.sqrt, np.maximum: ops.maximum, np.absolute: ops.abs, np.positive: ops.clone,
}  # fmt: skip


def update(recorder: Any, optimizer: Any) -> bool:
    """Record an optimizer's step; False if that is not possible."""
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
                f"{type(optimizer).__name__} could only be written down in part. To fix it, step it outside of the "
                "compiled function."
            ) from None
        return False
    return True


def write_group(recorder: Any, optimizer: Any, k: int, group: Any) -> None:
    """Like Elementwise._step_group, but records what the rule does."""
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
            p.node.grad = None  # no longer needed: this frees its buffer


class Part(Block):
    """A block of Symbols: several small contiguous parameters, or one parameter.

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
        """The floats as they are: the scribe has to see them. A Block returns 0-d arrays."""
        return values

    def fetch(self, grads: Any) -> None:
        """Set g to the members' gradients, flat and in a row; None leaves g as it is."""
        if grads is not None:
            self.g = Symbol(self.scribe, in_a_row([grads[k] for k in self.members]))

    def fetch_values(self) -> Any:
        """Set p to the latest values of the parameters, in a row, and return it."""
        if self.sources is not None:
            recorder = self.scribe.recorder
            now = [Slot(recorder, recorder.number(p)) for p in self.sources]
            self.p = Symbol(self.scribe, in_a_row(now))
        return self.p

    def subtract(self, step: Any) -> None:
        """Record p - step over the memory of each parameter. Nothing is done if only noting."""
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
    """Concatenate several values; a single one is returned unchanged."""
    if len(slots) == 1:
        return slots[0]
    return ops.cat(*[s.reshape(-1) for s in slots], axis=0)


NO_NUMBERS = {"params", "param_names", "foreach", "differentiable", "fused", "capturable"}


class Counts:
    """Replaces the plan in a call of an optimizer's _run: the counts of the next step."""

    def __init__(self, counts: Any) -> None:
        self.counts = [c.copy() for c in counts]
        self.blocks: list[Any] = []


class Ahead:
    """Before each run: checks that the program still fits the optimizer's next step, and gets its numbers.

    look     note what the rule would do; False if it differs from the recording
    commit   count the step; False if there is nothing to count from now on
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
            if mine not in members:  # a large parameter is one block here, not split into pieces
                members.append(mine)
                chosen.append(b)
        self.chosen = list(zip(chosen, members, strict=True))
        self.plan = Counts(blocks.counts)
        self.plan.blocks = [Part(self.plan, b, m, self.scribe) for b, m in self.chosen]
        # The index of this step among the optimizer's steps in one run, counted from 0.
        self.nth = len([1 for a in recorder.before if getattr(a, "blocks", None) is blocks])

    def write(self, params: Any, grads: Any) -> None:
        """Run the rule once, and record it."""
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
        """Is it a special first step? Without dampening it is not, because momentum starts at zero."""
        return bool(block.first and not self.nth and self.group.get("dampening"))

    def catch_up(self, plan: Counts) -> None:
        """The counts before this step: the optimizer's, plus its earlier steps in this run."""
        for fake, real in zip(plan.counts, self.blocks.counts, strict=True):
            fake[...] = real
        for _ in range(self.nth):
            self.optimizer._advance(plan, self.group)

    def look(self) -> bool:
        """Run the rule on stand-ins, and put its numbers into the cells. Nothing is counted yet.

        Returns False if the optimizer has new memory or its rule takes another path: record again.
        If only settings matter and none has changed, the rule is not run.
        """
        if self.optimizer._plans.get(self.k) is not self.blocks:
            return False  # the optimizer's memory has moved
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

    def commit(self) -> bool:
        """Write the new counts to the optimizer, and end the first step of its blocks.

        Returns False if there are no counts: this need not be called again.
        """
        for fake, real in zip(self.plan.counts, self.blocks.counts, strict=True):
            real[...] = fake
        if self.fresh:
            for block in self.blocks.blocks:
                block.first = False
            self.fresh, self.latest = False, None
        return bool(self.blocks.counts)


class StepRecorder(Recorder):
    """A recorder for which backward() and an optimizer's step() are instructions too.

    leaves    where gradients are accumulated: id -> (number of the tensor, AccumulateGrad)
    before    what to check before each run (learning rates, counts): is the program still valid?
    after     what to do after each run: the steps of optimizers that could not be recorded
    written   the tensors that the program writes to
    """

    keeps_rows = True

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Any] = []
        self.after: list[Callable[[], Any]] = []
        self.written: list[Any] = []
        self.leaves: dict[int, Any] = {}
        self.stale: set[int] = set()  # values of captured memory that was overwritten later
        self.roots: dict[int, int] = {}  # a view -> the value it is a view of
        self.shown: list[Any] = []  # (leaf, number of its gradient): each run sets the leaf's .grad

    def backward(self, loss: Any, gradient: Any) -> None:
        """Write the backward pass, for all captured leaves that require a gradient.

        Until recording ends, a leaf's .grad is the Slot of its gradient.
        """
        if gradient is None:
            if int(np.prod(loss.shape)) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = Slot(self, self.constant(np.ones(loss.shape, loss.dtype)))
        elif not isinstance(gradient, Slot):
            gradient = Slot(self, self.number(gradient))
        wanted = {
            number: t.node
            for i, t in self.captured.items()
            if type(t.node) is AccumulateGrad
            for number in (i, self.current.get(i, i))
        }
        with enable_grad():
            found = pull(self, {loss.index: gradient}, wanted)
        for i, node in wanted.items():
            if i in found:
                if node.grad is not None and not isinstance(node.grad, (Slot, Rows)):
                    raise ProgramError(
                        "a parameter already has a .grad when backward() is recorded, and a replay does not add to it. "
                        "To fix it, begin the step with optimizer.zero_grad()."
                    )
                node.grad = found[i] if node.grad is None else node.grad + found[i]
                self.leaves.setdefault(id(node), (i, node))

    def emit(self, op: Any, operands: tuple[int, ...], settings: dict[str, Any]) -> int:
        """As in Recorder; but values that were overwritten can no longer be read."""
        for i in (*operands, *refs_in(settings)):
            if self.roots.get(i, i) in self.stale:
                raise ProgramError(
                    f"{op.name} reads a tensor as it was before the step wrote over it (one of the variables needed "
                    "for gradient computation has been modified by an inplace operation). To fix it, call backward() "
                    "before the optimizer's step(), or compute the loss anew after it."
                )
        z = super().emit(op, operands, settings)
        if op.view:
            self.roots[z] = self.roots.get(operands[0], operands[0])
        return z

    def write_outside(self, op: Any, tensor: Any, others: Any, settings: Any) -> None:
        """p -= lr * g: each run writes the result to the memory of p."""
        self.over(tensor, op, tensor, *others, **settings)

    def write_through(self, tensor: Any, z: Any) -> None:
        """Record a copy of z into the tensor's memory, made again in each run."""
        self.over(tensor, ops.clone, z)

    def write_array(self, name: str, function: Any, inputs: Any, kwargs: Any, out: Any) -> Any:
        """BatchNorm's running statistics: each run writes the result to their memory."""
        first = self.held(out)
        z = self.foreign(name, function, inputs, kwargs)
        if z.shape != out.shape:
            raise ProgramError(f"{name} would change the shape of what it writes to.")
        if z.dtype != out.dtype:
            z = z.to(out.dtype)
        self.instructions[-1].over = first
        self.stale.add(self.current.get(first, first))
        self.current[first] = z.index
        return out

    def over(self, tensor: Any, op: Any, *operands: Any, **settings: Any) -> Slot:
        """Record op(*operands), with its result written to the memory of a captured tensor."""
        first = self.first_of(tensor)
        if first is None:
            raise ProgramError(
                f"{op.name}_ writes to a view, or to what was computed in the step. To fix it, make a new tensor."
            )
        with self.stopping():
            z = self.apply(op, operands, settings)
            if z.shape != self.values[first].shape or z.dtype != self.values[first].dtype:
                raise ProgramError(
                    f"{op.name}_ would change the shape or type of what it writes to."
                )
        self.instructions[-1].over = first
        self.stale.add(self.current.get(first, first))
        self.became(tensor, z.index)
        return z

    def became(self, tensor: Any, number: int) -> None:
        """From now on, reading the tensor gives the value with this number."""
        self._known[id(tensor)] = self.current[self.first_of(tensor)] = number
        if not any(t is tensor for t in self.written):
            self.written.append(tensor)

    def first_of(self, tensor: Any) -> Any:
        """The number of the tensor's memory at the start of a run."""
        if id(tensor) not in self._known and tensor._base is None:
            self.capture(tensor, as_memory=True)
        return next((i for i, t in self.captured.items() if t is tensor), None)

    def latest_of(self, tensor: Any) -> Any:
        """The number of the tensor's memory as it is now."""
        first = self.first_of(tensor)
        return None if first is None else self.current.get(first, first)

    def optimizer_step(self, optimizer: Any, closure: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Replaces optimizer.step() while a step is recorded."""
        if closure is not None:
            raise ProgramError(
                "a step with a closure decides itself how often it is called; record it without."
            )
        if update(self, optimizer):
            return None
        # No formula for this one: the program puts the gradients into .grad, and the optimizer makes its step.
        self.after.append(optimizer.step)
        return None

    def show(self, node: Any) -> None:
        """Make each run store this gradient in the tensor's .grad."""
        g = node.grad
        if isinstance(g, Rows):
            g = g.dense(self)
        example = self.examples[g.index]
        others = [a for a, v in zip(self.examples, self.values, strict=True) if v.kind != "result"]
        if self.values[g.index].kind != "result" or any(
            np.may_share_memory(example, a) for a in others
        ):
            g = ops.clone(g)  # never return memory that the program does not own
        self.shown.append((node, g.index))


ndarray, tensor = np.ndarray, make.Tensor
shape_of, dtype_of = attrgetter("shape"), attrgetter("dtype")


class Compiled:
    """A function that records itself when it is called with new shapes, and otherwise replays.

    programs   (shape and dtype of each input) -> the replay
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.programs: dict[Any, Replay] = {}
        self._others: dict[Any, list[Replay]] = {}
        self._latest: Replay | None = None

    def __call__(self, *inputs: Any) -> Any:
        arrays = [
            x if x.__class__ is ndarray else x.array if isinstance(x, tensor) else as_example(x)
            for x in inputs
        ]
        latest = self._latest
        if latest is None or not latest.fits(arrays):
            latest = self._latest = self._known(arrays) or self._recorded(arrays)
        result = latest(arrays)
        if result is STALE:
            self._latest = self._known(arrays, latest) or self._recorded(arrays)
            result = self._latest(arrays)
        return result

    def _known(self, arrays: list[Any], but: Any = None) -> "Replay | None":
        """A program for such inputs, recorded with the current training modes of its modules."""
        key = self._key(arrays)
        for replay in self._others.get(key, ()):
            if replay is not but and replay.trains() == replay.training:
                self.programs[key] = replay
                return replay
        return None

    def _recorded(self, arrays: list[Any]) -> "Replay":
        key = self._key(arrays)
        replay = self.programs[key] = Replay(self.f, arrays)
        known = self._others.setdefault(key, [])
        known[:] = [r for r in known if r.training != replay.training] + [replay]
        return replay

    def _key(self, arrays: list[Any]) -> Any:
        return tuple([(a.shape, a.dtype.str) for a in arrays])

    def source(self) -> str:
        """The latest program as NumPy source, which is what runs."""
        if self._latest is None:
            raise ProgramError("nothing was recorded yet. To fix it, call the function once.")
        return self._latest.plan.source

    @property
    def program(self) -> Program:
        """The latest program."""
        if self._latest is None:
            raise ProgramError("nothing was recorded yet. To fix it, call the function once.")
        return self._latest.plan.program


_one_at_a_time = threading.RLock()


class Replay:
    """One recorded step: its plan, and what to do before and after each run."""

    def __init__(self, f: Callable[..., Any], arrays: list[Any]) -> None:
        with _one_at_a_time:  # threads share leaves, and recording uses their .grad
            self._record(f, arrays)

    def _record(self, f: Callable[..., Any], arrays: list[Any]) -> None:
        recorder = StepRecorder()
        slots = [
            recorder.input(a, n) for a, n in zip(arrays, input_names(f, len(arrays)), strict=True)
        ]
        before = instead.step
        instead.step = recorder.optimizer_step
        try:
            with recorder.watching():
                result = f(*slots)
            for _, node in recorder.leaves.values():
                if node.grad is not None:
                    recorder.show(node)
        finally:
            instead.step = before
            for _, node in recorder.leaves.values():
                node.grad = None
        if not recorder.instructions:
            raise ProgramError("nothing was recorded: the function did nothing with tensors.")
        self.form = form_of(result)
        results = leaves_of(result)
        outputs = [recorder.number(r) for r in results] + [i for _, i in recorder.shown]
        self.count = len(results)
        self.plan = Plan(recorder.program(outputs, False), copy=False)
        self.shown = [node for node, _ in recorder.shown]
        self.before, self.after = recorder.before, recorder.after
        self.written = [t._shared_counter() for t in recorder.written]
        self.shapes = [tuple(v.shape) for v in self.plan.wanted]
        self.dtypes = [v.dtype for v in self.plan.wanted]
        self.modules = list(recorder.modules.values())
        self.training = self.trains()
        self.looks = [ahead.look for ahead in self.before]
        self.commits = [ahead.commit for ahead in self.before if not isinstance(ahead, Cell)]

    def trains(self) -> list[bool]:
        """Which of the modules are in training mode now?"""
        return [m.training for m in self.modules]

    def fits(self, arrays: list[Any]) -> bool:
        """Do these inputs have the recorded shapes and dtypes?"""
        alike = list(map(shape_of, arrays)) == self.shapes
        return alike and list(map(dtype_of, arrays)) == self.dtypes

    def __call__(self, arrays: list[Any]) -> Any:
        """Run the step; or return STALE, if an optimizer would now make a different step."""
        if self.modules and self.trains() != self.training:
            return STALE
        for look in self.looks:
            if not look():
                return STALE
        if self.commits:
            self.commits = [commit for commit in self.commits if commit()]
        plan = self.plan
        plan.rebind()
        results = plan.function(*arrays)
        for counter in self.written:
            counter.count += 1
        wrap, n = make.wrap, self.count
        if self.shown:
            for node, g in zip(self.shown, results[n:], strict=True):
                node.grad = wrap(g)
        for act in self.after:
            act()
        if self.form is None:
            return None
        tensors = [wrap(a.copy() if a.__class__ is np.ndarray else a) for a in results[:n]]
        return self.form(tensors)


STALE = object()  # means: record the step again


def leaves_of(result: Any) -> list[Any]:
    """The tensors that a step returns."""
    if result is None:
        return []
    return list(result) if isinstance(result, (tuple, list)) else [result]


def form_of(result: Any) -> Any:
    """A function that turns the outputs into what the step returned: None, one tensor, or a tuple."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        return type(result)
    return lambda tensors: tensors[0]


def compile(f: Callable[..., Any]) -> Compiled:  # noqa: A001
    """Record the function at its first call, and replay it from then on.

    f         takes tensors (or arrays), returns a tensor, several, or None. It may call
              backward() and step optimizers; see the top of this module
    returns   a function with the same arguments; .source() is the source it runs, .program the program

    Shapes and dtypes may differ between calls: there is one program for each combination. Everything
    else that the function decides is fixed at the first call. A program has one memory, so threads
    that train at the same time must each compile the function. After a step without an
    optimizer, the gradients are in .grad, in memory that the next call overwrites.

    Random numbers are drawn again in each run, in the same order as in an eager run.

    Raises ProgramError if the function asks for values.

    >>> import minigrad
    >>> from minigrad import static
    >>> w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> sgd = minigrad.optim.SGD([w], lr=0.25)
    >>> @static.compile
    ... def step(x):
    ...     sgd.zero_grad()
    ...     loss = ((w - x) ** 2).sum()
    ...     loss.backward()
    ...     sgd.step()
    ...     return loss
    >>> for _ in range(3):
    ...     print(step(minigrad.zeros(2)))
    tensor(5.)
    tensor(1.2500)
    tensor(0.3125)
    >>> w
    tensor([0.1250, 0.2500], requires_grad=True)
    """
    return Compiled(f)
