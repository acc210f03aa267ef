"""Functions built from other ops, so they need no derivative rules of their own.

Sorting and similar functions use the values to choose entries, and then take these entries with
`gather`, which has a rule. The choice itself has derivative 0 wherever it is differentiable.

Here x is a Tensor (or a Slot) with at least one axis, and `axis` is not negative.
"""

from typing import Any, Literal

import numpy as np

from minigrad import return_types
from minigrad.core.dtypes import common_dtype, torch_name
from minigrad.core.errors import wrong_kind
from minigrad.core.modes import seen
from minigrad.ops import products
from minigrad.ops.indexing import gather, own_places
from minigrad.ops.layout import unsafe_view


def named(z: Any, name: str, op: Any = None) -> Any:
    """z, after giving its node PyTorch's name: `sort` calls gather, but its node is a SortBackward0.

    op   rename the node only if it belongs to this op (after a write to a view, it is CopySlices)
    """
    node = getattr(z, "node", None)
    if node is not None and hasattr(node, "rename") and (op is None or getattr(node.plan, "op", None) is op):
        node.rename(name)
    return z


def taken(kind: Any, x: Any, at: Any, axis: int, keepdims: bool = True) -> Any:
    """The entries of x at the indices `at` along axis, and `at`, as a `kind`. Without keepdims, the axis (of size 1) is removed."""
    z = gather.apply(x, index=at, axis=axis)
    if not keepdims:
        at = in_c_order(at.squeeze(axis))
        z = unsafe_view.apply(z, shape=at.shape)
    form = "1" if "median" in kind.__name__ else "0"  # MedianBackward0 is the median of all entries
    return kind(named(z, f"{kind.__name__.capitalize()}Backward{form}"), x._index_tensor(at))


def ordered(name: str, x: Any) -> None:
    """Raise an error for complex numbers, which have no order."""
    if x.dtype.kind == "c":
        raise wrong_kind(name, [torch_name(x.dtype)])


def sorting(values: Any, axis: int, descending: bool = False) -> Any:
    """The indices that sort the values, with a stable sort. NaN counts as the largest value."""
    if not descending:
        return values.argsort(axis, kind="stable")
    reversed_order = read_backward(values, axis).argsort(axis, kind="stable")
    return values.shape[axis] - 1 - read_backward(reversed_order, axis)


def read_backward(values: Any, axis: int) -> Any:
    """Like np.flip, but ten times as fast for a plain array. (A program records np.flip.)"""
    if values.__class__ is not np.ndarray:
        return np.flip(values, axis)
    return values[(slice(None),) * axis + (slice(None, None, -1),)]


def sort(x: Any, axis: int, descending: bool, stable: bool = False) -> Any:
    """The sorted entries along axis, and their old indices."""
    ordered("sort", x)
    z = taken(return_types.sort, x, sorting(seen(x), axis, descending), axis)
    return return_types.sort(named(z.values, "SortBackward1"), z.indices) if stable else z


