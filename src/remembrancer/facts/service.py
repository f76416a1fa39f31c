"""Memories in a space: private to their author until they share them."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Visibility, may_change
from remembrancer.associations import repository as associations
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, InvalidInput, NotFound, PreconditionFailed
from remembrancer.facts.repository import in_order
from remembrancer.facts.schemas import Fact, FactCreate
from remembrancer.memories import repository, screening, views
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import check_id
from remembrancer.memories.schemas import (
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryPage,
    RememberResult,
    Status,
)
from remembrancer.memories.service import Memories
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.spaces import repository as spaces
from remembrancer.text import check_range
from remembrancer.users import repository as users
from remembrancer.validation import made

ACTION: Final = "memory.share"
_TOLD: Final = (
    "content", "kind", "category", "subject", "importance", "valid_from", "valid_to",
    "conversation_id", "message_id",
)  # fmt: skip
"""What of a memory is put into a space: also what it rests on, so that erasure reaches it."""


class Facts:
    """What people keep in spaces.

    A fact belongs to its author, who alone shares, changes or deletes it. For whoever is no
    member a space does not exist: ``NotFound``, and a line in the audit log.
    """

    def __init__(self, database: Database, memories: Memories, reads: Reads) -> None:
        self._database = database
        self._memories = memories
        self._reads = reads

    async def add(
        self,
        actor: Actor,
        space_id: UUID,
        fact: FactCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> RememberResult:
        """Store a fact in a space, or count it as a mention: see ``Memories.remember``."""
        await self._check_member(actor, space_id, "memory.remember")
        given = fact.model_dump(exclude_unset=True)
        statement = made(MemoryCreate, space_id=space_id, **given)
        return await self._memories.remember(
            actor, statement, source=source, idempotency_key=idempotency_key
        )

    async def share(
        self, actor: Actor, memory_id: str, space_id: UUID, *, source: str = "manual"
    ) -> RememberResult:
        """Tell the members of a space what a memory says: a fact of its own, shared there.

        The memory stays as and where it is, with its history. For its owner. Raises
        ``NotFound`` for a space the actor is no member of, and where words may not be shared
        ``InvalidInput``; said there already, it is a mention.
        """
        check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, memory_id)
        if row is None or row.status != Status.ACTIVE or not may_change(actor, row.owner_id):
            await self._refused(actor, ACTION, memory_id)
            raise NotFound("no such memory", field="memory_id")
        given = {name: getattr(row, name) for name in _TOLD}
        fact = made(FactCreate, **given, visibility=Visibility.SHARED, allow_similar=True)
        return await self.add(actor, space_id, fact, source=source)

    async def memories(
        self,
        actor: Actor,
        space_id: UUID,
        wanted: MemoryFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> MemoryPage:
        """Return a page of what the actor sees in a space, the newest first unless sorted."""
        await self._check_member(actor, space_id, "memory.list")
        here = (wanted or MemoryFilter()).model_copy(update={"space_id": space_id})
        return await self._memories.list(actor, here, limit=limit, cursor=cursor)

    async def list(
        self, actor: Actor, space_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Fact]:
        """Return a page of the actor's facts and those shared with them, oldest first."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        await self._check_member(actor, space_id, "memory.list")
        async with self._database.transaction(actor) as (connection, actor):
            page = await in_order(connection, actor, space_id, limit=limit, cursor=cursor)
        await self._reads.note(
            actor, "memory.list", ((fact.user_id, fact.id) for fact in page.items)
        )
        return page

    async def set_visibility(
        self,
        actor: Actor,
        memory_id: str,
        visibility: Visibility,
        *,
        if_version: int | None = None,
        in_space: bool = False,
    ) -> Memory:
        """Share a fact with the members of its space, or make it private again.

        Its history is seen with it: earlier versions, and other wordings of its mentions.
        Counts from the next read on. Sharing needs membership, or ``Conflict``; making
        private does not. ``PreconditionFailed`` where ``if_version`` is not current. With
        ``in_space`` a memory outside spaces does not exist.
        """
        check_id(memory_id)
        sharing = visibility is Visibility.SHARED
        async with self._database.transaction(actor) as (connection, actor):
            row = await _authors(connection, actor, memory_id, active=sharing)
            if row is not None and in_space and row.space_id is None:
                row = None
            if row is not None:
                _check(row, visibility, if_version)
                if row.visibility == visibility:
                    return views.memory(row)
                if not sharing or await _among_members(connection, row):
                    await set_visibility(
                        connection, row.owner_id, [row.id], row.space_id, visibility
                    )
                    changed = await repository.by_ids(connection, row.owner_id, [row.id])
                    action = ACTION if sharing else "memory.unshare"
                    await audit.note(connection, actor, action, [row.id], owner_id=row.owner_id)
                    return views.memory(changed[row.id])
        await self._refused(actor, ACTION, memory_id)
        if row is None:
            raise NotFound("no such memory", field="memory_id")
        raise Conflict("only a member of its space can share it", field="visibility")

    async def delete(self, actor: Actor, memory_id: str) -> Memory:
        """Forget a fact in a space: see ``Memories.forget``."""
        check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, memory_id)
        if row is None or row.space_id is None:
            await self._refused(actor, "memory.forget", memory_id)
            raise NotFound("no such memory", field="memory_id")
        return await self._memories.forget(actor, memory_id)

    async def _check_member(self, actor: Actor, space_id: UUID, action: str) -> None:
        async with self._database.transaction(actor) as (connection, actor):
            if await spaces.is_member(connection, space_id, actor.require_user()):
                return
        await self._refused(actor, action, str(space_id))
        raise NotFound("no such space", field="space_id")

    async def _refused(self, actor: Actor, action: str, target_id: str) -> None:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [target_id], outcome="refused")


async def _authors(
    connection: AsyncConnection, actor: Actor, memory_id: str, *, active: bool
) -> MemoryRow | None:
    """Return a memory that is the actor's to share, locked; what is forgotten unless ``active``."""
    row = await repository.find(connection, actor, memory_id)
    if row is None or not may_change(actor, row.owner_id):
        return None
    if actor.user_id is not None:
        await users.hold(connection, [actor.user_id])
    await repository.lock_owner(connection, row.owner_id)
    row = await repository.find(connection, actor, memory_id, lock=True)
    return row if row is not None and (row.status == Status.ACTIVE or not active) else None


async def _among_members(connection: AsyncConnection, row: MemoryRow) -> bool:
    return row.space_id is not None and await spaces.is_member(
        connection, row.space_id, row.owner_id
    )


def _check(row: MemoryRow, visibility: Visibility, if_version: int | None) -> None:
    if if_version not in {None, row.version}:
        raise PreconditionFailed(
            f"the memory is at version {row.version} now", current_version=row.version
        )
    if visibility is Visibility.SHARED and row.space_id is None:
        raise InvalidInput("only a memory in a space can be shared", field="visibility")
    if visibility is Visibility.SHARED and row.visibility != visibility:
        screening.check_sharing(row)


async def set_visibility(
    connection: AsyncConnection,
    owner_id: UUID,
    ids: Sequence[str],
    space_id: UUID | None,
    visibility: Visibility,
) -> None:
    """Set the visibility of an owner's memories in a space, and of their associations."""
    await repository.set_visibility(connection, owner_id, ids, visibility)
    shared_with = space_id if visibility is Visibility.SHARED else None
    await associations.share(connection, owner_id, ids, shared_with)
