"""Discord: files of DiscordChatExporter, and Discord's own data package.

A file has all messages of one channel. A data package has its owner's messages in all channels:
a folder each, with ``channel.json`` and ``messages.json`` or, until 2024, ``messages.csv``, and
the titles of all in ``index.json``. The names of the folders above depend on the language.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import AwareDatetime, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find, main, note_unread
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.json_stream import long_record, parse_json
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "discord"
_MESSAGE_TYPES = frozenset(
    {"Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "0", "19"}
)
_MESSAGE_FILES = ("messages.json", "messages.csv")
_MENTION = re.compile(r"<@!?(\d+)>")
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".heic", ".avif"})


class _Guild(Record):
    name: str | None = None


class _Channel(Record):
    id: Key
    name: str | None = None
    guild: _Guild = _Guild()

    def title(self) -> str:
        name = f"#{self.name}" if self.name and self.guild.name else self.name
        return label(" ".join(part for part in (self.guild.name, name) if part))


class _Author(Record):
    id: Key
    name: str
    nickname: str | None = None
    is_bot: bool = Field(False, alias="isBot")

    def shown_name(self) -> str:
        return label(self.nickname) or label(self.name) or self.id


class _Attachment(Record):
    file_name: str | None = Field(None, alias="fileName")


class _Message(Record):
    id: Key
    type: str | int = "Default"
    timestamp: AwareDatetime
    content: str | None = ""
    author: dict[str, Any]
    attachments: list[_Attachment] = Field(default_factory=list)
    mentions: list[dict[str, Any]] = Field(default_factory=list)


class _Export(Record):
    guild: _Channel
    channel: _Channel
    messages: list[Any]


class _Owner(Record):
    id: Key
    username: str = ""
    global_name: str | None = None


def looks_like(content: Any) -> bool:
    return isinstance(content, Mapping) and {"guild", "channel", "messages"} <= content.keys()


def is_package(bundle: Bundle) -> bool:
    return bool(_channels(bundle))


def find_account(bundle: Bundle) -> Account | None:
    member = find(bundle, "user.json") if is_package(bundle) else None
    if member is None:
        return None
    owner = record(_Owner, member.json(), member.where)
    return Account(PLATFORM, owner.id, label(owner.global_name) or label(owner.username))


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    if is_package(bundle):
        yield from _package(bundle, options, notes)
        return
    member = main(bundle)
    reader, first = member.json_reader(), ("guild", "channel")
    export, messages = long_record(_Export, reader, "messages", first, member.where, notes)
    parts = (export.guild.name, f"#{export.channel.name}" if export.channel.name else None)
    yield from storable(
        PLATFORM,
        export.channel.id,
        _turns(messages, member.where, notes),
        notes,
        options,
        title=label(" ".join(part for part in parts if part)),
    )
    reader.end()


def _turns(messages: Iterator[object], where: str, notes: Notes) -> Iterator[Turn]:
    for number, value in enumerate(messages, 1):
        position = f"{where}, message {number}"
        message = record(_Message, value, position, notes)
        if str(message.type) not in _MESSAGE_TYPES:
            notes.skip(f"message of kind {label(str(message.type))}")
            continue
        author = record(_Author, message.author, f"{position}, author", notes)
        captions = [_caption(item.file_name or "") for item in message.attachments]
        names = {str(item.get("id")): _mention_name(item) for item in message.mentions}
        yield Turn(
            role=MessageRole.ASSISTANT if author.is_bot else MessageRole.USER,
            content=joined(*captions, _plain(message.content or "", names)),
            sender=author.shown_name(),
            platform_user_id=None if author.is_bot else author.id,
            sent_at=message.timestamp,
            message_id=message.id,
        )


def _mention_name(mention: Mapping[str, Any]) -> str:
    return label(str(mention.get("nickname") or mention.get("name") or mention.get("id")))


def _plain(text: str, names: Mapping[str, str]) -> str:
    return _MENTION.sub(lambda mark: f"@{names.get(mark[1], mark[1])}", text)


def _caption(name: str) -> str:
    path = PurePosixPath(name.partition("?")[0])
    return caption("photo" if path.suffix.lower() in _PICTURES else "file", path.name)


# The data package -----------------------------------------------------------------------------


def _channels(bundle: Bundle) -> list[Member]:
    """Return the description file of each channel; its folder name depends on the language."""
    return [
        Member(bundle, name)
        for name in bundle.names()
        if re.fullmatch(r"(.*/)?c?\d+/channel\.json", name)
    ]


def _package(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    account = find_account(bundle)
    if account is None:
        raise invalid(
            bundle.name, "does not name its account: it has no user.json; request a new export"
        )
    members = _channels(bundle)
    titles = _titles(bundle, members)
    for member in members:
        channel = record(_Channel, member.json(), member.where)
        rows = _rows(bundle, member.path.parent)
        turns = [_owner_turn(row, where, account) for where, row in rows]
        turns.sort(key=lambda turn: turn.sent_at or datetime.min.replace(tzinfo=UTC))
        title = channel.title() or titles.get(channel.id, "")
        yield from storable(PLATFORM, channel.id, turns, notes, options, title=title)
    names = [str(member.path.parent / name) for member in members for name in _MESSAGE_FILES]
    read = [_index(members), *members, *(Member(bundle, name) for name in names)]
    note_unread(bundle, [*read, *filter(None, [find(bundle, "user.json")])], notes)


def _index(channels: list[Member]) -> Member:
    return Member(channels[0].bundle, str(channels[0].path.parent.parent / "index.json"))


def _titles(bundle: Bundle, channels: list[Member]) -> dict[str, str]:
    """Return the titles of channels and of people whom the owner wrote to, by channel."""
    index = _index(channels)
    titles = index.json() if index.name in bundle.names() else {}
    return (
        {key: label(str(title)) for key, title in titles.items() if title}
        if isinstance(titles, dict)
        else {}
    )


def _rows(bundle: Bundle, folder: PurePosixPath) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in _MESSAGE_FILES:
        path = str(folder / name)
        if path not in bundle.names():
            continue
        member = Member(bundle, path)
        text = member.text()
        rows = parse_json(text, member.where) if name.endswith("json") else _csv(text, member.where)
        if not isinstance(rows, list):
            raise invalid(member.where, "is not a list of messages")
        for number, row in enumerate(rows, 1):
            yield f"{member.where}, message {number}", row


def _csv(text: str, where: str) -> list[dict[str, Any]]:
    try:
        return list(csv.DictReader(io.StringIO(text)))
    except csv.Error:
        raise invalid(where, "is not valid CSV; request the data package again") from None


class _OwnerMessage(Record):
    id: Key = Field(alias="ID", coerce_numbers_to_str=True)
    timestamp: str = Field(alias="Timestamp")
    contents: str | None = Field("", alias="Contents")
    attachments: str | None = Field("", alias="Attachments")


def _owner_turn(row: Any, where: str, account: Account) -> Turn:
    message = record(_OwnerMessage, row, where)
    try:
        at = datetime.fromisoformat(message.timestamp)
    except ValueError:
        raise invalid(f"{where}, Timestamp", "is not an ISO 8601 time") from None
    captions = [_caption(url) for url in (message.attachments or "").split()]
    return Turn(
        role=MessageRole.USER,
        content=joined(*captions, _plain(message.contents or "", {})),
        sender=account.name or None,
        platform_user_id=account.platform_user_id,
        sent_at=at if at.tzinfo else at.replace(tzinfo=UTC),
        message_id=message.id,
    )
