"""The grading commands: minigrad release | record | judge | grade | mark | course | export | doctor.

This module parses options and prints results; the other modules of the package do the work.
"""

import json
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from rich import progress
from rich.console import Console
from rich.text import Text
from typer import Argument, Option

from minigrad.grading.assignment import Assignment, grade_assignment
from minigrad.grading.doctor import examine, report
from minigrad.grading.documents import AnswersDocument, Isolation
from minigrad.grading.export.autograder import make_package
from minigrad.grading.export.lms import read_marks, write_marks
from minigrad.grading.files import one_line, write_json
from minigrad.grading.gate import NbvalDidNotRun, gate, gate_bundles
from minigrad.grading.gradebook.book import NOTHING_HANDED_IN, Gradebook, gradebook_of
from minigrad.grading.gradebook.course import course_of, gradebook_lines, write_course
from minigrad.grading.gradebook.csv_files import GradebookError, points_text
from minigrad.grading.gradebook.roster import UNKNOWN_STUDENT
from minigrad.grading.gradebook.settings import NAME, CourseSettings, read_settings
from minigrad.grading.judge.grades import JudgeError
from minigrad.grading.marking import MarkingServer
from minigrad.grading.release.bundles import (
    Recording,
    find_bundles,
    find_recording,
    make_bundles,
    write_bundles,
)
from minigrad.grading.release.markers import ReleaseError
from minigrad.grading.release.questions import differing_points, unasked
from minigrad.grading.release.student import read_notebook, release
from minigrad.grading.reports import write_reports
from minigrad.grading.run import batch
from minigrad.grading.run.collect import NoSubmissions, Submission
from minigrad.grading.run.recorder import TRY_AGAIN, RecorderFailed
from minigrad.grading.sandbox.choose import NoSandbox
from minigrad.grading.sandbox.image import NoSuchPackage
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.trusted import GivenCellsFailed
from minigrad.tape.names import count_of

app = typer.Typer(rich_markup_mode="markdown")

DAY = 24 * 3600

EXERCISE = "The folder that release wrote, one of its bundles, or the author's notebook."
SEVERAL = f"{EXERCISE} Repeat it if the assignment has several notebooks."

Exercise = Annotated[Path, Option("--exercise", "-e", help=EXERCISE)]
Exercises = Annotated[list[Path], Option("--exercise", "-e", help=SEVERAL)]
Out = Annotated[Path, Option("--out", "-o", file_okay=False, help="The folder for the results.")]
SUBMISSIONS = "A folder, a zip file, nbgrader's course folder (with submitted/), or a notebook."
Submissions = Annotated[Path, Argument(help=SUBMISSIONS)]
RECORDED = "The folder to write to; for a single notebook, the answers file (.json)."
Each = Annotated[bool, Option("--each", help="Draw different inputs for each submission.")]
JOBS = "How many to run at once; 0 means one per core."
Jobs = Annotated[int, Option("--jobs", "-j", min=0, help=JOBS)]
Scheduler = Annotated[str | None, Option(help="The address of a Dask cluster to run on.")]
SEED = "The seed for the test inputs. By default, a new secret one."
Seed = Annotated[str | None, Option(help=SEED)]
SANDBOX = "The sandbox for students' code. auto takes the strongest that works here; none lets the code do anything."
Sandbox = Annotated[Isolation, Option(help=SANDBOX)]
CellSeconds = Annotated[float, Option(min=0.1, max=DAY, help="The time limit of one cell.")]
Seconds = Annotated[float, Option(min=1, max=DAY, help="The time limit of one submission.")]
NAMED = "The assignment's name in gradebook.toml. By default, that of the exercise, or of OUT if there are several."
AssignmentName = Annotated[str | None, Option(help=NAMED)]
SETTINGS = (
    f"The file with deadline, late policy, roster and weights (see GRADEBOOK.md). By default, {NAME} in this "
    "folder, if there is one."
)
SettingsFile = Annotated[Path | None, Option("--settings", help=SETTINGS)]
WHEEL = "For gradescope, a wheel of minigrad. By default, this version from PyPI."
Wheel = Annotated[Path | None, Option(help=WHEEL)]
Memory = Annotated[int, Option(min=256, help="Memory for one kernel, in megabytes.")]
FOLDERS = "The folder that grade wrote; by default, graded. For gradescope, what release wrote, for each notebook."
Folders = Annotated[list[Path] | None, Argument(help=FOLDERS)]
ROSTER = "The file that Canvas or Moodle exported. By default, the roster of the settings."


