"""Transcripts: messages as one line each, with the sender's name. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remembrancer.conversations.rows import MessageRow
from remembrancer.conversations.rules import RECALLED
from remembrancer.conversations.schemas import MessageRole
from remembrancer.sanitizer import visible_line

_KEYCAP = re.compile(r"[0-9#*]\ufe0f?\u20e3")


@dataclass(frozen=True, slots=True)
class Line:
    message_id: UUID
    owner_id: UUID
    role: MessageRole
    name: str
    """The sender's name, unique in the transcript and without a colon."""
    words: str
    """The content on one line."""
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Transcript:
    """A range of a conversation, one line for each message, in order."""

    conversation_id: UUID
    start: int
    """Position of the first message in the range."""
    end: int
    """Position of the last."""
    lines: Sequence[Line]
    """The readable messages of users and assistants; there may be none."""

    @property
    def text(self) -> str:
        """``Name: words``, one line for each message."""
        return "\n".join(f"{line.name}: {line.words}" for line in self.lines)

    @property
    def is_readable(self) -> bool:
        """Whether a line has a letter or a number, not only emoji."""
        return any(
            character.isalnum() for line in self.lines for character in _KEYCAP.sub("", line.words)
        )

    @property
    def people(self) -> Mapping[str, UUID]:
        """Users by name, without assistants."""
        return {line.name: line.owner_id for line in self.lines if line.role is MessageRole.USER}


def transcript_of(
    conversation_id: UUID, start: int, end: int, messages: Iterable[MessageRow]
) -> Transcript:
    """Return the transcript of a range.

    It leaves out prompts, tool output and messages without visible text. If two senders share a
    name, the second one's is ``Name (2)``.
    """
    names: dict[tuple[MessageRole, UUID | None, str], str] = {}
    lines = []
    for message in messages:
        words = visible_line(message.content)
        role = MessageRole(message.role)
        if role not in RECALLED or not words:
            continue
        name = visible_line(message.sender_name.replace(":", " ")) or role.value
        sender = (role, message.owner_id if role is MessageRole.USER else None, name)
        if sender not in names:
            names[sender] = _unique(name, set(names.values()))
        lines.append(
            Line(message.id, message.owner_id, role, names[sender], words, message.sent_at)
        )
    return Transcript(conversation_id, start, end, lines)


def _unique(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name} ({number})"
    return candidate
