"""The methods of everything that the inspector shows: tapes and static programs.

    step, select, at                 step through it
    text, svg, png, html, save       show it

A `Tape` (record.py) and a shown program (static/view.py) only provide a document.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from minigrad.core import display
from minigrad.tape.document import Document, plain
from minigrad.tape.names import near, printable
from minigrad.tape.render import animation, draw, page, text
from minigrad.tape.render.bitmap import rendered
from minigrad.tape.render.text import dot_text
from minigrad.tape.state import TapeState

_serial = count(1)


def reset_counter() -> None:
    """Number tapes from 1 again, as in a new kernel; `%load_ext minigrad` does this."""
    global _serial
    _serial = count(1)


class Inspectable:
    """The base class for objects that are shown from a document."""

    what = "tape"  # in error messages

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = next(_serial)
        self._document: Document | None = None
        self._json: dict[str, Any] | None = None
        self._drawn_at = -1
        self._step: int | None = None
        self._selected: str | None = None
        self._widget: Any = None
        self._then: Callable[[int], None] | None = None  # called when another step is shown

    def _edition(self) -> int:
        """A number that changes when the document must be rebuilt."""
        raise NotImplementedError

    def _made(self) -> Document:
        """Build the document."""
        raise NotImplementedError

    def shown(self) -> Document:
        """The document, rebuilt if more has been recorded."""
        if self._document is None or self._drawn_at != self._edition():
            self._drawn_at = self._edition()
            self._document, self._json = self._made(), None
        return self._document

    @property
    def document(self) -> dict[str, Any]:
        """All data, ready for json.dumps. See tape/document.py."""
        current = self.shown()  # without it, `_json` may be that of an earlier document
        self._json = self._json or plain(current)
        return self._json

    # ---- stepping through it ---------------------------------------------------------

    @property
    def step(self) -> int:
        """The step that the inspector shows, from 0 (nothing has run) to the last."""
        last = len(self.shown().steps)
        return last if self._step is None else min(self._step, last)

    @step.setter
    def step(self, number: int) -> None:
        """Go to a step, also in open inspectors. Raises ValueError if there is no such step."""
        last = len(self.shown().steps)
        if not isinstance(number, int) or not 0 <= number <= last:
            raise ValueError(f"{self.what}.step must be a number from 0 to {last}, not {number!r}.")
        self._moved(number)
        if self._widget is not None:
            self._widget.step = number

    def _moved(self, step: int) -> None:
        """Set the shown step, and move the tape that follows this one, if any."""
        self._step = step
        if self._then is not None:
            self._then(step)

    def _follow(self, steps: Sequence[int], step: int) -> None:
        """Go to the step that matches a step of another tape, without moving that tape."""
        then, self._then = self._then, None
        try:
            self.step = steps[min(step, len(steps) - 1)]
        finally:
            self._then = then

    @property
    def selected(self) -> str | None:
        """The label of the node that is selected in the inspector, or None."""
        return None if self._selected is None else self.shown().node(self._selected).label

    def select(self, name: str | None) -> None:
        """Select a node by the name of its tensor ("a", "a v1") or by its op ("MulBackward0").

        If several match, the latest is selected. Raises KeyError for a name that is not on the tape.
        """
        self._selected = None if name is None else self._find(name)
        if self._widget is not None:
            self._widget.selected = self._selected or ""

    def _find(self, name: str) -> str:
        nodes = self.shown().nodes
        for key in ("id", "label", "name", "named", "backward", "op"):
            for node in reversed(nodes):
                known = getattr(node, key)
                if name in (known if key == "named" else [known]):
                    return node.id
        similar = near(name, [n.label for n in nodes])
        raise KeyError(f"{self.what}.select: there is no {name!r} on this {self.what}.{similar}")

    def at(self, step: int | None = None, detail: int | None = None) -> TapeState:
        """The state after a step (by default, the step that is shown).

        detail    stop after this many details of the step (steps of a backward pass have several)

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x + x
        ...     z.backward()
        >>> tape.at(4)
        step 4 of 6    backward 1
            just now  AddBackward0 of z received 1; sent 1 to mul#1, 1 to x. Ready now: mul#1.
            ready     MulBackward0 of mul#1
            waiting   AccumulateGrad of x (2 more)
        >>> tape.at(4).ready
        ('MulBackward0 of mul#1',)
        """
        return TapeState.of(self.shown(), self.step if step is None else step, detail)

    # ---- output --------------------------------------------------------------------

    def text(self) -> str:
        """The tables, as text."""
        return text.text(self.shown())

    def svg(self, step: int | None = None, *, folded: bool = False) -> str:
        """The picture, showing the state at the end or after a step.

        folded    with 25 boxes or more, draw each module and each loop iteration as one box
        """
        return draw.picture(self.shown(), step, folded=folded).svg()

    def png(self, step: int | None = None) -> bytes:
        """The picture as a bitmap, drawn by matplotlib."""
        return rendered(draw.picture(self.shown(), step))

    def html(self) -> str:
        """The inspector as one self-contained page, which needs no kernel and no network.

        Saved as `tape.html`, the link `tape.html#step=12&node=z` opens it after step 12, with z pinned.
        """
        return page.html(self.shown(), self._step)

    def save_steps(self, folder: str | Path, steps: Iterable[int] | None = None) -> list[Path]:
        """Write a picture for each step into a folder, for slides: step-00.svg, step-01.svg, ...

        steps     which steps; by default all, from 0, before anything has run
        returns   the paths

        All pictures have the same size. Nodes that have not run yet are faded, and a sentence about the
        step is below.
        """
        return animation.save_steps(self.shown(), folder, steps)

    def save(self, path: str | Path) -> Path:
        """Write it to a file; the extension sets the format.

        .html         the inspector, one self-contained page
        .svg .png     the picture
        .gif          an animation, step by step; save_steps() writes its frames as SVG files
        .txt          the tables
        .json         the document
        .dot          the graph for Graphviz

        Raises ValueError for another extension.
        """
        path = Path(os.fspath(path))  # its error is the same in each version of Python
        ending = path.suffix.lower()
        writers: dict[str, Callable[[], str | bytes]] = {
            ".png": self.png,
            ".gif": lambda: animation.gif(self.shown()),
            ".svg": self.svg,
            ".html": self.html,
            ".htm": self.html,
            ".txt": lambda: self.text() + "\n",
            ".json": lambda: json.dumps(self.document, indent=1, ensure_ascii=False) + "\n",
            ".dot": lambda: dot_text(self.shown()),
            ".gv": lambda: dot_text(self.shown()),
        }
        if ending not in writers:
            raise ValueError(
                f"{self.what}.save: the file name must end in .html, .svg, .png, .gif, .txt, .json "
                f"or .dot, not in {ending!r}."
            )
        written = writers[ending]()
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
        return path

    def __repr__(self) -> str:
        return printable(self.text())

    def too_large(self) -> str:
        """Why a notebook does not draw it, and what to do; "" if it does."""
        return ""

    def _ipython_display_(self) -> None:
        display.shown_by("show_widget")(self)
        raise NotImplementedError  # then IPython uses the MIME bundle

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.shown_by("bundle")(self)
