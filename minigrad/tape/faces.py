"""What you can do with a tape or a program that is shown.

    step, select, at                 step through it
    text, svg, png, html, save       show it

A `Tape` (record.py) and a shown program (static/view.py) provide a document; everything
else is the same for both.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from minigrad.core import display
from minigrad.tape import draw, page, text
from minigrad.tape.moment import Moment
from minigrad.tape.names import near
from minigrad.tape.text import dot

_serial = count(1)


def reset_counter() -> None:
    """Number tapes from 1 again, as in a new kernel; `%load_ext minigrad` does this."""
    global _serial
    _serial = count(1)


class Faces:
    """The base class for objects that are shown from a document."""

    what = "tape"  # in error messages

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = next(_serial)
        self._document: dict[str, Any] | None = None
        self._drawn_at = -1
        self._step: int | None = None
        self._selected: str | None = None
        self._widget: Any = None

    def _edition(self) -> int:
        """A number that changes when the document must be rebuilt."""
        raise NotImplementedError

    def _made(self) -> dict[str, Any]:
        """Build the document."""
        raise NotImplementedError

    @property
    def document(self) -> dict[str, Any]:
        """Everything as plain data, ready for json.dumps; tape/trace.py documents it."""
        if self._document is None or self._drawn_at != self._edition():
            self._drawn_at = self._edition()
            self._document = self._made()
        return self._document

    # ---- stepping through it ---------------------------------------------------------

    @property
    def step(self) -> int:
        """The step that the inspector shows, from 0 (nothing has run) to the last."""
        last = len(self.document["steps"])
        return last if self._step is None else min(self._step, last)

    @step.setter
    def step(self, number: int) -> None:
        """Move an open inspector there, too. ValueError for a number that is no step."""
        last = len(self.document["steps"])
        if not isinstance(number, int) or not 0 <= number <= last:
            raise ValueError(f"{self.what}.step: a number from 0 to {last}, not {number!r}.")
        self._step = number
        if self._widget is not None:
            self._widget.step = number

    @property
    def selected(self) -> str | None:
        """The label of the node that is selected in the inspector, or None."""
        if self._selected is None:
            return None
        return str(next(n for n in self.document["nodes"] if n["id"] == self._selected)["label"])

    def select(self, name: str | None) -> None:
        """Select a node by the name of its tensor ("a", "a v1") or by its op ("MulBackward0").

        If several match, the latest is selected. Raises KeyError for a name that is not on the tape.
        """
        self._selected = None if name is None else self._find(name)
        if self._widget is not None:
            self._widget.selected = self._selected or ""

    def _find(self, name: str) -> str:
        nodes = self.document["nodes"]
        for key in ("id", "label", "name", "backward", "op"):
            for node in reversed(nodes):
                if node[key] == name:
                    return str(node["id"])
        known = [n["label"] for n in nodes]
        raise KeyError(
            f"{self.what}.select: there is no {name!r} on this {self.what}.{near(name, known)}"
        )

    def at(self, step: int | None = None, detail: int | None = None) -> Any:
        """The state after a step (by default, the step that is shown).

        detail    within a step of a backward pass, how many of its details have happened

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x + x
        ...     z.backward()
        >>> tape.at(4)
        step 4 of 6    backward 1
            just now  AddBackward0 of z took 1; sent 1 to mul#1, 1 to x. Ready now: mul#1.
            ready     MulBackward0 of mul#1
            waiting   AccumulateGrad of x (2 more)
        >>> tape.at(4).ready
        ('MulBackward0 of mul#1',)
        """
        return Moment.of(self.document, self.step if step is None else step, detail)

    # ---- output --------------------------------------------------------------------

    def text(self) -> str:
        """Everything as tables."""
        return text.text(self.document)

    def svg(self, step: int | None = None, *, folded: bool = False) -> str:
        """The picture, showing the state at the end or after a step.

        folded    from 25 boxes on, each module and each loop iteration is one box
        """
        return draw.svg(self.document, step, folded=folded)

    def png(self, step: int | None = None) -> bytes:
        """The picture as a bitmap, drawn by matplotlib."""
        return draw.png(self.document, step=step)

    def html(self) -> str:
        """The inspector as one page that needs no kernel and no network."""
        return page.html(self.document, self._step)

    def save(self, path: str | Path) -> Path:
        """Write it to a file; the extension sets the format.

        .html         the inspector, one self-contained page
        .svg .png     the picture
        .txt          the tables
        .json         the document
        .dot          the graph for Graphviz

        Raises ValueError for another extension.
        """
        import json

        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".png":
            path.write_bytes(self.png())
            return path
        if ending == ".svg":
            text = self.svg()
        elif ending in (".html", ".htm"):
            text = self.html()
        elif ending == ".txt":
            text = self.text() + "\n"
        elif ending == ".json":
            text = json.dumps(self.document, indent=1, ensure_ascii=False) + "\n"
        elif ending in (".dot", ".gv"):
            text = dot(self.document)
        else:
            raise ValueError(
                f"{self.what}.save: a name ends in .html, .svg, .png, .txt, .json or .dot,"
                f" not in {ending!r}."
            )
        path.write_text(text, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return self.text()

    def _ipython_display_(self) -> None:
        display.shown_by("come_alive")(self)
        raise NotImplementedError  # IPython also shows the bundle

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.shown_by("bundle")(self)
