"""Mistakes in a formula that consists of several operations.

    product and quotient rule     f' * h', f' / h', the division by h**2 left out
    label smoothing               the smoothed target distribution
    pos_weight                    the factor of the positive examples

The rows are like those of at_a_node.py, and are tried with them. Read at_a_node.py first.
"""

from collections.abc import Iterator

import numpy as np

from minigrad.ops import sigmoid, softmax
from minigrad.teach.answer import Answer
from minigrad.teach.at_a_node import gives, uses_of_each_node
from minigrad.teach.difference import Array
from minigrad.teach.mistakes_of_losses import parts_of_cross_entropy
from minigrad.teach.uses import Use
from minigrad.teach.whole import Places, Table, mistake_in

OF_FORMULAS: Table = []

# ------------------------------------------------------------------ product and quotient rule


def _of_two_functions(a: Answer, op_name: str) -> Iterator[tuple[Use, Use]]:
    """The two uses at f(x) * h(x) or f(x) / h(x), entry by entry."""
    for uses in uses_of_each_node(a):
        if len(uses) == 2 and uses[0].op_name == op_name and uses[0].parent is not uses[1].parent:
            if all(u.passed.shape == u.g.shape for u in uses):
                yield uses[0], uses[1]


@mistake_in(OF_FORMULAS, "paths_multiplied")
def _product_of_derivatives(a: Answer) -> Places:
    """The derivative of the product {op}{line} is not the product of the derivatives.

    Use the product rule:  (f * h)' = f' * h + f * h'.
    """
    yield from _derivatives_combined(a, "mul", np.multiply)


@mistake_in(OF_FORMULAS, "paths_multiplied")
def _quotient_of_derivatives(a: Answer) -> Places:
    """The derivative of the quotient {op}{line} is not the quotient of the derivatives.

    Use the quotient rule:  (f / h)' = (f' * h - f * h') / h**2.
    """
    yield from _derivatives_combined(a, "div", np.true_divide)


def _derivatives_combined(a: Answer, op_name: str, combine: np.ufunc) -> Places:
    """Where the student has combined f' and h' by the operation that combines f and h."""
    for x, y in _of_two_functions(a, op_name):
        f, h = (a.graph.walk_back(u.parent, np.ones_like(u.passed)) for u in (x, y))
        if f is None or h is None or not f.shape == h.shape == x.g.shape:
            continue
        if np.all(h == 1) or op_name == "mul" and np.all(f == 1):
            continue  # as if one path were missing
        effects = [a.graph.walk_back(u.parent, u.passed) for u in (x, y)]
        with np.errstate(divide="ignore", invalid="ignore"):
            combined = x.g * combine(f, h)
        if a.gives(a.right - sum(d for d in effects if d is not None) + combined):
            yield {"use": x}


@mistake_in(OF_FORMULAS, "wrong_argument")
def _denominator(a: Answer) -> Places:
    """The denominator in the derivative of {op}{line} is wrong: {n}.

    Use the quotient rule:  (f / h)' = (f' * h - f * h') / h**2.
    """
    for x, y in _of_two_functions(a, "div"):
        h = x.values.get("y")
        if h is None:
            continue
        for factor, words in ((h, "it is h instead of h**2"), (h * h, "h**2 is missing")):
            if gives(a, *((u.parent, u.passed * (factor - 1)) for u in (x, y))):
                yield {"use": x, "n": words}


# ------------------------------------------------------------------ label smoothing


@mistake_in(OF_FORMULAS, "wrong_argument")
def _smoothed_target(a: Answer) -> Places:
    """The target distribution in the derivative of {op}{line} is wrong: {n}.

    With label_smoothing=e and k classes it is  (1 - e) * onehot + e / k.
    """
    for use in (u for u in a.graph.paths if u.op_name == "cross_entropy"):
        smooth = [u for u in a.graph.paths if u.parent is use.parent and u.op_name == "log_softmax"]
        if len(smooth) != 1:
            continue
        axis = use.values["axis"]
        _, chosen, _, hard = parts_of_cross_entropy(use)
        # Each row is  hard * (p - onehot) + soft * (p - 1 / k),  and e = soft / (hard + soft).
        soft = -np.sum(smooth[0].g, axis, keepdims=True)
        each, k = hard + soft, use.passed.shape[axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            one, e = np.nan_to_num(chosen / hard), np.nan_to_num(soft / each)
        p = softmax(use.values["x"], axis=axis)
        shared = (1 - e) * one + e / max(k - 1, 1) * (1 - one)
        for kind, target, words in (
            ("wrong_argument", one, "it is not smoothed"),
            ("missing_path", (1 - e) * one, "e / k is missing"),
            (
                "wrong_argument",
                one + e / k,
                "e / k is added, but onehot is not multiplied by 1 - e",
            ),
            ("wrong_argument", shared, "e is shared among the k - 1 other classes"),
            ("wrong_argument", e * one + (1 - e) / k, "e and 1 - e are swapped"),
        ):
            if gives(a, (use.parent, each * (p - target) - use.passed - smooth[0].passed)):
                yield {"kind": kind, "use": use, "n": words}
                return


# ------------------------------------------------------------------ pos_weight


@mistake_in(OF_FORMULAS, "scale")
def _weight_of_positives(a: Answer) -> Places:
    """The factor pos_weight in the derivative of {op}{line} is wrong: {n}.

    It multiplies the loss of the positive examples:  (1 - y) * p - pos_weight * y * (1 - p).
    """
    for use, x, y, weight, each in _weighted_positives(a):
        p = sigmoid(x)
        right = (1 - y) * p - weight * y * (1 - p)
        for d, words in (
            (p - y, "it is missing"),
            (weight * (p - y), "it multiplies the negative examples as well"),
            (weight * (1 - y) * p - y * (1 - p), "it multiplies the negative examples instead"),
            (p - weight * y, "it multiplies the target only, and belongs to the whole term"),
        ):
            if gives(a, (use.parent, each * (d - right))):
                yield {"use": use, "n": words}
                return


def _weighted_positives(a: Answer) -> Iterator[tuple[Use, Array, Array, Array, Array]]:
    """The use of the scores by logsigmoid; scores, targets, pos_weight; and the gradient of each loss.

    The loss is  (1 - y) * x - (1 + (pos_weight - 1) * y) * logsigmoid(x).
    """
    paths = a.graph.paths
    for use in (u for u in paths if u.op_name == "logsigmoid"):
        negative = [u for u in paths if u.parent is use.parent and u.op_name == "mul"]
        factor = [u for u in paths if u.parent is use.node and u.op_name == "mul"]
        x = a.graph.known.get(use.parent)
        if len(negative) != 1 or len(factor) != 1 or x is None:
            continue
        y = 1 - np.asarray(negative[0].values[negative[0].beside])
        scale = np.asarray(factor[0].values[factor[0].beside])
        if y.shape != x.shape or scale.shape != x.shape:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(y == 0, np.nan, 1 + (scale - 1) / y)
        known = weight[~np.isnan(weight)]
        if known.size and np.allclose(known, known[0]):
            yield use, x, y, np.full_like(x, known[0]), negative[0].g
