"""The existing memories that new statements may repeat."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement
from remembrancer.memories import repository
from remembrancer.memories.dedup import Candidate, ExistingMemories
from remembrancer.memories.drafts import Draft
from remembrancer.memories.repository import RelatedMemory
from remembrancer.memories.schemas import Status


async def load(
    connection: AsyncConnection, owner_id: UUID, drafts: Sequence[Draft], threshold: float
) -> ExistingMemories:
    """Return the memories of an owner that drafts may repeat; call under the owner's lock."""
    rows = await repository.related(
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
    placements = {draft.destination.placement for draft in drafts}
    memories = ExistingMemories()
    for row in rows:
        if row.reason == "near":
            assert row.n is not None
            memories.near[row.n] = (row.id, row.content)
    for placement, row in _at(placements, rows):
        if row.reason == "same":
            ids = memories.pending if row.status == Status.PENDING else memories.same
            ids[placement, row.content_hash] = row.id
        elif row.reason == "subject":
            memories.subjects.setdefault((placement, row.subject_key or ""), row.id)
        elif row.reason == "place":
            memories.places[placement, row.place_id or ""] = row.id
    return memories


def candidate(draft: Draft) -> Candidate:
    """Return what of a draft decides whether it is new."""
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


def _at(
    placements: Iterable[Placement], rows: Iterable[RelatedMemory]
) -> Iterator[tuple[Placement, RelatedMemory]]:
    """Yield the memories in the namespace of one of the placements, with it."""
    by_namespace: Mapping[tuple[UUID | None, UUID | None], Placement] = {
        (placement.agent_id, placement.space_id): placement for placement in placements
    }
    for row in rows:
        if placement := by_namespace.get((row.agent_id, row.space_id)):
            yield placement, row


def _vector_columns(drafts: Sequence[Draft]) -> dict[str, list[Any]]:
    return {
        "vectors": [str(draft.text.vector.tolist()) for draft in drafts],
        "agent_ids": [draft.destination.placement.agent_id for draft in drafts],
        "space_ids": [draft.destination.placement.space_id for draft in drafts],
        "kinds": [draft.statement.kind.value for draft in drafts],
        "valid_froms": [draft.statement.valid_from for draft in drafts],
        "valid_tos": [draft.statement.valid_to for draft in drafts],
    }
