"""The whole table of mistakes: the rows of mistakes.py, and of the modules for particular operations."""

import re
from functools import cache

from minigrad.teach import (  # noqa: F401  each adds its mistakes to the table
    mistakes_of_arrays,
    mistakes_of_losses,
    mistakes_of_ops,
)
from minigrad.teach.mistakes import KINDS, ORDER, TABLE, Mistake
from minigrad.teach.mistakes_of_steps import AROUND, FACTORS, MISTAKES, RESTARTED


@cache
def known_mistakes() -> list[Mistake]:
    """The whole table, in search order; within a kind, in the order of the files."""
    return sorted(TABLE, key=lambda row: ORDER[row.kind])


def mistakes_page(text: str) -> str:
    """The text of DIAGNOSES.md, with its two tables of kinds updated.

    from pathlib import Path
    file = Path("DIAGNOSES.md")
    file.write_text(mistakes_page(file.read_text()))
    """
    steps: dict[str, str] = {}
    for slip in (*AROUND, *MISTAKES, RESTARTED, FACTORS[0]):
        steps.setdefault(slip.kind, slip.message)
    tables = iter((KINDS, steps))

    def renewed(header: re.Match[str]) -> str:
        rows = (f"| `{kind}` | {meaning} |\n" for kind, meaning in next(tables).items())
        return header[1] + "".join(rows)

    return re.sub(r"(\| kind \| what was done \|\n\|---\|---\|\n)(?:\|.*\n)*", renewed, text)
