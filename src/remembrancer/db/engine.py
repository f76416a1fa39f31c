"""Database connections with row-level security for an actor."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final, ParamSpec, TypeVar, cast, overload
from uuid import UUID

import psycopg
from sqlalchemy import NullPool, TextClause, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from remembrancer import errors
from remembrancer.access import REFUSED_KEY, Actor, KeyCheck, as_user
from remembrancer.db.cap import Cap
from remembrancer.db.pipeline import new_session, pipelined, session_of
from remembrancer.db.pool import Driver, Pool
from remembrancer.db.replica import Replica
from remembrancer.db.rows import Binds
from remembrancer.db.slow import SlowTrips, watched_cursor
from remembrancer.db.sql import NumberedSql, numbered
from remembrancer.telemetry.ids import bind
from remembrancer.user_names import UNRESOLVED, AnyUser, UserName

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

DEADLOCK_TRIES: Final = 3
"""Times that a change is tried before its deadlock is reported."""

MOVE_SECONDS: Final = 30.0
"""Seconds that a request waits for a workspace that is moved."""
MOVE_LOOK_SECONDS: Final = 0.05

APP_ROLE = "remembrancer_app"


def _is_no_echo(record: logging.LogRecord) -> bool:
    # psycopg reports a second error while one is raised: of a pipeline that was interrupted, or
    # whose connection is lost. The first one tells it all.
    return not str(record.msg).startswith("error ignored ")


logging.getLogger("psycopg").addFilter(_is_no_echo)

_SETTINGS: Final = {
    "timezone": "UTC",
    "jit": "off",
    # The best plan depends on the user's number of rows. Planning for the actual values costs
    # two milliseconds; a generic plan costs two hundred.
    "plan_cache_mode": "force_custom_plan",
}
"""Settings of each transaction, never of a session: a pooler may change what is behind it."""

_LIVENESS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A server that went without a word is noticed within a minute, not within hours. An address may
say otherwise."""

_BEGIN = NumberedSql("BEGIN", ())
_ROLLBACK = NumberedSql("ROLLBACK", ())
_COMMIT = text("COMMIT")
_PREPARED = NumberedSql(
    "SELECT name FROM pg_prepared_statements WHERE name LIKE 'remembrancer%'", ()
)
_PLAN_ANEW = text(f"SET LOCAL plan_cache_mode = {_SETTINGS['plan_cache_mode']}")
_ACT_AS = "SELECT app_act_as(:user_id, :role) AS user_id"
_ACT_BY_KEY = (
    "SELECT app_act_by_key(:user_id, :role, :key_id, :key_role, :key_user_id,"
    " CAST(:merged_ids AS uuid[])) AS user_id"
)
_REFUSED_KEY = "RK401"
_MOVED = "RK503"
"""What a database says to a change that was moved to another server."""
_MOVED_ADVICE = "the workspace moved to another server; repeat the request"
_REVISION = text("SELECT version_num, obj_description(tableoid, 'pg_class') FROM alembic_version")
_READ_ONLY = "Read-only file system"
"""Postgres reports it as a missing privilege."""
PLANNED_ONCE: Final = {"plan_cache_mode": "force_generic_plan"}
"""Settings of statements that find few rows by key: planning would be most of their time."""
_BY_NAME = text(
    "SELECT platform, platform_user_id, user_id FROM platform_links"
    " JOIN unnest(CAST(:platforms AS text[]), CAST(:platform_user_ids AS text[]))"
    " AS name (platform, platform_user_id) USING (platform, platform_user_id)"
)


def driver_url(url: str) -> str:
    return _address(url, "postgresql+psycopg")


def libpq_url(url: str) -> str:
    return _address(url, "postgresql")


def service_url(owner_url: str) -> str:
    """Return the address of the embedded server for the service, which is not the owner."""
    return make_url(owner_url).set(username=APP_ROLE).render_as_string(False)


