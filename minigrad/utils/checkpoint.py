"""Checkpoints: save nothing in the forward pass, and recompute in the backward pass.

If a part of a model saves a lot of memory for backward but is quick to compute, you can put it into
a checkpoint. Each value that would be saved is replaced by its number. When backward asks for the
first of them, the part runs once more and provides all of them.

Source: Griewank and Walther, Algorithm 799: revolve (2000); Chen et al., Training Deep Nets with
Sublinear Memory Cost (2016).
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from minigrad import random
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import modes

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
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
    state = random.get_rng_state() if preserve_rng_state else None
    kept: dict[int, Any] = {}
    count = 0

    def pack(_: Any) -> int:
        nonlocal count
        count += 1
        return count - 1

    def unpack(number: int) -> Any:
        if number not in kept:
            _run_again()
        if number not in kept:
            raise RuntimeError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation: {count} at first, then {len(kept)}. To fix it, let the function do the same each time."
            )
        return kept.pop(number)

    def _run_again() -> None:
        kept.clear()
        with random.fork_rng() if state is not None else nullcontext():
            if state is not None:
                random.set_rng_state(state)
            with modes.enable_grad(), saved_tensors_hooks(_keep, lambda number: kept[number]):
                function(*args, **kwargs)

    def _keep(x: Any) -> int:
        kept[len(kept)] = x.detach()
        return len(kept) - 1

    with saved_tensors_hooks(pack, unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **settings: Any) -> Any:
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
