"""Facts: what a client sends to keep in a space, and what it gets, in order."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, viewer_binds
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories
from remembrancer.errors import InvalidInput
from remembrancer.facts.schemas import Fact
from remembrancer.memories import repository, views
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import (
    Memory,
    Status,
)
from remembrancer.paging import Page
from remembrancer.text import Instant, from_cursor, to_cursor

_INSTANT: TypeAdapter[Any] = TypeAdapter(Instant)


def as_fact(memory: Memory, reader: UUID | None) -> Fact:
    """Return a memory as a fact that ``reader`` reads."""
    return Fact(
        id=memory.id,
        space_id=memory.space_id,
        user_id=memory.user_id,
        mine=memory.user_id == reader,
        category=memory.category,
        content=memory.content,
        visibility=memory.visibility,
        source_conversation_id=memory.conversation_id,
        extracted_at=memory.created_at,
        updated_at=memory.updated_at,
    )


async def in_order(
    connection: AsyncConnection, actor: Actor, space_id: UUID, *, limit: int, cursor: str | None
) -> Page[Fact]:
    """Return a page of the facts of a space that the actor sees, the oldest first."""
    column = memories.c
    order = (column.created_at, column.owner_id, column.id)
    statement = (
        select(memories)
        .where(column.space_id == space_id, column.status == Status.ACTIVE)
        .where(text(repository.VISIBLE).bindparams(**viewer_binds(actor)))
        .order_by(*order)
        .limit(limit + 1)
    )
    if cursor is not None:
        statement = statement.where(tuple_(*order) > tuple_(*_position(cursor)))
    rows = await all_rows(connection, MemoryRow, statement)
    return Page(
        items=[as_fact(views.memory(row), actor.user_id) for row in rows[:limit]],
        next_cursor=_cursor(rows[limit - 1]) if len(rows) > limit else None,
    )


def _cursor(row: MemoryRow) -> str:
    return to_cursor("facts", row.created_at.isoformat(), str(row.owner_id), row.id)


def _position(cursor: str) -> Sequence[Any]:
    named, at, owner_id, memory_id = from_cursor(cursor, 4)
    try:
        if named != "facts":
            raise ValueError(named)
        return [_INSTANT.validate_strings(at), UUID(owner_id), memory_id]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
