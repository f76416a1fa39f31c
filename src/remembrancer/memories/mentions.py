"""A memory that another one repeats: its mentions become mentions of the original."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# A mention of the same moment through the same agent is the same mention: copying twice adds
# nothing. The wording is what was said where the two are worded differently.
_REPEAT = text("""
    WITH pairs AS (
        SELECT * FROM unnest(CAST(:repeats AS text[]), CAST(:originals AS text[]))
                 AS p (repeat, original)
    ),
    added AS (
        INSERT INTO mentions (owner_id, memory_id, id, wording, agent_id, source, platform,
                              conversation_id, message_id, mentioned_at)
        SELECT m.owner_id, p.original, gen_random_uuid(),
               nullif(coalesce(m.wording, twin.content), kept.content),
               m.agent_id, m.source, m.platform, m.conversation_id, m.message_id, m.mentioned_at
          FROM pairs AS p
          JOIN mentions AS m ON m.owner_id = :owner_id AND m.memory_id = p.repeat
          JOIN memories AS twin ON twin.owner_id = :owner_id AND twin.id = p.repeat
          JOIN memories AS kept ON kept.owner_id = :owner_id AND kept.id = p.original
         WHERE NOT EXISTS (
               SELECT FROM mentions AS same
                WHERE same.owner_id = :owner_id AND same.memory_id = p.original
                  AND same.mentioned_at = m.mentioned_at
                  AND same.agent_id IS NOT DISTINCT FROM m.agent_id
                  AND same.message_id IS NOT DISTINCT FROM m.message_id)
        RETURNING memory_id, id
    ),
    counted AS (
        UPDATE memories AS m
           SET mention_count = m.mention_count + a.times
          FROM (SELECT memory_id, count(*) AS times FROM added GROUP BY memory_id) AS a
         WHERE m.owner_id = :owner_id AND m.id = a.memory_id
    )
    SELECT id FROM added
""")

_TAKE_REPEATS_BACK = text("""
    WITH removed AS (
        DELETE FROM mentions
         WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS uuid[]))
        RETURNING memory_id
    )
    UPDATE memories AS m
       SET mention_count = m.mention_count - r.times
      FROM (SELECT memory_id, count(*) AS times FROM removed GROUP BY memory_id) AS r
     WHERE m.owner_id = :owner_id AND m.id = r.memory_id
""")


async def repeat(
    connection: AsyncConnection, owner_id: UUID, pairs: Mapping[str, str]
) -> list[UUID]:
    """Give each original the mentions of what repeats it; return the ids of those added."""
    binds = {"owner_id": owner_id, "repeats": list(pairs), "originals": list(pairs.values())}
    return list((await connection.execute(_REPEAT, binds)).scalars())


async def take_back(connection: AsyncConnection, owner_id: UUID, ids: Sequence[UUID]) -> None:
    """Remove mentions that :func:`repeat` added."""
    await connection.execute(_TAKE_REPEATS_BACK, {"owner_id": owner_id, "ids": list(ids)})
