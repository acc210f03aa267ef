"""From the author's notebook to the student's.

The author keeps one notebook, with the solution in it:

    def double(x):
        ### BEGIN SOLUTION
        return 2 * x
        ### END SOLUTION

and `release` writes the one that students get, in which the lines between the markers
are replaced by a stub, outputs are cleared and hidden tests are gone. The markers and the
cell metadata are nbgrader's, so that its notebooks work here and ours work there.

    student_notebook    the transformation itself, notebook in, notebook out
    check_author        what is refused beforehand: markers, ids
    check_nothing_left  what is refused afterwards: a line of a solution that is still there
    release             the three of them, from file to file

A released notebook is generated and never edited by hand. That the solution passes its
own checks and the stub fails them can be told only by running both: see gate.py.

This module needs nbformat and nothing else, not even NumPy, because the wheel of minigrad
itself is built with it.

Source: nbgrader 0.9, preprocessors ClearSolutions, ClearHiddenTests, ClearOutput, LockCells.
"""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
TEXT_STUB = "YOUR ANSWER HERE"

Notebook = Any  # nbformat's NotebookNode: a dict with attributes, without types


class ReleaseError(ValueError):
    """An author's notebook that cannot be released, with the cell and the way to mend it."""


class UnreadableNotebook(ReleaseError):
    """The file is missing, is no notebook, or is of a format that has no cell ids."""


class MarkerError(ReleaseError):
    """A BEGIN without an END, an END without a BEGIN, or one region inside another."""


class CellMetadataError(ReleaseError):
    """Two cells with one id, or a region in a cell that nbgrader's metadata does not declare."""


class SolutionLeft(ReleaseError):
    """A line of the solution can still be read in the student's notebook."""


@dataclass(frozen=True)
class _Region:
    """A pair of markers, as nbgrader finds them: anywhere in a line."""

    name: str

    @property
    def begin(self) -> str:
        return f"BEGIN {self.name}"

    @property
    def end(self) -> str:
        return f"END {self.name}"


SOLUTION = _Region("SOLUTION")
HIDDEN_TESTS = _Region("HIDDEN TESTS")


