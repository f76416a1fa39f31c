"""Slack exports: an archive with users, channels and a file per channel and day.

What applications say stands in ``attachments`` and ``blocks``, often without any ``text``.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.formats.slack_attachments import attached, block_texts
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.spool import Spool
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "slack"
_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_MESSAGE_TYPES = frozenset({None, "thread_broadcast", "me_message", "file_share", "bot_message"})
_MARK = re.compile(r"<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>")
_STAMP = re.compile(r"\d{1,11}(\.\d{1,9})?")


class _Profile(Record):
    display_name: str | None = None
    real_name: str | None = None


class _User(Record):
    id: Key
    name: str | None = None
    real_name: str | None = None
    profile: _Profile = _Profile()

    def shown_name(self) -> str:
        profile = self.profile
        names = (profile.display_name, self.real_name, profile.real_name, self.name)
        return next(filter(None, map(label, names)), self.id)


class _Channel(Record):
    id: Key
    name: str | None = None


class _File(Record):
    name: str | None = None
    title: str | None = None
    mimetype: str | None = None


class _Message(Record):
    type: str
    ts: str
    text: str | None = ""
    subtype: str | None = None
    user: Key | None = None
    username: str | None = None
    bot_id: Key | None = None
    thread_ts: str | None = None
    files: list[Any] | None = None
    attachments: list[object] | None = None
    blocks: list[object] | None = None


@dataclass(frozen=True, slots=True)
class Names:
    people: Mapping[str, str]
    channels: Mapping[str, str]


def looks_like(bundle: Bundle) -> bool:
    return find(bundle, "users.json") is not None and any(
        find(bundle, name) is not None for name in _LISTS
    )


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    users = find(bundle, "users.json")
    if users is None:
        raise invalid(bundle.name, "has no users.json; import a whole Slack export")
    people = [record(_User, value, where) for where, value in users.elements()]
    channels = list(_channels(bundle))
    names = Names(
        {user.id: user.shown_name() for user in people},
        {channel.id: label(channel.name) or channel.id for channel in channels},
    )
    days = _days(bundle, users.path.parent)
    for channel in channels:
        # The folder of a direct message is named by the channel's id.
        members = days.pop(channel.name or channel.id, None) or days.pop(channel.id, [])
        turns = _turns(members, names, notes)
        title = f"#{channel.name}" if channel.name else ""
        if members:
            yield from storable(PLATFORM, channel.id, turns, notes, options, title=label(title))
    for _ in days:
        notes.skip("folder of an unknown channel")


def _channels(bundle: Bundle) -> Iterator[_Channel]:
    for name in _LISTS:
        member = find(bundle, name)
        for where, value in member.elements() if member else ():
            yield record(_Channel, value, where)


def _days(bundle: Bundle, root: PurePosixPath) -> dict[str, list[Member]]:
    """Return the day files of each channel folder, in order."""
    folders: defaultdict[str, list[Member]] = defaultdict(list)
    for name in sorted(bundle.names()):
        path = PurePosixPath(name)
        if path.suffix == ".json" and path.parent.parent == root and path.parent != root:
            folders[path.parent.name].append(Member(bundle, name))
    return dict(folders)


def _turns(days: list[Member], names: Names, notes: Notes) -> Iterator[Turn]:
    """Yield the turns, with each thread whole after its first message."""
    with Spool() as spool:
        for where, value in (pair for day in days for pair in day.elements()):
            message = record(_Message, value, where, notes)
            at, thread_at = (
                _moment(ts, where) for ts in (message.ts, message.thread_ts or message.ts)
            )
            if message.type != "message" or message.subtype not in _MESSAGE_TYPES:
                notes.skip(f"message of kind {label(message.subtype or message.type)}")
            else:
                turn = _turn(message, datetime.fromtimestamp(at, UTC), names, notes)
                spool.add(0, turn, thread_at, at)
        yield from spool.turns(0)


def _turn(message: _Message, at: datetime, names: Names, notes: Notes) -> Turn:
    bot = message.bot_id is not None or message.user is None
    name = label(message.username) or names.people.get(message.user or "", message.user or "")
    return Turn(
        role=MessageRole.ASSISTANT if bot else MessageRole.USER,
        content=joined(*_captions(message, notes), *_texts(message, names, notes)),
        sender=label(name) or None,
        platform_user_id=None if bot else message.user,
        sent_at=at,
        message_id=message.ts,
    )


def _texts(message: _Message, names: Names, notes: Notes) -> Iterator[str]:
    said = [message.text or "", *attached(message.attachments, notes)]
    if not any(map(str.strip, said)):
        said = block_texts(message.blocks)
    yield from (plain(text, names) for text in said)


def _captions(message: _Message, notes: Notes) -> Iterator[str]:
    for value in message.files or ():
        if isinstance(value, dict):
            file = record(_File, value, "file")
            yield caption(kind_of(file.mimetype), file.name or file.title or "")
        else:
            notes.unknown_field("file")


def plain(text: str, names: Names) -> str:
    def replacement(mark: re.Match[str]) -> str:
        sign, target, text = mark[1], mark[2], mark[3]
        if sign == "@":
            return f"@{names.people.get(target) or text or target}"
        if sign == "#":
            return f"#{text or names.channels.get(target) or target}"
        if sign == "!":
            return text or f"@{target.partition('^')[0]}"
        return f"{text} ({target})" if text and text != target else target

    return html.unescape(_MARK.sub(replacement, text))


def _moment(stamp: str, where: str) -> float:
    if not _STAMP.fullmatch(stamp):
        raise invalid(f"{where}, ts", "is not a time such as 1700000000.000100")
    return float(stamp)
