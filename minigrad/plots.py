"""Plots of a training run, as Matplotlib figures.

    gradient_norms         the norm of the gradient in each layer: does it vanish or explode?
    gradient_histograms    the distribution of the gradient's entries in each layer
    activation_histograms  the distribution of each layer's output
    saved_memory           the bytes that a tape keeps for the backward pass, step by step
    loss_surface           the contours of a loss, and the paths of optimizers on them

The first two accept a model after backward(), a tape, a dict of gradients, or a list of these, one
for each step. Their title is a sentence about the gradients, with the numbers that it is based on.

A notebook shows a figure if it is the last value of a cell. Elsewhere, use `plt.show()` or
`figure.savefig(...)`. Backgrounds and text follow your own style, such as
`plt.style.use("dark_background")`. The colors are from Okabe and Ito (2008): color-blind readers can
tell them apart, and they are visible on black and on white.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from minigrad.core.modes import no_grad, unobserved
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.nn.module import Module
from minigrad.random import fork_rng
from minigrad.tape import Tape
from minigrad.tape import document as doc
from minigrad.tape.adapters import numbers_of
from minigrad.tape.names import short
from minigrad.tape.snapshot import Array

if TYPE_CHECKING:  # Matplotlib is imported when the first figure is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "activation_histograms",
    "gradient_histograms",
    "gradient_norms",
    "loss_surface",
    "saved_memory",
]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
LINES = ("-", "--", ":", "-.")
IN_COLUMN = 12  # names in a column of a legend
LONGEST_NAME = 25
FAR = 1000  # if two norms differ by this factor, a gradient counts as vanishing or exploding

Named = Mapping[str, object]  # a name -> a tensor, an array or a number
Source = Tape | Module | Named


def gradient_norms(source: Source | Sequence[Source]) -> Figure:
    """The norm of the gradient in each layer: bars for one step, lines for several.

    source    a model after backward(); a tape, where each backward pass is a step; a dict from the
              names of parameters to their gradients or norms; or a list of these

    A triangle at the lower end of the axis is a gradient of zeros.

    The title says whether the gradient vanishes or explodes on its way back through the layers, that
    is, whether the norms of two layers differ by a factor of 1000 or more. It also names layers that
    no gradient reaches, and layers with NaN or infinite entries, which the norms leave out.

    >>> from minigrad import nn
    >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
    >>> for p in model.parameters():
    ...     p.grad = minigrad.full_like(p, 1e-6 if p is model[0].weight else 1.0)
    >>> print(gradient_norms(model).get_suptitle())
    vanishing: 2e-06 in 0, 707,000 times less than 1.41 in 1
    """
    steps = _gradients(source)
    names = list(dict.fromkeys(chain.from_iterable(steps)))
    norms = [layer.norm for step in steps for layer in step.values() if layer.norm] or [1.0]
    limits = min(norms) / 3, max(norms) * 3
    labels = [_end_of(name) for name in names]
    if len(steps) == 1:
        upright = sum(map(len, labels)) > 40
        wide = max(5.0, (0.3 if upright else 0.7) * len(names) + 2)
        figure = _figure(wide, 3.5 + 0.07 * upright * max(map(len, labels)))
        axis = figure.subplots()
        heights = [layer.norm for layer in steps[0].values()]
        axis.bar(range(len(names)), heights, tick_label=labels, color=COLORS[0])
        axis.tick_params(axis="x", rotation=90 if upright else 0)
    else:
        columns = -(-len(names) // IN_COLUMN)  # of the legend
        figure = _figure(7.0 + 2.4 * columns * (columns > 1), 3.5)
        axis = figure.subplots()
        for k, (name, label) in enumerate(zip(names, labels, strict=True)):
            curve = [step[name].norm if name in step else np.nan for step in steps]
            _curve(axis, curve, limits[0], k, label)
        axis.set_xlabel("step")
        axis.locator_params(axis="x", integer=True)
        legend = axis.legend(fontsize="small", ncols=columns)
        if columns > 1:  # beside the curves
            legend.set(loc="upper left", bbox_to_anchor=(1.01, 1))
    axis.set(yscale="log", ylim=limits, ylabel="norm of the gradient")
    return _titled(figure, "\n".join(_verdict(steps)))


def gradient_histograms(source: Source | Sequence[Source]) -> Figure:
    """A histogram of the gradient's entries in each layer, for the last step.

    source    as in gradient_norms

    Each title counts the entries that are NaN, infinite or zero. A tape keeps only the first 64
    entries of a large array, so only these are drawn. With a model, all entries are.

    >>> w = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (w.log() * minigrad.tensor([1.0, 1.0, minigrad.inf])).sum().backward()
    >>> print(gradient_histograms({"w": w.grad}).axes[0].get_title())
    w
    1 inf of 3
    """
    return _histograms(_gradients(source)[-1], "gradients")


def activation_histograms(source: Source, *inputs: Tensor) -> Figure:
    """A histogram of each layer's output.

    source    a model, which is called with the inputs; a tape; or a dict of activations
    inputs    the inputs of the model

    A copy of the model is called, so neither the model nor the random generator changes. For a tape,
    the last result of each module's call is drawn, or every result if it has no modules.

    >>> from minigrad import nn
    >>> relu = activation_histograms(nn.Sequential(nn.ReLU()), minigrad.tensor([-1.0, 0.5, 2.0]))
    >>> print(relu.axes[0].get_title())
    0 ReLU
    33 % are 0
    """
    if isinstance(source, Tape):
        layers = _results(source.shown())
    elif isinstance(source, Mapping):
        layers = {name: _Numbers.of(value) for name, value in source.items()}
    elif not inputs or not hasattr(source, "named_modules"):
        raise TypeError(
            "activation_histograms takes a tape, a dict, or a model and an input, as in "
            f"activation_histograms(model, x), not {type(source).__name__}."
        )
    else:
        layers = _called(source, inputs)
    return _histograms(layers, "activations")


def saved_memory(tape: Tape) -> Figure:
    """The bytes of saved tensors after each step: they grow in the forward pass, and are freed in the backward pass.

    A tensor that is saved twice, or together with a view of it, counts once. The dashed line counts
    leaves only: parameters and data. The title names the step with the most, and its line of the
    program.

    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> with minigrad.record() as tape:
    ...     y = x.exp()
    ...     z = (y * y).sum()
    ...     z.backward()
    >>> print(saved_memory(tape).get_suptitle())
    at most 8 B are saved: after step 1, in line 2: y = x.exp()
    """
    if not isinstance(tape, Tape):
        raise TypeError(
            f"saved_memory takes a tape, not {type(tape).__name__}. To fix it, record one with minigrad.record()."
        )
    document = tape.shown()
    total, leaves, unknown = _saved_bytes(document)
    peak = int(np.argmax(total))
    figure = _figure(7.0, 3.5)
    axis = figure.subplots()
    steps = range(len(total))
    axis.step(steps, total, where="post", color=COLORS[0], label="saved")
    axis.step(steps, leaves, "--", where="post", color=COLORS[1], label="leaves only")
    axis.plot(peak, total[peak], "o", color=COLORS[1])
    axis.set(xlabel="step", ylim=(0, 1.1 * max(total) or 1))
    axis.locator_params(axis="x", integer=True)
    axis.yaxis.set_major_formatter(lambda n, _: _in_bytes(n))
    axis.legend(fontsize="small")
    title = f"at most {_in_bytes(total[peak])} are saved: after step {peak}"
    node = document.node(document.steps[peak - 1].node or "n0") if peak else None
    if node is not None and node.code is not None:
        title += (
            f", in line {document.where(node.code)}: {short(document.code[node.code].text.strip())}"
        )
    if unknown:
        title += f"\nnot counted: {unknown} saved values that are not on the tape"
    return _titled(figure, title)


def loss_surface(
    f: Callable[[Tensor], Tensor | float],
    path: Iterable[object] | Mapping[str, Iterable[object]] = (),
    *,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The contours of a function of two parameters, with the path of an optimizer.

    f             the loss: a function of a tensor with two entries
    path          the points that the optimizer visited; or a dict from names to points
    xlim, ylim    the limits of the axes; by default, large enough for the paths
    ax            the axes to draw on; by default, those of a new figure

    The levels of the contours grow like squares, so that they are dense at the bottom of a valley.

    >>> from minigrad import optim
    >>> def valley(p): return p[0] ** 2 + 10 * p[1] ** 2
    >>> p = minigrad.tensor([2.0, 1.0], requires_grad=True)
    >>> sgd, path = optim.SGD([p], lr=0.04), [p.detach().clone()]
    >>> for _ in range(20):
    ...     sgd.zero_grad()
    ...     valley(p).backward()
    ...     sgd.step()
    ...     path.append(p.detach().clone())
    >>> line = loss_surface(valley, path).axes[0].lines[0]
    >>> line.get_xydata().shape
    (21, 2)
    """
    given = path if isinstance(path, Mapping) else {"": path}
    paths = {name: _points(points) for name, points in given.items()}
    held = np.concatenate([*paths.values(), np.empty((0, 2))])
    x, y = (limits or _around(held[:, k]) for k, limits in enumerate((xlim, ylim)))
    if ax is None:
        ax = _figure(6.0, 4.5).subplots()
    ink = ax.xaxis.label.get_color()  # the text color of the style
    _contours(ax, f, x, y)
    for k, (name, points) in enumerate(paths.items()):
        width, line = (3, "o-") if k == 0 else (1, "o--")
        color, label = COLORS[k % len(COLORS)], name or None
        ax.plot(*points.T, line, markersize=4, linewidth=width, color=color, label=label)
        ax.plot(*points[:1].T, "s", color=ink, markersize=5)
    if any(paths):
        ax.legend(fontsize="small")
    ax.set(xlim=x, ylim=y, xlabel="p[0]", ylabel="p[1]")
    return cast("Figure", ax.figure)


