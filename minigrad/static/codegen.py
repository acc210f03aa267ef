"""Code generation: a program as plain NumPy source, in preallocated memory.

A program that is called runs op by op, and each op allocates its result. A BufferPlan analyzes
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
    STATEMENTS    dot(x, y, out): if the result is an array, which is written to a buffer

An elementwise op that is a NumPy ufunc needs no entry: its line is multiply(x, y, out). Any other op
without an entry becomes a call of its own function in minigrad.ops, which is plain NumPy too.

Read ir.py and buffers.py first.
"""

import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import prod
from operator import attrgetter, is_
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.plan import listed, slice_text
from minigrad.core.shapes import Array, may_widen
from minigrad.core.sparse import PAIRS
from minigrad.core.views import shows
from minigrad.ops.elementwise import FEW
from minigrad.static.buffers import SMALL, Buffers, is_row, name_in_numpy, part_text, parts_of
from minigrad.static.ir import (
    AnyOp,
    Draw,
    Instruction,
    NumpyFunction,
    Program,
    Ref,
    RuleOp,
    forward_of,
    resolved,
)
from minigrad.static.passes import LESS, adds_rows, lowered

PRODUCTS = (ops.matmul, ops.mm, ops.addmm)
OFTEN = 4  # copy the operand if at least this many products use it
RESERVED = {"np", "ops", "run", "empty", "full", "array", "copyto"} | set(dir(np)) | set(dir(ops))
# The functions that a template calls.
CALLED = re.compile(r"(?<![.\w])[a-z]\w+(?=\(|\.(?:reduce|at)\()")


