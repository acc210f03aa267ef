"""Turn an author's wrong answer into the answer cell that a student might have written.

Authors register wrong answers next to the check, as functions that may use other names defined
there. The answer cell must contain those definitions, because it runs without the check and the
hidden tests.

    wrong_source    the source of such a cell
"""

import ast
import inspect
import textwrap

from minigrad.grading.release.syntax import names_taken, needed, statements_of
from minigrad.teach.question import Wrong

Definition = ast.FunctionDef | ast.ClassDef


def wrong_source(wrong: Wrong, name: str, sources: list[str]) -> str | None:
    """The source of a cell that gives a wrong answer under this name; None if its source is unknown.

    sources    the author's cells, which provide the definitions that the answer uses
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
            # drop @exercise.wrong, so that running the cell does not register the answer again
            statement.decorator_list = [d for d in statement.decorator_list if not _registers(d)]
    others = [s for s in statements if getattr(s, "name", None) != own.name]
    used = needed(names_taken(own), others)
    cell = [ast.unparse(each) for each in (*used, own)]
    return "\n\n".join(["import numpy as np", *cell, f"{name} = {own.name}"])


def _definition(answer: object, sources: list[str]) -> Definition | None:
    """Find the definition of a function or class in its source."""
    wanted = getattr(answer, "__name__", "")
    try:
        sources = [textwrap.dedent(inspect.getsource(answer))]  # type: ignore[arg-type]
    except (OSError, TypeError):  # inspect cannot find a class that was defined in a cell
        pass
    statements = [s for source in sources for s in statements_of(source)]
    found = [s for s in statements if isinstance(s, Definition) and s.name == wanted]
    return found[-1] if found else None


def _registers(decorator: ast.expr) -> bool:
    """Is it  @exercise.wrong(kind)?"""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "wrong"
