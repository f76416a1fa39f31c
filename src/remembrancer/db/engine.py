"""Connections that know for whom they work."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import psycopg
from sqlalchemy import Uuid, event, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from remembrancer.access import Actor
from remembrancer.db.rows import row_factory
from remembrancer.db.sql import NumberedSql
from remembrancer.errors import (
    DatabaseUnavailable,
    EmbeddingUnavailable,
    RemembrancerError,
    UserMerged,
)

log = logging.getLogger(__name__)

APP_ROLE = "remembrancer_app"

_SESSION = {
    "role": APP_ROLE,
    "timezone": "UTC",
    "jit": "off",
    # How many rows a user has decides every plan here. Planning for the values at hand costs
    # two milliseconds; a generic plan cost two hundred.
    "plan_cache_mode": "force_custom_plan",
}

_ACT_AS = text("SELECT app_act_as(:user_id, :role)").columns(survivor=Uuid)
_ACT_AS_RAW = "SELECT app_act_as(%s, %s) AS user_id"
_SET = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS s (name, value)"


def driver_url(url: str) -> str:
    """Return ``url`` with the driver this project uses, whichever way it was written."""
    return make_url(url).set(drivername="postgresql+psycopg").render_as_string(False)


def libpq_url(url: str) -> str:
    """Return ``url`` as libpq and its tools take it, whichever way it was written."""
    return make_url(url).set(drivername="postgresql").render_as_string(False)


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL, its values, settings of the database, and the type of its rows.

    The settings hold for this statement and those after it in the same trip. The row type is a
    dataclass or named tuple with a field for each column, in the same order; without one, rows
    are plain named tuples.
    """

    sql: NumberedSql
    binds: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    row_type: type[Any] | None = None


class Database:
    """The pool of connections, all in a role that owns nothing.

    Every transaction begins by telling row-level security whose it is, so no statement
    can run before that is known.
    """

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = driver_url(url)
        self._engine = _create_engine(self.url, pool_size)
        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def transaction(self, actor: Actor) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
        """Open a transaction for ``actor``: commits at the end, rolls back on any error.

        Yields the connection and who the actor is now: one whose user was merged into
        another acts for the survivor from here on.
        """
        async with self._begin(actor.user_id, actor.role) as (connection, user_id):
            yield connection, actor.now(user_id)

    @asynccontextmanager
    async def system(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for the service's own bookkeeping, across all owners.

        For what must be looked up before an owner is known (keys, platform links) and for
        maintenance; never for an answer that was not checked by the access rule.
        """
        async with self._begin(None, "system") as (connection, _):
            yield connection

    @asynccontextmanager
    async def system_for(self, actor: Actor) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
        """Open a transaction across all owners in which something is done for ``actor``.

        For conversations of several people, and for merging them. Yields what
        :meth:`transaction` does; the caller checks the access rule.
        """
        async with self._begin(actor.user_id, "system") as (connection, user_id):
            yield connection, actor.now(user_id)

    @asynccontextmanager
    async def _begin(
        self, user_id: UUID | None, role: str
    ) -> AsyncIterator[tuple[AsyncConnection, UUID | None]]:
        try:
            async with self._engine.begin() as connection:
                binds = {"user_id": user_id, "role": role}
                async with _whole_or_gone(connection):
                    now: UUID | None = (await connection.execute(_ACT_AS, binds)).scalar_one()
                    yield connection, now
        except (DBAPIError, PoolTimeout) as error:
            raise _translated(error) from error

    async def one_round_trip(self, actor: Actor, *statements: Statement) -> list[Sequence[Any]]:
        """Run reading statements for ``actor``; return the rows of each.

        What row-level security must know, the statements and their settings go out together,
        in one implicit transaction, and come back together. Raises ``UserMerged`` if the
        actor's user is somebody else now: the statements asked for the wrong person.
        """
        try:
            async with self._autocommit.connect() as connection:
                raw = await connection.get_raw_connection()
                driver = cast("psycopg.AsyncConnection[Any]", raw.driver_connection)
                async with _whole_or_gone(connection):
                    user_id, answers = await _pipelined(driver, actor, statements)
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            raise _translated(error) from error
        if user_id != actor.user_id:
            raise UserMerged(user_id)
        return answers

    async def ping(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database answers."""
        async with self.system() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


@asynccontextmanager
async def _whole_or_gone(connection: AsyncConnection) -> AsyncIterator[None]:
    """Give up a connection that was stopped in the middle of its work or lost.

    Whoever waited may have been cancelled between a question and its answers, and the next
    to take the connection from the pool would be handed what is left of them.
    """
    try:
        yield
    except (RemembrancerError, DBAPIError):
        # Said on purpose, between two questions; or already looked after by SQLAlchemy.
        raise
    except BaseException as error:
        await connection.invalidate()
        task = asyncio.current_task()
        if isinstance(error, AssertionError) and task is not None and task.cancelling():
            # What psycopg 3.3 makes of being cancelled as it begins with many rows.
            raise asyncio.CancelledError from error
        raise


async def _pipelined(
    driver: "psycopg.AsyncConnection[Any]", actor: Actor, statements: Sequence[Statement]
) -> tuple[UUID | None, list[Sequence[Any]]]:
    """Return who the actor's user is now, and the rows of each statement."""
    # In a pipeline all statements up to its end are one transaction, so the settings
    # hold for the statements and are gone after them, with no BEGIN or COMMIT to wait for.
    # Fetching only after the end keeps it at one trip: the end of the pipeline travels
    # with the statements.
    async with AsyncExitStack() as stack:
        answers = [
            await stack.enter_async_context(
                psycopg.AsyncRawCursor(driver, row_factory=row_factory(statement.row_type))
            )
            for statement in statements
        ]
        who = await stack.enter_async_context(driver.cursor())
        async with driver.pipeline(), driver.cursor() as settings:
            await who.execute(_ACT_AS_RAW, (actor.user_id, str(actor.role)))
            for statement, answer in zip(statements, answers, strict=True):
                if changes := statement.settings:
                    await settings.execute(_SET, (list(changes), list(changes.values())))
                values = [statement.binds[name] for name in statement.sql.names]
                await answer.execute(statement.sql.text, values, binary=True)
        [(user_id,)] = await who.fetchall()
        return user_id, [await answer.fetchall() for answer in answers]


def _create_engine(url: str, pool_size: int) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        pool_pre_ping=False,
        # Errors and logs name no values: they are what people said.
        hide_parameters=True,
        connect_args={
            "options": " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
        },
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare_early(connection: Any, _record: Any) -> None:
        connection.driver_connection.prepare_threshold = 2

    return engine


def _translated(error: Exception) -> Exception:
    """Return what the caller should see instead of a driver's error."""
    if isinstance(error, PoolTimeout):
        return DatabaseUnavailable("all connections are busy")
    cause = error.orig if isinstance(error, DBAPIError) else error
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or isinstance(cause, psycopg.OperationalError):
        return DatabaseUnavailable("the database does not answer")
    return _other_model(cause) or error


def _other_model(error: BaseException | None) -> EmbeddingUnavailable | None:
    """Return what to raise where `reembed` has put vectors of another size in place."""
    if isinstance(error, psycopg.DataError) and "different halfvec dimensions" in str(error):
        return EmbeddingUnavailable(
            "the store now holds vectors of another model; restart with that model"
        )
    return None
