"""A course: each student's total over its assignments, in percent.

The scores come from the gradebook.csv that `minigrad grade` last wrote for each assignment, as percentages
of its points. The lowest may be dropped; the total is the weighted mean of the others.

    gradebook_lines    read an assignment's gradebook.csv
    course_of          compute the rows of a course
    write_course       write course.csv
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from minigrad.grading.gradebook import csv_files
from minigrad.grading.gradebook.roster import Student, read_roster
from minigrad.grading.gradebook.settings import CourseSettings

HUNDREDTH = Decimal("0.01")


@dataclass(frozen=True)
class CourseRow:
    """A student's row in a course.

    shares     assignment -> score in percent, for the assignments that have been graded
    dropped    the assignments dropped for this student
    total      weighted mean of the others, in percent; None if no assignment counts yet
    notes      for each assignment that needs confirmation, the reason
    """

    student: Student
    shares: Mapping[str, Decimal]
    dropped: tuple[str, ...] = ()
    total: Decimal | None = None
    notes: tuple[str, ...] = ()


def course_of(course: CourseSettings, default: Path) -> tuple[list[CourseRow], dict[str, Path]]:
    """Compute the rows of a course; also return the assignments not graded yet, with their missing files.

    default    the folder that contains the graded assignments, for those without a `folder` setting

    Ungraded assignments do not count. A student without a row in a graded assignment gets 0 for it. Raises
    GradebookError if the settings name no assignment, or if a gradebook is malformed.
    """
    if not course.assignments:
        raise csv_files.GradebookError(
            "The settings name no assignment. To fix it, write  [assignments.NAME]  for each of the course."
        )
    roster = read_roster(course.roster).students if course.roster else ()
    students = {student.id: student for student in roster}
    graded: dict[str, dict[str, GradebookLine]] = {}
    missing: dict[str, Path] = {}
    for name, assignment in course.assignments.items():
        path = (assignment.folder or default / name) / "gradebook.csv"
        if path.is_file():
            graded[name] = lines = {line.student.id: line for line in gradebook_lines(path)}
            students |= {i: line.student for i, line in lines.items() if i not in students}
        else:
            missing[name] = path
    weights = {name: course.assignments[name].weight for name in graded}
    rows = []
    for i, student in students.items():
        lines_of_one = {name: lines[i] for name, lines in graded.items() if i in lines}
        rows.append(_row(student, lines_of_one, weights, course.drop_lowest))
    return rows, missing


@dataclass(frozen=True)
class GradebookLine:
    """A line of gradebook.csv. `unsure` says why it needs confirmation; empty if it does not."""

    student: Student
    points: Decimal
    of: Decimal
    unsure: str


def gradebook_lines(path: Path) -> list[GradebookLine]:
    """Read the lines of the gradebook.csv that `minigrad grade` wrote."""
    columns = ("student", "points", "of", "name", "email", "section", "confirm", "note")
    needed = ("student", "points", "of")
    found = []
    for row in csv_files.read_table(path, dict.fromkeys(columns, ()), needed=needed, others=True):
        points, of = row.points("points"), row.points("of")
        if points is None or of is None:
            raise row.wrong("points, or of, is empty. To fix it, run  minigrad grade  again.")
        student = Student(row["student"], row["name"], row["email"], row["section"])
        unsure = row["confirm"] or "still to be marked" in row["note"]
        reason = row["note"] or row["confirm"]
        found.append(GradebookLine(student, points, of, reason if unsure else ""))
    return found


def _row(
    student: Student, lines: Mapping[str, GradebookLine], weights: Mapping[str, Decimal], drop: int
) -> CourseRow:
    """Compute a student's row. Among equal scores, the assignment with less weight is dropped first."""
    shares = dict.fromkeys(weights, Decimal(0))
    shares |= {name: 100 * line.points / line.of for name, line in lines.items() if line.of}
    counted = [name for name in shares if weights[name]]
    lowest = sorted(counted, key=lambda name: (shares[name], weights[name]))
    dropped = lowest[: max(0, min(drop, len(counted) - 1))]
    kept = [name for name in counted if name not in dropped]
    total = None
    if kept:
        earned = sum((shares[name] * weights[name] for name in kept), Decimal(0))
        total = _hundredths(earned / sum(weights[name] for name in kept))
    notes = tuple(f"{name}: {line.unsure}" for name, line in lines.items() if line.unsure)
    return CourseRow(student, shares, tuple(dropped), total, notes)


def _hundredths(share: Decimal) -> Decimal:
    return share.quantize(HUNDREDTH, ROUND_HALF_UP)


def write_course(rows: list[CourseRow], path: Path) -> Path:
    """Write a line for each student: the score of each assignment, the dropped ones, and the total."""
    names = list(rows[0].shares) if rows else []
    table = [["student", "total", *names, "dropped", "note", "name", "email", "section"]]
    for row in rows:
        student = row.student
        total = "" if row.total is None else csv_files.points_text(row.total)
        scores = [csv_files.points_text(_hundredths(row.shares[name])) for name in names]
        notes = [", ".join(row.dropped), "; ".join(row.notes)]
        who = [student.name, student.email, student.section]
        table.append([student.id, total, *scores, *notes, *who])
    return csv_files.write_table(path, table)
