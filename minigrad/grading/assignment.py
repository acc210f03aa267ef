"""Grade an assignment: from the submissions of a class to its gradebook.

An assignment has one exercise or several. With several, a student hands in a folder with all notebooks,
each exercise's run gets its own folder in OUT, and question names are prefixed with the notebook's name.

    grade_assignment    read the instructor's files, grade every notebook, and build the gradebook
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from minigrad.grading.documents import WrittenAnswer
from minigrad.grading.files import write_json
from minigrad.grading.gradebook import book
from minigrad.grading.gradebook.by_hand import TASKS, update_manual
from minigrad.grading.gradebook.csv_files import GradebookError
from minigrad.grading.gradebook.handed_in import HandedIn, handed_in
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.release.bundles import Bundles
from minigrad.grading.run.batch import Progress, Settings, grade_class, read_written
from minigrad.grading.run.written import nothing_written

EARLY = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Assignment:
    """The exercises of an assignment, and how they count.

    exercises    the recording and judge bundle of each notebook
    rules        its settings in gradebook.toml
    """

    name: str
    exercises: Sequence[Bundles]
    rules: AssignmentSettings = AssignmentSettings()

    @property
    def names(self) -> list[str]:
        """The names of the notebooks."""
        return [recording.name for recording, _ in self.exercises]


def grade_assignment(
    assignment: Assignment,
    submissions: Path,
    out: Path,
    settings: Settings | None = None,
    progress: Progress = lambda done, of, what: None,
) -> book.Gradebook:
    """Grade a class, and return its gradebook.

    The instructor's files are read first, so that a typo is found before anything runs. Raises
    GradebookError for a typo there, and whatever grade_class raises.
    """
    twice = [name for name in assignment.names if assignment.names.count(name) > 1]
    if twice:
        raise GradebookError(f"Two exercises of the assignment are called {twice[0]}.")
    columns = book.columns_of(assignment.exercises, assignment.rules)
    several = len(assignment.exercises)
    manual = assignment.rules.manual or out / "manual.csv"
    handed = _handed_in(assignment, submissions)
    provided = book.read_provided(assignment.rules, handed, [c.id for c in columns], manual)
    runs = []
    written: dict[str, dict[str, WrittenAnswer]] = {one.submission: {} for one in handed}
    for recording, judge in assignment.exercises:
        folder = out / recording.name if several > 1 else out
        source = _submissions_of(assignment, submissions, recording.name)
        others = {*assignment.names} - {recording.name}
        run = grade_class(source, recording, judge, folder, settings or Settings(), progress)
        # a student who handed in only another notebook gets no grade here, even if cells match
        runs.append([grade for grade in run if Path(grade["file"]).stem not in others])
        for one, answers in read_written(folder):
            if one.student not in written:
                continue  # handed in during the run: the next one reads it
            if Path(one.file).stem in others:
                answers = nothing_written(recording)
            for question, answer in answers.items():
                written[one.student][book.question_name(recording.name, question, several)] = answer
    provided = replace(provided, written=written)
    of = {column.id: column.points for column in columns if column.manual}
    if of:
        strays = book.strays_in(runs, provided)
        cells = provided.answers.items()
        texts = {c: a["text"] for c, a in cells if c[1] in of and c[0] not in strays}
        tasks = {column.id: column.task for column in columns if column.manual}
        write_json(out / TASKS, tasks, private=True)
        # read the marks again: somebody may have marked answers during the run
        provided = replace(provided, marks=update_manual(manual, texts, of))
    return book.gradebook_of(assignment.name, runs, provided, columns)


def _submissions_of(assignment: Assignment, submissions: Path, name: str) -> Path:
    """Find the submissions of a notebook: in a folder with its name, or together with the others."""
    several = len(assignment.names) > 1
    if several and all((submissions / exercise).is_dir() for exercise in assignment.names):
        return submissions / name
    return submissions


def _handed_in(assignment: Assignment, submissions: Path) -> list[HandedIn]:
    """List the submissions, each with the time of its latest notebook."""
    found: dict[str, HandedIn] = {}
    for name in assignment.names:
        source = _submissions_of(assignment, submissions, name)
        for entry in handed_in(source, name, assignment.rules):
            before = found.get(entry.submission, entry)
            found[entry.submission] = max(before, entry, key=lambda handed: handed.time or EARLY)
    return list(found.values())
