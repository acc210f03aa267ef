"""The forward half: records PyTorch's operations, as its dispatcher runs them.

The dispatch mode is below autograd: it sees each operation that has its own node (`linear` is a `t`
and an `addmm`), before the node is attached to the result. So we read the results of an operation
when the next event comes. Until then, nothing can have changed them.
"""

import re
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import FrameType
from typing import Any

import torch
from torch._C._dynamo import eval_frame
from torch.utils import _python_dispatch as dispatcher

from minigrad.core.errors import is_ours
from minigrad.core.op import REGISTRY, Op, as_in_pytorch
from minigrad.tape.document import UpdateKind
from minigrad.tape.events import Entry, Input, OpCall, TorchCall, result_of
from minigrad.tape.forward_half import why_no_gradient
from minigrad.tape.names import constant_text, number_text, same, setting
from minigrad.tape.snapshot import name_of
from minigrad.tape.torch.tensors import TorchTensors
from minigrad.tape.torch.values import version_of

NOT_SHOWN = (
    "detach", "alias", "lift_fresh", "is_same_size", "_local_scalar_dense", "record_stream",
)  # fmt: skip
OPERANDS = ("self", "other", "exponent")  # a number with this name is an operand, not a setting


@dataclass(slots=True)
class Pending:
    """An operation that has run, but whose results have not been recorded yet."""

    entry: Entry
    results: list[Callable[[], torch.Tensor | None]]  # weak references
    # The results; of a view, its detach(): if the view were kept, PyTorch would make another object
    kept: list[torch.Tensor | None]
    recording: bool

    @classmethod
    def of(cls, entry: Entry, result: Any, recording: bool, view: bool = False) -> "Pending":
        """An operation with its result, or its results. Some of these may be None, as in a derivative."""
        made = [*_flat(result, with_none=True)]
        refs = [_missing if x is None else weakref.ref(x) for x in made]
        if view:
            made = [None if x is None else x.detach() for x in made]
        return cls(entry, refs, made, recording)


class Unseen:
    """The block of `Operations.unseen`. A class, because a generator would be slower."""

    __slots__ = ("operations",)

    def __init__(self, operations: "Operations") -> None:
        self.operations = operations

    def __enter__(self) -> None:
        self.operations.hidden += 1

    def __exit__(self, *error: object) -> None:
        self.operations.hidden -= 1


