"""Mistakes in a formula that consists of several operations.

    product and quotient rule     f' * h', f' / h', the division by h**2 left out
    normalization                 the formula of a layer norm, or of a vector divided by its length
    scores                        p - y, the gradient of most losses with respect to the scores
    label smoothing               the smoothed target distribution
    pos_weight                    the factor of the positive examples

The rows are like those of at_a_node.py, and are tried with them. Read at_a_node.py first.
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minigrad.ops import sigmoid, softmax
from minigrad.teach.answer import Answer
from minigrad.teach.at_a_node import gives, uses_of_each_node
from minigrad.teach.difference import Array
from minigrad.teach.mistakes_of_losses import parts_of_cross_entropy
from minigrad.teach.uses import AnyNode, Use
from minigrad.teach.whole import Places, Table, mistake_in

OF_FORMULAS: Table = []
T = TypeVar("T", "Normalization", "Scores")

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
    graph = a.graph
    for x, y in _of_two_functions(a, op_name):
        slopes = [graph.changes(u.parent, np.ones_like(u.passed)) for u in (x, y)]
        parts = [graph.changes(u.parent, u.passed) for u in (x, y)]
        both = [node for node in slopes[0] if node in slopes[1]]
        # with respect to x, or to the tensor where the two paths meet
        for node in {min(both, key=lambda n: n.queue_key), a.target} if both else ():
            f, h = (s[node] for s in slopes)
            if f.shape != h.shape or x.g.shape not in (f.shape, ()):
                continue
            if np.all(h == 1) or op_name == "mul" and np.all(f == 1):
                continue  # as if one path were missing
            with np.errstate(divide="ignore", invalid="ignore"):
                combined = x.g * combine(f, h)
            if gives(a, (node, combined - parts[0][node] - parts[1][node])):
                yield {"use": x}
                break


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


# ------------------------------------------------------------------ normalization


class Normalization(NamedTuple):
    """Where  y = r * (x - mean(x)),  with one r for each row, or  y = r * x  with rows of length 1.

    We compare values to find this.
    """

    use: Use
    node: AnyNode
    x: Array
    y: Array
    axis: int | tuple[int, ...]
    centered: bool

    @property
    def formula(self) -> str:
        """The gradient, for the hint."""
        if self.centered:
            return "r * (g - mean(g) - y * mean(g * y))  for  y = (x - mean) * r"
        return "r * (g - y * sum(g * y))  for  y = x * r"

    def wrong(self) -> Iterator[tuple[str, str, Array]]:
        """(kind, words, what to add to the gradient of x) for each mistake in the formula."""
        x, y, axis = self.x, self.y, self.axis
        g = self.use.graph.gradients[self.use.node]
        c = x - np.mean(x, axis, keepdims=True) if self.centered else x
        r = np.sum(y * c, axis, keepdims=True) / np.sum(c * c, axis, keepdims=True)
        total = np.mean if self.centered else np.sum

        def parts(axis: Any, outer: Array = y, inner: Array = y) -> tuple[Array, Array]:
            mean = np.mean(g, axis, keepdims=True) if self.centered else 0
            return r * (mean + 0 * g), r * outer * total(g * inner, axis, keepdims=True)

        mean, other = parts(axis)
        right, n = r * g - mean - other, x.size // r.size
        yield "missing_path", "r is treated as a constant", other
        if self.centered:
            yield "missing_path", "the mean and r are treated as constants", mean + other
            yield "missing_path", "the mean is treated as a constant", mean
            yield "sign", "mean(g) is added, not subtracted", 2 * mean
            yield "sign", "both means are added, not subtracted", 2 * (mean + other)
        yield "sign", "the last term is added, not subtracted", 2 * other
        for d in (mean + other, mean, other):
            words, times = (
                ("sums stand there", n) if self.centered else ("a mean stands there", 1 / n)
            )
            yield "mean_for_sum", words, (1 - times) * d
        yield "upstream_only", "the factor r is missing", right / r - right
        own = r * y * g * y / (n if self.centered else 1)
        yield "missing_path", "r depends on all entries, not only on its own", other - own
        yield "wrong_argument", "the last y is missing", other - other / y
        yield "wrong_argument", "g * y is there without y", other - parts(axis, y, y**0)[1]
        for words, v in (("x minus its mean", c), ("x", x)):
            for outer, inner in ((v, y), (y, v), (v, v)):
                words = f"{words} is used in place of y"
                yield "wrong_argument", words, other - parts(axis, outer, inner)[1]
        for m in range(1, y.ndim + 1):
            for axes in combinations(range(y.ndim), m):
                if axes not in (axis, (axis,)):
                    yield "reduction_axis", "along other axes", mean + other - sum(parts(axes))


@mistake_in(OF_FORMULAS, "wrong_argument")
def _in_a_normalization(a: Answer) -> Places:
    """In the derivative of the normalization in {op}{line}, something is wrong: {n}.

    It is  {formula},  with all sums and means along the same axis.
    """
    for some in together(a, list(_normalizations(a))):
        for wrong in zip(*(one.wrong() for one in some), strict=False):
            changes = ((one.node, d) for one, (_, _, d) in zip(some, wrong, strict=True))
            if gives(a, *changes):
                kind, words, _ = wrong[0]
                use, formula = some[0].use, some[0].formula
                yield {"kind": kind, "use": use, "n": words, "formula": formula}
                break


def together(a: Answer, places: list[T]) -> Iterator[list[T]]:
    """Each of the places alone, then all of them: a mistake may be made once or everywhere."""
    yield from ([one] for one in places)
    nodes = {one.node for one in places}
    below = [set(a.graph.changes(n, a.graph.gradients[n])) - {n} for n in (p.node for p in places)]
    apart = [one for one, later in zip(places, below, strict=True) if not later & nodes]
    if len(apart) > 1:  # of two on the same path, the one further down has both
        yield apart


MEASURED = (
    "mean",
    "sum",
    "standardize",
    "norm",
    "mul",
    "pow",
    "square",
)  # they read what is normalized


def _normalizations(a: Answer) -> Iterator[Normalization]:
    known, seen = a.graph.known, set()
    measured = {u.parent for u in a.graph.paths if u.op_name in MEASURED}
    for use in (u for u in a.graph.paths if u.op_name in ("mul", "div", "standardize")):
        y = known.get(use.node)
        if y is None or not y.ndim or use.node in seen:
            continue
        seen.add(use.node)
        for node in (n for n in measured if n in known and known[n].shape == y.shape):
            x = known[node]
            for k, centered in product(range(y.ndim), (True, False)):
                axes: list[Any] = [k, tuple(j for j in range(y.ndim) if j != k)]
                for axis in axes if y.ndim > 2 else axes[:1]:
                    c = x - np.mean(x, axis, keepdims=True) if centered else x
                    measure = np.mean if centered else np.sum
                    size = np.sqrt(measure(c * c, axis, keepdims=True))
                    if np.allclose(y * size, c, 1e-2, 1e-2 * float(np.max(np.abs(c)))):
                        yield Normalization(use, node, x, y, axis, centered)


# ------------------------------------------------------------------ the scores of a loss


class Scores(NamedTuple):
    """Scores x whose gradient is  each * (p - y),  with p = softmax(x), sigmoid(x), exp(x), or x itself.

    We compare values to find them, so it does not matter how the loss was written.
    """

    use: Use
    node: AnyNode
    x: Array
    p: Array
    y: Array
    each: Array
    name: str

    def wrong(self) -> Iterator[tuple[str, str, Array]]:
        """(kind, words, gradient) for each mistake in  p - y."""
        x, p, y, name = self.x, self.p, self.y, self.name
        slope = p if name == "exp(x)" else p * (1 - p)
        yield "missing_path", "y is missing", p
        yield "missing_path", f"{name} is missing", -y
        yield "sign", "y is added, not subtracted", p + y
        if name == "x":
            return
        yield "wrong_argument", f"it was computed with x instead of {name}", x - y
        yield "double_counted", f"it contains the derivative of {name} already", (p - y) * slope
        if name == "softmax(x)":
            yield "softmax_diagonal_only", "only the entries of the targets have one", (p - y) * y
            for axis in range(x.ndim):
                yield "reduction_axis", "softmax is along another axis", softmax(x, axis=axis) - y
        elif self.use.fan_in > 1 or self.use.op_name not in ("sigmoid", "exp"):
            # otherwise p is a step of its own
            yield "forgot_inner", f"the derivative of {name} is missing", (p - y) / slope
        if name == "sigmoid(x)":
            yield "sign", "it was computed with sigmoid(-x)", 1 - p - y


@mistake_in(OF_FORMULAS, "wrong_argument")
def _of_the_scores(a: Answer) -> Places:
    """The gradient with respect to the scores x of {op}{line} is wrong: {n}.

    It is  {p} - y  for each score, times the weight of its term in the loss.
    """
    for some in together(a, list(_scores(a))):
        for wrong in zip(*(s.wrong() for s in some), strict=False):
            changes = (
                (s.node, s.each * (d - s.p + s.y)) for s, (_, _, d) in zip(some, wrong, strict=True)
            )
            if len({kind for kind, _, _ in wrong}) == 1 and gives(a, *changes):
                kind, words, _ = wrong[0]
                yield {"kind": kind, "use": some[0].use, "n": words, "p": some[0].name}
                break


def _scores(a: Answer) -> Iterator[Scores]:
    graph = a.graph
    first = {u.parent: u for u in reversed(graph.paths)}  # the first use of each tensor
    whole = [(u, graph.gradients[u.parent]) for u in first.values()]
    parts = [(u, u.passed) for u in graph.paths if u.fan_in > 1 and not u.part]
    for use, passed in (*whole, *parts):
        x, g = graph.known.get(use.parent), np.asarray(passed, np.float64)
        if x is None or not np.any(g):
            continue
        size, near = np.max(np.abs(g)), 1e-3 if use.passed.dtype.itemsize < 8 else 1e-6
        given = [v for v in graph.constants if v.shape == x.shape and np.any(v)]
        below, above = g < 0, g > 0
        tried: list[tuple[str, Array, int | None, Array]] = []
        for axis in range(x.ndim):
            if np.max(np.abs(np.sum(g, axis))) <= near * size:
                p, one = softmax(x, axis=axis), np.sum(below, axis, keepdims=True) == 1
                tried.append(("softmax(x)", p, axis, np.where(one, below, above)))
                tried += (("softmax(x)", p, None, y) for y in given)
        tried += (("sigmoid(x)", sigmoid(x), None, y) for y in (below, above, *given))
        tried += (("exp(x)", np.exp(x), None, y) for y in given)
        tried += (("x", x, None, y) for y in given)
        for name, p, row, y in tried:
            rest = p - y
            with np.errstate(all="ignore"):  # one weight for all entries, or one for each row
                each = np.sum(g * rest, row, keepdims=True) / np.sum(rest**2, row, keepdims=True)
            each = np.nan_to_num(each)
            if g.size == 1 and abs(abs(each.item()) - 1) > near:
                continue  # one number is always  each * (p - y)
            if row is not None and x.shape[row] == 2 and np.ptp(np.abs(each)) > near * size:
                continue  # so are two numbers whose sum is 0, if each row has its weight
            if np.max(np.abs(g - each * rest)) <= near * size:
                yield Scores(use, use.parent, x, p, np.asarray(y, p.dtype), each, name)


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
    """The derivative of {op}{line} with its factor pos_weight is wrong: {n}.

    It multiplies the loss of the positive examples:  (1 - y) * p - pos_weight * y * (1 - p).
    """
    for use, x, y, weight, each in _weighted_positives(a):
        p = sigmoid(x)
        right = (1 - y) * p - weight * y * (1 - p)
        for kind, d, words in (
            ("scale", p - y, "the factor is missing"),
            ("scale", weight * (p - y), "it multiplies the negative examples as well"),
            (
                "scale",
                weight * (1 - y) * p - y * (1 - p),
                "it multiplies the negative examples instead",
            ),
            (
                "scale",
                p - weight * y,
                "it multiplies the target only, and belongs to the whole term",
            ),
            ("double_counted", right * p * (1 - p), "the derivative of the sigmoid is there twice"),
        ):
            if gives(a, (use.parent, each * (d - right))):
                yield {"kind": kind, "use": use, "n": words}
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
