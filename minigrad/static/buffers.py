"""Buffer allocation: assigns each value of a program to a reusable buffer.

A value gets a buffer when it is computed. It is live until it, or a view of it, is read for
the last time. Then its buffer is free for another value of the same size and dtype. An
elementwise op may overwrite an operand that it is the last to read. A buffer has the memory
layout of the recorded value, so a transpose stays a transpose.

Values that must be contiguous (the gradients of small parameters, for an optimizer) are
computed directly in their slices of one buffer.

The method is simple: we go through the values once, in the order they are computed,
and reuse the buffer that was freed last, because it is most likely still in the cache.

Read ir.py first. codegen.py writes the source that uses these buffers.
"""

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.core.plan import slice_text
from minigrad.core.shapes import Array
from minigrad.core.views import axes_in_memory
from minigrad.static.ir import Instruction, Program, Value, dry_run

SMALL = 8192  # entries; for larger arrays, NumPy's own broadcasting is as fast as copying first
Part = tuple[slice, ...]
Axes = tuple[int, ...]


class NamedArray(NamedTuple):
    """Preallocated memory: its name in the source, and a 1-d array."""

    name: str
    array: Array


class Buffers:
    """The memory of a program whose source is being written.

    memory     number -> the array that always stores the value, if there is one
    storage    number -> its buffer, while the value is alive
    free       (dtype, size) -> the buffers that are currently free
    fixed      number -> the name of its memory outside of `run`
    last       number -> the last instruction that reads the value, or a view of it
    places     number -> (the row that the value is a part of, its slice of that row)
    rows       number of a row -> its buffer, and the name and array in the row's shape
    wide       (number, shape) -> the buffer with the value broadcast to that shape, and its name
    imports    module -> the names that the source imports from it
    header     the lines before `run`
    """

    by_entry: tuple[Any, ...] = ()  # templates that may write to an operand

    def __init__(self, program: Program, reuse: bool) -> None:
        self.program, self.reuse = program, reuse
        self.values = program.values
        self.imports: dict[str, set[str]] = {"numpy": set()}
        self.header: list[str] = []
        self.memory: dict[int, Array] = {}
        self.storage: dict[int, NamedArray] = {}
        self.free: dict[tuple[str, int], list[NamedArray]] = {}
        self.fixed: dict[int, str] = {}
        self.plain_names: set[str] = set()
        self.buffer_bytes = 0
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self.examples = run_of(program)
        self.ends: dict[int, list[int]] = {}
        self.last = self._last_uses()
        self.places = self._slices_of_rows() if reuse else {}
        self.rows: dict[int, tuple[NamedArray, str, Array]] = {}
        self.wide: dict[tuple[int, tuple[int, ...]], tuple[NamedArray, str]] = {}

    def take(self, *names: str, module: str = "numpy") -> str:
        """Import names, from NumPy or another module; returns the last one."""
        self.imports.setdefault(module, set()).update(names)
        return names[-1]

    def new_name(self, prefix: str) -> str:
        """A name that is not in use yet: the prefix with a number."""
        self._counts[prefix] = self._counts.get(prefix, -1) + 1
        return f"{prefix}{self._counts[prefix]}"

    def once(self, text: str, prefix: str = "m") -> str:
        """The name of a variable in the header that holds the result of this expression."""
        if text not in self._names:
            self._names[text] = self.new_name(prefix)
            self.header.append(f"{self._names[text]} = {text}")
        return self._names[text]

    def _last_uses(self) -> dict[int, int]:
        """Number -> the last instruction that reads the value, or a possible view of it.

        A view op sometimes has to copy. So reading its result counts as a read of every value
        that the result may be a view of.
        """
        self.shows: dict[int, int] = {}  # possible view -> the value that it views
        last: dict[int, int] = {}
        for k, line in enumerate(self.program.instructions):
            last[line.result] = k
            for i in line.operands:
                if line.op.view or may_show(self.examples[line.result], self.examples[i]):
                    self.shows[line.result] = i
            last |= {j: k for i in line.reads() for j in self.shown_by(i)}
        end = len(self.program.instructions) + 1
        last |= {j: end for i in self.program.outputs for j in self.shown_by(i)}
        for i, k in last.items():
            self.ends.setdefault(k, []).append(i)
        return last

    def shown_by(self, i: int) -> Iterator[int]:
        """The value, and all values that it may be a view of."""
        yield i
        while (x := self.shows.get(i)) is not None:
            yield x
            i = x

    # ------------------------------------------------------------------ taking and freeing

    def release(self, k: int) -> None:
        """Free the buffers of values that were read for the last time, by the k-th instruction."""
        if not self.reuse:
            return
        ended = self.ends.get(k, ())
        freed = [self.storage.pop(i) for i in ended if i in self.storage]
        freed += [self.wide.pop(key)[0] for key in list(self.wide) if key[0] in ended]
        for buffer in freed:
            key = buffer.array.dtype.str, buffer.array.size
            self.free.setdefault(key, []).append(buffer)

    def free_or_new(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NamedArray:
        """A free buffer of this size and dtype, or a new one."""
        size = prod(shape)
        waiting = self.free.get((dtype.str, size))
        if waiting:
            return waiting.pop()
        buffer = NamedArray(self.new_name("b"), np.empty(size, dtype))
        self.take("empty", name_in_numpy(dtype))
        self.header.append(f"{buffer.name} = empty({size}, {name_in_numpy(dtype)})")
        self.buffer_bytes += buffer.array.nbytes
        return buffer

    def buffer_for(self, k: int, line: Instruction, write: object) -> str:
        """The name of a buffer with the shape of the line's result: a free one or a new one."""
        i, value = line.result, self.values[line.result]
        if i in self.places:
            return self._slice_in_row(i)
        order = _axes_in_memory(self.examples[i])
        over = self._overwritable(k, line, write, order) if self.reuse else None
        if over is None:
            buffer = self.free_or_new(value.shape, value.dtype)
        else:
            buffer = self.storage.pop(over)
        self.storage[i] = buffer
        stored = buffer.array.reshape([value.shape[a] for a in order])
        self.memory[i] = stored.transpose([order.index(a) for a in range(len(order))])
        self.fixed[i] = self.shaped(buffer, value.shape, order)
        return self.fixed[i]

    def _overwritable(self, k: int, line: Instruction, write: object, order: Axes) -> int | None:
        """An operand that the result may overwrite: this is its last read."""
        if write in self.by_entry:
            candidates = line.operands
        elif line.op.inplace and line.op.kind == "elementwise" and write is None:
            candidates = line.operands[:1]
        else:
            return None
        for x in candidates:
            if x not in self.storage or self.last.get(x) != k:
                continue
            alike = self.values[x][1:3] == self.values[line.result][1:3]
            others = [y for y in line.reads() if y != x]
            if alike and _axes_in_memory(self.memory[x]) == order:
                if not any(x in self.shown_by(y) for y in others):
                    return x
        return None

    def shaped(self, buffer: NamedArray, shape: tuple[int, ...], order: Axes | None = None) -> str:
        """The name of a buffer reshaped to `shape`; the first use adds a line to the header."""
        axes = tuple(range(len(shape)))
        order = order or axes
        text = f"{buffer.name}.reshape({', '.join(str(shape[a]) for a in order)})"
        if order != axes:
            text += f".transpose({', '.join(str(order.index(a)) for a in axes)})"
        name = self.once(text, f"{buffer.name}_")
        if order == axes:
            self.plain_names.add(name)
        return name

    # ------------------------------------------------------------------ rows

    def _slices_of_rows(self) -> dict[int, tuple[int, Part]]:
        """The values that are computed directly in their slice of a row.

        A row is the result of ops.cat. A value can be computed in its slice if no
        instruction after the concatenation reads it.
        """
        made = {line.result: line for line in self.program.instructions}
        places: dict[int, tuple[int, Part]] = {}
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
                if source is not None and i not in places and self._fits_in_row(i, source, k):
                    places[i] = line.result, part
        return places

    def _fits_in_row(self, i: int, source: Instruction, k: int) -> bool:
        value, z = self.values[i], self.examples[i]
        if source.op.view or source.over is not None or not value.shape or self.last.get(i) != k:
            return False
        if i in self.shows or is_row(source, self.values):
            return False
        return self.writes_into_buffer(source) and bool(z.flags.c_contiguous)

    def writes_into_buffer(self, line: Instruction) -> bool:
        """Will the line of this instruction write to a buffer? Defined in codegen.py."""
        raise NotImplementedError

    def row_of(self, z: int) -> tuple[NamedArray, str, Array]:
        """The buffer of a row, and its name and array in the row's shape; allocated on first use."""
        if z not in self.rows:
            value = self.values[z]
            buffer = self.free_or_new(value.shape, value.dtype)
            name = self.shaped(buffer, value.shape)
            self.rows[z] = buffer, name, buffer.array.reshape(value.shape)
        return self.rows[z]

    def _slice_in_row(self, i: int) -> str:
        """The name of the slice of a row that stores i."""
        z, part = self.places[i]
        _, name, row = self.row_of(z)
        shape = self.values[i].shape
        self.memory[i] = row[part].reshape(shape)
        text = f"{name}[{part_text(part)}]"
        if row.ndim == 1:
            text += f".reshape({', '.join(map(str, shape))})"
        self.fixed[i] = self.once(text, f"{name}_")
        if self.memory[i].flags.c_contiguous:
            self.plain_names.add(self.fixed[i])
        return self.fixed[i]

    # ------------------------------------------------------------------ questions

    def memory_of(self, i: int) -> Array | None:
        """The array that holds the value i in every run; None if there is none."""
        if i in self.memory:
            return self.memory[i]
        kind = self.values[i].kind
        if kind == "constant":
            return self.program.examples[i]
        return self.program.captured[i].array if kind == "captured" else None

    def shares(self, i: int, j: int) -> bool:
        """Do two values share memory?"""
        a, b = self.memory_of(i), self.memory_of(j)
        return a is not None and b is not None and np.may_share_memory(a, b)


def run_of(program: Program) -> dict[int, Any]:
    """Every value of the program, computed from its examples. We need their memory layouts."""
    return program.all_values([program.examples[i] for i in program.inputs], dry_run)


def is_row(line: Instruction, values: list[Value]) -> bool:
    """Does this instruction concatenate several values?"""
    if line.op is not ops.cat or line.over is not None or not values[line.result].shape:
        return False
    return all(values[i].dtype == values[line.result].dtype for i in line.operands)


def parts_of(line: Instruction, values: list[Value]) -> Iterator[tuple[int, Part]]:
    """The values that a row is made of, and the slice of each."""
    n = len(values[line.result].shape)
    axis = line.settings.get("axis", 0) % n
    start = 0
    for i in line.operands:
        size = values[i].shape[axis]
        yield i, (*(slice(None),) * axis, slice(start, start + size))
        start += size


def part_text(part: Part) -> str:
    """The source of a slice of a row: ":, 2:5" is all of the first axis, 2 to 4 of the second."""
    return ", ".join(map(slice_text, part))


def name_in_numpy(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in NumPy's namespace, which the source imports: float64, bool_"""
    return "bool_" if dtype.kind == "b" else str(dtype.name)


def may_show(z: Array, x: Array) -> bool:
    """Could z be a view of x? Compares only the bounds of their memory, so it errs toward yes."""
    return isinstance(z, np.ndarray) and isinstance(x, np.ndarray) and np.may_share_memory(z, x)


def _axes_in_memory(a: Array) -> Axes:
    """The axes of an array from the slowest to the fastest varying: its memory layout."""
    row_major = tuple(range(np.ndim(a)))
    if not isinstance(a, np.ndarray) or any(s <= 0 and n > 1 for s, n in zip(a.strides, a.shape)):
        return row_major
    return axes_in_memory(a) or row_major
