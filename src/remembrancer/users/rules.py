"""A user's local calendar day."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo


def local_day(instant: datetime, time_zone: str, days_ago: int = 0) -> tuple[datetime, datetime]:
    """Return the user's day around ``instant``, or some days before, in UTC.

    Up to the first moment of the next day: with a change of the clocks it has 23 or 25 hours.
    """
    zone = ZoneInfo(time_zone)
    day = instant.astimezone(zone).date() - timedelta(days=days_ago)
    # A zone may skip midnight or have it twice: look it up on both days.
    first, last = (
        datetime.combine(date, time(), zone).astimezone(UTC)
        for date in (day, day + timedelta(days=1))
    )
    return first, last
