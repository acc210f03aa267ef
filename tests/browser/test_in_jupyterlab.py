"""What a learner sees in JupyterLab, and in Notebook 7: tapes, programs, a lesson, an exercise, progress, pictures.

All in one file, as the first page of a server takes as long as three of these tests.
"""

import os
import re
from pathlib import Path

import nbformat
import pytest

from minigrad.grading.release.student import is_answer, release

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
LESSON = ROOT / "notebooks" / "01_a_value_and_its_tape.ipynb"
EXERCISE = ROOT / "exercises" / "reverse_mode" / "01_shared_input.ipynb"

LOAD = "%load_ext minigrad\nimport minigrad"
LEAVES = (
    "a = minigrad.tensor(2.0, requires_grad=True)\nb = minigrad.tensor(3.0, requires_grad=True)"
)
CELL = "%%autograd tape\nc = a * b\nloss = c + a\nloss.backward()"
CELLS = [LOAD, LEAVES, CELL]


def node(inspector, label):
    """The box whose description begins with this label."""
    return inspector.locator(f".mg-node[aria-label^='{label},']").first


def cell_count(notebook):
    return notebook.page.locator(".jp-Cell").count()


# ---------------------------------------------------------------------- a tape


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_stepping_selecting_and_reading_the_queue(lab, app):
    notebook = lab(CELLS, app=app)
    assert notebook.error_outputs() == []
    inspector = notebook.page.locator(".mg-inspector").first
    inspector.wait_for()
    said, where = inspector.locator(".mg-said"), inspector.locator(".mg-where")

    inspector.locator(".mg-next").click()  # by button
    notebook.wait_python("tape.step", "1")
    assert "c = a * b was computed: 6." in said.inner_text()

    inspector.locator(".mg-slider").focus()  # by slider
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    notebook.wait_python("tape.step", "4")
    assert "AddBackward0 of loss received 1" in said.inner_text()
    queue = inspector.locator(".mg-ready li")
    assert "MulBackward0 of c" in queue.inner_text() and "seq 1" in queue.inner_text()
    assert "AccumulateGrad of a 1 more" in inspector.locator(".mg-waits").inner_text()
    assert notebook.python("tape.at().ready") == "('MulBackward0 of c',)"

    node(inspector, "c").click()  # select by mouse
    notebook.wait_python("tape.selected", "'c'")
    details = inspector.locator(".mg-details")
    assert "dc/da = b = 3dz/dx = y" in re.sub(r"\s+", " ", details.inner_text())
    assert "c = a * b" in inspector.locator(".mg-lit").inner_text()

    notebook.page.keyboard.press("n")  # by key
    assert "step 5/7" in where.inner_text()
    before = cell_count(notebook)
    for key in ("d", "d", "x", "a", "b"):
        notebook.page.keyboard.press(key)
    inspector.locator(".mg-canvas").click(position={"x": 3, "y": 3})  # beside the boxes
    for key in ("Home", "b", "d", "d", "x", "a"):
        notebook.page.keyboard.press(key)
    notebook.page.wait_for_timeout(300)
    assert cell_count(notebook) == before
    assert "step 4/7" not in where.inner_text() and "step 3/7" in where.inner_text()
    for element in inspector.locator("button, input, select, [tabindex]").all():
        assert element.get_attribute("data-lm-suppress-shortcuts") == "true"

    notebook.python("setattr(tape, 'step', 7)")  # from Python
    inspector.locator(".mg-where", has_text="step 7/7").wait_for()
    notebook.python("tape.select('a')")
    inspector.locator(".mg-detailhead", has_text="leaf").wait_for()
    assert "4" in details.inner_text()
    assert notebook.outside == [] and notebook.widget_errors() == []


def test_a_tape_that_grows_in_a_later_cell_is_drawn_anew(lab):
    forward = "%%autograd tape\nc = a * b\nloss = c + a"
    notebook = lab([LOAD, LEAVES, forward, "for _ in tape.steps(loss): pass", "%tape"])
    assert notebook.error_outputs() == []
    inspector = notebook.page.locator(".mg-inspector").first
    inspector.wait_for()

    inspector.locator(".mg-where", has_text="/7").wait_for()
    assert node(inspector, "c").bounding_box()["height"] > 20
    for _ in range(4):
        inspector.locator(".mg-next").click()
    assert "AddBackward0 of loss" in inspector.locator(".mg-said").inner_text()
    assert notebook.widget_errors() == []


