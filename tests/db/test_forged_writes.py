"""Row-level security refuses forged writes: whatever a session writes past the services is its own.

The attacker walks all tables that the service may write, with the session of a user or of a
service that acts for one, and tries to insert, change and delete every row. A new table is walked
too: it is closed, or stands in ``OWN`` with the column that says whose its rows are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4, uuid5

import psycopg
import pytest
import sqlalchemy as sa
from helpers import Store
from psycopg import errors
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb
from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql import JSONB

from remembrancer import Actor, Remembrancer, Role, User, as_actor
from remembrancer.db.tables import metadata
from remembrancer.db.urls import service_url
from remembrancer.ids import SHARED_OWNER

Row = dict[str, Any]
Connection = psycopg.Connection[Any]

ADA, BOB = UUID(int=0xADA), UUID(int=0xB0B)
NOBODY = SHARED_OWNER
COMMON_SPACE = UUID(int=0x5ACE)
"""A space of Ada and Bob."""

OWN = {
    "memories": "owner_id",
    "memory_versions": "owner_id",
    "mentions": "owner_id",
    "associations": "owner_id",
    "recall_items": "owner_id",
    "postings": "owner_id",
    "item_changes": "owner_id",
    "idempotency_keys": "owner_id",
    "memory_preferences": "user_id",
    "saved_filters": "user_id",
    "undo_records": "owner_id",
    "audit_log": "owner_id",
    "users": "id",
}
"""Tables in which a session writes rows of its user, and the column with the user."""
OF_ALL = {"agents"}
"""Tables in which a service writes for everybody."""
OF_USERS = {"users", "memory_preferences", "saved_filters", "undo_records"}
"""Tables that have nothing of nobody."""
OF_SYSTEM = {"update": {"audit_log"}, "delete": {"audit_log", "users", "undo_records", "agents"}}
"""Tables with rows that a session adds, and only the system changes or removes."""
COMPUTED = {"in_use", "is_behind"}
PERSONS = {
    "owner_id", "user_id", "opened_by", "created_by", "invited_by", "actor_user_id",
    "target_owner_id", "memory_owner_id",
}  # fmt: skip
"""Columns with the id of a user."""
PARENTS = {
    "conversation_id": "conversations", "space_id": "spaces", "message_id": "messages",
    "memory_id": "memories", "target_id": "memories", "agent_id": "agents",
    "item_id": "recall_items", "upload_id": "uploads", "key_id": "api_keys",
}  # fmt: skip
"""Tables whose ids a column has, with a reference or without."""
FILLED = {
    "api_keys": {"role": "user"},
    "audit_log": {"actor_role": "user"},
    "undo_records": {"action": "memory.move"},
}
"""Values that a constraint or a policy asks for."""
REFUSED = errors.InsufficientPrivilege.sqlstate

_ATTEMPT = """
CREATE FUNCTION pg_temp.attempt(attack text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    written bigint;
BEGIN
    EXECUTE attack;
    GET DIAGNOSTICS written = ROW_COUNT;
    RAISE EXCEPTION USING ERRCODE = 'ATKED', MESSAGE = written;
EXCEPTION
    WHEN SQLSTATE 'ATKED' THEN RETURN SQLERRM;
    WHEN OTHERS THEN RETURN SQLSTATE;
END
$$
"""
"""Undoes an attack, and returns the number of rows it would have written, or its error."""


def _id(table: str, owner: UUID) -> Any:
    """The id of the owner's row in a table."""
    if table == "users":
        return owner
    kind = metadata.tables[table].c.id.type if table in metadata.tables else sa.Uuid()
    if isinstance(kind, sa.Text):
        return f"{owner.int % 10**8:08}"
    if isinstance(kind, sa.Integer):
        return owner.int % 10**6
    return uuid5(owner, table)


def _choices(column: sa.Column[Any]) -> list[str]:
    """The values that a constraint allows."""
    assert column.table is not None
    for check in column.table.constraints:
        if isinstance(check, sa.CheckConstraint):
            found = re.fullmatch(rf"{column.name} IN \((.*)\)", str(check.sqltext))
            if found:
                return re.findall(r"'([^']*)'", found[1])
    return []


def _value(column: sa.Column[Any], table: str, owner: UUID) -> Any:
    given = FILLED.get(table, {})
    if column.name in given:
        return given[column.name]
    if column.name in PERSONS:
        return owner
    parent = table if column.name == "id" else PARENTS.get(column.name)
    if parent in metadata.tables:
        return _id(parent, owner)
    return None if column.nullable else _plain_value(column, owner)


def _plain_value(column: sa.Column[Any], owner: UUID) -> Any:
    values: dict[type[Any], Any] = {
        sa.Uuid: uuid5(owner, column.name),
        sa.Boolean: True,
        sa.Integer: 1,
        sa.Float: 0.5,
        sa.DateTime: "2026-01-01T00:00:00Z",
        sa.Date: "2026-01-01",
        JSONB: {},
        sa.ARRAY: [],
        sa.LargeBinary: rf"\x{owner.hex}",
        sa.Text: next(iter(_choices(column)), f"{column.name} {owner.int}"),
    }
    vector = "[1]"
    return next((v for kind, v in values.items() if isinstance(column.type, kind)), vector)


@dataclass
class World:
    """A store with a row of Ada, of Bob and of nobody in every table, in a transaction."""

    connection: Connection
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Types of the columns that can be written, by column, by table that the service may write."""
    keys: dict[str, list[str]] = field(default_factory=dict)

    def fill(self) -> None:
        execute = self.connection.execute
        execute("SET LOCAL session_replication_role = replica")  # no references
        for table in metadata.sorted_tables:
            for owner in (NOBODY, ADA, BOB):
                row = {c.name: _value(c, table.name, owner) for c in table.c if c.computed is None}
                self.insert(table.name, row)
        for owner in (ADA, BOB):
            member = {"user_id": owner, "space_id": COMMON_SPACE, "role": "member"}
            self.insert("space_members", member | {"joined_at": "2026-01-01T00:00:00Z"})
            [memory] = [row for row in self.rows("memories") if row["owner_id"] == str(owner)]
            shared = {"space_id": COMMON_SPACE, "visibility": "shared", "content_hash": r"\x01"}
            self.insert("memories", memory | {"id": f"{owner.int:08x}", **shared})
        execute("SET LOCAL session_replication_role = DEFAULT")
        execute("SELECT jobs.enqueue('summarise', 'summarise', 'key', '{}')")
        execute("INSERT INTO jobs.job_outcomes (job_id) SELECT id FROM jobs.procrastinate_jobs")
        execute("INSERT INTO jobs.procrastinate_workers DEFAULT VALUES")
        execute(
            "INSERT INTO jobs.procrastinate_periodic_defers"
            " (task_name, defer_timestamp, periodic_id) VALUES ('t', 1, 'p')"
        )
        for schema, name, column, kind in execute("""
            SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, NULL)
              FROM pg_class AS c
              JOIN pg_namespace AS n ON n.oid = c.relnamespace
              JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
               AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'
             WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema)'
               AND has_table_privilege('remembrancer_app', c.oid, 'INSERT, UPDATE, DELETE')
             ORDER BY 1, 2, a.attnum
        """):
            table = name if schema == "public" else f"{schema}.{name}"
            self.tables.setdefault(table, {})[column] = kind
        for table in self.tables:
            self.keys[table] = [
                name
                for (name,) in execute(
                    "SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a"
                    " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
                    " WHERE i.indisprimary AND i.indrelid = CAST(%s AS regclass)",
                    [table],
                )
            ]

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        kept = {name: value for name, value in row.items() if name not in COMPUTED}
        text = {name: str(v) if isinstance(v, UUID) else v for name, v in kept.items()}
        statement = SQL("{} ON CONFLICT DO NOTHING").format(_insertion(table, text))
        self.connection.execute(statement)

    def rows(self, table: str) -> list[Row]:
        statement = SQL("SELECT to_jsonb(t) FROM {} AS t").format(_name(table))
        return [row for (row,) in self.connection.execute(statement)]

    def forged(self, table: str, role: str) -> set[str]:
        """Which kinds of forged writes of a table nothing refuses."""
        rows = self.rows(table)
        assert rows, f"{table} has no row to attack"
        attacks = [
            *(("delete", _deletion(table, self.keys[table], row)) for row in rows
              if is_forged("delete", table, row, role)),
            *(("update", _update(table, self.keys[table], row, change))
              for row, change in self._changes(table, rows)
              if is_forged("update", table, row, role) or is_foreign(table, row | change, role)),
            *(("insert", _insertion(table, row)) for row in self._copies(table, rows)
              if is_foreign(table, row, role)),
        ]  # fmt: skip
        # Without a condition, which would ask for the right to read the rows.
        blind = [("delete", SQL("DELETE FROM {}").format(_name(table)))]
        blind += [
            ("update", SQL("UPDATE {} SET {} = DEFAULT").format(_name(table), Identifier(name)))
            for name in self.tables[table].keys() - self.keys[table]
        ]
        with self.connection.transaction(force_rollback=True):
            self._enter(role)
            results = self.connection.execute(
                "SELECT pg_temp.attempt(a) FROM unnest(CAST(%s AS text[])) AS a",
                [[attack.as_string(self.connection) for _, attack in attacks]],
            ).fetchall()
        found = {
            kind
            for (kind, _), (result,) in zip(attacks, results, strict=True)
            if result not in {REFUSED, "0"}
        }
        for kind, attack in blind:
            with self.connection.transaction(force_rollback=True):
                self._enter(role)
                try:
                    with self.connection.transaction():
                        self.connection.execute(attack)
                except psycopg.Error as error:
                    if error.sqlstate == REFUSED:
                        continue
                self.connection.execute("RESET SESSION AUTHORIZATION")
                known = {_frozen(row) for row in rows if is_forged(kind, table, row, role)}
                if not known <= {_frozen(row) for row in self.rows(table)}:
                    found.add(f"blind {kind}")
        return found

    def _enter(self, role: str) -> None:
        """Go on as the service logs in, with the session of Ada."""
        self.connection.execute("SET LOCAL SESSION AUTHORIZATION remembrancer_app")
        self.connection.execute("SELECT app_act_as(%s, %s)", [ADA, role])

    def _changes(self, table: str, rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
        spaces = [str(COMMON_SPACE), str(_id("spaces", BOB))]
        for row in rows:
            for name, kind in self.tables[table].items():
                if (table, name) == ("users", "id"):
                    continue  # no two rows have one id: the key refuses it
                values: list[Any] = {
                    "uuid": [str(ADA), str(BOB), str(NOBODY), *spaces, None],
                    "boolean": [True, False],
                    "integer": [7],
                    "text": ["forged"],
                }.get(kind, [row[name]])
                for value in values:
                    yield row, {name: value}
            for space_id in spaces:
                for name in {"space_id", "shared_space_id"} & row.keys():
                    yield row, {name: space_id, **_shared(row)}

    def _copies(self, table: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows with a new key, and every user and space in them."""
        types = self.tables[table]
        fresh: dict[str, Any] = {
            "uuid": str(uuid4()),
            "text": "fresh123",
            "bytea": r"\x99",
            "timestamp with time zone": "2026-11-29T00:00:00Z",
        }
        for row in rows:
            written = {name: row[name] for name in types}
            key = {
                name: fresh.get(types[name], 99)
                for name in self.keys[table]
                if name in types.keys() - PERSONS and types[name] not in {"boolean", "date"}
            }
            yield written | key
            for person in (ADA, BOB, NOBODY):
                persons = {name: str(person) for name in PERSONS & written.keys()}
                yield written | key | persons
                for name in {"space_id", "shared_space_id"} & written.keys():
                    for space_id in (COMMON_SPACE, _id("spaces", BOB)):
                        placed = {name: str(space_id), **_shared(written)}
                        yield written | key | persons | placed


