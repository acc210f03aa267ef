"""The submissions in a folder, in a zip file, or in nbgrader's submitted/ tree.

    FOLDER/ana.ipynb                         student ana
    FOLDER/ana/anything/exercise.ipynb       student ana; also nbgrader's submitted/ana/ps1/
    FOLDER/ana.zip, FOLDER/ana/ps1.zip       student ana, whose zip has the same layout as such a folder
    CLASS.zip                                a zip with the same layout

Links are never followed, on disk or in a zip, and nothing outside the folder is read. From a zip,
only notebooks are unpacked, the smallest first, up to fixed limits, so that an oversized file harms
only the student who handed it in. A file that is not a notebook becomes a submission with an error,
unless it came with a notebook of the same student, and two submissions with the same name stay
separate, so no student is silently left out.
"""

import io
import os
import re
import shutil
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from minigrad.grading.files import free_name
from minigrad.grading.run.notebook import LINK, MAX_BYTES, Unreadable, read_bytes

MAX_FILES = 20_000
MAX_IN_ALL = 4 * 2**30
MAX_DEEP = 20  # nested folders
ENCRYPTED = 0x1  # a flag of a zip entry
# headers in a zip, of an entry and in the directory: how they begin; offsets of flags, name's size, name
HEADERS = ((b"PK\3\4", 7, 26, 30), (b"PK\1\2", 9, 28, 46))
IGNORED = re.compile(
    r"(\._.*|\.(?!.*(?i:ipynb)$).*|__MACOSX|timestamp\.txt|(?i:readme)(\.(?!ipynb).*)?|index\.html|Thumbs\.db|.*~)"
)
# How an LMS begins the names of a student's files and folders in a download. What the student chose follows.
MOODLE = re.compile(r"(?P<name>.+?)_(?P<participant>\d+)_assignsubmission_")
CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?=\d+_.)")
BLACKBOARD = re.compile(r".*?_(?P<id>[^_]+)_attempt_(?=\d{4}-)")
BRIGHTSPACE = re.compile(r"[\d-]+ - (?P<name>.+?) - ")

COPY = re.compile(
    r"( ?\(\d+\)|[-_ ][cC]opy ?\d*)+$"
)  # what browsers and Jupyter add to the name of a copy

LeftOut = list[tuple[Path, str]]  # zip entries that were not unpacked: path, reason
TWICE = "the zip has several files of this name; the last one is graded"
ZIPS = ".zips"  # the students' own, unpacked
NO_NOTEBOOK = "it is not a notebook, but a"
CONFIRM = "please confirm which one counts"


class NoSubmissions(ValueError):
    """Nothing was found to grade, or the zip file cannot be read."""


@dataclass(frozen=True)
class Submission:
    """A student's notebook, or the reason why there is none.

    student   taken from the name of the file or folder
    path      the notebook
    problem   why it cannot be read; None if it can
    note      what needs confirmation; None if nothing does
    zipped    the student's zip that it was unpacked from, if any
    """

    student: str
    path: Path
    problem: str | None = None
    note: str | None = None
    zipped: Path | None = None

    @property
    def is_notebook(self) -> bool:
        """Is it a notebook, judging by its name, or a folder?"""
        return not (self.problem or "").startswith(NO_NOTEBOOK)