def test_two_views_of_one_tape_a_check_and_a_hostile_name(lab):
    hostile = "'<img src=x onerror=window.hit=1>\\u202e' + 'n' * 60"
    more = [
        "%tape",
        f"names = {{{hostile}: a}}\nwith minigrad.record({hostile}, namespace=names) as h:\n"
        "    (a * 2).backward()\nh",
    ]
    notebook = lab(CELLS + more)
    assert notebook.error_outputs() == []
    both = notebook.page.locator(".mg-inspector")
    both.nth(2).wait_for()

    both.nth(0).locator(".mg-next").click()
    both.nth(1).locator(".mg-where", has_text="step 1/7").wait_for()

    first = both.nth(0)
    first.locator(".mg-entry").fill("b")
    first.locator(".mg-check").click()
    first.locator(".mg-verdict", has_text="A path is missing").wait_for()
    first.locator(".mg-entry").fill("b + 1")
    first.locator(".mg-entry").press("Enter")
    first.locator(".mg-verdict", has_text="✓ right").wait_for()
    first.locator(".mg-entry").fill("nonsense")
    first.locator(".mg-check").click()
    first.locator(".mg-verdict", has_text="NameError").wait_for()

    assert "<img src=x" in both.nth(2).locator(".mg-title").inner_text()
    assert notebook.page.evaluate("window.hit") is None
    assert both.nth(2).locator("img").count() == 0
    assert notebook.outside == [] and notebook.widget_errors() == []


def test_search_by_words_help_and_a_verdict_that_does_not_outlive_its_question(lab):
    notebook = lab(CELLS)
    inspector = notebook.page.locator(".mg-inspector").first
    inspector.wait_for()
    search = inspector.locator(".mg-search")
    search.fill("mul")  # not AccumulateGrad, which has these letters inside a word
    search.press("Enter")
    notebook.wait_python("tape.selected", "'c'")
    search.fill("umulate")
    inspector.locator(".mg-count, span", has_text="2 found").first.wait_for()
    search.press("Escape")

    inspector.locator(".mg-slider").focus()
    notebook.page.keyboard.press("?")
    keys = inspector.locator(".mg-help")
    keys.wait_for()
    assert keys.evaluate("e => getComputedStyle(e).paddingLeft") == "14px"
    assert keys.locator("dt").first.bounding_box()["width"] < 150
    notebook.page.keyboard.press("Escape")
    assert not keys.is_visible()

    inspector.locator(".mg-entry").fill("b +")
    inspector.locator(".mg-check").click()
    inspector.locator(".mg-verdict", has_text="b + is not a valid expression").wait_for()
    inspector.locator(".mg-entry").fill("b + 1")
    inspector.locator(".mg-check").click()
    verdict = inspector.locator(".mg-verdict")
    inspector.locator(".mg-verdict", has_text="✓ right").wait_for()
    inspector.locator(".mg-hand select").select_option(label="b.grad")
    assert verdict.inner_text() == "The answer stays hidden until you check yours."
    assert "mg-right" not in verdict.get_attribute("class")
    assert notebook.outside == [] and notebook.widget_errors() == []


def change_theme(notebook, name):
    notebook.settled(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
        f"JupyterLab {name}",
    )
    light = "true" if name == "Light" else "false"
    notebook.page.wait_for_selector(f"[data-jp-theme-light='{light}']", state="attached")


INSPECTORS = (
    "[o for o in __import__('gc').get_objects() if str(type(o)).endswith('widgets.Inspector\\'>')]"
)


def test_dark_and_light_and_a_cell_that_is_run_again_ends_its_old_widget(lab, tmp_path):
    notebook = lab(CELLS)
    inspector = notebook.page.locator(".mg-inspector").first
    ground = "e => getComputedStyle(e.querySelector('.mg-frame')).backgroundColor"

    change_theme(notebook, "Dark")
    assert inspector.evaluate(ground) == "rgb(21, 24, 28)"
    inspector.locator(".mg-next").click()
    notebook.run_all()  # what is made in the dark, and stands at step 0 again
    notebook.page.locator(".mg-where", has_text="step 0/7").wait_for()
    assert notebook.page.locator(".mg-inspector").count() == 1
    notebook.wait_python(f"len([o for o in {INSPECTORS} if o.comm is not None])", "1")
    assert inspector.evaluate(ground) == "rgb(21, 24, 28)"
    inspector.screenshot(path=str(tmp_path / "dark.png"))
    change_theme(notebook, "Light")
    assert inspector.evaluate(ground) == "rgb(255, 255, 255)" and notebook.widget_errors() == []


