"""The map of the course: every lesson and exercise, and how far each is; and the tables of them in the READMEs."""

import json
import re
from pathlib import Path

import pytest

from minigrad.grading.lessons import copy_lessons
from minigrad.teach import course

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ROOT / "notebooks"
EXERCISES = len(list(ROOT.glob("exercises/*/*.ipynb")))
FIRST = "../exercises/reverse_mode/01_shared_input.ipynb"


def state_of(folder, path=FIRST):
    found = course(folder / "notebooks")
    [state] = {e.state for _, exercises in found.rows for e in exercises if e.path == path}
    return state


def saved(folder, *outputs):
    """Save the first exercise with these outputs of its last cell."""
    path = folder / "notebooks" / FIRST
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][-1]["outputs"] = list(outputs)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_every_lesson_and_every_exercise_is_on_the_map():
    rows = course(LESSONS).rows

    lessons = {lesson.path for lesson, _ in rows}
    exercises = {(LESSONS / e.path).resolve() for _, practice in rows for e in practice}
    assert lessons | {"00_start_here.ipynb"} == {p.name for p in LESSONS.glob("*.ipynb")}
    assert exercises == set(ROOT.glob("exercises/*/*.ipynb"))


def test_the_start_page_stores_a_map_with_every_exercise():
    start = (LESSONS / "00_start_here.ipynb").read_text(encoding="utf-8")
    titles = {e.title for _, practice in course(LESSONS).rows for e in practice}

    assert f'"0 of {EXERCISES} exercises solved' in start
    assert not [
        title for title in titles if json.dumps(title, ensure_ascii=False)[1:-1] not in start
    ]


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "exercises/README.md"])
def test_a_table_of_exercises_has_each_once(page):
    exercises = ["/".join(path.parts[-2:]) for path in ROOT.glob("exercises/*/*.ipynb")]

    linked = re.findall(r"(\w+/\d\d_\w+\.ipynb)\)", read(page))

    assert sorted(link for link in linked if "notebooks/" not in link) == sorted(exercises)


def test_the_readme_adds_up_the_hours_of_each_theme():
    themes = [section.partition("\n") for section in read("exercises/README.md").split("\n## ")[1:]]
    hours = {t: sum(map(float, re.findall(r"([\d.]+) \|$", rows, re.M))) for t, _, rows in themes}

    stated = re.findall(r"^\| ([\w -]+): \[.* ([\d.]+) \|$", read("README.md"), re.MULTILINE)
    assert {theme: float(total) for theme, total in stated} == hours


def test_the_table_of_lessons_has_the_numbers_of_the_exercises():
    themes = {"forward": "forward_mode", "in-place": "inplace", "reverse": "reverse_mode"}
    listed = re.findall(
        r"^\| \[[^|]+\]\((.+?)\) \|.*\| (.*) \| .* \|$", read("notebooks/README.md"), re.M
    )
    numbers = {
        (lesson, themes.get(theme, theme), n)
        for lesson, exercises in listed
        for theme, several in re.findall(r"([a-z-]+) ([\d, –]+)", exercises)
        for first, _, last in (part.partition("–") for part in several.split(", "))
        for n in range(int(first), int(last or first) + 1)
    }

    practice = {(a.path, Path(e.path)) for a, exercises in course(LESSONS).rows for e in exercises}
    assert numbers == {(a, path.parts[-2], int(path.name[:2])) for a, path in practice}


def test_an_exercise_is_as_far_as_its_saved_checks_say(tmp_path):
    copy_lessons(tmp_path)
    assert (
        course(tmp_path / "notebooks").solved == (0, EXERCISES)
        and state_of(tmp_path) == "not tried"
    )

    name = "shared_input_backward"
    wrong = {"output_type": "error", "evalue": f"{name}: 5 of 6 gradients are right\n    case"}
    right = {"output_type": "execute_result"}
    right["data"] = {"text/plain": [f"{name}: all 6 gradients are right\n", "    case"]}
    unwritten = {"output_type": "error", "evalue": f"{name}: no answer yet\n    case"}
    saved(tmp_path, unwritten)
    assert state_of(tmp_path) == "not tried"
    saved(tmp_path, wrong)
    assert state_of(tmp_path) == "begun"
    saved(tmp_path, right)
    assert state_of(tmp_path) == "solved" and course(tmp_path / "notebooks").solved == (
        1,
        EXERCISES,
    )
    for other in (wrong, unwritten):
        saved(tmp_path, right, other)
        assert state_of(tmp_path) == "begun"


def test_a_notebook_that_cannot_be_read_is_on_the_map_under_the_name_of_its_file(tmp_path):
    copy_lessons(tmp_path)
    (tmp_path / "notebooks" / FIRST).write_text("not a notebook", encoding="utf-8")

    assert state_of(tmp_path) == "not tried"
    assert "01_shared_input" in repr(course(tmp_path / "notebooks"))


def test_the_map_links_to_the_notebooks_and_marks_what_is_solved():
    html = course(LESSONS)._repr_html_()

    assert f'✓ <a href="{FIRST}">A value that is used twice</a>' in html
    assert '<a href="01_a_value_and_its_tape.ipynb">1. A value and its tape</a>' in html


def test_a_folder_without_lessons_has_an_empty_map(tmp_path):
    assert course(tmp_path).solved == (0, 0)
