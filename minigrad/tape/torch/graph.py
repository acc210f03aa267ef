"""Adapts PyTorch's graph to the interface that `chain` and `make_dot` use."""

from typing import Any

import torch

from minigrad.tape.torch.calls import call_ours
from minigrad.tape.torch.tensors import saved_of, saved_tensors
from minigrad.tape.torch.values import array_of, snapshot, version_of

__all__ = ["TorchNode", "array_of", "call_ours", "snapshot", "torch_gradients", "torch_node"]


class TorchNode:
    """A node of PyTorch's graph. Reading it does not unpack saved tensors."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._array = self.variable = getattr(node, "variable", None)  # of a leaf
        self.plan = self  # for `plan.tensors`: which saved values are tensors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchNode) and self._node is other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def name(self) -> str:
        """ "MulBackward0"."""
        return type(self._node).__name__

    @property
    def next_functions(self) -> list["tuple[TorchNode | None, int]"]:
        """The nodes to which it sends gradients."""
        return [(p and TorchNode(p), output) for p, output in self._node.next_functions]

    @property
    def edges(self) -> "list[TorchNode]":
        """Like next_functions, without inputs that get no gradient."""
        return [parent for parent, _ in self.next_functions if parent is not None]

    def saved_values(self) -> dict[str, tuple[torch.Tensor, int]]:
        """The saved tensors and their versions, except tensors that hooks have packed."""
        return {name: (x, version_of(x)) for name, x in saved_tensors(self._node)}

    @property
    def tensors(self) -> set[str]:
        """The names of its saved tensors."""
        return set(self.saved_values())

    @property
    def freed(self) -> bool:
        """Has a backward pass freed the saved tensors?"""
        freed = [name for name, raw in saved_of(self._node) if getattr(raw, "data", raw) is None]
        try:
            for name in freed:
                getattr(self._node, f"_saved_{name}", None)
        except RuntimeError:
            return True
        return False


def torch_gradients(
    z: torch.Tensor, tensors: list[torch.Tensor], gradient: object
) -> list[torch.Tensor | None] | None:
    """Gradients, computed without changing any .grad; None if the graph of z was freed."""
    g = torch.ones_like(z) if gradient is None else torch.as_tensor(gradient)
    try:
        return list(torch.autograd.grad(z, tensors, g, retain_graph=True, allow_unused=True))
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        return None


def torch_node(tensor: torch.Tensor) -> TorchNode | None:
    """The node at which a backward pass of a tensor starts; None if it requires no gradient."""
    if not tensor.requires_grad:
        return None
    return TorchNode(torch.autograd.graph.get_gradient_edge(tensor).node)
