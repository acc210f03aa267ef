"""What the gate refuses before an exercise is released, and in which words."""

import json
import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from minigrad.grading import gate
from minigrad.grading.gate import GateError, gate_bundles, run_nbval
from minigrad.grading.release.bundles import make_bundles
from minigrad.grading.release.questions import QuestionError
from minigrad.grading.release.student import read_notebook
from tests.command import minigrad
from tests.submissions.authors import AUTHORS, a_cell

pytest.importorskip("minigrad.grading.sandbox.choose")


@pytest.fixture
def author(tmp_path):
    path = tmp_path / "author.ipynb"
    nbformat.write(AUTHORS["reverse"], path)
    return path


@pytest.fixture
def changed(author):
    """Change the author's notebook, through its cells by id."""

    def change(action):
        notebook = read_notebook(author)
        action({cell.id: cell for cell in notebook.cells}, notebook)
        nbformat.write(notebook, author)
        return author

    return change


def test_a_given_cell_that_needs_a_name_of_an_answer_is_told_so(tmp_path):
    author = facts(tmp_path, 'import math\npredicted |= {"one and one": 2, "two and two": 4}')
    notebook = read_notebook(author)
    notebook.cells.append(a_cell(new_code_cell, "plot", "area = math.pi", locked=True))
    nbformat.write(notebook, author)

    done = minigrad("release", author, "-o", tmp_path / "out")

    assert (
        done.exit_code
        and (
            "NameError: name 'math' is not defined\n    area = math.pi\n"
            "Given cells run without the cells of answers, which students change. To fix it, import or define "
            "'math' in a given cell."
        )
        in done.output
    )


@pytest.mark.parametrize(
    "words", ["Kernel didn't respond in 60 seconds", "Kernel died before replying to kernel_info"]
)
def test_a_notebook_whose_kernel_did_not_start_is_run_once_more(monkeypatch, author, words):
    ends = [(1, f"ERROR submission.ipynb::Cell 2 - RuntimeError: {words}"), (0, "3 passed")]

    def run_pytest(folder, *options):
        code, text = ends.pop(0)
        return subprocess.CompletedProcess([], code, text, "")

    monkeypatch.setattr(gate, "run_pytest", run_pytest)

    assert run_nbval(read_notebook(author)) == gate.NbvalReport(True, "3 passed")


def test_a_kernel_that_never_starts_is_not_blamed_on_the_solution(monkeypatch, author):
    ended = subprocess.CompletedProcess([], 1, "Kernel died before replying to kernel_info", "")
    monkeypatch.setattr(gate, "run_pytest", lambda folder, *options: ended)

    with pytest.raises(gate.NbvalDidNotRun, match="Its kernel did not start"):
        gate.gate(author)


def question(cells):
    return cells["check"].metadata.minigrad.question


def refused(author):
    with pytest.raises(GateError) as raised:
        gate_bundles(author, *make_bundles(author))
    return str(raised.value)


def test_a_right_answer_that_loses_points_is_refused(changed):
    right = ["def product_backward(x, y, g):\n    return g * y, g"]
    said = refused(changed(lambda cells, _: question(cells).update(right=right)))

    assert "right answer 1 of check gets 2 of 4 points, but should get all of them" in said
    assert "    check: 1/dy: wrong value: " in said


def test_a_stub_that_earns_points_is_refused(changed):
    def reveal(cells, _):
        given = "import numpy as np\ndef product(x, y, g):\n    return g * y, g * x"
        cells["given"].source = given
        question(cells).update(call="product(x, y, g)", wrong=[])

    said = refused(changed(reveal))

    assert "the untouched starter gets 4 of 4 points, but should get none" in said


def test_a_wrong_answer_that_the_cases_do_not_tell_apart_is_refused(changed):
    ones = [{n: {"shape": [3], "draw": "choice", "of": [1]} for n in "xyg"}]
    said = refused(changed(lambda cells, _: question(cells).update(cases=ones)))

    assert "wrong answer 1 of check gets 4 of 4 points, but should get fewer" in said


def test_a_given_cell_that_gives_the_answer_away_is_named_with_a_fix(changed):
    def reveal(cells, _):
        cells["given"].source = "import numpy as np\ndef right(x, y, g):\n    return g * y, g * x"
        question(cells).update(wrong=["product_backward = right"])

    said = refused(changed(reveal))

    assert (
        "product_backward = right\n    Answers can call it, because a given cell defines it" in said
    )


def test_a_solution_with_random_results_is_refused(changed):
    body = "    dx = np.random.rand(3)\n    dy = dx + 1\n    return dx, dy\n"
    source = f"def product_backward(x, y, g):\n    ### BEGIN SOLUTION\n{body}    ### END SOLUTION"
    said = refused(changed(lambda cells, _: cells["answer"].update(source=source)))

    assert "the solution gets 0 of 4 points, but should get all of them" in said


def test_a_solution_that_needs_another_package_is_told_how_to_declare_it(changed):
    def needs(cells, _):
        cells["given"].source += "\nimport rich"
        cells["answer"].source = cells["answer"].source.replace("g * y", "rich and g * y")

    said = 'graded without rich\nTo fix it, name the package in "packages"'
    assert said in refused(changed(needs))


def test_a_given_cell_that_reads_a_file_is_told_that_there_is_none(changed):
    author = changed(lambda cells, _: cells["given"].update(source="open('data.csv')"))

    with pytest.raises(GateError, match="It runs in an empty folder. To fix it, write the data"):
        gate.gate(author)


