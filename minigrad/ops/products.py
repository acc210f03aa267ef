"""Table of derivatives, chapter 3: products of vectors and matrices.

You can find all these rules from shapes: dL/dx has the shape of x, and only one product of
g and y has this shape.

`einsum` includes all the others, and its rule needs no special cases. In
z[ik] = sum_j x[ij] y[jk], replace z by g and swap g and x, which gives
dx[ij] = sum_k g[ik] y[jk]. The gradient of an einsum is an einsum.
"""

import math
from functools import lru_cache

import numpy as np

from minigrad.core.op import general, linear
from minigrad.core.shapes import product, repeat_to, sum_to, transposed
from minigrad.ops.elementwise import in_single, keep
from minigrad.ops.indexing import own_places, put_zeros

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def kind_of_product(x, y):
    """The name of the node of x @ y: the last function that PyTorch calls for this product."""
    n, m = x.array.ndim, y.array.ndim
    if n > 2 or m > 2:
        # A bmm of reshaped operands, reshaped. PyTorch swaps a matrix that requires a gradient with the batch, and back.
        return "CloneBackward0" if n == 2 and x.requires_grad else "UnsafeViewBackward0"
    if n == m:
        return "DotBackward0" if n == 1 else "MmBackward0"
    return "MvBackward0" if n > m else "SqueezeBackward4"


@linear(np.matmul, result="strict", exact=True, refuses="b", node=kind_of_product)
def matmul(x, y, *, out=None):
    """z = x @ y        dL/dx = g @ yᵀ        dL/dy = xᵀ @ g"""
    if out is None and 0 < x.ndim < 3 > y.ndim > 0:
        return product(x, y)
    return np.matmul(x, y, out=out, order="C")  # not in the order of the batch axes


def _matmul_dx(g, y, x_shape):
    if y.ndim == 2 and len(x_shape) < 3:
        return product(g, y.T)
    if y.ndim == 1:  # matrix @ vector: an outer product
        return g[..., None] * y
    if len(x_shape) == 1:  # vector @ batch of matrices
        return sum_to(np.sum(y * g[..., None, :], axis=-1), x_shape)
    return sum_to(g @ transposed(y), x_shape)


def _matmul_dy(g, x, y_shape, y_column_major):
    if x.ndim == 2 and len(y_shape) < 3:
        return _mm_dy(g, x, y_column_major)
    if len(y_shape) == 1:  # the rows of x, weighted by g
        return sum_to(x * g[..., None], y_shape)
    if x.ndim == 1:  # vector @ matrix: an outer product
        return x[:, None] * g[..., None, :]
    if len(y_shape) == 2:  # batch of matrices @ matrix: all rows at once
        return _matmul_dy(_rows(g), _rows(x), y_shape, y_column_major)
    return sum_to(transposed(x) @ g, y_shape)


def _rows(x):
    """A batch of matrices as one matrix with all their rows."""
    return x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


matmul.vjp(x=_matmul_dx, y=_matmul_dy)


@linear(result="strict", exact=True, refuses="b")
def mm(x, y, *, out=None):
    """z = x @ y, for two matrices        dL/dx = g @ yᵀ        dL/dy = xᵀ @ g"""
    return np.matmul(x, y, out=out) if out is not None else product(x, y)


def _mm_dy(g, x, y_column_major):
    """The gradient for y. If y is column-major (a transposed weight), so is the gradient."""
    return product(g.T, x).T if y_column_major else product(x.T, g)


mm.vjp(x=lambda g, y: product(g, y.T),
       y=_mm_dy)


@linear(result="strict", refuses="b")
def bmm(x, y, *, out=None):
    """z[n] = x[n] @ y[n], for two batches        dL/dx[n] = g[n] @ y[n]ᵀ        dL/dy[n] = x[n]ᵀ @ g[n]"""
    return np.matmul(x, y, out=out)


bmm.vjp(x=lambda g, y: g @ transposed(y),
        y=lambda g, x: transposed(x) @ g)


