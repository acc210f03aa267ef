"""Function: user-defined operations, written as in PyTorch.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x ** 2

    z = Cube.apply(x)

`forward` runs without recording; the tape gets one node, whose backward is the user's
`backward`. For the engine this is an ordinary node with a special plan: instead of rules,
the plan calls `backward` (on Tensors, recorded if create_graph is set).
An optional static method `jvp` gives the tangent for forward mode.

A Function with several results has one node, which receives several gradients. Each result
has its own edge, a `Result`, which puts the gradient and the result's number into a Pack.
The engine adds up the packs, and the node unpacks the sum.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import ref

from minigrad.core import dtypes, modes
from minigrad.core.duals import check_size, set_tangent, stripped, tangent_of
from minigrad.core.errors import AutogradError, SavedValueChanged, at, user_line, warn_user
from minigrad.core.inplace import attach, bump, refuse
from minigrad.core.memory import FRESH, make, with_tangents
from minigrad.core.node import Node, OwnPlan, node_type
from minigrad.core.plan import Like, fit, like_of
from minigrad.core.results import Pack, result
from minigrad.core.saved import Hooks, PackedValue
from minigrad.core.tensor import Tensor

__all__ = ["Function", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """The `ctx` of `forward` and `backward`, which carries values from forward to backward.

    needs_input_grad    for each argument of forward: is its gradient needed?
    saved_tensors       the tensors passed to save_for_backward
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._saved: Any = ()
        self.saved_for_forward: tuple[Any, ...] | None = None
        self._versions: tuple[int, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._without_gradient: tuple[Tensor, ...] = ()
        self._materialize = True
        self._node: ref[Node] | None = None  # once there is a node, it holds the saved tensors
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or results of forward. If one is later changed in place, backward raises an error."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type "
                    f"{type(t).__name__}. To store any other value, write  ctx.name = value."
                )
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare which inputs forward has written to. Forward must also return them."""
        check_marked("mark_dirty", tensors)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare which results have no gradient (indices, for example)."""
        check_marked("mark_non_differentiable", tensors)
        self._without_gradient = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """For unused results, should backward get zeros (the default) or None?"""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors. Raises an error if they were freed or have changed."""
        node = None
        if self._node is not None and (node := self._node()) is None:
            raise AutogradError(f"the graph of this {self._name} is gone, with the saved tensors.")
        # Raises BackwardTwice if they were freed.
        entries = tuple(self._saved if node is None else node.saved)
        for k, (entry, version) in enumerate(zip(entries, self._versions, strict=False)):
            if entry is not None and entry.counter.count != version:
                raise SavedValueChanged(
                    f"{self._name} needs saved tensor {k} as it was, but it has changed since (one of the variables "
                    "needed for gradient computation has been modified by an inplace operation: it is at version "
                    f"{entry.counter.count}; expected version {version} instead).{at('changed', entry.counter.place)}"
                )
        return tuple(e.restore(node) if hasattr(e, "restore") else e for e in entries)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of saved_tensors."""
        warn_user("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


class SavedResult:
    """A result of forward, saved by its own node. It does not keep the node alive."""

    def __init__(self, z: Tensor, number: int) -> None:
        self.array, self.counter, self.number = z.array, z._shared_counter(), number
        self.tangents: dict[int, Any] | None = None

    def restore(self, node: Any) -> Tensor:
        """The result as a tensor again, with its node as history, and with its tangents."""
        history = None if node is None else result(node, self.number)
        return with_tangents(make.tensor(self.array, self.counter, history), self.tangents)


class PackedTensor(PackedValue):
    """A tensor passed to save_for_backward, packed by hooks."""

    counter = FRESH

    def __init__(self, entry: Any, hooks: Hooks) -> None:
        self.number = entry.number if isinstance(entry, SavedResult) else None
        x, edge = (entry, entry.node) if self.number is None else (make.wrap(entry.array), None)
        super().__init__(x, edge, hooks)

    def restore(self, node: Any) -> Tensor:
        """The unpacked tensor, with its history."""
        own = None if self.number is None or node is None else result(node, self.number)
        unpacked: Tensor = self.unpacked(own)
        return unpacked


class FunctionNode(Node):
    """The node of a Function. In PyTorch it is the `ctx` itself; ours has all its attributes, like `saved_tensors`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<minigrad.autograd.function.{self.name()} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "plan":
            raise AttributeError(name)
        return getattr(self.plan.ctx, name)


class FunctionPlan(OwnPlan):
    """The plan of a Function's node: passes the gradient on by calling the user's backward."""

    frees = True

    def __init__(
        self,
        cls: type["Function"],
        ctx: FunctionCtx,
        likes: list[Like | None],
        results: list[Like | None],
    ) -> None:
        self.cls, self.ctx, self.likes, self.results = cls, ctx, likes, results
        self.op = FunctionOp(cls)
        # As in PyTorch, `next_functions` and hooks see only the tensors.
        needed = zip(likes, ctx.needs_input_grad, strict=True)
        self.needs = tuple([need for like, need in needed if like is not None])

    def run(self, g: object, node: Node) -> Sequence[Any]:
        """The gradients of the arguments, as arrays; nothing is recorded."""
        with modes.no_grad():
            return [None if d is None else d.array for d in self._backward(g, make.wrap)]

    def run_tensors(self, g: object, node: Node) -> Sequence[Any]:
        """Like `run`, but on Tensors, so that backward is recorded."""
        return self._backward(g, lambda t: t)

    def _backward(self, g: object, wrap: Callable[[Any], object]) -> list[Any]:
        ctx = self.ctx
        gradients = []
        parts = g.parts if isinstance(g, Pack) else {0: g}
        for k, like in enumerate(self.results):
            part = parts.get(k)
            if part is not None:
                gradients.append(wrap(part))
            else:
                gradients.append(like.zeros() if like and ctx._materialize else None)
        cls = self.cls
        if Function.backward not in (cls.backward, cls.vjp):
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        backward = cls.backward if cls.backward is not Function.backward else cls.vjp
        return self._checked(backward(ctx, *gradients))

    def _checked(self, given: object) -> list[Any]:
        """Check the values that backward returned for the arguments, and return those for the edges."""
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        n = len(self.likes)
        if len(values) > n and all(v is None for v in values[n:]):
            values = values[:n]
        if len(values) != n:
            raise RuntimeError(
                f"function {self.cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {n}, got {len(values)}). backward returns one gradient for each argument "
                "of forward, and None for those that have none."
            )
        grads = []
        for k, (d, like, need) in enumerate(
            zip(values, self.likes, self.ctx.needs_input_grad, strict=True)
        ):
            if like is None and d is not None:
                raise RuntimeError(
                    f"function {self.cls.__name__}Backward returned a gradient different than None at "
                    f"position {k + 1}, but the corresponding forward input was not a Variable"
                )
            if not need:
                continue
            if d is not None and not isinstance(d, Tensor):
                raise RuntimeError(
                    f"expected Variable or None (got {type(d).__name__}): function {self.cls.__name__}Backward "
                    f"returned it at position {k + 1}. A gradient is a Tensor or None."
                )
            if d is not None and like is not None:
                try:
                    d = fit(d, like)
                except (ValueError, RuntimeError, IndexError):
                    raise RuntimeError(
                        f"Function {self.cls.__name__}Backward returned an invalid gradient at index "
                        f"{k} - got {list(d.shape)} but expected shape compatible with {list(like.shape)}"
                    ) from None
            grads.append(d)
        return grads


class FunctionOp:
    """Stands in for an op when the tape shows a Function."""

    settings: dict[str, Any] = {}
    view = False

    def __init__(self, cls: type["Function"]) -> None:
        self.cls = cls
        self.name, self.node_name = cls.__name__, f"{cls.__name__}Backward"
        self.formula = (cls.__doc__ or cls.__name__).strip().partition("\n")[0]

    def __call__(self, *args: object) -> object:
        return self.cls.apply(*args)


class Function:
    """The base class of user-defined operations: define `forward`, `backward`, and optionally `jvp`.

    forward(ctx, *args)       computes the result, a Tensor or a tuple of Tensors. If you define
                              `setup_context(ctx, inputs, output)`, it is forward(*args)
    backward(ctx, *grads)     takes one gradient per result; returns one gradient, or None, per
                              argument of forward. You may also call it `vjp`
    jvp(ctx, *tangents)       takes one tangent, or None, per argument; returns the result's tangent

    >>> import minigrad
    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Warn, as PyTorch does: a Function is never made; its class method `apply` is called."""
        warn_user(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke them on the class itself: {type(self).__name__}.apply(x).",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise RuntimeError for the old style MyFunction()(x), as PyTorch does."""
        name = type(self).__name__
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. To fix it, put "
            f"@staticmethod above forward and backward, and write  {name}.apply(x)  for  {name}()(x)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result from the arguments."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of forward's arguments from the gradients of its results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the tangents of forward's results from the tangents of its arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save in ctx what backward will need."""
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record a node for backward if a gradient is needed."""
        ctx = FunctionCtx(f"{cls.__name__}Backward")
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:  # the arguments of forward, in its order
            first = () if separate else (ctx,)
            bound = inspect.signature(cls.forward).bind(*first, *args, **kwargs)
            if separate or bound.kwargs:
                bound.apply_defaults()
            args = bound.args[len(first) :]
        state = modes.state
        recording, levels, observer = state.recording, state.levels, state.observer
        if observer is not None and any(hasattr(a, "__apply_op__") for a in args):
            modes.cannot_record(f"{cls.__name__}, an autograd.Function,")
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.node is not None for a in args)
        wanted = recording and True in ctx.needs_input_grad
        with modes.no_grad(), modes.unobserved(), modes.within("levels", ()):
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
            single = not isinstance(output, tuple)  # a list is one result that is not a Tensor
            outputs = [output] if single else list(output)
            results = [cls._result(z, ctx, args) for z in outputs]
        if output is None:
            raise TypeError(f"{cls.__name__}.forward must return Tensors, not None.")
        for number, z in enumerate(results if recording else ()):
            if getattr(z, "_base", None) is not None and not any(z is d for d in ctx._dirty):
                z.origin = ("Function", cls.__name__, number)  # a write would bypass backward
        node = cls._record(ctx, args, results) if wanted else None
        for level in levels:
            cls._push(ctx, args, results, level)
        for saved in ctx._saved if levels else ():
            if isinstance(saved, SavedResult):
                saved.tangents = results[saved.number]._tangents
        if node is not None:  # the ctx must not keep tensors that a pass will free, or the result
            node.saved, ctx._saved, ctx._node = ctx._saved, (), ref(node)
        wrote, ctx._dirty, ctx._without_gradient = bool(ctx._dirty), (), ()
        returned = results[0] if single else tuple(results)
        if observer is not None:
            observer.forward(FunctionOp(cls), args, returned, {}, wrote)
        return returned

    @classmethod
    def _result(cls, z: Any, ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
        """The value to return for z: z itself, or a view of it if forward returned an input unchanged."""
        if not isinstance(z, Tensor) or any(z is d for d in ctx._dirty):
            return z
        if any(z is a for a in args):
            view = z.view_as(z)
            if any(z is t for t in ctx._without_gradient):
                ctx._without_gradient += (view,)
            return view
        return z if z.node is None else make.tensor(z.array, z._shared_counter(), None)

    @classmethod
    def _record(cls, ctx: FunctionCtx, args: tuple[Any, ...], results: list[Any]) -> Node:
        """Make the node and its edges, and connect the results to it."""
        likes = [like_of(a) if isinstance(a, Tensor) else None for a in args]
        shapes = [like_of(z) if isinstance(z, Tensor) else None for z in results]
        for d in ctx._dirty:
            if not any(d is z for z in results):
                raise AutogradError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
            cls._check_dirty(d, args, len(results))
        plan = FunctionPlan(cls, ctx, likes, shapes)
        edges = tuple(a.node for a in args if isinstance(a, Tensor) and a.node is not None)
        place = user_line() if modes.state.tracing else None
        node = node_type(plan.op.node_name, FunctionNode)(plan, edges, (ctx,), place)
        for d in ctx._dirty:
            bump(d)
        numbers = (-1,) if len(results) == 1 else range(len(results))  # -1: the only result
        for number, z in zip(numbers, results, strict=True):
            if not isinstance(z, Tensor) or not dtypes.is_floating(z.array.dtype):
                continue
            if any(z is t for t in ctx._without_gradient):
                continue
            dtypes.check_not_complex(f"the result of {cls.__name__}", z.array.dtype)
            own = result(node, number)
            if any(z is d for d in ctx._dirty):
                attach(own, z)
            else:
                z.node = own
        pairs = zip(numbers, results, strict=True)
        number_of = {id(z): number for number, z in pairs if isinstance(z, Tensor)}
        ctx._saved = tuple(
            SavedResult(t, number_of[id(t)]) if id(t) in number_of else t for t in ctx._saved
        )
        if modes.state.saved_hooks:
            hooks = modes.state.saved_hooks[-1]
            ctx._saved = tuple(None if e is None else PackedTensor(e, hooks) for e in ctx._saved)
        ctx._versions = tuple(0 if e is None else e.counter.count for e in ctx._saved)
        return node

    @classmethod
    def _check_dirty(cls, d: Tensor, args: tuple[Any, ...], count: int) -> None:
        """Refuse d, which forward has marked as dirty, if its new history would not fit.

        count    the number of results
        """
        if not any(d is a for a in args):
            message = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty()."
            )
            if d._base is not None:
                raise AutogradError(message)
            warn_user(message)
        refuse(d, [d.node])
        if d._base is not None and count > 1:
            raise AutogradError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                f"return more than one Tensor. To fix it, pass x.clone() to {cls.__name__}, or write a Function for "
                "the write alone."
            )

    @classmethod
    def _push(cls, ctx: FunctionCtx, args: tuple[Any, ...], results: list[Any], level: int) -> None:
        """Forward mode: compute the results' tangents with the user's jvp."""
        tangents = [tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
        if all(t is None for t in tangents):
            return
        if ctx._materialize:
            for k, a in enumerate(args):
                moves = isinstance(a, Tensor) and dtypes.is_floating(a.array.dtype)
                if moves and tangents[k] is None:
                    tangents[k] = like_of(a).zeros()
        versions = [0 if t is None else t._version for t in tangents]
        for_backward = ctx._saved, ctx._versions
        for_forward = ctx.saved_for_forward
        if for_forward is not None:  # otherwise jvp sees the values saved for backward
            ctx._saved, ctx._versions = for_forward, ()
        ctx._saved = tuple(stripped(t, level) if isinstance(t, Tensor) else t for t in ctx._saved)
        ctx.saved_for_forward = None if for_forward is None else ctx._saved
        try:
            given = cls.jvp(ctx, *tangents)
        finally:
            ctx._saved, ctx._versions = for_backward
            ctx.saved_for_forward = for_forward
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(values) != len(results):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(results)} but got "
                f"{len(values)}): one for each result of {cls.__name__}, or None."
            )
        for k, (z, z_dot) in enumerate(zip(results, values, strict=True)):
            if z_dot is not None and isinstance(z, Tensor):
                cls._check_tangent(ctx, k, z, z_dot, level)
                for a, given_dot, version in zip(args, tangents, versions, strict=True):
                    if a is z and given_dot is not None and any(z is d for d in ctx._dirty):
                        cls._check_written(z_dot, given_dot, version)
                set_tangent(z, level, z_dot)

    @classmethod
    def _check_tangent(cls, ctx: FunctionCtx, k: int, z: Tensor, z_dot: Any, level: int) -> None:
        """Raise RuntimeError if z_dot cannot be the tangent of z, result k."""
        if not isinstance(z_dot, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(z_dot).__name__}) for grad output {k} of {cls.__name__}'s jvp."
            )
        check_size(z, z_dot)
        if any(z is t for t in ctx._without_gradient):
            raise RuntimeError(
                f"The jvp of {cls.__name__} returned a tangent at position {k} for a result that is marked as "
                "non-differentiable. You should return None at that position instead."
            )
        shared = z._base is not None and tangent_of(z._base, level) is not None
        if shared and z_dot._base is None and not any(z is d for d in ctx._dirty):
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                "view: the tangent of a view is that of its base. To fix it, return x.clone() from forward."
            )

    @staticmethod
    def _check_written(z_dot: Tensor, given: Tensor, version: int) -> None:
        """Raise AutogradError if forward has written to an argument, but jvp not to its tangent."""
        if z_dot is not given or given._version == version:
            raise AutogradError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace. To "
                "fix it, write to the tangent in jvp, and return it."
            )


class InplaceFunction(Function):
    """An older name for the base class of a Function that writes to its argument."""


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot itself be differentiated.

    It runs without recording. Asking for a second derivative raises an error.
    """

    def once(ctx: Any, *grads: Any) -> Any:
        with modes.no_grad():
            given = backward(ctx, *grads)
        followed = any(isinstance(g, Tensor) and g.node is not None for g in grads)
        if not (modes.state.recording and followed):
            return given
        values = given if isinstance(given, tuple) else (given,)
        with modes.unobserved():
            marked = tuple(
                _Once.apply(v.detach().requires_grad_()) if isinstance(v, Tensor) else v
                for v in values
            )
        return marked if isinstance(given, tuple) else marked[0]

    return staticmethod(once) if isinstance(backward, staticmethod) else once


class _Once(Function):
    """The identity, with an error as its backward: for a gradient that has no gradient itself."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def check_marked(name: str, tensors: Sequence[Any]) -> None:
    """Raise AutogradError if an argument of a ctx.mark_... method is not a tensor."""
    for k, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise AutogradError(
                f"{name} can only accept variables, but argument {k} is of type {type(t).__name__}."
            )
