"""Database connections with row-level security for an actor."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import errors
from remembrancer.access import Actor, KeyCheck, as_user
from remembrancer.db.cap import Cap
from remembrancer.db.connections import new_pool
from remembrancer.db.failures import MOVED_ADVICE, translate
from remembrancer.db.location import Location
from remembrancer.db.pipeline import pipelined, session_of
from remembrancer.db.plans import PLANNED_ONCE, SETTINGS
from remembrancer.db.replica import Replica
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.slow import SlowTrips
from remembrancer.db.sql import NumberedSql, Statement, numbered
from remembrancer.db.trips import Trip
from remembrancer.db.urls import APP_ROLE, driver_url
from remembrancer.telemetry.ids import bind
from remembrancer.user_names import UNRESOLVED, AnyUser, UserName

T = TypeVar("T")

_BEGIN = NumberedSql("BEGIN", ())
_ROLLBACK = NumberedSql("ROLLBACK", ())
_SERVE = NumberedSql(f"SELECT set_config('role', '{APP_ROLE}', true)", ())
_COMMIT = text("COMMIT")
_ACT_AS = "SELECT app_act_as(:user_id, :role) AS user_id"
_ACT_BY_KEY = (
    "SELECT app_act_by_key(:user_id, :role, :key_id, :key_role, :key_user_id,"
    " CAST(:merged_ids AS uuid[])) AS user_id"
)
_REVISION = text("SELECT version_num, obj_description(tableoid, 'pg_class') FROM alembic_version")
_BY_NAME = text(
    "SELECT platform, platform_user_id, user_id FROM platform_links"
    " JOIN unnest(CAST(:platforms AS text[]), CAST(:platform_user_ids AS text[]))"
    " AS name (platform, platform_user_id) USING (platform, platform_user_id)"
)


class Database:
    """A database, used in a role that owns no table.

    Every transaction first sets the actor for row-level security. ``find`` says where the database
    is now, if it may move to other servers.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        slow_query_ms: int = 0,
        cap: Cap | None = None,
        replica_url: str | None = None,
        find: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        self._slow = SlowTrips(slow_query_ms, self._plan) if slow_query_ms else None
        self._location = Location(url, pool_size, self._slow, cap, find)
        self.replica: Replica | None = None
        if replica_url is not None:
            copy = new_pool(driver_url(replica_url), pool_size, self._slow, cap)
            self.replica = Replica(copy, self._location.pool)
        self._settings = SETTINGS
        self._is_service = {_login(each) for each in (url, replica_url or url)} == {APP_ROLE}
        # Where it may move to, the owner may log in.
        if not self._is_service or find is not None:
            self._settings = {**SETTINGS, "role": APP_ROLE}
        self._is_closed = False

    @property
    def url(self) -> str:
        """The address of the database now."""
        return self._location.url

    @property
    def _first(self) -> list[Statement]:
        """What begins a transaction where an owner logs in.

        What says who acts is forbidden to the service in a database that was left, not to them.
        """
        is_service = self._is_service and _login(self.url) == APP_ROLE
        return [] if is_service else [Statement(_SERVE, {})]

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
        async with AsyncExitStack() as stack:
            while True:
                self._check_open()
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
                    if not await self._location.has_moved(url):
                        raise
                    await self._follow_move(url)
            yield begun

    async def _follow_move(self, left: str) -> None:
        await self._location.follow(left)
        # It copies the server that was left.
        replica, self.replica = self.replica, None
        if replica is not None:
            await replica.pool.leave()

    @asynccontextmanager
    async def _begin_here(
        self,
        user_id: UUID | None,
        role: str,
        plan: Callable[[UUID | None, Trip], T],
        check: KeyCheck | None,
    ) -> AsyncIterator[tuple[AsyncConnection, UUID | None, T]]:
        replica = await self._replica_for_now()
        url, is_open = self.url, False
        pool = self._location.pool if replica is None else replica.pool
        try:
            async with pool.lend() as lent:
                with pool.connection(lent) as connection:
                    begin, end = [Statement(_BEGIN, {}), *self._first], Trip()
                    while True:
                        trip = Trip(end)
                        planned = plan(user_id, trip)
                        # A merged user is followed to the survivor.
                        settings = {**self._settings, **(PLANNED_ONCE if trip else {})}
                        act_as = _act_as(user_id, role, check, settings)
                        *_, [(survivor, *_)] = await trip.send(connection, *begin, act_as)
                        if survivor == user_id or not trip:
                            break
                        begin = [Statement(_ROLLBACK, {}), Statement(_BEGIN, {}), *self._first]
                        user_id = survivor
                    _note(check)
                    is_open = True
                    yield connection, survivor, planned
                    is_open = False
                    if lent.in_transaction:
                        end.add(_COMMIT, {})
                        await end.send(connection)
        except (psycopg.Error, DBAPIError) as error:
            translated = translate(error)
            if replica is not None and not isinstance(translated, errors.Unauthenticated):
                raise errors.DatabaseUnavailable("the replica cannot do it") from error
            # What was left is dropped in the end. Nothing that was written there has no copy, and a
            # commit is no part of this: whether it came about would not be known.
            lost = is_open and isinstance(translated, errors.DatabaseUnavailable)
            if lost and await self._location.has_moved(url):
                translated = errors.WorkspaceMoved(MOVED_ADVICE)
            raise translated from error

    async def _replica_for_now(self) -> Replica | None:
        """Return the replica if it may answer what runs now."""
        try:
            if (replica := self.replica) is not None and await replica.takes():
                return replica
        except (psycopg.Error, DBAPIError) as error:
            raise translate(error) from error
        return None

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
            async with self._location.pool.lend() as lent:
                role = "system" if system else actor.role
                settings = {**self._settings, **statements[0].settings}
                act_as = _act_as(actor.user_id, role, actor.key_check, settings)
                # A pipeline is one transaction, so the settings end with it, without BEGIN or
                # COMMIT.
                first = self._first
                answers = await pipelined(lent.driver, [*first, act_as, *statements], settings)
                [[(user_id, *_)], *answers] = answers[len(first) :]
        except (psycopg.Error, DBAPIError) as error:
            translated = translate(error)
            if isinstance(translated, errors.WorkspaceMoved) or (
                isinstance(translated, errors.DatabaseUnavailable)
                and await self._location.has_moved(url)
            ):
                await self._follow_move(url)
                translated = errors.WorkspaceMoved(MOVED_ADVICE)
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
        async with self._location.pool.lend() as lent:
            return session_of(lent.driver).is_pooled

    async def is_prepared(self) -> bool:
        """Whether statements stay prepared on a connection."""
        async with self._location.pool.lend() as lent:
            return session_of(lent.driver).most_prepared > 0

    async def revision(self) -> tuple[str, str | None]:
        """Return the revision of the schema, and the note of its upgrade."""
        async with self.system() as connection:
            revision, note = (await connection.execute(_REVISION)).one()
        return revision, note

    async def _plan(self, sql: str, settings: Mapping[str, str]) -> str:
        """Return the generic plan of a statement."""
        async with self._location.pool.lend() as lent, lent.driver.transaction():
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
        await self._location.pool.leave()
        if self.replica is not None:
            await self.replica.pool.leave()

    def _check_open(self) -> None:
        if self._is_closed:
            raise errors.Unavailable("the store is closed; open it again")


@lru_cache
def _login(url: str) -> str | None:
    return make_url(url).username


def _nothing(*_: object) -> None:
    """Add no statement to a trip."""


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
