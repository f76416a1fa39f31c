"""Restore an archive into a database, in one transaction."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import Connection as AlembicConnection
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from remembrancer.backup import catalogue
from remembrancer.backup.archive import Archive, Manifest, Observer, TableEntry
from remembrancer.backup.catalogue import Connection, Table
from remembrancer.backup.dump import SESSION
from remembrancer.db import migrate
from remembrancer.db.urls import driver_url
from remembrancer.errors import Conflict, DatabaseSetupError, InvalidInput

_LOOK_SECONDS: Final = 0.02


def restore(
    url: str,
    path: Path,
    *,
    replace: bool = False,
    wait_seconds: float = 0,
    observer: Observer | None = None,
) -> Manifest:
    """Restore a backup into the database at ``url``; return its manifest.

    Waits for ``wait_seconds`` until nobody uses it.

    Uses one transaction, so an interruption, even ``kill -9``, changes nothing. A backup of an
    older version is migrated. Raises ``Conflict`` for a database in use, for one on its way to
    another server, or for one with data unless ``replace`` is set; ``InvalidInput`` for a damaged
    file or one of a newer version; ``DatabaseSetupError`` if the database refuses.
    """
    with Archive(path) as archive:
        manifest = archive.manifest
        if not migrate.is_known(manifest.revision):
            raise InvalidInput(
                "comes from a newer version; upgrade Remembrancer first", field=path.name
            )
        observer = observer or Observer()
        observer.start(manifest.rows)
        options = {"client_encoding": "utf8", "prepare_threshold": None}
        engine = create_engine(driver_url(url), connect_args=options)
        try:
            with engine.begin() as connection:
                _replace_store(connection, archive, replace, wait_seconds, observer)
        except (DBAPIError, psycopg.Error) as error:
            # The text of the error may quote a row.
            cause = error.orig if isinstance(error, DBAPIError) else error
            state = getattr(cause, "sqlstate", None)
            kind = type(cause).__name__
            raise DatabaseSetupError(
                f"the backup cannot be restored ({kind} {state}); nothing was changed"
            ) from None
        finally:
            engine.dispose()
        return manifest


def _replace_store(
    connection: AlembicConnection,
    archive: Archive,
    replace: bool,
    wait_seconds: float,
    observer: Observer,
) -> None:
    migrate.check_server(connection)
    driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    for statement in SESSION:
        driver.execute(statement)
    driver.execute("SELECT set_config('app.role', 'system', true)")
    # Processes that open the store wait, as for a migration.
    migrate.lock(connection)
    _check_unused(driver, wait_seconds)
    registry = "[]"
    if catalogue.revision(driver) is not None:
        registry = catalogue.registry(driver)
        old_tables = catalogue.tables(driver)
        if not replace and catalogue.has_rows(driver, old_tables):
            raise Conflict("the database has a store already; replace it with --replace")
        catalogue.drop(driver, old_tables)
    migrate.upgrade(connection, archive.manifest.revision)
    _load(driver, archive, observer)
    migrate.upgrade(connection)
    # Their databases are still there.
    catalogue.fill_registry(driver, registry)


def _check_unused(connection: Connection, wait_seconds: float) -> None:
    # Tables that are dropped and made anew would not reach the other server.
    if connection.execute(catalogue.query("is_moving")).fetchone() == (True,):
        raise Conflict(
            "the workspace is on its way to another server; confirm or undo its move first"
        )
    until = time.monotonic() + wait_seconds
    while (others := _others(connection)) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
    if others:
        raise Conflict(
            f"{others} other processes use the database; stop servers, workers and other"
            " clients, or suspend the workspace"
        )


def _others(connection: Connection) -> int:
    # Or the transaction would see those of its first look.
    connection.execute("SELECT pg_stat_clear_snapshot()")
    row = connection.execute(catalogue.query("other_clients")).fetchone()
    return int(row[0]) if row else 0


def _load(connection: Connection, archive: Archive, observer: Observer) -> None:
    tables = catalogue.tables(connection)
    entries = {entry.name: entry for entry in archive.manifest.tables}
    if entries.keys() != {table.name for table in tables}:
        raise InvalidInput("has other tables than its version; use another backup", field="backup")
    names = SQL(", ").join(table.identifier for table in tables)
    connection.execute(SQL("TRUNCATE {}").format(names))
    for table in tables:
        _fill(connection, archive, table, entries[table.name], observer)
    for name, value in archive.manifest.sequences.items():
        quoted_name = Identifier(*name.removeprefix("public.").split(".", 1)).as_string(connection)
        setval = SQL("SELECT setval({}, {}, true)").format(Literal(quoted_name), Literal(value))
        connection.execute(setval)
    connection.execute(SQL("ANALYZE {}").format(names))


def _fill(
    connection: Connection,
    archive: Archive,
    table: Table,
    entry: TableEntry,
    observer: Observer,
) -> None:
    """Copy the rows of a table without its triggers, which ran before."""
    _alter(connection, table, ["DISABLE TRIGGER USER"])
    if table.forced:
        _alter(connection, table, ["NO FORCE ROW LEVEL SECURITY"])
    columns = SQL(", ").join(Identifier(column) for column in entry.columns)
    statement = SQL("COPY {} ({}) FROM STDIN").format(table.identifier, columns)
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for part in archive.parts(entry):
                copy.write(part)
                observer.advance(part.count(b"\n"))
        if max(cursor.rowcount, 0) != entry.rows:
            raise InvalidInput(
                f"has other rows in {table.name} than in its manifest; use another backup",
                field="backup",
            )
    _alter(connection, table, ["ENABLE TRIGGER USER"])
    if table.forced:
        _alter(connection, table, ["FORCE ROW LEVEL SECURITY"])


def _alter(connection: Connection, table: Table, actions: Sequence[str]) -> None:
    for action in actions:
        connection.execute(SQL("ALTER TABLE {} ").format(table.identifier) + SQL(action))
