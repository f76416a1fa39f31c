"""The existing memories that new statements may repeat."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from remembrancer.access import Placement
from remembrancer.db.rows import TextRow
from remembrancer.db.trips import Trip
from remembrancer.ids import short_id
from remembrancer.memories import repository, rules
from remembrancer.memories.dedup import Candidate, ExistingMemories, NamedMemory
from remembrancer.memories.drafts import Draft, statement_hash
from remembrancer.memories.repository import RelatedMemory
from remembrancer.memories.schemas import MemoryCreate, Status


@dataclass(frozen=True, slots=True)
class RelatedMemories:
    """What a trip reads of an owner's memories for new statements."""

    hashes: Sequence[bytes]
    """Hashes of the statements."""
    rows: Sequence[RelatedMemory]
    """The memories that they may repeat, the latest of each reason first."""
    ids: Sequence[str]
    """An id for each statement."""
    taken: Sequence[TextRow]
    """Those of the ids that the owner has used."""


def lock(trip: Trip, owner_id: UUID, statements: Sequence[MemoryCreate]) -> RelatedMemories:
    """Let a trip lock an owner and read what statements may repeat."""
    hashes = [statement_hash(statement) for statement in statements]
    subjects = (rules.subject_key(statement.subject) for statement in statements)
    ids = [short_id() for _ in statements]
    binds: dict[str, Sequence[object]] = {
        "hashes": [each.hex() for each in hashes],
        "subject_keys": [subject for subject in subjects if subject],
        "place_ids": [s.place_id for s in statements if s.place_id],
        "external_ids": [s.external_id for s in statements if s.external_id],
        "ids": ids,
    }
    rows, taken = repository.lock_related(trip, owner_id, binds)
    return RelatedMemories(hashes, rows, ids, taken)


def existing(placements: Iterable[Placement], rows: Sequence[RelatedMemory]) -> ExistingMemories:
    # A placement's visibility does not matter: compare the namespaces.
    by_namespace = {(p.agent_id, p.space_id): p for p in placements}
    memories = ExistingMemories()
    for row in rows:
        placement = by_namespace.get((row.agent_id, row.space_id))
        if placement is None:
            continue
        if row.reason == "same":
            ids = memories.pending if row.status == Status.PENDING else memories.same
            ids[placement, row.content_hash] = row.id
        elif row.reason == "subject":
            memories.subjects.setdefault((placement, row.subject_key or ""), row.id)
        elif row.reason == "place":
            memories.places[placement, row.place_id or ""] = row.id
        elif row.reason == "external_id":
            named = NamedMemory(row.id, row.content or "", bool(row.expired))
            memories.named.setdefault((placement, row.external_id or ""), named)
    return memories


def candidate(draft: Draft, statement_hash: bytes) -> Candidate:
    statement = draft.statement
    return Candidate(
        placement=draft.destination.placement,
        hash=statement_hash,
        subject_key=draft.subject_key,
        allow_similar=statement.allow_similar,
        place_id=statement.place_id,
        pending=statement.pending,
        external_id=statement.external_id,
        content=statement.content,
    )
