"""AccumulateGrad: the node of a leaf, which adds the leaf's gradient to its `.grad`.

AccumulateGrad stores the gradient. The leaf refers to its AccumulateGrad, which only has a weak
reference back, so the two do not keep each other alive. If the leaf is gone, the graph still works,
and `variable` makes an equal leaf.
"""

import threading
import weakref
from itertools import count
from sys import getrefcount
from typing import Any, Self

import numpy as np

from minigrad.core.errors import Place
from minigrad.core.hooks import Hookable
from minigrad.core.memory import INFERENCE, Tensor, make
from minigrad.core.sparse import RowSparse

next_leaf_queue_key = count(1).__next__  # for leaves: 1, 2, ...; they run after all nodes
_accumulating = threading.Lock()


class AccumulateGrad(Hookable):
    """The node of a leaf: adds the incoming gradient to the leaf's `.grad`.

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> leaf, number = (x * 2).grad_fn.next_functions[0]
    >>> leaf.name(), leaf.variable is x
    ('AccumulateGrad', True)
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_counter",
        "_leaf",
        "_metadata",
        "plan",
        "grad",
        "queue_key",
        "saved",
    )

    edges: tuple[()] = ()
    next_functions: tuple[()] = ()
    saved: Any
    place: Place | None = None
    freed = False

    def __init__(self, leaf: Tensor) -> None:
        self._leaf = weakref.ref(leaf)
        self._array, self._counter = leaf.array, leaf.counter
        self.plan: Any = ACCUMULATE
        self.grad: Any = None
        self.queue_key = next_leaf_queue_key()

    def _sequence_nr(self) -> int:
        """The largest possible number, as in PyTorch. (There leaves run first; here they run last.)"""
        return int(2**64 - 1)

    @property
    def variable(self) -> Tensor:
        """The leaf. If it no longer exists, an equal one is made."""
        leaf = self._leaf()
        return leaf if leaf is not None else make.tensor(self._array, self._counter, self)

    def saved_values(self) -> dict[str, Any]:
        """Empty: adding a gradient needs no saved values."""
        return {}

    def thawed(self, leaf: Tensor) -> Self:
        """This node, for the leaf that requires a gradient again: with its hooks, and for the older graphs."""
        self._array, self._counter, self.plan = leaf.array, leaf.counter, self.plan.before
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """None: a copy of a leaf gets a node of its own."""
        return type(None), ()

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


class Accumulation:
    """The plan of every AccumulateGrad: adds a gradient to `.grad`."""

    frees = False
    needs = ()  # it has no inputs
    into = None

    def run(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """Add g to the leaf's `.grad`: store it the first time, add in place after that."""
        with _accumulating:
            grad = leaf.grad
            if grad is None:
                # g may share memory: add passes the same array to both inputs, and a reshape is a
                # view of another array. We store g without a copy only if nothing else refers to it.
                ours = getrefcount(g) <= ALONE and (g.base is None or is_whole(g))
                # The gradient of a transpose is transposed; but users may call view() on it, as on the leaf.
                ours = ours and (g.ndim < 3 or g.flags.c_contiguous)
                leaf.grad = make.wrap(g if ours else g.copy())
                return ()
            if not isinstance(grad.array, np.ndarray):
                grad.array = grad.array + g
            elif isinstance(g, RowSparse):
                g.add_to(grad.array)
            else:
                np.add(grad.array, g, out=grad.array)
            if (counter := grad._shared_counter()) is not INFERENCE:
                counter.count += 1  # a graph that saved it must not use it anymore
        return ()

    def run_tensors(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """Like `run`, for a Tensor with a history. It is copied, because another leaf may get the same one."""
        if leaf.grad is not None:
            leaf.grad = leaf.grad + g
            return ()
        leaf.grad = g.clone()
        if leaf.grad.node is not None:
            leaf.grad.node.rename("CopyBackwards")
        return ()


class NoAccumulation(Accumulation):
    """The plan of a leaf that no longer requires a gradient: gradients from older graphs are dropped.

    before   its plan when it did
    """

    def __init__(self, before: Any) -> None:
        self.before = before

    def run(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """Drop the gradient."""
        return ()

    run_tensors = run


ACCUMULATE = Accumulation()


def is_whole(g: Any) -> bool:
    """Does a view cover all of an array that nothing else refers to, like (g.T @ x).T?"""
    base = g.base
    return (
        isinstance(base, np.ndarray)
        and getrefcount(base) <= 3
        and base.flags.owndata
        and base.size == g.size
    )


def _references_to_an_argument() -> int:
    """The number of references to an array that a caller holds and passes to `run`."""

    class Probe:
        def run(self, g: Any, leaf: Any) -> int:
            return getrefcount(g)

    g = np.empty(1)
    return Probe().run(g, None)


ALONE = _references_to_an_argument()
