"""The grades as other programs want them: CSV, Gradescope's results.json, JUnit XML."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

from minigrad.grading.documents import ClassGrades, Grade, QuestionGrade
from minigrad.grading.reports.document import clean_text, file_names


def write_tables(document: ClassGrades, out: Path) -> list[Path]:
    """gradebook.csv, junit.xml, and gradescope/STUDENT/results.json for each student."""
    names = file_names([grade["student"] for grade in document["grades"]])
    for grade, name in zip(document["grades"], names):
        path = out / "gradescope" / name / "results.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_gradescope(grade), indent=1) + "\n", encoding="utf-8")
    return [_gradebook(document, out / "gradebook.csv"), _junit(document, out / "junit.xml")]


def _gradebook(document: ClassGrades, path: Path) -> Path:
    """One line for each student: points in all, for each question, and what to look at."""
    ids = [q["id"] for q in document["questions"]]
    rows = [["student", "points", "of", *ids, "confirm", "note", "isolation"]]
    for grade in document["grades"]:
        points = [grade["points"], grade["of"], *(q["points"] for q in grade["questions"])]
        confirm = "please confirm" if grade["confirm"] else ""
        notes = grade["notes"] + [n for q in grade["questions"] for n in q["notes"]]
        note = grade["unreadable"] or "; ".join(notes)
        rows.append([grade["student"], *map(str, points), confirm, note, grade["isolation"]])
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([_cell(text) for text in row] for row in rows)
    return path


# with which a formula begins in Excel, LibreOffice or Sheets; the last four are their full-width twins
FORMULA = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _cell(text: str) -> str:
    """A text that begins like a formula is shown as text by spreadsheets, not computed.

    Some of them leave out spaces and quotation marks at the beginning first.
    """
    text = clean_text(text).replace("\n", " ")
    return f"'{text}" if text.lstrip(" \u00a0\u3000\ufffd'\"").startswith(FORMULA) else text


def _gradescope(grade: Grade) -> dict[str, object]:
    """results.json of a Gradescope autograder, for one student."""
    return {
        "score": grade["points"],
        "output": clean_text(grade["unreadable"] or "\n".join(grade["notes"])),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": q["id"],
                "number": str(k),
                "score": q["points"],
                "max_score": q["of"],
                "status": "passed" if q["right"] == q["asked"] else "failed",
                "output": _explanation(q),
                "output_format": "text",
                "visibility": "visible",
            }
            for k, q in enumerate(grade["questions"], 1)
        ],
        # not the seed, from which inputs could be drawn: students may get to see this
        "extra_data": {key: grade[key] for key in ("isolation", "limits", "versions", "hashes")},
    }


def _explanation(question: QuestionGrade) -> str:
    """What a student reads about a question, as text."""
    lines = [f"{question['right']} of {question['asked']} results are right."]
    if question["reason"]:
        lines.append(question["reason"])
    lines += question["notes"]
    lines += [f"{d['message']} {d['hint']}" for d in question["diagnoses"]]
    if question["confirm"]:
        lines.append("This answer is to be confirmed: see the notes on the submission.")
    return clean_text("\n".join(lines))


def _junit(document: ClassGrades, path: Path) -> Path:
    """A test suite for each student, a test case for each question."""
    root = ElementTree.Element("testsuites", name=_xml(document["exercise"]))
    for grade in document["grades"]:
        failed = sum(q["right"] < q["asked"] for q in grade["questions"])
        student = _xml(grade["student"])
        counts = {"tests": str(len(grade["questions"])), "failures": str(failed), "errors": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": student, **counts})
        for q in grade["questions"]:
            about = {"classname": student, "name": _xml(q["id"])}
            case = ElementTree.SubElement(suite, "testcase", about)
            if q["right"] < q["asked"]:
                message = f"{q['points']:g} of {q['of']:g} points"
                failure = ElementTree.SubElement(case, "failure", message=message)
                failure.text = _xml(_explanation(q))
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)
    return path


def _xml(text: str) -> str:
    """Characters that XML may not have, even escaped, are left out."""
    return re.sub(r"[^\n -\ud7ff\ue000-\ufffd]", "", clean_text(text))
