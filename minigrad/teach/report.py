"""A small report: a headline and a table, as text and as HTML.

Both forms come from the same cells. The text is stable, so that a notebook's stored
output can be checked. The HTML is a card: what is wrong first, then the table with ✓ and ✗.
It escapes everything, because names and messages come from a learner's code. Its only color
is a red for mistakes, which is legible on light and dark backgrounds.

    Row       the protocol of a row
    Compared  a row about numbers that were derived by hand
    Report    the headline, the rows, and their two forms

The result of a check is such a report, with points for each part of the answer:

    CheckRow       one part of the answer in one case, with its verdict
    CheckResult    the rows; true if all of them are right
    ChecksFailed   the exception of a check cell, so that pytest and nbval count it as a failure

A *part* earns points: the gradient `dx`, the tangent `z_dot`, one entry of a prediction. It earns
them if it is right in every case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Generic, Literal, Protocol, TypeVar

from minigrad.core.display import shown_by
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
        return "\n".join([self.headline, *self._table(), *(f"    {note}" for note in self._said())])

    def _table(self) -> list[str]:
        lines = [self.header, *(row.cells() for row in self.rows)]
        text = table_text([[_plain(cell) for cell in line] for line in lines])
        return [f"    {line}" for line in text.split("\n")]

    def _notes(self) -> list[str]:
        return [_plain(line) for row in self.rows for line in row.note.splitlines()]

    def _said(self) -> list[str]:
        return [*self._notes(), *map(_plain, self.remarks)]

    def _repr_html_(self) -> str:
        notes = "".join(noted(escape(note)) for note in self._notes())
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


def noted(html: str) -> str:
    """A remark on a mistake, as HTML: a block with a red line on its left."""
    style = f"border-left: 3px solid {_WRONG}; padding: 0 0 0 0.7em; margin: 0.4em 0"
    return f'<div style="{style}; max-width: 90ch; overflow-wrap: normal">{html}</div>'


def _plain(text: str) -> str:
    """Replace line breaks, control characters, and marks that reverse the reading order with spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


# ------------------------------------------------------------------ the result of a check


Kind = Literal[
    "right",
    "wrong value",
    "wrong shape",
    "wrong type",
    "wrong answer",
    "error",
    "too slow",
    "changed input",
    "not written",
    "missing",
]
UNANSWERED = "missing", "not written"


