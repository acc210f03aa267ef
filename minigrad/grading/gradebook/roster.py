"""Who is in the class, and whose submission is whose.

A roster is a CSV with the columns id, name, email and section, or with those that Canvas, Moodle and
Gradescope export. A student is found by any of their identifiers, by the name if it is one
student's only, and by the name that a file has in a download from an LMS.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from minigrad.grading.gradebook.csv_files import (
    GradebookError,
    TableRow,
    clean_text,
    nearest,
    read_table,
)

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
NOBODY = ("points possible", "student, test")  # rows of Canvas's that are no student's

# how the files and folders of a download are called, and what in it says whose they are: as far to the left as
# it can be, since what the student called the file stands at the end
DOWNLOADS = [
    re.compile(r"(?P<name>.+?)_(?P<participant>\d+)_assignsubmission_\w*"),  # Moodle
    re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_.+"),  # Canvas
    re.compile(r".*?_(?P<id>[^_]+)_attempt_\d{4}-.*"),  # Blackboard
    re.compile(r"[\d-]+ - (?P<name>.+?) - .*"),  # Brightspace
]


@dataclass(frozen=True)
class Student:
    """One student.

    id          the name in all our files: the roster's id, or else the name of the submission
    known_as    every identifier that the roster has: Canvas's and Moodle's numbers, login, email
    """

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    known_as: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The id, and the name if it is another one."""
        return f"{self.id} ({self.name})" if self.name not in ("", self.id) else self.id


@dataclass(frozen=True)
class Roster:
    """The students of a class, in their order."""

    students: tuple[Student, ...]

    def find(self, name: str) -> Student | None:
        """The student with this identifier, or with this name if no other one has it."""
        exact = self._by_identifier.get(_folded(name), [])
        found = exact or self._by_name.get(_squeezed(name), [])
        return found[0] if len(found) == 1 else None

    def owner(self, submission: str) -> Student | None:
        """Whose submission it is, by what its file or folder is called; None if that is unclear."""
        found = (self.find(name) for name in _names_in(submission))
        return next((student for student in found if student), None)

    def named(self, name: str, where: str) -> Student:
        """The student with this name. Raises GradebookError, which says where it stands, if none has it."""
        student = self.find(name)
        if student is None:
            known = nearest(name, [s.id for s in self.students])
            raise GradebookError(f"{where}: there is no student {name!r}.{known}")
        return student

    @cached_property
    def _by_identifier(self) -> dict[str, list[Student]]:
        return _index((_folded(key), s) for s in self.students for key in (s.id, *s.known_as))

    @cached_property
    def _by_name(self) -> dict[str, list[Student]]:
        return _index((key, s) for s in self.students for key in _spellings(s.name))


def roster_of(names: Sequence[str]) -> Roster:
    """The roster of those who handed in, where there is no other one."""
    return Roster(tuple(Student(name) for name in dict.fromkeys(names)))


def student_name(submission: str) -> str:
    """The name of a submission as it stands in reports: on one line, without control characters."""
    return " ".join(clean_text(submission).split()) or "student"


def read_roster(path: Path) -> Roster:
    """Read a roster. Raises GradebookError, with the line, for what is malformed or twice there."""
    students: list[Student] = []
    lines: dict[str, int] = {}
    for row, student in roster_rows(path):
        if student is None:
            continue
        if student.id.casefold() in lines:
            raise row.wrong(
                f"{student.id} stands in line {lines[student.id.casefold()]} already. To fix it, remove one of the two."
            )
        lines[student.id.casefold()] = row.line
        students.append(student)
    if not students:
        raise GradebookError(
            f"{path} names no student. To fix it, give it the columns id, name, email, section."
        )
    return Roster(tuple(students))


def roster_rows(path: Path) -> list[tuple[TableRow, Student | None]]:
    """All rows of a roster, and whose each is: nobody's, if it is one that an LMS adds for itself."""
    return [(row, _student(row)) for row in read_table(path, COLUMNS, needed=(), others=True)]


def _student(row: TableRow) -> Student | None:
    """The student of a row; None if it is none of a student's."""
    name = row["name"] or " ".join(filter(None, (row["first"], row["last"])))
    if name.casefold() in NOBODY or not any(row[column] for column in COLUMNS):
        return None
    known = [row[column] for column in IDENTIFIERS[:-1] if row[column]]
    if not known and any(column in row.cells for column in IDENTIFIERS[:-1]):
        raise row.wrong(
            f"{name or 'the student'} has no identifier: no {', '.join(IDENTIFIERS[:-1])}."
        )
    first = student_name(next(iter(known), name))
    return Student(
        first, student_name(name) if name else "", row["email"], row["section"], tuple(known)
    )


def _index(pairs: Iterator[tuple[str, Student]]) -> dict[str, list[Student]]:
    found: dict[str, list[Student]] = {}
    for key, student in pairs:
        if key and student not in found.setdefault(key, []):
            found[key].append(student)
    return found


def _folded(name: str) -> str:
    """A name in small letters, in one form: a Mac writes é as e and an accent."""
    return unicodedata.normalize("NFC", name.casefold())


def _squeezed(name: str) -> str:
    return "".join(c for c in _folded(name) if c.isalnum())


def _spellings(name: str) -> set[str]:
    """A name as "Ada Lovelace", and as "Lovelace, Ada"."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    return {_squeezed(first + last), _squeezed(last + first)}


def _names_in(submission: str) -> Iterator[str]:
    yield submission
    for form in DOWNLOADS:
        if found := form.fullmatch(submission):
            parts = found.groupdict()
            if "participant" in parts:
                yield f"Participant {parts['participant']}"
            yield from (parts[key] for key in ("id", "name") if key in parts)
