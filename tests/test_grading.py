"""Grading in parts that need no sandbox: what is asked, found, compared, collected, reported."""

import copy
import io
import json
import os
import shutil
import subprocess
import warnings
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest

from minigrad.grading.answers import BadAnswer, checked_answer, collect, encoded
from minigrad.grading.gradebook.book import gradebook_of
from minigrad.grading.judge.compare import compare_answer, judge_question
from minigrad.grading.judge.grades import _add_causes, _first_reason
from minigrad.grading.release import in_kernel
from minigrad.grading.release.bundles import (
    BundleError,
    Recording,
    find_bundles,
    make_bundles,
    write_bundles,
)
from minigrad.grading.release.check_cell import draw_input, draw_inputs
from minigrad.grading.release.differences import uses_finite_differences
from minigrad.grading.release.exercises import DIFFERENTIATED, ENTRIES, ONLY, STEPS
from minigrad.grading.release.markers import ReleaseError
from minigrad.grading.release.questions import GradedQuestion, QuestionError, declared
from minigrad.grading.release.student import is_answer, read_notebook, release
from minigrad.grading.release.syntax import defined_names, without_modules
from minigrad.grading.reports import write_reports
from minigrad.grading.reports.tables import SCHEMA
from minigrad.grading.reports.words import wrong_parts
from minigrad.grading.run.carried import find_carried
from minigrad.grading.run.collect import NoSubmissions, submissions_in
from minigrad.grading.run.notebook import SubmittedCell
from minigrad.grading.run.submission import find_answers
from minigrad.grading.sandbox.lockdown import ARCHITECTURE, seccomp_filter
from minigrad.grading.trusted import ask
from tests.submissions.answers import ANSWERS
from tests.submissions.authors import AUTHORS, by_exercise
from tests.submissions.classes import write_files
from tests.test_gradebook import a_grade, a_question

QUESTION = GradedQuestion("q", 2, "f(x)", ("y",), ({"x": {"shape": [3]}},))


@pytest.fixture
def author(tmp_path):
    path = tmp_path / "author.ipynb"
    nbformat.write(AUTHORS["reverse"], path)
    return path


# ------------------------------------------------------------------------- what is asked


def test_an_input_depends_on_the_seed_and_on_its_own_name_only():
    spec = {"shape": [2]}

    assert np.array_equal(draw_input(spec, "s/q/1/x"), draw_input(spec, "s/q/1/x"))
    assert not np.array_equal(draw_input(spec, "s/q/1/x"), draw_input(spec, "s/q/1/y"))
    assert not np.array_equal(draw_input(spec, "s/q/1/x"), draw_input(spec, "t/q/1/x"))


@pytest.mark.parametrize(
    "spec, holds",
    [
        (
            {"shape": [50], "draw": "uniform", "low": 1, "high": 2},
            lambda a: 1 <= a.min() <= a.max() <= 2,
        ),
        ({"shape": [50], "draw": "integers", "low": 0, "high": 3}, lambda a: set(a) == {0, 1, 2}),
        ({"shape": [50], "draw": "choice", "of": [-1, 1]}, lambda a: set(a) == {-1.0, 1.0}),
        ({"shape": [50], "scale": 100, "shift": 1000}, lambda a: 500 < a.mean() < 1500),
        ({"value": [1, "a"]}, lambda a: a == [1, "a"]),
        ({"shape": [0, 3]}, lambda a: a.shape == (0, 3)),
    ],
)
def test_inputs_are_drawn_as_they_are_declared(spec, holds):
    assert holds(draw_input(spec, "seed"))


def test_a_question_is_read_from_the_metadata_of_a_graded_cell(author):
    (question,) = declared(nbformat.read(author, 4), "author")

    assert (question.id, question.points, question.answers) == ("check", 4, ("answer",))
    assert question.ids == ["check/1/dx", "check/1/dy", "check/2/dx", "check/2/dy"]


def test_an_answer_in_words_is_marked_by_hand(author):
    notebook = nbformat.read(author, 4)
    words = {"grade_id": "why", "solution": True, "grade": True, "points": 2, "schema_version": 3}
    cell = nbformat.v4.new_markdown_cell("Because.", id="why", metadata={"nbgrader": words})
    notebook.cells.insert(2, cell)

    (question,) = declared(notebook, "author")

    assert question.answers == ("answer",)


@pytest.mark.parametrize(
    "value, strict, said",
    [
        ("None", False, "None instead of an answer: does the function end with a return?"),
        ("(1, 2, 3)", False, "3 values instead of 2: dx, dy"),
        ("numpy.ones((3, 2))", False, "3 values instead of 2: dx, dy"),
        ("numpy.ones(())", False, "1 value instead of 2: dx, dy"),
        ("numpy.ones((2, 2))", True, "1 value instead of 2: dx, dy"),
        ("numpy.ones((2, 2))", False, None),
        ("[1, 2]", True, None),
        ("[numpy.ones(20001)] * 2", True, "an array of 20001 numbers; the most is 20000"),
    ],
)
def test_a_value_that_is_not_several_results_is_explained(monkeypatch, value, strict, said):
    sent = []
    monkeypatch.setattr(in_kernel, "display", lambda data, raw: sent.append(data["m"]))
    asked = {
        "id": "q",
        "call": value,
        "helpers": "",
        "results": ["dx", "dy"],
        "cases": [{}],
        "kept": strict,
    }

    in_kernel.publish_results(asked, "m", {"numpy": np})

    assert [answer.get("error") for answer in sent] == [said, said]


def test_an_optimizer_may_write_into_the_parameter_and_the_gradient():
    def step(p, g, state, lr):
        v = state.setdefault("v", g)
        v += 0.0 if v is g else 0.9 * v + g
        p -= lr * v
        return p

    helpers = {}
    exec(STEPS, helpers)
    p, grads = np.ones(2), np.ones((3, 2))

    steps = helpers["steps_of_function"](step, p, grads, {"lr": 0.5})

    assert steps.shape == (3, 2) and (p == 1).all() and (grads == 1).all()


@pytest.mark.parametrize(
    "returned, said",
    [
        (lambda p: (p, {}), "a tuple was returned; it must be the new parameters"),
        (lambda p: p[None], r"shape \(1, 2\) instead of \(2,\)"),
    ],
)
def test_a_step_that_returns_something_else_is_told_so(returned, said):
    helpers = {}
    exec(STEPS, helpers)

    with pytest.raises((TypeError, ValueError), match=said):
        helpers["steps_of_function"](
            lambda p, g, state: returned(p), np.ones(2), np.ones((3, 2)), {}
        )


def test_a_result_to_differentiate_must_have_the_right_shape():
    helpers = {}
    exec(DIFFERENTIATED, helpers)

    with pytest.raises(ValueError, match=r"shape \(1,\) instead of \(\)"):
        helpers["differentiated"](lambda x: x.sum().reshape(1), {"x": np.ones(2)}, [], np.ones(()))


