"""Add and suggest associations in an open transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.associations import repository, rules
from remembrancer.associations.rows import AssociationRow
from remembrancer.db.trips import Trip
from remembrancer.errors import InvalidInput, NotFound
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
            if result.outcome in {Outcome.CREATED, Outcome.MENTIONED}
        ]
        await self.add(connection, actor, requests)

    def suggest(
        self, trip: Trip, actor: Actor, owner_id: UUID, ids: Sequence[str]
    ) -> Callable[[], dict[str, list[Suggestion]]]:
        """Let a trip find suggestions; return what makes them of its rows, by memory."""
        pairs = repository.similar(
            trip,
            actor,
            owner_id,
            ids,
            least=rules.LEAST_SIMILARITY,
            count=rules.MOST_SUGGESTIONS,
        )
        return lambda: rules.suggestions(pairs, self._near_duplicate)

    def suggest_new(
        self, trip: Trip, actor: Actor, results: Sequence[WriteResult]
    ) -> Callable[[], list[list[Suggestion]]]:
        """Let a trip find suggestions: for new memories only, and not for large batches."""
        created: dict[UUID, list[str]] = {}
        for result in results if len(results) <= SUGGESTION_BATCH else ():
            if result.outcome is Outcome.CREATED:
                created.setdefault(result.owner_id, []).append(result.memory_id)
        found = {
            owner_id: self.suggest(trip, actor, owner_id, ids) for owner_id, ids in created.items()
        }

        def suggestions() -> list[list[Suggestion]]:
            by_owner = {owner_id: make() for owner_id, make in found.items()}
            return [
                by_owner.get(result.owner_id, {}).get(result.memory_id, [])
                if result.outcome is Outcome.CREATED
                else []
                for result in results
            ]

        return suggestions


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
