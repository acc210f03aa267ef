"""The recorder of training steps: it also records backward(), and writes to memory outside of the program.

Read tracing.py and differentiate.py first.
"""

import functools
import operator
from collections.abc import Callable
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.errors import NoGradient, user_names
from minigrad.core.hooks import Hooked
from minigrad.core.inplace import refuse
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import Counter, Tensor, make
from minigrad.core.modes import enable_grad
from minigrad.core.op import Op
from minigrad.core.shapes import Array
from minigrad.nn.module import Module
from minigrad.static.differentiate import SlotRows, add_gradients, pull
from minigrad.static.ir import AnyOp, Args, Kwargs, NumpyFunction, ProgramError, Settings, refs_in
from minigrad.static.slots import VALUES, Slot
from minigrad.static.tracing import ProgramRecorder

STEP_NUMBER = "a number of the step"  # the name of an array that is filled before each run


class StepRecorder(ProgramRecorder):
    """A recorder that also records backward() and the step() of optimizers.

    leaves    id of the node of each leaf -> what the step does with its .grad
    before    checks and updates before each run (learning rates, step counts)
    after     calls after each run: the steps of optimizers that could not be recorded
    written   the tensors that the program writes to
    """

    keeps_rows = True

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Any] = []
        self.after: list[Callable[[], Any]] = []
        self.written: list[Any] = []
        # Of attributes of modules that the step reads and replaces
        self.replaces: list[OldValue] = []
        self.leaves: dict[int, LeafGradient] = {}
        self.stale: set[int] = set()  # values whose memory has been overwritten
        self.later: set[int] = set()  # parameters that an optimizer of `after` will write to
        self.late: set[int] = set()  # their ids
        self.roots: dict[int, int] = {}  # a view -> the value it is a view of
        self.had: dict[int, list[int]] = {}  # captured -> the values that the step gave it
        self.replaced: dict[int, Tensor] = {}  # captured -> the tensor whose .data was assigned
        # (leaf, how, number of its gradient): each run sets the leaf's .grad. See _show
        self.shown: list[tuple[AccumulateGrad, Any, int]] = []
        self.emptied: list[AccumulateGrad] = []  # leaves whose .grad is None after each run

    def backward(self, loss: Slot, gradient: Slot | Tensor | None) -> None:
        """Record the backward pass for all captured leaves that require a gradient.

        Until recording ends, a leaf's .grad is the Slot of its gradient.
        """
        if not self.is_live(loss.index):
            raise NoGradient(
                "element 0 of tensors does not require grad and does not have a grad_fn: the step has computed it from "
                "values that need no gradient, or inside a no_grad block."
            )
        if gradient is None:
            if prod(loss.shape) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = Slot(self, self.constant(np.ones(loss.shape, loss.dtype)))
        elif not isinstance(gradient, Slot):
            gradient = Slot(self, self.number(gradient))
        leaves = {i: t.node for i, t in self.captured.items() if type(t.node) is AccumulateGrad}
        numbers = {i: [i, *self.had.get(i, ())] for i in leaves}
        wanted = {n for had in numbers.values() for n in had}
        with enable_grad():
            inputs = set(self.inputs) if self.inputs_need_grad else set()
            found = pull(self, {loss.index: gradient}, wanted | inputs)
            if not inputs.isdisjoint(found):
                raise ProgramError(
                    "an argument of the step requires a gradient, but the runs of a program store gradients only in "
                    "tensors from outside. To fix it, let the step read it as a variable of the function, or pass "
                    "x.detach()."
                )
            for i, node in leaves.items():
                parts = [found[n] for n in numbers[i] if n in found]
                if parts:
                    self._accumulate(node, functools.reduce(add_gradients, parts))

    def _accumulate(self, node: AccumulateGrad, g: Any) -> None:
        """Add a gradient to the leaf's .grad. The hooks of a leaf work on Slots."""
        leaf = self.leaf_of(node)
        if not leaf.has_begun:
            self._begin(leaf)
        hooked = node.plan if isinstance(node.plan, Hooked) else None
        if hooked:
            g = hooked.enter(hooked.arrive(g, tensors=True), tensors=True)
        leaf.added = g if leaf.added is None else add_gradients(leaf.added, g)
        total = g if node.grad is None else add_gradients(node.grad, g)
        # A Slot of its own: another leaf may get the same gradient, and p.grad.mul_(2) changes that of p only.
        node.grad = Slot(self, total.index) if isinstance(total, Slot) else total
        leaf.sum = total.index if isinstance(total, Slot) else -1
        if hooked:
            hooked.depart((), g, node, tensors=True)

    def leaf_of(self, node: AccumulateGrad) -> "LeafGradient":
        """What the step does with the .grad of this leaf."""
        return self.leaves.setdefault(id(node), LeafGradient(node))

    def note_grad(self, node: AccumulateGrad, is_set: bool = False) -> None:
        """As in ProgramRecorder: each run reads what is there then."""
        leaf = self.leaf_of(node)
        leaf.is_set |= is_set
        if not leaf.is_set:
            leaf.is_read = True
            known = node.grad is None or isinstance(node.grad, (Slot, SlotRows))
            if not (leaf.has_begun or known or node.grad.is_sparse):
                self._begin(leaf)

    def _begin(self, leaf: "LeafGradient") -> None:
        """Begin a gradient with what is in .grad at the start of a run, unless the step has cleared it."""
        leaf.has_begun, leaf.is_fresh, old = True, leaf.is_set, leaf.node.grad
        if old is None or isinstance(old, Slot):
            return
        if old.is_sparse:
            raise ProgramError(
                "a parameter has a row-sparse .grad when backward() is recorded, and a program does not add to it. "
                "To fix it, start the step with optimizer.zero_grad()."
            )
        if leaf.is_fresh or self.has_read(old):
            leaf.node.grad = Slot(self, self.number(old))
        else:
            array = old.array.copy()
            leaf.held = OldValue(leaf.node, "grad", old, array)
            leaf.node.grad = Slot(self, self.held(array, STEP_NUMBER))

    def capture(self, tensor: Tensor, name: str | None = None, as_memory: bool = False) -> int:
        """As in ProgramRecorder. Notes a parameter that an optimizer of `after` will write to."""
        i = super().capture(tensor, name, as_memory)
        if id(tensor) in self.late:
            self.later.add(i)
        return i

    def note_read(self, tensor: Tensor | Slot) -> None:
        """Note that Python code reads a tensor. Raises ProgramError if the step changes it, before or after."""
        super().note_read(tensor)
        self.check_numbers()

    def note_frozen_numbers(self, tensor: Tensor) -> None:
        """Nothing to say: the step is recorded again when the numbers have changed."""

    def check_numbers(self) -> None:
        """Raise ProgramError if Python code has read a tensor that the step changes."""
        written = {id(t) for t in (*self.written, *(r.old for r in self.replaces))}
        for tensor in self.read.values():
            if id(self.whole_of(tensor)) in written:
                name = user_names([tensor.array])[0] or f"a tensor of shape {tuple(tensor.shape)}"
                raise ProgramError(
                    f"the step changes {name}, and reads its values as Python numbers (item(), int(x), numpy() or "
                    "bool(x)) or by deepcopy, but a program uses the same numbers in each run. To fix it, compute with "
                    "the tensor itself, or read and change it outside of the compiled function."
                )

    def emit(self, op: AnyOp, operands: tuple[int, ...], settings: Settings) -> int:
        """As in ProgramRecorder. Raises ProgramError if an operand has been overwritten."""
        for i in (*operands, *refs_in(settings)):
            if self.roots.get(i, i) in self.stale:
                raise ProgramError(
                    f"{op.name} needs the value that a tensor had before the step overwrote it (one of the variables "
                    "needed for gradient computation has been modified by an inplace operation). To fix it, call "
                    "backward() before the optimizer's step(), or compute the loss again after it."
                )
            if self.roots.get(i, i) in self.later:
                raise ProgramError(
                    f"{op.name} follows the step of an optimizer that cannot be recorded. It steps after the program, "
                    "so the parameter would still have its old value here. To fix it, do this outside of the compiled "
                    "function."
                )
        z = super().emit(op, operands, settings)
        if op.view:
            self.roots[z] = self.roots.get(operands[0], operands[0])
        return z

    def write_outside(self, op: Op, tensor: Tensor, *others: Any, **settings: Any) -> Any:
        """p -= lr * g: each run writes the result to the memory of p."""
        self.over(tensor, op, tensor, *others, **settings)

    def write_through(self, tensor: Tensor, z: Slot) -> None:
        """Record that each run copies z into the tensor's memory."""
        self.over(tensor, ops.clone, z)

    def write_array(self, op: NumpyFunction, args: Args, kwargs: Kwargs, out: Array) -> Array:
        """BatchNorm's running statistics: each run writes the result to their memory."""
        first = self.held(out)
        z = self.numpy_function(op, args, kwargs)
        if z.shape != out.shape:
            raise ProgramError(f"{op.name} would change the shape of the array it writes to.")
        if z.dtype != out.dtype:
            z = z.to(out.dtype)
        self._overwrite(first, z)
        return out

    def _overwrite(self, first: int, z: Slot) -> None:
        """From now on, the memory of the captured value `first` contains z."""
        self.instructions[-1].over = first
        self.stale |= {first, self.current.get(first, first)}
        self.current[first] = z.index

    def over(self, tensor: Tensor, op: Op, *operands: Slot | Tensor, **settings: object) -> Slot:
        """Record op(*operands), with its result written to the memory of a captured tensor."""
        first = self.first_of(tensor)
        if first is None:
            raise ProgramError(
                f"{op.name}_ writes to a view, or to a tensor computed in the step. To fix it, make a new tensor."
            )
        recorded = self.records(tensor, *operands)
        if recorded:
            refuse(tensor, [tensor.node])
        with nullcontext() if recorded else self.stopping():
            before = self.number(tensor)
            z = self.apply(op, operands, settings)
            if z.shape != self.values[first].shape or z.dtype != self.values[first].dtype:
                raise ProgramError(
                    f"{op.name}_ would change the shape or dtype of the tensor it writes to."
                )
        if not recorded and tensor.node is None and self.is_live(before):
            self.settle(z.index, history=before)
        self._overwrite(first, z)
        self.became(tensor, z.index)
        return z

    def as_result(self, part: object) -> object:
        """A tensor or array that the step returns; None for anything else, which is the same in each run.

        What was in an attribute of a module that the step assigns is copied: the next run finds another tensor there.
        """
        if not isinstance(part, (*VALUES, np.ndarray)):
            return None
        return self.apply(ops.clone, (part,), {}) if id(part) in self.were_assigned() else part

    def were_assigned(self) -> set[int]:
        """The ids of the tensors that were in attributes of modules which the step has assigned."""
        befores = self.assigned.values()
        held = [old for module, name, old in befores if vars(module).get(name) is not old]
        return {id(old) for old in held if isinstance(old, make.Tensor)}

    def keep_attributes(self) -> list[tuple[Module, str]]:
        """Record what becomes of the attributes of modules that the step assigned; call this when it has ended.

        self.mean = 0.9 * self.mean + ...   was read: each run reads what the attribute holds then
        self.weights = x.softmax(-1)        was not read

        Both are results of the program; these are returned.
        """
        results, old = [], self.were_assigned()
        for module, name, before in self.assigned.values():
            value = vars(module).get(name)
            if id(value) in old or (id(value) in self.made and self.has_read(before)):
                with self.stopping():
                    vars(module)[name] = self.apply(ops.clone, (value,), {})
        for module, name, before in self.assigned.values():
            value = vars(module).get(name)
            value = self.standing.get(id(value), value)
            if not isinstance(value, Slot) or value.index_ < 0:
                continue
            results.append((module, name))
            if not self.has_read(before):
                continue
            if before.shape != value.shape or before.dtype != value.dtype:
                raise ProgramError(
                    f"the step gives {type(module).__name__}.{name}, which it reads, another shape or dtype: "
                    f"{tuple(value.shape)} {value.dtype} after {tuple(before.shape)} {before.dtype}. The next run "
                    "could not read it. To fix it, do this outside of the compiled function."
                )
            first, array = self.first_of(before), None
            if first is not None:  # and no other attribute held the same tensor
                array = before.array.copy("K")
                self.captured[first] = make.tensor(array, Counter(), None)
                self.values[first] = self.values[first]._replace(name=STEP_NUMBER)
            self.before.append(OldValue(module, name, before, array))
            self.replaces.append(self.before[-1])
        return results

    def replace_outside(self, tensor: Tensor, value: Any) -> None:
        """Record  x.data = value: the old memory keeps its values until the run ends."""
        first = self.first_of(tensor)
        if first is None:
            raise ProgramError(
                "x.data = y for a view cannot be recorded. To fix it, write  x.copy_(y)."
            )
        with self.stopping():
            z = self.apply(ops.getitem, (value,), {"index": (...,)})
        self.renewed.update(dict.fromkeys([first, *self.had.get(first, ())], first))
        self.became(tensor, z.index)
        self.replaced[first] = tensor

    def write_replaced(self) -> None:
        """Write the values that tensors got by x.data = value to their memory; call this when it has ended."""
        with self.stopping():
            for tensor in self.replaced.values():
                self.over(tensor, ops.clone, tensor)

    def became(self, tensor: Tensor, number: int) -> None:
        """From now on, the tensor has the value with this number."""
        first = self.first_of(tensor)
        assert first is not None
        self._known[id(tensor)] = self.current[first] = number
        self.had.setdefault(first, []).append(number)
        if tensor.requires_grad:
            self._live.add(number)
        if id(tensor) in self.standing:
            self.standing[id(tensor)].memory_.writes += 1
        if not any(t is tensor for t in self.written):
            self.written.append(tensor)

    def first_of(self, tensor: Tensor) -> int | None:
        """The number of the tensor's value at the start of a run."""
        if id(tensor) not in self._known and tensor._base is None:
            self.capture(tensor, as_memory=True)
        known = self._known.get(id(tensor))
        if known is not None and self.values[known].kind == "constant":  # a number that changes
            self.values[known] = self.values[known]._replace(kind="captured")
            self.examples[known], self.captured[known] = tensor.memory(), tensor
        return next((i for i, t in self.captured.items() if t is tensor), None)

    def show_gradients(self) -> None:
        """Make each run leave the gradients in .grad, but for those that it clears first and an optimizer takes."""
        for leaf in self.leaves.values():
            node, g, old = leaf.node, leaf.node.grad, leaf.old
            if not leaf.has_begun:
                if leaf.is_read:
                    self.before.append(OldValue(node, "grad", old))
                if not leaf.is_set:
                    continue
            # What it was before does not matter if the step has set it, and has used nothing of it until then.
            leaf.is_fresh |= leaf.is_set and not (leaf.has_begun and leaf.is_used)
            if g is None:
                self.emptied.append(node)
                g = node.grad = leaf.needed
            elif not isinstance(g, (Slot, SlotRows)):
                g = node.grad = Slot(self, self.number(g))
            is_sum = isinstance(g, SlotRows) or (g is not None and g.index == leaf.sum)
            adds = is_sum and not (leaf.is_fresh or leaf.is_used or self.has_read(old))
            if adds:
                node.grad = leaf.added
            elif not leaf.is_fresh:
                if leaf.held and self.has_read(old):
                    raise ProgramError(
                        "the step adds to a .grad and then reads it by another name, as in  grads = [p.grad]. To fix "
                        "it, read p.grad itself."
                    )
                self.before.append(leaf.held or OldValue(node, "grad", old))
            if g is not None and leaf.is_fresh and g is leaf.taken:
                self.emptied.append(node)
            elif g is not None:
                self._show(node, None if leaf.is_fresh else operator.iadd if adds else np.copyto)

    def restore_gradients(self) -> None:
        """Give back to the leaves what their .grad was before."""
        for leaf in self.leaves.values():
            leaf.node.grad = leaf.old
        self.leaves.clear()

    def _show(self, node: AccumulateGrad, write: Any) -> None:
        """Make each run store this gradient in the tensor's .grad: as a new tensor, or written to the old one."""
        g = node.grad
        if isinstance(g, SlotRows):
            g = g.dense(self)
        example = self.examples[g.index]
        others = [a for a, v in zip(self.examples, self.values, strict=True) if v.kind != "result"]
        if self.values[g.index].kind != "result" or any(
            np.may_share_memory(example, a) for a in others
        ):
            g = ops.clone(g)  # the program may write to this memory
        self.shown.append((node, write, g.index))


