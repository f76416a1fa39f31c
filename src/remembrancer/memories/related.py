"""The existing memories that new statements may repeat."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement
from remembrancer.memories import repository
from remembrancer.memories.dedup import Candidate, ExistingMemories
from remembrancer.memories.drafts import Draft
from remembrancer.memories.repository import RelatedMemory
from remembrancer.memories.schemas import Status


async def lock_related(
    connection: AsyncConnection, owner_id: UUID, drafts: Sequence[Draft]
) -> tuple[ExistingMemories, list[str]]:
    """Lock an owner; return the memories that drafts may repeat, and an unused id for each."""
    rows, ids = await repository.lock_related(
        connection,
        owner_id,
        len(drafts),
        {
            "hashes": [draft.hash for draft in drafts],
            "subject_keys": [draft.subject_key for draft in drafts if draft.subject_key],
            "place_ids": [d.statement.place_id for d in drafts if d.statement.place_id],
        },
    )
    return _existing({draft.destination.placement for draft in drafts}, rows), ids


def _existing(placements: Iterable[Placement], rows: Sequence[RelatedMemory]) -> ExistingMemories:
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
    return memories


def candidate(draft: Draft) -> Candidate:
    statement = draft.statement
    return Candidate(
        placement=draft.destination.placement,
        hash=draft.hash,
        subject_key=draft.subject_key,
        allow_similar=statement.allow_similar,
        place_id=statement.place_id,
        pending=statement.pending,
    )
