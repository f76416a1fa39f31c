"""What the tables have in common.

A table that belongs to a user carries the owner in its primary key, in every
unique constraint and in every foreign key, so that it can be distributed by
owner later on (docs/decisions/0003-schema.md).
"""

from typing import Any, Literal

from sqlalchemy import Column, DateTime, MetaData, Table, Text, Uuid, func

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def owner(name: str = "owner_id") -> Column[Any]:
    return Column(name, Uuid, primary_key=True)


def placement() -> list[Column[Any]]:
    """Return the columns, beside the owner, that the access rule reads."""
    return [
        Column("agent_id", Uuid),
        Column("space_id", Uuid),
        Column("visibility", Text, nullable=False, server_default="private"),
    ]


def instant(name: str, *, default: Literal["now"] | None = None, null: bool = False) -> Column[Any]:
    server_default = func.now() if default == "now" else None
    return Column(name, DateTime(timezone=True), nullable=null, server_default=server_default)


def written_columns(table: Table) -> list[str]:
    """Return the columns that an INSERT may name: all that Postgres does not compute."""
    return [column.name for column in table.columns if column.computed is None]
