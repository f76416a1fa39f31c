"""Postgres servers that hold workspaces, and the databases there.

Functions with DDL block; use :func:`in_thread` in async code.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Concatenate, Final, ParamSpec, TypeVar
from uuid import UUID, uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow, class_row
from psycopg.sql import SQL, Identifier
from pydantic import SecretStr
from sqlalchemy import make_url

from remembrancer.db.migrate import migrate, newest
from remembrancer.db.urls import APP_ROLE, driver_url, libpq_url, liveness
from remembrancer.errors import (
    Conflict,
    DatabaseSetupError,
    DatabaseUnavailable,
    InvalidInput,
)
from remembrancer.settings import MAIN, Settings, WorkspaceServer

P = ParamSpec("P")
Result = TypeVar("Result")
Connection = psycopg.Connection[TupleRow]
_BLANK: Final = "remembrancer-blank-"
"""No workspace has a database of such a name: theirs have no hyphens."""
_EXISTS: Final = "SELECT FROM pg_database WHERE datname = %s"
_END_CREATION: Final = """
SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity
 WHERE state = 'active' AND starts_with(query, %s) AND pid <> pg_backend_pid()
"""
_END_SESSIONS: Final = """
SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE datname = %s
"""
_LOOK: Final = """
SELECT current_setting('server_version') AS version,
       (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector,
       rolsuper OR rolcreatedb AS creates,
       current_setting('wal_level') AS wal_level,
       rolsuper OR (rolreplication AND rolbypassrls
                    AND pg_has_role(oid, 'pg_create_subscription', 'USAGE')) AS replicates
  FROM pg_roles WHERE rolname = current_user
"""
_END_MS: Final = 10_000
_MOST_THREADS: Final = 4
"""Calls to one server at once; further ones wait."""
_LOCK: Final = 6_148_914_692
_AWAY: Final = ("08", "57P")
"""Classes of errors of a server that is away or on its way."""


@dataclass(frozen=True, slots=True)
class Server:
    """One Postgres server: its addresses for the service and the owner, and its replica's."""

    name: str
    url: str
    owner_url: str
    replica_url: str | None = None

    def service_url(self, database: str) -> str:
        """Return the address of a database for the service."""
        return make_url(self.url).set(database=database).render_as_string(False)

    def owner_url_of(self, database: str) -> str:
        """Return the address of a database for its owner."""
        return make_url(self.owner_url).set(database=database).render_as_string(False)

    def replica_url_of(self, database: str) -> str | None:
        """Return the address of a database on the replica, if there is one."""
        if self.replica_url is None:
            return None
        return make_url(self.replica_url).set(database=database).render_as_string(False)


@dataclass(frozen=True, slots=True)
class ServerLook:
    """What a server has for workspaces, and what its owner may do."""

    version: str
    vector: str | None
    """The version of pgvector that can be installed."""
    creates: bool
    """Whether the owner may create databases."""
    wal_level: str
    replicates: bool
    """Whether the owner may replicate databases."""


class Servers:
    """The servers of the settings, and ``main``, by name."""

    def __init__(self, main: Server, further: Mapping[str, WorkspaceServer] | None = None) -> None:
        self._servers = {MAIN: main}
        for name, server in (further or {}).items():
            service = _url(server.url)
            owner = _url(server.owner_url) if server.owner_url else service
            replica = _url(server.replica_url) if server.replica_url else None
            self._servers[name] = Server(name, service, owner, replica)

    @classmethod
    def of(cls, settings: Settings, url: str) -> "Servers":
        """Return the servers of the settings; ``url`` is that of the host's own store."""
        owner, replica = settings.database_owner_url, settings.database_replica_url
        main = Server(MAIN, url, _url(owner) if owner else url, _url(replica) if replica else None)
        return cls(main, settings.workspaces.servers)

    @property
    def names(self) -> list[str]:
        """The names of all servers, ``main`` first."""
        return list(self._servers)

    def __getitem__(self, name: str) -> Server:
        """Return a server; raise ``InvalidInput`` for an unknown one."""
        if name not in self._servers:
            known = ", ".join(sorted(self._servers))
            raise InvalidInput(
                f"is no server of the setting workspaces.servers; known are {known}", field="server"
            )
        return self._servers[name]


def _url(secret: SecretStr) -> str:
    return driver_url(secret.get_secret_value())


@cache
def threads_of(server: str) -> ThreadPoolExecutor:
    """Return the threads for calls to a server, which may be silent.

    The others are for all servers and for all other work: a driver looks up the names of hosts
    there before it connects.
    """
    return ThreadPoolExecutor(_MOST_THREADS, f"server {server}")


async def in_thread(
    function: Callable[Concatenate[Server, P], Result],
    server: Server,
    *args: P.args,
    **kwargs: P.kwargs,
) -> Result:
    """Call a function that blocks. Whoever is cancelled meanwhile ends after it, not before."""
    called = partial(function, server, *args, **kwargs)
    call = asyncio.get_running_loop().run_in_executor(threads_of(server.name), called)
    cancelled: asyncio.CancelledError | None = None
    while not call.done():
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        call.exception()  # or its text, which may quote data, would be logged
        raise cancelled
    return call.result()


def database_name(workspace: str, id_: UUID) -> str:
    """Return the name of the database of a workspace; ``id_`` makes it unique."""
    return f"remembrancer_{workspace.replace('-', '_')}_{id_.hex[-8:]}"


def reach(server: Server) -> None:
    """Raise ``DatabaseUnavailable`` for a server that does not answer its owner."""
    with _connected(server):
        pass


def create_database(server: Server, database: str, *, exist_ok: bool = False) -> None:
    """Create a database with the current schema and nothing in it; with ``exist_ok`` if needed.

    It is a copy of a blank one, which the first call for a revision makes.
    """
    with _locked(server) as connection:
        _end_creation(connection, database)
        if not exist_ok or connection.execute(_EXISTS, [database]).fetchone() is None:
            blank = _ensure_blank(server, connection)
            _execute(connection, "CREATE DATABASE {} TEMPLATE {}", database, blank)
        _execute(connection, "REVOKE CONNECT ON DATABASE {} FROM PUBLIC", database)
        _execute(connection, "GRANT CONNECT ON DATABASE {} TO {}", database, APP_ROLE)


def drop_database(server: Server, database: str) -> None:
    """Drop a database, and end the connections to it; nothing if there is none."""
    with _connected(server) as connection:
        _end_creation(connection, database)
        _execute(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", database)


def look(server: Server) -> ServerLook:
    """Return what a server has for workspaces; the service and the owner are logged in for it."""
    with _connected(server) as connection:
        with connection.cursor(row_factory=class_row(ServerLook)) as cursor:
            [found] = cursor.execute(_LOOK).fetchall()
        with _connection(server.url):
            return found


def size(server: Server, database: str) -> int:
    """Return the bytes of a database; 0 if there is none."""
    with _connected(server) as connection:
        if connection.execute(_EXISTS, [database]).fetchone() is None:
            return 0
        row = connection.execute("SELECT pg_database_size(%s)", [database]).fetchone()
    return int(row[0]) if row else 0


def _end_creation(connection: Connection, database: str) -> None:
    """End a creation whose process has died: Postgres goes on, and notices it in the end."""
    begun = SQL("CREATE DATABASE {} ").format(Identifier(database)).as_string(connection)
    connection.execute(_END_CREATION, [_END_MS, begun])


def _ensure_blank(server: Server, connection: Connection) -> str:
    blank = _BLANK + newest()
    if connection.execute(_EXISTS, [blank]).fetchone() is not None:
        return blank
    old = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
    for (name,) in connection.execute(old, [_BLANK]).fetchall():
        _execute(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
    # Under another name until it is whole.
    unfinished = f"{_BLANK}{uuid4().hex[:8]}"
    _execute(connection, "CREATE DATABASE {}", unfinished)
    migrate(driver_url(server.owner_url_of(unfinished)), driver_url(server.service_url(unfinished)))
    # A pooler keeps its sessions there, which would be in the way of the name and of each copy.
    _execute(connection, "ALTER DATABASE {} ALLOW_CONNECTIONS false", unfinished)
    connection.execute(_END_SESSIONS, [_END_MS, unfinished])
    _execute(connection, "ALTER DATABASE {} RENAME TO {}", unfinished, blank)
    return blank


def _connection(url: str) -> Connection:
    return psycopg.connect(make_conninfo(libpq_url(url), **liveness(url)), autocommit=True)


@contextmanager
def _connected(server: Server) -> Iterator[Connection]:
    try:
        with _connection(server.owner_url) as connection:
            yield connection
    except psycopg.errors.InsufficientPrivilege:
        raise Conflict(
            f"the server {server.name} does not let its owner create and drop databases; give"
            " database_owner_url, or workspaces.servers, a role with CREATEDB",
            field="server",
        ) from None
    except DatabaseSetupError as error:
        raise Conflict(str(error), field="server") from error
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(f"the server {server.name} {_why(error)}") from error


def _why(error: psycopg.OperationalError) -> str:
    """Return why a server did nothing; what it was told has names of databases alone."""
    if error.sqlstate is not None and not error.sqlstate.startswith(_AWAY):
        return f"refuses: {error.diag.message_primary}"
    # The driver has no code for a connection that fails, just the text.
    _, refused, reason = str(error).partition("FATAL:")
    reason = reason.strip().partition("\n")[0]
    return f"refuses the connection: {reason}" if refused else "does not answer"


@contextmanager
def _locked(server: Server) -> Iterator[Connection]:
    """Yield a connection while no other process makes the blank database of the server."""
    with _connected(server) as lock, lock.transaction(), _connected(server) as connection:
        lock.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        yield connection


def _execute(connection: Connection, sql: str, *names: str) -> None:
    connection.execute(SQL(sql).format(*map(Identifier, names)))
