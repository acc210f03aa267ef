"""One interface to the tensors of both engines: minigrad's, and PyTorch's if it is imported.

Code that shows graphs (chain.py, dot.py, a tensor's picture) gets nodes and values of tensors here.
For PyTorch's tensors, torch/ adapts them to our interface; it is imported when first needed.
"""

import sys
from functools import cache
from typing import Any, TypeGuard

import numpy as np

from minigrad.core.engine import AnyNode
from minigrad.core.errors import warn_user
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.tensor import Tensor
from minigrad.tape.events import TorchCall
from minigrad.tape.snapshot import Array, Snapshot

OLDEST_TORCH = (2, 6)  # the oldest whose engine we have recorded


def has_torch() -> bool:
    """Is PyTorch imported, and new enough to be recorded? (And not just some package named torch.)"""
    torch: Any = sys.modules.get("torch")
    if torch is sys.modules["minigrad"]:  # a program has put it there
        return False
    return hasattr(torch, "_C") and can_be_recorded(torch.__version__)


@cache
def can_be_recorded(version: str) -> bool:
    """Is this version of PyTorch new enough? Warns, once, if not."""
    major, minor, *_ = version.split(".")
    if (int(major), int(minor)) >= OLDEST_TORCH:
        return True
    warn_user(
        f"PyTorch {version} can't be recorded: tapes show minigrad's tensors only. To fix it, install PyTorch "
        f"{'.'.join(map(str, OLDEST_TORCH))} or newer."
    )
    return False


def tensor_kinds() -> tuple[type[Any], ...]:
    """The available tensor classes."""
    return (Tensor, sys.modules["torch"].Tensor) if has_torch() else (Tensor,)


def node_of(x: Any) -> AnyNode | None:
    """The node at which a backward pass of a tensor would start; None if it requires no gradient."""
    # PyTorch's nodes are adapted to the interface of ours.
    return x.node if isinstance(x, Tensor) else _theirs().torch_node(x)


def is_leaf(node: AnyNode) -> TypeGuard[AccumulateGrad]:
    """Does this node add to the .grad of a leaf?"""
    return node.name() == "AccumulateGrad"


def numbers_of(x: Any) -> Array:
    """The values of a tensor, or of anything that NumPy can convert, as an array."""
    if isinstance(x, Tensor):
        return x.array
    return _theirs().array_of(x) if isinstance(x, tensor_kinds()) else np.asarray(x)


def double_of(mine: Any) -> Array:
    """A hand-derived gradient, a tensor of either engine or numbers, as an array in float64.

    Raises TypeError for anything else, such as the None of a function without a return.
    """
    array = numbers_of(mine)
    if array.dtype.kind not in "fiub":
        given = "None" if mine is None else f"of type {type(mine).__name__}"
        raise TypeError(f"a gradient is a number or an array of numbers, and this is {given}.")
    return array.astype(np.float64)


def gradients_of_torch(z: Any, tensors: list[Any], gradient: object) -> list[Any] | None:
    """Gradients computed by PyTorch; None if an earlier pass has freed the graph of z."""
    return _theirs().torch_gradients(z, tensors, gradient)


def repeat_call(call: TorchCall, operands: dict[str, Any]) -> Any:
    """Call our operation in place of a recorded one of PyTorch. Raises CannotRepeat if there is none."""
    return _theirs().call_ours(call, operands)


def snapshot_of(x: Any) -> Snapshot | None:
    """A snapshot of a tensor; None if it has no numbers."""
    return Snapshot(x) if isinstance(x, Tensor) else _theirs().snapshot(x)


def _theirs() -> Any:
    """The module that adapts PyTorch's tensors to our interface."""
    from minigrad.tape.torch import graph

    return graph
