"""The table of mistakes, continued: the traps of single operations.

    where the derivative is taken     masks and ties

Read mistakes.py first.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minigrad.core.views import CopySlices, walk
from minigrad.teach.mistakes import Variant, at_a_use, constant_factor, is_one_of
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ where the derivative is taken


@at_a_use(
    "stale_value",
    "{op}{line} writes in place, and your gradient uses the value after the write where the rule needs the one before.",
    "Write down the value before it is overwritten; the tape keeps a copy of it.",
)
def value_after_the_write(use: Use) -> Any:
    if not use.wrote or use.op is None or not use.op.operands:
        return
    first = use.op.operands[0]
    if first in use.reads():
        after = [use.values["z"]] if "z" in use.values else []
        for value in [*after, *use.graph.later(use.node)]:
            if np.shape(value) == np.shape(use.values.get(first, value)):
                yield use.rule(use.g, **{first: value})


@at_a_use(
    "stale_value",
    "{op}{line} reads a tensor that was written in place before, and your gradient uses the value it had earlier.",
    "The rule needs the value that the operation has read.",
)
def value_before_the_write(use: Use) -> Any:
    yield from _at_another_time(use, use.graph.earlier)


@at_a_use(
    "stale_value",
    "{op}{line} reads a tensor that is written in place afterwards, and your gradient uses the value it had then.",
    "The rule needs the value that the operation has read.",
)
def value_after_a_later_write(use: Use) -> Any:
    yield from _at_another_time(use, use.graph.later)


def _at_another_time(use: Use, values_of: Callable[[Any], list[Any]]) -> Iterator[Any]:
    """The rule, with what an operand held at another time; also at both places in x * x."""
    for name, node in use.origins.items():
        for value in values_of(node):
            if np.shape(value) != np.shape(use.values.get(name, ())):
                continue
            changed = {other: value for other, n in use.origins.items() if n is node}
            yield use.rule(use.g, **changed)
            if name == use.name and "z" in use.reads():
                yield _elsewhere(use, value)
            if len(use.twins) > 1 and use is use.twins[0]:
                others = [u.rule(u.g, **changed) for u in use.twins]
                if all(d is not None for d in others):
                    yield sum(others) - sum(u.passed for u in use.twins[1:])


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} was taken at the wrong place: {n}.",
    "Look up whether the rule is written in terms of the input x or of the result z.",
)
def wrong_argument(use: Use) -> Any:
    op, values, reads, x = use.op, use.values, use.reads(), use.name
    if op is None or op.kind not in ("elementwise", "reduction", "general") or x not in values:
        return
    if op.name in ("abs", "relu", "sign"):
        return  # their slope depends on a sign, which the result has too
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


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} is that of another power: {n}.",
    "The derivative of x**n is n * x**(n - 1), also for n = -1, as in 1 / x.",
)
def exponent_not_lowered(use: Use) -> Any:
    x, y = use.values.get("x"), use.values.get("y")
    if is_one_of(use, "pow") and use.name == "x" and x is not None and y is not None:
        yield Variant(use.fit(use.g * y * x**y), "its exponent was not lowered by one")
    if is_one_of(use, "div") and use.name == "y" and x is not None and y is not None:
        yield Variant(use.fit(-use.g * x / y), "the divisor was not squared")


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} has a wrong factor: what was put into {n} stands where its result is meant.",
    "The factor is the other operand just as the operation has read it.",
)
def factor_from_further_in(use: Use) -> Any:
    yield from (v for inner, v in _factors_from_further_in(use) if not is_dropout(inner))


@at_a_use(
    "mask_missing",
    "The derivative of {op}{line} has a wrong factor: the other operand as it was before the mask.",
    "The factor is the other operand just as the operation has read it.",
)
def factor_before_the_mask(use: Use) -> Any:
    yield from (v for inner, v in _factors_from_further_in(use) if is_dropout(inner))


def _factors_from_further_in(use: Use) -> Iterator[tuple[Use, Variant]]:
    """For w in tanh(x) * w, say: x in the place of tanh(x)."""
    graph = use.graph
    for name, node in use.origins.items():
        if name == use.name or name not in use.reads() or name == "xs":
            continue
        for inner in (u for u in graph.uses if u.node is node and u.op is not None):
            value, factor = graph.known.get(inner.parent), constant_factor(inner)
            if factor and value is not None:  # a constant is between
                beyond = [u for u in graph.uses if u.node is inner.parent and is_dropout(u)]
                if beyond and (x := graph.known.get(beyond[0].parent)) is not None:
                    yield beyond[0], Variant(use.rule(use.g, **{name: factor * x}))
                    yield beyond[0], Variant(use.rule(use.g, **{name: x}))
            if value is None or inner.op is None or value.shape != np.shape(use.values[name]):
                continue
            curve = inner.op.kind == "elementwise" and len(inner.op.operands) == 1
            if curve or is_dropout(inner) or is_one_of(inner, "softmax", "log_softmax"):
                yield inner, Variant(use.rule(use.g, **{name: value}), _name_of(inner))


def _name_of(use: Use) -> str:
    return use.node.name().partition("Backward")[0]


def is_dropout(use: Use) -> bool:
    """Times 0, or 1 / (1 - p): the mask of a dropout."""
    keep = use.values.get("y" if use.name == "x" else "x")
    if not is_one_of(use, "mul") or keep is None or not np.ndim(keep):
        return False
    if not keep.shape == use.g.shape == use.passed.shape or _wants_gradient(use):
        return False
    kinds = np.unique(keep)
    return len(kinds) == 2 and bool(kinds[0] == 0 and kinds[1] > 0)


def _wants_gradient(use: Use) -> bool:
    """Is the other operand itself a tensor with a gradient?"""
    return len(use.origins) > 1


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
    if is_one_of(use, "tril", "triu"):
        return g, use.rule(np.ones_like(g)) != 0
    if is_one_of(use, "max_pool2d"):
        wide, through = _pooled(use), use.rule(np.ones_like(g))
        return None if wide is None or through is None else (wide, through != 0)
    if is_dropout(use):
        return g, values["y" if use.name == "x" else "x"] != 0
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
    if is_one_of(use, "mul"):
        return [turned, turned * _greatest_factor(use)]
    if is_one_of(use, "tril", "triu"):
        return [turned, (np.triu if is_one_of(use, "tril") else np.tril)(found[0])]
    return use.fit(turned)


@at_a_use(
    "mask_missing",
    "{op}{line} overwrites a part of the tensor, and your gradient passes on there as if it had not.",
    "What was overwritten has no influence on the result any more.",
)
def overwritten(use: Use) -> Any:
    """x[0] = y: nothing comes back to what stood in x[0]."""
    if not isinstance(use.node, CopySlices) or use.k or use.part or not use.node.keeps:
        return None
    written = np.zeros(use.passed.shape, bool)
    walk(written, use.node.way)[...] = True
    return np.asarray(use.graph.gradients[use.node]) if not np.any(use.passed[written]) else None


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
