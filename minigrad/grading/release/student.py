"""Make the student's notebook from the author's.

The author maintains one notebook, which includes the solution:

    def double(x):
        ### BEGIN SOLUTION
        return 2 * x
        ### END SOLUTION

`release` writes the student's notebook: a stub replaces the lines between the markers, outputs
are cleared, and hidden tests are removed. The markers and the cell metadata are nbgrader's, so
notebooks can be moved between the two in either direction. otter's markers work, too (markers.py).

    student_notebook            the transformation itself, from notebook to notebook
    checked_student_notebook    the same with checks: markers and ids before it, and afterwards
                                that no line of the solution remains
    release                     from file to file

A released notebook is generated, so do not edit it by hand. gate.py runs the solution, which must
pass its checks, and the stub, which must fail them.

This module, markers.py, syntax.py and notebook_format.py depend only on nbformat, not even on NumPy,
because minigrad's wheel is built with them.

Source: nbgrader 0.9, preprocessors ClearOutput and LockCells.
"""

import base64
import copy
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from minigrad.grading.release import markers
from minigrad.grading.release.syntax import squeezed
from minigrad.utils.notebook_format import nbformat

COUNTS = (
    "*What is graded: your answer cells. You may add cells of your own. The imports, functions, classes and "
    "constants in them that your answers use are graded with the answers; the rest is not run. Names from the "
    "given cells keep their meaning. Graded code can use {packages}, Python's standard library and, where the task "
    "needs it, minigrad. Keep what needs other packages, such as a plot or a progress bar, out of the functions that "
    "are graded.*"
)

COUNTS_ID = "what-counts"

Notebook = Any  # nbformat's NotebookNode: a dict with attribute access, which is not typed


class UnreadableNotebook(markers.ReleaseError):
    """The file is missing, is not a notebook, or has a format without cell ids."""


class CellMetadataError(markers.ReleaseError):
    """Two cells have the same id, or a cell's nbgrader metadata does not allow its region."""


class SolutionLeft(markers.ReleaseError):
    """The student's notebook would still contain a line of the solution."""


