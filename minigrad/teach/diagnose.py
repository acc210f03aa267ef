"""Which mistake gives exactly these numbers?

For each mistake of the table, and each operation, we compute the gradient that a student would
get who makes this mistake there. A mistake is reported only if it gives the student's array, up
to rounding, on the actual data. If several mistakes do, we report the first one in the table, and
`also` names the others. If no single mistake does, we try the same mistake at every operation of
a kind, then in only one term of a sum, then another tensor's value in place of each value that a
derivative reads, then the gradient of another program, and finally, on small tapes, two mistakes
at once. If nothing gives the numbers, nothing is reported.

    diagnose(z, x, mine)            a Diagnosis, or None
    diagnose_function(f, mine, x)   the same for a function, confirmed on other data

Read uses.py for how the effect of a change is found, mistakes.py for the table, whole.py for
mistakes that belong to no operation, noise.py for finite differences, pairs.py for how the
table is searched, altered.py for other programs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.modes import unobserved
from minigrad.core.plan import Plan
from minigrad.core.tensor import Tensor, wrap
from minigrad.teach import own_functions, whole  # noqa: F401  the first adds to a table
from minigrad.teach.altered import altered, at_other_values
from minigrad.teach.answer import Answer, Diagnosis, Request, in_all
from minigrad.teach.at_a_node import AT_A_NODE, REARRANGED
from minigrad.teach.difference import Array, difference, real_array
from minigrad.teach.mistakes import KINDS, ORDER, one_number
from minigrad.teach.mistakes_of_formulas import OF_FORMULAS, slips
from minigrad.teach.noise import noise
from minigrad.teach.pairs import (
    TOO_MANY,
    Tried,
    another_value,
    at_the_uses,
    before_the_softmax,
    everywhere,
    in_one_term,
    off_by_one,
    two_at_once,
)
from minigrad.teach.uses import MISFITS, constant_factor, op_name, plan_of_node

__all__ = ["Diagnosis", "diagnose", "diagnose_function"]

# At an operation with several operands, or at several operations.
AT_SEVERAL = AT_A_NODE + OF_FORMULAS
SECONDS = 1.5  # of CPU time, after which we stop searching; waiting does not count
LEAST = 0.25  # where several answers share their time


def diagnose(
    z: Tensor,
    x: Tensor,
    mine: object,
    *,
    gradient: object = None,
    name: str = "the tensor",
    namespace: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Diagnosis | None:
    """Find the mistake that turns the gradient of z with respect to x into `mine`; None if none is known.

    z          the result, whose graph has not been freed
    mine       the gradient that was derived by hand
    gradient   dL/dz; ones if left out
    name       what the student calls x
    namespace  the student's variables, to recognize tensors

    Raises TypeError if z or x is not a tensor of minigrad.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> z = (x * x).sin()
    >>> diagnose(z, x, (x.detach() * x.detach()).cos(), name="x").kind
    'forgot_inner'
    """
    others = [type(given).__name__ for given in (z, x) if not isinstance(given, Tensor)]
    if others:
        raise TypeError(
            f"diagnose: z and x must be tensors of minigrad, but got {others[0]}. To fix it for PyTorch's "
            "tensors, record the program, and write  minigrad.compare(z, x=mine)."
        )
    request = Request(z, x, gradient, name, namespace or {}, rtol, atol)
    return likeliest([explanations(request, mine)])[0]


def deadline() -> float:
    """The CPU time at which a search for the mistakes in several answers should stop."""
    return time.thread_time() + 2 * SECONDS


class Candidates(NamedTuple):
    """All the mistakes that give the numbers of an answer."""

    found: list[Diagnosis]
    answer: Answer

    def key(self, d: Diagnosis) -> tuple[str, Any]:
        """The kind and the operation of a mistake, or its message without the answer's name."""
        return d.kind, d.node or d.message.replace(f" {self.answer.name} ", " ")


def explanations(request: Request, mine: object) -> Candidates | None:
    """The mistakes that turn the requested gradient into `mine`; None if it cannot be searched."""
    if request.z.node is None or request.x.node is None:
        return None
    try:
        with unobserved(), np.errstate(all="ignore"):
            answer = Answer(request, mine)
            found = _search(answer)
            tolerances = request.rtol, request.atol
            if not found and not difference(answer.mine, answer.right, *tolerances).ok:
                found = list(noise(answer))  # right to a few digits only
            return Candidates(found, answer)
    except MISFITS:
        return None  # the graph was freed or overwritten, or there are no numbers: the report must not fail


