"""Memories and messages as values for templates: one line each, safe for a prompt. Pure."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from functools import cache
from itertools import pairwise
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remembrancer.context.rows import PromptMemory, RecentMessage
from remembrancer.guard.instructions import is_instruction
from remembrancer.recall.schemas import Hit
from remembrancer.sanitizer import prompt_line, quotation
from remembrancer.spaces.rows import SpaceNames

LONGEST: Final = 800
"""Maximum bytes of a recalled message, about 200 tokens."""
LONGEST_SUMMARY: Final = 1200
"""The same for a summary."""
LONGEST_SEARCH: Final = 20_000
"""Characters of a long message in which the best sentences are looked for."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+(?=[^\sa-z])|(?<=[\u3002\uff01\uff1f])|\n+")


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
    """A message, or a summary, between quotation marks."""

    id: str
    content: str
    day: date
    sender: str | None = None
    conversation_id: UUID | None = None
    position: int = 0


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
        date=memory.created_at.astimezone(reader.zone).date().isoformat(),
        mentions=memory.mentions,
        mentioned_in=memory.mentioned_in,
        in_space=in_space,
    )


def is_quoted(memory: PromptMemory) -> bool:
    if memory.quoted is not None:
        return memory.quoted
    return any(is_instruction(text) for text in (memory.content, memory.subject) if text)


def message_line(message: RecentMessage, zone: tzinfo) -> MessageLine:
    """Return a message of the reader."""
    text = excerpt(message.content, LONGEST)
    return MessageLine(
        str(message.id), _between_marks(text), message.sent_at.astimezone(zone).date()
    )


def hit_line(hit: Hit, zone: tzinfo) -> MessageLine:
    """Return a recalled message or summary. A long one is cut to the sentences that match best."""
    longest = LONGEST_SUMMARY if hit.type == "chunk" else LONGEST
    return MessageLine(
        id=hit.id,
        content=_between_marks(excerpt(hit.content, longest, hit.reasons.words)),
        day=hit.at.astimezone(zone).date(),
        sender=_between_marks(hit.sender_name)[1:-1].replace(":", " ") if hit.sender_name else None,
        conversation_id=hit.conversation_id,
        position=hit.position or 0,
    )


def excerpt(text: str, longest: int, words: Collection[str] = ()) -> str:
    """Return sentences of a text around the one with the most ``words``, in ``longest`` bytes.

    An ellipsis stands for what is left out. Only a sentence that is too long by itself is cut.
    """
    if len(text.encode()) <= longest:
        return text
    looked = text[:LONGEST_SEARCH]
    ends = [match.end() for match in _SENTENCE_END.finditer(looked)]
    sentences = [looked[a:b] for a, b in pairwise([0, *ends, len(looked)]) if a < b]
    sizes = [len(sentence.encode()) for sentence in sentences]
    folded = [sentence.casefold() for sentence in sentences]
    scores = [sum(word in sentence for word in words) for sentence in folded]
    first = scores.index(max(scores))
    last, left = first, longest - sizes[first]
    while True:
        if last + 1 < len(sentences) and sizes[last + 1] <= left:
            last += 1
            left -= sizes[last]
        elif first and sizes[first - 1] <= left:
            first -= 1
            left -= sizes[first]
        else:
            break
    part = "".join(sentences[first : last + 1])
    if left < 0:
        part = part.encode()[:longest].decode(errors="ignore")
        part = part[: part.rfind(" ", len(part) // 2)] if " " in part[len(part) // 2 :] else part
    more = left < 0 or last + 1 < len(sentences) or len(looked) < len(text)
    return f"{'… ' * bool(first)}{part.strip()}{' …' * more}"


def _between_marks(text: str) -> str:
    """Return a text between quotation marks that it cannot close."""
    return f'"{prompt_line(text).replace(chr(34), chr(39))}"'


def date_text(day: date, year: int | None = None) -> str:
    """Return a date such as `28 Nov 2026`, without the year if it is ``year``."""
    return f"{day.day} {_MONTHS[day.month - 1]}" + f" {day.year}" * (day.year != year)


def clock(at: datetime, zone: tzinfo) -> str:
    """Return local time, such as `Saturday 28 Nov 2026 08:40`."""
    local = at.astimezone(zone)
    return f"{_DAYS[local.weekday()]} {date_text(local.date())} {local:%H:%M}"


# Not from the locale: the bytes are the same on every machine.
_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]
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
