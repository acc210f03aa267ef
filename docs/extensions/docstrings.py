"""Turns minigrad's docstrings into reStructuredText.

The docstrings are plain text, made for `help()`: prose with `code` in backticks, columns of names
and meanings, formulas that are set apart by indentation, and examples. Paragraphs stay
paragraphs; what is laid out with spaces is shown as is.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LAID_OUT = re.compile(r"^\s|\S {2,}\S|^\S+:$")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", name_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def name_defaults(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    result: str | None,
) -> tuple[str | None, str | None]:
    """Show a default that is a function or a class by its name."""
    return signature and re.sub(r"<(?:function|class) '?(\w+)[^>]*>", r"\1", signature), result


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring, as reStructuredText."""
    found: list[str] = []
    for block in blocks(lines):
        if block[0].lstrip().startswith(">>>"):
            found += [
                line.lstrip() if line.lstrip().startswith((">>>", "...")) else line
                for line in block
            ]
        elif any(LAID_OUT.search(line) for line in block):
            found += [".. code-block:: text", "", *("    " + line for line in block)]
        else:
            found += [prose(line) for line in block]
        found.append("")
    return found


def blocks(lines: list[str]) -> list[list[str]]:
    """The lines, split where a line is empty."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        else:
            found.append([])
    return [block for block in found if block]


def prose(line: str) -> str:
    """A line of prose: `code` stays code, and nothing else is markup.

    >>> prose("`x` is used *once*, and y_ changes")
    '``x`` is used \\\\*once\\\\*, and y\\\\_ changes'
    """
    parts = line.split("`")
    for i, part in enumerate(parts):
        parts[i] = f"``{part}``" if i % 2 else re.sub(r"([\\*_|])", r"\\\1", part)
    return "".join(parts)
