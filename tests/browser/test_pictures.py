"""Pictures that stay on a page of nbconvert: what a reader sees of a widget without a kernel."""

import subprocess
import sys

import nbformat
import pytest

from tests.browser.test_in_jupyterlab import SHOWN, keep

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A notebook that nbconvert has executed, with the state of its widgets, as it does by default."""
    path = tmp_path_factory.mktemp("pages") / "lesson.ipynb"
    cells = [nbformat.v4.new_code_cell(source) for source in SHOWN]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    convert(path, "notebook", "--execute", "--inplace")
    assert "widgets" in nbformat.read(path, as_version=4).metadata
    return path


def convert(path, to, *options):
    main = "import minigrad.utils.notebook_format; from nbconvert.nbconvertapp import main; main()"
    command = [sys.executable, "-c", main, "--to", to, *options, str(path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=["light", "dark"])
def converted(request, executed):
    """The theme, and the page that nbconvert has made."""
    convert(executed, "html", "--theme", request.param)
    return request.param, executed.with_suffix(".html")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_page_of_nbconvert_shows_the_pictures_offline(converted, browser, scripts):
    theme, html = converted
    context = browser.new_context(
        offline=True,
        java_script_enabled=scripts,
        color_scheme=theme,
        viewport={"width": 1100, "height": 1400},
    )
    page = context.new_page()
    page.goto(html.as_uri())

    pictures = page.locator(".jp-OutputArea-output img")
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box["width"] > 100 and box["height"] > 100
    assert pictures.count() == 3
    assert page.locator(".minigrad-report").is_visible()
    keep(page, f"nbconvert_{theme}_{scripts}")
    context.close()
