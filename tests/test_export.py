"""Exports: what Canvas, Moodle, nbgrader and Gradescope take in."""

import builtins
import json
import os
import subprocess
import sys
from decimal import Decimal
from zipfile import ZipFile

import pytest

from minigrad.grading.export.lms import read_marks, write_marks
from minigrad.grading.gradebook.book import Provided, gradebook_of
from minigrad.grading.gradebook.csv_files import GradebookError
from minigrad.grading.gradebook.roster import read_roster
from minigrad.grading.reports import write_reports
from tests.command import minigrad
from tests.submissions.classes import Class
from tests.test_gradebook import a_grade, a_question, rows_of

CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"ps1 (77)","other (78)",Current Score\n'
    ",,,,,Manual Posting,,\n"
    "    Points Possible,,,,,2.0,5.0,(read only)\n"
    '"Lovelace, Ada",101,007,ada@x.edu,Monday,,4,80\n'
    '"Babbage, Bo",102,008,bob@x.edu,Monday,1,4,80\n'
    '"Absent, Al",103,009,al@x.edu,Monday,1,4,80\n'
    '"Student, Test",,,,Monday,,,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments\n"
    "Participant 11,Ada Lovelace,ada@x.edu,Submitted,,{of},-,\n"
    "Participant 12,Bo Babbage,bo@x.edu,No submission,,{of},-,\n"
)


@pytest.fixture
def graded(tmp_path):
    """The reports of a class of three, by a roster of the teacher's own."""
    people = "ada,Ada Lovelace,ada@x.edu\nbo,Bo Babbage,\n"
    (tmp_path / "own.csv").write_text(f"id,name,email\n{people}", "utf-8")
    roster = read_roster(tmp_path / "own.csv")
    wrong = a_question(points=0.7, reason="1/dx: wrong value: 3 of 6, the first at [0, 1]")
    grades = [a_grade("ada", wrong), a_grade("eve")]
    write_reports(gradebook_of("ps1", [grades], Provided(roster=roster)), tmp_path / "graded")
    return tmp_path / "graded"


def test_the_canvas_file_has_canvas_s_columns_and_the_points_of_one_assignment(graded, tmp_path):
    (tmp_path / "theirs.csv").write_text(CANVAS, "utf-8")
    out = tmp_path / "canvas.csv"
    asked = ("export", "canvas", graded, "--roster", tmp_path / "theirs.csv", "-o", out)

    done = minigrad(*asked)

    assert done.exit_code == 0, done.output
    assert "left out, because canvas does not know them: eve" in done.output
    assert out.read_text("utf-8").splitlines() == [
        "Student,ID,SIS User ID,SIS Login ID,Section,ps1 (77)",
        "    Points Possible,,,,,2",
        '"Lovelace, Ada",101,007,ada@x.edu,Monday,0.7',
        '"Babbage, Bo",102,008,bob@x.edu,Monday,0',
    ]


def test_an_assignment_that_canvas_does_not_know_is_a_new_column(graded, tmp_path):
    (tmp_path / "theirs.csv").write_text(CANVAS, "utf-8")

    marks = read_marks(graded, "ps")
    path, _ = write_marks("canvas", marks, tmp_path / "theirs.csv", tmp_path / "c.csv")

    assert path.read_text("utf-8").splitlines()[0].endswith("Section,ps")


