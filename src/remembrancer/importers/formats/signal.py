"""Signal: its own export (``signal_frames.py``), and the folder that signal-export makes.

The latter has a folder for each chat, named after it, with ``data.json``: a message on each line,
of the user as "Me". Names come from the user's address book, and times from their clock.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.formats import signal_frames
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable

PLATFORM: Final = "signal"
FILE: Final = "data.json"
_ME: Final = "Me"
_NOBODY: Final = "No-Sender"


class _Attachment(Record):
    name: str | None = None
    path: str | None = None


class _Message(Record):
    date: str
    sender: str | None = None
    body: str | None = None
    sticker: str | dict[str, Any] | None = None
    attachments: list[_Attachment] = Field(default_factory=list)
    deleted: bool = False
    call: bool = False


def looks_like(first: Any) -> bool:
    fields = {"date", "sender", "body", "quote", "reactions"}
    is_message = isinstance(first, Mapping) and fields <= first.keys()
    return is_message or signal_frames.looks_like(first)


def is_folder(bundle: Bundle) -> bool:
    if len(bundle.names()) > 1 and signal_frames.export_of(bundle) is not None:
        return True
    names = {member.path.parent.as_posix() for member in _members(bundle)}
    return any((PurePosixPath(folder) / "chat.md").as_posix() in bundle.names() for folder in names)


def _members(bundle: Bundle) -> list[Member]:
    names = bundle.names()
    return [
        Member(bundle, name)
        for name in names
        if len(names) == 1 or Member(bundle, name).path.name == FILE
    ]


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    if (export := signal_frames.export_of(bundle)) is not None:
        yield from signal_frames.read(export, options, notes)
        return
    for member in _members(bundle):
        turns = list(_turns(member, options, notes))
        folder = member.path.parent.name or bundle.name.removesuffix(".json")
        title = label(folder) or "chat"
        yield from storable(PLATFORM, title, turns, notes, options, title=title, personal=True)


def _turns(member: Member, options: Options, notes: Notes) -> Iterator[Turn]:
    for where, value in member.json_lines():
        message = record(_Message, value, where, notes)
        sender = label(message.sender)
        if message.deleted or message.call:
            notes.skip("call" if message.call else "deleted message")
        elif sender in {"", _NOBODY}:
            notes.skip("message without a sender")
        else:
            yield Turn(
                role=MessageRole.USER,
                content=joined(*_captions(message), message.body or ""),
                sender=sender,
                platform_user_id=None if sender == _ME else sender,
                sent_at=_time(message.date, where, options),
            )


def _captions(message: _Message) -> Iterator[str]:
    for file in message.attachments:
        name = file.name or (file.path or "").rpartition("/")[2]
        yield caption(kind_of(guess_type(name)[0]), name)
    sticker = message.sticker
    if sticker:
        emoji = sticker.get("emoji") if isinstance(sticker, Mapping) else sticker
        yield caption("sticker", str(emoji or ""))


def _time(date: str, where: str, options: Options) -> datetime:
    try:
        at = datetime.fromisoformat(date)
    except ValueError:
        raise invalid(f"{where}, date", "is not an ISO 8601 time") from None
    if at.tzinfo is None and options.time_zone is None:
        raise invalid(f"{where}, date", "has no time zone; name one with --time-zone")
    return at if at.tzinfo else at.replace(tzinfo=options.time_zone)
