"""Find equal answers by different students. They are a hint for the teacher, not proof of copying.

Two answers are equal if their syntax trees are equal after comments and docstrings are removed and the names
that they define are renamed. Only code with at least LEAST names, constants, calls and operations is compared,
because short answers are often equal by chance. Unchanged stubs are not compared.

    form_of       a hash of the normalized syntax tree; call it in a separate process, since parsing may crash
    equal_ones    which students have equal answers
"""

import ast
from collections.abc import Iterable, Mapping
from hashlib import sha256

from minigrad.grading.gradebook.by_hand import GradebookCell
from minigrad.grading.release.syntax import NO_PROGRAM, syntax_of

LEAST = 30
MEASURED = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


def form_of(source: str) -> str:
    """A short hash of an answer's normalized form; empty if it is too short or not valid Python.

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
        if sum(isinstance(node, MEASURED + OPERATIONS) for node in ast.walk(tree)) < LEAST:
            return ""
        _renumber(tree)
        return sha256(ast.dump(tree).encode("utf-8", "replace")).hexdigest()[:12]
    except NO_PROGRAM:
        return ""


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


def equal_ones(answers: Iterable[tuple[str, str, str]]) -> Mapping[GradebookCell, list[str]]:
    """Map (student, question) to the other students with an equal answer.

    answers    (student, question, form of the answer)
    """
    alike: dict[GradebookCell, list[str]] = {}
    for student, question, form in answers:
        if form:
            alike.setdefault((question, form), []).append(student)
    return {
        (student, question): [other for other in students if other != student]
        for (question, _), students in alike.items()
        for student in students
        if len(students) > 1
    }
