"""The table of mistakes: what students get wrong about gradients, one function each.

    @mistake("sign")
    def _sign(use):
        ""\"The gradient through {op}{line} has the wrong sign.

        Check the minus signs of this derivative.
        ""\"
        return -use.passed

says: at one use of a tensor (an edge of the tape, see uses.py) by any operation, the student
passed the negative of what should pass along the edge. The function returns what a student who
makes the mistake would pass there, or None where the mistake cannot be made. Students read its
docstring: what the mistake was, and what to do about it. diagnose.py tries every mistake at
every use, and reports one only if it gives exactly the student's numbers.

KINDS lists every kind, in search order. A kind that describes the operation comes before one that
only names a factor, so that "the mask of relu is missing" wins over "the derivative of relu is
missing", which gives the same numbers.

In the messages, {op} is the operation, {line} its line of code (" (in the line z = x * y)", or
nothing), {x} the tensor whose gradient was requested, and {n} the words of a Variant.

This file has the mistakes that can be made at any operation. Those of particular operations are in
mistakes_of_ops.py (values, masks, ties), mistakes_of_losses.py (losses, variance, norm), and
mistakes_of_arrays.py (indices, sums and axes, products of matrices, einsum, convolution). Formulas
for several operations are in mistakes_of_formulas.py.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.uses import MISFITS, Use, constant_factor

# kind -> what was done, to follow "The same numbers come out if ..." and in the list of kinds
KINDS = {
    "shape": "the numbers are right, but the shape is wrong",
    "not_accumulated": "only one backward pass is counted, but .grad holds the sum of several",
    "accumulated_twice": ".grad was not cleared, so it holds the sum of several backward passes",
    "exchanged": "the gradients of two tensors are swapped",
    "missing_path": "one of several uses of a tensor is forgotten",
    "double_counted": "one use of a tensor is counted twice",
    "paths_multiplied": "the gradients of several paths are multiplied instead of added",
    "softmax_diagonal_only": "only the diagonal of the Jacobian of softmax is used",
    "mask_missing": "the mask (of relu, max, dropout, where, detach, ...) is missing",
    "mask_inverted": "the mask is inverted",
    "ties": "entries that are equal share the gradient in a different way",
    "index_not_scattered": "the gradients of an entry read repeatedly overwrite each other instead of adding up",
    "mean_for_sum": "a mean is used instead of a sum, or a sum instead of a mean",
    "broadcast_not_summed": "the gradient is not summed over the axes of a broadcast",
    "reduction_axis": "a reduction is differentiated along the wrong axis",
    "stale_value": "a value from before an in-place write is used instead of the one after it, or the reverse",
    "wrong_argument": "a derivative is evaluated at the wrong value: at the input instead of the output, for example",
    "matmul_order": "the factors of a matrix product are in the wrong order",
    "permuted": "the numbers are right, but in another order",
    "transposed": "the result, or a factor of a matrix product, is transposed",
    "sign": "a sign is wrong",
    "forgot_inner": "the chain rule stops one step early, before the inner function",
    "scale": "a factor is wrong: 2, 1/2, n or 1/n",
    "swapped_operands": "the operands of an operation are swapped",
    "upstream_ignored": "the local derivative is not multiplied by the incoming gradient",
    "upstream_only": "the incoming gradient is passed on without the local derivative",
    "upstream_twice": "the local derivative is multiplied by the incoming gradient twice",
    "other_variable": "it is the gradient of another tensor",
    "extra_term": "there is an extra term that the function does not have, such as a regularizer's",
    "tangent_for_gradient": "J @ v (forward mode) is computed instead of v @ J (reverse mode)",
    "finite_difference_noise": "the numbers have only a few correct digits, like finite differences",
}
ORDER = {kind: k for k, kind in enumerate(KINDS)}  # the search order


class Variant(NamedTuple):
    """What would pass along the edge, and the words for {n} in the message.

    times   the factor, if it is what should pass, times a number
    """

    array: Array | None
    n: str = ""
    times: float | None = None


# What a mistake gives: an array, several arrays or Variants, or nothing where it cannot be made.
Variants = Iterator[Array | Variant | None]
Passes = Array | Sequence[Array | Variant | None] | Variants | None
F = TypeVar("F", bound=Callable[..., Passes])


class Mistake(NamedTuple):
    """A row of the table.

    kind      its kind: a name in KINDS
    message   the message to the student
    hint      what to do about it
    ops       the names of the operations at which it can be made; empty: at any
    passes    what would pass along the edge: passes(use, *values), an array or several Variants
    needs     the names of the values that are passed to `passes`; where one of them is not known,
              we do not try the mistake
    """

    kind: str
    message: str
    hint: str
    ops: tuple[str, ...]
    passes: Callable[..., Passes]
    needs: tuple[str, ...] = ()


TABLE: list[Mistake] = []  # the rows; the modules of mistakes fill it


def mistake(kind: str, *ops: str) -> Callable[[F], F]:
    """Add a function to the table: a mistake of this kind, at these operations, or at any if none are given.

    The values that it needs are its parameters after `use`: see Use.needed.
    """

    def add(passes: F) -> F:
        needs = tuple(inspect.signature(passes).parameters)[1:]
        message, hint = message_and_hint(passes)
        TABLE.append(Mistake(kind, message, hint, tuple(" ".join(ops).split()), passes, needs))
        return passes

    return add


def message_and_hint(function: Callable[..., object]) -> tuple[str, str]:
    """The two paragraphs of a docstring, each as one line; under python -OO, the function's name in words."""
    text = inspect.getdoc(function) or function.__name__.strip("_").replace("_", " ")
    message, _, hint = text.partition("\n\n")
    return message.replace("\n", " "), hint.replace("\n", " ")


