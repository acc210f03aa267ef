"""The legend of a picture: the symbols in it, with their meanings."""

from __future__ import annotations

from collections.abc import Iterable

from minigrad.tape import palette
from minigrad.tape.document import Document, PictureView, TapeEdge, TapeNode
from minigrad.tape.layout import text_width
from minigrad.tape.moment import Moment
from minigrad.tape.shapes import Cells, Disc, Hatching, Item, Line, Rect, Scene, Shape, Words

MARGIN = 28.0
LEGEND_ROW = 26.0


def signs_of(found: Document, view: PictureView, moment: Moment) -> list[tuple[str, str]]:
    """The symbols in this picture, with their meanings."""
    nodes = [found.node(key) for key in view.boxes if key[0] == "n"]
    edges = {e.id: e for e in found.edges}
    arrows = [edges[r.edges[0]] for r in view.routes]
    program = found.program is not None
    signs = _signs_of_program(nodes) if program else _signs_of_tape(nodes, arrows, moment)
    leaf = "a value" if program else "a leaf"
    signs.append((bool(view.chips), "chip", f"{leaf} drawn further up"))
    heat = any(n.thumbnail is not None and n.thumbnail.cells for n in nodes)
    signs.append((heat, "heat", "blue below zero, orange above"))
    return [(sign, meaning) for shown, sign, meaning in signs if shown]


Sign = tuple[bool, str, str]  # is it in the picture, its name, its meaning


def _signs_of_tape(nodes: list[TapeNode], arrows: list[TapeEdge], moment: Moment) -> list[Sign]:
    wanted = {n.requires_grad for n in nodes if n.kind == "leaf"}
    return [
        (True, "forward", "data, forward"),
        (any(e.gradient for e in arrows), "backward", "gradient, backward"),
        (True in wanted, "leaf", "leaf that requires grad"),
        (False in wanted, "plain", "leaf that does not"),
        (any(e.inplace for e in arrows), "inplace", "same tensor, next version"),
        (any(n.made_by is not None for n in nodes), "second", "computed by a backward pass"),
        (any(n.stop for n in nodes), "stop", "the tape stops here"),
        (bool(moment.freed), "freed", "freed by a backward pass"),
        (bool(moment.order), "order", "order in which nodes ran"),
    ]


def _signs_of_program(nodes: list[TapeNode]) -> list[Sign]:
    wanted = {n.requires_grad for n in nodes if n.kind == "leaf"}
    roles = {n.program.role for n in nodes if n.program is not None}
    return [
        (True, "forward", "data"),
        (True in wanted, "leaf", "differentiated by it"),
        (False in wanted, "plain", "there at first"),
        (bool(roles & {"run", "copy"}), "instruction", "instruction"),
        (bool(roles & {"rule", "sum"}), "rule", "written by a rule"),
        (any(n.view for n in nodes), "inplace", "a view: same memory"),
    ]


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
        shapes.append(Words(x + 40, y + 4, meaning, 11.5, palette.FAINT))
    return shapes


# The signs that are boxes: fill, border, its thickness and dashes, radius.
_BOX_SIGNS = {
    "leaf": ("#FFFFFF", palette.LEAF, 3.0, "", 4),
    "plain": ("#FFFFFF", palette.FAINT, 1.4, "6 4", 4),
    "second": (palette.SECOND_TINT, palette.SECOND, 1.4, "2 3", 4),
    "instruction": (palette.FORWARD_TINT, palette.LINE, 1.2, "", 4),
    "rule": (palette.BACKWARD_TINT, palette.LINE, 1.2, "", 4),
    "freed": ("#FFFFFF", palette.LINE, 1.0, "", 4),
    "chip": ("#FFFFFF", palette.LEAF, 2.0, "", 8),
}


def _sign(sign: str, x: float, y: float) -> Iterable[Item]:
    if sign in _BOX_SIGNS:
        yield Rect(x + 2, y - 8, 28, 16, *_BOX_SIGNS[sign])
        if sign == "freed":
            yield Hatching(x, y - 6, 30, 12, "#C9CED4")
    elif sign in ("forward", "inplace"):
        for shift in (-2.2, 2.2) if sign == "inplace" else (0.0,):
            yield Line((x, y + shift), (((x + 22, y + shift),),), palette.FORWARD, 1.8)
        yield Shape(((x + 31, y), (x + 22, y - 4.5), (x + 22, y + 4.5)), palette.FORWARD)
    elif sign == "backward":
        yield Line((x + 9, y), (((x + 31, y),),), palette.BACKWARD_INK, 1.8, "5 4")
        yield Shape(((x, y), (x + 9, y - 4.5), (x + 9, y + 4.5)), palette.BACKWARD_INK)
    elif sign == "heat":
        yield Cells(x + 2, y - 8, 28, 16, ("ID049",), palette.HEAT, palette.INK)
        yield Rect(x + 2, y - 8, 28, 16, "none", palette.LINE)
    elif sign == "stop":
        yield Rect(x + 2, y - 3, 28, 6, palette.INK)
    else:
        yield Disc(x + 16, y, 9, palette.BACKWARD_INK)
        yield Words(x + 16, y + 4, "1", 11, "#FFFFFF", True, False, "middle")
