"""CSV files that people edit in a spreadsheet: read strictly, and written whole.

read_table      the rows, by their columns; what is malformed is refused with its line
write_table     all of the rows or nothing; no cell begins like a formula
points_in       a cell as an exact decimal; points_text is the way back
clean_text      text from a submission that can be shown
"""

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from minigrad.grading.files import write_whole

# with which a formula begins in Excel, LibreOffice or Sheets; the last four are their full-width twins
FORMULA = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")
LEFT_OUT = " \u00a0\u3000\ufffd'\""  # what some of them leave out at the beginning of a cell
INNER = re.compile(rf"(;[{LEFT_OUT}]*+)(?=[{''.join(map(re.escape, FORMULA))}])")
MOST_WRITTEN = 30_000  # characters in a cell that people edit; Excel has room for 32767
PLACES = Decimal("0.000001")  # points are exact up to here: a third of a point has no decimal


class GradebookError(ValueError):
    """A file of the gradebook that cannot be used: where in it, why, and how to fix it."""


@dataclass(frozen=True)
class TableRow:
    """A row of a CSV file. A column that the file does not have is empty in it.

    line     where it begins in the file, counted from 1
    names    all columns, as the file calls them, in the order of `cells`
    """

    path: Path
    line: int
    cells: Mapping[str, str]
    names: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    @property
    def where(self) -> str:
        """The file and the line."""
        return f"{self.path}, line {self.line}"

    def wrong(self, message: str) -> GradebookError:
        """The error that says this about the row."""
        return GradebookError(f"{self.where}: {message}")

    def points(self, column: str) -> Decimal | None:
        """The cell as points; None if it is empty. Raises GradebookError for what is no number."""
        text = self[column]
        if text and not re.fullmatch(r"\d{1,9}([.,]\d{1,6})?", text):
            raise self.wrong(
                f"{column} is {text!r}. To fix it, write a number that is not negative, with at most six "
                "decimals, such as 2.5."
            )
        return Decimal(text.replace(",", ".")) if text else None


def _text_of(path: Path) -> str:
    """The text of a CSV file. Raises GradebookError if it is not there, or not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise GradebookError(
            f"There is no file {path}. To fix it, write it, or take its name out of gradebook.toml or the command."
        ) from None
    except UnicodeDecodeError as error:
        raise GradebookError(
            f"{path} is not written in UTF-8 ({error.reason}). To fix it, save it as CSV UTF-8."
        ) from error


def read_table(
    path: Path,
    columns: Mapping[str, Sequence[str]],
    *,
    needed: Sequence[str],
    others: bool = False,
) -> list[TableRow]:
    """The rows of a CSV file, whose first line names the columns.

    columns   column -> other names that it may have; upper or lower case does not matter
    others    may there be further columns? They are left out

    Commas, semicolons or tabs stand between cells, whichever the first line has most of. Raises
    GradebookError, with the line, for what is malformed, or if there is no such file.
    """
    text = _text_of(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    names: tuple[str, ...] = ()
    rows = []
    while True:
        line = reader.line_num + 1
        try:
            cells = [_unescaped(c).replace("\r\n", "\n").strip() for c in next(reader)]
        except StopIteration:
            break
        except csv.Error as error:
            raise GradebookError(f"{path}, line {line}: it is not a CSV file ({error}).") from error
        if not any(cells):
            continue
        if header is None:
            header = _header(TableRow(path, line, {}), cells, columns, needed, others)
            names = tuple(cells)
        elif len(cells) != len(header):
            raise GradebookError(
                f"{path}, line {line}: there are {len(cells)} cells, and {len(header)} columns. To fix it, put a "
                "cell that has commas in it between quotation marks, and leave an empty cell empty."
            )
        else:
            rows.append(TableRow(path, line, dict(zip(header, cells)), names))
    if header is None:
        raise GradebookError(f"{path} is empty. Its first line must name: {', '.join(needed)}.")
    return rows


def _header(
    row: TableRow,
    cells: list[str],
    columns: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    others: bool,
) -> list[str]:
    """Our names of the columns; those that are not ours keep theirs, which are not looked up."""
    names = {name.casefold(): ours for ours, theirs in columns.items() for name in (ours, *theirs)}
    header: list[str] = []
    for k, cell in enumerate(cells):
        ours = names.get(cell.casefold())
        if ours is None and not others:
            raise row.wrong(f"there is no column {cell!r} here.{nearest(cell, columns)}")
        # of two columns for one thing, the first counts
        header.append(ours if ours and ours not in header else f"{k} {cell}")
    if missing := [name for name in needed if name not in header]:
        raise row.wrong(
            f"there is no column {missing[0]}. The first line names: {', '.join(cells)}."
        )
    return header


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest of the known ones.

    >>> nearest("dedline", ["deadline", "roster"])
    ' Did you mean deadline?'
    """
    known = list(known)
    found = difflib.get_close_matches(name, known, 1)
    if found:
        return f" Did you mean {found[0]}?"
    return f" There are: {', '.join(known[:12])}." if known else ""


def write_table(path: Path, rows: Iterable[Sequence[str]], *, edited: bool = False) -> Path:
    """Write a CSV file so that it is whole, or as it was before; returns its path.

    edited    people edit it: cells keep their lines, and a mark says UTF-8 to Excel
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell_text(cell, lines=edited) for cell in row] for row in rows)
    encoding = "utf-8-sig" if edited else "utf-8"
    return write_whole(path, text.getvalue(), encoding=encoding, lasting=True)


def cell_text(text: str, *, lines: bool = False) -> str:
    """A text that begins like a formula is shown as text by spreadsheets, not computed.

    >>> cell_text("=1+1"), cell_text("1")
    ("'=1+1", '1')

    So does what stands behind a semicolon, where a spreadsheet takes that for the end of a cell.
    """
    text = clean_text(text, MOST_WRITTEN if lines else 2000)
    text = text if lines else INNER.sub(r"\1'", text.replace("\n", " "))
    return f"'{text}" if text.lstrip(LEFT_OUT + "\n").startswith(FORMULA) else text


def _unescaped(cell: str) -> str:
    """The text that cell_text has written."""
    begins = cell[:1] == "'" and cell[1:].lstrip(LEFT_OUT + "\n").startswith(FORMULA)
    return cell[1:] if begins else cell


def exact(points: float) -> Decimal:
    """Points of a JSON document as the decimal that is written there.

    >>> exact(0.1) + exact(0.2)
    Decimal('0.300000')
    """
    return rounded(Decimal(repr(points)))


def rounded(points: Decimal) -> Decimal:
    """Points to six decimals, which holds for sixths and sevenths, too."""
    return points.quantize(PLACES, ROUND_HALF_UP)


def points_text(points: Decimal) -> str:
    """Points as they are written: no zeros at the end, no exponent.

    >>> points_text(Decimal("2.500000")), points_text(Decimal("1E+2"))
    ('2.5', '100')
    """
    return f"{points.normalize():f}"


def clean_text(text: str, most: int = 2000) -> str:
    """Text from a submission without control characters, of a sensible length.

    Marks that turn the direction of writing are among them; what joins letters in Persian is not.
    """
    return "".join(_shown(c) for c in text[:most])


def _shown(c: str) -> str:
    if c in "\n\u200c\u200d" or c.isprintable():
        return c
    return " " if unicodedata.category(c) == "Zs" or c == "\t" else "\ufffd"
