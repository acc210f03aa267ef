"""The command line of grading: minigrad release | record | judge | grade | doctor.

Each command says what it did; the work is done elsewhere.
"""

import json
import secrets
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from minigrad.grading.batch import BatchError, Settings, grade_class, record_class
from minigrad.grading.bundles import find_bundles, make_bundles, write_bundles
from minigrad.grading.collect import NoSubmissions, Submission
from minigrad.grading.doctor import examine, report
from minigrad.grading.gate import NbvalDidNotRun, gate, gate_bundles
from minigrad.grading.judge import JudgeError
from minigrad.grading.judge import judge as judge_answers
from minigrad.grading.place import place_here
from minigrad.grading.record import FORMAT
from minigrad.grading.recorder import RecorderFailed
from minigrad.grading.release import ReleaseError
from minigrad.grading.release import release as write_release
from minigrad.grading.reports import write_reports
from minigrad.grading.reports.document import clean
from minigrad.grading.sandbox.image import NoSuchPackage
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.sandbox.selftest import NoSandbox
from minigrad.grading.trusted import GivenCellsFailed

app = typer.Typer()

Exercise = Annotated[
    Path,
    typer.Option(
        "--exercise",
        "-e",
        help="What release wrote: the folder, or a bundle; or the author's notebook.",
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder for what is written.")]
Seed = Annotated[
    str | None, typer.Option(help="What inputs are drawn from. Left out: a new secret one.")
]
Isolation = Annotated[
    str,
    typer.Option(
        help="auto, bwrap, landlock, container; or none, which lets students' code do anything."
    ),
]
CellSeconds = Annotated[float, typer.Option(min=0.1, help="The time limit of one cell.")]
Seconds = Annotated[float, typer.Option(min=1, help="The time limit of one submission.")]
Memory = Annotated[int, typer.Option(min=256, help="Megabytes of memory for one kernel.")]


@app.command()
def release(
    author: Annotated[Path, typer.Argument(help="The author's notebook, solutions included.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for the student's notebook.")
    ],
    run: Annotated[
        bool,
        typer.Option(
            "--run/--no-run", help="Also check that the solution passes and the stub fails."
        ),
    ] = True,
) -> None:
    """Write the student's notebook from an author's notebook.

    Solutions become stubs, outputs and hidden tests are removed. Nothing is written if a line of
    a solution would be left, if the solution fails its own checks, or if the untouched starter
    passes them.
    """
    try:
        if run:
            gate(author)
        bundles = make_bundles(author)
        if run and bundles is not None:
            gate_bundles(author, *bundles)
        student = write_release(author, out)
        if bundles is not None:
            folder = student.parent / "grading"
            recording, judge = write_bundles(*bundles, folder)
    except ReleaseError as error:
        _stop(str(error))
    except (NbvalDidNotRun, JudgeError) as error:
        _stop(f"The notebook could not be run. {error}")
    except OSError as error:
        _stop(f"The student's notebook cannot be written to {out}: {error.strerror or error}.")
    checked = "  (the solution passes, the starter fails)" if run else ""
    typer.echo(f"wrote {student}{checked}")
    if bundles is not None:
        typer.echo(f"wrote {recording} and {judge}, for  minigrad grade: not for students")


@app.command()
def record(
    submission: Annotated[Path, typer.Argument(help="A student's notebook.")],
    exercise: Exercise,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The answers file to write.")
    ] = None,
    seed: Seed = None,
    isolation: Isolation = "auto",
    cell_seconds: CellSeconds = 10.0,
    seconds: Seconds = 120.0,
    memory: Memory = 2048,
) -> None:
    """Run one submission in the sandbox, and write what it answers. Nothing is judged."""
    with _told():
        recording, _ = find_bundles(exercise, judge=False)
        target = out or Path(f"{submission.stem}.answers.json")
        tier = place_here(isolation, recording.engine, recording.packages).tier
        limits = Limits(cell=cell_seconds, submission=seconds, memory=memory)
        settings = Settings(isolation=isolation, limits=limits, jobs=1)
        (document,) = record_class(
            [Submission(submission.stem, submission)],
            recording,
            None,
            seed or secrets.token_hex(16),
            tier,
            settings,
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for question, said in document["questions"].items():
        typer.echo(f"{question}: {len(said['answers'])} answers{_because(said['reason'])}")
    if document["unreadable"]:
        typer.echo(f"{submission} cannot be read: {document['unreadable']}")
    typer.echo(f"wrote {target}  (isolation: {tier})")


@app.command()
def judge(
    answers: Annotated[list[Path], typer.Argument(help="Answers files, or folders of them.")],
    exercise: Exercise,
    out: Out = Path("graded"),
) -> None:
    """Judge recorded answers against the solution, through nbval. Runs no student's code."""
    with _told():
        _, bundle = find_bundles(exercise)
        files = [
            f for a in answers for f in (sorted(a.glob("*.answers.json")) if a.is_dir() else [a])
        ]
        documents = [_answers(path) for path in files]
        if not documents:
            _stop("There are no answers files there. To fix it, run  minigrad record  first.")
        grades = judge_answers(bundle, documents)
        for grade, path in zip(grades, files):
            grade["student"], grade["file"] = path.name.removesuffix(".answers.json"), path.name
        written = write_reports(grades, out)
    for grade in grades:
        typer.echo(f"{grade['student']}: {grade['points']:g} of {grade['of']:g}")
    _say_written(written)


@app.command()
def grade(
    submissions: Annotated[
        Path,
        typer.Argument(help="A folder, a zip file, or nbgrader's folder with submitted/ in it."),
    ],
    exercise: Exercise,
    out: Out = Path("graded"),
    seed: Seed = None,
    each: Annotated[
        bool, typer.Option("--each", help="Draw inputs of its own for every submission.")
    ] = False,
    isolation: Isolation = "auto",
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, help="How many run at once; 0: one for each core.")
    ] = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster with this address.")
    ] = None,
    cell_seconds: CellSeconds = 10.0,
    seconds: Seconds = 120.0,
    memory: Memory = 2048,
) -> None:
    """Grade a class: record every submission in the sandbox, judge them all, write the reports.

    Killed at any moment, the same command goes on where it was. Exit status 0 means that every
    submission has a grade, whatever the grades are.
    """
    with _told():
        recording, bundle = find_bundles(exercise)
        settings = Settings(
            seed=seed,
            each=each,
            isolation=isolation,
            jobs=jobs,
            scheduler=scheduler,
            limits=Limits(cell=cell_seconds, submission=seconds, memory=memory),
        )
        with _Bar() as bar:
            grades = grade_class(submissions, recording, bundle, out, settings, bar.show)
        written = write_reports(grades, out)
    unreadable = sum(g["unreadable"] is not None for g in grades)
    confirm = sum(g["confirm"] for g in grades)
    tiers = ", ".join(sorted({g["isolation"] for g in grades}))
    if "none" in tiers:
        typer.echo("Isolation: none. Students' code ran without a sandbox.")
    typer.echo(
        f"{len(grades)} submissions graded, {unreadable} of them unreadable, "
        f"{confirm} to be confirmed (isolation: {tiers})"
    )
    _say_written(written)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="A JSON document instead.")] = False,
) -> None:
    """What this machine can do: front ends, browser, sandboxes, cluster; and how to fix what is missing.

    Exit status 1 means that something is missing without which nothing can be graded.
    """
    found = []
    for finding in examine():
        found.append(finding)
        if as_json:
            continue
        mark = "yes" if finding.there else "NO " if finding.needed else "no "
        typer.echo(f"{mark}  {finding.what:<28} {finding.detail}")
        if not finding.there and finding.mend:
            typer.echo(f"     to fix it:  {finding.mend}")
    document = report(found)
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    if not document["ready"]:
        raise typer.Exit(1)


