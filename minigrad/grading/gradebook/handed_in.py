"""Determine when each submission was handed in, and the late penalty.

    handed_in    the submissions of a class, with their times
    lateness     how late a student is, and the penalty; if the time is unknown, there is none

The sources, from the most to the least reliable, are the teacher's CSV of times, the file or folder name
that an LMS assigned, nbgrader's timestamp.txt, and the time stamp of the file or zip entry. Copying a file
changes its time stamp, so the last source is used only if the settings allow it.
"""

import math
import re
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from unicodedata import normalize
from zipfile import ZipInfo, is_zipfile
from zoneinfo import ZoneInfo

from minigrad.grading.gradebook.csv_files import points_text, read_table
from minigrad.grading.gradebook.roster import Roster
from minigrad.grading.gradebook.settings import AssignmentSettings
from minigrad.grading.run import collect
from minigrad.grading.run.notebook import read_bytes

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
STAMP, MAX_NOTE = "timestamp.txt", 200
DAY = timedelta(days=1)

# Blackboard: 2026-11-30-23-59-00 and similar formats; Brightspace: Nov 30, 2026 1159 PM
DIGITS = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T_ -](\d\d)[-:.h]?(\d\d)(?:[-:.]?(\d\d))?(?!\d)"
)
WORDS = re.compile(rf"({'|'.join(MONTHS)})\w* (\d\d?), (\d{{4}}),? (\d\d?)[:.]?(\d\d) ([AP])M")


@dataclass(frozen=True)
class HandedIn:
    """A submission, with its time.

    submission   its name, the same as in its grade; or the student, if the CSV of times says it
    time         when it was handed in; None if unknown
    source       where the time comes from, or why it is unknown
    notebook     is it one, judging by its name?
    """

    submission: str
    time: datetime | None
    source: str
    notebook: bool = True


def handed_in(source: Path, exercise: str, settings: AssignmentSettings) -> list[HandedIn]:
    """List the submissions in a folder or a zip, the same ones that are graded.

    Raises NoSubmissions, saying what was found instead.
    """
    with tempfile.TemporaryDirectory(prefix="mg-handed-in-") as name:
        unpacked = Path(name).resolve()
        found = collect.submissions_in(source, exercise, unpacked)
        clock = _HandInTimes(source, unpacked, settings)
        return [HandedIn(s.student, *clock.time_of(s), s.is_notebook) for s in found]


@dataclass(frozen=True)
class _HandInTimes:
    """Determines when the submissions in a folder or zip were handed in.

    unpacked    the folder into which a zip was unpacked
    """

    source: Path
    unpacked: Path
    settings: AssignmentSettings

    def time_of(self, submission: collect.Submission) -> tuple[datetime | None, str]:
        """When it was handed in, and the source, or why it is unknown."""
        path = submission.zipped or submission.path
        root = self.unpacked if path.is_relative_to(self.unpacked) else self.source
        # use only the submission's name: students choose the names inside their folder, and that of a single
        # file, unless an LMS writes before it
        in_folder = submission.student in normalize("NFC", str(path.parent))
        named_by_others = in_folder or collect.named_by(submission.student)
        if named_by_others and (time := time_in_name(submission.student)):
            return self.settings.aware(time), "from the name of the download"
        top = self.source if self.source.name == "submitted" else root / "submitted"
        if path.is_relative_to(top):
            # nbgrader writes it to STUDENT/ASSIGNMENT; folders in there are the student's
            folder = top.joinpath(*path.relative_to(top).parent.parts[:2])
            if time := _time_of_nbgrader(self.note_in(folder)):
                return self.settings.aware(time), "from nbgrader's timestamp.txt"
        begins = collect.named_by(submission.student)
        if begins and begins.re is collect.CANVAS and begins["late"]:
            return None, "Canvas calls it late, but does not say by how much"
        time = self.stamp(path)
        if time is None:
            return None, "its time is unknown"
        if not self.settings.late.trust_file_times:
            return None, "only the time stamp of its file is known, which is not trusted"
        return self.settings.aware(time), "from the time stamp of the file"

    @cached_property
    def entries(self) -> dict[Path, ZipInfo]:
        """The entries of the zip, by the path that they were unpacked to."""
        if not self.source.is_file() or not is_zipfile(self.source):
            return {}
        with collect.open_zip(self.source) as opened:
            listed = opened.infolist()
        return {self.unpacked / entry.filename.replace("\\", "/"): entry for entry in listed}

    def stamp(self, path: Path) -> datetime | None:
        """The time stamp of a file, without a time zone if it comes from a zip."""
        with suppress(OSError, ValueError):  # no file, or an invalid date, such as month 0
            if path.is_relative_to(self.unpacked):
                entry = self.entries.get(path)
                # 1980-01-01 is the earliest time in a zip and means that none was set
                if entry is not None and entry.date_time > (1980, 1, 1, 0, 0, 0):
                    return datetime(*entry.date_time)
            elif stat.S_ISREG((about := path.lstat()).st_mode):
                return datetime.fromtimestamp(about.st_mtime, UTC)
        return None

    def note_in(self, folder: Path) -> str:
        """The text of nbgrader's timestamp.txt in a folder; empty if there is none."""
        note = folder / STAMP
        with suppress(Exception):  # errors of the zip, its compression, or the disk
            if entry := self.entries.get(note):
                with collect.open_zip(self.source) as opened, opened.open(entry) as file:
                    return file.read(MAX_NOTE).decode(errors="replace").strip()
            return read_bytes(note)[:MAX_NOTE].decode(errors="replace").strip()
        return ""