def likeliest(several: Sequence[Candidates | Diagnosis | None]) -> list[Diagnosis | None]:
    """For each answer the likeliest mistake; if one mistake explains all of them, that one.

    A Diagnosis is kept.
    """
    wrong = [c for c in several if isinstance(c, Candidates) and c.found]
    own = [c.key(likelier(*c)) for c in wrong]
    shared = set.intersection(*({c.key(d) for d in c.found} for c in wrong)) if wrong else set()
    key = next((key for key in own if key in shared), None)
    return [
        best(*c, [d for d in c.found if c.key(d) == key]) if isinstance(c, Candidates) else c
        for c in several
    ]


def diagnose_function(
    f: Callable[..., Tensor],
    mine: Callable[..., Any],
    *inputs: object,
    wrt: int = 0,
    name: str = "the tensor",
) -> Diagnosis | None:
    """Diagnose a function that computes a gradient, at `inputs` and at nearby inputs.

    f        computes the result from Tensors
    mine     computes, from arrays, the gradient of f's result (summed) with respect to input `wrt`
    inputs   arrays
    returns  a mistake that gives the results of `mine` on all three data sets: a coincidence
             would fail on the second one

    >>> import numpy as np
    >>> diagnose_function(lambda x: x * x * x, lambda x: 2 * x * x, np.array([1.0, 2.0])).kind
    'missing_path'
    """
    rng = np.random.default_rng(0)

    def at(k: int) -> Diagnosis | None:
        arrays = [_beside(real_array(a), rng) if k else real_array(a).copy() for a in inputs]
        tensors = [wrap(a.copy()) for a in arrays]
        tensors[wrt].requires_grad_()
        return diagnose(f(*tensors), tensors[wrt], mine(*arrays), name=name)

    return in_all(map(at, range(3)))


def _beside(a: Array, rng: np.random.Generator) -> Array:
    """Nearby numbers; for an array of indices, a copy."""
    if a.dtype.kind != "f":
        return a.copy()
    return (a * (1 + rng.uniform(0.05, 0.15, a.shape))).astype(a.dtype)


def _search(a: Answer) -> list[Diagnosis]:
    """All mistakes of the simplest sort that gives the student's numbers."""
    if a.same(a.right) or not np.all(np.isfinite(a.right)):
        return []
    now = time.thread_time()
    until = now + min(SECONDS, max(a.until - now, LEAST))
    tried: list[Tried] = []
    if len(a.graph.paths) <= TOO_MANY:
        a.until = until
    else:  # the rest is for mistakes in all steps
        a.until = (now + until) / 2
    if a.mine.shape != a.right.shape:
        searches: Sequence[Iterator[Diagnosis]] = [whole.shapes(a)]
    else:
        searches = [
            whole.recognized(a, whole.KEPT),
            chain(at_the_uses(a, tried, a.until), whole.recognized(a, AT_SEVERAL)),
            everywhere(a, until),
        ]
    found: list[Diagnosis] = []
    for search in searches:
        found += search
        if found:
            break
    if {d.kind for d in found} == {"scale"} and not any(a.same(n * a.right) for n in (2, 0.5)):
        found += everywhere(a, until, {"mean_for_sum"})  # a number of entries, at several places
    found += whole.recognized(a, whole.IN_ALL)
    if not found and time.thread_time() < until:
        found += in_one_term(a, until, AT_SEVERAL)
    if not found and a.mine.shape != a.right.shape and a.mine.size > 1:
        with suppress(ValueError):  # the right axes, not repeated: what else is wrong?
            a.mine = np.broadcast_to(a.mine, a.right.shape).copy()
            return _search(a)
    if not found:
        found += before_the_softmax(a, tried)
    if not found and time.thread_time() < until:
        found += off_by_one(a, until)
        found += chain(*(whole.recognized(a, t) for t in (whole.SUBSTITUTED, REARRANGED)))
    for search_programs in (another_value, altered, at_other_values):
        if not found:
            found += search_programs(a, until)
    if not found:
        found += everywhere(a, until, one_way=True)
    if not found:  # a value that is nearly the same, such as one without its eps, is found by now
        found += noise(a)
    if not found:
        found += two_at_once(a, tried, slips(a), min(until, time.thread_time() + SECONDS / 2))
    if not found:
        found += whole.recognized(a, whole.STOPPED)
    return found


