"""Checkpoints: save nothing in the forward pass, and recompute in the backward pass.

If a part of a model saves a lot of memory for backward but is quick to compute, you can put it into
a checkpoint. Each value that would be saved is replaced by its number. When backward asks for the
first of them, the part runs once more and provides all of them.

Source: Griewank and Walther, Algorithm 799: revolve (2000); Chen et al., Training Deep Nets with
Sublinear Memory Cost (2016).
"""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from minigrad import random
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import modes
from minigrad.core.tensor import Tensor

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: object,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: object,
) -> Any:
    """function(*args, **kwargs), whose saved values are recomputed when backward needs them.

    function             runs twice, and must do the same both times
    preserve_rng_state   use the same random numbers in both runs, for example for Dropout?
    use_reentrant        accepted, but has no effect: the graph is that of `function` itself

    Raises RuntimeError in the backward pass if the second run saves fewer values than the first.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> z = checkpoint(lambda x: (x * x).exp(), x)
    >>> z.sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    again = _Again(lambda: function(*args, **kwargs), preserve_rng_state)
    with saved_tensors_hooks(again.pack, again.unpack):
        return function(*args, **kwargs)


class _Again:
    """Numbers the values that the first run saves, and gets them from a second run when one is asked for."""

    def __init__(self, run: Callable[[], Any], preserve_rng_state: bool) -> None:
        self.run = run
        self.state = random.get_rng_state() if preserve_rng_state else None
        self.count = 0  # how many values the first run has saved
        self.kept: dict[int, Any] = {}  # those of the second run that nobody has asked for yet

    def pack(self, _: object) -> int:
        self.count += 1
        return self.count - 1

    def unpack(self, number: int) -> Tensor:
        if number not in self.kept:
            self._run_again()
        if number not in self.kept:
            raise RuntimeError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation: {self.count} at first, then {len(self.kept)}. To fix it, let the function do "
                "the same each time."
            )
        return self.kept.pop(number)

    def _run_again(self) -> None:
        self.kept.clear()
        with random.fork_rng() if self.state is not None else nullcontext():
            if self.state is not None:
                random.set_rng_state(self.state)
            with modes.enable_grad(), saved_tensors_hooks(self._keep, self.kept.__getitem__):
                self.run()

    def _keep(self, x: Tensor) -> int:
        self.kept[len(self.kept)] = x.detach()
        return len(self.kept) - 1


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]], segments: int, input: Any, **settings: Any
) -> Any:
    """Run the functions one after another, in `segments` parts of about equal length, each a checkpoint.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> checkpoint_sequential([minigrad.exp, minigrad.sin, minigrad.exp], 2, x).sum().backward()
    >>> x.grad is not None
    True
    """
    functions = list(functions)
    size = max(1, len(functions) // segments)
    starts = range(0, size * (segments - 1) + 1, size)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def part(x: Any) -> Any:
            for f in functions[start:end]:
                x = f(x)
            return x

        return part

    for start in starts:
        last = start == starts[-1]
        part = run(start, len(functions) if last else start + size)
        input = part(input) if last else checkpoint(part, input, **settings)
    return input
