"""The table of mistakes, continued: softmax, losses, normalization.

    softmax, log_softmax, logsumexp     cross-entropy     standardize

Read mistakes.py first.
"""

from typing import Any

import numpy as np

from minigrad.teach.mistakes import Variant, at_a_use, is_one_of
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ softmax and losses


@at_a_use(
    "softmax_diagonal_only",
    "Of the derivative of {op}{line} only the diagonal was taken: every score moves every probability.",
    "Write down how one probability moves with the score of another, and add that part up as well.",
)
def softmax_diagonal_only(use: Use) -> Any:
    z = use.values.get("z")
    if is_one_of(use, "cross_entropy") and (parts := parts_of_cross_entropy(use)) is not None:
        return use.passed * (np.abs(parts[1]) > 1e-6 * np.max(np.abs(parts[3])))
    if is_one_of(use, "logsumexp") and (p := use.rule(np.ones_like(use.g))) is not None:
        wide = use.widened()
        return None if wide is None else wide * p * (1 - p)
    if z is None or not is_one_of(use, "softmax", "log_softmax"):
        return None
    return use.g * z * (1 - z) if is_one_of(use, "softmax") else use.g * (1 - np.exp(z))


@at_a_use(
    "softmax_diagonal_only",
    "The sum in {op}{line} depends on every score, and only the diagonal of the softmax's derivative was taken.",
    "Write down how one probability moves with the score of another, and add that part up as well.",
)
def softmax_by_hand_diagonal_only(use: Use) -> Any:
    """e / e.sum(): of what comes back through the sum, only each entry's own part."""
    e, total = use.values.get("x"), use.values.get("y")
    below = next((u for u in use.graph.uses if u.node is use.node and u.name == "y"), None)
    if not is_one_of(use, "div") or use.name != "x" or e is None or total is None or below is None:
        return None
    for axis in (None, *range(np.ndim(e))):
        if np.ndim(e) and np.allclose(np.sum(e, axis, keepdims=True), total):
            spread = use.graph.changes(below.parent, below.passed).get(use.parent)
            return None if spread is None else use.passed * (1 - e / total) - spread
    return None


def parts_of_cross_entropy(use: Use) -> Any:
    """Cross-entropy's gradient as softmax minus one-hot, each times g; and the scores times g."""
    if "x" not in use.values or not is_one_of(use, "cross_entropy"):
        return None
    x, axis, weights = (use.values[name] for name in ("x", "axis", "weights"))
    g = np.expand_dims(np.broadcast_to(use.g * weights, np.delete(x.shape, axis)), axis)
    soft = softmax(x, axis) * g
    return soft, soft - use.passed, x * g, g


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


@at_a_use(
    "missing_path",
    "{op}{line} reads the scores twice, in the numerator and in the sum: only one of the two parts is there.",
    "Write the loss as  -x[t] + log(sum(exp(x))),  and differentiate both terms.",
)
def half_of_cross_entropy(use: Use) -> Any:
    parts = parts_of_cross_entropy(use)
    return None if parts is None else [parts[0], -parts[1]]


@at_a_use(
    "wrong_argument",
    "In the derivative of {op}{line} the scores stand where their softmax is meant.",
    "Write the loss as  -x[t] + log(sum(exp(x))),  and differentiate both terms.",
)
def scores_for_probabilities(use: Use) -> Any:
    parts = parts_of_cross_entropy(use)
    return None if parts is None else parts[2] - parts[1]


@at_a_use(
    "missing_path",
    "{op}{line} subtracts a mean and divides by a deviation, which depend on the input too: their paths are missing.",
    "What comes back through the mean and through the variance belongs to the gradient as well.",
)
def statistics_taken_as_constants(use: Use) -> Any:
    x, axis, eps = use.values.get("x"), use.values.get("axis"), use.values.get("eps")
    if not is_one_of(use, "standardize") or x is None or axis is None:
        return None
    deviation = np.sqrt(np.var(x, axis=axis, keepdims=True) + eps)
    z = (x - np.mean(x, axis=axis, keepdims=True)) / deviation
    by_mean = np.mean(use.g, axis=axis, keepdims=True)
    by_variance = z * np.mean(use.g * z, axis=axis, keepdims=True)
    return [d / deviation for d in (use.g, use.g - by_mean, use.g - by_variance)]


