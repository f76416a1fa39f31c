"""Memories, recall, review and documents: /api/memory, and the same by agent and by user."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query, Response
from pydantic import Field

from remembrancer.access import Scope
from remembrancer.api.dependencies import (
    MENTIONED,
    App,
    Caller,
    IdempotencyKey,
    IfMatch,
    Paging,
    PathActor,
    RequestActor,
    located,
    tagged,
)
from remembrancer.api.endpoints import REPEATED, Router, checks_key, takes_batch
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.errors import InvalidInput
from remembrancer.memories import schemas
from remembrancer.memories.batch_schemas import ForgetManyResult, ForgetUndoResult
from remembrancer.paging import Items
from remembrancer.recall.schemas import RecallAnswer, RecallQuery, Sort, SourceType
from remembrancer.review.schemas import MOST_DECISIONS, ReviewDecision, ReviewResult
from remembrancer.text import Instant, Key, Label, Statement
from remembrancer.user_names import UserRef
from remembrancer.validation import MOST_IN_BATCH, Input, validate

router = Router(prefix="/api/memory", tags=["memory"])
by_agent = Router(prefix="/api/agents/memories", tags=["memory"])
by_user = Router(prefix="/api/users/{user_id}", tags=["memory"])
documents = Router(prefix="/api/users/{user_id}", tags=["memory document"])


class BulkRequest(Input):
    """Statements to remember."""

    memories: list[schemas.MemoryCreate] = Field(max_length=MOST_IN_BATCH)


class ForgetRequest(Input):
    """Memories to forget: by id, or all that match filters."""

    memory_ids: list[str] = Field(
        default=[],
        max_length=MOST_IN_BATCH,
        description="Ids, or `external:` and an `external_id`.",
    )
    filters: schemas.MemoryFilter | None = None
    dry_run: bool = Field(default=False, description="Count only; change nothing.")


class ReviewRequest(Input):
    """Decisions about pending memories."""

    decisions: list[ReviewDecision] = Field(max_length=MOST_DECISIONS)


def memory_filter(
    shared: Annotated[
        bool | None, Query(description="Shared knowledge alone, or none of it.")
    ] = None,
    kind: Annotated[list[schemas.Kind], REPEATED] = [],
    category: Annotated[list[schemas.Category], REPEATED] = [],
    status: Annotated[list[schemas.Status], REPEATED] = [schemas.Status.ACTIVE],
    review: Annotated[list[schemas.Review], REPEATED] = [],
    source: Annotated[
        Key | None, Query(description="The entry point it came through, such as `extraction`.")
    ] = None,
    subject: Annotated[Label | None, Query()] = None,
    external_id: Annotated[
        list[Key], Query(max_length=200, description="Ids of your own. May be repeated.")
    ] = [],
    space_id: Annotated[UUID | None, Query()] = None,
    pinned: Annotated[bool | None, Query()] = None,
    scope: Annotated[Scope | None, Query(description="Of one agent, or of all.")] = None,
    kept_for: Annotated[UUID | None, Query(description="Only memories of this agent.")] = None,
    text: Annotated[Label | None, Query(description="A part of the content.")] = None,
    since: Annotated[Instant | None, Query(description="Created then or later.")] = None,
    until: Annotated[Instant | None, Query(description="Created before then.")] = None,
    metadata: Annotated[
        str,
        Query(
            description="Fields of the metadata as JSON, with values or comparisons: "
            '`{"project": "atlas", "score": {"gte": 3}}`.'
        ),
    ] = "{}",
    sort: Annotated[schemas.SortBy, Query()] = schemas.SortBy.RECENT,
) -> schemas.MemoryFilter:
    """Return the filter in the query."""
    return validate(
        schemas.MemoryFilter,
        shared=shared,
        kinds=kind,
        categories=category,
        statuses=status,
        reviews=review,
        source=source,
        subject=subject,
        external_ids=external_id,
        space_id=space_id,
        pinned=pinned,
        scope=scope,
        kept_for=kept_for,
        text=text,
        since=since,
        until=until,
        metadata=metadata,
        sort=sort,
    )


Filter = Annotated[schemas.MemoryFilter, Depends(memory_filter)]
MemoryId = Annotated[
    str,
    Path(description="Its id, or `external:` and its `external_id`.", examples=["a1B2c3D4"]),
]


@router.get("")
@by_agent.get("", operation_id="list_memories_of_agent")
async def list_memories(
    app: App, actor: RequestActor, filters: Filter, page: Paging
) -> schemas.MemoryPage:
    """List memories, the newest first by default."""
    return await app.memories.list(actor, filters, **page)


@by_user.get("/memories")
async def list_memories_of_user(
    app: App, actor: PathActor, filters: Filter, page: Paging
) -> schemas.MemoryPage:
    """List a user's memories and shared knowledge, the newest first by default."""
    return await app.memories.list(actor, filters, **page)


