"""`grad` and `backward`: run the engine, with PyTorch's names and arguments."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.autograd.graph import GradientEdge
from minigrad.core.backward import root_gradient, root_of, run_backward, run_task
from minigrad.core.engine import AnyNode, GraphTask
from minigrad.core.errors import AutogradError, NoGradient
from minigrad.core.modes import state
from minigrad.core.plan import like_of
from minigrad.core.tensor import Tensor, wrap

Tensors = Tensor | Sequence[Tensor]


def _one_for_each(
    outputs: Sequence[Tensor], given: Tensor | Sequence[Tensor | None] | None, what: str, name: str
) -> list[Any]:
    """The gradient of each output; None for each if none is given."""
    if given is None:
        return [None] * len(outputs)
    gradients = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} {what} and {len(gradients)} {name}")
    return gradients


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradient of the sum of the tensors to each leaf's `.grad`.

    grad_tensors    one gradient for each tensor, with its shape; optional for scalars

    See `Tensor.backward`.

    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    outputs = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    gradients = _one_for_each(outputs, grad_tensors, "tensors", "gradients")
    run_backward(outputs, gradients, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensors,
    inputs: Tensors | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs with respect to the inputs, as new tensors.

    outputs            tensors that were computed from the inputs
    inputs             tensors that require a gradient, leaves or not; or their gradient edges
    grad_outputs       one gradient for each output, with its shape; optional for scalars
    retain_graph       keep the saved values; by default, the same as create_graph
    create_graph       record the backward pass, so that you can differentiate the gradients
    allow_unused       return None for an input that the outputs do not depend on
    materialize_grads  return zeros for such an input
    returns            one gradient for each input; `.grad` is not changed (only_inputs is ignored)

    Raises NoGradient for an input that the outputs do not depend on, unless allowed.

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> first, = grad(x ** 3, x, create_graph=True)
    >>> second, = grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    zs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    xs = _targets(inputs)
    _check_arguments(xs, only_inputs, is_grads_batched, allow_unused, materialize_grads)
    gradients = _one_for_each(zs, grad_outputs, "outputs", "grad_outputs")
    tensors = create_graph or bool(state.levels)
    task = GraphTask(
        [root_of(z) for z in zs],
        [root_gradient(z, g, tensors) for z, g in zip(zs, gradients, strict=True)],
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        tensors=tensors,
        inputs=[x.node for x in xs if x.node is not None],
        accumulate=False,
    )
    run_task(task)
    grads = _captured(task, xs, allow_unused or materialize_grads)
    if materialize_grads:  # zeros, each its own
        zeros = (like_of(x).zeros().requires_grad_(create_graph) for x in xs)
        grads = [z if g is None else g for g, z in zip(grads, zeros, strict=True)]
    return tuple(grads)


class _Target(NamedTuple):
    """A gradient edge as an input of `grad`: the node whose gradient is asked for."""

    node: AnyNode


def _targets(inputs: Any) -> list[Any]:
    """The inputs as a list; of an edge, what has its node."""
    xs = [inputs] if isinstance(inputs, Tensor | GradientEdge) else list(inputs)
    return [_Target(x.ownership_token or x.node) if isinstance(x, GradientEdge) else x for x in xs]


def _check_arguments(
    xs: Sequence[Any],
    only_inputs: bool,
    is_grads_batched: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> None:
    """Refuse arguments of `grad` that contradict each other, and inputs that were not recorded."""
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient "
            "for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=3,
        )
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched: call grad once for each gradient instead.")
    if not xs:
        raise AutogradError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: False."
        )
    for x in xs:
        if not isinstance(x, Tensor | _Target):
            raise TypeError(f"inputs must be Tensors, but got {type(x).__name__}.")
        if materialize_grads and not isinstance(x, Tensor):
            raise TypeError("materialize_grads needs tensors: of an edge, the shape is not known.")
        if x.node is None:
            raise NoGradient(
                "One of the differentiated Tensors does not require grad: its computation was not "
                "recorded. To fix it, make it with requires_grad=True before it is used."
            )


def _captured(
    task: GraphTask, xs: Sequence[Tensor | _Target], allow_unused: bool | None
) -> list[Tensor | None]:
    """The gradients that a pass has found for its inputs, as tensors."""
    found: dict[Any, Tensor | None] = {}  # an input that is given twice gets one gradient
    for k, x in enumerate(xs):
        if x.node in found:
            continue
        g = task.captured.get(x.node)  # type: ignore[arg-type]
        if g is None and not allow_unused:
            raise NoGradient(
                f"The differentiated Tensor at index {k} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        # Make it contiguous, because programs call view() on it: (gradient.view(n, -1).norm(2, 1) - 1) ** 2
        if isinstance(g, Tensor):
            g = g if g.is_sparse else g.contiguous()
        elif g is not None:
            g = wrap(np.array(g, order="C"))
        found[x.node] = g
    return [found[x.node] for x in xs]
