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

Looks = Mapping[str, str]


@dataclass(frozen=True)
class Vertex:
    """A box: the lines of its label, and its attributes."""

    id: str
    lines: Sequence[str]
    looks: Looks = field(default_factory=dict)


@dataclass(frozen=True)
class Arrow:
    """An arrow, with its attributes."""

    start: str
    end: str
    looks: Looks = field(default_factory=dict)


@dataclass(frozen=True)
class Cluster:
    """Boxes in a common frame, with a title."""

    title: str
    vertices: Sequence[Vertex]


def digraph(
    name: str, parts: Iterable[Vertex | Cluster], arrows: Iterable[Arrow], **defaults: Looks
) -> str:
    """The DOT text of a graph.

    defaults    `graph` and `node`: attributes of the graph, and of every box

    >>> print(digraph("g", [Vertex("a", ["x"])], [Arrow("a", "a", {"style": "dashed"})]))
    digraph g {
        a [label="x"];
        a -> a [style=dashed];
    }
    """
    lines = [f"    {what}{_looks(looks)};" for what, looks in defaults.items()]
    for k, part in enumerate(parts):
        if isinstance(part, Cluster):
            lines += [f"    subgraph cluster{k} {{", f"        label={_quoted([part.title])};"]
            lines += [f"        {_vertex(v)}" for v in part.vertices]
            lines.append("    }")
        else:
            lines.append(f"    {_vertex(part)}")
    lines += [f"    {a.start} -> {a.end}{_looks(a.looks)};" for a in arrows]
    return "\n".join([" ".join(["digraph", *name.split(), "{"]), *lines, "}"])


def _vertex(v: Vertex) -> str:
    return f"{v.id}{_looks({'label': _quoted(v.lines), **v.looks})};"


def _looks(looks: Looks) -> str:
    return f" [{' '.join(f'{k}={v}' for k, v in looks.items())}]" if looks else ""


def _quoted(lines: Iterable[str]) -> str:
    """The lines of a label as a DOT string."""
    text = [clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line]
    return '"' + "\\n".join(text) + '"'
