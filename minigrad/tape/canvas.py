"""Draws the elements of a picture: nodes, folded groups, chips that repeat a leaf, and arrows.

Data flows down along an arrow, and gradients flow up next to it.
"""

from collections.abc import Iterator, Sequence

from minigrad.tape import document as doc
from minigrad.tape import palette
from minigrad.tape.boxes import (
    BOTTOM,
    LABEL,
    PAD,
    ROW_1,
    ROW_2,
    TOP,
    Sizes,
    box_description,
    chip_width,
    edge_mark,
)
from minigrad.tape.labels import APART, LINE
from minigrad.tape.layout import sideways, text_width
from minigrad.tape.names import clean, count_of, short
from minigrad.tape.shapes import Cells, Group, Hatching, Item, Line, Point, Rect, Shape, Words
from minigrad.tape.thumbnail import LEVELS, level_of, picture_size

LEAN = 8.0  # half the vertical distance between the knees of two parallel lines


class Canvas:
    """Draws boxes and arrows in their state after a step. `dx` and `dy` are the offset in the picture."""

    def __init__(self, found: doc.Document, view: doc.PictureView, sizes: Sizes) -> None:
        self.found, self.view, self.sizes, self.state = found, view, sizes, sizes.state
        self.dx = self.dy = 0.0
        self.prefix = f"mg-{found.number}"
        self.edges = {e.id: e for e in found.edges}
        self.groups = {g.id: g for g in found.groups}
        self.flow: dict[tuple[str, int | None], tuple[int, int]] = {
            (a.sender, a.sent.edge): (a.sent.arrived, a.sent.expected)
            for arrivals in self.state.arrived.values()
            for a in arrivals
        }

    def at(self, place: doc.Bounds) -> doc.Bounds:
        """Convert a position in the layout to its position in the picture."""
        return place._replace(x=place.x + self.dx, y=place.y + self.dy)

    def node(self, node: doc.TapeNode, place: doc.Bounds) -> Group:
        """The box of a tensor or an op. Its border marks leaves, second order and errors.

        Nodes that the pass does not need are faded; freed saved values are hatched.
        """
        x, y, w, h = self.at(place)
        sizes, key = self.sizes, node.id
        leaf, wanted = node.kind == "leaf", node.requires_grad
        failed = self.state.failed == key or node.kind == "failed"
        band = y + h - BOTTOM
        border, thick, dash = palette.LINE, 1.2, ""
        if leaf:
            border, thick, dash = (palette.LEAF, 3.0, "") if wanted else (palette.FAINT, 1.4, "6 4")
        if node.made_by is not None:
            border, dash = palette.SECOND, "2 3"
        if failed:
            border, thick = palette.ERROR, 3.0
        tint = "#FFFFFF" if leaf else _tint(node)
        items: list[Item] = [Rect(x, y, w, h, tint, radius=7)]
        if wanted or failed:
            below = palette.ERROR_TINT if failed else palette.BACKWARD_TINT
            items += [Rect(x, band, w, BOTTOM, below, radius=7), Rect(x, band, w, 8, below)]
        if key in self.state.freed:
            top = sizes.chips_at(node)
            items.append(Hatching(x, y + top, w, h - top - 2, "#C9CED4"))
        between = "" if wanted or not leaf else "6 4"
        items.append(Line((x, band), (((x + w, band),),), border, 1.0, between))
        items.append(Rect(x, y, w, h, "none", border, thick, dash, 7))
        if node.stop:
            items.append(Rect(x + 4, y - 3, w - 8, 6, palette.INK))
        items += self._upper(node, x, y, w)
        items += self._value(node, x + PAD, y + TOP)
        items += self._chips(node, x + PAD, y + sizes.chips_at(node))
        items += self._lower(node, x, band, w, failed)
        opacity = 0.45 if key in self.state.pruned else 1.0
        return Group(f"{self.prefix}-{key}", box_description(node, sizes), tuple(items), opacity)

    def _upper(self, node: doc.TapeNode, x: float, y: float, w: float) -> list[Item]:
        sizes, leaf = self.sizes, node.kind == "leaf"
        name = sizes.name(node)
        items: list[Item] = [Words(x + PAD, y + ROW_1, name, 14, bold=True, mono=True)]
        at = x + PAD + text_width(name, 14, mono=True) + 7
        for version, own in sizes.tabs(node):
            wide = text_width(version, 11, bold=True) + 10
            fill, ink = (palette.INK, "#FFFFFF") if own else ("#FFFFFF", palette.INK)
            items += [
                Rect(at, y + ROW_1 - 12, wide, 16, fill, palette.INK, 1.0, "", 4),
                _middle(at + wide / 2, y + ROW_1, version, 11, ink),
            ]
            at += wide + 3
        ink = palette.FAINT if leaf else palette.INK
        items += [
            Words(x + w - PAD, y + ROW_1, sizes.shape(node), 11.5, palette.FAINT, anchor="end"),
            Words(x + PAD, y + ROW_2, sizes.what(node), 12, ink, mono=not leaf),
            Words(x + w - PAD, y + ROW_2, sizes.line(node), 11, palette.FAINT, anchor="end"),
        ]
        return items

    def _value(self, node: doc.TapeNode, x: float, y: float) -> Iterator[Item]:
        """The value of a node: its picture, and the text beside it."""
        shown = node.thumbnail
        if shown is None:
            return
        wide, tall = picture_size(shown)
        if shown.cells:
            yield Cells(x, y, wide, tall, tuple(shown.cells), palette.HEAT, palette.INK)
            yield Rect(x, y, wide, tall, "none", palette.LINE)
        elif shown.bars:
            yield Shape(_silhouette(shown.bars, x, y, wide, tall), palette.LEAF)
            yield Line((x, y + tall), (((x + wide, y + tall),),), palette.LINE, 1.0)
        for k, line in enumerate(shown.lines):
            yield Words(x + (wide and wide + 7), y + 9.5 + 14 * k, clean(line), LABEL)

    def _chips(self, node: doc.TapeNode, x: float, y: float) -> list[Item]:
        items: list[Item] = []
        for text, look in self.sizes.chips(node):
            wide = chip_width(text, look)
            fill, stroke, dash, ink = _CHIP_LOOKS[look]
            items += [
                Rect(x, y, wide, 17, fill, stroke, 1.2, dash, 8),
                Words(x + 6, y + 12.5, text, LABEL, ink, look == "bad"),
            ]
            x += wide + 6
        return items

    def _lower(
        self, node: doc.TapeNode, x: float, band: float, w: float, failed: bool
    ) -> list[Item]:
        items: list[Item] = []
        sizes = self.sizes
        base, at, wanted = band + 17, x + PAD, node.requires_grad
        beside = palette.ERROR if failed else palette.BACKWARD_INK
        if failed or node.id in self.state.order:
            mark = "×" if failed else str(self.state.order[node.id])
            wide = sizes.badge(int(mark) if mark.isdigit() else 0)
            items.append(Rect(at, base - 13, wide, 18, beside, radius=9))
            items.append(_middle(at + wide / 2, base, mark, LABEL, "#FFFFFF"))
            at += wide + 8
        ink = palette.BACKWARD_INK if wanted else palette.FAINT
        ink = palette.ERROR if node.kind == "failed" else ink
        items.append(Words(at, base, self.sizes.backward(node), 12, ink, bold=wanted))
        if note := self.sizes.note(node):
            items.append(Words(x + w - PAD, base, note, 11, beside, anchor="end"))
        return items

    def group(self, group: doc.FoldedGroup, place: doc.Bounds) -> Group:
        """A folded group: two cards on top of each other, with the number of operations."""
        x, y, w, h = self.at(place)
        title, count = short(group.title), count_of(group.count, "operation")
        items: tuple[Item, ...] = (
            Rect(x + 5, y - 5, w, h, "#FFFFFF", palette.LINE, 1.0, "", 7),
            Rect(x, y, w, h, palette.FORWARD_TINT, palette.LINE, 1.6, "", 7),
            _middle(x + w / 2, y + 28, title, 14, palette.INK),
            Words(x + w / 2, y + 47, count, 11, palette.FAINT, anchor="middle"),
        )
        return Group(f"{self.prefix}-{group.id}", f"{title}, {count}, folded", items)

    def chip(self, number: int, chip: doc.Chip) -> Group:
        """A chip that repeats a leaf far from its box; `number` is its position in the view."""
        x, y, w, h = self.at(chip.place)
        node = self.found.node(chip.of)
        stroke, dash = (palette.LEAF, "") if node.requires_grad else (palette.FAINT, "5 3")
        name = self.sizes.name(node)
        items: tuple[Item, ...] = (
            Rect(x, y, w, h, "#FFFFFF", stroke, 2.0, dash, h / 2),
            Words(x + w / 2, y + 15, f"↑ {name}", 12, anchor="middle", mono=True),
        )
        return Group(f"{self.prefix}-c{number}", f"the leaf {name}, drawn further up", items)

    # ---- arrows ----------------------------------------------------------------------

    def route(self, number: int, route: doc.DrawnRoute) -> Group:
        """One route: the data arrow, the gradient arrow beside it if a gradient flows, and their title.

        number    the position of the route in the view, for the id of the group
        """
        edges = [self.edges[e] for e in route.edges]
        edge = edges[0]
        points = [(x + self.dx, y + self.dy) for x, y in route.points]
        knees = [y + self.dy for y in route.knees]
        both = any(e.gradient for e in edges)
        items: list[Item] = []
        down = [(x - APART, y) for x, y in points] if both else points
        double = len(edges) == 1 and (edge.inplace or edge.view)
        for shift in (-2.2, 2.2) if double else (0.0,):
            line = [(x + shift, y) for x, y in down]
            items.append(leaning(line, palette.FORWARD, 1.6, knees=knees, end=-8, side=-both))
        items.append(arrow_head(down[-1], palette.FORWARD))
        title = (
            f"{self._called(route.from_, edge.from_)} goes into {self._called(route.to, edge.to)}"
        )
        if both:
            items += self._gradient(edges, points, knees, route.label)
            title += ", its gradient comes back"
        if route.mark:
            items.append(self._words(route.mark, edge_mark(edge), palette.FAINT))
        return Group(f"{self.prefix}-r{number}", clean(title), tuple(items))

    def _gradient(
        self,
        edges: list[doc.TapeEdge],
        points: list[Point],
        knees: list[float],
        label: doc.LabelPlace | None,
    ) -> list[Item]:
        up = [(x + APART, y) for x, y in points]
        edge = edges[0]
        flow = self.flow.get((edge.to, edge.backward_edge))
        ink = palette.BACKWARD_INK if flow else palette.BACKWARD
        items: list[Item] = [leaning(up, ink, 1.8, "5 4", knees=knees, start=8, side=1)]
        items.append(arrow_head(up[0], ink, -9.0))
        words = []
        if len(edges) > 1:
            words.append(f"{len(edges)} arrows")
        elif flow and flow[1] > 1:
            words.append(f"{flow[0]} of {flow[1]}")
        words += [edge.summed] if edge.summed and len(edges) == 1 else []
        if label is not None:
            items += [
                self._words(label, said, palette.BACKWARD_INK, k) for k, said in enumerate(words)
            ]
        return items

    def _words(self, place: doc.LabelPlace, said: str, ink: str, line: int = 0) -> Words:
        x, y = place.x + self.dx, place.y + self.dy + LINE * line
        return Words(x, y, said, LABEL, ink, bold=ink == palette.BACKWARD_INK)

    def _called(self, box: str, node: str) -> str:
        group = self.groups.get(box)
        return self.found.node(node).name if group is None else group.title


