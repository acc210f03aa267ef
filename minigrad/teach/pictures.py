"""Pictures below a check: what the student's function does, next to the right result.

    tangents     a curve, and the line that the dual part gives at some of its points
    heat_maps    values and gradients, a color for each entry
    modes        where forward mode is cheaper, where reverse mode is, and what the student predicted
    growth       the cost of several methods, as the problem grows
    paths        the steps of an optimizer on the surface of a loss

A picture is drawn only when a notebook shows it. Then the student's function is called, within
a time limit. If it is not written yet, or fails, the legend says so, and the rest is shown. As
text, a picture is just its title, whatever the student wrote, so the stored output of a notebook
does not change. matplotlib is imported when the first picture is drawn.

Colors: Okabe and Ito's (2008), which people with color-blindness can tell apart.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from minigrad.autograd import grad
from minigrad.core import display
from minigrad.core.modes import unobserved
from minigrad.core.tensor import wrap
from minigrad.methods.creation import tensor
from minigrad.plots import COLORS, loss_surface
from minigrad.teach.difference import Array, real_array
from minigrad.teach.running import run

if TYPE_CHECKING:  # matplotlib is imported when the first picture is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

(RIGHT, YOURS), ASIDE = COLORS[:2], "0.7"
SECONDS = 2.0


@dataclass(eq=False, repr=False)
class CurvePicture:
    """A picture that is drawn when it is shown.

    title    its title; also its form as text
    draw     draws on a matplotlib Figure
    size     width and height in inches
    """

    title: str
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (8.0, 3.0)

    def __repr__(self) -> str:
        return f"Picture: {self.title}"

    def png(self) -> bytes:
        """The picture as a PNG file. The same numbers give the same bytes."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=self.size, dpi=72, layout="constrained")
        FigureCanvasAgg(figure)
        self.draw(figure)
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()

    def _repr_png_(self) -> bytes | None:
        if display.shown_by("mode")() == "text":
            return None
        try:
            return self.png()
        except ImportError:  # without matplotlib the title is all there is
            return None


# --------------------------------------------------------------------------- forward mode


def tangents(
    curve: Callable[[float, float], Any],
    right: Callable[[Any], Any],
    at: Sequence[float] = (-1.5, -0.75, 0.0, 0.75, 1.5),
    *,
    title: str = "tangent lines along a curve",
) -> CurvePicture:
    """Tangent lines along a curve; their slopes are the dual parts.

    curve    written by the student: curve(x, 1.0) returns the value and the tangent at x
    right    the curve itself, as a function of an array
    at       where the lines are drawn

    On the left, the lines; on the right, the dual part as a function of x, with the lines' points.

    >>> tangents(lambda x, x_dot: (x * x, 2 * x * x_dot), lambda x: x * x)
    Picture: tangent lines along a curve
    """

    def numbers() -> list[tuple[float, float]]:
        return [(float(z), float(z_dot)) for z, z_dot in (curve(x, 1.0) for x in at)]

    def draw(figure: Figure) -> None:
        lines, slopes = figure.subplots(1, 2)
        grid = np.linspace(min(at) - 0.5, max(at) + 0.5, 121)
        values = np.asarray(right(grid), dtype=float)
        slope = np.gradient(values, grid, edge_order=2)
        lines.plot(grid, values, color=ASIDE, linewidth=3, label="the curve")
        slopes.plot(grid, slope, color=ASIDE, linewidth=3, label="its slope")
        points, trouble = _tried(numbers)
        for k, (x, (z, z_dot)) in enumerate(zip(at, points or ())):
            name = "your z + z_dot e" if k == 0 else None
            ends = np.array([x - 0.4, x + 0.4])
            lines.plot(ends, z + z_dot * (ends - x), color=YOURS, label=name)
            lines.plot(x, z, "o", color=YOURS, markersize=5)
            slopes.plot(x, z_dot, "o", color=YOURS, label="your z_dot" if k == 0 else None)
        span = float(np.ptp(values)) or 1.0
        lines.set(xlabel="x", ylim=(values.min() - 0.15 * span, values.max() + 0.15 * span))
        slopes.set(xlabel="x")
        for axis in (lines, slopes):
            _legend(axis, trouble)

    return CurvePicture(title, draw)


