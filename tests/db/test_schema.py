"""The schema: one with the models, migrated safely, and keyed by owner."""

import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from itertools import product
from multiprocessing import get_context
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Engine, Table, create_engine, event, inspect, make_url

from remembrancer.db.migrate import MIGRATIONS, migrate, newest, upgrade
from remembrancer.db.tables import metadata
from remembrancer.db.urls import driver_url, libpq_url, liveness, service_url
from remembrancer.errors import DatabaseSetupError
from remembrancer.memories.rules import is_in_use
from remembrancer.memories.schemas import Status


@pytest.fixture
def fresh_url(database_url: str) -> Iterator[str]:
    """An empty database beside the one of the other tests."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
        fresh = make_url(driver_url(database_url)).set(database="fresh")
        yield fresh.render_as_string(hide_password=False)
        with suppress(psycopg.Error):
            connection.execute("DROP DATABASE fresh WITH (FORCE)")


@pytest.fixture(scope="module")
def migrated_url(database_url: str) -> str:
    """The database of the other tests, brought to the current schema."""
    migrate(driver_url(database_url))
    return database_url


def _differences(url: str) -> list[object]:
    options = {
        "compare_type": True,
        "compare_server_default": True,
        # The models have the audit log as a whole, not its months.
        "include_name": lambda name, kind, _: kind != "table" or not name.startswith("audit_log_"),
    }
    with _engine(url) as engine, engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


def test_the_models_are_what_the_migrations_make(fresh_url: str) -> None:
    """Table by table and column by column, no difference; migrating again is a no-op."""
    migrate(fresh_url)
    assert _differences(fresh_url) == []
    before = _shape(fresh_url)
    migrate(fresh_url)
    assert _shape(fresh_url) == before


def test_constraints_of_the_models_are_in_the_database(fresh_url: str) -> None:
    """What a comparison of metadata does not look at: checks, keys and partial indexes."""
    migrate(fresh_url)
    with _engine(fresh_url) as engine:
        there = inspect(engine)
        for table in metadata.sorted_tables:
            checks = {check["name"] for check in there.get_check_constraints(table.name)}
            assert checks == _checks(table), table.name
            key = there.get_pk_constraint(table.name)["constrained_columns"]
            assert key == [column.name for column in table.primary_key]
            partial = {
                index["name"]
                for index in there.get_indexes(table.name)
                if "postgresql_where" in index["dialect_options"]
            }
            assert partial == _partial_indexes(table), table.name


def _checks(table: Table) -> set[str]:
    found = [c for c in table.constraints if isinstance(c, CheckConstraint)]
    return {f"ck_{table.name}_{str(c.name).removeprefix(f'ck_{table.name}_')}" for c in found}


def _partial_indexes(table: Table) -> set[str]:
    options = {str(index.name): index.dialect_options["postgresql"] for index in table.indexes}
    return {name for name, option in options.items() if option["where"] is not None}


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def test_processes_that_start_at_once_on_an_empty_database_all_succeed(fresh_url: str) -> None:
    """One migrates, the others wait and find it done."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(migrate, [fresh_url] * 2)) == [None] * 2
    assert _differences(fresh_url) == []


