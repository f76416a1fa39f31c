"""What moves between the two namespaces of one owner, in the database.

The owner stays, so rows are changed in place; a copy is a memory of its own, with everything
that hangs on it.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import memories, mentions
from remembrancer.memories.schemas import Status

Rows = Sequence[Row[*tuple[Any, ...]]]

_COLUMNS = memories.c[
    "id", "content", "content_hash", "kind", "place_id", "address", "valid_from", "valid_to",
    "agent_id", "status", "version", "mention_count",
]  # fmt: skip

# Which agent a memory was first told to.
_FIRST_TOLD = (
    select(mentions.c.agent_id)
    .where(mentions.c.owner_id == memories.c.owner_id, mentions.c.memory_id == memories.c.id)
    .order_by(mentions.c.mentioned_at, mentions.c.id)
    .limit(1)
    .scalar_subquery()
)


async def in_namespace(connection: AsyncConnection, owner_id: UUID, agent_id: UUID | None) -> Rows:
    """Return an owner's active memories in the namespace of an agent, or the global one."""
    return (await connection.execute(_namespace(owner_id, agent_id))).all()


async def told_first(connection: AsyncConnection, owner_id: UUID, agent_id: UUID) -> Rows:
    """Return an owner's active global memories that an agent was the first to be told."""
    statement = _namespace(owner_id, None).where(agent_id == _FIRST_TOLD)
    return (await connection.execute(statement)).all()


async def by_ids(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> Rows:
    """Return what is compared of an owner's memories, in any status."""
    statement = select(*_COLUMNS).where(memories.c.owner_id == owner_id, memories.c.id.in_(ids))
    return (await connection.execute(statement)).all()


def _namespace(owner_id: UUID, agent_id: UUID | None) -> Any:
    column = memories.c
    return (
        select(*_COLUMNS)
        .where(
            column.owner_id == owner_id,
            column.status == Status.ACTIVE,
            column.space_id.is_(None),
            column.agent_id.is_not_distinct_from(agent_id),
        )
        .order_by(column.created_at, column.id)
    )
