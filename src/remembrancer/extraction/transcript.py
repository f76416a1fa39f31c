"""What was said, as lines that keep who said it. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from remembrancer.conversations.rules import RECALLED
from remembrancer.conversations.schemas import MessageRole

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\s]+")
_KEYCAP = re.compile(r"[0-9#*]\ufe0f?\u20e3")


class Said(Protocol):
    """A message as stored."""

    @property
    def id(self) -> UUID:
        """Which message it is."""

    @property
    def owner_id(self) -> UUID:
        """Who said it, or whom it answers."""

    @property
    def role(self) -> str:
        """As which role it was said."""

    @property
    def sender_name(self) -> str:
        """Who is said to have said it."""

    @property
    def content(self) -> str:
        """What was said."""

    @property
    def sent_at(self) -> datetime:
        """When."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message: who said it, to whom it belongs, and its words on one line."""

    message_id: UUID
    owner_id: UUID
    role: MessageRole
    name: str
    """Unlike that of everybody else in the transcript, and without a colon."""
    words: str
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Transcript:
    """A range of a conversation, one line a message, in order."""

    conversation_id: UUID
    start: int
    """Position of the first message in the range."""
    end: int
    """Position of the last."""
    lines: Sequence[Line]
    """Those messages that somebody said and that hold anything; there may be none."""

    @property
    def text(self) -> str:
        """``Name: words``, one line a message."""
        return "\n".join(f"{line.name}: {line.words}" for line in self.lines)

    @property
    def says_something(self) -> bool:
        """Whether anything in it can be read: a letter or a number, not only emoji."""
        return any(_says_something(line.words) for line in self.lines)

    @property
    def people(self) -> Mapping[str, UUID]:
        """Which user is meant by each name; assistants are nobody."""
        return {line.name: line.owner_id for line in self.lines if line.role is MessageRole.USER}


def transcript(conversation_id: UUID, start: int, end: int, messages: Iterable[Said]) -> Transcript:
    """Return the transcript of a range.

    Prompts and tool output are left out, for nobody said them, as are messages without
    anything visible. Line breaks and whatever else could break out of a line become spaces.
    Where two share a name, the later one to speak is ``Name (2)``.
    """
    names: dict[Any, str] = {}
    lines = []
    for message in messages:
        words = one_line(message.content)
        role = MessageRole(message.role)
        if role not in RECALLED or not words:
            continue
        name = one_line(message.sender_name.replace(":", " ")) or role.value
        who = (role, message.owner_id if role is MessageRole.USER else None, name)
        if who not in names:
            names[who] = _unlike(name, set(names.values()))
        lines.append(Line(message.id, message.owner_id, role, names[who], words, message.sent_at))
    return Transcript(conversation_id, start, end, lines)


def one_line(words: str) -> str:
    """Return words on one line: whatever could break out of it becomes a space."""
    return _BREAKS.sub(" ", words).strip()


def _unlike(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name} ({number})"
    return made


def _says_something(words: str) -> bool:
    return any(character.isalnum() for character in _KEYCAP.sub("", words))
