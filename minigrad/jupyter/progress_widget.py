"""The progress panel: a widget that goes along while exercises are checked.

    view()      what a notebook is given to show it
    Panel       its state: a headline, and a row for each exercise that was declared

There is one panel in a session, and all its views agree. Whatever the exercises tell
(question.WATCHING), it writes its state anew, and only what differs travels to the browser,
where static/progress.js draws it. Nothing comes back: it is there to look at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from minigrad.jupyter.show import WIDGET
from minigrad.teach import question

STATIC = Path(__file__).parent / "static"
_panel: list[Panel] = []  # the one of this session, once it was asked for


class Panel(anywidget.AnyWidget):
    """What is solved in this session, as it is now.

    headline    "progress: 1 of 2 exercises solved"
    rows        for each exercise a dict of name, state, checks, points, hints, and share, the
                percentage of its checks that are right
    """

    _esm = STATIC / "progress.js"
    _css = STATIC / "progress.css"
    headline = traitlets.Unicode("").tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)

    def __init__(self) -> None:
        super().__init__(**state())
        question.WATCHING.append(self.refresh)

    def refresh(self) -> None:
        """Show what is solved now."""
        with self.hold_sync():  # one message, not one for each trait
            self.set_trait("headline", state()["headline"])
            self.set_trait("rows", state()["rows"])

    def close(self) -> None:
        """Go along no more."""
        if self.refresh in question.WATCHING:
            question.WATCHING.remove(self.refresh)
        super().close()

    def __repr__(self) -> str:
        return f"Panel({self.headline!r})"


def state() -> dict[str, Any]:
    """What the panel shows: plain data."""
    now = question.progress()
    rows = []
    for row in now.rows:
        name, words, checks, points, hints = row.cells()
        texts = {"name": name, "state": words, "checks": checks, "points": points, "hints": hints}
        rows.append({**texts, "share": row.share})
    return {"headline": now.headline, "rows": rows}


def view() -> dict[str, Any]:
    """The panel, as one of the forms in which a notebook may show the progress."""
    if not _panel:
        _panel.append(Panel())
    panel = _panel[0]
    panel.refresh()
    return {WIDGET: {"version_major": 2, "version_minor": 0, "model_id": panel.model_id}}