def saved(notebook, changed=None):
    """Save the notebook with its widgets' state, change the file, and open it again, no kernel running."""
    page, name = notebook.page, notebook.name
    notebook.settled(
        """async () => {
             const {commands} = window.jupyterapp;
             if (commands.hasCommand('@jupyter-widgets/jupyterlab-manager:saveWidgetState'))
               await commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState');
             await commands.execute('docmanager:save');
           }"""
    )
    path = notebook.server.root / name
    for _ in range(2000):
        stored = nbformat.read(path, as_version=4)
        if any(c.get("outputs") for c in stored.cells if c.cell_type == "code"):
            break
        page.wait_for_timeout(50)
    if changed is not None:
        changed(stored)
        nbformat.write(stored, path)
    notebook.server.stop_kernels()
    notebook.open(name)
    return stored


def test_saved_and_reopened_the_widget_steps_without_a_kernel(lab):
    notebook = lab(CELLS)
    notebook.page.locator(".mg-inspector").first.wait_for()

    stored = saved(notebook)
    states = stored.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()

    assert sum("class Inspector" in str(state) for state in states) == 1  # the script, once
    inspector = notebook.page.locator(".mg-inspector").first  # Lab restores it from its state
    inspector.wait_for()
    inspector.locator(".mg-next").click()
    inspector.locator(".mg-where", has_text="step 1/7").wait_for()
    assert notebook.outside == [] and notebook.widget_errors() == []


def test_an_untrusted_file_shows_no_frame_and_runs_nothing(lab):
    notebook = lab([LOAD, LEAVES, "minigrad.display = 'html'", CELL])
    assert notebook.error_outputs() == []
    frame = notebook.page.frame_locator("iframe[sandbox='allow-scripts']").first
    frame.locator(".mg-next").click()
    assert "step 1/7" in frame.locator(".mg-where").inner_text()

    def from_elsewhere(stored):
        stored.metadata.pop("widgets", None)
        for cell in stored.cells:
            cell.metadata.pop("trusted", None)
            cell.source += "\n# changed by somebody else"

    saved(notebook, from_elsewhere)

    notebook.page.locator(".jp-RenderedHTMLCommon summary").first.wait_for()
    assert notebook.page.locator("iframe").count() == 0
    notebook.page.locator(".jp-RenderedHTMLCommon summary").first.click()
    assert notebook.page.locator(".jp-RenderedHTMLCommon img[src^='data:image/svg']").count() == 1
    assert notebook.outside == []


# ---------------------------------------------------------------------- a program

LAYER = "def layer(x, w, b):\n    return ((x @ w + b).relu() ** 2).sum()"
RECORD = (
    "x, w, b = minigrad.ones(4, 3), minigrad.ones(3, 2), minigrad.ones(2)\n"
    "program = static.record(layer)(x, w, b)\nprogram(2 * x, w, b)\nprogram"
)
TAPE = (
    "a = minigrad.tensor([2.0, 3.0], requires_grad=True)\n"
    "with minigrad.record() as tape:\n    (a * a).sum().backward()\ntape"
)


def test_a_program_in_a_notebook_with_its_gradient_beside_it(lab, tmp_path):
    notebook = lab([LOAD, "from minigrad import static", LAYER, RECORD])
    assert notebook.error_outputs() == []
    inspector = notebook.page.locator(".mg-inspector").first
    inspector.wait_for()

    for _ in range(3):
        inspector.locator(".mg-next").click()
    assert "%5 = relu(%4): all 7." in inspector.locator(".mg-said").inner_text()
    notebook.wait_python("program._shown.step", "3")

    node(inspector, "%3").click()  # what its rule wrote is marked
    notebook.wait_python("program._shown.selected", "'%3'")
    linked = inspector.locator(".mg-node.mg-linked")
    assert linked.count() == 5
    assert inspector.locator(".mg-links path").count() == 5
    details = inspector.locator(".mg-details").inner_text()
    assert "last read by %4" in details and "matmul(%15, %11)" in details
    inspector.screenshot(path=str(tmp_path / "program_light.png"))

    inspector.locator(".mg-jump").click()
    assert "%6 = matmul(%0, %1)" in inspector.locator(".mg-said").inner_text()
    for element in inspector.locator("button, input, select, [tabindex]").all():
        assert element.get_attribute("data-lm-suppress-shortcuts") == "true"
    assert notebook.outside == [] and notebook.widget_errors() == []


def test_central_differences_at_the_press_of_a_button(lab):
    notebook = lab([LOAD, TAPE])
    assert notebook.error_outputs() == []
    inspector = notebook.page.locator(".mg-inspector").first
    inspector.wait_for()

    inspector.locator(".mg-differences").click()
    inspector.locator(".mg-verdict", has_text="central differences: [4, 6]").wait_for()
    inspector.locator(".mg-entry").fill("a")
    inspector.locator(".mg-differences").click()
    inspector.locator(".mg-verdict", has_text="yours").wait_for()

    lines = inspector.locator(".mg-verdict").inner_text().splitlines()
    assert lines[1].split() == ["a[0]", "2", "4", "4", "2e+00"]
    assert notebook.widget_errors() == []


