"""Spaces and the facts in them."""

from typing import Unpack
from uuid import UUID

from remembrancer.access import Visibility
from remembrancer.client.calls import json_of
from remembrancer.client.operations import (
    By,
    ForAgent,
    ForAgentIfVersion,
    ForAgentOnce,
    ForAgentPage,
    ForUser,
    ForUserOnce,
    ForUserPage,
    Group,
    listing,
    operation,
)
from remembrancer.facts.schemas import Fact, FactCreate
from remembrancer.memories.schemas import Memory, MemoryFilter, MemoryPage, RememberResult
from remembrancer.paging import Page
from remembrancer.spaces import schemas
from remembrancer.user_names import AnyUser


class NewSpace(ForUserOnce, schemas.SpaceDetails, total=False):
    """A space that a user creates once."""


class NewMember(ForUserOnce, schemas.MemberDetails, total=False):
    """A member whom a user adds or invites once."""


class Spaces(Group[By]):
    """Spaces, for a user; a user's own key needs none."""

    @operation("POST /api/spaces", model=("space", schemas.SpaceCreate))
    def create(
        self, space: schemas.SpaceCreate | None = None, **ids: Unpack[NewSpace]
    ) -> schemas.Space:
        """Create a space; the user is its owner. A key of a user invites its members."""

    @listing("GET /api/spaces")
    def list(self, **ids: Unpack[ForUserPage]) -> Page[schemas.Space]:
        """List the spaces of a user, the oldest first."""

    @operation("GET /api/spaces/{space_id}")
    def get(self, space_id: UUID, **ids: Unpack[ForUser]) -> schemas.Space:
        """Return a space of a member."""

    @operation("PATCH /api/spaces/{space_id}")
    def update(
        self, space_id: UUID, changes: schemas.SpaceUpdate, **ids: Unpack[ForUser]
    ) -> schemas.Space:
        """Change the name or description of a space. For owners."""

    @operation("DELETE /api/spaces/{space_id}")
    def delete(self, space_id: UUID, **ids: Unpack[ForUser]) -> None:
        """Delete an empty space. For owners."""

    @operation("POST /api/spaces/{space_id}/restore")
    def restore(self, space_id: UUID, **ids: Unpack[ForUser]) -> schemas.Space:
        """Bring back a space that the user deleted, or left as its last member."""

    @listing("GET /api/spaces/{space_id}/members")
    def members(self, space_id: UUID, **ids: Unpack[ForUserPage]) -> Page[schemas.Member]:
        """List the members of a space, the longest known users first."""

    @operation("POST /api/spaces/{space_id}/members", model=("member", schemas.MemberAdd))
    def add_member(
        self,
        space_id: UUID,
        member: schemas.MemberAdd | None = None,
        **ids: Unpack[NewMember],
    ) -> schemas.Addition:
        """Add a member to a space; a key of a user invites them. For owners."""

    @operation("PATCH /api/spaces/{space_id}/members/{member_id}")
    def update_member(
        self,
        space_id: UUID,
        member_id: AnyUser,
        changes: schemas.MemberUpdate,
        **ids: Unpack[ForUser],
    ) -> schemas.Member:
        """Change the role of a member. For owners."""

    @operation("DELETE /api/spaces/{space_id}/members/{member_id}")
    def remove_member(self, space_id: UUID, member_id: AnyUser, **ids: Unpack[ForUser]) -> None:
        """Remove a member from a space. For owners."""

    @operation("POST /api/spaces/{space_id}/leave")
    def leave(self, space_id: UUID, **ids: Unpack[ForUser]) -> None:
        """Leave a space: facts of others are hidden, one's own stay."""

    @operation("POST /api/spaces/{space_id}/invitations", model=("member", schemas.MemberAdd))
    def invite(
        self,
        space_id: UUID,
        member: schemas.MemberAdd | None = None,
        **ids: Unpack[NewMember],
    ) -> schemas.Invitation:
        """Invite a user into a space, who is a member once they accept. For owners."""

    @listing("GET /api/spaces/{space_id}/invitations")
    def sent_invitations(
        self, space_id: UUID, **ids: Unpack[ForUserPage]
    ) -> Page[schemas.Invitation]:
        """List the open invitations into a space, the oldest first. For owners."""

    @operation("DELETE /api/spaces/{space_id}/invitations/{invitee}")
    def withdraw(self, space_id: UUID, invitee: AnyUser, **ids: Unpack[ForUser]) -> None:
        """Withdraw an invitation, named as it was sent. For owners."""

    @listing("GET /api/spaces/invitations")
    def invitations(self, **ids: Unpack[ForUserPage]) -> Page[schemas.Invitation]:
        """List the open invitations of a user, the oldest first."""

    @operation("POST /api/spaces/{space_id}/accept")
    def accept(self, space_id: UUID, **ids: Unpack[ForUser]) -> schemas.Space:
        """Accept an invitation: the user is a member from now on."""

    @operation("POST /api/spaces/{space_id}/decline")
    def decline(self, space_id: UUID, **ids: Unpack[ForUser]) -> None:
        """Decline an invitation; no further one into this space is shown to the user."""

    @listing("GET /api/spaces/{space_id}/memories")
    def memories(
        self, space_id: UUID, filters: MemoryFilter | None = None, **ids: Unpack[ForAgentPage]
    ) -> MemoryPage:
        """List one's own facts in a space and those shared by others, the newest first."""


class Facts(Group[By]):
    """Facts in a space. A fact belongs to its author."""

    @operation("POST /api/spaces/{space_id}/memories")
    def add(self, space_id: UUID, fact: FactCreate, **ids: Unpack[ForAgentOnce]) -> RememberResult:
        """Add a fact to a space; private unless it says otherwise."""

    @listing("GET /api/ai/legacies/{space_id}/facts")
    def list(self, space_id: UUID, **ids: Unpack[ForUserPage]) -> Page[Fact]:
        """List one's own facts and those shared by others, the oldest first."""

    @operation("PATCH /api/memory/{memory_id}/visibility", body=json_of)
    def set_visibility(
        self, memory_id: str, visibility: Visibility, **ids: Unpack[ForAgentIfVersion]
    ) -> Memory:
        """Share one's own fact with the members of its space, or make it private again."""

    @operation("DELETE /api/ai/facts/{memory_id}")
    def delete(self, memory_id: str, **ids: Unpack[ForAgent]) -> None:
        """Forget one's own fact: nobody sees it any more."""
