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
