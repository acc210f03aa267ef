"""AccumulateGrad: the end of an edge, where the gradient of a leaf is added to its `.grad`.

It holds the gradient itself. The leaf holds it, and it refers to the leaf weakly, so that
the two do not keep each other alive; a graph whose leaf nobody holds any more can still be
walked, and `variable` makes an equal leaf anew.
"""

import threading
import weakref
from collections.abc import Callable
from itertools import count
from sys import getrefcount
from typing import Any

import numpy as np

from minigrad.core.errors import Place
from minigrad.core.hooks import RemovableHandle, hooks_of
from minigrad.core.memory import make
from minigrad.core.sparse import RowSparse

next_leaf_queue_key = count(1).__next__  # of leaves: 1, 2, ...; after every node
_accumulating = threading.Lock()


class AccumulateGrad:
    """The end of an edge: where the gradient of a leaf is added to its `.grad`.

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> leaf, number = (x * 2).grad_fn.next_functions[0]
    >>> leaf.name(), leaf.variable is x
    ('AccumulateGrad', True)
    """

    __slots__ = ("__weakref__", "_array", "_counter", "_leaf", "plan", "grad", "queue_key", "saved")

    edges: tuple[()] = ()
    next_functions: tuple[()] = ()
    saved: Any
    place: Place | None = None
    freed = False

    def __init__(self, leaf: Any) -> None:
        self._leaf = weakref.ref(leaf)
        self._array, self._counter = leaf.array, leaf.counter
        self.plan: Any = ACCUMULATE
        self.grad: Any = None
        self.queue_key = next_leaf_queue_key()

    def _sequence_nr(self) -> int:
        """In PyTorch a leaf has the greatest number there is, and its turn before all nodes; here, after them."""
        return int(2**64 - 1)

    @property
    def variable(self) -> Any:
        """The leaf itself. If nobody holds it any more, an equal one is made anew."""
        leaf = self._leaf()
        return leaf if leaf is not None else make.revive(self)

    def name(self) -> str:
        return "AccumulateGrad"

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook((), grad_outputs) when the gradient has been added."""
        return RemovableHandle(hooks_of(self).after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_outputs) before the gradient is added; it may return another."""
        return RemovableHandle(hooks_of(self).before, hook)

    def saved_values(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return f"<AccumulateGrad of a leaf {np.shape(self._array)}>"


class Accumulation:
    """The plan of every AccumulateGrad: how a leaf takes its gradient."""

    frees = False

    def run(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """Add g to the leaf's `.grad`: by copy the first time, in place from then on."""
        with _accumulating:
            grad = leaf.grad
            if grad is None:
                # A gradient may be borrowed: add hands the same array to both its inputs, a
                # reshape shows another's memory. It is taken over only if nobody else has it.
                ours = getrefcount(g) <= ALONE and (g.base is None or is_whole(g))
                # A transpose's gradient comes transposed; programs view() it as they do the leaf.
                ours = ours and (g.ndim < 3 or g.flags.c_contiguous)
                leaf.grad = make.wrap(g if ours else g.copy())
            elif isinstance(grad.array, np.ndarray):
                if isinstance(g, RowSparse):
                    g.add_to(grad.array)
                else:
                    np.add(grad.array, g, out=grad.array)
            else:
                grad.array = grad.array + g
        return ()

    def run_tensors(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """As `run`, with a gradient that has a history of its own."""
        leaf.grad = g if leaf.grad is None else leaf.grad + g
        return ()


class Switched(Accumulation):
    """The plan of a leaf that requires no gradient any more: what a graph from before brings is dropped."""

    def run(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        return ()

    run_tensors = run


ACCUMULATE = Accumulation()
SWITCHED_OFF = Switched()


def is_whole(g: Any) -> bool:
    """Does a view show all of some memory that nothing else refers to, like (g.T @ x).T?"""
    base = g.base
    return (
        isinstance(base, np.ndarray)
        and getrefcount(base) <= 3
        and base.flags.owndata
        and base.size == g.size
    )


def _references_to_an_argument() -> int:
    """How many references there are to an array that a caller holds and `run` was given."""

    class Probe:
        def run(self, g: Any, leaf: Any) -> int:
            return getrefcount(g)

    g = np.empty(1)
    return Probe().run(g, None)


ALONE = _references_to_an_argument()
