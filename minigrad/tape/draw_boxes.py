"""The boxes of a picture: nodes, folded groups, and chips that repeat a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minigrad.tape.boxes import BOTTOM, PAD, ROW_1, ROW_2, TOP, Sizes, chip_width, describe
from minigrad.tape.layout import text_width
from minigrad.tape.legend import (
    BACKWARD_INK,
    BACKWARD_TINT,
    ERROR,
    ERROR_TINT,
    FAINT,
    FORWARD_TINT,
    INK,
    LEAF,
    LINE,
    SECOND,
    SECOND_TINT,
)
from minigrad.tape.moment import Moment
from minigrad.tape.names import short
from minigrad.tape.shapes import Disc, Group, Hatching, Item, Line, Rect, Words

Document = dict[str, Any]
Node = dict[str, Any]


@dataclass
class Canvas:
    """What is drawn, at which moment, and its offset in the picture."""

    found: Document
    view: Document
    sizes: Sizes
    dx: float = 0.0
    dy: float = 0.0

    def __post_init__(self) -> None:
        self.moment: Moment = self.sizes.moment
        self.prefix = f"mg-{self.found['number']}"
        self.nodes: dict[str, Node] = {n["id"]: n for n in self.found["nodes"]}
        self.edges: dict[str, Node] = {e["id"]: e for e in self.found["edges"]}
        self.groups: dict[str, Node] = {g["id"]: g for g in self.found["groups"]}

    def at(self, place: Sequence[float]) -> tuple[float, float, float, float]:
        """A place of the layout (x, y, width, height), moved to where it is in the picture."""
        x, y, w, h = place
        return x + self.dx, y + self.dy, w, h


class Boxes:
    """Draws the content of a box, at the canvas's moment."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas

    def node(self, node: Node, place: Sequence[float]) -> Group:
        """The box of a tensor or an op. Its border tells leaf, second order and error.

        Nodes that the pass does not need are pale; saved values that are freed are hatched.
        """
        x, y, w, h = self.canvas.at(place)
        sizes, key = self.canvas.sizes, node["id"]
        leaf, wanted = node["kind"] == "leaf", node["requires_grad"]
        failed = self.canvas.moment.failed == key or node["kind"] == "failed"
        band = y + h - BOTTOM
        border, thick, dash = LINE, 1.2, ""
        if leaf:
            border, thick, dash = (LEAF, 3.0, "") if wanted else (FAINT, 1.4, "6 4")
        if node["made_by"] is not None:
            border, dash = SECOND, "2 3"
        if failed:
            border, thick = ERROR, 3.0
        tint = "#FFFFFF" if leaf else _tint(node)
        items: list[Item] = [Rect(x, y, w, h, tint, radius=7)]
        if wanted or failed:
            below = ERROR_TINT if failed else BACKWARD_TINT
            items += [Rect(x, band, w, BOTTOM, below, radius=7), Rect(x, band, w, 8, below)]
        if key in self.canvas.moment.freed:
            items.append(Hatching(x, y + TOP, w, h - TOP - 2, "#C9CED4"))
        items.append(
            Line((x, band), (((x + w, band),),), border, 1.0, "" if wanted or not leaf else "6 4")
        )
        items.append(Rect(x, y, w, h, "none", border, thick, dash, 7))
        if node["stop"]:
            items.append(Rect(x + 4, y - 3, w - 8, 6, INK))
        items += self._upper(node, x, y, w)
        items += self._chips(node, x + PAD, y + TOP)
        items += self._lower(node, x, band, w, failed)
        opacity = 0.45 if key in self.canvas.moment.pruned else 1.0
        return Group(f"{self.canvas.prefix}-{key}", describe(node, sizes), tuple(items), opacity)

    def _upper(self, node: Node, x: float, y: float, w: float) -> list[Item]:
        sizes, leaf = self.canvas.sizes, node["kind"] == "leaf"
        name = sizes.name(node)
        items: list[Item] = [Words(x + PAD, y + ROW_1, name, 14, bold=True, mono=True)]
        at = x + PAD + text_width(name, 14, mono=True) + 7
        for version, own in sizes.tabs(node):
            wide = text_width(version, 11, bold=True) + 10
            items += [
                Rect(at, y + ROW_1 - 12, wide, 16, INK if own else "#FFFFFF", INK, 1.0, "", 4),
                _middle(at + wide / 2, y + ROW_1, version, 11, "#FFFFFF" if own else INK),
            ]
            at += wide + 3
        items += [
            Words(x + w - PAD, y + ROW_1, sizes.shape(node), 11.5, FAINT, anchor="end"),
            Words(x + PAD, y + ROW_2, sizes.what(node), 12, FAINT if leaf else INK, mono=not leaf),
            Words(x + w - PAD, y + ROW_2, sizes.line(node), 11, FAINT, anchor="end"),
        ]
        return items

    def _chips(self, node: Node, x: float, y: float) -> list[Item]:
        items: list[Item] = []
        for text, look in self.canvas.sizes.chips(node):
            wide = chip_width(text, look)
            fill, stroke, dash, ink = _CHIP_LOOKS[look]
            items += [
                Rect(x, y, wide, 17, fill, stroke, 1.2, dash, 8),
                Words(x + 6, y + 12.5, text, 10.5, ink, look == "bad"),
            ]
            x += wide + 6
        return items

    def _lower(self, node: Node, x: float, band: float, w: float, failed: bool) -> list[Item]:
        items: list[Item] = []
        base, at, wanted = band + 17, x + PAD, node["requires_grad"]
        if failed or node["id"] in self.canvas.moment.order:
            mark = "×" if failed else str(self.canvas.moment.order[node["id"]])
            radius = 9.0 if len(mark) < 3 else 11.0
            items.append(Disc(at + 8, base - 4, radius, ERROR if failed else BACKWARD_INK))
            items.append(_middle(at + 8, base, mark, 11 if len(mark) < 3 else 9, "#FFFFFF"))
            at += 26
        ink = ERROR if node["kind"] == "failed" else BACKWARD_INK if wanted else FAINT
        items.append(Words(at, base, self.canvas.sizes.backward(node), 12, ink, bold=wanted))
        note = self.canvas.sizes.note(node)
        if note:
            items.append(
                Words(x + w - PAD, base, note, 11, ERROR if failed else BACKWARD_INK, anchor="end")
            )
        return items

    def group(self, group: dict[str, Any], place: Sequence[float]) -> Group:
        """A folded group: two cards on top of each other, with the number of operations."""
        x, y, w, h = self.canvas.at(place)
        title, count = short(group["title"]), many(group["count"], "operation")
        items: list[Item] = [Rect(x + 5, y - 5, w, h, "#FFFFFF", LINE, 1.0, "", 7)]
        items += [
            Rect(x, y, w, h, FORWARD_TINT, LINE, 1.6, "", 7),
            _middle(x + w / 2, y + 28, title, 14, INK),
            Words(x + w / 2, y + 47, count, 11, FAINT, anchor="middle"),
        ]
        return Group(
            f"{self.canvas.prefix}-{group['id']}", f"{title}, {count}, folded", tuple(items)
        )

    def leaf_chip(self, of: str, key: str, place: Sequence[float]) -> Group:
        """A chip that repeats a leaf far from its box; `of` is the leaf's id, `key` the chip's."""
        x, y, w, h = self.canvas.at(place)
        node = self.canvas.nodes[of]
        wanted = node["requires_grad"]
        stroke, dash = (LEAF, "") if wanted else (FAINT, "5 3")
        name = self.canvas.sizes.name(node)
        items: tuple[Item, ...] = (
            Rect(x, y, w, h, "#FFFFFF", stroke, 2.0, dash, h / 2),
            Words(x + w / 2, y + 15, f"↑ {name}", 12, anchor="middle", mono=True),
        )
        return Group(key, f"the leaf {name}, drawn further up", items)


def _tint(node: Node) -> str:
    if node["made_by"] is not None:
        return SECOND_TINT
    of = node["program"]
    return BACKWARD_TINT if of is not None and of["role"] in ("rule", "sum") else FORWARD_TINT


_CHIP_LOOKS = {  # fill, border, dash, ink
    "saved": ("#FFFFFF", BACKWARD_INK, "", BACKWARD_INK),
    "freed": ("none", FAINT, "3 3", FAINT),
    "bad": (ERROR_TINT, ERROR, "", ERROR),
    "memory": ("#FFFFFF", LEAF, "", LEAF),
    "tangent": ("#FFFFFF", "#009E73", "", "#00664B"),
}


def _middle(x: float, y: float, text: str, size: float, fill: str) -> Words:
    return Words(x, y, text, size, fill, True, False, "middle")


def many(n: int, what: str, plural: str | None = None) -> str:
    """ "1 leaf", "2 leaves"."""
    return f"{n} {what if n == 1 else plural or what + 's'}"
