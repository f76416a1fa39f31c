"""Contacts: vCards (RFC 2426, RFC 6350, and version 2.1 of older telephones).

A contact becomes a memory of a person. Their work, birthday, numbers and addresses, relatives and
notes become memories that are part of it. Lines are taken apart by icalendar: both formats share
them.
"""

import quopri
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from remembrancer.extras import extra
from remembrancer.importers.bundle import Bundle, Member, note_unread
from remembrancer.importers.captions import label
from remembrancer.importers.exported_memories import ExportedMemory, key_of
from remembrancer.importers.formats.statements import statements
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, in_years, invalid
from remembrancer.memories.schemas import Category, Relation

PLATFORM: Final = "contacts"
ENDING: Final = ".vcf"
_READ: Final = frozenset(
    """
    ADR ANNIVERSARY BDAY CATEGORIES EMAIL FN IMPP N NICKNAME NOTE ORG RELATED REV ROLE TEL
    TITLE UID URL X-ABLABEL X-ABRELATEDNAMES
    """.split()  # noqa: SIM905
)
_LEFT: Final = frozenset({"BEGIN", "END", "KEY", "LOGO", "PHOTO", "PRODID", "SOUND", "VERSION"})
_TYPES: Final = frozenset({"home", "work", "cell", "fax", "pager", "mobile"})
_DAYS: Final = {"BDAY": "birthday", "ANNIVERSARY": "anniversary"}
_REACHED: Final = {
    "TEL": "telephone number",
    "EMAIL": "e-mail address",
    "ADR": "address",
    "IMPP": "messenger",
    "URL": "web page",
}
_BARE: Final = {"QUOTED-PRINTABLE": "ENCODING", "BASE64": "ENCODING"}
"""Parameters of version 2.1 that stand without their name and are no type."""
_SEPARATOR: Final = re.compile(r"(?<!\\);")
_ESCAPE: Final = re.compile(r"\\([\\,;:nN])")
_DATE: Final = re.compile(r"(?:(\d{4})-?|--)(\d\d)-?(\d\d)(?!\d)")
_BROKEN = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What icalendar raises for a line of another form."""
_OF_GOOGLE: Final = "myContacts"
"""The group that all contacts of Google are in."""


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    kind: str
    """``home``, ``work`` and the like."""
    group: str = ""

    def parts(self) -> list[str]:
        """Return the parts of a structured value."""
        return [label(unescaped(part)) for part in _SEPARATOR.split(self.text)]

    def shown(self) -> str:
        return label(unescaped(self.text))


@dataclass(slots=True)
class _Card:
    values: defaultdict[str, list[_Value]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, str] = field(default_factory=dict)
    """What the user calls the values of a group, by group."""

    def add(self, name: str, value: _Value) -> None:
        self.values[name].append(value)
        if name == "X-ABLABEL" and value.group:
            self.labels[value.group] = value.shown()

    def all(self, name: str) -> list[str]:
        return list(dict.fromkeys(filter(None, (value.shown() for value in self.values[name]))))

    def first(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def organisation(self) -> str:
        return next((", ".join(filter(None, value.parts())) for value in self.values["ORG"]), "")

    def name(self) -> str:
        if shown := self.first("FN"):
            return shown
        for value in self.values["N"]:
            family, given, *_ = [*value.parts(), ""]
            if given or family:
                return f"{given} {family}".strip()
        return self.organisation() or self.first("NICKNAME") or self.first("EMAIL")

    def label_of(self, value: _Value) -> str:
        """Return what the user calls a value, such as "spouse", or its kind."""
        shown = self.labels.get(value.group) or value.kind
        return shown.removeprefix("_$!<").removesuffix(">!$_").casefold()

    def labelled(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the values of a name, each with its label."""
        for value in self.values[name]:
            shown = ", ".join(filter(None, value.parts())) if name == "ADR" else value.shown()
            if shown and not shown.startswith("urn:"):
                yield self.label_of(value), shown

    def groups(self) -> list[str]:
        """Return the groups of the address book that the contact is in."""
        names = (label(name) for shown in self.all("CATEGORIES") for name in shown.split(","))
        return [name for name in dict.fromkeys(names) if name and name != _OF_GOOGLE]


def members(bundle: Bundle) -> list[Member]:
    """Return the files with contacts, or the only file whatever it is called."""
    found = [Member(bundle, name) for name in bundle.names()]
    return [m for m in found if len(found) == 1 or m.path.suffix.casefold() == ENDING]


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    seen: set[str] = set()
    files = members(bundle)
    note_unread(bundle, files, notes)
    for member in files:
        for card in _cards(member, notes):
            for memory in _memories(card, notes):
                if memory.key not in seen:
                    seen.add(memory.key)
                    yield memory


def _cards(member: Member, notes: Notes) -> Iterator[_Card]:
    card: _Card | None = None
    count = 0
    for line in _lines(member.text()):
        group, name, parameters, text = _parted(line)
        is_border = name in {"BEGIN", "END"} and text.strip().casefold() == "vcard"
        if is_border and card is not None:
            yield card
        if is_border:
            card = _Card() if name == "BEGIN" else None
            count += 1
        elif card is not None and name in _READ:
            card.add(name, _Value(_decoded(text, parameters), _kind(name, parameters), group))
        elif card is not None and name not in _LEFT:
            notes.unknown_field(f"contact.{label(name.casefold())}")
    if card is not None:
        raise invalid(member.where, "ends within a contact; export the contacts again")
    if not count:
        raise invalid(member.where, "is no list of contacts; export them as vCard (.vcf)")


