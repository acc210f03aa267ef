"""What a student wrote for each question, as the reports show it and as a person marks it.

    written_in         the text of each answer, and its form
    nothing_written    the same for a submission that cannot be read
    pictures_in        the pictures in the answers that a person marks
    form_of            a hash that is the same for equal answers of different students

Two answers are equal if their syntax trees are equal after comments and docstrings are removed and the names
that they define are renamed. Only code with at least MIN_SIZE names, constants, calls and operations more than the
starter has is compared, because short answers are often equal by chance, and right predictions always.
"""

import ast
from collections.abc import Mapping, Sequence
from hashlib import sha256

from minigrad.grading.documents import WrittenAnswer
from minigrad.grading.release.bundles import BundleCell, Recording, ids_of
from minigrad.grading.release.questions import ManualQuestion
from minigrad.grading.release.student import COUNTS_ID
from minigrad.grading.release.syntax import NO_PROGRAM, squeezed, syntax_of
from minigrad.grading.run.notebook import (
    Cells,
    SubmittedCell,
    fingerprint,
    without_pictures,
)
from minigrad.grading.run.submission import Found

MIN_SIZE = 30
MEASURED = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


def written_in(recording: Recording, found: Found) -> dict[str, WrittenAnswer]:
    """Map each question to what the student wrote; empty if it is unchanged or missing."""
    given = recording.sources
    written = {c: s for c, s in found.sources.items() if squeezed(s) != squeezed(given[c])}
    texts, starters = (_code_answers(recording, sources) for sources in (written, given))
    texts |= {q.id: manual_answer(found.cells, recording.cells, q) for q in recording.manual}
    starters |= {q.id: given[q.cell] for q in recording.manual}
    return {q: {"text": text, "form": form_of(text, starters[q])} for q, text in texts.items()}


def pictures_in(recording: Recording, found: Found) -> list[str]:
    """The pictures in the answers that a person marks, as data URLs."""
    pictures: list[str] = []
    for question in recording.manual:
        for cell in _cells_of_answer(found.cells, recording.cells, question):
            pictures += cell.pictures
    return list(dict.fromkeys(pictures))


def nothing_written(recording: Recording, text: str = "") -> dict[str, WrittenAnswer]:
    """Map each question to this text."""
    ids = [q.id for q in recording.questions] + [q.id for q in recording.manual]
    return {question: {"text": text, "form": ""} for question in ids}


def _code_answers(recording: Recording, sources: Mapping[str, str]) -> dict[str, str]:
    """The code for each question that is graded automatically, from the sources of answer cells.

    An answer cell that several questions use is shown with the first of them.
    """
    answers: dict[str, str] = {}
    shown: set[str] = set()
    for question in recording.questions:
        own = [cell for cell in question.answers if cell not in shown]
        parts = (sources.get(cell, "").strip("\n") for cell in own)
        answers[question.id] = "\n\n".join(filter(None, parts))
        shown.update(own)
    return answers


def manual_answer(cells: Cells, layout: Sequence[BundleCell], question: ManualQuestion) -> str:
    """What a student wrote for a question that a person marks; a picture is named by its fingerprint."""
    texts = []
    for cell in _cells_of_answer(cells, layout, question):
        text = without_pictures(cell.source.strip())
        names = (f"(picture {fingerprint(picture)})" for picture in cell.pictures)
        texts += [text, *(name for name in names if name not in text)]
    return "\n\n".join(texts)


def _cells_of_answer(cells: Cells, layout: Sequence[BundleCell], question: ManualQuestion) -> Cells:
    """The cells with the answer's id, or else the cells at its original position, if they are not the stub.

    layout    the cells of the notebook as it was released
    """
    position = next(k for k, c in enumerate(layout) if c["id"] == question.cell)
    if question.task:
        found = _cells_below(cells, layout, position)
    else:
        ids = ids_of(layout[position])
        found = [c for c in cells if ids & set(c.ids)] or _cells_below(cells, layout, position - 1)
    stub = squeezed(layout[position]["source"])
    return [c for c in found if c.squeezed not in ("", stub)]


def _cells_below(cells: Cells, layout: Sequence[BundleCell], position: int) -> Cells:
    """The student's cells between a cell of the exercise and the next one."""
    if position < 0:
        return []
    starts = [k for k, c in enumerate(cells) if _is_cell(c, layout[position])]
    found = []
    for cell in cells[starts[-1] + 1 :] if starts else []:
        if any(_is_cell(cell, released) for released in layout):
            break
        if COUNTS_ID not in cell.ids:  # added by release
            found.append(cell)
    return found


def _is_cell(cell: SubmittedCell, released: BundleCell) -> bool:
    """Is it this cell of the exercise? Decided by its ids, or by its source if that is given."""
    given = squeezed(released["source"])
    known = bool(ids_of(released) & set(cell.ids))
    return known or (not released["answer"] and given != "" and cell.squeezed == given)


def form_of(source: str, starter: str = "") -> str:
    """A short hash of an answer's normalized form; empty if it is not valid Python, or adds too little to the starter.

    >>> long = "def f(a):\\n    b = a.sum() + a.mean() * a.max() - a.min() / a.std() ** 2 + a.var() + a.prod()"
    >>> form_of(long) == form_of(long.replace("b =", "total =") + "  # mine") != ""
    True
    >>> form_of("def f(x):\\n    return 2 * x")
    ''
    """
    tree = syntax_of(source)
    if tree is None:
        return ""
    try:
        _without_docstrings(tree)
        if _size(tree) - _size(syntax_of(starter)) < MIN_SIZE:
            return ""
        _renumber(tree)
        return sha256(ast.dump(tree).encode("utf-8", "replace")).hexdigest()[:12]
    except NO_PROGRAM:
        return ""


def _size(tree: ast.Module | None) -> int:
    nodes = ast.walk(tree) if tree else ()
    return sum(isinstance(node, MEASURED + OPERATIONS) for node in nodes)


def _without_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not (isinstance(s, ast.Expr) and _is_text(s.value))]
            node.body = kept  # type: ignore[attr-defined]


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _renumber(tree: ast.Module) -> None:
    """Rename the names that an answer defines to 0, 1, 2, ... in order of first appearance."""
    made: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            made.setdefault(node.arg, str(len(made)))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.setdefault(node.id, str(len(made)))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.arg, node.annotation = made[node.arg], None
        elif isinstance(node, ast.Name):
            node.id = made.get(node.id, node.id)