@linear(result="strict", exact=True, refuses="b")
def mv(x, y, *, out=None):
    """z = x @ y, for a matrix and a vector        dL/dx = g yᵀ        dL/dy = xᵀ @ g"""
    return np.matmul(x, y, out=out) if out is not None else product(x, y)


mv.vjp(x=lambda g, y: g[:, None] * y,
       y=lambda g, x: product(x.T, g))


@linear(np.dot, result="strict", exact=True, refuses="b")
def dot(x, y):
    """z = sum of x * y, for two vectors        dL/dx = g * y        dL/dy = g * x"""


dot.vjp(x=lambda g, y: g * y,
        y=lambda g, x: g * x)


# ------------------------------------------------------------------- product and sum


@general(result="strict", exact=True, refuses="b")
def addmm(b, x, y, *, beta=1, alpha=1, out=None):
    """z = beta * b + alpha * (x @ y)        dL/db = beta * g        dL/dx = alpha * g yᵀ        dL/dy = alpha * xᵀ g

    b is broadcast. In a linear layer it is the bias, the same row for all examples.
    """
    if alpha != 1 and x.dtype.char == "e":
        return in_single(addmm, out, b, x, y, beta=beta, alpha=alpha)
    z = matmul.forward(x, y, out=None if out is b else out)
    if alpha != 1:
        z *= alpha
    return np.add(z, b if beta == 1 else 0 if beta == 0 else b * beta, out=z if out is None else out)


def _scaled(x, factor):
    return x if factor == 1 else x * factor


addmm.vjp(b=lambda g, b_shape, beta: _scaled(sum_to(g, b_shape), beta),
          x=lambda g, y, alpha: _scaled(product(g, y.T), alpha),
          y=lambda g, x, y_column_major, alpha: _scaled(_mm_dy(g, x, y_column_major), alpha))


@general(result="strict", refuses="b")
def addmv(b, x, y, *, beta=1, alpha=1, out=None):
    """z = beta * b + alpha * (x @ y), y a vector        dL/db, dL/dx, dL/dy: as for addmm"""
    return addmm.forward(b, x, y, beta=beta, alpha=alpha, out=out)


@general(result="strict", refuses="b")
def baddbmm(b, x, y, *, beta=1, alpha=1, out=None):
    """z = beta * b + alpha * (x @ y), for two batches        dL/db, dL/dx, dL/dy: as for addmm"""
    return addmm.forward(b, x, y, beta=beta, alpha=alpha, out=out)


for _op in (addmv, baddbmm):
    _op.vjp(b=lambda g, beta: _scaled(g, beta),
            x=lambda g, y, x_shape, alpha: _scaled(_matmul_dx(g, y, x_shape), alpha),
            y=lambda g, x, y_shape, y_column_major, alpha: _scaled(_matmul_dy(g, x, y_shape, y_column_major), alpha))


def _product_dot(b_dot, x_dot, y_dot, x, y, z, beta, alpha):
    """The product rule."""
    terms = []
    if x_dot is not None:
        terms.append(_scaled(x_dot @ y, alpha))
    if y_dot is not None:
        terms.append(_scaled(x @ y_dot, alpha))
    if b_dot is not None and beta != 0:
        terms.append(_scaled(b_dot, beta))
    return repeat_to(sum(terms[1:], start=terms[0]), z.shape) if terms else np.zeros_like(z)


for _op in (addmm, addmv, baddbmm):
    _op.jvp(_product_dot)


@linear(result="strict", node="LinalgCrossBackward0")
def cross(x, y, *, axis):
    """z = x × y, the cross product of vectors of size 3 along axis        dL/dx = y × g        dL/dy = g × x"""
    # z[i] = x[i + 1] * y[i + 2] - x[i + 2] * y[i + 1], with indices modulo 3
    return (x * y.take(NEXT, axis) - x.take(NEXT, axis) * y).take(NEXT, axis)


NEXT = np.array([1, 2, 0])
cross.vjp(x=lambda g, y, axis: cross(y, g, axis=axis),
          y=lambda g, x, axis: cross(g, x, axis=axis))


