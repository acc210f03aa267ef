"""Grade a class: record every submission, then judge them all, on this machine or on a cluster.

    OUT/run.json                    the seed and the settings, which a resumed run must match
    OUT/answers/<key>.answers.json  the recorded answers, one file for each distinct submission
    OUT/written/<key>.json          what the student wrote for each question; no other file holds programs
    OUT/pictures/                   the pictures in answers that a person marks
    OUT/class.json                  the students, and their answers files; written at the end
    OUT/grades.json, ...            the reports

The key of an answers file is a hash of everything it depends on: the submitted file, the exercise,
the seed, the limits, the isolation. So an interrupted run can be resumed, recorded submissions are
not run again, and identical files run only once. Files are written atomically.

A student who hands in after the class was recorded may know the inputs from other students'
feedback. Therefore such a submission gets different inputs.

Submissions run in parallel: each thread supervises a separate process. Given a scheduler's
address, the same function runs on the workers of a Dask cluster.
"""

import base64
import hashlib
import json
import os
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast

from minigrad.grading.documents import AnswersDocument, Grade, WrittenAnswer, conforms
from minigrad.grading.files import digest, locked, write_bytes, write_json
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import Judge, Recording
from minigrad.grading.release.check_cell import draw_inputs
from minigrad.grading.run.collect import Submission, content_of, submissions_in
from minigrad.grading.run.notebook import Unreadable, picture_file, read_bytes
from minigrad.grading.run.record import Job, job_of, unrecorded
from minigrad.grading.run.recorder import RecorderFailed, lost, record_job, stop_recorders
from minigrad.grading.sandbox.choose import choose_sandbox
from minigrad.grading.sandbox.launch import Limits

AHEAD = 4  # submissions queued for each thread
RUN, CLASS = "run.json", "class.json"
FRESH = "recorded after the rest of the class, on different inputs"
CONNECT = 15.0  # seconds to connect to a scheduler and one of its workers


