"""A student's answers, put into the author's notebook.

Of a submission only the *source of its answer cells* is used. Everything else comes from
the author: the given cells, the check cells, the outputs that are expected of them, the
metadata. So it does no harm if a student has deleted a check, edited the points or added
cells, whether on purpose or not.

An answer is found by its cell id or, where a tool has renewed the ids, by the copy of it
that `release` put into the metadata (minigrad.cell). If two cells claim one answer the
last one counts. An answer that is not found is left empty, and is named in `missing`.
"""

import copy
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.release import Notebook, is_answer, read_notebook


@dataclass(frozen=True)
class Assembled:
    """The author's notebook with a student's answers in it.

    notebook   ready to be run by nbval
    missing    ids of the answer cells that the submission does not have
    notes      what was unusual, in words
    """

    notebook: Notebook
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def assemble(author: str | Path, submission: str | Path) -> Assembled:
    """Put the answers of a submission into the author's notebook.

    Raises UnreadableNotebook if one of the two is no notebook of format 4.5 or newer.
    """
    notebook = copy.deepcopy(read_notebook(author))
    answers: dict[str, str] = {}
    notes: list[str] = []
    wanted = {cell.id for cell in notebook.cells if is_answer(cell)}
    for cell in read_notebook(submission).cells:
        copied = cell.metadata.get("minigrad", {})
        copied = copied.get("cell") if isinstance(copied, dict) else None
        claimed = next((i for i in (cell.id, copied) if i in wanted), None)
        if claimed is None:
            continue
        if claimed in answers:
            notes.append(f"two cells claim to be the answer {claimed}; the last one counts")
        answers[claimed] = cell.source
    for cell in notebook.cells:
        if cell.id in wanted:
            cell.source = answers.get(cell.id, "")
    missing = tuple(sorted(wanted - answers.keys()))
    notes += [f"the answer {i} is missing" for i in missing]
    return Assembled(notebook, missing, tuple(notes))
