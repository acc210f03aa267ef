"""A wrong answer of the author's, as a student would have written it.

An author registers wrong answers beside the check, as functions that may use what stands around
them. An answer cell has to hold all of that itself, because it is run where neither the check nor
the hidden tests are.

    wrong_source    the source of such a cell
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any


def wrong_source(wrong: Any, name: str, sources: list[str]) -> str | None:
    """The cell in which a wrong answer is given under this name; None if it has no source.

    sources    the author's cells: what the answer uses is taken from there
    """
    answer = wrong.answer
    if not callable(answer):
        return f"import numpy as np\n{name} = {answer!r}"
    own = _definition(answer, sources)
    if own is None:
        return None
    _makes(own)  # without what registers it
    needed = _needed(own, list(_statements(sources)))
    cell = [ast.unparse(each) for each in (*needed, own)]
    return "\n\n".join(["import numpy as np", *cell, f"{name} = {own.name}"])


Definition = ast.FunctionDef | ast.ClassDef


def _definition(answer: Any, sources: list[str]) -> Definition | None:
    """How a function or a class was written."""
    wanted = getattr(answer, "__name__", "")
    try:
        source = [textwrap.dedent(inspect.getsource(answer))]
    except (OSError, TypeError):  # of a class in a cell, Python does not find it
        source = sources
    found = [s for s in _statements(source) if isinstance(s, Definition) and s.name == wanted]
    return found[-1] if found else None


def _statements(sources: list[str]) -> Iterator[ast.stmt]:
    """The statements of cells, one after the other."""
    for source in sources:
        lines = [line for line in source.split("\n") if not line.lstrip().startswith(("%", "!"))]
        try:
            yield from ast.parse("\n".join(lines)).body
        except SyntaxError:
            continue


def _needed(own: Definition, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that define what a definition uses, and what those use in turn, in order."""
    makers: dict[str, ast.stmt] = {}
    for statement in statements:
        makers |= dict.fromkeys(_makes(statement), statement)
    needed: list[ast.stmt] = []
    waiting, seen = _uses(own) - {own.name}, {own.name}
    while waiting:
        name = waiting.pop()
        if name in seen or name not in makers:
            continue
        seen.add(name)
        if makers[name] not in needed:
            needed.append(makers[name])
            waiting |= _uses(makers[name])
    return [s for s in statements if s in needed]


def _makes(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        # one that is registered as wrong may be used by another, without being registered again
        statement.decorator_list = [d for d in statement.decorator_list if not _registers(d)]
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    if isinstance(statement, ast.Assign):
        return [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return []


def _registers(decorator: ast.expr) -> bool:
    """Is it  @exercise.wrong(kind)?"""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "wrong"


def _uses(statement: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
