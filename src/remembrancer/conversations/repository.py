"""Conversations, participants and messages in the database."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import conversations, messages, participants


async def open_or_find(
    connection: AsyncConnection, values: dict[str, Any]
) -> tuple[Row[Any], bool]:
    """Insert a conversation, or return the one with its platform id; say if it is new."""
    statement = upsert(conversations).values(values).on_conflict_do_nothing()
    row = (await connection.execute(statement.returning(conversations))).first()
    if row is not None:
        return row, True
    same = [
        conversations.c[name].is_not_distinct_from(values[name])
        for name in ("platform", "platform_conversation_id", "agent_id")
    ]
    return (await connection.execute(select(conversations).where(*same))).one(), False


async def find(connection: AsyncConnection, conversation_id: UUID) -> Row[Any] | None:
    """Return a conversation by its id."""
    statement = select(conversations).where(conversations.c.id == conversation_id)
    return (await connection.execute(statement)).first()


async def on_platform(
    connection: AsyncConnection,
    platform: str,
    platform_conversation_id: str,
    agent_id: UUID | None,
) -> Row[Any] | None:
    """Return the conversation that a platform and an agent know by this id."""
    column = conversations.c
    statement = select(conversations).where(
        column.platform == platform,
        column.platform_conversation_id == platform_conversation_id,
        column.agent_id.is_not_distinct_from(agent_id),
    )
    return (await connection.execute(statement)).first()


async def participants_of(connection: AsyncConnection, conversation_id: UUID) -> frozenset[UUID]:
    """Return who takes part in a conversation."""
    statement = select(participants.c.user_id).filter_by(conversation_id=conversation_id)
    return frozenset((await connection.execute(statement)).scalars())


async def join(
    connection: AsyncConnection, conversation_id: UUID, user_ids: Iterable[UUID]
) -> None:
    """Make users participants; those who are already stay so."""
    rows = [{"conversation_id": conversation_id, "user_id": u} for u in sorted(set(user_ids))]
    if rows:
        await connection.execute(upsert(participants).on_conflict_do_nothing(), rows)


async def reserve(
    connection: AsyncConnection, conversation_id: UUID, count: int
) -> tuple[int, bool] | None:
    """Take the next ``count`` positions; return the last one before them and if it is paused.

    Null if the conversation is gone. The row stays locked until the transaction ends, so
    positions follow the order of commits and a rolled-back append leaves no gap.
    """
    statement = (
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(
            message_count=conversations.c.message_count + count,
            updated_at=func.now(),
        )
        .returning(conversations.c.message_count, conversations.c.paused_at)
    )
    row = (await connection.execute(statement)).first()
    return None if row is None else (row.message_count - count, row.paused_at is not None)


async def pause(
    connection: AsyncConnection, conversation_id: UUID, *, paused: bool
) -> Row[Any] | None:
    """Pause remembering in a conversation, or resume it; paused again it keeps its moment."""
    column = conversations.c
    moment = func.coalesce(column.paused_at, func.now()) if paused else None
    statement = update(conversations).where(column.id == conversation_id)
    changed = statement.values(paused_at=moment).returning(conversations)
    row: Row[Any] | None = (await connection.execute(changed)).first()
    return row


async def last_sender(connection: AsyncConnection, conversation_id: UUID) -> UUID | None:
    """Return who sent the latest user message."""
    statement = (
        select(messages.c.owner_id)
        .filter_by(conversation_id=conversation_id, role="user")
        .order_by(messages.c.position.desc())
        .limit(1)
    )
    return (await connection.execute(statement)).scalar_one_or_none()


async def names(connection: AsyncConnection, user_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the last-known names of those users that exist, merged ones included."""
    statement = text("SELECT id, display_name FROM users WHERE id = ANY (:ids)")
    rows = await connection.execute(statement, {"ids": list(set(user_ids))})
    return {row.id: row.display_name for row in rows}


async def add_messages(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert messages."""
    await connection.execute(insert(messages), rows)


async def page(
    connection: AsyncConnection, user_id: UUID, limit: int, before: UUID | None
) -> Sequence[Row[Any]]:
    """Return a user's conversations, newest first, one more than ``limit``."""
    statement = (
        select(conversations)
        .join(participants, participants.c.conversation_id == conversations.c.id)
        .where(participants.c.user_id == user_id)
        .order_by(conversations.c.id.desc())
        .limit(limit + 1)
    )
    if before is not None:
        statement = statement.where(conversations.c.id < before)
    return (await connection.execute(statement)).all()


async def window(
    connection: AsyncConnection, conversation_id: UUID, last: int, before: int | None
) -> Sequence[Row[Any]]:
    """Return the ``last`` messages (before a position if given), oldest first."""
    statement = (
        select(messages)
        .filter_by(conversation_id=conversation_id)
        .order_by(messages.c.position.desc())
        .limit(last)
    )
    if before is not None:
        statement = statement.where(messages.c.position < before)
    return list(reversed((await connection.execute(statement)).all()))


async def position(
    connection: AsyncConnection, conversation_id: UUID, message_id: UUID
) -> int | None:
    """Return the position of a message in a conversation; null if it is not there."""
    wanted = select(messages.c.position).filter_by(conversation_id=conversation_id, id=message_id)
    found: int | None = (await connection.execute(wanted)).scalar_one_or_none()
    return found
