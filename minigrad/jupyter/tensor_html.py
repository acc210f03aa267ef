"""The HTML of a tensor as the value of a cell: its text, properties, heat map and history.

    tensor([[ 1.,  4.],                the text, as in print and in PyTorch
            [ 9., 16.]], ...)
    (2, 2) · float32 · MulBackward0     shape, dtype, grad_fn
    [a small heat map]                 for a matrix: blue below zero, white at zero, orange above
    ▸ chain of 2 nodes                 one click away: the output of %chain

The output is static: it needs no kernel, script or network. The heat map is an
image that contains its SVG: viewers remove <svg> elements, but not <img>, from the HTML of
notebooks by other people. The same values give the same HTML on every machine.
"""

import math
from base64 import b64encode
from typing import Any

import numpy as np

from minigrad.jupyter.display import chosen_mode, shell
from minigrad.tape.adapters import node_of, numbers_of, snapshot_of, tensor_kinds
from minigrad.tape.chain import Chain
from minigrad.tape.names import count_not_finite, number_text, shape_text
from minigrad.tape.render.shapes import esc

CELLS = 32  # maximum number along each side; for a larger matrix, a cell shows the mean of a block
SIDE = 192  # maximum size in pixels
MOST_NODES = 200  # the longest chain that is included in the page; for longer ones, use %chain

# Nine colors from Okabe and Ito's blue through white to their vermilion;
# non-finite entries are hatched.
COLORS = (
    "#0072B2", "#4A97C6", "#86B9D9", "#C3DCEC", "#FFFFFF", "#F9DCC7", "#EFB48C", "#E38A4C", "#D55E00",
)  # fmt: skip
NAN = "#8A929C"
HATCHED = (
    f'<pattern id="n" width="1" height="1" patternUnits="userSpaceOnUse"><rect width="1" height="1" fill="{NAN}"/>'
    '<path d="M0 .5L.5 0M0 1L1 0M.5 1L1 .5" stroke="#FFFFFF" stroke-width=".12"/></pattern>'
)

# monospace is set explicitly, because some viewers do not style <pre>
TEXT = "margin: 0; font-family: monospace; line-height: 1.35"
FAINT = "opacity: 0.75; font-size: 90%"


def html_of(x: Any) -> str | None:
    """The HTML of a tensor; None in text mode, and for a tensor of a PyTorch that is too old."""
    if chosen_mode() == "text" or not isinstance(x, tensor_kinds()):
        return None
    parts = [f'<pre style="{TEXT}">{esc_lines(repr(x))}</pre>', _caption(x)]
    if not x.is_sparse:
        parts.append(heat_map(np.asarray(numbers_of(x))))
    parts.append(_chain(x))
    return '<div class="minigrad-tensor">' + "".join(parts) + "</div>"


def esc_lines(text: str) -> str:
    """Escaped text of several lines."""
    return "\n".join(esc(line) for line in text.split("\n"))


def _caption(x: Any) -> str:
    words = [shape_text(x.shape), str(x.dtype).rpartition(".")[2]]
    if x.grad_fn is not None:
        words.append(x.grad_fn.name())
    elif x.requires_grad:
        words.append("a leaf that requires grad")
    if not x.is_inference() and x._version:
        words.append(f"version {x._version}")
    seen = None if x.is_sparse else snapshot_of(x)
    if seen is not None and (not_finite := count_not_finite(seen.facts())):
        words.append(not_finite)
    return f'<div style="{FAINT}">{esc(" · ".join(words))}</div>'


def heat_map(array: Any) -> str:
    """An <img> that shows the entries of a matrix as colors; "" if the array is not a matrix.

    White is 0, and the strongest color is the largest absolute value in the matrix. Non-finite
    entries are hatched in gray.
    """
    if array.ndim != 2 or array.size < 2 or array.dtype.kind not in "fiub":
        return ""
    blocks = _blocks(array.astype(np.float64))
    rows, columns = blocks.shape
    finite = np.abs(blocks[np.isfinite(blocks)])
    scale = float(finite.max(initial=0.0))
    paths: dict[str, list[str]] = {}
    for r, row in enumerate(_levels(blocks, scale).tolist()):
        start = 0
        for c in range(1, columns + 1):  # adjacent cells of one color form one rectangle
            if c == columns or row[c] != row[start]:
                color = "url(#n)" if row[start] < 0 else COLORS[row[start]]
                paths.setdefault(color, []).append(f"M{start} {r}h{c - start}v1H{start}z")
                start = c
    shapes = "".join(f'<path d="{"".join(d)}" fill="{c}"/>' for c, d in sorted(paths.items()))
    shapes = HATCHED * ("url(#n)" in paths) + shapes
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}"'
        f' shape-rendering="crispEdges" preserveAspectRatio="none">{shapes}</svg>'
    )
    cell = max(4, min(14, SIDE // max(rows, columns)))
    height, width = math.ceil(array.shape[0] / rows), math.ceil(array.shape[1] / columns)
    pooled = f"; each cell is the mean of up to {height} by {width} entries"
    most = number_text(scale)
    legend = f"from -{most} (blue) through 0 (white) to {most} (orange)" if scale else "all 0"
    legend += pooled if height * width > 1 else ""
    legend += "; hatched: not finite" if len(finite) < blocks.size else ""
    data = b64encode(svg.encode()).decode("ascii")
    return (
        f'<img src="data:image/svg+xml;base64,{data}" width="{cell * columns}" height="{cell * rows}"'
        f' style="border: 1px solid {NAN}; margin: 4px 0; display: block"'
        f' alt="heat map of the matrix, {esc(legend)}" title="{esc(legend)}">'
    )


def _blocks(a: Any) -> Any:
    """The matrix reduced to at most CELLS rows and columns, by averaging blocks."""
    for axis in (0, 1):
        size = math.ceil(a.shape[axis] / CELLS)
        if size > 1:
            starts = np.arange(0, a.shape[axis], size)
            counts = np.diff([*starts, a.shape[axis]])
            with np.errstate(invalid="ignore", over="ignore"):
                a = np.add.reduceat(a, starts, axis) / np.expand_dims(counts, 1 - axis)
    return a


def _levels(a: Any, scale: float) -> Any:
    """The index of each entry's color; -1 for non-finite entries.

    Rounded first, because the last digit differs between machines and must not affect the color.
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
    n = _nodes_up_to(node_of(x), MOST_NODES)
    if n > MOST_NODES:
        return f'<div style="{FAINT}">a chain of more than {MOST_NODES} nodes: see %chain</div>'
    here = shell()
    chain = Chain(x, {} if here is None else here.user_ns)
    return (
        f"<details><summary>chain of {n} nodes</summary>"
        f'<pre style="{TEXT}">{esc_lines(repr(chain))}</pre></details>'
    )


def _nodes_up_to(root: Any, most: int) -> int:
    """The number of nodes that the root leads to; stops counting just above `most`."""
    met, stack = {root}, [root]
    while stack and len(met) <= most:
        new = [parent for parent in stack.pop().edges if parent not in met]
        met.update(new)
        stack += new
    return len(met)
