"""Whole runs: release, record, judge, grade, resume, regrade, and the adapter to nbval."""

import copy
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata
from types import SimpleNamespace

import nbformat
import pytest

from minigrad.grading import commands, doctor
from minigrad.grading.answers import encoded
from minigrad.grading.doctor import examine
from minigrad.grading.files import locked
from minigrad.grading.gate import gate_bundles
from minigrad.grading.judge import mistakes
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.release.check_cell import draw_inputs
from minigrad.grading.release.student import read_notebook
from minigrad.grading.run import batch
from minigrad.grading.run.batch import (
    BatchError,
    Settings,
    grade_class,
    read_class,
    record_submissions,
)
from minigrad.grading.run.record import job_of, record_submission
from minigrad.grading.sandbox import container, image
from minigrad.grading.sandbox.launch import Limits
from minigrad.grading.sandbox.wire import Kernel
from minigrad.teach import Exercise
from tests import grading_figures as figures
from tests.command import minigrad as run
from tests.grading_figures import class_of
from tests.submissions.answers import ANSWERS
from tests.submissions.authors import AUTHORS, by_exercise
from tests.submissions.classes import Class

choose = pytest.importorskip("minigrad.grading.sandbox.choose")


@pytest.fixture
def author(tmp_path):
    return Class(tmp_path / "author.ipynb").author


@pytest.fixture
def submitted(tmp_path):
    """Hand in answers by these names, and give the class."""
    return Class(tmp_path / "author.ipynb").submit_each


TWO = ("full_by_the_formula", "half_one_gradient")
THREE = (*TWO, "zero_off_by_a_millionth")


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory, tier):
    folder = tmp_path_factory.mktemp("graded")
    handed = Class(folder / "author.ipynb")
    bundles, submissions = make_bundles(handed.author), handed.submit_each(*THREE)
    grades = grade_class(submissions, *bundles, folder / "out", Settings(isolation=tier))
    return folder, bundles, grades


@pytest.fixture
def graded(graded_once, tmp_path):
    """A class of three that has been graded into tmp_path / "out": folder, recording, bundle and grades."""
    folder, bundles, grades = graded_once
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "class", *bundles, grades


def answers_of(grade, tmp_path):
    """The file in which the answers of this submission are recorded."""
    files = (tmp_path / "out" / "answers").iterdir()
    return next(p for p in files if grade["hashes"]["submission"] in p.read_text(encoding="utf-8"))


def points(grades):
    return {g["student"]: [q["results"] for q in g["questions"]] for g in grades}


def test_a_name_that_is_not_utf_8_or_a_file_that_changes_does_not_stop_a_run(
    author, submitted, tmp_path, tier, monkeypatch
):
    folder, out = submitted("full_by_the_formula", "half_one_gradient"), tmp_path / "out"
    first, second = sorted(os.listdir(os.fsencode(folder)))
    os.rename(os.fsencode(folder) + b"/" + first, os.fsencode(folder) + b"/\xff\xfe.ipynb")
    real = batch.record_job

    def record_job(job):
        if "half" in job["path"]:
            (folder / "01-half_one_gradient.ipynb").write_text("{}", encoding="utf-8")
        return real(job)

    monkeypatch.setattr(batch, "record_job", record_job)

    done = run("grade", folder, "-e", author, "-o", out, "--isolation", tier)

    assert done.exit_code == 1 and "1 of the submissions could not be run" in done.output
    grades = json.loads((out / "grades.json").read_text(encoding="utf-8"))["grades"]
    assert [g["points"] for g in grades] == [0, 4]
    assert "the file has changed since the run began" in grades[0]["unreadable"]
    answers = next(p for p in (out / "answers").iterdir() if "changed" not in p.read_text("utf-8"))
    os.rename(answers, os.fsencode(tmp_path) + b"/\xff.answers.json")

    done = run("judge", *tmp_path.glob("*.answers.json"), "-e", author, "-o", tmp_path / "again")

    assert done.exit_code == 0 and "4 of 4" in done.output


# ------------------------------------------------------------------------- the gate


def test_the_gate_refuses_a_solution_without_an_answer(author):
    notebook = read_notebook(author)
    notebook.cells[2].source = notebook.cells[2].source.replace("product", "other")
    nbformat.write(notebook, author)

    said = "the solution itself gives no answer to check/1/dx: NameError"
    with pytest.raises(Exception, match=said):
        gate_bundles(author, *make_bundles(author))


