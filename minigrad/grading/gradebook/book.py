"""The gradebook of an assignment: automatic grades combined with manual marks and overrides.

    read_provided   reads the instructor's files, before any code runs, to find typos early
    gradebook_of    builds the gradebook from the grades and these files
    Gradebook       columns (questions) and rows (students), rebuilt in each run

A row has a mark for each column. The late penalty is applied to the points earned, and an override
replaces the result. Points are Decimals, so that totals agree exactly with the printed values.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Literal

from minigrad.grading.documents import Grade, QuestionGrade, WrittenAnswer
from minigrad.grading.files import free_name
from minigrad.grading.gradebook import by_hand, csv_files
from minigrad.grading.gradebook.handed_in import HandedIn, Lateness, lateness, read_times
from minigrad.grading.gradebook.roster import (
    UNKNOWN_STUDENT,
    Roster,
    Student,
    owners_of,
    read_roster,
    roster_of,
    student_name,
)
from minigrad.grading.gradebook.settings import AssignmentSettings, QuestionSettings
from minigrad.grading.release.bundles import Bundles, tasks_of, titles_of
from minigrad.grading.run.collect import NO_NOTEBOOK

NOTHING_HANDED_IN = "nothing was handed in"

MarkedBy = Literal["grader", "person", "override", "nobody"]


@dataclass(frozen=True)
class QuestionColumn:
    """A question of the assignment.

    id        its name in all our files
    points    the points declared in the notebook
    manual    does a person mark it?
    counts    its weight, and whether partial credit is given
    title     the heading above it in the notebook
    task      what is asked, if a person marks it
    """

    id: str
    points: Decimal
    manual: bool = False
    counts: QuestionSettings = QuestionSettings()
    title: str = ""
    task: str = ""

    @property
    def of(self) -> Decimal:
        """The maximum number of points, multiplied by the weight."""
        return csv_files.rounded(self.points * self.counts.weight)

    def counted(self, points: Decimal) -> Decimal:
        """Convert declared points to points that count: apply all-or-nothing and the weight."""
        if self.counts.all_or_nothing and points < self.points:
            return Decimal(0)
        return csv_files.rounded(points * self.counts.weight)


def columns_of(exercises: Sequence[Bundles], settings: AssignmentSettings) -> list[QuestionColumn]:
    """The columns of an assignment: for each notebook, its automatic and then its manual questions.

    Raises GradebookError if the settings name an unknown question.
    """
    found = []
    for recording, judge in exercises:
        titles, tasks = titles_of(recording), tasks_of(recording)
        questions = [(q.id, q.points, False) for q in judge.questions]
        questions += [(q.id, q.points, True) for q in judge.manual]
        for question, points, manual in questions:
            name = question_name(judge.name, question, len(exercises))
            counts = settings.questions.get(name, QuestionSettings())
            told = titles.get(question, ""), tasks.get(question, "")
            found.append(QuestionColumn(name, csv_files.exact(points), manual, counts, *told))
    names = [column.id for column in found]
    for name in settings.questions:
        if name not in names:
            raise csv_files.GradebookError(
                f"The settings name a question {name!r}, and there is none.{csv_files.nearest(name, names)}"
            )
    return found


def question_name(exercise: str, question: str, notebooks: int) -> str:
    """The id of a question's column, prefixed with the notebook's name if there are several."""
    return f"{exercise}/{question}" if notebooks > 1 else question


@dataclass(frozen=True)
class Mark:
    """A student's mark for a question.

    earned    points with the question's weight, before the late penalty
    points    points that count
    by        who gave it: the grader, a person, an override, or nobody
    comment   a person's comment, or the reason of an override
    open      is it still to be marked? Then it has 0 points
    confirm   did the answer change after a person marked it?
    grade     the grader's result in detail; None for a question that it did not grade
    answer    the student's answer
    alike     other students with an equal answer, for the teacher only; see run/written.py
    """

    column: QuestionColumn
    earned: Decimal
    points: Decimal
    by: MarkedBy
    comment: str = ""
    open: bool = False
    confirm: bool = False
    grade: QuestionGrade | None = None
    answer: str = ""
    alike: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """A note for the report on manual marks and overrides; empty if there are none."""
        if self.by == "override":
            points, before = csv_files.points_text(self.points), csv_files.points_text(self.earned)
            return f"{points} points by an override: {self.comment} (before: {before})"
        if self.open:
            return "still to be marked"
        notes = (self.comment, by_hand.CHANGED if self.confirm else "")
        return "; ".join(filter(None, notes))


@dataclass(frozen=True)
class GradebookRow:
    """A student's row in the gradebook.

    marks      one for each column, in the same order
    grades     the grader's results for the notebooks that were handed in
    notes      remarks in addition to those in the grades
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
        """The total of the points that count."""
        return sum((mark.points for mark in self.marks), Decimal(0))

    @property
    def of(self) -> Decimal:
        """The maximum number of points."""
        return sum((mark.column.of for mark in self.marks), Decimal(0))

    @property
    def open(self) -> int:
        """The number of answers that are still to be marked by a person."""
        return sum(mark.open for mark in self.marks)

    @property
    def unreadable(self) -> str:
        """Why some notebooks could not be read; empty if all could."""
        unread = [(g["exercise"], g["unreadable"]) for g in self.grades if g["unreadable"]]
        return "; ".join(f"{name}: {why}" if len(self.grades) > 1 else why for name, why in unread)


