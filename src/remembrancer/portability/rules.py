"""Decisions of a restoration: ids, and what is made of a record. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from remembrancer.memories import rules as memory_rules
from remembrancer.portability.records import (
    MemoryRecord,
    MentionRecord,
    SourceFields,
    VersionRecord,
)
from remembrancer.search.index import Source


@dataclass(slots=True)
class BatchCounts:
    """What a batch brought back: new, there already, refused by a limit or the guard."""

    added: int = 0
    known: int = 0
    refused: int = 0
    evicted: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """Conversations and messages that records cite, by exported id, as the user has them."""

    conversations: Mapping[UUID, UUID]
    messages: Mapping[UUID, UUID]

    def of(self, record: SourceFields) -> dict[str, object]:
        """Return the columns of a source; those of others are left out."""
        return {
            "source": record.source,
            "platform": record.platform,
            "conversation_id": self.conversations.get(record.conversation_id or NOBODY),
            "message_id": self.messages.get(record.message_id or NOBODY),
        }


NOBODY: Final = UUID(int=0)


def derived(owner_id: UUID, exported: UUID) -> UUID:
    """Return an id made of the user's and an exported one; it sorts as that does."""
    digest = hashlib.sha256(owner_id.bytes + exported.bytes).digest()
    return UUID(bytes=exported.bytes[:6] + digest[:10], version=5)


def own(made: Mapping[UUID, UUID], found: Iterable[UUID]) -> dict[UUID, UUID]:
    """Return the ids that the user has, exported or made, by exported id."""
    there = set(found)
    pairs = ((exported, exported if exported in there else id_) for exported, id_ in made.items())
    return {exported: id_ for exported, id_ in pairs if id_ in there}


def statement_hash(record: MemoryRecord) -> bytes:
    """Return what decides whether two statements are the same."""
    return memory_rules.statement_hash(
        record.content,
        record.valid_from,
        record.valid_to,
        record.place_id,
        record.address,
        record.external_id,
    )


def other_id(record: MemoryRecord) -> str:
    """Return the id of a memory whose own id the user has for another one, always the same."""
    return hashlib.sha256(f"{record.id} {record.content}".encode()).hexdigest()[:32]


def versions(record: MemoryRecord) -> Sequence[VersionRecord]:
    """Return the versions; one of the memory itself, if the record has none."""
    if record.versions:
        return record.versions
    fields = {name: getattr(record, name) for name in SourceFields.model_fields}
    same = {n: getattr(record, n) for n in ("version", "content", "valid_from", "valid_to")}
    return [VersionRecord(**fields, **same, recorded_at=record.updated_at)]


def mentions(record: MemoryRecord) -> Sequence[MentionRecord]:
    """Return the mentions; one of the memory itself, if the record has none."""
    if record.mentions:
        return record.mentions
    fields = {name: getattr(record, name) for name in SourceFields.model_fields}
    id_ = UUID(bytes=hashlib.sha256(record.id.encode()).digest()[:16], version=5)
    return [MentionRecord(**fields, id=id_, mentioned_at=record.created_at)]


def runs(record: MemoryRecord) -> list[tuple[VersionRecord, VersionRecord]]:
    """Return the first and the last version of each content, as search has one item for both."""
    runs: list[tuple[VersionRecord, VersionRecord]] = []
    for version in versions(record):
        if runs and runs[-1][1].content == version.content:
            runs[-1] = (runs[-1][0], version)
        else:
            runs.append((version, version))
    return runs


def item(row: Mapping[str, object], first: VersionRecord, last: VersionRecord) -> Source:
    """Return the search item of a run of versions of a memory."""
    names = ("kind", "category", "importance")
    return Source(
        "memory",
        first.recorded_at,
        first.recorded_at,
        memory_id=str(row["id"]),
        memory_version=last.version,
        conversation_id=row["conversation_id"],  # type: ignore[arg-type]
        valid_from=last.valid_from,
        valid_to=last.valid_to,
        active=memory_rules.is_in_use(str(row["status"]), bool(row["recalled"])),
        **{name: row[name] for name in names},  # type: ignore[arg-type]
    )