@router.post("", status_code=201, responses=MENTIONED)
@checks_key
async def remember(
    app: App,
    actor: RequestActor,
    statement: schemas.MemoryCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> schemas.RememberResult:
    """Remember a statement.

    A known statement gains a mention (200). If a memory on the same subject exists, the request
    is refused (409) and the error names that memory: update it, or set `allow_similar` to store a
    further fact.
    """
    result = await app.memories.remember(
        actor, statement, source="api", idempotency_key=idempotency_key
    )
    return located(response, result)


@router.post("/bulk")
@takes_batch
async def remember_many(
    app: App,
    actor: RequestActor,
    request: BulkRequest,
    idempotency_key: IdempotencyKey = None,
) -> Items[schemas.RememberResult | schemas.RememberRefusal]:
    """Remember many statements in one transaction; return the result of each, in order."""
    return await app.memories.remember_many(
        actor, request.memories, source="api", idempotency_key=idempotency_key
    )


@router.post("/forget")
@takes_batch
async def forget_memories(
    app: App, actor: RequestActor, request: ForgetRequest, idempotency_key: IdempotencyKey = None
) -> ForgetManyResult:
    """Forget memories with the owner's messages that say them: by id, or by filters.

    Of the memories that match filters, the oldest are forgotten, as many as a batch may have;
    `remaining` says how many are left. `undo_id` undoes all of the request.
    """
    return await app.memories.forget_many(
        actor,
        request.memory_ids,
        request.filters,
        dry_run=request.dry_run,
        idempotency_key=idempotency_key,
    )


@router.post("/forget/{forget_id}/undo")
async def undo_forget(app: App, actor: RequestActor, forget_id: UUID) -> ForgetUndoResult:
    """Undo a request that forgot many memories, by the `undo_id` of its response."""
    return await app.memories.undo_forget(actor, forget_id)


@router.post("/recall")
@checks_key
async def recall(app: App, actor: RequestActor, query: RecallQuery) -> RecallAnswer:
    """Recall what is relevant to a query and visible to the user through the agent."""
    return await app.memories.recall(actor, query)


@by_user.post("/recall")
@checks_key
async def recall_for_user(app: App, actor: PathActor, query: RecallQuery) -> RecallAnswer:
    """Recall what is relevant to a query and visible to the user in the path."""
    return await app.memories.recall(actor, query)


@by_agent.get("/search")
@checks_key
async def search_memories(
    app: App,
    actor: RequestActor,
    q: Annotated[Statement, Query(description="The query.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    kind: Annotated[list[schemas.Kind], REPEATED] = [],
    sort: Annotated[Sort, Query()] = Sort.RELEVANCE,
    source: Annotated[list[SourceType], REPEATED] = ["memory"],
) -> RecallAnswer:
    """Search memories; with `source=message`, messages too."""
    query = RecallQuery(query=q, limit=limit, kinds=kind, sort=sort, sources=source)
    try:
        return await app.memories.recall(actor, query)
    except InvalidInput as error:
        field = "q" if error.field == "query" else error.field
        raise InvalidInput(error.reason, field=field) from error


@router.get("/review")
async def list_pending(app: App, actor: RequestActor, page: Paging) -> schemas.MemoryPage:
    """List a user's pending memories, the newest first, each with its source message."""
    return await app.review.list(actor, **page)


@router.post("/review")
@takes_batch
async def review(app: App, actor: RequestActor, request: ReviewRequest) -> Items[ReviewResult]:
    """Confirm, edit, reject or share pending memories; return the result of each, in order."""
    return await app.review.decide(actor, request.decisions)


@router.get("/{memory_id}")
async def get_memory(
    app: App, actor: RequestActor, memory_id: MemoryId, response: Response
) -> schemas.MemoryHistory:
    """Return a memory with its versions and mentions."""
    return tagged(response, await app.memories.get(actor, memory_id))


@router.put("/{memory_id}")
async def update_memory(
    app: App,
    actor: RequestActor,
    memory_id: MemoryId,
    changes: schemas.MemoryUpdate,
    response: Response,
    if_match: IfMatch,
) -> schemas.MemoryUpdateResult:
    """Create a new version of a memory. The old version stays in its history."""
    memory = await app.memories.update(actor, memory_id, changes, if_version=if_match, source="api")
    return tagged(response, memory)


@router.delete("/{memory_id}")
async def forget_memory(
    app: App, actor: RequestActor, memory_id: MemoryId, if_match: IfMatch
) -> schemas.ForgetResult:
    """Forget a memory, with the owner's messages that say it; `restore` brings all of it back.

    The messages leave recall and prompts, and stay in their conversations. `note` says how many.
    """
    return await app.memories.forget(actor, memory_id, if_version=if_match)


@router.post("/{memory_id}/restore")
async def restore_memory(app: App, actor: RequestActor, memory_id: MemoryId) -> schemas.Memory:
    """Restore a forgotten, inactive or evicted memory, with its messages."""
    return await app.memories.restore(actor, memory_id)


@router.post("/{memory_id}/deactivate")
async def deactivate_memory(app: App, actor: RequestActor, memory_id: MemoryId) -> schemas.Memory:
    """Deactivate a memory: it leaves recall and stays in the document."""
    return await app.memories.deactivate(actor, memory_id)


@router.post("/{memory_id}/activate")
async def activate_memory(app: App, actor: RequestActor, memory_id: MemoryId) -> schemas.Memory:
    """Activate an inactive memory."""
    return await app.memories.activate(actor, memory_id)


@router.put("/{memory_id}/pin")
async def pin_memory(app: App, actor: RequestActor, memory_id: MemoryId) -> schemas.Memory:
    """Pin a memory: the token budget never evicts it."""
    return await app.memories.pin(actor, memory_id)


@router.delete("/{memory_id}/pin")
async def unpin_memory(app: App, actor: RequestActor, memory_id: MemoryId) -> schemas.Memory:
    """Unpin a memory: the token budget may evict it again."""
    return await app.memories.unpin(actor, memory_id)


@documents.get("/memory-document")
async def read_document(app: App, actor: PathActor) -> MemoryDocument:
    """Return a user's memory as one document; with `agent_id`, what that agent reads."""
    return await app.documents.get(actor)


@documents.post("/memory-document")
@takes_batch
async def import_document(
    app: App, actor: PathActor, document: DocumentImport
) -> DocumentImportResult:
    """Add the facts and places that the user does not have. Safe to repeat."""
    return await app.documents.import_(actor, document)


@documents.get("/memory-budget")
async def preview_budget(
    app: App,
    actor: Caller,
    user_id: UserRef,
    adding: Annotated[int, Query(ge=0, le=1_000_000, description="Tokens of a planned write.")] = 0,
) -> schemas.BudgetPreview:
    """Return the used part of a user's token budget, and what `adding` would evict."""
    return await app.memories.budget(actor.acting_for(user_id), adding=adding)
