"""Deletion for good, in an order that leaves no reference behind. Returns deleted rows by table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import idempotency, undo
from remembrancer.context import repository as contexts
from remembrancer.conversations import erasures as conversations
from remembrancer.extraction import erasures as summaries
from remembrancer.jobs import queue
from remembrancer.keys import repository as keys
from remembrancer.preferences import repository as preferences
from remembrancer.search import sources
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users

Counts = Counter[str]
Statements = Sequence[tuple[str, str]]
"""Tables, and how rows of them are deleted; in this order no reference is left behind."""


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


MEMORIES = "unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS s (owner_id, id)"
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
        )
    ),
    ("associations", "DELETE FROM associations WHERE target_owner_id = :user_id"),
)
"""All that was remembered of a user."""


async def erase_user(
    connection: AsyncConnection, user_id: UUID, *, profile: bool, space_ids: Sequence[UUID]
) -> Counts:
    """Delete all memories and messages of a locked user; with ``profile`` the user as well.

    ``space_ids`` are the spaces they are a member of, locked as well.
    """
    counts = await summaries.erase_over(connection, user_id)
    counts += await delete(connection, _REMEMBERED, {"user_id": user_id})
    counts += await summaries.erase_owner(connection, user_id)
    counts += await conversations.erase_messages(connection, user_id)
    counts += await idempotency.erase(connection, user_id)
    counts += await contexts.erase_owner(connection, user_id)
    counts += await undo.erase(connection, user_id)
    left, conversation_ids = await conversations.leave_all(connection, user_id)
    counts += left
    counts += await contexts.erase_conversations(connection, conversation_ids)
    counts += await queue.erase(connection, conversation_ids)
    if profile:
        counts += await preferences.erase(connection, user_id)
        counts += await keys.erase(connection, user_id)
        counts += await spaces.erase(connection, user_id, space_ids)
        counts += await users.erase(connection, user_id)
    return counts


async def erase_memories(
    connection: AsyncConnection, memories: Iterable[tuple[UUID, str]]
) -> Counts:
    """Delete memories, given as owner and id, with everything that refers to them."""
    memory_keys = list(memories)
    counts = await delete(connection, _OF_MEMORIES, pairs(memory_keys))
    return counts + await contexts.erase_lines(connection, memory_keys)


async def erase_messages(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID]
) -> Counts:
    """Delete messages of an owner with their search items, and the summaries over them."""
    counts = await summaries.erase_over(connection, owner_id, message_ids)
    counts += await sources.erase(connection, [(owner_id, each) for each in message_ids])
    return counts + await conversations.erase_messages(connection, owner_id, message_ids)


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
