"""minigrad.plots: the numbers that are drawn, and what the titles say of them."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import minigrad
from minigrad import nn, optim, plots
from minigrad.teach import pictures


@pytest.fixture(autouse=True)
def drawn_nowhere():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def of_norms(**norms):
    return {name: np.array([norm]) for name, norm in norms.items()}


def title(*steps):
    return plots.gradient_norms(list(steps)).get_suptitle()


def bars(figure):
    return [bar.get_height() for bar in figure.axes[0].patches]


def two_layers():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    model(minigrad.ones(5, 3)).sum().backward()
    return model


# ---------------------------------------------------------------- gradients


def test_a_bar_is_the_norm_of_all_gradients_in_a_layer():
    model = two_layers()

    expected = [
        np.sqrt(sum(float((p.grad**2).sum()) for p in model[k].parameters())) for k in (0, 2)
    ]
    figure = plots.gradient_norms(model)

    assert bars(figure) == pytest.approx(expected)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["0", "2"]
    assert figure.axes[0].get_yscale() == "log"


def test_a_tape_gives_the_same_bars_as_the_model_that_it_recorded():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with minigrad.record() as tape:
        model(minigrad.ones(5, 3)).sum().backward()

    figure = plots.gradient_norms(tape)

    assert bars(figure) == pytest.approx(bars(plots.gradient_norms(model)), rel=1e-5)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["model.0", "model.2"]


def test_each_backward_pass_of_a_tape_is_a_step_with_its_own_gradient():
    w = minigrad.tensor([3.0, 4.0], requires_grad=True)
    with minigrad.record() as tape:
        for k in (1, 2, 3):  # .grad adds up, but each pass has its own gradient
            (k * w).sum().backward()

    (line,) = plots.gradient_norms(tape).axes[0].lines

    assert list(line.get_xdata()) == [1, 2, 3]
    assert line.get_ydata() == pytest.approx(np.sqrt(2) * np.array([1, 2, 3]))
    assert line.get_label() == "w"


def test_steps_are_also_tapes_and_dictionaries_in_a_list_and_a_layer_may_come_later():
    lines = plots.gradient_norms([of_norms(a=1.0), of_norms(a=2.0, b=5.0)]).axes[0].lines

    assert [list(line.get_ydata()) for line in lines][0] == [1.0, 2.0]
    assert np.array_equal(lines[1].get_ydata(), [np.nan, 5.0], equal_nan=True)


@pytest.mark.parametrize(
    "steps, said",
    [
        ([of_norms(a=2.0)], "neither vanishing nor exploding: 2 in a"),
        ([of_norms(a=1e-4, b=1.0)], "vanishing: 0.0001 in a, 10,000 times less than 1 in b"),
        ([of_norms(a=50.0, b=0.01)], "exploding: 50 in a, 5,000 times more than 0.01 in b"),
        ([of_norms(a=1.0, b=0.01)], "neither vanishing nor exploding: from 0.01 in b to 1 in a"),
        ([of_norms(a=0.0, b=1.0)], "no gradient reaches a"),
        ([of_norms(a=1.0), of_norms(a=2e3)], "exploding: 1 in step 1, 2e+03 in step 2"),
        ([of_norms(a=1.0), of_norms(a=np.nan)], "NaN or infinity in step 2: a"),
        ([of_norms(a=np.inf, b=1.0)], "NaN or infinity: a"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_title_says_what_is_wrong_with_the_numbers_on_which_that_rests(steps, said):
    assert title(*steps) == said


def test_a_gradient_of_zeros_has_a_mark_at_the_end_of_the_axis():
    figure = plots.gradient_norms([of_norms(a=1.0, b=0.0), of_norms(a=2.0, b=5.0)])
    _, _, zeros = figure.axes[0].lines

    assert [*zeros.get_xdata()] == [1] and [*zeros.get_ydata()] == [figure.axes[0].get_ylim()[0]]


def test_a_tensor_made_in_the_recording_that_then_requires_a_gradient_is_drawn():
    with minigrad.record() as tape:
        w = (minigrad.ones(2) * 3).requires_grad_()
        (w * w).sum().backward()

    assert bars(plots.gradient_norms(tape)) == pytest.approx([72**0.5])


@pytest.mark.parametrize("steps", [1, 3])
def test_many_layers_with_long_names_leave_room_for_the_curves(steps):
    names = [f"model.transformer.encoder.layers.{k}.attention.weight" for k in range(40)]
    figure = plots.gradient_norms([dict.fromkeys(names, np.ones(2))] * steps)
    figure.draw_without_rendering()
    (axis,) = figure.axes

    box = axis.get_window_extent()
    assert box.height > 0.5 * 72 * 3.5 and box.width > 5 * 72
    title = figure._suptitle.get_window_extent()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.x1
    legend = axis.get_legend()
    assert legend is None or legend.get_window_extent().x0 > box.x1


def test_a_layer_that_no_backward_pass_reached_is_named():
    model = two_layers()
    model[0].zero_grad()

    assert title(model) == "no gradient reaches 0"
    model[0].requires_grad_(False)  # frozen on purpose: it has none to expect
    assert title(model).startswith("neither vanishing")


@pytest.mark.parametrize("source, error", [(nn.Linear(2, 2), ValueError), (3, TypeError)])
def test_what_has_no_gradients_is_refused_with_what_to_do(source, error):
    with pytest.raises(error, match=r"call backward\(\) first|for a model, a tape"):
        plots.gradient_norms(source)


def test_what_has_no_activations_or_memory_is_refused_with_what_is_drawn():
    with pytest.raises(TypeError, match="a tape, a dict, or a model and an input.* not Tensor"):
        plots.activation_histograms(minigrad.ones(2), minigrad.ones(2))
    with pytest.raises(TypeError, match="takes a tape, not Linear"):
        plots.saved_memory(nn.Linear(2, 2))


def test_a_histogram_counts_the_finite_entries_and_says_how_many_are_not():
    w = np.array([1.0, 2.0, 0.0, np.nan, np.nan, np.inf])

    (axis,) = plots.gradient_histograms({"w": w}).axes

    assert sum(bar.get_height() for bar in axis.patches) == 3
    assert axis.get_title() == "w\n2 NaN, 1 inf of 6\n17 % are 0"


def test_a_histogram_of_a_sparse_gradient_has_its_zeros():
    table = nn.Embedding(5, 3, sparse=True)
    table(minigrad.tensor([1, 2])).sum().backward()

    assert plots.gradient_histograms(table).axes[0].get_title() == "weight\n60 % are 0"


def test_a_histogram_from_a_tape_says_that_a_large_array_is_there_in_part():
    w = minigrad.ones(2000, requires_grad=True)
    with minigrad.record() as tape:
        w.sum().backward()

    (axis,) = plots.gradient_histograms(tape).axes

    assert axis.get_title() == "w\nof 2000, only 64 are on the tape"
    assert sum(bar.get_height() for bar in axis.patches) == 64


@pytest.mark.parametrize("value", [[], [np.nan], [1.0, 1 + 2e-16], [1e300, -1e300], [1 + 2j, 0]])
def test_a_histogram_can_be_drawn_of_any_numbers(value):
    plots.gradient_histograms({"w": np.array(value), "v": [1.0, 2.0]}).canvas.draw()


# ---------------------------------------------------------------- activations


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(x))


def test_the_model_and_the_random_numbers_are_as_they_were_after_activations_are_drawn():
    model, x = Net(), minigrad.randn(8, 3)
    mean, state = model.norm.running_mean.clone(), minigrad.get_rng_state()

    axes = plots.activation_histograms(model, x).axes

    assert [a.get_title().split("\n")[0] for a in axes] == ["norm BatchNorm1d", "drop Dropout"]
    assert [sum(bar.get_height() for bar in a.patches) for a in axes] == [24, 24]
    assert (model.norm.running_mean == mean).all()
    assert (minigrad.get_rng_state() == state).all()


def test_the_activations_of_a_tape_are_the_last_results_of_its_modules():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = minigrad.tensor([[1.0, 2.0], [-1.0, 0.5]])
    with minigrad.record() as tape:
        z = model(x)
        z.sum()

    axes = plots.activation_histograms(tape).axes

    assert [a.get_title().split("\n")[0] for a in axes] == ["Sequential.0", "Sequential.1"]
    zeros = int((z == 0).sum()) / 6
    assert (f"{100 * zeros:.0f} % are 0" in axes[1].get_title()) == bool(zeros)


def test_the_activations_of_a_tape_without_modules_are_its_results():
    x = minigrad.tensor([1.0, -2.0])
    with minigrad.record() as tape:
        y = x * 2
        z = y.relu()  # noqa: F841

    assert [a.get_title() for a in plots.activation_histograms(tape).axes] == ["y", "z\n50 % are 0"]


def test_a_model_without_an_input_is_refused():
    with pytest.raises(TypeError, match=r"activation_histograms\(model, x\)"):
        plots.activation_histograms(Net())


# ---------------------------------------------------------------- memory


def curves(tape):
    axis = plots.saved_memory(tape).axes[0]
    return [[int(n) for n in line.get_ydata()] for line in axis.lines[:2]]


def test_a_tensor_that_is_saved_twice_counts_once_until_the_last_node_is_freed():
    x = minigrad.ones(4, requires_grad=True)  # 16 bytes
    with minigrad.record() as tape:
        y = x.exp()  # saves y
        z = (y * y).sum()  # saves y, twice
        z.backward()

    total, leaves = curves(tape)

    assert total == [0, 16, 16, 16, 16, 16, 16, 0, 0]
    assert leaves == [0] * 9


def test_a_view_counts_as_the_memory_that_it_keeps_and_leaves_are_told_apart():
    w = minigrad.ones(3, 2, requires_grad=True)  # 24 bytes
    x = minigrad.ones(5, 3)  # 60 bytes
    with minigrad.record() as tape:
        first = w[0]
        y = (x @ w) * first  # saves x, first (a view of w), and x @ w: 40 bytes
        y.sum().backward()

    total, leaves = curves(tape)

    assert max(total) == 60 + 24 + 40
    assert max(leaves) == 60 + 24
    assert total[-1] == 0


def test_what_is_retained_stays_and_the_peak_is_at_its_line():
    x = minigrad.ones(500, requires_grad=True)
    with minigrad.record() as tape:
        y = x.exp().sin()
        y.sum().backward(retain_graph=True)

    figure = plots.saved_memory(tape)

    assert curves(tape)[0][-1] == 2000
    assert figure.axes[0].lines[2].get_xydata().tolist() == [[1, 2000]]
    assert "2 kB are saved: after step 1, in line" in figure.get_suptitle()
    assert figure.get_suptitle().endswith("y = x.exp().sin()")


# ---------------------------------------------------------------- surfaces


def bowl(p):
    return (p**2).sum()  # cannot be called with a whole grid at once


def test_paths_are_drawn_as_they_were_walked():
    p = minigrad.tensor([2.0, 1.0], requires_grad=True)
    opt, path = optim.SGD([p], lr=0.25), [p.detach().clone()]
    for _ in range(3):
        opt.zero_grad()
        bowl(p).backward()
        opt.step()
        path.append(p.detach().clone())

    figure = plots.loss_surface(bowl, {"SGD": path, "Newton": [[2.0, 1.0], [0.0, 0.0]]})
    axis = figure.axes[0]
    sgd, newton = (
        next(line for line in axis.lines if line.get_label() == name) for name in ("SGD", "Newton")
    )

    assert sgd.get_xydata().tolist() == [[2, 1], [1, 0.5], [0.5, 0.25], [0.25, 0.125]]
    assert newton.get_xydata().tolist() == [[2, 1], [0, 0]]
    assert axis.collections  # the contours


@pytest.mark.parametrize("f", [lambda p: 3.0, lambda p: p[0].log(), lambda p: p[0] * np.nan])
def test_a_surface_may_be_flat_or_not_finite_or_without_a_path(f):
    plots.loss_surface(f, xlim=(-1, 1)).canvas.draw()


def test_a_path_of_three_parameters_is_refused():
    with pytest.raises(ValueError, match=r"two entries each, but this one has shape \(1, 3\)"):
        plots.loss_surface(bowl, [[1.0, 2.0, 3.0]])


def test_the_picture_below_an_exercise_draws_on_the_same_surface(monkeypatch):
    drawn = []

    def spy(*args, **settings):
        drawn.append(args)
        return plots.loss_surface(*args, **settings)

    monkeypatch.setattr(pictures, "loss_surface", spy)
    pictures.paths(lambda p, g, state, lr: p - lr * g, optim.SGD, lr=0.1, steps=2).png()

    ((surface, paths),) = drawn
    assert surface is pictures.valley
    assert paths["yours"] == pytest.approx(paths["SGD"])


# ---------------------------------------------------------------- style


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("color", plots.COLORS)
def test_every_color_stands_out_on_black_and_on_white(color):
    light = luminance(color)

    assert 1.05 / (light + 0.05) >= 3 and (light + 0.05) / 0.05 >= 3


def test_a_dark_style_of_the_user_is_kept_and_no_ink_is_lost_in_it():
    with plt.style.context("dark_background"):
        figure = plots.loss_surface(bowl, [[1.0, 1.0], [0.0, 0.0]])

    start = figure.axes[0].lines[1].get_color()
    assert luminance(figure.get_facecolor()) == 0
    assert (
        min(luminance(c) for c in (start, figure.axes[0].collections[0].get_edgecolor()[0][:3]))
        > 0.9
    )


def test_a_notebook_shows_a_figure_once_and_a_script_shows_it_with_the_others(monkeypatch):
    plots.gradient_norms(of_norms(a=1.0))
    assert len(plt.get_fignums()) == 1

    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    plots.gradient_norms(of_norms(a=1.0))
    assert len(plt.get_fignums()) == 1


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    with pytest.raises(ImportError, match="pip install matplotlib"):
        plots.gradient_norms(of_norms(a=1.0))
