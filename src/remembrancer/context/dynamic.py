"""The entries of a dynamic block, in the order of need. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from remembrancer import tokens
from remembrancer.analysis import is_acknowledgement
from remembrancer.context.lines import (
    MessageLine,
    Reader,
    hit_line,
    memory_line,
    message_line,
)
from remembrancer.context.renderer import MessageEntry, Renderer
from remembrancer.context.rows import FrozenRow, PromptMemory, RecentMessage
from remembrancer.context.token_budget import Entry
from remembrancer.guard.instructions import is_instruction
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.schemas import Hit

CHANGED = "Changed since this conversation began"
SPEAKER = "About the current speaker"
JOINED = "About who has joined"
RECENT = "What they said last, elsewhere"
MEMORIES = "Recalled memories"
MESSAGES = "Earlier messages"
SUMMARIES = "Summaries of earlier talk"


@dataclass(frozen=True, slots=True)
class DynamicSources:
    """Rows and hits to render, with the largest number of hits of a kind."""

    reader: Reader
    listed: Mapping[str, str]
    """Contents of the memories in the stable block, by id."""
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
    known = {*sources.listed, *(memory.memory_id for memory in sources.changes)}
    for memory in sources.speaker:
        if memory.memory_id not in known:
            yield _memory_entry(renderer, memory, JOINED if sources.joined else SPEAKER, reader)
    for message in sources.recent:
        line = message_line(message, reader.zone)
        yield _entry(renderer.messages([line]), _titled(RECENT, message.space_id, reader), line.id)
    texts = [*sources.listed.values()]
    texts += [memory.content for memory in (*sources.changes, *sources.speaker)]
    yield from _recalled(renderer, sources, known, texts)


def _recalled(
    renderer: Renderer, sources: DynamicSources, known: set[str], texts: Iterable[str]
) -> Iterator[Entry]:
    """Yield the entries of hits, without acknowledgements and what stands in the prompt already."""
    reader = sources.reader
    left = {"memory": sources.recalled, "chunk": sources.summaries}
    told = {_plain(text) for text in texts}
    said = {("", text) for text in told}
    for hit in sources.hits:
        is_message = hit.type == "message"
        kind = "chunk" if hit.type == "chunk" else "memory"
        words, sender = _plain(hit.content), (hit.sender_name or "") if is_message else ""
        repeats = {("", words), (sender, words)} & said if is_message else words in told
        if left[kind] == 0 or repeats or (hit.type == "memory" and hit.id in known):
            continue
        if is_message and is_acknowledgement(hit.content):
            continue
        told.add(words)
        said.add((sender, words))
        left[kind] -= 1
        if hit.type == "memory":
            entry = _memory_entry(renderer, _as_memory(hit), MEMORIES, reader)
            text = entry.line
        else:
            line = hit_line(hit, reader.zone)
            title = _titled(MESSAGES if is_message else SUMMARIES, hit.space_id, reader)
            entry = (_message_entry if is_message else _summary_entry)(renderer, line, title)
            text = line.content
        # A score is the chance to be what is asked for, but for a factor.
        entry.worth = hit.score / tokens.count(text)
        yield entry


def _plain(text: str) -> str:
    """Return a text without what does not matter to a reader: spaces, and a full stop."""
    return " ".join(text.split()).removesuffix(".")


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


def _message_entry(renderer: Renderer, line: MessageLine, section: str) -> Entry:
    text = renderer.messages([line])
    return MessageEntry(text, section, f"### {section}", (line.id,), message=line)


def _summary_entry(renderer: Renderer, line: MessageLine, section: str) -> Entry:
    return _entry(renderer.messages([line]), section, line.id)


def _titled(title: str, space_id: UUID | None, reader: Reader) -> str:
    return title if space_id is None else f"{title}, in the space {reader.space}"


def _entry(line: str, section: str, id_: str) -> Entry:
    return Entry(line, section, f"### {section}", (id_,))