@linear()
def trace(x):
    """z = sum of x[i, i]        dL/dx = g on the diagonal, 0 elsewhere"""
    return x.trace(dtype=x.dtype if x.dtype.kind in "fc" else np.int64)


trace.vjp(x=lambda g, x_shape: keep(repeat_to(g, x_shape), np.eye(*x_shape, dtype=bool)))


# ------------------------------------------------------------------------- einsum


def kind_of_einsum(equation):
    """The name of the node of an einsum: the last function that PyTorch calls, a view of a product or a product."""
    return "ViewBackward0" if summed_letters(equation) else "MulBackward0"


def summed_letters(equation):
    """The letters along which an explicit equation sums: those that its result does not have.

    >>> summed_letters("ij,jk->ik")
    ['j']
    """
    terms, result = equation.split("->")
    return [c for c in dict.fromkeys(terms) if c not in result and c != ","]


@linear(result="strict", node=kind_of_einsum)
def einsum(*xs, equation):
    """z = einsum(equation, x, y), e.g. "ij,jk->ik"        dL/dx = einsum("ik,jk->ij", g, y)

    The equation is explicit: one letter per axis, and an output (see `explicit`). There are two operands or more.
    """
    z = xs[0]
    for x, (pair, how) in zip(xs[1:], _pairs(equation), strict=True):
        z = _contract(z, x, pair, how)
    return z


@lru_cache(maxsize=1024)
def _pairs(equation):
    """The einsums of two operands that make up an einsum, from left to right as in PyTorch, each with how to
    compute it.
    """
    terms, result = equation.split("->")
    first, *others = terms.split(",")
    pairs = []
    for k, term in enumerate(others):
        later = "".join([result, *others[k + 1 :]])
        kept = "".join(dict.fromkeys(c for c in first + term if c in later)) if k + 1 < len(others) else result
        pairs.append((f"{first},{term}->{kept}", _as_matrices(first, term, kept)))
        first = kept
    return pairs


def _contract(x, y, pair, how):
    """einsum(pair, x, y), as one product of matrices if it is one."""
    if how.__class__ is str:
        return np.einsum(pair, x, y, order=how)
    step, left, right, n_batch, n_rows, n_inner, z_axes = how
    p, q = (x, y)[::step]
    p, q = p.transpose(left), q.transpose(right)
    batch, rows, inner = p.shape[:n_batch], p.shape[n_batch : n_batch + n_rows], p.shape[n_batch + n_rows :]
    columns = q.shape[n_batch + n_inner :]
    if inner != q.shape[n_batch : n_batch + n_inner]:  # an axis of length 1 is broadcast
        return np.einsum(pair, x, y, order="C")
    if n_rows != 1 or n_inner != 1:  # a reshape takes as long as a small product
        p = p.reshape(*batch, math.prod(rows), math.prod(inner))
    if n_inner != 1 or len(columns) != 1:
        q = q.reshape(*q.shape[:n_batch], math.prod(inner), math.prod(columns))
    z = np.matmul(p, q, order="C")
    if n_rows != 1 or len(columns) != 1:
        z = z.reshape(*z.shape[:n_batch], *rows, *columns)
    return z.transpose(z_axes)


def _as_matrices(first, second, kept):
    """How to read two operands as matrices, (batch, rows, inner) and (batch, inner, columns).

    returns  1, or -1 to swap the operands; the axes of both; the numbers of batch, row and inner axes; and the axes
             of the result. NumPy's name for the order of the result in memory if they are no matrices: a letter is
             repeated, or nothing is summed, or only along one operand

    They are swapped, as in PyTorch, if the axes of y come first in the result. This decides the order of the result
    in memory, and so whether `view` can reshape it.
    """
    x, y, z = set(first), set(second), set(kept)
    alone = [c for c in kept if (c in x) != (c in y)]
    inner = [c for c in first if c in y and c not in z]
    if not inner or not alone or len(x) + len(y) < len(first) + len(second) or (x ^ y) - z:
        return "C" if (x | y) - z else "K"
    of_x = [c in x for c in alone]
    step = 1 if of_x[0] or of_x != sorted(of_x) else -1  # -1: first all axes of y, then those of x
    left, right = (first, second)[::step]
    batch = [c for c in kept if c in x and c in y]
    rows, columns = [c for c in alone if c in left], [c for c in alone if c in right]
    axes = [left.index(c) for c in batch + rows + inner], [right.index(c) for c in batch + inner + columns]
    return step, *axes, len(batch), len(rows), len(inner), [(batch + rows + columns).index(c) for c in kept]


