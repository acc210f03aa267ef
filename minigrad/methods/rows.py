"""What follows from a row of the table of derivatives: x.f(), x.f_(), x + y, and what help() says of them.

An op that is a function of entries, without settings, needs no method of its own: `FromRows` gets x.f() and
x.f_() when the row is declared, and `minigrad.f` is the method as a function. So a new function of an entry
is one row. The functions of neural networks are rows as well (`silu`, `gelu`), but no methods of tensors, as in
PyTorch. A method that is written in a chapter has its variant in place by a rule, if its name stands in `APPLIED`
or `COPIED`. `from_rows.pyi` lists the methods for editors and for mypy; `python -m tests.stubs` writes it.
"""

import functools
from types import CodeType, FunctionType
from typing import Any

from minigrad.core.op import Op
from minigrad.methods.base import taking_numpy_names

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
# x.lerp_() is x.lerp() with op.apply_ in place of op.apply.
APPLIED = """
    add addcdiv addcmul clamp clamp_max clamp_min index_add index_copy index_fill index_put lerp polygamma pow round
    scatter scatter_add sub tril triu
"""
# x.frac_() writes the result of x.frac() over x. What the gradient reads of x, it reads of a copy.
COPIED = "addbmm addmm addmv addr baddbmm frac gcd heaviside lcm nan_to_num"
COPIED_FROM_A_CLONE = "copysign ldexp logit mvlgamma renorm scatter_reduce sinc"
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
    single = len(op.operands) == 1
    method: Any = (lambda self: op.apply(self)) if single else (lambda self, other: op.apply(self, other))
    if has_methods(op):
        _add(cls, op, op.name, "apply", method)
        if op.inplace:
            _add(cls, op, op.name + "_", "apply_", writing(method))
        elif op.name in WRITTEN_AS_NUMBERS:
            _add(cls, op, op.name + "_", "", copying(method))
    if (word := OF_ONE_DIRECTION.get(op.name) or OPERATORS.get(op.name)) is not None:
        _add(cls, op, f"__{word}__", "apply", method)
    if (word := OPERATORS.get(op.name)) is not None:
        _add(cls, op, f"__r{word}__", "", lambda self, other: op.apply(other, self))
        if op.inplace:
            _add(cls, op, f"__i{word}__", "apply_", writing(method))


def _add(cls: type[Any], op: Op, name: str, way: str, f: Any) -> None:
    """One method. If nobody can name its operands (x.exp(), x + y), op.apply itself takes its place once it is written."""
    method = renamed(f, name)
    method.__doc__ = described(op, name)
    setattr(cls, name, method)
    op.methods.append(name)
    if way and (len(op.operands) == 1 or name.startswith("__")):
        op.spelled[way].append((cls, name))


def add_in_place(cls: type[Any]) -> None:
    """Give the class x.lerp_() for x.lerp(), and the other variants in place that follow from a method."""
    for name in APPLIED.split():
        method = getattr(cls, name)
        setattr(cls, name + "_", taking_numpy_names(writing(getattr(method, "__wrapped__", method))))
    for names, clone in ((COPIED, False), (COPIED_FROM_A_CLONE, True)):
        for name in names.split():
            setattr(cls, name + "_", renamed(copying(getattr(cls, name), clone), name + "_"))


def add_synonyms(cls: type[Any]) -> None:
    """Give the class x.absolute() for x.abs(), x.absolute_() for x.abs_(): the same function under another name."""
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            f = getattr(cls, own + end, None)
            if isinstance(f, FunctionType) and not hasattr(cls, synonym + end):
                setattr(cls, synonym + end, renamed(f, synonym + end))


def writing(f: FunctionType) -> FunctionType:
    """x.lerp_() from x.lerp(): the same code, with op.apply_ in place of op.apply."""
    words = tuple(["apply_" if word == "apply" else word for word in f.__code__.co_names])
    return renamed(f, f.__name__ + "_", f.__code__.replace(co_names=words))


def copying(f: FunctionType, clone: bool = False) -> FunctionType:
    """x.frac_() from x.frac(): its result is written over x. With `clone`, f reads a copy of x, which its gradient keeps."""

    @functools.wraps(f)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.copy_(f(self.clone() if clone else self, *args, **kwargs))

    return method  # type: ignore[return-value]


def renamed(f: FunctionType, name: str, code: CodeType | None = None) -> FunctionType:
    """The function as a method of this name, with a docstring to come; with other code, if that is given."""
    g = FunctionType(code or f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
    g.__dict__.update(f.__dict__)
    g.__kwdefaults__, g.__annotations__ = f.__kwdefaults__, f.__annotations__
    g.__qualname__, g.__module__, g.__doc__ = f"Tensor.{name}", __name__, None
    return g


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
    """Let the method of a chapter that is named after this op show the row's formula below its own text."""
    method = getattr(cls, op.name, None)
    if method is not None and method.__module__ != __name__ and op.formula not in method.__doc__:
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
