"""Views, and how writes to shared memory change the tape.

A view op (`x[0]`, `x.T`, `x.reshape(...)`) returns a tensor that shares its base's memory.
The base and its views share one `Counter`, so a write to one of them counts for all.

A view stores its view chain: the view ops that lead from the base to the view, with
their settings. Each of them is a `ViewStep`. With the view chain we can

    replay     apply the chain to the base again, after the base's history has changed
    rewrite    give the base a new history after a view of it was written to

A write to a view changes a part of the base. So the base's new history is a `CopySlices`
node. Its backward takes the gradient of the base and sends the written part through the
write's node; the result replaces that part, and the rest passes through unchanged. The other
views get a new history by applying their view chain to the base again.

The ops in a view chain are rows of the table, so we do not need strides.

Read node.py first. Source: "In-place correctness checks" and CopySlices in PyTorch.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.memory import Tensor
from minigrad.core.node import Node, OwnPlan
from minigrad.core.op import REGISTRY, Op
from minigrad.core.shapes import Array


class ViewStep(NamedTuple):
    """One view op in a view chain."""

    op: Op
    settings: dict[str, Any]


ViewChain = tuple[ViewStep, ...]
Layout = tuple[tuple[int, ...], tuple[int, ...]]  # shape and strides


def apply_chain(x: Any, chain: ViewChain) -> Any:
    """Apply a view chain to x, an array or a Tensor; returns the view at its end."""
    for op, settings in chain:
        x = op.forward(x, **settings) if x.__class__ is np.ndarray else op.apply(x, **settings)
    return x


def view_chain_to(x: Any) -> ViewChain:
    """The view chain from the base to the view x.

    If the base itself was rearranged since (`base.t_()`), the chain starts with the view ops that lead
    back to the layout that x was made from.
    """
    chain: ViewChain = x.view_chain
    undo: dict[Layout, ViewChain] = x.counter.undo
    for back in ((), *undo.values()) if undo else ():
        if _leads_to(x.array, x._base.array, back + chain):
            x.view_chain = back + chain
            return x.view_chain
    return chain


def _leads_to(x: Array, base: Array, chain: ViewChain) -> bool:
    """Does this view chain, applied to the base, give x: the same address, shape and strides?"""
    try:
        return bool(apply_chain(base, chain).__array_interface__ == x.__array_interface__)
    except (ValueError, IndexError, RuntimeError):
        return False  # it started from another layout


def chains_back(
    undo: dict[Layout, ViewChain], step: ViewStep, before: Array, after: Array
) -> dict[Layout, ViewChain]:
    """Earlier layouts of a base -> view chains back to them, updated after `step` was applied in place.

    The current layout needs no entry, so a base that is transposed a million times needs only one.
    """
    undoes_itself = step.op.name in ("transpose", "t")
    last = step if undoes_itself else ViewStep(REGISTRY["view"], {"shape": before.shape})
    now = after.shape, after.strides
    detour = undo.get(now, ())  # `step` led back to an earlier layout: shorten the other chains
    n = len(detour)
    chains = {
        layout: chain[n:] if n and chain[:n] == detour else (last, *chain)
        for layout, chain in undo.items()
        if layout != now
    }
    chains[before.shape, before.strides] = (last,)
    return chains


def without_detour(base: Array, x: Any) -> ViewChain:
    """The view chain of x without its last two view ops, if these cancel out."""
    chain: ViewChain = x.view_chain
    return chain[:-2] if len(chain) > 1 and _leads_to(x.array, base, chain[:-2]) else chain


def axes_in_memory(x: Array) -> tuple[int, ...] | None:
    """The axes of an array, largest strides first; None if it is row-major."""
    if x.flags.c_contiguous:
        return None
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def laid_out(x: Array, axes: tuple[int, ...] | None) -> Array:
    """A copy of the array x with its axes in this order in memory.

    View chains are also applied to the base's gradient. Whether reshape(-1) then gives a view
    that we can write to depends on the memory layout.
    """
    if axes is None:
        return np.array(x, order="C")
    return np.array(x.transpose(axes), order="C").transpose(np.argsort(axes))


def scatter_part(part: Any, chain: ViewChain, like: Array) -> Any:
    """The opposite of `apply_chain`: zeros in the shape of `like`, with `part` where the view is.

    Each view op is undone by its gradient rule, which puts a view's gradient back in place.
    """
    if not chain:
        return part
    op, settings = chain[0]
    part = scatter_part(part, chain[1:], op.forward(like, **settings))
    known = {**settings, "x_shape": like.shape}
    rule = op.rules["x"]
    return rule.formula(part, *(known[name] for name in rule.reads))


def shows(z: Any, x: Array) -> bool:
    """Does the array z, made from x by a view op, share x's memory?"""
    if not isinstance(z, np.ndarray):
        return False
    if z is x or z.base is x:  # also true for an empty array, which has no memory
        return True
    return z.base is not None and (z.base is x.base or np.may_share_memory(z, x))


