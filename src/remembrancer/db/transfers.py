"""Rows that get another owner.

The owner is part of every key and may decide on which machine a row lies, so a row is never
updated in place: it is deleted and inserted.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Executable, Table, Uuid, delete, literal, select
from sqlalchemy.dialects.postgresql import insert


def change_owner(
    table: Table, giver: UUID, taker: UUID, *conditions: ColumnElement[bool], key: str = "owner_id"
) -> Executable:
    """Move rows between owners; if the taker has a row already, delete that of the giver."""
    given = delete(table).where(table.c[key] == giver, *conditions).returning(*table.c).cte("given")
    names = [column.name for column in table.columns]
    values: list[Any] = [literal(taker, Uuid) if name == key else given.c[name] for name in names]
    return insert(table).from_select(names, select(*values)).on_conflict_do_nothing()