class BatchError(RuntimeError):
    """The run cannot continue, or does not match the one in OUT; recorded answers are kept."""


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    seed        the seed for drawing inputs; None: the seed of the run in OUT, or a new secret one
    each        draw different inputs for each submission
    isolation   auto, or the name of a tier
    jobs        how many submissions run in parallel; 0: one per core
    scheduler   the address of a Dask scheduler; None: run on this machine
    limits      time and memory limits
    """

    seed: str | None = None
    each: bool = False
    isolation: str = "auto"
    jobs: int = 0
    scheduler: str | None = None
    limits: Limits = Limits()


@dataclass(frozen=True)
class Run:
    """What the answers of a class depend on, and the folder where they are stored, if any.

    common    hashes of the submissions that share the same inputs; None: all do
    """

    recording: Recording
    seed: str
    tier: str
    settings: Settings
    folder: Path | None = None
    common: set[str] | None = None


@dataclass(frozen=True)
class Recorded:
    """A recorded submission: its student, and its answers file.

    fresh    was it recorded after the rest of the class, on different inputs?
    """

    student: str
    file: str
    note: str | None
    submission: str
    answers: str
    fresh: bool = False


T = TypeVar("T")
Progress = Callable[[int, int, str], None]


def grade_class(
    source: Path,
    recording: Recording,
    bundle: Judge,
    out: Path,
    settings: Settings = Settings(),
    progress: Progress = lambda done, of, what: None,
) -> list[Grade]:
    """Grade all submissions in a folder or a zip, in the order of the students' names.

    Raises BatchError if OUT contains a run with other settings, NoSandbox, NoSubmissions or JudgeError.
    """
    bundle.belongs_to(recording)
    recorded = record_submissions(source, recording, out, settings, progress)
    progress(len(recorded), len(recorded), "judging")
    return judge_class(bundle, recorded)


def judge_class(bundle: Judge, recorded: Sequence[tuple[Recorded, AnswersDocument]]) -> list[Grade]:
    """Judge recorded submissions, and add the students' names. No student's code runs."""
    grades = judge(bundle, [answers for _, answers in recorded])
    for grade, (entry, _) in zip(grades, recorded):
        grade["student"], grade["file"] = entry.student, entry.file
        if entry.note is not None:
            grade["notes"], grade["confirm"] = [*grade["notes"], entry.note], True
        if entry.fresh:
            grade["notes"] = [*grade["notes"], FRESH]
    return grades


def record_submissions(
    source: Path, recording: Recording, out: Path, settings: Settings, progress: Progress
) -> list[tuple[Recorded, AnswersDocument]]:
    """Record all submissions in a folder or a zip, in the order of the names, without the solution.

    Raises BatchError if OUT contains another run or is among the submissions, NoSandbox or NoSubmissions.
    """
    submitted = source / "submitted"
    place = submitted if submitted.is_dir() else source
    if out.resolve().is_relative_to(place.resolve()):
        raise BatchError(
            f"{out} is in {place}, the folder of submissions, where its files would look like submissions. To fix "
            "it, choose another folder with  -o."
        )
    with tempfile.TemporaryDirectory(prefix="mg-class-") as unpacked, ExitStack() as stack:
        found = submissions_in(source, recording.name, Path(unpacked))
        try:
            stack.enter_context(locked(out / RUN, wait=False))
        except BlockingIOError:
            raise BatchError(
                f"Another run is writing to {out}. To fix it, wait until it has ended, or choose another folder "
                "with  -o."
            ) from None
        tier, seed = _tier_and_seed(out, recording, settings)
        before = _listed(out / CLASS) if (out / CLASS).exists() else None
        common = None if before is None else {r.submission for r in before if not r.fresh}
        run = Run(recording, seed, tier, settings, out, common)
        answers = record_class(found, run, progress)
        recorded = []
        for submission, document in zip(found, answers):
            sha = document["submission"]
            file = f"answers/{_key(sha, run)}.answers.json"
            fresh = common is not None and sha not in common
            student, name, note = submission.student, submission.path.name, submission.note
            recorded.append(Recorded(student, name, note, sha, file, fresh))
        listed = {"format": "minigrad-class-1", "submissions": list(map(asdict, recorded))}
        write_json(out / CLASS, listed, private=True)
    return list(zip(recorded, answers))


def record_class(
    found: Sequence[Submission], run: Run, progress: Progress = lambda done, of, what: None
) -> list[AnswersDocument]:
    """Return the answers documents of these submissions, in the same order.

    Answers already stored in the run's folder are reused. Raises NoSandbox if the others cannot be run.
    """
    if run.folder is not None:
        for name in ("answers", "written"):
            for half in (run.folder / name).glob("*.part"):
                half.unlink()
    tasks = [_stored_or_job(submission, run) for submission in found]
    answers = {key: stored for key, stored, _ in tasks if stored is not None}
    for key, document in answers.items():
        if document["unreadable"]:  # it was never run, so it has no file yet
            _store(run, key, document)
    waiting = {key: job for key, _, job in tasks if job is not None}
    count = Counter(key for key, _, _ in tasks)
    done = sum(count[key] for key in answers)
    progress(done, len(tasks), "recording")
    record = _on_a_cluster if run.settings.scheduler else _on_this_machine
    if waiting and record is _on_this_machine:
        choose_sandbox(run.tier, run.recording.engine, run.recording.packages)
    for key, recorded, problem in record(waiting, run.settings):
        problem = f"the machine could not run it ({problem})"
        answers[key] = recorded or lost(waiting[key], problem)
        _store(run, key, answers[key])
        done += count[key]
        progress(done, len(tasks), "recording")
    return [answers[key] for key, _, _ in tasks]


def _store(run: Run, key: str, document: AnswersDocument) -> None:
    """Store a document, and apart from it what the student wrote, and the pictures in it."""
    written, pictures = document.pop("written", None), document.pop("pictures", [])
    if run.folder is not None:
        for picture in pictures:
            if file := picture_file(picture):
                write_bytes(run.folder / "pictures" / file[0], file[1], private=True)
        if written is not None:
            write_json(run.folder / "written" / f"{key}.json", written, private=True)
        write_json(run.folder / "answers" / f"{key}.answers.json", document, private=True)


def record_one(submission: Submission, recording: Recording, settings: Settings) -> AnswersDocument:
    """Record a single submission without storing its answers. Raises NoSandbox."""
    tier = choose_sandbox(settings.isolation, recording.engine, recording.packages).tier
    run = Run(recording, settings.seed or secrets.token_hex(16), tier, settings)
    return record_class([submission], run)[0]


def _stored_or_job(
    submission: Submission, run: Run
) -> tuple[str, AnswersDocument | None, Job | None]:
    """A submission's key, and either its stored answers or the job that will record them."""
    problem = None
    try:
        content = content_of(submission)
    except Unreadable as error:
        problem = str(error)
        content = f"{submission.student}: {error}".encode("utf-8", "replace")
    sha = hashlib.sha256(content).hexdigest()
    key, job = _key(sha, run), job_of(run.recording, run.seed, run.tier, run.settings.limits, sha)
    if problem is not None:
        return key, unrecorded(job, problem), None
    kept = run.folder and _stored_answers(run.folder / "answers" / f"{key}.answers.json", sha)
    if kept:
        return key, kept, None
    job["seed"], job["path"] = _seed_for(sha, run), str(submission.path.absolute())
    job["drawn"] = draw_inputs(run.recording.questions, run.recording.sources, job["seed"])
    return key, None, job


def _seed_for(sha: str, run: Run) -> str:
    """The seed for a submission's inputs: the class's seed, or its own."""
    shared = not run.settings.each and (run.common is None or sha in run.common)
    return run.seed if shared else digest([run.seed, sha])


def _key(sha: str, run: Run) -> str:
    """The key of an answers file: a hash of everything that the answers depend on."""
    limits = asdict(run.settings.limits)
    return digest([sha, run.recording.hash, _seed_for(sha, run), run.tier, limits])[:40]


