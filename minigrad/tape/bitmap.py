"""A picture as a bitmap: a scene in, PNG or PDF out, drawn by matplotlib.

There is one renderer. A picture that exists as SVG text only is read back first
(svg_reader.py).
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from minigrad.tape.names import clean
from minigrad.tape.shapes import Group, Hatching, Item, Line, Rect, Shape, Words
from minigrad.tape.svg_reader import read

PALETTE = 64  # colors of a bitmap, edges smoothed
SIDE = 30_000  # pixels; a bitmap has at most 65,535 to a side


def png(svg: str, scale: float = 2.0) -> bytes:
    """A picture of ours as PNG, `scale` pixels to the unit.

    Raises ValueError if the text is no SVG.
    """
    return picture(svg, "png", scale)


def picture(svg: str, form: str, scale: float = 2.0) -> bytes:
    """A picture of ours in a form that matplotlib writes: "png" or "pdf"."""
    return rendered(*read(svg), scale, form)


def rendered(
    width: float, height: float, scene: Iterable[Group | Item], scale: float, form: str = "png"
) -> bytes:
    """The scene as a file of this form, `scale` pixels to the unit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dpi = min(72 * scale, 72 * SIDE / max(width, height))
    figure = Figure(figsize=(width / 72, height / 72), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    order = 0
    for item in scene:
        opacity = item.opacity if isinstance(item, Group) else 1.0
        for part in item.items if isinstance(item, Group) else (item,):
            order += 1
            _plot(axes, part, {"zorder": order, "alpha": opacity})
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


def _plot(axes: Any, item: Item, look: dict[str, Any]) -> None:
    from matplotlib import patches
    from matplotlib.path import Path

    if isinstance(item, Words):
        _write(axes, item, look)
        return
    if isinstance(item, Hatching):
        for start, end in item.lines():
            _plot(axes, Line(start, ((end,),), item.stroke, 1.0), look)
        return
    shape: Any
    if isinstance(item, Rect):
        radius = min(item.radius, item.height / 2, item.width / 2)
        style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        corner = (item.x, item.y)
        shape = patches.FancyBboxPatch(corner, item.width, item.height, boxstyle=style)
    elif isinstance(item, Line):
        points, codes = [item.start], [Path.MOVETO]
        for piece in item.pieces:
            points += piece
            codes += [Path.LINETO] if len(piece) == 1 else [Path.CURVE4] * 3
        shape = patches.PathPatch(Path(points, codes), capstyle="butt")
    elif isinstance(item, Shape):
        shape = patches.Polygon(item.points)
    else:
        shape = patches.Circle((item.x, item.y), item.radius)
    shape.set_facecolor(_color(item.fill))
    shape.set_edgecolor(_color(item.stroke))
    thick = item.thick if item.stroke != "none" else 0.0
    shape.set_linewidth(thick)
    if item.dash and thick:  # matplotlib counts in line widths
        shape.set_linestyle((0, tuple(float(d) / thick for d in item.dash.split())))
    shape.set(**look)
    axes.add_patch(shape)


def _write(axes: Any, words: Words, look: dict[str, Any]) -> None:
    axes.text(
        words.x,
        words.y,
        clean(words.text),
        fontsize=words.size,
        color=_color(words.fill),
        fontweight="bold" if words.bold else "normal",
        family="DejaVu Sans Mono" if words.mono else "DejaVu Sans",
        ha={"start": "left", "middle": "center", "end": "right"}[words.anchor],
        va="baseline",
        parse_math=False,
        **look,
    )


def _color(name: str) -> str:
    from matplotlib.colors import is_color_like

    return name if name == "none" or is_color_like(name) else "#888888"
