"""Every exception that minigrad raises, and how a message is put together.

An error here teaches: it says what happened, where (the learner's own line), and how
to mend it. It also keeps the phrase that PyTorch uses, because that is what a learner
will search for, and it subclasses the exception that PyTorch raises, so that code
written for one is caught by the other.

    Place           a line of the learner's code, named as the learner knows it
    learner_line    the nearest line on the stack that is not minigrad's own
"""

import linecache
import os.path
import sys
from types import FrameType
from typing import Any, NamedTuple

_OUR_FOLDER = os.path.dirname(os.path.realpath(__file__))  # pathlib is slow to import


class Place(NamedTuple):
    """A line of somebody's code. The label and the text are looked up when asked for."""

    file: str
    line: int

    @property
    def label(self) -> str:
        """ "In [4], line 2" for a notebook cell, "lesson.py, line 2" for a file."""
        return f"{_cell_name(self.file) or os.path.basename(self.file)}, line {self.line}"

    @property
    def text(self) -> str:
        """The source line itself, without its indentation; "" where there is none."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.label}    {self.text}" if self.text else self.label


def learner_line() -> Place | None:
    """The nearest caller outside minigrad (and outside NumPy, which may stand between)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_ours(file):
            return tuple.__new__(Place, (file, frame.f_lineno))  # Place(...), in half the time
        frame = frame.f_back
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
    """ "In [4]" if the file name is one that IPython gave to a cell."""
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
        "    "
        + "    ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
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


class NotForDtype(DtypeError, NotImplementedError):
    """An operation that is not defined for this type of number."""


# ----------------------------------------------------- types of number that do not fit


def dtype_error(name: str, dtypes: list[str], error: Exception) -> Exception:
    """What NumPy's complaint about types of number means, in PyTorch's words."""
    if name in ("sub", "neg") and "Bool" in dtypes:
        word, kind = (
            ("Subtraction", "two bool tensors") if name == "sub" else ("Negation", "a bool tensor")
        )
        other = "`^` or `logical_xor()`" if name == "sub" else "`~` or `logical_not()`"
        return DtypeError(
            f"{word}, the `-` operator, {'with' if name == 'sub' else 'on'} {kind} is not supported. "
            f"To mend it, use the {other} operator instead."
        )
    if "ufunc" in str(error):
        return NotForDtype(f'"{name}" not implemented for {dtypes[0]!r}')
    return error


# ---------------------------------------------------------------- shapes that do not fit


def shape_error(
    name: str, shapes: list[tuple[int, ...]], settings: dict[str, Any], error: Exception
) -> Exception:
    """What NumPy's complaint about shapes means, in PyTorch's words and with a remedy."""
    if name in ("matmul", "mm", "bmm", "mv"):
        return _matmul_error(*shapes)
    if name in ("addmm", "addmv", "baddbmm") and shapes[1][-1] != shapes[2][-2:][0]:
        return _matmul_error(*shapes[1:])
    if name in ("addmm", "addmv", "baddbmm"):
        last = shapes[1][:-1] + (shapes[2][-1:] if len(shapes[2]) > 1 else ())
        return _broadcast_error(name, [shapes[0], last]) or ShapeError(f"{name}: {error}")
    if name in ("reshape", "view"):
        size = 1
        for n in shapes[0]:
            size *= n
        return ShapeError(
            f"shape '{list(settings['shape'])}' is invalid for input of size {size}: the tensor is "
            f"{shapes[0]}, and a view has exactly as many entries."
        )
    if name in ("cat", "stack"):
        return _cat_error(name, shapes, settings.get("axis", 0))
    if len(shapes) > 1:
        return _broadcast_error(name, shapes) or ShapeError(f"{name}: {error}")
    return ShapeError(f"{name} of a tensor of shape {shapes[0]}: {error}")


def _broadcast_error(name: str, shapes: list[tuple[int, ...]]) -> Exception | None:
    ndim = max(map(len, shapes))
    for i in range(1, ndim + 1):
        sizes = [s[-i] if len(s) >= i else 1 for s in shapes]
        large = {n for n in sizes if n != 1}
        if len(large) > 1:
            a, b = (n for n in dict.fromkeys(sizes) if n != 1)
            shown = " and ".join(str(s) for s in shapes)
            return ShapeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton "
                f"dimension {ndim - i}: {name} of shapes {shown}. Shapes are compared from the right; "
                "two sizes fit if they are equal or one of them is 1.",
                mend=_unsqueezed(shapes),
            )
    return None


def _unsqueezed(shapes: list[tuple[int, ...]]) -> str | None:
    """A new last axis that would make the shapes fit, if there is one."""
    if len(shapes) != 2:
        return None
    for which, (s, other) in {"b": (shapes[1], shapes[0]), "a": (shapes[0], shapes[1])}.items():
        padded = (*s, 1)
        if len(padded) <= len(other) and all(
            m == n or m == 1 for m, n in zip(padded[::-1], other[::-1], strict=False)
        ):
            return f"{which}.unsqueeze(-1), of shape {padded}"
    return None


def _matmul_error(x: tuple[int, ...], y: tuple[int, ...]) -> Exception:
    if not x or not y:
        return ShapeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{len(x)}D and {len(y)}D.",
            mend="x * y",
        )
    times = " and ".join("x".join(map(str, s)) for s in (x, y))
    inner = y[-2] if len(y) > 1 else y[0]
    if x[-1] == inner:
        return ShapeError(
            f"x @ y: x is {x} and y is {y}: the axes before the last two must be equal, or 1, so that "
            "they can be broadcast."
        )
    mend = None
    if len(y) > 1 and x[-1] == y[-1]:
        mend = "y.T" if len(y) == 2 else "y.mT"
    elif len(x) > 1 and x[-2] == inner:
        mend = "x.T" if len(x) == 2 else "x.mT"
    return ShapeError(
        f"mat1 and mat2 shapes cannot be multiplied ({times}): in x @ y the last axis of x ({x[-1]}) "
        f"must match the {'second-to-last' if len(y) > 1 else 'only'} axis of y ({inner}).",
        mend=mend,
    )


def _cat_error(name: str, shapes: list[tuple[int, ...]], axis: int) -> Exception:
    first = shapes[0]
    for k, s in enumerate(shapes):
        if len(s) != len(first):
            return ShapeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(s)} "
                f"({name} of {first} and {s})"
            )
        for i, (m, n) in enumerate(zip(first, s, strict=True)):
            if m != n and (i != axis or name == "stack"):
                if name == "stack":
                    return ShapeError(
                        f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                        f"and {list(s)} at entry {k}"
                    )
                return ShapeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {m} but got "
                    f"size {n} for tensor number {k} in the list."
                )
    return ShapeError(f"{name} of tensors of shapes {shapes}")
