"""Summaries of conversations: /api/conversations/{conversation_id}/chunks and …/summarize."""

from uuid import UUID

from remembrancer.api.dependencies import App, Paging, RequestActor
from remembrancer.api.endpoints import Router
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.paging import Page

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post("/summarize")
async def summarize_conversation(
    app: App, actor: RequestActor, conversation_id: UUID
) -> SummaryResult:
    """Summarise all messages older than the window that have no summary. Safe to repeat."""
    return await app.conversations.summarize(actor, conversation_id)


@router.get("/chunks")
async def list_chunks(
    app: App, actor: RequestActor, conversation_id: UUID, page: Paging
) -> Page[Chunk]:
    """List the summaries of a conversation in order, for its participants."""
    return await app.conversations.chunks(actor, conversation_id, **page)
