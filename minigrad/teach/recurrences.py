"""Steps that are alike: those of a loop, or the layers of a model.

    recurrences(graph)              the states h0, h1, h2, ... of each recurrence, the oldest first
    corresponding(graph, states)    the nodes at the same place of each step
    repeated_uses(graph)            the uses of one operation, and those at the same place

Each state is computed from the one before it in the same way. So we look for results of one
operation, with the same path back from each of them to the one before. From there, the steps are
compared operand by operand. A mistake in a loop is made at each step.

Read uses.py first.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from minigrad.core.node import Node
from minigrad.teach.uses import AnyNode, Graph, Use, constant_factor, op_name

BEFORE = 12  # how many earlier results of an operation are tried as the previous state

FUNCTIONS = "functions"  # of one tensor, whichever they are

# the operation of each node, and the position of its operand
OperandPath = tuple[tuple[str, int], ...]


class Recurrence(NamedTuple):
    """The computed states, oldest first; the state before them, if it has a node; and the path between two."""

    states: list[Any]
    start: AnyNode | None
    path: OperandPath

    @property
    def regular(self) -> bool:
        """Are there equally many nodes between all of the states?"""
        keys = [n.queue_key for n in (self.start, *self.states) if isinstance(n, Node)]
        return len(keys) > 2 and len({y - x for x, y in pairwise(keys)}) == 1

    @property
    def before(self) -> list[Any]:
        """The state before each step, for the steps whose state before has a node."""
        return self.states[:-1] if self.start is None else [self.start, *self.states[:-1]]

    def has_steps(self, path: OperandPath, last: Node, before: Node) -> bool:
        """Are there several steps of this recurrence between two of its states, along this path?"""
        return (
            last in self.states
            and before in self.before
            and (self.path * (len(path) // len(self.path)) == path)
        )


def recurrences(graph: Graph) -> Iterator[Recurrence]:
    """The recurrences of the program, the longest ones first for each operation."""
    of_one: dict[str, list[Node]] = {}
    for node in sorted(graph.operands, key=lambda node: node.queue_key):
        of_one.setdefault(op_name(node), []).append(node)
    known: set[tuple[Any, Any]] = set()  # a state, and the one before it
    for nodes in of_one.values():
        all_found: list[Recurrence] = []
        for k, last in enumerate(nodes):
            found: list[Recurrence] = []
            for before in nodes[k + 1 : k + 1 + BEFORE]:
                path = None if (last, before) in known else _path_back(graph, last, before)
                if path is None or any(
                    r.has_steps(path, last, before) for r in [*all_found, *found]
                ):
                    continue
                recurrence = _from_the_last(graph, last, before, path)
                found += [recurrence] if len(recurrence.states) > 1 else []
            regular = [recurrence for recurrence in found if recurrence.regular]
            for recurrence in regular or found:  # the others connect different places in a step
                known |= set(pairwise(recurrence.states[::-1]))
                all_found.append(recurrence)
                yield recurrence


def _from_the_last(graph: Graph, last: Node, before: Any, path: OperandPath) -> Recurrence:
    """The recurrence whose last states are these two; with one state only, there is none."""
    states, here = [last], before
    while here in graph.operands and op_name(here) == op_name(last):
        states.append(here)
        here, same = _at(graph, here, path)
        if not same:
            here = states.pop()
            break
    return Recurrence(states[::-1], here, path)


def repeated_uses(graph: Graph) -> list[tuple[list[Use], list[set[Any]]]]:
    """The uses of one operation, and those at the same place of each step, the oldest first.

    With each group, the states between the steps, for each recurrence; none if it is not in steps.
    Uses with the same constant are at the same place, too.
    """
    graph.repeated = graph.repeated or list(_repeated_uses(graph))  # asked for several times
    return graph.repeated


def _repeated_uses(graph: Graph) -> Iterable[tuple[list[Use], list[set[Any]]]]:
    found: dict[Any, dict[Use, None]] = {}
    between: dict[Any, list[set[Any]]] = {}
    uses = [use for use in graph.paths if use.op is not None and not use.part]
    for use in sorted(uses, key=lambda use: -use.node.queue_key):
        for place in ((use.op_name,), (use.op_name, use.name), (use.op_name, use.parent)):
            found.setdefault(place, {})[use] = None
        if use.of_one and use.op_name not in ("neg", "clone"):
            found.setdefault((FUNCTIONS,), {})[use] = None
        if c := constant_factor(use):
            found.setdefault((use.op_name, c, "in steps"), {})[use] = None
    at = {(use.node, use.position): use for use in uses}
    for states, start, path in recurrences(graph):
        alike = isinstance(start, Node) and op_name(start)  # to the start of other loops like this
        for back, nodes in corresponding(graph, states).items():
            for position in graph.operands[nodes[-1]]:
                group = {at[n, position]: None for n in nodes if (n, position) in at}
                found[tuple(nodes), position] = group
                # a loop in a loop, such as the stages of each step: all of its steps
                found.setdefault(((alike, path, back), position), {}).update(group)
                between.setdefault(frozenset(group), []).append({*states, start})
    of_steps: dict[Any, tuple[list[Use], list[set[Any]]]] = {}
    for place, group in found.items():
        if len(group) > 1:
            in_steps = isinstance(place[0], tuple) or "in steps" in place
            states_of = between.get(frozenset(group), [set()])
            oldest_first = sorted(group, key=lambda use: -use.node.queue_key)
            of_steps[frozenset(group)] = oldest_first, states_of if in_steps else []
    return of_steps.values()


def corresponding(graph: Graph, states: Sequence[Any]) -> dict[tuple[int, ...], list[Any]]:
    """The nodes that correspond to each other, by the path back from each state: the positions of operands."""
    paths: list[tuple[int, ...]] = [()]
    found: dict[tuple[int, ...], list[Any]] = {(): list(states)}
    reached = set(states)
    for path in paths:
        operands = [graph.operands[node] for node in found[path]]
        for position in operands[-1]:
            below = [parents[position] for parents in operands if position in parents]
            inner = [node for node in below if isinstance(node, Node) and node in graph.operands]
            same = len({op_name(node) for node in inner}) == 1 and not reached & set(inner)
            if len(set(inner)) > 1 and same:
                reached |= set(inner)
                paths.append((*path, position))
                found[paths[-1]] = inner
    return found


def _path_back(graph: Graph, node: Node, end: Node) -> OperandPath | None:
    """The shortest path from a node back to another one; None if there is none."""
    paths: dict[Any, OperandPath] = {node: ()}
    for here in (reached := [node]):
        for position, parent in graph.operands.get(here, {}).items():
            if not isinstance(parent, Node) or parent in paths:
                continue
            if parent.queue_key <= end.queue_key:
                paths[parent] = (*paths[here], (op_name(here), position))
                reached.append(parent)
    return paths.get(end)


def _at(graph: Graph, node: Any, path: OperandPath) -> tuple[Any, bool]:
    """The node at the end of a path, None for a constant; and whether the path has the same operations.

    In the first step, a constant may stand in place of the state, and of all that depends on it.
    """
    for name, position in path:
        if node is None:
            return None, True
        if node not in graph.operands or op_name(node) != name:
            return None, False
        node = graph.operands[node].get(position)
    return node, True
