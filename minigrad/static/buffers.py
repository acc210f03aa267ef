"""Buffers: which value is stored in which buffer.

A value gets a buffer when it is computed. It is alive until its last read, either of the value
itself or of a view of it. Then its buffer is free for another value of the same size
and dtype. An elementwise op may write to its own operand's buffer, if this is the operand's last
read. A buffer has the memory layout of the recorded value, so a transpose stays a transpose.

Values that must be contiguous (the gradients of small parameters, for an optimizer) are
computed in place: each is a slice of one buffer from the start.

Otherwise the method is simple: we go through the values once, in the order in which they are computed,
and reuse the buffer that was freed last, as it is most likely still in the cache.

Read ir.py first. codegen.py writes the source that uses these buffers.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.ir import Instruction, Program, rehearsed

SMALL = 8192  # entries; for larger arrays, NumPy's own broadcasting is as fast as copying first


class Buffers:
    """The memory of a program whose source is being written.

    memory     number -> the array in which a value is always stored, if there is one
    storage    number -> its buffer, as (name, 1-d array), while the value is alive
    free       (dtype, size) -> the buffers that are currently free
    fixed      number -> the name of its memory outside of `run`
    last       number -> the last instruction that reads it, or a view of it
    places     number -> (the row that it is a part of, its slice of that row)
    wide       (number, shape) -> the buffer in which the value is repeated to that shape
    """

    pointwise: tuple[Any, ...] = ()  # templates whose line may write to an operand

    def __init__(self, program: Program, reuse: bool) -> None:
        self.program, self.reuse = program, reuse
        self.values = program.values
        self.header: list[str] = []
        self.memory: dict[int, Any] = {}
        self.storage: dict[int, tuple[str, Any]] = {}
        self.free: dict[Any, list[tuple[str, Any]]] = {}
        self.fixed: dict[int, str] = {}
        self.shown: dict[Any, str] = {}
        self.counts: dict[str, int] = {}
        self.plain_names: set[str] = set()
        self.buffers = 0
        self.buffer_bytes = 0
        self.ends: dict[int, list[int]] = {}
        self.examples = run_of(program)
        self.last = self._last_uses()
        self.places = self._places() if reuse else {}
        self.rows: dict[int, tuple[str, Any]] = {}
        self.row_storage: dict[int, tuple[str, Any]] = {}
        self.wide: dict[Any, tuple[str, Any, str]] = {}

    def take(self, *names: str) -> str:
        """Import names from NumPy; returns the last one. Defined in source.py."""
        raise NotImplementedError

    def _last_uses(self) -> dict[int, int]:
        """Number -> the last instruction that reads it, or what may be a view of it.

        A view op may have to copy. So if an instruction reads what may be a view, we count this as
        a read of every value that it may be a view of.
        """
        self.shows: dict[int, int] = {}  # what may be a view -> of which value
        last: dict[int, int] = {}
        for k, line in enumerate(self.program.instructions):
            last[line.result] = k
            for i in line.operands:
                if line.op.view or may_show(self.examples[line.result], self.examples[i]):
                    self.shows[line.result] = i
            for i in line.reads():
                for j in self.shown_by(i):
                    last[j] = k
        for i in self.program.outputs:
            for j in self.shown_by(i):
                last[j] = len(self.program.instructions) + 1
        for i, k in last.items():
            self.ends.setdefault(k, []).append(i)
        return last

    def shown_by(self, i: int) -> Iterator[int]:
        """The value, and all values that it may be a view of."""
        yield i
        while (x := self.shows.get(i)) is not None:
            yield x
            i = x

    def _release(self, k: int) -> None:
        """Free the buffers of values that were read for the last time."""
        if not self.reuse:
            return
        for i in self.ends.get(k, ()):
            if i in self.storage:
                self._set_free(*self.storage.pop(i))
        gone = self.ends.get(k, ())
        for key in [key for key in self.wide if key[0] in gone]:
            self._set_free(*self.wide.pop(key)[:2])

    def _set_free(self, name: str, row: Any) -> None:
        self.free.setdefault((row.dtype.str, row.size), []).append((name, row))

    def _buffer_for(self, k: int, line: Instruction, write: Any) -> str:
        """The name of a buffer with the shape of the line's result: a free one or a new one."""
        i = line.result
        value = self.values[i]
        size = int(np.prod(value.shape))
        order = axes_in_memory(self.examples[i])
        if i in self.places:
            return self._in_its_place(i)
        over = self._over(k, line, write, order) if self.reuse else None
        if over is not None:
            name, row = self.storage.pop(over)
        else:
            name, row = self._row(size, value.dtype)
        self.storage[i] = name, row
        shaped = self._shaped(name, row, value.shape, order)
        self.memory[i] = in_order(row, value.shape, order)
        self.fixed[i] = shaped
        return shaped

    def _row(self, size: int, dtype: Any) -> tuple[str, Any]:
        """A free buffer of this size and dtype, or a new one."""
        waiting = self.free.get((dtype.str, size))
        if waiting:
            return waiting.pop()
        name, row = f"b{self.buffers}", np.empty(size, dtype)
        self.buffers += 1
        self.buffer_bytes += row.nbytes
        self.header.append(f"{name} = empty({size}, {type_name(dtype)})")
        self.take("empty", type_name(dtype))
        return name, row

    def _places(self) -> dict[int, tuple[int, Any]]:
        """The values that are computed directly in their row: see the top of this module.

        A row is ops.cat of some values. A value can be computed in its row if it is not
        read after the row is made.
        """
        made = {line.result: line for line in self.program.instructions}
        places: dict[int, tuple[int, Any]] = {}
        for k, line in enumerate(self.program.instructions):
            if not is_row(line, self.values):
                continue
            for i, part in parts_of(line, self.values):
                source = made.get(i)
                while source is not None and len(self.values[line.result].shape) == 1:
                    if source.op not in (ops.reshape, ops.view, ops.unsafe_view):
                        break
                    i = source.operands[0]
                    source = made.get(i)
                if source is not None and i not in places and self._can_lie(i, source, k):
                    places[i] = line.result, part
        return places

    def _can_lie(self, i: int, source: Instruction, k: int) -> bool:
        value, z = self.values[i], self.examples[i]
        if source.op.view or source.over is not None or not value.shape or self.last.get(i) != k:
            return False
        if i in self.shows or is_row(source, self.values):
            return False
        return self.writes_into_buffer(source) and bool(z.flags.c_contiguous)

    def writes_into_buffer(self, line: Instruction) -> bool:
        """Will the line of this instruction write to a buffer? Defined in source.py."""
        raise NotImplementedError

    def _row_of(self, z: int) -> tuple[str, Any]:
        """The buffer of a row, in its shape. Some of its parts may already be computed."""
        if z not in self.rows:
            value = self.values[z]
            shape = value.shape
            name, row = self._row(int(np.prod(shape)), value.dtype)
            self.row_storage[z] = name, row
            self.rows[z] = self._shaped(name, row, shape, tuple(range(len(shape)))), row.reshape(shape)  # fmt: skip
        return self.rows[z]

    def _in_its_place(self, i: int) -> str:
        """The name of the part of a row in which i is stored."""
        z, part = self.places[i]
        name, row = self._row_of(z)
        shape = self.values[i].shape
        self.memory[i] = row[part].reshape(shape)
        key = name, str(part), shape
        if key not in self.shown:
            self.shown[key] = self._another(name)
            again = f".reshape({', '.join(map(str, shape))})" if row.ndim == 1 else ""
            self.header.append(f"{self.shown[key]} = {name}[{part_text(part)}]{again}")
            if self.memory[i].flags.c_contiguous:
                self.plain_names.add(self.shown[key])
        self.fixed[i] = self.shown[key]
        return self.fixed[i]

    def _over(self, k: int, line: Instruction, write: Any, order: tuple[int, ...]) -> int | None:
        """An operand that the result may overwrite: this is its last read."""
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
            shares = [y for y in line.reads() if y != x and x in self.shown_by(y)]
            if not shares:
                return x
        return None

    def _another(self, name: str) -> str:
        """A new name for this memory, for use in another shape."""
        count = self.counts[name] = self.counts.get(name, -1) + 1
        return f"{name}_{count}"

    def _shaped(self, name: str, row: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> str:
        """The name of a buffer in one shape; the first use adds a line to the header."""
        key = (name, shape, order)
        known = self.shown.get(key)
        if known is None:
            known = self.shown[key] = self._another(name)
            text = f"{name}.reshape({', '.join(str(shape[a]) for a in order)})"
            if order != tuple(range(len(shape))):
                text += f".transpose({', '.join(str(order.index(a)) for a in range(len(shape)))})"
            self.header.append(f"{known} = {text}")
            if order == tuple(range(len(shape))):
                self.plain_names.add(known)
        return known

    def _memory_of(self, i: int) -> Any:
        """The array that always holds the value i; None if there is none."""
        if i in self.memory:
            return self.memory[i]
        kind = self.values[i].kind
        if kind == "constant":
            return self.program.examples[i]
        if kind == "captured":
            return self.program.captured[i].array
        return None

    def memory_is_plain(self, out: str) -> bool:
        """Is the buffer with that name stored row by row, as np.dot requires?"""
        return out in self.plain_names

    def shares(self, i: int, j: int) -> bool:
        """Do two values share memory?"""
        a, b = self._memory_of(i), self._memory_of(j)
        return a is not None and b is not None and bool(np.may_share_memory(a, b))


def run_of(program: Program) -> dict[int, Any]:
    """Every value of the program, computed from its examples: needed for the memory layouts."""
    known = program.known_at_first([program.examples[i] for i in program.inputs])
    with np.errstate(all="ignore"):
        for line in program.instructions:
            line.run(known, rehearsed)
    return known


def is_row(line: Instruction, values: Any) -> bool:
    """Does this instruction concatenate several values?"""
    if line.op is not ops.cat or line.over is not None or not values[line.result].shape:
        return False
    return all(values[i].dtype == values[line.result].dtype for i in line.operands)


def parts_of(line: Instruction, values: Any) -> Iterator[tuple[int, Any]]:
    """The values that a row is made of, and the slice of each."""
    n = len(values[line.result].shape)
    axis = line.settings.get("axis", 0) % n
    start = 0
    for i in line.operands:
        size = values[i].shape[axis]
        yield i, (*(slice(None),) * axis, slice(start, start + size))
        start += size


def part_text(part: Any) -> str:
    """The source of a slice of a row: ":, 2:5" is all of the first axis, 2 to 4 of the second."""
    return ", ".join(":" if s.start is None else f"{s.start}:{s.stop}" for s in part)


def type_name(dtype: Any) -> str:
    """The name of a dtype in NumPy's namespace, from which the source imports it: float64, bool_"""
    return "bool_" if dtype.kind == "b" else str(dtype.name)


def may_show(z: Any, x: Any) -> bool:
    """Could z be a view of x? Compares only the bounds of their memory, so it errs toward yes."""
    return isinstance(z, np.ndarray) and isinstance(x, np.ndarray) and np.may_share_memory(z, x)


def axes_in_memory(a: Any) -> tuple[int, ...]:
    """The axes from the slowest to the fastest: the memory layout of such an array."""
    if not isinstance(a, np.ndarray) or a.flags.c_contiguous:
        return tuple(range(np.ndim(a)))
    strides = a.strides
    if any(s <= 0 and n > 1 for s, n in zip(strides, a.shape, strict=True)):
        return tuple(range(a.ndim))
    return tuple(sorted(range(a.ndim), key=lambda i: (-strides[i], i)))


def in_order(row: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """A 1-d array in this shape, with its axes stored in this order."""
    z = row.reshape([shape[a] for a in order])
    return z.transpose([order.index(a) for a in range(len(shape))])
