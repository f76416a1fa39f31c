"""Pages of the facts of a space. The package of memories writes them."""

from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.keyset import Keyset
from remembrancer.db.tables import memories
from remembrancer.memories.repository import visible_to
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Status
from remembrancer.paging import Page

_ORDER: Final = Keyset("facts", memories.c.created_at, memories.c.owner_id, memories.c.id)


async def page(
    connection: AsyncConnection, actor: Actor, space_id: UUID, limit: int, cursor: str | None
) -> Page[MemoryRow]:
    """Return the facts that the actor sees, the oldest first."""
    query = select(memories).where(
        memories.c.space_id == space_id, memories.c.status == Status.ACTIVE, visible_to(actor)
    )
    return await _ORDER.page(connection, MemoryRow, query, limit, cursor)
