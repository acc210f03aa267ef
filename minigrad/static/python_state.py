"""What a step does in Python while it is recorded, and a program would not do again.

    k = int(place); queue[k] = x; place += 1     a number that is read and then changed
    agent.h = cell(x, agent.h)                   a tensor outside of modules that is read and replaced
    x + numpy.random.rand()                      a random number that is not minigrad's
    adam.t += 1; m / (1 - 0.9**adam.t)           a Python number that each call changes
    losses.append(x); x / len(losses)            a list that it appends to and reads, or changes in another way
    agent.last = agent.now; agent.now = x        a tensor or a function that is elsewhere after each call

Each run would use the same numbers, and nothing would tell. So these are refused. Whether a number
that changes matters, we learn from the programs of the next calls: they differ, or they do not. (A
flag changes only once:  if not self.is_set: self.is_set = True.) A number that each call changes matters,
too, if the code reads it for more than that, as in  if n % 10 == 0;  and so does a learning rate.

What changes between the calls, such as `beta` when it is annealed from epoch to epoch, is another
matter: see guards.py.
"""

import functools
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import is_
from typing import Any

import numpy as np

from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor
from minigrad.static.guards import (
    OBJECTS,
    OutsideVariable,
    Surroundings,
    advances,
    is_alike,
    is_value,
)
from minigrad.static.ir import Program, ProgramError, parts_in
from minigrad.static.slots import VALUES, Slot, as_stored
from minigrad.static.step_recorder import STEP_NUMBER, StepRecorder


class PythonState:
    """What a function can read outside of itself, and random generators, as they are before it is recorded.

    unchanged   after check(): what the function reads and has not changed
    changed   after check(): a number outside of the function that is new or has changed, or an iterator or
              random generator that it may advance; None if there is none
    counted   after check(): numbers that are only added to, as in  calls += 1,  and what is added
    is_used   after check(): is this number read for more than its own update, as in  if n % 10 == 0?
    """

    def __init__(self, f: Callable[..., object], arguments: Sequence[object] = ()) -> None:
        self.f, self.look = f, functools.partial(Surroundings, f, arguments)
        self.around = self.look()
        found = self.around.variables
        # By name, too, for what is in an object that the function replaces.
        self.before: dict[object, Any] = {v.name: v.value for v in found if is_value(v.value)}
        self.before |= {v.where: v.value for v in found}
        tensors = [(v.name, as_stored(v.value)) for v in found if isinstance(v.value, VALUES)]
        self.tensors = {id(tensor): (name, tensor) for name, tensor in tensors}
        self.generators = _generators()
        held = {id(v.value): v.value for v in found}
        self.boxes = [(x, [*x]) for x in held.values() if isinstance(x, (list, deque))]
        self.growing: set[int] = set()  # ids of the lists to which the function has appended
        # after check(): the variables that hold values of the program, as they were before, and the ids of the values
        self.placed: list[tuple[OutsideVariable, int]] = []
        self.rereads = False  # does the function read tensors in a list to which it appends?
        self.changed: str | None = None
        self.is_used = False
        self.counted: dict[object, tuple[OutsideVariable, float]] = {}

    def check(self, recorder: StepRecorder) -> None:
        """Raise ProgramError if the function has changed something that a program would not change again."""
        recorder.check_numbers()
        now = self.look()  # Not kept: it would keep alive what the function has stored.
        self.placed = [
            (v._replace(value=self._before(v)), id(v.value))
            for v in now.variables
            if isinstance(v.value, Slot) and not isinstance(v.place, tuple | None)
        ]
        self._check_tensors(now.variables, recorder)
        self.unchanged = self.around.unchanged(recorder.assigned.keys(), self.growing)
        self.names = {id(v.value): v.name for v in self.unchanged}
        for x in recorder.replaces:
            if (
                id(x.old) in self.names
            ):  # Another variable holds it, too: the next run reads two tensors.
                x.array = None
        self.outside = {*self.tensors, *recorder.were_assigned()}
        candidates = [v for v in now.variables if id(v.place) not in self.growing]
        changed = {v.where: v for v in candidates if self._differs(v)}
        self.counted = {
            k: (v, v.value - self._before(v))
            for k, v in changed.items()
            if type(v.value) in (int, float)
            and type(self._before(v)) is type(v.value)
            and v.read in OBJECTS
        }
        counts = [k for k, (v, _) in self.counted.items() if now.only_counts(v)]
        used = [v for k, v in changed.items() if _matters(v.value) and k not in counts]
        used += [
            v._replace(name=f"what is in {v.name}")
            for v in self.around.variables
            if id(v.value) in self.growing and not now.only_appends(v.name)
        ]
        self.is_used = bool(used)
        self.changed = next((v.name for v in (*used, *changed.values())), None)
        # The step may have been the first to load numpy.random, whose state comes first.
        if _generators()[-len(self.generators) :] != self.generators:
            raise ProgramError(
                "the step draws random numbers of NumPy or Python, which would be the same in each run. To fix it, "
                "draw them with minigrad, or outside of the compiled function, and pass them as an argument."
            )

    def name_of(self, tensor: Tensor) -> str:
        """The source that reads a tensor from outside, or its shape."""
        return self.names.get(id(tensor), f"a tensor of shape {tuple(tensor.shape)}")

    def take_appended(
        self, recorder: StepRecorder
    ) -> list[tuple[list[Any] | deque[Any], list[Any]]]:
        """What the function has appended to lists outside, which get their old length again: each run appends anew."""
        found = []
        for box, before in self.boxes:
            rests = range(min(len(box), len(before)), -1, -1)
            ends = (n for n in rests if all(map(is_, [*box][:n], before[len(before) - n :])))
            n = next(ends)
            is_full = isinstance(box, deque) and len(box) == box.maxlen
            if len(box) > n and (n == len(before) or is_full):
                found.append((box, [box.pop() for _ in range(len(box) - n)][::-1]))
                self.growing.add(id(box))
                self.rereads |= any(map(recorder.has_read, before))
        return found

    def restore(self) -> None:
        """Give the variables that hold values of a program, which are not computed, what they held before."""
        for box, before in self.boxes:
            if len(box) != len(before) or not all(map(is_, box, before)):
                box.clear()
                box.extend(before)
        for v in self.look().variables:
            if isinstance(v.value, Slot) and v.value is not self.before.get(v.where):
                with suppress(AttributeError, TypeError):  # a tuple
                    if v.where in self.before:
                        v.write(self.before[v.where])
                    else:
                        v.remove()

    def _before(self, v: OutsideVariable) -> Any:
        return self.before.get(v.where, self.before.get(v.name))

    def _differs(self, v: OutsideVariable) -> bool:
        """Is it another number, text, flag or object than before, or a tensor that was elsewhere before?

        An iterator or random generator always counts as another one.
        """
        now, before = v.value, self._before(v)
        if isinstance(now, VALUES):
            return now is not before and id(as_stored(now)) in self.outside
        if is_value(now):
            return advances(now) or not is_alike(before, now)
        return v.place is not None and v.where in self.before and now is not before

    def _check_tensors(self, after: Iterable[OutsideVariable], recorder: StepRecorder) -> None:
        kept = {id(as_stored(v.value)) for v in after}
        for i, (name, tensor) in self.tensors.items():
            if i not in kept and recorder.has_read(tensor):
                raise ProgramError(
                    f"the step reads {name} from outside, and replaces it. The next run would read the same values "
                    "again. To fix it, make it an argument and a result of the step, an attribute of a module (but no "
                    f"tuple), or write  {name}.copy_(...)  inside a no_grad block."
                )

    def check_stored(
        self, recorder: StepRecorder, kept: Sequence[object], appends_again: bool
    ) -> None:
        """Raise ProgramError if the function reads what an earlier call has stored, and stores something again."""
        stores = recorder.reread and any(isinstance(x, Slot) for x in kept)
        if stores or (appends_again and self.rereads):
            raise ProgramError(
                "the step reads what the call before has computed and stored in a plain Python object (an attribute, a "
                "list, a dict), and stores a new value there. Each run of the program would read the same one. To fix "
                "it, make it an argument and a result of the step, an attribute of a module, or a tensor that the step "
                "writes to:  state.copy_(...)  inside a no_grad block."
            )


