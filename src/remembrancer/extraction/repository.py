"""Ranges, chunks and how far a conversation is summarised, in the database."""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.rules import WINDOW
from remembrancer.db.tables import chunks, conversations, messages, users
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

# What people said is held against what is remembered of them in the place where they said it,
# so nothing of another namespace shows up. The vectors are there already.
_NEAR: Final = text("""
    WITH said AS MATERIALIZED (
        SELECT owner_id, agent_id, space_id, embedding
          FROM recall_items
         WHERE owner_id = ANY (CAST(:owners AS uuid[]))
           AND source_type = 'message'
           AND source_id = ANY (CAST(:messages AS uuid[]))
    ),
    near AS (
        SELECT s.owner_id, i.memory_id, min(i.embedding <=> s.embedding) AS distance
          FROM said AS s
          JOIN recall_items AS i
            ON i.owner_id = s.owner_id AND i.source_type = 'memory'
           AND i.active AND i.superseded_at IS NULL
           AND i.agent_id IS NOT DISTINCT FROM s.agent_id
           AND i.space_id IS NOT DISTINCT FROM s.space_id
         GROUP BY s.owner_id, i.memory_id
    ),
    ranked AS (
        SELECT m.owner_id, m.id, m.content,
               row_number() OVER (PARTITION BY n.owner_id ORDER BY n.distance, n.memory_id) AS place
          FROM near AS n
          JOIN memories AS m ON m.owner_id = n.owner_id AND m.id = n.memory_id
         WHERE CAST(:within AS uuid) IS NULL OR m.conversation_id = :within
    )
    SELECT owner_id, id, content FROM ranked WHERE place <= :limit ORDER BY owner_id, place
""")

# A fact is settled if these messages have given it before: it is there, in the same words, or
# its owner has put something like it away.
_SETTLED: Final = text("""
    WITH found AS MATERIALIZED (
        SELECT owner_id, hash, CAST(vector AS halfvec) AS vector, n
          FROM unnest(CAST(:owners AS uuid[]), CAST(:hashes AS bytea[]), CAST(:vectors AS text[]))
               WITH ORDINALITY AS f (owner_id, hash, vector, n)
    ),
    given AS MATERIALIZED (
        SELECT owner_id, memory_id FROM mentions
         WHERE owner_id = ANY (CAST(:owners AS uuid[]))
           AND message_id = ANY (CAST(:messages AS uuid[]))
         UNION
        SELECT owner_id, memory_id FROM memory_versions
         WHERE owner_id = ANY (CAST(:owners AS uuid[]))
           AND message_id = ANY (CAST(:messages AS uuid[]))
    )
    SELECT DISTINCT f.n - 1 AS n
      FROM found AS f
      JOIN given AS g ON g.owner_id = f.owner_id
      JOIN memories AS m ON m.owner_id = g.owner_id AND m.id = g.memory_id
      JOIN recall_items AS i ON i.owner_id = m.owner_id AND i.memory_id = m.id
     WHERE i.content_hash = f.hash
        OR (m.status = 'forgotten' AND 1 - (i.embedding <=> f.vector) >= :alike)
""")

ALIKE: Final = 0.75
"""Cosine similarity from which a fact is taken for one that its owner put away."""


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


async def zones(connection: AsyncConnection, owners: Iterable[UUID]) -> dict[UUID, str]:
    """Return the time zone of each user."""
    statement = select(users.c.id, users.c.time_zone).where(users.c.id.in_(owners))
    return {row.id: row.time_zone for row in await connection.execute(statement)}


async def near(
    connection: AsyncConnection,
    messages: Sequence[UUID],
    owners: Sequence[UUID],
    *,
    within: UUID | None,
    limit: int,
) -> Sequence[Row[Any]]:
    """Return each owner's memories nearest to their messages, in the place where those lie.

    ``within`` a conversation: only what is remembered of that one.
    """
    binds = {"messages": messages, "owners": owners, "within": within, "limit": limit}
    return (await connection.execute(_NEAR, binds)).all()


async def settled(
    connection: AsyncConnection,
    messages: Sequence[UUID],
    *,
    owners: Sequence[UUID],
    hashes: Sequence[bytes],
    vectors: Sequence[str],
) -> set[int]:
    """Return which facts, by index, these messages have given before, kept or put away."""
    binds = {
        "messages": messages,
        "owners": owners,
        "hashes": hashes,
        "vectors": vectors,
        "alike": ALIKE,
    }
    return set((await connection.execute(_SETTLED, binds)).scalars())


async def space_of(connection: AsyncConnection, conversation_id: UUID) -> UUID | None:
    """Return the space a conversation lies in, which never changes."""
    statement = select(conversations.c.space_id).where(conversations.c.id == conversation_id)
    found: UUID | None = (await connection.execute(statement)).scalar_one_or_none()
    return found


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
