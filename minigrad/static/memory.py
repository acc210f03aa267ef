"""Memory: which value lies in which buffer.

A value gets a buffer when it is computed. It is alive until it has been read for the last time,
by itself or through a view of it; then its buffer is free for another value of the same size
and type. An elementwise op may write over its own operand, if that is read there for the last
time. A buffer lies in memory as the recorded value did, so that channels-last stays so.

Nothing here is clever: values are looked at once, in the order in which they are computed, and
the buffer that became free last is taken first, as it is most likely in the cache.

Read program.py first. source.py writes the text that uses these buffers.
"""

from typing import Any

import numpy as np

from minigrad.static.instruction import Instruction, resolved
from minigrad.static.program import Program


class Buffers:
    """The memory of a program that is being written down.

    memory     number -> the very array in which a value always lies, if there is one
    storage    number -> its buffer, as (name, row of numbers), as long as the value is alive
    free       (type, size) -> the buffers that nobody needs at the moment
    fixed      number -> the name of its memory outside of `run`
    last       number -> the last instruction that reads it, or a view of it
    """

    pointwise: tuple[Any, ...] = ()  # templates whose line may write over an operand

    def __init__(self, program: Program, reuse: bool) -> None:
        self.program, self.reuse = program, reuse
        self.values = program.values
        self.header: list[str] = []
        self.memory: dict[int, Any] = {}
        self.storage: dict[int, tuple[str, Any]] = {}
        self.free: dict[Any, list[tuple[str, Any]]] = {}
        self.fixed: dict[int, str] = {}
        self.shown: dict[Any, str] = {}
        self.plain_names: set[str] = set()
        self.buffers = 0
        self.buffer_bytes = 0
        self.ends: dict[int, list[int]] = {}
        self.examples = run_of(program)
        self.last = self._last_uses()

    def take(self, *names: str) -> str:
        raise NotImplementedError

    def _last_uses(self) -> dict[int, int]:
        """Root -> the last instruction that reads it, or a view of it."""
        root: dict[int, int] = {}
        last: dict[int, int] = {}
        for k, line in enumerate(self.program.instructions):
            last[line.result] = k
            for i in line.reads():
                last[root.get(i, i)] = k
            for i in line.operands:
                if line.op.view or may_show(self.examples[line.result], self.examples[i]):
                    root[line.result] = root.get(i, i)
                    last[root[line.result]] = k
        for i in self.program.outputs:
            last[root.get(i, i)] = len(self.program.instructions) + 1
            last[i] = len(self.program.instructions) + 1
        self.conservative_root = root
        for i, k in last.items():
            self.ends.setdefault(k, []).append(i)
        return last

    def _release(self, k: int) -> None:
        """The buffers whose value has been read for the last time are free."""
        if not self.reuse:
            return
        for i in self.ends.get(k, ()):
            if i in self.storage:
                name, row = self.storage.pop(i)
                self.free.setdefault((row.dtype.str, row.size), []).append((name, row))

    def _buffer_for(self, k: int, line: Instruction, write: Any) -> str:
        """The name of a buffer with the shape of the line's result: a free one, or a new one."""
        i = line.result
        value = self.values[i]
        size = int(np.prod(value.shape))
        order = axes_in_memory(self.examples[i])
        over = self._over(k, line, write, order) if self.reuse else None
        if over is not None:
            name, row = self.storage.pop(over)
        else:
            waiting = self.free.get((value.dtype.str, size)) or []
            if waiting:
                name, row = waiting.pop()
            else:
                name, row = f"b{self.buffers}", np.empty(size, value.dtype)
                self.buffers += 1
                self.buffer_bytes += row.nbytes
                self.header.append(f"{name} = empty({size}, {value.dtype.name})")
                self.take("empty", value.dtype.name)
        self.storage[i] = name, row
        shaped = self._shaped(name, row, value.shape, order)
        self.memory[i] = in_order(row, value.shape, order)
        self.fixed[i] = shaped
        return shaped

    def _over(self, k: int, line: Instruction, write: Any, order: tuple[int, ...]) -> int | None:
        """An operand that the result may be written over: it is read here for the last time."""
        value = self.values[line.result]
        if write in self.pointwise:
            candidates = line.operands
        elif line.op.inplace and line.op.kind == "elementwise" and write is None:
            candidates = line.operands[:1]
        else:
            return None
        for x in candidates:
            if (
                x not in self.storage
                or self.last.get(x) != k
                or self.values[x].dtype != value.dtype
            ):
                continue
            if self.values[x].shape != value.shape or axes_in_memory(self.memory[x]) != order:
                continue
            shares = [y for y in line.reads() if y != x and self.conservative_root.get(y, y) == x]
            if not shares:
                return x
        return None

    def _shaped(self, name: str, row: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> str:
        """The name of a buffer in one shape; a line in the header where it is first needed."""
        key = (name, shape, order)
        known = self.shown.get(key)
        if known is None:
            known = self.shown[key] = f"{name}_{len([1 for n, *_ in self.shown if n == name])}"
            text = f"{name}.reshape({', '.join(str(shape[a]) for a in order)})"
            if order != tuple(range(len(shape))):
                text += f".transpose({', '.join(str(order.index(a)) for a in range(len(shape)))})"
            self.header.append(f"{known} = {text}")
            if order == tuple(range(len(shape))):
                self.plain_names.add(known)
        return known

    def _memory_of(self, i: int) -> Any:
        """The array that always holds the value i; None if there is no such."""
        if i in self.memory:
            return self.memory[i]
        kind = self.values[i].kind
        if kind == "constant":
            return self.program.examples[i]
        if kind == "captured":
            return self.program.captured[i].array
        return None

    def memory_is_plain(self, out: str) -> bool:
        """Does the buffer of that name lie in memory row by row, as np.dot wants it?"""
        return out in self.plain_names

    def shares(self, i: int, j: int) -> bool:
        """Do two values lie in the same memory?"""
        a, b = self._memory_of(i), self._memory_of(j)
        return a is not None and b is not None and bool(np.may_share_memory(a, b))


def run_of(program: Program) -> dict[int, Any]:
    """Every value of the program, for its examples: their layout in memory is what is wanted."""
    known = dict(program.examples)
    known.update({i: t.array for i, t in program.captured.items()})
    with np.errstate(all="ignore"):
        for line in program.instructions:
            settings = resolved(line.settings, known.__getitem__)
            known[line.result] = line.op.forward(*[known[i] for i in line.operands], **settings)
    return known


def may_show(z: Any, x: Any) -> bool:
    return isinstance(z, np.ndarray) and isinstance(x, np.ndarray) and np.may_share_memory(z, x)


def axes_in_memory(a: Any) -> tuple[int, ...]:
    """The axes from the slowest to the quickest: how an array of such a layout lies in memory."""
    if not isinstance(a, np.ndarray) or a.flags.c_contiguous:
        return tuple(range(np.ndim(a)))
    strides = a.strides
    if any(s <= 0 and n > 1 for s, n in zip(strides, a.shape, strict=True)):
        return tuple(range(a.ndim))
    return tuple(sorted(range(a.ndim), key=lambda i: (-strides[i], i)))


def in_order(row: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """A row of numbers as an array of this shape, whose axes lie in memory in this order."""
    z = row.reshape([shape[a] for a in order])
    return z.transpose([order.index(a) for a in range(len(shape))])
