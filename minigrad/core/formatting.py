"""Printing tensors, as in PyTorch.

Four digits after the decimal point, and the same width for all entries. Large tensors are abbreviated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse


@dataclass
class PrintOptions:
    """How tensors are printed; see `set_printoptions`."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None  # None: only if the numbers differ a lot in magnitude


PRINT_OPTS = PrintOptions()  # PyTorch's name: programs read it, and return to it later


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed from now on.

    precision   digits after the decimal point (4)
    threshold   with more entries than this, only the edges are shown (1000)
    edgeitems   how many entries are shown at each edge (3)
    linewidth   characters in a line (80)
    profile     "default", "short" (2 digits) or "full" (all entries): a preset for the others
    sci_mode    True or False: always or never write 1.0000e+02; None: depends on the numbers

    >>> set_printoptions(precision=2)
    >>> minigrad.tensor([1.0, 0.3333])
    tensor([1.00, 0.33])
    >>> set_printoptions(profile="default")
    """
    now = PRINT_OPTS
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 2**62, 3, 80)}
    if profile is not None:
        now.precision, now.threshold, now.edgeitems, now.linewidth = profiles[profile]
    now.precision = now.precision if precision is None else precision
    now.threshold = now.threshold if threshold is None else int(min(threshold, 2**62))
    now.edgeitems = now.edgeitems if edgeitems is None else edgeitems
    now.linewidth = now.linewidth if linewidth is None else linewidth
    now.sci_mode = sci_mode


def describe(x: Any) -> str:
    """The text of a tensor: its values, its dtype unless it is a default one, and its grad_fn."""
    if isinstance(x.array, RowSparse):
        rows = x.array
        return (
            f"tensor(indices=tensor([{values(rows.indices, 21)}]),\n"
            f"       values=tensor({values(rows.values, 21)}),\n"
            f"       size={rows.shape}, nnz={len(rows.indices)}, layout=minigrad.sparse_rows)"
        )
    array = np.asarray(x.array)
    notes = []
    if array.size == 0 and array.ndim != 1:
        notes.append(f"size={tuple(array.shape)}")
    usual = (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_, dtypes.of_number(1j))
    if array.dtype not in usual or (array.size == 0 and array.dtype != usual[0]):
        notes.append(f"dtype=minigrad.{array.dtype}")
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{x.grad_fn.name()}>")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    for level in modes.state.levels[::-1] if x._tangents else ():
        if level in x._tangents:  # show the innermost level
            notes.append(f"tangent={describe(x._tangents[level])}")
            break
    ours = type(x).__module__.startswith("minigrad")
    begin = "tensor(" if ours else f"{type(x).__name__}("
    text = begin + values(array, indent=len(begin))
    length = len(text.rpartition("\n")[2]) + 2  # as PyTorch counts
    for note in notes:
        more = len(note.replace("minigrad", "torch"))  # lines break where PyTorch's do
        if length + more + 2 > PRINT_OPTS.linewidth:
            text, length = text + ",\n" + " " * len(begin) + note, len(begin) + more
        else:
            text, length = f"{text}, {note}", length + more + 2
    return text + ")"


class _Style(NamedTuple):
    """How to write one entry, and the width that PyTorch uses to compute how many fit in a line."""

    write: Callable[[Any], str]
    width: int


def values(array: Array, indent: int = 0) -> str:
    """The entries in brackets, one row per line."""
    if array.size == 0:
        return "[]" if array.ndim else ""
    return _nested(array, _style(array), indent, array.size > PRINT_OPTS.threshold)


def _nested(array: Array, style: _Style, indent: int, shorten: bool) -> str:
    if array.ndim == 0:
        return style.write(array.item())
    shown: list[Any] = list(range(len(array)))
    edge = PRINT_OPTS.edgeitems
    if shorten and len(array) > 2 * edge:
        shown[edge:-edge] = [None]
    if array.ndim == 1:
        words = [" ..." if i is None else style.write(array[i].item()) for i in shown]
        return "[" + _wrapped(words, style.width, indent) + "]"
    rows = ["..." if i is None else _nested(array[i], style, indent + 1, shorten) for i in shown]
    gap: str = ",\n" + "\n" * (array.ndim - 2) + " " * (indent + 1)
    return "[" + gap.join(rows) + "]"


def _wrapped(words: list[str], width: int, indent: int) -> str:
    """Join words with commas, broken into lines of at most `linewidth` characters."""
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (width + 2))
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return (",\n" + " " * (indent + 1)).join(lines)


def _style(array: Array) -> _Style:
    """How to write the entries, with a width that fits all of them."""
    shown = _corners(array) if array.size > PRINT_OPTS.threshold else array
    if array.dtype.kind not in "fc":
        width = max(len(str(v)) for v in shown.ravel().tolist())
        return _Style(lambda v: str(v).rjust(width), width)
    if array.dtype.kind == "c":
        re, im = _float_style(shown.real), _float_style(shown.imag)

        def text(v: complex) -> str:
            imaginary = im.write(v.imag).strip()
            return f"{re.write(v.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"

        return _Style(text, re.width + im.width + 1)
    return _float_style(shown)


def _corners(array: Array) -> Array:
    edge = PRINT_OPTS.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge:
            array = array.take([*range(edge), *range(-edge, 0)], axis)
    return array


def _float_style(array: Array) -> _Style:
    # As in PyTorch, zeros and non-finite entries affect neither the style nor the width. If there are
    # no other entries, the width counts as 1, so that 24 zeros fit in a line.
    ordinary = array[np.isfinite(array) & (array != 0)]
    style = "{:.0f}."
    if ordinary.size:
        sizes = np.abs(ordinary).astype(np.float64)
        large, small = sizes.max(), sizes.min()
        scientific = PRINT_OPTS.sci_mode
        if scientific is None:
            scientific = large / small > 1000 or large > 1e8 or small < 1e-4
        if scientific or np.any(sizes != np.ceil(sizes)):
            style = f"{{:.{PRINT_OPTS.precision}{'e' if scientific else 'f'}}}"

    def text(v: float) -> str:
        return style.format(v) if math.isfinite(v) else str(v)

    width = max((len(text(v)) for v in ordinary.tolist()), default=1)
    return _Style(lambda v: text(v).rjust(width), width)
