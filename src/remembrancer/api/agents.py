"""Agents, and users with what an agent may use of them: /api/agents."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.api.dependencies import App, Caller, IdempotencyKey, IfMatch, Paging, tagged
from remembrancer.api.endpoints import Router
from remembrancer.paging import Page
from remembrancer.users.schemas import UserOverviewPage

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


@router.post("/resolve")
async def resolve_agent(app: App, actor: Caller, agent: AgentCreate, response: Response) -> Agent:
    """Return the agent with this name; create it at the first request.

    The other fields are for a new agent: an existing one stays as it is.
    """
    details = agent.model_dump(exclude={"name"})
    return tagged(response, await app.agents.resolve(actor, agent.name, **details))


@router.get("")
async def list_agents(app: App, actor: Caller, page: Paging) -> Page[Agent]:
    """List agents, the oldest first."""
    return await app.agents.list(actor, **page)


@router.get("/users")
async def list_user_overviews(
    app: App,
    actor: Caller,
    agent_id: Annotated[
        UUID | None, Query(description="Count only memories that this agent may use.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> UserOverviewPage:
    """List users with their platform links and numbers of memories. For services and admins."""
    return await app.users.overview(actor, agent_id, limit=limit, offset=offset)


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
