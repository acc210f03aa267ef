"""Run one submission, and record its answers. This is the only place where students' code runs.

It works from the recording bundle alone, so no solution or expected value is present. For each
question, a new kernel starts in the sandbox. It runs the given cells, then the student's answer
cells with the statements they depend on (carried.py), and then a check cell, which calls the
student's code on freshly drawn inputs and publishes the results. Then the kernel is killed.

So questions cannot affect each other, a crash affects only its own question, and two runs of the
same submission with the same seed give the same answers.

    Job                   a submission, and how to run it
    record_submission     the answers, as a JSON document
"""

import platform
import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NotRequired, TypedDict

from minigrad.grading.answers import collect
from minigrad.grading.documents import AnswersDocument, Drawn, QuestionAnswers
from minigrad.grading.release.bundles import BundleDocument, Recording, label_of
from minigrad.grading.release.check_cell import MIME, check_cell
from minigrad.grading.release.differences import uses_finite_differences
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.syntax import imported_names, without_modules
from minigrad.grading.run.carried import Carried, find_carried
from minigrad.grading.run.notebook import Unreadable
from minigrad.grading.run.submission import Found, find_answers
from minigrad.grading.run.written import nothing_written, pictures_in, written_in
from minigrad.grading.sandbox.choose import Sandbox
from minigrad.grading.sandbox.launch import Limits, Process
from minigrad.grading.sandbox.wire import CellRun, Kernel, NotStarted
from minigrad.version import __version__

TAKEN = "the code that the answer uses from other cells"
WRITE = """\
__import__("os").makedirs(__import__("os").path.dirname({0!r}) or ".", exist_ok=True)
open({0!r}, "w", encoding="utf-8").write({1!r})
"""
# a missing module, mostly for plots; or the engine, whose stand-in can be imported but not used
ABSENT = re.compile(
    r"ModuleNotFoundError: No module named '(\w{1,40})[.']|.*(_Absent|the engine is not available)"
)
UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
MAX_ABSENT = 20  # modules that are not here, for one question
ENDS = {
    "died": "ended the kernel",
    "time": "did not finish in {seconds:g} s. Is there a loop that never ends?",
    "messages": "published too many messages",
    "bytes": "published too much",
    "disk": "wrote too much to the disk",
}


class Job(TypedDict):
    """One submission to record, and how to run it.

    submission   its SHA-256
    drawn        the inputs for the seed
    path         its file; None: the file's content is in the job, in base64
    isolation    a tier, or "auto" on a cluster, where each machine chooses its own
    """

    recording: BundleDocument
    submission: str
    seed: str
    isolation: str
    limits: dict[str, Any]  # the fields of Limits
    drawn: Drawn
    path: str | None
    content: NotRequired[str]


def job_of(recording: Recording, seed: str, isolation: str, limits: Limits, sha: str = "") -> Job:
    """A job that lacks its file and the inputs."""
    return {
        "recording": recording.data,
        "submission": sha,
        "seed": seed,
        "isolation": isolation,
        "limits": asdict(limits),
        "drawn": {},
        "path": None,
    }


def record_submission(job: Job, content: bytes, sandbox: Sandbox) -> AnswersDocument:
    """Record a submission's answers to all questions.

    Raises NotStarted if a kernel could not be started even at the second attempt.
    """
    recording, limits = Recording(job["recording"]), Limits(**job["limits"])
    document = unrecorded({**job, "isolation": sandbox.tier}, None)
    document["versions"].update(sandbox.versions)
    try:
        found = find_answers(recording, content)
    except Unreadable as error:
        document["unreadable"] = str(error)
        return document
    document["notes"], document["written"] = found.notes, written_in(recording, found)
    document["guessed"], document["pictures"] = found.guessed, pictures_in(recording, found)
    run = _Run(recording, found, sandbox, job["drawn"], limits, limits.submission)
    document["questions"] = {q.id: run.answers_to(q) for q in recording.questions}
    for question in recording.questions:
        if question.differences:
            continue
        if uses_finite_differences(run.source_of(question), question.call):
            answer = question.answers[-1]
            document["guessed"].append(answer)
            note = f"the answer {run.labels[answer]} looks like finite differences"
            document["notes"].append(f"{note}: please confirm")
    return document


