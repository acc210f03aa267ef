"""The table of mistakes, continued: where entries come from, and where they go.

    indices     sums, means and axes     matrices     einsum     convolution

Read mistakes.py first.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations, product
from typing import Any

import numpy as np

from minigrad.core.shapes import restore_axes
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, mistake, one_number
from minigrad.teach.uses import Use, constant_factor

# ------------------------------------------------------------------ indices


Axis = int | tuple[int, ...]
PICKING = "getitem gather index_select embedding"
OF_MATRICES = "matmul mm bmm addmm baddbmm mv addmv"


@mistake("index_not_scattered", f"{PICKING} unfold im2col tile")
def _overwritten(use: Use) -> Variants:
    """{op}{line} reads some entries more than once, and their gradients were not added up: {n}.

    Add with np.add.at, or sum over all places where the same entry is read.
    """
    # As if each part had been written to its place instead of added to what is there.
    yield Variant(_written(use, slice(None)), "the last one overwrote the others")
    yield Variant(_written(use, slice(None, None, -1)), "only the first one was kept")


def _written(use: Use, order: slice) -> Array | None:
    """The gradient if each part is written to the place that was read, in this order."""
    entries = np.arange(use.passed.size).reshape(use.passed.shape)
    read = np.ravel(use.applied(x=entries))
    d = np.zeros(use.passed.size, use.passed.dtype)
    d[read[order]] = np.ravel(use.g)[order]
    return d.reshape(use.passed.shape) if len(set(read)) < read.size else None


@mistake("index_not_scattered", PICKING)
def _parts_overwrite_each_other(use: Use) -> Variants:
    """Several parts of a tensor are read, as in {op}{line}, and the gradient of one overwrote the
    others instead of being added.

    Add each part to what is already there:  d[index] += g,  not  d[index] = g.
    """
    # d[:3] = ..., then d[1:] = ...; said at the first part, for all of them
    alike = (u for u in use.graph.paths if u.parent is use.parent and u.op_name in PICKING)
    uses = sorted((u for u in alike if not u.part), key=lambda u: -u.node.queue_key)
    if use.fan_in < 2 or (use.node, use.k) != (uses[0].node, uses[0].k):
        return
    entries = np.arange(use.passed.size).reshape(use.passed.shape)
    read = [np.ravel(u.applied(x=entries)) for u in uses]
    if len({k for some in read for k in set(some)}) == sum(map(len, map(set, read))) == len(uses):
        return
    rest = use.graph.gradients[use.parent] - sum(u.passed for u in uses)
    for size, step, first in product((1, 2), (1, -1), (0 * rest, rest)):
        d = np.ravel(first).copy()
        for k in _in_order(len(uses), size, step):
            d[read[k]] = np.ravel(uses[k].g)
        written = d.reshape(rest.shape) + (rest if first is not rest else 0)
        yield written - rest - sum(u.passed for u in uses[1:])


def _in_order(n: int, size: int, step: int) -> Iterator[int]:
    """0, 1, 2, ... or the reverse; with size 2, the two parts of a step are the other way round."""
    for start in range(0, n, size)[::step]:
        yield from range(start, min(start + size, n))[:: step if size == 1 else -step]


@mistake("wrong_argument", "getitem")
def _another_part(use: Use, index: Any) -> Variants:
    """The gradient through {op}{line} was put in the wrong place: {n}.

    Write down which entries the operation reads. The gradient of each entry goes back to its own
    place, and is 0 elsewhere.
    """
    if all(u.op_name != "log_softmax" for u in use.graph.edges_of.get(use.parent, ())):
        for part, words in _parts_beside(index, use.passed.shape):
            yield Variant(use.rule(use.g, index=part), words)  # of log_softmax: another class


def _parts_beside(index: Any, shape: tuple[int, ...]) -> Iterator[tuple[Any, str]]:
    """Indices like this one, of numbers and slices, with one of them moved; and where they read."""
    if not isinstance(index, tuple) or any(not isinstance(at, int | slice) for at in index):
        return
    for axis, (at, n) in enumerate(zip(index, shape, strict=False)):
        read = range(n)[at] if isinstance(at, slice) else range(at % n, at % n + 1)
        first, step, size = read.start, read.step, len(read) - 1
        places = {(0, 1): "side by side at the beginning", (0, step): "at the beginning",
                  (n - 1 - size * step, step): "at the end", (first + 1, step): "one place too far",
                  (first - 1, step): "one place too early"}  # fmt: skip
        for (k, by), words in places.items():
            if 0 <= k <= (last := k + size * by) < n and (k, by) != (first, step):
                moved = slice(k, last + 1, by) if isinstance(at, slice) else k
                yield (*index[:axis], moved, *index[axis + 1 :]), f"{words}, along axis {axis}"


@mistake("wrong_argument", "getitem index_put gather")
def _another_index(use: Use, index: Any) -> Variants:
    """The gradient of {op}{line} was read from, or added to, the wrong entries: {n}.

    Write down which entries the operation reads, and add each gradient to the entry that was read.
    """
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [k for k, i in enumerate(parts) if isinstance(i, np.ndarray) and i.dtype.kind in "iu"]
    others: list[tuple[int, Array, str]] = []
    for k in arrays:
        here = parts[k]
        n = use.passed.shape[use.values["axis"] if use.op_name == "gather" else k]
        shifted = [(k, (here + d) % n, "each index is one too large or too small") for d in (1, -1)]
        others += shifted if n > 2 and use.op_name != "index_put" else []
        for axis in range(here.ndim if here.size > 2 else 0):
            turned = (np.roll(here, d, axis) for d in (1, -1))
            others += [(k, i, "the indices are shifted by one place") for i in turned]
        alike = [i for i in use.graph.indices if i.shape == here.shape and len(arrays) == 1]
        others += [(k, i, "the indices are those of another operation") for i in alike]
    for k, i, words in others:
        if not np.array_equal(i, parts[k]):
            changed = (*parts[:k], i, *parts[k + 1 :])
            yield Variant(use.rule(use.g, index=changed if parts is index else i), words)
    if len(arrays) == 2:
        j, k = arrays
        swapped = tuple(index[{j: k, k: j}.get(m, m)] for m in range(len(index)))
        yield Variant(use.rule(use.g, index=swapped), "the two indices are swapped")


@mistake("wrong_argument", "mul matmul dot")
def _factor_at_another_index(use: Use) -> Variants:
    """The other factor in the derivative of {op}{line} was read at the wrong entries: {n}.

    The factor is the value of the other operand that the operation read.
    """
    inner = [u for u in use.graph.uses if u.node is use.origins.get(use.beside)]
    if len(inner) != 1 or inner[0].op_name != "getitem":
        return
    index, words = inner[0].values["index"], "the indices are those of another operation"
    others = list(_parts_beside(index, inner[0].passed.shape))
    if len(index) == 1 and isinstance(index[0], np.ndarray):
        alike = (i for i in use.graph.indices if i.shape == index[0].shape)
        others = [((i,), words) for i in alike if not np.array_equal(i, index[0])]
    for other, words in others:
        yield Variant(use.rule(use.g, **{use.beside: inner[0].applied(index=other)}), words)


@mistake("wrong_argument", "constant_pad_nd")
def _padding_cut_elsewhere(use: Use, widths: tuple[tuple[int, int], ...]) -> Variants:
    """The padding of {op}{line} was cut off in the wrong place: {n}.

    The gradient of the padding is left out: on each side, as many entries as were added there.
    """
    padded = [k for k, width in enumerate(widths) if any(width)]
    for axes in [padded, *([k] for k in padded if len(padded) > 1)]:
        where = "" if axes == padded else f", along axis {axes[0]}"
        for words, other in (
            ("all of it at the end", lambda left, right: (0, left + right)),
            ("all of it at the beginning", lambda left, right: (left + right, 0)),
            ("the widths of the two sides are swapped", lambda left, right: (right, left)),
            ("one place too far", lambda left, right: (left + 1, right - 1)),
            ("one place too early", lambda left, right: (left - 1, right + 1)),
        ):
            changed = tuple(other(*w) if k in axes else w for k, w in enumerate(widths))
            if changed != widths and min(map(min, changed)) >= 0:
                yield Variant(use.rule(use.g, widths=changed), words + where)


@mistake("sign", "roll")
def _rolled_forward(use: Use, shifts: tuple[int, ...]) -> Passes:
    """The gradient of {op}{line} was shifted in the same direction as the values.

    It is shifted back: each gradient goes to the place that the value came from.
    """
    return use.rule(use.g, shifts=tuple(-n for n in shifts))


@mistake("mask_missing", f"{PICKING} nll_loss")
def _given_to_all_entries(use: Use, share: Array) -> Variants:
    """{op}{line} picks one entry of each row, but your gradient goes to all entries of the row.

    Only the picked entry affects the result: elsewhere the gradient is 0.
    """
    for axis in range(share.ndim):
        if share.ndim > 1 and np.all(np.count_nonzero(share, axis) == 1):
            yield np.broadcast_to(use.passed.sum(axis, keepdims=True), share.shape)


@mistake("mean_for_sum", f"{PICKING} unfold im2col tile")
def _mean_over_repeated_indices(use: Use, share: Array) -> Passes:
    """{op}{line} reads some entries more than once, but your gradient is the mean over these
    reads instead of the sum.

    The gradient of an entry that is read several times is the sum over the reads.
    """
    return use.passed / np.maximum(share, 1) if np.any(share > 1) else None


# ------------------------------------------------------------------ sums, means and axes


REDUCED = "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits"


@mistake("mean_for_sum", f"mean cross_entropy nll_loss div mul window_sum {REDUCED}")
def _mean_taken_for_sum(use: Use) -> Passes:
    """{op}{line} divides by {n}, the number of entries, but your gradient does not.

    The derivative of a mean is 1/n for each entry.
    """
    n = averaged(use)
    return [Variant(use.passed * n, str(n))] if n > 1 else None


def averaged(use: Use) -> int:
    """How many entries the operation averages; 0 if it does not."""
    if use.op_name == "mean":
        return use.gathered
    if use.op_name == "window_sum":  # of avg_pool2d
        return int(use.values.get("count", 0))
    if "reduction" in use.values:
        return int(use.passed.size) if use.values["reduction"] == "mean" else 0
    if use.op_name in ("cross_entropy", "nll_loss"):
        weights = use.values.get("weights") if use.values.get("reduced") else None
        n = 1 / float(np.max(weights)) if weights is not None and np.size(weights) else 0
        return round(n) if abs(n - round(n)) < 1e-4 * max(n, 1) else 0
    if (c := abs(constant_factor(use))) == 0:
        return 0
    sums = [u for u in use.graph.paths if u.op_name == "sum"]
    # 1/2 is rather that of a square, unless the sum of two numbers is halved at once
    counts = {u.gathered for u in sums if u.gathered > 2 or u.node is use.parent} - {0, 1}
    if use.op_name == "div":  # the number of rows, perhaps
        products = ("sum", "dot", *OF_MATRICES.split())
        counts |= {n for u in use.graph.paths if u.op_name in products for n in u.passed.shape}
    found = (n for k in (1, 2) for n in counts if abs(k * n * c - 1) < 1e-6)  # also  / (2 * n)
    return next(found, 0)


@mistake("mean_for_sum")
def _mean_over_a_broadcast(use: Use, wide: Array) -> Variants:
    """The gradient of the broadcast in {op}{line} was averaged instead of summed: it is divided
    by {n}.

    The gradient of a repeated value is the sum over the copies, not their mean.
    """
    lengths = [wide.shape[k] for k in use.summed_axes(wide)]
    for many in range(len(lengths), 0, -1):  # a mean along all of the axes, or along some of them
        for some in combinations(lengths, many):
            if (n := math.prod(some)) > 1:
                yield Variant(use.passed / n, str(n))


@mistake("mean_for_sum", "sum")
def _sum_taken_for_mean(use: Use) -> Passes:
    """{op}{line} is a sum, but your gradient is that of a mean: it is divided by {n}.

    The derivative of a sum is 1 for each entry.
    """
    n, shape = use.gathered, use.passed.shape
    lengths = {m for m in shape if m > 2 and m < n and use.g.size == 1}  # a mean over the examples
    return [Variant(use.passed / m, str(m)) for m in (n, *sorted(lengths))] if n > 1 else None


@mistake("mean_for_sum", f"{OF_MATRICES} cross_entropy nll_loss")
def _mean_over_the_rows(use: Use) -> Passes:
    """The gradient through {op}{line} is a sum over {n} rows, but yours is their mean.

    The loss is not a mean, so there is no 1/n.
    """
    if any(averaged(u) > 1 for u in use.graph.paths):
        return None  # the loss is a mean: one 1/n too many
    if use.op_name in OF_MATRICES.split():
        rows = np.shape(use.values.get("x", ()))
        n = rows[-2] if use.name == "y" and len(rows) == 2 else 0
    else:
        weights = use.values.get("weights", 0)
        n = use.g.size if use.g.ndim else np.size(use.values["target"]) * bool(np.all(weights == 1))
    return [Variant(use.passed / n, str(n))] if n > 1 else None


@mistake("broadcast_not_summed")
def _one_copy(use: Use, wide: Array) -> Variants:
    """A value was repeated in {op}{line}, and several copies of it count, but your gradient has only
    one of them.

    The gradient of a repeated value is the sum over its copies: count those through which a
    gradient arrives.
    """
    # As for the right class of an SVM: each violated margin counts.
    axes = tuple(use.summed_axes(wide))
    many = np.maximum(np.count_nonzero(wide, axes, keepdims=True).reshape(use.passed.shape), 1)
    if np.ptp(many):
        yield use.passed / many
        if one_number(wide):
            yield np.broadcast_to(np.min(wide) + np.max(wide), use.passed.shape)


@mistake(
    "reduction_axis", "sum mean amax amin max min logsumexp cumsum prod linalg_vector_norm std var"
)
def _reduction_axis(use: Use, axis: Axis) -> Variants:
    """{op}{line} works along axis {n}, but your gradient works along another axis.

    In the backward pass, repeat the gradient along the axis that was summed.
    """
    values, op, right = use.values, use.op, use.one_axis
    if op is None or use.passed.ndim < 2 or right is None:
        return
    for other in range(use.passed.ndim):
        if other != right % use.passed.ndim:
            changed: Axis = other if isinstance(axis, int) else (other,)
            at = {}
            if "at" in values:  # of max and min: which entries were chosen
                at["at"] = getattr(np, f"arg{op.name}")(values["x"], other, keepdims=True)
                best = getattr(np, op.name)(values["x"], other, keepdims=True)
                yield Variant(np.asarray(use.widened()) * (values["x"] == best), str(right))
                with suppress(ValueError, IndexError, RuntimeError):  # g in a row, for a column
                    turned = restore_axes(use.g, use.passed.shape, changed, False)
                    yield Variant(np.asarray(use.share()) * turned, str(right))
            yield Variant(use.rule(use.g, axis=changed, **at), str(right))
            if "z" in use.reads() and "x" in values:
                z = use.applied(axis=changed)
                yield Variant(use.rule(use.g, axis=changed, z=z), str(right))
                yield Variant(use.rule(use.g, z=z), str(right))
                yield from _half_turned(use, changed, z, str(right))


def _half_turned(use: Use, axis: Axis, z: Array, right: str) -> Variants:
    """g repeated along one axis, and the derivative taken along another."""
    here, wide = use.share(), use.widened()
    of_one = use.op_name in ("logsumexp", "amax", "amin", "prod", "linalg_vector_norm", "std")
    if not of_one or use.values.get("keepdims") or here is None:
        return
    slope = use.rule(np.ones_like(z), axis=axis, z=z)
    if slope is not None and wide is not None:
        yield Variant(slope * wide, right)
    with suppress(ValueError, IndexError, RuntimeError):  # only if both axes have the same length
        turned = np.broadcast_to(restore_axes(use.g, use.passed.shape, axis, False), here.shape)
        yield Variant(here * turned, right)


@mistake("tangent_for_gradient", "cumsum cumprod")
def _summed_from_the_front(use: Use, axis: int) -> Passes:
    """The gradient of {op}{line} was summed from the front, as tangents are in forward mode.

    An entry is part of all the results that follow it, so its gradient is summed from the end.
    """
    g, over = _running(use)
    return np.cumsum(g, axis) / over


@mistake("mask_missing", "cumsum cumprod")
def _summed_over_all(use: Use, axis: int) -> Passes:
    """In the derivative of {op}{line}, each entry gets the sum over all results.

    An entry is part of its own result and of those that follow, so sum from there to the end.
    """
    g, over = _running(use)
    return np.broadcast_to(np.sum(g, axis, keepdims=True), g.shape) / over


@mistake("missing_path", "cumsum cumprod")
def _running_in_part(use: Use) -> Variants:
    """In the derivative of {op}{line}, {n}.

    An entry is part of its own result and of all that follow: its gradient has a term for each.
    """
    g, over = _running(use)
    yield Variant(use.passed - g / over, "the entry's own result is left out")
    if use.op_name == "cumprod":
        yield Variant(g / over, "only the entry's own result counts, not those that follow")


@mistake("wrong_argument", "cumprod prod")
def _product_not_divided(use: Use, x: Array) -> Variants:
    """In the derivative of {op}{line}, {n}.

    The derivative of a product with respect to one factor is the product of the others.
    """
    yield Variant(use.passed * x, "the product is not divided by the entry itself")
    if use.op_name == "prod" and (z := use.widened(use.values["z"])) is not None:
        yield Variant(use.passed / z, "the product itself is missing")


def _running(use: Use) -> tuple[Array, Array]:
    """For a running sum or product: each gradient times its product, and what the sums are divided by."""
    if use.op_name == "cumsum":
        return use.g, np.ones(())
    return use.g * use.values["z"], use.values["x"]


@mistake("reduction_axis")
def _broadcast_axis(use: Use, wide: Array) -> Variants:
    """The gradient of the broadcast in {op}{line} was summed along the wrong axis.

    Sum along the axis along which the value was repeated.
    """
    # Only axes of the same length can be confused.
    shape = use.passed.shape
    if not 2 <= wide.ndim <= 4:
        return
    long = [n for n in shape if n != 1]
    for many in range(1, wide.ndim + 1):
        for axes in combinations(range(wide.ndim), many):
            if [n for k, n in enumerate(wide.shape) if k not in axes and n != 1] == long:
                yield wide.sum(axes).reshape(shape)
    yield np.broadcast_to(wide.sum(), shape)


# ------------------------------------------------------------------ matrices


@mistake("transposed", "inverse linalg_solve det logabsdet")
def _inverse_not_transposed(use: Use, z: Array) -> Passes:
    """An inverse in the derivative of {op}{line} is transposed and should not be, or the reverse.

    The gradient of z = x**-1 is  -z.T @ g @ z.T,  and that of x**-1 @ y with respect to y is
    x.T**-1 @ g.
    """
    if use.op_name == "linalg_solve":
        d = np.linalg.solve(use.values["x"], use.g)
        if use.name == "y":
            return d
        return [_T(use.passed), -np.outer(d, z) if d.ndim == 1 else -d @ _T(z)]
    if use.op_name != "inverse":
        return _T(use.passed)
    t = np.swapaxes(z, -1, -2)
    return [-(a @ use.g @ b) for a, b in ((z, z), (t, z), (z, t))]


@mistake("matmul_order", "inverse")
def _both_inverses_on_one_side(use: Use, z: Array) -> Passes:
    """Both inverses are on the same side in the derivative of {op}{line}.

    The gradient of x**-1 is  -z.T @ g @ z.T,  with z = x**-1.
    """
    return [-_T(z) @ _T(z) @ use.g, -use.g @ _T(z) @ _T(z)]


@mistake("wrong_argument", "inverse")
def _one_inverse(use: Use, z: Array) -> Passes:
    """One of the two inverses is missing in the derivative of {op}{line}.

    The gradient of x**-1 is  -z.T @ g @ z.T,  with z = x**-1.
    """
    return [-_T(z) @ use.g, -use.g @ _T(z), -use.g]


@mistake("wrong_argument", "det logabsdet")
def _not_the_inverse(use: Use, x: Array, z: Array) -> Variants:
    """The derivative of {op}{line} was computed with {n} instead of the inverse.

    The gradient of log(det(x)) is  inv(x).T,  and that of det(x) is  det(x) * inv(x).T.
    """
    factor = (use.g * z if use.op_name == "det" else use.g)[..., None, None]
    for instead, words in ((x, "the matrix itself"), (1 / x, "the reciprocal of each entry")):
        yield Variant(factor * _T(instead), words)
        yield Variant(factor * instead, words)


@mistake("wrong_argument", "det logabsdet")
def _logarithm_of_the_determinant(use: Use, x: Array) -> Passes:
    """The derivative of {op}{line} is {n}.

    The gradient of log(det(x)) is  inv(x).T,  and that of det(x) is  det(x) * inv(x).T.
    """
    determinant = np.linalg.det(x)[..., None, None]
    if use.op_name == "det":
        return [Variant(use.passed / determinant, "that of the logarithm: det(x) is missing")]
    words = "that of the determinant itself, without the logarithm"
    return [Variant(d * determinant, words) for d in (use.passed, _T(use.passed))]


@mistake("forgot_inner", "logabsdet")
def _only_the_logarithm(use: Use, x: Array) -> Passes:
    """Only the logarithm in {op}{line} was differentiated: the derivative of the determinant is missing.

    The gradient of log(det(x)) is  inv(x).T.
    """
    return np.broadcast_to((use.g / np.linalg.det(x))[..., None, None], x.shape)


@mistake("matmul_order", OF_MATRICES)
def _matmul_order(use: Use) -> Passes:
    """The factors of the product are in the wrong order in the derivative of {op}{line}.

    Try the formula on matrices that are not square: the shapes show where g belongs.
    """
    return [_product(b, a) for a, b in _factors(use) if a.ndim > 1 and b.ndim > 1]


@mistake("matmul_order", OF_MATRICES)
def _transpose_of_a_product(use: Use) -> Variants:
    """The other factor of {op}{line} is itself a product, and its transpose was computed in the
    wrong order.

    (A @ B).T  is  B.T @ A.T.
    """
    for a, b in _other_is_a_product(use):
        if a.ndim > 1 and b.ndim > 1:  # not square: a ValueError, for the order cannot be wrong
            yield _with_other(use, _T(_T(a) @ _T(b)))


@mistake("transposed", f"{OF_MATRICES} mul")
def _transposed_further_in(use: Use) -> Variants:
    """The other factor of {op}{line} is itself a product, and a matrix in it is transposed.

    x @ A  is  A.T @ x,  not  A @ x,  unless A is symmetric.
    """
    for a, b in _other_is_a_product(use):
        if a.ndim == b.ndim > 1:
            for left, right in ((_T(a), b), (a, _T(b))):
                if left.shape[-1] == right.shape[-2]:
                    yield _with_other(use, left @ right)
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
    """The rule, with this value in place of the other operand."""
    name = use.beside
    if value is None or name not in use.values or np.shape(value) != np.shape(use.values[name]):
        return None
    return use.rule(use.g, **{name: value})


@mistake("transposed", OF_MATRICES)
def _transposed_factor(use: Use) -> Variants:
    """A transpose is wrong in the derivative of {op}{line}: a factor, or the product itself, is
    transposed and should not be, or the reverse.

    Try the formula on matrices that are not square: the shapes show which factor is transposed.
    """
    for a, b in _factors(use):
        for left, right in ((_T(a), b), (a, _T(b)), (_T(a), _T(b))):
            yield _product(left, right)
    if use.passed.ndim > 1:
        yield _T(use.passed)


@mistake("wrong_argument", OF_MATRICES)
def _entry_by_entry(use: Use) -> Variants:
    """The derivative of {op}{line} was computed with * (entry by entry) instead of @.

    Try the formula on matrices that are not square: there, * would not fit.
    """
    for a, b in _factors(use):
        for left, right in product((a, _T(a)), (b, _T(b))):
            yield left * right if left.shape == right.shape else None


@mistake("transposed", "t transpose permute")
def _not_transposed_back(use: Use) -> Passes:
    """{op}{line} swaps two axes, but your gradient does not swap them back.

    The gradient of a transpose is the transpose of the gradient.
    """
    # reshape restores the shape, but not the order.
    return use.g.reshape(use.passed.shape)


def _factors(use: Use) -> list[tuple[Array, Array]]:
    """The two matrices whose product should pass; empty if it is not a product of two matrices."""
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
    except ValueError:  # the shapes do not fit
        return None


@mistake("wrong_argument", "linalg_solve")
def _system_not_solved(use: Use, x: Array, z: Array) -> Variants:
    """The derivative of {op}{line} is wrong: {n}.

    For z = x**-1 @ y, the gradient of y is  d = x.T**-1 @ g,  and that of x is  -d @ z.T.
    """
    if use.name == "y":
        yield Variant(use.g, "no system was solved in the backward pass")
        yield Variant(x @ use.g, "it has x instead of its inverse")
        yield Variant(_T(x) @ use.g, "it has x.T instead of its inverse")
        return
    g, z = (a[:, None] if a.ndim == 1 else a for a in (use.g, z))
    d, y = np.linalg.solve(_T(x), g), x @ z
    yield Variant(-d @ _T(y), "it has y instead of the result z")
    yield Variant(-g @ _T(z), "it has g instead of  x.T**-1 @ g")
    yield Variant(-g @ _T(y), "it has g and y instead of  x.T**-1 @ g  and the result z")


@mistake("missing_path", f"{OF_MATRICES} convolution add sub mul div")
def _one_example(use: Use) -> Variants:
    """{op}{line} is applied to several examples, rows or columns, but your gradient of {x} counts {n}.

    Sum over all examples: in a loop, add each part with  +=.
    """
    g = use.g
    for axis in (0, 2, 3) if use.op_name == "convolution" else _axes_of_examples(use):
        others = tuple(k for k in range(g.ndim) if k != axis % g.ndim)
        reached = np.flatnonzero(np.any(g, others))
        many = len(reached)
        for k, one in ((0, "first"), (-1, "last")) if many > 1 else ():
            only = np.zeros_like(g)
            np.moveaxis(only, axis, 0)[reached[k]] = np.moveaxis(g, axis, 0)[reached[k]]
            d = use.rule(only)
            if d is not None and np.any(d) and not np.allclose(d * many, use.passed):  # or a mean
                yield Variant(d, f"only the {one} of {many}")
                if many > 2 and np.any(rest := use.passed - d):
                    yield Variant(rest, f"all of {many} but the {one}")


def _axes_of_examples(use: Use) -> list[int]:
    """The axis of the incoming gradient that holds the examples; none if there is none."""
    if use.op_name in OF_MATRICES.split():  # in  w @ x,  each column is an example
        matrix = use.g.ndim and np.ndim(use.values.get(use.beside, 0)) > 1
        return [-1 if use.name == "x" else 0] if matrix else []
    wide = use.wide()
    return [] if wide is None or use.g.ndim == 0 else (use.summed_axes(wide) or [0])[:1]


@mistake("missing_path", f"{OF_MATRICES} convolution add sub mul div")
def _overwritten_in_a_loop(use: Use) -> Variants:
    """{op}{line} is applied to several examples, rows or columns, and in your gradient of {x} a later
    one has overwritten the earlier ones.

    Sum over all examples: in a loop, add each part with  +=.
    """
    # For each column, d[:, j] = x[i] for the examples that reach it; or with  d[:, y] -= x[i]  as well.
    g, wide = use.g, use.wide()
    if use.op_name == "convolution":
        windows = np.arange(g[:, 0].size).reshape(g[:, :1].shape)
        if use.name == "w":
            yield use.rule(np.where(windows == windows.max(), g, 0))
    elif use.op_name in OF_MATRICES.split():
        if g.ndim == 2:
            axis = 1 if use.name == "x" else 0
            yield from (use.rule(np.where(_from_the_last(w, axis), g, 0)) for w in (g != 0, g > 0))
    elif wide is not None and len(axes := use.summed_axes(wide)) == 1 and not one_number(wide):
        yield use.fit(np.where(_from_the_last(wide != 0, axes[0]), wide, 0))


def _from_the_last(written: Array, axis: int) -> Array:
    """False before the last place along the axis where this is true."""
    to_come = np.flip(np.cumsum(np.flip(written, axis), axis), axis)
    return to_come - written == 0


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
        return  # not a matrix product: all letters play the same role
    for turns in product((False, True), repeat=3):
        if not any(turns) or all(turns) != all_turned:
            continue
        g, factor, back = (_T if turn else np.asarray for turn in turns)
        with suppress(ValueError):
            yield back(np.einsum(f"{out},{other}->{own}", g(use.g), factor(v)))


@mistake("matmul_order", "einsum")
def _einsum_order(use: Use) -> Passes:
    """The factors of the product are in the wrong order in the derivative of {op}{line}.

    Try the formula on matrices that are not square: the shapes show where g belongs.
    """
    return _turned_einsum(use, all_turned=True)


@mistake("transposed", "einsum")
def _einsum_transposed(use: Use) -> Passes:
    """A transpose is wrong in the derivative of {op}{line}: a factor, or the product itself, is
    transposed and should not be, or the reverse.

    Write down the letters of each array: of g, of the other operand, and of the result.
    """
    return _turned_einsum(use, all_turned=False)


@mistake("swapped_operands", "einsum")
def _einsum_operands(use: Use) -> Variants:
    """The operands of {op}{line} are swapped: this is the other operand's rule.

    Write down the rule of each operand next to its name.
    """
    others = [u for u in use.graph.uses if u.node is use.node and u.k != use.k]
    yield from (u.at(use.g).passed for u in others)


@mistake("wrong_argument", "einsum")
def _einsum_other_operand(use: Use) -> Variants:
    """One operand was read in place of another in the derivative of {op}{line}.

    Write down which array each group of letters belongs to.
    """
    yield from (d for d, _ in _einsum_otherwise(use, operands=True))


@mistake("transposed", "einsum")
def _einsum_letters(use: Use) -> Variants:
    """Two letters are swapped in the derivative of {op}{line}: {n}.

    Write down the letters of each array: of g, of the other operands, and of the result.
    """
    yield from (Variant(d, n) for d, n in _einsum_otherwise(use, operands=False))


def _einsum_otherwise(use: Use, operands: bool) -> Iterator[tuple[Array, str]]:
    """The derivative with one operand in place of another, or with two letters of an array swapped."""
    xs, equation = list(use.values.get("xs", ())), use.values.get("equation")
    if not isinstance(equation, str) or len(xs) < 2 or "." in equation:
        return
    ins, _, out = equation.replace(" ", "").partition("->")
    letters = [out, *ins.split(",")]
    own, arrays = letters.pop(1 + use.position), [use.g, *xs]
    x = arrays.pop(1 + use.position)
    size = dict(zip("".join((own, *letters)), (n for a in (x, *arrays) for n in a.shape)))
    if len(set(own)) != len(own) or not set(own) <= set("".join(letters)):
        return
    for k, other in product(range(1, len(arrays)), (x, *arrays[1:]) if operands else ()):
        if other is not arrays[k] and other.shape == arrays[k].shape:
            read = [*arrays[:k], other, *arrays[k + 1 :]]
            yield np.einsum(f"{','.join(letters)}->{own}", *read), ""
    for k, (i, j) in product(range(len(xs) + 1), [] if operands else combinations(sorted(size), 2)):
        terms = [*letters, own]
        if i in terms[k] and j in terms[k] and size[i] == size[j]:
            terms[k] = terms[k].translate(str.maketrans(i + j, j + i))
            d = np.einsum(f"{','.join(terms[:-1])}->{terms[-1]}", *arrays)
            yield d, f"{i} and {j}, in one of its arrays"


# ------------------------------------------------------------------ convolution


@mistake("index_not_scattered", "convolution max_pool2d")
def _windows_overwrite_each_other(use: Use, stride: tuple[int, int], padding: Any) -> Variants:
    """Several {n} of {op}{line} reach the same entry, and the gradient of one overwrote the others.

    Add each part to what is already there:  d[i:j] += g,  not  d[i:j] = g.
    """
    values, w = use.values, use.values.get("w")
    if use.name != "x" or values.get("groups", 1) != 1 or set(values.get("dilation", ())) - {1}:
        return
    rows, columns = values["kernel_size"] if w is None else w.shape[-2:]
    n = "windows" if stride[0] < rows or stride[1] < columns else "filters"
    if w is None and n == "filters":
        return  # the windows do not overlap
    top, _, left, _ = padding
    room = [(0, 0)] * (use.passed.ndim - 2) + [padding[:2], padding[2:]]
    height, width = use.passed.shape[-2:]
    for filters in (slice(None), slice(-1, None)):  # all of them at once, or one after the other
        d = np.pad(0 * use.passed, room)
        for i, j in np.ndindex(use.g.shape[-2:]):
            i0, j0 = i * stride[0], j * stride[1]
            at = (..., slice(i0, i0 + rows), slice(j0, j0 + columns))
            if w is not None:
                d[at] = np.einsum("no,ocij->ncij", use.g[:, filters, i, j], w[filters])
            else:  # the whole window, or only the place of its largest entry
                window = np.pad(values["x"], room, constant_values=-np.inf)[at]
                largest = window == np.max(window, (-2, -1), keepdims=True)
                rest = 0 if filters.start is None else d[at]
                d[at] = np.where(largest, use.g[..., i, j, None, None], rest)
        yield Variant(d[..., top : top + height, left : left + width], n)
    if w is not None:  # one entry of the kernel after the other, for all windows
        d = np.pad(0 * use.passed, room)
        high, wide = (n * step for n, step in zip(use.g.shape[-2:], stride, strict=True))
        for i, j in np.ndindex(rows, columns):
            at = (..., slice(i, i + high, stride[0]), slice(j, j + wide, stride[1]))
            d[at] = np.einsum("nohw,oc->nchw", use.g, w[..., i, j])
        yield Variant(d[..., top : top + height, left : left + width], n)


@mistake("transposed", "mul dot mv matmul")
def _weights_of_a_window_flipped(use: Use) -> Variants:
    """The weights in the derivative of {op}{line} are {n}.

    Write out one entry of z, and see by which weight each entry of x is multiplied.
    """
    w = use.values.get(use.beside)
    parts = {u.op_name for u in use.graph.uses if u.node is use.parent}
    kernel = _flattened_kernel(use)
    if w is not None and kernel is None and parts & {"getitem", "unfold"}:
        kernel = w if w.ndim == 1 or w.ndim == 2 and use.op_name == "mul" else None
    if w is not None and kernel is not None:
        reverse = np.flip(kernel, (-1, -2)[: kernel.ndim])
        for k, words in ((reverse, "in reverse order"), (_T(kernel), "transposed")):
            yield Variant(use.rule(use.g, **{use.beside: k.reshape(w.shape)}), words)


def _flattened_kernel(use: Use) -> Array | None:
    """The kernel with all its axes, if the other operand is a matrix with a row for each filter."""
    inner = [u for u in use.graph.uses if u.node is use.origins.get(use.beside)]
    kernel = use.graph.known.get(inner[0].parent) if len(inner) == 1 else None
    if kernel is None or kernel.ndim not in (2, 4) or inner[0].op_name not in ("reshape", "view"):
        return None
    return kernel if inner[0].g.shape[0] == (len(kernel) if kernel.ndim == 4 else 1) else None


@mistake("transposed", "convolution")
def _kernel_flipped(use: Use) -> Variants:
    """The kernel in the derivative of {op}{line} is flipped, or its axes are swapped.

    Write out one entry of z, and see by which entry of the kernel each entry of x is multiplied.
    """
    w = use.values.get("w")
    axes = tuple(range(2, use.passed.ndim))
    if use.name == "w":
        yield np.flip(use.passed, axes)
        yield use.rule(np.flip(use.g, axes))  # np.convolve, which flips one of its arguments
        if len(axes) > 1:
            yield _T(use.passed)
        yield np.swapaxes(use.passed, 0, 1)
    elif use.name == "x" and w is not None:
        yield use.rule(use.g, w=np.flip(w, axes))
        if len(axes) > 1 and w.shape[-1] == w.shape[-2]:
            yield use.rule(use.g, w=_T(w))
        if w.shape[0] == w.shape[1]:
            yield use.rule(use.g, w=np.swapaxes(w, 0, 1))


@mistake("transposed", "convolution")
def _channels_not_moved(use: Use) -> Passes:
    """The gradient of the result of {op}{line} was reshaped to a row for each window, without first
    moving the axis of the channels to the end.

    reshape keeps the order of the numbers. Write  g.transpose(0, 2, 3, 1).reshape(-1, channels).
    """
    n, channels, *windows = use.g.shape
    return use.rule(np.moveaxis(use.g.reshape(n, *windows, channels), -1, 1))


ONE = "their stride is 1"


@mistake("wrong_argument", "convolution")
def _windows_elsewhere(use: Use, padding: Any) -> Variants:
    """The windows in the derivative of {op}{line} are not those of the forward pass: {n}.

    Window i starts at  i * stride - padding,  in the forward and in the backward pass.
    """
    top, bottom, left, right = padding
    if use.name == "w":
        _, _, down, across = np.add(use.g.shape, use.passed.shape) - 1
        x = np.pad(use.values["x"], [(0, 0), (0, 0), (top, bottom), (left, right)])
        other = {"x": x[..., :down, :across], "padding": (0, 0, 0, 0), "stride": (1, 1)}
        yield Variant(use.rule(use.g, **other), ONE)
    elif use.name == "x":
        down, across = top + bottom, left + right
        for k, end in enumerate(("end", "beginning")):
            kept = k * down, down - k * down, k * across, across - k * across
            words = f"all of the padding was cut off at the {end}"
            yield Variant(use.rule(use.g, padding=kept), words)
        height, width = np.add(use.g.shape[2:], use.values["w"].shape[2:]) - 1
        shape = (*use.passed.shape[:2], height, width)
        d = use.formula(use.g, x_shape=shape, padding=(0, 0, 0, 0), stride=(1, 1))
        padded = np.pad(0 * use.passed, [(0, 0), (0, 0), (top, bottom), (left, right)])
        padded[..., :height, :width] = d
        yield Variant(
            use.fit(padded[..., top:, left:][..., : -bottom or None, : -right or None]), ONE
        )