@app.command("release")
def release_command(
    author: Annotated[Path, Argument(help="The author's notebook, solutions included.")],
    out: Out,
    run: Annotated[
        bool, Option(help="Also check that the solution passes and the stub fails.")
    ] = True,
) -> None:
    """Make the student's notebook from the author's notebook.

    Solutions become stubs; outputs and hidden tests are removed. Nothing is written if a line of
    a solution would remain, if the solution fails its own checks, or if the untouched starter
    passes them.
    """
    changed: dict[str, list[str]] = {}
    with _errors_shown():
        if run:
            gate(author)
        bundles = make_bundles(author)
        if run and bundles is not None:
            changed = gate_bundles(author, *bundles)
        student = release(author, out)
        if bundles is not None:
            folder = student.parent / "grading"
            recording, judged = write_bundles(*bundles, folder)
    checked = "  (the solution passes, the starter fails)" if run else ""
    typer.echo(f"wrote {student}{checked}")
    if bundles is not None:
        typer.echo(f"wrote {recording} and {judged}, for  minigrad grade: not for students")
    questions = bundles[1].questions if bundles is not None else []
    for cell, points in unasked(read_notebook(author), questions):
        typer.echo(
            f"warning: {cell} has {points:g} points, but minigrad grade gives none for it, because it has neither a "
            "question nor an exercise declared in a given cell. To fix it, see AUTHORING.md, What a check cell may ask."
        )
    for cell, names in changed.items():
        typer.echo(
            f"note: the solution of {cell} changes its input {', '.join(names)} in place, so answers must, too. "
            "If that is not intended, let the solution compute with a copy."
        )
    for cell, points, declared in differing_points(questions):
        typer.echo(
            f'warning: {cell} counts for {points:g} points (nbgrader\'s "points"), but declares {declared:g}. '
            "To fix it, write the same number in both places."
        )


@app.command("record")
def record_command(
    submissions: Submissions,
    exercise: Exercise,
    out: Annotated[Path | None, Option("--out", "-o", help=RECORDED)] = None,
    seed: Seed = None,
    each: Each = False,
    isolation: Sandbox = "auto",
    jobs: Jobs = 0,
    scheduler: Scheduler = None,
    cell_seconds: CellSeconds = 10.0,
    seconds: Seconds = 120.0,
    memory: Memory = 2048,
) -> None:
    """Run submissions in the sandbox and write their answers to files, without judging them.

    This needs no solution: the *.recording.json that  release  wrote is enough. Run  minigrad judge  on the
    answers afterwards, on this machine or another.
    """
    limits = Limits(cell=cell_seconds, submission=seconds, memory=memory)
    with _errors_shown():
        recording = find_recording(exercise)
        settings = batch.Settings(seed, each, isolation, jobs, scheduler, limits)
        if submissions.suffix == ".ipynb" and submissions.is_file():
            _record_one(submissions, recording, settings, out)
            return
        folder = out or Path("recorded")
        with _progress_bar() as show:
            recorded = batch.record_submissions(submissions, recording, folder, settings, show)
    for entry, answers in recorded:
        if answers["unreadable"]:
            typer.echo(one_line(f"{entry.student}: {answers['unreadable']}"))
    tiers = ", ".join(sorted({answers["isolation"] for _, answers in recorded}))
    typer.echo(f"{count_of(len(recorded), 'submission')} recorded (isolation: {tiers})")
    if late := sum(entry.fresh for entry, _ in recorded):
        typer.echo(f"recorded after the rest of the class, on different inputs: {late}")
    typer.echo(f"wrote {folder}; to judge it, run  minigrad judge {folder} -e EXERCISE")


def _record_one(
    path: Path, recording: Recording, settings: batch.Settings, out: Path | None
) -> None:
    """Record one notebook, and print a summary of its answers."""
    target = out or Path(f"{path.stem}.answers.json")
    document = batch.record_one(Submission(path.stem, path), recording, settings)
    write_json(target, document)
    for question, recorded in document["questions"].items():
        because = f"  ({one_line(recorded['reason'])})" if recorded["reason"] else ""
        results = sum("/input " not in answer for answer in recorded["answers"])
        typer.echo(f"{question}: {results} answers{because}")
    if document["unreadable"]:
        typer.echo(one_line(f"{path} cannot be read: {document['unreadable']}"))
    typer.echo(f"wrote {target}  (isolation: {document['isolation']})")


