"""Create, read and change agents."""

from collections.abc import Awaitable, Callable
from typing import Unpack
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import STAFF, Actor
from remembrancer.agents import repository
from remembrancer.agents.schemas import Agent, AgentCreate, AgentDetails, AgentUpdate
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, PreconditionFailed
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.paging import Page, PageMethod
from remembrancer.validation import validate

OnCreate = Callable[[AsyncConnection, UUID], Awaitable[None]]
"""Runs in the transaction that creates an agent, with the agent's id."""


@retries_deadlocks
class Agents:
    """Create, read, change and retire agents."""

    def __init__(self, backend: Backend, on_create: OnCreate) -> None:
        self._database = backend.database
        self._on_create = on_create

    async def create(
        self, actor: Actor, agent: AgentCreate, *, idempotency_key: str | None = None
    ) -> Agent:
        """Create an agent."""
        actor.require(*STAFF)
        async with (
            self._database.system_for(actor) as (connection, actor),
            once(connection, "agents.create", idempotency_key, agent) as answer,
        ):
            if answer.earlier is not None:
                return await repository.get(connection, UUID(answer.earlier))
            created = await self._add(connection, agent)
            answer.new = str(created.id)
            return created

    async def resolve(self, actor: Actor, name: str, **details: Unpack[AgentDetails]) -> Agent:
        """Return the agent with a name, in the same case; create it at the first request.

        ``details`` are for a new agent: an existing one stays as it is. Concurrent calls for one
        new name create one agent. Raises ``Conflict`` if several agents have the name.
        """
        actor.require(*STAFF)
        agent = validate(AgentCreate, name=name, **details)
        async with self._database.system_for(actor) as (connection, actor):
            found = await repository.named(connection, agent.name)
            if len(found) > 1:
                ids = ", ".join(str(each.id) for each in found[:5])
                raise Conflict(
                    f"several agents have this name; rename all but one, or use an id: {ids}",
                    field="name",
                )
            return found[0] if found else await self._add(connection, agent)

    async def _add(self, connection: AsyncConnection, agent: AgentCreate) -> Agent:
        created = await repository.add(connection, {"id": new_uuid(), **agent.model_dump()})
        await self._on_create(connection, created.id)
        return created

    async def get(self, actor: Actor, agent_id: UUID) -> Agent:
        """Return an agent or raise ``NotFound``."""
        async with self._database.transaction(actor) as (connection, actor):
            return await repository.get(connection, agent_id)

    @PageMethod
    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Agent]:
        """Return agents in the order of their creation."""
        async with self._database.transaction(actor) as (connection, actor):
            return await repository.page(connection, limit, cursor)

    async def update(
        self, actor: Actor, agent_id: UUID, changes: AgentUpdate, *, if_version: int | None = None
    ) -> Agent:
        """Change the given fields. Null clears a field that may be empty.

        Raises ``PreconditionFailed`` if ``if_version`` is not the current version.
        """
        actor.require(*STAFF)
        values = changes.model_dump(exclude_unset=True)
        async with self._database.transaction(actor) as (connection, actor):
            agent = await repository.get(connection, agent_id, lock=True)
            if if_version not in {None, agent.version}:
                raise PreconditionFailed("the agent has changed", current_version=agent.version)
            return await repository.change(connection, agent_id, values) if values else agent

    async def delete(self, actor: Actor, agent_id: UUID) -> None:
        """Retire an agent. Its memories stay with their owners. Raises ``NotFound``."""
        actor.require(*STAFF)
        async with self._database.transaction(actor) as (connection, actor):
            await repository.get(connection, agent_id)
            await repository.change(connection, agent_id, {"deleted_at": func.now()})
