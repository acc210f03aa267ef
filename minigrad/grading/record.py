"""Run one submission, and write down what it says. The only place where students' code runs.

While it runs, no solution and no expected value is on this side: only the recording bundle. For
each question a new kernel is started in the sandbox; it runs the given cells, the student's
answer cells of that question, and then a check cell that is made here, with inputs that did not
exist before, which calls what the student wrote and publishes the results. Then it is killed.

So questions cannot disturb each other, what ends one kernel costs one question, and two runs
of the same submission with the same seed say the same.

    record(recording, content, ...)    the answers, as a JSON document
"""

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minigrad.grading.answers import collect
from minigrad.grading.bundles import Recording
from minigrad.grading.inputs import MIME, Drawn, check_cell
from minigrad.grading.questions import Question
from minigrad.grading.sandbox.launch import Limits, Process, Tier
from minigrad.grading.sandbox.wire import CellRun, Kernel, NotStarted
from minigrad.grading.submission import Found, Unreadable, find_answers
from minigrad.version import __version__

FORMAT = "minigrad-answers-1"

ENDS = {
    "died": "it ended the kernel",
    "time": "it was not done in {seconds:g} s",
    "messages": "it published too many messages",
    "bytes": "it printed or published too much",
    "disk": "it wrote too much to the disk",
    "nonsense": "it did not behave like a kernel",
}


@dataclass(frozen=True)
class Place:
    """Where students' code runs.

    tier      which isolation holds here
    images    engine -> folder of the packages that a kernel sees
    """

    tier: Tier
    images: dict[bool, Path]
    versions: dict[str, str]


def record(
    recording: Recording,
    content: bytes,
    place: Place,
    seed: str,
    drawn: Drawn,
    limits: Limits | None = None,
    progress: Callable[[str], None] = lambda question: None,
) -> dict[str, Any]:
    """The answers of a submission to all questions; `drawn` are the inputs of this seed.

    Raises NotStarted if a kernel could not be started, twice: no fault of the submission.
    """
    limits = limits or Limits()
    submission = hashlib.sha256(content).hexdigest()
    document = unrecorded(recording, submission, seed, place.tier, limits, None)
    document["versions"].update(place.versions)
    try:
        found = find_answers(recording, content)
    except Unreadable as error:
        document["unreadable"] = str(error)
        return document
    document.update(notes=found.notes, guessed=found.guessed, missing=found.missing)
    ends = time.monotonic() + limits.submission
    for question in recording.questions:
        progress(question.id)
        document["questions"][question.id] = _question(
            recording, question, found, place, drawn, limits, ends
        )
    return document


def unrecorded(
    recording: Recording,
    submission: str,
    seed: str,
    tier: str,
    limits: Limits,
    reason: str | None,
) -> dict[str, Any]:
    """An answers document without answers, and the reason why there are none."""
    return {
        "format": FORMAT,
        "exercise": recording.name,
        "recording": recording.hash,
        "submission": submission,
        "seed": seed,
        "isolation": tier,
        "limits": limits.as_dict(),
        "versions": {"minigrad": __version__, "machine": platform.machine()},
        "unreadable": reason,
        "notes": [],
        "guessed": [],
        "missing": [],
        "questions": {},
    }


def _question(
    recording: Recording,
    question: Question,
    found: Found,
    place: Place,
    drawn: Drawn,
    limits: Limits,
    ends: float,
) -> dict[str, Any]:
    """One question in a kernel of its own."""
    said: dict[str, Any] = {"end": "idle", "reason": None, "answers": {}, "notes": []}
    sources = [found.sources.get(a, "") for a in question.answers]
    if not any(source.strip() for source in sources):
        said.update(end="missing", reason="there is no answer")
        return said
    if time.monotonic() >= ends:
        said.update(
            end="time", reason=f"the submission's {limits.submission:g} s were used up before"
        )
        return said
    for attempt in (1, 2):
        try:
            return _in_a_kernel(
                recording, question, sources, found, place, drawn, limits, ends, said
            )
        except NotStarted:
            if attempt == 2:
                raise
    raise AssertionError


def _in_a_kernel(
    recording: Recording,
    question: Question,
    sources: list[str],
    found: Found,
    place: Place,
    drawn: Drawn,
    limits: Limits,
    ends: float,
    said: dict[str, Any],
) -> dict[str, Any]:
    steps = [(f"the given cell {g}", recording.sources[g], False) for g in question.given]
    steps += [(f"the answer {a}", s, True) for a, s in zip(question.answers, sources) if s.strip()]
    seconds = question.seconds or limits.cell
    check = check_cell(question, drawn)
    problem = None
    with Process(place.tier, place.images[question.engine], limits) as process:
        with Kernel(process) as kernel:
            ends = min(ends, time.monotonic() + limits.question)
            for what, source, own in steps:
                # given cells are ours, and run before the student's: they may take their time
                given = limits.cell if own else limits.start
                run = kernel.run(source, min(ends, time.monotonic() + given))
                if run.end != "idle":
                    return _ended(said, run, what, given)
                if run.error is not None and (own or problem is None):
                    problem = f"{what}: {run.error}"
            run = kernel.run(check, min(ends, time.monotonic() + seconds))
    published = [data[MIME] for data in run.published if MIME in data]
    if run.end == "died":
        published = []  # how much of it got out before the end is chance, and a grade is not
    said["answers"], said["notes"] = collect(published, _expected(question, drawn))
    if run.end != "idle":
        _ended(said, run, "the check of it", seconds)
    elif problem is not None:
        said["reason"] = problem
    elif run.error is not None:
        said["reason"] = f"the check of it: {run.error}"
    said["notes"] += _helpers(said, found)
    return said


def _ended(said: dict[str, Any], run: CellRun, what: str, seconds: float) -> dict[str, Any]:
    said["end"] = run.end
    said["reason"] = f"{what}: {ENDS[run.end].format(seconds=seconds)}"
    return said


def _expected(question: Question, drawn: Drawn) -> list[str]:
    """The ids of the results, and of the inputs as they are after the call."""
    inputs = [
        f"{question.id}/{n}/input {name}"
        for n, case in enumerate(drawn[question.id], 1)
        for name, value in case["inputs"].items()
        if "data" in value
    ]
    return [*question.ids, *inputs]


def _helpers(said: dict[str, Any], found: Found) -> list[str]:
    """A name that is missing because it is defined in a cell that is not graded."""
    errors = [a["error"] for a in said["answers"].values() if "error" in a]
    errors += [said["reason"] or ""]
    return [
        f"{name} is defined in a cell that is not graded; it belongs into the answer cell"
        for name in found.elsewhere
        if any(f"NameError: name '{name}' is not defined" in error for error in errors)
    ]
