"""Frozen blocks in the database."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import delete, or_
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.context.renderer import MemoryEntry
from remembrancer.db.sql import among, json_rows, statement
from remembrancer.db.tables import frozen_contexts, frozen_lines
from remembrancer.ids import MemoryKey
from remembrancer.search.repository import key_columns

_lines = partial(statement, "remembrancer.context", "frozen_lines")
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
    block = upsert(frozen_contexts).values(values).on_conflict_do_nothing()
    first = (await connection.execute(block.returning(frozen_contexts.c.owner_id))).first()
    if first is None:
        return False
    if entries:
        lines = [
            {name: getattr(entry.memory, name) for name in _COLUMNS}
            | {"quoted": entry.quoted, "position": position}
            for position, entry in enumerate(entries, 1)
        ]
        await connection.execute(_lines("add"), {**key, "lines": json_rows(lines)})
    return True


async def thaw(connection: AsyncConnection, key: dict[str, UUID], frozen_at: datetime) -> None:
    """Drop a block, unless it was frozen anew meanwhile."""
    await connection.execute(delete(frozen_contexts).filter_by(**key, frozen_at=frozen_at))


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    """Drop the giver's frozen contexts, and lines of memories that have moved to the taker.

    The next context of each conversation is frozen anew.
    """
    await connection.execute(delete(frozen_contexts).where(frozen_contexts.c.owner_id == giver))
    await connection.execute(_lines("drop_moved"), {"giver": giver, "taker": taker})


async def erase_lines(connection: AsyncConnection, memories: Collection[MemoryKey]) -> Counter[str]:
    """Delete the lines of erased memories; return deleted rows by table.

    Delete the memories first: a context that is frozen at this moment holds them.
    """
    result = await connection.execute(_lines("erase"), key_columns(memories))
    return Counter(frozen_lines=result.rowcount)


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
        among(frozen_contexts.c.conversation_id, conversation_ids)
    )
    return Counter(frozen_contexts=(await connection.execute(contexts)).rowcount)
