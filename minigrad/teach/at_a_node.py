"""Mistakes at one operation that involve several of its operands or results.

    all operands      the incoming gradient is left out or passed on unchanged; two rules are swapped
    parts             windows overwrite each other; the parts of a split are in another order
    branches          one branch of a condition is used for every entry

The rows are like those of whole.py, and are tried along with those of mistakes.py. Read both first.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, permutations, product
from typing import Any

import numpy as np

from minigrad.core.leaf import AccumulateGrad
from minigrad.core.modes import enable_grad
from minigrad.core.sparse import dense
from minigrad.core.tensor import Tensor
from minigrad.core.views import CopySlices
from minigrad.teach.answer import Answer
from minigrad.teach.difference import Array
from minigrad.teach.mistakes_of_ops import places_written
from minigrad.teach.recurrences import recurrences
from minigrad.teach.uses import Graph, called, plan_of_node
from minigrad.teach.whole import Places, Table, mistake_in

FEW = 200  # pairs of steps between which the derivatives may be missing
SUMS = ("add", "sub", "neg")
CHOICES = ("where", "maximum", "minimum", "fmax", "fmin")
AT_A_NODE: Table = []
REARRANGED: Table = []  # tried later: there are many orders


def gives(a: Answer, *changes: tuple[Any, Array]) -> bool:
    """Do these changes to the gradients of these nodes give the student's array?"""
    effects = [a.graph.changes({node: change}).get(a.target, 0) for node, change in changes]
    return a.gives(a.right + sum(effects))


@mistake_in(AT_A_NODE, "missing_path")
def _nothing(a: Answer) -> Places:
    """All entries are 0, as if {x} had no influence on the result.

    Look for a path from {x} to the result, and follow it back.
    """
    if not np.any(a.mine) and np.any(a.right):
        yield {}


@mistake_in(AT_A_NODE, "missing_path")
def _only_this_path(a: Answer) -> Places:
    """Only one path was followed: your gradient is the part of {x}'s gradient through {op}{line}.
    The other uses were left out.

    The gradient of a tensor that is used several times is the sum over its uses.
    """
    graph = a.graph
    parts = [(u, u.parent, u.passed) for u in graph.paths if u.fan_in > 2 and not u.part]
    for node, uses in graph.edges_of.items():  # such as the loss after the first steps of a loop
        parts += [(uses[0], node, graph.gradients[node])] if len(uses) > 1 else []
    for use, node, g in parts:
        part = graph.changes({node: np.asarray(g)}).get(graph.target)
        if part is not None and a.gives(part):
            yield {"use": use}


@mistake_in(AT_A_NODE, "upstream_ignored")
def _for_all_operands(a: Answer) -> Places:
    """The gradient that arrives at {op}{line} was left out: the derivative of the operation was not
    multiplied by it.

    Each rule is multiplied by g, the gradient of the operation's result.
    """
    for use, *others in a.graph.edges_of.values():
        if not others and use.op is not None:
            continue  # the rule of a single operand is in the table
        g = np.asarray(a.graph.gradients[use.node])
        if not np.all(g == 1) and gives(a, (use.node, (1 - g).astype(g.dtype))):
            yield {"use": use}


@mistake_in(AT_A_NODE, "upstream_only", several=True)
def _to_all_operands(a: Answer) -> Places:
    """The incoming gradient of {op}{line} was passed on unchanged to each operand: the
    operation's derivatives are missing.

    Multiply g by the derivative of the operation with respect to each operand.
    """
    for uses in a.graph.edges_of.values():
        use = uses[0]
        if len(uses) < 2 or not use.elementwise:
            continue
        given = [(u, d) for u in uses if (d := u.fit(u.g)) is not None]
        if gives(a, *((u.parent, d - u.passed) for u, d in given)):
            yield {"use": use, "also": ("upstream_ignored",) if np.all(use.g == 1) else ()}


