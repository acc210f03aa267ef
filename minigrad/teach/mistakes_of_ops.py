"""The table of mistakes, continued: pitfalls of particular operations.

    where the derivative is evaluated     masks and ties

Read mistakes.py first.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from minigrad.core.node import Node
from minigrad.core.views import CopySlices, apply_chain
from minigrad.ops import softmax
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, mistake, one_number
from minigrad.teach.uses import AnyNode, Graph, Use, called, constant_factor, names_of, operation_of

# ------------------------------------------------------------------ where the derivative is evaluated


def _at_another_time(use: Use, values_of: Callable[[AnyNode], list[Array]]) -> Variants:
    """The rule, with an operand's value from another time; for x * x, also at both places."""
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
                    both = sum(d for d in others if d is not None)
                    yield np.asarray(both - sum(u.passed for u in use.twins[1:]))


@mistake("stale_value")
def _earlier_value(use: Use) -> Passes:
    """{op}{line} reads a tensor that was written in place before, but your gradient uses its
    value from before that write.

    The rule needs the value that the operation read.
    """
    return _at_another_time(use, use.graph.earlier)


@mistake("stale_value")
def _value_after_a_write(use: Use) -> Variants:
    """{op}{line} reads a tensor that it writes in place, or that is written later, but your gradient
    uses its value from after that write.

    The rule needs the value that the operation read: make a copy before it is overwritten, as the tape does.
    """
    yield from _at_another_time(use, use.graph.later)
    if use.wrote and use.op is not None and (first := use.op.operands[0]) in use.reads():
        for value in (use.values["z"], *use.graph.later(use.node)):
            yield use.rule(use.g, **{first: value})


@mistake("wrong_argument")
def _wrong_argument(use: Use) -> Variants:
    """The derivative of {op}{line} was evaluated at the wrong value: {n}.

    Check whether the rule is written in terms of the input or of the result.
    """
    op, values, reads, x = use.op, use.values, use.reads(), use.name
    if op is None or op.kind not in ("elementwise", "reduction", "general") or x not in values:
        return
    if op.name in ("abs", "relu", "sign", *OF_TWO):
        return  # their slope depends on a sign, which the result has too; or on which is larger
    shape, z = np.shape(values[x]), values.get("z")
    names = use.graph.names
    of_x, of_z = (f", {names[n]}" if n in names else "" for n in (use.parent, use.node))
    square = op.name == "pow" and np.all(values.get("y") == 2)  # its exponent was not lowered
    if z is not None and np.shape(z) == shape and not square:
        if "z" in reads and x not in reads:
            words = f"its rule needs the result{of_z}, and was given the input{of_x}"
            yield Variant(use.rule(use.g, z=values[x]), words)
        if x in reads:
            words = f"its rule needs the input{of_x}, and was given the result{of_z}"
            yield Variant(use.rule(use.g, **{x: z}), words)
        yield Variant(_elsewhere(use, z), "at the result, instead of at the input")
        if op.name == "sqrt":
            yield Variant(use.g / (2 * values["x"]), "at the input, instead of at the result")
    for value, node in _further_in(use):
        if np.shape(value) == shape and not np.array_equal(np.abs(value), np.abs(values[x])):
            words = f"at {names[node] if node in names else 'an earlier tensor'}, instead of at its input{of_x}"
            yield Variant(_elsewhere(use, value), words)