def release(
    author: str | Path,
    out: str | Path,
    *,
    code_stub: str = CODE_STUB,
    text_stub: str = TEXT_STUB,
) -> Path:
    """Write the student's version of an author's notebook; return where it is.

    author      the notebook with solutions
    out         a folder, made if need be; or the path of the new notebook, ending in .ipynb
    code_stub   what stands in place of a solution in a code cell
    text_stub   what stands in place of a Markdown answer

    Raises a ReleaseError, and writes nothing, if the notebook cannot be read, its markers
    do not match, two cells share an id, or a line of a solution would be left.
    """
    author, out = Path(author), Path(out)
    target = out if out.suffix == ".ipynb" else out / author.name
    if target.resolve() == author.resolve():
        raise ReleaseError(
            f"{author}: the student's notebook would overwrite the author's. "
            "To mend it, give another folder."
        )
    notebook = read_notebook(author)
    check_author(notebook, author.name)
    student = student_notebook(notebook, code_stub=code_stub, text_stub=text_stub)
    check_nothing_left(notebook, student, author.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(student, target)
    return target


def student_notebook(
    notebook: Notebook, *, code_stub: str = CODE_STUB, text_stub: str = TEXT_STUB
) -> Notebook:
    """A copy of the notebook as a student gets it; the argument stays as it is."""
    student = copy.deepcopy(notebook)
    student.metadata.pop("widgets", None)
    for cell in student.cells:
        stub = code_stub if cell.cell_type == "code" else text_stub
        cell.source, replaced = _replace(cell.source, SOLUTION, stub)
        if not replaced and is_answer(cell) and not _is_graded(cell):
            cell.source = stub  # without markers the whole cell is the solution
        cell.source, _ = _replace(cell.source, HIDDEN_TESTS, None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            for shown in ("collapsed", "scrolled", "execution"):
                cell.metadata.pop(shown, None)
        ours = cell.metadata.setdefault("minigrad", {})
        ours.pop("question", None)  # what is asked, and which mistakes are tried, is the author's
        ours["cell"] = cell.id
        _lock(cell)
    return student


def read_notebook(path: str | Path) -> Notebook:
    """A notebook of format 4.5 or newer, in which every cell has an id.

    Raises UnreadableNotebook, which says what the file is instead.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise UnreadableNotebook(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableNotebook(f"{path} is no notebook: it is not JSON ({error}).") from error
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise UnreadableNotebook(f"{path} is no notebook of format 4: it has no list of cells.")
    version = data.get("nbformat"), data.get("nbformat_minor")
    if version[0] != 4 or not isinstance(version[1], int) or version[1] < 5:
        raise UnreadableNotebook(
            f"{path} is of notebook format {version[0]}.{version[1]}, whose cells have no ids. "
            "To mend it, open it in a current JupyterLab and save it."
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


def check_author(notebook: Notebook, name: str) -> None:
    """Refuse, before anything is written, what a student's notebook cannot be made from.

    Raises MarkerError for regions that do not match, or for a student's notebook, and CellMetadataError for repeated
    grade ids and for regions in cells that are not declared for them.
    """
    _refuse_released(notebook, name)
    grade_ids = [_nbgrader(cell).get("grade_id") for cell in notebook.cells]
    _refuse_duplicates([i for i in grade_ids if i is not None], "grade_id", name)
    for number, cell in enumerate(notebook.cells, 1):
        where = f"{name}, cell {number} (id {cell.id})"
        for region in (SOLUTION, HIDDEN_TESTS):
            _check_markers(cell.source, region, where)
        if SOLUTION.begin in cell.source and not is_answer(cell):
            raise CellMetadataError(
                f"{where}: there is a solution region, but the cell is not declared as an answer. "
                'To mend it, set "solution": true in the nbgrader metadata of the cell.'
            )
        if HIDDEN_TESTS.begin in cell.source and not _is_graded(cell):
            raise CellMetadataError(
                f"{where}: there are hidden tests, but the cell is not declared as graded. "
                'To mend it, set "grade": true in the nbgrader metadata of the cell.'
            )


def _refuse_released(notebook: Notebook, name: str) -> None:
    """Refuse a notebook that was released before: there is no solution in it to replace."""
    answers = [cell for cell in notebook.cells if is_answer(cell)]
    if any(SOLUTION.begin in cell.source for cell in notebook.cells):
        return
    if any("cell" in cell.metadata.get("minigrad", {}) for cell in answers):
        raise MarkerError(
            f"{name}: there is no ### {SOLUTION.begin} in any cell. This is a student's notebook, which "
            "release has written: its answers are stubs, or a student's own. To mend it, release the "
            "author's notebook, the one with the solutions."
        )


def check_nothing_left(author: Notebook, student: Notebook, name: str) -> None:
    """Refuse a student's notebook in which a line of the solution can still be read.

    Spaces do not count. Lines that tell nothing are left out: short ones, comments,
    imports, the headers of functions and blocks, and a return of mere names.

    Raises SolutionLeft, which names the line and the cell.
    """
    telling = {"".join(line.split()): (line, number) for line, number in solution_lines(author)}
    for number, cell in enumerate(student.cells, 1):
        text = "".join(cell.source.split())
        rest = "".join(json.dumps({k: v for k, v in cell.items() if k != "source"}).split())
        for squeezed, (line, home) in telling.items():
            if squeezed in text or json.dumps(squeezed)[1:-1] in rest:
                raise SolutionLeft(
                    f"{name}: the student's notebook would still show a line of the solution of cell {home}:\n"
                    f"    {line}\n"
                    f"It stands in cell {number} (id {cell.id}), outside the markers. "
                    "To mend it, remove it there, or move it out of the solution if it is given."
                )


def solution_lines(author: Notebook) -> list[tuple[str, int]]:
    """The lines of solutions and hidden tests that would tell something, with their cells.

    A hidden test may repeat what stands around a solution: the frame of a class, for instance.
    """
    given = {
        line.strip()
        for cell in author.cells
        if is_answer(cell) and SOLUTION.begin in cell.source
        for line in _replace(cell.source, SOLUTION, None)[0].split("\n")
    }
    return [
        (line.strip(), number)
        for number, cell in enumerate(author.cells, 1)
        for region in (SOLUTION, HIDDEN_TESTS)
        for line in _inside(cell.source, region)
        if _tells_something(line) and not (region is HIDDEN_TESTS and line.strip() in given)
    ]


def hidden_tests(cell: Notebook) -> list[str]:
    """The source of the hidden tests of a cell, if it has any."""
    lines = list(_inside(cell.source, HIDDEN_TESTS))
    return ["\n".join(lines)] if lines else []


def is_answer(cell: Notebook) -> bool:
    """Does the student write in this cell? (nbgrader: solution)"""
    return bool(_nbgrader(cell).get("solution", False))


def _is_graded(cell: Notebook) -> bool:
    return bool(_nbgrader(cell).get("grade", False)) and cell.cell_type == "code"


def _nbgrader(cell: Notebook) -> Any:
    return cell.metadata.get("nbgrader", {})


def _lock(cell: Notebook) -> None:
    """What nbgrader's LockCells does, so that Jupyter keeps students from mishaps."""
    settings = _nbgrader(cell)
    if settings.get("solution") or settings.get("grade") or settings.get("locked"):
        cell.metadata["deletable"] = False
    if settings.get("locked") and not settings.get("solution"):
        cell.metadata["editable"] = False


def _replace(source: str, region: _Region, stub: str | None) -> tuple[str, bool]:
    """The source with every region replaced by the stub, indented as its first marker."""
    lines, inside, replaced = [], False, False
    for line in source.split("\n"):
        if region.begin in line:
            inside = replaced = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [] if stub is None else [indent + s for s in stub.split("\n")]
        elif region.end in line:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines), replaced


def _inside(source: str, region: _Region) -> Iterator[str]:
    inside = False
    for line in source.split("\n"):
        if region.begin in line or region.end in line:
            inside = region.begin in line
        elif inside:
            yield line


def _check_markers(source: str, region: _Region, where: str) -> None:
    begun = None
    for number, line in enumerate(source.split("\n"), 1):
        if region.begin in line:
            if begun is not None:
                raise MarkerError(
                    f"{where}, line {number}: ### {region.begin} inside the region that began in line {begun}. "
                    f"To mend it, write ### {region.end} before line {number}, or remove one of the two."
                )
            begun = number
        elif region.end in line:
            if begun is None:
                raise MarkerError(
                    f"{where}, line {number}: ### {region.end} without ### {region.begin} above it."
                )
            begun = None
    if begun is not None:
        raise MarkerError(
            f"{where}: the region that begins in line {begun} has no ### {region.end}."
        )


def _tells_something(line: str) -> bool:
    line = line.strip()
    headers = ("#", "@", "import ", "from ", "def ", "class ", "with ", "for ")
    if len("".join(line.split())) < 6 or line.startswith(headers):
        return False
    return re.fullmatch(r"return\s+[\w\s,()]*", line) is None


def _refuse_duplicates(ids: list[Any], kind: str, name: str) -> None:
    seen: dict[Any, int] = {}
    for number, i in enumerate(ids, 1):
        if i in seen:
            raise CellMetadataError(
                f"{name}: two cells have the {kind} {i!r}. Answers are matched by it, so it must be unique. "
                "To mend it, change one of them."
            )
        seen[i] = number
