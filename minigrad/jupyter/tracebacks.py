"""Tracebacks that end on the user's line.

An error that minigrad raises is about a line that the user wrote. In a notebook we leave out
minigrad's own frames between that line and the `raise`; the message and all frames of the
user's own functions stay. `%debug` then opens the user's frame, too. If PyTorch raises an error
while we record, its frames are left out as well.

IPython leaves out what Python says of a misspelled name, "Did you mean ...?", so we add it as a note. If no
name is near, a cell may not have been run. In the same way we name the mistake that gradcheck has found.

All frames stay if the error looks like a bug in minigrad itself, for example an AttributeError
that was not raised by one of our `raise` statements. With `MINIGRAD_TRACEBACK=full` in the
environment, all frames always stay.
"""

import builtins
import difflib
import os
import re
import sysconfig
from collections.abc import Iterable
from dis import opmap
from linecache import getline
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

import IPython

import minigrad
from minigrad.autograd.numerical import GradcheckError
from minigrad.core.errors import OTHER_ARGUMENTS
from minigrad.teach.own_backward import diagnose_backward
from minigrad.teach.running import about_a_tuple

VARIABLE = "MINIGRAD_TRACEBACK"

_CAUGHT = (
    Exception,
    KeyboardInterrupt,
)  # IPython keeps this exact tuple, so we can recognize our handler
_OF_VALUES = (IndexError, ValueError, ArithmeticError, MemoryError)
# Python's errors about a call with the wrong arguments. minigrad calls a user's module, hook or
# function with what the user has passed, so these are about the user's code.
_OF_CALLS = re.compile(rf"{OTHER_ARGUMENTS}|object is not callable|os\.PathLike object, not ")
_OURS = (str(Path(minigrad.__file__).parent) + os.sep, "<minigrad")
_SHELL = str(Path(IPython.__file__).parent) + os.sep
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib"))


def shorten_tracebacks(shell: Any) -> None:
    """Shorten the errors of this shell, unless someone else has already set a handler."""
    if not shell.custom_exceptions:
        shell.set_custom_exc(_CAUGHT, _show)


def restore_tracebacks(shell: Any) -> None:
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
    """IPython's handler: does the usual, with a shorter traceback."""
    shown: TracebackType | None = trace
    ran = not _is_in_a_cell(shell, error)
    if (remedy := _remedy(shell, error, trace)) and not hasattr(error, "__notes__"):
        error.add_note(remedy)
    if os.environ.get(VARIABLE) != "full":
        shown = users_traceback(error, trace)
        for earlier in _chain(error):
            earlier.__suppress_context__ |= _is_internal(earlier.__context__)
            earlier.__traceback__ = users_traceback(earlier, earlier.__traceback__)
    shell.showtraceback((kind, error, shown), tb_offset=tb_offset, running_compiled_code=ran)


def _is_in_a_cell(shell: Any, error: BaseException) -> bool:
    """Is this a SyntaxError in the cell itself? The line says all; no code has run."""
    cells = getattr(shell.compile, "_filename_map", {})
    return isinstance(error, SyntaxError) and error.filename in cells


NO_GRAD_YET = (
    "A .grad is None until a backward pass has filled it, and again after zero_grad(). Only leaves get one, unless "
    "retain_grad() was called before the pass."
)


def _remedy(shell: Any, error: BaseException, trace: TracebackType) -> str | None:
    """What to do about a variable or attribute that does not exist: the nearest name, if one is near.

    An AttributeError of our own says what it has to say. Of a gradient that is not the finite differences,
    the mistake, if it is in the backward of a Function.
    """
    if isinstance(error, GradcheckError) and error.checked:
        f, inputs, k = error.checked
        found = diagnose_backward(f, *inputs, wrt=k, name=f"input {k}")
        return None if found is None else str(found)
    known: Iterable[str] = ()
    name, otherwise = getattr(error, "name", None) or "", None
    if isinstance(error, NameError):
        *_, (frame, _) = walk_tb(trace)
        known = (*frame.f_locals, *frame.f_globals, *vars(builtins))
        if name and frame.f_globals is shell.user_ns:
            otherwise = "Have you run the cell that defines it?"
    elif isinstance(error, AttributeError) and str(error).endswith(f"attribute {name!r}"):
        known, otherwise = dir(error.obj), about_a_tuple(error).removeprefix(". ") or None
        *_, (frame, line) = walk_tb(trace)
        if error.obj is None and f".grad.{name}" in getline(frame.f_code.co_filename, line):
            otherwise = NO_GRAD_YET
    near = difflib.get_close_matches(name, [n for n in known if n[:1] != "_"], n=1, cutoff=0.7)
    return f"Did you mean {near[0]}?" if near else otherwise


def _chain(error: BaseException) -> list[BaseException]:
    """The error, and the errors that caused it."""
    met: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in met:
        met.append(current)
        current = current.__cause__ or current.__context__
    return met


def _is_internal(error: BaseException | None) -> bool:
    """Was this error raised and handled by minigrad, such as that a list has no `.array`?"""
    trace = None if error is None else error.__traceback__
    files = [frame.f_code.co_filename for frame, _ in walk_tb(trace)]
    return bool(files) and all(map(_is_ours, files))


def users_traceback(error: BaseException, trace: TracebackType | None) -> TracebackType | None:
    """The traceback without minigrad's frames, if the error is about the user's code.

    Also removes IPython's frames between a cell and one of its magics, the line of a cell magic,
    which only says that the cell ran, and the expression of a line magic, which has no source.
    """
    whole = trace
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    if not any(map(_is_ours, files)) or not _is_the_users(error, entries[-1]):
        return whole
    kept: list[TracebackType] = []
    in_a_cell = inside = False  # inside: in minigrad, or in what it calls until the user's code
    of_magic = -1
    for entry, file in zip(entries, files, strict=True):
        of_shell = file.startswith(_SHELL)
        called = inside and file.startswith((*_LIBRARIES, "<string>")) and "-packages" not in file
        inside = of_shell or called or _is_ours(file) or _of_torch(file)
        in_a_cell = in_a_cell or not inside
        if not inside or (of_shell and not in_a_cell):
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


def _of_torch(file: str) -> bool:
    return f"{os.sep}torch{os.sep}" in file and file.startswith(_LIBRARIES)


def _is_the_users(error: BaseException, entry: TracebackType) -> bool:
    """Is this error about the user's code, rather than a bug in minigrad?"""
    if isinstance(error, OSError | KeyboardInterrupt) or (
        isinstance(error, TypeError) and _OF_CALLS.search(str(error))
    ):
        return True
    code = entry.tb_frame.f_code
    if not _is_ours(file := code.co_filename):
        libraries = (*_LIBRARIES, "<frozen", "<__array_function__")
        return _of_torch(file) or not file.startswith(libraries)
    # NumPy's C functions have no frames. Their errors about an index or a value concern the user's
    # code, and so do errors from our `raise` statements.
    return isinstance(error, _OF_VALUES) or code.co_code[entry.tb_lasti] == opmap["RAISE_VARARGS"]
