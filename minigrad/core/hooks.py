"""Hooks: user functions that are called during a backward pass.

Gradients flow through nodes, so hooks are attached to nodes:

    before    on the gradient of one result, before it enters the node  (Tensor.register_hook,
              Node.register_prehook; retain_grad, which only stores the gradient)
    after     after the node has run  (Node.register_hook), or after a leaf's `.grad` has been
              updated  (Tensor.register_post_accumulate_grad_hook)

Nodes without hooks have no overhead: the first hook on a node replaces its plan with a
`Hooked` plan, which calls the hooks before and after the original plan.

Hooks get Tensors, even when the pass itself computes with plain arrays.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from itertools import count
from typing import Any, Self

from minigrad.core import modes
from minigrad.core.memory import make

Hook = Callable[..., Any]
_next_id = count().__next__


class RemovableHandle:
    """Returned when a hook is registered: `remove()` removes the hook."""

    def __init__(
        self, hooks: "OrderedDict[int, Hook]", hook: Hook, marks: Sequence[dict[int, Any]] = ()
    ) -> None:
        self.id = _next_id()
        self._hooks, self._marks = hooks, marks  # marks: other dicts with this hook's id as a key
        hooks[self.id] = hook

    def hooks_dict_ref(self) -> "OrderedDict[int, Hook]":
        """The dict of hooks that contains this one, with its `id` as the key."""
        return self._hooks

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        for kept in (self._hooks, *self._marks):
            kept.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


class Hooked:
    """A plan with hooks around it.

    on_result   hooks of the tensor: each may replace the gradient of the result
    keep        the hook of retain_grad; runs after on_result
    before      hooks of the node: get a tuple of gradients, and may return another one. They do not
                run if the pass ends at the node because the gradient of its result was requested
    finally_    hooks of a leaf; run when its `.grad` is up to date
    after       hooks of the node: get its outgoing and incoming gradients
    """

    into = None  # the rules must run, for the hooks

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.on_result: OrderedDict[int, Hook] = OrderedDict()
        self.keep: Hook | None = None
        self.before: OrderedDict[int, Hook] = OrderedDict()
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self.finally_: OrderedDict[int, Hook] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)  # op, needs, reads, frees, ...: the plan's own

    def toward(self, edges: Sequence[Any], nodes: Container[Any]) -> "Hooked":
        """The same hooks around the plan for only some of the gradients; see Plan.toward."""
        plan = self.plan.toward(edges, nodes)
        hooked = Hooked(plan)
        vars(hooked).update(vars(self), plan=plan)
        return hooked

    def arrive(self, g: Any, tensors: bool) -> Any:
        """Call the tensor's hooks on the incoming gradient; they may replace it."""
        if not self.on_result and self.keep is None:
            return g
        seen = g if tensors else make.wrap(g)
        with modes.set_grad_enabled(modes.state.recording and tensors):
            for hook in list(self.on_result.values()):
                seen = _replaced(hook(seen), seen, hook)
            if self.keep is not None:
                self.keep(seen)
        seen = seen if tensors else seen.array
        self._report("before", len(self.on_result), [g], [seen])
        return seen

    def enter(self, g: Any, tensors: bool) -> Any:
        """Call the node's pre-hooks on the complete incoming gradient; they may replace it."""
        if not self.before:
            return g
        seen = self._gradients_of_results(g, tensors)
        with modes.set_grad_enabled(modes.state.recording and tensors):
            for hook in list(self.before.values()):
                given = hook(seen)
                if given is not None:
                    seen = tuple(map(_replaced, _from_node_hook(given, seen, hook), seen))
        parts = [d if tensors or d is None else d.array for d in seen]
        if hasattr(g, "parts"):
            return type(g)({k: d for k, d in enumerate(parts) if d is not None})
        self._report("before", len(self.before), [g], parts)
        return parts[0]

    def _gradients_of_results(self, g: Any, tensors: bool) -> tuple[Any, ...]:
        """The gradient of each result of the node, as Tensors; None where none has arrived.

        g   the gradient; for a node with several results, a Pack (see results.py)
        """
        wrap: Callable[[Any], Any] = (lambda d: d) if tensors else make.wrap
        if not hasattr(g, "parts"):
            return (wrap(g),)
        return tuple(
            [wrap(g.parts[k]) if k in g.parts else None for k in range(len(self.plan.results))]
        )

    def _report(self, when: str, hooks: int, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Tell the observer how hooks changed a gradient, if it has a `hooked` method."""
        if hooks:
            modes.tell("hooked", when, hooks, before, after)

    def depart(self, grads: Sequence[Any], g: object, node: Any, tensors: bool) -> Sequence[Any]:
        """Call the hooks on the outgoing gradients; they may replace them."""
        if not (self.after or self.finally_):
            return grads
        departing = grads
        self._report("finally", len(self.finally_), (getattr(node, "grad", None),), ())
        with modes.set_grad_enabled(modes.state.recording and tensors):
            for hook in list(self.finally_.values()):
                variable = node.variable
                if (z := hook(variable)) is not None and z is not variable:
                    kind = RuntimeError if hasattr(z, "array") else TypeError
                    raise kind(
                        "Tensor post accumulate grad hooks should return None. To fix it, write the gradient in "
                        "place, as in  p.grad.mul_(2), on a line of its own, and return nothing."
                    )
            if self.after:
                departing = self._after(grads, g, tensors)
        self._report("after", len(self.after), grads, departing)
        return departing

    def _after(self, grads: Sequence[Any], g: Any, tensors: bool) -> Sequence[Any]:
        """Call the post-hooks of the node. They get None for inputs that need no gradient."""
        needs = self.plan.needs
        given = iter(grads if tensors else [None if d is None else make.wrap(d) for d in grads])
        outgoing = tuple([next(given) if need else None for need in needs])
        incoming = self._gradients_of_results(g, tensors)
        for hook in list(self.after.values()):
            changed = hook(outgoing, incoming)
            if changed is not None:
                outgoing = _from_node_hook(changed, outgoing, hook)
        kept = [d for d, need in zip(outgoing, needs, strict=True) if need] if needs else []
        return kept if tensors else [None if d is None else d.array for d in kept]

    def run(self, g: Any, node: Any) -> Sequence[Any]:
        """Run the plan on arrays, with the hooks before and after it."""
        g = self.enter(self.arrive(g, tensors=False), tensors=False)
        return self.depart(self.plan.run(g, node), g, node, tensors=False)

    def run_tensors(self, g: Any, node: Any) -> Sequence[Any]:
        """Like `run`, but on Tensors, so that everything is recorded."""
        g = self.enter(self.arrive(g, tensors=True), tensors=True)
        return self.depart(self.plan.run_tensors(g, node), g, node, tensors=True)


class Hookable:
    """The base class of Node and AccumulateGrad: a name, and hooks."""

    __slots__ = ()

    def name(self) -> str:
        """The name of the node in PyTorch, like "MulBackward0"."""
        return type(self).__name__

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict in which the user can store data about this node.

        >>> z = minigrad.ones(1, requires_grad=True) * 2
        >>> z.grad_fn.metadata["layer"] = 1
        >>> z.grad_fn.metadata
        {'layer': 1}
        """
        if not hasattr(self, "_metadata"):
            self._metadata: dict[Any, Any] = {}  # type: ignore[misc]  # nodes have room for it
        return self._metadata

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(grad_inputs, grad_outputs) after this node has run. For a leaf, grad_inputs is ()."""
        return RemovableHandle(hooks_of(self).after, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call hook(grad_outputs) before this node runs; it may return other gradients."""
        return RemovableHandle(hooks_of(self).before, hook)


def hooks_of(node: Any) -> Hooked:
    """The `Hooked` plan of a node; the first call creates it."""
    plan = node.plan
    if not isinstance(plan, Hooked):
        plan = node.plan = Hooked(plan)
    return plan


def _from_node_hook(given: Any, before: tuple[Any, ...], hook: Any) -> tuple[Any, ...]:
    """The gradients that a node's hook returned. Raises an error unless it is a tuple of the same length."""
    if not isinstance(given, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(given).__name__}'. To fix it, return (g,)."
        )
    if len(given) != len(before):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values (got "
            f"{len(given)}, but expected {len(before)})"
        )
    return given


def _replaced(given: Any, before: Any, hook: Any = None) -> Any:
    """The gradient after a hook: the one it returned, or the old one if it returned None."""
    if given is None or given is before:
        return before
    if not hasattr(given, "array"):
        raise TypeError(
            f"expected Variable, but hook returned '{type(given).__name__}': a hook returns a Tensor or None."
        )
    if before is not None and given.array.shape != before.array.shape:
        raise RuntimeError(
            f"hook has changed the size of value: the gradient was {before.array.shape}, and the hook "
            f"returned {given.array.shape}."
        )
    if hook is not None and given.array.dtype != before.array.dtype:
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', hook)}' has changed the type of value (was {before.array.dtype} got "
            f"{given.array.dtype}). To fix it, return  g.to({before.dtype})."
        )
    return given
