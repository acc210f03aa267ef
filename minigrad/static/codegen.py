"""Code generation: a program as plain NumPy source, in preallocated memory.

When a program is called, it runs op by op, and each op allocates its result. A Plan looks at
the whole list in advance: it gives each value a buffer, makes views of buffers once, and
writes the remaining work as plain NumPy. From then on it only runs this source:

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

The price: inputs must have the recorded shapes and dtypes; and with `copy=False`
the results are in the plan's own memory, which the next run overwrites.

A template writes the source line of an op. There are three tables of templates:

    VIEWS         x.T, x.reshape(...): for views
    EXPRESSIONS   v1 * v2: if the result is a 0-d value
    STATEMENTS    dot(x, y, out): if the result is an array, written to a buffer

An elementwise op that is a NumPy ufunc needs no entry: its line is multiply(x, y, out). Any other op
without an entry becomes a call of its own function in minigrad.ops, which is plain NumPy too.

Read ir.py and buffers.py first.
"""

import keyword
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter, is_
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.sparse import PAIRS
from minigrad.core.views import shows
from minigrad.ops.elementwise import FEW
from minigrad.static.buffers import SMALL, Buffers, is_row, part_text, parts_of, type_name
from minigrad.static.ir import (
    Draw,
    Foreign,
    Instruction,
    Kernel,
    Program,
    Ref,
    forward_of,
    resolved,
)
from minigrad.static.passes import LESS, adds_rows, thinned
from minigrad.static.tracing import Memory

Lines = str | list[str] | None
Template = Callable[..., Lines]

# --------------------------------------------------------------------------------- views

VIEWS: dict[Any, Callable[..., str]] = {
    ops.t: lambda writer, line, x: f"{x}.T",
    ops.permute: lambda writer, line, x: f"{x}.transpose{line.settings['axes']}",
    ops.transpose: lambda writer, line, x: (
        f"{x}.swapaxes({line.settings['axis0']}, {line.settings['axis1']})"
    ),
    ops.reshape: lambda writer, line, x: f"{x}.reshape({shape_text(line)})",
    ops.view: lambda writer, line, x: f"{x}.reshape({shape_text(line)})",
    ops.unsafe_view: lambda writer, line, x: f"{x}.reshape({shape_text(line)})",
    ops.squeeze: lambda writer, line, x: f"{x}.squeeze({line.settings['axis']})",
    ops.unsqueeze: lambda writer, line, x: (
        f"{writer.take('expand_dims')}({x}, {line.settings['axis']})"
    ),
    ops.expand: lambda writer, line, x: f"{writer.take('broadcast_to')}({x}, {shape_text(line)})",
    ops.getitem: lambda writer, line, x: f"{x}[{index_text(writer, line)}]",
}


def shape_text(line: Any) -> str:
    """The shape setting as source: (2, 3). NumPy's integers become plain ones."""
    shape = tuple([int(n) for n in line.settings["shape"]])
    return str(shape)


def index_text(writer: Any, line: Any) -> str:
    """An index as source: 0, 1:3"""
    index = line.settings["index"]
    parts = index if isinstance(index, tuple) else (index,)
    return (
        ", ".join(_slice_text(p) if isinstance(p, slice) else writer.spelled(p) for p in parts)
        or "()"
    )


def _slice_text(s: slice) -> str:
    start, stop = ("" if n is None else str(n) for n in (s.start, s.stop))
    return f"{start}:{stop}" + ("" if s.step is None else f":{s.step}")


# ------------------------------------------------------------------- 0-d values


def operator(sign: str) -> Template:
    """A template for x + y, x * y, ...: the sign between two 0-d operands."""

    def write(writer: Any, line: Any, out: Any) -> Lines:
        x, y = (writer.use(i, among_numbers=True) for i in line.operands)
        return f"{x} {sign} {y}"

    return write


def function(name: str) -> Template:
    """A template for exp(x): a call of this NumPy function on 0-d operands."""

    def write(writer: Any, line: Any, out: Any) -> Lines:
        return f"{writer.take(name)}({', '.join(writer.use(i, True) for i in line.operands)})"

    return write


def total(writer: Any, line: Any, out: Any) -> Lines:
    """The sum of all entries."""
    (x,) = line.operands
    if not writer.values[x].shape or writer.values[x].dtype != writer.values[line.result].dtype:
        return None
    return f"{writer.take('add')}.reduce({writer.use(x)}, None)"


