"""The legend of a picture: the symbols in it, with their meanings; and the colors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.tape.layout import text_width
from minigrad.tape.moment import Moment
from minigrad.tape.shapes import Disc, Hatching, Item, Line, Rect, Scene, Shape, Words

Document = dict[str, Any]
Nodes = dict[str, dict[str, Any]]

# Okabe and Ito, Color universal design (2008), each with a tint and a text color.
FORWARD, FORWARD_TINT = "#E69F00", "#FFF6E0"
BACKWARD, BACKWARD_TINT, BACKWARD_INK = "#56B4E9", "#E6F4FC", "#0B5A8A"
LEAF = "#0072B2"
SECOND, SECOND_TINT = "#CC79A7", "#FAEEF4"  # what a backward pass computed, under create_graph
ERROR, ERROR_TINT = "#D55E00", "#FDEBDD"
INK, FAINT, LINE = "#1A1A1A", "#5F6670", "#8A929C"

MARGIN = 28.0
LEGEND_ROW = 26.0


def signs_of(view: Document, nodes: Nodes, edges: Nodes, moment: Moment) -> list[tuple[str, str]]:
    """The symbols in this picture, with their meanings."""
    if any(n["program"] for n in nodes.values()):
        return _signs_of_program(view, nodes)
    shown = [nodes[key] for key in view["boxes"] if key in nodes]
    arrows = [edges[r["edges"][0]] for r in view["routes"]]
    signs = [("forward", "data, forward")]
    if any(e["gradient"] for e in arrows):
        signs.append(("backward", "gradient, backward"))
    if any(n["kind"] == "leaf" and n["requires_grad"] for n in shown):
        signs.append(("leaf", "leaf that requires grad"))
    if any(n["kind"] == "leaf" and not n["requires_grad"] for n in shown):
        signs.append(("plain", "leaf that does not"))
    if any(e["inplace"] for e in arrows):
        signs.append(("inplace", "same tensor, next version"))
    if any(n["made_by"] is not None for n in shown):
        signs.append(("second", "computed by a backward pass"))
    if any(n["stop"] for n in shown):
        signs.append(("stop", "the tape stops here"))
    if moment.freed:
        signs.append(("freed", "freed by a backward pass"))
    if moment.order:
        signs.append(("order", "order in which nodes ran"))
    if view["chips"]:
        signs.append(("chip", "a leaf drawn further up"))
    return signs


def _signs_of_program(view: Document, nodes: Nodes) -> list[tuple[str, str]]:
    shown = [nodes[key] for key in view["boxes"] if key in nodes]
    roles = {n["program"]["role"] for n in shown}
    signs = [("forward", "data")]
    if any(n["kind"] == "leaf" and n["requires_grad"] for n in shown):
        signs.append(("leaf", "differentiated by it"))
    if any(n["kind"] == "leaf" and not n["requires_grad"] for n in shown):
        signs.append(("plain", "there at first"))
    if "run" in roles or "copy" in roles:
        signs.append(("instruction", "instruction"))
    if "rule" in roles or "sum" in roles:
        signs.append(("rule", "written by a rule"))
    if any(e for e in shown if e["view"]):
        signs.append(("inplace", "a view: same memory"))
    if view["chips"]:
        signs.append(("chip", "a value drawn further up"))
    return signs


PER_ROW = 4


def _columns(signs: list[tuple[str, str]]) -> list[float]:
    rows = [signs[k : k + PER_ROW] for k in range(0, len(signs), PER_ROW)]
    return [
        max(44 + text_width(row[c][1], 11.5) + 18 for row in rows if c < len(row))
        for c in range(len(rows[0]))
    ]


def width_of(signs: list[tuple[str, str]]) -> float:
    """The width of the whole legend in pixels: its columns are as wide as their widest sign."""
    return sum(_columns(signs))


def draw_legend(signs: list[tuple[str, str]], top: float) -> Scene:
    """The signs with their meanings, four in a row; `top` is their upper edge."""
    shapes: Scene = []
    columns = _columns(signs)
    for k, (sign, meaning) in enumerate(signs):
        x = MARGIN + sum(columns[: k % PER_ROW])
        y = top + 18 + LEGEND_ROW * (k // PER_ROW)
        shapes += _sign(sign, x, y)
        shapes.append(Words(x + 40, y + 4, meaning, 11.5, FAINT))
    return shapes


def _sign(sign: str, x: float, y: float) -> Iterable[Item]:
    if sign in ("forward", "inplace"):
        for shift in (-2.2, 2.2) if sign == "inplace" else (0.0,):
            yield Line((x, y + shift), (((x + 22, y + shift),),), FORWARD, 1.8)
        yield Shape(((x + 31, y), (x + 22, y - 4.5), (x + 22, y + 4.5)), FORWARD)
    elif sign == "backward":
        yield Line((x + 9, y), (((x + 31, y),),), BACKWARD_INK, 1.8, "5 4")
        yield Shape(((x, y), (x + 9, y - 4.5), (x + 9, y + 4.5)), BACKWARD_INK)
    elif sign == "leaf":
        yield Rect(x + 2, y - 8, 28, 16, "#FFFFFF", LEAF, 3.0, "", 4)
    elif sign == "plain":
        yield Rect(x + 2, y - 8, 28, 16, "#FFFFFF", FAINT, 1.4, "6 4", 4)
    elif sign == "second":
        yield Rect(x + 2, y - 8, 28, 16, SECOND_TINT, SECOND, 1.4, "2 3", 4)
    elif sign == "instruction":
        yield Rect(x + 2, y - 8, 28, 16, FORWARD_TINT, LINE, 1.2, "", 4)
    elif sign == "rule":
        yield Rect(x + 2, y - 8, 28, 16, BACKWARD_TINT, LINE, 1.2, "", 4)
    elif sign == "stop":
        yield Rect(x + 2, y - 3, 28, 6, INK)
    elif sign == "freed":
        yield Rect(x + 2, y - 8, 28, 16, "#FFFFFF", LINE, 1.0, "", 4)
        yield Hatching(x, y - 6, 30, 12, "#C9CED4")
    elif sign == "chip":
        yield Rect(x + 2, y - 8, 28, 16, "#FFFFFF", LEAF, 2.0, "", 8)
    else:
        yield Disc(x + 16, y, 9, BACKWARD_INK)
        yield Words(x + 16, y + 4, "1", 11, "#FFFFFF", True, False, "middle")
