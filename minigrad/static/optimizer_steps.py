"""The steps of optimizers as instructions of a program.

This file contains no optimizer formulas. We run the optimizer's own rule (optim/sgd.py,
optim/adaptive.py) once on stand-ins for arrays, and its NumPy calls become instructions. So the
program takes exactly the optimizer's step, to the last bit.

    Symbol     an array in a rule: `v *= mu` and np.sqrt(v, out) become instructions
    Part       a block of Symbols, like the blocks in blocks.py. Small parameters form one
               block: their gradients are contiguous, and they are updated together
    NextStep   called before each run: counts the step, and gets the optimizer's numbers
               (learning rate, 1 - beta**t) and stores them where the program reads them

If the rule would take a different path than during recording (momentum's first step, RAdam's
first steps), the program is recorded again.

Read optim/blocks.py and step_recorder.py first.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from minigrad import ops
from minigrad.core.memory import Tensor
from minigrad.core.op import Op
from minigrad.core.shapes import Array
from minigrad.optim.adaptive import Adagrad, adagrad_rows
from minigrad.optim.blocks import Block, PackedBlock, Partition
from minigrad.optim.elementwise import Elementwise
from minigrad.optim.optimizer import Closure, Group, Optimizer
from minigrad.static.differentiate import SlotRows
from minigrad.static.ir import Args, Kwargs, NumpyFunction, ProgramError
from minigrad.static.slots import Slot
from minigrad.static.step_recorder import STEP_NUMBER, StepRecorder


def record_optimizer_step(
    recorder: StepRecorder,
    optimizer: Optimizer,
    closure: Closure | None = None,
    *args: object,
    **kwargs: object,
) -> None:
    """Takes the place of optimizer.step() while a step is recorded."""
    if closure is not None:
        raise ProgramError(
            "step(closure) cannot be recorded: the optimizer decides how often to call the closure."
        )
    is_recorded = update(recorder, optimizer)
    params = {id(p): p for group in optimizer.param_groups for p in group["params"]}
    for node in [p.node for p in params.values() if p.node is not None]:
        if isinstance(node.grad, (Slot, SlotRows)):
            setattr(recorder.leaf_of(node), "taken" if is_recorded else "needed", node.grad)
    if not is_recorded:
        # Not recorded: the program stores the gradients in .grad, and then the optimizer steps.
        recorder.after.append(optimizer.step)
        changed = [i for i, t in recorder.captured.items() if id(t) in params]
        recorder.late |= params.keys()
        recorder.later |= {*changed, *(recorder.current.get(i, i) for i in changed)}


def update(recorder: StepRecorder, optimizer: Optimizer) -> bool:
    """Record an optimizer's step; False if that is not possible."""
    if not isinstance(optimizer, Elementwise) or type(optimizer).__module__[:9] != "minigrad.":
        return False
    if optimizer._hooks["before_step"] or optimizer._hooks["after_step"]:
        return False
    begin = len(recorder.instructions)
    slots, made = len(recorder.slots), len(recorder.made)
    try:
        with recorder.stopping():
            for k, group in enumerate(optimizer.param_groups):
                _record_group(recorder, optimizer, k, group)
    except NotRecordable:
        if any(line.over is not None for line in recorder.instructions[begin:]):
            raise ProgramError(
                f"{type(optimizer).__name__} could only be recorded in part. To fix it, step it outside of the "
                "compiled function."
            ) from None
        return False
    del recorder.slots[
        slots:
    ]  # The optimizer keeps some of these, but they are not what the function stores.
    for i in [*recorder.made][made:]:
        del recorder.made[i]
    return True


def _record_group(recorder: StepRecorder, optimizer: Elementwise, k: int, group: Group) -> None:
    """Like Elementwise._step_group, but records the rule instead of running it."""
    if group.get("differentiable"):
        raise NotRecordable
    params, grads = [], []
    for p in group["params"]:
        g = p.grad if p.node is None else p.node.grad
        if isinstance(g, SlotRows):
            _write_rows(recorder, optimizer, group, p, g)
        elif isinstance(g, Slot):
            params.append(p)
            grads.append(g)
        elif g is not None:
            raise NotRecordable
    if params and not hasattr(optimizer, "_rule"):
        raise NotRecordable  # SparseAdam: its own step refuses dense gradients
    if params:
        if optimizer._partition(k, params, [p.array for p in params], group) is None:
            raise NotRecordable
        recorder.before.append(NextStep(recorder, optimizer, k, params, grads))


