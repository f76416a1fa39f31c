"""Letta's memory: an agent file (``.af``), or what its client lists of passages or blocks.

Passages are single statements. A block is a text under a label that the agent rewrites: ``human``
is about the person, ``persona`` about the agent. An agent file has blocks, and no passages. Letta
publishes the schema of agent files.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.formats.statements import statements
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.text import Key, is_blank

PLATFORM: Final = "letta"
_BLOCKS: Final = ("blocks", "core_memory")
_OF_AGENT: Final = "persona"
_OF_PERSON: Final = "human"


class _Passage(Record):
    id: Key
    text: str
    created_at: StorableTime = None
    tags: list[str] | None = None
    metadata: dict[str, object] | None = None
    is_deleted: bool | None = None


class _Block(Record):
    label: str
    value: str
    created_at: StorableTime = None


def looks_like(content: object) -> bool:
    if isinstance(content, Mapping):
        return any(isinstance(content.get(name), list) for name in _BLOCKS) and bool(
            {"agents", "agent_type"} & content.keys()
        )
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, Mapping) and (
        str(first.get("id")).startswith("passage-") or {"label", "value", "limit"} <= first.keys()
    )


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    member = main(bundle)
    content = member.json()
    if isinstance(content, Mapping):
        agents = content.get("agents")
        for agent in [content, *(agents if isinstance(agents, list) else ())]:
            messages = agent.get("messages") if isinstance(agent, Mapping) else None
            for _ in messages if isinstance(messages, list) else ():
                notes.skip("message of an agent")
        content = next(filter(None, map(content.get, _BLOCKS)), None)
    if not isinstance(content, list):
        raise invalid(member.where, "has no blocks; save an agent file, or a list of passages")
    for number, value in enumerate(content, 1):
        where = f"{member.where}, {number}"
        if isinstance(value, Mapping) and "text" in value:
            yield from _passage(record(_Passage, value, where, notes), notes)
        else:
            yield from _block(record(_Block, value, where, notes), notes)


def _passage(passage: _Passage, notes: Notes) -> Iterator[ExportedMemory]:
    if passage.is_deleted or is_blank(clean(passage.text)):
        notes.skip("passage without text" if not passage.is_deleted else "deleted passage")
        return
    values = {"tags": passage.tags, "metadata": passage.metadata}
    yield ExportedMemory(
        key=key_of(PLATFORM, passage.id),
        content=clean(passage.text),
        platform=PLATFORM,
        at=passage.created_at,
        metadata=storable_metadata(PLATFORM, values, notes),
    )


def _block(block: _Block, notes: Notes) -> Iterator[ExportedMemory]:
    if block.label == _OF_AGENT:
        notes.skip("block of the agent itself")
        return
    subject = label(block.label.replace("_", " ")) if block.label != _OF_PERSON else ""
    yield from statements(
        PLATFORM, None, block.value, subject=subject or None, at=block.created_at
    )  # fmt: skip
