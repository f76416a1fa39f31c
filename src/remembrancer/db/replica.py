"""A replica: it answers reads that may come from it, while it has all that was written before.

A read asks the primary how far its log is, and the replica whether it has replayed that. So what it
shows is never older than the request, whichever server wrote, and nobody remembers who wrote what.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Final, LiteralString, ParamSpec, TypeVar

import psycopg
from sqlalchemy.exc import DBAPIError

from remembrancer import errors
from remembrancer.db.pool import Pool

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_WAIT: Final = 0.1
"""Seconds that a read waits for the replica to replay what the primary has."""
ANSWER: Final = 2.0
"""Seconds in which the replica says how far it is."""
REST: Final = 5.0
"""Seconds in which a replica is not asked that was late or did not answer."""
_LOOKS: Final = 10

_DATABASE: Final = "SELECT system_identifier || ' ' || current_database() FROM pg_control_system()"
_POSITION: Final = "SELECT CAST(pg_current_wal_flush_lsn() AS text)"
_STATE: Final = """
    SELECT CASE WHEN NOT pg_is_in_recovery() THEN 'is none any more'
                WHEN pg_last_wal_replay_lsn() >= CAST(%s AS pg_lsn) THEN 'current'
                ELSE 'lags' END"""
_BEHIND: Final = """
    SELECT CAST(CASE WHEN pg_is_in_recovery() THEN
               greatest(pg_wal_lsn_diff(CAST(%s AS pg_lsn), pg_last_wal_replay_lsn()), 0)
           END AS text)"""


@dataclass(slots=True)
class _Route:
    """Where a read goes, and whether the replica had it."""

    used: bool = False


_route: ContextVar[_Route | None] = ContextVar("route", default=None)


def may_use_replica(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Let a method that only reads use the replica. If that fails, it runs on the primary."""

    @wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        route = _Route()
        token = _route.set(route)
        try:
            return await method(*args, **kwargs)
        except errors.DatabaseUnavailable:
            if not route.used:
                raise
        finally:
            _route.reset(token)
        return await method(*args, **kwargs)

    return run


_SILENT: Final = "does not answer"
_NOT_THERE: Final = (psycopg.Error, DBAPIError, errors.DatabaseUnavailable, TimeoutError)


class Replica:
    """The connections to a replica."""

    def __init__(self, pool: Pool, primary: Pool) -> None:
        self.pool = pool
        self._primary = primary
        self._rests_until = 0.0
        self._is_copy = False

    async def takes(self) -> bool:
        """Say whether the replica has the read that runs, and is up to date."""
        route = _route.get()
        if route is None or time.monotonic() < self._rests_until:
            return False
        position = await _ask(self._primary, _POSITION)
        try:
            await self._check()
            state = await self._state(position)
        except _NOT_THERE as error:
            state = str(error) if isinstance(error, errors.DatabaseUnavailable) else _SILENT
        if state == "current":
            route.used = True
            return True
        log.warning("the replica %s; the primary answers", state)
        self._rests_until, self._is_copy = time.monotonic() + REST, False
        return False

    async def behind(self) -> int:
        """Return how many bytes of the log the replica has not replayed yet.

        Raises ``DatabaseUnavailable`` if it does not answer, or is none of this database.
        """
        position = await _ask(self._primary, _POSITION)
        try:
            self._is_copy = False
            await self._check()
            async with asyncio.timeout(ANSWER):
                return int(await _ask(self.pool, _BEHIND, position))
        except _NOT_THERE as error:
            if isinstance(error, errors.DatabaseUnavailable):
                raise
            raise errors.DatabaseUnavailable(_SILENT) from error

    async def _check(self) -> None:
        """Check once that it copies this primary: positions of another say nothing."""
        if not self._is_copy:
            async with asyncio.timeout(ANSWER):
                here, there = await _ask(self._primary, _DATABASE), await _ask(self.pool, _DATABASE)
                recovers = await _ask(self.pool, "SELECT CAST(pg_is_in_recovery() AS text)")
            if here != there or recovers != "true":
                raise errors.DatabaseUnavailable("is none of this database")
            self._is_copy = True

    async def _state(self, position: str) -> str:
        state = ""
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(LONGEST_WAIT / _LOOKS)
            async with asyncio.timeout(ANSWER):
                state = await _ask(self.pool, _STATE, position)
            if state != "lags":
                break
        return state


async def _ask(pool: Pool, query: LiteralString, *values: str) -> str:
    async with pool.lend() as lent:
        cursor = await lent.driver.execute(query, values)
        [answer] = await cursor.fetchone() or [""]
        return str(answer)
