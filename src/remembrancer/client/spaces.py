"""Spaces, and facts under the name that older clients know."""

from uuid import UUID

from remembrancer.client.calls import Call, call, part, whom
from remembrancer.client.memories import memories_of, query_of
from remembrancer.client.operations import By, Group, listing, listing_of, operation
from remembrancer.facts.schemas import Fact, FactCreate, VisibilityUpdate
from remembrancer.memories.schemas import MemoryFilter, MemoryPage, RememberResult
from remembrancer.paging import Page
from remembrancer.spaces.schemas import (
    Member,
    MemberAdd,
    MemberUpdate,
    Space,
    SpaceCreate,
    SpaceUpdate,
)


def _space(space_id: UUID, *parts: object) -> str:
    return "/".join(["/api/spaces", part(space_id), *map(str, parts)])


class Spaces(Group[By]):
    """Spaces. ``user_id`` says for whom; a user key need not."""

    @operation
    def create(
        self,
        space: SpaceCreate,
        *,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Space]:
        """Make a space; the user is its owner."""
        query = whom(user_id)
        return call(
            "POST", "/api/spaces", Space, query=query, body=space, key=idempotency_key, keyed=True
        )

    @listing
    def list(
        self, *, user_id: UUID | None = None, limit: int = 50, cursor: str | None = None
    ) -> Call[Page[Space]]:
        """List the spaces the user is a member of, in the order they were made."""
        query = {**whom(user_id), "limit": limit, "cursor": cursor}
        return call("GET", "/api/spaces", Page[Space], query=query)

    @operation
    def get(self, space_id: UUID, *, user_id: UUID | None = None) -> Call[Space]:
        """Return a space the user is a member of."""
        return call("GET", _space(space_id), Space, query=whom(user_id))

    @operation
    def update(
        self, space_id: UUID, changes: SpaceUpdate, *, user_id: UUID | None = None
    ) -> Call[Space]:
        """Change the name or description of a space. For its owners."""
        return call("PATCH", _space(space_id), Space, query=whom(user_id), body=changes)

    @operation
    def delete(self, space_id: UUID, *, user_id: UUID | None = None) -> Call[None]:
        """Delete a space in which nothing lies. For its owners."""
        return call("DELETE", _space(space_id), query=whom(user_id))

    @operation
    def restore(self, space_id: UUID, *, user_id: UUID | None = None) -> Call[Space]:
        """Bring back a space that the user deleted, or left as its last member."""
        return call("POST", _space(space_id, "restore"), Space, query=whom(user_id))

    @listing
    def members(
        self,
        space_id: UUID,
        *,
        user_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Member]]:
        """List the members of a space, those first who have been known longest."""
        query = {**whom(user_id), "limit": limit, "cursor": cursor}
        return call("GET", _space(space_id, "members"), Page[Member], query=query)

    @operation
    def add_member(
        self,
        space_id: UUID,
        member: MemberAdd,
        *,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Member]:
        """Let somebody join a space. For its owners."""
        path, query = _space(space_id, "members"), whom(user_id)
        return call("POST", path, Member, query=query, body=member, key=idempotency_key, keyed=True)

    @operation
    def change_member(
        self,
        space_id: UUID,
        member_id: UUID,
        change: MemberUpdate,
        *,
        user_id: UUID | None = None,
    ) -> Call[Member]:
        """Give a member another role. For owners."""
        path = _space(space_id, "members", part(member_id))
        return call("PATCH", path, Member, query=whom(user_id), body=change)

    @operation
    def remove_member(
        self, space_id: UUID, member_id: UUID, *, user_id: UUID | None = None
    ) -> Call[None]:
        """Take a member out of a space. For its owners."""
        return call("DELETE", _space(space_id, "members", part(member_id)), query=whom(user_id))

    @operation
    def leave(self, space_id: UUID, *, user_id: UUID | None = None) -> Call[None]:
        """Leave a space: what others shared is hidden, what is one's own stays."""
        return call("POST", _space(space_id, "leave"), query=whom(user_id))

    @listing_of(memories_of)
    def memories(
        self,
        space_id: UUID,
        wanted: MemoryFilter | None = None,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[MemoryPage]:
        """List one's own facts in a space and those others share, the newest first."""
        page = {"limit": limit, "cursor": cursor}
        query = {**query_of(wanted), **whom(user_id, agent_id), **page}
        return call("GET", _space(space_id, "memories"), MemoryPage, query=query)

    @operation
    def remember(
        self,
        space_id: UUID,
        fact: FactCreate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[RememberResult]:
        """Remember a fact in a space; private unless it says otherwise."""
        path, query = _space(space_id, "memories"), whom(user_id, agent_id)
        return call(
            "POST", path, RememberResult, query=query, body=fact, key=idempotency_key, keyed=True
        )


class Facts(Group[By]):
    """Facts about a legacy, which is a space."""

    @listing
    def list(
        self,
        legacy_id: UUID,
        *,
        user_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Fact]]:
        """List one's own facts and those the others share, in the order of extraction."""
        query = {**whom(user_id), "limit": limit, "cursor": cursor}
        return call("GET", f"/api/ai/legacies/{part(legacy_id)}/facts", Page[Fact], query=query)

    @operation
    def add(
        self,
        legacy_id: UUID,
        fact: FactCreate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Fact]:
        """Keep a fact about a legacy; private unless it says otherwise."""
        path, query = f"/api/ai/legacies/{part(legacy_id)}/facts", whom(user_id, agent_id)
        return call("POST", path, Fact, query=query, body=fact, key=idempotency_key, keyed=True)

    @operation
    def set_visibility(
        self, fact_id: str, change: VisibilityUpdate, *, user_id: UUID | None = None
    ) -> Call[Fact]:
        """Share one's own fact with the members of its legacy, or make it private again."""
        path = f"/api/ai/facts/{part(fact_id)}/visibility"
        return call("PATCH", path, Fact, query=whom(user_id), body=change)

    @operation
    def delete(self, fact_id: str, *, user_id: UUID | None = None) -> Call[None]:
        """Forget one's own fact: nobody sees it any more."""
        return call("DELETE", f"/api/ai/facts/{part(fact_id)}", query=whom(user_id))
