"""What an answer takes along from other cells of a student's notebook.

A helper, an import, a constant or a class that stands in a cell of its own is part of the answer
that uses it: what passes the check in the notebook is to pass here. So the statements that make
the names which an answer uses, and those that these use in turn, are run with it, in the order of
the notebook; what needs the answer itself comes behind it. Everything else stays behind: what only
runs something, and what would give another meaning to a name of the exercise.

Names are found in the syntax. What is taken along runs in the sandbox as the answer does, beside
nothing that the answer could not have held itself.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from minigrad.grading.release.bundles import BundleCell
from minigrad.grading.release.syntax import (
    Import,
    Loop,
    names_made,
    names_taken,
    needed,
    statements_of,
    waits_for,
    written,
)
from minigrad.grading.run.notebook import MOST_PARSED, SubmittedCell

MOST = 500  # statements for one answer


@dataclass
class Carried:
    """What is run with an answer, each a statement: first, before the answer, behind it.

    imports are run before the given cells, which so keep their names
    cells      the cells all of it comes from, counted from 1
    refused    names that the answer uses, and that a student's cell would make anew
    """

    imports: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What a report says about it."""
        found = []
        if self.names:
            where = "cell " + ", ".join(map(str, self.cells))
            found.append(f"taken along with the answer, from {where}: {_some(self.names)}")
        if self.refused:
            found.append(f"{_some(self.refused)}: what the exercise gives is used, not your own")
        return found


def _some(names: list[str]) -> str:
    return ", ".join(names[:12]) + (" and others" if len(names) > 12 else "")


def carried_with(
    answer: str, others: list[SubmittedCell], layout: list[BundleCell], given: list[str]
) -> Carried:
    """What an answer takes along.

    answer    its source
    others    the cells of the submission that are not this answer
    layout    the cells of the exercise
    given     the sources of the given cells that are run before the answer
    """
    own = statements_of(answer)
    made = {name for s in own for name in names_made(s)}
    wanted = names_taken(*own) - made
    there = {name for source in given for s in statements_of(source) for name in names_made(s)}
    candidates = list(_candidates(others, layout, there))
    ours = [one for one in candidates if not one.made & (made | one.barred)]
    chosen = needed({"*", *wanted}, [one.statement for one in ours], MOST)[:MOST] if own else []
    refused = {n for one in candidates for n in one.made & one.barred & wanted if one.own}
    found = Carried(refused=sorted(refused - {"*"}))
    for one in (one for one in ours if one.statement in chosen):
        part = found.above
        if isinstance(one.statement, Import):
            part = found.imports
        elif waits_for([one.statement], made):
            part = found.below
            made |= one.made
        part.append(written(one.statement))
        found.names += sorted(one.made - {*found.names})
        found.cells += [one.cell] if one.cell not in found.cells else []
    return found


class _Candidate(NamedTuple):
    """A statement that might be taken along.

    made     the names that it makes
    barred   those that it must not
    own      is its cell the student's, or edited?
    """

    statement: ast.stmt
    cell: int
    made: set[str]
    barred: set[str]
    own: bool


def _candidates(
    cells: list[SubmittedCell], layout: list[BundleCell], there: set[str]
) -> Iterator[_Candidate]:
    """Yield what is no running alone: a loop or a bare call only where it fills what its cell made.

    Of a cell as it was released there are the imports. What is given keeps its meaning (`there`);
    where nothing is, because it would tell the answer, nothing of the exercise may come along.
    """
    fixed = [c for c in layout if not c["answer"]]
    theirs = {name for c in fixed for name in c["names"]}
    ids = {i for c in fixed for i in (c["id"], c["grade_id"]) if i}
    released = {"".join(c["source"].split()) for c in layout}
    room = MOST_PARSED
    for cell in cells:
        room -= len(cell.source)
        own = cell.squeezed not in released
        barred = there | theirs if ids & set(cell.ids) or not there else there
        above: set[str] = set()
        for statement in statements_of(cell.source) if cell.kind == "code" and room >= 0 else []:
            made = names_made(statement)
            if isinstance(statement, Loop | ast.Expr):
                useful = bool(made & above)
            else:
                useful = own or isinstance(statement, Import)
                above |= made
            if useful:
                yield _Candidate(statement, cell.place + 1, made, barred - {"*"}, own)
