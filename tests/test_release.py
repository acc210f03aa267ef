"""The student's notebook: what is taken out, what stays, and what is refused."""

import json
from textwrap import indent

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from minigrad.grading.gate import GateError, gate, run_nbval, with_answers
from minigrad.grading.release.markers import CODE_STUB, MarkerError, ReleaseError
from minigrad.grading.release.student import (
    CellMetadataError,
    UnreadableNotebook,
    read_notebook,
    release,
)

ANSWER = """\
def double(x):
    "Twice x."
    ### BEGIN SOLUTION
    result = x + x  # the long way
    return result * 1
    ### END SOLUTION"""

STUB = """\
def double(x):
    "Twice x."
    # YOUR CODE HERE
    raise NotImplementedError()"""


def nbgrader(grade_id, **settings):
    ungraded = {"solution": False, "grade": False, "locked": False, "schema_version": 3}
    return {"nbgrader": {"grade_id": grade_id, **ungraded, **settings}}


def answer_cell(source=ANSWER, grade_id="double", **settings):
    metadata = nbgrader(grade_id, solution=True, **settings)
    return new_code_cell(source, id=f"cell-{grade_id}", metadata=metadata)


def check_cell(source="double(4)", output="8", **settings):
    result = nbformat.v4.new_output("execute_result", {"text/plain": output}, execution_count=2)
    metadata = nbgrader("check", grade=True, locked=True, points=2, **settings)
    return new_code_cell(
        source, id="cell-check", metadata=metadata, outputs=[result], execution_count=2
    )


@pytest.fixture
def released(tmp_path):
    """Release a notebook of these cells; give the student's, without the cell that says what counts."""

    def run(*cells):
        author = write(tmp_path / "author.ipynb", *cells)
        student = nbformat.read(release(author, tmp_path / "students"), as_version=4)
        student.cells = [cell for cell in student.cells if cell.id != "what-counts"]
        return student

    return run


def write(path, *cells):
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def test_a_solution_becomes_a_stub_with_its_indentation(released):
    assert released(answer_cell()).cells[0].source == STUB


def test_several_regions_of_one_cell_become_several_stubs(released):
    first = "### BEGIN SOLUTION\na = 10 * 10\n### END SOLUTION"
    second = "if b:\n\t### BEGIN SOLUTION\n\tc = 2\n\t### END SOLUTION"

    student = released(answer_cell(f"{first}\nb = 1\n{second}"))

    assert student.cells[0].source == f"{CODE_STUB}\nb = 1\nif b:\n" + indent(CODE_STUB, "\t")


def test_an_answer_cell_without_markers_becomes_the_stub_as_a_whole(released):
    metadata = nbgrader("why", solution=True, grade=True)
    text = new_markdown_cell("Because.", id="why", metadata=metadata)

    student = released(answer_cell("double = lambda x: 2 * x"), text)

    assert student.cells[0].source == "# YOUR CODE HERE\nraise NotImplementedError()"
    assert student.cells[1].source == "YOUR ANSWER HERE"


def test_outputs_and_counts_are_cleared_and_hidden_tests_removed(released):
    source = (
        "double(4)\n### BEGIN HIDDEN TESTS\nassert double(1e300) == 2e300\n### END HIDDEN TESTS"
    )

    cell = released(answer_cell(), check_cell(source)).cells[1]

    assert (cell.source, cell.outputs, cell.execution_count) == ("double(4)", [], None)


def test_metadata_is_kept_ids_are_copied_and_checks_are_locked(released):
    answer, check = released(answer_cell(), check_cell()).cells

    assert answer.metadata.nbgrader == nbgrader("double", solution=True)["nbgrader"]
    assert check.metadata.nbgrader.points == 2
    assert answer.metadata.minigrad.cell == answer.id == "cell-double"
    assert check.metadata.editable is False
    assert "editable" not in answer.metadata and answer.metadata.deletable is False


