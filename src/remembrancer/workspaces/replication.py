"""A database that is copied to another server while it is used, and the moment it changes over.

All of it acts as the owners of the servers. They must be superusers, or may replicate, pass
row-level security and create subscriptions. Both have ``wal_level = logical``, and each must be
able to connect to the other one at its address for the owner.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier, Literal
from sqlalchemy import make_url

from remembrancer.backup import catalogue
from remembrancer.backup.catalogue import Table
from remembrancer.db.sql import numbered, statement_text
from remembrancer.db.urls import libpq_url, liveness
from remembrancer.errors import Conflict, DatabaseUnavailable

Connection = psycopg.AsyncConnection[Any]

PUBLICATION: Final = "remembrancer_move"
LOOK_SECONDS: Final = 0.02
CATCH_UP_SECONDS: Final = 600.0
"""Seconds until a copy must have what was written before it is looked at."""
PAUSE_SECONDS: Final = 5.0
"""Seconds that writers wait at most for the last of it; then the attempt is given up."""
LOCK_TRIES: Final = 20
LOCK_TIMEOUT: Final = "500ms"
"""Writers wait behind a lock that waits for a long transaction."""

_AWAY: Final = ("08", "53", "57")
"""Classes of errors of a server that is away, on its way or full."""
_BY_OTHERS: Final = "was moved by somebody else meanwhile; look again"

_FENCE: Final = """
CREATE OR REPLACE FUNCTION app_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the workspace moved to another server' USING ERRCODE = 'RK503';
END
$$
"""
# Not for what a replication brings.
_FENCE_TABLE: Final = """
CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON {}
    FOR EACH STATEMENT EXECUTE FUNCTION app_moved()
"""
_ACTING: Final = "app_act_as(uuid, text), app_act_by_key(uuid, text, uuid, text, uuid, uuid[])"
_DIGEST: Final = """
SELECT count(*), coalesce(sum(hashtextextended(CAST(t AS text), 0)::numeric), 0) FROM {} AS t
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """A database that follows another one, by logical replication under one name.

    ``source_server`` and ``target_server`` are addresses of other databases beside them, which are
    always there.
    """

    name: str
    source: str
    target: str
    source_server: str
    target_server: str


class Progress(NamedTuple):
    """How far a copy is. ``total`` is about what it will be; both have indexes in them."""

    done_bytes: int
    total_bytes: int
    is_complete: bool


async def _rows(connection: Connection, query: str, /, **binds: object) -> list[Any]:
    sql = numbered(statement_text(__package__, "replication", query))
    found = await connection.execute(sql.text, [binds[each] for each in sql.names])
    return await found.fetchall()


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    """Yield a connection of the owner that sees all rows."""
    try:
        address = make_conninfo(libpq_url(url), **liveness(url))
        async with await psycopg.AsyncConnection.connect(
            address, autocommit=True, cursor_factory=psycopg.AsyncRawCursor
        ) as connection:
            await connection.execute("SELECT set_config('app.role', 'system', false)")
            await connection.execute("SET timezone = 'UTC'")
            yield connection
    except psycopg.errors.InsufficientPrivilege:
        raise Conflict(
            "or the one before has an owner who may not replicate yet; make them superusers, or"
            " grant them REPLICATION, BYPASSRLS and pg_create_subscription",
            field="server",
        ) from None
    except psycopg.errors.ConfigurationLimitExceeded:
        raise Conflict(
            "has no replication slot left; raise max_replication_slots on both servers, or confirm"
            " or undo other moves",
            field="server",
        ) from None
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation) as error:
        raise Conflict(
            "is still busy with an earlier attempt; try again", field="server"
        ) from error
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(_AWAY):
            raise DatabaseUnavailable("a server of the move does not answer") from error
        raise Conflict(  # without its text, which may quote a row or a password
            f"cannot be moved now: a server refuses ({error.sqlstate}); see its log",
            field="workspace",
        ) from error