def _tint(node: doc.TapeNode) -> str:
    if node.made_by is not None:
        return palette.SECOND_TINT
    by_rule = node.program is not None and node.program.role in ("rule", "sum")
    return palette.BACKWARD_TINT if by_rule else palette.FORWARD_TINT


def _silhouette(bars: str, x: float, y: float, wide: float, tall: float) -> tuple[Point, ...]:
    """The outline of a histogram."""
    heights = [tall * (level_of(bar) or 0) / LEVELS for bar in bars]
    step = wide / len(bars)
    top = [(x + step * (k + side), y + tall - h) for k, h in enumerate(heights) for side in (0, 1)]
    return ((x, y + tall), *top, (x + wide, y + tall))


_CHIP_LOOKS = {  # fill, border, dash, ink
    "saved": ("#FFFFFF", palette.BACKWARD_INK, "", palette.BACKWARD_INK),
    "freed": ("none", palette.FAINT, "3 3", palette.FAINT),
    "bad": (palette.ERROR_TINT, palette.ERROR, "", palette.ERROR),
    "memory": ("#FFFFFF", palette.LEAF, "", palette.LEAF),
    "tangent": ("#FFFFFF", "#009E73", "", "#00664B"),
}


def _middle(x: float, y: float, text: str, size: float, fill: str) -> Words:
    return Words(x, y, text, size, fill, True, False, "middle")


