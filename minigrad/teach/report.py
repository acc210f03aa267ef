"""A small report: a headline and a table, as text and as HTML.

Both forms come from the same cells. The text is stable, so that a notebook's stored
output can be checked. The HTML is a card: what is wrong first, then the table with ✓ and ✗.
It escapes everything, because names and messages come from a learner's code. Its only color
is a red for mistakes, which is legible on light and dark backgrounds.

    Row       the protocol of a row
    Compared  a row about numbers that were derived by hand
    Report    the headline, the rows, and their two forms
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Generic, Protocol, TypeVar

from minigrad.tape.names import printable
from minigrad.tape.render.text import table_text
from minigrad.teach.answer import Diagnosis
from minigrad.teach.difference import Difference, decimal_text, magnitude, position

# Notebooks break words in a table, and give all columns the same width, unless told otherwise.
_CELL = (
    "text-align: left; padding: 0.15em 0.9em 0.15em 0; white-space: pre-wrap; "
    "word-break: normal; overflow-wrap: normal; max-width: 60ch"
)
_TABLE = "border-collapse: collapse; margin: 0.3em 0; table-layout: auto; width: auto"
_WRONG = "#e53935"


class Row(Protocol):
    """One line of a report: whether it is right, and its cells as text."""

    @property
    def ok(self) -> bool:
        """Is this row right? A report is true if all its rows are."""

    @property
    def note(self) -> str:
        """Lines that are shown below the table; empty if there are none."""

    def cells(self) -> tuple[str, ...]:
        """One text for each column of the report's header."""


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, kw_only=True)
class Compared(Difference):
    """A row about numbers that were derived by hand, and how they differ from the right ones.

    note       a remark
    diagnosis  the mistake that gives exactly these numbers, if one is known
    """

    note: str = ""
    diagnosis: Diagnosis | None = None

    def measured(self, *differences: float | None) -> tuple[str, ...]:
        """Cells: the verdict, the differences, and for wrong numbers the place and both values."""
        sizes = [magnitude(size, self.verdict) for size in differences]
        where = ("", "", "")
        if self.verdict == "different":
            where = position(self.index), decimal_text(self.yours), decimal_text(self.theirs)
        return (self.verdict, *sizes, *where)


class Report(Generic[R]):
    """The result of compare and of the checks.

    ok      is every row right?
    rows    the rows, as plain data

    `print`, `repr` and the notebook show the headline, the table, and the rows' notes.
    """

    header: tuple[str, ...]
    remarks: tuple[str, ...] = ()  # remarks on the whole report, always shown
    footer = ""  # below the table, in HTML only
    widest = 90  # characters of a cell in the text; longer ones continue on further lines

    def __init__(self, headline: str, rows: Sequence[R]) -> None:
        self.headline = headline
        self.rows = tuple(rows)

    @property
    def ok(self) -> bool:
        """True if every row is right; also if there are no rows."""
        return all(row.ok for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        notes = (f"    {note}" for note in self._texts())
        return printable("\n".join([self.headline, *self._table(), *notes]))

    def _table(self) -> list[str]:
        lines = [self.header, *(row.cells() for row in self.rows)]
        text = table_text([[_plain(cell) for cell in line] for line in lines], widest=self.widest)
        return [f"    {line}" for line in text.split("\n")]

    def _notes(self) -> list[str]:
        return [_plain(line) for row in self.rows for line in row.note.splitlines()]

    def _texts(self) -> list[str]:
        return [*self._notes(), *map(_plain, self.remarks)]

    def _repr_html_(self) -> str:
        notes = "".join(note_html(escape(note)) for note in self._notes())
        headline = f"<strong>{escape(self.headline)}</strong>"
        remarks = "".join(f"<div>{escape(_plain(remark))}</div>" for remark in self.remarks)
        inside = f"{headline}{notes}{self._html_table()}{remarks}{self.footer}"
        return f'<div class="minigrad-report">{inside}</div>'

    def _html_table(self) -> str:
        """The rows, each with ✓ or ✗; empty columns are left out."""

        def line(cells: Iterable[str], tag: str) -> str:
            inside = (f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells)
            return f"<tr>{''.join(inside)}</tr>"

        columns = ["", *map(escape, self.header)], *map(self._html_cells, self.rows)
        filled = [c for c in zip(*columns, strict=True) if any(c[1:])]
        head, *body = zip(*filled, strict=True) if self.rows else [columns[0]]
        rows = "".join(line(cells, "td") for cells in body)
        return f'<table style="{_TABLE}"><thead>{line(head, "th")}</thead><tbody>{rows}</tbody></table>'

    def _html_cells(self, row: R) -> list[str]:
        return [
            mark(row.ok, getattr(row, "answered", True)),
            *(escape(_plain(cell)) for cell in row.cells()),
        ]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def mark(ok: bool, answered: bool = True) -> str:
    """✓, or a red ✗, as HTML; … for what is not answered yet."""
    if not answered:
        return "…"
    return "✓" if ok else f'<span style="color: {_WRONG}; font-weight: bold">✗</span>'


def note_html(html: str) -> str:
    """A remark on a mistake, as HTML: a block with a red line on its left."""
    style = f"border-left: 3px solid {_WRONG}; padding: 0 0 0 0.7em; margin: 0.4em 0"
    return f'<div style="{style}; max-width: 90ch; overflow-wrap: normal">{html}</div>'


def _plain(text: str) -> str:
    """Replace line breaks, control characters, and marks that reverse the reading order with spaces."""
    return "".join(c if c.isprintable() else " " for c in text)
