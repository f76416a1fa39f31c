"""Agents: /api/agents."""

from uuid import UUID

from fastapi import Response

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.api.dependencies import (
    App,
    Caller,
    IdempotencyKey,
    IfMatch,
    Paging,
    tagged,
)
from remembrancer.api.endpoints import Router
from remembrancer.paging import Page

router = Router(prefix="/api/agents", tags=["agents"])


@router.post("", status_code=201)
async def create_agent(
    app: App,
    actor: Caller,
    agent: AgentCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Agent:
    """Create an agent."""
    created = await app.agents.create(actor, agent, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/api/agents/{created.id}"
    return tagged(response, created)


@router.get("")
async def list_agents(app: App, actor: Caller, page: Paging) -> Page[Agent]:
    """List agents, the oldest first."""
    return await app.agents.list(actor, **page)


@router.get("/{agent_id}")
async def get_agent(app: App, actor: Caller, agent_id: UUID, response: Response) -> Agent:
    """Return an agent."""
    return tagged(response, await app.agents.get(actor, agent_id))


@router.put("/{agent_id}")
async def update_agent(
    app: App,
    actor: Caller,
    agent_id: UUID,
    changes: AgentUpdate,
    response: Response,
    if_match: IfMatch,
) -> Agent:
    """Change the given fields."""
    agent = await app.agents.update(actor, agent_id, changes, if_version=if_match)
    return tagged(response, agent)


@router.delete("/{agent_id}", status_code=204)
async def delete_agent(app: App, actor: Caller, agent_id: UUID) -> None:
    """Delete an agent; its memories stay with their users."""
    await app.agents.delete(actor, agent_id)