@mistake_in(AT_A_NODE, "double_counted")
def _a_link_in_every_path(a: Answer) -> Places:
    """{m} the derivative of {op}{line}, and not only the path through it.

    Multiply each path by the derivatives of its own operations, and add the paths.
    """
    # As for exp in Poisson regression, whose gradient is  exp(x) - y.
    for use in (u for u in a.graph.paths if u.of_one and u.fan_in > 1 and not u.part):
        g, share = a.graph.gradients[use.parent], use.share()
        if share is None or share.shape != np.shape(g) or share.size < 2 or not np.ptp(share):
            continue
        n, z = a.graph.called(use.parent), a.graph.called(use.node)
        if gives(a, (use.parent, np.asarray(g * share - g))):
            yield {"use": use, "m": f"Every path to {n} was multiplied by"}
        elif np.all(share) and gives(a, (use.parent, np.asarray(g / share - g))):
            m = f"This is the gradient with respect to {z}, and not to {n}: every path was divided by"
            yield {"use": use, "m": m, "kind": "forgot_inner", "also": ("upstream_only",)}


@mistake_in(AT_A_NODE, "tangent_for_gradient")
def _in_the_direction_of_the_loop(a: Answer) -> Places:
    """In your backward pass, the loop over the entries of {n} runs in the direction of the forward pass.

    Each step reads the one before it, so the gradient goes back from the last step to the first.
    """
    graph = a.graph
    gradients = graph.gradients
    for r in recurrences(graph):
        states = [n for n in (r.start, *r.states) if n is not None and gradients[n].size == 1]
        read = {u.parent for u in graph.paths if u.op_name == "getitem" and u.fan_in > 2}
        for node in (n for n in read if gradients[n].size == len(states) > 2):
            # rows[k]: what a gradient of 1 at state k passes on to each entry
            passed = [graph.changes({n: np.ones_like(gradients[n])}) for n in states]
            rows = np.array([np.ravel(to.get(node, 0 * gradients[node])) for to in passed])
            # own[k]: the gradient of state k without what comes from the next state
            after = [*(graph.changes({n: gradients[n]}) for n in states[1:]), {}]
            own = [gradients[n] - to.get(n, 0) for n, to in zip(states, after, strict=True)]
            first = np.argmax(rows != 0, 0)  # the step that reads each entry
            jacobian, g = rows[first], np.ravel(own)[first]
            d = (jacobian - jacobian.T) @ g
            if gives(a, (node, d.reshape(gradients[node].shape))):
                use = next((u for u in graph.paths if u.node is r.states[-1]), graph.paths[0])
                yield {"use": use, "n": graph.names.get(node, "a tensor")}


@mistake_in(AT_A_NODE, "mask_missing")
def _one_branch(a: Answer) -> Places:
    """{op}{line} has two branches, and the derivative of one of them was used for every entry.

    The gradient of each entry goes to the branch that was chosen there.
    """
    for both in a.graph.edges_of.values():
        if both[0].op_name not in CHOICES or len(both) != 2:
            continue
        for taken, left in (both, both[::-1]):
            if (everywhere := taken.fit(taken.g)) is None:
                continue
            if gives(a, (taken.parent, everywhere - taken.passed), (left.parent, -left.passed)):
                yield {"use": both[0]}


@mistake_in(AT_A_NODE, "mask_missing")
def _write_ignored(a: Answer) -> Places:
    """{op}{line} overwrites a part of a tensor, and in your backward pass the write is missing.

    The gradient of an overwritten entry goes to the value that was written, not to the old value.
    """
    for uses in a.graph.edges_of.values():
        first, node = uses[0], uses[0].node
        if isinstance(node, CopySlices) and node.keeps and first.k == 0:
            g = a.graph.gradients[node]
            if np.any(first.passed[places_written(first)]):
                continue  # the new value depends on the old one
            if gives(a, *((u.parent, (g if u.k == 0 else 0) - u.passed) for u in uses)):
                yield {"use": uses[0]}


@mistake_in(AT_A_NODE, "mask_missing")
def _through_detach(a: Answer) -> Places:
    """{op}{line} reads values that are cut off from {n} by detach(), but your gradient passes there
    as if they were not.

    A detached tensor is a constant: its gradient is 0.
    """
    for use in (u for u in a.graph.uses if u is u.twins[0] and u.beside not in u.origins):
        c = use.values.get(use.beside)
        if not isinstance(c, np.ndarray) or c.size < 3 or not np.ptp(c):
            continue
        for n, t, times in _cut_off(a, c, {u.parent for u in use.twins}):
            d = use.formula(use.g, use.beside)
            if d is not None and d.shape == c.shape:
                part = a.graph.part_through(t, times * d)
                if part is not None and a.gives(a.right + part):
                    yield {"use": use, "n": n}


