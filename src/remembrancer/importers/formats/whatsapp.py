"""WhatsApp's chat exports: one text, from Android or iOS, in any date order.

Names come from the exporter's address book, and times from their clock. So an import needs that
person and their time zone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find, only
from remembrancer.importers.captions import caption, clean, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import Notes, invalid
from remembrancer.importers.turns import storable

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
_NAMED_OMITTED = re.compile(
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
    number: int
    date: tuple[str, str, str]
    hour: int
    minute: int
    second: int
    sender: str | None
    text: str


def looks_like(text: str) -> bool:
    first = text.lstrip().partition("\n")[0].translate(_SPACES)
    return _HEAD.match(first) is not None


def chat(bundle: Bundle) -> Member | None:
    if len(bundle.names()) == 1:
        return Member(bundle, bundle.names()[0])
    return find(bundle, "_chat.txt") or only(bundle, ".txt")


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = chat(bundle)
    if member is None:
        raise invalid(bundle.name, "has no chat or several; import one WhatsApp export at a time")
    where = member.where
    if options.time_zone is None:
        raise invalid(where, "has times without a zone; name one, such as --time-zone Europe/Paris")
    lines = list(_lines(member.text(), where))
    if not lines:
        raise invalid(where, "has no WhatsApp message; import the chat unedited")
    title = _title(member, bundle)
    me = _me(lines, title, options.me, where)
    order = options.date_order or _order(lines, where)
    turns = [
        turn
        for line in lines
        if (turn := _turn(line, order, me, where, options, notes)) is not None
    ]
    yield from storable(PLATFORM, title, turns, notes, options, title=title, personal=True)


def _lines(text: str, where: str) -> Iterator[_Line]:
    head: re.Match[str] | None = None
    number, text_lines = 0, [""]
    for at, raw in enumerate(text.splitlines() if "\u2028" not in text else text.split("\n"), 1):
        match = _HEAD.fullmatch(raw.translate(_SPACES).rstrip("\r"))
        if match is None:
            if head is None and raw.strip():
                raise invalid(
                    f"{where}, line {at}",
                    "is no WhatsApp message; import the chat unedited",
                )
            text_lines.append(raw)
            continue
        if head is not None:
            yield _line(number, head, "\n".join(text_lines), where)
        head, number, text_lines = match, at, [match[8]]
    if head is not None:
        yield _line(number, head, "\n".join(text_lines), where)


def _line(number: int, head: re.Match[str], text: str, where: str) -> _Line:
    hour, half = int(head[4]), (head[7] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minute, second = int(head[5]), int(head[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise invalid(f"{where}, line {number}", "has an invalid time")
    sender, colon, content = text.partition(": ")
    if not colon and text.partition("\n")[0].endswith(":"):
        sender, colon, content = text.partition(":")
    # A system message with a colon has a quoted name or group before it.
    has_sender = colon and "\n" not in sender and not re.search(r'["“”«»]', sender)
    return _Line(
        number,
        (head[1], head[2], head[3]),
        hour,
        minute,
        second,
        label(sender.strip("\u200e\u202a\u202c ~")) if has_sender else None,
        content if has_sender else text,
    )


def _order(lines: Sequence[_Line], where: str) -> DateOrder:
    """Return the only order in which all dates are valid, or valid and rising."""
    possible = [order for order in DateOrder if _is_possible(lines, order)]
    rising = [order for order in possible if _is_rising(lines, order)]
    if len(possible) == 1 or len(rising) == 1:
        return (possible if len(possible) == 1 else rising)[0]
    if not possible:
        raise invalid(where, "has dates in mixed orders; name one with --date-order")
    raise invalid(where, "has ambiguous days and months; name the order: --date-order dmy or mdy")


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
    """Return the exporter: the person named by ``--as``, else the other person of two.

    The chat has the name of one of them; a group in which only one person wrote has not.
    """
    senders = {line.sender for line in lines if line.sender is not None}
    if named is not None:
        matches = [name for name in senders if name.casefold() == label(named).casefold()]
        if matches:
            return matches[0]
        raise invalid(where, "has no sender with the name that --as gives; use a name of the chat")
    others = senders - {title}
    if title in senders and len(others) == 1:
        return others.pop()
    raise invalid(where, "does not name its exporter; name the sender who is --user with --as")


def _turn(
    line: _Line, order: DateOrder, me: str, where: str, options: Options, notes: Notes
) -> Turn | None:
    if line.sender is None:
        notes.skip("system message")
        return None
    content, note = _content(line.text)
    if note is not None:
        notes.skip(note)
        return None
    try:
        day = _day(line, order)
    except ValueError:
        raise invalid(
            f"{where}, line {line.number}", "has an invalid date; check --date-order"
        ) from None
    at = day.replace(
        hour=line.hour, minute=line.minute, second=line.second, tzinfo=options.time_zone
    )
    return Turn(
        role=MessageRole.USER,
        content=content,
        sender=line.sender,
        platform_user_id=None if line.sender == me else _platform_id(line.sender),
        sent_at=at,
    )


def _content(text: str) -> tuple[str, str | None]:
    """Return the content of a message, or the reason to skip it."""
    text = _EDITED.sub("", clean(text))
    captioned = _captioned(text)
    if captioned is not None:
        return captioned, None
    if text.startswith("\u200e"):
        return "", "system message"
    deleted = text in {"This message was deleted", "You deleted this message"}
    return text, "deleted message" if deleted else None


def _captioned(text: str) -> str | None:
    """Return caption and text of a message with an attachment; null for any other message."""
    first, _, rest = text.partition("\n")
    if match := _ATTACHED.search(first):
        return joined(_caption(match[1]), first.replace(match[0], "").strip("\u200e "), rest)
    if match := _FILE.fullmatch(first):
        return joined(_caption(match[1]), rest)
    if match := _NAMED_OMITTED.fullmatch(text):
        return caption(match[1].lower().replace("image", "photo"))
    return caption("media") if _OMITTED.fullmatch(text.strip("\u200e")) else None


def _caption(name: str) -> str:
    ending = PurePosixPath(name).suffix.lower().removeprefix(".")
    kind = next((kind for kind, endings in _KINDS.items() if ending in endings), "file")
    return caption(kind, name)


def _platform_id(sender: str) -> str:
    # A telephone number is the same in every address book, whatever its spacing.
    return "+" + re.sub(r"\D", "", sender) if _NUMBER.fullmatch(sender) else sender


def _title(member: Member, bundle: Bundle) -> str:
    stem = PurePosixPath(member.name).stem
    if stem == "_chat":
        stem = PurePosixPath(bundle.name).stem
    # A browser numbers a second download.
    stem = re.sub(r" ?\(\d{1,3}\)$", "", stem)
    match = _TITLE.match(stem)
    return label(match[1] if match else stem) or "chat"
