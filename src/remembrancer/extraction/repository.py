"""Ranges, chunks and how far a conversation is summarised, in the database."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.rules import WINDOW
from remembrancer.db.tables import chunks, conversations, messages
from remembrancer.extraction.triggers import BYTES_A_TOKEN
from remembrancer.jobs.queue import SUMMARISE, enqueuing, runs

# Called for, not only possible: too many messages without a summary, or too much said in them.
# Tokens are estimated only where messages have left the window and are too few to be due by
# number: there are at most ten such.
_DUE: Final = f"""
    CASE WHEN c.message_count - c.summarised_to > :messages THEN true
         WHEN c.message_count - c.summarised_to > {WINDOW} THEN
              (SELECT coalesce(sum(octet_length(m.content)), 0) / {BYTES_A_TOKEN}
                 FROM messages AS m
                WHERE m.conversation_id = c.id AND m.position > c.summarised_to
                  AND m.position <= c.message_count - {WINDOW}) > :tokens
         ELSE false
    END
"""

_ENQUEUE: Final = text(f"""
    SELECT {enqueuing(SUMMARISE, "conversation_id", "c.id")}
      FROM conversations AS c
     WHERE c.id = :id AND {_DUE}
""")

# Whoever adds messages right now holds the conversation's row, and queues the job.
_SWEEP: Final = text(f"""
    WITH due AS MATERIALIZED (
        SELECT c.id
          FROM conversations AS c
         WHERE {_DUE} AND NOT {runs(SUMMARISE, "c.id")}
           FOR UPDATE OF c SKIP LOCKED
    )
    SELECT count({enqueuing(SUMMARISE, "conversation_id", "due.id")}) FROM due
""")

_IS_DUE: Final = text(f"SELECT {_DUE} FROM conversations AS c WHERE c.id = :id")

_PENDING: Final = text(f"""
    SELECT id AS conversation_id, message_count - {WINDOW} - summarised_to AS messages
      FROM conversations
     WHERE message_count - {WINDOW} > summarised_to
     ORDER BY id
""")

# Copies of a chunk for several people are one to those who read the conversation; one's own
# comes first.
_PAGE: Final = text("""
    SELECT DISTINCT ON (range_start, range_end) *
      FROM chunks
     WHERE conversation_id = :conversation_id AND range_start > :after
     ORDER BY range_start, range_end, owner_id IS DISTINCT FROM :user_id, id
     LIMIT :limit
""").bindparams(bindparam("user_id"))


async def enqueue_if_due(
    connection: AsyncConnection, conversation_id: UUID, *, messages: int, tokens: int
) -> None:
    """Queue the summarising of a conversation that has too much without a summary."""
    binds = {"id": conversation_id, "messages": messages, "tokens": tokens}
    await connection.execute(_ENQUEUE, binds)


async def sweep(connection: AsyncConnection, *, messages: int, tokens: int) -> int:
    """Queue all conversations that are due and neither queued nor under way; return how many."""
    binds = {"messages": messages, "tokens": tokens}
    return int((await connection.execute(_SWEEP, binds)).scalar_one())


async def is_due(
    connection: AsyncConnection, conversation_id: UUID, *, messages: int, tokens: int
) -> bool:
    """Say whether a conversation has too much without a summary."""
    binds = {"id": conversation_id, "messages": messages, "tokens": tokens}
    return bool((await connection.execute(_IS_DUE, binds)).scalar())


async def pending(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Return conversations of which anything beyond the window has no summary."""
    return (await connection.execute(_PENDING)).all()


async def said(
    connection: AsyncConnection, conversation_id: UUID, after: int, count: int
) -> Sequence[Row[Any]]:
    """Return up to ``count`` messages after a position, in order."""
    statement = (
        select(messages)
        .where(messages.c.conversation_id == conversation_id, messages.c.position > after)
        .where(messages.c.position <= after + count, ~messages.c.off_record)
        .order_by(messages.c.position)
    )
    return (await connection.execute(statement)).all()


async def lock(connection: AsyncConnection, conversation_id: UUID) -> Row[Any] | None:
    """Return a conversation, which nobody adds to or summarises until the transaction ends."""
    statement = select(conversations).where(conversations.c.id == conversation_id)
    return (await connection.execute(statement.with_for_update())).first()


async def add_chunks(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert chunks."""
    if rows:
        await connection.execute(insert(chunks), rows)


async def summarised(connection: AsyncConnection, conversation_id: UUID, to: int) -> None:
    """Note that every message up to a position has been dealt with."""
    statement = update(conversations).where(conversations.c.id == conversation_id)
    await connection.execute(statement.values(summarised_to=to))


async def page(
    connection: AsyncConnection,
    conversation_id: UUID,
    user_id: UUID | None,
    limit: int,
    after: int,
) -> Sequence[Row[Any]]:
    """Return the chunks of a conversation in order, one more than ``limit``."""
    binds = {
        "conversation_id": conversation_id,
        "user_id": user_id,
        "limit": limit + 1,
        "after": after,
    }
    return (await connection.execute(_PAGE, binds)).all()
