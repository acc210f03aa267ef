"""The table of mistakes, continued: where entries come from, and where they go.

    indices     sums, means and axes

Read mistakes.py first.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np

from minigrad.core.shapes import restore_axes
from minigrad.teach.mistakes import Variant, at_a_use, is_one_of
from minigrad.teach.mistakes_of_losses import parts_of_cross_entropy, softmax
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ indices


@at_a_use(
    "index_not_scattered",
    "{op}{line} reads some entries more than once, and their parts were not added up: the last overwrote the others.",
    "Add with np.add.at, or sum over all places where the same index stands.",
)
def index_not_scattered(use: Use) -> Any:
    return _overwritten(use, use.g)


@at_a_use(
    "index_not_scattered",
    "{op}{line} reads some entries more than once, and only the first part of each was kept.",
    "Add with np.add.at, or sum over all places where the same index stands.",
)
def only_the_first_scattered(use: Use) -> Any:
    """As if the places had been written from the last to the first."""
    index = use.values.get("index")
    if not isinstance(index, np.ndarray) or index.dtype.kind == "b" or index.ndim != 1:
        return None
    if not is_one_of(use, "getitem", "index_select", "embedding"):
        return None
    axis = int(use.values.get("axis") or 0)
    return _overwritten(use, np.flip(use.g, axis), np.flip(index))


@at_a_use(
    "index_not_scattered",
    "{op}{line} reads entries that are read elsewhere too, and its part overwrote theirs, where it had to be added.",
    "Add each part to what is there already:  d[index] += g,  not  d[index] = g.",
)
def slices_overwrite_each_other(use: Use) -> Any:
    """x[:3] and x[1:]: d[:3] = ..., then d[1:] = ..."""
    if not is_one_of(use, "getitem", "narrow", "select") or use.fan_in < 2:
        return None
    read = use.rule(np.ones_like(use.g))
    others = np.asarray(use.graph.gradients[use.parent]) - use.passed
    return None if read is None else use.passed - others * (read != 0)


def _overwritten(use: Use, g: Any, index: Any = None) -> Any:
    d, axis = np.zeros_like(use.passed), use.values.get("axis")
    index = use.values.get("index") if index is None else index
    if index is None or not is_one_of(use, "getitem", "gather", "index_select", "embedding"):
        return None
    try:
        if is_one_of(use, "gather"):
            np.put_along_axis(d, index, g, int(axis or 0))
        elif is_one_of(use, "index_select"):
            d[(slice(None),) * int(axis or 0) + (index,)] = g
        else:
            d[index] = g
    except (ValueError, IndexError, TypeError):
        return None
    return d


@at_a_use(
    "mean_for_sum",
    "{op}{line} reads some entries more than once, and your gradient is the mean of their parts, not the sum.",
    "What was read several times gets the sum of what comes back.",
)
def mean_over_repeated_indices(use: Use) -> Any:
    if not is_one_of(use, "getitem", "gather", "index_select", "embedding"):
        return None
    counts = use.rule(np.ones_like(use.g))
    return use.passed / np.maximum(counts, 1) if counts is not None and np.any(counts > 1) else None


# ------------------------------------------------------------------ sums, means and axes


@at_a_use(
    "mean_for_sum",
    "{op}{line} divides by {n}, the number of entries, and your gradient does not.",
    "The derivative of a mean is 1/n for each entry.",
)
def mean_taken_for_sum(use: Use) -> Any:
    n = _averaged(use)
    return [Variant(use.passed * n, str(n))] if n > 1 else None


def _averaged(use: Use) -> int:
    """How many entries the operation averages; 0 if it does not."""
    if is_one_of(use, "mean") and use.g.size:
        return int(use.passed.size // use.g.size)
    if is_one_of(use, "mse_loss") and use.values.get("mean", True):
        return int(use.passed.size)
    if is_one_of(use, "cross_entropy", "nll_loss") and use.values.get("reduced"):
        weights = use.values.get("weights")
        n = 1 / float(np.max(weights)) if weights is not None and np.size(weights) else 0
        return round(n) if abs(n - round(n)) < 1e-4 * max(n, 1) else 0
    if is_one_of(use, "div", "mul") and use.name == "x" and np.size(use.values.get("y", [])) == 1:
        y = float(np.reshape(use.values["y"], ()))
        n = y if is_one_of(use, "div") else 1 / y if y else 0
        sums = {
            u.passed.size // u.g.size for u in use.graph.paths if is_one_of(u, "sum") and u.g.size
        }
        return round(n) if n > 1 and any(abs(n - m) < 1e-6 * n for m in sums) else 0
    return 0


@at_a_use(
    "mean_for_sum",
    "{op}{line} is a sum, and your gradient is that of a mean: divided by {n}.",
    "The derivative of a sum is 1 for each entry.",
)
def sum_taken_for_mean(use: Use) -> Any:
    n = use.passed.size // use.g.size if is_one_of(use, "sum") and use.g.size else 0
    return [Variant(use.passed / n, str(n))] if n > 1 else None


@at_a_use(
    "mean_for_sum",
    "The sum that undoes the broadcast in {op}{line} became a mean: your gradient is divided by {n}.",
    "What was repeated gets the sum of what comes back, not its mean.",
)
def mean_over_a_broadcast(use: Use) -> Any:
    wide = use.g if is_one_of(use, "convolution") and use.name == "b" else use.wide()
    n = 0 if wide is None or not use.passed.size else wide.size // use.passed.size
    if wide is None or n < 2:
        return
    yield Variant(use.passed / n, str(n))
    for m in sorted(set(wide.shape)):  # a mean along one of several axes
        if 1 < m < n and n % m == 0:
            yield Variant(use.passed / m, str(m))


REDUCTIONS = (
    "sum",
    "mean",
    "amax",
    "amin",
    "softmax",
    "log_softmax",
    "logsumexp",
    "cumsum",
    "prod",
)


@at_a_use(
    "reduction_axis",
    "{op}{line} works along axis {n}, and your gradient is that of another axis.",
    "What was summed along an axis is repeated along the same axis on the way back.",
)
def reduction_axis(use: Use) -> Any:
    axis, values, op = use.values.get("axis"), use.values, use.op
    if is_one_of(use, "cross_entropy") and use.passed.ndim == 2 and axis is not None:
        if (parts := parts_of_cross_entropy(use)) is not None:
            yield Variant(softmax(values["x"], 1 - int(axis)) * parts[3] - parts[1], str(axis))
    if op is None or use.passed.ndim < 2 or not is_one_of(use, *REDUCTIONS):
        return
    right = axis if isinstance(axis, int) else axis[0] if axis and len(axis) == 1 else None
    if right is None:
        return
    for other in range(use.passed.ndim):
        if other != right % use.passed.ndim:
            changed: Any = other if isinstance(axis, int) else (other,)
            yield Variant(use.rule(use.g, axis=changed), str(right))
            if "z" in use.reads() and "x" in values:
                settings = {s: values[s] for s in op.settings} | {"axis": changed}
                z = op.forward(values["x"], **settings)
                yield Variant(use.rule(use.g, axis=changed, z=z), str(right))
                yield Variant(use.rule(use.g, z=z), str(right))
                yield from _half_turned(use, changed, z, str(right))


@at_a_use(
    "tangent_for_gradient",
    "{op}{line} is summed up from the front on the way back as well: so tangents move (forward mode).",
    "An entry is part of all the sums that follow it, so its gradient sums from the end.",
)
def running_sum_forward(use: Use) -> Any:
    axis = use.values.get("axis")
    return np.cumsum(use.g, axis) if is_one_of(use, "cumsum") and axis is not None else None


def _half_turned(use: Use, axis: Any, z: Any, right: str) -> Iterator[Variant]:
    """g repeated along one axis, and the derivative taken along another."""
    if not is_one_of(use, "logsumexp", "amax", "amin", "prod") or use.values.get("keepdims"):
        return
    ones, wide = np.ones_like(use.g), use.widened()
    here, there = use.rule(ones), use.rule(np.ones_like(z), axis=axis, z=z)
    if there is not None and wide is not None:
        yield Variant(there * wide, right)
    with suppress(ValueError, IndexError, RuntimeError):  # only where both axes are of one length
        turned = np.broadcast_to(restore_axes(use.g, use.passed.shape, axis, False), here.shape)
        yield Variant(here * turned, right)


@at_a_use(
    "reduction_axis",
    "The sum that undoes the broadcast in {op}{line} was taken along another axis.",
    "Sum along the axis along which the value was repeated.",
)
def broadcast_axis(use: Use) -> Any:
    """Only between axes of one length can the two be mistaken for each other."""
    wide, shape = use.wide(), use.passed.shape
    if wide is None or not 2 <= wide.ndim <= 4:
        return
    long = [n for n in shape if n != 1]
    for many in range(1, wide.ndim + 1):
        for axes in combinations(range(wide.ndim), many):
            if [n for k, n in enumerate(wide.shape) if k not in axes and n != 1] == long:
                yield wide.sum(axes).reshape(shape)