class NotRecordable(Exception):
    """The rule cannot be recorded: the optimizer will take its step itself, after each run."""


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """The stand-in for an array in a rule. The operations on it become instructions.

    slot   its current value
    home   the tensor in whose memory it is stored, if it outlives the step
    """

    slot: Slot

    def __init__(
        self, recorder: StepRecorder, slot: Slot | None = None, home: Tensor | None = None
    ) -> None:
        self.recorder, self.home = recorder, home
        if slot is not None:
            self.slot = slot

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: object
    ) -> "Symbol":
        op = OP_OF.get(ufunc)
        symbols = all(isinstance(x, Symbol) for x in inputs)
        if method != "__call__" or kwargs or op is None or not symbols:
            raise NotRecordable
        target = Symbol(self.recorder) if out is None else out[0]
        return target.set(op, *[x.slot for x in inputs])

    def set(self, op: Op, *slots: Slot) -> "Symbol":
        """Record the op, written to the memory of this symbol if it has a home."""
        if self.home is None:
            self.slot = self.recorder.apply(op, slots, {})
        else:
            self.slot = self.recorder.over(self.home, op, *slots)
        return self

    def __setitem__(self, index: object, value: Any) -> None:
        if index is not Ellipsis:
            raise NotRecordable
        if value is not self:
            self.set(ops.clone, value.slot)

    def __getitem__(self, index: object) -> NoReturn:
        raise NotRecordable

    def __array_function__(self, *details: object) -> NoReturn:
        raise NotRecordable


OP_OF: dict[np.ufunc, Op] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.negative: ops.neg,
    np.sqrt: ops.sqrt, np.maximum: ops.maximum, np.absolute: ops.abs,
}  # fmt: skip


class Counts:
    """Takes the place of the partition in an optimizer's _run: holds the counts of the next step."""

    def __init__(self, counts: list[Array]) -> None:
        self.counts = [c.copy() for c in counts]
        self.blocks: list[Part] = []


class Part(Block):
    """A block of Symbols: several small contiguous parameters, or one parameter.

    members   the positions of its parameters among those that have a gradient
    sources   these parameters
    cells     0-d arrays for the numbers of the rule
    """

    def __init__(
        self, recorder: StepRecorder, counts: Any, block: Block, params: list[Tensor]
    ) -> None:
        super().__init__(counts, block.index, False)
        self.recorder, self.block = recorder, block
        names, own = block.plan.names, block.plan.states[block.index]
        if isinstance(block, PackedBlock):
            self.members = block.choose(range(len(params)))
            homes = [recorder.holder(a, name) for a, name in zip(block.state, names, strict=True)]
        else:
            self.members = (block.index,)
            homes = [own[name] for name in names]
        self.sources = [params[k] for k in self.members]
        self.cells: list[Array] = []
        self.out, self.own, self.more = (self._symbol() for _ in range(3))
        state = []
        for home, name in zip(homes, names, strict=True):
            number = recorder.capture(home, name, as_memory=True)
            state.append(self._symbol(Slot(recorder, number), home))
        self.state = tuple(state)

    def _symbol(self, slot: Slot | None = None, home: Tensor | None = None) -> Any:
        return Symbol(self.recorder, slot, home)

    def numbers(self, values: tuple[float, ...]) -> list[Any]:
        """The numbers, as cells that NextStep fills before each run."""
        self.cells = [np.array(value, self.sources[0].array.dtype) for value in values]
        held = [self.recorder.held(cell, STEP_NUMBER) for cell in self.cells]
        return [self._symbol(Slot(self.recorder, i)) for i in held]

    def fetch(self, grads: Any) -> None:
        """Set g to the members' gradients, flattened and concatenated."""
        self.g = self._symbol(_concatenated([grads[k] for k in self.members]))

    def fetch_values(self) -> Any:
        """The latest values of the parameters, flattened and concatenated."""
        now = [Slot(self.recorder, self.recorder.number(p)) for p in self.sources]
        return self._symbol(_concatenated(now))

    def subtract(self, step: Any) -> None:
        """Record p -= step for each parameter."""
        start = 0
        for p in self.sources:
            size, shape = p.array.size, tuple(p.array.shape)
            d = step.slot
            if len(self.sources) > 1:
                d = d[start : start + size].reshape(shape)
            start += size
            self.recorder.over(p, ops.sub, Slot(self.recorder, self.recorder.number(p)), d)