# --------------------------------------------------------------------------- the numbers


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a layer: its entries (all, or the first ones), and facts about all of them."""

    entries: Array
    size: int
    norm: float
    nan: int = 0
    inf: int = 0

    @classmethod
    def of(cls, value: object) -> _Numbers:
        """The numbers of a tensor or an array. None, a gradient that never arrived, has no numbers."""
        entries = _real(np.asarray([] if value is None else numbers_of(value))).reshape(-1)
        finite = entries[np.isfinite(entries)]
        # Without the division, a square could overflow.
        most = float(abs(finite).max(initial=0)) or 1.0
        norm = most * float(np.linalg.norm(finite / most))
        nan, inf = int(np.isnan(entries).sum()), int(np.isinf(entries).sum())
        return cls(entries, entries.size, norm, nan, inf)

    @classmethod
    def described(cls, facts: doc.ArrayFacts) -> _Numbers:
        """The numbers of a snapshot."""
        entries = _real(np.array([complex(v or 0) for v in facts["first"]]))
        norm = float(facts["norm"] or 0)
        return cls(entries, facts["size"], norm, facts["nan"], facts["inf"])

    def __add__(self, other: _Numbers) -> _Numbers:
        return _Numbers(
            np.concatenate([self.entries, other.entries]),
            self.size + other.size,
            math.hypot(self.norm, other.norm),
            self.nan + other.nan,
            self.inf + other.inf,
        )

    @property
    def notes(self) -> str:
        """The lines under the title of a histogram: "3 NaN of 8"."""
        zeros = int((self.entries == 0).sum())
        seen = self.entries.size
        parts = [f"{n} {kind}" for n, kind in ((self.nan, "NaN"), (self.inf, "inf")) if n]
        words = [f"{', '.join(parts)} of {self.size}"] if parts else []
        words += [f"{zeros / seen:.0%} are 0".replace("%", " %")] if zeros else []
        words += [f"of {self.size}, only {seen} are on the tape"] if seen < self.size else []
        return "\n".join(words or ["no gradient"] * (not self.size))


def _real(values: Array) -> Array:
    """Convert to floats; complex numbers to their absolute values."""
    return np.asarray(values.real if not np.any(np.imag(values)) else abs(values), dtype=float)


def _gradients(source: Source | Sequence[Source]) -> list[dict[str, _Numbers]]:
    """The gradients of each layer, for each step."""
    steps = [layers for layers in map(_layers, _named_gradients(source)) if layers]
    if not any(layer.size for layers in steps for layer in layers.values()):
        raise ValueError(
            "There are no gradients to draw: call backward() first, and zero_grad() only after "
            "the picture."
        )
    return steps


def _named_gradients(source: Source | Sequence[Source]) -> list[dict[str, _Numbers]]:
    """The gradients of each parameter, by name, for each step."""
    if isinstance(source, Tape):
        return _passes(source.shown())
    if isinstance(source, Mapping):
        return [{name: _Numbers.of(value) for name, value in source.items()}]
    if isinstance(source, Sequence) and not isinstance(source, str | Module):
        return [step for part in source for step in _named_gradients(part)]
    if not callable(getattr(source, "named_parameters", None)):
        raise TypeError(
            "Gradients are drawn for a model, a tape, a dict from names to gradients, or a list of "
            f"these, not for {type(source).__name__}."
        )
    parameters = source.named_parameters()
    return [{name: _Numbers.of(p.grad) for name, p in parameters if p.requires_grad}]


def _passes(document: doc.Document) -> list[dict[str, _Numbers]]:
    """The gradients that the leaves received, for each backward pass of a tape."""
    passes: dict[int, dict[int, _Numbers]] = {}
    for step in document.steps:
        facts = document.value(step.g)
        if step.node and facts and document.node(step.node).backward == "AccumulateGrad":
            taken = passes.setdefault(step.pass_ or 0, {})
            taken[doc.index_of(step.node)] = _Numbers.described(facts)
    return [{document.nodes[k].name: taken[k] for k in sorted(taken)} for taken in passes.values()]


def _layers(gradients: Mapping[str, _Numbers]) -> dict[str, _Numbers]:
    """Group parameters by layer: "0.weight" and "0.bias" belong to "0"."""
    found: dict[str, _Numbers] = {}
    for name, numbers in gradients.items():
        layer = name.rpartition(".")[0] or name
        found[layer] = found[layer] + numbers if layer in found else numbers
    return found


def _verdict(steps: list[dict[str, _Numbers]]) -> list[str]:
    """The lines of the title: what is wrong with the gradients, or that nothing is."""
    layers = steps[-1]
    broken = {k: [n for n, x in s.items() if x.nan or x.inf] for k, s in enumerate(steps, 1)}
    first = next((k for k, names in broken.items() if names), None)
    notes = []
    if first is not None:
        when = f" in step {first}" if len(steps) > 1 else ""
        notes.append(f"NaN or infinity{when}: {', '.join(broken[first])}")
    if silent := [name for name, x in layers.items() if not (x.norm or x.nan or x.inf)]:
        notes.append(f"no gradient reaches {', '.join(silent)}")
    norms = {name: x.norm for name, x in layers.items() if x.norm}
    if not norms:
        return notes
    least, most = min(norms, key=norms.__getitem__), max(norms, key=norms.__getitem__)
    low, high = f"{norms[least]:.3g} in {least}", f"{norms[most]:.3g} in {most}"
    times = norms[most] / norms[least]
    if times >= FAR:  # the backward pass begins at the last layer
        vanishes = list(norms).index(least) < list(norms).index(most)
        one, two, word = (low, high, "less") if vanishes else (high, low, "more")
        name = "vanishing" if vanishes else "exploding"
        ratio = f"{times:.3g}" if times >= 1e7 else f"{float(f'{times:.3g}'):,.0f}"
        notes.append(f"{name}: {one}, {ratio} times {word} than {two}")
    totals = [math.hypot(*(x.norm for x in step.values())) for step in steps]
    if totals[0] and totals[-1] >= FAR * totals[0]:
        notes.append(f"exploding: {totals[0]:.3g} in step 1, {totals[-1]:.3g} in step {len(steps)}")
    found = low if least == most else f"from {low} to {high}"
    return notes or [f"neither vanishing nor exploding: {found}"]


def _called(model: Module, inputs: tuple[Tensor, ...]) -> dict[str, _Numbers]:
    """The outputs of the innermost layers of a model."""
    seen: dict[str, _Numbers] = {}

    def keep(name: str, layer: Module, given: object, result: object) -> None:
        first = result[0] if isinstance(result, tuple) else result
        seen[f"{name} {type(layer).__name__}".strip()] = _Numbers.of(first)

    with unobserved(), no_grad(), fork_rng():
        copied = copy.deepcopy(model)
        for name, layer in copied.named_modules():
            if not list(layer.children()):
                layer.register_forward_hook(partial(keep, name))
        copied(*inputs)
    return seen


def _results(document: doc.Document) -> dict[str, _Numbers]:
    """The outputs of the layers on a tape, or of its operations if it has no layers."""
    ops = [
        n for n in document.nodes if n.kind == "op" and n.made_by is None and n.value is not None
    ]
    if any(n.module for n in ops):
        runs = groupby((n for n in ops if n.module), key=lambda n: n.module or "")
        ops = [list(run)[-1] for _, run in runs]
    return {n.module or n.label: _Numbers.described(document.values[n.value or 0]) for n in ops}


def _saved_bytes(document: doc.Document) -> tuple[list[int], list[int], int]:
    """After each step, the bytes of all saved values and of the leaves among them; how many are not on the tape."""
    memories = _Memories(document)
    kept: dict[str, set[str]] = {}  # node -> the memories that it saved
    total, leaves, unknown = [0], [0], 0
    for step in document.steps:
        for detail in step.details:
            if isinstance(detail, doc.Detail) and detail.event == "op" and detail.node:
                saved = [s for s in document.node(detail.node).saved if not s.constant]
                unknown += sum(s.node is None for s in saved)
                kept[detail.node] = {memories.of(s.node, s.output) for s in saved if s.node}
            elif detail.event == "free" and step.node:
                kept.pop(step.node, None)
        held = set().union(*kept.values())
        total.append(sum(memories.bytes[m] for m in held))
        leaves.append(sum(memories.bytes[m] for m in held & memories.leaves))
    return total, leaves, unknown


class _Memories:
    """The memories of a tape: which results share one, and its size in bytes."""

    def __init__(self, document: doc.Document) -> None:
        self.document = document
        self.bytes: dict[str, int] = {}
        self.leaves: set[str] = set()
        for node in document.nodes:
            results = [(node.shape, node.dtype), *((r.shape, r.dtype) for r in node.results)]
            for output, (shape, dtype) in enumerate(results):
                if shape is not None and dtype is not None:
                    memory = self.of(node.id, output)
                    bits = int((re.findall(r"\d+", dtype) or ["8"])[0])  # bool has none
                    size = math.prod(shape) * bits // 8
                    self.bytes[memory] = max(size, self.bytes.get(memory, 0))
                    self.leaves |= {memory} if node.kind == "leaf" else set()

    def of(self, key: doc.NodeId, output: int) -> str:
        """The name of a result's memory. All versions of a tensor, and its views, share one."""
        node = self.document.node(key)
        if output:
            return f"tensor {node.results[output - 1].tensor}"
        return f"tensor {node.tensor}" if node.storage is None else f"memory {node.storage}"


