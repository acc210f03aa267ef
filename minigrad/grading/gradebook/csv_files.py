"""CSV files that people edit in a spreadsheet: strict reading, atomic writing.

read_table      read the rows by column name; a malformed row raises an error with its line
write_table     write all rows atomically, and escape cells that a spreadsheet would run as a formula
points_text     format points; TableRow.points parses them as an exact decimal
"""

import csv
import difflib
import io
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from minigrad.grading.files import clean_text, write_text

# the first character of a formula in Excel, LibreOffice or Sheets; the last four are full-width forms
FORMULA = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")
LEFT_OUT = " \u00a0\u3000\ufffd'\""  # characters that some of them skip at the start of a cell
INNER = re.compile(  # a line may begin with any other of them, such as a list or a decorator
    rf"(;[{LEFT_OUT}]*+)(?=[{''.join(map(re.escape, FORMULA))}])|(\n[{LEFT_OUT}]*+)(?=[=\uff1d])"
)
INNER_ESCAPED = re.compile(INNER.pattern.replace("*+)", "*)'"))
MAX_WRITTEN = 30_000  # characters in a cell that people edit
MAX_ESCAPED = 32_000  # and with the quotes of formulas; Excel's limit is 32767
PLACES = Decimal("0.000001")  # points are rounded to this: 1/3 has no finite decimal


class GradebookError(ValueError):
    """A file of the gradebook is invalid; the message says where, why, and how to fix it."""


@dataclass(frozen=True)
class TableRow:
    """A row of a CSV file. Looking up a column that the file lacks gives "".

    line     the line number where the row begins, counted from 1
    names    the column names of the file, in the order of `cells`
    lines    the lines of rows with a key that must be unique, shared by all rows: see once
    """

    path: Path
    line: int
    cells: Mapping[str, str]
    names: tuple[str, ...] = ()
    lines: dict[Hashable, int] = field(default_factory=dict)

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    @property
    def where(self) -> str:
        """The file and the line."""
        return f"{self.path}, line {self.line}"

    def wrong(self, message: str) -> GradebookError:
        """A GradebookError with this message and the row's location."""
        return GradebookError(f"{self.where}: {message}")

    def once(self, key: Hashable, what: str) -> None:
        """Note the row's line under this key. Raises GradebookError if an earlier row has the same key."""
        if key in self.lines:
            raise self.wrong(f"line {self.lines[key]} has the same {what}. To fix it, remove one.")
        self.lines[key] = self.line

    def points(self, column: str) -> Decimal | None:
        """Parse the cell as points; None if it is empty. Raises GradebookError if it is not a number."""
        text = self[column]
        if text and not re.fullmatch(r"\d{1,9}([.,]\d{1,6})?", text):
            raise self.wrong(
                f"{column} is {text!r}. To fix it, write a number that is not negative, with at most six "
                "decimals, such as 2.5."
            )
        return Decimal(text.replace(",", ".")) if text else None


