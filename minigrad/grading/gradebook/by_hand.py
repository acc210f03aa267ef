"""Points that a person gives: manual.csv, with the answers that a person marks, and the CSV of overrides.

    read_manual       read the marks; a malformed row raises an error with its line
    update_manual     add a row for each new answer; existing marks are never removed
    read_overrides    read the points that replace a mark

A row of manual.csv holds the version of the answer that was marked. If the student hands in another answer later,
the mark and its version stay, and the reports ask for confirmation. To confirm, empty the version
cell, or mark the answer again in the page (marking.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from minigrad.grading.files import clean_text, locked
from minigrad.grading.gradebook.csv_files import nearest, points_text, read_table, write_table
from minigrad.grading.gradebook.roster import Roster

COLUMNS = ("student", "question", "of", "points", "comment", "version", "note", "answer")
TASKS = "tasks.json"  # beside the file of marks: what is asked, for each question
CHANGED = "the answer has changed since it was marked: please confirm"
GONE = "there is no such answer now"
MAX_ANSWER = 29_000  # characters of an answer in the CSV; Excel's limit for a cell is 32767

GradebookCell = tuple[str, str]  # student id, question id


@dataclass(frozen=True)
class ManualMark:
    """A row of manual.csv.

    points     None: still to be marked
    version    fingerprint of the answer that was marked, or is to be; empty: the current answer
    answer     the current answer; empty if the student did not change the stub
    """

    student: str
    question: str
    of: Decimal
    points: Decimal | None = None
    comment: str = ""
    version: str = ""
    note: str = ""
    answer: str = ""

    def row(self) -> list[str]:
        """The cells of the CSV row."""
        points = "" if self.points is None else points_text(self.points)
        about = [self.student, self.question, points_text(self.of), points]
        return [*about, self.comment, self.version, self.note, self.answer]


def fingerprint_of(answer: str) -> str:
    """A short hash of the answer, with a prefix so that spreadsheets do not read it as a number."""
    return f"v{sha256(answer.encode('utf-8', 'replace')).hexdigest()[:12]}"


def read_manual(path: Path) -> dict[GradebookCell, ManualMark]:
    """Read the marks. Raises GradebookError, with the line, for a malformed row."""
    found: dict[GradebookCell, ManualMark] = {}
    if not path.exists():
        return found
    for row in read_table(path, dict.fromkeys(COLUMNS, ()), needed=COLUMNS[:5]):
        of, points, cell = row.points("of"), row.points("points"), (row["student"], row["question"])
        if of is None or not all(cell):
            raise row.wrong("a row needs a student, a question, and `of`, the maximum of points.")
        if points is not None and points > of:
            raise row.wrong(
                f"{points_text(points)} points were given, but the maximum is {points_text(of)}. To fix it, give "
                f"at most {points_text(of)}, or use the CSV of overrides."
            )
        row.once(cell, "student and question")
        found[cell] = ManualMark(*cell, of, points, *(row[column] for column in COLUMNS[4:]))
    return found


def write_manual(path: Path, marks: Mapping[GradebookCell, ManualMark]) -> None:
    """Write all marks atomically."""
    rows = [marks[cell].row() for cell in marks]
    write_table(path, [COLUMNS, *rows], edited=True)


def update_manual(
    path: Path, answers: Mapping[GradebookCell, str], of: Mapping[str, Decimal]
) -> dict[GradebookCell, ManualMark]:
    """Update the CSV: a row for each answer, in this order, then marks whose answer no longer exists.

    of    question -> its maximum number of points

    Raises GradebookError, and writes nothing, if the file is malformed.
    """
    with locked(path):  # the marking page may be writing, too
        before = read_manual(path)
        now = {c: _updated(before.get(c), c, answer, of[c[1]]) for c, answer in answers.items()}
        gone = {cell: replace(m, note=GONE) for cell, m in before.items() if cell not in now}
        now |= {cell: m for cell, m in gone.items() if m.points is not None or m.comment}
        if now != before or not path.exists():
            write_manual(path, now)
    return now


def _updated(mark: ManualMark | None, cell: GradebookCell, answer: str, of: Decimal) -> ManualMark:
    """The row for the current answer."""
    shown = _shown(answer)
    version = fingerprint_of(shown)
    mark = replace(mark or ManualMark(*cell, of), of=of, note="", answer=shown)
    if mark.points is not None and mark.version not in ("", version):
        return replace(mark, note=CHANGED)
    return replace(mark, version=version)


def _shown(answer: str) -> str:
    """The text of an answer in the CSV. Reading it back gives the same text."""
    text = clean_text(answer, MAX_ANSWER).strip()
    if len(answer) <= MAX_ANSWER:
        return text
    return f"{text}\n(the answer goes on: see the notebook; all of it is {fingerprint_of(answer)})"


@dataclass(frozen=True)
class Override:
    """Points that replace a student's mark for a question, and the reason.

    points    None: nothing is replaced; somebody has looked at the submission, and confirms it
    """

    points: Decimal | None
    reason: str


def read_overrides(
    path: Path | None, roster: Roster, questions: Sequence[str]
) -> dict[GradebookCell, Override]:
    """Read the overrides from a CSV with the columns student, question, points and reason.

    A confirmation of a submission has neither question nor points, and the key (student, "").
    """
    found: dict[GradebookCell, Override] = {}
    columns = ("student", "question", "points", "reason")
    for row in read_table(path, dict.fromkeys(columns, ()), needed=columns) if path else ():
        cell = roster.named(row["student"], row.where).id, row["question"]
        points, confirms = row.points("points"), not (cell[1] or row["points"])
        if cell[1] not in questions and not confirms:
            raise row.wrong(f"there is no question {cell[1]!r}.{nearest(cell[1], questions)}")
        row.once(cell, "student and question")
        if not row["reason"] or (points is None and not confirms):
            raise row.wrong("an override needs points and a reason. To fix it, write both.")
        found[cell] = Override(points, row["reason"])
    return found