# ---------------------------------------------------------------------- a lesson and an exercise


# What has the focus: where it is, whether it is in sight with nothing over it, and whether a ring shows it.
FOCUS = """() => {
  const e = document.activeElement, box = e.getBoundingClientRect(), node = e.matches(".mg-node");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2], top = document.elementFromPoint(x, y);
  const look = getComputedStyle(node ? e.querySelector(".mg-border") : e);
  return {cell: [...document.querySelectorAll(".jp-Cell")].indexOf(e.closest(".jp-Cell")),
          inside: Boolean(e.closest(".mg-inspector")), itself: e.matches(".jp-Cell"),
          kind: e.getAttribute("class") ?? "", label: e.getAttribute("aria-label") ?? e.textContent,
          seen: Boolean(top && (e.contains(top) || top.contains(e))),
          ring: parseFloat(node ? look.strokeWidth : look.outlineStyle === "none" ? 0 : look.outlineWidth)};
}"""
# Asked of the document: a folded cell shows no number.
HAS_RUN = "i => window.jupyterapp.shell.currentWidget.content.widgets[i].model.executionCount > 0"
NO_MOUSE = """() => {
  window.pressed = [];
  for (const kind of ["pointerdown", "mousedown", "wheel", "touchstart"])
    addEventListener(kind, e => window.pressed.push(kind), {capture: true, passive: true});
}"""


class Keyboard:
    """Somebody who has no mouse: presses keys, and looks where the focus is."""

    def __init__(self, page):
        self.page = page

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        return self.page.evaluate(FOCUS)

    def tab_to(self, wanted, key="Tab", at_most=40):
        """Presses Tab until the focus is where it is wanted; each stop in the inspector can be seen."""
        for _ in range(at_most):
            stop = self.press(key)
            assert not stop["inside"] or (stop["seen"] and stop["ring"] >= 2), stop
            if wanted(stop):
                return stop
        raise AssertionError(f"{at_most} times {key}, and the focus is still at {stop}")


def walk(you, inspector, cell):
    """One inspector, from the cell into it, through all that keys can do, and back to the cell."""
    where = inspector.locator(".mg-where")
    last = inspector.locator(".mg-slider").get_attribute("max")

    you.tab_to(lambda stop: stop["inside"])
    you.tab_to(lambda stop: not stop["inside"])  # through it, and out at its end
    you.tab_to(lambda stop: "mg-next" in stop["kind"], "Shift+Tab")
    for keys, step in (("Home", 0), ("Enter", 1), ("n", 2), ("p", 1), ("End", last), ("Home", 0)):
        you.press(keys)
        assert where.inner_text() == f"step {step}/{last}"

    you.tab_to(lambda stop: "mg-node" in stop["kind"])
    node = you.press("ArrowDown", "Enter")
    assert node["seen"] and "mg-selected" in node["kind"]
    assert node["label"].startswith(inspector.locator(".mg-detailhead strong").inner_text())
    you.press("?")
    assert inspector.locator(".mg-help").is_visible()
    assert you.press("Escape")["label"] == node["label"]
    assert not inspector.locator(".mg-help").is_visible()
    you.press("f")
    you.page.wait_for_function("() => document.fullscreenElement?.closest('.mg-lecture')")
    you.press("n")
    assert you.press("f")["label"].split(",")[0] == node["label"].split(",")[0]
    you.page.wait_for_function("() => !document.fullscreenElement")
    assert inspector.locator(".mg-keys").is_hidden()

    assert "mg-selected" not in you.press("Escape")["kind"]  # the node is free
    assert you.press("Escape")["label"] == "First step (Home)"
    back = you.press("Escape")
    assert back["itself"] and back["cell"] == cell, back


