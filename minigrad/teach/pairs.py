"""One mistake in several places, and two mistakes at once.

    AT_A_NODE      the gradient that arrives is ignored for both operands of an operation
    everywhere     the student takes tanh's derivative at the input, in each of the three layers
    off_by_one     each step of a recurrence reads the value of the step before
    in_one_term    a part of softmax is forgotten, but only for the entropy in the loss
    two_at_once    a sign is wrong, and a path is missing

Two mistakes at different branches add up. Where one lies further down the same path, the
second is made on what the first has passed. So the pairs are tried in two ways, and only on
small tapes: there are many, and the more that is tried the more may fit by chance.

Read one_mistake.py first.
"""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from minigrad.core.leaf import AccumulateGrad
from minigrad.core.node import Node
from minigrad.teach.all_mistakes import known_mistakes
from minigrad.teach.answer import Answer, Diagnosis
from minigrad.teach.mistakes import ORDER, Mistake, message_and_hint, variants
from minigrad.teach.one_mistake import Tried, at_the_uses
from minigrad.teach.uses import Use, called, op_name
from minigrad.teach.whole import Places, Table, mistake_in

SMALL = 24  # uses: the tapes on which pairs are tried
NEAR = 8  # tensors that may stand at the end of a recurrence
MANY = 6  # pairs that are looked at before one is named
ALONE = {"paths_multiplied", "upstream_twice"}  # not together with others: products fit by chance
FACTORS = ("sign", "scale")  # named after the other of two mistakes, which says more
PARTS = ("getitem", "narrow", "select")
PER_OPERATION = {
    "missing_path", "softmax_diagonal_only", "mask_missing", "mask_inverted", "ties",
    "index_not_scattered", "mean_for_sum", "reduction_axis", "stale_value", "wrong_argument",
    "matmul_order", "transposed", "sign", "swapped_operands", "upstream_ignored", "upstream_only",
}  # fmt: skip


# ------------------------------------------------------------------ everywhere


def everywhere(
    a: Answer, until: float, kinds: Container[str] = PER_OPERATION
) -> Iterator[Diagnosis]:
    """One mistake at every use of one operation, wherever it is used."""
    uses = [use for use in a.graph.paths if use.op is not None]
    places = Counter(place for use in uses for place in {_place(use), (use.op_name, "", "")})
    for row in (row for row in known_mistakes() if row.kind in kinds):
        for place, n in places.items():
            if n < 2 or (row.ops and place[0] not in row.ops):
                continue
            if place[1] and n == places[place[0], "", ""]:
                continue  # the operation is always used in this way
            for k in range(2):
                if time.thread_time() > until:
                    return
                candidate, first = _all_wrong(a, row, place, k)
                if first is None:
                    break
                if candidate is not None and a.gives(candidate):
                    d = Tried(row, first, "as at the other places", candidate, {}).diagnosis(a)
                    yield replace(d, message=f"{d.message} So it is at every {called(first.node)}.")


def _all_wrong(
    a: Answer, row: Mistake, place: tuple[str, str, str], k: int
) -> tuple[Any, Use | None]:
    """The gradient if the k-th variant of a mistake is made at every use of this place."""
    first: list[Use] = []

    def wrong(use: Use) -> Any:
        if place not in (_place(use), (use.op_name, "", "")):
            return use.passed
        given = list(variants(row, use))
        if k >= len(given):
            return use.passed
        first.append(use)
        return given[k].array

    candidate = walked(a, wrong)
    return candidate, first[0] if first else None


def _place(use: Use) -> tuple[str, str, str]:
    """The operation, the operand, and the operation that has given it."""
    given_by = use.parent if isinstance(use.parent, Node) else None
    return use.op_name, use.name, op_name(given_by)


def walked(a: Answer, wrong: Callable[[Use], Any]) -> Any:
    """The gradient if wrong(use) passes along each edge, given what arrives there by mistake."""
    graph = a.graph
    gradients: dict[Any, Any] = {graph.root: graph.seed}
    by_node: dict[Any, list[Use]] = {}
    for use in (use for use in graph.paths if not use.part):
        by_node.setdefault(use.node, []).append(use)
    for node in graph.nodes:
        g = gradients.get(node)
        if g is None or isinstance(node, AccumulateGrad):
            continue
        for use in by_node.get(node, ()):
            passed = wrong(use.at(g))
            gradients[use.parent] = gradients.get(use.parent, 0) + np.asarray(passed)
    return gradients.get(a.target)


