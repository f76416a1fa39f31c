"""Connections to a database, each lent to one task at a time.

SQLAlchemy's pool switches greenlets and rolls back for each use: longer than a short statement.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, cast

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.util import greenlet_spawn

from remembrancer.db.cap import Cap
from remembrancer.errors import DatabaseUnavailable, RemembrancerError
from remembrancer.telemetry.spans import span

Driver = psycopg.AsyncConnection[Any]

WAIT_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Lent:
    """A connection: the driver's, and SQLAlchemy's record of it."""

    driver: Driver
    record: PoolProxiedConnection

    @property
    def in_transaction(self) -> bool:
        return self.driver.pgconn.transaction_status != TransactionStatus.IDLE


class Pool:
    """Lends up to ``size`` connections; they are opened when they are needed."""

    def __init__(
        self,
        engine: AsyncEngine,
        size: int,
        set_up: Callable[[Driver], Awaitable[None]],
        cap: Cap | None = None,
    ) -> None:
        self.engine = engine
        self._set_up = set_up
        self._cap = cap
        self._free = asyncio.Semaphore(size)
        self._idle: list[Lent] = []
        self._is_left = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Lent]:
        """Lend a connection. A transaction that is still open at the end is rolled back.

        Raises ``DatabaseUnavailable`` if all are busy for half a minute.
        """
        try:
            with span("database.wait") if self._free.locked() else nullcontext():
                async with asyncio.timeout(WAIT_SECONDS if self._free.locked() else None):
                    await self._free.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                "all connections are busy; try again later or raise the pool size"
            ) from None
        try:
            # The one that was used last: its plans are still in the caches of the processor.
            lent = self._idle.pop() if self._idle else await self._open()
            usable = False
            try:
                with span("database.connection"):
                    yield lent
                usable = True
            except (RemembrancerError, DBAPIError):
                # Raised between two statements, or handled by SQLAlchemy already.
                usable = True
                raise
            except AssertionError as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    # psycopg 3.3 raises this when it is cancelled at the start of many rows.
                    raise asyncio.CancelledError from error
                raise
            finally:
                # If it was interrupted, the next user would get the answers that nobody has read.
                await self._take_back(lent, usable=usable)
        finally:
            self._free.release()

    @contextmanager
    def connection(self, lent: Lent) -> Iterator[AsyncConnection]:
        """Give the connection of SQLAlchemy on it; its user sends BEGIN and COMMIT."""
        inner = Connection(self.engine.sync_engine, connection=lent.record)
        inner.begin()
        connection = AsyncConnection(self.engine, inner)
        try:
            yield connection
        finally:
            connection.sync_connection = None

    async def close(self) -> None:
        """Close the connections that are not lent; others may be opened afterwards."""
        while await self.close_idle():
            pass
        await self.engine.dispose()
        if self._cap is not None:
            self._cap.forget(self)

    async def leave(self) -> None:
        """Close the connections, those that are lent when they come back."""
        self._is_left = True
        await self.close()

    async def close_idle(self) -> bool:
        """Close the connection that was used longest ago; return whether there was any."""
        if self._idle:
            await self._discard(self._idle.pop(0))
            return True
        return False

    async def _open(self) -> Lent:
        if self._cap is None:
            return await self._connect()
        await self._cap.take(self)
        try:
            return await self._connect()
        except BaseException:
            self._cap.give_back()
            raise

    async def _connect(self) -> Lent:
        record = await greenlet_spawn(self.engine.sync_engine.raw_connection)
        driver = cast("Driver", record.driver_connection)
        try:
            # BEGIN is ours: it travels with the first statement.
            await driver.set_autocommit(True)
            await self._set_up(driver)
        except BaseException:
            await greenlet_spawn(record.invalidate)
            raise
        return Lent(driver, record)

    async def _take_back(self, lent: Lent, *, usable: bool) -> None:
        try:
            if usable and lent.in_transaction:
                await lent.driver.rollback()
        except psycopg.Error:
            usable = False
        finally:
            if usable and not lent.in_transaction and not self._is_left:
                self._idle.append(lent)
                if self._cap is not None:
                    self._cap.note_idle(self)
            else:
                await self._discard(lent)

    async def _discard(self, lent: Lent) -> None:
        lost = lent.driver.closed
        if self._cap is not None:
            self._cap.give_back()
            if self._is_left:
                self._cap.forget(self)
        if lent.record.is_valid:  # SQLAlchemy closes those whose loss it sees
            await greenlet_spawn(lent.record.invalidate)
        # The others are lost too: the server was started anew.
        while lost and self._idle:
            await self._discard(self._idle.pop())
