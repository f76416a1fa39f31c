"""A store into an archive, as it was at one moment."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import psycopg
from psycopg.sql import SQL, Identifier

from remembrancer import version
from remembrancer.backup import catalogue
from remembrancer.backup.archive import FORMAT, MANIFEST, Manifest, Rows, TableEntry, new_archive
from remembrancer.backup.catalogue import Connection, Table
from remembrancer.db.engine import libpq_url
from remembrancer.errors import DatabaseSetupError

SESSION = (
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL intervalstyle = 'iso_8601'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
"""What values look like as text does not depend on where they are written and read."""


def back_up(
    url: str,
    path: Path,
    *,
    replace: bool = False,
    begun: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> Manifest:
    """Write the store at ``url`` to a file; return what is in it.

    All of it is as it was at one moment, whatever is written meanwhile. ``begun`` is told how
    many rows there are, ``progress`` of some at a time. The file is there whole or not at
    all, for its owner alone to read. Raises ``DatabaseSetupError`` if there is no store, and
    ``InvalidInput`` if the file cannot be written.
    """
    try:
        with (
            new_archive(path, replace=replace) as archive,
            psycopg.connect(libpq_url(url), client_encoding="utf8") as connection,
        ):
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            return _written(connection, archive, begun, progress)
    except psycopg.Error as error:
        # Its text may quote a row.
        kind = type(error).__name__
        raise DatabaseSetupError(f"the store cannot be read ({kind} {error.sqlstate})") from None


def _written(
    connection: Connection,
    archive: ZipFile,
    begun: Callable[[int], None],
    progress: Callable[[int], None],
) -> Manifest:
    for statement in SESSION:
        connection.execute(statement)
    # Row-level security is forced on the owner too; the service's bookkeeping sees all rows.
    connection.execute("SELECT set_config('app.role', 'system', true)")
    revision = catalogue.revision(connection)
    if revision is None:
        raise DatabaseSetupError("there is no store in this database")
    tables = catalogue.tables(connection)
    names = SQL(", ").join(table.identifier for table in tables)
    connection.execute(SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
    begun(sum(_count(connection, table) for table in tables))
    entries = [_dump(connection, archive, table, progress) for table in tables]
    manifest = Manifest(
        format=FORMAT,
        revision=revision,
        version=version.__version__,
        created_at=datetime.now(UTC),
        tables=entries,
        # After the rows, and outside of the moment: never behind what the rows use.
        sequences=catalogue.sequences(connection),
    )
    archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


def _count(connection: Connection, table: Table) -> int:
    row = connection.execute(SQL("SELECT count(*) FROM {}").format(table.identifier)).fetchone()
    return int(row[0]) if row else 0


def _dump(
    connection: Connection, archive: ZipFile, table: Table, progress: Callable[[int], None]
) -> TableEntry:
    columns = SQL(", ").join(Identifier(column) for column in table.columns)
    statement = SQL("COPY {} ({}) TO STDOUT").format(table.identifier, columns)
    told = 0
    with archive.open(table.name, "w", force_zip64=True) as file, connection.cursor() as cursor:
        rows = Rows(file)
        with cursor.copy(statement) as copy:
            for part in copy:
                rows.write(bytes(part))
                if rows.count > told:
                    progress(rows.count - told)
                    told = rows.count
        rows.flush()
        progress(rows.count - told)
    return TableEntry(
        name=table.name,
        columns=list(table.columns),
        rows=rows.count,
        sha256=rows.sha256,
    )