def leaning(
    points: Sequence[Point],
    stroke: str,
    thick: float,
    dash: str = "",
    *,
    knees: Sequence[float],
    start: float = 0,
    end: float = 0,
    side: int = 0,
) -> Line:
    """A line along a route: sideways between two layers, straight down within a layer.

    knees        the height of the sideways part in each gap between two layers
    start, end   the lengths to leave out at the ends, for an arrowhead
    side         -1 or 1 for the left or right one of two parallel lines. Their knees are at
                 different heights, since slanted lines would meet
    """
    points = [
        (points[0][0], points[0][1] + start),
        *points[1:-1],
        (points[-1][0], points[-1][1] + end),
    ]
    pieces: list[tuple[Point, ...]] = []
    for k in range(1, len(points)):
        (x0, _), (x1, y1) = points[k - 1], points[k]
        if k % 2 == 0 or x0 == x1:
            pieces.append(((x1, y1),))
        else:
            middle = knees[k // 2] + (-side if x1 > x0 else side) * LEAN
            pieces += sideways(points[k - 1], points[k], middle)
    return Line(points[0], tuple(pieces), stroke, thick, dash)


def arrow_head(tip: Point, fill: str, back: float = 9.0, half: float = 4.5) -> Shape:
    """The head of an arrow that points down, or up if `back` is negative."""
    x, y = tip
    return Shape((tip, (x - half, y - back), (x + half, y - back)), fill)
