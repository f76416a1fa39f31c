"""Memories and recall: /api/memory, and the same by agent and by user."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from remembrancer.access import Scope
from remembrancer.api.dependencies import (
    Acting,
    App,
    Authenticated,
    Cursor,
    IdempotencyKey,
    IfMatch,
    Limit,
    narrowed,
    tag,
)
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import (
    Category,
    Kind,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryHistory,
    MemoryPage,
    MemoryUpdate,
    MemoryUpdateResult,
    Outcome,
    RememberRefusal,
    RememberResult,
    Review,
    SortBy,
    Status,
)
from remembrancer.paging import Items
from remembrancer.recall.schemas import RecallAnswer, RecallQuery, Sort, SourceType
from remembrancer.text import Key, Label, Statement
from remembrancer.validation import Input

router = APIRouter(prefix="/api/memory", tags=["memory"])
by_agent = APIRouter(prefix="/api/agents/memories", tags=["memory"])
by_user = APIRouter(prefix="/api/users/{user_id}", tags=["memory"])


class _For(Input):
    user_id: UUID | None = Field(None, description="The user to act for.")
    agent_id: UUID | None = Field(None, description="The agent to act through.")


AgentId = Annotated[UUID | None, Query(description="The agent to act through.")]


class RememberRequest(MemoryCreate, _For):
    """A statement to remember, and for whom."""


class BulkRequest(_For):
    """Statements to remember, and for whom."""

    memories: list[MemoryCreate]


class RecallRequest(RecallQuery, _For):
    """What to recall, and for whom."""


def memory_filter(
    kind: Annotated[list[Kind], Query(description="May be repeated.")] = [],
    category: Annotated[list[Category], Query(description="May be repeated.")] = [],
    status: Annotated[list[Status], Query(description="May be repeated.")] = [Status.ACTIVE],
    review: Annotated[list[Review], Query(description="May be repeated.")] = [],
    source: Annotated[
        Key | None, Query(description="How it came in, such as `extraction`.")
    ] = None,
    subject: Annotated[Label | None, Query()] = None,
    space_id: Annotated[UUID | None, Query()] = None,
    pinned: Annotated[bool | None, Query()] = None,
    scope: Annotated[Scope | None, Query(description="One agent's, or every agent's.")] = None,
    kept_for: Annotated[UUID | None, Query(description="Specific to this agent.")] = None,
    text: Annotated[Label | None, Query(description="A part of the content.")] = None,
    sort: Annotated[SortBy, Query()] = SortBy.RECENT,
) -> MemoryFilter:
    """Return which memories the query asks for."""
    return MemoryFilter(
        kinds=kind,
        categories=category,
        statuses=status,
        reviews=review,
        source=source,
        subject=subject,
        space_id=space_id,
        pinned=pinned,
        scope=scope,
        kept_for=kept_for,
        text=text,
        sort=sort,
    )


Filter = Annotated[MemoryFilter, Depends(memory_filter)]
MemoryId = Annotated[str, Path(examples=["a1B2c3D4"])]


@router.get("/")
@by_agent.get("")
async def list_memories(
    app: App, actor: Acting, wanted: Filter, limit: Limit = 50, cursor: Cursor = None
) -> MemoryPage:
    """List memories, the newest first unless sorted."""
    return await app.memories.list(actor, wanted, limit=limit, cursor=cursor)


@by_user.get("/memories")
async def list_memories_of_user(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    wanted: Filter,
    agent_id: AgentId = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MemoryPage:
    """List a user's memories and shared knowledge, the newest first unless sorted."""
    actor = actor.acting_for(user_id, agent_id)
    return await app.memories.list(actor, wanted, limit=limit, cursor=cursor)


