"""The picture of make_dot's graph.

A leaf and its AccumulateGrad share a box, and a leaf that is used far away is repeated
there, in a small chip. With more than 400 boxes, only those nearest to the outputs are drawn,
and the picture says how many are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minigrad.tape.arrows import arrow_head, leaning
from minigrad.tape.layout import Box, lay_out, text_width
from minigrad.tape.shapes import Item, Point, Rect, Scene, Words, svg

# The kinds of boxes: the Graphviz color, and the colors in our own picture.
COLORS = {
    "op": ("lightgray", "#E8EAED"),
    "leaf": ("lightblue", "#DCEBF7"),
    "output": ("darkolivegreen1", "#E2F3C8"),
    "base": ("darkolivegreen3", "#C5DE9B"),
    "saved": ("orange", "#FFE3B3"),
}
LINE = "#6B727B"
SIZE, ROW, PAD, MARGIN = 12.0, 16.0, 10.0, 16.0
MOST_DRAWN = 400


@dataclass
class Vertex:
    """A node of the text: the lines of its label, and the kind of box."""

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
    """Nodes and edges, numbered in the order of the walk."""

    vertices: dict[str, Vertex] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def add(self, lines: Sequence[str], kind: str) -> str:
        """Add a node with these lines, without the empty ones; returns its id: n0, n1, ..."""
        key = f"n{len(self.vertices)}"
        self.vertices[key] = Vertex(key, [line for line in lines if line], kind)
        return key


def joined(graph: Graph) -> Graph:
    """Put each leaf into one box with its AccumulateGrad."""
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
    """The picture as SVG text."""
    what = f"graph of {len(graph.vertices)} nodes"
    return svg(*scene(graph), "make-dot", what)


def scene(graph: Graph) -> tuple[float, float, Scene]:
    """Width, height and shapes of the picture."""
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
    shapes: Scene = [Rect(0, 0, wide, high, "#FFFFFF")]
    if note:
        shapes.append(Words(MARGIN, MARGIN + SIZE, note, SIZE, mono=True))
    dx = (wide - layout.width) / 2
    dy = MARGIN + (ROW + PAD if note else 0)
    for e, route in zip(edges, layout.routes, strict=True):
        points = [(x + dx, y + dy) for x, y in route.points]
        if route.chip is not None:
            p = layout.chips[route.chip].place
            points[0] = (p.x + p.width / 2 + dx, p.y + p.height + dy)
        shapes += _arrow(points, e.style)
    for c in layout.chips:
        p = c.place
        shapes.append(_box(p.x + dx, p.y + dy, p.width, p.height, COLORS["leaf"][1], p.height / 2))
        name = graph.vertices[c.of].lines[0]
        shapes.append(_words(p.x + dx + p.width / 2, p.y + dy + p.height / 2 + 4, f"↑ {name}"))
    for v in vertices:
        p = layout.boxes[v.id]
        shapes.append(_box(p.x + dx, p.y + dy, p.width, p.height, COLORS[v.kind][1], 4))
        for k, line in enumerate(v.lines):
            y = p.y + dy + PAD / 2 + ROW * (k + 0.75)
            shapes.append(_words(p.x + dx + p.width / 2, y, line))
    return wide, high, shapes


def _box(x: float, y: float, width: float, height: float, fill: str, radius: float) -> Rect:
    return Rect(x, y, width, height, fill, LINE, 1.2, "", radius)


def _words(x: float, y: float, text: str) -> Words:
    return Words(x, y, text, SIZE, mono=True, anchor="middle")


def _arrow(points: list[Point], style: str) -> list[Item]:
    """An arrow: a line that is slanted between two layers and straight within one, and its head."""
    headed = style != "none"
    line = leaning(points, LINE, 1.4, "3 3" if style else "", end=-7 if headed else 0)
    return [line, arrow_head(points[-1], LINE, 8.0, 4.0)] if headed else [line]
