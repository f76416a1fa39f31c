"""What every format is read into: conversations, and what was said in them in order."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import ValidationError

from remembrancer.conversations.schemas import MessageCreate, MessageRole
from remembrancer.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a file leaves open: the platform, and the conversation if it names none."""

    platform: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said. Without ``platform_user_id`` it belongs to whom the import is for."""

    role: MessageRole
    content: str
    sender: str | None = None
    platform_user_id: str | None = None
    sent_at: datetime | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation. In one that is ``together``, everybody recalls what all have said.

    In one that is ``personal``, its id and those of the people in it are names that only whom
    the import is for uses, such as those of their address book.
    """

    platform: str
    conversation: str
    turns: Sequence[Turn]
    title: str = ""
    together: bool = False
    people: dict[str, str] = field(default_factory=dict)
    """Name by platform user id, in the order they first spoke."""
    personal: bool = False

    def messages(self) -> list[MessageCreate]:
        """Return the turns as they are stored, each with an id that is always the same."""
        said: Counter[str] = Counter()
        return [_message(turn, self._id(turn, said)) for turn in self.turns]

    def _id(self, turn: Turn, said: Counter[str]) -> str:
        # By what was said and how often before, not by place: lines may be added to a file.
        if turn.message_id is not None:
            return turn.message_id
        at = turn.sent_at.isoformat() if turn.sent_at else ""
        parts = (turn.role.value, turn.platform_user_id or "", at, turn.content)
        same = digest((self.platform, self.conversation, *parts))
        said[same] += 1
        return f"import-{same[:32]}-{said[same]}"


def transcript(
    platform: str,
    conversation: str,
    turns: Iterable[Turn],
    *,
    title: str = "",
    together: bool = False,
    personal: bool = False,
) -> Transcript:
    """Return a conversation with the people who speak in it."""
    said = list(turns)
    people: dict[str, str] = {}
    for turn in said:
        if turn.platform_user_id is not None:
            people.setdefault(turn.platform_user_id, turn.sender or turn.platform_user_id)
    return Transcript(platform, conversation, said, title[:200], together, people, personal)


def _message(turn: Turn, message_id: str) -> MessageCreate:
    return MessageCreate(
        role=turn.role,
        content=turn.content,
        platform_user_id=turn.platform_user_id,
        sender_name=turn.sender,
        sent_at=turn.sent_at,
        platform_message_id=message_id,
        metadata=_as_written(turn.sent_at),
    )


def _as_written(at: datetime | None) -> dict[str, str]:
    # Stored times are instants; what the clock of those who spoke said would be lost.
    return {"sent_at": at.isoformat()} if at is not None and at.utcoffset() else {}


def digest(parts: Iterable[str]) -> str:
    """Return a hash in which no two lists of texts share their spelling."""
    hashed = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return hashed.hexdigest()


def wrong(where: str, reason: str) -> InvalidInput:
    """Return the error of a place in a file."""
    return InvalidInput(reason, field=where)


def first_reason(where: str, error: ValidationError) -> InvalidInput:
    """Return the first thing pydantic has to say about a place in a file, without the value."""
    problem = error.errors(include_input=False, include_url=False)[0]
    field_name = ".".join(str(part) for part in problem["loc"])
    reason = str(problem["msg"]).removeprefix("Value error, ")
    return wrong(f"{where}, {field_name}" if field_name else where, reason)
