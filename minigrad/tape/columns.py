"""Columns: a document whose nodes are in several pictures, side by side.

Each column is folded and laid out separately (fold.py); then we join their views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minigrad.tape.document import (
    Chip,
    Document,
    DrawnRoute,
    FoldedGroup,
    PictureView,
    TitledColumn,
)
from minigrad.tape.fold import MOST, Calls, Folding
from minigrad.tape.layout import text_width

COLUMN_GAP = 70.0  # between two columns of a picture


def fold_columns(
    found: Document, columns: Sequence[tuple[str, Sequence[int]]]
) -> tuple[list[FoldedGroup], list[PictureView]]:
    """Like `fold`, for a document whose nodes are in several columns, side by side.

    columns    for each, the title and the numbers of its nodes; no edge goes from one to another
    """
    groups: list[FoldedGroup] = []
    parts = []
    none: Calls = [()] * len(found.nodes)
    for title, members in columns:
        part = Folding(found, none, members, MOST // len(columns), len(groups))
        some, views = part.result()
        groups += some
        parts.append((title, {v.id: v for v in views}))
    names = dict.fromkeys(key for _, views in parts for key in views)
    joined = []
    for key in names:
        if key in ("root", "folded"):
            joined.append(beside(key, [(title, own.get(key, own["root"])) for title, own in parts]))
        else:
            joined += [own[key] for _, own in parts if key in own]
    return groups, joined


def beside(key: str, views: Sequence[tuple[str, PictureView]]) -> PictureView:
    """Join views into one: from left to right, aligned at the top."""
    columns: list[TitledColumn] = []
    moved: list[PictureView] = []
    x, chips = 0.0, 0
    for title, view in views:
        wide = max(view.width, text_width(title, 13, bold=True))
        columns.append(TitledColumn(title, x, COLUMN_GAP))
        moved.append(_moved(view, x + round((wide - view.width) / 2), chips))
        chips += len(view.chips)
        x += wide + COLUMN_GAP
    return PictureView(
        id=key,
        group=None,
        folded=any(view.folded for view in moved),
        width=x - COLUMN_GAP,
        height=max(view.height for view in moved),
        crossings=sum(view.crossings for view in moved),
        boxes={name: place for view in moved for name, place in view.boxes.items()},
        ports=[port for view in moved for port in view.ports],
        chips=[chip for view in moved for chip in view.chips],
        routes=[route for view in moved for route in view.routes],
        columns=columns,
    )


def _moved(view: PictureView, shift: float, chips: int) -> PictureView:
    """The view, moved to the right, with its chips numbered after those of other views."""

    def route(r: DrawnRoute) -> DrawnRoute:
        points = [(x + shift, y) for x, y in r.points]
        label, mark = (p and p._replace(x=p.x + shift) for p in (r.label, r.mark))
        chip = None if r.chip is None else r.chip + chips
        return replace(r, points=points, chip=chip, label=label, mark=mark)

    return replace(
        view,
        boxes={name: p._replace(x=p.x + shift) for name, p in view.boxes.items()},
        chips=[Chip(c.of, c.place._replace(x=c.place.x + shift)) for c in view.chips],
        routes=[route(r) for r in view.routes],
    )
