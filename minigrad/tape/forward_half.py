"""The forward half of the recorder: records operations and calls of modules.

The core does not report everything, so we infer the rest: a tensor that shares another's memory
without a view op between them was detached; a view whose version has changed has a new history.

Read identity.py first.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.engine import AnyNode
from minigrad.core.errors import Place, user_line
from minigrad.core.function import FunctionOp, FunctionPlan
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import COMMON, INFERENCE
from minigrad.core.node import Node
from minigrad.core.op import Op
from minigrad.core.saved import Packed
from minigrad.core.tensor import Tensor
from minigrad.core.views import CopySlices
from minigrad.tape.events import Call, Entry, Input, OpCall, Saved, TensorVersion
from minigrad.tape.identity import Identities
from minigrad.tape.names import constant_text, place_for, settings_given
from minigrad.tape.snapshot import WHOLE, Snapshot, name_of

PLAIN = (bool, int, float, complex, str, np.ndarray, type(None))
SMALL = 64  # local derivatives are computed for at most this many entries


class ForwardHalf(Identities):
    """The part of the recorder that records operations and module calls."""

    def forward(
        self, op: Any, operands: tuple[Any, ...], result: Any, params: dict[str, Any], inplace: bool
    ) -> None:
        """An operation was applied; with `inplace`, its result is its first operand."""
        if self._open and not (self._open[-1][0].create_graph or modes.is_grad_enabled()):
            return  # a hook computed it, outside of any graph (what a checkpoint recomputes has one)
        results = result if isinstance(result, tuple) else (result,)
        made = results[0]
        if isinstance(made, Tensor) and made.grad_fn is None:
            if self._is_first_value(x for x in operands if isinstance(x, Tensor)):
                return
        through = None
        if inplace and isinstance(result, Tensor) and result._base is not None:
            # A write to a view is a write to its base, whose history continues here.
            through, base = result, result._base
            operands, results = (base, *operands[1:]), (base,)
        inputs = [self._input(op, x, inplace and share_counter(x, results[0])) for x in operands]
        read: list[Input] = []
        entry = Entry(
            "op",
            op.name,
            op.formula,
            inputs,
            settings_given(op, params, lambda array: self._read(array, read)),
            read=read,
            inplace=inplace,
            place=self.place_of_op(),
            written=None if through is None else tuple(through.shape),
            made_by=self._open[-1][1].number if self._open else None,
            call=self._modules[-1][1] if self._modules else None,
            op_call=op_call(op, operands, params, inputs, inplace),
        )
        number = self.add_op(entry)
        self.add_results(entry, number, [x if isinstance(x, Tensor) else None for x in results])
        if through is not None:
            entry.through = self.number(through)
            self._look_up_one(through, entry.through)
        elif isinstance(result, Tensor) and not inplace:
            entry.view = bool(getattr(op, "view", False)) and result._base is not None
        node = results[0].grad_fn if isinstance(results[0], Tensor) else None
        if isinstance(node, Node):
            self._link(entry, number, node)
            if not inplace and not self._open:
                entry.local = local_derivatives(op, operands, result, params)
        elif any(isinstance(x, Tensor) and x.node is not None for x in operands):
            z = results[0]
            floating = not isinstance(z, Tensor) or dtypes.is_floating(z.array.dtype)
            entry.stop = why_no_gradient(modes.state.recording, floating)
            if inplace and through is None and isinstance(z.node, AccumulateGrad):
                self._goes_on(z.node, entry, number)

    def version_of(self, tensor: Tensor) -> int:
        """How often a tensor was written to; 0 for an inference tensor, which does not count."""
        return 0 if tensor.counter is INFERENCE else tensor.counter.count

    def version(self, tensor: Tensor, number: int) -> TensorVersion:
        """A record of the tensor's current state."""
        tangents = [] if tensor._tangents is None else [*tensor._tangents.values()]
        now, shape, dtype = self.version_of(tensor), tuple(tensor.shape), name_of(tensor.dtype)
        values = Snapshot(tensor.array), [Snapshot(t.array) for t in tangents]
        return TensorVersion(number, now, shape, dtype, tensor.requires_grad, *values)

    def renamed(self, node: Node) -> None:
        """Update the name of the node of the latest operation."""
        if (number := self._entry_of.get(node)) is not None:
            self.entries[number].backward = node.name()

    def _belongs(self, entry: Entry, number: int, node: AnyNode) -> None:
        """An entry belongs to this node of the graph."""
        entry.backward, entry.queue_key = node.name(), node.queue_key
        self._entry_of[node] = number

    def _goes_on(self, node: AccumulateGrad, entry: Entry, number: int) -> None:
        """A leaf was written to, as in  w -= lr * w.grad : later uses start from this version."""
        before = self._entry_of.get(node)
        entry.backward, entry.queue_key = node.name(), node.queue_key
        self._moves(node, number)
        if before is not None and before in self._grads:
            self._grads[number] = self._grads[before]

    def _moves(self, node: AnyNode, number: int) -> None:
        """A leaf's node belongs to this entry as soon as all running backward passes have ended."""
        (self._moved if self._open else self._entry_of)[node] = number

    def failed(self, op: Any, operands: Sequence[Any], place: Place | None) -> int:
        """An op raised an error, and the recorded code stopped there."""
        inputs = [self._input(op, x, overwritten=False) for x in operands]
        shapes = [str(tuple(getattr(x, "shape", ()))) for x in operands]
        entry = Entry("failed", op.name, op.formula, inputs, place=place, shapes=shapes)
        return self.add_op(entry, "failed")

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """Within this block, a module of nn is being called."""
        path = kind = type(module).__name__
        parent = None
        if self._modules:
            caller, parent = self._modules[-1]
            names = (name for name, inner in caller.named_modules() if inner is module and name)
            path = f"{self.calls[parent].path}.{next(names, kind)}"
        self._modules.append((module, len(self.calls)))
        self._note_scalars(module.buffers(recurse=False))
        sequence = getattr(module, "_goes_through_sequence", False)
        self.calls.append(Call(path, parent, kind, user_line(), sequence))
        try:
            yield
        finally:
            self._modules.pop()

    def _input(self, op: Any, operand: Any, overwritten: bool) -> Input:
        if not isinstance(operand, Tensor):
            return Input(None, constant=constant_text(operand))
        if op.name == "convolution" and operand.shape == (0,):  # no bias
            return Input(None, constant="None")
        if self._is_number(operand):
            return Input(None, constant=self.gradient_name(operand) or constant_text(operand.array))
        return self.input(operand, overwritten)

    def _read(self, array: Any, read: list[Input]) -> str:
        """The place in a setting's text for the name of this array's tensor, which is added to `read`."""
        tensor = self.tensor_of(array)
        if tensor is None:
            return ""
        read.append(self.input(tensor))
        return place_for(len(read) - 1)

    def _link_again(self, entry: Entry, number: int, view: Tensor) -> None:
        node = view.grad_fn
        if isinstance(node, Node):
            self._link(entry, number, node)

    def _add_leaf(self, tensor: Tensor, key: int, overwritten: bool = False) -> None:
        """Add a tensor from before the recording. If it was just overwritten, its old value is lost."""
        result = self.version(tensor, key)
        if overwritten:
            result.value = None
            result.version = max(result.version - 1, 0)
            result.requires_grad = False
        node = None if overwritten else tensor.grad_fn
        if node is not None and node in self._entry_of:  # another object for a saved result
            made = self._entry_of[node]
            results = self.entries[made].results
            if not results and tensor.output_nr == 0:  # the node's tensor was not seen before
                results.append(result)
            if tensor.output_nr < len(results):
                self._latest[key] = (made, tensor.output_nr)
                return
        entry = Entry("leaf" if node is None else "before", results=[result])
        if node is not None:
            entry.op = node.op.name
            self._belongs(entry, len(self.entries), node)
        elif (source := self._same_memory(tensor, key)) is not None:
            self._detached(entry, source, self.version_of(tensor))
        if node is None and result.requires_grad:
            entry.kind, entry.backward = "leaf", "AccumulateGrad"
            entry.queue_key = None if tensor.node is None else tensor.node.queue_key
        self._latest[key] = (len(self.entries), 0)
        self.entries.append(entry)

    def _same_memory(self, tensor: Tensor, key: int) -> int | None:
        """A recorded tensor that covers exactly the same memory."""
        counted = tensor.counter not in COMMON
        for ref, number in self._numbers.values():
            other = ref() if number != key and number in self._latest else None
            if other is None or other.shape != tensor.shape:
                continue
            if other.array is tensor.array or (counted and other.counter is tensor.counter):
                return number
        return None

    def _link(self, entry: Entry, number: int, node: Node) -> None:
        """Read from the new node which inputs get a gradient, and which values are saved."""
        self._belongs(entry, number, node)
        parents = node.next_functions if isinstance(node, CopySlices) else node.makers()
        inputs = entry.inputs
        if isinstance(node.plan, FunctionPlan):  # its edges are those of the tensors
            likes = zip(inputs, node.plan.likes, strict=False)
            inputs = [given for given, like in likes if like is not None]
        if isinstance(node, CopySlices) or not entry.replayed:
            for given, (parent, _) in zip(inputs, parents, strict=False):
                given.gradient = parent is not None
                if parent is not None and given.entry is not None:
                    self._entry_of.setdefault(parent, given.entry)
                    maker = self.entries[given.entry]
                    if maker.backward is None:  # a leaf, overwritten in place before its first use
                        maker.backward, maker.queue_key = parent.name(), parent.queue_key
        else:
            entry.inputs[0].gradient = True
        for name, (value, version) in saved_values(node).items():
            own = 0 if name == "z" else getattr(value, "number", None)  # this node's own result
            if version is None or (own is None and not hasattr(value, "shape")):
                continue
            made_by, key, constant = None, None, ""
            if own is not None and own < len(entry.results):
                made_by, key = (number, own), entry.results[own].tensor
            elif isinstance(value, Tensor):
                key = self.known(value)
                made_by = None if key is None else self._latest.get(key)
                if key is None and not value.array.ndim:  # made from a plain number, for the op
                    constant = constant_text(value.array)
            source, output = made_by or (None, 0)
            entry.saved.append(Saved(name, source, version, key, constant, output))


