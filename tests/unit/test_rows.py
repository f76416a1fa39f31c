"""Row types and the columns of their tables."""

from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import Column, Table

from remembrancer.db import tables
from remembrancer.memories.rows import MemoryRow, MentionRow, VersionRow

ROWS = {
    MemoryRow: tables.memories,
    VersionRow: tables.memory_versions,
    MentionRow: tables.mentions,
}
"""Types of whole rows, and their tables."""


@pytest.mark.parametrize(("row_type", "table"), ROWS.items())
def test_a_row_type_has_the_columns_of_its_table(row_type: type, table: Table) -> None:
    """Name by name, with the type and nullability of each column."""
    hints = get_type_hints(row_type)
    assert {field.name for field in fields(row_type)} == {column.name for column in table.columns}
    for column in table.columns:
        arguments = get_args(hints[column.name])
        assert (NoneType in arguments) == bool(column.nullable), column.name
        assert _plain(hints[column.name]) == _plain(_python_type(column)), column.name


def _python_type(column: Column[Any]) -> Any:
    return dict if column.type.__class__.__name__ == "JSONB" else column.type.python_type


def _plain(hint: Any) -> Any:
    """Return a type without its optional part; any sequence but text is a list."""
    if NoneType in get_args(hint):
        [hint] = set(get_args(hint)) - {NoneType}
    origin = get_origin(hint) or hint
    return list if origin.__name__ == "Sequence" else origin
