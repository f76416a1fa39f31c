"""Rows with a type: each row of a result becomes a frozen dataclass of its columns."""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Executable
from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")
Binds = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IdRow:
    id: UUID


@dataclass(frozen=True, slots=True)
class TextRow:
    value: str


@dataclass(frozen=True, slots=True)
class CountRow:
    count: int


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


def row_maker(
    row_type: type[Any] | None, columns: tuple[str, ...]
) -> Callable[[Sequence[Any]], Any]:
    """Return what makes a row of values; the columns are the fields of ``row_type``, in order."""
    if row_type is None:
        return _named_row(columns)
    names, make = _fields_of(row_type)
    if columns != names:
        raise TypeError(f"the columns are not the fields of {row_type.__name__}: {columns}")
    return make


@cache
def _named_row(columns: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    make: Callable[[Sequence[Any]], Any] = namedtuple("Row", columns, rename=True)._make  # type: ignore[attr-defined]
    return make


def _fields_of(row_type: type[Any]) -> tuple[tuple[str, ...], Callable[[Sequence[Any]], Any]]:
    # Faster than calling the type, and recall reads hundreds of rows.
    if make := getattr(row_type, "_make", None):
        return row_type._fields, make
    return tuple(field.name for field in fields(row_type)), lambda values: row_type(*values)