def mean_of_all(writer: Any, line: Any, out: Any) -> Lines:
    """The sum of all entries / their number. None if x is 0-d or empty."""
    (x,) = line.operands
    v = writer.values[x]
    if not v.shape or not np.prod(v.shape):
        return None
    n = writer.number(v.dtype.type(np.prod(v.shape)), among_numbers=True)
    return f"{writer.take('add')}.reduce({writer.use(x)}, None) / {n}"


def inner(writer: Any, line: Any, out: Any) -> Lines:
    """x.dot(y) for two vectors. None for operands with more axes."""
    x, y = line.operands
    if len(writer.values[x].shape) != 1 or len(writer.values[y].shape) != 1:
        return None
    return f"{writer.use(x)}.dot({writer.use(y)})"


EXPRESSIONS: dict[Any, Template] = {
    ops.add: operator("+"), ops.sub: operator("-"), ops.mul: operator("*"), ops.div: operator("/"),
    ops.neg: lambda writer, line, out: f"-{writer.use(line.operands[0], True)}",
    ops.exp: function("exp"), ops.log: function("log"), ops.sqrt: function("sqrt"),
    ops.sin: function("sin"), ops.cos: function("cos"), ops.tanh: function("tanh"),
    ops.sum: total, ops.mean: mean_of_all, ops.dot: inner, ops.matmul: inner,
}  # fmt: skip


# ---------------------------------------------------------------------- arrays, in buffers


def rectify(writer: Any, line: Any, out: Any) -> Lines:
    """maximum(x, 0, out=...). The zero has the dtype of x."""
    (x,) = line.operands
    zero = writer.number(writer.values[x].dtype.type(0))
    return f"{writer.take('maximum')}({writer.use(x)}, {zero}, out={out})"


def select(writer: Any, line: Any, out: Any) -> Lines:
    """x where c, else 0; for a large array, ops.keep is faster."""
    x, c = line.operands
    if np.prod(writer.values[line.result].shape) >= FEW:
        return None
    return [
        f"{out}.fill(0)",
        f"{writer.take('copyto')}({out}, {writer.use(x)}, where={writer.use(c)})",
        out,
    ]


def product(writer: Any, line: Any, out: Any) -> Lines:
    """x.dot(y, out) for vectors and matrices in a plain buffer, else matmul(x, y, out)."""
    x, y = line.operands
    a, b = len(writer.values[x].shape), len(writer.values[y].shape)
    if 0 < a < 3 > b > 0 and writer.memory_is_plain(out):
        return f"{writer.use(x)}.dot({writer.right(line)}, {out})"
    return f"{writer.take('matmul')}({writer.use(x)}, {writer.use(y)}, {out})"


def affine(writer: Any, line: Any, out: Any) -> Lines:
    """b + x @ y, in two lines."""
    settings = {**line.op.settings, **line.settings}
    if (
        settings["beta"] != 1
        or settings["alpha"] != 1
        or writer.values[line.result].dtype.kind != "f"
    ):
        return None
    b, x, y = line.operands
    if writer.shares(b, line.result):
        return None
    if writer.memory_is_plain(out):
        first = f"{writer.use(x)}.dot({writer.right(line)}, {out})"
    else:
        first = f"{writer.take('matmul')}({writer.use(x)}, {writer.use(y)}, {out})"
    return [
        first,
        f"{writer.take('add')}({out}, {writer.repeated(b, line, out)}, {out})",
    ]


def sum_along(writer: Any, line: Any, out: Any) -> Lines:
    """add.reduce(x, axis, None, out). None if the sum has another dtype than x."""
    (x,) = line.operands
    if writer.values[x].dtype != writer.values[line.result].dtype:
        return None
    axis = line.settings.get("axis")
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    keep = ", True" if line.settings.get("keepdims") else ""
    return f"{writer.take('add')}.reduce({writer.use(x)}, {axis}, None, {out}{keep})"


POWERS = {2: "square", 1: "positive", 0.5: "sqrt", -1: "reciprocal"}


def power(writer: Any, line: Any, out: Any) -> Lines:
    """x ** 2 is square(x), as in NumPy."""
    x, y = line.operands
    if writer.values[y].kind != "constant" or writer.values[y].shape:
        return f"{writer.take('power')}({writer.use(x)}, {writer.use(y)}, {out})"
    n = writer.program.examples[y].item()
    name = POWERS.get(n) if writer.values[x].dtype.kind == "f" else None
    if name is not None:
        return f"{writer.take(name)}({writer.use(x)}, {out})"
    return f"{writer.take('power')}({writer.use(x)}, {writer.use(y)}, {out})"


