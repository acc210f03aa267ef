"""Files for importing marks into Canvas, Moodle and nbgrader.

    read_marks         the marks of each student that `minigrad grade` wrote, with the feedback: points come from
                       gradebook.csv; questions and feedback come from each student's results.json
    write_marks        write the file for one of the three
    canvas_table       the gradebook CSV that Canvas exported, with the points of one assignment
    moodle_table       the grading worksheet that Moodle exported, with grades and comments
    nbgrader_table     the table that `nbgrader export` writes
    update_nbgrader    the same marks, written to nbgrader's database through nbgrader

An LMS identifies students by its own columns. So we copy those from the file that the LMS exported,
unchanged, and only fill in or add ours.
"""

import json
import os
import re
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from html import escape
from pathlib import Path
from typing import Any, Literal

from minigrad.grading.files import file_names
from minigrad.grading.gradebook.course import GradebookLine, gradebook_lines
from minigrad.grading.gradebook.csv_files import (
    GradebookError,
    TableRow,
    exact,
    points_text,
    write_table,
)
from minigrad.grading.gradebook.roster import Roster, Student, first_and_last, roster_rows

CsvRows = list[list[str]]
# Canvas's columns about a student
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Integration ID,Root Account,Section".split(",")
POSSIBLE = "Points Possible"
Rows = list[tuple[TableRow, Student | None]]  # of a file that an LMS exported, with their students


@dataclass(frozen=True)
class StudentMarks:
    """A student's marks for an assignment.

    questions    the tests of results.json
    comment      the feedback for the student
    """

    line: GradebookLine
    questions: list[dict[str, Any]]
    comment: str


@dataclass(frozen=True)
class AssignmentMarks:
    """The marks of all students. `name` is the assignment's name; `exercise`, that of its only notebook."""

    name: str
    exercise: str
    students: tuple[StudentMarks, ...]

    @property
    def of(self) -> Decimal:
        """The maximum number of points."""
        return self.students[0].line.of


def read_marks(folder: Path, name: str | None = None) -> AssignmentMarks:
    """Read the marks in a folder that grade wrote. Raises GradebookError if there are none.

    name    the assignment's name; None: the exercise's name, or the folder's if there are several
    """
    if not (folder / "gradebook.csv").is_file():
        raise GradebookError(
            f"There is no {folder}/gradebook.csv. To fix it, run  minigrad grade ."
        )
    lines = gradebook_lines(folder / "gradebook.csv")
    files = file_names([line.student.id for line in lines])
    students = tuple(_marks(line, folder, file) for line, file in zip(lines, files))
    try:
        exercise = str(json.loads((folder / "grades.json").read_text("utf-8"))["exercise"])
    except OSError:  # with several notebooks, each has its own grades.json
        exercise = folder.resolve().name
    return AssignmentMarks(name or exercise, exercise, students)


def _marks(line: GradebookLine, folder: Path, file: str) -> StudentMarks:
    path = folder / "gradescope" / file / "results.json"
    results = json.loads(path.read_text("utf-8"))
    feedback = [results["output"]]
    for test in results["tests"]:
        points, of = (points_text(exact(test[key])) for key in ("score", "max_score"))
        feedback.append(f"{test['name']}: {points} of {of}. {test['output']}")
    return StudentMarks(line, results["tests"], "\n\n".join(filter(None, feedback)))


Marked = dict[Student | None, StudentMarks]


def write_marks(
    to: Literal["canvas", "moodle", "nbgrader"],
    marks: AssignmentMarks,
    roster: Path | None,
    out: Path | None = None,
) -> tuple[Path, list[str]]:
    """Write the file; return its path, and the ids of students whom the LMS does not know.

    Raises GradebookError if the roster was not exported by the LMS, or if the LMS has another
    number of points for the assignment.
    """
    path = out or Path("gradebook.db" if to == "nbgrader" else f"{to}.csv")
    if to == "nbgrader":
        if path.suffix == ".csv":
            write_table(path, nbgrader_table(marks))
        else:
            with warnings.catch_warnings(action="ignore"):  # of nbgrader's own
                update_nbgrader(marks, path)
        return path, []
    if roster is None:
        raise GradebookError(
            f"{to.capitalize()} identifies students by its own columns. To fix it, name the file that it exported:  "
            f"minigrad export {to} --roster FILE"
        )
    rows = roster_rows(roster)
    if not any(student for _, student in rows):
        raise GradebookError(f"{roster} names no student. To fix it, export it again.")
    found = _matched(marks, rows)
    table = canvas_table if to == "canvas" else moodle_table
    write_table(path, table(marks, rows, found), edited=to == "moodle")
    known = found.values()
    return path, [mark.line.student.id for mark in marks.students if mark not in known]


def _matched(marks: AssignmentMarks, rows: Rows) -> Marked:
    """Map the students of these rows to their marks, matched by id, email or name."""
    roster = Roster(tuple(student for _, student in rows if student))
    found: Marked = {}
    for mark in sorted(marks.students, key=lambda m: roster.is_inexact(m.line.student.id)):
        student = mark.line.student
        names = map(roster.owner, (student.id, student.email, student.name))
        if owner := next(filter(None, names), None):
            found.setdefault(owner, mark)
    return found


