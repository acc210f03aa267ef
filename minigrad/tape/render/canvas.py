"""Draws the elements of a picture: nodes, folded groups, chips that repeat a leaf, and arrows.

Data flows down along an arrow, and gradients flow up next to it.
"""

from collections.abc import Iterator, Sequence
from itertools import count, pairwise, takewhile

from minigrad.tape import document as doc
from minigrad.tape.names import clean, count_of, shape_text, short
from minigrad.tape.render import style
from minigrad.tape.render.boxes import BOTTOM, LABEL, PAD, ROW_1, ROW_2, TOP, Sizes, chip_width
from minigrad.tape.render.labels import APART, LINE
from minigrad.tape.render.layout import sideways
from minigrad.tape.render.shapes import Group, Item, Lines, Point, Rect, Words, polygons, straight
from minigrad.tape.render.style import text_width
from minigrad.tape.render.thumbnail import LEVELS, picture_size

FADED = 0.45  # the opacity of nodes that the pass does not need
PALE = 0.25  # and, in a series of pictures, of those that have not run yet
LEAN = 8.0  # half the vertical distance between the knees of two parallel lines


class Canvas:
    """Draws boxes and arrows in their state after a step. `dx` and `dy` are the offset in the picture.

    moving    fade what has not run yet
    """

    def __init__(
        self, document: doc.Document, view: doc.PictureView, sizes: Sizes, moving: bool = False
    ) -> None:
        self.document, self.view, self.sizes, self.state = document, view, sizes, sizes.state
        self.dx = self.dy = 0.0
        self.prefix = f"mg-{document.number}"
        self.edges = {e.id: e for e in document.edges}
        self.groups = {g.id: g for g in document.groups}
        # Leaves exist from the start, unless an optimizer wrote to them.
        later = {n.id for n in document.nodes if n.kind in ("op", "failed") or n.updated}
        self.late = later - self.state.made if moving else set()
        self.backward = self.state.backward
        arrivals = (a for arrived in self.backward.arrived.values() for a in arrived)
        self.flow: dict[tuple[str, int | None], doc.DepositDetail] = {
            (a.sender, a.sent.edge): a.sent for a in arrivals
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
        failed = self.backward.failed == key or node.kind == "failed"
        band = y + h - BOTTOM
        border, thick, dash = style.LINE, 1.2, ""
        if leaf or node.backward == "AccumulateGrad":
            border, thick, dash = (style.LEAF, 3.0, "") if wanted else (style.FAINT, 1.4, "6 4")
        if node.made_by is not None:
            border, dash = style.SECOND, "2 3"
        if failed:
            border, thick = style.ERROR, 3.0
        tint = "#FFFFFF" if leaf else _tint(node)
        items: list[Item] = [Rect(x, y, w, h, tint, radius=7)]
        if wanted or failed:
            below = style.ERROR_TINT if failed else style.BACKWARD_TINT
            items += [Rect(x, band, w, BOTTOM, below, radius=7), Rect(x, band, w, 8, below)]
        if key in self.state.freed:
            top = sizes.chips_at(node)
            items.append(hatching(x, y + top, w, h - top - 2))
        between = "" if wanted or not leaf else "6 4"
        items.append(straight([((x, band), (x + w, band))], border, dash=between))
        items.append(Rect(x, y, w, h, "none", border, thick, dash, 7))
        if node.stop:
            items.append(Rect(x + 4, y - 3, w - 8, 6, style.INK))
        items += self._upper(node, x, y, w)
        items += self._value(node, x + PAD, y + TOP)
        items += self._chips(node, x + PAD, y + sizes.chips_at(node))
        items += self._lower(node, x, band + 17, w, failed)
        opacity = PALE if key in self.late else FADED if key in self.backward.pruned else 1.0
        return Group(f"{self.prefix}-{key}", sizes.description(node), tuple(items), opacity)

    def _upper(self, node: doc.TapeNode, x: float, y: float, w: float) -> list[Item]:
        sizes, leaf = self.sizes, node.kind == "leaf"
        name = sizes.name(node)
        items: list[Item] = [Words(x + PAD, y + ROW_1, name, 14, bold=True, mono=True)]
        at = x + PAD + text_width(name, 14, mono=True) + 7
        for version, own in sizes.tabs(node):
            wide = text_width(version, 11, bold=True) + 10
            fill, ink = (style.INK, "#FFFFFF") if own else ("#FFFFFF", style.INK)
            items += [
                Rect(at, y + ROW_1 - 12, wide, 16, fill, style.INK, 1.0, "", 4),
                _middle(at + wide / 2, y + ROW_1, version, 11, ink),
            ]
            at += wide + 3
        ink = style.FAINT if leaf else style.INK
        return [
            *items,
            Words(x + w - PAD, y + ROW_1, shape_text(node.shape), 11.5, style.FAINT, anchor="end"),
            Words(x + PAD, y + ROW_2, sizes.what(node), 12, ink, mono=not leaf),
            Words(x + w - PAD, y + ROW_2, sizes.line(node), 11, style.FAINT, anchor="end"),
        ]

    def _value(self, node: doc.TapeNode, x: float, y: float) -> Iterator[Item]:
        """The value of a node: its picture, and the text beside it."""
        shown = node.thumbnail
        if shown is None:
            return
        wide, tall = picture_size(shown)
        if shown.cells:
            yield from drawn_heat_map((x, y, wide, tall), shown.cells)
            yield Rect(x, y, wide, tall, "none", style.LINE)
        elif shown.bars:
            yield polygons([_silhouette(shown.bars, x, y, wide, tall)], style.LEAF)
            yield straight([((x, y + tall), (x + wide, y + tall))], style.LINE)
        for k, line in enumerate(shown.lines):
            yield Words(x + (wide and wide + 7), y + 9.5 + 14 * k, clean(line), LABEL)

    def _chips(self, node: doc.TapeNode, x: float, y: float) -> Iterator[Item]:
        for text, look in self.sizes.chips(node):
            wide = chip_width(text, look)
            fill, stroke, dash, ink = _CHIP_LOOKS[look]
            yield Rect(x, y, wide, 17, fill, stroke, 1.2, dash, 8)
            yield Words(x + 6, y + 12.5, text, LABEL, ink, look == "bad")
            x += wide + 6

    def _lower(
        self, node: doc.TapeNode, x: float, base: float, w: float, failed: bool
    ) -> Iterator[Item]:
        sizes, at, wanted = self.sizes, x + PAD, node.requires_grad
        accent = style.ERROR if failed else style.BACKWARD_INK
        if failed or node.id in self.backward.order:
            mark = "×" if failed else str(self.backward.order[node.id])
            wide = sizes.badge(int(mark) if mark.isdigit() else 0)
            yield Rect(at, base - 13, wide, 18, accent, radius=9)
            yield _middle(at + wide / 2, base, mark, LABEL, "#FFFFFF")
            at += wide + 8
        ink = style.BACKWARD_INK if wanted else style.FAINT
        ink = style.ERROR if node.kind == "failed" else ink
        yield Words(at, base, sizes.backward(node), 12, ink, bold=wanted)
        if note := sizes.note(node):
            yield Words(x + w - PAD, base, note, 11, accent, anchor="end")

    def group(self, group: doc.FoldedGroup, place: doc.Bounds) -> Group:
        """A folded group: two cards on top of each other, with the number of operations."""
        x, y, w, h = self.at(place)
        title, count = short(group.title), count_of(group.count, "operation")
        items: tuple[Item, ...] = (
            Rect(x + 5, y - 5, w, h, "none", style.LINE, 1.0, "", 7),  # arrows end behind it
            Rect(x, y, w, h, style.FORWARD_TINT, style.LINE, 1.6, "", 7),
            _middle(x + w / 2, y + 28, title, 14, style.INK),
            Words(x + w / 2, y + 47, count, 11, style.FAINT, anchor="middle"),
        )
        return Group(f"{self.prefix}-{group.id}", f"{title}, {count}, folded", items)

    def chip(self, number: int, chip: doc.Chip) -> Group:
        """A chip that repeats a leaf far from its box; `number` is its position in the view."""
        x, y, w, h = self.at(chip.place)
        node = self.document.node(chip.of)
        stroke, dash = (style.LEAF, "") if node.requires_grad else (style.FAINT, "5 3")
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
            items.append(leaning(line, style.FORWARD, 1.6, knees=knees, end=-8, side=-both))
        items.append(arrow_head(down[-1], style.FORWARD))
        ends = (self._called(route.from_, edge.from_), self._called(route.to, edge.to))
        title = " goes into ".join(ends)
        if both:
            arrow, words = self._gradient(edges, [(x + APART, y) for x, y in points], knees)
            items += arrow
            if route.label is not None:
                items += self._words(route.label, words, style.BACKWARD_INK)
            title += ", its gradient comes back"
        if route.mark:
            items += self._words(route.mark, [edge.mark], style.FAINT)
        opacity = PALE if route.to in self.late else 1.0
        return Group(f"{self.prefix}-r{number}", clean(title), tuple(items), opacity)

    def _gradient(
        self, edges: list[doc.TapeEdge], up: list[Point], knees: list[float]
    ) -> tuple[list[Item], list[str]]:
        """The gradient arrow of a route, and the texts beside it."""
        edge = edges[0]
        flows = [self.flow.get((e.to, e.backward_edge)) for e in edges if e.gradient]
        flow = next(filter(None, flows), None)
        ink = style.BACKWARD_INK if flow else style.BACKWARD
        line = leaning(up, ink, 1.8, "5 4", knees=knees, start=8, side=1)
        words = []
        if len(edges) > 1:
            words.append(count_of(sum(e.gradient for e in edges), "gradient"))
        elif flow and flow.expected > 1:
            words.append(f"{flow.arrived} of {flow.expected}")
        words += [edge.summed] if edge.summed and len(edges) == 1 else []
        return [line, arrow_head(up[0], ink, -9.0)], words

    def _words(self, place: doc.LabelPlace, lines: Sequence[str], ink: str) -> Iterator[Words]:
        x, y = place.x + self.dx, place.y + self.dy
        for k, line in enumerate(lines):
            yield Words(x, y + LINE * k, line, LABEL, ink, bold=ink == style.BACKWARD_INK)

    def _called(self, box: str, node: str) -> str:
        group = self.groups.get(box)
        return self.document.node(node).name if group is None else group.title


def _tint(node: doc.TapeNode) -> str:
    if node.made_by is not None:
        return style.SECOND_TINT
    by_rule = node.program is not None and node.program.role in ("rule", "sum")
    return style.BACKWARD_TINT if by_rule else style.FORWARD_TINT


def _silhouette(bars: str, x: float, y: float, wide: float, tall: float) -> tuple[Point, ...]:
    """The outline of a histogram."""
    heights = [tall * int(bar) / LEVELS for bar in bars]
    step = wide / len(bars)
    top = [(x + step * (k + side), y + tall - h) for k, h in enumerate(heights) for side in (0, 1)]
    return ((x, y + tall), *top, (x + wide, y + tall))


_CHIP_LOOKS = {  # fill, border, dash, ink
    "saved": ("#FFFFFF", style.BACKWARD_INK, "", style.BACKWARD_INK),
    "freed": ("none", style.FAINT, "3 3", style.FAINT),
    "bad": (style.ERROR_TINT, style.ERROR, "", style.ERROR),
    "memory": ("#FFFFFF", style.LEAF, "", style.LEAF),
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
) -> Lines:
    """A line along a route: sideways between two layers, straight down within a layer.

    knees        the height of the sideways part in each gap between two layers
    start, end   the lengths to leave out at the ends, for an arrowhead
    side         -1 or 1 for the left or right one of two parallel lines. Their knees are at
                 different heights, since slanted lines would meet
    """
    (x0, top), *inner, (x1, bottom) = points
    points = [(x0, top + start), *inner, (x1, bottom + end)]
    pieces: list[tuple[Point, ...]] = []
    for k, (begin, stop) in enumerate(pairwise(points)):
        if k % 2 or begin[0] == stop[0]:
            pieces.append((stop,))
        else:
            middle = knees[k // 2] + (-side if stop[0] > begin[0] else side) * LEAN
            pieces += sideways(begin, stop, middle)
    return Lines(((points[0], tuple(pieces)),), stroke, thick, dash)


def arrow_head(tip: Point, fill: str, back: float = 9.0, half: float = 4.5) -> Lines:
    """The head of an arrow that points down, or up if `back` is negative."""
    x, y = tip
    return polygons([(tip, (x - half, y - back), (x + half, y - back))], fill)


def hatching(x: float, y: float, width: float, height: float) -> Lines:
    """Slanted lines over a part of a box, from the bottom of the part to its top."""
    starts = takewhile(lambda at: at + height / 2 < x + width - 4, count(x + 6, 9))
    return straight((((at, y + height), (at + height / 2, y)) for at in starts), "#C9CED4")


def drawn_heat_map(place: tuple[float, float, float, float], rows: Sequence[str]) -> Iterator[Item]:
    """A heat map: a text for each row, with a character for each cell (style.HEAT).

    place    the position of the upper left corner, the width and the height

    A cell with another character is white with a slanted line.
    """
    x, y, width, height = place
    across = [round(x + width * k / len(rows[0]), 1) for k in range(len(rows[0]) + 1)]
    down = [round(y + height * k / len(rows), 1) for k in range(len(rows) + 1)]
    cells: dict[str, list[tuple[Point, ...]]] = {}  # by color: their corners
    for row, (top, bottom) in zip(rows, pairwise(down), strict=True):
        for character, (left, right) in zip(row, pairwise(across), strict=True):
            corners = ((left, top), (right, top), (right, bottom), (left, bottom))
            cells.setdefault(style.HEAT.get(character, ""), []).append(corners)
    for color, own in cells.items():
        yield polygons(own, color or "#FFFFFF")
    if "" in cells:
        yield straight(((corners[3], corners[1]) for corners in cells[""]), style.INK)
