"""The only writer of agents."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.agents.schemas import Agent
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.tables import agents
from remembrancer.errors import NotFound
from remembrancer.paging import Page

_ORDER: Final = Keyset("agents", agents.c.id)
_CURRENT: Final = agents.c.deleted_at.is_(None)


async def add(connection: AsyncConnection, values: Mapping[str, object]) -> Agent:
    return await one_row(connection, Agent, insert(agents).values(values).returning(agents))


async def find(
    connection: AsyncConnection, agent_id: UUID, *, lock: bool = False, retired: bool = False
) -> Agent | None:
    """With ``retired``, return a retired agent too."""
    query = select(agents).where(agents.c.id == agent_id)
    if not retired:
        query = query.where(_CURRENT)
    return await first_row(connection, Agent, query.with_for_update() if lock else query)


async def get(
    connection: AsyncConnection, agent_id: UUID, *, lock: bool = False, retired: bool = False
) -> Agent:
    """Return an agent as :func:`find` does, or raise ``NotFound``."""
    agent = await find(connection, agent_id, lock=lock, retired=retired)
    if agent is None:
        raise NotFound("no such agent", field="agent_id")
    return agent


async def named(connection: AsyncConnection, name: str) -> list[Agent]:
    """Lock a name until the transaction ends; return the agents with it, the oldest first."""
    lock = func.pg_advisory_xact_lock(func.hashtextextended(f"agent {name}", 0))
    await connection.execute(select(lock))
    query = select(agents).where(_CURRENT, agents.c.name == name).order_by(agents.c.id)
    return await all_rows(connection, Agent, query)


async def page(connection: AsyncConnection, limit: int, cursor: str | None) -> Page[Agent]:
    return await _ORDER.page(connection, Agent, select(agents).where(_CURRENT), limit, cursor)


async def change(
    connection: AsyncConnection, agent_id: UUID, values: Mapping[str, object]
) -> Agent:
    statement = (
        update(agents)
        .where(agents.c.id == agent_id)
        .values(**values, version=agents.c.version + 1, updated_at=func.now())
        .returning(agents)
    )
    return await one_row(connection, Agent, statement)


async def hold_table(connection: AsyncConnection) -> None:
    """Block changes of agents until the transaction ends."""
    await connection.execute(text("LOCK TABLE agents IN SHARE MODE"))
