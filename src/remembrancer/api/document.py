"""A user's memory as a whole: /api/users/{user_id}/memory-document and …/memory-budget."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from remembrancer.api.dependencies import App, Authenticated
from remembrancer.api.memories import AgentId
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.memories.schemas import BudgetPreview

router = APIRouter(prefix="/api/users/{user_id}", tags=["memory document"])


@router.get("/memory-document")
async def read_document(
    app: App, actor: Authenticated, user_id: UUID, agent_id: AgentId = None
) -> MemoryDocument:
    """Return a user's memory as one document: all of it, or what an agent reads."""
    return await app.documents.get(actor.acting_for(user_id, agent_id))


@router.post("/memory-document")
async def import_document(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    document: DocumentImport,
    agent_id: AgentId = None,
) -> DocumentImportResult:
    """Add what a document has and the user has not; doing it again changes nothing."""
    return await app.documents.import_(actor.acting_for(user_id, agent_id), document)


@router.get("/memory-budget")
async def preview_budget(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    adding: Annotated[
        int, Query(ge=0, le=1_000_000, description="Tokens that would be written.")
    ] = 0,
) -> BudgetPreview:
    """Say how much of a user's budget is used, and what would be evicted for more."""
    return await app.memories.budget(actor.acting_for(user_id), adding=adding)
