"""Every exercise: its solution gets full marks, its untouched starter none, and the wrong
variants that its author thought of are told for what they are.

All of this runs in one process. In a kernel of its own one of them goes through the gate, starter and
all; `pytest exercises` has nbval run each author's notebook so, which .ci/kernels does.
"""

import ast
import linecache
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from minigrad.grading.gate import gate, run_nbval, with_answers
from minigrad.grading.release.markers import HIDDEN_TESTS, SOLUTION
from minigrad.grading.release.student import (
    is_answer,
    read_notebook,
    release,
)
from minigrad.teach import question
from minigrad.teach.pictures import CurvePicture

EXERCISES = Path(__file__).parent.parent / "exercises"
AUTHORS = sorted(EXERCISES.glob("*/*.ipynb"))
THEMES = sorted({author.parent.name for author in AUTHORS})
SHARED = EXERCISES / "reverse_mode" / "01_shared_input.ipynb"
BROADCAST = EXERCISES / "reverse_mode" / "02_broadcast_add.ipynb"
RECURSION = EXERCISES / "reverse_mode" / "10_why_recursion_explodes.ipynb"


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


every_exercise = pytest.mark.parametrize("author", AUTHORS, ids=name_of)


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    """The exercises that a notebook declares, by the name of what the student writes."""
    monkeypatch.setattr(question, "DECLARED", {})


def run(notebook, answer=None):
    """Run the cells of an exercise here, as cells; give its exercises and the check results."""
    namespace, exercises, results = {"__name__": "__main__"}, [], []
    for number, cell in enumerate(read_notebook(notebook).cells, 1):
        if cell.cell_type != "code":
            continue
        source = answer if answer is not None and is_answer(cell) else cell.source
        try:
            value = last_value(source, f"<cell {number} of {notebook}>", namespace)
        except NotImplementedError:
            continue
        except AssertionError as failed:
            value = failed.result
        if hasattr(value, "diagnoses"):
            results.append((cell, value))
    for value in namespace.values():
        if isinstance(value, question.Question) and value not in exercises:
            exercises.append(value)
    return exercises, results


@cache
def solved(author):
    """What `run` gives for an author's notebook. Two tests look at it; neither changes what the other reads."""
    return run(author)


def pictures_of(notebook):
    """The pictures that an exercise ends with, beside the text that is stored of each."""
    namespace, found = {"__name__": "__main__"}, []
    for number, cell in enumerate(read_notebook(notebook).cells, 1):
        if cell.cell_type != "code":
            continue
        try:
            value = last_value(cell.source, f"<cell {number} of {notebook}>", namespace)
        except (NotImplementedError, AssertionError):
            continue
        if isinstance(value, CurvePicture):
            found.append((cell, value))
    return found


def last_value(source, filename, namespace):
    """Run a cell under a file name of its own, as IPython does; give its last expression."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), filename, "eval"), namespace)


# --------------------------------------------------------------------------- all of them


def test_there_are_six_exercises_or_more_for_each_theme():
    assert THEMES == ["forward_mode", "inplace", "optimizers", "reverse_mode"]
    for theme in THEMES:
        assert len([a for a in AUTHORS if a.parent.name == theme]) >= 6


@every_exercise
def test_the_solution_gets_full_marks_and_shows_what_is_stored(author):
    exercises, results = solved(author)

    assert len(results) == len(exercises) >= 1
    for cell, result in results:
        assert result.ok and result.points == result.out_of > 0
        assert not result.remarks
        assert repr(result) == cell.outputs[0]["data"]["text/plain"]
        assert cell.metadata.nbgrader.points == pytest.approx(result.out_of)


@every_exercise
def test_the_starter_gets_nothing_and_says_what_is_to_be_done(author, tmp_path):
    _, results = run(release(author, tmp_path))

    for _, result in results:
        assert result.points == 0 and not result.ok
        assert {row.verdict for row in result.rows} <= {"not written", "missing"}


@every_exercise
def test_every_exercise_tries_wrong_answers_and_its_hints_unfold_one_at_a_time(author):
    exercises, _ = solved(author)  # where check tries them

    for exercise in exercises:
        assert len(exercise.wrongs) >= 2, exercise.name
        n = len(exercise.hints)
        assert n >= 2, exercise.name
        shown = [repr(exercise.hint()) for _ in range(n + 1)]
        assert shown[0].startswith(f"Hint 1 of {n}: ") and shown[-1] == shown[-2]


@every_exercise
def test_students_see_neither_a_solution_nor_a_wrong_variant(author, tmp_path):
    released = release(author, tmp_path).read_text(encoding="utf-8")

    assert ".wrong(" not in released
    assert SOLUTION.begin not in released and HIDDEN_TESTS.begin not in released


PICTURED = [
    author for author in AUTHORS if "teach import pictures" in author.read_text(encoding="utf-8")
] + [RECURSION]


@pytest.mark.parametrize("author", PICTURED, ids=name_of)
def test_pictures_can_be_drawn_whether_or_not_the_answer_is_written(author, tmp_path):
    pytest.importorskip("matplotlib")
    drawn = {}
    for notebook in (author, release(author, tmp_path)):
        ((cell, picture),) = pictures_of(notebook)
        drawn[notebook] = picture.png()
        assert not cell.metadata.nbgrader.grade

        if notebook == author:
            assert cell.outputs[0].data["text/plain"] == repr(picture)
            assert "image/png" in cell.outputs[0].data

    assert len(set(drawn.values())) == 2  # the student's own work is in it


@every_exercise
def test_the_starter_runs_and_each_check_says_that_there_is_no_answer_yet(author, tmp_path):
    starter, written = release(author, tmp_path), {"__name__": "__main__"}
    for number, cell in enumerate(read_notebook(starter).cells):
        if is_answer(cell):
            exec(cell.source, written)
        elif cell.cell_type == "code":
            try:
                last_value(cell.source, f"<cell {number} of {starter}>", written)
            except AssertionError as failed:
                assert failed.result.headline.endswith(": no answer yet")


# ------------------------------------------------------------------ one of each, by nbval


def test_the_solution_passes_and_the_untouched_starter_fails():
    gate(SHARED)  # raises GateError otherwise; tests/test_course_grades.py grades one of each theme


def test_the_starter_fails_when_pytest_runs_it_as_it_is(tmp_path):
    starter = read_notebook(release(SHARED, tmp_path))

    verdict = run_nbval(starter)

    assert not verdict.passed
    assert "shared_input_backward: no answer yet" in verdict.report


# ------------------------------------------------------------------ two of them, closely


def check(notebook, answer=None):
    """The result of the first check of an exercise, with an answer of our own."""
    return run(notebook, answer)[1][0][1]


RIGHT = {
    SHARED: "shared_input_backward = lambda x, y, g: [g * (2 * x + y), x * g]",
    BROADCAST: """
