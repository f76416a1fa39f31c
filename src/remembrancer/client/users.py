"""Users: platform links, merges, export and erasure."""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID

from remembrancer.client.operations import (
    By,
    Group,
    IfVersion,
    Paging,
    listing,
    operation,
    stream,
)
from remembrancer.erasure.schemas import Receipt
from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
from remembrancer.paging import Items, Page
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import PlatformLink, ResolveUser, User, UserOverviewPage, UserUpdate


def _other(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"user_id": str(arguments["other_id"])}


def _confirmed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    confirm = {} if arguments["dry_run"] else {"confirm": arguments["user_id"]}
    return {**{name: arguments[name] for name in ("dry_run", "memories_only")}, **confirm}


class Users(Group[By]):
    """Users and their platform ids."""

    @operation("POST /api/users/resolve", safe=True)
    def resolve(self, request: ResolveUser) -> User:
        """Return the user of a platform id; create the user the first time."""

    @listing("GET /api/users")
    def list(self, **paging: Unpack[Paging]) -> Page[User]:
        """List users, the first known first. For admins."""

    @operation("GET /api/agents/users")
    def overview(
        self, agent_id: UUID | None = None, *, limit: int = 50, offset: int = 0
    ) -> UserOverviewPage:
        """List users with their platforms and how many memories an agent may use."""

    @operation("GET /api/users/by-platform")
    def find(self, platform: str, platform_user_id: str) -> User:
        """Return the user of a platform id, or raise ``NotFound``."""

    @operation("GET /api/users/{user_id}")
    def get(self, user_id: AnyUser) -> User:
        """Return a user."""

    @operation("PATCH /api/users/{user_id}")
    def update(self, user_id: AnyUser, changes: UserUpdate, **version: Unpack[IfVersion]) -> User:
        """Change a user's name or time zone."""

    @operation("GET /api/users/{user_id}/links")
    def links(self, user_id: AnyUser) -> Items[PlatformLinkDetail]:
        """List the platform links of a user."""

    @operation("POST /api/users/{user_id}/links")
    def link(self, user_id: AnyUser, link: PlatformLink) -> LinkResult:
        """Link a platform id to a user; another user who has it is merged into this one."""

    @operation("DELETE /api/users/{user_id}/links")
    def unlink(self, user_id: AnyUser, link: PlatformLink) -> None:
        """Remove a platform link from a user."""

    @operation("POST /api/users/{user_id}/merges", body=_other)
    def merge(self, user_id: AnyUser, other_id: AnyUser) -> Merge:
        """Merge another user into this one."""

    @operation("POST /api/users/{user_id}/merges/preview", body=_other, safe=True)
    def preview_merge(self, user_id: AnyUser, other_id: AnyUser) -> MergeCounts:
        """Count what a merge of another user into this one would move."""

    @operation("GET /api/users/{user_id}/merges")
    def merges(self, user_id: AnyUser) -> Items[Merge]:
        """List the merges into a user, the latest first."""

    @operation("POST /api/users/{user_id}/merges/{undo_id}/undo")
    def undo_merge(self, user_id: AnyUser, undo_id: UUID) -> Merge:
        """Undo a merge."""

    @operation("POST /api/users/{user_id}/erase", query=_confirmed)
    def erase(
        self, user_id: AnyUser, *, dry_run: bool = True, memories_only: bool = False
    ) -> Receipt:
        """Delete everything of a user for good; with ``dry_run``, only count."""

    @stream("GET /api/users/{user_id}/export")
    def export(self, user_id: AnyUser) -> dict[str, Any]:
        """Return all data of a user, one object at a time."""