def unrecorded(job: Job, reason: str | None, text: str = "") -> AnswersDocument:
    """An answers document without answers, with the reason why there are none.

    text    what the reports show in place of what the student wrote
    """
    recording = Recording(job["recording"])
    return {
        "format": "minigrad-answers-1",
        "exercise": recording.name,
        "recording": recording.hash,
        "submission": job["submission"],
        "seed": job["seed"],
        "isolation": job["isolation"],
        "limits": job["limits"],
        "versions": {"minigrad": __version__, "machine": platform.machine()},
        "unreadable": reason,
        "notes": [],
        "guessed": [],
        "questions": {},
        "written": nothing_written(recording, text),
    }


@dataclass
class _Run:
    """A submission that is being recorded.

    found      its answer cells
    left       seconds that remain for the whole submission; starting its kernels does not count
    """

    recording: Recording
    found: Found
    sandbox: Sandbox
    drawn: Drawn
    limits: Limits
    left: float

    def answers_to(self, question: GradedQuestion) -> QuestionAnswers:
        """Run one question in a new kernel.

        If the kernel does not start or dies, try once more: a machine that is out of memory may kill any
        process. Only if two kernels die in a row is the answer held responsible.
        """
        if not any(self.found.sources.get(a, "").strip() for a in question.answers):
            return _no_answers("missing", "there is no answer")
        if self.left <= 0:
            seconds = f"{self.limits.submission:g} s"
            return _no_answers("time", f"earlier questions used all {seconds} of this submission")
        with suppress(NotStarted):
            first = self._in_a_kernel(question)
            if first["end"] != "died":
                return first
        return self._in_a_kernel(question)

    def _in_a_kernel(self, question: GradedQuestion) -> QuestionAnswers:
        image = self.sandbox.images[question.engine]
        with Process(self.sandbox.tier, image, self.limits) as process, Kernel(process) as kernel:
            began = time.monotonic()
            recorded = self._run(question, kernel, began + min(self.left, self.limits.question))
            self.left -= time.monotonic() - began
        return recorded

    def _run(self, question: GradedQuestion, kernel: Kernel, ends: float) -> QuestionAnswers:
        """Run the cells of a question, and collect its answers. `ends` is a deadline on the monotonic clock."""
        problem: str | None = None
        ran: list[str] = []
        lacking: dict[str, None] = {}  # the modules that are not here, in order
        notes = self.carried[question.id].notes
        seconds = question.seconds or self.limits.cell
        check = check_cell(question, self.drawn)
        for what, source, own in self._cells(question):
            # given cells are trusted, and run before the student's, so they get more time
            given = self.limits.cell if own else self.limits.start
            code = source
            run = kernel.run(code, min(ends, time.monotonic() + given))
            while run.end == "idle" and run.error is not None:
                if absent := ABSENT.match(run.error):
                    lacking[absent[1] or "minigrad"] = None
                left = without_modules(source, lacking, ran) if lacking else ""
                if left in ("", code) or len(lacking) > MAX_ABSENT:
                    break
                code = left
                run = kernel.run(code, min(ends, time.monotonic() + given))
            ran.append(source)
            if own and code != source:
                notes.append(_left_out(what, source, lacking, ran[:-1]))
            if run.end != "idle":
                return _no_answers(run.end, _why(run, what, given))
            if run.error is not None and what == TAKEN:
                notes.append(f"{what}: {run.error}")
            elif run.error is not None and (own or problem is None):
                undefined = problem and UNDEFINED.search(run.error)
                because = f", because of {problem}" if undefined else ""
                problem = f"{what}: {run.error}".rstrip(": ") + because
        run = kernel.run(check, min(ends, time.monotonic() + seconds))
        published = [data[MIME] for data in run.published if MIME in data]
        if run.end == "died":
            published = []  # how much arrived before the crash is random; a grade must not be
        answers, more = collect(published, _expected(question, self.drawn))
        origins = {
            n: m for source in ran for n, m in imported_names(source).items() if m in lacking
        }
        for answer in answers.values():
            if "error" in answer:
                answer["error"] = self._explained(question, answer["error"], origins)
        reason = problem and self._explained(question, problem, origins)
        if run.end != "idle":
            reason = _why(run, "the check", seconds)
        elif problem is None and run.error is not None:
            reason = f"the check: {run.error}".rstrip(": ")
        return {"end": run.end, "reason": reason, "answers": answers, "notes": notes + more}

    def _explained(self, question: GradedQuestion, error: str, origins: Mapping[str, str]) -> str:
        """The error, with the reason why a name is not defined, if it is the grader's.

        origins    the names that come from modules that are not here
        """
        error = in_plain_words(error)
        undefined = UNDEFINED.search(error)
        name = undefined[1] if undefined else ""
        if name in origins:
            return f"{error}: answers are graded without {origins[name]}"
        run = {*question.given, *question.answers}
        theirs = (c for c in self.recording.cells if not c["answer"] and c["id"] not in run)
        if any(name in cell["names"] for cell in theirs):
            return f"{error}: this answer is graded without the exercise's cell that defines it"
        return error

    @cached_property
    def labels(self) -> dict[str, str]:
        """What notes and reasons call each cell, by its id."""
        return {cell["id"]: label_of(cell) for cell in self.recording.cells}

    def _cells(self, question: GradedQuestion) -> list[tuple[str, str, bool]]:
        """What runs before the check: (description, source, is it the student's?)."""
        given, found = self.recording.sources, self.found.sources
        carried = self.carried[question.id]
        answers = [a for a in question.answers if found.get(a, "").strip()]
        return [
            *((TAKEN, WRITE.format(path, text), True) for path, text in carried.files.items()),
            *((TAKEN, source, True) for source in carried.imports),
            *((f"the given cell {self.labels[g]}", given[g], False) for g in question.given),
            *((TAKEN, source, True) for source in carried.above),
            *((f"the answer {self.labels[a]}", found[a], True) for a in answers),
            *((TAKEN, source, True) for source in carried.below),
        ]

    def source_of(self, question: GradedQuestion) -> str:
        """All of the student's code that runs for a question."""
        carried = self.carried[question.id]
        own = (*carried.files.values(), *carried.above, self._answer(question), *carried.below)
        return "\n".join(own)

    def _answer(self, question: GradedQuestion) -> str:
        return "\n".join(self.found.sources.get(a, "") for a in question.answers)

    @cached_property
    def carried(self) -> dict[str, Carried]:
        """For each question, the statements in other cells that its answers depend on."""
        return {question.id: self._carried(question) for question in self.recording.questions}

    def _carried(self, question: GradedQuestion) -> Carried:
        own = {position for a in question.answers for position in self.found.positions.get(a, ())}
        return find_carried(
            self._answer(question),
            [cell for cell in self.found.cells if cell.position not in own],
            self.recording.cells,
            [self.recording.sources[g] for g in question.given],
            min(own, default=0),
        )