async def begin(copy: Copy) -> None:
    """Let the target, which has the schema, follow the source from now on, if it does not yet."""
    async with _connected(copy.source) as source, _connected(copy.target) as target:
        if await _rows(target, "subscription", name=copy.name):
            await _point(target, copy)
            return
        for side, which in ((source, "the other one"), (target, "it")):  # where it may go back to
            [(level,)] = await (await side.execute("SHOW wal_level")).fetchall()
            if level != "logical":
                raise Conflict(
                    f"cannot be copied to: {which} has wal_level = {level}. Set it to logical and"
                    " restart that server",
                    field="server",
                )
        async with source.transaction():
            # It locks the tables: nobody else begins or changes over before the target is empty.
            await _publish(source)
            fence = await _rows(source, "fence")
            if fence or await _rows(target, "subscription", name=copy.name):
                raise Conflict(_BY_OTHERS, field="workspace")
            # What an earlier attempt, or the creation of the database, has left.
            await target.execute(SQL("TRUNCATE {}").format(_names(await _tables(target))))
        await _create_slot(source, copy.name)
        try:
            await _subscribe(target, copy, copies=True)
        except (psycopg.Error, Conflict):
            # The source would keep its log for it. Whether a lost connection has done it, and reads
            # it, nobody knows.
            if not target.closed:
                await _drop_slot(source, copy.name)
            raise


async def progress(copy: Copy) -> Progress:
    """Return how far a copy is; raise ``Conflict`` if it is none, or fails again and again."""
    async with _connected(copy.source) as source, _connected(copy.target) as target:
        [(total,)] = await _rows(source, "size", publication=PUBLICATION)
        found = await _rows(target, "progress", name=copy.name)
    if total is None or not found:
        raise Conflict("is being changed by somebody else; try again", field="workspace")
    [(is_complete, done, fails)] = found
    if fails:
        raise Conflict(
            "does not get the copy; see its log, then move again, or undo it", field="server"
        )
    return Progress(total if is_complete else min(done, total), total, is_complete)


async def make_ready(copy: Copy) -> None:
    """Make the index that a store gets when it is first opened, while nobody waits for it.

    And count the rows: plans that know of none would be slow until the server counts by itself.
    """
    async with _connected(copy.target) as target:
        await _rows(target, "add_index")
        await target.execute(SQL("ANALYZE {}").format(_names(await _tables(target))))


async def compare(copy: Copy) -> int:
    """Compare all rows of both sides as they are at one moment; return how many they are.

    Writers wait until that moment, for a fraction of a second, and not for the comparison. Raises
    ``Conflict`` with the tables that differ.
    """
    count, different = 0, []
    async with (
        _connected(copy.source) as resting,
        _connected(copy.source) as source,
        _connected(copy.target) as target,
    ):
        tables = await _tables(source)
        async with _rest(copy, resting):
            for side in (source, target):
                await side.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                await side.execute("SELECT")  # takes the snapshot
        for table in tables:
            statement = SQL(_DIGEST).format(table.identifier)
            answers = await asyncio.gather(source.execute(statement), target.execute(statement))
            here, there = [await answer.fetchone() for answer in answers]
            assert here is not None
            if here != there:
                different.append(table.table)
            count += int(here[0])
    if different:
        raise Conflict(
            f"is not the same on both servers in {', '.join(different)}; nothing was changed."
            " Undo the move, then try again",
            field="workspace",
        )
    return count


async def is_fenced(url: str) -> bool:
    """Return whether a database was left for another."""
    async with _connected(url) as connection:
        return bool(await _rows(connection, "fence"))


