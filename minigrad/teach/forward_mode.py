"""Which mistake gives exactly this tangent? The table of mistakes, in forward mode.

The rows of the table say what a mistake passes back along an edge. Its effect in forward mode
follows from this: if J' is the wrong Jacobian,

    g @ (J' @ v)  =  (g @ J') @ v

So we make the inputs depend on one number, x = x0 + t * x_dot, and draw a random g. If z_dot is
J' @ v, then g @ z_dot is the gradient with respect to t with the same mistake, for any g. We try
two. Some mistakes are only made in forward mode: for these we need the tangents of all steps.

Read pairs.py and uses.py first.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.node import reachable
from minigrad.core.tensor import Tensor, wrap
from minigrad.teach.answer import Answer, Diagnosis, Request
from minigrad.teach.at_a_node import REARRANGED
from minigrad.teach.diagnose import AT_SEVERAL, SECONDS, best
from minigrad.teach.difference import Array, real_array
from minigrad.teach.pairs import at_the_uses, everywhere, off_by_one
from minigrad.teach.uses import MISFITS, AnyNode, Graph, Use, plan_of_node
from minigrad.teach.whole import SUBSTITUTED, recognized

ENTRIES = 400  # in all steps together; for larger programs, we do not compute the tangents


def diagnose_tangent(
    f: Callable[..., Any], inputs: Mapping[str, Any], dots: Mapping[str, Any], mine: object
) -> Diagnosis | None:
    """The mistake that turns the tangent of f at these inputs into `mine`; None if none is known.

    inputs, dots   the inputs of f by name, and their tangents by the same names
    """
    until = time.thread_time() + SECONDS
    try:
        with unobserved(), enable_grad(), np.errstate(all="ignore"):
            t = wrap(np.zeros(())).requires_grad_()
            names = {name: wrap(np.array(x)) + t * wrap(dots[name]) for name, x in inputs.items()}
            made_here = reachable([x.node for x in names.values() if x.node])
            z, mine = f(*names.values()), real_array(mine)
            if mine.shape != z.shape or z.node is None:
                return None
            found = []
            for seed in range(2):
                a = _in_reverse(z, t, mine, names, np.random.default_rng(seed).normal(size=z.shape))
                made = [d for d in _mistakes(a, until) if d.node not in made_here]
                found.append({(d.kind, d.node, d.message): d for d in made})
            d = best([d for key, d in found[0].items() if key in found[1]], a)
            if d is None:
                return None
            message = d.message.replace("gradient", "tangent")
            return replace(d, message=message, hint=HINT)
    except MISFITS:
        return None  # the verdict matters more than the name of the mistake


def _in_reverse(z: Tensor, t: Tensor, mine: Array, names: Mapping[str, Any], g: Array) -> Answer:
    """g @ z_dot, as a student's answer for the gradient with respect to t."""
    rounding = 1e-12 * float(np.sum(np.abs(g * mine))) + 1e-14
    request = Request(z, t, g, "the input", {**names, "z": z}, 1e-9, rounding)
    a = Answer(request, np.sum(g * mine))
    a.graph.inputs = {x.node for x in names.values() if x.node}
    a.few = False  # only one number here, but in total as many as z has entries
    return a


def _mistakes(a: Answer, until: float) -> Iterator[Diagnosis]:
    if a.same(a.right):
        return
    for search in (
        chain(at_the_uses(a, [], until), recognized(a, AT_SEVERAL), _on_tangents(a)),
        chain(everywhere(a, until), recognized(a, SUBSTITUTED), off_by_one(a, until)),
        recognized(a, REARRANGED),
    ):
        found = list(search)
        yield from found
        if found:
            return


def _on_tangents(a: Answer) -> Iterator[Diagnosis]:
    """Mistakes with the tangent of an operand: forgetting it, squaring it, applying the operation to it."""
    dots = _tangents(a.graph)
    for use in (u for u in a.graph.paths if not u.part and u is u.twins[0] and u.parent in dots):
        x_dot, z_dot, passed = dots[use.parent], dots[use.node], sum(u.passed for u in use.twins)
        moved = {"upstream_ignored": np.sum(passed * (1 - x_dot)),
                 "upstream_twice": np.sum(passed * (x_dot * x_dot - x_dot))}  # fmt: skip
        g = a.graph.gradients[use.node]
        if use.wrote and use.k == 0:
            moved["stale_value"] = np.sum(g * (x_dot - z_dot))
        with suppress(Exception):  # the operation cannot be applied to the tangents
            moved["applied_to_tangents"] = np.sum(g * (_applied(use, dots) - z_dot))
        with suppress(Exception):  # some value is not known
            stepped = {n: use.values[n] + dots[p] for n, p in use.origins.items()}
            moved["paths_multiplied"] = np.sum(
                g * (use.applied(**stepped) - use.values["z"] - z_dot)
            )
        with suppress(Exception):
            moved["other_variable"] = np.sum(passed * (use.values[use.name] - x_dot))
        with suppress(Exception):
            at_x_dot = {use.name: x_dot, "z": use.applied(**{use.name: x_dot})}
            d = use.rule(use.g, **at_x_dot) if use.of_one else None
            if d is not None:
                moved["wrong_argument"] = np.sum(d * x_dot - passed * x_dot)
                moved["upstream_only"] = np.sum(d - passed * x_dot)
        fits = (kind for kind, effect in moved.items() if a.gives(a.right + effect))
        for kind in islice(fits, 1):
            yield a.found(ON_TANGENTS[kind], "", kind=kind, use=use)


def _applied(use: Use, dots: Mapping[Any, Array]) -> Array:
    """The operation applied to the tangents of its operands."""
    return use.applied(**{n: dots[node] for n, node in use.origins.items() if node in dots})


def _tangents(graph: Graph) -> dict[AnyNode, Array]:
    """The tangent of each step that leads to the result; empty if the program is too large for that."""
    dots: dict[AnyNode, Array] = {graph.target: np.ones(())}
    if sum(np.size(g) for g in graph.gradients.values()) > ENTRIES:
        return {}
    for node in reversed(graph.nodes):
        parents = [k for k, p in enumerate(getattr(node, "edges", ())) if p in dots]
        if not parents:
            continue
        shape, rows = np.shape(graph.gradients[node]), []
        for basis_vector in np.eye(int(np.prod(shape))):  # the gradient of one entry: a row of J
            passed = plan_of_node(node).run(basis_vector.reshape(shape), node)
            rows.append(sum(np.sum(passed[k] * dots[node.edges[k]]) for k in parents))
        dots[node] = np.reshape(rows, shape)
    return dots


# The messages for mistakes with the tangents themselves.
ON_TANGENTS = {
    "upstream_ignored": "The derivative of {op}{line} is not multiplied by the tangent of its operand.",
    "upstream_twice": "The derivative of {op}{line} is multiplied by the tangent of its operand twice.",
    "stale_value": "{op}{line} writes in place, and the tangent is still the one before the write.",
    "paths_multiplied": "At {op}{line} the product of two tangents was kept: this is  f(x + x_dot) - f(x).",
    "other_variable": "The derivative of {op}{line} is multiplied by the operand itself, and not by its tangent.",
    "wrong_argument": "The derivative of {op}{line} was evaluated at the tangent of its operand, and not at its value.",
    "upstream_only": "The derivative of {op}{line} was evaluated at the tangent, and not multiplied by it.",
    "applied_to_tangents": "{op}{line} was applied to the tangents themselves, as if it were linear.",
}
HINT = (
    "Go through the steps in order: the tangent of each is a sum over its operands, of the local "
    "derivative times the operand's tangent."
)