def off_by_one(a: Answer, until: float) -> Iterator[Diagnosis]:
    """In the derivative of {op}{line}, and wherever else it is used in this way, the value of the step
    {n} stands where that of the same step is meant.

    Number the steps, and write down which value each of them reads.
    """
    if a.few:
        return
    places: dict[Any, list[Use]] = {}
    for use in (u for u in a.graph.paths if u.op is not None and not u.part):  # the oldest first
        places.setdefault(_place(use), []).append(use)
        # The uses of a weight: the first step is among them, too.
        places.setdefault((use.op_name, use.parent), []).append(use)
    for uses in (uses for uses in places.values() if len(uses) > 2):  # two are no recurrence
        for name in uses[0].reads():
            values = [u.values.get(name) for u in uses]
            if len({np.shape(v) for v in values if isinstance(v, np.ndarray | np.generic)}) != 1:
                continue
            for n, shifted in _shifted(a, values):
                there = {(u.node, u.k): v for u, v in zip(uses, shifted, strict=True)}
                if time.thread_time() > until:
                    return
                if a.gives(walked(a, partial(_reading, name, there))):
                    yield a.found(
                        *message_and_hint(off_by_one), kind="wrong_argument", use=uses[0], n=n
                    )
                    return


def _shifted(a: Answer, values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The values, each one step later or earlier; at the end any that may stand there."""
    like = [t for _, t in a.graph.tensors if np.shape(t) == np.shape(values[0])][:NEAR]
    for end in (values[-1], *like):
        yield "after", [*values[1:], end]
    for end in (values[0], 0 * values[0], *like):
        yield "before", [end, *values[:-1]]


def _reading(name: str, there: dict[Any, Any], use: Use) -> Any:
    """What passes if the rule reads these values, at the uses that are among them."""
    at = (use.node, use.k)
    d = use.rule(use.g, **{name: there[at]}) if at in there else use.passed
    return np.nan if d is None else d


def in_one_term(a: Answer, until: float) -> Iterator[Diagnosis]:
    """A mistake in one term of a sum, where what it reads is read by the other terms too."""
    for term in a.terms():
        found = list(at_the_uses(term, [], until))
        for d in found:
            yield replace(d, message=f"{d.message} So it is in one term of the sum only.")
        if found:
            return


AT_A_NODE: Table = []


@mistake_in(AT_A_NODE, "missing_path")
def _nothing(a: Answer) -> Places:
    """All entries are 0, as if {x} had no influence on the result.

    Look for a path from {x} to the result, and follow it back.
    """
    if not np.any(a.mine) and np.any(a.right):
        yield {}


@mistake_in(AT_A_NODE, "upstream_ignored")
def _for_all_operands(a: Answer) -> Places:
    """The gradient that arrives at {op}{line} was left out: the derivative of the operation is there,
    but not multiplied by it.

    Each rule is multiplied by g, the gradient of the operation's result.
    """
    graph = a.graph
    for use in graph.paths:
        node = use.node
        several = [u for u in graph.paths if u.node is node and not u.part]
        if not several or use is not several[0] or (len(several) < 2 and use.op is not None):
            continue  # the rule of a single operand is in the table
        g = np.asarray(graph.gradients[node])
        if np.all(g == 1):
            continue
        effect = graph.walk_back(node, (1 - g).astype(g.dtype))
        if effect is not None and a.gives(a.right + effect):
            yield {"use": use}


@mistake_in(AT_A_NODE, "upstream_only")
def _to_all_operands(a: Answer) -> Places:
    """The gradient that arrives at {op}{line} is passed on as it is to each operand: the derivatives
    of the operation are missing.

    Multiply g by the derivative of the operation with respect to each operand.
    """
    for use in a.graph.paths:
        both = [u for u in a.graph.paths if u.node is use.node and not u.part]
        if len(both) < 2 or use is not both[0] or not use.elementwise:
            continue
        given = [(u, d) for u in both if (d := u.fit(u.g)) is not None]
        effects = [a.graph.walk_back(u.parent, d - u.passed) for u, d in given]
        if a.gives(a.right + sum(e for e in effects if e is not None)):
            yield {"use": use, "also": ("upstream_ignored",) if np.all(use.g == 1) else ()}


@mistake_in(AT_A_NODE, "index_not_scattered")
def _windows_overwrite_each_other(a: Answer) -> Places:
    """{x} is read in {n} parts that overlap, and what comes back for one overwrote the others.

    Add each part to what is there already:  d[i:j] += g,  not  d[i:j] = g.
    """
    uses = [u for u in a.graph.paths if u.parent is a.target and u.op_name in PARTS and not u.part]
    if len(uses) < 3 or len(uses) < uses[0].fan_in:
        return
    read = [u.share() for u in uses]
    for order in (1, -1):
        d = np.zeros_like(a.right)
        for use, share in list(zip(uses, read, strict=True))[::order]:
            d = d if share is None else np.where(share != 0, use.passed, d)
        if a.gives(d):
            yield {"use": uses[0], "n": str(len(uses))}


@mistake_in(AT_A_NODE, "mask_missing")
def _one_branch(a: Answer) -> Places:
    """{op}{line} has two branches, and the derivative of one of them was taken everywhere.

    Where the condition is true the gradient goes to the first branch, elsewhere to the second.
    """
    for use in a.graph.paths:
        both = [u for u in a.graph.paths if u.node is use.node and not u.part]
        if use.op_name != "where" or len(both) != 2 or use is not both[0]:
            continue
        for taken, left in (both, both[::-1]):
            everywhere = taken.fit(taken.g)
            if everywhere is None:
                continue
            effects = [
                a.graph.walk_back(taken.parent, everywhere - taken.passed),
                a.graph.walk_back(left.parent, -left.passed),
            ]
            if a.gives(a.right + sum(e for e in effects if e is not None)):
                yield {"use": use}


# ------------------------------------------------------------------ two at once


def two_at_once(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    """The first pair of mistakes that gives the student's numbers."""
    if a.mine.shape != a.right.shape or a.mine.size < 4 or len(a.graph.paths) > SMALL:
        return
    if np.all(a.mine == a.mine.reshape(-1)[0]):
        return  # one number only: too much would fit
    tried = [one for one in tried if one.row.kind != "scale" or one.n in ("2", "1/2")]
    tried = [one for one in tried if one.row.kind not in ALONE]
    for search in (_with_a_factor, _on_two_branches, _on_one_path):
        found = list(islice(search(a, tried, until), MANY))
        if found:  # many pairs may give the same numbers; what all of them have in common is said
            common = set.intersection(*({d.kind, *d.also} for d in found))
            yield from (d for d in found[:1] if common)
            return


def _with_a_factor(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    factors = ((-1, "sign", "a sign is wrong"), (2, "scale", "all is doubled"),
               (0.5, "scale", "all is halved"))  # fmt: skip
    for times, kind, words in factors:
        for one in tried:
            if one.row.kind in ("sign", "scale", "mean_for_sum"):
                continue
            candidate = a.right + one.effect
            if np.any(candidate) and a.same(times * candidate):
                d = one.diagnosis(a)
                message = f"There are two mistakes: {words}; and the other: {d.message}"
                yield replace(d, message=message, also=(kind,))


def _on_two_branches(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    if not tried:
        return
    effects = np.stack([one.effect.reshape(-1).astype(np.float64) for one in tried])
    missing = (a.mine - a.right).reshape(-1)
    bound = a.atol + a.rtol * np.abs(missing)
    for i, one in enumerate(tried):
        if time.thread_time() > until:
            return
        fits = np.all(np.abs(missing - effects[i] - effects) <= bound, axis=1)
        for j in np.flatnonzero(fits[i + 1 :]) + i + 1:
            two = tried[j]
            apart = two.use.node not in one.changed and one.use.node not in two.changed
            if one.use is not two.use and apart and np.any(effects[i]) and np.any(effects[j]):
                yield _both(a, one, two)


def _on_one_path(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    graph = a.graph
    for one in tried:
        for use in graph.paths:
            if use.node not in one.changed:
                continue
            below = use.at(graph.gradients[use.node] + one.changed[use.node])
            for row in (row for row in known_mistakes() if row.kind not in ALONE):
                if time.thread_time() > until:
                    return
                for variant in variants(row, below):
                    if row.kind == "scale" and variant.n not in ("2", "1/2"):
                        continue
                    effect = below.changes(variant.array).get(a.target)
                    if effect is None:
                        continue
                    candidate = a.right + one.effect + effect
                    if a.same(candidate) and not a.equal(effect, 0 * effect):
                        yield _both(a, one, Tried(row, use, variant.n, effect, {}))


def _both(a: Answer, one: Tried, two: Tried) -> Diagnosis:
    """Two mistakes as one diagnosis, under the name of the more particular."""
    one, two = sorted((one, two), key=lambda t: (t.row.kind in FACTORS, ORDER[t.row.kind]))
    first, second = one.diagnosis(a), two.diagnosis(a)
    if first.kind == second.kind == "missing_path":
        message = f"Two paths are missing. {first.message} {second.message}"
    else:
        message = f"There are two mistakes. One: {first.message} The other: {second.message}"
    also = (second.kind,) if second.kind != first.kind else ()
    hint = first.hint if first.hint == second.hint else f"{first.hint} {second.hint}"
    return replace(first, message=message, hint=hint, also=also)
