"""Identifies PyTorch's tensors and nodes in a recording.

A tensor is identified by its id, as long as a weak reference to it is alive. A new object for a
tensor in a graph is identified by its node and its number among the node's results.

A node is identified by its sequence number and its name; an AccumulateGrad, by its leaf. Reading
`grad_fn` can have side effects: for a view whose base was written to, PyTorch then makes a new node
with the next sequence number. So we only read it where PyTorch has already done so itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import torch

from minigrad.tape.events import Entry, Input, Saved, TensorVersion, TorchCall
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Snapshot, name_of
from minigrad.tape.tensors import Tensors
from minigrad.tape.torch.values import snapshot, version_of

# Since 2.10, PyTorch tells whether hooks have packed a saved tensor.
TELLS_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")

LEAVES_FIRST = -(1 << 62)  # before all sequence numbers, which count down

NodeKey = tuple[int, str]


class TorchTensors(Tensors):
    """The numbers of PyTorch's tensors in a recording, and the entries that made them."""

    kind = torch.Tensor

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder.entries, recorder.events, recorder._serial)
        self.recorder, self.names = recorder, recorder.names
        self._at: dict[int, int] = {}  # address of the memory -> the first tensor there
        self._entry_of: dict[NodeKey, int] = {}
        self._walked: set[NodeKey] = set()  # nodes whose edges are known
        # Results of `empty`, which are uninitialized until they are written to.
        self.unset: set[int] = set()
        self._leaf_at: dict[int, int] = {}  # a leaf -> its entry when it was last an operand
        self.computing: list[int] = []  # the numbers of the running passes
        # If not TELLS_HOOKS: how many blocks of saved_tensors_hooks are open, and the nodes made in them.
        self.packing = 0
        self.packed: set[NodeKey] = set()

    # ---- tensors -------------------------------------------------------------------

    @staticmethod
    def memory_of(tensor: torch.Tensor) -> int:
        """The address of its memory."""
        return address_of(tensor)

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a tensor in this recording; assigned on first sight."""
        found = self.known(tensor)
        if found is None:
            found = self._numbered(tensor, self._result_known(tensor))
            if tensor._base is not None:
                self._share(found, self.number(tensor._base))
        return found

    def _share(self, tensor: int, other: int) -> None:
        """Note that two tensors share memory."""
        storages = self.recorder.storages
        storages[tensor] = storages.setdefault(other, len(storages))

    def _result_known(self, tensor: torch.Tensor) -> int | None:
        """The number of a recorded result, if this is another object for it."""
        node = grad_fn_of(tensor)
        entry = None if node is None else self._entry_of.get(key_of(node))
        if entry is None:
            return None
        results = self.entries[entry].results
        return results[tensor.output_nr].tensor if tensor.output_nr < len(results) else None

    def look_up_names(self) -> None:
        """Find names for the tensors of both engines."""
        self.recorder.look_up_names()

    def _look_up_one(self, tensor: torch.Tensor, number: int) -> None:
        self.recorder._look_up_one(tensor, number)

    def version_of(self, tensor: torch.Tensor) -> int:
        """How often a tensor was written to."""
        return version_of(tensor)

    @staticmethod
    def gradient(tensor: torch.Tensor) -> Snapshot | None:
        """A snapshot of the tensor's `.grad`."""
        return snapshot(tensor.grad)

    def version(self, tensor: torch.Tensor, number: int) -> TensorVersion:
        """A record of the tensor's current state."""
        shape, kind = tuple(tensor.shape), name_of(tensor.dtype)
        now = version_of(tensor)
        value = None if now == 0 and number in self.unset else snapshot(tensor)
        return TensorVersion(number, now, shape, kind, tensor.requires_grad, value)

    def _add_leaf(self, tensor: torch.Tensor, number: int, overwritten: bool = False) -> None:
        """Add a tensor that was not computed in this recording."""
        node = grad_fn_of(tensor)
        known = self._entry_of.get(key_of(node)) if node is not None else None
        if known is not None:  # another result of a node that was found in a graph
            self._latest[number] = (known, len(self.entries[known].results))
            self.entries[known].results.append(self.version(tensor, number))
            return
        result = self.version(tensor, number)
        entry = Entry("leaf" if node is None else "before", results=[result])
        self._latest[number] = (len(self.entries), 0)
        source = None if node is not None else self._same_memory(tensor, number)
        if source is not None:
            self._detached(entry, source, version_of(tensor))
            entry.kind = "leaf" if tensor.requires_grad else "op"
            self._share(number, source)
            entry.made_by = self.computing[-1] if self.computing else None
        if node is not None:
            self._belongs(entry, len(self.entries), node)
            entry.op = op_of(node)
        elif tensor.requires_grad:
            entry.backward, entry.queue_key = "AccumulateGrad", LEAVES_FIRST
        self.entries.append(entry)

    def _same_memory(self, tensor: torch.Tensor, number: int) -> int | None:
        """A recorded tensor with the same address and shape: this tensor is the result of its detach()."""
        if not (address := address_of(tensor)):
            return None
        source = self._at.setdefault(address, number)
        other = None if source == number else self.alive(source)
        if other is None or other.shape != tensor.shape or source not in self._latest:
            self._at[address] = number
            return None
        return source

    def _link_again(self, entry: Entry, number: int, view: torch.Tensor) -> None:
        if (node := grad_fn_of(view)) is not None:
            self.link(entry, number, node)
        if view._base is not None and view._base.is_contiguous():
            offset = view.storage_offset() - view._base.storage_offset()
            given = {"size": view.shape, "stride": view.stride(), "storage_offset": offset}
            entry.called = TorchCall("as_strided", {"self": None, **given}, {"self": 0}, {})

    def add_op(self, entry: Entry, kind: str = "op") -> int:
        """Append the entry of an operation; returns its number."""
        if kind == "op":
            entry.made_by = self.computing[-1] if self.computing else None
        return super().add_op(entry, kind)

    def add_results(
        self, entry: Entry, number: int, results: Sequence[Any], dropped: Sequence[Any] = ()
    ) -> None:
        """Record the results of an operation."""
        super().add_results(entry, number, results, dropped)
        for tensor in results:
            if tensor is not None and tensor._base is None and (address := address_of(tensor)):
                self._at[address] = self.number(tensor)

    # ---- nodes ---------------------------------------------------------------------

    def link(
        self, entry: Entry, number: int, node: Any, results: Sequence[torch.Tensor | None] = ()
    ) -> None:
        """Read from a node which operands get a gradient, and which values are saved."""
        self._belongs(entry, number, node)
        self._walked.add(key_of(node))
        if self.packing:
            self.packed.add(key_of(node))
        rest = list(entry.inputs)
        for parent, output in node.next_functions:
            if parent is None:
                continue
            if hasattr(parent, "variable"):  # the leaf as it is now, or as it was before this write
                self._leaf_at.pop(self.number(parent.variable), None)
            source = self.entry_of(parent)
            places = [(i.entry, i.output) for i in rest]
            if (source, output) in places:
                skipped = places.index((source, output))
                rest[skipped].gradient = True
                del rest[: skipped + 1]
            else:  # an operand that is hidden from the user
                entry.inputs.append(Input(source, output, gradient=True))
                entry.op_call = None  # with one more operand, it cannot be applied again
        entry.saved += self._saved(entry, number, node, results)

    def _saved(
        self, entry: Entry, number: int, node: Any, results: Sequence[torch.Tensor | None]
    ) -> Iterator[Saved]:
        """The values saved by a node, by PyTorch's names. Does not unpack them."""
        for name, data in saved_tensors(node, packed=self.packing > 0):
            key = self.known(data)
            if key is not None and key in self._latest:
                made_by, output = self._latest[key]
                yield Saved(name, made_by, version_of(data), key, "", output)
                continue
            place = address_of(data), data.shape
            for output, own in enumerate(results):  # a result is saved without its history
                if own is not None and (address_of(own), own.shape) == place:
                    made = entry.results[output]
                    yield Saved(name, number, made.version, made.tensor, "", output)
                    break

    def _belongs(self, entry: Entry, number: int, node: Any) -> None:
        entry.backward, entry.queue_key = type(node).__name__, -node._sequence_nr()
        if entry.backward == "CompiledFunctionBackward":
            entry.formula = "z = the result of compiled code, whose operations are not visible"
        self._entry_of[key_of(node)] = number

    def entry_of(self, node: Any) -> int:
        """The entry of a node in a graph; added if it is new."""
        leaf = getattr(node, "variable", None)
        if leaf is None:
            if key_of(node) not in self._walked:
                self._adopt(node)
            return self._entry_of[key_of(node)]
        number = self.number(leaf)
        if number not in self._latest:
            self._add_leaf(leaf, number)
        found = self._leaf_at.setdefault(number, self._latest[number][0])
        self.entries[found].backward, self.entries[found].queue_key = "AccumulateGrad", LEAVES_FIRST
        return found

    def _adopt(self, root: Any) -> None:
        """Add entries for a part of the graph that was made before the recording, inputs first."""
        for node in reversed(nodes_below([root], self._is_walked)):
            if key_of(node) not in self._entry_of:
                self.entries.append(Entry("before", op_of(node)))
                self._belongs(self.entries[-1], len(self.entries) - 1, node)
            self._walked.add(key_of(node))
            self.entries[self._entry_of[key_of(node)]].inputs = self._inputs_of(node)

    def _is_walked(self, node: Any) -> bool:
        return hasattr(node, "variable") or key_of(node) in self._walked


