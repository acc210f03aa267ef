"""The right gradient of a different function: one operation is left out, or has other settings.

    layer norm without its eps, a variance over n - 1, attention without the mask

Here the student's backward pass may be right, but it belongs to a different forward pass than the
one on the tape. So we rerun the program from the altered operation, and then run backward with the
values that it would have computed:

    left out     z = x; g is passed on unchanged; at one operation, or at every one of its kind
    set          another correction or axis; a sum instead of a mean
    put off      eps is added after the square root instead of under it; a mask follows the softmax
    at others    another value is read, such as the state after each step of a loop

Read uses.py first.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice, permutations, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minigrad.tape.names import count_of
from minigrad.teach.answer import Answer, Diagnosis, in_time
from minigrad.teach.difference import Array
from minigrad.teach.mistakes import message_and_hint
from minigrad.teach.mistakes_of_ops import MASKED
from minigrad.teach.pairs import walked
from minigrad.teach.recurrences import Recurrence, corresponding, recurrences
from minigrad.teach.uses import (
    MISFITS,
    AnyNode,
    Graph,
    Use,
    constant_factor,
    names_of,
    plan_of_node,
    recomputed,
)
from minigrad.teach.whole import NEAREST


class Altered(NamedTuple):
    """A node with a different result.

    use       an edge of the node
    z         the result to use instead; None if the node is left out, so that its operand's value passes
    changed   other values that its rule reads; None if g is passed on unchanged
    times     a factor for g
    beside    the same for the other edges of the node; None if what is said here is true of them, too
    later     a later node that is altered as well
    """

    use: Use
    z: Array | None = None
    changed: dict[str, Any] | None = None
    times: Array | float = 1.0
    beside: float | None = 0.0
    later: "Altered | None" = None

    def passes(self, use: Use, g: Array) -> Array | None:
        """The gradient that passes along this edge of the node."""
        if self.beside is not None and use.k != self.use.k:
            return use.at(np.asarray(g * self.beside)).passed
        return g if self.changed is None else use.rule(g * self.times, **self.changed)


def altered(a: Answer, until: float) -> Iterator[Diagnosis]:
    """The gradients of programs with one operation altered, then with every one of its kind left out."""
    if a.few or a.mine.shape != a.right.shape:
        return
    # Also uses that do not lead to the target: their values matter.
    uses = (u for u in a.graph.uses[::-1] if u.op is not None and not u.part and not u.wrote)
    alone = [use for use in uses if use is use.twins[0]]
    for use, search in in_time(product(alone, SEARCHES), until):
        with suppress(*MISFITS):  # a value is not known
            for kind, change, n in in_time(search(use), until):
                candidate = _gradient(a.graph, [change])
                if candidate is not None and a.gives(candidate):
                    missing = search is _left_out and kind != "upstream_only"
                    also = ("upstream_only",) if missing else ()
                    yield a.found(*message_and_hint(search), kind=kind, use=use, n=n, also=also)
                    return
    yield from _left_out_everywhere(a, alone, until)


Alterations = Iterator[tuple[str, Altered, str]]


def _left_out(use: Use) -> Alterations:
    """{op}{line} was left out{n}: this is the gradient of the program without it.

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
        kind = kind if _scores_kept(use) is None else "mask_missing"
    yield kind, Altered(use), ""
    yield kind, Altered(use, x, {}), " where its result is read, though not in the derivatives"


def _scores_kept(use: Use) -> Array | None:
    """Where a sum with -inf, before a softmax, keeps the scores; None if it keeps all, or is something else."""
    above = [u for u in use.graph.uses if u.parent is use.node and u.op_name == "softmax"]
    kept = [u.values["z"] != 0 for u in above if use.op_name == "add" and "z" in u.values]
    return kept[0] if kept and not kept[0].all() else None