@dataclass(frozen=True)
class CheckRow:
    """One part of the student's answer in one case.

    case       the number of the case; None if the answer could not be run
    inputs     the inputs' names and shapes
    what       the part: dx for the gradient of x; empty if the row is about the call
    verdict    "right", or the kind of mistake
    message    what is wrong, and where
    diagnosis  the known mistake that gives exactly this answer, if there is one
    values     the values of the inputs, if they are few and the verdict is not "right"
    line       the expression that the student wrote for this part, if it was found
    printed    what the student's code printed
    """

    case: int | None
    inputs: str
    what: str
    verdict: Kind
    message: str = ""
    diagnosis: Diagnosis | None = None
    values: str = field(default="", repr=False, compare=False)
    line: str = field(default="", repr=False, compare=False)
    printed: str = field(default="", repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Is the verdict "right"?"""
        return self.verdict == "right"

    @property
    def note(self) -> str:
        """The diagnosis and the part that it is about; empty if there is none."""
        return "" if self.diagnosis is None else self.diagnosis.about(self.what)

    def cells(self) -> tuple[str, ...]:
        """Case, inputs, part, verdict and message. The case is empty if the answer could not be run."""
        case = "" if self.case is None else str(self.case)
        return (case, self.inputs, self.what, self.verdict, self.message)


class CheckResult(Report[CheckRow]):
    """The rows of a check; true if all of them are right.

    name     the exercise
    points   the points that were earned, out of `out_of`
    parts    part -> the points that it is worth
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[CheckRow],
        *,
        parts: Mapping[str, float] | None = None,
        column: str = "gradient",
        counted: str = "results",
        remarks: Sequence[str] = (),
    ) -> None:
        self.name, self.parts, self.remarks = name, dict(parts or {}), tuple(remarks)
        self.header = ("case", "inputs", column, "verdict", "")
        super().__init__(f"{name}: {_summary(rows, counted)}", rows)

    @property
    def ok(self) -> bool:
        """True if every row is right, and there is at least one."""
        return bool(self.rows) and super().ok

    @property
    def out_of(self) -> float:
        """The sum of all parts' points."""
        return sum(self.parts.values())

    @property
    def points(self) -> float:
        """The points of the parts that are right in every case."""
        spoiled = {row.what for row in self.rows if not row.ok}
        seen = {row.what for row in self.rows}
        if "" in spoiled:  # after an error or a changed input, no part counts
            return 0.0
        return sum(p for part, p in self.parts.items() if part in seen and part not in spoiled)

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """The mistakes that were recognized, at most one for each part."""
        return tuple(row.diagnosis for row in self.rows if row.diagnosis is not None)

    def or_raise(self) -> "CheckResult":
        """Return the result if all is right; otherwise raise ChecksFailed, which shows it."""
        if not self.ok:
            raise ChecksFailed(self)
        return self

    def _notes(self) -> list[str]:
        """The notes on the mistakes that were recognized, each once."""
        notes = {str(row.diagnosis): row.note for row in reversed(self.rows) if row.diagnosis}
        lines = [line for note in reversed(notes.values()) for line in note.splitlines()]
        return [_plain(line) for line in lines]

    def _html_table(self) -> str:
        """A line for each part: ✓, ✗ with the first wrong case, or … if there is no answer. A fold shows all cases."""
        lines = []
        for part in dict.fromkeys(row.what for row in self.rows):
            rows = [row for row in self.rows if row.what == part]
            wrong = [row for row in rows if not row.ok]
            if not wrong:
                said = "" if len(rows) == 1 else f"right in all {len(rows)} cases"
            else:
                first = wrong[0].message or wrong[0].verdict
                if not part and wrong[0].verdict not in ("error", *UNANSWERED):
                    first = f"{wrong[0].verdict}: {first}"
                inputs = f" ({wrong[0].inputs})" if wrong[0].inputs else ""
                where = f"Case {wrong[0].case}{inputs}: " if len(rows) > 1 else ""
                several = f"wrong in {len(wrong)} of {len(rows)} cases. " if len(rows) > 1 else ""
                said = f"{several}{where}{first}"
            text = escape(_plain(said))
            text = f"<b>{escape(_plain(part))}</b>&ensp;{text}" if part else text
            answered = not wrong or any(row.verdict not in UNANSWERED for row in wrong)
            for what, more in (("you wrote", "line"), ("the inputs", "values")):
                shown = getattr(wrong[0], more) if wrong and answered else ""
                if shown:
                    text += f'<div style="margin-left: 1.6em">{what}: <code>{escape(_plain(shown))}</code></div>'
            lines.append(f'<div style="margin: 0.3em 0">{mark(not wrong, answered)} {text}</div>')
        if len(self.rows) == len(lines):
            return "".join(lines)
        return f"{''.join(lines)}<details><summary>every case</summary>{super()._html_table()}</details>"


def _summary(rows: Sequence[CheckRow], counted: str) -> str:
    """How far the answer is, in a few words: "3 of 6 gradients are right"."""
    right, n = sum(row.ok for row in rows), len(rows)
    if n and all(row.verdict in UNANSWERED for row in rows):
        return "no answer yet"
    if n == 1:
        return "right" if right else "not right yet"
    verb = "is" if right == 1 else "are"
    return (
        f"all {n} {counted} are right" if right == n else f"{right} of {n} {counted} {verb} right"
    )


class ChecksFailed(AssertionError):
    """Raised by a check cell whose answer is not right yet. Its message is the table.

    result   the CheckResult, which a notebook shows as a card
    """

    def __init__(self, result: CheckResult) -> None:
        super().__init__(repr(result))
        self.result, self._shown = result, False

    def _render_traceback_(self) -> list[str]:
        """The text that IPython prints: the result without a traceback.

        Where HTML can be shown, the result is displayed as a card, and this is only its headline.
        """
        self._shown = self._shown or shown_by("card")(self.result)  # IPython may ask twice
        if self._shown:
            return [self.result.headline]
        return str(self).splitlines()
