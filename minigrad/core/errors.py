"""Minigrad's exceptions, and the functions that build error messages.

An error message says what happened, where (the user's line), and how to fix it. It also
contains PyTorch's phrase, because that is what a user will search for. The exception
subclasses the one that PyTorch raises, so code written for one library catches the errors
of the other.

    Place               a line of the user's code, named as the user knows it
    user_line           the nearest line on the stack that is not in minigrad
    user_instruction    a faster user_line: place_of finds the line number later, if needed
"""

import linecache
import math
import os.path
import sys
import warnings
from collections.abc import Sequence
from itertools import zip_longest
from types import CodeType, FrameType
from typing import Any, NamedTuple

CO_OPTIMIZED = 1  # flag of a code object: a function with its own local variables
UNSHARED = 3  # references to a frame's dictionary of variables: the frame's, ours, and the call's that counts them

# pathlib is slow to import
_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# A pattern for Python's errors about a call with the wrong arguments.
OTHER_ARGUMENTS = r"\w>?\(\) (missing|takes|got) "


class Place(NamedTuple):
    """A line of code. The label and the text are looked up when needed."""

    file: str
    line: int

    @property
    def label(self) -> str:
        """ "In [4], line 2" for a notebook cell, "lesson.py, line 2" for a file."""
        return f"{_cell_name(self.file) or os.path.basename(self.file)}, line {self.line}"

    @property
    def text(self) -> str:
        """The source line without its indentation; "" if it is not available."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.label}    {self.text}" if self.text else self.label


Instruction = tuple[CodeType, int]  # code, and the position in its bytecode


def user_frame() -> FrameType | None:
    """The nearest caller outside minigrad (and outside NumPy, which may be in between)."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def variables_of(frame: FrameType) -> dict[str, object]:
    """A copy of the local variables of a frame, which does not keep what they hold alive.

    Before Python 3.13 a function's frame keeps the dictionary that is read here, and tensors in it
    would stay alive after the function has deleted them. So the dictionary is emptied, unless the
    function itself got it from locals().
    """
    seen = frame.f_locals
    variables = dict(seen)
    if frame.f_code.co_flags & CO_OPTIMIZED and type(seen) is dict:
        if sys.getrefcount(seen) == UNSHARED:
            seen.clear()
    return variables


def user_line() -> Place | None:
    """The line of user code that is running; None if the stack only contains minigrad's code."""
    frame = user_frame()
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def user_instruction(frame: FrameType | None = None) -> Instruction | None:
    """The bytecode instruction of the user's line: much faster to get than its line number.

    frame   where to start; by default, the caller
    """
    frame = frame or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def place_of(instruction: Instruction | None) -> Place | None:
    """The line that an instruction belongs to."""
    if instruction is None:
        return None
    code, position = instruction
    lines = (line for start, end, line in code.co_lines() if start <= position < end)
    return Place(code.co_filename, next(lines, None) or code.co_firstlineno)


def in_constructor() -> bool:
    """Is one of minigrad's layers being constructed or initialized?"""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        if frame.f_code.co_name in ("__init__", "reset_parameters", "_reset_parameters"):
            return True
        frame = frame.f_back
    return False


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line."""
    frame, n = sys._getframe(1), 2
    while frame.f_back is not None and is_ours[frame.f_code.co_filename]:
        frame, n = frame.f_back, n + 1
    warnings.warn(message, category, stacklevel=n)


def user_names(arrays: Sequence[Any]) -> list[str | None]:
    """The user's names for the tensors of these arrays, on the line that is running now.

    None for an array without a name there: a constant, or a value inside an expression.
    """
    frame = user_frame()
    if frame is None:
        return [None] * len(arrays)
    found: dict[int, str] = {}
    for names in (frame.f_globals, variables_of(frame)):  # local names take precedence
        for name, value in reversed(list(names.items())):
            if not name.startswith("_"):
                found[id(getattr(value, "array", value))] = name
    return [found.get(id(a)) for a in arrays]


_machinery = [_OUR_FOLDER, "<frozen", "<minigrad", "<__array_function__"]
_PYTHONS_FOLDER = os.path.dirname(os.__file__)  # of contextlib, copy, functools ...


def add_machinery(*paths: str) -> None:
    """Treat files whose paths start with one of these as part of minigrad, not of the user's program."""
    _machinery.extend(paths)
    is_ours.clear()


