"""The gradebook: what people add to the grades, and that nothing which a person gave is lost."""

import base64
import csv
import http.client
import json
import os
import re
import shutil
import subprocess
import threading
import unicodedata
import zipfile
from contextlib import closing
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from minigrad.grading.assignment import Assignment, grade_assignment
from minigrad.grading.gate import gate, gate_bundles
from minigrad.grading.gradebook.book import (
    Mark,
    Provided,
    QuestionColumn,
    columns_of,
    equal_ones,
    gradebook_of,
    read_provided,
)
from minigrad.grading.gradebook.by_hand import CHANGED, read_manual, update_manual
from minigrad.grading.gradebook.course import course_of, write_course
from minigrad.grading.gradebook.csv_files import GradebookError, read_table, write_table
from minigrad.grading.gradebook.handed_in import HandedIn, handed_in, lateness
from minigrad.grading.gradebook.roster import read_roster
from minigrad.grading.gradebook.settings import (
    CourseSettings,
    LatePolicy,
    QuestionSettings,
    read_settings,
)
from minigrad.grading.marking import MarkingServer
from minigrad.grading.release.bundles import make_bundles, titles_of
from minigrad.grading.release.markers import ReleaseError
from minigrad.grading.release.questions import differing_points
from minigrad.grading.release.student import release
from minigrad.grading.reports import write_reports
from minigrad.grading.reports.tables import _feedback
from minigrad.grading.run.batch import Settings
from minigrad.grading.run.recorder import TRY_AGAIN, lost
from minigrad.grading.run.submission import find_answers
from minigrad.grading.run.written import form_of, written_in
from tests.command import minigrad
from tests.submissions.authors import AUTHORS, a_cell
from tests.submissions.classes import Class, write_files

DUE = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)


def a_question(name="q", points=1.0, of=2, **more):
    right = round(2 * points / of)
    return {
        "id": name, "points": points, "of": of, "right": right, "asked": 2, "reason": None, "notes": [],
        "confirm": False, "results": [], "diagnoses": [],
    } | more  # fmt: skip


def a_grade(student, *questions, exercise="ps1", **more):
    questions = list(questions) or [a_question()]
    return {
        "format": "minigrad-grade-1", "student": student, "file": f"{student}.ipynb", "exercise": exercise,
        "points": sum(q["points"] for q in questions), "of": sum(q["of"] for q in questions),
        "unreadable": None, "confirm": False, "questions": questions, "notes": [], "seed": "s",
        "isolation": "bwrap", "limits": {"cell": 10}, "versions": {"minigrad": "0"},
        "hashes": dict.fromkeys(("submission", "recording", "judge", "answers"), "0" * 64),
    } | more  # fmt: skip


@pytest.fixture
def file(tmp_path):
    """Write a file; give its path."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def settings(file):
    def write(text):
        return read_settings(file("gradebook.toml", text))

    return write


def given(settings, *names, **times):
    came = [HandedIn(name, None, "nothing says when") for name in names]
    came += [HandedIn(n, t, "by a clock") for n, t in times.items()]
    return read_provided(settings, came, ["q", "r"])


def rows_of(path):
    with open(path, newline="", encoding="utf-8-sig") as opened:
        return list(csv.DictReader(opened))


# ------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "text, said",
    [
        ("dedline = 1", "there is no setting dedline. Did you mean deadline?"),
        ("[late]\npercent_per_dya = 1", "no setting late.percent_per_dya. Did you mean percent_per_day?"),
        ("[assignments.ps1]\nrooster = 'x'", "no setting assignments.ps1.rooster. Did you mean roster?"),
        ("[late]\npercent_per_day = -1", "late.percent_per_day is -1. To fix it, write a number"),
        ("[late]\nat_most_percent = 101", "late.at_most_percent is 101"),
        ("[late]\npercent_per_day = true", "late.percent_per_day is True"),
        ("[late]\npercent_per_day = nan", "late.percent_per_day is Decimal"),
        ("[late]\ntrust_file_times = 1", "trust_file_times is 1. To fix it, write true or false"),
        ("deadline = 2026-11-30T23:59:00", "deadline has no time zone. To fix it, write one"),
        ("deadline = 2026-11-30", "deadline is .*To fix it, write a date with a time"),
        ("time_zone = 'Europe/Atlantis'", "is not a time zone"),
        ("assignments = 3", "assignments is 3"),
        ("manual = 'm.csv'\n[assignments.a]\n[assignments.b]", "assignments.a and assignments.b have the same manual"),
        ("[assignments.a]\nfolder = 'x'\n[assignments.b]\nfolder = 'y/../x'", "the same folder.* give each its own"),
        ("roster = ", "is not valid TOML: Invalid value"),
        (b"\xff\xfe", "is not valid TOML"),
    ],
)  # fmt: skip
def test_an_invalid_setting_is_an_error_that_names_it(file, text, said):
    with pytest.raises(GradebookError, match=said):
        read_settings(file("gradebook.toml", text))


def test_top_level_settings_apply_to_all_assignments(settings, tmp_path):
    course = settings("""
        time_zone = "Europe/Berlin"
        roster = "roster.csv"
        [late]
        percent_per_day = 10.1
        [assignments.ps1]
        deadline = 2026-11-30T23:59:00
        [assignments.ps2.late]
        grace_minutes = 5
        """)

    ps1, ps2 = course.of("ps1"), course.of("ps2")

    assert ps1.roster == ps2.roster == tmp_path / "roster.csv"
    assert ps1.late.percent_per_day == Decimal("10.1") and ps2.late.percent_per_day == 0
    assert ps1.due("ada").utcoffset() == timedelta(hours=1) and ps2.due("ada") is None
    with pytest.raises(GradebookError, match="no .assignments.ps11.. Did you mean ps1?"):
        course.of("ps11")


GUIDE = Path(__file__).parents[1] / "GRADEBOOK.md"


def test_the_guide_s_example_is_read_and_every_setting_is_in_its_table(settings):
    text = GUIDE.read_text("utf-8")
    course = settings(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    assert course.of("ps1").questions["softmax"].all_or_nothing and course.of("ps1").due("ada")

    for kind, prefix in (
        (CourseSettings, ""), (LatePolicy, "late."), (QuestionSettings, "questions.ID."),
    ):  # fmt: skip
        for each in fields(kind):
            if each.name not in ("late", "questions", "assignments"):
                assert f"`{prefix}{each.name}`" in text


# ------------------------------------------------------------------------- CSV files


@pytest.mark.parametrize(
    "text, said",
    [
        ("student,points\nada,1,2\n", "line 2: there are 3 cells, but 2 columns"),
        ('student,points\nada,1\nbob,"2\n', "line 3: it is not a CSV file"),
        ("student,pionts\n", "line 1: the column 'pionts' is not known. Did you mean points?"),
        ("points\n1\n", "line 1: there is no column student"),
        ("", "is empty"),
        ("student,points\nzo\xeb,1\n".encode("latin-1"), "is not encoded in UTF-8"),
        ('student,points\n"a\nb",1\ncy,x\n', "line 4: points is 'x'"),
        ("student,points\nada,-1\n", "points is '-1'"),
        ("student,points\nada,1e9\n", "points is '1e9'"),
        ("student,points\nada,nan\n", "points is 'nan'"),
    ],
)
def test_a_malformed_csv_is_refused_with_the_line(file, text, said):
    with pytest.raises(GradebookError, match=said):
        columns = {"student": (), "points": ()}
        for row in read_table(file("x.csv", text), columns, needed=["student"]):
            row.points("points")


def test_a_csv_is_read_as_spreadsheets_write_it(file):
    text = "\ufeffStudent;POINTS\r\n\r\nzoë;2,5\r\n;\r\n"

    (row,) = read_table(file("x.csv", text), {"student": (), "points": ()}, needed=["student"])

    assert (row["student"], row.points("points"), row.line) == ("zoë", Decimal("2.5"), 3)


def test_empty_columns_that_a_spreadsheet_adds_are_ignored(file):
    path = file("marks.csv", "student,points,,\nada,1,,\nbob,2\ncy,3,,,\n")

    rows = read_table(path, {"student": (), "points": ()}, needed=("student",))

    assert [row["student"] for row in rows] == ["ada", "bob", "cy"]
    file("marks.csv", "student,points,,\nada,1,x,\n")
    with pytest.raises(GradebookError, match="line 2: there are 4 cells, but 2 columns"):
        read_table(path, {"student": (), "points": ()}, needed=("student",))


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-x", "@x", "'=1", "''=1", "a\nb", "a\n =1", "x\n'=1", "x"]
)
def test_csv_cells_are_no_formulas_and_are_read_back_unchanged(tmp_path, text):
    path = write_table(tmp_path / "x.csv", [["student"], [text]], edited=True)

    raw = path.read_text("utf-8-sig").splitlines()[-1].strip('"')
    (row,) = read_table(path, {"student": ()}, needed=["student"])

    assert row["student"] == text and not raw.lstrip().startswith(("=", "+", "-", "@"))


def test_files_are_written_atomically(tmp_path, monkeypatch):
    path = write_table(tmp_path / "x.csv", [["student"], ["ada"]])
    monkeypatch.setattr(os, "fsync", lambda descriptor: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_table(path, [["student"], ["bob"]])

    assert "ada" in path.read_text("utf-8")


def test_rewriting_a_file_keeps_its_permissions(tmp_path):
    path = write_table(tmp_path / "x.csv", [["student"], ["ada"]])
    path.chmod(0o600)

    write_table(path, [["student"], ["bob"]])

    assert "bob" in path.read_text("utf-8") and path.stat().st_mode & 0o777 == 0o600


# ------------------------------------------------------------------------- the roster

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,ps1 (77)
    Points Possible,,,,,4
"Lovelace, Ada",12345,u1,ada,A,
"Babbage, Charles",12346,u2,cb,B,
"Student, Test",99,,t,A,
"""
MOODLE = """Identifier,"Full name","ID number","Email address",Status
"Participant 77","Ada Lovelace",u1,ada@example.org,x
"Participant 78","Charles Babbage",u2,cb@example.org,x
"""


