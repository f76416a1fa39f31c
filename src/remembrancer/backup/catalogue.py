"""Find the tables, sequences and functions of a store in the database's catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from remembrancer.db.engine import APP_ROLE

Connection = psycopg.Connection[Any]

_REVISION = "SELECT version_num FROM public.alembic_version"
_TABLES = """
    SELECT n.nspname, c.relname, c.relforcerowsecurity,
           ARRAY(SELECT a.attname::text FROM pg_attribute AS a
                  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND a.attgenerated = '' ORDER BY a.attnum)
      FROM pg_class AS c
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname IN ('public', 'jobs')
       AND (n.nspname, c.relname) <> ('public', 'alembic_version')
       -- The service may read its own tables; the database may have others.
       AND has_table_privilege(%s, c.oid, 'SELECT')
       AND NOT EXISTS (SELECT FROM pg_depend AS d
                        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                          AND d.deptype = 'e')
     ORDER BY 1, 2
"""
_REFERENCES = """
    SELECT n.nspname || '.' || c.relname, m.nspname || '.' || t.relname
      FROM pg_constraint AS f
      JOIN pg_class AS c ON c.oid = f.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      JOIN pg_class AS t ON t.oid = f.confrelid JOIN pg_namespace AS m ON m.oid = t.relnamespace
     WHERE f.contype = 'f' AND f.conrelid <> f.confrelid
"""
_SEQUENCES = """
    SELECT n.nspname || '.' || s.relname,
           pg_sequence_last_value(s.oid)
      FROM pg_class AS s
      JOIN pg_namespace AS n ON n.oid = s.relnamespace
      JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
                         AND d.deptype IN ('a', 'i') AND d.refclassid = 'pg_class'::regclass
      JOIN pg_class AS t ON t.oid = d.refobjid
     WHERE s.relkind = 'S' AND n.nspname IN ('public', 'jobs')
       AND has_table_privilege(%s, t.oid, 'SELECT')
"""
_FUNCTIONS = """
    SELECT p.oid::regprocedure::text FROM pg_proc AS p
     WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'app\\_%'
       AND NOT EXISTS (SELECT FROM pg_depend AS d
                        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                          AND d.deptype = 'e')
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the store. ``forced``: row-level security also applies to its owner."""

    schema: str
    table: str
    forced: bool
    columns: Sequence[str]

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.schema, self.table)


def revision(connection: Connection) -> str | None:
    version_table = connection.execute("SELECT to_regclass('public.alembic_version')").fetchone()
    if version_table is None or version_table[0] is None:
        return None
    row = connection.execute(_REVISION).fetchone()
    return str(row[0]) if row else None


def tables(connection: Connection) -> list[Table]:
    """Return the tables of the store, each after the tables that it refers to."""
    by_name = {
        table.name: table
        for table in (Table(*row) for row in connection.execute(_TABLES, [APP_ROLE]))
    }
    needs: dict[str, set[str]] = {name: set() for name in by_name}
    for referring, referred in connection.execute(_REFERENCES):
        if referring in needs and referred in by_name:
            needs[referring].add(referred)
    return [by_name[name] for name in TopologicalSorter(needs).static_order()]


def sequences(connection: Connection) -> dict[str, int]:
    rows = connection.execute(_SEQUENCES, [APP_ROLE])
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
    functions = [row[0] for row in connection.execute(_FUNCTIONS)]
    connection.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
    names = [table.identifier for table in tables if table.schema != "jobs"]
    names.append(Identifier("public", "alembic_version"))
    connection.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(SQL(", ").join(names)))
    for signature in functions:
        # The database quotes the signature. Some functions are dropped with a table.
        connection.execute(SQL("DROP FUNCTION IF EXISTS {} CASCADE").format(SQL(signature)))
