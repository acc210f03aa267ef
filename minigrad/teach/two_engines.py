"""One program on two engines, PyTorch's and ours: both tapes, and their differences.

    both(program)        runs program(torch), then program(minigrad), and compares the tapes
    %%autograd --both    the same for a cell; see jupyter/magics.py

The nodes of the tapes are matched (tape/matching.py). Some things always differ: what a saved value
is called, and when a leaf's gradient is added. They are listed, but do not count.
"""

from __future__ import annotations

import base64
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from minigrad.core import display
from minigrad.methods.creation import tensor
from minigrad.random.generator import default_generator
from minigrad.tape.adapters import has_torch
from minigrad.tape.matching import Comparing, Mismatch
from minigrad.tape.names import count_of, namespace_of
from minigrad.tape.record import Tape, record
from minigrad.tape.render import draw
from minigrad.teach.report import Report

# What distinguishes the iterations of a loop: the #2 of a name, a version, numbers, and how much is left out
IN_A_LOOP = re.compile(r"#\d+| v\d+|(?<=[ \[])-?\d[^ ,;\]]*|(, [^ ,]*)*…")


@dataclass(frozen=True)
class MismatchRow:
    """One line of the report: what differs, once or, in a loop, several times."""

    mismatches: tuple[Mismatch, ...]
    note: str = ""

    @property
    def mismatch(self) -> Mismatch:
        """The first difference of this kind."""
        return self.mismatches[0]

    @property
    def ok(self) -> bool:
        """Do the two engines always differ in this respect?"""
        return self.mismatch.expected

    def cells(self) -> tuple[str, ...]:
        """What differs, on which line, and how it is on each tape."""
        many = f" ×{len(self.mismatches)}" if len(self.mismatches) > 1 else ""
        mismatch = self.mismatch
        return mismatch.what + many, mismatch.line, mismatch.theirs, mismatch.ours


def _rows(mismatches: list[Mismatch]) -> list[MismatchRow]:
    """The rows of the report: differences that count come first, and those of a loop's iterations are merged."""
    alike: dict[tuple[str, ...], list[Mismatch]] = {}
    for a in sorted(mismatches, key=lambda a: a.expected):
        shown = (IN_A_LOOP.sub("", text) for text in (a.theirs, a.ours))
        alike.setdefault((a.what, a.line, *shown), []).append(a)
    return [MismatchRow(tuple(found)) for found in alike.values()]


