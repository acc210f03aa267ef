"""The markers of nbgrader and otter: what comes in place of a solution, and what is refused."""

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from minigrad.grading.release.bundles import BundleError, make_bundles
from minigrad.grading.release.markers import CODE_STUB, MarkerError, check_markers, cleared
from minigrad.grading.release.student import (
    CellMetadataError,
    SolutionLeft,
    release,
)
from tests.submissions.authors import AUTHORS

STUB = CODE_STUB.replace("\n", "\n    ")


def shown(source, **settings):
    return cleared(source, CODE_STUB, **settings)[0]


@pytest.mark.parametrize(
    "line, student",
    [
        ("x = 2 # SOLUTION", "x = ..."),
        ("x = 2  #SOLUTION", "x = ..."),
        ("    x, y = f(1), '=' # SOLUTION", "    x, y = ..."),
        ("x = (2 + 3) * 4 # SOLUTION", "x = ..."),
        ("größe: float = 2.0 # SOLUTION", "größe: float = ..."),
        ("x += 2 # SOLUTION", "x += ..."),
        ("x == 2 # SOLUTION", "..."),
        ("    return x + 2 # SOLUTION", "    ..."),
        ("print(x) # SOLUTION", "..."),
        ("a = 1\nx = 2 # SOLUTION NO PROMPT\nb = 2", "a = 1\nb = 2"),
        ("x = 2 # the SOLUTION is near", "x = 2 # the SOLUTION is near"),
        ("s = '# SOLUTION'", "s = '# SOLUTION'"),
        ("# HIDDEN\nassert f(1) == 2", ""),
        ("\n# HIDDEN TEST\nassert f(1) == 2", ""),
        ("f(1)\n# HIDDEN", "f(1)\n# HIDDEN"),
    ],
)
def test_otter_s_markers_of_a_line(line, student):
    assert shown(line) == student


def test_otter_s_regions_show_a_prompt():
    source = '''\
pi = 3.14
if True:
    # BEGIN SOLUTION
    radius = 3
    area = radius * pi * pi
    # END SOLUTION
    print(area)

def circumference(r):
    # BEGIN SOLUTION NO PROMPT
    return 2 * pi * r
    # END SOLUTION
    """ # BEGIN PROMPT
    # Next, define a circumference function.
    pass
    """; # END PROMPT'''

    assert shown(source) == (
        "pi = 3.14\nif True:\n    ...\n    print(area)\n\ndef circumference(r):\n"
        "    # Next, define a circumference function.\n    pass"
    )


def test_nbgrader_s_regions_show_a_stub_and_hide_tests():
    source = "def f(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION"
    tests = "f(1)\n### BEGIN HIDDEN TESTS\nassert f(2) == 3\n### END HIDDEN TESTS\nf(3)"

    assert shown(source) == f"def f(x):\n    {STUB}"
    assert shown(tests) == "f(1)\nf(3)"


@pytest.mark.parametrize(
    "given, solution",
    [
        ('predicted = {"a": ..., "b": ...}', 'predicted |= {"a": 1, "b": 2}'),
        ('predicted = {"a": ..., "b": ...}', 'predicted["a"] = 1\npredicted.update(b=2)'),
        ("order: list = ...", 'order = ["z", "x"]'),
        ("x, y = ..., ...", "x = 1\ny = 2"),
        ("rates = [..., ...]", "rates[:] = [1, 2]"),
    ],
)
def test_an_answer_that_is_filled_in_has_no_stub_below_it_that_raises(given, solution):
    source = f"{given}\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION"

    assert shown(source) == given
    assert shown(source.replace("###", "#")) == f"{given}\n..."  # otter's


@pytest.mark.parametrize(
    "given, solution",
    [("x = 1", "y = 2"), ("x = 1", "x += 2"), ("x = ...", "y = 2"), ("x = ...", "print(x)")],
)
def test_a_stub_stands_where_no_dots_are_filled_in(given, solution):
    assert shown(f"{given}\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION") == (
        f"{given}\n{CODE_STUB}"
    )


