"""Tracebacks that end on the user's line.

An error that minigrad raises is about a line that the user wrote. In a notebook the
frames between that line and the `raise`, which are minigrad's own, are left out; the
message and all frames of the user's own functions stay. What `%debug` opens is then
the user's frame, too.

All frames stay if the error looks like a mistake in minigrad itself: an AttributeError, say,
that no `raise` of ours has raised.
`MINIGRAD_TRACEBACK=full` in the environment keeps them always.
"""

import os
import sysconfig
from collections.abc import Iterator
from dis import opmap
from pathlib import Path
from types import TracebackType
from typing import Any

import IPython

import minigrad

VARIABLE = "MINIGRAD_TRACEBACK"

_CAUGHT = (Exception,)  # IPython keeps this very tuple, so that ours can be told from another's
_OF_VALUES = (IndexError, ValueError, ArithmeticError, MemoryError)
_OURS = (str(Path(minigrad.__file__).parent) + os.sep, "<minigrad")
_SHELL = str(Path(IPython.__file__).parent) + os.sep
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib"))


def install(shell: Any) -> None:
    """Show errors of this shell so; a handler that somebody else has set is left alone."""
    if not shell.custom_exceptions:
        shell.set_custom_exc(_CAUGHT, _show)


def remove(shell: Any) -> None:
    """Show errors as before."""
    if shell.custom_exceptions is _CAUGHT:
        shell.set_custom_exc((), None)


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """IPython's handler: what it does anyway, with a shorter traceback."""
    shown: TracebackType | None = trace
    if os.environ.get(VARIABLE) != "full":
        shown = shortened(kind, trace)
        for earlier in _chain(error):
            earlier.__traceback__ = shortened(type(earlier), earlier.__traceback__)
    shell.showtraceback((kind, error, shown), tb_offset=tb_offset, running_compiled_code=True)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it came from."""
    met: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in met:
        yield current
        met.append(current)
        current = current.__cause__ or current.__context__


def shortened(kind: type[BaseException], trace: TracebackType | None) -> TracebackType | None:
    """The traceback without minigrad's frames, if the error is about the user's code.

    Frames of IPython that lead from a cell to one of its magics go as well, and so does the
    line of a cell magic, which says no more than that the cell ran.
    """
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    whole = entries[0] if entries else None
    if not any(map(_is_ours, files)) or not _is_the_learners(kind, entries[-1]):
        return whole
    kept: list[TracebackType] = []
    in_a_cell, of_magic = False, -1
    for entry, file in zip(entries, files, strict=True):
        of_shell = file.startswith(_SHELL)
        in_a_cell = in_a_cell or not (of_shell or _is_ours(file))
        if not _is_ours(file) and not (of_shell and in_a_cell):
            kept.append(entry)
        if entry.tb_frame.f_code.co_name == "run_cell_magic" and of_shell:
            of_magic = len(kept) - 1
    if not in_a_cell:
        return whole
    if 0 <= of_magic < len(kept) - 1:
        del kept[of_magic]
    rest: TracebackType | None = None
    for entry in reversed(kept):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def _is_ours(file: str) -> bool:
    return file.startswith(_OURS)


def _is_the_learners(kind: type[BaseException], entry: TracebackType) -> bool:
    """Is this error, raised there, about the user's code and not about ours?"""
    code = entry.tb_frame.f_code
    if not _is_ours(code.co_filename):
        return not code.co_filename.startswith((*_LIBRARIES, "<frozen", "<__array_function__"))
    # What NumPy's functions, which have no frames, say of an index or a value is meant for
    # the user; so is what a statement of ours raises.
    return issubclass(kind, _OF_VALUES) or code.co_code[entry.tb_lasti] == opmap["RAISE_VARARGS"]
