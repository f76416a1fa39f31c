"""Review of pending memories: /api/memory/review."""

from fastapi import APIRouter
from pydantic import Field

from remembrancer.api.dependencies import ActorRequest, App, Caller, Paging, QueryActor
from remembrancer.memories.schemas import MemoryPage
from remembrancer.paging import Items
from remembrancer.review.schemas import MOST_DECISIONS, ReviewDecision, ReviewResult

router = APIRouter(prefix="/api/memory/review", tags=["memory"])


class ReviewRequest(ActorRequest):
    """Decisions about pending memories, their user and their agent."""

    decisions: list[ReviewDecision] = Field(max_length=MOST_DECISIONS)


@router.get("")
async def list_pending(app: App, actor: QueryActor, page: Paging) -> MemoryPage:
    """List a user's pending memories, the newest first, each with its source message."""
    return await app.review.list(actor, **page)


@router.post("")
async def review(app: App, actor: Caller, request: ReviewRequest) -> Items[ReviewResult]:
    """Confirm, edit, reject or share pending memories; return the result of each, in order."""
    return await app.review.decide(request.actor(actor), request.decisions)
