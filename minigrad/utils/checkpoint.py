"""Checkpoints: save nothing in the forward pass, and recompute in the backward pass.

If a part of a model saves a lot of memory for backward but is quick to compute, you can put it into
a checkpoint. Each value that would be saved is replaced by its number. When backward asks for the
first of them, the part runs once more, up to the last value that was saved, and provides all of them.

Source: Griewank and Walther, Algorithm 799: revolve (2000); Chen et al., Training Deep Nets with
Sublinear Memory Cost (2016).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from minigrad import random
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import modes
from minigrad.core.errors import levels_to_user
from minigrad.core.tensor import Tensor

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "get_device_states",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The second run did not save what the first one saved."""


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
    """function(*args, **kwargs), whose saved values are recomputed when backward needs them.

    function             runs twice, and must do the same both times
    preserve_rng_state   use the same random numbers in both runs, for example for Dropout?
    use_reentrant        has no effect: the graph is that of `function` itself. PyTorch wants it to be
                         given, and False is recommended; if it is not, there is a warning
    context_fn           returns two blocks, for the first run and for the second
    determinism_check    "default": compare shape and dtype of what the two runs save; or "none"
    debug                accepted, but has no effect
    early_stop           end the second run when all values are there

    Raises CheckpointError in the backward pass if the second run saves fewer values than the first, or
    others; and, without early_stop, if it saves more.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> z = checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    >>> z.sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    warn_unless_given(use_reentrant)
    if use_reentrant and (context_fn is not None or debug):
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    again = _Again(lambda: function(*args, **kwargs), second, preserve_rng_state)
    again.early_stop = early_stop if _early_stop is None else _early_stop
    again.compares = determinism_check == "default"
    with saved_tensors_hooks(again.pack, again.unpack), first:
        result = function(*args, **kwargs)
    again.completed = True
    return result


def get_device_states(*args: object) -> tuple[list[int], list[Tensor]]:
    """The devices of these tensors that have generators of their own, and their states: none.

    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(devices: list[int], states: list[Tensor]) -> None:
    """Give the generators of devices their states back: there are none; see `random.set_rng_state`.

    >>> set_device_states(*get_device_states())
    """


def warn_unless_given(use_reentrant: bool | None) -> None:
    """PyTorch will ask for use_reentrant; we warn that a program does not pass it."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. To fix it, pass "
            "use_reentrant=False, which is recommended.",
            stacklevel=levels_to_user(),
        )


_early_stop: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A `with` block: does the second run of the checkpoints made in it end when all values are there?

    >>> import minigrad
    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     z = checkpoint(lambda x: (x.exp(), print("runs"))[0], x, use_reentrant=False)
    runs
    >>> z.backward()
    runs
    """
    global _early_stop
    outer, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = outer


class _AllSaved(BaseException):
    """Ends the second run. Not an Exception, so that the function does not catch it."""


class _Again:
    """Numbers the values that the first run saves, and gets them from a second run when one is asked for."""

    early_stop = compares = True
    completed = False  # has the first run ended?

    def __init__(
        self, run: Callable[[], Any], block: AbstractContextManager[Any], preserve_rng_state: bool
    ) -> None:
        self.run, self.block = run, block
        self.state = random.get_rng_state() if preserve_rng_state else None
        self.saved: list[Any] = []  # shape and dtype of the values that the first run has saved
        self.kept: dict[int, Any] = {}  # those of the second run that nobody has asked for yet
        self.count = 0  # how many the second run has saved

    def pack(self, x: Tensor) -> int:
        """Number a value of the first run."""
        self.saved.append((x.shape, x.dtype))
        return len(self.saved) - 1

    def unpack(self, number: int) -> Tensor:
        """The value with this number, of the second run."""
        if number not in self.kept:
            self._run_again()
        return self.kept.pop(number)

    def _run_again(self) -> None:
        self.kept.clear()
        self.count = 0
        with random.fork_rng() if self.state is not None else nullcontext():
            if self.state is not None:
                random.set_rng_state(self.state)
            with (
                modes.enable_grad(),
                saved_tensors_hooks(self._keep, self.kept.__getitem__),
                self.block,
            ):
                try:
                    self.run()
                except _AllSaved:
                    pass
        if self.count < len(self.saved):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation: {len(self.saved)} at first, then {self.count}. To fix it, let the function do "
                "the same each time."
            )
        self._compare()

    def _compare(self) -> None:
        """Raise if the second run has saved values of another shape or dtype."""
        for k, then in enumerate(self.saved if self.compares else ()):
            now = (self.kept[k].shape, self.kept[k].dtype)
            if now != then:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    f"during the forward pass. Tensor at position {k}: {list(then[0])}, {then[1]} at first, then "
                    f"{list(now[0])}, {now[1]}. To fix it, let the function do the same each time."
                )

    def _keep(self, x: Tensor) -> Any:
        """Keep a value of the second run; end the run after the last."""
        self.kept[self.count] = x.detach() if x.requires_grad else x
        self.count += 1
        if self.early_stop and self.count == len(self.saved):
            raise _AllSaved
        if self.count > len(self.saved) and self.completed:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                "forward pass. To fix it, let the function do the same each time."
            )
        return self.count - 1


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **settings: Any,
) -> Any:
    """Run the functions one after another, in `segments` parts of about equal length, each a checkpoint.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> checkpoint_sequential([minigrad.exp, minigrad.sin, minigrad.exp], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad is not None
    True
    """
    warn_unless_given(use_reentrant)
    functions = list(functions)
    size = max(1, len(functions) // segments)
    starts = range(0, size * (segments - 1) + 1, size)

    settings["use_reentrant"] = bool(use_reentrant)

    def part(start: int, end: int, x: Any) -> Any:
        for f in functions[start:end]:
            x = f(x)
        return x

    for start in starts[:-1]:
        input = checkpoint(part, start, start + size, input, **settings)
    return part(starts[-1], len(functions), input)  # no memory is saved by running the last twice
