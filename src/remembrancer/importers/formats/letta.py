"""Letta's memory: an agent file (``.af``), or what its client lists of passages or blocks.

Passages are single statements. A block is a text under a label that the agent rewrites: ``human``
is about the person, ``persona`` about the agent. An agent file has blocks, and no passages. Letta
publishes the schema of agent files.

An agent file also has messages, under numbers that are valid in the file alone. A person's message
may be JSON with its type. Agents of the first kind speak by the tool ``send_message``, and think in
the text beside it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.formats.statements import statements
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key, is_blank

PLATFORM: Final = "letta"
_BLOCKS: Final = ("blocks", "core_memory")
_OF_AGENT: Final = "persona"
_OF_PERSON: Final = "human"
_SPEAK: Final = "send_message"


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


class _Message(Record):
    role: str
    content: object = None
    tool_calls: list[object] | None = None
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
        content = next(filter(None, map(content.get, _BLOCKS)), None)
    if not isinstance(content, list):
        raise invalid(member.where, "has no blocks; save an agent file, or a list of passages")
    for number, value in enumerate(content, 1):
        where = f"{member.where}, {number}"
        if isinstance(value, Mapping) and "text" in value:
            yield from _passage(record(_Passage, value, where, notes), notes)
        else:
            yield from _block(record(_Block, value, where, notes), notes)


def read_messages(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle)
    content = member.json()
    agents = content.get("agents") if isinstance(content, Mapping) else None
    for agent in [content, *(agents if isinstance(agents, list) else ())]:
        messages = agent.get("messages") if isinstance(agent, Mapping) else None
        if not isinstance(messages, list):
            continue
        name = label(str(agent.get("name") or options.conversation))
        turns = []
        for number, value in enumerate(messages, 1):
            message = record(_Message, value, f"{member.where}, message {number}", notes)
            if turn := _turn(message, name, notes):
                turns.append(turn)
        yield from storable(PLATFORM, name, turns, notes, options, title=name, personal=True)


def _turn(message: _Message, name: str, notes: Notes) -> Turn | None:
    """Return what a person or an agent said; null for any other message."""
    if message.role == "user":
        text, kind = _unpacked(_words(message.content))
        if kind != "user_message":
            notes.skip(f"message of kind {label(kind)}")
            return None
        return Turn(MessageRole.USER, clean(text), sent_at=message.created_at)
    spoken = joined(*_spoken(message)) if message.role == "assistant" else ""
    if not spoken:
        notes.skip(f"{label(message.role)} message without words for the person")
        return None
    return Turn(MessageRole.ASSISTANT, spoken, name, sent_at=message.created_at)


def _unpacked(text: str) -> tuple[str, str]:
    """Return the words of a person's message, and its kind."""
    try:
        packed = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        packed = None
    if not isinstance(packed, Mapping) or not isinstance(packed.get("type"), str):
        return text, "user_message"
    return str(packed.get("message") or ""), packed["type"]


def _spoken(message: _Message) -> Iterator[str]:
    if not message.tool_calls:
        yield _words(message.content)
    for call in message.tool_calls or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") == _SPEAK:
            try:
                said = json.loads(str(function.get("arguments")))
            except (ValueError, RecursionError):
                continue
            yield str(said.get("message") or "") if isinstance(said, Mapping) else ""


def _words(content: object) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return joined(
        *(
            str(part.get("text") or "")
            for part in parts
            if isinstance(part, Mapping) and part.get("type") == "text"
        )
    )


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