@at_a_use(
    "missing_path",
    "{op}{line} has two parts, one through each entry itself and one through the sum: only one of them is there.",
    "Every score stands in the numerator of its own probability, and in the sum of all.",
)
def half_of_softmax(use: Use) -> Any:
    z, axis, g = use.values.get("z"), use.values.get("axis"), use.g
    if z is None or axis is None or not is_one_of(use, "softmax", "log_softmax"):
        return None
    if is_one_of(use, "softmax"):
        return [g * z, -z * np.sum(g * z, int(axis), keepdims=True)]
    return -np.exp(z) * np.sum(g, int(axis), keepdims=True)


@at_a_use(
    "sign",
    "The sign of the sum in the derivative of {op}{line} is wrong.",
    "Check the minus signs of this derivative.",
)
def sign_in_softmax(use: Use) -> Any:
    z, axis, g = use.values.get("z"), use.values.get("axis"), use.g
    if (parts := parts_of_cross_entropy(use)) is not None:
        return parts[0] + parts[1]  # p + onehot
    if z is None or axis is None or not is_one_of(use, "softmax", "log_softmax"):
        return None
    if is_one_of(use, "softmax"):
        return z * (g + np.sum(g * z, int(axis), keepdims=True))
    return g + np.exp(z) * np.sum(g, int(axis), keepdims=True)


@at_a_use(
    "wrong_argument",
    "In the derivative of {op}{line} {n} where their softmax is meant.",
    "The softmax of the scores is  exp(x) / sum(exp(x)).",
)
def not_the_softmax(use: Use) -> Any:
    values, g = use.values, use.g
    z, x, axis = values.get("z"), values.get("x"), values.get("axis")
    if is_one_of(use, "log_softmax") and axis is not None:
        total = np.sum(g, int(axis), keepdims=True)
        if z is not None:
            yield Variant(g - z * total, "the logarithms stand")
        if x is not None and np.shape(x) == g.shape:
            yield Variant(g - x * total, "the scores stand")
    if is_one_of(use, "logsumexp") and x is not None and (wide := use.widened()) is not None:
        yield Variant(wide * x, "the scores stand")
        yield Variant(wide * np.exp(x), "the exponentials stand")


@at_a_use(
    "mean_for_sum",
    "{op}{line} divides by {n}, the sum of the weights of the classes, and your gradient does not.",
    "A weighted mean is divided by the sum of the weights.",
)
def weighted_mean_taken_for_sum(use: Use) -> Any:
    """The weights of the classes are known only if the student has given them a name."""
    weights, target = use.values.get("weights"), use.values.get("target")
    if not is_one_of(use, "cross_entropy", "nll_loss") or weights is None or target is None:
        return
    for c in use.graph.vectors:
        if len(c) > np.max(target, initial=-1) >= 0 and np.min(target) >= 0:
            total = float(np.sum(c[target]))
            fits = np.shape(c[target]) == np.shape(weights) and total
            if fits and np.allclose(c[target] / total, weights):
                yield Variant(use.passed * total, f"{total:.4g}")
                yield Variant(use.passed * total / np.size(target), f"{total:.4g}")


# ------------------------------------------------------------------ binary cross-entropy


def _logits(use: Use) -> Any:
    """The scores, where one operation of binary_cross_entropy_with_logits reads them."""
    x = use.values.get("x")
    ours = is_one_of(use, "logsigmoid", "softplus")
    return x if ours and x is not None and use.fan_in > 1 else None


@at_a_use(
    "wrong_argument",
    "In the derivative of {op}{line} the scores stand where their sigmoid is meant.",
    "Differentiate the term with the target, and the one without, and compare each with your lines.",
)
def scores_for_a_probability(use: Use) -> Any:
    x = _logits(use)
    if x is None:
        return None
    return use.g * (1 - x) if is_one_of(use, "logsigmoid") else use.g * x


@at_a_use(
    "missing_path",
    "The loss{line} has two parts, the probability and the target: only one of them is there.",
    "Differentiate the term with the target, and the one without, and compare each with your lines.",
)
def half_of_binary_cross_entropy(use: Use) -> Any:
    """(1 - t) * x - logsigmoid(x): without the target, or without the probability."""
    graph = use.graph
    if is_one_of(use, "logsigmoid") and use.fan_in > 1:
        return use.g
    if not is_one_of(use, "mul") or use.passed.shape != use.g.shape:
        return None
    beside = [u for u in graph.uses if u.parent is use.parent and is_one_of(u, "logsigmoid")]
    return use.g if beside else None
