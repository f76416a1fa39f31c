"""An archive into a database, all of it or nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import Connection as AlembicConnection
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from remembrancer.backup import catalogue
from remembrancer.backup.archive import Archive, Manifest, TableEntry
from remembrancer.backup.catalogue import Connection, Table
from remembrancer.backup.dump import SESSION
from remembrancer.db import migrate
from remembrancer.db.engine import driver_url
from remembrancer.errors import Conflict, DatabaseSetupError, InvalidInput

_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND coalesce(backend_type, 'client backend') = 'client backend'
"""


def restore(
    url: str,
    path: Path,
    *,
    replace: bool = False,
    begun: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> Manifest:
    """Put a backup into the database at ``url``; return what it held.

    In one transaction: whatever ends it early, even ``kill -9``, leaves the database as it was.
    A backup of an older version is migrated. Raises ``Conflict`` for a database that is in use,
    or that holds something and ``replace`` is not said; ``InvalidInput`` for a file that is
    damaged or of a newer version; ``DatabaseSetupError`` if the database refuses.
    """
    with Archive(path) as archive:
        manifest = archive.manifest
        if not migrate.is_known(manifest.revision):
            raise InvalidInput("was made by a newer version; upgrade first", field=path.name)
        begun(manifest.rows)
        engine = create_engine(driver_url(url), connect_args={"client_encoding": "utf8"})
        try:
            with engine.begin() as connection:
                _replaced(connection, archive, replace, progress)
        except (DBAPIError, psycopg.Error) as error:
            # Its text may quote a row.
            cause = error.orig if isinstance(error, DBAPIError) else error
            state = getattr(cause, "sqlstate", None)
            kind = type(cause).__name__
            raise DatabaseSetupError(f"the backup cannot be restored ({kind} {state})") from None
        finally:
            engine.dispose()
        return manifest


def _replaced(
    connection: AlembicConnection,
    archive: Archive,
    replace: bool,
    progress: Callable[[int], None],
) -> None:
    migrate.check_server(connection)
    driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    for statement in SESSION:
        driver.execute(statement)
    driver.execute("SELECT set_config('app.role', 'system', true)")
    # Who opens the store meanwhile waits, as for a migration.
    migrate.lock(connection)
    _check_unused(driver)
    if catalogue.revision(driver) is not None:
        held = catalogue.tables(driver)
        if not replace and catalogue.holds_rows(driver, held):
            raise Conflict("the database holds a store; replace it with --replace")
        catalogue.drop(driver, held)
    migrate.upgrade(connection, archive.manifest.revision)
    _load(driver, archive, progress)
    migrate.upgrade(connection)


def _check_unused(connection: Connection) -> None:
    row = connection.execute(_OTHERS).fetchone()
    if others := row[0] if row else 0:
        raise Conflict(f"{others} others are connected; stop serve, workers and what else is")


def _load(connection: Connection, archive: Archive, progress: Callable[[int], None]) -> None:
    tables = catalogue.tables(connection)
    entries = {entry.name: entry for entry in archive.manifest.tables}
    if entries.keys() != {table.name for table in tables}:
        raise InvalidInput("has other tables than its version makes", field="backup")
    names = SQL(", ").join(table.identifier for table in tables)
    connection.execute(SQL("TRUNCATE {}").format(names))
    for table in tables:
        _fill(connection, archive, table, entries[table.name], progress)
    for name, value in archive.manifest.sequences.items():
        _set(connection, name, value)
    connection.execute(SQL("ANALYZE {}").format(names))


def _fill(
    connection: Connection,
    archive: Archive,
    table: Table,
    entry: TableEntry,
    progress: Callable[[int], None],
) -> None:
    """Copy the rows of a table as they were: its rules and triggers have seen them before."""
    _alter(connection, table, ["DISABLE TRIGGER USER"])
    if table.forced:
        _alter(connection, table, ["NO FORCE ROW LEVEL SECURITY"])
    columns = SQL(", ").join(Identifier(column) for column in entry.columns)
    statement = SQL("COPY {} ({}) FROM STDIN").format(table.identifier, columns)
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for part in archive.parts(entry):
                copy.write(part)
                progress(part.count(b"\n"))
        if max(cursor.rowcount, 0) != entry.rows:
            raise InvalidInput(f"has other rows than it says in {table.name}", field="backup")
    _alter(connection, table, ["ENABLE TRIGGER USER"])
    if table.forced:
        _alter(connection, table, ["FORCE ROW LEVEL SECURITY"])


def _alter(connection: Connection, table: Table, actions: Sequence[str]) -> None:
    for action in actions:
        connection.execute(SQL("ALTER TABLE {} ").format(table.identifier) + SQL(action))


def _set(connection: Connection, name: str, value: int) -> None:
    schema, _, sequence = name.partition(".")
    whole = Identifier(schema, sequence).as_string(connection)
    connection.execute(SQL("SELECT setval({}, {}, true)").format(Literal(whole), Literal(value)))