def _generators() -> list[object]:
    """The states of the global generators of NumPy, if it is loaded, and Python."""
    states: list[object] = []
    if "numpy.random" in sys.modules:
        _, keys, *rest = np.random.get_state()
        states += [keys.tolist(), rest]  # type: ignore[attr-defined]  # legacy=True gives a tuple
    return [*states, random.getstate()]


def _matters(x: object) -> bool:
    """Is it a number, a text, a flag, None or a tensor? (Whether another object matters, its program shows.)"""
    return is_value(x) and not advances(x)


def is_same(program: Program, other: Program) -> bool:
    """Do two programs compute the same from the same constants and captured values?"""
    (text, arrays), (other_text, others) = _contents(program), _contents(other)
    return (
        text == other_text
        and len(arrays) == len(others)
        and all(x is y or _are_equal(x, y) for x, y in zip(arrays, others, strict=True))
    )


def _contents(program: Program) -> tuple[list[str], list[Array]]:
    """What a program does, as text, and the arrays in it: constants, captured values and settings.

    Those that are filled before each run, such as Adam's 1 - beta**t, do not count.
    """
    text = [str(x) for x in (*program.instructions, *program.values, program.outputs)]
    known = program.examples | {i: t.array for i, t in program.captured.items()}
    settings = [part for line in program.instructions for part in parts_in(line.settings)]
    filled = {i for i in program.captured if program.values[i].name == STEP_NUMBER}
    arrays = [a for i, a in known.items() if i not in program.inputs and i not in filled]
    return text, arrays + [part for part in settings if isinstance(part, np.ndarray)]


def _are_equal(x: Array, y: Array) -> bool:
    return np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind in "fc")