def submissions_in(source: Path, exercise: str, unpacked: Path) -> list[Submission]:
    """List the submissions to an exercise, in the order of the students' names.

    unpacked   an empty folder for unpacking a zip

    Raises NoSubmissions, saying what was found instead.
    """
    left_out: LeftOut = []
    named = source
    if source.is_file() and is_notebook(source):
        return [Submission(source.stem, source)]
    if source.is_file() and (source.suffix == ".zip" or zipfile.is_zipfile(source)):
        left_out = _unpack(source, unpacked)
        source = unpacked
    elif not source.is_dir():
        there = (
            "is neither a folder, nor a zip file, nor a notebook"
            if source.exists()
            else "does not exist"
        )
        raise NoSubmissions(f"{source} {there}.")
    root = source / "submitted"
    if root.is_dir() and not root.is_symlink() and not _is_a_class(source, exercise):
        source = root
    entries = _entries(source)
    if len(entries) == 1 and entries[0].is_dir():
        all_of_it = [*_notebooks(entries[0], deep=False), *(path for path, _ in left_out)]
        direct = {p.stem for p in all_of_it if p.parent == entries[0] and is_notebook(p)}
        below = _entries(entries[0])
        alone = len(direct) == 1 and sum(e.is_dir() and bool(_notebooks(e)) for e in below) < 2
        students = alone or exercise in direct  # a student's folder, not a class
        if (
            not students
            and len(below) > 1
            and any(is_notebook(e) or _is_zip(e) or e.is_dir() for e in below)
        ):
            source = entries[0]  # a zip of a folder
    found = [_submission_of(entry, exercise) for entry in _class_entries(source)]
    found = [_unzipped(s, exercise, unpacked / ZIPS / str(k)) for k, s in enumerate(found)]
    found += _left_out_submissions(left_out, source)
    if not found:
        raise NoSubmissions(f"There is no submission in {named}.")
    return sorted(_distinct(found), key=lambda s: s.student)


def _is_a_class(source: Path, exercise: str) -> bool:
    """Is "submitted" one student among others, rather than the folder of nbgrader's tree?"""
    beside = [e for e in _entries(source) if e.name != "submitted"]
    return any(is_notebook(e) or (e / f"{exercise}.ipynb").is_file() for e in beside)


def is_notebook(path: Path | PurePosixPath) -> bool:
    """Is it a notebook, judging by its name? Some systems write the suffix in capitals."""
    return path.suffix.lower() == ".ipynb" or path.name == ".ipynb"


def _left_out_submissions(left_out: LeftOut, source: Path) -> Iterator[Submission]:
    """Yield a submission for each student and reason for which zip entries were left out."""
    rows: dict[tuple[str, str], Path] = {}
    for path, problem in left_out:
        inside = path.relative_to(source) if path.is_relative_to(source) else Path(path.name)
        student = inside.parts[0] if len(inside.parts) > 1 else inside.stem
        rows.setdefault((student, problem), path)
    return (Submission(student, path, problem) for (student, problem), path in rows.items())


def _submission_of(entry: Path, exercise: str) -> Submission:
    """Turn a file or folder into a submission."""
    if entry.is_symlink():
        return Submission(entry.stem if is_notebook(entry) else entry.name, entry, LINK)
    if not entry.is_dir():
        kind = f"{entry.suffix} file" if entry.suffix else "file without a suffix"
        problem = None if is_notebook(entry) else f"{NO_NOTEBOOK} {kind}"
        return Submission(entry.stem, entry, problem)
    notebooks = _notebooks(entry)
    named = [p for p in notebooks if p.stem == exercise]
    copies = [p for p in notebooks if COPY.sub("", p.stem).casefold() == exercise.casefold()]
    if not named and len(copies) == 1 < len(notebooks):
        return Submission(entry.name, copies[0], note=f"{copies[0].name} is graded: {CONFIRM}")
    if not notebooks:
        problem = f"there is no notebook in the folder ({_content_description(entry)})"
        return Submission(entry.name, entry, problem)
    if len(notebooks) > 1 and not named:
        names = ", ".join(p.name for p in notebooks[:4])
        problem = f"there are several notebooks, and none is {exercise}.ipynb: {names}"
        return Submission(entry.name, entry, problem)
    chosen = (named or notebooks)[0]
    note = None
    if len(named) > 1:
        note = f"{len(named)} notebooks are called {chosen.name}; {chosen.relative_to(entry)} is graded: {CONFIRM}"
    elif others := ", ".join(p.name for p in copies if p not in named and named):
        note = f"{chosen.name} is graded, and not {others}: {CONFIRM}"
    return Submission(entry.name, chosen, note=note)


