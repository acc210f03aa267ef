"""PyTorch's names for parts of the graph: Node, and hooks on saved tensors.

    with saved_tensors_hooks(pack, unpack): ...

Inside the block, each tensor that a node saves is passed to `pack`, and the node keeps the
result instead. The backward pass calls `unpack` on it and uses the tensor it returns. This
lets you store saved values on disk, compress them, count them or print them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from minigrad.core import modes
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.node import Node
from minigrad.core.tensor import Tensor, wrap

__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "get_gradient_edge",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of the node's results the tensor is.

    >>> import minigrad
    >>> get_gradient_edge(minigrad.zeros(2, requires_grad=True).exp())
    GradientEdge(node=<ExpBackward0 reads z>, output_nr=0)
    """

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of the graph that the gradient of a tensor goes along.

    Raises RuntimeError if the tensor requires no gradient.

    >>> import minigrad
    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> get_gradient_edge(x * x).node.name(), get_gradient_edge(x).output_nr
    ('MulBackward0', 0)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node = tensor.node if tensor.grad_fn is None else tensor.grad_fn
    return GradientEdge(node, tensor.output_nr)


class saved_tensors_hooks:
    """A `with` block in which saved tensors go through pack, and later through unpack.

    pack      a tensor -> anything
    unpack    what pack returned -> a tensor with the same values and shape

    >>> import minigrad
    >>> x = minigrad.tensor([3.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), lambda kept: minigrad.tensor(kept)):
    ...     z = x * x
    >>> z.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> Self:
        modes.set_mode("saved_hooks", (*modes.state.saved_hooks, self.hooks))
        return self

    def __exit__(self, *exception: object) -> None:
        modes.set_mode("saved_hooks", modes.state.saved_hooks[:-1])


class save_on_cpu(saved_tensors_hooks):
    """Save copies of the tensors. (There is no other device to move them from.)

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> with save_on_cpu():
    ...     z = x * x
    >>> z.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda t: np.array(t.array), lambda kept: wrap(kept))
