"""make_dot: the graph behind a tensor, as torchviz shows it, without Graphviz.

    make_dot(loss, params=dict(model.named_parameters()))

A box is a node of the backward pass, and arrows point in the direction of the data flow:

    blue      a leaf that gets a gradient, with its name from `params` and its shape
    gray      an operation, with the name of its grad_fn
    green     the given tensor; darker: the base of a view
    orange    a tensor saved for backward (show_saved), connected by a line without an arrowhead

The DOT text has these nodes and edges one by one, like torchviz's. In the picture, a
leaf and its AccumulateGrad share a box, and a leaf is repeated near a distant use. Otherwise a
weight that is used often would have too many arrows to follow. If there are more than 400 boxes,
only the 400 nearest to the outputs are drawn, and the picture says how many are left out.

>>> import minigrad
>>> w = minigrad.tensor([1.0, 2.0], requires_grad=True)
>>> print(minigrad.make_dot((w * w).sum(), params={"w": w}).source)
digraph {
    graph [rankdir=TB];
    node [shape=box style=filled fontname=monospace fontsize=10 height=0.2];
    n0 [label="()" fillcolor=darkolivegreen1];
    n1 [label="SumBackward0" fillcolor=lightgray];
    n2 [label="MulBackward0" fillcolor=lightgray];
    n3 [label="w\\n(2,)" fillcolor=lightblue];
    n4 [label="AccumulateGrad" fillcolor=lightgray];
    n1 -> n0;
    n2 -> n1;
    n3 -> n4;
    n4 -> n2;
    n4 -> n2;
}

The same graph always gives the same text and picture: boxes are numbered in traversal order,
not by id(), which changes between runs.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.core.engine import AnyNode
from minigrad.core.tensor import Tensor
from minigrad.tape.adapters import is_leaf, node_of, tensor_kinds
from minigrad.tape.names import clean, namespace_of, shape_text, short, tensors_in
from minigrad.tape.render import bitmap
from minigrad.tape.render.canvas import arrow_head, leaning
from minigrad.tape.render.digraph import Arrow, Vertex, digraph
from minigrad.tape.render.layers import Box
from minigrad.tape.render.layout import lay_out
from minigrad.tape.render.shapes import Picture, Rect, Scene, Words
from minigrad.tape.render.style import text_width

Names = dict[int | AnyNode, str]  # keys: the id of a tensor, or a node

FORMATS = ("svg", "png", "pdf", "dot", "gv")

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


def make_dot(
    var: Tensor | Sequence[Tensor],
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> "Dot":
    """The graph of the backward pass from `var`. Takes the same arguments as torchviz.

    var               a tensor that requires a gradient, or several
    params            names for tensors, as from dict(model.named_parameters()); other tensors
                      get the names of the caller's variables
    show_attrs        also show the saved values that are not tensors
    show_saved        add a box for each tensor that is saved for backward
    max_attr_chars    longer values are cut
    returns           a Dot: in a notebook the picture; `.source` is the DOT text

    Raises TypeError if `var` or a value of `params` is not a tensor.

    >>> import minigrad
    >>> w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> make_dot((w * w).sum(), params={"w": w})
    <make_dot: 5 nodes, 5 edges>

    Source: torchviz (S. Zagoruyko), which defined these arguments and colors.
    """
    if not hasattr(params or {}, "items"):
        given = type(params).__name__
        raise TypeError(
            f"make_dot: params must be a dict, not {given}. To fix it, write params=dict(model.named_parameters())."
        )
    kinds = tensor_kinds()
    several = isinstance(var, Iterable) and not isinstance(var, kinds)
    outputs: list[Any] = list(var) if several else [var]
    for value in (*outputs, *(params or {}).values()):
        if not isinstance(value, kinds):
            kind = type(value).__name__
            raise TypeError(f"make_dot shows tensors, but got a value of type {kind}.")
    # Names from params take precedence. If a tensor has two names, we use the first.
    named = [*tensors_in(namespace_of(sys._getframe(1)), kinds)][::-1]
    named += [(str(name), tensor) for name, tensor in (params or {}).items()]
    return Dot(_Builder(_names_of(named), show_attrs, show_saved, max_attr_chars).build(outputs))


def _names_of(named: Iterable[tuple[str, Any]]) -> Names:
    """The names of tensors and of leaves' nodes; of several, the last."""
    names: Names = {}
    for name, tensor in named:
        names[id(tensor)] = short(name)
        if (node := node_of(tensor)) is not None and is_leaf(node):
            names[node] = short(name)
    return names


