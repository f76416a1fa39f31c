"""Summaries of conversations: /api/conversations/{conversation_id}/chunks and …/summarize."""

from uuid import UUID

from fastapi import APIRouter

from remembrancer.api.dependencies import Acting, Cursor, Limit, Services
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.paging import Page

router = APIRouter(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post("/summarize")
async def summarize_conversation(
    memory: Services, actor: Acting, conversation_id: UUID
) -> SummaryResult:
    """Summarise all that has left the window and has no summary. Doing it again does nothing."""
    return await memory.conversations.summarize(actor, conversation_id)


@router.get("/chunks")
async def list_chunks(
    memory: Services,
    actor: Acting,
    conversation_id: UUID,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Chunk]:
    """List the summaries of a conversation its reader takes part in, in order."""
    return await memory.conversations.chunks(actor, conversation_id, limit=limit, cursor=cursor)
