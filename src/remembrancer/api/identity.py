"""Who is who: /api/users/{user_id}/links and /merges."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from remembrancer.api.dependencies import App, Authenticated
from remembrancer.identity.schemas import (
    LinkResult,
    Merge,
    MergeCounts,
    MergeRequest,
    PlatformLinkDetail,
)
from remembrancer.paging import Items
from remembrancer.text import Key
from remembrancer.users.schemas import PlatformLink

router = APIRouter(prefix="/api/users/{user_id}", tags=["users"])


@router.get("/links")
async def list_links(app: App, actor: Authenticated, user_id: UUID) -> Items[PlatformLinkDetail]:
    """List the platform ids of a user."""
    return await app.users.links(actor, user_id)


@router.post("/links", status_code=201)
async def link_platform(
    app: App, actor: Authenticated, user_id: UUID, link: PlatformLink
) -> LinkResult:
    """Say that a platform id is this user.

    If it is somebody else's, they are merged into this user; `merge` in the answer says what
    moved and how to take it back.
    """
    return await app.users.link(actor, user_id, link)


@router.delete("/links", status_code=204)
async def unlink_platform(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    platform: Annotated[Key, Query()],
    platform_user_id: Annotated[Key, Query()],
) -> None:
    """Take a platform id from a user; what was remembered stays with the user."""
    link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
    await app.users.unlink(actor, user_id, link)


@router.post("/merges", status_code=201)
async def merge_users(app: App, actor: Authenticated, user_id: UUID, other: MergeRequest) -> Merge:
    """Merge another user into this one: they are one person."""
    return await app.users.merge(actor, user_id, other.user_id)


@router.post("/merges/preview")
async def preview_merge(
    app: App, actor: Authenticated, user_id: UUID, other: MergeRequest
) -> MergeCounts:
    """Say what merging another user into this one would move; nothing is done."""
    return await app.users.preview_merge(actor, user_id, other.user_id)


@router.get("/merges")
async def list_merges(app: App, actor: Authenticated, user_id: UUID) -> Items[Merge]:
    """List the merges into a user, the latest first."""
    return await app.users.merges(actor, user_id)


@router.post("/merges/{undo_id}/undo")
async def undo_merge(app: App, actor: Authenticated, user_id: UUID, undo_id: UUID) -> Merge:
    """Take a merge back: two people again, each with what was theirs."""
    return await app.users.undo_merge(actor, user_id, undo_id)
