"""Memories that are compared and moved in a merge."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.associations import repository as associations
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories
from remembrancer.identity.rules import ComparedRow
from remembrancer.memories import source_messages, transfers
from remembrancer.memories.schemas import Status
from remembrancer.search import repository as search


async def compared(connection: AsyncConnection, owner_id: UUID) -> list[ComparedRow]:
    """Return all memories of an owner, the oldest first."""
    column = memories.c
    names = ComparedRow.__dataclass_fields__
    query = (
        select(*(column[name] for name in names))
        .where(column.owner_id == owner_id)
        .order_by(column.created_at, column.id)
    )
    return await all_rows(connection, ComparedRow, query)


async def transfer(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    memory_ids: Sequence[str],
    source_ids: Sequence[str],
    *,
    renamed: Mapping[str, str],
    statuses: Mapping[str, Status],
) -> None:
    """Move memories with all that refers to them, and the search items of messages and chunks.

    ``renamed`` has the new ids and ``statuses`` the new statuses of some memories, by old id.
    """
    await transfers.copy_to_owner(
        connection, giver, taker, memory_ids, renamed=renamed, statuses=statuses
    )
    await associations.transfer(connection, giver, taker, memory_ids, renamed=renamed)
    ids = [UUID(source_id) for source_id in source_ids]
    await source_messages.transfer(connection, giver, taker, ids, renamed=renamed)
    await search.transfer(
        connection, giver, taker, memory_ids=memory_ids, source_ids=ids, renamed=renamed
    )
    await transfers.erase(connection, [(giver, memory_id) for memory_id in memory_ids])
