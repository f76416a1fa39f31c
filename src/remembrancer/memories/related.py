"""The existing memories that new statements may repeat."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement
from remembrancer.memories import repository
from remembrancer.memories.dedup import Candidate, ExistingMemories
from remembrancer.memories.drafts import Draft
from remembrancer.memories.repository import RelatedMemory
from remembrancer.memories.schemas import Status


async def lock_related(
    connection: AsyncConnection, owner_id: UUID, drafts: Sequence[Draft], threshold: float
) -> tuple[ExistingMemories, list[str]]:
    """Lock an owner; return the memories that drafts may repeat, and an unused id for each."""
    rows, ids = await repository.lock_related(
        connection,
        owner_id,
        threshold,
        {
            "hashes": [draft.hash for draft in drafts],
            "subject_keys": [draft.subject_key for draft in drafts if draft.subject_key],
            "place_ids": [d.statement.place_id for d in drafts if d.statement.place_id],
            **_vector_columns(drafts),
        },
    )
    return _existing({draft.destination.placement for draft in drafts}, rows), ids


def _existing(placements: Iterable[Placement], rows: Sequence[RelatedMemory]) -> ExistingMemories:
    # A placement's visibility does not matter: compare the namespaces.
    by_namespace = {(p.agent_id, p.space_id): p for p in placements}
    memories = ExistingMemories()
    for row in rows:
        placement = by_namespace.get((row.agent_id, row.space_id))
        if row.reason == "near":
            assert row.n is not None
            memories.near[row.n] = (row.id, row.content)
        elif placement is None:
            continue
        elif row.reason == "same":
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
        content=statement.content,
        placement=draft.destination.placement,
        kind=statement.kind,
        interval=(statement.valid_from, statement.valid_to),
        hash=draft.hash,
        vector=draft.text.vector,
        subject_key=draft.subject_key,
        allow_similar=statement.allow_similar,
        place_id=statement.place_id,
        pending=statement.pending,
    )


def _vector_columns(drafts: Sequence[Draft]) -> dict[str, list[Any]]:
    return {
        "vectors": [str(draft.text.vector.tolist()) for draft in drafts],
        "agent_ids": [draft.destination.placement.agent_id for draft in drafts],
        "space_ids": [draft.destination.placement.space_id for draft in drafts],
        "kinds": [draft.statement.kind.value for draft in drafts],
        "valid_froms": [draft.statement.valid_from for draft in drafts],
        "valid_tos": [draft.statement.valid_to for draft in drafts],
    }
