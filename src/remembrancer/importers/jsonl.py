"""The simple format: one message per line (JSONL), or a list of conversations (JSON).

A line is an object with ``content`` and, all optional: ``role`` (user unless given),
``sender`` (a name), ``platform_user_id`` (the sender's name unless given), ``sent_at``
(ISO 8601; UTC where it has no zone), ``message_id``, ``conversation`` (the file's name
unless given) and ``platform``. In JSON, a conversation is an object with ``messages``,
each like a line, and optionally ``conversation``, ``platform`` and ``title``.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.exported_conversations import (
    Defaults,
    Transcript,
    Turn,
    first_reason,
    transcript,
    wrong,
)
from remembrancer.text import Key, Label, OptionalLabel, Statement


def _with_zone(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("is not a time such as 2026-05-08T13:56:00Z")
    try:
        at = datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError("is not a time such as 2026-05-08T13:56:00Z") from None
    if not 1 < at.year < 9999:
        raise ValueError("lies outside the years 2 to 9998")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class Line(BaseModel):
    """One message."""

    model_config = ConfigDict(extra="forbid")

    content: Statement
    role: MessageRole = MessageRole.USER
    sender: Label | None = None
    platform_user_id: Key | None = None
    sent_at: Annotated[datetime | None, BeforeValidator(_with_zone)] = None
    message_id: Key | None = None
    conversation: Key | None = None
    platform: Key | None = None

    def turn(self) -> Turn:
        """Return the message as said."""
        speaks = self.role is MessageRole.USER
        return Turn(
            role=self.role,
            content=self.content,
            sender=self.sender,
            platform_user_id=self.platform_user_id or (self.sender if speaks else None),
            sent_at=self.sent_at,
            message_id=self.message_id,
        )


class Document(BaseModel):
    """One conversation of a JSON file; its messages are checked one by one."""

    model_config = ConfigDict(extra="forbid")

    messages: list[dict[str, Any]] = Field(min_length=1)
    conversation: Key | None = None
    platform: Key | None = None
    title: OptionalLabel = ""


def read_lines(text: str, defaults: Defaults, file: str) -> list[Transcript]:
    """Return the conversations of a JSONL file, in the order they begin."""
    found: dict[tuple[str, str], list[tuple[str, Line]]] = {}
    for number, written in enumerate(text.split("\n"), 1):
        if written.strip():
            where = f"{file}, line {number}"
            line = _checked(_parsed(written, where), where)
            key = (line.platform or defaults.platform, line.conversation or defaults.conversation)
            found.setdefault(key, []).append((where, line))
    return [
        transcript(platform, conversation, _turns(lines))
        for (platform, conversation), lines in found.items()
    ]


def read_documents(content: Any, defaults: Defaults, file: str) -> list[Transcript]:
    """Return the conversations of a JSON file."""
    written = content if isinstance(content, list) else [content]
    talks = [_document(entry, n, defaults, file) for n, entry in enumerate(written, 1)]
    seen: set[tuple[str, str]] = set()
    for number, talk in enumerate(talks, 1):
        if (talk.platform, talk.conversation) in seen:
            raise wrong(f"{file}, conversation {number}, conversation", "occurs twice in the file")
        seen.add((talk.platform, talk.conversation))
    return talks


def _document(entry: Any, number: int, defaults: Defaults, file: str) -> Transcript:
    where = f"{file}, conversation {number}"
    try:
        document = Document.model_validate(entry)
    except ValidationError as error:
        raise first_reason(where, error) from None
    places = [f"{where}, message {n}" for n, _ in enumerate(document.messages, 1)]
    lines = [_checked(m, place) for m, place in zip(document.messages, places, strict=True)]
    for place, line in zip(places, lines, strict=True):
        if line.conversation or line.platform:
            raise wrong(place, "conversation and platform belong beside messages, not in them")
    name = defaults.conversation if number == 1 else f"{defaults.conversation}-{number}"
    return transcript(
        document.platform or defaults.platform,
        document.conversation or name,
        _turns(zip(places, lines, strict=True)),
        title=document.title,
    )


def _parsed(written: str, where: str) -> Any:
    try:
        return json.loads(written)
    except (json.JSONDecodeError, RecursionError):
        raise wrong(where, "is not valid JSON") from None


def _checked(entry: Any, where: str) -> Line:
    try:
        return Line.model_validate(entry)
    except ValidationError as error:
        raise first_reason(where, error) from None


def _turns(lines: Iterable[tuple[str, Line]]) -> Iterator[Turn]:
    seen: dict[str, str] = {}
    for where, line in lines:
        if line.message_id is not None and seen.setdefault(line.message_id, where) != where:
            raise wrong(f"{where}, message_id", "occurs twice in its conversation")
        yield line.turn()


def is_lines(text: str) -> bool:
    """Say whether a text looks like JSONL: its first line with anything in it is a message."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        entry = json.loads(first)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(entry, dict) and "messages" not in entry
