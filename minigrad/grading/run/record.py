"""Run one submission, and write down what it says. The only place where students' code runs.

While it runs, no solution and no expected value is on this side: only the recording bundle. For
each question a new kernel is started in the sandbox; it runs the given cells, the student's
answer cells of that question with what they take along (carried.py), and then a check cell that
is made here, with inputs that did not exist before, which calls what the student wrote and
publishes the results. Then it is killed.

So questions cannot disturb each other, what ends a kernel (twice) ends one question, and two runs
of the same submission with the same seed say the same.

    record_submission(recording, content, ...)    the answers, as a JSON document
"""

import hashlib
import platform
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.answers import collect
from minigrad.grading.documents import AnswersDocument, Drawn, QuestionAnswers
from minigrad.grading.release.bundles import Recording
from minigrad.grading.release.check_in_kernel import MIME
from minigrad.grading.release.inputs import check_cell
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.syntax import without_import
from minigrad.grading.run.carried import Carried, carried_with
from minigrad.grading.run.differences import is_by_differences
from minigrad.grading.run.notebook import Unreadable
from minigrad.grading.run.submission import Found, find_answers
from minigrad.grading.sandbox.launch import Limits, Process, Tier
from minigrad.grading.sandbox.wire import CellRun, Kernel, NotStarted
from minigrad.version import __version__

TAKEN = "the code that the answer uses from other cells"
ABSENT = re.compile(r"ModuleNotFoundError: No module named '(\w{1,40})[.']")  # of a plot, mostly
MOST_NOTES = 20
ENDS = {
    "died": "ended the kernel",
    "time": "did not finish in {seconds:g} s. Is there a loop that never ends?",
    "messages": "published too many messages",
    "bytes": "printed or published too much",
    "disk": "wrote too much to the disk",
    "nonsense": "did not behave like a kernel",
}


@dataclass(frozen=True)
class SandboxPlace:
    """Where students' code runs.

    tier      which isolation holds here
    images    engine -> folder of the packages that a kernel sees
    """

    tier: Tier
    images: dict[bool, Path]
    versions: dict[str, str]


def record_submission(
    recording: Recording,
    content: bytes,
    place: SandboxPlace,
    seed: str,
    drawn: Drawn,
    limits: Limits | None = None,
) -> AnswersDocument:
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
    document["notes"] = found.notes
    document["guessed"], document["missing"] = found.guessed, found.missing
    ends = time.monotonic() + limits.submission
    run = _Run(recording, found, place, drawn, limits, ends)
    document["questions"] = {q.id: run.answers_to(q) for q in recording.questions}
    for question in recording.questions:
        if is_by_differences(run.source_of(question), question.call):
            document["guessed"].append(question.answers[-1])
            document["notes"].append(
                f"the answer {question.answers[-1]} looks like finite differences: please confirm"
            )
    return document


