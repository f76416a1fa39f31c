"""Associations made with a memory or afterwards, and those that suggest themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.associations import repository
from remembrancer.associations.suggestions import LEAST_SIMILARITY, MOST_SUGGESTIONS, suggested
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories import leaving
from remembrancer.memories.dedup import Verdict
from remembrancer.memories.rules import Resolved
from remembrancer.memories.schemas import AssociationCreate, MemoryCreate, Outcome

SUGGESTING_BATCH = 20
"""Statements in one call up to which each new memory gets suggestions: nobody reads those of an
import, and finding them costs a look at all memories of the owner each."""


@dataclass(frozen=True, slots=True)
class Link:
    """An association to make, and where in the request it stands."""

    owner_id: UUID
    memory_id: str
    to: AssociationCreate
    field: str


async def link(connection: AsyncConnection, actor: Actor, links: Sequence[Link]) -> repository.Rows:
    """Make associations from memories that the actor may change; return them.

    Raises ``NotFound`` for a target that the actor does not see, and ``InvalidInput`` for a
    memory that is its own; both name the field.
    """
    if not links:
        return []
    owners = await repository.owners(connection, actor, {link.to.target_id for link in links})
    edges: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in links:
        target_id = one.to.target_id
        if target_id not in owners:
            raise NotFound("no such memory", field=one.field, target_id=target_id)
        target = (owners[target_id], target_id)
        if target == (one.owner_id, one.memory_id):
            raise InvalidInput("a memory cannot be associated with itself", field=one.field)
        # The same edge twice in one request: the last word counts.
        edges[one.owner_id, one.memory_id, *target, one.to.relation] = {
            "owner_id": one.owner_id,
            "memory_id": one.memory_id,
            "target_owner_id": target[0],
            "target_id": target_id,
            "relation": one.to.relation.value,
            "weight": one.to.weight,
        }
    sources = sorted({link.owner_id for link in links})
    for owner_id in sources:
        mine = {link.memory_id for link in links if link.owner_id == owner_id}
        await leaving.check_may_add(connection, owner_id, mine)
    rows = await repository.put(connection, list(edges.values()))
    for owner_id in sources:
        ids = [i for edge in edges.values() if edge["owner_id"] == owner_id for i in _ends(edge)]
        await audit.note(
            connection, actor, "association.set", list(dict.fromkeys(ids)), owner_id=owner_id
        )
    return rows


async def link_new(
    connection: AsyncConnection,
    actor: Actor,
    statements: Sequence[MemoryCreate],
    results: Sequence[tuple[Verdict, Resolved]],
) -> None:
    """Make the associations that statements came with, from what each has become."""
    links = [
        Link(
            goes.place.owner_id,
            verdict.memory_id,
            to,
            f"memories.{n}.associations.{m}.target_id",
        )
        for n, (statement, (verdict, goes)) in enumerate(zip(statements, results, strict=True))
        for m, to in enumerate(statement.associations)
        if verdict.outcome is not Outcome.SIMILAR
    ]
    await link(connection, actor, links)


async def suggest(
    connection: AsyncConnection,
    actor: Actor,
    owner_id: UUID,
    ids: Sequence[str],
    near_duplicate: float,
) -> dict[str, list[dict[str, Any]]]:
    """Return associations that could be made from each of an owner's memories."""
    pairs = await repository.alike(
        connection, actor, owner_id, ids, least=LEAST_SIMILARITY, count=MOST_SUGGESTIONS
    )
    return suggested(pairs, near_duplicate)


async def suggest_new(
    connection: AsyncConnection,
    actor: Actor,
    results: Sequence[tuple[Verdict, Resolved]],
    near_duplicate: float,
) -> list[list[dict[str, Any]]]:
    """Return suggestions for each result: for new memories, unless there are many."""
    new = [
        (goes.place.owner_id, verdict.memory_id)
        for verdict, goes in results
        if verdict.outcome is Outcome.CREATED and len(results) <= SUGGESTING_BATCH
    ]
    found: dict[tuple[UUID, str], list[dict[str, Any]]] = {}
    for owner_id in sorted({owner_id for owner_id, _ in new}):
        ids = [memory_id for owner, memory_id in new if owner == owner_id]
        mine = await suggest(connection, actor, owner_id, ids, near_duplicate)
        found.update({(owner_id, memory_id): some for memory_id, some in mine.items()})
    return [
        found.get((goes.place.owner_id, verdict.memory_id), [])
        if verdict.outcome is Outcome.CREATED
        else []
        for verdict, goes in results
    ]


def _ends(edge: dict[str, Any]) -> tuple[str, str]:
    return edge["memory_id"], edge["target_id"]