def _contours(
    ax: Axes,
    f: Callable[[Tensor], Tensor | float],
    xlim: tuple[float, float],
    ylim: tuple[float, float],
) -> None:
    """Draw the contours. f is called point by point, because it may not accept a grid."""
    a, b = np.meshgrid(np.linspace(*xlim, 81), np.linspace(*ylim, 61))
    with unobserved(), no_grad():
        heights = [
            float(numbers_of(f(tensor(p))).item()) for p in np.stack([a, b], -1).reshape(-1, 2)
        ]
    shown = np.ma.masked_invalid(np.reshape(heights, a.shape))
    if shown.count() and np.ptp(shown) > 0:
        depth = np.ma.sqrt(shown - shown.min())
        ax.contour(
            a, b, depth, levels=12, colors=ax.xaxis.label.get_color(), alpha=0.35, linewidths=0.8
        )


def _points(points: Iterable[object]) -> Array:
    """A path as an array of two columns."""
    if not isinstance(points, Iterable):
        raise TypeError(
            f"loss_surface: a path is a list of points, not {type(points).__name__}. To fix it, write "
            "loss_surface(f, path), where f is the loss."
        )
    array = np.array([numbers_of(p) for p in points], dtype=float)
    if array.size and array.shape[1:] != (2,):
        raise ValueError(
            "loss_surface: a path is a list of points with two entries each, but this one has shape "
            f"{array.shape}. To fix it, append  p.detach().clone()  after each step."
        )
    return array.reshape(-1, 2)


