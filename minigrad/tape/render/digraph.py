"""Graphs in the Graphviz language (DOT). All of minigrad's DOT output is written here.

    digraph tape {
        node [shape=box];
        n0 [label="x\\n(2,)"];
        n1 [label="z\\n(2,)"];
        n0 -> n1;
    }

It is used by the tape (text.py), static programs and make_dot, which provide the boxes and
arrows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from minigrad.tape.names import clean

Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Vertex:
    """A box: the lines of its label, and its attributes."""

    id: str
    lines: Sequence[str]
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Arrow:
    """An arrow, with its attributes."""

    start: str
    end: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Cluster:
    """Boxes in a common frame, with a title."""

    title: str
    vertices: Sequence[Vertex]


def digraph(
    name: str, parts: Iterable[Vertex | Cluster], arrows: Iterable[Arrow], **defaults: Attributes
) -> str:
    """The DOT text of a graph.

    defaults    `graph` and `node`: attributes of the graph, and of every box

    >>> print(digraph("g", [Vertex("a", ["x"])], [Arrow("a", "a", {"style": "dashed"})]))
    digraph g {
        a [label="x"];
        a -> a [style=dashed];
    }
    """
    lines = [f"    {what}{_attribute_text(attributes)};" for what, attributes in defaults.items()]
    for k, part in enumerate(parts):
        if isinstance(part, Cluster):
            lines += [f"    subgraph cluster{k} {{", f"        label={_quoted([part.title])};"]
            lines += [f"        {_vertex(v)}" for v in part.vertices]
            lines.append("    }")
        else:
            lines.append(f"    {_vertex(part)}")
    lines += [f"    {a.start} -> {a.end}{_attribute_text(a.attributes)};" for a in arrows]
    return "\n".join([" ".join(["digraph", *name.split(), "{"]), *lines, "}"])


def _vertex(v: Vertex) -> str:
    return f"{v.id}{_attribute_text({'label': _quoted(v.lines), **v.attributes})};"


def _attribute_text(attributes: Attributes) -> str:
    return f" [{' '.join(f'{k}={v}' for k, v in attributes.items())}]" if attributes else ""


def _quoted(lines: Iterable[str]) -> str:
    """The lines of a label as a DOT string."""
    text = [clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line]
    return '"' + "\\n".join(text) + '"'
