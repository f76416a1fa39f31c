"""Columns and constraints that tables share.

A table that belongs to a user has the owner in its primary key, in every unique constraint and in
every foreign key, so that it can be distributed by owner later (docs/decisions/0003-schema.md).
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

Type = sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]
Columns = list[sa.Column[Any]]

_INSTANT = sa.DateTime(timezone=True)

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *parts: SchemaItem | Sequence[SchemaItem]) -> sa.Table:
    groups = ([part] if isinstance(part, SchemaItem) else part for part in parts)
    return sa.Table(name, metadata, *(item for group in groups for item in group))


def keys(kind: Type, *names: str) -> Columns:
    """Return columns of the primary key."""
    return [sa.Column(name, kind, primary_key=True) for name in names]


def owner(name: str = "owner_id") -> Columns:
    """Return the user that a row belongs to, the first column of the primary key."""
    return keys(sa.Uuid, name)


def required(kind: Type, *names: str, default: str | None = None) -> Columns:
    return [sa.Column(name, kind, nullable=False, server_default=default) for name in names]


def optional(kind: Type, *names: str) -> Columns:
    return [sa.Column(name, kind) for name in names]


def instants(*names: str) -> Columns:
    """Return timestamps; the database sets the current time by default."""
    return [sa.Column(n, _INSTANT, nullable=False, server_default=sa.func.now()) for n in names]


def given_instants(*names: str) -> Columns:
    return required(_INSTANT, *names)


def optional_instants(*names: str) -> Columns:
    return optional(_INSTANT, *names)


def placement() -> Columns:
    """Return the columns, beside the owner, that the access rule reads."""
    scope = optional(sa.Uuid, "agent_id", "space_id")
    return [*scope, *required(sa.Text, "visibility", default="private")]


def singleton() -> list[SchemaItem]:
    """Return the key of a table with one row."""
    key = sa.Column("singleton", sa.Boolean, primary_key=True, server_default="true")
    return [key, sa.CheckConstraint("singleton", name="one_row")]


def one_of(column: str, *values: str) -> sa.CheckConstraint:
    choices = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({choices})", name=column)


def part_of(parent: str, **columns: str) -> sa.ForeignKeyConstraint:
    """Return the reference to a parent row, with which a row is deleted."""
    parents = [f"{parent}.{name}" for name in columns.values()]
    return sa.ForeignKeyConstraint(list(columns), parents, ondelete="CASCADE")


def index(name: str | None, *columns: str, where: str | None = None) -> sa.Index:
    """Return an index of all rows, or of those that meet ``where``."""
    return sa.Index(name, *columns, postgresql_where=None if where is None else sa.text(where))


def unique_index(name: str, *columns: str, where: str) -> sa.Index:
    """Return an index of the rows that meet ``where``, in which two nulls are equal."""
    return sa.Index(
        name,
        *columns,
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=sa.text(where),
    )


def written_columns(table: sa.Table) -> list[str]:
    """Return the columns that an INSERT may name: all that Postgres does not compute."""
    return [column.name for column in table.columns if column.computed is None]
