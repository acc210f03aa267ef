"""Runs a recorded PyTorch program again on our engine.

    run_again(watched, z)    our tensors: z, and all tensors that it was computed from

Mistakes are diagnosed with our rules, which need our graph. Our functions have PyTorch's names and
settings, so most operations can be called as recorded; the tables below list the operations that
have another name or other arguments in the dispatcher. Only operations through which a gradient
flows from z to leaves are run again. Each result must equal the recorded one. If it does not, or if
an operation is unknown, we raise `CannotRepeat`.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from minigrad.core.errors import AutogradError
from minigrad.core.node import Node
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.tape.events import Entry, Input, computed_from
from minigrad.tape.naming import node_names
from minigrad.tape.snapshot import Array, repeats
from minigrad.tape.torch.operations import REDUCTIONS, Operations, documented
from minigrad.tape.torch.values import array_of, version_of

Given = dict[str, Any]


class CannotRepeat(Exception):
    """The program cannot be run again here; the message says why."""


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


def run_again(watched: Operations, z: torch.Tensor) -> dict[int, Tensor]:
    """Our tensors, by the numbers of PyTorch's tensors in the recording.

    Raises CannotRepeat, with the reason, if z was not recorded, or cannot be computed here.
    """
    return _Rerun(watched).run(watched.seen._latest[watched.seen.known(z) or 0][0])


class _Rerun:
    def __init__(self, watched: Operations) -> None:
        self.seen, self.entries = watched.seen, watched.recorder.entries
        self.names = node_names(watched.recorder)
        self.known: dict[tuple[int, int], Tensor] = {}

    def run(self, root: int) -> dict[int, Tensor]:
        ours: dict[int, Tensor] = {}
        for k in sorted(computed_from(self.entries, [root])):
            entry = self.entries[k]
            results = [self._leaf(k)] if entry.backward == "AccumulateGrad" else self._applied(k)
            for output, (made, result) in enumerate(zip(entry.results, results)):
                self._must_agree(k, output, result)
                if isinstance(result.node, Node):
                    result.node.place = entry.place  # the user's line, not ours
                self.known[k, output] = ours[made.tensor] = result
        return ours

    def _leaf(self, k: int) -> Tensor:
        return tensor(self._numbers(Input(k))).requires_grad_()

    def _applied(self, k: int) -> list[Tensor]:
        """The results of an operation, computed again."""
        entry, name = self.entries[k], self.names[k]
        if entry.kind == "before":
            raise CannotRepeat(f"{name} was computed before the recording")
        if entry.called is None:
            raise CannotRepeat(f"{entry.op}, which made {name}, is a function of its own")
        if entry.through is not None:
            raise CannotRepeat(f"{name} was written to through a view")
        try:
            with np.errstate(all="ignore"):
                made = _call(entry.called.name, self._given(entry), entry.called.defaults)
        except (AutogradError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            why = f"{entry.op}, which made {name}, cannot be called here: {error}"
            raise CannotRepeat(why) from None
        return list(made) if isinstance(made, tuple | list) else [made]

    def _given(self, entry: Entry) -> Given:
        """The arguments of a call, with our tensors."""
        assert entry.called is not None
        given = {k: v for k, v in entry.called.settings.items() if k not in IGNORED}
        for name, place in entry.called.operands.items():
            places = place if isinstance(place, list) else [place]
            values = [None if p is None else self._operand(entry.inputs[p]) for p in places]
            given[name] = values if isinstance(place, list) else values[0]
        return given

    def _operand(self, i: Input) -> Tensor:
        found = self.known.get((i.entry or 0, i.output)) if i.gradient else None
        return tensor(self._numbers(i)) if found is None else found

    def _numbers(self, i: Input) -> Array:
        """The recorded values of an operand; for a large tensor, its current values."""
        assert i.entry is not None
        made = self.entries[i.entry].results[i.output]
        array = made.array
        if array is None:
            alive = self.seen.alive(made.tensor)
            if alive is None or version_of(alive) != made.version:
                raise CannotRepeat(f"{self.names[i.entry]} is large, and its values were not kept")
            array = array_of(alive)
        return np.array(array)

    def _must_agree(self, k: int, output: int, result: Tensor) -> None:
        before = self.entries[k].results[output].array
        if before is not None and not repeats(result.array, before, 1e-5):
            raise CannotRepeat(f"run again, {self.names[k]} has a different value")


def _call(name: str, given: Given, defaults: Mapping[str, Any]) -> Any:
    """Call our operation with this name, as the tables say."""
    ours, known = sys.modules["minigrad"], documented(name)
    F, whole = ours.nn.functional, {**defaults, **given}
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
        if hasattr(place, name):
            return getattr(place, name)(given.pop(first), **_not_none(given))
    raise CannotRepeat(f"minigrad has no {name}")


def _not_none(given: Mapping[str, Any]) -> Given:
    """The settings that are not None: our functions have the same defaults."""
    return {k: v for k, v in given.items() if v is not None}
