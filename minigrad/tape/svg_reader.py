"""Reads minigrad's own pictures back: turns SVG text into the scene that it was made from.

Only the elements that our pictures use are supported:

    svg, g, rect, circle, polygon, path (M L H V C Z), text

with fill, stroke and its width and dashes, rounded corners, bold and monospaced text,
and attributes inherited from groups. Anything else is skipped.

We need this if only the picture is available and not its source: in a stored notebook,
whose SVG many viewers do not show.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from minigrad.tape.shapes import Anchor, Disc, Group, Item, Line, Picture, Point, Rect, Shape, Words

Look = dict[str, str]
ANCHORS: dict[str, Anchor] = {"middle": "middle", "end": "end"}

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERS_IN = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Z": 0}
INHERITED = ("fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "opacity")


def read(svg: str) -> Picture:
    """The picture that an SVG text shows.

    Raises ValueError if the text is not SVG.

    >>> read('<svg width="9" height="9"><circle cx="4" cy="4" r="2" fill="#000000"/></svg>').scene
    [Disc(x=4.0, y=4.0, radius=2.0, fill='#000000', stroke='none', thick=0.0, dash='')]
    """
    if re.search(r"<!(?!--)", svg):  # a DOCTYPE can define entities that expand without end
        raise ValueError("this is not a picture from minigrad: it contains a document type.")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"this is not SVG: {error}.") from None
    if _tag(root) != "svg":
        raise ValueError(f"this is not SVG, but <{_tag(root)}>.")
    box = re.findall(NUMBER, root.get("viewBox", ""))
    given = box[2:] if len(box) == 4 else [root.get(k) for k in ("width", "height")]
    width, height = map(_first, given)
    if not (0 < width < 1e6 and 0 < height < 1e6):
        raise ValueError(f"this SVG has no valid size: {width:g} by {height:g}.")
    scene: list[Group | Item] = []
    for element, look in _shapes(root):
        items = tuple(_items(element, look))
        opacity = _first(look.get("opacity", "1"))
        scene += items if opacity == 1 else [Group("", "", items, opacity)]
    return Picture(width, height, scene)


def _first(text: str | None) -> float:
    """The number at the start of a text: 12 for "12px"; 0 if there is none."""
    found = re.match(NUMBER, text or "")
    return float(found.group()) if found else 0.0


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _shapes(root: Element) -> Iterator[tuple[Element, Look]]:
    """The elements in drawing order, each with its inherited attributes."""
    stack: list[tuple[Element, Look]] = [(root, {})]
    while stack:
        element, inherited = stack.pop()
        look = {**inherited, **element.attrib}
        if _tag(element) in ("svg", "g"):
            handed = {k: v for k, v in look.items() if k in INHERITED}
            stack += [(part, handed) for part in reversed(element)]
        else:
            yield element, look


def _items(element: Element, look: Look) -> Iterator[Item]:
    """The shapes of one element."""

    def at(name: str, default: float = 0) -> float:
        return _first(look[name]) if name in look else default

    tag = _tag(element)
    fill, stroke = look.get("fill", "#000000"), look.get("stroke", "none")
    thick = at("stroke-width", 1.0) if stroke != "none" else 0.0
    dash = " ".join(re.findall(NUMBER, look.get("stroke-dasharray", "")))
    border = (stroke, thick, dash)
    if tag == "rect":
        x, y, width, height = (at(k) for k in ("x", "y", "width", "height"))
        yield Rect(x, y, width, height, fill, *border, at("rx"))
    elif tag == "circle":
        yield Disc(at("cx"), at("cy"), at("r"), fill, *border)
    elif tag == "polygon":
        numbers = [float(v) for v in re.findall(NUMBER, look.get("points", ""))]
        yield Shape(tuple(zip(numbers[::2], numbers[1::2], strict=False)), fill, *border)
    elif tag == "path":
        yield from _lines(look.get("d", ""), border, fill)
    elif tag == "text":
        yield Words(
            at("x"),
            at("y"),
            "".join(element.itertext()),
            at("font-size", 12),
            fill,
            look.get("font-weight") in ("bold", "600", "700"),
            "mono" in look.get("font-family", "").lower(),
            ANCHORS.get(look.get("text-anchor", ""), "start"),
        )


def _lines(d: str, border: tuple[str, float, str], fill: str) -> Iterator[Line]:
    """The `d` of a path as lines; a move command (M) starts a new one."""
    begin = here = (0.0, 0.0)
    pieces: list[tuple[Point, ...]] = []
    for command, rest in re.findall("([A-Za-df-z])([^A-Za-df-z]*)", d):  # e occurs in numbers
        kind = command.upper()
        if kind not in NUMBERS_IN:
            break  # an arc, for example, which our pictures do not use
        numbers = [float(v) for v in re.findall(NUMBER, rest)]
        size = NUMBERS_IN[kind]
        for k in range(0, len(numbers) - size + 1, size) if size else (0,):
            x0, y0 = here if command.islower() else (0.0, 0.0)
            some = numbers[k : k + size]
            points = [(x0 + x, y0 + y) for x, y in zip(some[::2], some[1::2], strict=False)]
            if kind == "Z":
                points = [begin]
            elif kind == "H":
                points = [(x0 + some[0], here[1])]
            elif kind == "V":
                points = [(here[0], y0 + some[0])]
            here = points[-1]
            if kind != "M":
                pieces.append(tuple(points))
                continue
            if pieces:
                yield Line(begin, tuple(pieces), *border, fill)
            begin, pieces, kind = here, [], "L"  # further numbers after M belong to an implicit L
    if pieces:
        yield Line(begin, tuple(pieces), *border, fill)