@pytest.mark.parametrize(
    "text, submission",
    [
        ("id,name\nada,Ada Lovelace\n", "ada"),
        ("id,name\nada,Ada Lovelace\n", "ADA"),
        ("id,email\n7,ada@example.org\n", "ada@example.org"),
        (CANVAS, "lovelaceada_12345_678_ps1"),
        (CANVAS, "lovelaceada_LATE_12345_678_ps1-2"),
        (CANVAS, "ada"),
        (CANVAS, "ps1_ada_attempt_2026-11-30-10-00-00_ps1"),
        (CANVAS, "137-678 - Ada Lovelace - Nov 30, 2026 1159 PM"),
        (MOODLE, "Ada Lovelace_77_assignsubmission_file_"),
        (MOODLE, "Ada Lovelace_9_assignsubmission_file"),
        (MOODLE, "u1"),
        # behind whose it is stands what the student called the file, which is no other student's
        (CANVAS, "ps1_ada_attempt_2026-11-30-10-00-00_x_cb_attempt_2026-1"),
        (MOODLE, "Ada Lovelace_77_assignsubmission_file_x_78_assignsubmission_y"),
        (MOODLE, "Ada Lovelace_77_assignsubmission_file_my notebook (2)"),
        (MOODLE, "Ada Lovelace_77_assignsubmission_file_x_u2_attempt_2026-1"),
        (CANVAS, "lovelaceada_12345_678_x_78_assignsubmission_y"),
        (CANVAS, "lovelaceada_12345_678_x_cb_attempt_2026-1"),
        ("First name,Surname,Username\nAda,Lovelace,al\n", "al"),
        # a Mac writes é as e and an accent
        ("id,name\n7,Zoé Lovelace\n", "Zoe\u0301 Lovelace"),
        ("id,name\nzoé,Zoé Lovelace\n", "zoe\u0301"),
    ],
)
def test_a_submission_finds_its_student_on_the_rosters_of_many_systems(file, text, submission):
    roster = read_roster(file("roster.csv", text))

    assert "ovelace" in roster.owner(submission).name or roster.owner(submission).email[:3] == "ada"
    assert roster.owner("eve") is None and not any("Test" in s.name for s in roster.students)


def test_a_name_shared_by_two_students_matches_neither(file):
    roster = read_roster(file("roster.csv", "id,name\n1,Ada Lovelace\n2,Ada Lovelace\n"))

    assert roster.owner("Ada Lovelace") is None and roster.owner("2").id == "2"


@pytest.mark.parametrize(
    "name, said",
    [
        ("Ada Lovelace", "several students are called 'Ada Lovelace'. To fix it, name one by id: 1, 2"),
        ("Kurt Gödl", "there is no student 'Kurt Gödl'. Did you mean Kurt Gödel?"),
    ],
)  # fmt: skip
def test_a_name_in_the_settings_that_is_unclear_is_refused_with_a_better_one(file, name, said):
    people = "id,name\n1,Ada Lovelace\n2,Ada Lovelace\n3,Kurt Gödel\n"

    with pytest.raises(GradebookError, match=said):
        read_roster(file("roster.csv", people)).named(name, "the settings")


def test_a_student_listed_twice_on_the_roster_is_refused_with_both_lines(file):
    with pytest.raises(GradebookError, match="line 3: line 2 has the same student"):
        read_roster(file("roster.csv", "id,name\nada,A\nAda,B\n"))


def test_a_file_that_is_no_notebook_is_a_student_s_if_it_is_named_like_one(file, settings):
    file("roster.csv", "id,name\nada,Ada\n")
    names = "ada", "instructions", "eve"
    grades = [a_grade(name) for name in names]
    grades[0]["unreadable"] = grades[1]["unreadable"] = "it is not a notebook, but a .txt file"

    book = gradebook_of("ps1", [grades], given(settings('roster = "roster.csv"'), *names))
    without_roster = gradebook_of("ps1", [grades])

    assert [row.student.id for row in book.rows] == ["ada", "eve"]
    assert book.strays == ("instructions",)
    assert len(without_roster.rows) == 3 and not without_roster.strays


def test_a_page_handed_in_beside_a_notebook_does_not_take_its_place(file, settings, tmp_path):
    file("roster.csv", CANVAS)
    names = "lovelaceada_12345_678_ps1", "lovelaceada_12345_679_ps1"
    for name, suffix in zip(names, (".html", ".ipynb")):
        file(f"class/{name}{suffix}", "{}")
    policy = settings('roster = "roster.csv"')
    handed = handed_in(tmp_path / "class", "ps1", policy)
    grades = [a_grade(name) for name in names]
    grades[0]["unreadable"] = "it is not a notebook, but a .html file"

    book = gradebook_of("ps1", [grades], read_provided(policy, handed, ["q"]))

    files = [row.grades[0]["student"] for row in book.rows if row.grades]
    assert files == [names[1]] and book.strays == (names[0],)
    assert not any(row.confirm for row in book.rows)


def test_missing_students_get_zero_and_unknown_submissions_are_flagged(file, settings, tmp_path):
    file("roster.csv", "id,name,section\ncy,Cy,B\nada,Ada,A\n")
    people = given(settings('roster = "roster.csv"'), "ada", "eve", "Ada")

    book = gradebook_of("ps1", [[a_grade(n) for n in ("Ada", "ada", "eve")]], people)
    write_reports(book, tmp_path / "out")

    rows = rows_of(tmp_path / "out" / "gradebook.csv")
    assert [(r["student"], r["points"], r["of"]) for r in rows] == [
        ("cy", "0", "2"), ("ada", "1", "2"), ("Ada (2)", "1", "2"), ("eve", "1", "2"),
    ]  # fmt: skip
    assert rows[0]["note"] == "nothing was handed in" and rows[0]["section"] == "B"
    assert rows[1]["confirm"] == rows[2]["confirm"] == "please confirm"
    assert "another submission is by the same student" in rows[1]["note"]
    assert "this one or the one under ada" in rows[2]["note"]
    assert "nobody on the roster" in rows[3]["note"] and rows[3]["confirm"] == "please confirm"
    overview = (tmp_path / "out" / "overview.html").read_text("utf-8")
    assert "cy (Cy)" in overview and "nobody on the roster" in overview
    assert "nothing was handed in" in (tmp_path / "out" / "feedback" / "cy.html").read_text("utf-8")


def test_a_name_that_is_only_similar_does_not_take_a_student_s_place(file, settings):
    file("roster.csv", "id,name,email\nada,Ada Lovelace,ada@x.edu\n")
    names = "ADA", "Ada Lovelace", "ada"
    people = given(settings('roster = "roster.csv"'), *names)

    book = gradebook_of("ps1", [[a_grade(n) for n in names]], people)

    files = {row.student.id: row.grades[0]["student"] for row in book.rows}
    assert files == {"ada": "ada", "ADA (2)": "ADA", "Ada Lovelace (2)": "Ada Lovelace"}
    assert all(row.confirm for row in book.rows)


