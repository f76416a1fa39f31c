"""Associate memories, and look at the graph they make."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, may_change
from remembrancer.associations import graph, repository, writes
from remembrancer.associations.rules import Key, spread
from remembrancer.associations.schemas import (
    Association,
    AssociationPage,
    Neighbourhood,
    Node,
    Suggestions,
)
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.ids import public_owner
from remembrancer.memories import leaving
from remembrancer.memories import repository as memories
from remembrancer.memories.rules import check_id
from remembrancer.memories.schemas import AssociationCreate, Relation, Status, Suggestion
from remembrancer.paging import LARGEST_PAGE
from remembrancer.text import check_range, from_cursor, to_cursor
from remembrancer.users import repository as users


class Associations:
    """The associations between memories, each seen by who sees both of its ends.

    They belong to the memory they lead from: whoever may change that one makes and removes
    them. A memory that the actor may not see does not exist for them: ``NotFound``, and a line
    in the audit log.
    """

    def __init__(self, database: Database, reads: Reads, near_duplicate: float) -> None:
        self._database = database
        self._reads = reads
        self._near_duplicate = near_duplicate

    async def add(self, actor: Actor, memory_id: str, wanted: AssociationCreate) -> Association:
        """Associate a memory with another; one that exists gets the new weight.

        Raises ``NotFound`` naming ``memory_id`` or ``target_id``, and ``InvalidInput`` for a
        memory with itself.
        """
        check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _changeable(connection, actor, memory_id)
            if row is not None:
                await leaving.check_may_add(connection, row.owner_id, [row.id])
                links = [writes.Link(row.owner_id, row.id, wanted, "target_id")]
                try:
                    [edge] = await writes.link(connection, actor, links)
                    return _association(edge)
                except NotFound:
                    memory_id, missing = wanted.target_id, "target_id"
            else:
                missing = "memory_id"
        raise await self._refused(actor, "association.set", memory_id, field=missing)

    async def remove(
        self, actor: Actor, memory_id: str, target_id: str, relation: Relation | None = None
    ) -> None:
        """Remove the association from a memory to another, or all of them without a relation."""
        check_id(memory_id)
        check_id(target_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _changeable(connection, actor, memory_id)
            if row is not None:
                found = await repository.owners(connection, actor, [target_id])
                target = (found.get(target_id), target_id)
                if not await repository.remove(connection, row.owner_id, row.id, target, relation):
                    raise NotFound("no such association", field="target_id")
                await audit.note(
                    connection,
                    actor,
                    "association.remove",
                    [row.id, target_id],
                    owner_id=row.owner_id,
                )
                return
        raise await self._refused(actor, "association.remove", memory_id)

    async def list(
        self, actor: Actor, memory_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> AssociationPage:
        """Return the associations of a memory in both directions, the strongest first."""
        check_id(memory_id)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = _position(cursor) if cursor is not None else None
        async with self._database.transaction(actor) as (connection, actor):
            memory = await _seen(connection, actor, memory_id)
            if memory is not None:
                rows = await graph.page(connection, actor, _key(memory), limit, after)
        if memory is None:
            raise await self._refused(actor, "association.read", memory_id)
        shown = rows[:limit]
        await self._note(actor, [_key(memory), *(end for row in shown for end in _ends(row))])
        return AssociationPage(
            associations=[_association(row) for row in shown],
            next_cursor=_cursor(shown[-1]) if len(rows) > limit else None,
        )

    async def neighbours(
        self, actor: Actor, memory_id: str, *, depth: int = 1, limit: int = 50
    ) -> Neighbourhood:
        """Return what lies around a memory: up to ``limit`` others, the nearest, then strongest.

        ``depth`` says how many steps away, 1 or 2. Only what the actor sees is shown, and
        passed through.
        """
        check_id(memory_id)
        check_range(depth, 1, 2, field="depth")
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._database.transaction(actor) as (connection, actor):
            memory = await _seen(connection, actor, memory_id)
            if memory is not None:
                keys, around = await _neighbourhood(connection, actor, memory, depth, limit)
        if memory is None:
            raise await self._refused(actor, "association.read", memory_id)
        await self._note(actor, keys)
        return around

    async def suggestions(self, actor: Actor, memory_id: str) -> Suggestions:
        """Return associations that could be made from a memory to others of its owner.

        To the most similar ones and to those on the same subject, where there is none yet.
        """
        check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _seen(connection, actor, memory_id)
            if row is not None:
                found = await writes.suggest(
                    connection, actor, row.owner_id, [row.id], self._near_duplicate
                )
        if row is None:
            raise await self._refused(actor, "association.read", memory_id)
        mine = [Suggestion.model_validate(one) for one in found.get(row.id, ())]
        ids = [row.id, *(one.target_id for one in mine)]
        await self._note(actor, [(row.owner_id, memory_id) for memory_id in ids])
        return Suggestions(suggestions=mine)

    async def _note(self, actor: Actor, keys: Sequence[Key]) -> None:
        await self._reads.note(actor, "association.read", keys)

    async def _refused(
        self, actor: Actor, action: str, memory_id: str, *, field: str = "memory_id"
    ) -> NotFound:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [memory_id], outcome="refused")
        return NotFound("no such memory", field=field)


async def _seen(connection: AsyncConnection, actor: Actor, memory_id: str) -> Row[Any] | None:
    row = await memories.find(connection, actor, memory_id)
    return row if row is not None and row.status == Status.ACTIVE else None


async def _changeable(connection: AsyncConnection, actor: Actor, memory_id: str) -> Row[Any] | None:
    row = await memories.find(connection, actor, memory_id)
    if row is None or not may_change(actor, row.owner_id):
        return None
    if actor.user_id is not None:
        await users.hold(connection, [actor.user_id])
    await memories.lock_owner(connection, row.owner_id)
    return await _seen(connection, actor, memory_id)


async def _neighbourhood(
    connection: AsyncConnection, actor: Actor, memory: Row[Any], depth: int, limit: int
) -> tuple[list[Key], Neighbourhood]:
    nodes = {_key(memory): _node(memory, 0, 1.0)}
    frontier: dict[Key, float] = {_key(memory): 1.0}
    complete = True
    for steps in range(1, depth + 1):
        # One more than can be shown tells whether there is more.
        each = limit + 1
        rows = await graph.around(connection, actor, list(frontier), each)
        ends = {_key(row): row for row in rows}
        walked = [((row.from_owner, row.from_id), _key(row), row.weight) for row in rows]
        reached = spread(frontier, walked, nodes)
        room = limit + 1 - len(nodes)
        complete = complete and len(reached) <= room and not _cut(rows, each)
        frontier = dict(reached[:room])
        nodes |= {key: _node(ends[key], steps, strength) for key, strength in frontier.items()}
        if not frontier:
            break
    edges = await graph.between(connection, list(nodes))
    return list(nodes), Neighbourhood(
        nodes=list(nodes.values()), edges=[_association(row) for row in edges], complete=complete
    )


def _cut(rows: Sequence[Any], each: int) -> bool:
    """Say whether a memory may have more associations than were looked at."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        way = (row.from_owner, row.from_id, row.outgoing)
        counts[way] = counts.get(way, 0) + 1
    return any(count >= each for count in counts.values())


def _key(row: Row[Any]) -> Key:
    return (row.owner_id, row.id)


def _ends(row: Row[Any]) -> tuple[Key, Key]:
    return (row.owner_id, row.memory_id), (row.target_owner_id, row.target_id)


def _node(row: Row[Any], depth: int, strength: float) -> Node:
    return Node(
        id=row.id,
        user_id=public_owner(row.owner_id),
        depth=depth,
        strength=strength,
        kind=row.kind,
        category=row.category,
        subject=row.subject,
        content=row.content,
        importance=row.importance,
    )


def _association(row: Row[Any]) -> Association:
    return Association(
        memory_id=row.memory_id,
        user_id=public_owner(row.owner_id),
        relation=Relation(row.relation),
        target_id=row.target_id,
        target_user_id=public_owner(row.target_owner_id),
        weight=row.weight,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _cursor(row: Row[Any]) -> str:
    return to_cursor(*(str(getattr(row, column)) for column in graph.ORDER))


def _position(cursor: str) -> list[Any]:
    weight, owner_id, memory_id, target_owner_id, target_id, relation = from_cursor(cursor, 6)
    try:
        return [
            float(weight),
            UUID(owner_id),
            memory_id,
            UUID(target_owner_id),
            target_id,
            relation,
        ]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