def _stored_answers(path: Path, sha: str) -> AnswersDocument | None:
    """Read stored answers; None if there are none, or if the machine failed while recording them."""
    try:
        document = read_answers(path)
    except (OSError, BatchError):
        return None
    return None if document.get("submission") != sha or document.get("lost") else document


Outcome = tuple[str, AnswersDocument | None, str]  # key, answers, the reason if there are none


def _outcomes(
    pool: Executor, jobs: Iterable[tuple[str, Job]], threads: int, fault: type[Exception]
) -> Iterator[Outcome]:
    """Record the jobs in a pool. Only a few jobs per thread are queued at a time, to save memory.

    fault    the exception type that means the machine failed, not the submission
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
    """Record in threads of this process."""
    threads = settings.jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(threads, thread_name_prefix="record") as pool:
        try:
            yield from _outcomes(pool, waiting.items(), threads, RecorderFailed)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_recorders()  # so that an interrupted run need not wait for the submissions that run now


def _on_a_cluster(waiting: dict[str, Job], settings: Settings) -> Iterator[Outcome]:
    """Record on a Dask cluster. A job raises only if the machine failed, so Dask retries it."""
    try:
        from distributed import Client
    except ImportError:
        raise BatchError(
            'Dask is not installed here. To fix it, run  pip install "minigrad-jupyter[scale]"'
        ) from None
    address = str(settings.scheduler)
    if re.fullmatch(r"(\w+://)?[^/:]*:?", address):
        raise BatchError(
            f"The address {address} has no port. To fix it, write it like  tcp://192.0.2.1:8786 , as  dask scheduler "
            "prints it, or leave out --scheduler to grade here."
        )
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
    """Put the file's content into a job, for a machine that cannot read our files."""
    try:
        content = read_bytes(Path(job["path"] or ""))
    except Unreadable:
        content = b""  # it was readable before; the recorder will report that it has changed
    return {**job, "path": None, "content": base64.b64encode(content).decode()}


def _tier_and_seed(out: Path, recording: Recording, settings: Settings) -> tuple[str, str]:
    """The tier and the seed of the run in OUT, even if the tier is not available here.

    Those of a new run are saved in run.json before anything runs.
    """
    path = out / RUN
    try:
        before = dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        before = {}
    except ValueError:
        raise BatchError(f"{path} is damaged. To fix it, choose another folder.") from None
    noted, tier = before.get("isolation"), settings.isolation
    if settings.scheduler is None:  # otherwise each machine of the cluster chooses its tier
        if noted and tier in ("auto", noted):
            tier = str(noted)
        else:
            tier = choose_sandbox(tier, recording.engine, recording.packages).tier
    seed = str(settings.seed or before.get("seed") or secrets.token_hex(16))
    wanted = {
        "exercise": recording.name,
        "recording": recording.hash,
        "isolation": tier,
        "limits": asdict(settings.limits),
        "each": settings.each,
        "seed": seed,
    }
    different = [name for name in wanted if before and before.get(name) != wanted[name]]
    if different:
        raise BatchError(
            f"{out} holds a run with another {', '.join(different)}. To fix it, choose another folder with  -o  (and "
            "copy manual.csv into it, if you have marked answers there), "
            "or use the same settings to resume the run."
        )
    if not before:
        write_json(path, wanted, private=True)
    return tier, seed


def read_class(path: Path) -> list[tuple[Recorded, AnswersDocument]]:
    """Read what record_submissions wrote, given class.json. Raises BatchError if a file is missing."""
    return _read_each(path, read_answers)


def read_written(out: Path) -> list[tuple[Recorded, dict[str, WrittenAnswer]]]:
    """What each student wrote, as record_submissions stored it in OUT."""
    folder = out / "written"
    return _read_each(
        out / CLASS, lambda a: json.loads((folder / a.name.replace(".answers", "")).read_bytes())
    )


def _read_each(path: Path, read: Callable[[Path], T]) -> list[tuple[Recorded, T]]:
    """What `read` gives for the answers file of each submission in a class.json.

    Raises BatchError if a file does not exist.
    """
    try:
        return [(entry, read(path.parent / entry.answers)) for entry in _listed(path)]
    except FileNotFoundError as error:
        raise BatchError(
            f"{path} names {error.filename}, which does not exist. To fix it, copy the whole folder, or grade in "
            "another one."
        ) from None


def read_answers(path: Path) -> AnswersDocument:
    """Read an answers file. Raises BatchError if it is not one, and OSError if it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        document = None
    if not conforms(document, AnswersDocument):
        raise BatchError(f"{path} is not an answers file written by  minigrad record .")
    return cast(AnswersDocument, document)


def _listed(path: Path) -> list[Recorded]:
    """The submissions listed in a class.json."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [Recorded(**entry) for entry in document["submissions"]]
    except (ValueError, TypeError, KeyError):
        raise BatchError(f"{path} is damaged. To fix it, record the class again.") from None
