"""What `minigrad grade` has written of an assignment, as it is read again.

    read_marks    the marks of each student, with what the student reads about them

Points are those of gradebook.csv; questions and texts stand in the results of each student.
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
    """The points of a question, and how many there are."""

    question: str
    points: Decimal
    of: Decimal


@dataclass(frozen=True)
class StudentMarks:
    """What a student has in an assignment. `comment` is what the student reads about it."""

    line: GradebookLine
    questions: tuple[QuestionPoints, ...]
    comment: str


@dataclass(frozen=True)
class AssignmentMarks:
    """The marks of all students; `name` is the assignment's, and `exercise` that of its one notebook."""

    name: str
    exercise: str
    students: tuple[StudentMarks, ...]

    @property
    def of(self) -> Decimal:
        """The points that there are in all."""
        return self.students[0].line.of


def read_marks(folder: Path, name: str | None = None) -> AssignmentMarks:
    """Read what grade wrote into this folder. Raises GradebookError if it wrote nothing there.

    name    the assignment's; None: that of its exercise, or of the folder if there are several
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
    except OSError:  # of several notebooks, each has its own
        exercise = folder.resolve().name
    return AssignmentMarks(name or exercise, exercise, students)


def _marks(line: GradebookLine, folder: Path, file: str) -> StudentMarks:
    path = folder / "gradescope" / file / "results.json"
    results = json.loads(path.read_text("utf-8"))
    questions = tuple(
        QuestionPoints(test["name"], exact(test["score"]), exact(test["max_score"]))
        for test in results["tests"]
    )
    said = [
        f"{q.question}: {points_text(q.points)} of {points_text(q.of)}. {test['output']}"
        for q, test in zip(questions, results["tests"])
    ]
    return StudentMarks(line, questions, "\n\n".join(filter(None, (results["output"], *said))))
