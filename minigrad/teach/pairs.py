"""The search of the table: one mistake at one place, in several places, and two mistakes at once.

    at_the_uses    a row of the table of mistakes, at one edge that leads to the tensor
    everywhere     the student takes tanh's derivative at the input, in each of the three layers
    off_by_one     each step of a recurrence reads the value of the step before
    another_value  each step reads another value of the same step
    in_one_term    a part of softmax is forgotten, but only for the entropy in the loss
    two_at_once    a sign is wrong, and a path is missing

A row gives what its mistake would pass along an edge; uses.py adds up what this changes further
back. If that gives the student's numbers, the row names the mistake. Most diagnoses come from
at_the_uses. We keep what it has tried, because two_at_once combines two mistakes.

The effects of two mistakes on different branches add up. If both are on the same path, the second
one acts on what the first one has passed. So we try pairs in both ways, and only on small tapes:
there are many pairs, and the more we try, the more may fit by chance.

Read answer.py, mistakes.py and uses.py first.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import chain, islice, product
from typing import Any, NamedTuple

import numpy as np

# Each adds its mistakes to the table.
from minigrad.core.sparse import dense
from minigrad.teach import mistakes_of_arrays, mistakes_of_losses, mistakes_of_ops  # noqa: F401
from minigrad.teach.answer import Answer, Diagnosis, in_time
from minigrad.teach.mistakes import ORDER, TABLE, Mistake, Variant, message_and_hint, variants
from minigrad.teach.recurrences import recurrences, repeated_uses
from minigrad.teach.uses import Graph, Use, called, constant_factor, plan_of_node
from minigrad.teach.whole import SOFT, Table, recognized

SMALL = 24  # pairs are only tried on tapes with at most this many uses
TOO_MANY = 200  # uses, at which there is no time to try each mistake
NEAR = 8  # how many tensors may be at the end of a recurrence
MANY = 6  # how many matching pairs we look at before we name one
ALONE = {"paths_multiplied", "upstream_twice"}  # not in a pair: products fit by chance
FACTORS = ("sign", "scale")  # a pair is named after the other mistake, which says more
PER_OPERATION = {
    "missing_path", "softmax_diagonal_only", "mask_missing", "mask_inverted", "ties",
    "index_not_scattered", "mean_for_sum", "reduction_axis", "stale_value", "wrong_argument",
    "matmul_order", "transposed", "exchanged", "sign", "swapped_operands", "upstream_ignored", "upstream_only",
}  # fmt: skip

IN_STEPS = {*PER_OPERATION, "double_counted", "broadcast_not_summed", "scale"}


SCALED = Mistake("scale", "The constant factor of {op}{line} is missing.",
                 "Each rule is multiplied by it.", (), lambda use: None)  # fmt: skip


@cache
def known_mistakes() -> list[Mistake]:
    """The whole table, in search order; within a kind, in the order of the files."""
    return sorted(TABLE, key=lambda row: ORDER[row.kind])


# ------------------------------------------------------------------ at one place


class Tried(NamedTuple):
    """One mistake at one use, and its effect.

    effect    what is added to the right gradient
    changed   node -> what is added to its gradient, for all the nodes that it reaches
    """

    row: Mistake
    use: Use
    n: str
    effect: Any
    changed: dict[Any, Any]

    def diagnosis(self, a: Answer) -> Diagnosis:
        """The row's message and hint, at the operation of this use."""
        return a.found(self.row.message, self.row.hint, kind=self.row.kind, use=self.use, n=self.n)


