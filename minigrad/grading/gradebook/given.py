"""What people give beside the submissions: read before anything is run, so that a typo costs no run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from minigrad.grading.documents import Grade
from minigrad.grading.files import free_name
from minigrad.grading.gradebook.by_hand import GradebookCell, ManualMark, read_manual
from minigrad.grading.gradebook.csv_files import TableRow, nearest, read_table
from minigrad.grading.gradebook.handed_in import HandedIn, StudentAnswer, read_times
from minigrad.grading.gradebook.roster import Roster, Student, read_roster, roster_of, student_name
from minigrad.grading.gradebook.settings import NAME, AssignmentSettings

STRANGER = "it is nobody's on the roster: please confirm whose it is"
AGAIN = "another submission is of the same student: please confirm which one counts"


@dataclass(frozen=True)
class Override:
    """Points that take the place of all others for a question of a student, and why."""

    points: Decimal
    reason: str


@dataclass(frozen=True)
class Given:
    """What people gave for an assignment.

    roster    None: there is no roster, and the students are those who handed in
    times        student id -> when it was handed in, by a CSV
    handed       submission -> when it was handed in, as far as it shows
    owners       submission -> whose it is, and what is to be said about that
    overrides    what takes the place of a mark, in the end
    marks        what persons marked, or still have to
    """

    settings: AssignmentSettings = AssignmentSettings()
    roster: Roster | None = None
    times: dict[str, datetime] = field(default_factory=dict)
    handed: dict[str, HandedIn] = field(default_factory=dict)
    owners: dict[str, tuple[Student, str]] = field(default_factory=dict)
    overrides: dict[GradebookCell, Override] = field(default_factory=dict)
    marks: Mapping[GradebookCell, ManualMark] = field(default_factory=dict)

    @cached_property
    def answers(self) -> dict[GradebookCell, StudentAnswer]:
        """What students wrote, by student and question."""
        return {
            (self.owners[one.submission][0].id, question): answer
            for one in self.handed.values()
            for question, answer in one.answers.items()
        }

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
    settings: AssignmentSettings,
    handed: Sequence[HandedIn],
    questions: Sequence[str],
    manual: Path | None = None,
) -> Given:
    """Read all files that the settings name. Raises GradebookError for what is malformed.

    questions    the ids of the assignment's
    manual       the CSV of manual marks; it may not be there yet
    """
    roster = read_roster(settings.roster) if settings.roster else None
    everybody = roster or roster_of([student_name(one.submission) for one in handed])
    if roster is not None:
        extensions = {
            roster.named(name, f"{NAME}, extensions").id: extension
            for name, extension in settings.extensions.items()
        }
        settings = replace(settings, extensions=extensions)
    return Given(
        settings,
        roster,
        read_times(settings, everybody),
        {one.submission: one for one in handed},
        owners_of([one.submission for one in handed], roster),
        read_overrides(settings.overrides, everybody, questions),
        read_manual(manual) if manual else {},
    )


def owners_of(
    submissions: Sequence[str], roster: Roster | None = None
) -> dict[str, tuple[Student, str]]:
    """Submission -> whose it is, and what is to be said about that. No student has two."""
    found: dict[str, tuple[Student, str]] = {}
    taken: set[str] = set()
    for submission in submissions:
        student, note = roster.owner(submission) if roster else None, ""
        if student is None or student.id in taken:
            if student is not None:
                note = f"{AGAIN}, this one or that of {student.id}"
            elif roster is not None:
                note = STRANGER
            name = free_name(
                student_name(submission),
                lambda one: one in taken or (roster is not None and roster.find(one) is not None),
            )
            student = Student(name)
        taken.add(student.id)
        found[submission] = student, note
    return found


def read_overrides(
    path: Path | None, roster: Roster, questions: Sequence[str]
) -> dict[GradebookCell, Override]:
    """The overrides in a CSV: student, question, points, reason. All four must be there."""
    found: dict[GradebookCell, Override] = {}
    lines: dict[GradebookCell, int] = {}
    columns = ("student", "question", "points", "reason")
    for row in read_table(path, dict.fromkeys(columns, ()), needed=columns) if path else ():
        cell = cell_in_row(row, roster, questions, lines)
        points = row.points("points")
        if points is None or not row["reason"]:
            raise row.wrong("an override needs points and a reason. To fix it, write both.")
        found[cell] = Override(points, row["reason"])
    return found


def cell_in_row(
    row: TableRow, roster: Roster, questions: Sequence[str], lines: dict[GradebookCell, int]
) -> GradebookCell:
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