def time_in_name(name: str) -> datetime | None:
    """Parse the time in the name of a file or folder; of an LMS's, in the part that the LMS wrote.

    >>> time_in_name("ps1_ada_attempt_2026-11-30-23-59-00_ps1")
    datetime.datetime(2026, 11, 30, 23, 59)
    >>> time_in_name("137-678 - Ada Lovelace - Nov 30, 2026 1159 PM")
    datetime.datetime(2026, 11, 30, 23, 59)
    """
    begins = collect.named_by(name)
    if begins and begins.re in (collect.CANVAS, collect.MOODLE):
        return None
    look = re.Pattern.match if begins else re.Pattern.search
    name = name[begins.end() :] if begins else name
    with suppress(ValueError):  # not a time after all, such as month 13 or hour 25
        if found := look(DIGITS, name):
            return datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
        if found := look(WORDS, name):
            month, day, year, hour, minute, half = found.groups()
            hours = int(hour) % 12 + (12 if half == "P" else 0)
            return datetime(int(year), MONTHS.index(month) + 1, int(day), hours, int(minute))
    return None


def _time_of_nbgrader(text: str) -> datetime | None:
    """Parse nbgrader's format:  2026-11-30 23:59:00.000000 UTC."""
    time, _, zone = text.rpartition(" ")
    with suppress(ValueError, OSError, KeyError):
        return datetime.fromisoformat(time).replace(tzinfo=ZoneInfo(zone))
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


def read_times(settings: AssignmentSettings, roster: Roster) -> dict[str, HandedIn]:
    """Map student ids to the times in the CSV. Raises GradebookError, with the line, if it is malformed."""
    if settings.times is None:
        return {}
    columns = {
        "student": ("id", "identifier"),
        "time": ("submitted", "submission time", "timestamp", "last modified (submission)"),
    }
    found: dict[str, HandedIn] = {}
    for row in read_table(settings.times, columns, needed=("student", "time"), others=True):
        if row["time"] == "-":  # Moodle's word for nothing handed in
            continue
        try:
            time = settings.aware(_time_in_csv(row["time"]))
        except ValueError:
            raise row.wrong(
                f"the time is {row['time']!r}. To fix it, write it as 2026-11-30 23:59"
            ) from None
        if time is None:
            raise row.wrong(
                'the time has no time zone. To fix it, write  time_zone = "Europe/Berlin"'
            )
        student = roster.named(row["student"], row.where).id
        row.once(student, "student")
        found[student] = HandedIn(student, time, "from the CSV of times")
    return found


def _time_in_csv(text: str) -> datetime:
    """Parse a time of the CSV, in ISO's format or in that of Moodle's grading worksheet. Raises ValueError.

    >>> _time_in_csv("Monday, 30 November 2026, 11:59 PM")
    datetime.datetime(2026, 11, 30, 23, 59)
    """
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return datetime.strptime(text, "%A, %d %B %Y, %I:%M %p")


@dataclass(frozen=True)
class Lateness:
    """When a student handed in, and the late penalty.

    time       None: unknown
    due        the deadline with the student's extension; None: no deadline
    days       days late, rounded up; 0 if it was on time or the time is unknown
    percent    the penalty, in percent of the points earned
    note       an explanation for the report; empty if it was on time
    """

    time: datetime | None = None
    due: datetime | None = None
    days: int = 0
    percent: Decimal = Decimal(0)
    note: str = ""

    @property
    def share(self) -> Decimal:
        """The fraction of the earned points that remains."""
        return 1 - self.percent / 100


def lateness(student: str, handed: HandedIn, settings: AssignmentSettings) -> Lateness:
    """Compute how late a student is, and the penalty."""
    due, time = settings.due(student), handed.time
    if due is None:
        return Lateness(time)
    if time is None:
        return Lateness(None, due, note=f"{handed.source}: no late penalty")
    # subtract in UTC, so that a daylight saving change does not count
    late = time.astimezone(UTC) - due.astimezone(UTC)
    if late <= timedelta(minutes=float(settings.late.grace_minutes)):
        return Lateness(time, due)
    days = math.ceil(late / DAY)
    percent = min(days * settings.late.percent_per_day, settings.late.at_most_percent)
    local = time.astimezone(due.tzinfo)
    note = (
        f"handed in {local:%Y-%m-%d %H:%M} ({handed.source}), {_duration(late)} late: "
        f"{points_text(percent)} % of the earned points are deducted"
    )
    return Lateness(time, due, days, percent, note)


def _duration(late: timedelta) -> str:
    """Format a duration in days, hours and minutes, rounded up to the minute.

    >>> _duration(timedelta(days=1, minutes=2)), _duration(timedelta(seconds=59))
    ('1 day 0 h 2 min', '1 min')
    """
    minutes = math.ceil(late / timedelta(minutes=1))
    days, hours = minutes // (24 * 60), minutes // 60 % 24
    parts = [f"{days} day{'s' * (days > 1)}"] * bool(days) + [f"{hours} h"] * bool(days or hours)
    return " ".join([*parts, f"{minutes % 60} min"])