def modes(functions: Mapping[str, tuple[int, int]], predicted: Any = None) -> CurvePicture:
    """Which mode is cheaper, depending on the numbers of inputs and outputs.

    functions    name -> (number of inputs, number of outputs)
    predicted    by the student: name -> (forward passes, reverse passes, which is cheaper)

    On the left, each function at its numbers, in the color of the student's verdict. Next to it, the
    multiplications for the whole Jacobian of a network n -> 16 -> m, as n grows and as m grows.

    >>> modes({"loss": (20, 1)}, {"loss": (20, 1, "reverse")})
    Picture: where forward mode is cheaper, and where reverse mode is
    """

    def draw(figure: Figure) -> None:
        plane, inputs, outputs = figure.subplots(1, 3)
        _draw_plane(plane, functions, predicted)
        figure.legend(*plane.get_legend_handles_labels(), loc="outside lower left", ncols=3)
        k = np.arange(1, 65)
        one_pass = 16 * k + 16  # multiplications, for k -> 16 -> 1 as for 1 -> 16 -> k
        for axis, forward, reverse, label in (
            (inputs, k, 1, "k numbers in, 1 out"),
            (outputs, 1, k, "1 number in, k out"),
        ):
            axis.plot(k, forward * one_pass, color=YOURS, linewidth=2, label="forward")
            axis.plot(k, reverse * one_pass, color=RIGHT, linewidth=2, label="reverse")
            axis.set(yscale="log", xlabel="k", title=label)
            axis.legend(fontsize="small")
        inputs.set_ylabel("multiplications")

    title = "where forward mode is cheaper, and where reverse mode is"
    return CurvePicture(title, draw, (10.0, 3.4))


VERDICTS = {"forward": YOURS, "reverse": RIGHT, "same": "black"}  # which mode is cheaper: its color


def _draw_plane(plane: Axes, functions: Mapping[str, tuple[int, int]], predicted: Any) -> None:
    """Each function at (number of inputs, number of outputs), in the color of the student's verdict."""
    top = 2 * max([n for shape in functions.values() for n in shape], default=8)
    plane.fill_between([0.5, top], [0.5, top], top, color=YOURS, alpha=0.15)
    plane.fill_between([0.5, top], 0.5, [0.5, top], color=RIGHT, alpha=0.15)
    plane.text(0.6, top * 0.55, "forward is cheaper")
    plane.text(top * 0.9, 0.6, "reverse is cheaper", ha="right")
    for name, (n, m) in functions.items():
        entry = predicted.get(name) if isinstance(predicted, Mapping) else None
        verdict = entry[-1] if isinstance(entry, tuple | list) and entry else None
        color = VERDICTS.get(verdict, "white") if isinstance(verdict, str) else "white"
        plane.plot(n, m, "o", color=color, markeredgecolor="black", markersize=7)
        plane.annotate(name, (n, m), (5, 4), textcoords="offset points")
    for verdict, color in VERDICTS.items():
        name = f'you said "{verdict}"'
        plane.plot([], [], "o", color=color, markeredgecolor="black", label=name)
    plane.set(
        xscale="log", yscale="log", xlim=(0.5, top), ylim=(0.5, top), xlabel="numbers that go in",
        ylabel="numbers that come out",
    )  # fmt: skip


# --------------------------------------------------------------------------- reverse mode


def heat_maps(title: str, make: Callable[[], Mapping[str, Any]]) -> CurvePicture:
    """Arrays with a color for each entry: values from light to dark, gradients from blue to red.

    make    called when the picture is drawn; calls the student's function, and returns name ->
            array of at most two axes. A name that begins with d, like dx, is a gradient: 0 is white

    >>> heat_maps("a square", lambda: {"x": [[1.0, 2.0]], "dx": [[2.0, 4.0]]})
    Picture: a square
    """

    def arrays() -> dict[str, Any]:
        return {
            name: np.atleast_2d(np.asarray(real_array(value), dtype=float))
            for name, value in make().items()
        }

    def draw(figure: Figure) -> None:
        found, trouble = _tried(arrays)
        if not found or any(a.ndim > 2 or not a.size for a in found.values()):
            axis = figure.subplots()
            axis.axis("off")
            axis.text(0.5, 0.5, trouble or "nothing that could be drawn", ha="center")
            return
        widths = [max(a.shape[1], 1.5) for a in found.values()]
        axes = figure.subplots(1, len(found), width_ratios=widths, squeeze=False)[0]
        for axis, (name, array) in zip(axes, found.items()):
            _shades(axis, name, array)

    return CurvePicture(title, draw, (9.0, 2.4))


def _shades(axis: Axes, name: str, array: Array) -> None:
    """One array as a heat map, with its numbers if there is room for them."""
    gradient = name.startswith("d")
    finite = array[np.isfinite(array)]
    most = float(np.abs(finite).max()) if finite.size and np.any(finite) else 1.0
    low, high = (-most, most) if gradient else (float(finite.min(initial=0)), most)
    axis.imshow(array, cmap="RdBu_r" if gradient else "Greys", vmin=low, vmax=high * 1.0001)
    axis.set_title(name)
    axis.set_xticks([])
    axis.set_yticks([])
    if array.size > 40:
        return
    for (i, j), value in np.ndenumerate(array):
        # On a strong color, the number is white.
        strong = abs(value) > 0.6 * most if gradient else value - low > 0.6 * (high - low)
        axis.text(
            j, i, _brief(value), ha="center", va="center", fontsize="small",
            color="white" if strong else "black",
        )  # fmt: skip


def _brief(value: float) -> str:
    """A number with at most two decimals.

    >>> _brief(3.0), _brief(-0.25), _brief(-0.001)
    ('3', '-0.25', '0')
    """
    return f"{value:z.2f}".rstrip("0").rstrip(".") if np.isfinite(value) else f"{value:g}"


