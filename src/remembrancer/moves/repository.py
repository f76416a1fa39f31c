"""Reads the memories of a namespace. Other packages write them."""

from typing import Any, Final
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories, mentions
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Status

_FIRST_AGENT: Final = (
    select(mentions.c.agent_id)
    .where(mentions.c.owner_id == memories.c.owner_id, mentions.c.memory_id == memories.c.id)
    .order_by(mentions.c.mentioned_at, mentions.c.id)
    .limit(1)
    .scalar_subquery()
)
"""The agent of a memory's first mention."""


async def in_namespace(
    connection: AsyncConnection, owner_id: UUID, agent_id: UUID | None
) -> list[MemoryRow]:
    """Return an owner's active memories in an agent's namespace, or in the global one."""
    return await all_rows(connection, MemoryRow, _namespace(owner_id, agent_id))


async def first_told_to(
    connection: AsyncConnection, owner_id: UUID, agent_id: UUID
) -> list[MemoryRow]:
    """Return an owner's active global memories that were first told to an agent."""
    query = _namespace(owner_id, None).where(_FIRST_AGENT.is_not_distinct_from(agent_id))
    return await all_rows(connection, MemoryRow, query)


def _namespace(owner_id: UUID, agent_id: UUID | None) -> Select[Any]:
    column = memories.c
    return (
        select(memories)
        .where(
            column.owner_id == owner_id,
            column.status == Status.ACTIVE,
            column.space_id.is_(None),
            column.agent_id.is_not_distinct_from(agent_id),
        )
        .order_by(column.created_at, column.id)
    )
