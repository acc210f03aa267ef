"""A picture as a bitmap: SVG text in, PNG out, drawn by matplotlib.

Not every SVG: the shapes that our own pictures are made of.

    svg, g, rect, circle, polygon, path (M L H V C Q Z), text

with fill, stroke and its width and dashes, rounded corners, bold and monospaced text,
and what a group hands down to its parts. Anything else is passed over.

It is needed where only the picture is at hand and not what it was made from: in a stored
notebook, whose SVG many viewers do not show.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from xml.etree import ElementTree

import numpy as np

Look = dict[str, str]

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PALETTE = 64  # colors of a bitmap, edges smoothed
SIDE = 30_000  # pixels; a bitmap has at most 65,535 to a side
NUMBERS_IN = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "Z": 0}
INHERITED = ("fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "opacity")


def png(svg: str, scale: float = 2.0) -> bytes:
    """The picture as PNG, `scale` pixels to the unit.

    Raises ValueError if the text is no SVG.
    """
    return picture(svg, "png", scale)


def picture(svg: str, form: str, scale: float = 2.0) -> bytes:
    """The picture in a form that matplotlib writes: "png" or "pdf"."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    root = _parsed(svg)
    width, height = _size(root)
    dpi = min(72 * scale, 72 * SIDE / max(width, height))
    figure = Figure(figsize=(width / 72, height / 72), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for order, (element, look) in enumerate(_shapes(root)):
        _draw(axes, element, look, order)
    out = io.BytesIO()
    if form == "png":
        _save_with_few_colors(figure, out)
    else:  # nothing that differs from one run to the next: no date, no version
        figure.savefig(out, format=form, metadata={"CreationDate": None, "Producer": None})
    return out.getvalue()


def _save_with_few_colors(figure: Any, out: io.BytesIO) -> None:
    """Our pictures are flat: a palette serves them well, and takes a fourth of the room."""
    from PIL import Image  # comes with matplotlib

    figure.canvas.draw()
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    image.quantize(PALETTE, dither=Image.Dither.NONE).save(out, format="png", optimize=True)


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
    """The parts in the order in which they are drawn, each with what it inherits."""
    stack: list[tuple[Any, Look]] = [(root, {})]
    while stack:
        element, inherited = stack.pop()
        look = {**inherited, **element.attrib}
        if _tag(element) in ("svg", "g"):
            handed = {k: v for k, v in look.items() if k in INHERITED}
            stack += [(part, handed) for part in reversed(element)]
        else:
            yield element, look


def _draw(axes: Any, element: Any, look: Look, order: int) -> None:
    from matplotlib import patches
    from matplotlib.path import Path

    def at(name: str, default: float = 0) -> float:
        return float(_first(look[name])) if name in look else default

    tag = _tag(element)
    if tag == "text":
        _write(axes, element, look, order)
        return
    shape: Any
    if tag == "rect":
        x, y, width, height = (at(k) for k in ("x", "y", "width", "height"))
        radius = min(at("rx"), width / 2, height / 2)
        style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        shape = patches.FancyBboxPatch((x, y), width, height, boxstyle=style)
    elif tag == "circle":
        shape = patches.Circle((at("cx"), at("cy")), at("r"))
    elif tag == "polygon":
        numbers = [float(v) for v in re.findall(NUMBER, look.get("points", ""))]
        shape = patches.Polygon(list(zip(numbers[::2], numbers[1::2], strict=False)))
    elif tag == "path":
        points, kinds = path_of(look.get("d", ""))
        if not points:
            return
        codes = {"M": Path.MOVETO, "L": Path.LINETO, "C": Path.CURVE4, "Q": Path.CURVE3}
        shape = patches.PathPatch(Path(points, [codes[k] for k in kinds]))
    else:
        return
    shape.set_facecolor(_color(look.get("fill", "#000000")))
    stroke = _color(look.get("stroke", "none"))
    thick = at("stroke-width", 1.0) if stroke != "none" else 0.0
    shape.set_edgecolor(stroke)
    dashes = [float(v) for v in re.findall(NUMBER, look.get("stroke-dasharray", ""))]
    if dashes and thick:  # matplotlib counts in line widths
        shape.set_linestyle((0, tuple(d / thick for d in dashes)))
    shape.set_linewidth(thick)
    shape.set_zorder(order)
    shape.set_alpha(at("opacity", 1.0))
    axes.add_patch(shape)


def _write(axes: Any, element: Any, look: Look, order: int) -> None:
    anchors = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        float(_first(look.get("x"))),
        float(_first(look.get("y"))),
        "".join(element.itertext()),
        fontsize=float(_first(look.get("font-size", "12"))),
        color=_color(look.get("fill", "#000000")),
        fontweight="bold" if look.get("font-weight") in ("bold", "600", "700") else "normal",
        family="DejaVu Sans Mono"
        if "mono" in look.get("font-family", "").lower()
        else "DejaVu Sans",
        ha=anchors.get(look.get("text-anchor", "start"), "left"),
        va="baseline",
        alpha=float(_first(look.get("opacity", "1"))),
        zorder=order,
        parse_math=False,
    )


def _color(name: str) -> str:
    from matplotlib.colors import is_color_like

    return name if name == "none" or is_color_like(name) else "#888888"


def path_of(d: str) -> tuple[list[tuple[float, float]], list[str]]:
    """The points of a path's `d`, and for each whether it moves, draws a line or bends.

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
            break  # an arc, say, which our pictures do not have
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
