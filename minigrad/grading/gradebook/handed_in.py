"""When something was handed in, as far as that can be known.

A time stands, the more reliable first, in a CSV of the teacher's, in the name that an LMS gave to a file or a
folder, in nbgrader's timestamp.txt, and in the time stamp of the file or of its entry in the
zip. A copy of a file has a new time stamp, so that the last is used only if the settings say so.
"""

import re
import tempfile
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from minigrad.grading.gradebook.csv_files import read_table
from minigrad.grading.gradebook.roster import Roster
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.run.collect import Submission, content_of, submissions_in
from minigrad.grading.run.notebook import Unreadable

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
STAMP = "timestamp.txt"

# Blackboard's 2026-11-30-23-59-00 and what is written like it; Brightspace's Nov 30, 2026 1159 PM
DIGITS = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T_ -](\d\d)[-:.h]?(\d\d)(?:[-:.]?(\d\d))?(?!\d)"
)
WORDS = re.compile(rf"({'|'.join(MONTHS)})\w* (\d\d?), (\d{{4}}),? (\d\d?)[:.]?(\d\d) ([AP])M")
LATE = re.compile(r"[^_]+_LATE_\d+_\d+_.+")  # Canvas says that it is late, and not by how much


@dataclass(frozen=True)
class HandedIn:
    """A submission as it came.

    submission   its name, as in its grade
    time         when; None if that is not known
    source       what says so, or why it is not known
    answers      question -> the answer to it, for those that a person marks
    """

    submission: str
    time: datetime | None
    source: str
    answers: Mapping[str, str] = field(default_factory=dict)


Answers = Callable[[bytes], Mapping[str, str]]  # what a person marks, in the content of a file


def handed_in(
    place: Path,
    exercise: str,
    settings: AssignmentSettings,
    answers: Answers | None = None,
    others: Collection[str] = (),
) -> list[HandedIn]:
    """All submissions in a folder or a zip, as they are found for grading.

    others    the other notebooks of the assignment, which answer nothing of this one

    Raises NoSubmissions, saying what was found instead.
    """
    with tempfile.TemporaryDirectory(prefix="mg-handed-in-") as name:
        unpacked = Path(name).resolve()
        found = submissions_in(place, exercise, unpacked)
        stamps = _stamps(place, unpacked)
        return [
            replace(
                _came(submission, place, unpacked, stamps, settings),
                answers=_answered(submission, answers, others) if answers else {},
            )
            for submission in found
        ]


def _answered(
    submission: Submission, answers: Answers, others: Collection[str]
) -> Mapping[str, str]:
    if submission.path.stem in others:
        return answers(b"")
    try:
        return answers(content_of(submission))
    except Unreadable:
        return answers(b"")


def _came(
    submission: Submission,
    place: Path,
    unpacked: Path,
    stamps: "_Stamps",
    settings: AssignmentSettings,
) -> HandedIn:
    path = submission.path
    root = unpacked if path.is_relative_to(unpacked) else place
    inside = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    for part in reversed(inside.parts):
        if time := time_in_name(part):
            return _known(submission, time, "by the name of the download", settings)
    if "submitted" in (place.name, *inside.parts[:1]) and path.parent in stamps.notes:
        if time := _time_of_nbgrader(stamps.notes[path.parent]):
            return _known(submission, time, "by nbgrader's timestamp.txt", settings)
    if any(LATE.fullmatch(part) for part in inside.parts):
        return HandedIn(
            submission.student, None, "Canvas calls it late, and does not say by how much"
        )
    time = stamps.times.get(path)
    if time is None:
        return HandedIn(submission.student, None, "nothing says when it was handed in")
    if not settings.late.trust_file_times:
        said = f"only its file says when ({time:%Y-%m-%d %H:%M}), which is trusted with  trust_file_times = true"
        return HandedIn(submission.student, None, said)
    return _known(submission, time, "by the time stamp of the file", settings)


def _known(
    submission: Submission, time: datetime, source: str, settings: AssignmentSettings
) -> HandedIn:
    return HandedIn(submission.student, settings.aware(time), source)


@dataclass(frozen=True)
class _Stamps:
    """The time stamps of files, and the texts of nbgrader's notes by their folders."""

    times: Mapping[Path, datetime]
    notes: Mapping[Path, str]


def _stamps(place: Path, unpacked: Path) -> _Stamps:
    """Those of a zip, whose times are of no zone; or those of the files in a folder."""
    if not zipfile.is_zipfile(place):
        files = [p for p in (place, *place.rglob("*")) if p.suffix == ".ipynb" or p.name == STAMP]
        plain = [p for p in files if p.is_file() and not p.is_symlink()]
        return _Stamps(
            {p: datetime.fromtimestamp(p.stat().st_mtime, UTC) for p in plain},
            {p.parent: _text(p.read_bytes()[:200]) for p in plain if p.name == STAMP},
        )
    times, notes = {}, {}
    with zipfile.ZipFile(place) as opened:
        for entry in opened.infolist():
            path = unpacked / entry.filename.replace("\\", "/")
            if entry.date_time > (
                1980,
                1,
                1,
                0,
                0,
                0,
            ):  # with which it begins, and which says nothing
                times[path] = datetime(*entry.date_time)
            if path.name == STAMP and not entry.flag_bits & 1:
                with opened.open(entry) as file:
                    notes[path.parent] = _text(file.read(200))
    return _Stamps(times, notes)


def _text(content: bytes) -> str:
    return content.decode(errors="replace").strip()


def time_in_name(name: str) -> datetime | None:
    """The time that stands in the name of a file or a folder.

    >>> time_in_name("ps1_ada_attempt_2026-11-30-23-59-00_ps1")
    datetime.datetime(2026, 11, 30, 23, 59)
    >>> time_in_name("137-678 - Ada Lovelace - Nov 30, 2026 1159 PM")
    datetime.datetime(2026, 11, 30, 23, 59)
    """
    try:
        if found := DIGITS.search(name):
            return datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
        if found := WORDS.search(name):
            month, day, year, hour, minute, half = found.groups()
            hours = int(hour) % 12 + (12 if half == "P" else 0)
            return datetime(int(year), MONTHS.index(month) + 1, int(day), hours, int(minute))
    except ValueError:  # no time after all: a month 13, an hour 25
        pass
    return None


def _time_of_nbgrader(text: str) -> datetime | None:
    """nbgrader writes  2026-11-30 23:59:00.000000 UTC."""
    time, _, zone = text.rpartition(" ")
    try:
        return datetime.fromisoformat(time).replace(tzinfo=ZoneInfo(zone))
    except (ValueError, OSError, KeyError):
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def read_times(settings: AssignmentSettings, roster: Roster) -> dict[str, datetime]:
    """Student id -> the time in the CSV. Raises GradebookError, with the line, if it is malformed."""
    if settings.times is None:
        return {}
    columns = {"student": ("id",), "time": ("submitted", "submission time", "timestamp")}
    found = {}
    for row in read_table(settings.times, columns, needed=("student", "time"), others=True):
        try:
            time = settings.aware(datetime.fromisoformat(row["time"]))
        except ValueError:
            raise row.wrong(
                f"the time is {row['time']!r}. To fix it, write it as 2026-11-30 23:59"
            ) from None
        if time is None:
            raise row.wrong(
                'the time has no time zone. To fix it, write  time_zone = "Europe/Berlin"'
            )
        found[roster.named(row["student"], row.where).id] = time
    return found
