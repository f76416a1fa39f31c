"""Spaces, who is in them and what they keep there: /api/spaces."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from remembrancer.api.dependencies import (
    Acting,
    App,
    Cursor,
    IdempotencyKey,
    IfMatch,
    Limit,
    tag,
)
from remembrancer.api.memories import MemoryId
from remembrancer.facts.schemas import FactCreate, VisibilityUpdate
from remembrancer.memories.schemas import (
    Category,
    Kind,
    Memory,
    MemoryFilter,
    MemoryPage,
    Outcome,
    RememberResult,
    SortBy,
)
from remembrancer.paging import Page
from remembrancer.spaces.schemas import (
    Member,
    MemberAdd,
    MemberUpdate,
    Space,
    SpaceCreate,
    SpaceUpdate,
)
from remembrancer.text import Label

router = APIRouter(prefix="/api/spaces", tags=["spaces"])
of_memory = APIRouter(prefix="/api/memory", tags=["spaces"])

MemberId = Annotated[UUID, Path(description="The user who is a member.")]


@router.post("", status_code=201)
async def create_space(
    app: App,
    actor: Acting,
    space: SpaceCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Space:
    """Make a space; the user is its owner."""
    made = await app.spaces.create(actor, space, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/api/spaces/{made.id}"
    return made


@router.get("")
async def list_spaces(
    app: App, actor: Acting, limit: Limit = 50, cursor: Cursor = None
) -> Page[Space]:
    """List the spaces the user is a member of, in the order they were made."""
    return await app.spaces.list(actor, limit=limit, cursor=cursor)


@router.get("/{space_id}")
async def get_space(app: App, actor: Acting, space_id: UUID) -> Space:
    """Return a space the user is a member of."""
    return await app.spaces.get(actor, space_id)


@router.patch("/{space_id}")
async def update_space(app: App, actor: Acting, space_id: UUID, changes: SpaceUpdate) -> Space:
    """Change the name or description of a space. For its owners."""
    return await app.spaces.update(actor, space_id, changes)


@router.delete("/{space_id}", status_code=204)
async def delete_space(app: App, actor: Acting, space_id: UUID) -> None:
    """Delete a space in which nothing lies; `restore` brings it back. For its owners."""
    await app.spaces.delete(actor, space_id)


@router.post("/{space_id}/restore")
async def restore_space(app: App, actor: Acting, space_id: UUID) -> Space:
    """Bring back a space that the user deleted, or left as its last member."""
    return await app.spaces.restore(actor, space_id)


@router.get("/{space_id}/members")
async def list_members(
    app: App, actor: Acting, space_id: UUID, limit: Limit = 50, cursor: Cursor = None
) -> Page[Member]:
    """List the members of a space, those first who have been known longest."""
    return await app.spaces.members(actor, space_id, limit=limit, cursor=cursor)


@router.post("/{space_id}/members", status_code=201)
async def add_member(
    app: App,
    actor: Acting,
    space_id: UUID,
    member: MemberAdd,
    idempotency_key: IdempotencyKey = None,
) -> Member:
    """Let somebody join a space. For its owners."""
    return await app.spaces.add_member(actor, space_id, member, idempotency_key=idempotency_key)


@router.patch("/{space_id}/members/{member_id}")
async def change_member(
    app: App, actor: Acting, space_id: UUID, member_id: MemberId, change: MemberUpdate
) -> Member:
    """Give a member another role, or hand one's own over to them. For owners."""
    return await app.spaces.update_member(actor, space_id, member_id, change)


@router.delete("/{space_id}/members/{member_id}", status_code=204)
async def remove_member(app: App, actor: Acting, space_id: UUID, member_id: MemberId) -> None:
    """Take a member out of a space. For its owners."""
    await app.spaces.remove_member(actor, space_id, member_id)


@router.post("/{space_id}/leave", status_code=204)
async def leave_space(app: App, actor: Acting, space_id: UUID) -> None:
    """Leave a space: what others shared is hidden, what is one's own stays."""
    await app.spaces.leave(actor, space_id)


@router.get("/{space_id}/memories")
async def list_memories_of_space(
    app: App,
    actor: Acting,
    space_id: UUID,
    kind: Annotated[list[Kind], Query(description="May be repeated.")] = [],
    category: Annotated[list[Category], Query(description="May be repeated.")] = [],
    subject: Annotated[Label | None, Query()] = None,
    text: Annotated[Label | None, Query(description="A part of the content.")] = None,
    sort: Annotated[SortBy, Query()] = SortBy.RECENT,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MemoryPage:
    """List one's own facts in a space and those others share, the newest first unless sorted."""
    wanted = MemoryFilter(kinds=kind, categories=category, subject=subject, text=text, sort=sort)
    return await app.spaces.memories(actor, space_id, wanted, limit=limit, cursor=cursor)


@router.post(
    "/{space_id}/memories",
    status_code=201,
    responses={200: {"description": "Known: a mention."}},
)
async def remember_in_space(
    app: App,
    actor: Acting,
    space_id: UUID,
    fact: FactCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> RememberResult:
    """Remember a fact in a space; private unless it says otherwise."""
    written = await app.facts.add(
        actor, space_id, fact, source="api", idempotency_key=idempotency_key
    )
    if written.outcome is not Outcome.CREATED:
        response.status_code = 200
    tag(response, written.memory.version)
    response.headers["Location"] = f"/api/memory/{written.memory.id}"
    return written


@of_memory.patch("/{memory_id}/visibility")
async def set_visibility(
    app: App,
    actor: Acting,
    memory_id: MemoryId,
    change: VisibilityUpdate,
    response: Response,
    if_match: IfMatch,
) -> Memory:
    """Share one's own fact with the members of its space, or make it private again."""
    changed = await app.facts.set_visibility(
        actor, memory_id, change.visibility, if_version=if_match
    )
    tag(response, changed.version)
    return changed
