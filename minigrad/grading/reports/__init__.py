"""The reports of a class: what the grader found, and the gradebook that people have a hand in.

document     grades.json: every grade, with what it depends on; and its schema
tables       gradebook.csv, results.json for Gradescope, junit.xml
words        what a student reads about an answer
pages        feedback for each student, and the class on one page, as HTML by templates/
"""

from pathlib import Path

from minigrad.grading.gradebook.book import Gradebook
from minigrad.grading.reports.document import class_document, write_document
from minigrad.grading.reports.pages import write_pages
from minigrad.grading.reports.tables import write_gradebook, write_gradescope, write_junit


def write_reports(book: Gradebook, out: Path) -> list[Path]:
    """Write all reports of a class into a folder; give the paths of the main ones.

    Of several notebooks, each has a folder of its own for what the grader alone has found.
    """
    out.mkdir(parents=True, exist_ok=True)
    documents = [class_document(run) for run in book.runs if run]
    written = [write_gradebook(book, out / "gradebook.csv")]
    for document in documents:
        folder = out / document["exercise"] if len(book.runs) > 1 else out
        written += [write_document(document, folder), write_junit(document, folder / "junit.xml")]
    write_gradescope(book, out / "gradescope")
    return [*written, write_pages(book, documents, out)]
