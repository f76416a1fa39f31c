"""The cost of a statement: round trips, and times of planning and execution."""

import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import event

from remembrancer import Actor, Remembrancer
from remembrancer.db.engine import Database
from remembrancer.db.sql import Statement


async def round_trips(memory: Remembrancer, work: Callable[[Remembrancer], Awaitable[Any]]) -> int:
    """Return the round trips of ``work`` on a warm connection.

    Counts in libpq's trace: one trip for each change from server to client messages.
    """
    database = Database(memory.database.url, pool_size=1)
    traced = Remembrancer(memory.settings, database, memory.embedder)
    connections: list[Any] = []
    event.listen(
        database._location.pool.engine.sync_engine,
        "connect",
        lambda connection, _record: connections.append(connection.driver_connection),
    )
    try:
        for _ in range(4):  # until every statement is prepared
            await work(traced)
        with tempfile.NamedTemporaryFile() as trace:
            connections[0].pgconn.trace(os.dup(trace.fileno()))
            await work(traced)
            connections[0].pgconn.untrace()
            trace.seek(0)  # libpq shares the file position
            return _turns(trace.read().decode(errors="replace"))
    finally:
        await database.close()


def _turns(trace: str) -> int:
    directions = [
        field
        for line in trace.splitlines()
        for field in line.split("\t")[:2]
        if field in {"F", "B"}
    ]
    before = ["B", *directions[:-1]]
    return sum(
        1
        for previous, current in zip(before, directions, strict=True)
        if (previous, current) == ("B", "F")
    )


class Recorder:
    """Records the last statement of recall, to explain it."""

    def __init__(self, memory: Remembrancer) -> None:
        self._database: Any = memory.database
        self._send = memory.database.one_round_trip
        self._last: tuple[Actor, Statement] | None = None
        self._database.one_round_trip = self._record

    async def _record(self, actor: Actor, *statements: Statement, **options: Any) -> Any:
        self._last = actor, statements[-1]
        return await self._send(actor, *statements, **options)

    async def explain(self) -> tuple[float, float]:
        """Run the last statement again; return milliseconds of planning and execution."""
        assert self._last
        actor, last = self._last
        text = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {last.sql.text}"
        explained = replace(last, sql=replace(last.sql, text=text), row_type=None)
        [[row]] = await self._send(actor, explained)
        [plan] = row[0]
        return plan["Planning Time"], plan["Execution Time"]
