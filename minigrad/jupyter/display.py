"""How tapes and tensors are displayed: `minigrad.display`, and whether widgets can run.

    "auto"      the widget if one can run, "html" in marimo, otherwise "svg": the default
    "widget"    the inspector, with the picture and the table for front ends without widgets
    "html"      the inspector as a page inside the notebook, which needs no kernel
    "svg"       the picture, and the table as text
    "png"       the same without SVG, which needs Inkscape when a notebook is exported to PDF through LaTeX
    "text"      only the table; tensors as text too

    minigrad.display = "svg"            for this session
    MINIGRAD_DISPLAY=svg jupyter ...    from outside, e.g. for CI; the session setting takes precedence

All display code calls `chosen_mode()`. This is where a wrong name is detected, on first use, because a
module's attribute cannot reject a value on assignment.
"""

import difflib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MODES = ("auto", "widget", "html", "svg", "png", "text")
VARIABLE = "MINIGRAD_DISPLAY"

_overrides: list[str] = []  # the modes set by `shown_as`, innermost last


class WrongMode(ValueError):
    """The name of a display mode is wrong. A notebook shows the message alone: the traceback is all ours."""

    def _render_traceback_(self) -> list[str]:
        return [f"ValueError: {self}"]


def chosen_mode() -> str:
    """The current display mode: "widget", "html", "svg", "png" or "text", never "auto".

    Raises ValueError, which says where the wrong name was set.

    >>> import minigrad
    >>> with shown_as("text"):
    ...     chosen_mode()
    'text'
    """
    if _overrides:
        return _overrides[-1]
    wanted = _checked(getattr(sys.modules.get("minigrad"), "display", "auto"), "minigrad.display")
    if wanted == "auto":
        wanted = _checked(os.environ.get(VARIABLE) or "auto", f"the environment's {VARIABLE}")
    if wanted == "auto":
        wanted = "widget" if can_run_widgets() else "html" if in_marimo() else "svg"
    return wanted


@contextmanager
def shown_as(wanted: str) -> Iterator[None]:
    """Use this display mode within the block, whatever `minigrad.display` says."""
    _overrides.append(_checked(wanted, "shown_as"))
    try:
        yield
    finally:
        _overrides.pop()


def can_run_widgets() -> bool:
    """Is there a reader, and is anywidget installed?

    We cannot know here whether the front end supports widgets. If it does not, it shows the
    picture, which is sent along with the widget.
    """
    return is_seen() and importlib.util.find_spec("anywidget") is not None


def in_marimo() -> bool:
    """Is this a notebook of marimo? It has no IPython kernel, and shows the page of the inspector."""
    marimo: Any = sys.modules.get("marimo")
    return getattr(marimo, "running_in_notebook", bool)()  # an old marimo cannot tell


def is_seen() -> bool:
    """Is this a kernel with a reader? nbval compares outputs but shows none."""
    by_nbval = ".ipynb::" in os.environ.get("PYTEST_CURRENT_TEST", "")
    return getattr(shell(), "kernel", None) is not None and not by_nbval


def shell() -> Any:
    """The IPython shell of this process, if there is one; does not import IPython."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def takes_views() -> bool:
    """Is this VS Code or Colab? They start widgets only for widget outputs."""
    return cell_id().startswith("vscode") or "google.colab" in sys.modules


def cell_id() -> str:
    """The id of the running cell; "" if the front end does not send it."""
    header: dict[str, Any] = getattr(shell(), "get_parent", dict)() or {}
    return str(header.get("metadata", {}).get("cellId") or "")


def _checked(wanted: Any, where: str) -> str:
    if isinstance(wanted, str) and wanted in MODES:
        return wanted
    near = difflib.get_close_matches(str(wanted).lower(), MODES, n=1)
    remedy = f' Did you mean "{near[0]}"?' if near else ""
    names = ", ".join(f'"{name}"' for name in MODES)
    raise WrongMode(f"{where} is {wanted!r}. It must be one of {names}.{remedy}")
