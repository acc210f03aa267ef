"""Origins: why each instruction of a gradient program is there.

    copy    it is an instruction of the program itself, whose value the gradient needs
    rule    the rule of an instruction wrote it
    sum     it adds up what several instructions pass to one value

`pull` reports why it writes instructions. Simplifying removes and renumbers instructions, but
keeps the Value object of each remaining one; so the notes are stored by Value.

Read differentiate.py first.
"""

from typing import Any, NamedTuple

from minigrad.core.modes import enable_grad
from minigrad.static.differentiate import chosen, copied, pull, results_of, seeds_of
from minigrad.static.program import Program


class Origin(NamedTuple):
    """Why a value is there, and for which value of the differentiated program."""

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
    back = {new: o.of for new, o in known.items()}
    seeds = seeds_of(program, recorder, numbers, seeded)
    noted = len(recorder.instructions)

    def note(role: str, of: int) -> None:
        nonlocal noted
        for line in recorder.instructions[noted:]:
            known.setdefault(line.result, Origin(role, back[of]))
        noted = len(recorder.instructions)

    with enable_grad():
        grads = pull(recorder, seeds, [numbers[i] for i in wanted], note)
    results = results_of(program, recorder, numbers, wanted, grads)
    whole = recorder.program(results, single)
    by_record = {id(v): known.get(i, Origin("seed", None)) for i, v in enumerate(whole.values)}
    gradient = whole.simplified()
    nobody = Origin("constant", None)
    return gradient, {i: by_record.get(id(v), nobody) for i, v in enumerate(gradient.values)}
