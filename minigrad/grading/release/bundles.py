"""The two bundles that `release` makes beside the student's notebook.

    NAME.recording.json    to run a submission: given cells, calls, how inputs are drawn, and what
                           an answer cell looks like. No solution and no expected value in it.
    NAME.judge.json        to judge what was recorded: the author's notebook, points, tolerances

The first may lie on the machine where students' code runs; the second should not. Each states
the hash of the other's content that it belongs to, so that they cannot be mixed up.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from minigrad.grading.documents import Declaration
from minigrad.grading.files import digest, write_json
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
    solution_lines,
    student_notebook,
)
from minigrad.grading.release.syntax import defined_names

RECORDING, JUDGE = "minigrad-recording-1", "minigrad-judge-1"


class BundleError(ReleaseError):
    """A file that is no bundle, or that does not belong to the other one."""


class BundleCell(TypedDict, total=False):
    """A cell of a bundle; that of a judge bundle has an id and a source only."""

    id: str
    kind: str
    source: str
    answer: bool
    grade_id: str | None
    names: list[str]


class BundleDocument(TypedDict):
    """What a bundle's file holds. That of a judge has its partner's hash, and what persons mark."""

    format: str
    exercise: str
    questions: list[Declaration]
    cells: list[BundleCell]
    recording: NotRequired[str]
    manual: NotRequired[list[Declaration]]


@dataclass(frozen=True)
class Bundle:
    """Cells and questions of an exercise. `data` is the JSON document itself."""

    data: BundleDocument

    @property
    def name(self) -> str:
        """The exercise: the stem of the author's notebook, and of both bundles' files."""
        return self.data["exercise"]

    @property
    def questions(self) -> list[GradedQuestion]:
        """The questions; a recording bundle has them without points and tolerances."""
        return [from_dict({"points": 0, **q}) for q in self.data["questions"]]

    @property
    def cells(self) -> list[BundleCell]:
        """All cells of the student's notebook; or the code cells of the author's."""
        return self.data["cells"]

    @property
    def sources(self) -> dict[str, str]:
        """Cell id -> source."""
        return {c["id"]: c["source"] for c in self.cells}

    @property
    def hash(self) -> str:
        """The SHA-256 of the document; a file with other formatting has the same."""
        return digest(self.data)


class Recording(Bundle):
    """What is needed to run a submission: the student's notebook, and what is asked."""

    @property
    def engine(self) -> bool:
        """May the engine be imported for some question?"""
        return any(q.engine for q in self.questions)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that some question may import, each once, sorted."""
        return tuple(sorted({p for q in self.questions for p in q.packages}))


class Judge(Bundle):
    """What is needed to judge what was recorded: the author's notebook, solutions included."""

    @property
    def manual(self) -> list[ManualQuestion]:
        """The questions that a person marks."""
        return [ManualQuestion(**q) for q in self.data.get("manual", [])]

    def belongs_to(self, recording: Recording) -> None:
        """Raise BundleError unless this bundle states the hash of that recording bundle."""
        if self.data["recording"] != recording.hash:
            raise BundleError(
                f"The judge bundle {self.name} does not belong to this recording bundle: one of them is of "
                "another release. To fix it, release the exercise again."
            )


def make_bundles(author: str | Path) -> tuple[Recording, Judge] | None:
    """The bundles of an author's notebook; None if no question is declared in it.

    Raises a ReleaseError if a declaration cannot be understood, or a line of a solution would
    be in the recording bundle.
    """
    author = Path(author)
    notebook = read_notebook(author)
    questions = declared(notebook, author.name)
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
        "cells": [_public_cell(cell) for cell in student.cells],
    }
    recording = Recording(json.loads(json.dumps(document)))
    squeezed = "".join(json.dumps(recording.data, ensure_ascii=False).split())
    for line, number in solution_lines(notebook):
        if json.dumps("".join(line.split()), ensure_ascii=False)[1:-1] in squeezed:
            raise BundleError(
                f"{author.name}: a line of the solution of cell {number} would be in the recording bundle:\n"
                f"    {line}\nTo fix it, take it out of the call or of the given cells."
            )
    judge = {
        "format": JUDGE,
        "exercise": author.stem,
        "recording": recording.hash,
        "questions": [asdict(q) for q in questions],
        "manual": [asdict(q) for q in manual],
        "cells": [
            {"id": cell.id, "source": cell.source}
            for cell in notebook.cells
            if cell.cell_type == "code"
        ],
    }
    return recording, Judge(json.loads(json.dumps(judge)))


def write_bundles(recording: Recording, judge: Judge, folder: Path) -> tuple[Path, Path]:
    """Write both; the judge bundle so that only its owner can read it."""
    return (
        write_json(folder / f"{recording.name}.recording.json", recording.data),
        write_json(folder / f"{judge.name}.judge.json", judge.data, private=True),
    )


def read_judge(path: str | Path) -> Judge:
    """Read a judge bundle. Raises BundleError for another file."""
    return Judge(_read(Path(path), JUDGE))


def find_bundles(place: str | Path) -> tuple[Recording, Judge]:
    """The bundles of an exercise: in a folder that `release` wrote, by a path, or made anew.

    place    a folder, one of the two bundles, or the author's notebook

    Raises BundleError, saying what is there instead.
    """
    place = Path(place)
    if place.suffix == ".ipynb":
        return _made(place)
    return find_recording(place), read_judge(_path_of_bundles(place, "judge"))


def find_recording(place: str | Path) -> Recording:
    """The recording bundle alone, in the same places; the judge bundle need not be there."""
    place = Path(place)
    if place.suffix == ".ipynb":
        return _made(place)[0]
    return Recording(_read(_path_of_bundles(place, "recording"), RECORDING))


def _made(author: Path) -> tuple[Recording, Judge]:
    made = make_bundles(author)
    if made is None:
        raise BundleError(
            f"{author.name} declares no question that can be graded. To fix it, give a graded cell a "
            'declaration in its metadata ("minigrad": {"question": ...}), or end it with  exercise.check().'
        )
    return made


def _path_of_bundles(place: Path, kind: str) -> Path:
    """The path of the bundle of this kind, beside the one that is named or found in a folder."""
    if place.is_dir():
        found = sorted([*place.glob("*.recording.json"), *place.glob("grading/*.recording.json")])
        if len(found) != 1:
            names = ", ".join(p.name for p in found) or "none"
            raise BundleError(
                f"{place} must have one recording bundle, and it has: {names}. To fix it, name one of them, "
                f"or write one:  minigrad release AUTHOR.ipynb -o {place}"
            )
        (place,) = found
    if not place.exists() and not place.with_name(f"{place.name}.{kind}.json").exists():
        raise BundleError(
            f"There is no {place}. To fix it, name the folder that  minigrad release  wrote, or the author's notebook."
        )
    stem = place.name.removesuffix(".json").removesuffix(".recording").removesuffix(".judge")
    return place.with_name(f"{stem}.{kind}.json")


def _read(path: Path, form: str) -> BundleDocument:
    try:
        data: BundleDocument = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise BundleError(f"{path} is not a bundle: it is not JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != form:
        raise BundleError(
            f"{path} is not a {form.split('-')[1]} bundle of this version of minigrad."
        )
    return data


def _public_cell(cell: Notebook) -> BundleCell:
    return {
        "id": cell.id,
        "kind": cell.cell_type,
        "source": cell.source,
        "answer": is_answer(cell),
        "grade_id": metadata_of(cell, "nbgrader").get("grade_id"),
        "names": defined_names(cell.source) if cell.cell_type == "code" else [],
    }
