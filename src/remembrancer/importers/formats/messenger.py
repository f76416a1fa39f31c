"""Messenger and Instagram: the JSON of Meta's download, and that of encrypted chats.

A chat is a folder with ``message_1.json``, ``message_2.json`` and so on, each with the latest
messages first. Its texts are UTF-8, each byte of it written as a character. Encrypted chats are
downloaded alone: a file each, with names of fields in another style, and plain text.

People have only names, so an import needs the person whose account it is. Meta names them in
``profile_information.json``; the title of a chat of two is the other one's name.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import AliasChoices, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find, note_unread, part_number
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.moments import milliseconds
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable

PLATFORM: Final = "messenger"
_INSTAGRAM: Final = "instagram"
FILE: Final = "message.json"
_MEDIA: Final = {
    "photos": "photo",
    "videos": "video",
    "audio_files": "voice",
    "gifs": "animation",
    "files": "file",
}
_SAID: Final = frozenset({"generic", "share", "text", "media", "link"})


def _also(name: str, other: str) -> AliasChoices:
    return AliasChoices(name, other)


class _File(Record):
    uri: str = ""


class _Shared(Record):
    link: str | None = None
    share_text: str | None = None


class _Message(Record):
    sender_name: str | None = Field(None, validation_alias=_also("sender_name", "senderName"))
    timestamp: int = Field(ge=0, lt=2**63, validation_alias=_also("timestamp_ms", "timestamp"))
    content: str | None = Field(None, validation_alias=_also("content", "text"))
    type: str = "Generic"
    is_unsent: bool | None = Field(None, validation_alias=_also("is_unsent", "isUnsent"))
    call_duration: int | None = None
    photos: list[_File] = Field(default_factory=list)
    videos: list[_File] = Field(default_factory=list)
    audio_files: list[_File] = Field(default_factory=list)
    gifs: list[_File] = Field(default_factory=list)
    files: list[_File] = Field(default_factory=list)
    media: list[_File] = Field(default_factory=list)
    sticker: _File | None = None
    share: _Shared | None = None


class _Chat(Record):
    title: str | None = None
    thread_name: str | None = Field(None, alias="threadName")
    participants: list[Any]
    messages: list[Any]

    def names(self) -> list[str]:
        names = (p.get("name") if isinstance(p, Mapping) else p for p in self.participants)
        return [self.shown(name) for name in names if isinstance(name, str)]

    def shown(self, text: str | None) -> str:
        """Return a text as it was written."""
        return (text or "") if self.thread_name is not None else mended(text or "")


def looks_like(content: Any) -> bool:
    if not isinstance(content, Mapping):
        return False
    named = "title" in content or "threadName" in content
    return named and isinstance(content.get("participants"), list) and "messages" in content


def is_download(bundle: Bundle) -> bool:
    return bool(_folders(bundle))


def _folders(bundle: Bundle) -> dict[PurePosixPath, list[Member]]:
    """Return the parts of each chat, the oldest first."""
    found: defaultdict[PurePosixPath, list[tuple[int, Member]]] = defaultdict(list)
    for name in bundle.names():
        number = part_number(name.replace("message_", "message-"), FILE)
        if number is not None and number >= 0:
            found[PurePosixPath(name).parent].append((number, Member(bundle, name)))
    return {
        folder: [member for _, member in sorted(members, key=lambda m: -m[0])]
        for folder, members in sorted(found.items())
    }


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    folders = _folders(bundle) or {
        PurePosixPath(name).with_suffix(""): [Member(bundle, name)]
        for name in bundle.names()
        if name.casefold().endswith(".json") or len(bundle.names()) == 1
    }
    profile = find(bundle, "profile_information.json")
    files = [member for members in folders.values() for member in members]
    note_unread(bundle, [*files, *filter(None, [profile])], notes)
    me = options.me or _full_name(profile)
    is_known = False
    for folder, members in folders.items():
        parts = [(m.where, record(_Chat, m.json(), m.where, notes)) for m in members]
        newest = parts[-1][1]
        own = _own(newest, me, members[-1].where)
        turns = [turn for where, chat in parts for turn in _turns(chat, where, own, notes)]
        turns.sort(key=_sent_at)
        is_known |= own in newest.names() or any(turn.platform_user_id is None for turn in turns)
        title = label(newest.shown(newest.title or newest.thread_name))
        is_of_instagram = _INSTAGRAM in f"{bundle.name}/{folder}".casefold()
        yield from storable(
            _INSTAGRAM if is_of_instagram else PLATFORM,
            label(folder.name) or title or "chat",
            turns,
            notes,
            options,
            title=title,
            personal=True,
        )
    if options.me is not None and not is_known:
        raise invalid(bundle.name, "has nobody with the name that --as gives; use a name of a chat")


def _sent_at(turn: Turn) -> datetime:
    return turn.sent_at or datetime.min.replace(tzinfo=UTC)


def _full_name(profile: Member | None) -> str | None:
    content = profile.json() if profile else None
    for step in ("profile_v2", "name", "full_name"):
        content = content.get(step) if isinstance(content, Mapping) else None
    return label(mended(content)) if isinstance(content, str) else None


def _own(chat: _Chat, me: str | None, where: str) -> str:
    """Return the name of the account: the person that ``--as`` or the profile names, else the one
    of two who is not in the title.
    """
    names = chat.names()
    if me is not None:
        return next((name for name in names if label(name).casefold() == label(me).casefold()), me)
    others = [name for name in names if name != chat.shown(chat.title)]
    if chat.title is not None and len(names) == 2 and len(others) == 1:
        return others[0]
    raise invalid(where, "does not name its account; name the person who is --user with --as")


def _turns(chat: _Chat, where: str, own: str, notes: Notes) -> Iterator[Turn]:
    ordered: Sequence[Any] = chat.messages[::-1]  # the latest is first
    for number, value in zip(range(len(ordered), 0, -1), ordered, strict=True):
        position = f"{where}, message {number}"
        message = record(_Message, value, position, notes)
        if message.is_unsent:
            notes.skip("message that was taken back")
            continue
        if message.type.casefold() not in _SAID or message.call_duration is not None:
            kind = "call" if message.call_duration is not None else label(message.type)
            notes.skip(f"message of kind {kind}")
            continue
        if not message.sender_name:
            notes.skip("message without a sender")
            continue
        sender = label(chat.shown(message.sender_name))
        yield Turn(
            role=MessageRole.USER,
            content=joined(*_captions(message), *_words(message, chat)),
            sender=sender or None,
            platform_user_id=None if sender == label(own) or not sender else sender,
            sent_at=milliseconds(message.timestamp, f"{position}, timestamp_ms"),
        )


def _words(message: _Message, chat: _Chat) -> Iterator[str]:
    yield chat.shown(message.content)
    if message.share is not None:
        yield chat.shown(message.share.share_text)
        if (link := message.share.link) and link not in (message.content or ""):
            yield chat.shown(link)


def _captions(message: _Message) -> Iterator[str]:
    for name, kind in _MEDIA.items():
        for file in getattr(message, name):
            yield caption(kind, PurePosixPath(file.uri).name)
    for file in message.media:
        yield caption(kind_of(guess_type(file.uri)[0]), PurePosixPath(file.uri).name)
    if message.sticker is not None:
        yield caption("sticker")


def mended(text: str) -> str:
    """Return the text whose UTF-8 bytes are the characters of ``text``; any other as it is."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text
