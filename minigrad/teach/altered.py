"""The right gradient of a different function: one operation is left out, or has other settings.

    layer norm without its eps, a variance over n - 1, attention without the mask

Here the student's backward pass may be right, but it belongs to a different forward pass than the
one on the tape. So we rerun the program from the altered operation, and then run backward with the
values that it would have computed:

    left out     z = x; g is passed on unchanged
    set          another correction or axis; a sum instead of a mean
    put off      eps is added after the square root instead of under it

Read uses.py first.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.teach.answer import Answer, Diagnosis
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import constant_factor, message_and_hint
from minigrad.teach.mistakes_of_ops import MASKED
from minigrad.teach.uses import AnyNode, Graph, Use, names_of, plan_of_node, recomputed


class Altered(NamedTuple):
    """A node with a different result.

    use       an edge of the node; no gradient is passed along the others
    z         the result that the node has instead
    changed   other values that its rule reads; None if g is passed on unchanged
    times     a factor for g
    later     a later node, what is added to its result, and the part of that which its rule does not see
    """

    use: Use
    z: Array
    changed: dict[str, Any] | None = None
    times: float = 1.0
    later: tuple[AnyNode, Array, Array] | None = None

    def passes(self, g: Array) -> Array | None:
        """The gradient that passes along the edge."""
        return g if self.changed is None else self.use.rule(g * self.times, **self.changed)


def altered(a: Answer, until: float) -> Iterator[Diagnosis]:
    """The gradients of programs with one operation altered."""
    if a.few or a.mine.shape != a.right.shape:
        return
    for use in a.graph.uses[::-1]:  # also uses that do not lead to the target: their values matter
        if use.op is None or use.part or use.wrote or use is not use.twins[0]:
            continue
        for search in (_left_out, _set_otherwise, _put_off):
            for kind, one, n in search(use):
                if time.thread_time() > until:
                    return
                candidate = _gradient(a.graph, one)
                if candidate is not None and a.gives(candidate):
                    missing = search is _left_out and kind != "upstream_only"
                    also = ("upstream_only",) if missing else ()
                    yield a.found(*message_and_hint(search), kind=kind, use=use, n=n, also=also)
                    return


Alterations = Iterator[tuple[str, Altered, str]]


def _left_out(use: Use) -> Alterations:
    """{op}{line} was left out: this is the gradient of the program without it.

    Differentiate the function as it was computed, with all its steps.
    """
    x = use.values.get(use.name)
    if x is None or np.shape(x) != use.g.shape or use.passed.shape != use.g.shape:
        return
    kind = "upstream_only"
    if use.op_name in ("mul", "div") and constant_factor(use):
        kind = "scale"
    elif use.op_name in MASKED.split() and (use.op_name != "mul" or use.is_dropout):
        kind = "mask_missing"
    elif use.op is not None and len(use.op.operands) > 1:
        kind = "missing_path" if use.beside in use.origins else "wrong_argument"
    yield kind, Altered(use, x), ""


def _set_otherwise(use: Use) -> Alterations:
    """{op}{line} {n}: this is the gradient of the program with that instead.

    Differentiate the function as it was computed, with its axis and its number of entries.
    """
    op, x, values = use.op, use.values.get(use.name), use.values
    if op is None or x is None or any(s not in values for s in op.settings):
        return
    settings = {s: values[s] for s in op.settings}
    if "correction" in settings:
        m = 1 - settings["correction"]
        n, changed = f"was taken with correction={m}", {"correction": m}
        z = use.applied(**changed)
        yield "scale", Altered(use, z, changed), n
        yield "scale", Altered(use, z, {}), n  # affects only the value
    if (axis := use.one_axis) is not None:
        for k in range(np.ndim(x)):
            if k != axis % np.ndim(x):
                changed = {"axis": k if isinstance(settings["axis"], int) else (k,)}
                z = use.applied(**changed)
                n = f"was taken along axis {k}"
                yield "reduction_axis", Altered(use, z, changed | {"z": z}), n
    if use.op_name in ("mean", "sum") and (entries := use.gathered) > 2 and "z" in values:
        n = f"is a {use.op_name} over {entries} entries, and was not divided by the same number"
        many = entries if use.op_name == "mean" else 1 / entries
        for kind, times in (("mean_for_sum", many), ("scale", entries / (entries - 1))):
            yield kind, Altered(use, values["z"] * times, {}, times), n
            yield kind, Altered(use, values["z"] * times, {}), n


def _put_off(use: Use) -> Alterations:
    """The value that {op}{line} adds was added after {n}, not before it.

    Differentiate the function as it was computed: sqrt(v + eps) is not sqrt(v) + eps.
    """
    x, z = use.values.get(use.name), use.values.get("z")
    onward = [u for u in use.graph.uses if u.parent is use.node]
    if use.op_name not in ("add", "sub") or use.beside in use.origins or len(onward) != 1:
        return
    one = onward[0]
    if x is not None and z is not None and one.elementwise and one.op_name not in ("add", "sub"):
        if np.shape(x) == np.shape(z):
            for unseen in (z - x, np.zeros_like(x)):
                yield (
                    "wrong_argument",
                    Altered(use, x, later=(one.node, z - x, unseen)),
                    one.op_name,
                )


# ------------------------------------------------------------------ the program, run again


def _gradient(graph: Graph, one: Altered) -> Array | None:
    """The target's gradient in the altered program; None if it cannot be computed."""
    with np.errstate(all="ignore"):
        try:
            changed = _forward(graph, one)
            return _backward(graph, one, changed)
        except Exception:  # the other values do not fit together, or are not known
            return None


def _forward(graph: Graph, one: Altered) -> dict[AnyNode, Array]:
    """node -> its result in the altered program, for the nodes whose result differs."""
    changed: dict[AnyNode, Array] = {one.use.node: one.z}
    for node in reversed(graph.nodes):
        if node in changed or not getattr(node, "edges", ()):
            continue
        plan = plan_of_node(node)
        new = {
            n: changed[p] for n, p in zip(names_of(plan), node.edges, strict=True) if p in changed
        }
        if not new:
            continue
        shape = np.shape(graph.gradients[node])
        z = recomputed(plan.op, {**graph.values(node), "shape": shape, **new})
        if one.later is not None and node is one.later[0]:
            z = z + one.later[1]
        changed[node] = z
    return changed


def _backward(graph: Graph, one: Altered, changed: dict[AnyNode, Array]) -> Array | None:
    gradients: dict[AnyNode, Any] = {graph.root: graph.seed}
    for use in reversed(graph.paths):  # the latest first
        g = gradients.get(use.node)
        if g is None:
            continue
        new = {n: changed[p] for n, p in use.origins.items() if p in changed}
        if use.node in changed:
            new["z"] = changed[use.node]
        if one.later is not None and use.node is one.later[0]:
            new["z"] = new["z"] - one.later[2]
        if use.node is one.use.node:
            passed = one.passes(g) if use is one.use else np.zeros_like(use.passed)
        elif new:
            passed = use.rule(g, **new)
        else:
            passed = use.at(g).passed
        if passed is None:
            return None
        gradients[use.parent] = gradients.get(use.parent, 0) + passed
    return gradients.get(graph.target)
