"""Hindsight's memories: the JSON that listing the memories of a bank returns, or a recall.

Each has a type: of the world, an experience of the agent, an observation made of others, or until
2025 an opinion. Hindsight documents the fields of a recall; those of a list are like them.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import AliasChoices, Field

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.memories.schemas import Kind
from remembrancer.text import Key, is_blank

PLATFORM: Final = "hindsight"
_KINDS: Final = {
    "experience": Kind.EVENT,
    "observation": Kind.OBSERVATION,
    "opinion": Kind.OBSERVATION,
}


class _Memory(Record):
    id: Key
    text: str
    type: str | None = Field(None, validation_alias=AliasChoices("fact_type", "type"))
    context: str | None = None
    entities: str | list[str] | None = None
    tags: list[str] | None = None
    metadata: dict[str, object] | None = None
    mentioned_at: StorableTime = None
    date: StorableTime = None
    occurred_start: StorableTime = None
    occurred_end: StorableTime = None
    state: str | None = None


def looks_like(content: object) -> bool:
    first = next(iter(_list(content) or ()), None)
    if not isinstance(first, Mapping) or not isinstance(first.get("text"), str):
        return False
    return "fact_type" in first or {"mentioned_at", "type"} <= first.keys()


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    member = main(bundle)
    memories = _list(member.json())
    if memories is None:
        raise invalid(member.where, "is not a list of memories; save what Hindsight's API returns")
    for number, value in enumerate(memories, 1):
        memory = record(_Memory, value, f"{member.where}, memory {number}", notes)
        if memory.state not in {None, "valid"} or is_blank(clean(memory.text)):
            notes.skip("memory that is not valid")
        else:
            yield _statement(memory, notes)


def _list(content: object) -> list[object] | None:
    if isinstance(content, Mapping):
        content = content.get("items") or content.get("results")
    return content if isinstance(content, list) else None


def _statement(memory: _Memory, notes: Notes) -> ExportedMemory:
    values = {
        "type": memory.type,
        "context": memory.context,
        "entities": memory.entities,
        "tags": memory.tags,
        "metadata": memory.metadata,
        "occurred_start": memory.occurred_start and memory.occurred_start.isoformat(),
        "occurred_end": memory.occurred_end and memory.occurred_end.isoformat(),
    }
    return ExportedMemory(
        key=key_of(PLATFORM, memory.id),
        content=clean(memory.text),
        platform=PLATFORM,
        kind=_KINDS.get(memory.type or "", Kind.FACT),
        at=memory.mentioned_at or memory.date,
        metadata=storable_metadata(PLATFORM, values, notes),
    )
