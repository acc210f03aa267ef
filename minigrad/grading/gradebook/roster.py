"""The students of a class, and the owners of submissions.

A roster is a CSV with the columns id, name, email and section, or an export of Canvas, Moodle or
Gradescope. A student is looked up by any identifier, by name if the name is unique, and by the file
names that an LMS gives to downloads.
"""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from minigrad.grading.files import free_name, one_line
from minigrad.grading.gradebook.csv_files import GradebookError, TableRow, nearest, read_table
from minigrad.grading.run.collect import named_by

COLUMNS = {
    "id": (),
    "login": ("sis login id", "login id", "username", "user name", "netid"),
    "number": ("sis user id", "id number", "student id", "sid", "orgdefinedid"),
    "email": ("email address", "e-mail", "e-mail address", "mail"),
    "name": ("student", "full name", "student name"),
    "first": ("first name", "given name"),
    "last": ("last name", "surname", "family name"),
    "section": ("sections", "group", "groups", "section name"),
    "participant": ("identifier",),
}
IDENTIFIERS = ("id", "login", "number", "email", "participant", "name")
UNKNOWN_STUDENT = "nobody on the roster matches this submission: please confirm whose it is"
SECOND_SUBMISSION = "another submission is by the same student: please confirm which one counts"
NOBODY = ("points possible", "student, test")  # rows of Canvas's file that belong to no student


@dataclass(frozen=True)
class Student:
    """One student.

    id          the name in all our files: the roster's id, or without one the submission's name
    known_as    all identifiers in the roster: Canvas's and Moodle's numbers, login, email
    """

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    known_as: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The id, and the name if it differs."""
        return f"{self.id} ({self.name})" if self.name not in ("", self.id) else self.id


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the order of the file."""

    students: tuple[Student, ...]

    def find(self, name: str) -> Student | None:
        """The student with this identifier, or with this name if it is unique.

        Case counts only if there are students whose identifiers differ in nothing else.
        """
        alike = self._by_identifier.get(_folded(name), [])
        exact = [student for student in alike if student.id == name]
        found = exact or alike or self._by_name.get(_squeezed(name), [])
        return found[0] if len(found) == 1 else None

    def owner(self, submission: str) -> Student | None:
        """The student who owns a submission, by its file or folder name; None if that is unclear."""
        found = (self.find(name) for name in _names_in(submission))
        return next((student for student in found if student), None)

    def is_inexact(self, submission: str) -> bool:
        """Is its name only similar to the identifiers of its owner? Then one with an exact name goes before it."""
        owner = self.owner(submission)
        return owner is not None and submission not in (owner.id, *owner.known_as)

    def named(self, name: str, where: str) -> Student:
        """The student with this name. Raises GradebookError, prefixed with `where`, if there is none."""
        student = self.find(name)
        if student is None:
            if several := [s.id for s in self._by_name.get(_squeezed(name), [])]:
                raise GradebookError(
                    f"{where}: several students are called {name!r}. To fix it, name one by id: {', '.join(several)}"
                )
            known = nearest(
                name, [*(s.id for s in self.students), *(s.name for s in self.students)]
            )
            raise GradebookError(f"{where}: there is no student {name!r}.{known}")
        return student

    @cached_property
    def _by_identifier(self) -> dict[str, list[Student]]:
        return _index((_folded(key), s) for s in self.students for key in (s.id, *s.known_as))

    @cached_property
    def _by_name(self) -> dict[str, list[Student]]:
        return _index((key, s) for s in self.students for key in _spellings(s.name))


def roster_of(names: Sequence[str]) -> Roster:
    """A roster of the students who handed in something, for a class without a roster."""
    return Roster(tuple(Student(name) for name in dict.fromkeys(names)))


Owner = tuple[Student, str]  # and a note if that is uncertain