def release(author: str | Path, out: str | Path) -> Path:
    """Write the student's version of an author's notebook, and return its path.

    author      the notebook with solutions
    out         a folder, created if needed, or a path ending in .ipynb

    Raises a ReleaseError, and writes nothing, if the notebook cannot be read, its markers
    do not match, two cells share an id, or a line of a solution would remain.
    """
    author, out = Path(author), Path(out)
    target = out if out.suffix == ".ipynb" else out / author.name
    if target.resolve() == author.resolve():
        raise markers.ReleaseError(
            f"{author}: the student's notebook would overwrite the author's. "
            "To fix it, give another folder."
        )
    student = checked_student_notebook(read_notebook(author), author.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(student, target)
    return target


def checked_student_notebook(notebook: Notebook, name: str) -> Notebook:
    """Check the author's notebook, make the student's version, and check that nothing is left in it."""
    _check_author(notebook, name)
    student = student_notebook(notebook)
    _check_nothing_left(notebook, student, name)
    if any(is_answer(cell) for cell in student.cells):
        questions = (metadata_of(cell, "minigrad").get("question") for cell in notebook.cells)
        declared = (question for question in questions if isinstance(question, dict))
        packages = ["NumPy", *(p for question in declared for p in question.get("packages", ()))]
        text = COUNTS.format(packages=", ".join(dict.fromkeys(packages)))
        student.cells.insert(1, nbformat.v4.new_markdown_cell(text, id=COUNTS_ID))
    return student


def student_notebook(notebook: Notebook) -> Notebook:
    """Return the student's version of a notebook, as a copy."""
    student = copy.deepcopy(notebook)
    student.metadata.pop("widgets", None)
    for cell in student.cells:
        code = cell.cell_type == "code"
        stub = markers.CODE_STUB if code else markers.TEXT_STUB
        cell.source, replaced = markers.cleared(cell.source, stub, code=code)
        if not replaced and is_answer(cell):
            cell.source = stub  # without markers, the whole cell is the solution
        if code:
            cell.outputs, cell.execution_count = [], None
            for shown in ("collapsed", "scrolled", "execution"):
                cell.metadata.pop(shown, None)
        cell.metadata.setdefault("minigrad", {})
        ours = metadata_of(cell, "minigrad")
        ours.pop("question", None)  # the declaration is not for students
        ours["cell"] = cell.id
        _lock(cell)
    return student


def read_notebook(path: str | Path) -> Notebook:
    """Read a notebook of format 4.5 or newer, in which every cell has an id.

    Raises UnreadableNotebook, which says what the file is instead.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise UnreadableNotebook(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableNotebook(f"{path} is not a notebook: it is not JSON ({error}).") from error
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise UnreadableNotebook(f"{path} is not a notebook of format 4: it has no list of cells.")
    version = data.get("nbformat"), data.get("nbformat_minor")
    if version[0] != 4 or not isinstance(version[1], int) or version[1] < 5:
        raise UnreadableNotebook(
            f"{path} has notebook format {version[0]}.{version[1]}, whose cells have no ids. "
            "To fix it, open it in a current JupyterLab and save it."
        )
    ids = [cell.get("id") if isinstance(cell, dict) else None for cell in data["cells"]]
    if None in ids:
        raise UnreadableNotebook(f"{path}: cell {ids.index(None) + 1} has no id.")
    _refuse_duplicates(ids, "cell id", path.name)
    try:
        notebook = nbformat.v4.reads(text)
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise UnreadableNotebook(f"{path} is not a valid notebook: {error.message}.") from error
    return notebook


def _check_author(notebook: Notebook, name: str) -> None:
    """Check that a student's notebook can be made from this one.

    Raises MarkerError if markers do not match or if it is a student's notebook already, and CellMetadataError for
    duplicate grade ids and for regions in cells whose metadata does not allow them.
    """
    refuse_released(notebook, name)
    grade_ids = [metadata_of(cell, "nbgrader").get("grade_id") for cell in notebook.cells]
    _refuse_duplicates([i for i in grade_ids if i is not None], "grade_id", name)
    for number, cell in enumerate(notebook.cells, 1):
        where = f"{name}, cell {number} (id {known_as(cell)})"
        code = cell.cell_type == "code"
        if cell.cell_type == "raw" and re.match(r"#\s*(BEGIN|END) [A-Z]+\s*$", _first(cell.source)):
            raise CellMetadataError(
                f"{where}: a raw cell with otter's {_first(cell.source)!r}. otter's markers are supported in "
                "code cells only. To fix it, remove the raw cell, and mark answers and checks in the "
                'nbgrader metadata of their cells ("solution": true, "grade": true).'
            )
        markers.check_markers(cell.source, where, code=code)
        solution = markers.has_solution(cell.source, code=code) and not is_answer(cell)
        tests = code and markers.has_hidden_tests(cell.source) and not is_graded(cell)
        scheme = markers.MARK_SCHEME.begin in cell.source and not is_manual(cell)
        for undeclared, there, declared, key in (
            (solution, "is a solution region", "as an answer", "solution"),
            (tests, "are hidden tests", "as graded", "grade"),
            (scheme, "is a mark scheme", "to be marked by a person", "task"),
        ):
            if undeclared:
                raise CellMetadataError(
                    f"{where}: there {there}, but the cell is not declared {declared}. "
                    f'To fix it, set "{key}": true in the nbgrader metadata of the cell.'
                )


def _first(source: str) -> str:
    return str(source).strip().partition("\n")[0]


def refuse_released(notebook: Notebook, name: str) -> None:
    """Reject a notebook that is itself a release, which contains no solutions."""
    answers = [cell for cell in notebook.cells if is_answer(cell)]
    if any(markers.has_solution(cell.source) for cell in notebook.cells):
        return
    if any("cell" in metadata_of(cell, "minigrad") for cell in answers):
        raise markers.MarkerError(
            f"{name}: there is no ### {markers.SOLUTION.begin} in any cell. This is a student's notebook, written "
            "by release: its answers are stubs, or a student's own. To fix it, release the "
            "author's notebook, the one with the solutions."
        )


def _check_nothing_left(author: Notebook, student: Notebook, name: str) -> None:
    """Check that no line of the solution remains in the student's notebook.

    Sources, outputs, attachments and all metadata are searched, ignoring spaces and comments. Lines
    that reveal nothing are skipped: short lines, comments, imports, headers of functions and blocks,
    and a return of bare names.

    Raises SolutionLeft, which names the line and the cell.
    """
    telling = {squeezed(line): (line, number) for line, number in solution_lines(author)}
    places = [("in the metadata of the notebook", "", _squeezed_json(student.metadata))]
    for number, cell in enumerate(student.cells, 1):
        where = f"in cell {number} (id {known_as(cell)}), outside the markers"
        beside = {k: v for k, v in cell.items() if k != "source"}
        places.append((where, squeezed(cell.source), _squeezed_json(beside) + _attached(cell)))
    for where, text, rest in places:
        for short, (line, home) in telling.items():
            if short in text or json.dumps(short)[1:-1] in rest:
                raise SolutionLeft(
                    f"{name}: the student's notebook would still show a line of the solution of cell {home}:\n"
                    f"    {line}\n"
                    f"It is {where}. To fix it, remove it there, or move it out of the solution if it is given."
                )


def _squeezed_json(part: object) -> str:
    return squeezed(json.dumps(part))


def _attached(cell: Notebook) -> str:
    """The decoded text of a cell's attachments."""
    bundles = cell.get("attachments", {}).values()
    found = []
    for content in (text for bundle in bundles for text in bundle.values()):
        with suppress(TypeError, ValueError):
            found.append(base64.b64decode(content).decode(errors="replace"))
    return _squeezed_json(found)


def solution_lines(author: Notebook) -> list[tuple[str, int]]:
    """The lines of solutions and hidden tests that would reveal something, with their cell numbers.

    A hidden test may repeat the given lines around a solution, such as the header of a class.
    """
    given = {
        line.strip()
        for cell in author.cells
        if is_answer(cell) and markers.has_solution(cell.source, code=cell.cell_type == "code")
        for line in markers.cleared(cell.source, "", code=cell.cell_type == "code")[0].split("\n")
    }
    found = []
    for number, cell in enumerate(author.cells, 1):
        code = cell.cell_type == "code"
        lines = [(line, False) for line in markers.hidden(cell.source, markers.SOLUTION, code=code)]
        if is_answer(cell) and not markers.has_solution(cell.source, code=code):
            lines = [(line, False) for line in cell.source.split("\n")]  # all of it is replaced
        for region in (markers.HIDDEN_TESTS, markers.MARK_SCHEME):
            lines += [(line, True) for line in markers.hidden(cell.source, region, code=code)]
        for line, test in lines:
            line = markers.without_comment(line) if code else line.strip()
            if _reveals_something(line) and not (test and line in given):
                found.append((line, number))
    return found


def metadata_of(cell: Notebook, key: str) -> dict[str, Any]:
    """The "nbgrader" or "minigrad" part of a cell's metadata. Raises CellMetadataError if it is not an object."""
    found = cell.metadata.get(key, {})
    if not isinstance(found, dict):
        what = f'in the metadata of the cell with the id {cell.id}, "{key}"'
        raise CellMetadataError(f"{what} must be an object, and it is {found!r}.")
    return found


def known_as(cell: Notebook) -> str:
    """What messages and reports call a cell: nbgrader's grade_id, which its author chose, or else the cell's id."""
    return str(metadata_of(cell, "nbgrader").get("grade_id") or cell.id)


def is_answer(cell: Notebook) -> bool:
    """Does the student write in this cell? (nbgrader: solution)"""
    return bool(metadata_of(cell, "nbgrader").get("solution", False))


def is_manual(cell: Notebook) -> bool:
    """Does a person give the points? (nbgrader: grade and solution in one cell, or a task)"""
    settings = metadata_of(cell, "nbgrader")
    return bool(settings.get("task") or (settings.get("grade") and settings.get("solution")))


def is_graded(cell: Notebook) -> bool:
    """Is it a code cell that gives points? (nbgrader: grade)"""
    return bool(metadata_of(cell, "nbgrader").get("grade", False)) and cell.cell_type == "code"


def _lock(cell: Notebook) -> None:
    """Lock a cell as nbgrader's LockCells does, so that students do not change or delete it by accident."""
    settings = metadata_of(cell, "nbgrader")
    if settings.get("solution") or settings.get("grade") or settings.get("locked"):
        cell.metadata["deletable"] = False
    if settings.get("locked") and not settings.get("solution"):
        cell.metadata["editable"] = False


def _reveals_something(line: str) -> bool:
    line = line.strip()
    headers = ("#", "@", "import ", "from ", "def ", "class ", "with ", "for ")
    if len(squeezed(line)) < 6 or line.startswith(headers):
        return False
    return re.fullmatch(r"(return|if|elif|while)\s[\w\s,():]*", line) is None


def _refuse_duplicates(ids: Sequence[object], kind: str, name: str) -> None:
    for number, i in enumerate(ids):
        if i in ids[:number]:
            raise CellMetadataError(
                f"{name}: two cells have the {kind} {i!r}. Answers are matched by it, so it must be unique. "
                "To fix it, change one of them."
            )