def _einsum_dx(g, k, xs, xs_shapes, equation):
    terms, result = equation.split("->")
    terms = terms.split(",")
    own, others = terms[k], terms[:k] + terms[k + 1 :]
    letters = "".join(dict.fromkeys(own))
    size = dict(zip(own, xs_shapes[k], strict=True))
    known = set(result).union(*others)
    # If a letter occurs only in x, x was summed along it, and g is repeated. If an axis of size 1
    # was broadcast, g is summed along it.
    kept = "".join(c for c in letters if c in known and (size[c] != 1 or not _broadcast(c, terms, xs_shapes)))
    d = einsum(g, *xs[:k], *xs[k + 1 :], equation=f"{','.join([result, *others])}->{kept}")
    found = dict(zip(kept, d.shape, strict=True))
    d = np.reshape(d, tuple(found.get(c, 1) for c in letters))
    d = repeat_to(d, tuple(size[c] for c in letters))
    if len(letters) == len(own):
        return d
    # x[ii]: only the diagonal was read
    at = dict(zip(letters, own_places(tuple(d.shape)), strict=True))
    return put_zeros(d, index=tuple(at[c] for c in own), shape=xs_shapes[k])


def _broadcast(c, terms, shapes):
    """True if some operand has more than one entry along axis c."""
    sizes = [(letter, n) for t, s in zip(terms, shapes, strict=True) for letter, n in zip(t, s, strict=True)]
    return any(n != 1 for letter, n in sizes if letter == c)


einsum.vjp(xs=_einsum_dx)


@lru_cache(maxsize=1024)
def explicit(equation, ndims):
    """The equation with an explicit output and without "...", for operands with these numbers of axes.

    >>> explicit("...ij,jk", (3, 2))
    'Aij,jk->Aik'
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        fewer = "fewer" if len(ndims) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {fewer} operands were provided than specified in the equation: "
            f"{equation!r} has {len(terms)}, and {len(ndims)} were given."
        )
    for k, term in enumerate(equation.replace("->", ",").split(",")):
        if "." in term.replace("...", "", 1):
            of_operand = k < len(terms)
            known = "for which an ellipsis" if of_operand else "but an ellipsis (...)"
            why = f"{known} was already found" if "..." in term else "that is not part of any ellipsis (...)"
            raise RuntimeError(f"einsum(): found '.' for {f'operand {k}' if of_operand else 'output'} {why}")
    for c in equation.replace(" ", "").replace("->", "").replace("...", ""):
        if c not in LETTERS + ",":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(c)} in the equation string, subscripts "
                f"must be in [a-zA-Z], but found {c!r}."
            )
    spare = [c for c in LETTERS if c not in equation]
    hidden = [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True)]
    for k, (t, extra) in enumerate(zip(terms, hidden, strict=True)):
        if extra < 0 or (extra and "..." not in t):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(t.replace('...', ''))}) "
                f"{'is more than' if '...' in t else 'does not match'} the number of dimensions ({ndims[k]}) "
                f"for operand {k}{'' if '...' in t else ' and no ellipsis was given'}"
            )
    dots = "".join(spare[: max(hidden)])
    terms = [t.replace("...", dots[len(dots) - e :]) for t, e in zip(terms, hidden, strict=True)]
    letters = "".join(terms)
    if not arrow:
        right = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    right = right.replace("...", dots)
    for c in right:
        if c not in letters:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
        if right.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    return f"{','.join(terms)}->{right}"
