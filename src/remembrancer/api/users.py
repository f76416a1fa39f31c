"""Users, their platform links and their merges: /api/users."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from remembrancer.api.dependencies import App, Caller, IfMatch, Paging, tagged
from remembrancer.api.endpoints import Router
from remembrancer.identity.schemas import (
    LinkResult,
    Merge,
    MergeCounts,
    MergeRequest,
    PlatformLinkDetail,
)
from remembrancer.paging import Items, Page
from remembrancer.text import Key
from remembrancer.user_names import UserRef
from remembrancer.users.schemas import PlatformLink, ResolveUser, User, UserUpdate

router = Router(prefix="/api/users", tags=["users"])


@router.post("/resolve")
async def resolve_user(app: App, actor: Caller, request: ResolveUser) -> User:
    """Return the user of a platform id; create the user the first time.

    Safe to call for every message, also concurrently.
    """
    return await app.users.resolve(actor, request)


@router.get("")
async def list_users(app: App, actor: Caller, page: Paging) -> Page[User]:
    """List users, the oldest first."""
    return await app.users.list(actor, **page)


@router.get("/by-platform")
async def find_user(
    app: App,
    actor: Caller,
    platform: Annotated[Key, Query()],
    platform_user_id: Annotated[Key, Query()],
) -> User:
    """Return the user of a platform id."""
    return await app.users.find(actor, platform, platform_user_id)


@router.get("/{user_id}")
async def get_user(app: App, actor: Caller, user_id: UserRef, response: Response) -> User:
    """Return a user."""
    return tagged(response, await app.users.get(actor, user_id))


@router.patch("/{user_id}")
async def update_user(
    app: App,
    actor: Caller,
    user_id: UserRef,
    changes: UserUpdate,
    response: Response,
    if_match: IfMatch,
) -> User:
    """Change a user's name or time zone, or pause remembering of them."""
    user = await app.users.update(actor, user_id, changes, if_version=if_match)
    return tagged(response, user)


@router.get("/{user_id}/links")
async def list_links(app: App, actor: Caller, user_id: UserRef) -> Items[PlatformLinkDetail]:
    """List the platform links of a user."""
    return await app.users.links(actor, user_id)


@router.post("/{user_id}/links", status_code=201)
async def link_platform(
    app: App, actor: Caller, user_id: UserRef, link: PlatformLink
) -> LinkResult:
    """Link a platform id to a user.

    If another user has it, that user is merged into this one. `merge` then has the counts and
    the `undo_id`.
    """
    return await app.users.link(actor, user_id, link)


@router.delete("/{user_id}/links", status_code=204)
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


@router.post("/{user_id}/merges", status_code=201)
async def merge_users(app: App, actor: Caller, user_id: UserRef, other: MergeRequest) -> Merge:
    """Merge another user into this one."""
    return await app.users.merge(actor, user_id, other.user_id)


@router.post("/{user_id}/merges/preview")
async def preview_merge(
    app: App, actor: Caller, user_id: UserRef, other: MergeRequest
) -> MergeCounts:
    """Count what a merge of another user into this one would move. Nothing changes."""
    return await app.users.preview_merge(actor, user_id, other.user_id)


@router.get("/{user_id}/merges")
async def list_merges(app: App, actor: Caller, user_id: UserRef) -> Items[Merge]:
    """List the merges into a user, the latest first."""
    return await app.users.merges(actor, user_id)


@router.post("/{user_id}/merges/{undo_id}/undo")
async def undo_merge(app: App, actor: Caller, user_id: UserRef, undo_id: UUID) -> Merge:
    """Undo a merge: both users exist again, each with their own data."""
    return await app.users.undo_merge(actor, user_id, undo_id)
