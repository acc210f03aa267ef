"""The inspector's script: small modules, joined into one text for the widget and for the page.

The modules are in jupyter/static/inspector. There is no build step: a module can use all names of the
modules before it in `MODULES`, as in one file. To add a module, write it and add its name to the list.
"""

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent.parent / "jupyter" / "static"

MODULES = (
    "elements", "numbers", "document", "state",
    "canvas", "card", "boxes", "arrows", "graph",
    "updates", "jacobian", "details", "engine", "list", "code", "legend",
    "timeline", "strips", "search", "hand", "export", "lecture", "keyboard", "inspector",
)  # fmt: skip


@cache
def static_file(name: str) -> str:
    """The text of a file that belongs to the inspector, by its path in jupyter/static."""
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The whole script, without an export: it defines `render`.

    >>> script().count("function render(")
    1
    """
    return "\n".join(static_file(f"inspector/{name}.js") for name in MODULES)


def style() -> str:
    """The inspector's style sheet."""
    return static_file("inspector.css")