def test_a_step_that_returns_nothing_gives_none():
    helpers = {}
    exec(STEPS, helpers)

    assert (
        helpers["steps_of_function"](lambda p, g, state: None, np.ones(2), np.ones((3, 2)), {})
        is None
    )


@pytest.mark.parametrize("call", ["f'{x:.2f}'", "isinstance(x, float)", "round(x, 2)", "{x: 1}[x]"])
def test_an_input_without_axes_is_a_number(monkeypatch, call):
    sent = []
    monkeypatch.setattr(in_kernel, "display", lambda data, raw: sent.append(data["m"]))
    case = {"x": encoded(np.array(0.25))}
    asked = {
        "id": "q",
        "call": call,
        "helpers": "",
        "results": ["a"],
        "cases": [case],
        "kept": False,
    }

    in_kernel.publish_results(asked, "m", {})

    assert "error" not in sent[0] and sent[1] == {"id": "q/1/input x", **case["x"]}


@pytest.mark.parametrize(
    "value, said",
    [
        ("{'a': 1, 'b': 2}.keys()", {"json": ["a", "b"]}),
        ("{'b', 'a'}", {"json": ["a", "b"]}),
        ("np.array(['ab', 'c'])", {"json": ["ab", "c"]}),
        ("entries([1], ['s', 'x'])", {"error": "TypeError: a list instead of a dict with the keys s, x"}),
        ("entries({'x': 'b'}, ['x'])", {"json": ["b"]}),
        ("only(('b',))", {"json": "b"}),
        ("only(['b', 'c'])", {"json": ["b", "c"]}),
    ],
)  # fmt: skip
def test_a_result_that_is_no_array_is_published_as_plain_data_or_explained(
    monkeypatch, value, said
):
    sent = []
    monkeypatch.setattr(in_kernel, "display", lambda data, raw: sent.append(data["m"]))
    asked = {
        "id": "q",
        "call": value,
        "helpers": ENTRIES + ONLY,
        "results": ["a"],
        "cases": [{}],
        "kept": True,
    }

    in_kernel.publish_results(asked, "m", {"np": np})

    assert sent == [{"id": "q/1/a", **said}]


def test_an_exercise_of_minigrad_needs_no_declaration():
    notebook = by_exercise("[[(3,), (3,)]]")

    (question,) = declared(notebook, "author")

    assert question.call == "product_backward(x, y, g)"
    assert question.results == ("dx", "dy")
    drawn = draw_inputs([question], {"given": notebook.cells[1].source}, "secret")
    assert set(drawn[question.id][0]["inputs"]) == {"x", "y", "g"}


@pytest.mark.parametrize(
    "change, said",
    [
        ({"call": "f("}, "declaration is invalid"),
        ({"cases": []}, "no cases"),
        ({"results": ["a/b"]}, "an id may contain only letters"),
        ({"nonsense": 1}, "declaration is invalid: there is no key 'nonsense'"),
        ({"case": []}, "there is no key 'case'. Did you mean 'cases'"),
        ({"compare": "aray"}, r"question.compare must be one of \['array', .*, and it is 'aray'"),
        ({"right": "def f(x): return x"}, "question.right must be array"),
        ({"packages": "scipy"}, "question.packages must be array, and it is 'scipy'"),
        ({"seconds": 0}, "question.seconds must be bigger than 0"),
        ({"cases": [{"x": 3}]}, r"question.cases\[0\].x must be object, and it is 3"),
        ({"cases": [{"x": {"shape": 3}}]}, "x.shape must be array"),
        ({"cases": [{"x": {"shape": [3], "scal": 9}}]}, "must not contain {'scal'}"),
        ({"cases": [{"x-1": {"value": 3}}]}, "must be an object with names of variables"),
        ({"results": ["dx", "dx"]}, "two results of the question have the same name"),
        ({"helpers": "def ("}, "declaration is invalid: .*helpers, line 1"),
        ({"needs": ["elsewhere"]}, "there is no such cell"),
    ],
)
def test_an_invalid_declaration_is_explained(author, change, said):
    notebook = nbformat.read(author, 4)
    notebook.cells[3].metadata.minigrad.question.update(change)

    with pytest.raises(QuestionError, match=said):
        declared(notebook, "author")


@pytest.mark.parametrize("points", ["two", None, True, -1])
def test_points_that_are_no_number_are_refused(author, points):
    notebook = nbformat.read(author, 4)
    notebook.cells[3].metadata.nbgrader.points = points

    with pytest.raises(QuestionError, match=f"its points are {points!r}. To fix it"):
        declared(notebook, "author")


@pytest.mark.parametrize(
    "metadata, said",
    [
        ({"minigrad": {"question": "f(x)"}}, "question must be object, and it is 'f\\(x\\)'"),
        ({"minigrad": ["question"]}, r'"minigrad" must be an object, and it is \['),
        ({"nbgrader": 3}, '"nbgrader" must be an object, and it is 3'),
    ],
)
def test_metadata_of_another_type_is_refused_in_words(author, tmp_path, metadata, said):
    notebook = nbformat.read(author, 4)
    notebook.cells[3].metadata.update(metadata)
    nbformat.write(notebook, author)

    with pytest.raises(ReleaseError, match=said):
        release(author, tmp_path / "out")
        make_bundles(author)


def test_a_question_without_cases_is_told_so(author):
    notebook = nbformat.read(author, 4)
    del notebook.cells[3].metadata.minigrad.question["cases"]

    with pytest.raises(QuestionError, match="declaration has no 'cases'"):
        declared(notebook, "author")


@pytest.mark.parametrize(
    "spec, said",
    [({"draw": "integers", "low": 3, "high": 3}, "low >= high"), ({"dtype": "float33"}, "float33")],
)
def test_an_input_that_cannot_be_drawn_is_named(author, spec, said):
    notebook = nbformat.read(author, 4)
    notebook.cells[3].metadata.minigrad.question.cases[0]["x"] = {"shape": [2], **spec}
    nbformat.write(notebook, author)

    with pytest.raises(
        ReleaseError, match=f"the input x of case 1 of check cannot be drawn: .*{said}"
    ):
        make_bundles(author)


# ------------------------------------------------------------------------- the bundles


def test_the_recording_bundle_holds_no_solution_points_or_mistakes(author):
    recording, judge = make_bundles(author)

    text = json.dumps(recording.data)
    assert "dx = g * y" not in text and "points" not in text and "rtol" not in text
    assert "wrong" not in text and "BEGIN SOLUTION" not in text
    assert "dx = g * y" in json.dumps(judge.data)


def test_the_student_s_notebook_does_not_say_how_it_is_graded(author, tmp_path):
    text = release(author, tmp_path / "out").read_text(encoding="utf-8")

    assert "question" not in text and 'product_backward(x, y, g)"' not in text


