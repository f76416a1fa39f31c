"""Agents: /api/agents."""

from uuid import UUID

from fastapi import APIRouter, Response

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.api.dependencies import (
    App,
    Authenticated,
    Cursor,
    IdempotencyKey,
    IfMatch,
    Limit,
    tag,
)
from remembrancer.paging import Page

router = APIRouter(prefix="/api/agents", tags=["agents"])


@router.post("", status_code=201)
async def create_agent(
    app: App,
    actor: Authenticated,
    agent: AgentCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Agent:
    """Make an agent."""
    created = await app.agents.create(actor, agent, idempotency_key=idempotency_key)
    tag(response, created.version)
    response.headers["Location"] = f"/api/agents/{created.id}"
    return created


@router.get("")
async def list_agents(
    app: App, actor: Authenticated, limit: Limit = 50, cursor: Cursor = None
) -> Page[Agent]:
    """List agents in the order they were made."""
    return await app.agents.list(actor, limit=limit, cursor=cursor)


@router.get("/{agent_id}")
async def get_agent(app: App, actor: Authenticated, agent_id: UUID, response: Response) -> Agent:
    """Return an agent."""
    agent = await app.agents.get(actor, agent_id)
    tag(response, agent.version)
    return agent


@router.put("/{agent_id}")
async def update_agent(
    app: App,
    actor: Authenticated,
    agent_id: UUID,
    changes: AgentUpdate,
    response: Response,
    if_match: IfMatch,
) -> Agent:
    """Change the fields that are sent."""
    agent = await app.agents.update(actor, agent_id, changes, if_version=if_match)
    tag(response, agent.version)
    return agent


@router.delete("/{agent_id}", status_code=204)
async def delete_agent(app: App, actor: Authenticated, agent_id: UUID) -> None:
    """Retire an agent; its memories stay with the people they belong to."""
    await app.agents.delete(actor, agent_id)
