"""The instructor's files: roster, times, overrides, marks. They are read before any code runs, to find typos early."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from minigrad.grading.documents import Grade, WrittenAnswer
from minigrad.grading.files import free_name
from minigrad.grading.gradebook.by_hand import GradebookCell, ManualMark, read_manual
from minigrad.grading.gradebook.csv_files import nearest, read_table
from minigrad.grading.gradebook.handed_in import HandedIn, read_times
from minigrad.grading.gradebook.roster import Roster, Student, read_roster, roster_of, student_name
from minigrad.grading.gradebook.settings import NAME, AssignmentSettings

UNKNOWN_STUDENT = "nobody on the roster matches this submission: please confirm whose it is"
SECOND_SUBMISSION = "another submission is by the same student: please confirm which one counts"


@dataclass(frozen=True)
class Override:
    """Points that replace a student's mark for a question, and the reason."""

    points: Decimal
    reason: str


@dataclass(frozen=True)
class Provided:
    """What the instructor provides for an assignment, and facts about the submissions.

    roster       None: there is no roster; the students are those who handed in something
    times        student id -> when it was handed in, according to the CSV of times
    handed       submission -> when it was handed in, if that is known
    owners       submission -> its student, and a note if the owner is uncertain
    overrides    points that replace a mark
    marks        the manual marks, including those still to be given
    written      submission -> question -> what the student wrote; known after the run
    """

    settings: AssignmentSettings = AssignmentSettings()
    roster: Roster | None = None
    times: dict[str, datetime] = field(default_factory=dict)
    handed: dict[str, HandedIn] = field(default_factory=dict)
    owners: dict[str, tuple[Student, str]] = field(default_factory=dict)
    overrides: dict[GradebookCell, Override] = field(default_factory=dict)
    marks: Mapping[GradebookCell, ManualMark] = field(default_factory=dict)
    written: Mapping[str, Mapping[str, WrittenAnswer]] = field(default_factory=dict)

    @cached_property
    def answers(self) -> dict[GradebookCell, WrittenAnswer]:
        """The students' answers, by student and question."""
        return {
            (self.owners[submission][0].id, question): answer
            for submission, answers in self.written.items()
            for question, answer in answers.items()
        }

    def time_of(self, student: Student, grades: Sequence[Grade]) -> tuple[datetime | None, str]:
        """When a student handed in the last of these, and the source, or why it is unknown."""
        if student.id in self.times:
            return self.times[student.id], "from the CSV of times"
        handed = [self.handed[g["student"]] for g in grades if g["student"] in self.handed]
        unknown = [one for one in handed if one.time is None]
        if unknown or not handed:
            return None, unknown[0].source if unknown else "its time is unknown"
        last = max(handed, key=lambda one: one.time.timestamp() if one.time else 0)
        return last.time, last.source


def read_provided(
    settings: AssignmentSettings,
    handed: Sequence[HandedIn],
    questions: Sequence[str],
    manual: Path | None = None,
) -> Provided:
    """Read all files that the settings name. Raises GradebookError if one is malformed.

    questions    the question ids of the assignment
    manual       the CSV of manual marks; it need not exist yet
    """
    roster = read_roster(settings.roster) if settings.roster else None
    everybody = roster or roster_of([student_name(one.submission) for one in handed])
    if roster is not None:
        extensions = {
            roster.named(name, f"{NAME}, extensions").id: extension
            for name, extension in settings.extensions.items()
        }
        settings = replace(settings, extensions=extensions)
    return Provided(
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
    """Map each submission to its student and a note. No student owns two submissions."""
    found: dict[str, tuple[Student, str]] = {}
    taken: dict[str, str] = {}  # student id -> submission
    for submission in submissions:
        student, note = roster.owner(submission) if roster else None, ""
        if student is None or student.id in taken:
            owner = student
            if student is not None:
                note = f"{SECOND_SUBMISSION}, this one or the one under {student.id}"
            elif roster is not None:
                note = UNKNOWN_STUDENT
            name = free_name(
                student_name(submission),
                lambda one: one in taken or (roster is not None and roster.find(one) is not None),
            )
            student = Student(name)
            if owner is not None:
                other = f"{SECOND_SUBMISSION}, this one or the one under {name}"
                found[taken[owner.id]] = owner, other
        taken[student.id] = submission
        found[submission] = student, note
    return found


def read_overrides(
    path: Path | None, roster: Roster, questions: Sequence[str]
) -> dict[GradebookCell, Override]:
    """Read the overrides from a CSV with the columns student, question, points and reason."""
    found: dict[GradebookCell, Override] = {}
    lines: dict[Hashable, int] = {}
    columns = ("student", "question", "points", "reason")
    for row in read_table(path, dict.fromkeys(columns, ()), needed=columns) if path else ():
        cell = roster.named(row["student"], row.where).id, row["question"]
        if cell[1] not in questions:
            raise row.wrong(f"there is no question {cell[1]!r}.{nearest(cell[1], questions)}")
        row.once(cell, lines, "student and question")
        points = row.points("points")
        if points is None or not row["reason"]:
            raise row.wrong("an override needs points and a reason. To fix it, write both.")
        found[cell] = Override(points, row["reason"])
    return found