def test_an_undefined_name_is_traced_to_the_given_cell_that_failed(changed):
    def fails(cells, _):
        cells["given"].source += "\nimport os\ntwo = 2 if os.environ['PATH'] else 2 / 0"
        cells["answer"].source = f"print(two)\n{cells['answer'].source}"

    said = refused(changed(fails))

    assert "'two' is not defined, because of the given cell given: ZeroDivisionError" in said


def test_what_only_pictures_need_in_a_given_cell_is_left_out(changed):
    def needs(cells, notebook):
        plots = (
            "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.style.use('dark_background')"
        )
        cells["given"].source = f"{plots}\n{cells['given'].source}\nfrom tool import two"
        cells["answer"].source = cells["answer"].source.replace("g * y", "g * y * two / 2")
        module = a_cell(new_code_cell, "module", "%%writefile tool.py\ntwo = 2", locked=True)
        notebook.cells.insert(1, module)

    author = changed(needs)

    assert not gate_bundles(author, *make_bundles(author))


def test_a_given_cell_with_an_exercise_may_import_what_another_one_writes(tmp_path):
    cells = [
        a_cell(
            new_code_cell, "module", "%%writefile tool.py\ndef twice(x): return 2 * x", locked=True
        ),
        a_cell(new_code_cell, "given", f"from tool import twice\n{DIFFERENTIABLE}", locked=True),
        a_cell(new_code_cell, "answer", DOUBLE, solution=True),
        a_cell(new_code_cell, "check", "exercise.check()", grade=True, points=1, locked=True),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "doubles.ipynb")

    _, judge = make_bundles(tmp_path / "doubles.ipynb")

    assert [q.id for q in judge.questions] == ["check"]


def test_two_questions_of_one_name_are_refused(changed):
    def twice(cells, notebook):
        second = nbformat.from_dict(json.loads(json.dumps(cells["check"])))
        second.id = "second"
        second.metadata.nbgrader.grade_id = "another"
        second.metadata.minigrad.question["id"] = "check"
        notebook.cells.append(second)

    with pytest.raises(QuestionError, match="two questions are called check"):
        make_bundles(changed(twice))


FACTS = """\
from minigrad.teach import Facts
def what_happens():
    return {"one and one": 1 + 1, "two and two": 2 + 2}
exercise = Facts("predicted", what_happens, points=2)"""


def facts(tmp_path, solution):
    answer = f"predicted = {{}}\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
    cells = [
        a_cell(new_code_cell, "given", FACTS, locked=True),
        a_cell(new_code_cell, "answer", answer, solution=True),
        a_cell(new_code_cell, "check", "exercise.check()", grade=True, points=2, locked=True),
        a_cell(new_code_cell, "shown", "print(sorted(predicted))", locked=True),
    ]
    path = tmp_path / "facts.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_calling_the_given_function_is_not_a_prediction(tmp_path):
    author = facts(tmp_path, 'predicted |= {"one and one": 2, "two and two": 4}')
    recording, judge = make_bundles(author)

    assert judge.questions[0].wrong == ("predicted = what_happens()",)
    assert recording.questions[0].given == ()
    assert judge.questions[0].given == ("given",)  # and not what is shown of an answer
    assert gate_bundles(author, recording, judge) == {}


IMPLEMENTATION = """\
from minigrad.teach import Implementation
def twice(x):
    return 2 * x
exercise = Implementation("double", twice, [{"x": (3,)}])"""
DOUBLE = "def double(x):\n    ### BEGIN SOLUTION\n    return x + x\n    ### END SOLUTION"
DIFFERENTIABLE = """\
from minigrad.teach import Differentiable
exercise = Differentiable("double", lambda x: 2 * x, [[(3,)]])"""


def doubles(tmp_path, checking, *given):
    """An author's notebook with a question for each of these exercises: write a function that doubles."""
    cells = []
    for k, source in enumerate(given):
        solution = (
            f"def double{k}(x):\n    ### BEGIN SOLUTION\n    return x + x\n    ### END SOLUTION"
        )
        above = source.replace("double", f"double{k}").replace("exercise", f"exercise{k}")
        cells += [
            a_cell(new_code_cell, f"given{k}", above, locked=True),
            a_cell(new_code_cell, f"answer{k}", solution, solution=True),
            a_cell(new_code_cell, f"check{k}", f"exercise{k}.check()", grade=True, points=2, locked=True),
        ]  # fmt: skip
        cells[-3].metadata["minigrad"] = {"check": checking}
    path = tmp_path / "double.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.mark.parametrize(
    "given, answer",
    [(IMPLEMENTATION, "double0 = twice"), (DIFFERENTIABLE, "double0 = exercise0.forward")],
)
def test_a_given_implementation_is_no_answer(tmp_path, given, answer):
    said = refused(doubles(tmp_path, False, given))

    assert f"1 of check0 gets 2 of 2 points, but should get fewer.\n    {answer}" in said


def test_an_implementation_belongs_in_a_cell_of_the_check(tmp_path):
    author = doubles(tmp_path, True, IMPLEMENTATION, DIFFERENTIABLE)

    recording, judge = make_bundles(author)

    assert gate_bundles(author, recording, judge) == {}
    assert [len(question.wrong) for question in judge.questions] == [2, 1]


def test_a_solution_that_calls_the_given_function_is_refused(tmp_path):
    said = refused(facts(tmp_path, "predicted |= what_happens()"))

    assert "wrong answer 1 of exercise" in said or "wrong answer 1 of check" in said
    assert "should get fewer" in said