# Kinds that only name a factor or a missing step. Many mistakes fit them, but have a better name.
GENERAL = {"sign", "scale", "upstream_only", "upstream_ignored", "upstream_twice", "transposed",
           "shape", "accumulated_twice", "tangent_for_gradient"}  # fmt: skip
# Operations that have a sign, or a factor, of their own.
MINUS = {"sub", "neg", "div", "reciprocal", "cos", "rsqrt", "sigmoid", "tanh"}
FACTOR = {"pow", "square", "mse_loss", "linalg_vector_norm", "sqrt"}
OWN = FACTOR | {"mul", "div", "log2", "log10", "var", "std", "cross_entropy"}
# Operations that only move or add numbers: they have no sign to get wrong.
MOVES = {"t", "transpose", "permute", "reshape", "getitem", "gather", "stack", "cat", "amax",
         "amin", "sum"}  # fmt: skip


class Likelier(NamedTuple):
    """An exception to the order of the table, if several mistakes give the same numbers.

    kind   this kind is more likely
    than   than each of these
    fits   only if fits(a, first, d); `first` is the diagnosis so far, and d the one of this kind
    """

    kind: str
    than: set[str]
    fits: Callable[[Answer, Diagnosis, Diagnosis], bool]


def _of_one_number(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    return one_number(a.mine)


def _has_a_minus(a: Answer, d: Diagnosis) -> bool:
    """Does the operation, or its derivative, have a minus sign?"""
    if op_name(d.node) == "pow" and d.node is not None:
        return bool(np.all(a.graph.values(d.node).get("y", 0) < 0))
    return op_name(d.node) in MINUS or any(
        u.node is d.node and constant_factor(u) < 0 for u in a.graph.uses
    )


def _of_the_power(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    if op_name(first.node) != "sum" or d.node is None:
        return False
    name, y = op_name(d.node), a.graph.values(d.node).get("y")
    exponent = 2 if name == "square" else y if name == "pow" else None
    summed = next((u.gathered for u in a.graph.uses if u.node is first.node), 0)
    return exponent is not None and np.size(exponent) == 1 and bool(np.all(exponent == summed))


def _of_a_half(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    here = [u for u in a.graph.uses if u.node is d.node]
    roots = (np.asarray(u.values["y"]) for u in here if "y" in u.values and u.op_name == "pow")
    halves = (abs(constant_factor(u)) for u in here)
    return any(c in (0.5, 2.0) for c in halves) or any(np.all(np.abs(y) == 0.5) for y in roots)


def _ops(a: Answer) -> set[str]:
    return {u.op_name for u in a.graph.paths}


def _reads(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    """Does the operation of `first` read the result of that of `d`?"""
    return any(u.node is first.node and u.parent is d.node for u in a.graph.uses)


def _by_a_number(a: Answer, first: Diagnosis) -> bool:
    return any(u.node is first.node and constant_factor(u) for u in a.graph.uses)


# Tried in this order.
LIKELIER = [
    # J @ 1 instead of 1 @ J: more likely forward mode than a missing transpose
    Likelier("tangent_for_gradient", {"transposed"},
             lambda a, first, d: a.plain and a.x.ndim == a.z.ndim == 1),
    # more likely a forgotten inner derivative than an outer one at another value (x**2)
    Likelier("forgot_inner", {"wrong_argument"}, lambda a, first, d: True),
    # if this is the gradient of another leaf, that is more likely than a rule with something missing;
    # the gradient of an intermediate tensor means that a step is missing
    Likelier("other_variable", {"upstream_only", "upstream_ignored"},
             lambda a, first, d: d.node is None),
    Likelier("other_variable", {"wrong_argument"}, lambda a, first, d: first.extent == "once"),
    # as for forgot_inner
    Likelier("upstream_only", {"wrong_argument"},
             lambda a, first, d: op_name(first.node) == "pow" and _reads(a, first, d)),
    # 1 / x is a product with 1: nobody swaps its operands
    Likelier("upstream_only", {"swapped_operands"}, lambda a, first, d: _by_a_number(a, first)),
    # log_softmax passes on g and a second part: without that part, its derivative is missing
    Likelier("upstream_only", {"missing_path"},
             lambda a, first, d: op_name(first.node) == "log_softmax" and d.node is first.node),
    # for a single number (2 * 2 is 2**2), the simple mistake is more likely than a coincidence
    Likelier("scale", {"wrong_argument", "stale_value"}, _of_one_number),
    Likelier("sign", {"wrong_argument"}, _of_one_number),
    # softmax passes 1 - mask as -mask: rather the sign
    Likelier("sign", {"mask_inverted"},
             lambda a, first, d: op_name(first.node) == "mul" and "softmax" in _ops(a) and a.same(-a.right)),
    # more likely a forgotten 1/2 of x**2 / 2 than a path that is counted twice
    Likelier("scale", {"double_counted"}, _of_a_half),
    # more likely that everything is halved than a missing path at every operation of a kind
    Likelier("scale", {"missing_path"},
             lambda a, first, d: d.node is None and first.extent == "everywhere"),
    # the last copy may be the only one through which a gradient arrives, by chance
    Likelier("broadcast_not_summed", {"missing_path"},
             lambda a, first, d: first.node is not None and d.node is first.node),
    # the weights of logsumexp add up to 1, so a sum over them is 1 in any case
    Likelier("upstream_only", {"reduction_axis"},
             lambda a, first, d: op_name(d.node) == "logsumexp"),
    # x**2 summed over two entries: the missing 2 is more likely the exponent
    Likelier("scale", {"mean_for_sum"}, _of_the_power),
    # if a sign or a factor fits several places: an operation that has one
    Likelier("sign", {"sign"}, lambda a, first, d: bool(first.node) and _has_a_minus(a, d)),
    Likelier("sign", {"sign"},
             lambda a, first, d: op_name(first.node) in ("sigmoid", "tanh") and op_name(d.node) in ("sub", "neg")),
    Likelier("sign", {"sign"}, lambda a, first, d: op_name(first.node) in MOVES and d.node is None),
    Likelier("scale", {"scale"}, lambda a, first, d: bool(first.node) and op_name(d.node) in FACTOR),
    Likelier("scale", {"scale"},
             lambda a, first, d: op_name(first.node) not in FACTOR and _of_a_half(a, first, d)),
    # if the operation has no factor of its own: a factor of the whole gradient
    Likelier("scale", {"scale"}, lambda a, first, d: d.node is None and op_name(first.node) not in OWN),
]  # fmt: skip


def likelier(found: list[Diagnosis], a: Answer) -> Diagnosis:
    """The likeliest of these mistakes, at least one: the first in the order of the table, or an exception."""
    sure = {d.kind for d in found if not d.doubtful}
    found = [d for d in sorted(found, key=_rank) if not d.doubtful or d.kind not in sure]
    first = found[0]
    for kind, than, fits in LIKELIER:
        if first.kind in than:
            first = next((d for d in found if d.kind == kind and fits(a, first, d)), first)
    return first


def _rank(d: Diagnosis) -> int:
    return ORDER.get(d.kind, len(ORDER))


def best(found: list[Diagnosis], a: Answer, shared: Sequence[Diagnosis] = ()) -> Diagnosis | None:
    """The likeliest mistake, with the names of the others; shared: those that explain other answers as well."""
    if not found:
        return None
    found, first = sorted(found, key=_rank), shared[0] if shared else likelier(found, a)
    kinds = [kind for d in found for kind in (d.kind, *d.also)]
    also = tuple(k for k in dict.fromkeys(kinds) if k != first.kind)
    message = first.message
    paired = first.also if first.extent == "two" else ()
    named = KINDS.keys() - GENERAL - set(paired)  # without those of forward mode
    others = [KINDS[kind] for kind in also if kind in named]
    if others:
        message += f" (The same numbers come out if {', or if '.join(others)}.)"
    if "upstream_only" in kinds and "forgot_inner" not in kinds and _a_function(found):
        also = (*also, "forgot_inner")  # another name for it, if the function is further out
    return replace(first, message=message, also=also)


def _a_function(found: list[Diagnosis]) -> bool:
    """Is the missing derivative that of a function of one tensor, like tanh?"""
    nodes = [d.node for d in found if "upstream_only" in (d.kind, *d.also) and d.node is not None]
    plans = [plan_of_node(node) for node in nodes]
    return any(isinstance(plan, Plan) and plan.op.kind == "elementwise" for plan in plans)
