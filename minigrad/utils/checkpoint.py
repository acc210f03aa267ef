"""Checkpoints: save nothing in the forward pass, and recompute in the backward pass.

If a part of a model needs a lot of memory for saved values but is cheap to compute, you can wrap it in
a checkpoint. The forward pass then saves only a number in place of each value. When backward needs the
first of them, the function runs again, until it has recomputed all of them.

Source: Griewank and Walther, Algorithm 799: revolve (2000); Chen et al., Training Deep Nets with
Sublinear Memory Cost (2016).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from minigrad import random
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.autograd.reverse_ad import backward
from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.function import Function
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "get_device_states",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The recomputation did not save the same values as the forward pass."""


def checkpoint(
    function: Callable[..., Any],
    *args: object,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Contexts] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: object,
) -> Any:
    """Call function(*args, **kwargs), and recompute its saved values when backward needs them.

    function             runs twice, and must do the same computation both times
    preserve_rng_state   use the same random numbers in both runs, for example for Dropout?
    use_reentrant        False (recommended): the graph contains the nodes of `function`. True, or not passed,
                         with a warning: one node, and its backward pass runs a whole one of `function`.
                         Then an argument must require a gradient, and autograd.grad is refused
    context_fn           returns two context managers, for the first run and for the second
    determinism_check    "default": compare shapes and dtypes of the values saved in both runs; or "none"
    debug                list what both runs have saved, if they differ
    early_stop           end the second run as soon as all values are recomputed

    Raises CheckpointError in the backward pass if the second run saves fewer values than the first, or
    values of another shape or dtype, or, without early_stop, more values.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> z = checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    >>> z.sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    warn_unless_given(use_reentrant)
    one_node = use_reentrant is not False
    if one_node:
        _refuse_of_one_node(context_fn is not None or debug, kwargs)
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    # A program cannot contain the Python code of a backward pass, but the operations of `function`.
    in_program = hasattr(modes.state.observer, "cannot_record")
    if one_node and not in_program:
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if in_program or not modes.state.recording:
        return function(*args, **kwargs)
    restored = _restorable(args)
    frame = _Recomputation(lambda: function(*restored(), **kwargs), second, preserve_rng_state)
    frame.compares = determinism_check == "default"
    frame.set_up(early_stop=early_stop, debug=debug)
    with saved_tensors_hooks(frame.pack, frame.unpack), first, frame.first_run():
        return function(*args, **kwargs)


def _refuse_of_one_node(settings: bool, kwargs: dict[str, object]) -> None:
    """Raise ValueError for what use_reentrant=True does not take: the settings context_fn and debug, and keywords."""
    if settings:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    if kwargs:
        raise ValueError(
            f"Unexpected keyword arguments: {', '.join(kwargs)}. To fix it, pass use_reentrant=False."
        )


class CheckpointFunction(Function):
    """A function as one node, whose backward pass runs it again, and then a backward pass of its own."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., object], preserve_rng_state: bool, *args: object
    ) -> object:
        """function(*args), without a graph."""
        ctx.function = function
        _save(ctx, args)
        ctx.state = random.get_rng_state() if preserve_rng_state else None
        if not any(isinstance(x, Tensor) and x.requires_grad for x in args):
            warn_user("None of the inputs have requires_grad=True. Gradients will be None")
        with modes.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """The gradients of the arguments; those of parameters are added to their `.grad` on the way."""
        if modes.state.task.inputs is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To fix it, pass use_reentrant=False to checkpoint."
            )
        args = [
            x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
            for x in _restored(ctx)
        ]
        with _same_random_numbers(ctx.state), modes.enable_grad():
            results = ctx.function(*args)
        results = (results,) if isinstance(results, Tensor) else results
        gradients_of = {
            z: g
            for z, g in zip(results, gradients, strict=True)
            if isinstance(z, Tensor) and z.requires_grad
        }
        if not gradients_of:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward(list(gradients_of), list(gradients_of.values()))
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in args]


