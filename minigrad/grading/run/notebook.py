"""Read the cells of a student's file, even if it is damaged or has another format.

If the file cannot be read, Unreadable says why in one sentence. Links are not followed, and nothing in
the file is run. Outputs may be huge, so they are cut from a large file before it is parsed.
"""

import base64
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TypeGuard

from minigrad.grading.release.syntax import defined_names, squeezed

MAX_BYTES = 256 * 1024 * 1024
MAX_TEXT = 12 * 1024 * 1024  # bytes to parse; outputs are cut from a larger file
MAX_PIECES = 20_000_000  # strings and brackets in a file
MAX_CELLS = 5000
MAX_SOURCE = 200_000  # characters in one cell
MAX_PARSED = 1_000_000  # characters, over all cells, that are parsed for names
# Colab writes a picture that is pasted into a text cell into its source
PICTURE = re.compile(r"data:image/[\w.+-]{1,40};base64,[A-Za-z0-9+/=]{100,}")
# What a browser may show of a student's pictures, and how their files begin
SHOWN = {"image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8\xff"}
MAX_PICTURES = 20  # in one cell
LINK = "it is a link to another file, and links are not followed"


class Unreadable(ValueError):
    """A submission cannot be read; the message gives the reason in one sentence."""


@dataclass(frozen=True)
class SubmittedCell:
    """The parts of a cell that grading uses."""

    kind: str
    source: str
    ids: tuple[str, ...]  # cell id, its copies in the metadata, nbgrader's grade_id
    names: tuple[str, ...]  # names that it defines, if it is Python
    position: int
    pictures: tuple[str, ...] = ()  # data URLs: in its source, attached, and in its outputs

    @property
    def squeezed(self) -> str:
        """The source without whitespace, so that a stub is recognized after it was reindented."""
        return squeezed(self.source)


Cells = list[SubmittedCell]


def read_bytes(path: Path) -> bytes:
    """Read a regular file. Raises Unreadable for a link, a folder, or a file that is too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        why = LINK if path.is_symlink() else f"it cannot be read ({error.strerror})"
        raise Unreadable(why) from error
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("it is not a regular file")
        if about.st_size > MAX_BYTES:
            raise Unreadable(
                f"it has {about.st_size // 2**20} MB; the most is {MAX_BYTES // 2**20} MB. "
                "Clear the outputs and save it again"
            )
        try:
            return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"it cannot be read ({error.strerror})") from error


def cells_of(content: bytes) -> tuple[Cells, list[str]]:
    """Parse a notebook of any format; return its cells, and notes on anything unusual.

    Raises Unreadable if it is not a notebook.
    """
    notes: list[str] = []
    if not content.strip():
        raise Unreadable("the file is empty")
    data = _json(content, notes)
    if not isinstance(data, dict):
        raise Unreadable("it is JSON, but not a notebook")
    listed = data.get("cells")
    if not isinstance(listed, list) and isinstance(data.get("worksheets"), list):
        sheets = [s.get("cells") for s in data["worksheets"] if isinstance(s, dict)]
        listed = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
        notes.append("the notebook is of the old format 3")
    if not isinstance(listed, list):
        raise Unreadable("it is JSON, but not a notebook: there is no list of cells")
    if not listed:
        raise Unreadable("the notebook has no cells")
    if len(listed) > MAX_CELLS:
        raise Unreadable(f"the notebook has {len(listed)} cells; the most is {MAX_CELLS}")
    cells, damaged, room = [], [], MAX_PARSED
    for position, raw in enumerate(listed):
        cell = _cell(raw, position, room)
        if cell is None:
            damaged.append(str(position + 1))
        else:
            cells.append(cell)
            room -= len(cell.source)
    if damaged:
        some = ", ".join(damaged[:5]) + (" and others" if len(damaged) > 5 else "")
        notes.append(f"cells left out, because they are damaged or too long: {some}")
    return cells, notes


def _json(content: bytes, notes: list[str]) -> object:
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
        notes.append("the file begins with a byte order mark")
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        if len(content) > MAX_TEXT:
            content = content.decode("utf-16").encode() if wide else content
            content, wide = _without_outputs(content), False
        text = content.decode("utf-16" if wide else "utf-8")
        # parsing an integer with very many digits takes long
        return json.loads(text, parse_int=lambda digits: int(digits[:18]))
    except UnicodeError:
        raise Unreadable(_kind(content) or "it is not a text file") from None
    except (RecursionError, MemoryError):
        raise Unreadable("its JSON is nested too deeply for a notebook") from None
    except json.JSONDecodeError as error:
        raise Unreadable(_kind(content) or _where(error)) from None


KINDS = {
    b"%PDF": "it is a PDF document, not a notebook",
    b"PK\x03\x04": "it is a zip file or an Office document, not a notebook",
    b"\x1f\x8b": "it is a compressed file, not a notebook",
    b"\x89PNG": "it is a picture, not a notebook",
    b"<!doctype": "it is a web page, not a notebook",
    b"<html": "it is a web page, not a notebook",
}


def _kind(content: bytes) -> str | None:
    """Guess what the file is instead of a notebook; None if unknown."""
    start = content[:200].lstrip()
    for beginning, description in KINDS.items():
        if start.lower().startswith(beginning.lower()):
            return description
    if b"<<<<<<<" in content:
        return "it has a merge conflict in it, so it is not valid JSON"
    if not start.startswith((b"{", b"[")):
        return "it is not a notebook, but some other text"
    return None


def _where(error: json.JSONDecodeError) -> str:
    if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated"):
        return "it is only a part of a notebook: the end of the file is missing"
    return f"it is a damaged notebook: its JSON is invalid in line {error.lineno}"


# an unterminated string extends to the end of the file; otherwise matching would be quadratic
TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
LARGE = re.compile(rb'"(?:outputs|attachments|widgets)"')
OPENED = re.compile(rb"\s*:\s*(?=[\[{])")


def _without_outputs(content: bytes) -> bytes:
    """The JSON text with empty outputs, attachments and widget states.

    Raises Unreadable if it has too many tokens, or is still too large.
    """
    kept, start, depth, cutting = [], 0, 0, False
    for pieces, token in enumerate(TOKEN.finditer(content), 1):
        if pieces > MAX_PIECES:
            raise Unreadable("it has too many parts for a notebook")
        first = token[0][:1]
        if cutting and first != b'"':
            depth += 1 if first in b"[{" else -1
            if depth == 0:
                kept.append(b"[]" if first == b"]" else b"{}")
                start, cutting = token.end(), False
        elif not cutting and first == b'"' and LARGE.fullmatch(token[0]):
            opened = OPENED.match(content, token.end())
            if opened is not None:
                kept.append(content[start : opened.end()])
                start, cutting = len(content), True
    kept.append(content[start:])
    light = b"".join(kept)
    if len(light) > MAX_TEXT:
        raise Unreadable(
            f"without its outputs it still has {len(light) / 2**20:.1f} MB; the most is {MAX_TEXT // 2**20} MB"
        )
    return light


def without_pictures(text: str) -> str:
    """Replace each picture in the text by its fingerprint.

    >>> without_pictures("![a](data:image/png;base64," + 100 * "A" + ")")
    '![a](picture e1a26465d9723f1d)'
    """
    return PICTURE.sub(lambda found: f"picture {fingerprint(found[0])}", text)


def fingerprint(picture: str) -> str:
    """The name of a picture, from its data URL."""
    return sha256(picture.encode()).hexdigest()[:16]


def picture_file(picture: str) -> tuple[str, bytes] | None:
    """A picture's file name and its bytes, from its data URL; None if it is none that a browser may show."""
    kind, _, text = picture.removeprefix("data:").partition(";base64,")
    try:
        content = base64.b64decode(text)
    except ValueError:
        return None
    if kind not in SHOWN or not content.startswith(SHOWN[kind]):
        return None
    return f"{fingerprint(picture)}.{kind.removeprefix('image/')}", content