@app.command("judge")
def judge_command(
    answers: Annotated[list[Path], Argument(help="Folders or answers files that record wrote.")],
    exercise: Exercise,
    out: Out = Path("graded"),
) -> None:
    """Compare recorded answers with the solution, through nbval. No student code runs."""
    with _errors_shown():
        _, bundle = find_bundles(exercise)
        recorded = [pair for source in answers for pair in _read_recorded(source)]
        if not recorded:
            _stop("There are no answers files there. To fix it, run  minigrad record  first.")
        grades = batch.judge_class(bundle, recorded)
        book = gradebook_of(bundle.name, [grades])
        written = write_reports(book, out)
    for grade in grades:
        typer.echo(f"{one_line(grade['student'])}: {grade['points']:g} of {grade['of']:g}")
    if bundle.manual:
        typer.echo("Without the answers that a person marks: use  minigrad grade  for those.")
    _print_written(written)


def _read_recorded(source: Path) -> list[tuple[batch.Recorded, AnswersDocument]]:
    """Read the answers in a folder or file. Students' names come from class.json, or from the file names."""
    for folder in (source, source.parent):
        if source.is_dir() and (folder / batch.CLASS).is_file():
            return batch.read_class(folder / batch.CLASS)
    files = sorted(source.glob("*.answers.json")) if source.is_dir() else [source]
    found = []
    for path in files:
        document, name = batch.read_answers(path), path.name
        student, sha = name.removesuffix(".answers.json"), document["submission"]
        found.append((batch.Recorded(student, name, None, sha, name), document))
    return found


@app.command("grade")
def grade_command(
    submissions: Submissions,
    exercise: Exercises,
    out: Out = Path("graded"),
    seed: Seed = None,
    each: Each = False,
    isolation: Sandbox = "auto",
    jobs: Jobs = 0,
    scheduler: Scheduler = None,
    settings_file: SettingsFile = None,
    assignment: AssignmentName = None,
    cell_seconds: CellSeconds = 10.0,
    seconds: Seconds = 120.0,
    memory: Memory = 2048,
) -> None:
    """Grade a class: run every submission in the sandbox, judge the answers, write the reports.

    If a run is killed, give the same command again: it continues where it stopped. Exit status 0 means that
    every submission has a grade, whatever the grades are; it is 1 if the machine could not run one of them.
    """
    with _errors_shown():
        exercises = [find_bundles(path) for path in exercise]
        name = assignment or (exercises[0][0].name if len(exercises) == 1 else out.resolve().name)
        to_grade = Assignment(name, exercises, _settings(settings_file).of(name))
        limits = Limits(cell=cell_seconds, submission=seconds, memory=memory)
        settings = batch.Settings(seed, each, isolation, jobs, scheduler, limits)
        with _progress_bar() as show:
            book = grade_assignment(to_grade, submissions, out, settings, show)
        before = _points_in(out / "gradebook.csv")
        written = write_reports(book, out)
    _print_changes(before, book)
    _print_summary(book, written)


LISTED = 20  # at most so many students are named


def _points_in(gradebook: Path) -> dict[str, str]:
    """The points of each student before this run; empty if there is no gradebook that can be read."""
    with suppress(GradebookError):
        return {line.student.id: points_text(line.points) for line in gradebook_lines(gradebook)}
    return {}


def _print_changes(before: dict[str, str], book: Gradebook) -> None:
    """Print whose points have changed since the run before: a check was corrected, or they handed in again."""
    now = {row.student.id: points_text(row.points) for row in book.rows}
    changed = [f"{s} {before[s]} -> {now[s]}" for s in now if before.get(s, now[s]) != now[s]]
    if changed:
        more = f", and {len(changed) - LISTED} more" if len(changed) > LISTED else ""
        who = count_of(len(changed), "student")
        typer.echo(one_line(f"points changed, for {who}: {', '.join(changed[:LISTED])}{more}"))