def at_the_uses(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    """The table of mistakes, at every edge that leads to the tensor, the nearest first."""
    without: dict[Use, dict[Any, Any]] = {}  # the changes if nothing passes
    steps, uses = Counter(u.op_name for u in a.graph.paths), a.graph.paths
    if len(uses) > TOO_MANY:  # a mistake in a loop is made in each step, the first or the last
        loops = (inner[1:-1] for inner, states in repeated_uses(a.graph) if states)
        inside = {use for inner in loops for use in inner}
        uses = [use for use in uses if use not in inside]
    for row in known_mistakes():
        if any(op.startswith("lstm_") and steps[op] > 1 for op in row.ops):
            continue  # it is made in each step, if at all
        for use in in_time(uses, until):
            for variant in variants(row, use):
                if variant.times is None:
                    changed = use.changes(variant.array)
                else:
                    if use not in without:
                        without[use] = use.changes(np.zeros_like(use.passed))
                    changed = {n: (1 - variant.times) * d for n, d in without[use].items()}
                effect = changed.get(a.target)
                if effect is None:
                    continue
                attempt = Tried(row, use, variant.n, np.asarray(effect), changed)
                if a.gives(a.right + effect):
                    yield attempt.diagnosis(a)
                tried.append(attempt)


# ------------------------------------------------------------------ everywhere


Uses = Mapping[tuple[Any, int], Use]


def everywhere(
    a: Answer, until: float, kinds: Container[str] = PER_OPERATION, one_way: bool = False
) -> Iterator[Diagnosis]:
    """One mistake at every use of one operation, or at the same place of each step.

    one_way    only in what passes to the tensor, or only in what passes to the step before
    """
    groups = [(*group, {constant_factor(u) for u in group[0]}) for group in repeated_uses(a.graph)]
    lengths = {f for n in a.graph.numbers for f in (n, 1 / n)}
    something = {use for use in a.graph.paths if np.any(use.passed)}
    for row in known_mistakes():
        possible_at = cache(partial(_possible, row))  # most uses are in several groups
        for uses, states, constants in in_time(groups, until):
            if row.kind not in (IN_STEPS if states and kinds is PER_OPERATION else kinds):
                continue
            if one_way and not states or row.ops and uses[-1].op_name not in row.ops:
                continue
            of_several = len({use.op for use in uses}) > 1
            if row.ops and of_several:
                continue
            # the first one on the way back where this mistake can be made, and changes something
            made = (use for use in uses[::-1] if use in something and possible_at(use))
            if (first := next(made, None)) is None:
                continue
            c = next(iter(constants)) if len(constants) == 1 else 0
            if row.kind == "double_counted" and (c or len(uses) < 3):
                continue  # rather the constant, a missing 1/2; and two steps may be alike by chance
            elsewhere = lengths - {c, c and 1 / c}  # a number of entries: not at each step
            for k, variant in enumerate(possible_at(first)):
                if variant.times and first.op_name != "pow":
                    if variant.times in elsewhere or not c and variant.times not in (2, 0.5):
                        continue
                if first.op_name == "getitem":  # one part at the beginning, another one at the end
                    if len({v.n for u in uses for v in possible_at(u)[k : k + 1]}) > 1:
                        continue
                uses_at = {(use.node, use.k): use for use in uses}
                wrong = partial(_wrong, row, k, bool(np.any(variant.array)))
                if one_way:
                    changes = list(_one_way(a, uses_at, states, wrong))
                else:
                    changes = [("", walked(a.graph, uses_at, wrong).get(a.target, 0))]
                for words in [w for w, d in changes if a.gives(a.right + d)][:1]:
                    factor = row.kind == "upstream_only" and c
                    d = Tried(SCALED if factor else row, first, variant.n, None, {}).diagnosis(a)
                    where = "each function" if of_several else _in_which(a.graph, uses, first)
                    message = f"{d.message} The same holds for {where}{words}."
                    yield replace(d, message=message, extent="everywhere")


def _in_which(graph: Graph, uses: list[Use], first: Use) -> str:
    """In words, where these uses are."""
    every = {u.node for u in graph.paths if u.op is first.op} <= {u.node for u in uses}
    return f"every {called(first.node).removeprefix('the ')}" if every else "each step"


def _possible(row: Mistake, use: Use) -> list[Variant]:
    """All that the row's mistake could pass along this edge."""
    return list(variants(row, use))


def _one_way(
    a: Answer, uses_at: Uses, states: list[set[Any]], wrong: Callable[[Use], Any]
) -> Iterator[tuple[str, Any]]:
    """Words, and the change if wrong(use) passes there, but not on to the step before, or only there."""
    graph = a.graph
    starts: dict[Any, Any] = {}
    for use in uses_at.values():
        starts[use.parent] = starts.get(use.parent, 0) + (wrong(use) - use.passed)
    for cut in states:
        changed = graph.changes(starts, cut)
        yield f", but only for what passes to {a.name}", changed.get(a.target, 0)
    after = walked(graph, uses_at, wrong)
    for cut in states:
        changed = graph.changes({n: after[n] for n in cut & after.keys()}, cut)
        yield ", but only for what passes to the step before", changed.get(a.target, 0)


def _wrong(row: Mistake, k: int, something: bool, use: Use) -> Any:
    """What passes if the k-th variant of a mistake is made at this use; if not `something`, zeros."""
    made = next(islice(variants(row, use), k, None), None)
    if made is not None:
        return made.array
    return use.passed if something else np.zeros_like(use.passed)


def walked(
    graph: Graph, there: Mapping[tuple[Any, int], object], wrong: Callable[[Use], Any]
) -> dict[Any, Any]:
    """The changes to the gradients if wrong(use) passes along some edges, given the mistakes so far.

    there     these edges, each as a node and a number
    """
    changed: dict[Any, Any] = {}
    begin = {node for node, _ in there}
    for node in graph.nodes:
        if node not in changed and node not in begin:
            continue
        uses, results, g = graph.edges_of.get(node, ()), None, graph.gradients[node]
        if node in changed and uses:
            g = np.asarray(g + changed[node])
            results = plan_of_node(node).run(g, node)
        for use in uses:
            passed = use.passed if results is None else np.asarray(dense(results[use.k]))
            if (node, use.k) in there:
                here = use if results is None else use.at(g, results)
                passed = np.asarray(wrong(here))
            if passed is not use.passed:
                changed[use.parent] = changed.get(use.parent, 0) + (passed - use.passed)
    return changed


def off_by_one(a: Answer, until: float) -> Iterator[Diagnosis]:
    """The derivative of {op}{line}, here and wherever it is used in this way, was computed with
    the value of {n} instead of the same step.

    Number the steps, and write down which value each of them reads.
    """
    for uses, in_steps in repeated_uses(a.graph):
        if a.few and (a.mine.size != 1 or len(uses) < 4):
            continue  # one number proves little, unless a loop has many steps
        latest = (min(states, key=_newest_first, default=None) for states in in_steps)
        last = [a.graph.known[n] for n in latest if n in a.graph.known]
        of_one = "z" in uses[0].reads() and (uses[0].of_one or uses[0].op_name in SOFT)
        for name in (*uses[0].reads(), *([AT] if of_one else [])):
            values = [u.values.get("x" if name is AT else name) for u in uses]
            if len({np.shape(v) for v in values if isinstance(v, np.ndarray | np.generic)}) != 1:
                continue
            alike = _at_one_step(values)
            others = chain(_shifted(a, values, last), alike) if in_steps else alike
            for n, shifted in in_time(others, until):
                if _gives_with(a, uses, name, shifted):
                    ends = [*values[:-1], shifted[-1]], [shifted[0], *values[1:]]
                    if any(_gives_with(a, uses, name, end) for end in ends):
                        continue  # one value at the end is another one, and no step matters
                    texts = message_and_hint(off_by_one)
                    yield a.found(*texts, kind="wrong_argument", use=uses[0], n=n)
                    break


def another_value(a: Answer, until: float) -> Iterator[Diagnosis]:
    """The derivative of {op}{line}, here and in each step, was computed with {n} instead of {m}.

    Write down which values each step reads, under the names of the program.
    """
    graph, read = a.graph, list(_read_in_steps(a.graph)) if not a.few else []
    instead = [(_called(graph, values[-1]), values) for _, _, values in read]
    for r in recurrences(graph) if read else ():
        if graph.known.keys() >= set(r.before):
            n = f"{graph.called(r.states[-1])} before the step"
            instead.append((n, [graph.known[node] for node in r.before]))
    for (uses, name, values), (n, others) in in_time(product(read, instead), until):
        if len(others) == len(values) - 1:  # the first state is a constant, such as zeros
            others = [0 * others[0], *others]
        alike = len(others) == len(values) and np.shape(others[0]) == np.shape(values[0])
        if not alike or all(map(np.array_equal, values, others)):
            continue
        if _gives_with(a, uses, name, others):
            words = {"n": n, "m": _called(graph, values[-1])}
            yield a.found(
                *message_and_hint(another_value), kind="wrong_argument", use=uses[-1], **words
            )
            return


def _read_in_steps(graph: Graph) -> Iterator[tuple[list[Use], str, list[Any]]]:
    """The uses at one place of each step, the name of a value that their rule reads, and this value in each."""
    for uses, in_steps in repeated_uses(graph):
        for name in uses[0].reads() if in_steps else ():
            values = [u.values.get(name) for u in uses]
            shapes = {v.shape for v in values if isinstance(v, np.ndarray) and v.size > 1}
            if len(shapes) == 1 and all(isinstance(v, np.ndarray) for v in values):
                yield uses, name, values


def _called(graph: Graph, value: object) -> str:
    return next((n for n, v in graph.tensors if v is value), "another value")


AT = ""  # in place of a name: another operand, with the result that belongs to it


def _newest_first(node: Any) -> int:
    return 0 if node is None else node.queue_key


def _shifted(a: Answer, values: list[Any], last: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The values, each one step later or earlier, with each possible value at the end; last: the last states."""
    like = [t for _, t in a.graph.tensors if np.shape(t) == np.shape(values[0])][:NEAR]
    like += [t for t in last if np.shape(t) == np.shape(values[0])]
    for end in (values[-1], *like):
        yield "the step after", [*values[1:], end]
    zero = [0 * values[0]] if len(values) > 2 else []  # with two, it would leave one out
    for end in (values[0], *zero, values[-1], *like):
        yield "the step before", [end, *values[:-1]]


def _at_one_step(values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """One value for all steps; also for the stages of a Runge-Kutta step, which are not a recurrence."""
    if len(values) > 2:
        yield "the last step", [values[-1]] * len(values)
        yield "the first step", [values[0]] * len(values)


def _gives_with(a: Answer, uses: list[Use], name: str, values: list[Any]) -> bool:
    """Are these the student's numbers if the rule of each use reads its own one of these values as `name`?"""
    values_at = {(u.node, u.k): v for u, v in zip(uses, values, strict=True)}

    def wrong(use: Use) -> Any:
        v = values_at[use.node, use.k]
        d = use.rule(use.g, **({"x": v, "z": use.applied(x=v)} if name is AT else {name: v}))
        return np.nan if d is None else d

    return a.gives(a.right + walked(a.graph, values_at, wrong).get(a.target, 0))


def in_one_term(a: Answer, until: float, table: Table) -> Iterator[Diagnosis]:
    """A mistake in one term of a sum, where the other terms read the same values."""
    for term in a.terms():
        found = [*at_the_uses(term, [], until), *recognized(term, table)]
        for d in found:
            message = f"{d.message} This holds in one term of the sum only."
            yield replace(d, message=message, extent="one term")
        if found:
            return


def before_the_softmax(a: Answer, tried: list[Tried]) -> Iterator[Diagnosis]:
    """A mistake in y, or in the factor sum(y) of p, where the gradient of log(softmax(x)) is  p - y."""
    kinds = ("softmax", "log_softmax")
    softmax: dict[Any, Use] = {u.node: u for u in a.graph.paths if u.op_name in kinds}
    for use in (u for u in a.graph.paths if u.op_name in ("log", "log_softmax")):
        inner = softmax.get(use.node, softmax.get(use.parent))
        if inner is None:
            continue
        p, axis = np.exp(use.values["z"]), inner.values["axis"]
        for attempt in (attempt for attempt in tried if use.node in attempt.changed):
            rest = p * np.sum(attempt.changed[use.node], axis, keepdims=True)
            effect = a.graph.changes({inner.parent: rest.astype(p.dtype)}).get(a.target)
            if effect is None or not np.any(rest):
                continue
            of_y = attempt.effect + effect
            for change, words in ((of_y, "y, but not p"), (-effect, "p, but not y")):
                if a.gives(a.right + change):
                    d = attempt.diagnosis(a)
                    yield replace(d, message=f"{d.message} In  p - y  this changes {words}.")


# ------------------------------------------------------------------ two at once


def two_at_once(
    a: Answer, tried: list[Tried], slips: Iterator[Tried], until: float
) -> Iterator[Diagnosis]:
    """The first pair of mistakes that gives the student's numbers; slips: those in a formula."""
    if a.mine.shape != a.right.shape or a.mine.size < 4 or len(a.graph.paths) > SMALL:
        return
    if np.all(a.mine == a.mine.reshape(-1)[0]):
        return  # only one number: too many pairs would fit
    tried = [t for t in tried if t.row.kind != "scale" or t.n in ("2", "1/2")]
    tried = [t for t in tried if t.row.kind not in ALONE]
    for search in (_with_a_factor, _on_two_branches, _on_one_path):
        both = [*tried, *slips] if search is _with_a_factor else tried
        found = list(islice(search(a, both, until), MANY))
        if found:  # many pairs may give the same numbers; we report what they have in common
            common = set.intersection(*({d.kind, *d.also} for d in found))
            yield from (d for d in found[:1] if common)
            return


def _with_a_factor(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    factors = [(-1, "sign", "a sign is wrong"), (2, "scale", "everything is doubled"),
               (0.5, "scale", "everything is halved")]  # fmt: skip
    factors += [(n, "mean_for_sum", f"everything is {n:g} times as large, as if a division by {n:g} "
                 "were missing") for n in sorted(a.graph.numbers)]  # fmt: skip
    for times, kind, words in factors:
        alike = ("sign",) if times == -1 else ("sign", "scale", "mean_for_sum")
        for attempt in tried:
            if attempt.row.kind in alike:
                continue
            candidate = a.right + attempt.effect
            if np.any(candidate) and a.same(times * candidate):
                d = attempt.diagnosis(a)
                message = f"There are two mistakes. One: {words}. The other: {d.message}"
                yield replace(d, message=message, also=(kind,), extent="two")


def _on_two_branches(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    if not tried:
        return
    effects = np.stack([one.effect.reshape(-1).astype(np.float64) for one in tried])
    missing = (a.mine - a.right).reshape(-1)
    bound = a.atol + a.rtol * np.abs(missing)
    for i, one in enumerate(in_time(tried, until)):
        fits = np.all(np.abs(missing - effects[i] - effects) <= bound, axis=1)
        for j in np.flatnonzero(fits[i + 1 :]) + i + 1:
            two = tried[j]
            separate = two.use.node not in one.changed and one.use.node not in two.changed
            if one.use is not two.use and separate and np.any(effects[i]) and np.any(effects[j]):
                yield _both(a, one, two)


def _on_one_path(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    graph = a.graph
    rows = [row for row in known_mistakes() if row.kind not in ALONE]
    for attempt, use in in_time(product(tried, graph.paths), until):
        if use.node not in attempt.changed:
            continue
        below = use.at(graph.gradients[use.node] + attempt.changed[use.node])
        for row in in_time(rows, until):
            for variant in variants(row, below):
                if row.kind == "scale" and variant.n not in ("2", "1/2"):
                    continue
                effect = below.changes(variant.array).get(a.target)
                if effect is None:
                    continue
                candidate = a.right + attempt.effect + effect
                if a.same(candidate) and not a.equal(effect, 0 * effect):
                    yield _both(a, attempt, Tried(row, use, variant.n, effect, {}))


def _both(a: Answer, one: Tried, two: Tried) -> Diagnosis:
    """Two mistakes as one diagnosis, with the kind of the more specific one."""
    one, two = sorted((one, two), key=lambda t: (t.row.kind in FACTORS, ORDER[t.row.kind]))
    first, second = one.diagnosis(a), two.diagnosis(a)
    if first.kind == second.kind == "missing_path":
        message = f"Two paths are missing. {first.message} {second.message}"
    else:
        message = f"There are two mistakes. One: {first.message} The other: {second.message}"
    also = (second.kind,) if second.kind != first.kind else ()
    hint = first.hint if first.hint == second.hint else f"{first.hint} {second.hint}"
    return replace(first, message=message, hint=hint, also=also, extent="two")