async def change_over(copy: Copy, back: Copy | None = None) -> float:
    """Let nobody use the source any more, once the target has all that was written.

    Returns the moment from which writers waited, as of ``time.monotonic``. Reads go on until the
    end; then everybody is told to look where the workspace is. From there on the source can follow
    the target, as ``back``. Raises ``Conflict`` if a change of somebody or the copy takes too
    long, or if somebody else has done it: then nothing has changed.
    """
    async with _connected(copy.source) as source, _connected(copy.target) as target:
        if await _rows(source, "fence"):  # what follows back is in use
            raise Conflict(_BY_OTHERS, field="workspace")
        if back is not None:
            await _publish(target)
            await _unsubscribe(source, back.name)
            await _create_slot(target, back.name)
            await _subscribe(source, back, copies=False)
        async with _rest(copy, source) as began:
            for name, value in await _rows(source, "sequences"):
                await _rows(target, "set_sequence", name=name, value=value)
            await source.execute(_FENCE)
            for table in await _tables(source):
                await source.execute(SQL(_FENCE_TABLE).format(table.identifier))
            await source.execute(f"REVOKE EXECUTE ON FUNCTION {_ACTING} FROM PUBLIC")
        return began


async def follow_back(copy: Copy, back: Copy) -> None:
    """End a copy, and let what was its source follow what was its target since they changed."""
    async with _connected(copy.target) as target, _connected(copy.source) as source:
        await _unsubscribe(target, copy.name)
        await _drop_slot(source, copy.name)
        await _point(source, back)
        await source.execute(SQL("ALTER SUBSCRIPTION {} ENABLE").format(Identifier(back.name)))


async def reconnect(copy: Copy) -> None:
    """Let a target follow its source at the address of now."""
    async with _connected(copy.target) as target:
        await _point(target, copy)


async def open_again(url: str) -> None:
    """Let a database be used again that was left."""
    async with _connected(url) as connection, connection.transaction():
        for table in await _tables(connection):
            await connection.execute(
                SQL("DROP TRIGGER IF EXISTS moved ON {}").format(table.identifier)
            )
        await connection.execute(f"GRANT EXECUTE ON FUNCTION {_ACTING} TO PUBLIC")


async def end(copy: Copy) -> None:
    """End a copy as far as its databases are there.

    A source keeps no log for a target that is away: it could be away for ever.
    """
    try:
        async with _if_there(copy.target, copy.target_server) as target:
            if target is not None:
                await _unsubscribe(target, copy.name)
    finally:
        async with _if_there(copy.source, copy.source_server) as source:
            if source is not None:
                for (name,) in await _rows(source, "slots", name=copy.name):
                    await _drop_slot(source, name)
                await _drop_publication(source)


@asynccontextmanager
async def _if_there(url: str, server: str) -> AsyncIterator[Connection | None]:
    """Yield a connection to a database, null if there is none."""
    async with AsyncExitStack() as stack:
        connection = None
        if await _is_there(url, server):
            try:
                connection = await stack.enter_async_context(_connected(url))
            except DatabaseUnavailable:
                # The server goes on with a drop whose process has died.
                if await _is_there(url, server):
                    raise
        yield connection


async def _is_there(url: str, server: str) -> bool:
    # A failed connection has no code, and its text is in the language of the server.
    async with _connected(server) as beside:
        return bool(await _rows(beside, "database", name=make_url(url).database))


@asynccontextmanager
async def _rest(copy: Copy, source: Connection) -> AsyncIterator[float]:
    """Let nobody write to the source meanwhile, once the target has all that was written.

    Yields the moment from which writers wait. If it is left by an error, the connection must be
    closed.
    """
    lock = SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(_names(await _tables(source)))
    async with _connected(copy.source) as beside:
        await beside.execute("SET synchronous_commit = on")
        await _catch_up(beside, copy.name, CATCH_UP_SECONDS)
        began = await _lock(source, lock)
        await _catch_up(beside, copy.name, PAUSE_SECONDS)
    yield began
    await source.execute("COMMIT")