class LeafGradient:
    """What a step does with the .grad of a leaf.

    old        what it was before
    is_set     has the step cleared or set it? If so before the first backward pass, is_fresh
    is_read    has the step read it first?
    has_begun  has a backward pass added to it, or has the step read it?
    held       holds what it was before for the program, if it was a tensor
    sum        the number of the gradient after the last backward pass, or -1
    added      what the backward passes have added to it
    taken      the gradient with which an optimizer has taken a step: no run stores it in .grad
    needed     the gradient with which an optimizer of `after` steps
    """

    def __init__(self, node: AccumulateGrad) -> None:
        self.node, self.old = node, node.grad
        self.is_set = self.is_fresh = self.is_read = self.has_begun = False
        self.held: OldValue | None = None
        self.sum = -1
        self.added: Any = None
        self.taken: Any = None
        self.needed: Any = None

    @property
    def is_used(self) -> bool:
        """Has the step read it, or has an optimizer taken a step with it?"""
        return self.is_read or self.taken is not None


class OldValue:
    """Before each run, checks that an attribute (a leaf's .grad) holds what it did when the step was recorded.

    array   if given, it may also hold another tensor: its values are copied to here, where the program reads them
    """

    def __init__(
        self, place: object, name: str, old: Tensor | None, array: Array | None = None
    ) -> None:
        self.place, self.name, self.old, self.array = place, name, old, array

    def look(self) -> bool:
        """Is the program valid for what is there now?"""
        now = getattr(self.place, self.name, None)
        if self.array is None or not isinstance(now, make.Tensor):
            return now is self.old
        if now.shape != self.array.shape or now.dtype != self.array.dtype:
            return False
        self.array[...] = now.array
        return True
