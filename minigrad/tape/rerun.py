"""Runs the recorded operations again that led to a tensor, to get its graph.

    rerun = Rerun(recorder)
    rerun.run(z)     computes z again, and all tensors that it was computed from
    rerun.ours(x)    our tensor for a recorded one

Mistakes are diagnosed with our rules, which need our graph. A backward pass may have freed it; and a
program of PyTorch has none (torch/rerun.py). Only operations through which a gradient flows from z to
leaves are run again. Each result must equal the recorded one. If it does not, or if an operation cannot
be applied again, we raise `CannotRepeat`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.errors import AutogradError
from minigrad.core.node import Node
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.random import fork_rng
from minigrad.tape.events import Entry, Input, computed_from
from minigrad.tape.naming import node_names
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Array, repeats
from minigrad.tape.tensors import Tensors


class CannotRepeat(Exception):
    """The program cannot be run again; the message says why."""


class Rerun:
    """Runs a part of a recording again.

    seen    the tensors of the engine whose operations are run again; by default minigrad's
    """

    unknown = "cannot be applied again"

    def __init__(self, recorder: Recorder, seen: Tensors | None = None) -> None:
        self.seen: Tensors = seen or recorder
        self.recorder, self.entries = recorder, recorder.entries
        # By entry and output: what was computed again, and what requires no gradient
        self.known: dict[tuple[int, int], Tensor] = {}
        self._constants: dict[tuple[int, int], Tensor] = {}
        self._ours: dict[int, Tensor] = {}  # by the recorded tensor's number

    def ours(self, recorded: object) -> Tensor | None:
        """Our tensor for a recorded one; None if it was not needed, or not recorded."""
        number = self.seen.known(recorded)
        return None if number is None else self._ours.get(number)

    def run(self, z: object) -> None:
        """Compute a recorded tensor again.

        Raises CannotRepeat, with the reason, if this is not possible.
        """
        self.run_entry(self.seen._latest[self.seen.known(z) or 0][0])

    def run_entry(self, root: int) -> None:
        """Compute the results of an entry again."""
        with modes.unobserved(), modes.enable_grad(), fork_rng():
            for k in sorted(computed_from(self.entries, [root])):
                self._again(k)

    def _again(self, k: int, in_time: bool = True) -> None:
        """Compute the results of an entry. A view of memory that was written to since has other values."""
        entry = self.entries[k]
        results = [self._leaf(k)] if entry.backward == "AccumulateGrad" else self._applied(k)
        for output, (made, result) in enumerate(zip(entry.results, results)):
            if in_time:
                self._must_agree(k, output, result)
            if isinstance(result.node, Node):
                result.node.place = entry.place  # the user's line, not ours
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
            raise CannotRepeat(f"{what} {self.unknown}")
        try:
            with np.errstate(all="ignore"):
                made = self._called(k, call)
        except (AutogradError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            raise CannotRepeat(f"{what} cannot be called here: {error}") from None
        return list(made) if isinstance(made, tuple | list) else [made]

    def _call_of(self, entry: Entry) -> Any:
        return entry.op_call

    def _called(self, k: int, call: Any) -> Any:
        """The result of a recorded call, with our tensors."""
        entry = self.entries[k]
        operands = [
            call.constants[place] if i.entry is None else self._operand(i)
            for place, i in enumerate(entry.inputs)
        ]
        if not entry.inplace:
            return call.op(*operands, **call.settings)
        written = operands[0] if entry.through is None else self._view(entry.through, k)
        if call.op.view:
            return written._rearrange(call.op, **call.settings)
        written._write(call.op, *operands[1:], **call.settings)
        return written if written._base is None else written._base

    def _view(self, number: int, k: int) -> Tensor:
        """The view with this number, to which entry k writes."""
        made = ((j, r.tensor) for j in reversed(range(k)) for r in self.entries[j].results)
        j = next(j for j, tensor in made if tensor == number)
        output = [r.tensor for r in self.entries[j].results].index(number)
        if (j, output) not in self.known:
            self._again(j, in_time=False)
        return self.known[j, output]

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
            alive = self.seen.alive(made.tensor)
            if alive is None or self.seen.version_of(alive) != made.version:
                raise CannotRepeat(f"{self.names[i.entry]} was not recorded in full")
            array = self._values(alive)
        return np.array(array)

    def _values(self, recorded: Tensor) -> Array:
        return np.asarray(recorded.array)

    def _must_agree(self, k: int, output: int, result: Tensor) -> None:
        before = self.entries[k].results[output].array
        if before is not None and not repeats(result.array, before, 1e-5):
            raise CannotRepeat(f"run again, {self.names[k]} has a different value")