class Writer(Buffers):
    """Writes the source of a program, and holds the values of its names.

    reuse     may values that are not live at the same time share memory?
    text      the source
    scope     the names that the source uses but does not define: constants, captured memory
    aliases   lines that give functions of ops a name
    """

    def __init__(self, program: Program, reuse: bool = True) -> None:
        super().__init__(program, reuse)
        self.scope: dict[str, Any] = {}
        self.body: list[str] = []
        self.names: dict[int, str] = {}
        self.made_by = {line.result: line for line in program.instructions}
        self.aliases: set[str] = set()
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
            self.release(k)
        inputs = [self.names[i] for i in self.program.inputs]
        numbers = [self.names[i] for i in self.program.inputs if not self.values[i].shape]
        begin = [f"{n} = {n}[()]" for n in numbers]
        begin += [f"s{i} = {self.names[i]}[()]" for i in sorted(self.live_numbers)]
        results = listed([self.use(i) for i in self.program.outputs])
        body = [*begin, *self.body, f"return {results or '()'}"]
        if self.aliases:
            self.take("ops", module="minigrad")
        imports = [f"from {m} import {', '.join(sorted(n))}" for m, n in self.imports.items() if n]
        first = [*imports, "import numpy as np", "", *sorted(self.aliases), *self.header, ""]
        run = [f"def run({', '.join(inputs)}):", *(f"    {line}" for line in body), ""]
        return "\n".join([*first, *run])

    def filled(self, text: str, **names: object) -> str:
        """A template with names filled in. The NumPy functions that it calls are imported."""
        self.imports["numpy"].update(CALLED.findall(text))
        return text.format(**names)

    def lines(self, line: Instruction, out: str, *texts: str, **names: object) -> list[str]:
        """The source lines of an instruction. Templates name its operands as its op does."""
        for name, i in zip(line.op.operands, line.operands, strict=False):
            if f"{{{name}}}" in "".join(texts):
                names[name] = self.use(i, among_numbers=not out)
        return [self.filled(text, out=out, **names) for text in texts]

    def _line(self, k: int, line: Instruction) -> None:
        i = line.result
        if line.over is not None:
            self._overwriting_line(line)
            return
        if line.op.view and not line.refs and self._view(line):
            return
        if self.reuse and is_row(line, self.values):
            self._row_line(line)
            return
        out = ""
        write = self._template(line)
        if self.values[i].shape and self.writes_into_buffer(line):
            out = self.buffer_for(k, line, write)
        lines = None if write is None else write(self, line, out)
        if lines is None and out and not line.op.takes_out:
            lines = [f"{out}[...] = {self._call(line)}", out]
        self._put(i, lines or self._call(line, out))

    def _template(self, line: Instruction) -> "Template | None":
        if not self.values[line.result].shape:
            return EXPRESSIONS.get(line.op)
        write = STATEMENTS.get(line.op)
        return _elementwise if write is None and _ufunc_of(self, line) is not None else write

    def writes_into_buffer(self, line: Instruction) -> bool:
        """True if the op takes `out`, or has a template that writes to one."""
        write = self._template(line)
        return write not in FRESH and (line.op.takes_out or write is not None)

    def _row_line(self, line: Instruction) -> None:
        """Add the lines of a concatenation: copies the values that were not computed in place."""
        z = line.result
        buffer, name, row = self.row_of(z)
        for i, part in parts_of(line, self.values):
            memory = self.memory.get(i)
            if memory is None or not _same_memory(memory, row[part]):
                self.body.append(f"{name}[{part_text(part)}] = {self.use(i)}")
        self.storage[z], self.memory[z] = buffer, row
        self.names[z] = self.fixed[z] = name

    def _put(self, i: int, text: str | list[str]) -> None:
        """Add the lines of an instruction; the last one is the expression for its result."""
        *lines, last = [text] if isinstance(text, str) else text
        self.body += lines
        if last.isidentifier() and i in self.memory:
            self.names[i] = last  # the result was written to its own memory, which has this name
        else:
            self.names[i] = f"v{i}"
            self.body.append(f"v{i} = {last}")

    def _overwriting_line(self, line: Instruction) -> None:
        """Add an instruction that writes its result to the memory of a captured tensor."""
        assert line.over is not None
        i, out = line.result, self._names_of_captured(line.over)
        memory = self.program.captured[line.over].array
        own = bool(line.operands) and self.memory_of(line.operands[0]) is memory
        text: str | list[str] | None = None
        if _ufunc_of(self, line) is not None:
            text = _elementwise(self, line, out)
        elif own and line.op in OVER:
            text = OVER[line.op](self, line, out)
        if text is None and own and line.op.inplace:
            text = self._call(line, out)
        self.memory[i], self.fixed[i] = memory, out
        self._put(i, text or [f"{out}[...] = {self._call(line)}", out])

    # ------------------------------------------------------------------ views

    def _view(self, line: Instruction) -> bool:
        """A view of memory that never moves is made once; a view of an input, in each run."""
        (x,), i = line.operands, line.result
        memory = self.memory_of(x)
        if not self.values[i].shape:
            if not self.values[x].shape or line.op not in VIEWS:
                return False
            self._put(i, f"{self._view_text(line, self.use(x))}[()]")  # one entry, as a number
        elif not self.values[x].shape:
            return False
        elif memory is None:  # an input, or a value with new memory in each run
            self._put(i, self._view_text(line, self.use(x)))
        else:
            settings = resolved(line.settings, self.program.examples.__getitem__)
            z = forward_of(line.op, [memory], settings)
            if not shows(z, memory):
                return False  # NumPy had to copy, so this must be repeated in each run
            self.names[i], self.memory[i] = f"w{i}", z
            self.header.append(f"w{i} = {self._view_text(line, self.fixed_name(x))}")
        return True

    def _view_text(self, line: Instruction, x: str) -> str:
        """A view of the value that has the name x: x.T, x.reshape(2, 3)."""
        text = VIEWS.get(line.op)
        if text is None:
            return self._call(line, operands=[x])
        settings = dict(line.settings)
        if "shape" in settings:
            settings["shape"] = _plain_shape(line)
        if "index" in settings:
            index = settings["index"]
            parts = index if isinstance(index, tuple) else (index,)
            texts = [slice_text(p) if isinstance(p, slice) else self.source_of(p) for p in parts]
            settings["index"] = ", ".join(texts) or "()"
        return self.filled(text, x=x, **settings)

    def fixed_name(self, i: int) -> str:
        """The name of a value's memory outside of run."""
        return self.fixed.get(i) or self.use(i)

    # ------------------------------------------------------------------ names

    def _name_inputs(self) -> None:
        taken = set(RESERVED)
        for i, name in zip(self.program.inputs, self.program.names, strict=True):
            clean = re.sub(r"\W", "_", name)
            if not clean.isidentifier() or keyword.iskeyword(clean):
                clean = f"x{i}"
            while clean in taken or re.fullmatch(r"[bcmnpsvwk][\d_]*\d[\d_]*", clean):
                clean = "_" + clean
            taken.add(clean)
            self.names[i] = clean

    def use(self, i: int, among_numbers: bool = False) -> str:
        """The name under which `run` reads the value i.

        among_numbers   are the other operands 0-d? If so, NumPy is twice as fast if a constant is
                        a number; with arrays, it is faster if the constant is a 0-d array
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
        """The name of a captured tensor's array (p3 for number 3); added to the scope on first use."""
        if i not in self.names:
            v, name = self.values[i], f"p{i}"
            self.names[i], self.scope[name] = name, self.program.captured[i].array
            self.header.append(f"# {name}: the memory of {v.name or 'a captured tensor'}, {v}")
        return self.names[i]

    def _constant(self, i: int, among_numbers: bool) -> str:
        a = self.program.examples[i]
        if not a.shape:
            return self.number(a[()], among_numbers)
        if i not in self.names:
            name = self.names[i] = f"c{i}"
            kind = name_in_numpy(a.dtype)
            if _uniform(a):
                self.take("full", kind)
                text = f"{name} = full({a.shape}, {literal(a.flat[0])}, {kind})"
            elif 0 < a.size <= 6 and np.isfinite(a).all():
                self.take("array", kind)
                text = f"{name} = array({a.tolist()}, {kind})"
            else:
                self.scope[name] = a
                text = f"# {name}: a constant, {a.shape} {a.dtype}"
            self.header.append(text)
        return self.names[i]

    def number(self, number: Any, among_numbers: bool = False) -> str:
        """The name of a constant number: a NumPy scalar if among_numbers, else a 0-d array."""
        kind = self.take(name_in_numpy(number.dtype))
        text = "{kind}({number})" if among_numbers else "array({number}, {kind})"
        return self.once(self.filled(text, number=literal(number), kind=kind), "n")

    def repeated(self, i: int, line: Instruction, out: str, beside: Iterable[int] = ()) -> str:
        """The name of the value i in an elementwise line, broadcast to the shape of the line's result.

        beside   the other values that the line reads

        NumPy needs 0.9 us to add a bias to a small matrix, but only 0.15 us to copy it to each row,
        and 0.25 us to add two matrices of the same shape. So we make one copy for all lines.
        """
        value, shape = self.values[i], self.values[line.result].shape
        if not value.shape or value.shape == shape or prod(shape) > SMALL:
            return self.use(i)
        others = [self.memory_of(j) for j in beside if self.values[j].shape == shape]
        in_order = [a is None or a.flags.c_contiguous for a in others]
        if out not in self.plain_names or not all(in_order):
            return self.use(i)
        if value.kind == "constant" and i not in self.made_by:
            kind = self.take("full", name_in_numpy(value.dtype))
            return self.once(f"full({shape}, {self.use(i)}, {kind})")
        return self._copied(i, shape)

    def right(self, line: Instruction) -> str:
        """The name of the right operand of a product.

        A layer stores its weights as (out, in) and multiplies by w.T, which is column-major. With
        this layout BLAS is up to three times slower. So if a loop multiplies by the same
        matrix many times, we make one row-major copy, provided that the sums are the same to
        the last bit.
        """
        x, y = line.operands[-2:]
        a, b, memory = self.values[x], self.values[y], self.memory_of(y)
        *_, root = self.shown_by(y)
        if (
            self.right_operands[y] < OFTEN or memory is None or self.values[root].kind != "captured"
            or len(a.shape) != 2 or memory.ndim != 2 or memory.flags.c_contiguous
            or memory.size > 8 * SMALL or not same_sums(*a.shape, b.shape[1], b.dtype)
        ):  # fmt: skip
            return self.use(y)
        return self._copied(y, b.shape)

    def _copied(self, i: int, shape: tuple[int, ...]) -> str:
        """The name of a row-major copy of a value in this shape; made on first use."""
        if (i, shape) not in self.wide:
            source = self.use(i)
            buffer = self.free_or_new(shape, self.values[i].dtype)
            self.wide[i, shape] = buffer, self.shaped(buffer, shape)
            self.body.append(f"{self.wide[i, shape][1]}[...] = {source}")
        return self.wide[i, shape][1]

    # ------------------------------------------------------------------ any op

    def _call(self, line: Instruction, out: str = "", operands: list[str] | None = None) -> str:
        """A call of the op's own function."""
        op, settings = line.op, line.settings
        if isinstance(op, NumpyFunction):
            args = [self.source_of(a) for a in settings["args"]]
            name, settings = op.name, settings["kwargs"]
            if isinstance(op, Draw):
                self.take("kernels as draw", module="minigrad.random")
            elif "." not in name:
                self.take(name, module=op.function.__module__)
        elif isinstance(op, RuleOp):
            name = op.name
            self.aliases.add(f'{name} = ops.{op.op.name}.rules["{op.input}"].formula')
            (_, g), *others = zip(op.operands, line.operands, strict=True)
            args = [self.use(g), *(f"{n}={self.use(i)}" for n, i in others)]
        else:
            name = f"{op.name}_" if hasattr(np, op.name) or op.name in RESERVED else op.name
            self.aliases.add(f"{name} = ops.{op.name}.forward")
            numbers = not self.values[line.result].shape
            args = operands or [self.use(i, among_numbers=numbers) for i in line.operands]
        args += [f"{k}={self.source_of(v)}" for k, v in settings.items()]
        if out and op.takes_out:
            args.append(f"out={out}")
        return f"{name}({', '.join(args)})"

    def source_of(self, setting: Any) -> str:
        """A setting as Python source."""
        if isinstance(setting, Ref):
            return self.use(setting.number)
        if type(setting) is list:
            return f"[{', '.join(map(self.source_of, setting))}]"
        if type(setting) is tuple:
            return f"({listed([*map(self.source_of, setting)])})"
        if isinstance(setting, slice):
            return f"slice({setting.start}, {setting.stop}, {setting.step})"
        if setting is Ellipsis:
            return "..."
        if setting is None or isinstance(setting, (bool, int, str)):
            return repr(setting)
        if isinstance(setting, float) and np.isfinite(setting):
            return repr(setting)
        for name, known in self.scope.items():
            if known is setting:
                return name
        name = f"k{len(self.scope)}"
        self.scope[name] = setting
        array = isinstance(setting, np.ndarray)
        what = f"{setting.shape} {setting.dtype}" if array else repr(setting)
        self.header.append(f"# {name}: a constant, {what}")
        return name


