"""Spaces, their members and their memories: /api/spaces."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response

from remembrancer.api.dependencies import (
    MENTIONED,
    App,
    IdempotencyKey,
    IfMatch,
    Paging,
    RequestActor,
    located,
    tagged,
)
from remembrancer.api.endpoints import REPEATED, Router
from remembrancer.api.memories import MemoryId
from remembrancer.facts.schemas import FactCreate, VisibilityUpdate
from remembrancer.memories.schemas import (
    Category,
    Kind,
    Memory,
    MemoryFilter,
    MemoryPage,
    RememberResult,
    SortBy,
)
from remembrancer.paging import Page
from remembrancer.spaces import schemas
from remembrancer.text import Label
from remembrancer.user_names import UserRef

router = Router(prefix="/api/spaces", tags=["spaces"])
of_memory = Router(prefix="/api/memory", tags=["spaces"])

MemberId = Annotated[UserRef, Path(description="A member: an id or platform:id.")]


@router.post("", status_code=201)
async def create_space(
    app: App,
    actor: RequestActor,
    space: schemas.SpaceCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> schemas.Space:
    """Create a space; the user is its owner. A key of a user invites its members."""
    created = await app.spaces.create(actor, space, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/api/spaces/{created.id}"
    return created


@router.get("")
async def list_spaces(app: App, actor: RequestActor, page: Paging) -> Page[schemas.Space]:
    """List the spaces of a user, the oldest first."""
    return await app.spaces.list(actor, **page)


@router.get("/invitations")
async def list_invitations(app: App, actor: RequestActor, page: Paging) -> Page[schemas.Invitation]:
    """List the open invitations of a user, the oldest first."""
    return await app.spaces.invitations(actor, **page)


@router.get("/{space_id}")
async def get_space(app: App, actor: RequestActor, space_id: UUID) -> schemas.Space:
    """Return a space, for its members."""
    return await app.spaces.get(actor, space_id)


@router.patch("/{space_id}")
async def update_space(
    app: App, actor: RequestActor, space_id: UUID, changes: schemas.SpaceUpdate
) -> schemas.Space:
    """Change the name or description of a space. For owners."""
    return await app.spaces.update(actor, space_id, changes)


@router.delete("/{space_id}", status_code=204)
async def delete_space(app: App, actor: RequestActor, space_id: UUID) -> None:
    """Delete an empty space; `restore` brings it back. For owners."""
    await app.spaces.delete(actor, space_id)


@router.post("/{space_id}/restore")
async def restore_space(app: App, actor: RequestActor, space_id: UUID) -> schemas.Space:
    """Bring back a space that the user deleted, or left as its last member."""
    return await app.spaces.restore(actor, space_id)


@router.get("/{space_id}/members")
async def list_members(
    app: App, actor: RequestActor, space_id: UUID, page: Paging
) -> Page[schemas.Member]:
    """List the members of a space, the oldest users first."""
    return await app.spaces.members(actor, space_id, **page)


@router.post("/{space_id}/members", status_code=201)
async def add_member(
    app: App,
    actor: RequestActor,
    space_id: UUID,
    member: schemas.MemberAdd,
    idempotency_key: IdempotencyKey = None,
) -> schemas.Addition:
    """Add a member to a space; a key of a user invites them. For owners."""
    return await app.spaces.add_member(actor, space_id, member, idempotency_key=idempotency_key)


@router.patch("/{space_id}/members/{member_id}")
async def update_member(
    app: App, actor: RequestActor, space_id: UUID, member_id: MemberId, change: schemas.MemberUpdate
) -> schemas.Member:
    """Change the role of a member, or hand over ownership. For owners."""
    return await app.spaces.update_member(actor, space_id, member_id, change)


@router.delete("/{space_id}/members/{member_id}", status_code=204)
async def remove_member(app: App, actor: RequestActor, space_id: UUID, member_id: MemberId) -> None:
    """Remove a member from a space. For owners."""
    await app.spaces.remove_member(actor, space_id, member_id)


@router.post("/{space_id}/leave", status_code=204)
async def leave_space(app: App, actor: RequestActor, space_id: UUID) -> None:
    """Leave a space: facts of others are hidden, the user's own facts stay."""
    await app.spaces.leave(actor, space_id)


@router.post("/{space_id}/invitations", status_code=201)
async def invite(
    app: App,
    actor: RequestActor,
    space_id: UUID,
    member: schemas.MemberAdd,
    idempotency_key: IdempotencyKey = None,
) -> schemas.Invitation:
    """Invite a user into a space, who is a member once they accept. For owners."""
    return await app.spaces.invite(actor, space_id, member, idempotency_key=idempotency_key)


@router.get("/{space_id}/invitations")
async def list_sent_invitations(
    app: App, actor: RequestActor, space_id: UUID, page: Paging
) -> Page[schemas.Invitation]:
    """List the open invitations into a space, the oldest first. For owners."""
    return await app.spaces.sent_invitations(actor, space_id, **page)


@router.delete("/{space_id}/invitations/{invitee:path}", status_code=204)
async def withdraw_invitation(
    app: App,
    actor: RequestActor,
    space_id: UUID,
    invitee: Annotated[UserRef, Path(description="The user, as the invitation names them.")],
) -> None:
    """Withdraw an invitation. For owners."""
    await app.spaces.withdraw(actor, space_id, invitee)


@router.post("/{space_id}/accept")
async def accept_invitation(app: App, actor: RequestActor, space_id: UUID) -> schemas.Space:
    """Accept an invitation: the user is a member from now on."""
    return await app.spaces.accept(actor, space_id)


@router.post("/{space_id}/decline", status_code=204)
async def decline_invitation(app: App, actor: RequestActor, space_id: UUID) -> None:
    """Decline an invitation; no further one into this space is shown to the user."""
    await app.spaces.decline(actor, space_id)


@router.get("/{space_id}/memories")
async def list_memories_of_space(
    app: App,
    actor: RequestActor,
    space_id: UUID,
    page: Paging,
    kind: Annotated[list[Kind], REPEATED] = [],
    category: Annotated[list[Category], REPEATED] = [],
    subject: Annotated[Label | None, Query()] = None,
    text: Annotated[Label | None, Query(description="A part of the content.")] = None,
    sort: Annotated[SortBy, Query()] = SortBy.RECENT,
) -> MemoryPage:
    """List the user's own facts in a space and shared facts, the newest first by default."""
    filters = MemoryFilter(kinds=kind, categories=category, subject=subject, text=text, sort=sort)
    return await app.spaces.memories(actor, space_id, filters, **page)


@router.post("/{space_id}/memories", status_code=201, responses=MENTIONED)
async def remember_in_space(
    app: App,
    actor: RequestActor,
    space_id: UUID,
    fact: FactCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> RememberResult:
    """Add a fact to a space. It is private unless `visibility` is `shared`."""
    result = await app.facts.add(
        actor, space_id, fact, source="api", idempotency_key=idempotency_key
    )
    return located(response, result)


@of_memory.patch("/{memory_id}/visibility")
async def set_visibility(
    app: App,
    actor: RequestActor,
    memory_id: MemoryId,
    change: VisibilityUpdate,
    response: Response,
    if_match: IfMatch,
) -> Memory:
    """Share the user's own fact with the members of its space, or make it private."""
    memory = await app.facts.set_visibility(
        actor, memory_id, change.visibility, if_version=if_match
    )
    return tagged(response, memory)