# ------------------------------------------------------------------------- the command line


def test_recording_and_judging_separately_gives_the_grades_of_grade(graded, tmp_path, tier):
    folder, _, _, together = graded

    released = run("release", tmp_path / "author.ipynb", "-o", tmp_path / "ex", "--no-run")
    assert released.exit_code == 0, released.output
    (tmp_path / "ex" / "grading" / "author.judge.json").rename(tmp_path / "author.judge.json")
    done = run("record", folder, "-e", tmp_path / "ex", "-o", tmp_path / "rec", "--isolation", tier)
    assert "3 submissions recorded" in done.output, done.output
    (tmp_path / "author.judge.json").rename(tmp_path / "ex" / "grading" / "author.judge.json")
    moved = (tmp_path / "rec").rename(tmp_path / "elsewhere")
    done = run("judge", moved, "-e", tmp_path / "ex", "-o", tmp_path / "judged")
    assert "00-full_by_the_formula: 4 of 4\n01-half_one_gradient: 2 of 4" in done.output

    judged = json.loads((tmp_path / "judged" / "grades.json").read_text(encoding="utf-8"))["grades"]
    assert points(judged) == points(together)
    for name in ("seed", "isolation", "limits", "versions", "hashes"):
        assert judged[0][name] and together[0][name]
    assert judged[0]["versions"]["self-test of the sandbox"] == "19 attacks tried, all blocked"


def test_one_notebook_is_recorded_into_a_file_that_can_be_judged(author, submitted, tmp_path, tier):
    run("release", author, "-o", tmp_path / "ex", "--no-run")
    (path,) = submitted("full_by_the_formula").iterdir()

    exercise, answers = tmp_path / "ex", tmp_path / "ana.answers.json"

    done = run("record", path, "-e", exercise, "-o", answers, "--isolation", tier)
    assert done.exit_code == 0, done.output
    done = run("judge", answers, "-e", exercise, "-o", tmp_path / "judged")

    assert "ana: 4 of 4" in done.output


@pytest.mark.parametrize(
    "arguments, said",
    [
        (
            ["grade", "{0}/nowhere", "-e", "{0}/author.ipynb", "-o", "{0}/o"],
            "nowhere does not exist",
        ),
        (["grade", "{0}/author.txt", "-e", "{0}/author.ipynb", "-o", "{0}/o"], "neither a folder"),
        (["grade", "{0}", "-e", "{0}", "-o", "{0}/o"], "must have one recording bundle"),
        (["grade", "{0}", "-e", "{0}/nowhere", "-o", "{0}/o"], "There is no {0}/nowhere"),
        (["judge", "{0}/class", "-e", "{0}/author.ipynb"], "There are no answers files"),
    ],
)
def test_the_commands_explain_what_is_missing(author, submitted, tmp_path, arguments, said):
    submitted("full_by_the_formula")
    (tmp_path / "author.txt").touch()

    done = run(*(a.format(tmp_path) for a in arguments))

    assert done.exit_code == 1 and said.format(tmp_path) in done.output


@pytest.mark.parametrize(
    "wrong", [["--isolation", "moon"], ["-o", "{0}/author.ipynb"], ["--seconds", "inf"]]
)
def test_a_wrong_option_is_refused_before_anything_runs(author, submitted, tmp_path, wrong):
    submitted("full_by_the_formula")
    wrong = [a.format(tmp_path) for a in wrong]

    done = run("grade", tmp_path, "-e", tmp_path / "author.ipynb", *wrong)

    assert done.exit_code == 2 and "Invalid value for" in done.output


def test_pytest_judges_answers_too(graded, tmp_path):
    run("release", tmp_path / "author.ipynb", "-o", tmp_path / "ex", "--no-run")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "nbval.plugin", "-p", "minigrad.grading.plugin"]
        + ["--noconftest", "-c", os.devnull, "--rootdir", tmp_path, "--nbval-current-env", "-q"]
        + [f"--minigrad={tmp_path}/ex/grading/author.judge.json", tmp_path / "out" / "answers"],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
    )

    assert "2 failed, 7 passed" in done.stdout, done.stdout
    assert "check/1/dy: wrong value: 3 of 3" in done.stdout


# ------------------------------------------------------------------------- resuming