def variants(row: Mistake, use: Use) -> Iterator[Variant]:
    """The gradients that the row's mistake could pass along this edge: none, one, or several."""
    if row.ops and use.op_name not in row.ops:
        return
    try:
        values = [use.needed(name) for name in row.needs]
        given = None if any(v is None for v in values) else row.passes(use, *values)
        for value in [given] if isinstance(given, np.ndarray | np.generic) else given or ():
            v = value if isinstance(value, Variant) else Variant(value)
            if v.array is not None and np.shape(v.array) == use.passed.shape:
                yield v
    except MISFITS:
        return


# ------------------------------------------------------------------ paths


@mistake("missing_path")
def _missing_use(use: Use) -> Passes:
    """A path is missing: {x} is reached in several ways, and the gradient through {op}{line} was
    left out.

    The gradient of a tensor that is used several times is the sum over its uses.
    """
    return np.zeros_like(use.passed) if use.fan_in > 1 and len(use.twins) == 1 else None


@mistake("missing_path")
def _one_of_both_operands(use: Use) -> Passes:
    """{op}{line} reads the same tensor as both operands, as in x * x, but your gradient counts only
    one of them.

    The gradient of a tensor that is used several times is the sum over its uses: 2 * x for x * x.
    """
    return np.zeros_like(use.passed) if len(use.twins) > 1 else None


@mistake("missing_path")
def _missing_operand(use: Use) -> Passes:
    """A path is missing: several operands of {op}{line} depend on {x}, and the gradient through
    one of them, {n}, was left out.

    An operation passes a gradient to each of its operands. Add up everything that arrives at {x}.
    """
    # Further up than the place where the paths meet: a term of a sum, a factor of a product.
    paths = use.graph.paths
    leading = {u.parent for u in paths if u.node is use.node and not u.part}
    if len(leading) < 2 or use.fan_in > 1:
        return None
    return [Variant(np.zeros_like(use.passed), use.graph.called(use.parent))]


@mistake("double_counted")
def _counted_twice(use: Use) -> Passes:
    """The gradient through {op}{line} was counted twice: it is 2 times what it should be.

    Each use of a tensor contributes once. Look also for a factor, such as the 1/2 of  lam / 2.
    """
    return 2 * use.passed if use.fan_in > 1 else None


@mistake("paths_multiplied")
def _paths_multiplied(use: Use) -> Passes:
    """The gradient through {op}{line} was multiplied by those of the other paths.

    Multiply the derivatives along a path, and add the gradients of different paths.
    """
    uses = [u for u in use.graph.paths if u.parent is use.parent and not u.part]
    parts = [u.passed for u in uses]
    if use.part or use is not uses[0] or len({u.node for u in uses}) < max(2, use.fan_in):
        return None
    if any(np.all(np.abs(part) == 1) for part in parts):
        return None  # as if this path were missing
    product, seed = np.prod(parts, axis=0), use.graph.seed
    if not np.any(product):
        return None  # as if all of them were missing
    # g * a * b, and g * a times g * b
    once = [product / seed ** (len(parts) - 1)] if np.shape(seed) == product.shape else []
    return [total - sum(parts[1:]) for total in (product, *once)]


