"""Make, read and change agents."""

from typing import Any
from uuid import UUID

from sqlalchemy import Row, func
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Role
from remembrancer.agents import repository
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.db.engine import Database
from remembrancer.errors import InvalidInput, NotFound, PreconditionFailed
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.text import check_range, id_from_cursor, to_cursor

STAFF = (Role.ADMIN, Role.SERVICE)
_NULLABLE = {"provider", "model", "temperature", "voice"}


class Agents:
    """The agents this server knows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, actor: Actor, agent: AgentCreate, *, idempotency_key: str | None = None
    ) -> Agent:
        """Make an agent."""
        actor.require(*STAFF)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, actor, "agents.create", idempotency_key, agent) as answer,
        ):
            if answer.earlier is not None:
                return Agent.model_validate(await _found(connection, UUID(answer.earlier)))
            row = await repository.add(connection, {"id": new_uuid(), **agent.model_dump()})
            await repository.prefer_as_migrated(connection, row.id)
            answer.keep = str(row.id)
            return Agent.model_validate(row)

    async def get(self, actor: Actor, agent_id: UUID) -> Agent:
        """Return an agent or raise ``NotFound``."""
        async with self._database.transaction(actor) as (connection, actor):
            return Agent.model_validate(await _found(connection, agent_id))

    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Agent]:
        """Return agents in the order they were made."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = id_from_cursor(cursor)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.page(connection, limit, after)
        items = [Agent.model_validate(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].id)) if more else None)

    async def update(
        self,
        actor: Actor,
        agent_id: UUID,
        changes: AgentUpdate,
        *,
        if_version: int | None = None,
    ) -> Agent:
        """Change the fields that are given; ``PreconditionFailed`` if the agent moved on.

        Null empties a field that may be empty.
        """
        actor.require(*STAFF)
        values = changes.model_dump(exclude_unset=True)
        for name in values.keys() - _NULLABLE:
            if values[name] is None:
                raise InvalidInput("must not be null", field=name)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _found(connection, agent_id, lock=True)
            if if_version not in {None, row.version}:
                raise PreconditionFailed("the agent has changed", current_version=row.version)
            if not values:
                return Agent.model_validate(row)
            return Agent.model_validate(await repository.change(connection, agent_id, values))

    async def delete(self, actor: Actor, agent_id: UUID) -> None:
        """Retire an agent. Its memories stay with the people they belong to."""
        actor.require(*STAFF)
        async with self._database.transaction(actor) as (connection, actor):
            await _found(connection, agent_id)
            await repository.change(connection, agent_id, {"deleted_at": func.now()})


async def _found(connection: AsyncConnection, agent_id: UUID, *, lock: bool = False) -> Row[Any]:
    row = await repository.find(connection, agent_id, lock=lock)
    if row is None:
        raise NotFound("no such agent", field="agent_id")
    return row
