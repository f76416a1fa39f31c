"""Conversations and their turns as read from an export. Pure."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from remembrancer.conversations.schemas import MessageCreate, MessageRole
from remembrancer.importers.tally import Tally


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. Without ``platform_user_id`` it belongs to the user of the import."""

    role: MessageRole
    content: str
    sender: str | None = None
    platform_user_id: str | None = None
    sent_at: datetime | None = None
    message_id: str | None = None


class Turns(Collection[Turn]):
    """Many turns, read anew each time so that few of them are in memory."""

    def __init__(self, count: int, read: Callable[[], Iterator[Turn]]) -> None:
        self._count = count
        self._read = read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Turn]:
        return self._read()

    def __contains__(self, turn: object) -> bool:
        return any(turn == other for other in self)


def changed(turns: Collection[Turn], change: Callable[[Turn], Turn]) -> Collection[Turn]:
    """Return the turns, each changed when it is read."""
    if isinstance(turns, Turns):
        return Turns(len(turns), lambda: map(change, turns))
    return [change(turn) for turn in turns]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation. Its turns can be read until the next conversation is.

    In a ``together`` one, all participants recall all messages. In a ``personal`` one, the ids of
    the conversation and its people are names that only the user of the import uses, such as
    those of an address book. ``partner`` is the other side of a private chat whose own side an
    export may not show; the conversation's id ends with it.
    """

    platform: str
    conversation: str
    turns: Collection[Turn]
    title: str = ""
    together: bool = False
    people: dict[str, str] = field(default_factory=dict)
    """Name by platform user id, in the order of their first messages."""
    personal: bool = False
    partner: str | None = None

    def messages(self) -> Iterator[MessageCreate]:
        """Yield the turns as messages to store; the same turn always gets the same id."""
        repeats = Tally()
        for turn in self.turns:
            yield _message(turn, self._id(turn, repeats))

    def _id(self, turn: Turn, repeats: Tally) -> str:
        # A hash of the text and its repeats, not of the position: a file may gain lines.
        if turn.message_id is not None:
            return turn.message_id
        at = turn.sent_at.isoformat() if turn.sent_at else ""
        parts = (turn.role.value, turn.platform_user_id or "", at, turn.content)
        hashed = digest((self.platform, self.conversation, *parts))
        return f"import-{hashed[:32]}-{repeats.add(hashed)}"


def to_transcript(
    platform: str,
    conversation: str,
    turns: Collection[Turn],
    *,
    title: str = "",
    together: bool = False,
    personal: bool = False,
) -> Transcript:
    people: dict[str, str] = {}
    for turn in turns:
        if turn.platform_user_id is not None:
            people.setdefault(turn.platform_user_id, turn.sender or turn.platform_user_id)
    return Transcript(platform, conversation, turns, title[:200], together, people, personal)


_SAME = ("role", "content", "platform_user_id", "sent_at")
"""Fields that a turn and its message have both."""


def _message(turn: Turn, message_id: str) -> MessageCreate:
    # The database stores instants; the metadata preserves the sender's own clock time.
    local = turn.sent_at if turn.sent_at is not None and turn.sent_at.utcoffset() else None
    return MessageCreate(
        **{name: getattr(turn, name) for name in _SAME},
        sender_name=turn.sender,
        platform_message_id=message_id,
        metadata={"sent_at": local.isoformat()} if local else {},
    )


def digest(parts: Iterable[str]) -> str:
    """Return a hash of a list of texts; lists that only join to the same text differ."""
    hashed = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return hashed.hexdigest()