@router.post("/", status_code=201, responses={200: {"description": "Known: a mention."}})
async def remember(
    app: App,
    actor: Authenticated,
    request: RememberRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> RememberResult:
    """Remember a statement.

    What is known already gains a mention (200). A memory on the same subject is suggested
    for an update instead (409), unless `allow_similar` is set.
    """
    written = await app.memories.remember(
        actor.acting_for(request.user_id, request.agent_id),
        narrowed(request, MemoryCreate),
        source="api",
        idempotency_key=idempotency_key,
    )
    if written.outcome is not Outcome.CREATED:
        response.status_code = 200
    tag(response, written.memory.version)
    response.headers["Location"] = f"/api/memory/{written.memory.id}"
    return written


@router.post("/bulk")
async def remember_many(
    app: App,
    actor: Authenticated,
    request: BulkRequest,
    idempotency_key: IdempotencyKey = None,
) -> Items[RememberResult | RememberRefusal]:
    """Remember many statements in one transaction; says of each what became of it."""
    return await app.memories.remember_many(
        actor.acting_for(request.user_id, request.agent_id),
        request.memories,
        source="api",
        idempotency_key=idempotency_key,
    )


@router.post("/recall")
async def recall(app: App, actor: Authenticated, request: RecallRequest) -> RecallAnswer:
    """Recall what helps with a query and may be told to this user through this agent."""
    actor = actor.acting_for(request.user_id, request.agent_id)
    return await app.memories.recall(actor, narrowed(request, RecallQuery))


@by_user.post("/recall")
async def recall_for_user(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    wanted: RecallQuery,
    agent_id: AgentId = None,
) -> RecallAnswer:
    """Recall what helps with a query and may be told to this user."""
    return await app.memories.recall(actor.acting_for(user_id, agent_id), wanted)


@by_agent.get("/search")
async def search_memories(
    app: App,
    actor: Acting,
    q: Annotated[Statement, Query(description="What to look for.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    kind: Annotated[list[Kind], Query(description="May be repeated.")] = [],
    sort: Annotated[Sort, Query()] = Sort.RELEVANCE,
    source: Annotated[list[SourceType], Query(description="May be repeated.")] = ["memory"],
) -> RecallAnswer:
    """Search memories; add `source=message` for what was said as well."""
    wanted = RecallQuery(query=q, limit=limit, kinds=kind, sort=sort, sources=source)
    try:
        return await app.memories.recall(actor, wanted)
    except InvalidInput as error:
        raise InvalidInput(
            error.reason, field="q" if error.field == "query" else error.field
        ) from error


@router.get("/{memory_id}")
async def get_memory(
    app: App, actor: Acting, memory_id: MemoryId, response: Response
) -> MemoryHistory:
    """Return a memory with its versions and mentions."""
    found = await app.memories.get(actor, memory_id)
    tag(response, found.version)
    return found


@router.put("/{memory_id}")
async def update_memory(
    app: App,
    actor: Acting,
    memory_id: MemoryId,
    changes: MemoryUpdate,
    response: Response,
    if_match: IfMatch,
) -> MemoryUpdateResult:
    """Make a new version of a memory; the old one stays in its history."""
    updated = await app.memories.update(
        actor, memory_id, changes, if_version=if_match, source="api"
    )
    tag(response, updated.version)
    return updated


@router.delete("/{memory_id}")
async def forget_memory(app: App, actor: Acting, memory_id: MemoryId, if_match: IfMatch) -> Memory:
    """Forget a memory; `restore` brings it back."""
    return await app.memories.forget(actor, memory_id, if_version=if_match)


@router.post("/{memory_id}/restore")
async def restore_memory(app: App, actor: Acting, memory_id: MemoryId) -> Memory:
    """Bring back a memory that was forgotten."""
    return await app.memories.restore(actor, memory_id)


@router.post("/{memory_id}/deactivate")
async def deactivate_memory(app: App, actor: Acting, memory_id: MemoryId) -> Memory:
    """Set a memory aside: out of recall, still in the document."""
    return await app.memories.deactivate(actor, memory_id)


@router.post("/{memory_id}/activate")
async def activate_memory(app: App, actor: Acting, memory_id: MemoryId) -> Memory:
    """Take an inactive memory into use again."""
    return await app.memories.activate(actor, memory_id)


@router.put("/{memory_id}/pin")
async def pin_memory(app: App, actor: Acting, memory_id: MemoryId) -> Memory:
    """Pin a memory, so that no budget ever evicts it."""
    return await app.memories.pin(actor, memory_id)


@router.delete("/{memory_id}/pin")
async def unpin_memory(app: App, actor: Acting, memory_id: MemoryId) -> Memory:
    """Unpin a memory."""
    return await app.memories.unpin(actor, memory_id)