@pytest.mark.parametrize(
    "given, indent, left",
    [
        ("class Stack:", 4, "..."),
        ("class Stack:\n    def pop(self):\n        return 1\n", 4, "..."),
        ("def f():\n    class Stack:", 8, "..."),
        ("class Stack:\n    def push(self, x):", 8, "raise NotImplementedError()"),
        ("class Stack:\n    x = 1\n", 0, "raise NotImplementedError()"),
    ],
)
def test_a_stub_in_the_body_of_a_class_does_not_raise(given, indent, left):
    space = " " * indent
    source = f"{given}\n{space}### BEGIN SOLUTION\n{space}y = 2\n{space}### END SOLUTION"

    assert shown(source) == f"{given}\n{space}# YOUR CODE HERE\n{space}{left}"


def test_markers_work_in_nested_functions_and_in_markdown():
    nested = (
        "def f(x):\n    def g(y):\n        # BEGIN SOLUTION\n        return y\n        # END SOLUTION\n"
        "    return g"
    )
    text = "Why?\n\n### BEGIN SOLUTION\nBecause.\n### END SOLUTION\n\n# SOLUTION"

    assert shown(nested) == "def f(x):\n    def g(y):\n        ...\n    return g"
    assert cleared(text, "YOUR ANSWER HERE", code=False)[0] == (
        "Why?\n\nYOUR ANSWER HERE\n\n# SOLUTION"
    )


@pytest.mark.parametrize(
    "source, said",
    [
        ("# BEGIN SOLUTION\nx = 1", "the region that begins in line 1 has no ### END SOLUTION"),
        ("x = 1\n# END SOLUTION", "line 2: ### END SOLUTION without ### BEGIN SOLUTION above it"),
        (
            "### BEGIN SOLUTION\n# BEGIN SOLUTION NO PROMPT\n### END SOLUTION",
            "line 2: ### BEGIN SOLUTION inside the region that began in line 1. To fix it, write ### END",
        ),
        ("### BEGIN HIDDEN TESTS\n1", "begins in line 1 has no ### END HIDDEN TESTS"),
        ('""" # BEGIN PROMPT\npass', "begins in line 1 has no # END PROMPT"),
        ('pass\n""" # END PROMPT', "line 2: # END PROMPT without # BEGIN PROMPT above it"),
        (
            "def f():\n    # BEGIN SOLUTION NO PROMPT\n    return 1\n    # END SOLUTION",
            "the rest is not valid Python. To fix it, put the markers around whole statements",
        ),
        ("x = f(1, # SOLUTION\n      2)", "the rest is not valid Python"),
    ],
)
def test_markers_that_do_not_match_are_refused_with_the_line(source, said):
    with pytest.raises(MarkerError) as raised:
        check_markers(source, "author.ipynb, cell 1")

    assert said in str(raised.value)


# ------------------------------------------------------------------------- whole notebooks


def settings(**given):
    return {"nbgrader": {"schema_version": 3, "locked": False, **given}}


def written(folder, *cells, metadata=None):
    path = folder / "author.ipynb"
    nbformat.write(new_notebook(cells=list(cells), metadata=metadata or {}), path)
    return path


def answer(source="dx = g * y * 1 # SOLUTION", **given):
    metadata = settings(grade_id="a", solution=True, grade=False, **given)
    return new_code_cell(source, id="answer", metadata=metadata)


def test_otter_s_markers_work_from_file_to_file(tmp_path):
    check_cell = new_code_cell(
        "# HIDDEN\nassert dx.shape == (3,)",
        id="check",
        metadata=settings(grade_id="c", grade=True, solution=False, points=1),
    )
    check_cell.metadata["minigrad"] = {"question": {"packages": ["scipy"]}}

    student = nbformat.read(release(written(tmp_path, answer(), check_cell), tmp_path / "s"), 4)

    answer_cell, what_counts, check = student.cells
    assert (answer_cell.source, check.source) == ("dx = ...", "")
    assert what_counts.source.startswith("*What is graded: your answer cells")
    assert "Graded code can use NumPy, scipy, Python's" in what_counts.source


