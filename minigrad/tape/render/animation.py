"""The steps of a tape as pictures: one for each step, all of the same size.

frames       the pictures: nodes that have not run yet are faded, the current box has a thick border,
             and a sentence about the step is below
save_steps   numbered SVG files, for slides
gif          an animated GIF, drawn by matplotlib
"""

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import index
from pathlib import Path

from minigrad.tape.document import Document
from minigrad.tape.names import clean
from minigrad.tape.render import draw
from minigrad.tape.render.bitmap import rendered
from minigrad.tape.render.shapes import Picture, Rect, Scene, Words
from minigrad.tape.render.style import INK, text_width

CAPTION = 40.0  # the height of the sentence below the picture
LONGEST = 300  # maximum number of pictures in a GIF
WIDEST = 1280  # pixels
PAUSE = 1200  # milliseconds for which a GIF shows each picture


def frames(document: Document, steps: Sequence[int]) -> list[Picture]:
    """A picture for each of these steps; step 0 is before anything has run."""
    pictures = [draw.picture(document, step, moving=True) for step in steps]
    width = max((p.width for p in pictures), default=0.0)
    height = max((p.height for p in pictures), default=0.0) + CAPTION
    texts = ["Before the first step.", *(step.text for step in document.steps)]
    captions = [f"{step}/{len(document.steps)}  {clean(texts[step])}" for step in steps]
    return [_captioned(p, width, height, text) for p, text in zip(pictures, captions, strict=True)]


def _chosen(document: Document, steps: Iterable[int] | None) -> list[int]:
    """Check the steps; by default all, from 0."""
    last = len(document.steps)
    if steps is None:
        return list(range(last + 1))
    try:
        return [index(step) for step in steps]
    except TypeError:
        raise TypeError(
            f"save_steps: steps are whole numbers from 0 to {last}, such as range(0, 3) or [0, {last}], not {steps!r}."
        ) from None


def save_steps(
    document: Document, folder: str | Path, steps: Iterable[int] | None = None
) -> list[Path]:
    """Write an SVG file for each step into a folder (created if needed); returns the paths."""
    folder = Path(os.fspath(folder))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = _chosen(document, steps)
    digits = max(2, len(str(len(document.steps))))
    paths = []
    for step, picture in zip(chosen, frames(document, chosen), strict=True):
        paths.append(folder / f"step-{step:0{digits}}.svg")
        paths[-1].write_text(picture.svg(), encoding="utf-8")
    return paths


def gif(document: Document) -> bytes:
    """An animated GIF of all steps, which loops forever.

    Raises ImportError without matplotlib, and ValueError for more than LONGEST steps.
    """
    count = len(document.steps) + 1
    if count > LONGEST:
        raise ValueError(
            f"a GIF has at most {LONGEST} pictures, and this tape has {count} steps. To fix it, choose "
            "some:  tape.save_steps(folder, steps=range(0, 40))  writes them as SVG files."
        )
    try:
        from PIL import Image  # comes with matplotlib

        pictures = frames(document, range(count))
        scale = min(1.0, WIDEST / max(p.width for p in pictures))
        images = [Image.open(io.BytesIO(rendered(p, scale))) for p in pictures]
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a GIF is drawn by matplotlib, and {error.name} is not installed. To fix it,  pip install "
            "matplotlib ; or use  tape.save_steps(folder) , which writes SVG files without it."
        ) from error
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:], duration=PAUSE, loop=0)
    return out.getvalue()


def _captioned(picture: Picture, width: float, height: float, text: str) -> Picture:
    """The picture in this size, with a sentence below it, truncated if it is too long."""
    while text_width(text, 14) > width - 48:
        text = text[:-2].rstrip("…") + "…"
    ground = Rect(0, 0, width, height, "#FFFFFF")
    words = Words(24, height - 18, text, 14, INK)
    scene: Scene = [ground, *picture.scene[1:], words]
    return replace(picture, width=width, height=height, scene=scene)
