"""Drawing: the document as a picture.

A box is one node. Its upper part belongs to the forward pass: the name of the tensor,
its shape, what was computed, on which line. Its lower part belongs to the backward
pass: the `grad_fn` of the tensor, or the `AccumulateGrad` of a leaf. So the two graphs,
of data and of gradients, are one picture: data flows down along the solid arrows, and
gradients flow up along the dashed ones beside them, from lower part to lower part.

    thick border       a leaf that requires a gradient
    dashed border      a leaf that does not
    thick bar          the tape stops here (no_grad, detach): no dashed arrow leaves the box
    v0 v1              versions of one tensor, joined by a double line: in place
    saved y @v0        a value that was saved, on the node that saved it, with its version;
                       an empty outline once it was freed, a cross where it has changed
    ①, ②               after a backward pass: the order in which the nodes ran
    1 of 2             at the end of an arrow: which contribution this was
    hatched            freed by a backward pass
    faded              not needed by the backward pass

Colors are Okabe and Ito's, and none of them says anything alone. What moves is the
inspector's business, from the same document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minigrad.tape.boxes import BOTTOM, PAD, ROW_1, ROW_2, TOP, Sizes, chip_width, describe
from minigrad.tape.boxes import versioned as versioned
from minigrad.tape.layout import text_width
from minigrad.tape.legend import (
    BACKWARD,
    BACKWARD_INK,
    BACKWARD_TINT,
    ERROR,
    ERROR_TINT,
    FAINT,
    FORWARD,
    FORWARD_TINT,
    INK,
    LEAF,
    LEGEND_ROW,
    LINE,
    MARGIN,
    PER_ROW,
    SECOND,
    SECOND_TINT,
    draw_legend,
    signs_of,
    width_of,
)
from minigrad.tape.names import clean, short
from minigrad.tape.shapes import (
    Anchor,
    Disc,
    Group,
    Hatching,
    Item,
    Line,
    Point,
    Rect,
    Scene,
    Shape,
    Words,
)
from minigrad.tape.shapes import esc as esc
from minigrad.tape.shapes import png as as_png
from minigrad.tape.shapes import svg as as_svg

Document = dict[str, Any]
Node = dict[str, Any]

APART = 6.0  # half the distance between an arrow and the gradient's arrow beside it
TITLE = 58.0


def svg(found: Document, step: int | None = None) -> str:
    """The picture as SVG text, as things stand at the end or after a step."""
    width, height, shapes = scene(found, step)
    first, second = headline(found)
    title = found["name"] + ": " + first + "; " + second
    return as_svg(width, height, shapes, f"mg-{found['number']}", title)


def png(found: Document, scale: float = 2.0, step: int | None = None) -> bytes:
    """The same picture as a bitmap, `scale` pixels to the unit; needs matplotlib."""
    return as_png(*scene(found, step), scale)


# ---------------------------------------------------------------------- the scene


def scene(found: Document, step: int | None = None) -> tuple[float, float, Scene]:
    """Width, height and shapes of the picture."""
    return _Picture(found, step).scene()


def headline(found: Document) -> tuple[str, str]:
    """The two lines above the picture."""
    ops = sum(n["kind"] == "op" for n in found["nodes"])
    leaves = sum(n["kind"] == "leaf" for n in found["nodes"])
    first = f"{_many(ops, 'operation')}, {_many(leaves, 'leaf', 'leaves')}"
    ran = found["backward"]
    if not ran:
        second = "no backward pass yet"
    else:
        last = ran[-1]
        which = f"backward {last['number']} of {len(ran)}" if len(ran) > 1 else "backward"
        second = f"{which}: {_many(last['steps'], 'node')} ran"
        if last["error"] is not None:
            second += f", then {short(last['error'].partition(':')[0])}"
    if found["views"] and found["views"][0]["folded"]:
        boxes = len(found["views"][0]["boxes"])
        second += f"; {len(found['nodes'])} nodes folded into {_many(boxes, 'box', 'boxes')}"
    if found["error"] is not None:
        second += f"; the code stopped with {short(found['error']['text'].partition(':')[0])}"
    return first, second


def _many(n: int, what: str, plural: str | None = None) -> str:
    return f"{n} {what if n == 1 else plural or what + 's'}"


class _Picture:
    """The first view of a document, at one moment."""

    def __init__(self, found: Document, step: int | None) -> None:
        self.found, self.view = found, found["views"][0]
        self.sizes = Sizes(found, step)
        self.moment = self.sizes.moment
        self.prefix = f"mg-{found['number']}"
        self.nodes = {n["id"]: n for n in found["nodes"]}
        self.edges = {e["id"]: e for e in found["edges"]}
        self.groups = {g["id"]: g for g in found["groups"]}
        self.flow = {
            (a.sender, a.edge): (a.arrived, a.expected)
            for arrivals in self.moment.arrived.values()
            for a in arrivals
        }
        self.leaving = Counter(r["from"] for r in self.view["routes"])
        self.dx = self.dy = 0.0

    def scene(self) -> tuple[float, float, Scene]:
        view = self.view
        legend = signs_of(self.view, self.nodes, self.edges, self.moment)
        width = max(view["width"], width_of(legend), _title_width(self.found)) + 2 * MARGIN
        self.dx, self.dy = round((width - view["width"]) / 2), MARGIN + TITLE
        rows = -(-len(legend) // PER_ROW)
        bottom = self.dy + view["height"] + 34
        height = bottom + LEGEND_ROW * rows + MARGIN
        shapes: Scene = [Rect(0, 0, width, height, "#FFFFFF")]
        shapes += _title(self.found)
        shapes += [self._route(k, r) for k, r in enumerate(view["routes"])]
        for k, chip in enumerate(view["chips"]):
            shapes.append(self._leaf_chip(chip["of"], f"{self.prefix}-c{k}", chip["place"]))
        for key, place in view["boxes"].items():
            if key in self.groups:
                shapes.append(self._group_box(self.groups[key], place))
            else:
                shapes.append(self._box(self.nodes[key], place))
        shapes += self._culprit()
        shapes += draw_legend(legend, bottom)
        beyond = _right_edge(shapes) + 10
        if beyond > width:  # words beside an arrow at the right
            width = beyond
            shapes[0] = Rect(0, 0, width, height, "#FFFFFF")
        return width, height, shapes

    def _at(self, place: Sequence[float]) -> tuple[float, float, float, float]:
        x, y, w, h = place
        return x + self.dx, y + self.dy, w, h

    # ---- boxes -------------------------------------------------------------------

    def _box(self, node: Node, place: Sequence[float]) -> Group:
        x, y, w, h = self._at(place)
        sizes, key = self.sizes, node["id"]
        leaf, wanted = node["kind"] == "leaf", node["requires_grad"]
        failed = self.moment.failed == key or node["kind"] == "failed"
        band = y + h - BOTTOM
        border, thick, dash = LINE, 1.2, ""
        if leaf:
            border, thick, dash = (LEAF, 3.0, "") if wanted else (FAINT, 1.4, "6 4")
        if node["made_by"] is not None:
            border, dash = SECOND, "2 3"
        if failed:
            border, thick = ERROR, 3.0
        tint = "#FFFFFF" if leaf else SECOND_TINT if node["made_by"] else FORWARD_TINT
        items: list[Item] = [Rect(x, y, w, h, tint, radius=7)]
        if wanted or failed:
            below = ERROR_TINT if failed else BACKWARD_TINT
            items += [Rect(x, band, w, BOTTOM, below, radius=7), Rect(x, band, w, 8, below)]
        if key in self.moment.freed:
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
        faded = key in self.moment.pruned
        return Group(f"{self.prefix}-{key}", describe(node, sizes), tuple(items), faded)

    def _upper(self, node: Node, x: float, y: float, w: float) -> list[Item]:
        sizes, leaf = self.sizes, node["kind"] == "leaf"
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
        for text, look in self.sizes.chips(node):
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
        if failed or node["id"] in self.moment.order:
            mark = "×" if failed else str(self.moment.order[node["id"]])
            radius = 9.0 if len(mark) < 3 else 11.0
            items.append(Disc(at + 8, base - 4, radius, ERROR if failed else BACKWARD_INK))
            items.append(_middle(at + 8, base, mark, 11 if len(mark) < 3 else 9, "#FFFFFF"))
            at += 26
        ink = ERROR if node["kind"] == "failed" else BACKWARD_INK if wanted else FAINT
        items.append(Words(at, base, self.sizes.backward(node), 12, ink, bold=wanted))
        note = self.sizes.note(node)
        if note:
            items.append(
                Words(x + w - PAD, base, note, 11, ERROR if failed else BACKWARD_INK, anchor="end")
            )
        return items

    def _group_box(self, group: dict[str, Any], place: Sequence[float]) -> Group:
        x, y, w, h = self._at(place)
        title, many = short(group["title"]), _many(group["count"], "operation")
        items: list[Item] = [Rect(x + 5, y - 5, w, h, "#FFFFFF", LINE, 1.0, "", 7)]
        items += [
            Rect(x, y, w, h, FORWARD_TINT, LINE, 1.6, "", 7),
            _middle(x + w / 2, y + 28, title, 14, INK),
            Words(x + w / 2, y + 47, many, 11, FAINT, anchor="middle"),
        ]
        return Group(f"{self.prefix}-{group['id']}", f"{title}, {many}, folded", tuple(items))

    def _leaf_chip(self, of: str, key: str, place: Sequence[float]) -> Group:
        x, y, w, h = self._at(place)
        node = self.nodes[of]
        wanted = node["requires_grad"]
        stroke, dash = (LEAF, "") if wanted else (FAINT, "5 3")
        name = self.sizes.name(node)
        items: tuple[Item, ...] = (
            Rect(x, y, w, h, "#FFFFFF", stroke, 2.0, dash, h / 2),
            Words(x + w / 2, y + 15, f"↑ {name}", 12, anchor="middle", mono=True),
        )
        return Group(key, f"the leaf {name}, drawn further up", items)

    def _culprit(self) -> list[Item]:
        """A line from the node whose saved value has changed to the op that wrote to it."""
        conflict, boxes = self.moment.conflict, self.view["boxes"]
        if conflict is None or conflict["by"] is None or self.moment.failed is None:
            return []
        if conflict["by"] not in boxes or self.moment.failed not in boxes:
            return []
        x0, y0, w0, _ = self._at(boxes[self.moment.failed])
        x1, y1, w1, _ = self._at(boxes[conflict["by"]])
        right = x1 >= x0 + w0  # the culprit stands to the right, or it is gone around on the right
        start = (x0 + w0, y0 + TOP + 8)
        end = (x1, y1 + 20) if right else (x1 + w1, y1 + 20)
        out = (start[0] + end[0]) / 2 if right else max(start[0], end[0]) + 34
        back = -9 if right else 9
        curve = ((out, start[1]), (out, end[1]), (end[0] + back, end[1]))
        tips = (end, (end[0] + back, end[1] - 4.5), (end[0] + back, end[1] + 4.5))
        label = (end[0] - 4, y1 - 22) if right else (end[0] + 12, end[1] - 8)
        return [
            Line(start, (curve,), ERROR, 2.0, "2 3"),
            Shape(tips, ERROR),
            Words(*label, "changed it", 11, ERROR, True),
        ]

    # ---- arrows ------------------------------------------------------------------

    def _route(self, number: int, route: dict[str, Any]) -> Group:
        edges = [self.edges[e] for e in route["edges"]]
        edge = edges[0]
        points = [(x + self.dx, y + self.dy) for x, y in route["points"]]
        if (
            route["chip"] is not None
        ):  # arrows leave a chip from its middle: it has no room for more
            x, y, w, h = self._at(self.view["chips"][route["chip"]]["place"])
            points[0] = (x + w / 2, y + h)
        both = any(e["gradient"] for e in edges)
        items: list[Item] = []
        down = [(x - APART, y) for x, y in points] if both else points
        double = len(edges) == 1 and (edge["inplace"] or edge["view"])
        for shift in (-2.2, 2.2) if double else (0.0,):
            line = [(x + shift, y) for x, y in down]
            items.append(_path(line, FORWARD, 1.6, end=-8, side=-both))
        items.append(_head(down[-1], down=True, fill=FORWARD))
        title = f"{self._called(route['from'], edge['from'])} goes into {self._called(route['to'], edge['to'])}"
        if both:
            items += self._gradient(edges, points, down)
            title += ", its gradient comes back"
        if double:
            x, y = down[-1]
            what = "in place" if edge["inplace"] else "view"
            items.append(Words(x - 9, y - 8, what, 10.5, FAINT, anchor="end"))
        return Group(f"{self.prefix}-r{number}", clean(title), tuple(items))

    def _gradient(
        self, edges: list[dict[str, Any]], points: list[Point], down: list[Point]
    ) -> list[Item]:
        up = [(x + APART, y) for x, y in points]
        edge = edges[0]
        flow = self.flow.get((edge["to"], edge["backward_edge"]))
        ink = BACKWARD_INK if flow else BACKWARD
        items: list[Item] = [_path(up, ink, 1.8, "5 4", start=8, side=1)]
        items.append(_head(up[0], down=False, fill=ink))
        words = []
        if len(edges) > 1:
            words.append(f"{len(edges)} arrows")
        elif flow and flow[1] > 1:
            many, wide = self.leaving[edge["from"]], self.view["boxes"][edge["from"]][2]
            crowded = many > 1 and wide * 0.7 / many < 84
            words.append(f"{flow[0]}/{flow[1]}" if crowded else f"{flow[0]} of {flow[1]}")
        words += [edge["summed"]] if edge["summed"] and len(edges) == 1 else []
        # Beside the arrow's head, on the side to which the two lines do not lean.
        (x, y), right = up[0], up[1][0] <= up[0][0]
        at = x + 8 if right else down[0][0] - 5
        anchor: Anchor = "start" if right else "end"
        for k, said in enumerate(words):
            items.append(Words(at, y + 13 + 14 * k, said, 10.5, BACKWARD_INK, True, False, anchor))
        return items

    def _called(self, box: str, node: str) -> str:
        return str(self.groups[box]["title"] if box in self.groups else self.nodes[node]["name"])


_CHIP_LOOKS = {  # fill, border, dash, ink
    "saved": ("#FFFFFF", BACKWARD_INK, "", BACKWARD_INK),
    "freed": ("none", FAINT, "3 3", FAINT),
    "bad": (ERROR_TINT, ERROR, "", ERROR),
    "memory": ("#FFFFFF", LEAF, "", LEAF),
    "tangent": ("#FFFFFF", "#009E73", "", "#00664B"),
}


def _right_edge(shapes: Scene) -> float:
    """How far to the right the words of a picture go."""
    words = [i for s in shapes if isinstance(s, Group) for i in s.items if isinstance(i, Words)]
    ends = [w.x + text_width(w.text, w.size, bold=w.bold) for w in words if w.anchor == "start"]
    return max(ends, default=0.0)


def _middle(x: float, y: float, text: str, size: float, fill: str) -> Words:
    return Words(x, y, text, size, fill, True, False, "middle")


def _title(found: Document) -> Scene:
    first, second = headline(found)
    name = short(found["name"])
    return [
        Words(MARGIN, 36, name, 17, bold=True, mono=True),
        Words(MARGIN + text_width(name, 17, mono=True) + 14, 36, first, 13, FAINT),
        Words(MARGIN, 57, second, 13, ERROR if "stopped" in second else FAINT),
    ]


def _title_width(found: Document) -> float:
    first, second = headline(found)
    name = text_width(short(found["name"]), 17, mono=True) + 14
    return max(name + text_width(first, 13), text_width(second, 13))


def _path(
    points: Sequence[Point],
    stroke: str,
    thick: float,
    dash: str = "",
    start: float = 0,
    end: float = 0,
    side: int = 0,
) -> Line:
    """A line through a route: it leans between two layers, and is straight within one.

    start, end   how much to leave out at its ends, for an arrow's head
    side         -1, 1: it is the left, the right one of two that run in parallel. Where
                 they lean they would meet, so one keeps above the other there
    """
    points = [
        (points[0][0], points[0][1] + start),
        *points[1:-1],
        (points[-1][0], points[-1][1] + end),
    ]
    pieces: list[tuple[Point, ...]] = []
    for k in range(1, len(points)):
        (x0, y0), (x1, y1) = points[k - 1], points[k]
        if k % 2 == 0 or x0 == x1:
            pieces.append(((x1, y1),))
        else:
            middle = (y0 + y1) / 2 + (-side if x1 > x0 else side) * APART
            pieces.append(((x0, middle), (x1, middle), (x1, y1)))
    return Line(points[0], tuple(pieces), stroke, thick, dash)


def _head(tip: Point, down: bool, fill: str) -> Shape:
    x, y = tip
    back = y - 9 if down else y + 9
    return Shape(((x, y), (x - 4.5, back), (x + 4.5, back)), fill)
