"""Pictures that stay: what a reader sees of a widget when its kernel is gone.

With MINIGRAD_SCREENSHOTS=FOLDER, pictures are left there to be looked at.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.browser.test_in_jupyterlab import CELLS

pytestmark = pytest.mark.browser

LOOP = "%%autograd loop\nh = a\nfor _ in range(20):\n    h = (h * b + 1).relu()\nh.sum().backward()"
PROGRAM = (
    "from minigrad import static\n"
    "program = static.record(lambda x: ((x @ x).relu() ** 2).sum())(minigrad.ones(2, 2))\nprogram"
)
PROGRESS = (
    "from minigrad.teach import Exercise\n"
    "Exercise('square_backward', lambda x: x * x, shapes=[[()]])\n%progress"
)
SHOWN = [*CELLS, LOOP, PROGRAM, PROGRESS]
INSPECTORS = (
    "[o for o in __import__('gc').get_objects() if str(type(o)).endswith('widgets.Inspector\\'>')]"
)
# Begun and not waited for: on a busy machine JupyterLab may never see that the new kernel is there.
RESTART = "() => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"


def keep(page, name):
    folder = os.environ.get("MINIGRAD_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder, f"{name}.png"))


def save(notebook):
    """Save the notebook, as it is by default: without its widgets' state. Its name, and what is stored."""
    notebook.settled("() => window.jupyterapp.commands.execute('docmanager:save')")
    notebook.page.wait_for_function(
        "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
    )
    return notebook.name, nbformat.read(notebook.server.root / notebook.name, as_version=4)


class Seen:
    """What is visible in a page: live widgets, and pictures."""

    def __init__(self, page):
        self.live = page.locator(".mg-inspector, .mg-progress")
        self.pictures = page.locator(
            ".jp-OutputArea-output img, .jp-OutputArea-output .minigrad-report"
        )

    def all_live(self):
        self.live.nth(3).wait_for()
        assert not any(picture.is_visible() for picture in self.pictures.all())

    def all_still(self):
        self.live.first.wait_for(state="detached")
        self.pictures.nth(3).wait_for(state="attached")
        assert [picture.is_visible() for picture in self.pictures.all()] == [True] * 4


@pytest.mark.parametrize("app, theme", [("lab", "light"), ("notebook", "dark")])
def test_a_picture_stands_wherever_the_widget_does_not_run(lab, app, theme):
    notebook = lab(SHOWN, app=app, theme=theme)
    assert notebook.error_outputs() == []
    page = notebook.page
    seen = Seen(page)
    seen.all_live()
    page.locator(".mg-next").first.click()
    notebook.wait_python("tape.step", "1")
    keep(page, f"{app}_{theme}_live")

    name, stored = save(notebook)
    notebook.open(name)  # the page is loaded again: the kernel runs, and so do the widgets
    seen.all_live()
    assert "step 1/7" in page.locator(".mg-where").first.inner_text()

    page.evaluate(RESTART)
    seen.all_still()
    keep(page, f"{app}_{theme}_restarted")

    notebook.server.stop_kernels()
    notebook.open(name)
    seen.all_still()
    page.wait_for_function(  # by now JupyterLab has looked for what models there are
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel.status === 'idle'"
    )
    seen.all_still()
    keep(page, f"{app}_{theme}_reopened")
    assert "model not found" not in page.content()
    assert notebook.outside == [] and notebook.widget_errors() == []

    for cell in stored.cells:  # the same from elsewhere: nothing of it is trusted
        cell.source += "\n# changed by somebody else"
    nbformat.write(stored, notebook.server.root / f"from_elsewhere_{name}")
    notebook.open(f"from_elsewhere_{name}")
    seen.all_still()
    keep(page, f"{app}_{theme}_untrusted")
    assert page.locator("img[src^='data:image/png']").count() == 3


def test_a_cell_that_is_run_again_shows_its_new_widget_and_ends_the_old(lab):
    notebook = lab(CELLS)
    seen = notebook.page.locator(".mg-inspector")
    seen.wait_for()
    notebook.page.locator(".mg-next").click()
    notebook.wait_python("tape.step", "1")

    notebook.run_all()

    notebook.page.locator(".mg-where", has_text="step 0/7").wait_for()
    assert seen.count() == 1
    notebook.wait_python(f"len([o for o in {INSPECTORS} if o.comm is not None])", "1")
    assert notebook.widget_errors() == []


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