def _left_out_everywhere(a: Answer, uses: list[Use], until: float) -> Iterator[Diagnosis]:
    """The activation of every layer, or the temperature of both softmaxes, was left out."""
    alike: dict[Any, list[tuple[str, Altered, str]]] = {}
    for use in (u for u in uses if u.beside not in u.origins):
        constant = np.unique(np.round(use.values.get(use.beside, ()), 6))
        for found in islice(_left_out(use), 1):
            alike.setdefault(use.op_name, []).append(found)
            if constant.size == 1:  # such as the 1 in  (a + 1) / (b + 1)
                alike.setdefault((use.op_name, constant.item()), []).append(found)
    for group in in_time((g for g in alike.values() if len(g) > 1), until):
        candidate = _gradient(a.graph, [change for _, change, _ in group])
        if candidate is not None and a.gives(candidate):
            kind, first, n = group[0]
            d = a.found(*message_and_hint(_left_out), kind=kind, use=first.use, n=n)
            more = count_of(len(group) - 1, "more operation")
            message = f"{d.message} The same holds for {more} of this kind."
            yield replace(d, message=message, extent="everywhere")


def _operand_left_out(use: Use) -> Alterations:
    """One operand of {op}{line} was left out{n}: this is the gradient of the program without it.

    Differentiate the function as it was computed, with all its terms and factors.
    """
    other = use.values.get(use.beside)
    if use.beside not in use.origins or other is None or np.shape(other) != use.g.shape:
        return
    if use.op_name in ("add", "sub"):
        z = -other if use.op_name == "sub" and use.name == "x" else other
        yield "missing_path", Altered(use, z, {}, 0.0, 1.0), ""
        if use.node not in use.graph.names:  # else it is named with its value: see at_other_values
            words = " of its result, though not of the derivatives"
            yield "missing_path", Altered(use, z, {}, 1.0, 1.0), words


def _sign_otherwise(use: Use) -> Alterations:
    """This is the gradient of the program with {n} in {op}{line}.

    Differentiate the function as it was computed: swapping the operands of a difference changes its sign.
    """
    x, z, other = (use.values.get(name) for name in (use.name, "z", use.beside))
    if use.op_name not in ("add", "sub") or x is None or z is None or other is None:
        return
    minus = use.op_name == "sub"
    if np.shape(x) == use.g.shape:
        words = "a plus for the minus" if minus else "a minus for the plus"
        if use.name == "y" or not minus:
            rest = z + x if minus else z - x
            yield "sign", Altered(use, rest + x if minus else rest - x, {}, -1.0, 1.0), words
        if use.beside not in use.origins:
            yield "sign", Altered(use, 2 * x - z if use.name == "x" else -x - other, {}), words
    if minus:
        yield "sign", Altered(use, -z, {}, -1.0, -1.0), "the operands of the difference swapped"


OTHER_END = "has picked the smallest entries in place of the largest, or the reverse"


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
    if use.op_name in ("max", "min"):
        at = (np.argmin if use.op_name == "max" else np.argmax)(x, settings["axis"], keepdims=True)
        yield "wrong_argument", Altered(use, use.applied(at=at), {"at": at}), OTHER_END
    elif use.op_name in ("amax", "amin", "max_pool2d"):
        z = use.applied(x=-x)
        yield "wrong_argument", Altered(use, -z, {"x": -x, "z": z}), OTHER_END
    if (axis := use.one_axis) is not None:
        for k in range(np.ndim(x)):
            if k != axis % np.ndim(x):
                changed = {"axis": k if isinstance(settings["axis"], int) else (k,)}
                z = use.applied(**changed)
                n = f"was taken along axis {k}"
                yield "reduction_axis", Altered(use, z, changed | {"z": z}), n
        total = use.applied(
            x=np.reshape(x, (1, -1)), axis=1 if isinstance(settings["axis"], int) else (1,)
        )
        z = np.broadcast_to(np.resize(total, use.g.shape), use.g.shape)
        yield "reduction_axis", Altered(use, z, {"z": z}), "was taken over all axes"
    if use.op_name in ("mean", "sum") and (entries := use.gathered) > 2 and "z" in values:
        n = f"is a {use.op_name} over {entries} entries, and was not divided by the same number"
        many = entries if use.op_name == "mean" else 1 / entries
        for kind, times in (("mean_for_sum", many), ("scale", entries / (entries - 1))):
            yield kind, Altered(use, values["z"] * times, {}, times), n
            yield kind, Altered(use, values["z"] * times, {}), n


