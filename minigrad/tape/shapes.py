"""Shapes: the elements of a picture, and how they become SVG text.

A picture is first a list of shapes, the scene, so that the SVG and the PNG (bitmap.py) are
always the same. All text from the user's code passes through `esc` before it goes into SVG.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from minigrad.tape.names import clean

INK = "#1A1A1A"


Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Rect:
    """A rectangle; x and y are its upper left corner. `dash` is SVG's stroke-dasharray."""

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
    """A path: it starts at the first point; each piece is one point, or the three points of a cubic."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...]
    stroke: str
    thick: float = 1.6
    dash: str = ""
    fill: str = "none"


@dataclass(frozen=True)
class Shape:
    """A polygon."""

    points: tuple[Point, ...]
    fill: str
    stroke: str = "none"
    thick: float = 1.0
    dash: str = ""


@dataclass(frozen=True)
class Disc:
    """A circle; x and y are its center."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str = "none"
    thick: float = 1.0
    dash: str = ""


@dataclass(frozen=True)
class Words:
    """One line of text at its baseline; `anchor` says which point of it is at x."""

    x: float
    y: float
    text: str
    size: float
    fill: str = INK
    bold: bool = False
    mono: bool = False
    anchor: Anchor = "start"


@dataclass(frozen=True)
class Hatching:
    """Slanted lines over a part of a box."""

    x: float
    y: float
    width: float
    height: float
    stroke: str

    def lines(self) -> list[tuple[Point, Point]]:
        """The lines, from the bottom of the part to its top."""
        found, x = [], self.x + 6
        while x + self.height / 2 < self.x + self.width - 4:
            found.append(((x, self.y + self.height), (x + self.height / 2, self.y)))
            x += 9
        return found


@dataclass(frozen=True)
class Group:
    """Shapes that belong together: one node or one edge, with a title for screen readers."""

    id: str
    title: str
    items: tuple[Item, ...]
    opacity: float = 1.0


Item = Rect | Line | Shape | Disc | Words | Hatching
Scene = list[Group | Item]


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


# ---------------------------------------------------------------------- as SVG

SANS = "'DejaVu Sans', Verdana, Arial, sans-serif"
MONO = "monospace"


def svg(width: float, height: float, scene: Iterable[Group | Item], prefix: str, title: str) -> str:
    """The scene as SVG text, the same on every machine."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}"'
        f' viewBox="0 0 {_n(width)} {_n(height)}" role="img"'
        f' aria-labelledby="{prefix}-title" font-family="{SANS}"'
        ' xml:space="preserve">',
        f'<title id="{prefix}-title">{esc(title)}</title>',
    ]
    for item in scene:
        if isinstance(item, Group):
            faded = f' opacity="{item.opacity:g}"' if item.opacity != 1 else ""
            lines.append(f'<g id="{esc(item.id)}"{faded}><title>{esc(item.title)}</title>')
            lines += [_svg_item(i) for i in item.items]
            lines.append("</g>")
        else:
            lines.append(_svg_item(item))
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _n(value: float) -> str:
    """A coordinate as text: at most one decimal, and none if it is whole."""
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
        return f'<path d="{path}" fill="{item.fill}"{_stroke(item)}/>'
    if isinstance(item, Shape):
        points = " ".join(f"{_n(x)},{_n(y)}" for x, y in item.points)
        return f'<polygon points="{points}" fill="{item.fill}"{_stroke(item)}/>'
    if isinstance(item, Disc):
        return (
            f'<circle cx="{_n(item.x)}" cy="{_n(item.y)}" r="{_n(item.radius)}"'
            f' fill="{item.fill}"{_stroke(item)}/>'
        )
    if isinstance(item, Hatching):
        path = "".join(f"M{_n(x)} {_n(y)}L{_n(u)} {_n(v)}" for (x, y), (u, v) in item.lines())
        return f'<path d="{path}" stroke="{item.stroke}"/>'
    extra = f' font-family="{MONO}"' if item.mono else ""
    if item.bold:
        extra += ' font-weight="bold"'
    if item.anchor != "start":
        extra += f' text-anchor="{item.anchor}"'
    return (
        f'<text x="{_n(item.x)}" y="{_n(item.y)}" font-size="{_n(item.size)}"'
        f' fill="{item.fill}"{extra}>{esc(item.text)}</text>'
    )


def _stroke(item: Rect | Line | Shape | Disc) -> str:
    if item.stroke == "none":
        return ""
    dash = f' stroke-dasharray="{item.dash}"' if item.dash else ""
    return f' stroke="{item.stroke}" stroke-width="{_n(item.thick)}"{dash}'