@dataclass(frozen=True)
class Gradebook:
    """The gradebook of an assignment.

    runs    for each notebook, the grader's results
    gone    the number of marks that a person gave for an answer that does not exist
    idle    students who have an extension, and handed in nothing: perhaps a name is misspelled
    strays  files that are left out: they are no notebooks, and match nobody on the roster, or a student with another
    """

    assignment: str
    columns: tuple[QuestionColumn, ...]
    rows: tuple[GradebookRow, ...]
    runs: tuple[Sequence[Grade], ...]
    gone: int = 0
    idle: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provided:
    """What the instructor provides for an assignment, and facts about the submissions.

    roster       None: there is no roster; the students are those who handed in something
    times        student id -> when it was handed in, according to the CSV of times
    handed       submission -> when it was handed in, if that is known
    owners       submission -> its student, and a note if the owner is uncertain
    overrides    points that replace a mark
    marks        the manual marks, including those still to be given
    written      submission -> question -> what the student wrote; known after the run
    """

    settings: AssignmentSettings = AssignmentSettings()
    roster: Roster | None = None
    times: dict[str, HandedIn] = field(default_factory=dict)
    handed: dict[str, HandedIn] = field(default_factory=dict)
    owners: dict[str, tuple[Student, str]] = field(default_factory=dict)
    overrides: dict[by_hand.GradebookCell, by_hand.Override] = field(default_factory=dict)
    marks: Mapping[by_hand.GradebookCell, by_hand.ManualMark] = field(default_factory=dict)
    written: Mapping[str, Mapping[str, WrittenAnswer]] = field(default_factory=dict)

    @cached_property
    def answers(self) -> dict[by_hand.GradebookCell, WrittenAnswer]:
        """The students' answers, by student and question."""
        return {
            (self.owners[submission][0].id, question): answer
            for submission, answers in self.written.items()
            for question, answer in answers.items()
        }

    def last_of(self, student: Student, grades: Sequence[Grade]) -> HandedIn:
        """When a student handed in the last of these, or one of which that is unknown."""
        if student.id in self.times:
            return self.times[student.id]
        handed = [self.handed[g["student"]] for g in grades if g["student"] in self.handed]
        nothing = HandedIn(student.id, None, "its time is unknown")
        # an unknown time comes last
        return max(
            handed, key=lambda h: h.time.timestamp() if h.time else math.inf, default=nothing
        )


