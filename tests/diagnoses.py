"""DIAGNOSES.md: its two tables of kinds, from the tables of mistakes.

    python -m tests.diagnoses        writes them anew

test_diagnose.py says if they are out of date.
"""

import re
from pathlib import Path

from minigrad.teach.mistakes import KINDS
from minigrad.teach.mistakes_of_steps import AROUND, FACTORS, MISTAKES, RESTARTED

PAGE = Path(__file__).parent.parent / "DIAGNOSES.md"


def renewed(text):
    """The text of the page, with its tables updated."""
    steps = {}
    for slip in (*AROUND, *MISTAKES, RESTARTED, FACTORS[0]):
        steps.setdefault(slip.kind, slip.message)
    tables = iter((KINDS, steps))

    def rows(header):
        return header[1] + "".join(
            f"| `{kind}` | {words} |\n" for kind, words in next(tables).items()
        )

    return re.sub(r"(\| kind \| what was done \|\n\|---\|---\|\n)(?:\|.*\n)*", rows, text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