def _unzipped(submission: Submission, exercise: str, target: Path) -> Submission:
    """Take the notebook out of a student's own zip, if there is nothing else.

    target    where to unpack it; a number in its path, as no name of a student may decide about times
    """
    path = submission.path
    if submission.problem is None or path.is_symlink():
        return submission
    zips = _notebooks(path, wanted=_is_zip) if path.is_dir() else [path] * _is_zip(path)
    if len(zips) != 1 or zips[0].is_symlink():
        return submission
    try:
        left_out = _unpack(zips[0], target, MAX_BYTES)
    except NoSubmissions:
        damaged = f"{zips[0].name} is damaged, or only a part of a zip"
        return replace(submission, problem=f"{submission.problem}; {damaged}")
    inner = _submission_of(target, exercise)
    problem = inner.problem and "; ".join(
        [f"its zip: {inner.problem}", *(why for _, why in left_out)]
    )
    return replace(submission, path=inner.path, problem=problem, note=inner.note, zipped=zips[0])


def _is_zip(path: Path | PurePosixPath) -> bool:
    return path.suffix.lower() == ".zip"


def _content_description(folder: Path) -> str:
    """Describe the content of a folder without notebooks."""
    try:
        names = [p.name for p in _listed(folder)]
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return f"it has {', '.join(names[:3])}" if names else "it is empty"


def _listed(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if not IGNORED.fullmatch(p.name))


def _entries(folder: Path) -> list[Path]:
    """The submissions in a folder. A CSV beside them is the teacher's, such as a roster."""
    return [p for p in _listed(folder) if p.suffix != ".csv" or p.is_dir()]


def _class_entries(folder: Path) -> list[Path]:
    """The submissions of a class, without the other files in an LMS's download, such as a receipt or a CSV."""
    listed = _listed(folder)
    notebooks = {p.name for p in listed if _has_notebook(p)}

    def is_alone(entry: Path) -> bool:
        table = entry.suffix == ".csv" and not entry.is_dir()
        begins = named_by(entry.name)
        # Others may name files like Canvas, too.
        if begins is None or (begins.re is CANVAS and not table):
            return not table
        return not any(name.startswith(begins[0]) for name in notebooks)

    return [entry for entry in listed if entry.name in notebooks or is_alone(entry)]


def named_by(name: str) -> re.Match[str] | None:
    """The part of the name of a file or folder that an LMS wrote; None if it wrote nothing.

    A student's own part may look like another LMS's, so the shortest beginning counts.

    >>> named_by("Ada Lovelace_77_assignsubmission_file_x_cb_attempt_2026-1")["participant"]
    '77'
    """
    forms = (MOODLE, CANVAS, BLACKBOARD, BRIGHTSPACE)
    found = filter(None, (form.match(name) for form in forms))
    return min(found, key=re.Match.end, default=None)


def _has_notebook(entry: Path) -> bool:
    folder = entry.is_dir() and not entry.is_symlink()
    return is_notebook(entry) or (folder and bool(_notebooks(entry)))


def _notebooks(
    folder: Path, deep: bool = True, wanted: Callable[[Path], bool] = is_notebook
) -> list[Path]:
    """The notebooks in a folder, or other wanted files."""
    found: list[Path] = []
    top = len(folder.parts)
    for parent, folders, files in os.walk(folder, followlinks=False):
        further = deep and len(Path(parent).parts) - top < MAX_DEEP
        folders[:] = sorted(f for f in folders if not IGNORED.fullmatch(f)) if further else []
        paths = (Path(parent) / f for f in sorted(files) if f[:2] != "._")
        found += filter(wanted, paths)
        if len(found) > 1000:
            break
    return found


def _distinct(found: list[Submission]) -> list[Submission]:
    """Give submissions with the same name distinct names, and add a note to each.

    Surrounding spaces and different Unicode encodings of the same characters are ignored.
    """
    found = [replace(s, student=normalize("NFC", s.student).strip()) for s in found]
    seen: set[str] = set()
    count = Counter(submission.student for submission in found)
    result = []
    for submission in found:
        name = free_name(submission.student, seen.__contains__)
        seen.add(name)
        if count[submission.student] > 1:
            note = f"{count[submission.student]} submissions are called {submission.student}: {CONFIRM}"
            submission = replace(submission, note="; ".join(filter(None, (submission.note, note))))
        result.append(replace(submission, student=name))
    return result


