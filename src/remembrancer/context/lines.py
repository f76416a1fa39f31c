"""Memories and messages as values for templates: one line each, safe for a prompt. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import cache
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remembrancer.context.rows import PromptMemory
from remembrancer.guard.instructions import is_instruction
from remembrancer.sanitizer import prompt_line, quotation
from remembrancer.spaces.rows import SpaceNames

LONGEST: Final = 480
"""Bytes of a recalled message, about 120 tokens; the rest is cut off."""
LONGEST_SUMMARY: Final = 1200
"""The same for a summary."""


@dataclass(slots=True)
class MemoryLine:
    id: str
    content: str
    subject: str | None
    category: str
    kind: str
    shared: bool | str
    """The name of the member who shared it in its space, unless that is the reader."""
    quoted: bool
    """It reads like an instruction; its content stands in quotation marks."""
    date: str
    mentions: int
    mentioned_in: int
    in_space: bool


@dataclass(frozen=True, slots=True)
class Reader:
    """Whom a text is for, and the conversation's space by name."""

    time_zone: str = "UTC"
    user_id: UUID | None = None
    """Null for a group."""
    names: SpaceNames = field(default_factory=SpaceNames)
    space_id: UUID | None = None

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.time_zone)

    @property
    def space(self) -> str | None:
        """The name of the space, safe for a prompt; null without one."""
        name = self.names.space(self.space_id)
        return quotation(name) if name else None


@dataclass(frozen=True, slots=True)
class MessageLine:
    id: str
    content: str
    date: str
    sender: str | None = None


def memory_line(memory: PromptMemory, reader: Reader) -> MemoryLine:
    quoted = is_quoted(memory)
    in_space = memory.space_id is not None
    author = reader.names.author(
        memory.memory_owner_id, shared=in_space and memory.shared, reader=reader.user_id
    )
    return MemoryLine(
        id=memory.memory_id,
        content=quotation(memory.content) if quoted else prompt_line(memory.content),
        subject=prompt_line(memory.subject) if memory.subject and not quoted else None,
        category=memory.category,
        kind=memory.kind,
        shared=prompt_line(author) if author else memory.shared,
        quoted=quoted,
        date=day(memory.created_at, reader.zone),
        mentions=memory.mentions,
        mentioned_in=memory.mentioned_in,
        in_space=in_space,
    )


def is_quoted(memory: PromptMemory) -> bool:
    if memory.quoted is not None:
        return memory.quoted
    return any(is_instruction(text) for text in (memory.content, memory.subject) if text)


def message_line(
    id_: str,
    content: str,
    at: datetime,
    zone: tzinfo,
    *,
    sender: str | None,
    longest: int = LONGEST,
) -> MessageLine:
    """Cut the text to ``longest`` bytes, between characters."""
    encoded = prompt_line(content[: longest * 2]).encode()
    text = encoded[:longest].decode(errors="ignore")
    if len(encoded) > longest or len(content) > longest * 2:
        text = f"{text.rstrip()} …"
    name = prompt_line(sender).replace(":", " ") if sender else None
    return MessageLine(id_, f'"{text.replace(chr(34), chr(39))}"', day(at, zone), name)


def day(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).date().isoformat()


def clock(at: datetime, zone: tzinfo) -> str:
    """Return local time, such as `Saturday 2026-11-28 08:40`."""
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
    """Return UTC for a name that this machine does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