def _with_another_constant(use: Use) -> Alterations:
    """This is the gradient of the program with {n} in {op}{line}.

    Differentiate the function as it was computed, with the same targets, weights and masks.
    """
    masks = {"masked_fill": "mask", "where": "c"}
    name = masks.get(use.op_name, use.beside)
    given = None if name in use.origins else use.values.get(name)
    if given is None or np.size(given) < 3 or use.name not in use.values:
        return
    graph, given = use.graph, np.asarray(given)
    tensors = list((graph.arrays | dict(graph.tensors)).items())
    names = [m for m, v in tensors if v.shape == given.shape and np.allclose(v, given)]
    others = [
        ("wrong_argument", other, f"{n} instead of {names[0]}")
        for n, other in (tensors if names else ())
        if other.shape == given.shape and n not in names and not n.startswith("the result of")
    ]
    if name == use.beside and set(np.unique(given)) == {0, 1}:
        others.append(("mask_inverted", 1 - given, "the mask inverted"))
        others.append(("mask_missing", np.ones_like(given), "ones in place of the mask"))
    elif name != use.beside:
        others.append(("mask_inverted", np.logical_not(given), "the mask inverted"))
    if given.ndim == 2 and given.shape[0] == given.shape[1]:
        n = names[0] if names else "its constant"
        others.append(("transposed", given.T, f"{n} transposed"))
    if name == use.beside:
        behind = [(n, t.array) for n, t in graph.products.items()]  # a detach()
        others += _other_factors(given, [*tensors, *behind])
    for kind, other, words in others:
        if not np.array_equal(other, given):
            changed = {name: other}
            z = use.applied(**changed) if name == use.beside else _masked(use, other)
            yield kind, Altered(use, z, changed), words


def _other_factors(
    given: Array, tensors: list[tuple[str, Array]]
) -> Iterator[tuple[str, Array, str]]:
    """A constant that is  r + k * mask * v,  as a target is, with another factor before v."""
    later = [(f"{n}[1:]", v[1:]) for n, v in tensors if v.shape[:1] == (len(given) + 1,)]
    named = [(n, v) for n, v in (*tensors, *later) if v.shape == given.shape][:NEAREST]
    for (n, v), (_, r) in permutations(named, 2):
        factor = np.round((given - r) / v, 6)
        kinds = np.unique(factor)
        if len(kinds) > 2 or len(kinds) == 2 and 0 not in kinds or not np.any(kinds):
            continue
        k, mask = kinds[np.argmax(np.abs(kinds))], factor != 0
        yield "scale", r + mask * v, f"{n} without its factor {k:g}"
        if not np.all(mask):
            yield "mask_missing", r + k * v, f"{n} without its mask"
            yield "mask_inverted", r + k * v * ~mask, f"the mask of {n} inverted"


def _masked(use: Use, mask: Array) -> Array:
    """The result of masked_fill or where with another mask."""
    filled = use.op_name == "masked_fill"
    x = use.values[use.name]
    z = use.values.get("z", np.full(use.g.shape, -np.inf))  # not saved: scores before a softmax
    keeps, kept = (  # where x stays, with the other mask and with the program's
        np.broadcast_to(np.logical_not(m) if filled or use.name == "y" else m, z.shape)
        for m in (mask, use.values["mask" if filled else "c"])
    )
    other = None if filled else use.values.get(use.beside)
    return np.where(keeps, x, np.ravel(z[~kept])[0] if other is None else other)


def _put_off(use: Use) -> Alterations:
    """{op}{line} was done {n}, and not before it: this is the gradient of the program with the two
    in that order.

    Differentiate the function as it was computed: sqrt(v + eps) is not sqrt(v) + eps, and a masked
    softmax no longer adds up to 1.
    """
    x, z = use.values.get(use.name), use.values.get("z")
    onward = [u for u in use.graph.uses if u.parent is use.node]
    times: Array | float
    if use.op is None or x is None or len(onward) != 1 or np.shape(x) != use.g.shape:
        return
    following, kind = onward[0], "wrong_argument"
    if following.op_name == "softmax" and (keep := _kept(use)) is not None:
        kind, times, plus = "mask_missing", keep, 0.0
    elif use.op_name in ("add", "sub") and use.beside not in use.origins and z is not None:
        if not following.elementwise or following.op_name in ("add", "sub"):
            return
        times, plus = 1.0, z - x
    else:
        return
    instead = following.applied(**{following.name: x})
    later = instead * times + plus
    for seen in (instead, later):  # what the rule of the following operation takes for its result
        changed = {following.name: x, "z": seen}
        change = Altered(following, later, changed, times, beside=None)
        yield kind, Altered(use, later=change), f"after {following.op_name}"


