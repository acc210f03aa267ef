"""Graphs in the Graphviz language (DOT). All of minigrad's DOT output is written here.

    digraph tape {
        node [shape=box];
        n0 [label="x\\n(2,)"];
        n1 [label="z\\n(2,)"];
        n0 -> n1;
    }

The tape (text.py), static programs and make_dot are its users: each provides the boxes
and arrows.
"""

from __future__ import annotations

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
    name: str,
    parts: Iterable[Vertex | Cluster],
    arrows: Iterable[Arrow],
    graph: Looks | None = None,
    node: Looks | None = None,
) -> str:
    """The DOT text of a graph.

    graph, node    attributes of the graph, and of every box

    >>> print(digraph("g", [Vertex("a", ["x"])], [Arrow("a", "a", {"style": "dashed"})]))
    digraph g {
        a [label="x"];
        a -> a [style=dashed];
    }
    """
    lines = [f"    {what} {_looks(looks)};" for what, looks in _defaults(graph, node)]
    for k, part in enumerate(parts):
        if isinstance(part, Cluster):
            lines += [f"    subgraph cluster{k} {{", f"        label={quoted([part.title])};"]
            lines += [f"        {_vertex(v)}" for v in part.vertices]
            lines.append("    }")
        else:
            lines.append(f"    {_vertex(part)}")
    lines += [f"    {a.start} -> {a.end}{_after(_looks(a.looks))};" for a in arrows]
    return "\n".join([f"digraph {name} {{" if name else "digraph {", *lines, "}"])


def _defaults(graph: Looks | None, node: Looks | None) -> list[tuple[str, Looks]]:
    return [(what, looks) for what, looks in (("graph", graph), ("node", node)) if looks]


def _vertex(v: Vertex) -> str:
    return f"{v.id} {_looks({'label': quoted(v.lines), **v.looks})};"


def _looks(looks: Looks) -> str:
    return f"[{' '.join(f'{k}={v}' for k, v in looks.items())}]" if looks else ""


def _after(text: str) -> str:
    return f" {text}" if text else ""


def quoted(lines: Iterable[str]) -> str:
    """The lines of a label as a DOT string."""
    text = [clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line]
    return '"' + "\\n".join(text) + '"'