def content_of(submission: Submission) -> bytes:
    """Read the notebook file. Raises Unreadable, with the reason, if that is not possible."""
    if submission.problem is not None:
        raise Unreadable(submission.problem)
    return read_bytes(submission.path)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip. A name that is marked as UTF-8, but is not, is read as CP437, so that it costs only itself."""
    try:
        return zipfile.ZipFile(path)
    except UnicodeDecodeError:
        content = bytearray(path.read_bytes())
    for begin, flag, size, name in HEADERS:
        at = content.find(begin)
        while at >= 0:
            end = at + name + int.from_bytes(content[at + size : at + size + 2], "little")
            try:
                content[at + name : end].decode()
            except UnicodeDecodeError:
                content[at + flag] &= ~0x8
            at = content.find(begin, at + 1)
    return zipfile.ZipFile(io.BytesIO(content))


def _unpack(archive: Path, target: Path, most_in_all: int | None = None) -> LeftOut:
    """Unpack the notebooks of a zip, and the zips in it; return the paths left out, with reasons.

    Every other file becomes an empty file with its name, so that reports can say what was handed in.
    """
    left_out: LeftOut = []
    most_in_all = most_in_all or MAX_IN_ALL
    target.mkdir(parents=True, exist_ok=True)
    try:
        with open_zip(archive) as opened:
            wanted = _wanted(opened, target, left_out)
            total = 0
            # notebooks first, small ones before large ones; zipfile enforces the stated size
            first = sorted(wanted.items(), key=lambda e: (not is_notebook(e[0]), e[1].file_size))
            for files, (path, entry) in enumerate(first, 1):
                total += entry.file_size
                if files > MAX_FILES or total > most_in_all:
                    most = f"{MAX_FILES} files, or {most_in_all // 2**20} MB"
                    why = f"the zip has more than {most}, and this is among the largest"
                    left_out.append((path, why))
                elif problem := _unpack_one(opened, entry, path):
                    left_out.append((path, problem))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise NoSubmissions(f"{archive} cannot be unpacked: {error}.") from error
    return left_out


def _wanted(opened: zipfile.ZipFile, into: Path, left_out: LeftOut) -> dict[Path, zipfile.ZipInfo]:
    """The entries to unpack, by target path; the last one if several have the same name."""
    wanted: dict[Path, zipfile.ZipInfo] = {}
    for entry in opened.infolist():
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if entry.is_dir() or not path.parts:
            with suppress(OSError):  # create it, because an empty folder is a submission, too
                if ".." not in path.parts and not path.is_absolute() and len(path.parts) < 3:
                    into.joinpath(*path.parts).mkdir(parents=True, exist_ok=True)
        elif path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            unsafe = into / f"{path.stem} (unsafe).ipynb"
            left_out.append((unsafe, "its path in the zip leads out of the folder"))
        elif not any(IGNORED.fullmatch(part) for part in path.parts):
            written = into.joinpath(*path.parts)
            if len(path.parts) > MAX_DEEP:
                left_out.append((written, f"its folders are more than {MAX_DEEP} deep"))
                continue
            if written in wanted and is_notebook(path):
                again = written.with_name(f"{path.stem}.ipynb ")
                left_out.append((again, TWICE))
            wanted[written] = entry
    return wanted


def _unpack_one(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, written: Path) -> str:
    """Unpack one file if it is a notebook or a zip; return the reason if it was left out, else ""."""
    kept = is_notebook(written) or _is_zip(written)
    if stat.S_ISLNK(entry.external_attr >> 16):
        return LINK
    if entry.file_size > MAX_BYTES and kept:
        return f"unpacked it has more than {MAX_BYTES // 2**20} MB"
    try:
        written.parent.mkdir(parents=True, exist_ok=True)
        if not kept:
            written.touch()
            return ""
        # at most the stated size is read
        with opened.open(entry) as source, open(written, "wb") as file:
            shutil.copyfileobj(source, file)
    except Exception as error:  # errors of the zip, its compression, or the disk
        with suppress(OSError):
            written.unlink()
        why = str(getattr(error, "strerror", None) or error)[:200]
        why = "it is protected by a password" if entry.flag_bits & ENCRYPTED else why
        return f"it cannot be unpacked: {why}"
    return ""
