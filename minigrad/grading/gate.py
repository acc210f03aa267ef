"""Is it right? nbval runs a notebook against the outputs that its author stored.

    run_nbval   run one notebook: did every cell give the stored output?
    grade       a submission: its answers, in the author's notebook, run by nbval
    gate        may this exercise be released? The solution must pass and the stub must not
    gate_bundles    and may it be graded? Full marks for the solution and other right answers, none
                for the stub, and less for every wrong answer that the author has thought of

A notebook runs in a fresh, empty folder, with a time limit for each cell. The student's
code runs in a kernel of the same user: this is for learning and for building the
exercises, and is no protection against somebody who wants to cheat.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.assemble import assemble
from minigrad.grading.bundles import Judge, Recording
from minigrad.grading.inputs import draw_inputs
from minigrad.grading.judge import judge
from minigrad.grading.place import place_here
from minigrad.grading.record import record
from minigrad.grading.release import (
    Notebook,
    ReleaseError,
    check_author,
    read_notebook,
    release,
    student_notebook,
)
from minigrad.grading.sandbox.selftest import NoSandbox
from minigrad.utils.notebook_format import nbformat

# Beside its text, a tensor shows the chain of operations that it came from. A right answer may
# come another way, so of a tensor the text alone is compared.
SANITIZE = """\
[tensor]
regex: (?s)<div class="minigrad-tensor">.*
replace: a tensor, see its text
"""


class GateError(ReleaseError):
    """The solution does not pass its own checks, or the untouched starter does."""


class NbvalDidNotRun(RuntimeError):
    """pytest or nbval could not do their work: this says nothing about the notebook."""


@dataclass(frozen=True)
class Verdict:
    """passed   did every cell give the output that the author stored?
    report   what pytest printed
    notes    what was unusual about the submission, in words
    """

    passed: bool
    report: str
    notes: tuple[str, ...] = ()


def run_nbval(notebook: Notebook, *, seconds_per_cell: float = 60) -> Verdict:
    """Run a notebook under nbval in this interpreter's environment.

    Raises NbvalDidNotRun if pytest ends with anything but passed or failed.
    """
    with tempfile.TemporaryDirectory(prefix="minigrad-") as folder:
        place = Path(folder)
        # no settings of the surrounding project
        (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (place / "sanitize.cfg").write_text(SANITIZE, encoding="utf-8")
        nbformat.write(notebook, place / "submission.ipynb")
        command = [
            *(sys.executable, "-P", "-m", "pytest", "-c", "pytest.ini", "-p", "no:cacheprovider"),
            *("-p", "minigrad.utils.notebook_format", "-p", "nbval.plugin", "--nbval"),
            *("--nbval-current-env", f"--nbval-cell-timeout={seconds_per_cell:g}"),
            "--nbval-sanitize-with=sanitize.cfg",
            *("--color=no", "-q", "submission.ipynb"),
        ]
        done = subprocess.run(
            command,
            cwd=place,
            # nor any other plugin: each takes time to load, and may change what is done
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    if done.returncode not in (0, 1):  # 1: tests ran, and some failed
        raise NbvalDidNotRun(
            f"pytest ended with status {done.returncode}.\n{done.stdout}{done.stderr}"
        )
    return Verdict(done.returncode == 0, done.stdout)


def grade(author: str | Path, submission: str | Path) -> Verdict:
    """Run a submission's answers in the author's notebook. A missing answer does not pass."""
    assembled = assemble(author, submission)
    verdict = run_nbval(assembled.notebook)
    passed = verdict.passed and not assembled.missing
    return Verdict(passed, verdict.report, assembled.notes)


def gate(author: str | Path) -> None:
    """Run the author's solution and the untouched starter: the one must pass, the other fail.

    Raises GateError, with what nbval reported, if it is otherwise.
    """
    author = Path(author)
    notebook = read_notebook(author)
    check_author(notebook, author.name)
    solution = run_nbval(notebook)
    if not solution.passed:
        raise GateError(
            f"{author.name}: the solution does not pass its own checks. To fix it, correct it, "
            f"run the notebook from top to bottom and save it.\n{solution.report}"
        )
    with tempfile.TemporaryDirectory(prefix="minigrad-") as folder:
        starter = grade(author, release(author, folder))
    if starter.passed:
        raise GateError(
            f"{author.name}: the untouched starter passes, so the checks tell nothing. To fix it, "
            "add a check cell whose output depends on the answer."
        )


def gate_bundles(author: str | Path, recording: Recording, bundle: Judge) -> int:
    """Grade the solution, the untouched starter, and the author's right and wrong answers.

    Gives the number of wrong answers that were tried. They are the author's own, so they run in
    whatever isolation there is.

    Raises GateError, with the reasons, if one of them gets other points than it should.
    """
    author = Path(author)
    notebook = read_notebook(author)
    try:
        place = place_here("auto", recording.engine, recording.packages)
    except NoSandbox:
        place = place_here("none", recording.engine, recording.packages)
    tried: list[tuple[str, str, Notebook]] = [
        ("the solution", "all", notebook),
        ("the untouched starter", "none", student_notebook(notebook)),
    ]
    for question in bundle.questions:
        for expected, variants in (("all", question.right), ("less", question.wrong)):
            for n, source in enumerate(variants, 1):
                changed = copy.deepcopy(notebook)
                for cell in changed.cells:
                    if cell.id == question.answers[-1]:
                        cell.source = source
                name = "right" if expected == "all" else "wrong"
                tried.append((f"{name} answer {n} of {question.id}", expected, changed))
    drawn = draw_inputs(recording.questions, recording.sources, "gate")
    answers = [
        record(recording, json.dumps(each).encode(), place, "gate", drawn) for _, _, each in tried
    ]
    for (name, expected, _), grade in zip(tried, judge(bundle, answers, explain=False)):
        points, of = grade["points"], grade["of"]
        if {"all": points == of, "none": points == 0, "less": points < of}[expected]:
            continue
        reasons = "\n".join(
            f"    {q['id']}: {q['reason']}" for q in grade["questions"] if q["reason"]
        )
        wanted = {"all": "all of them", "none": "none", "less": "fewer"}[expected]
        raise GateError(
            f"{author.name}: {name} gets {points:g} of {of:g} points, and should get {wanted}.\n{reasons}"
        )
    return sum(expected == "less" for _, expected, _ in tried)
