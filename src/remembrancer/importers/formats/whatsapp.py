"""WhatsApp's chat exports: one text, as Android or iOS writes it, in any of their date orders.

Names are those in the address book of whoever exported it, and times those of their clock, so
neither means anything without that person and their time zone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find, only
from remembrancer.importers.exported_conversations import Transcript, Turn, wrong
from remembrancer.importers.parse import DateOrder, Notes, Options, caption, joined, label
from remembrancer.importers.turns import conversation

PLATFORM: Final = "whatsapp"
_HEAD = re.compile(
    r"\u200e?\[?(\d{1,4})[./-](\d{1,2})[./-](\d{1,4}),? "
    r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?: ?([ap])\.? ?m\.?)?(?:\] | - )(.*)",
    re.IGNORECASE,
)
_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u2007": " "})
_TITLE = re.compile(
    r"(?:WhatsApp Chat (?:with|-)|Chat WhatsApp (?:con|com|mit|avec)) *(.+)", re.IGNORECASE
)
_ATTACHED = re.compile(r"<[^<>:]{1,30}: ?([^<>]+\.\w{1,5})>")
_FILE = re.compile(r"\u200e?([^\n]+\.\w{1,5}) \([^()\n]{3,40}\)")
_OMITTED = re.compile(r"<[^<>:\n]{3,40}>")
_LEFT_OUT = re.compile(
    r"\u200e(image|video|audio|sticker|GIF|document|contact card) omitted", re.IGNORECASE
)
_EDITED = re.compile(r" ?\u200e?<This message was edited>$")
_NUMBER = re.compile(r"\+[\d ()-]{6,24}")
_KINDS = {
    "photo": ("jpg", "jpeg", "png", "heic", "gif"),
    "video": ("mp4", "mov", "3gp", "avi"),
    "audio": ("opus", "m4a", "mp3", "aac", "ogg", "amr"),
    "sticker": ("webp",),
    "contact": ("vcf",),
}


@dataclass(frozen=True, slots=True)
class _Line:
    """A message as it stands there; without a sender it is the application that speaks."""

    number: int
    date: tuple[str, str, str]
    hour: int
    minute: int
    second: int
    sender: str | None
    said: str


def looks_like(text: str) -> bool:
    """Say whether the first line of a text with anything in it begins like a message."""
    first = text.lstrip().partition("\n")[0].translate(_SPACES)
    return _HEAD.match(first) is not None


def chat(bundle: Bundle) -> Member | None:
    """Return the text of the chat in an archive, or the one text."""
    if len(bundle.names()) == 1:
        return Member(bundle, bundle.names()[0])
    return find(bundle, "_chat.txt") or only(bundle, ".txt")


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    """Yield the chat."""
    member = chat(bundle)
    if member is None:
        raise wrong(bundle.name, "is no WhatsApp export: it holds no chat, or several")
    where = member.where
    if options.time_zone is None:
        raise wrong(where, "has times without a zone; say which with --time-zone Europe/Paris")
    lines = list(_lines(member.text(), where))
    if not lines:
        raise wrong(where, "holds no message as WhatsApp writes them")
    title = _title(member, bundle)
    me = _me(lines, title, options.me, where)
    order = options.date_order or _order(lines, where)
    turns = [
        turn
        for line in lines
        if (turn := _turn(line, order, me, where, options, notes)) is not None
    ]
    yield from conversation(PLATFORM, title, turns, notes, options, title=title, personal=True)


def _lines(text: str, where: str) -> Iterator[_Line]:
    head: re.Match[str] | None = None
    number, said = 0, [""]
    for at, raw in enumerate(text.splitlines() if "\u2028" not in text else text.split("\n"), 1):
        found = _HEAD.fullmatch(raw.translate(_SPACES).rstrip("\r"))
        if found is None:
            if head is None and raw.strip():
                raise wrong(f"{where}, line {at}", "does not begin like a message of WhatsApp")
            said.append(raw)
            continue
        if head is not None:
            yield _line(number, head, "\n".join(said), where)
        head, number, said = found, at, [found[8]]
    if head is not None:
        yield _line(number, head, "\n".join(said), where)


def _line(number: int, head: re.Match[str], text: str, where: str) -> _Line:
    hour, half = int(head[4]), (head[7] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minute, second = int(head[5]), int(head[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise wrong(f"{where}, line {number}", "has a time that no clock shows")
    sender, colon, said = text.partition(": ")
    if not colon and text.partition("\n")[0].endswith(":"):
        sender, colon, said = text.partition(":")
    # What the application says of people may have a colon too, but then quotes a name or group.
    named = colon and "\n" not in sender and not re.search(r'["“”«»]', sender)
    return _Line(
        number,
        (head[1], head[2], head[3]),
        hour,
        minute,
        second,
        label(sender.strip("\u200e\u202a\u202c ~")) if named else None,
        said if named else text,
    )


def _order(lines: Sequence[_Line], where: str) -> DateOrder:
    """Return the one order in which all dates are dates, and none is before the last."""
    possible = [order for order in DateOrder if _is_possible(lines, order)]
    rising = [order for order in possible if _is_rising(lines, order)]
    if len(possible) == 1 or len(rising) == 1:
        return (possible if len(possible) == 1 else rising)[0]
    if not possible:
        raise wrong(where, "has dates in no one order; say which with --date-order")
    raise wrong(where, "does not tell days from months; say which with --date-order dmy or mdy")


def _is_possible(lines: Sequence[_Line], order: DateOrder) -> bool:
    try:
        for line in lines:
            _day(line, order)
    except ValueError:
        return False
    return True


def _is_rising(lines: Sequence[_Line], order: DateOrder) -> bool:
    days = [_day(line, order) for line in lines]
    return days == sorted(days)


def _day(line: _Line, order: DateOrder) -> datetime:
    parts = dict(zip(order.value, line.date, strict=True))
    year = parts["y"]
    if len(year) == 3 or len(parts["m"]) > 2 or len(parts["d"]) > 2 or len(year) == 1:
        raise ValueError(year)
    return datetime(int(year) + (2000 if len(year) == 2 else 0), int(parts["m"]), int(parts["d"]))  # noqa: DTZ001


def _me(lines: Sequence[_Line], title: str, named: str | None, where: str) -> str:
    """Return who exported the chat: the one named, else the other one of two."""
    senders = {line.sender for line in lines if line.sender is not None}
    if named is not None:
        same = [name for name in senders if name.casefold() == label(named).casefold()]
        if same:
            return same[0]
        raise wrong(where, "has nobody of the name that --as says")
    others = senders - {title}
    if len(others) == 1:
        return others.pop()
    raise wrong(where, "does not say who exported it; say with --as which name in it is --user")


def _turn(
    line: _Line, order: DateOrder, me: str, where: str, options: Options, notes: Notes
) -> Turn | None:
    if line.sender is None:
        notes.skip("line of the application")
        return None
    said, note = _said(line.said)
    if note is not None:
        notes.skip(note)
        return None
    try:
        day = _day(line, order)
    except ValueError:
        raise wrong(f"{where}, line {line.number}", "has a date that is none") from None
    at = day.replace(
        hour=line.hour, minute=line.minute, second=line.second, tzinfo=options.time_zone
    )
    return Turn(
        role=MessageRole.USER,
        content=said,
        sender=line.sender,
        platform_user_id=None if line.sender == me else _platform_id(line.sender),
        sent_at=at,
    )


def _said(text: str) -> tuple[str, str | None]:
    """Return what a message says, and why it is left out if it is."""
    text = _EDITED.sub("", text.strip(" \r\n"))
    captioned = _captioned(text)
    if captioned is not None:
        return captioned, None
    if text.startswith("\u200e"):
        return "", "line of the application"
    gone = text in {"This message was deleted", "You deleted this message"}
    return text, "deleted message" if gone else None


def _captioned(text: str) -> str | None:
    """Return a message with an attachment as its caption and words; null for any other."""
    first, _, rest = text.partition("\n")
    if found := _ATTACHED.search(first):
        return joined(_caption(found[1]), first.replace(found[0], "").strip("\u200e "), rest)
    if found := _FILE.fullmatch(first):
        return joined(_caption(found[1]), rest)
    if found := _LEFT_OUT.fullmatch(text):
        return caption(found[1].lower().replace("image", "photo"))
    return caption("media") if _OMITTED.fullmatch(text.strip("\u200e")) else None


def _caption(name: str) -> str:
    ending = PurePosixPath(name).suffix.lower().removeprefix(".")
    kind = next((kind for kind, endings in _KINDS.items() if ending in endings), "file")
    return caption(kind, name)


def _platform_id(sender: str) -> str:
    # A telephone number means the same in every address book, however it is spaced.
    return "+" + re.sub(r"\D", "", sender) if _NUMBER.fullmatch(sender) else sender


def _title(member: Member, bundle: Bundle) -> str:
    """Return the name of the chat, which only the file's name has."""
    stem = PurePosixPath(member.name).stem
    if stem == "_chat":
        stem = PurePosixPath(bundle.name).stem
    found = _TITLE.match(stem)
    return label(found[1] if found else stem) or "chat"
