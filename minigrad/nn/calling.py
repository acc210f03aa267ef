"""Calling a module: `forward`, and the hooks around it.

Without hooks, `module(x)` is `module.forward(x)`. With hooks, the order is:

    forward pre-hooks     can replace the arguments
    forward
    forward hooks         can replace the result

and, when a backward pass goes through the module,

    full backward pre-hooks   get the gradient of the result, and can replace it
    full backward hooks       get the gradients of the arguments and of the result, and
                              can replace those of the arguments

For the last two, the arguments and the result pass through a `BackwardHookFunction`. It does
nothing in the forward pass, and passes the gradients to the hooks in the backward pass.

`register_module_forward_hook` and similar functions add a hook to all modules. Such global hooks run
before the hooks of the module itself.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.function import Function
from minigrad.core.hooks import RemovableHandle
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros
from minigrad.nn.registry import Hooks, Registry, new_hooks


def added(
    hooks: Hooks,
    when: str,
    hook: Callable[..., Any],
    prepend: bool = False,
    handle_type: type[RemovableHandle] = RemovableHandle,
    **marks: bool,
) -> RemovableHandle:
    """Add a hook after the existing hooks of this kind, or before them. The marks: "with_kwargs" and "always"."""
    handle = handle_type(hooks[when], hook, [hooks[mark] for mark in marks])
    for mark, enabled in marks.items():
        if enabled:
            hooks[mark][handle.id] = True
    if prepend:
        hooks[when].move_to_end(handle.id, last=False)
    return handle


def _hooks(when: str) -> property:
    """A property for PyTorch's name of one kind of hooks: `module._forward_hooks.clear()` removes them."""

    def replace(module: "Called", hooks: "OrderedDict[int, Any]") -> None:
        module._get_call_hooks()[when] = hooks

    return property(lambda module: module._get_call_hooks()[when], replace)