def is_forged(kind: str, table: str, row: Row, role: str) -> bool:
    """Whether a session of Ada in this role must not change or remove a row."""
    return table in OF_SYSTEM[kind] or is_foreign(table, row, role)


def is_foreign(table: str, row: Row, role: str) -> bool:
    """Whether a session of Ada in this role must not write a row, or delete it."""
    if table not in OWN:
        return table not in OF_ALL or role == "user"
    ada, nobody = str(ADA), str(NOBODY)
    owner, is_user = row[OWN[table]], role == "user"
    if table == "audit_log":
        is_true = (row["actor_role"], row["actor_user_id"]) == (role, ada)
        return not is_true or (is_user and owner not in {ada, nobody})
    of_nobody = owner == nobody and not is_user and table not in OF_USERS
    return (
        (owner != ada and not of_nobody)
        or row.get("merged_into") is not None
        or (table == "undo_records" and row["action"] != "memory.move")
        or (is_user and _is_put_before_others(row))
    )


def _is_put_before_others(row: Row) -> bool:
    space_id = row.get("shared_space_id")
    if row.get("visibility") == "shared":
        space_id = row["space_id"]
    joined = {None, str(COMMON_SPACE), str(_id("spaces", ADA))}
    return space_id not in joined or row.get("target_owner_id") == str(BOB)


