"""Nodes with several results: how their gradients are kept apart.

A node waits for a gradient per result, but an edge carries one gradient and the engine
adds up what arrives. So each result's edge passes through a `Result`, which packs the
gradient together with the result's number. Packs add up by number, and the node opens
the sum. The engine knows nothing of this; for a user who looks at `grad_fn` or
`next_functions`, a `Result` shows the node itself and the number.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.core.memory import new
from minigrad.core.node import Node, OwnPlan, next_queue_key


class Pack:
    """Some of the gradients that a node with several results expects, by result number."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts

    def __add__(self, other: "Pack") -> "Pack":
        both = dict(self.parts)
        for k, g in other.parts.items():
            both[k] = both[k] + g if k in both else g
        return Pack(both)


class Result(Node):
    """The edge that belongs to one result of a node."""

    __slots__ = ("number", "owner")

    owner: Node
    number: int


class ResultPlan(OwnPlan):
    """How a Result passes a gradient on: packed."""

    needs = (True,)

    def run(self, g: Any, node: Result) -> Sequence[Any]:
        return (Pack({node.number: g}),)

    run_tensors = run


RESULT = ResultPlan()


def result(owner: Node, number: int) -> Node:
    """The node that stands for one result of `owner`; the owner itself if it has only one."""
    if number < 0:
        return owner
    node: Result = new(Result)
    node.plan = RESULT
    node.owner, node.number = owner, number
    node.edges = (owner,)
    node.queue_key = next_queue_key()
    node.place = owner.place
    return node