def owners_of(
    submissions: Sequence[str], roster: Roster | None = None, beside: Collection[str] = ()
) -> dict[str, Owner]:
    """Map each submission to its student and a note. No student owns two submissions.

    beside    those that are not notebooks: they belong to a student only if no notebook does
    """
    found: dict[str, Owner] = {}
    taken: dict[str, str] = {}  # student id -> submission

    def is_taken(name: str) -> bool:
        return name in taken or (roster is not None and roster.find(name) is not None)

    exact_first = sorted(submissions, key=roster.is_inexact) if roster else submissions
    for submission in sorted(exact_first, key=lambda name: name in beside):
        owner = roster.owner(submission) if roster else None
        if owner is not None and owner.id not in taken:
            student, note = owner, ""
        else:
            student = Student(free_name(student_name(submission), is_taken))
            note = UNKNOWN_STUDENT if roster else ""
            if owner is not None and submission not in beside:
                note = f"{SECOND_SUBMISSION}, this one or the one under {owner.id}"
                other = f"{SECOND_SUBMISSION}, this one or the one under {student.id}"
                found[taken[owner.id]] = owner, other
        taken[student.id] = submission
        found[submission] = student, note
    return found


def student_name(submission: str) -> str:
    """The name of a submission for reports: on one line, without control characters."""
    return one_line(submission) or "student"


def read_roster(path: Path) -> Roster:
    """Read a roster. Raises GradebookError, with the line, for a malformed row or a duplicate id."""
    students: list[Student] = []
    for row, student in roster_rows(path):
        if student is None:
            continue
        row.once(student.id.casefold(), "student")
        students.append(student)
    if not students:
        raise GradebookError(
            f"{path} lists no students. To fix it, give it the columns id, name, email, section."
        )
    return Roster(tuple(students))


def roster_rows(path: Path) -> list[tuple[TableRow, Student | None]]:
    """All rows of a roster with their students; None for a row that an LMS adds, such as a test student."""
    return [(row, _student(row)) for row in read_table(path, COLUMNS, needed=(), others=True)]


def _student(row: TableRow) -> Student | None:
    """The student in a row; None if the row belongs to no student."""
    name = row["name"] or " ".join(filter(None, (row["first"], row["last"])))
    if name.casefold() in NOBODY or not any(row[column] for column in COLUMNS):
        return None
    known = [row[column] for column in IDENTIFIERS[:-1] if row[column]]
    if not known and any(column in row.cells for column in IDENTIFIERS[:-1]):
        raise row.wrong(
            f"{name or 'the student'} has no identifier: no {', '.join(IDENTIFIERS[:-1])}."
        )
    first = student_name(next(iter(known), name))
    shown = student_name(name) if name else ""
    return Student(first, shown, row["email"], row["section"], tuple(known))


def _index(pairs: Iterator[tuple[str, Student]]) -> dict[str, list[Student]]:
    found: dict[str, list[Student]] = {}
    for key, student in pairs:
        if key and student not in found.setdefault(key, []):
            found[key].append(student)
    return found


def _folded(name: str) -> str:
    """Normalize case and Unicode: macOS may write é as e followed by an accent."""
    return unicodedata.normalize("NFC", name.casefold())


def _squeezed(name: str) -> str:
    return "".join(c for c in _folded(name) if c.isalnum())


def _spellings(name: str) -> set[str]:
    """Both spellings of a name, "Ada Lovelace" and "Lovelace, Ada", letters and digits only."""
    first, last = first_and_last(name)
    return {_squeezed(first + last), _squeezed(last + first)}


def first_and_last(name: str) -> tuple[str, str]:
    """Split "Ada Lovelace" or "Lovelace, Ada" into first and last name."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    return first.strip(), last.strip()


def _names_in(submission: str) -> Iterator[str]:
    yield submission
    begins = named_by(submission)
    parts = begins.groupdict() if begins else {}
    if "participant" in parts:
        yield f"Participant {parts['participant']}"
    yield from (parts[key] for key in ("id", "name") if key in parts)
