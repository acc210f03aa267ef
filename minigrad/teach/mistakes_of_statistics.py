"""The table of mistakes, continued: statistics, and sums that are broadcast again.

    var, std, norm     x - x.mean(), e / e.sum()

Read mistakes.py first.
"""

from typing import Any

import numpy as np

from minigrad.core.shapes import restore_axes
from minigrad.teach.mistakes import Variant, at_a_use, is_one_of
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ statistics


@at_a_use(
    "scale",
    "{op}{line} divides by {n}, and your gradient by another number of entries.",
    "Is it n or n - 1? The forward pass tells which.",
)
def degrees_of_freedom(use: Use) -> Any:
    """n against n - 1, or the length of another axis."""
    n = use.passed.size // use.g.size if use.g.size else 0
    if n < 2:
        return
    if is_one_of(use, "var", "std"):
        m = n - float(use.values.get("correction", 1))
        for other in (n, n - 1):
            if other != m and m > 0:
                root = 0.5 if is_one_of(use, "std") else 1
                yield Variant(use.passed * m / other, f"{m:g}")
                yield Variant(use.passed * (m / other) ** root, f"{m:g}")
    if is_one_of(use, "mean"):
        for other in {n - 1, *use.passed.shape, use.passed.size} - {n, 0, 1, n * n}:
            yield Variant(use.passed * n / other, str(n))


@at_a_use(
    "mean_for_sum",
    "{op}{line} divides by {n}, and your gradient does not.",
    "The derivative of a mean is 1/n for each entry.",
)
def variance_not_divided(use: Use) -> Any:
    if not is_one_of(use, "var", "std") or not use.g.size:
        return None
    m = use.passed.size / use.g.size - float(use.values.get("correction", 1))
    return [Variant(use.passed * m, f"{m:g}")] if m > 1 else None


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} was taken at the wrong place: {n}.",
    "Look up whether the rule is written in terms of the input x or of the result z.",
)
def statistics_elsewhere(use: Use) -> Any:
    z, x = use.values.get("z"), use.values.get("x")
    if not is_one_of(use, "var", "std", "norm") or use.widened() is None:
        return
    if z is not None and not is_one_of(use, "var"):
        yield Variant(use.passed / _wide(use, z), "the square stands where its root is meant")
    if x is not None and is_one_of(use, "var", "std"):
        share = use.rule(np.ones_like(use.g))
        center = x - np.mean(x, axis=_axes(use), keepdims=True)
        with np.errstate(all="ignore"):
            at_x = np.where(center == 0, np.nan, share * use.widened() / center * x)
        yield Variant(at_x, "at x, instead of at x minus its mean")


@at_a_use(
    "upstream_ignored",
    "{op}{line} is a root, and only what stands under the root was differentiated.",
    "The chain rule has one more factor here: the derivative of the root.",
)
def under_the_root(use: Use) -> Any:
    if not is_one_of(use, "std", "norm") or use.values.get("p", 2) != 2:
        return None
    z = use.values.get("z")
    return None if z is None or use.widened() is None else 2 * use.passed * _wide(use, z)


def _axes(use: Use) -> Any:
    return use.values.get("axis")


def _wide(use: Use, z: Any) -> Any:
    """The result, repeated to the shape of what was reduced."""
    keepdims = bool(use.values.get("keepdims", False))
    return np.broadcast_to(
        restore_axes(z, use.passed.shape, _axes(use), keepdims), use.passed.shape
    )


# ------------------------------------------------------------------ sums that are broadcast again


def spread(use: Use, **changed: Any) -> Any:
    """x / x.sum(), x - x.mean(): what would come back to the sum's result, had it the shape of x.

    None if this is no sum whose result is broadcast to the shape of what was summed.
    """
    graph, chain, node = use.graph, [], use.node
    if not is_one_of(use, "sum", "mean"):
        return None
    total = use.values.get("z")
    while True:
        above = [u for u in graph.uses if u.parent is node]
        if len(above) != 1 or above[0].op is None or above[0].op.kind != "elementwise":
            return None
        (u,) = above
        if (wide := u.wide()) is not None and wide.shape == use.passed.shape:
            break
        chain.append(u)
        node = u.node
    values = dict(u.values)
    if "other" in changed:
        values = {n: _instead(v, total, changed["other"]) for n, v in values.items()}
        assert u.op is not None
        rule = u.op.rules[u.name]
        if any(r not in values for r in rule.reads):
            return None
        wide = np.asarray(rule.formula(u.g, *(values[r] for r in rule.reads)))
    for inner in reversed(chain):
        assert inner.op is not None
        rule = inner.op.rules[inner.name]
        values = {n: _instead(v, total, changed.get("other")) for n, v in inner.values.items()}
        if any(r not in values for r in rule.reads):
            return None
        try:
            wide = np.asarray(rule.formula(wide, *(values[r] for r in rule.reads)))
        except ValueError:
            return None
    return wide if wide.shape == use.passed.shape else None


def _instead(value: Any, total: Any, other: Any) -> Any:
    if other is None or not isinstance(value, np.ndarray) or not value.ndim:
        return value
    return other if np.array_equal(value, total) else value


@at_a_use(
    "softmax_diagonal_only",
    "The sum in {op}{line} depends on every score, and only each score's own part came back through it.",
    "Every score moves every probability: the gradients of all of them are added up.",
)
def diagonal_through_the_sum(use: Use) -> Any:
    below = next((u for u in use.graph.uses if u.node is use.parent), None)
    if not is_one_of(use, "sum") or below is None or not is_one_of(below, "exp"):
        return None
    return spread(use)


@at_a_use(
    "reduction_axis",
    "{op}{line} works along axis {n}, and what comes back to it was summed along another axis.",
    "Sum along the axes along which the value was repeated.",
)
def spread_along_another_axis(use: Use) -> Any:
    if not is_one_of(use, "sum", "mean"):
        return
    axis, shape = use.values.get("axis"), use.passed.shape
    right = axis if isinstance(axis, int) else axis[0] if axis and len(axis) == 1 else None
    if right is None or len(shape) < 2 or (wide := spread(use)) is None:
        return
    x = use.values.get("x")
    for other in range(len(shape)):
        if other == right % len(shape):
            continue
        share = 1 / shape[other] if is_one_of(use, "mean") else 1
        yield Variant(np.broadcast_to(wide.sum(other, keepdims=True) * share, shape), str(right))
        z = use.values.get("z")
        if z is not None and use.values.get("keepdims"):  # as in p * (g - sum(g * p))
            summed = (wide * z).sum(other, keepdims=True) * share
            yield Variant(np.broadcast_to(summed / z, shape), str(right))
        if x is not None:
            total = np.broadcast_to(np.sum(x, other, keepdims=True) * share, shape)
            turned = spread(use, other=total)
            if turned is not None:
                back = np.broadcast_to(turned.sum(other, keepdims=True) * share, shape)
                yield Variant(back, str(right))
