"""Training steps: a whole step as one program, recorded on the first call.

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
that the model uses are captured; `loss.backward()` records the backward pass (differentiate.py),
and `optimizer.step()` records the optimizer's formulas, which overwrite the parameters.
The result is one plan: forward, gradient and update in preallocated memory.

Writes to tensors from outside are part of the program too, also through p.data and p.detach(). The attributes that
modules assign, `self.mean = 0.9 * self.mean + ...`, are read before each run, and are a new tensor after it.

What the step stores elsewhere (an attribute of another object) follows the runs as well; each run appends to
lists (`losses.append(loss)`), adds to numbers that it only counts with (`calls += 1`), and to .grad. A step that
stores something, or changes a Python number, is recorded again at the second call, which may take another
path:  if self.mean is None: self.mean = zeros(3).  If it then reads what it stored before, or if a number that
changes makes a difference in each call, or if it reads a list to which it appends, that is an error.

Hooks of parameters are part of the program. What it could not repeat raises ProgramError: a custom
Function, a module's backward hook, a scheduler's step, and what follows the step of an optimizer that
takes its step itself, after the program (ASGD, Rprop, and your own).

There is one program for each combination of shapes and dtypes, and separate ones for
model.train() and model.eval(). A step is recorded again when something else that it read has changed: a number,
text or object outside of it, an entry of a list, dict, set or array, numbers of a tensor, like w.item(), or whether a
parameter requires a gradient.

Read step_recorder.py, optimizer_steps.py and codegen.py first.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import islice
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.errors import warn_user
from minigrad.core.memory import make
from minigrad.core.shapes import Array
from minigrad.nn.module import Module
from minigrad.optim.optimizer import Optimizer, replacement
from minigrad.random.generator import Generator
from minigrad.static.codegen import BufferPlan
from minigrad.static.guards import Guard, OutsideVariable, contents_of, sort_of
from minigrad.static.ir import Program, ProgramError, Ref, mapped, parts_in, resolved
from minigrad.static.optimizer_steps import NextStep, record_optimizer_step
from minigrad.static.python_state import PythonState, is_same
from minigrad.static.slots import Slot
from minigrad.static.step_recorder import StepRecorder
from minigrad.static.tracing import TracingObserver, as_example, check_function, input_names

ndarray, tensor = np.ndarray, make.Tensor
shape_of, dtype_of, training_of = map(attrgetter, ("shape", "dtype", "training"))
NESTED = {tuple, list, dict, str, type(None)}
OFTEN = 8  # PyTorch's limit of recompilations, too
KEPT = 32  # programs of a function; those that were used last
STALE = object()  # returned by a replay if the step must be recorded again
_one_at_a_time = threading.RLock()


class Compiled:
    """A function that is recorded when it is called with new shapes, and otherwise replayed.

    programs   the replays: one for each combination of shapes, dtypes and modes; at most 32, the last used ones
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.programs: list[Replay] = []
        self._latest: Replay | None = None
        self.times_recorded = 0

    def __call__(self, *inputs: object, **keywords: object) -> Any:
        if isinstance(modes.state.observer, TracingObserver):
            return self.f(*inputs, **keywords)  # it becomes a part of that program
        layout = None
        if keywords or not NESTED.isdisjoint(map(type, inputs)):
            arrays, layout = taken_apart((inputs, keywords), as_input)
        else:
            try:
                arrays = [x if x.__class__ is ndarray else as_example(x) for x in inputs]
            except (TypeError, ValueError, RuntimeError):
                arrays, layout = taken_apart((inputs, keywords), as_input)
        latest = self._latest
        if latest is None or not latest.fits(arrays, layout):
            latest = self._replay_for(arrays, layout, needs_grad(inputs, keywords))
        result = latest(arrays)
        if result is STALE:
            latest = self._replay_for(arrays, layout, needs_grad(inputs, keywords), latest)
            result = latest(arrays)
            if result is STALE:
                raise ProgramError(
                    f"the step changes {latest.guard.changed or 'what it depends on'}, so that its own program "
                    "does not hold in the next run. To fix it, change it outside of the compiled function."
                )
        return result

    def __get__(self, x: Any, cls: type | None = None) -> "Compiled | MethodType":
        """As a method of a class: the compiled method of the object x, which keeps it."""
        if x is None or not isinstance(self.f, FunctionType):
            return self
        if isinstance(x, type) or not hasattr(
            x, "__dict__"
        ):  # a class method; an object with slots
            return MethodType(self, x)
        name = f"compiled {self.f.__qualname__}"
        method = vars(x).get(name)
        if (
            method is None or getattr(method.f, "__self__", None) is not x
        ):  # another one's, in a copy of x
            method = vars(x)[name] = Compiled(MethodType(self.f, x))
        return method

    def __reduce__(self) -> tuple[type, tuple[Callable[..., Any]]]:
        """A copy has no programs: they are those of the tensors that the function uses."""
        return Compiled, (self.f,)

    def _replay_for(
        self,
        arrays: list[Array],
        layout: object,
        inputs_need_grad: bool,
        stale: "Replay | None" = None,
    ) -> "Replay":
        """The replay for these inputs and the current training modes; recorded if there is none."""
        known = next((r for r in self.programs if r.fits(arrays, layout)), None)
        others = [r for r in self.programs if r is not known]
        if known is None or known is stale or not known.guard.holds():
            if self._latest is not None:
                self._warn_if_often(self._latest, known, arrays)
            earlier = stale if stale is not None and stale.once else None
            known = Replay(self.f, arrays, layout, inputs_need_grad, earlier)
        self.programs, self._latest = [*others[1 - KEPT :], known], known
        return known

    def _warn_if_often(self, latest: "Replay", known: "Replay | None", arrays: list[Array]) -> None:
        """Say once what makes the function be recorded again and again, which takes much longer than a replay."""
        if known is not None:
            changed, fix = known.guard.changed, "make it an argument of the function"
        else:
            shapes = [tuple(a.shape) for a in arrays]
            pairs = zip(input_names(self.f, len(arrays)), shapes, latest.shapes, strict=False)
            names = [f"the shape of {name}" for name, new, old in pairs if new != old]
            changed = (
                names[0] if names else "the dtype or kind of an argument, or an object among them,"
            )
            fix = "give it few different values, as by padding"
            self.times_recorded *= latest.runs <= 2
        self.times_recorded += changed is not None
        if changed is not None and self.times_recorded == OFTEN:
            name = getattr(self.f, "__name__", "the function")
            warn_user(
                f"static.compile has recorded {name} {OFTEN + 1} times, because {changed} has changed between the "
                f"calls. To fix it, {fix}."
            )

    @property
    def _plan(self) -> BufferPlan:
        if self._latest is None:
            raise ProgramError("nothing has been recorded yet. To fix it, call the function once.")
        return self._latest.plan

    def source(self) -> str:
        """The NumPy source of the latest program, which is what runs."""
        return self._plan.source

    @property
    def program(self) -> Program:
        """The latest program."""
        return self._plan.program


