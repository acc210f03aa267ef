"""The table of mistakes, continued: matrix products, einsum, convolution.

Read mistakes.py first.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minigrad.teach.mistakes import at_a_use, is_one_of
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ matrices


@at_a_use(
    "matmul_order",
    "The factors of the product {op}{line} are in the wrong order on the way back.",
    "Try the formula on matrices that are not square: the shapes tell where g stands.",
)
def matmul_order(use: Use) -> Any:
    return [_product(b, a, use) for a, b in _factors(use) if a.ndim > 1 and b.ndim > 1]


@at_a_use(
    "matmul_order",
    "The other factor of {op}{line} is a product itself, and its transpose was taken in the wrong order.",
    "(A @ B).T  is  B.T @ A.T.",
)
def transpose_of_a_product(use: Use) -> Any:
    for a, b in _other_is_a_product(use):
        if a.ndim > 1 and b.ndim > 1:
            try:
                yield _with_other(use, _T(_T(a) @ _T(b)))
            except ValueError:  # no square matrices: the order could not be mistaken
                return


@at_a_use(
    "transposed",
    "The other factor of {op}{line} is the product of a matrix and a vector, with the matrix transposed.",
    "x @ A  is  A.T @ x.",
)
def transposed_further_in(use: Use) -> Any:
    for a, b in _other_is_a_product(use):
        if 1 in (a.ndim, b.ndim) and 2 in (a.ndim, b.ndim):
            yield _with_other(use, b @ a if a.shape[-1] == b.shape[0] == b.shape[-1] else None)


def _other_is_a_product(use: Use) -> Iterator[tuple[Any, Any]]:
    """The factors of the other operand, for z = (a @ b) @ y or x @ (a @ b)."""
    other = use.origins.get("y" if use.name == "x" else "x")
    if not is_one_of(use, *PRODUCTS) or other is None:
        return
    inner = next((u for u in use.graph.uses if u.node is other and not u.part), None)
    if inner is not None and is_one_of(inner, "matmul", "mm", "mv", "bmm"):
        a, b = inner.values.get("x"), inner.values.get("y")
        if a is not None and b is not None:
            yield a, b


def _with_other(use: Use, value: Any) -> Any:
    """The rule, with this value in the place of the other operand."""
    name = "y" if use.name == "x" else "x"
    if value is None or name not in use.values or np.shape(value) != np.shape(use.values[name]):
        return None
    return use.rule(use.g, **{name: value})


@at_a_use(
    "transposed",
    "A factor of the product {op}{line}, or the product itself, is transposed and should not be, or the reverse.",
    "Try the formula on matrices that are not square: the shapes tell which factor is turned.",
)
def transposed_factor(use: Use) -> Any:
    for a, b in _factors(use):
        for left, right in ((_T(a), b), (a, _T(b)), (_T(a), _T(b))):
            yield _product(left, right, use)
    if is_one_of(use, *PRODUCTS) and use.passed.ndim > 1:
        yield _T(use.passed)


@at_a_use(
    "transposed",
    "{op}{line} exchanges two axes, and they were not exchanged back.",
    "The gradient of a transpose is the transpose of the gradient.",
)
def not_transposed_back(use: Use) -> Any:
    if not is_one_of(use, "t", "transpose", "permute") or use.g.size != use.passed.size:
        return None
    return use.g.reshape(use.passed.shape)  # reshape gives the shape back, not the order


PRODUCTS = ("matmul", "mm", "bmm", "addmm", "baddbmm", "mv", "addmv")


def _factors(use: Use) -> list[tuple[Any, Any]]:
    """The two matrices whose product is what should pass; none, if it is no product of two."""
    x, y = use.values.get("x"), use.values.get("y")
    if not is_one_of(use, *PRODUCTS):
        return []
    if use.name == "x" and y is not None and np.ndim(y) >= 2:
        return [(use.g, _T(y))] if use.g.ndim >= 2 else [(y, use.g)]
    if use.name == "y" and x is not None and np.ndim(x) >= 2:
        return [(_T(x), use.g)]
    return []


def _T(a: Any) -> Any:
    return a if np.ndim(a) < 2 else np.swapaxes(a, -1, -2)


def _product(a: Any, b: Any, use: Use) -> Any:
    try:
        return a @ b if np.shape(a @ b) == use.passed.shape else None
    except ValueError:  # the shapes do not go together
        return None


# ------------------------------------------------------------------ einsum


def _turned_einsum(use: Use) -> Iterator[tuple[tuple[bool, ...], Any]]:
    """An einsum of two operands with g, the other operand, or the result transposed: which, and what."""
    xs, equation = use.values.get("xs", ()), use.values.get("equation")
    if not is_one_of(use, "einsum") or not isinstance(equation, str) or len(xs) != 2:
        return
    ins, out = equation.split("->")
    own, other = ins.split(",")[use.position], ins.split(",")[1 - use.position]
    v = xs[1 - use.position]
    if len(set(own)) != len(own) or not set(own) <= set(out) | set(other):
        return
    if len(set(own) & set(out) & set(other)) == len(own):
        return  # no product of matrices: all letters are of one sort
    for turns in product((False, True), repeat=3):
        try:
            d = np.einsum(f"{out},{other}->{own}", _T_if(turns[0], use.g), _T_if(turns[1], v))
        except ValueError:
            continue
        if any(turns):
            yield turns, _T_if(turns[2], d)


def _T_if(turn: bool, a: Any) -> Any:
    return _T(a) if turn else a


@at_a_use(
    "matmul_order",
    "The factors of the product {op}{line} are in the wrong order on the way back.",
    "Try the formula on matrices that are not square: the shapes tell where g stands.",
)
def einsum_order(use: Use) -> Any:
    yield from (d for turns, d in _turned_einsum(use) if all(turns))


@at_a_use(
    "transposed",
    "A factor of the product {op}{line}, or the product itself, is transposed and should not be, or the reverse.",
    "Write the letters of each array down: those of g, of the other operand, and of the result.",
)
def einsum_transposed(use: Use) -> Any:
    yield from (d for turns, d in _turned_einsum(use) if not all(turns))


@at_a_use(
    "swapped_operands",
    "The operands of {op}{line} are exchanged: this is the rule for the other one.",
    "Write the rule of each operand down beside its name.",
)
def einsum_operands(use: Use) -> Any:
    if is_one_of(use, "einsum"):
        yield from (
            u.at(use.g).passed for u in use.graph.uses if u.node is use.node and u.k != use.k
        )


# ------------------------------------------------------------------ convolution


@at_a_use(
    "transposed",
    "The kernel of {op}{line} is flipped, or its axes are exchanged: it does not meet the entries it has met before.",
    "Write out one entry of z, and see which entry of the kernel each entry of x was multiplied with.",
)
def kernel_flipped(use: Use) -> Any:
    w = use.values.get("w")
    if not is_one_of(use, "convolution") or use.name not in ("x", "w"):
        return
    axes = tuple(range(2, use.passed.ndim))
    if use.name == "w":
        yield np.flip(use.passed, axes)
    elif w is not None:
        yield use.rule(use.g, w=np.flip(w, axes))
    if len(axes) > 1:
        if use.name == "w":
            yield _T(use.passed)
        elif w is not None and w.shape[-1] == w.shape[-2]:
            yield use.rule(use.g, w=_T(w))
    if use.name == "x" and w is not None and w.shape[0] == w.shape[1]:
        yield use.rule(use.g, w=np.swapaxes(w, 0, 1))
