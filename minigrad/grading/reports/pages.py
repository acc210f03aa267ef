"""HTML pages: feedback for each student, and an overview of the class.

The templates and the style sheet are in templates/. Every value inserted into a template, including
file names, is stripped of control characters and escaped. Links point only to file names that we
generated.
"""

import re
import statistics
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from minigrad.grading.documents import ClassGrades, QuestionGrade, QuestionSummary
from minigrad.grading.files import clean_text, file_names
from minigrad.grading.gradebook.book import Gradebook, GradebookRow, question_name
from minigrad.grading.gradebook.csv_files import MAX_WRITTEN, points_text
from minigrad.grading.reports.words import wrong_parts
from minigrad.grading.run.written import MIN_SIZE

MAX_ROWS = 8  # rows in a table of mistakes


_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    finalize=lambda value: value if isinstance(value, Markup) else clean_text(str(value)),
    undefined=StrictUndefined,
    trim_blocks=True,
)
_pages.filters["wrong_parts"] = wrong_parts
_pages.filters["number"] = lambda n: points_text(n) if isinstance(n, Decimal) else f"{n:g}"
# comments and manually marked answers are never shortened
_pages.filters["whole"] = lambda text: Markup.escape(clean_text(text, MAX_WRITTEN))


def render_page(template: str, **values: object) -> str:
    """Render one of the templates."""
    return _pages.get_template(template).render(**values)


@dataclass(frozen=True)
class _StudentRow:
    """A student in the overview; `page` is the stem of the feedback file's name."""

    row: GradebookRow
    page: str

    @property
    def summary(self) -> str:
        """A short summary of what went wrong."""
        grades = [mark.grade for mark in self.row.marks if mark.grade]
        reasons = [kind_of(grade["reason"]) for grade in grades if grade["reason"]]
        return self.row.unreadable or "; ".join(dict.fromkeys([*self.row.notes, *reasons]))


def write_pages(book: Gradebook, documents: list[ClassGrades], out: Path) -> Path:
    """Write feedback/STUDENT.html for each student, and overview.html; return the path of the latter."""
    folder = out / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names([row.student.id for row in book.rows])
    students = [_StudentRow(row, name) for row, name in zip(book.rows, names)]
    for student in students:
        isolation = {grade["isolation"] for grade in student.row.grades}
        page = render_page("feedback.html", book=book, row=student.row, isolation=isolation)
        (folder / f"{student.page}.html").write_text(page, encoding="utf-8")
    path = out / "overview.html"
    path.write_text(_overview(book, documents, students), encoding="utf-8")
    return path


def _overview(book: Gradebook, documents: list[ClassGrades], students: list[_StudentRow]) -> str:
    """Render the overview: distributions, common mistakes, answers to confirm, and all students."""
    questions = []
    for document in documents:
        for k, question in enumerate(document["questions"]):
            name = question_name(document["exercise"], question["id"], len(book.runs))
            graded = [grade["questions"][k] for grade in document["grades"]]
            questions.append(_question_data(name, question, graded, students))
    rows = [row for row in book.rows if row.grades]
    points = [row.points for row in rows]
    of = points_text(rows[0].of)
    seeds = {grade["seed"] for row in rows for grade in row.grades}
    figures = {
        "submissions": len(rows),
        "handed in nothing": len(book.rows) - len(rows),
        "median points": f"{points_text(round(statistics.median(points), 2))} of {of}",
        "mean points": f"{statistics.fmean(points):.2f}",
        "with all points": sum(row.points >= row.of for row in rows),
        "please confirm": sum(row.confirm for row in rows),
        "answers to be marked": sum(row.open for row in book.rows),
        "could not be read": sum(bool(row.unreadable) for row in rows),
        "late": sum(row.lateness.days > 0 for row in rows),
    }
    return render_page(
        "overview.html",
        book=book,
        isolation=sorted({tier for document in documents for tier in document["isolation"]}),
        figures=figures,
        to_review=[(s, reason) for s in students if (reason := _review_reason(s.row))],
        questions=questions,
        students=students,
        alike=_equal_answers(students),
        least=MIN_SIZE,
        seed=seeds.pop() if len(seeds) == 1 else f"{len(seeds)} seeds, in grades.json",
        versions=rows[0].grades[0]["versions"],
    )


