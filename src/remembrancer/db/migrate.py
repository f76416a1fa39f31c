"""Migrate a database to the current schema."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any, Final, cast

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from remembrancer.db.urls import APP_ROLE, driver_url, libpq_url, liveness
from remembrancer.errors import DatabaseSetupError

log = logging.getLogger(__name__)

VERSION_TABLE: Final = "SELECT to_regclass(quote_ident(current_schema()) || '.alembic_version')"
"""The table of the revision, null without a store: one further along the search path is another's.
"""
REVISION: Final = "SELECT version_num FROM alembic_version"
# The service may not enter the schema before the migration, so for it the next one is the current.
_CURRENT: Final = """
SELECT v.version_num, obj_description(v.tableoid, 'pg_class')
  FROM alembic_version AS v JOIN pg_class AS c ON c.oid = v.tableoid
 WHERE c.relnamespace = (
       SELECT n.oid
         FROM regexp_split_to_table(replace(current_setting('search_path'), '"', ''), ', *')
              WITH ORDINALITY AS s (name, place)
         JOIN pg_namespace AS n
           ON n.nspname = CASE s.name WHEN '$user' THEN current_user ELSE s.name END
        ORDER BY s.place LIMIT 1)
"""
_ONE_LOGIN = (
    "database_url logs in as the owner of the tables, who could switch row-level security off;"
    f" let it log in as {APP_ROLE}, and give database_owner_url the owner's address (see Deploy)"
)
USABLE_FROM: Final = "0031"
"""The oldest revision whose code works with the newest schema: servers of both run side by side.

