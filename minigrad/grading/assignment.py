"""An assignment of a class, from its submissions to its gradebook.

An assignment is one exercise, or several: then each has a folder of its own in OUT for its run, a student
hands in a folder with all notebooks, and the name of a question begins with that of its notebook.

    grade_assignment    read what people gave, grade every notebook, and put the gradebook together
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from minigrad.grading.gradebook.book import Gradebook, columns_of, gradebook_of, question_name
from minigrad.grading.gradebook.by_hand import manual_answers, update_manual
from minigrad.grading.gradebook.csv_files import GradebookError
from minigrad.grading.gradebook.given import read_given
from minigrad.grading.gradebook.handed_in import HandedIn, handed_in
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.release.bundles import Judge, Recording
from minigrad.grading.run.batch import Progress, Settings, grade_class

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
        of = {column.id: column.points for column in columns}
        # what was marked in the meantime is read again
        given = replace(given, marks=update_manual(manual, given.answers, of))
    return gradebook_of(assignment.name, runs, given, columns)


def _place(assignment: Assignment, submissions: Path, name: str) -> Path:
    """Where the submissions to a notebook are: all in one place, or each in a folder of its name."""
    several = len(assignment.names) > 1
    if several and all((submissions / one).is_dir() for one in assignment.names):
        return submissions / name
    return submissions


def _handed_in(assignment: Assignment, submissions: Path) -> list[HandedIn]:
    """Each submission, with what of all notebooks a person marks, and when the last of them came."""
    found: dict[str, HandedIn] = {}
    several = len(assignment.exercises)
    for recording, judge in assignment.exercises:
        read = partial(manual_answers, layout=recording.cells, questions=judge.manual)
        for one in handed_in(
            _place(assignment, submissions, recording.name),
            recording.name,
            assignment.rules,
            read if judge.manual else None,
            others={*assignment.names} - {recording.name},
        ):
            answers = {question_name(recording.name, q, several): a for q, a in one.answers.items()}
            before = found.get(one.submission, replace(one, answers={}))
            last = max(before, one, key=lambda handed: handed.time or EARLY)
            found[one.submission] = replace(last, answers={**before.answers, **answers})
    return list(found.values())
