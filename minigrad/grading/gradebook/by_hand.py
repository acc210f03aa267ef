"""What persons mark: the answers to look at, and a CSV of the marks that were given.

    manual_answers    the answers of a submission to the questions that a person marks
    code_answers      its code for the questions that are graded by running it
    read_manual       manual.csv: the marks, refused with the line if one is malformed
    update_manual     the same, with a row for each new answer; no mark is taken out of it

A row holds the version of the answer that it shows. If another one is handed in after a mark was given,
the mark stays, with its version, and everything says that it is to be confirmed: by
emptying the cell of the version, or by marking anew in the page (marking.py).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from minigrad.grading.gradebook.csv_files import clean_text, points_text, read_table, write_table
from minigrad.grading.release.bundles import BundleCell, Recording
from minigrad.grading.release.questions import ManualQuestion
from minigrad.grading.release.student import COUNTS_ID
from minigrad.grading.run.notebook import SubmittedCell, Unreadable, cells_of
from minigrad.grading.run.submission import find_answers

with suppress(ImportError):  # on Windows, where nothing is graded
    import fcntl

COLUMNS = ("student", "question", "of", "points", "comment", "version", "note", "answer")
CHANGED = "the answer has changed since it was marked: please confirm"
GONE = "there is no such answer now"
MOST = 29_000  # characters of an answer in the CSV: a spreadsheet's cell has room for little more

GradebookCell = tuple[str, str]  # the student's id, and the question's


@dataclass(frozen=True)
class ManualMark:
    """A row of manual.csv.

    points     None: still to be marked
    version    of the answer that was marked, or that is to be marked; empty: of the one that is there
    answer     the answer that is there; empty if the question was left as it was
    """

    student: str
    question: str
    of: Decimal
    points: Decimal | None = None
    comment: str = ""
    version: str = ""
    note: str = ""
    answer: str = ""

    @property
    def cell(self) -> GradebookCell:
        """Which cell of the gradebook it is about."""
        return self.student, self.question

    def row(self) -> list[str]:
        """The row as it is written."""
        points = "" if self.points is None else points_text(self.points)
        about = [self.student, self.question, points_text(self.of), points]
        return [*about, self.comment, self.version, self.note, self.answer]


def fingerprint_of(answer: str) -> str:
    """A short name for this very text, which no spreadsheet takes for a number."""
    return f"v{sha256(answer.encode('utf-8', 'replace')).hexdigest()[:12]}"


# ------------------------------------------------------------------------- the CSV


def read_manual(path: Path) -> dict[GradebookCell, ManualMark]:
    """The marks that are there. Raises GradebookError, with the line, for what is malformed."""
    found: dict[GradebookCell, ManualMark] = {}
    lines: dict[GradebookCell, int] = {}
    if not path.exists():
        return found
    for row in read_table(path, dict.fromkeys(COLUMNS, ()), needed=COLUMNS[:5]):
        of, points, cell = row.points("of"), row.points("points"), (row["student"], row["question"])
        if of is None or not all(cell):
            raise row.wrong(
                "a row needs a student, a question, and how many points there are, `of`."
            )
        if points is not None and points > of:
            raise row.wrong(
                f"{points_text(points)} points are given of {points_text(of)}. To fix it, give less; "
                "what is more stands in the CSV of overrides."
            )
        if cell in lines:
            raise row.wrong(
                f"line {lines[cell]} is about the same. To fix it, remove one of the two."
            )
        lines[cell] = row.line
        found[cell] = ManualMark(*cell, of, points, *(row[column] for column in COLUMNS[4:]))
    return found


def write_manual(path: Path, marks: Mapping[GradebookCell, ManualMark]) -> None:
    """Write all marks, so that the file is whole or as it was."""
    rows = [marks[cell].row() for cell in marks]
    write_table(path, [COLUMNS, *rows], edited=True)


def update_manual(
    path: Path, answers: Mapping[GradebookCell, str], of: Mapping[str, Decimal]
) -> dict[GradebookCell, ManualMark]:
    """Bring the CSV up to date: a row for each answer, in this order; then those of answers that are gone.

    of    question -> the points that there are for it

    Raises GradebookError, and writes nothing, if the file is malformed.
    """
    with locked(path):
        before = read_manual(path)
        now = {
            cell: _updated(before.get(cell), cell, answer, of[cell[1]])
            for cell, answer in answers.items()
        }
        gone = {cell: replace(m, note=GONE) for cell, m in before.items() if cell not in now}
        now |= {cell: m for cell, m in gone.items() if m.points is not None or m.comment}
        if now != before or not path.exists():
            write_manual(path, now)
    return now


def _updated(mark: ManualMark | None, cell: GradebookCell, answer: str, of: Decimal) -> ManualMark:
    """The row for an answer as it is now."""
    shown = _shown(answer)
    version = fingerprint_of(shown)
    mark = replace(mark or ManualMark(*cell, of), of=of, note="", answer=shown)
    if mark.points is not None and mark.version not in ("", version):
        return replace(mark, note=CHANGED)
    return replace(mark, version=version)


def _shown(answer: str) -> str:
    """An answer as the CSV holds it, and as it is read back from there."""
    text = clean_text(answer, MOST).strip()
    if len(answer) <= MOST:
        return text
    return f"{text}\n(the answer goes on: see the notebook; all of it is {fingerprint_of(answer)})"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else changes the file: neither `minigrad grade` nor the page for marking."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------- the answers


def manual_answers(
    content: bytes, layout: Sequence[BundleCell], questions: Sequence[ManualQuestion]
) -> dict[str, str]:
    """Question -> its answer in a student's file: empty if it is as it was released, or not there.

    layout    the cells of the student's notebook, as it was released
    """
    try:
        cells, _ = cells_of(content)
    except Unreadable:
        return {question.id: "" for question in questions}
    return {question.id: _answer(cells, layout, question) for question in questions}


def code_answers(content: bytes, recording: Recording) -> dict[str, str]:
    """Question -> the code of a student for it: empty if it is as it was released, or not there.

    An answer that several questions need is shown with the first of them.
    """
    try:
        found = find_answers(recording, content).sources
    except Unreadable:
        found = {}
    given = {cell: "".join(source.split()) for cell, source in recording.sources.items()}
    written = {c: s.strip("\n") for c, s in found.items() if "".join(s.split()) != given[c]}
    answers: dict[str, str] = {}
    shown: set[str] = set()
    for question in recording.questions:
        own = [cell for cell in question.answers if cell not in shown]
        answers[question.id] = "\n\n".join(written[cell] for cell in own if written.get(cell))
        shown.update(own)
    return answers


def _answer(
    cells: list[SubmittedCell], layout: Sequence[BundleCell], question: ManualQuestion
) -> str:
    """All cells that claim to be the answer; else what stands where it stood."""
    place = next(k for k, c in enumerate(layout) if c["id"] == question.cell)
    if question.task:
        found = _below(cells, layout, place)
    else:
        ids = {layout[place]["id"], layout[place]["grade_id"]} - {None}
        found = [c for c in cells if ids & set(c.ids)] or _below(cells, layout, place - 1)
    stub = "".join(layout[place]["source"].split())
    written_ones = [c.source.strip() for c in found if c.squeezed not in ("", stub)]
    return "\n\n".join(written_ones)


def _below(
    cells: list[SubmittedCell], layout: Sequence[BundleCell], place: int
) -> list[SubmittedCell]:
    """What stands between a cell of the exercise and the next one."""
    if place < 0:
        return []
    starts = [k for k, c in enumerate(cells) if _is(c, layout[place])]
    found = []
    for cell in cells[starts[-1] + 1 :] if starts else []:
        if any(_is(cell, one) for one in layout):
            break
        if COUNTS_ID not in cell.ids:  # release has put it there
            found.append(cell)
    return found


def _is(cell: SubmittedCell, released: BundleCell) -> bool:
    """Is it this cell of the exercise? By its ids, or by what is given in it."""
    known = {released["id"], released["grade_id"]} & set(cell.ids)
    given = "".join(released["source"].split())
    return bool(known) or (not released["answer"] and given != "" and cell.squeezed == given)