@dataclass
class DotGraph:
    """Nodes and edges, numbered in traversal order.

    leaf_of    for each AccumulateGrad, its leaf
    """

    vertices: dict[str, Vertex] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    leaf_of: dict[str, str] = field(default_factory=dict)

    def add(self, lines: Iterable[str], color: str) -> str:
        """Add a node with these lines (empty ones are dropped); returns its id: n0, n1, ..."""
        key = f"n{len(self.vertices)}"
        self.vertices[key] = Vertex(key, list(filter(None, lines)), {"fillcolor": color})
        return key

    def connect(self, start: str, end: str, **attributes: str) -> None:
        """Add an arrow with these attributes."""
        self.arrows.append(Arrow(start, end, attributes))

    def with_joined_leaves(self) -> "DotGraph":
        """The graph with each leaf and its AccumulateGrad joined in one box."""
        of, vertices = self.leaf_of, dict(self.vertices)
        for node, leaf in of.items():
            del vertices[node]
            lines = [*vertices[leaf].lines, "AccumulateGrad"]
            vertices[leaf] = replace(vertices[leaf], lines=lines)
        kept = (a for a in self.arrows if a.end not in of)
        arrows = [replace(a, start=of.get(a.start, a.start)) for a in kept]
        return DotGraph(vertices, arrows)


class _Builder:
    """Traverses the graph from the outputs to the leaves, with its own queue."""

    def __init__(self, names: Names, show_attrs: bool, show_saved: bool, longest: int) -> None:
        self.names, self.show_attrs, self.show_saved = names, show_attrs, show_saved
        self.longest = longest
        self.graph = DotGraph()
        self.met: dict[AnyNode, str] = {}
        self.queue: list[AnyNode] = []

    def build(self, outputs: Sequence[Tensor]) -> DotGraph:
        for z in outputs:
            self._tensor(z, "darkolivegreen1")
        for node in self.queue:  # the queue grows during the loop
            self._edges_of(node)
        return self.graph

    def _tensor(self, x: Tensor, color: str) -> str:
        key = self.graph.add([self.names.get(id(x), ""), shape_text(x.shape)], color)
        node = node_of(x)
        if node is not None:
            self.graph.connect(self._node(node), key)
        if x._base is not None:
            base = self._tensor(x._base, "darkolivegreen3")
            self.graph.connect(base, key, style="dotted")
        return key

    def _node(self, node: AnyNode) -> str:
        if node not in self.met:
            if is_leaf(node):
                lines = [self.names.get(node, ""), shape_text(np.shape(node._array))]
                leaf = self.graph.add(lines, LEAF)
                self.met[node] = self.graph.add([node.name()], "lightgray")
                self.graph.connect(leaf, self.met[node])
                self.graph.leaf_of[self.met[node]] = leaf
            else:
                lines = [node.name(), *self._attributes(node)]
                self.met[node] = self.graph.add(lines, "lightgray")
            self.queue.append(node)
        return self.met[node]

    def _edges_of(self, node: AnyNode) -> None:
        for parent, _ in node.next_functions:
            if parent is not None:
                self.graph.connect(self._node(parent), self.met[node])
        if self.show_saved and not is_leaf(node) and not node.freed:
            saved = ((n, x) for n, (x, _) in node.saved_values().items() if n in node.plan.tensors)
            for name, value in saved:
                for part in value if isinstance(value, tuple) else (value,):
                    lines = [self.names.get(id(part), name), shape_text(np.shape(part))]
                    key = self.graph.add(lines, "orange")
                    self.graph.connect(self.met[node], key, dir="none")

    def _attributes(self, node: AnyNode) -> list[str]:
        """The settings that the node saves for its rules, and the versions of the saved tensors."""
        if not self.show_attrs:
            return []
        if node.freed:
            return ["freed by a backward pass"]
        lines = []
        for name, (value, version) in node.saved_values().items():
            if name not in node.plan.tensors:
                text = clean(repr(value))
            else:
                text = f"saved {shape_text(np.shape(value))}" + (f" v{version}" if version else "")
            lines.append(f"{name}: {text[: self.longest] + '…' * (len(text) > self.longest)}")
        return lines