@app.command("mark")
def mark_command(
    folder: Annotated[Path, Argument(help="What grade wrote, or the CSV of marks.")] = Path(
        "graded"
    ),
    port: Annotated[int, Option(min=0, max=65535, help="0 means any free port.")] = 0,
    browser: Annotated[bool, Option(help="Open a browser window.")] = True,
) -> None:
    """Mark answers by hand, one at a time, in a browser page. To stop, press Ctrl-C.

    Points and comments are saved to the CSV at once. Run  minigrad grade  again to get them into the reports.
    """
    with _errors_shown():
        path = folder / "manual.csv" if folder.is_dir() else folder
        if not path.is_file():
            _stop(f"There is no {path}. To fix it, run  minigrad grade , or name the CSV of marks.")
        server = MarkingServer(path, port)
    typer.echo(f"Mark at {server.address}  (to stop, press Ctrl-C)")
    if browser:
        webbrowser.open(server.address)
    with server, suppress(KeyboardInterrupt):
        server.serve_forever()


@app.command("course")
def course_command(
    out: Annotated[Path, Option("--out", "-o", help="The CSV to write.")] = Path("course.csv"),
    settings_file: SettingsFile = None,
) -> None:
    """Compute each student's total for a course, in percent, from the gradebooks of its assignments."""
    with _errors_shown():
        if settings_file is None and not Path(NAME).is_file():
            _stop(
                f"There is no {NAME} in this folder. To fix it, write one (GRADEBOOK.md shows how), or name "
                "it:  minigrad course --settings FILE"
            )
        settings = _settings(settings_file)
        rows, missing = course_of(settings, (settings_file or Path(NAME)).parent / "graded")
        write_course(rows, out)
    for name, path in missing.items():
        typer.echo(f"{name} counts for nobody yet: there is no {path}")
        typer.echo(f"    To fix it, grade it with  -o {path.parent}, or name its folder in {NAME}.")
    unsure = sum(bool(row.notes) for row in rows)
    typer.echo(f"{count_of(len(rows), 'student')}, {unsure} with something to mark or to confirm")
    _print_written([out])


@app.command("export")
def export_command(
    to: Annotated[
        Literal["canvas", "moodle", "nbgrader", "gradescope"],
        Argument(help="The system that imports the file."),
    ],
    folders: Folders = None,
    roster: Annotated[Path | None, Option(help=ROSTER)] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", help="A CSV, nbgrader's .db, or a zip.")
    ] = None,
    assignment: AssignmentName = None,
    settings_file: SettingsFile = None,
    isolation: Sandbox = "auto",
    wheel: Wheel = None,
) -> None:
    """Write marks in a format that Canvas, Moodle or nbgrader imports, or an autograder for Gradescope."""
    with _errors_shown():
        endings = {"gradescope": [".zip"], "nbgrader": [".db", ".csv"]}.get(to, [".csv"])
        if out is not None and out.suffix.lower() not in endings:
            _stop(f"The name of the file must end in {' or '.join(endings)}, but {out} does not.")
        settings = _settings(settings_file)
        if to == "gradescope":
            package = make_package(folders or [], out, assignment, settings, isolation, wheel)
            _print_written([package])
            return
        if folders and len(folders) > 1:
            _stop("Export one assignment at a time. To fix it, name one folder that grade wrote.")
        marks = read_marks(folders[0] if folders else Path("graded"), assignment)
        path, absent = write_marks(to, marks, roster or settings.of(marks.name).roster, out)
    if absent:
        typer.echo(one_line(f"left out, because {to} does not know them: {', '.join(absent)}"))
    if unsure := sum(bool(mark.line.unsure) for mark in marks.students):
        typer.echo(f"students with something to mark or to confirm: {unsure} (see gradebook.csv)")
    _print_written([path])


@app.command("doctor")
def doctor_command(
    as_json: Annotated[bool, Option("--json", help="Write a JSON document instead.")] = False,
) -> None:
    """Show what this machine can do (front ends, browser, sandboxes, cluster), and how to add what is missing.

    Exit status 1 means that something is missing that grading needs.
    """
    found = []
    for finding in examine():
        found.append(finding)
        if as_json:
            continue
        mark = "yes" if finding.there else "NO " if finding.needed else "no "
        typer.echo(f"{mark}  {finding.what:<28} {finding.detail}")
        if not finding.there and finding.fix:
            typer.echo(f"     to fix it:  {finding.fix}")
    document = report(found)
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    if not document["ready"]:
        raise typer.Exit(1)