def test_an_upgrade_lets_the_service_in_or_says_how(
    fresh_url: str, migrated_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A store of before logins of its own: it goes on with one address, and is told of the other.

    An owner who must not change roles is told the statement, and nothing is half-migrated.
    """
    owner = make_url(fresh_url).set(username="plain").render_as_string(hide_password=False)
    service = service_url(fresh_url)
    with psycopg.connect(migrated_url, autocommit=True) as server:
        server.execute("CREATE ROLE plain LOGIN IN ROLE remembrancer_app")
        server.execute("ALTER DATABASE fresh OWNER TO plain")
        with psycopg.connect(libpq_url(fresh_url)) as connection:
            connection.execute("CREATE EXTENSION vector")
        try:
            with _engine(owner) as engine, engine.begin() as connection:
                upgrade(connection, "0026")
                row = "INSERT INTO agents (id, name) VALUES (gen_random_uuid(), 'Helper')"
                connection.exec_driver_sql(row)
            server.execute("ALTER ROLE remembrancer_app NOLOGIN")
            with pytest.raises(DatabaseSetupError, match="let remembrancer_app log in"):
                migrate(service, service)
            with pytest.raises(DatabaseSetupError, match="ALTER ROLE remembrancer_app LOGIN"):
                migrate(owner, service)
            assert _found(libpq_url(owner), "TABLE alembic_version") == [("0026",)]
            with caplog.at_level("WARNING"):
                migrate(owner, owner)
            assert "give database_owner_url the owner's address" in caplog.text
            assert _found(libpq_url(owner), "TABLE alembic_version") == [(newest(),)]
            migrate(fresh_url, service)
            assert _found(libpq_url(service), "SELECT name FROM agents") == [("Helper",)]
        finally:
            server.execute("ALTER ROLE remembrancer_app LOGIN")
            server.execute("DROP DATABASE fresh WITH (FORCE)")
            server.execute("DROP ROLE plain")


def test_a_database_that_cannot_be_reached_is_named_as_such() -> None:
    """A wrong address is an error that says so, not a traceback of the driver."""
    with pytest.raises(
        DatabaseSetupError, match=r"cannot be set up: .*; see whether Postgres runs"
    ):
        migrate("postgresql+psycopg://nobody@127.0.0.1:1/nothing")


def test_a_silent_server_does_not_hold_up_a_migration_for_ever() -> None:
    """It is given up as it is elsewhere."""
    url, seen = "postgresql://owner@127.0.0.1:1/nowhere", dict[str, Any]()

    def note(_dialect: object, _record: object, _args: object, params: dict[str, Any]) -> None:
        seen.update(params)

    event.listen(Engine, "do_connect", note)
    try:
        with pytest.raises(DatabaseSetupError):
            migrate(url)
    finally:
        event.remove(Engine, "do_connect", note)
    assert liveness(url).items() <= seen.items()


def test_the_database_and_the_rule_agree_on_what_is_in_use(migrated_url: str) -> None:
    """`memories.in_use` is `is_in_use` of status and recalled, for every value of both."""
    with psycopg.connect(migrated_url) as connection:
        expression = connection.execute(
            "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef"
            " JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum"
            " WHERE adrelid = 'memories'::regclass AND attname = 'in_use'"
        ).fetchall()[0][0]
        for status, recalled in product(Status, (True, False)):
            in_use = connection.execute(
                f"SELECT {expression} FROM (SELECT %s::text, %s::boolean) AS m (status, recalled)",
                (status, recalled),
            ).fetchone()
            assert in_use == (is_in_use(status, recalled),)


def _found(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def test_vectors_are_stored_plain(migrated_url: str) -> None:
    """In the row, not in TOAST, where reading them would cost more than comparing them."""
    found = _found(
        migrated_url,
        "SELECT attrelid::regclass::text, attstorage FROM pg_attribute"
        " WHERE atttypid IN (SELECT oid FROM pg_type WHERE typname IN ('halfvec', 'vector'))"
        "   AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r')",
    )
    assert sorted(found) == [("recall_items", "p"), ("reembeddings", "p")]


def test_no_vector_index_is_shared_between_owners(migrated_url: str) -> None:
    """A global HNSW index would silently return too few of one owner's rows."""
    indexes = "SELECT indexdef FROM pg_indexes WHERE indexdef ~* 'hnsw|ivfflat'"
    assert _found(migrated_url, f"{indexes} AND indexdef !~* 'where'") == []


OWNER = {
    "users": "id",
    "space_members": "user_id",
    "space_refusals": "user_id",
    "participants": "user_id",
    "memory_preferences": "user_id",
    "saved_filters": "user_id",
    **dict.fromkeys(
        (
            "memories",
            "memory_versions",
            "mentions",
            "associations",
            "messages",
            "chunks",
            "frozen_contexts",
            "frozen_lines",
            "recall_items",
            "postings",
            "item_changes",
            "reembeddings",
            "audit_log",
            "idempotency_keys",
            "undo_records",
            "uploads",
            "upload_parts",
            "withheld_messages",
        ),
        "owner_id",
    ),
}
"""The column that says whose row it is, for each table that belongs to a user."""

NOBODYS = {
    "agents": "made by admins for everybody",
    "spaces": "of all its members",
    "space_invitations": "of a space; nobody may have the name of the invited user",
    "conversations": "of all its participants",
    "memory_policy": "the admin's word for everybody",
    "embedding_model": "of the whole store",
    "platform_links": "the directory: looked up before an owner is known",
    "workspaces": "the registry of the host",
    "imports": "numbers of messages, of nobody in particular",
    "daily_usage": "numbers of requests by agent, of nobody in particular",
    "api_keys": "looked up by hash before an owner is known",
    "sessions": "looked up by hash before an owner is known",
    "sign_in_links": "looked up by hash before an owner is known",
}
"""Tables without an owner, and why."""

MAY_LACK_OWNER = {
    "fk_memory_preferences_agent_id": "agents are everybody's: a reference table",
}
"""Constraints of owned tables that need no owner in them, and why."""


def test_every_table_is_known_to_have_an_owner_or_to_need_none() -> None:
    """A new table must say whose it is."""
    assert {table.name for table in metadata.sorted_tables} == OWNER.keys() | NOBODYS.keys()


@pytest.mark.parametrize("name", OWNER)
def test_keys_carry_the_owner(migrated_url: str, name: str) -> None:
    """Primary, unique and foreign keys of an owned table hold the owner, so it can be sharded."""
    owner = OWNER[name]
    with psycopg.connect(migrated_url) as connection:
        keys = connection.execute(
            """
            SELECT i.relname, array_agg(a.attname::text)
              FROM pg_index AS x
              JOIN pg_class AS i ON i.oid = x.indexrelid
              JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
             WHERE x.indisunique AND x.indrelid = %(table)s::regclass
             GROUP BY i.relname
            UNION ALL
            SELECT c.conname, array_agg(a.attname::text)
              FROM pg_constraint AS c
              JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
             WHERE c.contype = 'f' AND c.conrelid = %(table)s::regclass
             GROUP BY c.conname
            """,
            {"table": name},
        ).fetchall()
    assert keys
    for key, columns in keys:
        assert owner in columns or key in MAY_LACK_OWNER, key


def test_nothing_is_set_null_and_no_trigger_runs(migrated_url: str) -> None:
    """Neither survives sharding by owner. The queue, a schema of its own, is not sharded."""
    found = _found(
        migrated_url,
        "SELECT conname FROM pg_constraint WHERE confdeltype IN ('n', 'd')"
        " AND connamespace = 'public'::regnamespace"
        " UNION ALL SELECT tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid"
        " WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace",
    )
    assert found == []


def _shape(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return connection.execute(
            "SELECT relname, relfilenode,"
            "       (SELECT count(*) FROM pg_policies WHERE tablename = relname)"
            "  FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
        ).fetchall()


def test_revisions_follow_each_other_in_the_order_of_their_names() -> None:
    """The newest by name is the head: a store at it is not migrated again, and none is left out."""
    revisions = [file.read_text("utf-8") for file in sorted((MIGRATIONS / "versions").glob("*.py"))]
    named = [re.search(r'^revision = "(\w+)"', text, re.MULTILINE) for text in revisions]
    before = [re.search(r'^down_revision = "?(\w+)"?', text, re.MULTILINE) for text in revisions]
    order = ["None", *(found[1] for found in named if found)]
    assert [found[1] for found in before if found] == order[:-1]
    assert order[-1] == newest()
