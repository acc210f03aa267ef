"""The submissions in a folder, in a zip file, or in nbgrader's submitted/ tree.

    FOLDER/ana.ipynb                         student ana
    FOLDER/ana/anything/exercise.ipynb       student ana; also nbgrader's submitted/ana/ps1/
    CLASS.zip                                the same inside

No link is followed, on the disk or in a zip; nothing is taken from outside of the folder. A zip is
unpacked file by file, up to limits that count what comes out, not what the zip says. What was
handed in instead of a notebook is a submission too, with a reason: a student is never left out.
"""

import os
import re
import stat
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from minigrad.grading.run.notebook import MOST_BYTES, Unreadable, read_bytes

MOST_FILES = 20_000
MOST_IN_ALL = 4 * 2**30
MOST_DEEP = 20  # folders in folders
IGNORED = re.compile(r"(\..*|__MACOSX|timestamp\.txt|.*\.csv|Thumbs\.db|.*~)")

LINK = "it is a link to another file, and links are not followed"


class NoSubmissions(ValueError):
    """Nothing was found to grade, or the zip file cannot be read."""


@dataclass(frozen=True)
class Submission:
    """student   from the name of the file or the folder
    path      the notebook
    problem   why there is none to read, if so
    """

    student: str
    path: Path
    problem: str | None = None


def submissions_in(place: Path, exercise: str, unpacked: Path) -> list[Submission]:
    """The submissions to an exercise, in the order of the students' names.

    unpacked   an empty folder, for the content of a zip

    Raises NoSubmissions, saying what was found instead.
    """
    if place.is_file() and zipfile.is_zipfile(place):
        problems = _unpack(place, unpacked)
        place = unpacked
    elif place.is_file() and place.suffix == ".ipynb":
        return [Submission(place.stem, place)]
    elif place.is_dir():
        problems = {}
    else:
        raise NoSubmissions(f"{place} is neither a folder, nor a zip file, nor a notebook.")
    root = place / "submitted"
    place = root if root.is_dir() and not root.is_symlink() else place
    entries = _entries(place)
    if len(entries) == 1 and entries[0].is_dir() and not _notebooks(entries[0], deep=False):
        below = _entries(entries[0])
        if len(below) > 1 and any(e.suffix == ".ipynb" or e.is_dir() for e in below):
            place, entries = entries[0], below  # a zip of a folder
    found = [_of(entry, exercise) for entry in entries]
    found += [Submission(name, place / name, problem) for name, problem in problems.items()]
    if not found:
        raise NoSubmissions(f"There is no submission in {place}.")
    return sorted(_distinct(found), key=lambda s: s.student)


def _of(entry: Path, exercise: str) -> Submission:
    """The submission that a file or a folder is."""
    is_notebook = entry.suffix == ".ipynb"
    if entry.is_symlink():
        return Submission(entry.stem if is_notebook else entry.name, entry, LINK)
    if not entry.is_dir():
        kind = f"a {entry.suffix} file" if entry.suffix else "a file without a suffix"
        problem = None if is_notebook else f"it is no notebook, but {kind}"
        return Submission(entry.stem, entry, problem)
    notebooks = _notebooks(entry)
    named = [p for p in notebooks if p.stem == exercise]
    if not notebooks:
        other = sorted(p.name for p in _entries(entry))[:3]
        said = f"there are {', '.join(other)}" if other else "it is empty"
        return Submission(entry.name, entry, f"there is no notebook in the folder ({said})")
    if len(notebooks) > 1 and not named:
        names = ", ".join(p.name for p in notebooks[:4])
        problem = f"there are several notebooks, and none is {exercise}.ipynb: {names}"
        return Submission(entry.name, entry, problem)
    return Submission(entry.name, (named or notebooks)[0])


def _entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if not IGNORED.fullmatch(p.name))


def _notebooks(folder: Path, deep: bool = True) -> list[Path]:
    found = []
    top = len(folder.parts)
    for parent, folders, files in os.walk(folder, followlinks=False):
        further = deep and len(Path(parent).parts) - top < MOST_DEEP
        folders[:] = sorted(f for f in folders if not IGNORED.fullmatch(f)) if further else []
        found += [Path(parent) / f for f in sorted(files) if f.endswith(".ipynb") and f[0] != "."]
        if len(found) > 1000:
            break
    return found


def _distinct(found: list[Submission]) -> list[Submission]:
    """Two files of one name become two students of different names."""
    seen: set[str] = set()
    result = []
    for one in found:
        name, n = one.student, 1
        while name in seen:
            n += 1
            name = f"{one.student} ({n})"
        seen.add(name)
        result.append(Submission(name, one.path, one.problem))
    return result


def content_of(submission: Submission) -> bytes:
    """The file. Raises Unreadable, with the reason, if there is none to read."""
    if submission.problem is not None:
        raise Unreadable(submission.problem)
    return read_bytes(submission.path)


def _unpack(archive: Path, target: Path) -> dict[str, str]:
    """Unpack a zip; give the names of what was left out, and why."""
    problems: dict[str, str] = {}
    total = 0
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            if len(entries) > MOST_FILES:
                raise NoSubmissions(
                    f"{archive} has {len(entries)} files; the most is {MOST_FILES}."
                )
            for entry in entries:
                path = PurePosixPath(entry.filename.replace("\\", "/"))
                if entry.is_dir() or not path.parts:
                    continue
                if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
                    problems[f"{path.stem} (unsafe)"] = (
                        "its name in the zip leads out of the folder"
                    )
                elif not any(IGNORED.fullmatch(part) for part in path.parts):
                    size, problem = _unpack_one(opened, entry, path, target)
                    total += size
                    if problem:
                        problems[path.parts[0] if len(path.parts) > 1 else path.stem] = problem
                if total > MOST_IN_ALL:
                    raise NoSubmissions(f"{archive} has more than {MOST_IN_ALL // 2**30} GB in it.")
    except (zipfile.BadZipFile, OSError) as error:
        raise NoSubmissions(f"{archive} cannot be unpacked: {error}.") from error
    return problems


def _unpack_one(
    opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: PurePosixPath, target: Path
) -> tuple[int, str]:
    """Unpack one file whose path is safe; its size, and why it was left out, if so."""
    if len(path.parts) > MOST_DEEP:
        return 0, f"its folders are more than {MOST_DEEP} deep"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return 0, LINK
    written = target.joinpath(*path.parts)
    try:
        written.parent.mkdir(parents=True, exist_ok=True)
        size = _copy(opened, entry, written)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        with suppress(OSError):
            written.unlink()
        return 0, f"it cannot be unpacked: {_why(entry, error)}"
    if size > MOST_BYTES:
        written.unlink()
        return 0, f"unpacked it has more than {MOST_BYTES // 2**20} MB"
    return size, ""


def _why(entry: zipfile.ZipInfo, error: Exception) -> str:
    encrypted = 0x1
    if entry.flag_bits & encrypted:
        return "it is protected by a password"
    return str(getattr(error, "strerror", None) or error)[:200]


def _copy(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> int:
    """Copy one file; how many bytes came out, of which no more than one piece is above the limit."""
    size = 0
    with opened.open(entry) as source, open(target, "wb") as file:
        while size <= MOST_BYTES and (part := source.read(1 << 20)):
            size += file.write(part)
    return size