def _address(url: str, driver: str) -> str:
    try:
        return make_url(url).set(drivername=driver).render_as_string(False)
    except (ArgumentError, ValueError):  # not chained: it quotes the password
        raise errors.ConfigurationError(
            "database_url: must be an address such as postgresql://user:password@host/name"
        ) from None


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with its values, settings (from here on, in its round trip) and row type."""

    sql: NumberedSql
    binds: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    row_type: type[Any] | None = None


class Trip:
    """Statements that travel to the database together, inside a transaction.

    The first trip of a transaction knows the last one, its ``end``, which commits it.
    """

    def __init__(self, end: "Trip | None" = None) -> None:
        self.end = end
        self._parts: list[tuple[Statement, list[object]]] = []

    @overload
    def add(self, sql: TextClause, binds: Binds, row_type: type[T]) -> list[T]: ...
    @overload
    def add(self, sql: TextClause, binds: Binds) -> list[object]: ...
    def add(self, sql: TextClause, binds: Binds, row_type: type[object] | None = None) -> list[Any]:
        """Add a statement; return a list that has its rows once the trip is over."""
        rows: list[object] = []
        self._parts.append((Statement(numbered(sql.text), binds, row_type=row_type), rows))
        return rows

    def __bool__(self) -> bool:
        """Whether there are statements."""
        return bool(self._parts)

    async def send(
        self, connection: AsyncConnection, *first: Statement
    ) -> list[Sequence[tuple[UUID | None]]]:
        """Run the statements after the ``first``, and return the rows of these."""
        statements = [*first, *(statement for statement, _ in self._parts)]
        if not statements:
            return []
        answers = await pipelined(_driver_of(connection), statements)
        for (_, rows), answer in zip(self._parts, answers[len(first) :], strict=True):
            rows.extend(answer)
        return answers[: len(first)]


def retries_deadlocks(service: type[T]) -> type[T]:
    """Let the public methods of a service run again, as :func:`retries_deadlock` does."""
    for name, method in list(vars(service).items()):
        if iscoroutinefunction(method) and not name.startswith("_"):
            setattr(service, name, retries_deadlock(method))
    return service


def retries_deadlock(
    method: Callable[P, Awaitable[T]],
) -> Callable[P, Awaitable[T]]:
    """Run a method again that lost a deadlock: its transaction was undone as a whole.

    So was one whose workspace moved to another server meanwhile: now the method runs there.
    """

    @wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(DEADLOCK_TRIES - 1):
            with suppress(errors.Deadlock, errors.WorkspaceMoved):
                return await method(*args, **kwargs)
        return await method(*args, **kwargs)

    return run


class Database:
    """The connection pool, in a role that owns no table.

    Every transaction first sets the actor for row-level security.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        slow_query_ms: int = 0,
        cap: Cap | None = None,
        replica_url: str | None = None,
    ) -> None:
        self.url = driver_url(url)
        self._slow = SlowTrips(slow_query_ms, self._plan) if slow_query_ms else None
        self._engine = _create_engine(self.url, self._slow)
        self._pool_size, self._cap = pool_size, cap
        self._pool = Pool(self._engine, pool_size, self._set_up, cap)
        self.find: Callable[[], Awaitable[str]] | None = None
        """Says where the database is now, if it may move to other servers."""
        self._leaving = asyncio.Lock()
        self.replica: Replica | None = None
        if replica_url is not None:
            copy = _create_engine(driver_url(replica_url), self._slow)
            # Not of the server whose connections have a cap.
            self.replica = Replica(Pool(copy, pool_size, self._set_up), self._pool)
        self._settings = _SETTINGS
        if {make_url(each).username for each in (url, replica_url or url)} != {APP_ROLE}:
            self._settings = {**_SETTINGS, "role": APP_ROLE}
        self._is_closed = False

    @asynccontextmanager
    async def transaction(self, actor: Actor) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
        """Open a transaction; after a merge the yielded actor acts for the surviving user."""
        async with self.transaction_with(actor, _nothing) as (connection, actor, _):
            yield connection, actor

    @asynccontextmanager
    async def transaction_with(
        self, actor: Actor, plan: Callable[[Actor, Trip], T], *, system: bool = False
    ) -> AsyncIterator[tuple[AsyncConnection, Actor, T]]:
        """Open a transaction whose first round trip has the statements that ``plan`` adds.

        Yields what ``plan`` returned too. After a merge it is called again, for the survivor, and
        what ran for the former user is rolled back. With ``system`` the transaction is one across
        all owners.
        """
        actor = await self.identify(actor)
        role = "system" if system else str(actor.role)

        def plan_for(user_id: UUID | None, trip: Trip) -> T:
            return plan(actor.now(user_id), trip)

        async with self._begin(actor.user_id, role, plan_for, actor.key_check) as begun:
            connection, user_id, planned = begun
            yield connection, actor.now(user_id), planned

    @asynccontextmanager
    async def system(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction across all owners; the caller checks the access rule."""
        async with self._begin(None, "system", _nothing) as (connection, *_):
            yield connection

    @asynccontextmanager
    async def system_for(
        self, actor: Actor, *, dry_run: bool = False
    ) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
        """Open a transaction for ``actor`` across all owners; the caller checks the access rule.

        A dry run is rolled back.
        """
        async with self.transaction_with(actor, _nothing, system=True) as (connection, actor, _):
            yield connection, actor
            if dry_run:
                await connection.rollback()

    async def identify(self, actor: Actor) -> Actor:
        """Return the actor with its user's id, if it has a name alone.

        Raises ``NotFound`` for an unknown name, and for another user's where it is a user.
        """
        if actor.user_name is not None:
            actor = actor.identified(await self.user_id(actor.user_name))
        bind(
            role=actor.role,
            key_id=actor.key_id,
            user_id=actor.user_id,
            agent_id=actor.agent_id,
            entry_point=actor.entry_point,
        )
        return actor

    async def user_id(self, user: AnyUser, *, field: str = "user_id") -> UUID:
        """Return the id of a user by id or name; ``UNRESOLVED`` for an unknown name.

        Nobody has that id, so whatever the caller does with it ends as with an unknown id.
        """
        user = as_user(user, field=field)
        return (await self.user_ids([user]))[user]

    async def user_ids(self, users: Iterable[AnyUser]) -> dict[AnyUser, UUID]:
        """Return :meth:`user_id` of each user, in one query."""
        users = {as_user(user) for user in users}
        names = [user for user in users if isinstance(user, UserName)]
        ids: dict[AnyUser, UUID] = {user: user for user in users if isinstance(user, UUID)}
        if not names:
            return ids
        binds = {
            "platforms": [name.platform for name in names],
            "platform_user_ids": [name.platform_user_id for name in names],
        }
        async with self.system() as connection:
            rows = await connection.execute(_BY_NAME, binds)
            return (
                ids
                | dict.fromkeys(names, UNRESOLVED)
                | {UserName(f"{row.platform}:{row.platform_user_id}"): row.user_id for row in rows}
            )

    @asynccontextmanager
    async def _begin(
        self,
        user_id: UUID | None,
        role: str,
        plan: Callable[[UUID | None, Trip], T],
        check: KeyCheck | None = None,
    ) -> AsyncIterator[tuple[AsyncConnection, UUID | None, T]]:
        self._check_open()
        async with AsyncExitStack() as stack:
            while True:
                url = self.url
                try:
                    begun = await stack.enter_async_context(
                        self._begin_here(user_id, role, plan, check)
                    )
                    break
                except errors.WorkspaceMoved:
                    await self._follow_move(url)
                except errors.DatabaseUnavailable:
                    # What is left behind is dropped in the end.
                    if not await self._is_elsewhere(url):
                        raise
                    await self._follow_move(url)
            yield begun

    async def _is_elsewhere(self, url: str) -> bool:
        return self.find is not None and driver_url(await self.find()) != url

    async def _follow_move(self, left: str) -> None:
        """Go to the server that a workspace moved to, unless somebody has done so meanwhile.

        Waits for it; raises ``WorkspaceUnavailable`` if that takes too long.
        """
        if self.find is None:
            raise errors.WorkspaceMoved(_MOVED_ADVICE)
        try:
            async with asyncio.timeout(MOVE_SECONDS), self._leaving:
                if self.url != left:
                    return
                while not await self._is_elsewhere(left):  # noqa: ASYNC110
                    await asyncio.sleep(MOVE_LOOK_SECONDS)
                self.url = driver_url(await self.find())
                self._engine, pool = _create_engine(self.url, self._slow), self._pool
                self._pool = Pool(self._engine, self._pool_size, self._set_up, self._cap)
        except TimeoutError:
            raise errors.WorkspaceUnavailable("the workspace is being moved; try again") from None
        await pool.leave()

    @asynccontextmanager
    async def _begin_here(
        self,
        user_id: UUID | None,
        role: str,
        plan: Callable[[UUID | None, Trip], T],
        check: KeyCheck | None,
    ) -> AsyncIterator[tuple[AsyncConnection, UUID | None, T]]:
        pool = await self._pool_for_now()
        try:
            async with pool.lend() as lent:
                with pool.connection(lent) as connection:
                    begin, end = [Statement(_BEGIN, {})], Trip()
                    while True:
                        trip = Trip(end)
                        planned = plan(user_id, trip)
                        # A merged user is followed to the survivor.
                        settings = {**self._settings, **(PLANNED_ONCE if trip else {})}
                        act_as = _act_as(user_id, role, check, settings)
                        *_, [(survivor, *_)] = await trip.send(connection, *begin, act_as)
                        if survivor == user_id or not trip:
                            break
                        begin = [Statement(_ROLLBACK, {}), Statement(_BEGIN, {})]
                        user_id = survivor
                    _note(check)
                    yield connection, survivor, planned
                    if lent.in_transaction:
                        end.add(_COMMIT, {})
                        await end.send(connection)
        except (psycopg.Error, DBAPIError) as error:
            translated = _translate(error)
            on_replica = self.replica is not None and pool is self.replica.pool
            if on_replica and not isinstance(translated, errors.Unauthenticated):
                raise errors.DatabaseUnavailable("the replica cannot do it") from error
            raise translated from error

    async def _pool_for_now(self) -> Pool:
        """Return the replica's connections where it may answer, else those of the primary."""
        try:
            if self.replica is not None and await self.replica.takes():
                return self.replica.pool
        except (psycopg.Error, DBAPIError) as error:
            raise _translate(error) from error
        return self._pool

    @retries_deadlock
    async def one_round_trip(
        self, actor: Actor, *statements: Statement, system: bool = False
    ) -> list[Sequence[Any]]:
        """Return the rows of read-only statements; raise ``UserMerged`` for a merged user."""
        if actor.user_name is not None:
            raise errors.UserMerged((await self.identify(actor)).user_id)
        self._check_open()
        url = self.url
        try:
            async with self._pool.lend() as lent:
                role = "system" if system else actor.role
                settings = {**self._settings, **statements[0].settings}
                act_as = _act_as(actor.user_id, role, actor.key_check, settings)
                # A pipeline is one transaction, so the settings end with it, without BEGIN or
                # COMMIT.
                [[(user_id, *_)], *answers] = await pipelined(
                    lent.driver, [act_as, *statements], settings
                )
        except (psycopg.Error, DBAPIError) as error:
            translated = _translate(error)
            if isinstance(translated, errors.WorkspaceMoved) or (
                isinstance(translated, errors.DatabaseUnavailable) and await self._is_elsewhere(url)
            ):
                await self._follow_move(url)
                translated = errors.WorkspaceMoved(_MOVED_ADVICE)
            raise translated from error
        _note(actor.key_check)
        if user_id != actor.user_id:
            raise errors.UserMerged(user_id)
        return answers

    async def ping(self) -> None:
        async with self.system() as connection:
            await connection.execute(text("SELECT 1"))

    async def is_pooled(self) -> bool:
        """Whether a pooler stands between us and Postgres, such as PgBouncer."""
        async with self._pool.lend() as lent:
            return session_of(lent.driver).is_pooled

    async def is_prepared(self) -> bool:
        """Whether statements stay prepared on a connection."""
        async with self._pool.lend() as lent:
            return session_of(lent.driver).most_prepared > 0

    async def _set_up(self, driver: Driver) -> None:
        """Look what a new connection leads to, and prepare statements where they stay prepared."""
        session = new_session(driver, self._slow)
        row = await (await driver.execute("SELECT pg_backend_pid()")).fetchone()
        # A pooler makes up the process that it names at the login: each transaction may run in
        # another one, which lacks what was prepared or has something else under its name.
        session.is_pooled = row != (driver.pgconn.backend_pid,)
        if not session.is_pooled:
            driver.prepare_threshold = 2
        elif not await _keeps_prepared(driver):
            session.most_prepared = 0

    async def revision(self) -> tuple[str, str | None]:
        """Return the revision of the schema, and the note of its upgrade."""
        async with self.system() as connection:
            revision, note = (await connection.execute(_REVISION)).one()
        return revision, note

    async def _plan(self, sql: str, settings: Mapping[str, str]) -> str:
        """Return the generic plan of a statement."""
        async with self._pool.lend() as lent, lent.driver.transaction():
            cursor = psycopg.AsyncCursor(lent.driver)
            for name, value in {**self._settings, **settings}.items():
                await cursor.execute("SELECT set_config(%s, %s, true)", (name, value))
            # No values are bound: with them, the plan would have them too.
            await cursor.execute(f"EXPLAIN (GENERIC_PLAN) {sql}".encode(), prepare=False)
            return "\n".join(line for (line,) in await cursor.fetchall())

    async def close(self) -> None:
        self._is_closed = True
        if self._slow is not None:
            await self._slow.close()
        await self._pool.close()
        if self.replica is not None:
            await self.replica.pool.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise errors.Unavailable("the store is closed; open it again")


@asynccontextmanager
async def together(connection: AsyncConnection) -> AsyncIterator[Trip]:
    """Run the statements that are added inside in one round trip, at its end."""
    trip = Trip()
    yield trip
    await trip.send(connection)


async def plan_anew(connection: AsyncConnection) -> None:
    """Plan the statements that follow for their values, after a trip with BEGIN."""
    await connection.execute(_PLAN_ANEW)


def _nothing(*_: object) -> None:
    """Add no statement to a trip."""


async def _keeps_prepared(driver: Driver) -> bool:
    """Whether a pooler prepares statements for its clients where they run, under its own names."""
    with suppress(psycopg.errors.DuplicatePreparedStatement):
        async with driver.transaction():
            [ours] = await pipelined(driver, [Statement(_PREPARED, {})])
            for (name,) in ours:
                await driver.execute(f"DEALLOCATE {name}".encode())
        return not ours
    return False


def _driver_of(connection: AsyncConnection) -> Driver:
    assert connection.sync_connection
    return cast("Driver", connection.sync_connection.connection.driver_connection)


def _act_as(
    user_id: UUID | None, role: str, check: KeyCheck | None, settings: Mapping[str, str]
) -> Statement:
    """Return the statement that says who acts; it also makes settings for those that follow."""
    binds: dict[str, object] = {"user_id": user_id, "role": str(role)}
    sql = _ACT_AS
    if check is not None and check.is_due:
        sql = _ACT_BY_KEY
        binds |= {
            "key_id": check.key_id,
            "key_role": str(check.role),
            "key_user_id": check.user_id,
            "merged_ids": list(check.merged_ids),
        }
    made = (f", set_config('{name}', '{value}', true)" for name, value in settings.items())
    return Statement(numbered(sql + "".join(made)), binds)


def _note(check: KeyCheck | None) -> None:
    if check is not None:
        check.is_due = False


def _create_engine(url: str, slow: SlowTrips | None) -> AsyncEngine:
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


def liveness(url: str) -> dict[str, int]:
    """Return the arguments of a connection that notice a server which is gone."""
    return {name: value for name, value in _LIVENESS.items() if name not in make_url(url).query}


def _translate(error: Exception) -> Exception:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _REFUSED_KEY:
        return errors.Unauthenticated(REFUSED_KEY)
    if isinstance(cause, psycopg.Error) and (
        cause.sqlstate == _MOVED
        or (isinstance(cause, psycopg.errors.InsufficientPrivilege) and "app_act_" in str(cause))
    ):
        return errors.WorkspaceMoved(_MOVED_ADVICE)
    if isinstance(cause, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure):
        return errors.Deadlock(errors.Deadlock.AGAIN)
    if reason := _why_unavailable(error, cause):
        return errors.DatabaseUnavailable(reason)
    if isinstance(cause, psycopg.DataError) and "different halfvec dimensions" in str(cause):
        # Vectors of another size, after `reembed` changed the model.
        return errors.EmbeddingUnavailable(
            "the store has vectors of another model; restart with that model"
        )
    return error


def _why_unavailable(error: Exception, cause: BaseException | None) -> str:
    if isinstance(cause, psycopg.errors.DiskFull):
        return "the disk of the database is full; make room on it"
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction) or (
        isinstance(cause, psycopg.errors.InsufficientPrivilege) and _READ_ONLY in str(cause)
    ):
        return "the database cannot be written; check its disk"
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    unavailable = lost or isinstance(cause, psycopg.OperationalError)
    return "the database does not answer; try again later" if unavailable else ""
