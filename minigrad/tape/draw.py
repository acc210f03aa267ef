"""Drawing: the document as a picture and as a table.

A box is one node. Its upper part belongs to the forward pass: the name of the tensor,
its shape, what was computed, on which line. Its lower part belongs to the backward
pass: the `grad_fn` of the tensor, or the `AccumulateGrad` of a leaf. So the two graphs,
of data and of gradients, are one picture: data flows down along the solid arrows, and
gradients flow up along the dashed ones beside them, from lower part to lower part.

    thick border       a leaf that requires a gradient
    dashed border      a leaf that does not
    "no grad_fn"       the tape stops here: no dashed arrow leaves this box
    v0, v1             versions of one tensor, joined by a double line: in place
    ①, ②               after a backward pass: the order in which the nodes ran
    1 of 2             at the end of an arrow: which contribution this was

The picture is first a list of shapes (the scene), so that the SVG and the PNG cannot
differ. Colors are Okabe and Ito's, and none of them says anything alone.

Left out: what moves. That is the widget's business, from the same document.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from minigrad.tape.layout import text_width
from minigrad.tape.names import clean, in_words, shape_text, short

Document = dict[str, Any]
Node = dict[str, Any]

# Okabe and Ito, Color universal design (2008), with a tint and an ink of each.
FORWARD, FORWARD_TINT = "#E69F00", "#FFF6E0"
BACKWARD, BACKWARD_TINT, BACKWARD_INK = "#56B4E9", "#E6F4FC", "#0B5A8A"
LEAF = "#0072B2"
ERROR, ERROR_TINT = "#D55E00", "#FDEBDD"
INK, FAINT, LINE = "#1A1A1A", "#5F6670", "#8A929C"

PAD = 12.0
ROW_1, ROW_2, TOP, BOTTOM = 20.0, 38.0, 47.0, 25.0
APART = 6.0  # half the distance between an arrow and the gradient's arrow beside it
MARGIN = 28.0
TITLE = 58.0
LEGEND_ROW = 26.0


def esc(text: object) -> str:
    """The text made safe for XML, in an element or in an attribute.

    >>> esc('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return (
        clean(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


# ---------------------------------------------------------------------- what is shown


@dataclass
class Ran:
    """The backward pass that the picture shows: the last one."""

    number: int = 0
    order: dict[str, int] = field(default_factory=dict)  # node -> its turn
    expected: dict[str, int] = field(default_factory=dict)
    flow: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    seeds: set[str] = field(default_factory=set)
    failed: str | None = None


def last_pass(found: Document) -> Ran:
    """What the last backward pass did to each node and edge."""
    ran = Ran(len(found["backward"]))
    for step in found["steps"]:
        if step["phase"] != "backward" or step["pass"] != ran.number:
            continue
        if step["event"] == "seed":
            ran.expected = step["expected"]
            ran.seeds = {s["node"] for s in step["seeds"]}
        elif step["event"] == "error":
            ran.failed = step["node"]
        else:
            ran.order[step["node"]] = step["order"]
            for sent in step["sent"]:
                ran.flow[step["node"], sent["edge"]] = (sent["arrived"], sent["expected"])
    return ran


class Sizes:
    """How large each box must be for what is written in it."""

    def __init__(self, found: Document) -> None:
        self.found, self.ran = found, last_pass(found)

    def box(self, node: Node) -> tuple[float, float]:
        rows = [
            text_width(self.name(node), 14, mono=True)
            + (14 + text_width(self.version(node), 11, bold=True) if self.version(node) else 0)
            + 18
            + text_width(self.shape(node), 11.5),
            text_width(self.what(node), 12, mono=True) + 18 + text_width(self.line(node), 11),
            text_width(self.backward(node), 12, bold=True)
            + (26 if node["id"] in self.ran.order or self.ran.failed == node["id"] else 0)
            + (18 + text_width(self.note(node), 11) if self.note(node) else 0),
        ]
        # An even width puts the middle of the box on a whole pixel.
        return 2 * round(max(*rows, 108.0) / 2) + 2 * PAD, TOP + BOTTOM

    def chip(self, node: Node) -> float:
        return 2 * round(text_width(f"↑ {self.name(node)}", 12, mono=True) / 2) + 26

    def name(self, node: Node) -> str:
        return short(node["name"])

    def version(self, node: Node) -> str:
        return f"v{node['version']}" if node["versions"] > 1 else ""

    def shape(self, node: Node) -> str:
        return "" if node["shape"] is None else shape_text(node["shape"])

    def what(self, node: Node) -> str:
        if node["kind"] == "leaf":
            return "leaf, requires_grad" if node["requires_grad"] else "leaf"
        if node["expression"] is None:
            return "made before the recording"
        return short(node["expression"])

    def line(self, node: Node) -> str:
        if node["made_by"] is not None:
            return f"backward {node['made_by']}"
        return "" if node["line"] is None else f"line {node['line']}"

    def backward(self, node: Node) -> str:
        if node["backward"] is not None:
            return short(node["backward"])
        return "no gradient" if node["kind"] == "leaf" else "no grad_fn"

    def note(self, node: Node) -> str:
        """Beside the backward node: what a leaf got, or what a node put together."""
        if node["backward"] is None:
            return ""
        terms = self.ran.expected.get(node["id"], 0) if node["id"] in self.ran.order else 0
        if self.ran.failed == node["id"]:
            return "stopped here"
        if node["kind"] == "leaf":
            if node["id"] not in self.ran.order:
                filled = [p["number"] for p in self.found["backward"] if node["id"] in p["grads"]]
                return f".grad from backward {filled[-1]}" if filled else ".grad none yet"
            return ".grad" if terms < 2 else f".grad, {terms} contributions"
        return f"{terms} contributions" if terms > 1 else ""


# ---------------------------------------------------------------------- the scene

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = "none"
    thick: float = 1.0
    dash: str = ""
    radius: float = 0.0


@dataclass(frozen=True)
class Line:
    """A path: it starts at the first point; then each piece is one point or a cubic's three."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...]
    stroke: str
    thick: float = 1.6
    dash: str = ""


@dataclass(frozen=True)
class Shape:
    points: tuple[Point, ...]
    fill: str


@dataclass(frozen=True)
class Disc:
    x: float
    y: float
    radius: float
    fill: str


@dataclass(frozen=True)
class Words:
    x: float
    y: float
    text: str
    size: float
    fill: str = INK
    bold: bool = False
    mono: bool = False
    anchor: Anchor = "start"


@dataclass(frozen=True)
class Group:
    """Shapes that belong together: one node, or one edge, with a title for the reader."""

    id: str
    title: str
    items: tuple[Item, ...]


Item = Rect | Line | Shape | Disc | Words
Scene = list[Group | Item]


def scene(found: Document) -> tuple[float, float, Scene]:
    """Width, height and shapes of the picture."""
    sizes = Sizes(found)
    layout = found["layout"]
    prefix = f"mg-{found['number']}"
    nodes = {n["id"]: n for n in found["nodes"]}
    legend = _legend(found, sizes.ran)
    width = max(layout["width"], _legend_width(legend), _title_width(found)) + 2 * MARGIN
    dx, dy = round((width - layout["width"]) / 2), MARGIN + TITLE
    rows = -(-len(legend) // _PER_ROW)
    bottom = dy + layout["height"] + 34
    height = bottom + LEGEND_ROW * rows + MARGIN
    shapes: Scene = [Rect(0, 0, width, height, "#FFFFFF")]
    shapes += _title(found)
    for edge in found["edges"]:
        if edge["id"] in layout["routes"]:
            shapes.append(_edge(edge, layout, nodes, sizes.ran, prefix, dx, dy))
    for k, chip in enumerate(layout["chips"]):
        x, y, w, h = chip["place"]
        shapes.append(_chip(nodes[chip["of"]], sizes, f"{prefix}-c{k}", (x + dx, y + dy, w, h)))
    for key, (x, y, w, h, _) in layout["nodes"].items():
        shapes.append(_box(nodes[key], sizes, f"{prefix}-{key}", (x + dx, y + dy, w, h)))
    shapes += _draw_legend(legend, bottom)
    return width, height, shapes


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
    if found["layout"]["left_out"]:
        second += f"; the first {found['layout']['left_out']} boxes are left out of the picture"
    if found["error"] is not None:
        second += f"; the code stopped with {short(found['error']['text'].partition(':')[0])}"
    return first, second


def _many(n: int, what: str, plural: str | None = None) -> str:
    return f"{n} {what if n == 1 else plural or what + 's'}"


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


def _box(node: Node, sizes: Sizes, key: str, place: tuple[float, float, float, float]) -> Group:
    x, y, w, h = place
    ran = sizes.ran
    leaf, wanted = node["kind"] == "leaf", node["requires_grad"]
    failed = ran.failed == node["id"]
    border, thick, dash = LINE, 1.2, ""
    if leaf:
        border, thick, dash = (LEAF, 3.0, "") if wanted else (FAINT, 1.4, "6 4")
    if failed:
        border, thick = ERROR, 3.0
    tint = "#FFFFFF" if leaf else FORWARD_TINT
    items: list[Item] = [Rect(x, y, w, h, tint, radius=7)]
    if wanted:
        items += [
            Rect(x, y + TOP, w, BOTTOM, ERROR_TINT if failed else BACKWARD_TINT, radius=7),
            Rect(x, y + TOP, w, 8, ERROR_TINT if failed else BACKWARD_TINT),
        ]
    items.append(
        Line((x, y + TOP), (((x + w, y + TOP),),), border, 1.0, "" if wanted or not leaf else "6 4")
    )
    items.append(Rect(x, y, w, h, "none", border, thick, dash, 7))
    name, version = sizes.name(node), sizes.version(node)
    items.append(Words(x + PAD, y + ROW_1, name, 14, bold=True, mono=True))
    if version:
        at = x + PAD + text_width(name, 14, mono=True) + 7
        wide = text_width(version, 11, bold=True) + 10
        old = node["version"] + 1 < node["versions"]
        items += [
            Rect(at, y + ROW_1 - 12, wide, 16, "#FFFFFF" if old else INK, INK, 1.0, "", 4),
            Words(
                at + wide / 2,
                y + ROW_1,
                version,
                11,
                INK if old else "#FFFFFF",
                True,
                False,
                "middle",
            ),
        ]
    items += [
        Words(x + w - PAD, y + ROW_1, sizes.shape(node), 11.5, FAINT, anchor="end"),
        Words(x + PAD, y + ROW_2, sizes.what(node), 12, FAINT if leaf else INK, mono=not leaf),
        Words(x + w - PAD, y + ROW_2, sizes.line(node), 11, FAINT, anchor="end"),
    ]
    base, at = y + TOP + 17, x + PAD
    if failed or node["id"] in ran.order:
        mark = "×" if failed else str(ran.order[node["id"]])
        radius = 9.0 if len(mark) < 3 else 11.0
        items += [
            Disc(at + 8, base - 4, radius, ERROR if failed else BACKWARD_INK),
            Words(at + 8, base, mark, 11 if len(mark) < 3 else 9, "#FFFFFF", True, False, "middle"),
        ]
        at += 26
    text = sizes.backward(node)
    items.append(Words(at, base, text, 12, BACKWARD_INK if wanted else FAINT, bold=wanted))
    if sizes.note(node):
        items.append(Words(x + w - PAD, base, sizes.note(node), 11, BACKWARD_INK, anchor="end"))
    return Group(key, describe(node, sizes), tuple(items))


def describe(node: Node, sizes: Sizes) -> str:
    """A box in one sentence, for whoever cannot see it."""
    parts = [f"{sizes.name(node)} {sizes.version(node)}".strip(), sizes.shape(node)]
    parts.append(sizes.what(node))
    if sizes.line(node):
        parts.append(sizes.line(node))
    parts.append(sizes.backward(node))
    if node["id"] in sizes.ran.order:
        parts.append(f"ran as number {sizes.ran.order[node['id']]}")
    if sizes.note(node):
        parts.append(sizes.note(node))
    return ", ".join(p for p in parts if p)


def _chip(node: Node, sizes: Sizes, key: str, place: tuple[float, float, float, float]) -> Group:
    x, y, w, h = place
    wanted = node["requires_grad"]
    items: tuple[Item, ...] = (
        Rect(x, y, w, h, "#FFFFFF", LEAF if wanted else FAINT, 2.0, "" if wanted else "5 3", h / 2),
        Words(x + w / 2, y + 15, f"↑ {sizes.name(node)}", 12, anchor="middle", mono=True),
    )
    return Group(key, f"the leaf {sizes.name(node)}, drawn further up", items)


def _edge(
    edge: dict[str, Any],
    layout: dict[str, Any],
    nodes: dict[str, Node],
    ran: Ran,
    prefix: str,
    dx: float,
    dy: float,
) -> Group:
    route = layout["routes"][edge["id"]]
    points = [(x + dx, y + dy) for x, y in route["points"]]
    if route["chip"] is not None:
        points[0] = _chip_port(edge, layout, dx, dy)
    both = edge["gradient"]
    items: list[Item] = []
    down = [(x - APART, y) for x, y in points] if both else points
    if edge["inplace"]:
        for shift in (-2.2, 2.2):
            line = [(x + shift, y) for x, y in down]
            items.append(_path(line, FORWARD, 1.6, end=-8, side=-both))
    else:
        items.append(_path(down, FORWARD, 1.8, end=-8, side=-both))
    items.append(_head(down[-1], down=True, fill=FORWARD))
    title = f"{nodes[edge['from']]['name']} goes into {nodes[edge['to']]['name']}"
    if both:
        up = [(x + APART, y) for x, y in points]
        flow = ran.flow.get((edge["to"], edge["backward_edge"]))
        ink = BACKWARD_INK if flow else BACKWARD
        items.append(_path(up, ink, 1.8, "5 4", start=8, side=1))
        items.append(_head(up[0], down=False, fill=ink))
        words = [f"{flow[0]} of {flow[1]}"] if flow and flow[1] > 1 else []
        words += [edge["summed"]] if edge["summed"] else []
        # Beside the arrow's head, on the side to which the two lines do not lean.
        (x, y), right = up[0], up[1][0] <= up[0][0]
        at = x + 8 if right else down[0][0] - 5
        anchor: Anchor = "start" if right else "end"
        for k, said in enumerate(words):
            items.append(Words(at, y + 13 + 14 * k, said, 10.5, BACKWARD_INK, True, False, anchor))
        title += ", its gradient comes back"
    if edge["inplace"]:
        x, y = down[0]
        items.append(Words(x - 10, y + 15, "in place", 10.5, FAINT, anchor="end"))
    return Group(f"{prefix}-{edge['id']}", clean(title), tuple(items))


def _chip_port(edge: dict[str, Any], layout: dict[str, Any], dx: float, dy: float) -> Point:
    """Arrows leave a chip from its middle, or there would be no room."""
    route = layout["routes"][edge["id"]]
    x, y, w, h = layout["chips"][route["chip"]]["place"]
    return (x + w / 2 + dx, y + h + dy)


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


# ---------------------------------------------------------------------- the legend


def _legend(found: Document, ran: Ran) -> list[tuple[str, str]]:
    """The signs that occur in this picture, with their meaning."""
    nodes, edges = found["nodes"], found["edges"]
    signs = [("forward", "data, forward")]
    if any(e["gradient"] for e in edges):
        signs.append(("backward", "gradient, backward"))
    if any(n["kind"] == "leaf" and n["requires_grad"] for n in nodes):
        signs.append(("leaf", "leaf that requires grad"))
    if any(n["kind"] == "leaf" and not n["requires_grad"] for n in nodes):
        signs.append(("plain", "leaf that does not"))
    if any(e["inplace"] for e in edges):
        signs.append(("inplace", "same tensor, next version"))
    if ran.order:
        signs.append(("order", "order in which nodes ran"))
    if found["layout"]["chips"]:
        signs.append(("chip", "a leaf drawn further up"))
    return signs


_PER_ROW = 4


def _columns(signs: list[tuple[str, str]]) -> list[float]:
    rows = [signs[k : k + _PER_ROW] for k in range(0, len(signs), _PER_ROW)]
    return [
        max(44 + text_width(row[c][1], 11.5) + 18 for row in rows if c < len(row))
        for c in range(len(rows[0]))
    ]


def _legend_width(signs: list[tuple[str, str]]) -> float:
    return sum(_columns(signs))


def _draw_legend(signs: list[tuple[str, str]], top: float) -> Scene:
    shapes: Scene = []
    columns = _columns(signs)
    for k, (sign, meaning) in enumerate(signs):
        x = MARGIN + sum(columns[: k % _PER_ROW])
        y = top + 18 + LEGEND_ROW * (k // _PER_ROW)
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
    elif sign == "chip":
        yield Rect(x + 2, y - 8, 28, 16, "#FFFFFF", LEAF, 2.0, "", 8)
    else:
        yield Disc(x + 16, y, 9, BACKWARD_INK)
        yield Words(x + 16, y + 4, "1", 11, "#FFFFFF", True, False, "middle")


# ---------------------------------------------------------------------- as SVG

SANS = "'DejaVu Sans', Verdana, Arial, sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"


def svg(found: Document) -> str:
    """The picture as SVG text, the same on every machine."""
    width, height, shapes = scene(found)
    first, second = headline(found)
    prefix = f"mg-{found['number']}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}"'
        f' viewBox="0 0 {_n(width)} {_n(height)}" role="img"'
        f' aria-labelledby="{prefix}-title" font-family="{SANS}">',
        f'<title id="{prefix}-title">{esc(found["name"] + ": " + first + "; " + second)}</title>',
    ]
    for item in shapes:
        if isinstance(item, Group):
            lines.append(f'<g id="{esc(item.id)}"><title>{esc(item.title)}</title>')
            lines += [_svg_item(i) for i in item.items]
            lines.append("</g>")
        else:
            lines.append(_svg_item(item))
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _n(value: float) -> str:
    """A coordinate: at most one decimal, and none if it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def _svg_item(item: Item) -> str:
    if isinstance(item, Rect):
        extra = f' rx="{_n(item.radius)}"' if item.radius else ""
        return (
            f'<rect x="{_n(item.x)}" y="{_n(item.y)}" width="{_n(item.width)}"'
            f' height="{_n(item.height)}" fill="{item.fill}"{extra}{_stroke(item)}/>'
        )
    if isinstance(item, Line):
        path = f"M{_n(item.start[0])} {_n(item.start[1])}"
        for piece in item.pieces:
            path += ("L" if len(piece) == 1 else "C") + " ".join(
                f"{_n(x)} {_n(y)}" for x, y in piece
            )
        return f'<path d="{path}" fill="none"{_stroke(item)}/>'
    if isinstance(item, Shape):
        points = " ".join(f"{_n(x)},{_n(y)}" for x, y in item.points)
        return f'<polygon points="{points}" fill="{item.fill}"/>'
    if isinstance(item, Disc):
        return f'<circle cx="{_n(item.x)}" cy="{_n(item.y)}" r="{_n(item.radius)}" fill="{item.fill}"/>'
    extra = f' font-family="{MONO}"' if item.mono else ""
    if item.bold:
        extra += ' font-weight="bold"'
    if item.anchor != "start":
        extra += f' text-anchor="{item.anchor}"'
    return (
        f'<text x="{_n(item.x)}" y="{_n(item.y)}" font-size="{_n(item.size)}"'
        f' fill="{item.fill}"{extra} xml:space="preserve">{esc(item.text)}</text>'
    )


def _stroke(item: Rect | Line) -> str:
    if item.stroke == "none":
        return ""
    dash = f' stroke-dasharray="{item.dash}"' if item.dash else ""
    return f' stroke="{item.stroke}" stroke-width="{_n(item.thick)}"{dash}'


# ---------------------------------------------------------------------- as PNG


def png(found: Document, scale: float = 2.0) -> bytes:
    """The same picture as a bitmap, `scale` pixels to the unit; needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height, shapes = scene(found)
    dpi = 72 * scale
    # A bitmap has at most 65,535 pixels to a side.
    dpi = min(dpi, 72 * 60_000 / max(width, height))
    figure = Figure(figsize=(width / 72, height / 72), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    order = 0
    for item in shapes:
        for part in item.items if isinstance(item, Group) else (item,):
            order += 1
            _plot(axes, part, order)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _plot(axes: Any, item: Item, order: int) -> None:
    from matplotlib import patches
    from matplotlib.path import Path

    look: dict[str, Any] = {"zorder": order}
    if isinstance(item, Rect | Line):
        look |= {"edgecolor": item.stroke, "linewidth": item.thick if item.stroke != "none" else 0}
        if item.dash:
            on, off = item.dash.split()
            look["linestyle"] = (0, (float(on) / item.thick, float(off) / item.thick))
    if isinstance(item, Rect):
        rounding = min(item.radius, item.height / 2, item.width / 2)
        style = f"round,pad=0,rounding_size={rounding}" if rounding else "square,pad=0"
        axes.add_patch(
            patches.FancyBboxPatch(
                (item.x, item.y),
                item.width,
                item.height,
                boxstyle=style,
                facecolor=item.fill,
                **look,
            )
        )
    elif isinstance(item, Line):
        points, codes = [item.start], [Path.MOVETO]
        for piece in item.pieces:
            points += piece
            codes += [Path.LINETO] if len(piece) == 1 else [Path.CURVE4] * 3
        axes.add_patch(patches.PathPatch(Path(points, codes), facecolor="none", **look))
    elif isinstance(item, Shape):
        axes.add_patch(patches.Polygon(item.points, facecolor=item.fill, linewidth=0, **look))
    elif isinstance(item, Disc):
        axes.add_patch(
            patches.Circle((item.x, item.y), item.radius, facecolor=item.fill, linewidth=0, **look)
        )
    else:
        anchor = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
        axes.text(
            item.x,
            item.y,
            clean(item.text).replace("$", r"\$"),
            fontsize=item.size,
            color=item.fill,
            fontweight="bold" if item.bold else "normal",
            family="DejaVu Sans Mono" if item.mono else "DejaVu Sans",
            ha=anchor,
            va="baseline",
            **look,
        )


# ---------------------------------------------------------------------- as text

LONGEST_TABLE = 200


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in columns, the first row being the head; `right` aligned columns are numbers."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if c in right else cell.ljust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def forward_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of the forward pass, head included."""
    from minigrad.tape.trace import where

    nodes = {n["id"]: n for n in found["nodes"]}
    rows: list[tuple[str, ...]] = [
        ("step", "line", "op", "inputs", "output", "shape", "version", "grad_fn")
    ]
    for node in found["nodes"]:
        if node["kind"] != "op":
            continue
        inputs = [
            clean(i["constant"]) if "constant" in i else _versioned(nodes[i["node"]])
            for i in node["inputs"]
        ]
        rows.append(
            (
                str(node["order"]),
                where(found, node["code"]),
                node["op"] + ("_" if node["inplace"] else ""),
                short(", ".join(inputs)),
                short(node["name"]),
                shape_text(node["shape"]),
                str(node["version"]),
                node["backward"] or "none",
            )
        )
    return rows


def leaf_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of the leaves, head included."""
    rows: list[tuple[str, ...]] = [("leaf", "shape", "dtype", "requires_grad")]
    for node in found["nodes"]:
        if node["kind"] == "leaf":
            rows.append(
                (
                    short(node["name"]),
                    shape_text(node["shape"]),
                    node["dtype"],
                    "yes" if node["requires_grad"] else "no",
                )
            )
    return rows


def backward_rows(found: Document, number: int) -> list[tuple[str, ...]]:
    """The table of one backward pass, head included."""
    nodes = {n["id"]: n for n in found["nodes"]}
    rows: list[tuple[str, ...]] = [("step", "node", "of", "contributions", "sends to")]
    expected: dict[str, int] = {}
    for step in found["steps"]:
        if step["phase"] != "backward" or step["pass"] != number:
            continue
        if step["event"] == "seed":
            expected = step["expected"]
        elif step["event"] == "node":
            node = nodes[step["node"]]
            sends = ", ".join(_versioned(nodes[s["to"]]) for s in step["sent"])
            rows.append(
                (
                    str(step["order"]),
                    node["backward"] or "",
                    _versioned(node),
                    str(expected.get(node["id"], 0) or "seed"),
                    sends or ".grad",
                )
            )
    return rows


def _versioned(node: Node) -> str:
    name = short(node["name"])
    return f"{name} v{node['version']}" if node["versions"] > 1 else name


def text(found: Document) -> str:
    """The tape as tables: what ran forward, and what each backward pass did."""
    from minigrad.tape.trace import where

    first, _ = headline(found)
    parts = [f"{short(found['name'])}: {first}"]
    forward, leaves = forward_rows(found), leaf_rows(found)
    if len(leaves) > 1:
        parts.append(_elided(leaves, ()))
    if len(forward) > 1:
        parts.append(_elided(forward, (0, 1, 6)))
    for ran in found["backward"]:
        line = where(found, ran["code"])
        head = f"backward {ran['number']}" + (f" (line {line})" if line else "")
        rows = backward_rows(found, ran["number"])
        parts.append(head + "\n" + _elided(rows, (0,)))
        if ran["error"] is not None:
            parts.append(f"backward {ran['number']} stopped: {clean(ran['error'].splitlines()[0])}")
    if found["error"] is not None:
        line = where(found, found["error"]["code"])
        at = f" (line {line})" if line else ""
        said = clean(found["error"]["text"].splitlines()[0])
        if found["backward"] and found["backward"][-1]["error"] == found["error"]["text"]:
            said = said.partition(":")[0]  # the whole of it stands just above
        parts.append(f"the code stopped{at}: {said}")
    return "\n\n".join(parts)


def _elided(rows: list[tuple[str, ...]], right: Sequence[int]) -> str:
    """A table; of a very long one the middle is left out, and that is said."""
    if len(rows) <= LONGEST_TABLE + 1:
        return table(rows, right)
    half = LONGEST_TABLE // 2
    lines = table([*rows[: half + 1], *rows[-half:]], right).split("\n")
    lines.insert(half + 1, f"... {len(rows) - 1 - 2 * half} more rows ...")
    return "\n".join(lines)


def value_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of values: what each tensor held when it was made."""
    rows: list[tuple[str, ...]] = [("tensor", "shape", "dtype", "value")]
    for node in found["nodes"]:
        if node["shape"] is not None:
            rows.append(
                (
                    _versioned(node),
                    shape_text(node["shape"]),
                    node["dtype"],
                    in_words(node["value"]),
                )
            )
    return rows
