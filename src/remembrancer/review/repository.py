"""Reads the memories for a review. The package of memories writes them."""

from collections.abc import Collection

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories
from remembrancer.memories.repository import visible_to
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Review, Status


async def reviewable(
    connection: AsyncConnection, actor: Actor, ids: Collection[str], *, lock: bool = False
) -> dict[str, MemoryRow]:
    """Return the actor's own active, pending and rejected memories among ``ids``, by id."""
    column = memories.c
    rejected = and_(column.status == Status.FORGOTTEN, column.review == Review.REJECTED)
    query = (
        select(memories)
        .where(column.owner_id == actor.user_id, column.id.in_(ids))
        .where(or_(column.status.in_((Status.ACTIVE, Status.PENDING)), rejected))
        .where(visible_to(actor))
        .order_by(column.id)
    )
    rows = await all_rows(connection, MemoryRow, query.with_for_update() if lock else query)
    return {row.id: row for row in rows}
