"""The table of mistakes, continued: losses and statistics.

    cross-entropy     binary cross-entropy     Huber     var, std, norm

Read mistakes.py first. Mistakes in  p - y  and in the derivative of softmax are in
mistakes_of_formulas.py.
"""

from collections.abc import Iterator

import numpy as np

from minigrad.ops import softmax
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, mistake, one_number
from minigrad.teach.mistakes_of_arrays import REDUCED, averaged
from minigrad.teach.uses import Use, constant_factor

# ------------------------------------------------------------------ cross-entropy


def parts_of_cross_entropy(use: Use) -> tuple[Array, Array, Array]:
    """Cross-entropy's gradient as softmax minus one-hot, each times g; and g for each row.

    Raises LookupError if the scores are not known; then no mistake is found.
    """
    x, axis, weights = (use.values[name] for name in ("x", "axis", "weights"))
    g = np.expand_dims(np.broadcast_to(use.g * weights, np.delete(x.shape, axis)), axis)
    soft = softmax(x, axis=axis) * g
    return soft, soft - use.passed, g


@mistake("mask_missing", "cross_entropy")
def _ignored_rows(use: Use, target: Array, weights: Array, axis: int) -> Passes:
    """{op}{line} leaves out the rows whose target is ignored, but your gradient {n}.

    An ignored row adds nothing to the loss, and does not count in the mean.
    """
    counts = np.broadcast_to(weights, target.shape) != 0
    if counts.all() or not counts.any():
        return None
    x, share = use.values["x"], counts.sum() / counts.size
    classes = _along(axis, x.ndim, np.arange(x.shape[axis]))
    chosen = np.expand_dims(target, axis) == classes
    g = np.expand_dims(np.broadcast_to(use.g * np.max(weights), target.shape), axis)
    rows = [(use.passed * share, f"is divided by {counts.size}, the number of all rows")]
    for one in (chosen, chosen & np.expand_dims(counts, axis)):  # none for an index such as -100
        everywhere = (softmax(x, axis=axis) - one) * g
        rows += [(everywhere, "is not 0 there"), (everywhere * share, "is not 0 there")]
    return [Variant(d, n) for d, n in rows]


def _along(axis: int, ndim: int, of_the_classes: Array) -> Array:
    """A number for each class, along the axis of the classes."""
    return np.expand_dims(of_the_classes, tuple(k for k in range(ndim) if k != axis % ndim))


@mistake("scale", "cross_entropy")
def _weights_of_classes_missing(use: Use, target: Array, weights: Array, axis: int) -> Passes:
    """The class weights are missing in the derivative of {op}{line}.

    Multiply each row of the gradient by the weight of its class, and divide by the sum of these
    weights.
    """
    # A mean: the weights add up to 1.
    counts = np.broadcast_to(weights, target.shape)
    if np.ptp(counts[counts != 0]) < 1e-9 or abs(np.sum(counts) - 1) > 1e-6:
        return None
    each = np.expand_dims(np.where(counts == 0, 1, counts), axis)
    return [use.passed / each / n for n in (1, np.count_nonzero(counts))]


@mistake("mean_for_sum", "cross_entropy nll_loss")
def _weighted_mean_taken_for_sum(use: Use, weights: Array, target: Array) -> Variants:
    """{op}{line} divides by {n}, the sum of the class weights, but your gradient does not.

    A weighted mean is divided by the sum of the weights.
    """
    for c in _class_weights(use, weights, target):
        kept = target[weights != 0]
        total = float(np.sum(c[kept]))
        for n in (1, kept.size, target.size, float(np.sum(c))):
            yield Variant(use.passed * total / n, f"{total:.4g}")


@mistake("wrong_argument", "cross_entropy")
def _weights_of_classes_misplaced(use: Use, weights: Array, target: Array, axis: int) -> Variants:
    """The class weights in the derivative of {op}{line} are in the wrong place: {n}.

    Each row of  softmax(x) - onehot  is multiplied by the weight of its target's class.
    """
    soft, chosen, _ = parts_of_cross_entropy(use)
    for c in _class_weights(use, weights, target):
        w = np.expand_dims(c[np.where(weights != 0, target, 0)], axis)
        columns = _along(axis, soft.ndim, c)
        words = "each class is multiplied by its own weight, and not each row by that of its target"
        yield Variant(use.passed / w * columns, words)
        yield Variant(soft / w - chosen, "the softmax is not multiplied by them")
        yield Variant(soft - chosen / w, "the one-hot target is not multiplied by them")
        yield Variant(use.passed * w, "each row is multiplied by its weight twice")


def _class_weights(use: Use, weights: Array, target: Array) -> Iterator[Array]:
    """The weights of the classes, if the student has given them a name; weights: those of the rows."""
    kept = target[weights != 0] if np.shape(target) == np.shape(weights) else np.zeros(0, int)
    named = (*(v for _, v in use.graph.tensors), *use.graph.arrays.values())
    for c in (v for v in named if np.ndim(v) == 1):
        if len(c) > np.max(kept, initial=-1) >= 0 and np.min(kept) >= 0:  # the others are ignored
            if np.allclose(c[kept], weights[weights != 0] * np.sum(c[kept])) and np.all(c[kept]):
                yield c


# ------------------------------------------------------------------ binary cross-entropy


@mistake("missing_path", "binary_cross_entropy")
def _one_of_two_terms(use: Use) -> Passes:
    """{op}{line} has two terms, one for the target 1 and one for the target 0. Your gradient has
    only one of them.

    Differentiate  -y * log(p)  and  -(1 - y) * log(1 - p),  and add the two.
    """
    return _terms_of_binary_cross_entropy(use)