@mistake("paths_multiplied", "add sub")
def _mask_of_the_other_operand(use: Use) -> Passes:
    """The mask in one operand of {op}{line} was applied to the gradient of the other operand as well.

    The gradient of a sum is passed on to each operand as it is: in  x + relu(y),  the mask of relu
    is for y alone.
    """
    inner = use.graph.edges_of.get(use.origins.get(use.beside, use.node), ())
    share = inner[0].share() if len(inner) == 1 and inner[0].of_one else None
    if share is None or share.shape != use.passed.shape or set(np.unique(share)) != {0, 1}:
        return None
    return use.passed * share


# ------------------------------------------------------------------ factors


@mistake("sign")
def _sign(use: Use) -> Passes:
    """The gradient through {op}{line} has the wrong sign.

    Check the minus signs of this derivative.
    """
    return -use.passed


@mistake("scale")
def _scale(use: Use) -> Variants:
    """The gradient through {op}{line} is {n} times what it should be.

    Look for a factor: an exponent, the 2 from a square, a number of entries, the logarithm of a
    base.
    """
    y = use.values.get("y") if use.op_name == "pow" else None
    factors = {2.0: "2", 0.5: "1/2"}
    own = [constant_factor(use) or logarithm_of_a_base(use)]
    if y is not None and np.ndim(y) == 0:
        own.append(float(y))
    own += [np.sqrt(2 * np.pi)] if use.op_name == "erf" else []  # of the normal density
    kept = float(np.max(use.values[use.beside])) if use.is_dropout else 0.0  # 1 / (1 - p)
    own += [kept, kept - 1] if kept else []  # (1 / p) / (1 / (1 - p)) is  1 / (kept - 1)
    own += [-c for c in own if c < 0]  # without its size, and with its sign
    for c in own:  # forgotten, or there twice; and with the 2 of a square
        factors |= {f: fraction_of(f) for k in (c, 2 * c) if k for f in (1 / k, k)}
        factors |= {1 / c: f"1 / {c:g}"} if 0 < c < 1 and 1 / c % 1 and round(c, 4) == c else {}
        factors |= {1 / c**2: fraction_of(1 / c**2)} if c else {}
        if c and round(1 / c**2, 6) in use.graph.numbers:  # 1 / sqrt(d): another length
            roots = (1 / c**2 / n for n in use.graph.numbers)
            factors |= {f: fraction_of(f) for f in np.sqrt(list(roots)).tolist()}
    if y is not None and np.ndim(y) and use.name == "x":
        yield Variant(use.passed / y, "1/y")
    graph, c = use.graph, own[0]
    others = graph.factors - {1.0, abs(c)} if c else set()
    for other in others if len(others) < 4 else ():  # gamma for gamma * lambda
        factors |= {f: fraction_of(f) for f in (other / c, 1 / other, other)}
    if not one_number(graph.gradients.get(graph.target, 0)):  # else one may match by chance
        factors |= {f: fraction_of(f) for n in graph.numbers for f in (n, 1 / n)}
    for name, v in graph.scalars.items() if c else ():  # 0.5 * lam, without lam
        factors = {1 / v: f"1/{name}"} | ({v: name} if v != c else {}) | factors
    twins = use.twins  # of x * x, both together
    for f, words in factors.items() if use is twins[0] else ():
        if abs(f) != 1 and len(twins) > 1:
            yield Variant(f * use.passed + (f - 1) * twins[1].passed, words)
        elif abs(f) != 1:
            yield Variant(f * use.passed, words, f)


def logarithm_of_a_base(use: Use) -> float:
    """1 / log(2) of log2, and log(2) of 2**x; 0 at any other operation."""
    if use.op_name == "pow" and use.name == "y" and np.size(use.values.get("x", ())) == 1:
        return float(np.log(np.reshape(use.values["x"], ())))
    known = {
        "log2": 1 / np.log(2),
        "log10": 1 / np.log(10),
        "exp2": np.log(2),
        "erf": 2 / np.sqrt(np.pi),
    }
    return known.get(use.op_name, 0.0)


def one_number(a: Any) -> bool:
    """Are all entries equal, except for signs and zeros? Then many mistakes give the same numbers."""
    sizes = np.abs(np.asarray(a)[np.asarray(a) != 0])
    return bool(sizes.size == 0 or np.all(sizes == sizes[0]))


def fraction_of(factor: float) -> str:
    """A factor as text: 1/3, or four digits."""
    n = round(1 / factor) if factor else 0
    return f"1/{n}" if abs(n) > 1 and abs(n * factor - 1) < 1e-6 else f"{factor:.4g}"


# ------------------------------------------------------------------ the chain rule itself


