"""Record submissions in a separate process, so that a crash affects only one submission.

Reading what a kernel sends may exhaust memory or hit a bug in minigrad. In a separate process, that
ends only the submission that caused it. The process is reused for many submissions, because starting
Python takes as long as running one.

    record_job(job)     record one job, in a thread here or on a Dask worker elsewhere

Jobs and answers are JSON.
"""

import atexit
import base64
import ctypes
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from minigrad.grading.documents import AnswersDocument
from minigrad.grading.release.bundles import Recording
from minigrad.grading.run.notebook import Unreadable, read_bytes
from minigrad.grading.run.record import Job, record_submission, unrecorded
from minigrad.grading.sandbox.choose import NoSandbox, choose_sandbox, tested
from minigrad.grading.sandbox.image import NoSuchPackage, temporary_images
from minigrad.grading.sandbox.launch import ONE_THREAD
from minigrad.grading.sandbox.wire import NotStarted

JOBS = 100  # jobs per process; then a new one is started, which bounds memory leaks
LOST = "(The answer could not be read: see the notebook.)"
TRY_AGAIN = "to try again, give the same command"
_thread = threading.local()
_started: list["RecorderProcess"] = []


class RecorderFailed(RuntimeError):
    """The machine failed, not the submission; it may work at another time or on another machine."""


Reply = AnswersDocument | str  # to a job: the answers, or why the machine could not record any


class RecorderProcess:
    """A recorder process, started when it is first needed.

    It is killed, so it could not remove its temporary files: they are in a folder that is removed with it.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.jobs = 0
        self.folder: str | None = None
        self.ended = False  # is it stopped for good?

    def record(self, job: Job) -> AnswersDocument:
        """Record a job. If the process is lost twice, return a document that says so.

        Raises RecorderFailed if no kernel could be started.
        """
        reply = self._try_once(job) or (None if self.ended else self._try_once(job))
        if reply is None:
            # the cause is unknown, so do not fail any other submission
            return lost(job, "the process that ran it was lost, twice")
        if isinstance(reply, str):
            raise RecorderFailed(reply)
        return reply

    def _try_once(self, job: Job) -> Reply | None:
        """Send the job, and return the reply; None if the process dies or times out."""
        if self.jobs >= JOBS:
            self.stop()
        if self.process is None or self.process.poll() is not None:
            self._start()
        self.jobs += 1
        limits = job["limits"]
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        starts = 2 * len(job["recording"]["questions"]) + 2
        seconds = limits["submission"] + starts * limits["start"] + 60
        patience = threading.Timer(seconds, process.kill)
        patience.start()
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            reply: Reply = json.loads(process.stdout.readline())
            return reply
        except (OSError, ValueError):
            self.stop()
            return None
        finally:
            patience.cancel()

    def _start(self) -> None:
        self.stop()
        self.folder = tempfile.mkdtemp(prefix="mg-recorder-")
        os.chmod(self.folder, 0o755)  # kernels may run as another user
        own = {"TMPDIR": self.folder, **ONE_THREAD}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "minigrad.grading.run.recorder"],
            cwd="/",  # not the submissions' folder: IPython imports from the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **tested(), **temporary_images(), **own},
        )
        _started.append(self)

    def stop(self) -> None:
        """Kill the process, if there is one, and close its pipes. The next job starts another."""
        process, self.process, self.jobs = self.process, None, 0
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes the pipes, and waits for the process
                pass
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


def record_job(job: Job) -> AnswersDocument:
    """Record a job in the recorder process of this thread."""
    if not hasattr(_thread, "recorder"):
        _thread.recorder = RecorderProcess()
    recorder: RecorderProcess = _thread.recorder
    return recorder.record(job)


@atexit.register
def stop_recorders() -> None:
    """Stop the recorder processes of all threads, for good: a submission that one is running is not tried again."""
    while _started:
        recorder = _started.pop()
        recorder.ended = True
        recorder.stop()


def lost(job: Job, problem: str) -> AnswersDocument:
    """A document for a submission that the machine could not run; it is reported as unreadable, for now."""
    return {**unrecorded(job, f"{problem}; {TRY_AGAIN}", LOST), "lost": True}


def _reply_to(job: Job) -> Reply:
    recording = Recording(job["recording"])
    try:
        path = job["path"]
        content = read_bytes(Path(path)) if path else base64.b64decode(job["content"])
    except Unreadable as error:
        return unrecorded(job, str(error))
    if hashlib.sha256(content).hexdigest() != job["submission"]:
        return "the file has changed since the run began"
    try:
        sandbox = choose_sandbox(job["isolation"], recording.engine, recording.packages)
        return record_submission(job, content, sandbox)
    except (NotStarted, NoSandbox, NoSuchPackage, OSError) as error:
        return f"{type(error).__name__}: {error}"


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the grader, or the thread that started it, ends."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def _serve() -> None:
    """The main loop of the recorder process: one job per input line, one reply per output line."""
    _die_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep prints out of the channel
    for line in sys.stdin.buffer:
        reply = _reply_to(json.loads(line))
        channel.write(json.dumps(reply).encode() + b"\n")
        channel.flush()


if __name__ == "__main__":
    _serve()