def growth(
    title: str, ways: Mapping[str, Callable[[int], Any]], sizes: Iterable[int]
) -> CurvePicture:
    """The cost of each method over the size of the problem, on a logarithmic axis.

    ways    name -> cost(n); the student's may be among them

    >>> growth("steps", {"one by one": lambda n: n, "all pairs": lambda n: n * n}, range(1, 9))
    Picture: steps
    """
    sizes = list(sizes)

    def costs_of(cost: Callable[[int], Any]) -> list[float]:
        return [float(cost(n)) for n in sizes]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        troubles = []
        for (name, cost), color, marker in zip(ways.items(), (YOURS, RIGHT, "black"), "o^s"):
            costs, trouble = _tried(partial(costs_of, cost))
            if costs is None:
                troubles.append(f"{name}: {trouble}")
                continue
            axis.plot(sizes, costs, marker + "-", color=color, label=name, markersize=4)
        axis.set(xlabel="n", yscale="log", title=title)
        axis.grid(alpha=0.3)
        _legend(axis, "; ".join(troubles))

    return CurvePicture(title, draw, (6.0, 3.2))


# --------------------------------------------------------------------------- optimizers


def valley(p: Any) -> Any:
    """A long valley, twelve times steeper across than along, with its minimum at (0, 0).

    p         (2,)
    returns   ()    (p[0]**2 + 12 * p[1]**2) / 2
    """
    return 0.5 * (p[0] ** 2 + 12 * p[1] ** 2)


def paths(
    step: Callable[..., Any],
    optimizer: Callable[..., Any],
    *,
    steps: int = 30,
    start: Sequence[float] = (4.0, 1.2),
    surface: Callable[[Any], Any] = valley,
    **settings: Any,
) -> CurvePicture:
    """The student's steps on the surface of a loss, next to the optimizer's own steps.

    step         written by the student: step(p, g, state, **settings) returns the new p, an array
    optimizer    optim.SGD, optim.Adam, ...
    settings     of both, like lr=0.1
    surface      the loss, a function of a tensor of two numbers

    >>> from minigrad import optim
    >>> paths(lambda p, g, state, lr: p - lr * g, optim.SGD, lr=0.1)
    Picture: your steps beside those of SGD(lr=0.1)
    """

    def walk(advance: Callable[[Array, Array], ArrayLike]) -> Array:
        walked = [np.array(start, dtype=float)]
        for _ in range(steps):
            p = np.array(advance(walked[-1].copy(), _slope(surface, walked[-1])), dtype=float)
            if p.shape != (2,):
                raise ValueError(f"p has the shape {p.shape} instead of (2,)")
            walked.append(p)
        return np.array(walked)

    def yours() -> Array:
        state: dict[str, Any] = {}
        return walk(lambda p, g: real_array(step(p, g, state, **settings)))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        theirs = walk(_steps_of(optimizer, settings, start))
        mine, trouble = _tried(yours)
        # Show both paths and the minimum, even if the student's path leaves the valley.
        x, y = 1.15 * np.abs(theirs).max(axis=0)
        both = {optimizer.__name__: theirs} | ({} if mine is None else {"yours": mine})
        loss_surface(surface, both, xlim=(-x, x), ylim=(-y, y), ax=axis)
        axis.plot(0, 0, "*", color=axis.xaxis.label.get_color(), markersize=11)
        _legend(axis, trouble)

    words = ", ".join(f"{name}={value}" for name, value in settings.items())
    title = f"your steps beside those of {optimizer.__name__}({words})"
    return CurvePicture(title, draw, (6.5, 3.2))


def _slope(surface: Callable[[Any], Any], p: Array) -> Array:
    """The gradient of a surface at p."""
    with unobserved():
        x = tensor(p, requires_grad=True)
        return real_array(grad(surface(x), x)[0])


def _steps_of(
    optimizer: Callable[..., Any], settings: Mapping[str, Any], start: Sequence[float]
) -> Callable[[Array, Array], Array]:
    """An optimizer as a function that gives the next point."""
    leaf = wrap(np.array(start, dtype=float)).requires_grad_()
    opt = optimizer([leaf], **settings)

    def advance(p: Array, g: Array) -> Array:
        leaf.grad = tensor(g)
        opt.step()
        return leaf.detach().numpy()

    return advance


# --------------------------------------------------------------------------- for all of them


def _tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """The result of a call, and ""; or None, and a short reason why there is none.

    >>> _tried(lambda: 1 / 0)
    (None, 'yours fails: ZeroDivisionError: division by zero')
    """
    outcome = run(call, {}, SECONDS)
    if outcome.trouble is None:
        return outcome.returned, ""
    verdict, message = outcome.trouble
    if verdict == "error":
        return None, f"yours fails: {message.split('    in the line')[0]}"[:80]
    return None, f"yours: {verdict}"


def _legend(axis: Axes, trouble: str) -> None:
    """The legend; what went wrong is its last line."""
    if trouble:
        axis.plot([], [], " ", label=trouble)
    axis.legend(fontsize="small")
