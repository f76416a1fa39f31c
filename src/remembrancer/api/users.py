"""Users: /api/users."""

from typing import Annotated

from fastapi import Query, Response

from remembrancer.api.dependencies import App, Caller, IfMatch, Paging, tagged
from remembrancer.api.endpoints import Router
from remembrancer.paging import Page
from remembrancer.text import Key
from remembrancer.user_names import UserRef
from remembrancer.users.schemas import ResolveUser, User, UserUpdate

router = Router(prefix="/api/users", tags=["users"])


@router.post("/resolve")
async def resolve(app: App, actor: Caller, request: ResolveUser) -> User:
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
    """Change a user's name or time zone."""
    user = await app.users.update(actor, user_id, changes, if_version=if_match)
    return tagged(response, user)
