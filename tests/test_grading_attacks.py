"""Attacks on the side that is trusted: numbers, names and files that would end or mislead it.

What runs in the sandbox is tried in test_grading_verdicts.py.
"""

import csv
import json
import math
import time
from xml.etree import ElementTree

import nbformat
import pytest

from minigrad.grading.export.lms import read_marks
from minigrad.grading.files import file_names
from minigrad.grading.gradebook.book import gradebook_of
from minigrad.grading.gradebook.csv_files import cell_text, read_table, write_table
from minigrad.grading.judge.compare import compare_answer
from minigrad.grading.judge.grades import judge
from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.release.differences import uses_finite_differences
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.reports import write_reports
from minigrad.grading.run import notebook
from minigrad.grading.run.batch import BatchError, Settings, grade_class, read_answers
from minigrad.grading.run.carried import MAX_FILES, MAX_STATEMENTS, find_carried
from minigrad.grading.run.notebook import SubmittedCell, Unreadable, cells_of
from minigrad.grading.run.record import job_of, unrecorded
from minigrad.grading.run.submission import find_answers
from minigrad.grading.sandbox.launch import Limits, Process
from tests.submissions.authors import author
from tests.submissions.classes import Class
from tests.submissions.hostile import RIGHT, method
from tests.test_grading import hostile_grade

pytest.importorskip("minigrad.grading.sandbox.choose")

LIMITS = Limits(cell=20, question=40, submission=60, disk=8, memory=1024)


def asked(kind):
    return GradedQuestion("q", 1, "f()", ("y",), ({},), compare=kind, rtol=1e-9)


@pytest.mark.parametrize(
    "kind, mine, right",
    [
        ("exact", 3.0, math.inf),
        ("exact", math.inf, 3.0),
        ("exact", -math.inf, math.inf),
        ("exact", 1.0, math.nan),
        ("exact", 10**400, 1.5),
        ("exact", 10**400, 1),
        ("exact", 10**400, math.inf),
        ("exact", 10**10 + 1, 10**10),
        ("exact", True, 1),
        ("exact", 1, True),
        ("exact", None, 0),
        ("exact", "2", 2),
        ("exact", {"a": 1, "b": 2}, {"a": 1}),
        ("exact", [], [1]),
        ("exact", "\ud800", "a"),
        ("unordered", [10**5000], [1]),
        ("unordered", [1, 1], [1]),
        ("unordered", {"1": 1}, [1]),
        ("array", "NaN", 2.0),
    ],
)
def test_a_wrong_value_is_wrong_and_does_not_stop_judging(kind, mine, right):
    verdict = compare_answer(asked(kind), {"json": mine}, {"json": right})

    assert not verdict.ok and verdict.reason


@pytest.mark.parametrize(
    "mine, said",
    [
        ({"a": [1, 2.5], "b": "+"}, ""),
        ({"a": [1, 2.6], "b": "+"}, "wrong value: at ['a'][1]"),
        ({"a": [1, 2.5], "b": "-"}, "wrong value: at ['b']"),
        ({"a": [1], "b": "+"}, "wrong value: entries: 1 instead of 2, at ['a']"),
        ({"a": [1, 2.5], "c": "+"}, "wrong value: keys missing: 1, extra keys: 1"),
        ({"a": [1, [2.5]], "b": "+"}, "wrong value: at ['a'][1]"),
        ([1], "not a dict"),
    ],
)
def test_the_first_difference_of_nested_values_is_placed_and_no_right_value_shown(mine, said):
    verdict = compare_answer(asked("exact"), {"json": mine}, {"json": {"a": [1, 2.5], "b": "+"}})

    assert (verdict.ok, verdict.reason) == (not said, said)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 10**400, 2.5, None, [1, None]])
def test_a_right_value_is_right(value):
    assert compare_answer(asked("exact"), {"json": value}, {"json": value}).ok


@pytest.fixture
def exact(tmp_path):
    """The bundles of an exercise whose answer is compared as plain data."""
    path = tmp_path / "exact.ipynb"
    nbformat.write(plain_data("{'half': n / 2, 'of': n}", 5, 8), path)
    return make_bundles(path)


def plain_data(value, *inputs):
    """The notebook of a function whose value is compared as plain data."""
    return author(
        "import math",
        f"def half(n):\n    ### BEGIN SOLUTION\n    return {value}\n    ### END SOLUTION",
        call="half(n)",
        results=["value"],
        cases=[{"n": {"value": n}} for n in inputs],
        compare="exact",
    )


def recorded(recording, values):
    """What would have been recorded, if a process had published these values."""
    document = unrecorded(job_of(recording, "seed", "bwrap", Limits(), "0" * 64), None)
    answers = {f"check/{n}/value": {"json": value} for n, value in enumerate(values, 1)}
    said = {"end": "idle", "reason": None, "answers": answers, "notes": []}
    return {**document, "questions": {"check": said}}