class Dot:
    """A graph for Graphviz, and minigrad's own picture of it.

    source           the DOT text
    save(path)       write it: .svg .png .pdf as a picture, otherwise the DOT text
    render(name)     like graphviz's: writes the text to `name`, and the picture to `name.format`
    svg(), png()     the picture
    """

    def __init__(self, graph: DotGraph) -> None:
        self._graph = graph
        self.format = "svg"

    @property
    def source(self) -> str:
        """The graph in the Graphviz language."""
        box = {"shape": "box", "style": "filled", "fontname": "monospace", "fontsize": "10"}
        vertices, arrows = self._graph.vertices.values(), self._graph.arrows
        return digraph("", vertices, arrows, graph={"rankdir": "TB"}, node=box | {"height": "0.2"})

    def svg(self) -> str:
        """The picture."""
        return draw_graph(self._graph).svg()

    def png(self, scale: float = 2.0) -> bytes:
        """The picture as a bitmap."""
        return bitmap.rendered(draw_graph(self._graph), scale)

    def pipe(self, format: str | None = None) -> bytes:  # noqa: A002  (graphviz's name)
        """The bytes of a file in this format."""
        form = format or self.format
        if form not in FORMATS:
            known = ", ".join(FORMATS)
            raise ValueError(f"make_dot cannot write {form!r}: the format must be one of {known}.")
        if form in ("png", "pdf"):
            return bitmap.rendered(draw_graph(self._graph), 2.0, form)
        return (self.svg() if form == "svg" else self.source + "\n").encode()

    def save(self, filename: str | Path, directory: str | Path = ".") -> str:
        """Write the file in the format of its extension, and return its path."""
        path = Path(directory, filename)
        form = path.suffix.lower().lstrip(".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.pipe(form if form in FORMATS else "dot"))
        return str(path)

    def render(
        self,
        filename: str | Path = "Digraph.gv",
        directory: str | Path = ".",
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,  # noqa: A002  (graphviz's name)
    ) -> str:
        """Write the text to `filename` and the picture next to it; return the picture's path.

        format     "svg", "png" or "pdf"; by default the attribute `format`, initially "svg"
        view       open the picture
        cleanup    remove the text again
        """
        form = format or self.format
        drawn = self.pipe(form)
        text = Path(directory, filename)
        picture = Path(directory, f"{filename}.{form}")
        text.parent.mkdir(parents=True, exist_ok=True)
        if not cleanup:
            text.write_text(self.source + "\n", encoding="utf-8")
        picture.write_bytes(drawn)
        if view:
            import webbrowser

            webbrowser.open(picture.resolve().as_uri())
        return str(picture)

    def view(self, filename: str | Path = "Digraph.gv", directory: str | Path = ".") -> str:
        """Render, and open the picture."""
        return self.render(filename, directory, view=True)

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        g = self._graph
        return f"<make_dot: {len(g.vertices)} nodes, {len(g.arrows)} edges>"

    _repr_svg_ = svg

    def _repr_png_(self) -> bytes:
        """For viewers that do not show SVG, such as GitHub's."""
        return self.png(bitmap.NOTEBOOK)


# ---------------------------------------------------------------------- the picture


def draw_graph(graph: DotGraph) -> Picture:
    """The picture of the graph."""
    graph = graph.with_joined_leaves()
    vertices = list(graph.vertices.values())[:MOST_DRAWN]  # the boxes nearest to the outputs
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
        headed, dash = a.attributes.get("dir") != "none", "3 3" if a.attributes else ""
        points = [(x + dx, y + dy) for x, y in route.points]
        knees = [y + dy for y in route.knees]
        shapes.append(leaning(points, LINE, 1.4, dash, knees=knees, end=-7 if headed else 0))
        shapes += [arrow_head(points[-1], LINE, 8.0, 4.0)] if headed else []
    for c in layout.chips:
        p = c.place
        x, y = p.x + dx, p.y + dy
        shapes.append(_box(x, y, p.width, p.height, COLORS[LEAF], p.height / 2))
        again = f"↑ {graph.vertices[c.of].lines[0]}"
        shapes.append(_words(x + p.width / 2, y + p.height / 2 + 4, again))
    for v in vertices:
        p = layout.boxes[v.id]
        x, y = p.x + dx, p.y + dy
        shapes.append(_box(x, y, p.width, p.height, COLORS[v.attributes["fillcolor"]], 4))
        for k, line in enumerate(v.lines):
            shapes.append(_words(x + p.width / 2, y + PAD / 2 + ROW * (k + 0.75), line))
    return Picture(wide, high, shapes, "make-dot", f"graph of {len(graph.vertices)} nodes")


def _measured(v: Vertex) -> Box:
    width = max(text_width(line, SIZE, mono=True) for line in v.lines) + 2 * PAD
    chip = text_width(f"↑ {v.lines[0]}", SIZE, mono=True) + 2 * PAD
    leaf = v.attributes["fillcolor"] == LEAF
    return Box(v.id, width, ROW * len(v.lines) + PAD, leaf=leaf, chip=chip)


def _box(x: float, y: float, width: float, height: float, fill: str, radius: float) -> Rect:
    return Rect(x, y, width, height, fill, LINE, 1.2, "", radius)


def _words(x: float, y: float, text: str) -> Words:
    return Words(x, y, text, SIZE, mono=True, anchor="middle")