class Operations(dispatcher.TorchDispatchMode):  # type: ignore[misc]
    """Records operations."""

    def __init__(self, seen: TorchTensors) -> None:
        super().__init__()
        self.seen, self.recorder = seen, seen.recorder
        self.hidden = 0  # nesting depth of operations that are drawn as one box
        self.stepping: list[AbstractContextManager[None]] = []  # optimizers' steps
        self.failed: tuple[BaseException, Entry] | None = None
        self._pending: Pending | None = None
        self._calls: list[AbstractContextManager[None]] = []

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let compiled code run compiled, as without a recording."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operation imports PyTorch's compiler, for a second

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, and record it."""
        kwargs = kwargs or {}
        facts = op_facts(func)
        on = torch.is_grad_enabled()
        skipped = self.hidden or not on and (self.stepping or self.seen.computing)
        if facts is None or skipped or in_compiler():
            return _run(func, args, kwargs)
        self.flush()
        tensors = [*_flat(args)]
        fixed = not (on and any(x.requires_grad for x in tensors))
        if fixed and self.seen._is_first_value(tensors):
            return _run(func, args, kwargs)
        given = {**dict(zip(facts.defaults, args)), **kwargs}
        entry = self._begun(facts, dict(given))
        if not entry.inputs:  # it creates a leaf
            made = func(*args, **kwargs)
            if facts.name.startswith(("empty", "new_empty")):
                self.seen.unset.add(self.seen.number(made))
            return made
        try:
            result = returned = _run(func, args, kwargs)
        except Exception as error:
            self.failed = error, entry
            raise
        if result is None:
            result = [given[name] for name in facts.writes if name in given]
        first = next(_flat(result), None)
        if first is None:  # it only checks or counts
            return returned
        if entry.through is not None:
            result = first._base
        self._pending = Pending.of(entry, result, on, facts.view)
        return returned

    def _begun(self, facts: "OpFacts", given: dict[str, Any]) -> Entry:
        """The entry of an operation that is about to run with these arguments."""
        entry = Entry("op", facts.name, inplace=facts.inplace, view=facts.view)
        entry.called = called = TorchCall(facts.called, given, {}, facts.defaults)
        operands: list[Any] = []
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                called.operands[name] = len(operands)
                operands.append(value)
            elif isinstance(value, list | tuple) and any(map(_is_tensor, value)):
                at = count(len(operands))
                called.operands[name] = [next(at) if _is_tensor(x) else None for x in value]
                operands += filter(_is_tensor, value)
            elif name in OPERANDS and isinstance(value, int | float | complex):
                operands.append(value)
            elif is_worth_showing(facts, name, value):
                entry.settings[name] = setting_text(name, value)
        if facts.name in ("select", "slice"):
            entry.settings = {"index": index_text(given, facts)}
        for name in called.operands:
            given[name] = None  # a recording keeps no tensor alive
        if facts.inplace and operands[0]._base is not None:
            # A write to a view is a write to its base, whose history continues here.
            view, operands[0] = operands[0], operands[0]._base
            self.seen.input(view)
            entry.through, entry.written = self.seen.number(view), tuple(view.shape)
        if any(map(_is_tensor, operands)) and not facts.blind:
            entry.inputs = [self.input(x) for x in operands]
        ours = facts.ours
        if ours is not None and len(entry.inputs) == len(ours.operands):
            entry.formula = ours.formula
            if not entry.settings and entry.through is None:
                # our op of this name may compute the same
                numbers = {k: x for k, x in enumerate(operands) if not _is_tensor(x)}
                entry.op_call = OpCall(ours, {}, numbers)
        self._placed(entry)
        return entry

    def input(self, x: Any) -> Input:
        """An operand: a tensor, or a number."""
        return self.seen.input(x) if _is_tensor(x) else Input(None, constant=constant_text(x))

    def _placed(self, entry: Entry) -> None:
        entry.place = self.recorder.place_of_op()
        modules = self.recorder._modules
        entry.call = modules[-1][1] if modules else None

    def unseen(self) -> "Unseen":
        """Within this block, nothing is recorded."""
        return Unseen(self)

    def add_failed(self, error: BaseException) -> int | None:
        """Add the operation that raised this error, if one did; returns its entry's number."""
        if self.failed is None or self.failed[0] is not error:
            return None
        entry, entries = self.failed[1], self.recorder.entries
        entry.kind = "failed"
        given = [result_of(entries, i) for i in entry.inputs]
        entry.shapes = [str(() if r is None else r.shape) for r in given]
        return self.seen.add_op(entry, "failed")

    def leave(self) -> bool:
        """Turn the mode off until `come_back`; False if it is off already, or if the user's mode is above it.

        While any mode is on, PyTorch's engine adds up gradients in new tensors, not in place.
        """
        if dispatcher._get_current_dispatch_mode() is not self:
            return False
        dispatcher._pop_mode()
        return True

    def come_back(self) -> None:
        """Turn the mode on again."""
        dispatcher._push_mode(self)

    def flush(self) -> None:
        """Record the results of the last operation."""
        pending, self._pending = self._pending, None
        if pending is not None:
            with self.unseen():
                self._flush(pending)

    def _flush(self, pending: Pending) -> None:
        entry, results = pending.entry, [ref() for ref in pending.results]
        number = self.seen.add_op(entry)
        if entry.op == "rnn_layer":  # part of its workspace is uninitialized memory
            self.seen.unset.update(self.seen.number(x) for x in results[3:] if x is not None)
        self.seen.add_results(entry, number, results, pending.kept)
        first = next((x for x in results if x is not None), None)
        if first is None:
            return
        node = next((x.grad_fn for x in results if x is not None and x.requires_grad), None)
        if node is not None and pending.recording:
            self.seen.link(entry, number, node, results)
        elif any(self.seen.entries[k].backward for i in entry.inputs if (k := i.entry) is not None):
            floating = first.is_floating_point() or first.is_complex()
            entry.stop = why_no_gradient(pending.recording, floating)

    # ---- drawn as one box -----------------------------------------------------------

    def function(self, apply: Callable[..., Any], cls: type, args: Any, kwargs: Any) -> Any:
        """Record a user-defined Function as one operation, whatever its forward computes."""
        skipped = self.hidden or (self.seen.computing and not torch.is_grad_enabled())
        if skipped or in_compiler() or cls.__name__ == "CompiledFunction":
            return apply(*args, **kwargs)
        self.flush()
        entry = Entry("op", cls.__name__, (cls.__doc__ or cls.__name__).strip().partition("\n")[0])
        entry.inputs = [self.input(x) for x in args if isinstance(x, torch.Tensor)]
        self._placed(entry)
        recording = torch.is_grad_enabled()
        with self.unseen():
            result = apply(*args, **kwargs)
        self._pending = Pending.of(entry, result, recording)
        return result

    def called(self, module: torch.nn.Module, args: Any) -> None:
        """A call of a module of torch.nn begins."""
        if torch.compiler.is_compiling():
            return  # the compiler reads this hook, as a part of the model
        self._calls.append(self.recorder.module(module))
        self._calls[-1].__enter__()

    def returned(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        """The call has ended, perhaps with an error."""
        if not torch.compiler.is_compiling() and self._calls:
            self._calls.pop().__exit__(None, None, None)

    @contextmanager
    def updating(self, what: UpdateKind, owner: Any) -> Iterator[None]:
        """Within this block, `owner` clears gradients or sets learning rates, recorded as one update."""
        self.flush()
        with self.unseen(), self.recorder.updating(what, owner, self.seen):
            yield

    def step_begins(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """An optimizer's step begins: it is recorded as one update of the parameters."""
        self.flush()
        self.stepping.append(self.recorder.updating("step", optimizer, self.seen))
        with self.unseen():
            self.stepping[-1].__enter__()
        self.recorder.look_up_names()

    def step_ended(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """The step has ended: record the parameters that it wrote to."""
        self.flush()
        with self.unseen():
            self.stepping.pop().__exit__(None, None, None)


# Tell the compiler to skip our code, and everything that it calls.
if hasattr(eval_frame, "set_code_exec_strategy"):
    skip = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
    eval_frame.set_code_exec_strategy(Operations.__torch_dispatch__.__code__, skip)
else:  # before PyTorch 2.7
    eval_frame.skip_code(Operations.__torch_dispatch__.__code__)


@dataclass(frozen=True, slots=True)
class OpFacts:
    """The facts about one PyTorch operation, from its schema."""

    name: str
    ours: Op | None  # our operation with this name
    inplace: bool
    view: bool
    blind: bool  # does it ignore the values of its operands, like zeros_like?
    defaults: dict[str, Any]
    called: str  # its name in the dispatcher
    writes: tuple[str, ...]  # the operands that it writes to


# Names and settings that only the dispatcher uses -> their names in PyTorch's documentation.
DOCUMENTED = {
    "_reshape_alias": "view",
    "_safe_softmax": "softmax",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "_scaled_dot_product_fused_attention_overrideable": "scaled_dot_product_attention",
    "_to_copy": "to",
    "_transformer_encoder_layer_fwd": "transformer_encoder_layer",
    "_unsafe_view": "view",
    "max_pool2d_with_indices": "max_pool2d",
    "mkldnn_rnn_layer": "rnn_layer",
}
REDUCTIONS = ("none", "mean", "sum")  # indexed by the dispatcher's number
USUAL: dict[str, tuple[Any, ...]] = {
    "half_to_float": (False,), "reduction": (1,), "ignore_index": (-100,), "transposed": (False,),
    "stride": ([1], [1, 1]), "padding": ([0], [0, 0]), "dilation": ([1], [1, 1]), "groups": (1,),
    "output_padding": ([0], [0, 0]), "batch_sizes": ([],), "end": (sys.maxsize,),
}  # fmt: skip


def documented(name: str) -> str:
    """The name of an operation in PyTorch's documentation: "log_softmax" for "_log_softmax"."""
    return DOCUMENTED.get(name) or re.sub(r"^_(?!_)|^native_|_forward$", "", name)


def is_worth_showing(facts: OpFacts, name: str, value: Any) -> bool:
    """Was this setting given by the user, rather than being a default?"""
    if name == "dtype" and facts.name == "to":
        return value is not None
    if value is None or name in DEVICES or value in USUAL.get(name, ()):
        return False
    return not same(value, facts.defaults.get(name))


def setting_text(name: str, value: Any) -> str:
    """The text of a setting: a number with four digits, or the name of a reduction."""
    if name == "reduction":
        return repr(REDUCTIONS[value])
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, torch.dtype):
        return name_of(value)
    return setting(as_in_pytorch(name, value)[1])


def index_text(given: Mapping[str, Any], facts: OpFacts) -> str:
    """The text in the brackets of an index: ":, 1:" for a slice of the second axis."""
    dim = given.get("dim", 0) % max(1, given["self"].ndim)
    ends = [given.get("start") or None, given.get("end"), given.get("step", 1)]
    start, end, step = ("" if v in (None, sys.maxsize) else str(v) for v in ends)
    part = f"{start}:{end}" + (f":{step}" if step != "1" else "")
    return ":, " * dim + (part if facts.name == "slice" else str(given["index"]))


DEVICES = ("dtype", "layout", "device", "pin_memory", "memory_format", "generator")


@cache
def op_facts(func: Any) -> OpFacts | None:
    """The facts about an operation; None if it computes nothing that a tape shows."""
    schema = func._schema
    space, _, name = schema.name.partition("::")
    if space in ("profiler", "prim") or name in NOT_SHOWN:
        return None
    aliased = [a for a in schema.arguments if a.alias_info is not None]
    written = [a for a in aliased if a.alias_info.is_write]
    inplace = bool(written) and written[0].name == schema.arguments[0].name
    called = name.removesuffix("_") if inplace else name
    name = documented(called)
    ours = REGISTRY.get(name)
    return OpFacts(
        name if ours is None else ours.name,
        ours,
        inplace,
        len(aliased) > len(written) and bool(schema.returns),
        name.endswith("_like") or name.startswith(("new_", "empty")),
        {a.name: a.default_value if a.has_default_value() else _NONE for a in schema.arguments},
        called,
        tuple(a.name for a in written),
    )


_NONE = object()


def in_compiler() -> bool:
    """Is torch.compile or its compiled code running, rather than the user's program?"""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours[file := frame.f_code.co_filename]:
        if file.endswith("convert_frame.py") or "_aot_autograd" in file or "_inductor" in file:
            return True
        frame = frame.f_back
    return False


def _run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation. While a mode is on, PyTorch does not count the writes of those on lists, so we do."""
    if not (func._schema.name.startswith("aten::_foreach") and func._schema.name.endswith("_")):
        return func(*args, **kwargs)
    before = [(x, version_of(x)) for x in args[0]]
    result = func(*args, **kwargs)
    for x, version in before:
        if version_of(x) == version and not x.is_inference():
            torch.autograd.graph.increment_version(x)
    return result


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _missing() -> None:
    """In place of a weak reference: an operation did not compute this result."""


def _flat(result: Any, with_none: bool = False) -> Iterator[Any]:
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for part in result:
            yield from _flat(part, with_none)
    elif result is None and with_none:
        yield None
