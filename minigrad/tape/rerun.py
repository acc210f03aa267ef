"""Runs the recorded operations again that led to a tensor, to get its graph.

    rerun = Rerun(recorder)
    rerun.run(z)     computes z again, and all tensors that it was computed from
    rerun.ours(x)    our tensor for a recorded one

Mistakes are diagnosed with our rules, which need our graph. A backward pass may have freed it; and a
program of PyTorch has none: our operations of the same names are applied (torch/calls.py). Only operations
through which a gradient flows from z to leaves are run again. Each result must equal the recorded one. If
it does not, or if an operation cannot be applied again, we raise `CannotRepeat`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from types import FunctionType
from typing import Any, cast

import numpy as np

from minigrad.core import modes
from minigrad.core.errors import AutogradError, Place
from minigrad.core.node import Node
from minigrad.core.op import Op
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.random import fork_rng
from minigrad.tape.adapters import numbers_of, repeat_call
from minigrad.tape.events import (
    CannotRepeat,
    Entry,
    Input,
    OpCall,
    TorchCall,
    computed_from,
    result_of,
)
from minigrad.tape.naming import node_names
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Array, repeats

# In place, these make a view of what they are called on: x.t_()
REARRANGED = "squeeze swapaxes swapdims t transpose unsqueeze".split()


class Rerun:
    """Runs a part of a recording again, with our engine."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.entries = recorder, recorder.entries
        # By entry and output: what was computed again, and what requires no gradient
        self.known: dict[tuple[int, int], Tensor] = {}
        self._constants: dict[tuple[int, int], Tensor] = {}
        self._ours: dict[int, Tensor] = {}  # by the recorded tensor's number

    def ours(self, recorded: object) -> Tensor | None:
        """Our tensor for a recorded one; None if it was not needed, or not recorded."""
        number = self.number(recorded)
        return None if number is None else self._ours.get(number)

    def number(self, recorded: object) -> int | None:
        """The number of a recorded tensor of either engine; None for others."""
        numbers = (seen.known(recorded) for seen in self.recorder.engines)
        return next((n for n in numbers if n is not None), None)

    def run(self, z: object) -> None:
        """Compute a recorded tensor again.

        Raises CannotRepeat, with the reason, if this is not possible.
        """
        number = self.number(z) or 0
        made = [seen._latest[number] for seen in self.recorder.engines if number in seen._latest]
        self.run_entry(made[0][0])

    def run_entry(self, root: int) -> None:
        """Compute the results of an entry again."""
        with modes.unobserved(), modes.enable_grad(), fork_rng():
            for k in sorted(computed_from(self.entries, [root])):
                self._again(k)
        leaves: set[int] = set()
        for (k, output), again in self.known.items():  # after a write in no_grad(), a graph goes on
            made = self.entries[k].results[output]
            if made.requires_grad and not again.requires_grad or made.tensor in leaves:
                raise CannotRepeat(f"{self.names[k]} was written to in no_grad()")
            leaves |= {made.tensor} if self.entries[k].backward == "AccumulateGrad" else set()

    def _again(self, k: int, in_time: bool = True) -> None:
        """Compute the results of an entry. A view of memory that was written to since has other values."""
        entry = self.entries[k]
        results = [self._leaf(k)] if entry.backward == "AccumulateGrad" else self._applied(k)
        for output, (made, result) in enumerate(zip(entry.results, results)):
            if in_time:
                self._must_agree(k, output, result)
            if isinstance(result.node, Node):
                result.node.place = result.node.place or entry.place  # not ours
            self.known[k, output] = self._ours[made.tensor] = result

    @cached_property
    def names(self) -> list[str]:
        """The names of the entries."""
        return node_names(self.recorder)

    def _leaf(self, k: int) -> Tensor:
        return tensor(self._numbers(Input(k))).requires_grad_()

    def _applied(self, k: int) -> list[Tensor]:
        """The results of an operation, computed again."""
        entry, name = self.entries[k], self.names[k]
        if entry.kind == "before":
            raise CannotRepeat(f"{name} was computed outside the recording")
        what = f"{entry.op}, which made {name},"
        if (call := self._call_of(entry)) is None:
            raise CannotRepeat(f"{what} cannot be applied again")
        try:
            with np.errstate(all="ignore"):
                made = _at_line(entry.place, partial(self._called, k, call))
        except (AutogradError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            raise CannotRepeat(f"{what} cannot be called here: {error}") from None
        return list(made) if isinstance(made, tuple | list) else [cast(Tensor, made)]

    def _call_of(self, entry: Entry) -> OpCall | TorchCall | None:
        return entry.called or entry.op_call

    def _called(self, k: int, call: OpCall | TorchCall) -> object:
        """The result of a recorded call, with our tensors."""
        entry = self.entries[k]
        written = None if entry.through is None else self._view(entry.through, k)
        if isinstance(call, TorchCall):
            return self._called_as_torch(entry, call, written)
        view, *others = entry.results
        if view.version and getattr(call.op, "view", False) and not entry.inplace and not others:
            if self._made_before(view.tensor, k) is not None:  # its memory was written to since
                return self._view(view.tensor, k)
        operands = [
            call.constants[place] if i.entry is None else self._operand(i)
            for place, i in enumerate(entry.inputs)
        ]
        if not entry.inplace:
            return call.op(*operands, **call.settings)
        written, op = operands[0] if written is None else written, call.op
        assert isinstance(op, Op)
        if op.view:
            return written._rearrange(op, **call.settings)
        # In no_grad(), a write leaves the node as it is.
        before = self.entries[entry.inputs[0].entry or 0].queue_key
        with modes.set_grad_enabled(modes.is_grad_enabled() and entry.queue_key != before):
            written._write(op, *operands[1:], **call.settings)
        return written if written._base is None else written._base

    def _called_as_torch(self, entry: Entry, call: TorchCall, written: Tensor | None) -> object:
        """The result of our operation for a recorded one of PyTorch; `written` is the view that it writes to."""
        given: dict[str, Any] = {}
        operands = 0
        for name, place in call.operands.items():
            places = place if isinstance(place, list) else [place]
            operands = max([operands, *(p + 1 for p in places if p is not None)])
            values = [None if p is None else self._linked(entry, entry.inputs[p]) for p in places]
            given[name] = values if isinstance(place, list) else values[0]
        own = {self._number(i) for i in entry.inputs[:operands]}
        if any(i.gradient and self._number(i) not in own for i in entry.inputs):
            raise CannotRepeat(f"{entry.op} reads a tensor that is not among its operands")
        if entry.stop:
            raise CannotRepeat("a tensor was written to in no_grad()")
        first = next(iter(given))
        if not entry.inplace or isinstance(given[first], list) or call.name in REARRANGED:
            return repeat_call(call, given)
        written = given[first] if written is None else written
        if hasattr(Tensor, f"{call.name}_"):
            repeat_call(replace(call, name=f"{call.name}_"), {**given, first: written})
            return written if written._base is None else written._base
        given[first] = written.clone()  # a rule may need what is overwritten
        written.copy_(repeat_call(call, given))
        return written if written._base is None else written._base

    def _linked(self, entry: Entry, i: Input) -> Tensor:
        """An operand. If it was written to within no_grad(), it has those numbers, and the graph from before."""
        for other in entry.inputs if not i.gradient else ():
            if other.gradient and self._number(other) == self._number(i) is not None:
                x = self._operand(other)
                return x + (self._operand(i) - x.detach())
        return self._operand(i)

    def _number(self, i: Input) -> int | None:
        """The number of the tensor that is this operand."""
        found = result_of(self.entries, i)
        return None if found is None else found.tensor

    def _view(self, number: int, k: int) -> Tensor:
        """The view with this number, to which entry k writes."""
        j = self._made_before(number, k)
        assert j is not None
        output = [r.tensor for r in self.entries[j].results].index(number)
        if (j, output) not in self.known:
            self._again(j, in_time=False)
        return self.known[j, output]

    def _made_before(self, number: int, k: int) -> int | None:
        """The latest entry before k that made the tensor with this number."""
        made = ((j, r.tensor) for j in reversed(range(k)) for r in self.entries[j].results)
        return next((j for j, tensor in made if tensor == number), None)

    def _operand(self, i: Input) -> Tensor:
        assert i.entry is not None
        key = i.entry, i.output
        if i.gradient:
            if key not in self.known:  # a view of a view to which something was written
                self._again(i.entry, in_time=False)
            return self.known[key]
        if key not in self._constants:
            self._constants[key] = tensor(self._numbers(i))
            number = self.entries[i.entry].results[i.output].tensor
            self._ours.setdefault(number, self._constants[key])  # so that it has its name
        return self._constants[key]

    def _numbers(self, i: Input) -> Array:
        """The recorded values of an operand; for a large tensor, its current values."""
        assert i.entry is not None
        made = self.entries[i.entry].results[i.output]
        array = made.array
        if array is None:
            alive = ((seen, seen.alive(made.tensor)) for seen in self.recorder.engines)
            same = [x for seen, x in alive if x is not None and seen.version_of(x) == made.version]
            if not same:
                raise CannotRepeat(f"{self.names[i.entry]} was not recorded in full")
            array = numbers_of(same[0])
        return np.array(array)

    def _must_agree(self, k: int, output: int, result: Tensor) -> None:
        before = self.entries[k].results[output].array
        if before is not None and not repeats(result.array, before, 1e-5):
            raise CannotRepeat(f"run again, {self.names[k]} has a different value")


def _at_line(place: Place | None, call: Callable[[], object]) -> object:
    """Call it as if from this line: what it makes or writes to, and its errors, name the user's line, not ours."""
    if place is None:
        return call()
    code = (lambda call: call()).__code__.replace(co_filename=place.file, co_firstlineno=place.line)
    return FunctionType(code, {})(call)


def computed_again(recorders: Iterable[Recorder], z: object) -> tuple[Rerun | None, str]:
    """Compute z again as it was recorded, to get a graph of ours; None, and the reason, if this is not possible."""
    recorded = [rerun for rerun in map(Rerun, recorders) if rerun.number(z) is not None]
    if not recorded:
        return (
            None,
            "the tensor was not recorded. Record the lines that compute it, with %%autograd",
        )
    why = ""
    for rerun in reversed(recorded):  # a newer tape may only have read z
        try:
            rerun.run(z)
        except CannotRepeat as error:
            why = why or str(error)
        else:
            return rerun, ""
    return None, why
