"""The simple format: one message per line (JSONL), or a list of conversations (JSON).

A line is an object with ``content`` and, all optional: ``role`` (user unless given),
``sender`` (a name), ``platform_user_id`` (the sender's name unless given), ``sent_at``
(ISO 8601; UTC without a zone), ``message_id``, ``conversation`` (the file's name
unless given) and ``platform``. In JSON, a conversation is an object with ``messages``,
each like a line, and optionally ``conversation``, ``platform`` and ``title``.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.exported_conversations import Transcript, Turn, to_transcript
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, in_years, invalid, validated
from remembrancer.importers.spool import Spool
from remembrancer.importers.tally import Tally
from remembrancer.text import Key, Label, OptionalLabel, Platform, Statement
from remembrancer.validation import Input


def _with_zone(value: Any) -> Any:
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise ValueError("is not a time such as 2026-05-08T13:56:00Z")
    if not in_years(at):
        raise ValueError("must lie in the years 2 to 9998")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class JsonMessage(Input):
    content: Statement
    role: MessageRole = MessageRole.USER
    sender: Label | None = None
    platform_user_id: Key | None = None
    sent_at: Annotated[datetime | None, BeforeValidator(_with_zone)] = None
    message_id: Key | None = None
    conversation: Key | None = None
    platform: Platform | None = None

    def turn(self) -> Turn:
        is_person = self.role is MessageRole.USER
        return Turn(
            role=self.role,
            content=self.content,
            sender=self.sender,
            platform_user_id=self.platform_user_id or (self.sender if is_person else None),
            sent_at=self.sent_at,
            message_id=self.message_id,
        )


class JsonConversation(Input):
    messages: list[dict[str, Any]] = Field(min_length=1)
    conversation: Key | None = None
    platform: Platform | None = None
    title: OptionalLabel = ""


def read_lines(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    numbers: dict[tuple[str, str], int] = {}
    ids = Tally()
    with Spool() as spool:
        for where, value in main(bundle).json_lines():
            message = validated(JsonMessage, value, where)
            key = (
                message.platform or options.platform,
                message.conversation or options.conversation,
            )
            number = numbers.setdefault(key, len(numbers))
            _check_id(message, number, ids, where)
            spool.add(number, message.turn())
            notes.read += 1
        for (platform, conversation), number in numbers.items():
            yield to_transcript(platform, conversation, spool.turns(number))


def read_conversations(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle)
    keys: set[tuple[str, str]] = set()
    for number, (_, value) in enumerate(member.elements(), 1):
        where = f"{member.where}, conversation {number}"
        transcript = _transcript(value, number, options, where)
        key = (transcript.platform, transcript.conversation)
        if key in keys:
            raise invalid(f"{where}, conversation", "occurs twice in the file")
        keys.add(key)
        notes.read += len(transcript.turns)
        yield transcript


def _transcript(value: Any, number: int, options: Options, where: str) -> Transcript:
    conversation = validated(JsonConversation, value, where)
    messages = [
        (at := f"{where}, message {n}", validated(JsonMessage, message, at))
        for n, message in enumerate(conversation.messages, 1)
    ]
    for at, message in messages:
        if message.conversation or message.platform:
            raise invalid(at, "conversation and platform belong beside messages, not in them")
    name = options.conversation if number == 1 else f"{options.conversation}-{number}"
    return to_transcript(
        conversation.platform or options.platform,
        conversation.conversation or name,
        list(_turns(messages)),
        title=conversation.title,
    )


def _turns(messages: Iterable[tuple[str, JsonMessage]]) -> Iterator[Turn]:
    ids = Tally()
    for where, message in messages:
        _check_id(message, 0, ids, where)
        yield message.turn()


def _check_id(message: JsonMessage, conversation: int, ids: Tally, where: str) -> None:
    """Raise ``InvalidInput`` for an id that the conversation has already."""
    key = message.message_id
    if key is not None and ids.add(f"{conversation} {key}") > 1:
        raise invalid(f"{where}, message_id", "occurs twice in its conversation")


def looks_like(first: object) -> bool:
    return isinstance(first, Mapping) and "content" in first
