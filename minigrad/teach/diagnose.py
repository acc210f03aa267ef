"""Which mistake gives exactly these numbers?

A wrong gradient is compared with what would come out if one thing in the backward pass were
done as students often do it: one rule at one operation changed by one mistake of the table. A
diagnosis is given only if that reproduces the student's array within rounding, on the actual
data. Several mistakes may give the same numbers; the first in the table is reported, and
`also` names the others. Where no single mistake does, the same mistake at every operation of
a kind is tried, then one in a single term of a sum, the value of another tensor in place of each
that a derivative reads, the gradient of another program, and then, on small tapes, two mistakes
at once. If none gives the numbers, nothing is reported.

    diagnose(z, x, mine)            a Diagnosis, or None
    diagnose_function(f, mine, x)   the same for a function, confirmed on other data

Read uses.py for how the effect of a change is found, mistakes.py for the table, whole.py for
mistakes that belong to no operation, noise.py for finite differences, one_mistake.py and pairs.py for
where the table is tried, altered.py for other programs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.errors import AutogradError
from minigrad.core.modes import unobserved
from minigrad.core.tensor import Tensor, wrap
from minigrad.teach import whole
from minigrad.teach.altered import altered
from minigrad.teach.answer import Answer, Diagnosis
from minigrad.teach.at_a_node import AT_A_NODE, REARRANGED
from minigrad.teach.difference import Array, difference, real_array
from minigrad.teach.mistakes import KINDS, ORDER, constant_factor, one_number
from minigrad.teach.mistakes_of_formulas import OF_FORMULAS
from minigrad.teach.noise import noise
from minigrad.teach.one_mistake import Tried, at_the_uses
from minigrad.teach.pairs import (
    everywhere,
    in_one_term,
    off_by_one,
    two_at_once,
)
from minigrad.teach.uses import op_name, plan_of_node
from minigrad.teach.whole import repeated

__all__ = ["Diagnosis", "diagnose", "diagnose_function", "repeated"]

SECONDS = 0.5  # of computing: the search is given up after this long, on a busy machine too


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
    """Find the mistake that turns the gradient of z by x into `mine`; None if none is known.

    z          the result, whose graph has not been freed
    mine       the gradient that somebody derived by hand
    gradient   dL/dz; ones if left out
    name       what the student calls x
    namespace  the student's names, to recognize tensors by

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> z = (x * x).sin()
    >>> diagnose(z, x, (x.detach() * x.detach()).cos(), name="x").kind
    'forgot_inner'
    """
    if z.node is None or x.node is None:
        return None
    try:
        with unobserved(), np.errstate(all="ignore"):
            answer = Answer(z, x, mine, gradient, name, namespace or {}, rtol, atol)
            found = _search(answer)
            if not found and not difference(answer.mine, answer.right, rtol, atol).ok:
                found = list(noise(answer))  # right up to rounding, but not close
            return best(found, answer)
    except (AutogradError, TypeError, NotImplementedError):
        return None  # a graph that was freed or spoiled, or no numbers: nothing can be said
    except (ArithmeticError, LookupError, ValueError):
        return None  # arrays that do not go together as a row expects: the report is worth more


def diagnose_function(
    f: Callable[..., Tensor],
    mine: Callable[..., Any],
    *inputs: Any,
    wrt: int = 0,
    name: str = "the tensor",
) -> Diagnosis | None:
    """Diagnose a function that computes a gradient, at `inputs` and again beside them.

    f        computes the result from Tensors
    mine     computes the gradient of f's result, summed, by the input number `wrt`, from arrays
    inputs   arrays
    returns  a mistake that gives what `mine` returns on all of three data sets: a coincidence
             would not stand the second

    >>> import numpy as np
    >>> diagnose_function(lambda x: x * x * x, lambda x: 2 * x * x, np.array([1.0, 2.0])).kind
    'missing_path'
    """
    rng = np.random.default_rng(0)
    first, kinds = None, None
    for k in range(3):
        arrays = [real_array(a).copy() for a in inputs]
        if k:
            arrays = [_beside(a, rng) for a in arrays]
        tensors = [wrap(a.copy()) for a in arrays]
        tensors[wrt].requires_grad_()
        found = diagnose(f(*tensors), tensors[wrt], mine(*arrays), name=name)
        if found is None:
            return None
        first = first or found
        here = {found.kind, *found.also}
        kinds = here if kinds is None else kinds & here
    assert first is not None and kinds is not None
    return first if first.kind in kinds else None


def _beside(a: Array, rng: np.random.Generator) -> Array:
    """Other numbers near by; an array of indices stays as it is."""
    if a.dtype.kind != "f":
        return a
    return (a * (1 + rng.uniform(0.05, 0.15, a.shape))).astype(a.dtype)


def _search(a: Answer) -> list[Diagnosis]:
    """All the mistakes that give the student's numbers: of the simplest sort that does."""
    if a.same(a.right) or not np.all(np.isfinite(a.right)):
        return []
    until = time.thread_time() + SECONDS
    tried: list[Tried] = []
    if a.mine.shape != a.right.shape:
        searches: Sequence[Iterator[Diagnosis]] = [whole.shapes(a)]
    else:
        searches = [
            whole.recognized(a, whole.KEPT),
            chain(at_the_uses(a, tried, until), whole.recognized(a, [*AT_A_NODE, *OF_FORMULAS])),
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
    if not found:
        found += noise(a)
    if not found:
        found += in_one_term(a, until)
    if not found and time.thread_time() < until:
        found += chain(*(whole.recognized(a, t) for t in (whole.SUBSTITUTED, REARRANGED)))
    if not found:
        found += chain(altered(a, until), off_by_one(a, until))
    if not found:
        found += two_at_once(a, tried, min(until, time.thread_time() + SECONDS / 2))
    if not found:
        found += whole.recognized(a, whole.STOPPED)
    return found


# What names only a factor, or a step left out: true of many a mistake that has a better name.
GENERAL = {"sign", "scale", "upstream_only", "upstream_ignored", "upstream_twice", "transposed",
           "shape", "accumulated_twice", "tangent_for_gradient"}  # fmt: skip
# Operations that have a sign, or a factor, of their own.
MINUS = {"sub", "neg", "div", "reciprocal", "cos", "rsqrt", "sigmoid", "tanh"}
FACTOR = {"pow", "square", "mean", "sum", "mse_loss", "norm", "sqrt"}
OWN = FACTOR | {"mul", "div", "log2", "log10", "var", "std", "cross_entropy"}
# What moves numbers or adds them up has no sign of its own to mistake.
MOVES = {"t", "transpose", "permute", "reshape", "getitem", "gather", "stack", "cat", "amax",
         "amin", "sum"}  # fmt: skip


class Likelier(NamedTuple):
    """An exception from the order of the table, where several mistakes give the same numbers.

    kind   it is rather of this kind
    than   than of one of these
    fits   if fits(a, first, d): `first` is the diagnosis so far, and d the one of this kind
    """

    kind: str
    than: set[str]
    fits: Callable[[Answer, Diagnosis, Diagnosis], bool]


def _of_one_number(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    return one_number(a.mine)


def _has_a_minus(a: Answer, d: Diagnosis) -> bool:
    """Has the operation, or its derivative, a minus sign of its own?"""
    if op_name(d.node) == "pow" and d.node is not None:
        return bool(np.all(a.graph.values(d.node).get("y", 0) < 0))
    return op_name(d.node) in MINUS


def _of_the_power(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    if op_name(first.node) != "sum" or d.node is None:
        return False
    name, y = op_name(d.node), a.graph.values(d.node).get("y")
    exponent = 2 if name == "square" else y if name == "pow" else None
    summed = next((u.gathered for u in a.graph.uses if u.node is first.node), 0)
    return exponent is not None and np.size(exponent) == 1 and bool(np.all(exponent == summed))


def _of_a_half(a: Answer, first: Diagnosis, d: Diagnosis) -> bool:
    return any(u.node is d.node and abs(constant_factor(u)) in (0.5, 2.0) for u in a.graph.uses)


# Tried from the first to the last.
LIKELIER = [
    # J @ 1 in place of 1 @ J is rather the other mode than a matrix that was not transposed
    Likelier("tangent_for_gradient", {"transposed"},
             lambda a, first, d: a.plain and a.x.ndim == a.z.ndim == 1),
    # the inner derivative is forgotten rather than the outer one taken at another place (x**2)
    Likelier("forgot_inner", {"wrong_argument"}, lambda a, first, d: True),
    # a rule that only leaves something out is rather the gradient of another leaf, if it is one;
    # that of an intermediate tensor is a step left out
    Likelier("other_variable", {"upstream_only", "upstream_ignored"},
             lambda a, first, d: d.node is None),
    # log_softmax passes on g and a second part: without that its derivative is left out
    Likelier("upstream_only", {"missing_path"},
             lambda a, first, d: op_name(first.node) == "log_softmax" and d.node is first.node),
    # one number only (2 * 2 is 2**2): what is simple, before what happens to give it
    Likelier("scale", {"wrong_argument", "stale_value"}, _of_one_number),
    Likelier("sign", {"wrong_argument"}, _of_one_number),
    # the 1/2 of x**2 / 2 is forgotten rather than its path counted twice
    Likelier("scale", {"double_counted"}, _of_a_half),
    # all is halved rather than a path left out at every operation of a kind
    Likelier("scale", {"missing_path"},
             lambda a, first, d: d.node is None and first.extent == "everywhere"),
    # x**2 summed over two entries: the 2 that is missing is rather that of the square
    Likelier("scale", {"mean_for_sum"}, _of_the_power),
    # of several places for a sign or a factor, the operation that has one
    Likelier("sign", {"sign"}, lambda a, first, d: bool(first.node) and _has_a_minus(a, d)),
    Likelier("sign", {"sign"},
             lambda a, first, d: op_name(first.node) in ("sigmoid", "tanh") and op_name(d.node) in ("sub", "neg")),
    Likelier("sign", {"sign"}, lambda a, first, d: op_name(first.node) in MOVES and d.node is None),
    Likelier("scale", {"scale"}, lambda a, first, d: bool(first.node) and op_name(d.node) in FACTOR),
    # one at an operation that has none, if all is that many times what it should be
    Likelier("scale", {"scale"}, lambda a, first, d: d.node is None and op_name(first.node) not in OWN),
]  # fmt: skip


def best(found: list[Diagnosis], a: Answer) -> Diagnosis | None:
    """The first in the order of the table, or what is likelier."""
    if not found:
        return None
    found = sorted(found, key=lambda d: ORDER.get(d.kind, len(ORDER)))
    first = found[0]
    for kind, than, fits in LIKELIER:
        if first.kind in than:
            first = next((d for d in found if d.kind == kind and fits(a, first, d)), first)
    kinds = [kind for d in found for kind in (d.kind, *d.also)]
    also = tuple(k for k in dict.fromkeys(kinds) if k != first.kind)
    message = first.message
    paired = first.also if first.extent == "two" else ()
    others = [KINDS[kind] for kind in also if kind not in GENERAL and kind not in paired]
    if others:
        message += f" (The same numbers come out if {', or if '.join(others)}.)"
    if "upstream_only" in kinds and "forgot_inner" not in kinds and _a_function(found):
        also = (*also, "forgot_inner")  # another name for it, if the function stands further out
    return replace(first, message=message, also=also)


def _a_function(found: list[Diagnosis]) -> bool:
    """Is what was left out at a node the derivative of a function of one tensor, like tanh?"""
    nodes = [d.node for d in found if "upstream_only" in (d.kind, *d.also) and d.node is not None]
    ops = [getattr(plan_of_node(node), "op", None) for node in nodes]
    return any(op is not None and op.kind == "elementwise" for op in ops)