def _kept(use: Use) -> Array | None:
    """Where a mask of scores lets them pass, if this is one: masked_fill, where, or a sum with -inf."""
    if use.op_name == "masked_fill":
        return np.logical_not(use.values["mask"])
    if use.op_name == "where":
        return np.asarray(use.values["c"] if use.name == "x" else ~use.values["c"])
    return _scores_kept(use)


def _factor_left_out(use: Use) -> Alterations:
    """A factor, {n}, was left out: this is the gradient of the program without it.

    Differentiate the function as it was computed, with all its factors.
    """
    # In  (1 - p)**2 * log(p),  the whole weight, though p is in it.
    node, uses = use.node, use.graph.uses
    while len(above := [u for u in uses if u.parent is node]) == 1 and above[0].op_name == "neg":
        node = above[0].node
    if len(above) == 1 and above[0].op_name == "mul" and above[0].beside in above[0].origins:
        one = np.ones(use.g.shape, use.g.dtype)
        yield "missing_path", Altered(use, one, {}, 0.0, 0.0), use.graph.called(use.node)


SEARCHES = (
    _left_out, _operand_left_out, _factor_left_out, _sign_otherwise, _set_otherwise, _put_off, _with_another_constant
)  # fmt: skip


# ------------------------------------------------------------------ another value


def at_other_values(a: Answer, until: float) -> Iterator[Diagnosis]:
    """The derivatives that read {m} were computed with {n} instead.

    Write down the values that each step of the forward pass has read. The backward pass reads the
    same ones.
    """
    others = _other_values(a.graph) if not a.few else ()
    for node, m, n, values in in_time(others, until):
        given = [_gradient(a.graph, [], values)]
        if len(values) == 1:  # or the whole tensor is another one
            given.append(_gradient(a.graph, [], values, node))
        if any(candidate is not None and a.gives(candidate) for candidate in given):
            use = next((u for u in a.graph.uses if u.node is node), None)
            texts = message_and_hint(at_other_values)
            yield a.found(*texts, kind="wrong_argument", use=use, n=n, m=m)
            return


Results = dict[AnyNode, Array]


def _other_values(graph: Graph) -> Iterator[tuple[AnyNode, str, str, Results]]:
    """A node, its name, the name of what is read instead, and the results of the program if it is."""
    known, found = graph.known, list(recurrences(graph))
    shifts = [list(_of_another_step(graph, recurrence, found)) for recurrence in found]
    for recurrence, shifted in zip(found, shifts, strict=True):
        m = f"{graph.called(recurrence.states[-1])} before the step"
        yield from ((recurrence.states[-1], m, n, results) for n, results in shifted)
    for node, (n, other) in product(graph.names, graph.tensors[:NEAREST]):
        value = known.get(node)
        if value is not None and value.size > 2 and other.shape == value.shape:
            yield node, graph.names[node], n, {node: other}
    for recurrence, shifted in zip(found, shifts, strict=True):  # then the other values of a step
        last, before = recurrence.states[-1], recurrence.before
        own = {node: known[node] for node in (*before, *recurrence.states) if node in known}
        steps = [nodes for path, nodes in corresponding(graph, recurrence.states).items() if path]
        called_so = [(graph.called(nodes[-1]), nodes) for nodes in steps]
        groups = [(f"{graph.called(last)} before the step", before), *called_so]
        for (m, nodes), (n, given) in product(groups, groups):
            if nodes is not given and (results := _in_place_of(known, nodes, given)):
                yield last, m, n, own | results
        for n, results in shifted:
            moved = _forward(graph, {}, results)
            for m, nodes in called_so:
                if moved.keys() >= set(nodes):
                    yield last, m, n, results | own | {node: moved[node] for node in nodes}