def test_a_solution_in_a_given_cell_is_not_released(author):
    notebook = nbformat.read(author, 4)
    notebook.cells[1].source += "\ndef hint(g, y):\n    dx = g * y"
    nbformat.write(notebook, author)

    with pytest.raises(BundleError, match="dx = g \\* y"):
        make_bundles(author)


def test_bundles_are_found_by_folder_or_name_and_the_judge_bundle_is_private(author, tmp_path):
    recording, judge = make_bundles(author)
    paths = write_bundles(recording, judge, tmp_path / "grading")

    for place in (tmp_path, tmp_path / "grading", *paths):
        found = find_bundles(place)
        assert (found[0].hash, found[1].hash) == (recording.hash, judge.hash)
    assert paths[1].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("roster.csv", "id,name", "roster.csv is no exercise. To fix it, name the folder"),
        ("old.recording.json", '{"format": "minigrad-recording-1"}', "To fix it, release the exercise again"),
        ("none.json", None, "There is no .*none.json. To fix it"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused_with_what_to_name(tmp_path, name, text, said):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(BundleError, match=said):
        find_bundles(tmp_path / name)


def test_bundles_are_not_made_from_a_student_s_notebook(author, tmp_path):
    with pytest.raises(ReleaseError, match="This is a student's notebook, written by release"):
        find_bundles(release(author, tmp_path / "students"))


def test_bundles_of_two_releases_are_not_mixed(author):
    recording, _ = make_bundles(author)
    notebook = nbformat.read(author, 4)
    notebook.cells[1].source = "import numpy as np  # newer"
    nbformat.write(notebook, author)

    with pytest.raises(BundleError, match="different releases"):
        make_bundles(author)[1].belongs_to(recording)


# ------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "content, said",
    [
        ({"id": "a", "dtype": "|O", "shape": [1], "data": ""}, "dtype"),
        ({"id": "a", "dtype": "<c16", "shape": [1], "data": ""}, "dtype"),
        ({"id": "a", "dtype": "<f8", "shape": [-1], "data": ""}, "shape"),
        ({"id": "a", "dtype": "<f8", "shape": [True], "data": ""}, "shape"),
        ({"id": "a", "dtype": "<f8", "shape": [10**9], "data": ""}, "shape"),
        ({"id": "a", "dtype": "<f8", "shape": [1] * 9, "data": ""}, "shape"),
        ({"id": "a", "dtype": "<f8", "shape": [2], "data": "AAAA"}, "do not match"),
        ({"id": "a", "dtype": "<f8", "shape": [1], "data": "?"}, "base64"),
        ({"id": "a", "json": 1, "error": ""}, "form"),
        ({"id": "a"}, "form"),
        ({"id": 3, "json": 1}, "no id"),
        ([], "no id"),
        ({"id": "a", "json": [[[[[[[[[[1]]]]]]]]]]}, "deeply"),
        ({"id": "a", "json": "x" * 10**6}, "characters"),
    ],
)
def test_a_malformed_answer_is_rejected(content, said):
    with pytest.raises(BadAnswer, match=said):
        checked_answer(content)


def test_exactly_one_answer_counts():
    one, two = {"id": "q/1/y", "json": 1}, {"id": "q/2/y", "json": 2}
    said = [one, two, two, {"id": "other", "json": 3}, "noise"]

    answers, notes = collect(said, ["q/1/y", "q/2/y", "q/3/y"])

    assert answers["q/1/y"] == {"json": 1}
    assert answers["q/2/y"] == {"error": "2 answers were given; only one is allowed"}
    assert "q/3/y" not in answers
    assert notes == ["2 unexpected answers were ignored"]


# ------------------------------------------------------------------------- comparison


@pytest.mark.parametrize(
    "mine, right, reason",
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1, 2], [1.0, 2.0], ""),
        ([np.nan, 1.0], [np.nan, 1.0], ""),
        ([np.inf], [np.inf], ""),
        ([np.inf], [-np.inf], "wrong value"),
        ([np.nan], [1.0], "NaN entries: 1 of 1"),
        ([1.0, 2.0], [np.nan, 2.0], "wrong value: 1 of 2, the first at [0]"),
        ([1.0, 2.5], [1.0, 2.0], "wrong value: 1 of 2, the first at [1]"),
        ([[1.0, 2.0]], [1.0, 2.0], "shape (1, 2) instead of (2,)"),
        ([True], [1.0], "an array of bool"),
        ([1, 0], [True, False], ""),
        ([1, 1], [True, False], "wrong value: 1 of 2, the first at [1]"),
        ([], [], ""),
        ([2**33, 2**60], [2**33, 2**60], ""),
        ([2**33 + 1, 5], [2**33, 5], "wrong value: 1 of 2, the first at [0]"),
        ([2**60 + 1], [2**60], "wrong value"),
    ],
)
def test_arrays_are_compared_with_tolerance_and_the_reason_shows_no_right_value(
    mine, right, reason
):
    verdict = compare_answer(QUESTION, encoded(np.array(mine)), encoded(np.array(right)))

    assert verdict.ok == (not reason)
    assert verdict.reason.startswith(reason)


@pytest.mark.parametrize(
    "kind, mine, right, ok",
    [
        ("exact", {"a": [1, 2.0]}, {"a": [1, 2.0]}, True),
        ("exact", {"a": True}, {"a": 1}, False),
        ("exact", "1", 1, False),
        ("exact", 3.0, {"root": 3}, False),
        ("exact", 0.1 + 0.2, 0.3, True),
        ("unordered", [["a", "b"], ["c", "d"]], [["c", "d"], ["a", "b"]], True),
        ("unordered", ["a", "a"], ["a", "b"], False),
        ("unordered", 3, ["a"], False),
        ("unordered", [[0.3], 2.0], [2, [0.1 + 0.2]], True),
        ("unordered", [0.3, 0.3], [0.1 + 0.2, 0.4], False),
        ("unordered", [1, 0.3], [True, 0.1 + 0.2], False),
        ("unordered", [None, 1.0], [1, None], True),
        ("unordered", [True, 1], [1.0, 1.0], False),
    ],
)
def test_json_answers_are_compared(kind, mine, right, ok):
    question = GradedQuestion("q", 1, "f", ("y",), ({},), compare=kind)

    assert compare_answer(question, {"json": mine}, {"json": right}).ok is ok


def test_a_function_that_returns_nothing_is_told_so():
    verdict = compare_answer(QUESTION, {"json": None}, encoded(np.ones(2)))

    assert verdict.reason == "None instead of an answer: does the function end with a return?"


