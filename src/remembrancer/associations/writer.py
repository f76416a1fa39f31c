"""Add and suggest associations in an open transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.associations import repository, rules
from remembrancer.associations.rows import AssociationRow
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.ids import MemoryKey
from remembrancer.memories import repository as memories
from remembrancer.memories.drafts import WriteResult
from remembrancer.memories.schemas import AssociationCreate, MemoryCreate, Outcome, Suggestion

SUGGESTION_BATCH: Final = 20
"""Largest batch whose new memories get suggestions. Nobody reads those of an import, and each
costs a search of all memories of the owner."""


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """An association to add, and the name of the field for errors."""

    owner_id: UUID
    memory_id: str
    association: AssociationCreate
    field: str


class AssociationWriter:
    """Adds and suggests associations in an open transaction."""

    def __init__(self, near_duplicate: float) -> None:
        self._near_duplicate = near_duplicate

    async def add(
        self, connection: AsyncConnection, actor: Actor, requests: Sequence[AssociationRequest]
    ) -> list[AssociationRow]:
        """Add associations from memories that the actor may change.

        Raise ``NotFound`` for an invisible target, and ``InvalidInput`` for a memory with itself.
        """
        if not requests:
            return []
        sources = sorted({request.owner_id for request in requests})
        for owner_id in sources:
            ids = {request.memory_id for request in requests if request.owner_id == owner_id}
            await memories.check_membership(connection, owner_id, ids)
        targets = {request.association.target_id for request in requests}
        rows = _rows(requests, await repository.owners(connection, actor, targets))
        written = await repository.put(connection, rows)
        for owner_id in sources:
            ends = (
                memory_id
                for row in rows
                if row["owner_id"] == owner_id
                for memory_id in (row["memory_id"], row["target_id"])
            )
            await audit.note(
                connection, actor, "association.set", list(dict.fromkeys(ends)), owner_id=owner_id
            )
        return written

    async def add_new(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        results: Sequence[WriteResult],
    ) -> None:
        """Add the associations of statements to the memories that hold them."""
        requests = [
            AssociationRequest(
                result.owner_id,
                result.memory_id,
                association,
                f"memories.{n}.associations.{m}.target_id",
            )
            for n, (statement, result) in enumerate(zip(statements, results, strict=True))
            for m, association in enumerate(statement.associations)
            if result.outcome is not Outcome.SIMILAR
        ]
        await self.add(connection, actor, requests)

    async def suggest(
        self, connection: AsyncConnection, actor: Actor, owner_id: UUID, ids: Sequence[str]
    ) -> dict[str, list[Suggestion]]:
        pairs = await repository.similar(
            connection,
            actor,
            owner_id,
            ids,
            least=rules.LEAST_SIMILARITY,
            count=rules.MOST_SUGGESTIONS,
        )
        return rules.suggestions(pairs, self._near_duplicate)

    async def suggest_new(
        self,
        connection: AsyncConnection,
        actor: Actor,
        results: Sequence[WriteResult],
    ) -> list[list[Suggestion]]:
        """Return suggestions for each result: for new memories only, and not for large batches."""
        keys = [(result.owner_id, result.memory_id) for result in results]
        created = [
            key
            for key, result in zip(keys, results, strict=True)
            if result.outcome is Outcome.CREATED and len(results) <= SUGGESTION_BATCH
        ]
        suggestions: dict[MemoryKey, list[Suggestion]] = {}
        for owner_id in sorted({owner_id for owner_id, _ in created}):
            ids = [memory_id for owner, memory_id in created if owner == owner_id]
            by_id = await self.suggest(connection, actor, owner_id, ids)
            suggestions |= {(owner_id, memory_id): given for memory_id, given in by_id.items()}
        return [
            suggestions.get(key, []) if result.outcome is Outcome.CREATED else []
            for key, result in zip(keys, results, strict=True)
        ]


def _rows(requests: Sequence[AssociationRequest], owners: dict[str, UUID]) -> list[dict[str, Any]]:
    # Of the same association twice in one request, the last weight counts.
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for request in requests:
        target_id, relation = request.association.target_id, request.association.relation
        if target_id not in owners:
            raise NotFound("no such memory", field=request.field, target_id=target_id)
        source, target = (request.owner_id, request.memory_id), (owners[target_id], target_id)
        if source == target:
            raise InvalidInput("a memory cannot be associated with itself", field=request.field)
        rows[*source, *target, relation] = {
            "owner_id": request.owner_id,
            "memory_id": request.memory_id,
            "target_owner_id": owners[target_id],
            "target_id": target_id,
            "relation": relation.value,
            "weight": request.association.weight,
        }
    return list(rows.values())
