"""Frozen blocks in the database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, cast, delete, or_, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.context.renderer import MemoryEntry
from remembrancer.db.tables import frozen_contexts, frozen_lines

# Only for existing memories, which are held: an erasure either finds a line, or has deleted the
# memory before.
_ADD_LINES = text("""
    INSERT INTO frozen_lines (owner_id, conversation_id, agent_id, position, memory_owner_id,
                              memory_id, version, kind, category, subject, shared,
                              quoted, mentions, mentioned_in, created_at)
    SELECT :owner_id, :conversation_id, :agent_id, l.position, l.memory_owner_id,
           l.memory_id, l.version, l.kind, l.category, l.subject, l.shared,
           l.quoted, l.mentions, l.mentioned_in, l.created_at
      FROM (
           SELECT l.*
             FROM unnest(CAST(:memory_owner_id AS uuid[]), CAST(:memory_id AS text[]),
                         CAST(:version AS int[]), CAST(:kind AS text[]),
                         CAST(:category AS text[]), CAST(:subject AS text[]),
                         CAST(:shared AS boolean[]),
                         CAST(:quoted AS boolean[]), CAST(:mentions AS int[]),
                         CAST(:mentioned_in AS int[]),
                         CAST(:created_at AS timestamptz[]))
                  WITH ORDINALITY
                  AS l (memory_owner_id, memory_id, version, kind, category, subject,
                        shared, quoted, mentions, mentioned_in, created_at, position)
             JOIN memories AS m ON m.owner_id = l.memory_owner_id AND m.id = l.memory_id
            ORDER BY m.owner_id, m.id
              FOR KEY SHARE OF m
           ) AS l
""")
_DROP_MOVED_LINES = text("""
    DELETE FROM frozen_lines AS l
     WHERE l.memory_owner_id IN (:giver, :taker)
       AND NOT EXISTS (SELECT FROM memories AS m
                        WHERE m.owner_id = l.memory_owner_id AND m.id = l.memory_id)
""")
_ERASE_LINES = text("""
    DELETE FROM frozen_lines AS l
     USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS m (owner_id, id)
     WHERE l.memory_owner_id = m.owner_id AND l.memory_id = m.id
""")
_COLUMNS = (
    "memory_owner_id",
    "memory_id",
    "version",
    "kind",
    "category",
    "subject",
    "shared",
    "mentions",
    "mentioned_in",
    "created_at",
)


async def freeze(
    connection: AsyncConnection,
    key: dict[str, UUID],
    entries: Sequence[MemoryEntry],
    *,
    time_zone: str,
    budget: int,
    tokens: int,
    digest: bytes,
    left_out: int,
    frozen_at: datetime,
) -> bool:
    """Store the memories of a block; return False if it was frozen already."""
    values = {
        **key,
        "time_zone": time_zone,
        "budget": budget,
        "tokens": tokens,
        "digest": digest,
        "left_out": left_out,
        "frozen_at": frozen_at,
    }
    statement = upsert(frozen_contexts).values(values).on_conflict_do_nothing()
    first = (await connection.execute(statement.returning(frozen_contexts.c.owner_id))).first()
    if first is None:
        return False
    if entries:
        columns: dict[str, list[Any]] = {
            name: [getattr(entry.memory, name) for entry in entries] for name in _COLUMNS
        }
        columns["quoted"] = [entry.quoted for entry in entries]
        await connection.execute(_ADD_LINES, {**key, **columns})
    return True


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    """Drop the giver's frozen contexts, and lines of memories that have moved to the taker.

    The next context of each conversation is frozen anew.
    """
    await connection.execute(delete(frozen_contexts).where(frozen_contexts.c.owner_id == giver))
    await connection.execute(_DROP_MOVED_LINES, {"giver": giver, "taker": taker})


async def erase_lines(
    connection: AsyncConnection, memories: Iterable[tuple[UUID, str]]
) -> Counter[str]:
    """Delete the lines of erased memories, given as owner and id; return deleted rows by table.

    Delete the memories first: a context that is frozen at this moment holds them.
    """
    keys = list(memories)
    binds = {"owners": [owner for owner, _ in keys], "ids": [memory_id for _, memory_id in keys]}
    return Counter(frozen_lines=(await connection.execute(_ERASE_LINES, binds)).rowcount)


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counter[str]:
    line = frozen_lines.c
    lines = delete(frozen_lines).where(
        or_(line.owner_id == owner_id, line.memory_owner_id == owner_id)
    )
    contexts = delete(frozen_contexts).where(frozen_contexts.c.owner_id == owner_id)
    return Counter(
        frozen_lines=(await connection.execute(lines)).rowcount,
        frozen_contexts=(await connection.execute(contexts)).rowcount,
    )


async def erase_conversations(
    connection: AsyncConnection, conversation_ids: Sequence[UUID]
) -> Counter[str]:
    contexts = delete(frozen_contexts).where(
        frozen_contexts.c.conversation_id == any_(cast(list(conversation_ids), ARRAY(Uuid)))
    )
    return Counter(frozen_contexts=(await connection.execute(contexts)).rowcount)
