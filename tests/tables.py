"""All that a database has: every row, and what surrounds the rows."""

from typing import Any

import psycopg


def content(url: str) -> dict[str, list[str]]:
    """Every row of every table, in any order of columns, and where the sequences stand."""
    with psycopg.connect(url) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
                "WHERE schemaname IN ('public', 'jobs') ORDER BY 1"
            )
        ]
        found = {
            name: [
                row[0]
                for row in connection.execute(
                    f"SELECT to_jsonb(t)::text FROM {name} AS t ORDER BY 1"
                )
            ]
            for name in names
        }
        found["sequences"] = [
            str(row)
            for row in connection.execute(
                "SELECT schemaname, sequencename, last_value FROM pg_sequences ORDER BY 1, 2"
            )
        ]
        return found


def shape(url: str) -> dict[str, list[Any]]:
    """What surrounds the rows: columns, constraints, indexes, rules, grants, triggers."""
    questions = {
        "columns": "SELECT table_schema, table_name, column_name, data_type, column_default, "
        "is_nullable, is_identity FROM information_schema.columns "
        "WHERE table_schema IN ('public', 'jobs')",
        "storage": "SELECT attrelid::regclass::text, attname, attstorage::text FROM pg_attribute "
        "JOIN pg_class AS c ON c.oid = attrelid WHERE c.relkind = 'r' AND attnum > 0 "
        "AND NOT attisdropped "
        "AND c.relnamespace IN ('public'::regnamespace, 'jobs'::regnamespace)",
        "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), "
        "convalidated FROM pg_constraint WHERE connamespace IN "
        "('public'::regnamespace, 'jobs'::regnamespace)",
        "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname IN ('public', 'jobs')",
        "policies": "SELECT * FROM pg_policies",
        "security": "SELECT oid::regclass::text, relrowsecurity, relforcerowsecurity, "
        "relacl::text FROM pg_class WHERE relkind IN ('r', 'S') AND relnamespace IN "
        "('public'::regnamespace, 'jobs'::regnamespace)",
        "triggers": "SELECT tgrelid::regclass::text, tgname, tgenabled FROM pg_trigger "
        "WHERE NOT tgisinternal",
        "functions": "SELECT oid::regprocedure::text, prosrc, proconfig FROM pg_proc "
        "WHERE pronamespace IN ('public'::regnamespace, 'jobs'::regnamespace)",
        "comment": "SELECT obj_description('jobs'::regnamespace)",
    }
    with psycopg.connect(url) as connection:
        return {
            name: sorted(connection.execute(question).fetchall(), key=str)
            for name, question in questions.items()
        }