def test_no_submission_hides_another_whose_name_looks_numbered():
    book = gradebook_of("ps1", [[a_grade(name) for name in ("ada", "ada (2)", "ada")]])

    assert [(row.student.id, len(row.grades)) for row in book.rows] == [
        ("ada", 1), ("ada (2)", 1), ("ada (3)", 1),
    ]  # fmt: skip


def test_a_note_that_several_answers_have_is_written_once(tmp_path):
    questions = [a_question(name, notes=["np: not yours", name]) for name in ("a", "b")]

    write_reports(gradebook_of("ps1", [[a_grade("ada", *questions)]]), tmp_path)

    assert rows_of(tmp_path / "gradebook.csv")[0]["note"] == "np: not yours; a; b"


def test_points_are_exact_decimals(tmp_path):
    tenths = a_grade("ada", a_question("a", 0.1, 0.1), a_question("b", 0.2, 0.2))

    book = gradebook_of("ps1", [[tenths]])
    write_reports(book, tmp_path)

    assert book.rows[0].points == book.rows[0].of == Decimal("0.3")
    assert rows_of(tmp_path / "gradebook.csv")[0]["points"] == "0.3"


# ------------------------------------------------------------------------- lateness

POLICY = """
deadline = 2026-11-30T23:59:00Z
[late]
grace_minutes = 15
percent_per_day = 10
at_most_percent = 25
[extensions]
cy = 2
dee = 2026-12-05T12:00:00Z
"""


@pytest.mark.parametrize(
    "student, late, days, percent",
    [
        ("ada", timedelta(hours=-1), 0, 0),
        ("ada", timedelta(minutes=15), 0, 0),
        ("ada", timedelta(minutes=16), 1, 10),
        ("ada", timedelta(days=1), 1, 10),
        ("ada", timedelta(days=1, seconds=1), 2, 20),
        ("ada", timedelta(days=9), 9, 25),
        ("cy", timedelta(days=2), 0, 0),
        ("cy", timedelta(days=2, hours=1), 1, 10),
        ("dee", timedelta(days=4), 0, 0),
    ],
)
def test_lateness_has_grace_days_a_cap_and_extensions(settings, student, late, days, percent):
    found = lateness(student, HandedIn(student, DUE + late, "by a clock"), settings(POLICY))

    assert (found.days, found.percent) == (days, percent)
    assert bool(found.note) == (days > 0)


def test_extensions_are_found_by_name_and_those_of_nobody_are_told(settings, tmp_path):
    people = given(settings(POLICY + "Ada = 2\nadda = 1\n"), ada=DUE + timedelta(days=1))

    book = gradebook_of("ps1", [[a_grade("ada")]], people)

    assert people.settings.due("ada") == DUE + timedelta(days=2)
    assert "adda" in book.idle and "ada" not in book.idle


def test_daylight_saving_time_makes_nobody_late(settings):
    berlin = settings("""
        time_zone = "Europe/Berlin"
        deadline = 2026-10-25T02:30:00
        [late]
        percent_per_day = 10
        """)
    an_hour = berlin.due("ada").astimezone(UTC) + timedelta(hours=1)

    assert "1 h 0 min late" in lateness("ada", HandedIn("ada", an_hour, "by a clock"), berlin).note


def test_the_late_penalty_applies_to_earned_points_and_all_reports_show_it(settings, tmp_path):
    people = given(settings(POLICY), "bob", ada=DUE + timedelta(hours=2))

    book = gradebook_of("ps1", [[a_grade("ada", a_question("q", 0.3, 2)), a_grade("bob")]], people)
    write_reports(book, tmp_path)

    ada, bob = rows_of(tmp_path / "gradebook.csv")
    assert ada["points"] == ada["q"] == "0.27" and bob["points"] == "1"
    assert "2 h 0 min late: 10 % of the earned points" in ada["late"]
    assert bob["late"] == "nothing says when: no late penalty"
    assert "2 h 0 min late" in (tmp_path / "feedback" / "ada.html").read_text("utf-8")
    result = json.loads((tmp_path / "gradescope" / "ada" / "results.json").read_text("utf-8"))
    assert result["score"] == 0.27 and "late" in result["output"]


@pytest.mark.parametrize(
    "name",
    [
        "ada - 2026-11-30 2359",
        "ps1_ada_attempt_2026-11-30-23-59-00_x",
        "due 2026-11-29 23-59_ada_attempt_2026-11-30-23-59-00_x",
        "1-2 - Ada L - Nov 30, 2026 1159 PM",
        "1-2 - Ada L - Nov 30, 2026 1159 PM - 2026-11-01 10-00",
        "ada_20261130T235900",
        "Zoe\u0308 - 2026-11-30 2359",
    ],
)
def test_the_hand_in_time_is_read_from_the_name_that_an_lms_gave(file, settings, tmp_path, name):
    file(f"class/{name}/ps1.ipynb", "{}")
    file("class/eve_2026-13-45-99-99-99/ps1.ipynb", "{}")

    found = handed_in(tmp_path / "class", "ps1", settings('time_zone = "UTC"'))

    times = {one.submission: one.time for one in found}
    assert (
        times[unicodedata.normalize("NFC", name)] == DUE
        and times["eve_2026-13-45-99-99-99"] is None
    )


@pytest.mark.parametrize("trusted", [True, False])
def test_a_file_time_stamp_counts_only_if_it_is_trusted(file, settings, tmp_path, trusted):
    policy = settings(f'time_zone = "UTC"\n[late]\ntrust_file_times = {str(trusted).lower()}')
    path = file("class/ada/ps1.ipynb", "{}")
    os.utime(path, (DUE.timestamp(), DUE.timestamp()))
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ada.ipynb", (2026, 11, 30, 23, 59, 0)), "{}")
        archive.writestr(zipfile.ZipInfo("bob.ipynb"), "{}")

    (here,) = handed_in(tmp_path / "class", "ps1", policy)
    ada, bob = handed_in(tmp_path / "class.zip", "ps1", policy)

    assert here.time == ada.time == (DUE if trusted else None) and bob.time is None
    assert trusted or "only the time stamp of its file" in ada.source


def test_nbgrader_s_time_stamp_counts_only_in_its_own_folder(file, settings, tmp_path):
    for place in ("course/submitted/ada/ps1", "course/submitted/bob/ps1/his", "class/ada/ps1"):
        file(f"{place}/ps1.ipynb", "{}")
        file(f"{place}/timestamp.txt", "2026-11-30 23:59:00.000000 UTC")

    ada, bob = handed_in(tmp_path / "course", "ps1", settings(""))
    (other,) = handed_in(tmp_path / "class", "ps1", settings(""))

    assert ada.time == DUE and bob.time is other.time is None


def test_odd_dates_and_deep_folders_do_not_stop_grading(settings, tmp_path):
    policy = settings('time_zone = "UTC"\n[late]\ntrust_file_times = true')
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("submitted/ada/ps1/timestamp.txt", "x" * 1000)
        odd = zipfile.ZipInfo("submitted/ada/ps1/ps1.ipynb", (2026, 0, 0, 0, 0, 0))
        archive.writestr(odd, "{}")
        archive.writestr("submitted/bob/ps1/ps1.ipynb", "{}")
    here = os.getcwd()
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "bob.ipynb").touch()
    os.chdir(tmp_path / "class" / "ada")
    for _ in range(1200):
        os.mkdir("d" * 9)
        os.chdir("d" * 9)
    os.chdir(here)

    ada, bob = handed_in(tmp_path / "class.zip", "ps1", policy)
    _, deep = handed_in(tmp_path / "class", "ps1", policy)

    assert ada.time is None and bob.time and deep.time
    subprocess.run(["rm", "-r", tmp_path / "class" / "ada"], check=True)


def test_a_csv_of_times_overrides_all_other_sources(file, settings):
    file("times.csv", "student,time\nada,2026-12-01 12:00\n")

    people = given(settings(POLICY + "[assignments.x]\n").of("x"), ada=DUE)
    late = given(settings(f'times = "times.csv"{POLICY}'), ada=DUE)

    grades = [[a_grade("ada")]]
    assert gradebook_of("ps1", grades, people).rows[0].lateness.days == 0
    assert gradebook_of("ps1", grades, late).rows[0].lateness.days == 1
    moodle = 'Identifier,Status,Last modified (submission)\nada,,"Tuesday, 1 December 2026, 12:00 PM"\nbob,,-\n'
    file("times.csv", moodle)
    moodle = given(settings(f'times = "times.csv"{POLICY}'), "bob", ada=DUE).times
    assert list(moodle) == ["ada"] and moodle["ada"].time == late.times["ada"].time
    file("times.csv", "student,time\nada,noon\n")
    with pytest.raises(GradebookError, match="line 2: the time is 'noon'"):
        given(settings('times = "times.csv"'), "ada")
    file("times.csv", "student,time\nada,2026-12-01 12:00Z\nada,2026-12-02 12:00Z\n")
    with pytest.raises(GradebookError, match="line 3: line 2 has the same student"):
        given(settings('times = "times.csv"'), "ada")


