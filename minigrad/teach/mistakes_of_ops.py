"""The table of mistakes, continued: the traps of single operations.

    softmax and losses     where the derivative is taken     masks and ties

Read mistakes.py first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.teach.mistakes import Variant, at_a_use
from minigrad.teach.uses import Use


def is_one_of(use: Use, *names: str) -> bool:
    return use.op is not None and use.op.name in names


# ------------------------------------------------------------------ softmax and losses


@at_a_use(
    "softmax_diagonal_only",
    "Of the derivative of {op}{line} only the diagonal was taken: every score moves every probability.",
    "The full rule is  z * (g - sum(g * z)).",
)
def softmax_diagonal_only(use: Use) -> Any:
    z = use.values.get("z")
    if is_one_of(use, "cross_entropy") and (parts := parts_of_cross_entropy(use)) is not None:
        return use.passed * (np.abs(parts[1]) > 1e-6 * np.max(np.abs(parts[3])))
    if z is None or not is_one_of(use, "softmax", "log_softmax"):
        return None
    return use.g * z * (1 - z) if is_one_of(use, "softmax") else use.g * (1 - np.exp(z))


@at_a_use(
    "softmax_diagonal_only",
    "The sum in {op}{line} depends on every score, and only the diagonal of the softmax's derivative was taken.",
    "The full rule is  z * (g - sum(g * z)).",
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
    "The gradient is softmax minus one-hot.",
)
def half_of_cross_entropy(use: Use) -> Any:
    parts = parts_of_cross_entropy(use)
    return None if parts is None else [parts[0], -parts[1]]


@at_a_use(
    "wrong_argument",
    "In the derivative of {op}{line} the scores stand where their softmax is meant.",
    "The gradient is softmax minus one-hot.",
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


# ------------------------------------------------------------------ where the derivative is taken


@at_a_use(
    "stale_value",
    "{op}{line} writes in place, and your gradient uses the value after the write where the rule needs the one before.",
    "Write down the value before it is overwritten; the tape keeps a copy of it.",
)
def value_after_the_write(use: Use) -> Any:
    if not use.node.wrote or "z" not in use.values or use.op is None:
        return None
    first = use.op.operands[0]
    return use.rule(use.g, **{first: use.values["z"]}) if first in use.reads() else None


@at_a_use(
    "stale_value",
    "{op}{line} reads a tensor that was written in place before, and your gradient uses the value it had earlier.",
    "The rule needs the value that the operation has read.",
)
def value_before_the_write(use: Use) -> Any:
    earlier = {
        name: value
        for name, node in use.origins.items()
        if (value := use.graph.before(node)) is not None
        and np.shape(value) == np.shape(use.values.get(name, ()))
    }
    if not earlier:
        return
    yield use.rule(use.g, **earlier)
    if len(use.twins) > 1 and use is use.twins[0]:
        others = [u.rule(u.g, **earlier) for u in use.twins]
        if all(d is not None for d in others):
            yield sum(others) - sum(u.passed for u in use.twins[1:])


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} was taken at the wrong place: {n}.",
    "Look up whether the rule is written in terms of the input x or of the result z.",
)
def wrong_argument(use: Use) -> Any:
    op, values, reads, x = use.op, use.values, use.reads(), use.name
    if op is None or op.kind not in ("elementwise", "general") or x not in values:
        return
    shape, z = np.shape(values[x]), values.get("z")
    if z is not None and np.shape(z) == shape:
        if "z" in reads and x not in reads:
            yield Variant(
                use.rule(use.g, z=values[x]),
                f"its rule wants the result, and was given the input {x}",
            )
        if x in reads:
            yield Variant(
                use.rule(use.g, **{x: z}), f"its rule wants the input {x}, and was given the result"
            )
        yield Variant(_elsewhere(use, z), "at the result, instead of at the input")
        if is_one_of(use, "sqrt"):
            yield Variant(use.g / (2 * values["x"]), "at the input, where the result is meant")
    for value in _further_in(use):
        if np.shape(value) == shape and not np.array_equal(value, values[x]):
            yield Variant(
                _elsewhere(use, value), "at a tensor further in, instead of at what it was given"
            )


def _elsewhere(use: Use, value: Any) -> Any:
    """The rule of a function of one tensor, as if its input had been `value`."""
    op, values = use.op, use.values
    if op is None or not {"z", use.name} & set(use.reads()):
        return None
    operands = {name: values.get(name) for name in op.operands} | {use.name: value}
    if any(operand is None for operand in operands.values()):
        return None
    try:
        settings = {s: values[s] for s in op.settings}
        return use.rule(use.g, **{use.name: value}, z=op.forward(*operands.values(), **settings))
    except Exception:  # the operation cannot be applied to this value
        return None


def _further_in(use: Use) -> Iterator[Any]:
    """What the input was computed from: the operands of its operation, and the tensor itself."""
    graph, origin = use.graph, use.origins.get(use.name)
    places = [graph.target] if origin is None else [graph.target, *origin.edges]
    yield from (graph.known[node] for node in places if node in graph.known)


# ------------------------------------------------------------------ masks and ties


def _mask(use: Use) -> Any:
    """(the gradient as it stands where the operation lets it pass, where that is); or None."""
    g, values = use.g, use.values
    if is_one_of(use, "relu", "clamp", "clamp_min", "clamp_max", "hardtanh", "threshold"):
        through = use.rule(np.ones_like(g)) if use.passed.shape == g.shape else None
        return None if through is None else (g, through != 0)
    if is_one_of(use, "where"):
        c = values.get("c")
        return None if c is None else (g, c if use.name == "x" else np.logical_not(c))
    if is_one_of(use, "maximum", "minimum", "fmax", "fmin", "masked_fill"):
        through = use.rule(np.ones_like(g))
        return None if through is None or through.shape != g.shape else (g, through != 0)
    if is_one_of(use, "amax", "amin", "max", "min"):
        wide = use.widened()
        through = use.rule(np.ones_like(g))
        return None if wide is None or through is None else (wide, through != 0)
    if is_one_of(use, "max_pool2d"):
        wide, through = _pooled(use), use.rule(np.ones_like(g))
        return None if wide is None or through is None else (wide, through != 0)
    if is_one_of(use, "mul"):  # dropout: times 0, or 1 / (1 - p)
        keep = values.get("y" if use.name == "x" else "x")
        if keep is not None and np.ndim(keep) and keep.shape == g.shape == use.passed.shape:
            kinds = np.unique(keep)
            if len(kinds) == 2 and kinds[0] == 0 and kinds[1] > 0:
                return g, keep != 0
    return None


def _pooled(use: Use) -> Any:
    """g, given to every entry of its window, where the windows do not overlap."""
    size = use.values.get("size")
    if not isinstance(size, tuple) or len(size) != 2:
        return None
    wide = np.repeat(np.repeat(use.g, size[0], -2), size[1], -1)
    return wide if wide.shape == use.passed.shape else None


@at_a_use(
    "mask_missing",
    "The mask of {op}{line} is missing: the gradient passes only where the input did.",
    "Multiply by 1 where the input was let through, and by 0 elsewhere.",
)
def mask_missing(use: Use) -> Any:
    if is_one_of(use, "leaky_relu") and "x" in use.values:
        return [use.g, use.g * (use.values["x"] > 0)]
    found = _mask(use)
    if found is None:
        return None
    if is_one_of(use, "mul"):
        return [found[0], found[0] * _greatest_factor(use)]
    return use.fit(found[0])


def _greatest_factor(use: Use) -> Any:
    """What a dropout's mask multiplies with where it lets pass: 1 / (1 - p)."""
    return np.max(use.values["y" if use.name == "x" else "x"])