def _pictures(raw: dict[str, object], source: object) -> Iterator[str]:
    """The data URLs of the pictures in a cell's source, attachments and outputs."""
    yield from PICTURE.findall(source) if isinstance(source, str) else ()
    attached, outputs = raw.get("attachments"), raw.get("outputs")
    found = list(attached.values()) if isinstance(attached, dict) else []
    if isinstance(outputs, list):
        found += [output.get("data") for output in outputs if isinstance(output, dict)]
    for data in found:
        for kind, text in data.items() if isinstance(data, dict) else ():
            text = "".join(text) if _is_lines(text) else text
            if kind in SHOWN and isinstance(text, str) and text.isascii():
                yield f"data:{kind};base64,{''.join(text.split())}"


def _is_lines(source: object) -> TypeGuard[list[str]]:
    return isinstance(source, list) and all(isinstance(line, str) for line in source)


def _cell(raw: object, position: int, room: int) -> SubmittedCell | None:
    if not isinstance(raw, dict):
        return None
    source = raw.get("source", raw.get("input", ""))
    if _is_lines(source):
        source = "".join(source)
    pictures = tuple(islice(_pictures(raw, source), MAX_PICTURES))
    if isinstance(source, str) and len(source) > MAX_SOURCE:
        source = without_pictures(source)
    if not isinstance(source, str) or len(source) > MAX_SOURCE:
        return None
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    ours, theirs = metadata.get("minigrad"), metadata.get("nbgrader")
    ids = [
        raw.get("id"),
        ours.get("cell") if isinstance(ours, dict) else None,
        metadata.get("id"),  # Colab stores it here
        theirs.get("grade_id") if isinstance(theirs, dict) else None,
    ]
    kind = raw.get("cell_type")
    # JSON may hold half of an emoji, which Python cannot parse.
    source = source.replace("\r\n", "\n").encode(errors="replace").decode()
    return SubmittedCell(
        kind if isinstance(kind, str) else "",
        source,
        tuple(i for i in ids if isinstance(i, str)),
        tuple(defined_names(source)) if len(source) <= room else (),
        position,
        pictures,
    )
