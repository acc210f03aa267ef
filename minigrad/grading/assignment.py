"""An assignment of a class, from its submissions to its gradebook.

An assignment is one exercise, or several: then each has a folder of its own in OUT for its run, a student
hands in a folder with all notebooks, and the name of a question begins with that of its notebook.

    grade_assignment    read what people gave, grade every notebook, and put the gradebook together
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from minigrad.grading.gradebook.book import Gradebook, columns_of, gradebook_of, question_name
from minigrad.grading.gradebook.by_hand import code_answers, manual_answers, update_manual
from minigrad.grading.gradebook.csv_files import GradebookError
from minigrad.grading.gradebook.given import read_given
from minigrad.grading.gradebook.handed_in import HandedIn, StudentAnswer, handed_in
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.gradebook.similar import form_of
from minigrad.grading.release.bundles import Judge, Recording
from minigrad.grading.run.batch import Progress, Settings, grade_class

HEADING = re.compile(r"^#+ +(.+?)[ #]*$", re.MULTILINE)
EARLY = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Assignment:
    """What a class was asked, and how it counts.

    exercises    the bundles of each of its notebooks
    rules        what gradebook.toml says of it
    """

    name: str
    exercises: Sequence[tuple[Recording, Judge]]
    rules: AssignmentSettings = AssignmentSettings()

    @property
    def names(self) -> list[str]:
        """The names of its notebooks."""
        return [recording.name for recording, _ in self.exercises]


def grade_assignment(
    assignment: Assignment,
    submissions: Path,
    out: Path,
    settings: Settings | None = None,
    progress: Progress = lambda done, of, what: None,
) -> Gradebook:
    """The gradebook of a class. Everything that people gave is read first, so that a typo costs no run.

    Raises GradebookError for that, and what grade_class raises.
    """
    twice = [name for name in assignment.names if assignment.names.count(name) > 1]
    if twice:
        raise GradebookError(f"Two exercises of the assignment are called {twice[0]}.")
    columns = columns_of([judge for _, judge in assignment.exercises], assignment.rules)
    several = len(assignment.exercises)
    titles = {
        question_name(recording.name, question, several): title
        for recording, judge in assignment.exercises
        for question, title in titles_of(recording, judge).items()
    }
    columns = [replace(column, title=titles.get(column.id, "")) for column in columns]
    manual = assignment.rules.manual or out / "manual.csv"
    handed = _handed_in(assignment, submissions)
    given = read_given(assignment.rules, handed, [column.id for column in columns], manual)
    runs = []
    for recording, judge in assignment.exercises:
        folder = out / recording.name if len(assignment.exercises) > 1 else out
        place = _place(assignment, submissions, recording.name)
        others = {*assignment.names} - {recording.name}
        run = grade_class(place, recording, judge, folder, settings, progress)
        # who handed in another notebook only has nothing for this one, whatever is the same in both
        runs.append([grade for grade in run if Path(grade["file"]).stem not in others])
    if any(judge.manual for _, judge in assignment.exercises):
        of = {column.id: column.points for column in columns if column.manual}
        answers = {cell: a.text for cell, a in given.answers.items() if cell[1] in of}
        # what was marked in the meantime is read again
        given = replace(given, marks=update_manual(manual, answers, of))
    return gradebook_of(assignment.name, runs, given, columns)


def answers_in(content: bytes, recording: Recording, judge: Judge) -> dict[str, StudentAnswer]:
    """Question -> what a student wrote for it, in code or for a person to mark."""
    code = code_answers(content, recording)
    words = manual_answers(content, recording.cells, judge.manual)
    handed_out = {form_of(cell["source"]) for cell in recording.cells if cell["answer"]}
    found = {}
    for question, text in {**code, **words}.items():
        form = form_of(text)
        found[question] = StudentAnswer(text, "" if form in handed_out else form)
    return found


def titles_of(recording: Recording, judge: Judge) -> dict[str, str]:
    """Question -> the heading under which its answer stands in the students' notebook.

    A second question under a heading is called by the first line of its task.
    """
    places = {q.answers[0]: q.id for q in recording.questions if q.answers}
    places |= {q.cell: q.id for q in judge.manual}
    titles: dict[str, str] = {}
    title = ""
    for cell in recording.cells:
        if cell["id"] in places:
            titles[places[cell["id"]]] = title
        elif cell["kind"] == "markdown" and cell["source"].strip():
            if found := HEADING.findall(cell["source"]):
                title = found[-1]
            elif title in titles.values():
                first = cell["source"].strip().splitlines()[0].replace("`", "")
                title = textwrap.shorten(first, 60, placeholder=" ...")
    return titles


def _place(assignment: Assignment, submissions: Path, name: str) -> Path:
    """Where the submissions to a notebook are: all in one place, or each in a folder of its name."""
    several = len(assignment.names) > 1
    if several and all((submissions / one).is_dir() for one in assignment.names):
        return submissions / name
    return submissions


def _handed_in(assignment: Assignment, submissions: Path) -> list[HandedIn]:
    """Each submission, with the answers in all notebooks, and when the last of them came."""
    found: dict[str, HandedIn] = {}
    several = len(assignment.exercises)
    for recording, judge in assignment.exercises:
        for one in handed_in(
            _place(assignment, submissions, recording.name),
            recording.name,
            assignment.rules,
            partial(answers_in, recording=recording, judge=judge),
            others={*assignment.names} - {recording.name},
        ):
            answers = {question_name(recording.name, q, several): a for q, a in one.answers.items()}
            before = found.get(one.submission, replace(one, answers={}))
            last = max(before, one, key=lambda handed: handed.time or EARLY)
            found[one.submission] = replace(last, answers={**before.answers, **answers})
    return list(found.values())
