"""Facts: what a client sends to keep in a space, and what it gets, in order."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from sqlalchemy import Row, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Scope, Visibility, viewer_binds
from remembrancer.db.tables import memories
from remembrancer.errors import InvalidInput
from remembrancer.memories import repository, told
from remembrancer.memories.schemas import (
    AssociationCreate,
    Category,
    Importance,
    Kind,
    Memory,
    Metadata,
    Status,
)
from remembrancer.text import Instant, Key, Label, Page, Statement, from_cursor, to_cursor

_INSTANT: TypeAdapter[Any] = TypeAdapter(Instant)


class FactCreate(BaseModel):
    """A statement to remember in a space."""

    model_config = ConfigDict(extra="forbid")

    content: Statement = Field(examples=["Gran was born in 1931."])
    visibility: Visibility = Visibility.PRIVATE
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: Label | None = None
    importance: Importance | None = Field(None, description="By kind, unless given.")
    scope: Scope | None = Field(
        None, description="`agent`: usable by this agent alone; every agent unless given."
    )
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    pinned: bool = False
    metadata: Metadata = {}
    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    allow_similar: bool = False
    associations: list[AssociationCreate] = Field([], max_length=50)


class VisibilityUpdate(BaseModel):
    """Who shall see a fact: its author, or the members of its space."""

    model_config = ConfigDict(extra="forbid")

    visibility: Visibility


class Fact(BaseModel):
    """What somebody keeps in a space, as one of its members sees it."""

    id: str
    space_id: UUID | None
    user_id: UUID | None = Field(description="Its author.")
    mine: bool = Field(description="Whether the reader is its author.")
    category: Category
    content: str
    visibility: Visibility
    source_conversation_id: UUID | None
    extracted_at: datetime
    updated_at: datetime


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
    rows = (await connection.execute(statement)).all()
    return Page(
        items=[as_fact(told.memory(row), actor.user_id) for row in rows[:limit]],
        next_cursor=_cursor(rows[limit - 1]) if len(rows) > limit else None,
    )


def _cursor(row: Row[Any]) -> str:
    return to_cursor("facts", row.created_at.isoformat(), str(row.owner_id), row.id)


def _position(cursor: str) -> Sequence[Any]:
    named, at, owner_id, memory_id = from_cursor(cursor, 4)
    try:
        if named != "facts":
            raise ValueError(named)
        return [_INSTANT.validate_strings(at), UUID(owner_id), memory_id]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
