"""The table of mistakes, continued: where entries come from, and where they go.

    indices     sums, means and axes

Read mistakes.py first.
"""

from contextlib import suppress
from itertools import combinations

import numpy as np

from minigrad.core.shapes import restore_axes
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, mistake
from minigrad.teach.mistakes_of_losses import parts_of_cross_entropy, softmax
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ indices


Axis = int | tuple[int, ...]
PICKING = "getitem gather index_select embedding"


@mistake("index_not_scattered", PICKING)
def _overwritten(use: Use, index: Array) -> Passes:
    """{op}{line} reads some entries more than once, and their parts were not added up: the last
    overwrote the others.

    Add with np.add.at, or sum over all places where the same index stands.
    """
    # As if each part had been written to its place, and not added to what is there.
    return _written(use, use.g, index)


@mistake("index_not_scattered", "getitem index_select embedding")
def _only_the_first(use: Use, index: Array) -> Passes:
    """{op}{line} reads some entries more than once, and only the first part of each was kept.

    Add with np.add.at, or sum over all places where the same index stands.
    """
    # As if the places had been written from the last to the first.
    if not isinstance(index, np.ndarray) or index.dtype.kind == "b" or index.ndim != 1:
        return None
    return _written(use, np.flip(use.g, int(use.values.get("axis") or 0)), np.flip(index))


@mistake("index_not_scattered", "getitem narrow select")
def _slices_overwrite_each_other(use: Use) -> Passes:
    """{op}{line} reads entries that are read elsewhere too, and its part overwrote theirs, where it
    had to be added.

    Add each part to what is there already:  d[index] += g,  not  d[index] = g.
    """
    # x[:3] and x[1:]: d[:3] = ..., then d[1:] = ...
    read = use.share()
    if use.fan_in < 2 or read is None:
        return None
    others = np.asarray(use.graph.gradients[use.parent]) - use.passed
    return use.passed - others * (read != 0)


def _written(use: Use, g: Array, index: Array) -> Array | None:
    d, axis = np.zeros_like(use.passed), int(use.values.get("axis") or 0)
    if use.op_name == "gather":
        np.put_along_axis(d, index, g, axis)
    elif use.op_name == "index_select":
        d[(slice(None),) * axis + (index,)] = g
    else:
        d[index] = g
    return d


@mistake("mean_for_sum", PICKING)
def _mean_over_repeated_indices(use: Use) -> Passes:
    """{op}{line} reads some entries more than once, and your gradient is the mean of their parts,
    not the sum.

    What was read several times gets the sum of what comes back.
    """
    counts = use.share()
    return use.passed / np.maximum(counts, 1) if counts is not None and np.any(counts > 1) else None


# ------------------------------------------------------------------ sums, means and axes


REDUCED = "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits"


@mistake("mean_for_sum", f"mean cross_entropy nll_loss div mul {REDUCED}")
def _mean_taken_for_sum(use: Use) -> Passes:
    """{op}{line} divides by {n}, the number of entries, and your gradient does not.

    The derivative of a mean is 1/n for each entry.
    """
    n = _averaged(use)
    return [Variant(use.passed * n, str(n))] if n > 1 else None


def _averaged(use: Use) -> int:
    """How many entries the operation averages; 0 if it does not."""
    if use.op_name == "mean":
        return use.gathered
    if "reduction" in use.values:
        return int(use.passed.size) if use.values["reduction"] == "mean" else 0
    if use.op_name in ("cross_entropy", "nll_loss"):
        weights = use.values.get("weights") if use.values.get("reduced") else None
        n = 1 / float(np.max(weights)) if weights is not None and np.size(weights) else 0
        return round(n) if abs(n - round(n)) < 1e-4 * max(n, 1) else 0
    if use.name != "x" or np.size(use.values.get("y", [])) != 1:
        return 0
    y = float(np.reshape(use.values["y"], ()))
    n = y if use.op_name == "div" else 1 / y if y else 0
    sums = {u.gathered for u in use.graph.paths if u.op_name == "sum" and u.g.size}
    return round(n) if n > 1 and any(abs(n - m) < 1e-6 * n for m in sums) else 0


