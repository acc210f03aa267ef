"""`grad` and `backward`: run the engine, with PyTorch's names and arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.backward import GradientEdge, root_gradient, root_of, run_backward, run_task
from minigrad.core.engine import AnyNode, GraphTask
from minigrad.core.errors import AutogradError, NoGradient, ShapeError, warn_user
from minigrad.core.modes import state
from minigrad.core.plan import like_of
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.functions import stack

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
ONE = (Tensor, GradientEdge)


def refuse_slots(inputs: Sequence[object]) -> None:
    """Raise RuntimeError for a value of a program: its gradient is asked for in another way."""
    if any(hasattr(x, "recorder") for x in inputs):
        raise RuntimeError(
            "autograd.grad, autograd.backward, functional and func cannot be recorded in a program. To fix it, write "
            "loss.backward() in the step, or record the function alone and ask for program.gradient(wrt=[...])."
        )


def _listed(given: Tensors) -> list[Any]:
    """One tensor or edge, or several, as a list."""
    listed = [given] if isinstance(given, ONE) else list(given)
    refuse_slots(listed)
    return listed


def _one_for_each(
    outputs: Sequence[Any], given: Tensor | Sequence[Tensor | None] | None, what: str, name: str
) -> list[Any]:
    """A list with one gradient per output. If none are given, all are None."""
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
    inputs          add to the `.grad` of these only; tensors and inputs may be gradient edges

    See `Tensor.backward`.

    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    outputs = _listed(tensors)
    gradients = _one_for_each(outputs, grad_tensors, "tensors", "gradients")
    run_backward(outputs, gradients, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs with respect to the inputs, as new tensors.

    outputs            tensors that were computed from the inputs, or their gradient edges
    inputs             tensors that require a gradient, leaves or not; or their gradient edges
    grad_outputs       one gradient for each output, with its shape; optional for scalars
    retain_graph       keep the saved values; by default, the same as create_graph
    create_graph       record the backward pass, so that you can differentiate the gradients
    is_grads_batched   grad_outputs and results have a batch axis in front: one pass per batch entry
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
    zs, xs = _listed(outputs), _listed(inputs)
    nodes = _nodes_of(xs, only_inputs, allow_unused, materialize_grads)
    gradients = _one_for_each(zs, grad_outputs, "outputs", "grad_outputs")
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(zs, xs, gradients, retain, create_graph, allow_unused, materialize_grads)
    tensors = create_graph or bool(state.levels)
    task = GraphTask(
        [root_of(z) for z in zs],
        [root_gradient(z, g, tensors) for z, g in zip(zs, gradients)],
        retain_graph=retain or state.more_examples,
        create_graph=create_graph,
        tensors=tensors,
        inputs=nodes,
        accumulate=False,
    )
    run_task(task)
    grads = _captured(task, nodes, xs, allow_unused or materialize_grads)
    return tuple(_with_zeros(grads, xs, create_graph) if materialize_grads else grads)


def _with_zeros(
    grads: Sequence[Tensor | None], xs: Sequence[Any], requires_grad: bool
) -> list[Tensor]:
    """The gradients, with a new tensor of zeros in place of each None."""
    found = []
    for g, x in zip(grads, xs, strict=True):
        if g is None and isinstance(x, GradientEdge):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge, and the outputs do not "
                "depend on it."
            )
        found.append(like_of(x).zeros().requires_grad_(requires_grad) if g is None else g)
    return found


def _batched(
    zs: Sequence[Any], xs: Sequence[Any], gradients: Sequence[Any], retain: bool, *settings: Any
) -> tuple[Tensor | None, ...]:
    """Run one pass for each entry of a batch of output gradients, and stack the results."""
    for k, (z, g) in enumerate(zip(zs, gradients, strict=True)):
        if isinstance(z, Tensor) and (g is None or g.shape[1:] != z.shape):
            raise ShapeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{k}] has a shape of "
                f"{None if g is None else list(g.shape)} and output[{k}] has a shape of {list(z.shape)}."
            )
    n = len(gradients[0])
    create_graph, allow_unused, materialize_grads = settings
    settings = create_graph, True, allow_unused, False, materialize_grads
    batch = [[g[k] for g in gradients] for k in range(n)]
    rows = [grad(zs, xs, gs, retain or k < n - 1, *settings) for k, gs in enumerate(batch)]
    columns = zip(*rows, strict=True)
    return tuple(None if c[0] is None else stack([g for g in c if g is not None]) for c in columns)


def _nodes_of(
    xs: Sequence[Any],
    only_inputs: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> list[AnyNode]:
    """The nodes of the inputs of `grad`. Raises if arguments contradict each other or an input was not recorded."""
    if not only_inputs:
        warn_user(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient "
            "for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    if not xs:
        raise AutogradError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: False."
        )
    for x in xs:
        if not isinstance(x, ONE):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}"
            )
        if x.node is None:
            raise NoGradient(
                "One of the differentiated Tensors does not require grad: its computation was not "
                "recorded. To fix it, make it with requires_grad=True before it is used."
            )
    return [root_of(x) for x in xs]


def _captured(
    task: GraphTask, nodes: Sequence[AnyNode], xs: Sequence[Any], allow_unused: bool | None
) -> list[Tensor | None]:
    """The gradients that a pass computed for its inputs, as tensors."""
    found: dict[Any, Tensor | None] = {}  # an input that is given twice gets one gradient
    for k, node in enumerate(nodes):
        if node in found:
            continue
        g = task.captured.get(node)
        # Make it contiguous, because programs call view() on it: (gradient.view(n, -1).norm(2, 1) - 1) ** 2
        if g.__class__ is np.ndarray:
            g = wrap(g.copy())
        elif isinstance(g, Tensor):
            g = g if g.is_sparse else g.contiguous()
        elif g is not None:
            g = wrap(np.array(g, order="C"))
        elif not allow_unused:
            raise NoGradient(
                f"The differentiated Tensor at index {k} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        found[node] = g
    return [found[node] for node in nodes]