def _of_another_step(
    graph: Graph, recurrence: Recurrence, found: list[Recurrence]
) -> Iterator[tuple[str, Results]]:
    """The results if each step reads the state of another step.

    At first, states that are coupled to this one change as well; then they keep their values.
    """
    known, before = graph.known, recurrence.before
    after, early = recurrence.states[-len(before) :], [before[0], *before[:-1]]
    own = {node: known[node] for node in (*before, *recurrence.states) if node in known}
    apart = {
        n: known[n] for r in found if _apart(graph, r, recurrence) for n in r.states if n in known
    }
    for n, given in (
        ("its value after the step", after), ("its value one step earlier", early),
        ("its value one step earlier", [after[-1], *early[1:]]),  # xs[-1], the last one
    ):  # fmt: skip
        if results := _in_place_of(known, before, given):
            yield n, own | results
            if apart.keys() - own.keys():
                yield n, apart | own | results


def _in_place_of(known: Mapping[AnyNode, Array], nodes: list[Any], given: list[Any]) -> Results:
    """node -> the value of the given one; empty if one is not known, or has another shape."""
    if len(nodes) != len(given) or not known.keys() >= {*nodes, *given}:
        return {}
    results = {node: known[other] for node, other in zip(nodes, given, strict=True)}
    return results if all(v.shape == known[node].shape for node, v in results.items()) else {}


def _apart(graph: Graph, other: Recurrence, recurrence: Recurrence) -> bool:
    """Is `other` a separate state, rather than one that depends on itself only through the recurrence?"""
    node: Any = other.states[-1]
    for _, position in other.path[:-1]:
        node = graph.operands[node][position]
        if node in recurrence.states:
            return False
    return not set(other.states) & set(recurrence.states)


# ------------------------------------------------------------------ the program, run again


def _gradient(
    graph: Graph,
    alterations: Iterable[Altered],
    values: Mapping[AnyNode, Array] = MappingProxyType({}),
    end: AnyNode | None = None,
) -> Array | None:
    """The target's gradient in the altered program, with these results; None if it cannot be computed.

    end    a node that passes no gradient on
    """
    both = (one for change in alterations for one in (change, change.later) if one is not None)
    at: dict[AnyNode, Altered] = {one.use.node: one for one in both}
    with np.errstate(all="ignore"):
        try:
            return _backward(graph, at, _forward(graph, at, values), end)
        except Exception:  # the other values do not fit together, or are not known
            return None


def _forward(
    graph: Graph, at: Mapping[AnyNode, Altered], values: Mapping[AnyNode, Array]
) -> dict[AnyNode, Array]:
    """node -> its result in the altered program, for the nodes whose result differs."""
    changed = dict(values)
    for node in reversed(graph.nodes):
        if node in changed or not getattr(node, "edges", ()):
            continue
        if node in at:
            use, z = at[node].use, at[node].z
            changed[node] = changed.get(use.parent, use.values[use.name]) if z is None else z
            continue
        plan = plan_of_node(node)
        read = zip(names_of(plan), node.edges, strict=True)
        new: dict[str, Any] = {n: changed[p] for n, p in read if p in changed}
        if not new:
            continue
        shape = np.shape(graph.gradients[node])
        if plan.op.variadic:
            new = {"xs": tuple(changed.get(p, graph.known.get(p)) for p in node.edges)}
        try:
            z = recomputed(plan.op, {**graph.values_at[node], "shape": shape, **new})
        except Exception:  # an operand is not known
            z = np.zeros(0)
        changed[node] = z if z.shape == shape else np.full(shape, np.nan)  # nothing may read this
    return changed


def _backward(
    graph: Graph,
    at: Mapping[AnyNode, Altered],
    changed: Mapping[AnyNode, Array],
    end: AnyNode | None,
) -> Array:
    def passes(use: Use) -> Any:
        node, g, one = use.node, use.g, at.get(use.node)
        new = {n: changed[p] for n, p in use.origins.items() if p in changed}
        if node in changed:
            new["z"] = changed[node]
        if one is not None:
            d = one.passes(use, g)
        elif new.keys() & set(use.reads()):
            d = use.rule(g, **new)
        else:
            d = use.passed if g is use.g else use.at(g).passed
        return np.nan if d is None else d * (node is not end)

    read = {*at, *changed, end}
    uses = (u for u in graph.paths if read & {u.node, *u.origins.values()})
    uses_at = {(use.node, use.k): use for use in uses}
    return graph.gradients[graph.target] + walked(graph, uses_at, passes).get(graph.target, 0)
