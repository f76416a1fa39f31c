"""Chats of SillyTavern, a JSONL file each, and of Character.AI as CAI Tools saves them for it.

The first line names the person and the character; each other line is a message, with the version
of an answer that was chosen. Times are ISO 8601, milliseconds since 1970, or local times in one of
two forms, by the version of SillyTavern. Its source reads all of them.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, files, note_unread
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable

PLATFORM: Final = "sillytavern"
_LOCAL_TIMES: Final = (
    "%B %d, %Y %I:%M%p", "%B %d, %Y %I:%M %p",
    "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss %fms",
)  # fmt: skip


class _Header(Record):
    character_name: str | None = None


class _Extra(Record):
    type: str | None = None
    image: str | None = None
    file: dict[str, object] | None = None


class _Message(Record):
    mes: str
    name: str = ""
    is_user: bool = False
    send_date: str | int | float | None = None
    extra: dict[str, object] | None = None


def looks_like(line: object) -> bool:
    """Tell by the first line of a file."""
    return isinstance(line, Mapping) and (
        "chat_metadata" in line or {"user_name", "character_name"} <= line.keys()
    )


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = files(bundle, ".jsonl")
    for member in found:
        yield from _chat(member, options, notes)
    note_unread(bundle, found, notes)


def _chat(member: Member, options: Options, notes: Notes) -> Iterator[Transcript]:
    lines = member.json_lines()
    where, first = next(lines, (member.where, None))
    if not looks_like(first):
        notes.skip("file without a chat")
        return
    name = label(record(_Header, first, where).character_name)
    turns = (turn for at, line in lines for turn in _turns(line, at, options, notes))
    key = f"{name[:60]}/{label(member.path.stem)[:150]}"
    yield from storable(PLATFORM, key, turns, notes, options, title=name, personal=True)


def _turns(line: object, where: str, options: Options, notes: Notes) -> Iterator[Turn]:
    message = record(_Message, line, where, notes)
    extra = record(_Extra, message.extra or {}, f"{where}, extra")
    if extra.type:
        notes.skip(f"message of kind {label(extra.type)}")
        return
    yield Turn(
        role=MessageRole.USER if message.is_user else MessageRole.ASSISTANT,
        content=joined(*_captions(extra), message.mes),
        sender=label(message.name) or None,
        sent_at=_time(message, f"{where}, send_date", options),
    )


def _captions(extra: _Extra) -> Iterator[str]:
    if extra.image:
        yield caption("photo", extra.image.rpartition("/")[2])
    if extra.file:
        yield caption("file", str(extra.file.get("name") or ""))


def _time(message: _Message, where: str, options: Options) -> datetime | None:
    written = message.send_date
    if not written:
        return None
    local = _local(written) if isinstance(written, str) else None
    if local is None:
        at = moment(int(written) if isinstance(written, str) and _is_number(written) else written)
        if at is None:
            raise invalid(where, "is not a time that SillyTavern writes")
        return at
    if options.time_zone is None:
        raise invalid(where, "has no time zone; name one with --time-zone")
    return local.replace(tzinfo=options.time_zone)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 16


def _local(text: str) -> datetime | None:
    for form in _LOCAL_TIMES:
        try:
            return datetime.strptime(f"{text.strip()} +0000", f"{form} %z")
        except ValueError:
            continue
    return None
