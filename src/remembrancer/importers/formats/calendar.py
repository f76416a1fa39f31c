"""Calendars: iCalendar files (RFC 5545), read by icalendar.

An event becomes a memory of its title, time, repetition, place and people, and a task one of its
title and due date. A repeated event tells on which days it does not take place, and an event in the
place of one says so. What is written about it becomes memories that are part of it. An id is made
of that of the event and its words, so an event that moved is a new memory.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from remembrancer.extras import extra
from remembrancer.importers.bundle import Bundle, Member, note_unread
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of
from remembrancer.importers.formats.statements import statements
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, invalid
from remembrancer.memories.schemas import Kind, Relation

if TYPE_CHECKING:
    from icalendar import Component

PLATFORM: Final = "calendar"
ENDING: Final = ".ics"
_MOST_PEOPLE: Final = 20
_MOST_DAYS: Final = 10
_EVERY: Final = {
    "SECONDLY": "second",
    "MINUTELY": "minute",
    "HOURLY": "hour",
    "DAILY": "day",
    "WEEKLY": "week",
    "MONTHLY": "month",
    "YEARLY": "year",
}
_BROKEN = (
    AttributeError,
    LookupError,
    OSError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What icalendar raises for a file of another form."""


def members(bundle: Bundle) -> list[Member]:
    """Return the calendars, or the only file whatever it is called."""
    found = [Member(bundle, name) for name in bundle.names()]
    return [m for m in found if len(found) == 1 or m.path.suffix.casefold() == ENDING]


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    seen: set[str] = set()
    files = members(bundle)
    note_unread(bundle, files, notes)
    for member in files:
        components = _components(member)
        left_out = _left_out(components, options)
        for component in components:
            for memory in _memories(component, left_out, options, notes):
                if memory.key not in seen:
                    seen.add(memory.key)
                    yield memory


