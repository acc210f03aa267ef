"""A class: record every submission, then judge them all; on this machine, or on another one.

    OUT/run.json                    the seed and the settings; the same again if it is resumed
    OUT/answers/<key>.answers.json  what was recorded, one file for each distinct submission
    OUT/class.json                  whose they are, once all are recorded
    OUT/grades.json, ...            the reports

An answers file is named by what it depends on: the file that was handed in, the exercise, the seed,
the limits, the isolation. So a run that was killed goes on where it was, a submission that is there
already is not run again, and two equal files are run once. It is written under another name
and renamed, so that it is whole or not there.

What is handed in after a class was recorded may know the inputs, from the feedback of others. So it
gets inputs of its own.

Submissions run side by side, by threads that each supervise a process of their own; with a
scheduler's address, the same function runs on the workers of a Dask cluster.
"""

import base64
import hashlib
import json
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.grading.documents import AnswersDocument, Grade
from minigrad.grading.files import digest, write_json
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import Judge, Recording
from minigrad.grading.release.inputs import draw_inputs
from minigrad.grading.run.collect import Submission, content_of, submissions_in
from minigrad.grading.run.notebook import Unreadable, read_bytes
from minigrad.grading.run.place import place_here
from minigrad.grading.run.record import unrecorded
from minigrad.grading.run.recorder import Job, RecorderFailed, lost, record_job, stop_recorders
from minigrad.grading.sandbox.launch import Limits

AHEAD = 4  # submissions for each thread that are there at a time
CLASS = "class.json"
FRESH = "recorded after the rest of the class, on different inputs"
CONNECT = 15.0  # seconds to find a scheduler, and a worker of it


