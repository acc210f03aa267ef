"""Source: a program as plain NumPy, in preallocated memory. The plan runs exactly the printed source.

    b0 = empty((8, 2), float32)          buffers, made once

    def run(x, w):
        v2 = x.dot(w, b0)                %2 = matmul(%0, %1), written to b0
        v3 = maximum(v2, n0, out=b0)     %3 = relu(%2): the last read of %2, so it reuses its buffer
        return v3

    buffers    a value gets a buffer when it is computed; after its last use, the buffer is
               free for another value. An elementwise op may write to its own operand
    views      of memory that never moves are made once, next to the buffers
    numbers    0-d values are local Python variables, with operators: v3 = v1 * v2. NumPy
               needs 40 ns for this, and 300 ns with a 0-d array

templates.py defines the line for each op. Read program.py first.
"""

import keyword
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.views import shows
from minigrad.static.instruction import Draw, Foreign, Instruction, Kernel, Ref, computed, resolved
from minigrad.static.memory import SMALL, Buffers, is_row, part_text, parts_of, type_name
from minigrad.static.program import Program
from minigrad.static.templates import BY_ENTRY, EXPRESSIONS, FRESH, OVER, STATEMENTS, VIEWS


class Writer(Buffers):
    """Writes the source of a program, and holds the values of its names.

    reuse   may values that are not alive at the same time share memory?
    scope   the names that the source uses but does not define: constants, captured memory
    """

    def __init__(self, program: Program, reuse: bool = True) -> None:
        super().__init__(program, reuse)
        self.scope: dict[str, Any] = {}
        self.body: list[str] = []
        self.imports: dict[str, str] = {}
        self.names: dict[int, str] = {}
        self.made_by = {line.result: line for line in program.instructions}
        self.numbers: dict[Any, str] = {}
        self.kernels: list[str] = []
        self.made: dict[str, str] = {}
        self.right_operands = Counter(
            [line.operands[-1] for line in program.instructions if line.op in PRODUCTS]
        )
        self.live_numbers: set[int] = set()  # captured 0-d tensors that are read as numbers
        self._name_inputs()
        self.text = self._write()

    # ------------------------------------------------------------------ the text

    def _write(self) -> str:
        for k, line in enumerate(self.program.instructions):
            self._line(k, line)
            self._release(k)
        inputs = [self.names[i] for i in self.program.inputs]
        begin = [
            f"{n} = {n}[()]"
            for n, i in zip(inputs, self.program.inputs, strict=True)
            if not self.values[i].shape
        ]
        begin += [f"s{i} = {self.names[i]}[()]" for i in sorted(self.live_numbers)]
        results = ", ".join([self.use(i) for i in self.program.outputs])
        tail = "," if len(self.program.outputs) == 1 else ""
        results = results or "()"
        imports = [
            f"from numpy import {', '.join(sorted(n for n, m in self.imports.items() if m == 'numpy'))}"
        ]
        if imports == ["from numpy import "]:
            imports = []
        imports.append("import numpy as np")
        rows = sorted(n for n, m in self.imports.items() if m == "ops")
        if "add_rows" in self.imports:
            imports.append("from minigrad.core.sparse import add_rows")
        if any(isinstance(line.op, Draw) for line in self.program.instructions):
            imports.append("from minigrad.random import kernels as draw")
        if any(
            getattr(line.op, "name", "") == "adagrad_rows" for line in self.program.instructions
        ):
            imports.append("from minigrad.static.rows import adagrad_rows")
        if rows or self.kernels:
            imports.append("from minigrad import ops")
        aliases = [f"{n} = ops.{n.removesuffix('_')}.forward" for n in rows] + self.kernels
        body = [*begin, *self.body, f"return {results}{tail}"]
        return "\n".join(
            [
                *imports,
                "",
                *aliases,
                *self.header,
                "",
                f"def run({', '.join(inputs)}):",
                *(f"    {b}" for b in body),
                "",
            ]
        )

    def _line(self, k: int, line: Instruction) -> None:
        i = line.result
        if line.over is not None:
            self._line_over(line)
            return
        if line.op.view and not line.refs and self._view(line):
            return
        if self.reuse and is_row(line, self.values):
            self._row_line(line)
            return
        out = None
        scalar = not self.values[i].shape
        write = self._template(line)
        if not scalar and write not in FRESH and (line.op.takes_out or write is not None):
            out = self._buffer_for(k, line, write)
        self.names[i] = f"v{i}"
        text = write(self, line, out) if write is not None else None
        if text is None:
            text = self._call(line, out if line.op.takes_out and not scalar else None)
            if out is not None and not line.op.takes_out:
                self.body.append(f"{out}[...] = {text}")
                text = out
        self._put(i, text)

    def _template(self, line: Instruction) -> Any:
        scalar = not self.values[line.result].shape
        write = (EXPRESSIONS if scalar else STATEMENTS).get(line.op)
        if not scalar and write is None and ufunc_of(line) is not None:
            write = elementwise
        return write

    def writes_into_buffer(self, line: Instruction) -> bool:
        """True if the op takes `out`, or has a template that writes to one."""
        write = self._template(line)
        return write not in FRESH and (line.op.takes_out or write is not None)

    def _row_line(self, line: Instruction) -> None:
        """Concatenated values: those that were not computed in place are copied."""
        z = line.result
        name, row = self._row_of(z)
        for i, part in parts_of(line, self.values):
            memory = self.memory.get(i)
            there = row[part]
            if memory is not None and same_memory(memory, there):
                continue
            self.body.append(f"{name}[{part_text(part)}] = {self.use(i)}")
        self.storage[z] = self.row_storage[z]
        self.memory[z] = row
        self.names[z] = self.fixed[z] = name

    def _put(self, i: int, text: Any) -> None:
        """Add the lines of an instruction; the last one is the expression for its result."""
        lines = [text] if isinstance(text, str) else text
        self.body += lines[:-1]
        if lines[-1].isidentifier() and i in self.memory:
            self.names[i] = lines[-1]  # it is stored in its usual memory, under that name
        else:
            self.names[i] = f"v{i}"
            self.body.append(f"v{i} = {lines[-1]}")

    def _line_over(self, line: Instruction) -> None:
        """A line that writes its result to the memory of a captured tensor."""
        assert line.over is not None
        i, out = line.result, self._names_of_captured(line.over)
        memory = self.program.captured[line.over].array
        own = bool(line.operands) and self._memory_of(line.operands[0]) is memory
        text: Any = None
        if ufunc_of(line) is not None:
            text = elementwise(self, line, out)
        elif own and line.op in OVER:
            text = OVER[line.op](self, line, out)
        if text is None and own and line.op.inplace:
            text = self._call(line, out)
        if text is None:
            text = [f"{out}[...] = {self._call(line, None)}", out]
        self.memory[i], self.fixed[i] = memory, out
        self._put(i, text)

    # ------------------------------------------------------------------ views

    def _view(self, line: Instruction) -> bool:
        """A view of memory that never moves is made once; a view of an input, in each run."""
        (x,) = line.operands
        i = line.result
        template = VIEWS.get(line.op)
        if not self.values[i].shape or not self.values[x].shape:
            if self.values[x].shape and template is not None:  # one entry, as a number
                self.names[i] = f"v{i}"
                self.body.append(f"v{i} = {template(self, line, self.use(x))}[()]")
                return True
            return False
        if template is None:
            template = lambda writer, line, x: writer._call(line, None, [x])
        memory = self._memory_of(x)
        if memory is None:  # an input, or a value with new memory in each run
            self.names[i] = f"v{i}"
            self.body.append(f"v{i} = {template(self, line, self.use(x))}")
            return True
        settings = resolved(line.settings, self.program.examples.__getitem__)
        z = computed(line.op, [memory], settings)
        if not shows(z, memory):
            return False  # NumPy had to copy: this must be done in each run
        self.names[i] = f"w{i}"
        self.header.append(f"w{i} = {template(self, line, self.fixed_name(x))}")
        self.memory[i] = z
        return True

    def fixed_name(self, i: int) -> str:
        """The name of a value's memory outside of run."""
        return self.fixed.get(i) or self.use(i)

    # ------------------------------------------------------------------ names

    def _name_inputs(self) -> None:
        taken = set(RESERVED)
        for i, name in zip(self.program.inputs, self.program.names, strict=True):
            clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
            if not clean.isidentifier() or keyword.iskeyword(clean):
                clean = f"x{i}"
            while clean in taken or (
                clean[:1] in "bcmnpsvwk" and clean[1:].replace("_", "").isdigit()
            ):
                clean += "_"
            taken.add(clean)
            self.names[i] = clean

    def use(self, i: int, among_numbers: bool = False) -> str:
        """The name for reading the value i, inside run.

        among_numbers   are the other operands 0-d? With them, NumPy is twice as fast if a constant
                        is a number, and with arrays if it is a 0-d array
        """
        value = self.values[i]
        if value.kind == "constant" and i not in self.made_by:
            return self._constant(i, among_numbers)
        if value.kind == "captured":
            name = self._names_of_captured(i)
            if not value.shape and among_numbers:
                self.live_numbers.add(i)
                return f"s{i}"
            return name
        return self.names[i]

    def _names_of_captured(self, i: int) -> str:
        """The name of a captured tensor's array, p3 for number 3; added to the scope at first."""
        name = self.names.get(i)
        if name is None:
            name = self.names[i] = f"p{i}"
            self.scope[name] = self.program.captured[i].array
            v = self.values[i]
            what = v.name or "a captured tensor"
            self.header.append(f"# {name}: the memory of {what}, {v.shape} {v.dtype}")
        return name

    def _constant(self, i: int, among_numbers: bool) -> str:
        a = self.program.examples[i]
        if not a.shape:
            return self.number(a[()], among_numbers)
        name = f"c{i}"
        if name not in self.scope:
            self.scope[name] = a
            if _uniform(a):
                self.take("full")
                self.take(a.dtype.name)
                self.header.append(
                    f"{name} = full({a.shape}, {literal(a.flat[0])}, {a.dtype.name})"
                )
            elif 0 < a.size <= 6:
                self.take("array")
                self.take(a.dtype.name)
                self.header.append(f"{name} = array({a.tolist()!r}, {a.dtype.name})")
            else:
                self.header.append(f"# {name}: a constant, {a.shape} {a.dtype}")
        return name

    def number(self, number: Any, among_numbers: bool = False) -> str:
        """The name of a constant number: a NumPy scalar if among_numbers, else a 0-d array."""
        key = (number.dtype.str, number.tobytes(), among_numbers)
        name = self.numbers.get(key)
        if name is None:
            name = self.numbers[key] = f"n{len(self.numbers)}"
            kind = type_name(number.dtype)
            self.take(kind)
            if among_numbers:
                self.header.append(f"{name} = {kind}({literal(number)})")
            else:
                self.take("array")
                self.header.append(f"{name} = array({literal(number)}, {kind})")
        return name

    def once(self, text: str) -> str:
        """The name of the result of this expression, which is computed before the first run."""
        name = self.made.get(text)
        if name is None:
            name = self.made[text] = f"m{len(self.made)}"
            self.header.append(f"{name} = {text}")
        return name

    def take(self, *names: str) -> str:
        """Import names from NumPy; returns the last one."""
        for name in names:
            self.imports[name] = "numpy"
        return names[-1]

    def repeated(self, i: int, line: Instruction, out: str, beside: Iterable[int] = ()) -> str:
        """The name for reading the value i in an elementwise line, in the shape of the line's result.

        beside   the other values that the line reads

        NumPy needs 0.9 us to add a bias to a small matrix, but only 0.15 us to copy it to each row,
        and 0.25 us to add two matrices of the same shape. So we copy it first, once for all lines.
        """
        value, shape = self.values[i], self.values[line.result].shape
        size = int(np.prod(shape))
        if not value.shape or value.shape == shape or size > SMALL or not self.memory_is_plain(out):
            return self.use(i)
        for j in beside:
            memory = self._memory_of(j)
            if self.values[j].shape == shape and memory is not None and not memory.flags.c_contiguous:  # fmt: skip
                return self.use(i)
        if value.kind == "constant" and i not in self.made_by:
            kind = self.take("full", type_name(value.dtype))
            return self.once(f"full({shape}, {self.use(i)}, {kind})")
        return self._copied(i, shape)

    def right(self, line: Instruction) -> str:
        """The name for reading the right operand of a product.

        A layer stores its weights as (out, in) and multiplies by w.T, which is stored column by column.
        With this layout BLAS is up to three times slower. So if a loop multiplies by the same
        matrix many times, we copy it once, row by row. (Only if the sums are the same to
        the last bit.)
        """
        x, y = line.operands[-2:]
        a, b, memory = self.values[x], self.values[y], self._memory_of(y)
        *_, root = self.shown_by(y)
        if (
            self.right_operands[y] < OFTEN or memory is None or self.values[root].kind != "captured"
            or len(a.shape) != 2 or memory.ndim != 2 or memory.flags.c_contiguous
            or memory.size > 8 * SMALL or not same_sums(*a.shape, b.shape[1], b.dtype)
        ):  # fmt: skip
            return self.use(y)
        return self._copied(y, b.shape)

    def _copied(self, i: int, shape: tuple[int, ...]) -> str:
        """The name of a copy of a value in this shape, row by row; made on first use."""
        if (i, shape) not in self.wide:
            source, dtype = self.use(i), self.values[i].dtype
            name, row = self._row(int(np.prod(shape)), dtype)
            shaped = self._shaped(name, row, shape, tuple(range(len(shape))))
            self.wide[i, shape] = name, row, shaped
            self.body.append(f"{shaped}[...] = {source}")
        return self.wide[i, shape][2]

    # ------------------------------------------------------------------ any op

    def _call(self, line: Instruction, out: str | None, operands: list[str] | None = None) -> str:
        """A call of the op's own function."""
        if isinstance(line.op, Foreign):
            args = [self.spelled(a) for a in line.settings["args"]]
            args += [f"{k}={self.spelled(v)}" for k, v in line.settings["kwargs"].items()]
            return f"{line.op.name}({', '.join(args)})"
        if isinstance(line.op, Kernel):
            name = line.op.name
            alias = f'{name} = ops.{line.op.op.name}.rules["{line.op.input}"].formula'
            if alias not in self.kernels:
                self.kernels.append(alias)
            parts = [
                f"{n}={self.use(i)}" for n, i in zip(line.op.operands, line.operands, strict=True)
            ]
            parts[0] = parts[0].removeprefix("g=")
            return f"{name}({', '.join([*parts, *(f'{k}={self.spelled(v)}' for k, v in line.settings.items())])})"
        name = line.op.name
        if hasattr(np, name) or name in RESERVED:
            name += "_"
        self.imports[name] = "ops"
        args = operands or [
            self.use(i, among_numbers=not self.values[line.result].shape) for i in line.operands
        ]
        args = [*args, *(f"{k}={self.spelled(v)}" for k, v in line.settings.items())]
        if out is not None:
            args.append(f"out={out}")
        return f"{name}({', '.join(args)})"

    def spelled(self, setting: Any) -> str:
        """A setting as Python source."""
        if isinstance(setting, Ref):
            return self.use(setting.number)
        if isinstance(setting, (tuple, list)) and not hasattr(setting, "_fields"):
            inner = ", ".join(map(self.spelled, setting))
            if isinstance(setting, list):
                return f"[{inner}]"
            return f"({inner}{',' * (len(setting) == 1)})"
        if isinstance(setting, slice):
            return f"slice({setting.start}, {setting.stop}, {setting.step})"
        if setting is None or setting is Ellipsis or isinstance(setting, (bool, int, str)):
            return "..." if setting is Ellipsis else repr(setting)
        if isinstance(setting, float) and np.isfinite(setting):
            return repr(setting)
        for name, known in self.scope.items():
            if known is setting:
                return name
        name = f"k{len(self.scope)}"
        self.scope[name] = setting
        what = (
            f"{setting.shape} {setting.dtype}" if isinstance(setting, np.ndarray) else repr(setting)
        )
        self.header.append(f"# {name}: a constant, {what}")
        return name


