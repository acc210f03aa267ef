"""The late penalty. If the hand-in time is unknown, there is none."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from minigrad.grading.gradebook.csv_files import points_text
from minigrad.grading.gradebook.settings import AssignmentSettings

DAY = timedelta(days=1)


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


def lateness(
    student: str, time: datetime | None, source: str, settings: AssignmentSettings
) -> Lateness:
    """Compute how late a student is, and the penalty.

    source    where the time comes from, or why it is unknown
    """
    due = settings.due(student)
    if due is None:
        return Lateness(time)
    if time is None:
        return Lateness(None, due, note=f"{source}: no late penalty")
    # subtract in UTC, so that a daylight saving change does not count
    late = time.astimezone(UTC) - due.astimezone(UTC)
    if late <= timedelta(minutes=float(settings.late.grace_minutes)):
        return Lateness(time, due)
    days = math.ceil(late / DAY)
    percent = min(days * settings.late.percent_per_day, settings.late.at_most_percent)
    local = time.astimezone(due.tzinfo)
    note = (
        f"handed in {local:%Y-%m-%d %H:%M} ({source}), {_duration(late)} late: "
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
