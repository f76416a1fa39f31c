"""What is deleted for good, table by table. Each function returns how many rows of what."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

Counts = Counter[str]
Statements = Sequence[tuple[str, str]]
"""Tables, and how rows of them are deleted; in this order no reference is left behind."""

# What was made of somebody's words, in whosever hands it is: summaries over their messages.
_CHUNKS_OVER = text("""
    SELECT DISTINCT c.owner_id, c.id
      FROM chunks AS c
      JOIN messages AS m ON m.conversation_id = c.conversation_id
                        AND m.position BETWEEN c.range_start AND c.range_end
     WHERE m.owner_id = :owner_id
       AND (CAST(:message_ids AS uuid[]) IS NULL OR m.id = ANY (CAST(:message_ids AS uuid[])))
""")


def deleting_items(which: str) -> Statements:
    """Return how to delete what search has: items, as ``which`` selects owner and id of them."""
    return (
        *(
            (
                table,
                f"""
                DELETE FROM {table} AS t USING ({which}) AS i
                 WHERE t.owner_id = i.owner_id AND t.item_id = i.id
                """,
            )
            for table in ("postings", "reembeddings")
        ),
        (
            "recall_items",
            f"""
            DELETE FROM recall_items AS t USING ({which}) AS i
             WHERE t.owner_id = i.owner_id AND t.id = i.id
            """,
        ),
    )


_ITEMS_OF_SOURCES = deleting_items("""
    SELECT i.owner_id, i.id
      FROM recall_items AS i,
           unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[])) AS s (owner_id, id)
     WHERE i.owner_id = s.owner_id AND i.source_id = s.id
""")
"""What search has of messages and summaries."""

_CHUNKS = """
    DELETE FROM chunks AS c
     USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[])) AS s (owner_id, id)
     WHERE c.owner_id = s.owner_id AND c.id = s.id
"""

MEMORIES = "unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS s (owner_id, id)"
# After the memories themselves: who freezes one at this moment holds it.
FROZEN_LINES = (
    "frozen_lines",
    f"""
    DELETE FROM frozen_lines AS l USING {MEMORIES}
     WHERE l.memory_owner_id = s.owner_id AND l.memory_id = s.id
    """,
)
"""What conversations were told of memories at their start."""
_ITEMS_OF_MEMORIES = (
    f"SELECT i.owner_id, i.id FROM recall_items AS i, {MEMORIES}"
    " WHERE i.owner_id = s.owner_id AND i.memory_id = s.id"
)
_OF_MEMORIES: Statements = (
    (
        "associations",
        f"""
        DELETE FROM associations AS a USING {MEMORIES}
         WHERE a.owner_id = s.owner_id AND a.memory_id = s.id
        """,
    ),
    (
        "associations",
        f"""
        DELETE FROM associations AS a USING {MEMORIES}
         WHERE a.target_owner_id = s.owner_id AND a.target_id = s.id
        """,
    ),
    *deleting_items(_ITEMS_OF_MEMORIES),
    *(
        (
            table,
            f"""
            DELETE FROM {table} AS t USING {MEMORIES}
             WHERE t.owner_id = s.owner_id AND t.memory_id = s.id
            """,
        )
        for table in ("mentions", "memory_versions")
    ),
    (
        "memories",
        f"DELETE FROM memories AS m USING {MEMORIES} WHERE m.owner_id = s.owner_id AND m.id = s.id",
    ),
    FROZEN_LINES,
)
"""Memories, with all that hangs on them."""

_REMEMBERED: Statements = (
    *(
        (table, f"DELETE FROM {table} WHERE owner_id = :user_id")
        for table in (
            "postings",
            "reembeddings",
            "recall_items",
            "associations",
            "mentions",
            "memory_versions",
            "memories",
            "chunks",
            "messages",
            "idempotency_keys",
        )
    ),
    ("associations", "DELETE FROM associations WHERE target_owner_id = :user_id"),
    (
        "frozen_lines",
        "DELETE FROM frozen_lines WHERE owner_id = :user_id OR memory_owner_id = :user_id",
    ),
    ("frozen_contexts", "DELETE FROM frozen_contexts WHERE owner_id = :user_id"),
    # A merge that was taken back is remembered with the other one, and names both.
    (
        "undo_records",
        """
        DELETE FROM undo_records
         WHERE owner_id = :user_id OR record ->> 'merged' = CAST(:user_id AS text)
        """,
    ),
)
"""All that was remembered of a user."""

_PROFILE: Statements = (
    ("memory_preferences", "DELETE FROM memory_preferences WHERE user_id = :user_id"),
    ("space_members", "DELETE FROM space_members WHERE user_id = :user_id"),
    ("platform_links", "DELETE FROM platform_links WHERE user_id = :user_id"),
    (
        "api_keys",
        """
        DELETE FROM api_keys
         WHERE user_id IN (SELECT id FROM users WHERE id = :user_id OR merged_into = :user_id)
        """,
    ),
    ("users", "DELETE FROM users WHERE id = :user_id OR merged_into = :user_id"),
)
"""What makes somebody a user."""

_LEAVE = text("DELETE FROM participants WHERE user_id = :user_id RETURNING conversation_id")
# What a group was told is nobody's; its lines go with it.
_EMPTY_FROZEN = """
    DELETE FROM frozen_contexts AS f
     WHERE f.conversation_id = ANY (CAST(:ids AS uuid[]))
       AND NOT EXISTS (SELECT FROM conversations AS c WHERE c.id = f.conversation_id)