def _concatenated(slots: list[Slot]) -> Slot:
    """Concatenate several values; a single one is returned unchanged."""
    if len(slots) == 1:
        return slots[0]
    row: Slot = ops.cat(*[s.reshape(-1) for s in slots], axis=0)
    return row


NO_CHOICES = {"lr", "foreach", "differentiable", "fused", "capturable"}


class NextStep:
    """Before each run, checks that the program still matches the optimizer's next step.

    look     get the step's numbers; False if the step would differ from the recording
    commit   count the step; False if there is nothing to count
    """

    def __init__(
        self,
        recorder: StepRecorder,
        optimizer: Elementwise,
        k: int,
        params: list[Tensor],
        grads: list[Slot],
    ) -> None:
        self.optimizer, self.k, self.group = optimizer, k, optimizer.param_groups[k]
        self.blocks: Partition = optimizer._plans[k]
        self.choices = [s for s in optimizer.defaults if s not in NO_CHOICES]
        self.settings = itemgetter(*self.choices, "lr")
        self.steady = not self.blocks.counts and not hasattr(self.group["lr"], "array")
        # The index of this step among the optimizer's steps in one run, counted from 0.
        self.nth = sum(getattr(a, "blocks", None) is self.blocks for a in recorder.before)
        self.counts = plan = Counts(self.blocks.counts)
        for block in self.blocks.blocks:
            part = Part(recorder, plan, block, params)
            part.first = self._is_first(block)
            # A large parameter is one part here, not split into pieces.
            if all(part.members != other.members for other in plan.blocks):
                plan.blocks.append(part)
        self._count(self.nth)
        with recorder.stopping():
            optimizer._run(plan, grads, self.group)  # type: ignore[arg-type]
        for part in plan.blocks:
            del part.g  # It would count as a value that the function stores.
        self.path = self._path()
        self.latest: Any = None
        self.fresh = True

    def _is_first(self, block: Block) -> bool:
        """Is this a special first step? Without dampening it is not, because momentum starts at 0."""
        return bool(block.first and not self.nth and self.group.get("dampening"))

    def _path(self) -> tuple[list[bool], list[bool]]:
        """The facts that decide the path of the rule: which settings are not 0, which blocks are at step 1."""
        first = [self._is_first(part.block) for part in self.counts.blocks]
        return [bool(self.group[s]) for s in self.choices], first

    def _count(self, steps: int) -> None:
        """Set the counts to those after this many more steps."""
        for ahead, real in zip(self.counts.counts, self.blocks.counts, strict=True):
            ahead[...] = real
        for _ in range(steps):
            self.optimizer._advance(self.counts, self.group)  # type: ignore[arg-type]

    def look(self) -> bool:
        """Store the numbers of the next step in the cells, without counting the step.

        Returns False if the optimizer has new memory or its rule would take another path: then the
        program must be recorded again.
        """
        if self.optimizer._plans.get(self.k) is not self.blocks:
            return False  # the optimizer's memory has moved
        now = self.settings(self.group)
        if now != self.latest:
            if self._path() != self.path:
                return False
            self.latest = now
        elif self.steady:
            return True
        self._count(self.nth + 1)
        for part in self.counts.blocks:
            numbers = self.optimizer._all_numbers(self.group, part.counts())
            if len(numbers) != len(part.cells):
                return False
            for cell, number in zip(part.cells, numbers, strict=True):
                cell[()] = number
        return True

    def commit(self) -> bool:
        """Write the new counts to the optimizer, and mark the first step of its blocks as done.

        Returns False if there are no counts; then commit does not have to be called again.
        """
        for ahead, real in zip(self.counts.counts, self.blocks.counts, strict=True):
            real[...] = ahead
        if self.fresh:
            for block in self.blocks.blocks:
                block.first = False
            self.fresh, self.latest = False, None
        return bool(self.blocks.counts)


