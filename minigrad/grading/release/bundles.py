"""The two bundles that `release` writes in addition to the student's notebook.

    NAME.recording.json    for running submissions: given cells, calls, how inputs are drawn, and the
                           layout of the answer cells. It contains no solution and no expected value.
    NAME.judge.json        for judging answers: the author's notebook, points, tolerances

The recording bundle may be stored on the machine that runs students' code; the judge bundle should
not. The judge bundle contains the hash of its recording bundle, so that they cannot be mixed up.
"""

import glob
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from minigrad.grading.documents import Declaration
from minigrad.grading.files import digest, write_json
from minigrad.grading.release.check_cell import draw_input
from minigrad.grading.release.markers import ReleaseError
from minigrad.grading.release.questions import (
    GradedQuestion,
    ManualQuestion,
    declared,
    declared_manual,
    from_dict,
)
from minigrad.grading.release.student import (
    Notebook,
    is_answer,
    metadata_of,
    read_notebook,
    refuse_released,
    solution_lines,
    student_notebook,
)
from minigrad.grading.release.syntax import defined_names, squeezed

WORD = re.compile(r"\w+")
HEADING = re.compile(r"^#+ +(.+?)[ #]*$", re.MULTILINE)
RECORDING, JUDGE = "minigrad-recording-2", "minigrad-judge-1"


class BundleError(ReleaseError):
    """A file is not a bundle, or two bundles do not belong together."""


class BundleCell(TypedDict, total=False):
    """A cell of a bundle. In a judge bundle it has only an id and a source."""

    id: str
    kind: str
    source: str
    answer: bool
    grade_id: str | None
    names: list[str]


def label_of(cell: BundleCell) -> str:
    """What reports call a cell: the grade_id that its author chose, or else its id."""
    return cell.get("grade_id") or cell["id"]


def ids_of(*cells: BundleCell) -> set[str]:
    """The ids by which these cells are recognized in a submission."""
    return {i for cell in cells for i in (cell["id"], cell["grade_id"]) if i}


class BundleDocument(TypedDict):
    """The JSON document of a bundle. Only a judge bundle has `recording`, a hash."""

    format: str
    exercise: str
    questions: list[Declaration]
    manual: list[Declaration]
    cells: list[BundleCell]
    recording: NotRequired[str]


@dataclass(frozen=True)
class Bundle:
    """The cells and questions of an exercise. `data` is the JSON document."""

    data: BundleDocument

    @property
    def name(self) -> str:
        """The name of the exercise: the stem of the author's notebook and of both bundles' files."""
        return self.data["exercise"]

    @property
    def questions(self) -> list[GradedQuestion]:
        """The questions; in a recording bundle, without points and tolerances."""
        return [from_dict({"points": 0, **q}) for q in self.data["questions"]]

    @property
    def manual(self) -> list[ManualQuestion]:
        """The questions that a person marks; in a recording bundle, without points."""
        return [ManualQuestion(**{"points": 0, **q}) for q in self.data["manual"]]

    @property
    def cells(self) -> list[BundleCell]:
        """All cells of the student's notebook (recording), or the author's code cells (judge)."""
        return self.data["cells"]

    @property
    def sources(self) -> dict[str, str]:
        """Map cell ids to sources."""
        return {c["id"]: c["source"] for c in self.cells}

    @property
    def hash(self) -> str:
        """The SHA-256 of the document, independent of the file's formatting."""
        return digest(self.data)


class Recording(Bundle):
    """The bundle for running submissions: the student's notebook and the questions."""

    @property
    def engine(self) -> bool:
        """Does some question allow importing the engine?"""
        return any(q.engine for q in self.questions)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the questions may import, sorted, without duplicates."""
        return tuple(sorted({p for q in self.questions for p in q.packages}))


class Judge(Bundle):
    """The bundle for judging answers: the author's notebook, including the solutions."""

    def belongs_to(self, recording: Recording) -> None:
        """Raise BundleError unless this bundle contains the hash of that recording bundle."""
        if self.data["recording"] != recording.hash:
            raise BundleError(
                f"The judge bundle {self.name} does not belong to this recording bundle: they are from "
                "different releases. To fix it, release the exercise again."
            )


Bundles = tuple[Recording, Judge]


def titles_of(recording: Recording) -> dict[str, str]:
    """Map each question to the heading above its answer in the student's notebook.

    A second question under the same heading is titled with the first line of its task, if it has one.
    """
    # a question's own answer is the last one: those that it needs come before
    places = [(q.answers[-1], q.id) for q in recording.questions if q.answers]
    places += [(q.cell, q.id) for q in recording.manual]
    titles: dict[str, str] = {}
    title = heading = ""
    for cell in recording.cells:
        found = HEADING.findall(cell["source"]) if cell["kind"] == "markdown" else []
        if found:
            title = heading = found[-1]
        asked = [question for place, question in places if place == cell["id"]]
        for question in asked:
            titles[question], title = title, heading
        if not asked and cell["kind"] == "markdown" and cell["source"].strip() and not found:
            if title in titles.values():
                first = cell["source"].strip().splitlines()[0].replace("`", "")
                title = textwrap.shorten(first, 60, placeholder=" ...")
    return titles


def tasks_of(recording: Recording) -> dict[str, str]:
    """Map each question that a person marks to its task: that cell, or the text above the answer."""
    tasks, above = {}, ""
    for cell in recording.cells:
        text = cell["source"].strip() if cell["kind"] == "markdown" else ""
        for question in recording.manual:
            if question.cell == cell["id"]:
                tasks[question.id] = text if question.task else above
        above = "" if cell["answer"] else text or above
    return tasks


