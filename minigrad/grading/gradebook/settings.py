"""gradebook.toml: the deadline, the late policy, weights, and the paths of the CSV files.

    time_zone = "Europe/Berlin"
    roster = "roster.csv"

    [late]
    percent_per_day = 10

    [assignments.ps1]
    deadline = 2026-11-30T23:59:00

GRADEBOOK.md explains the keys for instructors. Every key is optional. An assignment's keys may also
appear at the top level, where they are defaults for all assignments. An assignment's own table
replaces the top-level table, rather than merging with it. The keys are the fields of the classes
below; an unknown key is an error.
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
    """The late penalty, in percent of the points earned.

    grace_minutes      no penalty if it is late by at most this much
    percent_per_day    for each day late, counting a started day as a whole one
    at_most_percent    the maximum penalty
    trust_file_times   use time stamps of files and zip entries? Copying a file changes them
    """

    grace_minutes: Decimal = Decimal(0)
    percent_per_day: Decimal = Decimal(0)
    at_most_percent: Decimal = Decimal(100)
    trust_file_times: bool = False


@dataclass(frozen=True)
class QuestionSettings:
    """How a question counts.

    weight            its points are multiplied by this
    all_or_nothing    give no partial credit?
    """

    weight: Decimal = Decimal(1)
    all_or_nothing: bool = False


@dataclass(frozen=True)
class AssignmentSettings:
    """One assignment. Paths are relative to the folder of gradebook.toml.

    deadline      date and time of day; None: nobody is late
    time_zone     of the deadline and of all times without one; for example "Europe/Berlin"
    late          the late policy
    extensions    student -> extra days, or a new deadline
    roster        CSV: id, name, email, section
    questions     question -> how it counts
    times         CSV: student, time (when it was handed in)
    overrides     CSV: student, question, points, reason; these points replace the mark
    manual        CSV of manual marks; None: manual.csv next to the reports
    folder        the folder that grade writes; None: graded/NAME
    weight        its weight in the course total
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
        """The zone for times without one: `time_zone`, or else the deadline's; None if neither is set."""
        if self.time_zone is not None:
            return ZoneInfo(self.time_zone)
        return self.deadline.tzinfo if self.deadline else None

    def aware(self, time: datetime) -> datetime | None:
        """The time with a time zone; None if neither the time nor the settings have one."""
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
    """The content of gradebook.toml: defaults for all assignments, and the settings of each.

    drop_lowest    how many assignments to drop for each student, lowest scores first
    """

    drop_lowest: int = 0
    assignments: dict[str, AssignmentSettings] = field(default_factory=dict)

    def of(self, assignment: str) -> AssignmentSettings:
        """The settings of an assignment. Raises GradebookError if the file has only other assignments."""
        if not self.assignments:
            return self
        if assignment not in self.assignments:
            raise GradebookError(
                f"The settings have no [assignments.{assignment}].{nearest(assignment, self.assignments)} "
                "To fix it, add it, or give the assignment's name there with  --assignment."
            )
        return self.assignments[assignment]


def read_settings(path: Path) -> CourseSettings:
    """Read gradebook.toml. Raises GradebookError for invalid TOML, an unknown key or an invalid value."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GradebookError(f"{path} is not valid TOML: {error}.") from error
    course = _table(CourseSettings, table, "", path)
    _check_zone(course, f"{path}: ")
    common = {k: v for k, v in table.items() if k in get_type_hints(AssignmentSettings)}
    assignments = {}
    for name, own in table.get("assignments", {}).items():
        where = f"assignments.{name}."
        assignments[name] = _table(AssignmentSettings, {**common, **own}, where, path)
        _check_zone(assignments[name], f"{path}: {where}")
    for key in ("manual", "folder"):
        owners: dict[Path, str] = {}
        for name, assignment in assignments.items():
            written: Path | None = getattr(assignment, key)
            if written and (other := owners.setdefault(written.resolve(), name)) != name:
                raise GradebookError(
                    f"{path}: assignments.{other} and assignments.{name} have the same {key}, {written}, so that one "
                    f"would get what belongs to the other. To fix it, give each its own."
                )
    return replace(course, assignments=assignments)


T = TypeVar("T")


def _table(kind: type[T], table: Mapping[str, object], where: str, path: Path) -> T:
    """Convert a table of a file to a dataclass; `where` is the prefix of its keys in messages."""
    hints = get_type_hints(kind)
    for key in table:
        if key not in hints:
            raise GradebookError(f"{path}: there is no setting {where}{key}.{nearest(key, hints)}")
    return kind(**{k: _value(hints[k], v, where + k, path) for k, v in table.items()})


def _value(kind: object, value: object, where: str, path: Path) -> object:
    """Convert a value to the type of its field. Raises GradebookError if it does not fit."""
    if isinstance(kind, UnionType):
        wanted = [option for option in get_args(kind) if option is not type(None)]
        kind = next((k for k in wanted if isinstance(value, k)), wanted[0])
    if isinstance(value, dict) and get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {str(k): _value(inner, v, f"{where}.{k}", path) for k, v in value.items()}
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        return _table(kind, value, f"{where}.", path)
    if kind is Decimal and isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
        if number.is_finite() and number >= 0 and not ("percent" in where and number > 100):
            return number
    elif kind is Path and isinstance(value, str):
        return path.parent / value
    elif kind is int and type(value) is int and value >= 0:
        return value
    elif kind in (str, bool, datetime) and type(value) is kind:
        return value
    raise GradebookError(
        f"{path}: {where} is {value!r}. To fix it, write {WANTED.get(kind, 'a table')}."
    )


def _check_zone(settings: AssignmentSettings, where: str) -> None:
    """Raise GradebookError for an unknown time zone, or a deadline without one."""
    try:
        zone = settings.zone
    except (ValueError, OSError, KeyError):
        raise GradebookError(
            f"{where}time_zone is {settings.time_zone!r}, which is not a time zone. To fix it, write one such "
            'as "Europe/Berlin" or "UTC".'
        ) from None
    if settings.deadline and zone is None:
        raise GradebookError(
            f"{where}deadline has no time zone. To fix it, write one such as  time_zone = "
            '"Europe/Berlin", or the offset:  deadline = 2026-11-30T23:59:00+01:00'
        )


WANTED: dict[object, str] = {
    Decimal: "a number that is not negative (at most 100 for a percentage)",
    int: "a whole number that is not negative",
    bool: "true or false",
    str: "text in quotation marks",
    Path: "a path in quotation marks",
    datetime: "a date with a time, such as 2026-11-30T23:59:00",
}