def _shared(row: Row) -> Row:
    return {"visibility": "shared"} if "visibility" in row else {}


def _name(table: str) -> Identifier:
    return Identifier(*table.split("."))


def _columns(names: Iterable[str]) -> Any:
    return SQL(", ").join(map(Identifier, names))


def _record(table: str, names: Iterable[str], row: Row) -> Any:
    return SQL("SELECT {} FROM jsonb_populate_record(CAST(NULL AS {}), {})").format(
        _columns(names), _name(table), Jsonb(row)
    )


def _insertion(table: str, row: Row) -> Any:
    return SQL("INSERT INTO {} ({}) {}").format(
        _name(table), _columns(row), _record(table, row, row)
    )


def _of_key(table: str, key: list[str], row: Row) -> Any:
    return SQL("({}) = ({})").format(_columns(key), _record(table, key, row))


def _deletion(table: str, key: list[str], row: Row) -> Any:
    return SQL("DELETE FROM {} WHERE {}").format(_name(table), _of_key(table, key, row))


def _update(table: str, key: list[str], row: Row, change: Row) -> Any:
    return SQL("UPDATE {} SET ({}) = ROW ({}) WHERE {}").format(
        _name(table),
        _columns(change),
        SQL(", ").join(SQL("({})").format(_record(table, [name], change)) for name in change),
        _of_key(table, key, row),
    )