def test_a_recorded_submission_is_not_run_again(graded, tmp_path, monkeypatch):
    folder, recording, bundle, first = graded
    monkeypatch.setattr(batch, "record_job", None)  # running anything would fail
    monkeypatch.setattr(batch, "choose_sandbox", None)  # and so would a machine without a sandbox

    again = grade_class(folder, recording, bundle, tmp_path / "out")

    assert points(first) == points(again)


def test_a_late_submission_gets_its_own_inputs(graded, submitted, tmp_path, tier):
    folder, recording, bundle, (first, *_) = graded
    out, settings = tmp_path / "out", Settings(isolation=tier)
    submitted(*THREE, "zero_swapped")  # the last is late

    listed = record_submissions(folder, recording, out, settings, lambda *progress: None)
    *before, late = grade_class(folder, recording, bundle, out, settings)

    assert before[0]["seed"] == first["seed"] != late["seed"]
    assert late["notes"] == ["recorded after the rest of the class, on different inputs"]
    assert read_class(out / "class.json") == listed  # it stays a late one


def test_answers_that_are_truncated_or_were_lost_by_the_machine_are_recorded_again(
    graded, tmp_path, tier
):
    folder, recording, bundle, first = graded
    truncated, lost, _ = (answers_of(grade, tmp_path) for grade in first)
    truncated.write_text(truncated.read_text(encoding="utf-8")[:100], encoding="utf-8")
    recorded = json.loads(lost.read_text(encoding="utf-8"))
    recorded |= {"questions": {}, "unreadable": "lost", "lost": True}
    lost.write_text(json.dumps(recorded), encoding="utf-8")

    again = grade_class(folder, recording, bundle, tmp_path / "out", Settings(isolation=tier))

    assert points(first) == points(again)
    assert [(g["points"], g["unreadable"]) for g in again] == [(4, None), (2, None), (0, None)]


def test_two_runs_are_not_mixed(graded, tmp_path, tier):
    folder, recording, bundle, _ = graded

    with pytest.raises(BatchError, match="another seed"):
        grade_class(folder, recording, bundle, tmp_path / "out", Settings("mine", isolation=tier))
    with pytest.raises(BatchError, match="another limits.* copy manual.csv into it"):
        settings = Settings(isolation=tier, limits=Limits(cell=99))
        grade_class(folder, recording, bundle, tmp_path / "out", settings)


@pytest.mark.parametrize("place", [".", "graded"])
def test_results_are_not_written_among_the_submissions(author, submitted, place):
    folder = submitted("full_by_the_formula")
    before = sorted(folder.rglob("*"))

    with pytest.raises(
        BatchError, match="the folder of submissions.* choose another folder with  -o"
    ):
        grade_class(folder, *make_bundles(author), folder / place)

    assert sorted(folder.rglob("*")) == before


def test_two_runs_cannot_write_to_one_folder_at_once(author, submitted, tmp_path):
    folder = submitted("full_by_the_formula")

    with locked(tmp_path / "out" / "run.json"), pytest.raises(BatchError, match="Another run is"):
        grade_class(folder, *make_bundles(author), tmp_path / "out")

    assert not (tmp_path / "out" / "run.json").exists()


def test_different_inputs_for_each_submission_give_the_same_points(
    author, submitted, tmp_path, tier
):
    folder = submitted(*TWO)
    recording, bundle = make_bundles(author)

    settings = Settings(each=True, isolation=tier)
    grades = grade_class(folder, recording, bundle, tmp_path / "o", settings)

    assert [g["points"] for g in grades] == [4, 2]
    assert grades[0]["seed"] != grades[1]["seed"]