class CheckpointInputs(Function):
    """Saves the arguments of a checkpoint as a node does: through hooks, and watching for changes."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, args: Sequence[object]) -> Tensor:
        """Save the tensors among `args`. `anchor` requires a gradient, so that there is a node."""
        _save(ctx, args)
        return anchor.clone()


def _save(ctx: Any, args: Sequence[object]) -> None:
    """Save the arguments of a checkpoint: tensors as a node does, others as they are."""
    ctx.others = {k: x for k, x in enumerate(args) if not isinstance(x, Tensor)}
    ctx.number = len(args)
    ctx.save_for_backward(*[x for x in args if isinstance(x, Tensor)])


def _restored(ctx: Any) -> list[object]:
    """All arguments, in their order. (A closure over ctx, kept in ctx, would be a cycle, which keeps tensors alive.)"""
    saved = iter(ctx.saved_tensors)
    return [ctx.others[k] if k in ctx.others else next(saved) for k in range(ctx.number)]


def _restorable(args: Sequence[object]) -> Callable[[], list[object]]:
    """A function that gives the arguments of a checkpoint in its second run.

    A checkpoint around this one does not keep them, but recomputes them.
    """
    with modes.unobserved():
        node = CheckpointInputs.apply(zeros(0, requires_grad=True), args).grad_fn
    return lambda: _restored(node)


@contextmanager
def _same_random_numbers(state: Tensor | None) -> Iterator[None]:
    """A `with` block that draws what was drawn from this state on; without one, what comes next."""
    if state is None:
        yield
        return
    with random.fork_rng():
        random.set_rng_state(state)
        yield


def get_device_states(*args: object) -> tuple[list[int], list[Tensor]]:
    """The GPUs of these tensors, and the states of their generators: there are none.

    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(devices: list[int], states: list[Tensor]) -> None:
    """No effect: GPU generators do not exist here. See `random.set_rng_state`.

    >>> set_device_states(*get_device_states())
    """


def warn_unless_given(use_reentrant: bool | None, function: str = "") -> None:
    """Warn, as PyTorch does, if use_reentrant is not passed."""
    if use_reentrant is None:
        warn_user(
            f"torch.utils.checkpoint{function}: the use_reentrant parameter should be passed explicitly. To fix it, "
            "pass use_reentrant=False, which is recommended.",
        )


# None: the setting of each checkpoint
_forced: dict[str, bool | None] = {"early_stop": None, "debug": None}


