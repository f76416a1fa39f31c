"""Users, who is who, and what is theirs as a whole."""

from typing import Any
from uuid import UUID

from remembrancer.client.calls import Call, Many, call, part
from remembrancer.client.memories import memories_of, query_of
from remembrancer.client.operations import By, Group, listing, listing_of, operation, stream
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.erasure.schemas import Receipt
from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
from remembrancer.memories.schemas import BudgetPreview, MemoryFilter, MemoryPage
from remembrancer.paging import Page
from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult
from remembrancer.recall.schemas import RecallAnswer, RecallQuery
from remembrancer.users.schemas import KnownUsers, PlatformLink, ResolveUser, User, UserUpdate


def _user(user_id: UUID, *parts: object) -> str:
    return "/".join(["/api/users", part(user_id), *map(str, parts)])


class Users(Group[By]):
    """People, and the platform ids they are known by."""

    @operation
    def resolve(self, who: ResolveUser) -> Call[User]:
        """Return the user behind a platform id; the first time, create them."""
        return call("POST", "/api/users/resolve", User, body=who, safe=True)

    @listing
    def list(self, *, limit: int = 50, cursor: str | None = None) -> Call[Page[User]]:
        """List users in the order they were first seen. For admins."""
        return call("GET", "/api/users", Page[User], query={"limit": limit, "cursor": cursor})

    @operation
    def known(
        self, *, agent_id: UUID | None = None, limit: int = 50, offset: int = 0
    ) -> Call[KnownUsers]:
        """List users with where they speak from and how many memories an agent may use."""
        query = {"agent_id": agent_id, "limit": limit, "offset": offset}
        return call("GET", "/api/agents/users", KnownUsers, query=query)

    @operation
    def find(self, platform: str, platform_user_id: str) -> Call[User]:
        """Return the user behind a platform id."""
        query = {"platform": platform, "platform_user_id": platform_user_id}
        return call("GET", "/api/users/by-platform", User, query=query)

    @operation
    def get(self, user_id: UUID) -> Call[User]:
        """Return a user."""
        return call("GET", _user(user_id), User)

    @operation
    def update(
        self, user_id: UUID, changes: UserUpdate, *, if_version: int | None = None
    ) -> Call[User]:
        """Change a user's name or time zone."""
        return call("PATCH", _user(user_id), User, body=changes, if_version=if_version)

    @operation
    def links(self, user_id: UUID) -> Call[Many[PlatformLinkDetail]]:
        """List the platform ids of a user."""
        return call(
            "GET", _user(user_id, "links"), Many[PlatformLinkDetail], inside="platform_links"
        )

    @operation
    def link(self, user_id: UUID, link: PlatformLink) -> Call[LinkResult]:
        """Say that a platform id is this user; somebody who had it is merged into them."""
        return call("POST", _user(user_id, "links"), LinkResult, body=link)

    @operation
    def unlink(self, user_id: UUID, link: PlatformLink) -> Call[None]:
        """Take a platform id from a user."""
        return call("DELETE", _user(user_id, "links"), query=link.model_dump())

    @operation
    def merge(self, user_id: UUID, other_id: UUID) -> Call[Merge]:
        """Merge another user into this one."""
        return call("POST", _user(user_id, "merges"), Merge, body={"user_id": other_id})

    @operation
    def preview_merge(self, user_id: UUID, other_id: UUID) -> Call[MergeCounts]:
        """Say what merging another user into this one would move."""
        path = _user(user_id, "merges/preview")
        return call("POST", path, MergeCounts, body={"user_id": other_id}, safe=True)

    @operation
    def merges(self, user_id: UUID) -> Call[Many[Merge]]:
        """List the merges into a user, the latest first."""
        return call("GET", _user(user_id, "merges"), Many[Merge], inside="merges")

    @operation
    def undo_merge(self, user_id: UUID, undo_id: UUID) -> Call[Merge]:
        """Take a merge back."""
        return call("POST", _user(user_id, "merges", part(undo_id), "undo"), Merge)

    @listing_of(memories_of)
    def memories(
        self,
        user_id: UUID,
        wanted: MemoryFilter | None = None,
        *,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[MemoryPage]:
        """List a user's memories and shared knowledge, the newest first unless sorted."""
        query = {**query_of(wanted), "agent_id": agent_id, "limit": limit, "cursor": cursor}
        return call("GET", _user(user_id, "memories"), MemoryPage, query=query)

    @operation
    def recall(
        self, user_id: UUID, wanted: RecallQuery, *, agent_id: UUID | None = None
    ) -> Call[RecallAnswer]:
        """Recall what helps with a query and may be told to this user."""
        query = {"agent_id": agent_id}
        path = _user(user_id, "recall")
        return call("POST", path, RecallAnswer, query=query, body=wanted, safe=True)

    @operation
    def document(self, user_id: UUID, *, agent_id: UUID | None = None) -> Call[MemoryDocument]:
        """Return a user's memory as one document: all of it, or what an agent reads."""
        query = {"agent_id": agent_id}
        return call("GET", _user(user_id, "memory-document"), MemoryDocument, query=query)

    @operation
    def import_document(
        self, user_id: UUID, document: DocumentImport, *, agent_id: UUID | None = None
    ) -> Call[DocumentImportResult]:
        """Add what a document has and the user has not; doing it again changes nothing."""
        path, query = _user(user_id, "memory-document"), {"agent_id": agent_id}
        return call("POST", path, DocumentImportResult, query=query, body=document, safe=True)

    @operation
    def budget(self, user_id: UUID, *, adding: int = 0) -> Call[BudgetPreview]:
        """Say how much of a user's budget is used, and what would be evicted for more."""
        query = {"adding": adding}
        return call("GET", _user(user_id, "memory-budget"), BudgetPreview, query=query)

    @operation
    def erase(
        self, user_id: UUID, *, dry_run: bool = True, memories_only: bool = False
    ) -> Call[Receipt]:
        """Delete everything of a user for good, and say what it was; at first, only count."""
        query = {
            "dry_run": dry_run,
            "memories_only": memories_only,
            "confirm": None if dry_run else user_id,
        }
        return call("POST", _user(user_id, "erase"), Receipt, query=query, safe=dry_run)

    @stream
    def export(self, user_id: UUID) -> Call[dict[str, Any]]:
        """Return everything that is kept of a user, one object at a time."""
        return call("GET", _user(user_id, "export"), dict[str, Any])


class Places(Group[By]):
    """The places of a user."""

    @listing
    def list(
        self,
        user_id: UUID,
        *,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Place]]:
        """List a user's places, the oldest first, each with its latest mentions."""
        query = {"agent_id": agent_id, "limit": limit, "cursor": cursor}
        return call("GET", _user(user_id, "places"), Page[Place], query=query)

    @operation
    def add(
        self,
        user_id: UUID,
        place: PlaceCreate,
        *,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[PlaceResult]:
        """Remember a place; one that is known by this id gains a mention."""
        path, query = _user(user_id, "places"), {"agent_id": agent_id}
        return call(
            "POST", path, PlaceResult, query=query, body=place, key=idempotency_key, keyed=True
        )

    @operation
    def mention(
        self,
        user_id: UUID,
        place_id: str,
        where: PlaceMention | None = None,
        *,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Place]:
        """Note that a place came up."""
        path = _user(user_id, "places", part(place_id), "mentions")
        return call(
            "POST",
            path,
            Place,
            query={"agent_id": agent_id},
            body=where or PlaceMention(),
            key=idempotency_key,
            keyed=True,
        )

    @operation
    def get(self, user_id: UUID, place_id: str, *, agent_id: UUID | None = None) -> Call[Place]:
        """Return a place with its latest 100 mentions."""
        path = _user(user_id, "places", part(place_id))
        return call("GET", path, Place, query={"agent_id": agent_id})
