"""When something was handed in, as far as that can be known.

A time stands, the more reliable first, in a CSV of the teacher's, in the name that an LMS gave to a file or a
folder, in nbgrader's timestamp.txt, and in the time stamp of the file or of its entry in the
zip. A copy of a file has a new time stamp, so that the last is used only if the settings say so.
"""

import re
import stat
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from zipfile import ZipFile, ZipInfo, is_zipfile
from zoneinfo import ZoneInfo

from minigrad.grading.gradebook.csv_files import read_table
from minigrad.grading.gradebook.roster import Roster
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.run.collect import Submission, content_of, submissions_in
from minigrad.grading.run.notebook import Unreadable, read_bytes

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
STAMP, MOST_NOTE = "timestamp.txt", 200
SECONDS = 60.0  # to read one submission
LOST = "(The answer could not be read: see the notebook.)"

# Blackboard's 2026-11-30-23-59-00 and what is written like it; Brightspace's Nov 30, 2026 1159 PM
DIGITS = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T_ -](\d\d)[-:.h]?(\d\d)(?:[-:.]?(\d\d))?(?!\d)"
)
WORDS = re.compile(rf"({'|'.join(MONTHS)})\w* (\d\d?), (\d{{4}}),? (\d\d?)[:.]?(\d\d) ([AP])M")
# Canvas says that it is late, and not by how much; behind its numbers stands what the student called the file
CANVAS = re.compile(r"(?P<known>[^_]+_(?P<late>LATE_)?\d+_\d+)_.+")


@dataclass(frozen=True)
class StudentAnswer:
    """What a student wrote for a question, and its form: see similar.py."""

    text: str
    form: str = ""


@dataclass(frozen=True)
class HandedIn:
    """A submission as it came.

    submission   its name, as in its grade
    time         when; None if that is not known
    source       what says so, or why it is not known
    answers      question -> the answer to it
    """

    submission: str
    time: datetime | None
    source: str
    answers: Mapping[str, StudentAnswer] = field(default_factory=dict)


Answers = Callable[[bytes], Mapping[str, StudentAnswer]]  # those in the content of a file


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
    with tempfile.TemporaryDirectory(prefix="mg-handed-in-") as name, _Reader(answers) as reader:
        unpacked = Path(name).resolve()
        found = submissions_in(place, exercise, unpacked)
        clock = _Clock(place, unpacked, settings)
        return [
            HandedIn(one.student, *clock.came(one), reader.answers_of(one, others)) for one in found
        ]


class _Reader:
    """Reads answers, in a process that can be lost: it parses what strangers wrote."""

    def __init__(self, answers: Answers | None) -> None:
        self.answers = answers
        if answers is not None:
            self.start(answers)

    def start(self, answers: Answers) -> None:
        """Start the process. Its end of the pipe is closed here, so that its death ends the pipe."""
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_read_answers, args=(theirs, answers), daemon=True)
        self.process.start()
        theirs.close()

    def __enter__(self) -> "_Reader":
        return self

    def __exit__(self, *error: object) -> None:
        if self.answers is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()

    def answers_of(
        self, submission: Submission, others: Collection[str]
    ) -> Mapping[str, StudentAnswer]:
        """The answers in a submission: none in one that cannot be read, or is another notebook."""
        if self.answers is None:
            return {}
        try:
            content = b"" if submission.path.stem in others else content_of(submission)
        except Unreadable:
            content = b""
        found: Mapping[str, StudentAnswer] | None = None
        with suppress(OSError, EOFError):  # the process is gone
            self.pipe.send(content)
            found = self.pipe.recv() if self.pipe.poll(SECONDS) else None
        if found is None:  # whatever it is, it costs this submission alone
            self.__exit__()
            self.start(self.answers)
            return dict.fromkeys(self.answers(b""), StudentAnswer(LOST))
        return found


def _read_answers(pipe: Connection, answers: Answers) -> None:
    """Read one content after another, until the other side is gone."""
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            content = pipe.recv()
            try:
                found = answers(content)
            except Exception:
                found = None
            pipe.send(found)


