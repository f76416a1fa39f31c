"""Review of what waits for somebody: /api/memory/review."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from remembrancer.api.dependencies import Acting, App, Authenticated, Cursor, Limit
from remembrancer.memories.schemas import MemoryPage
from remembrancer.paging import Items
from remembrancer.review.schemas import MOST_DECISIONS, ReviewDecision, ReviewResult
from remembrancer.validation import Input

router = APIRouter(prefix="/api/memory/review", tags=["memory"])


class ReviewRequest(Input):
    """Decisions about memories that wait, and for whom."""

    user_id: UUID | None = Field(None, description="The user to act for.")
    agent_id: UUID | None = Field(None, description="The agent to act through.")
    decisions: list[ReviewDecision] = Field(max_length=MOST_DECISIONS)


@router.get("")
async def list_waiting(
    app: App, actor: Acting, limit: Limit = 50, cursor: Cursor = None
) -> MemoryPage:
    """List what waits for a user to look at it, the newest first, each with its source message."""
    return await app.review.list(actor, limit=limit, cursor=cursor)


@router.post("")
async def review(app: App, actor: Authenticated, request: ReviewRequest) -> Items[ReviewResult]:
    """Confirm, edit, reject or share memories that wait; says of each what became of it."""
    actor = actor.acting_for(request.user_id, request.agent_id)
    return await app.review.decide(actor, request.decisions)
