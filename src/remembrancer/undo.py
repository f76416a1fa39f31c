"""What it takes to take back a large change: ids and settings, never content."""

from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import undo_records
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import new_uuid


async def keep(
    connection: AsyncConnection, owner_id: UUID, action: str, record: dict[str, Any]
) -> UUID:
    """Keep a JSON ``record`` of what ``action`` did to an owner; return its id."""
    record_id = new_uuid()
    values = {"owner_id": owner_id, "id": record_id, "action": action, "record": record}
    await connection.execute(insert(undo_records).values(values))
    return record_id


async def take(
    connection: AsyncConnection, owner_id: UUID, record_id: UUID, action: str
) -> dict[str, Any]:
    """Return a record and mark it as undone, in the transaction that undoes it.

    Raises ``NotFound`` for a record that the owner does not have, and ``Conflict`` for one
    that was taken before.
    """
    column = undo_records.c
    mine = select(column.record, column.undone_at).where(
        column.owner_id == owner_id, column.id == record_id, column.action == action
    )
    row = (await connection.execute(mine.with_for_update())).first()
    if row is None:
        raise NotFound("there is nothing to undo by this id", field="undo_id")
    if row.undone_at is not None:
        raise Conflict("this was undone before", field="undo_id")
    await connection.execute(
        update(undo_records)
        .where(column.owner_id == owner_id, column.id == record_id)
        .values(undone_at=func.now())
    )
    record: dict[str, Any] = row.record
    return record
