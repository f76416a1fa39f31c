"""Find the tables, sequences and functions of a store in the database's catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

import psycopg
from psycopg.sql import SQL, Identifier

from remembrancer.db.migrate import REVISION, VERSION_TABLE
from remembrancer.db.sql import statement_text

Connection = psycopg.Connection[Any]


_REGISTRY: Final = "workspaces"


def query(name: str) -> str:
    return statement_text(__package__, "catalogue", name)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the store. ``forced``: row-level security also applies to its owner."""

    name: str
    """In an archive, where `public` is the schema of the store."""
    schema: str
    table: str
    forced: bool
    columns: Sequence[str]

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.schema, self.table)


def revision(connection: Connection) -> str | None:
    if connection.execute(VERSION_TABLE).fetchone() in {None, (None,)}:
        return None
    row = connection.execute(REVISION).fetchone()
    return str(row[0]) if row else None


def tables(connection: Connection) -> list[Table]:
    """Return the tables of the store, each after the tables that it refers to."""
    by_name = {
        table.name: table for table in (Table(*row) for row in connection.execute(query("tables")))
    }
    needs: dict[str, set[str]] = {name: set() for name in by_name}
    for referring, referred in connection.execute(query("references")):
        if referring in needs and referred in by_name:
            needs[referring].add(referred)
    return [by_name[name] for name in TopologicalSorter(needs).static_order()]


def sequences(connection: Connection) -> dict[str, int]:
    rows = connection.execute(query("sequences"))
    return {name: value for name, value in rows if value is not None}


def has_rows(connection: Connection, tables: Sequence[Table]) -> bool:
    """Return whether a store has more rows than its first start writes."""
    initial = {"public.memory_policy", "public.embedding_model"}
    for table in tables:
        statement = SQL("SELECT EXISTS (SELECT FROM {})").format(table.identifier)
        row = connection.execute(statement).fetchone()
        if table.name not in initial and row is not None and row[0]:
            return True
    return False


def registry(connection: Connection) -> str:
    """Return the rows of the registry of workspaces as JSON: no backup has any."""
    is_there = "SELECT to_regclass(quote_ident(current_schema()) || %s)"
    row = connection.execute(is_there, [f".{_REGISTRY}"]).fetchone()
    if row is None or row[0] is None:
        return "[]"
    rows = SQL("SELECT coalesce(jsonb_agg(r), '[]')::text FROM {} AS r").format(
        Identifier(_REGISTRY)
    )
    found = connection.execute(rows).fetchone()
    return str(found[0]) if found else "[]"


def fill_registry(connection: Connection, rows: str) -> None:
    """Put rows of the registry back."""
    table = Identifier(_REGISTRY)
    statement = SQL("INSERT INTO {} SELECT * FROM jsonb_populate_recordset(NULL::{}, %s::jsonb)")
    connection.execute(statement.format(table, table), [rows])


def drop(connection: Connection, tables: Sequence[Table]) -> None:
    functions = [row[0] for row in connection.execute(query("functions"))]
    connection.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
    names = [table.identifier for table in tables if table.schema != "jobs"]
    names += [Identifier("alembic_version"), Identifier(_REGISTRY)]
    connection.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(SQL(", ").join(names)))
    for signature in functions:
        # The database quotes the signature. Some functions are dropped with a table.
        connection.execute(SQL("DROP FUNCTION IF EXISTS {} CASCADE").format(SQL(signature)))