def _left_out(what: str, source: str, lacking: Collection[str], above: Sequence[str]) -> str:
    """A note on the statements of a cell that were left out, with the modules that it uses."""
    used = [module for module in lacking if without_modules(source, [module], above)]
    modules = ", ".join(used or lacking)
    return f"{what}: statements that use {modules} were left out: grading does not have it"


def _no_answers(end: str, reason: str) -> QuestionAnswers:
    return {"end": end, "reason": reason, "answers": {}, "notes": []}


def in_plain_words(error: str) -> str:
    """Say what two errors mean here: that of a stub in a cell, and that of input(), which has no front end.

    >>> in_plain_words("the answer a: NotImplementedError")
    'the answer a: not written yet: NotImplementedError'
    >>> in_plain_words("StdinNotImplementedError: raw_input was called, but this frontend ...")
    'it waits for input(), which nobody answers while work is graded'
    """
    asked = "it waits for input(), which nobody answers while work is graded"
    error = re.sub("StdinNotImplementedError.*", asked, error)
    return re.sub("(?<!yet: )NotImplementedError$", "not written yet: NotImplementedError", error)


def _why(run: CellRun, what: str, seconds: float) -> str:
    """Why a cell did not finish."""
    how = f" ({run.error})" if run.end == "died" and run.error else ""
    return f"{what} {ENDS[run.end].format(seconds=seconds)}{how}"


def _expected(question: GradedQuestion, drawn: Drawn) -> list[str]:
    """The ids of the results, and of the inputs after the call."""
    inputs = [
        f"{question.id}/{n}/input {name}"
        for n, case in enumerate(drawn[question.id], 1)
        for name, value in case["inputs"].items()
        if "data" in value
    ]
    return [*question.ids, *inputs]
