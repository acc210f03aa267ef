"""The reports of a class with hostile names, answers and exceptions, opened from the disk.

No script runs, nothing is asked of any host or file, and the console stays empty, whatever a student is called
or writes. With MINIGRAD_SCREENSHOTS=FOLDER, pictures are left there to be looked at.
"""

import os
from pathlib import Path

import pytest

from minigrad.grading.gradebook.book import gradebook_of
from minigrad.grading.reports import write_reports

HOSTILE = [
    "<script>window.ran = 1</script>",
    '"><img src=x onerror="window.ran = 2">',
    "' onmouseover='window.ran = 3' x='",
    "<svg onload=window.ran=4><a xlink:href='javascript:window.ran=5'>",
    "</title></style></pre><script src=http://example.org/x.js></script>",
    "javascript:window.ran=6",
    "<a href='javascript:window.ran=7'>grade</a>",
    "<style>* { display: none; background: url(http://example.org/x.png) }</style>",
    "<iframe src='file:///etc/passwd'></iframe><object data=x><embed src=x>",
    "<meta http-equiv=refresh content='0;url=http://example.org'>",
    "<base href='http://example.org/'><form action='http://example.org'><button>send",
    "<!-- <![CDATA[ <plaintext> <textarea>",
    "&lt;script&gt;window.ran=8&lt;/script&gt; &#60;script&#62;",
    "{{constructor.constructor('window.ran=9')()}} ${window.ran=10}",
    "\u202egro.elpmaxe//:ptth \u2066\u200f\u061c evil",
    "\x1b]8;;http://example.org\x07click\x1b[31m\x00\x08",
    "=HYPERLINK(\"http://example.org\", \"grade\")",
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "\ud800 half a pair \udfff",
    "عَلِي‌رِضا (100 of 100)",
    "x" * 5000,
]  # fmt: skip


def grade(student, text, points, *, unreadable=None, confirm=False, diagnoses=()):
    questions = []
    for k, (name, of) in enumerate((("softmax", 4), ("momentum", 6))):
        got = points[k]
        questions.append(
            {
                "id": name,
                "points": got,
                "of": of,
                "right": int(got),
                "asked": of,
                "reason": None if got == of else f"1/dx: {text}" if text else "1/dx: wrong value",
                "notes": [text] if text and k else [],
                "confirm": confirm and k == 0,
                "results": [{"id": f"{name}/1/dx", "ok": got == of, "reason": text}],
                "diagnoses": list(diagnoses) if k == 0 and got < of else [],
            }
        )
    return {
        "format": "minigrad-grade-1",
        "student": student,
        "file": f"{student}.ipynb",
        "exercise": "reverse mode by hand",
        "points": sum(points),
        "of": 10,
        "unreadable": unreadable,
        "confirm": confirm,
        "questions": questions,
        "notes": ["the answer softmax was found by its position: please confirm"]
        if confirm
        else [],
        "seed": "0123456789abcdef",
        "isolation": "bwrap",
        "limits": {"cell": 10, "submission": 120},
        "versions": {"minigrad": "0.1", "python": "3.11"},
        "hashes": dict.fromkeys(("submission", "recording", "judge", "answers"), "0" * 64),
    }


SUM = {
    "kind": "axis",
    "message": "dx is what comes out if the sum runs over axis 0 instead of axis 1.",
    "hint": "Which axis holds the scores of one example?",
}
SIGN = {"kind": "sign", "message": "dx has the wrong sign.", "hint": "Look at the minus."}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    names = "ana ben carla deniz emre fatima gao hana igor jo kemal lea mio nora olu pia".split()
    grades = [
        grade(n, "", (4 if k % 3 else 0, 6 if k % 4 else k % 3), diagnoses=[SUM if k % 6 else SIGN])
        for k, n in enumerate(names)
    ]
    grades += [grade(text, text, (2, 1), diagnoses=[SUM]) for text in HOSTILE]
    grades += [grade("quinn", "", (0, 0), unreadable=text) for text in HOSTILE[:2]]
    grades.append(grade("rosa", "", (4, 6), confirm=True))
    write_reports(gradebook_of("ex", [grades]), folder)
    return folder


@pytest.fixture
def opened(browser):
    """A page and what went wrong on it."""
    context = browser.new_context(viewport={"width": 1100, "height": 900}, service_workers="block")
    page = context.new_page()
    wrong: list[str] = []
    wanted: list[str] = []
    page.on("console", lambda m: wrong.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("dialog", lambda d: (wrong.append(d.message), d.dismiss()))
    page.on("popup", lambda p: wrong.append("a window was opened"))

    def refuse(route):
        if route.request.url not in wanted:
            wrong.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    context.route("**/*", refuse)
    yield page, wanted, wrong
    context.close()


def test_hostile_text_does_nothing_in_a_browser(reports, opened):
    page, wanted, wrong = opened

    files = [reports / "overview.html", *sorted((reports / "feedback").iterdir())]
    for path in files:
        wanted[:] = [path.as_uri()]
        page.goto(path.as_uri())
        page.mouse.move(300, 200)
        for link in page.locator("a").all():
            link.hover()
        assert page.evaluate("window.ran") is None, path.name
        assert page.locator("script, img, svg, iframe, object, embed, form, base").count() == 0
        assert page.locator("body").is_visible()

    assert len(files) == 1 + 16 + len(HOSTILE) + 3
    assert wrong == []
    shots = os.environ.get("MINIGRAD_SCREENSHOTS")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in ("overview.html", "feedback/rosa.html", "feedback/ana.html"):
            wanted[:] = [(reports / name).as_uri()]
            page.goto(wanted[0])
            if shots:
                page.screenshot(path=Path(shots, f"{Path(name).stem}-{scheme}.png"), full_page=True)
    assert wrong == []


def test_every_link_of_the_overview_leads_to_the_page_of_that_student(reports, opened):
    page, wanted, _ = opened
    wanted.append((reports / "overview.html").as_uri())
    page.goto(wanted[0])
    links = page.locator("h2:has-text('Students') + table a")

    targets = [link.get_attribute("href") for link in links.all()]

    assert len(set(targets)) == len(targets)
    for target, text in zip(targets, links.all_inner_texts()):
        assert (reports / target).resolve().parent == (reports / "feedback").resolve()
        wanted[:] = [(reports / target).as_uri()]
        page.goto(wanted[0])
        named = page.locator("body > p").first.inner_text()
        assert " ".join(named.split()).startswith(" ".join(text.rstrip("…").split()))


def test_a_text_that_runs_from_right_to_left_turns_nothing_around(reports, opened):
    page, wanted, _ = opened
    wanted.append((reports / "overview.html").as_uri())
    page.goto(wanted[0])

    row = page.locator("tr", has_text="100 of 100").last
    name, points = (row.locator("td").nth(k).bounding_box() for k in (0, 1))

    assert name["x"] + name["width"] <= points["x"] + 1
    assert "\u202e" not in page.content()


def test_pages_fit_a_narrow_screen_and_names_stay_in_one_piece(reports, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for name in ("overview.html", "feedback/rosa.html", "feedback/ana.html"):
        page.goto((reports / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto((reports / "overview.html").as_uri())
    row = page.locator(".scroll tr", has_text="rosa").bounding_box()
    assert row["height"] < 90
    page.set_viewport_size({"width": 1100, "height": 844})
    first = page.locator("h2", has_text="To look at by hand").locator("+ table td").first
    assert first.bounding_box()["width"] >= 160  # wide enough for most names, beside a long reason
