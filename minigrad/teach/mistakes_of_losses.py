"""The table of mistakes, continued: softmax and losses.

    softmax, log_softmax, logsumexp     cross-entropy

Read mistakes.py first.
"""

import numpy as np

from minigrad.ops import softmax
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, mistake
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ softmax and losses


@mistake("softmax_diagonal_only", "softmax log_softmax logsumexp")
def _softmax_diagonal_only(use: Use) -> Passes:
    """Only the diagonal of the Jacobian of {op}{line} was used, but every score changes every
    probability.

    Write down how one probability changes with another one's score, and add that part as well.
    """
    if use.op_name == "logsumexp":
        p, wide = use.share(), use.widened()
        return None if p is None or wide is None else wide * p * (1 - p)
    z = use.values["z"]
    return use.g * z * (1 - z) if use.op_name == "softmax" else use.g * (1 - np.exp(z))


@mistake("softmax_diagonal_only", "div")
def _softmax_by_hand_diagonal_only(use: Use, x: Array, y: Array) -> Passes:
    """The sum in {op}{line} depends on every entry, but only the diagonal of the Jacobian was
    used.

    Write down how one share changes with another entry, and add that part as well.
    """
    # e / e.sum(): of the gradient through the sum, only each entry's own part.
    below = next((u for u in use.graph.uses if u.node is use.node and u.name == "y"), None)
    if use.name != "x" or below is None:
        return None
    for axis in (None, *range(np.ndim(x))):
        if np.ndim(x) and np.allclose(np.sum(x, axis, keepdims=True), y):
            spread = use.graph.changes(below.parent, below.passed).get(use.parent)
            return None if spread is None else use.passed * (1 - x / y) - spread
    return None


def parts_of_cross_entropy(use: Use) -> tuple[Array, Array, Array, Array]:
    """Cross-entropy's gradient as softmax minus one-hot, each times g; and the scores times g.

    Raises LookupError if the scores are not known; then no mistake is found.
    """
    x, axis, weights = (use.values[name] for name in ("x", "axis", "weights"))
    g = np.expand_dims(np.broadcast_to(use.g * weights, np.delete(x.shape, axis)), axis)
    soft = softmax(x, axis=axis) * g
    return soft, soft - use.passed, x * g, g


@mistake("mask_missing", "cross_entropy")
def _ignored_rows(use: Use, target: Array, weights: Array, axis: int) -> Passes:
    """{op}{line} leaves out the rows whose target is ignored, and your gradient does not.

    An ignored row adds nothing to the loss, and does not count in the mean.
    """
    counts = np.broadcast_to(weights, target.shape) != 0
    if counts.all() or not counts.any():
        return None
    x, share = use.values["x"], use.g * np.max(weights)
    everywhere = softmax(x, axis=axis) * np.expand_dims(np.broadcast_to(share, target.shape), axis)
    soft, gradient, _, _ = parts_of_cross_entropy(use)
    return [use.passed * counts.sum() / counts.size, everywhere - gradient]


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


@mistake("missing_path", "softmax log_softmax")
def _half_of_softmax(use: Use, z: Array, axis: int) -> Passes:
    """The derivative of {op}{line} has two parts, one through each entry itself and one through
    the sum. Your gradient has only one of them.

    Each score appears in the numerator of its own probability, and in the denominator of all of
    them.
    """
    g = use.g
    if use.op_name == "softmax":
        return [g * z, -z * np.sum(g * z, int(axis), keepdims=True)]
    return [g, -np.exp(z) * np.sum(g, int(axis), keepdims=True)]


@mistake("wrong_argument", "softmax")
def _factor_of_softmax(use: Use, z: Array, axis: int) -> Passes:
    """One of the two factors z is missing in the derivative of {op}{line}.

    The derivative is  z * (g - sum(g * z)),  with the sum along the axis of the softmax.
    """
    total, all_g = (np.sum(d, int(axis), keepdims=True) for d in (use.g * z, use.g))
    return [use.g - total, z * (use.g - all_g)]


@mistake("sign", "softmax log_softmax")
def _sign_in_softmax(use: Use, axis: int) -> Passes:
    """The sum in the derivative of {op}{line} has the wrong sign.

    Check the minus signs of this derivative.
    """
    z, g = use.values["z"], use.g
    if use.op_name == "softmax":
        return z * (g + np.sum(g * z, int(axis), keepdims=True))
    return g + np.exp(z) * np.sum(g, int(axis), keepdims=True)


@mistake("wrong_argument", "log_softmax logsumexp")
def _not_the_softmax(use: Use) -> Variants:
    """The derivative of {op}{line} was computed with {n} instead of the softmax.

    The softmax of the scores is  exp(x) / sum(exp(x)).
    """
    z, x, axis = (use.values.get(name) for name in ("z", "x", "axis"))
    if use.op_name == "log_softmax" and axis is not None:
        total = np.sum(use.g, int(axis), keepdims=True)
        if z is not None:
            yield Variant(use.g - z * total, "the logarithms")
        if x is not None and np.shape(x) == use.g.shape:
            yield Variant(use.g - x * total, "the scores")
    if use.op_name == "logsumexp" and x is not None and (wide := use.widened()) is not None:
        yield Variant(wide * x, "the scores")
        yield Variant(wide * np.exp(x), "the exponentials")


@mistake("reduction_axis", "logsumexp")
def _shares_along_another_axis(use: Use, x: Array, widened: Array) -> Variants:
    """The softmax in the derivative of {op}{line} was taken along another axis.

    The softmax adds up to 1 along the axis of the sum.
    """
    for axis in range(x.ndim):
        yield widened * softmax(x, axis=axis)


@mistake("mean_for_sum", "cross_entropy nll_loss")
def _weighted_mean_taken_for_sum(use: Use, weights: Array, target: Array) -> Variants:
    """{op}{line} divides by {n}, the sum of the class weights, and your gradient does not.

    A weighted mean is divided by the sum of the weights.
    """
    # The weights of the classes are known only if the student has given them a name.
    for c in (v for _, v in use.graph.tensors if np.ndim(v) == 1):
        if len(c) > np.max(target, initial=-1) >= 0 and np.min(target) >= 0:
            total = float(np.sum(c[target]))
            fits = np.shape(c[target]) == np.shape(weights) and total
            if fits and np.allclose(c[target] / total, weights):
                yield Variant(use.passed * total, f"{total:.4g}")
                yield Variant(use.passed * total / np.size(target), f"{total:.4g}")


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
