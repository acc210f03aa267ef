"""What a learner sees: the lesson, an exercise, and the progress panel, in JupyterLab."""

from pathlib import Path

import nbformat
import pytest

from minigrad.grading.release.student import is_answer, release

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
LESSON = ROOT / "notebooks" / "01_a_value_and_its_tape.ipynb"
EXERCISE = ROOT / "exercises" / "reverse_mode" / "01_shared_input.ipynb"


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_solved_exercise_shows_a_table_of_what_is_right(lab, theme):
    notebook = lab(EXERCISE, theme=theme)

    assert notebook.error_outputs() == []
    report = notebook.page.locator(".minigrad-report")
    report.wait_for()
    assert "all 6 public checks are right" in report.inner_text()
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
    assert shown.endswith("0 of 1 public checks are right")
    assert "✗ not written" in card(notebook)


def test_a_wrong_answer_shows_where_and_by_how_much(lab, tmp_path):
    path = release(EXERCISE, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if is_answer(cell):
            cell.source = "def shared_input_backward(x, y, g):\n    return g * (x + y), g * x"
    nbformat.write(notebook, path)

    notebook = lab(path)

    [shown] = notebook.error_outputs()
    assert shown.endswith("3 of 6 public checks are right")
    assert "dx is" in card(notebook) and "and should be" in card(notebook)
    assert "you wrote: g * (x + y)" in card(notebook) and "the inputs: x = " in card(notebook)


PROGRESS = [
    """%load_ext minigrad
from minigrad.teach import Exercise
square = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2,)]], hints=["Twice x."])
cube = Exercise("<b>cube</b>", lambda x: x**3, shapes=[[()]])""",
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
    assert rows.nth(1).locator("th").inner_text() == "<b>cube</b>"  # text, not markup

    page.python("[square.check(lambda x, g: 2 * x * g), square.hint()]")
    page.page.wait_for_selector('.mg-progress-row[data-state="solved"]')

    assert panel.locator("strong").inner_text() == "progress: 1 of 2 exercises solved"
    bar = rows.nth(0).get_by_role("progressbar")
    assert bar.get_attribute("aria-valuenow") == "100"
    assert "1 of 1 seen" in rows.nth(0).inner_text()
    assert page.widget_errors() == [] and page.outside == []
