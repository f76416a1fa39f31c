"""The entries of a dynamic block, in the order of need. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from remembrancer.context.lines import (
    LONGEST,
    LONGEST_SUMMARY,
    Reader,
    memory_line,
    message_line,
)
from remembrancer.context.renderer import Renderer
from remembrancer.context.rows import FrozenRow, PromptMemory, RecentMessage
from remembrancer.context.token_budget import Entry
from remembrancer.guard.instructions import is_instruction
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.schemas import Hit

CHANGED = "Changed since this conversation began"
SPEAKER = "About the current speaker"
JOINED = "About who has joined"
RECENT = "What they said last, elsewhere"
MEMORIES = "Recalled for this message: memories"
MESSAGES = "Recalled for this message: what was said"
SUMMARIES = "Recalled for this message: summaries of earlier talk"


@dataclass(frozen=True, slots=True)
class DynamicSources:
    """Rows and hits to render, with the largest number of hits of a kind."""

    reader: Reader
    listed: set[str]
    """Memories in the stable block."""
    joined: bool
    frozen: Sequence[FrozenRow]
    changes: Sequence[PromptMemory]
    speaker: Sequence[PromptMemory]
    recent: Sequence[RecentMessage]
    hits: Sequence[Hit]
    recalled: int
    summaries: int


def dynamic_entries(renderer: Renderer, sources: DynamicSources) -> list[Entry]:
    """Return the entries of a dynamic block: changes, the speaker, recall.

    Nothing stands twice: of the memories in the stable block, only changed ones are repeated.
    """
    entries: list[Entry] = []
    listed: set[str] = set()
    for entry in _entries(renderer, sources):
        if not listed.issuperset(entry.ids) or not entry.ids:
            listed.update(entry.ids)
            entries.append(entry)
    return entries


def _entries(renderer: Renderer, sources: DynamicSources) -> Iterator[Entry]:
    reader = sources.reader
    for row in sources.frozen:
        if row.memory_id is not None and not row.in_use:
            yield _entry(renderer.forgotten(row.memory_id), CHANGED, row.memory_id)
    for memory in sources.changes:
        yield _memory_entry(renderer, memory, CHANGED, reader)
    known = sources.listed | {memory.memory_id for memory in sources.changes}
    for memory in sources.speaker:
        if memory.memory_id not in known:
            yield _memory_entry(renderer, memory, JOINED if sources.joined else SPEAKER, reader)
    for message in sources.recent:
        line = message_line(
            str(message.id), message.content, message.sent_at, reader.zone, sender=None
        )
        yield _entry(renderer.message(line), _titled(RECENT, message.space_id, reader), line.id)
    yield from _recalled(renderer, sources, known)


def _recalled(renderer: Renderer, sources: DynamicSources, known: set[str]) -> Iterator[Entry]:
    reader = sources.reader
    left = {"memory": sources.recalled, "chunk": sources.summaries}
    said: set[tuple[str | None, str]] = set()
    for hit in sources.hits:
        kind = "chunk" if hit.type == "chunk" else "memory"
        words = (hit.sender_name, hit.content)
        if left[kind] == 0 or words in said or (hit.type == "memory" and hit.id in known):
            continue
        said.add(words)
        left[kind] -= 1
        if hit.type == "memory":
            yield _memory_entry(renderer, _as_memory(hit), MEMORIES, reader)
            continue
        title, longest = (
            (SUMMARIES, LONGEST_SUMMARY) if hit.type == "chunk" else (MESSAGES, LONGEST)
        )
        line = message_line(
            hit.id, hit.content, hit.at, reader.zone, sender=hit.sender_name, longest=longest
        )
        yield _entry(renderer.message(line), _titled(title, hit.space_id, reader), hit.id)


def _as_memory(hit: Hit) -> PromptMemory:
    return PromptMemory(
        memory_owner_id=hit.user_id or SHARED_OWNER,
        memory_id=hit.id,
        version=hit.version or 1,
        kind=hit.kind.value if hit.kind else "fact",
        category=hit.category.value if hit.category else "other",
        subject=hit.subject,
        content=hit.content,
        shared=hit.user_id is None or hit.visibility == "shared",
        quoted=hit.quoted or bool(hit.subject and is_instruction(hit.subject)),
        mentions=1,
        mentioned_in=0,
        created_at=hit.at,
        space_id=hit.space_id,
    )


def _memory_entry(renderer: Renderer, memory: PromptMemory, title: str, reader: Reader) -> Entry:
    section = _titled(title, memory.space_id, reader)
    return _entry(renderer.memory(memory_line(memory, reader)), section, memory.memory_id)


def _titled(title: str, space_id: UUID | None, reader: Reader) -> str:
    return title if space_id is None else f"{title}, in the space {reader.space}"


def _entry(line: str, section: str, id_: str) -> Entry:
    return Entry(line, section, f"### {section}", (id_,))