@mistake("wrong_argument", "pow div sqrt rsqrt reciprocal mul matmul")
def _exponent_not_lowered(use: Use) -> Variants:
    """The derivative of {op}{line} is wrong: {n}.

    The derivative of x**n is n * x**(n - 1), also for n = -1, as in 1 / x.
    """
    lowered, name = "its exponent was not lowered by one", use.op_name
    x, y, z = (use.values.get(v) for v in "xyz")
    if name == "pow" and use.name == "x" and x is not None and y is not None:
        yield Variant(use.fit(use.g * y * x**y), lowered)
        if (
            np.size(y) == 1
            and np.all(y == 2)
            and (use.parent is not use.graph.target or use.fan_in > 1)
        ):
            yield Variant(use.fit(use.g * y), "the value that is squared is missing")
            yield Variant(use.fit(use.g * x * x), "it is the square, which was not differentiated")
        if np.size(y) == 1:
            root = np.all(y % 1 == 0.5)  # for a root, half of it
            for e in (y - 0.5, y - 1.5, y - 2, y + 1) if root else (y - 2, y + 1):
                words = f"its exponent is {float(e):g} but should be {float(y - 1):g}"
                yield Variant(use.fit(use.g * y * x**e) if np.all(e) else None, words)
            yield Variant(use.fit(use.g * x ** (y + 1) / (y + 1)), "it is the integral")
    elif name == "div" and use.name == "y" and x is not None and y is not None:
        yield Variant(use.fit(-use.g * x / y), "the divisor was not squared")
    elif name in (powers := {"sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1}) and z is not None:
        yield Variant(powers[name] * use.g * z, lowered)
        inner = use.graph.edges_of.get(use.parent, ())
        inner = [u for v in inner for u in (v, *use.graph.edges_of.get(v.parent, ()))]  # sum + eps
        if name == "sqrt" and {u.op_name for u in inner} & {"sum", "mean", "matmul", "var", "pow"}:
            yield Variant(use.g / 2, "it is not divided by the root")  # as if (|x|)' were x
    elif name in ("mul", "matmul") and len(use.twins) > 1 and use.fan_in > 2:  # x * x, or x @ x
        if use is use.twins[0] and use.passed.ndim:
            d = 2 * np.broadcast_to(use.g, use.passed.shape)
            yield Variant(
                d - sum(u.passed for u in use.twins[1:]), "the value that is squared is missing"
            )


@mistake("wrong_argument", "div")
def _numerator_missing(use: Use, y: Array) -> Passes:
    """The numerator is missing in the derivative of {op}{line} with respect to its divisor.

    The derivative of x / y with respect to y is -x / y**2.
    """
    return use.fit(-use.g / y**2) if use.name == "y" else None


@mistake("wrong_argument", "mul div")
def _divided_or_multiplied(use: Use) -> Variants:
    """The gradient through {op}{line} was {n} by the other operand.

    For x * y, g is multiplied by the other factor. For x / y, the gradient of x is  g / y.
    """
    other = use.values.get(use.beside)
    if other is None or (use.op_name, use.name) == ("div", "y"):
        return
    if np.size(other) < 2 and use.beside not in use.origins:
        return  # a constant: that is a factor
    if len(use.twins) > 1:
        return  # x / x of x * x is 1, as if its derivative were missing
    if use.op_name == "mul":
        yield Variant(use.fit(use.g / other), "divided, and not multiplied,")
    else:
        yield Variant(use.fit(use.g * other), "multiplied, and not divided,")


@mistake("reduction_axis", "mul div")
def _factor_along_another_axis(use: Use) -> Variants:
    """The other factor in the derivative of {op}{line} was repeated along the wrong axis.

    Repeat it as in the forward pass: v[None, :] has a vector in each row, v[:, None] in each column.
    """
    other = use.values.get(use.beside)
    if other is not None and np.size(other) > 2 and 1 in (*np.shape(other)[-2:], np.ndim(other)):
        turned = other[:, None] if np.ndim(other) == 1 else np.swapaxes(other, -1, -2)
        yield use.rule(use.g, **{use.beside: turned}) if np.ndim(use.g) > 1 else None


ACTIVATIONS = "gelu silu mish hardswish"  # x times a function of x
# What is often taken for the derivative of z = f(x), with the words for {n}.
INSTEAD: dict[str, list[tuple[Callable[[Any, Array], Array], str]]] = {
    "tanh": [
        (lambda x, z: 1 - z, "1 - z**2: the square is missing"),
        (lambda x, z: z * z, "1 - z**2; yours is z**2"),
        (lambda x, z: (1 - z) ** 2, "1 - z**2; yours is (1 - z)**2"),
        (lambda x, z: z * (1 - z), "1 - z**2; yours is that of sigmoid"),
        (lambda x, z: np.sqrt(1 - z**2), "1 - z**2; yours is its root, 1 / cosh(x)"),
    ],
    "sigmoid": [
        (lambda x, z: z, "z * (1 - z): the second factor is missing"),
        (lambda x, z: 1 - z, "z * (1 - z): the first factor is missing"),
        (lambda x, z: 1 - z**2, "z * (1 - z); yours is that of tanh"),
        (lambda x, z: z * z, "z * (1 - z): z is there instead of 1 - z"),
        (lambda x, z: (1 - z) ** 2, "z * (1 - z): 1 - z is there instead of z"),
    ],
    "cos": [(lambda x, z: -z, "-sin(x); yours is -cos(x)")],
    "tan": [
        (
            lambda x, z: np.sqrt(1 + z * z),
            "1 + z**2; yours is 1 / abs(cos(x)): the square is missing",
        ),
        (lambda x, z: z * z, "1 + z**2; yours is z**2"),
        (lambda x, z: 1 - z * z, "1 + z**2: the sign is wrong"),
    ],
    "reciprocal": [(lambda x, z: np.log(x), "-1 / x**2; log(x) is its integral")],
    "exp": [
        (lambda x, z: x * z / np.e, "exp(x); yours is x * exp(x - 1), as for a power"),
        (lambda x, z: z * z, "exp(x); yours is exp(2 * x)"),
        (lambda x, z: np.sqrt(z), "exp(x); yours is exp(x / 2)"),
    ],
    "abs": [(lambda x, z: x, "the sign of x; yours is x itself")],
    "log": [
        (lambda x, z: x**-2, "1 / x; yours is 1 / x**2"),
        (lambda x, z: z / x, "1 / x; yours is log(x) / x"),
    ],
    "log1p": [(lambda x, z: 1 / x, "1 / (1 + x); yours is 1 / x")],
    "atan": [(lambda x, z: 1 / (1 - x * x), "1 / (1 + x**2): the sign is wrong")],
    "softplus": [(lambda x, z: np.expm1(z), "a sigmoid: the denominator is missing")],
}


@mistake("wrong_argument", " ".join(INSTEAD), "logsigmoid elu", ACTIVATIONS)
def _half_of_the_formula(use: Use, z: Array) -> Variants:
    """The derivative of {op}{line} is {n}.

    Write the function out, differentiate that, and write the derivative in terms of z or of x.
    """
    x = use.values.get("x")
    for derivative, words in INSTEAD.get(use.op_name, ()):
        yield Variant(use.g * derivative(x, z), words)
    if use.op_name == "elu" and x is not None:
        below = "alpha * exp(x) where x < 0"
        rows = ((z, "the function itself"), (np.exp(x), "exp(x)"), (0 * x + z.min(), "a number"))
        for d, words in rows:
            yield Variant(np.where(x > 0, use.passed, use.g * d), f"{below}; yours is {words}")
    elif use.op_name in ACTIVATIONS.split() and x is not None:
        d = (use.passed - _factor_beside_x(use, x)) / x
        yield Variant(d, "h(x) + x * h'(x)  for  z = x * h(x); yours is h'(x)")
        words = "h(x) + x * h'(x)  for  z = x * h(x): the factor x is missing"
        yield Variant(_factor_beside_x(use, x) + d, words)
        yield Variant(use.g * (x > 0), "h(x) + x * h'(x)  for  z = x * h(x); yours is that of relu")
    elif use.op_name in ("softplus", "logsigmoid") and (p := use.share()) is not None:
        yield Variant(use.g * p * (1 - p), "a sigmoid; yours is the derivative of that sigmoid")


@mistake("wrong_argument")
def _not_differentiated(use: Use, z: Array) -> Passes:
    """The gradient through {op}{line} was multiplied by the function itself instead of its
    derivative.

    Differentiate the function first, and multiply g by the derivative.
    """
    if use.op_name == "prod":
        return use.widened(use.g * z)
    alone = use.of_one or use.op_name in CLAMPS
    if use.op_name == "pow" and use.name == "y":  # for 2**x, only a number is missing: log(2)
        alone = np.size(use.values.get("x", ())) > 1
    return use.fit(use.g * z) if alone and np.shape(z) == use.g.shape else None


@mistake("double_counted", "leaky_relu sigmoid tanh elu gelu silu mish softplus mul div")
def _derivative_twice(use: Use, share: Array) -> Passes:
    """Your gradient contains the derivative of {op}{line} twice.

    Each operation on the way from the result contributes one factor.
    """
    weights = len(use.origins) == 1 or use.op_name == "div"
    if use.op_name in ("mul", "div") and not use.is_dropout and (one_number(share) or not weights):
        return None
    return use.fit(use.passed * share)


@mistake("sign")
def _at_minus_x(use: Use) -> Passes:
    """The derivative of {op}{line} was evaluated at minus its input.

    Check the sign of the argument.
    """
    x = use.values.get(use.name)
    if x is None or not np.ndim(x) or use.op_name in MASKED.split():
        return None  # for relu, that is the inverted mask
    return _elsewhere(use, -x)


@mistake("sign", "tanh sigmoid")
def _sign_in_the_formula(use: Use, z: Array) -> Passes:
    """A sign in the derivative of {op}{line} is wrong: for tanh it is 1 - z**2, for sigmoid z *
    (1 - z).

    Differentiate the quotient of exponentials, and write the derivative in terms of z.
    """
    return use.g * (1 + z**2 if use.op_name == "tanh" else z * (1 + z))


@mistake("missing_path", ACTIVATIONS)
def _half_of_an_activation(use: Use, x: Array) -> Passes:
    """{op}{line} is x times a function of x, but your gradient has only one of the two terms of
    the product rule.

    Add both terms: the function itself, and x times its derivative.
    """
    first = _factor_beside_x(use, x)
    return [first, use.passed - first]


@mistake("sign", ACTIVATIONS)
def _sign_in_an_activation(use: Use, x: Array) -> Passes:
    """{op}{line} is x times a function of x, and the second term of the product rule has the
    wrong sign.

    Add both terms: the function itself, and x times its derivative.
    """
    return 2 * _factor_beside_x(use, x) - use.passed


def _factor_beside_x(use: Use, x: Array) -> Array:
    """g times h(x), where the operation is x * h(x)."""
    return use.g * use.applied() / x


def _factors_from_further_in(use: Use, behind_a_mask: bool) -> Variants:
    """For w in tanh(x) * w, for example: x in place of tanh(x); or the same, only for a mask."""
    for name, node in use.origins.items():
        if name != use.name and name in use.reads() and name != "xs":
            for value, skipped in _with_a_step_left_out(use.graph, node, 2):
                if np.shape(value) == np.shape(use.values[name]):
                    if behind_a_mask == skipped.is_dropout:
                        d = use.rule(use.g, **{name: value})
                        yield Variant(d, called(skipped.node).removeprefix("the "))


def _with_a_step_left_out(graph: Graph, node: AnyNode, more: int) -> Iterator[tuple[Array, Use]]:
    """The value of a node if a function on the way to it, or a mask, were left out; and which."""
    for inner in (u for u in graph.uses if u.node is node and u.op is not None and not u.part):
        x = graph.known.get(inner.parent)
        if x is None:
            continue
        same = graph.known.get(node, x[None]).shape == x.shape
        alone = inner.of_one and inner.op_name != "neg" or inner.op_name == "pow"
        if same and (alone or inner.is_dropout or "softmax" in inner.op_name):
            yield x, inner
        if more:
            for value, skipped in _with_a_step_left_out(graph, inner.parent, more - 1):
                yield inner.applied(**{inner.name: value}), skipped
                if constant_factor(inner):  # the scale of a dropout is left out with its mask
                    yield value, skipped


@mistake("wrong_argument")
def _before_a_function(use: Use) -> Passes:
    """A factor in the derivative of {op}{line} is wrong: it is the input of {n} instead of its
    result.

    The factor is the value of the other operand that the operation read.
    """
    return _factors_from_further_in(use, behind_a_mask=False)


@mistake("mask_missing")
def _before_a_mask(use: Use) -> Passes:
    """A factor in the derivative of {op}{line} is wrong: it is the other operand from before the
    mask.

    The factor is the value of the other operand that the operation read.
    """
    return _factors_from_further_in(use, behind_a_mask=True)


def _elsewhere(use: Use, value: Array) -> Array | None:
    """The rule of a function of one tensor, as if its input had been `value`."""
    if not {"z", use.name} & set(use.reads()):
        return None
    try:
        return use.rule(use.g, **{use.name: value}, z=use.applied(**{use.name: value}))
    except Exception:  # the operation cannot be applied to this value
        return None


def _further_in(use: Use) -> Iterator[tuple[Array, AnyNode | None]]:
    """The values and nodes that the input was computed from: the operands of its operation, and the tensor itself."""
    graph, origin = use.graph, use.origins.get(use.name)
    if graph.target in graph.known:
        yield graph.known[graph.target], graph.target
    if isinstance(origin, Node) and origin not in graph.inputs - {graph.target}:
        nodes = dict(zip(names_of(operation_of(origin)[0]), origin.edges, strict=False))
        for name in "xy":
            value = graph.values(origin).get(name)
            if isinstance(value, np.ndarray):
                yield value, nodes.get(name)


# ------------------------------------------------------------------ the gates of an LSTM


@mistake("exchanged", "lstm_gates")
def _gates_in_another_order(use: Use) -> Variants:
    """The gates are in the wrong order in the derivative of {op}{line}: {n}.

    The quarters of the weights belong to i, f, g and o, in this order.
    """
    parts = np.split(use.passed, 4, -1)
    for j, k in combinations(range(4), 2):
        order = [{j: k, k: j}.get(m, m) for m in range(4)]
        words = ", ".join("ifgo"[m] for m in order)
        yield Variant(np.concatenate([parts[m] for m in order], -1), words)


def _at_one_gate(use: Use, *slopes: Array) -> Variants:
    """g times one of these slopes at one gate, or at all of them."""
    gates = np.arange(use.g.shape[-1]) * 4 // use.g.shape[-1]
    for slope, (k, name) in product(slopes, enumerate(("i", "f", "g", "o", "all gates"))):
        yield Variant(np.where((gates == k) | (k == 4), use.g * slope, use.passed), name)


@mistake("upstream_only", "lstm_gates")
def _gate_not_differentiated(use: Use) -> Passes:
    """The derivative of the sigmoid or tanh is missing in {op}{line}, for {n}.

    Multiply by  z * (1 - z)  for a sigmoid, and by  1 - z**2  for the tanh.
    """
    return _at_one_gate(use, np.ones_like(use.g))


@mistake("wrong_argument", "lstm_gates")
def _gate_of_another_function(use: Use, z: Array) -> Passes:
    """The derivative in {op}{line} is that of another function, for {n}.

    It is  z * (1 - z)  for a sigmoid, and  1 - z**2  for the tanh of the candidate.
    """
    return _at_one_gate(use, z * (1 - z), 1 - z * z)


@mistake("upstream_only", "lstm_hidden")
def _cell_not_differentiated(use: Use, x: Array) -> Variants:
    """The derivative of tanh is missing in the gradient of {op}{line}, h = o * tanh(c).

    The gradient of c is  g * o * (1 - tanh(c)**2).
    """
    if use.name == "y":
        yield use.g * np.split(x, 4, -1)[3]


# ------------------------------------------------------------------ masks and ties


CLAMPS = ("clamp", "clamp_min", "clamp_max", "hardtanh")
OF_TWO = ("maximum", "minimum", "fmax", "fmin")
EXTREMES = ("amax", "amin", "max", "min")
LEAKY = ("leaky_relu", "prelu_kernel")
MASKED = " ".join(("relu", "threshold", "hardshrink", "softshrink", *LEAKY, *CLAMPS, *OF_TWO, *EXTREMES, "where",
                   "masked_fill", "tril", "triu", "max_pool2d", "mul"))  # fmt: skip


def _mask(use: Use) -> tuple[Array, Array]:
    """The gradient without the mask, and where the operation lets it pass.

    Raises LookupError if the operation has no mask here; then no mistake is found.
    """
    op, wide = use.op_name, use.g
    if op == "mul" and not use.is_dropout:
        raise LookupError
    if op == "mul":
        return wide, use.values[use.beside] != 0
    if op in LEAKY and use.name == "x":  # which lets everything pass, with two slopes
        raise LookupError
    if use.name == "w":  # the slope of prelu
        return wide * use.values["x"], use.values["x"] <= 0
    if op == "where":
        c = use.values["c"]
        return wide, c if use.name == "x" else np.logical_not(c)
    if op == "max_pool2d":  # to every entry of its window, where the windows do not overlap
        rows, columns = use.values["kernel_size"]
        wide = np.repeat(np.repeat(wide, rows, -2), columns, -1)
    given = use.widened() if op in EXTREMES else wide
    through = use.share()
    if given is None or through is None:
        raise LookupError
    if given.shape != use.passed.shape and op not in ("tril", "triu"):
        raise LookupError
    return given, through != 0


@mistake("mask_missing", MASKED)
def _mask_missing(use: Use) -> Passes:
    """The mask of {op}{line} is missing: the gradient passes only where the input passed.

    Multiply by 1 where the input passed, and by 0 elsewhere.
    """
    wide, passes = _mask(use)
    if use.op_name == "mul" and not np.any(wide[~passes]):
        return None  # the masked entries get no gradient anyway, as in d * d
    if use.op_name in (*EXTREMES, "max_pool2d"):  # to all entries, or shared among them
        return [wide, wide / max(use.gathered, 1)]
    return _scaled(use, wide) if use.op_name == "mul" else use.fit(wide)


@mistake("wrong_argument", "relu", "leaky_relu", *CLAMPS)
def _mask_of_the_gradient(use: Use) -> Passes:
    """The mask of {op}{line} was computed from the gradient instead of the input.

    Multiply by 1 where the input passed, whatever the sign of the gradient.
    """
    return use.g * (use.g > 0)


@mistake("wrong_argument", *EXTREMES)
def _another_extreme(use: Use, x: Array, widened: Array) -> Variants:
    """The gradient through {op}{line} goes to {n}.

    It goes to the entry that was chosen in the forward pass, and is 0 for the others.
    """
    axis, largest = use.values.get("axis"), use.op_name in ("amax", "max")
    yield Variant(
        widened * softmax(x if largest else -x, axis=axis), "all entries, as with a softmax"
    )
    for value, node in _further_in(use):
        if np.shape(value) == x.shape and not np.array_equal(value, x):
            best = (np.max if largest else np.min)(value, axis=axis, keepdims=True)
            name = use.graph.names.get(node) if node is not None else None
            words = (
                f"the {'largest' if largest else 'smallest'} entry of {name or 'an earlier tensor'}"
            )
            yield Variant(widened * (value == best), f"{words}, instead of the input")


@mistake("mask_missing", "softmax log_softmax")
def _scores_not_masked(use: Use, z: Array, axis: Any) -> Variants:
    """The scores that {op}{line} reads are masked, but its derivative was computed {n}.

    A masked score has the probability 0, also in the backward pass, and the others add up to 1.
    """
    p = np.exp(z) if use.op_name == "log_softmax" else z
    kept = p != 0
    if kept.all():
        return
    for x in (x for _, x in use.graph.tensors if x.shape == z.shape and np.all(np.isfinite(x))):
        if np.allclose(p, softmax(np.where(kept, x, -np.inf), axis=axis)):
            q = softmax(x, axis=axis)
            d = use.rule(use.g, x=x, z=q if p is z else np.log(q))
            yield Variant(d, "without the mask")
            if d is not None:
                yield Variant(d * kept, "without the mask, which was applied to its result only")
            if p is z:
                d = use.rule(use.g, z=q * kept)
                yield Variant(d, "with the softmax of all scores, which was masked afterwards")
            return


@mistake("mask_missing", "clamp")
def _one_bound(use: Use, x: Array) -> Passes:
    """{op}{line} has two bounds, but the mask of your gradient checks only one of them.

    The gradient passes where the input is above the lower bound and below the upper one.
    """
    if use.name != "x":
        return None
    return [use.g * (x >= use.values["a"]), use.g * (x <= use.values["b"])]


def _two_slopes(use: Use) -> tuple[Array, float]:
    """Where the slope is 1, and the other slope, of  x * where(x > 0, 1, a),  such as prelu.

    Raises LookupError at any other product; then no mistake is found.
    """
    slopes = use.values.get(use.beside)
    kinds = np.unique(slopes if slopes is not None else ())
    if len(kinds) != 2 or 1 not in kinds or kinds[0] <= 0 or use.g.shape != use.passed.shape:
        raise LookupError
    return np.asarray(slopes == 1), float(np.sum(kinds) - 1)


@mistake("mask_missing", "mul")
def _one_of_two_slopes(use: Use) -> Passes:
    """{op}{line} has two slopes, but your gradient is 0 where the slope is not 1, as for relu.

    Multiply by the slope there.
    """
    return use.g * _two_slopes(use)[0]


@mistake("mask_inverted", "mul", *LEAKY)
def _two_slopes_inverted(use: Use) -> Passes:
    """The two slopes of {op}{line} are swapped.

    Multiply by 1 where the input passed, and by the other slope elsewhere.
    """
    if use.op_name in LEAKY:
        return use.rule(use.g, x=-use.values["x"]) if use.name == "x" else None
    passes, slope = _two_slopes(use)
    return use.g * np.where(passes, slope, 1)


@mistake("mask_missing", *LEAKY)
def _without_slope(use: Use, x: Array) -> Passes:
    """The slope of {op}{line} is missing: your gradient passes unchanged where the input is negative, too.

    Multiply by 1 where the input is positive, and by the slope elsewhere.
    """
    return use.g if use.name == "x" else None


@mistake("mask_missing", "elu", *LEAKY)
def _as_relu(use: Use, x: Array) -> Passes:
    """{op}{line} also passes a part of the gradient where its input is negative. Your gradient is
    0 there, as for relu.

    Multiply by the slope there.
    """
    return use.g * (x > 0) if use.name == "x" else None


def _scaled(use: Use, d: Array) -> list[Array]:
    """d, and d times the factor of the entries that a dropout keeps: 1 / (1 - p)."""
    return [d, d * np.max(use.values[use.beside])]


@mistake("mask_inverted", MASKED)
def _mask_inverted(use: Use) -> Passes:
    """The mask of {op}{line} is inverted: your gradient passes exactly where the input did not.

    The gradient passes where the value passed.
    """
    wide, passes = _mask(use)
    turned = wide * np.logical_not(passes)
    if use.op_name == "mul":
        return _scaled(use, turned)
    if use.op_name in ("tril", "triu"):
        return [turned, (np.triu if use.op_name == "tril" else np.tril)(wide)]
    return use.fit(turned)


@mistake("mask_missing", "index_put")
def _put_over(use: Use) -> Passes:
    """{op}{line} overwrites some entries, but your gradient passes there as if it did not.

    An overwritten entry no longer affects the result: its gradient is 0.
    """
    return use.g if use.name == "x" else None


@mistake("mask_missing")
def _overwritten(use: Use) -> Passes:
    """{op}{line} overwrites a part of the tensor, but your gradient passes there as if it did
    not.

    An overwritten entry no longer affects the result: its gradient is 0.
    """
    # x[0] = y: the old value of x[0] gets no gradient.
    return _overwriting(use)[0]


@mistake("mask_missing")
def _old_gradient_kept(use: Use) -> Passes:
    """{op}{line} writes in place, but your gradient of the old value was added to the gradient of the
    new one, instead of replacing it.

    The old value affects the result only through the new one.
    """
    return use.g + use.passed if use.wrote and (use.part or use.k == 0) and use.reads() else None


@mistake("mask_inverted")
def _only_overwritten(use: Use) -> Passes:
    """{op}{line} overwrites a part of the tensor, but your gradient passes only there.

    An overwritten entry no longer affects the result; the others do.
    """
    g, written = _overwriting(use)
    return g * written


def _overwriting(use: Use) -> tuple[Array, Array]:
    """The gradient that arrives at a tensor with a part that was overwritten, and where that part is.

    Raises LookupError if the operation does not overwrite a part; then no mistake is found.
    """
    if not isinstance(use.node, CopySlices) or use.k or use.part or not use.node.keeps:
        raise LookupError
    written = places_written(use)
    if np.any(use.passed[written]):
        raise LookupError
    return np.asarray(use.graph.gradients[use.node]), written


def places_written(use: Use) -> Array:
    """True where a write to a view has written to the base."""
    written = np.zeros(use.passed.shape, bool)
    apply_chain(written, use.node.view_chain)[...] = True  # type: ignore[attr-defined]
    return written


@mistake("mask_missing", "mul")
def _dropout_scale_missing(use: Use) -> Passes:
    """The mask of the dropout{line} is there, but the scale is missing: the kept entries were
    divided by 1 - p.

    Scale the gradient as the value was scaled.
    """
    wide, passes = _mask(use)
    return wide * passes


@mistake("ties", "relu", "abs", "max_pool2d", *CLAMPS, *OF_TWO, *EXTREMES)
def _ties(use: Use, x: Array) -> Passes:
    """Where entries are equal, or exactly at a kink, {op}{line} passes the gradient differently
    than you do.

    amax and amin share it equally, max and min along a dim and max_pool2d give it to one entry, and
    maximum and minimum halve it. relu and abs pass nothing at 0.
    """
    g, passed = use.g, use.passed
    if use.op_name in EXTREMES:
        return _ties_of_a_reduction(use, x)
    if use.op_name == "max_pool2d":  # where the windows do not overlap
        rows, columns = use.values["kernel_size"]
        blocks = (*x.shape[:-2], x.shape[-2] // rows, rows, x.shape[-1] // columns, columns)
        windows = x.reshape(blocks)
        largest = windows == windows.max((-3, -1), keepdims=True)
        counts = largest.sum((-3, -1), keepdims=True)
        wide = largest * g[..., :, None, :, None]
        return [d.reshape(x.shape) for d in (wide, wide / counts)]
    if use.op_name in OF_TWO:
        equal = np.equal(x, use.values["y"]) & np.ones(g.shape, bool)
        wide = passed if passed.shape == g.shape else np.asarray(use.wide())
        one_sided = np.where(equal, 0, wide)
        return [use.fit(one_sided), use.fit(one_sided + equal * g)]
    if use.op_name in CLAMPS:
        bounds = [use.values.get(b) for b in ("a", "b", "min_val", "max_val")]
        bend = np.any([x == b for b in bounds if b is not None], axis=0)
        return [np.where(bend, part, passed) for part in (0 * g, g / 2)]
    return [np.where(x == 0, part, passed) for part in (g, g / 2, -g)]


def _ties_of_a_reduction(use: Use, x: Array) -> Variants:
    """The gradient goes to all ties, or is shared by them, or goes to the first or last one."""
    axis, wide = use.values.get("axis"), np.asarray(use.widened())
    whole = axis is None or (isinstance(axis, tuple) and len(axis) == x.ndim)
    over = None if whole else axis
    best = (np.max if use.op_name in ("amax", "max") else np.min)(x, axis=over, keepdims=True)
    chosen = x == best
    yield wide * chosen
    yield wide * chosen / np.sum(chosen, axis=over, keepdims=True)
    if isinstance(over, tuple) and len(over) > 1:
        return
    row = over[0] if isinstance(over, tuple) else over
    if row is None:
        chosen, row = chosen.reshape(-1), 0
    for last in (False, True):
        at = np.argmax(np.flip(chosen, row) if last else chosen, row, keepdims=True)
        mask = np.zeros_like(chosen)
        np.put_along_axis(mask, chosen.shape[row] - 1 - at if last else at, True, row)
        yield wide * mask.reshape(x.shape)
