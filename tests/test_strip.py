"""Stripping: what goes, and what stays; and the stored notebooks are stripped."""

import copy
import io
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from nbformat.v4 import new_code_cell, new_notebook, new_output

from minigrad.jupyter.strip import StripError, strip_file, strip_notebook
from minigrad.tape.render import bitmap, draw, style
from minigrad.tape.render.shapes import Picture, Rect, polygons
from tests import tape_cases as cases
from tests.command import minigrad

ROOT = Path(__file__).parent.parent
VIEW = "application/vnd.jupyter.widget-view+json"
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" viewBox="0 0 40 20">'
    '<rect x="0" y="0" width="40" height="20" fill="#FFFFFF"/>'
    '<g fill="#D55E00"><path d="M0 0h20v20H0z"/></g></svg>'
)


@pytest.fixture
def notebook():
    """A widget with picture and text, a widget alone, a plot of somebody else's, a printed line."""
    widget = new_output(
        "display_data",
        data={VIEW: {"model_id": "1"}, "image/svg+xml": PICTURE, "text/plain": "tape"},
    )
    alone = new_output("display_data", data={VIEW: {"model_id": "2"}})
    plot = new_output("display_data", data={"image/png": "abc=", "text/plain": "<Figure>"})
    line = new_output("stream", text="printed\n")
    cell = new_code_cell("%%autograd", outputs=[widget, alone, plot, line])
    made = new_notebook(cells=[cell])
    made.metadata["widgets"] = {"state": {}}
    return made


def stripped_copy(notebook):
    notebook = copy.deepcopy(notebook)
    strip_notebook(notebook)
    return notebook


def test_widgets_and_their_state_go_and_all_else_stays(notebook):
    clean = stripped_copy(notebook)

    first, *rest = clean.cells[0].outputs
    assert set(first.data) == {"image/svg+xml", "text/plain"}
    assert first.data["image/svg+xml"] == PICTURE
    assert rest == notebook.cells[0].outputs[2:]
    assert "widgets" not in clean.metadata and "widgets" in notebook.metadata


def test_the_empty_output_of_a_widget_of_ours_goes(notebook):
    element = new_output(
        "display_data", data={"text/html": '<minigrad-live key="1">', "text/plain": ""}
    )
    notebook.cells[0].outputs.insert(0, element)

    assert strip_notebook(copy.deepcopy(notebook))[0] == "3 widgets"
    assert stripped_copy(notebook).cells[0].outputs[0].data["image/svg+xml"] == PICTURE


def test_a_file_is_stripped_once(notebook, tmp_path):
    path = tmp_path / "lesson.ipynb"
    nbformat.write(notebook, path)

    changes = strip_file(path)
    once = path.read_bytes()

    assert changes == ["2 widgets", "the state of widgets"]
    assert strip_file(path) == []
    assert path.read_bytes() == once


def test_check_changes_nothing_and_fails_until_it_is_done(notebook, tmp_path):
    path = tmp_path / "lesson.ipynb"
    nbformat.write(notebook, path)
    before = path.read_bytes()

    def strip_notebook(*options):
        return minigrad("strip", path, *options)

    refused = strip_notebook("--check")
    assert refused.exit_code == 1 and f"minigrad strip {path}" in refused.output
    assert path.read_bytes() == before
    assert strip_notebook().exit_code == 0
    assert strip_notebook("--check").exit_code == 0


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"nbformat": 4, "cells": 3}'])
def test_what_is_not_a_notebook_is_refused(tmp_path, text):
    path = tmp_path / "no.ipynb"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(StripError, match="not a notebook of format 4"):
        strip_file(path)
    with pytest.raises(StripError, match="cannot be read"):
        strip_file(tmp_path / "none.ipynb")
    assert path.read_text(encoding="utf-8") == text


STORED = sorted(
    path
    for folder in ("notebooks", "exercises")
    for path in ROOT.glob(f"{folder}/**/*.ipynb")
    if ".ipynb_checkpoints" not in path.parts
)


@pytest.mark.parametrize("path", STORED, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_stored_notebooks_are_stripped(path):
    assert strip_file(path, check=True) == [], f"run  minigrad strip {path.relative_to(ROOT)}"


@pytest.mark.parametrize("path", STORED, ids=lambda p: str(p.relative_to(ROOT)))
def test_each_stored_picture_is_there_as_png_too(path):
    """Viewers like GitHub's show no SVG of other people's notebooks."""
    outputs = [o for c in nbformat.read(path, 4).cells for o in c.get("outputs", ())]
    data = [o.data for o in outputs if "image/svg+xml" in o.get("data", ())]
    assert all("image/png" in d for d in data)


# ------------------------------------------------------------------- the bitmap itself


@pytest.fixture
def picture():
    square = polygons([((0, 0), (20, 0), (20, 20), (0, 20))], "#D55E00")
    return Picture(40, 20, [Rect(0, 0, 40, 20, "#FFFFFF"), square])


def test_the_png_shows_the_picture(picture):
    pixels = imread(io.BytesIO(bitmap.rendered(picture, bitmap.NOTEBOOK)))[..., :3]
    assert pixels.shape == (30, 60, 3)
    assert pixels[15, 10] == pytest.approx([0xD5 / 255, 0x5E / 255, 0], abs=0.02)
    assert pixels[15, 50] == pytest.approx([1, 1, 1], abs=0.02)


@pytest.mark.parametrize("case", [cases.version_conflict, cases.hooks, cases.training])
def test_in_the_png_of_a_tape_white_is_white_and_a_tint_is_that_of_the_svg(case):
    picture = draw.picture(case().shown())

    pixels = imread(io.BytesIO(bitmap.rendered(picture)))[..., :3]

    assert (pixels[2, 2] == 1).all()
    tint = np.isclose(pixels, to_rgb(style.FORWARD_TINT), atol=1e-6).all(axis=-1)
    assert tint.mean() > 0.02


def test_a_huge_picture_has_fewer_pixels(picture, monkeypatch):
    monkeypatch.setattr(bitmap, "MOST", 800)  # at most one pixel per unit

    assert imread(io.BytesIO(bitmap.rendered(picture, bitmap.NOTEBOOK))).shape[:2] == (20, 40)


def test_the_same_picture_gives_the_same_bytes(picture):
    assert bitmap.rendered(picture) == bitmap.rendered(picture)
