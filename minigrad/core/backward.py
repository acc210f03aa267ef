"""Starting a backward pass: the code that `z.backward()` and `autograd.grad` share.

    root_of        the node where a pass starts
    root_gradient  the gradient that it starts with
    run_task       runs the pass, step by step if an observer is watching

Read engine.py first.
"""

import math
import weakref
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.allocator import keep_freed_memory
from minigrad.core.data import as_array
from minigrad.core.engine import AnyNode, GraphTask, Step, contributions
from minigrad.core.engines import engine_named
from minigrad.core.errors import DtypeError, NoGradient, ShapeError, at, warn_user
from minigrad.core.hooks import hooks_of
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import Tensor, make
from minigrad.core.node import Node
from minigrad.core.plan import Like
from minigrad.core.results import Pack, Result
from minigrad.ops.elementwise import to


class _Edge(NamedTuple):
    """The fields of a GradientEdge."""

    node: Any
    output_nr: int
    ownership_token: AnyNode | None = None  # if the node has several results: this one's edge


class GradientEdge(_Edge):
    """The edge that a tensor's gradient flows along: a node, and the tensor's index among its results.

    `autograd.grad` and `backward` accept edges instead of tensors, so you don't have to keep the tensor.

    >>> import minigrad
    >>> from minigrad.autograd.graph import get_gradient_edge
    >>> edge = get_gradient_edge(minigrad.zeros(2, requires_grad=True).exp())
    >>> edge.node.name(), edge.output_nr
    ('ExpBackward0', 0)
    """

    like: Like | None = None  # the shape and dtype of its tensor, if get_gradient_edge has made it

    def retain_grad(self) -> None:
        """Do nothing: there is no tensor to store the gradient in."""


def run_backward(
    outputs: Sequence[Tensor | GradientEdge],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Any,
    engine: str | None = None,
) -> None:
    """`Tensor.backward` for several outputs at once, as in `autograd.backward`."""
    if retain_graph is None:
        retain_graph = create_graph
    if create_graph:
        warn_user(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. To fix it, use autograd.grad, or set .grad to None after use."
        )
    nodes = None
    if inputs is not None:
        wanted = [inputs] if isinstance(inputs, make.Tensor | GradientEdge) else list(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
        nodes = [root_of(x) for x in wanted if x.node is not None]
        if len(nodes) < len(wanted):
            raise NoGradient("One of the differentiated Tensors does not require grad")
        for x in wanted:
            x.retain_grad()  # for a non-leaf tensor; it keeps later gradients as well
    tensors = create_graph or (modes.unusual > 0 and bool(modes.state.levels))
    task = GraphTask(
        [root_of(z) for z in outputs],
        [root_gradient(z, g, tensors) for z, g in zip(outputs, gradients)],
        retain_graph=retain_graph,
        create_graph=create_graph,
        tensors=tensors,
        inputs=nodes,
    )
    run_task(task, engine or modes.state.engine)


def keep_gradient(x: Tensor, node: AnyNode | None = None) -> None:
    """Add a hook that stores the gradient in x.grad to x's node (or to `node`). It does not keep x alive."""
    ref = weakref.ref(x)

    def keep(g: Tensor) -> None:
        tensor = ref()
        if tensor is not None:
            g = g if g.node is not None else make.wrap(np.array(g.array))
            tensor._kept_grad = g if tensor._kept_grad is None else tensor._kept_grad + g

    hooks_of(node or x.node).keep = keep


def run_task(task: GraphTask, engine: str = "graph") -> None:
    """Run a pass: in one go if nobody is watching, otherwise step by step, notifying the observer."""
    keep_freed_memory()
    usual = engine == "graph"
    if task.inputs is not None and not usual:
        raise RuntimeError(f"the {engine} engine visits every leaf, so it does not take inputs=.")
    state = modes.state
    watched = modes.unusual > 0 and (state.observer is not None or (state.anomaly and usual))
    plain = usual and not watched
    outer, state.task = state.task, task
    hooks = state.saved_hooks
    try:
        if plain and (not task.tensors or task.create_graph == state.recording):
            task.run()  # on plain arrays, which are never recorded, or on Tensors to be recorded
            return
        with modes.set_grad_enabled(task.create_graph):
            if plain:
                task.run()
                return
            for _ in watched_steps(task, engine, state.anomaly and usual):
                pass  # each step has been reported
    finally:
        state.task = outer
        # A hook may have entered or left a block of saved-tensor hooks.
        if state.saved_hooks is not hooks:
            modes.set_mode("saved_hooks", hooks)


def watched_steps(
    task: GraphTask, engine: str = "graph", anomaly: bool = False
) -> Generator[Step, None, None]:
    """Run a pass step by step: report each step to the observer, if any, and check it for NaN if asked."""
    run, observer = engine_named(engine), modes.state.observer
    if engine != "graph":  # which does its own counting
        task.waiting = contributions(task.roots, by_path=engine == "recursive")
    error: BaseException | None = None
    if observer is not None:
        observer.backward(task, engine)
    try:
        for step in run(task):
            for parent in step.node.edges if engine != "graph" else ():
                task.waiting[parent] -= 1
            if isinstance(step.node, Result):  # belongs to an edge; not a step of its own
                continue
            if observer is not None:
                observer.step(task, step)
            if anomaly:
                refuse_nan(step)
            yield step
    except GeneratorExit:  # the pass was abandoned
        raise
    except BaseException as e:
        error = e
        raise
    finally:
        task.waiting = {}
        if observer is not None:
            observer.finished(task, error)


def refuse_nan(step: Step) -> None:
    """Raise an error if a step produced a NaN. Used by anomaly detection."""
    node = step.node
    if isinstance(node, AccumulateGrad):
        return
    inputs = [k for k, need in enumerate(node.plan.needs) if need]
    for k, d in zip(inputs, step.grads, strict=False):
        if has_nan(d):
            came = " Its incoming gradient already contained nan." if has_nan(step.g) else ""
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {k}th output.{came}"
                + at("forward", node.place)
            )