def test_lesson_one_is_run_and_its_tapes_are_walked_through_without_a_mouse(lab):
    notebook = lab(LESSON, run=False)
    you, cells = Keyboard(notebook.page), notebook.page.locator(".jp-Cell")
    notebook.page.evaluate(NO_MOUSE)
    lesson = nbformat.read(LESSON, as_version=4).cells
    walked = 0

    for i, cell in enumerate(lesson):
        stays = cell.source.startswith(("%%autograd", "%tape")) or cell is lesson[-1]
        here = you.press()
        assert here["itself"] and here["cell"] == i
        you.press("Control+Enter" if stays else "Shift+Enter")
        if cell.cell_type == "code":
            notebook.page.wait_for_function(HAS_RUN, arg=i)
        if stays and cell.cell_type == "code":
            inspector = cells.nth(i).locator(".mg-inspector")
            inspector.wait_for()
            walk(you, inspector, i)
            walked += 1
            you.press("ArrowDown")

    assert notebook.error_outputs() == [] and walked == 2
    assert cells.count() == len(lesson)  # no key of an inspector reached the notebook
    assert notebook.page.evaluate("window.pressed") == []
    assert notebook.outside == [] and notebook.widget_errors() == []


def test_a_solved_exercise_shows_a_table_of_what_is_right(lab):
    notebook = lab(EXERCISE)

    assert notebook.error_outputs() == []
    for theme in ("Dark", "Light"):
        change_theme(notebook, theme)
        report = notebook.page.locator(".minigrad-report")
        report.wait_for()
        assert "all 6 gradients are right" in report.inner_text()
        assert report.locator("tbody tr").count() == 6


def card(notebook):
    """The one report on the page: a failing check shows it once."""
    report = notebook.page.locator(".minigrad-report")
    report.wait_for()
    assert report.count() == 1
    return report.inner_text()


def test_a_starter_says_what_to_do_and_shows_no_traceback(lab, tmp_path):
    starter = release(EXERCISE, tmp_path)

    notebook = lab(starter)

    [shown] = notebook.error_outputs()
    assert shown.endswith("no answer yet")
    assert "… the line raise NotImplementedError() is still there" in card(notebook)


def test_a_wrong_answer_shows_where_and_by_how_much(lab, tmp_path):
    path = release(EXERCISE, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if is_answer(cell):
            cell.source = "def shared_input_backward(x, y, g):\n    return g * (x + y), g * x"
    nbformat.write(notebook, path)

    notebook = lab(path)

    [shown] = notebook.error_outputs()
    assert shown.endswith("3 of 6 gradients are right")
    assert "dx is" in card(notebook) and "but should be" in card(notebook)
    assert "you wrote: g * (x + y)" in card(notebook) and "the inputs: x = " in card(notebook)


PROGRESS = [
    """%load_ext minigrad
from minigrad.teach import Exercise
square = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2,)]], hints=["Twice x."])
cube = Exercise("cube", lambda x: x**3, shapes=[[()]])""",
    "%progress",
    "def square_backward(x, g):\n    return x * g\n\nsquare.check();",
]


def test_the_progress_panel_goes_along_with_the_checks(lab):
    page = lab(PROGRESS)
    assert page.error_outputs() == []
    panel = page.page.locator(".mg-progress")
    rows = panel.locator(".mg-progress-row")
    rows.nth(1).wait_for()
    assert rows.count() == 2

    assert panel.locator("strong").inner_text() == "progress: 0 of 2 exercises solved"
    assert rows.nth(0).locator(".mg-progress-state").inner_text() == "begun"
    assert rows.nth(1).locator("th").inner_text() == "cube"

    page.python("[square.check(lambda x, g: 2 * x * g), square.hint()]")
    page.page.wait_for_selector('.mg-progress-row[data-state="solved"]')

    assert panel.locator("strong").inner_text() == "progress: 1 of 2 exercises solved"
    bar = rows.nth(0).get_by_role("progressbar")
    assert bar.get_attribute("aria-valuenow") == "100"
    assert "1 of 1 seen" in rows.nth(0).inner_text()
    assert page.widget_errors() == [] and page.outside == []


# ---------------------------------------------------------------------- pictures that stay

SHOWN = [
    *CELLS,
    "%%autograd loop\nh = a\nfor _ in range(20):\n    h = (h * b + 1).relu()\nh.sum().backward()",
    "from minigrad import static\n"
    "program = static.record(lambda x: ((x @ x).relu() ** 2).sum())(minigrad.ones(2, 2))\nprogram",
    "from minigrad.teach import Exercise\n"
    "Exercise('square_backward', lambda x: x * x, shapes=[[()]])\n%progress",
]
# Begun and not waited for: on a busy machine JupyterLab may never see that the new kernel is there.
RESTART = "() => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"


def keep(page, name):
    """With MINIGRAD_SCREENSHOTS=FOLDER, leave a picture of a page there to be looked at."""
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
    notebook.open_again(name)
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
    notebook.open_again(f"from_elsewhere_{name}")
    seen.all_still()
    keep(page, f"{app}_{theme}_untrusted")
    assert page.locator("img[src^='data:image/png']").count() == 3