class Called(Registry):
    """The part of a module that handles calls."""

    # "before", "after", "backward_before", "backward": the hooks, by when they are called;
    # "with_kwargs", "always": the ids of the hooks that get keywords, or are called after an error
    _call_hooks: Hooks | None = None
    _forward_pre_hooks, _forward_hooks = _hooks("before"), _hooks("after")
    _backward_pre_hooks, _backward_hooks = _hooks("backward_before"), _hooks("backward")
    _forward_pre_hooks_with_kwargs = _forward_hooks_with_kwargs = _hooks("with_kwargs")
    _forward_hooks_always_called = _hooks("always")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result of the module. Every module defines its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        self._registered_kinds  # noqa: B018 - an error before Module.__init__ was called
        if self._call_hooks is None and modes.unusual == modes.light:
            return self.forward(*args, **kwargs)
        return self._call_observed(args, kwargs)

    def _call_observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the module with its hooks, and tell an observer when the call starts and ends."""
        call = self.forward if self._call_hooks is None else self._call_with_hooks
        entered = getattr(modes.state.observer, "module", None)
        if entered is None:
            return call(*args, **kwargs)
        with entered(self):
            return call(*args, **kwargs)

    def _call_with_hooks(self, *args: object, **kwargs: object) -> Any:
        called: set[int] = set()
        result = None
        try:
            for key, before in self._all_hooks("before").items():
                args, kwargs = self._call_pre_hook(key, before, args, kwargs)
            backward = None
            if self._all_hooks("backward") or self._all_hooks("backward_before"):
                backward = BackwardHooks(self)
                args = backward.on_arguments(args)
            result = self.forward(*args, **kwargs)
            for key, after in self._all_hooks("after").items():
                called.add(key)
                result = self._call_forward_hook(key, after, args, kwargs, result)
            return result if backward is None else backward.on_result(result)
        except Exception:
            # Hooks with always_call still run; the first error is the one to report.
            always = self._all_hooks("always")
            for key, after in self._all_hooks("after").items():
                if key in always and key not in called:
                    try:
                        result = self._call_forward_hook(key, after, args, kwargs, result)
                    except Exception as error:
                        warn_user(
                            "module forward hook with ``always_call=True`` raised an exception that was "
                            f"silenced as another error was raised in forward: {error}"
                        )
            raise

    def _all_hooks(self, when: str) -> "OrderedDict[int, Any]":
        """A copy of the hooks of this kind: first the global ones, then the module's own."""
        assert self._call_hooks is not None
        return OF_ALL_MODULES[when] | self._call_hooks[when]

    def _call_pre_hook(
        self, key: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        with_kwargs = key in self._all_hooks("with_kwargs")
        given = hook(self, args, kwargs) if with_kwargs else hook(self, args)
        if given is None:
            return args, kwargs
        if not with_kwargs:
            return (given if isinstance(given, tuple) else (given,)), kwargs
        if not isinstance(given, tuple) or len(given) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
            )
        return given

    def _call_forward_hook(
        self, key: int, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: object
    ) -> Any:
        arguments = (args, kwargs) if key in self._all_hooks("with_kwargs") else (args,)
        given = hook(self, *arguments, result)
        return result if given is None else given

    # ------------------------------------------------------------------ registering

    def _get_call_hooks(self) -> Hooks:
        return self.__dict__.setdefault("_call_hooks", new_hooks())

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward.

        If its result is not None, it replaces the arguments.

        prepend       run it before the existing hooks
        with_kwargs   call hook(module, args, kwargs), which returns None or (args, kwargs)
        """
        return added(self._get_call_hooks(), "before", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args, result) after forward.

        If its result is not None, it replaces the result.

        prepend       run it before the existing hooks
        with_kwargs   call hook(module, args, kwargs, result)
        always_call   also call it if forward raises; the result is None then

        >>> from minigrad import nn, ones
        >>> layer = nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, z: print(z.shape))
        >>> z = layer(ones(1, 2))
        minigrad.Size([1, 3])
        >>> handle.remove()
        """
        hooks = self._get_call_hooks()
        return added(hooks, "after", hook, prepend, with_kwargs=with_kwargs, always=always_call)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) when the gradient of the module's result is known.

        If its result is not None, it replaces grad_output, a tuple.
        """
        return added(self._get_call_hooks(), "backward_before", hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of the arguments are known.

        Both are tuples, with None for arguments or results without a gradient. If the hook's
        result is not None, it replaces grad_input.
        """
        return added(self._get_call_hooks(), "backward", hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like register_full_backward_hook. (PyTorch's older, deprecated kind of hook gets only the
        gradients of the last operation in the module.)"""
        return self.register_full_backward_hook(hook)


OF_ALL_MODULES = new_hooks()
GLOBAL_HOOKS = {  # PyTorch's names of these hooks, in nn.modules.module
    "_global_forward_pre_hooks": "before", "_global_forward_hooks": "after",
    "_global_backward_pre_hooks": "backward_before", "_global_backward_hooks": "backward",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in GLOBAL_HOOKS:
        return OF_ALL_MODULES[GLOBAL_HOOKS[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_global_hooks(name: str, hooks: "OrderedDict[int, Any]") -> None:
    """Replace the hooks of all modules that have this name in PyTorch: `_global_forward_hooks = OrderedDict()`."""
    OF_ALL_MODULES[GLOBAL_HOOKS[name]] = hooks
    _look_for_global_hooks()


def _look_for_global_hooks() -> None:
    """Let modules call the hooks of all modules, if there are any."""
    # A class attribute, for modules without hooks of their own.
    Called._call_hooks = OF_ALL_MODULES if any(OF_ALL_MODULES.values()) else None


class HandleOfAll(RemovableHandle):
    """The handle of a global hook."""

    def remove(self) -> None:
        """Remove the hook. After the last one, calls of modules no longer look for global hooks."""
        super().remove()
        _look_for_global_hooks()


def _add_to_all(when: str, hook: Callable[..., Any], **marks: bool) -> RemovableHandle:
    handle = added(OF_ALL_MODULES, when, hook, handle_type=HandleOfAll, **marks)
    _look_for_global_hooks()
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, args) before the forward of every module."""
    return _add_to_all("before", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call hook(module, args, result) after the forward of every module.

    >>> from minigrad import nn, ones
    >>> with register_module_forward_hook(lambda module, args, z: print(module)):
    ...     z = nn.Sequential(nn.Linear(2, 3), nn.Tanh())(ones(1, 2))
    Linear(in_features=2, out_features=3, bias=True)
    Tanh()
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): Tanh()
    )
    """
    return _add_to_all("after", hook, with_kwargs=with_kwargs, always=always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_output) in the backward pass of every module."""
    return _add_to_all("backward_before", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) in the backward pass of every module."""
    return _add_to_all("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Like register_module_full_backward_hook."""
    return register_module_full_backward_hook(hook)