class CopySlices(Node):
    """The node of a base after part of it was overwritten through a view.

    view_chain    from the base to the view that was written to
    keeps         did the base have a history before the write? If so, the first edge leads to it
    saved         the node of the write, whose first input is the part before the write
    axes          the base's axes in memory order; None: row-major
    """

    __slots__ = ("axes", "keeps", "view_chain", "write")

    def __init__(self, base_node: Any, chain: ViewChain, write: Node, base: Array) -> None:
        """The node of `base`, whose previous node is base_node, after `write` changed a view of it."""
        self.view_chain, self.write, self.axes = chain, write, axes_in_memory(base)
        self.keeps = base_node is not None
        edges = write.edges[1:] if write.plan.needs[0] else write.edges
        if self.keeps:
            edges = (base_node, *edges)
        plan = copy_slices_plan(write.plan.frees, len(edges))
        super().__init__(plan, edges, (write,), write.place)

    @property
    def op(self) -> Op:
        """The op that wrote."""
        return self.write.op

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The base's history before the write, then the history of the value that was written."""
        base = (self.edges[0], 0) if self.keeps else (None, 0)
        return (base, *self.write.next_functions[1:])

    def saved_values(self) -> dict[str, Any]:
        """The values saved by the write's node, by name."""
        return self.write.saved_values()


class CopySlicesPlan(OwnPlan):
    """The plan of a CopySlices node."""

    def __init__(self, frees: bool, edges: int) -> None:
        self.frees, self.needs = frees, (True,) * edges

    def run(self, g: Array, node: CopySlices) -> Sequence[Any]:
        """The written part of g goes through the write's rules; the rest passes through."""
        (write,) = node.saved
        rest = laid_out(g, node.axes)  # our own copy, part of which we overwrite
        part = apply_chain(rest, node.view_chain)
        grads = list(write.plan.run(part.copy(), write))
        part[...] = grads.pop(0) if write.plan.needs[0] else 0
        return [rest, *grads] if node.keeps else grads

    def run_tensors(self, g: Tensor, node: CopySlices) -> Sequence[Any]:
        """Like `run`, but recorded: adds the parts instead of assigning them."""
        (write,) = node.saved
        mask = laid_out(np.ones(g.array.shape, g.array.dtype), node.axes)
        apply_chain(mask, node.view_chain)[...] = 0
        reshape = REGISTRY["reshape"]
        chain = tuple(
            ViewStep(reshape if op.name == "view" else op, s) for op, s in node.view_chain
        )
        grads = list(write.plan.run_tensors(apply_chain(g, chain), write))
        rest = g * mask
        if write.plan.needs[0]:
            rest = rest + scatter_part(grads.pop(0), node.view_chain, mask)
        return [rest, *grads] if node.keeps else grads


copy_slices_plan = cache(CopySlicesPlan)  # nodes with the same arguments share a plan
