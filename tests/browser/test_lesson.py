"""What a learner sees: the lesson and an exercise, opened in JupyterLab."""

from pathlib import Path

import nbformat
import pytest

from minigrad.grading.release.student import is_answer, release

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
LESSON = ROOT / "notebooks" / "01_a_value_and_its_tape.ipynb"
EXERCISE = ROOT / "exercises" / "reverse_mode" / "01_shared_input.ipynb"


def test_the_lesson_runs_and_shows_its_tape(lab):
    notebook = lab(LESSON)

    assert notebook.error_outputs() == []
    notebook.page.locator(".mg-inspector").nth(1).wait_for()
    inspectors = notebook.page.locator(".mg-inspector").all()
    assert len(inspectors) == 2
    for inspector in inspectors:
        picture = inspector.locator("svg.mg-svg")
        picture.scroll_into_view_if_needed()
        picture.wait_for()
        box = picture.bounding_box()
        assert box["width"] > 100 and box["height"] > 100
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