def copy_into(writer: Any, line: Any, out: Any) -> Lines:
    """A copy, with another dtype or layout."""
    (x,) = line.operands
    return [f"{out}[...] = {writer.use(x)}", out]


def repeat(writer: Any, line: Any, out: Any) -> Lines:
    """A repeated value has no memory that never moves, so it is copied."""
    (x,) = line.operands
    return [f"{out}[...] = {writer.use(x)}", out]


def reshape_copy(writer: Any, line: Any, out: Any) -> Lines:
    """NumPy cannot make a view in this shape, so the entries are copied, in order."""
    (x,) = line.operands
    return [f"{out}[...] = {writer.use(x)}.reshape({shape_text(line)})", out]


def sigmoid(writer: Any, line: Any, out: Any) -> Lines:
    """(1 + tanh(x / 2)) / 2"""
    (x,) = line.operands
    half = writer.number(writer.values[line.result].dtype.type(0.5))
    writer.take("multiply", "tanh", "add")
    return [
        f"multiply({writer.use(x)}, {half}, {out})",
        f"tanh({out}, {out})",
        f"multiply({out}, {half}, {out})",
        f"add({out}, {half}, {out})",
    ]


def gates(writer: Any, line: Any, out: Any) -> Lines:
    """A sigmoid of three quarters, (1 + tanh(x / 2)) / 2, and the tanh of one."""
    (x,) = line.operands
    scale = by_quarter(writer, line, [0.5, 0.5, 1.0, 0.5])
    shift = by_quarter(writer, line, [0.5, 0.5, 0.0, 0.5])
    writer.take("multiply", "tanh", "add")
    return [
        f"multiply({writer.use(x)}, {scale}, {out})",
        f"tanh({out}, {out})",
        f"multiply({out}, {scale}, {out})",
        f"add({out}, {shift}, {out})",
    ]


def gates_dx(writer: Any, line: Any, out: Any) -> Lines:
    """g * z * (1 - z), but g * (1 - z**2) in the third quarter: there (0 - z) * z + 1."""
    g, z = line.operands
    first = by_quarter(writer, line, [1.0, 1.0, 0.0, 1.0])
    last = by_quarter(writer, line, [0.0, 0.0, 1.0, 0.0])
    writer.take("multiply", "subtract", "add")
    return [
        f"subtract({first}, {writer.use(z)}, {out})",
        f"multiply({writer.use(z)}, {out}, {out})",
        f"add({out}, {last}, {out})",
        f"multiply({writer.use(g)}, {out}, {out})",
    ]


def by_quarter(writer: Any, line: Any, numbers: list[float]) -> str:
    """A number for each quarter of the last axis; in the whole shape if it is small."""
    v = writer.values[line.result]
    text = (
        f"{writer.take('array')}({numbers}, {writer.take(v.dtype.name)}).repeat({v.shape[-1] // 4})"
    )
    if np.prod(v.shape) <= SMALL:
        text = f"{writer.take('tile')}({text}, {(*v.shape[:-1], 1)})"
    return str(writer.once(text))


def rows(writer: Any, line: Any, out: Any) -> Lines:
    """Rows of a table. (Into new memory: take with `out` is only fast without bounds checks.)"""
    return f"{writer.use(line.operands[0])}.take({writer.spelled(line.settings['index'])}, 0)"


def add_to_rows(writer: Any, line: Any, out: Any) -> Lines:
    """table[rows] += values, where a row may appear more than once: see sparse.add_rows.

    If the memory never moves, the line does directly what add_rows does: rows become the indices of
    their entries, and two neighbors become one complex number.
    """
    if not adds_rows(line, writer.values):
        return None
    index, (_, y) = line.settings["index"], line.operands
    short = scatter(writer, line, writer.use(index[0].number), out)
    if short is not None:
        return [short, out]
    writer.imports["add_rows"] = "sparse"
    sign = "-" if line.op is LESS else ""
    return [f"add_rows({out}, {writer.use(index[0].number)}, {sign}{writer.use(y)})", out]


