"""The table of mistakes: what students get wrong about gradients, one row each.

    @at_a_use("sign", "The sign ... is wrong.", hint="...")
    def sign(use):
        return -use.passed

says: at one use of a tensor (an edge of the tape, see uses.py) the opposite of what should
pass along it was passed. The function gives what a student who makes the mistake would
pass there, or None where the mistake cannot be made. diagnose.py tries every row at every
use, and reports a row only if exactly the student's numbers come out.

The order of the table is the order of the search: what names the operation comes before
what only names a factor, so that "the mask of relu is missing" wins over "the derivative of
relu is missing", which gives the same numbers.

In the messages {op} is the operation, {line} the line of code it stands on (" (In [3], line
2)", or nothing), {x} the tensor whose gradient was asked for, {n} a number the row gives.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.shapes import restore_axes
from minigrad.teach.uses import Use


class Mistake(NamedTuple):
    """A row of the table."""

    kind: str
    message: str
    hint: str
    passes: Callable[[Use], Any]


class Variant(NamedTuple):
    """What would pass along the edge, and the number that the message names."""

    array: Any
    n: str = ""


AT_A_USE: list[Mistake] = []


def at_a_use(kind: str, message: str, hint: str) -> Callable[[Any], Any]:
    """Enter a function into the table. It returns what passes, or yields several Variants."""

    def enter(passes: Callable[[Use], Any]) -> Callable[[Use], Any]:
        AT_A_USE.append(Mistake(kind, message, hint, passes))
        return passes

    return enter


def variants(row: Mistake, use: Use) -> Iterator[Variant]:
    """What the row's mistake would pass along this edge: none, one, or several possibilities."""
    given = row.passes(use)
    if given is None:
        return
    if isinstance(given, np.ndarray | np.generic):
        yield Variant(given)
        return
    for one in given:
        if one is not None:
            v = one if isinstance(one, Variant) else Variant(one)
            if v.array is not None:
                yield v


def _is(use: Use, *names: str) -> bool:
    return use.op is not None and use.op.name in names


# ------------------------------------------------------------------ paths


@at_a_use(
    "missing_path",
    "A path is missing: {x} is reached in several ways, and what comes back through {op}{line} was left out.",
    "A tensor that is used several times gets the sum of what comes back from each use.",
)
def missing_path(use: Use) -> Any:
    return np.zeros_like(use.passed) if use.fan_in > 1 else None


@at_a_use(
    "missing_path",
    "Only one path is there: the part of {x} that comes back through {op}{line}. The other uses were left out.",
    "A tensor that is used several times gets the sum of what comes back from each use.",
)
def only_this_path(use: Use) -> Any:
    if use.fan_in < 3:
        return None
    return 2 * use.passed - use.graph.gradients[use.parent]


@at_a_use(
    "double_counted",
    "The part that comes back through {op}{line} was counted twice.",
    "Each use of a tensor contributes once.",
)
def double_counted(use: Use) -> Any:
    return 2 * use.passed if use.fan_in > 1 else None


# ------------------------------------------------------------------ one operation's own traps


@at_a_use(
    "softmax_diagonal_only",
    "Of the derivative of {op}{line} only the diagonal was taken: every score moves every probability.",
    "The full rule is  z * (g - sum(g * z)).",
)
def softmax_diagonal_only(use: Use) -> Any:
    z = use.values.get("z")
    if z is None or not _is(use, "softmax", "log_softmax"):
        return None
    return use.g * z * (1 - z) if _is(use, "softmax") else use.g * (1 - np.exp(z))


@at_a_use(
    "missing_path",
    "{op}{line} reads the scores twice: the part through the right class is missing, only softmax is there.",
    "The gradient is softmax minus one-hot.",
)
def onehot_missing(use: Use) -> Any:
    if not _is(use, "cross_entropy") or "x" not in use.values:
        return None
    x, axis, weights = (use.values[name] for name in ("x", "axis", "weights"))
    p = np.exp(x - np.max(x, axis, keepdims=True))
    g = np.broadcast_to(use.g * weights, np.delete(x.shape, axis))
    return p / p.sum(axis, keepdims=True) * np.expand_dims(g, axis)


