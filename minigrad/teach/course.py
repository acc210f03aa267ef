"""A map of the course: its lessons, the exercises for each, and which of them are solved.

    course()    a row for each lesson in a folder

Nothing is listed here. A lesson's title is its first heading, and its exercises are those that its
last cell links to. The saved outputs of an exercise's checks say whether it is solved.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from minigrad.tape.names import printable

State = Literal["solved", "begun", "not tried"]

_LINK = re.compile(r"\]\((\.\./exercises/[^)\s]+\.ipynb)\)")
_SUMMARY = re.compile(
    r"^[\w.]+: (right|all|not right yet|no answer yet|\d+ of)(?:$| \d+ \w+ (?:is|are) right$)", re.M
)
_SOLVED = {"right", "all"}
_SIGNS: dict[State, str] = {"solved": "✓", "begun": "…", "not tried": "○"}
_CELL = 'style="vertical-align: top; text-align: left"'  # for each cell, because JupyterLab aligns cells to the right


@dataclass(frozen=True)
class CourseNotebook:
    """A notebook of the course.

    path     relative to the folder of the lessons
    title    its first heading
    state    for an exercise: solved, begun or not tried
    """

    path: str
    title: str
    state: State = "not tried"


@dataclass(frozen=True)
class CourseMap:
    """The lessons in order, each with its exercises."""

    rows: Sequence[tuple[CourseNotebook, Sequence[CourseNotebook]]]

    @property
    def solved(self) -> tuple[int, int]:
        """The number of solved exercises, and of all. An exercise that two lessons name counts once."""
        states = {n.path: n.state for _, notebooks in self.rows for n in notebooks}
        return list(states.values()).count("solved"), len(states)

    @property
    def _headline(self) -> str:
        return "{} of {} exercises solved".format(*self.solved)

    def __repr__(self) -> str:
        lines = [self._headline]
        for lesson, notebooks in self.rows:
            lines += ["", lesson.title]
            lines += [f"    {_SIGNS[notebook.state]} {notebook.title}" for notebook in notebooks]
        return printable("\n".join(lines))

    def _repr_html_(self) -> str:
        def link(notebook: CourseNotebook) -> str:
            return f'<a href="{escape(notebook.path)}">{escape(notebook.title)}</a>'

        rows = ""
        for lesson, notebooks in self.rows:
            practice = "<br>".join(f"{_SIGNS[n.state]} {link(n)}" for n in notebooks)
            rows += f"<tr><td {_CELL}>{link(lesson)}</td><td {_CELL}>{practice}</td></tr>"
        head = f"<tr><th {_CELL}>lesson</th><th {_CELL}>exercises</th></tr>"
        meaning = ", ".join(f"{sign} {state}" for state, sign in _SIGNS.items())
        return (
            f'<div class="minigrad-report"><strong>{self._headline}</strong>'
            f'<table style="table-layout: auto; width: auto">{head}{rows}</table>{meaning}</div>'
        )


def course(folder: str | Path = ".") -> CourseMap:
    """The map of the course: the lessons in a folder, and which exercises are solved.

    folder   the folder of the lessons; their links lead to the exercises

    The state of an exercise is that of its last saved outputs. Run the cell again after saving.
    """
    lessons = sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))
    rows = []
    for path in lessons:
        cells = _cells(path)
        linked = dict.fromkeys(_LINK.findall(_text(cells[-1]["source"]) if cells else ""))
        if linked:
            lesson = CourseNotebook(path.name, _title(path, cells))
            rows.append((lesson, [_exercise(path.parent, link) for link in linked]))
    return CourseMap(rows)


def _exercise(folder: Path, link: str) -> CourseNotebook:
    path = folder / link
    cells = _cells(path)
    printed = "\n".join(_text(o) for cell in cells for o in _outputs(cell))
    summaries = set(_SUMMARY.findall(printed))
    tried: State = "solved" if summaries <= _SOLVED else "begun"
    state = tried if summaries - {"no answer yet"} else "not tried"
    return CourseNotebook(link, _title(path, cells), state)


def _cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook; empty if it is missing or cannot be read."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [cell for cell in cells if isinstance(cell, dict) and "source" in cell]


def _outputs(cell: dict[str, Any]) -> list[Any]:
    """The text of a cell's outputs: results, and the first line of an error."""
    outputs = cell.get("outputs", [])
    plain = [o.get("data", {}).get("text/plain", "") for o in outputs]
    return [*plain, *(o.get("evalue", "").partition("\n")[0] for o in outputs)]


def _text(source: object) -> str:
    return "".join(source) if isinstance(source, list) else str(source)


def _title(path: Path, cells: list[dict[str, Any]]) -> str:
    texts = (_text(cell["source"]) for cell in cells if cell.get("cell_type") == "markdown")
    lines = (line for text in texts for line in text.splitlines() if line[:2] == "# ")
    return next((line[2:].strip() for line in lines), path.stem)