def scatter(writer: Any, line: Any, at: str, out: str) -> str | None:
    """add.at(pairs of the table, the numbers of the rows' pairs, pairs of the values)"""
    x, y = line.operands
    table, values = writer._memory_of(x), writer._memory_of(y)
    pair = PAIRS.get(writer.values[x].dtype)
    if table is None or values is None or pair is None or table.ndim != 2 or table.shape[1] % 2:
        return None
    if not (table.flags.c_contiguous and values.flags.c_contiguous) or table.size > 1 << 24:
        return None
    if values.dtype != table.dtype or not table.size:
        return None
    kind, width = pair.__name__, table.shape[1] // 2
    names = [
        writer.once(f"{name}.reshape(-1).view({writer.take(kind)})")
        for name in (out, writer.fixed_name(y))
    ]
    n = f"{len(table)}, {width}"
    numbers = writer.once(f"{writer.take('arange')}({len(table) * width}).reshape({n})")
    way = writer.take("subtract" if line.op is LESS else "add")
    return f"{way}.at({names[0]}, {numbers}.take({at}, 0).ravel(), {names[1]})"


STATEMENTS: dict[Any, Template] = {
    ops.relu: rectify, ops.keep: select, ops.sigmoid: sigmoid, ops.embedding: rows,
    ops.lstm_gates: gates, Kernel(ops.lstm_gates, "x"): gates_dx,
    ops.matmul: product, ops.mm: product, ops.mv: product,
    ops.addmm: affine,
    ops.sum: sum_along,
    ops.pow: power,
    ops.to: copy_into, ops.clone: copy_into,
    ops.expand: repeat,
    ops.reshape: reshape_copy, ops.view: reshape_copy, ops.unsafe_view: reshape_copy,
}  # fmt: skip


FRESH = (rows,)  # templates whose result has new memory in each run
OVER: dict[Any, Template] = {
    ops.index_put: add_to_rows,
    LESS: add_to_rows,
}  # writes to the first operand
BY_ENTRY = (rectify, power, sigmoid)  # templates that may write to their first operand


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
            imports.append("from minigrad.static.training_step import adagrad_rows")
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
        z = forward_of(line.op, [memory], settings)
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


array_of = attrgetter("array")


class Plan:
    """A program in preallocated memory. Call it like the program.

    program   what it computes; simplified first
    reuse     may values that are not alive at the same time share a buffer?
    copy      copy the results out of the plan's memory, so that the next run does not change them?

    source        the source that it runs
    buffer_bytes  the total size of its buffers

    >>> import minigrad
    >>> from minigrad import static
    >>> p = static.record(lambda x, w: (x @ w).relu())(minigrad.ones(8, 4), minigrad.ones(4, 2))
    >>> plan = p.plan()
    >>> plan(minigrad.ones(8, 4), minigrad.ones(4, 2))[0]
    tensor([4., 4.])
    >>> print(plan.source)
    from numpy import array, empty, float32, maximum
    import numpy as np
    <BLANKLINE>
    b0 = empty(16, float32)
    b0_0 = b0.reshape(8, 2)
    n0 = array(0.0, float32)
    <BLANKLINE>
    def run(x, w):
        v2 = x.dot(w, b0_0)
        v3 = maximum(v2, n0, out=b0_0)
        return v3,
    <BLANKLINE>
    """

    def __init__(self, program: Program, *, reuse: bool = True, copy: bool = True) -> None:
        self.original, self.reuse, self.copy = program, reuse, copy
        self.program = thinned(program.simplified())
        self._compile()

    def _compile(self) -> None:
        writer = Writer(self.program, self.reuse)
        self.source = writer.text
        self.buffer_bytes = writer.buffer_bytes
        scope: dict[str, Any] = {**writer.scope, "__name__": "minigrad.static.replay"}
        exec(compile(self.source, "<minigrad program>", "exec"), scope)
        self.function = scope["run"]
        self.wanted = [self.program.values[i] for i in self.program.inputs]
        self.tensors = [t for t in self.program.captured.values() if not isinstance(t, Memory)]
        self.arrays_bound = [t.array for t in self.tensors]

    def __call__(self, *inputs: Any) -> Any:
        """The outputs for these inputs, as tensors."""
        results = self.arrays(*inputs)
        if self.copy:
            results = tuple([np.array(a) if isinstance(a, np.ndarray) else a for a in results])
        return self.program.packed(results)

    def run(self, **named: Any) -> Any:
        """The same, with inputs given by name."""
        return self(*self.program.in_order(named))

    def arrays(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs as arrays, in the plan's own memory."""
        self.rebind()
        return self.function(*self.program.checked(inputs))

    def rebind(self) -> None:
        """Write the source again if a captured tensor has other memory now (p.data = ...)."""
        if not all(map(is_, map(array_of, self.tensors), self.arrays_bound)):
            self._compile()

    def __repr__(self) -> str:
        return f"<Plan of {self.program!r}: {self.buffer_bytes} bytes of buffers>"
