"""Identifies tensors in a recording: their numbers, their names, and the memory they use.

Tensors and nodes are only referenced weakly: a recording does not keep a graph alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minigrad.core.engine import AnyNode, GraphTask
from minigrad.core.memory import FRESH, INFERENCE
from minigrad.core.tensor import Tensor
from minigrad.tape.events import Backward, Call, Entry, HookRan, LoopTurn, Update
from minigrad.tape.names import tensors_in
from minigrad.tape.snapshot import Snapshot


class Identities:
    """What has been recorded so far, and the numbers of the tensors in it."""

    def __init__(self, namespace: Callable[[], Mapping[str, Any]]) -> None:
        self.namespace = namespace
        self.entries: list[Entry] = []
        self.calls: list[Call] = []
        self.passes: list[Backward] = []
        self.updates: list[Update] = []
        self.turns: list[LoopTurn] = []  # of a long loop, those that are kept; see turns.py
        self.fixed: dict[int, str] = {}  # then, the names of tensors
        # In order: ("op", entry, 0), ("seed", pass, 0), ("turn", pass, turn), ("end", pass, 0),
        # ("update", update, 0).
        self.events: list[tuple[str, int, int]] = []
        # The kinds of tensors that are recorded, and where their numbers are found.
        self.kinds: list[tuple[type[Any], Callable[[Any], int | None]]] = [(Tensor, self._known)]
        self.names: dict[int, str] = {}  # names of tensors, by number
        self.storages: dict[int, int] = {}  # tensor -> its memory, if shared or written to
        self._numbers: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._many = 0
        self._sought: set[int] = set()  # tensors whose names were looked up
        self._counters: dict[int, tuple[Any, int]] = {}  # id of a counter -> it, its storage
        self._latest: dict[int, tuple[int, int]] = {}  # tensor -> (entry, output) that made it
        self._entry_of: weakref.WeakKeyDictionary[AnyNode, int] = weakref.WeakKeyDictionary()
        self._grads: dict[int, Snapshot | None] = {}  # of leaves, at the last look
        self._hooks: list[HookRan] = []
        self._open: list[tuple[GraphTask, int, list[HookRan]]] = []  # passes that are running
        self._modules: list[tuple[Any, int]] = []  # the modules being called, with their calls
        self._updating: list[str] = []  # the kinds of the updates that are running
        self._scalars: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()
        self._note_scalars(tensor for _, tensor in tensors_in(namespace()))

    def tensor(self, number: int) -> Tensor | None:
        """The tensor with this number, if it is still alive."""
        for ref, n in self._numbers.values():
            if n == number:
                return ref()
        return None

    def _known(self, tensor: Tensor) -> int | None:
        found = self._numbers.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _number(self, tensor: Tensor) -> int:
        """The tensor's number in this recording; assigned on first sight.

        An id may be reused after its tensor is gone, so it only counts together
        with a weak reference that is still alive.
        """
        known = self._known(tensor)
        if known is None:
            known = self._many
            self._many += 1
            self._numbers[id(tensor)] = (weakref.ref(tensor), known)
        counter = tensor.counter
        if counter is not FRESH:
            kept = self._counters.setdefault(id(counter), (counter, len(self._counters)))
            self.storages[known] = kept[1]
            if tensor._base is not None:
                self._number(tensor._base)
        return known

    def called(self, name: str, tensor: Tensor) -> None:
        """What to call a tensor that no variable of the user holds, such as the mask of dropout."""
        self.names.setdefault(self._number(tensor), name)

    def _note_scalars(self, tensors: Iterable[Tensor]) -> None:
        """Remember tensors without axes that have names, and so are no plain numbers."""
        self._scalars.update((id(t), t) for t in tensors if not t.ndim)

    def _is_number(self, operand: Tensor) -> bool:
        """Was this operand a plain number? The core wraps it in a fresh tensor that has no name."""
        if operand.node is not None or operand.array.ndim or operand._tangents is not None:
            return False
        if operand.counter not in (FRESH, INFERENCE) or self._known(operand) is not None:
            return False
        if self._scalars.get(id(operand)) is operand:
            return False
        return id(operand) not in map(id, self.namespace().values())

    def look_up_names(self) -> None:
        """Find names for tensors in the user's namespace."""
        for kind, number_of in self.kinds:
            for name, tensor in tensors_in(self.namespace(), kind):
                grad = tensor.grad if tensor.is_leaf else None
                for known, path in ((number_of(tensor), name), (number_of(grad), f"{name}.grad")):
                    if known is not None:
                        self.names.setdefault(known, path)

    def _look_up_one(self, tensor: Any, key: int) -> None:
        """Look up the tensor's name: if the user has not named it by now, they never will.

        This only looks at the variables themselves; lists and modules are searched later.
        """
        if key in self.names or key in self._sought:
            return
        self._sought.add(key)
        for name, value in self.namespace().items():
            if value is tensor and not name.startswith("_"):
                self.names[key] = name
                return
