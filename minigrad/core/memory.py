"""Versions of memory, and how Tensors are made by code that does not know them.

The modules below tensor.py pass Tensors around and read their array, node and counter; but
to make one they ask `make`, which tensor.py fills in. So imports point downward only.
"""

from collections.abc import Callable
from typing import Any

from minigrad.core.errors import AutogradError, Place

new = object.__new__


class Counter:
    """How often a piece of memory was written to. A base and all its views share one."""

    __slots__ = ("count", "history", "place", "undo")

    def __init__(self) -> None:
        self.count = 0
        self.history = 0  # how often the history of the memory was rewritten
        self.undo: tuple[Any, ...] = ()  # hops that undo what t_() and its like did to the base
        self.place: Place | None = None  # where the latest write was


class Uncounted(Counter):
    """The counter of memory whose writes are not counted: nothing of it can be saved for backward."""

    __slots__ = ()

    def __init__(self) -> None:
        self.history = 0
        self.place = None
        self.undo = ()

    @property
    def count(self) -> int:  # type: ignore[override]
        raise AutogradError(
            "Inference tensors cannot be saved for backward: they were made in inference_mode, and nobody counts the "
            "writes to them. To fix it, use  x.clone()  outside of the block, or no_grad() in the place of "
            "inference_mode()."
        )


FRESH = Counter()  # of all memory never written to nor shared; it stays at 0 for ever
INFERENCE = Uncounted()  # of all memory that inference_mode has made


class Makers:
    """How Tensors are made. tensor.py fills this in, so that nodes need not know Tensors.

    Tensor      the class
    wrap        an array -> a Tensor that requires no gradient
    view        (tensor, array, hop) -> the Tensor that shows a part of another's memory
    result_of   (node, array, counter) -> the node's result, as a Tensor with that history
    revive      an AccumulateGrad whose leaf nobody holds any more -> an equal leaf
    """

    Tensor: type[Any]
    wrap: Callable[[Any], Any]
    view: Callable[[Any, Any, Any], Any]
    result_of: Callable[[Any, Any, Counter], Any]
    revive: Callable[[Any], Any]


make = Makers()