def test_unknown_lateness_is_reported_without_a_penalty(file, settings, tmp_path):
    file("class/lovelaceada_LATE_12345_678_ps1.ipynb", "{}")

    (found,) = handed_in(tmp_path / "class", "ps1", settings(POLICY))

    assert found.time is None and "Canvas calls it late" in found.source


@pytest.mark.parametrize(
    "path",
    [
        "lovelaceada_LATE_12345_678_ps1-2026-11-01-10-00.ipynb",
        "Ada Lovelace_77_assignsubmission_file_/ps1 2026-11-01 10-00.ipynb",
        "ada/ps1 2026-11-01 10-00.ipynb",
        "Ada Lovelace_77_assignsubmission_file_ps1 2026-11-01 10-00.ipynb",
        "Ada Lovelace_77_assignsubmission_file_1_attempt_2026-11-01-10-00-00.ipynb",
        "ada 2026-11-01 10-00.ipynb",
    ],
)
def test_a_time_that_students_write_into_a_file_name_does_not_count(file, settings, tmp_path, path):
    file(f"class/{path}", "{}")
    file("class/bob/ps1.ipynb", "{}")

    found = handed_in(tmp_path / "class", "ps1", settings(POLICY))

    assert [one.time for one in found] == [None, None]


def test_a_time_in_the_name_of_a_whole_download_does_not_count(file, settings, tmp_path):
    for student in ("ada", "bob"):
        file(f"class/downloaded 2026-12-24 10-00/{student}/ps1.ipynb", "{}")

    found = handed_in(tmp_path / "class", "ps1", settings(POLICY))

    assert [(one.submission, one.time) for one in found] == [("ada", None), ("bob", None)]


# ------------------------------------------------------------------------- overrides


def test_an_override_is_final_and_shown_with_its_reason(file, settings, tmp_path):
    file("overrides.csv", "student,question,points,reason\nada,q,2.5,=a proof of his own\n")
    people = given(settings(f'overrides = "overrides.csv"{POLICY}'), ada=DUE + timedelta(days=1))
    both = a_grade("ada", a_question("q", 1), a_question("r", 2))

    book = gradebook_of("ps1", [[both]], people)
    write_reports(book, tmp_path)

    (ada,) = rows_of(tmp_path / "gradebook.csv")
    assert (ada["q"], ada["r"], ada["points"]) == ("2.5", "1.8", "4.3")
    told = "2.5 points by an override: =a proof of his own (before: 1)"
    assert f"q: {told}" in ada["note"]
    assert told in (tmp_path / "feedback" / "ada.html").read_text("utf-8")
    assert told in (tmp_path / "gradescope" / "ada" / "results.json").read_text("utf-8")
    (mark, _) = book.rows[0].marks
    assert (mark.by, mark.earned, mark.grade["points"]) == ("override", 1, 1)


def test_an_override_can_excuse_a_missing_submission(file, settings):
    file("roster.csv", "id\nada\nbob\n")
    file("overrides.csv", "student,question,points,reason\nBOB,q,2,was ill\n")

    people = given(settings('roster = "roster.csv"\noverrides = "overrides.csv"'), "ada")

    _, bob = gradebook_of("ps1", [[a_grade("ada")]], people).rows
    assert bob.points == 2 and bob.marks[0].by == "override"


def test_a_row_without_a_question_confirms_a_submission(file, settings, tmp_path):
    file("overrides.csv", "student,question,points,reason\nada,,,looked at both files\n")
    note = "the answer q was found by its position: please confirm"
    unsure = {"confirm": True, "notes": [note]}
    people = given(settings('overrides = "overrides.csv"'), "ada", "bob")
    grades = [a_grade(name, a_question(confirm=True), **unsure) for name in ("ada", "bob")]

    write_reports(gradebook_of("ps1", [grades], people), tmp_path)

    ada, bob = rows_of(tmp_path / "gradebook.csv")
    assert (ada["q"], ada["confirm"], bob["confirm"]) == ("1", "", "please confirm")
    assert ada["note"].startswith("confirmed: looked at both files; ")
    results = tmp_path / "gradescope" / "ada" / "results.json"
    assert "needs to be confirmed" not in results.read_text("utf-8")


@pytest.mark.parametrize(
    "rows, said",
    [
        ("adda,,,x", "line 2: there is no student 'adda'. Did you mean ada?"),
        ("ada,,1,x", "line 2: there is no question ''"),
        ("ada,,,", "line 2: an override needs points and a reason"),
        ("adda,q,1,x", "line 2: there is no student 'adda'. Did you mean ada?"),
        ("ada,qq,1,x", "line 2: there is no question 'qq'. Did you mean q?"),
        ("ada,q,1,x\nAda,q,2,y", "line 3: line 2 has the same student and question"),
        ("ada,q,1,", "line 2: an override needs points and a reason"),
        ("ada,q,,x", "line 2: an override needs points and a reason"),
    ],
)
def test_an_override_for_an_unknown_student_or_question_is_refused(file, settings, rows, said):
    file("overrides.csv", f"student,question,points,reason\n{rows}\n")

    with pytest.raises(GradebookError, match=said):
        given(settings('overrides = "overrides.csv"'), "ada")


# ------------------------------------------------------------------------- marks that persons give


def for_people():
    """An author's notebook: a question that is checked, and three that a person marks."""
    notebook = AUTHORS["reverse"].copy()
    by_hand = {"grade": True, "solution": True, "points": 3}
    scheme = "=== BEGIN MARK SCHEME ===\nTwo points for the secret plan.\n=== END MARK SCHEME ==="
    notebook.cells = [
        *notebook.cells,
        a_cell(new_markdown_cell, "why", "Because gradients add up.", **by_hand),
        a_cell(new_code_cell, "plot", "### BEGIN SOLUTION\nplotted = 1 + 1\n### END SOLUTION", **by_hand),
        a_cell(new_markdown_cell, "explore", f"Explore.\n{scheme}", task=True, locked=True, points=2.5),
    ]  # fmt: skip
    return nbformat.from_dict(notebook)


RIGHT = "product_backward = lambda x, y, g: (g * y, g * x)"


def by_hand():
    """The same without the question that is checked: it is graded without a kernel."""
    notebook = for_people()
    del notebook.cells[1:4]
    return notebook


@pytest.fixture
def author(tmp_path):
    path = tmp_path / "author" / "ps1.ipynb"
    path.parent.mkdir()
    nbformat.write(for_people(), path)
    return path


@pytest.fixture
def submit(author, tmp_path):
    """Write a submission with these sources; answers below the last cell answer the task."""
    return Class(author, for_people(), tmp_path / "class").submit


def test_a_manual_question_is_released_empty_and_without_its_mark_scheme(author, tmp_path):
    text = release(author, tmp_path).read_text("utf-8")

    assert "YOUR ANSWER HERE" in text and "Explore." in text
    for secret in ("Because", "plotted", "secret plan", "MARK SCHEME"):
        assert secret not in text
    recording, judge = make_bundles(author)
    assert "secret plan" not in json.dumps(recording.data)
    assert [(q.id, q.points, q.task) for q in judge.manual] == [
        ("why", 3, False), ("plot", 3, False), ("explore", 2.5, True),
    ]  # fmt: skip
    (question,) = judge.questions
    assert question.answers == ("answer",)


def test_a_mark_scheme_outside_of_a_task_and_a_mark_without_points_are_refused(author):
    notebook = for_people()
    notebook.cells[0].source = "=== BEGIN MARK SCHEME ===\nx\n=== END MARK SCHEME ==="
    nbformat.write(notebook, author)
    with pytest.raises(ReleaseError, match="cell 1 .*a mark scheme, but the cell is not declared"):
        release(author, author.parent / "out")
    notebook = for_people()
    notebook.cells[4].metadata.nbgrader.pop("points")
    nbformat.write(notebook, author)
    with pytest.raises(ReleaseError, match="cell 5 .*a person marks it, and its points are None"):
        make_bundles(author)


def test_a_notebook_marked_entirely_by_hand_passes_the_gate(author):
    nbformat.write(by_hand(), author)

    gate(author)

    assert gate_bundles(author, *make_bundles(author)) == {}