@pytest.mark.parametrize(
    "to, text, said",
    [
        ("canvas", CANVAS.replace("2.0", "3.0"), "ps1 has 3.0 points in this file, but 2 here."),
        ("canvas", MOODLE.format(of="2"), "and name it:  minigrad export canvas --roster FILE"),
        ("moodle", MOODLE.format(of='"100,00"'), "ps1 has 100,00 points in this file, but 2 here."),
        ("moodle", "Full name\n", "names no student"),
        ("moodle", None, "To fix it, name the file that it exported:  minigrad export moodle"),
    ],
)
def test_a_file_that_does_not_fit_the_gradebook_is_refused(graded, tmp_path, to, text, said):
    theirs = None if text is None else tmp_path / "theirs.csv"
    if theirs:
        theirs.write_text(text, "utf-8")

    with pytest.raises(GradebookError) as raised:
        write_marks(to, read_marks(graded), theirs, tmp_path / "x.csv")

    assert said in str(raised.value) and "To fix it" in str(raised.value)
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("worksheet", [True, False])
def test_the_moodle_file_has_grades_and_feedback(graded, tmp_path, worksheet):
    text = MOODLE.format(of="2.00") if worksheet else "username,email\nada,\nbo,\n"
    (tmp_path / "theirs.csv").write_text(text, "utf-8")

    marks = read_marks(graded)
    path, absent = write_marks("moodle", marks, tmp_path / "theirs.csv", tmp_path / "moodle.csv")

    ada, bo = rows_of(path)
    assert absent == ["eve"]
    assert (ada["Grade"], bo["Grade"]) == ("0.7", "0")
    assert "q: 0.7 of 2. 1 of 2 results are right." in ada["Feedback comments"]
    assert "nothing was handed in" in bo["Feedback comments"]
    if worksheet:
        assert list(ada) == text.splitlines()[0].split(",")
        assert (ada["Identifier"], ada["Status"]) == ("Participant 11", "Submitted")


def test_a_comment_for_moodle_is_html_in_which_a_student_s_text_stays_text(tmp_path):
    error = a_question(reason="1/dx: ValueError: <img src=x> & 2 <= 3\n=1+1")
    write_reports(gradebook_of("ps1", [[a_grade("ada", error)]]), tmp_path / "graded")
    (tmp_path / "theirs.csv").write_text("username,email\nada,\n", "utf-8")

    marks = read_marks(tmp_path / "graded")
    path, _ = write_marks("moodle", marks, tmp_path / "theirs.csv", tmp_path / "moodle.csv")

    (ada,) = rows_of(path)
    said = ada["Feedback comments"]
    assert (
        "&lt;<wbr>img src=x&gt;<wbr> &amp;<wbr> 2 &lt;<wbr>= 3<br>\n'=1+1" in said
        and "<img" not in said
    )


def test_an_exact_id_gets_its_mark_in_an_lms_whatever_others_are_called(tmp_path):
    full, none = a_question(points=2), a_question(points=0, reason="1/dx: wrong value")
    grades = [a_grade("ADA", none), a_grade("ada", full)]
    write_reports(gradebook_of("ps1", [grades]), tmp_path / "graded")
    (tmp_path / "theirs.csv").write_text("username,email\nada,\n", "utf-8")

    marks = read_marks(tmp_path / "graded")
    path, absent = write_marks("moodle", marks, tmp_path / "theirs.csv", tmp_path / "m.csv")

    assert [row["Grade"] for row in rows_of(path)] == ["2"] and absent == ["ADA"]


def test_nbgrader_s_database_gets_the_points_of_each_question_and_keeps_its_own(
    graded, tmp_path, monkeypatch
):
    api = pytest.importorskip("nbgrader.api")
    database = tmp_path / "gradebook.db"
    with monkeypatch.context() as beside:  # nbgrader runs alembic
        beside.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
        prepared = api.Gradebook(f"sqlite:///{database}")
    with prepared as db:
        db.add_student("ada", first_name="Augusta")
        db.add_assignment("ps0")

    for _ in range(2):
        write_marks("nbgrader", read_marks(graded), None, database)

    with api.Gradebook(f"sqlite:///{database}") as db:
        assert {a.name for a in db.assignments} == {"ps0", "ps1"}
        assert {s.student_id: s.score for s in db.find_assignment("ps1").submissions} == {
            "ada": 0.7, "bo": 0, "eve": 1,
        }  # fmt: skip
        assert db.find_student("ada").email == "ada@x.edu"
        assert db.find_assignment("ps1").max_score == 2


