"""Delete a few of the rows that meet a condition."""

from sqlalchemy import ColumnElement, Table, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection


async def delete_rows(
    connection: AsyncConnection, table: Table, condition: ColumnElement[bool], most: int
) -> int:
    """Delete up to ``most`` rows in the order of their keys; return how many.

    Those that another transaction uses stay.
    """
    keys = list(table.primary_key.columns)
    few = select(*keys).where(condition).order_by(*keys).limit(most)
    few = few.with_for_update(skip_locked=True)
    return (await connection.execute(delete(table).where(tuple_(*keys).in_(few)))).rowcount