async def _lock(source: Connection, lock: Composed) -> float:
    """Begin a transaction with a lock; return the moment from which others wait for it."""
    for _ in range(LOCK_TRIES):
        began = time.monotonic()
        await source.execute("BEGIN")
        # The one is for each table: whoever waits for many would hold up others for long.
        await source.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        await source.execute(f"SET LOCAL statement_timeout = '{LOCK_TIMEOUT}'")
        await source.execute("SET LOCAL idle_in_transaction_session_timeout = '1min'")
        try:
            await source.execute(lock)
        except (
            psycopg.errors.LockNotAvailable,
            psycopg.errors.QueryCanceled,
            psycopg.errors.DeadlockDetected,
        ):
            await source.execute("ROLLBACK")
            await asyncio.sleep(25 * LOOK_SECONDS)
        else:
            await source.execute("SET LOCAL statement_timeout = 0")
            return began
    raise Conflict("is busy with a long change; try again", field="workspace")


async def _catch_up(source: Connection, name: str, seconds: float) -> None:
    """Wait until a copy has all that was written before."""
    await _rows(source, "flush")
    [(position,)] = await _rows(source, "position")
    try:
        async with asyncio.timeout(seconds):
            while not await _rows(source, "has_reached", position=position, name=name):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise Conflict(
            "is written faster than it is copied; try again", field="workspace"
        ) from None


async def _tables(connection: Connection) -> list[Table]:
    found = await connection.execute(catalogue.query("tables"))
    return [Table(*row) for row in await found.fetchall()]


async def _publish(connection: Connection) -> None:
    await _drop_publication(connection)
    statement = "CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
    names = _names(await _tables(connection))
    await connection.execute(SQL(statement).format(Identifier(PUBLICATION), names))


async def _drop_publication(connection: Connection) -> None:
    await connection.execute(SQL("DROP PUBLICATION IF EXISTS {}").format(Identifier(PUBLICATION)))


async def _create_slot(connection: Connection, name: str) -> None:
    await _drop_slot(connection, name)
    await _rows(connection, "create_slot", name=name)


async def _drop_slot(connection: Connection, name: str) -> None:
    """Drop a slot once nobody reads it."""
    for _ in range(100):
        await _rows(connection, "end_reader", name=name)
        try:
            await _rows(connection, "drop_slot", name=name)
        except psycopg.errors.ObjectInUse:
            await asyncio.sleep(5 * LOOK_SECONDS)
        else:
            return
    raise DatabaseUnavailable("a server of the move does not let go of its copy; try again")


async def _subscribe(connection: Connection, copy: Copy, *, copies: bool) -> None:
    # With an origin, so that what was copied is not copied back. One that does not begin with all
    # rows begins when it is told to.
    statement = SQL(
        "CREATE SUBSCRIPTION {} CONNECTION {} PUBLICATION {}"
        " WITH (create_slot = false, slot_name = {}, copy_data = {}, enabled = {}, origin = none)"
    ).format(
        Identifier(copy.name),
        Literal(libpq_url(copy.source)),
        Identifier(PUBLICATION),
        Literal(copy.name),
        *2 * [SQL("true" if copies else "false")],
    )
    try:
        await connection.execute(statement)
    except psycopg.errors.ConnectionFailure as error:
        raise Conflict(
            "cannot reach the other server at its address for the owner", field="server"
        ) from error


async def _point(connection: Connection, copy: Copy) -> None:
    """Tell a subscription where its source is: an embedded server is elsewhere after each start."""
    statement = SQL("ALTER SUBSCRIPTION {} CONNECTION {}")
    address = Literal(libpq_url(copy.source))
    await connection.execute(statement.format(Identifier(copy.name), address))


async def _unsubscribe(connection: Connection, name: str) -> None:
    if await _rows(connection, "subscription", name=name):
        for statement in (
            "ALTER SUBSCRIPTION {} DISABLE",
            "ALTER SUBSCRIPTION {} SET (slot_name = NONE)",
            "DROP SUBSCRIPTION {}",
        ):
            await connection.execute(SQL(statement).format(Identifier(name)))


def _names(tables: Sequence[Table]) -> Composed:
    return SQL(", ").join(table.identifier for table in tables)