def test_a_checked_question_does_not_claim_manual_answers(author):
    notebook = for_people()
    notebook.cells.insert(3, notebook.cells.pop(5))  # the code that a person marks, above the check
    nbformat.write(notebook, author)

    _, judge = make_bundles(author)

    assert judge.questions[0].answers == ("answer",)


def test_the_answers_that_a_person_marks_are_found_with_and_without_their_ids(author, submit):
    recording, judge = make_bundles(author)
    path = submit("ada", "one", "two", why="It adds.")
    notebook = json.loads(path.read_text("utf-8"))

    def read(content):
        answers = written_in(recording, find_answers(recording, content))
        return {question.id: answers[question.id]["text"] for question in judge.manual}

    assert read(path.read_bytes()) == {"why": "It adds.", "plot": "", "explore": "one\n\ntwo"}

    for cell in notebook["cells"]:
        if cell["source"] == "It adds.":
            cell["id"], cell["metadata"] = "x", {}
    assert read(json.dumps(notebook).encode())["why"] == "It adds."


def test_a_picture_in_an_answer_s_text_becomes_a_fingerprint(author, submit):
    recording, _ = make_bundles(author)
    picture = f"![](data:image/png;base64,{'A' * 3_000_000})"
    content = submit("ada", why=f"It adds. {picture} So it is.").read_bytes()

    why = written_in(recording, find_answers(recording, content))["why"]["text"]

    assert re.fullmatch(r"It adds\. !\[\]\(picture [0-9a-f]{16}\) So it is\.", why)


def a_png(size):
    return base64.b64encode(b"\x89PNG\r\n" + bytes(size)).decode()


def test_the_pictures_of_an_answer_are_shown_where_it_is_marked(of_people, tmp_path):
    png, pasted = a_png(100), a_png(200)
    path = of_people.submit("ada", why=f"![](attachment:a.png) ![](data:image/png;base64,{pasted})")
    notebook = json.loads(path.read_text("utf-8"))
    cells = {cell["id"]: cell for cell in notebook["cells"]}
    cells["why"]["attachments"] = {"a.png": {"image/png": png, "image/jpeg": png}}  # no JPEG
    others = {"image/svg+xml": "<svg><script/></svg>", "image/jpeg": [7], "text/html": "<b>"}
    cells["why"]["attachments"]["b.png"] = {"image/png": "\ud800"}
    outputs = [{"data": {"image/png": [png[:60], f"{png[60:]}\n"]}}, {"data": others}, 7]
    cells["plot"] |= {"source": "plot(losses)", "outputs": outputs}
    path.write_text(json.dumps(notebook), "utf-8")

    assert grade(tmp_path, of_people.author).exit_code == 0

    answers = {row["question"]: row["answer"] for row in rows_of(tmp_path / "out" / "manual.csv")}
    sizes = {p.stem: p.stat().st_size for p in (tmp_path / "out" / "pictures").iterdir()}
    named = re.findall(r"\(picture (\w+)\)", f"{answers['plot']} {answers['why']}")
    assert [sizes.get(name) for name in named] == [106, 206, 106, None]
    server = MarkingServer(tmp_path / "out" / "manual.csv")
    with closing(server.socket):
        (_, plot), (_, why) = server.shown(("ada", "plot")), server.shown(("ada", "why"))
    assert (plot.count("<img"), why.count("<img")) == (1, 2)
    assert f'src="data:image/png;base64,{png}"' in plot and "The task" in why
    assert "<script" not in plot + why


def test_notes_call_an_answer_by_the_name_that_its_author_gave_it(author, submit):
    notebook = for_people()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"a{number}"
    nbformat.write(notebook, author)
    recording, _ = make_bundles(author)

    found = find_answers(recording, submit("ada", a1="import math").read_bytes())
    nothing = find_answers(recording, b'{"cells": [{"id": "a1", "source": ""}]}')

    missing = [f"the answer {name} is missing" for name in ("answer", "plot")]
    assert found.notes == [] and nothing.notes == missing


def test_an_unreadable_answer_is_left_to_a_person(author, submit):
    recording, _ = make_bundles(author)
    job = {"recording": recording.data, "submission": "", "seed": "", "isolation": "none"}

    document = lost({**job, "limits": {}}, "the process that ran it was lost, twice")

    assert all("could not be read" in one["text"] for one in document["written"].values())
    assert {"why", "plot", "explore"} < set(document["written"])


def grade(tmp_path, author, *more):
    where = tmp_path / "class", "-e", author, "-o", tmp_path / "out"
    return minigrad("grade", *where, *more, "--isolation", "none")


@pytest.fixture
def of_people(tmp_path, monkeypatch):
    """An assignment that people mark entirely, so no kernel is started; its folder is the current one."""
    monkeypatch.chdir(tmp_path)
    return Class(tmp_path / "author" / "ps1.ipynb", by_hand(), tmp_path / "class")


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graded")
    handed = Class(folder / "author" / "ps1.ipynb", for_people(), folder / "class")
    mine = WRITTEN.replace("softmax_backward(y, g)", "product_backward(x, y, g)")
    handed.submit("ada", why="=1+1", answer=RIGHT)
    handed.submit("ada-l", answer=mine)
    handed.submit("bob-b", answer=mine.replace("inner", "total") + "# my own")
    handed.submit("cy")
    handed.submit("dan")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = grade(folder, handed.author)
    assert done.exit_code == 0, done.output
    return folder, done.output


@pytest.fixture
def graded(graded_once, tmp_path, monkeypatch):
    """A class of five that has been graded in the current folder, and what the command said."""
    folder, said = graded_once
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return said


def test_a_file_s_name_cannot_say_that_a_submission_was_not_run(of_people, tmp_path):
    of_people.submit("ada")
    write_files(tmp_path / "class", f"bob.{TRY_AGAIN}", f"eve/a; {TRY_AGAIN}")

    done = grade(tmp_path, of_people.author)

    assert done.exit_code == 0 and "could not be run" not in done.output


def test_how_to_mark_answers_is_said_below_their_number(of_people, tmp_path):
    of_people.submit("ada", why="Because.")
    write_files(tmp_path, "gradebook.toml", text="[extensions]\nzoe = 2\n")

    done = grade(tmp_path, of_people.author)

    assert "nothing: zoe\nanswers still to be marked" in done.output
    assert "until then: 1\n    To mark them, run  minigrad mark" in done.output


def test_a_student_whose_name_differs_only_in_case_takes_nothing_from_another(of_people, tmp_path):
    for student in ("ada", "ADA"):
        of_people.submit(student)
    write_files(
        tmp_path, "times.csv", text="student,time\nada,2026-11-30 23:00\nADA,2026-12-01 23:00\n"
    )
    settings = '[assignments.ps1]\ndeadline = 2026-12-01T00:00:00\ntimes = "times.csv"\n'
    write_files(tmp_path, "gradebook.toml", text=f'time_zone = "UTC"\n{settings}')

    done = grade(tmp_path, of_people.author)

    assert done.exit_code == 0, done.output
    late = {row["student"]: row["late"] for row in rows_of(tmp_path / "out" / "gradebook.csv")}
    assert late["ada"] == "" and "23 h 0 min late" in late["ADA"]


def mark(path, student, question, **cells):
    """Edit manual.csv, as a person would with a spreadsheet."""
    rows = rows_of(path)
    (row,) = [r for r in rows if (r["student"], r["question"]) == (student, question)]
    row.update(cells)
    write_table(path, [list(rows[0]), *(list(r.values()) for r in rows)], edited=True)


def test_a_manual_mark_is_added_to_the_points_of_the_checks(graded, tmp_path):
    assert "answers still to be marked by a person, with 0 points until then: 1" in graded
    ada, *_, cy = rows_of(tmp_path / "out" / "gradebook.csv")
    assert (ada["points"], ada["of"], cy["why"]) == ("4", "12.5", "0")
    assert "why: still to be marked" in ada["note"]
    feedback = (tmp_path / "out" / "feedback" / "ada.html").read_text("utf-8")
    assert "4 of 12.5 points, 3 still to be marked" in feedback
    assert (tmp_path / "out" / "overview.html").read_text("utf-8").count(">?</td>") == 1
    mark(tmp_path / "out" / "manual.csv", "ada", "why", points="2,5", comment="=half\nof it")

    done = grade(tmp_path, tmp_path / "author" / "ps1.ipynb")
    assert "points changed, for 1 student: ada 4 -> 6.5\n" in done.output
    ada, *_ = rows_of(tmp_path / "out" / "gradebook.csv")
    assert (ada["points"], ada["why"], ada["confirm"]) == ("6.5", "2.5", "")
    assert "=half" in (tmp_path / "out" / "feedback" / "ada.html").read_text("utf-8")


