"""The table of mistakes, continued: matrix products, einsum, convolution.

Read mistakes.py first.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variants, mistake
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ matrices


PRODUCTS = "matmul mm bmm addmm baddbmm mv addmv"


@mistake("matmul_order", PRODUCTS)
def _matmul_order(use: Use) -> Passes:
    """The factors of the product {op}{line} are in the wrong order on the way back.

    Try the formula on matrices that are not square: the shapes tell where g belongs.
    """
    return [_product(b, a) for a, b in _factors(use) if a.ndim > 1 and b.ndim > 1]


@mistake("matmul_order", PRODUCTS)
def _transpose_of_a_product(use: Use) -> Variants:
    """The other factor of {op}{line} is a product itself, and its transpose was taken in the wrong
    order.

    (A @ B).T  is  B.T @ A.T.
    """
    for a, b in _other_is_a_product(use):
        if (
            a.ndim > 1 and b.ndim > 1
        ):  # ValueError: no square matrices, the order cannot be mistaken
            yield _with_other(use, _T(_T(a) @ _T(b)))


@mistake("transposed", PRODUCTS)
def _transposed_further_in(use: Use) -> Variants:
    """The other factor of {op}{line} is the product of a matrix and a vector, with the matrix
    transposed.

    x @ A  is  A.T @ x.
    """
    for a, b in _other_is_a_product(use):
        if 1 in (a.ndim, b.ndim) and 2 in (a.ndim, b.ndim):
            yield _with_other(use, b @ a if a.shape[-1] == b.shape[0] == b.shape[-1] else None)


def _other_is_a_product(use: Use) -> Iterator[tuple[Array, Array]]:
    """The factors of the other operand, for z = (a @ b) @ y or x @ (a @ b)."""
    other = use.origins.get(use.beside)
    inner = next((u for u in use.graph.uses if u.node is other and not u.part), None)
    if inner is not None and inner.op_name in ("matmul", "mm", "mv", "bmm"):
        a, b = inner.values.get("x"), inner.values.get("y")
        if a is not None and b is not None:
            yield a, b


def _with_other(use: Use, value: Array | None) -> Array | None:
    """The rule, with this value in the place of the other operand."""
    name = use.beside
    if value is None or name not in use.values or np.shape(value) != np.shape(use.values[name]):
        return None
    return use.rule(use.g, **{name: value})


@mistake("transposed", PRODUCTS)
def _transposed_factor(use: Use) -> Variants:
    """A factor of the product {op}{line}, or the product itself, is transposed and should not be,
    or the reverse.

    Try the formula on matrices that are not square: the shapes tell which factor is transposed.
    """
    for a, b in _factors(use):
        for left, right in ((_T(a), b), (a, _T(b)), (_T(a), _T(b))):
            yield _product(left, right)
    if use.passed.ndim > 1:
        yield _T(use.passed)


@mistake("transposed", "t transpose permute")
def _not_transposed_back(use: Use) -> Passes:
    """{op}{line} exchanges two axes, and they were not exchanged back.

    The gradient of a transpose is the transpose of the gradient.
    """
    # reshape gives the shape back, not the order.
    return use.g.reshape(use.passed.shape)


def _factors(use: Use) -> list[tuple[Array, Array]]:
    """The two matrices whose product is what should pass; none, if it is no product of two."""
    other = use.values.get(use.beside)
    if other is None or np.ndim(other) < 2:
        return []
    if use.name == "x":
        return [(use.g, _T(other))] if use.g.ndim >= 2 else [(other, use.g)]
    return [(_T(other), use.g)] if use.name == "y" else []


def _T(a: Array) -> Array:
    return a if np.ndim(a) < 2 else np.swapaxes(a, -1, -2)


def _product(a: Array, b: Array) -> Array | None:
    try:
        return a @ b
    except ValueError:  # the shapes do not go together
        return None


# ------------------------------------------------------------------ einsum


def _turned_einsum(use: Use, all_turned: bool) -> Variants:
    """An einsum of two operands with g, the other operand, or the result transposed; or with all."""
    xs, equation = use.values.get("xs", ()), use.values.get("equation")
    if not isinstance(equation, str) or len(xs) != 2:
        return
    ins, out = equation.split("->")
    own, other = ins.split(",")[use.position], ins.split(",")[1 - use.position]
    v = xs[1 - use.position]
    if len(set(own)) != len(own) or not set(own) <= set(out) | set(other):
        return
    if len(set(own) & set(out) & set(other)) == len(own):
        return  # no product of matrices: all letters are of one sort
    for turns in product((False, True), repeat=3):
        if not any(turns) or all(turns) != all_turned:
            continue
        g, factor, back = (_T if turn else np.asarray for turn in turns)
        with suppress(ValueError):
            yield back(np.einsum(f"{out},{other}->{own}", g(use.g), factor(v)))


@mistake("matmul_order", "einsum")
def _einsum_order(use: Use) -> Passes:
    """The factors of the product {op}{line} are in the wrong order on the way back.

    Try the formula on matrices that are not square: the shapes tell where g belongs.
    """
    return _turned_einsum(use, all_turned=True)


@mistake("transposed", "einsum")
def _einsum_transposed(use: Use) -> Passes:
    """A factor of the product {op}{line}, or the product itself, is transposed and should not be,
    or the reverse.

    Write the letters of each array down: those of g, of the other operand, and of the result.
    """
    return _turned_einsum(use, all_turned=False)


@mistake("swapped_operands", "einsum")
def _einsum_operands(use: Use) -> Variants:
    """The operands of {op}{line} are exchanged: this is the rule for the other one.

    Write the rule of each operand down beside its name.
    """
    beside = [u for u in use.graph.uses if u.node is use.node and u.k != use.k]
    yield from (u.at(use.g).passed for u in beside)


# ------------------------------------------------------------------ convolution


@mistake("transposed", "convolution")
def _kernel_flipped(use: Use) -> Variants:
    """The kernel of {op}{line} is flipped, or its axes are exchanged: it does not meet the entries
    it has met before.

    Write out one entry of z, and see which entry of the kernel each entry of x was multiplied with.
    """
    w = use.values.get("w")
    axes = tuple(range(2, use.passed.ndim))
    if use.name == "w":
        yield np.flip(use.passed, axes)
        if len(axes) > 1:
            yield _T(use.passed)
    elif use.name == "x" and w is not None:
        yield use.rule(use.g, w=np.flip(w, axes))
        if len(axes) > 1 and w.shape[-1] == w.shape[-2]:
            yield use.rule(use.g, w=_T(w))
        if w.shape[0] == w.shape[1]:
            yield use.rule(use.g, w=np.swapaxes(w, 0, 1))
