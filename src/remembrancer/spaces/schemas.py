"""API models of spaces and their members."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from remembrancer.access import SpaceRole
from remembrancer.text import Label, Prose
from remembrancer.user_names import AnyUser, UserRef
from remembrancer.validation import Input, Update


class SpaceCreate(Input):
    """A new space with its members. Its creator is the owner."""

    name: Label
    description: Prose = ""
    member_ids: list[UserRef] = Field(
        default=[],
        max_length=1000,
        description="Added by a service or an admin, invited by a user.",
    )


class SpaceDetails(TypedDict, total=False):
    """The fields of :class:`SpaceCreate`, as keywords."""

    name: str
    description: str
    member_ids: Sequence[AnyUser]


class SpaceUpdate(Update):
    """Changes of a space. Fields that are left out stay as they are."""

    name: Label | None = None
    description: Prose | None = None


class Space(BaseModel):
    """A space, as one of its members sees it."""

    id: UUID
    name: str
    description: str
    role: SpaceRole = Field(description="The user's role in the space.")
    member_count: int
    invitation_count: int = Field(description="Invitations that are open.")
    created_at: datetime
    updated_at: datetime


class MemberAdd(Input):
    """A user to invite into a space, or to add as a member."""

    user_id: UserRef
    role: SpaceRole = SpaceRole.MEMBER


class MemberDetails(TypedDict, total=False):
    """The fields of :class:`MemberAdd`, as keywords. Text does for an enumeration."""

    user_id: AnyUser
    role: str


class MemberUpdate(Input):
    """The new role of a member."""

    role: SpaceRole
    hand_over: bool = Field(
        default=False, description="With the role `owner`: become a plain member yourself."
    )

    @model_validator(mode="after")
    def _check_role(self) -> "MemberUpdate":
        if self.hand_over and self.role is not SpaceRole.OWNER:
            raise ValueError("hand_over: needs the role owner")
        return self


class Member(BaseModel):
    """A member of a space."""

    user_id: UUID
    display_name: str
    role: SpaceRole
    joined_at: datetime


class Addition(BaseModel):
    """The result of adding a user: a member or, where a user adds, an invitation."""

    user_id: UserRef = Field(description="The member's id; of an invitation, the name it has.")
    role: SpaceRole
    invited: bool = Field(description="Whether they must accept an invitation first.")
    display_name: str | None = Field(None, description="Null for an invitation.")
    joined_at: datetime | None = Field(None, description="Null for an invitation.")


class Invitation(BaseModel):
    """An invitation into a space: all that the invited user sees of it before they accept."""

    space_id: UUID
    name: str = Field(description="The name of the space.")
    description: str
    invitee: str = Field(description="The invited user, by the id or platform:id that was sent.")
    role: SpaceRole
    invited_by: UUID
    inviter: str = Field(description="The display name of the owner who invites.")
    created_at: datetime
