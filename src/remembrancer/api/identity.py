"""Platform links and merges of users: /api/users/{user_id}/links and /merges."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.identity.schemas import (
    LinkResult,
    Merge,
    MergeCounts,
    MergeRequest,
    PlatformLinkDetail,
)
from remembrancer.paging import Items
from remembrancer.text import Key
from remembrancer.user_names import UserRef
from remembrancer.users.schemas import PlatformLink

router = Router(prefix="/api/users/{user_id}", tags=["users"])


@router.get("/links")
async def list_links(app: App, actor: Caller, user_id: UserRef) -> Items[PlatformLinkDetail]:
    """List the platform links of a user."""
    return await app.users.links(actor, user_id)


@router.post("/links", status_code=201)
async def link_platform(
    app: App, actor: Caller, user_id: UserRef, link: PlatformLink
) -> LinkResult:
    """Link a platform id to a user.

    If another user has it, that user is merged into this one. `merge` then has the counts and
    the `undo_id`.
    """
    return await app.users.link(actor, user_id, link)


@router.delete("/links", status_code=204)
async def unlink_platform(
    app: App,
    actor: Caller,
    user_id: UserRef,
    platform: Annotated[Key, Query()],
    platform_user_id: Annotated[Key, Query()],
) -> None:
    """Remove a platform link from a user. The user's memories stay."""
    link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
    await app.users.unlink(actor, user_id, link)


@router.post("/merges", status_code=201)
async def merge_users(app: App, actor: Caller, user_id: UserRef, other: MergeRequest) -> Merge:
    """Merge another user into this one."""
    return await app.users.merge(actor, user_id, other.user_id)


@router.post("/merges/preview")
async def preview_merge(
    app: App, actor: Caller, user_id: UserRef, other: MergeRequest
) -> MergeCounts:
    """Count what a merge of another user into this one would move. Nothing changes."""
    return await app.users.preview_merge(actor, user_id, other.user_id)


@router.get("/merges")
async def list_merges(app: App, actor: Caller, user_id: UserRef) -> Items[Merge]:
    """List the merges into a user, the latest first."""
    return await app.users.merges(actor, user_id)


@router.post("/merges/{undo_id}/undo")
async def undo_merge(app: App, actor: Caller, user_id: UserRef, undo_id: UUID) -> Merge:
    """Undo a merge: both users exist again, each with their own data."""
    return await app.users.undo_merge(actor, user_id, undo_id)