class BatchError(RuntimeError):
    """The run cannot go on, or must not be mixed with another one; what is recorded stays."""


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    seed        what inputs are drawn from; None: the one of the run so far, or a new secret one
    each        draw inputs of its own for every submission
    isolation   auto, or a tier by name
    jobs        how many submissions run at once
    scheduler   the address of a Dask scheduler; None: here
    """

    seed: str | None = None
    each: bool = False
    isolation: str = "auto"
    jobs: int = 0
    scheduler: str | None = None
    limits: Limits = Limits()


@dataclass(frozen=True)
class Run:
    """What the answers of a class depend on, and the folder in which they are kept, if any.

    common    the submissions that share their inputs, by their hashes; None: all do
    """

    recording: Recording
    seed: str
    tier: str
    settings: Settings
    folder: Path | None = None
    common: frozenset[str] | None = None


@dataclass(frozen=True)
class Recorded:
    """A submission that is recorded: whose it is, and the file of its answers.

    fresh    was it recorded after the class, on inputs of its own?
    """

    student: str
    file: str
    note: str | None
    submission: str
    answers: str
    fresh: bool = False


@dataclass(frozen=True)
class _Task:
    """A submission: the answers to it that are there, or the job that records them."""

    key: str
    answers: AnswersDocument | None
    job: Job | None = None


Progress = Callable[[int, int, str], None]


def grade_class(
    place: Path,
    recording: Recording,
    bundle: Judge,
    out: Path,
    settings: Settings | None = None,
    progress: Progress = lambda done, of, what: None,
) -> list[Grade]:
    """The grades of all submissions in a folder or a zip, in the order of the names.

    Raises BatchError if OUT holds a run with other settings, NoSandbox, NoSubmissions or JudgeError.
    """
    bundle.belongs_to(recording)
    recorded = record_submissions(place, recording, out, settings, progress)
    progress(len(recorded), len(recorded), "judging")
    return judge_class(bundle, recorded)


def judge_class(bundle: Judge, recorded: Sequence[tuple[Recorded, AnswersDocument]]) -> list[Grade]:
    """The grades of recorded submissions, with the students' names. Runs no student's code."""
    grades = judge(bundle, [answers for _, answers in recorded])
    for grade, (one, _) in zip(grades, recorded):
        grade["student"], grade["file"] = one.student, one.file
        if one.note is not None:
            grade["notes"], grade["confirm"] = [*grade["notes"], one.note], True
        if one.fresh:
            grade["notes"] = [*grade["notes"], FRESH]
    return grades


def record_submissions(
    place: Path,
    recording: Recording,
    out: Path,
    settings: Settings | None = None,
    progress: Progress = lambda done, of, what: None,
) -> list[tuple[Recorded, AnswersDocument]]:
    """Record all submissions in a folder or a zip, in the order of the names; no solution is needed.

    Raises BatchError if OUT holds a run with other settings, NoSandbox or NoSubmissions.
    """
    settings = settings or Settings()
    with tempfile.TemporaryDirectory(prefix="mg-class-") as unpacked:
        found = submissions_in(place, recording.name, Path(unpacked))
        tier = _tier(out, recording, settings)
        seed = _seed(out, recording, settings, tier)
        common = _common(out)
        run = Run(recording, seed, tier, settings, out / "answers", common)
        answers = record_class(found, run, progress)
    recorded = [
        Recorded(
            *(one.student, one.path.name, one.note, document["submission"]),
            f"answers/{_key(document['submission'], run)}.answers.json",
            common is not None and document["submission"] not in common,
        )
        for one, document in zip(found, answers)
    ]
    listed = [asdict(one) for one in recorded]
    document = {"format": "minigrad-class-1", "submissions": listed}
    write_json(out / CLASS, document, private=True)
    return list(zip(recorded, answers))


def record_class(
    found: Sequence[Submission], run: Run, progress: Progress = lambda done, of, what: None
) -> list[AnswersDocument]:
    """The answers documents of these submissions, in their order.

    Those that are in the folder of the run are not made again. Raises NoSandbox if the others cannot be.
    """
    folder = run.folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for half in folder.glob("*.part"):
            half.unlink()
    tasks = [_task(submission, run) for submission in found]
    answers = {t.key: t.answers for t in tasks if t.answers is not None}
    for key, document in answers.items():
        if folder is not None and document["unreadable"]:  # it was not run, so has no file yet
            write_json(folder / f"{key}.answers.json", document, private=True)
    waiting = {t.key: t.job for t in tasks if t.job is not None}
    count = Counter(t.key for t in tasks)
    done = sum(count[key] for key in answers)
    progress(done, len(tasks), "recording")
    record = _on_a_cluster if run.settings.scheduler else _on_this_machine
    if waiting and record is _on_this_machine:
        place_here(run.tier, run.recording.engine, run.recording.packages)
    for key, recorded, problem in record(waiting, run.settings):
        problem = f"it could not be run, through no fault of its own ({problem})"
        answers[key] = recorded or lost(waiting[key], problem)
        if folder is not None:
            write_json(folder / f"{key}.answers.json", answers[key], private=True)
        done += count[key]
        progress(done, len(tasks), "recording")
    return [answers[t.key] for t in tasks]


def record_one(submission: Submission, recording: Recording, settings: Settings) -> AnswersDocument:
    """The answers document of a single submission, which is kept nowhere. Raises NoSandbox."""
    tier = place_here(settings.isolation, recording.engine, recording.packages).tier
    run = Run(recording, settings.seed or secrets.token_hex(16), tier, settings)
    return record_class([submission], run)[0]


def _task(submission: Submission, run: Run) -> _Task:
    recording, limits = run.recording, run.settings.limits
    try:
        content = content_of(submission)
    except Unreadable as error:
        named = f"{submission.student}: {error}".encode("utf-8", "replace")
        sha = hashlib.sha256(named).hexdigest()
        document = unrecorded(recording, sha, run.seed, run.tier, limits, str(error))
        return _Task(_key(sha, run), document)
    sha = hashlib.sha256(content).hexdigest()
    key, seed = _key(sha, run), _seed_for(sha, run)
    kept = run.folder and _kept(run.folder / f"{key}.answers.json", sha)
    if kept:
        return _Task(key, kept)
    job: Job = {
        "recording": recording.data,
        "submission": sha,
        "seed": seed,
        "drawn": draw_inputs(recording.questions, recording.sources, seed),
        "limits": limits.as_dict(),
        "isolation": run.tier,
        "path": str(submission.path.absolute()),
    }
    return _Task(key, None, job)


def _seed_for(sha: str, run: Run) -> str:
    """What the inputs of a submission are drawn from: that of the class, or one of its own."""
    shared = not run.settings.each and (run.common is None or sha in run.common)
    return run.seed if shared else digest([run.seed, sha])


def _key(sha: str, run: Run) -> str:
    """The name of an answers file, by all that the answers depend on."""
    limits = run.settings.limits.as_dict()
    return digest([sha, run.recording.hash, _seed_for(sha, run), run.tier, limits])[:40]


def _kept(path: Path, sha: str) -> AnswersDocument | None:
    """The answers that are there, unless the machine failed while they were recorded."""
    try:
        document = read_answers(path)
    except (OSError, BatchError):
        return None
    return None if document.get("submission") != sha or document.get("lost") else document


Outcome = tuple[str, AnswersDocument | None, str]  # key, answers, why there are none


def _outcomes(
    pool: Executor, jobs: Iterable[tuple[str, Job]], threads: int, fault: type[Exception]
) -> Iterator[Outcome]:
    """Record with these threads. A few submissions for each are there at a time, and never a whole class.

    fault    what is raised if the machine is to blame
    """
    left = iter(jobs)
    running: dict[Future[AnswersDocument], str] = {}
    while True:
        for key, job in islice(left, AHEAD * threads - len(running)):
            running[pool.submit(record_job, job)] = key
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            key = running.pop(future)
            try:
                yield key, future.result(), ""
            except RecorderFailed as error:
                yield key, None, str(error)
            except fault as error:
                yield key, None, f"{type(error).__name__}: {error}"


def _on_this_machine(waiting: dict[str, Job], settings: Settings) -> Iterator[Outcome]:
    """Record with threads of this process."""
    threads = settings.jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(threads, thread_name_prefix="record") as pool:
        try:
            yield from _outcomes(pool, waiting.items(), threads, RecorderFailed)
        finally:
            pool.shutdown(cancel_futures=True)
            stop_recorders()


def _on_a_cluster(waiting: dict[str, Job], settings: Settings) -> Iterator[Outcome]:
    """Record on a Dask cluster. Only what is the machine's fault raises there, and is tried again."""
    try:
        from distributed import Client
    except ImportError:
        raise BatchError(
            'Dask is not installed here. To fix it, run  pip install "minigrad-jupyter[scale]"'
        ) from None
    address = settings.scheduler
    try:
        client = Client(address, set_as_default=False, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise BatchError(
            f"No Dask scheduler answers at {address} ({error}). To fix it, start one with  dask scheduler  and "
            "workers with  dask worker ADDRESS, or leave out --scheduler to grade here."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise BatchError(
                f"The Dask scheduler at {address} has no worker. To fix it, run  dask worker {address}"
            ) from None
        threads = max(1, sum(client.nthreads().values()))
        jobs = ((key, _with_content(job)) for key, job in waiting.items())
        yield from _outcomes(client.get_executor(retries=2, pure=False), jobs, threads, Exception)


def _with_content(job: Job) -> Job:
    """A job for another machine, which does not see this one's files."""
    try:
        content = read_bytes(Path(job["path"] or ""))
    except Unreadable:
        content = b""  # it was readable before: the recorder sees that it has changed, and says so
    return {**job, "path": None, "content": base64.b64encode(content).decode()}


def _tier(out: Path, recording: Recording, settings: Settings) -> str:
    """The isolation of the run in OUT, which need not be had here if all is recorded; or a new one's."""
    noted = _noted(out).get("isolation")
    if settings.scheduler is not None:  # a cluster's machines choose, and say, for themselves
        return settings.isolation
    if noted and settings.isolation in ("auto", noted):
        return str(noted)
    return place_here(settings.isolation, recording.engine, recording.packages).tier


def _noted(out: Path) -> dict[str, Any]:
    """What run.json says of the run in OUT; nothing if there is none."""
    path = out / "run.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        return {}
    except ValueError:
        raise BatchError(f"{path} is damaged. To fix it, give another folder.") from None


def _seed(out: Path, recording: Recording, settings: Settings, tier: str) -> str:
    """The seed of the run in OUT, or a new one, which is noted there first."""
    about = {
        "exercise": recording.name,
        "recording": recording.hash,
        "isolation": tier,
        "limits": settings.limits.as_dict(),
        "each": settings.each,
    }
    before = _noted(out)
    seed = str(settings.seed or before.get("seed") or secrets.token_hex(16))
    wanted = {**about, "seed": seed}
    different = [name for name in wanted if before and before.get(name) != wanted[name]]
    if different:
        raise BatchError(
            f"{out} holds a run with another {', '.join(different)}. To fix it, give another folder with  -o, "
            "or the same settings, to go on with it."
        )
    if not before:
        write_json(out / "run.json", wanted, private=True)
    return seed


def _common(out: Path) -> frozenset[str] | None:
    """The submissions of a class that was recorded in OUT, by their hashes; None if none was so far."""
    path = out / CLASS
    if not path.exists():
        return None
    return frozenset(one.submission for one in _listed(path) if not one.fresh)


def read_class(path: Path) -> list[tuple[Recorded, AnswersDocument]]:
    """What record_submissions wrote, from its class.json. Raises BatchError if something is missing."""
    listed = _listed(path)
    try:
        return [(one, read_answers(path.parent / one.answers)) for one in listed]
    except OSError as error:
        raise BatchError(
            f"{path} names {error.filename}, which is not there. To fix it, copy the whole folder."
        ) from None


def read_answers(path: Path) -> AnswersDocument:
    """An answers file. Raises BatchError for another file, and OSError if there is none."""
    try:
        document: AnswersDocument = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        document = {}  # type: ignore[typeddict-item]
    if not isinstance(document, dict) or document.get("format") != "minigrad-answers-1":
        raise BatchError(f"{path} holds no answers that  minigrad record  wrote.")
    return document


def _listed(path: Path) -> list[Recorded]:
    """The submissions that a class.json lists."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [Recorded(**one) for one in document["submissions"]]
    except (ValueError, TypeError, KeyError):
        raise BatchError(f"{path} is damaged. To fix it, record the class again.") from None
