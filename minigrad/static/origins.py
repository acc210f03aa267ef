"""Origins: of each instruction of a gradient program, what it was written for.

    copy    it is an instruction of the program itself: its value is needed going back
    rule    the rule of an instruction wrote it
    sum     it adds up what several instructions pass to one value

The walk is that of differentiate.py, with a note of who writes. Simplifying leaves out and
renumbers instructions, but keeps the record (Value) of each one that is left; so the notes are
kept by that.

Read differentiate.py first.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.modes import enable_grad
from minigrad.static.differentiate import chosen, copied, depending, from_rule
from minigrad.static.instruction import ProgramError
from minigrad.static.program import Program
from minigrad.static.recorder import Recorder
from minigrad.static.slot import Slot


class Origin(NamedTuple):
    """Why a value is there, and for which value of the program that was differentiated."""

    role: str
    of: int | None


def differentiated(
    program: Program, wrt: Any = None, *, seeded: bool = False
) -> tuple[Program, dict[int, Origin]]:
    """program.gradient(wrt, seeded=seeded), and number -> Origin of its values.

    >>> import minigrad
    >>> from minigrad import static
    >>> p = static.record(lambda x: x.sin() * x)(minigrad.tensor(1.0))
    >>> g, origins = differentiated(p)
    >>> for line in g.instructions:
    ...     print(line, *origins[line.result])
    %1 = sin(%0) copy 1
    %2 = cos(%0) rule 1
    %3 = mul(%0, %2) rule 1
    %4 = add(%1, %3) sum 0
    """
    wanted, single = chosen(program, wrt)
    recorder, numbers = copied(program)
    known = {new: Origin("copy", old) for old, new in numbers.items()}
    seeds = _seeds(program, recorder, numbers, seeded)
    with enable_grad():
        grads = _pull(recorder, seeds, [numbers[i] for i in wanted], known)
    results = []
    for i in wanted:
        g, v = grads.get(numbers[i]), program.values[i]
        results.append(recorder.constant(np.zeros(v.shape, v.dtype)) if g is None else g.index)
    whole = recorder.program(results, single)
    by_record = {id(v): known.get(i, Origin("seed", None)) for i, v in enumerate(whole.values)}
    gradient = whole.simplified()
    nobody = Origin("constant", None)
    return gradient, {i: by_record.get(id(v), nobody) for i, v in enumerate(gradient.values)}


def _seeds(
    program: Program, recorder: Recorder, numbers: dict[int, int], seeded: bool
) -> dict[int, Any]:
    """The gradient of each output: 1, or an input."""
    outputs = [numbers[i] for i in program.outputs]
    seeds: dict[int, Any] = {}
    if not seeded:
        z = recorder.values[outputs[0]]
        if int(np.prod(z.shape)) != 1:
            raise ProgramError(f"its output, of shape {z.shape}, is no scalar")
        return {outputs[0]: Slot(recorder, recorder.constant(np.ones(z.shape, z.dtype)))}
    for k, i in enumerate(outputs):
        v = recorder.values[i]
        seed = recorder.input(np.ones(v.shape, v.dtype), f"g{k}" if len(outputs) > 1 else "g")
        seeds[i] = seed if i not in seeds else seeds[i] + seed
    return seeds


def _pull(
    recorder: Recorder, seeds: dict[int, Any], wanted: Sequence[int], known: dict[int, Origin]
) -> dict[int, Any]:
    """The walk back. What is written on the way is noted in `known`."""
    lines, back = list(recorder.instructions), {new: o.of for new, o in known.items()}
    reach = depending(recorder, lines, set(wanted))
    grads: dict[int, Any] = dict(seeds)

    def note(role: str, of: int | None, since: int) -> int:
        for line in recorder.instructions[since:]:
            known.setdefault(line.result, Origin(role, of))
        return len(recorder.instructions)

    for line in reversed(lines):
        g = grads.get(line.result)
        if line.result not in reach or g is None or line.stopped:
            continue
        for k, i in enumerate(line.operands):
            if i not in reach:
                continue
            at = len(recorder.instructions)
            d = from_rule(recorder, line, k, g)
            at = note("rule", back[line.result], at)
            before = grads.get(i)
            grads[i] = d if before is None else before + d
            note("sum", back[i], at)
    return grads
