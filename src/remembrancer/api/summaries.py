"""Summaries of conversations: /api/conversations/{conversation_id}/chunks and …/summarize."""

from uuid import UUID

from fastapi import APIRouter

from remembrancer.api.dependencies import Acting, App, Cursor, Limit
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.paging import Page

router = APIRouter(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post("/summarize")
async def summarize_conversation(app: App, actor: Acting, conversation_id: UUID) -> SummaryResult:
    """Summarise all that has left the window and has no summary. Doing it again does nothing."""
    return await app.conversations.summarize(actor, conversation_id)


@router.get("/chunks")
async def list_chunks(
    app: App,
    actor: Acting,
    conversation_id: UUID,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Chunk]:
    """List the summaries of a conversation its reader takes part in, in order."""
    return await app.conversations.chunks(actor, conversation_id, limit=limit, cursor=cursor)
