"""The table of mistakes, continued: statistics, and sums that are broadcast again.

    var, std, norm     x - x.mean(), e / e.sum()

Read mistakes.py first.
"""

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, constant_factor, mistake
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ statistics


@mistake("scale", "var std mean div mul")
def _degrees_of_freedom(use: Use) -> Variants:
    """{op}{line} divides by {n}, and your gradient divides by another number of entries.

    Is it n or n - 1? Look at the forward pass.
    """
    # n against n - 1, or the length of another axis.
    if use.op_name in ("div", "mul"):  # a sum, divided by hand
        c = constant_factor(use)
        for entries in {u.gathered for u in use.graph.paths if u.op_name == "sum"}:
            for here, other in ((entries, entries - 1), (entries - 1, entries)):
                if other > 0 and abs(c * here - 1) < 1e-6:
                    yield Variant(use.passed * here / other, str(here))
            if c and use.op_name == "div":  # by another number, such as the sum of a mask
                yield Variant(use.passed / c / entries, f"{1 / c:g}")
        return
    n = use.gathered
    if n < 2:
        return
    if use.op_name == "mean":
        for other in {n - 1, *use.passed.shape, use.passed.size} - {n, 0, 1, n * n}:
            yield Variant(use.passed * n / other, str(n))
        return
    m = n - float(use.values.get("correction", 1))
    for divisor in (n, n - 1):
        if divisor != m and m > 0:
            root = 0.5 if use.op_name == "std" else 1
            yield Variant(use.passed * m / divisor, f"{m:g}")
            yield Variant(use.passed * (m / divisor) ** root, f"{m:g}")


@mistake("mean_for_sum", "var std")
def _variance_not_divided(use: Use) -> Passes:
    """{op}{line} divides by {n}, and your gradient does not.

    The derivative of a mean is 1/n for each entry.
    """
    if not use.g.size:
        return None
    m = use.passed.size / use.g.size - float(use.values.get("correction", 1))
    return [Variant(use.passed * m, f"{m:g}")] if m > 1 else None


@mistake("wrong_argument", "var std norm")
def _statistics_elsewhere(use: Use, widened: Array) -> Variants:
    """The derivative of {op}{line} was evaluated at the wrong value: {n}.

    Check whether the rule is written in terms of the input or of the result.
    """
    z, x = use.values.get("z"), use.values.get("x")
    if z is not None and use.op_name != "var":
        yield Variant(use.passed / use.widened(z), "the square is there instead of its root")
    if x is not None and use.op_name != "norm":
        center = x - np.mean(x, axis=use.values.get("axis"), keepdims=True)
        with np.errstate(all="ignore"):
            at_x = np.where(center == 0, np.nan, use.share() * widened / center * x)
        yield Variant(at_x, "at x, instead of at x minus its mean")


@mistake("upstream_ignored", "std norm")
def _under_the_root(use: Use, z: Array, widened: Array) -> Passes:
    """{op}{line} is a square root, and only the expression under it was differentiated.

    The chain rule has one more factor here: the derivative of the square root.
    """
    return 2 * use.passed * use.widened(z) if use.values.get("p", 2) == 2 else None


# ------------------------------------------------------------------ sums that are broadcast again


def spread(use: Use, instead: Array | None = None) -> Array | None:
    """x / x.sum(), x - x.mean(): the gradient of the sum's result, if it had the shape of x.

    None if this is not a sum whose result is broadcast to the shape of its input.

    instead   replaces the sum where the rules on the way read it
    """
    above, node, total, wide = [], use.node, use.values.get("z"), None
    while wide is None or wide.shape != use.passed.shape:
        onward = [u for u in use.graph.uses if u.parent is node]
        if len(onward) != 1 or not onward[0].elementwise:
            return None
        above.append(onward[0])
        node, wide = onward[0].node, onward[0].wide()
    if instead is None:
        above.pop()
    else:
        wide = above[-1].g
    for u in reversed(above):
        swapped = {n: instead for n, v in u.values.items() if instead is not None and _is(v, total)}
        try:
            wide = u.formula(wide, **swapped)
        except ValueError:
            wide = None
        if wide is None:
            return None
    return wide if np.shape(wide) == use.passed.shape else None


def _is(value: object, total: Array | None) -> bool:
    if not isinstance(value, np.ndarray) or total is None:
        return False
    return value.ndim > 0 and np.array_equal(value, total)


@mistake("softmax_diagonal_only", "sum")
def _diagonal_through_the_sum(use: Use) -> Passes:
    """The sum in {op}{line} depends on every score, and each score got only its own part of the
    gradient through it.

    Every score changes every probability: add up the gradients of all of them.
    """
    below = next((u for u in use.graph.uses if u.node is use.parent), None)
    return None if below is None or below.op_name != "exp" else spread(use)


@mistake("reduction_axis", "sum mean")
def _spread_along_another_axis(use: Use) -> Variants:
    """{op}{line} works along axis {n}, and its incoming gradient was summed along another axis.

    Sum along the axes along which the value was repeated.
    """
    right, shape = use.one_axis, use.passed.shape
    if right is None or len(shape) < 2 or (wide := spread(use)) is None:
        return
    z, x = use.values.get("z"), use.values.get("x")
    for other in (None, *range(len(shape))):
        if other == right % len(shape):
            continue
        yield Variant(np.broadcast_to(_along(use, wide, other), shape), str(right))
        if z is not None and use.values.get("keepdims"):  # as in p * (g - sum(g * p))
            yield Variant(np.broadcast_to(_along(use, wide * z, other) / z, shape), str(right))
        if x is not None:
            turned = spread(use, instead=np.broadcast_to(_along(use, x, other), shape))
            if turned is not None:
                yield Variant(np.broadcast_to(_along(use, turned, other), shape), str(right))


def _along(use: Use, d: Array, axis: int | None) -> Array:
    """The same sum or mean of another array, along another axis or over all entries."""
    return (np.mean if use.op_name == "mean" else np.sum)(d, axis, keepdims=True)