def test_an_answer_that_is_graded_by_hand_is_replaced_too(tmp_path):
    cell = answer("dx = g * y * 1")
    cell.metadata.nbgrader.grade = True

    student = nbformat.read(release(written(tmp_path, cell), tmp_path / "s"), 4)

    assert student.cells[0].source == CODE_STUB


@pytest.mark.parametrize(
    "cell, said",
    [
        (new_code_cell("x = 2 # SOLUTION", id="c"), 'is a solution region, .*"solution": true'),
        (new_code_cell("# HIDDEN\nassert 1", id="c"), 'there are hidden tests, .*"grade": true'),
        (
            new_code_cell("# HIDDEN", id="1f", metadata={"nbgrader": {"grade_id": "c"}}),
            "there are hidden tests",
        ),
        (new_raw_cell("# BEGIN QUESTION\nname: q1", id="c"), "a raw cell with otter's '# BEGIN QU"),
        (
            new_raw_cell("# BEGIN SOLUTION", id="c"),
            "otter's markers are supported in code cells only",
        ),
    ],
)
def test_markers_in_a_cell_that_is_not_declared_for_them_are_refused(tmp_path, cell, said):
    with pytest.raises(CellMetadataError, match=rf"\(id c\): .*{said}"):
        release(written(tmp_path, answer(), cell), tmp_path / "s")

    assert not (tmp_path / "s").exists()


def leaks():
    line = "dx = g*y * 1  # as the product rule says"
    yield "a source", new_code_cell(line, id="leak"), {}
    yield "a comment", new_code_cell(f"# {line}", id="leak"), {}
    yield "a text", new_markdown_cell(f"`{line}`", id="leak"), {}
    yield "metadata", new_code_cell("1", id="leak", metadata={"notes": {"key": line}}), {}
    yield "the notebook's metadata", new_code_cell("1", id="leak"), {"solutions": [line]}
    picture = base64.b64encode(f"<svg><text>{line}</text></svg>".encode()).decode()
    attached = new_markdown_cell("![](a.svg)", id="leak")
    attached["attachments"] = {"a.svg": {"image/svg+xml": picture}}
    yield "an attachment", attached, {}


@pytest.mark.parametrize("where, cell, metadata", list(leaks()), ids=[w for w, *_ in leaks()])
def test_no_part_of_a_solution_is_released(tmp_path, where, cell, metadata):
    author = written(tmp_path, answer(), cell, metadata=metadata)

    with pytest.raises(SolutionLeft) as raised:
        release(author, tmp_path / "s")

    said = str(raised.value)
    assert "would still show a line of the solution of cell 1:\n    dx = g * y * 1\n" in said
    assert ("in the metadata of the notebook" if metadata else "(id leak)") in said
    assert not (tmp_path / "s").exists()


def test_no_part_of_an_answer_without_markers_is_released(tmp_path):
    author = written(tmp_path, answer("dx = g * y * 1"), new_code_cell("dx = g*y*1", id="leak"))

    with pytest.raises(SolutionLeft):
        release(author, tmp_path / "s")


def test_outputs_of_the_author_are_not_released(tmp_path):
    said = nbformat.v4.new_output("stream", text="dx = g * y * 1")
    cell = new_code_cell("1", id="shown", outputs=[said], execution_count=1)

    student = nbformat.read(release(written(tmp_path, answer(), cell), tmp_path / "s"), 4)

    assert student.cells[-1].outputs == []


@pytest.mark.parametrize(
    "change",
    [
        lambda question: question.update(helpers="dx = g * y"),
        lambda question: question["cases"][0].update(dx={"value": "dx = g * y"}),
        lambda question: question.update(packages=["dx = g * y"]),
    ],
)
def test_no_line_of_a_solution_is_in_the_recording_bundle(tmp_path, change):
    notebook = nbformat.from_dict(AUTHORS["reverse"])
    notebook = nbformat.reads(nbformat.writes(notebook), 4)
    change(notebook.cells[3].metadata.minigrad.question)
    nbformat.write(notebook, tmp_path / "author.ipynb")

    with pytest.raises(BundleError) as raised:
        make_bundles(tmp_path / "author.ipynb")

    assert "a line of the solution of cell 3 would be in the recording bundle" in str(raised.value)