@at_a_use(
    "missing_path",
    "{op}{line} subtracts a mean and divides by a deviation, which depend on the input too: their paths are missing.",
    "What comes back through the mean and through the variance belongs to the gradient as well.",
)
def statistics_taken_as_constants(use: Use) -> Any:
    x, axis, eps = use.values.get("x"), use.values.get("axis"), use.values.get("eps")
    if not _is(use, "standardize") or x is None or axis is None:
        return None
    return use.g / np.sqrt(np.var(x, axis=axis, keepdims=True) + eps)


def _mask(use: Use) -> Any:
    """(the gradient as it stands where the operation lets it pass, where that is); or None."""
    g, values = use.g, use.values
    if _is(use, "relu", "clamp", "clamp_min", "clamp_max", "hardtanh", "threshold"):
        through = use.rule(np.ones_like(g))
        return None if through is None else (use.fit(g), through != 0)
    if _is(use, "where"):
        c = values.get("c")
        return None if c is None else (g, c if use.name == "x" else np.logical_not(c))
    if _is(use, "maximum", "minimum"):
        through = use.rule(np.ones_like(g))
        return None if through is None or through.shape != g.shape else (g, through != 0)
    if _is(use, "masked_fill", "masked_select"):
        through = use.rule(np.ones_like(g))
        return None if through is None or through.shape != g.shape else (g, through != 0)
    if _is(use, "amax", "amin", "max", "min"):
        wide = _widened(use, g)
        through = use.rule(np.ones_like(g))
        return None if wide is None or through is None else (wide, through != 0)
    if _is(use, "mul"):  # dropout: times 0, or 1 / (1 - p)
        keep = values.get("y" if use.name == "x" else "x")
        if keep is not None and np.ndim(keep) and keep.shape == g.shape == use.passed.shape:
            kinds = np.unique(keep)
            if len(kinds) == 2 and kinds[0] == 0 and kinds[1] > 0:
                return g, keep != 0
    return None


def _widened(use: Use, g: Any) -> Any:
    """g, given back to every entry that a reduction has read."""
    axis, keepdims = use.values.get("axis"), bool(use.values.get("keepdims", False))
    try:
        return np.broadcast_to(restore_axes(g, use.passed.shape, axis, keepdims), use.passed.shape)
    except (ValueError, IndexError, RuntimeError):
        return None


@at_a_use(
    "mask_missing",
    "The mask of {op}{line} is missing: the gradient passes only where the input did.",
    "Multiply by 1 where the input was let through, and by 0 elsewhere.",
)
def mask_missing(use: Use) -> Any:
    found = _mask(use)
    return None if found is None else found[0]


@at_a_use(
    "mask_inverted",
    "The mask of {op}{line} is the wrong way round: the gradient passes just where the input did not.",
    "The gradient takes the same way as the value did.",
)
def mask_inverted(use: Use) -> Any:
    found = _mask(use)
    return None if found is None else found[0] * np.logical_not(found[1])


@at_a_use(
    "mask_missing",
    "The mask of the dropout{line} is there, but not its scale: what is kept was divided by 1 - p.",
    "The gradient is scaled as the value was.",
)
def dropout_scale_missing(use: Use) -> Any:
    found = _mask(use) if _is(use, "mul") else None
    return None if found is None else found[0] * found[1]


