"""Statements that travel to the database together."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast, overload
from uuid import UUID

from sqlalchemy import TextClause
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.pipeline import pipelined
from remembrancer.db.pool import Driver
from remembrancer.db.rows import Binds
from remembrancer.db.sql import Statement, numbered

T = TypeVar("T")


class Trip:
    """Statements that travel to the database together, inside a transaction.

    The first trip of a transaction knows the last one, its ``end``, which commits it.
    """

    def __init__(self, end: "Trip | None" = None) -> None:
        self.end = end
        self._parts: list[tuple[Statement, list[object]]] = []

    @overload
    def add(self, sql: TextClause, binds: Binds, row_type: type[T]) -> list[T]: ...
    @overload
    def add(self, sql: TextClause, binds: Binds) -> list[object]: ...
    def add(self, sql: TextClause, binds: Binds, row_type: type[object] | None = None) -> list[Any]:
        """Add a statement; return a list that has its rows once the trip is over."""
        rows: list[object] = []
        self._parts.append((Statement(numbered(sql.text), binds, row_type=row_type), rows))
        return rows

    def __bool__(self) -> bool:
        """Whether there are statements."""
        return bool(self._parts)

    async def send(
        self, connection: AsyncConnection, *first: Statement
    ) -> list[Sequence[tuple[UUID | None]]]:
        """Run the statements after the ``first``, and return the rows of these."""
        statements = [*first, *(statement for statement, _ in self._parts)]
        if not statements:
            return []
        answers = await pipelined(driver_of(connection), statements)
        for (_, rows), answer in zip(self._parts, answers[len(first) :], strict=True):
            rows.extend(answer)
        return answers[: len(first)]


@asynccontextmanager
async def together(connection: AsyncConnection) -> AsyncIterator[Trip]:
    """Run the statements that are added inside in one round trip, at its end."""
    trip = Trip()
    yield trip
    await trip.send(connection)


def driver_of(connection: AsyncConnection) -> Driver:
    """Return the driver's connection behind one of SQLAlchemy."""
    assert connection.sync_connection
    return cast("Driver", connection.sync_connection.connection.driver_connection)