def has_nan(g: Any) -> bool:
    """Does a gradient contain a NaN? It may be an array, a Tensor, a RowSparse, or a Pack."""
    if isinstance(g, Pack):
        return any(map(has_nan, g.parts.values()))
    array = getattr(g, "array", g)
    return g is not None and bool(np.isnan(getattr(array, "values", array)).any())


def root_of(z: Any) -> Node | AccumulateGrad:
    """The node where a backward pass from z starts. z is a tensor or its edge."""
    if not isinstance(z, make.Tensor):
        if isinstance(z, GradientEdge):
            return z.ownership_token or z.node
        raise TypeError(f"backward starts from Tensors, but got {type(z).__name__}.")
    if z.node is None:
        raise NoGradient(
            f"element 0 of tensors does not require grad and does not have a grad_fn: {_why_no_node(z)}"
            + (modes.tell("where_it_stopped", z) or "")
        )
    return z.node


def _why_no_node(z: Tensor) -> str:
    """Why nothing was recorded for z, and how to fix it."""
    if z.array.dtype.kind in "biu":
        return (
            f"its dtype is {z.dtype}, and only floating point numbers have gradients. Comparisons, argmax and "
            "int() give such tensors. To fix it, start from the values that they were computed from."
        )
    return (
        "no operation that led to it was recorded. To fix it, make the inputs with requires_grad=True, and "
        "compute outside of no_grad() and without detach() or .data."
    )


def _reshape_fix(wanted: tuple[int, ...], given: tuple[int, ...]) -> str:
    """How to get a gradient of the wanted shape from one of another shape."""
    if wanted == given[::-1]:
        return f"gradient.T, of shape {wanted}"
    sizes = zip(wanted[::-1], given[::-1])
    if len(given) <= len(wanted) and all(n in (1, size) for size, n in sizes):
        return f"z.backward(gradient.expand_as(z)), where z is the tensor of shape {wanted}"
    return f"z.backward(minigrad.ones_like(z)), if each entry of z, {wanted}, counts the same"


def root_gradient(z: Tensor | GradientEdge, gradient: Tensor | None, tensors: bool) -> Any:
    """The gradient that a pass starts with: the given one, or 1 for a scalar."""
    if not isinstance(z, GradientEdge):
        shape, dtype = z.array.shape, z.array.dtype
    elif z.like is not None:
        shape, dtype = z.like.shape, np.dtype(z.like.dtype)
    elif gradient is not None:
        return gradient if tensors else gradient.array
    else:
        raise NoGradient(
            "grad can be implicitly created only for scalar outputs, and this edge does not store a shape. "
            "To fix it, pass a gradient for it, or make the edge with get_gradient_edge(z)."
        )
    if gradient is None:
        if not shape and dtype.kind == "f":
            return make.wrap(dtype.type(1)) if tensors else dtype.type(1)
        if math.prod(shape) != 1:
            raise NoGradient(
                "grad can be implicitly created only for scalar outputs, but this one has the shape "
                f"{shape}. To fix it, reduce it (z.sum().backward()), or pass a weight for each "
                "entry: z.backward(minigrad.ones_like(z))."
            )
        if not dtypes.is_floating(dtype):
            raise DtypeError("grad can be computed only for real scalar outputs")
        one = np.ones(shape, dtype)[()]
        return make.wrap(one) if tensors else one
    g = gradient
    if not isinstance(g, make.Tensor):
        g = make.wrap(as_array(g, dtype).copy())
    if g.array.shape != shape:
        raise ShapeError(
            f"Mismatch in shape: grad_output[0] has a shape of {list(g.array.shape)} and output[0] has "
            f"a shape of {list(shape)}. The gradient is shaped like the tensor it belongs to.",
            fix=_reshape_fix(shape, g.array.shape),
        )
    if g.array.dtype != dtype:
        g = to(g, dtype=dtype)
    return g if tensors else g.array
