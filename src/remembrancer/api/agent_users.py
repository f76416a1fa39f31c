"""Users with what an agent may use of them: /api/agents/users."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.users.schemas import UserOverviewPage

router = Router(prefix="/api/agents/users", tags=["agents"])


@router.get("")
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
