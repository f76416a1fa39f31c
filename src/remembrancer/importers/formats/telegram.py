"""Telegram Desktop's ``result.json`` of one chat or of a whole account.

Since 2021 a sender is ``user123`` or ``channel123``, and a chat has its own number. Before, both
were numbers: of users, or with their kind above the lower 32 bits, 1 for a user and 2 for a chat.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Annotated, Any, Final, TypeGuard

from pydantic import BeforeValidator, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.json_stream import JsonReader, long_record
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "telegram"
FILE: Final = "result.json"
UNKNOWN: Final = "unknown"
_SECTIONS = frozenset({"chats", "left_chats"})
_DAY = timedelta(days=1)
_MEDIA = {
    "sticker": "sticker",
    "video_file": "video",
    "video_message": "video",
    "voice_message": "voice",
    "audio_file": "audio",
    "animation": "animation",
}
_ONE_SIDED = frozenset({"saved_messages", "replies", "verification_codes"})
_PRIVATE = frozenset({"personal_chat", "bot_chat", *_ONE_SIDED})
_SUPERGROUPS = frozenset(
    {"private_supergroup", "public_supergroup", "private_channel", "public_channel"}
)


_Id = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_KIND = 1 << 32


def _peer(value: object) -> object:
    """Return a number of an older export as newer ones write it."""
    if not _is_number(value) or not 0 <= value < 3 * _KIND:
        return value
    return f"{'channel' if value >= 2 * _KIND else 'user'}{value % _KIND}"


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


class _Chat(Record):
    type: str
    id: _Id
    name: str | None = None
    messages: list[Any]


class _Message(Record):
    id: _Id
    type: str
    date: str | None = None
    date_unixtime: str | int | None = None
    sender: str | None = None
    from_id: Annotated[Key | None, BeforeValidator(_peer)] = None
    text: str | list[Any] = ""
    photo: str | None = None
    file: str | None = None
    file_name: str | None = None
    media_type: str | None = None
    sticker_emoji: str | None = None
    contact_information: dict[str, Any] | None = None
    location_information: dict[str, Any] | None = None
    place_name: str | None = None
    poll: dict[str, Any] | None = None


class _Person(Record):
    user_id: _Id
    first_name: str | None = None
    last_name: str | None = None


def looks_like(content: Any) -> bool:
    if not isinstance(content, Mapping):
        return False
    is_chat = {"type", "id", "messages"} <= content.keys()
    chats = content.get("chats")
    return is_chat or (isinstance(chats, Mapping) and isinstance(chats.get("list"), list))


def find_account(bundle: Bundle) -> Account | None:
    member = main(bundle, FILE)
    reader = member.json_reader()
    if _go_to(reader, "personal_information", before="messages") != "personal_information":
        return None
    if (person := reader.value()) is None:
        return None
    owner = record(_Person, person, f"{member.where}, personal_information")
    name = f"{owner.first_name or ''} {owner.last_name or ''}"
    return Account(PLATFORM, str(owner.user_id), label(name))


def _go_to(reader: JsonReader, *wanted: str, before: str) -> str | None:
    """Read to the value of a field of the export; return its name, null if there is none."""
    if reader.peek() != "{":
        reader.value()
        return None
    for name in reader.names():
        if name in {*wanted, before}:
            return name
        reader.skip()
    return None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, FILE)
    kind = _go_to(member.json_reader(), *_SECTIONS, before="messages")
    if kind is None:
        raise invalid(member.where, "is not a Telegram export; export a chat or account as JSON")
    account = find_account(bundle)
    reader = member.json_reader()
    for position in _chats(reader, member.where) if kind in _SECTIONS else (member.where,):
        first = ("type", "id")
        chat, messages = long_record(_Chat, reader, "messages", first, position, notes)
        turns = _turns(chat, messages, position, options, notes)
        key = partial(_key, chat, account)
        for transcript in storable(PLATFORM, key, turns, notes, options, title=label(chat.name)):
            partner = str(chat.id) if chat.type in _PRIVATE else None
            yield replace(transcript, partner=partner)
    reader.end()


def _chats(reader: JsonReader, where: str) -> Iterator[str]:
    """Yield the position of each chat, which is read before the next."""
    for section in reader.names():
        if section not in _SECTIONS or reader.peek() != "{":
            reader.skip()
            continue
        for name in reader.names():
            if name != "list" or reader.peek() != "[":
                reader.skip()
                continue
            for number in reader.numbers():
                yield f"{where}, {section}.{number}"


def _key(chat: _Chat, account: Account | None, turns: Collection[Turn]) -> str:
    """Return the id that a bot sees; a private chat has only the ids of both sides.

    Until the exporter writes, one side is unknown.
    """
    if chat.type in _SUPERGROUPS:
        return f"-100{chat.id}"
    if chat.type not in _PRIVATE:
        return f"-{chat.id}"
    return f"{_me(chat, turns, account) or UNKNOWN}-{chat.id}"


def _me(chat: _Chat, turns: Collection[Turn], account: Account | None) -> str | None:
    if account is not None:
        return account.platform_user_id
    if chat.type in _ONE_SIDED:
        return str(chat.id) if chat.type == "saved_messages" else None
    senders = (turn.platform_user_id for turn in turns)
    return next((sender for sender in senders if sender not in {None, str(chat.id)}), None)


def _turns(
    chat: _Chat, messages: Iterator[object], where: str, options: Options, notes: Notes
) -> Iterator[Turn]:
    for number, value in enumerate(messages, 1):
        position = f"{where}, message {number}"
        if isinstance(value, Mapping) and _is_number(value.get("from_id")):
            chat.id %= _KIND
        renamed = {**value, "sender": value.get("from")} if isinstance(value, Mapping) else value
        if isinstance(renamed, dict):
            renamed.pop("from", None)
        message = record(_Message, renamed, position, notes)
        if message.type != "message":
            notes.skip(f"message of kind {label(message.type)}")
            continue
        if message.from_id is None:
            notes.skip("message without a sender")
            continue
        bot = chat.type == "bot_chat" and message.from_id == f"user{chat.id}"
        yield Turn(
            role=MessageRole.ASSISTANT if bot else MessageRole.USER,
            content=joined(*_captions(message), _text(message.text, notes)),
            sender=label(message.sender) or None,
            platform_user_id=None if bot else message.from_id.removeprefix("user"),
            sent_at=_time(message, position, options),
            message_id=str(message.id),
        )


def _text(text: str | list[Any], notes: Notes) -> str:
    if isinstance(text, str):
        return text
    pieces = []
    for piece in text:
        if isinstance(piece, str):
            pieces.append(piece)
        elif isinstance(piece, Mapping) and isinstance(piece.get("text"), str):
            pieces.append(piece["text"])
        else:
            notes.unknown_field("text entity")
    return "".join(pieces)


def _captions(message: _Message) -> Iterator[str]:
    if message.photo is not None:
        yield caption("photo", _name(message.photo))
    if message.file is not None or message.media_type is not None:
        kind = _MEDIA.get(message.media_type or "", "file")
        name = message.sticker_emoji or message.file_name or _name(message.file or "")
        yield caption(kind, name)
    if message.contact_information is not None:
        person = message.contact_information
        yield caption("contact", f"{person.get('first_name', '')} {person.get('last_name', '')}")
    if message.location_information is not None:
        yield caption("location", message.place_name or "")
    if message.poll is not None:
        yield caption("poll", str(message.poll.get("question", "")))


def _name(path: str) -> str:
    # Without the file, a remark in parentheses replaces the path.
    return "" if path.startswith("(") else path.rpartition("/")[2]


def _time(message: _Message, where: str, options: Options) -> datetime:
    try:
        local = datetime.fromisoformat(message.date) if message.date else None
        if message.date_unixtime is not None:
            at = datetime.fromtimestamp(int(message.date_unixtime), UTC)
            return at.astimezone(_zone(local, at)) if local else at
    except (ValueError, OverflowError, OSError):
        raise invalid(f"{where}, date", "is not an ISO 8601 time") from None
    if local is None:
        raise invalid(f"{where}, date", "is missing; export the chat again")
    if options.time_zone is None and local.tzinfo is None:
        raise invalid(f"{where}, date", "has no time zone; name one with --time-zone")
    return local if local.tzinfo else local.replace(tzinfo=options.time_zone)


def _zone(local: datetime, at: datetime) -> timezone:
    ahead = local.replace(tzinfo=UTC) - at
    # An offset with seconds is none, and JSON would lose them.
    return timezone(ahead) if abs(ahead) < _DAY and not ahead.seconds % 60 else UTC