def _settings(path: Path | None) -> CourseSettings:
    """Read the settings: this file, or gradebook.toml in the current folder, or else the defaults."""
    if path is None and not Path(NAME).is_file():
        return CourseSettings()
    return read_settings(path or Path(NAME))


def _print_summary(book: Gradebook, written: list[Path]) -> None:
    """Print a summary of the run; exit with status 1 if some submissions could not be run."""
    rows = [row for row in book.rows if row.grades]
    tiers = ", ".join(sorted({grade["isolation"] for row in rows for grade in row.grades}))
    if "none" in tiers:
        typer.echo("Isolation: none. Students' code ran without a sandbox.")
    typer.echo(
        f"{count_of(len(rows), 'submission')} graded, {sum(bool(row.unreadable) for row in rows)} unreadable, "
        f"{sum(row.confirm for row in rows)} to be confirmed (isolation: {tiers})"
    )
    for row in rows:
        if row.unreadable:
            typer.echo("    " + one_line(f"{row.student.label}: {row.unreadable}"))
    _print_what_needs_attention(book)
    if any(row.open for row in rows):
        typer.echo(f"    To mark them, run  minigrad mark {written[0].parent}")
    _print_written(written)
    # a reason may hold a name that a student chose, but does not end with one
    lost = sum(any(str(g["unreadable"]).endswith(TRY_AGAIN) for g in row.grades) for row in rows)
    if lost:
        _stop(f"{lost} of the submissions could not be run: {TRY_AGAIN}.")


def _print_what_needs_attention(book: Gradebook) -> None:
    """Print what needs attention now; the rest is in the reports."""
    rows = book.rows
    due = [row.lateness for row in rows if row.lateness.due]
    unknown = "submissions without a late penalty, because no reliable time is known"
    counted: dict[str, Sequence[int]] = {
        "students who handed in nothing": [NOTHING_HANDED_IN in row.notes for row in rows],
        "submissions that match nobody on the roster": [UNKNOWN_STUDENT in r.notes for r in rows],
        "late submissions": [late.days > 0 for late in due],
        unknown: [late.time is None for late in due],
        "marks at the end of the CSV for a student or an answer that does not exist": [book.gone],
        "answers still to be marked by a person, with 0 points until then": [r.open for r in rows],
    }
    if book.idle:
        typer.echo(
            one_line(f"extensions for students who handed in nothing: {', '.join(book.idle)}")
        )
    if book.strays:
        left = ", ".join(book.strays)
        typer.echo(
            one_line(
                f"left out (no notebook; of nobody on the roster, or of a student with another file): {left}"
            )
        )
    for what, numbers in counted.items():
        if sum(numbers):
            typer.echo(f"{what}: {sum(numbers)}")


class _Rate(progress.ProgressColumn):
    """Submissions per minute."""

    def render(self, task: progress.Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{60 * speed:.0f}/min" if speed else "")


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar with rate and time left on stderr, if that is a terminal."""
    words = progress.TextColumn("{task.description}")
    times = (progress.TimeElapsedColumn(), progress.TimeRemainingColumn())
    columns = (words, progress.BarColumn(), progress.MofNCompleteColumn(), _Rate(), *times)
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def show(done: int, of: int, what: str) -> None:
            if bar.tasks[0].total is None:  # earlier runs do not count for the rate
                bar.reset(task, total=of, completed=done)
            bar.update(task, completed=done, total=of, description=what)

        try:
            yield show
        except KeyboardInterrupt:
            bar.stop()
            typer.echo("Stopped. To continue, give the same command again.", err=True)
            raise


SHOWN_ERRORS = (
    *(batch.BatchError, NbvalDidNotRun, NoSubmissions, JudgeError, RecorderFailed, ReleaseError),
    *(NoSuchPackage, NoSandbox, GivenCellsFailed, GradebookError),
)


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Print expected errors as a message instead of a traceback, and exit with status 1."""
    try:
        yield
    except SHOWN_ERRORS as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"{error.filename or 'A file'}: {error.strerror or error}.")


def _print_written(paths: list[Path]) -> None:
    typer.echo("wrote " + ", ".join(str(path) for path in paths))


def _stop(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)
