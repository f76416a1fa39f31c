"""WhatsApp's chat exports: one text, from Android or iOS, in the language of the phone.

A line begins with date and time (``whatsapp_heads.py``); what WhatsApp writes itself is in
``whatsapp.toml``. On iOS an invisible mark (U+200E) precedes it.

Names come from the exporter's address book, and times from their clock. So an import needs that
person and their time zone.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, find, only
from remembrancer.importers.captions import caption, clean, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.formats.whatsapp_heads import Head, head, year
from remembrancer.importers.formats.whatsapp_words import MARKS, vocabulary
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import Notes, invalid
from remembrancer.importers.turns import storable

PLATFORM: Final = "whatsapp"
FILE: Final = "_chat.txt"
_ATTACHED = re.compile(r"<[^<>:\uff1a]{1,30}[:\uff1a] ?([^<>]+\.\w{1,5})>")
_FILE = re.compile(r"([^\n]+\.\w{1,5}) \(([^()\n]{3,40})\)")
_OMITTED = re.compile(r"<[^<>:\n]{3,40}>")
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
    head: Head
    sender: str | None
    text: str


def looks_like(text: str) -> bool:
    return head(text.lstrip().partition("\n")[0]) is not None


def chat(bundle: Bundle) -> Member | None:
    if len(bundle.names()) == 1:
        return Member(bundle, bundle.names()[0])
    return find(bundle, FILE) or only(bundle, ".txt")


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = chat(bundle)
    if member is None:
        raise invalid(bundle.name, "has no chat or several; import one WhatsApp export at a time")
    where = member.where
    if options.time_zone is None:
        raise invalid(where, "has times without a zone; name one, such as --time-zone Europe/Paris")
    # Who and in which order is known after all lines.
    dates, senders = _Dates(), Counter[str | None]()
    for line in _lines(member.lines(), where):
        dates.add(line)
        senders[line.sender] += 1
    if not senders:
        raise invalid(where, "has no WhatsApp message; import the chat unedited")
    title = _title(member, bundle)
    me = _me([name for name in senders if name is not None], title, options.me, where)
    order = options.date_order or dates.order(where)
    turns = (
        turn
        for line in _lines(member.lines(), where)
        if (turn := _turn(line, order, me, where, options, notes)) is not None
    )
    yield from storable(PLATFORM, title, turns, notes, options, title=title, personal=True)


def _lines(raw_lines: Iterable[str], where: str) -> Iterator[_Line]:
    begun: Head | None = None
    number, text_lines = 0, [""]
    for at, raw in enumerate((line.rstrip("\r") for line in raw_lines), 1):
        found = head(raw)
        if found is None:
            if begun is None and raw.strip():
                raise invalid(
                    f"{where}, line {at}",
                    "is no WhatsApp message; import the chat unedited",
                )
            text_lines.append(raw)
            continue
        if begun is not None:
            yield _line(number, begun, "\n".join(text_lines), where)
        begun, number, text_lines = found, at, [found.rest]
    if begun is not None:
        yield _line(number, begun, "\n".join(text_lines), where)


def _line(number: int, begun: Head, text: str, where: str) -> _Line:
    if not begun.is_valid:
        raise invalid(f"{where}, line {number}", "has an invalid time")
    sender, colon, content = text.partition(": ")
    if not colon and text.partition("\n")[0].endswith(":"):
        sender, colon, content = text.partition(":")
    # A system message with a colon has a quoted name or group before it.
    has_sender = colon and "\n" not in sender and not re.search(r'["“”«»]', sender)
    name = label(sender.strip(f"{MARKS} ~")) if has_sender else None
    return _Line(number, begun, name, content if has_sender else text)


class _Dates:
    """The orders in which all dates are valid, and those of them in which they rise."""

    def __init__(self) -> None:
        self._latest = dict.fromkeys(DateOrder, datetime.min)  # noqa: DTZ901
        self._rising = set(DateOrder)

    def add(self, line: _Line) -> None:
        for order, latest in list(self._latest.items()):
            try:
                day = _day(line, order)
            except ValueError:
                del self._latest[order]
                continue
            if day < latest:
                self._rising.discard(order)
            self._latest[order] = day

    def order(self, where: str) -> DateOrder:
        """Return the only order in which all dates are valid, or valid and rising."""
        possible = list(self._latest)
        rising = [order for order in possible if order in self._rising]
        if len(possible) == 1 or len(rising) == 1:
            return (possible if len(possible) == 1 else rising)[0]
        if not possible:
            raise invalid(where, "has dates in mixed orders; name one with --date-order")
        orders = " or ".join(possible)
        raise invalid(
            where, f"has ambiguous days and months; name the order: --date-order {orders}"
        )


def _day(line: _Line, order: DateOrder) -> datetime:
    parts = dict(zip(order.value, line.head.date, strict=True))
    if len(parts["m"]) > 2 or len(parts["d"]) > 2:
        raise ValueError(parts)
    return datetime(year(parts["y"]), int(parts["m"]), int(parts["d"]))  # noqa: DTZ001


def _me(senders: Collection[str], title: str, named: str | None, where: str) -> str:
    """Return the exporter: the person named by ``--as``, else the other person of two.

    The chat has the name of one of them, or it is in the name of the file, among words of a
    language whose order is not known; a group in which only one person wrote has not.
    """
    if named is not None:
        matches = [name for name in senders if name.casefold() == label(named).casefold()]
        if matches:
            return matches[0]
        raise invalid(where, "has no sender with the name that --as gives; use a name of the chat")
    within = "whatsapp" in title.casefold()
    others = {name for name in senders if not (name in title if within else name == title)}
    if len(others) == 1 and len(senders) == 2:
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
        hour=line.head.hour,
        minute=line.head.minute,
        second=line.head.second,
        tzinfo=options.time_zone,
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
    text = _as_said(clean(text))
    if vocabulary().is_deleted(text):
        return "", "deleted message"
    if (captioned := _captioned(text)) is not None:
        return captioned, None
    if not text.startswith("\u200e"):
        return text, "system message" if vocabulary().is_notice(text) else None
    shared = _shared(text)
    return shared, None if shared else "system message"


def _shared(text: str) -> str:
    """Return the location or poll that a text of iOS has; empty for a notice."""
    first, _, rest = text.partition("\n")
    if "https://maps.google.com/" in first:
        return joined(caption("location"), first.partition(": ")[2], rest)
    return joined(caption("poll"), rest.replace("\u200e", "")) if "\u200e" in rest else ""


def _as_said(text: str) -> str:
    """Return a message without the mark that it was edited."""
    before, bracket, mark = text.rpartition("<")
    said = before.rstrip(f"{MARKS} ")
    if not said or not bracket or not mark.endswith(">"):
        return text
    # In any other language, an invisible mark before it says that the application wrote it.
    is_mark = before.endswith("\u200e") and not re.search(r"[:\uff1a\n]", mark)
    return said if is_mark or vocabulary().is_edited(mark[:-1]) else text


def _captioned(text: str) -> str | None:
    """Return caption and text of a message with an attachment; null for any other message."""
    words = vocabulary()
    first, _, rest = text.partition("\n")
    name, mark, last = first.rpartition("\u200e")
    if match := _ATTACHED.search(first):
        return joined(_caption(match[1]), first.replace(match[0], "").strip("\u200e "), rest)
    match = _FILE.fullmatch(first.strip(MARKS))
    if match and (first.startswith("\u200e") or words.is_attached(match[2])):
        return joined(_caption(match[1]), rest)
    if mark and (kind := words.kind_omitted(last.strip("<>"))):
        return joined(caption(kind, name.partition(" • ")[0].strip(f"{MARKS} ")), rest)
    if _OMITTED.fullmatch(first.strip(MARKS)):
        kind = words.kind_omitted(first.strip(f"{MARKS}<>")) or ("" if rest else "media")
        return joined(caption(kind), rest) if kind else None
    return None


def _caption(name: str) -> str:
    ending = PurePosixPath(name).suffix.lower().removeprefix(".")
    kind = next((kind for kind, endings in _KINDS.items() if ending in endings), "file")
    return caption(kind, name)


def _platform_id(sender: str) -> str:
    # A telephone number is the same in every address book, whatever its spacing.
    return "+" + re.sub(r"\D", "", sender) if _NUMBER.fullmatch(sender) else sender


def _title(member: Member, bundle: Bundle) -> str:
    stem = PurePosixPath(member.name).stem
    if stem == PurePosixPath(FILE).stem:
        stem = PurePosixPath(bundle.name).stem
    # A browser numbers a second download.
    stem = re.sub(r" ?\(\d{1,3}\)$", "", stem)
    return label(vocabulary().title(stem)) or "chat"
