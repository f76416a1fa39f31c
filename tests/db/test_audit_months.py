"""The audit log by month: closed to users, never full, dropped as a whole, and back again."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from helpers import database_beside, rows
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from remembrancer import Actor, Remembrancer, Role, User
from remembrancer.audit import months
from remembrancer.db import migrate
from remembrancer.db.urls import driver_url

BEFORE = "0027"
ADD = """
    INSERT INTO audit_log (owner_id, id, at, actor_role, entry_point, action, target_ids)
    VALUES (gen_random_uuid(), gen_random_uuid(), %s, 'admin', 'test', 'x', '{}')
"""
PARTS = """
    SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'audit_log'::regclass ORDER BY 1
"""


def _part(at: datetime) -> str:
    return f"audit_log_{at:%Y_%m}"


def test_a_store_with_lines_is_migrated_and_back(database_url: str) -> None:
    """Each line is in its month, nothing is lost, and rules and grants are those of before."""
    rules = (
        "SELECT policyname, cmd, qual, with_check FROM pg_policies"
        " WHERE tablename = 'audit_log' ORDER BY 1"
    )
    lines = "SELECT owner_id, id, at, action, target_ids FROM audit_log ORDER BY id"
    now = datetime.now(UTC)
    times = [now, now - timedelta(days=70), datetime(2024, 2, 29, 23, 59, tzinfo=UTC)]
    with database_beside(database_url, "months") as url:
        engine = create_engine(driver_url(url))
        with engine.begin() as connection:
            migrate.upgrade(connection, BEFORE)
        with psycopg.connect(url, autocommit=True) as owner:
            for at in (*times, now + timedelta(days=400)):
                owner.execute(ADD, [at])
            before = [owner.execute(query).fetchall() for query in (rules, lines)]
            with engine.begin() as connection:
                migrate.upgrade(connection)
            assert [owner.execute(query).fetchall() for query in (rules, lines)] == before
            parts = {part for (part,) in owner.execute(PARTS)}
            assert parts >= {*map(_part, times), _part(now + timedelta(days=400))}
            for at in times:
                assert owner.execute(f"SELECT at FROM {_part(at)}").fetchall() == [(at,)]
            with engine.begin() as connection:
                _downgrade(connection)
            assert [owner.execute(query).fetchall() for query in (rules, lines)] == before
            assert owner.execute(PARTS).fetchall() == []
        engine.dispose()


def _downgrade(connection: object) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.MIGRATIONS))
    config.attributes["connection"] = connection
    command.downgrade(config, BEFORE)


async def test_a_month_is_closed_to_users(memory: Remembrancer, ada: User) -> None:
    """No session reads or changes a partition, not even the service's own."""
    part = _part(datetime.now(UTC))
    rows(ADD, datetime.now(UTC))
    assert rows(f"SELECT count(*) FROM {part}") == [(1,)]
    for role in (Role.USER, Role.ADMIN, Role.SERVICE):
        actor = Actor(role, user_id=ada.id)
        for statement in (f"SELECT * FROM {part}", f"DELETE FROM {part}", f"DROP TABLE {part}"):
            with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
                async with memory.database.transaction(actor) as (connection, _):
                    await connection.execute(text(statement))
    for call in ("app_drop_audit_month(now())", "app_add_audit_month('2020-01-01')"):
        with pytest.raises(DBAPIError, match="only the service"):
            async with memory.database.transaction(Actor(Role.USER, user_id=ada.id)) as (
                connection,
                _,
            ):
                await connection.execute(text(f"SELECT {call}"))
    secured = "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE relname = %s"
    assert rows(secured, part) == [(True,)]


async def test_a_line_of_any_time_is_stored(memory: Remembrancer) -> None:
    """Without a month it waits in a partition for all others, and moves once there is one."""
    old, future = datetime(2019, 5, 31, 23, 59, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)
    for at in (old, future):
        rows(ADD, at)
    other = "SELECT at FROM audit_log_other ORDER BY at"
    assert rows(other) == [(old,), (future,)]
    async with memory.database.system() as connection:
        await months.add(connection)
    assert rows(other) == [(future,)]
    assert rows("SELECT at FROM audit_log_2019_05") == [(old,)]
    before = datetime(2019, 6, 1, tzinfo=UTC)
    async with memory.database.system() as connection:
        assert await months.drop_old(connection, before - timedelta(seconds=1)) is None
        assert await months.count_old(connection, before) == 1
        assert await months.drop_old(connection, before) == 1
        assert await months.drop_old(connection, before) is None
    assert rows("SELECT to_regclass('audit_log_2019_05')") == [(None,)]


async def test_who_uses_the_log_is_not_kept_waiting(memory: Remembrancer) -> None:
    """A month that cannot be dropped or added at once is left for the next time."""
    rows(ADD, datetime(2018, 1, 1, tzinfo=UTC))
    async with memory.database.system() as connection:
        await months.add(connection)
    rows(ADD, datetime(2018, 2, 1, tzinfo=UTC))
    before = datetime(2018, 3, 1, tzinfo=UTC)
    async with memory.database.system() as reader:
        await reader.execute(text("SELECT count(*) FROM audit_log"))
        async with memory.database.system() as connection:
            assert await months.drop_old(connection, before) is None
            await months.add(connection)
        assert rows("SELECT to_regclass('audit_log_2018_02')") == [(None,)]
    async with memory.database.system() as connection:
        await months.add(connection)
        assert await months.drop_old(connection, before) == 1
        assert await months.drop_old(connection, before) == 1
