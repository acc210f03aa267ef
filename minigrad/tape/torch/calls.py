"""Calls our operation in place of a recorded operation of PyTorch.

Our functions have PyTorch's names and settings, so most operations can be called as recorded; the tables
below list the operations that have another name or other arguments in the dispatcher. tape/rerun.py uses it.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.tape.events import CannotRepeat, TorchCall
from minigrad.tape.torch.operations import REDUCTIONS, documented

Given = dict[str, Any]


def _reshaped(F: Any, given: Given) -> Any:
    return given["self"].reshape(given.get("size") or given.get("shape"))


def _sliced(F: Any, given: Given) -> Any:
    dim = given["dim"] % given["self"].ndim
    part = slice(given["start"], given["end"], given["step"])
    return given["self"][(*[slice(None)] * dim, part)]


def _indexed(F: Any, given: Given) -> Any:
    return given["self"][tuple(slice(None) if i is None else i for i in given["indices"])]


def _convolution(F: Any, given: Given) -> Any:
    if given["transposed"]:
        raise CannotRepeat("transposed convolutions cannot be run again")
    function = F.conv1d if given["input"].ndim == 3 else F.conv2d
    settings = {k: given[k] for k in ("stride", "padding", "dilation", "groups")}
    return function(given["input"], given["weight"], given["bias"], **settings)


# Operations whose arguments in the dispatcher differ from ours, by the documented names: losses,
# whose reduction is a number; those that take these arguments by position; and the others.
LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "mse_loss", "nll_loss",
    "smooth_l1_loss",
)  # fmt: skip
BY_POSITION = {
    "batch_norm": "input running_mean running_var weight bias training momentum eps",
    "embedding": "indices weight",
    "layer_norm": "input normalized_shape weight bias eps",
    "log_softmax": "self dim",
    "max_pool2d": "self kernel_size stride padding dilation ceil_mode",
    "softmax": "self dim",
}
OTHERWISE: dict[str, Callable[[Any, Given], Any]] = {
    "convolution": _convolution,
    "index": _indexed,
    "rsub": lambda F, g: g["other"] - g["alpha"] * g["self"],
    "select": lambda F, g: g["self"].select(g["dim"], g["index"]),
    "slice": _sliced,
    "to": lambda F, g: g["self"].clone(),
    "view": _reshaped,
}
IGNORED = ("dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit")


def call_ours(call: TorchCall, operands: Given) -> Any:
    """Call our operation with the name of PyTorch's, as the tables say.

    operands    our tensors, or lists of them, by the names of the arguments
    """
    ours, known = sys.modules["minigrad"], documented(call.name)
    given = {k: v for k, v in call.settings.items() if k not in IGNORED} | operands
    F, whole = ours.nn.functional, {**call.defaults, **given}
    if known in LOSSES:
        whole["reduction"] = REDUCTIONS[whole["reduction"]]
        return getattr(F, known)(whole.pop("self"), **_not_none(whole))
    if known in BY_POSITION:
        values = (whole[key] for key in BY_POSITION[known].split())
        return getattr(F, known)(*[None if value == [] else value for value in values])
    if known in OTHERWISE:
        return OTHERWISE[known](F, whole)
    first = next(iter(given))
    for place in (*[Tensor] * (first == "self"), ours, F):
        if hasattr(place, call.name):
            return getattr(place, call.name)(given.pop(first), **_not_none(given))
    if first == "self" and hasattr(Tensor, f"{call.name}_"):  # copy_, zero_, index_put_
        return getattr(given.pop(first).clone(), f"{call.name}_")(**_not_none(given))
    raise CannotRepeat(f"minigrad has no {call.name}")


def _not_none(given: Mapping[str, Any]) -> Given:
    """The settings that are not None: our functions have the same defaults."""
    return {k: v for k, v in given.items() if v is not None}
