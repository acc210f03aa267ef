"""Shapes: the elements of a picture, and their SVG text.

A picture is first drawn as a list of shapes, the scene, so that the SVG and the PNG (bitmap.py)
are always the same. All text from the user's code passes through `esc` before it goes into SVG.
"""

from collections.abc import Iterable, Mapping, Sequence
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
class Lines:
    """Lines of one color, each from a start point; or, if they are filled, the outlines of areas.

    parts    the start point and the pieces of each line: a piece is one point, or the three points of a
             cubic Bézier curve
    """

    parts: tuple[tuple[Point, tuple[tuple[Point, ...], ...]], ...]
    stroke: str = "none"
    thick: float = 1.0
    dash: str = ""
    fill: str = "none"


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
class Group:
    """Shapes that belong together: one node or one edge, with a title for screen readers."""

    id: str
    title: str
    items: "tuple[Item, ...]"
    opacity: float = 1.0


Item = Rect | Lines | Words
Scene = list[Group | Item]


def straight(
    ends: Iterable[tuple[Point, Point]], stroke: str, thick: float = 1.0, dash: str = ""
) -> Lines:
    """Straight lines, each from one point to another."""
    return Lines(tuple((start, ((end,),)) for start, end in ends), stroke, thick, dash)


def polygons(corners: Iterable[Sequence[Point]], fill: str) -> Lines:
    """Polygons of one color, each given by its corners."""
    return Lines(tuple((c[0], tuple((p,) for p in (*c[1:], c[0]))) for c in corners), fill=fill)


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
        case Lines():
            path = "".join(map(_path, item.parts))
            return _element("path", {"d": path, "fill": item.fill} | _stroke(item))
        case Words():
            look = {"x": item.x, "y": item.y, "font-size": item.size, "fill": item.fill}
            look |= {"font-family": MONO if item.mono else None}
            look |= {"font-weight": "bold" if item.bold else None}
            look |= {"text-anchor": None if item.anchor == "start" else item.anchor}
            return _element("text", look, esc(item.text))


def _path(part: tuple[Point, Sequence[Sequence[Point]]]) -> str:
    """A line in SVG's path language: "M0 0h20v5L0 0"."""
    (x, y), pieces = part
    path = f"M{_n(x)} {_n(y)}"
    for piece in pieces:
        before, (x, y) = (x, y), piece[-1]
        if len(piece) == 1 and y == before[1]:
            path += f"h{_n(x - before[0])}"
        elif len(piece) == 1 and x == before[0]:
            path += f"v{_n(y - before[1])}"
        else:
            path += "L" if len(piece) == 1 else "C"
            path += " ".join(f"{_n(u)} {_n(v)}" for u, v in piece)
    return path


def _stroke(item: Rect | Lines) -> dict[str, str | float | None]:
    if item.stroke == "none":
        return {}
    dash = item.dash or None
    return {"stroke": item.stroke, "stroke-width": item.thick, "stroke-dasharray": dash}


def _element(tag: str, look: Mapping[str, str | float | None], text: str | None = None) -> str:
    """An SVG element; attributes that are None are left out."""
    given = {k: v if isinstance(v, str) else _n(v) for k, v in look.items() if v is not None}
    start = tag + "".join(f' {k}="{v}"' for k, v in given.items())
    return f"<{start}/>" if text is None else f"<{start}>{text}</{tag}>"