def canvas_table(marks: AssignmentMarks, rows: Rows, found: Marked) -> CsvRows:
    """The gradebook for Canvas to import: the student columns, and the points of this assignment.

    If Canvas's file has a column for the assignment, its header, including Canvas's number, is kept;
    otherwise Canvas creates a new assignment. Columns of other assignments are left out, so that the
    import cannot change them.
    """
    names = rows[0][0].names
    if "ID" not in names:
        raise GradebookError(
            f"{rows[0][0].path} is not a Canvas gradebook: it has no column ID. To fix it, export one in Canvas "
            "(Grades, Export Entire Gradebook), and name it:  minigrad export canvas --roster FILE"
        )
    kept = [k for k, name in enumerate(names) if name in CANVAS]
    header = re.compile(rf"{re.escape(marks.name)}( \(\d+\))?")
    ours = [k for k, name in enumerate(names) if header.fullmatch(name)]
    table: CsvRows = []
    for row, student in rows:
        cells = list(row.cells.values())
        if student in found:
            points = points_text(found[student].line.points)
            table.append([*(cells[k] for k in kept), points])
        if cells[0].casefold() == POSSIBLE.casefold():
            _check_points(marks, row, [cells[k] for k in ours])
    column = names[ours[0]] if ours else marks.name
    possible = ["    " + POSSIBLE, *[""] * (len(kept) - 1), points_text(marks.of)]
    return [[*(names[k] for k in kept), column], possible, *table]


def moodle_table(marks: AssignmentMarks, rows: Rows, found: Marked) -> CsvRows:
    """The grading worksheet: Moodle's columns, with grade and feedback comments filled in.

    If the roster lacks these two columns, they are added, as Moodle's *Import* expects. Moodle shows a comment as
    HTML. In ";=", which escaping makes of "<=", a spreadsheet would see a formula.
    """
    names = list(rows[0][0].names)
    names += [name for name in ("Grade", "Feedback comments") if name not in names]
    table = [names]
    for row, student in rows:
        values = dict(zip(names, row.cells.values()))
        _check_points(marks, row, [values.get("Maximum Grade", "")])
        if mark := found.get(student):
            text = escape(mark.comment, quote=False)
            shown = text.replace(";", ";<wbr>").replace("\n", "<br>\n")
            values |= {"Grade": points_text(mark.line.points), "Feedback comments": shown}
            table.append([values[name] for name in names])
    return table


def _check_points(marks: AssignmentMarks, row: TableRow, possible: list[str]) -> None:
    """Raise GradebookError if the LMS has another number of points for the assignment."""
    for text in possible:
        with suppress(InvalidOperation):
            if Decimal(text.replace(",", ".")) != marks.of:
                raise row.wrong(
                    f"{marks.name} has {text} points in this file, but {points_text(marks.of)} here. To fix it, set "
                    f"{points_text(marks.of)} there and export it again, or change the weights here."
                )


def nbgrader_table(marks: AssignmentMarks) -> CsvRows:
    """The table that `nbgrader export` writes. The late penalty is already subtracted from the points."""
    columns = "assignment duedate timestamp student_id last_name first_name email raw_score"
    table = [[*columns.split(), "late_submission_penalty", "score", "max_score"]]
    for mark in marks.students:
        student, points = mark.line.student, points_text(mark.line.points)
        first, last = first_and_last(student.name)
        about = [student.id, last, first, student.email]
        table.append([marks.name, "", "", *about, points, "0", points, points_text(mark.line.of)])
    return table


def update_nbgrader(marks: AssignmentMarks, database: Path) -> None:
    """Write the marks to nbgrader's database as manual scores, which count there.

    Existing cells and students are kept. Raises GradebookError if nbgrader is not installed.
    """
    try:
        from nbgrader.api import Gradebook as Database
        from nbgrader.api import MissingEntry
    except ImportError:
        raise GradebookError(
            "nbgrader is not installed here. To fix it, run  pip install nbgrader , or name a CSV:  "
            "minigrad export nbgrader -o grades.csv"
        ) from None
    # nbgrader runs the command alembic, which is installed next to this Python but may not be on PATH
    here = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([here, os.environ.get("PATH", os.defpath)])
    with Database(f"sqlite:///{database.resolve()}") as db:
        db.update_or_create_assignment(marks.name)
        for question in marks.students[0].questions:
            notebook, cell = _cell(question["name"], marks)
            db.update_or_create_notebook(notebook, marks.name)
            about = {"max_score": question["max_score"], "cell_type": "code"}
            db.update_or_create_grade_cell(cell, notebook, marks.name, **about)
        for mark in marks.students:
            student = mark.line.student
            first, last = first_and_last(student.name)
            named = {"first_name": first, "last_name": last, "email": student.email}
            named = {k: v for k, v in named.items() if v}
            db.update_or_create_student(student.id, **named)
            db.update_or_create_submission(marks.name, student.id)
            for question in mark.questions:
                notebook, cell = _cell(question["name"], marks)
                try:
                    grade = db.find_grade(cell, notebook, marks.name, student.id)
                except MissingEntry:
                    raise GradebookError(
                        f"{database}: nbgrader has a submission by {student.id} without {cell}. To fix it, name "
                        "another database, or remove that submission there."
                    ) from None
                grade.manual_score, grade.needs_manual_grade = question["score"], False
        db.db.commit()


def _cell(question: str, marks: AssignmentMarks) -> tuple[str, str]:
    """The notebook and the cell of a question."""
    notebook, slash, cell = question.rpartition("/")
    return (notebook if slash else marks.exercise), cell