@pytest.mark.parametrize(
    "after, reason",
    [
        ([3.0, 0.0], ""),
        ([3.0, -0.0], ""),
        ([1.0, -1.0], "x was not changed in place; write into it, as in  x[...] = ..."),
        ([3.0, 1.0], "x was changed in place, but to a wrong value: 1 of 2, the first at [1]"),
    ],
)
def test_an_input_must_change_in_place_as_it_does_in_the_solution(after, reason):
    question = GradedQuestion("q", 1, "f(x)", ("y",), ({},))
    before, right = encoded(np.array([1.0, -1.0])), encoded(np.array([3.0, 0.0]))
    mine = {"q/1/y": right, "q/1/input x": encoded(np.array(after))}
    drawn = [{"inputs": {"x": before}, "atol": []}]

    (verdict,) = judge_question(
        question, mine, {"q/1/y": right, "q/1/input x": right}, drawn
    ).values()

    assert (verdict.ok, verdict.reason) == (not reason, reason)


def test_a_dict_of_nbformat_is_called_a_dict():
    question = GradedQuestion("q", 1, "f", ("y",), ({},), compare="exact")
    right = {"json": nbformat.from_dict({"root": 3})}

    assert compare_answer(question, {"json": {"root": 3}}, right).ok
    assert compare_answer(question, {"json": 3.0}, right).reason == "not a dict"


@pytest.mark.parametrize(
    "order, ok",
    [
        ("zsyx", True),
        ("zsxy", True),
        ("zxsy", False),
        ("zsy", False),
        ("zsyxx", False),
        ("zsyw", False),
    ],
)
def test_any_valid_order_is_right(order, ok):
    graph = {"nodes": list("zsxy"), "edges": [["z", "s"], ["z", "x"], ["s", "x"], ["s", "y"]]}
    question = GradedQuestion("q", 1, "f", ("y",), ({},), compare="order", order=graph)

    assert compare_answer(question, {"json": list(order)}, {"json": list("zsxy")}).ok is ok


# ------------------------------------------------------------------------- collecting


def test_a_folder_a_zip_and_nbgrader_s_tree_give_the_same_students(tmp_path):
    flat, tree, archive = tmp_path / "flat", tmp_path / "tree", tmp_path / "class.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for name in ("ana", "ben"):
            write_files(flat, f"{name}.ipynb")
            write_files(tree / "submitted" / name / "ps1", "ex.ipynb", "other.ipynb")
            opened.writestr(f"class/{name}/ex.ipynb", "{}")
            opened.writestr(f"__MACOSX/{name}", "")

    for place in (flat, tree, archive):
        found = submissions_in(place, "ex", tmp_path / f"unpacked-{place.name}")
        assert [(s.student, s.problem) for s in found] == [("ana", None), ("ben", None)]


def test_nothing_is_unpacked_outside_the_folder(tmp_path):
    link = zipfile.ZipInfo("eve/ex.ipynb")
    link.external_attr = 0o120777 << 16
    others = [(name, "{}") for name in ("../../outside.ipynb", "/absolute.ipynb", "ana.ipynb")]
    place = zipped(tmp_path / "class.zip", (link, "/etc/passwd"), *others)

    found = told(place, tmp_path / "in" / "unpacked")

    assert found["ana"] is None
    assert "link" in found["eve"]
    assert "leads out" in found["outside (unsafe)"] and "leads out" in found["absolute (unsafe)"]
    assert [p.name for p in tmp_path.rglob("*.ipynb")] == ["ana.ipynb"]


def test_a_zip_bomb_costs_one_submission(tmp_path, monkeypatch):
    monkeypatch.setattr("minigrad.grading.run.collect.MAX_BYTES", 10_000_000)
    bomb = ("bomb.ipynb", bytes(50_000_000))

    found = told(zipped(tmp_path / "class.zip", bomb, ("ana.ipynb", "{}")), tmp_path / "u")

    assert found["ana"] is None and "more than 9 MB" in found["bomb"]


