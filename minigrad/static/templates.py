"""How the line of each op reads in a program's source.

Three small tables, each from an op to what writes its line:

    VIEWS         x.T, x.reshape(...): for views
    EXPRESSIONS   v1 * v2: where the result is a number without axes
    STATEMENTS    dot(x, y, out): where the result is an array, put into a buffer

An elementwise op that is a NumPy ufunc needs no entry: it reads  multiply(x, y, out). What has
none anywhere is a call of the op's own function in minigrad.ops, which is plain NumPy too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.instruction import Ref

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
    ops.squeeze: lambda writer, line, x: f"{x}.squeeze({line.settings['axis']})",
    ops.unsqueeze: lambda writer, line, x: (
        f"{writer.take('expand_dims')}({x}, {line.settings['axis']})"
    ),
    ops.expand: lambda writer, line, x: f"{writer.take('broadcast_to')}({x}, {shape_text(line)})",
    ops.getitem: lambda writer, line, x: f"{x}[{index_text(writer, line)}]",
}


def shape_text(line: Any) -> str:
    shape = tuple([int(n) for n in line.settings["shape"]])
    return str(shape)


def index_text(writer: Any, line: Any) -> str:
    """An index as it is written: 0, 1:3"""
    index = line.settings["index"]
    parts = index if isinstance(index, tuple) else (index,)
    return (
        ", ".join(slice_text(p) if isinstance(p, slice) else writer.spelled(p) for p in parts)
        or "()"
    )


def slice_text(s: slice) -> str:
    start, stop = ("" if n is None else str(n) for n in (s.start, s.stop))
    return f"{start}:{stop}" + ("" if s.step is None else f":{s.step}")


# ------------------------------------------------------------------- numbers without axes


def operator(sign: str) -> Template:
    def write(writer: Any, line: Any, out: Any) -> Lines:
        x, y = (writer.use(i, among_numbers=True) for i in line.operands)
        return f"{x} {sign} {y}"

    return write


def function(name: str) -> Template:
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
    (x,) = line.operands
    v = writer.values[x]
    if not v.shape or not np.prod(v.shape):
        return None
    n = writer.number(v.dtype.type(np.prod(v.shape)), among_numbers=True)
    return f"{writer.take('add')}.reduce({writer.use(x)}, None) / {n}"


def inner(writer: Any, line: Any, out: Any) -> Lines:
    x, y = line.operands
    if len(writer.values[x].shape) != 1 or len(writer.values[y].shape) != 1:
        return None
    return f"{writer.take('dot')}({writer.use(x)}, {writer.use(y)})"


EXPRESSIONS: dict[Any, Template] = {
    ops.add: operator("+"), ops.sub: operator("-"), ops.mul: operator("*"), ops.div: operator("/"),
    ops.neg: lambda writer, line, out: f"-{writer.use(line.operands[0], True)}",
    ops.exp: function("exp"), ops.log: function("log"), ops.sqrt: function("sqrt"),
    ops.sin: function("sin"), ops.cos: function("cos"), ops.tanh: function("tanh"),
    ops.sum: total, ops.mean: mean_of_all, ops.dot: inner, ops.matmul: inner,
}  # fmt: skip


# ---------------------------------------------------------------------- arrays, in buffers


def rectify(writer: Any, line: Any, out: Any) -> Lines:
    (x,) = line.operands
    zero = writer.number(writer.values[x].dtype.type(0))
    return f"{writer.take('maximum')}({writer.use(x)}, {zero}, out={out})"


def product(writer: Any, line: Any, out: Any) -> Lines:
    x, y = line.operands
    a, b = len(writer.values[x].shape), len(writer.values[y].shape)
    plain = 0 < a < 3 > b > 0 and writer.memory_is_plain(out)
    name = writer.take("dot" if plain else "matmul")
    return f"{name}({writer.use(x)}, {writer.use(y)}, {out})"


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
    name = writer.take("dot" if writer.memory_is_plain(out) else "matmul")
    if writer.shares(b, line.result):
        return None
    return [
        f"{name}({writer.use(x)}, {writer.use(y)}, {out})",
        f"{writer.take('add')}({out}, {writer.use(b)}, {out})",
    ]


def sum_along(writer: Any, line: Any, out: Any) -> Lines:
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
    """A copy, as another type or in another layout."""
    (x,) = line.operands
    return [f"{writer.take('copyto')}({out}, {writer.use(x)}, 'unsafe')", out]


def repeat(writer: Any, line: Any, out: Any) -> Lines:
    """What is repeated has no memory that never moves: it is copied."""
    (x,) = line.operands
    return [f"{writer.take('copyto')}({out}, {writer.use(x)})", out]


def reshape_copy(writer: Any, line: Any, out: Any) -> Lines:
    """NumPy cannot show the entries in this shape, so they are copied, in order."""
    (x,) = line.operands
    return [f"{writer.take('copyto')}({out}, {writer.use(x)}.reshape({shape_text(line)}))", out]


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


def rows(writer: Any, line: Any, out: Any) -> Lines:
    """Rows of a table. (Into fresh memory: take is quick into a given one only without checks.)"""
    return f"{writer.use(line.operands[0])}.take({writer.spelled(line.settings['index'])}, 0)"


def add_to_rows(writer: Any, line: Any, out: Any) -> Lines:
    """table[rows] += values, where a row may be named more than once."""
    index = line.settings["index"]
    x, y = line.operands
    if not line.settings.get("accumulate") or len(index) != 1 or not isinstance(index[0], Ref):
        return None
    at = writer.values[index[0].number]
    if (
        at.dtype.kind not in "iu"
        or (*at.shape, *writer.values[x].shape[1:]) != writer.values[y].shape
    ):
        return None
    writer.imports["add_rows"] = "sparse"
    return [f"add_rows({out}, {writer.use(index[0].number)}, {writer.use(y)})", out]


STATEMENTS: dict[Any, Template] = {
    ops.relu: rectify, ops.sigmoid: sigmoid, ops.embedding: rows,
    ops.matmul: product, ops.mm: product, ops.mv: product,
    ops.addmm: affine,
    ops.sum: sum_along,
    ops.pow: power,
    ops.to: copy_into, ops.clone: copy_into,
    ops.expand: repeat,
    ops.reshape: reshape_copy, ops.view: reshape_copy,
}  # fmt: skip


FRESH = (rows,)  # templates whose result has memory of its own in each run
OVER: dict[Any, Template] = {ops.index_put: add_to_rows}  # over the first operand itself
BY_ENTRY = (rectify, power, sigmoid)  # templates that may write over their first operand
