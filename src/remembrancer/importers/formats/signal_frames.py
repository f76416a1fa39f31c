"""Signal's own export of chats, ``main.jsonl`` beside ``metadata.json``: Signal Desktop 8.

A line for each record of a backup (``Backups.proto`` in its sources), in the JSON of Protocol
Buffers: 64-bit numbers are texts, bytes are Base64, and what has its default is left out. People
and chats have numbers that are valid in the file alone. A message is known by its sender and the
time at which it was sent first. The key of a group is a secret, and is stored as a hash alone.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn, digest
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.spool import Chat, Spool
from remembrancer.importers.turns import storable

PLATFORM: Final = "signal"
FILE: Final = "main.jsonl"
_MENTION: Final = "\ufffc"
_Number = Annotated[int, Field(ge=0, lt=2**63)]


class _Recipient(Record):
    id: _Number = 0
    contact: dict[str, object] | None = None
    group: dict[str, object] | None = None
    own: dict[str, object] | None = Field(None, alias="self")


class _Chat(Record):
    id: _Number = 0
    recipient: _Number = Field(0, alias="recipientId")


class _Item(Record):
    chat: _Number = Field(0, alias="chatId")
    author: _Number = Field(0, alias="authorId")
    date_sent: _Number = Field(0, alias="dateSent")
    revisions: list[object] = Field(default_factory=list)
    directionless: dict[str, object] | None = None
    standard: dict[str, object] | None = Field(None, alias="standardMessage")
    sticker: dict[str, object] | None = Field(None, alias="stickerMessage")
    contact: dict[str, object] | None = Field(None, alias="contactMessage")
    reply: dict[str, object] | None = Field(None, alias="directStoryReplyMessage")
    poll: dict[str, object] | None = None
    deleted: dict[str, object] | None = Field(None, alias="remoteDeletedMessage")


@dataclass(frozen=True, slots=True)
class _Person:
    key: str | None
    """A telephone number, or the id of an account or group; null for the user, else empty."""
    name: str


def looks_like(first: object) -> bool:
    return isinstance(first, Mapping) and {"version", "backupTimeMs"} <= first.keys()


def export_of(bundle: Bundle) -> Member | None:
    """Return the file with the records, which may be the only one; null without one."""
    names = bundle.names()
    member = find(bundle, FILE) or (Member(bundle, names[0]) if len(names) == 1 else None)
    if member is None:
        return None
    try:
        first = json.loads(member.start()[0].lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return None
    return member if looks_like(first) else None


def read(member: Member, options: Options, notes: Notes) -> Iterator[Transcript]:
    frames = _Frames()
    with Spool() as spool:
        for where, value in member.json_lines():
            frame = value if isinstance(value, Mapping) else {}
            frames.add(frame, where)
            if "chatItem" in frame:
                item = record(_Item, frame["chatItem"], where, notes)
                if (turn := _turn(item, frames, where, notes)) is not None:
                    spool.add(item.chat, turn, _sent_at(turn).timestamp())
        for chat, other in ((chat, frames.other_side(chat)) for chat in spool.chats()):
            if other.key == "":
                notes.skip("chat of an unknown kind")
                continue
            key, title = (other.key, other.name) if other.key else ("notes", "Note to Self")
            said = spool.turns(chat)
            yield from storable(PLATFORM, key, said, notes, options, title=title, personal=True)


@dataclass(slots=True)
class _Frames:
    """What has been read of people and chats."""

    own_name: str = ""
    people: dict[int, _Person] = field(default_factory=dict)
    chats: dict[int, int] = field(default_factory=dict)
    """The number of its other side by that of a chat."""
    names: dict[str, str] = field(default_factory=dict)
    """By id of an account."""

    def add(self, frame: Mapping[str, object], where: str) -> None:
        if "account" in frame:
            self.own_name = _name(frame["account"], "givenName", "familyName")
        elif "recipient" in frame:
            recipient = record(_Recipient, frame["recipient"], where)
            self.people[recipient.id] = self._person(recipient)
        elif "chat" in frame:
            chat = record(_Chat, frame["chat"], where)
            self.chats[chat.id] = chat.recipient

    def other_side(self, chat: Chat) -> _Person:
        return self.people.get(self.chats.get(int(chat), -1), _Person("", ""))

    def _person(self, recipient: _Recipient) -> _Person:
        if recipient.own is not None:
            return _Person(None, self.own_name)
        if recipient.group is not None:
            key = digest([_text(recipient.group, "masterKey")])[:32]
            return _Person(key, label(_text(recipient.group, "snapshot", "title", "title")))
        contact = recipient.contact or {}
        account = account_id(contact.get("aci"))
        number = label(str(contact.get("e164") or ""))
        key = f"+{number}" if number else account
        name = (
            _name(contact.get("nickname"), "given", "family")
            or _name(contact, "systemGivenName", "systemFamilyName")
            or _name(contact, "profileGivenName", "profileFamilyName")
            or label(_text(contact, "username"))
            or key
        )
        if account:
            self.names[account] = name
        return _Person(key, name)


def _sent_at(turn: Turn) -> datetime:
    assert turn.sent_at is not None
    return turn.sent_at


def _at(value: object, *path: str) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: object, *path: str) -> str:
    found = _at(value, *path)
    return found if isinstance(found, str) else ""


def _list(value: object, name: str) -> list[object]:
    found = _at(value, name)
    return found if isinstance(found, list) else []


def _name(value: object, given: str, family: str) -> str:
    return label(f"{_text(value, given)} {_text(value, family)}")


def account_id(value: object) -> str:
    """Return the UUID of 16 bytes in Base64; empty for anything else."""
    try:
        return str(UUID(bytes=base64.b64decode(value if isinstance(value, str) else "")))
    except ValueError:
        return ""


def _turn(item: _Item, frames: _Frames, where: str, notes: Notes) -> Turn | None:
    author = frames.people.get(item.author, _Person("", ""))
    if item.directionless is not None:
        notes.skip("notice")
    elif item.deleted is not None:
        notes.skip("deleted message")
    elif author.key == "":
        notes.skip("message without a sender")
    else:
        first = item
        if item.revisions:  # the earliest version is the first
            first = record(_Item, item.revisions[0], f"{where}, revisions")
        at = moment(first.date_sent / 1000)
        if at is None:
            raise invalid(f"{where}, dateSent", "is not a time in milliseconds since 1970")
        return Turn(
            role=MessageRole.USER,
            content=joined(*_parts(item, frames.names)),
            sender=author.name or None,
            platform_user_id=author.key,
            sent_at=at,
            message_id=f"{first.date_sent}-{author.key or 'own'}",
        )
    return None


def _parts(item: _Item, names: Mapping[str, str]) -> Iterator[str]:
    for attachment in _list(item.standard, "attachments"):
        kind = kind_of(_text(attachment, "pointer", "contentType"))
        is_voice = _text(attachment, "flag") == "VOICE_MESSAGE"
        yield caption("voice" if is_voice else kind, _text(attachment, "pointer", "fileName"))
    if item.sticker is not None:
        yield caption("sticker", _text(item.sticker, "sticker", "emoji"))
    if item.contact is not None:
        yield caption(
            "contact", _name(_at(item.contact, "contact", "name"), "givenName", "familyName")
        )
    if item.poll is not None:
        yield caption("poll", _text(item.poll, "question"))
    yield words(_at(item.standard, "text"), names)
    yield words(_at(item.reply, "textReply", "text"), names)
    yield _text(item.reply, "emoji")


def words(text: object, names: Mapping[str, str]) -> str:
    """Return a text with the names of people in the places where they are mentioned."""
    first, *rest = _text(text, "body").split(_MENTION)
    ranges = [part for part in _list(text, "bodyRanges") if _text(part, "mentionAci")]
    ranges.sort(key=_start)
    found = [f"@{names.get(account_id(_at(part, 'mentionAci')), '')}" for part in ranges]
    mentions = [*found, *[""] * len(rest)]
    return first + "".join(f"{name}{part}" for name, part in zip(mentions, rest, strict=False))


def _start(part: object) -> int:
    start = _at(part, "start")
    return start if isinstance(start, int) else 0
