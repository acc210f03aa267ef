"""Updates: records the steps of optimizers as instructions of a training step.

This file contains no optimizer formulas. We run the optimizer's own rule (optim/sgd.py,
optim/adaptive.py) once, on stand-ins for arrays, and what it does with NumPy becomes instructions.
So a program makes exactly the optimizer's step, to the last bit.

    Part         a block of Symbols, like the blocks in blocks.py. Small parameters form one
                 block: their gradients are contiguous, and are updated together
    Ahead        runs before each run: counts the step, and asks the rule for its numbers
                 (learning rate, 1 - beta**t), which are cells of memory that the program reads

To get the numbers, we run the rule again, on stand-ins that only note them.
If the rule then takes another path than during recording (momentum's first step, RAdam's
first steps), the program is recorded again.

Read optim/blocks.py, scribe.py and step.py first. Row-sparse gradients have their own steps: rows.py.
"""

from operator import itemgetter
from typing import Any

from minigrad import ops
from minigrad.optim.blocks import Block, Packed
from minigrad.optim.blocks import Plan as Blocks
from minigrad.optim.elementwise import Elementwise
from minigrad.static.instruction import ProgramError
from minigrad.static.rows import Rows, write_rows
from minigrad.static.scribe import NotWritten, Scribe, Symbol, Writer
from minigrad.static.slot import Slot


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
