"""A wrong answer of the author's, as a student would have written it.

An author registers wrong answers beside the check, as functions that may use what stands around
them. An answer cell has to hold all of that itself, because it is run where neither the check nor
the hidden tests are.

    wrong_source    the source of such a cell
"""

import ast
import inspect
import textwrap

from minigrad.grading.release.syntax import names_taken, needed, statements_of
from minigrad.teach.question import Wrong

Definition = ast.FunctionDef | ast.ClassDef


def wrong_source(wrong: Wrong, name: str, sources: list[str]) -> str | None:
    """The cell in which a wrong answer is given under this name; None if it has no source.

    sources    the author's cells: what the answer uses is taken from there
    """
    answer = wrong.answer
    if not callable(answer):
        return f"import numpy as np\n{name} = {answer!r}"
    own = _definition(answer, sources)
    if own is None:
        return None
    statements = [s for source in sources for s in statements_of(source)]
    for statement in (own, *statements):
        if isinstance(statement, Definition):
            # one that is registered as wrong may be used by another, without being registered again
            statement.decorator_list = [d for d in statement.decorator_list if not _registers(d)]
    others = [s for s in statements if getattr(s, "name", None) != own.name]
    used = needed(names_taken(own), others)
    cell = [ast.unparse(each) for each in (*used, own)]
    return "\n\n".join(["import numpy as np", *cell, f"{name} = {own.name}"])


def _definition(answer: object, sources: list[str]) -> Definition | None:
    """How a function or a class was written."""
    wanted = getattr(answer, "__name__", "")
    try:
        sources = [textwrap.dedent(inspect.getsource(answer))]  # type: ignore[arg-type]
    except (OSError, TypeError):  # of a class in a cell, Python does not find it
        pass
    statements = [s for source in sources for s in statements_of(source)]
    found = [s for s in statements if isinstance(s, Definition) and s.name == wanted]
    return found[-1] if found else None


def _registers(decorator: ast.expr) -> bool:
    """Is it  @exercise.wrong(kind)?"""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "wrong"