"""
_EMPTY_CONVERSATIONS = """
    DELETE FROM conversations AS c
     WHERE c.id = ANY (CAST(:ids AS uuid[]))
       AND NOT EXISTS (SELECT FROM participants AS p WHERE p.conversation_id = c.id)
"""
# One that runs right now finds nothing to do.
_JOBS = """
    DELETE FROM jobs.procrastinate_jobs
     WHERE status <> 'doing'
       AND args ->> 'conversation_id' IN (
           SELECT i FROM unnest(CAST(:ids AS text[])) AS i
            WHERE NOT EXISTS (SELECT FROM conversations AS c WHERE c.id = CAST(i AS uuid)))
"""
_HEIRS = text("""
    UPDATE space_members AS m SET role = 'owner'
      FROM (SELECT DISTINCT ON (space_id) space_id, user_id
              FROM space_members
             WHERE space_id = ANY (CAST(:ids AS uuid[]))
             ORDER BY space_id, joined_at, user_id) AS first
     WHERE m.space_id = first.space_id AND m.user_id = first.user_id
       AND NOT EXISTS (SELECT FROM space_members AS o
                        WHERE o.space_id = m.space_id AND o.role = 'owner')
""")
# What somebody keeps of a space that they left stays theirs, in a space that nobody enters.
_EMPTY_SPACES = """
    DELETE FROM spaces AS s
     WHERE s.id = ANY (CAST(:ids AS uuid[]))
       AND NOT EXISTS (SELECT FROM space_members AS m WHERE m.space_id = s.id)
       AND NOT EXISTS (SELECT FROM memories AS m WHERE m.space_id = s.id)
"""


async def erase_user(
    connection: AsyncConnection, user_id: UUID, *, profile: bool, spaces: Sequence[UUID]
) -> Counts:
    """Delete all that was remembered of a locked user; with ``profile`` the user as well.

    ``spaces`` are those they are a member of, locked as well.
    """
    binds = {"user_id": user_id}
    counts = await erase_chunks_over(connection, user_id)
    # A participant is what messages and summaries refer to, so those go first.
    counts += await delete(connection, _REMEMBERED, binds)
    left = list((await connection.execute(_LEAVE, binds)).scalars())
    counts["participants"] += len(left)
    gone = [("conversations", _EMPTY_CONVERSATIONS), ("frozen_contexts", _EMPTY_FROZEN)]
    counts += await delete(connection, gone, {"ids": left})
    counts += await delete(connection, [("jobs", _JOBS)], {"ids": [str(one) for one in left]})
    if profile:
        counts += await delete(connection, _PROFILE, binds)
        await connection.execute(_HEIRS, {"ids": spaces})
        counts += await delete(connection, [("spaces", _EMPTY_SPACES)], {"ids": spaces})
    return counts


async def erase_memories(
    connection: AsyncConnection, memories: Iterable[tuple[UUID, str]]
) -> Counts:
    """Delete memories, by owner and id, with everything that hangs on them."""
    return await delete(connection, _OF_MEMORIES, pairs(memories))


async def erase_messages(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID]
) -> Counts:
    """Delete messages of an owner and the summaries over them, with what search has of them."""
    counts = await erase_chunks_over(connection, owner_id, message_ids)
    ids = list(message_ids)
    themselves = {"owners": [owner_id] * len(ids), "ids": ids}
    counts += await delete(connection, _ITEMS_OF_SOURCES, themselves)
    gone = "DELETE FROM messages WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS uuid[]))"
    key = {"owner_id": owner_id, "ids": ids}
    return counts + await delete(connection, [("messages", gone)], key)


async def erase_chunks_over(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID] | None = None
) -> Counts:
    """Delete everybody's summaries over an owner's messages, or over some of them."""
    some = None if message_ids is None else list(message_ids)
    which = {"owner_id": owner_id, "message_ids": some}
    rows = (await connection.execute(_CHUNKS_OVER, which)).all()
    over = {"owners": [row.owner_id for row in rows], "ids": [row.id for row in rows]}
    return await delete(connection, [*_ITEMS_OF_SOURCES, ("chunks", _CHUNKS)], over)


def pairs(memories: Iterable[tuple[UUID, str]]) -> dict[str, list[Any]]:
    """Return memories, by owner and id, as :data:`MEMORIES` binds them."""
    found = list(memories)
    return {"owners": [owner for owner, _ in found], "ids": [one for _, one in found]}


async def delete(
    connection: AsyncConnection, statements: Statements, binds: dict[str, Any]
) -> Counts:
    """Run deleting statements in order; return how many rows of each table they deleted."""
    counts: Counts = Counter()
    for table, statement in statements:
        counts[table] += (await connection.execute(text(statement), binds)).rowcount
    return counts
