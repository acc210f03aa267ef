"""The grades as pages: feedback for each student, and the class on one page.

The templates are in templates/, with the look of the pages. Whatever is put into one is cleaned
of control characters and escaped there, names of files included. Links lead to files of names
that we made.
"""

import re
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from minigrad.grading.documents import ClassGrades, Grade, QuestionGrade, QuestionSummary
from minigrad.grading.reports.document import clean_text, file_names

MOST = 8  # rows of a table of mistakes


def _cleaned(value: object) -> object:
    """What a template writes instead of a value, before it is escaped."""
    return value if isinstance(value, Markup) else clean_text(str(value))


_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    finalize=_cleaned,
    undefined=StrictUndefined,
    trim_blocks=True,
)
_pages.filters["number"] = lambda value: f"{value:g}"


@dataclass(frozen=True)
class _StudentRow:
    """A student of the overview; `page` is the name of the file with the feedback."""

    grade: Grade
    page: str

    @property
    def name(self) -> str:
        """The student's name."""
        return self.grade["student"]

    @property
    def said(self) -> str:
        """What went wrong, without particulars."""
        reasons = [kind_of(q["reason"]) for q in self.grade["questions"] if q["reason"]]
        return self.grade["unreadable"] or "; ".join(dict.fromkeys(reasons))


def write_pages(document: ClassGrades, out: Path) -> Path:
    """feedback/STUDENT.html for each student, and overview.html, whose path is given back."""
    folder = out / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names([grade["student"] for grade in document["grades"]])
    students = [_StudentRow(grade, name) for grade, name in zip(document["grades"], names)]
    feedback = _pages.get_template("feedback.html")
    for student in students:
        page = feedback.render(grade=student.grade, isolation=[student.grade["isolation"]])
        (folder / f"{student.page}.html").write_text(page, encoding="utf-8")
    path = out / "overview.html"
    path.write_text(_overview(document, students), encoding="utf-8")
    return path


def _overview(document: ClassGrades, students: list[_StudentRow]) -> str:
    """Each question's distribution, what went wrong most, what to confirm, and all students."""
    grades = document["grades"]
    points = [grade["points"] for grade in grades]
    seeds = {grade["seed"] for grade in grades}
    figures = {
        "submissions": len(grades),
        "median points": f"{statistics.median(points):g} of {document['of']:g}",
        "mean points": f"{statistics.fmean(points):.2f}",
        "with all points": sum(p == document["of"] for p in points),
        "please confirm": sum(grade["confirm"] for grade in grades),
        "could not be read": sum(grade["unreadable"] is not None for grade in grades),
    }
    return _pages.get_template("overview.html").render(
        exercise=document["exercise"],
        isolation=document["isolation"],
        figures=figures,
        looked_at=[(s, said) for s in students if (said := _to_look_at(s.grade))],
        questions=[
            _of_question(question, [grade["questions"][k] for grade in grades])
            for k, question in enumerate(document["questions"])
        ],
        students=students,
        seed=seeds.pop() if len(seeds) == 1 else f"{len(seeds)} seeds, in grades.json",
        versions=grades[0]["versions"],
    )


def _to_look_at(grade: Grade) -> str:
    """Why somebody should look at a submission by hand; nothing if nobody need."""
    if grade["unreadable"]:
        return f"could not be read: {grade['unreadable']}"
    if not grade["confirm"]:
        return ""
    guesses = [n for n in grade["notes"] if "please confirm" in n]
    return "; ".join(guesses) or "an answer is to be confirmed: please confirm"


def _of_question(question: QuestionSummary, graded: list[QuestionGrade]) -> dict[str, object]:
    """What the overview shows of a question. Its tables have (students, kind or "", text)."""
    reasons = Counter(kind_of(q["reason"]) for q in graded if q["reason"])
    common = question["diagnoses"][:MOST]
    return {
        "id": question["id"],
        "of": question["of"],
        "mean": statistics.fmean(question["points"]),
        "spread": _spread(question["points"], question["of"]),
        "diagnoses": [(d["students"], d["kind"], d["message"]) for d in common],
        "reasons": [(n, "", kind) for kind, n in reasons.most_common(MOST)],
    }


def kind_of(reason: str) -> str:
    """What a reason says without its particulars, so that equal ones can be counted.

    >>> kind_of("2/dx: wrong value: 3 of 6, the first at [0, 1]")
    'wrong value'
    >>> kind_of("1/dx: ValueError: operands could not be broadcast together")
    'ValueError'
    """
    said = re.sub(r"^\d+/\S+: |^the (check of it|answer \S+|given cell \S+): ", "", reason)
    said = re.sub(r" in [\d.]+ s\b.*", " in time", said)
    found = re.match(r"[A-Za-z_]\w*(Error|Exception|Exit|Interrupt|Warning)\b|[^:;(]+", said)
    kind = found.group(0) if found else said
    return re.sub(r"\d+", "n", kind).strip()[:80] or "another reason"


def _spread(points: list[float], of: float) -> list[tuple[str, int]]:
    """How many students have so many points; ranges of a tenth, if there are many different ones."""
    different = sorted(set(points), reverse=True)
    if len(different) <= 9:
        return [(f"{value:g} of {of:g}", points.count(value)) for value in different]
    tenths = Counter(min(int(10 * p / of), 9) if p < of else 10 for p in points)
    names = [f"{k * of / 10:g} to {(k + 1) * of / 10:g}" for k in range(10)] + [f"{of:g}"]
    return [(names[k], tenths[k]) for k in sorted(tenths, reverse=True)]
