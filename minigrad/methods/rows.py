"""What follows from a row of the table of derivatives: x.f(), x.f_(), x + y, and what help() says of them.

An op that is a function of entries, without settings, needs no method of its own: `FromRows` gets x.f() and
x.f_() when the row is declared, and `minigrad.f` is the method as a function. So a new function of an entry
is one row. The functions of neural networks are rows as well (`silu`, `gelu`), but no methods of tensors, as in
PyTorch. `from_rows.pyi` lists the methods for editors and for mypy; `python -m tests.stubs` writes it.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from minigrad.core.op import Op

WITHOUT_METHODS = ("minigrad.ops.neural", "minigrad.ops.losses", "minigrad.ops.layout")
SHAPES = {
    "elementwise": "The result has the shape of the operands, which are broadcast against each other.",
    "constant": "The result has the shape of the operands, and no gradient passes through it.",
}
# What Python calls them: x + y is x.__add__(y), or y.__radd__(x); x += y is x.__iadd__(y).
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift",
}  # fmt: skip
OF_ONE_DIRECTION = {"neg": "neg", "abs": "abs", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
# Truth values that x.f_() writes over numbers: 1 and 0.
WRITTEN_AS_NUMBERS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not"}
SYNONYMS = {
    "absolute": "abs", "adjoint": "mH", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim",
    "multiply": "mul", "ndimension": "dim", "negative": "neg", "nelement": "numel", "not_equal": "ne", "sgn": "sign",
    "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
}  # fmt: skip


def has_methods(op: Op) -> bool:
    """Is the op a function of entries, without settings, that tensors should have as a method?"""
    plain = op.kind in SHAPES and not (op.settings or op.masks or op.variadic)
    return plain and len(op.operands) <= 2 and op.__module__ not in WITHOUT_METHODS


def complete(cls: type[Any], op: Op) -> None:
    """Give the class the methods and the operators that follow from this row."""
    if has_methods(op):
        single = len(op.operands) == 1
        _add(cls, op, op.name, "apply", _of_one if single else _of_two)
        if op.inplace:
            _add(cls, op, op.name + "_", "apply_", _of_one if single else _of_two)
        elif op.name in WRITTEN_AS_NUMBERS:
            _add(cls, op, op.name + "_", "", _copied_one if single else _copied_two)
    if (word := OF_ONE_DIRECTION.get(op.name)) is not None:
        _add(cls, op, f"__{word}__", "apply", _of_one if len(op.operands) == 1 else _of_two)
    if (word := OPERATORS.get(op.name)) is not None:
        _add(cls, op, f"__{word}__", "apply", _of_two)
        _add(cls, op, f"__r{word}__", "", _from_the_right)
        if op.inplace:
            _add(cls, op, f"__i{word}__", "apply_", _of_two)


def _add(
    cls: type[Any],
    op: Op,
    name: str,
    way: str,
    make: Callable[[Op, str], Callable[..., Any]],
) -> None:
    """One method. If nobody can name its operands (x.exp(), x + y), op.apply itself takes its place once it is written."""
    method = make(op, way)
    method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", __name__
    method.__doc__ = described(op, name)
    setattr(cls, name, method)
    op.methods.append(name)
    if way and (len(op.operands) == 1 or name.startswith("__")):
        op.spelled[way].append((cls, name))


def _of_one(op: Op, way: str) -> Callable[..., Any]:
    if way == "apply":
        return lambda self: op.apply(self)
    return lambda self: op.apply_(self)


def _of_two(op: Op, way: str) -> Callable[..., Any]:
    if way == "apply":
        return lambda self, other: op.apply(self, other)
    return lambda self, other: op.apply_(self, other)


def _from_the_right(op: Op, way: str) -> Callable[..., Any]:
    return lambda self, other: op.apply(other, self)


def _copied_one(op: Op, way: str) -> Callable[..., Any]:
    return lambda self: self.copy_(op.apply(self))


def _copied_two(op: Op, way: str) -> Callable[..., Any]:
    return lambda self, other: self.copy_(op.apply(self, other))


def add_synonyms(cls: type[Any]) -> None:
    """Give the class x.absolute() for x.abs(), x.absolute_() for x.abs_(): the same function under another name."""
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            f = getattr(cls, own + end, None)
            if isinstance(f, FunctionType) and not hasattr(cls, synonym + end):
                g = FunctionType(f.__code__, f.__globals__, synonym + end, f.__defaults__, f.__closure__)
                g.__kwdefaults__, g.__annotations__ = f.__kwdefaults__, f.__annotations__
                g.__qualname__, g.__module__ = f"Tensor.{synonym}{end}", __name__
                setattr(cls, synonym + end, g)


def described(op: Op, name: str) -> str:
    """What help() says of a method: the row's formula, remarks and shapes, errors, and its example."""
    formula, *rest = dedented(op.__doc__ or op.name, 4).split("\n\n")
    remarks = [part for part in rest if not part.startswith(">>>")]
    parts = [formula, *remarks, *([SHAPES[op.kind]] if op.kind in SHAPES else [])]
    if name.endswith("_") and name[0] != "_":
        parts.append(written_over(op.name))
    return "\n\n".join([*parts, *(part for part in rest if part not in remarks)])


def written_over(name: str) -> str:
    """What is said of a variant in place, after what is said of x.name()."""
    return (
        f"Written over the tensor itself, which is returned. x.{name}() makes a new one. Raises an error for a "
        "leaf that requires a gradient, unless nothing is recorded."
    )


def document(cls: type[Any], op: Op) -> None:
    """Let the methods that are named after this op say what its row says: all of it, or below their own text."""
    method, writing = getattr(cls, op.name, None), getattr(cls, op.name + "_", None)
    if method is None or method.__module__ == __name__:
        return
    if method.__doc__ is None:
        method.__doc__ = described(op, op.name)
        if writing is not None and writing.__doc__ is None:
            writing.__doc__ = described(op, op.name + "_")
    elif op.formula not in method.__doc__:
        text, example, rest = method.__doc__.partition("\n\n        >>>")
        method.__doc__ = f"{text.rstrip()}\n\n        {op.formula}{example}{rest}"


def document_the_rest(cls: type[Any]) -> None:
    """Let variants in place and other names of a method, of which no row speaks, say what that method says."""
    said = {name: method for chapter in reversed(cls.__mro__) for name, method in vars(chapter).items()}
    for name, method in said.items():
        plain = name.removesuffix("_")
        if name != plain and name[0] != "_" and plain not in SYNONYMS and method.__doc__ is None:
            text, example, rest = dedented(said[plain].__doc__).partition("\n\n>>>")
            method.__doc__ = f"{text}\n\n{written_over(plain)}{example}{rest}"
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            if synonym + end in said:
                method = said[own + end]
                call = "" if isinstance(method, property) else "()"
                said[synonym + end].__doc__ = f"Another name of x.{own}{end}{call}.\n\n{dedented(method.__doc__)}"


def dedented(text: str, by: int = 8) -> str:
    """A docstring as help() shows it: without the indentation that it has in the text of a method, or of a row."""
    return "\n".join([line.removeprefix(" " * by) for line in text.splitlines()]).strip()
