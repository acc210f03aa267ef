"""The reports on a class: the grader's results, and the gradebook with manual changes.

tables       grades.json, with every grade and the hashes of its inputs, and its JSON schema; gradebook.csv,
             results.json for Gradescope, junit.xml
words        the sentences that explain wrong answers to students
pages        HTML: feedback for each student, and an overview of the class (templates/)
"""

from pathlib import Path

from minigrad.grading.files import file_names, write_json
from minigrad.grading.gradebook.book import Gradebook
from minigrad.grading.reports import tables
from minigrad.grading.reports.pages import write_pages


def write_reports(book: Gradebook, out: Path) -> list[Path]:
    """Write all reports on a class into a folder; return the paths of the main ones.

    If the assignment has several notebooks, each gets a subfolder with the grader's own reports.
    """
    out.mkdir(parents=True, exist_ok=True)
    documents = [tables.class_document(run) for run in book.runs if run]
    written = [tables.write_gradebook(book, out / "gradebook.csv")]
    for document in documents:
        folder = out / document["exercise"] if len(book.runs) > 1 else out
        write_json(folder / "grades.schema.json", tables.SCHEMA)
        written.append(write_json(folder / "grades.json", document))
        written.append(tables.write_junit(document, folder / "junit.xml"))
    names = file_names([row.student.id for row in book.rows])
    for row, name in zip(book.rows, names):
        write_json(out / "gradescope" / name / "results.json", tables.gradescope_results(row))
    return [*written, write_pages(book, documents, out), out / "feedback"]
