"""The tensors of one engine in a recording: their numbers, and the entries that made them.

minigrad's are in identity.py, and PyTorch's in torch/tensors.py. Tensors and nodes are only referenced
weakly: a recording does not keep a graph alive.
"""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minigrad.core.errors import aligned, in_constructor
from minigrad.tape.events import Entry, Input, TensorVersion, Update, WrittenTensor
from minigrad.tape.snapshot import Snapshot

# ("op", entry, 0), ("failed", entry, 0), ("seed", pass, 0), ("iteration", pass, iteration), ("end", pass, 0), or
# ("update", update, 0)
Event = tuple[str, int, int]

FEW = 4  # leaves named in an error message


class Tensors(ABC):
    """The tensors of one engine in a recording: their numbers, and the entries that made them."""

    kind: type[Any]
    names: dict[int, str]  # the user's names for tensors of both engines, by their numbers

    def __init__(self, entries: list[Entry], events: list[Event], serial: Iterator[int]) -> None:
        self.entries, self.events = entries, events
        self._serial = serial  # numbers for tensors
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}  # by the tensor's id
        self._refs: dict[int, weakref.ref[Any]] = {}  # the latest object of each tensor
        self._latest: dict[int, tuple[int, int]] = {}  # tensor -> (entry, output) that made it
        # The .grad of leaves that a recorded pass has added to, by memory, and the leaf's entry
        self._gradients: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.newest_leaf = -1  # its number

    def known(self, tensor: Any) -> int | None:
        """The number of a tensor that was seen before; None for a new one.

        An id may be reused after its tensor is gone, so it is only valid together with a weak
        reference that is still alive.
        """
        found = self._numbers.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def alive(self, number: int) -> Any:
        """The tensor with this number; None if it no longer exists."""
        return self._refs[number]() if number in self._refs else None

    def where_it_stopped(self, z: Any) -> str:
        """For an error message: the lines that keep gradients of z from going on, such as a detach()."""
        self.look_up_names()
        number = self.known(z)
        waiting = [] if number is None or number not in self._latest else [self._latest[number][0]]
        found: set[int] = set()
        while waiting:
            k = waiting.pop()
            if k not in found:
                found.add(k)
                entry = self.entries[k]
                waiting += (
                    [] if entry.stop else [i.entry for i in entry.inputs if i.entry is not None]
                )
        rows, leaves = [], []
        for entry in (self.entries[k] for k in sorted(found)):
            name = self.names.get(entry.results[0].tensor) if entry.results else None
            if entry.kind == "leaf" and name and name not in leaves:
                leaves.append(name)
            elif entry.stop:  # a detach() has no line
                line = (
                    (name or "a tensor", "")
                    if entry.place is None
                    else (entry.place.label, entry.place.text)
                )
                rows.append((entry.stop, *line))
        if not rows and leaves:
            more = ", ..." if len(leaves) > FEW else ""
            which = f"which require{'s' * (len(leaves) == 1)} no gradient"
            rows = [("computed from", ", ".join(leaves[:FEW]) + more, which)]
        return "\n" + aligned(list(dict.fromkeys(rows))) if rows else ""

    def _numbered(self, tensor: Any, number: int | None = None) -> int:
        """Give a tensor this number, or a new one."""
        number = next(self._serial) if number is None else number
        self._refs[number] = ref = weakref.ref(tensor)
        self._numbers[id(tensor)] = (ref, number)
        return number

    @staticmethod
    @abstractmethod
    def memory_of(tensor: Any) -> int:
        """Identifies the memory of a tensor that is alive; 0 if it has none."""

    def is_same_memory(self, tensor: Any, other: Any) -> bool:
        """Do both have the same memory and shape? A tensor that no longer exists is None."""
        if tensor is None or tensor.shape != other.shape:
            return False
        return self.memory_of(tensor) == self.memory_of(other) != 0

    def note_gradient(self, gradient: Any, entry: int) -> None:
        """Note that this is the .grad of a leaf."""
        self._gradients[self.memory_of(gradient)] = weakref.ref(gradient), entry

    def as_gradient(self, tensor: Any) -> tuple[int, str] | None:
        """The leaf whose gradient this is, and "grad"; "grad.data" for another tensor in its memory."""
        ref, entry = self._gradients.get(self.memory_of(tensor), (None, 0))
        gradient = None if ref is None else ref()
        if not self.is_same_memory(gradient, tensor):
            return None
        leaf = self.entries[entry].results[0].tensor
        return leaf, "grad" if gradient is tensor else "grad.data"

    @abstractmethod
    def number(self, tensor: Any) -> int:
        """The tensor's number in this recording; assigned on first sight."""

    @abstractmethod
    def version_of(self, tensor: Any) -> int:
        """How often a tensor was written to."""

    @staticmethod
    @abstractmethod
    def gradient(tensor: Any) -> Snapshot | None:
        """A snapshot of the tensor's `.grad`."""

    @abstractmethod
    def version(self, tensor: Any, number: int) -> TensorVersion:
        """A record of the tensor's current state."""

    @abstractmethod
    def _add_leaf(self, tensor: Any, number: int, overwritten: bool = False) -> None:
        """Add a tensor that was not computed in this recording."""

    @abstractmethod
    def look_up_names(self) -> None:
        """Find names for tensors in the user's namespace, and in the function that is running."""

    @abstractmethod
    def _look_up_one(self, tensor: Any, number: int) -> None:
        """Look up the name of a tensor."""

    @abstractmethod
    def entry_of(self, node: Any) -> int:
        """The entry of a node in a graph; added if it is new."""

    @abstractmethod
    def _link_again(self, entry: Entry, number: int, view: Any) -> None:
        """A view has a new history: read from its node which inputs get a gradient."""

    def input(self, operand: Any, overwritten: bool = False) -> Input:
        """The Input for an operand: a recorded result, or a leaf, which is added if it is new."""
        number = self.number(operand)
        if number not in self._latest:
            self._add_leaf(operand, number, overwritten)
            self.newest_leaf = number
        else:
            self._follow_base(operand, number, overwritten)
        self._look_up_one(operand, number)
        entry, output = self._latest[number]
        return Input(entry, output, max(self.version_of(operand) - overwritten, 0))

    def _follow_base(self, view: Any, number: int, overwritten: bool) -> None:
        """After a write to its base, a view has a new history: its view ops are applied again.

        overwritten    does the last write belong to the operation that reads the view?
        """
        entry, output = self._latest[number]
        made, base = self.entries[entry], view._base
        if base is None or made.results[output].version == self.version_of(view) - overwritten:
            return
        source, result = self.input(base), self.version(view, number)
        again = Entry("op", made.op or "view", made.formula, [source], made.settings, [result])
        again.read = made.read
        again.view, again.replayed, again.place, again.call = True, True, made.place, made.call
        again.op_call = None if made.called else made.op_call
        place = self.add_op(again)
        self._latest[number] = (place, 0)
        self._link_again(again, place, view)

    def _inputs_of(self, node: Any) -> list[Input]:
        """The inputs of a node from before the recording: one for each edge of the graph."""
        return [
            Input(None, constant="…")
            if parent is None
            else Input(self.entry_of(parent), output, gradient=True)
            for parent, output in node.next_functions
        ]

    def _is_first_value(self, tensors: Iterable[Any]) -> bool:
        """Is a layer initializing a new parameter? Then it is recorded as a leaf with these values."""
        return not any(self.known(x) in self._latest for x in tensors) and in_constructor()

    def _detached(self, entry: Entry, source: int, version: int) -> None:
        """Make a new entry a known tensor without its history."""
        entry.kind, entry.op, entry.stop, entry.view = "op", "detach", "detach", True
        entry.formula = "z = x, without its history"
        entry.inputs = [Input(*self._latest[source], version)]
        self.events.append(("op", len(self.entries), 0))

    def add_op(self, entry: Entry, kind: str = "op") -> int:
        """Append the entry of an operation; returns its number."""
        self.entries.append(entry)
        self.events.append((kind, len(self.entries) - 1, 0))
        return len(self.entries) - 1

    def add_results(
        self, entry: Entry, number: int, results: Sequence[Any], dropped: Sequence[Any] = ()
    ) -> None:
        """Record the results of an operation; None for one that is not a tensor, or no longer exists.

        dropped    for each result, a tensor with its values, if it may no longer exist
        """
        for output, tensor in enumerate(results):
            if tensor is not None:
                key = self.number(tensor)
                entry.results.append(self.version(tensor, key))
                self._latest[key] = (number, output)
            elif dropped:
                entry.results.append(self._dropped(dropped[output]))

    def _dropped(self, values: Any) -> TensorVersion:
        """A result that no longer exists, so that the others keep their places."""
        number = next(self._serial)
        if values is None:
            return TensorVersion(number, 0, (), "", False, None)
        return self.version(values, number)

    def written(
        self, tensor: Any, before: int, g: Snapshot | None, update: Update
    ) -> WrittenTensor:
        """Add an entry for a parameter that an optimizer's step wrote to; `before` is its earlier version."""
        key = self.number(tensor)
        if key not in self._latest:  # new on the tape: a user-defined optimizer wrote to it
            self._add_leaf(tensor, key, overwritten=True)
        was, output = self._latest[key]
        made, now = self.entries[was], self.version(tensor, key)
        if output < len(made.results) and made.results[output].version == now.version:
            return WrittenTensor(was, was, g)  # its ops were recorded one by one
        entry = Entry("leaf", inputs=[Input(was, output, before)], results=[now])
        entry.inplace, entry.place, entry.update = True, update.place, update.call
        entry.backward, entry.queue_key = made.backward, made.queue_key
        self._latest[key] = (len(self.entries), 0)
        self.entries.append(entry)
        return WrittenTensor(was, len(self.entries) - 1, g)
