"""What the source of a cell defines and uses, from its syntax: nothing is run.

Uses the standard library alone, as markers.py does.
"""

import ast
from collections.abc import Iterator


def syntax_of(source: str) -> ast.Module | None:
    """The syntax of a cell, its magics left out; None if it is no Python."""
    lines = source.split("\n")
    plain = ["" if line.lstrip().startswith(("%", "!")) else line for line in lines]
    try:
        return ast.parse("\n".join(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statements_of(source: str) -> list[ast.stmt]:
    """The statements of a cell; none if it is no Python."""
    tree = syntax_of(source)
    return tree.body if tree else []


def names_made(statement: ast.AST) -> list[str]:
    """The names that a statement defines, or imports."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets for name in names_used(target)]
    return list(names_used(statement.target)) if isinstance(statement, ast.AnnAssign) else []


def names_used(*parts: ast.AST) -> Iterator[str]:
    """The names that stand anywhere in these parts."""
    return (n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name))


def defined_names(source: str) -> list[str]:
    """The functions, classes and variables that a cell defines at its top level."""
    own = [s for s in statements_of(source) if not isinstance(s, ast.Import | ast.ImportFrom)]
    return list(dict.fromkeys(name for statement in own for name in names_made(statement)))
