"""Every exercise of the course can be graded, and gives the points that it should.

A class of submissions is made from the notebook that students get: the author's solution, the
untouched starter, and every wrong answer that the author has thought of. They go through `record` and
`judge`, in the strongest sandbox that there is here. One exercise of each theme by default; with
MINIGRAD_SLOW=1 all of them, and with attacks that fit any exercise.
"""

import copy
import json
import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from minigrad.grading.answers import encoded
from minigrad.grading.judge.compare import judge_question
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.release.check_cell import draw_inputs
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.student import is_answer, read_notebook, student_notebook
from minigrad.grading.release.syntax import defined_names
from minigrad.teach import question as teach
from tests.test_exercises import AUTHORS, EXERCISES, THEMES, name_of
from tests.test_exercises import run as run_here

pytest.importorskip("minigrad.grading.sandbox.choose")

from minigrad.grading.run.record import job_of, record_submission
from minigrad.grading.sandbox.choose import NoSandbox, choose_sandbox
from minigrad.grading.sandbox.launch import Limits

FIRST = [next(a for a in AUTHORS if a.parent.name == theme) for theme in THEMES]
SLOW = bool(os.environ.get("MINIGRAD_SLOW"))
GRADED = AUTHORS if SLOW else FIRST

# Verdicts of a check in the notebook are no diagnoses: what a student is told then is the reason.
SAID = {
    "wrong value": ("wrong value", "NaN"),
    "wrong answer": "wrong value",
    "wrong shape": "shape",
    "changed input": "changed in place",
    "error": ": ",
    "too slow": "not finish in",
}

FORGED = """
from IPython.display import display

def forge():
    for what in {ids!r}:
        display({{"application/vnd.minigrad.answer+json": {{"id": what, "json": 0}}}}, raw=True)

forge()
"""
LOOKED_FOR = """
import gc

def find(*given):
    for thing in gc.get_objects():
        if str(type(thing).__module__).startswith("minigrad.teach"):
            for name in ("reference", "forward", "facts", "edges"):
                if hasattr(thing, name):
                    return getattr(thing, name)(*given)
    for name in {names!r}:
        if name in globals():
            return globals()[name](*given)
    raise LookupError("there is nothing to copy from")
"""


EQUAL = """
import numpy as np

class Sly(np.ndarray):
    def __eq__(self, other): return True

class Same(str):
    def __eq__(self, other): return True

class AllOfIt(dict):
    def get(self, *key): return Same("x")
"""


@dataclass
class Graded:
    """How the submissions to one exercise ended: by what was handed in, and for which question."""

    grades: dict[tuple[str, str], dict[str, Any]]
    kinds: dict[tuple[str, str], Any]  # of the author's wrong answers: for what, and what is told
    questions: list[GradedQuestion]
    of_author: list[str]  # the cells that count, in the author's notebook


@pytest.fixture(scope="module", params=GRADED, ids=name_of)
def graded(request):
    author = request.param
    recording, bundle = make_bundles(author)
    notebook = read_notebook(author)
    students = student_notebook(notebook)
    solution = {cell.id: cell.source for cell in notebook.cells if is_answer(cell)}
    wrongs = declared_wrongs(author)
    tried = {("solution", ""): solution, ("starter", ""): {}}
    kinds = {}
    for asked in bundle.questions:
        others = dict.fromkeys(solution, "") | {a: solution[a] for a in asked.answers}
        for n, source in enumerate(asked.wrong, 1):
            tried[f"wrong {n}", asked.id] = {**others, asked.answers[-1]: source}
        # a question with calls of its own has no exercise that could explain its values
        known = wrongs.get(called(asked, solution), ()) if asked.exercise else ()
        for n, wrong in enumerate(known, 1):
            kinds[f"wrong {n}", asked.id] = wrong
        tricks = attacks(asked, called(asked, solution), notebook) if SLOW else {}
        for name, source in tricks.items():
            tried[name, asked.id] = {**others, asked.answers[-1]: source}
    try:
        sandbox = choose_sandbox("auto", recording.engine, recording.packages)
    except NoSandbox:
        sandbox = choose_sandbox("none", recording.engine, recording.packages)
    job = job_of(recording, "course", sandbox.tier, Limits())
    job["drawn"] = draw_inputs(recording.questions, recording.sources, "course")
    files = [handed_in(students, cells) for cells in tried.values()]
    answers = [record_submission(job, content, sandbox) for content in files]
    grades = dict(zip(tried, judge(bundle, answers)))
    counting = [
        cell.metadata.nbgrader.grade_id
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    ]
    return Graded(grades, kinds, bundle.questions, counting)


def handed_in(students, cells):
    notebook = copy.deepcopy(students)
    for cell in notebook.cells:
        cell.source = cells.get(cell.id, cell.source)
    return json.dumps(notebook).encode()


def called(asked, solution):
    """The name of what the student writes."""
    names = defined_names(solution[asked.answers[-1]])
    return next(name for name in names if re.search(rf"\b{name}\b", asked.call))


