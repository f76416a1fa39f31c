"""Render memories to the text of a prompt. Pure: the same input gives the same bytes."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain, groupby
from typing import Any

from remembrancer import tokens
from remembrancer.context.lines import (
    MemoryLine,
    MessageLine,
    Reader,
    clock,
    date_text,
    memory_line,
    zone_of,
)
from remembrancer.context.rows import PromptMemory
from remembrancer.context.template_files import Templates
from remembrancer.context.token_budget import Entry, FilledText, fill
from remembrancer.memories.schemas import Kind
from remembrancer.sanitizer import prompt_line

IDENTITY = "Identity"
PLACES = "Places"


@dataclass(slots=True, kw_only=True)
class MemoryEntry(Entry):
    """A memory as an entry, with its row for the order of entries."""

    memory: PromptMemory
    quoted: bool


@dataclass(slots=True, kw_only=True)
class MessageEntry(Entry):
    """A message as an entry: it shares a line with others of its day and conversation."""

    message: MessageLine


Order = Callable[[MemoryEntry], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a context, and its speaker."""

    at: datetime
    time_zone: str
    speaker: str | None = None
    user_id: str | None = None
    joined: bool = False


class Renderer:
    """Renders blocks of text, each within its budget of tokens."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def memory(self, memory: MemoryLine) -> str:
        m = memory
        if m.kind == Kind.PLACE:
            values = (m.shared, m.quoted, m.mentions, m.mentioned_in)
            return self._templates.line("place", m.id, m.content, *values)
        return self._templates.line(
            "memory", m.id, m.subject, m.content, m.shared, m.quoted, m.date
        )

    def messages(self, messages: Sequence[MessageLine], year: int | None = None) -> str:
        """Return the line of messages of one day of a conversation, in order.

        ``year`` is that of the line before: it stands once.
        """
        return self._templates.line("messages", date_text(messages[0].day, year), messages)

    def forgotten(self, memory_id: str) -> str:
        return self._templates.line("forgotten", memory_id)

    def entries(self, memories: Iterable[PromptMemory], reader: Reader) -> Iterator[MemoryEntry]:
        return self._entries(memories, reader, _stable_section)

    def stable(
        self, entries: Sequence[MemoryEntry], left_out: int, space: str | None = None
    ) -> str:
        """Return the stable block: identity, then by category, places, what lies in the space.

        Within a section by age, then id.
        """
        return self._block("stable.md.j2", entries, _stable_order, left_out, space=space)

    def fill_stable(
        self,
        entries: Iterable[MemoryEntry],
        total: int,
        budget: int,
        space: str | None = None,
    ) -> FilledText[MemoryEntry]:
        """Return a stable block of the first of ``entries`` that fit, out of ``total``."""
        return self._fill("stable.md.j2", entries, _stable_order, total, budget, space=space)

    def fill_bulletin(
        self, memories: Sequence[PromptMemory], total: int, budget: int
    ) -> FilledText[MemoryEntry]:
        """Return the bulletin: shared knowledge by kind, then age, then id."""
        entries = self._entries(memories, Reader(), lambda line, _: _title(line.kind))
        return self._fill("bulletin.md.j2", entries, _bulletin_order, total, budget)

    def fill_dynamic(
        self, moment: Moment, entries: Sequence[Entry], budget: int
    ) -> FilledText[Entry]:
        """Return the dynamic block: the time, the speaker, and as many entries as fit.

        Entries are chosen by what they are worth, and stand in the order given. Messages of one day
        of a conversation share a line, where the best of them stands.
        """
        titles = list(dict.fromkeys(str(entry.section) for entry in entries))
        places = {entry.ids: place for place, entry in enumerate(entries)}

        def groups_of(chosen: Sequence[Entry], title: str) -> Sequence[Sequence[Entry]]:
            return _groups(sorted(chosen, key=lambda entry: places[entry.ids]), title)

        def text(chosen: Sequence[Entry]) -> str:
            sections = [
                Section(title, self._lines(groups))
                for title in titles
                if (groups := groups_of(chosen, title))
            ]
            return self._templates.text(
                "dynamic.md.j2",
                now=clock(moment.at, zone_of(moment.time_zone)),
                time_zone=moment.time_zone,
                speaker=prompt_line(moment.speaker) if moment.speaker else None,
                user_id=moment.user_id,
                joined=moment.joined,
                sections=sections,
            )

        by_worth = sorted(entries, key=lambda entry: -entry.worth)
        filled = fill(by_worth, budget, text, self._price)
        groups = (group for title in titles for group in groups_of(filled.entries, title))
        return FilledText(filled.text, filled.tokens, [*chain.from_iterable(groups)])

    def _lines(self, groups: Sequence[Sequence[Entry]]) -> list[str]:
        years = [None, *(_year(group[0]) for group in groups)]
        return [self._line(group, year) for group, year in zip(groups, years, strict=False)]

    def _line(self, entries: Sequence[Entry], year: int | None = None) -> str:
        messages = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
        return self.messages(messages, year) if messages else entries[0].line

    def _price(self, entry: Entry, chosen: Sequence[Entry]) -> int:
        """Return the tokens that an entry adds to the line it shares."""
        line = [other for other in chosen if _line_key(other) == _line_key(entry)]
        if not line:
            year = _year(entry)
            known = any(_year(other) == year for other in chosen)
            return tokens.count(f"{self._line([entry], year if known else None)}\n")
        longer = self._line(sorted([*line, entry], key=_position))
        return tokens.count(longer) - tokens.count(self._line(sorted(line, key=_position)))

    def _entries(
        self,
        memories: Iterable[PromptMemory],
        reader: Reader,
        section: Callable[[MemoryLine, Reader], tuple[str, str]],
    ) -> Iterator[MemoryEntry]:
        for memory in memories:
            line = memory_line(memory, reader)
            title, heading = section(line, reader)
            yield MemoryEntry(
                self.memory(line), title, heading, (line.id,), memory=memory, quoted=line.quoted
            )

    def _block(
        self,
        template: str,
        entries: Sequence[MemoryEntry],
        order: Order,
        left_out: int,
        **values: str | None,
    ) -> str:
        sections = [
            Section(str(title), [entry.line for entry in group])
            for title, group in groupby(sorted(entries, key=order), key=lambda entry: entry.section)
        ]
        return self._templates.text(template, sections=sections, left_out=left_out, **values)

    def _fill(
        self,
        template: str,
        entries: Iterable[MemoryEntry],
        order: Order,
        total: int,
        budget: int,
        **values: str | None,
    ) -> FilledText[MemoryEntry]:
        filled = fill(
            entries,
            budget,
            lambda chosen: self._block(template, chosen, order, total - len(chosen), **values),
        )
        return FilledText(filled.text, filled.tokens, sorted(filled.entries, key=order))


def _groups(entries: Iterable[Entry], section: str) -> Sequence[Sequence[Entry]]:
    """Return the entries of each line of a section."""
    groups: dict[Hashable, list[Entry]] = {}
    for entry in entries:
        if entry.section == section:
            groups.setdefault(_line_key(entry), []).append(entry)
    return [sorted(group, key=_position) for group in groups.values()]


def _line_key(entry: Entry) -> Hashable:
    if not isinstance(entry, MessageEntry):
        return entry.ids
    return entry.section, entry.message.conversation_id, entry.message.day


def _year(entry: Entry) -> int | None:
    return entry.message.day.year if isinstance(entry, MessageEntry) else None


def _position(entry: Entry) -> int:
    return entry.message.position if isinstance(entry, MessageEntry) else 0


@cache
def _title(name: str) -> tuple[str, str]:
    """Return the title of a section, and its heading as it counts against a budget."""
    title = prompt_line(name).title()
    return title, f"### {title}"


def _stable_section(line: MemoryLine, reader: Reader) -> tuple[str, str]:
    if line.in_space:
        title = f"In the space {reader.space}"
        return title, f"### {title}"
    if line.kind == Kind.IDENTITY and not line.shared:
        return _title(IDENTITY)
    return _title(PLACES if line.kind == Kind.PLACE else line.category)


def _stable_order(entry: MemoryEntry) -> tuple[Any, ...]:
    in_space = entry.memory.space_id is not None
    places = entry.section == PLACES
    by_category = not in_space and entry.section not in {IDENTITY, PLACES}
    return (
        in_space,
        places,
        entry.section != IDENTITY,
        entry.memory.category if by_category else "",
        *_age(entry.memory),
    )


def _bulletin_order(entry: MemoryEntry) -> tuple[Any, ...]:
    return (entry.section, *_age(entry.memory))


def _age(memory: PromptMemory) -> tuple[Any, ...]:
    return (memory.created_at, memory.memory_id, str(memory.memory_owner_id))
