"""A student's file, whatever has become of it, and the answers in it.

Nothing of a submission is used but the *source* of its answer cells. An answer cell is found,
in this order,

    by its cell id, by the copy of the id in its metadata, or by nbgrader's grade_id
    by the names that it should define, if no cell has the id (or the one that has it is
        untouched, or defines none of them): a guess
    by its place, right below the given cell that stood above it: a guess

and a guess is marked "please confirm". What cannot be read ends in one sentence that says why.
No file is opened through a link, and nothing here runs what it reads.
"""

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minigrad.grading.bundles import Recording
from minigrad.grading.questions import defined_names

MOST_BYTES = 256 * 1024 * 1024
MOST_CELLS = 5000
MOST_SOURCE = 200_000  # characters in one cell


class Unreadable(ValueError):
    """A submission in which no answer can be looked for, and why: one sentence."""


@dataclass(frozen=True)
class Cell:
    """A cell as far as grading looks at it."""

    kind: str
    source: str
    ids: tuple[str, ...]  # cell id, its copy in the metadata, nbgrader's grade_id
    place: int


@dataclass
class Found:
    """The answers of a submission.

    sources   answer cell id -> source; empty for one that was not found
    missing   ids of those that were not found
    guessed   ids of those that were found by name or place: please confirm
    notes     what was unusual, in words
    elsewhere names that are defined in cells that are not graded
    """

    sources: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def read_bytes(path: Path) -> bytes:
    """The content of a regular file. Raises Unreadable for a link, a folder, or too much."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        link = path.is_symlink()
        raise Unreadable(
            "it is a link to another file, and links are not followed"
            if link
            else f"it cannot be read ({error.strerror})"
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("it is no regular file")
        if about.st_size > MOST_BYTES:
            raise Unreadable(
                f"it has {about.st_size // 2**20} MB; the most is {MOST_BYTES // 2**20} MB. "
                "Clear the outputs and save it again"
            )
        return file.read(MOST_BYTES + 1)


def cells_of(content: bytes) -> tuple[list[Cell], list[str]]:
    """The cells of a notebook of any format, and what was unusual about it.

    Raises Unreadable if it is none.
    """
    notes: list[str] = []
    if not content.strip():
        raise Unreadable("the file is empty")
    data = _json(content, notes)
    if not isinstance(data, dict):
        raise Unreadable("it is JSON, but no notebook")
    listed = data.get("cells")
    if not isinstance(listed, list) and isinstance(data.get("worksheets"), list):
        sheets = [s.get("cells") for s in data["worksheets"] if isinstance(s, dict)]
        listed = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
        notes.append("the notebook is of the old format 3")
    if not isinstance(listed, list):
        raise Unreadable("it is JSON, but no notebook: there is no list of cells")
    if not listed:
        raise Unreadable("the notebook has no cells")
    if len(listed) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(listed)} cells; the most is {MOST_CELLS}")
    cells = []
    for place, raw in enumerate(listed):
        cell = _cell(raw, place)
        if cell is None:
            notes.append(f"cell {place + 1} is damaged and was left out")
        else:
            cells.append(cell)
    return cells, notes


def find_answers(recording: Recording, content: bytes) -> Found:
    """The sources of the answer cells of this exercise in a student's file.

    Raises Unreadable if it is no notebook, or has nothing of this exercise in it.
    """
    cells, notes = cells_of(content)
    found = Found(notes=notes)
    layout = recording.cells
    wanted = [c for c in layout if c["answer"] and c["kind"] == "code"]
    known = {i for c in layout for i in (c["id"], c["grade_id"]) if i}
    given = {c["source"].strip() for c in layout if not c["answer"]}
    if not any(known & set(c.ids) or c.source.strip() in given for c in cells):
        theirs = {name for c in wanted for name in c["names"]}
        if not any(theirs & set(defined_names(c.source)) for c in cells):
            raise Unreadable("nothing of this exercise is in it: is it the right file?")
    used: set[int] = set()
    for answer in wanted:
        cell = _by_id(answer, cells, found)
        named = None
        if answer["names"] and (cell is None or _says_nothing(cell, answer)):
            named = _by_name(answer, cells)
        if named is not None:
            cell = named
            _guess(found, answer, f"by the name {', '.join(answer['names'])}")
        elif cell is None:
            cell = _by_place(answer, layout, cells, known, used)
            if cell is not None:
                _guess(found, answer, "by its place")
        if cell is None:
            found.missing.append(answer["id"])
            found.notes.append(f"the answer {answer['id']} is missing")
            found.sources[answer["id"]] = ""
            continue
        used.add(cell.place)
        found.sources[answer["id"]] = cell.source
    kept = {name for s in found.sources.values() for name in defined_names(s)}
    theirs = {n for c in layout if not c["answer"] for n in c["names"]}
    others = (n for c in cells if c.place not in used for n in defined_names(c.source))
    found.elsewhere = sorted(set(others) - kept - theirs)[:100]
    return found


def _by_id(answer: dict[str, Any], cells: list[Cell], found: Found) -> Cell | None:
    ids = {answer["id"], answer["grade_id"]} - {None}
    claiming = [c for c in cells if ids & set(c.ids)]
    if len(claiming) > 1:
        found.notes.append(
            f"{len(claiming)} cells claim to be the answer {answer['id']}; the last one counts"
        )
    return claiming[-1] if claiming else None


def _says_nothing(cell: Cell, answer: dict[str, Any]) -> bool:
    """Is the cell as it was released, or without any of the names it should define?"""
    names = defined_names(cell.source)
    if not names and any(name in cell.source for name in answer["names"]):
        return False  # it cannot be parsed: a mistake of the student's, not of the matching
    untouched = "".join(cell.source.split()) == "".join(answer["source"].split())
    return untouched or not set(names) & set(answer["names"])


def _by_name(answer: dict[str, Any], cells: list[Cell]) -> Cell | None:
    """The last cell that defines what the answer should, and is not the stub.

    It may have the id of another cell of the exercise: merging two cells keeps one id.
    """
    stub = "".join(answer["source"].split())
    for cell in reversed(cells):
        if cell.kind == "code" and set(answer["names"]) <= set(defined_names(cell.source)):
            if "".join(cell.source.split()) != stub:
                return cell
    return None


def _by_place(
    answer: dict[str, Any],
    layout: list[dict[str, Any]],
    cells: list[Cell],
    known: set[str],
    used: set[int],
) -> Cell | None:
    """The first code cell below the nearest cell that stood above the answer, if it is still free."""
    k = next(i for i, c in enumerate(layout) if c["id"] == answer["id"])
    sources = {c["source"].strip() for c in layout}
    for above in reversed(layout[:k]):
        if above["answer"]:
            break
        for n, cell in enumerate(cells):
            same = cell.source.strip() == above["source"].strip()
            if not same or not above["source"].strip():
                continue
            for below in cells[n + 1 :]:
                if below.kind != "code":
                    continue
                free = below.place not in used and not set(below.ids) & known
                return below if free and below.source.strip() not in sources else None
    return None


def _guess(found: Found, answer: dict[str, Any], how: str) -> None:
    found.guessed.append(answer["id"])
    found.notes.append(f"the answer {answer['id']} was found {how}: please confirm")


def _json(content: bytes, notes: list[str]) -> Any:
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
        notes.append("the file begins with a byte order mark")
    try:
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        return json.loads(content.decode(encoding))
    except UnicodeDecodeError:
        raise Unreadable("it is no text file") from None
    except (RecursionError, MemoryError):
        raise Unreadable("it is JSON of a depth that no notebook has") from None
    except ValueError as error:
        start = content.lstrip()[:200].lower()
        if start.startswith((b"<!doctype", b"<html")):
            raise Unreadable("it is a web page, not a notebook") from None
        if b"<<<<<<<" in content:
            raise Unreadable("it has a merge conflict in it, and is no valid JSON") from None
        raise Unreadable(f"it is no notebook, or only a part of one: {error}"[:200]) from None


def _cell(raw: Any, place: int) -> Cell | None:
    if not isinstance(raw, dict):
        return None
    source = raw.get("source", raw.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str) or len(source) > MOST_SOURCE:
        return None
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    ours, theirs = metadata.get("minigrad"), metadata.get("nbgrader")
    ids = [
        raw.get("id"),
        ours.get("cell") if isinstance(ours, dict) else None,
        theirs.get("grade_id") if isinstance(theirs, dict) else None,
    ]
    kind = raw.get("cell_type")
    return Cell(
        kind if isinstance(kind, str) else "",
        source.replace("\r\n", "\n"),
        tuple(i for i in ids if isinstance(i, str)),
        place,
    )
