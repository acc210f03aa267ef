"""Modes: is recording on, and is an observer watching?

Operations on tensors are recorded on the tape, unless the user turns recording off:

    with no_grad(): ...              nothing is recorded in this block
    with enable_grad(): ...          turns recording back on inside such a block
    set_grad_enabled(False)          turns recording off from here on; also usable as a block
    with within("observer", o): ...  every operation and every backward step is reported to o

Each thread has its own settings. Blocks can be nested, restore the setting when an exception
is raised, and work as decorators of functions and generators.
For a generator, the setting holds while its own code runs, not while it waits at a `yield`.

`unusual` counts the settings of all threads that differ from the default, and `light` counts how
many of them are "not recording" or "keep the line of each node", which the functions generated
by codegen.py handle. As long as both are 0, an operation does not look up its thread's settings.
"""

import functools
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from minigrad.core.engine import GraphTask, Step

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Observer:
    """The methods that an observer has; here they do nothing. The tape recorder is an observer."""

    def forward(
        self,
        op: Any,
        operands: tuple[Any, ...],
        result: object,
        params: dict[str, Any],
        inplace: bool,
    ) -> None:
        """An operation has been carried out."""

    def backward(self, task: "GraphTask", engine: str) -> None:
        """A backward pass begins."""

    def step(self, task: "GraphTask", step: "Step") -> None:
        """A node has passed its gradient on."""

    def finished(self, task: "GraphTask", error: BaseException | None) -> None:
        """The backward pass is over, or an error has ended it."""


class _State(threading.local):
    """One thread's settings, with their defaults."""

    recording = True
    inference = False  # are results inference tensors, which can never be part of a graph?
    tracing = False
    anomaly = False  # should a NaN in a backward pass raise an error? See autograd/anomaly.py
    observer: Observer | None = None
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    levels: tuple[int, ...] = ()  # the open levels of forward mode, outermost first
    task: Any = None  # the backward pass that is running
    hooks_refused: str | None = None  # why saved-tensor hooks are not allowed now
    draws: Any = None  # random numbers under `vmap`; see Draws in random/generator.py
    more_examples = False  # does `vmap` call the function again, perhaps with the same graph?
    transformed = False  # is a function running under func.grad, vjp, jvp or the like?
    multithreading = True  # a setting of PyTorch, without effect
    engine = "graph"  # the engine for backward passes that do not name one; see engines.py


state = _State()
unusual = 0
light = 0
_lock = threading.Lock()


def set_mode(name: str, value: Any) -> Any:
    """Change one setting of this thread (a name in `_State`), update both counts, return the old value."""
    global unusual, light
    old = getattr(state, name)
    default = getattr(_State, name)
    change = (value != default) - (old != default)
    setattr(state, name, value)
    if change:
        with _lock:
            unusual += change
            if name in ("recording", "tracing"):
                light += change
    return old


@contextmanager
def within(name: str, value: object) -> Iterator[None]:
    """Within this block, a setting of this thread has this value."""
    before = set_mode(name, value)
    try:
        yield
    finally:
        set_mode(name, before)


def is_grad_enabled() -> bool:
    """Does this thread record operations?

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    return state.recording


class set_grad_enabled:
    """Turn recording on or off: from here on, or for a block.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    >>> is_grad_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode) and not state.inference
        self._before = set_mode("recording", self.mode)

    def __call__(self, function: F) -> F:
        set_mode("recording", self._before)  # a decorator acts only while the function runs
        return _decorated(lambda: set_grad_enabled(self.mode), function)

    def __enter__(self) -> None:
        set_mode("recording", self.mode)

    def __exit__(self, *raised: object) -> None:
        set_mode("recording", self._before)

    def __repr__(self) -> str:  # a notebook cell that ends with this call displays it
        return f"minigrad.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class _Mode:
    """A block, or a decorated function, that sets recording to `mode`."""

    mode: bool

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)  # @no_grad without parentheses

    def __init__(self, function: Callable[..., object] | None = None) -> None:
        self._before: list[bool] = []  # a stack, because blocks of one object can be nested

    def __enter__(self) -> None:
        self._before.append(set_mode("recording", self.mode and not state.inference))

    def __exit__(self, *raised: object) -> None:
        set_mode("recording", self._before.pop())

    def __call__(self, function: F) -> F:
        return _decorated(type(self), function)


class no_grad(_Mode):
    """Within this block, nothing is recorded: results do not require a gradient.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0], requires_grad=True)
    >>> with minigrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    mode = False


class enable_grad(_Mode):
    """Within this block, operations are recorded, even inside a `no_grad` block.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0], requires_grad=True)
    >>> with minigrad.no_grad():
    ...     with minigrad.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    mode = True


