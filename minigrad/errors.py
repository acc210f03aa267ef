"""Every exception that minigrad raises, and how a message is put together.

An error here teaches: it says what happened, where (the learner's own line), and how
to mend it. It also keeps the phrase that PyTorch uses, because that is what a learner
will search for, and it subclasses the exception that PyTorch raises, so that code
written for one is caught by the other.

    Place           a line of the learner's code, named as the learner knows it
    learner_line    the nearest line on the stack that is not minigrad's own
"""

import linecache
import sys
from pathlib import Path
from typing import Any, NamedTuple

_OUR_FOLDER = str(Path(__file__).resolve().parent)


class Place(NamedTuple):
    """A line of somebody's code. The label and the text are looked up when asked for."""

    file: str
    line: int

    @property
    def label(self) -> str:
        """"In [4], line 2" for a notebook cell, "lesson.py, line 2" for a file."""
        return f"{_cell_name(self.file) or Path(self.file).name}, line {self.line}"

    @property
    def text(self) -> str:
        """The source line itself, without its indentation; "" where there is none."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.label}    {self.text}" if self.text else self.label


def learner_line() -> Place | None:
    """The nearest caller outside minigrad (and outside NumPy, which may stand between)."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_ours(file):
            return Place(file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


_ours: dict[str, bool] = {}


def _is_ours(file: str) -> bool:
    """Is this source file part of the machinery rather than of the learner's program?"""
    known = _ours.get(file)
    if known is None:
        module = file.replace("\\", "/")
        known = _ours[file] = (
            file.startswith((_OUR_FOLDER, "<frozen", "<minigrad", "<__array_function__"))
            or "/numpy/" in module
            or module.endswith(("/contextlib.py", "/functools.py"))
        )
    return known


def _cell_name(file: str) -> str | None:
    """"In [4]" if the file name is one that IPython gave to a cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    number = getattr(shell.compile, "_filename_map", {}).get(file)
    return None if number is None else f"In [{number}]"


def table(rows: list[tuple[Any, ...]]) -> str:
    """Rows of words, indented and in columns, as the details of an error are shown."""
    rows = [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "    " + "    ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


class AutogradError(RuntimeError):
    """Something about the tape: what was recorded, changed, or asked of it."""


class BackwardTwice(AutogradError):
    """The saved values of a node are gone: a backward pass has used them up."""


class SavedValueChanged(AutogradError):
    """A value that a rule needs is no longer what it was when the node was recorded."""


class LeafChangedInPlace(AutogradError):
    """An in-place operation was applied to a leaf that requires a gradient, or to its view."""


class NoGradient(AutogradError):
    """A gradient was asked of something that the tape does not lead to."""


class ShapeError(RuntimeError):
    """Two shapes do not fit together; `mend` is an expression that would."""

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        super().__init__(message if mend is None else f"{message} To mend it, try  {mend}.")


class DtypeError(RuntimeError):
    """A type of number that this operation cannot take or give."""
