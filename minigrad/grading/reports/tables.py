"""The grades for other programs: grades.json and its JSON schema, CSV, Gradescope's results.json, JUnit XML."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from minigrad.grading import documents
from minigrad.grading.files import clean_text
from minigrad.grading.gradebook.book import Gradebook, GradebookRow, Mark
from minigrad.grading.gradebook.csv_files import points_text, write_table
from minigrad.grading.reports.words import wrong_parts


def class_document(grades: Sequence[documents.Grade]) -> documents.ClassGrades:
    """Build the document of a class: all grades, and a summary of each question."""
    first = grades[0]
    questions: list[documents.QuestionSummary] = [
        {
            "id": q["id"],
            "of": q["of"],
            "asked": q["asked"],
            "points": [grade["questions"][k]["points"] for grade in grades],
            "diagnoses": _most_common(grade["questions"][k]["diagnoses"] for grade in grades),
        }
        for k, q in enumerate(first["questions"])
    ]
    return {
        "format": "minigrad-grades-1",
        "exercise": first["exercise"],
        "of": first["of"],
        "isolation": sorted({grade["isolation"] for grade in grades}),
        "questions": questions,
        "grades": list(grades),
    }


def _most_common(lists: Iterable[list[documents.DiagnosisText]]) -> list[documents.CommonDiagnosis]:
    """Count the students with each diagnosis; the most common first."""
    count: Counter[str] = Counter()
    by_kind: dict[str, documents.DiagnosisText] = {}
    for listed in lists:
        made = {d["kind"]: d for d in listed}
        count.update(list(made))
        by_kind = made | by_kind
    return [{**by_kind[kind], "students": n} for kind, n in count.most_common()]


SCHEMA: documents.Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The grades of a class, as minigrad writes them",
    **documents.schema_of(documents.ClassGrades),
}


def write_gradebook(book: Gradebook, path: Path) -> Path:
    """Write a line for each student: total points, points for each question, and notes."""
    ids = [column.id for column in book.columns]
    about = ["confirm", "note", "isolation", "name", "email", "section", "late", "alike"]
    rows = [["student", "points", "of", *ids, *about]]
    for row in book.rows:
        points = [row.points, row.of, *(mark.points for mark in row.marks)]
        student = row.student
        confirm = "please confirm" if row.confirm else ""
        note = row.unreadable or "; ".join(_notes(row))
        tiers = ", ".join(sorted({grade["isolation"] for grade in row.grades}))
        who = [student.name, student.email, student.section, row.lateness.note]
        alike = "; ".join(f"{m.column.id}: {', '.join(m.alike)}" for m in row.marks if m.alike)
        rows.append([student.id, *map(points_text, points), confirm, note, tiers, *who, alike])
    return write_table(path, rows)


def _notes(row: GradebookRow) -> list[str]:
    """All notes on a student's work; one that several answers have, once."""
    of_grades = [note for grade in row.grades for note in grade["notes"]]
    of_marks = [f"{mark.column.id}: {mark.note}" for mark in row.marks if mark.note]
    of_answers = [note for mark in row.marks if mark.grade for note in mark.grade["notes"]]
    return list(dict.fromkeys([*row.notes, *of_marks, *of_grades, *of_answers]))


def gradescope_results(row: GradebookRow) -> dict[str, object]:
    """The results of one student, in the format of Gradescope's autograders."""
    notes = [*row.notes, *(n for grade in row.grades for n in grade["notes"]), row.lateness.note]
    return {
        "score": float(row.points),
        "output": clean_text(row.unreadable or "\n".join(filter(None, notes))),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": mark.column.id,
                "number": str(k),
                "score": float(mark.points),
                "max_score": float(mark.column.of),
                "status": "passed" if mark.points >= mark.column.of else "failed",
                "output": _feedback(mark),
                "output_format": "text",
                "visibility": "visible",
            }
            for k, mark in enumerate(row.marks, 1)
        ],
        # leave out the seed: students may see this file, and could draw the inputs from the seed
        "extra_data": {
            grade["exercise"]: {
                key: grade[key] for key in ("isolation", "limits", "versions", "hashes")
            }
            for grade in row.grades
        },
    }


def _feedback(mark: Mark) -> str:
    """The feedback for a student on a mark, as text."""
    if mark.open:
        return "Still to be marked, so it has no points yet."
    notes = [clean_text(mark.note), _explanation(mark.grade) if mark.grade else ""]
    nothing = "There is no answer." if mark.by == "nobody" else ""
    return "\n".join(filter(None, notes)) or nothing


def _explanation(question: documents.QuestionGrade) -> str:
    """The feedback for a student on an automatically graded question, as text."""
    lines = [f"{question['right']} of {question['asked']} results are right."]
    lines += wrong_parts(question)
    lines += question["notes"]
    lines += [f"{d['message']} {d['hint']}" for d in question["diagnoses"]]
    if question["confirm"]:
        lines.append("This answer needs to be confirmed: see the notes on the submission.")
    return clean_text("\n".join(lines))


def write_junit(document: documents.ClassGrades, path: Path) -> Path:
    """Write JUnit XML: a test suite for each student, a test case for each question."""
    root = ElementTree.Element("testsuites", name=clean_text(document["exercise"]))
    for grade in document["grades"]:
        failed = sum(q["right"] < q["asked"] for q in grade["questions"])
        student = clean_text(grade["student"])
        counts = {"tests": str(len(grade["questions"])), "failures": str(failed), "errors": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": student, **counts})
        for q in grade["questions"]:
            about = {"classname": student, "name": clean_text(q["id"])}
            case = ElementTree.SubElement(suite, "testcase", about)
            if q["right"] < q["asked"]:
                message = f"{q['points']:g} of {q['of']:g} points"
                failure = ElementTree.SubElement(case, "failure", message=message)
                failure.text = _explanation(q)
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)
    return path
