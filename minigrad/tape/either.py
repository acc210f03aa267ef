"""Tensors of either engine: minigrad's, and PyTorch's if it is imported.

What looks at a graph (chain.py, dot.py, a tensor's picture) asks here for a tensor's node and its
numbers. PyTorch's are given the form of ours by torch/, which is imported when the first one comes.
"""

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, cast

import numpy as np

from minigrad.core.engine import AnyNode
from minigrad.core.tensor import Tensor
from minigrad.tape.snapshot import Array, Snapshot


def has_torch() -> bool:
    """Is PyTorch imported? (Not only a package of that name.)"""
    return hasattr(sys.modules.get("torch"), "_C")


def tensor_kinds() -> tuple[type[Any], ...]:
    """The types of tensors that there are."""
    return (Tensor, sys.modules["torch"].Tensor) if has_torch() else (Tensor,)


def node_of(x: Any) -> AnyNode | None:
    """The node of a tensor at which a backward pass would start; None without a gradient."""
    if isinstance(x, Tensor):
        return x.node
    return cast(AnyNode, _theirs().torch_node(x))  # it looks like one of ours


def numbers_of(x: Any) -> Array:
    """The entries of a tensor, or of what NumPy makes an array of."""
    if isinstance(x, Tensor):
        return x.array
    if not isinstance(x, tensor_kinds()):
        return np.asarray(x)
    return cast(Array, _theirs().array_of(x))


def gradients_of_torch(z: Any, tensors: list[Any], gradient: object) -> list[Any] | None:
    """The gradients that PyTorch computes; None if an earlier pass has freed the graph of z."""
    return cast(list[Any] | None, _theirs().torch_gradients(z, tensors, gradient))


def again_on_ours(
    tapes: Iterable[Any], z: Any
) -> tuple[Callable[[Any], Tensor | None] | None, str]:
    """What PyTorch computed, computed again by our engine, so that its graph is one of ours.

    Returns a function from PyTorch's tensors to ours, or None and the reason why it cannot be done.
    """
    from minigrad.tape.torch.rerun import CannotRepeat, run_again

    watched = [
        t._torch for t in tapes if t._torch is not None and t._torch.seen.known(z) is not None
    ]
    if not watched:
        return None, "z was not recorded. Record the lines that compute it, with %%autograd"
    try:
        ours = run_again(watched[-1], z)
    except CannotRepeat as error:
        return None, str(error)
    return lambda x: ours.get(watched[-1].seen.known(x)), ""


def snapshot_of(x: Any) -> Snapshot | None:
    """A snapshot of a tensor; None if it has no numbers."""
    if isinstance(x, Tensor):
        return Snapshot(x)
    return cast(Snapshot | None, _theirs().snapshot(x))


def _theirs() -> ModuleType:
    """What gives PyTorch's tensors the form of ours."""
    from minigrad.tape.torch import graph

    return graph
