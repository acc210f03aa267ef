"""What people give beside the submissions: read before anything is run, so that a typo costs no run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from minigrad.grading.documents import Grade
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
class Given:
    """What people gave for an assignment.

    roster    None: there is no roster, and the students are those who handed in
    times     student id -> when it was handed in, by a CSV
    handed    submission -> when it was handed in, as far as it shows
    """

    settings: AssignmentSettings = AssignmentSettings()
    roster: Roster | None = None
    times: dict[str, datetime] = field(default_factory=dict)
    handed: dict[str, HandedIn] = field(default_factory=dict)

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


def read_given(settings: AssignmentSettings, handed: Sequence[HandedIn]) -> Given:
    """Read all files that the settings name. Raises GradebookError for what is malformed."""
    roster = read_roster(settings.roster) if settings.roster else None
    everybody = roster or roster_of([student_name(one.submission) for one in handed])
    if roster is not None:
        extensions = {
            roster.named(name, f"{NAME}, extensions").id: extension
            for name, extension in settings.extensions.items()
        }
        settings = replace(settings, extensions=extensions)
    times = read_times(settings, everybody)
    return Given(settings, roster, times, {one.submission: one for one in handed})