def test_one_damaged_or_encrypted_file_in_a_zip_costs_only_itself(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for student, text in (("ana", "{}" * 100), ("bob", "[]" * 100), ("caro", "[[]]" * 50)):
            opened.writestr(f"{student}.ipynb", text)
        opened.writestr("d" * 300 + "/ex.ipynb", "{}")
    damaged = bytearray(content.getvalue().replace(b"{}{}", b"XXXX"))
    directory = damaged.index(b"PK\x01\x02", damaged.index(b"PK\x01\x02") + 1)  # that of bob
    local = damaged.index(b"PK\x03\x04", 4)
    damaged[directory + 8] |= 1  # encrypted
    damaged[local + 6] |= 1
    (tmp_path / "class.zip").write_bytes(damaged)

    found = told(tmp_path / "class.zip", tmp_path / "u")

    assert "cannot be unpacked: Bad CRC-32" in found["ana"]
    assert "protected by a password" in found["bob"]
    assert found["caro"] is None
    assert "cannot be unpacked: File name too long" in found["d" * 300]


def test_a_wrong_name_in_a_zip_costs_no_grade(tmp_path):
    students = ("ana", "größe", "böb")
    place = zipped(tmp_path / "class.zip", *((f"{name}.ipynb", name[0]) for name in students))
    place.write_bytes(place.read_bytes().replace("öb".encode(), b"\xff\xfeb"))

    found = submissions_in(place, "ex", tmp_path / "u")

    assert [one.path.read_text("utf-8") for one in found] == ["a", "b", "g"]
    assert found[2].student == "größe" and not any(one.problem for one in found)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_csv_is_a_submission_only_if_a_student_handed_it_in(tmp_path, zipped):
    place = tmp_path / "class"
    write_files(place, "roster.csv", "eve/answers.csv", "Bob_1_2_data.csv", "Cy_2_2_data.csv")
    write_files(place, "Cy_2_3_ex.ipynb")
    if zipped:
        place = Path(shutil.make_archive(str(tmp_path / "class"), "zip", place))

    assert told(place, tmp_path / "u") == {
        "Bob_1_2_data": "it is not a notebook, but a .csv file",
        "Cy_2_3_ex": None,
        "eve": "there is no notebook in the folder (it has answers.csv)",
    }


@pytest.mark.parametrize(
    "notebook, other",
    [
        ("ps1_ada_attempt_2026-11-30-23-59-00_ex.ipynb", "ps1_ada_attempt_2026-11-30-23-59-00.txt"),
        ("lovelaceada_12_34_ex.ipynb", "lovelaceada_12_33_notes.csv"),
        ("Ada L_77_assignsubmission_file_/ex.ipynb", "Ada L_77_assignsubmission_onlinetext_/a.html"),
        ("12-34 - Ada L - Nov 30, 2026 1159 PM - ex.ipynb", "12-34 - Ada L - Nov 30, 2026 1158 PM - a.txt"),
    ],
)  # fmt: skip
def test_files_beside_a_student_s_notebook_are_no_submissions(tmp_path, notebook, other):
    write_files(tmp_path, notebook, other)
    (tmp_path / "index.html").touch()  # Brightspace's

    (found,) = submissions_in(tmp_path, "ex", tmp_path / "u")
    (tmp_path / notebook).unlink()
    (alone, *_) = submissions_in(tmp_path, "ex", tmp_path / "u")

    assert found.path == tmp_path / notebook and not found.problem
    assert alone.problem


def test_no_student_is_left_out_because_names_begin_like_those_of_canvas(tmp_path):
    write_files(tmp_path, "hw_1_2026_ada.ipynb", "hw_1_2026_bob.pdf")

    assert len(submissions_in(tmp_path, "ex", tmp_path / "u")) == 2


@pytest.mark.parametrize("name", ["ex (1)", "ex(2)", "Ex-Copy1", "ex copy 2", "ex (1) (1)"])
def test_a_copy_among_several_notebooks_is_found_and_needs_confirmation(tmp_path, name):
    write_files(
        tmp_path, f"ada/{name}.ipynb", "ada/other.ipynb", "bob/ex.ipynb", "bob/ex (1).ipynb"
    )

    ada, bob = submissions_in(tmp_path, "ex", tmp_path / "u")

    assert ada.path.stem == name and "please confirm" in ada.note
    said = "ex.ipynb is graded, and not ex (1).ipynb: please confirm which one counts"
    assert bob.path.stem == "ex" and bob.note == said


@pytest.mark.parametrize("form", ["folder", "zip", "tree"])
def test_a_student_may_hand_in_a_zip(tmp_path, form, monkeypatch):
    monkeypatch.setattr("minigrad.grading.run.collect.MAX_BYTES", 10_000_000)
    place = tmp_path / "class"
    (place / "cy" / "hw").mkdir(parents=True)
    zipped(
        place / "ana.zip", ("ps1/ex.ipynb", "ana"), ("ps1/data.csv", "1"), ("../../out.ipynb", "x")
    )
    zipped(place / "bob.ZIP", ("ex.ipynb", "bob"), ("ex-Copy1.ipynb", "old"))
    zipped(place / "cy" / "hw" / "work.zip", ("mine.ipynb", "cy"))
    zipped(place / "dora.zip", ("ex.pdf", "%PDF"))
    zipped(place / "eve.zip", ("ex.ipynb", bytes(50_000_000)))
    (place / "finn.zip").write_bytes(b"PK, but not a zip")
    if form == "tree":
        place = place.rename(tmp_path / "submitted")
    source = (
        place if form != "zip" else Path(shutil.make_archive(str(tmp_path / "all"), "zip", place))
    )

    found = {s.student: s for s in submissions_in(source, "ex", tmp_path / "u")}

    assert [found[name].path.read_text("utf-8") for name in ("ana", "bob", "cy")] == [
        "ana",
        "bob",
        "cy",
    ]
    assert "ex.ipynb is graded, and not ex-Copy1.ipynb" in found["bob"].note
    assert found["dora"].problem == "its zip: there is no notebook in the folder (it has ex.pdf)"
    assert "9 MB, and this is among the largest" in found["eve"].problem
    why = "it is not a notebook, but a .zip file; finn.zip is damaged, or only a part of a zip"
    assert found["finn"].problem == why
    assert not [*tmp_path.rglob("out*.ipynb")]


def test_a_damaged_zip_and_an_empty_folder_are_explained(tmp_path):
    with pytest.raises(NoSubmissions, match="no submission"):
        submissions_in(tmp_path, "ex", tmp_path / "u")
    (tmp_path / "u").mkdir()
    with pytest.raises(NoSubmissions, match=r"no submission in .*/empty\.zip"):
        submissions_in(zipped(tmp_path / "empty.zip"), "ex", tmp_path / "u")
    place = zipped(tmp_path / "class.zip", ("a.ipynb", "{}"))
    place.write_bytes(place.read_bytes().replace(b"PK\x01\x02", b"PK\x01\x00"))

    with pytest.raises(NoSubmissions, match="cannot be unpacked"):
        submissions_in(place, "ex", tmp_path / "u")


@pytest.mark.parametrize(
    "name, other, third",
    [
        ("ana", "ana/ex.ipynb", "ana (2).ipynb"),
        ("José", "Jose\u0301.ipynb", "Jose.ipynb"),
        ("ana", "ana .ipynb", "ANA.ipynb"),
    ],
)
def test_students_with_the_same_name_stay_separate_and_are_flagged(tmp_path, name, other, third):
    write_files(tmp_path, f"{name}.ipynb", other, third)

    found = submissions_in(tmp_path, "ex", tmp_path / "u")

    assert len({s.student for s in found}) == 3
    said = f"2 submissions are called {name}: please confirm which one counts"
    assert sorted(str(s.note) for s in found) == [said, said, "None"]


def zipped(place, *entries):
    with warnings.catch_warnings(), zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as opened:
        warnings.simplefilter("ignore")  # of two entries of one name
        for name, text in entries:
            opened.writestr(name, text)
    return place


def told(place, target, exercise="ex"):
    return {s.student: s.problem for s in submissions_in(place, exercise, target)}


@pytest.mark.parametrize("other", ["ada.ipynb", "ada/ex.ipynb"])
def test_a_student_called_submitted_hides_nobody(tmp_path, other):
    place = zipped(tmp_path / "class.zip", ("submitted/ex.ipynb", "{}"), (other, "{}"))

    assert told(place, tmp_path / "u") == {"ada": None, "submitted": None}


@pytest.mark.parametrize(
    "entries",
    [("c/ana/ex.ipynb", "c/bob/ex.ipynb", "c/cem.ipynb"), ("c/cem.ipynb", "c/old/ex.ipynb")],
)
def test_a_loose_notebook_beside_two_folders_is_still_a_class(tmp_path, entries):
    place = zipped(tmp_path / "class.zip", *((name, "{}") for name in entries))

    several = {"ana": None, "bob": None, "cem": None}
    assert told(place, tmp_path / "u") == (several if len(entries) > 2 else {"c": None})


def test_two_notebooks_with_the_same_name_need_confirmation(tmp_path):
    write_files(tmp_path, "ana/b/ex.ipynb", "ana/a/ex.ipynb", "bob/ex.ipynb", "bob/other.ipynb")

    ana, bob = submissions_in(tmp_path, "ex", tmp_path / "u")

    said = "2 notebooks are called ex.ipynb; a/ex.ipynb is graded"
    assert ana.note == f"{said}: please confirm which one counts"
    assert bob.note is None


def test_the_last_of_two_zip_entries_with_one_name_counts_and_the_report_says_so(tmp_path):
    entries = [("c/ana.ipynb", "old"), ("c/ana.ipynb", "new"), ("c/bo.ipynb", "{}")]
    place = zipped(tmp_path / "class.zip", *entries)

    ana, other, bo = submissions_in(place, "ex", tmp_path / "u")

    assert (ana.problem, ana.path.read_text(encoding="utf-8"), bo.problem) == (None, "new", None)
    assert other.student == "ana (2)" and "several files of this name" in other.problem


def test_one_student_s_part_of_a_zip_costs_nobody_else(tmp_path):
    link = zipfile.ZipInfo("c/eve.ipynb")
    link.external_attr = 0o120777 << 16
    place = zipped(
        tmp_path / "class.zip",
        ("c/ana.ipynb", "{}"), (link, "/etc/passwd"), ("c/dan.ipynb", bytes(range(256)) * 999),
        ("c/joe", "{}"), ("c/joe/ex.ipynb", "{}"), ("c/kim/", ""), ("c/lee/notes.txt", "no"), ("/etc/x.ipynb", "{}"),
    )  # fmt: skip
    damaged = bytearray(place.read_bytes())
    start = damaged.index(b"c/dan.ipynb") + 11
    damaged[start : start + 60] = b"\xff" * 60  # no deflated data: an error of zlib
    place.write_bytes(damaged)

    found = told(place, tmp_path / "u")

    assert found.pop("ana") is None and "link" in found.pop("eve")
    assert "cannot be unpacked" in found.pop("dan") and "leads out" in found.pop("x (unsafe)")
    assert "it is empty" in found.pop("kim") and "notes.txt" in found.pop("lee")
    assert found == {"joe": None}


def test_too_many_or_too_large_files_cost_only_their_student(tmp_path, monkeypatch):
    monkeypatch.setattr("minigrad.grading.run.collect.MAX_FILES", 30)
    monkeypatch.setattr("minigrad.grading.run.collect.MAX_IN_ALL", 5_000_000)
    entries = [(f"eve/node_modules/{k}.js", "x") for k in range(100)]
    entries += [("big.ipynb", bytes(6_000_000)), ("ana.ipynb", "{}"), ("bo/ex.ipynb", "{}")]
    place = zipped(tmp_path / "class.zip", *entries)

    found = told(place, tmp_path / "u")

    assert found["ana"] is found["bo"] is None
    assert "more than 30 files" in found["big"] and "the largest" in found["big"]
    assert any("eve" in student for student in found)


def test_a_notebook_without_a_name_is_a_submission(tmp_path):
    write_files(tmp_path, ".ipynb", ".ana.ipynb", "._ana.ipynb", ".DS_Store")

    assert told(tmp_path, tmp_path / "u") == {".ana": None, ".ipynb": None}


def test_a_notebook_that_a_zip_is_appended_to_is_one_submission(tmp_path):
    archive = zipped(tmp_path / "class.zip", ("ana.ipynb", "{}"), ("bob.ipynb", "{}"))
    notebook = tmp_path / "eve.ipynb"
    notebook.write_bytes(b'{"cells": []}' + archive.read_bytes())

    assert told(notebook, tmp_path / "u") == {"eve": None}


def test_the_suffix_of_a_notebook_may_be_in_capitals(tmp_path):
    write_files(tmp_path / "class", "ANA.IPYNB", "bob/ex.Ipynb")
    archive = zipped(tmp_path / "class.zip", ("ANA.IPYNB", "{}"), ("bob/ex.Ipynb", "{}"))

    for place in (tmp_path / "class", archive):
        assert told(place, tmp_path / "u") == {"ANA": None, "bob": None}


# ------------------------------------------------------------------------- reports

HOSTILE = '"><script>alert(1)</script>'


def hostile_grade(student, points=1.0):
    """A grade whose texts are hostile."""
    question = a_question(
        points=points,
        right=1,
        reason=f"ValueError: {HOSTILE}\x1b[31m",
        notes=[HOSTILE],
        results=[{"id": "q/1/y", "ok": False, "reason": HOSTILE}],
        diagnoses=[{"kind": "sign", "message": "The sign is wrong.", "hint": "Look."}],
    )
    return a_grade(student, question, exercise="ex", notes=[HOSTILE])


@pytest.fixture
def reports(tmp_path):
    students = {"ana": 1.0, "=cmd()": 2.0, f"../{HOSTILE}": 0.0}
    grades = [hostile_grade(student, points) for student, points in students.items()]
    write_reports(gradebook_of("ex", [grades]), tmp_path)
    return tmp_path


def test_grades_json_keeps_its_schema(reports):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads((reports / "grades.json").read_text(encoding="utf-8"))

    jsonschema.validate(document, SCHEMA)
    assert json.loads((reports / "grades.schema.json").read_text(encoding="utf-8")) == SCHEMA
    assert document["questions"][0]["diagnoses"][0]["students"] == 3


def test_hostile_text_is_escaped_in_html(reports):
    for page in reports.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text and "\x1b" not in text
        assert "default-src 'none'" in text
    assert "&lt;script&gt;" in (reports / "overview.html").read_text(encoding="utf-8")


def test_gradescope_and_junit_agree(reports):
    result = json.loads((reports / "gradescope/ana/results.json").read_text("utf-8"))
    suites = ElementTree.parse(reports / "junit.xml").getroot()

    assert result["score"] == 1.0 and result["tests"][0]["max_score"] == 2
    assert [s.get("failures") for s in suites] == ["1", "1", "1"]


def test_reasons_tell_wrong_parts_from_unwritten_ones():
    question = GradedQuestion("q", 4, "f()", ("a", "b", "c", "d"), ({},))
    reasons = ["wrong value", "not written yet"] * 2
    reasons[3] += ": NotImplementedError"
    results = [{"id": i, "ok": False, "reason": r} for i, r in zip(question.ids, reasons)]

    reason = _first_reason(question, results)

    assert reason == "1/a: wrong value; also wrong: c; not written yet: b, d"
    assert wrong_parts({"reason": reason, "results": results})[1] == "b: not written yet."


@pytest.mark.parametrize("reason", ["1/z: not written yet", "the submission cannot be read"])
def test_a_wrong_answer_says_which_wrong_answer_it_is_graded_with(reason):
    asked = [("one", "a"), ("two", "ab"), ("three", "abc"), ("four", "abd")]
    questions = [GradedQuestion(i, 1.0, "f(x)", ("z",), ({},), answers=tuple(a)) for i, a in asked]
    reasons = ["1/z: wrong value", None, "1/z: wrong value", reason]
    graded = [a_question(i, right=2 * (r is None), reason=r) for (i, _), r in zip(asked, reasons)]

    _add_causes(questions, graded)

    said = "graded with the answer to one, which is wrong"
    assert [grade["notes"] for grade in graded] == [[], [], [said], []]


def test_names_that_a_broken_cell_did_not_define_are_not_explained():
    reason = "the answer a: SyntaxError: expected ':' (line 1 of the cell)"
    missing = {"id": "q/1/a", "ok": False, "reason": "NameError: name 'f' is not defined"}

    said = wrong_parts({"reason": reason, "results": [missing]})

    assert said == ["The answer a: SyntaxError: expected ':' (line 1 of the cell)."]


# ------------------------------------------------------------------------- the filter


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_every_path_through_the_seccomp_filter_returns(machine):
    import struct

    program = [struct.unpack("HBBI", p) for p in zip_of_8(seccomp_filter(machine, 1234))]
    for at, (code, if_true, if_false, _) in enumerate(program):
        jump = 0x05 <= (code & 0x07) and code & 0x07 == 0x05
        if jump:
            assert at + 1 + max(if_true, if_false) < len(program)
    assert program[-1][0] == 0x06


def zip_of_8(data):
    return [data[k : k + 8] for k in range(0, len(data), 8)]


# ------------------------------------------------------------------------- from where it runs

IMPORTED = """
import pathlib
pathlib.Path(__file__).with_suffix(".imported").touch()
raise ImportError("this module was handed in")
"""


def test_the_trusted_process_imports_nothing_from_submissions(tmp_path, monkeypatch):
    for name in ("IPython", "numpy", "json", "minigrad", "colorsys"):
        (tmp_path / f"{name}.py").write_text(IMPORTED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    told = ask(["import colorsys", "import minigrad as mg"], "drawn_cases", [])

    assert told == []
    assert list(tmp_path.glob("*.imported")) == []


@pytest.mark.parametrize("zipped", [True, False])
def test_folders_a_thousand_deep_cost_one_student(tmp_path, zipped):
    place = tmp_path / "class"
    (place / "ana").mkdir(parents=True)
    (place / "ana" / "ps1.ipynb").write_text("{}", encoding="utf-8")
    if zipped:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            archive.write(place / "ana" / "ps1.ipynb", "ana/ps1.ipynb")
            archive.writestr("bo/" + "d/" * 1500 + "ps1.ipynb", "{}")
        place = tmp_path / "class.zip"
    else:
        folder = os.open(place, os.O_RDONLY)
        for name in ["bo", *["d"] * 1500]:  # one by one: as a whole the path is too long
            os.mkdir(name, dir_fd=folder)
            below = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(folder)

    ana, bo = submissions_in(place, "ps1", tmp_path / "unpacked")

    assert (ana.student, ana.problem) == ("ana", None)
    assert bo.student == "bo"
    assert ("more than 20 deep" if zipped else "no notebook in the folder") in bo.problem
    if not zipped:
        subprocess.run(["rm", "-r", place / "bo"], check=True)  # shutil.rmtree would recurse


# ------------------------------------------------------------------------- what comes along


def taken(answer, *cells, given=(), layout=()):
    """What an answer takes along from other cells, each (source, its ids)."""
    others = [
        SubmittedCell("code", source, tuple(ids), tuple(defined_names(source)), place)
        for place, (source, *ids) in enumerate(cells)
    ]
    fixed = [
        {"id": i, "grade_id": None, "source": s, "answer": False, "names": defined_names(s)}
        for s, i in layout
    ]
    return find_carried(answer, others, fixed, list(given))


@pytest.mark.parametrize(
    "below, noted",
    [("def step(s): pass\nStack.step = step", []), ("Stack = 1", ["cell 2 defines Stack again"])],
)
def test_a_method_that_a_later_cell_adds_is_no_second_attempt(below, noted):
    cell = {
        "id": "a",
        "kind": "code",
        "source": "",
        "answer": True,
        "grade_id": None,
        "names": ["Stack"],
    }
    recording = Recording(
        {"format": "", "exercise": "e", "questions": [], "manual": [], "cells": [cell]}
    )
    mine = [("class Stack: pass", "a"), (below, "b")]
    cells = [{"cell_type": "code", "id": i, "source": s, "metadata": {}} for s, i in mine]

    found = find_answers(recording, json.dumps({"cells": cells}).encode())

    assert [note.partition(",")[0] for note in found.notes] == noted


def test_an_answer_may_use_a_helper_from_the_answer_to_another_question():
    found = taken(
        "def g(x):\n    return f(np.exp(x))",
        ("import numpy as np\ndef f(x):\n    return x\nprint(f(1))", "the first answer"),
        ("def unused():\n    return 1\nf(2)",),
    )

    assert (found.imports, found.above) == (["import numpy as np"], ["def f(x):\n    return x"])
    assert found.notes == ["graded with the answer, from cell 1: np, f"]


def test_importing_a_given_module_again_is_not_worth_a_note_nor_is_what_stands_beside_it_lost():
    answer, given = "def f(x):\n    return np.exp(x) * math.e", ["import numpy as np"]

    assert not taken(answer, ("import numpy as np",), given=given).notes
    found = taken(answer, ("import numpy as np, math",), given=given)
    assert found.imports == ["import math"] and found.refused == []
    assert taken(answer, ("import jax as np",), given=given).refused == ["np"]


def test_a_counter_that_a_function_declares_global_is_graded_with_it():
    answer = "def f(x):\n    global calls\n    calls += 1\n    return x"

    assert taken(answer, ("calls = 0",)).above == ["calls = 0"]


@pytest.mark.parametrize("added", ["f.calls = 0", "f.seen = {}", "f.again = g"])
def test_what_a_later_cell_adds_to_a_function_is_graded_with_it(added):
    assert taken("def f(x):\n    f.calls += 1\n    return x", (added,)).below == [added]


def test_an_import_from_the_future_is_run_and_not_mentioned():
    found = taken("def g(x: X):\n    return x", ("from __future__ import annotations",))

    assert found.imports == ["from __future__ import annotations"] and not found.notes


def test_a_module_that_a_cell_writes_is_graded_with_what_imports_it():
    cells = [
        SubmittedCell("code", "%%writefile lib/ops.py\nfrom lib.more import two", (), (), 0),
        SubmittedCell("code", "%%file lib/more.py\none = 1", (), (), 1),
        SubmittedCell("code", "%%writefile -a lib/more.py\ntwo = 2", (), (), 2),
        SubmittedCell("code", "%%writefile other.py\nraise SystemExit", (), (), 3),
    ]

    found = find_carried("from lib import ops\ndef f(x):\n    return ops.two * x", cells, [], [])

    assert found.files == {
        "lib/ops.py": "from lib.more import two\n",
        "lib/more.py": "one = 1\ntwo = 2\n",
    }
    assert found.notes == ["graded with the answer, from cell 1, 2, 3: lib/ops.py, lib/more.py"]


@pytest.mark.parametrize(
    "source, left",
    [
        ("if 1:\n    import seaborn as sns\n    sns.set()\nx = 1", "if 1:\n    pass\nx = 1"),
        ("if 1:\n    import seaborn as np\nelse:\n    import numpy as np\ny = np.ones(3)",
         "if 1:\n    pass\nelse:\n    import numpy as np\ny = np.ones(3)"),
        ("for k in '':\n    import seaborn\n    x = k", "for k in '':\n    x = k"),
        ("with a:\n    from seaborn import set\nset()", "with a:\n    pass"),
        ("try:\n    import seaborn\nexcept ImportError:\n    seaborn = 1", ""),
        ("import seaborn\nif seaborn:\n    x = 1\ny = 1", "y = 1"),
    ],
)  # fmt: skip
def test_what_cannot_run_without_a_module_is_left_out_of_blocks_too(source, left):
    assert without_modules(source, ["seaborn"]) == left


def test_a_local_name_carries_nothing():
    others = "w = k = train(1000)\nx = 1\nfor k in range(9): w = w - 1"
    found = taken("def g(x):\n    w = [k for k in x]\n    return w", (others,))

    assert found.notes == []


@pytest.mark.parametrize(
    "own, cell",
    [
        ("def tell():\n    return 1  # edited", "given"),
        ("import math\ndef tell():\n    return 1", "mine"),
        ("def tell():\n    return 1", "given"),
    ],
)
def test_a_cell_that_reveals_the_answer_is_not_carried_even_if_edited(own, cell):
    layout = [("import math\ndef tell():\n    return 1", "given")]

    found = taken("p = tell() + math.pi", (own, cell), layout[0], layout=layout)

    assert {*found.imports} == {"import math"} and not found.above


def test_the_check_s_second_implementation_is_not_carried_but_a_helper_with_its_name_is():
    layout = [("def slow(x):\n    return x", "check")]
    answer, given = "def fast(x):\n    return slow(x)", ["import numpy as np"]
    mine = "def slow(x):\n    return 2"

    assert not taken(answer, *layout, given=given, layout=layout).above
    assert not taken(answer, (mine, "check"), given=given, layout=layout).above
    assert taken(answer, *layout, (mine, "mine"), given=given, layout=layout).above == [mine]


def test_a_cell_may_contain_magics_and_lines_that_look_like_magics():
    assert defined_names("%matplotlib inline\nhere = !ls\nif 1:\n    !ls\na = 1\na?\n?a") == ["a"]
    assert defined_names("a = (7\n% 3)") == ["a"]
    assert defined_names("%%bash\na = 1") == [] and defined_names("%%time\na = 1") == ["a"]


# ------------------------------------------------------------------------- finite differences

CENTRAL = "def f_backward(x, g):\n    h = 1e-3\n    return g * ({}) / {}"
SLOPE = """
def slope(f, a, h=1e-2):
    d = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        p, m = a.copy(), a.copy()
        p[i] += h
        m[i] -= h
        d[i] = (8 * (f(p) - f(m))) / (12 * h)
    return d
def f_backward(x, g):
    return slope(lambda a: (np.sin(a) * g).sum(), x)
"""


@pytest.mark.parametrize(
    "source",
    [
        "def f_backward(x, g):\n    return g * np.sin(x + 1e-20j).imag / 1e-20",
        CENTRAL.format("np.sin(x + h) - np.sin(x - h)", "(2 * h)"),
        CENTRAL.format("8 * (f(x + h) - f(x - h)) - f(x + 2 * h) + f(x - 2 * h)", "(12 * h)"),
        CENTRAL.format("np.sin(x + 1j * h).imag", "h"),
        "def f_backward(x, g):\n    return g * np.imag(np.sin(np.add(x, complex(0, 1e-30)))) * 1e30",
        CENTRAL.format("sum(c * f(x + k * h) for k, c in zip(range(-4, 5), C))", "h"),
        SLOPE,
        "def f_backward(x, g):\n    return g * (np.sin(x + 1e-3) - np.sin(x - 1e-3)) / 2e-3",
        "def f_backward(x, g):\n    h = 1e-3 * np.maximum(1, abs(x))\n    up, down = f(x + h), f(x - h)\n"
        "    d = up - down\n    d /= 2 * h\n    return d * g",
        "def f_backward(x, g):\n    h = 0.1\n    def at(k): return f(x + k * h)\n"
        "    return g * sum(w * at(k) for k, w in W) / h",
        "def f_backward(x, g):\n    T = []\n    for h in (0.2, 0.1, 0.05):\n"
        "        T.append((f(x + h) - f(x - h)) / (2 * h))\n    return g * (4 * T[1] - T[0]) / 3",
        "def f_backward(x, g):\n    h = 1e-2\n    for u in np.eye(len(x)):\n        step = h * u\n"
        "        d = (f(x + step) - f(x - step)) / (2 * h)\n    return d",
    ],
)
def test_finite_differences_are_recognized_in_the_source(source):
    assert uses_finite_differences(source, "f_backward(x, g)")


@pytest.mark.parametrize(
    "source",
    [
        "def f_backward(x, g):\n    e = np.exp(x)\n    t = 1 / e\n    return g * (1 - ((e - t) / (e + t))**2)",
        "def f_backward(x, g):\n    n = len(x)\n    c = x - x.mean(0)\n    s = 1 / np.sqrt((c * c).mean(0) + 1e-5)\n"
        "    return s / n * (n * g - g.sum(0) - c * s * (g * c * s).sum(0))",
        "def f_backward(x, g):\n    return g * np.log((1 + x) / (1 - x)) / 2",
        "def f_backward(x, y, g):\n    return g * (x + y) * (x - y) / y",
        "def f_backward(x, g):\n    n = x.shape[1]\n    out = x.ravel().copy()\n    for i in range(2):\n"
        "        for j in range(n):\n            out[j + i * n] = g.ravel()[j + i * n] / n\n    return out",
        "def f_backward(x, g):\n    a = 0.5\n    return g * ((x + a) - (x - a)) / (x + a)**2",
        "def f_backward(f, x, h):\n    return (f(x + h) - f(x - h)) / (2 * h)",
        SLOPE.replace("def f_backward", "def by_slope")
        + "def f_backward(x, g):\n    return g * np.cos(x)\nassert np.allclose(by_slope(A, A), f_backward(A, A))",
    ],
)
def test_a_derivation_is_not_mistaken_for_finite_differences(source):
    assert not uses_finite_differences(source, "f_backward(x, g)")


def test_a_question_whose_solution_uses_differences_is_declared_to():
    notebook = copy.deepcopy(AUTHORS["reverse"])
    (plain,) = declared(notebook, "author")
    notebook.cells[2].source = CENTRAL.format("f(x + h) - f(x - h)", "(2 * h)")
    notebook.cells[3].metadata["minigrad"]["question"]["call"] = "f_backward(x, g)"

    (question,) = declared(notebook, "author")

    assert question.differences and not plain.differences


@pytest.mark.parametrize("theme", sorted(ANSWERS))
def test_no_right_answer_is_mistaken_for_finite_differences(theme):
    for name, source in ANSWERS[theme].items():
        found = uses_finite_differences(source, "product_backward(x, y, g)")
        assert found == ("differences" in name), name


@pytest.mark.parametrize("path", sorted(Path("exercises").rglob("*.ipynb")), ids=lambda p: p.stem)
def test_no_solution_of_the_course_is_mistaken_for_finite_differences(path):
    for cell in read_notebook(path).cells:
        if is_answer(cell) and cell.cell_type == "code":
            names = ", ".join(defined_names(cell.source))
            assert not uses_finite_differences(cell.source, f"({names})")