class _Bar:
    """A progress bar with rate and time left, on the terminal's error output."""

    def __init__(self) -> None:
        class Rate(ProgressColumn):
            def render(self, task: Any) -> Text:
                speed = task.finished_speed or task.speed
                return Text(f"{60 * speed:.0f}/min" if speed else "")

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            Rate(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task("starting", total=None)
        self.begun = False

    def __enter__(self) -> "_Bar":
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def show(self, done: int, of: int, what: str) -> None:
        if not self.begun:  # what was there before does not count for the rate
            self.begun = True
            self.bar.reset(self.task, total=of, completed=done, description=what)
        self.bar.update(self.task, completed=done, total=of, description=what)


class _told:
    """Errors that are meant for the user end the command with their message."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        known = (BatchError, NoSubmissions, JudgeError, RecorderFailed, ReleaseError)
        if isinstance(error, (*known, NoSuchPackage, NoSandbox, GivenCellsFailed)):
            _stop(str(error))
        if isinstance(error, OSError):
            _stop(f"{error.filename or 'A file'}: {error.strerror or error}.")


def _answers(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _stop(f"{path} holds no answers that  minigrad record  wrote.")
    return document


def _because(reason: str | None) -> str:
    return f"  ({clean(reason)})" if reason else ""


def _say_written(paths: list[Path]) -> None:
    typer.echo("wrote " + ", ".join(str(path) for path in paths))


def _stop(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)
