"""Tracing: runs a function once, on Slots, and records its operations as a program.

    record(f)(*examples)           runs f once, on Slots that stand for the examples
    placeholder(shape, name=...)   a Slot without an example, for building a program by hand
    program(outputs)               the program that was written with placeholders

A ProgramRecorder writes the program:

    input, constant, capture   add a value: an argument, a number, or a parameter
    apply, emit                add an instruction
    write_over                 handles an in-place write to a tensor

Every op is also run on example values, so shapes and dtypes need no separate rules. For a
placeholder, which has no example, we make up values.

Ordinary tensors are observed while the function runs: dispatch.py calls the TracingObserver for each
op on tensors, each in-place write, and each random draw; modules report that they are called.

Read ir.py and slots.py first.
"""

import gc
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.core import dtypes, modes
from minigrad.core.allocator import keep_freed_memory
from minigrad.core.data import as_array
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import dtype_error, shape_error, user_names
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import FRESH, NUMBER, Counter, Tensor, make
from minigrad.core.op import Op
from minigrad.core.promotion import CONSTANTS, prepare
from minigrad.core.shapes import Array
from minigrad.core.views import shows
from minigrad.nn.module import Module
from minigrad.static.ir import (
    AnyOp,
    Args,
    Draw,
    Function,
    Instruction,
    Kwargs,
    NumpyFunction,
    Program,
    ProgramError,
    Ref,
    Settings,
    Value,
    dry_run,
    forms,
    mapped,
    mismatch,
    resolved,
)
from minigrad.static.slots import (
    APART,
    UNRECORDED,
    VALUES,
    VIEW,
    Slot,
    TensorSlot,
    Traced,
    ViewOrigin,
    refused,
    slot_of,
)


class TracingObserver(modes.Observer):
    """The observer while a program is recorded: tensors are captured."""

    def __init__(self, recorder: "ProgramRecorder") -> None:
        self.interpret = recorder.apply
        self.interpret_write = recorder.write_over
        self.interpret_draw = recorder.draw
        self.traced, self.read = recorder.traced, recorder.note_read
        self.rereads = recorder.note_reread
        self.replaces_data = recorder.replace_data
        self.recorder = recorder

    @contextmanager
    def module(self, module: Module) -> Iterator[None]:
        """Note a module that is called: its training mode is frozen in the program."""
        if _reads_training(type(module)) or module._call_hooks is not None:
            self.recorder.modules[id(module)] = module
        yield

    def made(self, tensor: Tensor) -> None:
        """Note a tensor that the function makes; all others are from outside."""
        self.recorder.made[id(tensor)] = tensor

    def detached(self, result: Tensor, source: Tensor) -> None:
        """Note which tensor x.data and x.detach() share their memory with."""
        self.recorder.detached[id(result)] = result, source

    def assigned(self, module: Module, name: str) -> None:
        """Note an attribute of a module that the function assigns, and what it was before."""
        known = self.recorder.assigned
        known.setdefault((id(module), name), (module, name, vars(module).get(name, ABSENT)))

    def sets_grad(self, node: AccumulateGrad) -> None:
        """Note that the function clears or sets the .grad of a leaf."""
        self.recorder.note_grad(node, is_set=True)

    def reads_grad(self, node: AccumulateGrad) -> None:
        """Note that the function reads the .grad of a leaf."""
        self.recorder.note_grad(node)

    @contextmanager
    def updating(self, what: str, owner: Any) -> Iterator[None]:
        """Raise ProgramError for a schedule: its step is not an operation, and would only be taken once."""
        if what == "schedule" and not getattr(owner, "_is_initial", False):
            raise ProgramError(
                f"{type(owner).__name__}.step() changes the learning rate while a program is recorded, and the runs of "
                "the program would not change it again. To fix it, call it after the compiled function."
            )
        yield

    def reseeds(self) -> None:
        """Raise ProgramError: the runs of a program draw on from where the generator is."""
        raise ProgramError(
            "a random generator gets a seed or a state while a program is recorded, but the runs of the program would "
            "not do this again. To fix it, do it outside of the recorded function."
        )

    def cannot_record(self, what: str) -> None:
        """Raise ProgramError: the gradient program is made of the rules of operations."""
        raise ProgramError(
            f"{what} cannot be recorded: it is Python code that runs in the backward pass, and the gradient of a "
            "program is made of the rules of operations. To fix it, write it with operations of tensors, or stay with "
            "eager tensors."
        )


