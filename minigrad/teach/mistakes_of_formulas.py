"""Mistakes in a formula for several operations, or with several terms.

    product and quotient rule     f' * h', f' / h', the division by h**2 left out
    normalization                 the formula of a layer norm, or of a vector divided by its length
    softmax                       p * (g - sum(g * p)), also for shares that were computed by hand
    scores                        p - y, the gradient of most losses with respect to the scores
    label smoothing               the smoothed target distribution
    pos_weight                    the factor of the positive examples

A function of this module finds where a formula holds, and yields a Formula with its mistakes. We
often find it by comparing values, so it does not matter how the program was written. Each mistake
is tried at each place alone, then at all places. Students read the function's docstring.

The rows are tried with those of at_a_node.py. Read at_a_node.py first.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from minigrad.ops import log_softmax, sigmoid, softmax
from minigrad.teach.answer import Answer, in_time
from minigrad.teach.at_a_node import gives
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import TABLE, Mistake, Variant, message_and_hint
from minigrad.teach.mistakes_of_losses import parts_of_cross_entropy
from minigrad.teach.pairs import Tried
from minigrad.teach.uses import AnyNode, Use
from minigrad.teach.whole import Places, Table, mistake_in

OF_FORMULAS: Table = []
FORMULAS: list[Callable[[Answer], Iterator["Formula"]]] = []
Rows = Iterable[tuple[str, str, Array]]  # of each mistake: kind, words for {n}, and an array


class Formula(NamedTuple):
    """A place where a formula gives the gradient of a node.

    use     the operation that messages name
    node    the node whose gradient the formula gives
    wrong   for each mistake: its kind, the words for {n}, and what it adds to the gradient
    words   the words for {formula}
    """

    use: Use
    node: AnyNode
    wrong: list[tuple[str, str, Array]]
    words: str = ""


def formula(find: Callable[[Answer], Iterator[Formula]]) -> Callable[[Answer], Iterator[Formula]]:
    """Add the mistakes in a formula to the table."""

    def search(a: Answer) -> Places:
        for places in in_time(_together(a, list(find(a))), a.until):
            found: set[str] = set()
            for wrong in zip(*(place.wrong for place in places), strict=False):
                changes = [(p.node, d) for p, (_, _, d) in zip(places, wrong, strict=True)]
                kind, words, _ = wrong[0]
                alike = kind not in found and all(k == kind for k, _, _ in wrong)
                if alike and gives(a, *changes):
                    found.add(kind)
                    use, node, _, hint = places[0]
                    scores = _called(a, node)
                    yield {"kind": kind, "use": use, "n": words, "formula": hint, "scores": scores}

    search.__doc__, search.__name__ = find.__doc__, find.__name__
    mistake_in(OF_FORMULAS, "wrong_argument", several=True)(search)
    FORMULAS.append(find)
    return find


def slips(a: Answer) -> Iterator[Tried]:
    """Each mistake in a formula, at each place where it holds: one of two mistakes."""
    for find in FORMULAS:
        message, hint = message_and_hint(find)
        for place in find(a):
            for kind, words, d in place.wrong:
                changed = a.graph.changes({place.node: d})
                said = message.replace("{scores}", _called(a, place.node))
                hint_here = hint.replace("{formula}", place.words)
                row = Mistake(kind, said, hint_here, (), _nothing)
                if a.target in changed:
                    yield Tried(row, place.use, words, changed[a.target], changed)


def _called(a: Answer, node: AnyNode) -> str:
    return a.name if node is a.target else a.graph.called(node)


def _nothing(use: Use) -> None:
    return None


def _together(a: Answer, places: list[Formula]) -> Iterator[list[Formula]]:
    """Each of the places alone, then all of them: a mistake may be made once or everywhere."""
    yield from ([place] for place in places)
    nodes = {place.node for place in places}
    below = [
        set(a.graph.changes({n: a.graph.gradients[n]})) - {n} for n in (p.node for p in places)
    ]
    ends = (place for place, later in zip(places, below, strict=True) if not later & nodes)
    by_use = {place.use: place for place in ends}  # of two on the same path, the one further down
    if len(by_use) > 1:
        yield list(by_use.values())


# ------------------------------------------------------------------ product and quotient rule


def _of_two_functions(a: Answer, op_name: str) -> Iterator[tuple[Use, Use]]:
    """The two uses at f(x) * h(x) or f(x) / h(x), entry by entry."""
    for uses in a.graph.edges_of.values():
        if len(uses) == 2 and uses[0].op_name == op_name and uses[0].parent is not uses[1].parent:
            if all(u.passed.shape == u.g.shape for u in uses):
                yield uses[0], uses[1]


RULES = {
    "mul": (np.multiply, "product", "(f * h)' = f' * h + f * h'"),
    "div": (np.true_divide, "quotient", "(f / h)' = (f' * h - f * h') / h**2"),
}


@formula
def _derivatives_combined(a: Answer) -> Iterator[Formula]:
    """The derivative of the {n} {op}{line} is not the {n} of the derivatives.

    Use the {n} rule:  {formula}.
    """
    graph = a.graph
    for op_name, (combine, words, rule) in RULES.items():
        for x, y in _of_two_functions(a, op_name):
            slopes = [graph.changes({u.parent: np.ones_like(u.passed)}) for u in (x, y)]
            parts = [graph.changes({u.parent: u.passed}) for u in (x, y)]
            both = [node for node in slopes[0] if node in slopes[1]]
            # with respect to x, or to the tensor where the two paths meet
            for node in {min(both, key=lambda n: n.queue_key), a.target} if both else ():
                f, h = (s[node] for s in slopes)
                if f.shape != h.shape or x.g.shape not in (f.shape, ()):
                    continue
                if np.all(h == 1) or op_name == "mul" and np.all(f == 1):
                    continue  # as if one path were missing
                d = x.g * combine(f, h) - parts[0][node] - parts[1][node]
                yield Formula(x, node, [("paths_multiplied", words, d)], rule)


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


# Is the mean subtracted, and what is 1 for the squares of a row? Layer norm, a vector of length 1, RMS norm.
NORMALIZATIONS = ((True, np.mean), (False, np.sum), (False, np.mean))
# These ops read what is normalized.
NORMALIZATION_TEXT = "r * (g - mean(g) - y * mean(g * y))  for  y = (x - mean) * r"
MEASURED = "mean sum standardize linalg_vector_norm mul pow square".split()


@formula
def _in_a_normalization(a: Answer) -> Iterator[Formula]:
    """In the derivative of the normalization in {op}{line}, something is wrong: {n}.

    It is  {formula},  with all sums and means along the same axis.
    """
    known = a.graph.known
    measured = {u.parent for u in a.graph.paths if u.op_name in MEASURED}
    last = {u.node: u for u in a.graph.paths if u.op_name in ("mul", "div", "standardize")}
    for use in last.values():
        y = known.get(use.node, np.ones(()))
        alike = (n for n in measured - {use.node} if n in known and known[n].shape == y.shape)
        for node in alike if y.ndim else ():
            x = known[node]
            sizes = range(1, max(y.ndim, 2))
            some = (axes for n in sizes for axes in combinations(range(y.ndim), n))
            for axes, (centered, total) in product(some, NORMALIZATIONS):
                axis = axes if len(axes) > 1 else axes[0]
                c = x - np.mean(x, axis, keepdims=True) if centered else x
                size = np.sqrt(total(c * c, axis, keepdims=True))
                if np.allclose(y * size, c, 1e-2, 1e-2 * float(np.max(np.abs(c)))):
                    yield _normalization(use, node, x, y, axis, centered, total)


SUMS, MEANS = "it has sums, not means", "it has means, not sums"
NOT_KEPT = "the numbers of the rows are subtracted from the columns, as keepdims=True is missing"


def _normalization(
    use: Use, node: AnyNode, x: Array, y: Array, axis: Any, centered: bool, total: Any
) -> Formula:
    """y = r * (x - mean(x)),  with one r for each row; or not centered,  y = r * x.

    total   the sum over a row, or the mean, of  y * y  is 1
    """
    g = use.g
    c = x - np.mean(x, axis, keepdims=True) if centered else x
    r = np.sum(y * c, axis, keepdims=True) / np.sum(c * c, axis, keepdims=True)
    r0 = 1 / np.sqrt(total(c * c, axis, keepdims=True))

    def parts(axis: Any, outer: Array = y, inner: Array = y) -> tuple[Array, Array]:
        mean = np.mean(g, axis, keepdims=True) if centered else 0
        return r * (mean + 0 * g), r * outer * total(g * inner, axis, keepdims=True)

    mean, other = parts(axis)
    n = x.size // r.size
    wrong, averaged = [("missing_path", "r is treated as a constant", other)], total is np.mean
    if centered:
        wrong += _with_the_mean(r * g, mean, other, n, np.mean(y * y, axis, keepdims=True))
    elif averaged:
        d = 0 * g - r * np.mean(g, axis, keepdims=True)
        wrong.append(("extra_term", "mean(g) is subtracted, as in layer norm", d))
    instead, times = (SUMS, n) if averaged else (MEANS, 1 / n)
    wrong += [("mean_for_sum", instead, (1 - times) * d) for d in (mean + other, mean, other)]
    others = set(x.shape) - {1, n} if averaged else ()
    wrong += [("mean_for_sum", f"the means are divided by {m}, not by {n}",
               (1 - n / m) * (mean + other)) for m in others]  # fmt: skip
    right, own = r * g - mean - other, r * y * g * y / (n if averaged else 1)
    wrong += [
        ("sign", "the last term is added, not subtracted", 2 * other),
        ("upstream_only", "the factor r is missing", right / r - right),
        ("wrong_argument", "it is divided by the variance instead of its root", right * r - right),
        ("wrong_argument", "it is divided by r, not multiplied", right / r / r - right),
        ("wrong_argument", "eps is missing under the root", right / r * r0 - right),
        ("missing_path", "r depends on all entries, not only on its own", other - own),
        ("wrong_argument", "the last y is missing", other - other / y),
        ("wrong_argument", "g * y is there without y", other - parts(axis, y, y**0)[1]),
    ]
    for words, v in (("x", x), ("x minus its mean", c)):
        for pair in ((v, y), (y, v), (v, v)):
            d = other - parts(axis, *pair)[1]
            wrong.append(("wrong_argument", f"{words} is used in place of y", d))
    ways = _along_other_axes(g, x, y, r, axis, centered, total)
    wrong += [("reduction_axis", words, mean + other - d) for words, d in ways]
    words = f"r * (g - y * {'mean' if averaged else 'sum'}(g * y))  for  y = r * x"
    return Formula(use, node, wrong, NORMALIZATION_TEXT if centered else words)


def _with_the_mean(first: Array, mean: Array, other: Array, n: int, size: Array) -> Rows:
    """The mistakes that involve the mean, for a normalization over n entries, in  first - mean - other.

    size    the mean of  y * y,  which is 1 without eps
    """
    # x.std() of PyTorch, but not of NumPy, divides by n - 1
    s = 1 / np.sqrt(1 + size / (max(n, 2) - 1))
    of_a_sample = (s - 1) * (first - mean) - (s**3 - 1) * other
    return [
        ("missing_path", "the mean and r are treated as constants", mean + other),
        ("missing_path", "the mean is treated as a constant", mean),
        ("sign", "mean(g) is added, not subtracted", 2 * mean),
        ("sign", "both means are added, not subtracted", 2 * (mean + other)),
        ("scale", "the means are divided by n - 1, not by n", (mean + other) / (1 - max(n, 2))),
        ("wrong_argument", "the standard deviation is that of n - 1, not of n", of_a_sample),
    ]


def _along_other_axes(
    g: Array, x: Array, y: Array, r: Array, axis: Any, centered: bool, total: Any
) -> Iterator[tuple[str, Array]]:
    """Words, and what is subtracted from  r * g,  if sums or means are taken along other axes."""
    c = x - np.mean(x, axis, keepdims=True) if centered else x

    def parts(axis: Any) -> tuple[Array, Array]:
        mean = np.mean(g, axis, keepdims=True) if centered else 0
        return mean + 0 * g, y * total(g * y, axis, keepdims=True)

    mean, other = parts(axis)
    for axes in (s for m in range(y.ndim) for s in combinations(range(y.ndim), m + 1)):
        if axes not in (axis, (axis,)):
            along, last = parts(axes)
            words = f"the {'means' if total is np.mean else 'sums'} are taken along other axes"
            yield words, r * (along + last)
            # the same, if r is one number
            yield words, r * along + r**3 * c * total(g * c, axes, keepdims=True)
            if centered:
                yield "mean(g) is taken along other axes", r * (along + other)
                yield "mean(g * y) is taken along other axes", r * (mean + last)
                words = "it is that of a normalization along other axes"
                yield words, r * g - _along(axes, g, x, r, c, axis)
    if axis == y.ndim - 1 == 1 and y.shape[0] == y.shape[1]:
        yield NOT_KEPT, r * (mean.T + y * (other / y).T)
        yield NOT_KEPT, r * mean.T + r**3 * c * total(g * c, axis, keepdims=True).T


def _along(axes: Any, g: Array, x: Array, r: Array, c: Array, axis: Any) -> Array:
    """The gradient of a normalization along these axes, forward and backward, with the same eps."""
    eps = np.mean(r**-2.0 - np.mean(c * c, axis, keepdims=True))
    c = x - np.mean(x, axes, keepdims=True)
    s = 1 / np.sqrt(np.mean(c * c, axes, keepdims=True) + eps)
    mean, other = (np.mean(d, axes, keepdims=True) for d in (g, g * c * s))
    return s * (g - mean - c * s * other)


# ------------------------------------------------------------------ softmax


@formula
def _in_a_softmax(a: Answer) -> Iterator[Formula]:
    """The derivative of {op}{line} is wrong: {n}.

    Every score changes every probability: it is  {formula},  with the sum along the axis of the
    forward pass.
    """
    for use in (u for u in a.graph.paths if not u.part):
        yield from _softmax_at(use)


def _softmax_at(use: Use) -> Iterator[Formula]:
    z, x, y, axis = (use.values.get(name) for name in ("z", "x", "y", "axis"))
    axes = range(use.passed.ndim)
    if use.op_name == "softmax" and z is not None:
        others = [] if x is None else [2 * [softmax(x, axis=k)] for k in axes]
        for g in _with_effect(use, np.ones_like(z), axis):
            yield _softmax(use, g, z, z, axis, others, "p * (g - sum(g * p))")
    elif use.op_name == "div" and use.name == "x" and x is not None and y is not None:
        for axis in (None, *axes) if axes else ():  # e / e.sum(): the shares of the entries
            if np.allclose(np.sum(x, axis, keepdims=True), y):
                sums = [np.sum(x, k, keepdims=True) for k in axes]
                others = [[1 / total, x / total] for total in sums]
                words = "(g - sum(g * p)) / s  for  p = x / s"
                yield _softmax(use, use.g, 1 / y, x / y, axis, others, words)
    elif use.op_name == "log_softmax" and z is not None:
        for g in _with_effect(use, np.exp(z), axis):
            yield _log_softmax(use, g, z, x, axis)
    elif use.op_name == "sub" and use.name == "x" and z is not None and x is not None:
        for axis in axes if z.shape == x.shape else ():  # x - x.exp().sum().log()
            if np.allclose(z, log_softmax(x, axis=axis)):
                yield _log_softmax(use, use.g, z, x, axis)
    elif use.op_name == "logsumexp" and x is not None and (wide := use.widened()) is not None:
        p, largest = softmax(x, axis=axis), x == np.max(x, axis, keepdims=True)
        d = [
            ("softmax_diagonal_only", DIAGONAL, wide * p * (1 - p)),
            ("wrong_argument", "the scores are used instead of the softmax", wide * x),
            ("wrong_argument", "exp(x) is used instead of the softmax", wide * np.exp(x)),
            ("wrong_argument", "the largest entry gets all of it, as with max", wide * largest),
            ("sign", "it is the softmax of -x", wide * softmax(-x, axis=axis)),
            *(("reduction_axis", ANOTHER, wide * softmax(x, axis=k)) for k in axes),
        ]
        yield _at_edge(use, wide * p, d, "g * softmax(x)")


DIAGONAL = "only the diagonal of the Jacobian was used"
ANOTHER = "the softmax was taken along another axis"


def _with_effect(use: Use, none: Array, axis: Any) -> Iterator[Array]:
    """g, and g without the parts that have no effect: those proportional to `none` along the axis.

    The entropy -sum(p * log(p)) has one, through its second p; not everybody writes it down.
    """
    yield use.g
    parts = [u.passed / none for u in use.graph.uses if u.parent is use.node and not u.part]
    lost = [part for part in parts if np.ptp(part, axis).max() <= 1e-9 * np.max(np.abs(part))]
    if len(parts) > 1 and lost:
        yield use.g - none * sum(lost)


def _softmax(
    use: Use, g: Array, front: Array, p: Array, axis: Any, others: list[list[Array]], words: str
) -> Formula:
    """front * (g - sum(g * p));  others: the same two factors along other axes."""

    def result(of: Array, axis: Any = axis, times: float = 1, front: Array = front) -> Array:
        return front * (g - times * np.sum(of, axis, keepdims=True))

    n, total = p.size if axis is None else p.shape[axis], np.sum(g * p, axis, keepdims=True)
    d = [
        ("softmax_diagonal_only", DIAGONAL, front * g * (1 - p)),
        ("missing_path", "the part through the sum is missing", front * g),
        ("missing_path", "only the part through the sum is present", result(g * p) - front * g),
        ("wrong_argument", "the factor p in the sum is missing", result(g)),
        ("wrong_argument", "the factor p before the sum is missing", front * g - total),
        ("wrong_argument", "the factor of the whole is missing", result(g * p) / front),
        ("sign", "the sum is added, not subtracted", result(g * p, times=-1)),
        ("mean_for_sum", "it has a mean, not a sum", result(g * p, times=1 / n)),
        ("reduction_axis", "the sum is over all entries", result(g * p, None)),
        ("wrong_argument", "it is that of log_softmax", g - p * np.sum(g, axis, keepdims=True)),
    ]
    for k, (outer, q) in enumerate(others):
        d += [("reduction_axis", ANOTHER, result(g * q, along, 1, outer)) for along in (k, axis)]
    d += [("reduction_axis", ANOTHER, result(g * p, k)) for k in range(p.ndim)]
    if axis in (1, -1) and p.ndim == 2 and n == len(p):
        d.append(("reduction_axis", NOT_KEPT, front * (g - total.T)))
    return _at_edge(use, result(g * p), d, words)


def _log_softmax(use: Use, g: Array, z: Array, x: Array | None, axis: Any) -> Formula:
    """g - p * sum(g)"""
    p = np.exp(z)
    total = np.sum(g, axis, keepdims=True)
    d = [
        ("softmax_diagonal_only", DIAGONAL, g * (1 - p)),
        ("missing_path", "the part through the sum is missing", g),
        ("missing_path", "only the part through the sum is present", -p * total),
        ("sign", "the sum is added, not subtracted", g + p * total),
        ("mean_for_sum", "it has a mean, not a sum", g - p * np.mean(g, axis, keepdims=True)),
        ("reduction_axis", "the sum is over all entries", g - p * np.sum(g)),
        ("upstream_ignored", "the factor sum(g) is missing", g - p),
        ("wrong_argument", "the factor p is missing", g - total),
        ("wrong_argument", "the logarithms are used instead of the softmax", g - z * total),
        ("forgot_inner", "only the logarithm is differentiated, and not the softmax", g / p),
        ("wrong_argument", "it is that of softmax, without the logarithm",
         p * (g - np.sum(g * p, axis, keepdims=True))),
    ]  # fmt: skip
    if x is not None:
        d.append(("wrong_argument", "the scores are used instead of the softmax", g - x * total))
    for k in range(p.ndim):
        q, turned = p if x is None else softmax(x, axis=k), np.sum(g, k, keepdims=True)
        changed = (g - v * w for v, w in ((p, turned), (q, turned), (q, total)))
        d += [("reduction_axis", ANOTHER, passed) for passed in changed]
    if axis in (1, -1) and p.ndim == 2 and p.shape[0] == p.shape[1]:
        d.append(("reduction_axis", NOT_KEPT, g - p * total.T))
    return _at_edge(use, g - p * total, d, "g - p * sum(g)")


def _row(kind: str) -> Mistake:
    """A row of the table: the mistakes of a kind at one operation, which may be in each of several layers."""

    def passes(use: Use) -> list[Array | Variant | None]:
        found = list(_softmax_at(use))
        if use.op_name == "standardize":
            x, y, axis = (use.values[name] for name in ("x", "z", "axis"))
            found = [_normalization(use, use.parent, x, y, axis, True, np.mean)]
        return [Variant(use.passed + d, n) for f in found for k, n, d in f.wrong if k == kind]

    ops = ("softmax", "log_softmax", "logsumexp", "standardize")
    message = "The derivative of {op}{line} is wrong: {n}."
    return Mistake(kind, message, "Every entry of its result depends on all entries.", ops, passes)


KINDS = "softmax_diagonal_only missing_path sign mean_for_sum reduction_axis wrong_argument"
TABLE += map(_row, KINDS.split())


def _at_edge(use: Use, right: Array, passed: Rows, words: str = "", times: Any = 1) -> Formula:
    """A formula for what passes along an edge, with what passes by each mistake; times: a factor of all."""
    wrong = [(kind, n, times * (d - right)) for kind, n, d in passed]
    return Formula(use, use.parent, wrong, words)


# ------------------------------------------------------------------ the scores of a loss


@formula
def _of_the_scores(a: Answer) -> Iterator[Formula]:
    """The gradient with respect to {scores}, which {op}{line} reads, is wrong: {n}.

    For scores x and targets y it is  {formula} - y  for each score, times the weight of its term in
    the loss.
    """
    # A loss whose gradient is  each * (p - y),  with p = softmax(x), sigmoid(x), exp(x), or x itself.
    graph = a.graph
    first = {u.parent: u for u in reversed(graph.paths)}  # the first use of each tensor
    whole = [(u, graph.gradients[u.parent]) for u in first.values()]
    parts = [(u, u.passed) for u in graph.paths if u.fan_in > 1 and not u.part]
    for use, passed in (*whole, *parts):
        x, g = graph.known.get(use.parent), np.asarray(passed, np.float64)
        if x is None or not np.any(g):
            continue
        size, near = np.max(np.abs(g)), 1e-3 if use.passed.dtype.itemsize < 8 else 1e-6
        for name, p, row, y in _losses(x, g, near * size, graph.constants):
            rest = p - y
            # one weight for all entries, or one for each row, which small entries show less exactly
            for over in (None, row):
                each = np.sum(g * rest, over, keepdims=True) / np.sum(rest**2, over, keepdims=True)
                each = np.nan_to_num(each)
                if np.max(np.abs(g - each * rest)) <= 1e-3 * near * size:
                    break
            if g.size == 1 and abs(abs(each.item()) - 1) > near:
                continue  # one number is always  each * (p - y)
            if row is not None and x.shape[row] == 2 and np.ptp(np.abs(each)) > near * size:
                continue  # so are two numbers whose sum is 0, if each row has its weight
            if np.max(np.abs(g - each * rest)) <= near * size:
                alone = use.fan_in == 1 and use.op_name in ("sigmoid", "exp")
                wrong = _wrong_scores(name, x, p, np.asarray(y, p.dtype), alone)
                yield _at_edge(use, rest, wrong, name, times=each)


def _losses(
    x: Array, g: Array, rounding: float, constants: list[Array]
) -> Iterator[tuple[str, Array, int | None, Array]]:
    """Name, p, the axis along which each row may have its own weight, and y, of the losses that are tried."""
    given = [v for v in constants if v.shape == x.shape and np.any(v)]
    below, above = g < 0, g > 0
    for axis in range(x.ndim):
        if np.max(np.abs(np.sum(g, axis))) <= rounding:
            p, single = softmax(x, axis=axis), np.sum(below, axis, keepdims=True) == 1
            yield "softmax(x)", p, axis, np.where(single, below, above)
            yield from (("softmax(x)", p, None, y) for y in given)
    yield from (("sigmoid(x)", sigmoid(x), None, y) for y in (below, above, *given))
    yield from (("exp(x)", np.exp(x), None, y) for y in given)
    yield from (("x", x, None, y) for y in given)


def _wrong_scores(name: str, x: Array, p: Array, y: Array, alone: bool) -> Rows:
    """(kind, words, the answer) for each mistake in  p - y;  alone: is p a step of its own?"""
    yield "missing_path", "y is missing", p
    yield "missing_path", f"{name} is missing", -y
    yield "sign", "y is added, not subtracted", p + y
    if name == "x":
        return
    slope = p if name == "exp(x)" else p * (1 - p)
    yield "wrong_argument", f"it was computed with x instead of {name}", x - y
    yield "double_counted", f"it contains the derivative of {name} already", (p - y) * slope
    if name == "softmax(x)":
        yield "softmax_diagonal_only", "only the entries of the targets have one", (p - y) * y
        yield "wrong_argument", "exp(x) is not divided by its sum", np.exp(x) - y
        for axis in range(x.ndim if np.ndim(y) else 0):
            by_one = "class" if np.allclose(np.sum(y, axis), 1) else f"place along axis {axis}"
            for k in (1, -1):  # the classes are counted from 1, or the next row's target is read
                yield (
                    "wrong_argument",
                    f"the targets are off by one {by_one}",
                    p - np.roll(y, k, axis),
                )
            hard = np.asarray(y == np.max(y, axis, keepdims=True), p.dtype)
            yield "wrong_argument", "the target is a distribution, and not one class", p - hard
        for axis in range(x.ndim):
            yield "reduction_axis", "softmax is along another axis", softmax(x, axis=axis) - y
            over_all = softmax(x.reshape(-1), axis=0).reshape(x.shape)
            yield "reduction_axis", "softmax is over all entries, and not of each row", over_all - y
            if np.all(y > 0) and np.allclose(np.sum(p, axis), 1):
                turned = p * np.log(p / y)
                turned = turned - p * np.sum(turned, axis, keepdims=True)
                yield "swapped_operands", "it belongs to KL(p, y) instead of KL(y, p)", turned
    elif not alone:
        yield "forgot_inner", f"the derivative of {name} is missing", (p - y) / slope
    if name == "sigmoid(x)":
        yield "sign", "the argument of sigmoid has the wrong sign", 1 - p - y
        if np.ptp(y):
            yield "mask_inverted", "y and 1 - y are swapped", p - (1 - y)


# ------------------------------------------------------------------ label smoothing


@formula
def _smoothed_target(a: Answer) -> Iterator[Formula]:
    """The target distribution in the derivative of {op}{line} is wrong: {n}.

    With label_smoothing=e and k classes it is  (1 - e) * onehot + e / k.
    """
    for use in (u for u in a.graph.paths if u.op_name == "cross_entropy"):
        smooth = [u for u in a.graph.paths if u.parent is use.parent and u.op_name == "log_softmax"]
        if len(smooth) != 1:
            continue
        axis = use.values["axis"]
        _, chosen, hard = parts_of_cross_entropy(use)
        # Each row is  hard * (p - onehot) + soft * (p - 1 / k),  and e = soft / (hard + soft).
        soft = -np.sum(smooth[0].g, axis, keepdims=True)
        each, k = hard + soft, use.passed.shape[axis]
        onehot, e = np.nan_to_num(chosen / hard), np.nan_to_num(soft / each)
        p, passed = softmax(use.values["x"], axis=axis), use.passed + smooth[0].passed
        without = "e / k is added, but onehot is not multiplied by 1 - e"
        shared = (1 - e) * onehot + e / max(k - 1, 1) * (1 - onehot)
        wrong = [
            (kind, words, each * (p - target) - passed)
            for kind, words, target in (
                ("wrong_argument", "it is not smoothed", onehot),
                ("missing_path", "e / k is missing", (1 - e) * onehot),
                ("wrong_argument", without, onehot + e / k),
                ("wrong_argument", "e is shared among the k - 1 other classes", shared),
                (
                    "wrong_argument",
                    "e is divided by k - 1, not by k",
                    (1 - e) * onehot + e / max(k - 1, 1),
                ),
                (
                    "wrong_argument",
                    "e / k is missing for the right class",
                    (1 - e) * onehot + e / k * (1 - onehot),
                ),
                ("wrong_argument", "e and 1 - e are swapped", e * onehot + (1 - e) / k),
            )
        ]
        yield Formula(use, use.parent, wrong)


# ------------------------------------------------------------------ pos_weight


@formula
def _weight_of_positives(a: Answer) -> Iterator[Formula]:
    """The derivative of {op}{line} with its factor pos_weight is wrong: {n}.

    It multiplies the loss of the positive examples:  (1 - y) * p - pos_weight * y * (1 - p).
    """
    # The loss is  (1 - y) * x - (1 + (pos_weight - 1) * y) * logsigmoid(x).
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
        weights = np.where(y != 0, 1 + (scale - 1) / np.where(y != 0, y, 1), np.nan)
        w = np.nanmean(weights, 0, keepdims=True)  # one number, or one for each class
        w = np.where(np.isnan(w), 1, w)
        if not np.any(y) or not np.allclose(weights[y != 0], (w + 0 * y)[y != 0]):
            continue
        p = sigmoid(x)
        right, instead = (1 - y) * p - w * y * (1 - p), w * (1 - y) * p - y * (1 - p)
        wrong = [
            ("scale", "the factor is missing", p - y),
            ("scale", "it multiplies the negative examples as well", w * (p - y)),
            ("scale", "it multiplies the negative examples instead", instead),
            ("scale", "it multiplies the target, and not the whole term", p - w * y),
            (
                "sign",
                "the term of the positive examples has the wrong sign",
                p - y * (p - w + w * p),
            ),
            ("missing_path", "only the positive examples count", -w * y * (1 - p)),
            ("missing_path", "only the negative examples count", (1 - y) * p),
            ("double_counted", "it contains sigmoid's derivative twice", right * p * (1 - p)),
        ]
        yield _at_edge(use, right, wrong, times=negative[0].g)
