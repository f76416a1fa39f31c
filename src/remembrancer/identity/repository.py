"""Rows that change hands: copied to the new owner, then deleted with the old one.

The owner is part of every key and may decide on which machine a row lies, so it is never
updated in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Row,
    Table,
    Text,
    Uuid,
    and_,
    any_,
    case,
    cast,
    delete,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import (
    associations,
    memories,
    memory_versions,
    mentions,
    postings,
    recall_items,
    reembeddings,
)
from remembrancer.db.tables.base import written_columns
from remembrancer.memories.schemas import Status

Rows = Sequence[Row[*tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Handover:
    """Which rows go from one owner to another, and what changes on the way."""

    giver: UUID
    taker: UUID
    memory_ids: Sequence[str]
    source_ids: Sequence[str]
    """Messages and chunks whose search items go with them."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New ids of memories whose id the taker has already, by old id."""
    statuses: Mapping[str, str] = field(default_factory=dict)
    """New statuses of memories, by old id."""


def among(column: Any, values: Sequence[Any], kind: Any = Text) -> ColumnElement[bool]:
    """Return ``column = ANY (values)``: one bind however many there are."""
    found: ColumnElement[bool] = column == any_(cast(list(values), ARRAY(kind)))
    return found


async def hand_over(connection: AsyncConnection, what: Handover) -> None:
    """Move memories with all that hangs on them, and the search items of messages and chunks."""
    moves = _moves(what)
    for table, which, changes in moves:
        await _copy_to_taker(
            connection, table, which, {"owner_id": literal(what.taker, Uuid), **changes}
        )
    await _follow(connection, what)
    for table, which, _ in reversed(moves):
        await connection.execute(delete(table).where(which))


def _moves(what: Handover) -> list[tuple[Table, ColumnElement[bool], dict[str, Any]]]:
    """Return table, rows and changed columns; those that others refer to come first."""
    item = recall_items.c
    items = and_(
        item.owner_id == what.giver,
        or_(
            among(item.memory_id, what.memory_ids),
            among(item.source_id, what.source_ids, Uuid),
        ),
    )
    item_ids = select(item.id).where(items)
    parts: list[tuple[Table, ColumnElement[bool], dict[str, Any]]] = [
        (
            memories,
            among(memories.c.id, what.memory_ids),
            {"id": _renamed(what, memories.c.id), "status": _status(what)},
        ),
        *(
            (table, among(table.c.memory_id, what.memory_ids), _memory_id(what, table))
            for table in (memory_versions, mentions, associations)
        ),
        (recall_items, items, {**_memory_id(what, recall_items), "active": _active(what)}),
        (postings, postings.c.item_id.in_(item_ids), {}),
        (reembeddings, reembeddings.c.item_id.in_(item_ids), {}),
    ]
    return [
        (table, and_(table.c.owner_id == what.giver, which), changes)
        for table, which, changes in parts
    ]


def _memory_id(what: Handover, table: Table) -> dict[str, Any]:
    return {"memory_id": _renamed(what, table.c.memory_id)}


def _renamed(what: Handover, column: Any) -> Any:
    return case(dict(what.renamed), value=column, else_=column) if what.renamed else column


def _status(what: Handover) -> Any:
    column = memories.c.status
    return _by_status(what, memories.c.id, literal, column)


def _active(what: Handover) -> Any:
    item = recall_items.c
    return _by_status(
        what, item.memory_id, lambda status: literal(status == Status.ACTIVE), item.active
    )


def _by_status(what: Handover, memory_id: Any, value: Any, otherwise: Any) -> Any:
    """Return what a column becomes where the memory's status changes."""
    by_status: dict[str, list[str]] = {}
    for changed, status in what.statuses.items():
        by_status.setdefault(status, []).append(changed)
    cases = [(among(memory_id, ids), value(status)) for status, ids in by_status.items()]
    return case(*cases, else_=otherwise) if cases else otherwise


async def _copy_to_taker(
    connection: AsyncConnection, table: Table, which: Any, changes: Mapping[str, Any]
) -> None:
    columns = written_columns(table)
    values = [changes.get(name, table.c[name]) for name in columns]
    await connection.execute(insert(table).from_select(columns, select(*values).where(which)))


async def _follow(connection: AsyncConnection, what: Handover) -> None:
    """Let everybody's associations point at the memories where they are now."""
    column = associations.c
    await connection.execute(
        update(associations)
        .where(column.target_owner_id == what.giver, among(column.target_id, what.memory_ids))
        .values(target_owner_id=what.taker, target_id=_renamed(what, column.target_id))
    )


async def memories_of(connection: AsyncConnection, owner_id: UUID) -> Rows:
    """Return what is compared of all memories of an owner, oldest first."""
    column = memories.c
    wanted = memories.c[
        "id",
        "content",
        "content_hash",
        "kind",
        "agent_id",
        "space_id",
        "place_id",
        "address",
        "valid_from",
        "valid_to",
        "status",
    ]
    statement = (
        select(*wanted).where(column.owner_id == owner_id).order_by(column.created_at, column.id)
    )
    return (await connection.execute(statement)).all()
