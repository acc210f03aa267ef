"""How things are shown: minigrad.display, and a tensor as the value of a cell."""

import re
import subprocess
import sys
from base64 import b64decode
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import minigrad
from minigrad.jupyter import display
from minigrad.jupyter.tensor_html import CELLS, heat_map
from tests.shells import NO_HISTORY


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.delenv("MINIGRAD_DISPLAY", raising=False)
    monkeypatch.setattr(minigrad, "display", "auto")


def test_without_a_kernel_auto_means_the_picture():
    assert display.chosen_mode() == "svg"


def test_in_a_kernel_with_anywidget_auto_means_the_widget(monkeypatch):
    class Shell:
        kernel = object()

    monkeypatch.setattr(display, "shell", Shell)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert display.chosen_mode() == "widget"

    monkeypatch.delitem(sys.modules, "anywidget", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert display.chosen_mode() == "svg"


@pytest.mark.parametrize("notebook, wanted", [(True, "html"), (False, "svg")])
def test_in_a_notebook_of_marimo_auto_means_the_page(monkeypatch, notebook, wanted):
    marimo = SimpleNamespace(running_in_notebook=lambda: notebook)
    monkeypatch.setitem(sys.modules, "marimo", marimo)

    assert display.chosen_mode() == wanted


def test_nbval_is_shown_no_widgets_for_their_keys_differ_from_run_to_run(monkeypatch):
    monkeypatch.setattr(display, "shell", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "notebooks/01_tape.ipynb::Cell 0 (setup)")

    assert display.chosen_mode() == "svg"


@pytest.mark.parametrize("wanted", ["widget", "html", "svg", "png", "text"])
def test_the_session_and_the_environment_may_say_how(monkeypatch, wanted):
    monkeypatch.setenv("MINIGRAD_DISPLAY", wanted)
    assert display.chosen_mode() == wanted

    monkeypatch.setattr(minigrad, "display", "html")
    assert display.chosen_mode() == "html"


def test_within_a_block_the_block_decides(monkeypatch):
    monkeypatch.setattr(minigrad, "display", "widget")

    with display.shown_as("text"), display.shown_as("svg"):
        assert display.chosen_mode() == "svg"

    assert display.chosen_mode() == "widget"


def test_a_wrong_name_is_found_when_it_is_used(monkeypatch):
    monkeypatch.setenv("MINIGRAD_DISPLAY", "svgs")
    with pytest.raises(ValueError, match="MINIGRAD_DISPLAY is 'svgs'.*Did you mean \"svg\""):
        display.chosen_mode()

    monkeypatch.setattr(minigrad, "display", "Widget")
    with pytest.raises(ValueError, match="minigrad.display is 'Widget'.*Did you mean \"widget\""):
        display.chosen_mode()

    monkeypatch.setattr(minigrad, "display", None)
    with pytest.raises(ValueError, match='must be one of "auto"'):
        display.chosen_mode()


def test_a_notebook_shows_a_wrong_name_without_our_lines(monkeypatch, capsys):
    shell = InteractiveShell.instance(colors="nocolor", config=NO_HISTORY)
    try:
        monkeypatch.setattr(minigrad, "display", "htlm")
        shell.display_formatter.active_types = ["text/plain", "text/html"]
        shell.display_formatter.format(minigrad.ones(2))
    finally:
        InteractiveShell.clear_instance()
    shown = capsys.readouterr().out

    assert shown.startswith("ValueError: minigrad.display is 'htlm'") and "line" not in shown


# ------------------------------------------------------------------------------ tensors


def test_a_tensor_shows_its_text_what_it_is_and_its_chain():
    x = minigrad.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    z = x * x

    html = z._repr_html_()

    assert "grad_fn=&lt;MulBackward0&gt;)</pre>" in html
    assert "(2, 2) · float32 · MulBackward0" in html
    assert "<img " in html
    assert "<summary>chain of 2 nodes</summary>" in html and "AccumulateGrad" in html


def test_a_leaf_and_a_plain_tensor_have_no_chain():
    leaf, plain = minigrad.ones(3, requires_grad=True), minigrad.ones(3)

    assert "a leaf that requires grad" in leaf._repr_html_()
    assert "details" not in leaf._repr_html_() + plain._repr_html_()
    assert "img" not in plain._repr_html_()


def test_the_text_of_a_tensor_stays_as_it_was_and_alone_where_asked_for(monkeypatch):
    shell = InteractiveShell(config=NO_HISTORY)
    shell.display_formatter.active_types = list(shell.display_formatter.format_types)
    x = minigrad.ones(2, 2)

    with_html, _ = shell.display_formatter.format(x)
    monkeypatch.setattr(minigrad, "display", "text")
    alone, _ = shell.display_formatter.format(x)

    assert set(with_html) == {"text/plain", "text/html"} and set(alone) == {"text/plain"}
    assert with_html["text/plain"] == alone["text/plain"] == repr(x)


def test_a_picture_is_stored_without_svg_if_asked_for():
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        x * 2

    with display.shown_as("png"):
        assert set(tape._repr_mimebundle_()) == {"text/plain", "image/png"}
    with display.shown_as("svg"):
        assert set(tape._repr_mimebundle_()) == {"text/plain", "image/svg+xml"}


def picture(array):
    """The SVG inside the image of a heat map."""
    return b64decode(re.search(r"base64,([^\"]+)", heat_map(np.asarray(array)))[1]).decode()


def test_a_heat_map_is_blue_below_zero_white_at_it_and_orange_above():
    svg = picture([[-1.0, 0.0, 1.0]])

    assert 'viewBox="0 0 3 1"' in svg
    assert {p.get("fill"): p.get("d") for p in ElementTree.fromstring(svg)} == {
        "#0072B2": "M0 0h1v1H0z",
        "#FFFFFF": "M1 0h1v1H1z",
        "#D55E00": "M2 0h1v1H2z",
    }


def test_the_last_digit_does_not_choose_a_color():
    exact = [[1.0, 0.125, 0.375, -0.625]]
    nearly = [[1.0, 0.125 - 1e-9, 0.375 + 1e-9, -0.625 - 1e-9]]

    assert picture(exact) == picture(nearly)


def test_what_is_not_finite_is_hatched_and_counted():
    matrix = np.array([[1.0, np.nan], [np.inf, -np.inf]])
    html = heat_map(matrix)

    assert "hatched: not finite" in html and "from -1 (blue)" in html
    assert 'fill="url(#n)"' in picture(matrix) and "<pattern" in picture(matrix)
    assert "1 NaN of 3, 2 inf of 3" in minigrad.tensor([np.nan, np.inf, -np.inf])._repr_html_()


def test_a_large_matrix_is_shown_by_means_of_blocks():
    a = np.zeros((100, 65))
    a[:4, :3] = 8

    html = heat_map(a)

    assert f'viewBox="0 0 {-(-65 // 3)} {100 // 4}"' in picture(a)
    assert "each cell is the mean of up to 4 by 3 entries" in html
    assert len(heat_map(np.random.default_rng(0).normal(size=(500, 500)))) < 40_000
    assert CELLS == 32


@pytest.mark.parametrize(
    "array", [np.ones(3), np.ones((2, 2, 2)), np.ones((1, 1)), np.ones((0, 3))]
)
def test_what_is_no_matrix_has_no_heat_map(array):
    assert heat_map(array) == ""


def test_a_matrix_of_zeros_is_white():
    assert "all 0" in heat_map(np.zeros((2, 2)))


def test_a_long_chain_is_left_to_the_magic():
    z = minigrad.ones(2, requires_grad=True)
    for _ in range(3000):
        z = z + 1

    html = z._repr_html_()

    assert "more than 200 nodes" in html and len(html) < 2_000


def test_names_cannot_become_markup(monkeypatch):
    x = minigrad.ones(2, requires_grad=True)

    class Shell:
        user_ns = {"w": {"<img src=x onerror=alert(1)>": x}}

    monkeypatch.setattr("minigrad.jupyter.tensor_html.shell", Shell)
    html = (x * 2)._repr_html_()

    assert "<img" not in html and "onerror" in html


def test_importing_minigrad_does_not_bring_the_notebooks_side():
    program = (
        "import sys, minigrad; print([m for m in sys.modules if 'jupyter' in m or 'IPython' in m])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_tape_that_is_too_large_for_a_notebook_says_how_to_see_it(monkeypatch):
    monkeypatch.setattr(sys.modules["minigrad.tape.record"], "MOST_SHOWN", 3)
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record("long") as tape:
        for _ in range(4):
            x = x * 2

    assert tape._repr_mimebundle_() == {"text/plain": tape.too_large()}
    assert tape.too_large().startswith("long: 4 operations. A notebook draws at most 3")
    assert "tape.save('tape.html')" in tape.too_large()