def _reads_training(cls: type) -> bool:
    """Does the code of a module's class read self.training?"""
    for c in cls.__mro__:
        if c.__name__ == "Module":
            return False
        codes = [getattr(f, "__code__", None) for f in vars(c).values()]
        if any(code is not None and "training" in code.co_names for code in codes):
            return True
    return False


class Origin(NamedTuple):
    """Why a value of a gradient program exists, and which value of the original program it belongs to."""

    role: str
    of: int | None


class ProgramRecorder:
    """Records the operations on Slots as a program.

    values, instructions   the program so far
    examples    for each value, an array: its value for the examples, or a stand-in
    origins     number -> its Origin in a gradient program; see differentiate.py
    """

    inputs_need_grad = True  # may a gradient flow to the inputs?
    keeps_rows = False  # may the gradient of a table be row-sparse, if the op asks for it?

    def __init__(self) -> None:
        keep_freed_memory()
        self.values: list[Value] = []
        self.examples: list[Any] = []
        self.instructions: list[Instruction] = []
        self.inputs: list[int] = []
        self.captured: dict[int, Any] = {}
        self.frozen: list[str] = []
        self.read: dict[int, Tensor] = {}  # tensors that Python code has read, by id
        # (id of a module, name) -> a module, its attribute that the function assigned, and what it was before
        self.assigned: dict[tuple[int, str], tuple[Module, str, Any]] = {}
        self.modules: dict[int, Any] = {}  # modules whose forward or hooks may read self.training
        self.current: dict[int, int] = {}  # captured and then overwritten -> its latest value
        self.renewed: dict[int, int] = {}  # value of x before x.data = y -> its first value
        self.standing: dict[int, TensorSlot] = {}  # id of a tensor -> the Slot that stands for it
        self.made: dict[int, Tensor] = {}  # id of a tensor that the function made -> the tensor
        self.slots: list[weakref.ref[Slot]] = []
        self.reread = False  # has the function read what an earlier call of it stored outside?
        self.detached: dict[int, tuple[Tensor, Tensor]] = {}  # id of x.data -> x.data, and x
        self._known: dict[int, int] = {}  # id of an array or tensor -> its number
        self._keep: list[Any] = []  # keeps objects alive, so that no id is reused
        self._by_memory: dict[Any, int] = {}
        self.origins: dict[int, Origin] = {}
        self.origin = Origin("seed", None)  # of the instructions that are recorded next
        self._stopping = False
        self._live: set[int] = set()  # values through which a gradient can flow to an input

    def note_grad(self, node: AccumulateGrad, is_set: bool = False) -> None:
        """Note that the function reads the .grad of a leaf, or clears or sets it."""

    # ------------------------------------------------------------------ values

    def _value(self, kind: str, example: Array, name: str | None = None) -> int:
        i = len(self.values)
        self.values.append(Value(kind, tuple(np.shape(example)), example.dtype, name))
        self.examples.append(example)
        if kind == "input" and example.dtype.kind in "fc" and self.inputs_need_grad:
            self._live.add(i)
        if isinstance(example, np.ndarray) and kind != "constant":
            self._by_memory[place_in_memory(example)] = i
        return i

    def input(self, example: Array, name: str | None = None) -> Slot:
        """Add an input to the program, with the shape and dtype of the example."""
        # A copy: an array that is passed twice stands for two inputs.
        i = self._value("input", np.array(example), name)
        self.inputs.append(i)
        return Slot(self, i)

    def inputs_of(self, f: Callable[..., Any], examples: Sequence[Array]) -> list[Slot]:
        """Add an input for each argument of a function, with the name of its parameter."""
        names = input_names(f, len(examples))
        return [self.input(a, name) for a, name in zip(examples, names, strict=True)]

    def constant(self, array: Array) -> int:
        """The number of a constant, the same in each run. Each array gets only one number."""
        known = self._known.get(id(array))
        if known is None:
            known = self._known[id(array)] = self._value("constant", np.asarray(array))
            self._keep.append(array)
        return known

    def capture(self, tensor: Tensor, name: str | None = None, as_memory: bool = False) -> int:
        """The number of a tensor that is not a Slot, such as a parameter."""
        if id(tensor) in self.standing or self._sharer(tensor) is not None:
            standing = self.stands_for(tensor)
            if standing.index_ >= 0:
                return standing.index
        known = self._known.get(id(tensor))
        if known is not None:
            return known
        if isinstance(tensor.array, Traced):
            return self.number(slot_of(tensor.array))
        known = self.in_memory(tensor.array) if tensor.node is None else None
        if known is not None:
            return known
        if (
            tensor.node is None
            and not tensor.array.ndim
            and not as_memory
            and self.is_its_own(tensor)
        ):
            i = self._value("constant", np.asarray(tensor.array))  # a number next to a tensor
        else:
            if tensor.node is not None and not tensor.is_leaf:
                raise ProgramError(
                    "a program can only use a tensor that is a leaf, but this one, of shape "
                    f"{tuple(tensor.shape)}, was computed before recording began, and its gradient would stop "
                    "here. To fix it, compute it inside the recorded function, or use x.detach()."
                )
            name = name or user_names([tensor.array])[0]
            i = self._value("captured", np.asarray(tensor.memory()), name)
            self.captured[i] = tensor
            if tensor.requires_grad:
                self._live.add(i)
        self._known[id(tensor)] = i
        self._keep.append(tensor)
        return i

    def number(self, a: object) -> int:
        """The number of an operand: a Slot, a Traced, a Tensor, or an array."""
        if isinstance(a, Slot):
            if a.recorder is not self and a.stored is not None:
                self.note_reread()
                return self.capture(a.stored)
            if a.recorder is not self:
                raise ProgramError(
                    "two programs are mixed: this value belongs to another one. A variable or attribute kept it, as "
                    "when `forward` assigns a running mean to `self`. To fix it, return the value from that program, "
                    "and make it an input of this one."
                )
            return a.index
        if isinstance(a, Traced):
            return self.number(slot_of(a))
        if isinstance(a, make.Tensor):
            return self.capture(a)
        return self.constant(np.asarray(a))

    def in_memory(self, array: Array) -> int | None:
        """The number of the value stored in this memory, if there is one.

        So if NumPy code makes a tensor from a Traced array, we know which value it is.
        """
        if not isinstance(array, np.ndarray) or not array.size:
            return None
        i = self._by_memory.get(place_in_memory(array))
        return None if i is None else self.current.get(i, i)

    def held(self, array: Array, name: str | None = None) -> int:
        """The number of an array that does not belong to a tensor. It is read again in each run."""
        i = self._by_memory.get(place_in_memory(array))
        if i is None:
            i = self._value("captured", array, name)
            self.captured[i] = holder = make.tensor(array, Counter(), None)
            self._known[id(holder)] = i
        return i

    def holder(self, array: Array, name: str | None = None) -> Tensor:
        """A tensor for an array that does not belong to a tensor, so that the program can write to it."""
        return self.captured[self.held(array, name)]

    # ------------------------------------------------------------------ instructions

    def apply(self, op: Op, args: Sequence[Any], settings: Settings) -> Slot:
        """Record op(*args, **settings), and return the Slot of its result."""
        numbers = [None if isinstance(a, CONSTANTS) else self.number(a) for a in args]
        given = [
            a if i is None else make.tensor(self.examples[i], FRESH, None)
            for a, i in zip(args, numbers, strict=True)
        ]
        _, arrays = prepare(op, given)
        operands = []
        for i, a in zip(numbers, arrays, strict=True):
            if i is None:
                i = self.constant(np.asarray(a))
            elif self.values[i].dtype != a.dtype:
                i = self.emit(ops.to, (i,), {"dtype": a.dtype})
            operands.append(i)
        refs = self.referred(settings)
        i = self.emit(op, tuple(operands), refs)
        origin = None
        may_view = op.view and isinstance(args[0], (Slot, make.Tensor))
        if may_view and shows(self.examples[i], self.examples[operands[0]]):
            base = args[0] if isinstance(args[0], Slot) else self.stands_for(args[0])
            link = APART if self._stopping else VIEW if modes.state.recording else UNRECORDED
            origin = ViewOrigin(base, op, refs, link)
        return Slot(self, i, origin)

    def emit(self, op: AnyOp, operands: tuple[int, ...], settings: Settings) -> int:
        """Add an instruction; run it on the examples to get the shape of its result."""
        arrays = [self.examples[i] for i in operands]
        plain = resolved(settings, self.examples.__getitem__)
        try:
            with np.errstate(all="ignore"):
                z = dry_run(op, arrays, plain)
        except ValueError as error:
            raise shape_error(op.name, arrays, plain, error) from None
        except TypeError as error:
            if isinstance(op, NumpyFunction):
                raise
            raise dtype_error(
                op.name, [dtypes.torch_name(a.dtype) for a in arrays], error
            ) from None
        if not isinstance(z, (np.ndarray, np.generic)):
            raise ProgramError(
                f"{op.name} does not return a single array, so it cannot be recorded as an instruction. Its "
                "result depends on the values. To fix it, compute it outside and pass it as an input."
            )
        if op is ops.getitem and self._has_boolean_mask(settings):
            raise ProgramError(
                "the shape of x[mask] depends on the values of the mask, and shapes are frozen in a program. To "
                "fix it, keep the shape, where(mask, x, 0); or compute the mask outside, and record again when it "
                "changes; "
                "or stay with eager tensors."
            )
        i = self._value("result", np.asarray(z))
        self.origins[i] = self.origin
        self.instructions.append(Instruction(op, operands, settings, i))
        self.settle(i, stopped=self._stopping or not modes.state.recording)
        return i

    def settle(self, i: int, *, stopped: bool = True, history: int | None = None) -> None:
        """Set how gradients flow through the latest instruction, whose result is i.

        stopped, history   as in Instruction
        """
        line = self.instructions[-1]
        if history is not None and not self.is_live(history):
            history = None
        line.stopped, line.history = stopped, history
        passes = history is not None or (
            not stopped
            and bool(line.op.rules)
            and self.values[i].dtype.kind in "fc"
            and any(x in self._live for x in line.operands)
        )
        (self._live.add if passes else self._live.discard)(i)

    def traced(self, tensor: Any) -> Any:
        """The values of a tensor for NumPy code.

        None for a tensor that the function has made and not changed: it is the same in each run.
        """
        if not isinstance(tensor, VALUES):
            return None
        if (
            not isinstance(tensor, (Slot, Traced))
            and not self._has_slot(tensor)
            and self.is_its_own(tensor)
        ):
            return None
        return Slot(self, self.number(tensor)).array

    def note_read(self, tensor: Tensor | Slot) -> None:
        """Note a tensor whose values Python code uses as numbers, which are the same in each run.

        Raises ProgramError if the function has written to it: the write has only been recorded.
        """
        if isinstance(tensor, Slot):
            if tensor.is_constant():
                return
            raise refused("the code", tensor)
        whole = self.whole_of(tensor)
        if self._has_slot(whole) or self._sharer(whole) is not None:
            raise refused("the code", self.stands_for(whole))
        self.read[id(tensor)] = tensor
        self.note_frozen_numbers(tensor)

    def note_frozen_numbers(self, tensor: Tensor) -> None:
        """Say in the notes of the program that it does not read these numbers again."""
        if not self.is_its_own(tensor) and READ not in self.frozen:
            self.frozen.append(READ)

    def note_reread(self) -> None:
        """Note that the function reads a value that an earlier call of it stored outside."""
        self.reread = True

    def has_read(self, tensor: object) -> bool:
        """Does the program use the values of this tensor?"""
        return id(tensor) in self._known

    def is_live(self, i: int) -> bool:
        """Can a gradient flow from this value to an input or a captured tensor?"""
        return i in self._live

    def is_saved(self, i: int) -> bool:
        """Would an eager backward pass read this value, or a value that shares its memory?"""
        shared, size = {i}, 0
        while len(shared) > size:
            size = len(shared)
            for line in self.instructions:
                if line.op.view or line.op is ops.to:
                    if line.operands[0] in shared:
                        shared.add(line.result)
                    elif line.result in shared and line.op.view:
                        shared.add(line.operands[0])
                elif line.op is ops.index_put and line.result in shared:
                    shared.add(line.operands[1])  # the value that was written there through a view
        return any(shared & self._saved_by(line) for line in self.instructions)

    def _saved_by(self, line: Instruction) -> set[int]:
        """The values that the rules of an instruction would read."""
        if not self.is_live(line.result) or line.stopped:
            return set()
        names = ["xs"] * len(line.operands) if line.op.variadic else line.op.operands
        named = list(zip((*names, "z"), (*line.operands, line.result), strict=True))
        rules = [line.op.rules[n] for n, x in named if n in line.op.rules and self.is_live(x)]
        reads = {read for rule in rules for read in rule.reads}
        return {x for name, x in named if name in reads}

    def as_saved(self, i: int) -> int:
        """What a rule reads for this value: an op saved the tensor x, which has other values after x.data = y."""
        return self.current[self.renewed[i]] if i in self.renewed else i

    def is_latest(self, i: int) -> bool:
        """Is this the result of the latest instruction, which nothing has read yet?"""
        return bool(self.instructions) and self.instructions[-1].result == i

    def records(self, *args: object) -> bool:
        """Would an eager run record an operation on these operands?"""
        if self._stopping or not modes.state.recording:
            return False
        return any(self.is_live(self.number(a)) for a in args if isinstance(a, VALUES))

    def _has_boolean_mask(self, settings: Settings) -> bool:
        index = settings["index"]
        parts = index if isinstance(index, tuple) and not isinstance(index, Ref) else (index,)
        return any(isinstance(p, Ref) and self.values[p.number].dtype == bool for p in parts)

    def numpy_function(self, op: NumpyFunction, args: Args, kwargs: Kwargs) -> Slot:
        """A NumPy function applied to values of the program: an instruction without a derivative."""
        if op.function in SHAPED_BY_VALUES:
            raise ProgramError(
                f"{op.name}: the shape of its result depends on the values, and shapes are frozen in a program. To "
                "fix it, keep the shape: a mask (x != 0) to multiply with, or where(x != 0, a, b). Or compute it "
                "outside, and record again when it changes; or stay with eager tensors."
            )
        settings = {"args": self.referred(tuple(args)), "kwargs": self.referred(dict(kwargs))}
        return Slot(self, self.emit(op, (), settings))

    def draw(self, function: Function, args: Args, kwargs: Kwargs) -> Any:
        """A random draw: an instruction that draws again in each run."""
        if not any(note.startswith("random") for note in self.frozen):
            self.frozen.append(
                "random numbers are not frozen: they are drawn again in each run, as in an eager run."
            )
        return self.numpy_function(Draw(f"draw.{function.__name__}", function), args, kwargs).array

    def write_array(self, op: NumpyFunction, args: Args, kwargs: Kwargs, out: Array) -> Array:
        """A NumPy function that writes its result to an array outside the program."""
        raise ProgramError(
            f"{op.name} would write to an array outside the program, with values that are only computed when it "
            "runs (BatchNorm does this with its running statistics). To fix it, use model.eval(), or pass "
            "the whole training step to static.compile, which writes them in each run."
        )

    def inlined(self, program: Program, inputs: Sequence[Any]) -> list[Slot]:
        """Inline a program that is called while this one is being recorded; returns its results."""
        slots = [Slot(self, self.number(x)) for x in inputs]
        for x, i, name in zip(slots, program.inputs, program.names, strict=True):
            if x.shape != program.values[i].shape or x.dtype != program.values[i].dtype:
                raise mismatch(name, x, program.values[i])
        numbers = forms.insert(self, program, slots)
        return [Slot(self, numbers[i]) for i in program.outputs]

    def referred(self, setting: object) -> Any:
        """A setting with the program's values replaced by Refs."""
        return mapped(setting, self._ref_of)

    def _ref_of(self, part: Any) -> Any:
        if isinstance(part, VALUES):
            return Ref(self.number(part))
        i = self.in_memory(part)
        return part if i is None else Ref(i)

    def slots_in(self, thing: object) -> Any:
        """A setting with its Refs replaced by Traced arrays, for a rule."""
        return resolved(thing, lambda i: Slot(self, i).array)

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Within this block, no gradient flows through recorded instructions."""
        before, self._stopping = self._stopping, True
        try:
            yield
        finally:
            self._stopping = before

    def backward(self, loss: Slot, gradient: Slot | Tensor | None) -> None:
        """Raise ProgramError: only a StepRecorder can record backward()."""
        raise ProgramError(
            "backward() cannot be recorded here: a program does not set .grad. To fix it, record the forward "
            "pass and ask for program.gradient(wrt=[...]); or pass a whole training step to static.compile."
        )

    # ------------------------------------------------------------------ tensors during recording

    def write_over(self, op: Op, tensor: Tensor, others: Sequence[Any], settings: Settings) -> Any:
        """Handle an in-place write to a tensor; returns the Slot that stands for it from now on.

        If the recorded function made the tensor itself, the write becomes part of the program. Writes
        to other tensors are not recorded.
        """
        whole = self.whole_of(tensor)
        if self.is_its_own(whole):
            return self.stands_for(tensor)._write(op, *others, **settings)
        with nullcontext() if whole is tensor else self.stopping():
            return self.write_outside(op, whole, *others, **settings)

    def replace_data(self, tensor: Tensor, value: object) -> bool:
        """Record  x.data = value  as a write to the memory of x: a program cannot give it new memory. Returns True."""
        if isinstance(value, make.Tensor) and self._source(value) is tensor:
            return True  # x.data += 1, which has been recorded
        if not isinstance(value, VALUES):
            return False
        if tuple(value.shape) != tuple(tensor.shape) or value.dtype != tensor.dtype:
            raise ProgramError(
                f"x.data = y, where y has another shape or dtype ({list(value.shape)}, {value.dtype}) than x "
                f"({list(tensor.shape)}, {tensor.dtype}), cannot be recorded: shapes are frozen in a program. To fix "
                "it, do this outside of the recorded function."
            )
        if self.is_its_own(tensor):
            tensor.data.copy_(value)
        else:
            self.replace_outside(tensor, value)
        return True

    def replace_outside(self, tensor: Tensor, value: object) -> None:
        """Raise ProgramError: only a StepRecorder may give new values to tensors from outside."""
        self.write_outside(ops.copy, tensor, value)

    def write_outside(self, op: Op, tensor: Tensor, *others: object, **settings: Any) -> Any:
        """Raise ProgramError: only a StepRecorder may write to tensors from outside."""
        raise ProgramError(
            f"{op.name}_ writes to a tensor from outside the recorded function. The program of a function does not "
            "change what is outside of it. To fix it, return the new value, or record a whole training step with "
            "static.compile."
        )

    def write_through(self, tensor: Tensor, z: Slot) -> None:
        """Set a tensor from outside to z, after a write to a view of it."""
        self.write_outside(ops.copy, tensor, z)

    def restore_attributes(self, removes: bool = True) -> None:
        """Give back what they were before to the attributes that are Slots; a program has no values yet.

        removes   remove those that were not there; otherwise, they are None until a run stores a value
        """
        for module, name, before in self.assigned.values():
            if isinstance(vars(module).get(name), Slot):
                if before is ABSENT and removes:
                    delattr(module, name)
                else:
                    setattr(module, name, None if before is ABSENT else before)

    def stands_for(self, tensor: Any) -> TensorSlot:
        """The Slot for a tensor; made on first use."""
        standing = self.standing.get(id(tensor))
        if standing is None:
            sharer = self._sharer(tensor)
            same = None
            if sharer is not None:
                same = ViewOrigin(sharer, ops.getitem, {"index": (...,)}, APART)
            standing = self.standing[id(tensor)] = TensorSlot(self, tensor, same)
        return standing

    def _source(self, tensor: Tensor) -> Tensor | None:
        """The tensor x, if this is its x.data or x.detach() that was made while recording."""
        _, source = self.detached.get(id(tensor), (None, None))
        return None if source is None or tensor.node is not None else source

    def whole_of(self, tensor: Tensor) -> Tensor:
        """The tensor x, if this is x.data, x.detach(), x.data.detach() and so on; otherwise the tensor itself."""
        source = self._source(tensor)
        return tensor if source is None else self.whole_of(source)

    def _sharer(self, tensor: Tensor) -> TensorSlot | None:
        """A slot of another tensor that shares its memory with this one."""
        source = self._source(tensor)
        if source is not None:
            self.capture(source, as_memory=True)
            return self.stands_for(source)
        for standing in self.standing.values():
            other = standing.tensor
            shares = np.may_share_memory(tensor.array, other.array)
            if standing.index_ < 0 or other is tensor or not shares:
                continue
            if place_in_memory(tensor.array) != place_in_memory(other.array):
                raise ProgramError(
                    "NumPy code reads a part of a tensor that the recorded function has made and written to, which "
                    "cannot be recorded. To fix it, index the tensor itself."
                )
            return standing
        return None

    def is_its_own(self, tensor: Tensor) -> bool:
        """Did the recorded function make this tensor?"""
        if self._has_slot(tensor):
            return True
        if tensor.node is not None or tensor._base is not None:
            return False
        if id(tensor) in self.made or tensor.counter is NUMBER:
            return True
        return isinstance(tensor.array, Traced)

    def left_behind(self) -> list[tuple[Slot | Tensor, int | None]]:
        """What the function has stored outside, with the numbers of the values.

        These are slots, and tensors that it made; None for a tensor that it has not written to. Call this
        when it has returned and the results have numbers: it forgets all tensors, to see which of them
        something else still holds.
        """
        written = {i: s.index for i, s in self.standing.items() if s.index_ >= 0}
        made = [(weakref.ref(tensor), written.get(i)) for i, tensor in self.made.items()]
        for i, captured in self.captured.items():
            if id(captured) in self.made:
                self.captured[i] = make.tensor(captured.array, Counter(), None)
        captured = None  # the loop would keep it alive
        for known in (self.standing, self.made, self.detached, self.read, self._keep):
            known.clear()
        refs: list[weakref.ref[Any]] = [*self.slots, *(ref for ref, _ in made)]
        if any(ref() is not None for ref in refs):
            gc.collect()  # some may be part of a cycle
        found: list[tuple[Slot | Tensor, int | None]] = []
        for s in [s for s in (ref() for ref in self.slots) if s is not None]:
            if isinstance(s, TensorSlot):
                s.stored = s.tensor
            else:
                found.append((s, s.index))
        alive = ((ref(), number) for ref, number in made)
        return found + [(t, number) for t, number in alive if t is not None]

    def _has_slot(self, tensor: Tensor) -> bool:
        """Has the function written to this tensor of its own, so that a Slot has its values?"""
        standing = self.standing.get(id(tensor))
        return standing is not None and standing.index_ >= 0

    def watching(self) -> AbstractContextManager[None]:
        """Within this block, observe what tensors do, and which random numbers are drawn."""
        return modes.within("observer", TracingObserver(self))

    def program(self, outputs: Sequence[int], single: bool) -> Program:
        """The program that was recorded."""
        examples = {i: self.examples[i] for i, v in enumerate(self.values) if v.kind != "result"}
        return Program(
            list(self.values), list(self.instructions), list(self.inputs), list(outputs), single,
            examples, dict(self.captured), list(self.frozen),
        )  # fmt: skip


ABSENT = object()  # an attribute that is not there
READ = "numbers that Python code read from tensors, as in w.item(), are those of the recording."
SHAPED_BY_VALUES = {np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract, np.compress}


def place_in_memory(a: Array) -> tuple[Any, ...]:
    """A key that identifies an array in memory: its address, shape, dtype and strides."""
    return a.__array_interface__["data"][0], a.shape, a.dtype.str, a.strides


def record(f: Callable[..., Any]) -> Callable[..., Program]:
    """A function that runs f once on its arguments and returns the recorded Program.

    f          takes tensors, returns a tensor or several (a tuple or list)
    examples   tensors, arrays or numbers; their shapes and dtypes are frozen in the program

    Tensors that f uses without getting them as arguments (parameters of a model) are captured: their
    memory is read again in each run.

    Raises ProgramError if f asks for a value: `if x > 0`, x.item(), x.numpy(); TypeError if f is not a function.

    >>> import minigrad
    >>> program = record(lambda x, w: (x @ w).relu())(minigrad.ones(8, 4), minigrad.ones(4, 2))
    >>> print(program)
    %0  x                       (8, 4) float32
    %1  w                       (4, 2) float32
    %2  = matmul(%0, %1)        (8, 2) float32
    %3  = relu(%2)              (8, 2) float32
    return %3
    """
    check_function("record", f)

    def recording(*examples: object) -> Program:
        recorder = ProgramRecorder()
        try:
            with recorder.watching():
                result = f(*recorder.inputs_of(f, [as_example(x) for x in examples]))
        finally:
            recorder.restore_attributes()
        outputs, single = _numbers_of(recorder, result)
        result = None  # it would keep its slots alive
        for kept, number in recorder.left_behind():
            if not isinstance(kept, Slot) and number is not None:
                recorder.write_outside(ops.copy, kept)
        return recorder.program(outputs, single)

    return recording


def check_function(name: str, f: object) -> None:
    """Raise TypeError if f is not a function; most often it is a function's result."""
    if not callable(f):
        raise TypeError(
            f"static.{name} takes a function, but got {type(f).__name__}. To fix it, pass the function itself, "
            f"without (), and call what you get:  static.{name}(f)(x)"
        )


