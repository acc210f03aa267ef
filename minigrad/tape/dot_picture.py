"""The picture of make_dot's graph, as SVG.

A leaf and its AccumulateGrad share a box, and a leaf that is used far from it is named again
there, in a small chip. Above 400 boxes those nearest to the outputs are drawn, and it is said
how many are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minigrad.tape.layout import Box, lay_out, text_width
from minigrad.tape.shapes import esc

# What a box may be: its color for Graphviz, and in our own picture.
COLORS = {
    "op": ("lightgray", "#E8EAED"),
    "leaf": ("lightblue", "#DCEBF7"),
    "output": ("darkolivegreen1", "#E2F3C8"),
    "base": ("darkolivegreen3", "#C5DE9B"),
    "saved": ("orange", "#FFE3B3"),
}
INK, LINE = "#1A1A1A", "#6B727B"
SIZE, ROW, PAD, MARGIN = 12.0, 16.0, 10.0, 16.0
MOST_DRAWN = 400


@dataclass
class Vertex:
    """A node of the text: its label, in lines, and what kind of box it is."""

    id: str
    lines: list[str]
    kind: str


@dataclass
class Edge:
    """An arrow, or a line without a head."""

    start: str
    end: str
    style: str = ""  # "", "none" (no arrow's head), "dotted"


@dataclass
class Graph:
    """Nodes and edges, numbered as they are met."""

    vertices: dict[str, Vertex] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def add(self, lines: Sequence[str], kind: str) -> str:
        key = f"n{len(self.vertices)}"
        self.vertices[key] = Vertex(key, [line for line in lines if line], kind)
        return key


def joined(graph: Graph) -> Graph:
    """Each leaf in one box with its AccumulateGrad."""
    into = {
        e.end: e.start
        for e in graph.edges
        if graph.vertices[e.start].kind == "leaf" and not e.style
    }
    one = Graph()
    for v in graph.vertices.values():
        if v.id not in into:
            more = ["AccumulateGrad"] if v.kind == "leaf" else []
            one.vertices[v.id] = Vertex(v.id, v.lines + more, v.kind)
    for e in graph.edges:
        if e.end not in into:
            one.edges.append(Edge(into.get(e.start, e.start), e.end, e.style))
    return one


def drawn(graph: Graph) -> str:
    shown = set(list(graph.vertices)[:MOST_DRAWN])  # those nearest to the outputs
    edges = [e for e in graph.edges if e.start in shown and e.end in shown]
    vertices = [v for v in graph.vertices.values() if v.id in shown]
    boxes = []
    for v in vertices:
        width = max(text_width(line, SIZE, mono=True) for line in v.lines) + 2 * PAD
        chip = text_width(f"↑ {v.lines[0]}", SIZE, mono=True) + 2 * PAD
        leaf = v.kind == "leaf"
        boxes.append(Box(v.id, width, ROW * len(v.lines) + PAD, leaf=leaf, chip=chip))
    layout = lay_out(boxes, [(e.start, e.end) for e in edges])
    left_out = len(graph.vertices) - len(vertices)
    note = f"{left_out} more nodes, further up, are not drawn" if left_out else ""
    wide = max(layout.width, text_width(note, SIZE)) + 2 * MARGIN
    high = layout.height + 2 * MARGIN + (ROW + PAD if note else 0)
    what = f"graph of {len(graph.vertices)} nodes"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(wide)}" height="{_n(high)}"'
        f' viewBox="0 0 {_n(wide)} {_n(high)}" role="img"><title>{what}</title>',
        f'<rect x="0" y="0" width="{_n(wide)}" height="{_n(high)}" fill="#FFFFFF"/>',
    ]
    if note:
        lines.append(_text(MARGIN, MARGIN + SIZE, note, "start"))
    dx = (wide - layout.width) / 2
    dy = MARGIN + (ROW + PAD if note else 0)
    for e, route in zip(edges, layout.routes, strict=True):
        points = [(x + dx, y + dy) for x, y in route.points]
        if route.chip is not None:
            p = layout.chips[route.chip].place
            points[0] = (p.x + p.width / 2 + dx, p.y + p.height + dy)
        lines += _arrow(points, e.style)
    for c in layout.chips:
        p = c.place
        lines.append(_box(p.x + dx, p.y + dy, p.width, p.height, COLORS["leaf"][1], p.height / 2))
        name = graph.vertices[c.of].lines[0]
        lines.append(_text(p.x + dx + p.width / 2, p.y + dy + p.height / 2 + 4, f"↑ {name}"))
    for v in vertices:
        p = layout.boxes[v.id]
        lines.append(_box(p.x + dx, p.y + dy, p.width, p.height, COLORS[v.kind][1], 4))
        for k, line in enumerate(v.lines):
            y = p.y + dy + PAD / 2 + ROW * (k + 0.75)
            lines.append(_text(p.x + dx + p.width / 2, y, line))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(x: float, y: float, width: float, height: float, fill: str, radius: float) -> str:
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}"'
        f' fill="{fill}" stroke="{LINE}" stroke-width="1.2"/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(SIZE)}" text-anchor="{anchor}"'
        f" font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\""
        f' fill="{INK}">{esc(text)}</text>'
    )


def _arrow(points: list[tuple[float, float]], style: str) -> list[str]:
    """A line that leans between two layers and is straight within one, and its head."""
    headed = style != "none"
    (x, y), dash = points[-1], ' stroke-dasharray="3 3"' if style else ""
    if headed:
        points = [*points[:-1], (x, y - 7)]
    path = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for k in range(1, len(points)):
        (x0, y0), (x1, y1) = points[k - 1], points[k]
        if k % 2 == 0 or x0 == x1:
            path += f"L{_n(x1)} {_n(y1)}"
        else:
            middle = (y0 + y1) / 2
            path += f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}"
    lines = [f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.4"{dash}/>']
    if headed:
        tip = f"{_n(x)},{_n(y)} {_n(x - 4)},{_n(y - 8)} {_n(x + 4)},{_n(y - 8)}"
        lines.append(f'<polygon points="{tip}" fill="{LINE}"/>')
    return lines


def _n(value: float) -> str:
    """A coordinate: at most one decimal, and none if it is whole."""
    return f"{value:.1f}".removesuffix(".0")