def share_counter(x: Any, y: Any) -> bool:
    """Are both one tensor, or views of one memory, so that a write to one counts as a write to the other?"""
    counter = getattr(x, "counter", None)
    shared = counter not in (None, *COMMON)
    return x is y or (shared and counter is getattr(y, "counter", None))


def op_call(
    op: object,
    operands: tuple[Any, ...],
    settings: dict[str, Any],
    inputs: list[Input],
    inplace: bool,
) -> OpCall | None:
    """The data for applying the op again; None if this would keep a tensor or a large array alive."""
    if not isinstance(op, Op | FunctionOp) or not all(map(_is_small, settings.values())):
        return None
    given = enumerate(zip(operands, inputs))
    constants = {k: getattr(x, "array", x) for k, (x, i) in given if i.entry is None}
    if not all(map(_is_small, constants.values())):
        return None
    if isinstance(op, FunctionOp) and (
        inplace or not all(isinstance(x, PLAIN) for x in constants.values())
    ):
        return None  # a module or a function among the arguments may hold tensors
    return OpCall(op, {k: _copied(v) for k, v in settings.items()}, constants)


def _is_small(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return len(value) <= SMALL and all(map(_is_small, value))
    array = getattr(value, "array", value)
    return not isinstance(array, np.ndarray) or array.size <= WHOLE


def _copied(value: Any) -> Any:
    """A copy of a setting: its arrays are copied, and tensors become arrays."""
    if isinstance(value, tuple | list):
        return type(value)([_copied(v) for v in value])
    array = getattr(value, "array", value)
    return array.copy() if isinstance(array, np.ndarray) else array


def why_no_gradient(recording: bool, floating: bool) -> str:
    """Why the result of an op requires no gradient although an operand does.

    recording    was recording on?
    floating     is the result a floating-point tensor?
    """
    if not recording:
        return "no_grad"
    return "no derivative" if floating else "not a floating-point result"


def local_derivatives(
    op: Any, operands: tuple[Any, ...], z: Any, settings: dict[str, Any]
) -> dict[str, Snapshot]:
    """dz/dx for each operand of a small elementwise op: its rule, called with g = 1."""
    if not isinstance(op, Op) or op.kind != "elementwise" or op.variadic:
        return {}
    if not isinstance(z, Tensor) or z.array.size > SMALL:
        return {}
    known: dict[str, Any] = {**op.settings, **settings, "z": z.array}
    for name, x in zip(op.operands, operands, strict=True):
        array = getattr(x, "array", x)
        known |= {name: array, f"{name}_shape": np.shape(array)}
    one = np.ones_like(z.array)
    found = {}
    for name, x in zip(op.operands, operands, strict=True):
        rule = op.rules.get(name)
        if rule is not None and isinstance(x, Tensor) and x.node is not None:
            found[name] = Snapshot(rule.formula(one, *(known[r] for r in rule.reads)))
    return found


def saved_values(node: AnyNode) -> dict[str, tuple[Any, int | None]]:
    """The values saved by a node, with their versions; empty if hooks have packed them."""
    if isinstance(node.plan, FunctionPlan):
        return _kept(node)
    return _unless_packed(node, "saved_values")


def counters(node: AnyNode) -> dict[str, Any]:
    """The counters of a node's saved tensors; empty if hooks have packed them."""
    if isinstance(node.plan, FunctionPlan):
        return {name: entry.counter for name, (entry, _) in _kept(node).items()}
    return _unless_packed(node, "counters")


def _kept(node: AnyNode) -> dict[str, tuple[Any, int | None]]:
    """The tensors saved by a Function's save_for_backward, by position; empty if they were freed."""
    kept = node.saved if type(node.saved) is tuple else ()
    pairs = enumerate(zip(kept, node.plan.ctx._versions))
    return {f"saved_tensors[{k}]": pair for k, pair in pairs if pair[0] is not None}


def _unless_packed(node: AnyNode, method: str) -> dict[str, Any]:
    if isinstance(getattr(node, "saved", None), Packed):
        return {}  # looking at packed values would unpack them
    try:
        return dict(getattr(node, method)())
    except (AttributeError, TypeError, ValueError):
        return {}