def unrecorded(
    recording: Recording,
    submission: str,
    seed: str,
    tier: str,
    limits: Limits,
    reason: str | None,
) -> AnswersDocument:
    """An answers document without answers, and the reason why there are none."""
    return {
        "format": "minigrad-answers-1",
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


@dataclass(frozen=True)
class _Run:
    """One submission while it is recorded.

    found      the answers
    ends       when its time is up
    """

    recording: Recording
    found: Found
    place: SandboxPlace
    drawn: Drawn
    limits: Limits
    ends: float

    def answers_to(self, question: GradedQuestion) -> QuestionAnswers:
        """Run one question in a kernel of its own.

        One that does not start is tried again, and so is one that dies: a machine without memory left
        kills whom it likes, and only what kills two in a row is the answer's doing.
        """
        if not any(self.found.sources.get(a, "").strip() for a in question.answers):
            return _nothing("missing", "there is no answer")
        if time.monotonic() >= self.ends:
            seconds = f"{self.limits.submission:g} s"
            return _nothing("time", f"earlier questions used all {seconds} of this submission")
        with suppress(NotStarted):
            first = self._in_a_kernel(question)
            if first["end"] != "died":
                return first
        return self._in_a_kernel(question)

    def _in_a_kernel(self, question: GradedQuestion) -> QuestionAnswers:
        problem = None
        carried = self._carried(question)
        notes = carried.notes
        seconds = question.seconds or self.limits.cell
        check = check_cell(question, self.drawn)
        image = self.place.images[question.engine]
        with Process(self.place.tier, image, self.limits) as process, Kernel(process) as kernel:
            ends = min(self.ends, time.monotonic() + self.limits.question)
            for what, source, own in self._cells(question, carried):
                # given cells are ours, and run before the student's: they may take their time
                given = self.limits.cell if own else self.limits.start
                run = kernel.run(source, min(ends, time.monotonic() + given))
                while own and run.end == "idle" and (absent := ABSENT.match(run.error or "")):
                    source = without_import(source, absent[1])
                    if not source or len(notes) > MOST_NOTES:
                        break
                    notes.append(f"{what}: {absent[1]} is not here, so its import was left out")
                    run = kernel.run(source, min(ends, time.monotonic() + given))
                if run.end != "idle":
                    return _nothing(run.end, _why(run, what, given))
                if run.error is not None and what == TAKEN:
                    notes.append(f"{what}: {run.error}")
                elif run.error is not None and (own or problem is None):
                    problem = f"{what}: {run.error}"
            run = kernel.run(check, min(ends, time.monotonic() + seconds))
        published = [data[MIME] for data in run.published if MIME in data]
        if run.end == "died":
            published = []  # how much of it got out before the end is chance, and a grade is not
        answers, more = collect(published, _expected(question, self.drawn))
        reason = problem
        if run.end != "idle":
            reason = _why(run, "the check", seconds)
        elif problem is None and run.error is not None:
            reason = f"the check: {run.error}"
        return {"end": run.end, "reason": reason, "answers": answers, "notes": notes + more}

    def _cells(self, question: GradedQuestion, carried: Carried) -> list[tuple[str, str, bool]]:
        """What is run before the check: how it is called, its source, is it the student's?"""
        given = self.recording.sources
        answers = [(a, self.found.sources.get(a, "")) for a in question.answers]
        return [
            *((TAKEN, source, True) for source in carried.imports),
            *((f"the given cell {g}", given[g], False) for g in question.given),
            *((TAKEN, source, True) for source in carried.above),
            *((f"the answer {a}", source, True) for a, source in answers if source.strip()),
            *((TAKEN, source, True) for source in carried.below),
        ]

    def source_of(self, question: GradedQuestion) -> str:
        """What of a student's is run for a question, in one."""
        carried = self._carried(question)
        return "\n".join((*carried.above, self._answer(question), *carried.below))

    def _answer(self, question: GradedQuestion) -> str:
        return "\n".join(self.found.sources.get(a, "") for a in question.answers)

    def _carried(self, question: GradedQuestion) -> Carried:
        """What the answers to a question take along."""
        own = {place for a in question.answers for place in self.found.places.get(a, ())}
        return carried_with(
            self._answer(question),
            [cell for cell in self.found.cells if cell.place not in own],
            self.recording.cells,
            [self.recording.sources[g] for g in question.given],
        )


def _nothing(end: str, reason: str) -> QuestionAnswers:
    return {"end": end, "reason": reason, "answers": {}, "notes": []}


def _why(run: CellRun, what: str, seconds: float) -> str:
    """Why a cell did not come to its end."""
    how = f" ({run.error})" if run.end == "died" and run.error else ""
    return f"{what} {ENDS[run.end].format(seconds=seconds)}{how}"


def _expected(question: GradedQuestion, drawn: Drawn) -> list[str]:
    """The ids of the results, and of the inputs as they are after the call."""
    inputs = [
        f"{question.id}/{n}/input {name}"
        for n, case in enumerate(drawn[question.id], 1)
        for name, value in case["inputs"].items()
        if "data" in value
    ]
    return [*question.ids, *inputs]