class _IsOurs(dict[str, bool]):
    """For each source file: is it part of minigrad, not of the user's program?"""

    def __missing__(self, file: str) -> bool:
        module = file.replace("\\", "/")
        self[file] = (
            file.startswith(tuple(_machinery))
            or "/numpy/" in module
            or (file.startswith(_PYTHONS_FOLDER) and "-packages" not in file)
        )
        return self[file]


is_ours = _IsOurs()


def _cell_name(file: str) -> str | None:
    """ "In [4]" if IPython gave this file name to a cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    number = getattr(shell.compile, "_filename_map", {}).get(file)
    return None if number is None else f"In [{number}]"


def aligned(rows: list[tuple[Any, ...]]) -> str:
    """Format rows in indented columns, for the details of an error message."""
    rows = [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["    ".join(["", *map(str.ljust, row, widths)]).rstrip() for row in rows]
    return "\n".join(lines)


def at(event: str, place: Place | None) -> str:
    """A line for an error message that says where an event happened; "" if that is unknown."""
    return "" if place is None else f"\n    {event}    {place}"


class AutogradError(RuntimeError):
    """An error about the tape: what was recorded, changed, or requested."""


class BackwardTwice(AutogradError):
    """The saved values of a node are gone: an earlier backward pass freed them."""


class SavedValueChanged(AutogradError):
    """A value that a rule needs has changed since the node was recorded."""


class LeafChangedInPlace(AutogradError):
    """An in-place operation was applied to a leaf that requires a gradient, or to a view of one."""


class NoGradient(AutogradError):
    """A gradient was requested for a tensor that the graph does not lead to."""


class LinAlgError(RuntimeError):
    """The matrix lacks the requested property, such as an inverse or a Cholesky factor."""


class ShapeError(RuntimeError):
    """Shapes are incompatible; `fix` is an expression that works."""

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message if fix is None else f"{message} To fix it, try  {fix}.")


class OutOfMemory(RuntimeError):
    """An array is too large for the memory of this machine. (PyTorch raises a plain RuntimeError.)"""


class DeviceError(AssertionError, RuntimeError):
    """A device other than the CPU was requested. PyTorch raises one or the other of these classes."""


class DtypeError(RuntimeError):
    """A dtype that an operation does not accept or cannot return."""


class NotForDtype(DtypeError, NotImplementedError):
    """An operation that is not defined for this dtype."""


# ----------------------------------------------------- dtypes that do not fit


def dtype_error(name: str, dtypes: list[str], error: Exception) -> Exception:
    """Translate NumPy's error about dtypes into PyTorch's terms."""
    numpys = "ufunc" in str(error) or "unsupported in linalg" in str(error)
    return wrong_kind(name, dtypes) if numpys or "Bool" in dtypes else error


def wrong_kind(name: str, dtypes: list[str]) -> Exception:
    """The error for an op applied to a dtype that it does not support."""
    if name in ("sub", "neg") and "Bool" in dtypes:
        what = "Negation, the `-` operator, on a bool tensor"
        fix = (
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead. For numbers, convert "
            "it: x.int()."
        )
        if name == "sub":
            what = "Subtraction, the `-` operator, with a bool tensor"
        if dtypes == ["Bool", "Bool"]:
            what = "Subtraction, the `-` operator, with two bool tensors"
            fix = "To fix it, use the `^` or `logical_xor()` operator instead."
        return DtypeError(f"{what} is not supported. {fix}")
    if name in ("relu", "hardtanh") and "Bool" in dtypes:
        word = "Boolean" if name == "relu" else "Bool"
        return DtypeError(
            f"{word} inputs not supported for {name}. To fix it, convert it: x.float()."
        )
    return NotForDtype(
        f'"{name}" not implemented for {dtypes[0]!r}. To fix it, convert it: x.float().'
    )


def cannot_be_cast(name: str, result: str, own: str) -> DtypeError:
    """The error for a write whose result cannot be cast to the tensor's own dtype; both are PyTorch's names."""
    name = name.removeprefix("rounded_")  # users write div_(rounding_mode=)
    return DtypeError(
        f"result type {result} can't be cast to the desired output type {own}: {name}_ writes to the tensor "
        f"itself. To fix it, write  x = x.{name}(...)  (a new tensor), or convert x first."
    )


# ---------------------------------------------------------------- indices and shapes that do not fit


INDEX_WORDS = {
    "for axis": "for dimension",
    "indexing arrays": "indexing tensors",
    "numpy.newaxis (`None`) and integer or boolean arrays": "None and long or bool tensors",
}


def index_error(ndim: int, error: Exception) -> IndexError:
    """Translate NumPy's error about the index of a tensor with ndim axes into PyTorch's terms."""
    text = str(error)
    if "too many indices" in text:
        if ndim == 0:
            return IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number."
            )
        given = text.rpartition("but ")[2].partition(" ")[0]
        return IndexError(f"too many indices for tensor of dimension {ndim} (got {given})")
    for numpys, ours in INDEX_WORDS.items():
        text = text.replace(numpys, ours)
    return IndexError(text)


def memory_error(name: str, shapes: Sequence[tuple[int, ...]], error: Exception) -> OutOfMemory:
    """Translate NumPy's error about an array that does not fit into memory.

    shapes    the shapes of the operands; empty if the function makes a tensor from nothing
    """
    made, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    called = name or "a tensor"
    if shapes:
        called += f" of shape{'s' * (len(shapes) > 1)} {' and '.join(map(str, shapes))}"
    if isinstance(error, ValueError) and shapes:
        return OutOfMemory(
            f"Storage size calculation overflowed with sizes={list(shapes[0])}: can't allocate memory."
        )
    if made is None or dtype is None:
        return OutOfMemory(f"can't allocate memory: {called} needs more than is available.")
    n = math.prod(made) * dtype.itemsize
    message = (
        f"can't allocate memory: you tried to allocate {n} bytes ({n / 2**30:,.1f} GiB), for an array of shape {made}"
        f"{f' in {called}' if name else ''}."
    )
    if (
        len(shapes) == 2
        and len(shapes[0]) != len(shapes[1])
        and math.prod(shapes[0]) == math.prod(shapes[1])
    ):
        message += " Each entry of one was broadcast with each entry of the other. To fix it, give both the same shape."
    return OutOfMemory(message)


def _einsum_error(equation: str, shapes: Sequence[tuple[int, ...]]) -> Exception | None:
    """The error for a letter that names axes of different sizes; None if there is none."""
    seen: dict[str, int] = {}
    for k, (letters, shape) in enumerate(zip(equation.split("->")[0].split(","), shapes)):
        for c, n in zip(letters, shape):
            if n != 1 and seen.setdefault(c, n) != n:
                return ShapeError(
                    f"einsum(): subscript {c} has size {n} for operand {k} which does not broadcast with "
                    f"previously seen size {seen[c]}: {equation!r} of shapes {', '.join(map(str, shapes))}."
                )
    return None


def shape_error(
    name: str, arrays: Sequence[Any], settings: dict[str, Any], error: Exception
) -> Exception:
    """Translate NumPy's error about shapes into PyTorch's terms, with a fix."""
    shapes = [tuple(a.shape) for a in arrays]
    if name in ("matmul", "mm", "bmm", "mv"):
        return _matmul_error(shapes, user_names(arrays))
    if name in ("addmm", "addmv", "baddbmm") and shapes[1][-1] != shapes[2][-2:][0]:
        return _matmul_error(shapes[1:], user_names(arrays[1:]))
    if name in ("addmm", "addmv", "baddbmm"):
        last = shapes[1][:-1] + (shapes[2][-1:] if len(shapes[2]) > 1 else ())
        return _broadcast_error(name, [shapes[0], last]) or ShapeError(f"{name}: {error}")
    if name in ("reshape", "view"):
        wanted = settings["shape"]
        if wanted.count(-1) > 1:
            return ShapeError(
                f"only one dimension can be inferred: the shape {list(wanted)} contains -1 {wanted.count(-1)} times."
            )
        if -1 in wanted and 0 in wanted and 0 in shapes[0]:
            return ShapeError(
                f"cannot reshape tensor of 0 elements into shape {list(wanted)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous. To fix it, write the size."
            )
        return ShapeError(
            f"shape '{list(settings['shape'])}' is invalid for input of size {math.prod(shapes[0])}: the tensor is "
            f"{shapes[0]}, and the number of entries must stay the same."
        )
    if name == "index_put":
        target = arrays[0][settings["index"]].shape
        return ShapeError(
            f"shape mismatch: value tensor of shape {list(shapes[1])} cannot be broadcast to indexing result of "
            f"shape {list(target)}: the index selects entries of that shape."
        )
    if "mask" in settings:
        shapes.append(tuple(settings["mask"].shape))
    if name in ("cat", "stack"):
        return _cat_error(name, shapes, settings.get("axis", 0))
    if name == "einsum":
        return _einsum_error(settings["equation"], shapes) or ShapeError(f"{name}: {error}")
    if len(shapes) > 1:
        called = user_names(arrays)
        return _broadcast_error(name, shapes, called) or ShapeError(f"{name}: {error}")
    return ShapeError(f"{name} of a tensor of shape {shapes[0]}: {error}")


def _broadcast_error(
    name: str, shapes: list[tuple[int, ...]], called: Sequence[str | None] = ()
) -> Exception | None:
    """The error for shapes that cannot be broadcast; None if they can."""
    ndim = max(map(len, shapes))
    for axis in range(ndim - 1, -1, -1):
        sizes = [s[axis - ndim] if len(s) >= ndim - axis else 1 for s in shapes]
        large = [k for k, n in enumerate(sizes) if n != 1]
        differing = [k for k in large if sizes[k] != sizes[large[0]]]
        if differing:
            a, b = large[0], differing[0]
            given = {letter: dict(enumerate(called)).get(k) for letter, k in (("a", a), ("b", b))}
            who = " and ".join(
                f"{letter} is {word}"
                for letter, word in given.items()
                if word not in (None, letter)
            )
            a_or_name, b_or_name = (word or letter for letter, word in given.items())
            message = (
                f"The size of tensor a ({sizes[a]}) must match the size of tensor b ({sizes[b]}) at "
                f"non-singleton dimension {axis}: {name} of shapes {' and '.join(map(str, shapes))}"
                f"{', where ' + who if who else ''}. Shapes are compared from the right; two sizes fit "
                "if they are equal or one of them is 1."
            )
            fix = _shape_fix(a_or_name, b_or_name, *shapes) if len(shapes) == 2 else None
            if fix is None:
                message += (
                    f" To fix it, look at the lines that made {a_or_name} and {b_or_name}: at dimension {axis} "
                    "their sizes must be equal, or one of them must be 1."
                )
            return ShapeError(message, fix=fix)
    return None


def _shape_fix(a: str, b: str, x: tuple[int, ...], y: tuple[int, ...]) -> str | None:
    """An expression for one operand that makes the shapes fit: with a new axis, or transposed."""
    for name, s, other in ((b, y, x), (a, x, y)):
        for k in range(len(s), -1, -1):
            longer = (*s[:k], 1, *s[k:])
            if len(longer) <= len(other) and broadcastable(longer, other):
                return f"{name}.unsqueeze({-1 if k == len(s) else k}), of shape {longer}"
    for name, s, other in ((b, y, x), (a, x, y)):
        if len(s) == 2 and broadcastable(s[::-1], other):
            return f"{name}.T, of shape {s[::-1]}"
    return None


def broadcastable(s: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Can the two shapes be broadcast together?

    >>> broadcastable((2, 3), (3,)), broadcastable((2, 3), (2,))
    (True, False)
    """
    return all(m == n or 1 in (m, n) for m, n in zip(s[::-1], other[::-1], strict=False))