@at_a_use(
    "ties",
    "Where several entries are equal, {op}{line} shares the gradient among them as you did not.",
    "amax and amin share it equally, max and min along a dim give it to the first, maximum and minimum halve it.",
)
def ties(use: Use) -> Any:
    if not _is(use, "amax", "amin", "max", "min", "maximum", "minimum"):
        return
    x, g = use.values.get("x"), use.g
    if _is(use, "maximum", "minimum"):
        y = use.values.get("y")
        if x is None or y is None:
            return
        equal = (np.asarray(x) == y) * np.ones_like(g)
        yield use.fit(np.where(equal, g, use.rule(g)) if use.passed.shape == g.shape else g)
        if use.passed.shape == g.shape:
            yield np.where(equal, 0, use.rule(g))
        return
    wide = _widened(use, g)
    if x is None or wide is None:
        return
    axis = use.values.get("axis")
    best = np.max if _is(use, "amax", "max") else np.min
    chosen = x == best(x, axis=axis, keepdims=True)
    counts = np.sum(chosen, axis=axis, keepdims=True)
    yield wide * chosen
    yield wide * chosen / counts
    first = np.zeros_like(chosen)
    if axis is None or (isinstance(axis, tuple) and len(axis) == x.ndim):
        first.reshape(-1)[np.argmax(chosen)] = True
    else:
        a = axis[0] if isinstance(axis, tuple) else axis
        np.put_along_axis(first, np.expand_dims(np.argmax(chosen, a), a), True, a)
    yield wide * first


@at_a_use(
    "index_not_scattered",
    "{op}{line} reads some entries more than once, and their parts were not added up: the last overwrote the others.",
    "Add with np.add.at, or sum over all places where the same index stands.",
)
def index_not_scattered(use: Use) -> Any:
    d, index = np.zeros_like(use.passed), use.values.get("index")
    if index is None or not _is(use, "getitem", "gather", "index_select", "embedding", "take"):
        return None
    axis: Any = use.values.get("axis")
    try:
        if _is(use, "getitem"):
            d[index] = use.g
        elif _is(use, "gather"):
            np.put_along_axis(d, index, use.g, axis)
        elif _is(use, "index_select"):
            d[(slice(None),) * axis + (index,)] = use.g
        elif _is(use, "take"):
            d.reshape(-1)[index] = use.g
        else:
            d[index] = use.g
    except (ValueError, IndexError, TypeError):
        return None
    return d


@at_a_use(
    "mean_for_sum",
    "{op}{line} divides by {n}, the number of entries, and your gradient does not.",
    "The derivative of a mean is 1/n for each entry.",
)
def mean_taken_for_sum(use: Use) -> Any:
    n = _averaged(use)
    return [Variant(use.passed * n, str(n))] if n > 1 else None


@at_a_use(
    "mean_for_sum",
    "{op}{line} is a sum, and your gradient is that of a mean: divided by {n}.",
    "The derivative of a sum is 1 for each entry.",
)
def sum_taken_for_mean(use: Use) -> Any:
    if not _is(use, "sum") or not use.g.size:
        return None
    n = use.passed.size // use.g.size
    return [Variant(use.passed / n, str(n))] if n > 1 else None