def _lines(text: str) -> Iterator[str]:
    """Yield the lines, unfolded: by a space before their rest, or in version 2.1 by a sign."""
    with extra("cli"):
        from icalendar.parser import Contentlines  # noqa: PLC0415

    try:
        lines = Contentlines.from_ical(text)  # type: ignore[no-untyped-call]
    except _BROKEN:
        return
    begun: list[str] = []
    is_printable = False
    for line in filter(None, lines):
        if not begun:
            is_printable = "QUOTED-PRINTABLE" in line.partition(":")[0].upper()
        begun.append(line)
        if not is_printable or not line.endswith("="):
            yield "\n".join(begun)
            begun = []
    if begun:
        yield "\n".join(begun)


def _parted(line: str) -> tuple[str, str, Mapping[str, str], str]:
    """Return the group, the name, the parameters and the value of a line."""
    from icalendar.parser import Contentline  # noqa: PLC0415

    try:
        name, found, text = Contentline(line).raw_parts()  # type: ignore[no-untyped-call]
        parameters = {key.upper(): _joined(value) for key, value in found.items()}
    except _BROKEN:
        # Version 2.1 has parameters without a name.
        head, _, text = line.partition(":")
        name, *words = head.split(";")
        pairs = (word.rpartition("=") for word in words)
        parameters = defaultdict(str)
        for key, _, value in pairs:
            parameters[key.strip().upper() or _BARE.get(value.upper(), "TYPE")] += f"{value},"
    group, _, name = name.rpartition(".")
    return group.casefold(), name.strip().upper(), parameters, text


def _joined(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _decoded(text: str, parameters: Mapping[str, str]) -> str:
    if "QUOTED-PRINTABLE" not in parameters.get("ENCODING", "").upper():
        return text
    charset = parameters.get("CHARSET", "").strip(",") or "utf-8"
    try:
        return quopri.decodestring(text.encode()).decode(charset, "replace")
    except (LookupError, ValueError):
        return text


def _kind(name: str, parameters: Mapping[str, str]) -> str:
    types = [label(word).casefold() for word in parameters.get("TYPE", "").split(",")]
    return next((word for word in types if word in _TYPES or name == "RELATED"), "")


def unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda mark: "\n" if mark[1] in "nN" else mark[1], text)


def _memories(card: _Card, notes: Notes) -> Iterator[ExportedMemory]:
    name = card.name()
    if not name:
        notes.skip("contact without a name")
        return
    uid = card.first("UID") or card.first("EMAIL") or card.first("TEL")
    groups = card.groups()
    within = f", in {', '.join(groups)}" if groups else ""
    at = moment(card.first("REV"))
    person = ExportedMemory(
        key=key_of(PLATFORM, uid, name),
        content=f"{name} is one of the contacts{within}.",
        platform=PLATFORM,
        category=Category.PERSON,
        subject=name,
        at=at if at is not None and in_years(at) else None,
    )
    yield person
    for category, content in _facts(card, name):
        yield replace(
            person,
            key=key_of(PLATFORM, person.key, content),
            content=content,
            category=category,
            associations=[(person.key, Relation.PART_OF)],
        )


def _facts(card: _Card, name: str) -> Iterator[tuple[Category, str]]:
    for nickname in card.all("NICKNAME"):
        yield Category.PERSON, f"{name} is also called {nickname}."
    yield from _work(card, name)
    for key, what in _DAYS.items():
        if (day := _day(card.first(key))) is not None:
            yield Category.MILESTONE, f"{name}'s {what} is on {day}."
    yield from _ways(card, name)
    relatives = chain(card.labelled("RELATED"), card.labelled("X-ABRELATEDNAMES"))
    for kind, shown in relatives:
        yield Category.RELATIONSHIP, f"{name}'s {kind or 'relative'} is {shown}."
    for note in card.values["NOTE"]:
        for statement in statements(PLATFORM, None, unescaped(note.text), said_of=name):
            yield Category.PERSON, statement.content


def _ways(card: _Card, name: str) -> Iterator[tuple[Category, str]]:
    """Yield the ways to reach somebody."""
    for key, what in _REACHED.items():
        for kind, shown in card.labelled(key):
            address = shown.removeprefix("tel:").removeprefix("mailto:")
            yield Category.PERSON, f"{name}'s {f'{what} ({kind})' if kind else what} is {address}."


def _work(card: _Card, name: str) -> Iterator[tuple[Category, str]]:
    work, title = card.organisation(), card.first("TITLE") or card.first("ROLE")
    if work != name and (work or title):
        at, role = f" at {work}" if work else "", f" as {title}" if title else ""
        yield Category.OCCUPATION, f"{name} works{at}{role}."


def _day(text: str) -> str | None:
    """Return a date as ``2024-03-01``, or ``03-01`` without its year; null for what is none."""
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day = match.groups()
    # Apple writes 1604 for a year that is not known.
    return f"{month}-{day}" if year is None or year == "1604" else f"{year}-{month}-{day}"