def read_provided(
    settings: AssignmentSettings,
    handed: Sequence[HandedIn],
    questions: Sequence[str],
    manual: Path | None = None,
) -> Provided:
    """Read all files that the settings name. Raises GradebookError if one is malformed.

    questions    the question ids of the assignment
    manual       the CSV of manual marks; it need not exist yet
    """
    roster = read_roster(settings.roster) if settings.roster else None
    everybody = roster or roster_of([student_name(entry.submission) for entry in handed])
    extensions = {}
    for name, extension in settings.extensions.items():
        student = roster.named(name, "the settings, extensions") if roster else everybody.find(name)
        extensions[student.id if student else name] = extension
    settings = replace(settings, extensions=extensions)
    return Provided(
        settings,
        roster,
        read_times(settings, everybody),
        {entry.submission: entry for entry in handed},
        owners_of(
            [entry.submission for entry in handed],
            roster,
            {entry.submission for entry in handed if not entry.notebook},
        ),
        by_hand.read_overrides(settings.overrides, everybody, questions),
        by_hand.read_manual(manual) if manual else {},
    )


def gradebook_of(
    assignment: str,
    runs: Sequence[Sequence[Grade]],
    provided: Provided | None = None,
    columns: Sequence[QuestionColumn] | None = None,
) -> Gradebook:
    """Build the gradebook, with students in the order of the roster or of their submissions' names.

    runs       for each notebook of the assignment, the grades of the class
    columns    None: the questions that occur in the grades
    """
    if columns is None:
        columns = []
        for first in (run[0] for run in runs if run):
            for question in first["questions"]:
                name = question_name(first["exercise"], question["id"], len(runs))
                columns.append(QuestionColumn(name, csv_files.exact(question["of"])))
    return _Builder(columns, runs, provided or Provided()).build(assignment)