import numpy as np

def broadcast_add_backward(x, y, g):
    def back(shape):
        padded = (1,) * (g.ndim - len(shape)) + shape
        axes = tuple(i for i, n in enumerate(padded) if n == 1)
        return np.add.reduce(g, axis=axes, keepdims=True).reshape(shape)
    return back(x.shape), back(y.shape)
""",
}


@pytest.mark.parametrize("author", RIGHT, ids=lambda p: p.stem)
def test_a_right_answer_written_differently_passes(author):
    assert check(author, RIGHT[author]).ok


WRONG = {
    "only the use in the sum": (SHARED, "dx, dy = g * x, g * x", "wrong value"),
    "only the direct use": (SHARED, "dx, dy = g * (x + y), g * x", "wrong value"),
    "g forgotten": (SHARED, "dx, dy = 2 * x + y, x", "wrong value"),
    "summed": (SHARED, "dx, dy = np.sum(g * (2 * x + y)), g * x", "wrong shape"),
    "the wrong way round": (SHARED, "dy, dx = g * (2 * x + y), g * x", "wrong value"),
    "only one gradient": (SHARED, "return g * (2 * x + y)", "wrong type"),
    "nothing returned": (SHARED, "return None", "wrong type"),
    "words": (SHARED, "dx, dy = 'twice', 'once'", "wrong type"),
    "a misspelled name": (SHARED, "dx, dy = g * (2 * X + y), g * x", "error"),
    "an exit": (SHARED, "raise SystemExit", "error"),
    "x overwritten": (SHARED, "dy = g * x; x *= 2; dx = g * (x + y)", "changed input"),
    "not a number": (SHARED, "dx, dy = g * np.nan, g * x", "wrong value"),
    "no sum at all": (BROADCAST, "dx, dy = g, g", "wrong shape"),
    "everything summed": (BROADCAST, "dx, dy = g.sum(), g.sum()", "wrong shape"),
    "the mean": (BROADCAST, "dx, dy = g, g.mean(axis=0)", "wrong value"),
}


@pytest.mark.parametrize("author, body, mistake", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_told_from_a_right_one(author, body, mistake):
    name = solved(author)[1][0][1].name
    source = f"import numpy as np\ndef {name}(x, y, g):\n    {body}\n    return dx, dy"

    result = check(author, source)

    assert not result.ok
    assert mistake in {row.verdict for row in result.rows}


def test_a_wrong_answer_does_not_pass_the_grading_run():
    wrong = "shared_input_backward = lambda x, y, g: (g * (x + y), g * x)"

    verdict = run_nbval(answered(SHARED, wrong))

    assert not verdict.passed
    assert "shared_input_backward: 3 of 6 gradients are right" in verdict.report


def answered(author, answer):
    """The author's notebook with this answer."""
    notebook = read_notebook(author)
    return with_answers(notebook, {cell.id: answer for cell in notebook.cells})


# --------------------------------------------------------------------------- nbgrader

# as the command nbgrader, twice in one process, and each time seconds faster: see notebook_format.py
NBGRADER = """
import minigrad.utils.notebook_format, sys
from nbgrader.apps.nbgraderapp import NbGraderApp
for words in ["validate", sys.argv[1]], ["generate_assignment", "reverse_mode", "--create"]:
    NbGraderApp.launch_instance(words)
    NbGraderApp.clear_instance()
"""


@pytest.mark.skipif(find_spec("nbgrader") is None, reason="nbgrader is not installed")
def test_nbgrader_validates_and_releases_an_exercise_as_it_is(tmp_path):
    author = SHARED
    source = tmp_path / "source" / "reverse_mode"
    source.mkdir(parents=True)
    shutil.copy(author, source)
    beside = Path(sys.executable).parent  # nbgrader calls a command of another package, alembic

    done = subprocess.run(
        [sys.executable, "-c", NBGRADER, source / author.name],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        encoding="utf-8",
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success! Your notebook passes all the tests." in done.stdout + done.stderr
    theirs = read_notebook(tmp_path / "release" / "reverse_mode" / author.name)
    ours = read_notebook(release(author, tmp_path / "ours")).cells
    assert ours.pop(1).source.startswith("*What is graded: your answer cells")
    assert [c.source.strip() for c in theirs.cells] == [c.source.strip() for c in ours]
