"""Rows with a type: each row of a result becomes a frozen dataclass of its columns."""

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import Executable
from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")
Binds = Mapping[str, Any]


async def all_rows(
    connection: AsyncConnection,
    row_type: type[T],
    statement: Executable,
    binds: Binds | None = None,
) -> list[T]:
    """Return every row. Its columns are the fields of ``row_type``, by name."""
    result = await connection.execute(statement, binds)
    return [row_type(**row) for row in result.mappings()]


async def first_row(
    connection: AsyncConnection,
    row_type: type[T],
    statement: Executable,
    binds: Binds | None = None,
) -> T | None:
    """Return the first row, or None where there is none."""
    row = (await connection.execute(statement, binds)).mappings().first()
    return None if row is None else row_type(**row)


async def one_row(
    connection: AsyncConnection,
    row_type: type[T],
    statement: Executable,
    binds: Binds | None = None,
) -> T:
    """Return the only row."""
    return row_type(**(await connection.execute(statement, binds)).mappings().one())
