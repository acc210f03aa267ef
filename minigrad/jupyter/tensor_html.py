"""A tensor as the value of a cell: its text, what it is, how its entries lie, where it comes from.

    tensor([[ 1.,  4.],                the text, as print shows it and as PyTorch writes it
            [ 9., 16.]], ...)
    (2, 2) · float32 · MulBackward0     shape, dtype, grad_fn
    [a small heat map]                 of a matrix: blue below zero, white at it, orange above
    ▸ chain of 2 nodes                 one click away: what %chain shows

Nothing here moves, and nothing needs a kernel, a script or the network. The heat map is an
image with its SVG inside it: in a notebook that somebody else wrote, viewers take an <svg>
out of HTML, but not an <img>. The same values give the same HTML on every machine.
"""

import math
from base64 import b64encode
from typing import Any

import numpy as np

from minigrad.jupyter.display import mode, shell
from minigrad.tape.chain import Chain
from minigrad.tape.names import number, shape_text
from minigrad.tape.shapes import esc

CELLS = 32  # along each side, at most; of a larger matrix, a cell shows the mean of a block
SIDE = 192  # pixels, at most
MOST_NODES = 200  # of a chain that is put into the page; a longer one is for %chain

# Nine steps from Okabe and Ito's blue through white to their vermilion; gray for what is no number.
COLORS = (
    "#0072B2", "#4A97C6", "#86B9D9", "#C3DCEC", "#FFFFFF", "#F9DCC7", "#EFB48C", "#E38A4C", "#D55E00",
)  # fmt: skip
NAN = "#8A929C"

TEXT = (
    "margin: 0; font-family: monospace; line-height: 1.35"  # not every viewer knows what a <pre> is
)
FAINT = "opacity: 0.75; font-size: 90%"


def html(x: Any) -> str | None:
    """The HTML of a tensor; None where text alone is wanted."""
    if mode() == "text":
        return None
    parts = [f'<pre style="{TEXT}">{esc_lines(repr(x))}</pre>', _caption(x)]
    if not x.is_sparse:
        parts.append(heat_map(np.asarray(x.array)))
    parts.append(_chain(x))
    return '<div class="minigrad-tensor">' + "".join(parts) + "</div>"


def esc_lines(text: str) -> str:
    """Text of several lines, made safe."""
    return "\n".join(esc(line) for line in text.split("\n"))


def _caption(x: Any) -> str:
    words = [shape_text(x.shape), str(x.dtype)]
    if x.grad_fn is not None:
        words.append(x.grad_fn.name())
    elif x.requires_grad:
        words.append("a leaf that requires grad")
    if x._version:
        words.append(f"version {x._version}")
    return f'<div style="{FAINT}">{esc(" · ".join(words))}</div>'


def heat_map(array: Any) -> str:
    """An <img> that shows the entries of a matrix as colors; "" for what is no matrix.

    White is 0, and the strongest color the largest absolute value that occurs. What is not
    finite is gray.
    """
    if array.ndim != 2 or array.size < 2 or array.dtype.kind not in "fiub":
        return ""
    blocks = _blocks(array.astype(np.float64))
    rows, columns = blocks.shape
    finite = np.abs(blocks[np.isfinite(blocks)])
    scale = float(finite.max()) if finite.size else 0.0
    paths: dict[str, list[str]] = {}
    for r, row in enumerate(_levels(blocks, scale).tolist()):
        start = 0
        for c in range(1, columns + 1):  # neighbors of one color are one rectangle
            if c == columns or row[c] != row[start]:
                color = NAN if row[start] < 0 else COLORS[row[start]]
                paths.setdefault(color, []).append(f"M{start} {r}h{c - start}v1H{start}z")
                start = c
    shapes = "".join(f'<path d="{"".join(d)}" fill="{c}"/>' for c, d in sorted(paths.items()))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}"'
        f' shape-rendering="crispEdges" preserveAspectRatio="none">{shapes}</svg>'
    )
    cell = max(4, min(14, SIDE // max(rows, columns)))
    height, width = math.ceil(array.shape[0] / rows), math.ceil(array.shape[1] / columns)
    pooled = f"; each cell is the mean of up to {height} by {width} entries"
    said = (
        (
            f"from -{number(scale)} (blue) through 0 (white) to {number(scale)} (orange)"
            if scale
            else "all 0"
        )
        + (pooled if height * width > 1 else "")
        + ("; gray: not finite" if len(finite) < blocks.size else "")
    )
    data = b64encode(svg.encode()).decode("ascii")
    return (
        f'<img src="data:image/svg+xml;base64,{data}" width="{cell * columns}" height="{cell * rows}"'
        f' style="border: 1px solid {NAN}; margin: 4px 0; display: block"'
        f' alt="heat map of the matrix, {esc(said)}" title="{esc(said)}">'
    )


def _blocks(a: Any) -> Any:
    """The matrix with at most CELLS rows and columns: means of blocks of it."""
    for axis in (0, 1):
        size = math.ceil(a.shape[axis] / CELLS)
        if size > 1:
            starts = np.arange(0, a.shape[axis], size)
            counts = np.diff([*starts, a.shape[axis]])
            with np.errstate(invalid="ignore", over="ignore"):
                a = np.add.reduceat(a, starts, axis) / np.expand_dims(counts, 1 - axis)
    return a


def _levels(a: Any, scale: float) -> Any:
    """The number of each entry's color; -1 for what is not finite.

    Rounded first, so that the last digit, in which machines differ, does not choose a color.
    """
    middle = len(COLORS) // 2
    with np.errstate(invalid="ignore"):
        t = np.round(a / scale, 5) if scale else a * 0
        level = np.floor(t * middle + 0.5)
        shown = np.where(np.isfinite(a), np.clip(level, -middle, middle) + middle, -1)
    return shown.astype(int)


def _chain(x: Any) -> str:
    if x.grad_fn is None:
        return ""
    n = _nodes_up_to(x.node, MOST_NODES)
    if n > MOST_NODES:
        return f'<div style="{FAINT}">a chain of more than {MOST_NODES} nodes: see %chain</div>'
    here = shell()
    chain = Chain(x, {} if here is None else here.user_ns)
    return (
        f"<details><summary>chain of {n} nodes</summary>"
        f'<pre style="{TEXT}">{esc_lines(repr(chain))}</pre></details>'
    )


def _nodes_up_to(root: Any, most: int) -> int:
    """How many nodes the root leads to, counted no further than just beyond `most`."""
    met, stack = {root}, [root]
    while stack and len(met) <= most:
        new = [parent for parent in stack.pop().edges if parent not in met]
        met.update(new)
        stack += new
    return len(met)