def taken_apart(given: object, as_leaf: Callable[[object], object]) -> tuple[list[Any], Any]:
    """The leaves of nested tuples, lists and dicts, and the same with a Ref in place of each leaf.

    as_leaf   what to keep of a part, or None if the part stays where it is

    >>> taken_apart([minigrad.ones(2), {"mask": None}], as_input)
    ([array([1., 1.], dtype=float32)], [Ref(number=0), {'mask': None}])
    """
    leaves: list[object] = []

    def take(part: object) -> object:
        leaf = as_leaf(part)
        if leaf is None:
            return part
        leaves.append(leaf)
        return Ref(len(leaves) - 1)

    return leaves, mapped(given, take)


def as_input(part: object) -> object:
    """The array of an input; None for None, text, and what else a program may depend on, such as a model."""
    if part is None or isinstance(part, str) or _is_fixed(part):
        return None
    try:
        return as_example(part)
    except (TypeError, ValueError, RuntimeError):
        raise ProgramError(
            f"a compiled function takes tensors, numbers, text, None, models and optimizers, also in tuples, lists and "
            f"dicts, but got {type(part).__name__}. To fix it, let the function read it as a variable from outside."
        ) from None


def _is_fixed(part: object) -> bool:
    """Is this argument an object that stays as it is in the runs of a program? There is a program for each."""
    return callable(part) or isinstance(part, (Optimizer, Enum, Generator, dtypes.dtype))