@mistake("forgot_inner")
def _forgot_inner(use: Use) -> Passes:
    """The chain rule stops one step early: the derivative of the inner function, {op}{line}, is
    missing.

    Multiply by the derivative of the inner function as well.
    """
    first = use.parent in use.graph.inputs
    return _upstream_only(use) if first and inside_a_curve(use) else None


@mistake("forgot_inner")
def _inner_argument(use: Use) -> Passes:
    """{op}{line} was left out in the derivative of the function around it: that derivative was taken
    at the input of {op}, and {op} was not differentiated.

    For f(h(x)) it is  f'(h(x)) * h'(x).
    """
    above = [u for u in use.graph.uses if u.parent is use.node]
    x = use.graph.known.get(use.parent)
    if len(above) != 1 or not above[0].of_one or above[0].op_name in ("sqrt", use.op_name):
        return None  # of sin(sin(x)), this would be the derivative of the inner one
    if use.op_name == "neg" or not (use.of_one or constant_factor(use)):
        return None
    if x is None or x.size < 3 or x.shape != use.passed.shape:
        return None
    return above[0].rule(above[0].g, x=x, z=above[0].applied(x=x))


def inside_a_curve(use: Use) -> bool:
    """Is the operation's result the argument of a nonlinear function, as in sin(2 * x)?

    Only then do we speak of an inner function; in w * sin(x), nobody would.
    """
    above, seen = [use.node], {use.node}
    while above:
        node = above.pop()
        for u in use.graph.paths:
            if u.parent is node:
                if {"z", u.name} & set(u.reads()) or (u.op is not None and len(u.twins) > 1):
                    return True
                if u.node not in seen:
                    seen.add(u.node)
                    above.append(u.node)
    return False


PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot", "addmm", "baddbmm")


@mistake("swapped_operands")
def _swapped_operands(use: Use) -> Variants:
    """The operands of {op}{line} are swapped: this is the other operand's rule.

    Write down the rule of each operand next to its name.
    """
    op, values = use.op, use.values
    if op is None or not {"x", "y"} <= set(op.operands) or use.name not in ("x", "y"):
        return
    two = use.elementwise and len(op.operands) == 2
    if not two and op.name not in PRODUCTS:
        return
    yield use.rule(use.g, use.beside)
    if "x" in values and "y" in values:
        yield use.rule(use.g, x=values["y"], y=values["x"])
        if not two:  # x @ y.T, with equal shapes
            yield use.rule(use.g, **{use.beside: np.swapaxes(values[use.name], -1, -2)})


@mistake("upstream_ignored")
def _upstream_ignored(use: Use, share: Array) -> Passes:
    """The derivative of {op}{line} was not multiplied by the incoming gradient.

    Multiply each rule by g, the gradient of the operation's result.
    """
    return None if np.all(use.g == 1) else share


@mistake("upstream_twice")
def _upstream_twice(use: Use, share: Array) -> Passes:
    """The gradient was multiplied by the incoming gradient twice at {op}{line}.

    Multiply each rule by g once, and pass the product on.
    """
    if any(np.all(a == a**3) for a in (share, use.g)):
        return None  # all 0, 1 or -1: no difference to see; or g * g alone, which may be anything
    return use.rule(use.g**2)


@mistake("wrong_argument")
def _divided(use: Use, share: Array) -> Passes:
    """The incoming gradient was divided by the derivative of {op}{line}, not multiplied by it.

    The derivative of log(x) is 1 / x, not x, for example.
    """
    return use.g / share if use.of_one and np.all(share) and not one_number(share) else None


UNCHANGED = ("sum", "reshape", "view", "expand", "permute", "t", "transpose", "getitem")


@mistake("upstream_only")
def _upstream_only(use: Use) -> Passes:
    """The incoming gradient of {op}{line} was passed on unchanged: the operation's own derivative
    is missing.

    Multiply g by the derivative of the operation.
    """
    # g unchanged, if its shape fits: once, even if the tensor is both operands (x * x).
    twins = use.twins
    if use is not twins[0] or use.op is None or use.op_name in UNCHANGED:
        return None  # the operations in UNCHANGED do not change any number
    others = sum(u.passed for u in twins[1:])
    if use.g.shape == use.passed.shape:
        return use.g - others
    d = use.fit(use.g) if use.elementwise else None
    if use.op_name in ("linalg_vector_norm", "logsumexp", "prod", "std", "var", "det"):
        d = use.widened()
    if d is None and use.op_name in PRODUCTS and use.beside in use.values:
        d = use.rule(use.g, **{use.beside: np.ones_like(use.values[use.beside])})
    return None if d is None else d - others
