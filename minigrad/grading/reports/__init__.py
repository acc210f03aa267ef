"""The reports of a class. The JSON document is the source; the others are made from it.

document     grades.json: every grade, with what it depends on; and its schema
tables       gradebook.csv, results.json for Gradescope, junit.xml
pages        feedback for each student, and the class on one page, as HTML by templates/
"""

from pathlib import Path

from minigrad.grading.documents import Grade
from minigrad.grading.reports.document import class_document, write_document
from minigrad.grading.reports.pages import write_pages
from minigrad.grading.reports.tables import write_tables


def write_reports(grades: list[Grade], out: Path) -> list[Path]:
    """Write all reports of a class into a folder; give the paths of the main ones."""
    out.mkdir(parents=True, exist_ok=True)
    document = class_document(grades)
    return [write_document(document, out), *write_tables(document, out), write_pages(document, out)]
