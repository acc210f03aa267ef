"""An autograder for Gradescope: the package to upload, and the program that runs in it.

    make_package       the zip to upload: setup.sh, run_autograder, the bundles, the requirements
    grade_submission   grade the submission that Gradescope has placed in the container

Environment variables override the paths of Gradescope's container, for testing elsewhere.
"""

import json
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from minigrad.grading.documents import Grade
from minigrad.grading.files import write_json
from minigrad.grading.gradebook.book import Provided, columns_of, gradebook_of
from minigrad.grading.gradebook.csv_files import GradebookError
from minigrad.grading.gradebook.settings import AssignmentSettings, CourseSettings, QuestionSettings
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import find_bundles
from minigrad.grading.reports.tables import gradescope_results
from minigrad.grading.run.batch import Settings, record_one
from minigrad.grading.run.collect import Submission
from minigrad.grading.run.recorder import RecorderFailed
from minigrad.version import __version__

PARTS = Path(__file__).parent / "gradescope"
STUDENT = "the submission"  # Gradescope knows who the student is


def make_package(
    folders: Sequence[Path],
    out: Path | None,
    assignment: str | None,
    course: CourseSettings,
    isolation: str,
    wheel: Path | None,
) -> Path:
    """Write the zip and return its path. Raises GradebookError if there is nothing to grade.

    folders    what `release` wrote, for each notebook
    course     how questions count; deadlines are left to Gradescope
    wheel      a wheel of minigrad to include and install; None: install this version from PyPI
    """
    if not folders:
        raise GradebookError(
            "Gradescope needs the exercise, not the marks. To fix it, name what release wrote:  "
            "minigrad export gradescope FOLDER"
        )
    exercises = [find_bundles(folder) for folder in folders]
    name = assignment or exercises[0][0].name
    path, rules = out or Path(f"{name}-autograder.zip"), course.of(name)
    if not any(judge.questions for _, judge in exercises):
        raise GradebookError(
            "All questions of this exercise are marked by hand, so there is nothing for an autograder to do. "
            "Mark them in Gradescope."
        )
    columns_of(exercises, rules)  # raises for settings of unknown questions
    required = f"./{wheel.name}[grade]" if wheel else f"minigrad-jupyter[grade]=={__version__}"
    counts = {name: asdict(counting) for name, counting in rules.questions.items()}
    settings = {"isolation": isolation, "questions": counts}
    with ZipFile(path, "w", ZIP_DEFLATED) as package:
        for part in sorted(PARTS.iterdir()):
            about = ZipInfo(part.name)
            about.external_attr = (0o100644 if part.suffix == ".txt" else 0o100755) << 16
            package.writestr(about, part.read_bytes())
        package.writestr("requirements.txt", f"{required}\n")
        package.writestr("settings.json", json.dumps(settings, indent=1, default=str) + "\n")
        for recording, judged in exercises:
            for kind, bundle in (("recording", recording), ("judge", judged)):
                package.writestr(f"grading/{bundle.name}.{kind}.json", json.dumps(bundle.data))
        if wheel:
            package.write(wheel, wheel.name)
    return path


def grade_one(source: Path, submission: Path) -> dict[str, object]:
    """Grade the submission in this folder, and return the content of results.json.

    Raises NoSandbox or RecorderFailed if it could not be run, through no fault of the student.
    """
    settings = json.loads((source / "settings.json").read_text("utf-8"))
    counts = {
        name: QuestionSettings(Decimal(counting["weight"]), counting["all_or_nothing"])
        for name, counting in settings["questions"].items()
    }
    places = sorted((source / "grading").glob("*.recording.json"))
    exercises = [find_bundles(path) for path in places]
    names = {recording.name for recording, _ in exercises}
    runs: list[list[Grade]] = []
    for recording, judged in exercises:
        notebook = _notebook(submission, recording.name, names - {recording.name})
        answers = record_one(notebook, recording, Settings(isolation=settings["isolation"], jobs=1))
        if answers.get("lost"):
            raise RecorderFailed(answers["unreadable"])
        (grade,) = judge(judged, [answers])
        runs.append([{**grade, "student": STUDENT, "file": f"{recording.name}.ipynb"}])
    rules = AssignmentSettings(questions=counts)
    columns = [column for column in columns_of(exercises, rules) if not column.manual]
    book = gradebook_of("", runs, Provided(), columns)
    return gradescope_results(book.rows[0])


def _notebook(folder: Path, name: str, others: Collection[str]) -> Submission:
    """Find the notebook with this name in any subfolder, or the only one of no other exercise."""
    found = [p for p in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]
    found = [p for p in found if p.stem not in others and not p.is_symlink()]
    named = [p for p in found if p.stem == name] or found
    if len(named) == 1:
        return Submission(STUDENT, named[0])
    names = ", ".join(str(p.relative_to(folder)) for p in named[:4]) or "none"
    problem = f"one notebook {name}.ipynb is expected; found: {names}"
    return Submission(STUDENT, folder / f"{name}.ipynb", problem)


def grade_submission() -> None:
    """Grade the submission, and write the results atomically."""
    places = {"SOURCE": "source", "SUBMISSION": "submission", "RESULTS": "results/results.json"}
    source, submission, results = (
        Path(os.environ.get(f"AUTOGRADER_{key}", f"/autograder/{default}"))
        for key, default in places.items()
    )
    try:
        graded = grade_one(source, submission)
    except RuntimeError as error:  # sandbox, recorder or judge failed
        sys.exit(f"This machine could not grade the submission: {error}")
    write_json(results, graded)


if __name__ == "__main__":
    grade_submission()
