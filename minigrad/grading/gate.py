"""Check an exercise before it is released, by running it.

    run_nbval       run one notebook: did every cell reproduce its stored output?
    gate            may it be released? The solution must pass, the stub must fail
    gate_bundles    can it be graded? The solution and the author's other right answers must get full
                    marks, the stub none, and each of the author's wrong answers less than full marks

A notebook runs in a fresh, empty folder, with a time limit for each cell. nbval runs it without a
sandbox, as the current user: it is the author's notebook, not a student's.
"""

import copy
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.documents import AnswersDocument, Drawn, answers_to
from minigrad.grading.judge.grades import judge
from minigrad.grading.release import student
from minigrad.grading.release.bundles import Judge, Recording
from minigrad.grading.release.check_cell import draw_inputs
from minigrad.grading.release.markers import ReleaseError
from minigrad.grading.run.record import job_of, record_submission
from minigrad.grading.sandbox.choose import NoSandbox, choose_sandbox
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.trusted import run_pytest
from minigrad.utils.notebook_format import nbformat

# The HTML of a tensor shows the chain of operations that computed it. A right answer may use other
# operations, so for a tensor only the text output is compared.
SANITIZE = """\
[tensor]
regex: (?s)<div class="minigrad-tensor">.*
replace: a tensor, see its text
"""

# An answer that is only the name of something given
GIVEN = re.compile(r"\w+ = [a-zA-Z_][\w.]*(\(\))?")
CALLABLE = (
    "Answers can call it, because a given cell defines it. To fix it, write "
    '"minigrad": {"check": true} into the metadata of that cell.'
)
HINTS = {
    "answers are graded without": 'To fix it, name the package in "packages", in the metadata of the check cell.',
    "FileNotFoundError": "It runs in an empty folder. To fix it, write the data into a given cell.",
}
NO_KERNEL = ("Kernel didn't respond in", "Kernel died before replying")  # jupyter_client's


class GateError(ReleaseError):
    """The solution does not pass its own checks, or the untouched starter does."""


class NbvalDidNotRun(RuntimeError):
    """pytest or nbval failed to run, so nothing is known about the notebook."""


@dataclass(frozen=True)
class NbvalReport:
    """passed   did every cell reproduce the output that the author stored?
    report   what pytest printed
    """

    passed: bool
    report: str


def run_nbval(notebook: student.Notebook) -> NbvalReport:
    """Run a notebook under nbval in this interpreter's environment.

    If the kernel does not start, as happens on a busy machine, the notebook is run once more.

    Raises NbvalDidNotRun if it does not start then either, or if pytest ends with a status other
    than passed or failed.
    """
    with tempfile.TemporaryDirectory(prefix="minigrad-") as name:
        folder = Path(name)
        (folder / "sanitize.cfg").write_text(SANITIZE, encoding="utf-8")
        nbformat.write(notebook, folder / "submission.ipynb")
        for _ in range(2):
            options = ("--nbval", "--nbval-cell-timeout=60", "--nbval-sanitize-with=sanitize.cfg")
            done = run_pytest(folder, *options, "submission.ipynb")
            no_kernel = [words for words in NO_KERNEL if words in done.stdout]
            if not no_kernel:
                break
    if no_kernel:
        raise NbvalDidNotRun(
            f"The notebook could not be run. Its kernel did not start ({no_kernel[0]} ...). To fix it, find out "
            f"why this command fails:\n    {sys.executable} -m ipykernel"
        )
    if done.returncode not in (0, 1):  # 1: some tests failed
        raise NbvalDidNotRun(
            f"The notebook could not be run. pytest ended with status {done.returncode}.\n{done.stdout}{done.stderr}"
        )
    return NbvalReport(done.returncode == 0, done.stdout)


def with_answers(author: student.Notebook, answers: Mapping[str, str]) -> student.Notebook:
    """A copy of the author's notebook with these sources in its answer cells, by cell id."""
    notebook = copy.deepcopy(author)
    for cell in notebook.cells:
        if student.is_answer(cell):
            cell.source = answers.get(cell.id, cell.source)
    return notebook