def _around(values: Array) -> tuple[float, float]:
    """The limits of an axis that shows these values, with a margin."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    margin = 0.3 * (high - low) or 1.0
    return low - margin, high + margin


# --------------------------------------------------------------------------- drawing


def _histograms(layers: Mapping[str, _Numbers], what: str) -> Figure:
    """A small histogram for each layer."""
    layers = {name: layer for name, layer in layers.items() if layer.size != 1} or layers
    if not layers:
        raise ValueError(f"There are no {what} to draw: no layer has computed anything.")
    columns = min(4, len(layers))
    rows = -(-len(layers) // columns)
    figure = _figure(2.6 * columns, 2.2 * rows)
    axes = iter(figure.subplots(rows, columns, squeeze=False).flat)
    for (name, layer), axis in zip(layers.items(), axes):
        finite = layer.entries[np.isfinite(layer.entries)]
        spread = np.ptp(finite) > 1e-12 * abs(finite).max() if finite.size else False
        axis.hist(finite, bins=30 if spread else 1, color=COLORS[0])
        axis.set_title("\n".join(filter(None, (_end_of(name), layer.notes))), fontsize="small")
        axis.tick_params(labelsize="small")
        axis.locator_params(axis="x", nbins=3)
    for axis in axes:  # unused axes
        axis.remove()
    return _titled(figure, what)


def _curve(axis: Axes, norms: list[float], low: float, k: int, label: str) -> None:
    """The norms of the k-th layer, step by step; zeros are triangles at the end of the logarithmic axis."""
    color, line = COLORS[k % len(COLORS)], LINES[k // len(COLORS) % len(LINES)]
    steps, heights = range(1, len(norms) + 1), [low if norm == 0 else norm for norm in norms]
    axis.plot(steps, heights, line, marker=".", color=color, label=label)
    if zeros := [step for step, norm in zip(steps, norms, strict=True) if norm == 0]:
        axis.plot(zeros, [low] * len(zeros), "v", color=color, clip_on=False)


def _titled(figure: Figure, title: str) -> Figure:
    """The figure with a title, whose lines are no wider than the figure."""
    figure.suptitle(title, fontsize="medium", wrap=True)
    return figure


def _end_of(name: str) -> str:
    """The end of a long name, which differs most from the names of other layers.

    >>> _end_of("model.encoder.layers.11.attention.norm")
    '…layers.11.attention.norm'
    """
    return name if len(name) <= LONGEST_NAME else "…" + name[-LONGEST_NAME + 1 :]


def _in_bytes(n: float) -> str:
    """Format a number of bytes.

    >>> _in_bytes(512), _in_bytes(12_345), _in_bytes(3e9)
    ('512 B', '12.3 kB', '3 GB')
    """
    power = min(int(math.log10(n) / 3), 4) if n >= 1 else 0
    return f"{n / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _figure(width: float, height: float) -> Figure:
    """A new figure, closed in a notebook, which would otherwise show it twice."""
    plt = _pyplot()
    figure = plt.figure(figsize=(width, height), layout="constrained")
    if "inline" in plt.get_backend():
        plt.close(figure)
    return figure


def _pyplot() -> ModuleType:
    """Matplotlib, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "minigrad.plots draws with Matplotlib, which is not installed. To fix it, run  "
            "pip install matplotlib   (in a notebook:  %pip install matplotlib)"
        ) from error
    return plt
