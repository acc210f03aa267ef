"""Shapes: the elements of a picture, and their SVG text.

A picture is first drawn as a list of shapes, the scene, so that the SVG and the PNG (bitmap.py)
are always the same. All text from the user's code passes through `esc` before it goes into SVG.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal

from minigrad.tape.names import clean
from minigrad.tape.render import style

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
    """A path from a start point; each piece is one point, or the three points of a cubic Bézier curve."""

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
    """One line of text; y is its baseline, and `anchor` says which point of the text is at x."""

    x: float
    y: float
    text: str
    size: float
    fill: str = style.INK
    bold: bool = False
    mono: bool = False
    anchor: Anchor = "start"


@dataclass(frozen=True)
class Strokes:
    """Separate straight lines, each from one point to another."""

    lines: tuple[tuple[Point, Point], ...]
    stroke: str


@dataclass(frozen=True)
class Tiles:
    """Rectangles of one color, as (x, y, width, height)."""

    places: tuple[tuple[float, float, float, float], ...]
    fill: str


@dataclass(frozen=True)
class Group:
    """Shapes that belong together: one node or one edge, with a title for screen readers."""

    id: str
    title: str
    items: "tuple[Item, ...]"
    opacity: float = 1.0


Item = Rect | Line | Shape | Disc | Words | Strokes | Tiles
Scene = list[Group | Item]


def esc(text: object) -> str:
    """Escape text for XML, in an element or an attribute.

    >>> esc('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return escape(clean(text)).replace("&#x27;", "&#39;")


# ---------------------------------------------------------------------- as SVG

SANS = "'DejaVu Sans', Verdana, Arial, sans-serif"
MONO = "monospace"


@dataclass(frozen=True)
class Picture:
    """A scene with its size, and the id and title of its SVG element."""

    width: float
    height: float
    scene: Scene
    id: str = ""
    title: str = ""

    def svg(self) -> str:
        """The picture as SVG text, the same on every machine."""
        width, height = _n(self.width), _n(self.height)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img"'
            f' aria-labelledby="{self.id}-title" font-family="{SANS}"'
            ' xml:space="preserve">',
            f'<title id="{self.id}-title">{esc(self.title)}</title>',
        ]
        for item in self.scene:
            if isinstance(item, Group):
                faded = f' opacity="{item.opacity:g}"' if item.opacity != 1 else ""
                lines.append(f'<g id="{esc(item.id)}"{faded}><title>{esc(item.title)}</title>')
                lines += [_svg_item(i) for i in item.items]
                lines.append("</g>")
            else:
                lines.append(_svg_item(item))
        return "\n".join([*lines, "</svg>"]) + "\n"


def _n(value: float) -> str:
    """A coordinate as text, with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _svg_item(item: Item) -> str:
    look: dict[str, str | float | None]
    match item:
        case Rect():
            look = {"x": item.x, "y": item.y, "width": item.width, "height": item.height}
            look |= {"fill": item.fill, "rx": item.radius or None}
            return _element("rect", look | _stroke(item))
        case Disc():
            look = {"cx": item.x, "cy": item.y, "r": item.radius, "fill": item.fill}
            return _element("circle", look | _stroke(item))
        case Shape():
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in item.points)
            return _element("polygon", {"points": points, "fill": item.fill} | _stroke(item))
        case Line():
            path = f"M{_n(item.start[0])} {_n(item.start[1])}"
            for piece in item.pieces:
                path += "L" if len(piece) == 1 else "C"
                path += " ".join(f"{_n(x)} {_n(y)}" for x, y in piece)
            return _element("path", {"d": path, "fill": item.fill} | _stroke(item))
        case Strokes():
            path = "".join(f"M{_n(x)} {_n(y)}L{_n(u)} {_n(v)}" for (x, y), (u, v) in item.lines)
            return _element("path", {"d": path, "stroke": item.stroke})
        case Tiles():
            places = [map(_n, place) for place in item.places]
            path = "".join(f"M{x} {y}h{w}v{h}h-{w}z" for x, y, w, h in places)
            return _element("path", {"d": path, "fill": item.fill})
        case Words():
            look = {"x": item.x, "y": item.y, "font-size": item.size, "fill": item.fill}
            look |= {"font-family": MONO if item.mono else None}
            look |= {"font-weight": "bold" if item.bold else None}
            look |= {"text-anchor": None if item.anchor == "start" else item.anchor}
            return _element("text", look, esc(item.text))


def _stroke(item: Rect | Line | Shape | Disc) -> dict[str, str | float | None]:
    if item.stroke == "none":
        return {}
    dash = item.dash or None
    return {"stroke": item.stroke, "stroke-width": item.thick, "stroke-dasharray": dash}


def _element(tag: str, look: Mapping[str, str | float | None], text: str | None = None) -> str:
    """An SVG element; attributes that are None are left out."""
    given = {k: v if isinstance(v, str) else _n(v) for k, v in look.items() if v is not None}
    start = tag + "".join(f' {k}="{v}"' for k, v in given.items())
    return f"<{start}/>" if text is None else f"<{start}>{text}</{tag}>"