RESERVED = {"np", "ops", "run", "empty", "full", "array", "copyto"} | set(dir(np)) | set(dir(ops))


def same_memory(a: Any, b: Any) -> bool:
    """Do two arrays cover the same memory, in the same order?"""
    begin = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    alike = a.ndim == 1 or a.flags.c_contiguous or a.strides == b.strides
    return bool(begin and a.size == b.size and alike)


PRODUCTS = (ops.matmul, ops.mm, ops.addmm)
OFTEN = 4  # copy the operand if at least this many products use it


@lru_cache(maxsize=256)
def same_sums(n: int, k: int, m: int, dtype: Any) -> bool:
    """Does (n, k) @ (k, m) add up in the same order for any memory layout of the second matrix?

    The order depends on the shapes and on the BLAS library, not on the values; so we try it out.
    """
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((8, *shape)).astype(dtype) for shape in ((n, k), (m, k)))
    return all(bool((a.dot(b.T) == a.dot(b.T.copy())).all()) for a, b in zip(x, y, strict=True))


def literal(number: Any) -> str:
    """A NumPy number as source that reproduces it to the last bit."""
    value = number.item()
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _uniform(a: Any) -> bool:
    """Is it a C-ordered array of numbers or booleans that are all equal? Then full() makes it."""
    return (
        bool(a.size)
        and a.dtype.kind in "fiub"
        and bool((a == a.flat[0]).all())
        and bool(a.flags.c_contiguous)
    )


def ufunc_of(line: Instruction) -> Any:
    """The NumPy ufunc that computes an elementwise op on its own; or None."""
    f = line.op.numpy
    if (
        isinstance(f, np.ufunc)
        and line.op.takes_out
        and f.nin == len(line.operands)
        and not line.settings
    ):
        return f
    return None


def elementwise(writer: Writer, line: Instruction, out: str) -> str:
    """multiply(v1, v2, b0)"""
    f = ufunc_of(line)
    if f in (np.maximum, np.minimum):
        out = f"out={out}"  # NumPy warns about three positional arguments
    shape = writer.values[line.result].shape
    operands = [writer.use(i) for i in line.operands]
    if any(writer.values[i].shape == shape for i in line.operands):
        operands = [writer.repeated(i, line, out, line.operands) for i in line.operands]
    return f"{writer.take(f.__name__)}({', '.join([*operands, out])})"


# May write to an operand, because each entry only depends on the same entry.
Writer.pointwise = (elementwise, *BY_ENTRY)