def test_releasing_twice_gives_the_same_file(tmp_path):
    author = write(tmp_path / "author.ipynb", answer_cell(), check_cell())

    first, second = (release(author, tmp_path / d).read_bytes() for d in "ab")

    assert first == second


def test_markers_that_do_not_match_are_refused(released):
    said = "cell 1 .*: the region that begins in line 1 has no ### END"
    with pytest.raises(MarkerError, match=said):
        released(answer_cell("### BEGIN SOLUTION\nx"))


def test_a_repeated_grade_id_is_refused(released):
    again = answer_cell("### BEGIN SOLUTION\n### END SOLUTION")
    again.id = "another"

    with pytest.raises(CellMetadataError, match="two cells have the grade_id 'double'"):
        released(answer_cell(), again)


def test_a_repeated_cell_id_is_refused(tmp_path):
    author = write(tmp_path / "author.ipynb", answer_cell(), check_cell())
    repeated = author.read_text("utf-8").replace("cell-check", "cell-double")
    author.write_text(repeated, "utf-8")

    with pytest.raises(CellMetadataError, match="two cells have the cell id 'cell-double'"):
        release(author, tmp_path / "students")


def test_lines_that_reveal_nothing_may_remain(released):
    source = "### BEGIN SOLUTION\nimport numpy as np\nx = 1\nreturn_value = 5\n### END SOLUTION\nreturn dx, dy"

    student = released(answer_cell(source), new_code_cell("import numpy as np\nx = 1"))

    assert student.cells[1].source == "import numpy as np\nx = 1"


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not JSON"),
        ("[]", "no list of cells"),
        (json.dumps({"nbformat": 4, "nbformat_minor": 4, "cells": []}), "format 4.4"),
    ],
)
def test_a_file_that_is_not_a_notebook_is_refused_with_a_reason(tmp_path, text, message):
    author = tmp_path / "author.ipynb"
    author.write_text(text, encoding="utf-8")

    with pytest.raises(UnreadableNotebook, match=message):
        release(author, tmp_path / "students")
    assert not (tmp_path / "students").exists()


def test_a_student_s_notebook_is_not_released_again(tmp_path):
    author = write(tmp_path / "author.ipynb", answer_cell(), check_cell())
    student = release(author, tmp_path / "students")

    with pytest.raises(MarkerError, match="no ### BEGIN SOLUTION.*release the author's notebook"):
        release(student, tmp_path / "again")
    with pytest.raises(MarkerError, match="student's notebook"):
        gate(student)
    assert not (tmp_path / "again").exists()


def test_the_author_s_notebook_is_never_overwritten(tmp_path):
    author = write(tmp_path / "author.ipynb", answer_cell())

    with pytest.raises(ReleaseError, match="overwrite"):
        release(author, tmp_path)


def test_the_gate_refuses_checks_that_always_pass(tmp_path):
    author = write(tmp_path / "author.ipynb", answer_cell(), check_cell("8"))

    with pytest.raises(GateError, match="the untouched starter passes"):
        gate(author)


def test_a_right_answer_may_be_computed_differently(tmp_path):
    """A tensor's HTML shows its chain, which is the student's own; its text is what counts."""
    source = "def double(x):\n    ### BEGIN SOLUTION\n    return x + x\n    ### END SOLUTION"
    given = new_code_cell("import minigrad\nx = minigrad.ones(2, requires_grad=True)", id="given")
    check = check_cell("double(x) + 0")
    data = {"text/plain": "tensor([2., 2.], grad_fn=<AddBackward0>)", "text/html": TENSOR}
    check.outputs = [nbformat.v4.new_output("execute_result", data=data, execution_count=1)]
    author = write(tmp_path / "author.ipynb", given, answer_cell(source), check)
    answers = {"cell-double": "def double(x):\n    return 2 * x"}

    verdict = run_nbval(with_answers(read_notebook(author), answers))

    assert verdict.passed, verdict.report


TENSOR = '<div class="minigrad-tensor">of another chain</div>'