def declared_wrongs(author):
    """What the student writes -> the wrong answers that the check itself is tried with."""
    before = dict(teach.DECLARED)
    try:
        exercises, _ = run_here(author)
    finally:
        teach.DECLARED.clear()
        teach.DECLARED.update(before)
    return {e.name: [(w.kind, told_here(e, w)) for w in e.wrongs] for e in exercises}


def told_here(exercise, wrong):
    """The kinds of mistake that the check in the notebook tells of a wrong answer."""
    return {d.kind for d in exercise.check(wrong.answer).diagnoses}


def attacks(asked, name, notebook):
    """Answers that do not answer, for any question."""
    written = next(cell.source for cell in notebook.cells if cell.id == asked.answers[-1])
    checks = [cell.source for cell in notebook.cells if cell.id in asked.checks]
    helpers = [n for source in checks for n in defined_names(source)]
    found = LOOKED_FOR.format(names=helpers)
    forged = FORGED.format(ids=asked.ids)
    if f"def {name}(" in written or f"class {name}" in written:
        begin = f"def {name}(*given, **settings):\n    "
        zeros = "(np.zeros(np.shape(given[0])).view(Sly),)" + f" * {len(asked.results)}"
        return {
            "forged": f"{forged}\n{begin}forge()",
            "looked for": f"{found}\n{begin}return find(*given)",
            "equal to all": f"{EQUAL}\n{begin}zeros = {zeros}\n"
            "    return zeros if len(zeros) > 1 else zeros[0]",
        }
    return {
        "forged": f"{forged}\n{name} = None",
        "looked for": f"{found}\n{name} = find()",
        "equal to all": f"{EQUAL}\n{name} = AllOfIt()",
    }


# ------------------------------------------------------------------ points


def test_the_solution_gets_full_marks_and_the_starter_none(graded):
    solution, starter = graded.grades["solution", ""], graded.grades["starter", ""]

    of = sum(q.points for q in graded.questions)
    assert solution["points"] == solution["of"] == of, solution["questions"]
    assert starter["points"] == 0, starter["questions"]


def test_every_wrong_answer_loses_points_for_the_reason_it_was_written_for(graded):
    amiss = []
    for (what, identity), grade in graded.grades.items():
        if not what.startswith("wrong"):
            continue
        (found,) = [q for q in grade["questions"] if q["id"] == identity]
        kind, here = graded.kinds.get((what, identity), (None, set()))
        told = [d["kind"] for d in found["diagnoses"]]
        words = SAID.get(kind, ())
        words = (words,) if isinstance(words, str) else words
        said = (
            any(w in (found["reason"] or "") for w in words) if words else {kind, *here} & set(told)
        )
        if found["points"] >= found["of"] or (kind is not None and not said):
            amiss.append((what, identity, kind, told, found["points"], found["reason"]))

    assert not amiss


@pytest.mark.skipif(not SLOW, reason="slow: set MINIGRAD_SLOW=1")
def test_an_invalid_answer_earns_nothing(graded):
    amiss = [
        (what, identity, q["points"], q["reason"])
        for (what, identity), grade in graded.grades.items()
        for q in grade["questions"]
        if q["id"] == identity and not what.startswith("wrong") and q["points"]
    ]

    assert not amiss


# ------------------------------------------------------------------ what can be asked


def test_every_graded_cell_can_be_graded(graded):
    assert [q.id for q in graded.questions] == graded.of_author
    for asked in graded.questions:
        assert asked.wrong, f"{asked.id}: no wrong answer is tried"
        assert all(compile(source, asked.id, "exec") for source in asked.wrong)


def test_an_answer_runs_without_the_cells_that_only_the_check_needs():
    recording, bundle = make_bundles(EXERCISES / "reverse_mode" / "11_release_of_the_graph.ipynb")

    asked = bundle.questions[1]
    assert asked.checks == ("release-of-the-graph-2-checking",)
    assert not set(asked.checks) & set(asked.given)
    assert "def reference" not in "".join(recording.sources[cell] for cell in asked.given)
    assert "def in_order" in "".join(recording.sources[cell] for cell in asked.given)


# ------------------------------------------------------------------ what is right by chance


@pytest.mark.parametrize("mine, ok", [([0.0, 2.0], False), ([1.0, 2.0], True)])
def test_zeros_count_only_if_another_case_is_right(mine, ok):
    asked = GradedQuestion("q", 2, "f(x)", ("y",), ({}, {}, {}))
    right = {"q/1/y": np.array([1.0, 2.0]), "q/2/y": np.zeros(2), "q/3/y": np.full(2, 1e-30)}
    answers = right | {"q/1/y": np.array(mine), "q/3/y": np.zeros(2)}
    as_said = [{identity: encoded(y) for identity, y in each.items()} for each in (answers, right)]

    verdicts = judge_question(asked, *as_said, [{"atol": []}] * 3)

    assert [verdicts[f"q/{n}/y"].ok for n in (1, 2, 3)] == [ok, ok, ok]
