"""A user's memory document and budget: /api/users/{user_id}/memory-document, …/memory-budget."""

from typing import Annotated

from fastapi import Query

from remembrancer.api.dependencies import App, Caller, PathActor
from remembrancer.api.endpoints import Router
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.memories.schemas import BudgetPreview
from remembrancer.user_names import UserRef

router = Router(prefix="/api/users/{user_id}", tags=["memory document"])


@router.get("/memory-document")
async def read_document(app: App, actor: PathActor) -> MemoryDocument:
    """Return a user's memory as one document; with `agent_id`, what that agent reads."""
    return await app.documents.get(actor)


@router.post("/memory-document")
async def import_document(
    app: App, actor: PathActor, document: DocumentImport
) -> DocumentImportResult:
    """Add the facts and places that the user does not have. Safe to repeat."""
    return await app.documents.import_(actor, document)


@router.get("/memory-budget")
async def preview_budget(
    app: App,
    actor: Caller,
    user_id: UserRef,
    adding: Annotated[int, Query(ge=0, le=1_000_000, description="Tokens of a planned write.")] = 0,
) -> BudgetPreview:
    """Return the used part of a user's token budget, and what `adding` would evict."""
    return await app.memories.budget(actor.acting_for(user_id), adding=adding)
