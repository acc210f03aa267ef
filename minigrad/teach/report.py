"""A small report: a headline and a table, as text and as HTML.

Both forms come from the same cells. The text is stable, so that a notebook's stored
output can be checked; the HTML escapes everything, because names and messages come from
a learner's code, and it sets no colors of its own, so that it reads on light and on dark.

    Row       what a line of a report offers
    Compared  what is in a line about numbers that were derived by hand
    Report    the headline, the rows, and their two forms
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Generic, Protocol, TypeVar

from minigrad.teach.answer import Diagnosis
from minigrad.teach.difference import Verdict, decimal_text, magnitude, position

_CELL = "text-align: left; padding: 0.15em 0.9em 0.15em 0; white-space: pre-wrap"


class Row(Protocol):
    """One line of a report: is it well, and its cells as text."""

    @property
    def ok(self) -> bool:
        """Is it well? A report is true if all its rows are."""

    @property
    def note(self) -> str:
        """Lines to be shown below the table; empty if there are none."""

    def cells(self) -> tuple[str, ...]:
        """One text for each column of the report's header."""


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A row about numbers that were derived by hand, beside the right ones.

    verdict    exact, close, different, wrong shape, not an array
    absolute   the greatest absolute difference; None if the two cannot be subtracted
    index      where it sits
    yours      the value there, derived by hand
    note       what else is to be known, in words
    diagnosis  the mistake that gives just these numbers, if one is known
    """

    verdict: Verdict
    absolute: float | None
    index: tuple[int, ...] | None
    yours: float | None
    note: str = ""
    diagnosis: Diagnosis | None = None

    @property
    def ok(self) -> bool:
        """True for "exact" and "close"."""
        return self.verdict in ("exact", "close")

    def measured(self, right: float | None, *relative: float | None) -> tuple[str, ...]:
        """The verdict and the differences as cells, and if they count, where and what they are."""
        sizes = [magnitude(size, self.verdict) for size in (self.absolute, *relative)]
        where = ("", "", "")
        if self.verdict == "different":
            where = position(self.index), decimal_text(self.yours), decimal_text(right)
        return (self.verdict, *sizes, *where)


class Report(Generic[R]):
    """What compare and the checks return.

    ok      is every row well?
    rows    the rows, as plain data

    `print`, `repr` and the notebook show the headline, the table, and the rows' notes.
    """

    header: tuple[str, ...]
    footer = ""  # below the table, in HTML only

    def __init__(self, headline: str, rows: Sequence[R]) -> None:
        self.headline = headline
        self.rows = tuple(rows)

    @property
    def ok(self) -> bool:
        """True if every row is well; also if there are no rows."""
        return all(row.ok for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return "\n".join(
            [self.headline, *self._table(), *(f"    {note}" for note in self._notes())]
        )

    def _table(self) -> list[str]:
        lines = [self.header, *(row.cells() for row in self.rows)]
        rows = [[_plain(cell) for cell in line] for line in lines]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        return [
            "    " + "  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]

    def _notes(self) -> list[str]:
        return [_plain(line) for row in self.rows for line in row.note.splitlines()]

    def _repr_html_(self) -> str:
        def line(cells: Iterable[str], tag: str) -> str:
            inside = (f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells)
            return f"<tr>{''.join(inside)}</tr>"

        body = "".join(line(self._html_cells(row), "td") for row in self.rows)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self._notes())
        return (
            f'<div class="minigrad-report"><strong>{escape(self.headline)}</strong>'
            f'<table style="border-collapse: collapse; margin: 0.3em 0">'
            f"<thead>{line(map(escape, self.header), 'th')}</thead><tbody>{body}</tbody></table>"
            f"{notes}{self.footer}</div>"
        )

    def _html_cells(self, row: R) -> list[str]:
        return [escape(_plain(cell)) for cell in row.cells()]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _plain(text: str) -> str:
    """Without line breaks, control characters, and marks that reverse the reading order."""
    return "".join(c if c.isprintable() else " " for c in text)
