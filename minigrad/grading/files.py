"""Files that are there as a whole or not at all, and names that no two things share.

Uses the standard library alone.

    write_whole, write_json    a file, whenever the process that writes it is killed
    digest                     a short name for a JSON document
    free_name                  a name that nobody has yet
"""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path


def write_whole(
    path: Path,
    text: str,
    *,
    encoding: str = "utf-8",
    private: bool = False,
    lasting: bool = False,
) -> Path:
    """Write a file, in a folder that is made if need be, so that it is whole or as it was; returns its path.

    private    only its owner can read it
    lasting    it is on the disk before this returns: nobody could make it again
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    mode = 0o600
    if not private:  # whom its owner has shut out of it before stays out
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "w", newline="", encoding=encoding) as file:
        file.write(text)
        if lasting:
            file.flush()
            os.fsync(descriptor)
    os.replace(part, path)
    return path


def write_json(path: Path, document: object, *, private: bool = False) -> Path:
    """Write a JSON document in the same way; returns its path."""
    return write_whole(path, json.dumps(document, indent=1) + "\n", private=private)


def digest(document: object) -> str:
    """A hash of a JSON document, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def free_name(name: str, is_taken: Callable[[str], bool], form: str = "{} ({})") -> str:
    """The name, or the first of "name (2)", "name (3)", ... that is not taken.

    >>> free_name("ada", {"ada", "ada (2)"}.__contains__)
    'ada (3)'
    """
    numbered = (form.format(name, n) if n > 1 else name for n in count(1))
    return next(one for one in numbered if not is_taken(one))
