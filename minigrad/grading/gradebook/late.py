"""What a late submission costs. Who is not known to be late is not late."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from minigrad.grading.gradebook.csv_files import points_text
from minigrad.grading.gradebook.settings import AssignmentSettings

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Lateness:
    """When a student handed in, and what follows from it.

    time       None: it is not known
    due        the deadline with the student's extension; None: there is none
    days       days that have begun since it was due; 0: in time, or not known
    percent    of the points that were earned, taken off
    said       all of this in words; empty if it was in time
    """

    time: datetime | None = None
    due: datetime | None = None
    days: int = 0
    percent: Decimal = Decimal(0)
    said: str = ""

    @property
    def share(self) -> Decimal:
        """What is left of the points that were earned."""
        return 1 - self.percent / 100


def lateness(
    student: str, time: datetime | None, source: str, settings: AssignmentSettings
) -> Lateness:
    """How late a student is.

    source    what says when it was handed in, or why that is not known
    """
    due = settings.due(student)
    if due is None:
        return Lateness(time)
    if time is None:
        return Lateness(None, due, said=f"{source}: nothing is taken off for lateness")
    late = time.astimezone(UTC) - due.astimezone(UTC)  # hours that have passed
    if late <= timedelta(minutes=float(settings.late.grace_minutes)):
        return Lateness(time, due)
    days = math.ceil(late / DAY)
    percent = min(days * settings.late.percent_per_day, settings.late.at_most_percent)
    local = time.astimezone(due.tzinfo)
    said = (
        f"handed in {local:%Y-%m-%d %H:%M} ({source}), {_duration(late)} late: "
        f"{points_text(percent)} % of the points that were earned are taken off"
    )
    return Lateness(time, due, days, percent, said)


def _duration(late: timedelta) -> str:
    """A time as people say it.

    >>> _duration(timedelta(days=1, minutes=2)), _duration(timedelta(seconds=59))
    ('1 day 0 h 2 min', '1 min')
    """
    minutes = math.ceil(late / timedelta(minutes=1))
    days, hours = minutes // (24 * 60), minutes // 60 % 24
    parts = [f"{days} day{'s' * (days > 1)}"] * bool(days) + [f"{hours} h"] * bool(days or hours)
    return " ".join([*parts, f"{minutes % 60} min"])
