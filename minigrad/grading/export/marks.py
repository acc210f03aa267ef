"""Read the marks that `minigrad grade` wrote for an assignment.

    read_marks    the marks of each student, with the feedback that the student gets

Points come from gradebook.csv; questions and feedback come from each student's results.json.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from minigrad.grading.gradebook.course import GradebookLine, gradebook_lines
from minigrad.grading.gradebook.csv_files import GradebookError, exact, points_text
from minigrad.grading.reports.document import file_names


@dataclass(frozen=True)
class QuestionPoints:
    """A student's points for a question, and the maximum."""

    question: str
    points: Decimal
    of: Decimal


@dataclass(frozen=True)
class StudentMarks:
    """A student's marks for an assignment. `comment` is the feedback for the student."""

    line: GradebookLine
    questions: tuple[QuestionPoints, ...]
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
            f"There is no gradebook.csv in {folder}. To fix it, run  minigrad grade  first, or name its OUT."
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
    questions = tuple(
        QuestionPoints(test["name"], exact(test["score"]), exact(test["max_score"]))
        for test in results["tests"]
    )
    feedback = [
        f"{q.question}: {points_text(q.points)} of {points_text(q.of)}. {test['output']}"
        for q, test in zip(questions, results["tests"])
    ]
    return StudentMarks(line, questions, "\n\n".join(filter(None, (results["output"], *feedback))))