def make_bundles(author: str | Path) -> Bundles | None:
    """Make the bundles of an author's notebook; None if it declares no question.

    Raises a ReleaseError if a declaration is invalid, or if the recording bundle would contain a
    line of a solution.
    """
    author = Path(author)
    notebook = read_notebook(author)
    refuse_released(notebook, author.name)
    questions = declared(notebook, author.name)
    _refuse_undrawable(questions, author.name)
    manual = declared_manual(notebook, author.name)
    both = {q.id for q in questions} & {q.id for q in manual}
    if both:
        raise BundleError(f"{author.name}: two questions are called {min(both)}.")
    if not questions and not manual:
        return None
    student = student_notebook(notebook)
    document = {
        "format": RECORDING,
        "exercise": author.stem,
        "questions": [q.public() for q in questions],
        "manual": [{"id": q.id, "cell": q.cell, "task": q.task} for q in manual],
        "cells": [_public_cell(*both, questions) for both in zip(student.cells, notebook.cells)],
    }
    recording = Recording(json.loads(json.dumps(document)))
    text = squeezed(json.dumps(recording.data, ensure_ascii=False))
    for line, number in solution_lines(notebook):
        if json.dumps(squeezed(line), ensure_ascii=False)[1:-1] in text:
            raise BundleError(
                f"{author.name}: a line of the solution of cell {number} would be in the recording bundle:\n"
                f"    {line}\nTo fix it, remove it from the call or from the given cells."
            )
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    judge = {
        "format": JUDGE,
        "exercise": author.stem,
        "recording": recording.hash,
        "questions": [asdict(q) for q in questions],
        "manual": [asdict(q) for q in manual],
        "cells": [{"id": cell.id, "source": cell.source} for cell in code],
    }
    return recording, Judge(json.loads(json.dumps(judge)))


def write_bundles(recording: Recording, judge: Judge, folder: Path) -> tuple[Path, Path]:
    """Write both bundles; the judge bundle is readable by its owner only."""
    return (
        write_json(folder / f"{recording.name}.recording.json", recording.data),
        write_json(folder / f"{judge.name}.judge.json", judge.data, private=True),
    )


def read_judge(path: str | Path) -> Judge:
    """Read a judge bundle. Raises BundleError if the file is not one."""
    return Judge(_read(Path(path), JUDGE))


def find_bundles(path: str | Path) -> Bundles:
    """Find both bundles of an exercise, or make them from the author's notebook.

    path    a folder that `release` wrote, one of the two bundles, or the author's notebook

    Raises BundleError, saying what is there instead.
    """
    path = Path(path)
    if path.suffix == ".ipynb":
        return _made(path)
    return find_recording(path), read_judge(_path_of_bundles(path, "judge"))


def find_recording(path: str | Path) -> Recording:
    """Find only the recording bundle, in the same places; the judge bundle need not exist."""
    path = Path(path)
    if path.suffix == ".ipynb":
        return _made(path)[0]
    return Recording(_read(_path_of_bundles(path, "recording"), RECORDING))


def _made(author: Path) -> Bundles:
    made = make_bundles(author)
    if made is None:
        raise BundleError(
            f"{author.name} declares no question that can be graded. To fix it, give a graded cell a "
            'declaration in its metadata ("minigrad": {"question": ...}), or end it with  exercise.check().'
        )
    return made


def _path_of_bundles(path: Path, kind: str) -> Path:
    """The path of the bundle of this kind, in a folder or next to the other bundle."""
    if path.is_dir():
        found = sorted([*path.glob("*.recording.json"), *path.glob("grading/*.recording.json")])
        if len(found) != 1:
            names = ", ".join(p.name for p in found) or "none"
            raise BundleError(
                f"{path} must have one recording bundle, and it has: {names}. To fix it, name one of them, "
                f"or write one:  minigrad release AUTHOR.ipynb -o {path}"
            )
        (path,) = found
    stem = re.sub(r"(\.recording|\.judge)?\.json$", "", path.name)
    if not any(path.parent.glob(f"{glob.escape(stem)}.*.json")):
        what = f"{path} is no exercise" if path.exists() else f"There is no {path}"
        raise BundleError(
            f"{what}. To fix it, name the folder that  minigrad release  wrote, or the author's notebook."
        )
    return path.with_name(f"{stem}.{kind}.json")


def _read(path: Path, form: str) -> BundleDocument:
    try:
        data: BundleDocument = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise BundleError(f"{path} is not a bundle: it is not JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != form:
        raise BundleError(
            f"{path} is not a {form.split('-')[1]} bundle of this minigrad version. To fix it, release the exercise "
            "again:  minigrad release AUTHOR.ipynb -o FOLDER"
        )
    return data


def _refuse_undrawable(questions: Sequence[GradedQuestion], name: str) -> None:
    """Raise BundleError, naming the input, if one cannot be drawn as it is declared."""
    for question in questions:
        for n, case in enumerate(question.cases, 1):
            for given, spec in case.items():
                try:
                    draw_input(spec, "")
                except (TypeError, ValueError) as error:
                    raise BundleError(
                        f"{name}: the input {given} of case {n} of {question.id} cannot be drawn: {error}."
                    ) from None


def _public_cell(
    cell: Notebook, author: Notebook, questions: Sequence[GradedQuestion]
) -> BundleCell:
    names = defined_names(cell.source) if cell.cell_type == "code" else []
    if not names and is_answer(author):  # the whole cell is the solution: what does a check call?
        called = {n for q in questions if cell.id in q.answers for n in WORD.findall(q.call)}
        names = [name for name in defined_names(author.source) if name in called]
    return {
        "id": cell.id,
        "kind": cell.cell_type,
        "source": cell.source,
        "answer": is_answer(cell),
        "grade_id": metadata_of(cell, "nbgrader").get("grade_id"),
        "names": names,
    }