def test_one_hostile_answer_costs_nobody_else_hostile_grade(exact):
    recording, bundle = exact
    right = [{"half": 2.5, "of": 5}, {"half": 4.0, "of": 8}]
    hostile = [{"half": 10**400, "of": 5}, {"half": [[[[[[1]]]]]], "of": "\ud800"}]

    grades = judge(bundle, [recorded(recording, values) for values in (hostile, right)])

    assert [grade["points"] for grade in grades] == [0, 4]


@pytest.mark.parametrize(
    "damage",
    [
        {"questions": []}, {"questions": {"check": [1]}}, {"questions": {"check": {"end": "idle"}}}, {"notes": 3},
        {"questions": {"check": {"end": "", "reason": 1, "answers": {}, "notes": []}}}, {"limits": {"cell": "1"}},
        {"format": "minigrad-answers-2"},
    ],
)  # fmt: skip
def test_a_changed_answers_file_is_named_before_judging(exact, tmp_path, damage):
    document = recorded(exact[0], [{"half": 2.5, "of": 5}, {"half": 4.0, "of": 8}])
    path = tmp_path / "ana.answers.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_answers(path) == document
    path.write_text(json.dumps(document | damage), encoding="utf-8")

    with pytest.raises(BatchError, match="ana.answers.json is not an answers file"):
        read_answers(path)


# ------------------------------------------------------------------------- names and reports


def test_no_two_students_share_a_file_name():
    (of_zoe,) = file_names(["zoë"])
    students = ["zoë", of_zoe, f"{of_zoe}-2", "Ana", "ana", "a b", "a/b", "a_b"]
    students += ["nul", "NUL.txt", "ana", ".."]

    names = file_names(students)

    assert len({name.casefold() for name in names}) == len(students)
    assert not {"nul", "nul.txt"} & {name.casefold() for name in names}
    assert names[-1].startswith("student-")


def test_no_student_s_page_overwrites_another(tmp_path):
    (of_zoe,) = file_names(["zoë"])

    grades = [hostile_grade("zoë", 2.0), hostile_grade(of_zoe, 0.0)]
    write_reports(gradebook_of("ex", [grades]), tmp_path)

    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "feedback").iterdir()]
    assert sorted("2 of 2 points" in page for page in pages) == [False, True]


