"""Every submission of tests/submissions ends in the verdict that its name says, in the sandbox.

A class of over 200 takes as long as a fifth of all other tests. So every third of its submissions is
graded; the rest with MINIGRAD_SUBMISSIONS=rest, as in .ci/run, and all with MINIGRAD_SUBMISSIONS=all.
"""

import os
from functools import cache

import pytest

from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.run.batch import Settings, grade_class
from minigrad.grading.sandbox.choose import try_tier
from minigrad.grading.sandbox.image import cached_image
from minigrad.grading.sandbox.launch import Limits
from tests.submissions.answers import ANSWERS, SHARES
from tests.submissions.authors import AUTHORS
from tests.submissions.classes import Class
from tests.submissions.files import FILES

pytest.importorskip("minigrad.grading.sandbox.choose")

LIMITS = Limits(cell=4, question=30, submission=60, disk=8, bytes=1_000_000, memory=1024)


WHICH = os.environ.get("MINIGRAD_SUBMISSIONS", "every third")
THEMES = [theme for theme in AUTHORS if WHICH != "rest" or len(ANSWERS[theme]) >= 10]


def some(named):
    """Those of these submissions that are graded; of a few, all."""
    if len(named) < 10 or WHICH == "all":
        return named
    return {
        name: a for k, (name, a) in enumerate(named.items()) if (k % 3 > 0) == (WHICH == "rest")
    }


@cache
def holds(tier):
    return try_tier(tier, cached_image(False)).holds


@pytest.fixture(scope="module", params=["bwrap", "landlock", "container", "gvisor"])
def tier(request):
    if request.param != "bwrap" and holds("bwrap") and not os.environ.get("MINIGRAD_SLOW"):
        pytest.skip(f"{request.param} too is tried with MINIGRAD_SLOW=1; here, bwrap is")
    if not holds(request.param):
        pytest.skip(
            f"the sandbox {request.param} does not hold on this machine: see minigrad doctor"
        )
    return request.param


@pytest.fixture(scope="module")
def canary(tmp_path_factory):
    path = tmp_path_factory.mktemp("private") / "canary"
    path.write_text("nobody reads this", encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=THEMES)
def graded(request, tier, canary, tmp_path_factory):
    """The grades of all submissions to an exercise, by name; the class is graded once."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, grades_of(request.param, folder, tier, canary)


def grades_of(theme, folder, tier, canary, seed=None):
    handed = Class(folder / "author.ipynb", AUTHORS[theme])
    submitted = handed.folder
    for name, source in some(ANSWERS[theme]).items():
        handed.submit(name, answer=source.replace("CANARY", str(canary)))
    if theme == "reverse":
        for name, make in some(FILES).items():
            content = make(handed.released, ANSWERS["reverse"]["full_by_the_formula"])
            (submitted / f"{name}.ipynb").write_bytes(content)
        (submitted / "unreadable_a_link.ipynb").symlink_to(submitted / "full_by_the_formula.ipynb")
        (submitted / "unreadable_a_program.py").write_text("print(4)", encoding="utf-8")
        (submitted / "unreadable_a_folder.ipynb").mkdir()
        os.mkfifo(submitted / "unreadable_a_pipe.ipynb")
        (submitted / "unreadable_no_notebook_in_the_folder").mkdir()
    settings = Settings(isolation=tier, limits=LIMITS, seed=seed)
    grades = grade_class(submitted, *make_bundles(handed.author), folder / "out", settings)
    return {grade["student"]: grade for grade in grades}


def test_each_submission_gets_the_verdict_in_its_name(graded, canary):
    theme, grades = graded
    wrong = []
    for name, grade in grades.items():
        share = SHARES.get(name.split("_")[0], 0.0)
        if grade["points"] != share * grade["of"]:
            wrong.append(
                f"{name}: {grade['points']:g}, {[q['reason'] for q in grade['questions']]}"
            )

    assert not wrong
    assert not canary.with_name("canary.mine").exists()


def test_nobody_is_left_out(graded):
    theme, grades = graded

    assert set(some(ANSWERS[theme])) <= set(grades)


def test_unreadable_files_get_a_sentence_as_reason(graded):
    _, grades = graded

    for name, grade in grades.items():
        assert (grade["unreadable"] is not None) == name.startswith("unreadable"), name
        if grade["unreadable"]:
            assert "Traceback" not in grade["unreadable"] and len(grade["unreadable"]) < 250


def test_what_lost_points_has_a_reason(graded):
    _, grades = graded

    for name, grade in grades.items():
        for question in grade["questions"]:
            assert (question["reason"] is None) == (question["points"] == question["of"]), name


def test_a_guess_needs_confirmation(graded):
    _, grades = graded

    for name, grade in grades.items():
        assert grade["confirm"] == name.endswith("please_confirm"), name


@pytest.mark.skipif(not os.environ.get("MINIGRAD_SLOW"), reason="slow: set MINIGRAD_SLOW=1")
@pytest.mark.parametrize("theme", AUTHORS)
def test_two_runs_of_a_seed_agree(theme, tier, canary, tmp_path):
    runs = []
    for k in "ab":
        (tmp_path / k).mkdir()
        runs.append(grades_of(theme, tmp_path / k, tier, canary, seed="the same"))

    # What a process printed before it was killed is a matter of time; points are not.
    # So is which limit stops it first, time or memory, on a machine that has much else to do.
    points = [
        {
            n: [(q["id"], q["points"], [r["ok"] for r in q["results"]]) for q in g["questions"]]
            for n, g in run.items()
        }
        for run in runs
    ]
    assert points[0] == points[1]
