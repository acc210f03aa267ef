"""The progress panel in JupyterLab: it changes in its place while exercises are checked below."""

import pytest

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser

CELLS = [
    """%load_ext minigrad
from minigrad.teach import Exercise
square = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2,)]], hints=["Twice x."])
cube = Exercise("<b>cube</b>", lambda x: x**3, shapes=[[()]])""",
    "%progress",
    "def square_backward(x, g):\n    return x * g\n\nsquare.check();",
]


def test_progress_goes_along_with_the_checks(lab):
    page = lab(CELLS)
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
