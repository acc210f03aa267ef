"""The picture of make_dot's graph.

A leaf and its AccumulateGrad share a box, and a leaf that is used far away is repeated
there, in a small chip. With more than 400 boxes, only those nearest to the outputs are drawn,
and the picture says how many are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from minigrad.tape.arrows import arrow_head, leaning
from minigrad.tape.digraph import Arrow, Vertex
from minigrad.tape.layout import Box, lay_out, text_width
from minigrad.tape.shapes import Picture, Point, Rect, Scene, Words

# The Graphviz colors of the boxes, and the colors in our own picture.
COLORS = {
    "lightgray": "#E8EAED",
    "lightblue": "#DCEBF7",
    "darkolivegreen1": "#E2F3C8",
    "darkolivegreen3": "#C5DE9B",
    "orange": "#FFE3B3",
}
LEAF = "lightblue"
LINE = "#6B727B"
SIZE, ROW, PAD, MARGIN = 12.0, 16.0, 10.0, 16.0
MOST_DRAWN = 400


@dataclass
class DotGraph:
    """Nodes and edges, numbered in the order of the walk."""

    vertices: dict[str, Vertex] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)

    def add(self, lines: Iterable[str], color: str) -> str:
        """Add a node with these lines, without the empty ones; returns its id: n0, n1, ..."""
        key = f"n{len(self.vertices)}"
        self.vertices[key] = Vertex(key, list(filter(None, lines)), {"fillcolor": color})
        return key

    def connect(self, start: str, end: str, **looks: str) -> None:
        """Add an arrow with these attributes."""
        self.arrows.append(Arrow(start, end, looks))


def with_joined_leaves(graph: DotGraph) -> DotGraph:
    """Put each leaf into one box with its AccumulateGrad."""
    leaves = {v.id for v in graph.vertices.values() if v.looks["fillcolor"] == LEAF}
    into = {a.end: a.start for a in graph.arrows if a.start in leaves and not a.looks}
    one = DotGraph()
    for v in graph.vertices.values():
        if v.id not in into:
            more = ["AccumulateGrad"] if v.id in leaves else []
            one.vertices[v.id] = Vertex(v.id, [*v.lines, *more], v.looks)
    one.arrows = [
        Arrow(into.get(a.start, a.start), a.end, a.looks) for a in graph.arrows if a.end not in into
    ]
    return one


def draw_graph(graph: DotGraph) -> Picture:
    """The picture of the graph."""
    graph = with_joined_leaves(graph)
    vertices = list(graph.vertices.values())[:MOST_DRAWN]  # those nearest to the outputs
    shown = {v.id for v in vertices}
    arrows = [a for a in graph.arrows if a.start in shown and a.end in shown]
    layout = lay_out([_measured(v) for v in vertices], [(a.start, a.end) for a in arrows])
    left_out = len(graph.vertices) - len(vertices)
    note = f"{left_out} more nodes, further up, are not drawn" if left_out else ""
    above = ROW + PAD if note else 0
    wide = max(layout.width, text_width(note, SIZE)) + 2 * MARGIN
    high = layout.height + 2 * MARGIN + above
    shapes: Scene = [Rect(0, 0, wide, high, "#FFFFFF")]
    if note:
        shapes.append(Words(MARGIN, MARGIN + SIZE, note, SIZE, mono=True))
    dx, dy = (wide - layout.width) / 2, MARGIN + above
    for a, route in zip(arrows, layout.routes, strict=True):
        knees = [y + dy for y in route.knees]
        shapes += _arrow([(x + dx, y + dy) for x, y in route.points], knees, a)
    for c in layout.chips:
        p = c.place
        x, y = p.x + dx, p.y + dy
        shapes.append(_box(x, y, p.width, p.height, COLORS[LEAF], p.height / 2))
        name = graph.vertices[c.of].lines[0]
        shapes.append(_words(x + p.width / 2, y + p.height / 2 + 4, f"↑ {name}"))
    for v in vertices:
        p = layout.boxes[v.id]
        x, y = p.x + dx, p.y + dy
        shapes.append(_box(x, y, p.width, p.height, COLORS[v.looks["fillcolor"]], 4))
        for k, line in enumerate(v.lines):
            shapes.append(_words(x + p.width / 2, y + PAD / 2 + ROW * (k + 0.75), line))
    return Picture(wide, high, shapes, "make-dot", f"graph of {len(graph.vertices)} nodes")


def _measured(v: Vertex) -> Box:
    width = max(text_width(line, SIZE, mono=True) for line in v.lines) + 2 * PAD
    chip = text_width(f"↑ {v.lines[0]}", SIZE, mono=True) + 2 * PAD
    leaf = v.looks["fillcolor"] == LEAF
    return Box(v.id, width, ROW * len(v.lines) + PAD, leaf=leaf, chip=chip)


def _box(x: float, y: float, width: float, height: float, fill: str, radius: float) -> Rect:
    return Rect(x, y, width, height, fill, LINE, 1.2, "", radius)


def _words(x: float, y: float, text: str) -> Words:
    return Words(x, y, text, SIZE, mono=True, anchor="middle")


def _arrow(points: Sequence[Point], knees: Sequence[float], arrow: Arrow) -> Scene:
    """An arrow: a line that is slanted between two layers and straight within one, and its head."""
    headed = arrow.looks.get("dir") != "none"
    dash = "3 3" if arrow.looks else ""
    line = leaning(points, LINE, 1.4, dash, knees=knees, end=-7 if headed else 0)
    return [line, arrow_head(points[-1], LINE, 8.0, 4.0)] if headed else [line]