def _matmul_error(shapes: Sequence[tuple[int, ...]], called: Sequence[str | None]) -> Exception:
    """The error for a product of two arrays of these shapes, with the user's names for them."""
    (x, y), (left, right) = shapes, called
    left, right = left or "left", right or "right"
    if not x or not y:
        return ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(x)}D and {len(y)}D.",
            fix="* instead of @",
        )
    inner = y[-2] if len(y) > 1 else y[0]
    if x[-1] == inner:
        return ShapeError(
            f"{left} @ {right}: {left} is {x} and {right} is {y}: the axes before the last two must be equal, "
            "or 1, so that they can be broadcast."
        )
    fix = None
    if len(y) > 1 and x[-1] == y[-1]:
        fix = f"{left} @ {right}.{'T' if len(y) == 2 else 'mT'}"
    elif len(x) > 1 and x[-2] == inner:
        fix = f"{left}.{'T' if len(x) == 2 else 'mT'} @ {right}"
    sizes = "" if len(x) == len(y) == 2 else f", of shapes {x} and {y},"
    words = _product_message(x, y)
    return ShapeError(
        f"{words}{' In' if words.endswith('.') else ': in'} {left} @ {right}{sizes} the last axis of {left} "
        f"({x[-1]}) must match the {'second-to-last' if len(y) > 1 else 'only'} axis of {right} ({inner}).",
        fix=fix,
    )


