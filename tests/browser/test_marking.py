"""The page for marking in a browser: on a phone, without JavaScript."""

import base64
import os
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from minigrad.grading.gradebook.by_hand import read_manual, update_manual
from minigrad.grading.marking import MarkingServer

NAME = "0123456789abcdef"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ANSWER = (
    f"<script>window.ran = 1</script> (picture {NAME}) Because\n\n    gradients "
    + "add " * 80
    + "w" * 300
)


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "manual.csv"
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / f"{NAME}.png").write_bytes(base64.b64decode(PIXEL))
    students = ["ada", "<img src=x onerror=window.ran=2>", "x" * 200]
    update_manual(path, {(s, "why"): ANSWER for s in students}, {"why": Decimal(3)})
    server = MarkingServer(path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("script", [False, True])
def test_a_class_is_marked_on_a_phone_with_and_without_javascript(browser, server, script):
    context = browser.new_context(
        viewport={"width": 360, "height": 640}, java_script_enabled=script, service_workers="block"
    )
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(server.address)
    page.get_by_text("Mark the next of 3").click()
    for number in range(3):
        assert page.locator("script, img[src=x]").count() == 0
        if script:
            assert page.get_by_role("img").evaluate("img => img.naturalWidth") == 1
            width = "document.documentElement.scrollWidth"
            assert page.evaluate(width) <= 360 and page.evaluate("window.ran") is None
        page.get_by_label("Points").fill(f"{number}.5")
        page.get_by_label("Comment").fill("=good\nwork")
        if number == 0 and (folder := os.environ.get("MINIGRAD_SCREENSHOTS")):
            page.screenshot(path=Path(folder, "marking.png"), full_page=True)
        with page.expect_navigation():  # is_visible() does not wait
            page.get_by_role("button").click()
    assert page.get_by_text("All answers are marked").is_visible()
    context.close()

    marks = read_manual(server.path).values()
    assert [(str(m.points), m.comment) for m in marks] == [
        (f"{n}.5", "=good\nwork") for n in range(3)
    ]
    assert wrong == []
