"""Dates and times in the words and the order that a reader is used to. Pure."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from remembrancer.text import plural

_REGION: Final = re.compile(r"\s*[A-Za-z]{2,3}(?:-[A-Za-z]{4})?-([A-Za-z]{2})\b")
_MONTH_FIRST: Final = {"US", "PH"}
_TWELVE_HOURS: Final = _MONTH_FIRST | {"CA", "AU", "NZ", "IN", "PK", "BD", "MY", "SG", "EG", "SA"}


@dataclass(frozen=True, slots=True)
class Custom:
    """How times are written where a reader lives."""

    month_first: bool = False
    twelve_hours: bool = False


EVERYWHERE: Final = Custom()


def custom_of(languages: str) -> Custom:
    """Return the custom of the first language in a header Accept-Language."""
    match = _REGION.match(languages)
    region = match[1].upper() if match else ""
    return Custom(region in _MONTH_FIRST, region in _TWELVE_HOURS)


def day(value: date, custom: Custom = EVERYWHERE, month: str = "%b") -> str:
    """Return a day and its month."""
    name = value.strftime(month)
    return f"{name} {value.day}" if custom.month_first else f"{value.day} {name}"


def date_of(value: date, custom: Custom = EVERYWHERE) -> str:
    """Return a day with its year."""
    return f"{day(value, custom)}{',' if custom.month_first else ''} {value.year}"


def when(value: datetime, zone: str = "UTC", custom: Custom = EVERYWHERE) -> str:
    """Return a time to the minute."""
    local = value.astimezone(ZoneInfo(zone))
    time = f"{local:%I:%M %p}".lstrip("0") if custom.twelve_hours else f"{local:%H:%M}"
    return f"{date_of(local, custom)}, {time}"


def ago(value: datetime, now: datetime, zone: str = "UTC", custom: Custom = EVERYWHERE) -> str:
    """Say how long ago a time is, or how soon: to the minute on a day, to the day in a week."""
    local, today = value.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone)).date()
    seconds, days = (now - value).total_seconds(), (today - local.date()).days
    if abs(seconds) < 45:
        return "just now" if seconds >= 0 else "any moment"
    if abs(seconds) < 12 * 3600:
        minutes = max(round(abs(seconds) / 60), 1)
        size = f"{minutes} min" if minutes < 60 else plural(round(minutes / 60), "hour")
        return f"{size} ago" if seconds > 0 else f"in {size}"
    if abs(days) < 7:
        named = {0: "today", 1: "yesterday", -1: "tomorrow"}.get(days)
        return named or (f"{days} days ago" if days > 0 else f"in {-days} days")
    return (day if local.year == today.year else date_of)(local, custom)


def name_of_day(
    value: datetime, now: datetime, zone: str = "UTC", custom: Custom = EVERYWHERE
) -> str:
    """Name a day: today, yesterday, or a weekday with its date."""
    local = value.astimezone(ZoneInfo(zone)).date()
    days = (now.astimezone(ZoneInfo(zone)).date() - local).days
    return {0: "Today", 1: "Yesterday"}.get(days) or f"{local:%A}, {day(local, custom, '%B')}"
