"""The panel that %progress shows: the exercises of this session, and which are solved.

It is only a display. When an exercise reports a change (question.WATCHING), the panel updates its
state, and static/progress.js draws the differences. There is one panel in a session.
"""

from __future__ import annotations

from typing import Any

import traitlets

from minigrad.jupyter.widgets import Live
from minigrad.teach import question

_panel: list[Panel] = []  # the panel of this session, after the first request


class Panel(Live):
    """The exercises of this session, and which are solved.

    headline    "progress: 1 of 2 exercises solved"
    rows        for each exercise, a dict with name, state, checks, points, hints, and share, the
                percentage of its checks that pass
    """

    headline = traitlets.Unicode("").tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)

    def __init__(self) -> None:
        super().__init__("progress", **panel_state())
        question.WATCHING.append(self.refresh)

    def refresh(self) -> None:
        """Update the panel to the current state."""
        with self.hold_sync():  # one message, not one for each trait
            for name, value in panel_state().items():
                self.set_trait(name, value)

    def close(self) -> None:
        """Stop updating."""
        if self.refresh in question.WATCHING:
            question.WATCHING.remove(self.refresh)
            _panel[:] = [other for other in _panel if other is not self]
        super().close()

    def __repr__(self) -> str:
        return f"Panel({self.headline!r})"


def panel_state() -> dict[str, Any]:
    """The panel's content as plain data."""
    now = question.progress()
    columns = ("name", "state", "checks", "points", "hints", "share")
    rows = [dict(zip(columns, (*row.cells(), row.share), strict=True)) for row in now.rows]
    return {"headline": now.headline, "rows": rows}


def panel() -> Panel:
    """The panel of this session, up to date."""
    if not _panel:
        _panel.append(Panel())
    _panel[0].refresh()
    return _panel[0]
