"""Compile: a whole training step as one program, recorded at the first call.

@static.compile
def step(x, y):
    optimizer.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

    for x, y in batches:
        step(x, y)              the first call records; later calls only replay

The function is ordinary eager code. While it is recorded, x and y are Slots; the parameters
that the model uses are captured; `loss.backward()` writes the backward pass (differentiate.py),
and `optimizer.step()` writes the optimizer's formulas, which overwrite the parameters
(updates.py). The result is one plan: forward, gradient and update in preallocated memory.

There is one program for each combination of shapes and dtypes, and separate ones for
model.train() and model.eval(). Everything else that the function decided during recording is
fixed for all later calls of that kind.

Read recorder.py, differentiate.py and plan.py first.
"""

import functools
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import make
from minigrad.core.modes import enable_grad
from minigrad.optim.optimizer import instead
from minigrad.static.differentiate import pull
from minigrad.static.instruction import ProgramError, refs_in
from minigrad.static.plan import Plan
from minigrad.static.program import Program
from minigrad.static.recorder import Recorder
from minigrad.static.recording import as_example, input_names
from minigrad.static.rows import Cell, Rows
from minigrad.static.slot import Slot
from minigrad.static.updates import update


class StepRecorder(Recorder):
    """A recorder for which backward() and an optimizer's step() are instructions too.

    leaves    where gradients are accumulated: id -> (number of the tensor, AccumulateGrad)
    before    what to check before each run (learning rates, counts): is the program still valid?
    after     what to do after each run: the steps of optimizers that could not be recorded
    written   the tensors that the program writes to
    """

    keeps_rows = True

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Any] = []
        self.after: list[Callable[[], Any]] = []
        self.written: list[Any] = []
        self.leaves: dict[int, Any] = {}
        self.stale: set[int] = set()  # values of captured memory that was overwritten later
        self.roots: dict[int, int] = {}  # a view -> the value it is a view of
        self.shown: list[Any] = []  # (leaf, number of its gradient): each run sets the leaf's .grad

    def backward(self, loss: Any, gradient: Any) -> None:
        """Write the backward pass, for all captured leaves that require a gradient.

        Until recording ends, a leaf's .grad is the Slot of its gradient.
        """
        if gradient is None:
            if int(np.prod(loss.shape)) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = Slot(self, self.constant(np.ones(loss.shape, loss.dtype)))
        elif not isinstance(gradient, Slot):
            gradient = Slot(self, self.number(gradient))
        wanted = {
            number: t.node
            for i, t in self.captured.items()
            if type(t.node) is AccumulateGrad
            for number in (i, self.current.get(i, i))
        }
        with enable_grad():
            found = pull(self, {loss.index: gradient}, wanted)
        for i, node in wanted.items():
            if i in found:
                if node.grad is not None and not isinstance(node.grad, (Slot, Rows)):
                    raise ProgramError(
                        "a parameter already has a .grad when backward() is recorded, and a replay does not add to it. "
                        "To fix it, begin the step with optimizer.zero_grad()."
                    )
                node.grad = found[i] if node.grad is None else node.grad + found[i]
                self.leaves.setdefault(id(node), (i, node))

    def emit(self, op: Any, operands: tuple[int, ...], settings: dict[str, Any]) -> int:
        """As in Recorder; but values that were overwritten can no longer be read."""
        for i in (*operands, *refs_in(settings)):
            if self.roots.get(i, i) in self.stale:
                raise ProgramError(
                    f"{op.name} reads a tensor as it was before the step wrote over it (one of the variables needed "
                    "for gradient computation has been modified by an inplace operation). To fix it, call backward() "
                    "before the optimizer's step(), or compute the loss anew after it."
                )
        z = super().emit(op, operands, settings)
        if op.view:
            self.roots[z] = self.roots.get(operands[0], operands[0])
        return z

    def write_outside(self, op: Any, tensor: Any, others: Any, settings: Any) -> None:
        """p -= lr * g: each run writes the result to the memory of p."""
        self.over(tensor, op, tensor, *others, **settings)

    def write_through(self, tensor: Any, z: Any) -> None:
        """Record a copy of z into the tensor's memory, made again in each run."""
        self.over(tensor, ops.clone, z)

    def write_array(self, name: str, function: Any, inputs: Any, kwargs: Any, out: Any) -> Any:
        """BatchNorm's running statistics: each run writes the result to their memory."""
        first = self.held(out)
        z = self.foreign(name, function, inputs, kwargs)
        if z.shape != out.shape:
            raise ProgramError(f"{name} would change the shape of what it writes to.")
        if z.dtype != out.dtype:
            z = z.to(out.dtype)
        self.instructions[-1].over = first
        self.stale.add(self.current.get(first, first))
        self.current[first] = z.index
        return out

    def over(self, tensor: Any, op: Any, *operands: Any, **settings: Any) -> Slot:
        """Record op(*operands), with its result written to the memory of a captured tensor."""
        first = self.first_of(tensor)
        if first is None:
            raise ProgramError(
                f"{op.name}_ writes to a view, or to what was computed in the step. To fix it, make a new tensor."
            )
        with self.stopping():
            z = self.apply(op, operands, settings)
            if z.shape != self.values[first].shape or z.dtype != self.values[first].dtype:
                raise ProgramError(
                    f"{op.name}_ would change the shape or type of what it writes to."
                )
        self.instructions[-1].over = first
        self.stale.add(self.current.get(first, first))
        self.became(tensor, z.index)
        return z

    def became(self, tensor: Any, number: int) -> None:
        """From now on, reading the tensor gives the value with this number."""
        self._known[id(tensor)] = self.current[self.first_of(tensor)] = number
        if not any(t is tensor for t in self.written):
            self.written.append(tensor)

    def first_of(self, tensor: Any) -> Any:
        """The number of the tensor's memory at the start of a run."""
        if id(tensor) not in self._known and tensor._base is None:
            self.capture(tensor, as_memory=True)
        return next((i for i, t in self.captured.items() if t is tensor), None)

    def latest_of(self, tensor: Any) -> Any:
        """The number of the tensor's memory as it is now."""
        first = self.first_of(tensor)
        return None if first is None else self.current.get(first, first)

    def optimizer_step(self, optimizer: Any, closure: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Replaces optimizer.step() while a step is recorded."""
        if closure is not None:
            raise ProgramError(
                "a step with a closure decides itself how often it is called; record it without."
            )
        if update(self, optimizer):
            return None
        # No formula for this one: the program puts the gradients into .grad, and the optimizer makes its step.
        self.after.append(optimizer.step)
        return None

    def show(self, node: Any) -> None:
        """Make each run store this gradient in the tensor's .grad."""
        g = node.grad
        if isinstance(g, Rows):
            g = g.dense(self)
        example = self.examples[g.index]
        others = [a for a, v in zip(self.examples, self.values, strict=True) if v.kind != "result"]
        if self.values[g.index].kind != "result" or any(
            np.may_share_memory(example, a) for a in others
        ):
            g = ops.clone(g)  # never return memory that the program does not own
        self.shown.append((node, g.index))


ndarray, tensor = np.ndarray, make.Tensor
shape_of, dtype_of = attrgetter("shape"), attrgetter("dtype")


class Compiled:
    """A function that records itself when it is called with new shapes, and otherwise replays.

    programs   (shape and dtype of each input) -> the replay
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.programs: dict[Any, Replay] = {}
        self._others: dict[Any, list[Replay]] = {}
        self._latest: Replay | None = None

    def __call__(self, *inputs: Any) -> Any:
        arrays = [
            x if x.__class__ is ndarray else x.array if isinstance(x, tensor) else as_example(x)
            for x in inputs
        ]
        latest = self._latest
        if latest is None or not latest.fits(arrays):
            latest = self._latest = self._known(arrays) or self._recorded(arrays)
        result = latest(arrays)
        if result is STALE:
            self._latest = self._known(arrays, latest) or self._recorded(arrays)
            result = self._latest(arrays)
        return result

    def _known(self, arrays: list[Any], but: Any = None) -> "Replay | None":
        """A program for such inputs, recorded with the current training modes of its modules."""
        key = self._key(arrays)
        for replay in self._others.get(key, ()):
            if replay is not but and replay.trains() == replay.training:
                self.programs[key] = replay
                return replay
        return None

    def _recorded(self, arrays: list[Any]) -> "Replay":
        key = self._key(arrays)
        replay = self.programs[key] = Replay(self.f, arrays)
        known = self._others.setdefault(key, [])
        known[:] = [r for r in known if r.training != replay.training] + [replay]
        return replay

    def _key(self, arrays: list[Any]) -> Any:
        return tuple([(a.shape, a.dtype.str) for a in arrays])

    def source(self) -> str:
        """The latest program as NumPy source, which is what runs."""
        if self._latest is None:
            raise ProgramError("nothing was recorded yet. To fix it, call the function once.")
        return self._latest.plan.source

    @property
    def program(self) -> Program:
        """The latest program."""
        if self._latest is None:
            raise ProgramError("nothing was recorded yet. To fix it, call the function once.")
        return self._latest.plan.program


_one_at_a_time = threading.RLock()


class Replay:
    """One recorded step: its plan, and what to do before and after each run."""

    def __init__(self, f: Callable[..., Any], arrays: list[Any]) -> None:
        with _one_at_a_time:  # threads share leaves, and recording uses their .grad
            self._record(f, arrays)

    def _record(self, f: Callable[..., Any], arrays: list[Any]) -> None:
        recorder = StepRecorder()
        slots = [
            recorder.input(a, n) for a, n in zip(arrays, input_names(f, len(arrays)), strict=True)
        ]
        before = instead.step
        instead.step = recorder.optimizer_step
        try:
            with recorder.watching():
                result = f(*slots)
            for _, node in recorder.leaves.values():
                if node.grad is not None:
                    recorder.show(node)
        finally:
            instead.step = before
            for _, node in recorder.leaves.values():
                node.grad = None
        if not recorder.instructions:
            raise ProgramError("nothing was recorded: the function did nothing with tensors.")
        self.form = form_of(result)
        results = leaves_of(result)
        outputs = [recorder.number(r) for r in results] + [i for _, i in recorder.shown]
        self.count = len(results)
        self.plan = Plan(recorder.program(outputs, False), copy=False)
        self.shown = [node for node, _ in recorder.shown]
        self.before, self.after = recorder.before, recorder.after
        self.written = [t._shared_counter() for t in recorder.written]
        self.shapes = [tuple(v.shape) for v in self.plan.wanted]
        self.dtypes = [v.dtype for v in self.plan.wanted]
        self.modules = list(recorder.modules.values())
        self.training = self.trains()
        self.looks = [ahead.look for ahead in self.before]
        self.commits = [ahead.commit for ahead in self.before if not isinstance(ahead, Cell)]

    def trains(self) -> list[bool]:
        """Which of the modules are in training mode now?"""
        return [m.training for m in self.modules]

    def fits(self, arrays: list[Any]) -> bool:
        """Do these inputs have the recorded shapes and dtypes?"""
        alike = list(map(shape_of, arrays)) == self.shapes
        return alike and list(map(dtype_of, arrays)) == self.dtypes

    def __call__(self, arrays: list[Any]) -> Any:
        """Run the step; or return STALE, if an optimizer would now make a different step."""
        if self.modules and self.trains() != self.training:
            return STALE
        for look in self.looks:
            if not look():
                return STALE
        if self.commits:
            self.commits = [commit for commit in self.commits if commit()]
        plan = self.plan
        plan.rebind()
        results = plan.function(*arrays)
        for counter in self.written:
            counter.count += 1
        wrap, n = make.wrap, self.count
        if self.shown:
            for node, g in zip(self.shown, results[n:], strict=True):
                node.grad = wrap(g)
        for act in self.after:
            act()
        if self.form is None:
            return None
        tensors = [wrap(a.copy() if a.__class__ is np.ndarray else a) for a in results[:n]]
        return self.form(tensors)


STALE = object()  # means: record the step again


def leaves_of(result: Any) -> list[Any]:
    """The tensors that a step returns."""
    if result is None:
        return []
    return list(result) if isinstance(result, (tuple, list)) else [result]


def form_of(result: Any) -> Any:
    """A function that turns the outputs into what the step returned: None, one tensor, or a tuple."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        return type(result)
    return lambda tensors: tensors[0]


def compile(f: Callable[..., Any]) -> Compiled:  # noqa: A001
    """Record the function at its first call, and replay it from then on.

    f         takes tensors (or arrays), returns a tensor, several, or None. It may call
              backward() and step optimizers; see the top of this module
    returns   a function with the same arguments; .source() is the source it runs, .program the program

    Shapes and dtypes may differ between calls: there is one program for each combination. Everything
    else that the function decides is fixed at the first call. A program has one memory, so threads
    that train at the same time must each compile the function. After a step without an
    optimizer, the gradients are in .grad, in memory that the next call overwrites.

    Random numbers are drawn again in each run, in the same order as in an eager run.

    Raises ProgramError if the function asks for values.

    >>> import minigrad
    >>> from minigrad import static
    >>> w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> sgd = minigrad.optim.SGD([w], lr=0.25)
    >>> @static.compile
    ... def step(x):
    ...     sgd.zero_grad()
    ...     loss = ((w - x) ** 2).sum()
    ...     loss.backward()
    ...     sgd.step()
    ...     return loss
    >>> for _ in range(3):
    ...     print(step(minigrad.zeros(2)))
    tensor(5.)
    tensor(1.2500)
    tensor(0.3125)
    >>> w
    tensor([0.1250, 0.2500], requires_grad=True)
    """
    return Compiled(f)