def _text_of(path: Path) -> str:
    """Read the text of a CSV file. Raises GradebookError if it does not exist, or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise GradebookError(
            f"There is no file {path}. To fix it, create it, or remove its name from the settings or the command."
        ) from None
    except UnicodeDecodeError as error:
        raise GradebookError(
            f"{path} is not encoded in UTF-8 ({error.reason}). To fix it, save it as CSV UTF-8."
        ) from error


def read_table(
    path: Path, columns: Mapping[str, Sequence[str]], *, needed: Sequence[str], others: bool = False
) -> list[TableRow]:
    """Read a CSV file whose first line names the columns.

    columns   column -> alternative names for it; case does not matter
    needed    the columns that must be there
    others    are further columns allowed?

    The delimiter is the comma, semicolon or tab, whichever is most frequent in the first line. Raises
    GradebookError, with the line, if the file is malformed or does not exist.
    """
    lines = _lines(path)
    line, names = next(lines, (0, ()))
    # A spreadsheet may write further columns, in which all cells are empty.
    while names and not names[-1]:
        names = names[:-1]
    if not names:
        raise GradebookError(f"{path} is empty. Its first line must name: {', '.join(needed)}.")
    header = _header(TableRow(path, line, {}, names), columns, needed, others)
    rows: list[TableRow] = []
    keys: dict[Hashable, int] = {}
    for line, cells in lines:
        if not any(cells[len(header) :]):
            cells = cells[: len(header)]
        row = TableRow(path, line, dict(zip(header, cells)), names, keys)
        if len(cells) != len(header):
            raise row.wrong(
                f"there are {len(cells)} cells, but {len(header)} columns. To fix it, put "
                "cells that contain commas in quotation marks, and keep the commas around empty cells."
            )
        rows.append(row)
    return rows


def _lines(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the lines of a CSV file that are not empty: the number of each, and its cells."""
    text = _text_of(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for raw in reader:
            cells = tuple(_unescaped(c).replace("\r\n", "\n").strip() for c in raw)
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise GradebookError(f"{path}, line {line}: it is not a CSV file ({error}).") from error


def _header(
    row: TableRow, columns: Mapping[str, Sequence[str]], needed: Sequence[str], others: bool
) -> list[str]:
    """Map the file's column names to ours. Other columns get a name that is never looked up."""
    names = {name.casefold(): ours for ours, theirs in columns.items() for name in (ours, *theirs)}
    header: list[str] = []
    for k, cell in enumerate(row.names):
        ours = names.get(cell.casefold())
        if ours is None and not others:
            raise row.wrong(f"the column {cell!r} is not known.{nearest(cell, columns)}")
        # if two columns map to the same name, the first counts
        header.append(ours if ours and ours not in header else f"{k} {cell}")
    if missing := [name for name in needed if name not in header]:
        raise row.wrong(f"there is no column {missing[0]}. There are: {', '.join(row.names)}.")
    return header


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: suggest the closest known name.

    >>> nearest("dedline", ["deadline", "roster"])
    ' Did you mean deadline?'
    """
    known = list(known)
    found = difflib.get_close_matches(name, known, 1)
    if found:
        return f" Did you mean {found[0]}?"
    return f" There are: {', '.join(known[:12])}." if known else ""


def write_table(path: Path, rows: Iterable[Sequence[str]], *, edited: bool = False) -> Path:
    """Write a CSV file atomically, and return its path.

    edited    people edit it: keep line breaks in cells, and write a BOM so that Excel reads UTF-8
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell_text(cell, lines=edited) for cell in row] for row in rows)
    encoding = "utf-8-sig" if edited else "utf-8"
    return write_text(path, text.getvalue(), encoding=encoding, lasting=True)


def cell_text(text: str, *, lines: bool = False) -> str:
    """Escape text that a spreadsheet would evaluate as a formula.

    >>> cell_text("=1+1"), cell_text("1"), cell_text("-")
    ("'=1+1", '1', '-')

    Formulas after a semicolon are escaped, too, because some spreadsheets split cells there, and so is a
    line that begins with "=".
    A single "-" is no formula: Moodle writes it for a time that is missing.
    """
    if text == "-":
        return text
    text = clean_text(text, MAX_WRITTEN if lines else 2000)
    text = INNER.sub(r"\1\2'", text if lines else text.replace("\n", " "))[:MAX_ESCAPED]
    return f"'{text}" if text.lstrip(LEFT_OUT + "\n").startswith(FORMULA) else text


def _unescaped(cell: str) -> str:
    """Undo cell_text."""
    cell = INNER_ESCAPED.sub(r"\1\2", cell)
    begins = cell[:1] == "'" and cell[1:].lstrip(LEFT_OUT + "\n").startswith(FORMULA)
    return cell[1:] if begins else cell


def exact(points: float) -> Decimal:
    """Convert points from a JSON document to the decimal that is written there.

    >>> exact(0.1) + exact(0.2)
    Decimal('0.300000')
    """
    return rounded(Decimal(repr(points)))


def rounded(points: Decimal) -> Decimal:
    """Round points to six decimals."""
    return points.quantize(PLACES, ROUND_HALF_UP)


def points_text(points: Decimal) -> str:
    """Format points without trailing zeros or an exponent.

    >>> points_text(Decimal("2.500000")), points_text(Decimal("1E+2"))
    ('2.5', '100')
    """
    return f"{points.normalize():f}"