@pytest.mark.parametrize(
    "student",
    [
        '=HYPERLINK("http://example.org")', "+1", "-1", "@SUM(1)", " =1", "\t=1", "\r=1", "\n=1", "'=1", '"=1',
        "\uff1d1", "\u00a0=1", "\u3000=1", "|cmd", "%0A=1", "\u200e=1", "\x00=1",
    ],
)  # fmt: skip
def test_no_cell_of_the_gradebook_begins_with_a_formula(tmp_path, student):
    grade = hostile_grade(student)
    grade["notes"] = [student]

    write_reports(gradebook_of("ex", [[grade]]), tmp_path)

    with open(tmp_path / "gradebook.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 2 and len(rows[1]) == len(rows[0])
    for cell in (rows[1][0], rows[1][5]):
        assert cell.startswith("'") and "\r" not in cell and "\n" not in cell and "\x00" not in cell


def test_no_part_of_a_cell_after_a_semicolon_begins_with_a_formula():
    text = 'wrong; =A1;"+1; right-hand; a=b'

    assert cell_text(text) == cell_text(text, lines=True) == "wrong; '=A1;\"'+1; right-hand; a=b"
    assert len(cell_text(";=" * 20_000, lines=True)) < 32_767, "more than Excel reads"


@pytest.mark.parametrize("text", ["a;=1", "a; '+1", "a;''=1;-2", "=1;=2", "'=1;'=2", 'p("a;"+b)'])
@pytest.mark.parametrize("edited", [False, True])
def test_a_table_is_read_as_it_was_written(tmp_path, text, edited):
    path = write_table(tmp_path / "a.csv", [["student", "answer"], ["ana", text]], edited=edited)

    (row,) = read_table(path, {"student": (), "answer": ()}, needed=["student"])

    assert row["answer"] == text


@pytest.mark.parametrize("student", ["a;=1", "x; '+y", "=1;=2", "a\nb", "a\x01", "a\ud800"])
def test_marks_can_be_exported_whatever_a_student_is_called(tmp_path, student):
    grades = [hostile_grade("ana", 2.0), hostile_grade(student, 1.0)]
    write_reports(gradebook_of("ex", [grades]), tmp_path)

    assert [one.line.points for one in read_marks(tmp_path).students] == [2, 1]


def test_hostile_text_stays_text_in_xml_and_json(tmp_path):
    text = "]]></failure><x/>&lt;!--\x00\x0b\ufffe\ud800 \u202e ü"
    grade = hostile_grade(text)
    grade["questions"][0].update(reason=text, notes=[text])

    write_reports(gradebook_of("ex", [[grade]]), tmp_path)

    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [e.tag for e in root.iter()] == ["testsuites", "testsuite", "testcase", "failure"]
    (path,) = (tmp_path / "gradescope").rglob("results.json")
    assert "]]></failure><x/>" in json.loads(path.read_text(encoding="utf-8"))["tests"][0]["output"]
    document = json.loads((tmp_path / "grades.json").read_text("utf-8"))
    assert document["grades"][0]["student"] == text


def test_students_do_not_get_the_seed(tmp_path):
    grade = hostile_grade("ana")
    grade["seed"] = "the secret seed"

    write_reports(gradebook_of("ex", [[grade]]), tmp_path)

    for page in [*(tmp_path / "feedback").iterdir(), *(tmp_path / "gradescope").rglob("*.json")]:
        assert "secret" not in page.read_text(encoding="utf-8")
    assert "secret" in (tmp_path / "grades.json").read_text(encoding="utf-8")


# ------------------------------------------------------------------------- files


def test_a_file_with_too_many_tokens_is_refused_before_it_uses_memory(monkeypatch):
    monkeypatch.setattr(notebook, "MAX_TEXT", 1000)
    monkeypatch.setattr(notebook, "MAX_PIECES", 5000)

    with pytest.raises(Unreadable, match="it has too many parts for a notebook"):
        cells_of(b'{"cells": [' + b"[]," * 10_000 + b"1]}")
    with pytest.raises(Unreadable, match="without its outputs it still has"):
        cells_of(b'{"cells": [' + b"1.5," * 1000 + b"1]}")


@pytest.mark.parametrize("end", [b"", b"\\"])
def test_an_unterminated_string_is_scanned_once(end):
    content = b'{"cells": "' + b'\\"' * 7_000_000 + end
    started = time.process_time()

    with pytest.raises(Unreadable, match="MB; the most is"):
        cells_of(content)

    assert time.process_time() - started < 20  # it took days


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_only_outputs_are_cut_from_a_large_file(monkeypatch, encoding):
    monkeypatch.setattr(notebook, "MAX_TEXT", 1000)
    source = 'x = {"outputs": [1]}  # "outputs": [{'
    outputs = [{"text": ["]}", '\\"', "ü" * 2000]}, {"outputs": [{"outputs": []}]}]
    cell = {"cell_type": "code", "id": "a", "outputs": outputs, "source": source, "metadata": {}}
    content = {"cells": [cell], "metadata": {"widgets": {"state": {"a": "x" * 2000}}}}

    (read,), _ = cells_of(json.dumps(content, ensure_ascii=False).encode(encoding))

    assert read.source == source and read.ids == ("a",)


def test_half_of_an_emoji_does_not_cost_the_answer():
    cell = {"cell_type": "code", "source": "# \ud83d\ndef f(x):\n    return x"}

    (read,), _ = cells_of(json.dumps({"cells": [cell]}).encode())

    assert read.source == "# ?\ndef f(x):\n    return x" and read.names == ("f",)


def test_only_a_limited_amount_of_text_is_parsed_for_names(monkeypatch):
    monkeypatch.setattr(notebook, "MAX_PARSED", 30)
    cells = [{"cell_type": "code", "source": f"name_{k} = 1"} for k in range(5)]

    read, _ = cells_of(json.dumps({"cells": cells}).encode())

    assert [cell.names for cell in read] == [("name_0",), ("name_1",), ("name_2",), (), ()]


def test_an_answer_in_sixty_long_parts_is_not_parsed_as_one(tmp_path):
    recording, _ = make_bundles(Class(tmp_path / "author.ipynb").author)
    ours = {"nbgrader": {"grade_id": "answer"}}
    long = {"cell_type": "code", "metadata": ours, "source": f"q = [{'1,' * 99_000}]\n"}
    content = json.dumps({"cells": [long] * 59 + [{**long, "source": "q = 1"}]}).encode()
    started = time.process_time()

    found = find_answers(recording, content)

    assert found.sources == {"answer": "q = 1"}
    assert time.process_time() - started < 20  # it took minutes, and 5 GB


FAR = "+".join("x" * 700)  # each of its 699 sums is itself a long sum


@pytest.mark.parametrize(
    "source, by_differences",
    [
        (" " * 190_000 + "x)", False),
        ("\n".join(f"a=x+h{k};b=x-h{k};c=a/h{k}" for k in range(7000)), True),
        ("\n".join([f"a = {FAR}"] * 140), True),  # too much of it: a person looks
        ("s = " + "+".join(f"h{k}" for k in range(600)) + "\na = x + s; b = x - s" * 9000, True),
        ("*".join(["1"] * 1500) + " + a", True),  # too deep for us: a person looks
        (f"a = x[0x{'f' * 5000}] + h", True),
    ],
)
def test_analyzing_a_hostile_program_takes_seconds(source, by_differences):
    started = time.process_time()

    assert uses_finite_differences(source, "f(x)") is by_differences
    assert time.process_time() - started < 20  # it took minutes


def test_the_number_of_carried_statements_is_limited():
    cells = [SubmittedCell("code", "a=1\n" * 48_000, (), (), 0)]
    started = time.process_time()

    found = find_carried("def f(x):\n    return a", cells, [], [])

    assert time.process_time() - started < 12
    assert found.names == ["a"] and len(found.above) == MAX_STATEMENTS


def test_a_note_stays_short_whatever_a_helper_is_called():
    long = "h" * 100_000
    cells = [SubmittedCell("code", f"{long} = 1\nimport {long}s", (), (), 0)]

    (note,) = find_carried(f"def f(x):\n    return {long} + {long}s", cells, [], []).notes

    assert len(note) < 200


def test_a_chain_of_a_thousand_written_modules_is_cut():
    cells = [
        SubmittedCell(
            "code", f"%%writefile m{k}.py\nimport m{k + 1}\n" + "x = 1\n" * 500, (), (), k
        )
        for k in range(4000)
    ]
    started = time.process_time()

    found = find_carried("import m0\ndef f(x):\n    return m0.x", cells, [], [])

    assert len(found.files) == MAX_FILES
    assert time.process_time() - started < 12


# ------------------------------------------------------------------------- whole runs


HOSTILE = {
    "memory_behind_descriptors": method(
        """
kept = []
for n in range(60):
    try:
        kept.append(os.memfd_create('a')); os.write(kept[-1], bytes(4_000_000))
    except OSError: return None
""",
        "import os",
    ),
    "files_without_a_name": method(
        """
kept = []
for n in range(60):
    try:
        kept.append(os.open('/run/kernel/f', os.O_CREAT | os.O_RDWR)); os.unlink('/run/kernel/f')
        os.write(kept[-1], bytes(4_000_000))
    except OSError: return None
""",
        "import os",
    ),
    "very_deep_folders": method(
        "try:\n    os.chdir('/run/kernel')\n    for n in range(1500): os.mkdir('d'); os.chdir('d')\n"
        "except OSError: pass",
        "import os",
    ),
    "my_own_program": RIGHT + "\nthis_is_my_own_program = 1",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory, tier):
    """A class of these answers to the exercise on reverse mode: its judge bundle, its answers, its grades."""
    folder = tmp_path_factory.mktemp("hostile")
    handed = Class(folder / "author.ipynb")
    for name, source in HOSTILE.items():
        handed.submit(name, answer=source)
    bundles, settings = make_bundles(handed.author), Settings(isolation=tier, limits=LIMITS, jobs=1)
    grades = grade_class(handed.folder, *bundles, folder / "out", settings)
    paths = (folder / "out" / "answers").glob("*.answers.json")
    answers = [path.read_text(encoding="utf-8") for path in paths]
    return bundles[1], answers, {grade["student"]: grade for grade in grades}


def test_recorded_answers_contain_no_program(graded, monkeypatch):
    bundle, answers, grades = graded
    first = grades["my_own_program"]
    (recorded,) = [text for text in answers if first["hashes"]["submission"] in text]
    monkeypatch.setattr(Process, "start", lambda *a, **k: pytest.fail("something was run"))

    (again,) = judge(bundle, [json.loads(recorded)])

    assert not any("this_is_my_own_program" in text for text in answers)
    assert again["questions"] == first["questions"] and again["points"] == 4


@pytest.mark.parametrize("name", ["memory_behind_descriptors", "files_without_a_name"])
def test_memory_and_disk_stay_within_the_limits(graded, name):
    _, _, grades = graded

    assert grades[name]["points"] == 0


def test_very_deep_folders_cost_no_other_question(graded):
    _, _, grades = graded

    assert grades["very_deep_folders"]["unreadable"] is None


def test_none_can_be_a_right_answer(tmp_path, tier):
    handed = Class(tmp_path / "none.ipynb", plain_data("None if n > 0 else 1", 5))
    handed.submit("ana", answer="half = lambda n: None")
    settings, bundles = Settings(isolation=tier, limits=LIMITS), make_bundles(handed.author)

    (grade,) = grade_class(handed.folder, *bundles, tmp_path / "out", settings)

    assert grade["points"] == 4