def _averaged(use: Use) -> int:
    """How many entries the operation averages; 0 if it does not."""
    if _is(use, "mean") and use.g.size:
        return int(use.passed.size // use.g.size)
    if _is(use, "mse_loss") and use.values.get("mean", True):
        return int(use.passed.size)
    if _is(use, "cross_entropy", "nll_loss") and use.values.get("reduced"):
        weights = use.values.get("weights")
        n = 1 / float(np.max(weights)) if weights is not None and np.size(weights) else 0
        return round(n) if abs(n - round(n)) < 1e-4 * max(n, 1) else 0
    return 0


@at_a_use(
    "reduction_axis",
    "{op}{line} works along axis {n}, and your gradient is that of another axis.",
    "What was summed along an axis is repeated along the same axis on the way back.",
)
def reduction_axis(use: Use) -> Any:
    axis = use.values.get("axis")
    if use.passed.ndim < 2 or not _is(
        use, "sum", "mean", "amax", "amin", "softmax", "log_softmax", "logsumexp", "cumsum", "prod"
    ):
        return
    right = axis if isinstance(axis, int) else axis[0] if axis and len(axis) == 1 else None
    if right is None:
        return
    for other in range(use.passed.ndim):
        if other != right % use.passed.ndim:
            changed = other if isinstance(axis, int) else (other,)
            yield Variant(use.rule(use.g, axis=changed), str(right))


@at_a_use(
    "reduction_axis",
    "The sum that undoes the broadcast in {op}{line} was taken along another axis.",
    "Sum along the axis along which the value was repeated.",
)
def broadcast_axis(use: Use) -> Any:
    """Only between axes of one length can the two be mistaken for each other."""
    g, shape = use.g, use.passed.shape
    if use.op is None or use.op.kind != "elementwise" or g.ndim != 2 or g.shape == shape:
        return
    unsummed = _unsummed(use)
    if unsummed is None or unsummed.shape[0] != unsummed.shape[1]:
        return
    for axis in (0, 1):
        total = unsummed.sum(axis)
        if total.size == math.prod(shape):
            yield total.reshape(shape)


def _unsummed(use: Use) -> Any:
    """What the rule gives before it is summed to the parent's shape."""
    if use.op is None or use.name not in use.op.rules:
        return None
    rule = use.op.rules[use.name]
    if any(r not in use.values for r in rule.reads):
        return None
    d = np.asarray(rule.formula(use.g, *(use.values[r] for r in rule.reads)))
    return d if d.shape == use.g.shape else np.broadcast_to(d, use.g.shape)


# ------------------------------------------------------------------ where the derivative is taken


@at_a_use(
    "stale_value",
    "{op}{line} writes in place, and your gradient uses the value after the write where the rule needs the one before.",
    "Write down the value before it is overwritten; the tape keeps a copy of it.",
)
def stale_value(use: Use) -> Any:
    if not use.node.wrote or "z" not in use.values or use.op is None:
        return None
    first = use.op.operands[0]
    return use.rule(use.g, **{first: use.values["z"]}) if first in use.reads() else None


@at_a_use(
    "wrong_argument",
    "The derivative of {op}{line} was taken at the wrong place: its {n}.",
    "Look up whether the rule is written in terms of the input x or of the result z.",
)
def wrong_argument(use: Use) -> Any:
    reads, values = use.reads(), use.values
    if use.op is None or not use.op.operands or use.op.kind not in ("elementwise", "general"):
        return
    x = use.name
    if "z" in reads and x not in reads and x in values:
        if np.shape(values[x]) == np.shape(values["z"]):
            yield Variant(
                use.rule(use.g, z=values[x]), f"rule wants the result, and was given the input {x}"
            )
    if x in reads and {"z", x} <= set(values) and np.shape(values["z"]) == np.shape(values[x]):
        yield Variant(
            use.rule(use.g, **{x: values["z"]}),
            f"rule wants the input {x}, and was given the result",
        )
    if _is(use, "sqrt") and values.get("x") is not None:
        yield Variant(use.g / (2 * values["x"]), "rule wants the result, and was given the input x")


@at_a_use(
    "matmul_order",
    "The factors of the product {op}{line} are in the wrong order on the way back.",
    "For z = x @ y:  dx = g @ y.T  and  dy = x.T @ g.",
)
def matmul_order(use: Use) -> Any:
    return [_product(b, a, use) for a, b in _factors(use)]


@at_a_use(
    "transposed",
    "A factor of the product {op}{line} is transposed where it should not be, or the other way round.",
    "For z = x @ y:  dx = g @ y.T  and  dy = x.T @ g. The shapes tell, unless they are square.",
)
def transposed_factor(use: Use) -> Any:
    for a, b in _factors(use):
        yield _product(a.T, b, use)
        yield _product(a, b.T, use)
        yield _product(a.T, b.T, use)
        right = _product(a, b, use)
        yield None if right is None else right.T


def _factors(use: Use) -> list[tuple[Any, Any]]:
    """The two matrices whose product is what should pass; none, if it is no product of two."""
    if not _is(use, "matmul", "mm", "addmm", "mv") or use.g.ndim != 2:
        return []
    x, y = use.values.get("x"), use.values.get("y")
    if use.name == "x" and y is not None and np.ndim(y) == 2:
        return [(use.g, y.T)]
    if use.name == "y" and x is not None and np.ndim(x) == 2:
        return [(x.T, use.g)]
    return []


def _product(a: Any, b: Any, use: Use) -> Any:
    if a.shape[1] != b.shape[0] or (a.shape[0], b.shape[1]) != use.passed.shape:
        return None
    return a @ b


# ------------------------------------------------------------------ factors


@at_a_use(
    "sign",
    "The sign of what comes back through {op}{line} is wrong.",
    "Check the minus signs of this derivative.",
)
def sign(use: Use) -> Any:
    return -use.passed


@at_a_use(
    "scale",
    "What comes back through {op}{line} is {n} times what it should be.",
    "Look for a factor: the exponent of a power, a 2 of a square, a number of entries.",
)
def scale(use: Use) -> Any:
    sizes = {n for n in (*use.passed.shape, *use.g.shape, use.passed.size, use.g.size) if n > 2}
    yield Variant(2 * use.passed, "2")
    yield Variant(use.passed / 2, "1/2")
    if _is(use, "pow"):
        y = use.values.get("y")
        if y is not None and np.ndim(y) == 0 and float(y) not in (0.0, 1.0, 2.0, 0.5):
            yield Variant(use.passed / float(y), f"1/{float(y):g}")
            yield Variant(use.passed * float(y), f"{float(y):g}")
    for n in sorted(sizes):
        yield Variant(use.passed * n, str(n))
        yield Variant(use.passed / n, f"1/{n}")


# ------------------------------------------------------------------ the chain rule itself


@at_a_use(
    "swapped_operands",
    "The operands of {op}{line} are exchanged: this is the rule for the other one.",
    "Write the rule of each operand down beside its name.",
)
def swapped_operands(use: Use) -> Any:
    if use.op is None or len(use.op.operands) != 2 or use.op.kind != "elementwise":
        return
    first, second = use.op.operands
    other = second if use.name == first else first
    yield use.rule(use.g, other)
    values = use.values
    if first in values and second in values:
        yield use.rule(use.g, **{first: values[second], second: values[first]})


@at_a_use(
    "forgot_inner",
    "The chain rule stops one step early: the derivative of the innermost {op}{line} is missing.",
    "Multiply by the derivative of the inner function as well.",
)
def forgot_inner(use: Use) -> Any:
    return _unchanged(use) if not use.outermost and use.parent is use.graph.target else None


@at_a_use(
    "upstream_ignored",
    "The derivative of {op}{line} is there, but not multiplied by the gradient that comes from above.",
    "Each rule is multiplied by g, the gradient of what comes after.",
)
def upstream_ignored(use: Use) -> Any:
    if np.all(use.g == 1):
        return None
    return use.rule(np.ones_like(use.g))


@at_a_use(
    "upstream_only",
    "What comes from above {op}{line} is passed on as it is: the operation's own derivative is missing.",
    "Multiply g by the derivative of the operation.",
)
def upstream_only(use: Use) -> Any:
    return _unchanged(use)


def _unchanged(use: Use) -> Any:
    """g as it came, if it has the shape for it: once, also if the tensor is both operands (x * x)."""
    twins = [u for u in use.graph.uses if u.node is use.node and u.parent is use.parent]
    if use is not twins[0]:
        return None
    if len(twins) > 1 and use.g.shape == use.passed.shape:
        return use.g - sum(u.passed for u in twins[1:])
    if _is(use, "sum", "reshape", "expand", "permute", "t", "transpose", "getitem"):
        return None  # no number changes here
    if use.g.shape == use.passed.shape:
        return use.g
    return use.fit(use.g) if use.op is not None and use.op.kind == "elementwise" else None