class BothTapes(Report[MismatchRow]):
    """Two tapes of one program, and their differences; true if the two engines always differ in all of these.

    torch, minigrad    the tapes: show one of them for its inspector. A step of one is a step of both
    matches            the nodes that belong together
    rows               what differs
    """

    header = ("differs in", "line", "PyTorch", "minigrad")
    widest = 60

    def __init__(self, name: str, theirs: Tape, ours: Tape) -> None:
        self.name, self.torch, self.minigrad = name, theirs, ours
        compared = Comparing(theirs.shown(), ours.shown())
        self.matches = compared.matches
        rows = _rows(compared.mismatches)
        pairs = sum(bool(m.theirs and m.ours) for m in self.matches)
        count = sum(not a.expected for a in compared.mismatches)
        found = f"{count_of(count, 'difference')}" if count else "no real differences"
        super().__init__(f"{name}: {count_of(pairs, 'node')} on both tapes, {found}", rows)
        self._link(compared)

    def _link(self, compared: Comparing) -> None:
        """Let each tape follow the steps of the other."""
        self.torch._then = partial(self.minigrad._follow, compared.steps(0))
        self.minigrad._then = partial(self.torch._follow, compared.steps(1))

    @property
    def footer(self) -> str:  # type: ignore[override]
        """The two pictures, side by side; what differs has a dashed frame."""
        marked = [
            {k for row in self.rows if not row.ok for a in row.mismatches for k in a.nodes[side]}
            for side in (0, 1)
        ]
        tapes = [("PyTorch", self.torch), ("minigrad", self.minigrad)]
        return (
            '<div style="display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start">'
            + "".join(_pictured(title, t, m) for (title, t), m in zip(tapes, marked))
            + "</div>"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        if display.shown_by("mode")() == "text":
            return {"text/plain": repr(self)}
        return super()._repr_mimebundle_(include, exclude)


def _pictured(title: str, tape: Tape, marked: set[str]) -> str:
    picture = draw.picture(tape.shown(), folded=True, marked=marked)
    source = base64.b64encode(picture.svg().encode()).decode()
    wide = round(0.5 * picture.width)  # with less room, one is below the other
    alt = escape(f"The tape {tape.name} of {title}")
    return (
        f'<figure style="margin: 0; flex: 0 1 {wide}px; max-width: 100%"><figcaption>{title}</figcaption>'
        f'<img alt="{alt}" style="max-width: 100%" src="data:image/svg+xml;base64,{source}"></figure>'
    )


def both(program: Callable[[ModuleType], object], name: str = "both") -> BothTapes:
    """Run a program with PyTorch, then with minigrad, and compare the tapes.

    program    a function of the module: it is called with torch, then with minigrad
    name       the name of the tapes

    Both runs get the same random numbers. If a run raises an error, its tape ends there, and
    the error is a line of the report. Raises ImportError if PyTorch is not imported.

    >>> def program(torch):
    ...     x = torch.tensor([1.0, 2.0], requires_grad=True)
    ...     (x * x).sum().backward()
    >>> minigrad.both(program)  # doctest: +SKIP
    both: 3 nodes on both tapes, no real differences
        differs in  line  PyTorch                                       minigrad
        names       2     MulBackward0 saves other = x v0, self = x v0  MulBackward0 saves y = x v0, x = x v0
    """
    torch, ours = imported_torch("minigrad.both"), sys.modules["minigrad"]
    names = partial(_names_in, getattr(program, "__code__", None))
    start = torch.get_rng_state().tolist()
    theirs, _ = run_recorded(name, lambda recording: program(torch), names)
    with random_numbers_from(start):
        mine, _ = run_recorded(name, lambda recording: program(ours), names)
    return BothTapes(name, theirs, mine)


def imported_torch(who: str) -> ModuleType:
    """PyTorch; ImportError, with what to do, if it is not imported, or too old."""
    if has_torch():
        return sys.modules["torch"]
    why, fix = "imported", "write  import torch  first."
    if hasattr(sys.modules.get("torch"), "_C"):
        why, fix = "new enough", "run  pip install --upgrade torch."
    elif importlib.util.find_spec("torch") is None:
        why = "installed here"
        fix = "run  pip install torch;  %%autograd and minigrad.record() work without it."
    raise ImportError(
        f"{who} also runs the program on PyTorch, but PyTorch is not {why}. To fix it, {fix}"
    )


def run_recorded(
    name: str,
    run: Callable[[record], object],
    names: Callable[[], Mapping[str, Any]],
    home: str | None = None,
) -> tuple[Tape, Exception | None]:
    """Run something, and record it: the tape, and the error that stopped it.

    names    returns the variables where tensor names are looked up
    home     the file or cell that is recorded
    """
    __tracebackhide__ = True
    recording, error = record(name, namespace=names), None
    try:
        with recording as tape:
            tape.home = home or tape.home
            run(recording)
    except Exception as e:
        error = e
    return tape, error


@contextmanager
def random_numbers_from(state: list[int]) -> Iterator[None]:
    """Within this block, our generator continues from a state of PyTorch's generator."""
    before = default_generator.get_state()
    default_generator.set_state(tensor(state, dtype=np.dtype(np.uint8)))
    try:
        yield
    finally:
        default_generator.set_state(before)


def _names_in(code: CodeType | None) -> Mapping[str, Any]:
    """The variables of the function that runs this code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return {} if frame is None else namespace_of(frame)
