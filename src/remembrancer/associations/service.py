"""Associate memories, and read the graph of their associations."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.associations import repository, schemas
from remembrancer.associations.rows import AssociationRow, NeighbourRow, NodeRow
from remembrancer.associations.rules import spread
from remembrancer.associations.writer import AssociationRequest, AssociationWriter
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.trips import together
from remembrancer.errors import HiddenMemory, NotFound
from remembrancer.ids import MemoryKey, public_owner
from remembrancer.memories import repository as memories
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import check_id
from remembrancer.memories.schemas import AssociationCreate, Category, Kind, Relation
from remembrancer.paging import LARGEST_PAGE, PageMethod
from remembrancer.text import check_range

_READ: Final = "association.read"


@retries_deadlocks
class Associations:
    """Associations between memories. An actor sees one if they see both of its ends.

    An association belongs to the memory it starts from: an actor who may change that memory may
    add and remove it. For a memory that the actor does not see, all methods raise ``NotFound``
    and log the attempt.
    """

    def __init__(self, backend: Backend, writer: AssociationWriter) -> None:
        self._backend = backend
        self._writer = writer

    async def add(
        self, actor: Actor, memory_id: str, association: AssociationCreate
    ) -> schemas.Association:
        """Associate a memory with another; an existing association gets the new weight.

        Raises ``NotFound`` naming ``memory_id`` or ``target_id``, and ``InvalidInput`` for a
        memory with itself.
        """
        check_id(memory_id)
        async with self._backend.transaction(actor, "association.set") as (connection, actor):
            row = await memories.lock_changeable(connection, actor, memory_id)
            request = AssociationRequest(row.owner_id, row.id, association, "target_id")
            try:
                [written] = await self._writer.add(connection, actor, [request])
            except NotFound as error:
                raise HiddenMemory(association.target_id, field="target_id") from error
        return association_of(written)

    async def remove(
        self, actor: Actor, memory_id: str, target_id: str, relation: Relation | None = None
    ) -> None:
        """Remove the association from a memory to another; all relations without ``relation``.

        Raises ``NotFound`` naming ``memory_id``, or ``target_id`` if there is no association.
        """
        check_id(memory_id)
        check_id(target_id)
        action = "association.remove"
        async with self._backend.transaction(actor, action) as (connection, actor):
            row = await memories.lock_changeable(connection, actor, memory_id)
            owners = await repository.owners(connection, actor, [target_id])
            target = (owners.get(target_id), target_id)
            if not await repository.remove(connection, row.owner_id, row.id, target, relation):
                raise NotFound("no such association", field="target_id")
            ids = [row.id, target_id]
            await audit.note(connection, actor, action, ids, owner_id=row.owner_id)

    @PageMethod
    async def list(
        self, actor: Actor, memory_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> schemas.AssociationPage:
        """Return a page of a memory's associations in both directions, the strongest first.

        ``limit`` is from 1 to 200. Raises ``NotFound`` and ``InvalidInput``.
        """
        check_id(memory_id)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._backend.transaction(actor, _READ) as (connection, actor):
            memory = await memories.get(connection, actor, memory_id)
            key = (memory.owner_id, memory.id)
            page = await repository.page(connection, actor, key, limit, cursor)
        ends = [
            end
            for row in page.items
            for end in ((row.owner_id, row.memory_id), (row.target_owner_id, row.target_id))
        ]
        await self._note_read(actor, [key, *ends])
        return schemas.AssociationPage(
            items=[association_of(row) for row in page.items], next_cursor=page.next_cursor
        )

    async def neighbours(
        self, actor: Actor, memory_id: str, *, depth: int = 1, limit: int = 50
    ) -> schemas.Neighbourhood:
        """Return the memories around a memory, and their associations.

        The nearest come first, then the strongest. ``depth`` is the number of steps, 1 or 2;
        ``limit`` the largest number of other memories, from 1 to 200. A path leads only through
        memories that the actor sees. Raises ``NotFound`` and ``InvalidInput``.
        """
        check_id(memory_id)
        check_range(depth, 1, 2, field="depth")
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._backend.transaction(actor, _READ) as (connection, actor):
            memory = await memories.get(connection, actor, memory_id)
            nodes, complete = await _nodes(connection, actor, memory, depth, limit)
            rows = await repository.between(connection, list(nodes))
        await self._note_read(actor, list(nodes))
        return schemas.Neighbourhood(
            nodes=list(nodes.values()),
            edges=[association_of(row) for row in rows],
            complete=complete,
        )

    async def suggestions(self, actor: Actor, memory_id: str) -> schemas.Suggestions:
        """Return associations that could be added from a memory to others of its owner.

        To the most similar memories, and to those on the same subject, without an association.
        Raises ``NotFound``.
        """
        check_id(memory_id)
        async with self._backend.transaction(actor, _READ) as (connection, actor):
            row = await memories.get(connection, actor, memory_id)
            async with together(connection) as trip:
                suggest = self._writer.suggest(trip, actor, row.owner_id, [row.id])
        suggestions = suggest().get(row.id, [])
        ids = [row.id, *(suggestion.target_id for suggestion in suggestions)]
        await self._note_read(actor, [(row.owner_id, memory_id) for memory_id in ids])
        return schemas.Suggestions(items=suggestions)

    async def _note_read(self, actor: Actor, keys: Sequence[MemoryKey]) -> None:
        await self._backend.reads.note(actor, _READ, keys)


async def _nodes(
    connection: AsyncConnection, actor: Actor, memory: MemoryRow, depth: int, limit: int
) -> tuple[dict[MemoryKey, schemas.Node], bool]:
    """Return the nodes of a neighbourhood, and whether they are complete."""
    start = (memory.owner_id, memory.id)
    nodes = {start: _node(memory, 0, 1.0)}
    frontier: dict[MemoryKey, float] = {start: 1.0}
    complete = True
    for steps in range(1, depth + 1):
        # One more than the limit, to know whether there are more.
        most = limit + 1
        rows = await repository.neighbours(connection, actor, list(frontier), most)
        row_of = {row.key: row for row in rows}
        reached = spread(frontier, [(row.source, row.key, row.weight) for row in rows], nodes)
        room = limit + 1 - len(nodes)
        complete = complete and len(reached) <= room and not _cut(rows, most)
        frontier = dict(reached[:room])
        nodes |= {key: _node(row_of[key], steps, strength) for key, strength in frontier.items()}
        if not frontier:
            break
    return nodes, complete


def _cut(rows: Sequence[NeighbourRow], most: int) -> bool:
    """Return whether a memory may have more associations than were read."""
    counts = Counter((row.source, row.outgoing) for row in rows)
    return any(count >= most for count in counts.values())


def _node(row: MemoryRow | NodeRow, depth: int, strength: float) -> schemas.Node:
    return schemas.Node(
        id=row.id,
        user_id=public_owner(row.owner_id),
        depth=depth,
        strength=strength,
        kind=Kind(row.kind),
        category=Category(row.category),
        subject=row.subject,
        content=row.content,
        importance=row.importance,
    )


def association_of(row: AssociationRow) -> schemas.Association:
    """Return the model of an association."""
    return schemas.Association(
        memory_id=row.memory_id,
        user_id=public_owner(row.owner_id),
        relation=Relation(row.relation),
        target_id=row.target_id,
        target_user_id=public_owner(row.target_owner_id),
        weight=row.weight,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
