"""The gradebook of an assignment: what the grader found, and what people add to it.

    gradebook_of    the gradebook, from the grades and from what people gave
    Gradebook       columns (questions) and rows (students); made anew in each run, from its sources

A row has a mark for each column. What was earned is multiplied by what lateness leaves of it; an
override comes last. All points are decimals, so that a sum is the sum of what is written.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from minigrad.grading.documents import Grade, QuestionGrade
from minigrad.grading.gradebook.csv_files import exact, rounded, written
from minigrad.grading.gradebook.given import Given
from minigrad.grading.gradebook.late import Lateness, lateness
from minigrad.grading.gradebook.roster import Student

NOTHING = "nothing was handed in"

MarkedBy = Literal["grader", "override", "nobody"]


@dataclass(frozen=True)
class Column:
    """A question of the assignment.

    id    its name in all our files
    of    the points that there are for it
    """

    id: str
    of: Decimal


@dataclass(frozen=True)
class Mark:
    """What a student has for a question.

    earned    before lateness
    points    what counts
    by        who gave it: the grader; or nobody, if nothing was handed in; an override takes its place
    said      what a person says about it: the reason of an override
    grade     what the grader found, in detail; None if it found nothing
    """

    column: Column
    earned: Decimal
    points: Decimal
    by: MarkedBy
    said: str = ""
    grade: QuestionGrade | None = None

    @property
    def told(self) -> str:
        """What people did, in words; empty if they did nothing."""
        if self.by == "override":
            before = f"the grader gave {written(self.earned)}" if self.grade else NOTHING
            return f"{written(self.points)} points by an override: {self.said} ({before})"
        return self.said


@dataclass(frozen=True)
class GradebookRow:
    """A student in the gradebook.

    marks      one for each column, in their order
    grades     what the grader said, for each notebook that was handed in; none: nothing was
    notes      what is to be said about it beside what the grades say
    confirm    should somebody look at it?
    """

    student: Student
    marks: tuple[Mark, ...]
    lateness: Lateness
    grades: tuple[Grade, ...]
    notes: tuple[str, ...]
    confirm: bool

    @property
    def points(self) -> Decimal:
        """What counts, in all."""
        return sum((mark.points for mark in self.marks), Decimal(0))

    @property
    def of(self) -> Decimal:
        """The points that there are."""
        return sum((mark.column.of for mark in self.marks), Decimal(0))

    @property
    def unreadable(self) -> str:
        """Why notebooks of it could not be read; empty if all could."""
        return "; ".join(grade["unreadable"] for grade in self.grades if grade["unreadable"])


@dataclass(frozen=True)
class Gradebook:
    """An assignment of a class.

    runs    the grades of each notebook of it, as the grader gave them
    """

    assignment: str
    columns: tuple[Column, ...]
    rows: tuple[GradebookRow, ...]
    runs: tuple[Sequence[Grade], ...]


def gradebook_of(
    assignment: str, runs: Sequence[Sequence[Grade]], given: Given | None = None
) -> Gradebook:
    """The gradebook: students in the order of the roster, or of their submissions' names.

    runs    for each notebook of the assignment, the grades of the class
    """
    return _Maker(assignment, runs, given or Given()).made()


Parts = tuple[Grade | None, ...]  # of one student, a grade for each notebook


class _Maker:
    """Puts a gradebook together.

    asked    for each column: the place of its notebook, and of the question in it
    """

    def __init__(self, assignment: str, runs: Sequence[Sequence[Grade]], given: Given) -> None:
        self.assignment, self.runs, self.given = assignment, runs, given
        self.asked: list[tuple[int, int]] = []
        self.columns: list[Column] = []
        for n, run in enumerate(runs):
            for k, question in enumerate(run[0]["questions"]):
                name = f"{run[0]['exercise']}/{question['id']}" if len(runs) > 1 else question["id"]
                self.asked.append((n, k))
                self.columns.append(Column(name, exact(question["of"])))

    def made(self) -> Gradebook:
        """The gradebook."""
        rows = [self.row(*one) for one in self.whose()]
        if self.given.roster is not None:
            there = {row.student.id for row in rows}
            missing = [s for s in self.given.roster.students if s.id not in there]
            rows += [self.row(s, tuple(None for _ in self.runs), NOTHING) for s in missing]
            place = {s.id: n for n, s in enumerate(self.given.roster.students)}
            rows.sort(key=lambda row: place.get(row.student.id, len(place)))
        return Gradebook(self.assignment, tuple(self.columns), tuple(rows), tuple(self.runs))

    def whose(self) -> list[tuple[Student, Parts, str]]:
        """Each student, what they handed in, and a note on whose it is."""
        parts: dict[tuple[str, int], list[Grade | None]] = {}
        for n, run in enumerate(self.runs):
            count: Counter[str] = Counter()
            for grade in run:
                count[grade["student"]] += 1
                key = grade["student"], count[grade["student"]]
                parts.setdefault(key, [None] * len(self.runs))[n] = grade
        found: list[tuple[Student, Parts, str]] = []
        taken: set[str] = set()
        for (name, _), grades in parts.items():
            student, note = self.given.owner(name, taken)
            taken.add(student.id)
            found.append((student, tuple(grades), note))
        return found

    def row(self, student: Student, parts: Parts, note: str) -> GradebookRow:
        """The row of a student."""
        grades = tuple(grade for grade in parts if grade is not None)
        late = Lateness()
        if grades:
            late = lateness(student.id, *self.given.came(student, grades), self.given.settings)
        marks = []
        for column, (n, k) in zip(self.columns, self.asked):
            grade = parts[n]
            mark = self.mark(column, grade and grade["questions"][k], late)
            if override := self.given.overrides.get((student.id, column.id)):
                mark = replace(mark, points=override.points, by="override", said=override.reason)
            marks.append(mark)
        confirm = any(grade["confirm"] for grade in grades) or "please confirm" in note
        notes = (note,) if note else ()
        return GradebookRow(student, tuple(marks), late, grades, notes, confirm)

    def mark(self, column: Column, grade: QuestionGrade | None, late: Lateness) -> Mark:
        """The mark for one question."""
        if grade is None:
            return Mark(column, Decimal(0), Decimal(0), "nobody")
        earned = exact(grade["points"])
        return Mark(column, earned, rounded(earned * late.share), "grader", grade=grade)