def _cut_off(a: Answer, c: Array, others: set[Any]) -> Iterator[tuple[str, Any, Array]]:
    """Name, tensor v and factors for which  c = r + factors * v,  where r is 0 or a constant with a name."""
    # As in  r + gamma * (1 - done) * v.detach(). With factors of its own for each entry, anything would do.
    given = (*a.graph.constants, *a.graph.arrays.values())
    rest = [0 * c, *(v for v in given if v.shape == c.shape and v is not c)]
    tensors = a.graph.variables | a.graph.products
    for r, (n, t) in product(rest, [*tensors.items(), *_parts(tensors, c.shape)]):
        v = t.array
        if v.shape == c.shape and np.ptp(v) and np.all(v):
            times = (c - r) / v
            kept = times[np.abs(times) > 1e-6]  # those that a mask keeps
            if not kept.size or np.ptp(kept) > 1e-5 * np.max(np.abs(kept)):
                continue
            if t.node not in others or np.ptp(times) < 1e-9:  # times c, v would be there twice
                yield n, t, times


def _parts(tensors: dict[str, Tensor], shape: tuple[int, ...]) -> Iterator[tuple[str, Tensor]]:
    """The parts of tensors with this shape, as values of the next state are detached."""
    with enable_grad():
        for name, t in tensors.items():
            longer = t.ndim > 0 and len(t) == shape[0] + 1
            parts = [(f"{name}[1:]", t[1:]), (f"{name}[:-1]", t[:-1])] if longer else [(name, t)]
            for n, part in parts:
                if part.shape[:-1] == shape:
                    yield f"{n}.max(-1)", part.amax(-1)
                elif longer and part.shape == shape:
                    yield n, part


@mistake_in(AT_A_NODE, "swapped_operands")
def _rules_exchanged(a: Answer) -> Places:
    """The gradients of the two operands of {op}{line} are swapped.

    Write down the rule of each operand next to its name.
    """
    for uses in a.graph.edges_of.values():
        if len(uses) != 2 or uses[0].op_name in CHOICES:
            continue  # for a condition, that is the inverted mask
        x, y = uses
        if x.passed.shape != y.passed.shape:
            continue
        if gives(a, (x.parent, y.passed - x.passed), (y.parent, x.passed - y.passed)):
            yield {"use": x}


@mistake_in(REARRANGED, "exchanged")
def _in_another_order(a: Answer) -> Places:
    """The gradients of {n}.

    Check to which tensor each gradient belongs.
    """
    alike: dict[Any, list[Any]] = {}
    for use in (u for u in a.graph.uses if u.op is not None and not u.part):
        nodes = alike.setdefault((use.op_name, use.g.shape), [])
        if use.g.size > 1 and use.node not in nodes:
            nodes.append(use.node)
    for groups, order in islice(chain(*map(_orders, alike.values())), FEW):
        changed: dict[Any, Any] = {}
        for group in groups[::-1]:  # the latest step first
            now = a.graph.changes(changed)
            g = [a.graph.gradients[node] + now.get(node, 0) for node in group]
            changed |= {group[k]: g[m] - g[k] for k, m in enumerate(order) if k != m}
        if a.gives(a.right + a.graph.changes(changed).get(a.target, 0)):
            first = groups[0]
            use = next(u for u in a.graph.uses if u.node is first[0])
            op = "" if use.op_name == "getitem" else called(use.node)
            words = [
                a.graph.names.get(n)
                or (op or f"part {k + 1}") + (a.graph.whereabouts(n) or a.where(n))
                for k, n in enumerate(first)
            ]
            moved = [k for k, m in enumerate(order) if k != m]
            n = " and ".join(words[k] for k in moved) + " are swapped"
            if len(moved) > 2:
                n = f"{', '.join(words)} are in another order: {', '.join(words[k] for k in order)}"
            flipped = len(first) > 2 and list(order) == sorted(order, reverse=True)
            turned = flipped and use.op_name == "getitem"  # like the weights of a window
            kinds = {"kind": "transposed", "also": ("exchanged",)} if turned else {}
            yield {"use": use, "n": n, **kinds}


def _orders(nodes: list[Any]) -> Iterator[tuple[list[list[Any]], tuple[int, ...]]]:
    """The nodes in groups of equal size, one for each step of a recurrence, and each other order of a group."""
    nodes = sorted(nodes, key=lambda node: -node.queue_key)  # as the program made them
    for n in (4, 3, 2):
        groups = [nodes[k : k + n] for k in range(0, len(nodes), n)]
        for order in list(permutations(range(n)))[1:] if len(nodes) % n == 0 else ():
            yield groups, order