@contextmanager
def _force(name: str, value: bool | None) -> Iterator[None]:
    """A `with` block in which this setting of checkpoints has this value."""
    outer, _forced[name] = _forced[name], value
    try:
        yield
    finally:
        _forced[name] = outer


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """A `with` block that sets `early_stop` for the checkpoints created in it.

    >>> import minigrad
    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     z = checkpoint(lambda x: (x.exp(), print("runs"))[0], x, use_reentrant=False)
    runs
    >>> z.backward()
    runs
    """
    return _force("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """A `with` block that sets `debug` for the checkpoints created in it. None: the setting of each.

    >>> import minigrad
    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     checkpoint(minigrad.exp, x, use_reentrant=False)
    tensor(1., grad_fn=<ExpBackward0>)
    """
    return _force("debug", enabled)


class _AllSaved(BaseException):
    """Ends the second run. A BaseException, so that `except Exception` does not catch it."""


class _Recomputation:
    """Numbers the values that the first run saves, and recomputes them in a second run on demand."""

    early_stop = compares = True
    debug = False
    completed = False  # has the first run ended?

    def __init__(
        self, run: Callable[[], Any], block: AbstractContextManager[Any], preserve_rng_state: bool
    ) -> None:
        self.run, self.block = run, block
        self.state = random.get_rng_state() if preserve_rng_state else None
        self.saved: list[Any] = []  # shape and dtype of each value that the first run saved
        self.kept: dict[int, Any] = {}  # values of the second run that have not been unpacked yet
        self.again: list[Any] = []  # like `saved`, for the second run

    def set_up(self, **settings: bool) -> None:
        """Take these settings, or those of the `with` blocks around the checkpoint."""
        for name, value in settings.items():
            forced = _forced[name]
            setattr(self, name, value if forced is None else forced)

    @contextmanager
    def first_run(self) -> Iterator[None]:
        """The `with` block of the first run."""
        yield
        self.completed = True

    def pack(self, x: Tensor) -> int:
        """The saved_tensors_hooks pack: replace a value of the first run by its number."""
        self.saved.append((x.shape, x.dtype))
        return len(self.saved) - 1

    def unpack(self, number: int) -> Tensor:
        """The saved_tensors_hooks unpack: return the recomputed value with this number."""
        if number not in self.kept:
            self._run_again()
        return self.kept.pop(number)

    def _run_again(self) -> None:
        self.kept.clear()
        self.again.clear()
        with (
            _same_random_numbers(self.state),
            modes.enable_grad(),
            saved_tensors_hooks(self._keep, self.kept.__getitem__),
            self.block,
            suppress(_AllSaved),
        ):
            self.run()
        if len(self.again) < len(self.saved):
            raise self._error(
                "A different number of tensors was saved during the original forward and recomputation: "
                f"{len(self.saved)} at first, then {len(self.again)}."
            )
        self._compare()

    def _compare(self) -> None:
        """Raise CheckpointError if a recomputed value has another shape or dtype."""
        for k, then in enumerate(self.saved if self.compares else ()):
            now = self.again[k]
            if now != then:
                raise self._error(
                    "Recomputed values for the following tensors have different metadata than during the forward pass. "
                    f"Tensor at position {k}: {_shown(then)} at first, then {_shown(now)}."
                )

    def _keep(self, x: Tensor) -> Any:
        """Keep a value of the second run, and end the run after the last one."""
        number = len(self.again)
        self.kept[number] = x.detach() if x.requires_grad else x
        self.again.append((x.shape, x.dtype))
        if self.early_stop and len(self.again) == len(self.saved):
            raise _AllSaved
        if number >= len(self.saved) and self.completed:
            raise self._error(
                "trying to save more tensors during recomputation than during the original forward pass."
            )
        return number

    def _error(self, what: str) -> CheckpointError:
        """The error for two runs that differ."""
        text = f"torch.utils.checkpoint: {what} To fix it, make sure that both runs of the function do the same."
        if self.debug:
            for run, values in (("first", self.saved), ("second", self.again)):
                text += f"\n    the {run} run saved    {'; '.join(map(_shown, values))}"
            text += "\n    (You are seeing this error because you passed `debug=True` to checkpoint, or used"
            text += " set_checkpoint_debug_enabled.)"
        return CheckpointError(text)


def _shown(value: tuple[Any, Any]) -> str:
    """The shape and dtype of a saved value, for an error."""
    return f"{list(value[0])}, {value[1]}"


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **settings: Any,
) -> Any:
    """Run functions in sequence, divided into `segments` checkpoints of about equal length.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> checkpoint_sequential([minigrad.exp, minigrad.sin, minigrad.exp], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad is not None
    True
    """
    warn_unless_given(use_reentrant, ".checkpoint_sequential")
    functions = list(functions)
    size = max(1, len(functions) // segments)
    starts = range(0, size * (segments - 1) + 1, size)

    settings["use_reentrant"] = use_reentrant is not False

    def part(start: int, end: int, x: Any) -> Any:
        for f in functions[start:end]:
            x = f(x)
        return x

    for start in starts[:-1]:
        input = checkpoint(part, start, start + size, input, **settings)
    # a checkpoint of the last part would save nothing
    return part(starts[-1], len(functions), input)