@at_a_use(
    "mask_inverted",
    "The mask of {op}{line} is the wrong way round: the gradient passes just where the input did not.",
    "The gradient takes the same way as the value did.",
)
def mask_inverted(use: Use) -> Any:
    if is_one_of(use, "leaky_relu") and "x" in use.values:
        return use.rule(use.g, x=-use.values["x"])
    found = _mask(use)
    if found is None:
        return None
    turned = found[0] * np.logical_not(found[1])
    return [turned, turned * _greatest_factor(use)] if is_one_of(use, "mul") else use.fit(turned)


@at_a_use(
    "mask_missing",
    "The mask of the dropout{line} is there, but not its scale: what is kept was divided by 1 - p.",
    "The gradient is scaled as the value was.",
)
def dropout_scale_missing(use: Use) -> Any:
    found = _mask(use) if is_one_of(use, "mul") else None
    return None if found is None else found[0] * found[1]


@at_a_use(
    "ties",
    "Where entries are equal, or just at a bend, {op}{line} passes the gradient on in another way than you do.",
    "amax and amin share it equally, max and min along a dim give it to one entry, maximum and minimum halve it; "
    "relu and abs pass nothing at 0.",
)
def ties(use: Use) -> Any:
    if use.passed.shape == use.g.shape:
        if is_one_of(use, "relu", "abs") and "x" in use.values:
            bend = use.values["x"] == 0
            return [np.where(bend, part, use.passed) for part in (use.g, use.g / 2, -use.g)]
        if is_one_of(use, "clamp", "clamp_min", "clamp_max", "hardtanh") and "x" in use.values:
            bounds = [use.values.get(b) for b in ("a", "b", "min_val", "max_val")]
            bend = np.any([use.values["x"] == b for b in bounds if b is not None], axis=0)
            return [np.where(bend, part, use.passed) for part in (0 * use.g, use.g / 2)]
    if is_one_of(use, "maximum", "minimum", "fmax", "fmin") and {"x", "y"} <= set(use.values):
        equal = np.equal(use.values["x"], use.values["y"]) & np.ones(use.g.shape, bool)
        one_sided = np.where(
            equal, 0, use.wide() if use.passed.shape != use.g.shape else use.passed
        )
        return [use.fit(one_sided), use.fit(one_sided + equal * use.g)]
    return _ties_of_a_reduction(use) if is_one_of(use, "amax", "amin", "max", "min") else None


def _ties_of_a_reduction(use: Use) -> Any:
    """All of them, each its share, the first, the last."""
    x, axis, wide = use.values.get("x"), use.values.get("axis"), use.widened()
    if x is None or wide is None:
        return
    whole = axis is None or (isinstance(axis, tuple) and len(axis) == x.ndim)
    over = None if whole else axis
    best = (np.max if is_one_of(use, "amax", "max") else np.min)(x, axis=over, keepdims=True)
    chosen = x == best
    yield wide * chosen
    yield wide * chosen / np.sum(chosen, axis=over, keepdims=True)
    if isinstance(over, tuple) and len(over) > 1:
        return
    row = over[0] if isinstance(over, tuple) else over
    for backward in (False, True):
        one = np.zeros_like(chosen)
        if row is None:
            flat = chosen.reshape(-1)
            at = flat.size - 1 - np.argmax(flat[::-1]) if backward else np.argmax(flat)
            one.reshape(-1)[at] = True
        else:
            at = np.argmax(np.flip(chosen, row) if backward else chosen, row)
            at = x.shape[row] - 1 - at if backward else at
            np.put_along_axis(one, np.expand_dims(at, row), True, row)
        yield wide * one