def _same_memory(a: Array, b: Array) -> bool:
    """Do two arrays cover the same memory, in the same order?"""
    begin = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    alike = a.ndim == 1 or a.flags.c_contiguous or a.strides == b.strides
    return bool(begin and a.size == b.size and alike)


@lru_cache(maxsize=256)
def same_sums(n: int, k: int, m: int, dtype: np.dtype[Any]) -> bool:
    """Does (n, k) @ (k, m) add up in the same order for any memory layout of the second matrix?

    The order depends on the shapes and the BLAS library, not on the values. So we run a test.
    """
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((8, *shape)).astype(dtype) for shape in ((n, k), (m, k)))
    return all(bool((a.dot(b.T) == a.dot(b.T.copy())).all()) for a, b in zip(x, y, strict=True))


def literal(number: np.generic) -> str:
    """A NumPy number as source that reproduces it to the last bit."""
    value = number.item()
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _uniform(a: Array) -> bool:
    """Is this a C-ordered array whose entries are all equal? If so, full() can create it."""
    numbers = a.size > 0 and a.dtype.kind in "fiub" and a.flags.c_contiguous
    return numbers and bool((a == a.flat[0]).all())


def _ufunc_of(writer: Writer, line: Instruction) -> np.ufunc | None:
    """The NumPy ufunc that computes the whole elementwise op; None if there is none."""
    op, f = line.op, line.op.numpy
    if not isinstance(f, np.ufunc) or not op.takes_out or line.settings:
        return None
    floats = all(writer.values[i].dtype.kind == "f" for i in line.operands)
    if op.forward is not f and (op is ops.sign or not floats):
        return None  # the op treats NaN, booleans or integers in its own way
    return f if f.nin == len(line.operands) else None


