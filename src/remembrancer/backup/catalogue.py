"""Find the tables, sequences and functions of a store in the database's catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from remembrancer.db.migrate import REVISION, VERSION_TABLE
from remembrancer.db.sql import statement_text

Connection = psycopg.Connection[Any]


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


def drop(connection: Connection, tables: Sequence[Table]) -> None:
    functions = [row[0] for row in connection.execute(query("functions"))]
    connection.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
    names = [table.identifier for table in tables if table.schema != "jobs"]
    names.append(Identifier("alembic_version"))
    connection.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(SQL(", ").join(names)))
    for signature in functions:
        # The database quotes the signature. Some functions are dropped with a table.
        connection.execute(SQL("DROP FUNCTION IF EXISTS {} CASCADE").format(SQL(signature)))