def as_example(x: object) -> Any:
    """The array of a tensor, an array, or a number (as a tensor would hold it)."""
    if isinstance(x, make.Tensor):
        return x.array
    return x if isinstance(x, (np.ndarray, np.generic)) else as_array(x)


def input_names(f: Callable[..., Any], n: int) -> list[str | None]:
    """The names of a function's first n parameters, as names of inputs."""
    parameters: Iterable[inspect.Parameter] = ()
    with suppress(TypeError, ValueError):  # some functions have no signature
        parameters = inspect.signature(f).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][:n]
    return [*names, *(f"input{k}" for k in range(len(names), n))]


def finished(recorder: ProgramRecorder, result: Any) -> Program:
    """The program whose outputs are these Slots (or constants)."""
    return recorder.program(*_numbers_of(recorder, result))


def _numbers_of(recorder: ProgramRecorder, result: Any) -> tuple[list[int], bool]:
    """The numbers of the results, and is there only one, not in a tuple or list?"""
    single = not isinstance(result, (tuple, list))
    results = [result] if single else list(result)
    for r in results:
        if not isinstance(r, (*VALUES, np.ndarray, np.generic, int, float)):
            raise ProgramError(
                f"a recorded function returns tensors, but this one returned {type(r).__name__}. To fix it, "
                "return a tensor, or a tuple of tensors."
            )
    return [recorder.number(r) for r in results], single


