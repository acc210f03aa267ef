"""Columns: a document whose nodes are in several pictures, side by side.

Each column is folded and laid out separately (fold.py); then we join their views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.tape.fold import MOST, Calls, Folding
from minigrad.tape.layout import text_width

COLUMN_GAP = 70.0  # between two columns of a picture

Document = dict[str, Any]


def fold_columns(
    found: Document, columns: Sequence[tuple[str, Sequence[int]]]
) -> tuple[list[Document], list[Document]]:
    """Like `fold`, for a document whose nodes are in several columns, side by side.

    columns    for each, the title and the numbers of its nodes; no edge goes from one to another
    """
    groups: list[Document] = []
    parts = []
    none: Calls = [()] * len(found["nodes"])
    for title, members in columns:
        part = Folding(found, none, members, MOST // len(columns), len(groups))
        some, views = part.result()
        groups += some
        parts.append((title, {v["id"]: v for v in views}))
    names = dict.fromkeys(key for _, views in parts for key in views)
    joined = []
    for key in names:
        if key in ("root", "folded"):
            joined.append(beside(key, [(title, own.get(key, own["root"])) for title, own in parts]))
        else:
            joined += [own[key] for _, own in parts if key in own]
    return groups, joined


def beside(key: str, views: Sequence[tuple[str, Document]]) -> Document:
    """Join views into one: from left to right, aligned at the top."""
    found: Document = {
        "id": key,
        "group": None,
        "folded": any(view["folded"] for _, view in views),
        "width": 0.0,
        "height": max(view["height"] for _, view in views),
        "crossings": sum(view["crossings"] for _, view in views),
        "boxes": {},
        "ports": [],
        "chips": [],
        "routes": [],
        "columns": [],
    }
    x = 0.0
    for title, view in views:
        wide = max(view["width"], text_width(title, 13, bold=True))
        shift = x + round((wide - view["width"]) / 2)
        first = len(found["chips"])
        found["columns"].append({"title": title, "x": x, "gap": COLUMN_GAP})
        for name, place in view["boxes"].items():
            found["boxes"][name] = [place[0] + shift, *place[1:]]
        for c in view["chips"]:
            found["chips"].append(c | {"place": [c["place"][0] + shift, *c["place"][1:]]})
        for r in view["routes"]:
            chip = None if r["chip"] is None else r["chip"] + first
            points = [[px + shift, py] for px, py in r["points"]]
            found["routes"].append(r | {"points": points, "chip": chip})
        found["ports"] += view["ports"]
        x += wide + COLUMN_GAP
    found["width"] = x - COLUMN_GAP
    return found
