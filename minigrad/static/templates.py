"""Templates: the source line of each op.

Three small tables, each from an op to a function that writes its line:

    VIEWS         x.T, x.reshape(...): for views
    EXPRESSIONS   v1 * v2: if the result is a 0-d value
    STATEMENTS    dot(x, y, out): if the result is an array, written to a buffer

An elementwise op that is a NumPy ufunc needs no entry: its line is multiply(x, y, out). Any other op
without an entry becomes a call of its own function in minigrad.ops, which is plain NumPy too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.sparse import PAIRS
from minigrad.ops.elementwise import FEW
from minigrad.static.instruction import Kernel
from minigrad.static.memory import SMALL
from minigrad.static.thin import LESS, adds_rows

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
