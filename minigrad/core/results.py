"""Nodes with several results: keeping their gradients apart.

A node with several results needs one gradient per result, but the engine adds up everything
that arrives at a node. So each result's edge leads to a `Result`, which puts the gradient and
the result's number into a `Pack`. Adding two packs adds the gradients with the same number, and
the node unpacks the sum. The engine needs no special case. In `grad_fn` and `next_functions`,
a user sees the node itself and the number instead of a `Result`.
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
        """Put the gradient into a Pack, with the number of its result."""
        return (Pack({node.number: g}),)

    run_tensors = run


RESULT = ResultPlan()


def result(owner: Node, number: int) -> Node:
    """The Result for one result of `owner`; the owner itself if the number is negative (a single result)."""
    return owner if number < 0 else Result(owner, number)