@dataclass(frozen=True)
class _Clock:
    """When submissions came, by the place that they lie in.

    unpacked    where a zip was unpacked
    """

    place: Path
    unpacked: Path
    settings: AssignmentSettings

    def came(self, submission: Submission) -> tuple[datetime | None, str]:
        """When one was handed in, and what says so or why it is not known."""
        path = submission.path
        root = self.unpacked if path.is_relative_to(self.unpacked) else self.place
        # of the submission's name alone: students call what is in their folder as they like
        canvas = CANVAS.fullmatch(submission.student)
        if time := time_in_name(canvas["known"] if canvas else submission.student):
            return self.settings.aware(time), "by the name of the download"
        if self.place.name == "submitted" or path.is_relative_to(root / "submitted"):
            if time := _time_of_nbgrader(self.note_beside(path)):
                return self.settings.aware(time), "by nbgrader's timestamp.txt"
        if canvas and canvas["late"]:
            return None, "Canvas calls it late, and does not say by how much"
        time = self.stamp(path)
        if time is None:
            return None, "nothing says when it was handed in"
        if not self.settings.late.trust_file_times:
            return None, "only the time stamp of its file says when it was handed in"
        return self.settings.aware(time), "by the time stamp of the file"

    @cached_property
    def entries(self) -> dict[Path, ZipInfo]:
        """The entries of a zip, by where they were unpacked."""
        if not self.place.is_file() or not is_zipfile(self.place):
            return {}
        with ZipFile(self.place) as opened:
            listed = opened.infolist()
        return {self.unpacked / entry.filename.replace("\\", "/"): entry for entry in listed}

    def stamp(self, path: Path) -> datetime | None:
        """The time stamp of a file: of no zone, if it comes from a zip."""
        if path.is_relative_to(self.unpacked):
            entry = self.entries.get(path)
            # a zip's time begins with 1980, which says nothing
            if entry is None or entry.date_time <= (1980, 1, 1, 0, 0, 0):
                return None
            with suppress(ValueError):  # of a month 0
                return datetime(*entry.date_time)
            return None
        with suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                return datetime.fromtimestamp(about.st_mtime, UTC)
        return None

    def note_beside(self, path: Path) -> str:
        """The text of nbgrader's timestamp.txt beside a notebook; nothing if there is none."""
        note = path.parent / STAMP
        with suppress(Exception):  # of a zip, of one of its compressions, of the disk
            if entry := self.entries.get(note):
                with ZipFile(self.place) as opened, opened.open(entry) as file:
                    return file.read(MOST_NOTE).decode(errors="replace").strip()
            return read_bytes(note)[:MOST_NOTE].decode(errors="replace").strip()
        return ""


def time_in_name(name: str) -> datetime | None:
    """The time that stands in the name of a file or a folder.

    >>> time_in_name("ps1_ada_attempt_2026-11-30-23-59-00_ps1")
    datetime.datetime(2026, 11, 30, 23, 59)
    >>> time_in_name("137-678 - Ada Lovelace - Nov 30, 2026 1159 PM")
    datetime.datetime(2026, 11, 30, 23, 59)
    """
    name = name.partition("_attempt_")[2] or name  # before it stands the assignment of Blackboard's
    with suppress(ValueError):  # no time after all: a month 13, an hour 25
        if found := DIGITS.search(name):
            return datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
        if found := WORDS.search(name):
            month, day, year, hour, minute, half = found.groups()
            hours = int(hour) % 12 + (12 if half == "P" else 0)
            return datetime(int(year), MONTHS.index(month) + 1, int(day), hours, int(minute))
    return None


def _time_of_nbgrader(text: str) -> datetime | None:
    """nbgrader writes  2026-11-30 23:59:00.000000 UTC."""
    time, _, zone = text.rpartition(" ")
    with suppress(ValueError, OSError, KeyError):
        return datetime.fromisoformat(time).replace(tzinfo=ZoneInfo(zone))
    with suppress(ValueError):
        return datetime.fromisoformat(text)
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