def argsort(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort x along axis."""
    ordered("argsort", x)
    return x._index_tensor(sorting(seen(x), axis, descending))


def topk(x: Any, axis: int, k: int, largest: bool) -> Any:
    """The k largest (or smallest) entries, sorted, and their indices."""
    ordered("topk", x)
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= x.array.shape[axis]:
        raise RuntimeError(f"selected index k out of range: k is {k}, and there are {x.shape[axis]} entries.")
    return taken(return_types.topk, x, in_c_order(first_of_sorted(seen(x), axis, k, largest)), axis)


def first_of_sorted(values: Any, axis: int, k: int, largest: bool) -> Any:
    """The indices of the k largest (or smallest) values, sorted. Of equal values, the first come first."""
    n, before = values.shape[axis], (slice(None),) * axis
    if values.__class__ is not np.ndarray or n < 500 or not 0 < 8 * k < n:
        return sorting(values, axis, largest)[(*before, slice(0, k))]
    # Sort only the k that are wanted. Of values that equal the last of them, any may be chosen, as in PyTorch.
    parted = values.argpartition(n - k if largest else k - 1, axis)
    chosen = np.sort(parted[(*before, slice(n - k, n) if largest else slice(0, k))], axis)
    order = sorting(gather(values, index=chosen, axis=axis), axis, largest)
    return gather(chosen, index=order, axis=axis)


def kthvalue(x: Any, axis: int, k: int, keepdims: bool) -> Any:
    """The k-th smallest entry, counted from 1, and its index."""
    ordered("kthvalue", x)
    nonempty("kthvalue", x, axis)
    if not 1 <= k <= x.shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    at = sorting(seen(x), axis).take([k - 1], axis)
    return taken(return_types.kthvalue, x, at, axis, keepdims)


def median_along(x: Any, axis: int, keepdims: bool, ignore_nan: bool = False) -> Any:
    """The (lower) median and its index. It is NaN if an entry is NaN, unless NaNs are ignored."""
    kind = return_types.nanmedian if ignore_nan else return_types.median
    ordered(kind.__name__, x)
    nonempty(kind.__name__, x, axis)
    last, nans = x.array.shape[axis] - 1, np.add.reduce(np.isnan(seen(x)), axis=axis, keepdims=True)
    place = np.maximum(last - nans, 0) // 2 if ignore_nan else np.where(nans > 0, last - nans + 1, last // 2)
    at = seen(gather(sorting(seen(x), axis), index=place, axis=axis))  # NaNs are sorted to the end, the first of them first
    return taken(kind, x, at, axis, keepdims)


def most_frequent(x: Any, axis: int, keepdims: bool) -> Any:
    """The most frequent entry (the smallest one in a tie) and its last index."""
    ordered("mode", x)
    nonempty("mode", x, axis)
    rows = np.moveaxis(seen(x), axis, -1)
    at = np.empty((*rows.shape[:-1], 1), np.int64)
    for i in np.ndindex(*rows.shape[:-1]):
        _, which, often = np.unique(rows[i], return_inverse=True, return_counts=True, equal_nan=False)
        at[i] = np.flatnonzero(which == often.argmax())[-1]
    return taken(return_types.mode, x, np.moveaxis(at, -1, axis), axis, keepdims)


def in_c_order(a: Any) -> Any:
    """The array in C order. While a program is being recorded, its values are returned unchanged."""
    return np.asarray(a, order="C") if a.__class__ is np.ndarray else a


def p_norms(differences: Any, p: float) -> Any:
    """The p-norms along the last axis. Unlike norm, 0 does not count a NaN: the result is NaN, as in cdist and pdist."""
    return differences.norm(p, -1) if p else differences.abs().clamp(max=1).ceil().sum(-1)


def running_extreme(x: Any, axis: int, function: Any) -> Any:
    """Implements cummax and cummin: the largest (smallest) entry so far (NaN after a NaN), and its last index."""
    kind = return_types.cummax if function is np.maximum else return_types.cummin
    ordered(kind.__name__, x)
    array = seen(x)
    z = function.accumulate(array, axis=axis)
    latest = np.where((array == z) | np.isnan(array), own_places(array.shape)[axis], 0)
    at = in_c_order(np.maximum.accumulate(latest, axis=axis))
    return taken(kind, x, at, axis)


def level(x: Any, values: Any) -> Any:
    """The values, as a constant function of x: x gets a gradient of zeros."""
    return x.masked_fill(x._constant(np.ones(x.shape, bool)), -0.0) + values  # -0.0 + z is z, even if that is -0.0


def sampled(x: Any, drawn: Any, name: str) -> Any:
    """Samples from a distribution with parameters x. x gets a gradient of zeros; if it needs none, the samples are constants.

    name   the name of the node
    """
    return named(level(x, drawn), name) if x.requires_grad or x._tangents else drawn


def quantile(x: Any, axis: int, q: Any, keepdims: bool, interpolation: str, ignore_nan: bool) -> Any:
    """Quantiles, interpolated between sorted entries. q is a number or a vector.

    NaNs are sorted to the end. If a row has a NaN, its quantile is NaN; with ignore_nan, only the
    entries before the NaNs count.
    """
    if not x.array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if x.dtype not in (np.float32, np.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not hasattr(q, "__apply_op__"):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = x._constant(np.asarray(q, x.dtype))
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype != x.dtype:
        raise RuntimeError(f"quantile() q tensor must be same dtype as the input tensor, but q is {q.dtype} and the input {x.dtype}")
    if not ((q.array >= 0) & (q.array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    rows = sort(x, axis, False).values.movedim(axis, -1)
    last, nan = x.shape[axis] - 1, np.isnan(rows.array).sum(-1, keepdims=True)
    if ignore_nan:
        scale, start = np.maximum(last - nan, 0), 0 * nan
    else:
        scale, start = np.where(nan, 0, last), np.where(nan, last, 0)
    scale, start = scale.astype(x.dtype), start.astype(x.dtype)
    place = q.array.reshape(-1) * scale + start
    rounding = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}.get(interpolation)
    low = (place if rounding is None else rounding(place)).astype(np.int64)
    z = rows.gather(-1, low)
    if rounding is None:
        weight: Any = x._constant(np.full_like(place, 0.5))
        if interpolation == "linear":
            weight = q.reshape(-1) * x._constant(scale) + x._constant((start - low).astype(x.dtype))
        z = z.lerp(rows.gather(-1, np.ceil(place).astype(np.int64)), weight)
    z = z.movedim(-1, 0)
    z = z.unsqueeze(axis + 1) if keepdims else z
    return named(z if q.ndim else z.squeeze(0), "SqueezeBackward4")


# ------------------------------------------- searching, and sums of products


def insertion_points(edges: Any, x: Any, right: bool, out_int32: bool = False, sorter: Any = None) -> Any:
    """For each entry of x, the index at which to insert it so that its row of `edges` stays sorted.

    edges     (n,), or (..., n) with the same leading axes as x: one row for each row of x
    sorter    the indices that sort the rows of `edges`, with the same shape
    """
    ordered("searchsorted", x)
    rows, values = seen(edges), seen(x)
    rows = np.asarray(rows) if isinstance(rows, (list, tuple)) else rows
    if rows.ndim != 1 and (rows.ndim != values.ndim or rows.shape[:-1] != values.shape[:-1]):
        raise RuntimeError(
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor "
            f"must match, but we got boundaries tensor {list(rows.shape)} and input value tensor {list(values.shape)}"
        )
    if sorter is not None:
        sorter = np.asanyarray(seen(sorter))
        if sorter.shape != rows.shape:
            raise RuntimeError(
                "searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(rows.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {torch_name(sorter.dtype)}")
        if sorter.size and not 0 <= sorter.min() <= sorter.max() < rows.shape[-1]:
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        rows = np.take_along_axis(rows, sorter, -1)
    side = "right" if right else "left"
    if rows.ndim == 1:
        z = np.asanyarray(np.searchsorted(rows, values, side))
    else:
        z = searched(rows, values, side)
    return x._constant(z.astype(np.int32)) if out_int32 else x._index_tensor(z)


def searched(rows: Any, values: Any, side: Literal["left", "right"] = "left") -> Any:
    """np.searchsorted of each row of values in the row of `rows` with the same number."""
    found = [np.searchsorted(rows[at], values[at], side) for at in np.ndindex(values.shape[:-1])]
    return np.stack(found).reshape(values.shape) if found else np.zeros(values.shape, np.int64)


def contraction(equation: str, *xs: Any) -> Any:
    """The einsum of several operands, of one dtype if any letter is summed. Of one operand, it is a view, or the
    sum of a view.
    """
    equation = products.explicit(equation, tuple([x.ndim for x in xs]))
    if len(xs) > 1:
        if len({x.dtype for x in xs}) > 1 and not products.summed_letters(equation):
            dtype = common_dtype([x.dtype for x in xs if x.ndim], [x.dtype for x in xs if not x.ndim], [])
            xs = tuple(x.to(dtype) for x in xs)
        return products.einsum(*xs, equation=equation)
    terms, result = equation.split("->")
    summed = products.summed_letters(equation)
    x = xs[0]
    for c in terms:
        while terms.count(c) > 1:  # x[ii]: the diagonal, which becomes the last axis
            i, j = terms.index(c), terms.rindex(c)
            if x.shape[i] != x.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {c} is repeated for operand 0 but the sizes don't match, "
                    f"{x.shape[j]} != {x.shape[i]}"
                )
            x, terms = x.diagonal(0, i, j), terms[:i] + terms[i + 1 : j] + terms[j + 1 :] + c
    x = x.permute([terms.index(c) for c in [*result, *summed]])
    return x.sum(tuple(range(len(result), x.ndim))) if summed else x


def nonempty(name: str, x: Any, axis: int) -> None:
    """Raise an error for an axis of size 0, which has no largest entry, no median and so on."""
    if not x.array.shape[axis]:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
