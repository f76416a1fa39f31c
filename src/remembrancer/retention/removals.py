"""Batches of old messages, memories and versions. Each goes on where the last one ended."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.erasure import deletions, locks
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import citations
from remembrancer.memories import repository as memories
from remembrancer.retention.rows import OldMemory, OldMessage

AT_ONCE: Final = 50
"""Rows that one transaction removes."""

Removal = Callable[[AsyncConnection, Actor, datetime], Awaitable[int | None]]
"""Removes a batch of rows from before a time; returns how many, null if there was none."""

_sql = partial(statement, "remembrancer.retention", "retention")


class Messages:
    """Old messages, the first ones of each conversation."""

    def __init__(self) -> None:
        self._after = UUID(int=0)

    async def __call__(
        self, connection: AsyncConnection, actor: Actor, before: datetime
    ) -> int | None:
        """Remove messages with their items and summaries; memories stay."""
        binds = {"before": before, "after": self._after, "most": AT_ONCE}
        found = await all_rows(connection, OldMessage, _sql("messages"), binds)
        if not found:
            return None
        talk_of = {message.id: message.conversation_id for message in found}
        keys = await locks.lock_messages(connection, set(talk_of.values()), list(talk_of))
        positions: dict[UUID, list[int]] = {}
        ids_of: dict[UUID, list[str]] = {}
        for key in keys:
            positions.setdefault(talk_of[key.id], []).append(key.position)
            ids_of.setdefault(key.owner_id, []).append(str(key.id))
        await deletions.remove_messages(connection, keys, positions)
        await audit.note_each(connection, actor, "message.remove", ids_of)
        # Last, since a batch that lost a deadlock is tried again.
        self._after = found[-1].conversation_id
        return len(keys)


class _Owners:
    """Old rows of one owner after another."""

    def __init__(self) -> None:
        self._after: tuple[UUID, str] = (SHARED_OWNER, "")

    async def _next(
        self, connection: AsyncConnection, name: str, **binds: object
    ) -> tuple[UUID, Sequence[str]] | None:
        """Return the next owner with memories, and these."""
        after_owner, after_id = self._after
        binds |= {"after_owner": after_owner, "after_id": after_id, "most": AT_ONCE}
        found = await all_rows(connection, OldMemory, _sql(name), binds)
        if not found:
            return None
        owner_id = found[0].owner_id
        return owner_id, [memory.id for memory in found if memory.owner_id == owner_id]


class Memories(_Owners):
    """Memories that are evicted or forgotten for long."""

    def __init__(self, status: str) -> None:
        super().__init__()
        self._status = status

    async def __call__(
        self, connection: AsyncConnection, actor: Actor, before: datetime
    ) -> int | None:
        """Erase memories, and messages that a forgotten one withholds."""
        old = {"status": self._status, "before": before}
        found = await self._next(connection, "memories", **old)
        if found is None:
            return None
        owner_id, ids = found
        messages = await locks.lock_withheld(connection, owner_id, ids)
        await locks.lock_owner(connection, owner_id)
        # One may be in use again by now.
        binds = {"owner_id": owner_id, "ids": list(ids), **old}
        rows = await all_rows(connection, OldMemory, _sql("lock_memories"), binds)
        await deletions.erase_memories(connection, [(row.owner_id, row.id) for row in rows])
        if messages:
            await deletions.erase_withheld(connection, owner_id, sorted(messages))
        erased = [row.id for row in rows]
        if erased:
            await audit.note(connection, actor, "memory.remove", erased, owner_id=owner_id)
        self._after = owner_id, ids[-1]
        return len(erased)


class Versions(_Owners):
    """Old versions of memories; never the current one."""

    async def __call__(
        self, connection: AsyncConnection, actor: Actor, before: datetime
    ) -> int | None:
        """Remove versions with their items."""
        found = await self._next(connection, "versions", before=before)
        if found is None:
            return None
        owner_id, ids = found
        await locks.lock_owner(connection, owner_id)
        await memories.lock(connection, owner_id, ids)
        keys = [(owner_id, memory_id) for memory_id in ids]
        count = await citations.delete_superseded(connection, keys, before)
        await audit.note(connection, actor, "version.remove", ids, owner_id=owner_id)
        self._after = owner_id, ids[-1]
        return count
