"""Every exercise: its solution passes, its untouched starter fails, and mistakes are told."""

from pathlib import Path

import nbformat
import pytest

from minigrad.grading.gate import gate, grade, run_nbval
from minigrad.grading.release import is_answer, read_notebook, release

EXERCISES = Path(__file__).parent.parent / "exercises"
AUTHORS = sorted(EXERCISES.glob("*/*.ipynb"))
SHARED = EXERCISES / "reverse_mode" / "01_shared_input.ipynb"
BROADCAST = EXERCISES / "reverse_mode" / "02_broadcast_add.ipynb"

every_exercise = pytest.mark.parametrize(
    "author", AUTHORS, ids=lambda p: f"{p.parent.name}/{p.stem}"
)


@every_exercise
def test_the_solution_passes_and_the_untouched_starter_fails(author):
    gate(author)  # raises GateError otherwise


@every_exercise
def test_the_starter_fails_when_pytest_runs_it_as_it_is(author, tmp_path):
    starter = read_notebook(release(author, tmp_path))

    verdict = run_nbval(starter)

    assert not verdict.passed
    assert "0 of 1 public checks are right" in verdict.report


@every_exercise
def test_the_starter_says_what_is_to_be_done(author, tmp_path):
    result = check(release(author, tmp_path))

    assert [row.verdict for row in result.rows] == ["not written"]


def check(notebook, answer=None):
    """Run the cells of an exercise here, with an answer of our own; give the check's result."""
    namespace = {}
    for cell in read_notebook(notebook).cells:
        source = answer if answer is not None and is_answer(cell) else cell.source
        if cell.cell_type == "code" and source != "exercise.check().or_raise()":
            exec(source, namespace)
    return eval("exercise.check()", namespace)


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
def test_a_right_answer_written_differently_passes(author, tmp_path):
    assert check(author, RIGHT[author]).ok
    assert grade(author, submitted(author, RIGHT[author], tmp_path)).passed


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
    name = check(author).name
    source = f"import numpy as np\ndef {name}(x, y, g):\n    {body}\n    return dx, dy"

    result = check(author, source)

    assert not result.ok
    assert mistake in {row.verdict for row in result.rows}


def test_a_wrong_answer_does_not_pass_the_grading_run(tmp_path):
    wrong = "shared_input_backward = lambda x, y, g: (g * (x + y), g * x)"

    verdict = grade(SHARED, submitted(SHARED, wrong, tmp_path))

    assert not verdict.passed
    assert "shared_input_backward: 3 of 6 public checks are right" in verdict.report


def submitted(author, answer, folder):
    """A student's notebook with this answer."""
    path = release(author, folder)
    notebook = read_notebook(path)
    for cell in notebook.cells:
        if is_answer(cell):
            cell.source = answer
    nbformat.write(notebook, path)
    return path
