"""What is told, as values that templates turn into lines. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remembrancer.context.sanitizer import one_line, quotation
from remembrancer.guard.instructions import is_instruction

LONGEST: Final = 480
"""Bytes of a message that is recalled, about 120 tokens; the rest of it is cut off."""
LONGEST_SUMMARY: Final = 1200
"""The same of a summary."""


@dataclass(slots=True)
class MemoryLine:
    """A memory, its words made safe for a prompt."""

    id: str
    content: str
    subject: str | None
    category: str
    kind: str
    shared: bool
    quoted: bool
    """It reads like an instruction; its content stands between quotation marks."""
    date: str
    mentions: int = 1
    mentioned_in: int = 0


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A message or a summary that was recalled, its words made safe for a prompt."""

    id: str
    content: str
    date: str
    sender: str | None = None


def memory_line(row: Any, zone: tzinfo) -> MemoryLine:
    """Return a row of a memory as a line."""
    quoted = is_quoted(row)
    say = quotation if quoted else one_line
    return MemoryLine(
        id=row.memory_id,
        content=say(row.content),
        subject=one_line(row.subject) if row.subject and not quoted else None,
        category=row.category,
        kind=row.kind,
        shared=row.shared,
        quoted=quoted,
        date=day(row.created_at, zone),
        mentions=getattr(row, "mentions", 1),
        mentioned_in=getattr(row, "mentioned_in", 0),
    )


def is_quoted(row: Any) -> bool:
    """Say whether a memory (its row) reads like an instruction, unless the row knows."""
    known: bool | None = getattr(row, "quoted", None)
    if known is not None:
        return known
    return any(is_instruction(words) for words in (row.content, row.subject) if words)


def said_line(
    id_: str,
    content: str,
    at: datetime,
    zone: tzinfo,
    *,
    sender: str | None,
    longest: int = LONGEST,
) -> SaidLine:
    """Return a message or a summary as a line, cut to ``longest`` bytes between characters."""
    written = one_line(content[: longest * 2]).encode()
    words = written[:longest].decode(errors="ignore")
    if len(written) > longest or len(content) > longest * 2:
        words = f"{words.rstrip()} …"
    name = one_line(sender).replace(":", " ") if sender else None
    return SaidLine(id_, f'"{words.replace(chr(34), chr(39))}"', day(at, zone), name)


def day(at: datetime, zone: tzinfo) -> str:
    """Return the date of a moment where the user is."""
    return at.astimezone(zone).date().isoformat()


def clock(at: datetime, zone: tzinfo) -> str:
    """Return a moment where the user is, in words: `Saturday 2026-11-28 08:40`."""
    local = at.astimezone(zone)
    return f"{_DAYS[local.weekday()]} {local:%Y-%m-%d %H:%M}"


_DAYS: Final[Sequence[str]] = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)


@cache
def zone_of(name: str) -> tzinfo:
    """Return a time zone by its IANA name; UTC for one that this machine does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