def _review_reason(row: GradebookRow) -> str:
    """Why somebody should look at a submission; "" if there is no need."""
    if row.unreadable:
        return f"could not be read: {row.unreadable}"
    if not row.confirm:
        return ""
    notes = [*row.notes, *(f"{m.column.id}: {m.note}" for m in row.marks if m.note)]
    notes += (note for grade in row.grades for note in grade["notes"])
    guesses = [note for note in notes if "please confirm" in note]
    return "; ".join(guesses) or "an answer needs to be confirmed: please confirm"


def _question_data(
    name: str, question: QuestionSummary, graded: list[QuestionGrade], students: list[_StudentRow]
) -> dict[str, object]:
    """The overview's data on a question. Rows of its tables are (students, kind or "", text, example)."""
    reasons = Counter(kind_of(q["reason"]) for q in graded if q["reason"])
    common = question["diagnoses"][:MAX_ROWS]
    marks = [(m, s) for s in students for m in s.row.marks if m.column.id == name]
    first: dict[str, _StudentRow] = {}  # for each kind, a student who lost points for it
    for mark, student in marks:
        if grade := mark.grade:
            kinds = [kind_of(grade["reason"] or ""), *(d["kind"] for d in grade["diagnoses"])]
            first = {**dict.fromkeys(kinds, student), **first}
    return {
        "id": name,
        "of": question["of"],
        "mean": statistics.fmean(question["points"]),
        "spread": _distribution(question["points"], question["of"]),
        "title": next((m.column.title for m, _ in marks), ""),
        "diagnoses": [
            (d["students"], d["kind"], d["message"], first.get(d["kind"])) for d in common
        ],
        "reasons": [(n, "", kind, first.get(kind)) for kind, n in reasons.most_common(MAX_ROWS)],
    }


def _equal_answers(students: list[_StudentRow]) -> list[tuple[str, list[_StudentRow]]]:
    """Group equal answers: the question, and the students who gave the same answer."""
    found: dict[tuple[str, tuple[str, ...]], list[_StudentRow]] = {}
    for student in students:
        for mark in student.row.marks:
            if mark.alike:
                group = tuple(sorted((student.row.student.id, *mark.alike)))
                found.setdefault((mark.column.id, group), []).append(student)
    return [(question, group) for (question, _), group in found.items()]


def kind_of(reason: str) -> str:
    """Strip the details from a reason, so that equal reasons can be counted.

    >>> kind_of("2/dx: wrong value: 3 of 6, the first at [0, 1]")
    'wrong value'
    >>> kind_of("1/dx: ValueError: operands could not be broadcast together")
    'ValueError'
    >>> kind_of("1/dW: 1 value instead of 2: dW, db")
    'wrong number of values'
    >>> kind_of("the check did not finish in 10 s. Is there a loop that never ends?")
    'did not finish in time'
    >>> kind_of("1/dx: NameError: name 'expit' is not defined: answers are graded without scipy")
    'answers are graded without scipy'
    """
    if without := re.search(r"answers are graded without \w+", reason):
        return without[0]
    text = re.sub(r"^\d+/\S+: |^the (check|answer \S+|given cell \S+?):? ", "", reason)
    text = re.sub(r" in [\d.]+ s\b.*", " in time", text)
    text = re.sub(r"^\d+ values? instead of .*", "wrong number of values", text)
    found = re.match(r"[A-Za-z_]\w*(Error|Exception|Exit|Interrupt|Warning)\b|[^:;(]+", text)
    kind = found.group(0) if found else text
    return re.sub(r"\d+", "n", kind).strip()[:80] or "another reason"


def _distribution(points: list[float], of: float) -> list[tuple[str, int]]:
    """The distribution of points; in ten ranges if there are many different values."""
    different = sorted(set(points), reverse=True)
    if len(different) <= 9:
        return [(f"{value:g} of {of:g}", points.count(value)) for value in different]
    tenths = Counter(min(int(10 * p / of), 9) if p < of else 10 for p in points)
    names = [f"{k * of / 10:g} to {(k + 1) * of / 10:g}" for k in range(10)] + [f"{of:g}"]
    return [(names[k], tenths[k]) for k in sorted(tenths, reverse=True)]