# ------------------------------------------------------------------ templates

Template = Callable[[Writer, Instruction, str], str | list[str] | None]

VIEWS: dict[AnyOp, str] = {
    ops.t: "{x}.T", ops.permute: "{x}.transpose{dims}",
    ops.transpose: "{x}.swapaxes({dim0}, {dim1})",
    ops.reshape: "{x}.reshape({shape})", ops.view: "{x}.reshape({shape})",
    ops.unsafe_view: "{x}.reshape({shape})", ops.expand: "broadcast_to({x}, {shape})",
    ops.squeeze: "{x}.squeeze({axis})", ops.unsqueeze: "expand_dims({x}, {axis})",
    ops.getitem: "{x}[{index}]",
}  # fmt: skip


def _lines(*texts: str) -> Template:
    """A template with a fixed list of lines."""
    return lambda writer, line, out: writer.lines(line, out, *texts)


def _total(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """The sum of all entries. None if `add_up` may choose a wider dtype."""
    x, z = writer.values[line.operands[0]], writer.values[line.result]
    if not x.shape or x.dtype != z.dtype or may_widen(x.dtype, prod(x.shape)):
        return None
    return writer.lines(line, out, "add.reduce({x}, None)")


def _mean_of_all(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """The mean of all entries. None if x is 0-d or empty, or `add_up` may choose a wider dtype."""
    x = writer.values[line.operands[0]]
    if not x.shape or not prod(x.shape) or may_widen(x.dtype, prod(x.shape)):
        return None
    n = writer.number(x.dtype.type(prod(x.shape)), among_numbers=True)
    return writer.lines(line, out, "add.reduce({x}, None) / {n}", n=n)


def _inner(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """x.dot(y) for two vectors. None for operands with more axes."""
    if any(len(writer.values[i].shape) != 1 for i in line.operands):
        return None
    return writer.lines(line, out, "{x}.dot({y})")


# For a 0-d result.
EXPRESSIONS: dict[AnyOp, Template] = {
    ops.add: _lines("{x} + {y}"), ops.sub: _lines("{x} - {y}"),
    ops.mul: _lines("{x} * {y}"), ops.div: _lines("{x} / {y}"), ops.neg: _lines("-{x}"),
    ops.exp: _lines("exp({x})"), ops.log: _lines("log({x})"), ops.sqrt: _lines("sqrt({x})"),
    ops.sin: _lines("sin({x})"), ops.cos: _lines("cos({x})"), ops.tanh: _lines("tanh({x})"),
    ops.sum: _total, ops.mean: _mean_of_all, ops.dot: _inner, ops.matmul: _inner,
}  # fmt: skip


def _elementwise(writer: Writer, line: Instruction, out: str) -> str:
    """multiply(v1, v2, b0): the template of every op that is a NumPy ufunc."""
    f = _ufunc_of(writer, line)
    assert f is not None
    if f in (np.maximum, np.minimum):
        out = f"out={out}"  # NumPy warns about three positional arguments
    shape = writer.values[line.result].shape
    operands = [writer.use(i) for i in line.operands]
    if any(writer.values[i].shape == shape for i in line.operands):
        operands = [writer.repeated(i, line, out, line.operands) for i in line.operands]
    return f"{writer.take(f.__name__)}({', '.join([*operands, out])})"


def _rectify(writer: Writer, line: Instruction, out: str) -> list[str]:
    """maximum(x, 0). The zero has the dtype of x."""
    zero = writer.number(writer.values[line.operands[0]].dtype.type(0))
    return writer.lines(line, out, "maximum({x}, {zero}, out={out})", zero=zero)


def _select(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """x where c, else 0. None for large arrays, where ops.keep is faster."""
    if prod(writer.values[line.result].shape) >= FEW:
        return None
    return writer.lines(line, out, "{out}.fill(0)", "copyto({out}, {x}, where={c})", "{out}")


def _product(writer: Writer, line: Instruction, out: str) -> list[str]:
    """x.dot(y, out) for vectors and matrices in a plain buffer, else matmul(x, y, out)."""
    a, b = (len(writer.values[i].shape) for i in line.operands[-2:])
    if 0 < a < 3 > b > 0 and out in writer.plain_names:
        return writer.lines(line, out, "{x}.dot({right}, {out})", right=writer.right(line))
    return writer.lines(line, out, "matmul({x}, {y}, {out})")


def _affine(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """b + x @ y, in two lines."""
    settings = {**line.op.settings, **line.settings}
    floating = writer.values[line.result].dtype.kind == "f"
    if settings["beta"] != 1 or settings["alpha"] != 1 or not floating:
        return None
    if writer.shares(line.operands[0], line.result):
        return None
    product = _product(writer, line, out)
    bias = writer.repeated(line.operands[0], line, out)
    return [*product, *writer.lines(line, out, "add({out}, {bias}, {out})", bias=bias)]


def _sum_along(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """add.reduce(x, axis, None, out). None if the sum has another dtype than x, or `add_up` may choose one."""
    x = writer.values[line.operands[0]]
    if x.dtype != writer.values[line.result].dtype or may_widen(x.dtype, prod(x.shape)):
        return None
    axis = line.settings.get("axis")
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    keep = ", True" if line.settings.get("keepdims") else ""
    text = "add.reduce({x}, {axis}, None, {out}{keep})"
    return writer.lines(line, out, text, axis=axis, keep=keep)


POWERS = {2: "square", 1: "positive", 0.5: "sqrt", -1: "reciprocal"}


def _power(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """x ** 2 is square(x), as in NumPy. The exponents of integers may be negative, which NumPy refuses."""
    x, y = line.operands
    v = writer.values[y]
    if writer.values[line.result].dtype.kind != "f":
        return None
    if v.kind == "constant" and not v.shape and writer.values[x].dtype.kind == "f":
        name = POWERS.get(writer.program.examples[y].item())
        if name is not None:
            return writer.lines(line, out, name + "({x}, {out})")
    return writer.lines(line, out, "power({x}, {y}, {out})")


def _copied_in_shape(writer: Writer, line: Instruction, out: str) -> list[str]:
    """A reshape that cannot be a view: copies the entries in order."""
    shape = _plain_shape(line)
    return writer.lines(line, out, "{out}[...] = {x}.reshape({shape})", "{out}", shape=shape)


def _plain_shape(line: Instruction) -> tuple[int, ...]:
    """The shape setting as Python integers."""
    return tuple([int(n) for n in line.settings["shape"]])


def _gates(writer: Writer, line: Instruction, out: str) -> list[str]:
    """The four gates of an LSTM, as scale * tanh(scale * x) + shift: sigmoid(x) is (1 + tanh(x / 2)) / 2."""
    scale = _by_quarter(writer, line, [0.5, 0.5, 1.0, 0.5])
    shift = _by_quarter(writer, line, [0.5, 0.5, 0.0, 0.5])
    texts = (
        "multiply({x}, {scale}, {out})",
        "tanh({out}, {out})",
        "multiply({out}, {scale}, {out})",
        "add({out}, {shift}, {out})",
    )
    return writer.lines(line, out, *texts, scale=scale, shift=shift)


def _gates_dx(writer: Writer, line: Instruction, out: str) -> list[str]:
    """g * z * (1 - z) for the sigmoid gates; g * (1 - z**2) for the tanh gate, the third quarter."""
    texts = (
        "subtract({first}, {z}, {out})",
        "multiply({z}, {out}, {out})",
        "add({out}, {last}, {out})",
        "multiply({g}, {out}, {out})",
    )
    first = _by_quarter(writer, line, [1.0, 1.0, 0.0, 1.0])
    last = _by_quarter(writer, line, [0.0, 0.0, 1.0, 0.0])
    return writer.lines(line, out, *texts, first=first, last=last)


def _by_quarter(writer: Writer, line: Instruction, numbers: list[float]) -> str:
    """One number for each quarter of the last axis, broadcast to the whole shape if that is small."""
    v = writer.values[line.result]
    kind = writer.take("array", v.dtype.name)
    text = f"array({numbers}, {kind}).repeat({v.shape[-1] // 4})"
    if prod(v.shape) <= SMALL:
        text = f"{writer.take('tile')}({text}, {(*v.shape[:-1], 1)})"
    return writer.once(text)


def _rows(writer: Writer, line: Instruction, out: str) -> str:
    """Select rows of a table, into new memory: take with `out` is only fast without bounds checks."""
    return f"{writer.use(line.operands[0])}.take({writer.source_of(line.settings['index'])}, 0)"


def _add_to_rows(writer: Writer, line: Instruction, out: str) -> list[str] | None:
    """table[rows] += values, where a row may appear more than once: see sparse.add_rows.

    If the memory never moves, the line does the work of add_rows directly: row indices become entry
    indices, and two neighboring entries are treated as one complex number.
    """
    if not adds_rows(line, writer.values):
        return None
    at, y = writer.use(line.settings["index"][0].number), line.operands[1]
    short = _scatter(writer, line, at, out)
    if short is not None:
        return [short, out]
    writer.take("add_rows", module="minigrad.core.sparse")
    return [f"add_rows({out}, {at}, {'-' if line.op is LESS else ''}{writer.use(y)})", out]


def _scatter(writer: Writer, line: Instruction, at: str, out: str) -> str | None:
    """add.at(pairs of the table, the numbers of the rows' pairs, pairs of the values)"""
    x, y = line.operands
    table, values = writer.memory_of(x), writer.memory_of(y)
    pair = PAIRS.get(writer.values[x].dtype)
    if table is None or values is None or pair is None or table.ndim != 2 or table.shape[1] % 2:
        return None
    if not (table.flags.c_contiguous and values.flags.c_contiguous) or table.size > 1 << 24:
        return None
    if values.dtype != table.dtype or not table.size:
        return None
    n, width = len(table), table.shape[1] // 2
    kind = writer.take("arange", pair.__name__)
    names = (out, writer.fixed_name(y))
    entries, added = (writer.once(f"{name}.reshape(-1).view({kind})") for name in names)
    numbers = writer.once(f"arange({n * width}).reshape({n}, {width})")
    ufunc = writer.take("subtract" if line.op is LESS else "add")
    return f"{ufunc}.at({entries}, {numbers}.take({at}, 0).ravel(), {added})"


# For arrays: written to a buffer.
STATEMENTS: dict[AnyOp, Template] = {
    ops.relu: _rectify, ops.keep: _select, ops.embedding: _rows,
    ops.lstm_gates: _gates, RuleOp(ops.lstm_gates, "x"): _gates_dx,
    ops.matmul: _product, ops.mm: _product, ops.mv: _product,
    ops.addmm: _affine,
    ops.sum: _sum_along,
    ops.pow: _power,
    # A copy with another dtype or layout, or of a broadcast value, which has no memory of its own.
    **dict.fromkeys((ops.to, ops.clone, ops.expand), _lines("{out}[...] = {x}", "{out}")),
    **dict.fromkeys((ops.reshape, ops.view, ops.unsafe_view), _copied_in_shape),
}  # fmt: skip

FRESH = (_rows,)  # templates that allocate their result in each run
# Templates that write to the first operand.
OVER: dict[AnyOp, Template] = {ops.index_put: _add_to_rows, LESS: _add_to_rows}
# Templates that may write to an operand, because each entry only depends on the same entry.
Writer.by_entry = (_elementwise, _rectify, _power)


# ------------------------------------------------------------------ plans

array_of = attrgetter("array")


class BufferPlan:
    """A program in preallocated memory. Call it like the program.

    program   the program to run; it is simplified first
    reuse     may values that are not live at the same time share a buffer?
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
        self.reuse, self.copy = reuse, copy
        self.program = lowered(program.simplified())
        self._compile()

    def _compile(self) -> None:
        self.writer = writer = Writer(self.program, self.reuse)
        self.source, self.buffer_bytes = writer.text, writer.buffer_bytes
        scope: dict[str, Any] = {**writer.scope, "__name__": "minigrad.static.replay"}
        exec(compile(self.source, "<minigrad program>", "exec"), scope)
        self.function = scope["run"]
        self.tensors = list(self.program.captured.values())
        self.arrays_bound = [t.array for t in self.tensors]

    def __call__(self, *inputs: object) -> Any:
        """The outputs for these inputs, as tensors."""
        results = self.arrays(*inputs)
        if self.copy:
            results = tuple([np.array(a) if isinstance(a, np.ndarray) else a for a in results])
        return self.program.packed(results)

    def run(self, **named: object) -> Any:
        """The outputs, as tensors, for inputs given by name."""
        return self(*self.program.in_order(named))

    def arrays(self, *inputs: object) -> tuple[Any, ...]:
        """The outputs as arrays, in the plan's own memory."""
        self.rebind()
        return self.function(*self.program.checked(inputs))

    def rebind(self) -> bool:
        """Write the source again if a captured tensor has other memory now. False: of another shape or dtype."""
        if all(map(is_, map(array_of, self.tensors), self.arrays_bound)):
            return True
        pairs = zip(map(array_of, self.tensors), self.arrays_bound, strict=True)
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
            return False
        self._compile()
        return True

    def __repr__(self) -> str:
        return f"<BufferPlan of {self.program!r}: {self.buffer_bytes} bytes of buffers>"