def needs_grad(*given: object) -> bool:
    """Is there a tensor that requires a gradient among the arguments of a function?"""
    return any(isinstance(part, tensor) and part.requires_grad for part in parts_in(given))


class Replay:
    """One recorded step: its plan, and what to do before and after each run.

    layout   how the inputs are nested, with Refs for arrays; None if each input is one array
    form     the same for the results. Most often, it is_one, or they are in a plain container: a tuple or list
    stored   what the step stores outside, in plain Python objects: each run gives it its new value
    read     the values of tensors from outside that Python code read, such as w in w.item()
    mode     the grad mode, the default dtype, and which modules train
    guard    what it has read outside, and is the same in each run
    once     is the step recorded again at the next call, which may take another path? It may, if this one
             stored something or changed a number:  if self.mean is None: self.mean = zeros(3)
    earlier  the replay that it takes the place of because of that, or None
    """

    def __init__(
        self,
        f: Callable[..., Any],
        arrays: list[Array],
        layout: object,
        inputs_need_grad: bool,
        earlier: "Replay | None" = None,
    ) -> None:
        self.layout, self.earlier, self.runs = layout, earlier, 0
        self.shapes = [tuple(a.shape) for a in arrays]
        self.dtypes = [a.dtype for a in arrays]
        recorder = StepRecorder()
        recorder.inputs_need_grad = inputs_need_grad
        with _one_at_a_time:  # threads share leaves, and recording uses their .grad
            python = PythonState(f, [part for part in parts_in(layout) if _is_fixed(part)])
            outputs = self._record(recorder, python, arrays)
            if not (recorder.instructions or recorder.after):
                raise ProgramError("nothing was recorded: the function applied no op to tensors.")
            self._plan(recorder, python, outputs)
        self.after = recorder.after
        if "training" in python.around.names:  # model.training in the step itself
            found = [v.value for v in python.around.variables if isinstance(v.value, Module)]
            recorder.modules |= {id(x): x for x in found}
        self.modules = list(recorder.modules.values())
        self.written = [t._shared_counter() for t in recorder.written]
        self.mode, self.counted = self._mode(), python.counted
        self.guard = Guard([*python.unchanged, *self.read, *self._kept(recorder, python)])
        self.looks = [self.plan.rebind, *(ahead.look for ahead in recorder.before)]
        self.commits = [ahead.commit for ahead in recorder.before if isinstance(ahead, NextStep)]
        more = (self.plan.program.outputs[self.count :], self.after, self.counted, self.boxes)
        self.leaves_more = any(more)

    def _record(
        self, recorder: StepRecorder, python: PythonState, arrays: list[Array]
    ) -> list[int]:
        """Call the function, and then take back what it has left in optimizers, attributes and .grad."""
        before = replacement.step
        replacement.step = functools.partial(record_optimizer_step, recorder)
        try:
            return self._call(recorder, python, arrays)
        except BaseException:
            python.restore()
            recorder.restore_attributes()
            raise
        finally:
            replacement.step = before
            recorder.restore_attributes(removes=False)
            recorder.restore_gradients()

    def _plan(self, recorder: StepRecorder, python: PythonState, outputs: list[int]) -> None:
        self.read = [
            OutsideVariable(
                f"the values of {python.name_of(t)}", contents_of(t), t, None, contents_of
            )
            for t in recorder.read.values()
            if not recorder.is_its_own(t)
        ]
        left = recorder.left_behind()
        python.check_stored(recorder, [kept for kept, _ in left], self.earlier is not None)
        self.stored = [kept for kept, number in left if number is not None]
        # Where the step has stored them: each run stores a new tensor there.
        self.placed = [[v for v, i in python.placed if i == id(kept)] for kept in self.stored]
        placed = [v for places in self.placed for v in places]
        for v in placed:
            v.write(v.value)
        self.renewed = [v for v in placed if v.read is getattr and python.around.loads(v.key)]
        before_it = [recorder.assigned[id(module), name][-1] for module, name in self.assigned]
        new = not all(isinstance(value, tensor) for value in before_it)
        outputs += [number for _, number in left if number is not None]
        self.plan = BufferPlan(recorder.program(outputs, False), copy=False)
        self.once = self._is_tentative(new or bool(left) or bool(self.boxes), python)
        if not self.once:
            self.earlier = None

    def _kept(self, recorder: StepRecorder, python: PythonState) -> Iterator[OutsideVariable]:
        """What a run may change, but not in kind; tensors that it may only write to; and who needs a gradient."""
        renewed = {(id(module), name) for module, name in self.assigned}
        kinds = [(v.place, v.key) for v in self.renewed]
        for key, (module, name, _) in recorder.assigned.items():
            now = vars(module).get(name)
            if python.around.loads(name) if key in renewed else now is None:
                kinds.append((module, name))
            elif key not in renewed and isinstance(now, tensor):
                yield OutsideVariable(f"{type(module).__name__}.{name}", now, module, name, getattr)
        for x, name in kinds:
            kind = sort_of(x, name)
            yield OutsideVariable(f"{type(x).__name__}.{name}", kind, x, name, sort_of)
        for t in self.plan.tensors:
            name = f"whether {python.name_of(t)} requires a gradient"
            yield OutsideVariable(name, t.node, t, "node", getattr)

    def _is_tentative(self, stored: bool, python: PythonState) -> bool:
        """Is the step to be recorded again? Raises ProgramError if a number that changes makes a difference each time.

        The second call may still differ from the first: then the third one decides.
        """
        changed, earlier = python.changed, self.earlier
        if earlier is None:
            return stored or changed is not None
        if self.tails != earlier.tails:
            changed = changed or "a number that it appends to a list"
        elif (
            not python.is_used
            and all(earlier.counted.get(k, v)[1] == v[1] for k, v in python.counted.items())
            and is_same(self.plan.program, earlier.plan.program)
        ):
            return False
        if changed is None or earlier.earlier is None:
            return changed is not None
        raise ProgramError(
            f"the step depends on {changed}, which has another value in each call, but all runs of a program use "
            "the same one. To fix it, pass it to the step as an argument, or make it a tensor that the step changes: "
            "t += 1 inside a no_grad block. Of what a step does to lists, only  losses.append(x)  is repeated."
        )

    def _call(self, recorder: StepRecorder, python: PythonState, arrays: list[Array]) -> list[int]:
        """Call the function. Returns the numbers of what each run returns.

        These are the results, then the inputs that it overwrites, the attributes of modules, and the gradients.
        """
        slots = recorder.inputs_of(python.f, arrays)
        inputs, keywords = resolved(self.layout, slots.__getitem__) or (slots, {})
        with recorder.watching():
            result = python.f(*inputs, **keywords)
        appended = python.take_appended(recorder)
        self.boxes = [box for box, _ in appended]
        results, self.form = taken_apart(result, recorder.as_result)
        parts, self.tails = taken_apart([tail for _, tail in appended], recorder.as_result)
        recorder.show_gradients()
        self.assigned = recorder.keep_attributes()
        recorder.write_replaced()
        python.check(recorder)
        assigned = [getattr(module, name) for module, name in self.assigned]
        self.overwritten = [k for k, slot in enumerate(slots) if slot.memory_.writes]
        changed = [slots[k] for k in self.overwritten]
        for k in self.overwritten:
            others = [a for i, a in enumerate(arrays) if i != k]
            others += [t.array for t in recorder.captured.values()]
            if any(np.may_share_memory(arrays[k], a) for a in others):
                raise ProgramError(
                    "the step writes to an argument that shares its memory with another one, or with a tensor from "
                    "outside, which would not see the write. To fix it, pass x.clone(), or make a new tensor."
                )
        self.is_one = self.form == Ref(0)
        plain = type(result) in (tuple, list) and all(isinstance(part, Ref) for part in self.form)
        self.container: Any = type(result) if plain else None
        self.shown = [(node, write) for node, write, _ in recorder.shown]
        self.emptied = recorder.emptied
        self.count, self.appended = len(results), len(parts)
        numbers = [recorder.number(r) for r in [*results, *changed, *parts, *assigned]]
        return numbers + [i for *_, i in recorder.shown]

    def _mode(self) -> tuple[object, ...]:
        """The grad mode, the default dtype, and for each module: is it in training mode now?"""
        return modes.state.recording, dtypes.or_default(None), list(map(training_of, self.modules))

    def fits(self, arrays: list[Array], layout: object) -> bool:
        """Do these inputs have the recorded shapes and dtypes, nested in the same way, in the recorded modes?"""
        alike = list(map(shape_of, arrays)) == self.shapes and layout == self.layout
        return alike and list(map(dtype_of, arrays)) == self.dtypes and self._mode() == self.mode

    def __call__(self, arrays: list[Array]) -> Any:
        """Run the step; or return STALE if it must be recorded again."""
        if (self.once and self.runs) or not self.guard.holds():
            return STALE
        for look in self.looks:
            if not look():
                self.guard.changed = "the memory of a tensor, the state of an optimizer or a .grad"
                return STALE
        try:
            results = self.plan.function(*arrays)
        except IndexError as error:
            raise ProgramError(
                f"an index of this run is out of range: {error}. Indices are checked when a program is recorded, and "
                "so is whether cross_entropy has targets to ignore. To fix it, correct the index, or make the first "
                "call with a batch in which a target is ignored."
            ) from None
        if self.commits:
            self.commits = [commit for commit in self.commits if commit()]
        for counter in self.written:
            counter.count += 1
        wrap = make.wrap
        tensors = [wrap(a.copy() if a.__class__ is ndarray else a) for a in results[: self.count]]
        if self.leaves_more:
            self._store(arrays, results)
        for node in self.emptied:
            node.grad = None
        self.runs += 1
        if self.is_one:
            return tensors[0]
        if self.container is not None:
            return self.container(tensors)
        return resolved(self.form, tensors.__getitem__)

    def _store(self, arrays: list[Array], results: Sequence[Any]) -> None:
        """Store what the step leaves in its arguments, in modules, in .grad, and in other objects."""
        wrap, rest = make.wrap, iter(results[self.count :])
        given = [next(rest).copy() for _ in self.overwritten]
        new = [wrap(a.copy()) for a in islice(rest, self.appended)]
        for box, tail in zip(self.boxes, resolved(self.tails, new.__getitem__), strict=True):
            box.extend(tail)
        for module, name in self.assigned:
            setattr(module, name, wrap(next(rest).copy()))
        for node, write in self.shown:
            g = next(rest)
            if write is None or node.grad is None:
                node.grad = wrap(g.copy())
            else:
                write(node.grad.array, g)
        for kept, places in zip(self.stored, self.placed, strict=True):
            if places:
                value = wrap(next(rest).copy())
                for v in places:
                    v.write(value)
            elif isinstance(kept, Slot):
                kept.stored = wrap(next(rest).copy())
            else:
                kept.array = next(rest).copy()
        for k, a in zip(self.overwritten, given, strict=True):
            arrays[k][...] = a
        for act in self.after:
            act()
        for v, n in self.counted.values() if self.runs else ():
            v.write(v.read(v.place, v.key) + n)


def compile(f: Callable[..., Any]) -> Compiled:  # noqa: A001
    """Record the function on its first call, and replay it from then on.

    f         takes tensors, arrays and numbers, also in tuples, lists and dicts, and returns the same, or None.
              It may call backward() and step optimizers; see the top of this module
    returns   a function with the same arguments; .source() is the source it runs, .program the program

    Shapes and dtypes may differ between calls: there is one program for each combination, of which the last 32 are
    kept. When a number or an object that the function reads outside of itself has changed, it is recorded again. A
    method of a class has programs for each object. The buffers of a program
    are shared by its runs, so threads that train at the same time must each compile the function. Gradients are added
    to .grad, as in an eager step. But those that the step clears first, and an optimizer of the step takes, are
    not stored there: .grad is None. The results have no history. What the function prints, it prints only while it is
    recorded.

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
    check_function("compile", f)
    return Compiled(f)
