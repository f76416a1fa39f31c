"""Telegram Desktop's ``result.json``: of one chat, or of a whole account."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar, Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.exported_conversations import Transcript, Turn, wrong
from remembrancer.importers.parse import (
    Account,
    Notes,
    Options,
    Record,
    caption,
    joined,
    label,
    record,
)
from remembrancer.importers.turns import conversation
from remembrancer.text import Key

PLATFORM: Final = "telegram"
FILE: Final = "result.json"
_DAY = timedelta(days=1)
_MEDIA = {
    "sticker": "sticker",
    "video_file": "video",
    "video_message": "video",
    "voice_message": "voice",
    "audio_file": "audio",
    "animation": "animation",
}
_PRIVATE = frozenset({"personal_chat", "bot_chat", "saved_messages", "replies"})
_WIDE = frozenset({"private_supergroup", "public_supergroup", "private_channel", "public_channel"})


class _Chat(Record):
    type: str
    id: int
    name: str | None = None
    messages: list[Any]


class _Message(Record):
    LEFT: ClassVar = frozenset(
        [
            "action",
            "actor",
            "actor_id",
            "author",
            "duration_seconds",
            "edited",
            "edited_unixtime",
            "forwarded_from",
            "forwarded_from_id",
            "file_size",
            "height",
            "inline_bot_buttons",
            "mime_type",
            "photo_file_size",
            "reactions",
            "reply_to_message_id",
            "reply_to_peer_id",
            "saved_from",
            "text_entities",
            "thumbnail",
            "thumbnail_file_size",
            "via_bot",
            "width",
            "self_destruct_period_seconds",
            "media_spoiler",
            "title",
            "performer",
            "signature",
        ]
    )

    id: int
    type: str
    date: str | None = None
    date_unixtime: str | int | None = None
    sender: str | None = None
    from_id: Key | None = None
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
    user_id: int
    first_name: str | None = None
    last_name: str | None = None


def looks_like(content: Any) -> bool:
    """Say whether parsed JSON is of one chat or of a whole account."""
    if not isinstance(content, Mapping):
        return False
    one = {"type", "id", "messages"} <= content.keys()
    chats = content.get("chats")
    return one or (isinstance(chats, Mapping) and isinstance(chats.get("list"), list))


def account(bundle: Bundle) -> Account | None:
    """Return whose export it is, which only that of a whole account says."""
    member = main(bundle, FILE)
    return _account(member.json(), member.where)


def _account(content: Any, where: str) -> Account | None:
    person = content.get("personal_information") if isinstance(content, Mapping) else None
    if person is None:
        return None
    found = record(_Person, person, f"{where}, personal_information", Notes())
    name = f"{found.first_name or ''} {found.last_name or ''}"
    return Account(PLATFORM, str(found.user_id), label(name))


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    """Yield the chats in the order of the file."""
    member = main(bundle, FILE)
    content = member.json()
    if not looks_like(content):
        raise wrong(member.where, "is neither a chat nor an account of Telegram")
    whose = _account(content, member.where)
    for place, value in _chats(content, member.where):
        chat = record(_Chat, value, place, notes)
        turns = list(_turns(chat, place, options, notes))
        key = _key(chat, turns, whose)
        yield from conversation(PLATFORM, key, turns, notes, options, title=label(chat.name))


def _chats(content: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    if "messages" in content:
        yield where, content
        return
    for part in ("chats", "left_chats"):
        held = content.get(part)
        listed = held.get("list") if isinstance(held, Mapping) else None
        for number, chat in enumerate(listed if isinstance(listed, list) else (), 1):
            yield f"{where}, {part}.{number}", chat


def _key(chat: _Chat, turns: list[Turn], whose: Account | None) -> str:
    """Return the id of a chat as a bot there sees it.

    A chat of two has none: each of them has the other's id for it. So both make it.
    """
    if chat.type in _WIDE:
        return f"-100{chat.id}"
    if chat.type not in _PRIVATE:
        return f"-{chat.id}"
    others = (t.platform_user_id for t in turns if t.platform_user_id not in {None, str(chat.id)})
    me = whose.platform_user_id if whose else next(others, None)
    return f"{me or 'unknown'}-{chat.id}"


def _turns(chat: _Chat, where: str, options: Options, notes: Notes) -> Iterator[Turn]:
    for number, value in enumerate(chat.messages, 1):
        place = f"{where}, message {number}"
        renamed = {**value, "sender": value.get("from")} if isinstance(value, Mapping) else value
        if isinstance(renamed, dict):
            renamed.pop("from", None)
        message = record(_Message, renamed, place, notes)
        if message.type != "message":
            notes.skip(f"message of kind {label(message.type)}")
            continue
        if message.from_id is None:
            notes.skip("message without a sender")
            continue
        bot = chat.type == "bot_chat" and message.from_id == f"user{chat.id}"
        yield Turn(
            role=MessageRole.ASSISTANT if bot else MessageRole.USER,
            content=joined(*_captions(message), _words(message.text, notes)),
            sender=label(message.sender) or None,
            platform_user_id=None if bot else message.from_id.removeprefix("user"),
            sent_at=_time(message, place, options),
            message_id=str(message.id),
        )


def _words(text: str | list[Any], notes: Notes) -> str:
    """Return a text that is one, or a list of pieces, some of them with a meaning."""
    if isinstance(text, str):
        return text
    words = []
    for piece in text:
        if isinstance(piece, str):
            words.append(piece)
        elif isinstance(piece, Mapping) and isinstance(piece.get("text"), str):
            words.append(piece["text"])
        else:
            notes.strange("text entity")
    return "".join(words)


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
    # Where the file was not exported, a remark in brackets stands for its path.
    return "" if path.startswith("(") else path.rpartition("/")[2]


def _time(message: _Message, where: str, options: Options) -> datetime:
    """Return when it was sent, by the clock of whoever exported it."""
    try:
        local = datetime.fromisoformat(message.date) if message.date else None
        if message.date_unixtime is not None:
            at = datetime.fromtimestamp(int(message.date_unixtime), UTC)
            return at.astimezone(_zone(local, at)) if local else at
    except (ValueError, OverflowError, OSError):
        raise wrong(f"{where}, date", "is not a time") from None
    if local is None:
        raise wrong(f"{where}, date", "is missing")
    if options.time_zone is None and local.tzinfo is None:
        raise wrong(f"{where}, date", "has no time zone; say which with --time-zone")
    return local if local.tzinfo else local.replace(tzinfo=options.time_zone)


def _zone(local: datetime, at: datetime) -> timezone:
    ahead = local.replace(tzinfo=UTC) - at
    return timezone(ahead) if abs(ahead) < _DAY else UTC
