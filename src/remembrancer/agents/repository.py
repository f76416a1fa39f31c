"""Agents in the database, and the facts that decide a scope."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import EffectiveScope, Scope, effective_scope
from remembrancer.db.tables import agents

_LIVING = agents.c.deleted_at.is_(None)

# One row a user: what access.effective_scope decides from.
_SCOPES = text("""
    SELECT u.id AS user_id,
           a.memory_scope AS agent_default,
           p.allow_agent_specific_memory AS preference,
           u.allow_agent_specific_memory AS toggle,
           (SELECT allow_agent_specific_memory FROM memory_policy) AS policy_allows
      FROM agents AS a
      JOIN users AS u ON u.id = ANY (:user_ids)
      LEFT JOIN memory_preferences AS p ON p.user_id = u.id AND p.agent_id = a.id
     WHERE a.id = :agent_id AND a.deleted_at IS NULL
""")


async def add(connection: AsyncConnection, values: dict[str, Any]) -> Row[Any]:
    """Insert an agent and return it."""
    statement = insert(agents).values(values).returning(agents)
    row: Row[Any] = (await connection.execute(statement)).one()
    return row


async def find(
    connection: AsyncConnection, agent_id: UUID, *, lock: bool = False
) -> Row[Any] | None:
    """Return a living agent, locked against other changes if asked."""
    statement = select(agents).where(agents.c.id == agent_id, _LIVING)
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


async def scopes(
    connection: AsyncConnection, agent_id: UUID, user_ids: Sequence[UUID]
) -> dict[UUID, EffectiveScope]:
    """Return the effective scope of each known user with one agent, in one query."""
    rows = await connection.execute(_SCOPES, {"agent_id": agent_id, "user_ids": list(user_ids)})
    return {
        row.user_id: effective_scope(
            policy_allows=row.policy_allows,
            preference=row.preference,
            toggle=row.toggle,
            agent_default=Scope(row.agent_default),
        )
        for row in rows
    }