_writing: list[ProgramRecorder] = []  # the recorder of the current placeholders, if any


def placeholder(
    shape: int | Sequence[int] = (), dtype: DTypeLike = None, name: str | None = None
) -> Slot:
    """An input without a value: compute with it, then call program(...) on the results.

    shape   the shape of the input
    dtype   its dtype; by default the default dtype
    name    its name as an argument of program.run(...)

    Asking for its value raises an error: nothing is computed before the program runs.

    >>> import minigrad
    >>> from minigrad import static
    >>> x, y = static.placeholder((2,), name="x"), static.placeholder((2,), name="y")
    >>> p = static.program((x * y).sum())
    >>> p.run(x=minigrad.tensor([1.0, 2.0]), y=minigrad.tensor([3.0, 4.0]))
    tensor(11.)
    >>> g = p.gradient(wrt=["x"])
    >>> g.run(x=minigrad.tensor([1.0, 2.0]), y=minigrad.tensor([3.0, 4.0]))
    tensor([3., 4.])
    """
    taken = [_writing[-1].values[i].name for i in _writing[-1].inputs] if _writing else []
    if not _writing or (name is not None and name in taken):  # name used twice: start over
        _writing[:] = [ProgramRecorder()]
    recorder = _writing[-1]
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = dtypes.or_default(dtype)
    return recorder.input(stand_in(shape, dtype), name or f"input{len(recorder.inputs)}")


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Made-up example values: an invertible matrix, or indices that are in range."""
    if dtype.kind != "f":
        return np.zeros(shape, dtype)
    a = np.full(shape, 0.5, dtype)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        a[...] = np.eye(shape[-1], dtype=dtype) + dtype.type(0.125)
    return a


def program(outputs: Slot | Sequence[Slot]) -> Program:
    """The program that computes these outputs from placeholders.

    The next placeholder starts a new program.

    Raises ProgramError if the results were not computed from placeholders.
    """
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    if not isinstance(first, Slot):
        raise ProgramError(
            "static.program(...) takes values computed from placeholders, and this is not one. To fix it, "
            "start with  x = static.placeholder(shape, name='x')."
        )
    if _writing and _writing[-1] is first.recorder:
        _writing.pop()
    return finished(first.recorder, outputs)