@dataclass(frozen=True)
class _Builder:
    """Builds a gradebook."""

    columns: Sequence[QuestionColumn]
    runs: Sequence[Sequence[Grade]]
    provided: Provided

    @cached_property
    def alike(self) -> Mapping[by_hand.GradebookCell, list[str]]:
        """For each answer, the other students with an equal one."""
        return equal_ones((*cell, answer["form"]) for cell, answer in self.provided.answers.items())

    def build(self, assignment: str) -> Gradebook:
        """Build all rows; students of the roster who handed in nothing get a row, too."""
        strays = strays_in(self.runs, self.provided)
        rows = [self.row(*one) for one in self.grades_by_student() if one[0].id not in strays]
        listed = {row.student.id for row in rows}
        idle = tuple([name for name in self.provided.settings.extensions if name not in listed])
        if self.provided.roster is not None:
            missing = [s for s in self.provided.roster.students if s.id not in listed]
            rows += [self.row(s, (), NOTHING_HANDED_IN) for s in missing]
            order = {s.id: n for n, s in enumerate(self.provided.roster.students)}
            rows.sort(key=lambda row: order.get(row.student.id, len(order)))
        gone = sum(mark.note == by_hand.GONE for mark in self.provided.marks.values())
        columns, runs = tuple(self.columns), tuple(self.runs)
        return Gradebook(assignment, columns, tuple(rows), runs, gone, idle, strays)

    def grades_by_student(self) -> Iterator[tuple[Student, tuple[Grade, ...], str]]:
        """Yield each student with their grades, and a note if the owner is uncertain."""
        grades: dict[str, list[Grade]] = {}
        for run in self.runs:
            taken: set[str] = set()
            for grade in run:
                name = free_name(grade["student"], taken.__contains__)
                taken.add(name)
                grades.setdefault(name, []).append(grade)
        owners = owners_of(list(grades), self.provided.roster) | self.provided.owners
        for name, of_one in grades.items():
            student, note = owners[name]
            yield student, tuple(of_one), note

    def row(self, student: Student, grades: tuple[Grade, ...], note: str) -> GradebookRow:
        """Build the row of a student."""
        late = Lateness()
        if grades:
            handed = self.provided.last_of(student, grades)
            late = lateness(student.id, handed, self.provided.settings)
        confirmed = self.provided.overrides.get((student.id, ""))
        if confirmed:
            grades = tuple(_confirmed(grade) for grade in grades)
        graded_questions = {
            question_name(grade["exercise"], question["id"], len(self.runs)): question
            for grade in grades
            for question in grade["questions"]
        }
        marks = []
        for column in self.columns:
            cell = student.id, column.id
            mark = self.mark(column, cell, graded_questions.get(column.id), late)
            if answer := self.provided.answers.get(cell):
                alike = tuple(self.alike.get(cell, ()))
                mark = replace(mark, answer=answer["text"], alike=alike)
            override = self.provided.overrides.get(cell)
            if override and override.points is not None:
                points, reason = override.points, override.reason
                mark = replace(mark, points=points, by="override", comment=reason, open=False)
            marks.append(mark)
        confirm = any(grade["confirm"] for grade in grades) or any(mark.confirm for mark in marks)
        confirm = confirm or (not confirmed and "please confirm" in note)
        handed_in = {grade["exercise"] for grade in grades}
        absent = {run[0]["exercise"] for run in self.runs if run and grades} - handed_in
        notes = [note] if note else []
        notes += [f"confirmed: {confirmed.reason}"] if confirmed else []
        notes += [f"{name}: {NOTHING_HANDED_IN}" for name in sorted(absent)]
        return GradebookRow(student, tuple(marks), late, grades, tuple(notes), confirm)

    def mark(
        self,
        column: QuestionColumn,
        cell: by_hand.GradebookCell,
        grade: QuestionGrade | None,
        late: Lateness,
    ) -> Mark:
        """Build the mark for one question, before any override."""
        if grade is not None:
            earned = column.counted(csv_files.exact(grade["points"]))
            return Mark(
                column, earned, csv_files.rounded(earned * late.share), "grader", grade=grade
            )
        marked = self.provided.marks.get(cell)
        if marked is None:
            return Mark(column, Decimal(0), Decimal(0), "nobody")
        if marked.points is None:
            open_ = marked.answer != ""
            return Mark(column, Decimal(0), Decimal(0), "nobody", marked.comment, open_)
        earned, changed = column.counted(marked.points), marked.note == by_hand.CHANGED
        points = csv_files.rounded(earned * late.share)
        return Mark(column, earned, points, "person", marked.comment, confirm=changed)


def _confirmed(grade: Grade) -> Grade:
    """The grade, without the request that somebody confirm some of its answers."""
    questions: list[QuestionGrade] = [{**q, "confirm": False} for q in grade["questions"]]
    return {**grade, "confirm": False, "questions": questions}


def equal_ones(
    answers: Iterable[tuple[str, str, str]],
) -> dict[by_hand.GradebookCell, list[str]]:
    """Map (student, question) to the other students with an equal answer.

    answers    (student, question, form of the answer)
    """
    alike: dict[by_hand.GradebookCell, list[str]] = {}
    for student, question, form in answers:
        if form:
            alike.setdefault((question, form), []).append(student)
    return {
        (student, question): [other for other in students if other != student]
        for (question, _), students in alike.items()
        for student in students
        if len(students) > 1
    }


def strays_in(runs: Sequence[Sequence[Grade]], provided: Provided) -> tuple[str, ...]:
    """The files beside the submissions that are not a student's, such as instructions.txt."""
    found = []
    for student, grades, note in _Builder((), runs, provided).grades_by_student():
        kinds = [(grade["unreadable"] or "").startswith(NO_NOTEBOOK) for grade in grades]
        found += [student.id] if note == UNKNOWN_STUDENT and all(kinds) else []
    return tuple(found)
