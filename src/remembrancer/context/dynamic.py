"""What the dynamic block may say, the most needed first. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from remembrancer.context.lines import (
    LONGEST_SUMMARY,
    memory_line,
    said_line,
    zone_of,
)
from remembrancer.context.renderer import Renderer
from remembrancer.context.token_budget import Entry
from remembrancer.guard.instructions import is_instruction
from remembrancer.recall.schemas import Hit

CHANGED = "Changed since this conversation began"
SPEAKER = "About the current speaker"
JOINED = "About who has joined"
SAID = "What they said last, elsewhere"
MEMORIES = "Recalled for this message: memories"
MESSAGES = "Recalled for this message: what was said"
SUMMARIES = "Recalled for this message: summaries of earlier talk"


@dataclass(frozen=True, slots=True)
class Told:
    """All there is to tell from."""

    time_zone: str
    listed: set[str]
    """Memories that the stable block shows, in words that hold unless they are in ``changed``."""
    group: bool
    joined: bool
    frozen: Sequence[Any]
    changed: Sequence[Any]
    speaker: Sequence[Any]
    said: Sequence[Any]
    hits: Sequence[Hit]
    recalled: int
    summaries: int


def dynamic_entries(renderer: Renderer, told: Told) -> list[Entry]:
    """Return the entries of a dynamic block: what changed, who speaks, what was recalled.

    Nothing is told twice: what the stable block shows is only told again in new words.
    """
    entries: list[Entry] = []
    shown: set[str] = set()
    for entry in _all(renderer, told):
        if not shown.issuperset(entry.ids) or not entry.ids:
            shown.update(entry.ids)
            entries.append(entry)
    return entries


def _all(renderer: Renderer, told: Told) -> Iterator[Entry]:
    zone = zone_of(told.time_zone)
    changed = [memory_line(row, zone) for row in told.changed]
    for row in told.frozen:
        if row.memory_id is not None and not row.told:
            yield _entry(renderer.gone(row.memory_id), CHANGED, row.memory_id)
    for memory in changed:
        yield _entry(renderer.memory(memory), CHANGED, memory.id)
    known = told.listed | {memory.id for memory in changed}
    title = JOINED if told.joined else SPEAKER
    for row in told.speaker:
        if row.memory_id not in known:
            yield _entry(renderer.memory(memory_line(row, zone)), title, row.memory_id)
    for row in told.said:
        line = said_line(str(row.id), row.content, row.sent_at, zone, sender=None)
        yield _entry(renderer.said(line), SAID, str(row.id))
    yield from _recalled(renderer, told, known)


def _recalled(renderer: Renderer, told: Told, known: set[str]) -> Iterator[Entry]:
    zone = zone_of(told.time_zone)
    left = {"memory": told.recalled, "chunk": told.summaries}
    for hit in told.hits:
        kind = "chunk" if hit.type == "chunk" else "memory"
        if left[kind] == 0 or (hit.type == "memory" and hit.id in known):
            continue
        left[kind] -= 1
        if hit.type == "memory":
            memory = memory_line(_Row(hit), zone)
            yield _entry(renderer.memory(memory), MEMORIES, hit.id)
            continue
        longest = {"longest": LONGEST_SUMMARY} if hit.type == "chunk" else {}
        line = said_line(hit.id, hit.content, hit.at, zone, sender=hit.sender_name, **longest)
        yield _entry(renderer.said(line), SUMMARIES if hit.type == "chunk" else MESSAGES, hit.id)


class _Row:
    """A hit that is a memory, as a row of one."""

    def __init__(self, hit: Hit) -> None:
        self.memory_id = hit.id
        self.content = hit.content
        self.subject = hit.subject
        self.category = hit.category.value if hit.category else "other"
        self.kind = hit.kind.value if hit.kind else "fact"
        self.shared = hit.user_id is None or hit.visibility == "shared"
        self.created_at = hit.at
        self.quoted = hit.quoted or bool(hit.subject and is_instruction(hit.subject))


def _entry(line: str, section: str, id_: str) -> Entry:
    return Entry(line, section, f"### {section}", (id_,))
