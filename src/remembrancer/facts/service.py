"""Facts: memories in a space, private to their author until shared."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Visibility
from remembrancer.associations import repository as associations
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, HiddenMemory, InvalidInput, NotFound
from remembrancer.facts import repository
from remembrancer.facts.schemas import Fact, FactCreate
from remembrancer.memories import repository as memories
from remembrancer.memories import screening, views
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import check_id, check_version
from remembrancer.memories.schemas import (
    ForgetResult,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryPage,
    RememberResult,
    Status,
)
from remembrancer.memories.service import Memories
from remembrancer.paging import Page, PageMethod
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users
from remembrancer.validation import validate

SHARE: Final = "memory.share"
_SHARED_COLUMNS: Final = (
    "content", "kind", "category", "subject", "importance", "valid_from", "valid_to",
    "expires_at",
    "conversation_id", "message_id",
)  # fmt: skip
"""Columns of a memory that is shared as a fact: its sources too, so that erasure reaches it."""


@retries_deadlocks
class Facts:
    """Memories in spaces.

    A fact belongs to its author: nobody else shares, changes or deletes it. For a user who is
    not a member of a space, all methods raise ``NotFound`` and log the attempt.
    """

    def __init__(self, backend: Backend, memories: Memories) -> None:
        self._backend = backend
        self._database = backend.database
        self._memories = memories

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
        statement = validate(MemoryCreate, space_id=space_id, **fact.model_dump(exclude_unset=True))
        return await self._memories.remember(
            actor, statement, source=source, idempotency_key=idempotency_key
        )

    async def share(
        self, actor: Actor, memory_id: str, space_id: UUID, *, source: str = "manual"
    ) -> RememberResult:
        """Share the content of a memory with the members of a space, as a new fact there.

        The memory itself does not change. A statement that is in the space already gets a
        mention. Raises ``NotFound`` for another user's memory or a space without the actor, and
        ``InvalidInput`` for content that may not be shared.
        """
        check_id(memory_id)
        async with self._backend.transaction(actor, SHARE) as (connection, actor):
            row = await memories.get(connection, actor, memory_id)
            memories.check_changeable(actor, row)
        columns = {name: getattr(row, name) for name in _SHARED_COLUMNS}
        fact = validate(FactCreate, **columns, visibility=Visibility.SHARED, allow_similar=True)
        return await self.add(actor, space_id, fact, source=source)

    @PageMethod
    async def memories(
        self,
        actor: Actor,
        space_id: UUID,
        filters: MemoryFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> MemoryPage:
        """Return a page of the memories of a space, by default the newest first.

        ``limit`` is from 1 to 200. Raises ``NotFound`` and ``InvalidInput``.
        """
        await self._check_member(actor, space_id, "memory.list")
        of_space = (filters or MemoryFilter()).model_copy(update={"space_id": space_id})
        return await self._memories.list(actor, of_space, limit=limit, cursor=cursor)

    @PageMethod
    async def list(
        self, actor: Actor, space_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Fact]:
        """Return a page of the actor's facts and those shared with them, the oldest first.

        ``limit`` is from 1 to 200. Raises ``NotFound`` and ``InvalidInput``.
        """
        await self._check_member(actor, space_id, "memory.list")
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.page(connection, actor, space_id, limit, cursor)
        await self._backend.reads.note(
            actor, "memory.list", ((row.owner_id, row.id) for row in rows.items)
        )
        async with self._database.system() as connection:
            names = await users.names(connection, {row.owner_id for row in rows.items})
        return rows.map(
            lambda row: Fact.of(views.memory(row), actor.user_id, names.get(row.owner_id))
        )

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

        They see its history too: earlier versions, and the wordings of its mentions. Raises
        ``NotFound``; ``Conflict`` if the actor shares and is not a member of the space;
        ``PreconditionFailed`` if ``if_version`` is not the current version; ``InvalidInput`` for
        a memory outside spaces, or ``NotFound`` with ``in_space``.
        """
        check_id(memory_id)
        async with self._backend.transaction(actor, SHARE) as (connection, actor):
            # Any memory can be made private.
            statuses = memories.ANY_STATUS if visibility is Visibility.PRIVATE else {Status.ACTIVE}
            row = await memories.lock_changeable(connection, actor, memory_id, statuses)
            if in_space and row.space_id is None:
                raise HiddenMemory(memory_id)
            _check(row, visibility, if_version)
            changed = await _change(connection, actor, row, visibility)
        if changed is None:
            error = Conflict("only a member of its space can share it", field="visibility")
            await self._backend.refuse(actor, SHARE, [memory_id], error)
        return changed

    async def delete(self, actor: Actor, memory_id: str) -> ForgetResult:
        """Forget a fact in a space: see ``Memories.forget``. Raises ``NotFound``."""
        check_id(memory_id)
        async with self._backend.transaction(actor, "memory.forget") as (connection, actor):
            row = await memories.get(connection, actor, memory_id, memories.ANY_STATUS)
            if row.space_id is None:
                raise HiddenMemory(memory_id)
        return await self._memories.forget(actor, memory_id)

    async def _check_member(self, actor: Actor, space_id: UUID, action: str) -> None:
        async with self._database.transaction(actor) as (connection, actor):
            if await spaces.is_member(connection, space_id, actor.require_user()):
                return
        error = NotFound("no such space", field="space_id")
        await self._backend.refuse(actor, action, [str(space_id)], error)


async def set_visibility(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], visibility: Visibility
) -> None:
    await memories.set_visibility(connection, owner_id, ids, visibility)
    await associations.reshare(connection, owner_id, ids)


async def _change(
    connection: AsyncConnection, actor: Actor, row: MemoryRow, visibility: Visibility
) -> Memory | None:
    """Return None if the actor may not share the memory."""
    if row.visibility == visibility:
        return views.memory(row)
    action = "memory.unshare"
    if visibility is Visibility.SHARED:
        action = SHARE
        if row.space_id is None or not await spaces.is_member(
            connection, row.space_id, row.owner_id
        ):
            return None
    await set_visibility(connection, row.owner_id, [row.id], visibility)
    await audit.note(connection, actor, action, [row.id], owner_id=row.owner_id)
    changed = await memories.by_ids(connection, row.owner_id, [row.id])
    return views.memory(changed[row.id])


def _check(row: MemoryRow, visibility: Visibility, if_version: int | None) -> None:
    check_version(row, None, if_version)
    if visibility is Visibility.SHARED and row.space_id is None:
        raise InvalidInput("only a memory in a space can be shared", field="visibility")
    if visibility is Visibility.SHARED and row.visibility != visibility:
        screening.check_sharing(row)
