"""Rows with a type: each row of a result becomes a frozen dataclass of its columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from psycopg.rows import BaseRowFactory, namedtuple_row
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
    """Return the first row, null if there is none."""
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


def row_factory(row_type: type[Any] | None) -> BaseRowFactory[Any]:
    """Return a row factory for psycopg; the columns are the fields of ``row_type``, in order."""
    if row_type is None:
        return namedtuple_row
    names, make = _fields_of(row_type)

    def factory(cursor: Any) -> Callable[[Sequence[Any]], Any]:
        columns = tuple(column.name for column in cursor.description or ())
        if columns and columns != names:
            raise TypeError(f"the columns are not the fields of {row_type.__name__}: {columns}")
        return make

    return factory


def _fields_of(row_type: type[Any]) -> tuple[tuple[str, ...], Callable[[Sequence[Any]], Any]]:
    # Faster than calling the type, and recall reads hundreds of rows.
    if make := getattr(row_type, "_make", None):
        return row_type._fields, make
    return tuple(field.name for field in fields(row_type)), lambda values: row_type(*values)
