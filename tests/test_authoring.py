"""The author's guide: its example is a notebook that is released, and graded as the guide says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbval")

GUIDE = Path(__file__).parents[1] / "AUTHORING.md"


def test_the_example_of_the_guide_is_released(tmp_path):
    from minigrad.grading.release.questions import declared

    (script,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    author = nbformat.read(tmp_path / "cube.ipynb", 4)

    first, second = declared(author, "cube.ipynb")
    assert (first.id, first.points, first.exercise) == ("cube-check", 2, "exercise")
    assert second.ids == [
        f"mean-check/{case}/{result}" for case in (1, 2) for result in ("mean", "median")
    ]

    minigrad = [sys.executable, "-c", "from minigrad.cli import main; main()"]
    command = [*minigrad, "release", "cube.ipynb", "-o", "cube"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    students = (tmp_path / "cube" / "cube.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError()" in students
    for secret in ("g * 3 * x**2", "np.median", "without_g", 'middle(x)\\"'):
        assert secret not in students
    judge = json.loads((tmp_path / "cube" / "grading" / "cube.judge.json").read_text("utf-8"))
    assert judge


def test_the_guide_names_what_there_is():
    import minigrad.teach as teach

    kinds = re.search(r"\| kind \|(.*?)\n\n", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    for name in re.findall(r"`([A-Z]\w+)`", kinds):
        assert name in teach.__all__


def test_the_guide_has_all_that_a_question_may_say():
    from dataclasses import fields

    from minigrad.grading.release.questions import GradedQuestion

    text = GUIDE.read_text(encoding="utf-8")
    found = {"id", "points", "cell", "answers", "given", "checks", "weights"}  # from its place
    found |= {"exercise", "order"}  # from the exercise
    for field in fields(GradedQuestion):
        assert field.name in found or f'"{field.name}"' in text, field.name


def test_release_warns_of_points_that_nobody_would_get(tmp_path):
    from minigrad.grading.release.questions import declared, unasked
    from tests.submissions.authors import AUTHORS

    notebook = nbformat.from_dict(AUTHORS["reverse"])
    assert unasked(notebook, declared(notebook, "author.ipynb")) == []
    graded = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade"))
    graded.source, graded.metadata.minigrad = "assert True", {}

    ((cell, points),) = unasked(notebook, declared(notebook, "author.ipynb"))

    assert cell == graded.metadata.nbgrader.grade_id and points == graded.metadata.nbgrader.points
