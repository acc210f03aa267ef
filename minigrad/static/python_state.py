"""What a step does in Python while it is recorded, and a program would not do again.

    k = int(place); queue[k] = x; place += 1     a number that is read and then changed
    h = cell(x, h)                               a variable from outside that is read and assigned
    if not self.is_set: self.is_set = True       a flag that decides the path
    x + numpy.random.rand()                      a random number that is not minigrad's
    agent.h = cell(x, agent.h)                   what an earlier call has stored outside of modules

Each run would use the same numbers and take the same path, and nothing would tell. So these are
refused. What a step decides without changing it (a shape, a setting) is fixed in its program.
"""

import inspect
import sys
from collections.abc import Callable, Sequence

import numpy as np

from minigrad.static.ir import ProgramError, parts_in
from minigrad.static.slots import Slot
from minigrad.static.step_recorder import StepRecorder


class PythonState:
    """Variables from outside and random generators, as they are before a function is recorded."""

    def __init__(self, f: Callable[..., object]) -> None:
        self.f = f
        self.variables, self.generators = _outside_variables(f), _generators()

    def check(self, recorder: StepRecorder) -> None:
        """Raise ProgramError if the function has changed something that a program would not change again."""
        _check_flags(recorder)
        recorder.check_numbers()
        self._check_variables(recorder)
        if _generators() != self.generators:
            raise ProgramError(
                "the step draws random numbers of NumPy or Python, which would be the same in each run. To fix it, "
                "draw them with minigrad, or outside of the compiled function, and pass them as an argument."
            )

    def _check_variables(self, recorder: StepRecorder) -> None:
        for name, value in _outside_variables(self.f).items():
            before, kept = self.variables.get(name), [*parts_in(value)]
            assigned = value is not before and any(isinstance(x, Slot) for x in kept)
            replaced = [x for x in parts_in(before) if not any(x is y for y in kept)]
            if assigned and any(map(recorder.has_read, replaced)):
                raise ProgramError(
                    f"the step reads the variable {name} from outside, and assigns it. The next run would read the "
                    "same values again. To fix it, make it an argument and a result of the step, an attribute of a "
                    f"module, or write  {name}.copy_(...)  inside a no_grad block."
                )

    def check_stored(self, recorder: StepRecorder, kept: Sequence[object]) -> None:
        """Raise ProgramError if the function reads what an earlier call has stored, and stores something again."""
        if recorder.reread and any(isinstance(x, Slot) for x in kept):
            raise ProgramError(
                "the step reads what the call before has computed and stored in a plain Python object (an attribute, a "
                "list, a dict), and stores a new value there. Each run of the program would read the same one. To fix "
                "it, make it an argument and a result of the step, an attribute of a module, or a tensor that the step "
                "writes to:  state.copy_(...)  inside a no_grad block."
            )


def _outside_variables(f: Callable[..., object]) -> dict[str, object]:
    """The values of the variables outside of a function that its code names."""
    try:
        found = inspect.getclosurevars(inspect.unwrap(f))
    except (TypeError, ValueError):  # not a Python function; or one of them has no value yet
        return {}
    return {**found.globals, **found.nonlocals}


def _generators() -> list[object]:
    """The states of the global generators of NumPy and Python, if they are loaded."""
    states: list[object] = []
    if "numpy.random" in sys.modules:
        _, keys, *rest = np.random.get_state()
        states += [keys.tolist(), rest]  # type: ignore[attr-defined]  # legacy=True gives a tuple
    if "random" in sys.modules:
        states.append(sys.modules["random"].getstate())
    return states


def _check_flags(recorder: StepRecorder) -> None:
    for module, name, before in recorder.assigned.values():
        value = module.__dict__.get(name)
        changed = isinstance(value, bool) and isinstance(before, bool) and value != before
        if changed and name != "training":
            raise ProgramError(
                f"the step changes {type(module).__name__}.{name} from {before} to {value}, so the next run would "
                "take another path, but a program has one. To fix it, call the function once before it is "
                "compiled, or set this outside of it."
            )
