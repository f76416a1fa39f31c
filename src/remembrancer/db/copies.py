"""Copies of rows, under other keys or for another owner."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, FromClause, Table, bindparam, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeEngine

from remembrancer.db.tables.base import written_columns


def values_table(columns: Mapping[str, tuple[Sequence[Any], TypeEngine[Any]]]) -> TableValuedAlias:
    """Return rows, given as the values and the type of each column, as a table to join."""
    binds = [
        bindparam(None, list(values), type_=ARRAY(type_), unique=True)
        for values, type_ in columns.values()
    ]
    return func.unnest(*binds).table_valued(*columns).render_derived()


async def copy_rows(
    connection: AsyncConnection,
    table: Table,
    condition: ColumnElement[bool],
    changes: Mapping[str, Any],
    *,
    joined: FromClause | None = None,
) -> None:
    """Insert the rows that meet a condition again, with some columns changed.

    ``joined`` is a table to join on the condition, for changes that depend on the row.
    """
    columns = written_columns(table)
    values = [changes.get(name, table.c[name]) for name in columns]
    statement = select(*values)
    if joined is None:
        statement = statement.where(condition)
    else:
        statement = statement.select_from(table.join(joined, condition))
    await connection.execute(insert(table).from_select(columns, statement))