class BackwardHookFunction(Function):
    """Returns tensors unchanged, and passes their gradients to `watch` in the backward pass."""

    @staticmethod
    def forward(ctx: Any, watch: Callable[..., Any], *tensors: Tensor) -> Any:
        """The tensors, unchanged: one, or a tuple of several."""
        ctx.watch = watch
        ctx.set_materialize_grads(False)
        # New tensors on the same memory, so that each gets this node as its grad_fn.
        passed = tuple(t.detach() for t in tensors)
        return passed if len(passed) > 1 else passed[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the results to the gradients that `watch` returns."""
        return None, *ctx.watch(grads)

    @staticmethod
    def jvp(ctx: Any, watch: None, *tangents: Any) -> Any:
        """The tangents, unchanged."""
        passed = tuple(None if t is None else t.view_as(t) for t in tangents)
        return passed if len(passed) > 1 else passed[0]


class BackwardHooks:
    """The backward hooks for one call of a module, which run in the backward pass.

    The backward pass first reaches the result of the module, where the pre-hooks run, and then
    its arguments, where the hooks run.
    """

    def __init__(self, module: Called) -> None:
        modes.cannot_record("A backward hook of a module")
        self.module = module
        self.before = list(module._all_hooks("backward_before").values())
        self.hooks = list(module._all_hooks("backward").values())
        self.arguments_are_watched = False
        self.shapes: list[Any] = []
        self.grad_output: tuple[Any, ...] | None = None

    def on_arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, passed through a node at which the hooks get their gradients."""
        self.shapes = [(a.shape, a.dtype) if isinstance(a, Tensor) else None for a in args]
        watched, self.arguments_are_watched = passed_through(self._arguments_gradient, args)
        return watched

    def on_result(self, result: Any) -> Any:
        """The result, passed through a node at which the pre-hooks get its gradient."""
        single = not isinstance(result, tuple)
        if single and not isinstance(result, Tensor):
            warn_user(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
        results = (result,) if single else result
        watched, _ = passed_through(self._result_gradient, results)
        if single:
            return watched[0]
        # A named tuple stays one.
        return type(result)(*watched) if hasattr(result, "_fields") else watched

    def _result_gradient(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.before:
            given = hook(self.module, grads)
            if given is not None:
                grads = _from_module_hook(given, grads, "Backward pre hook", "grad_output")
        if self.arguments_are_watched:
            self.grad_output = grads
            return grads
        # The arguments will not get a gradient, so call the hooks now.
        if self.hooks:
            warn_user(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients."
            )
        for hook in self.hooks:
            given = hook(self.module, (None,) * len(self.shapes), grads)
            if given is not None and not (
                isinstance(given, tuple) and all(g is None for g in given)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return "
                    "None or None for all gradients."
                )
        return grads

    def _arguments_gradient(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # the backward pass did not reach the module's result
            return grads
        # As in PyTorch: None for a value that is not a tensor, zeros for a tensor without a gradient.
        grads = tuple(
            zeros(like[0], dtype=like[1]) if g is None and like is not None else g
            for g, like in zip(grads, self.shapes, strict=True)
        )
        for hook in self.hooks:
            given = hook(self.module, grads, self.grad_output)
            if given is not None:
                grads = _from_module_hook(given, grads, "Backward hook", "grad_input")
        self.grad_output = None
        return grads


def _from_module_hook(
    given: object, grads: tuple[Any, ...], who: str, what: str
) -> tuple[Any, ...]:
    """The gradients that a module's hook returned. Raises unless there are as many as it got."""
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(values) != len(grads):
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(values)}, but expected {len(grads)}"
        )
    return values


def passed_through(
    watch: Callable[..., Any], values: Sequence[Any]
) -> tuple[tuple[Any, ...], bool]:
    """The values, with the tensors that require a gradient passed through a BackwardHookFunction.

    watch     maps a tuple with a gradient or None for each value to a tuple of the same length
    returns   the values, and whether any of them requires a gradient
    """
    places = [k for k, v in enumerate(values) if isinstance(v, Tensor) and v.node is not None]
    tensors = [values[k] for k in places]
    if not modes.state.recording or not places:
        return tuple(values), False

    def hooks(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        found: list[Any] = [None] * len(values)
        for k, g in zip(places, grads, strict=True):
            found[k] = g
        left = watch(tuple(found))
        return tuple(left[k] for k in places)

    passed = BackwardHookFunction.apply(hooks, *tensors)
    result = list(values)
    for k, t in zip(places, (passed,) if len(places) == 1 else passed, strict=True):
        result[k] = t
    return tuple(result), True