@mistake("mean_for_sum", "sum")
def _sum_taken_for_mean(use: Use) -> Passes:
    """{op}{line} is a sum, and your gradient is that of a mean: divided by {n}.

    The derivative of a sum is 1 for each entry.
    """
    n = use.gathered
    return [Variant(use.passed / n, str(n))] if n > 1 else None


@mistake("mean_for_sum")
def _mean_over_a_broadcast(use: Use) -> Variants:
    """The sum that undoes the broadcast in {op}{line} became a mean: your gradient is divided by
    {n}.

    What was repeated gets the sum of what comes back, not its mean.
    """
    wide = use.g if use.op_name == "convolution" and use.name == "b" else use.wide()
    n = 0 if wide is None or not use.passed.size else wide.size // use.passed.size
    if wide is None or n < 2:
        return
    yield Variant(use.passed / n, str(n))
    for m in sorted(set(wide.shape)):  # a mean along one of several axes
        if 1 < m < n and n % m == 0:
            yield Variant(use.passed / m, str(m))


@mistake(
    "reduction_axis", "sum mean amax amin softmax log_softmax logsumexp cumsum prod cross_entropy"
)
def _reduction_axis(use: Use, axis: Axis) -> Variants:
    """{op}{line} works along axis {n}, and your gradient is that of another axis.

    What was summed along an axis is repeated along the same axis on the way back.
    """
    values, op, right = use.values, use.op, use.one_axis
    if use.op_name == "cross_entropy":
        if use.passed.ndim == 2 and (parts := parts_of_cross_entropy(use)) is not None:
            yield Variant(
                softmax(values["x"], 1 - int(values["axis"])) * parts[3] - parts[1], str(axis)
            )
        return
    if op is None or use.passed.ndim < 2 or right is None:
        return
    for other in range(use.passed.ndim):
        if other != right % use.passed.ndim:
            changed: Axis = other if isinstance(axis, int) else (other,)
            yield Variant(use.rule(use.g, axis=changed), str(right))
            if "z" in use.reads() and "x" in values:
                settings = {s: values[s] for s in op.settings} | {"axis": changed}
                z = op.forward(values["x"], **settings)
                yield Variant(use.rule(use.g, axis=changed, z=z), str(right))
                yield Variant(use.rule(use.g, z=z), str(right))
                yield from _half_turned(use, changed, z, str(right))


def _half_turned(use: Use, axis: Axis, z: Array, right: str) -> Variants:
    """g repeated along one axis, and the derivative taken along another."""
    here, wide = use.share(), use.widened()
    if use.op_name not in ("logsumexp", "amax", "amin", "prod") or use.values.get("keepdims"):
        return
    if here is None:
        return
    there = use.rule(np.ones_like(z), axis=axis, z=z)
    if there is not None and wide is not None:
        yield Variant(there * wide, right)
    with suppress(ValueError, IndexError, RuntimeError):  # only where both axes are of one length
        turned = np.broadcast_to(restore_axes(use.g, use.passed.shape, axis, False), here.shape)
        yield Variant(here * turned, right)


@mistake("tangent_for_gradient", "cumsum")
def _summed_from_the_front(use: Use, axis: int) -> Passes:
    """{op}{line} is summed up from the front on the way back as well: so tangents move (forward
    mode).

    An entry is part of all the sums that follow it, so its gradient sums from the end.
    """
    return np.cumsum(use.g, axis)


@mistake("reduction_axis")
def _broadcast_axis(use: Use) -> Variants:
    """The sum that undoes the broadcast in {op}{line} was taken along another axis.

    Sum along the axis along which the value was repeated.
    """
    # Only between axes of one length can the two be mistaken for each other.
    wide, shape = use.wide(), use.passed.shape
    if wide is None or not 2 <= wide.ndim <= 4:
        return
    long = [n for n in shape if n != 1]
    for many in range(1, wide.ndim + 1):
        for axes in combinations(range(wide.ndim), many):
            if [n for k, n in enumerate(wide.shape) if k not in axes and n != 1] == long:
                yield wide.sum(axes).reshape(shape)
