"""A class from its author's notebook to Canvas and Gradescope, as an instructor meets it, by the guides."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.command import minigrad
from tests.test_gradebook import mark, rows_of

GUIDE = (Path(__file__).parents[1] / "AUTHORING.md").read_text("utf-8")
WHY = """\
    cell("text", "cube-why", "It is a product of three.", nbgrader={"solution": True, "grade": True,
         "locked": False, "points": 3}),
]
kernel = """
# with enough in it that two who wrote the same are worth a look
LONG = """\
def cube_backward(x, g):
    {one} = x * x
    {two} = g * {one}
    if {two}.ndim > 7 or {one}.ndim > 7:
        return {one} + {two} - {one} * {two}
    {three} = {two} + {two} + {two}
    return {three} * 1.0 + 0.0 * {two}
"""
ANSWERS = {
    "right": "def cube_backward(x, g):\n    return 3 * g * x**2",
    "no_g": "def cube_backward(x, g):\n    return 3 * x**2",
    "wrong": "def cube_backward(x, g):\n    return g * x**2",
    "raises": "def cube_backward(x, g):\n    return g @ nothing",
}


def hand_in(notebook: Path, folder: Path) -> None:
    """Twenty files: right, wrong, late, doubled, broken, of a stranger; and one student has none."""
    folder.mkdir()

    def write(name, answer=None, why=None):
        cells = json.loads(notebook.read_text("utf-8"))
        for cell in cells["cells"]:
            which = cell["metadata"].get("nbgrader", {}).get("grade_id")
            given = {"cube-answer": answer, "cube-why": why}.get(which)
            cell["source"] = cell["source"] if given is None else given
        (folder / f"{name}.ipynb").write_text(json.dumps(cells), "utf-8")

    for k in range(1, 15):
        kind = list(ANSWERS)[k % 4]
        write(f"s{k:02}", ANSWERS[kind], f"{kind} thinks so." if k % 4 else None)
    write("s15", LONG.format(one="a", two="b", three="c"), "By the rule.")
    write("s16", "# all mine\n" + LONG.format(one="square", two="arrived", three="total"))
    write("s17")
    (folder / "s18.ipynb").write_text("{", "utf-8")
    write("s01@x.edu", ANSWERS["no_g"])
    write("stranger", ANSWERS["right"])


@pytest.fixture
def walk(tmp_path, monkeypatch):
    """An empty home and folder; commands are given there."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)

    def command(line):
        done = minigrad(*line.split())
        assert done.exit_code == 0, done.output
        return done.output

    return command


@pytest.mark.skipif(not os.environ.get("MINIGRAD_SLOW"), reason="slow: set MINIGRAD_SLOW=1")
def test_a_class_goes_from_the_author_s_notebook_to_canvas_and_gradescope(walk):
    program = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1]
    cells, rest = program.split('    cell("text", "mean-task"')
    exec(cells + WHY + rest.partition("kernel = ")[2], {})
    walk("release cube.ipynb -o cube --no-run")  # the gate is tried elsewhere
    hand_in(Path("cube/cube.ipynb"), Path("class"))
    people = [[f"s{k:02}", f"Student No{k}", f"s{k:02}@x.edu"] for k in range(1, 20)]
    with open("roster.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "name", "email"], *people])
    Path("times.csv").write_text("student,time\ns03,2026-12-02 10:00\n" + "".join(
        f"s{k:02},2026-11-30 12:00\n" for k in (1, *range(4, 19), 2)
    ), "utf-8")  # fmt: skip
    Path("overrides.csv").write_text("student,question,points,reason\n", "utf-8")
    Path("gradebook.toml").write_text(
        'time_zone = "UTC"\nroster = "roster.csv"\ndeadline = 2026-11-30T23:59:00\n'
        'times = "times.csv"\noverrides = "overrides.csv"\n[late]\npercent_per_day = 10\n',
        "utf-8",
    )

    said = walk("grade class -e cube")

    assert "20 submissions graded" in said and "students who handed in nothing: 1" in said
    assert "late submissions: 1" in said and "still to be marked" in said
    first = {row["student"]: row for row in rows_of("graded/gradebook.csv")}
    assert first["s19"]["note"] == "nothing was handed in"
    assert first["s15"]["alike"] == "cube-check: s16" and first["s04"]["alike"] == ""
    mark(Path("graded/manual.csv"), "s01", "cube-why", points="2.5", comment="Well said.")
    Path("overrides.csv").write_text(
        "student,question,points,reason\ns19,cube-check,2,was ill\n", "utf-8"
    )

    walk("grade class -e cube")

    rows = {row["student"]: row for row in rows_of("graded/gradebook.csv")}
    assert rows["s01"]["cube-why"] == "2.5" and rows["s19"]["points"] == "2"
    page = Path("graded/feedback/s02.html").read_text("utf-8")
    assert "g * x**2" in page and "3 of 3 values differ" in page
    assert "s16" not in Path("graded/feedback/s15.html").read_text("utf-8")
    overview = Path("graded/overview.html").read_text("utf-8")
    assert "Equal answers" in overview and "for example" in overview
    header = "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
    body = "".join(f'"No{k}, Student",{k},,s{k:02},A\n' for k in range(1, 20))
    Path("canvas.csv").write_text(header + body, "utf-8")
    assert "stranger" in walk("export canvas --roster canvas.csv -o upload.csv")
    assert rows_of("upload.csv")[19]["cube"] == "2"
    walk("export gradescope cube")
    with ZipFile("cube-autograder.zip") as package:
        package.extractall("autograder/source")
    Path("autograder/submission").mkdir()
    Path("class/s04.ipynb").rename("autograder/submission/cube.ipynb")
    places = {"SOURCE": "source", "SUBMISSION": "submission", "RESULTS": "results/results.json"}
    here = {f"AUTOGRADER_{key}": f"autograder/{place}" for key, place in places.items()}
    environment = {**os.environ, **here, "AUTOGRADER_VENV": sys.prefix}
    subprocess.run(["bash", "autograder/source/run_autograder"], env=environment, check=True)
    results = json.loads(Path("autograder/results/results.json").read_text("utf-8"))
    assert [test["name"] for test in results["tests"]] == ["cube-check"]
    assert results["tests"][0]["score"] == 2
