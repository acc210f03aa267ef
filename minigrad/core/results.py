"""Nodes with several results: how their gradients are kept apart.

A node waits for one gradient per result. But an edge carries one gradient, and the engine
adds up what arrives. So each result's edge passes through a `Result`, which puts the gradient
into a `Pack` together with the result's number. Packs are added up by number, and the node
unpacks the sum. The engine does not need to know. For a user who looks at `grad_fn` or
`next_functions`, a `Result` shows the node itself and the number.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.core.node import Node, OwnPlan


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
    """The edge for one result of a node."""

    __slots__ = ("number", "owner")

    def __init__(self, owner: Node, number: int) -> None:
        super().__init__(RESULT, (owner,), place=owner.place)
        self.owner, self.number = owner, number


class ResultPlan(OwnPlan):
    """The plan of a Result: packs the gradient."""

    needs = (True,)

    def run(self, g: object, node: Result) -> Sequence[Any]:
        """Say which result the gradient belongs to."""
        return (Pack({node.number: g}),)

    run_tensors = run


RESULT = ResultPlan()


def result(owner: Node, number: int) -> Node:
    """The node for one result of `owner`; the owner itself if the number is negative (it has only one result)."""
    return owner if number < 0 else Result(owner, number)