def _product_message(x: tuple[int, ...], y: tuple[int, ...]) -> str:
    """PyTorch's message, which depends on the product that it computes for x @ y."""
    rows = math.prod(x[:-1])
    if len(x) == len(y) == 1:
        return (
            f"inconsistent tensor size, expected tensor [{x[0]}] and src [{y[0]}] to have the same number of "
            f"elements, but got {x[0]} and {y[0]} elements respectively"
        )
    if len(y) == 1:
        return f"size mismatch, got input ({rows}), mat ({rows}x{x[-1]}), vec ({y[0]})"
    if len(y) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x[-1]} and {y[0]}x{y[1]})"
    pairs = zip_longest(x[-3::-1], y[-3::-1], fillvalue=1)
    n = math.prod(max(pair) for pair in pairs)
    return f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {x[-1]}] but got: [{n}, {y[-2]}]."


def _cat_error(name: str, shapes: list[tuple[int, ...]], axis: int) -> Exception:
    first = shapes[0]
    for k, s in enumerate(shapes):
        if name == "stack" and s != first:
            return ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(s)} at entry {k}. To fix it, pad them to one shape, such as with "
                "nn.utils.rnn.pad_sequence; for a DataLoader, in a function collate_fn."
            )
        if len(s) != len(first):
            return ShapeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(s)} "
                f"({name} of {first} and {s})"
            )
        for i, (m, n) in enumerate(zip(first, s, strict=True)):
            if m != n and i != axis:
                return ShapeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {m} but got "
                    f"size {n} for tensor number {k} in the list."
                )
    return ShapeError(f"{name} of tensors of shapes {shapes}")
