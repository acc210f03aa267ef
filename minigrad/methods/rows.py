"""What follows from a row of the table of derivatives: x.f(), x.f_(), and what help() says of them.

Most methods stand in the chapters of this folder, where they can be searched for. An elementwise op whose
name stands nowhere gets its methods from here when its row is declared, and `minigrad.f` is then the
method as a function. So a new function of an entry is one row. The functions of neural networks are rows
as well (`silu`, `gelu`), but no methods of tensors, as in PyTorch.
"""

from collections.abc import Callable
from typing import Any

from minigrad.core.op import Op
from minigrad.methods.docs import DOCS

WITHOUT_METHODS = ("minigrad.ops.neural", "minigrad.ops.losses", "minigrad.ops.layout")
SHAPES = {
    "elementwise": "The result has the shape of the operands, which are broadcast against each other.",
    "constant": "The result has the shape of the operands, and no gradient passes through it.",
}
SYNONYMS = {
    "absolute": "abs", "adjoint": "mH", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim",
    "multiply": "mul", "ndimension": "dim", "negative": "neg", "nelement": "numel", "not_equal": "ne", "sgn": "sign",
    "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
}  # fmt: skip


def has_methods(op: Op) -> bool:
    """Is the op a function of entries, without settings, that tensors should have as a method?"""
    plain = op.kind == "elementwise" and not (op.settings or op.masks or op.variadic)
    return plain and len(op.operands) <= 2 and op.__module__ not in WITHOUT_METHODS


def complete(cls: type[Any], op: Op) -> None:
    """Give the class the methods that follow from this row, where it has none of these names."""
    if not has_methods(op):
        return
    for name, method in methods_of(op).items():
        if not hasattr(cls, name):
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
            method.__doc__ = described(op, name)
            setattr(cls, name, method)


def methods_of(op: Op) -> dict[str, Callable[..., Any]]:
    """x.f() and, if the op may write over its operand, x.f_()."""

    def of_one(self: Any) -> Any:
        return op.apply(self)

    def of_two(self: Any, other: Any) -> Any:
        return op.apply(self, other)

    def over_one(self: Any) -> Any:
        return op.apply_(self)

    def over_two(self: Any, other: Any) -> Any:
        return op.apply_(self, other)

    single = len(op.operands) == 1
    methods = {op.name: of_one if single else of_two}
    if op.inplace:
        methods[op.name + "_"] = over_one if single else over_two
    return methods


def described(op: Op, name: str) -> str:
    """What help() says of a method: the row's formula and remarks, shapes, errors."""
    formula, _, remarks = (op.__doc__ or op.name).partition("\n")
    parts = [formula.strip()]
    if remarks.strip():
        parts.append("\n".join(line.strip() for line in remarks.strip().splitlines()))
    if op.kind in SHAPES:
        parts.append(SHAPES[op.kind])
    if name.endswith("_"):
        parts.append(written_over(op.name))
    return "\n\n".join(parts)


def written_over(name: str) -> str:
    """What is said of a variant in place, after what is said of x.name()."""
    return (
        f"Written over the tensor itself, which is returned. x.{name}() makes a new one. Raises an error for a "
        "leaf that requires a gradient, unless nothing is recorded."
    )


def document(cls: type[Any], op: Op) -> None:
    """Let the methods that are named after this op say what its row says, if they say nothing themselves."""
    for name in (op.name, op.name + "_"):
        method = getattr(cls, name, None)
        if method is not None and method.__doc__ is None:
            method.__doc__ = described(op, name)


def document_the_rest(cls: type[Any]) -> None:
    """Let the methods of which no row speaks say what DOCS says, or what it says of the method they stand for."""
    said = {name: method for chapter in reversed(cls.__mro__) for name, method in vars(chapter).items()}
    for name, text in DOCS.items():
        said[name].__doc__ = text
    for name, method in said.items():
        plain = name.removesuffix("_")
        if name != plain and name[0] != "_" and plain not in SYNONYMS and method.__doc__ is None:
            method.__doc__ = f"{said[plain].__doc__}\n\n{written_over(plain)}"
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            if synonym + end in said:
                method = said[own + end]
                call = "" if isinstance(method, property) else "()"
                said[synonym + end].__doc__ = f"Another name of x.{own}{end}{call}.\n\n{method.__doc__}"
