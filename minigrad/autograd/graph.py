"""PyTorch's names for parts of the graph: Node, edges, and hooks on several gradients or on saved tensors.

    with saved_tensors_hooks(pack, unpack): ...

Inside the block, each tensor that a node saves is passed to `pack`, and the node keeps the
result instead. The backward pass calls `unpack` on it and uses the tensor it returns. This
lets you store saved values on disk, compress them, count them or print them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np

from minigrad.core import hooks, modes
from minigrad.core.backward import GradientEdge
from minigrad.core.engine import GraphTask
from minigrad.core.inplace import bump
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import INFERENCE
from minigrad.core.node import Node, reachable
from minigrad.core.plan import like_of
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor, wrap

__all__ = [
    "allow_mutation_on_saved_tensors",
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of the graph along which the gradient of this tensor is passed.

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
    edge = GradientEdge(node, tensor.output_nr, None if node is tensor.node else tensor.node)
    edge.like = like_of(tensor)
    return edge


class MultiGradHook(hooks.RemovableHandle):
    """The handle of a hook on several tensors. `remove()` or the end of a `with` block removes the hook."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], None], first: bool) -> None:
        self._nodes, self._fn, self._first = [t.node for t in tensors], fn, first
        self._open: WeakKeyDictionary[GraphTask, list[Any]] = WeakKeyDictionary()
        self._left: WeakKeyDictionary[GraphTask, int] = WeakKeyDictionary()
        self._handles = [t.register_hook(self._arrival(k)) for k, t in enumerate(tensors)]

    def _arrival(self, index: int) -> Callable[[Tensor], None]:
        def arrive(g: Tensor) -> None:
            task: GraphTask = modes.state.task
            new = task not in self._open
            if new:
                reached = set(reachable(task.roots))
                expected = [
                    n is not None and n in reached and task._leads_to_an_input(n)
                    for n in self._nodes
                ]
                self._open[task], self._left[task] = [None] * len(expected), sum(expected)
            self._open[task][index] = g
            self._left[task] -= 1
            if self._first and new:
                self._fn(g)
            elif not self._first and not self._left[task]:
                self._fn(self._open[task])

        return arrive

    def remove(self) -> None:
        """Remove the hook from all tensors."""
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Any], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> MultiGradHook:
    """Call a function once in each backward pass, with the gradients of several tensors.

    mode    "all": fn(gradients), once all of them have arrived; None for a tensor that this pass
            does not reach. "any": fn(gradient), as soon as the first arrives

    >>> import minigrad
    >>> x, w = minigrad.ones(1, requires_grad=True), minigrad.full((1,), 3.0, requires_grad=True)
    >>> handle = register_multi_grad_hook((x, w), print)
    >>> (x * w).sum().backward()
    [tensor([3.]), tensor([1.])]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    return MultiGradHook(tensors, fn, first=mode == "any")


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
        if modes.state.hooks_refused is not None:
            raise RuntimeError(modes.state.hooks_refused)
        modes.set_mode("saved_hooks", (*modes.state.saved_hooks, self.hooks))
        return self

    def __exit__(self, *exception: object) -> None:
        modes.set_mode("saved_hooks", modes.state.saved_hooks[:-1])


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A `with` block in which using saved-tensor hooks raises a RuntimeError with this message.

    >>> with disable_saved_tensors_hooks("not here"):
    ...     with save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: not here
    """
    if modes.state.saved_hooks:
        raise RuntimeError(error_message)
    outer, modes.state.hooks_refused = modes.state.hooks_refused, error_message
    try:
        yield
    finally:
        modes.state.hooks_refused = outer


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version counter of tensors that were changed outside minigrad, e.g. through their NumPy arrays.

    >>> import minigrad
    >>> x = minigrad.zeros(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        if x.counter is not INFERENCE:  # the writes to inference tensors are not counted
            bump(x)


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


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """A `with` block in which you may write to tensors that the tape has saved.

    Each tensor is copied when it is saved. (PyTorch copies it before the first write, which needs less memory.)
    The backward pass must run in the same block: otherwise it raises AssertionError. Blocks cannot be nested.

    >>> x = minigrad.tensor([3.0], requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.sum().backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self) -> None:
        super().__init__(lambda t: np.array(t.array), self._unpack)

    def __enter__(self) -> Self:
        owners = (getattr(unpack, "__self__", None) for _, unpack in modes.state.saved_hooks)
        if any(isinstance(owner, allow_mutation_on_saved_tensors) for owner in owners):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        return super().__enter__()

    def _unpack(self, kept: Array) -> Tensor:
        if self.hooks not in modes.state.saved_hooks:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded. To fix it, call backward() inside of the with block."
            )
        return wrap(kept)