@mistake("sign", "binary_cross_entropy")
def _sign_of_the_second_term(use: Use) -> Passes:
    """The second term in the derivative of {op}{line} has the wrong sign.

    The derivative of  log(1 - p)  is  -1 / (1 - p).
    """
    first, second = _terms_of_binary_cross_entropy(use)
    return first - second


def _terms_of_binary_cross_entropy(use: Use) -> tuple[Array, Array]:
    """The gradients for target 1 and for target 0. Raises LookupError if they are not known."""
    p, y = use.values["x"], use.values["y"]
    ones = y * (1 - p) / (y - p)  # the share of -y / p in (p - y) / (p * (1 - p))
    return use.passed * ones, use.passed * (1 - ones)


@mistake("wrong_argument", "huber_loss smooth_l1_loss")
def _one_branch_of_huber(use: Use, x: Array, y: Array) -> Variants:
    """{op}{line} is quadratic for small differences and linear for large ones, but {n}.

    Write both cases, and choose for each entry by the size of its difference.
    """
    huber = use.op_name == "huber_loss"
    limit = use.values["delta" if huber else "beta"]
    size = np.abs(x - y) / limit if limit else np.zeros(1)
    if np.all(size):
        yield Variant(use.passed * np.maximum(size, 1), "your gradient is quadratic everywhere")
        yield Variant(use.passed * np.maximum(1 / size, 1), "your gradient is linear everywhere")
        d = use.passed * np.where((size < 1) == huber, 1, 1 / limit if huber else limit)
        yield Variant(d, f"the factor {'delta' if huber else '1 / beta'} of one part is missing")


@mistake("wrong_argument", "mse_loss pow square")
def _absolute_value_for_square(use: Use, x: Array) -> Passes:
    """{op}{line} is a square, but your gradient is that of an absolute value, as in an L1 loss.

    The derivative of x**2 is 2 * x, and that of abs(x) is the sign of x.
    """
    d = x - use.values["y"] if use.op_name == "mse_loss" else x
    if use.op_name == "pow" and not (use.name == "x" and np.all(use.values["y"] == 2)):
        return None
    return use.passed / np.abs(2 * d) if np.min(d) < 0 < np.max(d) else None


# ------------------------------------------------------------------ statistics


@mistake("scale", f"var std mean div mul cross_entropy nll_loss {REDUCED}")
def _degrees_of_freedom(use: Use) -> Variants:
    """{op}{line} divides by {n}.

    Which entries are counted? Is it n or n - 1? Look at the forward pass.
    """
    # n against n - 1, or the length of another axis.
    c, n, var = constant_factor(use), use.gathered, use.op_name in ("var", "std")
    if not var and use.op_name != "mean":
        n = averaged(use)
    few = one_number(use.graph.gradients.get(use.graph.target, 0))
    others = set() if few else {int(k) for k in use.graph.numbers if k % 1 == 0}
    if use.op_name in ("div", "mul"):  # a sum, divided by hand
        for entries in {u.gathered for u in use.graph.paths if u.op_name == "sum"}:
            for here, other in ((entries, entries - 1), (entries - 1, entries)):
                words = f"{here}, but your gradient by {other}"
                if other > 0 and abs(c * here - 1) < 1e-6:
                    yield Variant(use.passed * here / other, words)
            if c and use.op_name == "div":  # by another number, such as the sum of a mask
                words = f"{1 / c:g}, but your gradient by {entries}"
                yield Variant(use.passed / c / entries, words)
            elif use.op_name == "div" and use.name == "x" and "y" not in use.origins:  # by several
                words = f"several numbers, but your gradient by {entries}"
                yield Variant(use.passed * use.values["y"] / entries, words)
    elif n > 1:
        m = n - float(use.values.get("correction", 1)) if var else n
        lengths = {n} if var else ({*use.passed.shape, use.passed.size} | others) - {n, 0, 1, n * n}
        for other in (lengths | {n - 1}) - {m} if m > 0 else ():
            for root in (1, 0.5) if use.op_name == "std" else (1,):
                words = f"{m:g}, but your gradient by {other:g}"
                yield Variant(use.passed * (m / other) ** root, words)


@mistake("mean_for_sum", "var std")
def _variance_not_divided(use: Use) -> Passes:
    """{op}{line} divides by {n}, but your gradient does not.

    The derivative of a mean is 1/n for each entry.
    """
    m = use.passed.size / use.g.size - float(use.values.get("correction", 1))
    return [Variant(use.passed * m, f"{m:g}")] if m > 1 else None


@mistake("wrong_argument", "var std linalg_vector_norm")
def _statistics_elsewhere(use: Use, widened: Array) -> Variants:
    """The derivative of {op}{line} is wrong: {n}.

    The derivative of sqrt(s) is  1 / (2 * sqrt(s))  times that of s. In a variance, s is a mean of
    squares of x minus its mean.
    """
    z, x = use.values.get("z"), use.values.get("x")
    if z is not None and use.op_name != "var":
        yield Variant(use.passed / use.widened(z), "it has the square instead of its root")
        yield Variant(use.passed * use.widened(z), "it is not divided by the root")
    if x is not None and use.op_name != "linalg_vector_norm":
        center = x - np.mean(x, axis=use.values.get("axis"), keepdims=True)
        with np.errstate(all="ignore"):
            at_x = np.where(center == 0, np.nan, use.share() * widened / center * x)
        yield Variant(at_x, "it was evaluated at x, instead of at x minus its mean")


@mistake("upstream_ignored", "std linalg_vector_norm")
def _under_the_root(use: Use, z: Array, widened: Array) -> Passes:
    """{op}{line} is a square root, and only the expression under it was differentiated.

    The chain rule has one more factor here: the derivative of the square root.
    """
    return 2 * use.passed * use.widened(z) if use.values.get("p", 2) == 2 else None
