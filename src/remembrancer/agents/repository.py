"""Agents in the database."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import agents

_LIVING = agents.c.deleted_at.is_(None)

# Whoever has migrated from the deprecated toggle gets, for a new agent, the preference that
# says the same. As long as the toggle's column is there; goes with it.
_PREFER_AS_MIGRATED = text("""
    INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
    SELECT id, :agent_id, gen_random_uuid(), false
      FROM users
     WHERE allow_agent_specific_memory IS FALSE
       AND toggle_migrated_at IS NOT NULL
       AND merged_into IS NULL
""")


async def add(connection: AsyncConnection, values: dict[str, Any]) -> Row[Any]:
    """Insert an agent and return it."""
    statement = insert(agents).values(values).returning(agents)
    row: Row[Any] = (await connection.execute(statement)).one()
    return row


async def find(
    connection: AsyncConnection, agent_id: UUID, *, lock: bool = False, retired: bool = False
) -> Row[Any] | None:
    """Return a living agent, or a retired one too; locked against other changes if asked."""
    statement = select(agents).where(agents.c.id == agent_id)
    if not retired:
        statement = statement.where(_LIVING)
    if lock:
        statement = statement.with_for_update()
    return (await connection.execute(statement)).first()


async def page(connection: AsyncConnection, limit: int, after: UUID | None) -> Sequence[Row[Any]]:
    """Return agents in the order they were made, one more than ``limit``."""
    statement = select(agents).where(_LIVING).order_by(agents.c.id).limit(limit + 1)
    if after is not None:
        statement = statement.where(agents.c.id > after)
    return (await connection.execute(statement)).all()


async def change(connection: AsyncConnection, agent_id: UUID, values: dict[str, Any]) -> Row[Any]:
    """Set ``values`` on an agent, count its version up, and return it."""
    statement = (
        update(agents)
        .where(agents.c.id == agent_id)
        .values(**values, version=agents.c.version + 1, updated_at=func.now())
        .returning(agents)
    )
    row: Row[Any] = (await connection.execute(statement)).one()
    return row


async def prefer_as_migrated(connection: AsyncConnection, agent_id: UUID) -> None:
    """Make a new agent global for users whose deprecated toggle was migrated and is off."""
    await connection.execute(_PREFER_AS_MIGRATED, {"agent_id": agent_id})