@pytest.mark.parametrize("by, said", [("nobody", "There is no answer."), ("person", "")])
def test_what_a_person_marked_is_not_called_missing(by, said):
    assert (
        _feedback(Mark(QuestionColumn("q", Decimal(3), manual=True), Decimal(2), Decimal(2), by))
        == said
    )


def test_a_manual_mark_survives_regrading_and_says_if_the_answer_has_changed(of_people, tmp_path):
    handed, path = of_people, tmp_path / "out" / "manual.csv"

    def graded():
        done = grade(tmp_path, handed.author)
        return rows_of(tmp_path / "out" / "gradebook.csv"), done.output

    handed.submit("ada", why="=1+1")
    handed.submit("bob")
    graded()
    mark(path, "ada", "why", points="2,5", comment="=half\nof it")
    (ada, _), _ = graded()
    assert (ada["points"], ada["why"], ada["confirm"]) == ("2.5", "2.5", "")
    before = path.read_bytes()
    graded()
    assert path.read_bytes() == before

    handed.submit("ada", why="Something else.")
    (ada, _), _ = graded()
    assert (ada["why"], ada["confirm"]) == ("2.5", "please confirm")
    assert "why: =half of it; the answer has changed since it was marked" in ada["note"]
    (row,) = [r for r in rows_of(path) if r["note"]]
    assert (row["points"], row["answer"]) == ("2.5", "Something else.")
    mark(path, "ada", "why", version="")
    (ada, _), _ = graded()
    assert ada["confirm"] == ""

    (tmp_path / "class" / "ada.ipynb").unlink()
    _, said = graded()
    assert "a student or an answer that does not exist: 1" in said
    (gone,) = [r for r in rows_of(path) if r["student"] == "ada"]
    assert (gone["points"], gone["note"]) == ("2.5", "there is no such answer now")


@pytest.mark.parametrize(
    "rows, said",
    [
        ("ada,why,3,four,,", "line 2: points is 'four'"),
        ("ada,why,3,4,,", "line 2: 4 points were given, but the maximum is 3"),
        ("ada,why,3,1,,\nada,why,3,2,,", "line 3: line 2 has the same student and question"),
        ("ada,why,,1,,", "line 2: a row needs a student"),
        ("ada,why,3,1", "line 2: there are 4 cells"),
    ],
)
def test_a_malformed_csv_of_marks_is_refused_before_anything_is_written(
    author, submit, tmp_path, monkeypatch, rows, said
):
    monkeypatch.chdir(tmp_path)
    submit("ada")
    text = f"student,question,of,points,comment,version\n{rows}\n"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manual.csv").write_text(text, "utf-8")

    done = grade(tmp_path, author)

    assert done.exit_code == 1 and said in done.output
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["manual.csv"]
    assert (tmp_path / "out" / "manual.csv").read_text("utf-8") == text


def test_a_mark_given_during_grading_is_not_lost(tmp_path):
    path, of = tmp_path / "manual.csv", {"why": Decimal(3)}
    update_manual(path, {("ada", "why"): "x"}, of)
    early = read_manual(path)  # a run begins
    mark(path, "ada", "why", points="2")

    marks = update_manual(path, {("ada", "why"): "x", ("bob", "why"): "y"}, of)

    assert early["ada", "why"].points is None and marks["ada", "why"].points == 2
    assert [r["points"] for r in rows_of(path)] == ["2", ""]


def test_lateness_and_overrides_apply_to_manual_marks(file, settings, tmp_path):
    file("overrides.csv", "student,question,points,reason\nbob,why,3,a talk\n")
    of = {"why": Decimal(3)}
    path = tmp_path / "manual.csv"
    update_manual(path, {("ada", "why"): "x", ("bob", "why"): "x"}, of)
    mark(path, "ada", "why", points="3")
    rules = settings(f'overrides = "overrides.csv"{POLICY}')
    late = DUE + timedelta(days=1)
    came = [HandedIn("ada", late, "by a clock"), HandedIn("bob", late, "by a clock")]
    people = read_provided(rules, came, ["q", "why"], path)
    columns = [QuestionColumn("q", Decimal(2)), QuestionColumn("why", Decimal(3), manual=True)]

    ada, bob = gradebook_of("ps1", [[a_grade("ada"), a_grade("bob")]], people, columns).rows

    assert (ada.marks[1].points, ada.marks[1].by) == (Decimal("2.7"), "person")
    assert (bob.marks[1].points, bob.marks[1].by, bob.open) == (3, "override", 0)


# ------------------------------------------------------------------------- weights and parts


def test_weights_and_all_or_nothing_count_as_the_settings_say(author, settings, tmp_path):
    bundles = make_bundles(author)
    rules = settings("""
        [questions.check]
        weight = 1.5
        all_or_nothing = true
        [questions.why]
        weight = 0
        """)
    columns = columns_of([bundles], rules)
    of = {column.id: column.points for column in columns}
    update_manual(tmp_path / "manual.csv", {("ada", "why"): "x", ("ada", "plot"): "x"}, of)
    mark(tmp_path / "manual.csv", "ada", "why", points="3")
    mark(tmp_path / "manual.csv", "ada", "plot", points="1")
    grades = [a_grade("ada", a_question("check", 3, 4)), a_grade("bob", a_question("check", 4, 4))]
    came = [HandedIn(g["student"], None, "") for g in grades]
    people = read_provided(rules, came, list(of), tmp_path / "manual.csv")

    ada, bob = gradebook_of("ps1", [grades], people, columns).rows

    assert [str(mark.points.normalize()) for mark in ada.marks] == ["0", "0", "1", "0"]
    assert (bob.points, ada.of) == (6, Decimal("11.5"))
    with pytest.raises(
        GradebookError, match="name a question 'chek', and there is none. Did you mean check?"
    ):
        columns_of([bundles], settings("[questions.chek]"))


def test_the_parts_of_a_question_have_the_points_that_the_notebook_declares(author):
    notebook = for_people()
    question = notebook.cells[3].metadata.minigrad.question
    question["parts"] = {"dx": 3, "dy": 1}
    nbformat.write(notebook, author)
    _, judge = make_bundles(author)

    (asked,) = judge.questions

    assert asked.earned({"check/1/dx", "check/2/dx"}) == 3 and asked.earned(asked.ids) == 4
    assert asked.earned({"check/2/dy"}) == 0.5
    question["parts"] = {"dx": 3}
    nbformat.write(notebook, author)
    with pytest.raises(ReleaseError, match="give points to each of its results: dx, dy"):
        make_bundles(author)


