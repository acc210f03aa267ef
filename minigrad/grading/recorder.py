"""A process that records submissions, and can be lost without losing anything else.

What a kernel sends is read by a process of its own, so that whatever a submission brings about there
(memory, a bug of ours) costs that submission and no other. It is kept for many submissions, because
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
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from minigrad.grading.bundles import Recording
from minigrad.grading.place import place_here
from minigrad.grading.record import record, unrecorded
from minigrad.grading.sandbox.image import NoSuchPackage
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.sandbox.selftest import NoSandbox
from minigrad.grading.sandbox.wire import NotStarted
from minigrad.grading.submission import Unreadable, read_bytes

JOBS = 100  # of one process; then a new one, so that memory cannot creep up
_here = threading.local()
_started: list["Recorder"] = []


class RecorderFailed(RuntimeError):
    """The machine's fault, not the submission's: worth another try, perhaps elsewhere."""


class Recorder:
    """The process, started when it is first needed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.jobs = 0
        _started.append(self)

    def record(self, job: dict[str, Any]) -> dict[str, Any]:
        """The answers. If the process is lost twice, answers that say so.

        Raises RecorderFailed if no kernel could be started.
        """
        for _ in (1, 2):
            told = self._once(job)
            if told is None:
                continue
            if "failed" in told:
                raise RecorderFailed(told["failed"])
            return dict(told["answers"])
        lost = unrecorded(
            Recording(job["recording"]),
            job["submission"],
            job["seed"],
            job["isolation"],
            Limits(**job["limits"]),
            "the process that ran it was lost, twice; the same command again would try it again",
        )
        # Whose fault it was cannot be told. So it costs nobody else anything, and is not final.
        return {**lost, "lost": True}

    def _once(self, job: dict[str, Any]) -> dict[str, Any] | None:
        if self.jobs >= JOBS:
            self.stop()
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-m", "minigrad.grading.recorder"],
                cwd="/",  # not among the submissions: IPython imports from where it runs
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
            self.jobs = 0
            if self not in _started:
                _started.append(self)
        self.jobs += 1
        limits = job["limits"]
        ends = time.monotonic() + limits["submission"] + 2 * limits["start"] + 60
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
            line = _line(self.process.stdout.fileno(), ends)
            return json.loads(line)
        except (OSError, ValueError):
            self.stop()
            return None

    def stop(self) -> None:
        """Kill the process, if there is one, and close its pipes. The next job starts another."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        pass
        self.jobs = 0


def record_job(job: dict[str, Any]) -> dict[str, Any]:
    """Record in this thread's process."""
    if not hasattr(_here, "recorder"):
        _here.recorder = Recorder()
    recorder: Recorder = _here.recorder
    return recorder.record(job)


@atexit.register
def stop_recorders() -> None:
    """End the processes of all threads; those that go on recording start new ones."""
    while _started:
        _started.pop().stop()


def _line(descriptor: int, ends: float) -> bytes:
    """A line from a pipe; an empty one if there is none before the end."""
    parts: list[bytes] = []
    while time.monotonic() < ends:
        if not select.select([descriptor], [], [], max(0.0, ends - time.monotonic()))[0]:
            break
        part = os.read(descriptor, 1 << 16)
        parts.append(part)
        if not part or part.endswith(b"\n"):
            break
    return b"".join(parts)


def _do(job: dict[str, Any]) -> dict[str, Any]:
    recording = Recording(job["recording"])
    limits = Limits(**job["limits"])
    try:
        content = (
            base64.b64decode(job["content"])
            if job.get("content") is not None
            else read_bytes(Path(job["path"]))
        )
    except Unreadable as error:
        return {
            "answers": unrecorded(
                recording, job["submission"], job["seed"], job["isolation"], limits, str(error)
            )
        }
    if hashlib.sha256(content).hexdigest() != job["submission"]:
        return {"failed": "the file has changed since the run began"}
    try:
        place = place_here(job["isolation"], recording.engine, recording.packages)
        return {"answers": record(recording, content, place, job["seed"], job["drawn"], limits)}
    except (NotStarted, NoSandbox, NoSuchPackage, OSError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def _die_with_parent() -> None:
    """If the grader is killed, so is what it has running; a thread that ends takes its own along."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """The other process: jobs come in as lines, answers go out as lines."""
    _die_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    for line in sys.stdin.buffer:
        told = _do(json.loads(line))
        channel.write(json.dumps(told).encode() + b"\n")
        channel.flush()


if __name__ == "__main__":
    main()