def gate(author: str | Path) -> None:
    """Run the author's solution, which must pass, and the untouched starter, which must fail.

    Raises GateError with nbval's report otherwise.
    """
    author = Path(author)
    notebook = student.read_notebook(author)
    released = student.checked_student_notebook(notebook, author.name)
    manual = {cell.id for cell in notebook.cells if student.is_manual(cell)}
    # for manual questions, a person sees that the answer is missing
    starter = with_answers(notebook, {c.id: c.source for c in released.cells if c.id not in manual})
    with ThreadPoolExecutor() as both:
        solution, untouched = both.map(run_nbval, (notebook, starter))
    if not solution.passed:
        raise GateError(
            f"{author.name}: the solution does not pass its own checks. To fix it, correct the cell below, "
            f"run the notebook from top to bottom and save it.\n{solution.report}{_hints(solution.report)}"
        )
    graded = {c.id for c in notebook.cells if student.metadata_of(c, "nbgrader").get("grade")}
    # if a person marks every graded cell, no automatic check is required
    if untouched.passed and not (manual and graded <= manual):
        raise GateError(
            f"{author.name}: the untouched starter passes, so the checks test nothing. To fix it, "
            "add a check cell whose output depends on the answer."
        )


def gate_bundles(author: str | Path, recording: Recording, bundle: Judge) -> dict[str, list[str]]:
    """Grade the solution, the untouched starter, and the author's right and wrong answers.

    Returns the inputs that a solution changes in place, for each question where it does. All of this is
    the author's code, so it runs in whatever isolation is available, even none.

    Raises GateError, with the reasons, if one of them does not get the points that it should.
    """
    if not bundle.questions:  # a person marks all of it
        return {}
    author = Path(author)
    notebook = student.read_notebook(author)
    stubs = {cell["id"]: cell["source"] for cell in recording.cells}
    # (description, the points it should get, sources of its answer cells)
    tried: list[tuple[str, str, dict[str, str]]] = [("the solution", "all of them", {})]
    tried.append(("the untouched starter", "none", stubs))
    for question in bundle.questions:
        last = question.answers[-1]
        for n, source in enumerate(question.right, 1):
            tried.append((f"right answer {n} of {question.id}", "all of them", {last: source}))
        for n, source in enumerate(question.wrong, 1):
            tried.append((f"wrong answer {n} of {question.id}", "fewer", {last: source}))
    try:
        sandbox = choose_sandbox("auto", recording.engine, recording.packages)
    except NoSandbox:
        sandbox = choose_sandbox("none", recording.engine, recording.packages)
    job = job_of(recording, "gate", sandbox.tier, Limits())
    job["drawn"] = draw_inputs(recording.questions, recording.sources, "gate")
    contents = [json.dumps(with_answers(notebook, each)).encode() for _, _, each in tried]
    with ThreadPoolExecutor(os.cpu_count()) as several:  # each thread waits for its own process
        answers = list(several.map(lambda c: record_submission(job, c, sandbox), contents))
    for (name, wanted, sources), grade in zip(tried, judge(bundle, answers, explain=False)):
        points, of = grade["points"], grade["of"]
        if not {"all of them": points == of, "none": points == 0, "fewer": points < of}[wanted]:
            lost = [question for question in grade["questions"] if question["reason"]]
            why = [f"{q['id']}: {q['reason']}" for q in lost]
            if wanted == "fewer":
                why = [line for source in sources.values() for line in source.splitlines()]
                why += [CALLABLE] if GIVEN.fullmatch("\n".join(why)) else []
            reasons = "\n".join(f"    {line}" for line in why)
            raise GateError(
                f"{author.name}: {name} gets {points:g} of {of:g} points, but should "
                f"get {wanted}.\n{reasons}{_hints(reasons)}"
            )
    changed = {q.id: _changed(q.id, answers[0], job["drawn"]) for q in bundle.questions}
    return {q: names for q, names in changed.items() if names}


def _hints(report: str) -> str:
    """What the author can do about the errors in a report."""
    return "".join(f"\n{hint}" for error, hint in HINTS.items() if error in report)


def _changed(question: str, solution: AnswersDocument, drawn: Drawn) -> list[str]:
    """The inputs of a question that its solution changes in place."""
    after = answers_to(question, solution)
    pairs = [
        (f"{question}/{n}/input {name}", name, value)
        for n, case in enumerate(drawn[question], 1)
        for name, value in case["inputs"].items()
    ]
    return [*{name: None for key, name, value in pairs if after.get(key, value) != value}]
