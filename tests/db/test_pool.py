"""Connections are lent to one task at a time, and never with somebody's transaction in them."""

import asyncio
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import text

from remembrancer.db import pool
from remembrancer.db.cap import Cap
from remembrancer.db.engine import Database
from remembrancer.db.urls import libpq_url
from remembrancer.errors import Conflict, DatabaseUnavailable, Unavailable


async def test_a_refused_change_is_rolled_back_before_others_get_the_connection(
    alone: Database,
) -> None:
    """An error between two statements keeps the connection, without its transaction."""
    seen = []

    async def refuse() -> None:
        async with alone.system() as connection:
            seen.append(await _process(connection))
            raise Conflict("refused")

    with pytest.raises(Conflict):
        await refuse()
    async with alone._location.pool.lend() as lent:
        assert not lent.in_transaction
    async with alone.system() as connection:
        seen.append(await _process(connection))
    assert seen[0] == seen[1]


async def test_an_interrupted_connection_is_lent_to_nobody(alone: Database) -> None:
    """Its next user would read the answers of another."""
    async with alone.system() as connection:
        before = await _process(connection)

    begun = asyncio.Event()

    async def sleep() -> None:
        async with alone.system() as connection:
            begun.set()
            await connection.execute(text("SELECT pg_sleep(60)"))

    task = asyncio.create_task(sleep())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with alone.system() as connection:
        assert await _process(connection) != before


async def test_a_lost_server_is_noticed_once(alone: Database) -> None:
    """After a restart of Postgres one request fails, not one for each connection."""
    database = Database(alone.url, pool_size=3)
    try:
        async with database.system() as one, database.system() as two, database.system() as three:
            processes = [await _process(each) for each in (one, two, three)]
        with psycopg.connect(libpq_url(alone.url), autocommit=True) as owner:
            for process in processes:
                owner.execute("SELECT pg_terminate_backend(%s)", [process])
        with pytest.raises(DatabaseUnavailable):
            await database.ping()
        await database.ping()
    finally:
        await database.close()


async def test_a_wait_for_a_connection_ends_with_an_error(alone: Database) -> None:
    """A pool that is too small says so."""
    async with alone.system():
        with patch.object(pool, "WAIT_SECONDS", 0.01), pytest.raises(DatabaseUnavailable) as told:
            await alone.ping()
    assert "busy" in str(told.value)
    await alone.ping()


@pytest.mark.parametrize("is_replica", [False, True])
async def test_a_connection_that_comes_back_after_the_end_is_closed(
    alone: Database, is_replica: bool
) -> None:
    """Else it would count for ever among those of all pools."""
    cap = Cap(1, wait_seconds=0.1)
    database = Database(alone.url, cap=cap, replica_url=alone.url)
    assert database.replica is not None
    pool_ = database.replica.pool if is_replica else database._location.pool
    async with pool_.lend():
        await database.close()
    other = Database(alone.url, cap=cap)
    try:
        await other.ping()
    finally:
        await other.close()


async def test_a_closed_database_is_not_followed_to_another_server(alone: Database) -> None:
    """Nobody would close what it opens there."""

    async def find() -> str:
        await database.close()
        return alone.url

    database = Database("postgresql://remembrancer_app@127.0.0.1:9/away", find=find)
    with pytest.raises(Unavailable, match="is closed"):
        await database.ping()


async def _process(connection: pool.AsyncConnection) -> int:
    return int((await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def test_a_database_that_moves_is_used_in_the_role_of_the_service(
    alone: Database, database_url: str
) -> None:
    """Whoever logs in there: an owner who may move databases would pass row-level security."""

    async def find() -> str:
        return database_url  # of the owner

    database = Database("postgresql://remembrancer_app@127.0.0.1:9/away", find=find)
    try:
        async with database.system() as connection:
            user = (await connection.execute(text("SELECT current_user"))).scalar_one()
        assert user == "remembrancer_app"
    finally:
        await database.close()
