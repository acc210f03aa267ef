"""Version counters, and a way to make Tensors in modules that cannot import Tensor.

The modules below tensor.py pass Tensors around and read their array, node and counter. To
make a Tensor they use `make`, which tensor.py fills in. So no module imports a higher one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minigrad.core.errors import AutogradError, Instruction, Place, place_of

if TYPE_CHECKING:
    from minigrad.core.tensor import Tensor as Tensor  # for annotations
else:
    Tensor = Any  # at run time, the modules that tensor.py imports cannot import it
new = object.__new__


class Counter:
    """Counts the writes to a piece of memory. A base and all its views share one counter.

    The first values are attributes of the class, so a new counter stores nothing. (One is made for
    every tensor that is written to or saved as a result.)
    """

    count = 0
    history = 0  # the number of changes to the history of this memory
    # Layout before t_() and similar ops -> the view ops that lead back to it; replaced, never changed.
    undo: dict[Any, Any] = {}
    where: Instruction | None = None  # the latest write

    @property
    def place(self) -> Place | None:
        """The line of the latest write."""
        return place_of(self.where)


class Uncounted(Counter):
    """The counter of memory whose writes are not counted. Such memory cannot be saved for backward."""

    @property
    def count(self) -> int:  # type: ignore[override]
        """Raise AutogradError: writes to inference tensors are not counted."""
        raise AutogradError(
            "Inference tensors cannot be saved for backward: they were made in inference_mode, and writes to them are "
            "not counted. To fix it, use  x.clone()  outside of the block, or no_grad() instead of inference_mode()."
        )


FRESH = Counter()  # for all memory that was never written to or shared; its count stays 0
NUMBER = Counter()  # the same for the constants that numbers become: the 2 of x * 2
INFERENCE = Uncounted()  # for all memory made in inference_mode
FRESH.count = NUMBER.count = 0  # read faster from an object than from its class
COMMON = (FRESH, NUMBER, INFERENCE)  # counters that tensors of different memory have in common


def with_tangents(z: Tensor, tangents: "dict[int, Tensor] | None") -> Tensor:
    """The new tensor z, with these tangents, if there are any."""
    if tangents is not None:
        z._tangents = tangents
    return z


class Makers:
    """Functions that make Tensors. tensor.py fills them in, so that nodes do not need to import Tensor.

    Tensor      the class
    wrap        an array -> a Tensor that requires no gradient
    tensor      (array, counter, node) -> a Tensor of these three parts
    view        (tensor, array, step) -> a Tensor that is a view of the given one
    result_of   (node, array, counter) -> the node's result, as a Tensor with that history
    """

    Tensor: type[Any]
    wrap: Callable[[Any], Any]
    tensor: Callable[[Any, Counter, Any], Any]
    view: Callable[[Any, Any, Any], Any]
    result_of: Callable[[Any, Any, Counter], Any]


make = Makers()
