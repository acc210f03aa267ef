"""Reads minigrad's own pictures back: turns SVG text into the scene that it was made from.

It does not read every SVG, only the elements that our pictures use:

    svg, g, rect, circle, polygon, path (M L H V C Q Z), text

with fill, stroke and its width and dashes, rounded corners, bold and monospaced text,
and the attributes that a group passes to its parts. Anything else is skipped.

We need it if only the picture is available and not its source: in a stored
notebook, whose SVG many viewers do not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from minigrad.tape.shapes import Anchor, Disc, Group, Item, Line, Point, Rect, Scene, Shape, Words

Look = dict[str, str]

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERS_IN = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "Z": 0}
INHERITED = ("fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "opacity")


def read(svg: str) -> tuple[float, float, Scene]:
    """Width, height and shapes of a picture.

    Raises ValueError if the text is not SVG.

    >>> read('<svg width="9" height="9"><circle cx="4" cy="4" r="2" fill="#000000"/></svg>')[2]
    [Disc(x=4.0, y=4.0, radius=2.0, fill='#000000', stroke='none', thick=0.0, dash='')]
    """
    root = _parsed(svg)
    width, height = _size(root)
    scene: Scene = []
    for element, look in _shapes(root):
        items = tuple(_items(element, look))
        opacity = float(_first(look.get("opacity", "1")))
        scene += items if opacity == 1 else [Group("", "", items, opacity)]
    return width, height, scene


def _parsed(svg: str) -> Any:
    if re.search(r"<!(?!--)", svg):  # a DOCTYPE may define entities that never end
        raise ValueError("this is no picture of minigrad's: it has a document type of its own.")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"this is no SVG: {error}.") from None
    if _tag(root) != "svg":
        raise ValueError(f"this is no SVG, but <{_tag(root)}>.")
    return root


def _size(root: Any) -> tuple[float, float]:
    box = re.findall(NUMBER, root.get("viewBox", ""))
    given = box[2:] if len(box) == 4 else [_first(root.get(k)) for k in ("width", "height")]
    width, height = (float(v) for v in given)
    if not (0 < width < 1e6 and 0 < height < 1e6):
        raise ValueError(f"this SVG has no size to draw it in: {width:g} by {height:g}.")
    return width, height


def _first(text: str | None) -> str:
    found = re.match(NUMBER, text or "")
    return found.group() if found else "0"


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _shapes(root: Any) -> Iterator[tuple[Any, Look]]:
    """The elements in drawing order, each with its inherited attributes."""
    stack: list[tuple[Any, Look]] = [(root, {})]
    while stack:
        element, inherited = stack.pop()
        look = {**inherited, **element.attrib}
        if _tag(element) in ("svg", "g"):
            handed = {k: v for k, v in look.items() if k in INHERITED}
            stack += [(part, handed) for part in reversed(element)]
        else:
            yield element, look


def _items(element: Any, look: Look) -> Iterator[Item]:
    """The shapes of one element."""

    def at(name: str, default: float = 0) -> float:
        return float(_first(look[name])) if name in look else default

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
        yield from _lines(*path_of(look.get("d", "")), border, fill)
    elif tag == "text":
        anchors: dict[str, Anchor] = {"middle": "middle", "end": "end"}
        yield Words(
            at("x"),
            at("y"),
            "".join(element.itertext()),
            at("font-size", 12),
            fill,
            look.get("font-weight") in ("bold", "600", "700"),
            "mono" in look.get("font-family", "").lower(),
            anchors.get(look.get("text-anchor", ""), "start"),
        )


def _lines(
    points: list[Point], kinds: list[str], border: tuple[str, float, str], fill: str
) -> Iterator[Line]:
    """A path as pieces: a new one begins wherever the pen is lifted."""
    start, pieces = (0.0, 0.0), list[tuple[Point, ...]]()
    here, k = start, 0
    while k < len(points):
        kind = kinds[k]
        if kind == "M":
            if pieces:
                yield Line(start, tuple(pieces), *border, fill)
            start, pieces = points[k], []
        elif kind == "C":
            pieces.append(tuple(points[k : k + 3]))
            k += 2
        elif kind == "Q":  # the same curve as a cubic
            (x0, y0), (x, y), (x1, y1) = here, points[k], points[k + 1]
            first = (x0 + (x - x0) * 2 / 3, y0 + (y - y0) * 2 / 3)
            second = (x1 + (x - x1) * 2 / 3, y1 + (y - y1) * 2 / 3)
            pieces.append((first, second, points[k + 1]))
            k += 1
        else:
            pieces.append((points[k],))
        here = points[k]
        k += 1
    if pieces:
        yield Line(start, tuple(pieces), *border, fill)


def path_of(d: str) -> tuple[list[tuple[float, float]], list[str]]:
    """The points of a path's `d`, and for each whether it is a move, a line or a curve.

    >>> path_of("M0 0h4v2z")
    ([(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (0.0, 0.0)], ['M', 'L', 'L', 'L'])
    """
    points: list[tuple[float, float]] = []
    kinds: list[str] = []
    words = iter(re.findall(rf"[A-Za-z]|{NUMBER}", d))
    begin = here = (0.0, 0.0)
    command = ""
    for word in words:
        numbers: list[float] = []
        if word.isalpha():
            command = word
        else:  # more numbers for the same command; after M, for L
            command = {"M": "L", "m": "l"}.get(command, command)
            numbers.append(float(word))
        kind = command.upper()
        if kind not in NUMBERS_IN or (numbers and not NUMBERS_IN[kind]):
            break  # an arc, for example, which our pictures do not use
        wanted = NUMBERS_IN[kind] - len(numbers)
        following = list(islice(words, wanted))
        if len(following) < wanted or any(v.isalpha() for v in following):
            break
        numbers += map(float, following)
        x0, y0 = here if command.islower() else (0.0, 0.0)
        if kind == "Z":
            new = [begin]
        elif kind == "H":
            new = [(x0 + numbers[0], here[1])]
        elif kind == "V":
            new = [(here[0], y0 + numbers[0])]
        else:
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            new = [(x0 + x, y0 + y) for x, y in pairs]
        points += new
        kinds += [kind if kind in "MCQ" else "L"] * len(new)
        here = new[-1]
        if kind == "M":
            begin = here
    return points, kinds
