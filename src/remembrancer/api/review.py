"""Review of pending memories: /api/memory/review."""

from pydantic import Field

from remembrancer.api.dependencies import App, Paging, RequestActor
from remembrancer.api.endpoints import Router
from remembrancer.memories.schemas import MemoryPage
from remembrancer.paging import Items
from remembrancer.review.schemas import MOST_DECISIONS, ReviewDecision, ReviewResult
from remembrancer.validation import Input

router = Router(prefix="/api/memory/review", tags=["memory"])


class ReviewRequest(Input):
    """Decisions about pending memories."""

    decisions: list[ReviewDecision] = Field(max_length=MOST_DECISIONS)


@router.get("")
async def list_pending(app: App, actor: RequestActor, page: Paging) -> MemoryPage:
    """List a user's pending memories, the newest first, each with its source message."""
    return await app.review.list(actor, **page)


@router.post("")
async def review(app: App, actor: RequestActor, request: ReviewRequest) -> Items[ReviewResult]:
    """Confirm, edit, reject or share pending memories; return the result of each, in order."""
    return await app.review.decide(actor, request.decisions)