class inference_mode(_Mode):
    """Like `no_grad`, but results of this block can never be used for a gradient.

    Such results are inference tensors: the writes to them are not counted. Outside the block you can
    compute with them as constants, but you cannot write to them or save them for a backward pass.

    >>> import minigrad
    >>> with minigrad.inference_mode():
    ...     x = minigrad.ones(2)
    >>> x.is_inference()
    True
    """

    mode = False

    def __new__(cls, mode: bool = True) -> Any:
        return super().__new__(cls, None if isinstance(mode, bool) else mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        if mode is False:
            self.mode = True

    def __enter__(self) -> None:
        self._before.append(set_mode("inference", not self.mode))
        super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        set_mode("inference", self._before.pop())

    def __call__(self, function: F) -> F:
        return _decorated(lambda: inference_mode(not self.mode), function)


def is_inference_mode_enabled() -> bool:
    """Does this thread produce inference tensors?

    >>> with inference_mode():
    ...     is_inference_mode_enabled()
    True
    """
    return state.inference


class set_multithreading_enabled:
    """Store whether a backward pass may use several threads: no effect, as it runs in the one that starts it.

    >>> with set_multithreading_enabled(False):
    ...     is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._before, state.multithreading = state.multithreading, bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        state.multithreading = self._before


def is_multithreading_enabled() -> bool:
    """The value that was set with `set_multithreading_enabled`.

    >>> is_multithreading_enabled()
    True
    """
    return state.multithreading


def _decorated(enter: Callable[[], Any], function: F) -> F:
    """A function that runs `function` inside the block `enter()`."""
    if isinstance(function, type):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions: only the constructor runs in "
            "this mode. To fix it, decorate __init__, or individual methods.",
            FutureWarning,
            stacklevel=3,
        )
    if function.__code__.co_flags & 0x20 if hasattr(function, "__code__") else False:  # a generator

        @functools.wraps(function)
        def stepwise(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
            return (yield from _each_step_inside(enter, function(*args, **kwargs)))

        return stepwise  # type: ignore[return-value]

    @functools.wraps(function)
    def inside(*args: object, **kwargs: object) -> Any:
        with enter():
            return function(*args, **kwargs)

    return inside  # type: ignore[return-value]


def _each_step_inside(
    enter: Callable[[], Any], generator: Generator[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Run a generator with the mode on while its code runs, and off while it waits at a yield."""
    advance: Callable[[], Any] = functools.partial(next, generator)
    try:
        while True:
            try:
                with enter():
                    value = advance()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
                advance = functools.partial(generator.send, sent)
            except GeneratorExit:
                raise
            except BaseException as error:
                advance = functools.partial(generator.throw, error)
    finally:
        with enter():
            generator.close()


def unobserved() -> AbstractContextManager[None]:
    """Within this block, nothing is reported. Observers use it for their own computations."""
    return within("observer", None)


def tell(what: str, *things: object) -> Any:
    """Call the method of the observer with this name, if there is one, and return its result.

    >>> tell("detached", 1, 2)
    """
    method = getattr(state.observer, what, None)
    return None if method is None else method(*things)


def seen(x: Any) -> Any:
    """The array of a tensor (or an array itself), for NumPy code that finds indices or conditions in it.

    While a program is recorded, it is an array that records what is computed from it, so that each run finds them anew.
    """
    traced = tell("traced", x) if unusual > light else None
    return getattr(x, "array", x) if traced is None else traced


def read_values(x: Any) -> Any:
    """The array of a tensor, for Python code that uses its values. Tells the observer, if there is one."""
    if unusual > light:
        tell("read", x)
    return x.array


def cannot_record(what: str) -> None:
    """Tell the observer that something runs in the backward pass that is not made of operations.

    While a program is being recorded, this raises ProgramError.
    """
    tell("cannot_record", what)


def reports(what: str) -> Callable[[F], F]:
    """Decorate a method that changes tensors or settings, so that calls are reported to the observer.

    what    "zero_grad", "step" or "schedule". The call runs inside the block
            `observer.updating(what, owner)`, if the observer has this method
    """

    def decorate(method: F) -> F:
        @functools.wraps(method)
        def reported(self: Any, *args: Any, **kwargs: Any) -> Any:
            notify = getattr(state.observer, "updating", None) if unusual else None
            if notify is None:
                return method(self, *args, **kwargs)
            with notify(what, self):
                return method(self, *args, **kwargs)

        return reported  # type: ignore[return-value]

    return decorate


def with_name(name: str, tensor: T) -> T:
    """Tell the observer what to call a tensor that the user's code does not name; return the tensor."""
    if unusual:
        tell("called", name, tensor)
    return tensor


def trace_lines(on: bool = True) -> None:
    """Make every node remember the line of code that made it.

    Errors in the backward pass can then also show the forward line. This costs one or two
    microseconds per node; the Jupyter extension turns it on.

    >>> trace_lines()
    >>> trace_lines(False)
    """
    set_mode("tracing", bool(on))