def test_without_nbgrader_its_csv_is_written_and_the_database_refused(
    graded, tmp_path, monkeypatch
):
    real = builtins.__import__

    def absent(name, *rest):
        if name.startswith("nbgrader"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    marks = read_marks(graded)
    with pytest.raises(GradebookError, match="nbgrader is not installed.*-o grades.csv"):
        write_marks("nbgrader", marks, None, tmp_path / "gradebook.db")

    path, _ = write_marks("nbgrader", marks, None, tmp_path / "grades.csv")

    ada = rows_of(path)[0]
    assert (ada["assignment"], ada["student_id"], ada["last_name"]) == ("ps1", "ada", "Lovelace")
    assert (Decimal(ada["score"]), ada["max_score"]) == (Decimal("0.7"), "2")


RIGHT = "product_backward = lambda x, y, g: (g * y, g * x)"


@pytest.mark.parametrize(
    "to, name, said",
    [("gradescope", "a.txt", "in .zip"), ("nbgrader", "a.xlsx", "in .db or .csv"), ("canvas", "a", "in .csv")],
)  # fmt: skip
def test_an_export_has_the_ending_of_its_format(tmp_path, to, name, said):
    done = minigrad("export", to, "graded", "-o", tmp_path / name)

    assert done.exit_code == 1 and f"must end {said}, but" in done.output.replace("\n", " ")


@pytest.fixture
def gradescope(tmp_path):
    """A package, unpacked as Gradescope does; a submission; and its autograder, to be run."""
    root = tmp_path / "autograder"
    handed = Class(tmp_path / "author" / "ps1.ipynb", folder=root / "submission")
    toml = tmp_path / "gradebook.toml"
    toml.write_text("[questions.check]\nweight = 2.5\n", "utf-8")
    zipped = tmp_path / "ps1.zip"
    asked = ("export", "gradescope", handed.author, "-o", zipped, "--settings", toml)
    done = minigrad(*asked)
    assert done.exit_code == 0, done.output
    with ZipFile(zipped) as opened:
        opened.extractall(root / "source")
        modes = {about.filename: about.external_attr >> 16 for about in opened.infolist()}
    assert modes["setup.sh"] & 0o111 and modes["run_autograder"] & 0o111
    assert "minigrad-jupyter[grade]==" in (root / "source/requirements.txt").read_text("utf-8")

    def run(answer, name="ps1"):
        handed.submit(name, answer=answer)
        places = {"SOURCE": "source", "SUBMISSION": "submission", "RESULTS": "results/results.json"}
        environment = {f"AUTOGRADER_{key}": str(root / place) for key, place in places.items()}
        ended = subprocess.run(
            ["bash", root / "source" / "run_autograder"],
            env={**os.environ, **environment, "AUTOGRADER_VENV": sys.prefix},
            capture_output=True,
            encoding="utf-8",
        )
        return ended, root / "results" / "results.json"

    return run


def test_the_package_grades_one_submission_in_gradescope_s_folders(gradescope):
    ended, path = gradescope(RIGHT, "my homework")

    assert ended.returncode == 0, ended.stderr
    results = json.loads(path.read_text("utf-8"))
    (test,) = results["tests"]
    assert results["stdout_visibility"] == "hidden" and results["score"] == 10
    assert (test["name"], test["score"], test["max_score"]) == ("check", 10, 10)
    assert test["visibility"] == "visible" and "4 of 4 results are right" in test["output"]
    assert results["extra_data"]["ps1"]["isolation"] != "none"

    ended, path = gradescope(RIGHT, "and another")

    assert "found: and another.ipynb, my homework.ipynb" in path.read_text("utf-8")


def test_a_submission_that_gradescope_could_not_run_gets_no_results_and_a_reason(
    gradescope, tmp_path
):
    settings = tmp_path / "autograder" / "source" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace('"auto"', '"container"'), "utf-8")
    os.environ["MINIGRAD_CONTAINER_ENGINE"] = "no-such-engine"
    try:
        ended, path = gradescope(RIGHT)
    finally:
        del os.environ["MINIGRAD_CONTAINER_ENGINE"]

    assert ended.returncode and "This machine could not grade the submission" in ended.stderr
    assert not path.exists()


def test_without_an_exercise_the_message_names_the_command_for_gradescope():
    done = minigrad("export", "gradescope")

    assert done.exit_code == 1 and "minigrad export gradescope FOLDER" in done.output
