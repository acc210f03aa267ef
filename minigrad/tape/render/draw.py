"""Drawing: the document as a picture.

A box is one node. Its upper part shows the forward pass: the name of the tensor, its shape, the
expression, the line, and the value (thumbnail.py). Its lower part shows the backward pass: the
`grad_fn` of the tensor, or the `AccumulateGrad` of a leaf. So one picture shows both graphs: data
flows down along the solid arrows, and gradients flow up along the dashed arrows next to them,
from lower part to lower part.

    thick border       a leaf that requires a gradient
    dashed border      a leaf that does not
    thick bar          the tape stops here (no_grad, detach): no gradient leaves the box
    v0 v1              versions of one tensor after in-place writes, joined by a double line
    saved y @v0        a saved value, on the node that saved it, with its version; an empty
                       outline after it was freed, a cross if it has changed
    ①, ②               after a backward pass: the order in which the nodes ran
    1 of 2             at the end of an arrow: the number of this contribution
    hatched            freed by a backward pass
    faded              not needed by the backward pass

The colors are from Okabe and Ito, and no information is given by color alone. The inspector
animates the picture, from the same document.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from minigrad.tape.document import Document, NodeId, PictureView, TapeEdge, TapeNode, TitledColumn
from minigrad.tape.names import count_of, short
from minigrad.tape.render import style
from minigrad.tape.render.boxes import TOP, Sizes
from minigrad.tape.render.canvas import Canvas, drawn_heat_map, hatching
from minigrad.tape.render.shapes import (
    Group,
    Item,
    Lines,
    Picture,
    Rect,
    Scene,
    Words,
    polygons,
    straight,
)
from minigrad.tape.render.style import text_width
from minigrad.tape.state import TapeState

MARGIN = 28.0
TITLE = 58.0
COLUMN = 30.0  # the height of the column titles, above the view
LEGEND_ROW = 26.0
PER_ROW = 4  # legend entries in a row


NOTHING = "Nothing was recorded: no operation on a tensor ran."


def headline(document: Document, folded: bool = False) -> tuple[str, str]:
    """The two lines above the picture."""
    folding = _folding(document, folded)
    if document.program is not None:
        return document.program.headline, document.program.note + folding
    ops = sum(n.kind == "op" for n in document.nodes)
    leaves = sum(n.kind == "leaf" and not n.updated for n in document.nodes)
    first = f"{count_of(ops, 'operation')}, {count_of(leaves, 'leaf', 'leaves')}"
    second = "no backward pass yet" if document.nodes else NOTHING
    if document.backward:
        last, count = document.backward[-1], len(document.backward)
        which = f"backward {last.number} of {count}" if count > 1 else "backward"
        second = f"{which}: {count_of(last.steps, 'node')} ran"
        if last.error is not None:
            second += f", then {short(last.error.partition(':')[0])}"
    second += folding
    if document.error is not None:
        what = short(document.error.text.partition(":")[0])
        second = (
            second.removesuffix(".")
            + "; the code stopped"
            + f" with {what}" * (f", then {what}" not in second)
        )
    return first, second


def _view(document: Document, folded: bool) -> PictureView:
    """The view to draw: the first, or the folded one if there is one."""
    return next((v for v in document.views if folded and v.id == "folded"), document.views[0])


def _folding(document: Document, folded: bool) -> str:
    view = _view(document, folded) if document.views else None
    if view is None or not (view.folded or view.id == "folded"):
        return ""
    return f"; {len(document.nodes)} nodes folded into {count_of(len(view.boxes), 'box', 'boxes')}"


def picture(
    document: Document,
    step: int | None = None,
    *,
    folded: bool = False,
    marked: Collection[NodeId] = (),
    moving: bool = False,
) -> Picture:
    """The picture of the document, at the end or after a step.

    folded    with 25 boxes or more, draw each module and each loop iteration as one box
    marked    nodes that get a dashed frame
    moving    fade what has not run yet, and give the box of the step a thick border
    """
    canvas = Canvas(document, _view(document, folded), Sizes(document, step), moving)
    view, columns = canvas.view, canvas.view.columns or []
    lines = headline(document, folded)
    name = short(document.name)
    indent = text_width(name, 17, mono=True) + 14  # where the first line begins
    title = [
        Words(MARGIN, 36, name, 17, bold=True, mono=True),
        Words(MARGIN + indent, 36, lines[0], 13, style.FAINT),
        Words(MARGIN, 57, lines[1], 13, style.ERROR if "stopped" in lines[1] else style.FAINT),
    ]
    legend = signs_of(document, view, canvas.state)
    texts = indent + text_width(lines[0], 13), text_width(lines[1], 13), sum(_columns(legend))
    width = max(view.width, *texts) + 2 * MARGIN
    canvas.dx = round((width - view.width) / 2)
    first = min((r.label.x for r in view.routes if r.label), default=0)
    if canvas.dx + first < MARGIN:  # a text beside an arrow begins left of all boxes
        width, canvas.dx = width + MARGIN - first - canvas.dx, round(MARGIN - first)
    canvas.dy = MARGIN + TITLE + (COLUMN if columns else 0)
    bottom = canvas.dy + view.height + 34
    height = bottom + LEGEND_ROW * -(-len(legend) // PER_ROW) + MARGIN
    shapes: Scene = [*title]
    for c in columns:
        shapes += _column(c, canvas.dx, canvas.dy, view.height)
    shapes += [canvas.route(k, r) for k, r in enumerate(view.routes)]
    shapes += [canvas.chip(k, chip) for k, chip in enumerate(view.chips)]
    shapes += _boxes(canvas, marked, moving)
    shapes += _culprit(canvas)
    shapes += draw_legend(legend, bottom)
    width = max(width, _right_edge(shapes) + 10)  # space for text next to an arrow at the right
    ground = Rect(0, 0, width, height, "#FFFFFF")
    described = document.name + ": " + "; ".join(lines)
    return Picture(width, height, [ground, *shapes], canvas.prefix, described)


def _boxes(canvas: Canvas, marked: Collection[NodeId], moving: bool) -> Iterator[Group | Item]:
    """The boxes of the view; with `moving`, the one of the step has a thick border."""
    document, now = canvas.document, canvas.state.node if moving else None
    phase = document.steps[canvas.state.step - 1].phase if now else "forward"
    ink = style.BACKWARD_INK if phase == "backward" else style.FORWARD
    current = _boxes_of(document, now) if now else []
    for key, place in canvas.view.boxes.items():
        group = canvas.groups.get(key)
        drawn = (
            canvas.node(document.node(key), place) if group is None else canvas.group(group, place)
        )
        x, y, w, h = canvas.at(place)
        if key in current:
            border = Rect(x, y, w, h, "none", ink, 4.0, "", 7)
            drawn = replace(drawn, items=(*drawn.items, border))
        yield drawn
        if key in marked:
            yield Rect(x - 6, y - 6, w + 12, h + 12, "none", style.ERROR, 2.0, "7 4", 10)


def _boxes_of(document: Document, key: NodeId) -> list[str]:
    """The boxes that can represent a node: its own, and those of the groups that contain it."""
    inside = {member: group.id for group in document.groups for member in group.members}
    boxes = [key]
    while boxes[-1] in inside:
        boxes.append(inside[boxes[-1]])
    return boxes


def _column(column: TitledColumn, dx: float, dy: float, height: float) -> Iterator[Item]:
    """The title of a column, and a line between it and the previous one."""
    x = column.x + dx
    yield Words(x, dy - 16, short(column.title, 80), 13, bold=True)
    if column.x > 0:
        left = x - column.gap / 2
        yield straight([((left, dy - 28), (left, dy + height))], style.FAINT, dash="2 6")


def _culprit(canvas: Canvas) -> list[Item]:
    """A line from the node whose saved value has changed to the op that wrote to it."""
    now, boxes = canvas.backward, canvas.view.boxes
    failed = boxes.get(now.failed or "")
    writer = boxes.get(now.conflict and now.conflict.by or "")
    if failed is None or writer is None:
        return []
    x0, y0, w0, _ = canvas.at(failed)
    x1, y1, w1, _ = canvas.at(writer)
    right = x1 >= x0 + w0  # is the writing op to the right? If not, go around on the right
    start = (x0 + w0, y0 + TOP + 8)
    end = (x1, y1 + 20) if right else (x1 + w1, y1 + 20)
    out = (start[0] + end[0]) / 2 if right else max(start[0], end[0]) + 34
    back = -9 if right else 9
    curve = ((out, start[1]), (out, end[1]), (end[0] + back, end[1]))
    tips = (end, (end[0] + back, end[1] - 4.5), (end[0] + back, end[1] + 4.5))
    label = "changed it"
    wide = text_width(label, 11, bold=True)
    left, base = (end[0] - 4, y1 - 22) if right else (end[0] - wide, y1 - 8)  # above the writing op
    plate = Rect(left - 2, base - 10, wide + 4, 13, "#FFFFFF")
    return [
        Lines(((start, (curve,)),), style.ERROR, 2.0, "2 3"),
        polygons([tips], style.ERROR),
        plate,  # the text may lie on an arrow
        Words(left, base, label, 11, style.ERROR, True),
    ]


def _right_edge(shapes: Scene) -> float:
    """The right edge of the texts in a picture."""
    items = (i for s in shapes if isinstance(s, Group) for i in s.items)
    words = (i for i in items if isinstance(i, Words) and i.anchor == "start")
    return max((w.x + text_width(w.text, w.size, bold=w.bold) for w in words), default=0.0)


# ---------------------------------------------------------------------- the legend


def signs_of(document: Document, view: PictureView, state: TapeState) -> list[tuple[str, str]]:
    """The symbols in this picture, with their meanings."""
    nodes = [document.node(key) for key in view.boxes if key[0] == "n"]
    edges = {e.id: e for e in document.edges}
    arrows = [[edges[e] for e in r.edges] for r in view.routes]
    program = document.program is not None
    signs = _signs_of_program(nodes) if program else _signs_of_tape(nodes, arrows, state)
    leaf = "a value" if program else "a leaf"
    signs.append((bool(view.chips), "chip", f"{leaf} drawn further up"))
    heat = any(n.thumbnail is not None and n.thumbnail.cells for n in nodes)
    signs.append((heat, "heat", "blue below zero, orange above"))
    return [(sign, meaning) for shown, sign, meaning in signs if shown]


Sign = tuple[bool, str, str]  # is it in the picture; its name; its meaning


def _signs_of_tape(
    nodes: list[TapeNode], arrows: list[list[TapeEdge]], state: TapeState
) -> list[Sign]:
    wanted = {n.requires_grad for n in nodes if n.kind == "leaf" or n.backward == "AccumulateGrad"}
    alone = [edges[0] for edges in arrows if len(edges) == 1]  # the others have no double line
    return [
        (True, "forward", "data, forward"),
        (any(e.gradient for edges in arrows for e in edges), "backward", "gradient, backward"),
        (True in wanted, "leaf", "leaf that requires grad"),
        (False in wanted, "plain", "leaf that does not"),
        (any(e.mark for e in alone), "inplace", "same memory: in place, or a view"),
        (any(n.made_by is not None for n in nodes), "second", "computed by a backward pass"),
        (any(n.stop for n in nodes), "stop", "the tape stops here"),
        (any(n.id in state.freed for n in nodes), "freed", "freed by a backward pass"),
        (any(n.id in state.backward.order for n in nodes), "order", "order in which nodes ran"),
    ]


def _signs_of_program(nodes: list[TapeNode]) -> list[Sign]:
    wanted = {n.requires_grad for n in nodes if n.kind == "leaf"}
    roles = {n.program.role for n in nodes if n.program is not None}
    return [
        (True, "forward", "data"),
        (True in wanted, "leaf", "input that gets a gradient"),
        (False in wanted, "plain", "other input or constant"),
        (bool(roles & {"run", "copy"}), "instruction", "instruction"),
        (bool(roles & {"rule", "sum"}), "rule", "written by a rule"),
        (any(n.view for n in nodes), "inplace", "a view: same memory"),
    ]


def _columns(signs: list[tuple[str, str]]) -> list[float]:
    """The widths of the columns of the legend: each is as wide as its widest entry."""
    rows = [signs[k : k + PER_ROW] for k in range(0, len(signs), PER_ROW)]
    return [
        max(44 + text_width(row[c][1], 11.5) + 18 for row in rows if c < len(row))
        for c in range(len(rows[0]))
    ]


def draw_legend(signs: list[tuple[str, str]], top: float) -> Iterator[Item]:
    """The symbols with their meanings, four in a row; `top` is the upper edge."""
    columns = _columns(signs)
    for k, (sign, meaning) in enumerate(signs):
        x = MARGIN + sum(columns[: k % PER_ROW])
        y = top + 18 + LEGEND_ROW * (k // PER_ROW)
        yield from _sign(sign, x, y)
        yield Words(x + 40, y + 4, meaning, 11.5, style.FAINT)


# The symbols that are boxes: fill, border, its thickness and dashes, radius.
_BOX_SIGNS = {
    "leaf": ("#FFFFFF", style.LEAF, 3.0, "", 4),
    "plain": ("#FFFFFF", style.FAINT, 1.4, "6 4", 4),
    "second": (style.SECOND_TINT, style.SECOND, 1.4, "2 3", 4),
    "instruction": (style.FORWARD_TINT, style.LINE, 1.2, "", 4),
    "rule": (style.BACKWARD_TINT, style.LINE, 1.2, "", 4),
    "freed": ("#FFFFFF", style.LINE, 1.0, "", 4),
    "chip": ("#FFFFFF", style.LEAF, 2.0, "", 8),
}


def _sign(sign: str, x: float, y: float) -> Iterator[Item]:
    if sign in _BOX_SIGNS:
        yield Rect(x + 2, y - 8, 28, 16, *_BOX_SIGNS[sign])
        if sign == "freed":
            yield hatching(x, y - 6, 30, 12)
    elif sign in ("forward", "inplace"):
        heights = (y - 2.2, y + 2.2) if sign == "inplace" else (y,)
        yield straight((((x, at), (x + 22, at)) for at in heights), style.FORWARD, 1.8)
        yield polygons([((x + 31, y), (x + 22, y - 4.5), (x + 22, y + 4.5))], style.FORWARD)
    elif sign == "backward":
        yield straight([((x + 9, y), (x + 31, y))], style.BACKWARD_INK, 1.8, "5 4")
        yield polygons([((x, y), (x + 9, y - 4.5), (x + 9, y + 4.5))], style.BACKWARD_INK)
    elif sign == "heat":
        yield from drawn_heat_map((x + 2, y - 8, 28, 16), ["ID049"])
        yield Rect(x + 2, y - 8, 28, 16, "none", style.LINE)
    elif sign == "stop":
        yield Rect(x + 2, y - 3, 28, 6, style.INK)
    else:
        yield Rect(x + 7, y - 9, 18, 18, style.BACKWARD_INK, radius=9)
        yield Words(x + 16, y + 4, "1", 11, "#FFFFFF", True, False, "middle")