def test_a_killed_run_is_resumed_and_counts_nothing_twice(author, submitted, tmp_path, tier):
    folder = submitted(*["full_slow_but_in_time", "half_one_gradient", "zero_swapped"] * 2)
    command = [sys.executable, "-m", "minigrad.cli", "grade", folder, "-e", author, "--seed", "s"]
    command += ["--isolation", tier, "-o", tmp_path / "killed"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    answers = tmp_path / "killed" / "answers"
    while process.poll() is None and (
        not answers.exists() or len(list(answers.glob("*.answers.json"))) < 2
    ):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(list(answers.glob("*.answers.json"))) < 6
    recording, bundle = make_bundles(author)

    resumed = grade_class(folder, recording, bundle, tmp_path / "killed", Settings(isolation=tier))

    assert {g["seed"] for g in resumed} == {"s"}
    right = [{r["id"] for r in g["questions"][0]["results"] if r["ok"]} for g in resumed]
    dx, dy = ({f"check/{case}/{name}" for case in (1, 2)} for name in ("dx", "dy"))
    assert right == [dx | dy, dx, set()] * 2


@pytest.mark.skipif(not os.environ.get("MINIGRAD_SLOW"), reason="slow: set MINIGRAD_SLOW=1")
def test_a_synthetic_class_gets_the_expected_points(tmp_path, tier):
    expected = class_of(10, tmp_path)
    settings = Settings(isolation=tier, limits=Limits(cell=3))
    bundles = make_bundles(tmp_path / "author.ipynb")

    grades = grade_class(tmp_path / "class", *bundles, tmp_path / "out", settings)

    assert {g["student"]: g["points"] for g in grades} == expected
    assert {name.split("_")[1] for name in expected} == {"honest", "broken", "hostile"}


@pytest.mark.skipif(not os.environ.get("MINIGRAD_SLOW"), reason="slow: set MINIGRAD_SLOW=1")
def test_killed_at_ten_random_moments_the_grades_are_the_same_to_the_byte(tmp_path, tier):
    expected = class_of(20, tmp_path)
    figures.run(tmp_path, "whole", "--isolation", tier)

    figures.killed_at_random(tmp_path, 10, "--isolation", tier)

    assert figures.equal(tmp_path, "whole", "fuzzed")
    assert not figures.wrong(tmp_path, "fuzzed", expected)


def test_processes_of_a_killed_run_end_with_it(author, submitted, tmp_path, tier):
    folder = submitted("zero_sleeps")
    command = [sys.executable, "-m", "minigrad.cli", "grade", folder, "-e", author]
    command += ["--isolation", tier, "-o", tmp_path / "out"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait_for_a_kernel(process)
    pids = set(figures._descendants(process.pid)) - {process.pid}

    process.kill()
    process.wait()

    ends = time.monotonic() + 120
    while any(_command(p) for p in pids) and time.monotonic() < ends:
        time.sleep(0.05)
    assert pids and not any(_command(p) for p in pids)


def test_a_run_that_is_terminated_leaves_no_temporary_files(author, submitted, tmp_path, tier):
    folder, temporary = submitted("zero_sleeps"), tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "minigrad.cli", "grade", folder, "-e", author]
    command += ["--isolation", tier, "-o", tmp_path / "out"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    _wait_for_a_kernel(process)
    used = list(temporary.iterdir())

    process.terminate()

    assert "Stopped. To continue, give the same command again." in process.communicate()[1]
    assert process.returncode == 130
    assert used and not list(temporary.iterdir())


def _wait_for_a_kernel(process):
    started = set()
    while process.poll() is None and not any("grading.run.recorder" in name for name in started):
        started = {_command(p) for p in figures._descendants(process.pid)}
        time.sleep(0.05)
    time.sleep(1)  # the answer sleeps in a kernel, until its time is up


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def test_images_unused_for_a_month_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old, recent = tmp_path / "minigrad" / "kernel-old", tmp_path / "minigrad" / "kernel-recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
    long_ago = time.time() - 40 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    monkeypatch.setattr(image, "build_image", lambda folder, **settings: folder.mkdir())

    made = image.cached_image(False)

    assert made.is_dir() and recent.is_dir() and not old.exists()


def test_without_a_home_images_are_temporary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # of a user without an account
    monkeypatch.setattr(image, "build_image", lambda folder, **settings: folder.mkdir())
    monkeypatch.setattr(image, "_temporary_folder", image._temporary_folder.__wrapped__)

    made = image.cached_image(False)

    assert made.is_absolute() and made.is_dir() and not list(tmp_path.iterdir())


# ------------------------------------------------------------------------- judging


def test_judging_again_runs_no_student_code_and_applies_a_new_tolerance(graded, tmp_path):
    _, _, bundle, (*_, before) = graded
    bundle = copy.deepcopy(bundle)
    bundle.data["questions"][0]["rtol"] = 1e-5
    answers = answers_of(before, tmp_path).read_text(encoding="utf-8")

    (after,) = judge(bundle, [json.loads(answers)])

    assert (before["points"], after["points"]) == (0, 4)


def test_judging_restarts_a_kernel_that_died_before_its_first_message(
    graded, tmp_path, monkeypatch
):
    _, _, bundle, (first, *_) = graded
    path = answers_of(first, tmp_path)
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(
        "import os, pathlib\n"
        f"died = pathlib.Path({str(tmp_path / 'died')!r})\n"
        "if not died.exists():\n    died.touch()\n    os._exit(1)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    (grade,) = judge(bundle, [json.loads(path.read_text(encoding="utf-8"))])

    assert (tmp_path / "died").exists() and grade["points"] == 4


def test_feedback_names_the_mistake_and_shows_no_value(tmp_path, tier):
    handed = Class(tmp_path / "author.ipynb", by_exercise("[[(3,), (3,)], [(2, 3), (2, 3)]]"))
    handed.submit("ana", answer=ANSWERS["reverse"]["zero_swapped"])

    settings, bundles = Settings(isolation=tier), make_bundles(handed.author)
    (grade,) = grade_class(handed.folder, *bundles, tmp_path / "out", settings)

    (question,) = grade["questions"]
    assert {d["kind"] for d in question["diagnoses"]} == {"exchanged"}
    assert not re.search(r"\d\.\d\d", json.dumps(question["diagnoses"]))


def test_diagnoses_that_were_found_in_time_are_kept(monkeypatch):
    exercise = Exercise("product_backward", lambda x, y: x * y, shapes=[[(3,), (3,)]])
    (case,) = exercise.cases("seed")
    swapped = [encoded(case.g * case.inputs[name]) for name in "xy"]
    wrong = {"exercise": "e", "seed": "seed", "answers": [swapped], "wrong": [[0, 0], [0, 1]]}
    clock = iter([0.0, 1.0, 1e9])
    monkeypatch.setattr(mistakes, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    first, second = mistakes.explained({"e": exercise}, [wrong, wrong])

    assert {found["kind"] for found in first} == {"exchanged"} and second == []


def test_nbval_has_everything_that_we_rely_on():
    from nbval.kernel import RunningKernel
    from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

    source = inspect.getsource(IPyNbCell.runtest)
    assert "self.compare_outputs(outs, coalesce_streams(self.cell.outputs))" in source
    assert "self.parent.get_kernel_message(timeout=self.output_timeout)" in source
    assert "self.options['check']" in source and "self.comparison_traceback" in source
    message = inspect.signature(IPyNbFile.get_kernel_message).parameters
    compare = inspect.signature(IPyNbCell.compare_outputs).parameters
    assert [*message] == ["self", "timeout", "stream"]
    assert [*compare][:3] == ["self", "test", "ref"]
    assert {"collect", "setup", "teardown"} <= set(vars(IPyNbFile))
    assert callable(RunningKernel.get_message) and callable(RunningKernel.is_alive)
    assert issubclass(NbCellError, Exception)


# ------------------------------------------------------------------------- the sandbox


def test_without_a_sandbox_every_report_says_so_and_no_temporary_file_is_left(
    author, submitted, tmp_path
):
    folder, temporary = submitted("full_by_the_formula"), tmp_path / "t"
    temporary.mkdir()
    command = [sys.executable, "-m", "minigrad.cli", "grade", folder, "-e", author]
    command += ["-o", tmp_path / "out", "--isolation", "none"]

    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(temporary)}, capture_output=True, encoding="utf-8"
    )

    assert "Isolation: none." in done.stdout, done.stderr
    assert "Isolation: none" in (tmp_path / "out" / "overview.html").read_text(encoding="utf-8")
    document = json.loads((tmp_path / "out" / "grades.json").read_text(encoding="utf-8"))
    assert document["isolation"] == ["none"] and document["grades"][0]["points"] == 4
    assert not list(temporary.iterdir())


def test_kernels_that_start_slowly_cost_no_points(tmp_path, monkeypatch):
    notebook = copy.deepcopy(AUTHORS["reverse"])
    again = copy.deepcopy(notebook.cells[3])
    again.id = again.metadata.nbgrader["grade_id"] = "again"
    notebook.cells.append(again)
    handed, limits = Class(tmp_path / "author.ipynb", notebook), Limits(submission=2)
    content = handed.submit("ada", answer=ANSWERS["reverse"]["full_by_the_formula"]).read_bytes()
    recording, _ = make_bundles(handed.author)
    job = job_of(recording, "seed", "none", limits)
    job["drawn"] = draw_inputs(recording.questions, recording.sources, "seed")
    start = Kernel._start
    monkeypatch.setattr(Kernel, "_start", lambda self: (time.sleep(2), start(self)))

    document = record_submission(job, content, choose.choose_sandbox("none"))

    assert [answers["reason"] for answers in document["questions"].values()] == [None, None]


def test_only_a_kernel_that_dies_twice_costs_the_question(tmp_path):
    handed, right = Class(tmp_path / "author.ipynb"), ANSWERS["reverse"]["full_by_the_formula"]
    for times, student in ((1, "once"), (2, "twice")):
        deaths = str(tmp_path / student)
        dies = f"import os\nwith open({deaths!r}, 'a') as file:\n    file.write('.')\n"
        dies += f"if os.path.getsize({deaths!r}) <= {times}:\n    os._exit(1)\n"
        handed.submit(student, answer=dies + right)
    bundles, settings = make_bundles(handed.author), Settings(isolation="none")

    once, twice = grade_class(handed.folder, *bundles, tmp_path / "out", settings)

    assert (once["points"], twice["points"]) == (4, 0)
    assert once["questions"][0]["reason"] is None
    assert twice["questions"][0]["reason"].endswith("ended the kernel (exit status 1)")


def test_the_doctor_says_how_to_fix_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("MINIGRAD_CHROMIUM", raising=False)
    container.engine.cache_clear()  # of a machine that has one
    tried = lambda tier, image: choose.try_tier(tier, image) if tier != "landlock" else no_landlock
    no_landlock = choose.Finding("landlock", False, "not here", choose.FIXES["landlock"])
    monkeypatch.setattr(doctor, "try_tier", tried)  # it needs no program, so it may hold

    found = {f.what: f for f in examine()}

    container.engine.cache_clear()
    assert found["numpy"].there
    assert not found["sandbox bwrap"].there
    assert "apt-get install bubblewrap" in found["sandbox bwrap"].fix
    assert "apt-get install podman" in found["sandbox container"].fix
    assert "chromium" in found["a browser (for its tests)"].fix
    assert all(f.fix for f in found.values() if not f.there)


def test_the_doctor_names_the_versions_that_are_needed(monkeypatch):
    old = {"nbval": "0.10.0"}
    monkeypatch.setattr(doctor, "version", lambda name: old.get(name) or metadata.version(name))

    found = doctor._package("nbval", needed=True)

    assert not found.there and "0.10.0" in found.detail
    assert found.fix.endswith('-m pip install "nbval<0.12,>=0.11"')


def test_the_doctor_writes_json_and_its_exit_status_says_whether_grading_is_possible(monkeypatch):
    numpy = doctor.MachineFinding("numpy", True, "2.0", "get one", needed=True)
    sandbox = doctor.MachineFinding(
        "a sandbox for grading", False, "none holds", "get one", needed=True
    )
    dask = doctor.MachineFinding("Dask", False, "not installed", "pip install it")
    seen = {}
    for name, found in (("ready", [numpy, dask]), ("not ready", [numpy, sandbox])):
        monkeypatch.setattr(commands, "examine", lambda found=found: iter(found))
        seen[name] = run("doctor", "--json"), run("doctor")

    assert [r.exit_code for r in seen["ready"]] == [0, 0]
    assert [r.exit_code for r in seen["not ready"]] == [1, 1]
    document = json.loads(seen["not ready"][0].output)
    assert document["ready"] is False
    assert [f["fix"] for f in document["findings"]] == [None, "get one"]
    assert "NO   a sandbox for grading" in seen["not ready"][1].output
    assert "to fix it:  get one" in seen["not ready"][1].output


def test_a_recorder_gets_the_self_test_result_of_its_own_tier_only(monkeypatch):
    def never(tier, image):
        raise AssertionError("tried again")

    monkeypatch.setattr(choose, "try_tier", never)
    monkeypatch.setattr(choose, "_found", {})
    choose.choose_sandbox.cache_clear()

    monkeypatch.setenv(choose.TESTED, "bwrap 17")
    with pytest.raises(AssertionError, match="tried again"):
        choose.choose_sandbox("landlock")
    assert choose.choose_sandbox("bwrap").tier == "bwrap"
    assert choose.tested() == {choose.TESTED: "bwrap 17"}
    choose.choose_sandbox.cache_clear()
