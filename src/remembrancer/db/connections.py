"""Opens connections, and looks what each of them leads to."""

from contextlib import suppress
from typing import Final

import psycopg
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from remembrancer.db.cap import Cap
from remembrancer.db.pipeline import new_session, pipelined
from remembrancer.db.pool import Driver, Pool
from remembrancer.db.slow import SlowTrips, watched_cursor
from remembrancer.db.sql import NumberedSql, Statement
from remembrancer.db.urls import liveness

_PREPARED: Final = NumberedSql(
    "SELECT name FROM pg_prepared_statements WHERE name LIKE 'remembrancer%'", ()
)


def new_pool(url: str, size: int, slow: SlowTrips | None = None, cap: Cap | None = None) -> Pool:
    """Return a pool of connections to an address, none of them open yet."""

    async def set_up(driver: Driver) -> None:
        await _set_up(driver, slow)

    return Pool(_new_engine(url, slow), size, set_up, cap)


def _new_engine(url: str, slow: SlowTrips | None) -> AsyncEngine:
    return create_async_engine(
        url,
        poolclass=NullPool,  # ours keeps them
        # Errors and logs must not have values, which are texts of users.
        hide_parameters=True,
        connect_args={
            **liveness(url),
            "cursor_factory": watched_cursor(slow),
            "prepare_threshold": None,
        },
    )


async def _set_up(driver: Driver, slow: SlowTrips | None) -> None:
    """Look what a new connection leads to, and prepare statements where they stay prepared."""
    session = new_session(driver, slow)
    row = await (await driver.execute("SELECT pg_backend_pid()")).fetchone()
    # A pooler makes up the process that it names at the login: each transaction may run in
    # another one, which lacks what was prepared or has something else under its name.
    session.is_pooled = row != (driver.pgconn.backend_pid,)
    if not session.is_pooled:
        driver.prepare_threshold = 2
    elif not await _keeps_prepared(driver):
        session.most_prepared = 0


async def _keeps_prepared(driver: Driver) -> bool:
    """Whether a pooler prepares statements for its clients where they run, under its own names."""
    with suppress(psycopg.errors.DuplicatePreparedStatement):
        async with driver.transaction():
            [ours] = await pipelined(driver, [Statement(_PREPARED, {})])
            for (name,) in ours:
                await driver.execute(f"DEALLOCATE {name}".encode())
        return not ours
    return False
