"""Users: /api/users."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from remembrancer.api.dependencies import App, Authenticated, Cursor, IfMatch, Limit, tag
from remembrancer.paging import Page
from remembrancer.text import Key
from remembrancer.users.schemas import ResolveUser, User, UserUpdate

router = APIRouter(prefix="/api/users", tags=["users"])


@router.post("/resolve")
async def resolve(app: App, actor: Authenticated, who: ResolveUser) -> User:
    """Return the user behind a platform id; the first time, create them.

    Safe to call on every message and from many places at once.
    """
    return await app.users.resolve(actor, who)


@router.get("")
async def list_users(
    app: App, actor: Authenticated, limit: Limit = 50, cursor: Cursor = None
) -> Page[User]:
    """List users in the order they were first seen."""
    return await app.users.list(actor, limit=limit, cursor=cursor)


@router.get("/by-platform")
async def find_user(
    app: App,
    actor: Authenticated,
    platform: Annotated[Key, Query()],
    platform_user_id: Annotated[Key, Query()],
) -> User:
    """Return the user behind a platform id."""
    return await app.users.find(actor, platform, platform_user_id)


@router.get("/{user_id}")
async def get_user(app: App, actor: Authenticated, user_id: UUID, response: Response) -> User:
    """Return a user."""
    user = await app.users.get(actor, user_id)
    tag(response, user.version)
    return user


@router.patch("/{user_id}")
async def update_user(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    changes: UserUpdate,
    response: Response,
    if_match: IfMatch,
) -> User:
    """Change a user's name or time zone."""
    user = await app.users.update(actor, user_id, changes, if_version=if_match)
    tag(response, user.version)
    return user
