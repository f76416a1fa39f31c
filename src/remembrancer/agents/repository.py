"""The only writer of agents."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import first_row, one_row
from remembrancer.db.tables import agents
from remembrancer.paging import Page

_ORDER: Final = Keyset("agents", agents.c.id)
_CURRENT: Final = agents.c.deleted_at.is_(None)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent; retired from ``deleted_at`` on."""

    id: UUID
    name: str
    description: str
    system_prompt: str
    provider: str | None
    model: str | None
    temperature: float | None
    voice: str | None
    memory_scope: str
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


async def add(connection: AsyncConnection, values: dict[str, Any]) -> AgentRow:
    """Insert an agent and return it."""
    return await one_row(connection, AgentRow, insert(agents).values(values).returning(agents))


async def find(
    connection: AsyncConnection, agent_id: UUID, *, lock: bool = False, retired: bool = False
) -> AgentRow | None:
    """Return an agent, locked if asked. With ``retired``, a retired one too."""
    query = select(agents).where(agents.c.id == agent_id)
    if not retired:
        query = query.where(_CURRENT)
    return await first_row(connection, AgentRow, query.with_for_update() if lock else query)


async def page(connection: AsyncConnection, limit: int, cursor: str | None) -> Page[AgentRow]:
    """Return agents in the order of their creation."""
    return await _ORDER.page(connection, AgentRow, select(agents).where(_CURRENT), limit, cursor)


async def change(connection: AsyncConnection, agent_id: UUID, values: dict[str, Any]) -> AgentRow:
    """Set ``values`` on an agent, count its version up, and return it."""
    statement = (
        update(agents)
        .where(agents.c.id == agent_id)
        .values(**values, version=agents.c.version + 1, updated_at=func.now())
        .returning(agents)
    )
    return await one_row(connection, AgentRow, statement)


async def hold_table(connection: AsyncConnection) -> None:
    """Let nobody create or change an agent until the transaction ends."""
    await connection.execute(text("LOCK TABLE agents IN SHARE MODE"))
