"""A process that records submissions, and can be lost without losing anything else.

What a kernel sends is read by a process of its own, so that whatever a submission brings about there
(memory, a bug of minigrad) ends that submission and no other. It is kept for many submissions, because
starting Python takes as long as running one.

    record_job(job)     the answers, from anywhere: a thread here, or a worker of Dask elsewhere

A job is JSON: the recording bundle, where the submission is (a path, or its content), the seed,
the inputs, the limits, the isolation.
"""

import atexit
import base64
import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from minigrad.grading.documents import AnswersDocument, Drawn
from minigrad.grading.release.bundles import BundleDocument, Recording
from minigrad.grading.run.notebook import Unreadable, read_bytes
from minigrad.grading.run.place import place_here, tested
from minigrad.grading.run.record import record_submission, unrecorded
from minigrad.grading.sandbox.image import NoSuchPackage
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.sandbox.selftest import NoSandbox
from minigrad.grading.sandbox.wire import NotStarted

JOBS = 100  # of one process; then a new one, so that memory cannot creep up
AGAIN = "the same command again tries it again"
_here = threading.local()
_started: list["RecorderProcess"] = []


class RecorderFailed(RuntimeError):
    """The machine's fault, not the submission's: worth another try, perhaps elsewhere."""


class Job(TypedDict):
    """One submission to record: where it is (a path, or its content), and its SHA-256."""

    recording: BundleDocument
    submission: str
    seed: str
    drawn: Drawn
    limits: dict[str, Any]  # the fields of Limits
    isolation: str
    path: str | None
    content: NotRequired[str]


class _Reply(TypedDict, total=False):
    """What the process says of a job: answers, or why the machine could not record any."""

    answers: AnswersDocument
    failed: str


class RecorderProcess:
    """The process, started when it is first needed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.jobs = 0

    def record(self, job: Job) -> AnswersDocument:
        """The answers. If the process is lost twice, answers that say so.

        Raises RecorderFailed if no kernel could be started.
        """
        reply = self._once(job) or self._once(job)
        if reply is None:
            # nobody knows what the cause was, so no other submission is affected
            return lost(job, "the process that ran it was lost, twice")
        if "failed" in reply:
            raise RecorderFailed(reply["failed"])
        return reply["answers"]

    def _once(self, job: Job) -> _Reply | None:
        """What the process says; None if it ends, or says nothing until its time is up."""
        if self.jobs >= JOBS:
            self.stop()
        if self.process is None or self.process.poll() is not None:
            self._start()
        self.jobs += 1
        limits = job["limits"]
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        patience = threading.Timer(limits["submission"] + 2 * limits["start"] + 60, process.kill)
        patience.start()
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            reply: _Reply = json.loads(process.stdout.readline())
            return reply
        except (OSError, ValueError):
            self.stop()
            return None
        finally:
            patience.cancel()

    def _start(self) -> None:
        self.stop()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "minigrad.grading.run.recorder"],
            cwd="/",  # not among the submissions: IPython imports from where it runs
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **tested(), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        _started.append(self)

    def stop(self) -> None:
        """Kill the process, if there is one, and close its pipes. The next job starts another."""
        process, self.process, self.jobs = self.process, None, 0
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes the pipes, and waits for its end
                pass


def record_job(job: Job) -> AnswersDocument:
    """Record in this thread's process."""
    if not hasattr(_here, "recorder"):
        _here.recorder = RecorderProcess()
    recorder: RecorderProcess = _here.recorder
    return recorder.record(job)


@atexit.register
def stop_recorders() -> None:
    """End the processes of all threads; those that go on recording start new ones."""
    while _started:
        _started.pop().stop()


def _without_answers(job: Job, reason: str) -> AnswersDocument:
    recording, limits = Recording(job["recording"]), Limits(**job["limits"])
    return unrecorded(recording, job["submission"], job["seed"], job["isolation"], limits, reason)


def lost(job: Job, problem: str) -> AnswersDocument:
    """What the machine could not record is told like what cannot be read; it is not final."""
    return {**_without_answers(job, f"{problem}; {AGAIN}"), "lost": True}


def _do(job: Job) -> _Reply:
    recording, limits = Recording(job["recording"]), Limits(**job["limits"])
    try:
        path = job["path"]
        content = read_bytes(Path(path)) if path else base64.b64decode(job["content"])
    except Unreadable as error:
        return {"answers": _without_answers(job, str(error))}
    if hashlib.sha256(content).hexdigest() != job["submission"]:
        return {"failed": "the file has changed since the run began"}
    try:
        place = place_here(job["isolation"], recording.engine, recording.packages)
        seed, drawn = job["seed"], job["drawn"]
        return {"answers": record_submission(recording, content, place, seed, drawn, limits)}
    except (NotStarted, NoSandbox, NoSuchPackage, OSError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def _die_with_parent() -> None:
    """If the grader is killed, so is what it has running; a thread that ends takes its own along."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def _serve() -> None:
    """The other process: jobs come in as lines, answers go out as lines."""
    _die_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    for line in sys.stdin.buffer:
        reply = _do(json.loads(line))
        channel.write(json.dumps(reply).encode() + b"\n")
        channel.flush()


if __name__ == "__main__":
    _serve()
