"""Write a store into an archive, as of one moment."""

from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import psycopg
from psycopg.sql import SQL, Identifier

from remembrancer import version
from remembrancer.backup import catalogue
from remembrancer.backup.archive import (
    FORMAT,
    MANIFEST,
    Manifest,
    Observer,
    TableEntry,
    TableWriter,
    new_archive,
)
from remembrancer.backup.catalogue import Connection, Table
from remembrancer.db.urls import libpq_url
from remembrancer.errors import DatabaseSetupError
from remembrancer.ids import DEFAULT_WORKSPACE

SESSION = (
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL intervalstyle = 'iso_8601'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
"""Settings that make the text of values the same on every server."""


def back_up(
    url: str,
    path: Path,
    *,
    workspace: str = DEFAULT_WORKSPACE,
    replace: bool = False,
    observer: Observer | None = None,
) -> Manifest:
    """Write the store at ``url``, that of ``workspace``, to a file; return its manifest.

    It is as of one moment. The file appears only when complete, and only its owner can read it.
    Raises ``DatabaseSetupError`` without a store, and ``InvalidInput`` if the file cannot be
    written.
    """
    try:
        with (
            new_archive(path, replace=replace) as archive,
            # Behind a pooler, what is prepared outlives the transaction.
            psycopg.connect(
                libpq_url(url), client_encoding="utf8", prepare_threshold=None
            ) as connection,
        ):
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            return _write(connection, archive, workspace, observer or Observer())
    except psycopg.Error as error:
        # The text of the error may quote a row.
        kind = type(error).__name__
        raise DatabaseSetupError(
            f"the store cannot be read ({kind} {error.sqlstate}); check the database"
        ) from None


def _write(
    connection: Connection, archive: ZipFile, workspace: str, observer: Observer
) -> Manifest:
    for statement in SESSION:
        connection.execute(statement)
    # Row-level security also applies to the owner; the system role sees all rows.
    connection.execute("SELECT set_config('app.role', 'system', true)")
    revision = catalogue.revision(connection)
    if revision is None:
        raise DatabaseSetupError("this database has no store; check its URL")
    tables = catalogue.tables(connection)
    names = SQL(", ").join(table.identifier for table in tables)
    connection.execute(SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
    observer.start(sum(_count(connection, table) for table in tables))
    entries = [_dump(connection, archive, table, observer) for table in tables]
    manifest = Manifest(
        format=FORMAT,
        revision=revision,
        version=version.__version__,
        workspace=workspace,
        created_at=datetime.now(UTC),
        tables=entries,
        # After the rows and outside the snapshot, so never behind the rows.
        sequences=catalogue.sequences(connection),
    )
    archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


def _count(connection: Connection, table: Table) -> int:
    row = connection.execute(SQL("SELECT count(*) FROM {}").format(table.identifier)).fetchone()
    return int(row[0]) if row else 0


def _dump(connection: Connection, archive: ZipFile, table: Table, observer: Observer) -> TableEntry:
    columns = SQL(", ").join(Identifier(column) for column in table.columns)
    # A query, since Postgres copies no table with partitions.
    statement = SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(columns, table.identifier)
    reported = 0
    with archive.open(table.name, "w", force_zip64=True) as file, connection.cursor() as cursor:
        writer = TableWriter(file)
        with cursor.copy(statement) as copy:
            for part in copy:
                writer.write(bytes(part))
                if writer.count > reported:
                    observer.advance(writer.count - reported)
                    reported = writer.count
        writer.flush()
        observer.advance(writer.count - reported)
    return TableEntry(
        name=table.name,
        columns=list(table.columns),
        rows=writer.count,
        sha256=writer.sha256,
    )