# ------------------------------------------------------------------ row-sparse gradients


class Cell:
    """A number that the program reads from memory, updated before each run: a learning rate."""

    def __init__(self, ask: Callable[[], float], dtype: np.dtype[Any], of: object) -> None:
        self.ask, self.latest, self.of = ask, ask(), of
        self.array = np.array(self.latest, dtype)

    def look(self) -> bool:
        """Update the number. Always True: the program is valid for any number."""
        now = self.ask()
        if now != self.latest:
            self.array[...] = self.latest = now
        return True


def _cell(
    recorder: StepRecorder, ask: Callable[[], float], dtype: np.dtype[Any], of: object
) -> Slot:
    """A Slot for a number that is updated before each run.

    of   the owner of the number; all users with the same owner share a cell
    """
    for cell in recorder.before:
        if isinstance(cell, Cell) and cell.of is of and cell.array.dtype == dtype:
            return Slot(recorder, recorder.held(cell.array))
    cell = Cell(ask, dtype, of)
    recorder.before.append(cell)
    return Slot(recorder, recorder.held(cell.array, STEP_NUMBER))


def _write_rows(
    recorder: StepRecorder, optimizer: Optimizer, group: Group, p: Tensor, rows: SlotRows
) -> None:
    """Record the step for a row-sparse gradient, which only writes to its rows."""
    name = type(optimizer).__name__
    write = ROWS.get(name)
    if write is None or group.get("weight_decay") or group.get("momentum"):
        raise ProgramError(
            f"{name} with these settings has no formula for row-sparse gradients in a program. To fix it, use "
            "SGD without momentum, Adagrad without weight decay, or an Embedding with sparse=False; or stay with "
            "eager tensors."
        )
    write(recorder, optimizer, group, p, rows)


def _sgd_rows(
    recorder: StepRecorder, optimizer: Optimizer, group: Group, p: Tensor, rows: SlotRows
) -> None:
    """p[rows] -= lr * values, where a row may appear several times"""
    # All tables of a group share one cell, so that a product with it is only computed once.
    down = _cell(recorder, lambda: -float(group["lr"]), p.array.dtype, group)
    x = Slot(recorder, recorder.number(p))
    for at, values in rows.parts:
        g = -values if group["maximize"] else values
        x = recorder.over(p, ops.index_put, x, g * down, index=(at,), accumulate=True)


class InPlace(NumpyFunction):
    """A function that writes to its first argument and returns it."""

    effect = True

    def dry_run(self, *, args: Args, kwargs: Kwargs) -> Any:
        """The first argument, unchanged: the result has its shape and dtype."""
        first, *_ = args
        return first


def _write_adagrad_rows(
    recorder: StepRecorder, optimizer: Adagrad, group: Group, p: Tensor, rows: SlotRows
) -> None:
    """Record one instruction, because the rows to write depend on values: see adagrad_rows."""
    state = optimizer.state[p]
    optimizer._begin(p, group)
    count = state["step"]

    def rate() -> float:
        return float(group["lr"]) / (1 + float(count.array) * float(group["lr_decay"]))

    def counted() -> None:
        count.array = count.array + count.array.dtype.type(1)

    lr = _cell(recorder, rate, p.array.dtype, p)
    recorder.after.append(counted)
    sums = Slot(recorder, recorder.capture(state["sum"], "sum", as_memory=True))
    x = Slot(recorder, recorder.number(p))
    parts = [a for at, g in rows.parts for a in (at, (-g if group["maximize"] else g).array)]
    args = recorder.referred((x, sums, lr, float(group["eps"]), *parts))
    settings = {"args": args, "kwargs": {}}
    z = recorder.emit(InPlace("adagrad_rows", adagrad_rows), (), settings)
    recorder.became(p, z)


ROWS: dict[str, Callable[..., None]] = {"SGD": _sgd_rows, "Adagrad": _write_adagrad_rows}
