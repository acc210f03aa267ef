"""Renders a picture as PNG or PDF, with matplotlib."""

import io
import math
import warnings
from typing import Any

import numpy as np

from minigrad.tape.names import clean
from minigrad.tape.render.shapes import Group, Item, Picture, Rect, Words

NOTEBOOK = 1.5  # pixels per unit in a notebook: sharp enough, with small files
PALETTE = 64  # colors of a bitmap, including smoothed edges
SIDE = 30_000  # pixels; a bitmap can have at most 65,535 per side
MOST = 60e6  # pixels: more would take minutes, and gigabytes of memory


def rendered(picture: Picture, scale: float = 2.0, form: str = "png") -> bytes:
    """The picture as a file in this format, "png" or "pdf", with `scale` pixels per unit."""
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image  # comes with matplotlib

    class Shapes(Artist):
        """All shapes in one artist: with one artist per shape, drawing takes five times as long."""

        def draw(self, renderer: Any) -> None:
            for item in picture.scene:
                opacity = item.opacity if isinstance(item, Group) else 1.0
                for part in item.items if isinstance(item, Group) else (item,):
                    _plot(renderer, picture.height, part, opacity)

    width, height = picture.width, picture.height
    dpi = 72 * min(scale, SIDE / max(width, height), math.sqrt(MOST / (width * height)))
    figure = Figure(figsize=(width / 72, height / 72), dpi=dpi)
    canvas: Any = FigureCanvasAgg(figure)
    figure.add_artist(Shapes())
    out = io.BytesIO()
    with warnings.catch_warnings():
        # A name may have letters that DejaVu lacks. They become boxes here; the SVG has them.
        warnings.filterwarnings("ignore", r"Glyph .* missing from (current )?font")
        if form == "png":
            canvas.draw()
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
            _with_palette(image).save(out, format="png")
        else:  # no date and no version, so that every run writes the same file
            figure.savefig(out, format=form, metadata={"CreationDate": None, "Producer": None})
    return out.getvalue()


def _with_palette(image: Any) -> Any:
    """The image in up to PALETTE colors: enough for our pictures, whose files are then four times smaller.

    They are found from one pixel in nine, as the search takes longer than all the drawing. Each is the
    most frequent of the colors for which it stands, so that white is white.
    """
    from PIL import Image

    plain = Image.Dither.NONE
    size = (image.width // 3 or 1, image.height // 3 or 1)
    some = image.resize(size, Image.Resampling.NEAREST)
    palette = some.quantize(PALETTE, dither=plain)
    colors = [color for _, color in sorted(some.getcolors(1 << 24))]  # the most frequent one last
    row = Image.new("RGB", (len(colors), 1))
    row.putdata(colors)
    entries = palette.getpalette()
    nearest = row.quantize(palette=palette, dither=plain).tobytes()
    for k, color in zip(nearest, colors, strict=True):
        entries[3 * k : 3 * k + 3] = color
    # Pillow rounds colors before it looks for the nearest entry. So the entries change only now.
    reduced = image.quantize(palette=palette, dither=plain)
    reduced.putpalette(entries)
    return reduced


def _plot(renderer: Any, height: float, item: Item, opacity: float) -> None:
    """Draw one shape. In matplotlib, y is measured upward from the bottom, in pixels."""
    from matplotlib.patches import BoxStyle
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    unit = renderer.points_to_pixels(1.0)
    gc = renderer.new_gc()
    gc.set_alpha(opacity)
    if isinstance(item, Words):
        _write(renderer, gc, unit, height, item)
        return
    if isinstance(item, Rect):
        radius = min(item.radius, item.height / 2, item.width / 2)
        box = BoxStyle.Round(0, radius) if radius else BoxStyle.Square(0)
        path = box(item.x, item.y, item.width, item.height, 1)
    else:
        points, codes = [], []
        for start, pieces in item.parts:
            points += [start, *(point for piece in pieces for point in piece)]
            codes.append(Path.MOVETO)
            for piece in pieces:
                codes += [Path.LINETO] if len(piece) == 1 else [Path.CURVE4] * 3
        path = Path(points, codes)
    stroke, fill = _color(item.stroke), _color(item.fill)
    gc.set_joinstyle("miter")
    gc.set_foreground(stroke or "black")
    gc.set_linewidth(item.thick if stroke else 0.0)
    if item.dash:
        gc.set_dashes(0, [float(d) for d in item.dash.split()])
    upright = Affine2D().scale(unit, -unit).translate(0, height * unit)
    renderer.draw_path(gc, path, upright, fill and (*fill, opacity))


def _write(renderer: Any, gc: Any, unit: float, height: float, words: Words) -> None:
    from matplotlib.font_manager import FontProperties

    text = clean(words.text)
    if not text.strip():
        return
    family = "DejaVu Sans Mono" if words.mono else "DejaVu Sans"
    weight = "bold" if words.bold else "normal"
    font = FontProperties(family=family, size=words.size, weight=weight)
    wide = renderer.get_text_width_height_descent(text, font, ismath=False)[0]
    left = words.x * unit - {"start": 0, "middle": wide / 2, "end": wide}[words.anchor]
    gc.set_foreground(_color(words.fill) or "black")
    down = words.y if renderer.flipy() else height - words.y
    renderer.draw_text(gc, left, down * unit, text, font, 0, ismath=False)


def _color(name: str) -> tuple[float, float, float] | None:
    from matplotlib.colors import to_rgb

    return None if name == "none" else to_rgb(name)