def _frozen(row: Row) -> str:
    return repr(sorted(row.items()))


@pytest.fixture
def world(memory: Remembrancer) -> Iterator[World]:
    with psycopg.connect(Store.url, options="-c lock_timeout=20s") as connection:
        connection.execute(_ATTEMPT)
        filled = World(connection)
        filled.fill()
        yield filled
        connection.rollback()


@pytest.mark.parametrize("role", ["user", "service"])
async def test_no_session_writes_what_is_not_its_own(world: World, role: str) -> None:
    """In every table, whatever is inserted, changed or deleted is the user's."""
    assert world.tables.keys() >= metadata.tables.keys()
    found = {table: world.forged(table, role) for table in world.tables}
    assert {table: kinds for table, kinds in found.items() if kinds} == {}


async def test_without_its_policies_each_table_is_open(world: World) -> None:
    """The counter-proof, table by table: the attacker finds all three kinds of forged writes."""
    for table in world.tables:
        with world.connection.transaction(force_rollback=True):
            old = world.connection.execute(
                "SELECT polname FROM pg_policy WHERE polrelid = CAST(%s AS regclass)", [table]
            ).fetchall()
            for (name,) in old:
                world.connection.execute(
                    SQL("DROP POLICY {} ON {}").format(Identifier(name), _name(table))
                )
            world.connection.execute(
                SQL("CREATE POLICY open ON {} USING (true)").format(_name(table))
            )
            # A new job adds an event, to another table.
            inserts = set() if table == "jobs.procrastinate_jobs" else {"insert"}
            assert world.forged(table, "user") >= {"update", "delete", *inserts}, table


async def test_the_service_can_become_nobody_stronger(memory: Remembrancer) -> None:
    """It logs in with a role that is no superuser, is a member of no role, and owns nothing."""
    assert make_url(memory.database.url).username == "remembrancer_app"
    with psycopg.connect(service_url(Store.url), autocommit=True) as connection:
        [(role,)] = connection.execute("SELECT session_user").fetchall()
        assert role == "remembrancer_app"
        [(owner,)] = connection.execute(
            "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'memories'"
        ).fetchall()
        for statement in (
            SQL("SET ROLE {}").format(Identifier(owner)),
            SQL("SET SESSION AUTHORIZATION {}").format(Identifier(owner)),
            SQL("ALTER TABLE memories DISABLE ROW LEVEL SECURITY"),
            SQL("ALTER ROLE remembrancer_app SUPERUSER"),
            SQL("UPDATE alembic_version SET version_num = '0001'"),
            SQL("CREATE TABLE public.mine (a int)"),
            SQL("TRUNCATE memories"),
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement)


async def test_the_function_that_runs_as_the_owner_reads_no_table_of_its_caller(
    memory: Remembrancer,
) -> None:
    """A caller's own table of the same name stands for none of ours."""
    with psycopg.connect(service_url(Store.url)) as connection:
        connection.execute("CREATE TEMPORARY TABLE embedding_model (name text, dimensions int)")
        connection.execute("INSERT INTO embedding_model VALUES ('x', 7)")
        connection.execute("SELECT app_index_shared()")
        [(index,)] = connection.execute(
            "SELECT pg_get_indexdef(to_regclass('ix_recall_items_shared_vector'))"
        ).fetchall()
        assert "halfvec(7)" not in index
        connection.rollback()


async def test_a_fact_of_a_space_that_its_author_left_is_still_their_own(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """A user pins it and sets it aside, and shares nothing else there."""
    space = await memory.spaces.create(as_actor(ada), name="Family", member_ids=[bob.id])
    fact = {"space_id": space.id, "visibility": "shared"}
    kept = await memory.remember("Gran was born in 1931.", user=bob, **fact)
    other = await memory.remember("Gran keeps bees.", user=bob, space_id=space.id)
    await memory.spaces.leave(as_actor(bob), space.id)
    user = Actor(Role.USER, user_id=bob.id)
    assert (await memory.memories.pin(user, kept.memory.id)).pinned
    assert (await memory.memories.deactivate(user, kept.memory.id)).status == "inactive"
    async with memory.database.transaction(user) as (connection, _):
        share = sa.text("UPDATE memories SET visibility = 'shared' WHERE id = :id")
        with pytest.raises(sa.exc.DBAPIError, match="row-level security"):
            await connection.execute(share, {"id": other.memory.id})