def nodes_below(
    roots: Sequence[Any], known: Callable[[Any], bool] = lambda node: False
) -> list[Any]:
    """The nodes of a graph, each once, and before the nodes to which it sends gradients.

    known    nodes to leave out, with those that only they lead to
    """
    done: set[Any] = set()
    order: list[Any] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, below = stack.pop()
        if below:
            order.append(node)
        elif node not in done and not known(node):
            done.add(node)
            stack.append((node, True))
            stack += [(p, False) for p, _ in node.next_functions if p is not None and p not in done]
    return order[::-1]


def address_of(tensor: torch.Tensor) -> int:
    """The address of a tensor's memory; 0 if it has no memory, as within torch.func."""
    try:
        return tensor.data_ptr() if tensor.layout is torch.strided else 0
    except RuntimeError:
        return 0


def grad_fn_of(tensor: torch.Tensor) -> Any:
    """The grad_fn of a tensor, if a gradient may go to it now.

    None as well if PyTorch refuses to read it: for a view that a Function returned, after a write to its base.
    """
    if not (tensor.requires_grad and torch.is_grad_enabled()):
        return None
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def key_of(node: Any) -> NodeKey:
    """The key of a node: its sequence number and its name."""
    return node._sequence_nr(), type(node).__name__


def op_of(node: Any) -> str:
    """The name of an operation, from the name of its node: "log_softmax" for LogSoftmaxBackward0."""
    name = re.sub(r"Backward\d*$", "", type(node).__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def saved_of(node: Any, unpack: bool = False) -> Iterator[tuple[str, Any]]:
    """The saved values of a node: by PyTorch's name, or by position for a Function.

    unpack   the values themselves, for which PyTorch calls the hooks that packed them; otherwise raw
    """
    kind: type = type(node)
    for name in _saved_names(kind):
        called = "saved_tensors" if name == "tensors" else name
        attribute = f"_saved_{name}" if name != "tensors" else called
        try:
            value = getattr(node, attribute if unpack else f"_raw_saved_{name}")
        except RuntimeError:  # it was freed
            continue
        if isinstance(value, tuple):
            yield from ((f"{called}[{k}]", part) for k, part in enumerate(value))
        else:
            yield name, value


def saved_tensors(node: Any, packed: bool = True) -> Iterator[tuple[str, torch.Tensor]]:
    """The saved tensors of a node, by name, except those that hooks have packed.

    packed   for a PyTorch that does not tell: may hooks have packed them? Then nothing is returned, because
             to look at a packed tensor would call the user's hooks
    """
    kept: Iterable[tuple[str, Any]] = ()
    if TELLS_HOOKS:
        kept = ((name, raw.data) for name, raw in saved_of(node) if raw.unpack_hook is None)
    elif not packed:
        kept = saved_of(node, unpack=True)
    return ((name, x) for name, x in kept if isinstance(x, torch.Tensor))


@cache
def _saved_names(kind: type) -> list[str]:
    return [name.removeprefix("_raw_saved_") for name in dir(kind) if name.startswith("_raw_saved")]