def _components(member: Member) -> "list[Component]":
    with extra("cli"):
        from icalendar import Calendar  # noqa: PLC0415

    text = "".join(_without_zones(member.text()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # guesses at names of time zones
            found = Calendar.from_ical(text, multiple=True)
        components = [part for calendar in found for part in calendar.walk()]
    except _BROKEN:
        components = []
    if not components:
        raise invalid(member.where, "is no calendar; export it as iCalendar (.ics)")
    return components


def _without_zones(text: str) -> Iterator[str]:
    """Yield the lines that are of no definition of a time zone: names of zones are enough.

    A file could define a known name otherwise, for all that is read later, or without an end.
    """
    is_zone = False
    for line in text.splitlines(keepends=True):
        sign = line.strip().upper()
        is_zone |= sign == "BEGIN:VTIMEZONE"
        if not is_zone:
            yield line
        is_zone &= sign != "END:VTIMEZONE"


def _left_out(components: "Sequence[Component]", options: Options) -> dict[str, list[date]]:
    """Return the days on which repeated events do not take place, by the ids of the events."""
    days: defaultdict[str, list[date]] = defaultdict(list)
    for component in components:
        is_cancelled = _status(component) == "cancelled"
        with suppress(*_BROKEN):
            found = [_moved(component, options)] if is_cancelled else _excluded(component)
            days[_text(component, "uid")] += [day for day in found if day is not None]
    return days


def _excluded(component: "Component") -> Iterator[date]:
    for value in _values(component, "exdate"):
        for day in getattr(value, "dts", ()):
            yield day.dt


def _moved(component: "Component", options: Options) -> date | None:
    """Return the day or time of a repeated event in whose place this one is."""
    return _when(component, "recurrence-id", options)


def _status(component: "Component") -> str:
    return _text(component, "status").casefold()


def _memories(
    component: "Component", left_out: Mapping[str, list[date]], options: Options, notes: Notes
) -> Iterator[ExportedMemory]:
    kind = component.name or ""
    if kind in {"VCALENDAR", "VALARM"}:
        return
    if kind not in {"VEVENT", "VTODO"}:
        notes.skip(f"entry of kind {label(kind.casefold())}")
        return
    status = _status(component)
    if status in {"cancelled", "completed"}:
        notes.skip(f"{status} entry")
        return
    try:
        memory = _memory(component, left_out, options)
        description = _text(component, "description")
    except _BROKEN:
        memory = None
    if memory is None:
        notes.skip("entry without a title or a valid time")
        return
    yield memory
    title = memory.subject or ""
    for statement in statements(PLATFORM, None, description, said_of=title, at=memory.at):
        yield replace(
            statement,
            key=key_of(PLATFORM, memory.key, statement.content),
            subject=title,
            associations=[(memory.key, Relation.PART_OF)],
        )


def _memory(
    component: "Component", left_out: Mapping[str, list[date]], options: Options
) -> ExportedMemory | None:
    is_event = component.name == "VEVENT"
    days = left_out.get(_text(component, "uid"), [])
    content = _event(component, days, options) if is_event else _task(component, options)
    if not content:
        return None
    begins = _moment(component, "dtstart" if is_event else "due", options)
    name = "calendar_starts_at" if is_event else "calendar_due_at"
    return ExportedMemory(
        key=key_of(PLATFORM, _text(component, "uid"), content),
        content=content,
        platform=PLATFORM,
        kind=Kind.EVENT if is_event else Kind.TODO,
        subject=label(_text(component, "summary")),
        at=_moment(component, "created", options) or _moment(component, "dtstamp", options),
        metadata={name: begins.isoformat()} if begins else None,
    )


def _text(component: "Component", name: str) -> str:
    value = _values(component, name)
    return clean(str(value[0])) if value else ""


def _values(component: "Component", name: str) -> Sequence[object]:
    value = component.get(name)
    return value if isinstance(value, list) else [] if value is None else [value]


def _event(component: "Component", left_out: Sequence[date], options: Options) -> str:
    title = label(_text(component, "summary"))
    starts = _when(component, "dtstart", options)
    if not title or starts is None:
        return ""
    ends = _when(component, "dtend", options)
    if ends is not None and not isinstance(starts, datetime) and not isinstance(ends, datetime):
        ends -= timedelta(days=1)  # the end is the day after the last one
    people = list(dict.fromkeys(filter(None, _people(component, "attendee"))))
    parts = [
        f"{title}: {_interval(starts, ends)}",
        _repetition(component, left_out),
        f"instead of {_shown(moved)}" if (moved := _moved(component, options)) else "",
        f"at {place}" if (place := label(_text(component, "location"))) else "",
        f"with {', '.join(people[:_MOST_PEOPLE])}" if people else "",
    ]
    return ", ".join(filter(None, parts)) + "."


def _task(component: "Component", options: Options) -> str:
    title = label(_text(component, "summary"))
    due = _when(component, "due", options)
    return (f"To do: {title}" + (f", due {_shown(due)}" if due else "") + ".") if title else ""


def _when(component: "Component", name: str, options: Options) -> date | None:
    """Return a day or a time, in the zone of the calendar or of the import if it has none."""
    first = next(iter(_values(component, name)), None)
    # What is no time is a text, whose attributes raise.
    value = None if isinstance(first, str) else getattr(first, "dt", None)
    if not isinstance(value, date) or not 1 < value.year < 9999:
        return None
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=options.time_zone)
    return value


def _moment(component: "Component", name: str, options: Options) -> datetime | None:
    """Return a time; of a day its beginning."""
    value = _when(component, name, options)
    if value is None:
        return None
    at = value if isinstance(value, datetime) else datetime.combine(value, time())
    return at if at.tzinfo else at.replace(tzinfo=options.time_zone or UTC)


def _shown(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else value.tzname()
    return f"{value:%Y-%m-%d %H:%M}" + (f" {label(zone)}" if zone else "")


def _interval(starts: date, ends: date | None) -> str:
    if ends is None or ends == starts:
        return _shown(starts)
    are_times = isinstance(starts, datetime) and isinstance(ends, datetime)
    if are_times and f"{starts:%Y-%m-%d}" == f"{ends:%Y-%m-%d}":
        return f"{starts:%Y-%m-%d %H:%M} to {_shown(ends)[11:]}"
    return f"{_shown(starts)} to {_shown(ends)}"


def _repetition(component: "Component", left_out: Sequence[date]) -> str:
    rule = component.get("rrule")
    if not isinstance(rule, dict):
        return ""
    unit = _EVERY.get(str(_first(rule, "FREQ")))
    if unit is None:
        return ""
    count = _first(rule, "INTERVAL")
    every = f"every {count} {unit}s" if isinstance(count, int) and count > 1 else f"every {unit}"
    until = _first(rule, "UNTIL")
    if isinstance(until, date):
        every += f" until {until:%Y-%m-%d}"
    days = sorted({f"{day:%Y-%m-%d}" for day in left_out})
    rest = len(days) - _MOST_DAYS
    shown = [*days[:_MOST_DAYS], *([f"{rest} more days"] if rest > 0 else [])]
    return f"{every} except on {' and '.join(shown)}" if shown else every


def _first(rule: dict[str, object], name: str) -> object:
    value = rule.get(name)
    return next(iter(value), None) if isinstance(value, list) else value


def _people(component: "Component", name: str) -> Iterator[str]:
    for value in _values(component, name):
        parameters = getattr(value, "params", {})
        shown = str(parameters.get("CN") or value)
        yield label(shown.removeprefix("mailto:").removeprefix("MAILTO:"))
