"""Undo records of large changes: ids and settings, never content.

The only writer of the table.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.deletions import delete_rows
from remembrancer.db.rows import all_rows, first_row
from remembrancer.db.tables import undo_records
from remembrancer.db.transfers import change_owner
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import new_uuid

_COLUMN: Final = undo_records.c


@dataclass(frozen=True, slots=True)
class UndoRow:
    owner_id: UUID
    id: UUID
    action: str
    record: dict[str, Any]
    created_at: datetime
    undone_at: datetime | None


async def add(
    connection: AsyncConnection, owner_id: UUID, action: str, record: dict[str, Any]
) -> UUID:
    """Store a record (JSON) and return its id."""
    record_id = new_uuid()
    values = {"owner_id": owner_id, "id": record_id, "action": action, "record": record}
    await connection.execute(insert(undo_records).values(values))
    return record_id


async def take(
    connection: AsyncConnection, owner_id: UUID, record_id: UUID, action: str
) -> dict[str, Any]:
    """Mark a record as undone, in the transaction that undoes it, and return it.

    Raise ``NotFound`` for another owner's record, and ``Conflict`` for one that was undone before.
    """
    query = _records(owner_id, action).where(_COLUMN.id == record_id).with_for_update()
    row = await first_row(connection, UndoRow, query)
    if row is None:
        raise NotFound("there is nothing to undo with this id", field="undo_id")
    if row.undone_at is not None:
        raise Conflict("this was undone before", field="undo_id")
    await connection.execute(
        update(undo_records)
        .where(_COLUMN.owner_id == owner_id, _COLUMN.id == record_id)
        .values(undone_at=func.now())
    )
    return row.record


async def list_records(
    connection: AsyncConnection, owner_id: UUID, action: str, *conditions: ColumnElement[bool]
) -> list[UndoRow]:
    """Return the records of an action that meet the conditions, the latest first."""
    return await all_rows(connection, UndoRow, _records(owner_id, action).where(*conditions))


async def latest(
    connection: AsyncConnection, owner_id: UUID, action: str, *conditions: ColumnElement[bool]
) -> UUID | None:
    """Return the latest record that meets the conditions and is not undone."""
    query = _records(owner_id, action).where(_COLUMN.undone_at.is_(None), *conditions).limit(1)
    row = await first_row(connection, UndoRow, query)
    return None if row is None else row.id


def _records(owner_id: UUID, action: str) -> Select[Any]:
    return (
        select(undo_records)
        .where(_COLUMN.owner_id == owner_id, _COLUMN.action == action)
        .order_by(_COLUMN.id.desc())
    )


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> dict[str, Any]:
    """Move all records of an owner; return a record for ``transfer_back``."""
    ids = select(_COLUMN.id).where(_COLUMN.owner_id == giver)
    record_ids = [str(record_id) for record_id in (await connection.execute(ids)).scalars()]
    await connection.execute(change_owner(undo_records, giver, taker))
    return {"records": record_ids}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    moved = _COLUMN.id.in_([UUID(record_id) for record_id in record["records"]])
    await connection.execute(change_owner(undo_records, taker, giver, moved))


async def delete_old(connection: AsyncConnection, before: datetime, most: int) -> int:
    """Delete up to ``most`` records from before a time; return how many."""
    return await delete_rows(connection, undo_records, _COLUMN.created_at < before, most)


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete a user's records and those that name them as merged; return the rows deleted."""
    named = _COLUMN.record["merged"].astext == str(user_id)
    removal = delete(undo_records).where(or_(_COLUMN.owner_id == user_id, named))
    return Counter(undo_records=(await connection.execute(removal)).rowcount)
