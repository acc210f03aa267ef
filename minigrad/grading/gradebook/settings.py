"""gradebook.toml: the deadline, the late policy, weights, and where the CSV files are.

    time_zone = "Europe/Berlin"
    roster = "roster.csv"

    [late]
    percent_per_day = 10

    [assignments.ps1]
    deadline = 2026-11-30T23:59:00

What the keys mean to an instructor is told in GRADEBOOK.md. Every key is optional. The keys of an
assignment may stand at the top, too, where they hold for all assignments; a table of an assignment's
own takes the place of the one at the top. A key is a field of the classes below, and any other one is
an error.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import TypeVar, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from minigrad.grading.gradebook.csv_files import GradebookError, nearest

NAME = "gradebook.toml"


@dataclass(frozen=True)
class LatePolicy:
    """What lateness costs, in percent of the points that were earned.

    grace_minutes      who is late by no more than this is not late
    percent_per_day    for each day that has begun since the deadline
    at_most_percent    no more than this, however late
    trust_file_times   may a time stamp of a file or a zip make somebody late? A copy has a new one
    """

    grace_minutes: Decimal = Decimal(0)
    percent_per_day: Decimal = Decimal(0)
    at_most_percent: Decimal = Decimal(100)
    trust_file_times: bool = False


@dataclass(frozen=True)
class QuestionSettings:
    """How a question counts.

    weight            its points are multiplied by this
    all_or_nothing    is a part of it worth nothing?
    """

    weight: Decimal = Decimal(1)
    all_or_nothing: bool = False


@dataclass(frozen=True)
class AssignmentSettings:
    """One assignment. Paths are relative to the folder of gradebook.toml.

    deadline      a date and a time of day; None: nobody is late
    time_zone     of the deadline and of all times that name none; as "Europe/Berlin"
    late          the late policy
    extensions    student -> days, or the new deadline
    roster        CSV: id, name, email, section
    questions     question -> how it counts
    times         CSV: student, time: when it was handed in
    overrides     CSV: student, question, points, reason: what counts in the end
    folder        where grade writes it; None: graded/NAME
    weight        how it counts in the course, beside the others
    manual        CSV of the marks that persons give; None: manual.csv beside the reports
    """

    deadline: datetime | None = None
    time_zone: str | None = None
    late: LatePolicy = LatePolicy()
    extensions: dict[str, Decimal | datetime] = field(default_factory=dict)
    roster: Path | None = None
    questions: dict[str, QuestionSettings] = field(default_factory=dict)
    times: Path | None = None
    overrides: Path | None = None
    manual: Path | None = None
    folder: Path | None = None
    weight: Decimal = Decimal(1)

    @property
    def zone(self) -> tzinfo | None:
        """The time zone of times that name none; None if neither it nor the deadline says one."""
        if self.time_zone is not None:
            return ZoneInfo(self.time_zone)
        return self.deadline.tzinfo if self.deadline else None

    def aware(self, time: datetime) -> datetime | None:
        """The point in time; None if neither it nor the settings name a time zone."""
        if time.tzinfo is not None:
            return time
        return time.replace(tzinfo=self.zone) if self.zone else None

    def due(self, student: str) -> datetime | None:
        """When this student's work is due."""
        due = self.aware(self.deadline) if self.deadline else None
        extension = self.extensions.get(student)
        if isinstance(extension, datetime):
            return self.aware(extension)
        return due + timedelta(days=float(extension)) if due and extension else due


@dataclass(frozen=True)
class CourseSettings(AssignmentSettings):
    """The whole of gradebook.toml: what holds for all assignments, and each of them.

    drop_lowest    of each student, so many assignments with the lowest share of their points do not count
    """

    drop_lowest: int = 0
    assignments: dict[str, AssignmentSettings] = field(default_factory=dict)

    def of(self, assignment: str) -> AssignmentSettings:
        """The settings of an assignment. Raises GradebookError if the file has others only."""
        if not self.assignments:
            return self
        if assignment not in self.assignments:
            raise GradebookError(
                f"{NAME} has no [assignments.{assignment}].{nearest(assignment, self.assignments)}"
            )
        return self.assignments[assignment]


def read_settings(path: Path) -> CourseSettings:
    """Read gradebook.toml. Raises GradebookError for what is no TOML, or not known, or senseless."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GradebookError(f"{path} is not valid TOML: {error}.") from error
    reader = _Reader(path)
    course = reader.table(CourseSettings, table, "")
    reader.check(course, "")
    common = {k: v for k, v in table.items() if k in get_type_hints(AssignmentSettings)}
    assignments = {}
    for name, own in table.get("assignments", {}).items():
        where = f"assignments.{name}."
        assignments[name] = reader.table(AssignmentSettings, {**common, **own}, where)
        reader.check(assignments[name], where)
    return replace(course, assignments=assignments)


T = TypeVar("T")


@dataclass(frozen=True)
class _Reader:
    """Turns the tables of a file into the dataclasses that describe them."""

    path: Path

    def table(self, kind: type[T], table: Mapping[str, object], where: str) -> T:
        """The dataclass that a table describes; `where` is what its keys begin with."""
        hints = get_type_hints(kind)
        for key in table:
            if key not in hints:
                raise self.wrong(f"there is no setting {where}{key}.{nearest(key, hints)}")
        return kind(**{k: self.value(hints[k], v, where + k) for k, v in table.items()})

    def value(self, kind: object, value: object, where: str) -> object:
        """A value as its field wants it. Raises GradebookError for any other one."""
        if isinstance(kind, UnionType):
            wanted = [one for one in get_args(kind) if one is not type(None)]
            return self.value(
                next((k for k in wanted if isinstance(value, k)), wanted[0]), value, where
            )
        if isinstance(value, dict) and get_origin(kind) is dict:
            inner = get_args(kind)[1]
            return {str(k): self.value(inner, v, f"{where}.{k}") for k, v in value.items()}
        if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
            return self.table(kind, value, f"{where}.")
        if kind is Decimal and isinstance(value, int | Decimal) and not isinstance(value, bool):
            number = Decimal(value)
            if number.is_finite() and number >= 0 and not ("percent" in where and number > 100):
                return number
        elif kind is Path and isinstance(value, str):
            return self.path.parent / value
        elif kind is int and type(value) is int and value >= 0:
            return value
        elif kind in (str, bool, datetime) and type(value) is kind:
            return value
        raise self.wrong(f"{where} is {value!r}. To fix it, write {WANTED.get(kind, 'a table')}.")

    def check(self, settings: AssignmentSettings, where: str) -> None:
        """Refuse a time zone that is none, and a deadline without one."""
        try:
            zone = settings.zone
        except (ValueError, OSError, KeyError):
            raise self.wrong(
                f"{where}time_zone is {settings.time_zone!r}, which is no time zone. To fix it, write one such "
                'as "Europe/Berlin" or "UTC".'
            ) from None
        if settings.deadline and zone is None:
            raise self.wrong(
                f"{where}deadline has no time zone. To fix it, write one such as  time_zone = "
                '"Europe/Berlin", or the offset:  deadline = 2026-11-30T23:59:00+01:00'
            )

    def wrong(self, message: str) -> GradebookError:
        """The error that says this about the file."""
        return GradebookError(f"{self.path}: {message}")


WANTED: dict[object, str] = {
    Decimal: "a number that is not negative (and of percent no more than 100)",
    int: "a whole number that is not negative",
    bool: "true or false",
    str: "a text between quotation marks",
    Path: "a path between quotation marks",
    datetime: "a date with a time, such as 2026-11-30T23:59:00",
}