PRODUCT, TWO_SETTINGS = "lambda x, y: x * y, [[(3,), (3,)]]", "settings=[{'lr': 1.0}, {'lr': 2.0}]"
# Exercises whose checks count for 4 points in nbgrader: a result that is right, what it earns, and all points.
DECLARED = [
    (f"Exercise('f', {PRODUCT}, points={{'dx': 3, 'dy': 1}})", "1/dx", 3, 4),
    (f"Exercise('f', {PRODUCT}, points=4)", "1/dx", 2, 4),
    (f"Exercise('f', {PRODUCT}, points={{'dx': 3, 'dy': 2}})", "1/dx", 2.4, 5),
    ("Exercise('f', lambda x: x * x, [[(3,)], [(2,)]], points=3)", "1/dx", 2, 3),
    (f"Updates('f', optim.SGD, {TWO_SETTINGS}, points={{'settings 1': 1, 'settings 2': 3}})",
     "2/steps", 3, 4),
    (f"Updates('f', optim.SGD, {TWO_SETTINGS}, points=3)", "2/steps", 2, 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def declared(tmp_path_factory):
    """An author's notebook with all of these exercises."""
    path = tmp_path_factory.mktemp("declared") / "ps1.ipynb"
    imports = "from minigrad import optim\nfrom minigrad.teach import *"
    cells = [a_cell(new_code_cell, "given", imports, locked=True)]
    for k, (exercise, *_) in enumerate(DECLARED):
        name = f"f{k}"
        cells += [
            a_cell(new_code_cell, f"e{k}", f"e{k} = {exercise.replace('f', name, 1)}", locked=True),
            a_cell(new_code_cell, f"a{k}", f"### BEGIN SOLUTION\n{name} = None\n### END SOLUTION", solution=True),
            a_cell(new_code_cell, f"c{k}", f"e{k}.check().or_raise()", grade=True, points=4),
        ]  # fmt: skip
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_the_parts_of_an_exercise_have_the_points_that_it_declares(declared):
    recording, judge = make_bundles(declared)

    earned = [q.earned({f"{q.id}/{row[1]}"}) for q, row in zip(judge.questions, DECLARED)]
    assert earned == [row[2] for row in DECLARED]
    assert "weights" not in json.dumps(recording.data)
    differing = [(f"c{k}", 4, row[3]) for k, row in enumerate(DECLARED) if row[3] != 4]
    assert list(differing_points(judge.questions)) == differing


def test_release_warns_of_points_that_differ_from_nbgrader_s(declared):
    done = minigrad("release", declared, "-o", declared.parent / "o", "--no-run")

    told = 'c2 counts for 4 points (nbgrader\'s "points"), but declares 5.'
    assert f"warning: {told}" in done.output


# ------------------------------------------------------------------------- the page


@pytest.fixture
def page(tmp_path):
    """A page for marking, and a way to ask it."""
    path = tmp_path / "manual.csv"
    answers = {(s, "why"): f"<script>alert(1)</script> {s}" for s in ("ada", "=bob & co")}
    update_manual(path, {**answers, ("cy", "why"): ""}, {"why": Decimal(3)})
    server = MarkingServer(path)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(where, form=None, host=None, root=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        body = form and urlencode(form)
        headers = {"Host": host or f"127.0.0.1:{server.server_port}"}
        url = (f"/{server.token}/" if root is None else root) + where
        connection.request("POST" if form else "GET", url, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers

    def seen(where):
        return re.search(r'name="seen" value="(\w+)"', ask(where)[1])[1]

    yield SimpleNamespace(ask=ask, seen=seen, path=path, server=server)
    server.shutdown()
    server.server_close()


ADA, BOB = "mark?student=ada&question=why", "mark?student=%3Dbob+%26+co&question=why"


def test_the_marking_page_goes_from_answer_to_answer(page):
    status, text, headers = page.ask("")
    assert status == 200 and "Mark the next of 2" in text and "no answer" in text
    assert "script-src" not in text and headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, text, _ = page.ask(ADA)
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt; ada" in text

    form = {"points": "2,5", "comment": "=good\r\nwork", "seen": page.seen(ADA)}
    status, _, headers = page.ask(ADA, form)
    assert (status, headers["Location"]) == (303, BOB)
    status, _, headers = page.ask(BOB, {"points": "0", "seen": page.seen(BOB)})
    assert (status, headers["Location"]) == (303, "./")

    marks = read_manual(page.path)
    ada = marks["ada", "why"]
    assert (ada.points, ada.comment) == (Decimal("2.5"), "=good\nwork")
    assert marks["=bob & co", "why"].points == 0 and "All answers are marked" in page.ask("")[1]


def test_without_the_token_nothing_can_be_read_or_changed(page):
    before = page.path.read_bytes()
    form = {"points": "3", "seen": page.seen(ADA)}

    for root, host in (("/", None), ("/wrong/", None), (None, "example.org"), ("/%00/", None)):
        for where, sent in (("", None), (ADA, None), (ADA, form)):
            status, text, _ = page.ask(where, sent, host, root)
            assert status == 404 and "ada" not in text

    assert page.path.read_bytes() == before and page.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "points, said",
    [
        ("4", "This question has 3 points"),
        ("x", "Points must be a number"),
        ("-1", "Points must be a number"),
    ],
)
def test_impossible_points_are_shown_again_with_the_comment(page, points, said):
    before = page.path.read_bytes()
    form = {"points": points, "comment": "<b>kept", "seen": page.seen(ADA)}

    status, text, _ = page.ask(ADA, form)

    assert status == 409 and said in text and "&lt;b&gt;kept" in text
    assert page.path.read_bytes() == before


def test_a_mark_given_elsewhere_is_shown_and_not_overwritten(page):
    form = {"points": "1", "comment": "mine", "seen": page.seen(ADA)}
    mark(page.path, "ada", "why", points="3", comment="theirs")

    status, text, _ = page.ask(ADA, form)

    assert status == 409 and "(The saved mark: 3.)" in text
    assert "this answer was marked elsewhere" in text
    assert read_manual(page.path)["ada", "why"].comment == "theirs"
    page.path.write_text("student,question\n", "utf-8")
    status, text, _ = page.ask(ADA, form)
    assert status == 409 and "Nothing was written." in text and "no column of" in text


def test_marking_again_confirms_a_changed_answer(page):
    of, cell = {"why": Decimal(3)}, ("ada", "why")
    page.ask(ADA, {"points": "2", "seen": page.seen(ADA)})
    assert update_manual(page.path, {cell: "new"}, of)[cell].note == CHANGED

    page.ask(ADA, {"points": "2", "seen": page.seen(ADA)})

    assert read_manual(page.path)[cell].note == ""
    assert update_manual(page.path, {cell: "new"}, of)[cell].note == ""


def test_a_long_comment_is_not_shortened(page, tmp_path):
    comment = "word " * 1000 + "end"
    page.ask(ADA, {"points": "1", "comment": comment, "seen": page.seen(ADA)})
    assert comment in page.ask(ADA)[1]
    people = Provided(marks=read_manual(page.path))

    columns = [QuestionColumn("why", Decimal(3), manual=True)]
    write_reports(gradebook_of("ps1", [[a_grade("ada")]], people, columns), tmp_path / "out")

    assert comment in (tmp_path / "out" / "feedback" / "ada.html").read_text("utf-8")


# ------------------------------------------------------------------------- several notebooks


def two_parts(tmp_path, notebook, flat=False):
    """An assignment of two notebooks with cells of the same ids: their paths, and a way to hand one in."""
    parts = {
        part: Class(tmp_path / part / f"{part}.ipynb", notebook, tmp_path / "class")
        for part in ("part1", "part2")
    }

    def submit(student, part, **sources):
        parts[part].submit(f"{part}/{student}" if flat else f"{student}/{part}", **sources)

    return [each.author for each in parts.values()], submit


@pytest.mark.parametrize("notebook, flat", [(for_people, False), (by_hand, True)])
def test_an_assignment_may_have_several_notebooks(tmp_path, monkeypatch, notebook, flat):
    monkeypatch.chdir(tmp_path)
    (first, second), submit = two_parts(tmp_path, notebook(), flat)
    submit("ada", "part1", answer=RIGHT, why="One.")
    submit("ada", "part2", answer="product_backward = None", why="Two.")
    submit("bob", "part1", answer=RIGHT, why="Only one.")
    if flat:
        submit("cy", "part2")

    done = grade(tmp_path, first, "-e", second, "--assignment", "ps1")

    assert done.exit_code == 0, done.output
    rows = rows_of(tmp_path / "out" / "gradebook.csv")
    assert [row["student"] for row in rows] == ["ada", "bob", *(["cy"] if flat else [])]
    points, of = ("0", "17") if flat else ("4", "25")
    ada, bob = rows[:2]
    assert (ada["points"], ada["of"], bob["points"], bob["of"]) == (points, of, points, of)
    assert flat or (ada["part1/check"], ada["part2/check"]) == ("4", "0")
    assert "part2: nothing was handed in" in bob["note"]
    marks = rows_of(tmp_path / "out" / "manual.csv")
    answers = {(r["student"], r["question"]): r["answer"] for r in marks}
    assert answers["ada", "part1/why"] == "One." and answers["ada", "part2/why"] == "Two."
    assert answers["bob", "part1/why"] == "Only one."
    assert not answers.get(("bob", "part2/why"))
    assert (tmp_path / "out" / "part1" / "grades.json").exists()
    page = (tmp_path / "out" / "feedback" / "ada.html").read_text("utf-8")
    assert f"<h1>ps1: {points} of {of} points" in page and "part2/why" in page


def test_the_last_of_several_notebooks_determines_lateness(tmp_path, settings):
    paths, submit = two_parts(tmp_path, by_hand())
    for hours, part in ((2, "part1"), (30, "part2")):
        submit("ada", part)
        stamp = (DUE + timedelta(hours=hours)).timestamp()
        os.utime(tmp_path / "class" / "ada" / f"{part}.ipynb", (stamp, stamp))
    rules = settings(POLICY.replace("[late]", "[late]\ntrust_file_times = true"))
    exercises = [make_bundles(path) for path in paths]
    asked = Assignment("ps1", exercises, rules)

    book = grade_assignment(asked, tmp_path / "class", tmp_path / "out", Settings(isolation="none"))

    assert book.rows[0].lateness.days == 2
    with pytest.raises(GradebookError, match="Two exercises of the assignment are called part1"):
        grade_assignment(Assignment("ps1", exercises[:1] * 2), tmp_path / "class", tmp_path / "o")


def test_work_that_comes_in_during_a_run_does_not_stop_it(tmp_path):
    paths, submit = two_parts(tmp_path, by_hand())
    submit("ada", "part1")
    submit("ada", "part2")
    asked = Assignment("ps1", [make_bundles(path) for path in paths])

    def comes_in(done, of, what):
        submit("bob", "part2") if what == "judging" else None

    where = tmp_path / "class", tmp_path / "out", Settings(isolation="none"), comes_in
    book = grade_assignment(asked, *where)

    assert [row.student.id for row in book.rows] == ["ada", "bob"]


# ------------------------------------------------------------------------- a course

COURSE = """
roster = "roster.csv"
drop_lowest = 1
[assignments.ps1]
weight = 2
[assignments.ps2]
[assignments.ps3]
folder = "elsewhere"
[assignments.later]
"""


@pytest.fixture
def course(file, settings):
    file("roster.csv", "id,name\nada,Ada\nbob,Bob\ncy,Cy\n")
    file("graded/ps1/gradebook.csv", "student,points,of,q\nada,3,3,3\nbob,1,3,1\n")
    marks = "ada,0,8,\nbob,4,8,why: still to be marked\n"
    file("graded/ps2/gradebook.csv", f"student,points,of,note\n{marks}")
    file("elsewhere/gradebook.csv", "student,points,of\nada,1,2\nbob,1,3\neve,2,2\n")
    return settings(COURSE)


def test_a_total_weighs_the_assignments_and_drops_the_lowest(course, tmp_path):
    rows, missing = course_of(course, tmp_path / "graded")
    write_course(rows, tmp_path / "course.csv")

    totals = {r["student"]: (r["total"], r["dropped"]) for r in rows_of(tmp_path / "course.csv")}
    assert totals == {
        "ada": ("83.33", "ps2"),  # (2 * 100 + 50) / 3
        # (2 * 33.3.. + 50) / 3: of equal shares the one that weighs less is dropped
        "bob": ("38.89", "ps3"),
        "cy": ("0", "ps2"),
        "eve": ("33.33", "ps2"),
    }
    assert list(missing) == ["later"]
    _, bob, *_ = rows_of(tmp_path / "course.csv")
    assert (bob["ps1"], bob["name"]) == ("33.33", "Bob")
    assert bob["note"] == "ps2: why: still to be marked"


@pytest.mark.parametrize("drop", [0, 3, 9])
def test_at_least_one_assignment_counts(course, tmp_path, drop):
    (ada, *_), _ = course_of(replace(course, drop_lowest=drop), tmp_path / "graded")

    assert len(ada.dropped) == min(drop, 2) and ada.total == (100 if drop else Decimal("62.50"))


def test_a_course_without_settings_asks_for_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = minigrad("course")

    assert done.exit_code == 1 and "There is no gradebook.toml in this folder" in done.output


def test_the_course_command_names_ungraded_assignments(course, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = minigrad("course")

    assert done.exit_code == 0 and "later counts for nobody yet: there is no" in done.output
    assert "4 students, 1 with something to mark" in done.output
    file("graded/ps1/gradebook.csv", "student,points,of\nada,x,3\n")
    before = (tmp_path / "course.csv").read_bytes()
    done = minigrad("course")
    assert done.exit_code == 1 and "line 2: points is 'x'" in done.output
    assert (tmp_path / "course.csv").read_bytes() == before
    file("gradebook.toml", "drop_lowest = -1")
    done = minigrad("course")
    assert "drop_lowest is -1. To fix it, write a whole number" in done.output


# ------------------------------------------------------------------------- equal answers

WRITTEN = """
def softmax_backward(y, g):
    inner = (g * y).sum(axis=-1, keepdims=True)
    if y.ndim > 2:
        raise ValueError(y.shape)
    outer = y * g - y * inner
    return outer * 1.0 + 0.0 * inner - 0.0 * y
"""


RENAMED = WRITTEN.replace("inner", "a").replace("outer", "b").replace("(y, g)", "(y: float, g)")


@pytest.mark.parametrize(
    "other, equal",
    [
        (RENAMED, True),
        (WRITTEN.replace("    inner =", '    """By hand."""\n    # mine\n\n    inner ='), True),
        (WRITTEN.replace("inner", "swap").replace("outer", "inner"), True),
        (WRITTEN.replace("- y * inner", "- inner * y"), False),
        (WRITTEN.replace(".sum", ".mean"), False),
        (WRITTEN.replace("> 2", "> 3"), False),
    ],
)
def test_equal_answers_have_one_form_whatever_their_names_and_comments_are(other, equal):
    assert form_of(WRITTEN) and (form_of(other) == form_of(WRITTEN)) is equal


SHORT = ("", "def f(x, g):\n    return g * 3 * x**2", "f = lambda x: x" + "\n" * 99)


@pytest.mark.parametrize("source", [*SHORT, "no code", "(" * 9999])
def test_short_or_invalid_code_is_never_called_equal(source):
    assert form_of(source) == ""
    assert not equal_ones([("ada", "q", form_of(source)), ("bo", "q", form_of(source))])


def test_what_the_starter_has_and_right_predictions_do_not_make_answers_equal(author, submit):
    starter = "predicted = {" + ", ".join(f'"fact {k}": ...' for k in range(25)) + "}"
    notebook = nbformat.read(author, 4)
    notebook.cells[2].source = f"### BEGIN SOLUTION\n{WRITTEN}\n### END SOLUTION\n{starter}"
    nbformat.write(notebook, author)
    recording, _ = make_bundles(author)

    def form(answer):
        content = json.loads(submit("ada").read_text("utf-8"))
        next(c for c in content["cells"] if c["id"] == "answer")["source"] = answer
        return written_in(recording, find_answers(recording, json.dumps(content).encode()))[
            "check"
        ]["form"]

    assert form(starter.replace("...", '"runs"')) == "" != form(f"{WRITTEN}\n{starter}")


def test_equal_answers_are_shown_only_to_the_teacher_and_stubs_do_not_count(graded, tmp_path):
    alike = {row["student"]: row["alike"] for row in rows_of(tmp_path / "out" / "gradebook.csv")}
    assert alike == {
        "ada": "", "ada-l": "check: bob-b", "bob-b": "check: ada-l", "cy": "", "dan": "",
    }  # fmt: skip
    overview = (tmp_path / "out" / "overview.html").read_text("utf-8")
    assert "Equal answers" in overview and "check: An exercise" in overview
    for name in ("feedback/ada-l.html", "gradescope/ada-l/results.json"):
        assert "bob-b" not in (tmp_path / "out" / name).read_text("utf-8")
    page = (tmp_path / "out" / "feedback" / "ada-l.html").read_text("utf-8")
    assert "inner = (g * y).sum" in page and "ashes" not in page


def test_a_question_is_titled_by_its_own_answer_and_not_by_one_that_it_needs():
    cells = [
        ("markdown", "t1", "# Forward"),
        ("code", "a1", ""),
        ("markdown", "t2", "# Gradient"),
        ("code", "a2", ""),
    ]
    asked = [("one", ["a1"]), ("two", ["a1", "a2"]), ("three", ["a1", "a2"])]
    recording = SimpleNamespace(
        questions=[SimpleNamespace(id=i, answers=a) for i, a in asked],
        manual=[],
        cells=[{"kind": k, "id": i, "source": s} for k, i, s in cells],
    )

    assert titles_of(recording) == {"one": "Forward", "two": "Gradient", "three": "Gradient"}


def test_a_second_question_under_a_heading_is_titled_by_its_task():
    cells = [
        ("markdown", "t1", "# The cube\n\nWrite `f`."),
        ("code", "a1", ""),
        ("markdown", "t2", "Write `middle(x)`, the mean.\n\nIt is easy."),
        ("code", "a2", ""),
        ("markdown", "m1", "YOUR ANSWER HERE"),
        ("markdown", "t3", "## Compare\n\nIn the cells below."),
    ]
    asked = [SimpleNamespace(id="one", answers=["a1"]), SimpleNamespace(id="two", answers=["a2"])]
    manual = [SimpleNamespace(id="why", cell="m1"), SimpleNamespace(id="three", cell="t3")]
    cells = [{"kind": k, "id": i, "source": s} for k, i, s in cells]
    recording = SimpleNamespace(questions=asked, manual=manual, cells=cells)

    titles = titles_of(recording)

    assert titles == {
        "one": "The cube",
        "two": "Write middle(x), the mean.",
        "why": "The cube",
        "three": "Compare",
    }
