"""Slow round trips in the log: their statements by name, with plans that have no values."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import psycopg
from psycopg.abc import Params, Query
from sqlalchemy.exc import DBAPIError

from remembrancer.db.sql import name_of
from remembrancer.errors import RemembrancerError
from remembrancer.telemetry.spans import span

log = logging.getLogger(__name__)

PLAN_SECONDS: Final = 60.0
"""Seconds until the plan of the same statement is logged again."""
_CONTROL: Final = ("BEGIN", "COMMIT", "ROLLBACK", "SELECT app_act_", "SELECT set_config")
_MOST_PLANS: Final = 1000

PlanOf = Callable[[str, Mapping[str, str]], Awaitable[str]]
"""Returns the generic plan of SQL with ``$1`` placeholders, under some settings."""


class SlowTrips:
    """Logs round trips that take longer than a limit, and then the plans of their statements.

    A plan is a generic one: made without the values of the statement, so it has none of them.
    """

    def __init__(self, milliseconds: int, plan_of: PlanOf) -> None:
        self.limit = milliseconds / 1000
        """Seconds from which a trip is slow."""
        self._plan_of = plan_of
        self._planned: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, seconds: float, trip: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """Log a slow trip: its statements, each with its settings."""
        told = [(sql, settings) for sql, settings in trip if not sql.startswith(_CONTROL)]
        names = ", ".join(name_of(sql) for sql, _ in told) or "no statement of its own"
        log.warning("slow round trip to the database, %.0f ms: %s", 1000 * seconds, names)
        now = time.monotonic()
        new = [
            each for each in told if now - self._planned.get(each[0], -PLAN_SECONDS) >= PLAN_SECONDS
        ]
        # Beside the request, and one after the other: the database is slow already.
        if new and (self._task is None or self._task.done()):
            if len(self._planned) > _MOST_PLANS:
                self._planned.clear()
            self._planned.update((sql, now) for sql, _ in new)
            self._task = asyncio.create_task(self._log_plans(new))

    async def _log_plans(self, statements: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        for sql, settings in statements:
            try:
                plan = await self._plan_of(sql, settings)
            except (psycopg.Error, DBAPIError, RemembrancerError) as error:
                plan = f"none ({type(error).__name__})"
            log.warning("plan of %s:\n%s", name_of(sql), plan)

    async def close(self) -> None:
        """Leave the plans that are still to be read."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class WatchedCursor(psycopg.AsyncCursor[Any]):
    """The cursor of statements that SQLAlchemy sends, each a round trip."""

    slow: ClassVar[SlowTrips | None] = None

    async def execute(self, query: Query, params: Params | None = None, **options: Any) -> Self:
        if not isinstance(query, str) or not isinstance(params, Mapping | None):
            # Not of SQLAlchemy.
            return await super().execute(query, params, **options)  # type: ignore[arg-type]
        began = time.perf_counter()
        with span("database.trip", db_query_summary=name_of(query)):
            await super().execute(query, params, **options)
        seconds = time.perf_counter() - began
        if self.slow is not None and seconds >= self.slow.limit:
            numbers = {name: f"${number}" for number, name in enumerate(params or (), 1)}
            self.slow.note(seconds, [(query if params is None else query % numbers, {})])
        return self


def watched_cursor(slow_trips: SlowTrips | None) -> type[WatchedCursor]:
    """Return the class of the cursors of a database."""

    class Cursor(WatchedCursor):
        slow = slow_trips

    return Cursor
