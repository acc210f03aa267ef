"""What people give beside the submissions: read before anything is run, so that a typo costs no run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from minigrad.grading.documents import Grade
from minigrad.grading.gradebook.csv_files import TableRow, nearest, read_table
from minigrad.grading.gradebook.handed_in import HandedIn, read_times
from minigrad.grading.gradebook.roster import (
    Roster,
    Student,
    read_roster,
    roster_of,
    student_name,
)
from minigrad.grading.gradebook.settings import NAME, AssignmentSettings

STRANGER = "it is nobody's on the roster: please confirm whose it is"
AGAIN = "another submission is of the same student: please confirm which one counts"


@dataclass(frozen=True)
class Override:
    """Points that take the place of all others for a question of a student, and why."""

    points: Decimal
    reason: str


Cell = tuple[str, str]  # of the gradebook: the student's id, and the question's


@dataclass(frozen=True)
class Given:
    """What people gave for an assignment.

    roster    None: there is no roster, and the students are those who handed in
    times        student id -> when it was handed in, by a CSV
    handed       submission -> when it was handed in, as far as it shows
    overrides    what takes the place of a mark, in the end
    """

    settings: AssignmentSettings = AssignmentSettings()
    roster: Roster | None = None
    times: dict[str, datetime] = field(default_factory=dict)
    handed: dict[str, HandedIn] = field(default_factory=dict)
    overrides: dict[Cell, Override] = field(default_factory=dict)

    def owner(self, submission: str, taken: Collection[str]) -> tuple[Student, str]:
        """Whose submission it is, and what is to be said about that.

        taken    ids of the students who have one already
        """
        owner = self.roster.owner(submission) if self.roster else None
        if owner is not None and owner.id not in taken:
            return owner, ""
        name, n = student_name(submission), 1
        while (new := name if n == 1 else f"{name} ({n})") in taken:
            n += 1
        if owner is not None:
            return Student(new), f"{AGAIN}, this one or that of {owner.id}"
        return Student(new), STRANGER if self.roster else ""

    def came(self, student: Student, grades: Sequence[Grade]) -> tuple[datetime | None, str]:
        """When a student handed in the last of these, and what says so or why it is not known."""
        if student.id in self.times:
            return self.times[student.id], "by the CSV of times"
        handed = [self.handed[g["student"]] for g in grades if g["student"] in self.handed]
        unknown = [one for one in handed if one.time is None]
        if unknown or not handed:
            return None, unknown[0].source if unknown else "nothing says when it was handed in"
        last = max(handed, key=lambda one: one.time.timestamp() if one.time else 0)
        return last.time, last.source


def read_given(
    settings: AssignmentSettings, handed: Sequence[HandedIn], questions: Sequence[str]
) -> Given:
    """Read all files that the settings name. Raises GradebookError for what is malformed.

    questions    the ids of the assignment's
    """
    roster = read_roster(settings.roster) if settings.roster else None
    everybody = roster or roster_of([student_name(one.submission) for one in handed])
    if roster is not None:
        extensions = {
            roster.named(name, f"{NAME}, extensions").id: extension
            for name, extension in settings.extensions.items()
        }
        settings = replace(settings, extensions=extensions)
    times = read_times(settings, everybody)
    overrides = read_overrides(settings.overrides, everybody, questions)
    return Given(settings, roster, times, {one.submission: one for one in handed}, overrides)


def read_overrides(
    path: Path | None, roster: Roster, questions: Sequence[str]
) -> dict[Cell, Override]:
    """The overrides in a CSV: student, question, points, reason. All four must be there."""
    found: dict[Cell, Override] = {}
    lines: dict[Cell, int] = {}
    columns = ("student", "question", "points", "reason")
    for row in read_table(path, dict.fromkeys(columns, ()), needed=columns) if path else ():
        cell = cell_of(row, roster, questions, lines)
        points = row.points("points")
        if points is None or not row["reason"]:
            raise row.wrong("an override needs points and a reason. To fix it, write both.")
        found[cell] = Override(points, row["reason"])
    return found


def cell_of(
    row: TableRow, roster: Roster, questions: Sequence[str], lines: dict[Cell, int]
) -> Cell:
    """Which cell of the gradebook a row is about. Raises GradebookError if there is none, or for a second row.

    lines    the lines of the rows before it, which this one is added to
    """
    cell = roster.named(row["student"], row.where).id, row["question"]
    if cell[1] not in questions:
        raise row.wrong(f"there is no question {cell[1]!r}.{nearest(cell[1], questions)}")
    if cell in lines:
        raise row.wrong(f"line {lines[cell]} is about the same. To fix it, remove one of the two.")
    lines[cell] = row.line
    return cell