A revision that only adds leaves it. One that changes what older code reads or writes raises it.
"""
_NOTE: Final = "usable from "
NOTE: Final = "SELECT obj_description('alembic_version'::regclass, 'pg_class')"
"""The note of an upgrade, which says from which revision on code works with the schema."""
MIGRATIONS: Traversable = files("remembrancer.db") / "migrations"

_ALEMBIC: Final = threading.Lock()
"""Alembic knows one migration in a process."""
# Two processes may start on an empty database: one migrates, the other waits.
MIGRATION_LOCK = 6_148_914_691


def migrate(url: str, service_url: str | None = None) -> None:
    """Apply all pending migrations, as the owner; several processes may do so at once.

    ``service_url`` is the address at which the service logs in, by default the owner's.
    """
    if is_usable_at(service_url or url):
        return
    with _owner(url) as engine:
        with engine.begin() as connection:
            check_server(connection)
            upgrade(connection)
            if service_url is not None:
                _let_in(connection, make_url(url), make_url(service_url))
        if service_url is not None:
            with psycopg.connect(libpq_url(service_url), connect_timeout=30) as connection:
                _check_found(connection)


def downgrade(url: str, revision: str) -> None:
    """Go back to an earlier revision, for an older version; what later ones added is lost."""
    if not is_known(revision):
        raise DatabaseSetupError(f"there is no revision {revision}; the newest is {newest()}")
    with _owner(url) as engine, engine.begin() as connection:
        _check_known(_revision(connection))
        _run("downgrade", connection, revision)


@contextmanager
def _owner(url: str) -> Iterator[Engine]:
    # Behind a pooler, what is prepared outlives the transaction.
    connect_args = {**liveness(url), "prepare_threshold": None}
    engine = create_engine(driver_url(url), connect_args=connect_args)
    try:
        yield engine
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        reason = str(cause).strip().splitlines()[0] if str(cause) else "no reason given"
        advice, is_service = "", make_url(url).username == APP_ROLE
        if is_service and isinstance(cause, psycopg.errors.InsufficientPrivilege):
            advice = "; set database_owner_url to the address of the tables' owner"
        elif APP_ROLE in reason:
            advice = f"; let {APP_ROLE} log in with the password of database_url (see Deploy)"
        elif isinstance(cause, psycopg.OperationalError):
            advice = (
                "; see whether Postgres runs there, and whether host, port, user and password are "
                "right in database_url and database_owner_url"
            )
        raise DatabaseSetupError(f"the database cannot be set up: {reason}{advice}") from error
    finally:
        engine.dispose()


def _let_in(connection: Connection, owner: URL, service: URL) -> None:
    """Let the role of the service log in with the password of its address, if it could not."""
    if service.username == owner.username:
        log.warning("%s", _ONE_LOGIN)
    can_login = "SELECT rolcanlogin FROM pg_roles WHERE rolname = :name"
    if service.username != APP_ROLE or connection.scalar(text(can_login), {"name": APP_ROLE}):
        return
    driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    let_in = SQL("ALTER ROLE {} LOGIN").format(Identifier(APP_ROLE))
    if service.password is not None:
        # Encrypted here, because the server may log statements.
        password = driver.pgconn.encrypt_password(
            service.password.encode(), APP_ROLE.encode(), b"scram-sha-256"
        )
        let_in += SQL(" PASSWORD {}").format(Literal(password.decode()))
    try:
        driver.execute(let_in)
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseSetupError(
            f"{APP_ROLE} cannot log in, and {owner.username} must not change that; run as a"
            f" superuser: ALTER ROLE {APP_ROLE} LOGIN PASSWORD '…', with the password of"
            " database_url"
        ) from error


def is_usable_at(url: str) -> bool:
    """Return whether this code works with the store at an address."""
    # Without SQLAlchemy, and without the checks, which the migrations were made after.
    with suppress(psycopg.Error), psycopg.connect(libpq_url(url), connect_timeout=30) as connection:
        found = connection.execute(_CURRENT).fetchone()
        return found is not None and is_usable(*found)
    return False


def is_usable(revision: str, note: str | None) -> bool:
    """Return whether this code works with a schema, given its revision and its note."""
    if revision == newest():
        return True
    is_newer = not is_known(revision) and note is not None and note.startswith(_NOTE)
    return is_newer and newest() >= str(note).removeprefix(_NOTE)


def _check_found(service: psycopg.Connection[Any]) -> None:
    if service.execute(VERSION_TABLE).fetchone() in {None, (None,)}:
        raise DatabaseSetupError(
            f"{APP_ROLE} looks for the tables in another schema than their owner made them in;"
            " set one search_path for both: ALTER DATABASE … SET search_path = …"
        )


def check_server(connection: Connection) -> None:
    version = connection.scalar(text("SELECT current_setting('server_version_num')::int"))
    if version < 160000:
        raise DatabaseSetupError(f"this is Postgres {version // 10000}; upgrade to 16 or newer")
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    if connection.scalar(text(available)) is None:
        raise DatabaseSetupError("this Postgres server lacks the pgvector extension; install it")


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Apply the pending migrations up to ``revision``, in the open transaction."""
    target = newest() if revision == "head" else revision
    current = _revision(connection)
    if current == target:
        return
    if current is not None and is_usable(current, connection.scalar(text(NOTE))):
        return
    _check_known(current)
    _run("upgrade", connection, target)
    if target == newest():
        connection.execute(text(f"COMMENT ON TABLE alembic_version IS '{_NOTE}{USABLE_FROM}'"))


def _check_known(current: str | None) -> None:
    if current is not None and not is_known(current):
        raise DatabaseSetupError(
            f"the store is of a newer version (revision {current}, this one has {newest()});"
            " upgrade Remembrancer, or restore a backup"
        )


def _run(way: str, connection: Connection, revision: str) -> None:
    # The import of Alembic takes a third of a second, and migrations are rare.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    with _ALEMBIC, as_file(MIGRATIONS) as directory:
        config = Config()
        config.set_main_option("script_location", str(directory))
        config.attributes["connection"] = connection
        log.info("migrating the database to revision %s", revision)
        getattr(command, way)(config, revision)


def lock(connection: Connection) -> None:
    """Block migrations of other processes until the open transaction ends."""
    connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))


def is_known(revision: str) -> bool:
    return revision in _revisions()


def newest() -> str:
    return max(_revisions())


def _revisions() -> set[str]:
    names = (file.name for file in (MIGRATIONS / "versions").iterdir())
    return {name.partition("_")[0] for name in names if name.endswith(".py")}


def _revision(connection: Connection) -> str | None:
    if connection.scalar(text(VERSION_TABLE)) is None:
        return None
    revision: str | None = connection.scalar(text(REVISION))
    return revision
