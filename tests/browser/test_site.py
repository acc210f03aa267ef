"""The site: it builds without a warning, its tapes can be stepped through, and it asks the network for nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("myst_nb")

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as CONTRIBUTING.md says, without the lists of names beside the reference.

    Sphinx copies these for the sidebar of every page, a third of the time.
    """
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-D", "toc_object_entries=0"]
    command += ["-c", "docs", ".", str(folder)]
    built = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


@pytest.fixture(params=["light", "dark"])
def page(site, contexts, request):
    """page(path): a page of the site, open; `requests` is what it has asked for."""
    tab = contexts(request.param).new_page()
    tab.requests = []
    tab.on("request", lambda r: tab.requests.append(r.url))

    def opened(path):
        tab.goto((site / path).as_uri())
        return tab

    yield opened
    tab.close()


def pictures(lesson):
    """The cells of a lesson that show a tape: their ids, and the picture."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                yield cell["id"], "".join(output["data"]["image/svg+xml"])


def test_the_tapes_kept_for_the_site_are_those_of_the_lessons():
    kept = {path.stem for path in (ROOT / "docs" / "tapes").glob("*.json")}

    assert kept == {f"{lesson.stem}-{cell}" for lesson in LESSONS for cell, _ in pictures(lesson)}
    for lesson in LESSONS:
        source = lesson.read_text(encoding="utf-8")
        for cell, picture in pictures(lesson):
            path = ROOT / "docs" / "tapes" / f"{lesson.stem}-{cell}.json"
            document = json.loads(path.read_text(encoding="utf-8"))["doc"]
            assert all(f">{node['name']}<" in picture for node in document["nodes"])
            for line in document["code"] if document["program"] is None else ():
                assert json.dumps(line["text"], ensure_ascii=False)[1:-1] in source


@pytest.mark.browser
def test_a_tape_of_a_lesson_can_be_stepped_through(page):
    lesson = page("notebooks/01_a_value_and_its_tape.html")
    tape = lesson.frame_locator("iframe.tape").first

    tape.locator(".mg-next").click()
    tape.locator(".mg-next").click()

    assert "step 2/4" in tape.locator(".mg-where").inner_text()
    assert all(url.startswith("file://") for url in lesson.requests)


@pytest.mark.browser
def test_a_recorded_program_is_stepped_through_to_its_error(page):
    gallery = page("docs/gallery.html")
    tape = gallery.frame_locator('iframe[src*="destroys"]')

    tape.locator(".mg-last").click()

    assert "modified by an inplace operation" in tape.locator(".mg-frame").inner_text()


@pytest.mark.browser
def test_all_panels_of_a_tape_are_seen_on_screens_of_every_width(page):
    gallery = page("docs/gallery.html")
    frame = gallery.locator("iframe.tape").first
    tape = gallery.frame_locator("iframe.tape").first
    last = tape.locator(".mg-check")
    last.wait_for()

    for width in (800, 1020, 1120, 1280, 1320, 1440, 1920):
        gallery.set_viewport_size({"width": width, "height": 900})
        inside = frame.evaluate("e => e.clientWidth")
        while tape.locator(":root").evaluate("() => innerWidth") != inside:
            gallery.wait_for_timeout(20)  # the frame is laid out in a process of its own
        box, inner = frame.bounding_box(), last.bounding_box()
        assert inner["y"] + inner["height"] <= box["y"] + box["height"], width
        assert gallery.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


@pytest.mark.browser
def test_a_tape_begins_at_its_top_and_its_picture_has_room(page):
    first = page("index.html").frame_locator("iframe.tape")
    first.locator(".mg-next").wait_for()
    assert first.locator(".mg-canvas").evaluate("e => e.scrollTop") == 0

    lesson = page("notebooks/01_a_value_and_its_tape.html")  # a wide picture: the panels are below
    shown = lesson.frame_locator("iframe.tape").first.locator(".mg-canvas")
    shown.wait_for()

    assert shown.evaluate("e => e.scrollTop") == 0
    assert shown.evaluate("e => e.clientHeight >= 350 && e.scrollWidth <= e.clientWidth")


@pytest.mark.browser
def test_formulas_are_drawn_without_the_network(page):
    lesson = page("notebooks/04_a_model_taken_apart.html")

    lesson.locator("mjx-container").first.wait_for()

    assert all(url.startswith("file://") for url in lesson.requests)


def test_the_map_of_the_course_leads_to_pages_of_the_site(site):
    start = site / "notebooks" / "00_start_here.html"
    links = re.findall(r'href="([^"#?:]+)"', start.read_text(encoding="utf-8"))

    exercises = {
        link
        for link in links
        if link.startswith("../exercises/") and link != "../exercises/README.html"
    }
    assert len(exercises) == len(list(ROOT.glob("exercises/*/*.ipynb")))
    assert not [link for link in links if not (start.parent / link).exists()]


def test_a_lesson_leads_to_the_reference_and_folds_its_answers(site):
    text = (site / "notebooks/06_digits.html").read_text(encoding="utf-8")

    assert 'href="../docs/reference/plots.html"' in text
    assert re.search(r"<details[^>]*>(?:(?!</details>).)*2 of 2 gradients agree", text, re.DOTALL)


def test_no_solution_is_on_the_site(site):
    pages = list((site / "exercises").glob("*/*.html"))

    assert len(pages) == len(list((ROOT / "exercises").glob("*/*.ipynb")))
    for path in pages:
        assert not re.search(
            "(BEGIN|END) (SOLUTION|HIDDEN TESTS)", path.read_text(encoding="utf-8")
        )


def test_the_reference_leads_to_the_page_of_pytorch(site):
    text = (site / "docs/reference/nn.html").read_text(encoding="utf-8")

    assert 'href="https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html"' in text
