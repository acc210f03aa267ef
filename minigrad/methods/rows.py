"""Make methods from the rows of the derivative table: x.f(), x.f_(), x + y, and their help() texts.

An elementwise op without settings needs no handwritten method: declaring the row adds x.f() and x.f_()
to `FromRows`, and `minigrad.f` is the method as a function. So a new elementwise function takes one row.
Activation functions such as `silu` and `gelu` are rows too, but not tensor methods, as in PyTorch.
A handwritten method gets its in-place variant automatically if its name is in `APPLIED` or `COPIED`.
`from_rows.pyi` lists the methods for editors and mypy; `python -m tests.stubs` writes it.
"""

import functools
from inspect import cleandoc
from types import CodeType, FunctionType
from typing import Any

from minigrad.core.dtypes import category, torch_name
from minigrad.core.errors import cannot_be_cast
from minigrad.core.naming import named_copy
from minigrad.core.op import Op
from minigrad.methods.base import (
    Base,
    is_foreign,
    or_not_implemented,
    overwritten,
    with_checked_names,
)

WITHOUT_METHODS = ("minigrad.ops.neural", "minigrad.ops.losses", "minigrad.ops.layout")
SHAPES = {
    "elementwise": "The result has the shape that the operands broadcast to.",
    "constant": "The result has the shape that the operands broadcast to. No gradient flows through it.",
}
# Python's names for the operators: x + y is x.__add__(y) or y.__radd__(x); x += y is x.__iadd__(y).
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift",
}  # fmt: skip
OF_ONE_DIRECTION = {"neg": "neg", "abs": "abs", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
# Their results are booleans, which x.f_() writes into a tensor of numbers as 1 and 0.
WRITTEN_AS_NUMBERS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not"}
# x.lerp_() is x.lerp() with op.apply_ in place of op.apply.
APPLIED = """
    add addcdiv addcmul clamp clamp_max clamp_min deg2rad index_add index_copy index_fill index_put lerp logit polygamma pow
    rad2deg round scatter scatter_add squeeze sub swapaxes t transpose tril triu unsqueeze
"""
# x.frac_() copies the result of x.frac() into x. If the rule reads x (COPIED_FROM_A_CLONE), f runs on a copy of x.
COPIED = "addbmm addmm addmv addr baddbmm frac gcd heaviside lcm masked_scatter put"
COPIED_FROM_A_CLONE = "copysign index_reduce ldexp mvlgamma nan_to_num renorm scatter_reduce"
SYNONYMS = {
    "absolute": "abs", "adjoint": "mH", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim",
    "multiply": "mul", "ndimension": "dim", "negative": "neg", "nelement": "numel", "not_equal": "ne", "sgn": "sign",
    "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
}  # fmt: skip


# In PyTorch, the second operand of these must be a tensor. For maximum(x, 0), it has clamp_min(x, 0).
OF_TENSORS = frozenset("atan2 fmax fmin hypot logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum nextafter".split())
# PyTorch computes 2 * x and 2 + x as x * 2 and x + 2, and 2 - x with a separate operation (rsub), so x is the first
# input of these nodes. It computes 2 / x as x.reciprocal() * 2.
X_FIRST = {"add": "", "mul": "", "sub": "RsubBackward1"}


def has_methods(op: Op) -> bool:
    """True if the op is elementwise, has no settings, and should be a tensor method."""
    plain = op.kind in SHAPES and not (op.settings or op.masks or op.variadic)
    return plain and len(op.operands) <= 2 and op.__module__ not in WITHOUT_METHODS


def complete(cls: type[Any], op: Op) -> None:
    """Add the methods and operators for this row to the class."""
    single = len(op.operands) == 1
    method: Any = (lambda self: op.apply(self)) if single else (lambda self, other: op.apply(self, other))
    if has_methods(op):
        method = of_tensors(op) if op.name in OF_TENSORS else method
        _add(cls, op, op.name, "apply", method)
        if op.inplace:
            _add(cls, op, op.name + "_", "apply_", writing(method))
        elif op.name in WRITTEN_AS_NUMBERS:
            _add(cls, op, op.name + "_", "", copying(renamed(method, op.name)))
    if (word := OF_ONE_DIRECTION.get(op.name) or OPERATORS.get(op.name)) is not None:
        _add(cls, op, f"__{word}__", "apply", method if single else or_not_implemented(method))
    if (word := OPERATORS.get(op.name)) is not None:
        _add(cls, op, f"__r{word}__", "", reflecting(op))
        if op.inplace:
            _add(cls, op, f"__i{word}__", "apply_", or_not_implemented(writing(method)))


def of_tensors(op: Op) -> FunctionType:
    """Make x.maximum(y), which raises TypeError for a plain number, as in PyTorch."""

    def method(self, other):  # type: ignore[no-untyped-def]
        if isinstance(other, (int, float)):
            raise TypeError(
                f"{op.name}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}. "
                f"To fix it, write minigrad.tensor({other})."
            )
        return op.apply(self, other)

    return method  # type: ignore[return-value]


def _counts(x: Base) -> bool:
    """Does x hold one integer, so that [0] * x is a list?"""
    return x.array.size == 1 and x.array.dtype.kind in "iu"


def reflecting(op: Op) -> FunctionType:
    """Make x.__rmul__(2), which is 2 * x. As in PyTorch, x is the first input of the node for the ops in X_FIRST."""
    node_name = X_FIRST.get(op.name)

    def of_reciprocal(self: Any, other: Any) -> Any:
        return NotImplemented if is_foreign(other) else self.reciprocal() * other

    def reflected(self: Base, other: Any) -> Any:
        try:
            z = op.apply(other, self)
        except TypeError:
            appends = op.name == "add" and isinstance(other, list)  # y += x: Python asks x first
            repeats = op.name == "mul" and isinstance(other, (list, tuple, str)) and _counts(self)
            if appends or repeats or is_foreign(other):
                return NotImplemented
            raise
        if node_name is not None and (node := getattr(z, "node", None)) is not None:
            node.reflected = True
            if node_name:
                node.rename(node_name)
        return z

    return of_reciprocal if op.name == "div" else reflected  # type: ignore[return-value]


def _add(cls: type[Any], op: Op, name: str, way: str, f: Any) -> None:
    """Add one method. If it has no named parameters (x.exp(), x + y), the generated op.apply replaces it later."""
    method = renamed(f, name)
    method.__doc__ = described(op, name)
    setattr(cls, name, method)
    op.methods.append(name)
    if way and (len(op.operands) == 1 or name.startswith("__")):
        op.spelled[way].append((cls, name))


def add_in_place(cls: type[Any]) -> None:
    """Add x.lerp_() for x.lerp(), and the other in-place variants that can be made from a method."""
    for name in APPLIED.split():
        method = getattr(cls, name)
        setattr(cls, name + "_", with_checked_names(writing(getattr(method, "__wrapped__", method))))
    cls.__ipow__ = or_not_implemented(cls.pow_)  # it refuses what pow refuses
    for names, clone in ((COPIED, False), (COPIED_FROM_A_CLONE, True)):
        for name in names.split():
            setattr(cls, name + "_", renamed(copying(getattr(cls, name), clone), name + "_"))


def writing(f: FunctionType) -> FunctionType:
    """Make x.lerp_() from x.lerp(): the same code, calling op.apply_ instead of op.apply."""
    words = tuple(["apply_" if word == "apply" else word for word in f.__code__.co_names])
    return renamed(f, f.__name__ + "_", f.__code__.replace(co_names=words))


def copying(f: FunctionType, clone: bool = False) -> FunctionType:
    """Make x.frac_() from x.frac(): copy its result into x. With `clone`, f runs on a copy of x, so that its rule can read the old values."""

    camel = f.__name__.title().replace("_", "")

    @functools.wraps(f)
    def method(self: Base, *args: object, **kwargs: object) -> Base:
        z = f(self.clone() if clone else self, *args, **kwargs)
        its, own = z.array.dtype, self.array.dtype
        if its != own and category(its) > category(own):
            raise cannot_be_cast(f.__name__, torch_name(z.dtype), torch_name(self.dtype))
        node = getattr(z, "node", None)
        # Comparisons make no node, but eq_ does: EqBackward1, or EqBackward0 if y is a number.
        name = type(node).__name__ if node else f"{camel}Backward{int(True in [isinstance(a, Base) for a in args])}"
        return overwritten(self, z, name)

    return method  # type: ignore[return-value]


def renamed(f: FunctionType, name: str, code: CodeType | None = None) -> FunctionType:
    """A copy of the function as a method with this name, without a docstring, and optionally with other code."""
    g = named_copy(f, f"Tensor.{name}", code)
    g.__module__, g.__doc__ = __name__, None
    return g


def described(op: Op, name: str) -> str:
    """The help() text of a method: the row's formula, remarks, shapes, errors and example."""
    formula, *rest = cleandoc(op.__doc__ or op.name).split("\n\n")
    remarks = [part for part in rest if not part.startswith(">>>")]
    parts = [formula, *remarks, *([SHAPES[op.kind]] if op.kind in SHAPES else [])]
    if name.endswith("_") and name[0] != "_":
        parts.append(about_in_place(op.name))
    return "\n\n".join([*parts, *(part for part in rest if part not in remarks)])


def about_in_place(name: str) -> str:
    """The text about an in-place variant, to be added to the help() text of x.name()."""
    return (
        f"Writes the result into the tensor itself and returns it; x.{name}() returns a new tensor. Raises an error "
        "for a leaf that requires a gradient, unless recording is off."
    )


def add_docstrings(cls: type[Any], op: Op) -> None:
    """Add the row's formula to the docstring of the handwritten method with the op's name."""
    method = getattr(cls, op.name, None)
    if method is not None and method.__module__ != __name__ and op.formula not in method.__doc__:
        text, example, rest = cleandoc(method.__doc__).partition("\n\n>>>")
        method.__doc__ = f"{text}\n\n{op.formula}{example}{rest}"


def add_other_docstrings(cls: type[Any]) -> None:
    """Give in-place variants without a row the docstring of their method."""
    methods = {name: method for chapter in reversed(cls.__mro__) for name, method in vars(chapter).items()}
    for name, method in methods.items():
        plain = name.removesuffix("_")
        if name != plain and name[0] != "_" and plain not in SYNONYMS and method.__doc__ is None:
            text, example, rest = cleandoc(methods[plain].__doc__ or "").partition("\n\n>>>")
            method.__doc__ = f"{text}\n\n{about_in_place(plain)}{example}{rest}"


def add_synonyms(cls: type[Any]) -> None:
    """Add aliases, with help() texts: x.absolute() for x.abs(), x.absolute_() for x.abs_(), and so on."""
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            f: Any = getattr(cls, own + end, None)
            if isinstance(f, FunctionType) and not hasattr(cls, synonym + end):
                setattr(cls, synonym + end, renamed(f, synonym + end))
            if hasattr(cls, synonym + end):
                about = cleandoc(f.__doc__ or "")
                call = "" if isinstance(f, property) else "()"
                getattr(cls, synonym + end).__doc__ = f"Another name of x.{own}{end}{call}.\n\n{about}"