# ------------------------------------------------------------------ the pass itself


@mistake_in(REARRANGED, "missing_path")
def _another_engine(a: Answer) -> Places:
    """In your backward pass {n}.

    Start each adjoint from zero, add every part that arrives, and pass it on once, when all have arrived.
    """
    graph = a.graph
    if max(graph.fan_in.values(), default=0) < 2:
        return
    again = graph.changes(graph.gradients)
    once = _breadth_first(graph, repeated=False)
    for kind, words, candidate in (
        ("missing_path", "each part that arrives at a tensor overwrites those before it",
         _passed_on(graph, graph.nodes, lambda old, d: d)),
        ("missing_path", "only the first part that arrives at a tensor counts",
         _passed_on(graph, graph.nodes, lambda old, d: old)),
        ("paths_multiplied", "the parts that arrive at a tensor are multiplied, and not added up",
         _passed_on(graph, graph.nodes, lambda old, d: old * d)),
        ("missing_path", "a tensor passes its adjoint on before all of its parts have arrived",
         _passed_on(graph, once)),
        ("double_counted", "a tensor passes its adjoint on again whenever another part arrives",
         _passed_on(graph, _breadth_first(graph, repeated=True))),
        ("accumulated_twice", "the adjoints are still those of an earlier pass: they were not reset",
         again.get(graph.target)),
    ):  # fmt: skip
        if candidate is not None and a.gives(candidate):
            yield {"kind": kind, "n": words}


def _breadth_first(graph: Graph, repeated: bool) -> list[Any]:
    """The nodes in breadth-first order from the result, each once, or each time it is reached."""
    order: list[Any] = [graph.root]
    for node in order:
        if len(order) > 200:
            break
        for parent in getattr(node, "edges", ()):
            if parent in graph.leading and (repeated or parent not in order):
                order.append(parent)
    return order


def _passed_on(
    graph: Graph, order: Sequence[Any], joined: Callable[[Any, Any], Any] = np.add
) -> Array | None:
    """The gradient if the nodes run in this order, and contributions are combined in this way."""
    adjoints = {graph.root: graph.seed}
    for node in order:
        if node not in adjoints or isinstance(node, AccumulateGrad):
            continue
        parts: dict[Any, Array] = {}  # x * x sends one part to x, the sum of two
        passed = plan_of_node(node).run(adjoints[node], node)
        for parent, d in zip(node.edges, passed, strict=True):
            if d is not None and parent in graph.leading:
                parts[parent] = parts.get(parent, 0) + dense(d)
        for parent, d in parts.items():
            adjoints[parent] = joined(adjoints[parent], d) if parent in adjoints else d
    return adjoints.get(graph.target)


@mistake_in(REARRANGED, "upstream_only")
def _steps_skipped(a: Answer) -> Places:
    """The derivatives from {op}{line} down to {n} are {m}.

    Multiply the incoming gradient by the derivative of each operation on the way.
    """
    graph = a.graph
    names = [n for n in graph.names if n in graph.edges_of]
    names += [graph.target] if graph.fan_in[graph.target] > 1 else []  # else see _stopped
    uses = (u for u in graph.paths if u is u.twins[0])
    pairs = ((u, n) for u in uses for n in names if n.queue_key > u.node.queue_key)
    passed = cache(lambda node: graph.changes({node: np.asarray(graph.gradients[node])}))
    for use, node in islice(pairs, FEW):
        g, part = graph.gradients[use.node], passed(use.node).get(node)  # not through other paths
        if part is None or np.shape(part) != np.shape(g):
            continue
        rows = [("upstream_only", "missing: the incoming gradient was passed on unchanged", g)]
        z = graph.known.get(use.node)
        if z is not None and z.size > 2 and z.shape == part.shape and use.op_name not in SUMS:
            words = "missing: the incoming gradient was multiplied by the result itself"
            rows += [("wrong_argument", words, g * z),
                     ("wrong_argument", "those of a sigmoid", g * z * (1 - z))]  # fmt: skip
        for kind, words, d in rows:
            if gives(a, (node, np.asarray(d - part))):
                yield {"use": use, "n": graph.called(node), "kind": kind, "m": words}
