"""Atomic file writes, unique names, and text that is safe to show.

Uses only the standard library.

    write_text, write_json     write a file atomically, even if the process is killed
    locked                     keep other processes from writing a file
    digest                     a hash of a JSON document
    free_name, file_names      a name that is not taken yet; a file name for each student
    clean_text, one_line       text from a submission, safe to show
"""

import hashlib
import json
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

with suppress(ImportError):  # on Windows, where nothing is graded
    import fcntl


def write_text(
    path: Path, text: str, *, encoding: str = "utf-8", private: bool = False, lasting: bool = False
) -> Path:
    """Write text as write_bytes does."""
    return write_bytes(path, text.encode(encoding), private=private, lasting=lasting)


def write_bytes(
    path: Path, content: bytes, *, private: bool = False, lasting: bool = False
) -> Path:
    """Write a file atomically, creating its folder if needed, and return its path.

    private    make it readable by its owner only
    lasting    sync it to disk before returning, for a file that cannot be regenerated
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    mode = 0o600
    if not private:  # keep the permissions of the existing file
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(descriptor)
    os.replace(part, path)
    return path


def write_json(path: Path, document: object, *, private: bool = False) -> Path:
    """Write a JSON document atomically, and return its path."""
    return write_text(path, json.dumps(document, indent=1) + "\n", private=private)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, which need not exist. Its folder is created if needed.

    Raises BlockingIOError if another process holds it and we do not wait. The lock is a file of its own,
    because the file itself is replaced when it is written, and NFS locks only what is open for writing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def digest(document: object) -> str:
    """A hash of a JSON document that does not depend on the order of its keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def free_name(name: str, is_taken: Callable[[str], bool], form: str = "{} ({})") -> str:
    """Return the name, or the first of "name (2)", "name (3)", ... that is not taken.

    >>> free_name("ada", {"ada", "ada (2)"}.__contains__)
    'ada (3)'
    """
    numbered = (form.format(name, n) if n > 1 else name for n in count(1))
    return next(candidate for candidate in numbered if not is_taken(candidate))


def file_names(students: Sequence[str]) -> list[str]:
    """A distinct file name for each student, which is safe on every system, even if it ignores case.

    A student's name may equal the generated file name of another student, by chance or on purpose.
    """
    names: list[str] = []
    taken: set[str] = set()
    for student in students:
        plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", student).strip("._-")[:60]
        # Windows reserves some names for devices
        if plain != student or re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", plain):
            sha = hashlib.sha256(student.encode("utf-8", "replace")).hexdigest()
            plain = f"{plain or 'student'}-{sha[:8]}"
        name = free_name(plain, lambda candidate: candidate.casefold() in taken, "{}-{}")
        taken.add(name.casefold())
        names.append(name)
    return names


def clean_text(text: str, limit: int = 2000) -> str:
    """Truncate text from a submission, and replace control characters.

    Bidirectional controls are replaced as well; the joiners that Persian needs are kept.
    """
    return "".join(_clean_character(c) for c in text[:limit])


def one_line(text: str) -> str:
    """Text that is safe to show, on one line, so that a name cannot look like a line of ours.

    >>> one_line("bob: 4 of 4\\nana")
    'bob: 4 of 4 ana'
    """
    return " ".join(clean_text(text).split())


def _clean_character(c: str) -> str:
    if c in "\n\u200c\u200d" or c.isprintable():
        return c
    return " " if unicodedata.category(c) == "Zs" or c == "\t" else "\ufffd"
