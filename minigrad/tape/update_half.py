"""The part of the recorder that sees what a training step changes besides the graph.

    zero_grad()            clears the gradients of an optimizer's parameters, or of a module's
    optimizer.step()       writes to the parameters: each of them gets a new version
    scheduler.step()       sets learning rates

Each is an `Update`. A parameter that was written to gets a new entry: the same tensor, the same
AccumulateGrad, one version later. What is computed afterwards starts from that entry, so that the
graphs of two training steps do not share their leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.core.errors import Place, user_line
from minigrad.core.tensor import Tensor
from minigrad.tape import looks
from minigrad.tape.document import UpdateKind
from minigrad.tape.events import Entry, Input, Update, WrittenTensor
from minigrad.tape.forward_half import ForwardHalf
from minigrad.tape.snapshot import Snapshot, maybe

Before = list[tuple[Tensor, int, Snapshot | None]]  # tensors, their versions, their gradients


class UpdateHalf(ForwardHalf):
    """Records updates."""

    @contextmanager
    def updating(self, what: UpdateKind, owner: Any) -> Iterator[None]:
        """Within this block, `owner` clears gradients, writes to parameters, or sets rates."""
        if what in self._updating or getattr(owner, "_is_initial", False):
            yield  # a part of an update that is recorded as a whole
            return
        self._updating.append(what)
        tensors = _tensors_of(owner) if what != "schedule" else []
        before = [(t, t._version, maybe(t.grad)) for t in tensors]
        if what == "step":
            self._first_seen(before)
        rates, place = _rates(owner), user_line()
        try:
            yield
        finally:
            self._updating.remove(what)
        self._add_update(what, owner, before, rates, place)

    def _first_seen(self, before: Before) -> None:
        """Add the parameters that have a gradient, but have not been on the tape yet."""
        for tensor, _, g in before:
            if g is not None and (key := self._number(tensor)) not in self._latest:
                self._add_leaf(tensor, key, overwritten=False)

    def _add_update(
        self, what: UpdateKind, owner: Any, before: Before, rates: list[float], place: Place | None
    ) -> None:
        update = Update(what, self._called(owner), type(owner).__name__, place)
        update.rates = [*zip(rates, _rates(owner), strict=False)]
        for tensor, version, g in before:
            if what == "step" and tensor._version != version:
                update.written.append(self._written(tensor, version, g, update))
            elif what == "zero_grad" and g is not None:
                known = self._known(tensor)
                entry = None if known is None else self._latest.get(known, (None, 0))[0]
                update.written.append(WrittenTensor(entry, None, g))
                if entry is not None:
                    self._grads[entry] = maybe(tensor.grad)
        update.reached = len(self.entries)
        self.events.append(("update", len(self.updates), 0))
        self.updates.append(update)

    def _written(
        self, tensor: Tensor, version: int, g: Snapshot | None, update: Update
    ) -> WrittenTensor:
        """The new entry of a parameter that was written to."""
        key = self._number(tensor)
        if key not in self._latest:  # not seen before: an optimizer of the user's wrote to it
            self._add_leaf(tensor, key, overwritten=True)
        was, output = self._latest[key]
        made = self.entries[was]
        if output < len(made.results) and made.results[output].version == tensor._version:
            return WrittenTensor(was, was, g)  # its ops were recorded one by one
        entry = Entry(
            "leaf",
            inputs=[Input(was, output, version)],
            results=[looks.tensor_version(tensor, key)],
            inplace=True,
            place=update.place,
            backward=made.backward,
            queue_key=made.queue_key,
            update=update.call,
        )
        self._latest[key] = (len(self.entries), 0)
        if tensor.node is not None:
            self._entry_of[tensor.node] = len(self.entries)
            self._grads[len(self.entries)] = g
        self.entries.append(entry)
        return WrittenTensor(was, len(self.entries) - 1, g)

    def _called(self, owner: Any) -> str:
        """The user's name of an optimizer, module or scheduler, or that of its class."""
        names = (n for n, v in self.namespace().items() if v is owner and not n.startswith("_"))
        return next(names, type(owner).__name__)


def _tensors_of(owner: Any) -> list[Tensor]:
    groups = getattr(owner, "param_groups", None)
    if groups is None:
        return list(owner.parameters())
    return [p for group in groups for p in group["params"]]


def _rates(owner: Any) -> list[float]:
    """The learning rates of an optimizer's groups, or of the optimizer that a scheduler sets."""
    groups = getattr(getattr(owner, "optimizer", owner), "param_groups", [])
    return [float(group["lr"]) for group in groups if "lr" in group]
