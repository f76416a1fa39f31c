"""From what is known to the text of a prompt. Pure: the same input gives the same bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any

from remembrancer.context.lines import MemoryLine, SaidLine, clock, memory_line, zone_of
from remembrancer.context.sanitizer import one_line
from remembrancer.context.template_files import Templates
from remembrancer.context.token_budget import Entry, Filled, fill
from remembrancer.memories.schemas import Kind

PLACES = "Places"


@dataclass(slots=True)
class MemoryEntry(Entry):
    """A memory that may be told, and what decides where its line stands."""

    row: Any = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a heading."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Moment:
    """When, where and to whom something is told."""

    at: datetime
    time_zone: str
    speaker: str | None = None
    user_id: str | None = None
    joined: bool = False


class Renderer:
    """Makes blocks of text, each within its budget of tokens, from rows of memories."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def memory(self, memory: MemoryLine) -> str:
        """Return a memory on one line."""
        m = memory
        if m.kind == Kind.PLACE:
            whose = (m.shared, m.quoted, m.mentions, m.mentioned_in)
            return self._templates.line("place", m.id, m.content, *whose)
        return self._templates.line(
            "memory", m.id, m.subject, m.content, m.shared, m.quoted, m.date
        )

    def said(self, said: SaidLine) -> str:
        """Return a message or a summary on one line."""
        return self._templates.line("said", said.content, said.date, said.sender)

    def gone(self, memory_id: str) -> str:
        """Return the line that says that a memory is no longer known."""
        return self._templates.line("gone", memory_id)

    def entries(self, rows: Iterable[Any], time_zone: str) -> Iterator[MemoryEntry]:
        """Yield rows of memories as entries of a stable block, in their order."""
        zone = zone_of(time_zone)
        for row in rows:
            memory = memory_line(row, zone)
            title, heading = _title(PLACES if memory.kind == Kind.PLACE else memory.category)
            yield MemoryEntry(self.memory(memory), title, heading, (memory.id,), row, memory.quoted)

    def stable(self, entries: Sequence[MemoryEntry], left_out: int) -> str:
        """Return the stable block: by category, then age, then id; places last."""
        ordered = sorted(entries, key=_place_in_block)
        sections = [
            Section(str(title), [entry.line for entry in inside])
            for title, inside in groupby(ordered, key=lambda entry: entry.section)
        ]
        return self._templates.text("stable.md.j2", sections=sections, left_out=left_out)

    def fill_stable(
        self, entries: Iterable[MemoryEntry], total: int, budget: int
    ) -> Filled[MemoryEntry]:
        """Return a stable block of the first of ``entries`` that fit, out of ``total``."""
        filled = fill(entries, budget, lambda chosen: self.stable(chosen, total - len(chosen)))
        in_order = sorted(filled.entries, key=_place_in_block)
        return Filled(filled.text, filled.tokens, in_order)

    def fill_dynamic(self, moment: Moment, entries: Sequence[Entry], budget: int) -> Filled[Entry]:
        """Return the dynamic block: the time, who speaks, and as many entries as fit."""
        titles = list(dict.fromkeys(str(entry.section) for entry in entries))

        def text(chosen: Sequence[Entry]) -> str:
            sections = [
                Section(title, lines)
                for title in titles
                if (lines := [entry.line for entry in chosen if entry.section == title])
            ]
            return self._templates.text(
                "dynamic.md.j2",
                now=clock(moment.at, zone_of(moment.time_zone)),
                time_zone=moment.time_zone,
                speaker=one_line(moment.speaker) if moment.speaker else None,
                user_id=moment.user_id,
                joined=moment.joined,
                sections=sections,
            )

        filled = fill(entries, budget, text)
        order = {title: number for number, title in enumerate(titles)}
        shown = sorted(filled.entries, key=lambda entry: order[str(entry.section)])
        return Filled(filled.text, filled.tokens, shown)

    def fill_bulletin(self, rows: Sequence[Any], total: int, budget: int) -> Filled[MemoryEntry]:
        """Return the bulletin: shared knowledge by kind, then age, then id."""
        zone = zone_of("UTC")

        def entries() -> Iterator[MemoryEntry]:
            for row in rows:
                memory = memory_line(row, zone)
                title, heading = _title(memory.kind)
                yield MemoryEntry(self.memory(memory), title, heading, (memory.id,), row)

        def text(chosen: Sequence[MemoryEntry]) -> str:
            ordered = sorted(chosen, key=_place_in_bulletin)
            sections = [
                Section(str(title), [entry.line for entry in inside])
                for title, inside in groupby(ordered, key=lambda entry: entry.section)
            ]
            return self._templates.text(
                "bulletin.md.j2", sections=sections, left_out=total - len(chosen)
            )

        filled = fill(entries(), budget, text)
        return Filled(filled.text, filled.tokens, sorted(filled.entries, key=_place_in_bulletin))


@cache
def _title(name: str) -> tuple[str, str]:
    """Return the title of a section, and its heading as it counts against a budget."""
    title = one_line(name).title()
    return title, f"### {title}"


def _place_in_block(entry: MemoryEntry) -> tuple[Any, ...]:
    row = entry.row
    return (entry.section == PLACES, row.category if entry.section != PLACES else "", *_age(row))


def _place_in_bulletin(entry: MemoryEntry) -> tuple[Any, ...]:
    return (entry.section, *_age(entry.row))


def _age(row: Any) -> tuple[Any, ...]:
    return (row.created_at, row.memory_id, str(row.memory_owner_id))
